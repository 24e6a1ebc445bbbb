/* SPDX-License-Identifier: MIT */
/*
 * The functions for devices in a support library's table: cache files, performance, extensions, and
 * caching in files that the caller has opened.
 */
#include <float.h>

#include "clients/support_library/support_library.h"
#include "runtime/compilation.h"
#include "runtime/log.h"

static int set_caching_from_fds(ANeuralNetworksCompilation *compilation, const int *model_fds,
				const uint32_t num_model, const int *data_fds,
				const uint32_t num_data, const uint8_t *token)
{
	struct nn_error err = { "" };

	RT_NOT_NULL(compilation);
	RT_NOT_NULL(token);
	if ((num_model && !model_fds) || (num_data && !data_fds))
		return rt_refuse(ANEURALNETWORKS_UNEXPECTED_NULL, "a list of files is NULL");
	return rt_end(compilation_set_cache_files(compilation, model_fds, num_model, data_fds,
						  num_data, token, &err), &err);
}

static int get_cache_files(const ANeuralNetworksDevice *device, uint32_t *num_model,
			   uint32_t *num_data)
{
	if (num_model)
		*num_model = 0;
	if (num_data)
		*num_data = 0;
	RT_NOT_NULL(device);
	RT_NOT_NULL(num_model);
	RT_NOT_NULL(num_data);
	*num_model = device_info(device)->model_cache_files;
	*num_data = device_info(device)->data_cache_files;
	return ANEURALNETWORKS_NO_ERROR;
}

static SL_ANeuralNetworksPerformanceInfo figures(const struct nn_performance *performance)
{
	return (SL_ANeuralNetworksPerformanceInfo){ performance->exec_time,
						    performance->power_usage };
}

static int get_performance(const ANeuralNetworksDevice *device, int32_t kind,
			   SL_ANeuralNetworksPerformanceInfo *performance)
{
	RT_NOT_NULL(device);
	RT_NOT_NULL(performance);
	switch (kind) {
	case SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_SCALAR:
		*performance = figures(&device_info(device)->relaxed_scalar);
		break;
	case SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_TENSOR:
		*performance = figures(&device_info(device)->relaxed_tensor);
		break;
	case SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_IF:
		*performance = figures(&device_info(device)->if_performance);
		break;
	case SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_WHILE:
		*performance = figures(&device_info(device)->while_performance);
		break;
	default:
		return rt_refuse(ANEURALNETWORKS_BAD_DATA, "performance kind %d is unknown", kind);
	}
	return ANEURALNETWORKS_NO_ERROR;
}

static int for_each_performance(const ANeuralNetworksDevice *device, void *context,
				void (*callback)(SL_ANeuralNetworksOperandPerformanceInfo, void *))
{
	RT_NOT_NULL(device);
	RT_NOT_NULL(callback);
	for (int32_t type = 0; type < NN_TYPE_COUNT; type++) {
		const struct nn_performance *p = &device_info(device)->operand[type];

		if (p->exec_time < FLT_MAX)
			callback((SL_ANeuralNetworksOperandPerformanceInfo){ type, figures(p) },
				 context);
	}
	return ANEURALNETWORKS_NO_ERROR;
}

static int get_extension_count(const ANeuralNetworksDevice *device, uint32_t *count)
{
	RT_NOT_NULL(device);
	RT_NOT_NULL(count);
	*count = device_facts(device)->num_extensions;
	return ANEURALNETWORKS_NO_ERROR;
}

static int check_extension(const ANeuralNetworksDevice *device, uint32_t index)
{
	return index < device_facts(device)->num_extensions ? ANEURALNETWORKS_NO_ERROR :
	       rt_refuse(ANEURALNETWORKS_BAD_DATA, "%s: no extension %u of %u",
			 device->name, index, device_facts(device)->num_extensions);
}

static int get_extension_name(const ANeuralNetworksDevice *device, uint32_t index,
			      const char **name)
{
	int result;

	RT_NOT_NULL(device);
	RT_NOT_NULL(name);
	result = check_extension(device, index);
	if (result == ANEURALNETWORKS_NO_ERROR)
		*name = device_facts(device)->extensions[index].name;
	return result;
}

static int for_each_extension_type(
	const ANeuralNetworksDevice *device, uint32_t index, void *context,
	void (*callback)(SL_ANeuralNetworksExtensionOperandTypeInformation, void *))
{
	const struct nn_device_extension *extension;
	int result;

	RT_NOT_NULL(device);
	RT_NOT_NULL(callback);
	result = check_extension(device, index);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	extension = &device_facts(device)->extensions[index];
	for (uint32_t i = 0; i < extension->num_types; i++) {
		const struct nn_device_extension_item *t = &extension->types[i];
		const SL_ANeuralNetworksExtensionOperandTypeInformation type = {
			.byteSize = t->element_size,
			.type = t->code,
			.isTensor = t->is_tensor,
		};

		callback(type, context);
	}
	return ANEURALNETWORKS_NO_ERROR;
}

void sl_fill_device(NnApiSLDriverImplFL5 *table)
{
	table->SL_ANeuralNetworksCompilation_setCachingFromFds = set_caching_from_fds;
	table->SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded = get_cache_files;
	table->SL_ANeuralNetworksDevice_getPerformanceInfo = get_performance;
	table->SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo = for_each_performance;
	table->SL_ANeuralNetworksDevice_getVendorExtensionCount = get_extension_count;
	table->SL_ANeuralNetworksDevice_getVendorExtensionName = get_extension_name;
	table->SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation =
		for_each_extension_type;
}
