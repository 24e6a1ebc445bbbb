/* SPDX-License-Identifier: MIT */
/* Parts of graphs that ONNX Runtime asks a provider to compile. Needs cmocka. */
#ifndef NN_TESTS_ONNXRUNTIME_PART_H
#define NN_TESTS_ONNXRUNTIME_PART_H

#include "onnxruntime_play.h"

/* Compiles the part `graph` of the fused node `node`. */
static struct ort_node_compute_info *compile_part(struct ort_ep *ep, const struct OrtGraph *graph,
						  const struct OrtNode *node)
{
	OrtNodeComputeInfo *info;
	OrtNode *none_made;

	assert_null(ep->Compile((OrtEp *)ep, &graph, &node, 1, &info, &none_made));
	return (struct ort_node_compute_info *)info;
}

static void release_part(struct ort_ep *ep, struct ort_node_compute_info *info)
{
	OrtNodeComputeInfo *infos[] = { (OrtNodeComputeInfo *)info };

	ep->ReleaseNodeComputeInfos((OrtEp *)ep, infos, 1);
}

#endif /* NN_TESTS_ONNXRUNTIME_PART_H */
