/* SPDX-License-Identifier: MIT */
/*
 * GENERATE_PROPOSALS: places anchors at each pixel of an image, refines the anchors by deltas, and
 * selects the best boxes that do not overlap much.
 */
#include <math.h>
#include <string.h>

#include "ops/box.h"
#include "ops/check.h"
#include "ops/floats.h"
#include "ops/image.h"
#include "ops/nms.h"

enum { SCORES, DELTAS, ANCHORS, IMAGE_INFO, HEIGHT_STRIDE, WIDTH_STRIDE, PRE_NMS, POST_NMS,
       IOU_THRESHOLD, MIN_SIZE, NCHW };
enum { OUT_SCORES, OUT_BOXES, OUT_BATCH };

/* The operation's result: infer() computes the result, and execute() copies it to the outputs. */
struct result {
	size_t count;
	float *scores;
	struct nn_box *boxes;
	int32_t *batch;
};

/* The operation's inputs, converted to float and NHWC, and memory for the proposals of an image. */
struct job {
	struct nn_image shape;		/* shape of the scores; shape.c is the number of anchors */
	const float *scores;
	const float *deltas;
	const struct nn_box *anchors;
	const float *info;
	float width_stride;
	float height_stride;
	float min_size;
	struct nn_nms nms;
	struct nn_box *boxes;
	struct nn_candidate *candidates;
	float *room;			/* for nms */
	uint32_t n;			/* the image */
};

static enum nn_status check_shapes(const struct nn_run *r, struct nn_image *shape)
{
	bool nchw = nn_run_bool(r, NCHW, false);
	struct nn_image d;

	*shape = nn_image_of(&r->inputs[SCORES], nchw);
	d = nn_image_of(&r->inputs[DELTAS], nchw);
	if (d.h != shape->h || d.w != shape->w || d.c != (uint64_t)4 * shape->c)
		return nn_run_fail(r, "input 1: must have 4 values for each of input 0");
	if (r->inputs[ANCHORS].dims[0] != shape->c)
		return nn_run_fail(r, "input 2: must be %u by 4", shape->c);
	return nn_box_check_scale(r, IMAGE_INFO);
}

/* Returns the real values of input `index`, an image, in the layout NHWC. */
static const float *read_nhwc(struct nn_run *r, uint32_t index)
{
	struct nn_tensor t = r->inputs[index];

	t.data = (void *)nn_image_input(r, &t, nn_run_bool(r, NCHW, false));
	return t.data ? nn_floats_view(r, &t) : NULL;
}

static bool place(const void *context, struct nn_box *boxes, uint32_t i);

static void read_nms(const struct nn_run *r, struct job *j)
{
	int32_t before = nn_run_int(r, PRE_NMS, 0), after = nn_run_int(r, POST_NMS, 0);

	j->width_stride = nn_run_float(r, WIDTH_STRIDE, 0);
	j->height_stride = nn_run_float(r, HEIGHT_STRIDE, 0);
	j->min_size = nn_run_float(r, MIN_SIZE, 0);
	j->nms = (struct nn_nms){
		.kernel = NN_NMS_DISCARD,
		.threshold = nn_run_float(r, IOU_THRESHOLD, 0),
		.floor = -INFINITY,
		.limit = after > 0 ? after : -1,
		.most = before > 0 ? (size_t)before : 0,
		.place = place,
		.context = j,
	};
}

static enum nn_status read_job(struct nn_run *r, struct job *j)
{
	enum nn_status status = check_shapes(r, &j->shape);
	size_t count;

	if (status)
		return status;
	count = (size_t)j->shape.h * j->shape.w * j->shape.c;
	j->scores = read_nhwc(r, SCORES);
	j->deltas = read_nhwc(r, DELTAS);
	j->anchors = (void *)nn_floats_read(r, &r->inputs[ANCHORS]);
	j->info = nn_floats_read(r, &r->inputs[IMAGE_INFO]);
	read_nms(r, j);
	j->boxes = nn_run_room(r, count, sizeof(*j->boxes));
	j->candidates = nn_run_room(r, count, sizeof(*j->candidates));
	j->room = nn_run_room(r, nn_nms_room(&j->nms, count), sizeof(*j->room));
	if (!j->scores || !j->deltas || !j->anchors || !j->info || !j->boxes ||
	    !j->candidates || !j->room)
		return NN_OUT_OF_MEMORY;
	return NN_OK;
}

static bool is_large_inside(const struct nn_box *b, float least, const float *info)
{
	return b->x2 - b->x1 > least && b->y2 - b->y1 > least &&
	       (b->x1 + b->x2) / 2 < info[1] && (b->y1 + b->y2) / 2 < info[0];
}

/* Computes box `i` of an image: places an anchor at a pixel and moves the anchor by a delta. */
static bool place(const void *context, struct nn_box *boxes, uint32_t i)
{
	const struct job *j = context;
	uint32_t pixel = i / j->shape.c;
	float x = (float)(pixel % j->shape.w) * j->width_stride;
	float y = (float)(pixel / j->shape.w) * j->height_stride;
	const struct nn_box *anchor = &j->anchors[i % j->shape.c];
	const float *info = j->info + 2 * (size_t)j->n;
	size_t count = (size_t)j->shape.h * j->shape.w * j->shape.c;
	struct nn_box box = { anchor->x1 + x, anchor->y1 + y, anchor->x2 + x, anchor->y2 + y };

	boxes[i] = nn_box_moved(&box, j->deltas + 4 * (j->n * count + i), info[0], info[1]);
	return is_large_inside(&boxes[i], j->min_size, info);
}

/* Writes the proposals of an image to `candidates` and `boxes`; returns the number of proposals. */
static size_t propose(const struct job *j)
{
	size_t all = (size_t)j->shape.h * j->shape.w * j->shape.c;
	const float *scores = j->scores + j->n * all;

	for (size_t i = 0; i < all; i++) {
		float score = scores[i];

		j->candidates[i] = (struct nn_candidate){ isnan(score) ? -INFINITY : score,
							  (uint32_t)i };
	}
	return nn_nms(&j->nms, j->boxes, j->candidates, all, j->room);
}

static void set_outputs(struct nn_run *r, size_t count)
{
	struct nn_tensor *scores = &r->outputs[OUT_SCORES], *boxes = &r->outputs[OUT_BOXES];

	scores->scale = r->inputs[SCORES].scale;
	scores->zero_point = r->inputs[SCORES].zero_point;
	nn_box_quantise(boxes);
	scores->rank = r->outputs[OUT_BATCH].rank = 1;
	boxes->rank = 2;
	scores->dims[0] = boxes->dims[0] = r->outputs[OUT_BATCH].dims[0] = (uint32_t)count;
	boxes->dims[1] = 4;
}

static enum nn_status infer(struct nn_run *r)
{
	struct job j = { 0 };
	enum nn_status status = read_job(r, &j);
	struct result *v = nn_run_alloc(r, 1, sizeof(*v));
	size_t most;

	if (status)
		return status;
	most = (size_t)j.shape.h * j.shape.w * j.shape.c;
	if (j.nms.limit >= 0 && (size_t)j.nms.limit < most)
		most = (size_t)j.nms.limit;
	if (v) {
		v->scores = nn_run_room(r, most, j.shape.n * sizeof(*v->scores));
		v->boxes = nn_run_room(r, most, j.shape.n * sizeof(*v->boxes));
		v->batch = nn_run_room(r, most, j.shape.n * sizeof(*v->batch));
	}
	if (!v || !v->scores || !v->boxes || !v->batch)
		return NN_OUT_OF_MEMORY;
	for (j.n = 0; j.n < j.shape.n; j.n++) {
		size_t count = propose(&j);

		for (size_t i = 0; i < count; i++, v->count++) {
			v->scores[v->count] = j.candidates[i].score;
			v->boxes[v->count] = j.boxes[j.candidates[i].box];
			v->batch[v->count] = (int32_t)j.n;
		}
	}
	nn_run_set_result(r, v);
	set_outputs(r, v->count);
	return NN_OK;
}

static enum nn_status execute(struct nn_run *r)
{
	const struct result *v = nn_run_result(r);

	nn_floats_write(&r->outputs[OUT_SCORES], v->scores);
	nn_floats_write(&r->outputs[OUT_BOXES], (const float *)v->boxes);
	memcpy(r->outputs[OUT_BATCH].data, v->batch, v->count * sizeof(*v->batch));
	return NN_OK;
}

NN_OPERATION(GENERATE_PROPOSALS,
	/*
	 * The anchors have a signed type, because an anchor's coordinates are relative to a pixel.
	 */
	NN_INPUTS(11, { NN_FLOATS | NN_QUANT8, 4, 4 }, { NN_SAME, 4, 4 }, { NN_ANCHOR_OF, 2, 2 },
		  { NN_BOX_OF, 2, 2 }, NN_SCALAR_FLOAT, NN_SCALAR_FLOAT, NN_SCALAR_INT, NN_SCALAR_INT,
		  NN_SCALAR_FLOAT, NN_SCALAR_FLOAT, NN_SCALAR_BOOL),
	NN_OUTPUTS({ NN_SAME, 1, 1 }, { NN_BOX_OF, 2, 2 }, { NN_T(NN_TENSOR_INT32), 1, 1 }),
	.dims = "n*** n*** *4 n2", .float16_as_float32 = true,
	.infer = infer, .execute = execute);
