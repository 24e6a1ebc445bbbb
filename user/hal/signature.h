/* SPDX-License-Identifier: MIT */
/*
 * The signature of a model: its main subgraph's inputs and outputs, types and
 * shapes, kept when the model itself is gone.
 */
#ifndef NN_HAL_SIGNATURE_H
#define NN_HAL_SIGNATURE_H

#include <nnaccel/device.h>
#include <nnaccel/model.h>

/* An input or an output. */
struct nna_signature_operand {
	/*
	 * Of an extension's type: that of the device, and `operand` is as if each element
	 * were one byte, a TENSOR_QUANT8_ASYMM or a BOOL. NULL: it is of the NNAPI's type.
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
 * A copy of what the model says, with the extensions of its device, which outlive it;
 * NULL: no memory. nna_signature_free() takes NULL.
 */
struct nna_signature *nna_signature_create(const struct nn_model *model,
					   const struct nn_device_extension *extensions,
					   uint32_t num_extensions);

/* Whether the model's signature has types of extensions. */
bool nna_signature_needs_extensions(const struct nn_model *model);
void nna_signature_free(struct nna_signature *signature);

#endif /* NN_HAL_SIGNATURE_H */
