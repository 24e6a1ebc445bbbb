/* SPDX-License-Identifier: MIT */
/*
 * Builds a single operation for tests; a test adds the operation's operands one by one. A test can
 * check the operation, and can run the operation with buffers of exactly the required size.
 */
#ifndef NN_TESTS_OP_CASE_H
#define NN_TESTS_OP_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/op.h"
#include "tests/between.h"

#define OC_OPERANDS 72

/* Inputs come first. */
struct op_case {
	const struct nn_op *op;
	uint32_t num_inputs;
	uint32_t num_outputs;
	struct nn_operand operands[OC_OPERANDS];
	struct nn_tensor tensors[OC_OPERANDS];
	struct nn_error err;
};

#define OC_DIMS(...) (sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)), \
	((uint32_t[]){ __VA_ARGS__ })

/* Begins a case of the operation `name`, which must exist. */
static inline void oc_init(struct op_case *c, const char *name)
{
	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < nn_op_count(); i++)
		if (!strcmp(nn_op_at(i)->name, name))
			c->op = nn_op_at(i);
	if (!c->op)
		fail_msg("there is no operation %s", name);
}

static inline void oc_free(struct op_case *c)
{
	for (uint32_t i = 0; i < c->num_inputs + c->num_outputs; i++)
		free(c->tensors[i].data);
	c->num_inputs = c->num_outputs = 0;
}

static inline struct nn_operand *oc_add(struct op_case *c, int32_t type, uint32_t rank,
					const uint32_t *dims)
{
	uint32_t index = c->num_inputs + c->num_outputs;
	struct nn_operand *o = &c->operands[index];
	struct nn_tensor *t = &c->tensors[index];

	assert_between(index, 0, OC_OPERANDS - 1);
	*o = (struct nn_operand){ .type = type, .rank = rank };
	*t = (struct nn_tensor){ .type = type, .rank = rank, .extra = &o->extra };
	if (rank) {
		memcpy(o->dims, dims, rank * sizeof(*dims));
		memcpy(t->dims, dims, rank * sizeof(*dims));
	}
	return o;
}

/* Adds an input tensor with a copy of `data`, or with zeros if `data` is NULL. */
static inline struct nn_operand *oc_input(struct op_case *c, int32_t type, uint32_t rank,
					  const uint32_t *dims, const void *data)
{
	struct nn_operand *o = oc_add(c, type, rank, dims);
	struct nn_tensor *t = &c->tensors[c->num_inputs++];
	size_t size = nn_tensor_size(t);

	o->lifetime = NN_SUBGRAPH_INPUT;
	t->data = calloc(1, size ? size : 1);
	assert_non_null(t->data);
	if (data)
		memcpy(t->data, data, size);
	return o;
}

static inline void oc_int(struct op_case *c, int32_t value)
{
	oc_input(c, NN_INT32, 0, NULL, &value);
}

static inline void oc_bool(struct op_case *c, bool value)
{
	oc_input(c, NN_BOOL, 0, NULL, &value);
}

static inline void oc_float(struct op_case *c, float value)
{
	oc_input(c, NN_FLOAT32, 0, NULL, &value);
}

/* Adds an output with unknown dimensions. */
static inline struct nn_operand *oc_output(struct op_case *c, int32_t type)
{
	struct nn_operand *o = oc_add(c, type, 0, NULL);

	o->lifetime = NN_SUBGRAPH_OUTPUT;
	c->tensors[c->num_inputs + c->num_outputs++].is_model_output = true;
	return o;
}

/* Sets scale and zero point of the operand that was added last. */
static inline void oc_quantise(struct op_case *c, float scale, int32_t zero_point)
{
	uint32_t index = c->num_inputs + c->num_outputs - 1;

	c->operands[index].scale = c->tensors[index].scale = scale;
	c->operands[index].zero_point = c->tensors[index].zero_point = zero_point;
}

static inline enum nn_status oc_check(struct op_case *c)
{
	/*
	 * An invalid index follows the last input and the last output, so that tests detect an
	 * operation that reads beyond the end of its inputs or outputs.
	 */
	uint32_t indices[OC_OPERANDS + 2];
	struct nn_scope scope = {
		.operands = c->operands,
		.num_operands = c->num_inputs + c->num_outputs,
	};
	struct nn_operation operation = {
		.type = c->op->code,
		.num_inputs = c->num_inputs,
		.num_outputs = c->num_outputs,
		.inputs = indices,
		.outputs = indices + c->num_inputs + 1,
	};

	memset(indices, 0xff, sizeof(indices));
	for (uint32_t i = 0; i < c->num_inputs; i++)
		indices[i] = i;
	for (uint32_t i = 0; i < c->num_outputs; i++)
		indices[c->num_inputs + 1 + i] = c->num_inputs + i;
	return nn_op_check(&scope, &operation, &c->err);
}

/*
 * Checks the operation and infers its shapes. The caller must end the run `r` that oc_infer()
 * begins.
 */
static inline enum nn_status oc_infer(struct op_case *c, struct nn_run *r)
{
	enum nn_status status = oc_check(c);

	*r = (struct nn_run){
		.op = c->op,
		.num_inputs = c->num_inputs,
		.num_outputs = c->num_outputs,
		.inputs = c->tensors,
		.outputs = c->tensors + c->num_inputs,
		.err = &c->err,
	};
	return status ? status : nn_op_infer(r);
}

/*
 * Checks the operation, infers its shapes and executes it. After oc_run(), oc_result() returns the
 * outputs.
 */
static inline enum nn_status oc_run(struct op_case *c)
{
	struct nn_run r;
	enum nn_status status = oc_infer(c, &r);

	for (uint32_t i = 0; !status && i < r.num_outputs; i++) {
		uint32_t size = nn_tensor_size(&r.outputs[i]);

		r.outputs[i].data = malloc(size ? size : 1);
		assert_non_null(r.outputs[i].data);
		memset(r.outputs[i].data, 0xa5, size);
	}
	status = status ? status : nn_op_execute(&r);
	nn_op_finish(&r);
	return status;
}

static inline const struct nn_tensor *oc_result(const struct op_case *c, uint32_t index)
{
	return &c->tensors[c->num_inputs + index];
}

/*
 * The signature of an operation as text: spaces separate operands, and '>' comes before the
 * outputs. A tensor is a letter for its type and a digit for its rank. The letter is f (float32), h
 * (float16), u or s (8-bit asymmetric, unsigned or signed), q (8-bit symmetric), p (8-bit symmetric
 * per channel), a or y (16-bit asymmetric or symmetric), w (int32) or t (bool8). With p, the
 * channel's dimension follows the rank. A scalar operand is a capital letter, namely F (float32), H
 * (float16), I (int32) or B (bool).
 */
struct oc_signature {
	const char *op;
	const char *text;
	bool good;
};

static inline int32_t oc_type(char letter)
{
	static const struct {
		char letter;
		int32_t type;
	} types[] = {
		{ 'f', NN_TENSOR_FLOAT32 }, { 'h', NN_TENSOR_FLOAT16 },
		{ 'u', NN_TENSOR_QUANT8_ASYMM }, { 's', NN_TENSOR_QUANT8_ASYMM_SIGNED },
		{ 'p', NN_TENSOR_QUANT8_SYMM_PER_CHANNEL }, { 'a', NN_TENSOR_QUANT16_ASYMM },
		{ 'q', NN_TENSOR_QUANT8_SYMM }, { 'y', NN_TENSOR_QUANT16_SYMM },
		{ 'w', NN_TENSOR_INT32 }, { 't', NN_TENSOR_BOOL8 },
		{ 'F', NN_FLOAT32 }, { 'H', NN_FLOAT16 }, { 'I', NN_INT32 }, { 'B', NN_BOOL },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].letter == letter)
			return types[i].type;
	fail_msg("no type has the letter '%c'", letter);
	return -1;
}

/* Adds the operands of a signature, with unknown dimensions. */
static inline void oc_parse(struct op_case *c, const char *text)
{
	static const uint32_t unknown[NN_MAX_RANK];
	bool outputs = false;

	for (; *text; text++) {
		struct nn_operand *o;
		uint32_t rank;

		if (*text == ' ')
			continue;
		if (*text == '>') {
			outputs = true;
			continue;
		}
		rank = text[1] >= '0' && text[1] <= '9' ? (uint32_t)(text[1] - '0') : 0;
		o = oc_add(c, oc_type(*text), rank, unknown);
		if (outputs)
			c->num_outputs++;
		else
			c->num_inputs++;
		if (*text == 'p') {
			o->extra.kind = NN_EXTRA_CHANNEL_QUANT;
			o->extra.channel_dim = (uint32_t)(text[2] - '0');
		}
		while (text[1] >= '0' && text[1] <= '9')
			text++;
	}
}

/* Checks that an operation accepts a good signature, and rejects a bad signature with a message. */
static inline void oc_assert_signature(const struct oc_signature *s)
{
	struct op_case c;
	enum nn_status status;

	oc_init(&c, s->op);
	oc_parse(&c, s->text);
	status = oc_check(&c);
	if (s->good && status)
		fail_msg("%s refuses \"%s\": %s", s->op, s->text, c.err.message);
	if (!s->good && status != NN_INVALID_ARGUMENT)
		fail_msg("%s takes \"%s\"", s->op, s->text);
	if (!s->good && !strstr(c.err.message, s->op))
		fail_msg("%s refuses \"%s\" with the message \"%s\"", s->op, s->text, c.err.message);
}

#endif /* NN_TESTS_OP_CASE_H */
