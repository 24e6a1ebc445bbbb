// SPDX-License-Identifier: MIT
/* Finds devices of the NNAPI by name, returns names of result codes, and prints messages. */
#include "clients/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clients/dynamic.h"

bool devices_add(struct devices *devices, const char *name)
{
	uint32_t count = 0;

	ANeuralNetworks_getDeviceCount(&count);
	for (uint32_t i = 0; i < count && devices->count < MAX_DEVICES; i++) {
		ANeuralNetworksDevice *device;
		const char *of;

		if (ANeuralNetworks_getDevice(i, &device) ||
		    ANeuralNetworksDevice_getName(device, &of) || strcmp(of, name))
			continue;
		for (uint32_t k = 0; k < devices->count; k++)
			if (devices->list[k] == device)
				return true;
		devices->list[devices->count++] = device;
		return true;
	}
	return false;
}

bool device_is_cpu(const ANeuralNetworksDevice *device)
{
	int32_t type;

	return !ANeuralNetworksDevice_getType(device, &type) && type == ANEURALNETWORKS_DEVICE_CPU;
}

bool devices_have_cpu(const struct devices *devices)
{
	for (uint32_t i = 0; i < devices->count; i++)
		if (device_is_cpu(devices->list[i]))
			return true;
	return false;
}

bool devices_have_dynamic(const struct devices *devices)
{
	_Atomic(int) *known = (_Atomic(int) *)&devices->dynamic;
	int answer = atomic_load(known);

	if (!answer) {
		answer = dynamic_is_supported(devices->list, devices->count) + 1;
		atomic_store(known, answer);
	}
	return answer - 1;
}

void devices_names(const struct devices *devices, char *names, size_t size)
{
	size_t at = 0;

	names[0] = '\0';
	for (uint32_t i = 0; i < devices->count && at < size; i++) {
		const char *name = "?";

		ANeuralNetworksDevice_getName(devices->list[i], &name);
		at += (size_t)snprintf(names + at, size - at, "%s%s", i ? ", " : "", name);
	}
}

int devices_compile(const struct devices *devices, const struct options *options,
		    ANeuralNetworksModel *model, const uint8_t *token,
		    ANeuralNetworksCompilation **compilation)
{
	int result;

	*compilation = NULL;
	result = !devices ? ANeuralNetworksCompilation_create(model, compilation) :
		 ANeuralNetworksCompilation_createForDevices(model, devices->list, devices->count,
							     compilation);
	if (!result)
		result = ANeuralNetworksCompilation_setPreference(*compilation,
								  options_preference(options));
	if (!result)
		result = ANeuralNetworksCompilation_setPriority(*compilation, options->priority);
	if (!result && token)
		result = ANeuralNetworksCompilation_setCaching(*compilation, options->cache_dir,
							       token);
	if (!result)
		result = ANeuralNetworksCompilation_finish(*compilation);
	if (!result)
		return result;
	ANeuralNetworksCompilation_free(*compilation);
	*compilation = NULL;
	return result;
}

const char *result_name(int result)
{
	static const char *const names[] = {
		"NO_ERROR", "OUT_OF_MEMORY", "INCOMPLETE", "UNEXPECTED_NULL", "BAD_DATA",
		"OP_FAILED", "BAD_STATE", "UNMAPPABLE", "OUTPUT_INSUFFICIENT_SIZE",
		"UNAVAILABLE_DEVICE", "MISSED_DEADLINE_TRANSIENT", "MISSED_DEADLINE_PERSISTENT",
		"RESOURCE_EXHAUSTED_TRANSIENT", "RESOURCE_EXHAUSTED_PERSISTENT", "DEAD_OBJECT",
	};

	return result >= 0 && (size_t)result < sizeof(names) / sizeof(names[0]) ?
	       names[result] : "an unknown result";
}

void say(uint32_t verbosity, uint32_t level, const char *format, ...)
{
	char line[512];
	va_list args;

	if (verbosity < level)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	/* Write the line in one call, so that lines of several threads do not mix. */
	fprintf(stderr, "nnaccel: %s%s\n", said_by, line);
}
