/* SPDX-License-Identifier: MIT */
/*
 * Threads of a session for bursts that have requests, and for executions that the engine has ended
 * by nna_engine_end().
 */
#ifndef NN_KIT_TASKS_H
#define NN_KIT_TASKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Threads that a worker has for tasks. */
#define TASK_THREADS 8

struct task {
	struct task *next;
	void (*run)(struct task *task);
};

struct idler;

struct tasks {
	atomic_uint idle;		/* threads without a task */
	pthread_mutex_t lock;		/* protects everything below */
	struct task *queue;		/* tasks that want a thread, oldest first */
	struct task **queue_end;
	struct idler *idlers;		/* threads without a task, the last one to work first */
	unsigned int deferred;		/* executions that the engine has not ended yet */
	bool ended;
};

bool tasks_init(struct tasks *tasks);
void tasks_free(struct tasks *tasks);

/* Queues a task, which is no longer used when it runs. */
void tasks_add(struct tasks *tasks, struct task *task);

/* Runs tasks until tasks_end() was called and no execution is deferred. */
void tasks_run(struct tasks *tasks);

/* Tells the threads to end. */
void tasks_end(struct tasks *tasks);

/*
 * Counts an execution that the engine defers, and the end of one. A thread that calls
 * tasks_defer() must call tasks_run() later, so that one thread is left for the execution's end.
 */
void tasks_defer(struct tasks *tasks);
void tasks_resume(struct tasks *tasks);

#endif /* NN_KIT_TASKS_H */
