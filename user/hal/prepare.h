/* SPDX-License-Identifier: MIT */
/*
 * Prepared models: handles of models in the kernel and the engine.
 */
#ifndef NN_HAL_PREPARE_H
#define NN_HAL_PREPARE_H

#include "device.h"
#include "signature.h"

struct nna_prepared_model {
	struct nna_device *device;
	uint32_t id;
	bool low_power;
	/* signature of the model; NULL if the model came from a cache */
	struct nna_signature *signature;
	struct nna_deferred *deferred;	/* state of the deferred save; NULL if none */
};

/*
 * Copies a caller's options (NULL: the defaults) to this library's version, with the kernel's
 * values of preference and priority. Returns NN_INVALID_ARGUMENT if the structure's size or a value
 * is not valid.
 */
enum nn_status nna_take_prepare_options(struct nna_prepare_options *ours,
					const struct nna_prepare_options *options,
					struct nn_error *err);

/* Creates a handle for a model of the kernel, or destroys the model on failure. */
enum nn_status nna_prepared_model_new(struct nna_device *device, uint32_t id,
				      const struct nna_prepare_options *options,
				      struct nna_prepared_model **prepared, struct nn_error *err);

#endif /* NN_HAL_PREPARE_H */
