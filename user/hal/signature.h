/* SPDX-License-Identifier: MIT */
/*
 * The signature of a model: its main subgraph's inputs and outputs, types and
 * shapes, kept when the model itself is gone.
 */
#ifndef NN_HAL_SIGNATURE_H
#define NN_HAL_SIGNATURE_H

#include <nnaccel/model.h>

struct nna_signature {
	uint32_t num_inputs;
	uint32_t num_outputs;
	struct nn_operand operands[];	/* inputs, then outputs */
};

/* A copy of what the model says; NULL: no memory. nna_signature_free() takes NULL. */
struct nna_signature *nna_signature_create(const struct nn_model *model);
void nna_signature_free(struct nna_signature *signature);

#endif /* NN_HAL_SIGNATURE_H */
