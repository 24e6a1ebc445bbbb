/* SPDX-License-Identifier: MIT */
/*
 * The part of TensorFlow Lite's C interface that the plug-in uses, as in version 2.14: codes, and
 * structures up to the last member that the plug-in uses. No header of TensorFlow Lite is needed;
 * tests/clients/tflite/abi_test.c compares sizes, offsets and values.
 *
 * Structures also have members that the plug-in does not use, to give all members their offsets.
 * Releases of TensorFlow Lite only append members.
 */
#ifndef NN_TFLITE_ABI_H
#define NN_TFLITE_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tfl_status { TFL_OK = 0, TFL_ERROR = 1, TFL_DELEGATE_ERROR = 2 };

enum tfl_type {
	TFL_FLOAT32 = 1, TFL_INT32 = 2, TFL_UINT8 = 3, TFL_INT64 = 4, TFL_STRING = 5, TFL_BOOL = 6,
	TFL_INT16 = 7, TFL_INT8 = 9, TFL_FLOAT16 = 10, TFL_FLOAT64 = 11, TFL_INT4 = 18,
};

/*
 * Location of a tensor's data. TFL_READ_ONLY data is in the model file, which is mapped as long as
 * the model exists.
 */
enum tfl_allocation {
	TFL_NOT_ALLOCATED = 0, TFL_READ_ONLY = 1, TFL_DYNAMIC = 4, TFL_PERSISTENT_READ_ONLY = 5,
	TFL_CUSTOM_ALLOCATION = 6,
};

enum tfl_padding { TFL_PADDING_SAME = 1, TFL_PADDING_VALID = 2 };

enum tfl_activation {
	TFL_ACT_NONE, TFL_ACT_RELU, TFL_ACT_RELU_N1_TO_1, TFL_ACT_RELU6, TFL_ACT_TANH,
	TFL_ACT_SIGN_BIT, TFL_ACT_SIGMOID,
};

enum tfl_mirror { TFL_MIRROR_REFLECT = 1, TFL_MIRROR_SYMMETRIC = 2 };

enum {
	TFL_NO_TENSOR = -1,		/* an optional input that is absent */
	TFL_NO_BUFFER = -1,
	TFL_BUILTIN_DELEGATE = 51,	/* the operation code of delegate kernels */
	TFL_AFFINE_QUANTIZATION = 1,
	TFL_FLAG_DYNAMIC_TENSORS = 1,	/* accepts graphs in which some tensors are dynamic */
};

struct tfl_ints {
	int size;
	int data[];
};

struct tfl_floats {
	int size;
	float data[];
};

struct tfl_affine {
	struct tfl_floats *scale;
	struct tfl_ints *zero_point;
	/* axis along which each index has its own scale, if the tensor has several scales */
	int32_t dimension;
};

struct tfl_delegate;

struct tfl_tensor {
	int type;
	void *contents;	/* data of a constant, read only by data_of_count(); see graph.h */
	struct tfl_ints *dims;
	struct {
		float scale;
		int32_t zero_point;
	} params;
	int allocation_type;
	size_t bytes;
	const void *allocation;
	const char *name;
	struct tfl_delegate *delegate;
	int buffer_handle;
	bool data_is_stale;
	bool is_variable;
	struct {
		int type;
		void *params;		/* struct tfl_affine if type is AFFINE */
	} quantization;
	void *sparsity;
	const struct tfl_ints *dims_signature;
};

struct tfl_node {
	struct tfl_ints *inputs;
	struct tfl_ints *outputs;
	struct tfl_ints *intermediates;
	struct tfl_ints *temporaries;
	void *user_data;
	void *builtin_data;
	const void *custom_data;
	int custom_size;
	struct tfl_delegate *delegate;
	bool side_effect;
};

struct tfl_context;

struct tfl_registration {
	void *(*init)(struct tfl_context *context, const char *buffer, size_t length);
	void (*free)(struct tfl_context *context, void *buffer);
	int (*prepare)(struct tfl_context *context, struct tfl_node *node);
	int (*invoke)(struct tfl_context *context, struct tfl_node *node);
	const char *(*profiling_string)(const struct tfl_context *context,
					const struct tfl_node *node);
	int32_t builtin_code;
	const char *custom_name;
	int version;
	void *external;
	void *async_kernel;
	uint64_t inplace;
	/*
	 * Room for members that later versions append, because TensorFlow Lite receives struct
	 * tfl_registration by value.
	 */
	uint64_t later[4];
};

/* The argument of a delegate kernel's init. */
struct tfl_partition {
	struct tfl_delegate *delegate;
	struct tfl_ints *nodes;
	struct tfl_ints *inputs;
	struct tfl_ints *outputs;
};

struct tfl_context {
	size_t num_tensors;
	int (*get_execution_plan)(struct tfl_context *context, struct tfl_ints **plan);
	struct tfl_tensor *tensors;
	void *impl;
	int (*resize_tensor)(struct tfl_context *context, struct tfl_tensor *tensor,
			     struct tfl_ints *size);
	void (*report_error)(struct tfl_context *context, const char *format, ...);
	int (*add_tensors)(struct tfl_context *context, int count, int *first);
	int (*get_node)(struct tfl_context *context, int index, struct tfl_node **node,
			struct tfl_registration **registration);
	int (*replace_nodes)(struct tfl_context *context, struct tfl_registration registration,
			     const struct tfl_ints *nodes, struct tfl_delegate *delegate);
	int threads;
	void *get_external;
	void *set_external;
	bool allow_fp16;
	void *profiler;
	void *allocate_persistent;
	void *allocate_for_eval;
	void *request_scratch;
	void *get_scratch;
	void *resize_explicit;
	int (*preview_partitions)(struct tfl_context *context, const struct tfl_ints *nodes,
				  struct tfl_partition **partitions, int *count);
};

struct tfl_delegate {
	void *data;
	int (*prepare)(struct tfl_context *context, struct tfl_delegate *delegate);
	int (*copy_from_buffer)(struct tfl_context *context, struct tfl_delegate *delegate,
				int handle, struct tfl_tensor *tensor);
	int (*copy_to_buffer)(struct tfl_context *context, struct tfl_delegate *delegate,
			      int handle, struct tfl_tensor *tensor);
	void (*free_buffer)(struct tfl_context *context, struct tfl_delegate *delegate,
			    int *handle);
	int64_t flags;
	void *opaque_builder;
};

/* ---- Parameters of operations, up to the last member in use; a byte is a bool ---- */

struct tfl_conv {
	int padding, stride_width, stride_height, activation, dilation_width, dilation_height;
};

struct tfl_depthwise {
	int padding, stride_width, stride_height, multiplier, activation;
	int dilation_width, dilation_height;
};

struct tfl_transpose_conv {
	int padding, stride_width, stride_height, activation;
};

struct tfl_pool {
	int padding, stride_width, stride_height, width, height, activation;
};

struct tfl_fully_connected {
	int activation, weights_format;
	uint8_t keep_dims, asymmetric_inputs;
};

/* Parameters of ADD, SUB, MUL, DIV, L2_NORMALIZATION and RNN. */
struct tfl_activated {
	int activation;
};

struct tfl_concatenation {
	int axis, activation;
};

struct tfl_softmax {
	float beta;
};

struct tfl_response_norm {
	int radius;
	float bias, alpha, beta;
};

struct tfl_resize {
	uint8_t align_corners, half_pixels;
};

/* Parameters of SPACE_TO_DEPTH and DEPTH_TO_SPACE. */
struct tfl_block {
	int size;
};

struct tfl_gather {
	int axis, batch_dims;
};

struct tfl_reducer {
	uint8_t keep_dims;
};

/* Parameters of PACK and UNPACK. */
struct tfl_pack {
	int count, axis;
};

struct tfl_strided_slice {
	int begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
	uint8_t offset;
};

struct tfl_leaky_relu {
	float alpha;
};

struct tfl_one_hot {
	int axis;
};

struct tfl_cumsum {
	uint8_t exclusive, reverse;
};

struct tfl_reverse_sequence {
	int seq_dim, batch_dim;
};

struct tfl_gelu {
	uint8_t approximate;
};

struct tfl_batch_matmul {
	uint8_t adj_x, adj_y, asymmetric_inputs;
};

struct tfl_mirror_pad {
	int mode;
};

struct tfl_lsh {
	int type;
};

struct tfl_svdf {
	int rank, activation;
};

struct tfl_sequence_rnn {
	uint8_t time_major;
	int activation;
};

struct tfl_bidirectional_rnn {
	uint8_t time_major;
	int activation;
	uint8_t merge_outputs;
};

struct tfl_lstm {
	int activation;
	float cell_clip, proj_clip;
	int kernel_type;		/* kind of LSTM kernel: 0 is full, 1 is basic */
};

struct tfl_sequence_lstm {
	int activation;
	float cell_clip, proj_clip;
	uint8_t time_major, asymmetric_inputs, diagonal_recurrent;
};

struct tfl_bidirectional_lstm {
	int activation;
	float cell_clip, proj_clip;
	uint8_t merge_outputs, time_major;
};

#endif /* NN_TFLITE_ABI_H */
