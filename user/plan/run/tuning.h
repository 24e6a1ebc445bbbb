/* SPDX-License-Identifier: MIT */
/*
 * Tuning of a compiled plan that is hot: each step on all threads or on one, where that made the
 * whole plan faster by more than chance would.
 */
#ifndef NN_PLAN_TUNING_H
#define NN_PLAN_TUNING_H

#include "plan/compiled.h"

/* Gives a plan of several threads what it will be tuned with; false: no memory. */
bool tuning_create(struct compiled *c);
void tuning_free(struct tuning *t);

/* The execution that begins is to measure; NULL, also for a tuning of NULL: it is not. */
struct tuning *tuning_begin(struct tuning *t);
/* The threads that a step is to use, of so many. */
uint32_t tuning_threads(const struct tuning *t, uint32_t step, uint32_t threads);
void tuning_add(struct tuning *t, uint32_t step, uint64_t ns);
/* Ends it; the last one sets the steps' threads. */
void tuning_end(struct compiled *c, bool succeeded);

bool tuning_is_done(const struct tuning *t);

/* The measured choice, a byte for each step: threads, or 0 for all. False: nothing of that kind. */
void tuning_save(const struct compiled *c, uint8_t *steps);
bool tuning_load(struct compiled *c, const uint8_t *steps, uint32_t num_steps);

#endif /* NN_PLAN_TUNING_H */
