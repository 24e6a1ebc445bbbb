/* SPDX-License-Identifier: MIT */
/*
 * Prepared models: handles of what the kernel and the engine have.
 */
#ifndef NN_HAL_PREPARE_H
#define NN_HAL_PREPARE_H

#include "device.h"
#include "signature.h"

struct nna_prepared_model {
	struct nna_device *device;
	uint32_t id;
	bool low_power;
	struct nna_signature *signature;	/* NULL: not known, of one that came from a cache */
	struct nna_late *late;		/* NULL: nothing will be saved later */
};

/*
 * Options of a caller (NULL: the defaults) as this library knows them. NN_INVALID_ARGUMENT: of no size
 * or values that they can have.
 */
enum nn_status nna_take_prepare_options(struct nna_prepare_options *ours,
					const struct nna_prepare_options *options,
					struct nn_error *err);

/* The handle of a model that the kernel has; where that fails, the model is gone. */
enum nn_status nna_prepared_model_new(struct nna_device *device, uint32_t id,
				      const struct nna_prepare_options *options,
				      struct nna_prepared_model **prepared, struct nn_error *err);

#endif /* NN_HAL_PREPARE_H */
