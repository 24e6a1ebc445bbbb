/* SPDX-License-Identifier: MIT */
/*
 * Predicts the time of a network on more threads than the machine has CPUs. The benchmark divides a
 * plan's steps into tasks for the predicted number of threads, measures each task on one thread,
 * and simulates the threads with the measured times. The costs of sharing work are measured between
 * the caller and one helper thread.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "bench/compute/builder.h"
#include "bench/compute/schedule.h"
#include "bench/compute/schedule_model.h"
#include "bench/figure.h"
#include "plan/compiled.h"
#include "plan/run/threads.h"

#define WARM_UP 5
#define TIMED_RUNS 30
#define RUNS 60

#define MEETINGS 101
#define EMPTY_TASKS 100000
#define ASLEEP_NS (20 * THREADS_SPIN_NS)
#define FREE 0.1		/* assumed share of samples that no other load disturbs */

_Static_assert(TIMED_RUNS + RUNS < NN_PLAN_HOT, "plans do not tune themselves meanwhile");

/* ---- What sharing costs ---- */

/*
 * A job of two tasks that wait for each other, so that the job can end only after a helper thread
 * has taken one of the tasks.
 */
struct meeting {
	atomic_uint met;
	uint64_t caller, helper; /* times at which the caller and the helper began their tasks */
};

static void meet(void *arg, uint32_t task, uint32_t thread)
{
	struct meeting *m = arg;

	(void)task;
	*(thread ? &m->helper : &m->caller) = clock_ns();
	atomic_fetch_add(&m->met, 1);
	while (atomic_load(&m->met) < 2)
		;
}

/*
 * Measures the time in ns until the caller and a helper thread begin their tasks of a job. The job
 * begins `idle_ns` after the end of the previous job.
 */
static void time_meetings(uint64_t idle_ns, double *caller, double *helper)
{
	static double callers[MEETINGS], helpers[MEETINGS];

	for (size_t i = 0; i < MEETINGS; i++) {
		struct meeting m = { 0 };
		uint64_t start;

		if (idle_ns)
			figure_idle(idle_ns);
		start = clock_ns();
		threads_run_long(meet, &m, 2, 2);
		callers[i] = (double)(m.caller - start);
		helpers[i] = (double)(m.helper - start);
	}
	*caller = figure_quantile(callers, MEETINGS, FREE);
	*helper = figure_quantile(helpers, MEETINGS, FREE);
}

static void do_nothing(void *arg, uint32_t task, uint32_t thread)
{
	(void)arg;
	(void)task;
	(void)thread;
}

static struct schedule_costs measure_costs(void)
{
	struct schedule_costs costs = { .spin = THREADS_SPIN_NS, .fan_out = THREADS_FAN_OUT };
	uint64_t start;

	time_meetings(0, &costs.open, &costs.notice);
	time_meetings(ASLEEP_NS, &costs.wake_call, &costs.wake);
	costs.notice = fmax(costs.notice - costs.open, 0);
	costs.wake = fmax(costs.wake - costs.open, 0);
	costs.wake_call = fmax(costs.wake_call - costs.open, 0);
	start = clock_ns();
	threads_run_long(do_nothing, NULL, EMPTY_TASKS, 2);
	costs.take = (double)(clock_ns() - start) / EMPTY_TASKS;
	fprintf(stderr, "costs in ns: open %.0f, notice %.0f, task %.0f, call to wake %.0f, wake %.0f\n",
		costs.open, costs.notice, costs.take, costs.wake_call, costs.wake);
	return costs;
}

/* ---- How long tasks take ---- */

/* A kernel that wraps a step's kernel and measures the time of each task. */
struct timed {
	struct nn_kernel kernel;
	const struct nn_kernel *real;
	double *tasks;
};

struct timed_plan {
	struct compiled *compiled;
	uint32_t steps, tasks;
	struct timed *kernels;		/* by step */
	struct schedule_step *list;
	double *ns;			/* shortest measured time of each task */
};

static void run_timed(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	/* Its first member. */
	const struct timed *t = (const struct timed *)call->ready->kernel;
	uint64_t start = clock_ns();
	double ns;

	t->real->run(call, task, scratch);
	ns = (double)(clock_ns() - start);
	if (ns < t->tasks[task])
		t->tasks[task] = ns;
}

/* Makes all steps run on `threads` threads, with or without the kernels that measure times. */
static void set_steps(struct timed_plan *p, uint32_t threads, bool timed)
{
	for (uint32_t i = 0; i < p->steps; i++) {
		p->compiled->steps[i].ready.kernel = timed ? &p->kernels[i].kernel : p->kernels[i].real;
		p->compiled->steps[i].threads = threads;
	}
}

/*
 * Prepares the measurement of each task of a plan. Returns false if a step runs on a reference
 * kernel, which has no tasks.
 */
static bool wrap(struct timed_plan *p, struct compiled *c)
{
	double *next;

	*p = (struct timed_plan){ .compiled = c, .steps = c->num_steps };
	for (uint32_t i = 0; i < p->steps; i++) {
		if (!c->steps[i].ready.kernel)
			return false;
		p->tasks += c->steps[i].ready.tasks;
	}
	p->kernels = must_alloc(p->steps * sizeof(*p->kernels));
	p->list = must_alloc(p->steps * sizeof(*p->list));
	p->ns = next = must_alloc(p->tasks * sizeof(*p->ns));
	for (uint32_t i = 0; i < p->tasks; i++)
		p->ns[i] = 1e18;
	for (uint32_t i = 0; i < p->steps; i++) {
		const struct nn_ready *ready = &c->steps[i].ready;

		p->kernels[i] = (struct timed){ *ready->kernel, ready->kernel, next };
		p->kernels[i].kernel.run = run_timed;
		p->list[i] = (struct schedule_step){ next, ready->tasks };
		next += ready->tasks;
	}
	return true;
}

static void unwrap(struct timed_plan *p)
{
	free(p->kernels);
	free(p->list);
	free(p->ns);
}

/* Returns the time in ns of the shortest of `runs` runs. */
static double time_runs(const struct subject *s, size_t runs)
{
	double best = 1e18;

	for (size_t i = 0; i < runs; i++) {
		uint64_t start = clock_ns();
		double ns;

		s->run(s->state);
		ns = (double)(clock_ns() - start);
		best = i >= WARM_UP && ns < best ? ns : best;
	}
	return best;
}

/* ---- Networks ---- */

struct point {
	double model, measured;		/* time of an execution in ns; 0 if not measured */
	uint32_t tasks;
};

static bool take_point(const struct net *net, uint32_t threads, const struct schedule_costs *costs,
		       struct point *point)
{
	const uint32_t available = threads_start();
	const uint32_t cut = threads > 1 && threads < available ? available : threads;
	struct timed_plan p = { 0 };
	struct compiled *c;
	struct subject s = builder_subject_cut(builder_net(net), cut, &c);
	bool fine = c && wrap(&p, c);

	*point = (struct point){ 0 };
	if (fine) {
		set_steps(&p, 1, true);
		time_runs(&s, TIMED_RUNS);
		set_steps(&p, threads, false);
		if (threads <= available)
			point->measured = time_runs(&s, RUNS);
		point->model = schedule_run(p.list, p.steps, threads, costs);
		point->tasks = p.tasks;
		unwrap(&p);
	}
	s.free(s.state);
	return fine;
}

static bool tell_net(const char *name, net_fn *make, enum net_type type,
		     const struct schedule_costs *costs)
{
	struct point one = { 0 };
	static struct net net;
	bool fine = true;

	make(&net, type, 0);
	for (uint32_t threads = 1; threads <= 64 && fine; threads *= 2) {
		struct point p;

		fine = take_point(&net, threads, costs, &p);
		if (!fine)
			break;
		if (threads == 1)
			one = p;
		printf("%s\t%u\t%u\t%.0f\t%.2f", name, threads, p.tasks, p.model * 1e-3,
		       one.model / p.model);
		if (p.measured > 0)
			printf("\t%.0f\t%.2f\n", p.measured * 1e-3, one.measured / p.measured);
		else
			printf("\t-\t-\n");
		fflush(stdout);
	}
	net_free(&net);
	return fine;
}

bool bench_schedule(void)
{
	struct schedule_costs costs;

	if (threads_start() < 2)
		return false;
	costs = measure_costs();
	printf("network\tthreads\ttasks\tmodel_us\tspeed-up\tmeasured_us\tspeed-up\n");
	return tell_net("mnv1_f32", net_mobilenet_v1, NET_F32, &costs) &&
	       tell_net("mnv2_f32", net_mobilenet_v2, NET_F32, &costs) &&
	       tell_net("mnv1_qc8", net_mobilenet_v1, NET_QC8, &costs) &&
	       tell_net("mnv2_qc8", net_mobilenet_v2, NET_QC8, &costs);
}
