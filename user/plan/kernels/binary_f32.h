/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic of two matrices of floats, for all instruction sets. This file is included after
 * depthwise_f32.h and uses the macros of depthwise_f32.h. If the elements are not float32, the
 * includer defines BITS, an integer type of the same size.
 */
#if !defined(CLAMP) || !defined(LANES) || !defined(MAX) || !defined(MIN) || !defined(NUM) || \
    !defined(SPLAT) || !defined(TARGET) || !defined(VF)
#error "binary_f32.h needs: CLAMP LANES MAX MIN NUM SPLAT TARGET VF"
#endif

#ifndef BITS
#define BITS uint32_t
#endif

typedef BITS bits_f32 __attribute__((vector_size(sizeof(VF))));

/* The includer defines CHOOSE if the instruction set has an instruction that selects lanes. */
#ifndef CHOOSE
#define CHOOSE(mask, a, b) ((VF)(((mask) & (bits_f32)(a)) | (~(mask) & (bits_f32)(b))))
#endif

/*
 * Returns the lanes of `a` where all bits of `mask` are set, and the lanes of `b` where no bit of
 * `mask` is set.
 */
static inline ALWAYS_INLINE TARGET VF choose_f32(bits_f32 mask, VF a, VF b)
{
	return CHOOSE(mask, a, b);
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
	/* MAX and MIN return y if x or y is NaN, so x must be chosen explicitly if x is NaN. */
	case NN_BINARY_MAX:
		return choose_f32((bits_f32)(x != x), x, MAX(x, y));
	case NN_BINARY_MIN:
		return choose_f32((bits_f32)(x != x), x, MIN(x, y));
	case NN_BINARY_PRELU:
		return choose_f32((bits_f32)(x >= SPLAT(0.0f)), x, x * y);
	case NN_BINARY_POW:
		break;
	}
	return x;
}

static inline ALWAYS_INLINE TARGET void rows_of_f32(enum nn_binary operation, bool one_a,
						    bool one_b, const struct nn_binary_f32 *b)
{
	const NUM *from_a = b->a, *from_b = b->b;
	const VF low = SPLAT(b->low), high = SPLAT(b->high);
	const bool clamps = operation != NN_BINARY_MAX && operation != NN_BINARY_MIN;
	/*
	 * Copy members of *b to local variables, so that compilers need not reload the members
	 * after each store of a result.
	 */
	const size_t count = b->count, a_stride = b->a_stride, b_stride = b->b_stride;
	NUM *out = b->out;

	for (size_t rows = b->rows; rows > 0; rows--) {
		const VF x = SPLAT(*from_a), y = SPLAT(*from_b);

		for (size_t i = 0; i < count; i += LANES) {
			const size_t left = count - i;
			const VF value = operate_f32(operation,
						     one_a ? x : load_f32(from_a + i, left),
						     one_b ? y : load_f32(from_b + i, left));

			store_f32(out + i, clamps ? CLAMP(value, low, high) : value, left);
		}
		from_a += a_stride;
		from_b += b_stride;
		out += count;
	}
}

static inline ALWAYS_INLINE TARGET void operation_f32(enum nn_binary operation,
						      const struct nn_binary_f32 *b)
{
	if (b->one_a)
		rows_of_f32(operation, true, b->one_b, b);
	else if (b->one_b)
		rows_of_f32(operation, false, true, b);
	else
		rows_of_f32(operation, false, false, b);
}

static TARGET void binary_f32(const struct nn_binary_f32 *b)
{
	switch (b->operation) {
#define OPERATION(which) case NN_BINARY_##which: return operation_f32(NN_BINARY_##which, b);
	OPERATION(ADD) OPERATION(SUB) OPERATION(MUL) OPERATION(DIV) OPERATION(MAX) OPERATION(MIN)
	OPERATION(PRELU)
#undef OPERATION
	case NN_BINARY_POW:
		break;
	}
}
