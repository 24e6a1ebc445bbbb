// SPDX-License-Identifier: MIT
/*
 * The plug-in: CreateEpFactories() makes one factory, which offers each device of the NNAPI as an
 * OrtEpDevice and creates execution providers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/device.h"
#include "ep.h"
#include "version.h"

#define EXPORT __attribute__((visibility("default")))

struct factory {
	/*
	 * `api` is the first field, because ONNX Runtime's pointer to `api` is also the factory's
	 * pointer
	 */
	struct ort_ep_factory api;
	struct ort ort;
	char *name;
};

static const char *get_name(const OrtEpFactory *factory)
{
	return ((const struct factory *)factory)->name;
}

static const char *get_vendor(const OrtEpFactory *factory)
{
	(void)factory;
	return "nnaccel";
}

static uint32_t get_vendor_id(const OrtEpFactory *factory)
{
	(void)factory;
	return 0;
}

static const char *get_version(const OrtEpFactory *factory)
{
	(void)factory;
	return NNACCEL_VERSION;
}

static bool is_stream_aware(const OrtEpFactory *factory)
{
	(void)factory;
	return false;
}

/* ---- functions that every factory has; tensors are in the host's memory ---- */

static OrtStatus *validate_compiled(OrtEpFactory *factory,
				    const OrtHardwareDevice *const *devices, size_t count,
				    const char *info, unsigned int *compatibility)
{
	(void)factory;
	(void)devices;
	(void)count;
	(void)info;
	/* compatibility is not applicable, because the plug-in writes no compiled models */
	*compatibility = 0;
	return NULL;
}

static OrtStatus *create_allocator(OrtEpFactory *factory, const OrtMemoryInfo *memory,
				   const OrtKeyValuePairs *options, OrtAllocator **allocator)
{
	(void)factory;
	(void)memory;
	(void)options;
	*allocator = NULL;
	return NULL;
}

static void release_allocator(OrtEpFactory *factory, OrtAllocator *allocator)
{
	(void)factory;
	(void)allocator;
}

static OrtStatus *create_data_transfer(OrtEpFactory *factory, OrtDataTransferImpl **transfer)
{
	(void)factory;
	*transfer = NULL;
	return NULL;
}

static OrtStatus *create_stream(OrtEpFactory *factory, const OrtMemoryDevice *device,
				const OrtKeyValuePairs *options, OrtSyncStreamImpl **stream)
{
	(void)factory;
	(void)device;
	(void)options;
	*stream = NULL;
	return NULL;
}

/* ---- devices ---- */

/*
 * Chooses an NPU, or else the CPU, from ONNX Runtime's list of hardware. The chosen hardware
 * represents a device of the NNAPI, because the list lacks the NNAPI's devices.
 */
static const OrtHardwareDevice *hardware_for(const struct ort *ort, bool is_cpu,
					     const OrtHardwareDevice *const *devices, size_t count)
{
	const OrtHardwareDevice *cpu = NULL;

	for (size_t i = 0; i < count; i++) {
		OrtHardwareDeviceType type = ort->HardwareDevice_Type(devices[i]);

		if (type == ORT_HARDWARE_NPU && !is_cpu)
			return devices[i];
		if (type == ORT_HARDWARE_CPU && !cpu)
			cpu = devices[i];
	}
	return cpu;
}

static OrtStatus *add_device(struct factory *factory, ANeuralNetworksDevice *device,
			     const OrtHardwareDevice *const *devices, size_t count,
			     OrtEpDevice **ep_devices, size_t max, size_t *found)
{
	const struct ort *ort = &factory->ort;
	const OrtHardwareDevice *hardware;
	const char *name, *version;
	OrtKeyValuePairs *metadata;
	int32_t type;
	OrtStatus *status;

	if (ANeuralNetworksDevice_getName(device, &name) ||
	    ANeuralNetworksDevice_getVersion(device, &version) ||
	    ANeuralNetworksDevice_getType(device, &type))
		return NULL;
	hardware = hardware_for(ort, type == ANEURALNETWORKS_DEVICE_CPU, devices, count);
	if (!hardware || *found == max)
		return NULL;
	ort->CreateKeyValuePairs(&metadata);
	ort->AddKeyValuePair(metadata, "device", name);
	ort->AddKeyValuePair(metadata, "device_version", version);
	ort->AddKeyValuePair(metadata, "device_type",
			     type == ANEURALNETWORKS_DEVICE_CPU ? "cpu" : "accelerator");
	status = ort->CreateEpDevice((OrtEpFactory *)factory, hardware, metadata, NULL,
				     &ep_devices[*found]);
	ort->ReleaseKeyValuePairs(metadata);
	if (!status)
		(*found)++;
	return status;
}

static OrtStatus *get_supported_devices(OrtEpFactory *this_factory,
					const OrtHardwareDevice *const *devices, size_t count,
					OrtEpDevice **ep_devices, size_t max, size_t *found)
{
	uint32_t device_count = 0;
	OrtStatus *status = NULL;

	*found = 0;
	ANeuralNetworks_getDeviceCount(&device_count);
	for (uint32_t i = 0; !status && i < device_count; i++) {
		ANeuralNetworksDevice *device;

		if (!ANeuralNetworks_getDevice(i, &device))
			status = add_device((struct factory *)this_factory, device, devices, count,
					    ep_devices, max, found);
	}
	return status;
}

static OrtStatus *create_ep(OrtEpFactory *this_factory, const OrtHardwareDevice *const *devices,
			    const OrtKeyValuePairs *const *metadata, size_t count,
			    const OrtSessionOptions *session, const OrtLogger *logger, OrtEp **ep)
{
	struct factory *factory = (struct factory *)this_factory;
	const char *names[MAX_DEVICES];
	uint32_t name_count = 0;

	(void)devices;
	(void)logger;
	for (size_t i = 0; i < count && name_count < MAX_DEVICES; i++) {
		const char *name = factory->ort.GetKeyValue(metadata[i], "device");

		if (name)
			names[name_count++] = name;
	}
	return ep_new(&factory->ort, factory->name, name_count, names, session, ep);
}

static void release_ep(OrtEpFactory *factory, OrtEp *ep)
{
	(void)factory;
	ep_free(ep);
}

EXPORT OrtStatus *CreateEpFactories(const char *registered_name, const struct ort_api_base *base,
				    const OrtLogger *logger, OrtEpFactory **factories, size_t max,
				    size_t *count);
EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);

OrtStatus *CreateEpFactories(const char *registered_name, const struct ort_api_base *base,
			     const OrtLogger *logger, OrtEpFactory **factories, size_t max,
			     size_t *count)
{
	struct factory *factory = calloc(1, sizeof(*factory));

	(void)logger;
	*count = 0;
	/*
	 * Without ONNX Runtime's interface the plug-in cannot make an error status, so return no
	 * factory.
	 */
	if (!factory || !ort_load(&factory->ort, base)) {
		fprintf(stderr,
			"nnaccel: onnxruntime: version %s is too old, must be 1.%d or later\n",
			base->GetVersionString(), ORT_VERSION);
		free(factory);
		return NULL;
	}
	factory->name = strdup(registered_name);
	if (!factory->name || !max) {
		OrtStatus *status = factory->ort.CreateStatus(
			ORT_CODE_INVALID_ARGUMENT,
			"nnaccel: no memory, or no room for a factory");

		free(factory->name);
		free(factory);
		return status;
	}
	factory->api = (struct ort_ep_factory){
		.ort_version_supported = ORT_VERSION,
		.GetName = get_name,
		.GetVendor = get_vendor,
		.GetSupportedDevices = get_supported_devices,
		.CreateEp = create_ep,
		.ReleaseEp = release_ep,
		.GetVendorId = get_vendor_id,
		.GetVersion = get_version,
		.ValidateCompiledModelCompatibilityInfo = validate_compiled,
		.CreateAllocator = create_allocator,
		.ReleaseAllocator = release_allocator,
		.CreateDataTransfer = create_data_transfer,
		.IsStreamAware = is_stream_aware,
		.CreateSyncStreamForDevice = create_stream,
	};
	factories[0] = (OrtEpFactory *)factory;
	*count = 1;
	return NULL;
}

OrtStatus *ReleaseEpFactory(OrtEpFactory *this_factory)
{
	struct factory *factory = (struct factory *)this_factory;

	if (factory) {
		free(factory->name);
		free(factory);
	}
	return NULL;
}
