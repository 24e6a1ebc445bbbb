/* SPDX-License-Identifier: MIT */
/* Types in the calls of ort_calls.def, in addition to the types that the provider uses. */
#ifndef NN_RUN_ORT_TYPES_H
#define NN_RUN_ORT_TYPES_H

/* Value 0 of OrtAllocatorType and OrtMemType means memory that the program allocates. */
typedef int OrtAllocatorType;
typedef int OrtMemType;
typedef struct OrtCANNProviderOptions OrtCANNProviderOptions;
typedef struct OrtCUDAProviderOptions OrtCUDAProviderOptions;
typedef struct OrtCUDAProviderOptionsV2 OrtCUDAProviderOptionsV2;
typedef struct OrtDnnlProviderOptions OrtDnnlProviderOptions;
typedef struct OrtIoBinding OrtIoBinding;
typedef struct OrtMIGraphXProviderOptions OrtMIGraphXProviderOptions;
typedef struct OrtOpenVINOProviderOptions OrtOpenVINOProviderOptions;
typedef struct OrtPrepackedWeightsContainer OrtPrepackedWeightsContainer;
typedef struct OrtROCMProviderOptions OrtROCMProviderOptions;
typedef struct OrtTensorRTProviderOptions OrtTensorRTProviderOptions;
typedef struct OrtTensorRTProviderOptionsV2 OrtTensorRTProviderOptionsV2;
typedef unsigned int OrtExecutionProviderDevicePolicy;
typedef void *EpSelectionDelegate;	/* pointer that the library only passes on to the runtime */

#endif /* NN_RUN_ORT_TYPES_H */
