/* SPDX-License-Identifier: MIT */
/*
 * The table of functions that loaders of NNAPI support libraries request. The functions are those
 * of the runtime; device.c and diagnostic.c add those that only support libraries have.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "clients/support_library/support_library.h"
#include "runtime/feature_level.h"
#include "runtime/log.h"

#define LOWEST_LEVEL 5
#define HIGHEST_LEVEL 8

#define ENTRY(name) .name = name

static NnApiSLDriverImplFL8 table = {
	.base = {
		ENTRY(ANeuralNetworksBurst_create),
		ENTRY(ANeuralNetworksBurst_free),
		ENTRY(ANeuralNetworksCompilation_createForDevices),
		ENTRY(ANeuralNetworksCompilation_finish),
		ENTRY(ANeuralNetworksCompilation_free),
		ENTRY(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput),
		ENTRY(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput),
		ENTRY(ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput),
		ENTRY(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput),
		ENTRY(ANeuralNetworksCompilation_setCaching),
		ENTRY(ANeuralNetworksCompilation_setPreference),
		ENTRY(ANeuralNetworksCompilation_setPriority),
		ENTRY(ANeuralNetworksCompilation_setTimeout),
		ENTRY(ANeuralNetworksDevice_getExtensionSupport),
		ENTRY(ANeuralNetworksDevice_getFeatureLevel),
		ENTRY(ANeuralNetworksDevice_getName),
		ENTRY(ANeuralNetworksDevice_getType),
		ENTRY(ANeuralNetworksDevice_getVersion),
		ENTRY(ANeuralNetworksDevice_wait),
		ENTRY(ANeuralNetworksEvent_createFromSyncFenceFd),
		ENTRY(ANeuralNetworksEvent_free),
		ENTRY(ANeuralNetworksEvent_getSyncFenceFd),
		ENTRY(ANeuralNetworksEvent_wait),
		ENTRY(ANeuralNetworksExecution_burstCompute),
		ENTRY(ANeuralNetworksExecution_compute),
		ENTRY(ANeuralNetworksExecution_create),
		ENTRY(ANeuralNetworksExecution_enableInputAndOutputPadding),
		ENTRY(ANeuralNetworksExecution_free),
		ENTRY(ANeuralNetworksExecution_getDuration),
		ENTRY(ANeuralNetworksExecution_getOutputOperandDimensions),
		ENTRY(ANeuralNetworksExecution_getOutputOperandRank),
		ENTRY(ANeuralNetworksExecution_setInput),
		ENTRY(ANeuralNetworksExecution_setInputFromMemory),
		ENTRY(ANeuralNetworksExecution_setLoopTimeout),
		ENTRY(ANeuralNetworksExecution_setMeasureTiming),
		ENTRY(ANeuralNetworksExecution_setOutput),
		ENTRY(ANeuralNetworksExecution_setOutputFromMemory),
		ENTRY(ANeuralNetworksExecution_setReusable),
		ENTRY(ANeuralNetworksExecution_setTimeout),
		ENTRY(ANeuralNetworksExecution_startComputeWithDependencies),
		ENTRY(ANeuralNetworksMemoryDesc_addInputRole),
		ENTRY(ANeuralNetworksMemoryDesc_addOutputRole),
		ENTRY(ANeuralNetworksMemoryDesc_create),
		ENTRY(ANeuralNetworksMemoryDesc_finish),
		ENTRY(ANeuralNetworksMemoryDesc_free),
		ENTRY(ANeuralNetworksMemoryDesc_setDimensions),
		ENTRY(ANeuralNetworksMemory_copy),
		ENTRY(ANeuralNetworksMemory_createFromAHardwareBuffer),
		ENTRY(ANeuralNetworksMemory_createFromDesc),
		ENTRY(ANeuralNetworksMemory_createFromFd),
		ENTRY(ANeuralNetworksMemory_free),
		ENTRY(ANeuralNetworksModel_addOperand),
		ENTRY(ANeuralNetworksModel_addOperation),
		ENTRY(ANeuralNetworksModel_create),
		ENTRY(ANeuralNetworksModel_finish),
		ENTRY(ANeuralNetworksModel_free),
		ENTRY(ANeuralNetworksModel_getExtensionOperandType),
		ENTRY(ANeuralNetworksModel_getExtensionOperationType),
		ENTRY(ANeuralNetworksModel_getSupportedOperationsForDevices),
		ENTRY(ANeuralNetworksModel_identifyInputsAndOutputs),
		ENTRY(ANeuralNetworksModel_relaxComputationFloat32toFloat16),
		ENTRY(ANeuralNetworksModel_setOperandExtensionData),
		ENTRY(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams),
		ENTRY(ANeuralNetworksModel_setOperandValue),
		ENTRY(ANeuralNetworksModel_setOperandValueFromMemory),
		ENTRY(ANeuralNetworksModel_setOperandValueFromModel),
		ENTRY(ANeuralNetworks_getDefaultLoopTimeout),
		ENTRY(ANeuralNetworks_getDevice),
		ENTRY(ANeuralNetworks_getDeviceCount),
		ENTRY(ANeuralNetworks_getMaximumLoopTimeout),
		ENTRY(ANeuralNetworks_getRuntimeFeatureLevel),
	},
	ENTRY(ANeuralNetworksCompilation_addExtensionAttribute),
	ENTRY(ANeuralNetworksExecution_addExtensionAttribute),
};

static uint32_t wanted_level(void)
{
	const char *text = secure_getenv("NNACCEL_SL_FEATURE_LEVEL");
	char *end = NULL;
	long level = text ? strtol(text, &end, 10) : HIGHEST_LEVEL;

	if (text && (end == text || *end || level < LOWEST_LEVEL || level > HIGHEST_LEVEL)) {
		nna_log(NNA_LOG_WARN, "NNACCEL_SL_FEATURE_LEVEL: \"%.32s\" is not a number from %d to %d",
		       text, LOWEST_LEVEL, HIGHEST_LEVEL);
		return HIGHEST_LEVEL;
	}
	return (uint32_t)level;
}

/* Fills the table before any other code can get it; it is constant afterwards. */
__attribute__((constructor)) static void fill_table(void)
{
	sl_fill_device(&table.base);
	sl_fill_diagnostic(&table.base);
	table.base.base.implFeatureLevel = feature_level_code(wanted_level());
}

NnApiSLDriverImpl *ANeuralNetworks_getSLDriverImpl(void)
{
	return &table.base.base;
}
