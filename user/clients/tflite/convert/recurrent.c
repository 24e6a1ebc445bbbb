/* SPDX-License-Identifier: MIT */
/*
 * Recurrent operations in float32. Their states are variable tensors of TensorFlow Lite: inputs
 * and outputs of the NNAPI model, that are copied back after each execution. Inputs have the
 * same order in both interfaces, up to the layer normalisation.
 */
#include "clients/tflite/operations.h"

enum { MOST_INPUTS = 64 };

struct arguments {
	uint32_t operands[MOST_INPUTS];
	uint32_t count;
};

static void append(struct arguments *a, uint32_t operand)
{
	if (a->count < MOST_INPUTS)
		a->operands[a->count++] = operand;
}

static void omitted(struct graph *g, struct arguments *a, uint32_t rank)
{
	const struct value v = { .type = ANEURALNETWORKS_TENSOR_FLOAT32, .rank = rank };

	append(a, graph_omitted(g, &v));
}

/* Inputs from..to-1 of the node; an absent one is omitted, of the rank that `ranks` tells. */
static void inputs(struct graph *g, struct arguments *a, int from, int to, const char *ranks)
{
	for (int i = from; i < to && !g->refused; i++) {
		const struct tfl_tensor *t = graph_input(g, i);

		if (!t) {
			omitted(g, a, (uint32_t)(ranks[i - from] - '0'));
			continue;
		}
		if (t->type != TFL_FLOAT32)
			return graph_refuse(g, "a hybrid or quantised operation: input %d is %s",
					    i, tensor_type_name(t->type));
		append(a, graph_in(g, i));
	}
}

/* The activations that TensorFlow Lite's and NNAPI's recurrent operations both have. */
static uint32_t activation(struct graph *g, int code)
{
	if (code == TFL_ACT_NONE || code == TFL_ACT_RELU || code == TFL_ACT_RELU6 ||
	    code == TFL_ACT_TANH || code == TFL_ACT_SIGMOID)
		return graph_i32(g, code);
	graph_refuse(g, "activation %d", code);
	return GRAPH_NONE;
}

static void finish(struct graph *g, int32_t code, const struct arguments *a,
		   const uint32_t *outputs, uint32_t count)
{
	graph_operation(g, code, a->operands, a->count, outputs, count);
	for (int i = 1; i < g->node->inputs->size; i++)
		if (graph_input(g, i) && tensor_is_constant(graph_input(g, i)))
			g->work += tensor_count(graph_input(g, i));
}

static const char lstm_ranks[] = "3" "2222" "2222" "111" "1111" "21" "22" "1111";

static void layer_norm(struct graph *g, struct arguments *a)
{
	if (g->node->inputs->size > 20)
		return inputs(g, a, 20, 24, &lstm_ranks[20]);
	for (int i = 0; i < 4; i++)
		omitted(g, a, 1);
}

void convert_lstm(struct graph *g, const struct operation *op)
{
	const struct tfl_lstm *p = g->node->builtin_data;
	const struct tfl_tensor *x = graph_input(g, 0), *cell = graph_input(g, 19);
	struct value scratch = { .type = ANEURALNETWORKS_TENSOR_FLOAT32, .rank = 2 };
	struct arguments a = { .count = 0 };
	uint32_t outputs[4];

	(void)op;
	if (p->kernel_type)
		return convert_basic_lstm(g);
	if (x->type == TFL_INT8)
		return convert_integer_lstm(g, p->cell_clip, p->proj_clip);
	if (g->node->inputs->size < 20 || !cell || cell->dims->size != 2 || x->dims->size != 2)
		return graph_refuse(g, "%d inputs", g->node->inputs->size);
	inputs(g, &a, 0, 20, lstm_ranks);
	append(&a, activation(g, p->activation));
	append(&a, graph_f32(g, p->cell_clip));
	append(&a, graph_f32(g, p->proj_clip));
	layer_norm(g, &a);
	scratch.dims[0] = (uint32_t)cell->dims->data[0];
	scratch.dims[1] = (uint32_t)cell->dims->data[1] * (graph_input(g, 1) ? 4 : 3);
	outputs[0] = graph_temporary(g, &scratch);
	outputs[1] = graph_state(g, 18);
	outputs[2] = graph_state(g, 19);
	outputs[3] = graph_out(g, 0);
	finish(g, ANEURALNETWORKS_LSTM, &a, outputs, 4);
}

static uint64_t steps(const struct tfl_tensor *x, bool time_major)
{
	return x->dims->size == 3 ? (uint64_t)x->dims->data[time_major ? 0 : 1] : 1;
}

void convert_sequence_lstm(struct graph *g, const struct operation *op)
{
	const struct tfl_sequence_lstm *p = g->node->builtin_data;
	struct arguments a = { .count = 0 };
	uint32_t outputs[3];

	(void)op;
	if (graph_input(g, 0)->type == TFL_INT8)
		return convert_integer_sequence_lstm(g, p->cell_clip, p->proj_clip, p->time_major);
	inputs(g, &a, 0, 20, lstm_ranks);
	append(&a, activation(g, p->activation));
	append(&a, graph_f32(g, p->cell_clip));
	append(&a, graph_f32(g, p->proj_clip));
	append(&a, graph_bool(g, p->time_major));
	layer_norm(g, &a);
	outputs[0] = graph_out(g, 0);
	outputs[1] = graph_state(g, 18);
	outputs[2] = graph_state(g, 19);
	finish(g, ANEURALNETWORKS_UNIDIRECTIONAL_SEQUENCE_LSTM, &a, outputs, 3);
	g->work *= steps(graph_input(g, 0), p->time_major);
}

void convert_bidirectional_lstm(struct graph *g, const struct operation *op)
{
	static const char ranks[] = "3" "2222" "2222" "111" "1111" "21"
				    "2222" "2222" "111" "1111" "21" "2222" "3" "2222" "2222";
	const struct tfl_bidirectional_lstm *p = g->node->builtin_data;
	struct arguments a = { .count = 0 };
	uint32_t outputs[6], count = 0;

	(void)op;
	inputs(g, &a, 0, 48, ranks);
	append(&a, activation(g, p->activation));
	append(&a, graph_f32(g, p->cell_clip));
	append(&a, graph_f32(g, p->proj_clip));
	append(&a, graph_bool(g, p->merge_outputs));
	append(&a, graph_bool(g, p->time_major));
	for (int i = 0; i < 8; i++)
		omitted(g, &a, 1);
	outputs[count++] = graph_out(g, 0);
	if (!p->merge_outputs)
		outputs[count++] = graph_out(g, 1);
	for (int i = 35; i < 39; i++)
		outputs[count++] = graph_state(g, i);
	finish(g, ANEURALNETWORKS_BIDIRECTIONAL_SEQUENCE_LSTM, &a, outputs, count);
	g->work *= steps(graph_input(g, 0), p->time_major);
}

void convert_rnn(struct graph *g, const struct operation *op)
{
	const struct tfl_rnn *p = g->node->builtin_data;
	struct arguments a = { .count = 0 };
	uint32_t outputs[2];

	(void)op;
	inputs(g, &a, 0, 5, "22212");
	append(&a, activation(g, p->activation));
	outputs[0] = graph_state(g, 4);
	outputs[1] = graph_out(g, 0);
	finish(g, ANEURALNETWORKS_RNN, &a, outputs, 2);
}

void convert_sequence_rnn(struct graph *g, const struct operation *op)
{
	const struct tfl_sequence_rnn *p = g->node->builtin_data;
	struct arguments a = { .count = 0 };
	uint32_t outputs[2];

	(void)op;
	inputs(g, &a, 0, 5, "32212");
	append(&a, activation(g, p->activation));
	append(&a, graph_i32(g, p->time_major));
	outputs[0] = graph_out(g, 0);
	outputs[1] = graph_state(g, 4);
	finish(g, ANEURALNETWORKS_UNIDIRECTIONAL_SEQUENCE_RNN, &a, outputs, 2);
	g->work *= steps(graph_input(g, 0), p->time_major);
}

void convert_bidirectional_rnn(struct graph *g, const struct operation *op)
{
	const struct tfl_bidirectional_rnn *p = g->node->builtin_data;
	struct arguments a = { .count = 0 };
	uint32_t outputs[4], count = 0;

	(void)op;
	inputs(g, &a, 0, 12, "322122212322");
	append(&a, activation(g, p->activation));
	append(&a, graph_bool(g, p->time_major));
	append(&a, graph_bool(g, p->merge_outputs));
	outputs[count++] = graph_out(g, 0);
	if (!p->merge_outputs)
		outputs[count++] = graph_out(g, 1);
	outputs[count++] = graph_state(g, 4);
	outputs[count++] = graph_state(g, 8);
	finish(g, ANEURALNETWORKS_BIDIRECTIONAL_SEQUENCE_RNN, &a, outputs, count);
	g->work *= steps(graph_input(g, 0), p->time_major);
}

void convert_svdf(struct graph *g, const struct operation *op)
{
	const struct tfl_svdf *p = g->node->builtin_data;
	struct arguments a = { .count = 0 };
	uint32_t outputs[2];

	(void)op;
	inputs(g, &a, 0, 5, "22212");
	append(&a, graph_i32(g, p->rank));
	append(&a, activation(g, p->activation));
	outputs[0] = graph_state(g, 4);
	outputs[1] = graph_out(g, 0);
	finish(g, ANEURALNETWORKS_SVDF, &a, outputs, 2);
}
