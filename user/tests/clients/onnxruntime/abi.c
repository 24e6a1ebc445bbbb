// SPDX-License-Identifier: MIT
/*
 * Compiles only if user/clients/onnxruntime/ort.h agrees with ONNX Runtime's header: indices and
 * parameters of calls, sizes and offsets of structures, values of constants.
 */
#include <onnxruntime_c_api.h>
#include <stddef.h>

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

#define CALL(index, result, name, parameters) \
	_Static_assert(offsetof(OrtApi, name) == (index) * sizeof(void *), #name); \
	_Static_assert(__builtin_types_compatible_p(result (*) parameters, \
						    __typeof__(((OrtApi *)0)->name)), #name);
#define EP_CALL(index, result, name, parameters) \
	_Static_assert(offsetof(OrtEpApi, name) == (index) * sizeof(void *), #name); \
	_Static_assert(__builtin_types_compatible_p(result (*) parameters, \
						    __typeof__(((OrtEpApi *)0)->name)), #name);
#include "ort_calls.def"
#undef CALL
#undef EP_CALL

/* Renames the types of this project that have the names of types in ONNX Runtime's header. */
#define OrtErrorCode our_OrtErrorCode
#define GraphOptimizationLevel our_GraphOptimizationLevel
#define OrtHardwareDeviceType our_OrtHardwareDeviceType
#define OrtLoggingLevel our_OrtLoggingLevel
#define OrtOpAttrType our_OrtOpAttrType
#define ONNXTensorElementDataType our_ONNXTensorElementDataType
#include "ort.h"

SAME(ORT_VERSION, ORT_API_VERSION);
SAME(ORT_CODE_FAIL, ORT_FAIL);
SAME(ORT_CODE_INVALID_ARGUMENT, ORT_INVALID_ARGUMENT);
SAME(ORT_CODE_EP_FAIL, ORT_EP_FAIL);
SAME(ORT_LEVEL_FATAL, ORT_LOGGING_LEVEL_FATAL);
SAME(ORT_OPTIMIZE_NOTHING, ORT_DISABLE_ALL);
SAME(ORT_HARDWARE_CPU, OrtHardwareDeviceType_CPU);
SAME(ORT_HARDWARE_NPU, OrtHardwareDeviceType_NPU);
SAME(ORT_ATTRIBUTE_INT, ORT_OP_ATTR_INT);
SAME(ORT_ATTRIBUTE_INTS, ORT_OP_ATTR_INTS);
SAME(ORT_ATTRIBUTE_FLOAT, ORT_OP_ATTR_FLOAT);
SAME(ORT_ATTRIBUTE_FLOATS, ORT_OP_ATTR_FLOATS);
SAME(ORT_ATTRIBUTE_STRING, ORT_OP_ATTR_STRING);
SAME(ORT_ATTRIBUTE_STRINGS, ORT_OP_ATTR_STRINGS);
SAME(ORT_ATTRIBUTE_TENSOR, ORT_OP_ATTR_TENSOR);
SAME(ONNX_FLOAT, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
SAME(ONNX_UINT8, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8);
SAME(ONNX_INT8, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8);
SAME(ONNX_INT32, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32);
SAME(ONNX_INT64, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64);
SAME(ONNX_BOOL, ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL);
SAME(ONNX_FLOAT16, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16);
SAME(ONNX_DOUBLE, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE);
SAME(ONNX_UINT64, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64);

SAME(sizeof(struct ort_api_base), sizeof(OrtApiBase));
SAME(sizeof(struct ort_ep), sizeof(struct OrtEp));
SAME(sizeof(struct ort_ep_factory), sizeof(struct OrtEpFactory));
SAME(sizeof(struct ort_node_compute_info), sizeof(struct OrtNodeComputeInfo));
SAME(sizeof(struct ort_node_fusion_options), sizeof(struct OrtNodeFusionOptions));

#define AT(ours, theirs, field) SAME(offsetof(struct ours, field), offsetof(struct theirs, field))
AT(ort_api_base, OrtApiBase, GetApi);
AT(ort_api_base, OrtApiBase, GetVersionString);
AT(ort_node_fusion_options, OrtNodeFusionOptions, ort_version_supported);
AT(ort_node_fusion_options, OrtNodeFusionOptions, drop_constant_initializers);
AT(ort_node_compute_info, OrtNodeComputeInfo, CreateState);
AT(ort_node_compute_info, OrtNodeComputeInfo, Compute);
AT(ort_node_compute_info, OrtNodeComputeInfo, ReleaseState);
AT(ort_ep, OrtEp, ort_version_supported);
AT(ort_ep, OrtEp, GetName);
AT(ort_ep, OrtEp, GetCapability);
AT(ort_ep, OrtEp, Compile);
AT(ort_ep, OrtEp, ReleaseNodeComputeInfos);
AT(ort_ep, OrtEp, GetCompiledModelCompatibilityInfo);
AT(ort_ep_factory, OrtEpFactory, GetName);
AT(ort_ep_factory, OrtEpFactory, GetVendor);
AT(ort_ep_factory, OrtEpFactory, GetSupportedDevices);
AT(ort_ep_factory, OrtEpFactory, CreateEp);
AT(ort_ep_factory, OrtEpFactory, ReleaseEp);
AT(ort_ep_factory, OrtEpFactory, GetVendorId);
AT(ort_ep_factory, OrtEpFactory, GetVersion);
AT(ort_ep_factory, OrtEpFactory, ValidateCompiledModelCompatibilityInfo);
AT(ort_ep_factory, OrtEpFactory, CreateAllocator);
AT(ort_ep_factory, OrtEpFactory, ReleaseAllocator);
AT(ort_ep_factory, OrtEpFactory, CreateDataTransfer);
AT(ort_ep_factory, OrtEpFactory, IsStreamAware);
AT(ort_ep_factory, OrtEpFactory, CreateSyncStreamForDevice);
