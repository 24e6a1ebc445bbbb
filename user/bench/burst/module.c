/* SPDX-License-Identifier: MIT */
/*
 * Compares bursts through the module and the engine with the synchronous ioctl, io_uring, and a
 * server behind a unix socket.
 */
#include "base/clock.h"
#include "bench/burst/module.h"

#include <stdio.h>

#include <nnaccel/nnaccel.h>

#include "bench/burst/ends.h"
#include "bench/burst/socket.h"
#include "bench/burst/uring.h"
#include "bench/figure.h"

#define TRIPS	2000	/* number of round trips of each subject */
#define TURN	50	/* number of round trips of one subject before the next subject's turn */

enum subject { BURST, IOCTL, SOCKET, SOCKET_FD, URING, SUBJECTS };

struct module_bench {
	struct nna_device *device;
	struct nna_prepared_model *prepared;
	struct nna_memory *memory;
	struct nna_argument in, out;
	struct nna_request request;
	struct nna_burst *burst;
	struct socket_peer socket;
	struct uring_peer uring;
	double *samples[SUBJECTS];
	double medians[SUBJECTS];
};

/*
 * Builds a model that only reshapes its input, because RESHAPE is the cheapest operation to
 * execute.
 */
static const struct nn_model *small_model(void)
{
	static const _Alignas(8) uint32_t to = ELEMENTS;
	static const uint32_t inputs[] = { 0, 1 }, outputs[] = { 2 }, arguments[] = { 0 };
	static const struct nn_operand operands[] = {
		{ .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { ELEMENTS },
		  .consumers = 1, .lifetime = NN_SUBGRAPH_INPUT },
		{ .type = NN_TENSOR_INT32, .rank = 1, .dims = { 1 }, .consumers = 1,
		  .lifetime = NN_CONSTANT_COPY, .location = { .length = 4 } },
		{ .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { ELEMENTS },
		  .lifetime = NN_SUBGRAPH_OUTPUT },
	};
	static const struct nn_operation reshape = { .type = 22, .num_inputs = 2, .num_outputs = 1,
					      .inputs = inputs, .outputs = outputs };
	static const struct nn_subgraph main = { .num_operands = 3, .num_operations = 1,
					  .num_inputs = 1, .num_outputs = 1,
					  .operands = operands, .operations = &reshape,
					  .inputs = arguments, .outputs = outputs };
	static const struct nn_model model = { .size = sizeof(model),
					       .num_subgraphs = 1, .subgraphs = &main,
					.values = (const uint8_t *)&to,
					.values_size = sizeof(to) };

	return &model;
}

/*
 * The socket's server starts before the device is opened, because a child process cannot use its
 * parent's context.
 */
static void start(struct module_bench *b)
{
	struct nn_error err = { "" };

	for (int i = 0; i < SUBJECTS; i++)
		b->samples[i] = calloc(TRIPS, sizeof(*b->samples[i]));
	socket_peer_start(&b->socket, small_model());
	check(nna_device_open(NULL, &b->device, &err), &err);
	check(nna_prepare_model(b->device, small_model(), NULL, NULL, &b->prepared, &err), &err);
	check(nna_memory_alloc(b->device, POOL_BYTES, &b->memory, &err), &err);
	b->in = (struct nna_argument){ .length = 4 * ELEMENTS };
	b->out = (struct nna_argument){ .offset = 1024, .length = 4 * ELEMENTS };
	b->request = (struct nna_request){ .size = sizeof(struct nna_request),
					   .num_inputs = 1, .num_outputs = 1, .num_memories = 1,
					   .inputs = &b->in, .outputs = &b->out,
					   .memories = &b->memory };
	check(nna_burst_create(b->prepared, NULL, &b->burst, &err), &err);
	uring_peer_start(&b->uring, b->prepared, &b->request);
}

static void stop(struct module_bench *b)
{
	uring_peer_stop(&b->uring);
	nna_burst_free(b->burst);
	nna_memory_free(b->memory);
	nna_prepared_model_free(b->prepared);
	nna_device_close(b->device);
	socket_peer_stop(&b->socket);
	for (int i = 0; i < SUBJECTS; i++)
		free(b->samples[i]);
}

static void trip(struct module_bench *b, enum subject subject)
{
	const struct nna_request *r = &b->request;
	struct nna_output_shape shape;
	struct nn_error err = { "" };

	if (subject == BURST)
		check(nna_burst_execute(b->burst, r, NULL, NNA_SIZED(nna_results, .shapes = &shape),
					&err), &err);
	else if (subject == IOCTL)
		check(nna_execute(b->prepared, r, NULL, NNA_SIZED(nna_results, .shapes = &shape),
				  &err), &err);
	else if (subject == URING)
		uring_peer_execute(&b->uring);
	else
		socket_peer_execute(&b->socket, subject == SOCKET_FD);
}

/* Measures all subjects alternately in the same run; the printed figures are medians. */
static void measure(struct module_bench *b)
{
	uint64_t start_ns;

	for (int i = 0; i < SUBJECTS * TRIPS; i++) {
		enum subject subject = (enum subject)(i / TURN % SUBJECTS);
		int sample = i / (TURN * SUBJECTS) * TURN + i % TURN;

		start_ns = clock_ns();
		trip(b, subject);
		b->samples[subject][sample] = (double)(clock_ns() - start_ns);
	}
	for (int i = 0; i < SUBJECTS; i++)
		b->medians[i] = figure_quantile(b->samples[i], TRIPS, 0.5);
}

/*
 * Prints a figure of bursts together with the same figure of each peer: ioctl, io_uring and socket.
 */
static void print(const struct module_bench *b, const char *name, double value, const char *unit,
		  const char *where)
{
	static const char * const peers[SUBJECTS] = {
		[IOCTL] = "ioctl", [SOCKET] = "socket", [SOCKET_FD] = "socket_fd",
		[URING] = "uring_qd1",
	};
	char named[64];

	for (int i = IOCTL; i < SUBJECTS; i++) {
		snprintf(named, sizeof(named), i == IOCTL ? "%s" : "%s_%s", name, peers[i]);
		figure(named, value, unit, peers[i], b->medians[i], where);
	}
}

/*
 * Sets how many bursts of a user may have a CPU-latency request. Returns the previous number of
 * bursts, or -1 on failure.
 */
static long set_requests(long count)
{
	FILE *file = fopen("/sys/module/nnaccel/parameters/max_latency_requests", "r+e");
	long old = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &old) != 1)
		old = -1;
	rewind(file);
	fprintf(file, "%ld\n", count);
	return fclose(file) ? -1 : old;
}

/* Adds samples of the first execution of a burst after idle time. */
static void sample_after_idle(struct module_bench *b, struct idle_samples *to)
{
	struct nn_error err = { "" };

	check(nna_burst_create(b->prepared, NULL, &b->burst, &err), &err);
	for (int i = 0; i <= IDLE_TURN; i++) {
		uint64_t start_ns;

		figure_idle(IDLE_NS);
		start_ns = clock_ns();
		trip(b, BURST);
		if (i)
			to->ns[to->count++] = (double)(clock_ns() - start_ns);
	}
	nna_burst_free(b->burst);
	b->burst = NULL;
}

/*
 * Measures the first execution after idle time, alternately with and without the module's
 * CPU-latency request.
 */
static void measure_after_idle(struct module_bench *b)
{
	static struct idle_samples with, without;
	long requests = set_requests(1);

	if (requests < 0)
		return;
	nna_burst_free(b->burst);
	for (int i = 0; i < IDLE_ROUNDS; i++) {
		set_requests(1);
		sample_after_idle(b, &with);
		set_requests(0);
		sample_after_idle(b, &without);
	}
	set_requests(requests);
	figure("burst_first_after_idle", figure_quantile(with.ns, with.count, 0.5) / 1000, "us",
	       "no_request", figure_quantile(without.ns, without.count, 0.5) / 1000, "vm");
}

int bench_by_time(void)
{
	struct module_bench b;

	start(&b);
	measure(&b);
	print(&b, "burst_vm", b.medians[BURST], "ns", "vm");
	measure_after_idle(&b);
	stop(&b);
	return 0;
}

/*
 * Returns the number of instructions that an execution takes in client and worker while neither
 * sleeps. The single CPU's clock counts instructions, so one thread does the client's and the
 * worker's work in turn.
 */
static double awake_instructions(void)
{
	static struct burst_end client, worker;
	const struct burst_memory m = burst_memory_create();
	const struct place places[SLOTS] = { { 0, POOL_BYTES }, { 1, POOL_BYTES } };
	double *samples = calloc(TRIPS, sizeof(*samples));
	struct nn_error err = { "" };
	struct nn_plan *plan;
	uint64_t start;

	check(nn_plan_create(small_model(), &(struct nn_plan_options){ .preference = 1 }, &plan,
			     &err), &err);
	burst_end_init(&client, &m, true, 0);
	burst_end_init(&worker, &m, false, 0);
	for (int i = 0; i < TRIPS; i++) {
		start = clock_ns();
		burst_send(&client);
		burst_serve_one(&worker, places, plan, 0);
		burst_receive(&client);
		samples[i] = (double)(clock_ns() - start);
	}
	nn_plan_free(plan);
	return figure_quantile(samples, TRIPS, 0.5);
}

int bench_by_instructions(void)
{
	struct module_bench b;

	start(&b);
	measure(&b);
	print(&b, "burst_insn_asleep", b.medians[BURST], "instructions", "icount");
	print(&b, "burst_insn", awake_instructions(), "instructions", "icount");
	figure("exec_insn", b.medians[IOCTL], "instructions", "socket", b.medians[SOCKET], "icount");
	stop(&b);
	return 0;
}
