/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic on rows of bytes, compiled once for each operation and for inputs of which
 * one is the same all along. Whoever includes it defines TARGET, splat_factor(), struct
 * factors_q8 of what it returns, and row_of_q8(), which does one row.
 */
#if !defined(TARGET)
#error "binary_rows_q8.h needs: TARGET"
#endif

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
