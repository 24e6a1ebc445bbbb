/* SPDX-License-Identifier: MIT */
/*
 * Poolings. Both interfaces leave cells of the padding out of the average.
 */
#include "clients/tflite/operations.h"

void convert_pool(struct graph *g, const struct operation *op)
{
	const struct tfl_pool *p = g->node->builtin_data;

	if (!same_quant(g, 0, 0))
		return;
	emit(g, op->code, graph_out(g, 0), graph_in(g, 0), graph_padding(g, p->padding),
	     graph_i32(g, p->stride_width), graph_i32(g, p->stride_height),
	     graph_i32(g, p->width), graph_i32(g, p->height),
	     graph_activation(g, p->activation));
	if (!g->refused)
		g->work *= (uint64_t)p->width * (uint64_t)p->height;
}
