/* SPDX-License-Identifier: MIT */
/*
 * A bound on each call of a plug-in's functions: where one takes longer, who waits for
 * it is told, and the worker ends.
 */
#ifndef NN_KIT_GUARD_H
#define NN_KIT_GUARD_H

#include <pthread.h>
#include <stdint.h>

/* What a thread works on meanwhile, so that somebody can be told. */
struct guard_job {
	/* Called once the thread that has the job is stopped for good. Must not allocate. */
	void (*fail)(struct guard_job *job, const char *reason);
};

/* A call that is under way; its caller's. */
struct guard_call {
	struct guard_call *next, **link;
	const char *extension;
	const char *function;
	struct guard_job *job;
	pthread_t thread;
	uint64_t due_ns;
};

/* Makes the thread that watches. Without it, and before it, calls have no bound. 0, or an errno. */
int guard_start(unsigned int bound_s);

/* From now on calls of this thread are for this job; NULL: for none. */
void guard_set_job(struct guard_job *job);

/* A call of the function of that name begins and ends, on one thread. */
void guard_begin(struct guard_call *call, const char *extension, const char *function);
void guard_end(struct guard_call *call);

#endif /* NN_KIT_GUARD_H */
