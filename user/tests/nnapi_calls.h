/* SPDX-License-Identifier: MIT */
/*
 * Records the settings with which a client compiles and runs models. The header replaces the NNAPI
 * functions for compiling and running; the replacements record each call and forward it to the
 * NNAPI's function. Only one file of a program may include nnapi_calls.h.
 */
#ifndef NN_TESTS_NNAPI_CALLS_H
#define NN_TESTS_NNAPI_CALLS_H

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <android/NeuralNetworks.h>
#include <nnaccel/log.h>

static char nnapi_calls[512];

/* The next nnapi_failing.times executions compute nothing and return nnapi_failing.result. */
static struct {
	int times, result;
} nnapi_failing;

__attribute__((format(printf, 1, 2)))
static void nnapi_called(const char *format, ...)
{
	const size_t used = strlen(nnapi_calls);
	va_list args;

	va_start(args, format);
	vsnprintf(nnapi_calls + used, sizeof(nnapi_calls) - used, format, args);
	va_end(args);
}

/*
 * Defines int NAME(parameters). The new function NAME records the call, and then calls the NNAPI's
 * function NAME with the arguments.
 */
#define NNAPI_CALL(name, parameters, arguments, ...) \
	int name parameters \
	{ \
		int (*next) parameters; \
		*(void **)&next = dlsym(RTLD_NEXT, #name); \
		nnapi_called(__VA_ARGS__); \
		return next arguments; \
	}
#define NNAPI_RUN(name, parameters, arguments, text) \
	int name parameters \
	{ \
		int (*next) parameters; \
		*(void **)&next = dlsym(RTLD_NEXT, #name); \
		nnapi_called(text); \
		if (nnapi_failing.times-- <= 0) \
			return next arguments; \
		nna_log(NNA_LOG_ERROR, #name ": told to fail"); \
		return nnapi_failing.result; \
	}

NNAPI_CALL(ANeuralNetworksModel_relaxComputationFloat32toFloat16,
	   (ANeuralNetworksModel *model, bool allow), (model, allow), "relaxed %d, ", allow)
NNAPI_CALL(ANeuralNetworksCompilation_create,
	   (ANeuralNetworksModel *model, ANeuralNetworksCompilation **made), (model, made),
	   "for any, ")
NNAPI_CALL(ANeuralNetworksCompilation_createForDevices,
	   (ANeuralNetworksModel *model, const ANeuralNetworksDevice *const *devices, uint32_t count,
	    ANeuralNetworksCompilation **made), (model, devices, count, made), "for %u, ", count)
NNAPI_CALL(ANeuralNetworksCompilation_setPreference,
	   (ANeuralNetworksCompilation *compilation, int32_t value), (compilation, value),
	   "preference %d, ", value)
NNAPI_CALL(ANeuralNetworksCompilation_setPriority,
	   (ANeuralNetworksCompilation *compilation, int value), (compilation, value),
	   "priority %d, ", value)
NNAPI_CALL(ANeuralNetworksCompilation_setCaching,
	   (ANeuralNetworksCompilation *compilation, const char *folder, const uint8_t *token),
	   (compilation, folder, token), "cache %s, ", folder)
NNAPI_CALL(ANeuralNetworksBurst_create,
	   (ANeuralNetworksCompilation *compilation, ANeuralNetworksBurst **burst),
	   (compilation, burst), "burst, ")
NNAPI_RUN(ANeuralNetworksExecution_burstCompute,
	  (ANeuralNetworksExecution *execution, ANeuralNetworksBurst *burst), (execution, burst),
	  "run in it, ")
NNAPI_RUN(ANeuralNetworksExecution_compute,
	  (ANeuralNetworksExecution *execution), (execution), "run, ")

#undef NNAPI_CALL
#undef NNAPI_RUN

static const char *const nnapi_results[] = {
	"NO_ERROR", "OUT_OF_MEMORY", "INCOMPLETE", "UNEXPECTED_NULL", "BAD_DATA", "OP_FAILED",
	"BAD_STATE", "UNMAPPABLE", "OUTPUT_INSUFFICIENT_SIZE", "UNAVAILABLE_DEVICE",
	"MISSED_DEADLINE_TRANSIENT", "MISSED_DEADLINE_PERSISTENT", "RESOURCE_EXHAUSTED_TRANSIENT",
	"RESOURCE_EXHAUSTED_PERSISTENT", "DEAD_OBJECT",
};

/*
 * Parts of the text that nnapi_called() returns: the settings of a compilation, and two runs in a
 * burst.
 */
#define NNAPI_SET(devices, preference, priority) \
	"for " #devices ", preference " #preference ", priority " #priority ", "
#define NNAPI_IN_BURST "burst, run in it, run in it, "

#endif /* NN_TESTS_NNAPI_CALLS_H */
