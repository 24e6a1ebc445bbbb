/* SPDX-License-Identifier: MIT */
/*
 * Sums, maxima, and conversions of floats, for all instruction sets. This file is included after
 * depthwise_f32.h and uses the macros of depthwise_f32.h.
 */
#if !defined(ADD) || !defined(CLAMP) || !defined(LANES) || !defined(MAX) || !defined(MIN) || \
    !defined(SPLAT) || !defined(SQRT) || !defined(TARGET) || !defined(VF)
#error "elementwise_f32.h needs: ADD CLAMP LANES MAX MIN SPLAT SQRT TARGET VF"
#endif

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

/*
 * Pools one vector of channels over the pixels of a window. The operands of MAX have the order of
 * the reference kernel, because the order decides whether the result is NaN.
 */
static inline ALWAYS_INLINE TARGET VF pooled_f32(const struct nn_pool_f32 *p, enum nn_pooling kind,
						 const float *x, size_t count)
{
	const bool is_max = kind == NN_POOL_MAX;
	VF value = is_max ? load_f32(x, count) : SPLAT(0.0f);

	for (size_t y = 0; y < p->rows; y++, x += p->row_stride) {
		VF row = is_max ? value : SPLAT(0.0f);

		for (size_t i = 0; i < p->columns; i++) {
			const VF pixel = load_f32(x + i * p->channels, count);

			if (is_max)
				row = MAX(pixel, row);
			else if (kind == NN_POOL_L2)
				row = ADD(row, pixel * pixel);
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
	if (kind == NN_POOL_L2)
		value = SQRT(value);
	return value;
}

static TARGET void pool_f32(const struct nn_pool_f32 *p)
{
	const VF low = SPLAT(p->low), high = SPLAT(p->high);

	for (size_t c = 0; c < p->channels; c += LANES) {
		const float *x = p->in + c;
		size_t count = p->channels - c;
		VF value;

		if (p->kind == NN_POOL_MAX)
			value = pooled_f32(p, NN_POOL_MAX, x, count);
		else if (p->kind == NN_POOL_L2)
			value = pooled_f32(p, NN_POOL_L2, x, count);
		else
			value = pooled_f32(p, NN_POOL_MEAN, x, count);
		store_f32(p->out + c, CLAMP(value, low, high), count);
	}
}

typedef int32_t ints_f32 __attribute__((vector_size(4 * LANES)));
typedef uint8_t bytes_f32 __attribute__((vector_size(LANES)));

/*
 * The includer defines INTS_OF_BYTES and BYTES_OF_INTS if the compiler's conversion takes more than
 * two instructions.
 */
#ifndef INTS_OF_BYTES
#define INTS_OF_BYTES(b) __builtin_convertvector(b, ints_f32)
#define BYTES_OF_INTS(v) __builtin_convertvector(v, bytes_f32)
#endif

/* Quantises floats. NaN becomes the lower bound of the quantised values. */
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
		bytes = BYTES_OF_INTS(whole);
		/*
		 * Copy a whole vector by its own memcpy(), because a constant size is faster.
		 */
		if (count == LANES)
			memcpy(q->out + i, &bytes, LANES);
		else
			memcpy(q->out + i, &bytes, count);
	}
}

/* Sums all lanes. */
static inline ALWAYS_INLINE TARGET float add_lanes_f32(VF sum)
{
	float lanes[LANES];

	/*
	 * Read the lanes one by one. If the whole vector were copied at once, the compiler would
	 * keep the sum in memory, not in a register, during the caller's loop.
	 */
	UNROLL
	for (size_t i = 0; i < LANES; i++)
		lanes[i] = sum[i];
	UNROLL
	for (size_t n = LANES / 2; n; n /= 2)
		UNROLL
		for (size_t i = 0; i < n; i++)
			lanes[i] += lanes[i + n];
	return lanes[0];
}

static TARGET float sum_row_f32(const float *x, size_t count)
{
	VF sum = SPLAT(0.0f);

	for (size_t i = 0; i < count; i += LANES)
		sum = sum + load_f32(x + i, count - i);
	return add_lanes_f32(sum);
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
			INTS_OF_BYTES(bytes ^ d->flip) - d->zero, VF), count);
	}
}
