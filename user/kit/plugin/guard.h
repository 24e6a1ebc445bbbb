/* SPDX-License-Identifier: MIT */
/*
 * A time limit for each call of plug-in functions, between nna_engine_call_begin() and
 * nna_engine_call_end(). If a call takes longer, its client is notified and the worker ends.
 */
#ifndef NN_KIT_GUARD_H
#define NN_KIT_GUARD_H

/* The current work of a thread, so that its client can be notified. */
struct guard_job {
	/* Called after the thread with the job was stopped for good. It must not allocate. */
	void (*fail)(struct guard_job *job, const char *reason);
};

/*
 * Starts the watching thread. Without this thread calls have no time limit. Returns 0, or an
 * errno.
 */
int guard_start(unsigned int bound_s);

/* Sets the job that this thread's calls belong to, or NULL. */
void guard_set_job(struct guard_job *job);

#endif /* NN_KIT_GUARD_H */
