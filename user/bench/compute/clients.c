/* SPDX-License-Identifier: MIT */
/* Measures several processes that each run a network without pause. */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/compute/clients.h"
#include "bench/compute/subject.h"
#include "bench/figure.h"

#define MOST 8
#define WARM_UP 5
#define RUN_S 2
#define LOOK_US 1000

struct turn {
	atomic_uint ready;
	atomic_bool go, stop;
	_Atomic uint64_t runs[MOST];
};

static _Noreturn void run_client(struct turn *t, uint32_t client, uint32_t threads)
{
	static struct net net;
	struct subject s;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	net_mobilenet_v2(&net, NET_F32, 0);
	s = subject_plan(&net, threads);
	for (int i = 0; i < WARM_UP; i++)
		s.run(s.state);
	atomic_fetch_add(&t->ready, 1);
	while (!atomic_load(&t->go))
		usleep(LOOK_US);
	while (!atomic_load(&t->stop)) {
		s.run(s.state);
		atomic_fetch_add(&t->runs[client], 1);
	}
	_exit(0);
}

/*
 * Runs `count` client processes for a second, and returns the sum of runs per second; stores the
 * slowest client's number of runs in *least. Returns a negative number if a client process could
 * not be started.
 */
static double run_clients(struct turn *t, uint32_t count, uint32_t threads, double *least)
{
	uint64_t sum = 0, fewest = UINT64_MAX;
	uint32_t made = 0;
	pid_t pids[MOST];

	*t = (struct turn){ 0 };
	while (made < count && (pids[made] = fork()) >= 0) {
		if (!pids[made])
			run_client(t, made, threads);
		made++;
	}
	while (made == count && atomic_load(&t->ready) < count)
		usleep(LOOK_US);
	atomic_store(&t->go, true);
	sleep(RUN_S);
	for (uint32_t i = 0; i < made; i++) {
		uint64_t runs = atomic_load(&t->runs[i]);

		sum += runs;
		fewest = runs < fewest ? runs : fewest;
	}
	atomic_store(&t->stop, true);
	for (uint32_t i = 0; i < made; i++) {
		if (made < count)
			kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	*least = (double)fewest / RUN_S;
	return made == count ? (double)sum / RUN_S : -1;
}

bool bench_clients(uint32_t threads, const char *where)
{
	struct turn *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			      -1, 0);
	double one = 0, all = 0, least;
	char name[32];

	if (t == MAP_FAILED)
		return false;
	for (uint32_t count = 1; count <= MOST && all >= 0; count *= 2) {
		all = run_clients(t, count, threads, &least);
		if (all < 0)
			break;
		if (count == 1)
			one = all;
		snprintf(name, sizeof(name), "clients_%u", count);
		figure(name, all, "runs/s", "one_client", one, where);
		snprintf(name, sizeof(name), "clients_%u_least", count);
		figure(name, least, "runs/s", "fair_share", all / count, where);
	}
	munmap(t, sizeof(*t));
	return all >= 0;
}
