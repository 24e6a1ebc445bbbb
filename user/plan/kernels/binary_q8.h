/* SPDX-License-Identifier: MIT */
/*
 * Int8 arithmetic, for all instruction sets. This file is included after wide_q8.h. The includer
 * defines scale_q8(), store_q8(), and LOW_PAIRS and HIGH_PAIRS as in q8_pairs.h.
 */
#if !defined(HIGH_PAIRS) || !defined(LANES) || !defined(LOW_PAIRS) || !defined(TARGET) || \
    !defined(WIDTH)
#error "binary_q8.h needs: HIGH_PAIRS LANES LOW_PAIRS TARGET WIDTH"
#endif

static struct nn_q8_scale splat_factor(const struct nn_q8_factor *f)
{
	struct nn_q8_scale s = { .bias = { 0 } };

	for (size_t i = 0; i < LANES; i++) {
		s.multiplier[i] = f->value;
		s.shift[i] = f->shift;
		s.round_even[i / 2] = nn_q8_round(f->shift);
		s.round_odd[i / 2] = nn_q8_round(f->shift);
	}
	return s;
}

struct factors_q8 {
	struct nn_q8_scale a;
	struct nn_q8_scale b;
	struct nn_q8_scale out;
	bool halves_a;
	bool halves_b;
};

/*
 * Scales an operand of a sum to the common scale, which is twice the larger scale of the operands.
 * If `halves` is set, x has the larger scale, so x is multiplied by 1/2.
 */
static inline ALWAYS_INLINE TARGET sums_q8 term_q8(sums_q8 x, const struct nn_q8_scale *scale,
						   bool halves)
{
	return halves ? x << (NN_Q8_SUM_BITS - 1) : scale_q8(x << NN_Q8_SUM_BITS, scale);
}

static inline ALWAYS_INLINE TARGET sums_q8 operate_q8(enum nn_binary operation, sums_q8 x,
						      sums_q8 y, const struct factors_q8 *f)
{
	const sums_q8 negative = (sums_q8)(x < 0);
	sums_q8 product;

	if (operation == NN_BINARY_ADD || operation == NN_BINARY_SUB) {
		if (operation == NN_BINARY_SUB)
			y = -y;
		return scale_q8(term_q8(x, &f->a, f->halves_a) + term_q8(y, &f->b, f->halves_b),
				&f->out);
	}
	product = scale_q8(x * y, &f->out);
	if (operation == NN_BINARY_MUL)
		return product;
	return (product & negative) | (scale_q8(x, &f->a) & ~negative);
}

/* Loads up to WIDTH bytes, or one byte into all lanes if `one` is set; subtracts the zero point. */
static inline ALWAYS_INLINE TARGET wide_q8 values_of_q8(const uint8_t *p, bool one, size_t count,
							uint8_t flip, int32_t zero)
{
	if (one)
		return (wide_q8){ 0 } + (int16_t)((*p ^ flip) - zero);
	return load_wide(p, count, flip, zero);
}

static inline ALWAYS_INLINE TARGET void row_of_q8(enum nn_binary operation, bool one_a, bool one_b,
						  const struct nn_binary_q8 *given,
						  const struct factors_q8 *f, size_t row)
{
	/*
	 * Copy *given to a local variable, so that compilers need not reload its members after each
	 * store of a result.
	 */
	const struct nn_binary_q8 b = *given;
	const uint8_t *from_a = b.a + row * b.a_stride, *from_b = b.b + row * b.b_stride;
	uint8_t *out = b.out + row * b.count;

	for (size_t i = 0; i < b.count; i += WIDTH) {
		const size_t left = b.count - i;
		const wide_q8 x = values_of_q8(one_a ? from_a : from_a + i, one_a, left, b.flip,
					       b.a_zero);
		const wide_q8 y = values_of_q8(one_b ? from_b : from_b + i, one_b, left, b.flip,
					       b.b_zero);
		const wide_q8 sign_x = x >> 15, sign_y = y >> 15;
		bytes_q8 bytes;

		/* Interleaving 16-bit numbers with their signs widens the numbers to 32 bits. */
		store_q8((uint8_t *)&bytes,
			 operate_q8(operation, (sums_q8)LOW_PAIRS(x, sign_x),
				    (sums_q8)LOW_PAIRS(y, sign_y), f),
			 operate_q8(operation, (sums_q8)HIGH_PAIRS(x, sign_x),
				    (sums_q8)HIGH_PAIRS(y, sign_y), f), &b.output, WIDTH);
		store_bytes(out + i, bytes ^ b.flip, left);
	}
}

/*
 * Each operation is compiled in variants for operands with one element in each row (broadcast), and
 * for operands with full rows.
 */
static inline ALWAYS_INLINE TARGET void rows_of_q8(enum nn_binary operation,
						   const struct nn_binary_q8 *b,
						   const struct factors_q8 *f)
{
	for (size_t row = 0; row < b->rows; row++) {
		if (b->one_a)
			row_of_q8(operation, true, b->one_b, b, f, row);
		else if (b->one_b)
			row_of_q8(operation, false, true, b, f, row);
		else
			row_of_q8(operation, false, false, b, f, row);
	}
}

static TARGET void binary_q8(const struct nn_binary_q8 *b)
{
	const struct factors_q8 f = {
		splat_factor(&b->a_factor), splat_factor(&b->b_factor),
		splat_factor(&b->out_factor), nn_q8_halves(&b->a_factor),
		nn_q8_halves(&b->b_factor),
	};

	if (b->operation == NN_BINARY_ADD)
		rows_of_q8(NN_BINARY_ADD, b, &f);
	else if (b->operation == NN_BINARY_SUB)
		rows_of_q8(NN_BINARY_SUB, b, &f);
	else if (b->operation == NN_BINARY_MUL)
		rows_of_q8(NN_BINARY_MUL, b, &f);
	else
		rows_of_q8(NN_BINARY_PRELU, b, &f);
}
