/* SPDX-License-Identifier: MIT */
/*
 * Includes the source of the runtime's CPU device, and makes the CPU device's plans run on Vulkan.
 */
#include "ops/op.h"
#include "tests/vulkan/played.h"

#define nn_ops_check_model played_check_model
#define nn_plan_create played_create
#define nn_plan_execute played_execute
#define nn_plan_free played_free
#include "../../runtime/device_cpu.c"
