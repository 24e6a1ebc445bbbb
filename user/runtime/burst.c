/* SPDX-License-Identifier: MIT */
/* Bursts: checks how applications use a burst, and opens the channels to the burst's devices. */
#include "runtime/burst.h"

#include <stdlib.h>

#include "runtime/log.h"

bool burst_try_lock(ANeuralNetworksBurst *burst)
{
	return !atomic_flag_test_and_set_explicit(&burst->busy, memory_order_acquire);
}

void burst_unlock(ANeuralNetworksBurst *burst)
{
	atomic_flag_clear_explicit(&burst->busy, memory_order_release);
}

/*
 * Opens a channel for a step's request. If the step's device has no channels or opening fails, the
 * step is executed without a channel.
 */
static void open_channel(struct prepared *prepared, struct request *request)
{
	struct nn_error err = { "" };
	int result = prepared->ops->open_channel(prepared, &request->channel, &err);

	if (result != ANEURALNETWORKS_NO_ERROR)
		nna_log(NNA_LOG_WARN, "a step runs without a burst, because it could not be "
			"created: %s: %s", rt_result_name(result), err.message);
}

static bool open_channels(ANeuralNetworksBurst *burst)
{
	const struct partition *p = &burst->compilation->partition;
	uint32_t i;

	burst->requests = arena_alloc(&burst->arena, p->num_steps, sizeof(burst->requests[0]));
	if (!burst->requests)
		return false;
	for (i = 0; i < p->num_steps; i++) {
		if (!step_init_request(&p->steps[i], &burst->arena, &burst->requests[i]))
			return false;
		open_channel(p->steps[i].prepared, &burst->requests[i]);
	}
	return true;
}

int ANeuralNetworksBurst_create(ANeuralNetworksCompilation *compilation,
				ANeuralNetworksBurst **burst)
{
	ANeuralNetworksBurst *b;
	int result;

	RT_NOT_NULL(burst);
	*burst = NULL;
	RT_NOT_NULL(compilation);
	result = RT_CALL(compilation_check_valid(compilation, &err));
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	b = calloc(1, sizeof(*b));
	if (!b)
		return rt_refuse(ANEURALNETWORKS_OUT_OF_MEMORY, "out of memory");
	b->compilation = compilation_get(compilation);
	if (!open_channels(b)) {
		ANeuralNetworksBurst_free(b);
		return rt_refuse(ANEURALNETWORKS_OUT_OF_MEMORY, "out of memory");
	}
	*burst = b;
	return ANEURALNETWORKS_NO_ERROR;
}

void ANeuralNetworksBurst_free(ANeuralNetworksBurst *burst)
{
	const struct partition *p;
	uint32_t i;

	if (!burst)
		return;
	p = &burst->compilation->partition;
	for (i = 0; burst->requests && i < p->num_steps; i++)
		if (burst->requests[i].channel)
			p->steps[i].prepared->ops->close_channel(burst->requests[i].channel);
	ANeuralNetworksMemory_free(burst->temporaries);
	arena_free(&burst->arena);
	compilation_put(burst->compilation);
	free(burst);
}
