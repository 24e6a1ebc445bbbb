/* SPDX-License-Identifier: MIT */
/*
 * The list of devices, and what applications may ask of one.
 */
#include "runtime/device.h"

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/compilation.h"
#include "runtime/feature_level.h"
#include "runtime/handle.h"
#include "runtime/log.h"

/* Pauses between looks for a device that was not there: the first, and the longest. */
#define FIRST_PAUSE_NS UINT64_C(100000000)
#define LONGEST_PAUSE_NS UINT64_C(5000000000)

/*
 * Devices are written before they are published by `has_accel`; later only their facts. The lock is
 * held by whoever looks for the accelerator, and protects when that is done next.
 */
static struct {
	pthread_once_t once;
	ANeuralNetworksDevice cpu;
	ANeuralNetworksDevice accel;
	atomic_bool has_accel;

	pthread_mutex_t lock;
	uint64_t pause_ns;
	uint64_t next_ns;
	uint32_t process;		/* that these pauses are of */
	struct nn_error missing;	/* why it was not there at first */
} list = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

static void log_device(const ANeuralNetworksDevice *device)
{
	nna_log(NNA_LOG_INFO, "device %s, version %s, feature level %u", device->name,
	       device_info(device)->version, device_info(device)->feature_level);
}

/* Called with the lock held. */
static void look(bool wait)
{
	struct nn_error reason = { "" };

	if (device_nnaccel_open(&list.accel, wait, &reason)) {
		log_device(&list.accel);
		atomic_store_explicit(&list.has_accel, true, memory_order_release);
		return;
	}
	if (!list.missing.message[0])
		list.missing = reason;
	list.pause_ns = list.pause_ns ? 2 * list.pause_ns : FIRST_PAUSE_NS;
	if (list.pause_ns > LONGEST_PAUSE_NS)
		list.pause_ns = LONGEST_PAUSE_NS;
	list.next_ns = clock_now_ns() + list.pause_ns;
}

static void open_devices(void)
{
	device_cpu_open(&list.cpu);
	log_device(&list.cpu);
	pthread_mutex_lock(&list.lock);
	list.process = handle_process();
	look(true);
	pthread_mutex_unlock(&list.lock);
}

/* Looks for the accelerator where it is not there: at once, or if it is time. */
static void find_devices(bool at_once)
{
	pthread_once(&list.once, open_devices);
	if (atomic_load_explicit(&list.has_accel, memory_order_acquire))
		return;
	/* Who finds the lock taken sees what the one who has it finds, next time. */
	if (pthread_mutex_trylock(&list.lock))
		return;
	if (!atomic_load_explicit(&list.has_accel, memory_order_relaxed) &&
	    (at_once || list.process != handle_process() || clock_now_ns() >= list.next_ns)) {
		list.process = handle_process();
		look(false);
	}
	pthread_mutex_unlock(&list.lock);
}

static uint32_t list_devices(const ANeuralNetworksDevice *devices[DEVICE_MAX])
{
	uint32_t count = 0;

	if (atomic_load_explicit(&list.has_accel, memory_order_acquire))
		devices[count++] = &list.accel;
	devices[count++] = &list.cpu;
	return count;
}

uint32_t device_list(const ANeuralNetworksDevice *devices[DEVICE_MAX])
{
	find_devices(true);
	return list_devices(devices);
}

uint32_t device_count(void)
{
	const ANeuralNetworksDevice *devices[DEVICE_MAX];

	find_devices(false);
	return list_devices(devices);
}

const char *device_missing(void)
{
	pthread_once(&list.once, open_devices);
	return atomic_load_explicit(&list.has_accel, memory_order_acquire) ? NULL :
	       list.missing.message;
}

/* Does not look for devices: an index is of the list that device_count() counted. */
const ANeuralNetworksDevice *device_at(uint32_t index)
{
	const ANeuralNetworksDevice *devices[DEVICE_MAX];

	pthread_once(&list.once, open_devices);
	return index < list_devices(devices) ? devices[index] : NULL;
}

void device_refresh(void)
{
	if (atomic_load_explicit(&list.has_accel, memory_order_acquire))
		device_nnaccel_refresh(&list.accel);
}

const ANeuralNetworksDevice *device_cpu(void)
{
	pthread_once(&list.once, open_devices);
	return &list.cpu;
}

int device_check_list(const ANeuralNetworksDevice *const *devices, uint32_t count,
		      struct nn_error *err)
{
	const ANeuralNetworksDevice *ours[DEVICE_MAX];
	uint32_t num_ours, i, k;

	pthread_once(&list.once, open_devices);
	num_ours = list_devices(ours);
	if (!count)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "no device in the list");
	for (i = 0; i < count; i++) {
		if (!devices[i])
			return rt_fail(err, ANEURALNETWORKS_UNEXPECTED_NULL,
				       "device %u of the list is NULL", i);
		for (k = 0; k < num_ours && devices[i] != ours[k]; k++)
			;
		if (k == num_ours)
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
	*version = device_info(device)->version;
	return ANEURALNETWORKS_NO_ERROR;
}

/* The HAL's types have the values of the NDK's. */
int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice *device, int32_t *type)
{
	RT_NOT_NULL(device);
	RT_NOT_NULL(type);
	*type = device_info(device)->type;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice *device,
					  int64_t *featureLevel)
{
	RT_NOT_NULL(device);
	RT_NOT_NULL(featureLevel);
	*featureLevel = feature_level_code(device_info(device)->feature_level);
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice *device)
{
	struct nn_error err = { "" };

	RT_NOT_NULL(device);
	return rt_end(device->ops->wait(device, &err), &err);
}
