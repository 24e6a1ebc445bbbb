// SPDX-License-Identifier: MIT
/* The threads that run a session's tasks; see tasks.h. */
#include "kit/session/tasks.h"

struct idler {
	struct idler *next;
	bool called;
	pthread_cond_t wake;
};

bool tasks_init(struct tasks *tasks)
{
	*tasks = (struct tasks){ .queue_end = &tasks->queue };
	return !pthread_mutex_init(&tasks->lock, NULL);
}

void tasks_free(struct tasks *tasks)
{
	pthread_mutex_destroy(&tasks->lock);
}

/*
 * Wakes the idle thread that worked last, because its data are most likely still in the CPU's
 * caches. The caller holds tasks->lock.
 */
static void call_thread(struct tasks *tasks)
{
	struct idler *idler = tasks->idlers;

	if (!idler)
		return;
	tasks->idlers = idler->next;
	atomic_fetch_sub(&tasks->idle, 1);
	idler->called = true;
	pthread_cond_signal(&idler->wake);
}

static void await_call(struct tasks *tasks, struct idler *idler)
{
	idler->called = false;
	idler->next = tasks->idlers;
	tasks->idlers = idler;
	atomic_fetch_add(&tasks->idle, 1);
	while (!idler->called)
		pthread_cond_wait(&idler->wake, &tasks->lock);
}

/*
 * Wakes all idle threads if tasks_end() was called and no execution is deferred. The caller holds
 * tasks->lock.
 */
static void call_all(struct tasks *tasks)
{
	while (tasks->ended && !tasks->deferred && tasks->idlers)
		call_thread(tasks);
}

void tasks_add(struct tasks *tasks, struct task *task)
{
	task->next = NULL;
	pthread_mutex_lock(&tasks->lock);
	*tasks->queue_end = task;
	tasks->queue_end = &task->next;
	call_thread(tasks);
	pthread_mutex_unlock(&tasks->lock);
}

/*
 * Removes the first task from the queue; returns NULL if the queue is empty. The caller holds
 * tasks->lock.
 */
static struct task *take(struct tasks *tasks)
{
	struct task *task = tasks->queue;

	if (task)
		tasks->queue = task->next;
	if (!tasks->queue)
		tasks->queue_end = &tasks->queue;
	return task;
}

void tasks_run(struct tasks *tasks)
{
	struct idler self = { .wake = PTHREAD_COND_INITIALIZER };
	struct task *task;

	pthread_mutex_lock(&tasks->lock);
	while (!tasks->ended || tasks->deferred) {
		task = take(tasks);
		if (!task) {
			await_call(tasks, &self);
			continue;
		}
		pthread_mutex_unlock(&tasks->lock);
		task->run(task);
		pthread_mutex_lock(&tasks->lock);
	}
	pthread_mutex_unlock(&tasks->lock);
}

void tasks_end(struct tasks *tasks)
{
	pthread_mutex_lock(&tasks->lock);
	tasks->ended = true;
	call_all(tasks);
	pthread_mutex_unlock(&tasks->lock);
}

void tasks_defer(struct tasks *tasks)
{
	pthread_mutex_lock(&tasks->lock);
	tasks->deferred++;
	pthread_mutex_unlock(&tasks->lock);
}

void tasks_resume(struct tasks *tasks)
{
	pthread_mutex_lock(&tasks->lock);
	tasks->deferred--;
	call_all(tasks);
	pthread_mutex_unlock(&tasks->lock);
}
