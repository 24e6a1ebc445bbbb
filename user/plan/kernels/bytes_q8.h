/* SPDX-License-Identifier: MIT */
/*
 * Sums and extremes of pixels of bytes and tables of them for one instruction set,
 * in loops that compilers make vectors of; included after wide_q8.h.
 */

static TARGET void sum_q8(const uint8_t *x, size_t stride, size_t pixels, size_t channels,
			  uint8_t flip, int32_t *sums)
{
	for (size_t c = 0; c < channels; c += WIDTH) {
		size_t count = channels - c < WIDTH ? channels - c : WIDTH;

		for (size_t first = 0; first < pixels; first += 128) {
			size_t end = first + 128 < pixels ? first + 128 : pixels;
			wide_q8 sum = { 0 };
			int16_t values[WIDTH];

			/* At most 128 * 255: in 16 bits. */
			for (size_t i = first; i < end; i++)
				sum += load_wide(x + i * stride + c, count, flip, 0);
			memcpy(values, &sum, sizeof(values));
			for (size_t i = 0; i < count; i++)
				sums[c + i] += values[i];
		}
	}
}

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
