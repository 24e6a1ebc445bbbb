/* SPDX-License-Identifier: MIT */
/*
 * DETECTION_POSTPROCESSING: decodes boxes from anchors. From the decoded boxes, the operation
 * selects the best boxes that do not overlap much, separately for each class or for all classes
 * together.
 */
#include <math.h>
#include <string.h>

#include "ops/box.h"
#include "ops/check.h"
#include "ops/dot.h"
#include "ops/nms.h"

enum { SCORES, DELTAS, ANCHORS, SCALE_Y, SCALE_X, SCALE_H, SCALE_W, REGULAR, MAX_DETECTIONS,
       CLASSES_PER_DETECTION, DETECTIONS_PER_CLASS, SCORE_THRESHOLD, IOU_THRESHOLD,
       BACKGROUND_IN_LABEL };
enum { OUT_SCORES, OUT_BOXES, OUT_CLASSES, OUT_COUNTS };

/* Order of the four numbers of an anchor, of a delta, and of the deltas' scales. */
enum { Y, X, H, W };

static enum nn_status check_values(const struct nn_run *r)
{
	const uint32_t classes = r->inputs[SCORES].dims[2], deltas = r->inputs[DELTAS].dims[2];
	bool regular = nn_run_bool(r, REGULAR, false);
	uint32_t most = regular ? DETECTIONS_PER_CLASS : CLASSES_PER_DETECTION;

	if (classes < 2)
		return nn_run_fail(r, "input 0: %u classes, must be at least 2", classes);
	if (deltas < 4)
		return nn_run_fail(r, "input 1: %u deltas, must be at least 4", deltas);
	for (uint32_t i = SCALE_Y; i <= SCALE_W; i++)
		if (!(nn_run_float(r, i, 0) > 0))
			return nn_run_fail(r, "input %u: the scale must be positive", i);
	if (nn_run_int(r, MAX_DETECTIONS, 0) <= 0)
		return nn_run_fail(r, "input %u: must be positive", MAX_DETECTIONS);
	if (nn_run_int(r, most, 0) <= 0)
		return nn_run_fail(r, "input %u: must be positive", most);
	for (uint32_t i = SCORE_THRESHOLD; i <= IOU_THRESHOLD; i++)
		if (!(nn_run_float(r, i, 0) >= 0))
			return nn_run_fail(r, "input %u: the threshold must not be negative", i);
	return NN_OK;
}

/* State of the kernel, and memory for one image's detections. */
struct job {
	uint32_t anchors;
	uint32_t classes;		/* number of classes, including the background */
	uint32_t capacity;		/* maximum number of an image's detections in the outputs */
	bool regular;
	uint32_t first_label;		/* label of class 1 */
	struct nn_nms nms;
	float threshold;		/* minimum score of a detection */
	float scales[4];		/* scales of the deltas */
	const float *scores;		/* scores of the image */
	/* deltas of the image, `delta_size` numbers for each anchor */
	const float *deltas;
	size_t delta_size;
	const float *anchor_boxes;
	float *best;			/* best score of each anchor */
	uint32_t *good;			/* anchors whose best score is above the threshold */
	/* box of each anchor, valid if its flag in is_placed is set */
	struct nn_box *boxes;
	bool *is_placed;
	float *room;			/* for nms */
	size_t num_good;
	struct nn_candidate *candidates;
	struct nn_candidate *ranked;	/* best classes of an anchor, best first */
	float *out_scores;
	float *out_boxes;
	int32_t *out_classes;
	uint32_t count;
};

static enum nn_status infer(struct nn_run *r)
{
	const struct nn_tensor *scores = &r->inputs[SCORES];
	enum nn_status status = check_values(r);
	uint64_t capacity;

	if (status)
		return status;
	capacity = (uint64_t)nn_run_int(r, MAX_DETECTIONS, 0);
	if (!nn_run_bool(r, REGULAR, false))
		capacity *= (uint64_t)nn_run_int(r, CLASSES_PER_DETECTION, 0);
	if (capacity > UINT32_MAX)
		return nn_run_fail(r, "the outputs are too large");
	for (uint32_t i = OUT_SCORES; i <= OUT_CLASSES; i++) {
		r->outputs[i].rank = i == OUT_BOXES ? 3 : 2;
		r->outputs[i].dims[0] = scores->dims[0];
		r->outputs[i].dims[1] = (uint32_t)capacity;
	}
	r->outputs[OUT_BOXES].dims[2] = 4;
	r->outputs[OUT_COUNTS].rank = 1;
	r->outputs[OUT_COUNTS].dims[0] = scores->dims[0];
	return NN_OK;
}

/* Returns the maximum of an array of scores; ignores NaN. */
static float best_of(const float *scores, size_t count)
{
	nn_dot_four a = { -INFINITY, -INFINITY, -INFINITY, -INFINITY }, b = a;
	float best = -INFINITY;
	size_t i = 0;

	for (; i + 8 <= count; i += 8) {
		a = nn_dot_largest(nn_dot_load(scores + i), a);
		b = nn_dot_largest(nn_dot_load(scores + i + 4), b);
	}
	a = nn_dot_largest(a, b);
	for (size_t k = 0; k < 4; k++)
		best = a[k] > best ? a[k] : best;
	for (; i < count; i++)
		best = scores[i] > best ? scores[i] : best;
	return best;
}

static struct nn_box decode(const struct job *j, const float *delta, const float *anchor)
{
	float y = anchor[Y] + delta[Y] / j->scales[Y] * anchor[H];
	float x = anchor[X] + delta[X] / j->scales[X] * anchor[W];
	float h = expf(delta[H] / j->scales[H]) * anchor[H] / 2;
	float w = expf(delta[W] / j->scales[W]) * anchor[W] / 2;

	return (struct nn_box){ x - w, y - h, x + w, y + h };
}

/* Computes the box of an anchor, unless the box was computed before. */
static bool place(const void *context, struct nn_box *boxes, uint32_t anchor)
{
	const struct job *j = context;

	if (j->is_placed[anchor])
		return true;
	j->is_placed[anchor] = true;
	boxes[anchor] = decode(j, j->deltas + anchor * j->delta_size,
			       j->anchor_boxes + (size_t)4 * anchor);
	return true;
}

/* Finds the anchors of the image whose best score is above the threshold. */
static void find_good(struct job *j)
{
	j->num_good = 0;
	for (size_t i = 0; i < j->anchors; i++) {
		j->best[i] = best_of(j->scores + i * j->classes + 1, j->classes - 1);
		j->good[j->num_good] = (uint32_t)i;
		j->num_good += j->best[i] > j->threshold;
	}
}

/* Appends a detection to the image's outputs. */
static void emit(struct job *j, float score, uint32_t anchor, uint32_t class)
{
	const struct nn_box *box = &j->boxes[anchor];
	float *out = j->out_boxes + (size_t)4 * j->count;

	out[0] = box->y1;
	out[1] = box->x1;
	out[2] = box->y2;
	out[3] = box->x2;
	j->out_scores[j->count] = score;
	j->out_classes[j->count] = (int32_t)(class - 1 + j->first_label);
	j->count++;
}

/* Removes from the list `good` all anchors whose best score is not above the threshold. */
static void drop_worse(struct job *j, float threshold)
{
	size_t left = 0;

	for (size_t i = 0; i < j->num_good; i++) {
		j->good[left] = j->good[i];
		left += j->best[j->good[i]] > threshold;
	}
	j->num_good = left;
}

/*
 * Selects boxes of a class by nn_nms(), among the anchors whose scores are above the threshold.
 * Returns the number of selected boxes.
 */
static size_t detect_class(struct job *j, uint32_t class, float threshold,
			   struct nn_candidate *list)
{
	size_t count = 0;

	for (size_t i = 0; i < j->num_good; i++) {
		uint32_t anchor = j->good[i];
		float score = j->scores[(size_t)anchor * j->classes + class];

		list[count] = (struct nn_candidate){ score, anchor };
		count += score > threshold;
	}
	count = nn_nms(&j->nms, j->boxes, list, count, j->room);
	for (size_t i = 0; i < count; i++)
		list[i].box += class * j->anchors;
	return count;
}

/*
 * Detects boxes separately for each class. The number of a detection is class * anchors + anchor.
 * After `capacity` detections were found, only scores above the lowest of the `capacity` best
 * scores count: detections with lower scores can neither be in the outputs nor suppress others.
 */
static void detect_regular(struct job *j)
{
	float threshold = j->threshold;
	size_t found = 0;

	for (uint32_t class = 1; class < j->classes; class++) {
		found += detect_class(j, class, threshold, j->candidates + found);
		if (found < j->capacity)
			continue;
		found = nn_candidates_best(j->candidates, found, j->capacity);
		threshold = j->candidates[found - 1].score;
		drop_worse(j, threshold);
	}
	found = nn_candidates_best(j->candidates, found, j->capacity);
	for (size_t i = 0; i < found; i++) {
		const struct nn_candidate *d = &j->candidates[i];

		emit(j, d->score, d->box % j->anchors, d->box / j->anchors);
	}
}

/* Writes the `most` classes with the best scores of an anchor to `ranked`, best first. */
static void rank_classes(struct job *j, uint32_t anchor, size_t most)
{
	for (uint32_t class = 1; class < j->classes; class++) {
		float score = j->scores[(size_t)anchor * j->classes + class];

		j->ranked[class - 1] = (struct nn_candidate){ isnan(score) ? -INFINITY : score,
							      class };
	}
	nn_candidates_best(j->ranked, j->classes - 1, most);
}

/*
 * Detects boxes of all classes together. Selects anchors by the score of their best class, and
 * writes the best classes of each selected anchor.
 */
static void detect_fast(struct job *j, uint32_t most)
{
	uint32_t classes = most < j->classes - 1 ? most : j->classes - 1;
	size_t count;

	for (size_t i = 0; i < j->num_good; i++)
		j->candidates[i] = (struct nn_candidate){ j->best[j->good[i]], j->good[i] };
	count = nn_nms(&j->nms, j->boxes, j->candidates, j->num_good, j->room);
	for (size_t i = 0; i < count; i++) {
		rank_classes(j, j->candidates[i].box, classes);
		for (uint32_t k = 0; k < classes; k++)
			emit(j, j->ranked[k].score, j->candidates[i].box, j->ranked[k].box);
	}
}

static void read_job(const struct nn_run *r, struct job *j)
{
	uint32_t limit;
	int32_t most;

	*j = (struct job){
		.anchors = r->inputs[SCORES].dims[1],
		.classes = r->inputs[SCORES].dims[2],
		.capacity = r->outputs[OUT_SCORES].dims[1],
		.regular = nn_run_bool(r, REGULAR, false),
		.first_label = nn_run_bool(r, BACKGROUND_IN_LABEL, false),
		.threshold = nn_run_float(r, SCORE_THRESHOLD, 0),
		.delta_size = r->inputs[DELTAS].dims[2],
		.anchor_boxes = r->inputs[ANCHORS].data,
	};
	for (uint32_t i = 0; i < 4; i++)
		j->scales[i] = nn_run_float(r, SCALE_Y + i, 1);
	limit = j->regular ? DETECTIONS_PER_CLASS : MAX_DETECTIONS;
	most = nn_run_int(r, limit, 0);
	j->nms = (struct nn_nms){
		.kernel = NN_NMS_DISCARD,
		.threshold = nn_run_float(r, IOU_THRESHOLD, 0),
		.floor = -INFINITY,
		.limit = (uint32_t)most < j->capacity ? most : (int32_t)j->capacity,
		.place = place,
		.context = j,
	};
}

static enum nn_status execute(struct nn_run *r)
{
	const float *scores = r->inputs[SCORES].data, *deltas = r->inputs[DELTAS].data;
	uint32_t most = (uint32_t)nn_run_int(r, CLASSES_PER_DETECTION, 0);
	struct job j;
	size_t all, most_candidates;

	read_job(r, &j);
	all = (size_t)j.anchors * j.classes;
	most_candidates = (size_t)j.capacity + j.anchors;
	most_candidates = most_candidates < all ? most_candidates : all;
	j.good = nn_run_room(r, j.anchors, sizeof(*j.good));
	j.best = nn_run_room(r, j.anchors, sizeof(*j.best));
	j.boxes = nn_run_room(r, j.anchors, sizeof(*j.boxes));
	j.is_placed = nn_run_room(r, j.anchors, sizeof(*j.is_placed));
	j.candidates = nn_run_room(r, most_candidates, sizeof(*j.candidates));
	j.ranked = nn_run_room(r, j.classes, sizeof(*j.ranked));
	j.room = nn_run_room(r, nn_nms_room(&j.nms, j.anchors), sizeof(*j.room));
	if (!j.good || !j.best || !j.boxes || !j.is_placed || !j.candidates || !j.ranked ||
	    !j.room)
		return NN_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < r->num_outputs; i++)
		memset(r->outputs[i].data, 0, nn_tensor_size(&r->outputs[i]));
	for (uint32_t n = 0; n < r->inputs[SCORES].dims[0]; n++) {
		size_t at = (size_t)n * j.capacity;

		j.scores = scores + n * all;
		j.out_scores = (float *)r->outputs[OUT_SCORES].data + at;
		j.out_boxes = (float *)r->outputs[OUT_BOXES].data + 4 * at;
		j.out_classes = (int32_t *)r->outputs[OUT_CLASSES].data + at;
		j.count = 0;
		j.deltas = deltas + (size_t)n * j.anchors * j.delta_size;
		memset(j.is_placed, 0, j.anchors * sizeof(*j.is_placed));
		find_good(&j);
		if (j.regular)
			detect_regular(&j);
		else
			detect_fast(&j, most);
		((int32_t *)r->outputs[OUT_COUNTS].data)[n] = (int32_t)j.count;
	}
	return NN_OK;
}

NN_OPERATION(DETECTION_POSTPROCESSING,
	NN_INPUTS(14, { NN_FLOATS, 3, 3 }, { NN_SAME, 3, 3 }, { NN_SAME, 2, 2 }, NN_SCALAR_FLOAT,
		  NN_SCALAR_FLOAT, NN_SCALAR_FLOAT, NN_SCALAR_FLOAT, NN_SCALAR_BOOL, NN_SCALAR_INT,
		  NN_SCALAR_INT, NN_SCALAR_INT, NN_SCALAR_FLOAT, NN_SCALAR_FLOAT, NN_SCALAR_BOOL),
	NN_OUTPUTS({ NN_SAME, 2, 2 }, { NN_SAME, 3, 3 }, { NN_T(NN_TENSOR_INT32), 2, 2 },
		  { NN_T(NN_TENSOR_INT32), 1, 1 }),
	.dims = "na* na* a4", .float16_as_float32 = true,
	.infer = infer, .execute = execute);
