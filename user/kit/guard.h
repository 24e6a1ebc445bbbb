/* SPDX-License-Identifier: MIT */
/*
 * A bound on each call of a plug-in's functions, between nna_engine_call_begin() and
 * nna_engine_call_end(): where one takes longer, who waits for it is told, and the worker ends.
 */
#ifndef NN_KIT_GUARD_H
#define NN_KIT_GUARD_H

/* What a thread works on meanwhile, so that somebody can be told. */
struct guard_job {
	/* Called once the thread that has the job is stopped for good. Must not allocate. */
	void (*fail)(struct guard_job *job, const char *reason);
};

/* Makes the thread that watches. Without it, and before it, calls have no bound. 0, or an errno. */
int guard_start(unsigned int bound_s);

/* From now on calls of this thread are for this job; NULL: for none. */
void guard_set_job(struct guard_job *job);

#endif /* NN_KIT_GUARD_H */
