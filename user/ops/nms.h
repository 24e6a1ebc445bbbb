/* SPDX-License-Identifier: MIT */
/*
 * Non-maximum suppression: selects the box with the best score from each set of overlapping boxes.
 */
#ifndef NN_OPS_NMS_H
#define NN_OPS_NMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/box.h"

/* Effect on the score of a box that overlaps a better one. Values are the NNAPI's. */
enum nn_nms_kernel {
	NN_NMS_DISCARD = -1,	/* drops the box if overlap >= threshold; not an NNAPI value */
	NN_NMS_HARD = 0,	/* the score becomes 0 if overlap >= threshold */
	NN_NMS_LINEAR = 1,	/* the score is multiplied by 1 - overlap if overlap >= threshold */
	/* the score is multiplied by a Gaussian function of overlap and sigma */
	NN_NMS_GAUSSIAN = 2,
};

struct nn_nms {
	enum nn_nms_kernel kernel;
	float threshold;	/* of the overlap */
	float sigma;
	float floor;		/* boxes with a lower score are dropped */
	int32_t limit;		/* maximum number of selected boxes; negative for no limit */
	size_t most;		/* NN_NMS_DISCARD: number of best boxes to examine; 0: all */
	/*
	 * NULL; or, for NN_NMS_DISCARD, a function that computes a box when it is first examined.
	 * Boxes are examined in the order of their scores, best first. The function returns false
	 * if the candidate has no box.
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
 * Moves the best candidates to the front: highest score first, and equal scores in the order of the
 * boxes. Returns their number: `most`, or fewer if there are fewer. The other candidates are
 * undefined.
 */
size_t nn_candidates_best(struct nn_candidate *candidates, size_t count, size_t most);

/* Returns the number of scratch floats that nn_nms() needs for at most `count` candidates. */
size_t nn_nms_room(const struct nn_nms *nms, size_t count);

/*
 * Moves the selected candidates to the front, best first, with the scores that the suppression has
 * left. Returns their number.
 */
size_t nn_nms(const struct nn_nms *nms, struct nn_box *boxes, struct nn_candidate *candidates,
	      size_t count, float *room);

#endif /* NN_OPS_NMS_H */
