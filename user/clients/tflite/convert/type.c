/* SPDX-License-Identifier: MIT */
/*
 * Changes of a tensor's type.
 */
#include "clients/tflite/operations.h"

/* The same number in both interfaces, or refused. */
void convert_cast(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *x = graph_input(g, 0), *out = graph_output(g, 0);

	(void)op;
	if (x->type == TFL_INT32 && out->type == TFL_UINT8)
		return graph_refuse(g, "int32 to uint8: TensorFlow Lite wraps, NNAPI saturates");
	if (x->type == TFL_INT8 || out->type == TFL_INT8 || out->type == TFL_BOOL ||
	    (out->type == TFL_FLOAT16 && x->type != TFL_FLOAT32))
		return graph_refuse(g, "%s to %s", tensor_type_name(x->type),
				    tensor_type_name(out->type));
	emit(g, ANEURALNETWORKS_CAST, graph_out(g, 0), graph_in(g, 0));
}

void convert_quantize(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *out = graph_output(g, 0);
	uint32_t from;

	(void)op;
	if (!tensor_is_quant8(out))
		return graph_refuse(g, "to %s", tensor_type_name(out->type));
	if (rank_of(out) > 4 && tensor_is_quant8(graph_input(g, 0)))
		return graph_refuse(g, "%u dimensions, NNAPI takes at most 4", rank_of(out));
	from = graph_real_in(g, 0);
	graph_end_real(g, 0, from);
}

/* Weights stored as float16 are CAST; they become constants when NNAPI compiles. */
void convert_dequantize(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *x = graph_input(g, 0), *out = graph_output(g, 0);

	(void)op;
	if (out->type != TFL_FLOAT32)
		return graph_refuse(g, "to %s", tensor_type_name(out->type));
	if (x->type == TFL_FLOAT16)
		emit(g, ANEURALNETWORKS_CAST, graph_out(g, 0), graph_in(g, 0));
	else if (rank_of(x) > 4)
		graph_refuse(g, "%u dimensions, NNAPI takes at most 4", rank_of(x));
	else
		emit(g, ANEURALNETWORKS_DEQUANTIZE, graph_out(g, 0), graph_in(g, 0));
}
