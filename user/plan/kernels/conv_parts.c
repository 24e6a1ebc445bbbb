/* SPDX-License-Identifier: MIT */
/*
 * GROUPED_CONV_2D, TRANSPOSE_CONV_2D, and DEPTHWISE_CONV_2D with a multiplier above 1. The kernel
 * computes a convolution as several matrix products, called parts. A part computes the outputs of
 * one group of channels or of one input channel. In a transposed convolution, a part computes the
 * outputs that use the same taps. If the windows of a transposed convolution of floats are
 * adjacent, a part computes the outputs that use the same row of the filter, and needs no copies.
 */
#include <string.h>

#include "ops/conv.h"
#include "plan/kernels/caches.h"
#include "plan/kernels/gemm.h"

enum { X, FILTER, BIAS, SHAPE };

#define MAX_INPUTS 16
#define MAX_SPARSE 16	/* maximum stride of a convolution whose stride exceeds the filter's size */
#define MAX_PHASES 4096	/* maximum product of both strides of a transposed convolution */
#define MIN_BLOCK_ROWS 14
/*
 * Minimum number of outputs per input channel for which this kernel is faster than the reference
 * kernel.
 */
#define MIN_MULTIPLIER_F32 8
#define MIN_MULTIPLIER_Q8 3
/*
 * Maximum number of input channels for which an int8 DEPTHWISE_CONV_2D is computed as a CONV_2D.
 * Filters are expanded to all input channels with weights of 0. For floats, expanded filters would
 * be wrong, because a weight of 0 times an infinite input is NaN.
 */
#define MAX_EXPANDED 4

/* The outputs of a part along one axis, and the inputs that the part reads. */
struct span {
	uint32_t count;			/* outputs */
	uint32_t first;	/* position of the first output, and distance between outputs */
	uint32_t step;
	uint32_t taps;
	uint32_t filter_first;		/* position of the first tap, and distance between taps */
	uint32_t filter_step;
	int64_t base;	/* tap k of output i reads input base + i * in_step + k * tap_step */
	int64_t in_step;
	int64_t tap_step;
};

struct part {
	struct span h;
	struct span w;
	uint32_t in_channel;		/* first input channel of the part */
	uint32_t out_channel;
	/* matrix product whose columns are the part's output channels */
	struct nn_gemm gemm;
	size_t packed;			/* offset of the part's packed weights */
	/* index of the part's first task; a part without rows has no tasks */
	uint32_t first_task;
};

struct parts {
	struct nn_window window;
	struct nn_image in;
	struct nn_image out;
	uint32_t activation;
	uint32_t depth;			/* number of input channels of a part */
	uint32_t width;			/* number of output channels of a part */
	uint32_t filter_w;
	/*
	 * Number of outputs per input channel, if filters are expanded to all input channels;
	 * otherwise 0.
	 */
	uint32_t expanded;
	/*
	 * Distance, in elements of the filter, from one output to the next, and from one tap to the
	 * next.
	 */
	size_t filter_step;
	size_t tap_step;
	/* size in bytes of the copied windows of a task; the maximum over all tasks */
	size_t copy_size;
	size_t result_size;
	size_t filter_size;		/* size of the largest filters of a part */
	uint8_t padding;		/* value of each byte of padding */
	/* true: each part computes all pixels of its output channels */
	bool in_order;
	bool is_single;			/* true: output pixel i reads only input pixel i */
	bool is_adjacent;		/* true: the windows of a transposed convolution are adjacent */
	bool packs;			/* true: each execution packs the filters */
	struct nn_gemm gemm;		/* fields with the same value in all parts */
	uint32_t count;
	struct part parts[];
};

#define MAX_SAVED 32			/* maximum number of parts in a serialised plan */

/*
 * The window of a transposed convolution in a serialised plan needs no check, because the kernel
 * reads only pixels in the image.
 */
#define NN_STATE struct parts
static const struct nn_field fields[] = {
	IMAGE_WINDOW(in, window), FLAG(in_order), FLAG(is_adjacent), WORD(count, 1, MAX_SAVED),
	DIMENSION(out.c),
	GEMM_NUMBERS(gemm), WORD(packs, 0, 0),
	WHEN(in_order, SET, WINDOW_REACHES(window)),
	WHEN(in_order, IS(false),
	     WHEN(is_adjacent, IS(false), EQUAL(count, window.h.stride, window.w.stride)),
	     WHEN(is_adjacent, SET,
		  ONLY(gemm.number, IS(NN_IN_FLOATS)), EQUAL(count, window.h.stride))),
	LIMIT(UINT32_MAX, window.h.filter, window.w.filter, in.c),
	SPAN(INPUT(X), NUMBERS(gemm.number), in.n, window.h.in, window.w.in, in.c),
	SPAN(OUTPUT(0), NUMBERS(gemm.number), in.n, window.h.out, window.w.out, out.c),
	END
};

/* ---- What the parts are ---- */

static struct span window_span(const struct nn_axis *a)
{
	return (struct span){
		.count = a->out,
		.step = 1,
		.taps = a->filter,
		.filter_step = 1,
		.base = -a->head,
		.in_step = a->stride,
		.tap_step = a->dilation,
	};
}

/*
 * Returns the outputs inside the image that use the taps `phase`, `phase` + stride and so on. If
 * the stride exceeds the filter's size, some outputs depend on no input; the span of such outputs
 * has a single tap, which is outside the image.
 */
static struct span phase_span(const struct nn_axis *a, uint32_t phase)
{
	int64_t first = ((int64_t)phase - a->head) % a->stride;
	struct span span;

	first += first < 0 ? a->stride : 0;
	span = (struct span){
		.count = first < a->out ?
			 (a->out - (uint32_t)first + a->stride - 1) / a->stride : 0,
		.first = (uint32_t)first,
		.step = a->stride,
		.taps = 1,
		.base = -1,
	};
	if (phase >= a->filter)
		return span;
	span.taps = (a->filter - phase + a->stride - 1) / a->stride;
	span.filter_first = phase;
	span.filter_step = a->stride;
	span.base = (first + a->head) / a->stride;
	span.in_step = 1;
	span.tap_step = -1;
	return span;
}

/*
 * Makes each part a group of channels. A group has `depth` channels of the input and `width`
 * channels of the output.
 */
static void set_groups(struct parts *s)
{
	const struct nn_axis *h = &s->window.h, *w = &s->window.w;

	s->is_single = h->filter == 1 && w->filter == 1 && h->stride == 1 && w->stride == 1 &&
		       h->out == h->in && w->out == w->in;
	for (uint32_t i = 0; i < s->count; i++) {
		s->parts[i].h = window_span(h);
		s->parts[i].w = window_span(w);
		s->parts[i].in_channel = i * s->depth;
		s->parts[i].out_channel = i * s->width;
	}
}

/*
 * Makes each part compute the outputs that use the same taps of the filter. The number of parts is
 * the product of both strides.
 */
static void set_phases(struct parts *s)
{
	const struct nn_axis *h = &s->window.h, *w = &s->window.w;

	for (uint32_t i = 0; i < s->count; i++) {
		s->parts[i].h = phase_span(h, s->is_adjacent ? i : i / w->stride);
		s->parts[i].w = s->is_adjacent ? (struct span){ .count = w->in, .taps = 1 } :
						 phase_span(w, i % w->stride);
	}
}

/* Returns whether each output along an axis depends on one input, and no output is cut off. */
static bool is_adjacent(const struct nn_axis *a)
{
	return a->filter == a->stride && !a->head && a->dilation == 1 &&
	       a->out == (uint64_t)a->in * a->stride;
}

/* Sets the channels and the windows of each part. */
static void set_parts(struct parts *s)
{
	s->depth = s->in_order ? s->in.c / s->count : s->in.c;
	s->width = s->in_order ? s->out.c / s->count :
		   s->is_adjacent ? s->out.c * s->window.w.stride : s->out.c;
	s->out = (struct nn_image){ s->in.n, s->window.h.out, s->window.w.out, s->out.c };
	if (s->in_order)
		set_groups(s);
	else
		set_phases(s);
}

/* Returns the kernel's state with space for `count` parts; NULL if memory runs out. */
static struct parts *parts_of(struct nn_ready *ready, uint32_t count)
{
	struct parts *s;

	if (count > MAX_SAVED && !nn_kernel_enlarge(ready, sizeof(*s) + count * sizeof(s->parts[0])))
		return NULL;
	s = ready->state;
	s->count = count;
	return s;
}

/*
 * Makes one part for each group of a convolution. Each input channel of a DEPTHWISE_CONV_2D is a
 * group; if there are few channels, all channels are one group.
 */
static struct parts *group_parts(const struct nn_run *r, const struct nn_conv *v,
				 struct nn_ready *ready)
{
	const bool depthwise = r->op->code == NN_OP_DEPTHWISE_CONV_2D;
	const uint32_t *filter = r->inputs[FILTER].dims;
	uint32_t groups = depthwise ? v->in.c : v->groups;
	const bool is_float = r->inputs[X].type == NN_TENSOR_FLOAT32 ||
			      r->inputs[X].type == NN_TENSOR_FLOAT16;
	uint32_t least = r->inputs[X].type == NN_TENSOR_FLOAT32 ? MIN_MULTIPLIER_F32 :
								  MIN_MULTIPLIER_Q8;
	uint32_t expanded = depthwise && !is_float && groups <= MAX_EXPANDED ? v->width : 0;
	struct parts *s;

	if (depthwise && v->width < least)
		return NULL;
	s = parts_of(ready, expanded ? 1 : groups);
	if (!s)
		return NULL;
	s->in_order = true;
	s->expanded = expanded;
	s->filter_step = depthwise ? 1 : (size_t)filter[1] * filter[2] * filter[3];
	return s;
}

/*
 * Returns whether the stride along an axis is so large that the kernel does not support it. If the
 * stride exceeds the filter's size, some outputs depend on no input.
 */
static bool is_sparse(const struct nn_axis *a)
{
	return a->stride > a->filter && a->stride > MAX_SPARSE;
}

static struct parts *phase_parts(const struct nn_run *r, const struct nn_conv *v,
				 struct nn_ready *ready)
{
	const struct nn_axis *h = &v->window.h, *w = &v->window.w;
	const uint32_t *filter = r->inputs[FILTER].dims;
	const bool adjacent = is_adjacent(h) && is_adjacent(w) && nn_has_constants(r) &&
			      r->inputs[X].type == NN_TENSOR_FLOAT32;
	struct parts *s;

	if (is_sparse(h) || is_sparse(w) || (uint64_t)h->stride * w->stride > MAX_PHASES)
		return NULL;
	s = parts_of(ready, adjacent ? h->stride : h->stride * w->stride);
	if (!s)
		return NULL;
	s->is_adjacent = adjacent;
	s->filter_step = (size_t)filter[1] * filter[2] * filter[3];
	return s;
}

/* ---- Preparing ---- */

/* One part, as a separate operation with its own tensors. */
struct view {
	struct nn_run run;
	struct nn_tensor inputs[MAX_INPUTS];
	struct nn_tensor output;
	struct nn_extra extra;
};

static void view_part(const struct nn_run *r, const struct parts *s, const struct part *p,
		      void *filter, struct view *v)
{
	v->run = *r;
	v->run.inputs = v->inputs;
	v->run.outputs = &v->output;
	v->run.scratch = NULL;
	v->output = r->outputs[0];
	memcpy(v->inputs, r->inputs, r->num_inputs * sizeof(*v->inputs));
	v->extra = *r->inputs[FILTER].extra;
	if (v->extra.kind == NN_EXTRA_CHANNEL_QUANT) {
		v->extra.scales += p->out_channel;
		v->extra.count = s->width;
	}
	v->inputs[FILTER].extra = &v->extra;
	v->inputs[FILTER].data = filter;
	if (v->inputs[BIAS].data)
		v->inputs[BIAS].data = (char *)v->inputs[BIAS].data + p->out_channel *
				       nn_type_info_of(v->inputs[BIAS].type)->element_size;
}

/* Sets the sizes of a part's matrix product, which may have no rows. */
static void set_product(const struct parts *s, const struct part *p, struct nn_gemm *g)
{
	g->rows = (size_t)s->in.n * p->h.count * p->w.count;
	g->columns = s->width;
	g->depth = (size_t)p->h.taps * p->w.taps * s->depth;
}

/*
 * Divides the product of a part into tasks. Reserves space for the part in the step's packed
 * weights and scratch memory.
 */
static void place_part(struct parts *s, struct part *p, struct nn_ready *ready)
{
	struct nn_gemm *g = &p->gemm;
	const size_t row = g->a_stride * g->element;
	const size_t max_rows = NN_NEAR_BYTES / row / MIN_BLOCK_ROWS * MIN_BLOCK_ROWS;

	nn_gemm_divide(g, ready->isa, 1, max_rows < MIN_BLOCK_ROWS ? MIN_BLOCK_ROWS : max_rows);
	p->packed = ready->packed_size;
	ready->packed_size += nn_kernel_aligned(nn_gemm_packed_size(g, ready->isa));
	ready->tasks += g->row_blocks;
	if (s->copy_size < nn_kernel_aligned(g->block_rows * row))
		s->copy_size = nn_kernel_aligned(g->block_rows * row);
	if (s->result_size < nn_kernel_aligned(g->block_rows * g->columns * g->element))
		s->result_size = nn_kernel_aligned(g->block_rows * g->columns * g->element);
	/* The filters of adjacent windows are followed by their biases. */
	if (s->filter_size < g->columns * (g->depth + 1) * g->element)
		s->filter_size = g->columns * (g->depth + 1) * g->element;
	if (ready->scratch_size < nn_gemm_scratch(g, ready->isa))
		ready->scratch_size = nn_gemm_scratch(g, ready->isa);
}

/*
 * Returns false if the CPU does not compute in the type of the operation, or if the channels cannot
 * be divided equally among the parts.
 */
static bool complete(void *state, struct nn_ready *ready)
{
	struct parts *s = state;

	if ((s->in_order && (s->in.c % s->count || s->out.c % s->count)) ||
	    (s->is_adjacent && (s->in_order || !is_adjacent(&s->window.h) ||
				!is_adjacent(&s->window.w))))
		return false;
	nn_image_of_window(&s->in, &s->window);
	set_parts(s);
	s->padding = s->gemm.number != NN_IN_INT8 ? 0 : (uint8_t)(s->gemm.a_zero ^ s->gemm.a_flip);
	for (uint32_t i = 0; i < s->count; i++) {
		struct part *p = &s->parts[i];

		p->first_task = ready->tasks;
		p->gemm = s->gemm;
		set_product(s, p, &p->gemm);
		if (!p->gemm.rows)
			continue;
		if (!nn_gemm_complete(&p->gemm, ready->isa))
			return false;
		place_part(s, p, ready);
	}
	ready->scratch_size += s->copy_size + s->result_size;
	if (s->packs) {
		ready->pack_tasks = s->count;
		if (ready->scratch_size < s->filter_size)
			ready->scratch_size = s->filter_size;
	}
	return ready->tasks;
}

/* Returns whether nn_gemm_prepare() accepts the weights and biases of a part. */
static bool prepare_part(struct nn_run *r, struct nn_ready *ready, struct parts *s,
			 const struct part *p)
{
	struct view v;
	bool fine;

	set_product(s, p, &s->gemm);
	if (!s->gemm.rows)
		return true;
	view_part(r, s, p, r->inputs[FILTER].data, &v);
	fine = nn_gemm_prepare(&v.run, s->activation, ready, &s->gemm);
	nn_op_finish(&v.run);
	return fine;
}

static bool prepare_parts(struct nn_run *r, const struct nn_conv *v, struct nn_ready *ready,
			  struct parts *s)
{
	s->in = v->in;
	s->out = v->out;
	s->window = v->window;
	s->activation = v->args.activation;
	s->filter_w = r->inputs[FILTER].dims[2];
	s->tap_step = r->inputs[FILTER].dims[3];
	s->packs = !nn_has_constants(r);
	set_parts(s);
	for (uint32_t i = 0; i < s->count; i++)
		if (!prepare_part(r, ready, s, &s->parts[i]))
			return false;
	return complete(s, ready);
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const bool transposed = r->op->code == NN_OP_TRANSPOSE_CONV_2D;
	struct nn_conv v;
	struct parts *s;

	/*
	 * TRANSPOSE_CONV_2D with explicit paddings has 11 inputs, and its input SHAPE is not the
	 * output's shape.
	 */
	if (transposed && r->num_inputs != 11) {
		ready->reads |= NN_IN(SHAPE);
		if (!r->inputs[SHAPE].data)
			return false;
	}
	if (r->num_inputs > MAX_INPUTS || nn_conv_read(r, &v) || v.nchw)
		return false;
	s = transposed ? phase_parts(r, &v, ready) : group_parts(r, &v, ready);
	return s && prepare_parts(r, &v, ready, s);
}

/* ---- Packing ---- */

/* Copies the taps of a part's filters to contiguous memory. */
static void gather_filter(const struct parts *s, const struct part *p, const char *filter,
			  char *to)
{
	size_t element = p->gemm.element, size = s->depth * element;

	for (uint32_t o = 0; o < s->width; o++) {
		const char *from = filter + (p->out_channel + o) * s->filter_step * element;

		for (uint32_t i = 0; i < p->h.taps; i++) {
			size_t row = (p->h.filter_first + (size_t)i * p->h.filter_step) *
				     s->filter_w;

			for (uint32_t j = 0; j < p->w.taps; j++, to += size)
				memcpy(to, from + (row + p->w.filter_first +
						   (size_t)j * p->w.filter_step) * s->tap_step *
						  element, size);
		}
	}
}

/*
 * Converts the filters of a DEPTHWISE_CONV_2D to filters of a CONV_2D. In each new filter, the
 * weights of all input channels except the filter's own channel are set to `zero`.
 */
static void expand_filter(const struct parts *s, const struct part *p, uint8_t zero, const char *filter,
			  char *to)
{
	const size_t element = p->gemm.element, taps = (size_t)p->h.taps * p->w.taps;

	memset(to, zero, s->width * taps * s->depth * element);
	for (size_t o = 0; o < s->width; o++)
		for (size_t tap = 0; tap < taps; tap++)
			memcpy(to + ((o * taps + tap) * s->depth + o / s->expanded) * element,
			       filter + (tap * s->tap_step + o) * element, element);
}

/*
 * Copies the weights and biases of one row of the filters of adjacent windows, for one column after
 * the other.
 */
static void gather_row(const struct parts *s, const struct part *p, const struct nn_run *r,
		       float *to)
{
	const float *filter = (const float *)r->inputs[FILTER].data +
			      p->h.filter_first * s->filter_w * s->tap_step;
	float *biases = to + s->width * s->depth;

	for (uint32_t j = 0; j < s->filter_w; j++, biases += s->out.c) {
		memcpy(biases, r->inputs[BIAS].data, s->out.c * sizeof(*to));
		for (uint32_t o = 0; o < s->out.c; o++, to += s->depth)
			memcpy(to, filter + o * s->filter_step + j * s->tap_step,
			       s->depth * sizeof(*to));
	}
}

/* Packs the filters of a part from a copy in the scratch memory. */
static bool pack_task(const struct nn_run *r, const struct nn_ready *ready, uint32_t task,
		      void *scratch, void *packed)
{
	const struct parts *s = ready->state;
	const struct part *p = &s->parts[task];
	struct view v;

	if (!p->gemm.rows)
		return true;
	if (s->is_adjacent)
		gather_row(s, p, r, scratch);
	else if (s->expanded)
		expand_filter(s, p, (uint8_t)r->inputs[FILTER].zero_point, r->inputs[FILTER].data, scratch);
	else
		gather_filter(s, p, r->inputs[FILTER].data, scratch);
	view_part(r, s, p, scratch, &v);
	if (s->is_adjacent)
		v.inputs[BIAS].data = (float *)scratch + s->width * s->depth;
	return nn_gemm_pack(&v.run, &p->gemm, ready->isa, 0, p->gemm.columns,
			    (char *)packed + p->packed);
}

static bool pack(struct nn_run *r, const struct nn_ready *ready, void *packed)
{
	const struct parts *s = ready->state;
	void *filters = nn_run_alloc(r, 1, s->filter_size);
	bool fine = filters;

	for (uint32_t i = 0; fine && i < s->count; i++)
		fine = pack_task(r, ready, i, filters, packed);
	return fine;
}

/* ---- Running ---- */

/* Position of an output pixel among the pixels of a part. */
struct pixel {
	size_t n;
	size_t y;
	size_t x;
};

static struct pixel pixel_of(const struct part *p, size_t row)
{
	return (struct pixel){ row / p->w.count / p->h.count, row / p->w.count % p->h.count,
			       row % p->w.count };
}

/* Copies `count` blocks of `size` bytes, which begin `step` bytes apart, to contiguous memory. */
static inline void copy_strided(char *to, const char *from, ptrdiff_t step, uint32_t count,
				size_t size)
{
	for (uint32_t j = 0; j < count; j++, to += size, from += step)
		memcpy(to, from, size);
}

/*
 * Copies the taps of one row of a window; the row is in the image. Usually all taps of the row are
 * in the image, and each tap has 1 or 4 bytes.
 */
static void copy_row(const struct parts *s, const struct part *p, const char *row, int64_t x,
		     char *to)
{
	const size_t element = p->gemm.element, size = s->depth * element;
	const size_t pixel = (size_t)s->in.c * element;
	const int64_t last = x + (int64_t)(p->w.taps - 1) * p->w.tap_step;
	const ptrdiff_t step = (ptrdiff_t)p->w.tap_step * (ptrdiff_t)pixel;

	row += p->in_channel * element;
	if (x < 0 || x >= s->in.w || last < 0 || last >= s->in.w) {
		for (uint32_t j = 0; j < p->w.taps; j++, x += p->w.tap_step, to += size) {
			if (x >= 0 && x < s->in.w)
				memcpy(to, row + (size_t)x * pixel, size);
			else
				memset(to, s->padding, size);
		}
		return;
	}
	row += (size_t)x * pixel;
	if (size == 1)
		copy_strided(to, row, step, p->w.taps, 1);
	else if (size == 4)
		copy_strided(to, row, step, p->w.taps, 4);
	else
		copy_strided(to, row, step, p->w.taps, size);
}

static void copy_window(const struct parts *s, const struct part *p, const char *in,
			const struct pixel *at, char *to)
{
	const size_t element = p->gemm.element, size = p->w.taps * s->depth * element;
	const size_t row_size = (size_t)s->in.w * s->in.c * element;
	const int64_t x = p->w.base + (int64_t)at->x * p->w.in_step;
	int64_t y = p->h.base + (int64_t)at->y * p->h.in_step;

	for (uint32_t i = 0; i < p->h.taps; i++, y += p->h.tap_step, to += size) {
		if (y >= 0 && y < s->in.h)
			copy_row(s, p, in + (at->n * s->in.h + (size_t)y) * row_size, x, to);
		else
			memset(to, s->padding, size);
	}
}

static void copy_result(const struct parts *s, const struct part *p, const struct pixel *at,
			const char *from, char *out)
{
	size_t y = p->h.first + at->y * p->h.step, x = p->w.first + at->x * p->w.step;
	size_t element = p->gemm.element, row = at->n * s->out.h + y;

	memcpy(out + ((row * s->out.w + x) * s->out.c + p->out_channel) * element, from,
	       s->width * element);
}

/* Returns the part of a task: the last part whose first_task is at most `task`. */
static const struct part *find_part(const struct parts *s, uint32_t task)
{
	uint32_t first = 0, end = s->count;

	while (end - first > 1) {
		const uint32_t middle = first + (end - first) / 2;

		if (s->parts[middle].first_task <= task)
			first = middle;
		else
			end = middle;
	}
	return &s->parts[first];
}

/* Computes a row of adjacent windows for input pixels from pixel `first` on, line by line. */
static void run_adjacent(const struct nn_kernel_call *call, const struct parts *s,
			 const struct part *p, const struct nn_ready *ready, struct nn_gemm *g,
			 size_t first)
{
	const size_t end = first + g->rows, width = s->in.w;

	for (size_t row = first, some; row < end; row += some) {
		const size_t line = row / width * s->window.h.stride + p->h.first;
		const struct nn_gemm_part part = {
			.a = (const float *)call->inputs[X] + row * s->in.c,
			.stride = s->in.c,
			.count = s->depth,
		};

		some = width - row % width < end - row ? width - row % width : end - row;
		nn_gemm_run_parts(ready, g, 0, some, 0, &part, 1, (float *)call->outputs[0] +
				  line * width * g->columns + row % width * g->columns);
	}
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct parts *s = call->ready->state;
	const struct part *p = find_part(s, task);
	struct nn_ready ready = *call->ready;
	struct nn_gemm g = p->gemm;
	size_t first = (task - p->first_task) * g.block_rows, row = g.a_stride * g.element;
	char *copies = scratch, *result = copies + s->copy_size;
	struct pixel at;

	g.rows = g.rows - first < g.block_rows ? g.rows - first : g.block_rows;
	ready.packed = (const char *)ready.packed + p->packed;
	if (s->is_adjacent) {
		run_adjacent(call, s, p, &ready, &g, first);
		return;
	}
	/*
	 * If each part computes all pixels of its output channels, the product writes its result
	 * directly to the output.
	 */
	if (s->in_order) {
		g.c_stride = s->out.c;
		result = (char *)call->outputs[0] + (first * s->out.c + p->out_channel) *
						    g.element;
	}
	/*
	 * Int8 inputs are not read in place, because int8 kernels read beyond the end of a row,
	 * which may be the end of the image.
	 */
	if (s->is_single && g.number == NN_IN_FLOATS) {
		const struct nn_gemm_part part = {
			.a = (const float *)call->inputs[X] + first * s->in.c + p->in_channel,
			.stride = s->in.c,
			.count = s->depth,
		};

		nn_gemm_run_parts(&ready, &g, 0, g.rows, 0, &part, 1, result);
		return;
	}
	for (size_t i = 0; i < g.rows; i++) {
		at = pixel_of(p, first + i);
		copy_window(s, p, call->inputs[X], &at, copies + i * row);
	}
	nn_gemm_run(&ready, &g, 0, 0, copies, result, copies + s->copy_size + s->result_size);
	for (size_t i = 0; i < g.rows && !s->in_order; i++) {
		at = pixel_of(p, first + i);
		copy_result(s, p, &at, result + i * g.columns * g.element, call->outputs[0]);
	}
}

NN_KERNEL(conv_parts, "convolution in parts",
	  sizeof(struct parts) + MAX_SAVED * sizeof(struct part),
	  NN_TAKES(NN_OP_DEPTHWISE_CONV_2D, NN_OP_GROUPED_CONV_2D, NN_OP_TRANSPOSE_CONV_2D),
	  .pack = pack, .pack_task = pack_task, .inputs = 1);
