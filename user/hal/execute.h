/* SPDX-License-Identifier: MIT */
/*
 * An execution's way, which the synchronous, fenced and submitted ones share: begin (check and hold),
 * translate, submit, read back, end (release). Submitting is each one's own.
 */
#ifndef NN_HAL_EXECUTE_H
#define NN_HAL_EXECUTE_H

#include "buffer.h"
#include "prepare.h"

#define SMALL_ARGS	8	/* inputs and outputs */
#define SMALL_OUTPUTS	4
#define SMALL_POOLS	8

/* Its arrays are in `small`, or in one block of the heap. */
struct nna_call {
	const struct nna_prepared_model *prepared;
	const struct nna_request *request;
	struct nnaccel_execute execute;
	struct nnaccel_arg *args;
	struct nnaccel_shape *shapes;
	uint32_t *pools;
	void *block;
	void *attributes;		/* in their form for the engine, from the first translation on */
	size_t attributes_size;
	struct nna_buffer_uses buffers;
	struct {
		struct nnaccel_arg args[SMALL_ARGS];
		struct nnaccel_shape shapes[SMALL_OUTPUTS];
		uint32_t pools[SMALL_POOLS];
	} small;
	char message[NNACCEL_MAX_MESSAGE];
};

/*
 * A request and options of a caller (NULL: the defaults) as this library knows them: the first thing
 * that is done with them. NN_INVALID_ARGUMENT: of no size that they can have.
 */
enum nn_status nna_take_request(struct nna_request *ours, const struct nna_request *request,
				struct nn_error *err);
enum nn_status nna_take_options(struct nna_execute_options *ours,
				const struct nna_execute_options *options, struct nn_error *err);

/*
 * Checks and holds the request's memories and makes room for a call, which must not be moved from
 * then on. nna_call_end() after NN_OK.
 */
enum nn_status nna_call_begin(struct nna_call *call, const struct nna_prepared_model *prepared,
			      const struct nna_request *request, struct nn_error *err);

/*
 * Fills in all of call->execute and holds the request's buffers: before a submission, and again
 * before the next one of the same call. Attributes are those of the first time.
 */
enum nn_status nna_call_translate(struct nna_call *call, const struct nna_execute_options *options,
				  struct nn_error *err);

/*
 * The status of a call for which the kernel returned `error` (an errno, 0: the engine answered);
 * its buffers get what they hold from then on. *again: one has grown to what was asked for, and
 * the call can be submitted again as it is. `was_past`: the deadline, before it was submitted.
 */
enum nn_status nna_call_read_back(struct nna_call *call, int error, bool was_past, bool *again,
				  struct nn_error *err);

/* Shapes and times of a call of that status. `shapes` has room for all outputs, or is NULL. */
enum nn_status nna_call_results(const struct nna_call *call, enum nn_status status,
				struct nna_output_shape *shapes, uint32_t *num_shapes,
				struct nna_timing *timing, struct nn_error *err);

void nna_call_end(struct nna_call *call);

/*
 * The request's arguments in the kernel's form: inputs, then outputs. NN_INVALID_ARGUMENT where
 * one is not within the request's memories.
 */
enum nn_status nna_set_args(const struct nna_request *request, struct nnaccel_arg *args,
			    struct nn_error *err);

/* The shapes of a result; NN_GENERAL_FAILURE where they can be none. */
enum nn_status nna_get_shapes(const struct nnaccel_shape *from, uint32_t count,
			      struct nna_output_shape *shapes, struct nn_error *err);

/* From nanoseconds, NNACCEL_TIME_NONE included. */
uint64_t nna_microseconds(uint64_t ns);

#endif /* NN_HAL_EXECUTE_H */
