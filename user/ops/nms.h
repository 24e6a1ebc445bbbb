/* SPDX-License-Identifier: MIT */
/* Non-maximum suppression: selects boxes with the best scores that do not overlap much. */
#ifndef NN_OPS_NMS_H
#define NN_OPS_NMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/box.h"

/*
 * Effect of suppression on the score of a box that overlaps a better box. The enumerators have the
 * same values as in the NNAPI.
 */
enum nn_nms_kernel {
	NN_NMS_DISCARD = -1,	/* the box is dropped if overlap >= threshold; not in the NNAPI */
	NN_NMS_HARD = 0,	/* the score becomes 0 if overlap >= threshold */
	NN_NMS_LINEAR = 1,	/* the score is multiplied by 1 - overlap if overlap >= threshold */
	/* the score is multiplied by a Gaussian function of overlap and sigma */
	NN_NMS_GAUSSIAN = 2,
};

struct nn_nms {
	enum nn_nms_kernel kernel;
	float threshold;	/* overlap from which a box is suppressed */
	float sigma;
	float floor;	/* boxes with a score below `floor` are dropped, except the best box */
	int32_t limit;		/* maximum number of selected boxes; no limit if negative */
	size_t most;	/* NN_NMS_DISCARD: number of the best boxes to examine; 0: all boxes */
	/*
	 * With NN_NMS_DISCARD, place() computes a box before the box is first examined. With any
	 * other `kernel`, place() is NULL. Boxes are examined in the order of their scores, best
	 * first. The function place() returns false if the candidate has no box.
	 */
	bool (*place)(const void *context, struct nn_box *boxes, uint32_t box);
	const void *context;
};

/* A box that may be selected; its score is not NaN. */
struct nn_candidate {
	float score;
	uint32_t box;		/* index of the candidate's box */
};

/*
 * Moves the `most` best candidates to the front of the array, sorted by score, highest first.
 * If candidates have equal scores, the index `box` determines the order. Returns the number of best
 * candidates: the smaller of `most` and `count`. The contents of the array after the best
 * candidates are undefined.
 */
size_t nn_candidates_best(struct nn_candidate *candidates, size_t count, size_t most);

/* Returns the number of scratch floats that nn_nms() needs for at most `count` candidates. */
size_t nn_nms_room(const struct nn_nms *nms, size_t count);

/*
 * Moves the selected candidates to the front of the array, best first, with their scores after
 * suppression. Returns the number of selected candidates.
 */
size_t nn_nms(const struct nn_nms *nms, struct nn_box *boxes, struct nn_candidate *candidates,
	      size_t count, float *room);

#endif /* NN_OPS_NMS_H */
