/* SPDX-License-Identifier: MIT */
/*
 * Sections: compilable parts of a plan that cannot be compiled as a whole. A section is a series of
 * operations that can be compiled together. A section is compiled for each new set of shapes of its
 * inputs.
 */
#ifndef NN_PLAN_SECTIONS_H
#define NN_PLAN_SECTIONS_H

#include "plan/internal.h"

/*
 * Number of sets of shapes for which a section caches plans; the least recently used plan is freed
 * first.
 */
#define SECTION_PLANS 8

/*
 * Default of nn_plan_options.sections_bytes. Even if the cached plans exceed the limit
 * sections_bytes, each section may cache one plan.
 */
#define SECTIONS_BYTES ((uint64_t)256 << 20)

struct section;

/*
 * Divides the subgraphs of a plan into sections. step->section of the first step of a section is
 * set to the section. Operations of control flow, and operations whose output shapes depend on
 * values, are in no section. Returns false if memory runs out.
 */
bool sections_create(struct nn_plan *plan, const struct nn_plan_options *options);
void sections_free(struct nn_plan *plan);

/*
 * Runs a section in the frame `f`. Returns false, without computing anything, if the section cannot
 * be compiled for the values of the frame, or if compiled plans do not accept these values as
 * inputs.
 */
bool section_run(struct frame *f, struct section *s, enum nn_status *status);

/* Returns the number of operations of a section. */
uint32_t section_length(const struct section *section);

/*
 * Records the time that interpreting a section took. The recorded time decides whether the section
 * is compiled or interpreted.
 */
void section_interpreted(struct section *section, uint64_t ns);

/* Begins an execution of a plan with sections; returns the number of the execution. */
uint64_t sections_begin(const struct nn_plan *plan);

/* Returns how many plans were compiled for all sections of `plan` together. */
uint64_t sections_made(const struct nn_plan *plan);

/* Returns the name of the instruction set for which sections are compiled. */
const char *sections_kernels(const struct nn_plan *plan);

/*
 * Adds the memory that the plans of all sections need to `memory`: packed weights, and the bytes of
 * an execution. An execution needs the memory of each section's largest plan, and the memory of
 * interpreted operations.
 */
void sections_memory(const struct nn_plan *plan, struct nn_plan_memory *memory);

#endif /* NN_PLAN_SECTIONS_H */
