/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "ops/dot.h"
#include "ops/nms.h"

static bool is_before(const struct nn_candidate *a, const struct nn_candidate *b)
{
	return a->score != b->score ? a->score > b->score : a->box < b->box;
}

static void swap(struct nn_candidate *a, struct nn_candidate *b)
{
	struct nn_candidate c = *a;

	*a = *b;
	*b = c;
}

/* ---- A list that is sorted on demand ---- */

#define MAX_ENDS 64
#define FEW 16			/* maximum number of candidates that are sorted by insertion sort */

/*
 * A partially sorted list of candidates, which `ends` divides into parts. All candidates of a part
 * are better than all candidates of the following parts. The last element of `ends` is the end of
 * the first part that is not sorted yet. The candidates before index `sorted` are completely
 * sorted.
 */
struct order {
	struct nn_candidate *list;
	size_t at;			/* index of the next candidate to return */
	size_t sorted;
	size_t ends[MAX_ENDS];
	size_t num_ends;
	/* number of candidates that divide() may still move before qsort() is used */
	size_t budget;
};

_Static_assert(sizeof(struct nn_candidate) == sizeof(uint64_t), "divide() moves it as a number");

static void order_begin(struct order *o, struct nn_candidate *list, size_t count)
{
	*o = (struct order){ .list = list, .ends[0] = count, .num_ends = 1,
			     .budget = 32 * count };
}

static int compare(const void *a, const void *b)
{
	return is_before(a, b) ? -1 : is_before(b, a);
}

static void sort_few(struct nn_candidate *list, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const struct nn_candidate moved = list[i];
		size_t at = i;

		for (; at && is_before(&moved, &list[at - 1]); at--)
			list[at] = list[at - 1];
		list[at] = moved;
	}
}

/*
 * Partitions a list by a pivot: moves to the front the candidates that are better than the pivot.
 * Returns the number of candidates that are better than the pivot, or 1 if the pivot is the best
 * candidate. The loop does not branch on scores, because the CPU would often mispredict a branch on
 * scores.
 */
static size_t divide(struct nn_candidate *list, size_t count)
{
	struct nn_candidate *a = &list[0], *b = &list[count / 2], *c = &list[count - 1];
	struct nn_candidate pivot;
	size_t first = 0;

	if (is_before(b, a))
		swap(a, b);
	if (is_before(b, c))
		swap(b, c);
	if (is_before(c, a))
		swap(a, c);
	pivot = *c;
	/*
	 * Move each candidate as one 64-bit word, because loading a word right after storing its
	 * two halves is slow.
	 */
	for (size_t i = 0; i + 1 < count; i++) {
		struct nn_candidate x;
		uint64_t whole;

		memcpy(&whole, &list[i], sizeof(whole));
		memcpy(&list[i], &list[first], sizeof(whole));
		memcpy(&list[first], &whole, sizeof(whole));
		memcpy(&x, &whole, sizeof(x));
		first += (size_t)((x.score > pivot.score) |
				  ((x.score == pivot.score) & (x.box < pivot.box)));
	}
	swap(&list[first], c);
	return first ? first : 1;
}

/*
 * Returns the best candidate that order_next() has not returned yet, or NULL. The caller may
 * overwrite the elements of the list before the returned candidate.
 */
static struct nn_candidate *order_next(struct order *o)
{
	while (o->at == o->sorted && o->num_ends) {
		struct nn_candidate *list = o->list + o->at;
		size_t count = o->ends[o->num_ends - 1] - o->at;

		if (count > FEW && o->num_ends < MAX_ENDS && count <= o->budget) {
			o->budget -= count;
			o->ends[o->num_ends++] = o->at + divide(list, count);
			continue;
		}
		if (count > FEW)
			qsort(list, count, sizeof(*list), compare);
		else
			sort_few(list, count);
		o->sorted += count;
		o->num_ends--;
	}
	return o->at < o->sorted ? &o->list[o->at++] : NULL;
}

size_t nn_candidates_best(struct nn_candidate *candidates, size_t count, size_t most)
{
	struct order o;
	size_t kept = 0;

	order_begin(&o, candidates, count);
	while (kept < most && order_next(&o))
		kept++;
	return kept;
}

/* ---- Suppression, box by box ---- */

/* Returns the factor for the score of a box whose overlap with a better box is `overlap`. */
static float weight(const struct nn_nms *nms, float overlap)
{
	switch (nms->kernel) {
	case NN_NMS_GAUSSIAN:
		return expf(-overlap * overlap / nms->sigma);
	case NN_NMS_LINEAR:
		return overlap >= nms->threshold ? 1 - overlap : 1;
	default:
		return overlap >= nms->threshold ? 0 : 1;
	}
}

/*
 * Lowers the scores of the candidates in `rest` by their overlap with a selected box. Removes the
 * candidates that suppression discards or lowers below nms->floor. Returns how many of the `count`
 * candidates are left.
 */
static size_t suppress(const struct nn_nms *nms, const struct nn_box *boxes, uint32_t kept,
		       struct nn_candidate *rest, size_t count)
{
	for (size_t i = 0; i < count;) {
		float left = weight(nms, nn_box_overlap(&boxes[kept], &boxes[rest[i].box]));

		rest[i].score *= left;
		if ((left != 0 || nms->kernel != NN_NMS_DISCARD) && rest[i].score >= nms->floor)
			i++;
		else
			rest[i] = rest[--count];
	}
	return count;
}

static size_t select_at_once(const struct nn_nms *nms, const struct nn_box *boxes,
			     struct nn_candidate *candidates, size_t count, size_t limit)
{
	size_t kept = 0;

	while (kept < count && kept < limit) {
		struct nn_candidate *best = &candidates[kept];

		for (size_t i = kept + 1; i < count; i++)
			if (is_before(&candidates[i], best))
				best = &candidates[i];
		swap(best, &candidates[kept]);
		kept++;
		count = kept + suppress(nms, boxes, candidates[kept - 1].box, candidates + kept,
					count - kept);
	}
	return kept;
}

/* ---- Suppression if a score is kept or lost as a whole ---- */

typedef int32_t mask __attribute__((vector_size(16)));

/*
 * The selected boxes, with an array for each coordinate, so that a vector can load the same
 * coordinate of four boxes.
 */
struct kept {
	float *x1;
	float *y1;
	float *x2;
	float *y2;
	float *area;
	size_t count;
};

static struct kept kept_in(float *room, size_t most)
{
	const size_t n = round_up(most, 4);

	return (struct kept){ room, room + n, room + 2 * n, room + 3 * n, room + 4 * n, 0 };
}

static void keep(struct kept *k, const struct nn_box *b)
{
	const size_t i = k->count++;

	k->x1[i] = b->x1;
	k->y1[i] = b->y1;
	k->x2[i] = b->x2;
	k->y2[i] = b->y2;
	k->area[i] = nn_box_area(b);
}

/*
 * Computes nn_box_overlap() of box `b`, which has no NaN, with each of four selected boxes from
 * index `i` on.
 */
static inline nn_dot_four overlap(const struct kept *k, size_t i, const struct nn_box *b,
				  float area)
{
	const nn_dot_four zero = { 0 };
	nn_dot_four w = nn_dot_least(nn_dot_load(k->x2 + i), zero + b->x2) -
			nn_dot_largest(nn_dot_load(k->x1 + i), zero + b->x1);
	nn_dot_four h = nn_dot_least(nn_dot_load(k->y2 + i), zero + b->y2) -
			nn_dot_largest(nn_dot_load(k->y1 + i), zero + b->y1);
	nn_dot_four both = nn_dot_largest(w, zero) * nn_dot_largest(h, zero);
	nn_dot_four part = both / (nn_dot_load(k->area + i) + area - both);

	return (nn_dot_four)((mask)(both > 0) & (mask)part);
}

static bool is_suppressed(const struct nn_nms *nms, const struct kept *k, const struct nn_box *box)
{
	const mask lanes = { 0, 1, 2, 3 };
	const float area = nn_box_area(box);

	if (box->x1 != box->x1 || box->x2 != box->x2 || box->y1 != box->y1 || box->y2 != box->y2) {
		for (size_t i = 0; i < k->count; i++) {
			const struct nn_box other = { k->x1[i], k->y1[i], k->x2[i], k->y2[i] };

			if (nn_box_overlap(&other, box) >= nms->threshold)
				return true;
		}
		return false;
	}
	for (size_t i = 0; i < k->count; i += 4) {
		const size_t left = k->count - i;
		mask over = (mask)(overlap(k, i, box, area) >= nms->threshold);
		uint64_t any[2];

		over &= lanes < (int32_t)(left < 4 ? left : 4);
		memcpy(any, &over, sizeof(any));
		if (any[0] | any[1])
			return true;
	}
	return false;
}

/*
 * Selects boxes in the order of their scores. Suppression only discards candidates here and changes
 * no scores. So each candidate is compared with the selected boxes only once, when no remaining
 * candidate is better.
 */
static size_t select_in_order(const struct nn_nms *nms, struct nn_box *boxes,
			      struct nn_candidate *candidates, size_t count, size_t limit,
			      float *room)
{
	struct kept k = kept_in(room, limit < count ? limit : count);
	struct nn_candidate *c;
	struct order o;

	order_begin(&o, candidates, count);
	for (size_t seen = 0; k.count < limit && (!nms->most || seen < nms->most); seen++) {
		c = order_next(&o);
		if (!c)
			break;
		if (nms->place && !nms->place(nms->context, boxes, c->box))
			continue;
		if (k.count && !(c->score >= nms->floor))
			continue;
		if (is_suppressed(nms, &k, &boxes[c->box]))
			continue;
		candidates[k.count] = *c;
		keep(&k, &boxes[c->box]);
	}
	return k.count;
}

size_t nn_nms_room(const struct nn_nms *nms, size_t count)
{
	size_t limit = nms->limit < 0 || (size_t)nms->limit > count ? count : (size_t)nms->limit;

	return 5 * round_up(limit, 4);
}

size_t nn_nms(const struct nn_nms *nms, struct nn_box *boxes, struct nn_candidate *candidates,
	      size_t count, float *room)
{
	size_t limit = nms->limit < 0 ? count : (size_t)nms->limit;

	if (nms->kernel == NN_NMS_DISCARD || (nms->kernel == NN_NMS_HARD && nms->floor > 0))
		return select_in_order(nms, boxes, candidates, count, limit, room);
	return select_at_once(nms, boxes, candidates, count, limit);
}
