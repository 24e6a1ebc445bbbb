/* SPDX-License-Identifier: MIT */
/*
 * The steps of synchronous, fenced and submitted executions: begin (check and take references),
 * translate, submit, read back, end (release). Only submitting differs between them.
 */
#ifndef NN_HAL_EXECUTE_H
#define NN_HAL_EXECUTE_H

#include "buffer.h"
#include "prepare.h"

#define SMALL_ARGS	8	/* inputs and outputs */
#define SMALL_OUTPUTS	4
#define SMALL_POOLS	8

/* A call. The call's arrays are in `small`, or in one heap block. */
struct nna_call {
	const struct nna_prepared_model *prepared;
	const struct nna_request *request;
	struct nnaccel_execute execute;
	struct nnaccel_arg *args;
	struct nnaccel_shape *shapes;
	uint32_t *pools;
	void *block;
	void *attributes;		/* encoded for the engine by the first translation */
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
 * Copies a caller's request and options (NULL: the defaults) to this library's versions. Call it
 * first. Returns NN_INVALID_ARGUMENT if their size is not valid.
 */
enum nn_status nna_take_request(struct nna_request *ours, const struct nna_request *request,
				struct nn_error *err);

/* Room for results that the caller does not want. */
struct nna_spare {
	uint32_t num_shapes;
	struct nna_timing timing;
};

/* Copies `results`, with no pointer but `shapes` NULL, and begins with none. */
enum nn_status nna_take_results(struct nna_results *ours, const struct nna_results *results,
				struct nna_spare *spare, struct nn_error *err);
enum nn_status nna_take_options(struct nna_execute_options *ours,
				const struct nna_execute_options *options, struct nn_error *err);

/*
 * Checks and holds the request's memories and initialises a call, which must not be moved from then
 * on. After NN_OK nna_call_end() must follow.
 */
enum nn_status nna_call_begin(struct nna_call *call, const struct nna_prepared_model *prepared,
			      const struct nna_request *request, struct nn_error *err);

/*
 * Fills in call->execute and holds the request's buffers. It is called before each submission of
 * the call; the attributes of the first time are used again.
 */
enum nn_status nna_call_translate(struct nna_call *call, const struct nna_execute_options *options,
				  struct nn_error *err);

/*
 * Returns the status of a call whose ioctl returned `error` (an errno, 0: the engine answered), and
 * records the buffers' contents. Sets *again if a buffer has grown; the call can then be submitted
 * again unchanged. `was_past` says that the deadline had passed before the submission.
 */
enum nn_status nna_call_read_back(struct nna_call *call, int error, bool was_past, bool *again,
				  struct nn_error *err);

/*
 * Writes shapes and times of a call with the given status to the results that nna_take_results()
 * prepared.
 */
enum nn_status nna_call_results(const struct nna_call *call, enum nn_status status,
				const struct nna_results *to, struct nn_error *err);

void nna_call_end(struct nna_call *call);

/*
 * Translates the request's arguments to the kernel's: inputs, then outputs. Returns
 * NN_INVALID_ARGUMENT if an argument is not within the request's memories.
 */
enum nn_status nna_set_args(const struct nna_request *request, struct nnaccel_arg *args,
			    struct nn_error *err);

/* Converts the shapes of a result. Returns NN_GENERAL_FAILURE if they are not valid. */
enum nn_status nna_get_shapes(const struct nnaccel_shape *from, uint32_t count,
			      struct nna_output_shape *shapes, struct nn_error *err);

/* Converts nanoseconds, including NNACCEL_TIME_NONE. */
uint64_t nna_microseconds(uint64_t ns);

#endif /* NN_HAL_EXECUTE_H */
