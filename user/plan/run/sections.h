/* SPDX-License-Identifier: MIT */
/*
 * Sections of a plan that cannot be compiled as a whole: successive operations that can be compiled
 * together. A section is compiled for each set of shapes that its inputs have, when they first
 * come.
 */
#ifndef NN_PLAN_SECTIONS_H
#define NN_PLAN_SECTIONS_H

#include "plan/internal.h"

/* Sets of shapes for which a section keeps plans; the one used least recently goes. */
#define SECTION_PLANS 8

/*
 * Bytes that plans of all sections keep if the options do not tell; beyond it one plan for each
 * section.
 */
#define SECTIONS_BYTES ((uint64_t)256 << 20)

struct section;

/*
 * Divides the subgraphs of a plan: `section` of a step is the section that begins with it. Control
 * flow, and operations whose outputs' shapes depend on values, are in no section. Returns false
 * if memory runs out.
 */
bool sections_create(struct nn_plan *plan, const struct nn_plan_options *options);
void sections_free(struct nn_plan *plan);

/*
 * Runs a section in a frame. Returns false if it cannot be compiled for the values that are there,
 * or has arguments that compiled plans do not take; nothing of it was done then.
 */
bool section_run(struct frame *f, struct section *s, enum nn_status *status);

/* Operations of a section. */
uint32_t section_length(const struct section *section);

/* Notes how long it took to interpret the section, and so decides whether it gets a plan. */
void section_interpreted(struct section *section, uint64_t ns);

/* Begins an execution; returns its number. */
uint64_t sections_begin(const struct nn_plan *plan);

/* Plans that all sections made so far. */
uint64_t sections_made(const struct nn_plan *plan);

/* Returns the name of the kernels that sections are compiled for. */
const char *sections_kernels(const struct nn_plan *plan);

/*
 * Adds the memory of the plans of all sections: weights, and for an execution the largest memory of
 * a plan of each section and that of interpreted operations.
 */
void sections_memory(const struct nn_plan *plan, struct nn_plan_memory *memory);

#endif /* NN_PLAN_SECTIONS_H */
