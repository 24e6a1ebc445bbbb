/* SPDX-License-Identifier: MIT */
/*
 * Test vectors: computes a vector's outputs by the reference, compares outputs, and saves and loads
 * vectors.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/float16.h"
#include "ops/op.h"
#include "plan/plan.h"
#include "tools/engine_test/vector.h"
#include "vectors/random.h"

/* Size in bytes of the memory for an output of unknown size, in the first execution. */
#define OPEN_SIZE (1 << 18)

#define MAGIC "NNVEC01\n"

/* ---- the reference ---- */

static uint32_t size_of_shape(const struct nn_output_shape *shape, int32_t type)
{
	uint32_t size = nn_type_info_of(type)->element_size;

	for (uint32_t i = 0; i < shape->rank; i++)
		size *= shape->dims[i];
	return size;
}

static const struct nn_operand *output_of(const struct vector *v, uint32_t i)
{
	return &v->model->subgraphs[0].operands[v->model->subgraphs[0].outputs[i]];
}

static const struct nn_operand *input_of(const struct vector *v, uint32_t i)
{
	return &v->model->subgraphs[0].operands[v->model->subgraphs[0].inputs[i]];
}

/* Executes on the reference, and a second time with more memory if an output needs more memory. */
static bool run_reference(const struct nn_plan *plan, struct vector *v, struct nn_execution *e,
			  struct nn_arg *out, struct nn_output_shape *shapes)
{
	struct nn_error err = { "" };
	enum nn_status status;

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < v->num_outputs; i++) {
			struct vector_arg *o = &v->outputs[i];

			if (!round && (!nn_operand_size(output_of(v, i), &o->size) || !o->size))
				o->size = OPEN_SIZE;
			else if (round)
				o->size = size_of_shape(&shapes[i], output_of(v, i)->type);
			free(o->data);
			o->data = calloc(1, o->size + 1);
			if (!o->data)
				return false;
			out[i] = (struct nn_arg){ .data = o->data, .length = o->size };
		}
		status = nn_plan_execute(plan, e, &err);
		if (status != NN_OUTPUT_INSUFFICIENT_SIZE)
			break;
	}
	for (uint32_t i = 0; !status && i < v->num_outputs; i++) {
		v->outputs[i].shape = shapes[i];
		v->outputs[i].size = size_of_shape(&shapes[i], output_of(v, i)->type);
	}
	return !status;
}

static bool compute(struct vector *v)
{
	const struct nn_plan_options options = { .kernels = "none" };
	struct nn_arg *in = calloc(v->num_inputs + 1, sizeof(*in));
	struct nn_arg *out = calloc(v->num_outputs + 1, sizeof(*out));
	struct nn_output_shape *shapes = calloc(v->num_outputs + 1, sizeof(*shapes));
	struct nn_execution e = {
		.num_inputs = v->num_inputs, .num_outputs = v->num_outputs, .inputs = in,
		.outputs = out, .shapes = shapes,
	};
	struct nn_error err = { "" };
	struct nn_plan *plan = NULL;
	bool done = false;

	for (uint32_t i = 0; in && i < v->num_inputs; i++)
		in[i] = (struct nn_arg){ .data = v->inputs[i].data, .length = v->inputs[i].size };
	if (in && out && shapes && !nn_ops_check_model(v->model, NULL, &err) &&
	    !nn_plan_create(v->model, &options, &plan, &err))
		done = run_reference(plan, v, &e, out, shapes);
	nn_plan_free(plan);
	free(in);
	free(out);
	free(shapes);
	return done;
}

/* ---- tolerance, by the operations and types ---- */

/* Returns whether an operation rounds each number of its float results only once. */
static bool is_exact(int32_t code)
{
	static const int32_t codes[] = {
		NN_OP_ADD, NN_OP_SUB, NN_OP_MUL, NN_OP_RELU, NN_OP_RELU1, NN_OP_RELU6, NN_OP_FLOOR,
		NN_OP_ABS, NN_OP_NEG, NN_OP_MAXIMUM, NN_OP_MINIMUM, NN_OP_RESHAPE, NN_OP_TRANSPOSE,
		NN_OP_CONCATENATION, NN_OP_PAD, NN_OP_SLICE, NN_OP_SPLIT, NN_OP_GATHER,
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i] == code)
			return true;
	return false;
}

static void set_tolerance(struct vector *v)
{
	const struct nn_subgraph *main = &v->model->subgraphs[0];

	v->tolerance = 1e-5f;
	v->steps = main->num_operations;
	for (uint32_t i = 0; i < main->num_operations; i++)
		if (!is_exact(main->operations[i].type))
			v->tolerance = 1e-3f;
	if (v->tolerance < 1e-4f && main->num_operations > 1)
		v->tolerance *= (float)main->num_operations;
	if (v->model->relaxed)
		v->tolerance = 2e-2f;
}

static double number_at(int32_t type, const char *data, uint32_t i)
{
	uint16_t half, word;
	int16_t small;
	int32_t whole;
	float real;

	switch (type) {
	case NN_TENSOR_FLOAT32:
	case NN_FLOAT32:
		memcpy(&real, data + 4 * i, 4);
		return (double)real;
	case NN_TENSOR_FLOAT16:
	case NN_FLOAT16:
		memcpy(&half, data + 2 * i, 2);
		return (double)nn_fp16_to_float(half);
	case NN_TENSOR_QUANT16_SYMM:
		memcpy(&small, data + 2 * i, 2);
		return small;
	case NN_TENSOR_QUANT16_ASYMM:
		memcpy(&word, data + 2 * i, 2);
		return word;
	case NN_TENSOR_INT32:
	case NN_INT32:
		memcpy(&whole, data + 4 * i, 4);
		return whole;
	case NN_TENSOR_QUANT8_ASYMM:
		return (uint8_t)data[i];
	default:
		return data[i];
	}
}

static bool is_real(int32_t type)
{
	return type == NN_TENSOR_FLOAT32 || type == NN_TENSOR_FLOAT16 || type == NN_FLOAT32 ||
	       type == NN_FLOAT16;
}

static bool is_quantised(int32_t type)
{
	return !is_real(type) && type != NN_TENSOR_INT32 && type != NN_INT32 &&
	       type != NN_TENSOR_BOOL8 && type != NN_BOOL;
}

/*
 * Returns the largest magnitude of numbers, because errors of sums are proportional to the largest
 * magnitude.
 */
static double largest_of(int32_t type, const char *data, uint32_t count)
{
	double largest = 0;

	for (uint32_t i = 0; i < count; i++)
		if (isfinite(number_at(type, data, i)))
			largest = fmax(largest, fabs(number_at(type, data, i)));
	return largest;
}

bool vector_equals(const struct vector *v, uint32_t output, const void *data, uint32_t *element)
{
	const struct vector_arg *o = &v->outputs[output];
	const int32_t type = output_of(v, output)->type;
	const uint32_t count = o->size / nn_type_info_of(type)->element_size;
	const double largest = is_real(type) ? largest_of(type, o->data, count) : 0;
	const bool is_float16 = type == NN_TENSOR_FLOAT16 || type == NN_FLOAT16;
	/* A result that is rounded only once has float16's full precision, unlike a sum. */
	const bool is_once = v->steps == 1 && v->tolerance < 1e-4f && !v->model->relaxed;
	const bool is_fp16 = !is_once && (is_float16 || v->model->relaxed);
	const double tolerance = is_fp16 ? 2e-2 : is_float16 ? 1e-3 : (double)v->tolerance;
	const double most = is_float16 ? 65504 : (double)FLT_MAX;

	for (uint32_t i = 0; i < count; i++) {
		double a = number_at(type, data, i), b = number_at(type, o->data, i), room = 0;

		if (is_real(type))
			room = tolerance * (1 + (is_fp16 ? largest : fabs(b))) + 3e-7 * largest;
		else if (is_quantised(type))
			room = v->steps;
		*element = i;
		/*
		 * Accept the largest number for infinity, because the NNAPI's reference clamps
		 * results.
		 */
		if (isinf(b) && !isnan(a) && signbit(a) == signbit(b) && fabs(a) >= most)
			continue;
		if (isinf(b))
			room = 0;
		if (a != b && !(fabs(a - b) <= room) && !(isnan(a) && isnan(b)))
			return false;
	}
	return true;
}

/* ---- making them ---- */

void vector_free(struct vector *v)
{
	if (!v)
		return;
	for (uint32_t i = 0; v->inputs && i < v->num_inputs; i++)
		free(v->inputs[i].data);
	for (uint32_t i = 0; v->outputs && i < v->num_outputs; i++)
		free(v->outputs[i].data);
	nn_model_free(v->model);
	free(v->pool);
	free(v->inputs);
	free(v->outputs);
	free(v);
}

static struct vector *copy_model(const struct nn_model *model, const char *name)
{
	struct vector *v = calloc(1, sizeof(*v));
	struct nn_error err = { "" };
	struct nn_pool pool;
	void *wire = NULL;
	size_t size = 0;

	if (!v || model->num_pools > 1 || nn_model_check(model, &err) ||
	    nn_model_encode(model, &wire, &size, &err)) {
		free(v);
		return NULL;
	}
	snprintf(v->name, sizeof(v->name), "%s", name);
	if (model->num_pools) {
		v->pool = malloc(model->pools[0].size);
		if (v->pool)
			memcpy(v->pool, model->pools[0].base, model->pools[0].size);
		pool = (struct nn_pool){ v->pool, model->pools[0].size };
	}
	if ((model->num_pools && !v->pool) ||
	    nn_model_decode(wire, size, &pool, model->num_pools, &v->model, &err)) {
		free(wire);
		free(v->pool);
		free(v);
		return NULL;
	}
	free(wire);
	v->operation = -1;
	v->num_inputs = v->model->subgraphs[0].num_inputs;
	v->num_outputs = v->model->subgraphs[0].num_outputs;
	v->inputs = calloc(v->num_inputs + 1, sizeof(*v->inputs));
	v->outputs = calloc(v->num_outputs + 1, sizeof(*v->outputs));
	for (uint32_t i = 0; v->inputs && i < v->num_inputs; i++) {
		nn_operand_size(input_of(v, i), &v->inputs[i].size);
		v->inputs[i].data = calloc(1, v->inputs[i].size + 1);
		if (!v->inputs[i].data || !v->inputs[i].size ||
		    !nn_type_info_of(input_of(v, i)->type))
			goto fail;
	}
	if (!v->inputs || !v->outputs)
		goto fail;
	set_tolerance(v);
	return v;
fail:
	vector_free(v);
	return NULL;
}

static struct vector *finish(struct vector *v)
{
	if (v && compute(v))
		return v;
	vector_free(v);
	return NULL;
}

/* Put the shapes of outputs into the model, because some engines need these shapes. */
static void declare_outputs(struct vector *v)
{
	for (uint32_t i = 0; i < v->num_outputs; i++) {
		struct nn_operand *o = (struct nn_operand *)output_of(v, i);

		o->rank = v->outputs[i].shape.rank;
		memcpy(o->dims, v->outputs[i].shape.dims, sizeof(o->dims));
	}
}

struct vector *vector_make(const struct nn_model *model, const void *const *inputs, const char *name,
			   int32_t operation)
{
	struct vector *v = copy_model(model, name);

	for (uint32_t i = 0; v && i < v->num_inputs; i++)
		memcpy(v->inputs[i].data, inputs[i], v->inputs[i].size);
	if (v)
		v->operation = operation;
	v = finish(v);
	if (v)
		declare_outputs(v);
	return v;
}

/* Fills an input with random numbers, of which some are 0. */
static void vector_fill(int32_t type, void *data, uint32_t size)
{
	uint8_t *bytes = data;

	for (uint32_t i = 0; i < size;) {
		float real = chance(16) ? 0 : random_float(-8, 8);
		uint16_t half = nn_float_to_fp16(real);

		if (type == NN_TENSOR_FLOAT32)
			memcpy(bytes + i, &real, 4);
		else if (type == NN_TENSOR_FLOAT16)
			memcpy(bytes + i, &half, 2);
		else
			bytes[i] = (uint8_t)random_bits();
		i += type == NN_TENSOR_FLOAT32 ? 4 : type == NN_TENSOR_FLOAT16 ? 2 : 1;
	}
}

static bool may_be_anything(int32_t type)
{
	return type == NN_TENSOR_FLOAT32 || type == NN_TENSOR_FLOAT16 ||
	       type == NN_TENSOR_QUANT8_ASYMM || type == NN_TENSOR_QUANT8_ASYMM_SIGNED;
}

struct vector *vector_wild(const struct vector *old, uint64_t seed)
{
	struct vector *v = copy_model(old->model, old->name);

	random_start(seed * 41 + 3);
	for (uint32_t i = 0; v && i < v->num_inputs; i++)
		for (uint32_t k = 0; k < v->inputs[i].size; k++)
			((uint8_t *)v->inputs[i].data)[k] = (uint8_t)(random_bits() >> 8);
	for (uint32_t i = 0; v && i < v->num_outputs; i++)
		v->outputs[i].size = old->outputs[i].size;
	return v;
}

/*
 * Returns whether an operation's results keep NaN and infinity of the inputs. ADD, SUB and MUL keep
 * NaN and infinity in results only without a fused activation.
 */
static bool is_plain(const struct nn_model *model, const struct nn_operation *o)
{
	const struct nn_operand *last = &model->subgraphs[0].operands[o->inputs[o->num_inputs - 1]];
	const void *value = nn_operand_value(model, last);
	int32_t activation = 0;

	switch (o->type) {
	case NN_OP_ADD:
	case NN_OP_SUB:
	case NN_OP_MUL:
		if (value)
			memcpy(&activation, value, sizeof(activation));
		return value && !activation;
	case NN_OP_RELU:
	case NN_OP_RELU1:
	case NN_OP_RELU6:
	case NN_OP_MAXIMUM:
	case NN_OP_MINIMUM:
		return false;
	default:
		return is_exact(o->type);
	}
}

struct vector *vector_special(const struct vector *old, uint64_t seed)
{
	static const float reals[] = { NAN, INFINITY, -INFINITY };
	static const uint16_t fp16[] = { 0x7e00, 0x7c00, 0xfc00 };
	const struct nn_subgraph *main = &old->model->subgraphs[0];
	struct vector *v = NULL;

	if (main->num_operations == 1 && !old->model->relaxed && is_real(output_of(old, 0)->type) &&
	    is_plain(old->model, &main->operations[0]))
		v = vector_vary(old, seed);
	for (uint32_t i = 0; v && i < v->num_inputs; i++) {
		const int32_t type = input_of(v, i)->type;
		const uint32_t unit = nn_type_info_of(type)->element_size;

		for (uint32_t at = 0; is_real(type) && at < v->inputs[i].size; at += unit)
			if (chance(8))
				memcpy((char *)v->inputs[i].data + at, unit == sizeof(float) ?
				       (const void *)&reals[pick(0, 2)] : &fp16[pick(0, 2)], unit);
	}
	return finish(v);
}

/*
 * Returns false for operations in which large numbers overflow, or whose results for large numbers
 * are inexact (a sine).
 */
static bool may_be_large(int32_t code)
{
	return code != NN_OP_MUL && code != NN_OP_REDUCE_PROD && code != NN_OP_REDUCE_SUM && code != NN_OP_SIN;
}

struct vector *vector_large(const struct vector *old)
{
	const struct nn_subgraph *main = &old->model->subgraphs[0];
	struct vector *v = may_be_large(main->operations[0].type) && main->num_operations == 1 ?
			   copy_model(old->model, old->name) : NULL;

	for (uint32_t i = 0; v && i < v->num_inputs; i++) {
		const int32_t type = input_of(v, i)->type;
		int32_t whole;
		float real;

		memcpy(v->inputs[i].data, old->inputs[i].data, v->inputs[i].size);
		for (uint32_t at = 0; at + 4 <= v->inputs[i].size; at += 4) {
			char *data = (char *)v->inputs[i].data + at;

			memcpy(&real, data, 4);
			memcpy(&whole, data, 4);
			real *= 64;
			if (type == NN_TENSOR_FLOAT32)
				memcpy(data, &real, 4);
			/*
			 * Scale only numbers in [-20, 20], so that the sum of two scaled numbers
			 * does not overflow.
			 */
			whole *= whole >= -20 && whole <= 20 ? 50000017 : 1;
			if (type == NN_TENSOR_INT32)
				memcpy(data, &whole, 4);
		}
	}
	return finish(v);
}

struct vector *vector_vary(const struct vector *old, uint64_t seed)
{
	struct vector *v = copy_model(old->model, old->name);
	bool is_other = false;

	if (!v)
		return NULL;
	random_start(seed * 31 + 7);
	v->operation = old->operation;
	v->was_supported = old->was_supported;
	for (uint32_t i = 0; i < v->num_inputs; i++) {
		memcpy(v->inputs[i].data, old->inputs[i].data, v->inputs[i].size);
		if (!may_be_anything(input_of(v, i)->type))
			continue;
		vector_fill(input_of(v, i)->type, v->inputs[i].data, v->inputs[i].size);
		is_other = true;
	}
	if (is_other)
		return finish(v);
	vector_free(v);
	return NULL;
}

struct vector *vector_sibling(const struct vector *old, uint64_t seed)
{
	struct vector *v = copy_model(old->model, old->name);
	const struct nn_subgraph *main;
	bool is_other = false;

	if (!v)
		return NULL;
	random_start(seed * 37 + 5);
	v->operation = old->operation;
	main = &v->model->subgraphs[0];
	for (uint32_t i = 0; i < v->num_inputs; i++)
		memcpy(v->inputs[i].data, old->inputs[i].data, v->inputs[i].size);
	for (uint32_t i = 0; i < main->num_operands; i++) {
		const struct nn_operand *o = &main->operands[i];
		char *value = (char *)nn_operand_value(v->model, o);
		int32_t whole;

		if (!value)
			continue;
		if (o->type == NN_INT32) {
			memcpy(&whole, value, sizeof(whole));
			whole = whole == 0 ? 3 : 0;
			memcpy(value, &whole, sizeof(whole));
		} else if (may_be_anything(o->type)) {
			vector_fill(o->type, value, o->location.length);
		} else {
			continue;
		}
		is_other = true;
	}
	if (is_other)
		return finish(v);
	vector_free(v);
	return NULL;
}

uint32_t vector_size(const struct vector *v)
{
	const struct nn_subgraph *main = &v->model->subgraphs[0];
	uint32_t sum = 0, size;

	for (uint32_t i = 0; i < main->num_operands; i++)
		if (nn_operand_size(&main->operands[i], &size))
			sum += size;
	return sum;
}

/* ---- cutting ---- */

/* The arrays of a model that has only some operations of another model. */
struct cut {
	struct nn_operand *operands;
	struct nn_operation *operations;
	/* operand indices: first of all operations, then of the inputs and outputs */
	uint32_t *indices;
	/* new index of each old operand; UINT32_MAX: the operand was dropped */
	uint32_t *numbers;
	uint32_t num_indices;
};

static uint32_t take_operand(struct cut *c, struct nn_subgraph *to, const struct nn_operand *from,
			     uint32_t index)
{
	if (c->numbers[index] == UINT32_MAX) {
		c->numbers[index] = to->num_operands;
		c->operands[to->num_operands] = from[index];
		c->operands[to->num_operands++].consumers = 0;
	}
	return c->numbers[index];
}

static void cut_operations(struct cut *c, struct nn_subgraph *to, const struct nn_subgraph *from,
			   const bool *remain)
{
	for (uint32_t i = 0; i < from->num_operations; i++) {
		const struct nn_operation *o = &from->operations[i];
		uint32_t *list = c->indices + c->num_indices;

		if (!remain[i])
			continue;
		for (uint32_t k = 0; k < o->num_inputs; k++) {
			list[k] = take_operand(c, to, from->operands, o->inputs[k]);
			c->operands[list[k]].consumers++;
		}
		for (uint32_t k = 0; k < o->num_outputs; k++)
			list[o->num_inputs + k] = take_operand(c, to, from->operands, o->outputs[k]);
		c->operations[to->num_operations++] = (struct nn_operation){
			o->type, o->num_inputs, o->num_outputs, list, list + o->num_inputs,
		};
		c->num_indices += o->num_inputs + o->num_outputs;
	}
}

/*
 * Operands that no operation writes become inputs, and operands that no operation reads become
 * outputs.
 */
static void cut_arguments(struct cut *c, struct nn_subgraph *to)
{
	uint32_t *in = c->indices + c->num_indices, *out = in + to->num_operands;

	to->inputs = in;
	to->outputs = out;
	for (uint32_t i = 0; i < to->num_operands; i++) {
		struct nn_operand *o = &c->operands[i];
		bool is_written = false;

		if (o->lifetime > NN_SUBGRAPH_OUTPUT)
			continue;
		for (uint32_t k = 0; k < to->num_operations; k++)
			for (uint32_t j = 0; j < c->operations[k].num_outputs; j++)
				is_written |= c->operations[k].outputs[j] == i;
		if (!is_written) {
			o->lifetime = NN_SUBGRAPH_INPUT;
			in[to->num_inputs++] = i;
		} else if (!o->consumers || o->lifetime == NN_SUBGRAPH_OUTPUT) {
			o->lifetime = NN_SUBGRAPH_OUTPUT;
			out[to->num_outputs++] = i;
		}
	}
}

struct vector *vector_cut(const struct nn_model *model, const bool *remain, const char *name)
{
	const struct nn_subgraph *from = &model->subgraphs[0];
	struct nn_model cut_model = *model;
	struct nn_subgraph to = { 0 };
	uint32_t count = 3 * from->num_operands;
	struct vector *v = NULL;
	struct cut c = { 0 };

	for (uint32_t i = 0; i < from->num_operations; i++)
		count += from->operations[i].num_inputs + from->operations[i].num_outputs;
	c.operands = calloc(from->num_operands + 1, sizeof(*c.operands));
	c.operations = calloc(from->num_operations + 1, sizeof(*c.operations));
	c.indices = calloc(count + 1, sizeof(*c.indices));
	c.numbers = malloc((from->num_operands + 1) * sizeof(*c.numbers));
	if (c.operands && c.operations && c.indices && c.numbers && model->num_subgraphs == 1) {
		memset(c.numbers, 0xff, from->num_operands * sizeof(*c.numbers));
		to.operands = c.operands;
		to.operations = c.operations;
		cut_operations(&c, &to, from, remain);
		/*
		 * Keep inputs of the model that no operation reads, because the HAL allows such
		 * inputs.
		 */
		for (uint32_t i = 0; i < from->num_inputs; i++)
			if (!from->operands[from->inputs[i]].consumers)
				take_operand(&c, &to, from->operands, from->inputs[i]);
		cut_arguments(&c, &to);
		cut_model.subgraphs = &to;
		v = to.num_operations ? copy_model(&cut_model, name) : NULL;
	}
	for (uint32_t i = 0; v && i < v->num_inputs; i++)
		vector_fill(input_of(v, i)->type, v->inputs[i].data, v->inputs[i].size);
	free(c.operands);
	free(c.operations);
	free(c.indices);
	free(c.numbers);
	return finish(v);
}

/* ---- files ---- */

/*
 * A vector's file consists of a struct head, the name, the serialised model, the pool and the
 * inputs. A vector's file has no outputs, because loading the vector computes its outputs.
 */
struct head {
	char magic[8];
	uint32_t wire_size, num_inputs;
	uint64_t pool_size;
	char name[96];
};

bool vector_save(const struct vector *v, const char *path)
{
	struct head head = { .magic = MAGIC, .num_inputs = v->num_inputs };
	struct nn_error err = { "" };
	void *wire = NULL;
	size_t size = 0;
	bool done;
	FILE *file;

	if (nn_model_encode(v->model, &wire, &size, &err))
		return false;
	head.wire_size = (uint32_t)size;
	head.pool_size = v->model->num_pools ? v->model->pools[0].size : 0;
	memcpy(head.name, v->name, sizeof(head.name));
	file = fopen(path, "we");
	done = file && fwrite(&head, sizeof(head), 1, file) && fwrite(wire, size, 1, file) &&
	       (!head.pool_size || fwrite(v->pool, head.pool_size, 1, file));
	for (uint32_t i = 0; done && i < v->num_inputs; i++)
		done = fwrite(v->inputs[i].data, v->inputs[i].size, 1, file);
	if (file && fclose(file))
		done = false;
	free(wire);
	return done;
}

static struct vector *read_vector(FILE *file)
{
	struct vector *v = NULL;
	struct nn_model *model = NULL;
	struct nn_error err = { "" };
	struct nn_pool pool = { NULL, 0 };
	void *wire = NULL, *bytes = NULL;
	struct head head;

	if (!fread(&head, sizeof(head), 1, file) || memcmp(head.magic, MAGIC, 8) ||
	    head.wire_size > 1 << 28 || head.pool_size > 1 << 28)
		return NULL;
	head.name[sizeof(head.name) - 1] = '\0';
	wire = malloc(head.wire_size + 1);
	bytes = malloc(head.pool_size + 1);
	pool = (struct nn_pool){ bytes, head.pool_size };
	if (wire && bytes && fread(wire, head.wire_size, 1, file) &&
	    (!head.pool_size || fread(bytes, head.pool_size, 1, file)) &&
	    !nn_model_decode(wire, head.wire_size, &pool, head.pool_size != 0, &model, &err) &&
	    !nn_ops_check_model(model, NULL, &err))
		v = copy_model(model, head.name);
	for (uint32_t i = 0; v && i < v->num_inputs; i++) {
		if (v->num_inputs == head.num_inputs &&
		    fread(v->inputs[i].data, v->inputs[i].size, 1, file))
			continue;
		vector_free(v);
		v = NULL;
	}
	nn_model_free(model);
	free(wire);
	free(bytes);
	return finish(v);
}

struct vector *vector_load(const char *path)
{
	FILE *file = fopen(path, "re");
	struct vector *v;

	if (!file)
		return NULL;
	v = read_vector(file);
	fclose(file);
	if (!v)
		errno = EINVAL;
	return v;
}
