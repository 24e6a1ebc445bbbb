/* SPDX-License-Identifier: MIT */
/*
 * One value for all elements along some axes.
 */
#include "clients/tflite/operations.h"

/* The constant axes of input 1, each once, counted from the front. -1 after a refusal. */
static int read_axes(struct graph *g, int32_t axes[GRAPH_MAX_RANK])
{
	int32_t all[GRAPH_MAX_RANK];
	int rank = graph_input(g, 0)->dims->size;
	int count = graph_read_ints(g, graph_input(g, 1), "the list of axes", all,
				    GRAPH_MAX_RANK), unique = 0;
	bool seen[GRAPH_MAX_RANK] = { false };

	for (int i = 0; i < count && !g->refused; i++) {
		uint32_t axis = tfl_axis_of(g, all[i], rank);

		if (g->refused || seen[axis])
			continue;
		seen[axis] = true;
		axes[unique++] = (int32_t)axis;
	}
	return g->refused ? -1 : unique;
}

/*
 * The quantised mean over an image: a depthwise convolution with weights of 1 / (h * w), which
 * also changes the scale, in one rounding as TensorFlow Lite does.
 */
static void mean_of_image(struct graph *g)
{
	const struct tfl_tensor *x = graph_input(g, 0);
	const uint32_t n = (uint32_t)x->dims->data[0], h = (uint32_t)x->dims->data[1],
		       w = (uint32_t)x->dims->data[2], c = (uint32_t)x->dims->data[3];
	struct value weights = graph_value_of(g, x), bias, mean;
	uint32_t to, filter;

	weights = value_shaped(weights, 4, (const uint32_t[]){ 1, h, w, c });
	weights.zero_point = 0;
	weights.scale = 1 / (float)((double)h * w);
	bias = (struct value){ .type = ANEURALNETWORKS_TENSOR_INT32, .rank = 1, .dims = { c },
			       .scale = x->params.scale * weights.scale };
	mean = value_shaped(graph_value_of(g, graph_output(g, 0)), 4,
			    (const uint32_t[]){ n, 1, 1, c });
	filter = graph_filled(g, &weights, 1);
	to = graph_output(g, 0)->dims->size == 4 ? graph_out(g, 0) : graph_temporary(g, &mean);
	emit(g, ANEURALNETWORKS_DEPTHWISE_CONV_2D, to, graph_in(g, 0), filter,
	     graph_filled(g, &bias, 0), graph_i32(g, ANEURALNETWORKS_PADDING_VALID),
	     graph_i32(g, 1), graph_i32(g, 1), graph_i32(g, 1),
	     graph_i32(g, ANEURALNETWORKS_FUSED_NONE));
	if (graph_output(g, 0)->dims->size != 4)
		graph_reshape_to(g, to, 0);
	if (!g->refused)
		g->work += tensor_count(x);
}

void convert_mean(struct graph *g, const struct operation *op)
{
	const struct tfl_reducer *p = g->node->builtin_data;
	const struct tfl_tensor *x = graph_input(g, 0);
	int32_t axes[GRAPH_MAX_RANK];
	int count;
	uint32_t out;

	(void)op;
	if (!same_type(g, 0, 0))
		return;
	count = read_axes(g, axes);
	if (g->refused)
		return;
	if (tensor_is_quant8(x) && x->dims->size == 4 && count == 2 && axes[0] + axes[1] == 3 &&
	    axes[0] * axes[1] == 2 && x->dims->data[1] <= 4096 && x->dims->data[2] <= 4096)
		return mean_of_image(g);
	out = graph_begin_real(g, 0);
	emit(g, ANEURALNETWORKS_MEAN, out, graph_real_in(g, 0),
	     graph_ints(g, axes, (uint32_t)count), graph_i32(g, p->keep_dims));
	graph_end_real(g, 0, out);
	if (!g->refused)
		g->work += tensor_count(x);
}

void convert_reduce(struct graph *g, const struct operation *op)
{
	const struct tfl_reducer *p = g->node->builtin_data;
	const struct tfl_tensor *x = graph_input(g, 0);
	bool sum = op->code == ANEURALNETWORKS_REDUCE_SUM;
	int32_t axes[GRAPH_MAX_RANK];
	uint32_t from, out;
	int count;

	if (sum ? !same_type(g, 0, 0) : !same_quant(g, 0, 0))
		return;
	count = read_axes(g, axes);
	if (g->refused)
		return;
	from = sum ? graph_real_in(g, 0) : graph_in(g, 0);
	out = sum ? graph_begin_real(g, 0) : graph_out(g, 0);
	emit(g, op->code, out, from, graph_ints(g, axes, (uint32_t)count),
	     graph_bool(g, p->keep_dims));
	if (sum)
		graph_end_real(g, 0, out);
	if (!g->refused)
		g->work += tensor_count(x);
}

void convert_arg(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *x = graph_input(g, 0), *out = graph_output(g, 0);
	int32_t axis;

	if (graph_read_ints(g, graph_input(g, 1), "the axis", &axis, 1) != 1)
		return graph_refuse(g, "no axis");
	axis = (int32_t)tfl_axis_of(g, axis, x->dims->size);
	if (g->refused)
		return;
	if (out->type != TFL_INT32)
		return graph_refuse(g, "an output of type %s", tensor_type_name(out->type));
	emit(g, op->code, graph_out(g, 0), graph_in(g, 0), graph_i32(g, axis));
	if (!g->refused)
		g->work += tensor_count(x);
}

/*
 * Of equal elements TensorFlow Lite's puts that of the smaller index first, NNAPI's the other:
 * the elements are reversed, and indices counted from the end.
 */
void convert_top_k(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *x = graph_input(g, 0), *indices = graph_output(g, 1);
	int32_t k, axis = x->dims->size - 1, last;
	struct value v, from_end;
	uint32_t reversed, counted;

	(void)op;
	if (graph_read_ints(g, graph_input(g, 1), "the number of elements", &k, 1) != 1)
		return graph_refuse(g, "no number of elements");
	if (axis < 0 || !same_quant(g, 0, 0))
		return graph_refuse(g, "no dimensions");
	if (!indices || indices->type != TFL_INT32)
		return graph_refuse(g, "indices that are not int32");
	v = graph_value_of(g, x);
	from_end = graph_value_of(g, indices);
	reversed = graph_temporary(g, &v);
	counted = graph_temporary(g, &from_end);
	last = x->dims->data[axis] - 1;
	emit(g, ANEURALNETWORKS_REVERSE, reversed, graph_in(g, 0), graph_ints(g, &axis, 1));
	graph_operation(g, ANEURALNETWORKS_TOPK_V2,
			(const uint32_t[]){ reversed, graph_i32(g, k) }, 2,
			(const uint32_t[]){ graph_out(g, 0), counted }, 2);
	emit(g, ANEURALNETWORKS_SUB, graph_out(g, 1), graph_ints(g, &last, 1), counted,
	     graph_i32(g, ANEURALNETWORKS_FUSED_NONE));
}
