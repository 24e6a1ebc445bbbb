/* SPDX-License-Identifier: MIT */
#include "ops/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct nn_operand *nn_check_in(const struct nn_check *c, uint32_t index)
{
	return &c->scope->operands[c->operation->inputs[index]];
}

const struct nn_operand *nn_check_out(const struct nn_check *c, uint32_t index)
{
	return &c->scope->operands[c->operation->outputs[index]];
}

enum nn_status nn_check_fail_operand(const struct nn_check *c, bool is_output, uint32_t index,
				     const char *format, ...)
{
	const struct nn_operand *o = is_output ? nn_check_out(c, index) : nn_check_in(c, index);
	char text[NN_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return nn_fail(c->err, NN_INVALID_ARGUMENT, "%s: %s %u (%s): %s", c->op->name,
		       is_output ? "output" : "input", index, nn_type_name(o->type), text);
}

enum nn_status nn_check_fail(const struct nn_check *c, const char *format, ...)
{
	char text[NN_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return nn_fail(c->err, NN_INVALID_ARGUMENT, "%s: %s", c->op->name, text);
}

static enum nn_status check_count(const struct nn_check *c, const char *what, uint32_t count,
				  uint32_t min, uint32_t max)
{
	if (count >= min && count <= max)
		return NN_OK;
	if (min == max)
		return nn_check_fail(c, "%u %s, must be %u", count, what, min);
	if (max == UINT32_MAX)
		return nn_check_fail(c, "%u %s, must be at least %u", count, what, min);
	return nn_check_fail(c, "%u %s, must be %u to %u", count, what, min, max);
}

enum nn_status nn_check_counts(const struct nn_check *c, uint32_t min_inputs, uint32_t max_inputs,
			       uint32_t min_outputs, uint32_t max_outputs)
{
	enum nn_status status = check_count(c, "inputs", c->operation->num_inputs, min_inputs,
					    max_inputs);

	return status ? status : check_count(c, "outputs", c->operation->num_outputs,
					     min_outputs, max_outputs);
}

static uint32_t type_of(const struct nn_check *c, uint32_t input)
{
	int32_t type = nn_check_in(c, input)->type;

	return type >= 0 && type < NN_TYPE_COUNT ? NN_T(type) : 0;
}

/*
 * Returns the set of fundamental types that a rule allows. Bits such as NN_SAME allow types that
 * depend on the types of the operation's inputs.
 */
static uint32_t type_set(const struct nn_check *c, uint32_t types)
{
	uint32_t set = types & (NN_T(NN_TYPE_COUNT) - 1);

	if (types & NN_SAME)
		set |= type_of(c, 0);
	if (types & NN_SAME_1)
		set |= type_of(c, 1);
	if (types & NN_SAME_2)
		set |= type_of(c, 2);
	if (types & NN_SCALAR_OF)
		set |= type_of(c, 0) & NN_T(NN_TENSOR_FLOAT16) ? NN_T(NN_FLOAT16) : NN_T(NN_FLOAT32);
	if (types & (NN_BOX_OF | NN_ANCHOR_OF))
		set |= type_of(c, 0) & NN_FLOATS ? type_of(c, 0) :
		       types & NN_BOX_OF ? NN_T(NN_TENSOR_QUANT16_ASYMM) : NN_T(NN_TENSOR_QUANT16_SYMM);
	return set;
}

/* Writes the names of the types in a set to `text`, for example "FLOAT32 or FLOAT16". */
static void describe_types(uint32_t set, char *text, size_t size)
{
	text[0] = 0;
	for (int32_t type = 0; type < NN_TYPE_COUNT; type++) {
		size_t used = strlen(text);

		if (set & NN_T(type))
			snprintf(text + used, size - used, "%s%s", used ? " or " : "",
				 nn_type_name(type));
	}
}

/* Returns whether an operand breaks a rule, and writes the reason to `text`. */
static bool breaks_rule(const struct nn_check *c, const struct nn_operand *o, struct nn_rule rule,
			char *text, size_t size)
{
	uint32_t set = type_set(c, rule.types);
	int used;

	if (o->type < 0 || o->type >= NN_TYPE_COUNT || !(set & NN_T(o->type))) {
		used = snprintf(text, size, "must be ");
		describe_types(set, text + used, size - (size_t)used);
		return true;
	}
	if (o->rank == 0)
		return false;
	if (rule.min_rank && o->rank < rule.min_rank) {
		snprintf(text, size, "%u dimensions, must be at least %u", o->rank, rule.min_rank);
		return true;
	}
	if (rule.max_rank && o->rank > rule.max_rank) {
		snprintf(text, size, "%u dimensions, must be at most %u", o->rank, rule.max_rank);
		return true;
	}
	return false;
}

enum nn_status nn_check_input(const struct nn_check *c, uint32_t index, struct nn_rule rule)
{
	char text[NN_MESSAGE_SIZE];

	/*
	 * Do not check the rank of an input that may be omitted, because an omitted input may have
	 * any rank. The shape rule checks the rank later if the input is present.
	 */
	if (nn_has_input(c->op->omissible, index))
		rule.min_rank = rule.max_rank = 0;
	if (breaks_rule(c, nn_check_in(c, index), rule, text, sizeof(text)))
		return nn_check_fail_input(c, index, "%s", text);
	return NN_OK;
}

enum nn_status nn_check_output(const struct nn_check *c, uint32_t index, struct nn_rule rule)
{
	char text[NN_MESSAGE_SIZE];

	if (breaks_rule(c, nn_check_out(c, index), rule, text, sizeof(text)))
		return nn_check_fail_output(c, index, "%s", text);
	return NN_OK;
}

static struct nn_rule rule_at(const struct nn_rule *rules, uint32_t count, uint32_t index)
{
	return rules[index < count ? index : count - 1];
}

enum nn_status nn_check_rules(const struct nn_check *c)
{
	const struct nn_op *op = c->op;
	enum nn_status status =
		nn_check_counts(c, op->least_inputs, op->more_inputs ? UINT32_MAX : op->num_inputs,
				op->least_outputs, op->more_outputs ? UINT32_MAX : op->num_outputs);

	for (uint32_t i = 0; !status && i < c->operation->num_inputs; i++)
		status = nn_check_input(c, i, rule_at(op->inputs, op->num_inputs, i));
	for (uint32_t i = 0; !status && i < c->operation->num_outputs; i++)
		status = nn_check_output(c, i, rule_at(op->outputs, op->num_outputs, i));
	return status;
}

bool nn_check_shapes_agree(const struct nn_operand *a, const struct nn_operand *b)
{
	if (!a->rank || !b->rank)
		return true;
	if (a->rank != b->rank)
		return false;
	for (uint32_t i = 0; i < a->rank; i++) {
		if (a->dims[i] && b->dims[i] && a->dims[i] != b->dims[i])
			return false;
	}
	return true;
}

enum nn_status nn_check_same_type(const struct nn_check *c, uint32_t a, uint32_t b)
{
	if (nn_check_in(c, a)->type != nn_check_in(c, b)->type)
		return nn_check_fail_input(c, b, "must be %s, as input %u",
					   nn_type_name(nn_check_in(c, a)->type), a);
	return NN_OK;
}

enum nn_status nn_check_same_quant(const struct nn_check *c, uint32_t output, uint32_t input)
{
	const struct nn_operand *in = nn_check_in(c, input), *out = nn_check_out(c, output);

	if (out->scale != in->scale || out->zero_point != in->zero_point)
		return nn_check_fail_output(c, output,
					    "scale %g and zero point %d, must be %g and %d",
					    (double)out->scale, out->zero_point, (double)in->scale,
					    in->zero_point);
	return NN_OK;
}
