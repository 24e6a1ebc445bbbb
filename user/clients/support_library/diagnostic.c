/* SPDX-License-Identifier: MIT */
/*
 * Diagnostics of support libraries, which this one does not make: callbacks are never called, so
 * nobody has an `info` to ask these functions about. A loader that asks all the same learns nothing.
 */
#include "clients/support_library/support_library.h"

#define UNKNOWN_TIME UINT64_MAX

typedef const ANeuralNetworksDiagnosticCompilationInfo compilation_info;
typedef const ANeuralNetworksDiagnosticExecutionInfo execution_info;

/* Defines the same answer for both kinds of information. */
#define BOTH(type, name, value)								\
static type compilation_##name(compilation_info *info)					\
{											\
	(void)info;									\
	return value;									\
}											\
											\
static type execution_##name(execution_info *info)					\
{											\
	(void)info;									\
	return value;									\
}

BOTH(int32_t, session_id, 0)
BOTH(int64_t, version, 0)
BOTH(const uint8_t *, hash, NULL)
BOTH(const char *, devices, "")
BOTH(ANeuralNetworksDiagnosticDataClass, data_class, ANNDIAG_DATA_CLASS_UNKNOWN)
BOTH(uint64_t, time_ns, UNKNOWN_TIME)
BOTH(bool, flag, false)

static int32_t compilation_error(compilation_info *info)
{
	(void)info;
	return ANEURALNETWORKS_NO_ERROR;
}

static uint32_t execution_error(execution_info *info)
{
	(void)info;
	return ANEURALNETWORKS_NO_ERROR;
}

static ANeuralNetworksDiagnosticExecutionMode execution_mode(execution_info *info)
{
	(void)info;
	return ANNDIAG_EXECUTION_MODE_UNKNOWN;
}

static void register_callbacks(ANeuralNetworksDiagnosticCompilationFinishedCallback compilation,
			       ANeuralNetworksDiagnosticExecutionFinishedCallback execution,
			       void *context)
{
	(void)compilation;
	(void)execution;
	(void)context;
}

#define COMPILATION(name) table->SL_ANeuralNetworksDiagnosticCompilationInfo_##name
#define EXECUTION(name) table->SL_ANeuralNetworksDiagnosticExecutionInfo_##name

void sl_fill_diagnostic(NnApiSLDriverImplFL5 *table)
{
	COMPILATION(getSessionId) = compilation_session_id;
	COMPILATION(getNnApiVersion) = compilation_version;
	COMPILATION(getModelArchHash) = compilation_hash;
	COMPILATION(getDeviceIds) = compilation_devices;
	COMPILATION(getErrorCode) = compilation_error;
	COMPILATION(getInputDataClass) = compilation_data_class;
	COMPILATION(getOutputDataClass) = compilation_data_class;
	COMPILATION(getCompilationTimeNanos) = compilation_time_ns;
	COMPILATION(isCachingEnabled) = compilation_flag;
	COMPILATION(isControlFlowUsed) = compilation_flag;
	COMPILATION(areDynamicTensorsUsed) = compilation_flag;
	EXECUTION(getSessionId) = execution_session_id;
	EXECUTION(getNnApiVersion) = execution_version;
	EXECUTION(getModelArchHash) = execution_hash;
	EXECUTION(getDeviceIds) = execution_devices;
	EXECUTION(getExecutionMode) = execution_mode;
	EXECUTION(getInputDataClass) = execution_data_class;
	EXECUTION(getOutputDataClass) = execution_data_class;
	EXECUTION(getErrorCode) = execution_error;
	EXECUTION(getRuntimeExecutionTimeNanos) = execution_time_ns;
	EXECUTION(getDriverExecutionTimeNanos) = execution_time_ns;
	EXECUTION(getHardwareExecutionTimeNanos) = execution_time_ns;
	EXECUTION(isCachingEnabled) = execution_flag;
	EXECUTION(isControlFlowUsed) = execution_flag;
	EXECUTION(areDynamicTensorsUsed) = execution_flag;
	table->SL_ANeuralNetworksDiagnostic_registerCallbacks = register_callbacks;
}
