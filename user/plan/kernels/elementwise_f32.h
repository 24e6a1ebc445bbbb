/* SPDX-License-Identifier: MIT */
/*
 * Sums of floats for one instruction set; included like, and after,
 * depthwise_f32.h, by who also defines ADD.
 */

static TARGET void add_f32(const struct nn_add_f32 *a)
{
	const VF low = SPLAT(a->low), high = SPLAT(a->high);

	for (size_t i = 0; i < a->count; i += LANES) {
		size_t count = a->count - i;
		const VF sum = ADD(load_f32(a->a + i, count), load_f32(a->b + i, count));

		store_f32(a->out + i, MIN(high, MAX(low, sum)), count);
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
