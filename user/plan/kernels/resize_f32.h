/* SPDX-License-Identifier: MIT */
/*
 * Computes rows of resized images, for one instruction set. This file is included after
 * elementwise_f32.h and uses the macros of elementwise_f32.h.
 */
#if !defined(BYTES_OF_INTS) || !defined(INTS_OF_BYTES) || !defined(LANES) || \
    !defined(SPLAT) || !defined(TARGET) || !defined(VF)
#error "resize_f32.h needs: BYTES_OF_INTS INTS_OF_BYTES LANES SPLAT TARGET VF"
#endif

/* Loads bytes as floats, up to one vector. `flip` is 0x80 if the bytes are signed. */
static inline ALWAYS_INLINE TARGET VF load_bytes_f32(const uint8_t *p, size_t count, uint8_t flip)
{
	bytes_f32 bytes = { 0 };

	if (count >= LANES)
		memcpy(&bytes, p, LANES);
	else
		memcpy(&bytes, p, count);
	return __builtin_convertvector(INTS_OF_BYTES(bytes ^ flip) - flip, VF);
}

/* Stores floats as bytes, truncated like in the reference kernel. */
static inline ALWAYS_INLINE TARGET void store_bytes_f32(uint8_t *p, VF v, size_t count)
{
	const bytes_f32 bytes = BYTES_OF_INTS(__builtin_convertvector(v, ints_f32));

	if (count >= LANES)
		memcpy(p, &bytes, LANES);
	else
		memcpy(p, &bytes, count);
}

/*
 * Computes the channels of one pixel, at most one vector of channels. The four products are added
 * in the order of the reference kernel.
 */
static inline ALWAYS_INLINE TARGET void blend_one_f32(const struct nn_blend *b, bool is_byte,
						      const size_t at[2], const VF weight[4],
						      size_t to, size_t count)
{
	VF v[4];

	UNROLL
	for (int i = 0; i < 4; i++)
		v[i] = is_byte ? load_bytes_f32((const uint8_t *)b->rows[i / 2] + at[i % 2], count,
						b->flip) :
				 load_f32((const float *)b->rows[i / 2] + at[i % 2], count);
	v[0] = v[0] * weight[0] + v[1] * weight[1] + v[2] * weight[2] + v[3] * weight[3];
	if (is_byte)
		store_bytes_f32((uint8_t *)b->out + to, v[0], count);
	else
		store_f32((float *)b->out + to, v[0], count);
}

static inline ALWAYS_INLINE TARGET void blend_all_f32(const struct nn_blend *b, bool is_byte)
{
	const size_t channels = b->channels;

	for (size_t x = 0; x < b->width; x++) {
		const struct nn_source *s = &b->x[x];
		const VF weight[4] = {
			SPLAT((1 - b->weight) * (1 - s->weight)), SPLAT((1 - b->weight) * s->weight),
			SPLAT(b->weight * (1 - s->weight)), SPLAT(b->weight * s->weight),
		};

		for (size_t c = 0; c < channels; c += LANES) {
			/*
			 * Computing a whole vector, with some channels a second time, is faster
			 * than computing a part of a vector.
			 */
			size_t from = channels < LANES || c + LANES <= channels ? c : channels - LANES;
			const size_t at[2] = { s->low * channels + from, s->high * channels + from };

			blend_one_f32(b, is_byte, at, weight, x * channels + from, channels - from);
		}
	}
}

static TARGET void blend_f32(const struct nn_blend *b)
{
	if (b->is_byte)
		blend_all_f32(b, true);
	else
		blend_all_f32(b, false);
}
