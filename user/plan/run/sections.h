/* SPDX-License-Identifier: MIT */
/*
 * Sections of a plan that cannot be compiled as a whole. A section is a series of operations that
 * can be compiled together. It is compiled when its inputs first have a new set of shapes.
 */
#ifndef NN_PLAN_SECTIONS_H
#define NN_PLAN_SECTIONS_H

#include "plan/internal.h"

/*
 * Number of sets of shapes for which a section caches plans; the least recently used one is freed.
 */
#define SECTION_PLANS 8

/* Default of nn_plan_options.sections_bytes. Beyond the limit each section may cache one plan. */
#define SECTIONS_BYTES ((uint64_t)256 << 20)

struct section;

/*
 * Divides the subgraphs of a plan into sections. If a section begins with a step, step->section is
 * that section. No section contains control flow, or operations whose outputs' shapes depend on
 * values. Returns false if memory runs out.
 */
bool sections_create(struct nn_plan *plan, const struct nn_plan_options *options);
void sections_free(struct nn_plan *plan);

/*
 * Runs a section in a frame. Returns false, and computes nothing, if the section cannot be compiled
 * for the frame's values, or if compiled plans do not accept its inputs.
 */
bool section_run(struct frame *f, struct section *s, enum nn_status *status);

/* Returns the number of operations of a section. */
uint32_t section_length(const struct section *section);

/*
 * Records how long it took to interpret the section. Whether the section is compiled depends on
 * this time.
 */
void section_interpreted(struct section *section, uint64_t ns);

/* Begins an execution; returns its number. */
uint64_t sections_begin(const struct nn_plan *plan);

/* Returns the number of plans that all sections have made. */
uint64_t sections_made(const struct nn_plan *plan);

/* Returns the name of the kernels that sections are compiled for. */
const char *sections_kernels(const struct nn_plan *plan);

/*
 * Adds the memory of the plans of all sections to `memory`: their weights, and what an execution
 * uses. The latter is the sum of the largest plan of each section, and the memory of interpreted
 * operations.
 */
void sections_memory(const struct nn_plan *plan, struct nn_plan_memory *memory);

#endif /* NN_PLAN_SECTIONS_H */
