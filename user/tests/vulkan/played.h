/* SPDX-License-Identifier: MIT */
/*
 * Functions that run plans of the runtime's CPU device on Vulkan.
 */
#ifndef NN_TESTS_VULKAN_PLAYED_H
#define NN_TESTS_VULKAN_PLAYED_H

#include "plan/plan.h"

enum nn_status played_check_model(const struct nn_model *model, bool *supported,
				  struct nn_error *err);
enum nn_status played_create(const struct nn_model *model, const struct nn_plan_options *options,
			     struct nn_plan **plan, struct nn_error *err);
enum nn_status played_execute(const struct nn_plan *plan, struct nn_execution *execution,
			      struct nn_error *err);
void played_free(struct nn_plan *plan);

#endif /* NN_TESTS_VULKAN_PLAYED_H */
