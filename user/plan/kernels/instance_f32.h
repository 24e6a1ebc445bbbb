/* SPDX-License-Identifier: MIT */
/*
 * Normalises the channels of an image by mean and deviation, for all instruction sets. This file is
 * included after elementwise_f32.h and uses the macros of elementwise_f32.h, and SQRT.
 */
#if !defined(ADD) || !defined(LANES) || !defined(LOAD) || !defined(SPLAT) || \
    !defined(SQRT) || !defined(TARGET) || !defined(VF)
#error "instance_f32.h needs: ADD LANES LOAD SPLAT SQRT TARGET VF"
#endif

/*
 * Returns the factor by which the differences from the mean are multiplied. `squares` is the sum of
 * the squared differences from the mean.
 */
static inline ALWAYS_INLINE TARGET VF factor_f32(const struct nn_instance_f32 *n, VF squares)
{
	return SPLAT(n->gamma) / SQRT(squares / SPLAT((float)n->pixels) + SPLAT(n->epsilon));
}

/* Normalises the channels [c, c + some), which are at most one vector of channels. */
static inline ALWAYS_INLINE TARGET void instance_of_f32(const struct nn_instance_f32 *n, size_t c,
							size_t some)
{
	const VF zero = SPLAT(0.0f), beta = SPLAT(n->beta);
	VF mean = zero, squares = zero, factor;

	for (size_t i = 0; i < n->pixels; i++)
		mean = ADD(mean, load_f32(n->in + i * n->channels + c, some));
	mean = mean / SPLAT((float)n->pixels);
	for (size_t i = 0; i < n->pixels; i++) {
		const VF d = load_f32(n->in + i * n->channels + c, some) - mean;

		squares = ADD(squares, d * d);
	}
	factor = factor_f32(n, squares);
	for (size_t i = 0; i < n->pixels; i++) {
		const VF d = load_f32(n->in + i * n->channels + c, some) - mean;

		store_f32(n->out + i * n->channels + c, d * factor + beta, some);
	}
}

/* Normalises an image of one channel, a vector of pixels at a time. */
static TARGET void instance_row_f32(const struct nn_instance_f32 *n)
{
	const VF mean = SPLAT(sum_row_f32(n->in, n->pixels) / (float)n->pixels);
	const VF beta = SPLAT(n->beta);
	const size_t whole = n->pixels / LANES * LANES;
	VF squares = SPLAT(0.0f), factor;
	float rest = 0;

	for (size_t i = 0; i < whole; i += LANES) {
		const VF d = LOAD(n->in + i) - mean;

		squares = ADD(squares, d * d);
	}
	for (size_t i = whole; i < n->pixels; i++) {
		const float d = n->in[i] - mean[0];

		rest += d * d;
	}
	factor = factor_f32(n, SPLAT(add_lanes_f32(squares) + rest));
	for (size_t i = 0; i < n->pixels; i += LANES)
		store_f32(n->out + i, (load_f32(n->in + i, n->pixels - i) - mean) * factor + beta,
			  n->pixels - i);
}

static TARGET void instance_f32(const struct nn_instance_f32 *n)
{
	size_t c = 0;

	if (n->channels == 1) {
		instance_row_f32(n);
		return;
	}
	for (; c + LANES <= n->channels; c += LANES)
		instance_of_f32(n, c, LANES);
	if (c < n->channels)
		instance_of_f32(n, c, n->channels - c);
}
