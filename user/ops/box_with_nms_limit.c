/* SPDX-License-Identifier: MIT */
/*
 * BOX_WITH_NMS_LIMIT: selects the best boxes of each class that do not overlap much, and keeps the
 * best selected boxes of each image.
 */
#include <math.h>
#include <string.h>

#include "ops/box.h"
#include "ops/check.h"
#include "ops/floats.h"
#include "ops/nms.h"

enum { SCORES, BOXES, BATCH, SCORE_THRESHOLD, MAX_DETECTIONS, KERNEL, IOU_THRESHOLD, SIGMA,
       NMS_SCORE_THRESHOLD };
enum { OUT_SCORES, OUT_BOXES, OUT_CLASSES, OUT_BATCH };

/* The operation's result: infer() computes the result, and execute() copies it to the outputs. */
struct result {
	uint32_t classes;
	size_t count;
	/* boxes of all regions and classes: boxes[region * classes + class] */
	struct nn_box *boxes;
	struct nn_candidate *detections;	/* selected detections */
};

static enum nn_status check_shapes(const struct nn_run *r)
{
	const uint32_t classes = r->inputs[SCORES].dims[1];

	if (classes < 2)
		return nn_run_fail(r, "input 0: %u classes, must be at least 2", classes);
	if (r->inputs[BOXES].dims[1] != (uint64_t)4 * classes)
		return nn_run_fail(r, "input 1: must have 4 values for each of input 0");
	return nn_box_check_scale(r, BOXES);
}

static enum nn_status read_nms(const struct nn_run *r, struct nn_nms *nms)
{
	int32_t kernel = nn_run_int(r, KERNEL, 0);

	if (kernel < NN_NMS_HARD || kernel > NN_NMS_GAUSSIAN)
		return nn_run_fail(r, "input 5: NMS kernel %d does not exist", kernel);
	*nms = (struct nn_nms){
		.kernel = (enum nn_nms_kernel)kernel,
		.threshold = nn_run_float(r, IOU_THRESHOLD, 0),
		.sigma = nn_run_float(r, SIGMA, 0),
		.floor = nn_run_float(r, NMS_SCORE_THRESHOLD, 0),
		.limit = nn_run_int(r, MAX_DETECTIONS, 0),
	};
	if (kernel == NN_NMS_GAUSSIAN && !(nms->sigma > 0))
		return nn_run_fail(r, "input 7: sigma is %g, must be positive", nms->sigma);
	return NN_OK;
}

/*
 * Selects the detections of a class in the regions [first, last). Boxes with scores below `least`
 * are ignored. Returns the number of selected detections.
 */
static size_t select_class(const struct nn_run *r, const struct nn_nms *nms,
			   const struct result *v, const float *scores, uint32_t class,
			   uint32_t first, uint32_t last, float least,
			   struct nn_candidate *to, float *room)
{
	float threshold = nn_run_float(r, SCORE_THRESHOLD, 0);
	size_t count = 0;

	for (uint32_t i = first; i < last; i++) {
		uint32_t box = i * v->classes + class;
		float score = scores[box];

		if (score > threshold && !(score < least))
			to[count++] = (struct nn_candidate){ score, box };
	}
	return nn_nms(nms, v->boxes, to, count, room);
}

/*
 * Removes all except the best `limit` elements from a list, and keeps the order of these elements.
 * The array `best` is a buffer that is large enough for a copy of the list. The array `is_best` has
 * a flag for each box; all flags are false before and after cut().
 */
static size_t cut(struct nn_candidate *list, size_t count, size_t limit,
		  struct nn_candidate *best, bool *is_best)
{
	size_t kept = 0;

	if (count <= limit)
		return count;
	memcpy(best, list, count * sizeof(*list));
	nn_candidates_best(best, count, limit);
	for (size_t i = 0; i < limit; i++)
		is_best[best[i].box] = true;
	for (size_t i = 0; i < count; i++)
		if (is_best[list[i].box]) {
			is_best[list[i].box] = false;
			list[kept++] = list[i];
		}
	return kept;
}

static float least_score(const struct nn_candidate *list, size_t count)
{
	float least = INFINITY;

	for (size_t i = 0; i < count; i++)
		least = nn_least(list[i].score, least);
	return least;
}

static enum nn_status detect(struct nn_run *r, const struct nn_nms *nms, struct result *v)
{
	const int32_t *batch = r->inputs[BATCH].data;
	const float *scores = nn_floats_view(r, &r->inputs[SCORES]);
	uint32_t regions = r->inputs[SCORES].dims[0];
	size_t all = (size_t)regions * v->classes;
	size_t limit = nms->limit < 0 ? all : (size_t)nms->limit;
	struct nn_candidate *best = nn_run_room(r, all, sizeof(*best));
	float *room = nn_run_room(r, nn_nms_room(nms, regions), sizeof(*room));
	bool *is_best = nn_run_alloc(r, all, sizeof(*is_best)), only_falls;

	v->boxes = (void *)nn_floats_read(r, &r->inputs[BOXES]);
	v->detections = nn_run_room(r, all, sizeof(*v->detections));
	if (!scores || !best || !is_best || !room || !v->boxes || !v->detections)
		return NN_OUT_OF_MEMORY;
	for (size_t i = 0; i < all; i++)
		if (!nn_box_is_valid(&v->boxes[i]))
			return nn_run_fail(r, "input 1: box %zu has its corners out of order", i);
	/*
	 * If only_falls is true, suppression cannot raise a score, because suppression sets scores
	 * to 0 and no score is negative. A box can then be ignored if at least `limit` detections
	 * have a higher score than the box.
	 */
	only_falls = nms->kernel == NN_NMS_HARD && nn_run_float(r, SCORE_THRESHOLD, 0) >= 0;
	for (uint32_t first = 0, last; first < regions; first = last) {
		struct nn_candidate *list = v->detections + v->count;
		float least = -INFINITY;
		size_t count = 0;

		for (last = first; last < regions && batch[last] == batch[first];)
			last++;
		for (uint32_t class = 1; class < v->classes; class++) {
			count += select_class(r, nms, v, scores, class, first, last, least,
					      list + count, room);
			if (!only_falls || count < 2 * limit || count <= limit)
				continue;
			count = cut(list, count, limit, best, is_best);
			least = least_score(list, count);
		}
		v->count += cut(list, count, limit, best, is_best);
	}
	return NN_OK;
}

static void set_shape(struct nn_tensor *t, size_t count, uint32_t width)
{
	t->rank = width ? 2 : 1;
	t->dims[0] = (uint32_t)count;
	t->dims[1] = width;
}

static enum nn_status infer(struct nn_run *r)
{
	struct result *v = nn_run_alloc(r, 1, sizeof(*v));
	enum nn_status status = check_shapes(r);
	struct nn_nms nms;

	status = status ? status : read_nms(r, &nms);
	if (status)
		return status;
	if (!v)
		return NN_OUT_OF_MEMORY;
	v->classes = r->inputs[SCORES].dims[1];
	status = detect(r, &nms, v);
	if (status)
		return status;
	nn_run_set_result(r, v);
	r->outputs[OUT_SCORES].scale = r->inputs[SCORES].scale;
	r->outputs[OUT_SCORES].zero_point = r->inputs[SCORES].zero_point;
	nn_box_quantise(&r->outputs[OUT_BOXES]);
	set_shape(&r->outputs[OUT_SCORES], v->count, 0);
	set_shape(&r->outputs[OUT_BOXES], v->count, 4);
	set_shape(&r->outputs[OUT_CLASSES], v->count, 0);
	set_shape(&r->outputs[OUT_BATCH], v->count, 0);
	return NN_OK;
}

static enum nn_status execute(struct nn_run *r)
{
	const struct result *v = nn_run_result(r);
	const int32_t *batch = r->inputs[BATCH].data;
	int32_t *out_class = r->outputs[OUT_CLASSES].data, *out_batch = r->outputs[OUT_BATCH].data;
	float *scores = nn_run_alloc(r, v->count, sizeof(*scores));
	struct nn_box *boxes = nn_run_alloc(r, v->count, sizeof(*boxes));

	if (!scores || !boxes)
		return NN_OUT_OF_MEMORY;
	for (size_t i = 0; i < v->count; i++) {
		const struct nn_candidate *d = &v->detections[i];

		scores[i] = d->score;
		boxes[i] = v->boxes[d->box];
		out_class[i] = (int32_t)(d->box % v->classes);
		out_batch[i] = batch[d->box / v->classes];
	}
	nn_floats_write(&r->outputs[OUT_SCORES], scores);
	nn_floats_write(&r->outputs[OUT_BOXES], (const float *)boxes);
	return NN_OK;
}

NN_OPERATION(BOX_WITH_NMS_LIMIT,
	NN_INPUTS(9, { NN_FLOATS | NN_QUANT8, 2, 2 }, { NN_BOX_OF, 2, 2 },
		  { NN_T(NN_TENSOR_INT32), 1, 1 }, NN_SCALAR_FLOAT, NN_SCALAR_INT, NN_SCALAR_INT,
		  NN_SCALAR_FLOAT, NN_SCALAR_FLOAT, NN_SCALAR_FLOAT),
	NN_OUTPUTS({ NN_SAME, 1, 1 }, { NN_BOX_OF, 2, 2 }, { NN_T(NN_TENSOR_INT32), 1, 1 },
		  { NN_T(NN_TENSOR_INT32), 1, 1 }),
	.dims = "r* r* r",
	.zero_sized = NN_ZERO_ALLOWED, .determining = NN_IN(BATCH), .float16_as_float32 = true,
	.infer = infer, .execute = execute);
