/* SPDX-License-Identifier: MIT */
/*
 * The steps of synchronous, fenced and submitted executions: begin (check and take references),
 * translate, submit, read back, end (release). Only the step "submit" differs between the three
 * kinds of executions.
 */
#ifndef NN_HAL_EXECUTE_H
#define NN_HAL_EXECUTE_H

#include "buffer.h"
#include "prepare.h"

#define SMALL_ARGS	8	/* inputs and outputs */
#define SMALL_OUTPUTS	4
#define SMALL_POOLS	8

/*
 * The state of an execution's call. The arrays args, shapes and pools are in `small` if the arrays
 * fit, and otherwise in one heap block.
 */
struct nna_call {
	const struct nna_prepared_model *prepared;
	const struct nna_request *request;
	struct nnaccel_execute execute;
	struct nnaccel_arg *args;
	struct nnaccel_shape *shapes;
	uint32_t *pools;
	void *block;
	/* attributes, as the first nna_call_translate() of the call encoded them */
	void *attributes;
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
 * Copies a caller's request to this library's version. The caller calls nna_take_request() before
 * nna_call_begin(). Returns NN_INVALID_ARGUMENT if the structure's size is not valid.
 */
enum nn_status nna_take_request(struct nna_request *ours, const struct nna_request *request,
				struct nn_error *err);

/* Memory that receives the results that the caller does not want. */
struct nna_spare {
	uint32_t num_shapes;
	struct nna_timing timing;
};

/*
 * Copies a caller's results to this library's version. Pointers of results that the caller does not
 * want point to `spare`, except `shapes`, which stays NULL. Sets the number of returned shapes to
 * 0.
 */
enum nn_status nna_take_results(struct nna_results *ours, const struct nna_results *results,
				struct nna_spare *spare, struct nn_error *err);
enum nn_status nna_take_options(struct nna_execute_options *ours,
				const struct nna_execute_options *options, struct nn_error *err);

/*
 * Initialises a call, checks the request's memories, and takes references to these memories. The
 * caller must not move struct nna_call after nna_call_begin(). After NN_OK, the caller must call
 * nna_call_end().
 */
enum nn_status nna_call_begin(struct nna_call *call, const struct nna_prepared_model *prepared,
			      const struct nna_request *request, struct nn_error *err);

/*
 * Fills in call->execute and takes references to the request's buffers. The caller calls
 * nna_call_translate() before each submission. Only the first nna_call_translate() encodes the
 * attributes.
 */
enum nn_status nna_call_translate(struct nna_call *call, const struct nna_execute_options *options,
				  struct nn_error *err);

/*
 * Returns the status of a call, and records the state of the buffers' contents. `error` is the
 * errno of the call's ioctl, or 0 if the engine answered. Sets *again if a buffer was too small and
 * has grown; the caller can then submit the same call once more. `was_past` says that the deadline
 * had passed before the submission.
 */
enum nn_status nna_call_read_back(struct nna_call *call, int error, bool was_past, bool *again,
				  struct nn_error *err);

/*
 * Writes the shapes and times of a call that ended with `status` to `to`, which nna_take_results()
 * has made.
 */
enum nn_status nna_call_results(const struct nna_call *call, enum nn_status status,
				const struct nna_results *to, struct nn_error *err);

void nna_call_end(struct nna_call *call);

/*
 * Translates the request's arguments to the kernel's structures: inputs, then outputs. Returns
 * NN_INVALID_ARGUMENT if an argument is not within the request's memories.
 */
enum nn_status nna_set_args(const struct nna_request *request, struct nnaccel_arg *args,
			    struct nn_error *err);

/* Converts the shapes of a result. Returns NN_GENERAL_FAILURE if a shape is not valid. */
enum nn_status nna_get_shapes(const struct nnaccel_shape *from, uint32_t count,
			      struct nna_output_shape *shapes, struct nn_error *err);

/* Converts nanoseconds to microseconds, and NNACCEL_TIME_NONE to NNA_TIME_NONE. */
uint64_t nna_microseconds(uint64_t ns);

#endif /* NN_HAL_EXECUTE_H */
