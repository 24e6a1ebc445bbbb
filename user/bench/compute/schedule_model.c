/* SPDX-License-Identifier: MIT */
/*
 * Simulates threads ("workers") that execute a plan's tasks. The simulation always handles the
 * earliest event next.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "bench/compute/schedule_model.h"

/* Number of simulated executions before the execution whose time is returned. */
#define EARLIER 3

enum state {
	AWAY,				/* the worker does not run this step, or sleeps */
	COMING,				/* the worker notices the step's begin at time `at` */
	WORKING,			/* the worker takes a task at time `at` */
	GONE,				/* the worker found no task left at time `at` */
};

struct worker {
	enum state state;
	double at;
	double idle;			/* time at which the thread began to spin */
	bool worked;			/* true: the worker took a task of this step */
};

/* The simulated threads, of which worker 0 is the caller of the plan. */
struct machine {
	const struct schedule_costs *costs;
	uint32_t threads;
	struct worker workers[SCHEDULE_WORKERS];
};

/* A step that is being simulated. */
struct job {
	const struct schedule_step *step;
	uint32_t next;			/* index of the next task to take */
	uint32_t helpers;		/* number of helpers that joined */
	uint32_t most;			/* maximum number of helpers */
	uint32_t unwoken;
	double free;			/* earliest time at which the next thread can take a task */
};

static bool sleeps(const struct machine *m, const struct worker *w, double at)
{
	return at - w->idle > m->costs->spin;
}

/*
 * Makes a thread wake sleeping threads at time `at`. Returns the time at which the waking thread
 * has finished waking other threads.
 */
static double wake_some(struct machine *m, struct job *j, double at)
{
	uint32_t woken = 0;

	for (uint32_t i = 1; i < m->threads; i++) {
		struct worker *w = &m->workers[i];

		if (w->state != AWAY || woken == m->costs->fan_out || woken == j->unwoken)
			continue;
		w->state = COMING;
		w->at = at + m->costs->wake;
		woken++;
	}
	j->unwoken -= woken;
	return woken ? at + m->costs->wake_call : at;
}

/* Returns the worker with the earliest event, or NULL if no worker has an event. */
static struct worker *next_worker(struct machine *m)
{
	struct worker *next = NULL;

	for (uint32_t i = 0; i < m->threads; i++) {
		struct worker *w = &m->workers[i];

		if ((w->state == COMING || w->state == WORKING) && (!next || w->at < next->at))
			next = w;
	}
	return next;
}

static void join(struct machine *m, struct job *j, struct worker *w)
{
	w->state = GONE;
	if (j->next == j->step->count || j->helpers == j->most)
		return;
	j->helpers++;
	w->state = WORKING;
	w->worked = true;
	w->at = wake_some(m, j, w->at);
}

static void take_task(const struct machine *m, struct job *j, struct worker *w)
{
	if (j->next == j->step->count) {
		w->state = GONE;
		return;
	}
	j->free = fmax(j->free, w->at) + m->costs->take;
	w->at = j->free + j->step->tasks[j->next++];
}

/*
 * Simulates a step that begins at time `at`. Returns the time at which the caller notices that the
 * step has ended.
 */
static double share(struct machine *m, const struct schedule_step *step, double at)
{
	const uint32_t threads = m->threads < step->count ? m->threads : step->count;
	struct job j = { .step = step, .most = threads - 1, .unwoken = threads - 1 };
	struct worker *w;
	double end;

	at += m->costs->open;
	for (uint32_t i = 1; i < m->threads; i++) {
		w = &m->workers[i];
		w->worked = false;
		w->state = sleeps(m, w, at) ? AWAY : COMING;
		w->at = fmax(at, w->idle) + m->costs->notice;
	}
	m->workers[0].state = WORKING;
	m->workers[0].at = wake_some(m, &j, at);
	while ((w = next_worker(m))) {
		if (w->state == COMING)
			join(m, &j, w);
		else
			take_task(m, &j, w);
	}
	end = m->workers[0].at;
	for (uint32_t i = 1; i < m->threads; i++) {
		w = &m->workers[i];
		if (w->worked)
			end = fmax(end, w->at + m->costs->notice);
		if (w->state == GONE)
			w->idle = w->at;
	}
	return end;
}

static double run_alone(const struct schedule_step *step, double at)
{
	for (uint32_t i = 0; i < step->count; i++)
		at += step->tasks[i];
	return at;
}

double schedule_run(const struct schedule_step *steps, uint32_t count, uint32_t threads,
		    const struct schedule_costs *costs)
{
	struct machine m = { .costs = costs, .threads = threads };
	double begin = 0, end = 0;

	/* All helper threads are asleep before the first execution. */
	for (uint32_t i = 1; i < threads; i++)
		m.workers[i].idle = -INFINITY;
	for (uint32_t run = 0; run <= EARLIER; run++) {
		begin = end;
		for (uint32_t i = 0; i < count; i++)
			end = threads > 1 && steps[i].count > 1 ? share(&m, &steps[i], end) :
								  run_alone(&steps[i], end);
	}
	return end - begin;
}
