/* SPDX-License-Identifier: MIT */
/*
 * The signature of a model: its main subgraph's inputs and outputs, types and
 * shapes, kept when the model itself is gone.
 */
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

struct nna_signature *nna_signature_create(const struct nn_model *model)
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
		uint32_t operand = i < main->num_inputs ? main->inputs[i] :
							  main->outputs[i - main->num_inputs];

		copied &= copy_operand(&s->operands[i], &main->operands[operand]);
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
		free((void *)signature->operands[i].extra.scales);
		free((void *)signature->operands[i].extra.bytes);
	}
	free(signature);
}
