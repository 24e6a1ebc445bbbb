/* SPDX-License-Identifier: MIT */
/*
 * A fast kernel: an operation of known shapes made ready to run, with its
 * weights packed. One table of them, a file a family.
 */
#ifndef NN_PLAN_KERNELS_KERNEL_H
#define NN_PLAN_KERNELS_KERNEL_H

#include "ops/op.h"
#include "plan/kernels/isa.h"

struct nn_kernel;

/* One operation made ready. Whoever prepares it fills all but `isa` and `threads`. */
struct nn_ready {
	const struct nn_isa *isa;
	uint32_t threads;		/* that will share its tasks */
	const struct nn_kernel *kernel;
	void *state;			/* the kernel's own, from malloc(); freed with the plan */
	uint64_t reads;			/* tensor inputs whose values it depends on */
	size_t packed_size;		/* bytes of packed weights */
	const void *packed;
	size_t scratch_size;		/* bytes for each thread that runs tasks of it */
	uint32_t tasks;
};

/* The memory of one run of it. */
struct nn_kernel_call {
	const struct nn_ready *ready;
	const void *const *inputs;	/* NULL where omitted */
	void *const *outputs;
	uint32_t threads;		/* that may share what a task itself cuts in parts */
};

struct nn_kernel {
	const char *name;
	/*
	 * Takes an operation whose shapes are inferred, and whose constant
	 * inputs alone have data. False: not one for this kernel, or no memory;
	 * the operation then runs on its reference kernel.
	 *
	 * A plan that is loaded runs it on weights that were packed before: so
	 * the packed form depends on types, shapes, scalars and `isa` only, not
	 * on `threads`, and of tensors it reads values only of those that it
	 * names in `reads`, also where it then does not take the operation.
	 */
	bool (*prepare)(struct nn_run *r, struct nn_ready *ready);
	/* Writes packed_size bytes, aligned to 64. NULL: there are none. */
	void (*pack)(struct nn_run *r, const struct nn_ready *ready, void *packed);
	/* Runs a task, of which any may run at a time. `scratch` is aligned to 64. */
	void (*run)(const struct nn_kernel_call *call, uint32_t task, void *scratch);
};

/* The first kernel that takes the operation; false: none does. */
bool nn_kernel_find(struct nn_run *r, struct nn_ready *ready);

#endif /* NN_PLAN_KERNELS_KERNEL_H */
