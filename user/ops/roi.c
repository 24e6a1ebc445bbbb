/* SPDX-License-Identifier: MIT */
/* ROI_ALIGN and ROI_POOLING: resample regions of images to the same size. */
#include <math.h>
#include <string.h>

#include "ops/box.h"
#include "ops/check.h"
#include "ops/floats.h"
#include "ops/image.h"
#include "ops/q8.h"
#include "ops/quant.h"

enum { X, ROIS, BATCH, HEIGHT, WIDTH, HEIGHT_STRIDE, WIDTH_STRIDE, HEIGHT_SAMPLES, WIDTH_SAMPLES };

/*
 * Returns the index of the NCHW flag; ROI_ALIGN has two more inputs before this flag than
 * ROI_POOLING.
 */
static uint32_t nchw_input(const struct nn_run *r)
{
	return r->num_inputs - 1;
}

/*
 * Maximum number of samples of a cell. The sum of MAX_SAMPLES 8-bit values, with weights of up to
 * 255, fits in 32 bits.
 */
#define MAX_SAMPLES 32768

/* A region of an image; its coordinates are in pixels of the image. */
struct region {
	uint32_t n;
	float x1;
	float y1;
	float x2;
	float y2;
};

struct roi {
	bool nchw;
	struct nn_image in;
	struct nn_image out;
	float height_scale;
	float width_scale;
	/*
	 * Number of samples in each direction of a cell, for ROI_ALIGN; 0: as many as the cell has
	 * pixels.
	 */
	uint32_t height_samples;
	uint32_t width_samples;
	const float *boxes;
	const int32_t *batches;
	size_t element;			/* bytes */
	const void *data;		/* pixels of the images in NHWC; set by run_regions() */
};

static enum nn_status read_at_least(const struct nn_run *r, uint32_t index, int32_t least,
				    uint32_t *value)
{
	int32_t v = nn_run_int(r, index, 0);

	if (v < least)
		return nn_run_fail(r, "input %u: %d, must be at least %d", index, v, least);
	*value = (uint32_t)v;
	return NN_OK;
}

static enum nn_status read_scale(const struct nn_run *r, uint32_t index, float *scale)
{
	float stride = nn_run_float(r, index, 0);

	if (!(stride > 0))
		return nn_run_fail(r, "input %u: the stride %g must be positive", index, stride);
	*scale = 1 / stride;
	return NN_OK;
}

static enum nn_status prepare(struct nn_run *r, struct roi *v)
{
	enum nn_status status = nn_box_check_scale(r, ROIS);

	if (!nn_tensor_count(&r->inputs[X]))
		return nn_run_fail(r, "input 0: a dimension is 0");
	*v = (struct roi){
		.nchw = nn_run_bool(r, nchw_input(r), false),
		.batches = r->inputs[BATCH].data,
		.element = nn_type_info_of(r->inputs[X].type)->element_size,
	};
	if (status)
		return status;
	v->boxes = nn_floats_read(r, &r->inputs[ROIS]);
	if (!v->boxes)
		return NN_OUT_OF_MEMORY;
	v->in = nn_image_of(&r->inputs[X], v->nchw);
	v->out.n = r->inputs[ROIS].dims[0];
	v->out.c = v->in.c;
	status = read_at_least(r, HEIGHT, 1, &v->out.h);
	status = status ? status : read_at_least(r, WIDTH, 1, &v->out.w);
	status = status ? status : read_scale(r, HEIGHT_STRIDE, &v->height_scale);
	status = status ? status : read_scale(r, WIDTH_STRIDE, &v->width_scale);
	if (nchw_input(r) == HEIGHT_SAMPLES)
		return status;
	status = status ? status : read_at_least(r, HEIGHT_SAMPLES, 0, &v->height_samples);
	status = status ? status : read_at_least(r, WIDTH_SAMPLES, 0, &v->width_samples);
	if (!status && (v->height_samples > MAX_SAMPLES || v->width_samples > MAX_SAMPLES ||
			v->height_samples * v->width_samples > MAX_SAMPLES))
		return nn_run_fail(r, "inputs %u and %u: %u x %u samples of a cell, at most %u",
				   HEIGHT_SAMPLES, WIDTH_SAMPLES, v->height_samples,
				   v->width_samples, MAX_SAMPLES);
	return status;
}

/*
 * Reads region `i`, and scales its coordinates to pixels of its image. Returns false if the region
 * is not valid or lies outside the image.
 */
static bool read_region(const struct roi *v, uint32_t i, struct region *g)
{
	const float *box = v->boxes + (size_t)4 * i;

	g->n = (uint32_t)v->batches[i];
	g->x1 = box[0] * v->width_scale;
	g->y1 = box[1] * v->height_scale;
	g->x2 = box[2] * v->width_scale;
	g->y2 = box[3] * v->height_scale;
	return g->n < v->in.n &&
	       g->x1 >= 0 && g->x1 <= g->x2 && g->x2 <= (float)v->in.w &&
	       g->y1 >= 0 && g->y1 <= g->y2 && g->y2 <= (float)v->in.h;
}

static enum nn_status infer_align(struct nn_run *r)
{
	struct roi v;
	struct region g;
	enum nn_status status = prepare(r, &v);

	if (status)
		return status;
	for (uint32_t i = 0; i < v.out.n; i++)
		if (!read_region(&v, i, &g))
			return nn_run_fail(r, "region %u is not inside an image of the batch", i);
	nn_image_set(&r->outputs[0], v.nchw, &v.out);
	return NN_OK;
}

static enum nn_status infer_pooling(struct nn_run *r)
{
	r->outputs[0].scale = r->inputs[X].scale;
	r->outputs[0].zero_point = r->inputs[X].zero_point;
	return infer_align(r);
}

typedef enum nn_status region_fn(const struct nn_run *r, const struct roi *v, const void *job,
				 const struct region *g, uint8_t *out);

/* Computes the outputs of all regions by calls of `fn`. */
static enum nn_status run_regions(struct nn_run *r, struct roi *v, region_fn *fn, const void *job)
{
	const size_t region = (size_t)v->out.h * v->out.w * v->out.c * v->element;
	uint8_t *out = nn_image_output(r, &r->outputs[0], v->nchw);
	enum nn_status status = NN_OK;
	struct region g;

	v->data = nn_image_input(r, &r->inputs[X], v->nchw);
	if (!v->data || !out)
		return NN_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < v->out.n && !status; i++) {
		read_region(v, i, &g);
		status = fn(r, v, job, &g, out + i * region);
	}
	nn_image_finish(&r->outputs[0], v->nchw, out);
	return status;
}

/* ROI_ALIGN: computes the average of evenly spaced samples in each cell of a region */

/* The cells along one axis of a region. */
struct line {
	float start;
	float step;
	uint32_t samples;
	uint32_t in;
};

static struct line line_of(float from, float to, uint32_t out, uint32_t samples, uint32_t in)
{
	float step = fmaxf(to - from, 1) / (float)out;

	return (struct line){ from, step, samples ? samples : (uint32_t)ceilf(step), in };
}

static struct nn_source sample_of(const struct line *l, uint32_t cell, uint32_t sample)
{
	float at = l->start + l->step * (float)cell +
		   l->step / (float)l->samples * ((float)sample + 0.5f);
	uint32_t low;

	if (!(at < (float)(l->in - 1)))
		return (struct nn_source){ l->in - 1, l->in - 1, 0 };
	low = (uint32_t)at;
	return (struct nn_source){ low, low + 1, at - (float)low };
}

struct align {
	uint32_t *acc;			/* sums of quantised samples, one for each channel */
	struct nn_q8 in_q8;
	struct nn_q8 out_q8;
	double scale;	/* scale of a sum in `acc` */
};

/*
 * Adds a sample, interpolated from four pixels, to `acc`. The float computation is exact, because
 * the sum of four products has only 18 bits.
 */
static void add_q8(const struct nn_corners *k, const uint8_t *in, uint32_t *restrict acc,
		   size_t channels, struct nn_q8 q)
{
	const uint8_t *const x[] = { in + k->at[0], in + k->at[1], in + k->at[2], in + k->at[3] };
	float w[4], zero = 0;

	for (int i = 0; i < 4; i++) {
		w[i] = roundf(k->weight[i] * 255);
		zero += w[i] * (float)q.zero;
	}
	for (size_t c = 0; c < channels; c++) {
		float sum = (float)(x[0][c] ^ q.flip) * w[0] + (float)(x[1][c] ^ q.flip) * w[1] +
			    (float)(x[2][c] ^ q.flip) * w[2] + (float)(x[3][c] ^ q.flip) * w[3];

		acc[c] += (uint32_t)(int32_t)(sum - zero);
	}
}

static void add_floats(const struct nn_corners *k, const float *in, float *restrict acc,
		       size_t channels)
{
	const float *const x[] = { in + k->at[0], in + k->at[1], in + k->at[2], in + k->at[3] };
	const float *w = k->weight;

	for (size_t c = 0; c < channels; c++)
		acc[c] = acc[c] + x[0][c] * w[0] + x[1][c] * w[1] + x[2][c] * w[2] + x[3][c] * w[3];
}

/*
 * Sets `acc` to the sum of a cell's samples for each channel. The sums are floats, or uint32_t for
 * 8-bit pixels.
 */
static void sum_cell(const struct roi *v, const struct align *a, uint32_t n,
		     const struct line *rows, const struct line *columns, uint32_t i, uint32_t j,
		     void *acc)
{
	memset(acc, 0, v->in.c * sizeof(*a->acc));
	for (uint32_t p = 0; p < rows->samples; p++) {
		struct nn_source y = sample_of(rows, i, p);

		for (uint32_t q = 0; q < columns->samples; q++) {
			struct nn_source x = sample_of(columns, j, q);
			struct nn_corners k = nn_image_corners(&v->in, n, &y, &x);

			if (v->element == 1)
				add_q8(&k, v->data, acc, v->in.c, a->in_q8);
			else
				add_floats(&k, v->data, acc, v->in.c);
		}
	}
}

static enum nn_status average_q8(const struct nn_run *r, const struct roi *v,
				 const struct align *a, float samples, uint8_t *restrict out)
{
	struct nn_multiplier m;

	if (!nn_quant_encode_below_one(a->scale / samples, &m))
		return nn_run_fail(r, "the output's scale is too small for the input's");
	for (size_t c = 0; c < v->in.c; c++)
		out[c] = nn_q8_stored(a->out_q8, nn_quant_scale((int32_t)a->acc[c], &m));
	return NN_OK;
}

static enum nn_status align_region(const struct nn_run *r, const struct roi *v, const void *job,
				   const struct region *g, uint8_t *out)
{
	const struct align *a = job;
	const struct line rows = line_of(g->y1, g->y2, v->out.h, v->height_samples, v->in.h);
	const struct line columns = line_of(g->x1, g->x2, v->out.w, v->width_samples, v->in.w);
	const float samples = (float)rows.samples * (float)columns.samples;
	enum nn_status status = NN_OK;

	if (v->element == 1 && samples > MAX_SAMPLES)
		return nn_run_fail(r, "%u x %u samples of a cell of 8-bit values, at most %u",
				   rows.samples, columns.samples, MAX_SAMPLES);
	for (uint32_t i = 0; i < v->out.h; i++)
		for (uint32_t j = 0; j < v->out.w && !status; j++, out += v->in.c * v->element) {
			if (v->element == 1) {
				sum_cell(v, a, g->n, &rows, &columns, i, j, a->acc);
				status = average_q8(r, v, a, samples, out);
			} else {
				sum_cell(v, a, g->n, &rows, &columns, i, j, out);
				for (size_t c = 0; c < v->in.c; c++)
					((float *)(void *)out)[c] /= samples;
			}
		}
	return status;
}

static enum nn_status execute_align(struct nn_run *r)
{
	const struct nn_tensor *x = &r->inputs[X], *y = &r->outputs[0];
	struct align a = {
		.in_q8 = nn_q8_of(x),
		.out_q8 = nn_q8_of(y),
		.scale = (double)x->scale / 255 / y->scale,
	};
	struct roi v;
	enum nn_status status = prepare(r, &v);

	if (status || !nn_tensor_count(y))
		return status;
	a.acc = nn_run_room(r, v.in.c, sizeof(*a.acc));
	return a.acc ? run_regions(r, &v, align_region, &a) : NN_OUT_OF_MEMORY;
}

/* ROI_POOLING: finds the maximum pixel of each cell of a region */

/* The pixels [first, last) of a cell on one axis. */
struct cell {
	uint32_t first;
	uint32_t last;
};

static uint32_t clip(float at, uint32_t in)
{
	return at <= 0 ? 0 : at >= (float)in ? in : (uint32_t)at;
}

static struct cell cell_of(float from, float to, uint32_t out, uint32_t index, uint32_t in)
{
	float start = roundf(from);
	float step = fmaxf(roundf(to) - start + 1, 1) / (float)out;

	return (struct cell){
		clip(floorf(start + step * (float)index), in),
		clip(ceilf(start + step * (float)(index + 1)), in),
	};
}

/*
 * Finds the largest value of each channel in a cell; the result is `empty` if the cell has no
 * pixels. XOR with `flip` makes int8 values comparable as uint8.
 */
#define MAX_OF(name, type, flip, empty)							\
static void name(const struct roi *v, uint32_t n, struct cell h, struct cell w, struct nn_q8 q,	\
		 type *restrict out)							\
{											\
	const type *const image = (const type *)v->data + (size_t)n * v->in.h * v->in.w * v->in.c; \
											\
	(void)q;									\
	for (size_t c = 0; c < v->in.c; c++)						\
		out[c] = h.first < h.last && w.first < w.last ?				\
			 image[((size_t)h.first * v->in.w + w.first) * v->in.c + c] : (empty); \
	for (size_t i = h.first; i < h.last; i++)					\
		for (size_t j = w.first; j < w.last; j++) {				\
			const type *x = image + (i * v->in.w + j) * v->in.c;		\
											\
			for (size_t c = 0; c < v->in.c; c++)				\
				out[c] = (x[c] flip) > (out[c] flip) ? x[c] : out[c];	\
		}									\
}

MAX_OF(max_float, float, , 0)
MAX_OF(max_q8, uint8_t, ^ q.flip, nn_q8_stored(q, 0))

static enum nn_status pool_region(const struct nn_run *r, const struct roi *v, const void *job,
				  const struct region *g, uint8_t *out)
{
	struct cell *columns = *(struct cell *const *)job;
	const struct nn_q8 q = nn_q8_of(&r->inputs[X]);

	for (uint32_t j = 0; j < v->out.w; j++)
		columns[j] = cell_of(g->x1, g->x2, v->out.w, j, v->in.w);
	for (uint32_t i = 0; i < v->out.h; i++) {
		struct cell h = cell_of(g->y1, g->y2, v->out.h, i, v->in.h);

		for (uint32_t j = 0; j < v->out.w; j++, out += v->in.c * v->element) {
			if (v->element == 1)
				max_q8(v, g->n, h, columns[j], q, out);
			else
				max_float(v, g->n, h, columns[j], q, (float *)out);
		}
	}
	return NN_OK;
}

static enum nn_status execute_pooling(struct nn_run *r)
{
	struct roi v;
	enum nn_status status = prepare(r, &v);
	/* cells of a region along its horizontal axis */
	struct cell *columns;

	if (status)
		return status;
	columns = nn_run_room(r, v.out.w, sizeof(*columns));
	return columns ? run_regions(r, &v, pool_region, &columns) : NN_OUT_OF_MEMORY;
}

/*
 * The rules of the first inputs of ROI_ALIGN and ROI_POOLING: images, regions, the index of each
 * region's image, output size, and strides.
 */
#define REGIONS { NN_FLOATS | NN_QUANT8, 4, 4 }, { NN_BOX_OF, 2, 2 }, { NN_T(NN_TENSOR_INT32), 1, 1 }, \
		NN_SCALAR_INT, NN_SCALAR_INT, NN_SCALAR_FLOAT, NN_SCALAR_FLOAT

NN_OPERATION(ROI_ALIGN,
	NN_INPUTS(10, REGIONS, NN_SCALAR_INT, NN_SCALAR_INT, NN_SCALAR_BOOL),
	NN_OUTPUTS({ NN_SAME, 4, 4 }),
	.dims = "**** r4 r", .zero_sized = NN_ZERO_ALLOWED,
	.determining = NN_IN(ROIS) | NN_IN(BATCH),
	.float16_as_float32 = true,
	.infer = infer_align, .execute = execute_align);

NN_OPERATION(ROI_POOLING,
	NN_INPUTS(8, REGIONS, NN_SCALAR_BOOL),
	NN_OUTPUTS({ NN_SAME, 4, 4 }),
	.dims = "**** r4 r", .determining = NN_IN(ROIS) | NN_IN(BATCH), .float16_as_float32 = true,
	.infer = infer_pooling, .execute = execute_pooling);
