/* SPDX-License-Identifier: MIT */
/*
 * Threads of a session. The threads serve bursts that have requests, and finish deferred executions
 * after the engine has called nna_engine_end().
 */
#ifndef NN_KIT_TASKS_H
#define NN_KIT_TASKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Number of threads of a worker that run tasks. */
#define TASK_THREADS 8

struct task {
	struct task *next;
	void (*run)(struct task *task);
};

struct idler;

struct tasks {
	atomic_uint idle;		/* number of threads without a task */
	pthread_mutex_t lock;		/* lock that protects all fields after `lock` */
	struct task *queue;		/* tasks that wait for a thread, oldest first */
	struct task **queue_end;
	struct idler *idlers;	/* threads without a task; the thread that worked last is first */
	unsigned int deferred; /* number of deferred executions that the engine has not ended yet */
	bool ended;
};

bool tasks_init(struct tasks *tasks);
void tasks_free(struct tasks *tasks);

/*
 * Queues a task. After a thread has begun to run a task, *tasks no longer refers to the task, so
 * the task may free itself.
 */
void tasks_add(struct tasks *tasks, struct task *task);

/* Runs tasks until tasks_end() was called and no execution is deferred. */
void tasks_run(struct tasks *tasks);

/* Tells all threads to end as soon as no execution is deferred. */
void tasks_end(struct tasks *tasks);

/*
 * Count deferred executions: tasks_defer() adds an execution, and tasks_resume() removes it after
 * its end. A thread that calls tasks_defer() must later call tasks_run(), so that some thread can
 * finish the deferred execution.
 */
void tasks_defer(struct tasks *tasks);
void tasks_resume(struct tasks *tasks);

#endif /* NN_KIT_TASKS_H */
