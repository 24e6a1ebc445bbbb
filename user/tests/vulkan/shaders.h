/* SPDX-License-Identifier: MIT */
/*
 * Runs a graph of dispatches on the CPU. A simple function with the shader's parameters replaces
 * each shader. The functions check that each access lies inside of the accessed tensor, and that
 * each work group is needed.
 */
#ifndef NN_TESTS_VULKAN_SHADERS_H
#define NN_TESTS_VULKAN_SHADERS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/float16.h"
#include "ops/image.h"
#include "ops/quant.h"
#include "ops/softmax_q8.h"
#include "vulkan/graph.h"

static struct {
	const struct graph *graph;
	const struct dispatch *d;
	uint8_t *memory;
} play;

#define play_check(condition)						\
	do {								\
		if (!(condition))					\
			fail_msg("shader %d: %s", play.d->shader, #condition);	\
	} while (0)

/* ---- Tensors ---- */

static void *element_at(uint32_t tensor, int64_t index, uint32_t size)
{
	const uint32_t number = play.d->tensors[tensor];
	const struct value *v;

	play_check(number < play.graph->num_values);
	v = &play.graph->values[number];
	play_check(v->element == size && v->at == (uint64_t)play.d->params.at[tensor] * size);
	play_check(index >= 0 && ((uint64_t)index + 1) * size <= v->size);
	return play.memory + v->at + (uint64_t)index * size;
}

static uint32_t size_of(uint32_t type)
{
	play_check(type <= TYPE_I8);
	return type == TYPE_F16 ? 2 : type == TYPE_U8 || type == TYPE_I8 ? 1 : 4;
}

static int32_t load_int(uint32_t tensor, uint32_t type, int64_t i)
{
	const void *at = element_at(tensor, i, size_of(type));

	return type == TYPE_I32 ? *(const int32_t *)at :
	       type == TYPE_U8 ? *(const uint8_t *)at : *(const int8_t *)at;
}

static float load_float(uint32_t tensor, uint32_t type, int64_t i)
{
	if (type == TYPE_F32)
		return *(const float *)element_at(tensor, i, 4);
	if (type == TYPE_F16)
		return nn_fp16_to_float(*(const uint16_t *)element_at(tensor, i, 2));
	return (float)load_int(tensor, type, i);
}

static void store_int(uint32_t type, int64_t i, int32_t value)
{
	void *at = element_at(OUTPUT, i, size_of(type));

	if (type == TYPE_I32)
		*(int32_t *)at = value;
	else
		*(uint8_t *)at = (uint8_t)value;
}

static void store_float(uint32_t type, int64_t i, float value)
{
	if (type == TYPE_F32)
		*(float *)element_at(OUTPUT, i, 4) = value;
	else if (type == TYPE_F16)
		*(uint16_t *)element_at(OUTPUT, i, 2) = nn_float_to_fp16(value);
	else
		store_int(type, i, (int32_t)value);
}

static bool is_real(uint32_t type)
{
	return type == TYPE_F32 || type == TYPE_F16;
}

static float clamped(float value, float low, float high)
{
	return value < low ? low : value > high ? high : value;
}

/*
 * Checks that the number of work groups is minimal for `count` elements, if each group computes
 * `each` elements.
 */
static void check_groups(uint64_t count, uint32_t each)
{
	const uint32_t *groups = play.d->groups;
	const uint64_t line = (uint64_t)groups[0] * each, all = line * groups[1];

	play_check(groups[2] == 1 && all >= count && all - line < count);
}

static void check_cost(uint64_t cost)
{
	play_check(play.d->cost == cost);
}

/* ---- Elements ---- */

static float real_step(uint32_t step, float v, float o, float x, float y)
{
	switch (step) {
	case STEP_ADD: return v + o;
	case STEP_SUB: return v - o;
	case STEP_RSUB: return o - v;
	case STEP_MUL: return v * o;
	case STEP_DIV: return v / o;
	case STEP_RDIV: return o / v;
	case STEP_MAX: return v > o ? v : o;
	case STEP_MIN: return v < o ? v : o;
	case STEP_POW: return powf(v, o);
	case STEP_RPOW: return powf(o, v);
	case STEP_PRELU: return v >= 0 ? v : v * o;
	case STEP_EQUAL: return v == o;
	case STEP_NOT_EQUAL: return v != o;
	case STEP_LESS: return v < o;
	case STEP_LESS_EQUAL: return v <= o;
	case STEP_GREATER: return v > o;
	case STEP_GREATER_EQUAL: return v >= o;
	case STEP_CLAMP: return clamped(v, x, y);
	case STEP_ABS: return fabsf(v);
	case STEP_NEG: return -v;
	case STEP_FLOOR: return floorf(v);
	case STEP_EXP: return expf(v);
	case STEP_LOG: return logf(v);
	case STEP_SQRT: return sqrtf(v);
	case STEP_RSQRT: return 1 / sqrtf(v);
	case STEP_SIN: return sinf(v);
	case STEP_LOGISTIC: return 1 / (1 + expf(-v));
	case STEP_TANH: return tanhf(v);
	case STEP_ELU: return v > 0 ? v : x * (expf(v) - 1);
	case STEP_HARD_SWISH: return v * fminf(6, fmaxf(0, v + 3)) / 6;
	case STEP_QUANTIZE: return roundf(v / x) + y;
	case STEP_TO_INT: return isnan(v) ? 0 : truncf(v);
	default: fail_msg("step %u", step); return 0;
	}
}

static int32_t whole_step(uint32_t step, int32_t v, int32_t o, float x, float y)
{
	switch (step) {
	case STEP_ADD: return (int32_t)((uint32_t)v + (uint32_t)o);
	case STEP_SUB: return (int32_t)((uint32_t)v - (uint32_t)o);
	case STEP_MUL: return (int32_t)((uint32_t)v * (uint32_t)o);
	case STEP_MAX: return v > o ? v : o;
	case STEP_MIN: return v < o ? v : o;
	case STEP_EQUAL: return v == o;
	case STEP_NOT_EQUAL: return v != o;
	case STEP_LESS: return v < o;
	case STEP_LESS_EQUAL: return v <= o;
	case STEP_GREATER: return v > o;
	case STEP_GREATER_EQUAL: return v >= o;
	case STEP_CLAMP: return v < (int32_t)x ? (int32_t)x : v > (int32_t)y ? (int32_t)y : v;
	case STEP_ABS: return (int32_t)(v < 0 ? 0 - (uint32_t)v : (uint32_t)v);
	case STEP_NEG: return (int32_t)(0 - (uint32_t)v);
	default: fail_msg("step %u", step); return 0;
	}
}

/* Finds the elements of tensors 0 to 2 from which element `i` of the output is computed. */
static void places_of(const struct elementwise_params *p, uint32_t i, int64_t from[3])
{
	play_check(p->rank && p->rank <= MAX_AXES);
	memset(from, 0, 3 * sizeof(*from));
	for (uint32_t axis = p->rank; axis-- > 0; i /= p->dims[axis])
		for (uint32_t t = 0; t < 3; t++)
			from[t] += (int64_t)(i % p->dims[axis]) * p->moves[t * MAX_AXES + axis];
	play_check(!i);
}

static void play_elementwise(void)
{
	const struct elementwise_params *p = &play.d->params.elementwise;
	const uint32_t *types = play.d->constants;
	const bool is_int = play.d->shader == SHADER_elementwise_int;

	play_check(p->num_operands <= 2 && p->num_steps <= MAX_STEPS);
	check_groups(p->count, GROUP_SIZE);
	check_cost(p->count);
	for (uint32_t i = 0; i < p->count; i++) {
		int64_t from[3];
		int32_t w = 0;
		float v = 0;

		places_of(p, i, from);
		if (is_int)
			w = load_int(0, types[0], from[0]);
		else
			v = load_float(0, types[0], from[0]);
		for (uint32_t s = 0; s < p->num_steps; s++) {
			const uint32_t k = p->operands[s], step = p->steps[s];

			play_check(k <= p->num_operands);
			if (is_int)
				w = whole_step(step, w, k ? load_int(k, types[1], from[k]) : 0,
					       p->x[s], p->y[s]);
			else
				v = real_step(step, v, k ? load_float(k, types[1], from[k]) : 0,
					      p->x[s], p->y[s]);
		}
		if (is_int)
			store_int(types[2], i, w);
		else
			store_float(types[2], i, v);
	}
}

static void play_lookup(void)
{
	const struct elementwise_params *p = &play.d->params.elementwise;
	const uint32_t type = play.d->constants[0];

	check_groups(p->count, GROUP_SIZE);
	check_cost(p->count);
	for (uint32_t i = 0; i < p->count; i++) {
		int64_t from[3], entry;

		places_of(p, i, from);
		entry = load_int(0, TYPE_U8, from[0]);
		if (p->num_operands)
			entry = 256 * entry + load_int(1, TYPE_U8, from[1]);
		if (type == TYPE_U8)
			store_int(type, i, load_int(2, type, entry));
		else
			store_float(type, i, load_float(2, TYPE_F32, entry));
	}
}

static void play_copy(void)
{
	const struct copy_params *p = &play.d->params.copy;
	const uint32_t size = size_of(play.d->constants[0]);

	check_groups(p->count, GROUP_SIZE);
	check_cost(p->count);
	for (uint32_t i = 0; i < p->count; i++) {
		int64_t from = p->from, to = p->to;
		uint32_t rest = i;

		for (uint32_t axis = p->rank; axis-- > 0; rest /= p->dims[axis]) {
			from += (int64_t)(rest % p->dims[axis]) * p->from_moves[axis];
			to += (int64_t)(rest % p->dims[axis]) * p->to_moves[axis];
		}
		play_check(!rest);
		memcpy(element_at(OUTPUT, to, size), element_at(0, from, size), size);
	}
}

static void play_resize(void)
{
	const struct resize_params *p = &play.d->params.resize;
	const uint32_t type = play.d->constants[0];

	check_groups(p->count, GROUP_SIZE);
	check_cost(p->count);
	for (uint32_t i = 0; i < p->count; i++) {
		const uint32_t c = i % p->channels, x = i / p->channels % p->out_w;
		const uint32_t y = i / p->channels / p->out_w % p->out_h;
		const uint32_t image = i / p->channels / p->out_w / p->out_h;
		const int64_t rows[] = { load_int(1, TYPE_I32, 3 * y),
					 load_int(1, TYPE_I32, 3 * y + 1) };
		const int64_t columns[] = { load_int(2, TYPE_I32, 3 * x),
					    load_int(2, TYPE_I32, 3 * x + 1) };
		const float down = load_float(1, TYPE_F32, 3 * y + 2);
		const float over = load_float(2, TYPE_F32, 3 * x + 2);
		float sum = 0;

		for (uint32_t k = 0; k < (play.d->constants[1] ? 1 : 4); k++) {
			const int64_t row = rows[k / 2], column = columns[k % 2];
			const float weight = play.d->constants[1] ? 1 :
					     (k / 2 ? down : 1 - down) * (k % 2 ? over : 1 - over);

			play_check(row >= 0 && row < p->in_h && column >= 0 && column < p->in_w);
			sum += weight * load_float(0, type, image * p->in_image +
						   (row * p->in_w + column) * p->in_pixel +
						   c * p->in_channel);
		}
		store_float(type, image * p->out_image + (y * p->out_w + x) * p->out_pixel +
			    c * p->out_channel, sum);
	}
}

static void play_gather(void)
{
	const struct gather_params *p = &play.d->params.gather;
	const uint32_t size = size_of(play.d->constants[0]);

	check_groups(p->count, GROUP_SIZE);
	check_cost(p->count);
	for (uint32_t i = 0; i < p->count; i++) {
		const uint32_t slice = i / p->inner;
		const int32_t index = load_int(1, TYPE_I32, slice % p->indices);
		int64_t from;

		play_check(index >= 0 && (uint32_t)index < p->size);
		from = (int64_t)(slice / p->indices * p->size + (uint32_t)index) * p->inner;
		memcpy(element_at(OUTPUT, i, size), element_at(0, from + i % p->inner, size), size);
	}
}

/* ---- Products and windows ---- */

/*
 * left() returns an element of the image minus the image's zero point. The function right() returns
 * an element of the filter minus the filter's zero point.
 */
static double left(const struct window_params *p, int64_t image, int64_t at)
{
	const uint32_t type = play.d->constants[0];

	switch (play.d->shader) {
	case SHADER_conv_q:
	case SHADER_depthwise_q:
		return load_int(0, type, at) - p->in_zero;
	case SHADER_conv_d:
		return load_int(0, TYPE_U8, at) -
		       load_int(3, TYPE_I32, 2 * (image / p->row_size) + 1);
	default:
		return (double)load_float(0, type, at);
	}
}

static double right(const struct window_params *p, int64_t at)
{
	const uint32_t type = play.d->constants[1];

	return is_real(type) ? (double)load_float(1, type, at) :
			       (double)(load_int(1, type, at) - p->filter_zero);
}

static void finish_sum(const struct window_params *p, double sum, int64_t channel, int64_t to,
		       int64_t image)
{
	const uint32_t type = play.d->constants[0];
	int64_t whole;
	float value;

	if (!is_real(type)) {
		const struct nn_multiplier m = {
			load_int(3, TYPE_I32, 2 * channel), load_int(3, TYPE_I32, 2 * channel + 1),
		};

		whole = (int64_t)sum + (p->has_bias ? load_int(2, TYPE_I32, channel) : 0);
		whole = (int64_t)nn_quant_scale((int32_t)(uint32_t)whole, &m) + p->out_zero;
		store_int(type, to, (int32_t)(whole < p->low_q ? p->low_q :
					      whole > p->high_q ? p->high_q : whole));
		return;
	}
	value = (float)sum;
	if (play.d->shader == SHADER_conv_d)
		value = (float)(int32_t)(uint32_t)(int64_t)sum *
			(load_float(3, TYPE_F32, 2 * (image / p->row_size)) *
			 load_float(4, TYPE_F32, channel));
	if (p->has_bias)
		value += load_float(2, type, channel);
	store_float(type, to, clamped(value, p->low, p->high));
}

/*
 * Returns the image position that element `tap` of the window at output position `out` reads, or -1
 * outside of the image.
 */
static int64_t tap_at(uint32_t out, uint32_t tap, uint32_t stride, uint32_t dilation, int32_t head,
		      uint32_t size)
{
	int64_t at = (int64_t)out * stride - head + (int64_t)tap * dilation;

	if ((play.d->shader == SHADER_conv_f || play.d->shader == SHADER_conv_q) &&
	    play.d->constants[2]) {
		at = (int64_t)out + head - tap;
		at = at % stride ? -1 : at / (int64_t)stride;
	}
	return at < size ? at : -1;
}

static int64_t tap_of(const struct window_params *p, uint32_t pixel, uint32_t tap)
{
	const int64_t y = tap_at(pixel / p->out_w, tap / p->kernel_w, p->stride_h, p->dilation_h,
				 p->head_h, p->in_h);
	const int64_t x = tap_at(pixel % p->out_w, tap % p->kernel_w, p->stride_w, p->dilation_w,
				 p->head_w, p->in_w);

	return y < 0 || x < 0 ? -1 : (y * p->in_w + x) * p->in_pixel;
}

static void play_element(const struct window_params *p, uint32_t batch, uint32_t row,
			 uint32_t column)
{
	const uint32_t pixels = p->out_h * p->out_w, pixel = row % pixels;
	const uint32_t outer = batch / p->inner_batches, inner = batch % p->inner_batches;
	const int64_t image = (int64_t)outer * p->in_outer + inner * p->in_inner +
			      row / pixels * p->in_image;
	const int64_t filter = (int64_t)outer * p->filter_outer + inner * p->filter_inner +
			       column * p->filter_width;
	double sum = 0;

	for (uint32_t tap = 0; tap < p->kernel_h * p->kernel_w; tap++) {
		const int64_t at = tap_of(p, pixel, tap);

		for (uint32_t c = 0; at >= 0 && c < p->depth; c++)
			sum += left(p, image, image + at + c * p->in_channel) *
			       right(p, filter + (tap * p->depth + c) * p->filter_depth);
	}
	finish_sum(p, sum, batch * p->bias_batch + column,
		   batch * p->out_batch + row / pixels * p->out_image + pixel * p->out_pixel +
		   column * p->out_channel, image);
}

static void play_product(void)
{
	const struct window_params *p = &play.d->params.window;
	const uint32_t rows = p->images * p->out_h * p->out_w, *groups = play.d->groups;

	play_check(groups[0] == (rows + TILE - 1) / TILE);
	play_check(groups[1] == (p->width + TILE - 1) / TILE);
	check_cost((uint64_t)rows * p->width * p->kernel_h * p->kernel_w * p->depth * groups[2]);
	for (uint32_t batch = 0; batch < groups[2]; batch++)
		for (uint32_t row = 0; row < rows; row++)
			for (uint32_t column = 0; column < p->width; column++)
				play_element(p, batch, row, column);
}

/* Sums the elements of one channel in a window to *sum; returns the number of added elements. */
static uint32_t play_pool_window(const struct window_params *p, uint32_t pixel, int64_t from,
				 double *sum)
{
	const uint32_t type = play.d->constants[0], way = play.d->constants[1];
	uint32_t count = 0;

	for (uint32_t tap = 0; tap < p->kernel_h * p->kernel_w; tap++) {
		const int64_t at = tap_of(p, pixel, tap);
		double value;

		if (at < 0)
			continue;
		value = is_real(type) ? (double)load_float(0, type, from + at) :
					(double)load_int(0, type, from + at);
		if (way == POOL_MAX)
			*sum = !count || value > *sum ? value : *sum;
		else
			*sum += way == POOL_L2 ? value * value : value;
		count++;
	}
	return count;
}

/*
 * Returns the mean sum / count. If `is_whole` is true, rounds the mean; ties are rounded away from
 * zero.
 */
static double mean_of(double sum, uint32_t count, bool is_whole)
{
	return is_whole ? trunc((sum + (sum > 0 ? 1 : -1) * (double)(count / 2)) / count) :
			  sum / count;
}

static void play_channels(bool is_pool)
{
	const struct window_params *p = &play.d->params.window;
	const uint32_t pixels = p->out_h * p->out_w, taps = p->kernel_h * p->kernel_w;
	const uint32_t count = p->images * pixels * p->width, type = play.d->constants[0];

	check_groups(count, GROUP_SIZE);
	check_cost((uint64_t)count * taps);
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t c = i % p->width, pixel = i / p->width % pixels;
		const uint32_t image = i / p->width / pixels;
		const int64_t from = image * p->in_image + c / p->multiplier * p->in_channel;
		const int64_t to = image * p->out_image + pixel * p->out_pixel + c * p->out_channel;
		double sum = 0;

		if (!is_pool) {
			for (uint32_t tap = 0; tap < taps; tap++) {
				const int64_t at = tap_of(p, pixel, tap);

				if (at >= 0)
					sum += left(p, from, from + at) *
					       right(p, tap * p->width + c);
			}
			finish_sum(p, sum, c, to, from);
			continue;
		}
		const uint32_t terms = play_pool_window(p, pixel, from, &sum);

		if (play.d->constants[1] != POOL_MAX)
			sum = mean_of(sum, terms, !is_real(type));
		if (play.d->constants[1] == POOL_L2)
			sum = sqrt(sum);
		if (is_real(type))
			store_float(type, to, clamped((float)sum, p->low, p->high));
		else
			store_int(type, to, sum < p->low_q ? p->low_q :
				  sum > p->high_q ? p->high_q : (int32_t)sum);
	}
}

/* ---- Rows ---- */

static int64_t axes_at(const struct rows_params *p, uint32_t index, uint32_t first, uint32_t last)
{
	int64_t at = 0;

	for (uint32_t axis = last; axis-- > first; index /= p->dims[axis])
		at += (int64_t)(index % p->dims[axis]) * p->moves[axis];
	play_check(!index);
	return at;
}

static void play_reduce(void)
{
	const struct rows_params *p = &play.d->params.rows;
	const uint32_t type = play.d->constants[0], way = play.d->constants[1];
	const bool is_arg = way == REDUCE_ARGMAX || way == REDUCE_ARGMIN;
	const bool is_least = way == REDUCE_MIN || way == REDUCE_ARGMIN;

	play_check(p->kept <= p->rank && p->rank <= MAX_AXES);
	check_groups(p->count, GROUP_SIZE);
	check_cost((uint64_t)p->count * p->size);
	for (uint32_t o = 0; o < p->count; o++) {
		double result = way == REDUCE_PROD;
		uint32_t where = 0;

		for (uint32_t i = 0; i < p->size; i++) {
			const int64_t at = axes_at(p, o, 0, p->kept) +
					   axes_at(p, i, p->kept, p->rank);
			const double value = is_real(type) ? (double)load_float(0, type, at) :
							     (double)load_int(0, type, at);

			if (way == REDUCE_SUM || way == REDUCE_MEAN) {
				result += value;
			} else if (way == REDUCE_PROD) {
				result *= value;
			} else if (!i || (is_least ? value < result : value > result)) {
				result = value;
				where = i;
			}
		}
		if (way == REDUCE_MEAN)
			result = is_real(type) ? result / p->size : trunc(result / p->size);
		if (is_arg)
			store_int(TYPE_I32, o, (int32_t)where);
		else if (is_real(type))
			store_float(type, o, (float)result);
		else
			store_int(type, o, (int32_t)result);
	}
}

static void play_softmax_bytes(void)
{
	const struct rows_params *p = &play.d->params.rows;
	struct nn_softmax_q8 s = { .flip = play.d->constants[0] == TYPE_I8 ? 0x80 : 0 };

	check_groups(p->count, GROUP_SIZE);
	check_cost((uint64_t)p->count * p->size);
	for (uint32_t i = 0; i < 256; i++) {
		s.exponentials[i] = load_int(1, TYPE_I32, i);
		s.parts[i] = nn_rdp(s.exponentials[i], 12);
	}
	for (uint32_t row = 0; row < p->count; row++) {
		const int64_t at = (int64_t)(row / p->inner) * p->size * p->inner + row % p->inner;

		element_at(OUTPUT, at + (int64_t)(p->size - 1) * p->inner, 1);
		element_at(0, at + (int64_t)(p->size - 1) * p->inner, 1);
		nn_softmax_q8(&s, element_at(0, at, 1), element_at(OUTPUT, at, 1), p->size,
			      p->inner);
	}
}

/* Computes the row that begins at element `at`, as the shaders softmax.comp and norm.comp do. */
static void play_row(const struct rows_params *p, int64_t at)
{
	const uint32_t type = play.d->constants[0], way = play.d->constants[1];
	const bool is_softmax = play.d->shader == SHADER_softmax;
	double sum = 0, squares = 0, largest = -INFINITY, exponentials = 0, mean;

	for (uint32_t i = 0; i < p->size; i++) {
		const double x = (double)load_float(0, type, at + (int64_t)i * p->inner);

		sum += x;
		squares += x * x;
		largest = fmax(largest, x);
	}
	mean = sum / p->size;
	for (uint32_t i = 0; i < p->size; i++) {
		const double x = (double)load_float(0, type, at + (int64_t)i * p->inner);

		exponentials += exp((x - largest) * (double)p->x);
	}
	for (uint32_t i = 0; i < p->size; i++) {
		double x = (double)load_float(0, type, at + (int64_t)i * p->inner), around = 0;

		for (uint32_t k = 0; !is_softmax && way == NORM_RESPONSE && k < p->size; k++) {
			const double y = (double)load_float(0, type, at + (int64_t)k * p->inner);

			around += (k > i ? k - i : i - k) <= p->radius ? y * y : 0;
		}
		if (is_softmax)
			x = way ? (x - largest) * (double)p->x - log(exponentials) :
				  exp((x - largest) * (double)p->x) / exponentials;
		else if (way == NORM_L2)
			x /= fmax(sqrt(squares), 1e-6);
		else if (way == NORM_RESPONSE)
			x *= pow((double)p->x + (double)p->y * around, -(double)p->z);
		else
			x = (x - mean) * (double)p->x /
			    sqrt(squares / p->size - mean * mean + (double)p->z) + (double)p->y;
		store_float(type, at + (int64_t)i * p->inner, (float)x);
	}
}

static void play_rows(void)
{
	const struct rows_params *p = &play.d->params.rows;
	uint8_t *input = element_at(0, 0, size_of(play.d->constants[0]));

	play_check(input != element_at(OUTPUT, 0, size_of(play.d->constants[0])));
	check_groups(p->count, 1);
	check_cost((uint64_t)p->count * p->size);
	for (uint32_t row = 0; row < p->count; row++)
		play_row(p, (int64_t)(row / p->inner) * p->size * p->inner + row % p->inner);
}

/* ---- Quantising at run time ---- */

static uint32_t row_size(const struct quantise_params *p, uint32_t row)
{
	play_check(p->total > row * p->size);
	return p->total - row * p->size < p->size ? p->total - row * p->size : p->size;
}

static float row_element(const struct quantise_params *p, uint32_t row, uint32_t i)
{
	return load_float(0, play.d->constants[0], (int64_t)(row / p->inner) * p->size * p->inner +
			  row % p->inner + (int64_t)i * p->inner);
}

static void play_range(void)
{
	const struct quantise_params *p = &play.d->params.quantise;

	check_groups(p->count, 1);
	check_cost(p->total);
	for (uint32_t row = 0; row < p->count; row++) {
		float low = 0, high = 0;

		for (uint32_t i = 0; i < row_size(p, row); i++) {
			low = fminf(low, row_element(p, row, i));
			high = fmaxf(high, row_element(p, row, i));
		}
		store_float(TYPE_F32, 2 * row, low);
		store_float(TYPE_F32, 2 * row + 1, high);
	}
}

/*
 * Quantises like ONNX's DynamicQuantizeLinear if the shader's constant 1 is set, otherwise each row
 * symmetrically like TensorFlow Lite.
 */
static void play_quantise(void)
{
	const struct quantise_params *p = &play.d->params.quantise;
	float low = 0, high = 0;

	check_groups(p->count, 1);
	check_cost(p->total);
	for (uint32_t row = 0; row < p->count; row++) {
		low = fminf(low, load_float(1, TYPE_F32, 2 * row));
		high = fmaxf(high, load_float(1, TYPE_F32, 2 * row + 1));
	}
	for (uint32_t row = 0; row < p->count; row++) {
		float scale, zero = 128, range;

		range = fmaxf(load_float(1, TYPE_F32, 2 * row + 1),
			      -load_float(1, TYPE_F32, 2 * row));
		scale = range > 0 ? range / 127 : 1;
		if (play.d->constants[1]) {
			scale = high > low ? (high - low) / 255 : 1;
			zero = clamped(rintf(-low / scale), 0, 255);
		}
		for (uint32_t i = 0; i < row_size(p, row); i++) {
			float x = row_element(p, row, i);

			if (play.d->constants[1])
				x = clamped(rintf(x / scale), -zero, 255 - zero);
			else
				x = roundf(clamped(x * (range > 0 ? 127 / range : 0), -127, 127));
			store_int(TYPE_U8, (int64_t)row * p->size + i, (int32_t)(x + zero));
		}
		*(float *)element_at(2, 2 * row, 4) = scale;
		*(int32_t *)element_at(2, 2 * row + 1, 4) = (int32_t)zero;
	}
}

/* ---- Graphs ---- */

static void play_dispatch(void)
{
	switch (play.d->shader) {
	case SHADER_elementwise:
	case SHADER_elementwise_int: play_elementwise(); break;
	case SHADER_lookup: play_lookup(); break;
	case SHADER_copy: play_copy(); break;
	case SHADER_resize: play_resize(); break;
	case SHADER_gather: play_gather(); break;
	case SHADER_conv_d:
	case SHADER_conv_f:
	case SHADER_conv_q: play_product(); break;
	case SHADER_depthwise_f:
	case SHADER_depthwise_q: play_channels(false); break;
	case SHADER_pool: play_channels(true); break;
	case SHADER_reduce: play_reduce(); break;
	case SHADER_softmax_q: play_softmax_bytes(); break;
	case SHADER_softmax:
	case SHADER_norm: play_rows(); break;
	case SHADER_range: play_range(); break;
	case SHADER_quantise: play_quantise(); break;
	default: fail_msg("shader %d is not known", play.d->shader);
	}
}

static uint8_t *play_argument(uint32_t operand)
{
	const struct value *v = &play.graph->values[play.graph->operand_values[operand]];

	return play.memory + v->at;
}

/* Runs a model's graph of dispatches in memory that is first filled with garbage. */
static void play_graph(const struct graph *g, const struct nn_execution *e)
{
	const struct nn_subgraph *main = &g->model->subgraphs[0];

	play.graph = g;
	play.memory = aligned_alloc(256, g->size + 256 - g->size % 256);
	assert_non_null(play.memory);
	memset(play.memory, 0xcb, g->size);
	for (uint32_t i = 0; i < g->num_values; i++)
		if (g->values[i].data && g->values[i].first != UINT32_MAX)
			memcpy(play.memory + g->values[i].at, g->values[i].data, g->values[i].size);
	for (uint32_t i = 0; i < e->num_inputs; i++)
		memcpy(play_argument(main->inputs[i]), e->inputs[i].data, e->inputs[i].length);
	for (uint32_t i = 0; i < g->num_dispatches; i++) {
		play.d = &g->dispatches[i];
		play_dispatch();
	}
	for (uint32_t i = 0; i < e->num_outputs; i++)
		memcpy(e->outputs[i].data, play_argument(main->outputs[i]), e->outputs[i].length);
	free(play.memory);
}

#endif /* NN_TESTS_VULKAN_SHADERS_H */
