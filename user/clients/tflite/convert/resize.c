/* SPDX-License-Identifier: MIT */
/*
 * RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR.
 */
#include "clients/tflite/operations.h"

void convert_resize(struct graph *g, const struct operation *op)
{
	const struct tfl_resize *p = g->node->builtin_data;
	bool bilinear = op->code == ANEURALNETWORKS_RESIZE_BILINEAR;
	uint32_t from, out;
	int32_t size[2];

	if (!same_quant(g, 0, 0) ||
	    graph_read_ints(g, graph_input(g, 1), "the output size", size, 2) < 0)
		return;
	if (p->align_corners && p->half_pixels)
		return graph_refuse(g, "aligned corners and half pixel centers");
	/* NNAPI cuts blended quantised values to integers, TensorFlow Lite rounds them. */
	from = bilinear ? graph_real_in(g, 0) : graph_in(g, 0);
	out = bilinear ? graph_begin_real(g, 0) : graph_out(g, 0);
	emit(g, op->code, out, from, graph_i32(g, size[1]), graph_i32(g, size[0]),
	     graph_bool(g, false), graph_bool(g, p->align_corners),
	     graph_bool(g, p->half_pixels));
	if (bilinear)
		graph_end_real(g, 0, out);
}
