/* SPDX-License-Identifier: MIT */
/*
 * Tests that operations accept each signature in the tables of this file. Operations must reject a
 * signature with an operand less, an operand more, or an operand of another type, at each position.
 */
#include <stdio.h>

#include "op_case.h"
#include "tests/heap_blocks.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Letters for the weights, peepholes, biases and projection of a float LSTM cell. */
#define CELL "f2 f2 f2 f2 f2 f2 f2 f2 f1 f1 f1 f1 f1 f1 f1 f2 f1 "
#define FOUR(x) x " " x " " x " " x " "

/* Signatures that have as few inputs and as many outputs as the operation allows. */
static const struct oc_signature signatures[] = {
	{ "ADD", "f4 f4 I > f4", true },
	{ "AVERAGE_POOL_2D", "u4 I I I I I I > u4", true },
	{ "CONCATENATION", "u4 I > u4", true },
	{ "CONV_2D", "u4 u4 w1 I I I I > u4", true },
	{ "DEPTHWISE_CONV_2D", "u4 p43 w1 I I I I I > u4", true },
	{ "DEPTH_TO_SPACE", "f4 I > f4", true },
	{ "DEQUANTIZE", "u4 > f4", true },
	{ "EMBEDDING_LOOKUP", "w1 f2 > f2", true },
	{ "FLOOR", "f4 > f4", true },
	{ "FULLY_CONNECTED", "s2 s2 w1 I > s2", true },
	{ "HASHTABLE_LOOKUP", "w1 w1 f2 > f2 u1", true },
	{ "L2_NORMALIZATION", "f4 > f4", true },
	{ "L2_POOL_2D", "f4 I I I I I I > f4", true },
	{ "LOCAL_RESPONSE_NORMALIZATION", "h4 I H H H > h4", true },
	{ "LOGISTIC", "u4 > u4", true },
	{ "LSH_PROJECTION", "f2 w2 f1 I > w1", true },
	{ "LSTM", "f2 " CELL "f2 f2 I F F > f2 f2 f2 f2", true },
	{ "MAX_POOL_2D", "s4 I I I I I I > s4", true },
	{ "MUL", "f4 f4 I > f4", true },
	{ "RELU", "u4 > u4", true },
	{ "RELU1", "f4 > f4", true },
	{ "RELU6", "s4 > s4", true },
	{ "RESHAPE", "f4 w1 > f4", true },
	{ "RESIZE_BILINEAR", "u4 I I > u4", true },
	{ "RNN", "f2 f2 f2 f1 f2 I > f2 f2", true },
	{ "SOFTMAX", "h4 H > h4", true },
	{ "SPACE_TO_DEPTH", "s4 I > s4", true },
	{ "SVDF", "f2 f2 f2 f1 f2 I I > f2 f2", true },
	{ "TANH", "f4 > f4", true },
	{ "BATCH_TO_SPACE_ND", "u4 w1 > u4", true },
	{ "DIV", "w4 w4 I > w4", true },
	{ "MEAN", "u4 w1 I > u4", true },
	{ "PAD", "f4 w2 > f4", true },
	{ "SPACE_TO_BATCH_ND", "f4 w1 w2 > f4", true },
	{ "SQUEEZE", "u4 w1 > u3", true },
	{ "STRIDED_SLICE", "f4 w1 w1 w1 I I I > f4", true },
	{ "SUB", "u4 u4 I > u4", true },
	{ "TRANSPOSE", "f4 w1 > f4", true },
	{ "ABS", "f5 > f5", true },
	{ "ARGMAX", "s3 I > w2", true },
	{ "ARGMIN", "f3 I > w2", true },
	{ "AXIS_ALIGNED_BBOX_TRANSFORM", "a2 s2 w1 a2 > a2", true },
	{ "BIDIRECTIONAL_SEQUENCE_LSTM",
	  "f3 " CELL CELL FOUR("f2") "f3 " FOUR("f2") FOUR("f2") "I F F B B " FOUR("f1") FOUR("f1")
	  "> f3 f3 f2 f2 f2 f2", true },
	{ "BIDIRECTIONAL_SEQUENCE_RNN",
	  "f3 f2 f2 f1 f2 f2 f2 f1 f2 f3 f2 f2 I B B > f3 f3 f2 f2", true },
	{ "BOX_WITH_NMS_LIMIT", "u2 a2 w1 F I I F F F > u1 a2 w1 w1", true },
	{ "CAST", "w3 > h3", true },
	{ "CHANNEL_SHUFFLE", "u4 I I > u4", true },
	{ "DETECTION_POSTPROCESSING", "h3 h3 h2 H H H H B I I I H H B > h2 h3 w2 w1", true },
	{ "EQUAL", "w4 w4 > t4", true },
	{ "EXP", "f3 > f3", true },
	{ "EXPAND_DIMS", "w3 I > w4", true },
	{ "GATHER", "f4 I w1 > f4", true },
	{ "GENERATE_PROPOSALS", "s4 s4 y2 a2 F F I I F F B > s1 a2 w1", true },
	{ "GREATER", "f4 f4 > t4", true },
	{ "GREATER_EQUAL", "u4 u4 > t4", true },
	{ "GROUPED_CONV_2D", "s4 p40 w1 I I I I I B > s4", true },
	{ "HEATMAP_MAX_KEYPOINT", "u4 a2 B > u2 a3", true },
	{ "INSTANCE_NORMALIZATION", "f4 F F F B > f4", true },
	{ "LESS", "s4 s4 > t4", true },
	{ "LESS_EQUAL", "h4 h4 > t4", true },
	{ "LOG", "h3 > h3", true },
	{ "LOGICAL_AND", "t4 t4 > t4", true },
	{ "LOGICAL_NOT", "t4 > t4", true },
	{ "LOGICAL_OR", "t4 t4 > t4", true },
	{ "LOG_SOFTMAX", "f3 F I > f3", true },
	{ "MAXIMUM", "u5 u5 > u5", true },
	{ "MINIMUM", "w5 w5 > w5", true },
	{ "NEG", "w5 > w5", true },
	{ "NOT_EQUAL", "f4 f4 > t4", true },
	{ "PAD_V2", "u4 w2 I > u4", true },
	{ "POW", "f4 f4 > f4", true },
	{ "PRELU", "s4 s4 > s4", true },
	{ "QUANTIZE", "f4 > s4", true },
	{ "QUANTIZED_16BIT_LSTM", "u2 " FOUR("u2") FOUR("u2") FOUR("w1") "y2 u2 > y2 u2", true },
	{ "RANDOM_MULTINOMIAL", "f2 I w1 > w2", true },
	{ "REDUCE_ALL", "t4 w1 B > t4", true },
	{ "REDUCE_ANY", "t4 w1 B > t4", true },
	{ "REDUCE_MAX", "u4 w1 B > u4", true },
	{ "REDUCE_MIN", "s4 w1 B > s4", true },
	{ "REDUCE_PROD", "f4 w1 B > f4", true },
	{ "REDUCE_SUM", "h4 w1 B > h4", true },
	{ "ROI_ALIGN", "u4 a2 w1 I I F F I I B > u4", true },
	{ "ROI_POOLING", "f4 f2 w1 I I F F B > f4", true },
	{ "RSQRT", "f3 > f3", true },
	{ "SELECT", "t4 u4 u4 > u4", true },
	{ "SIN", "f3 > f3", true },
	{ "SLICE", "w4 w1 w1 > w4", true },
	{ "SPLIT", "f4 I I > f4 f4", true },
	{ "SQRT", "f3 > f3", true },
	{ "TILE", "w4 w1 > w4", true },
	{ "TOPK_V2", "u3 I > u3 w3", true },
	{ "TRANSPOSE_CONV_2D", "f4 f4 f1 w1 I I I I B > f4", true },
	{ "UNIDIRECTIONAL_SEQUENCE_LSTM",
	  "f3 " CELL "f2 f2 I F F B " FOUR("f1") "> f3 f2 f2", true },
	{ "UNIDIRECTIONAL_SEQUENCE_RNN", "f3 f2 f2 f1 f2 I I > f3 f2", true },
	{ "RESIZE_NEAREST_NEIGHBOR", "f4 F F B > f4", true },
	{ "QUANTIZED_LSTM",
	  "s2 " FOUR("q2") FOUR("q2") "y1 y1 y1 " FOUR("w1") "q2 w1 s2 y2 " FOUR("y1")
	  "F F F F F F I F > s2 y2 s2", true },
	{ "ELU", "h3 H > h3", true },
	{ "HARD_SWISH", "u5 > u5", true },
	{ "FILL", "w1 H > h4", true },
	{ "RANK", "q3 > I", true },
	{ "BATCH_MATMUL", "s3 s3 B B > s3", true },
	{ "PACK", "I u2 > u3", true },
	{ "MIRROR_PAD", "h5 w2 I > h5", true },
	{ "REVERSE", "u5 w1 > u5", true },
	{ "DYNAMIC_FULLY_CONNECTED", "f2 p20 f1 I I > f2", true },
	{ "DYNAMIC_BATCH_MATMUL", "f3 s3 B B I > f3", true },
	{ "DYNAMIC_CONV_2D", "f4 u4 f1 I I I I I I > f4", true },
	{ "ERF", "f3 > f3", true },
	{ "GELU", "f3 > f3", true },
};

/*
 * Signatures that have as many inputs as the operation allows. Bit n of `counts` is set if the
 * operation allows n inputs, so that the last inputs may be omitted.
 */
#define N(count) (UINT64_C(1) << (count))

static const struct {
	struct oc_signature signature;
	uint64_t counts;
} longest[] = {
	{ { "AVERAGE_POOL_2D", "u4 I I I I I I B > u4", true }, N(7) | N(8) },
	{ { "AVERAGE_POOL_2D", "s4 I I I I I I I I I B > s4", true }, N(7) | N(10) | N(11) },
	{ { "L2_POOL_2D", "f4 I I I I I I B > f4", true }, N(7) | N(8) },
	{ { "L2_POOL_2D", "h4 I I I I I I I I I B > h4", true }, N(7) | N(10) | N(11) },
	{ { "MAX_POOL_2D", "u4 I I I I I I B > u4", true }, N(7) | N(8) },
	{ { "MAX_POOL_2D", "f4 I I I I I I I I I B > f4", true }, N(7) | N(10) | N(11) },
	{ { "CONV_2D", "s4 s4 w1 I I I I B I I > s4", true }, N(7) | N(8) | N(10) },
	{ { "CONV_2D", "u4 u4 w1 I I I I I I I B I I > u4", true }, N(7) | N(10) | N(11) | N(13) },
	{ { "DEPTHWISE_CONV_2D", "u4 p43 w1 I I I I I B I I > u4", true }, N(8) | N(9) | N(11) },
	{ { "DEPTHWISE_CONV_2D", "u4 p43 w1 I I I I I I I I B I I > u4", true },
	  N(8) | N(11) | N(12) | N(14) },
	{ { "GROUPED_CONV_2D", "s4 p40 w1 I I I I I B > s4", true }, N(9) },
	{ { "GROUPED_CONV_2D", "s4 p40 w1 I I I I I I I I B > s4", true }, N(12) },
	{ { "TRANSPOSE_CONV_2D", "f4 f4 f1 w1 I I I I B > f4", true }, N(9) },
	{ { "TRANSPOSE_CONV_2D", "f4 f4 f1 I I I I I I I B > f4", true }, N(11) },
	{ { "DEPTH_TO_SPACE", "f4 I B > f4", true }, N(2) | N(3) },
	{ { "SPACE_TO_DEPTH", "s4 I B > s4", true }, N(2) | N(3) },
	{ { "BATCH_TO_SPACE_ND", "u4 w1 B > u4", true }, N(2) | N(3) },
	{ { "SPACE_TO_BATCH_ND", "f4 w1 w2 B > f4", true }, N(3) | N(4) },
	{ { "L2_NORMALIZATION", "f4 I > f4", true }, N(1) | N(2) },
	{ { "LOCAL_RESPONSE_NORMALIZATION", "h4 I H H H I > h4", true }, N(5) | N(6) },
	{ { "SOFTMAX", "u4 F I > u4", true }, N(2) | N(3) },
	{ { "RESIZE_BILINEAR", "u4 I I B B B > u4", true }, N(3) | N(4) | N(5) | N(6) },
	{ { "RESIZE_BILINEAR", "h4 H H B B B > h4", true }, N(3) | N(4) | N(5) | N(6) },
	{ { "RESIZE_NEAREST_NEIGHBOR", "f4 F F B B B > f4", true }, N(4) | N(5) | N(6) },
	{ { "LSTM", "f2 " CELL "f2 f2 I F F f1 f1 f1 f1 > f2 f2 f2 f2", true }, N(23) | N(27) },
};

/* This test leaves out IF and WHILE, which need subgraphs and have tests of their own. */
static void test_every_operation(void **state)
{
	(void)state;
	for (size_t i = 0; i < nn_op_count(); i++) {
		const struct nn_op *op = nn_op_at(i);
		size_t k = 0;

		if (op->code == NN_OP_IF || op->code == NN_OP_WHILE)
			continue;
		while (k < LENGTH(signatures) && strcmp(signatures[k].op, op->name))
			k++;
		if (k == LENGTH(signatures))
			fail_msg("%s has no signature here", op->name);
		oc_assert_signature(&signatures[k]);
	}
}

static void begin(struct op_case *c, const struct oc_signature *s)
{
	oc_init(c, s->op);
	oc_parse(c, s->text);
}

static void assert_refused(struct op_case *c, const char *text, const char *how)
{
	if (oc_check(c) != NN_INVALID_ARGUMENT)
		fail_msg("%s takes \"%s\" %s", c->op->name, text, how);
	if (strncmp(c->err.message, c->op->name, strlen(c->op->name)))
		fail_msg("%s refuses \"%s\" %s with the message \"%s\"", c->op->name, text, how,
			 c->err.message);
}

static void insert(struct op_case *c, uint32_t index, int32_t type)
{
	uint32_t behind = c->num_inputs + c->num_outputs - index;

	memmove(&c->operands[index + 1], &c->operands[index], behind * sizeof(*c->operands));
	c->operands[index] = (struct nn_operand){ .type = type };
}

static void test_counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(signatures); i++) {
		const struct oc_signature *s = &signatures[i];
		struct op_case c;

		begin(&c, s);
		memmove(&c.operands[c.num_inputs - 1], &c.operands[c.num_inputs],
			c.num_outputs * sizeof(*c.operands));
		c.num_inputs--;
		assert_refused(&c, s->text, "without the last input");

		begin(&c, s);
		insert(&c, c.num_inputs, NN_FLOAT32);
		c.num_inputs++;
		assert_refused(&c, s->text, "with one input more");

		begin(&c, s);
		c.num_outputs = 0;
		assert_refused(&c, s->text, "without outputs");

		if (!strcmp(s->op, "SPLIT"))
			continue;
		begin(&c, s);
		insert(&c, c.num_inputs, c.operands[c.num_inputs].type);
		c.num_outputs++;
		assert_refused(&c, s->text, "with one output more");
	}
}

/*
 * The allowed ranks of each tensor if other tensors have unknown rank: a rank, a range ("2-4"), or
 * "*" for any rank; "-" is a scalar. An input that may be omitted may have any rank.
 */
static const struct {
	const char *ops;
	const char *ranks;
} all_ranks[] = {
	{ "ABS CAST ERF EXP GELU LOG LOGICAL_NOT NEG QUANTIZE RSQRT SIN SQRT HARD_SWISH", "* > *" },
	{ "RANK", "* > -" },
	{ "EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL LOGICAL_AND LOGICAL_OR MAXIMUM MINIMUM "
	  "NOT_EQUAL POW PRELU",
	  "* * > *" },
	{ "ARGMAX ARGMIN EXPAND_DIMS ELU", "* - > *" },
	{ "TILE", "* 1 > *" },
	{ "PACK", "- * > *" },
	{ "FILL", "1 - > *" },
	{ "DEPTH_TO_SPACE SPACE_TO_DEPTH", "4 - > *" },
	{ "BATCH_TO_SPACE_ND", "4 1 > *" },
	{ "SELECT", "* * * > *" },
	{ "GATHER", "* - * > *" },
	{ "LOG_SOFTMAX", "* - - > *" },
	{ "TOPK_V2", "* - > * *" },
	{ "SLICE", "* 1 1 > *" },
	{ "MIRROR_PAD", "* 2 - > *" },
	{ "RESHAPE PAD SQUEEZE TRANSPOSE", "1-4 * > *" },
	{ "DEQUANTIZE FLOOR L2_NORMALIZATION LOGISTIC RELU RELU1 RELU6 TANH", "1-4 > 1-4" },
	{ "RANDOM_MULTINOMIAL", "2 - 1 > 2" },
	{ "RESIZE_BILINEAR", "4 - - > 4" },
	{ "SPACE_TO_BATCH_ND", "4 1 * > *" },
	{ "EMBEDDING_LOOKUP", "1 2-16 > *" },
	{ "SPLIT", "* - - > * *" },
	{ "HASHTABLE_LOOKUP", "1 1 * > * 1" },
	{ "PAD_V2", "1-4 * - > *" },
	{ "CHANNEL_SHUFFLE", "1-4 - - > *" },
	{ "CONCATENATION SOFTMAX", "1-4 - > 1-4" },
	{ "MEAN REDUCE_ALL REDUCE_ANY REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_SUM",
	  "1-4 1 - > *" },
	{ "REVERSE", "1-8 1 > 1-8" },
	{ "DYNAMIC_FULLY_CONNECTED", "2-4 2 1 - - > 2" },
	{ "DYNAMIC_BATCH_MATMUL", "2-4 2-4 - - - > 2-4" },
	{ "DYNAMIC_CONV_2D", "4 4 1 - - - - - - > 4" },
	{ "LSH_PROJECTION", "2 * * - > 1" },
	{ "AXIS_ALIGNED_BBOX_TRANSFORM", "2 2 1 2 > 2" },
	{ "RESIZE_NEAREST_NEIGHBOR", "4 - - - > 4" },
	{ "HEATMAP_MAX_KEYPOINT", "4 2 - > 2 3" },
	{ "FULLY_CONNECTED", "2-4 2 1 - > 2" },
	{ "INSTANCE_NORMALIZATION", "4 - - - - > 4" },
	{ "ADD MUL DIV SUB", "1-4 1-4 - > 1-4" },
	{ "LOCAL_RESPONSE_NORMALIZATION", "1-4 - - - - > 1-4" },
	{ "RNN", "2 2 2 1 2 - > 2 2" },
	{ "BATCH_MATMUL", "2-4 2-4 - - > 2-4" },
	{ "AVERAGE_POOL_2D L2_POOL_2D MAX_POOL_2D", "4 - - - - - - > 4" },
	{ "CONV_2D", "4 4 1 - - - - > 4" },
	{ "STRIDED_SLICE", "1-4 1 1 1 - - - > *" },
	{ "SVDF", "2 2 2 * 2 - - > 2 2" },
	{ "ROI_POOLING", "4 2 1 - - - - - > 4" },
	{ "DEPTHWISE_CONV_2D", "4 4 1 - - - - - > 4" },
	{ "GROUPED_CONV_2D", "4 4 1 - - - - - - > 4" },
	{ "TRANSPOSE_CONV_2D", "4 4 1 1 - - - - - > 4" },
	{ "UNIDIRECTIONAL_SEQUENCE_RNN", "3 2 2 1 2 - - > 2-3 2-3" },
	{ "ROI_ALIGN", "4 2 1 - - - - - - - > 4" },
	{ "BOX_WITH_NMS_LIMIT", "2 2 1 - - - - - - > 1 2 1 1" },
	{ "GENERATE_PROPOSALS", "4 4 2 2 - - - - - - - > 1 2 1" },
	{ "QUANTIZED_16BIT_LSTM", "2 2 2 2 2 2 2 2 2 1 1 1 1 2 2 > 2 2" },
	{ "DETECTION_POSTPROCESSING", "3 3 2 - - - - - - - - - - - > 2 3 2 1" },
	{ "BIDIRECTIONAL_SEQUENCE_RNN", "3 2 2 1 2 2 2 1 2 * * * - - - > 2-3 2-3 2-3 2-3" },
	{ "LSTM", "2 * 2 2 2 * 2 2 2 * * * * 1 1 1 * * 2 2 - - - > 2 2 2 2" },
	{ "UNIDIRECTIONAL_SEQUENCE_LSTM",
	  "3 * 2 2 2 * 2 2 2 * * * * 1 1 1 * * 2 2 - - - - * * * * > 3 2 2" },
	{ "QUANTIZED_LSTM",
	  "2 * 2 2 2 * 2 2 2 * * * * 1 1 1 * * 2 2 * * * * - - - - - - - - > 2 2 2" },
	{ "BIDIRECTIONAL_SEQUENCE_LSTM",
	  "3 * 2 2 2 * 2 2 2 * * * * 1 1 1 * * * 2 2 2 * 2 2 2 * * * * 1 1 1 * * * * * * * * * "
	  "* * * * * * - - - - - * * * * * * * * > 2-3 2-3 2-3 2-3 2-3 2-3" },
};

/*
 * Reads a word of ranks, and moves `*text` to the end of the word; returns false if the word is a
 * scalar.
 */
static bool read_ranks(const char **text, uint32_t *min, uint32_t *max)
{
	const char *word = *text + strspn(*text, " >");
	char *end = (char *)word + 1;

	*min = 1;
	*max = NN_MAX_RANK;
	if (*word != '-' && *word != '*') {
		*min = *max = (uint32_t)strtoul(word, &end, 10);
		if (*end == '-')
			*max = (uint32_t)strtoul(end + 1, &end, 10);
	}
	*text = end;
	return *word != '-';
}

static bool is_among(const char *ops, const char *op)
{
	size_t length = strlen(op);

	for (const char *at = ops; (at = strstr(at, op)); at += length)
		if ((at == ops || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	return false;
}

static void check_ranks(const struct oc_signature *s, const char *ranks)
{
	struct op_case c;
	uint32_t min, max;

	begin(&c, s);
	for (uint32_t k = 0; k < c.num_inputs + c.num_outputs; k++)
		c.operands[k].rank = 0;
	for (uint32_t k = 0; k < c.num_inputs + c.num_outputs; k++) {
		struct nn_operand *o = &c.operands[k];
		bool is_tensor = nn_type_info_of(o->type)->is_tensor;

		if (read_ranks(&ranks, &min, &max) != is_tensor)
			fail_msg("%s: operand %u is %s scalar", s->op, k, is_tensor ? "no" : "a");
		for (o->rank = 1; is_tensor && o->rank <= NN_MAX_RANK; o->rank++) {
			char how[64];

			snprintf(how, sizeof(how), "with operand %u of rank %u", k, o->rank);
			if (o->rank < min || o->rank > max)
				assert_refused(&c, s->text, how);
			else if (oc_check(&c))
				fail_msg("%s: %s: %s", s->op, how, c.err.message);
		}
		o->rank = 0;
	}
	assert_int_equal(ranks[strspn(ranks, " ")], 0);
}

static void test_ranks(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(signatures); i++) {
		size_t k = 0;

		while (k < LENGTH(all_ranks) && !is_among(all_ranks[k].ops, signatures[i].op))
			k++;
		if (k == LENGTH(all_ranks))
			fail_msg("%s has no ranks here", signatures[i].op);
		check_ranks(&signatures[i], all_ranks[k].ranks);
	}
}

/* Tries each operation with each number of inputs, up to one more than its maximum. */
static void test_numbers_of_inputs(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(longest); i++) {
		const struct oc_signature *s = &longest[i].signature;
		struct op_case c;
		uint32_t most;

		begin(&c, s);
		most = c.num_inputs;
		insert(&c, most, NN_INT32);
		for (c.num_inputs = most + 1; c.num_inputs > 0; c.num_inputs--) {
			uint64_t counts = c.num_inputs > most ? 0 : longest[i].counts;
			char how[64];

			snprintf(how, sizeof(how), "with %u inputs", c.num_inputs);
			if (!(counts & N(c.num_inputs)))
				assert_refused(&c, s->text, how);
			else if (oc_check(&c))
				fail_msg("%s: %s: %s", s->op, how, c.err.message);
			memmove(&c.operands[c.num_inputs - 1], &c.operands[c.num_inputs],
				c.num_outputs * sizeof(*c.operands));
		}
	}
}

#define T(type) (1u << (type))
#define FLOATS (T(NN_TENSOR_FLOAT32) | T(NN_TENSOR_FLOAT16))
#define BYTES (T(NN_TENSOR_QUANT8_ASYMM) | T(NN_TENSOR_QUANT8_ASYMM_SIGNED))
#define CHANNELS T(NN_TENSOR_QUANT8_SYMM_PER_CHANNEL)
#define NUMBERS (FLOATS | T(NN_TENSOR_INT32) | BYTES)
#define CASTS (FLOATS | T(NN_TENSOR_INT32) | T(NN_TENSOR_QUANT8_ASYMM))

/* Returns the types that an operand may have besides its type in the tables of signatures. */
static uint32_t exchangeable(const struct op_case *c, uint32_t operand)
{
	static const struct {
		const char *op;
		uint32_t operand;
		uint32_t types;
	} table[] = {
		{ "ARGMAX", 0, NUMBERS },
		{ "ARGMIN", 0, NUMBERS },
		{ "AXIS_ALIGNED_BBOX_TRANSFORM", 1, BYTES },
		{ "CAST", 0, CASTS },
		{ "CAST", 1, CASTS },
		{ "CONV_2D", 1, CHANNELS },
		{ "DEPTHWISE_CONV_2D", 1, T(NN_TENSOR_QUANT8_ASYMM) },
		{ "DEQUANTIZE", 0, BYTES | T(NN_TENSOR_QUANT8_SYMM) | CHANNELS },
		{ "DEQUANTIZE", 1, FLOATS },
		{ "DYNAMIC_BATCH_MATMUL", 1, BYTES | T(NN_TENSOR_QUANT8_SYMM) | CHANNELS },
		{ "DYNAMIC_CONV_2D", 1, BYTES | T(NN_TENSOR_QUANT8_SYMM) | CHANNELS },
		{ "DYNAMIC_FULLY_CONNECTED", 1, BYTES | T(NN_TENSOR_QUANT8_SYMM) },
		{ "GROUPED_CONV_2D", 1, T(NN_TENSOR_QUANT8_ASYMM_SIGNED) },
		{ "LSH_PROJECTION", 1, FLOATS | T(NN_TENSOR_QUANT8_ASYMM) },
		{ "QUANTIZE", 0, FLOATS },
		{ "QUANTIZE", 1, BYTES },
		{ "RANDOM_MULTINOMIAL", 0, FLOATS },
		{ "RANK", 0, NUMBERS | CHANNELS | T(NN_TENSOR_BOOL8) | T(NN_TENSOR_QUANT16_SYMM) |
			     T(NN_TENSOR_QUANT16_ASYMM) | T(NN_TENSOR_QUANT8_SYMM) },
	};

	for (size_t i = 0; i < LENGTH(table); i++)
		if (table[i].operand == operand && !strcmp(table[i].op, c->op->name))
			return table[i].types;
	/*
	 * If an INT32 replaces the layout flag, the signature becomes the signature with explicit
	 * padding, in which the INT32 is a stride.
	 */
	if ((!strcmp(c->op->name, "CONV_2D") && c->num_inputs == 10 && operand == 7) ||
	    (!strcmp(c->op->name, "DEPTHWISE_CONV_2D") && c->num_inputs == 11 && operand == 8))
		return T(NN_INT32);
	return 0;
}

/* Checks each operand of a signature with each existing type. */
static void check_types(const struct oc_signature *s)
{
	static const int32_t foreign[] = { NN_TENSOR_OEM_BYTE, NN_OEM_SCALAR, 0x10000, -1 };
	struct op_case c;

	begin(&c, s);
	for (uint32_t k = 0; k < c.num_inputs + c.num_outputs; k++) {
		struct nn_operand *o = &c.operands[k], good = *o;
		uint32_t types = exchangeable(&c, k);
		char how[96];

		for (int32_t type = 0; type < NN_TYPE_COUNT; type++) {
			snprintf(how, sizeof(how), "with operand %u a %s", k, nn_type_name(type));
			*o = good;
			if (type == good.type)
				continue;
			o->type = type;
			if (!nn_type_info_of(type)->is_tensor)
				o->rank = 0;
			if (!(types & T(type)))
				assert_refused(&c, s->text, how);
			else if (oc_check(&c))
				fail_msg("%s: %s", how, c.err.message);
		}
		for (size_t f = 0; f < LENGTH(foreign); f++) {
			snprintf(how, sizeof(how), "with operand %u of type %d", k, foreign[f]);
			o->type = foreign[f];
			assert_refused(&c, s->text, how);
		}
		*o = good;
	}
	assert_int_equal(oc_check(&c), NN_OK);
}

static void test_types(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(signatures); i++)
		check_types(&signatures[i]);
	for (size_t i = 0; i < LENGTH(longest); i++)
		check_types(&longest[i].signature);
}

/*
 * Each case changes the dimensions or the scale of an operand; the operation must accept or reject
 * the changed operand.
 */
static void test_known_shapes(void **state)
{
	static const struct {
		const char *op;
		const char *text;
		uint32_t operand;
		uint32_t dims[4];
		float scale;
		bool good;
	} table[] = {
		{ "CAST", "f2 > u2", 1, { 4, 5 }, 0, true },
		{ "CAST", "f2 > u3", 1, { 0 }, 0, false },
		{ "FULLY_CONNECTED", "f3 f2 f1 I > f2", 0, { 2, 3, 5 }, 0, true },
		{ "FULLY_CONNECTED", "f3 f2 f1 I > f2", 2, { 6 }, 0, true },
		{ "PACK", "I u2 u2 > u3", 1, { 2, 3 }, 0, true },
		{ "PACK", "I u2 u2 > u3", 2, { 0 }, 0.5f, false },
		{ "PACK", "I u2 u2 > u3", 3, { 0 }, 0.5f, false },
		{ "MIRROR_PAD", "u3 w2 I > u3", 1, { 3, 2 }, 0, true },
		{ "MIRROR_PAD", "u3 w2 I > u3", 1, { 2, 2 }, 0, false },
		{ "MIRROR_PAD", "u3 w2 I > u3", 1, { 0, 3 }, 0, false },
		{ "MIRROR_PAD", "u3 w2 I > u3", 3, { 0 }, 0.5f, false },
		{ "REVERSE", "u3 w1 > u3", 1, { 1 }, 0, true },
		{ "REVERSE", "u3 w1 > u3", 1, { 2 }, 0, false },
		{ "REVERSE", "u3 w1 > u3", 2, { 0 }, 0.5f, false },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct op_case c;
		struct nn_operand *o;

		oc_init(&c, table[i].op);
		oc_parse(&c, table[i].text);
		o = &c.operands[table[i].operand];
		memcpy(o->dims, table[i].dims, sizeof(table[i].dims));
		o->scale = table[i].scale;
		if (!table[i].good)
			assert_refused(&c, table[i].text, "in other dimensions");
		else if (oc_check(&c))
			fail_msg("%s", c.err.message);
	}
}

/* Operations reject operands if two dimensions differ that must be equal. */
static void test_shapes_that_disagree(void **state)
{
	static const struct {
		const char *op;
		const char *text;
		uint32_t a, b;
		uint32_t a_dims[4], b_dims[4];
		const char *message;
	} table[] = {
		{ "CAST", "f2 > u2", 0, 1, { 4, 5 }, { 4, 6 },
		  "output 0 (TENSOR_QUANT8_ASYMM): has other" },
		{ "FULLY_CONNECTED", "f2 f2 f1 I > f2", 0, 1, { 3, 4 }, { 0, 5 },
		  "input 0 (TENSOR_FLOAT32): its elements do not make rows of 5" },
		{ "FULLY_CONNECTED", "f2 f2 f1 I > f2", 0, 1, { 1, 3 }, { 0, 6 },
		  "input 0 (TENSOR_FLOAT32): its elements do not make rows of 6" },
		{ "FULLY_CONNECTED", "f2 f2 f1 I > f2", 1, 2, { 6, 0 }, { 7 },
		  "input 2 (TENSOR_FLOAT32): 7 elements for 6 units" },
		{ "PACK", "I f2 f2 > f3", 1, 2, { 2, 3 }, { 3, 3 },
		  "input 2 (TENSOR_FLOAT32): has other dimensions than input 1" },
		{ "REVERSE", "f2 w1 > f2", 0, 2, { 2, 3 }, { 3, 3 },
		  "output 0 (TENSOR_FLOAT32): has other dimensions than input 0" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		struct op_case c;

		oc_init(&c, table[i].op);
		oc_parse(&c, table[i].text);
		memcpy(c.operands[table[i].a].dims, table[i].a_dims, sizeof(table[i].a_dims));
		assert_int_equal(oc_check(&c), NN_OK);
		memcpy(c.operands[table[i].b].dims, table[i].b_dims, sizeof(table[i].b_dims));
		assert_refused(&c, table[i].text, "in dimensions that disagree");
		if (!strstr(c.err.message, table[i].message))
			fail_msg("%s", c.err.message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_every_operation),
		heap_unit_test(test_counts),
		heap_unit_test(test_ranks),
		heap_unit_test(test_numbers_of_inputs),
		heap_unit_test(test_types),
		heap_unit_test(test_known_shapes),
		heap_unit_test(test_shapes_that_disagree),
	};

	return cmocka_run_group_tests_name("ops_signature", tests, NULL, NULL);
}
