/* SPDX-License-Identifier: MIT */
/*
 * Types and codes of the NNAPI up to feature level 8. Names, values and layouts are those of
 * Android's NDK, so applications build and run unchanged.
 */
#ifndef ANDROID_NEURAL_NETWORKS_TYPES_H
#define ANDROID_NEURAL_NETWORKS_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct AHardwareBuffer;
typedef struct AHardwareBuffer AHardwareBuffer;

/*
 * Operand types. In a tensor of a quantised type, element q[i] represents the real number (q[i] -
 * zeroPoint) * scale.
 */
typedef enum {
	ANEURALNETWORKS_FLOAT32 = 0,			/* scalar */
	ANEURALNETWORKS_INT32 = 1,			/* scalar */
	ANEURALNETWORKS_UINT32 = 2,			/* scalar */
	ANEURALNETWORKS_TENSOR_FLOAT32 = 3,
	ANEURALNETWORKS_TENSOR_INT32 = 4,		/* scale > 0 only if the tensor is a bias */
	ANEURALNETWORKS_TENSOR_QUANT8_ASYMM = 5,	/* uint8, scale > 0, zero point 0..255 */
	ANEURALNETWORKS_BOOL = 6,			/* scalar byte; 0 means false */
	ANEURALNETWORKS_TENSOR_QUANT16_SYMM = 7,	/* int16, scale > 0, zero point 0 */
	ANEURALNETWORKS_TENSOR_FLOAT16 = 8,		/* IEEE 754 half */
	ANEURALNETWORKS_TENSOR_BOOL8 = 9,		/* bytes; 0 means false */
	ANEURALNETWORKS_FLOAT16 = 10,			/* scalar IEEE 754 fp16 */
	/*
	 * int8 with a scale for each index of one dimension: see
	 * ANeuralNetworksModel_setOperandSymmPerChannelQuantParams()
	 */
	ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL = 11,
	ANEURALNETWORKS_TENSOR_QUANT16_ASYMM = 12,	/* uint16, scale > 0, zero point 0..65535 */
	ANEURALNETWORKS_TENSOR_QUANT8_SYMM = 13,	/* int8, scale > 0, zero point 0 */
	ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED = 14, /* int8, zero point -128..127 */
	/* A reference to another model: see ANeuralNetworksModel_setOperandValueFromModel() */
	ANEURALNETWORKS_MODEL = 15,
	ANEURALNETWORKS_OEM_SCALAR = 10000,		/* deprecated by extensions */
	ANEURALNETWORKS_TENSOR_OEM_BYTE = 10001,	/* deprecated by extensions */
} OperandCode;

/* Operations, in the order in which feature levels added them. */
typedef enum {
	/* Feature level 1 */
	ANEURALNETWORKS_ADD = 0,			/* a + b, broadcast, then activation */
	ANEURALNETWORKS_AVERAGE_POOL_2D = 1,
	ANEURALNETWORKS_CONCATENATION = 2,		/* concatenates tensors along an axis */
	ANEURALNETWORKS_CONV_2D = 3,
	ANEURALNETWORKS_DEPTHWISE_CONV_2D = 4,
	ANEURALNETWORKS_DEPTH_TO_SPACE = 5,
	ANEURALNETWORKS_DEQUANTIZE = 6,			/* quantised to real */
	ANEURALNETWORKS_EMBEDDING_LOOKUP = 7,		/* looks up rows of a table by index */
	ANEURALNETWORKS_FLOOR = 8,
	ANEURALNETWORKS_FULLY_CONNECTED = 9,
	ANEURALNETWORKS_HASHTABLE_LOOKUP = 10,		/* looks up rows of a table by key */
	ANEURALNETWORKS_L2_NORMALIZATION = 11,
	ANEURALNETWORKS_L2_POOL_2D = 12,
	ANEURALNETWORKS_LOCAL_RESPONSE_NORMALIZATION = 13,
	ANEURALNETWORKS_LOGISTIC = 14,			/* 1 / (1 + exp(-x)) */
	ANEURALNETWORKS_LSH_PROJECTION = 15,		/* locality-sensitive hashing */
	ANEURALNETWORKS_LSTM = 16,			/* one step */
	ANEURALNETWORKS_MAX_POOL_2D = 17,
	ANEURALNETWORKS_MUL = 18,			/* a * b, broadcast, then activation */
	ANEURALNETWORKS_RELU = 19,			/* max(0, x) */
	ANEURALNETWORKS_RELU1 = 20,			/* x clamped to [-1, 1] */
	ANEURALNETWORKS_RELU6 = 21,			/* x clamped to [0, 6] */
	ANEURALNETWORKS_RESHAPE = 22,
	ANEURALNETWORKS_RESIZE_BILINEAR = 23,
	ANEURALNETWORKS_RNN = 24,			/* one step */
	ANEURALNETWORKS_SOFTMAX = 25,
	ANEURALNETWORKS_SPACE_TO_DEPTH = 26,
	ANEURALNETWORKS_SVDF = 27,
	ANEURALNETWORKS_TANH = 28,
	/* Feature level 2 */
	ANEURALNETWORKS_BATCH_TO_SPACE_ND = 29,
	ANEURALNETWORKS_DIV = 30,
	ANEURALNETWORKS_MEAN = 31,
	ANEURALNETWORKS_PAD = 32,
	ANEURALNETWORKS_SPACE_TO_BATCH_ND = 33,
	ANEURALNETWORKS_SQUEEZE = 34,			/* drops dimensions of size 1 */
	ANEURALNETWORKS_STRIDED_SLICE = 35,
	ANEURALNETWORKS_SUB = 36,
	ANEURALNETWORKS_TRANSPOSE = 37,
	/* Feature level 3 */
	ANEURALNETWORKS_ABS = 38,
	ANEURALNETWORKS_ARGMAX = 39,
	ANEURALNETWORKS_ARGMIN = 40,
	ANEURALNETWORKS_AXIS_ALIGNED_BBOX_TRANSFORM = 41,
	ANEURALNETWORKS_BIDIRECTIONAL_SEQUENCE_LSTM = 42,
	ANEURALNETWORKS_BIDIRECTIONAL_SEQUENCE_RNN = 43,
	ANEURALNETWORKS_BOX_WITH_NMS_LIMIT = 44,
	ANEURALNETWORKS_CAST = 45,
	ANEURALNETWORKS_CHANNEL_SHUFFLE = 46,
	ANEURALNETWORKS_DETECTION_POSTPROCESSING = 47,
	ANEURALNETWORKS_EQUAL = 48,
	ANEURALNETWORKS_EXP = 49,
	ANEURALNETWORKS_EXPAND_DIMS = 50,
	ANEURALNETWORKS_GATHER = 51,
	ANEURALNETWORKS_GENERATE_PROPOSALS = 52,
	ANEURALNETWORKS_GREATER = 53,
	ANEURALNETWORKS_GREATER_EQUAL = 54,
	ANEURALNETWORKS_GROUPED_CONV_2D = 55,
	ANEURALNETWORKS_HEATMAP_MAX_KEYPOINT = 56,
	ANEURALNETWORKS_INSTANCE_NORMALIZATION = 57,
	ANEURALNETWORKS_LESS = 58,
	ANEURALNETWORKS_LESS_EQUAL = 59,
	ANEURALNETWORKS_LOG = 60,
	ANEURALNETWORKS_LOGICAL_AND = 61,
	ANEURALNETWORKS_LOGICAL_NOT = 62,
	ANEURALNETWORKS_LOGICAL_OR = 63,
	ANEURALNETWORKS_LOG_SOFTMAX = 64,
	ANEURALNETWORKS_MAXIMUM = 65,
	ANEURALNETWORKS_MINIMUM = 66,
	ANEURALNETWORKS_NEG = 67,
	ANEURALNETWORKS_NOT_EQUAL = 68,
	ANEURALNETWORKS_PAD_V2 = 69,			/* pads with a given value */
	ANEURALNETWORKS_POW = 70,
	ANEURALNETWORKS_PRELU = 71,
	ANEURALNETWORKS_QUANTIZE = 72,			/* real to quantised */
	ANEURALNETWORKS_QUANTIZED_16BIT_LSTM = 73,
	ANEURALNETWORKS_RANDOM_MULTINOMIAL = 74,
	ANEURALNETWORKS_REDUCE_ALL = 75,
	ANEURALNETWORKS_REDUCE_ANY = 76,
	ANEURALNETWORKS_REDUCE_MAX = 77,
	ANEURALNETWORKS_REDUCE_MIN = 78,
	ANEURALNETWORKS_REDUCE_PROD = 79,
	ANEURALNETWORKS_REDUCE_SUM = 80,
	ANEURALNETWORKS_ROI_ALIGN = 81,
	ANEURALNETWORKS_ROI_POOLING = 82,
	ANEURALNETWORKS_RSQRT = 83,			/* 1 / sqrt(x) */
	ANEURALNETWORKS_SELECT = 84,
	ANEURALNETWORKS_SIN = 85,
	ANEURALNETWORKS_SLICE = 86,
	ANEURALNETWORKS_SPLIT = 87,
	ANEURALNETWORKS_SQRT = 88,
	ANEURALNETWORKS_TILE = 89,
	ANEURALNETWORKS_TOPK_V2 = 90,
	ANEURALNETWORKS_TRANSPOSE_CONV_2D = 91,
	ANEURALNETWORKS_UNIDIRECTIONAL_SEQUENCE_LSTM = 92,
	ANEURALNETWORKS_UNIDIRECTIONAL_SEQUENCE_RNN = 93,
	ANEURALNETWORKS_RESIZE_NEAREST_NEIGHBOR = 94,
	/* Feature level 4 */
	ANEURALNETWORKS_QUANTIZED_LSTM = 95,
	ANEURALNETWORKS_IF = 96,			/* runs one of two models */
	ANEURALNETWORKS_WHILE = 97,			/* runs a model while a condition is true */
	ANEURALNETWORKS_ELU = 98,
	ANEURALNETWORKS_HARD_SWISH = 99,
	ANEURALNETWORKS_FILL = 100,
	ANEURALNETWORKS_RANK = 101,
	/* Feature level 6 */
	ANEURALNETWORKS_BATCH_MATMUL = 102,
	ANEURALNETWORKS_PACK = 103,			/* concatenates tensors along a new axis */
	/* Feature level 7 */
	ANEURALNETWORKS_MIRROR_PAD = 104,
	ANEURALNETWORKS_REVERSE = 105,

	ANEURALNETWORKS_OEM_OPERATION = 10000,		/* deprecated by extensions */
} OperationCode;

/* Activations that some operations apply to their result. */
typedef enum {
	ANEURALNETWORKS_FUSED_NONE = 0,
	ANEURALNETWORKS_FUSED_RELU = 1,
	ANEURALNETWORKS_FUSED_RELU1 = 2,
	ANEURALNETWORKS_FUSED_RELU6 = 3,
} FuseCode;

/* Implicit paddings of convolutions and poolings. */
typedef enum {
	ANEURALNETWORKS_PADDING_SAME = 1,	/* output size is ceil(input size / stride) */
	ANEURALNETWORKS_PADDING_VALID = 2,	/* none */
} PaddingCode;

/* The goal of a compilation: low power, latency or throughput. */
typedef enum {
	ANEURALNETWORKS_PREFER_LOW_POWER = 0,
	ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER = 1,	/* the default */
	ANEURALNETWORKS_PREFER_SUSTAINED_SPEED = 2,
} PreferenceCode;

typedef enum {
	ANEURALNETWORKS_DEVICE_UNKNOWN = 0,
	ANEURALNETWORKS_DEVICE_OTHER = 1,
	ANEURALNETWORKS_DEVICE_CPU = 2,
	ANEURALNETWORKS_DEVICE_GPU = 3,
	ANEURALNETWORKS_DEVICE_ACCELERATOR = 4,
} DeviceTypeCode;

/* Results of the functions that return int. */
typedef enum {
	ANEURALNETWORKS_NO_ERROR = 0,
	ANEURALNETWORKS_OUT_OF_MEMORY = 1,
	ANEURALNETWORKS_INCOMPLETE = 2,
	ANEURALNETWORKS_UNEXPECTED_NULL = 3,	/* a pointer is NULL, but must not be */
	ANEURALNETWORKS_BAD_DATA = 4,		/* an argument, a model or an execution is wrong */
	ANEURALNETWORKS_OP_FAILED = 5,		/* a compilation or execution failed */
	ANEURALNETWORKS_BAD_STATE = 6,		/* the object's state does not allow the call */
	ANEURALNETWORKS_UNMAPPABLE = 7,		/* memory cannot be mapped */
	ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE = 8,
	ANEURALNETWORKS_UNAVAILABLE_DEVICE = 9,
	ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT = 10,
	ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT = 11,
	ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT = 12,
	ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT = 13,
	ANEURALNETWORKS_DEAD_OBJECT = 14,	/* the device's engine died */
} ResultCode;

typedef enum {
	ANEURALNETWORKS_FEATURE_LEVEL_1 = 27,
	ANEURALNETWORKS_FEATURE_LEVEL_2 = 28,
	ANEURALNETWORKS_FEATURE_LEVEL_3 = 29,
	ANEURALNETWORKS_FEATURE_LEVEL_4 = 30,
	ANEURALNETWORKS_FEATURE_LEVEL_5 = 31,
	ANEURALNETWORKS_FEATURE_LEVEL_6 = 1000006,
	ANEURALNETWORKS_FEATURE_LEVEL_7 = 1000007,
	ANEURALNETWORKS_FEATURE_LEVEL_8 = 1000008,
} FeatureLevelCode;

/* Maximum size of values that ANeuralNetworksModel_setOperandValue() copies immediately. */
enum { ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES = 128 };

/* Size of a token of ANeuralNetworksCompilation_setCaching(). */
enum { ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN = 32 };

/* Times that ANeuralNetworksExecution_getDuration() returns, in nanoseconds. */
typedef enum {
	ANEURALNETWORKS_DURATION_ON_HARDWARE = 0,
	ANEURALNETWORKS_DURATION_IN_DRIVER = 1,
	/* Time on the hardware, without the wait for dependencies. */
	ANEURALNETWORKS_FENCED_DURATION_ON_HARDWARE = 2,
	ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER = 3,
} DurationCode;

typedef enum {
	ANEURALNETWORKS_PRIORITY_LOW = 90,
	ANEURALNETWORKS_PRIORITY_MEDIUM = 100,
	ANEURALNETWORKS_PRIORITY_HIGH = 110,
	ANEURALNETWORKS_PRIORITY_DEFAULT = ANEURALNETWORKS_PRIORITY_MEDIUM,
} PriorityCode;

/* A range of bytes: a shared memory, a hardware buffer, or a device's own memory. */
typedef struct ANeuralNetworksMemory ANeuralNetworksMemory;
/* A model: operands and operations, which are immutable once the model is finished. */
typedef struct ANeuralNetworksModel ANeuralNetworksModel;
/* A model that was compiled for devices. */
typedef struct ANeuralNetworksCompilation ANeuralNetworksCompilation;
/* A run of a compilation on a set of inputs. */
typedef struct ANeuralNetworksExecution ANeuralNetworksExecution;
/* A series of executions of one compilation in quick succession. */
typedef struct ANeuralNetworksBurst ANeuralNetworksBurst;
/* An object with which to wait for the end of an execution or for a sync fence. */
typedef struct ANeuralNetworksEvent ANeuralNetworksEvent;
/* A device; the object lives as long as the process. */
typedef struct ANeuralNetworksDevice ANeuralNetworksDevice;
/* The roles of a memory that a device will allocate. */
typedef struct ANeuralNetworksMemoryDesc ANeuralNetworksMemoryDesc;

/*
 * The type of an operand. `dimensions` is NULL if and only if dimensionCount is 0, for a scalar or
 * a tensor of unknown rank. A dimension of 0 means that the dimension is unknown.
 */
typedef struct ANeuralNetworksOperandType {
	int32_t type;			/* OperandCode or an extension's type code */
	uint32_t dimensionCount;
	const uint32_t *dimensions;
	float scale;			/* 0 unless quantised */
	int32_t zeroPoint;		/* 0 unless quantised */
} ANeuralNetworksOperandType;

typedef int32_t ANeuralNetworksOperationType;

/* Scales of an ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL operand. */
typedef struct ANeuralNetworksSymmPerChannelQuantParams {
	uint32_t channelDim;		/* dimension that has a scale for each index */
	uint32_t scaleCount;		/* its size */
	const float *scales;		/* all > 0 */
} ANeuralNetworksSymmPerChannelQuantParams;

#ifdef __cplusplus
}
#endif

#endif /* ANDROID_NEURAL_NETWORKS_TYPES_H */
