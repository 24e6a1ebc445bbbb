/* SPDX-License-Identifier: MIT */
/*
 * RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR.
 */
#include <math.h>
#include <string.h>

#include "ops/check.h"
#include "ops/copy.h"
#include "ops/dot.h"
#include "ops/q8.h"
#include "ops/resize.h"

enum { X, WIDTH, HEIGHT, NCHW, ALIGN_CORNERS, HALF_PIXELS };

/* Checks that the arguments width and height are both sizes (INT32) or both factors (float). */
static enum nn_status check(const struct nn_check *c)
{
	return nn_check_same_type(c, WIDTH, HEIGHT);
}

/*
 * Computes an output size from an argument, which is either the size or a factor of the input size
 * `in`.
 */
static enum nn_status read_size(const struct nn_run *r, uint32_t index, uint32_t in, uint32_t *out)
{
	double size;

	if (r->inputs[index].type == NN_INT32)
		size = nn_run_int(r, index, 0);
	else
		size = floorf((float)in * nn_run_float(r, index, 0));
	if (!(size >= 1 && size <= INT32_MAX))
		return nn_run_fail(r, "input %u gives an output size of %g", index, size);
	*out = (uint32_t)size;
	return NN_OK;
}

enum nn_status nn_resize_prepare(const struct nn_run *r, struct nn_resize *v)
{
	const struct nn_tensor *x = &r->inputs[X];
	enum nn_status status;

	if (!nn_tensor_product(x, 1, 4))
		return nn_run_fail(r, "input 0: only dimension 0 may be 0");
	v->nchw = nn_run_bool(r, NCHW, false);
	v->align = nn_run_bool(r, ALIGN_CORNERS, false);
	v->half = nn_run_bool(r, HALF_PIXELS, false);
	if (v->align && v->half)
		return nn_run_fail(r, "aligned corners and half pixel centers exclude each other");
	v->in = nn_image_of(x, v->nchw);
	v->out = v->in;
	status = read_size(r, WIDTH, v->in.w, &v->out.w);
	return status ? status : read_size(r, HEIGHT, v->in.h, &v->out.h);
}

static enum nn_status infer(struct nn_run *r)
{
	struct nn_resize v;
	enum nn_status status = nn_resize_prepare(r, &v);

	if (status)
		return status;
	nn_image_set(&r->outputs[0], v.nchw, &v.out);
	r->outputs[0].scale = r->inputs[X].scale;
	r->outputs[0].zero_point = r->inputs[X].zero_point;
	return NN_OK;
}

static float scale_of(const struct nn_resize *v, uint32_t in, uint32_t out)
{
	if (v->align && out > 1)
		return (float)(in - 1) / (float)(out - 1);
	return (float)in / (float)out;
}

static uint32_t clamp_index(float value, uint32_t size)
{
	return value <= 0 ? 0 : value >= (float)(size - 1) ? size - 1 : (uint32_t)value;
}

struct nn_source nn_resize_bilinear(const struct nn_resize *v, uint32_t in, uint32_t out, uint32_t o)
{
	float scale = scale_of(v, in, out);
	float at = v->half ? ((float)o + 0.5f) * scale - 0.5f : (float)o * scale;
	struct nn_source s = { clamp_index(floorf(at), in), clamp_index(ceilf(at), in), 0 };

	s.weight = at - (float)s.low;
	return s;
}

struct nn_source nn_resize_nearest(const struct nn_resize *v, uint32_t in, uint32_t out, uint32_t o)
{
	float at = ((float)o + (v->half ? 0.5f : 0)) * scale_of(v, in, out);
	uint32_t i = clamp_index(v->align ? roundf(at) : floorf(at), in);

	return (struct nn_source){ i, i, 0 };
}

typedef struct nn_source source_fn(const struct nn_resize *v, uint32_t in, uint32_t out, uint32_t o);

/* Returns the source positions of all output positions of an axis; NULL if memory runs out. */
static const struct nn_source *all_sources(struct nn_run *r, const struct nn_resize *v, source_fn *of,
					uint32_t in, uint32_t out)
{
	struct nn_source *s = nn_run_alloc(r, out, sizeof(*s));

	for (uint32_t o = 0; s && o < out; o++)
		s[o] = of(v, in, out, o);
	return s;
}

/*
 * Adds four weighted pixels. The vector loop and the scalar loop add in the same order, so that
 * both loops compute identical results.
 */
static void blend_float(const struct nn_corners *k, const float *in, float *restrict out,
			size_t channels)
{
	const float *a = in + k->at[0], *b = in + k->at[1];
	const float *c = in + k->at[2], *d = in + k->at[3];

	const float wa = k->weight[0], wb = k->weight[1], wc = k->weight[2], wd = k->weight[3];
	size_t i = 0;

	for (; i + 4 <= channels; i += 4) {
		const nn_dot_four sum = nn_dot_load(a + i) * wa + nn_dot_load(b + i) * wb +
					nn_dot_load(c + i) * wc + nn_dot_load(d + i) * wd;

		memcpy(out + i, &sum, sizeof(sum));
	}
	for (; i < channels; i++)
		out[i] = a[i] * wa + b[i] * wb + c[i] * wc + d[i] * wd;
}

/*
 * Interpolates stored values without converting them to real values, and truncates the results to
 * integers.
 */
static void blend_q8(const struct nn_corners *k, const uint8_t *in, uint8_t *restrict out,
		     size_t channels, uint8_t flip)
{
	const uint8_t *a = in + k->at[0], *b = in + k->at[1];
	const uint8_t *c = in + k->at[2], *d = in + k->at[3];

	for (size_t i = 0; i < channels; i++) {
		float sum = (float)((a[i] ^ flip) - flip) * k->weight[0] +
			    (float)((b[i] ^ flip) - flip) * k->weight[1] +
			    (float)((c[i] ^ flip) - flip) * k->weight[2] +
			    (float)((d[i] ^ flip) - flip) * k->weight[3];

		out[i] = (uint8_t)(int32_t)sum;
	}
}

struct job {
	const struct nn_resize *v;
	const struct nn_source *y;
	const struct nn_source *x;
	size_t element;			/* size of an element in bytes */
	uint8_t flip;
};

static void run_bilinear(const struct job *j, const void *in, uint8_t *out)
{
	const struct nn_resize *v = j->v;

	for (uint32_t n = 0; n < v->out.n; n++) {
		for (uint32_t y = 0; y < v->out.h; y++) {
			for (uint32_t x = 0; x < v->out.w; x++, out += v->out.c * j->element) {
				struct nn_corners k = nn_image_corners(&v->in, n, &j->y[y], &j->x[x]);

				if (j->element == 1)
					blend_q8(&k, in, out, v->out.c, j->flip);
				else
					blend_float(&k, in, (void *)out, v->out.c);
			}
		}
	}
}

static void run_nearest(const struct job *j, const void *in, uint8_t *out)
{
	const struct nn_resize *v = j->v;
	size_t pixel = v->out.c * j->element;
	const uint8_t *from = in;

	for (uint32_t n = 0; n < v->out.n; n++) {
		for (uint32_t y = 0; y < v->out.h; y++) {
			size_t row = ((size_t)n * v->in.h + j->y[y].low) * v->in.w;

			if (y && j->y[y].low == j->y[y - 1].low) {
				memcpy(out, out - v->out.w * pixel, v->out.w * pixel);
				out += v->out.w * pixel;
				continue;
			}
			for (uint32_t x = 0; x < v->out.w; x++, out += pixel)
				nn_copy(out, from + (row + j->x[x].low) * pixel, pixel);
		}
	}
}

struct kernels {
	source_fn *source;
	void (*run)(const struct job *j, const void *in, uint8_t *out);
};

static enum nn_status execute(struct nn_run *r)
{
	const struct kernels *k = r->op->kernels;
	const struct nn_tensor *x = &r->inputs[X];
	struct nn_resize v;
	struct job j = { .v = &v, .flip = nn_q8_of(x).flip };
	enum nn_status status = nn_resize_prepare(r, &v);
	const void *in;
	void *out;

	if (status || !nn_tensor_count(&r->outputs[0]))
		return status;
	j.element = nn_type_info_of(x->type)->element_size;
	j.y = all_sources(r, &v, k->source, v.in.h, v.out.h);
	j.x = all_sources(r, &v, k->source, v.in.w, v.out.w);
	in = nn_image_input(r, x, v.nchw);
	out = nn_image_output(r, &r->outputs[0], v.nchw);
	if (!j.y || !j.x || !in || !out)
		return NN_OUT_OF_MEMORY;
	k->run(&j, in, out);
	nn_image_finish(&r->outputs[0], v.nchw, out);
	return NN_OK;
}

#define RESIZE(which, least, ...)							\
NN_OPERATION(which,									\
	NN_INPUTS(least, { NN_FLOATS | NN_QUANT8, 4, 4 },				\
		  { NN_T(NN_INT32) | NN_SCALAR_OF, 0, 0 }, { NN_T(NN_INT32) | NN_SCALAR_OF, 0, 0 }, \
		  NN_SCALAR_BOOL, NN_SCALAR_BOOL, NN_SCALAR_BOOL),			\
	NN_OUTPUTS({ NN_SAME, 4, 4 }),							\
	.dims = "****", .zero_sized = NN_ZERO_ALLOWED, .float16_as_float32 = true,	\
	.check = check, .infer = infer, .execute = execute,				\
	.kernels = &(const struct kernels)__VA_ARGS__)

RESIZE(RESIZE_BILINEAR, 3, { nn_resize_bilinear, run_bilinear });
RESIZE(RESIZE_NEAREST_NEIGHBOR, 4, { nn_resize_nearest, run_nearest });
