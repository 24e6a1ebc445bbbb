/* SPDX-License-Identifier: MIT */
/*
 * Parameters of shaders, whose names and order are equal in C and GLSL. A GPU buffer has a block of
 * PARAMS_BYTES with the parameters of each dispatch. The array `at` has the index of each tensor's
 * first element in the buffer of tensors.
 */
#ifndef NN_VULKAN_PARAMS_H
#define NN_VULKAN_PARAMS_H

#define PARAMS_BYTES	512

/* Tensors 0 to 4 of a dispatch are the inputs, and tensor 5 is the output. */
#define TENSORS		6
#define OUTPUT		5

/* Types of tensors' elements in the GPU's memory. */
#define TYPE_F32	0
#define TYPE_F16	1
#define TYPE_I32	2
#define TYPE_U8		3
#define TYPE_I8		4

/*
 * GROUP_SIZE is the number of invocations of a work group, and GROUPS_X the number of work groups
 * along the first dimension. A work group of a matrix product computes a tile of TILE rows and TILE
 * columns.
 */
#define GROUP_SIZE	64
#define GROUPS_X	32768
#define TILE		32
#define TILE_DEPTH	16

/* Number of columns that a work group of a matrix product with few rows computes. */
#define VECTOR_COLUMNS	8

/*
 * Codes of the steps of a chain of elementwise operations. STEP_RSUB, STEP_RDIV and STEP_RPOW are
 * STEP_SUB, STEP_DIV and STEP_POW with exchanged operands.
 */
#define MAX_STEPS	8
#define STEP_ADD	0
#define STEP_SUB	1
#define STEP_RSUB	2
#define STEP_MUL	3
#define STEP_DIV	4
#define STEP_RDIV	5
#define STEP_MAX	6
#define STEP_MIN	7
#define STEP_POW	8
#define STEP_RPOW	9
#define STEP_PRELU	10
#define STEP_EQUAL	11
#define STEP_NOT_EQUAL	12
#define STEP_LESS	13
#define STEP_LESS_EQUAL	14
#define STEP_GREATER	15
#define STEP_GREATER_EQUAL 16
#define STEP_CLAMP	17
#define STEP_ABS	18
#define STEP_NEG	19
#define STEP_FLOOR	20
#define STEP_EXP	21
#define STEP_LOG	22
#define STEP_SQRT	23
#define STEP_RSQRT	24
#define STEP_SIN	25
#define STEP_LOGISTIC	26
#define STEP_TANH	27
#define STEP_ELU	28
#define STEP_HARD_SWISH	29
#define STEP_QUANTIZE	30
#define STEP_TO_INT	31

#define MAX_AXES	10

/*
 * Parameters of a chain of elementwise operations. Tensors 0, 1 and 2 of the dispatch are broadcast
 * to the output's shape. Each step has an operand (1 or 2: the tensor; 0: no operand) and the
 * numbers x and y.
 */
#define ELEMENTWISE_PARAMS								\
	uint at[TENSORS];								\
	uint count;									\
	uint rank;									\
	uint num_steps;									\
	uint num_operands;								\
	uint dims[MAX_AXES];								\
	uint moves[3 * MAX_AXES];							\
	uint steps[MAX_STEPS];								\
	uint operands[MAX_STEPS];							\
	float x[MAX_STEPS];								\
	float y[MAX_STEPS];

/* Parameters of a copy from a view of tensor 0 to a view of the output. */
#define COPY_PARAMS									\
	uint at[TENSORS];								\
	uint count;									\
	uint rank;									\
	int from;									\
	int to;										\
	uint dims[MAX_AXES];								\
	int from_moves[MAX_AXES];							\
	int to_moves[MAX_AXES];

/*
 * Parameters of matrix products and windowed operations. Element (n, pixel, channel) of an input
 * lies at n * in_image + pixel * in_pixel + channel * in_channel. The number of a batch is `outer *
 * inner_batches + inner`. In a grouped convolution, each group of channels is a batch. In products
 * that are quantised at run time, `row_size` consecutive elements of the input share one scale.
 */
#define WINDOW_PARAMS									\
	uint at[TENSORS];								\
	uint images;									\
	uint in_h;									\
	uint in_w;									\
	uint out_h;									\
	uint out_w;									\
	uint depth;									\
	uint width;									\
	uint kernel_h;									\
	uint kernel_w;									\
	uint stride_h;									\
	uint stride_w;									\
	uint dilation_h;								\
	uint dilation_w;								\
	int head_h;									\
	int head_w;									\
	uint in_image;									\
	uint in_pixel;									\
	uint in_channel;								\
	uint out_image;									\
	uint out_pixel;									\
	uint out_channel;								\
	uint filter_depth;								\
	uint filter_width;								\
	uint inner_batches;								\
	uint in_outer;									\
	uint in_inner;									\
	uint filter_outer;								\
	uint filter_inner;								\
	uint out_batch;									\
	uint bias_batch;								\
	uint has_bias;									\
	uint multiplier;								\
	uint row_size;									\
	float low;									\
	float high;									\
	int in_zero;									\
	int filter_zero;								\
	int out_zero;									\
	int low_q;									\
	int high_q;

/*
 * Parameters of operations along rows. A row has `size` elements; adjacent elements of the row are
 * `inner` elements apart. A reduction has a list of axes instead of `inner`: first the `kept` axes
 * that remain in the output, and then the reduced axes.
 */
#define ROWS_PARAMS									\
	uint at[TENSORS];								\
	uint count;									\
	uint size;									\
	uint inner;									\
	uint radius;									\
	float x;									\
	float y;									\
	float z;									\
	uint kept;									\
	uint rank;									\
	uint dims[MAX_AXES];								\
	uint moves[MAX_AXES];

/*
 * Parameters of the shader that quantises rows of floats to contiguous rows of 8-bit values, for
 * the operations DYNAMIC_*. Tensor 1 has the range of each row, and tensor 2 the scale and zero
 * point of each row. Each row has `size` floats, except the last row, which may be shorter.
 */
#define QUANTISE_PARAMS									\
	uint at[TENSORS];								\
	uint count;									\
	uint size;									\
	uint inner;									\
	uint total;

/* Nearly a half: NN_DYNAMIC_HALF of ops/dynamic.h. */
#define DYNAMIC_HALF	0.49999997

/* Kinds of reductions; the kind is a specialisation constant of the shader. */
#define REDUCE_SUM	0
#define REDUCE_MEAN	1
#define REDUCE_PROD	2
#define REDUCE_MAX	3
#define REDUCE_MIN	4
#define REDUCE_ARGMAX	5
#define REDUCE_ARGMIN	6

/* Ways of pooling. */
#define POOL_AVERAGE	0
#define POOL_MAX	1
#define POOL_L2		2

/* Normalisations. */
#define NORM_L2		0
#define NORM_RESPONSE	1
#define NORM_INSTANCE	2

/*
 * Parameters of resizing images. For each output row, tensor 1 has two input rows and the weight of
 * the second row, as the bits of a float. For each output column, tensor 2 has two input columns
 * and the weight of the second column.
 */
#define RESIZE_PARAMS									\
	uint at[TENSORS];								\
	uint count;									\
	uint in_h;									\
	uint in_w;									\
	uint out_h;									\
	uint out_w;									\
	uint channels;									\
	uint in_image;									\
	uint in_pixel;									\
	uint in_channel;								\
	uint out_image;									\
	uint out_pixel;									\
	uint out_channel;

/*
 * Parameters of GATHER. For each position on the outer axes, tensor 0 has `size` slices of `inner`
 * elements. Tensor 1 has the indices of the slices that are copied.
 */
#define GATHER_PARAMS									\
	uint at[TENSORS];								\
	uint count;									\
	uint size;									\
	uint inner;									\
	uint indices;

#endif /* NN_VULKAN_PARAMS_H */
