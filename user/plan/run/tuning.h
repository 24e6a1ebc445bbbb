/* SPDX-License-Identifier: MIT */
/*
 * Tunes a compiled plan that runs often. Tuning chooses the steps that run on one thread instead of
 * all threads. The plan keeps the chosen numbers of threads only if the whole plan becomes faster,
 * by more than chance explains.
 */
#ifndef NN_PLAN_TUNING_H
#define NN_PLAN_TUNING_H

#include "plan/compiled.h"

/* Prepares the tuning of a plan that has several threads. Returns false if memory runs out. */
bool tuning_create(struct compiled *c);
void tuning_free(struct tuning *t);

/*
 * Begins an execution. Returns `t` if the execution must be measured, otherwise NULL. The argument
 * `t` may be NULL.
 */
struct tuning *tuning_begin(struct tuning *t);
/* Returns how many of `threads` threads a step must use. */
uint32_t tuning_threads(const struct tuning *t, uint32_t step, uint32_t threads);
void tuning_add(struct tuning *t, uint32_t step, uint64_t ns);
/*
 * Ends a measured execution. After the last measured execution, chooses each step's number of
 * threads.
 */
void tuning_end(struct compiled *c, bool succeeded);

bool tuning_is_done(const struct tuning *t);

/* Save and load the chosen numbers of threads, as one byte for each step; 0 means all threads. */
void tuning_save(const struct compiled *c, uint8_t *steps);
bool tuning_load(struct compiled *c, const uint8_t *steps, uint32_t num_steps);

#endif /* NN_PLAN_TUNING_H */
