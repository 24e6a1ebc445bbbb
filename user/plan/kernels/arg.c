/* SPDX-License-Identifier: MIT */
/*
 * ARGMAX and ARGMIN of floats and int8, for sixteen adjacent rows at a time. If the last axis is
 * reduced, the kernel first transposes square blocks of elements.
 */
#include <math.h>
#include <string.h>

#include "ops/axis.h"
#include "ops/q8.h"
#include "plan/kernels/elementwise.h"
#include "plan/kernels/fields.h"
#include "plan/kernels/fours.h"
#include "plan/kernels/squares.h"
#include "plan/kernels/unroll.h"

#define ROWS NN_SQUARE		/* rows that are searched together */
#define FOURS (ROWS / 4)	/* number of vectors of four floats for ROWS rows */
#define MAX_BYTES 256		/* largest axis whose indices fit in bytes */

struct arg {
	bool is_float;
	bool is_min;
	uint8_t flip;	/* the extreme byte is the byte that is largest after an XOR with `flip` */
	size_t outer;
	size_t size;			/* size of the reduced axis */
	size_t inner;
	size_t task_outer;
};

#define NN_STATE struct arg
static const struct nn_field fields[] = {
	FLAG(is_float), FLAG(is_min), BYTE(flip), DIMENSION(outer), DIMENSION(size), DIMENSION(inner),
	SPAN(INPUT(0), NUMBERS(is_float), outer, size, inner),
	SPAN(OUTPUT(0), SIZE(sizeof(int32_t)), outer, inner),
	END
};

static bool complete(void *state, struct nn_ready *ready)
{
	struct arg *a = state;

	a->task_outer = nn_elementwise_rows(ready, a->outer, a->outer * a->size * a->inner);
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *x = &r->inputs[0];
	struct arg *a = ready->state;
	uint32_t axis;

	if ((x->type != NN_TENSOR_FLOAT32 && x->type != NN_TENSOR_QUANT8_ASYMM &&
	     x->type != NN_TENSOR_QUANT8_ASYMM_SIGNED) ||
	    !nn_axis(nn_run_int(r, 1, 0), x->rank, &axis))
		return false;
	a->is_float = x->type == NN_TENSOR_FLOAT32;
	a->is_min = r->op->code == NN_OP_ARGMIN;
	a->outer = nn_tensor_product(x, 0, axis);
	a->size = x->dims[axis];
	a->inner = nn_tensor_product(x, axis + 1, x->rank);
	if (!a->is_float)
		a->flip = nn_q8_of(x).flip ^ (a->is_min ? 0xff : 0);
	return complete(a, ready);
}

/* ---- Floats ---- */

typedef float f32x4 __attribute__((vector_size(16)));
typedef int32_t i32x4 __attribute__((vector_size(16)));

/* The extreme element found so far in each of sixteen rows, and its index. */
struct best_f32 {
	f32x4 value[FOURS];
	i32x4 where[FOURS];
};

/*
 * Converts a number to a key, so that the number with the largest key is the extreme. For ARGMIN,
 * the key of NaN is the largest key. For ARGMAX, the key of NaN is NaN, and every comparison with
 * NaN is false.
 */
static inline ALWAYS_INLINE f32x4 key_of(bool is_min, four bits)
{
	const f32x4 x = (f32x4)bits, high = { INFINITY, INFINITY, INFINITY, INFINITY };
	const four is_number = (four)(x == x);

	return is_min ? (f32x4)(((four)-x & is_number) | ((four)high & ~is_number)) : x;
}

static inline ALWAYS_INLINE void consider_f32(bool is_min, struct best_f32 *best,
						      size_t group, four bits, size_t index)
{
	const int32_t at = (int32_t)index;
	const i32x4 all = { at, at, at, at };
	const f32x4 key = key_of(is_min, bits);
	const i32x4 better = (i32x4)(key > best->value[group]);

	best->value[group] = (f32x4)((better & (i32x4)key) | (~better & (i32x4)best->value[group]));
	best->where[group] = (better & all) | (~better & best->where[group]);
}

/* Compares elements [k, k + 4) of sixteen contiguous rows with the extremes found so far. */
static inline ALWAYS_INLINE void consider_square_f32(bool is_min, const struct arg *a,
							     struct best_f32 *best,
							     const float *x, size_t k)
{
	UNROLL
	for (size_t g = 0; g < FOURS; g++) {
		four s[4];

		load_fours(x + 4 * g * a->size + k, a->size * sizeof(*x), s);
		transpose_fours(s);
		UNROLL
		for (size_t i = 0; i < 4; i++)
			consider_f32(is_min, best, g, s[i], k + i);
	}
}

/*
 * Finds the extremes of sixteen rows. If the last axis is reduced, each row is contiguous in
 * memory; otherwise the rows are sixteen adjacent columns of a matrix.
 */
static inline ALWAYS_INLINE void find_f32(bool is_min, const struct arg *a, const float *x,
					  int32_t *out)
{
	struct best_f32 best;
	size_t k = 0;

	UNROLL
	for (size_t g = 0; g < FOURS; g++) {
		const float low = -INFINITY;

		best.value[g] = (f32x4){ low, low, low, low };
		best.where[g] = (i32x4){ 0 };
	}
	if (a->inner == 1) {
		for (; k + 4 <= a->size; k += 4)
			consider_square_f32(is_min, a, &best, x, k);
		/* Comparing a row's last elements twice does not change the result. */
		if (k < a->size)
			consider_square_f32(is_min, a, &best, x, a->size - 4);
	} else {
		for (; k < a->size; k++) {
			UNROLL
			for (size_t g = 0; g < FOURS; g++) {
				four bits;

				memcpy(&bits, x + k * a->inner + 4 * g, sizeof(bits));
				consider_f32(is_min, &best, g, bits, k);
			}
		}
	}
	memcpy(out, best.where, sizeof(best.where));
}

static int32_t find_one_f32(const struct arg *a, const float *x)
{
	float best = -INFINITY;
	size_t where = 0;

	for (size_t k = 0; k < a->size; k++, x += a->inner) {
		float key = isnan(*x) ? -INFINITY : *x;

		key = a->is_min ? -key : key;
		if (key > best) {
			best = key;
			where = k;
		}
	}
	return (int32_t)where;
}

/* ---- Bytes ---- */

static inline ALWAYS_INLINE void consider_q8(u8x16 *best, u8x16 *where, u8x16 keys, size_t index)
{
	const u8x16 better = (u8x16)(keys > *best);

	*best = (keys & better) | (*best & ~better);
	*where = (better & (uint8_t)index) | (*where & ~better);
}

static inline ALWAYS_INLINE void consider_square_q8(const struct arg *a, const uint8_t *x, size_t k, u8x16 *best,
				      u8x16 *where)
{
	uint8_t transposed[NN_SQUARE * NN_SQUARE];

	transpose_square(x + k, a->size, transposed, NN_SQUARE);
	UNROLL
	for (size_t i = 0; i < NN_SQUARE; i++)
		consider_q8(best, where, load_16(transposed + i * NN_SQUARE) ^ a->flip, k + i);
}

static void find_q8(const struct arg *a, const uint8_t *x, int32_t *out)
{
	u8x16 best = { 0 }, where = { 0 };
	size_t k = 0;

	if (a->inner == 1) {
		for (; k + NN_SQUARE <= a->size; k += NN_SQUARE)
			consider_square_q8(a, x, k, &best, &where);
		if (k < a->size)
			consider_square_q8(a, x, a->size - NN_SQUARE, &best, &where);
	} else {
		for (; k < a->size; k++)
			consider_q8(&best, &where, load_16(x + k * a->inner) ^ a->flip, k);
	}
	for (size_t i = 0; i < ROWS; i++)
		out[i] = where[i];
}

static int32_t find_one_q8(const struct arg *a, const uint8_t *x)
{
	uint8_t best = 0;
	size_t where = 0;

	for (size_t k = 0; k < a->size; k++, x += a->inner) {
		const uint8_t key = *x ^ a->flip;

		if (key > best) {
			best = key;
			where = k;
		}
	}
	return (int32_t)where;
}

/* ---- Both ---- */

/*
 * Finds the extremes of `count` rows, which begin `step` elements apart. If `count` is not a
 * multiple of sixteen, some rows are searched twice.
 */
static void find_rows(const struct arg *a, const char *x, size_t step, size_t count, int32_t *out)
{
	const size_t element = a->is_float ? sizeof(float) : 1;
	/*
	 * Rows shorter than a square block are not transposed, because loads would read beyond
	 * their end.
	 */
	const bool beside = count >= ROWS &&
			    (a->inner > 1 || a->size >= (a->is_float ? 4 : NN_SQUARE)) &&
			    (a->is_float || a->size <= MAX_BYTES);

	for (size_t i = 0; beside && i < count; i += ROWS) {
		const size_t row = i + ROWS <= count ? i : count - ROWS;

		if (a->is_float && a->is_min)
			find_f32(true, a, (const float *)x + row * step, out + row);
		else if (a->is_float)
			find_f32(false, a, (const float *)x + row * step, out + row);
		else
			find_q8(a, (const uint8_t *)x + row * step, out + row);
	}
	for (size_t i = 0; !beside && i < count; i++) {
		const char *row = x + i * step * element;

		out[i] = a->is_float ? find_one_f32(a, (const float *)row) :
				       find_one_q8(a, (const uint8_t *)row);
	}
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct arg *a = call->ready->state;
	const size_t element = a->is_float ? sizeof(float) : 1, first = task * a->task_outer;
	const size_t left = a->outer - first, some = left < a->task_outer ? left : a->task_outer;
	const char *x = (const char *)call->inputs[0] + first * a->size * a->inner * element;
	int32_t *out = (int32_t *)call->outputs[0] + first * a->inner;

	(void)scratch;
	if (a->inner == 1) {
		find_rows(a, x, a->size, some, out);
		return;
	}
	for (size_t i = 0; i < some; i++, x += a->size * a->inner * element, out += a->inner)
		find_rows(a, x, 1, a->inner, out);
}

NN_KERNEL(arg, "index of the largest", sizeof(struct arg), NN_TAKES(NN_OP_ARGMAX, NN_OP_ARGMIN),
	  .inputs = 1);
