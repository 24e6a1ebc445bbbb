/* SPDX-License-Identifier: MIT */
/* Operations that move elements, look up elements, or change the type of elements. */
#include <string.h>

#include "clients/tflite/operations.h"

/*
 * Translates operations that only change the shape: TensorFlow Lite has already computed the
 * output's shape.
 */
void reshape_op(struct lowering *t)
{
	set(t, 0, in(t, 0));
}

/* Returns an input whose elements the node moves: bools as numbers, because NNAPI does not move bools. */
static uint32_t moved_in(struct lowering *t, uint32_t i)
{
	const uint32_t x = in(t, i);

	return is_type(t, x, NN(TENSOR_BOOL8)) ? bool_as_float(t, x) : x;
}

void transpose_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	int64_t *axes = ints_of_count(t, 1, "the order of dimensions", shape->rank);
	int order[MAX_RANK];

	for (int i = 0; axes && i < shape->rank; i++)
		order[i] = axis_of(t, axes[i], shape->rank);
	if (!t->refused)
		set(t, 0, permuted(t, moved_in(t, 0), shape, order));
}

/* Translates CONCATENATION; TensorFlow Lite converts inputs to another scale only for uint8. */
void concatenation_op(struct lowering *t)
{
	const struct tfl_concatenation *p = params(t);
	const uint32_t count = in_count(t);
	const struct shape out = shape_of(tensor_out(t, 0));
	const int at = axis_of(t, p->axis, out.rank);
	uint32_t *x = builder_alloc(t->b, (count + 1) * sizeof(*x)), like = out_like(t, 0);

	if (p->activation != TFL_ACT_NONE)
		return refuse(t, "a fused activation is not supported");
	for (uint32_t i = 0; x && i < count && !t->refused; i++) {
		x[i] = in(t, i);
		if (!t->refused && tensor_in(t, i)->type == TFL_INT8 && !is_alike(t, x[i], like))
			refuse(t, "input %u must have the scale and zero point of the output", i);
	}
	if (x && !t->refused)
		set(t, 0, concatenated(t, x, count, &out, at, like));
}

/* Concatenates along a new axis. */
void pack_op(struct lowering *t)
{
	const struct tfl_pack *p = params(t);
	const uint32_t count = in_count(t);
	const struct shape out = shape_of(tensor_out(t, 0));
	const int axis = axis_of(t, p->axis, out.rank);
	uint32_t *x = builder_alloc(t->b, (count + 1) * sizeof(*x)), dims[3];

	if (t->refused || !x)
		return;
	around(&out, axis, dims);
	x[0] = scalar_int(t, 1);
	for (uint32_t i = 0; i < count && !t->refused; i++) {
		x[1 + i] = view(t, in(t, i), 2, (uint32_t[]){ dims[0], dims[2] });
		if (!is_alike(t, x[1 + i], x[1]))
			refuse(t, "input %u must have the scale and zero point of the output", i);
	}
	if (!t->refused)
		set(t, 0, emit(t, NN(PACK), result(t, x[1], 3, dims), count + 1, x));
}

/* Splits input `from` into all outputs. */
static void split(struct lowering *t, uint32_t from, int64_t axis)
{
	const struct shape *shape = shape_in(t, from);
	const int at = axis_of(t, axis, shape->rank);
	const uint32_t count = out_count(t);
	uint32_t *parts = builder_alloc(t->b, (count + 1) * sizeof(*parts));

	if (t->refused || !parts)
		return;
	divided(t, in(t, from), shape, at, count, parts);
	for (uint32_t i = 0; i < count && !t->refused; i++)
		set(t, i, parts[i]);
}

void split_op(struct lowering *t)
{
	split(t, 1, axis_in(t, 0, shape_in(t, 1)->rank));
}

void unpack_op(struct lowering *t)
{
	const struct tfl_pack *p = params(t);

	split(t, 0, p->axis);
}

void split_v_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	const int axis = axis_in(t, 2, shape->rank);
	int64_t begin = 0;

	for (uint32_t i = 0; i < out_count(t) && !t->refused; i++) {
		const struct shape out = shape_of(tensor_out(t, i));

		if (out.rank != shape->rank)
			return refuse(t, "the outputs must have the rank of the input");
		if (out.dims[axis] > shape->dims[axis] - begin)
			return refuse(t, "the outputs are larger than the input");
		set(t, i, taken(t, in(t, 0), shape, axis, begin, out.dims[axis]));
		begin += out.dims[axis];
	}
}

void slice_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0), out = shape_of(tensor_out(t, 0));
	int64_t count, *begin = ints_in(t, 1, &count);
	struct range ranges[MAX_RANK];

	if (t->refused || !ints_in(t, 2, &(int64_t){ 0 }))
		return;
	if (!shape->rank || count != shape->rank || out.rank != shape->rank)
		return refuse(t, "begin must have one number for each dimension");
	for (int i = 0; i < shape->rank; i++) {
		if (begin[i] < 0 || begin[i] > shape->dims[i] - out.dims[i])
			return refuse(t, "the slice exceeds the input");
		ranges[i] = (struct range){ begin[i], begin[i] + out.dims[i], 1, out.dims[i] };
	}
	set(t, 0, ranged(t, moved_in(t, 0), shape, ranges));
}

/*
 * Returns the range that STRIDED_SLICE selects from an axis. Masks may leave the range's begin or
 * end open, or drop the axis.
 */
static struct range strided(struct lowering *t, const struct tfl_strided_slice *p, int i,
			    struct range range, int64_t size)
{
	const bool back = range.step < 0, is_open = p->begin_mask & 1 << i;

	/* TensorFlow Lite does not clamp the index on an axis that shrink_axis_mask drops. */
	if (p->shrink_axis_mask & 1 << i &&
	    REFUSED_IF(t, !is_open && (range.begin < -size || range.begin >= size),
		       "index %lld is outside of the %lld elements of a dropped axis",
		       (long long)range.begin, (long long)size))
		return range;
	if (is_open)
		range.begin = back ? size - 1 : 0;
	if (p->shrink_axis_mask & 1 << i)
		range = (struct range){ range.begin, range.begin == -1 ? size : range.begin + 1, 1,
					0 };
	else if (p->end_mask & 1 << i)
		range.end = back ? -size - 1 : size;
	return range;
}

void strided_slice_op(struct lowering *t)
{
	const struct tfl_strided_slice *p = params(t);
	const struct shape *shape = shape_in(t, 0);
	int64_t count = 0, ends = 0, steps = 0, *begin = ints_in(t, 1, &count);
	int64_t *end = ints_in(t, 2, &ends), *step = ints_in(t, 3, &steps);
	struct range ranges[MAX_RANK];
	int given = 0, d = 0;

	if (!t->refused && (ends != count || steps != count))
		refuse(t, "begin, end and strides must have one size");
	if (!tfl(t)->is_old && p->offset)
		refuse(t, "an end relative to begin is not supported");
	for (int i = 0; i < count && i < 2 * MAX_RANK; i++)
		given += !((p->ellipsis_mask | p->new_axis_mask) >> i & 1);
	if (!t->refused && (count > 2 * MAX_RANK || given > shape->rank || !shape->rank))
		refuse(t, "there are more indices than dimensions");
	/*
	 * An ellipsis stands for all dimensions that have no index. An index that adds a new axis
	 * to the output uses no dimension of the input.
	 */
	for (int i = 0, rest = shape->rank - given; i < count && !t->refused; i++) {
		if (p->ellipsis_mask >> i & 1)
			for (; rest; rest--, d++)
				ranges[d] = (struct range){ 0, shape->dims[d], 1, 0 };
		else if (!(p->new_axis_mask >> i & 1)) {
			ranges[d] = strided(t, p, i, (struct range){ begin[i], end[i], step[i], 0 },
					    shape->dims[d]);
			d++;
		}
	}
	for (; d < shape->rank && !t->refused; d++)
		ranges[d] = (struct range){ 0, shape->dims[d], 1, 0 };
	for (int i = 0; i < shape->rank && !t->refused; i++)
		cut_range(t, shape->dims[i], &ranges[i]);
	if (!t->refused)
		set(t, 0, ranged(t, moved_in(t, 0), shape, ranges));
}

/*
 * Translates BROADCAST_TO of input 0 and FILL of input 1. TensorFlow Lite's FILL does not become
 * NNAPI's FILL, because NNAPI's FILL accepts only constants.
 */
void broadcast_to_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, t->code == NN(FILL));
	const struct shape to = shape_of(tensor_out(t, 0));
	struct shape both;

	if (t->code == NN(FILL) && (shape_count(shape) != 1 || !to.rank))
		return refuse(t, "there must be one value, and one dimension or more");
	both = broadcast_shape(t, shape, &to);
	if (both.rank != to.rank || shape_count(&both) != shape_count(&to))
		return refuse(t, "the input does not fit the output's %d dimensions", to.rank);
	set(t, 0, expanded(t, moved_in(t, t->code == NN(FILL)), shape, &to));
}

/* Translates SHAPE to a constant, because a partition is compiled again if shapes change. */
void shape_op(struct lowering *t)
{
	const struct tfl_ints *dims = tensor_in(t, 0)->dims;

	if (t->code == NN(RANK))
		set(t, 0, vector_int(t, 1, &dims->size));
	else if (dims->size)
		set(t, 0, vector_int(t, (uint32_t)dims->size, dims->data));
	else
		refuse(t, "the output must have one number for each dimension");
}

/* Translates PAD, PAD_V2 with a value, and MIRROR_PAD. */
void pad_op(struct lowering *t)
{
	const struct tfl_tensor *x = tensor_in(t, 0), *value = tensor_in(t, 2);
	const struct shape *shape = shape_in(t, 0);
	int64_t *given = ints_of_count(t, 1, "the list of paddings", 2 * shape->rank);
	int32_t pairs[2 * MAX_DIMS];
	uint32_t more = NO_OPERAND;
	const uint8_t *data;
	float real;

	if (t->refused || shape->rank > MAX_DIMS || !shape->rank)
		return refuse(t, "%d dimensions, must be 1 to 4", shape->rank);
	for (int i = 0; i < 2 * shape->rank; i++) {
		if (given[i] < 0 || given[i] > 1 << 24)
			return refuse(t, "padding %lld, not 0 to 2^24", (long long)given[i]);
		pairs[i] = (int32_t)given[i];
	}
	if (t->code == NN(MIRROR_PAD)) {
		const struct tfl_mirror_pad *p = params(t);

		if (p->mode != TFL_MIRROR_REFLECT && p->mode != TFL_MIRROR_SYMMETRIC)
			return refuse(t, "mode %d is not supported", p->mode);
		more = scalar_int(t, p->mode == TFL_MIRROR_SYMMETRIC);
	} else if (t->code == NN(PAD_V2)) {
		data = data_of_count(t, value, x->type, 1);
		if (!data)
			return;
		if (tensor_is_quant8(x) && !tensor_same_quant(x, value))
			return refuse(t, "the value must have the input's scale and zero point");
		if (x->type == TFL_FLOAT32)
			memcpy(&real, data, sizeof(real));
		/*
		 * For types other than float, NNAPI's PAD_V2 reads only the low byte of the padding
		 * value.
		 */
		more = x->type == TFL_FLOAT32 ? scalar_float(t, in(t, 0), real) :
						scalar_int(t, *data);
	}
	set(t, 0, padded(t, t->code, in(t, 0), pairs, more));
}

void resize_op(struct lowering *t)
{
	const struct tfl_resize *p = params(t);
	const bool bilinear = t->code == NN(RESIZE_BILINEAR);
	const struct shape to = shape_of(tensor_out(t, 0));
	uint32_t dims[MAX_DIMS];

	if (!ints_of_count(t, 1, "the output size", 2))
		return;
	if (to.rank != 4)
		return refuse(t, "input or output has %d dimensions, must be 4", to.rank);
	if (p->align_corners && p->half_pixels)
		return refuse(t, "align_corners and half_pixel_centers exclude each other");
	flat(&to, dims);
	/*
	 * NNAPI truncates interpolated quantised values, TensorFlow Lite rounds interpolated
	 * values.
	 */
	set(t, 0, resized(t, t->code, bilinear ? float_in(t, 0) : in(t, 0), dims, false,
			  p->align_corners, p->half_pixels));
}

/* ---- Lookup ---- */

void gather_op(struct lowering *t)
{
	const struct tfl_gather *p = params(t);
	const struct shape *shape = shape_in(t, 0);
	const int axis = axis_of(t, p->axis, shape->rank);
	struct shape places = *shape_in(t, 1);
	const int batch = p->batch_dims < 0 ? p->batch_dims + places.rank : p->batch_dims;
	uint32_t count;

	if (batch) {
		if (batch != axis || places.rank == MAX_RANK)
			return refuse(t, "%d batch dimensions before axis %d are not supported", batch, axis);
		places.dims[places.rank++] = 1;
		return set_lines(t, index_in(t, 1), &places, batch);
	}
	count = (uint32_t)tensor_count(tensor_in(t, 1));
	if (!t->refused)
		set(t, 0, gathered(t, moved_in(t, 0), shape, axis, view(t, index_in(t, 1), 1, &count),
				   count));
}

void gather_nd_op(struct lowering *t)
{
	set_lines(t, index_in(t, 1), shape_in(t, 1), 0);
}

void embedding_lookup_op(struct lowering *t)
{
	const struct tfl_tensor *rows = tensor_in(t, 1), *out = tensor_out(t, 0);

	if (tensor_in(t, 0)->type != TFL_INT32)
		return refuse(t, "the indices must be int32");
	if (out->type != rows->type)
		return refuse(t, "%s rows for %s are not supported",
			      tensor_type_name(rows->type), tensor_type_name(out->type));
	set(t, 0, EMIT(t, NN(EMBEDDING_LOOKUP), out_like(t, 0), in(t, 0), in(t, 1)));
}

/*
 * Checks that keys ascend. With equal or unsorted keys, TensorFlow Lite and NNAPI may find
 * different keys.
 */
static bool are_ascending(struct lowering *t, const struct tfl_tensor *keys)
{
	const uint64_t count = tensor_count(keys);
	const char *data = data_of_count(t, keys, TFL_INT32, count);
	int32_t last = 0, key;

	for (uint64_t i = 0; data && i < count; i++, last = key) {
		memcpy(&key, data + i * sizeof(key), sizeof(key));
		if (i && key <= last)
			return false;
	}
	return data;
}

void hashtable_lookup_op(struct lowering *t)
{
	uint32_t out[2];

	if (tensor_in(t, 0)->type != TFL_INT32 || tensor_in(t, 1)->type != TFL_INT32)
		return refuse(t, "the keys must be int32");
	if (!are_ascending(t, tensor_in(t, 1)))
		return refuse(t, "the keys must be constant and ascending");
	if (!tensor_out(t, 1) || tensor_out(t, 1)->type != TFL_UINT8)
		return refuse(t, "the hits must be uint8");
	out[0] = out_like(t, 0);
	out[1] = out_like(t, 1);
	emit_many(t, NN(HASHTABLE_LOOKUP), 2, out, 3,
		  (uint32_t[]){ in(t, 0), in(t, 1), in(t, 2) });
	set(t, 0, out[0]);
	set(t, 1, out[1]);
}

/*
 * TensorFlow Lite and NNAPI have different codes for the type of projection: NNAPI's code 1 is a
 * deprecated kind of sparse projection.
 */
void lsh_projection_op(struct lowering *t)
{
	enum { SPARSE = 1, DENSE = 2, NNAPI_DENSE = 2, NNAPI_SPARSE = 3 };
	const struct tfl_lsh *p = params(t);
	const struct tfl_tensor *hash = tensor_in(t, 0), *x = tensor_in(t, 1);
	const struct tfl_tensor *weight = tensor_in(t, 2);
	uint32_t weights, hashes = in(t, 0);

	if (p->type != SPARSE && p->type != DENSE)
		return refuse(t, "type %d is not supported", p->type);
	if (hash->type != TFL_FLOAT32 || (weight && weight->type != TFL_FLOAT32))
		return refuse(t, "hash functions and weights must be float32");
	if (weight && p->type == SPARSE)
		return refuse(t, "a sparse projection with weights is not supported");
	if (!x->dims->size)
		return refuse(t, "the input must not be a scalar");
	weights = p->type == SPARSE ? omitted(t, hashes, 1) : weight ? in(t, 2) :
		  filled(t, hashes, 1, (uint32_t[]){ dim(x, 0) }, 1);
	t->work += tensor_count(hash) * tensor_count(x);
	set(t, 0, EMIT(t, NN(LSH_PROJECTION), out_like(t, 0), hashes, in(t, 1), weights,
		       scalar_int(t, p->type == SPARSE ? NNAPI_SPARSE : NNAPI_DENSE)));
}

/* ---- Blocks ---- */

/* Reads the constant lists of SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND. */
static bool read_blocks(struct lowering *t, int32_t block[2], int32_t margins[4], const char *what)
{
	int64_t *blocks, *given;

	if (tensor_in(t, 0)->dims->size != 4)
		refuse(t, "the input has %d dimensions, must be 4", tensor_in(t, 0)->dims->size);
	blocks = ints_of_count(t, 1, "the block size", 2);
	given = ints_of_count(t, 2, what, 4);
	for (int i = 0; i < 4 && !t->refused; i++) {
		if (blocks[i / 2] < 1 || blocks[i / 2] > 1 << 24 || given[i] < 0 ||
		    given[i] > 1 << 24)
			refuse(t,
			       "blocks of %lld * %lld, or %s of %lld, are out of range",
			       (long long)blocks[0], (long long)blocks[1], what,
			       (long long)given[i]);
		block[i / 2] = (int32_t)blocks[i / 2];
		margins[i] = (int32_t)given[i];
	}
	return !t->refused;
}

void space_to_batch_op(struct lowering *t)
{
	int32_t block[2], padding[4];

	if (read_blocks(t, block, padding, "the list of paddings"))
		set(t, 0, EMIT(t, NN(SPACE_TO_BATCH_ND), out_like(t, 0), in(t, 0),
			       vector_int(t, 2, block),
			       constant_ints(t, 2, (uint32_t[]){ 2, 2 }, padding)));
}

/* Translates BATCH_TO_SPACE_ND. NNAPI's BATCH_TO_SPACE_ND does not crop, so a SLICE follows. */
void batch_to_space_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0), out = shape_of(tensor_out(t, 0));
	struct range ranges[4];
	struct shape to = *shape;
	int32_t block[2], crops[4];
	uint32_t x = in(t, 0), dims[4];

	if (!read_blocks(t, block, crops, "the list of crops"))
		return;
	if (to.dims[0] % ((int64_t)block[0] * block[1]) || out.rank != 4)
		return refuse(t, "blocks of %d * %d do not fit", block[0], block[1]);
	to.dims[0] /= (int64_t)block[0] * block[1];
	for (int i = 0; i < 4; i++) {
		const int32_t begin = i == 1 || i == 2 ? crops[2 * i - 2] : 0;

		to.dims[i] *= i == 1 || i == 2 ? block[i - 1] : 1;
		ranges[i] = (struct range){ begin, begin + out.dims[i], 1, out.dims[i] };
		if (ranges[i].end > to.dims[i])
			return refuse(t, "blocks of %d * %d do not fit", block[0], block[1]);
	}
	flat(&to, dims);
	x = EMIT(t, NN(BATCH_TO_SPACE_ND), result(t, x, 4, dims), x, vector_int(t, 2, block));
	set(t, 0, ranged(t, x, &to, ranges));
}

/* Translates DEPTH_TO_SPACE and SPACE_TO_DEPTH. */
void block_op(struct lowering *t)
{
	const struct tfl_block *p = params(t);
	const struct shape to = shape_of(tensor_out(t, 0));
	uint32_t dims[MAX_DIMS];

	if (to.rank != 4 || shape_in(t, 0)->rank != 4)
		return refuse(t, "input or output has %d dimensions, must be 4", to.rank);
	flat(&to, dims);
	set(t, 0, reblocked(t, t->code, in(t, 0), dims, p->size, false));
}

void reverse_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	const int at = axis_in(t, 1, shape->rank);

	if (!t->refused)
		set(t, 0, reversed(t, moved_in(t, 0), shape, at));
}

/*
 * Reverses the first n elements of the axis `time`; input 1 has n for each index on the axis
 * `batch`. The axes `time` and `batch` are merged to rows. GATHER copies row n - 1 - s to row s if
 * s < n, otherwise row s to row s.
 */
void reverse_sequence_op(struct lowering *t)
{
	const struct tfl_reverse_sequence *p = params(t);
	const struct shape *shape = shape_in(t, 0);
	const int time = axis_of(t, p->seq_dim, shape->rank);
	const int batch = axis_of(t, p->batch_dim, shape->rank);
	int order[MAX_RANK + 2] = { batch, time }, back[MAX_RANK] = { 0 }, rank = 2;
	uint32_t dims[2], rows, lengths, places, last, x;
	struct shape each, line, both, to = { .rank = shape->rank };
	int32_t *here, *there;

	if (REFUSED_IF(t, time == batch, "both axes are %d, must differ", time))
		return;
	for (int i = 0; i < shape->rank; i++)
		if (i != batch && i != time)
			order[rank++] = i;
	for (int i = 0; i < shape->rank; i++) {
		back[order[i]] = i;
		to.dims[i] = shape->dims[order[i]];
	}
	dims[0] = (uint32_t)to.dims[0];
	dims[1] = (uint32_t)to.dims[1];
	rows = dims[0] * dims[1];
	if (to.dims[0] * to.dims[1] > 1 << 24)
		return refuse(t, "%u * %u elements, must be at most 2^24", dims[0], dims[1]);
	each = (struct shape){ 2, { dims[0], 1 } };
	line = (struct shape){ 2, { 1, dims[1] } };
	both = (struct shape){ 2, { dims[0], dims[1] } };
	here = builder_alloc(t->b, rows * sizeof(*here));
	there = builder_alloc(t->b, rows * sizeof(*there));
	if (!here || !there)
		return;
	for (uint32_t i = 0; i < rows; i++) {
		here[i] = (int32_t)i;
		there[i] = (int32_t)(i - i % dims[1] * 2) - 1;
	}
	lengths = view_shape(t, index_in(t, 1), &each);
	places = constant_ints(t, 2, (uint32_t[]){ 1, dims[1] }, here);
	last = broadcast(t, NN(ADD), constant_ints(t, 2, dims, there), &both, lengths, &each, &both);
	places = selected(t, broadcast(t, NN(LESS), places, &line, lengths, &each, &both), last,
			  constant_ints(t, 2, dims, here));
	x = permuted(t, in(t, 0), shape, order);
	x = gathered(t, x, &(struct shape){ 2, { rows, shape_count(shape) / rows } }, 0,
		     view(t, places, 1, &rows), rows);
	set(t, 0, permuted(t, view_shape(t, x, &to), &to, back));
}

/* ---- Types ---- */

/*
 * Casts between types for which TensorFlow Lite and NNAPI compute the same results; rejects other
 * types.
 */
void cast_op(struct lowering *t)
{
	const struct tfl_tensor *from = tensor_in(t, 0), *to = tensor_out(t, 0);
	const bool is_whole = from->type == TFL_INT32 || from->type == TFL_INT64;
	const char *why = NULL;
	uint32_t x = to->type == TFL_INT32 && is_whole ? low_in(t, 0) : in(t, 0);

	if ((is_whole || from->type == TFL_FLOAT32) && to->type == TFL_UINT8)
		why = " wraps in TensorFlow Lite and saturates in NNAPI";
	else if (from->type == TFL_FLOAT32 && to->type == TFL_INT64)
		why = " may exceed NNAPI's 32 bits";
	else if (from->type == TFL_INT8 || to->type == TFL_INT8 ||
		 (to->type == TFL_BOOL && from->type == TFL_UINT8) ||
		 (to->type == TFL_FLOAT16 && from->type != TFL_FLOAT32))
		why = " is not supported";
	if (why)
		return refuse(t, "%s to %s%s", tensor_type_name(from->type),
			      tensor_type_name(to->type), why);
	if (is_type(t, x, NN(TENSOR_BOOL8)))
		x = bool_as_float(t, x);
	if (to->type == TFL_BOOL)
		return set(t, 0, float_as_bool(t, x));
	set(t, 0, EMIT(t, NN(CAST), out_like(t, 0), x));
}

void quantize_op(struct lowering *t)
{
	if (!tensor_is_quant8(tensor_out(t, 0)))
		return refuse(t, "quantising to %s is not supported",
			      tensor_type_name(tensor_out(t, 0)->type));
	set(t, 0, float_in(t, 0));
}

/* Converts float16 weights by CAST, which NNAPI computes during compilation. */
void dequantize_op(struct lowering *t)
{
	if (tensor_out(t, 0)->type != TFL_FLOAT32)
		return refuse(t, "dequantising to %s is not supported",
			      tensor_type_name(tensor_out(t, 0)->type));
	set(t, 0, tensor_in(t, 0)->type == TFL_FLOAT16 ?
		  EMIT(t, NN(CAST), out_like(t, 0), in(t, 0)) : float_in(t, 0));
}
