/* SPDX-License-Identifier: MIT */
/*
 * Makes libneuralnetworks.so execute plans on a software driver of Vulkan, for conformance runs
 * without /dev/nnaccel. The device refuses the operations that the engine on Vulkan refuses. The
 * library writes the reasons of refusals to the file that NN_VULKAN_LOG names.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ops/op.h"
#include "tests/vulkan/played.h"
#include "vulkan/prepared.h"

static struct gpu *gpu;
static FILE *reasons;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("NN_VULKAN_LOG");

	reasons = path ? fopen(path, "ae") : NULL;
}

/*
 * Returns the GPU. Each process that computes opens the GPU itself, because the threads of a driver
 * do not survive a fork.
 */
static struct gpu *the_gpu(struct nn_error *err)
{
	if (!gpu)
		gpu_open("software", &gpu, err);
	return gpu;
}

static void refused(uint32_t operation, const char *reason)
{
	(void)operation;
	if (reasons)
		fprintf(reasons, "%s\n", reason);
}

enum nn_status played_check_model(const struct nn_model *model, bool *supported,
				  struct nn_error *err)
{
	enum nn_status status = nn_ops_check_model(model, supported, err);

	if (status || !supported)
		return status;
	if (!the_gpu(err))
		return NN_DEVICE_UNAVAILABLE;
	return graph_supported(model, &gpu->limits, supported, refused, err);
}

enum nn_status played_create(const struct nn_model *model, const struct nn_plan_options *options,
			     struct nn_plan **plan, struct nn_error *err)
{
	enum nn_status status;

	(void)options;
	if (!the_gpu(err))
		return NN_DEVICE_UNAVAILABLE;
	status = prepared_create(gpu, model, (struct prepared **)plan, err);
	if (status && reasons)
		fprintf(reasons, "not prepared: %s\n", err->message);
	if (reasons)
		fprintf(reasons, "pipelines: %u\n", pipelines_count(gpu));
	return status;
}

enum nn_status played_execute(const struct nn_plan *plan, struct nn_execution *execution,
			      struct nn_error *err)
{
	return prepared_execute((struct prepared *)plan, execution, -1, err);
}

void played_free(struct nn_plan *plan)
{
	if (plan)
		prepared_release((struct prepared *)plan);
}
