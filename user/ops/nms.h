/* SPDX-License-Identifier: MIT */
/*
 * Non-maximum suppression: from a set of overlapping boxes, the one with the best score is
 * selected.
 */
#ifndef NN_OPS_NMS_H
#define NN_OPS_NMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/box.h"

/* Effect on the score of a box that overlaps a better one. Values are the NNAPI's. */
enum nn_nms_kernel {
	NN_NMS_DISCARD = -1,	/* not an NNAPI value: from the threshold on the box is dropped */
	NN_NMS_HARD = 0,	/* the score becomes 0 from the threshold on */
	NN_NMS_LINEAR = 1,	/* the score is multiplied by 1 - overlap from the threshold on */
	NN_NMS_GAUSSIAN = 2,	/* the score decreases by overlap and sigma */
};

struct nn_nms {
	enum nn_nms_kernel kernel;
	float threshold;	/* of the overlap */
	float sigma;
	float floor;		/* boxes whose score falls below are dropped */
	int32_t limit;		/* maximum number of selected boxes; negative for no limit */
	size_t most;		/* NN_NMS_DISCARD: number of best boxes to examine; 0: all */
	/*
	 * With NN_NMS_DISCARD it may be a function that computes a box when the box is first
	 * examined, best first; or NULL. Returns false if there is no box.
	 */
	bool (*place)(const void *context, struct nn_box *boxes, uint32_t box);
	const void *context;
};

/* A candidate. Its score is not NaN. */
struct nn_candidate {
	float score;
	uint32_t box;		/* index in an array of boxes */
};

/*
 * Moves the best to the front, sorted by score, best first, and equal ones by box. Returns their
 * number: `most`, or all. The rest is undefined.
 */
size_t nn_candidates_best(struct nn_candidate *candidates, size_t count, size_t most);

/* Returns the number of scratch floats that nn_nms() needs for at most `count` candidates. */
size_t nn_nms_room(const struct nn_nms *nms, size_t count);

/*
 * Moves the kept boxes to the front of the candidates, best first, with the scores that the kernel
 * has left. Returns their number.
 */
size_t nn_nms(const struct nn_nms *nms, struct nn_box *boxes, struct nn_candidate *candidates,
	      size_t count, float *room);

#endif /* NN_OPS_NMS_H */
