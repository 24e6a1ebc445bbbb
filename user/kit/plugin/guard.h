/* SPDX-License-Identifier: MIT */
/*
 * A time limit for each call of a plug-in's function, from nna_engine_call_begin() to
 * nna_engine_call_end(). If a call takes longer than the limit, the client is notified and the
 * worker ends.
 */
#ifndef NN_KIT_GUARD_H
#define NN_KIT_GUARD_H

/* The current work of a thread, so that its client can be notified. */
struct guard_job {
	/*
	 * Called after the job's thread was stopped for ever. The function must not allocate
	 * memory.
	 */
	void (*fail)(struct guard_job *job, const char *reason);
};

/*
 * Starts the thread that enforces the time limit; without it there is no limit. Returns 0 or an
 * errno.
 */
int guard_start(unsigned int bound_s);

/* Sets the job of the calling thread's next calls of plug-ins, or NULL. */
void guard_set_job(struct guard_job *job);

#endif /* NN_KIT_GUARD_H */
