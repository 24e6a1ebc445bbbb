/* SPDX-License-Identifier: MIT */
/* Prints the result of each pass over a model or a plan, for developers of the passes. */
#ifndef NN_PLAN_DUMP_H
#define NN_PLAN_DUMP_H

#include "plan/compiled.h"

/*
 * With NNACCEL_PLAN_DUMP=text in the environment, prints the name of the pass and a list of the
 * operations to standard error. With NNACCEL_PLAN_DUMP=dot, prints a graph for Graphviz. Otherwise
 * does nothing.
 */
void plan_dump_model(const char *pass, const struct nn_model *model);
void plan_dump_compiled(const char *pass, const struct compiled *c);

#endif /* NN_PLAN_DUMP_H */
