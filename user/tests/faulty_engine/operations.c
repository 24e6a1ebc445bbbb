// SPDX-License-Identifier: MIT
/*
 * The engine of nnacceld with one fault from the list in faults.def. Most faults concern certain
 * operations. If a model contains an operation that the fault concerns, the engine changes the last
 * element of the model's first output.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/worker/engine.h"
#include "plan/plan.h"
#include "tests/faulty_engine/faulty.h"

#define MAX_HITS 1024

static enum fault fault;

/* ---- the models that the fault concerns ---- */

/*
 * Models that were prepared last, and whether each model contains an operation that the fault
 * concerns.
 */
static struct hit {
	const void *prepared;
	bool is_hit, is_executed;
	struct nn_output_shape shape;	/* shape of the first output in the first execution */
} hits[MAX_HITS];
static _Atomic(unsigned int) num_hits;

static struct hit *find(const void *prepared)
{
	for (unsigned int i = 0; i < MAX_HITS; i++)
		if (hits[i].prepared == prepared)
			return &hits[i];
	return NULL;
}

static void note(const void *prepared, bool is_hit)
{
	struct hit *hit = find(prepared);

	if (!hit)
		hit = &hits[num_hits++ % MAX_HITS];
	*hit = (struct hit){ .prepared = prepared, .is_hit = is_hit };
}

struct view {
	const struct nn_model *model;
	const struct nn_operation *op;
	const struct nn_operand *in, *other, *out;
};

/* Returns the value of an input that is a constant scalar; 0 for all other kinds of inputs. */
static int32_t number(const struct view *v, uint32_t index)
{
	const struct nn_operand *o = index < v->op->num_inputs ?
		&v->model->subgraphs[0].operands[v->op->inputs[index]] : NULL;
	const void *value = o && !o->rank ? nn_operand_value(v->model, o) : NULL;
	int32_t n = 0;

	if (value && (o->type == NN_INT32 || o->type == NN_BOOL))
		memcpy(&n, value, o->type == NN_INT32 ? sizeof(n) : 1);
	return n;
}

static bool is_input(const struct view *v, bool (*test)(const struct view *v, uint32_t index,
							const struct nn_operand *o))
{
	for (uint32_t i = 0; i < v->op->num_inputs; i++)
		if (test(v, i, &v->model->subgraphs[0].operands[v->op->inputs[i]]))
			return true;
	return false;
}

static bool is_true(const struct view *v, uint32_t index, const struct nn_operand *o)
{
	return o->type == NN_BOOL && number(v, index);
}

static bool is_negative(const struct view *v, uint32_t index, const struct nn_operand *o)
{
	(void)o;
	return number(v, index) < 0;
}

static bool is_omitted(const struct view *v, uint32_t index, const struct nn_operand *o)
{
	(void)v;
	(void)index;
	return o->lifetime == NN_NO_VALUE;
}

static bool is_in_pool(const struct view *v, uint32_t index, const struct nn_operand *o)
{
	(void)v;
	(void)index;
	return o->lifetime == NN_CONSTANT_REFERENCE && o->location.offset;
}

static bool has_quant8(const struct nn_operand *o)
{
	return o->type == NN_TENSOR_QUANT8_ASYMM || o->type == NN_TENSOR_QUANT8_ASYMM_SIGNED;
}

/*
 * Returns whether the first input is broadcast in a dimension. If in_the_middle is set, ignores the
 * first and the last dimension.
 */
static bool is_broadcast(const struct nn_operand *a, const struct nn_operand *b, bool in_the_middle)
{
	uint32_t rank = a->rank < b->rank ? a->rank : b->rank;

	for (uint32_t i = 1; i <= rank; i++)
		if (a->dims[a->rank - i] == 1 && b->dims[b->rank - i] > 1 &&
		    (!in_the_middle || (i > 1 && i < rank)))
			return true;
	return false;
}

static bool is_window(const struct view *v)
{
	return v->op->type == NN_OP_CONV_2D || v->op->type == NN_OP_DEPTHWISE_CONV_2D;
}

static bool concerns(const struct view *v)
{
	const struct nn_operand *in = v->in, *other = v->other, *out = v->out;
	const int32_t type = v->op->type;
	const uint32_t n = v->op->num_inputs, depthwise = type == NN_OP_DEPTHWISE_CONV_2D;
	const bool is_explicit = is_window(v) && n >= 10 + depthwise &&
		v->model->subgraphs[0].operands[v->op->inputs[7 + depthwise]].type == NN_INT32;
	const bool is_binary = n > 1 && in->type == other->type && in->rank && other->rank &&
		(type == NN_OP_ADD || type == NN_OP_MUL || type == NN_OP_SUB || type == NN_OP_DIV ||
		 type == NN_OP_MAXIMUM || type == NN_OP_MINIMUM || type == NN_OP_POW);

	switch (fault) {
	case CHANNEL_SCALES:
		return other->extra.kind == NN_EXTRA_CHANNEL_QUANT &&
		       other->extra.scales[0] != other->extra.scales[other->extra.count - 1];
	case FILTER_ZERO:
		return (is_window(v) || type == NN_OP_FULLY_CONNECTED) &&
		       other->type == NN_TENSOR_QUANT8_ASYMM && other->zero_point != 128;
	case PAD_ZERO:
		return is_window(v) && has_quant8(in) && in->zero_point &&
		       (is_explicit ? number(v, 3) || number(v, 5) : number(v, 3) == 1);
	case BROADCAST_FIRST:
		return is_binary && in->rank < other->rank;
	case BROADCAST_MIDDLE:
		return is_binary && (is_broadcast(in, other, true) || is_broadcast(other, in, true));
	case BROADCAST_BOTH:
		return is_binary && is_broadcast(in, other, false) && is_broadcast(other, in, false);
	case STRIDES:
		return is_window(v) && (is_explicit ? number(v, 7) != number(v, 8) :
					number(v, 4) != number(v, 5));
	case DILATION:
		return is_window(v) && n >= 10 + depthwise &&
		       (number(v, n - 1) > 1 || number(v, n - 2) > 1);
	case FLAG:
		return in->rank == 4 && is_input(v, is_true);
	case RELU1_FUSED:
		return is_binary && has_quant8(in) && number(v, 2) == 2;
	case NEGATIVE_AXIS:
		return in->rank > 1 && is_input(v, is_negative);
	case SOFTMAX_AXIS:
		return type == NN_OP_SOFTMAX && n == 3 && number(v, 2) != -1 &&
		       number(v, 2) != (int32_t)in->rank - 1;
	case NO_VALUE:
		return is_input(v, is_omitted);
	case SCALES_DIFFER:
		return has_quant8(out) && has_quant8(in) && in->scale != out->scale &&
		       (type == NN_OP_CONCATENATION || type == NN_OP_MAXIMUM ||
			type == NN_OP_MINIMUM || type == NN_OP_SELECT);
	case RANK_FIVE:
		return in->rank > 4;
	case ONE_ELEMENT:
		return in->rank && out->rank && out->dims[0] == 1 && out->dims[out->rank - 1] == 1;
	case TWICE:
		return n > 1 && in == other;
	case ALSO_READ:
		return out->lifetime == NN_SUBGRAPH_OUTPUT && out->consumers;
	case CONSTANT_FIRST:
		return in->rank && nn_operand_value(v->model, in) && other->lifetime == NN_SUBGRAPH_INPUT;
	case POOL_CONSTANT:
		return is_input(v, is_in_pool);
	default:
		return false;
	}
}

static bool concerns_model(const struct nn_model *model)
{
	const struct nn_subgraph *main = &model->subgraphs[0];

	for (uint32_t i = 0; i < main->num_operations; i++) {
		const struct nn_operation *op = &main->operations[i];
		struct view v = { model, op, NULL, NULL, NULL };

		if (!op->num_inputs || !op->num_outputs)
			continue;
		v.in = &main->operands[op->inputs[0]];
		v.other = &main->operands[op->inputs[op->num_inputs > 1]];
		v.out = &main->operands[op->outputs[0]];
		if (concerns(&v) || (fault == ELSE && op->type == NN_OP_IF))
			return true;
	}
	for (uint32_t i = 0; i < main->num_inputs && fault == UNREAD_INPUT; i++)
		if (!main->operands[main->inputs[i]].consumers)
			return true;
	return false;
}

static enum nn_status supported(const struct nna_engine *engine, const struct nn_model *model,
				bool *operations, struct nn_error *err)
{
	const struct nn_subgraph *main = &model->subgraphs[0];

	for (uint32_t i = 0; i < main->num_operands && fault == UNKNOWN_RANK; i++) {
		const struct nn_type_info *info = nn_type_info_of(main->operands[i].type);

		if (info && info->is_tensor && !main->operands[i].rank &&
		    main->operands[i].lifetime != NN_NO_VALUE)
			abort();
	}
	return cpu_engine.supported(engine, model, operations, err);
}

static enum nn_status prepare(const struct nna_engine *engine, const struct nn_model *model,
			      const struct nna_engine_preparation *how, void **prepared,
			      struct nn_error *err)
{
	const bool is_hit = concerns_model(model);
	enum nn_status status;

	if (is_hit && (fault == NO_VALUE || fault == UNREAD_INPUT))
		return nn_fail(err, NN_GENERAL_FAILURE, "such a model cannot be compiled");
	status = cpu_engine.prepare(engine, model, how, prepared, err);
	if (!status)
		note(*prepared, is_hit);
	return status;
}

/* ---- outputs ---- */

static void change(int32_t type, void *at)
{
	uint8_t *byte = at;
	uint16_t fp16;
	int32_t n;
	float f;

	memcpy(&fp16, at, type == NN_TENSOR_FLOAT16 ? sizeof(fp16) : 1);
	if (fault == WRAPS && type == NN_TENSOR_QUANT8_ASYMM && *byte == 255)
		*byte = 0;
	if (fault == WRAPS && type == NN_TENSOR_QUANT8_ASYMM_SIGNED && *byte == 127)
		*byte = 128;
	if (fault == FP16_CUT && type == NN_TENSOR_FLOAT16) {
		fp16 &= 0xfff8;
		memcpy(at, &fp16, sizeof(fp16));
	}
	if ((fault == INT32_SIGN || fault == INT32_FLOAT) && type == NN_TENSOR_INT32) {
		memcpy(&n, at, sizeof(n));
		n = fault == INT32_SIGN ? n & INT32_MAX : (int32_t)(float)(n / 2) * 2 + n % 2;
		memcpy(at, &n, sizeof(n));
	}
	if (type != NN_TENSOR_FLOAT32 || (fault != NAN_ZERO && fault != INFINITY_CUT))
		return;
	memcpy(&f, at, sizeof(f));
	if (fault == NAN_ZERO && isnan(f))
		f = 0;
	if (fault == INFINITY_CUT && isinf(f))
		f = copysignf(3e38f, f);
	memcpy(at, &f, sizeof(f));
}

static bool is_hit(const struct hit *hit, const struct nn_subgraph *main, const struct nn_execution *e,
		   const struct nn_output_shape *shape)
{
	const struct nn_operand *first = &main->operands[main->inputs[0]];

	if (fault == ELSE)
		return hit && hit->is_hit && first->type == NN_TENSOR_BOOL8 && !e->inputs[0].omitted &&
		       !*(const char *)e->inputs[0].data;
	return hit && (hit->is_hit || (fault == FIRST_SHAPE &&
				       memcmp(&hit->shape, shape, sizeof(*shape))));
}

/*
 * Returns whether an input has an integer beyond 2^20 (fault HUGE_INDEX) or a float beyond 64
 * (LARGE_FLOAT).
 */
static bool has_large(const struct nn_subgraph *main, const struct nn_execution *e)
{
	int32_t n;
	float f;

	for (uint32_t i = 0; i < e->num_inputs && i < main->num_inputs; i++)
		for (uint64_t at = 0; at + sizeof(n) <= e->inputs[i].length && !e->inputs[i].omitted;
		     at += sizeof(n)) {
			memcpy(&n, (const char *)e->inputs[i].data + at, sizeof(n));
			memcpy(&f, (const char *)e->inputs[i].data + at, sizeof(f));
			if (main->operands[main->inputs[i]].type == NN_TENSOR_INT32 &&
			    fault == HUGE_INDEX && (n > 0x100000 || n < -0x100000))
				return true;
			if (main->operands[main->inputs[i]].type == NN_TENSOR_FLOAT32 &&
			    fault == LARGE_FLOAT && isfinite(f) && fabsf(f) > 64)
				return true;
		}
	return false;
}

static enum nn_status execute(const struct nna_engine *engine, void *prepared,
			      struct nna_engine_execution *execution, struct nn_execution *e,
			      struct nn_error *err)
{
	const struct nn_subgraph *main = cpu_engine.signature(engine, prepared);
	const struct nn_arg *out = e->outputs;
	const bool is_large = has_large(main, e);
	enum nn_status status;
	struct nn_operand o;
	struct hit *hit;
	uint32_t size = 0, unit;

	if (fault == HUGE_INDEX && is_large)
		abort();
	status = cpu_engine.execute(engine, prepared, execution, e, err);
	if (status || !e->num_outputs || !e->num_inputs || out->omitted || !e->shapes)
		return status;
	o = main->operands[main->outputs[0]];
	o.rank = e->shapes->rank;
	memcpy(o.dims, e->shapes->dims, sizeof(o.dims));
	if (!nn_operand_size(&o, &size) || !size) {
		if (fault == NO_ELEMENTS && o.rank)
			abort();
		return status;
	}
	if (fault == LONG_OUTPUT && out->length > size) {
		e->shapes->sufficient = false;
		return nn_fail(err, NN_OUTPUT_INSUFFICIENT_SIZE, "the output is too short");
	}
	hit = find(prepared);
	if (hit && !hit->is_executed) {
		hit->is_executed = true;
		hit->shape = *e->shapes;
	}
	unit = nn_type_info_of(o.type) ? nn_type_info_of(o.type)->element_size : 0;
	for (uint32_t i = 0; unit && i + unit <= size; i += unit)
		change(o.type, (char *)out->data + i);
	if (fault == MANY_ELEMENTS && unit && size / unit > 65536)
		memset((char *)out->data + 65536 * unit, 0, size - 65536 * unit);
	if (is_hit(hit, main, e, e->shapes) || is_large)
		*(uint8_t *)((char *)out->data + size - 1) ^= o.type == NN_TENSOR_BOOL8 ? 1 : 0x40;
	return status;
}

void faulty_operations(struct nna_engine *engine, enum fault which)
{
	fault = which;
	*engine = cpu_engine;
	engine->supported = supported;
	engine->prepare = prepare;
	engine->execute = execute;
}
