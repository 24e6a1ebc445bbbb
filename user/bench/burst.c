/* SPDX-License-Identifier: MIT */
/*
 * Measures bursts. Without options, the benchmark compares a burst's rings, a minimal ring and a
 * bare futex, all in memory that two processes share. With --vm or --icount, the benchmark compares
 * bursts through the kernel module with the synchronous ioctl, io_uring and a unix socket. With
 * --waits, the program compares ways of waiting: the time that each way adds to an execution, and
 * the CPU time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
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

#include "base/clock.h"
#include "base/option.h"
#include "bench/burst/ends.h"
#include "bench/burst/lean.h"
#include "bench/burst/module.h"
#include "bench/burst/waits.h"
#include "bench/figure.h"

#define ROUNDS		40	/* subject and peer take turns, because CPU speeds may change */
#define AWAKE_BATCHES	50	/* number of samples in a round */
#define AWAKE_BATCH	200	/* number of round trips in one sample */
#define ASLEEP_TRIPS	50	/* round trips in a round; each round trip is a sample */
#define WORK_TRIPS	8
#define WORK_NS		1500000
#define SPIN_NS		150000
#define MAX_SAMPLES	(ROUNDS * AWAKE_BATCHES)

/*
 * Binds this process to a CPU. If permitted, this process gets priority over all other processes on
 * the CPU.
 */
static void settle(int cpu)
{
	const struct sched_param param = { .sched_priority = 1 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	sched_setscheduler(0, SCHED_RR, &param);
}

/* ---- peers ---- */

struct peer_memory {
	struct lean_rings rings;
	_Alignas(64) uint32_t ping;
	_Alignas(64) uint32_t pong;
};

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

enum subject { AWAKE, LEAN, ASLEEP, FUTEX, WORK, FIRST, SUBJECTS };

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
			lean_serve_one(&peer->rings, 0);
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
	/* Stop each server while the server is not measured, because servers spin. */
	kill(b->server, SIGSTOP);
}

static void trip(struct bench *b, enum subject subject)
{
	if (subject == LEAN)
		lean_trip(&b->peer->rings);
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
		uint64_t start = clock_ns();

		for (int k = 0; k < trips; k++)
			trip(b, subject);
		b->samples[b->count++] = (double)(clock_ns() - start) / trips;
	}
	kill(b->server, SIGSTOP);
}

static void bench_stop(const struct bench *b)
{
	kill(b->server, SIGKILL);
	waitpid(b->server, NULL, 0);
}

static double bench_end(struct bench *b)
{
	bench_stop(b);
	return figure_quantile(b->samples, b->count, 0.5);
}

/*
 * Makes the CPU-latency request that the module makes while a burst exists; returns -1 if the
 * request is not permitted.
 */
static int hold_latency(void)
{
	const int32_t us = 20;
	int fd = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, &us, sizeof(us)) != sizeof(us)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void sample_after_idle(struct bench *b, struct idle_samples *to)
{
	kill(b->server, SIGCONT);
	for (int i = 0; i <= IDLE_TURN; i++) {
		uint64_t start;

		figure_idle(IDLE_NS);
		start = clock_ns();
		trip(b, FIRST);
		if (i)
			to->ns[to->count++] = (double)(clock_ns() - start);
	}
	kill(b->server, SIGSTOP);
}

/*
 * Measures the first execution after idle time, alternately with and without a CPU-latency request.
 */
static void after_idle(struct bench *b)
{
	static struct idle_samples with, without;

	for (int i = 0; i < IDLE_ROUNDS; i++) {
		int fd = hold_latency();

		if (fd < 0)
			return;
		sample_after_idle(b, &with);
		close(fd);
		sample_after_idle(b, &without);
	}
	figure("burst_first_after_idle", figure_quantile(with.ns, with.count, 0.5) / 1000, "us",
	       "no_request", figure_quantile(without.ns, without.count, 0.5) / 1000, "native");
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
		for (int i = 0; i < FIRST; i++)
			bench_round(&benches[i], (enum subject)i);
	figure_head();
	after_idle(&benches[FIRST]);
	bench_stop(&benches[FIRST]);
	for (int i = 0; i < FIRST; i++)
		medians[i] = bench_end(&benches[i]);
	figure("burst_awake", medians[AWAKE], "ns", "lean_ring", medians[LEAN], "native");
	figure("burst_asleep", medians[ASLEEP] / 1000, "us", "futex", medians[FUTEX] / 1000,
	       "native");
	figure("burst_added_1500us", (medians[WORK] - WORK_NS) / 1000, "us", NULL, 0, "native");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--vm"))
		return bench_by_time();
	if (argc == 2 && !strcmp(argv[1], "--icount"))
		return bench_by_instructions();
	if (argc == 2 && !strcmp(argv[1], "--waits"))
		return bench_waits();
	if (argc > 1)
		return option_usage("burst", " [--vm | --icount | --waits]\n"
			"Measures bursts, without an option by rings in memory that two processes share.\n"
			"  --vm      times of bursts, ioctl, io_uring and socket; needs a device\n"
			"  --icount  their instructions; needs a device in an emulated machine\n"
			"  --waits   the time and CPU time that each way to wait adds", argc, argv);
	return native();
}
