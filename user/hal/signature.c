/* SPDX-License-Identifier: MIT */
/* The signature of a model: types and shapes of the main subgraph's inputs and outputs. */
#include <stdlib.h>
#include <string.h>

#include "signature.h"

static void *duplicate(const void *from, size_t size)
{
	void *to = malloc(size ? size : 1);

	return to && size ? memcpy(to, from, size) : to;
}

static bool copy_operand(struct nn_operand *to, const struct nn_operand *from)
{
	struct nn_extra *extra = &to->extra;

	*to = *from;
	extra->scales = NULL;
	extra->bytes = NULL;
	if (extra->kind == NN_EXTRA_CHANNEL_QUANT)
		extra->scales = duplicate(from->extra.scales, extra->count * sizeof(float));
	else if (extra->kind == NN_EXTRA_EXTENSION)
		extra->bytes = duplicate(from->extra.bytes, extra->count);
	return extra->kind == NN_EXTRA_NONE || extra->scales || extra->bytes;
}

static const struct nn_operand *operand_at(const struct nn_model *model, uint32_t i)
{
	const struct nn_subgraph *main = &model->subgraphs[0];

	return &main->operands[i < main->num_inputs ? main->inputs[i] :
						      main->outputs[i - main->num_inputs]];
}

bool nna_signature_needs_extensions(const struct nn_model *model)
{
	const struct nn_subgraph *main = &model->subgraphs[0];

	for (uint32_t i = 0; i < main->num_inputs + main->num_outputs; i++)
		if ((uint32_t)operand_at(model, i)->type > 0xffff)
			return true;
	return false;
}

static const struct nn_device_extension_item *find_type(const struct nn_device_extension *e,
							 uint16_t code)
{
	for (uint32_t i = 0; i < e->num_types; i++)
		if (e->types[i].code == code)
			return &e->types[i];
	return NULL;
}

/*
 * Returns the device's description of an extension's type; NULL if the device does not have the
 * type.
 */
static const struct nn_device_extension_item *
find_extension_type(const struct nn_model *model, const struct nn_device_extension *extensions,
		    uint32_t num_extensions, int32_t type)
{
	const char *name = NULL;

	for (uint32_t i = 0; i < model->num_extensions; i++)
		if (model->extensions[i].prefix == (uint32_t)type >> 16)
			name = model->extensions[i].name;
	for (uint32_t i = 0; name && i < num_extensions; i++)
		if (!strcmp(extensions[i].name, name))
			return find_type(&extensions[i], type & 0xffff);
	return NULL;
}

struct nna_signature *nna_signature_create(const struct nn_model *model,
					   const struct nn_device_extension *extensions,
					   uint32_t num_extensions)
{
	const struct nn_subgraph *main = &model->subgraphs[0];
	uint32_t count = main->num_inputs + main->num_outputs;
	struct nna_signature *s = calloc(1, sizeof(*s) + count * sizeof(s->operands[0]));
	bool copied = s;

	if (!s)
		return NULL;
	s->num_inputs = main->num_inputs;
	s->num_outputs = main->num_outputs;
	for (uint32_t i = 0; i < count; i++) {
		const struct nn_operand *from = operand_at(model, i);
		struct nna_signature_operand *to = &s->operands[i];

		copied &= copy_operand(&to->operand, from);
		if ((uint32_t)from->type > 0xffff)
			to->type = find_extension_type(model, extensions, num_extensions,
						       from->type);
		if (to->type)
			to->operand.type = to->type->is_tensor ? NN_TENSOR_QUANT8_ASYMM : NN_BOOL;
	}
	if (copied)
		return s;
	nna_signature_free(s);
	return NULL;
}

void nna_signature_free(struct nna_signature *signature)
{
	if (!signature)
		return;
	for (uint32_t i = 0; i < signature->num_inputs + signature->num_outputs; i++) {
		free((void *)signature->operands[i].operand.extra.scales);
		free((void *)signature->operands[i].operand.extra.bytes);
	}
	free(signature);
}
