/* SPDX-License-Identifier: MIT */
/*
 * ROI_ALIGN and ROI_POOLING: resample regions of images to one size.
 */
#include <math.h>
#include <string.h>

#include "ops/box.h"
#include "ops/check.h"
#include "ops/dot.h"
#include "ops/floats.h"
#include "ops/image.h"
#include "ops/q8.h"
#include "ops/quant.h"

enum { X, ROIS, BATCH, HEIGHT, WIDTH, HEIGHT_STRIDE, WIDTH_STRIDE, HEIGHT_SAMPLES, WIDTH_SAMPLES };

/* Returns the position of the NCHW flag: ROI_ALIGN has two more inputs. */
static uint32_t nchw_input(const struct nn_run *r)
{
	return r->num_inputs - 1;
}

/*
 * Maximum samples of a cell. A sum of that many 8-bit values times weights of 255 fits 32 bits, and
 * more samples would only take more time.
 */
#define MAX_SAMPLES 32768

/* A region in pixels of its image. */
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
	uint32_t height_samples;	/* ROI_ALIGN only; 0: as many as there are pixels */
	uint32_t width_samples;
	const float *boxes;
	const int32_t *batches;
	size_t element;			/* bytes */
	const void *data;		/* of the images, NHWC; set by run_regions() */
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

static enum nn_status check_shapes(const struct nn_run *r)
{
	const struct nn_tensor *x = &r->inputs[X], *rois = &r->inputs[ROIS];
	const struct nn_tensor *batch = &r->inputs[BATCH];

	if (x->rank != 4)
		return nn_run_fail(r, "input 0: rank %u, must be 4", x->rank);
	if (!nn_tensor_count(x))
		return nn_run_fail(r, "input 0: a dimension is 0");
	if (rois->rank != 2 || rois->dims[1] != 4)
		return nn_run_fail(r, "input 1: must have 2 dimensions, the last of size 4");
	if (batch->rank != 1 || batch->dims[0] != rois->dims[0])
		return nn_run_fail(r, "input 2: must have one dimension, of size %u",
				   rois->dims[0]);
	return nn_box_check_scale(r, ROIS);
}

static enum nn_status prepare(struct nn_run *r, struct roi *v)
{
	enum nn_status status = check_shapes(r);

	*v = (struct roi){
		.nchw = nn_run_bool(r, nchw_input(r), false),
		.batches = r->inputs[BATCH].data,
		.element = nn_type_info(r->inputs[X].type)->element_size,
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

/* Reads region `i`, scaled to its image. False: it is not valid, or outside of the image. */
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

/* Computes the outputs of all regions. */
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

/* ROI_ALIGN: the average of samples spread evenly over each cell of a region */

/* The cells of one axis of a region. */
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
	uint32_t *acc;			/* quantised, one per channel */
	struct nn_q8 in_q8;
	struct nn_q8 out_q8;
	double scale;			/* of a quantised sum, before the division by samples */
};

typedef uint8_t four_bytes __attribute__((vector_size(4)));
typedef int32_t four_sums __attribute__((vector_size(16)));

/* Floats are exact here: the sum of four products has 18 bits. */
static void add_q8(const struct nn_corners *k, const uint8_t *in, uint32_t *acc, size_t channels,
		   struct nn_q8 q)
{
	const uint8_t *const x[] = { in + k->at[0], in + k->at[1], in + k->at[2], in + k->at[3] };
	float w[4], zero = 0;
	size_t c = 0;

	for (int i = 0; i < 4; i++) {
		w[i] = roundf(k->weight[i] * 255);
		zero += w[i] * (float)q.zero;
	}
	for (; c + 4 <= channels; c += 4) {
		nn_dot_four sum = { -zero, -zero, -zero, -zero };
		four_sums before;
		four_bytes bytes;

		for (int i = 0; i < 4; i++) {
			memcpy(&bytes, x[i] + c, sizeof(bytes));
			sum += __builtin_convertvector(bytes ^ q.flip, nn_dot_four) * w[i];
		}
		memcpy(&before, acc + c, sizeof(before));
		before += __builtin_convertvector(sum, four_sums);
		memcpy(acc + c, &before, sizeof(before));
	}
	for (; c < channels; c++)
		for (int i = 0; i < 4; i++)
			acc[c] += (uint32_t)((int32_t)w[i] * nn_q8_value(q, x[i][c]));
}

/* Number of samples that are summed together. */
#define SAMPLES 16

/* Number of vectors that are summed together. */
#define WIDE 8

/* Sums of samples: their start, and the final division. */
struct sums {
	float *acc;			/* one per channel */
	bool is_first;			/* begin at 0, not at acc */
	bool is_last;			/* divide by `samples` at the end */
	bool is_factor;			/* multiply by `factor` instead, with the same result */
	float samples;
	float factor;
};

static inline nn_dot_four mean_of(const struct sums *u, nn_dot_four sum)
{
	return !u->is_last ? sum : u->is_factor ? sum * u->factor : sum / u->samples;
}

/*
 * Adds some samples to the sums of `vectors` vectors of channels; the order of a sum is that of the
 * samples.
 */
static inline __attribute__((always_inline))
void add_vectors(size_t vectors, const struct sums *u, const struct nn_corners *k, uint32_t count,
		 const float *in, size_t c)
{
	nn_dot_four sum[WIDE];
	float *acc = u->acc + c;

#pragma GCC unroll 8
	for (size_t v = 0; v < vectors; v++)
		sum[v] = u->is_first ? (nn_dot_four){ 0 } : nn_dot_load(acc + 4 * v);
	for (uint32_t s = 0; s < count; s++)
		for (int i = 0; i < 4; i++) {
			const float *x = in + k[s].at[i] + c, weight = k[s].weight[i];

#pragma GCC unroll 8
			for (size_t v = 0; v < vectors; v++)
				sum[v] += nn_dot_load(x + 4 * v) * weight;
		}
#pragma GCC unroll 8
	for (size_t v = 0; v < vectors; v++)
		nn_dot_store(acc + 4 * v, mean_of(u, sum[v]));
}

static void add_one(const struct sums *u, const struct nn_corners *k, uint32_t count,
		    const float *in, size_t c)
{
	float sum = u->is_first ? 0 : u->acc[c];

	for (uint32_t s = 0; s < count; s++)
		for (int i = 0; i < 4; i++)
			sum += in[k[s].at[i] + c] * k[s].weight[i];
	u->acc[c] = u->is_last ? sum / u->samples : sum;
}

static void add_samples(const struct sums *u, const struct nn_corners *k, uint32_t count,
			const float *in, size_t channels)
{
	size_t c = 0;

	for (; c + 4 * WIDE <= channels; c += 4 * WIDE)
		add_vectors(WIDE, u, k, count, in, c);
	for (; c + 4 <= channels; c += 4)
		add_vectors(1, u, k, count, in, c);
	for (; c < channels; c++)
		add_one(u, k, count, in, c);
}

/* The samples of the columns of a region, if they are few. */
#define MAX_COLUMNS 256

struct columns {
	struct line line;
	bool is_known;
	struct nn_source known[MAX_COLUMNS];
};

static void find_columns(struct columns *s, const struct line *line, uint32_t cells)
{
	struct nn_source *to = s->known;

	s->line = *line;
	s->is_known = (uint64_t)line->samples * cells <= MAX_COLUMNS;
	for (uint32_t j = 0; s->is_known && j < cells; j++)
		for (uint32_t q = 0; q < line->samples; q++)
			*to++ = sample_of(line, j, q);
}

static inline struct nn_source column_of(const struct columns *s, uint32_t cell, uint32_t sample)
{
	return s->is_known ? s->known[cell * s->line.samples + sample] :
			     sample_of(&s->line, cell, sample);
}

/* Writes the mean of the samples of a cell to `out`. */
static void average_cell(const struct roi *v, uint32_t n, const struct line *rows,
			 const struct columns *columns, uint32_t i, uint32_t j, float *out)
{
	uint64_t left = (uint64_t)rows->samples * columns->line.samples;
	const float samples = (float)rows->samples * (float)columns->line.samples;
	struct sums u = {
		.acc = out,
		.is_first = true,
		.is_factor = left && left <= MAX_SAMPLES && !(left & (left - 1)),
		.samples = samples,
		.factor = 1 / samples,
	};
	struct nn_corners some[SAMPLES];
	uint32_t count = 0;

	for (uint32_t p = 0; p < rows->samples; p++) {
		struct nn_source y = sample_of(rows, i, p);

		for (uint32_t q = 0; q < columns->line.samples; q++) {
			struct nn_source x = column_of(columns, j, q);

			some[count++] = nn_image_corners(&v->in, n, &y, &x);
			u.is_last = !--left;
			if (count < SAMPLES && !u.is_last)
				continue;
			add_samples(&u, some, count, v->data, v->in.c);
			u.is_first = false;
			count = 0;
		}
	}
}

/* Writes the sum of the samples of a quantised cell to acc. */
static void sum_cell(const struct roi *v, const struct align *a, uint32_t n,
		     const struct line *rows, const struct columns *columns, uint32_t i, uint32_t j)
{
	memset(a->acc, 0, v->in.c * sizeof(*a->acc));
	for (uint32_t p = 0; p < rows->samples; p++) {
		struct nn_source y = sample_of(rows, i, p);

		for (uint32_t q = 0; q < columns->line.samples; q++) {
			struct nn_source x = column_of(columns, j, q);
			struct nn_corners k = nn_image_corners(&v->in, n, &y, &x);

			add_q8(&k, v->data, a->acc, v->in.c, a->in_q8);
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
	const struct line line = line_of(g->x1, g->x2, v->out.w, v->width_samples, v->in.w);
	const float samples = (float)rows.samples * (float)line.samples;
	enum nn_status status = NN_OK;
	struct columns columns;

	if (v->element == 1 && samples > MAX_SAMPLES)
		return nn_run_fail(r, "%u x %u samples of a cell of 8-bit values, at most %u",
				   rows.samples, line.samples, MAX_SAMPLES);
	find_columns(&columns, &line, v->out.w);
	for (uint32_t i = 0; i < v->out.h; i++)
		for (uint32_t j = 0; j < v->out.w && !status; j++, out += v->in.c * v->element) {
			if (v->element == 1) {
				sum_cell(v, a, g->n, &rows, &columns, i, j);
				status = average_q8(r, v, a, samples, out);
			} else {
				average_cell(v, g->n, &rows, &columns, i, j, (void *)out);
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

/* ROI_POOLING: the maximum pixel of each cell of a region */

/* The pixels [first, last) of a cell. */
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

/* The pixels of a cell: `rows` rows of `columns`; sizes are in bytes. */
struct pixels {
	const uint8_t *first;
	size_t rows;
	size_t columns;
	size_t row_size;
	size_t pixel_size;
};

static struct pixels pixels_of(const struct roi *v, uint32_t n, struct cell h, struct cell w)
{
	const size_t first = ((size_t)n * v->in.h + h.first) * v->in.w + w.first;

	return (struct pixels){
		.first = (const uint8_t *)v->data + first * v->in.c * v->element,
		.rows = h.last > h.first && w.last > w.first ? h.last - h.first : 0,
		.columns = w.last - w.first,
		.row_size = (size_t)v->in.w * v->in.c * v->element,
		.pixel_size = v->in.c * v->element,
	};
}

/* Number of channels in parallel, in vectors of 16 bytes. */
#define BLOCK_BYTES 64
#define BLOCK_FLOATS 32

typedef uint8_t bytes __attribute__((vector_size(16)));
typedef int8_t bytes_mask __attribute__((vector_size(16)));

static void max_block_float(const struct pixels *p, size_t at, float *out)
{
	nn_dot_four m[8];

	memcpy(m, p->first + at, sizeof(m));
	for (size_t i = 0; i < p->rows; i++) {
		const uint8_t *pixel = p->first + i * p->row_size + at;

		for (size_t j = 0; j < p->columns; j++, pixel += p->pixel_size) {
			const float *x = (const void *)pixel;

			m[0] = nn_dot_largest(nn_dot_load(x), m[0]);
			m[1] = nn_dot_largest(nn_dot_load(x + 4), m[1]);
			m[2] = nn_dot_largest(nn_dot_load(x + 8), m[2]);
			m[3] = nn_dot_largest(nn_dot_load(x + 12), m[3]);
			m[4] = nn_dot_largest(nn_dot_load(x + 16), m[4]);
			m[5] = nn_dot_largest(nn_dot_load(x + 20), m[5]);
			m[6] = nn_dot_largest(nn_dot_load(x + 24), m[6]);
			m[7] = nn_dot_largest(nn_dot_load(x + 28), m[7]);
		}
	}
	memcpy(out, m, sizeof(m));
}

static void max_float(const struct roi *v, uint32_t n, struct cell h, struct cell w, float *out)
{
	const struct pixels p = pixels_of(v, n, h, w);
	size_t c = 0;

	if (!p.rows) {
		memset(out, 0, v->in.c * sizeof(*out));
		return;
	}
	for (; c + BLOCK_FLOATS <= v->in.c; c += BLOCK_FLOATS)
		max_block_float(&p, c * sizeof(*out), out + c);
	memcpy(out + c, p.first + c * sizeof(*out), (v->in.c - c) * sizeof(*out));
	for (size_t i = 0; i < p.rows && c < v->in.c; i++)
		for (size_t j = 0; j < p.columns; j++) {
			const void *pixel = p.first + i * p.row_size + j * p.pixel_size;
			const float *x = pixel;

			for (size_t k = c; k < v->in.c; k++)
				out[k] = x[k] > out[k] ? x[k] : out[k];
		}
}

/* Compares values with flipped sign bits, whose order is that of the real values. */
static void max_block_q8(const struct pixels *p, size_t at, uint8_t flip, uint8_t *out)
{
	bytes largest[4] = { { 0 } }, x;

	for (size_t i = 0; i < p->rows; i++) {
		const uint8_t *pixel = p->first + i * p->row_size + at;

		for (size_t j = 0; j < p->columns; j++, pixel += p->pixel_size)
			for (int k = 0; k < 4; k++) {
				bytes_mask larger;

				memcpy(&x, pixel + 16 * k, sizeof(x));
				x ^= flip;
				larger = (bytes_mask)(x > largest[k]);
				largest[k] = (bytes)((larger & (bytes_mask)x) |
						     (~larger & (bytes_mask)largest[k]));
			}
	}
	for (int k = 0; k < 4; k++)
		largest[k] ^= flip;
	memcpy(out, largest, sizeof(largest));
}

static void max_q8(const struct roi *v, uint32_t n, struct cell h, struct cell w, struct nn_q8 q,
		   uint8_t *out)
{
	const struct pixels p = pixels_of(v, n, h, w);
	size_t c = 0;

	if (!p.rows) {
		memset(out, q.zero ^ q.flip, v->in.c);
		return;
	}
	for (; c + BLOCK_BYTES <= v->in.c; c += BLOCK_BYTES)
		max_block_q8(&p, c, q.flip, out + c);
	memset(out + c, q.flip, v->in.c - c);
	for (size_t i = 0; i < p.rows && c < v->in.c; i++)
		for (size_t j = 0; j < p.columns; j++) {
			const uint8_t *x = p.first + i * p.row_size + j * p.pixel_size;

			for (size_t k = c; k < v->in.c; k++)
				out[k] = (x[k] ^ q.flip) > (out[k] ^ q.flip) ? x[k] : out[k];
		}
}

static enum nn_status pool_region(const struct nn_run *r, const struct roi *v, const void *job,
				  const struct region *g, uint8_t *out)
{
	struct cell *columns = *(struct cell *const *)job;

	for (uint32_t j = 0; j < v->out.w; j++)
		columns[j] = cell_of(g->x1, g->x2, v->out.w, j, v->in.w);
	for (uint32_t i = 0; i < v->out.h; i++) {
		struct cell h = cell_of(g->y1, g->y2, v->out.h, i, v->in.h);

		for (uint32_t j = 0; j < v->out.w; j++, out += v->in.c * v->element) {
			if (v->element == 1)
				max_q8(v, g->n, h, columns[j], nn_q8_of(&r->inputs[X]), out);
			else
				max_float(v, g->n, h, columns[j], (float *)out);
		}
	}
	return NN_OK;
}

static enum nn_status execute_pooling(struct nn_run *r)
{
	struct roi v;
	enum nn_status status = prepare(r, &v);
	struct cell *columns;			/* of a region */

	if (status)
		return status;
	columns = nn_run_room(r, v.out.w, sizeof(*columns));
	return columns ? run_regions(r, &v, pool_region, &columns) : NN_OUT_OF_MEMORY;
}

/* The first inputs of both: images, regions and their images' indices. */
#define REGIONS { NN_FLOATS | NN_QUANT8, 4, 4 }, { NN_BOX_OF, 2, 2 }, { NN_T(NN_TENSOR_INT32), 1, 1 }, \
		NN_SCALAR_INT, NN_SCALAR_INT, NN_SCALAR_FLOAT, NN_SCALAR_FLOAT

NN_OPERATION(ROI_ALIGN,
	NN_INPUTS(10, REGIONS, NN_SCALAR_INT, NN_SCALAR_INT, NN_SCALAR_BOOL),
	NN_OUTPUTS({ NN_SAME, 4, 4 }),
	.zero_sized = NN_ZERO_ALLOWED, .steering = NN_IN(ROIS) | NN_IN(BATCH),
	.float16_as_float32 = true,
	.infer = infer_align, .execute = execute_align);

NN_OPERATION(ROI_POOLING,
	NN_INPUTS(8, REGIONS, NN_SCALAR_BOOL),
	NN_OUTPUTS({ NN_SAME, 4, 4 }),
	.steering = NN_IN(ROIS) | NN_IN(BATCH), .float16_as_float32 = true,
	.infer = infer_pooling, .execute = execute_pooling);
