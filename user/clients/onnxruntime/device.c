// SPDX-License-Identifier: MIT
/* Devices of the NNAPI by name, names of results, messages. */
#include "device.h"

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

bool devices_have_cpu(const struct devices *devices)
{
	for (uint32_t i = 0; i < devices->count; i++) {
		int32_t type = ANEURALNETWORKS_DEVICE_UNKNOWN;

		ANeuralNetworksDevice_getType(devices->list[i], &type);
		if (type == ANEURALNETWORKS_DEVICE_CPU)
			return true;
	}
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

const char *result_name(int result)
{
	static const char *const names[] = {
		"NO_ERROR", "OUT_OF_MEMORY", "INCOMPLETE", "UNEXPECTED_NULL", "BAD_DATA",
		"OP_FAILED", "BAD_STATE", "UNMAPPABLE", "OUTPUT_INSUFFICIENT_SIZE",
		"UNAVAILABLE_DEVICE", "MISSED_DEADLINE_TRANSIENT", "MISSED_DEADLINE_PERSISTENT",
		"RESOURCE_EXHAUSTED_TRANSIENT", "RESOURCE_EXHAUSTED_PERSISTENT", "DEAD_OBJECT",
	};

	return result >= 0 && (size_t)result < sizeof(names) / sizeof(names[0]) ? names[result] :
										 "unknown error";
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
	/* One call, so that lines of several threads do not mix. */
	fprintf(stderr, "nnaccel: onnxruntime: %s\n", line);
}
