/* SPDX-License-Identifier: MIT */
/*
 * The part of ONNX Runtime's C interface, version 23 (ONNX Runtime 1.23), that the plug-in uses.
 * The declarations are our own, so that no header of ONNX Runtime is needed to build.
 * user/tests/clients/onnxruntime/abi.c compares every index, parameter, size and offset with ONNX
 * Runtime's header.
 */
#ifndef NN_ORT_H
#define NN_ORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORT_VERSION = 23 };

typedef struct OrtAllocator OrtAllocator;
typedef struct OrtDataTransferImpl OrtDataTransferImpl;
typedef struct OrtEnv OrtEnv;
typedef struct OrtEp OrtEp;
typedef struct OrtEpApi OrtEpApi;
typedef struct OrtEpDevice OrtEpDevice;
typedef struct OrtEpFactory OrtEpFactory;
typedef struct OrtEpGraphSupportInfo OrtEpGraphSupportInfo;
typedef struct OrtGraph OrtGraph;
typedef struct OrtHardwareDevice OrtHardwareDevice;
typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtKeyValuePairs OrtKeyValuePairs;
typedef struct OrtLogger OrtLogger;
typedef struct OrtMemoryDevice OrtMemoryDevice;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtModelMetadata OrtModelMetadata;
typedef struct OrtNode OrtNode;
typedef struct OrtNodeComputeContext OrtNodeComputeContext;
typedef struct OrtNodeComputeInfo OrtNodeComputeInfo;
typedef struct OrtNodeFusionOptions OrtNodeFusionOptions;
typedef struct OrtOpAttr OrtOpAttr;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtStatus OrtStatus;
typedef struct OrtSyncStreamImpl OrtSyncStreamImpl;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtValue OrtValue;
typedef struct OrtValueInfo OrtValueInfo;

typedef unsigned int OrtErrorCode;
enum { ORT_CODE_FAIL = 1, ORT_CODE_INVALID_ARGUMENT = 2, ORT_CODE_EP_FAIL = 11 };

typedef unsigned int OrtLoggingLevel;
enum { ORT_LEVEL_FATAL = 4 };

typedef unsigned int GraphOptimizationLevel;
enum { ORT_OPTIMIZE_NOTHING };

typedef unsigned int OrtHardwareDeviceType;
enum { ORT_HARDWARE_CPU, ORT_HARDWARE_GPU, ORT_HARDWARE_NPU };

typedef unsigned int OrtOpAttrType;
enum {
	ORT_ATTRIBUTE_INT = 1,
	ORT_ATTRIBUTE_INTS,
	ORT_ATTRIBUTE_FLOAT,
	ORT_ATTRIBUTE_FLOATS,
	ORT_ATTRIBUTE_STRING,
	ORT_ATTRIBUTE_STRINGS,
	ORT_ATTRIBUTE_TENSOR = 8,
};

typedef unsigned int ONNXTensorElementDataType;
enum onnx_type {
	ONNX_NONE,
	ONNX_FLOAT,
	ONNX_UINT8,
	ONNX_INT8,
	ONNX_UINT16,
	ONNX_INT16,
	ONNX_INT32,
	ONNX_INT64,
	ONNX_STRING,
	ONNX_BOOL,
	ONNX_FLOAT16,
	ONNX_DOUBLE,
	ONNX_UINT32,
	ONNX_UINT64,
};

/* The functions of ONNX Runtime, by name. */
struct ort {
	/* ONNX Runtime 1.25 or newer, in which parts of different graphs have different names */
	bool names_parts;
#define CALL(index, result, name, parameters) result (*name) parameters;
#define EP_CALL CALL
#include "ort_calls.def"
#undef CALL
#undef EP_CALL
};

struct ort_api_base {
	const void *(*GetApi)(uint32_t version);
	const char *(*GetVersionString)(void);
};

struct ort_node_fusion_options {
	uint32_t ort_version_supported;
	bool drop_constant_initializers;
};

struct ort_node_compute_info {
	uint32_t ort_version_supported;
	OrtStatus *(*CreateState)(OrtNodeComputeInfo *info, OrtNodeComputeContext *context,
				  void **state);
	OrtStatus *(*Compute)(OrtNodeComputeInfo *info, void *state, OrtKernelContext *context);
	void (*ReleaseState)(OrtNodeComputeInfo *info, void *state);
};

/*
 * The functions of an execution provider. Fields that the plug-in leaves NULL are declared as void
 * pointers.
 */
struct ort_ep {
	uint32_t ort_version_supported;
	const char *(*GetName)(const OrtEp *ep);
	OrtStatus *(*GetCapability)(OrtEp *ep, const OrtGraph *graph, OrtEpGraphSupportInfo *info);
	OrtStatus *(*Compile)(OrtEp *ep, const OrtGraph **graphs, const OrtNode **fused,
			      size_t count, OrtNodeComputeInfo **infos, OrtNode **context_nodes);
	void (*ReleaseNodeComputeInfos)(OrtEp *ep, OrtNodeComputeInfo **infos, size_t count);
	void (*GetPreferredDataLayout)(void);
	void (*ShouldConvertDataLayoutForOp)(void);
	void (*SetDynamicOptions)(void);
	void (*OnRunStart)(void);
	void (*OnRunEnd)(void);
	void (*CreateAllocator)(void);
	void (*CreateSyncStreamForDevice)(void);
	void (*GetCompiledModelCompatibilityInfo)(void);
};

struct ort_ep_factory {
	uint32_t ort_version_supported;
	const char *(*GetName)(const OrtEpFactory *factory);
	const char *(*GetVendor)(const OrtEpFactory *factory);
	OrtStatus *(*GetSupportedDevices)(OrtEpFactory *factory,
					  const OrtHardwareDevice *const *devices, size_t count,
					  OrtEpDevice **ep_devices, size_t max, size_t *found);
	OrtStatus *(*CreateEp)(OrtEpFactory *factory, const OrtHardwareDevice *const *devices,
			       const OrtKeyValuePairs *const *metadata, size_t count,
			       const OrtSessionOptions *options, const OrtLogger *logger,
			       OrtEp **ep);
	void (*ReleaseEp)(OrtEpFactory *factory, OrtEp *ep);
	uint32_t (*GetVendorId)(const OrtEpFactory *factory);
	const char *(*GetVersion)(const OrtEpFactory *factory);
	OrtStatus *(*ValidateCompiledModelCompatibilityInfo)(
		OrtEpFactory *factory, const OrtHardwareDevice *const *devices, size_t count,
		const char *info, unsigned int *compatibility);
	OrtStatus *(*CreateAllocator)(OrtEpFactory *factory, const OrtMemoryInfo *memory,
				      const OrtKeyValuePairs *options, OrtAllocator **allocator);
	void (*ReleaseAllocator)(OrtEpFactory *factory, OrtAllocator *allocator);
	OrtStatus *(*CreateDataTransfer)(OrtEpFactory *factory, OrtDataTransferImpl **transfer);
	bool (*IsStreamAware)(const OrtEpFactory *factory);
	OrtStatus *(*CreateSyncStreamForDevice)(OrtEpFactory *factory,
						const OrtMemoryDevice *device,
						const OrtKeyValuePairs *options,
						OrtSyncStreamImpl **stream);
};

/*
 * Loads the functions from ONNX Runtime's tables. Returns false if ONNX Runtime has no version 23
 * of the tables.
 */
bool ort_load(struct ort *ort, const struct ort_api_base *base);

/* Returns whether a call with result `status` succeeded, and releases the status. */
bool ort_ok(const struct ort *ort, OrtStatus *status);

/*
 * Returns a list of the pointers that ONNX Runtime's function `lister` yields for `object`; the
 * function `counter` yields their number. The caller frees the list by free(). Returns NULL if
 * memory runs out or ONNX Runtime fails.
 */
void *ort_list(const struct ort *ort, const void *object, void *counter, void *lister,
	       size_t *count);

#endif
