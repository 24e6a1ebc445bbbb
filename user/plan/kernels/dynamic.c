/* SPDX-License-Identifier: MIT */
/*
 * DYNAMIC_FULLY_CONNECTED, DYNAMIC_BATCH_MATMUL and DYNAMIC_CONV_2D: a task quantises rows of
 * floats, multiplies bytes, and converts the sums to floats. For depthwise convolutions, a task
 * sums the products of each channel separately.
 */
#include <stdlib.h>
#include <string.h>

#include "ops/conv.h"
#include "ops/dynamic.h"
#include "ops/matmul.h"
#include "ops/traits.h"
#include "plan/kernels/gemm.h"
#include "plan/kernels/squares.h"
#include "plan/kernels/windows.h"

enum { X, WEIGHTS, BIAS };

#define SOME_ROWS 84		/* number of rows that are quantised and multiplied at a time */
#define SOME_COLUMNS 256 /* columns multiplied at a time, to keep sums in the cache */
#define LOOK_COUNT 16384	/* minimum number of elements that one task of look() reads */
/* number of channels in each iteration of loops that compilers vectorise */
#define LANES 16

enum kind { PRODUCT, CONVOLUTION, DEPTHWISE };

struct dynamic {
	enum kind kind;
	enum nn_dynamic_form form;
	/*
	 * The matrix product of each group. A depthwise convolution uses only the sizes, the zero
	 * point and the bounds of the product.
	 */
	struct nn_gemm gemm;
	uint32_t groups;		/* 1, except for a convolution */
	uint32_t columns;		/* of all groups */
	uint32_t channels;		/* of a group of a convolution */
	struct nn_image in;		/* input of a convolution */
	struct nn_window window;
	bool is_window;		/* true: a row of the product is a window, not a single pixel */
	/*
	 * Sizes in bytes of the parts of the scratch memory; the parts have the order of these
	 * fields.
	 */
	size_t rows_size;
	size_t lines_size;		/* size of the quantised lines of an image */
	size_t sums_size;
};

#define NN_STATE struct dynamic
static const struct nn_field fields[] = {
	WORD(kind, 0, DEPTHWISE), WORD(form, 0, NN_DYNAMIC_FORMS - 1),
	DIMENSION(gemm.columns), BYTE_DIFFERENCE(gemm.b_zero), FLOAT(gemm.low), FLOAT(gemm.high),
	WHEN(kind, IS(PRODUCT),
	     DIMENSION(gemm.rows), DIMENSION(gemm.depth),
	     SPAN(INPUT(X), FLOATS, gemm.rows, gemm.depth),
	     SPAN(OUTPUT(0), FLOATS, gemm.rows, gemm.columns)),
	DIMENSION(groups), DIMENSION(columns), EQUAL(columns, groups, gemm.columns),
	WHEN(kind, IS(PRODUCT), LIMIT(1, groups)),
	WHEN(kind, SET,
	     IMAGE_WINDOW(in, window), WINDOW_REACHES(window),
	     LIMIT(UINT32_MAX, window.h.filter, window.w.filter, in.c),
	     DIMENSION(channels), EQUAL(in.c, groups, channels),
	     SPAN(INPUT(X), FLOATS, in.n, window.h.in, window.w.in, in.c),
	     SPAN(OUTPUT(0), FLOATS, in.n, window.h.out, window.w.out, columns)),
	WHEN(kind, IS(DEPTHWISE), EQUAL(gemm.columns, in.c), LIMIT(1, groups)),
	END
};

/*
 * Arrays that follow the packed weights in memory. Each array has one element for each column of
 * the product, and is padded to whole panels.
 */
struct columns {
	const float *scales;
	const float *biases;
	/* sums of the differences of the weights from their zero point */
	const int32_t *sums;
};

static size_t padded(size_t columns)
{
	return round_up(columns, NN_Q8_CHANNELS);
}

static size_t taps_of(const struct dynamic *d)
{
	return (size_t)d->window.h.filter * d->window.w.filter;
}

/* Returns the size of a group's packed weights in bytes. */
static size_t weights_size(const struct dynamic *d, const struct nn_isa *isa)
{
	return nn_kernel_aligned(d->kind == DEPTHWISE ?
				 taps_of(d) * padded(d->gemm.columns) * sizeof(int16_t) :
				 nn_gemm_packed_size(&d->gemm, isa));
}

static struct columns columns_of(const struct dynamic *d, const struct nn_ready *ready,
				 const void *packed)
{
	const float *scales = (const void *)((const char *)packed +
					     d->groups * weights_size(d, ready->isa));
	const size_t count = padded(d->columns);

	return (struct columns){ scales, scales + count, (const int32_t *)(scales + 2 * count) };
}

/* ---- Preparing ---- */

static void read_fully_connected(const struct nn_run *r, struct dynamic *d)
{
	d->gemm.rows = r->outputs[0].dims[0];
	d->gemm.columns = r->inputs[WEIGHTS].dims[0];
	d->gemm.depth = r->inputs[WEIGHTS].dims[1];
}

/* Reads a BATCH_MATMUL whose weights are one matrix for all batches. */
static bool read_matmul(const struct nn_run *r, struct dynamic *d)
{
	const struct nn_tensor *x = &r->inputs[X], *y = &r->inputs[WEIGHTS];
	const struct nn_factor a = nn_matmul_factor(r, X), b = nn_matmul_factor(r, WEIGHTS);

	if (a.column_step != 1 || nn_tensor_product(y, 0, y->rank - 2) != 1)
		return false;
	d->gemm.rows = nn_tensor_count(x) / a.columns;
	d->gemm.columns = b.columns;
	d->gemm.depth = a.columns;
	return true;
}

static bool read_conv(const struct nn_run *r, struct dynamic *d)
{
	struct nn_conv v;

	if (nn_conv_read(r, &v) || v.nchw)
		return false;
	d->kind = v.groups > 1 && v.depth == 1 && v.width == 1 ? DEPTHWISE : CONVOLUTION;
	d->groups = d->kind == DEPTHWISE ? 1 : v.groups;
	d->channels = v.in.c / d->groups;
	d->in = v.in;
	d->window = v.window;
	d->gemm.columns = v.out.c / d->groups;
	return true;
}

/* Sets the dimensions of the matrix product from those of the image and the window. */
static void set_conv(struct dynamic *d)
{
	const struct nn_axis *h = &d->window.h, *w = &d->window.w;

	d->is_window = h->filter != 1 || w->filter != 1 || h->stride != 1 || w->stride != 1 ||
		       h->out != h->in || w->out != w->in || d->groups > 1;
	d->gemm.rows = (size_t)d->in.n * h->out * w->out;
	d->gemm.depth = taps_of(d) * (d->kind == DEPTHWISE ? 1 : d->channels);
}

/* Returns the maximum number of image lines that are read at a time. */
static size_t most_lines(const struct dynamic *d)
{
	const struct nn_axis *h = &d->window.h;
	const size_t outputs = d->kind == DEPTHWISE ? 1 : (SOME_ROWS - 2) / d->window.w.out + 2;
	const size_t lines = (outputs - 1) * h->stride + (size_t)(h->filter - 1) * h->dilation + 1;

	return lines < h->in ? lines : h->in;
}

/*
 * Returns the number of elements that are quantised with one range: a row of the product, or an
 * image.
 */
static size_t item_size(const struct dynamic *d)
{
	return d->kind != PRODUCT ? (size_t)d->in.h * d->in.w * d->in.c : d->gemm.depth;
}

static size_t input_count(const struct dynamic *d)
{
	return (d->kind != PRODUCT ? d->in.n : d->gemm.rows) * item_size(d);
}

static uint32_t looks_of(const struct dynamic *d, uint32_t threads)
{
	const size_t parts = input_count(d) / LOOK_COUNT;
	const size_t most = threads > 1 ? 2 * (size_t)threads : 1;
	const size_t looks = parts < most ? parts : most;

	return !looks ? 1 : looks < NN_MAX_LOOKS ? (uint32_t)looks : NN_MAX_LOOKS;
}

static bool complete(void *state, struct nn_ready *ready)
{
	struct dynamic *d = state;
	struct nn_gemm *g = &d->gemm;
	size_t line;

	nn_image_of_window(&d->in, &d->window);
	line = (size_t)d->in.w * d->in.c;
	if (d->kind != PRODUCT)
		set_conv(d);
	if (d->form == NN_DYNAMIC_TENSOR) {
		ready->looks = looks_of(d, ready->threads);
		ready->looked = input_count(d);
	}
	g->number = NN_IN_INT8;
	g->sums = true;
	if (!nn_gemm_complete(g, ready->isa))
		return false;
	ready->packed_size = d->groups * weights_size(d, ready->isa) +
			     3 * padded(d->columns) * sizeof(float);
	if (d->kind == DEPTHWISE) {
		const uint32_t lines = d->in.n * d->window.h.out;

		d->rows_size = nn_kernel_aligned(line);
		d->lines_size = nn_kernel_aligned((most_lines(d) * line + LANES) * sizeof(int16_t));
		ready->tasks = ready->threads > 1 && lines > ready->threads ? ready->threads : 1;
		ready->scratch_size = d->rows_size + d->lines_size;
		return true;
	}
	nn_gemm_divide(g, ready->isa, ready->threads, g->rows);
	d->rows_size = nn_kernel_aligned(SOME_ROWS * g->a_stride + NN_WINDOWS_EXCESS);
	d->lines_size = !d->is_window ? 0 :
			nn_kernel_aligned(most_lines(d) * line + NN_WINDOWS_EXCESS);
	d->sums_size = nn_kernel_aligned(SOME_ROWS * sizeof(int32_t) *
					 (padded(g->columns) < SOME_COLUMNS ? padded(g->columns) :
									      SOME_COLUMNS));
	ready->scratch_size = d->rows_size + d->lines_size + d->sums_size +
			      nn_gemm_scratch(g, ready->isa);
	ready->tasks = g->row_blocks * g->column_blocks;
	return true;
}

static bool prepare(struct nn_run *r, struct nn_ready *ready)
{
	const struct nn_tensor *weights = &r->inputs[WEIGHTS];
	const bool is_conv = r->op->code == NN_OP_DYNAMIC_CONV_2D;
	const bool is_matmul = r->op->code == NN_OP_DYNAMIC_BATCH_MATMUL;
	const uint32_t activation = nn_run_activation(r);
	struct dynamic *d = ready->state;

	d->groups = 1;
	if (r->inputs[X].type != NN_TENSOR_FLOAT32 || !weights->data ||
	    (!is_matmul && !r->inputs[BIAS].data))
		return false;
	if (is_conv ? !read_conv(r, d) : is_matmul && !read_matmul(r, d))
		return false;
	if (!is_conv && !is_matmul)
		read_fully_connected(r, d);
	d->columns = d->groups * (uint32_t)d->gemm.columns;
	d->gemm.b_zero = nn_q8_signed_zero(weights);
	d->form = (enum nn_dynamic_form)nn_run_int(r, nn_dynamic_form_input(r), 0);
	nn_fused_range_float(activation ? nn_run_int(r, activation, 0) : 0, &d->gemm.low,
			     &d->gemm.high);
	return complete(d, ready);
}

/* ---- Packing ---- */

static void pack_columns(const struct nn_run *r, const struct dynamic *d,
			 const struct nn_tensor *weights, const struct columns *columns)
{
	const struct nn_extra *extra = r->inputs[WEIGHTS].extra;
	const float *bias = r->op->code == NN_OP_DYNAMIC_BATCH_MATMUL ? NULL : r->inputs[BIAS].data;
	const uint8_t *bytes = weights->data;
	float *scales = (float *)columns->scales, *biases = (float *)columns->biases;
	int32_t *sums = (int32_t *)columns->sums;

	memset(scales, 0, 3 * padded(d->columns) * sizeof(*scales));
	for (size_t c = 0; c < d->columns; c++, bytes += d->gemm.depth) {
		int32_t sum = 0;

		for (size_t k = 0; k < d->gemm.depth; k++)
			sum += nn_q8_signed(weights, bytes[k]) - d->gemm.b_zero;
		scales[c] = extra->kind == NN_EXTRA_CHANNEL_QUANT ? extra->scales[c] :
								    weights->scale;
		biases[c] = bias ? bias[c] : 0;
		sums[c] = sum;
	}
}

/* Packs the taps of all channels, and subtracts the zero point from the taps. */
static void pack_taps(const struct dynamic *d, const struct nn_tensor *weights, int16_t *to)
{
	const size_t taps = taps_of(d), channels = padded(d->gemm.columns);
	const uint8_t *bytes = weights->data;

	memset(to, 0, taps * channels * sizeof(*to));
	for (size_t c = 0; c < d->gemm.columns; c++)
		for (size_t k = 0; k < taps; k++)
			to[k * channels + c] = (int16_t)(nn_q8_signed(weights, *bytes++) -
							 d->gemm.b_zero);
}

static bool pack(struct nn_run *r, const struct nn_ready *ready, void *packed)
{
	const struct dynamic *d = ready->state;
	const struct columns columns = columns_of(d, ready, packed);
	struct nn_tensor weights = r->inputs[WEIGHTS];
	uint8_t *transposed = NULL;

	if (r->op->code == NN_OP_DYNAMIC_BATCH_MATMUL &&
	    nn_matmul_factor(r, WEIGHTS).column_step == 1) {
		transposed = malloc(d->gemm.columns * d->gemm.depth);
		if (!transposed)
			return false;
		transpose_bytes(weights.data, d->gemm.depth, d->gemm.columns, d->gemm.columns,
				transposed, d->gemm.depth);
		weights.data = transposed;
	}
	pack_columns(r, d, &weights, &columns);
	if (d->kind == DEPTHWISE)
		pack_taps(d, &weights, packed);
	for (uint32_t i = 0; d->kind != DEPTHWISE && i < d->groups; i++) {
		nn_gemm_pack_sums(&weights, &d->gemm, ready->isa,
				  (char *)packed + i * weights_size(d, ready->isa));
		weights.data = (char *)weights.data + d->gemm.columns * d->gemm.depth;
	}
	free(transposed);
	return true;
}

/* ---- Running ---- */

/*
 * Quantises the rows or images of an input, and caches the quantisation of the last row or image.
 */
struct quantiser {
	const struct nn_isa *isa;
	const float *x;
	size_t length;			/* elements of a row or image */
	size_t index;	/* index of the row or image whose quantisation is `how`; SIZE_MAX: none */
	enum nn_dynamic_form form;
	struct nn_dynamic how;
};

static void look(const struct nn_kernel_call *call, uint32_t task)
{
	const size_t count = input_count(call->ready->state), looks = call->ready->looks;
	const size_t first = count * task / looks, end = count * (task + 1) / looks;
	struct nn_range *to = &call->ranges[task];

	*to = (struct nn_range){ 0 };
	nn_dynamic_range((const float *)call->inputs[X] + first, end - first, &to->low, &to->high);
}

/* Returns the quantisation for the whole input, from the ranges that look() found. */
static struct nn_dynamic whole(const struct nn_kernel_call *call)
{
	struct nn_range all = { 0 };

	for (uint32_t i = 0; i < call->ready->looks; i++) {
		all.low = call->ranges[i].low < all.low ? call->ranges[i].low : all.low;
		all.high = call->ranges[i].high > all.high ? call->ranges[i].high : all.high;
	}
	return nn_dynamic_of(NN_DYNAMIC_TENSOR, all.low, all.high);
}

static struct quantiser quantiser_of(const struct nn_kernel_call *call, const struct dynamic *d)
{
	struct quantiser q = {
		.isa = call->ready->isa,
		.x = call->inputs[X],
		.length = item_size(d),
		.index = SIZE_MAX,
		.form = d->form,
	};

	if (d->form == NN_DYNAMIC_TENSOR)
		q.how = whole(call);
	return q;
}

static const struct nn_dynamic *quantiser_at(struct quantiser *q, size_t index)
{
	float low = 0, high = 0;

	if (q->index == index || q->form == NN_DYNAMIC_TENSOR)
		return &q->how;
	q->index = index;
	nn_dynamic_range(q->x + index * q->length, q->length, &low, &high);
	q->how = nn_dynamic_of(q->form, low, high);
	return &q->how;
}

/* Converts `columns` sums of one row to floats. `how` is the quantisation of the input's row. */
static void finish(const struct nn_isa *isa, const struct dynamic *d, const struct columns *all,
		   size_t first, size_t columns, const int32_t *sums, const struct nn_dynamic *how,
		   float *to)
{
	isa->dynamic_floats(&(struct nn_dynamic_sums){
		.count = columns,
		.sums = sums,
		.weights = all->sums + first,
		.scales = all->scales + first,
		.biases = all->biases + first,
		.scale = how->scale,
		.zero = how->zero,
		.low = d->gemm.low,
		.high = d->gemm.high,
		.out = to,
	});
}

/* Finds the image lines that the windows of output lines `first` to `last` read. */
static void find_lines(const struct nn_axis *h, size_t first, size_t last, size_t *from,
		       size_t *count)
{
	const int64_t begin = (int64_t)(first * h->stride) - h->head;
	const int64_t end = (int64_t)(last * h->stride) - h->head +
			    (int64_t)(h->filter - 1) * h->dilation + 1;

	*from = begin < 0 ? 0 : begin < h->in ? (size_t)begin : h->in;
	*count = (end < h->in ? end < 0 ? 0 : (size_t)end : h->in);
	*count = *count > *from ? *count - *from : 0;
}

/*
 * Quantises the lines that the windows of `count` output pixels of one image read. Returns the
 * description of these windows' first group.
 */
static struct nn_windows quantise_windows(const struct dynamic *d, struct quantiser *q,
					  size_t first, size_t count, uint8_t *lines)
{
	const struct nn_axis *h = &d->window.h, *w = &d->window.w;
	const size_t image = first / w->out / h->out, y = first / w->out % h->out;
	const size_t last = (first + count - 1) / w->out % h->out;
	const size_t line = (size_t)w->in * d->in.c;
	const struct nn_dynamic *how = quantiser_at(q, image);
	size_t from, there;

	find_lines(h, y, last, &from, &there);
	q->isa->dynamic_bytes(how, q->x + image * q->length + from * line, there * line, lines);
	return (struct nn_windows){
		.window = &d->window, .pixel = d->channels, .step = d->in.c,
		.stride = d->gemm.a_stride, .first_line = from, .end_line = from + there,
		.padding = (uint8_t)how->zero,
	};
}

/* Quantises rows of the product; each row is a row or a pixel of the input. */
static void quantise_rows(const struct dynamic *d, struct quantiser *q, size_t first, size_t count,
			  uint8_t *rows, struct nn_dynamic *how)
{
	const size_t depth = d->gemm.depth, pixels = d->kind != PRODUCT ? q->length / depth : 1;

	for (size_t i = 0; i < count; i++, rows += d->gemm.a_stride) {
		how[i] = *quantiser_at(q, (first + i) / pixels);
		q->isa->dynamic_bytes(&how[i], q->x + (first + i) * depth, depth, rows);
	}
}

/*
 * Multiplies `count` rows of a group, from row `first` on, and converts the sums to floats. how[i *
 * how_step] is the quantisation of row i.
 */
static void run_rows(const struct nn_kernel_call *call, const struct dynamic *d, uint32_t task,
		     uint32_t group, size_t first, size_t count, const uint8_t *rows, int32_t *sums,
		     const struct nn_dynamic *how, size_t how_step)
{
	const struct nn_gemm *g = &d->gemm;
	const struct columns all = columns_of(d, call->ready, call->ready->packed);
	const size_t before = group * g->columns;
	struct nn_ready ready = *call->ready;
	size_t first_column, columns;
	const size_t end_column = nn_gemm_columns(g, task % g->column_blocks, &first_column) +
				  first_column;

	ready.packed = (const char *)ready.packed + group * weights_size(d, ready.isa);
	for (size_t c = first_column; c < end_column; c += columns) {
		columns = end_column - c < SOME_COLUMNS ? end_column - c : SOME_COLUMNS;
		nn_gemm_run_sums(&ready, g, count, c, columns, rows, sums, padded(columns),
				 (char *)sums + d->sums_size);
		for (size_t i = 0; i < count; i++)
			finish(ready.isa, d, &all, before + c, columns, sums + i * padded(columns),
			       &how[i * how_step],
			       (float *)call->outputs[0] + (first + i) * d->columns + before + c);
	}
}

static void run_products(const struct nn_kernel_call *call, const struct dynamic *d,
			 uint32_t task, char *scratch)
{
	const struct nn_gemm *g = &d->gemm;
	const size_t begin = task / g->column_blocks * g->block_rows;
	const size_t end = g->rows - begin < g->block_rows ? g->rows : begin + g->block_rows;
	const size_t image = (size_t)d->window.h.out * d->window.w.out;
	struct quantiser q = quantiser_of(call, d);
	uint8_t *rows = (uint8_t *)scratch, *lines = rows + d->rows_size;
	int32_t *sums = (int32_t *)(lines + d->lines_size);
	struct nn_dynamic how[SOME_ROWS];
	struct nn_windows windows;
	size_t count;

	for (size_t first = begin; first < end; first += count) {
		count = end - first < SOME_ROWS ? end - first : SOME_ROWS;
		if (!d->is_window) {
			quantise_rows(d, &q, first, count, rows, how);
			run_rows(call, d, task, 0, first, count, rows, sums, how, 1);
			continue;
		}
		if (image - first % image < count)
			count = image - first % image;
		windows = quantise_windows(d, &q, first, count, lines);
		for (uint32_t i = 0; i < d->groups; i++) {
			nn_copy_windows(&windows, (char *)lines + i * d->channels, first, count,
					(char *)rows);
			run_rows(call, d, task, i, first, count, rows, sums, &q.how, 0);
		}
	}
}

/*
 * Sums the products of LANES channels for one output pixel. `lines` has the image's lines from line
 * `from` on.
 */
static void sum_taps(const struct dynamic *d, const int16_t *lines, size_t from, size_t y, size_t x,
		     const int16_t *weights, int32_t sums[LANES])
{
	const struct nn_axis *h = &d->window.h, *w = &d->window.w;
	const struct nn_taps rows = nn_axis_taps(h, (uint32_t)y), row = nn_axis_taps(w, (uint32_t)x);
	const size_t channels = d->in.c, step = padded(channels);
	int32_t acc[LANES] = { 0 };

	for (uint32_t i = rows.first; i < rows.last; i++) {
		const size_t at = (size_t)(rows.start + (int64_t)i * h->dilation) - from;

		for (uint32_t j = row.first; j < row.last; j++) {
			const size_t column = (size_t)(row.start + (int64_t)j * w->dilation);
			const int16_t *in = lines + (at * w->in + column) * channels;
			const int16_t *tap = weights + ((size_t)i * w->filter + j) * step;

			for (size_t k = 0; k < LANES; k++)
				acc[k] += in[k] * tap[k];
		}
	}
	memcpy(sums, acc, sizeof(acc));
}

/* Quantised lines of an image as 16-bit numbers, with the zero point subtracted. */
struct lines {
	int16_t *values;
	size_t image;
	size_t from;
	size_t count;
};

/*
 * Quantises the input lines that one output line reads. Reuses the input lines that the previous
 * output line also read.
 */
static void quantise_lines(const struct dynamic *d, struct quantiser *q, size_t image, size_t from,
			   size_t count, uint8_t *bytes, struct lines *lines)
{
	const size_t line = (size_t)d->in.w * d->in.c, end = lines->from + lines->count;
	const struct nn_dynamic *how = quantiser_at(q, image);
	size_t kept = 0;

	if (lines->image == image && from >= lines->from && from < end) {
		kept = end - from < count ? end - from : count;
		memmove(lines->values, lines->values + (from - lines->from) * line,
			kept * line * sizeof(*lines->values));
	}
	for (size_t i = kept; i < count; i++) {
		q->isa->dynamic_bytes(how, q->x + image * q->length + (from + i) * line, line, bytes);
		for (size_t k = 0; k < line; k++)
			lines->values[i * line + k] = (int16_t)(bytes[k] - how->zero);
	}
	memset(lines->values + count * line, 0, LANES * sizeof(*lines->values));
	lines->image = image;
	lines->from = from;
	lines->count = count;
}

/* Computes one output line of a depthwise convolution. */
static void run_depthwise_line(const struct nn_kernel_call *call, const struct dynamic *d,
			       struct quantiser *q, size_t index, uint8_t *bytes,
			       struct lines *lines)
{
	const struct nn_axis *h = &d->window.h, *w = &d->window.w;
	const struct columns all = columns_of(d, call->ready, call->ready->packed);
	const int16_t *weights = call->ready->packed;
	const size_t image = index / h->out, y = index % h->out, channels = d->in.c;
	float *out = (float *)call->outputs[0] + index * w->out * channels;
	struct nn_dynamic less_zero;
	size_t from, there;

	find_lines(h, y, y, &from, &there);
	quantise_lines(d, q, image, from, there, bytes, lines);
	less_zero = q->how;
	less_zero.zero = 0;
	for (size_t x = 0; x < w->out; x++, out += channels) {
		for (size_t c = 0; c < channels; c += LANES) {
			int32_t sums[LANES];

			sum_taps(d, lines->values + c, from, y, x, weights + c, sums);
			finish(q->isa, d, &all, c, channels - c < LANES ? channels - c : LANES,
			       sums, &less_zero, out + c);
		}
	}
}

static void run(const struct nn_kernel_call *call, uint32_t task, void *scratch)
{
	const struct dynamic *d = call->ready->state;
	const size_t lines = (size_t)d->in.n * d->window.h.out;
	struct quantiser q = quantiser_of(call, d);
	struct lines kept = { .values = (int16_t *)((char *)scratch + d->rows_size),
			      .image = SIZE_MAX };

	if (d->kind != DEPTHWISE) {
		run_products(call, d, task, scratch);
		return;
	}
	for (size_t i = lines * task / call->ready->tasks;
	     i < lines * (task + 1) / call->ready->tasks; i++)
		run_depthwise_line(call, d, &q, i, scratch, &kept);
}

NN_KERNEL(dynamic, "dynamic product", sizeof(struct dynamic),
	  NN_TAKES(NN_OP_DYNAMIC_FULLY_CONNECTED, NN_OP_DYNAMIC_BATCH_MATMUL, NN_OP_DYNAMIC_CONV_2D),
	  .pack = pack, .look = look, .inputs = 1);
