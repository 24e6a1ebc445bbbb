/* SPDX-License-Identifier: MIT */
/*
 * Non-maximum suppression: of boxes that overlap, the one of the best score stays.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

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

static bool is_suppressed(const struct nn_nms *nms, const struct nn_box *boxes, uint32_t box,
			  const struct nn_candidate *kept, size_t count)
{
	for (size_t i = 0; i < count; i++)
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
