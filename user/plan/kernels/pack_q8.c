/* SPDX-License-Identifier: MIT */
/*
 * Packs the quantised weights of a matrix product, four columns at a time.
 */
#include <string.h>

#include "plan/kernels/fours.h"
#include "plan/kernels/pack_q8.h"

#define COLUMNS 4

/* Number of weights of a column in a square: a square has four columns and four groups of depth. */
#define SQUARE_STEP (4 * NN_Q8_GROUP)

/* Maximum number of squares for which the sum of half of a column's bytes fits in 16 bits. */
#define MAX_SQUARES 32

/*
 * Returns the operand of XOR that makes the bytes of the weights unsigned. Packed bytes are signed:
 * 128 was subtracted from each unsigned byte.
 */
static uint8_t unsigned_flip(const struct nn_pack_q8 *p)
{
	return (uint8_t)nn_q8_signed(p->weights, 0x80);
}

/* Returns the number of columns that exist from `first` on, at most COLUMNS. */
static size_t count_columns(const struct nn_pack_q8 *p, size_t first)
{
	size_t left = p->columns > first ? p->columns - first : 0;

	return left < COLUMNS ? left : COLUMNS;
}

static const uint8_t *column(const struct nn_pack_q8 *p, size_t index)
{
	return (const uint8_t *)p->weights->data + index * p->depth;
}

void nn_pack_scale(const struct nn_q8_channels *q, size_t index, int32_t bias, void *panel, size_t place)
{
	const struct nn_multiplier *m = &q->multipliers[index];
	struct nn_q8_scale *scale = (struct nn_q8_scale *)panel + place / NN_MAX_LANES;
	const size_t lane = place % NN_MAX_LANES;
	int64_t *round = lane % 2 ? scale->round_odd : scale->round_even;

	scale->bias[lane] = (int32_t)((uint32_t)q->bias[index] + (uint32_t)bias);
	scale->multiplier[lane] = m->value;
	scale->shift[lane] = -m->shift;
	round[lane / 2] = nn_q8_round(-m->shift);
}

/* Zeroes the scales of a panel, and also the weights if the panel has padding. */
static void clear_panel(const struct nn_gemm_config *c, const struct nn_pack_q8 *p, size_t vectors,
			size_t first, void *panel, size_t size)
{
	size_t scales = nn_q8_scales_size(c->lanes, vectors);
	bool padded = p->columns - first < vectors * c->lanes || p->depth % c->group;

	memset(panel, 0, padded ? size : scales);
}

/* ---- Bytes ---- */

/* Adds the two bytes of each 16-bit lane, and returns the sums as 16-bit numbers. */
static inline four sum_halves(four x)
{
	return (x & 0x00ff00ff) + (x >> 8 & 0x00ff00ff);
}

/*
 * Packs all whole squares of four columns; elements of the depth after the last square are not
 * packed. Returns the number of elements of depth that were packed.
 */
static size_t pack_squares(const struct nn_pack_q8 *p, const uint8_t *from, size_t group,
			   uint8_t *to, uint32_t sums[COLUMNS])
{
	const uint32_t flip = unsigned_flip(p) * UINT32_C(0x01010101);
	size_t k = 0;
	four total = { 0 };

	while (k + SQUARE_STEP <= p->depth) {
		four halves = { 0 };

		for (int n = 0; n < MAX_SQUARES && k + SQUARE_STEP <= p->depth; n++) {
			four x[4];

			load_fours(from + k, p->depth, x);
			transpose_fours(x);
			UNROLL
			for (size_t i = 0; i < 4; i++) {
				x[i] ^= flip;
				halves += sum_halves(x[i]);
				x[i] ^= 0x80808080;
			}
			store_fours(to, group, x);
			to += 4 * group;
			k += SQUARE_STEP;
		}
		total += (halves & 0xffff) + (halves >> 16);
	}
	memcpy(sums, &total, sizeof(total));
	return k;
}

/*
 * Packs up to four columns, from column `first` on, as unsigned bytes, and sums the bytes of each
 * column.
 */
static void pack_columns_q8(const struct nn_pack_q8 *p, size_t first, size_t count, size_t group,
			    uint8_t *to, uint32_t sums[COLUMNS])
{
	const uint8_t flip = unsigned_flip(p);
	size_t done = 0;

	memset(sums, 0, COLUMNS * sizeof(*sums));
	if (count == COLUMNS)
		done = pack_squares(p, column(p, first), group, to, sums);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *from = column(p, first + i);

		for (size_t k = done; k < p->depth; k++) {
			uint8_t byte = from[k] ^ flip;

			to[k / NN_Q8_GROUP * group + i * NN_Q8_GROUP + k % NN_Q8_GROUP] =
				byte ^ 0x80;
			sums[i] += byte;
		}
	}
}

/*
 * Returns whether the sum of two adjacent weights, each multiplied by up to 255, may exceed 16
 * bits.
 */
static bool saturates(const int8_t *bytes, size_t count)
{
	typedef int16_t eight __attribute__((vector_size(16)));
	eight bad = { 0 };
	uint64_t any[2];

	for (size_t i = 0; i < count; i += sizeof(bad)) {
		eight both, odd, above;

		memcpy(&both, bytes + i, sizeof(both));
		odd = both >> 8;
		both = both << 8 >> 8;
		above = (both & (both > 0)) + (odd & (odd > 0));
		bad |= (above > 128) | (both + odd - above < -128);
	}
	memcpy(any, &bad, sizeof(any));
	return any[0] | any[1];
}

/*
 * Halves the weights of each group of four whose products may saturate, and stores the subtracted
 * halves in `spares`. Stops halving weights if `spares` has no room for more halves.
 */
static void split_fours(size_t vectors, size_t lanes, size_t depth, int8_t *fours,
			struct nn_q8_spares *spares)
{
	const size_t width = vectors * lanes * NN_Q8_GROUP;
	int8_t *rest = nn_q8_spare_bytes(spares, depth);

	spares->count = 0;
	spares->too_many = false;
	for (size_t k = 0; k < depth; k += NN_Q8_GROUP, fours += width) {
		if (!saturates(fours, width))
			continue;
		if (spares->count == nn_q8_most_spares(depth)) {
			spares->too_many = true;
			return;
		}
		for (size_t i = 0; i < width; i++) {
			rest[i] = (int8_t)(fours[i] >> 1);
			fours[i] = (int8_t)(fours[i] - rest[i]);
		}
		spares->places[spares->count++] = (uint32_t)k;
		rest += width;
	}
}

static size_t fours_panel_size(const struct nn_gemm_config *c, size_t vectors, size_t depth)
{
	return nn_q8_panel_size(c->lanes, vectors, depth) +
	       (c->splits ? nn_q8_spares_size(vectors, c->lanes, depth) : 0);
}

size_t nn_fours_size(const struct nn_gemm_config *c, size_t columns, size_t depth)
{
	const size_t vectors = (columns + c->lanes - 1) / c->lanes;

	return vectors / NN_PANEL_VECTORS * fours_panel_size(c, NN_PANEL_VECTORS, depth) +
	       (vectors % NN_PANEL_VECTORS ? fours_panel_size(c, 1, depth) : 0);
}

void nn_pack_fours(const struct nn_gemm_config *c, const struct nn_pack_q8 *p, void *to)
{
	const size_t lanes = c->lanes;
	const int32_t x_zero = p->x->zero_point +
			       (p->x->type == NN_TENSOR_QUANT8_ASYMM ? 0 : 128);
	const int32_t zero = 128 + nn_q8_signed_zero(p->weights);
	size_t vectors, size;

	for (size_t at = 0; at < p->columns; at += vectors * lanes, to = (char *)to + size) {
		uint8_t *weights;

		vectors = p->columns - at > lanes ? NN_PANEL_VECTORS : 1;
		size = nn_q8_panel_size(lanes, vectors, p->depth);
		weights = (uint8_t *)to + nn_q8_scales_size(lanes, vectors);
		clear_panel(c, p, vectors, at, to, size);
		size = fours_panel_size(c, vectors, p->depth);
		for (size_t place = 0; place < vectors * lanes; place += COLUMNS) {
			size_t v = place / lanes, lane = place % lanes;
			size_t first = at + (vectors > 1 ? nn_q8_column(v, lane) : lane);
			size_t count = count_columns(p, first);
			uint32_t sums[COLUMNS];

			pack_columns_q8(p, first, count, vectors * lanes * NN_Q8_GROUP,
					weights + place * NN_Q8_GROUP, sums);
			for (size_t i = 0; i < count; i++)
				nn_pack_scale(p->q, first + i, -x_zero * ((int32_t)sums[i] -
					      zero * (int32_t)p->depth), to, place + i);
		}
		if (c->splits)
			split_fours(vectors, lanes, p->depth, (int8_t *)weights,
				    (void *)((char *)to + nn_q8_panel_size(lanes, vectors, p->depth)));
	}
}

/* ---- Pairs ---- */

typedef uint16_t eight_pairs __attribute__((vector_size(16)));
typedef uint64_t two_rows __attribute__((vector_size(16)));

/* Stores x as two rows, which begin `group` bytes apart and have four pairs of bytes each. */
static inline void store_rows(uint8_t *to, size_t group, four x)
{
	const two_rows rows = (two_rows)x;
	const uint64_t first = rows[0], second = rows[1];

	memcpy(to, &first, sizeof(first));
	memcpy(to + group, &second, sizeof(second));
}

/*
 * Interleave pairs of bytes of the columns a and b: mix_low() the first four pairs of each column,
 * mix_high() the last four.
 */
static inline four mix_low(four a, four b)
{
	return (four)__builtin_shufflevector((eight_pairs)a, (eight_pairs)b,
					     0, 8, 1, 9, 2, 10, 3, 11);
}

static inline four mix_high(four a, four b)
{
	return (four)__builtin_shufflevector((eight_pairs)a, (eight_pairs)b,
					     4, 12, 5, 13, 6, 14, 7, 15);
}

/* Transposes pairs of bytes: x[i] has eight pairs of column i, and `to` gets eight rows of four. */
static inline void store_pairs(uint8_t *to, size_t group, const four x[4])
{
	const four ab_low = mix_low(x[0], x[1]), ab_high = mix_high(x[0], x[1]);
	const four cd_low = mix_low(x[2], x[3]), cd_high = mix_high(x[2], x[3]);

	store_rows(to, group, __builtin_shufflevector(ab_low, cd_low, 0, 4, 1, 5));
	store_rows(to + 2 * group, group, __builtin_shufflevector(ab_low, cd_low, 2, 6, 3, 7));
	store_rows(to + 4 * group, group, __builtin_shufflevector(ab_high, cd_high, 0, 4, 1, 5));
	store_rows(to + 6 * group, group, __builtin_shufflevector(ab_high, cd_high, 2, 6, 3, 7));
}

/* Packs up to four columns, from column `first` on, as signed bytes. */
static void pack_columns_pairs(const struct nn_pack_q8 *p, size_t first, size_t count,
			       size_t group, uint8_t *to)
{
	const uint8_t flip = unsigned_flip(p) ^ 0x80;
	size_t done = 0;

	for (; count == COLUMNS && done + SQUARE_STEP <= p->depth; done += SQUARE_STEP) {
		four x[COLUMNS];

		load_fours(column(p, first) + done, p->depth, x);
		UNROLL
		for (size_t i = 0; i < COLUMNS; i++)
			x[i] ^= flip * UINT32_C(0x01010101);
		store_pairs(to + done / NN_Q8_PAIR * group, group, x);
	}
	for (size_t i = 0; i < count; i++) {
		const uint8_t *from = column(p, first + i);

		for (size_t k = done; k < p->depth; k++)
			to[k / NN_Q8_PAIR * group + i * NN_Q8_PAIR + k % NN_Q8_PAIR] =
				from[k] ^ flip;
	}
}

size_t nn_pairs_size(const struct nn_gemm_config *c, size_t columns, size_t depth)
{
	const size_t panel = NN_PANEL_VECTORS * c->lanes;

	return (columns + panel - 1) / panel * nn_q8_pairs_panel_size(c->lanes, depth, 1);
}

void nn_pack_pairs(const struct nn_gemm_config *c, const struct nn_pack_q8 *p, void *to)
{
	const size_t lanes = c->lanes, panel = NN_PANEL_VECTORS * lanes;
	const size_t size = nn_q8_pairs_panel_size(lanes, p->depth, 1);

	for (size_t at = 0; at < p->columns; at += panel, to = (char *)to + size) {
		uint8_t *weights = (uint8_t *)to + nn_q8_scales_size(lanes, NN_PANEL_VECTORS);

		clear_panel(c, p, NN_PANEL_VECTORS, at, to, size);
		for (size_t place = 0; place < panel; place += COLUMNS) {
			size_t v = place / lanes, lane = place % lanes;
			size_t first = at + nn_q8_column(v, lane);
			size_t count = count_columns(p, first);

			pack_columns_pairs(p, first, count, panel * NN_Q8_PAIR,
					   weights + place * NN_Q8_PAIR);
			for (size_t i = 0; i < count; i++)
				nn_pack_scale(p->q, first + i, 0, to, place + i);
		}
	}
}

/* ---- Eights ---- */

void nn_pack_eight(const struct nn_q8_channels *q, size_t index, int32_t bias,
		   struct nn_q8_eight *eight, size_t lane)
{
	eight->bias[lane] = q->bias[index] + bias;
	eight->multiplier[lane] = q->multipliers[index].value;
	eight->shift[lane] = q->multipliers[index].shift;
}

/*
 * Packs a column of weights as lane `lane` of a panel. Returns the number that accounts for the
 * input's zero point and is added to the bias.
 */
static int32_t pack_lane(const struct nn_pack_q8 *p, size_t index, size_t group, size_t lane,
			 struct nn_q8_eight *eight)
{
	const bool flips = group == NN_Q8_SIGNED_GROUP && p->x->type == NN_TENSOR_QUANT8_ASYMM;
	const bool is_signed = flips || p->x->type != NN_TENSOR_QUANT8_ASYMM;
	/* XOR with `flip` makes weights signed if the input is signed, otherwise unsigned. */
	const uint8_t flip = unsigned_flip(p) ^ (is_signed ? 0x80 : 0);
	const int32_t zero = nn_q8_signed_zero(p->weights) + (is_signed ? 0 : 128);
	const uint8_t *from = column(p, index);
	uint8_t *to = (uint8_t *)(eight + 1) + lane * group;
	int32_t sum = 0;

	for (size_t k = 0; k < p->depth; k += group, to += 8 * group) {
		size_t count = p->depth - k < group ? p->depth - k : group;

		for (size_t i = 0; i < count; i++) {
			uint8_t byte = from[k + i] ^ flip;

			to[i] = byte;
			sum += is_signed ? (int8_t)byte : byte;
			eight->has_least |= i >= group / 2 && byte == 0x80 &&
					    to[i - group / 2] == 0x80;
		}
	}
	return -(p->x->zero_point - (flips ? 128 : 0)) * (sum - zero * (int32_t)p->depth);
}

size_t nn_eights_size(const struct nn_gemm_config *c, size_t columns, size_t depth)
{
	return (columns + 7) / 8 * nn_q8_eight_size(c->group, depth);
}

void nn_pack_eights(const struct nn_gemm_config *c, const struct nn_pack_q8 *p, void *to)
{
	const size_t size = nn_q8_eight_size(c->group, p->depth);

	for (size_t at = 0; at < p->columns; at += 8, to = (char *)to + size) {
		struct nn_q8_eight *eight = to;

		memset(to, 0, size);
		for (size_t lane = 0; lane < 8 && at + lane < p->columns; lane++)
			nn_pack_eight(p->q, at + lane, pack_lane(p, at + lane, c->group, lane, eight),
				      eight, lane);
	}
}
