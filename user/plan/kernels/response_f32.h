/* SPDX-License-Identifier: MIT */
/*
 * LOCAL_RESPONSE_NORMALIZATION of floats, for all instruction sets. This file is included after
 * elementwise_f32.h and uses the macros of elementwise_f32.h, and SQRT.
 */
#if !defined(ADD) || !defined(LANES) || !defined(SPLAT) || !defined(SQRT) || \
    !defined(STORE) || !defined(TARGET) || !defined(VF)
#error "response_f32.h needs: ADD LANES SPLAT SQRT STORE TARGET VF"
#endif

/* Computes elements from element `at` on, at most one vector of elements. */
static inline ALWAYS_INLINE TARGET VF respond_f32(const struct nn_response_f32 *n,
						  enum nn_response_power power, size_t at,
						  size_t some)
{
	const float *x = n->in + at - n->before * n->step;
	VF sum = SPLAT(0.0f), base, root;

	for (size_t k = 0; k <= n->before + n->after; k++, x += n->step) {
		const VF value = load_f32(x, some);

		sum = ADD(sum, value * value);
	}
	base = SPLAT(n->bias) + SPLAT(n->alpha) * sum;
	if (power == NN_RESPONSE_BASE)
		return base;
	if (power == NN_RESPONSE_ONE)
		return load_f32(n->in + at, some) / base;
	root = SQRT(base);
	if (power == NN_RESPONSE_THREE_QUARTERS)
		root = root * SQRT(root);
	return load_f32(n->in + at, some) / root;
}

static inline ALWAYS_INLINE TARGET void response_of_f32(const struct nn_response_f32 *n,
							enum nn_response_power power)
{
	size_t at = 0;

	for (; at + LANES <= n->count; at += LANES)
		STORE(n->out + at, respond_f32(n, power, at, LANES));
	if (at < n->count)
		store_f32(n->out + at, respond_f32(n, power, at, n->count - at), n->count - at);
}

static TARGET void response_f32(const struct nn_response_f32 *n)
{
	switch (n->power) {
#define RESPONSE_OF(which) case NN_RESPONSE_##which: return response_of_f32(n, NN_RESPONSE_##which);
	RESPONSE_OF(BASE) RESPONSE_OF(ONE) RESPONSE_OF(HALF) RESPONSE_OF(THREE_QUARTERS)
#undef RESPONSE_OF
	}
}
