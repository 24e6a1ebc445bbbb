/* SPDX-License-Identifier: MIT */
/*
 * Compares ways of waiting in a burst: adaptive ("learned"), always spinning, never spinning, and
 * the minimal ring as the lower bound. Client and worker of a burst have a CPU each, which they use
 * alone or share with a process that always computes.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/burst/ends.h"
#include "bench/burst/lean.h"
#include "bench/burst/waits.h"
#include "bench/figure.h"

#define ROUNDS		10	/* number of rounds; each round measures all ways of waiting */
#define MAX_TRIPS	1000	/* maximum number of round trips for each way of waiting */
#define WARM_TRIPS	10	/* executions of each round before the measured executions */
#define ROUND_NS	150000000

static const uint64_t works_ns[] = { 200000, 1500000, 20000000 };

enum { LEARNED, ALWAYS, NEVER, FLOOR, WAYS };

static const struct way {
	const char *name;
	uint64_t spin_ns;
} ways[WAYS] = {
	[LEARNED] = { "learned", 200000 },
	[ALWAYS] = { "always spins", 3600 * NS_PER_S },
	[NEVER] = { "never spins", 0 },
	[FLOOR] = { "lean ring", 0 },
};

struct side {
	pid_t server;
	struct burst_memory memory;
	struct lean_rings *rings;
	struct burst_end *end;
	double added_ns[MAX_TRIPS];
	size_t count;
	uint64_t cpu_ns;		/* CPU time of client and worker */
};

static void settle(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Forks a process that runs on the CPU `cpu`; returns 0 in the new process. */
static pid_t start(int cpu)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		settle(cpu);
	}
	return pid;
}

static void serve(const struct side *s, int way, uint64_t work_ns)
{
	const struct place places[SLOTS] = { { 0, POOL_BYTES }, { 1, POOL_BYTES } };
	static struct burst_end end;

	burst_end_init(&end, &s->memory, false, ways[way].spin_ns);
	for (;;) {
		if (way == FLOOR)
			lean_serve_one(s->rings, work_ns);
		else
			burst_serve_one(&end, places, NULL, work_ns);
	}
}

static void side_start(struct side *s, int way, uint64_t work_ns)
{
	memset(s, 0, sizeof(*s));
	s->rings = shared(sizeof(*s->rings));
	s->memory = burst_memory_create();
	s->end = calloc(1, sizeof(*s->end));
	if (!s->end)
		die("memory");
	burst_end_init(s->end, &s->memory, true, ways[way].spin_ns);
	s->server = start(1);
	if (!s->server)
		serve(s, way, work_ns);
	/* Stop each server while the server is not measured, because servers spin. */
	kill(s->server, SIGSTOP);
}

static void side_stop(struct side *s)
{
	kill(s->server, SIGKILL);
	waitpid(s->server, NULL, 0);
	free(s->end);
}

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		die("cannot read the clock of a process");
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void trip(struct side *s, int way)
{
	if (way == FLOOR)
		lean_trip(s->rings);
	else
		burst_trip(s->end);
}

static void side_round(struct side *s, int way, uint64_t work_ns, size_t trips)
{
	uint64_t start, before;
	clockid_t server;

	if (clock_getcpuclockid(s->server, &server))
		die("cannot find the clock of the server");
	kill(s->server, SIGCONT);
	for (int i = 0; i < WARM_TRIPS; i++)
		trip(s, way);
	before = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) + cpu_ns(server);
	for (size_t i = 0; i < trips; i++) {
		start = clock_ns();
		trip(s, way);
		s->added_ns[s->count++] = (double)(clock_ns() - start) - (double)work_ns;
	}
	s->cpu_ns += cpu_ns(CLOCK_PROCESS_CPUTIME_ID) + cpu_ns(server) - before;
	kill(s->server, SIGSTOP);
}

static void compare(uint64_t work_ns, bool loaded)
{
	static struct side sides[WAYS];
	pid_t loads[2] = { 0, 0 };
	size_t trips = ROUND_NS / work_ns;

	if (trips > MAX_TRIPS / ROUNDS)
		trips = MAX_TRIPS / ROUNDS;
	for (int way = 0; way < WAYS; way++)
		side_start(&sides[way], way, work_ns);
	for (int cpu = 0; loaded && cpu < 2; cpu++) {
		loads[cpu] = start(cpu);
		while (!loads[cpu])
			;
	}
	for (int round = 0; round < ROUNDS; round++)
		for (int way = 0; way < WAYS; way++)
			side_round(&sides[way], way, work_ns, trips);
	for (int cpu = 0; loaded && cpu < 2; cpu++) {
		kill(loads[cpu], SIGKILL);
		waitpid(loads[cpu], NULL, 0);
	}
	for (int way = 0; way < WAYS; way++) {
		struct side *s = &sides[way];
		/*
		 * Simulated work ends at a fixed clock time, so on a shared CPU the work uses less
		 * CPU time than work_ns.
		 */
		double cpu = (double)s->cpu_ns / (double)s->count / (double)work_ns;

		side_stop(s);
		printf("%.1f\t%s\t%s\t%.1f\t%.1f\t%.2f\n", (double)work_ns / 1e6,
		       loaded ? "wanted" : "free", ways[way].name,
		       figure_quantile(s->added_ns, s->count, 0.5) / 1e3,
		       figure_quantile(s->added_ns, s->count, 0.9) / 1e3, cpu);
	}
	fflush(stdout);
}

int bench_waits(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		fprintf(stderr, "burst: needs two CPUs\n");
		return 1;
	}
	settle(0);
	puts("work ms\tCPUs\tends\tadded us\tp90\tCPU to work");
	for (int loaded = 0; loaded < 2; loaded++)
		for (size_t i = 0; i < sizeof(works_ns) / sizeof(works_ns[0]); i++)
			compare(works_ns[i], loaded);
	return 0;
}
