/* SPDX-License-Identifier: MIT */
/*
 * An execution in the kernel's form, from a request of the HAL and back to its
 * results.
 */
#ifndef NN_HAL_CALL_H
#define NN_HAL_CALL_H

#include "buffer.h"

#define SMALL_ARGS	8	/* inputs and outputs */
#define SMALL_OUTPUTS	4
#define SMALL_POOLS	8

/* Its arrays are in `small`, or in one block of the heap. */
struct nna_call {
	struct nnaccel_execute execute;
	struct nnaccel_arg *args;
	struct nnaccel_shape *shapes;
	uint32_t *pools;
	void *block;
	void *attributes;		/* in their form for the engine, from the first set on */
	size_t attributes_size;
	struct nna_buffer_uses buffers;
	bool was_past;			/* the deadline, when the call was set */
	struct {
		struct nnaccel_arg args[SMALL_ARGS];
		struct nnaccel_shape shapes[SMALL_OUTPUTS];
		uint32_t pools[SMALL_POOLS];
	} small;
	char message[NNACCEL_MAX_MESSAGE];
};

/* Options where the caller has none. */
extern const struct nna_execute_options nna_execute_defaults;

/* Checks and holds the memories of a request, until nna_request_put(). */
enum nn_status nna_request_get(const struct nna_prepared_model *prepared,
			       const struct nna_request *request, struct nn_error *err);
void nna_request_put(const struct nna_request *request);

/*
 * Makes room for a call and holds its buffers; it must not be moved from then on.
 * nna_call_end() after NN_OK.
 */
enum nn_status nna_call_begin(struct nna_call *call, const struct nna_prepared_model *prepared,
			      const struct nna_request *request, struct nn_error *err);
void nna_call_end(struct nna_call *call);

/* Fills in all of call->execute, before each use of it. */
enum nn_status nna_call_set(struct nna_call *call, const struct nna_prepared_model *prepared,
			    const struct nna_request *request,
			    const struct nna_execute_options *options, struct nn_error *err);

/*
 * The status of a call for which the kernel returned `error` (an errno, 0: the
 * engine answered); its buffers get what they hold from then on. *again: one has
 * grown to what was asked for, the call is to be repeated.
 */
enum nn_status nna_call_note(struct nna_call *call, const struct nna_device *device,
			     const struct nna_request *request, int error, bool *again,
			     struct nn_error *err);

/* Shapes and times of a call of that status. `shapes` has room for all outputs, or is NULL. */
enum nn_status nna_call_results(const struct nna_call *call, enum nn_status status,
				struct nna_output_shape *shapes, uint32_t *num_shapes,
				struct nna_timing *timing, struct nn_error *err);

#endif /* NN_HAL_CALL_H */
