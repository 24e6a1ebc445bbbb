/* SPDX-License-Identifier: MIT */
/*
 * Tests operations that move elements: signatures, results for tensors whose elements are numbered,
 * and invalid values.
 */
#include "op_case.h"
#include "tests/heap_blocks.h"

static void test_signatures(void **state)
{
	static const struct oc_signature table[] = {
		{ "RESHAPE", "f4 w1 > f4", true },
		{ "RESHAPE", "s2 w1 > s1", true },
		{ "RESHAPE", "w4 w1 > w4", true },
		{ "RESHAPE", "t4 w1 > t4", false },
		{ "RESHAPE", "f5 w1 > f4", false },
		{ "RESHAPE", "f4 f1 > f4", false },
		{ "RESHAPE", "f4 w2 > f4", true },
		{ "RESHAPE", "f4 w1 > h4", false },
		{ "RESHAPE", "f4 > f4", false },
		{ "SQUEEZE", "u4 w1 > u2", true },
		{ "SQUEEZE", "u4 I > u2", false },
		{ "EXPAND_DIMS", "w3 I > w4", true },
		{ "EXPAND_DIMS", "t3 I > t4", false },
		{ "EXPAND_DIMS", "w3 w1 > w4", false },
		{ "TRANSPOSE", "h4 w1 > h4", true },
		{ "TRANSPOSE", "h5 w1 > h5", false },
		{ "REVERSE", "w3 w1 > w3", true },
		{ "REVERSE", "w3 I > w3", false },
		{ "REVERSE", "w3 w1 > w2", false },
		{ "REVERSE", "w9 w1 > w9", false },
		{ "CHANNEL_SHUFFLE", "f4 I I > f4", true },
		{ "CHANNEL_SHUFFLE", "f4 I > f4", false },
		{ "CHANNEL_SHUFFLE", "f4 I F > f4", false },
		{ "SLICE", "w3 w1 w1 > w3", true },
		{ "SLICE", "w3 w1 > w3", false },
		{ "SLICE", "w3 w1 f1 > w3", false },
		{ "STRIDED_SLICE", "f4 w1 w1 w1 I I I > f3", true },
		{ "STRIDED_SLICE", "f4 w1 w1 w1 I I B > f3", false },
		{ "STRIDED_SLICE", "w4 w1 w1 w1 I I I > w3", false },
		{ "SPLIT", "w2 I I > w2", true },
		{ "SPLIT", "w2 I I > w2 w2 w2", true },
		{ "SPLIT", "w2 I I >", false },
		{ "SPLIT", "w2 I I > w2 f2", false },
		{ "TILE", "s2 w1 > s2", true },
		{ "TILE", "s2 w1 > u2", false },
		{ "PAD", "h4 w2 > h4", true },
		{ "PAD", "h4 w1 > h4", true },
		{ "PAD", "h5 w2 > h5", false },
		{ "PAD", "h4 w2 I > h4", false },
		{ "PAD_V2", "h4 w2 H > h4", true },
		{ "PAD_V2", "f4 w2 F > f4", true },
		{ "PAD_V2", "s4 w2 I > s4", true },
		{ "PAD_V2", "s4 w1 I > s4", true },
		{ "PAD_V2", "s4 w2 F > s4", false },
		{ "PAD_V2", "h4 w2 F > h4", false },
		{ "MIRROR_PAD", "w4 w2 I > w4", true },
		{ "MIRROR_PAD", "w4 w2 > w4", false },
		{ "MIRROR_PAD", "w4 w2 I > w3", false },
		{ "GATHER", "w2 I w3 > w4", true },
		{ "GATHER", "w2 I f3 > w4", false },
		{ "EMBEDDING_LOOKUP", "w1 h3 > h3", true },
		{ "EMBEDDING_LOOKUP", "w1 h1 > h1", false },
		{ "EMBEDDING_LOOKUP", "w1 h3 > f3", false },
		{ "HASHTABLE_LOOKUP", "w1 w1 f2 > f2 u1", true },
		{ "HASHTABLE_LOOKUP", "w1 w1 h2 > h2 u1", false },
		{ "HASHTABLE_LOOKUP", "w1 w1 f2 > f2 s1", false },
		{ "DEPTH_TO_SPACE", "u4 I > u4", true },
		{ "DEPTH_TO_SPACE", "u4 I B > u4", true },
		{ "DEPTH_TO_SPACE", "u3 I > u4", false },
		{ "SPACE_TO_DEPTH", "f4 I I > f4", false },
		{ "BATCH_TO_SPACE_ND", "f4 w1 B > f4", true },
		{ "BATCH_TO_SPACE_ND", "f4 I > f4", false },
		{ "SPACE_TO_BATCH_ND", "f4 w1 w2 B > f4", true },
		{ "SPACE_TO_BATCH_ND", "f4 w1 w1 > f4", true },
		{ "SPACE_TO_BATCH_ND", "f4 w2 w2 > f4", false },
		{ "CONCATENATION", "f4 f4 f4 I > f4", true },
		{ "CONCATENATION", "f4 I > f4", true },
		{ "CONCATENATION", "I > f4", false },
		{ "CONCATENATION", "f4 h4 I > f4", false },
		{ "CONCATENATION", "f4 f4 > f4", false },
		{ "PACK", "I w2 w2 > w3", true },
		{ "PACK", "I w2 f2 > w3", false },
		{ "PACK", "w2 w2 I > w3", false },
		{ "PACK", "I > w3", false },
		{ "PACK", "I w0 w2 > w0", true },
		{ "PACK", "I w2 w3 > w3", false },
		{ "PACK", "I w2 w2 > w2", false },
		{ "ARGMAX", "w2 I > w1", true },
		{ "ARGMIN", "f2 I > f1", false },
		{ "TOPK_V2", "h2 I > h2 w2", true },
		{ "TOPK_V2", "h2 I > h2", false },
		{ "MEAN", "u4 w1 I > u4", true },
		{ "MEAN", "u4 w1 B > u4", false },
		{ "REDUCE_SUM", "h4 w1 B > h4", true },
		{ "REDUCE_SUM", "u4 w1 B > u4", false },
		{ "REDUCE_MAX", "s4 w1 B > s4", true },
		{ "REDUCE_MIN", "s4 w1 I > s4", false },
		{ "REDUCE_PROD", "f4 f1 B > f4", false },
		{ "REDUCE_ALL", "t4 w1 B > t4", true },
		{ "REDUCE_ANY", "f4 w1 B > f4", false },
		{ "BATCH_MATMUL", "f2 f2 B B > f2", true },
		{ "BATCH_MATMUL", "s4 s4 B B > s4", true },
		{ "BATCH_MATMUL", "w3 w3 B B > w3", true },
		{ "BATCH_MATMUL", "u2 u2 B B > u2", false },
		{ "BATCH_MATMUL", "f1 f2 B B > f2", false },
		{ "BATCH_MATMUL", "f2 h2 B B > f2", false },
		{ "BATCH_MATMUL", "f2 f2 B > f2", false },
		{ "BATCH_MATMUL", "f2 f2 B B B > f2", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		oc_assert_signature(&table[i]);
}

struct list {
	uint32_t rank, dims[2];
	int32_t values[8];
};

#define LIST(n, ...) { 1, { n }, { __VA_ARGS__ } }
#define PAIRS(n, ...) { 2, { n, 2 }, { __VA_ARGS__ } }

/*
 * An operation on a tensor with dimensions `dims` whose elements are numbered from 0. Letters in
 * `operands` stand for the operands in order. The letter x is the tensor, l the next list, o an
 * omitted list, i the next number as INT32, and b the next number as BOOL.
 */
struct move {
	const char *op, *operands;
	uint32_t rank, dims[4];
	struct list lists[3];
	int32_t numbers[4];
	uint32_t out_rank, out_dims[5];	/* a rank of 0 means that the operation must fail */
	uint8_t out[40];
	const char *why;		/* part of the error message */
};

static void build(struct op_case *c, const struct move *m, int32_t type, uint32_t outputs)
{
	uint32_t list = 0, number = 0, count = 1;
	uint8_t elements[256];

	for (uint32_t i = 0; i < m->rank; i++)
		count *= m->dims[i];
	assert_between(count, 0, sizeof(elements) - 1);
	for (uint32_t i = 0; i < count; i++)
		elements[i] = (uint8_t)i;
	oc_init(c, m->op);
	for (const char *p = m->operands; *p; p++) {
		const struct list *l = &m->lists[list];
		int32_t value = number < 4 ? m->numbers[number] : 0;

		switch (*p) {
		case 'x':
			oc_input(c, type, m->rank, m->dims, elements);
			oc_quantise(c, 0.5f, 200);
			break;
		case 'l':
			oc_input(c, NN_TENSOR_INT32, l->rank, l->dims, l->values);
			list++;
			break;
		case 'o':
			oc_input(c, NN_TENSOR_INT32, 1, (uint32_t[]){ 1 }, NULL);
			c->tensors[c->num_inputs - 1].omitted = true;
			break;
		case 'i':
			oc_int(c, value);
			number++;
			break;
		case 'b':
			oc_bool(c, value);
			number++;
			break;
		}
	}
	for (uint32_t i = 0; i < outputs; i++) {
		oc_output(c, type);
		oc_quantise(c, 0.5f, 200);
	}
}

static void assert_result(const struct move *m, const struct op_case *c)
{
	const struct nn_tensor *out = oc_result(c, 0);

	assert_int_equal(out->rank, m->out_rank);
	assert_memory_equal(out->dims, m->out_dims, m->out_rank * sizeof(*out->dims));
	if (memcmp(out->data, m->out, nn_tensor_count(out)))
		fail_msg("%s %s gives wrong elements", m->op, m->operands);
}

static void test_moves(void **state)
{
	static const struct move table[] = {
		{ "RESHAPE", "xl", 2, { 2, 3 }, { LIST(2, 3, -1) }, { 0 }, 2, { 3, 2 },
		  { 0, 1, 2, 3, 4, 5 }, NULL },
		{ "SQUEEZE", "xo", 4, { 1, 2, 1, 2 }, { { 0 } }, { 0 }, 2, { 2, 2 },
		  { 0, 1, 2, 3 }, NULL },
		{ "SQUEEZE", "xl", 4, { 1, 2, 1, 2 }, { LIST(1, -2) }, { 0 }, 3, { 1, 2, 2 },
		  { 0, 1, 2, 3 }, NULL },
		{ "SQUEEZE", "xo", 2, { 1, 1 }, { { 0 } }, { 0 }, 1, { 1 }, { 0 }, NULL },
		{ "EXPAND_DIMS", "xi", 2, { 1, 2 }, { { 0 } }, { -1 }, 3, { 1, 2, 1 }, { 0, 1 },
		  NULL },
		{ "TRANSPOSE", "xl", 2, { 2, 3 }, { LIST(2, 1, 0) }, { 0 }, 2, { 3, 2 },
		  { 0, 3, 1, 4, 2, 5 }, NULL },
		{ "TRANSPOSE", "xo", 3, { 1, 2, 3 }, { { 0 } }, { 0 }, 3, { 3, 2, 1 },
		  { 0, 3, 1, 4, 2, 5 }, NULL },
		{ "TRANSPOSE", "xl", 3, { 2, 2, 2 }, { LIST(3, 2, 0, 1) }, { 0 }, 3, { 2, 2, 2 },
		  { 0, 2, 4, 6, 1, 3, 5, 7 }, NULL },
		{ "REVERSE", "xl", 2, { 2, 3 }, { LIST(1, 1) }, { 0 }, 2, { 2, 3 },
		  { 2, 1, 0, 5, 4, 3 }, NULL },
		{ "CHANNEL_SHUFFLE", "xii", 2, { 1, 6 }, { { 0 } }, { 2, -1 }, 2, { 1, 6 },
		  { 0, 3, 1, 4, 2, 5 }, NULL },
		{ "SLICE", "xll", 2, { 3, 3 }, { LIST(2, 1, 0), LIST(2, -1, 2) }, { 0 }, 2,
		  { 2, 2 }, { 3, 4, 6, 7 }, NULL },
		{ "STRIDED_SLICE", "xllliii", 2, { 3, 3 },
		  { LIST(2, -1, 0), LIST(2, 0, 3), LIST(2, -2, 2) }, { 0, 1, 0 }, 2, { 2, 2 },
		  { 6, 8, 0, 2 }, NULL },
		{ "STRIDED_SLICE", "xllliii", 2, { 3, 3 },
		  { LIST(2, 1, 0), LIST(2, 2, 3), LIST(2, 1, 1) }, { 0, 0, 1 }, 1, { 3 },
		  { 3, 4, 5 }, NULL },
		{ "STRIDED_SLICE", "xllliii", 1, { 3 }, { LIST(1, 1), LIST(1, 2), LIST(1, 1) },
		  { 0, 0, 1 }, 1, { 1 }, { 1 }, NULL },
		{ "TILE", "xl", 2, { 1, 2 }, { LIST(2, 2, 2) }, { 0 }, 2, { 2, 4 },
		  { 0, 1, 0, 1, 0, 1, 0, 1 }, NULL },
		{ "PAD", "xl", 2, { 1, 2 }, { PAIRS(2, 1, 0, 0, 1) }, { 0 }, 2, { 2, 3 },
		  { 200, 200, 200, 0, 1, 200 }, NULL },
		{ "PAD_V2", "xli", 1, { 2 }, { PAIRS(1, 1, 1) }, { 9 }, 1, { 4 }, { 9, 0, 1, 9 },
		  NULL },
		{ "MIRROR_PAD", "xli", 1, { 3 }, { PAIRS(1, 2, 2) }, { 0 }, 1, { 7 },
		  { 2, 1, 0, 1, 2, 1, 0 }, NULL },
		{ "MIRROR_PAD", "xli", 1, { 3 }, { PAIRS(1, 3, 1) }, { 1 }, 1, { 7 },
		  { 2, 1, 0, 0, 1, 2, 2 }, NULL },
		{ "MIRROR_PAD", "xli", 2, { 2, 2 }, { PAIRS(2, 1, 0, 0, 1) }, { 0 }, 2, { 3, 3 },
		  { 2, 3, 2, 0, 1, 0, 2, 3, 2 }, NULL },
		{ "GATHER", "xil", 2, { 2, 3 }, { LIST(2, 2, 0) }, { -1 }, 2, { 2, 2 },
		  { 2, 0, 5, 3 }, NULL },
		{ "GATHER", "xil", 2, { 2, 2 }, { PAIRS(1, 1, 1) }, { 0 }, 3, { 1, 2, 2 },
		  { 2, 3, 2, 3 }, NULL },
		{ "EMBEDDING_LOOKUP", "lx", 2, { 3, 2 }, { LIST(2, 2, 0) }, { 0 }, 2, { 2, 2 },
		  { 4, 5, 0, 1 }, NULL },
		{ "DEPTH_TO_SPACE", "xi", 4, { 1, 1, 2, 4 }, { { 0 } }, { 2 }, 4, { 1, 2, 4, 1 },
		  { 0, 1, 4, 5, 2, 3, 6, 7 }, NULL },
		{ "DEPTH_TO_SPACE", "xib", 4, { 1, 4, 1, 2 }, { { 0 } }, { 2, 1 }, 4,
		  { 1, 1, 2, 4 }, { 0, 2, 1, 3, 4, 6, 5, 7 }, NULL },
		{ "SPACE_TO_DEPTH", "xi", 4, { 1, 2, 4, 1 }, { { 0 } }, { 2 }, 4, { 1, 1, 2, 4 },
		  { 0, 1, 4, 5, 2, 3, 6, 7 }, NULL },
		{ "BATCH_TO_SPACE_ND", "xl", 4, { 4, 1, 1, 2 }, { LIST(2, 2, 2) }, { 0 }, 4,
		  { 1, 2, 2, 2 }, { 0, 1, 2, 3, 4, 5, 6, 7 }, NULL },
		{ "SPACE_TO_BATCH_ND", "xll", 4, { 1, 2, 1, 1 },
		  { LIST(2, 2, 1), PAIRS(2, 1, 1, 0, 0) }, { 0 }, 4, { 2, 2, 1, 1 },
		  { 200, 1, 0, 200 }, NULL },
		{ "CONCATENATION", "xxi", 2, { 2, 2 }, { { 0 } }, { 1 }, 2, { 2, 4 },
		  { 0, 1, 0, 1, 2, 3, 2, 3 }, NULL },
		{ "PACK", "ixx", 1, { 2 }, { { 0 } }, { 1 }, 2, { 2, 2 }, { 0, 0, 1, 1 }, NULL },
		{ "MEAN", "xli", 2, { 2, 3 }, { LIST(2, 1, -1) }, { 0 }, 1, { 2 }, { 1, 4 },
		  NULL },
		{ "MEAN", "xli", 2, { 2, 3 }, { LIST(1, 0) }, { 1 }, 2, { 1, 3 }, { 1, 2, 3 },
		  NULL },
		{ "REDUCE_MAX", "xlb", 3, { 2, 2, 2 }, { LIST(2, 0, 2) }, { 0 }, 1, { 2 },
		  { 5, 7 }, NULL },
		{ "REDUCE_MIN", "xlb", 2, { 2, 2 }, { LIST(2, 0, 1) }, { 0 }, 1, { 1 }, { 0 },
		  NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct op_case c;

		build(&c, &table[i], NN_TENSOR_QUANT8_ASYMM, 1);
		if (oc_run(&c))
			fail_msg("%s fails: %s", table[i].op, c.err.message);
		assert_result(&table[i], &c);
		oc_free(&c);
	}
}

static void test_refusals(void **state)
{
	static const struct move table[] = {
		{ "RESHAPE", "xl", 2, { 2, 3 }, { LIST(1, 5) }, { 0 }, 0, { 0 }, { 0 },
		  "elements" },
		{ "RESHAPE", "xl", 2, { 2, 3 }, { LIST(2, -1, -1) }, { 0 }, 0, { 0 }, { 0 }, "-1" },
		{ "RESHAPE", "xl", 2, { 2, 3 }, { LIST(2, -1, 0) }, { 0 }, 0, { 0 }, { 0 },
		  "deduced" },
		{ "RESHAPE", "xl", 1, { 2 }, { LIST(2, INT32_MAX, INT32_MAX) }, { 0 }, 0, { 0 },
		  { 0 }, "too many" },
		{ "SQUEEZE", "xl", 2, { 2, 1 }, { LIST(1, 0) }, { 0 }, 0, { 0 }, { 0 }, "axis 0" },
		{ "SQUEEZE", "xl", 2, { 2, 1 }, { LIST(1, 2) }, { 0 }, 0, { 0 }, { 0 }, "axis 2" },
		{ "EXPAND_DIMS", "xi", 1, { 1 }, { { 0 } }, { 2 }, 0, { 0 }, { 0 }, "axis 2" },
		{ "EXPAND_DIMS", "xi", 1, { 1 }, { { 0 } }, { INT32_MIN }, 0, { 0 }, { 0 },
		  "axis" },
		{ "TRANSPOSE", "xl", 2, { 1, 1 }, { LIST(2, 0, 2) }, { 0 }, 0, { 0 }, { 0 },
		  "permutation" },
		{ "TRANSPOSE", "xl", 2, { 1, 1 }, { LIST(1, 0) }, { 0 }, 0, { 0 }, { 0 },
		  "permutation" },
		{ "TRANSPOSE", "xl", 2, { 2, 1 }, { LIST(2, 0, 0) }, { 0 }, 0, { 0 }, { 0 },
		  "axis 0 twice" },
		{ "REVERSE", "xl", 1, { 1 }, { LIST(1, 1) }, { 0 }, 0, { 0 }, { 0 }, "axis 1" },
		{ "REVERSE", "xl", 1, { 1 }, { LIST(2, 0, 0) }, { 0 }, 0, { 0 }, { 0 },
		  "one axis" },
		{ "CHANNEL_SHUFFLE", "xii", 1, { 6 }, { { 0 } }, { 4, 0 }, 0, { 0 }, { 0 },
		  "groups" },
		{ "CHANNEL_SHUFFLE", "xii", 1, { 6 }, { { 0 } }, { 0, 0 }, 0, { 0 }, { 0 },
		  "groups" },
		{ "SLICE", "xll", 1, { 3 }, { LIST(1, 1), LIST(1, 3) }, { 0 }, 0, { 0 }, { 0 },
		  "axis 0" },
		{ "SLICE", "xll", 1, { 3 }, { LIST(1, -1), LIST(1, 1) }, { 0 }, 0, { 0 }, { 0 },
		  "axis 0" },
		{ "SLICE", "xll", 1, { 3 }, { LIST(1, 1), LIST(1, -2) }, { 0 }, 0, { 0 }, { 0 },
		  "axis 0" },
		{ "SLICE", "xll", 1, { 3 }, { LIST(2, 0, 0), LIST(1, 1) }, { 0 }, 0, { 0 }, { 0 },
		  "entries" },
		{ "STRIDED_SLICE", "xllliii", 1, { 3 }, { LIST(1, 0), LIST(1, 3), LIST(1, 0) },
		  { 0 }, 0, { 0 }, { 0 }, "stride" },
		{ "STRIDED_SLICE", "xllliii", 1, { 3 }, { LIST(1, 0), LIST(1, 2), LIST(1, 1) },
		  { 0, 0, 1 }, 0, { 0 }, { 0 }, "dropped" },
		{ "TILE", "xl", 1, { 3 }, { LIST(1, -1) }, { 0 }, 0, { 0 }, { 0 }, "repeated" },
		{ "TILE", "xl", 2, { 3, 3 }, { LIST(2, 65536, 65536) }, { 0 }, 0, { 0 }, { 0 },
		  "4 GiB" },
		{ "PAD", "xl", 1, { 3 }, { PAIRS(1, -1, 0) }, { 0 }, 0, { 0 }, { 0 }, "padding" },
		{ "PAD", "xl", 1, { 3 }, { PAIRS(2, 0, 0, 0, 0) }, { 0 }, 0, { 0 }, { 0 },
		  "[1, 2]" },
		{ "PAD", "xl", 1, { 3 }, { LIST(2, 0, 0) }, { 0 }, 0, { 0 }, { 0 }, "[1, 2]" },
		{ "PAD", "xl", 1, { 3 }, { PAIRS(1, INT32_MAX, INT32_MAX) }, { 0 }, 0, { 0 }, { 0 },
		  "axis 0" },
		{ "MIRROR_PAD", "xli", 1, { 3 }, { PAIRS(1, 3, 0) }, { 0 }, 0, { 0 }, { 0 },
		  "at most 2" },
		{ "MIRROR_PAD", "xli", 1, { 3 }, { PAIRS(1, 1, 0) }, { 2 }, 0, { 0 }, { 0 },
		  "mode" },
		{ "GATHER", "xil", 1, { 3 }, { LIST(1, 3) }, { 0 }, 0, { 0 }, { 0 }, "index 0" },
		{ "GATHER", "xil", 1, { 3 }, { LIST(1, -1) }, { 0 }, 0, { 0 }, { 0 }, "index 0" },
		{ "GATHER", "xil", 1, { 3 }, { LIST(1, 0) }, { 1 }, 0, { 0 }, { 0 }, "axis 1" },
		{ "EMBEDDING_LOOKUP", "lx", 2, { 3, 2 }, { LIST(1, 3) }, { 0 }, 0, { 0 }, { 0 },
		  "index 0" },
		{ "DEPTH_TO_SPACE", "xi", 4, { 1, 1, 1, 6 }, { { 0 } }, { 2 }, 0, { 0 }, { 0 },
		  "blocks" },
		{ "DEPTH_TO_SPACE", "xi", 4, { 1, 1, 1, 4 }, { { 0 } }, { INT32_MAX }, 0, { 0 },
		  { 0 }, "blocks" },
		{ "DEPTH_TO_SPACE", "xi", 3, { 1, 1, 4 }, { { 0 } }, { 1 }, 0, { 0 }, { 0 },
		  "3 dimensions" },
		{ "SPACE_TO_DEPTH", "xi", 3, { 1, 1, 4 }, { { 0 } }, { 1 }, 0, { 0 }, { 0 },
		  "3 dimensions" },
		{ "BATCH_TO_SPACE_ND", "xl", 2, { 4, 1 }, { LIST(2, 1, 1) }, { 0 }, 0, { 0 }, { 0 },
		  "2 dimensions" },
		{ "SPACE_TO_BATCH_ND", "xll", 1, { 4 }, { LIST(2, 1, 1), PAIRS(2, 0, 0, 0, 0) },
		  { 0 }, 0, { 0 }, { 0 }, "1 dimensions" },
		{ "SPACE_TO_BATCH_ND", "xll", 4, { 1, 2, 2, 1 },
		  { LIST(2, 1, 1), LIST(3, 0, 0, 0) }, { 0 }, 0, { 0 }, { 0 }, "must have 2" },
		{ "SPACE_TO_DEPTH", "xi", 4, { 1, 3, 2, 1 }, { { 0 } }, { 2 }, 0, { 0 }, { 0 },
		  "blocks" },
		{ "SPACE_TO_DEPTH", "xi", 4, { 1, 2, 2, 1 }, { { 0 } }, { 0 }, 0, { 0 }, { 0 },
		  "blocks" },
		{ "BATCH_TO_SPACE_ND", "xl", 4, { 3, 1, 1, 1 }, { LIST(2, 2, 1) }, { 0 }, 0, { 0 },
		  { 0 }, "batches" },
		{ "BATCH_TO_SPACE_ND", "xl", 4, { 4, 1, 1, 1 }, { LIST(2, 0, 1) }, { 0 }, 0, { 0 },
		  { 0 }, "block" },
		{ "SPACE_TO_BATCH_ND", "xll", 4, { 1, 3, 1, 1 },
		  { LIST(2, 2, 1), PAIRS(2, 0, 0, 0, 0) }, { 0 }, 0, { 0 }, { 0 }, "blocks" },
		{ "SPACE_TO_BATCH_ND", "xll", 4, { 1, 2, 1, 1 },
		  { LIST(2, 2, 1), PAIRS(2, 0, -2, 0, 0) }, { 0 }, 0, { 0 }, { 0 }, "padding" },
		{ "CONCATENATION", "xxi", 2, { 2, 2 }, { { 0 } }, { -1 }, 0, { 0 }, { 0 },
		  "axis -1" },
		{ "CONCATENATION", "xxi", 2, { 2, 2 }, { { 0 } }, { 2 }, 0, { 0 }, { 0 },
		  "axis 2" },
		{ "PACK", "ixx", 1, { 2 }, { { 0 } }, { 2 }, 0, { 0 }, { 0 }, "axis 2" },
		{ "MEAN", "xli", 1, { 2 }, { LIST(1, 1) }, { 0 }, 0, { 0 }, { 0 }, "axis 1" },
		{ "REDUCE_MAX", "xlb", 1, { 2 }, { LIST(1, -2) }, { 0 }, 0, { 0 }, { 0 },
		  "axis -2" },
		{ "SPLIT", "xii", 1, { 4 }, { { 0 } }, { 0, 2 }, 0, { 0 }, { 0 }, "1 outputs" },
		{ "SPLIT", "xii", 1, { 0 }, { { 0 } }, { 0, 1 }, 0, { 0 }, { 0 }, "no elements" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct move *m = &table[i];
		struct op_case c;

		build(&c, m, NN_TENSOR_QUANT8_ASYMM, 1);
		/*
		 * The model does not declare the inputs' shapes, so the shape rule finds the error
		 * at run time.
		 */
		for (uint32_t k = 0; k < c.num_inputs; k++)
			c.operands[k].rank = 0;
		if (oc_run(&c) != NN_GENERAL_FAILURE)
			fail_msg("%s of case %zu does not fail", m->op, i);
		if (!strstr(c.err.message, m->op) || !strstr(c.err.message, m->why))
			fail_msg("%s fails with \"%s\", not with \"%s\"", m->op, c.err.message,
				 m->why);
		oc_free(&c);
	}
}

static void test_split(void **state)
{
	static const struct move m = { "SPLIT", "xii", 2, { 2, 4 }, { { 0 } }, { -1, 2 }, 2,
				       { 2, 2 }, { 0, 1, 4, 5 }, NULL };
	static const uint8_t second[] = { 2, 3, 6, 7 };
	struct op_case c;

	(void)state;
	build(&c, &m, NN_TENSOR_QUANT8_ASYMM, 2);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_result(&m, &c);
	assert_memory_equal(oc_result(&c, 1)->data, second, sizeof(second));
	oc_free(&c);
}

/*
 * CONCATENATION converts each stored value if the output has another scale or zero point than the
 * inputs.
 */
static void test_concatenation_requantises(void **state)
{
	static const uint8_t bytes[] = { 0, 10, 128, 255 }, expected[] = { 64, 69, 128, 192 };
	struct op_case c;

	(void)state;
	oc_init(&c, "CONCATENATION");
	oc_input(&c, NN_TENSOR_QUANT8_ASYMM, OC_DIMS(4), bytes);
	oc_quantise(&c, 0.5f, 128);
	oc_int(&c, 0);
	oc_output(&c, NN_TENSOR_QUANT8_ASYMM);
	oc_quantise(&c, 1, 128);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_memory_equal(oc_result(&c, 0)->data, expected, sizeof(expected));
	oc_free(&c);
}

static void test_hashtable_lookup(void **state)
{
	static const int32_t lookups[] = { 5, 4, -1 }, keys[] = { -1, 2, 5 };
	static const float values[] = { 1, 2, 3, 4, 5, 6 }, rows[] = { 5, 6, 0, 0, 1, 2 };
	static const uint8_t hits[] = { 1, 0, 1 };
	struct op_case c;

	(void)state;
	oc_init(&c, "HASHTABLE_LOOKUP");
	oc_input(&c, NN_TENSOR_INT32, OC_DIMS(3), lookups);
	oc_input(&c, NN_TENSOR_INT32, OC_DIMS(3), keys);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(3, 2), values);
	oc_output(&c, NN_TENSOR_FLOAT32);
	oc_output(&c, NN_TENSOR_QUANT8_ASYMM);
	oc_quantise(&c, 1, 0);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_int_equal(nn_tensor_size(oc_result(&c, 0)), sizeof(rows));
	assert_memory_equal(oc_result(&c, 0)->data, rows, sizeof(rows));
	assert_memory_equal(oc_result(&c, 1)->data, hits, sizeof(hits));
	oc_free(&c);
}

/*
 * Ties: ARGMAX returns the first of equal numbers, TOPK_V2 the last of equal numbers; NaN is less
 * than all numbers.
 */
static void test_order(void **state)
{
	static const float values[] = { 1, 3, 3, (float)(0.0 / 0.0) };
	static const int32_t top[] = { 2, 1, 0 };
	struct op_case c;

	(void)state;
	oc_init(&c, "ARGMAX");
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(4), values);
	oc_int(&c, -1);
	oc_output(&c, NN_TENSOR_INT32);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_int_equal(*(int32_t *)oc_result(&c, 0)->data, 1);
	oc_free(&c);

	oc_init(&c, "TOPK_V2");
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(4), values);
	oc_int(&c, 3);
	oc_output(&c, NN_TENSOR_FLOAT32);
	oc_output(&c, NN_TENSOR_INT32);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_memory_equal(oc_result(&c, 1)->data, top, sizeof(top));
	oc_free(&c);
}

/*
 * Multiplies x of shape [2, 2] by y of shape [2, 3]; the operation gets the transposed y, of shape
 * [3, 2].
 */
static void test_batch_matmul(void **state)
{
	static const float x[] = { 1, 2, 3, 4 }, y[] = { 1, 4, 2, 5, 3, 6 };
	static const float product[] = { 9, 12, 15, 19, 26, 33 };
	static const int8_t xq[] = { 1, 2, 3, 4 }, yq[] = { 1, 4, 2, 5, 3, 6 };
	static const int8_t quantised[] = { 4, 5, 7, 9, 12, 16 };
	struct op_case c;

	(void)state;
	oc_init(&c, "BATCH_MATMUL");
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 2, 2), x);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 3, 2), y);
	oc_bool(&c, false);
	oc_bool(&c, true);
	oc_output(&c, NN_TENSOR_FLOAT32);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_memory_equal(oc_result(&c, 0)->data, product, sizeof(product));
	oc_free(&c);

	oc_init(&c, "BATCH_MATMUL");
	oc_input(&c, NN_TENSOR_QUANT8_ASYMM_SIGNED, OC_DIMS(2, 2), xq);
	oc_quantise(&c, 1, 0);
	oc_input(&c, NN_TENSOR_QUANT8_ASYMM_SIGNED, OC_DIMS(3, 2), yq);
	oc_quantise(&c, 1, 0);
	oc_bool(&c, false);
	oc_bool(&c, true);
	oc_output(&c, NN_TENSOR_QUANT8_ASYMM_SIGNED);
	oc_quantise(&c, 2, -1);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_memory_equal(oc_result(&c, 0)->data, quantised, sizeof(quantised));
	oc_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_signatures),
		heap_unit_test(test_moves),
		heap_unit_test(test_refusals),
		heap_unit_test(test_split),
		heap_unit_test(test_concatenation_requantises),
		heap_unit_test(test_hashtable_lookup),
		heap_unit_test(test_order),
		heap_unit_test(test_batch_matmul),
	};

	return cmocka_run_group_tests_name("ops_movement", tests, NULL, NULL);
}
