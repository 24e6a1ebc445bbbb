/* SPDX-License-Identifier: MIT */
/*
 * Compares the executions per second of io_uring, with 1 to 32 executions in flight, and of the
 * synchronous ioctl. The program needs /dev/nnaccel and a running nnacceld.
 */
#include <liburing.h>
#include <stdio.h>

#include <nnaccel/engine_model.h>
#include <nnaccel/uring.h>

#include "base/clock.h"
#include "base/option.h"
#include "bench/figure.h"

#define ELEMENTS	16
#define SIZE		(ELEMENTS * sizeof(float))
#define MOST		32	/* maximum number of executions in flight */
#define COUNT		320	/* number of executions of a subject in its turn */
#define TURNS		9	/* number of turns of each subject */

/* A subject is a number of io_uring executions in flight, or 0 for the synchronous ioctl. */
static const unsigned int depths[] = { 0, 1, 2, 4, 8, 16, MOST };

enum { IOCTL, SUBJECTS = sizeof(depths) / sizeof(depths[0]) };

static struct {
	struct nna_device *device;
	struct nna_prepared_model *prepared;
	struct nna_memory *memory;
	struct nna_argument in, out;
	struct nna_request request;
	struct nna_submission *submissions[MOST];
	struct io_uring ring;
	struct nn_error err;
} b;

static void check(enum nn_status status)
{
	if (!status)
		return;
	fprintf(stderr, "uring: %s: %s\n", nn_status_name(status), b.err.message);
	exit(1);
}

/* Builds a model that computes out = in + in, with as little work as possible. */
static const struct nn_model *small_model(void)
{
	static const _Alignas(8) int32_t none;
	static const uint32_t arguments[] = { 0, 0, 1 }, inputs[] = { 0 }, outputs[] = { 2 };
	static const struct nn_operand operands[] = {
		{ .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { ELEMENTS }, .consumers = 2,
		  .lifetime = NN_SUBGRAPH_INPUT },
		{ .type = NN_INT32, .consumers = 1, .lifetime = NN_CONSTANT_COPY,
		  .location = { .length = sizeof(none) } },
		{ .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { ELEMENTS },
		  .lifetime = NN_SUBGRAPH_OUTPUT },
	};
	static const struct nn_operation add = { .type = 0, .num_inputs = 3, .num_outputs = 1,
						 .inputs = arguments, .outputs = outputs };
	static const struct nn_subgraph main = { .num_operands = 3, .num_operations = 1,
						 .num_inputs = 1, .num_outputs = 1,
						 .operands = operands, .operations = &add,
						 .inputs = inputs, .outputs = outputs };
	static const struct nn_model model = { .size = sizeof(model),
					       .num_subgraphs = 1, .subgraphs = &main,
					       .values = (const uint8_t *)&none,
					       .values_size = sizeof(none) };

	return &model;
}

static void start(void)
{
	check(nna_device_open(NULL, &b.device, &b.err));
	check(nna_prepare_model(b.device, small_model(), NULL, NULL, &b.prepared, &b.err));
	check(nna_memory_alloc(b.device, (MOST + 1) * SIZE, &b.memory, &b.err));
	b.in = (struct nna_argument){ .length = SIZE };
	b.out = (struct nna_argument){ .offset = SIZE, .length = SIZE };
	b.request = (struct nna_request){ .size = sizeof(struct nna_request),
					  .num_inputs = 1, .inputs = &b.in, .num_outputs = 1,
					  .outputs = &b.out, .num_memories = 1,
					  .memories = &b.memory };
	for (size_t i = 0; i < MOST; i++) {
		b.out.offset = (i + 1) * SIZE;
		check(nna_submission_create(b.prepared, &b.request, NULL, &b.submissions[i],
					    &b.err));
	}
	if (io_uring_queue_init(MOST, &b.ring, 0)) {
		fprintf(stderr, "uring: cannot create an io_uring\n");
		exit(1);
	}
}

static void stop(void)
{
	io_uring_queue_exit(&b.ring);
	for (int i = 0; i < MOST; i++)
		nna_submission_free(b.submissions[i]);
	nna_memory_free(b.memory);
	nna_prepared_model_free(b.prepared);
	nna_device_close(b.device);
}

static void submit(struct nna_submission *submission)
{
	check(nna_submission_prepare(submission, io_uring_get_sqe(&b.ring), &b.err));
}

/* Runs COUNT executions by io_uring, with `depth` of them in flight. */
static void run_ring(unsigned int depth)
{
	unsigned int submitted = 0, done = 0;

	for (; submitted < depth; submitted++)
		submit(b.submissions[submitted]);
	while (done < COUNT) {
		struct nna_submission *submission;
		struct io_uring_cqe *cqe;

		if (io_uring_submit_and_wait(&b.ring, 1) < 0)
			exit(1);
		while (!io_uring_peek_cqe(&b.ring, &cqe)) {
			submission = io_uring_cqe_get_data(cqe);
			check(nna_submission_result(submission, cqe->res, NULL, &b.err));
			io_uring_cqe_seen(&b.ring, cqe);
			done++;
			if (submitted < COUNT) {
				submit(submission);
				submitted++;
			}
		}
	}
}

static void run_ioctl(void)
{
	for (int i = 0; i < COUNT; i++)
		check(nna_execute(b.prepared, &b.request, NULL, NULL, &b.err));
}

/* Returns the executions per second in one turn of a subject. */
static double turn(int subject)
{
	uint64_t start_ns = clock_ns();

	if (subject == IOCTL)
		run_ioctl();
	else
		run_ring(depths[subject]);
	return COUNT * 1e9 / (double)(clock_ns() - start_ns);
}

int main(int argc, char **argv)
{
	double samples[SUBJECTS][TURNS], medians[SUBJECTS];

	if (argc > 1)
		return option_usage("uring", "\n"
			"Measures executions per second by io_uring, beside the ioctl. Needs a device.", argc, argv);
	start();
	for (int i = 0; i < SUBJECTS; i++)
		turn(i);
	for (int t = 0; t < TURNS; t++)
		for (int i = 0; i < SUBJECTS; i++)
			samples[i][t] = turn(i);
	for (int i = 0; i < SUBJECTS; i++)
		medians[i] = figure_quantile(samples[i], TURNS, 0.5);
	for (int i = IOCTL + 1; i < SUBJECTS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "uring_qd%u", depths[i]);
		figure(name, medians[i], "1/s", "ioctl", medians[IOCTL], "vm");
	}
	stop();
	return 0;
}
