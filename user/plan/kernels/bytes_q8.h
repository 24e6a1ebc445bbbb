/* SPDX-License-Identifier: MIT */
/*
 * Extremes of pixels of bytes and tables of them for one instruction set, in loops
 * that compilers make vectors of; included by who defines TARGET.
 */

static TARGET void max_q8(const uint8_t *x, size_t stride, size_t pixels, size_t channels,
			  uint8_t flip, uint8_t *largest)
{
	uint8_t max[NN_MAX_CHANNELS] = { 0 }, bytes[NN_MAX_CHANNELS] = { 0 };

	for (size_t c = 0; c < channels; c++)
		max[c] = largest[c] ^ flip;
	for (size_t i = 0; i < pixels; i++) {
		const uint8_t *from = x + i * stride;

		/* Mostly: a size that the compiler knows. */
		if (channels == NN_MAX_CHANNELS)
			memcpy(bytes, from, NN_MAX_CHANNELS);
		else
			memcpy(bytes, from, channels);
		for (size_t c = 0; c < NN_MAX_CHANNELS; c++) {
			uint8_t byte = bytes[c] ^ flip;

			max[c] = byte > max[c] ? byte : max[c];
		}
	}
	for (size_t c = 0; c < channels; c++)
		largest[c] = max[c] ^ flip;
}

static TARGET void lookup_q8(const uint8_t *table, const uint8_t *in, uint8_t *out, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = table[in[i]];
}
