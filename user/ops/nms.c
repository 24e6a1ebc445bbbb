/* SPDX-License-Identifier: MIT */
/*
 * Non-maximum suppression: of boxes that overlap, the one of the best score stays.
 */
#include <math.h>
#include <stdlib.h>

#include "ops/nms.h"

/* Negative where `a` comes before `b`. */
static int compare(const void *a, const void *b)
{
	const struct nn_candidate *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return (x->box > y->box) - (x->box < y->box);
}

void nn_candidates_sort(struct nn_candidate *candidates, size_t count)
{
	qsort(candidates, count, sizeof(*candidates), compare);
}

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

static void swap(struct nn_candidate *a, struct nn_candidate *b)
{
	struct nn_candidate c = *a;

	*a = *b;
	*b = c;
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

size_t nn_nms(const struct nn_nms *nms, const struct nn_box *boxes,
	      struct nn_candidate *candidates, size_t count)
{
	size_t limit = nms->limit < 0 ? count : (size_t)nms->limit;
	size_t kept = 0;

	while (kept < count && kept < limit) {
		struct nn_candidate *best = &candidates[kept];

		for (size_t i = kept + 1; i < count; i++)
			if (compare(&candidates[i], best) < 0)
				best = &candidates[i];
		swap(best, &candidates[kept]);
		kept++;
		count = kept + suppress(nms, boxes, candidates[kept - 1].box, candidates + kept,
					count - kept);
	}
	return kept;
}
