/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic, sums and extremes of floats for one instruction set; included like, and
 * after, depthwise_f32.h.
 */

typedef uint32_t bits_f32 __attribute__((vector_size(4 * LANES)));

/* a where the mask is set, else b. */
static inline ALWAYS_INLINE TARGET VF choose_f32(bits_f32 mask, VF a, VF b)
{
	return (VF)((mask & (bits_f32)a) | (~mask & (bits_f32)b));
}

static inline ALWAYS_INLINE TARGET VF operate_f32(enum nn_binary operation, VF x, VF y)
{
	switch (operation) {
	case NN_BINARY_ADD:
		return x + y;
	case NN_BINARY_SUB:
		return x - y;
	case NN_BINARY_MUL:
		return x * y;
	case NN_BINARY_DIV:
		return x / y;
	case NN_BINARY_MAX:
		return MAX(x, y);
	case NN_BINARY_MIN:
		return MIN(x, y);
	case NN_BINARY_PRELU:
		return choose_f32((bits_f32)(x >= SPLAT(0.0f)), x, x * y);
	}
	return x;
}

static inline ALWAYS_INLINE TARGET void row_of_f32(enum nn_binary operation, bool one_a, bool one_b,
						   const struct nn_binary_f32 *b)
{
	const VF low = SPLAT(b->low), high = SPLAT(b->high), x = SPLAT(*b->a), y = SPLAT(*b->b);

	for (size_t i = 0; i < b->count; i += LANES) {
		size_t count = b->count - i;
		const VF value = operate_f32(operation, one_a ? x : load_f32(b->a + i, count),
					     one_b ? y : load_f32(b->b + i, count));

		store_f32(b->out + i, CLAMP(value, low, high), count);
	}
}

static inline ALWAYS_INLINE TARGET void rows_of_f32(enum nn_binary operation,
						    const struct nn_binary_f32 *b)
{
	if (b->one_a)
		row_of_f32(operation, true, b->one_b, b);
	else if (b->one_b)
		row_of_f32(operation, false, true, b);
	else
		row_of_f32(operation, false, false, b);
}

static TARGET void binary_f32(const struct nn_binary_f32 *b)
{
	switch (b->operation) {
	case NN_BINARY_ADD:
		return rows_of_f32(NN_BINARY_ADD, b);
	case NN_BINARY_SUB:
		return rows_of_f32(NN_BINARY_SUB, b);
	case NN_BINARY_MUL:
		return rows_of_f32(NN_BINARY_MUL, b);
	case NN_BINARY_DIV:
		return rows_of_f32(NN_BINARY_DIV, b);
	case NN_BINARY_MAX:
		return rows_of_f32(NN_BINARY_MAX, b);
	case NN_BINARY_MIN:
		return rows_of_f32(NN_BINARY_MIN, b);
	case NN_BINARY_PRELU:
		return rows_of_f32(NN_BINARY_PRELU, b);
	}
}

static TARGET void sum_f32(const float *x, size_t stride, size_t pixels, size_t channels,
			   float *sums)
{
	for (size_t c = 0; c < channels; c += LANES) {
		VF sum = SPLAT(0.0f);

		for (size_t i = 0; i < pixels; i++)
			sum = ADD(sum, load_f32(x + i * stride + c, channels - c));
		store_f32(sums + c, ADD(load_f32(sums + c, channels - c), sum), channels - c);
	}
}

/* The order of operands lets NaN pass, or not, as the reference does. */
static inline ALWAYS_INLINE TARGET VF pooled_f32(const struct nn_pool_f32 *p, bool is_max,
						 const float *x, size_t count)
{
	VF value = is_max ? load_f32(x, count) : SPLAT(0.0f);

	for (size_t y = 0; y < p->rows; y++, x += p->row_stride) {
		VF row = is_max ? value : SPLAT(0.0f);

		for (size_t i = 0; i < p->columns; i++) {
			const VF pixel = load_f32(x + i * p->channels, count);

			if (is_max)
				row = MAX(pixel, row);
			else
				row = ADD(row, pixel);
		}
		if (is_max)
			value = row;
		else
			value = ADD(value, row);
	}
	if (!is_max)
		value = value / SPLAT(p->count);
	return value;
}

static TARGET void pool_f32(const struct nn_pool_f32 *p)
{
	const VF low = SPLAT(p->low), high = SPLAT(p->high);

	for (size_t c = 0; c < p->channels; c += LANES) {
		size_t count = p->channels - c;
		const VF value = p->is_max ? pooled_f32(p, true, p->in + c, count) :
					     pooled_f32(p, false, p->in + c, count);

		store_f32(p->out + c, CLAMP(value, low, high), count);
	}
}

typedef int32_t ints_f32 __attribute__((vector_size(4 * LANES)));
typedef uint8_t bytes_f32 __attribute__((vector_size(LANES)));

/* What is not a number becomes the lower bound. */
static TARGET void quantize_f32(const struct nn_quantize_f32 *q)
{
	const VF scale = SPLAT(q->scale), low = SPLAT(q->low), high = SPLAT(q->high);
	const VF half = SPLAT(0.5f);

	for (size_t i = 0; i < q->count; i += LANES) {
		size_t count = q->count - i < LANES ? q->count - i : LANES;
		const VF x = MIN(MAX(load_f32(q->in + i, count) / scale, low), high);
		ints_f32 whole = __builtin_convertvector(x, ints_f32);
		const VF rest = x - __builtin_convertvector(whole, VF);
		bytes_f32 bytes;

		whole += (ints_f32)(rest <= -half) - (ints_f32)(rest >= half) + (int32_t)q->zero;
		bytes = __builtin_convertvector(whole, bytes_f32);
		/* Mostly: a size that the compiler knows. */
		if (count == LANES)
			memcpy(q->out + i, &bytes, LANES);
		else
			memcpy(q->out + i, &bytes, count);
	}
}

static TARGET float sum_row_f32(const float *x, size_t count)
{
	float lanes[LANES], total = 0;
	VF sum = SPLAT(0.0f);

	for (size_t i = 0; i < count; i += LANES)
		sum = sum + load_f32(x + i, count - i);
	STORE(lanes, sum);
	for (size_t i = 0; i < LANES; i++)
		total += lanes[i];
	return total;
}

static TARGET void dequantize_f32(const struct nn_dequantize_f32 *d)
{
	const VF scale = SPLAT(d->scale);

	for (size_t i = 0; i < d->count; i += LANES) {
		size_t count = d->count - i < LANES ? d->count - i : LANES;
		bytes_f32 bytes = { 0 };

		if (count == LANES)
			memcpy(&bytes, d->in + i, LANES);
		else
			memcpy(&bytes, d->in + i, count);
		store_f32(d->out + i, scale * __builtin_convertvector(
			__builtin_convertvector(bytes ^ d->flip, ints_f32) - d->zero, VF), count);
	}
}
