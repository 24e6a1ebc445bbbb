/* SPDX-License-Identifier: MIT */
/*
 * MediaPipe's custom operations on landmarks, in version 2, the only version that MediaPipe's
 * runtime has. The operations' parameters are FlexBuffers: a map from names to numbers.
 */
#include <math.h>
#include <string.h>

#include "clients/tflite/operations.h"

/* ---- Parameters ---- */

enum { FLEX_INT = 1, FLEX_UINT = 2, FLEX_FLOAT = 3, FLEX_MAP = 9, FLEX_INTS = 11, FLEX_UINTS = 12 };

/* A value of a FlexBuffer. Bits 2 to 7 of the type are one of FLEX_. */
struct value {
	uint64_t at, width, type;
};

/* Reads an unsigned number of `width` bytes; rejects a place outside of the parameters. */
static uint64_t word(struct lowering *t, uint64_t at, uint64_t width)
{
	const struct tfl_node *node = tfl(t)->node;
	const uint64_t size = node->custom_data && node->custom_size > 0 ? (uint64_t)node->custom_size : 0;
	uint64_t number = 0;

	if (REFUSED_IF(t, !width || width > sizeof(number) || at > size || width > size - at,
		       "its parameters are not a FlexBuffer"))
		return 0;
	memcpy(&number, (const char *)node->custom_data + at, width);
	return number;
}

/* Returns the place that an offset at `at` refers to. */
static uint64_t target(struct lowering *t, uint64_t at, uint64_t width)
{
	return at - word(t, at, width);
}

/* Returns the number of bytes of each number in a map or vector of type `type`. */
static uint64_t width_of(uint64_t type)
{
	return UINT64_C(1) << (type & 3);
}

/* Finds a parameter. The type of a missing parameter is 0. */
static struct value find_value(struct lowering *t, const char *name)
{
	const uint64_t size = (uint64_t)tfl(t)->node->custom_size, length = strlen(name) + 1;
	const uint64_t type = word(t, size - 2, 1), width = width_of(type);
	const uint64_t map = target(t, size - 2 - word(t, size - 1, 1), word(t, size - 1, 1));
	const uint64_t count = word(t, map - width, width), key_width = word(t, map - 2 * width, width);
	const uint64_t keys = target(t, map - 3 * width, width);

	if (REFUSED_IF(t, type >> 2 != FLEX_MAP || count > size, "its parameters are not a FlexBuffer"))
		return (struct value){ 0 };
	for (uint64_t i = 0; i < count && !t->refused; i++) {
		const uint64_t key = target(t, keys + i * key_width, key_width);

		if (key < size && length <= size - key &&
		    !memcmp((const char *)tfl(t)->node->custom_data + key, name, length))
			return (struct value){ map + i * width, width, word(t, map + count * width + i, 1) };
	}
	return (struct value){ 0 };
}

/* Returns a parameter, a number from `least` to `most`; a missing parameter is 0. */
static float param(struct lowering *t, const char *name, double least, double most)
{
	const struct value value = find_value(t, name);
	uint64_t bits = value.type ? word(t, value.at, value.width) : 0;
	const int shift = 64 - 8 * (int)value.width;
	double number = 0;
	float single;

	if (t->refused)
		return 0;
	if (value.type >> 2 == FLEX_INT)
		number = (double)((int64_t)(bits << shift) >> shift);
	else if (value.type >> 2 == FLEX_UINT)
		number = (double)bits;
	else if (value.type >> 2 == FLEX_FLOAT && value.width == sizeof(single))
		number = (double)(memcpy(&single, &bits, sizeof(single)), single);
	else if (value.type >> 2 == FLEX_FLOAT && value.width == sizeof(number))
		memcpy(&number, &bits, sizeof(number));
	else if (value.type)
		refuse(t, "%s is not a number", name);
	if (!(number >= least && number <= most))
		refuse(t, "%s is %g, must be %g to %g", name, number, least, most);
	return (float)number;
}

/* Returns the parameter subset_idxs, indices below `limit`, as a vector. */
static uint32_t subset(struct lowering *t, uint32_t limit, uint32_t *count)
{
	const struct value value = find_value(t, "subset_idxs");
	const uint64_t width = width_of(value.type);
	const uint64_t first = value.type ? target(t, value.at, value.width) : 0;
	const uint64_t number = value.type ? word(t, first - width, width) : 0;
	int32_t *indices;

	if (REFUSED_IF(t, (value.type >> 2 != FLEX_INTS && value.type >> 2 != FLEX_UINTS) || !number ||
		       number > (uint64_t)tfl(t)->node->custom_size, "subset_idxs has no integers"))
		return NO_OPERAND;
	*count = (uint32_t)number;
	indices = builder_alloc(t->b, number * sizeof(*indices));
	for (uint64_t i = 0; indices && i < number; i++) {
		const uint64_t index = word(t, first + i * width, width);

		if (REFUSED_IF(t, index >= limit, "subset_idxs has an index that is not below %u", limit))
			return NO_OPERAND;
		indices[i] = (int32_t)index;
	}
	return indices ? vector_int(t, *count, indices) : NO_OPERAND;
}

/* ---- Operations ---- */

/* Returns a column of a matrix of `rows` rows. */
static uint32_t column(struct lowering *t, uint32_t matrix, uint32_t rows, int at)
{
	const uint32_t columns = elements_of(t, matrix) / rows;

	return taken(t, matrix, &(struct shape){ 2, { rows, columns } }, 1, at, 1);
}

/* Computes a * b + c * d. Each operand has one column, and b and d also have only one row. */
static uint32_t sum_of(struct lowering *t, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	return arithmetic(t, NN(ADD), arithmetic(t, NN(MUL), a, b), arithmetic(t, NN(MUL), c, d));
}

/*
 * Computes the cosine and sine of the angle by which landmarks are rotated: a given angle minus the
 * angle of the line from one landmark to another one.
 */
static void rotation(struct lowering *t, uint32_t x, uint32_t count, uint32_t turn[2])
{
	const int32_t ends[] = { (int32_t)param(t, "left_rotation_idx", 0, count - 1),
				 (int32_t)param(t, "right_rotation_idx", 0, count - 1) };
	const float angle = param(t, "target_rotation_radians", -1e6, 1e6);
	const struct shape points = { 2, { count, 3 } }, pair = { 2, { 2, 3 } };
	uint32_t line = gathered(t, x, &points, 0, vector_int(t, 2, ends), 2), length, one, is_zero;

	line = arithmetic(t, NN(SUB), taken(t, line, &pair, 0, 1, 1), taken(t, line, &pair, 0, 0, 1));
	turn[0] = column(t, line, 1, 0);
	turn[1] = column(t, line, 1, 1);
	length = unary(t, NN(SQRT), sum_of(t, turn[0], turn[0], turn[1], turn[1]));
	/* The angle of a line between equal points is 0. */
	is_zero = compared_number(t, NN(EQUAL), length, 0);
	one = filled_like(t, length, 1);
	length = selected(t, is_zero, one, length);
	line = arithmetic(t, NN(DIV), selected(t, is_zero, one, turn[0]), length);
	length = arithmetic(t, NN(DIV), turn[1], length);
	turn[0] = sum_of(t, line, number(t, x, cosf(angle)), length, number(t, x, sinf(angle)));
	turn[1] = sum_of(t, line, number(t, x, sinf(angle)), length, number(t, x, -cosf(angle)));
}

/*
 * Translates Landmarks2TransformMatrix: computes the matrix that maps positions of an image to the
 * rotated box around a subset of the landmarks. The image is scaled to the box's size times
 * `scale`.
 */
void landmarks_to_matrix_op(struct lowering *t)
{
	static const char *const sizes[] = { "output_width", "output_height" };
	static const char *const scales[] = { "scale_x", "scale_y" };
	static const float rest[8] = { [2] = 1, [7] = 1 };
	const struct shape *shape = shape_in(t, 0), out = shape_of(tensor_out(t, 0));
	const uint32_t count = shape->rank == 3 ? (uint32_t)shape->dims[1] : 0;
	uint32_t turn[2], points, number = 1, xy[2], middle[2], scale[2], m[10];
	float half[2];

	if (REFUSED_IF(t, shape->rank != 3 || shape->dims[0] != 1 || shape->dims[2] != 3 || shape_count(&out) != 16,
		       "the landmarks must be [1, n, 3], the matrix [1, 4, 4]"))
		return;
	rotation(t, in(t, 0), count, turn);
	points = subset(t, count, &number);
	if (t->refused)
		return;
	points = gathered(t, in(t, 0), &(struct shape){ 2, { count, 3 } }, 0, points, number);
	for (int i = 0; i < 2; i++)
		xy[i] = column(t, points, number, i);
	points = sum_of(t, xy[0], turn[0], unary(t, NN(NEG), xy[1]), turn[1]);
	xy[1] = sum_of(t, xy[0], turn[1], xy[1], turn[0]);
	xy[0] = points;
	for (int i = 0; i < 2; i++) {
		const float size = param(t, sizes[i], 1, 1 << 24), by = param(t, scales[i], 1e-6, 1e6);
		const struct shape rows = { 2, { number, 1 } };
		uint32_t most = reduced(t, NN(REDUCE_MAX), xy[i], &rows, (bool[]){ true, false });
		uint32_t least = reduced(t, NN(REDUCE_MIN), xy[i], &rows, (bool[]){ true, false });

		half[i] = -size / 2;
		middle[i] = with_number(t, NN(MUL), arithmetic(t, NN(ADD), most, least), 0.5f);
		scale[i] = with_number(t, NN(MUL), arithmetic(t, NN(SUB), most, least), by / size);
	}
	for (int row = 0; row < 2; row++) {
		uint32_t along = turn[row], across = turn[!row], *to = &m[4 * row], moved;

		if (row)
			along = unary(t, NN(NEG), along);
		to[0] = arithmetic(t, NN(MUL), along, scale[0]);
		to[1] = arithmetic(t, NN(MUL), across, scale[1]);
		to[2] = filled_like(t, along, 0);
		moved = arithmetic(t, NN(ADD), with_number(t, NN(MUL), to[0], half[0]),
				   with_number(t, NN(MUL), to[1], half[1]));
		to[3] = arithmetic(t, NN(ADD), sum_of(t, along, middle[0], across, middle[1]), moved);
	}
	m[8] = constant(t, in(t, 0), 2, (uint32_t[]){ 1, 8 }, rest);
	set(t, 0, concatenated(t, m, 9, &(struct shape){ 2, { 1, 16 } }, 1, in(t, 0)));
}

/*
 * Applies the first two rows of the matrix in input 1 to `count` positions: columns x and y. In
 * each row, a number is added to the last number: `shift` times (the sum of the first two numbers
 * minus 1).
 */
static void transform(struct lowering *t, uint32_t x, uint32_t y, float shift, uint32_t out[2])
{
	const uint32_t matrix = in(t, 1);

	for (int row = 0; row < 2 && !t->refused; row++) {
		uint32_t a = column(t, matrix, 1, 4 * row), b = column(t, matrix, 1, 4 * row + 1);
		uint32_t move = column(t, matrix, 1, 4 * row + 3);

		if (shift != 0) {
			uint32_t both = with_number(t, NN(MUL), arithmetic(t, NN(ADD), a, b), shift);

			move = arithmetic(t, NN(ADD), move, with_number(t, NN(SUB), both, shift));
		}
		out[row] = arithmetic(t, NN(ADD), sum_of(t, x, a, y, b), move);
	}
}

static bool is_matrix(struct lowering *t)
{
	const struct tfl_tensor *matrix = tensor_in(t, 1);

	return matrix->type == TFL_FLOAT32 && tensor_count(matrix) == 16;
}

/* Translates TransformLandmarks: applies a matrix to the coordinates x and y of landmarks. */
void transform_landmarks_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0);
	const uint32_t rows = shape->rank == 3 ? (uint32_t)shape->dims[1] : 0, x = in(t, 0);
	uint32_t parts[4];

	if (REFUSED_IF(t, shape->rank != 3 || shape->dims[0] != 1 || shape->dims[2] < 2 || shape->dims[2] > 3 ||
		       !is_matrix(t), "the landmarks must be [1, n, 2] or [1, n, 3], the matrix [1, 4, 4]"))
		return;
	transform(t, column(t, x, rows, 0), column(t, x, rows, 1), 0, parts);
	if (shape->dims[2] == 3)
		parts[2] = column(t, x, rows, 2);
	set(t, 0, concatenated(t, parts, (uint32_t)shape->dims[2],
			       &(struct shape){ 2, { rows, shape->dims[2] } }, 1, x));
}

/* Finds both neighbours of each position on an axis of `size` elements. */
static struct neighbours neighbours_of(struct lowering *t, uint32_t at, uint32_t is_inside, int64_t size)
{
	const uint32_t zero = filled_like(t, at, 0);
	struct neighbours n = { .count = 2 };

	at = selected(t, is_inside, at, zero);
	n.at[0] = unary(t, NN(FLOOR), at);
	n.at[1] = bounded(t, with_number(t, NN(ADD), n.at[0], 1), 0, (float)(size - 1));
	at = arithmetic(t, NN(SUB), at, n.at[0]);
	n.weight[0] = selected(t, is_inside, number_with(t, NN(SUB), 1, at), zero);
	n.weight[1] = at;
	return n;
}

/*
 * Translates TransformTensorBilinear: maps the positions of the output's pixels by a matrix, and
 * interpolates the image there. Pixels whose positions are outside of the image are 0.
 */
void transform_tensor_op(struct lowering *t)
{
	const struct shape *shape = shape_in(t, 0), to = shape_of(tensor_out(t, 0));
	const uint32_t dims[2] = { shape_count(&to) > 0 && to.rank == 4 ? (uint32_t)(to.dims[1] * to.dims[2]) : 0, 1 };
	uint32_t place[2], inside = NO_OPERAND;
	float *grid = builder_alloc(t->b, 2 * dims[0] * sizeof(*grid) + 1);
	struct neighbours axes[2];

	if (REFUSED_IF(t, shape->rank != 4 || to.rank != 4 || shape->dims[0] != 1 || to.dims[0] != 1 ||
		       shape->dims[3] != to.dims[3] || !is_matrix(t) || shape_count(shape) >= 1 << 24,
		       "the images must have batch 1 and equal channels, the matrix 16 numbers") || !grid)
		return;
	for (uint32_t i = 0; i < dims[0]; i++) {
		grid[i] = (float)(i % (uint32_t)to.dims[2]);
		grid[dims[0] + i] = (float)(i / (uint32_t)to.dims[2]);
	}
	transform(t, constant(t, in(t, 0), 2, dims, grid), constant(t, in(t, 0), 2, dims, grid + dims[0]), 0.5f,
		  place);
	for (int i = 0; i < 4; i++) {
		const float last = (float)(shape->dims[1 + i / 2] - 1);
		uint32_t is = i % 2 ? compared_number(t, NN(LESS_EQUAL), place[i < 2], last) :
				      compared_number(t, NN(GREATER_EQUAL), place[i < 2], 0);

		inside = i ? EMIT(t, NN(LOGICAL_AND), result_like(t, is), inside, is) : is;
	}
	for (int i = 0; i < 2; i++)
		axes[i] = neighbours_of(t, place[!i], inside, shape->dims[1 + i]);
	set(t, 0, interpolated(t, in(t, 0), &shape->dims[1], axes, NO_OPERAND, dims[0]));
}
