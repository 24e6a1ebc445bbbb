/* SPDX-License-Identifier: MIT */
/*
 * Channels of an image less their mean, by their deviation, for one instruction set; included
 * like, and after, elementwise_f32.h, by who also defines SQRT.
 */

/* Channels [c, c + some), up to a vector of them. */
static inline ALWAYS_INLINE TARGET void instance_of_f32(const struct nn_instance_f32 *n, size_t c,
							size_t some)
{
	const VF count = SPLAT((float)n->pixels), zero = SPLAT(0.0f), beta = SPLAT(n->beta);
	VF mean = zero, variance = zero, factor;

	for (size_t i = 0; i < n->pixels; i++)
		mean = ADD(mean, load_f32(n->in + i * n->channels + c, some));
	mean = mean / count;
	for (size_t i = 0; i < n->pixels; i++) {
		const VF d = load_f32(n->in + i * n->channels + c, some) - mean;

		variance = ADD(variance, d * d);
	}
	factor = SPLAT(n->gamma) / SQRT(variance / count + SPLAT(n->epsilon));
	for (size_t i = 0; i < n->pixels; i++) {
		const VF d = load_f32(n->in + i * n->channels + c, some) - mean;

		store_f32(n->out + i * n->channels + c, d * factor + beta, some);
	}
}

static TARGET void instance_f32(const struct nn_instance_f32 *n)
{
	size_t c = 0;

	for (; c + LANES <= n->channels; c += LANES)
		instance_of_f32(n, c, LANES);
	if (c < n->channels)
		instance_of_f32(n, c, n->channels - c);
}
