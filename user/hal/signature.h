/* SPDX-License-Identifier: MIT */
/*
 * The signature of a model: types and shapes of its main subgraph's inputs and outputs. It outlives
 * the model.
 */
#ifndef NN_HAL_SIGNATURE_H
#define NN_HAL_SIGNATURE_H

#include <nnaccel/device.h>
#include <nnaccel/engine_model.h>

/* An input or an output. */
struct nna_signature_operand {
	/*
	 * The device's description of an extension's type. `operand` then counts each element as
	 * one byte: a TENSOR_QUANT8_ASYMM or a BOOL. It is NULL for a type of NNAPI.
	 */
	const struct nn_device_extension_item *type;
	struct nn_operand operand;
};

struct nna_signature {
	uint32_t num_inputs;
	uint32_t num_outputs;
	struct nna_signature_operand operands[];	/* inputs, then outputs */
};

/*
 * Copies the model's signature, with the extensions of its device, which must outlive it. Returns
 * NULL if memory runs out. nna_signature_free() accepts NULL.
 */
struct nna_signature *nna_signature_create(const struct nn_model *model,
					   const struct nn_device_extension *extensions,
					   uint32_t num_extensions);

/* Returns whether the model's signature has extension types. */
bool nna_signature_needs_extensions(const struct nn_model *model);
void nna_signature_free(struct nna_signature *signature);

#endif /* NN_HAL_SIGNATURE_H */
