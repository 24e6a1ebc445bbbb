/* SPDX-License-Identifier: MIT */
/*
 * The reference kernel of all convolutions that sum over channels. The kernel computes LANES output
 * channels at a time. The filters of LANES channels are interleaved.
 */
#include "ops/conv.h"
#include "ops/q8.h"
#include "ops/requant.h"

#define LANES 16

/*
 * State of the convolution kernel. All images have the layout NHWC, and `filter` contains the
 * interleaved filters from pack().
 */
struct job {
	const struct nn_conv *conv;
	size_t taps;			/* number of elements of a filter */
	const void *in;	/* input images as floats, or as int16_t minus the zero point */
	const void *filter;
	const float *bias;		/* bias, for float operations */
	float low;
	float high;
	struct nn_requant requant;	/* requantisation, for quantised operations */
	struct nn_stretch *spans;
};

/* A block of output channels: [first, first + count) of a group. */
struct block {
	uint32_t group;
	uint32_t first;
	uint32_t count;
	size_t filter;			/* offset of the block's filters */
};

/* For each i < n and each lane, computes acc[lane] += x[i] * w[i][lane]. */
static inline void madd_float(float *restrict acc, const float *restrict x,
			      const float *restrict w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t lane = 0; lane < LANES; lane++)
			acc[lane] += x[i] * w[i * LANES + lane];
}

static inline void madd_q8(uint32_t *restrict acc, const int16_t *restrict x,
			   const int16_t *restrict w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t lane = 0; lane < LANES; lane++)
			acc[lane] += (uint32_t)(x[i] * w[i * LANES + lane]);
}

/* Computes the channels of block `b` of an output pixel from the input image at offset `in`. */
static void pixel_float(const struct job *j, const struct block *b, size_t in, size_t spans,
			float *out)
{
	float acc[LANES] = { 0 };

	for (const struct nn_stretch *s = j->spans; s < j->spans + spans; s++)
		madd_float(acc, (const float *)j->in + in + s->in,
			   (const float *)j->filter + b->filter + s->filter * LANES, s->length);
	for (uint32_t lane = 0; lane < b->count; lane++) {
		float value = acc[lane] + j->bias[b->first + lane];

		out[lane] = value < j->low ? j->low : value > j->high ? j->high : value;
	}
}

static void pixel_q8(const struct job *j, const struct block *b, size_t in, size_t spans,
		     uint8_t *out)
{
	uint32_t acc[LANES] = { 0 };

	for (const struct nn_stretch *s = j->spans; s < j->spans + spans; s++)
		madd_q8(acc, (const int16_t *)j->in + in + s->in,
			(const int16_t *)j->filter + b->filter + s->filter * LANES, s->length);
	for (uint32_t lane = 0; lane < b->count; lane++)
		out[lane] = nn_requant(&j->requant, b->first + lane, acc[lane]);
}

static void run_block(const struct job *j, const struct block *b, bool is_float, void *out)
{
	const struct nn_conv *c = j->conv;
	size_t image = (size_t)c->in.h * c->in.w * c->in.c;
	size_t at = b->first;

	for (uint32_t n = 0; n < c->out.n; n++) {
		size_t in = n * image + (size_t)b->group * c->depth;

		for (uint32_t y = 0; y < c->out.h; y++) {
			for (uint32_t x = 0; x < c->out.w; x++, at += c->out.c) {
				size_t spans = c->spans(c, y, x, j->spans);

				if (is_float)
					pixel_float(j, b, in, spans, (float *)out + at);
				else
					pixel_q8(j, b, in, spans, (uint8_t *)out + at);
			}
		}
	}
}

static void run_blocks(const struct job *j, bool is_float, void *out)
{
	const struct nn_conv *c = j->conv;
	struct block b = { 0 };

	for (b.group = 0; b.group < c->groups; b.group++) {
		for (uint32_t done = 0; done < c->width; done += b.count) {
			b.first = b.group * c->width + done;
			b.count = c->width - done < LANES ? c->width - done : LANES;
			run_block(j, &b, is_float, out);
			b.filter += j->taps * LANES;
		}
	}
}

/*
 * Interleaves the elements of the filters of each block of LANES output channels. Pads the filters
 * of the last block of a group with zeros.
 */
static const void *pack(struct nn_run *r, const struct nn_conv *c, size_t taps)
{
	const struct nn_tensor *filter = &r->inputs[1];
	bool is_float = filter->type == NN_TENSOR_FLOAT32;
	size_t blocks = (c->width + LANES - 1) / LANES;
	void *packed = nn_run_alloc(r, c->groups * blocks * taps, LANES *
				    (is_float ? sizeof(float) : sizeof(int16_t)));
	struct nn_q8 q = nn_q8_of(filter);

	for (uint32_t channel = 0; packed && channel < c->out.c; channel++) {
		uint32_t inside = channel % c->width;
		size_t block = channel / c->width * blocks + inside / LANES;
		size_t to = block * taps * LANES + inside % LANES;
		size_t from = channel * taps;

		for (size_t i = 0; i < taps; i++, to += LANES, from++) {
			if (is_float)
				((float *)packed)[to] = ((const float *)filter->data)[from];
			else
				((int16_t *)packed)[to] = (int16_t)
					nn_q8_value(q, ((const uint8_t *)filter->data)[from]);
		}
	}
	return packed;
}

enum nn_status nn_conv_read(const struct nn_run *r, struct nn_conv *c)
{
	*c = (struct nn_conv){ 0 };
	return (*(nn_conv_prepare_fn *const *)r->op->kernels)(r, c);
}

enum nn_status nn_conv_infer(struct nn_run *r)
{
	struct nn_conv c;
	enum nn_status status = nn_conv_read(r, &c);

	if (!status)
		nn_image_set(&r->outputs[0], c.nchw, &c.out);
	return status;
}

enum nn_status nn_conv_execute(struct nn_run *r)
{
	bool is_float = r->inputs[0].type == NN_TENSOR_FLOAT32;
	struct nn_conv conv, *c = &conv;
	enum nn_status status = nn_conv_read(r, c);
	struct job j = { .conv = c, .bias = r->inputs[2].data };
	size_t window;
	void *out;

	if (status || !nn_tensor_count(&r->outputs[0]))
		return status;
	window = (size_t)c->window.h.filter * c->window.w.filter;
	j.taps = window * c->depth;
	if (is_float)
		nn_fused_range_float(nn_run_int(r, c->args.activation, 0), &j.low, &j.high);
	else if (nn_requant_init(&j.requant, r, c->out.c, c->args.activation))
		return NN_OUT_OF_MEMORY;
	j.in = nn_q8_widened(r, &r->inputs[0], nn_image_input(r, &r->inputs[0], c->nchw));
	j.filter = pack(r, c, j.taps);
	j.spans = nn_run_alloc(r, window, sizeof(*j.spans));
	out = nn_image_output(r, &r->outputs[0], c->nchw);
	if (!j.in || !j.filter || !j.spans || !out)
		return NN_OUT_OF_MEMORY;
	run_blocks(&j, is_float, out);
	nn_image_finish(&r->outputs[0], c->nchw, out);
	return NN_OK;
}
