/* SPDX-License-Identifier: MIT */
/*
 * The signature of a model: types and shapes of the main subgraph's inputs and outputs. The
 * signature may outlive the model.
 */
#ifndef NN_HAL_SIGNATURE_H
#define NN_HAL_SIGNATURE_H

#include <nnaccel/device.h>
#include <nnaccel/engine_model.h>

struct nna_signature_operand {
	/*
	 * The device's description of an extension's type; NULL for a type of the NNAPI. For an
	 * extension's type, `operand` has a type with elements of one byte (TENSOR_QUANT8_ASYMM or
	 * BOOL).
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
 * Copies the model's signature. The signature refers to `extensions` of the device, which must
 * outlive the signature. Returns NULL if memory runs out; nna_signature_free() accepts NULL.
 */
struct nna_signature *nna_signature_create(const struct nn_model *model,
					   const struct nn_device_extension *extensions,
					   uint32_t num_extensions);

/* Returns whether an input or output of the model has an extension type. */
bool nna_signature_needs_extensions(const struct nn_model *model);
void nna_signature_free(struct nna_signature *signature);

#endif /* NN_HAL_SIGNATURE_H */
