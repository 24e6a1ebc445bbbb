/* SPDX-License-Identifier: MIT */
/*
 * The NNAPI as a table of functions, for loaders of NNAPI support libraries such as TensorFlow
 * Lite's benchmark_model --nnapi_support_library_path. The function
 * ANeuralNetworks_getSLDriverImpl() of libnnapi_sl_nnaccel.so returns the table.
 *
 * The layout of the table is that of Android's support libraries: the feature level, then a pointer
 * to each function. Functions of the NNAPI have their usual names and behaviour in the table.
 * Functions whose names begin with SL_ exist in support libraries only.
 */
#ifndef NNACCEL_SUPPORT_LIBRARY_H
#define NNACCEL_SUPPORT_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include <android/NeuralNetworks.h>
#include <android/NeuralNetworksExtensions.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Execution time and power relative to the CPU reference, which is 1.0; lower is better. */
typedef struct {
	float execTime;
	float powerUsage;
} SL_ANeuralNetworksPerformanceInfo;

/* The speed of operations whose first operand has the type operandType (an OperandCode). */
typedef struct {
	int32_t operandType;
	SL_ANeuralNetworksPerformanceInfo performanceInfo;
} SL_ANeuralNetworksOperandPerformanceInfo;

/* A type of a vendor extension: its code, and the size of a scalar or tensor element in bytes. */
typedef struct {
	uint32_t byteSize;
	uint16_t type;
	bool isTensor;
} SL_ANeuralNetworksExtensionOperandTypeInformation;

typedef enum {
	SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_SCALAR = 0,
	SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_TENSOR = 1,
	SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_IF = 2,
	SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_WHILE = 3,
} SL_ANeuralNetworksPerformanceInfoCode;

/*
 * A compilation or an execution, passed to a callback for diagnostics and valid while the callback
 * runs.
 */
typedef struct ANeuralNetworksDiagnosticCompilationInfo ANeuralNetworksDiagnosticCompilationInfo;
typedef struct ANeuralNetworksDiagnosticExecutionInfo ANeuralNetworksDiagnosticExecutionInfo;

typedef enum {
	ANNDIAG_DATA_CLASS_UNKNOWN = 0,
	ANNDIAG_DATA_CLASS_OTHER = 1,
	ANNDIAG_DATA_CLASS_FLOAT32 = 2,
	ANNDIAG_DATA_CLASS_FLOAT16 = 3,
	ANNDIAG_DATA_CLASS_QUANT = 4,
	ANNDIAG_DATA_CLASS_MIXED = 5,
} ANeuralNetworksDiagnosticDataClass;

typedef enum {
	ANNDIAG_EXECUTION_MODE_UNKNOWN = 0,
	ANNDIAG_EXECUTION_MODE_ASYNC = 1,
	ANNDIAG_EXECUTION_MODE_SYNC = 2,
	ANNDIAG_EXECUTION_MODE_BURST = 3,
	ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS = 4,
} ANeuralNetworksDiagnosticExecutionMode;

typedef void (*ANeuralNetworksDiagnosticCompilationFinishedCallback)(
	const void *context, const ANeuralNetworksDiagnosticCompilationInfo *info);
typedef void (*ANeuralNetworksDiagnosticExecutionFinishedCallback)(
	const void *context, const ANeuralNetworksDiagnosticExecutionInfo *info);

/* The first field of each function table: a FeatureLevelCode of level 5 or above. */
typedef struct NnApiSLDriverImpl {
	int64_t implFeatureLevel;
} NnApiSLDriverImpl;

/* A pointer to a function of the NNAPI, in a field with the function's name. */
#define NN_SL_ENTRY(name) __typeof__(name) *name
#define NN_SL_MEMBER(name) NN_SL_ENTRY(name);

/* The functions of the NNAPI, in the order of the function table. */
#define NN_SL_FUNCTIONS(X) \
	X(ANeuralNetworksBurst_create) \
	X(ANeuralNetworksBurst_free) \
	X(ANeuralNetworksCompilation_createForDevices) \
	X(ANeuralNetworksCompilation_finish) \
	X(ANeuralNetworksCompilation_free) \
	X(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput) \
	X(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput) \
	X(ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput) \
	X(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput) \
	X(ANeuralNetworksCompilation_setCaching) \
	X(ANeuralNetworksCompilation_setPreference) \
	X(ANeuralNetworksCompilation_setPriority) \
	X(ANeuralNetworksCompilation_setTimeout) \
	X(ANeuralNetworksDevice_getExtensionSupport) \
	X(ANeuralNetworksDevice_getFeatureLevel) \
	X(ANeuralNetworksDevice_getName) \
	X(ANeuralNetworksDevice_getType) \
	X(ANeuralNetworksDevice_getVersion) \
	X(ANeuralNetworksDevice_wait) \
	X(ANeuralNetworksEvent_createFromSyncFenceFd) \
	X(ANeuralNetworksEvent_free) \
	X(ANeuralNetworksEvent_getSyncFenceFd) \
	X(ANeuralNetworksEvent_wait) \
	X(ANeuralNetworksExecution_burstCompute) \
	X(ANeuralNetworksExecution_compute) \
	X(ANeuralNetworksExecution_create) \
	X(ANeuralNetworksExecution_enableInputAndOutputPadding) \
	X(ANeuralNetworksExecution_free) \
	X(ANeuralNetworksExecution_getDuration) \
	X(ANeuralNetworksExecution_getOutputOperandDimensions) \
	X(ANeuralNetworksExecution_getOutputOperandRank) \
	X(ANeuralNetworksExecution_setInput) \
	X(ANeuralNetworksExecution_setInputFromMemory) \
	X(ANeuralNetworksExecution_setLoopTimeout) \
	X(ANeuralNetworksExecution_setMeasureTiming) \
	X(ANeuralNetworksExecution_setOutput) \
	X(ANeuralNetworksExecution_setOutputFromMemory) \
	X(ANeuralNetworksExecution_setReusable) \
	X(ANeuralNetworksExecution_setTimeout) \
	X(ANeuralNetworksExecution_startComputeWithDependencies) \
	X(ANeuralNetworksMemoryDesc_addInputRole) \
	X(ANeuralNetworksMemoryDesc_addOutputRole) \
	X(ANeuralNetworksMemoryDesc_create) \
	X(ANeuralNetworksMemoryDesc_finish) \
	X(ANeuralNetworksMemoryDesc_free) \
	X(ANeuralNetworksMemoryDesc_setDimensions) \
	X(ANeuralNetworksMemory_copy) \
	X(ANeuralNetworksMemory_createFromAHardwareBuffer) \
	X(ANeuralNetworksMemory_createFromDesc) \
	X(ANeuralNetworksMemory_createFromFd) \
	X(ANeuralNetworksMemory_free) \
	X(ANeuralNetworksModel_addOperand) \
	X(ANeuralNetworksModel_addOperation) \
	X(ANeuralNetworksModel_create) \
	X(ANeuralNetworksModel_finish) \
	X(ANeuralNetworksModel_free) \
	X(ANeuralNetworksModel_getExtensionOperandType) \
	X(ANeuralNetworksModel_getExtensionOperationType) \
	X(ANeuralNetworksModel_getSupportedOperationsForDevices) \
	X(ANeuralNetworksModel_identifyInputsAndOutputs) \
	X(ANeuralNetworksModel_relaxComputationFloat32toFloat16) \
	X(ANeuralNetworksModel_setOperandExtensionData) \
	X(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams) \
	X(ANeuralNetworksModel_setOperandValue) \
	X(ANeuralNetworksModel_setOperandValueFromMemory) \
	X(ANeuralNetworksModel_setOperandValueFromModel) \
	X(ANeuralNetworks_getDefaultLoopTimeout) \
	X(ANeuralNetworks_getDevice) \
	X(ANeuralNetworks_getDeviceCount) \
	X(ANeuralNetworks_getMaximumLoopTimeout) \
	X(ANeuralNetworks_getRuntimeFeatureLevel)

/* The table of functions for feature levels 5, 6 and 7. */
typedef struct NnApiSLDriverImplFL5 {
	NnApiSLDriverImpl base;
	NN_SL_FUNCTIONS(NN_SL_MEMBER)

	/*
	 * Sets the cache files of a compilation by their fds; ANeuralNetworksCompilation_setCaching
	 * sets a folder instead. The caller passes as many files of each kind as the compilation's
	 * only device needs, open for reading and writing. The library duplicates the fds.
	 * ANeuralNetworksCompilation_finish fills empty cache files. Returns BAD_DATA if the
	 * compilation is not for exactly one device, or if the number of files is wrong.
	 */
	int (*SL_ANeuralNetworksCompilation_setCachingFromFds)(
		ANeuralNetworksCompilation *compilation, const int *modelCacheFds,
		const uint32_t numModelCacheFiles, const int *dataCacheFds,
		const uint32_t numDataCacheFiles, const uint8_t *token);
	int (*SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded)(
		const ANeuralNetworksDevice *device, uint32_t *numModelCacheFiles,
		uint32_t *numDataCacheFiles);
	/*
	 * Sets *performanceInfo for an SL_ANeuralNetworksPerformanceInfoCode. Returns BAD_DATA if
	 * performanceInfoKind is not an SL_ANeuralNetworksPerformanceInfoCode.
	 */
	int (*SL_ANeuralNetworksDevice_getPerformanceInfo)(
		const ANeuralNetworksDevice *device, int32_t performanceInfoKind,
		SL_ANeuralNetworksPerformanceInfo *performanceInfo);
	/*
	 * Calls `callback` once for each operand type for which the device reports its performance.
	 */
	int (*SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo)(
		const ANeuralNetworksDevice *device, void *context,
		void (*callback)(SL_ANeuralNetworksOperandPerformanceInfo, void *));
	/*
	 * Return the device's vendor extensions; an extension's name stays valid for the life of
	 * the process.
	 */
	int (*SL_ANeuralNetworksDevice_getVendorExtensionCount)(
		const ANeuralNetworksDevice *device, uint32_t *vendorExtensionCount);
	int (*SL_ANeuralNetworksDevice_getVendorExtensionName)(
		const ANeuralNetworksDevice *device, uint32_t vendorExtensionIndex,
		const char **extensionName);
	int (*SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation)(
		const ANeuralNetworksDevice *device, uint32_t vendorExtensionIndex, void *context,
		void (*callback)(SL_ANeuralNetworksExtensionOperandTypeInformation, void *));

	/*
	 * Diagnostics for callbacks. The session id is a random number of the process. Device ids
	 * are "NAME=VERSION", with commas between them. The hash of a model has 32 bytes, and does
	 * not include constants. A time that is unknown is UINT64_MAX. The times of the driver and
	 * the hardware are known only if the program measures the execution.
	 */
	int32_t (*SL_ANeuralNetworksDiagnosticCompilationInfo_getSessionId)(
		const ANeuralNetworksDiagnosticCompilationInfo *info);
	int64_t (*SL_ANeuralNetworksDiagnosticCompilationInfo_getNnApiVersion)(
		const ANeuralNetworksDiagnosticCompilationInfo *info);
	const uint8_t *(*SL_ANeuralNetworksDiagnosticCompilationInfo_getModelArchHash)(
		const ANeuralNetworksDiagnosticCompilationInfo *info);
	const char *(*SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds)(
		const ANeuralNetworksDiagnosticCompilationInfo *info);
	int32_t (*SL_ANeuralNetworksDiagnosticCompilationInfo_getErrorCode)(
		const ANeuralNetworksDiagnosticCompilationInfo *info);
	ANeuralNetworksDiagnosticDataClass (
		*SL_ANeuralNetworksDiagnosticCompilationInfo_getInputDataClass)(
		const ANeuralNetworksDiagnosticCompilationInfo *info);
	ANeuralNetworksDiagnosticDataClass (
		*SL_ANeuralNetworksDiagnosticCompilationInfo_getOutputDataClass)(
		const ANeuralNetworksDiagnosticCompilationInfo *info);
	uint64_t (*SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos)(
		const ANeuralNetworksDiagnosticCompilationInfo *info);
	bool (*SL_ANeuralNetworksDiagnosticCompilationInfo_isCachingEnabled)(
		const ANeuralNetworksDiagnosticCompilationInfo *info);
	bool (*SL_ANeuralNetworksDiagnosticCompilationInfo_isControlFlowUsed)(
		const ANeuralNetworksDiagnosticCompilationInfo *info);
	bool (*SL_ANeuralNetworksDiagnosticCompilationInfo_areDynamicTensorsUsed)(
		const ANeuralNetworksDiagnosticCompilationInfo *info);
	int32_t (*SL_ANeuralNetworksDiagnosticExecutionInfo_getSessionId)(
		const ANeuralNetworksDiagnosticExecutionInfo *info);
	int64_t (*SL_ANeuralNetworksDiagnosticExecutionInfo_getNnApiVersion)(
		const ANeuralNetworksDiagnosticExecutionInfo *info);
	const uint8_t *(*SL_ANeuralNetworksDiagnosticExecutionInfo_getModelArchHash)(
		const ANeuralNetworksDiagnosticExecutionInfo *info);
	const char *(*SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds)(
		const ANeuralNetworksDiagnosticExecutionInfo *info);
	ANeuralNetworksDiagnosticExecutionMode (
		*SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode)(
		const ANeuralNetworksDiagnosticExecutionInfo *info);
	ANeuralNetworksDiagnosticDataClass (
		*SL_ANeuralNetworksDiagnosticExecutionInfo_getInputDataClass)(
		const ANeuralNetworksDiagnosticExecutionInfo *info);
	ANeuralNetworksDiagnosticDataClass (
		*SL_ANeuralNetworksDiagnosticExecutionInfo_getOutputDataClass)(
		const ANeuralNetworksDiagnosticExecutionInfo *info);
	uint32_t (*SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode)(
		const ANeuralNetworksDiagnosticExecutionInfo *info);
	uint64_t (*SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos)(
		const ANeuralNetworksDiagnosticExecutionInfo *info);
	uint64_t (*SL_ANeuralNetworksDiagnosticExecutionInfo_getDriverExecutionTimeNanos)(
		const ANeuralNetworksDiagnosticExecutionInfo *info);
	uint64_t (*SL_ANeuralNetworksDiagnosticExecutionInfo_getHardwareExecutionTimeNanos)(
		const ANeuralNetworksDiagnosticExecutionInfo *info);
	bool (*SL_ANeuralNetworksDiagnosticExecutionInfo_isCachingEnabled)(
		const ANeuralNetworksDiagnosticExecutionInfo *info);
	bool (*SL_ANeuralNetworksDiagnosticExecutionInfo_isControlFlowUsed)(
		const ANeuralNetworksDiagnosticExecutionInfo *info);
	bool (*SL_ANeuralNetworksDiagnosticExecutionInfo_areDynamicTensorsUsed)(
		const ANeuralNetworksDiagnosticExecutionInfo *info);
	/*
	 * Registers callbacks, which replace callbacks registered earlier. `compilationCallback` is
	 * called when a compilation was finished, with or without an error. `executionCallback` is
	 * called when an execution has ended, on the thread that ended the execution. Either
	 * callback may be NULL. The caller still owns callbackContext.
	 */
	void (*SL_ANeuralNetworksDiagnostic_registerCallbacks)(
		ANeuralNetworksDiagnosticCompilationFinishedCallback compilationCallback,
		ANeuralNetworksDiagnosticExecutionFinishedCallback executionCallback,
		void *callbackContext);
} NnApiSLDriverImplFL5;

typedef NnApiSLDriverImplFL5 NnApiSLDriverImplFL6;
typedef NnApiSLDriverImplFL5 NnApiSLDriverImplFL7;

/* The table of functions for feature level 8. */
typedef struct NnApiSLDriverImplFL8 {
	NnApiSLDriverImplFL7 base;
	NN_SL_ENTRY(ANeuralNetworksCompilation_addExtensionAttribute);
	NN_SL_ENTRY(ANeuralNetworksExecution_addExtensionAttribute);
} NnApiSLDriverImplFL8;

#undef NN_SL_ENTRY

/*
 * Returns the table of functions, an NnApiSLDriverImplFL8; never NULL. NNACCEL_SL_FEATURE_LEVEL in
 * the environment sets the feature level of the table (5 to 8), for loaders that reject level 8.
 * The table lives as long as the library is loaded.
 */
NnApiSLDriverImpl *ANeuralNetworks_getSLDriverImpl(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* NNACCEL_SUPPORT_LIBRARY_H */
