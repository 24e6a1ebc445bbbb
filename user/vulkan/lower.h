/* SPDX-License-Identifier: MIT */
/*
 * Translates operations to dispatches. The functions in the table of operations.c get a struct
 * lower and call the helpers of lower.h.
 */
#ifndef NN_VULKAN_LOWER_H
#define NN_VULKAN_LOWER_H

#include "ops/check.h"
#include "ops/image.h"
#include "vulkan/graph.h"

struct lower {
	struct graph *graph;
	const struct nn_operation *operation;
	uint32_t index;			/* index of the operation */
	uint32_t argument; /* field `argument` of the operation's row in the table of operations */
	/* operation with known shapes, in which float16 operands have the type float32 */
	struct nn_run run;
	bool out_of_memory;
};

typedef enum nn_status lower_fn(struct lower *l);

/*
 * A row of the table of operations. `types` are the supported types of the operation's input
 * `subject`, and lower() translates the operation.
 */
struct vulkan_op {
	int32_t code;
	uint32_t types;			/* NN_T() */
	lower_fn *lower;
	uint32_t argument;
	uint32_t subject;		/* number of the input whose type must be one of `types` */
};

const struct vulkan_op *vulkan_op_at(uint32_t index);
const struct vulkan_op *vulkan_op_find(int32_t code);

/*
 * Returns NN_INVALID_ARGUMENT. Sets the error's reason to the operation's name followed by the text
 * of `format`.
 */
enum nn_status lower_refuse(const struct lower *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Return the TYPE_* of an operand's elements in the GPU's memory. */
uint32_t lower_input_type(const struct lower *l, uint32_t input);
uint32_t lower_output_type(const struct lower *l, uint32_t output);

/* Return the graph's value for an operand; the first call for an operand makes the value. */
uint32_t lower_input(struct lower *l, uint32_t input);
uint32_t lower_output(struct lower *l, uint32_t output);

/*
 * Adds a constant. The graph takes ownership of `data`, which comes from malloc(). `data` may be
 * NULL if malloc() has failed.
 */
uint32_t lower_constant(struct lower *l, void *data, uint64_t size, uint32_t element);
uint32_t lower_temporary(struct lower *l, uint64_t size, uint32_t element);

/* Returns a dispatch without tensors, with one shader invocation for each of `count` elements. */
struct dispatch lower_linear(const struct lower *l, enum shader shader, uint64_t count);
/* Returns a dispatch without tensors, with one work group for each of `count` elements. */
struct dispatch lower_groups(const struct lower *l, enum shader shader, uint64_t count);

/* Adds a dispatch. */
enum nn_status lower_add(struct lower *l, const struct dispatch *d);

/*
 * Returns a table of the results that the reference kernel computes from each of the 256 values of
 * a byte as input 0. If `arity` is 2, the table has the results for all pairs of bytes as inputs 0
 * and 1. Returns NULL if memory runs out or the reference kernel fails.
 */
void *lower_table(struct lower *l, const struct nn_tensor *inputs, uint32_t num_inputs,
		  uint32_t arity);

/* Distances, in elements, between the images, the pixels and the channels of a tensor. */
struct strides {
	uint32_t image;
	uint32_t pixel;
	uint32_t channel;
};

struct strides lower_strides(const struct nn_image *image, bool nchw);

lower_fn lower_unary, lower_binary, lower_cast, lower_quantize, lower_dequantize;
lower_fn lower_conv, lower_depthwise, lower_transposed, lower_fully_connected, lower_matmul,
	 lower_pool;
lower_fn lower_reshape, lower_transpose, lower_concat, lower_pack, lower_split, lower_slice,
	 lower_strided_slice, lower_pad, lower_tile, lower_reverse, lower_shuffle, lower_space,
	 lower_batch_space;
lower_fn lower_softmax, lower_reduce, lower_arg, lower_norm;
lower_fn lower_resize, lower_gather;

/*
 * Adds a temporary with an input's bytes converted to the quantisation of the output. For
 * CONCATENATION.
 */
uint32_t lower_requantised(struct lower *l, uint32_t input);

#endif /* NN_VULKAN_LOWER_H */
