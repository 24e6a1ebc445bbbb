/* SPDX-License-Identifier: MIT */
/*
 * TRANSPOSE and CHANNEL_SHUFFLE of elements of 1, 2 or 4 bytes. If the last axis stays the last
 * axis, whole rows are copied. If the last axis moves, squares of elements are transposed. If a
 * matrix has few columns, several rows are assembled in a vector.
 */
#include <string.h>

#include "ops/axis.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/fields.h"
#include "plan/kernels/squares.h"

/*
 * A transposition: the axes of the output, and the distance of the input's elements along each of
 * these axes. Adjacent axes of the input that stay adjacent are merged into one axis.
 */
struct transpose {
	size_t element;			/* bytes */
	uint32_t count;			/* number of axes, at least 1 */
	size_t dims[NN_MAX_RANK];
	size_t steps[NN_MAX_RANK];
	size_t strides[NN_MAX_RANK];	/* distance of the output's elements along each axis */
	uint32_t unit;	/* index of the axis of the output along which the input is contiguous */
	size_t task_rows;		/* number of elements of axis 0 in a task */
};

#define NN_STATE struct transpose
static const struct nn_field fields[] = {
	WORD(element, 1, 4), ONLY(element, IS(1) | IS(2) | IS(4)), WORD(count, 1, NN_MAX_RANK),
	EACH(count, WORD_EACH(dims, , 1, INT32_MAX), WORD_EACH(steps, , 0, UINT32_MAX)),
	SPAN_AXES(OUTPUT(0), SIZE_BY(element, 0x40210), count, dims),
	REACH(INPUT(0), SIZE_BY(element, 0x40210), AXES(count), dims, steps),
	END
};

static void add_axis(struct transpose *t, size_t dim, size_t step)
{
	uint32_t last = t->count - 1;

	if (t->count && t->steps[last] == dim * step) {
		t->dims[last] *= dim;
		t->steps[last] = step;
		return;
	}
	t->dims[t->count] = dim;
	t->steps[t->count++] = step;
}

/* Returns false if the input is contiguous along no axis. */
static bool complete(void *state, struct nn_ready *ready)
{
	struct transpose *t = state;
	size_t stride = 1;

	for (uint32_t i = t->count; i-- > 0; stride *= t->dims[i])
		t->strides[i] = stride;
	t->unit = 0;
	while (t->unit < t->count && t->steps[t->unit] != 1)
		t->unit++;
	t->task_rows = nn_elementwise_rows(ready, t->dims[0], stride);
	return t->unit < t->count;
}

/*
 * Reads a CHANNEL_SHUFFLE, which transposes channels of the shape [groups, size] to [size, groups].
 */
static void read_shuffle(const struct nn_run *r, struct transpose *t)
{
	const struct nn_tensor *x = &r->inputs[0];
	uint32_t axis = 0;
	size_t dims[4], steps[4], groups = (size_t)nn_run_int(r, 1, 1);

	nn_axis(nn_run_int(r, 2, 0), x->rank, &axis);
	steps[3] = 1;
	dims[3] = nn_tensor_product(x, axis + 1, x->rank);
	steps[1] = dims[3];
	dims[1] = x->dims[axis] / groups;
	steps[2] = steps[1] * dims[1];
	dims[2] = groups;
	steps[0] = steps[2] * groups;
	dims[0] = nn_tensor_product(x, 0, axis);
	for (uint32_t i = 0; i < 4; i++)
		if (dims[i] > 1)
			add_axis(t, dims[i], steps[i]);
}

static void read_permutation(const struct nn_run *r, struct transpose *t)
{
	const struct nn_tensor *x = &r->inputs[0];
	const int32_t *permutation = r->inputs[1].data;

	for (uint32_t i = 0; i < x->rank; i++) {
		uint32_t axis = permutation ? (uint32_t)permutation[i] : x->rank - 1 - i;

		if (x->dims[axis] > 1)
			add_axis(t, x->dims[axis], nn_tensor_product(x, axis + 1, x->rank));
	}
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[0];
	struct transpose *t = ready->state;

	t->element = nn_type_info_of(x->type)->element_size;
	if (r->op->code == NN_OP_CHANNEL_SHUFFLE) {
		read_shuffle(r, t);
	} else {
		ready->reads |= NN_IN(1);
		read_permutation(r, t);
	}
	if (!t->count)
		add_axis(t, 1, 1);
	return complete(t, ready);
}

/* ---- Running ---- */

/* A matrix of two axes of the output: rows along axis `unit`, columns along the last axis. */
struct part {
	const char *in;
	char *out;
	size_t rows;
	size_t columns;
	size_t step;			/* distance between columns in the input */
	size_t stride;			/* distance between rows in the output */
};

typedef uint32_t u32x4 __attribute__((vector_size(16)));
typedef uint64_t u64x2 __attribute__((vector_size(16)));

#define LOW_32(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_32(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LOW_64(a, b) __builtin_shufflevector(a, b, 0, 2)
#define HIGH_64(a, b) __builtin_shufflevector(a, b, 1, 3)

/*
 * Transposes four vectors, and stores the result as four rows of `out`. The first elements of the
 * four vectors become the first row.
 */
static inline void transpose_quad(u32x4 a, u32x4 b, u32x4 c, u32x4 d, uint32_t *out, size_t stride)
{
	const u64x2 ab = (u64x2)LOW_32(a, b), cd = (u64x2)LOW_32(c, d);
	const u64x2 above = (u64x2)HIGH_32(a, b), beside = (u64x2)HIGH_32(c, d);
	const u64x2 rows[] = { LOW_64(ab, cd), HIGH_64(ab, cd), LOW_64(above, beside),
			       HIGH_64(above, beside) };

	memcpy(out, &rows[0], sizeof(rows[0]));
	memcpy(out + stride, &rows[1], sizeof(rows[1]));
	memcpy(out + 2 * stride, &rows[2], sizeof(rows[2]));
	memcpy(out + 3 * stride, &rows[3], sizeof(rows[3]));
}

/* Transposes the square whose first element is at row `y` and column `x`. */
static void square_4(const struct part *p, size_t y, size_t x)
{
	const char *in = p->in + (x * p->step + y) * 4;
	uint32_t *out = (uint32_t *)p->out + y * p->stride + x;
	const size_t step = p->step * 4;

	for (size_t i = 0; i < NN_SQUARE; i += 4, in += 16, out += 4 * p->stride)
		for (size_t k = 0; k < NN_SQUARE; k += 4)
			transpose_quad((u32x4)load_16(in + k * step),
				       (u32x4)load_16(in + (k + 1) * step),
				       (u32x4)load_16(in + (k + 2) * step),
				       (u32x4)load_16(in + (k + 3) * step), out + k, p->stride);
}

#define PLAIN_PART(name, type)								\
static void name(const struct part *p, size_t y, size_t end, size_t x, size_t last)	\
{											\
	for (size_t i = y; i < end; i++) {						\
		const type *in = (const type *)p->in + i;				\
		type *out = (type *)p->out + i * p->stride;				\
											\
		for (size_t k = x; k < last; k++)					\
			out[k] = in[k * p->step];					\
	}										\
}

PLAIN_PART(part_2, uint16_t)
PLAIN_PART(part_4, uint32_t)

/*
 * Transposes elements of 2 or 4 bytes square by square, so that the cache lines of a square stay in
 * the cache.
 */
static void transpose_squares(const struct part *p, size_t element)
{
	for (size_t y = 0; y < p->rows; y += NN_SQUARE) {
		const size_t end = y + NN_SQUARE < p->rows ? y + NN_SQUARE : p->rows;

		for (size_t x = 0; x < p->columns; x += NN_SQUARE) {
			const size_t last = x + NN_SQUARE < p->columns ? x + NN_SQUARE : p->columns;

			if (element == 2)
				part_2(p, y, end, x, last);
			else if (end - y == NN_SQUARE && last - x == NN_SQUARE)
				square_4(p, y, x);
			else
				part_4(p, y, end, x, last);
		}
	}
}

/* ---- Few columns ---- */

/*
 * Transposed images and shuffled channels often have two to four columns. Rows of two to four
 * columns are assembled in vectors. Storing a row of three columns also writes a fourth column,
 * which the next row overwrites; another function therefore moves the last rows.
 */
typedef uint16_t u16x8 __attribute__((vector_size(16)));

#define LOW_16(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_16(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)

/* Stores each quarter of the vector `quads` as a row. */
static inline uint8_t *store_quads(uint8_t *out, size_t columns, u32x4 quads)
{
	if (columns == 4) {
		memcpy(out, &quads, sizeof(quads));
		return out + sizeof(quads);
	}
	for (size_t i = 0; i < 4; i++, out += columns)
		memcpy(out, (const uint8_t *)&quads + 4 * i, 4);
	return out;
}

/*
 * few_1() and few_4() return the number of rows that they moved. `columns` is a compile-time
 * constant in each call.
 */
static inline size_t few_1(const struct part *p, size_t columns)
{
	const uint8_t *in = (const uint8_t *)p->in;
	uint8_t *out = (uint8_t *)p->out;
	size_t row = 0;

	for (; row + 16 < p->rows; row += 16, in += 16) {
		const u8x16 a = load_16(in), b = load_16(in + p->step);
		const u8x16 c = load_16(in + 2 * p->step);
		const u8x16 d = columns == 3 ? c : load_16(in + 3 * p->step);
		const u16x8 ab = (u16x8)LOW_8(a, b), cd = (u16x8)LOW_8(c, d);
		const u16x8 above = (u16x8)HIGH_8(a, b), beside = (u16x8)HIGH_8(c, d);

		out = store_quads(out, columns, (u32x4)LOW_16(ab, cd));
		out = store_quads(out, columns, (u32x4)HIGH_16(ab, cd));
		out = store_quads(out, columns, (u32x4)LOW_16(above, beside));
		out = store_quads(out, columns, (u32x4)HIGH_16(above, beside));
	}
	return row;
}

static inline size_t few_4(const struct part *p, size_t columns)
{
	const uint32_t *in = (const uint32_t *)p->in;
	uint32_t *out = (uint32_t *)p->out;
	size_t row = 0;

	for (; row + 4 < p->rows; row += 4, in += 4, out += 4 * columns) {
		const u32x4 a = (u32x4)load_16(in), b = (u32x4)load_16(in + p->step);
		const u32x4 c = (u32x4)load_16(in + 2 * p->step);
		const u32x4 d = columns == 3 ? c : (u32x4)load_16(in + 3 * p->step);

		transpose_quad(a, b, c, d, out, columns);
	}
	return row;
}

/*
 * Moves rows of two columns, 16 / `element` rows at a time. Some rows at the end may be moved a
 * second time.
 */
static inline size_t pairs(const struct part *p, size_t element)
{
	const size_t most = 16 / element;

	for (size_t row = 0; p->rows >= most; row += most) {
		const char *in;
		char *out;
		u8x16 a, b, low, high;

		if (row > p->rows - most)
			row = p->rows - most;
		in = p->in + row * element;
		out = p->out + 2 * row * element;
		a = load_16(in);
		b = load_16(in + p->step * element);
		low = element == 1 ? LOW_8(a, b) : (u8x16)LOW_32((u32x4)a, (u32x4)b);
		high = element == 1 ? HIGH_8(a, b) : (u8x16)HIGH_32((u32x4)a, (u32x4)b);
		memcpy(out, &low, sizeof(low));
		memcpy(out + sizeof(low), &high, sizeof(high));
		if (row == p->rows - most)
			return p->rows;
	}
	return 0;
}

/*
 * Moves contiguous rows of two to four columns. After the call, `p` describes the rows at the end
 * that were not moved.
 */
static void move_few(const struct transpose *t, struct part *p)
{
	size_t rows;

	if (p->columns < 2 || p->columns > 4 || p->stride != p->columns || t->element == 2)
		return;
	if (p->columns == 2)
		rows = t->element == 1 ? pairs(p, 1) : pairs(p, 4);
	else if (t->element == 1)
		rows = p->columns == 3 ? few_1(p, 3) : few_1(p, 4);
	else
		rows = p->columns == 3 ? few_4(p, 3) : few_4(p, 4);
	p->in += rows * t->element;
	p->out += rows * p->stride * t->element;
	p->rows -= rows;
}

static void move(const struct transpose *t, const struct part *p)
{
	struct part left = *p;

	if (t->unit != t->count - 1) {
		move_few(t, &left);
		p = &left;
	}
	if (t->element == 1)
		transpose_bytes((const uint8_t *)p->in, p->columns, p->rows, p->step,
				(uint8_t *)p->out, p->stride);
	else
		transpose_squares(p, t->element);
}

/* Maximum bytes of a row that copy_row() copies faster than memcpy(). */
#define SHORT_ROW 512

static inline void copy_row(const char *in, size_t bytes, char *out)
{
	if (bytes < 16 || bytes > SHORT_ROW) {
		memcpy(out, in, bytes);
		return;
	}
	for (size_t i = 0; i + 16 < bytes; i += 16) {
		const u8x16 x = load_16(in + i);

		memcpy(out + i, &x, sizeof(x));
	}
	memcpy(out + bytes - 16, in + bytes - 16, 16);
}

/* Copies the rows [first, end), which are adjacent along the axis before the last axis. */
static void copy_rows(const struct transpose *t, size_t first, size_t end, const struct part *p)
{
	const size_t bytes = t->dims[t->count - 1] * t->element;
	const size_t step = t->steps[t->count - 2] * t->element;

	for (size_t i = first; i < end; i++)
		copy_row(p->in + i * step, bytes, p->out + i * bytes);
}

/*
 * Moves all elements along the axes from `axis` on; along `axis` itself, moves only elements
 * [first, end).
 */
static void walk(const struct transpose *t, uint32_t axis, size_t first, size_t end,
		 struct part p)
{
	if (axis + 2 == t->count && t->unit > axis) {
		copy_rows(t, first, end, &p);
		return;
	}
	if (axis == t->count - 1) {
		p.columns = axis ? t->dims[axis] : end - first;
		p.in += (axis ? 0 : first) * t->steps[axis] * t->element;
		p.out += (axis ? 0 : first) * t->element;
		move(t, &p);
		return;
	}
	if (axis == t->unit) {
		p.rows = end - first;
		p.stride = t->strides[axis];
		p.in += first * t->element;
		p.out += first * t->strides[axis] * t->element;
		walk(t, axis + 1, 0, t->dims[axis + 1], p);
		return;
	}
	for (size_t i = first; i < end; i++) {
		struct part inner = p;

		inner.in += i * t->steps[axis] * t->element;
		inner.out += i * t->strides[axis] * t->element;
		walk(t, axis + 1, 0, t->dims[axis + 1], inner);
	}
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct transpose *t = call->ready->state;
	size_t first = task * t->task_rows, end = first + t->task_rows;
	const struct part all = {
		.in = call->inputs[0],
		.out = call->outputs[0],
		.rows = 1,
		.step = t->steps[t->count - 1],
	};

	(void)scratch;
	walk(t, 0, first, end < t->dims[0] ? end : t->dims[0], all);
}

NN_KERNEL(transpose, "transpose", sizeof(struct transpose),
	  NN_TAKES(NN_OP_TRANSPOSE, NN_OP_CHANNEL_SHUFFLE), .inputs = 1);
