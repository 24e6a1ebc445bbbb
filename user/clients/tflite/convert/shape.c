/* SPDX-License-Identifier: MIT */
/*
 * Operations that move elements and compute nothing.
 */
#include <string.h>

#include "clients/tflite/operations.h"

/* The target shape is the output's: TensorFlow Lite has worked it out. */
void convert_reshape(struct graph *g, const struct operation *op)
{
	(void)op;
	if (!same_quant(g, 0, 0))
		return;
	if (graph_output(g, 0)->dims->size > GRAPH_MAX_RANK ||
	    tensor_count(graph_input(g, 0)) != tensor_count(graph_output(g, 0)))
		return graph_refuse(g, "an output of another size");
	graph_reshape_to(g, graph_in(g, 0), 0);
}

void convert_transpose(struct graph *g, const struct operation *op)
{
	int32_t order[GRAPH_MAX_RANK];
	int rank = graph_input(g, 0)->dims->size;

	(void)op;
	if (!same_quant(g, 0, 0))
		return;
	if (graph_read_ints(g, graph_input(g, 1), "the order of dimensions", order, 4) != rank)
		return graph_refuse(g, "an order of another number of dimensions than %d", rank);
	for (int i = 0; i < rank && !g->refused; i++)
		order[i] = (int32_t)tfl_axis_of(g, order[i], rank);
	emit(g, ANEURALNETWORKS_TRANSPOSE, graph_out(g, 0), graph_in(g, 0),
	     graph_ints(g, order, (uint32_t)rank));
}

void convert_concatenation(struct graph *g, const struct operation *op)
{
	const struct tfl_concatenation *p = g->node->builtin_data;
	uint32_t inputs[256], axis = tfl_axis_of(g, p->axis, graph_output(g, 0)->dims->size);
	int count = g->node->inputs->size;

	(void)op;
	if (p->activation != TFL_ACT_NONE)
		return graph_refuse(g, "a fused activation");
	for (int i = 0; i < count; i++) {
		if (!same_type(g, i, 0))
			return;
		/* TensorFlow Lite changes the scale of uint8 only. */
		if (graph_input(g, i)->type == TFL_INT8 && !same_quant(g, i, 0))
			return;
		inputs[i] = graph_in(g, i);
	}
	inputs[count] = graph_i32(g, (int32_t)axis);
	graph_operation(g, ANEURALNETWORKS_CONCATENATION, inputs, (uint32_t)count + 1,
			(const uint32_t[]){ graph_out(g, 0) }, 1);
}

/* The axis that a constant scalar tensor names. */
static uint32_t read_axis(struct graph *g, int input, int rank)
{
	int32_t axis = 0;

	if (graph_read_ints(g, graph_input(g, input), "the axis", &axis, 1) != 1) {
		graph_refuse(g, "no axis");
		return GRAPH_NONE;
	}
	return tfl_axis_of(g, axis, rank);
}

static int num_outputs(const struct graph *g)
{
	return g->node->outputs->size < 256 ? g->node->outputs->size : 0;
}

void convert_split(struct graph *g, const struct operation *op)
{
	uint32_t axis = read_axis(g, 0, graph_input(g, 1)->dims->size), outputs[256];
	int count = num_outputs(g);

	(void)op;
	if (!count)
		return graph_refuse(g, "%d outputs", g->node->outputs->size);
	for (int i = 0; i < count; i++) {
		if (!same_quant(g, 1, i))
			return;
		outputs[i] = graph_out(g, i);
	}
	graph_operation(g, ANEURALNETWORKS_SPLIT,
			(const uint32_t[]){ graph_in(g, 1), graph_i32(g, (int32_t)axis),
					    graph_i32(g, count) }, 3,
			outputs, (uint32_t)count);
}

/* Part of a tensor from `begin` on, as large as the operand `to`. */
static void slice_to(struct graph *g, uint32_t to, uint32_t from, const int32_t *begin)
{
	int32_t size[GRAPH_MAX_RANK];

	if (g->refused)
		return;
	if (g->values[to].rank != g->values[from].rank)
		return graph_refuse(g, "a slice of %u dimensions of %u", g->values[to].rank,
				    g->values[from].rank);
	for (uint32_t i = 0; i < g->values[to].rank; i++)
		size[i] = (int32_t)g->values[to].dims[i];
	emit(g, ANEURALNETWORKS_SLICE, to, from, graph_ints(g, begin, g->values[to].rank),
	     graph_ints(g, size, g->values[to].rank));
}

void convert_split_v(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *x = graph_input(g, 0);
	uint32_t axis = read_axis(g, 2, x->dims->size), from = graph_in(g, 0);
	int32_t begin[GRAPH_MAX_RANK] = { 0 };

	(void)op;
	for (int i = 0; i < g->node->outputs->size && !g->refused; i++) {
		if (!same_quant(g, 0, i))
			return;
		if (graph_output(g, i)->dims->size != x->dims->size)
			return graph_refuse(g, "outputs of other ranks");
		slice_to(g, graph_out(g, i), from, begin);
		begin[axis] += graph_output(g, i)->dims->data[axis];
	}
}

void convert_pack(struct graph *g, const struct operation *op)
{
	const struct tfl_pack *p = g->node->builtin_data;
	const struct tfl_tensor *x = graph_input(g, 0), *out = graph_output(g, 0);
	bool scalars = x->dims->size == 0;
	uint32_t inputs[256], axis = tfl_axis_of(g, p->axis, out->dims->size), to;
	int count = g->node->inputs->size;
	struct value v;

	(void)op;
	inputs[0] = graph_i32(g, (int32_t)axis);
	for (int i = 0; i < count; i++) {
		if (!same_quant(g, i, 0))
			return;
		inputs[i + 1] = graph_in(g, i);
	}
	/* Scalars are tensors of one element in NNAPI. */
	v = value_shaped(graph_value_of(g, out), 2, (const uint32_t[]){ (uint32_t)count, 1 });
	to = scalars ? graph_temporary(g, &v) : graph_out(g, 0);
	graph_operation(g, ANEURALNETWORKS_PACK, inputs, (uint32_t)count + 1,
			(const uint32_t[]){ to }, 1);
	if (scalars)
		graph_reshape_to(g, to, 0);
}

/* SPLIT, and the axis dropped from each part. */
void convert_unpack(struct graph *g, const struct operation *op)
{
	const struct tfl_unpack *p = g->node->builtin_data;
	const struct tfl_tensor *x = graph_input(g, 0);
	uint32_t axis = tfl_axis_of(g, p->axis, x->dims->size), parts[256];
	int count = num_outputs(g);
	struct value v = graph_value_of(g, x);

	(void)op;
	if (!count || g->refused)
		return graph_refuse(g, "%d outputs", g->node->outputs->size);
	v.dims[axis] = 1;
	for (int i = 0; i < count; i++)
		parts[i] = graph_temporary(g, &v);
	graph_operation(g, ANEURALNETWORKS_SPLIT,
			(const uint32_t[]){ graph_in(g, 0), graph_i32(g, (int32_t)axis),
					    graph_i32(g, count) }, 3, parts, (uint32_t)count);
	for (int i = 0; i < count; i++) {
		if (!same_quant(g, 0, i))
			return;
		graph_reshape_to(g, parts[i], i);
	}
}

void convert_slice(struct graph *g, const struct operation *op)
{
	int rank = graph_input(g, 0)->dims->size;
	int32_t begin[GRAPH_MAX_RANK], size[GRAPH_MAX_RANK];

	(void)op;
	if (!same_quant(g, 0, 0) ||
	    graph_read_ints(g, graph_input(g, 1), "the begin", begin, GRAPH_MAX_RANK) < 0 ||
	    graph_read_ints(g, graph_input(g, 2), "the size", size, GRAPH_MAX_RANK) < 0)
		return;
	if (!rank || tensor_count(graph_input(g, 1)) != (uint64_t)rank)
		return graph_refuse(g, "a begin of another size than the input's rank");
	slice_to(g, graph_out(g, 0), graph_in(g, 0), begin);
}

/* An index of an axis as both interfaces take it: negative ones from the end, then limited. */
static int32_t limited(int32_t index, int32_t size, bool backwards)
{
	int32_t least = backwards ? -1 : 0, most = backwards ? size - 1 : size;

	if (index < 0)
		index += size;
	return index < least ? least : index > most ? most : index;
}

void convert_strided_slice(struct graph *g, const struct operation *op)
{
	const struct tfl_strided_slice *p = g->node->builtin_data;
	const struct tfl_tensor *x = graph_input(g, 0);
	int32_t begin[GRAPH_MAX_RANK], end[GRAPH_MAX_RANK], stride[GRAPH_MAX_RANK];
	int rank = x->dims->size, count, end_mask = 0;
	struct value v = graph_value_of(g, x);
	bool plain = true;
	uint32_t to;

	(void)op;
	if (!same_quant(g, 0, 0))
		return;
	count = graph_read_ints(g, graph_input(g, 1), "the begin", begin, GRAPH_MAX_RANK);
	if (graph_read_ints(g, graph_input(g, 2), "the end", end, GRAPH_MAX_RANK) != count ||
	    graph_read_ints(g, graph_input(g, 3), "the strides", stride, GRAPH_MAX_RANK) != count)
		graph_refuse(g, "begin, end and strides of different sizes");
	if (p->ellipsis_mask || p->new_axis_mask)
		graph_refuse(g, "an ellipsis or a new axis");
	if (count > rank || !rank)
		graph_refuse(g, "more indices than dimensions");
	for (int i = 0; i < rank && !g->refused; i++) {
		int32_t size = x->dims->data[i];
		int64_t count_of;
		bool back;

		if (i >= count) {
			begin[i] = 0;
			end[i] = size;
			stride[i] = 1;
			continue;
		}
		if (!stride[i])
			return graph_refuse(g, "a stride of 0");
		back = stride[i] < 0;
		if (p->offset)
			return graph_refuse(g, "an end that counts from the begin");
		/* TensorFlow Lite does not limit the place of an axis that it drops. */
		if (p->shrink_axis_mask & 1 << i && !(p->begin_mask & 1 << i) &&
		    (begin[i] < -size || begin[i] >= size))
			return graph_refuse(g, "place %d of %d in an axis that is dropped", begin[i],
					    size);
		begin[i] = p->begin_mask & 1 << i ? (back ? size - 1 : 0) :
			   limited(begin[i], size, back);
		if (p->shrink_axis_mask & 1 << i) {
			stride[i] = 1;
			end[i] = begin[i] + 1;
		} else if (p->end_mask & 1 << i) {
			end[i] = back ? -1 : size;
		} else {
			end[i] = limited(end[i], size, back);
		}
		/* An end before the first element can only be said by the mask. */
		if (end[i] < 0)
			end_mask |= 1 << i;
		plain = plain && stride[i] == 1;
		count_of = ((int64_t)end[i] - begin[i] + stride[i] - (back ? -1 : 1)) / stride[i];
		if (count_of <= 0)
			return graph_refuse(g, "an empty slice");
		v.dims[i] = (uint32_t)count_of;
	}
	if (g->refused)
		return;
	to = rank == graph_output(g, 0)->dims->size ? graph_out(g, 0) : graph_temporary(g, &v);
	if (plain) {
		slice_to(g, to, graph_in(g, 0), begin);
	} else {
		if (rank > 4 || x->type == TFL_INT32)
			return graph_refuse(g, "strides for %d dimensions of %s", rank,
					    tensor_type_name(x->type));
		emit(g, ANEURALNETWORKS_STRIDED_SLICE, to, graph_in(g, 0),
		     graph_ints(g, begin, (uint32_t)rank), graph_ints(g, end, (uint32_t)rank),
		     graph_ints(g, stride, (uint32_t)rank), graph_i32(g, 0),
		     graph_i32(g, end_mask), graph_i32(g, 0));
	}
	if (rank != graph_output(g, 0)->dims->size)
		graph_reshape_to(g, to, 0);
}

void convert_tile(struct graph *g, const struct operation *op)
{
	int32_t times[GRAPH_MAX_RANK];
	int rank = graph_input(g, 0)->dims->size;

	(void)op;
	if (!same_quant(g, 0, 0))
		return;
	if (graph_read_ints(g, graph_input(g, 1), "the list of multiples", times,
			    GRAPH_MAX_RANK) != rank || !rank)
		return graph_refuse(g, "multiples for another number of dimensions");
	emit(g, ANEURALNETWORKS_TILE, graph_out(g, 0), graph_in(g, 0),
	     graph_ints(g, times, (uint32_t)rank));
}

void convert_broadcast_to(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *x = graph_input(g, 0), *out = graph_output(g, 0);
	int rank = out->dims->size, missing = rank - x->dims->size;
	uint32_t dims[GRAPH_MAX_RANK];
	int32_t times[GRAPH_MAX_RANK];

	(void)op;
	if (!same_quant(g, 0, 0))
		return;
	if (missing < 0 || !rank || rank > GRAPH_MAX_RANK)
		return graph_refuse(g, "an output of %d dimensions", rank);
	for (int i = 0; i < rank; i++) {
		int32_t size = i < missing ? 1 : x->dims->data[i - missing];

		dims[i] = (uint32_t)size;
		times[i] = size == 1 ? out->dims->data[i] : 1;
	}
	emit(g, ANEURALNETWORKS_TILE, graph_out(g, 0),
	     graph_reshaped(g, graph_in(g, 0), (uint32_t)rank, dims),
	     graph_ints(g, times, (uint32_t)rank));
}

/* A value for all elements, which need not be constant: NNAPI's FILL takes constants only. */
void convert_fill(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *out = graph_output(g, 0);
	struct value v = graph_value_of(g, out);
	uint32_t ones[GRAPH_MAX_RANK];
	int32_t times[GRAPH_MAX_RANK];

	(void)op;
	if (!same_quant(g, 1, 0))
		return;
	if (tensor_count(graph_input(g, 1)) != 1 || !out->dims->size)
		return graph_refuse(g, "not one value for one dimension or more");
	for (uint32_t i = 0; i < v.rank; i++) {
		ones[i] = 1;
		times[i] = (int32_t)v.dims[i];
	}
	emit(g, ANEURALNETWORKS_TILE, graph_out(g, 0),
	     graph_reshaped(g, graph_in(g, 1), v.rank, ones), graph_ints(g, times, v.rank));
}

void convert_zeros_like(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *out = graph_output(g, 0);

	(void)op;
	if (!same_type(g, 0, 0))
		return;
	if (!out->dims->size)
		return graph_refuse(g, "a scalar");
	emit(g, ANEURALNETWORKS_FILL, graph_out(g, 0),
	     graph_ints(g, out->dims->data, (uint32_t)out->dims->size),
	     out->type == TFL_INT32 ? graph_i32(g, 0) : graph_f32(g, 0));
}

/* Shapes are known when a partition is compiled: of other shapes it is compiled again. */
void convert_shape(struct graph *g, const struct operation *op)
{
	const struct tfl_ints *dims = graph_input(g, 0)->dims;
	const struct tfl_tensor *out = graph_output(g, 0);
	bool rank = op->code == ANEURALNETWORKS_RANK;

	if (out->type != TFL_INT32)
		return graph_refuse(g, "an output of type %s", tensor_type_name(out->type));
	if (tensor_count(out) != (rank ? 1 : (uint64_t)dims->size) || (!rank && !dims->size))
		return graph_refuse(g, "an output of another size than the input's rank");
	graph_reshape_to(g, rank ? graph_ints(g, &dims->size, 1) :
			 graph_ints(g, dims->data, (uint32_t)dims->size), 0);
}

/* The constant pairs of input 1, as a tensor [rank, 2]. */
static uint32_t paddings(struct graph *g)
{
	int32_t pairs[2 * GRAPH_MAX_RANK];
	int rank = graph_input(g, 0)->dims->size;
	struct value v = { .type = ANEURALNETWORKS_TENSOR_INT32, .rank = 2,
			   .dims = { (uint32_t)rank, 2 } };

	if (graph_read_ints(g, graph_input(g, 1), "the list of paddings", pairs,
			    2 * GRAPH_MAX_RANK) != 2 * rank)
		graph_refuse(g, "paddings for another number of dimensions");
	return graph_constant(g, &v, pairs, (uint64_t)rank * 2 * sizeof(pairs[0]));
}

void convert_pad(struct graph *g, const struct operation *op)
{
	(void)op;
	if (same_quant(g, 0, 0))
		emit(g, ANEURALNETWORKS_PAD, graph_out(g, 0), graph_in(g, 0), paddings(g));
}

void convert_pad_v2(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *x = graph_input(g, 0), *value = graph_input(g, 2);
	const void *data = data_of_count(g, value, x->type, 1);
	uint32_t pad;
	float real;

	(void)op;
	if (!same_quant(g, 0, 0) || !data)
		return;
	if (tensor_is_quant8(x) && !tensor_same_quant(x, value))
		return graph_refuse(g, "a value of another scale or zero point than the input");
	if (x->type == TFL_FLOAT32) {
		memcpy(&real, data, sizeof(real));
		pad = graph_f32(g, real);
	} else {
		/* The operation takes the low byte only. */
		pad = graph_i32(g, *(const uint8_t *)data);
	}
	emit(g, ANEURALNETWORKS_PAD_V2, graph_out(g, 0), graph_in(g, 0), paddings(g), pad);
}

void convert_mirror_pad(struct graph *g, const struct operation *op)
{
	const struct tfl_mirror_pad *p = g->node->builtin_data;

	(void)op;
	if (p->mode != TFL_MIRROR_REFLECT && p->mode != TFL_MIRROR_SYMMETRIC)
		return graph_refuse(g, "mode %d", p->mode);
	if (same_quant(g, 0, 0))
		emit(g, ANEURALNETWORKS_MIRROR_PAD, graph_out(g, 0), graph_in(g, 0), paddings(g),
		     graph_i32(g, p->mode == TFL_MIRROR_SYMMETRIC));
}

void convert_gather(struct graph *g, const struct operation *op)
{
	const struct tfl_gather *p = g->node->builtin_data;
	const struct tfl_tensor *x = graph_input(g, 0), *indices = graph_input(g, 1);
	uint32_t axis = tfl_axis_of(g, p->axis, x->dims->size), to;
	struct value v;

	(void)op;
	if (!same_quant(g, 0, 0))
		return;
	if (p->batch_dims)
		return graph_refuse(g, "batch dimensions");
	if (!indices || indices->type != TFL_INT32)
		return graph_refuse(g, "indices that are not int32");
	/* One index without dimensions is one of a list for NNAPI. */
	v = graph_value_of(g, x);
	v.dims[axis < GRAPH_MAX_RANK ? axis : 0] = 1;
	to = indices->dims->size ? graph_out(g, 0) : graph_temporary(g, &v);
	emit(g, ANEURALNETWORKS_GATHER, to, graph_in(g, 0), graph_i32(g, (int32_t)axis),
	     graph_in(g, 1));
	if (!indices->dims->size)
		graph_reshape_to(g, to, 0);
}

void convert_embedding_lookup(struct graph *g, const struct operation *op)
{
	(void)op;
	if (graph_input(g, 0)->type != TFL_INT32)
		return graph_refuse(g, "indices that are not int32");
	if (graph_output(g, 0)->type != graph_input(g, 1)->type)
		return graph_refuse(g, "a hybrid operation: %s rows for %s",
				    tensor_type_name(graph_input(g, 1)->type),
				    tensor_type_name(graph_output(g, 0)->type));
	if (same_quant(g, 1, 0))
		emit(g, ANEURALNETWORKS_EMBEDDING_LOOKUP, graph_out(g, 0), graph_in(g, 0),
		     graph_in(g, 1));
}

/* Of equal keys, and of keys in another order, the interfaces may find different ones. */
static bool are_ascending(struct graph *g, const struct tfl_tensor *keys)
{
	const uint64_t count = tensor_count(keys);
	const char *data = data_of_count(g, keys, TFL_INT32, count);
	int32_t last = 0, key;

	for (uint64_t i = 0; data && i < count; i++, last = key) {
		memcpy(&key, data + i * sizeof(key), sizeof(key));
		if (i && key <= last)
			return false;
	}
	return data;
}

void convert_hashtable_lookup(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *lookups = graph_input(g, 0), *keys = graph_input(g, 1);

	(void)op;
	if (lookups->type != TFL_INT32 || keys->type != TFL_INT32)
		return graph_refuse(g, "keys that are not int32");
	if (!are_ascending(g, keys))
		return graph_refuse(g, "keys that are not constant and in ascending order");
	if (!graph_output(g, 1) || graph_output(g, 1)->type != TFL_UINT8)
		return graph_refuse(g, "hits that are not uint8");
	if (same_quant(g, 2, 0))
		graph_operation(g, ANEURALNETWORKS_HASHTABLE_LOOKUP,
				(const uint32_t[]){ graph_in(g, 0), graph_in(g, 1),
						    graph_in(g, 2) }, 3,
				(const uint32_t[]){ graph_out(g, 0), graph_out(g, 1) }, 2);
}

/* The interfaces' codes for a projection's type differ: NNAPI's 1 is another sparse one. */
void convert_lsh_projection(struct graph *g, const struct operation *op)
{
	enum { SPARSE = 1, DENSE = 2, NNAPI_DENSE = 2, NNAPI_SPARSE = 3 };
	const struct tfl_lsh *p = g->node->builtin_data;
	const struct tfl_tensor *x = graph_input(g, 1), *weight = graph_input(g, 2);
	const struct value none = { .type = ANEURALNETWORKS_TENSOR_FLOAT32, .rank = 1 };
	uint32_t weights;

	(void)op;
	if (p->type != SPARSE && p->type != DENSE)
		return graph_refuse(g, "type %d", p->type);
	if (graph_input(g, 0)->type != TFL_FLOAT32 || (weight && weight->type != TFL_FLOAT32))
		return graph_refuse(g, "hash functions or weights that are not float32");
	if (weight && p->type == SPARSE)
		return graph_refuse(g, "a sparse projection with weights, which NNAPI does not take");
	if (!x->dims->size)
		return graph_refuse(g, "no dimensions");
	if (p->type == SPARSE)
		weights = graph_omitted(g, &none);
	else if (weight)
		weights = graph_in(g, 2);
	else
		weights = graph_floats(g, (uint32_t)x->dims->data[0], 1);
	emit(g, ANEURALNETWORKS_LSH_PROJECTION, graph_out(g, 0), graph_in(g, 0), graph_in(g, 1),
	     weights, graph_i32(g, p->type == SPARSE ? NNAPI_SPARSE : NNAPI_DENSE));
	if (!g->refused)
		g->work += tensor_count(graph_input(g, 0)) * tensor_count(x);
}

static bool read_blocks(struct graph *g, int32_t block[2], int32_t margins[4], const char *what)
{
	if (graph_input(g, 0)->dims->size != 4)
		graph_refuse(g, "%d dimensions, must be 4", graph_input(g, 0)->dims->size);
	else if (graph_read_ints(g, graph_input(g, 1), "the block size", block, 2) != 2 ||
		 graph_read_ints(g, graph_input(g, 2), what, margins, 4) != 4)
		graph_refuse(g, "not two spatial dimensions");
	return !g->refused;
}

void convert_space_to_batch(struct graph *g, const struct operation *op)
{
	const struct value pairs = { .type = ANEURALNETWORKS_TENSOR_INT32, .rank = 2,
				     .dims = { 2, 2 } };
	int32_t block[2], padding[4];

	(void)op;
	if (same_quant(g, 0, 0) && read_blocks(g, block, padding, "the list of paddings"))
		emit(g, ANEURALNETWORKS_SPACE_TO_BATCH_ND, graph_out(g, 0), graph_in(g, 0),
		     graph_ints(g, block, 2), graph_constant(g, &pairs, padding, sizeof(padding)));
}

/* NNAPI's does not crop: SLICE does. */
void convert_batch_to_space(struct graph *g, const struct operation *op)
{
	const struct tfl_tensor *x = graph_input(g, 0);
	int32_t block[2], crops[4];
	struct value v;
	uint32_t to;

	(void)op;
	if (!same_quant(g, 0, 0) || !read_blocks(g, block, crops, "the list of crops"))
		return;
	if (block[0] < 1 || block[1] < 1 || x->dims->data[0] % ((int64_t)block[0] * block[1]))
		return graph_refuse(g, "blocks of %d * %d", block[0], block[1]);
	v = graph_value_of(g, x);
	v.dims[0] /= (uint32_t)(block[0] * block[1]);
	v.dims[1] *= (uint32_t)block[0];
	v.dims[2] *= (uint32_t)block[1];
	if (!crops[0] && !crops[1] && !crops[2] && !crops[3]) {
		emit(g, ANEURALNETWORKS_BATCH_TO_SPACE_ND, graph_out(g, 0), graph_in(g, 0),
		     graph_ints(g, block, 2));
		return;
	}
	to = graph_temporary(g, &v);
	emit(g, ANEURALNETWORKS_BATCH_TO_SPACE_ND, to, graph_in(g, 0), graph_ints(g, block, 2));
	slice_to(g, graph_out(g, 0), to, (const int32_t[]){ 0, crops[0], crops[2], 0 });
}

void convert_block(struct graph *g, const struct operation *op)
{
	const struct tfl_block *p = g->node->builtin_data;

	if (same_quant(g, 0, 0))
		emit(g, op->code, graph_out(g, 0), graph_in(g, 0), graph_i32(g, p->size));
}

void convert_reverse(struct graph *g, const struct operation *op)
{
	int32_t axes[GRAPH_MAX_RANK];
	int rank = graph_input(g, 0)->dims->size;

	(void)op;
	if (!same_quant(g, 0, 0))
		return;
	if (graph_read_ints(g, graph_input(g, 1), "the axis", axes, GRAPH_MAX_RANK) != 1)
		return graph_refuse(g, "not one axis");
	axes[0] = (int32_t)tfl_axis_of(g, axes[0], rank);
	emit(g, ANEURALNETWORKS_REVERSE, graph_out(g, 0), graph_in(g, 0), graph_ints(g, axes, 1));
}
