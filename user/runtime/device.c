/* SPDX-License-Identifier: MIT */
/*
 * The list of devices, and the device properties that applications can query.
 */
#include "base/clock.h"
#include "runtime/device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/compilation.h"
#include "runtime/feature_level.h"
#include "runtime/handle.h"
#include "runtime/log.h"

/* The first and the longest pause between two searches for a missing device. */
#define FIRST_PAUSE_NS UINT64_C(100000000)
#define LONGEST_PAUSE_NS UINT64_C(5000000000)

/*
 * All fields of a device are set before `num_accels` includes the device. After `num_accels`
 * includes a device, only the device's `facts` change. A thread that searches for accelerators
 * holds `lock`, which protects the fields after `lock`.
 */
static struct {
	pthread_once_t once;
	ANeuralNetworksDevice cpu;
	ANeuralNetworksDevice accels[NNA_MAX_DEVICES];
	atomic_uint num_accels;

	pthread_mutex_t lock;
	uint64_t pause_ns;
	uint64_t next_ns;
	uint32_t process;		/* result of handle_process() at the last search */
	struct nn_error missing;	/* reason why the first search found no device */
} list = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

void device_lock_list(void)
{
	pthread_mutex_lock(&list.lock);
}

void device_unlock_list(void)
{
	pthread_mutex_unlock(&list.lock);
}

static uint32_t count_accels(void)
{
	return atomic_load_explicit(&list.num_accels, memory_order_acquire);
}

static void log_device(const ANeuralNetworksDevice *device)
{
	nna_log(NNA_LOG_INFO, "device %s, version %s, feature level %u", device->name,
	       device_info(device)->version, device_info(device)->feature_level);
}

static bool is_listed(const struct nna_device_entry *entry)
{
	for (uint32_t i = 0; i < count_accels(); i++)
		if (!strcmp(list.accels[i].path, entry->path))
			return true;
	/* Device names must differ, because programs distinguish devices by name. */
	return !strcmp(entry->name, list.cpu.name);
}

/*
 * Searches for accelerators. The caller holds the lock of the device list. If `wait` is set, waits
 * for the engine of the first device, which may be starting.
 */
static void look(bool wait)
{
	struct nna_device_entry entries[NNA_MAX_DEVICES];
	uint32_t count = NNA_MAX_DEVICES, num_accels = count_accels();
	struct nn_error reason = { "" };

	if (nna_device_list(entries, sizeof(entries[0]), &count, &reason))
		count = 0;
	if (!count) {
		/* Try to open the default path, because the error shows why there is no device. */
		memset(&entries[0], 0, sizeof(entries[0]));
		strcpy(entries[0].path, NNA_DEVICE_PATH);
		count = 1;
	}
	for (uint32_t i = 0; i < count && i < NNA_MAX_DEVICES && num_accels < NNA_MAX_DEVICES; i++) {
		if (is_listed(&entries[i]) || (i && !entries[i].is_ready))
			continue;
		if (!device_nnaccel_open(&list.accels[num_accels], &entries[i], wait && !i,
					 &reason))
			continue;
		log_device(&list.accels[num_accels]);
		atomic_store_explicit(&list.num_accels, ++num_accels, memory_order_release);
	}
	if (!num_accels && !list.missing.message[0])
		list.missing = reason;
	list.pause_ns = list.pause_ns ? 2 * list.pause_ns : FIRST_PAUSE_NS;
	if (list.pause_ns > LONGEST_PAUSE_NS || num_accels)
		list.pause_ns = LONGEST_PAUSE_NS;
	list.next_ns = clock_ns() + list.pause_ns;
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

/*
 * Searches for accelerators if the pause after the last search is over. If no accelerator is known,
 * find_devices() also searches if `at_once` is set, or if a forked child has not searched yet.
 */
static void find_devices(bool at_once)
{
	pthread_once(&list.once, open_devices);
	/*
	 * Do not wait for another thread that is searching: the next call returns the devices that
	 * the search finds.
	 */
	if (pthread_mutex_trylock(&list.lock))
		return;
	if (clock_ns() >= list.next_ns ||
	    (!count_accels() && (at_once || list.process != handle_process()))) {
		list.process = handle_process();
		look(false);
	}
	pthread_mutex_unlock(&list.lock);
}

static uint32_t list_devices(const ANeuralNetworksDevice *devices[DEVICE_MAX])
{
	uint32_t count = count_accels();

	for (uint32_t i = 0; i < count; i++)
		devices[i] = &list.accels[i];
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
	return count_accels() ? NULL : list.missing.message;
}

/*
 * The function device_at() must not search for devices, because `index` refers to the list that
 * device_count() counted.
 */
const ANeuralNetworksDevice *device_at(uint32_t index)
{
	const ANeuralNetworksDevice *devices[DEVICE_MAX];

	pthread_once(&list.once, open_devices);
	return index < list_devices(devices) ? devices[index] : NULL;
}

void device_refresh(void)
{
	for (uint32_t i = 0; i < count_accels(); i++)
		device_nnaccel_refresh(&list.accels[i]);
}

const ANeuralNetworksDevice *device_cpu(void)
{
	pthread_once(&list.once, open_devices);
	return &list.cpu;
}

int device_get_supported(const ANeuralNetworksDevice *device, const struct graph *graph,
			 bool *supported, struct nn_error *err)
{
	int result = device->ops->get_supported(device, graph, supported, err);

	if (result != ANEURALNETWORKS_NO_ERROR)
		nna_log(NNA_LOG_WARN, "%s: the query for supported operations failed: %s: %s",
			device->name, rt_result_name(result), err->message);
	return result;
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
				       "device %u of the list does not exist", i);
		for (k = 0; k < i; k++)
			if (devices[k] == devices[i])
				return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
					       "device %u of the list is given twice: %s", i,
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
	/* Applications never write to a device, because all functions take const devices. */
	*device = (ANeuralNetworksDevice *)device_at(devIndex);
	if (!*device)
		return rt_refuse(ANEURALNETWORKS_BAD_DATA, "device %u must be below %u", devIndex,
				 device_count());
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice *device, const char **name)
{
	RT_NOT_NULL(device, name);
	*name = device->name;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice *device, const char **version)
{
	RT_NOT_NULL(device, version);
	*version = device_info(device)->version;
	return ANEURALNETWORKS_NO_ERROR;
}

/* The device types of the HAL have the same values as those of the NDK. */
int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice *device, int32_t *type)
{
	RT_NOT_NULL(device, type);
	*type = device_info(device)->type;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice *device,
					  int64_t *featureLevel)
{
	RT_NOT_NULL(device, featureLevel);
	*featureLevel = feature_level_code(device_info(device)->feature_level);
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice *device)
{
	RT_NOT_NULL(device);
	return RT_CALL(device->ops->wait(device, &err));
}
