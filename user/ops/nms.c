/* SPDX-License-Identifier: MIT */
/*
 * Non-maximum suppression: of boxes that overlap, the one of the best score stays.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

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

/* ---- A heap, of which the best is first ---- */

/* Moves what is at `at` down until nothing below it comes before it. */
static void sift(struct nn_candidate *heap, size_t count, size_t at)
{
	const struct nn_candidate moved = heap[at];
	size_t below;

	while ((below = 2 * at + 1) < count) {
		if (below + 1 < count && is_before(&heap[below + 1], &heap[below]))
			below++;
		if (!is_before(&heap[below], &moved))
			break;
		heap[at] = heap[below];
		at = below;
	}
	heap[at] = moved;
}

static void make_heap(struct nn_candidate *heap, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sift(heap, count, i);
}

/* Takes the best away, of at least one; the place behind the others is free then. */
static struct nn_candidate pop(struct nn_candidate *heap, size_t count)
{
	const struct nn_candidate best = heap[0];

	heap[0] = heap[count - 1];
	sift(heap, count - 1, 0);
	return best;
}

/* Candidates that were kept lie at the end of all, the first one last: moves them to the front. */
static void move_kept(struct nn_candidate *candidates, size_t all, size_t kept)
{
	struct nn_candidate *first = candidates + all - kept;

	for (size_t i = 0; i < kept / 2; i++)
		swap(&first[i], &first[kept - 1 - i]);
	memmove(candidates, first, kept * sizeof(*first));
}

size_t nn_candidates_best(struct nn_candidate *candidates, size_t count, size_t most)
{
	size_t kept = 0;

	make_heap(candidates, count);
	for (; kept < most && kept < count; kept++)
		candidates[count - 1 - kept] = pop(candidates, count - kept);
	move_kept(candidates, count, kept);
	return kept;
}

/* ---- Suppression, box by box ---- */

/* What is left of a score of 1 for a box that overlaps a better one so much. */
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

/* Drops what the kept candidate suppresses; returns how many of `count` are left. */
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

/* ---- The same, where a score is left as it is or loses all ---- */

typedef int32_t mask __attribute__((vector_size(16)));

/* Four boxes, a coordinate in each. */
struct four_boxes {
	nn_dot_four x1, y1, x2, y2;
};

static inline nn_dot_four choose(mask m, nn_dot_four yes, nn_dot_four no)
{
	return (nn_dot_four)((m & (mask)yes) | (~m & (mask)no));
}

static inline nn_dot_four least(nn_dot_four a, nn_dot_four b)
{
	return choose((mask)(a < b) | (mask)(b != b), a, b);
}

static inline nn_dot_four largest(nn_dot_four a, nn_dot_four b)
{
	return choose((mask)(a > b) | (mask)(b != b), a, b);
}

static inline nn_dot_four area(const struct four_boxes *b)
{
	return (b->x2 - b->x1) * (b->y2 - b->y1);
}

/* nn_box_overlap() */
static inline nn_dot_four overlap(const struct four_boxes *a, const struct four_boxes *b)
{
	const nn_dot_four zero = { 0 };
	nn_dot_four w = largest(least(a->x2, b->x2) - largest(a->x1, b->x1), zero);
	nn_dot_four h = largest(least(a->y2, b->y2) - largest(a->y1, b->y1), zero);
	nn_dot_four both = w * h;

	return choose((mask)(both > 0), both / (area(a) + area(b) - both), zero);
}

static inline struct four_boxes read_four(const struct nn_box *boxes, const struct nn_candidate *c)
{
	const struct nn_box *b[] = { &boxes[c[0].box], &boxes[c[1].box], &boxes[c[2].box],
				     &boxes[c[3].box] };

	return (struct four_boxes){
		.x1 = { b[0]->x1, b[1]->x1, b[2]->x1, b[3]->x1 },
		.y1 = { b[0]->y1, b[1]->y1, b[2]->y1, b[3]->y1 },
		.x2 = { b[0]->x2, b[1]->x2, b[2]->x2, b[3]->x2 },
		.y2 = { b[0]->y2, b[1]->y2, b[2]->y2, b[3]->y2 },
	};
}

static bool is_suppressed(const struct nn_nms *nms, const struct nn_box *boxes, uint32_t box,
			  const struct nn_candidate *kept, size_t count)
{
	const struct nn_candidate same[] = { { 0, box }, { 0, box }, { 0, box }, { 0, box } };
	const struct four_boxes own = read_four(boxes, same);
	size_t i = 0;

	for (; i + 4 <= count; i += 4) {
		const struct four_boxes others = read_four(boxes, kept + i);
		const mask over = (mask)(overlap(&others, &own) >= nms->threshold);

		if (over[0] | over[1] | over[2] | over[3])
			return true;
	}
	for (; i < count; i++)
		if (nn_box_overlap(&boxes[kept[i].box], &boxes[box]) >= nms->threshold)
			return true;
	return false;
}

/*
 * A candidate meets the kept ones when it is the best that is left, and not before: no score
 * becomes better meanwhile. One that lost all its score takes its place among the others again.
 */
static size_t select_lazily(const struct nn_nms *nms, const struct nn_box *boxes,
			    struct nn_candidate *candidates, size_t count, size_t limit)
{
	const size_t all = count;
	size_t kept = 0;

	make_heap(candidates, count);
	while (count && kept < limit) {
		struct nn_candidate *best = &candidates[0], *last = candidates + all - kept;
		bool is_lost = nms->kernel == NN_NMS_HARD && best->score == 0;

		if (!is_lost && is_suppressed(nms, boxes, best->box, last, kept)) {
			best->score *= 0;
			if (nms->kernel == NN_NMS_HARD && best->score >= nms->floor)
				sift(candidates, count, 0);
			else
				pop(candidates, count--);
		} else if (kept && !(best->score >= nms->floor)) {
			pop(candidates, count--);
		} else {
			last[-1] = pop(candidates, count--);
			kept++;
		}
	}
	move_kept(candidates, all, kept);
	return kept;
}

static bool is_lazy(const struct nn_nms *nms, const struct nn_candidate *candidates, size_t count)
{
	bool is_positive = true;

	for (size_t i = 0; i < count; i++)
		is_positive &= candidates[i].score >= 0;
	return nms->kernel == NN_NMS_DISCARD || (nms->kernel == NN_NMS_HARD && is_positive);
}

size_t nn_nms(const struct nn_nms *nms, const struct nn_box *boxes,
	      struct nn_candidate *candidates, size_t count)
{
	size_t limit = nms->limit < 0 ? count : (size_t)nms->limit;

	return is_lazy(nms, candidates, count) ?
	       select_lazily(nms, boxes, candidates, count, limit) :
	       select_at_once(nms, boxes, candidates, count, limit);
}
