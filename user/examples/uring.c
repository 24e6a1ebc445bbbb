/* SPDX-License-Identifier: MIT */
/*
 * Executions by io_uring: submits a batch of executions in one system call, and handles each result
 * when it arrives. The example needs liburing.
 */
#include <liburing.h>
#include <stdio.h>
#include <string.h>

#include <nnaccel/uring.h>

#include "usage.h"

#define COUNT 4
#define BATCH 8
#define OP_ADD 0	/* ANEURALNETWORKS_ADD */

/*
 * Four operands: two inputs, the activation and the sum. The operand of the activation (NONE) is a
 * constant at byte 0 of `values`. `consumers` counts the operations that read an operand.
 */
static const struct nn_operand operands[] = {
	{ .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { COUNT },
	  .lifetime = NN_SUBGRAPH_INPUT, .consumers = 1 },
	{ .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { COUNT },
	  .lifetime = NN_SUBGRAPH_INPUT, .consumers = 1 },
	{ .type = NN_INT32, .lifetime = NN_CONSTANT_COPY, .consumers = 1,
	  .location = { .length = sizeof(int32_t) } },
	{ .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { COUNT },
	  .lifetime = NN_SUBGRAPH_OUTPUT },
};
static const int64_t values[] = { 0 };

/*
 * One operation: ADD of operands 0 and 1, with the activation in operand 2 and the result in
 * operand 3.
 */
static const uint32_t inputs[] = { 0, 1, 2 };
static const uint32_t outputs[] = { 3 };
static const struct nn_operation operations[] = {
	{ .type = OP_ADD, .num_inputs = 3, .inputs = inputs, .num_outputs = 1, .outputs = outputs },
};

/* The model's inputs are operands 0 and 1, its output is operand 3. */
static const struct nn_subgraph subgraph = {
	.num_operands = 4, .operands = operands,
	.num_operations = 1, .operations = operations,
	.num_inputs = 2, .inputs = inputs,
	.num_outputs = 1, .outputs = outputs,
};
static const struct nn_model model = {
	.size = sizeof(model),
	.num_subgraphs = 1, .subgraphs = &subgraph,
	.values = (const uint8_t *)values, .values_size = sizeof(values),
};

/*
 * Size of an argument in bytes. In the shared memory, each execution has two inputs and an output,
 * one after the other.
 */
static const size_t size = COUNT * sizeof(float);

static enum nn_status make(struct nna_prepared_model *prepared, struct nna_memory *memory, int i,
			   struct nna_submission **submission, struct nn_error *err)
{
	const struct nna_argument in[] = {
		{ .offset = (size_t)i * 3 * size, .length = size },
		{ .offset = ((size_t)i * 3 + 1) * size, .length = size },
	};
	const struct nna_argument out = { .offset = ((size_t)i * 3 + 2) * size, .length = size };
	const struct nna_request request = {
		.size = sizeof(request),
		.num_inputs = 2, .inputs = in,
		.num_outputs = 1, .outputs = &out,
		.num_memories = 1, .memories = &memory,
	};

	return nna_submission_create(prepared, &request, NULL, submission, err);
}

/* Waits for one completion and handles its result. */
static enum nn_status fail(struct nn_error *err, const char *what, int error)
{
	snprintf(err->message, sizeof(err->message), "%s: %s", what, strerror(-error));
	return NN_GENERAL_FAILURE;
}

static enum nn_status take(struct io_uring *ring, struct nna_submission *const *submissions,
			   const float *data, struct nn_error *err)
{
	struct nna_submission *done;
	struct io_uring_cqe *cqe;
	enum nn_status status;
	int i, error;

	error = io_uring_wait_cqe(ring, &cqe);
	if (error)
		return fail(err, "io_uring", error);
	done = io_uring_cqe_get_data(cqe);
	status = nna_submission_result(done, cqe->res, NULL, err);
	io_uring_cqe_seen(ring, cqe);
	for (i = 0; submissions[i] != done; i++)
		;
	if (!status)
		printf("execution %d: %g + %g = %g\n", i, data[i * 3 * COUNT],
		       data[(i * 3 + 1) * COUNT], data[(i * 3 + 2) * COUNT]);
	return status;
}

/*
 * Runs a batch. After an error, run() still waits for all completions, because other executions may
 * be running.
 */
static enum nn_status run(struct io_uring *ring, struct nna_submission *const *submissions,
			  const float *data, struct nn_error *err)
{
	enum nn_status status = NN_OK, taken;
	int submitted;

	for (int i = 0; !status && i < BATCH; i++)
		status = nna_submission_prepare(submissions[i], io_uring_get_sqe(ring), err);
	if (status)
		return status;
	submitted = io_uring_submit(ring);
	printf("%d executions submitted in one system call\n", submitted);
	for (int i = 0; i < submitted; i++) {
		taken = take(ring, submissions, data, err);
		status = status ? status : taken;
	}
	return submitted == BATCH ? status : NN_GENERAL_FAILURE;
}

static enum nn_status batch(struct nna_prepared_model *prepared, struct nna_memory *memory,
			    struct nn_error *err)
{
	struct nna_submission *submissions[BATCH] = { NULL };
	float *data = nna_memory_map(memory, err);
	enum nn_status status = data ? NN_OK : NN_GENERAL_FAILURE;
	struct io_uring ring;
	int error = io_uring_queue_init(BATCH, &ring, 0);

	if (error)
		return fail(err, "cannot make an io_uring", error);
	for (int i = 0; !status && i < BATCH; i++) {
		data[i * 3 * COUNT] = (float)i;
		data[(i * 3 + 1) * COUNT] = 10;
		status = make(prepared, memory, i, &submissions[i], err);
	}
	if (!status)
		status = run(&ring, submissions, data, err);
	for (int i = 0; i < BATCH; i++)
		nna_submission_free(submissions[i]);
	io_uring_queue_exit(&ring);
	return status;
}

int main(int argc, char **argv)
{
	struct nna_prepared_model *prepared = NULL;
	struct nna_memory *memory = NULL;
	struct nna_device *device = NULL;
	struct nn_error err = { "" };		/* the message of the first failure */
	enum nn_status status;

	check_usage(argc, argv, 0, "uring");
	status = nna_device_open(NULL, &device, &err);
	if (!status)
		status = nna_prepare_model(device, &model, NULL, NULL, &prepared, &err);
	if (!status)
		status = nna_memory_alloc(device, BATCH * 3 * size, &memory, &err);
	if (!status)
		status = batch(prepared, memory, &err);
	if (status)
		fprintf(stderr, "uring: %s: %s\n", nna_status_name(status), err.message);
	nna_memory_free(memory);
	nna_prepared_model_free(prepared);
	nna_device_close(device);
	return status ? 1 : 0;
}
