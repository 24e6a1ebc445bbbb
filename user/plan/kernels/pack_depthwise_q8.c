/* SPDX-License-Identifier: MIT */
/*
 * Packs the quantised filters and the parameters of depthwise convolutions with multiplier 1.
 */
#include <string.h>

#include "plan/kernels/depthwise_q8.h"
#include "plan/kernels/pack_q8.h"

enum { FILTER = 1 };

static size_t taps_of(const struct nn_depthwise_q8 *d)
{
	return d->height * d->width;
}

/*
 * Reads the parameters of up to `most` channels, from channel `first` on. Returns the number of
 * channels that were read, or 0 if reading fails.
 */
static size_t read_channels(const struct nn_run *r, const struct nn_depthwise_q8 *d, size_t first,
			    size_t most, struct nn_q8_channels *q)
{
	size_t count = d->channels - first < most ? d->channels - first : most;

	return nn_q8_channels(r, first, count, taps_of(d), q) ? count : 0;
}

/* Returns the weight of a tap and a channel as a signed byte. */
static int8_t weight_of(const struct nn_run *r, const struct nn_depthwise_q8 *d, size_t tap,
			size_t channel)
{
	const struct nn_tensor *filter = &r->inputs[FILTER];

	return nn_q8_signed(filter, ((const uint8_t *)filter->data)[tap * d->channels + channel]);
}

/* ---- Planes ---- */

/*
 * Returns the address of parameter `index` of the channel at position `place` of the packed blocks.
 */
static uint8_t *at_place(const struct depthwise_q8_layout *l, uint8_t *packed, size_t index,
			 size_t place)
{
	size_t inside = place % DEPTHWISE_Q8_BLOCK, plane = inside / 4 % 4;

	return packed + place / DEPTHWISE_Q8_BLOCK * l->block_size +
	       index * DEPTHWISE_Q8_VECTORS + plane * 64 + inside / 16 * 16 + inside % 4 * 4;
}

/*
 * Packs the weights of a channel at position `place` of the packed blocks. Returns the sum of all
 * differences between a weight and the zero point.
 */
static int32_t pack_taps(const struct nn_run *r, const struct nn_depthwise_q8 *d,
			 const struct depthwise_q8_layout *l, size_t channel, size_t place,
			 uint8_t *packed)
{
	int32_t sum = 0;

	for (size_t i = 0; i < d->height; i++) {
		for (size_t j = 0; j < d->width; j++) {
			size_t tap = j * l->groups + i / 4;
			int8_t w = weight_of(r, d, i * d->width + j, channel);

			at_place(l, packed, DEPTHWISE_Q8_SCALES + tap, place)[i % 4] = (uint8_t)w;
			sum += w - d->filter_zero;
		}
	}
	return sum;
}

/*
 * Packs channel `channel` at position `place` of the packed blocks. The channel's parameters are
 * element `index` of q.
 */
static void pack_channel(const struct nn_run *r, const struct nn_depthwise_q8 *d,
			 const struct depthwise_q8_layout *l, const struct nn_q8_channels *q,
			 size_t index, size_t channel, size_t place, uint8_t *packed)
{
	const struct nn_multiplier *m = &q->multipliers[index];
	int32_t sum = pack_taps(r, d, l, channel, place, packed), shift = -m->shift;
	/*
	 * If the last group has fewer than four rows, each tap of a missing row adds the product of
	 * both zero points to the accumulator.
	 */
	int32_t filled = (int32_t)((l->groups * 4 - d->height) * d->width);
	int32_t bias = q->bias[index] - d->in_zero * (sum - d->filter_zero * filled);
	int64_t round = nn_q8_round(shift);

	memcpy(at_place(l, packed, BIAS_TERM, place), &bias, sizeof(bias));
	memcpy(at_place(l, packed, MULTIPLIER, place), &m->value, sizeof(m->value));
	memcpy(at_place(l, packed, SHIFT, place), &shift, sizeof(shift));
	/*
	 * ROUND_EVEN has eight bytes for each of the channels 4i and 4i + 2; ROUND_ODD has eight
	 * bytes for each of the channels 4i + 1 and 4i + 3.
	 */
	memcpy(at_place(l, packed, place % 2 ? ROUND_ODD : ROUND_EVEN, place / 4 * 4) +
	       place % 4 / 2 * sizeof(round), &round, sizeof(round));
}

void nn_depthwise_sizes_planes(const struct nn_depthwise_config *c, const struct nn_depthwise_q8 *d,
			       size_t *packed, size_t *scratch)
{
	const struct depthwise_q8_layout layout = depthwise_q8_layout(d);

	(void)c;
	*packed = layout.packed;
	*scratch = layout.scratch;
}

bool nn_depthwise_pack_planes(const struct nn_depthwise_config *c, const struct nn_run *r,
			      const struct nn_depthwise_q8 *d, void *packed)
{
	const struct depthwise_q8_layout l = depthwise_q8_layout(d);
	struct nn_q8_channels q;

	(void)c;
	memset(packed, 0, l.packed);
	for (size_t first = 0, count; first < d->channels; first += count) {
		count = read_channels(r, d, first, NN_Q8_CHANNELS, &q);
		if (!count)
			return false;
		/* A channel may be at several positions of the packed blocks. */
		for (size_t i = 0; i < count; i++)
			for (size_t place = first + i; place < l.blocks * DEPTHWISE_Q8_BLOCK;
			     place += d->padded)
				pack_channel(r, d, &l, &q, i, first + i, place, packed);
	}
	return true;
}

/* ---- Pairs ---- */

/*
 * Returns the size in bytes of a panel. If the number of taps is odd, the last tap is paired with
 * zeros.
 */
static size_t pairs_panel(const struct nn_depthwise_config *c, const struct nn_depthwise_q8 *d)
{
	return nn_q8_pairs_panel_size(c->lanes, (taps_of(d) + 1) / 2 * 2, sizeof(int16_t));
}

void nn_depthwise_sizes_pairs(const struct nn_depthwise_config *c, const struct nn_depthwise_q8 *d,
			      size_t *packed, size_t *scratch)
{
	const size_t panel = NN_PANEL_VECTORS * c->lanes;

	*packed = (d->channels + panel - 1) / panel * pairs_panel(c, d);
	*scratch = ((taps_of(d) + 1) / 2 * 2 + 1) * sizeof(void *) + d->channels;
}

/* Packs a panel of weights for `count` channels. The depth of the panel is the number of taps. */
static void pack_panel(const struct nn_run *r, const struct nn_depthwise_q8 *d, size_t lanes,
		       const struct nn_q8_channels *q, size_t first, size_t count, void *packed)
{
	int16_t *weights = (int16_t *)((char *)packed + nn_q8_scales_size(lanes, NN_PANEL_VECTORS));
	/* Zero point of the input's bytes before their sign bit is flipped. */
	const int32_t zero = d->in_zero - d->in_flip;

	for (size_t place = 0; place < NN_PANEL_VECTORS * lanes; place++) {
		const size_t index = nn_q8_column(place / lanes, place % lanes);
		int32_t sum = 0;

		if (index >= count)
			continue;
		for (size_t t = 0; t < taps_of(d); t++) {
			int16_t w = (int16_t)(weight_of(r, d, t, first + index) - d->filter_zero);

			weights[(t / 2 * NN_PANEL_VECTORS * lanes + place) * 2 + t % 2] = w;
			sum += w;
		}
		nn_pack_scale(q, index, -(zero * sum), packed, place);
	}
}

bool nn_depthwise_pack_pairs(const struct nn_depthwise_config *c, const struct nn_run *r,
			     const struct nn_depthwise_q8 *d, void *packed)
{
	const size_t panel = NN_PANEL_VECTORS * c->lanes, size = pairs_panel(c, d);
	struct nn_q8_channels q;
	char *to = packed;

	memset(packed, 0, (d->channels + panel - 1) / panel * size);
	for (size_t first = 0, count; first < d->channels; first += count, to += size) {
		count = read_channels(r, d, first, panel, &q);
		if (!count)
			return false;
		pack_panel(r, d, c->lanes, &q, first, count, to);
	}
	return true;
}

/* ---- Eights ---- */

void nn_depthwise_sizes_eights(const struct nn_depthwise_config *c, const struct nn_depthwise_q8 *d,
			       size_t *packed, size_t *scratch)
{
	*packed = (d->channels + c->lanes - 1) / c->lanes * nn_q8_taps_size(taps_of(d));
	*scratch = taps_of(d) * sizeof(struct nn_q8_tap);
}

bool nn_depthwise_pack_eights(const struct nn_depthwise_config *c, const struct nn_run *r,
			      const struct nn_depthwise_q8 *d, void *packed)
{
	const size_t size = nn_q8_taps_size(taps_of(d));
	struct nn_q8_channels q;
	char *at = packed;

	memset(packed, 0, (d->channels + c->lanes - 1) / c->lanes * size);
	for (size_t first = 0, count; first < d->channels; first += count, at += size) {
		struct nn_q8_eight *eight = (void *)at;
		int16_t *to = (int16_t *)(eight + 1);

		count = read_channels(r, d, first, c->lanes, &q);
		if (!count)
			return false;
		for (size_t i = 0; i < count; i++) {
			nn_pack_eight(&q, i, 0, eight, i);
			for (size_t t = 0; t < taps_of(d); t++)
				to[t * c->lanes + i] = (int16_t)(weight_of(r, d, t, first + i) -
								 d->filter_zero);
		}
	}
	return true;
}
