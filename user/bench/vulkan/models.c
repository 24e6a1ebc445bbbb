// SPDX-License-Identifier: MIT
/* Builds models of products and copies, and networks. */
#include <string.h>

#include "bench/compute/graph.h"
#include "bench/compute/sequence.h"
#include "bench/vulkan/models.h"
#include "ops/op.h"

static struct builder *halved(struct builder *b, struct numbers n)
{
	if (n.is_fp16)
		builder_halve(b);
	return b;
}

struct builder *model_products(struct numbers n, uint32_t rows, uint32_t depth, uint32_t units,
			       uint32_t count)
{
	struct builder *b = builder_create();
	const struct graph g = { b, n.type };
	uint32_t x = graph_tensor(&g, 2, (uint32_t[]){ rows, depth }, 0.05f);

	builder_input(b, x);
	for (uint32_t i = 0; i < count; i++)
		x = graph_product(&g, x, units, GRAPH_NONE, 0.05f);
	builder_output(b, x);
	return halved(b, n);
}

struct builder *model_copies(uint32_t count)
{
	static const int32_t begin[2], size[2] = { -1, -1 };
	const uint32_t dims[] = { 1024, MODEL_COPY_BYTES / 1024 / sizeof(float) }, two = 2;
	struct builder *b = builder_create();
	const struct graph g = { b, NET_F32 };
	uint32_t x = graph_tensor(&g, 2, dims, 0);
	const uint32_t from = builder_constant(b, NN_TENSOR_INT32, 1, &two, 0, 0, begin);
	const uint32_t to = builder_constant(b, NN_TENSOR_INT32, 1, &two, 0, 0, size);

	builder_input(b, x);
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t next = graph_tensor(&g, 2, dims, 0);

		builder_operation(b, NN_OP_SLICE, 3, (uint32_t[]){ x, from, to }, next);
		x = next;
	}
	builder_output(b, x);
	return b;
}

struct builder *model_network(struct numbers n, net_fn *make, struct net *net)
{
	if (!make)
		return halved(sequence_encoder(n.type, true), n);
	make(net, n.type, 0);
	return halved(builder_net(net), n);
}
