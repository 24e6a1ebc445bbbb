/* SPDX-License-Identifier: MIT */
/*
 * Checks one operand by itself: type, dimensions, quantisation, extra parameters, and the location
 * of its value.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "check.h"
#include "extension.h"
#include "operand.h"

enum scale_rule {
	SCALE_ZERO,
	SCALE_POSITIVE,
	SCALE_NOT_NEGATIVE,
	SCALE_ANY,
};

struct quant_rule {
	enum scale_rule scale;
	int32_t min_zero_point;
	int32_t max_zero_point;
};

/*
 * Rules for scale and zero point by type; types without a row have neither a scale nor a zero
 * point.
 */
static const struct quant_rule quant_rules[NN_TYPE_COUNT] = {
	[NN_TENSOR_INT32] = { SCALE_NOT_NEGATIVE, 0, 0 },
	[NN_TENSOR_QUANT8_ASYMM] = { SCALE_POSITIVE, 0, 255 },
	[NN_TENSOR_QUANT16_SYMM] = { SCALE_POSITIVE, 0, 0 },
	[NN_TENSOR_QUANT16_ASYMM] = { SCALE_POSITIVE, 0, 65535 },
	[NN_TENSOR_QUANT8_SYMM] = { SCALE_POSITIVE, 0, 0 },
	[NN_TENSOR_QUANT8_ASYMM_SIGNED] = { SCALE_POSITIVE, -128, 127 },
};
static const struct quant_rule oem_rule = { SCALE_ANY, INT32_MIN, INT32_MAX };
static const struct quant_rule extension_rule = { SCALE_ZERO, 0, 0 };

enum nn_status nn_refuse_operand(const struct nn_model_checker *c, uint32_t index,
				 const char *format, ...)
{
	char reason[NN_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return nn_fail(c->err, NN_INVALID_ARGUMENT, "subgraph %u, operand %u (%s): %s", c->at,
		       index, nn_type_name(c->model->subgraphs[c->at].operands[index].type),
		       reason);
}

bool nn_check_prefix(const struct nn_model_checker *c, int32_t code)
{
	uint32_t prefix = (uint32_t)code >> 16;

	return !prefix || c->prefixes[prefix / 8] >> (prefix % 8) & 1;
}

static bool is_extension(int32_t type)
{
	return (uint32_t)type > 0xffff;
}

static enum nn_status check_dims(const struct nn_model_checker *c, uint32_t index,
				 const struct nn_operand *o)
{
	const struct nn_type_info *info = nn_type_info_of(o->type);
	uint32_t size, i;

	if (o->rank > NN_MAX_RANK)
		return nn_refuse_operand(c, index, "rank %u exceeds %d", o->rank, NN_MAX_RANK);
	if (info && !info->is_tensor && o->rank)
		return nn_refuse_operand(c, index, "a scalar has %u dimensions, not 0", o->rank);
	for (i = o->rank; i < NN_MAX_RANK; i++)
		if (o->dims[i])
			return nn_refuse_operand(c, index,
						 "dimension %u is %u, must be 0 beyond rank %u", i,
						 o->dims[i], o->rank);
	if (!nn_operand_size(o, &size))
		return nn_refuse_operand(c, index, "its size does not fit 32 bits");
	return NN_OK;
}

static enum nn_status check_quant(const struct nn_model_checker *c, uint32_t index,
				  const struct nn_operand *o)
{
	const struct quant_rule *rule = &oem_rule;
	bool fits = isfinite(o->scale);

	if (is_extension(o->type))
		rule = &extension_rule;
	else if (o->type < NN_TYPE_COUNT)
		rule = &quant_rules[o->type];

	if (rule->scale == SCALE_ZERO)
		fits = fits && o->scale == 0;
	else if (rule->scale == SCALE_POSITIVE)
		fits = fits && o->scale > 0;
	else if (rule->scale == SCALE_NOT_NEGATIVE)
		fits = fits && o->scale >= 0;
	if (!fits)
		return nn_refuse_operand(c, index, "scale %g is not allowed for its type",
					 (double)o->scale);
	if (o->zero_point < rule->min_zero_point || o->zero_point > rule->max_zero_point)
		return nn_refuse_operand(c, index, "zero point %d, must be %d to %d",
					 o->zero_point, rule->min_zero_point,
					 rule->max_zero_point);
	return NN_OK;
}

static enum nn_status check_channels(const struct nn_model_checker *c, uint32_t index,
				     const struct nn_operand *o)
{
	const struct nn_extra *extra = &o->extra;
	uint32_t i;

	if (extra->kind != NN_EXTRA_CHANNEL_QUANT)
		return nn_refuse_operand(c, index, "it has no scales per channel");
	if (extra->channel_dim >= o->rank)
		return nn_refuse_operand(c, index, "channel dimension %u, must be below rank %u",
					 extra->channel_dim, o->rank);
	if (!extra->count || extra->count != o->dims[extra->channel_dim])
		return nn_refuse_operand(c, index, "%u scales, must be one for each of %u channels",
					 extra->count, o->dims[extra->channel_dim]);
	for (i = 0; i < extra->count; i++)
		if (!isfinite(extra->scales[i]) || extra->scales[i] <= 0)
			return nn_refuse_operand(c, index,
						 "scale %g of channel %u must be finite and > 0",
						 (double)extra->scales[i], i);
	return NN_OK;
}

static enum nn_status check_extra(const struct nn_model_checker *c, uint32_t index,
				  const struct nn_operand *o)
{
	const struct nn_extra *extra = &o->extra;

	if (o->type == NN_TENSOR_QUANT8_SYMM_PER_CHANNEL)
		return check_channels(c, index, o);
	if (extra->kind != NN_EXTRA_NONE &&
	    (extra->kind != NN_EXTRA_EXTENSION || !is_extension(o->type)))
		return nn_refuse_operand(c, index, "wrong extra parameters (kind %u)", extra->kind);
	if (extra->channel_dim || (extra->kind == NN_EXTRA_NONE && extra->count))
		return nn_refuse_operand(c, index, "extra parameters do not fit their kind");
	return NN_OK;
}

static enum nn_status check_constant(const struct nn_model_checker *c, uint32_t index,
				     const struct nn_operand *o)
{
	const struct nn_location *at = &o->location;
	const struct nn_type_info *info = nn_type_info_of(o->type);
	uint64_t room = c->model->values_size;
	uint32_t size;

	if (!nn_operand_is_specified(o))
		return nn_refuse_operand(c, index, "the shape of a constant is not known");
	nn_operand_size(o, &size);
	if (info && info->element_size && at->length != size)
		return nn_refuse_operand(c, index, "a constant has %u bytes, must have %u",
					 at->length, size);
	if (o->lifetime == NN_CONSTANT_REFERENCE) {
		if (at->pool >= c->model->num_pools)
			return nn_refuse_operand(c, index, "pool %u, must be below %u", at->pool,
						 c->model->num_pools);
		room = c->model->pools[at->pool].size;
	} else if (at->pool) {
		return nn_refuse_operand(c, index, "a copied constant in pool %u, not 0", at->pool);
	}
	if (at->offset > room || at->length > room - at->offset)
		return nn_refuse_operand(c, index, "%u bytes at %" PRIu64 " end beyond %s of %"
					 PRIu64, at->length, at->offset,
					 o->lifetime == NN_CONSTANT_COPY ? "the values" : "a pool",
					 room);
	return NN_OK;
}

static enum nn_status check_location(const struct nn_model_checker *c, uint32_t index,
				     const struct nn_operand *o)
{
	const struct nn_location *at = &o->location;

	if (o->lifetime > NN_SUBGRAPH)
		return nn_refuse_operand(c, index, "lifetime %u does not exist", o->lifetime);
	if ((o->type == NN_SUBGRAPH_TYPE) != (o->lifetime == NN_SUBGRAPH))
		return nn_refuse_operand(c, index, "lifetime %u is not allowed for its type",
					 o->lifetime);
	if (nn_operand_is_constant(o))
		return check_constant(c, index, o);
	if (at->pool || at->length || (at->offset && o->lifetime != NN_SUBGRAPH))
		return nn_refuse_operand(c, index, "a location is not allowed for lifetime %u",
					 o->lifetime);
	if (o->lifetime == NN_SUBGRAPH && at->offset >= c->model->num_subgraphs - 1)
		return nn_refuse_operand(c, index,
					 "referenced subgraph %" PRIu64 ", must be below %u",
					 at->offset, c->model->num_subgraphs - 1);
	return NN_OK;
}

enum nn_status nn_refuse_prefix(const struct nn_model_checker *c, uint32_t index)
{
	uint32_t type = (uint32_t)c->model->subgraphs[c->at].operands[index].type;

	return nn_refuse_operand(c, index, "the extension of type 0x%x is not listed", type);
}

enum nn_status nn_check_operand(const struct nn_model_checker *c, uint32_t index)
{
	const struct nn_operand *o = &c->model->subgraphs[c->at].operands[index];
	const struct nn_extension *extension = nn_extension_at((uint32_t)o->type >> 16);
	enum nn_status status;

	if (!nn_type_info_of(o->type) && !is_extension(o->type))
		return nn_refuse_operand(c, index, "type %d does not exist", o->type);
	if (!nn_check_prefix(c, o->type))
		return nn_refuse_prefix(c, index);
	if (extension && !nn_type_info_of(o->type))
		return nn_refuse_operand(c, index, "type %d does not exist in extension %.128s",
					 o->type & 0xffff, extension->name);
	status = check_dims(c, index, o);
	if (!status)
		status = check_quant(c, index, o);
	if (!status)
		status = check_extra(c, index, o);
	if (!status)
		status = check_location(c, index, o);
	return status;
}
