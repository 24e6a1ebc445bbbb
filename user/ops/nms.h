/* SPDX-License-Identifier: MIT */
/*
 * Non-maximum suppression: of boxes that overlap, the one of the best score stays.
 */
#ifndef NN_OPS_NMS_H
#define NN_OPS_NMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/box.h"

/* What becomes of the score of a box that overlaps a better one: values of the NNAPI. */
enum nn_nms_kernel {
	NN_NMS_DISCARD = -1,	/* not the NNAPI's: dropped from the threshold on */
	NN_NMS_HARD = 0,	/* loses all of it from the threshold on */
	NN_NMS_LINEAR = 1,	/* loses the overlap's part of it from the threshold on */
	NN_NMS_GAUSSIAN = 2,	/* loses according to overlap and sigma */
};

struct nn_nms {
	enum nn_nms_kernel kernel;
	float threshold;	/* of the overlap */
	float sigma;
	float floor;		/* boxes whose score falls below are dropped */
	int32_t limit;		/* boxes kept; negative: all */
	size_t most;		/* of NN_NMS_DISCARD: only so many of the best are looked at; 0: all */
	/*
	 * Of NN_NMS_DISCARD, NULL or makes a box when it is looked at, which is once, best first;
	 * false: it is none.
	 */
	bool (*place)(const void *context, struct nn_box *boxes, uint32_t box);
	const void *context;
};

/* A box that may be kept. Scores are no NaNs. */
struct nn_candidate {
	float score;
	uint32_t box;		/* index in an array of boxes */
};

/*
 * Leaves the best at the front, sorted by score, best first, and equal ones by box; returns how
 * many: `most`, or all. What is behind them may be anything then.
 */
size_t nn_candidates_best(struct nn_candidate *candidates, size_t count, size_t most);

/* Floats that nn_nms() needs room for with at most `count` candidates. */
size_t nn_nms_room(const struct nn_nms *nms, size_t count);

/*
 * Leaves the boxes that stay at the front of the candidates, best first and with
 * the scores that the kernel left them; returns how many.
 */
size_t nn_nms(const struct nn_nms *nms, struct nn_box *boxes, struct nn_candidate *candidates,
	      size_t count, float *room);

#endif /* NN_OPS_NMS_H */
