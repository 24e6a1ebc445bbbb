/* SPDX-License-Identifier: MIT */
/*
 * The list of devices, and what applications may ask of one.
 */
#include "runtime/device.h"

#include <pthread.h>

#include "runtime/feature_level.h"
#include "runtime/log.h"

#define MAX_DEVICES 2

/* Fixed at first use, for the life of the process. */
static struct {
	pthread_once_t once;
	uint32_t count;
	ANeuralNetworksDevice devices[MAX_DEVICES];
} list = { .once = PTHREAD_ONCE_INIT };

static void open_devices(void)
{
	uint32_t i;

	if (device_nnaccel_open(&list.devices[list.count]))
		list.count++;
	device_cpu_open(&list.devices[list.count++]);
	for (i = 0; i < list.count; i++)
		rt_log(RT_LOG_INFO, "device %u: %s, version %s, feature level %u", i,
		       list.devices[i].name, list.devices[i].info.version,
		       list.devices[i].info.feature_level);
}

uint32_t device_count(void)
{
	pthread_once(&list.once, open_devices);
	return list.count;
}

const ANeuralNetworksDevice *device_at(uint32_t index)
{
	return index < device_count() ? &list.devices[index] : NULL;
}

const ANeuralNetworksDevice *device_cpu(void)
{
	return device_at(device_count() - 1);
}

int device_check_list(const ANeuralNetworksDevice *const *devices, uint32_t count,
		      struct nn_error *err)
{
	uint32_t i, k;

	if (!count)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "no device in the list");
	for (i = 0; i < count; i++) {
		if (!devices[i])
			return rt_fail(err, ANEURALNETWORKS_UNEXPECTED_NULL,
				       "device %u of the list is NULL", i);
		for (k = 0; k < device_count() && devices[i] != device_at(k); k++)
			;
		if (k == device_count())
			return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
				       "device %u of the list is none of ours", i);
		for (k = 0; k < i; k++)
			if (devices[k] == devices[i])
				return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
					       "device %u of the list is there already: %s", i,
					       devices[i]->name);
	}
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworks_getDeviceCount(uint32_t *numDevices)
{
	RT_NOT_NULL(numDevices);
	*numDevices = device_count();
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice **device)
{
	RT_NOT_NULL(device);
	/* Applications never write to it: the functions that take one take const. */
	*device = (ANeuralNetworksDevice *)device_at(devIndex);
	if (!*device)
		return rt_refuse(ANEURALNETWORKS_BAD_DATA, "device %u of %u", devIndex,
				 device_count());
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice *device, const char **name)
{
	RT_NOT_NULL(device);
	RT_NOT_NULL(name);
	*name = device->name;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice *device, const char **version)
{
	RT_NOT_NULL(device);
	RT_NOT_NULL(version);
	*version = device->info.version;
	return ANEURALNETWORKS_NO_ERROR;
}

/* The HAL's types have the values of the NDK's. */
int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice *device, int32_t *type)
{
	RT_NOT_NULL(device);
	RT_NOT_NULL(type);
	*type = device->info.type;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice *device,
					  int64_t *featureLevel)
{
	RT_NOT_NULL(device);
	RT_NOT_NULL(featureLevel);
	*featureLevel = feature_level_code(device->info.feature_level);
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice *device)
{
	struct nn_error err = { "" };

	RT_NOT_NULL(device);
	return rt_end(device->ops->wait(device, &err), &err);
}
