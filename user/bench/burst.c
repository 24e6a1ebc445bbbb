/* SPDX-License-Identifier: MIT */
/*
 * What a burst costs: natively over rings in memory that two processes share,
 * against a lean ring and a bare futex; with --vm or --icount through the
 * module, against the synchronous ioctl.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nnaccel/nnaccel.h>

#include "figure.h"
#include "plan/plan.h"
#include "ring/packet.h"
#include "ring/ring.h"

#define CAPACITY	1024
#define ROUNDS		40	/* subject and peer in turn: where the CPUs sit may change */
#define AWAKE_BATCHES	50	/* a round */
#define AWAKE_BATCH	200	/* round trips a sample */
#define ASLEEP_TRIPS	50	/* a round, each a sample */
#define WORK_TRIPS	8
#define WORK_NS		1500000
#define SPIN_NS		150000
#define SLOTS		16
#define ELEMENTS	16	/* of the small model's tensors */

/* The request: two inputs and an output of known shape in two memories. */
#define INPUTS		2
#define OUTPUTS		1
#define POOLS		2
#define POOL_BYTES	4096

#define MAX_SAMPLES	(ROUNDS * AWAKE_BATCHES)

static void die(const char *what)
{
	fprintf(stderr, "burst: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *shared(size_t size)
{
	int fd = memfd_create("bench-burst", MFD_CLOEXEC);
	void *base;

	if (fd < 0 || ftruncate(fd, (off_t)size))
		die("memfd");
	base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (base == MAP_FAILED)
		die("mmap");
	close(fd);
	return base;
}

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/* One CPU each, and before everybody else where we may. */
static void settle(int cpu)
{
	const struct sched_param param = { .sched_priority = 1 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	sched_setscheduler(0, SCHED_RR, &param);
}

/* ---- the subject: a burst's two ends, with all checks and the lookup of slots ---- */

struct burst_end {
	struct nn_ring ring;
	struct nnaccel_datum datums[CAPACITY];
	struct nnaccel_arg args[INPUTS + OUTPUTS];
	struct nnaccel_shape shapes[OUTPUTS];
	uint32_t slots[POOLS];
};

struct burst_memory {
	struct nnaccel_burst_status *status;
	struct nnaccel_ring_control *requests, *results;
	uint32_t *doorbell;
};

static struct burst_memory burst_memory_create(void)
{
	struct burst_memory m = {
		.status = shared(4096),
		.requests = shared(nn_ring_bytes(CAPACITY)),
		.results = shared(nn_ring_bytes(CAPACITY)),
		.doorbell = shared(4096),
	};

	*m.status = (struct nnaccel_burst_status){ NNACCEL_BURST_ALIVE, nn_ring_lines(CAPACITY),
						   CAPACITY, (uint32_t)nn_ring_bytes(CAPACITY) };
	return m;
}

static void burst_end_init(struct burst_end *end, const struct burst_memory *m, bool is_client,
			   uint64_t spin_ns)
{
	const struct nn_ring_map map = {
		.status = m->status,
		.mine = is_client ? m->requests : m->results,
		.peer = is_client ? m->results : m->requests,
		.doorbell = is_client ? m->doorbell : NULL,
		.lines = m->status->lines,
		.capacity = CAPACITY,
	};

	if (nn_ring_init(&end->ring, &map, spin_ns))
		die("rings");
}

/* What the worker knows of a slot. */
struct place {
	uint32_t slot;
	uint64_t length;
};

static bool args_are_inside(const struct nn_request *r, const struct place *places)
{
	for (uint32_t i = 0; i < r->num_slots; i++)
		if (places[NNACCEL_SLOT_INDEX(r->slots[i]) % SLOTS].slot != r->slots[i])
			return false;
	for (uint32_t i = 0; i < r->num_inputs + r->num_outputs; i++) {
		const struct nnaccel_arg *a = &r->args[i];
		uint64_t length = places[NNACCEL_SLOT_INDEX(r->slots[a->pool]) % SLOTS].length;

		if (a->offset > length || a->length > length - a->offset)
			return false;
	}
	return true;
}

/* Runs the plan where there is one, or takes its time. */
static void execute(struct burst_end *end, const struct nn_plan *plan, uint64_t work_ns)
{
	static float data[2][ELEMENTS];
	struct nn_arg in = { .data = data[0], .length = sizeof(data[0]) };
	struct nn_arg out = { .data = data[1], .length = sizeof(data[1]) };
	struct nn_output_shape shape;
	struct nn_execution e = { .num_inputs = 1, .num_outputs = 1, .inputs = &in,
				  .outputs = &out, .shapes = &shape };
	uint64_t start = work_ns ? figure_ns() : 0;

	while (work_ns && figure_ns() - start < work_ns)
		;
	if (plan && nn_plan_execute(plan, &e, NULL))
		die("plan");
	end->shapes[0] = (struct nnaccel_shape){ NNACCEL_SHAPE_SUFFICIENT, 2, { 1, 16 } };
}

static void burst_serve_one(struct burst_end *end, const struct place *places,
			    const struct nn_plan *plan, uint64_t work_ns)
{
	struct nn_request request = { .args = end->args, .slots = end->slots,
				      .max_args = INPUTS + OUTPUTS, .max_slots = POOLS };
	struct nn_result result = {
		.num_outputs = OUTPUTS,
		.device_ns = NNACCEL_TIME_NONE,
		.driver_ns = NNACCEL_TIME_NONE,
		.shapes = end->shapes,
	};
	uint32_t count;

	if (nn_ring_receive(&end->ring, end->datums, &count, NN_RING_FOREVER) ||
	    nn_request_parse(end->datums, count, &request) || !args_are_inside(&request, places))
		die("request");
	execute(end, plan, work_ns);
	count = nn_result_encode(&result, end->datums, CAPACITY);
	if (nn_ring_try_send(&end->ring, end->datums, count))
		die("result");
}

static void burst_send(struct burst_end *end)
{
	struct nn_request request = { .num_inputs = INPUTS, .num_outputs = OUTPUTS,
				      .num_slots = POOLS, .args = end->args,
				      .slots = end->slots };
	uint32_t count;

	for (uint32_t i = 0; i < INPUTS + OUTPUTS; i++) {
		end->args[i] = (struct nnaccel_arg){ .pool = i == INPUTS, .offset = 64 * i,
						     .length = 64 };
		end->slots[i == INPUTS] = i == INPUTS;
	}
	count = nn_request_encode(&request, end->datums, CAPACITY);
	if (nn_ring_try_send(&end->ring, end->datums, count))
		die("request");
}

static void burst_receive(struct burst_end *end)
{
	struct nn_result result = { .shapes = end->shapes, .max_outputs = OUTPUTS };
	uint32_t count;

	if (nn_ring_receive(&end->ring, end->datums, &count, NN_RING_FOREVER) ||
	    nn_result_parse(end->datums, count, &result) || result.status)
		die("result");
}

static void burst_trip(struct burst_end *end)
{
	burst_send(end);
	burst_receive(end);
}

/* ---- peers ---- */

/* A ring with a head and a tail; a packet is as many words as a burst's with these arguments. */
#define LEAN_DATUMS	256
#define REQUEST_DATUMS	7
#define RESULT_DATUMS	5

struct lean_ring {
	_Alignas(64) uint32_t head;
	_Alignas(64) uint32_t tail;
	_Alignas(64) struct nnaccel_datum datums[LEAN_DATUMS];
};

static void lean_send(struct lean_ring *ring, const struct nnaccel_datum *datums, uint32_t count)
{
	uint32_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);

	while (LEAN_DATUMS - (head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE)) < count)
		relax();
	for (uint32_t i = 0; i < count; i++)
		ring->datums[(head + i) % LEAN_DATUMS] = datums[i];
	__atomic_store_n(&ring->head, head + count, __ATOMIC_RELEASE);
}

static void lean_receive(struct lean_ring *ring, struct nnaccel_datum *datums, uint32_t count)
{
	uint32_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);

	while (__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) - tail < count)
		;
	for (uint32_t i = 0; i < count; i++)
		datums[i] = ring->datums[(tail + i) % LEAN_DATUMS];
	__atomic_store_n(&ring->tail, tail + count, __ATOMIC_RELEASE);
}

struct peer_memory {
	struct lean_ring requests, results;
	_Alignas(64) uint32_t ping;
	_Alignas(64) uint32_t pong;
};

static void lean_trip(struct peer_memory *m)
{
	struct nnaccel_datum datums[REQUEST_DATUMS] = { { .kind = 1 } };

	lean_send(&m->requests, datums, REQUEST_DATUMS);
	lean_receive(&m->results, datums, RESULT_DATUMS);
}

static void lean_serve_one(struct peer_memory *m)
{
	struct nnaccel_datum datums[REQUEST_DATUMS];

	lean_receive(&m->requests, datums, REQUEST_DATUMS);
	lean_send(&m->results, datums, RESULT_DATUMS);
}

static void futex_post(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void futex_await(uint32_t *word, uint32_t before)
{
	while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == before)
		syscall(SYS_futex, word, FUTEX_WAIT, before, NULL, NULL, 0);
}

static void futex_trip(struct peer_memory *m)
{
	uint32_t before = m->pong;

	futex_post(&m->ping, m->ping + 1);
	futex_await(&m->pong, before);
}

static void futex_serve_one(struct peer_memory *m, uint32_t *seen)
{
	futex_await(&m->ping, *seen);
	futex_post(&m->pong, ++*seen);
}

/* ---- native: a server per subject, so that each waits for its own thing only ---- */

enum subject { AWAKE, LEAN, ASLEEP, FUTEX, WORK, SUBJECTS };

static void serve(enum subject subject, const struct burst_memory *m, struct peer_memory *peer)
{
	static struct burst_end end;
	const struct place places[SLOTS] = { { 0, POOL_BYTES }, { 1, POOL_BYTES } };
	uint32_t seen = 0;

	settle(1);
	if (m->status)
		burst_end_init(&end, m, false, subject == ASLEEP ? 0 : SPIN_NS);
	for (;;) {
		if (subject == LEAN)
			lean_serve_one(peer);
		else if (subject == FUTEX)
			futex_serve_one(peer, &seen);
		else
			burst_serve_one(&end, places, NULL, subject == WORK ? WORK_NS : 0);
	}
}

struct bench {
	pid_t server;
	struct burst_memory memory;
	struct peer_memory *peer;
	struct burst_end *end;
	double *samples;
	size_t count;
};

static void bench_start(struct bench *b, enum subject subject)
{
	b->memory = (struct burst_memory){ .status = NULL };
	b->peer = shared(sizeof(*b->peer));
	b->samples = calloc(MAX_SAMPLES, sizeof(*b->samples));
	b->count = 0;
	if (subject != LEAN && subject != FUTEX) {
		b->memory = burst_memory_create();
		b->end = calloc(1, sizeof(*b->end));
		burst_end_init(b->end, &b->memory, true, subject == ASLEEP ? 0 : SPIN_NS);
	}
	b->server = fork();
	if (b->server < 0)
		die("fork");
	if (b->server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(subject, &b->memory, b->peer);
	}
	/* Of servers that spin, only the one that is measured may run. */
	kill(b->server, SIGSTOP);
}

static void trip(struct bench *b, enum subject subject)
{
	if (subject == LEAN)
		lean_trip(b->peer);
	else if (subject == FUTEX)
		futex_trip(b->peer);
	else
		burst_trip(b->end);
}

static void bench_round(struct bench *b, enum subject subject)
{
	bool awake = subject == AWAKE || subject == LEAN;
	int samples = awake ? AWAKE_BATCHES : subject == WORK ? WORK_TRIPS : ASLEEP_TRIPS;
	int trips = awake ? AWAKE_BATCH : 1;

	kill(b->server, SIGCONT);
	for (int i = 0; i < AWAKE_BATCH / 10; i++)
		trip(b, subject);
	for (int i = 0; i < samples; i++) {
		uint64_t start = figure_ns();

		for (int k = 0; k < trips; k++)
			trip(b, subject);
		b->samples[b->count++] = (double)(figure_ns() - start) / trips;
	}
	kill(b->server, SIGSTOP);
}

static double bench_end(struct bench *b)
{
	kill(b->server, SIGKILL);
	waitpid(b->server, NULL, 0);
	return figure_quantile(b->samples, b->count, 0.5);
}

static int native(void)
{
	struct bench benches[SUBJECTS];
	double medians[SUBJECTS];

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		fprintf(stderr, "burst: needs two CPUs\n");
		return 1;
	}
	for (int i = 0; i < SUBJECTS; i++)
		bench_start(&benches[i], (enum subject)i);
	settle(0);
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < SUBJECTS; i++)
			bench_round(&benches[i], (enum subject)i);
	for (int i = 0; i < SUBJECTS; i++)
		medians[i] = bench_end(&benches[i]);
	figure_head();
	figure("burst_awake", medians[AWAKE], "ns", "lean_ring", medians[LEAN], "native");
	figure("burst_asleep", medians[ASLEEP] / 1000, "us", "futex", medians[FUTEX] / 1000,
	       "native");
	figure("burst_added_1500us", (medians[WORK] - WORK_NS) / 1000, "us", NULL, 0, "native");
	return 0;
}

/* ---- through the module ---- */

#define VM_TRIPS 2000

static void check(enum nn_status status, const struct nn_error *err)
{
	if (!status)
		return;
	fprintf(stderr, "burst: %s: %s\n", nn_status_name(status), err->message);
	exit(1);
}

/* out = in, reshaped: as little as a model can do. */
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
	static const struct nn_model model = { .num_subgraphs = 1, .subgraphs = &main,
					.values = (const uint8_t *)&to,
					.values_size = sizeof(to) };

	return &model;
}

static int through_module(const char *name, const char *where, double *ioctl)
{
	const struct nna_argument in = { .length = 4 * ELEMENTS };
	const struct nna_argument out = { .offset = 1024, .length = 4 * ELEMENTS };
	double *burst_ns = calloc(VM_TRIPS, sizeof(*burst_ns));
	double *ioctl_ns = calloc(VM_TRIPS, sizeof(*ioctl_ns));
	struct nna_prepared_model *prepared;
	struct nna_output_shape shape;
	struct nn_error err = { "" };
	struct nna_device *device;
	struct nna_memory *memory;
	struct nna_burst *burst;
	uint64_t start;

	check(nna_device_open(NULL, &device, &err), &err);
	check(nna_prepare_model(device, small_model(), NULL, NULL, &prepared, &err), &err);
	check(nna_memory_alloc(device, POOL_BYTES, &memory, &err), &err);
	check(nna_burst_create(prepared, NULL, &burst, &err), &err);
	for (int i = 0; i < 2 * VM_TRIPS; i++) {
		const struct nna_request r = { 1, 1, 1, &in, &out, &memory };
		double *sample = i / 50 % 2 ? &ioctl_ns[i / 100 * 50 + i % 50] :
					      &burst_ns[i / 100 * 50 + i % 50];

		start = figure_ns();
		if (i / 50 % 2)
			check(nna_execute(prepared, &r, NULL, &shape, NULL, NULL, &err), &err);
		else
			check(nna_burst_execute(burst, &r, NULL, &shape, NULL, NULL, &err), &err);
		*sample = (double)(figure_ns() - start);
	}
	*ioctl = figure_quantile(ioctl_ns, VM_TRIPS, 0.5);
	figure(name, figure_quantile(burst_ns, VM_TRIPS, 0.5), "ns", "ioctl", *ioctl, where);
	nna_burst_free(burst);
	nna_memory_free(memory);
	nna_prepared_model_free(prepared);
	nna_device_close(device);
	free(burst_ns);
	free(ioctl_ns);
	return 0;
}

/*
 * What an execution takes of both ends while they are awake. The one CPU whose
 * time counts instructions cannot be awake twice, so one thread is both ends in
 * turn: everything but the waiting is done.
 */
static double awake_instructions(void)
{
	static struct burst_end client, worker;
	const struct burst_memory m = burst_memory_create();
	const struct place places[SLOTS] = { { 0, POOL_BYTES }, { 1, POOL_BYTES } };
	double *samples = calloc(VM_TRIPS, sizeof(*samples));
	struct nn_error err = { "" };
	struct nn_plan *plan;
	uint64_t start;

	check(nn_plan_create(small_model(), &(struct nn_plan_options){ .preference = 1 }, &plan,
			     &err), &err);
	burst_end_init(&client, &m, true, 0);
	burst_end_init(&worker, &m, false, 0);
	for (int i = 0; i < VM_TRIPS; i++) {
		start = figure_ns();
		burst_send(&client);
		burst_serve_one(&worker, places, plan, 0);
		burst_receive(&client);
		samples[i] = (double)(figure_ns() - start);
	}
	nn_plan_free(plan);
	return figure_quantile(samples, VM_TRIPS, 0.5);
}

static int instructions(void)
{
	double ioctl;

	if (through_module("burst_insn_asleep", "icount", &ioctl))
		return 1;
	figure("burst_insn", awake_instructions(), "instructions", "ioctl", ioctl, "icount");
	return 0;
}

int main(int argc, char **argv)
{
	double ioctl;

	if (argc == 2 && !strcmp(argv[1], "--vm"))
		return through_module("burst_vm", "vm", &ioctl);
	if (argc == 2 && !strcmp(argv[1], "--icount"))
		return instructions();
	if (argc > 1) {
		fprintf(stderr, "usage: burst [--vm | --icount]\n");
		return 2;
	}
	return native();
}
