/* SPDX-License-Identifier: MIT */
/*
 * A time limit for each call of a plug-in's function. The time limit covers the time from
 * nna_engine_call_begin() to nna_engine_call_end(). If a call takes longer than the time limit, the
 * client is notified and the worker ends.
 */
#ifndef NN_KIT_GUARD_H
#define NN_KIT_GUARD_H

/*
 * A thread's current work for a client. If a plug-in's function is overdue, fail() reports the
 * failure to the client.
 */
struct guard_job {
	/*
	 * The function fail() is called after the job's thread was stopped for ever, and must not
	 * allocate memory.
	 */
	void (*fail)(struct guard_job *job, const char *reason);
};

/*
 * Starts the thread that enforces the time limit. Without a call of guard_start(), calls of
 * plug-ins have no time limit. Returns 0 or an errno.
 */
int guard_start(unsigned int bound_s);

/* Sets the job of the calling thread for its next calls of plug-ins; `job` may be NULL. */
void guard_set_job(struct guard_job *job);

#endif /* NN_KIT_GUARD_H */
