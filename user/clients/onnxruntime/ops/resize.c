// SPDX-License-Identifier: MIT
/*
 * Resize and Upsample by ONNX's coordinate rules. If an operation of the NNAPI computes the same
 * result as the node, the translator emits this operation. If no operation of the NNAPI fits, each
 * axis is resized in turn: nearest elements by GATHER, weighted sums by a GEMM with a constant
 * matrix.
 */
#include "ops.h"

#include <math.h>
#include <string.h>

/* Maximum dimension: the plug-in computes each position of an axis during translation. */
#define MAX_SIZE (1 << 20)

enum mode { NEAREST, LINEAR, CUBIC };
enum coordinates {
	HALF_PIXEL, ASYMMETRIC, ALIGN_CORNERS, PYTORCH_HALF_PIXEL, HALF_PIXEL_SYMMETRIC,
	TF_CROP_AND_RESIZE
};
/*
 * BEFORE_11: without nearest_mode, ONNX Runtime rounds up on axes that shrink, and down on other
 * axes. Operator sets before 11 lack the attribute nearest_mode.
 */
enum rounding { PREFER_FLOOR, FLOOR, CEIL, PREFER_CEIL, BEFORE_11 };

struct resize {
	enum mode mode;
	enum coordinates coordinates;
	enum rounding rounding;
	float cubic;
	bool exclude_outside;
	int rank;
	int64_t in[MAX_RANK], out[MAX_RANK];
	float scale[MAX_RANK];
};

/* Returns the coordinate in the input for an element of the result. */
static float source(const struct resize *r, int axis, int64_t at)
{
	float in = (float)r->in[axis], out = (float)r->out[axis], scale = r->scale[axis];

	if (scale == 1)
		return (float)at;
	if (r->coordinates == ASYMMETRIC)
		return (float)at / scale;
	if (r->coordinates == ALIGN_CORNERS)
		return out == 1 ? 0 : (float)at * (in - 1) / (out - 1);
	if (r->coordinates == PYTORCH_HALF_PIXEL && out <= 1)
		return 0;
	if (r->coordinates == HALF_PIXEL_SYMMETRIC) {
		float adjustment = out / (scale * in);

		return in / 2 * (1 - adjustment) + ((float)at + 0.5f) / scale - 0.5f;
	}
	return ((float)at + 0.5f) / scale - 0.5f;
}

static int64_t clamped(int64_t at, int64_t size)
{
	return at < 0 ? 0 : at >= size ? size - 1 : at;
}

static int64_t nearest(const struct resize *r, int axis, int64_t at)
{
	const bool is_old = r->rounding == BEFORE_11, shrinks = r->scale[axis] < 1;
	float x = source(r, axis, at);

	if (r->rounding == FLOOR || (is_old && !shrinks))
		x = floorf(x);
	else if (r->rounding == CEIL || is_old)
		x = ceilf(x);
	else if (r->rounding == PREFER_CEIL)
		x = floorf(x + 0.5f);
	else
		x = ceilf(x - 0.5f);
	return clamped((int64_t)x, r->in[axis]);
}

/* ---- cases of the NNAPI's operations ---- */

static float nnapi_source(const struct resize *r, int axis, int64_t at, bool align, bool half)
{
	float scale = align && r->out[axis] > 1 ?
		      (float)(r->in[axis] - 1) / (float)(r->out[axis] - 1) :
		      (float)r->in[axis] / (float)r->out[axis];

	return half ? ((float)at + 0.5f) * scale : (float)at * scale;
}

static bool is_nnapi_nearest(const struct resize *r, int axis, bool align, bool half)
{
	for (int64_t i = 0; i < r->out[axis]; i++) {
		float x = nnapi_source(r, axis, i, align, half);
		float exact = x - floorf(x);

		if (clamped((int64_t)(align ? roundf(x) : floorf(x)), r->in[axis]) !=
		    nearest(r, axis, i))
			return false;
		/* Near a tie of rounding, ONNX's and the NNAPI's computations may differ. */
		if (!align && (exact > 0.9999f || (exact && exact < 0.0001f)))
			return false;
	}
	return true;
}

static bool is_nnapi_linear(const struct resize *r, int axis, bool align, bool half)
{
	float most = (float)(r->in[axis] - 1);

	for (int64_t i = 0; i < r->out[axis]; i++) {
		float x = nnapi_source(r, axis, i, align, half) - (half ? 0.5f : 0);
		float y = source(r, axis, i);

		if (fabsf(fminf(fmaxf(x, 0), most) - fminf(fmaxf(y, 0), most)) > 1e-5f * (most + 1))
			return false;
	}
	return true;
}

/*
 * Returns whether an operation of the NNAPI computes the resize `r`, on the last two of four
 * dimensions. Sets *align and *half to the flags align_corners and half_pixel_centers of the
 * NNAPI's operation.
 */
static bool is_nnapi(const struct resize *r, bool *align, bool *half)
{
	if (r->rank != 4 || r->mode == CUBIC || r->scale[0] != 1 || r->scale[1] != 1)
		return false;
	for (int flags = 0; flags < 3; flags++) {
		bool good = true;

		*align = flags == 1;
		*half = flags == 2;
		for (int axis = 2; good && axis < 4; axis++)
			good = r->mode == NEAREST ? is_nnapi_nearest(r, axis, *align, *half) :
						    is_nnapi_linear(r, axis, *align, *half);
		if (good)
			return true;
	}
	return false;
}

/* ---- axis by axis ---- */

static float cubic_weight(float a, float x)
{
	x = fabsf(x);
	if (x <= 1)
		return ((a + 2) * x - (a + 3)) * x * x + 1;
	return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/*
 * Makes a matrix of weights, with a row for each element of the result and a column for each
 * element of the input.
 */
static float *matrix(struct lowering *t, const struct resize *r, int axis)
{
	int64_t in = r->in[axis], out = r->out[axis];
	float *weights = builder_alloc(t->b, (size_t)(in * out) * sizeof(*weights));

	for (int64_t i = 0; weights && i < out; i++) {
		float x = source(r, axis, i), sum = 0;
		int64_t low = (int64_t)floorf(x);
		float *row = weights + i * in;

		if (r->mode == LINEAR) {
			x = fminf(fmaxf(x, 0), (float)(in - 1));
			low = (int64_t)floorf(x);
			row[low] += 1 - (x - (float)low);
			row[clamped(low + 1, in)] += x - (float)low;
			continue;
		}
		for (int64_t k = low - 1; k <= low + 2; k++) {
			float weight = cubic_weight(r->cubic, x - (float)k);

			if (r->exclude_outside && (k < 0 || k >= in))
				continue;
			row[clamped(k, in)] += weight;
			sum += weight;
		}
		for (int64_t k = 0; r->exclude_outside && k < in; k++)
			row[k] /= sum;
	}
	return weights;
}

static uint32_t along(struct lowering *t, uint32_t x, const struct resize *r, int axis,
		      struct shape *shape)
{
	const uint32_t in = (uint32_t)r->in[axis], out = (uint32_t)r->out[axis];
	const struct shape from = *shape;
	uint32_t dims[3], rows, weights;

	around(shape, axis, dims);
	rows = dims[0] * dims[2];
	shape->dims[axis] = out;
	if (r->mode == NEAREST) {
		int32_t *indices = builder_alloc(t->b, out * sizeof(*indices));

		for (uint32_t i = 0; indices && i < out; i++)
			indices[i] = (int32_t)nearest(r, axis, i);
		return gathered(t, x, &from, axis, vector_int(t, out, indices), out);
	}
	if (REFUSED_IF(t, (uint64_t)in * out > 1 << 22, "matrix of %u * %u exceeds 2^22", out, in))
		return NO_OPERAND;
	t->work += (uint64_t)rows * in * out;
	x = transposed(t, view(t, x, 3, dims), 3, (int[]){ 0, 2, 1 });
	weights = constant(t, x, 2, (uint32_t[]){ out, in }, matrix(t, r, axis));
	x = product(t, view(t, x, 2, (uint32_t[]){ rows, in }), weights, zeros(t, x, 1, &out), rows,
		    out);
	return transposed(t, view(t, x, 3, (uint32_t[]){ dims[0], dims[2], out }), 3,
			  (int[]){ 0, 2, 1 });
}

static void resize(struct lowering *t, const struct resize *r)
{
	struct shape shape = *shape_in(t, 0), to = shape;
	uint32_t x, dims[MAX_DIMS];
	bool align, half, quantised;

	for (int i = 0; i < r->rank; i++) {
		to.dims[i] = r->out[i];
		if (r->out[i] < 1 || r->out[i] > MAX_SIZE)
			refuse(t, "output dimension %lld is not 1 to 2^20", (long long)r->out[i]);
	}
	if (REFUSED_IF(t, shape_count(&to) < 0, "the output has more than 2^31 elements"))
		return;
	quantised = r->mode != CUBIC && quantised_node(t, 1, false) && same_quantisation(t, 0) &&
		    is_nnapi(r, &align, &half) && r->mode == NEAREST;
	x = quantised ? quantised_in(t, 0) : r->mode != NEAREST ? float_in(t, 0) : in(t, 0);
	if (!t->refused && is_nnapi(r, &align, &half) && operand_of(t, x)->type !=
	    NN(TENSOR_INT32)) {
		flat(&to, dims);
		t->work = 4 * (uint64_t)shape_count(&to);
		x = resized(t, r->mode == NEAREST ? NN(RESIZE_NEAREST_NEIGHBOR) :
			    NN(RESIZE_BILINEAR), x, dims, true, align, half);
	} else {
		for (int i = 0; !t->refused && i < r->rank; i++)
			if (r->scale[i] != 1 || r->out[i] != r->in[i])
				x = along(t, x, r, i, &shape);
	}
	moved_out(t, (struct moved){ .quantised = quantised, .x = x }, &to);
}

/*
 * Returns the index of an attribute's value in a list of values; 0 if the list lacks the value. A
 * missing attribute has the value `usual`.
 */
static int number_of(struct lowering *t, const char *name, const char *usual,
		     const char *const *values)
{
	const char *value = attr_string(t, name, usual);

	for (int i = 0; values[i]; i++)
		if (!strcmp(value, values[i]))
			return i;
	return 0;
}

static bool read_mode(struct lowering *t, struct resize *r)
{
	static const char *const modes[] = { "nearest", "linear", "cubic", NULL };
	static const char *const coordinates[] = { "half_pixel", "asymmetric", "align_corners",
						   "pytorch_half_pixel", "half_pixel_symmetric",
						   "tf_crop_and_resize", NULL };
	static const char *const roundings[] = { "round_prefer_floor", "floor", "ceil",
						 "round_prefer_ceil", NULL };
	const struct shape *shape = shape_in(t, 0);

	memset(r, 0, sizeof(*r));
	r->mode = (enum mode)number_of(t, "mode", "nearest", modes);
	r->coordinates = (enum coordinates)number_of(
		t, "coordinate_transformation_mode",
		op_set(t) < 11 ? "asymmetric" : "half_pixel", coordinates);
	r->rounding = op_set(t) < 11 ? BEFORE_11 :
		      (enum rounding)number_of(t, "nearest_mode", "round_prefer_floor", roundings);
	r->cubic = attr_float(t, "cubic_coeff_a", -0.75f);
	r->exclude_outside = attr_int(t, "exclude_outside", 0);
	r->rank = shape->rank;
	for (int i = 0; i < r->rank; i++) {
		r->in[i] = r->out[i] = shape->dims[i];
		r->scale[i] = 1;
	}
	if (r->coordinates == TF_CROP_AND_RESIZE)
		refuse(t, "mode tf_crop_and_resize is not supported");
	if (attr_int(t, "antialias", 0))
		refuse(t, "antialias is not supported");
	return !REFUSED_IF(t, r->exclude_outside && r->mode == LINEAR,
			   "exclude_outside needs mode cubic");
}

static void set_scale(struct lowering *t, struct resize *r, int axis, float scale)
{
	if (!(scale > 0) || scale * (float)r->in[axis] > MAX_SIZE)
		return refuse(t, "scale %g must give an output dimension of 1 to 2^20", scale);
	r->scale[axis] = scale;
	r->out[axis] = (int64_t)floorf((float)r->in[axis] * scale);
}

/* Uses the smallest or, with `larger`, the largest axis scale for all axes. */
static void keep_ratio(struct lowering *t, struct resize *r, const int *axes, int64_t count,
		       const int64_t *sizes, bool larger)
{
	float scale = 0;

	for (int64_t i = 0; i < count; i++) {
		float one = (float)sizes[i] / (float)r->in[axes[i]];

		if (!i || (larger ? one > scale : one < scale))
			scale = one;
	}
	for (int64_t i = 0; i < count; i++) {
		set_scale(t, r, axes[i], scale);
		r->out[axes[i]] = (int64_t)floorf(scale * (float)r->in[axes[i]] + 0.5f);
	}
}

void resize_op(struct lowering *t)
{
	uint32_t scale_index = op_set(t) < 11 ? 1 : 2, size_index = 3;
	const char *policy = attr_string(t, "keep_aspect_ratio_policy", "stretch");
	const struct attribute *named = attr(t, "axes");
	int axes[MAX_RANK];
	int64_t count = 0, given = 0;
	struct resize r;

	if (!read_mode(t, &r))
		return;
	for (int i = 0; i < r.rank; i++)
		axes[count++] = i;
	if (named && named->ints) {
		count = 0;
		for (size_t i = 0; i < named->count && count < MAX_RANK; i++)
			axes[count++] = axis_of(t, named->ints[i], r.rank);
	}
	if (constant_count(t, scale_index) > 0) {
		float *scales = floats_of_count(t, scale_index, count);

		for (int64_t i = 0; !t->refused && i < count; i++)
			set_scale(t, &r, axes[i], scales[i]);
	} else if (has_in(t, size_index) && op_set(t) >= 11) {
		int64_t *sizes = ints_in(t, size_index, &given);

		if (given != count)
			refuse(t, "%lld sizes, must be %lld", (long long)given, (long long)count);
		for (int64_t i = 0; !t->refused && i < count; i++) {
			if (sizes[i] < 1 || sizes[i] > 1 << 24)
				refuse(t, "a size must be 1 to 2^24, is %lld", (long long)sizes[i]);
			r.scale[axes[i]] = (float)sizes[i] / (float)r.in[axes[i]];
			r.out[axes[i]] = sizes[i];
		}
		if (!t->refused && strcmp(policy, "stretch"))
			keep_ratio(t, &r, axes, count, sizes, !strcmp(policy, "not_smaller"));
	} else {
		refuse(t, "the scales must be constant");
	}
	resize(t, &r);
}

void upsample_op(struct lowering *t)
{
	const struct attribute *attribute = attr(t, "scales");
	const float *scales = attribute ? attribute->floats : NULL;
	int64_t count = attribute ? (int64_t)attribute->count : 0;
	struct resize r;

	if (!read_mode(t, &r))
		return;
	if (!scales)
		scales = floats_in(t, 1, &count);
	if (!scales || count != r.rank)
		refuse(t, "the scales must be constant, one for each dimension");
	for (int i = 0; !t->refused && i < r.rank; i++)
		set_scale(t, &r, i, scales[i]);
	resize(t, &r);
}

/* ---- GridSample ---- */

/*
 * Reflects positions at the ends of an axis. The ends of the axis are the first and last element
 * or, without `at_elements`, half an element beyond these two elements.
 */
static uint32_t reflected(struct lowering *t, uint32_t x, float size, bool at_elements)
{
	const float low = at_elements ? 0 : -0.5f, length = at_elements ? size - 1 : size;
	uint32_t turns;

	if (length == 0)
		return x;
	x = unary(t, NN(ABS), with_number(t, NN(SUB), x, low));
	turns = unary(t, NN(FLOOR), with_number(t, NN(DIV), x, 2 * length));
	x = arithmetic(t, NN(SUB), x, with_number(t, NN(MUL), turns, 2 * length));
	x = unary(t, NN(ABS), with_number(t, NN(SUB), x, length));
	return number_with(t, NN(SUB), length + low, x);
}

/* Finds the neighbours of each position in `x`. Positions from -1 to 1 span the axis. */
static struct neighbours neighbours_of(struct lowering *t, uint32_t x, int64_t size,
				       bool is_nearest,
				       const char *padding)
{
	const bool at_elements = attr_int(t, "align_corners", 0), is_zero = !strcmp(padding,
										    "zeros");
	const float last = (float)(size - 1);
	struct neighbours n = { .count = is_nearest ? 1 : 2 };
	uint32_t low;

	x = with_number(t, NN(MUL), x, (at_elements ? last : (float)size) / 2);
	x = with_number(t, NN(ADD), x, last / 2);
	if (!strcmp(padding, "reflection"))
		x = reflected(t, x, (float)size, at_elements);
	if (!is_zero)
		x = bounded(t, x, 0, last);
	low = is_nearest ? round_of(t, x) : unary(t, NN(FLOOR), x);
	for (int i = 0; i < n.count; i++) {
		uint32_t at = i ? with_number(t, NN(ADD), low, 1) : low, rest;

		rest = is_nearest ? filled_like(t, x, 1) : arithmetic(t, NN(SUB), x, low);
		n.weight[i] = i || is_nearest ? rest : number_with(t, NN(SUB), 1, rest);
		/* If a position is NaN, the index is 0 and the weights are NaN. */
		n.at[i] = bounded(t, selected(t, compared(t, NN(EQUAL), at, at), at, filled_like(t, x, 0)), 0,
				  last);
		if (is_zero)
			n.weight[i] = selected(t, compared(t, NN(EQUAL), at, n.at[i]), n.weight[i],
					       is_nearest ? filled_like(t, x, 0) :
							    arithmetic(t, NN(SUB), x, x));
	}
	return n;
}

/*
 * Translates GridSample: gathers the neighbours of each position, in all channels, and computes
 * their weighted sum.
 */
void grid_sample_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0), *grid = shape_in(t, 1);
	const char *mode = attr_string(t, "mode", "linear");
	const char *padding = attr_string(t, "padding_mode", "zeros");
	const bool is_nearest = !strcmp(mode, "nearest");
	uint32_t x = float_in(t, 0), all, count, channels, sum;
	struct neighbours axes[2];
	float *first;

	if (!is_nearest && strcmp(mode, "linear") && strcmp(mode, "bilinear"))
		refuse(t, "mode %s is not supported", mode);
	if (strcmp(padding, "zeros") && strcmp(padding, "border") && strcmp(padding, "reflection"))
		refuse(t, "padding_mode %s is not supported", padding);
	if (REFUSED_IF(t, shape->rank != 4 || grid->rank != 4 || grid->dims[3] != 2 ||
		       grid->dims[0] != shape->dims[0] || shape_count(shape) >= 1 << 24,
		       "a grid of %d dimensions does not fit the input, or exceeds 2^24 elements",
		       grid->rank))
		return;
	channels = (uint32_t)shape->dims[1];
	all = (uint32_t)(shape_count(shape) / channels);
	count = (uint32_t)(shape_count(grid) / 2);
	for (int i = 0; i < 2; i++) {
		const struct shape pairs = { 2, { count, 2 } };
		uint32_t places = view(t, float_in(t, 1), 2, (uint32_t[]){ count, 2 });

		axes[i] = neighbours_of(t, taken(t, places, &pairs, 1, !i, 1), shape->dims[2 + i],
					is_nearest, padding);
	}
	first = builder_alloc(t->b, count * sizeof(*first));
	for (uint32_t i = 0; first && i < count; i++)
		first[i] = (float)(i / (count / (uint32_t)shape->dims[0]) *
				   (all / (uint32_t)shape->dims[0]));
	x = view(t, transposed(t, x, 4, (int[]){ 0, 2, 3, 1 }), 2, (uint32_t[]){ all, channels });
	sum = interpolated(t, x, (int64_t[]){ all / shape->dims[3], shape->dims[3], channels }, axes,
			   constant(t, x, 2, (uint32_t[]){ count, 1 }, first), count);
	sum = view(t, sum, 4, (uint32_t[]){ (uint32_t)grid->dims[0], (uint32_t)grid->dims[1],
					    (uint32_t)grid->dims[2], channels });
	set_out(t, 0, transposed(t, sum, 4, (int[]){ 0, 3, 1, 2 }),
		&(struct shape){ 4, { grid->dims[0], channels, grid->dims[1], grid->dims[2] } });
}
