/* SPDX-License-Identifier: MIT */
/*
 * Tuning of a compiled plan that runs often. A step runs on one thread, not on all, if measured
 * executions of the whole plan were faster so, by more than chance explains.
 */
#ifndef NN_PLAN_TUNING_H
#define NN_PLAN_TUNING_H

#include "plan/compiled.h"

/* Prepares a plan of several threads to be tuned; returns false if memory is short. */
bool tuning_create(struct compiled *c);
void tuning_free(struct tuning *t);

/* Begins an execution. Returns `t` if it is to be measured, otherwise NULL, as for a NULL `t`. */
struct tuning *tuning_begin(struct tuning *t);
/* Returns how many of `threads` threads a step is to use. */
uint32_t tuning_threads(const struct tuning *t, uint32_t step, uint32_t threads);
void tuning_add(struct tuning *t, uint32_t step, uint64_t ns);
/* Ends a measured execution. The last one chooses each step's number of threads. */
void tuning_end(struct compiled *c, bool succeeded);

bool tuning_is_done(const struct tuning *t);

/* Save and load the choice, a byte for each step: its threads, or 0 for all. */
void tuning_save(const struct compiled *c, uint8_t *steps);
bool tuning_load(struct compiled *c, const uint8_t *steps, uint32_t num_steps);

#endif /* NN_PLAN_TUNING_H */
