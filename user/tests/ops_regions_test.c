/* SPDX-License-Identifier: MIT */
/*
 * Compares ROI_ALIGN, ROI_POOLING, HEATMAP_MAX_KEYPOINT, TOPK_V2, STRIDED_SLICE and
 * RESIZE_NEAREST_NEIGHBOR with simple implementations, bit by bit. Some tensor sizes are multiples
 * of the sizes of vectors and blocks, other sizes are not. The tensors' elements include NaNs,
 * infinities and equal numbers.
 */
#include <math.h>

#include "op_case.h"
#include "ops/box.h"
#include "vectors/random.h"
#include "tests/heap_blocks.h"

#define ROUNDS 300

/*
 * Makes random floats: arbitrary numbers, few different numbers, or arbitrary numbers with NaNs,
 * infinities and zeros.
 */
static void any_floats(float *to, size_t count)
{
	static const float odd[] = { NAN, INFINITY, -INFINITY, -0.0f, 0 };
	uint32_t kind = pick(0, 2);

	for (size_t i = 0; i < count; i++) {
		to[i] = kind == 1 ? (float)pick(0, 5) - 2 : random_float(-2, 2);
		if (kind == 2 && chance(20))
			to[i] = odd[pick(0, 4)];
	}
}

struct regions {
	uint32_t h, w, c, count, out_h, out_w;
	float image[16 * 16 * 80];
	float boxes[6][4];
};

static void any_regions(struct regions *g)
{
	g->h = pick(2, 16);
	g->w = pick(2, 16);
	g->c = pick(1, 80);
	g->count = pick(1, 6);
	g->out_h = pick(1, 5);
	g->out_w = pick(1, 5);
	any_floats(g->image, (size_t)g->h * g->w * g->c);
	for (uint32_t i = 0; i < g->count; i++) {
		g->boxes[i][0] = random_float(0, (float)g->w - 1);
		g->boxes[i][1] = random_float(0, (float)g->h - 1);
		g->boxes[i][2] = random_float(g->boxes[i][0], (float)g->w);
		g->boxes[i][3] = random_float(g->boxes[i][1], (float)g->h);
	}
}

static float pixel(const struct regions *g, uint32_t y, uint32_t x, uint32_t c)
{
	return g->image[(y * g->w + x) * g->c + c];
}

static void run_regions(struct op_case *c, const struct regions *g, const char *name,
			const int32_t *samples)
{
	const int32_t batches[6] = { 0 };

	oc_init(c, name);
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(1, g->h, g->w, g->c), g->image);
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(g->count, 4), g->boxes);
	oc_input(c, NN_TENSOR_INT32, OC_DIMS(g->count), batches);
	oc_int(c, (int32_t)g->out_h);
	oc_int(c, (int32_t)g->out_w);
	oc_float(c, 1);
	oc_float(c, 1);
	for (int i = 0; samples && i < 2; i++)
		oc_int(c, samples[i]);
	oc_bool(c, false);
	oc_output(c, NN_TENSOR_FLOAT32);
	assert_int_equal(oc_run(c), NN_OK);
}

static float at_sample(float start, float step, uint32_t samples, uint32_t cell, uint32_t sample)
{
	return start + step * (float)cell + step / (float)samples * ((float)sample + 0.5f);
}

/*
 * Returns the pixel at or below a coordinate, and stores the coordinate's distance from this pixel
 * in *far.
 */
static uint32_t below(float at, uint32_t size, float *far)
{
	bool is_last = !(at < (float)(size - 1));

	*far = is_last ? 0 : at - (float)(uint32_t)at;
	return is_last ? size - 1 : (uint32_t)at;
}

static float mean(const struct regions *g, const float *box, uint32_t i, uint32_t j, uint32_t c,
		  const int32_t *asked)
{
	float step_y = fmaxf(box[3] - box[1], 1) / (float)g->out_h;
	float step_x = fmaxf(box[2] - box[0], 1) / (float)g->out_w, sum = 0;
	uint32_t rows = asked[0] ? (uint32_t)asked[0] : (uint32_t)ceilf(step_y);
	uint32_t columns = asked[1] ? (uint32_t)asked[1] : (uint32_t)ceilf(step_x);

	for (uint32_t p = 0; p < rows; p++)
		for (uint32_t q = 0; q < columns; q++) {
			float fy, fx;
			uint32_t y = below(at_sample(box[1], step_y, rows, i, p), g->h, &fy);
			uint32_t x = below(at_sample(box[0], step_x, columns, j, q), g->w, &fx);
			uint32_t y1 = y + 1 < g->h ? y + 1 : y, x1 = x + 1 < g->w ? x + 1 : x;

			sum += pixel(g, y, x, c) * ((1 - fy) * (1 - fx));
			sum += pixel(g, y, x1, c) * ((1 - fy) * fx);
			sum += pixel(g, y1, x, c) * (fy * (1 - fx));
			sum += pixel(g, y1, x1, c) * (fy * fx);
		}
	return sum / ((float)rows * (float)columns);
}

static uint32_t inside(float at, uint32_t size)
{
	return at <= 0 ? 0 : at >= (float)size ? size : (uint32_t)at;
}

static float most(const struct regions *g, const float *box, uint32_t i, uint32_t j, uint32_t c)
{
	float top = roundf(box[1]), left = roundf(box[0]), largest;
	float step_y = fmaxf(roundf(box[3]) - top + 1, 1) / (float)g->out_h;
	float step_x = fmaxf(roundf(box[2]) - left + 1, 1) / (float)g->out_w;
	uint32_t y0 = inside(floorf(top + step_y * (float)i), g->h);
	uint32_t y1 = inside(ceilf(top + step_y * (float)(i + 1)), g->h);
	uint32_t x0 = inside(floorf(left + step_x * (float)j), g->w);
	uint32_t x1 = inside(ceilf(left + step_x * (float)(j + 1)), g->w);

	if (y0 >= y1 || x0 >= x1)
		return 0;
	largest = pixel(g, y0, x0, c);
	for (uint32_t y = y0; y < y1; y++)
		for (uint32_t x = x0; x < x1; x++)
			if (pixel(g, y, x, c) > largest)
				largest = pixel(g, y, x, c);
	return largest;
}

/* Compares two floats bit by bit, except that all NaNs are equal. */
static void assert_same(float is, float should, const char *name, int round)
{
	if (memcmp(&is, &should, sizeof(is)) && !(isnan(is) && isnan(should)))
		fail_msg("%s, round %d: %a, not %a", name, round, (double)is, (double)should);
}

static void test_regions(void **state)
{
	static struct regions g;
	struct op_case c;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		const int32_t samples[2] = { (int32_t)pick(0, 5), (int32_t)pick(0, 5) };
		const bool aligns = chance(2);
		const char *name = aligns ? "ROI_ALIGN" : "ROI_POOLING";
		const float *out;

		any_regions(&g);
		run_regions(&c, &g, name, aligns ? samples : NULL);
		out = oc_result(&c, 0)->data;
		for (uint32_t n = 0; n < g.count; n++)
			for (uint32_t i = 0; i < g.out_h * g.out_w; i++)
				for (uint32_t k = 0; k < g.c; k++) {
					uint32_t y = i / g.out_w, x = i % g.out_w;

					assert_same(*out++, aligns ?
						    mean(&g, g.boxes[n], y, x, k, samples) :
						    most(&g, g.boxes[n], y, x, k), name, round);
				}
		oc_free(&c);
	}
}

/*
 * HEATMAP_MAX_KEYPOINT finds the first peak of each map; the test puts the peak at a random
 * position. The result of a map is the same whether or not the tensor has other maps.
 */
static void test_peaks(void **state)
{
	static float maps[12 * 12 * 40];

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		const uint32_t size = pick(2, 12), count = pick(1, 40);
		const float box[4] = { 0, 0, (float)size, (float)size };
		const float *score;
		struct op_case c;

		for (uint32_t i = 0; i < size * size * count; i++)
			maps[i] = chance(30) ? NAN : -(float)pick(0, 9);
		/*
		 * Each map has its largest value at two positions, of which the first position is
		 * the peak.
		 */
		for (uint32_t k = 0; k < count; k++) {
			uint32_t first = pick(0, size * size - 1);

			maps[first * count + k] = 64 + (float)k;
			maps[pick(first, size * size - 1) * count + k] = 64 + (float)k;
		}
		oc_init(&c, "HEATMAP_MAX_KEYPOINT");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, size, size, count), maps);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 4), box);
		oc_bool(&c, false);
		oc_output(&c, NN_TENSOR_FLOAT32);
		oc_output(&c, NN_TENSOR_FLOAT32);
		assert_int_equal(oc_run(&c), NN_OK);
		score = oc_result(&c, 0)->data;
		for (uint32_t k = 0; k < count; k++) {
			/*
			 * The kernel computes a single map without vector instructions; the result
			 * must equal the result for several maps.
			 */
			static float alone[12 * 12];
			struct op_case one;

			for (uint32_t i = 0; i < size * size; i++)
				alone[i] = maps[i * count + k];
			oc_init(&one, "HEATMAP_MAX_KEYPOINT");
			oc_input(&one, NN_TENSOR_FLOAT32, OC_DIMS(1, size, size, 1), alone);
			oc_input(&one, NN_TENSOR_FLOAT32, OC_DIMS(1, 4), box);
			oc_bool(&one, false);
			oc_output(&one, NN_TENSOR_FLOAT32);
			oc_output(&one, NN_TENSOR_FLOAT32);
			assert_int_equal(oc_run(&one), NN_OK);
			assert_same(score[k], *(const float *)oc_result(&one, 0)->data, "peak",
				    round);
			for (int i = 0; i < 2; i++)
				assert_same(((const float *)oc_result(&c, 1)->data)[2 * k + i],
					    ((const float *)oc_result(&one, 1)->data)[i],
					    "place", round);
			oc_free(&one);
		}
		oc_free(&c);
	}
}

struct element {
	double value;
	int32_t index;
};

static int compare(const void *a, const void *b)
{
	const struct element *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return x->index < y->index ? 1 : -1;
}

#define MAX_ROW 400

static double number(int32_t type, const void *data, size_t i)
{
	float real;

	if (type == NN_TENSOR_INT32)
		return ((const int32_t *)data)[i];
	if (type == NN_TENSOR_QUANT8_ASYMM)
		return ((const uint8_t *)data)[i];
	if (type == NN_TENSOR_QUANT8_ASYMM_SIGNED)
		return ((const int8_t *)data)[i];
	real = ((const float *)data)[i];
	return isnan(real) ? -INFINITY : real;
}

static void test_top(void **state)
{
	static const int32_t types[] = { NN_TENSOR_FLOAT32, NN_TENSOR_INT32, NN_TENSOR_QUANT8_ASYMM,
					 NN_TENSOR_QUANT8_ASYMM_SIGNED };
	static union {
		float f[2 * MAX_ROW];
		uint32_t words[2 * MAX_ROW];
	} in;

	(void)state;
	for (int round = 0; round < 4 * ROUNDS; round++) {
		const int32_t type = types[round % 4];
		const size_t element = round % 4 < 2 ? 4 : 1;
		const uint32_t row = pick(1, MAX_ROW), k = chance(2) ? pick(1, row) :
							     pick(1, row < 40 ? row : 40);
		const bool few = chance(3);
		struct op_case c;

		for (size_t i = 0; i < 2 * MAX_ROW; i++)
			in.words[i] = few ? random_bits() & 0x3030303 : random_bits() * 2 + 1;
		if (type == NN_TENSOR_FLOAT32)
			any_floats(in.f, 2 * MAX_ROW);
		oc_init(&c, "TOPK_V2");
		oc_input(&c, type, OC_DIMS(2, row), &in);
		if (element == 1)
			oc_quantise(&c, 1, 0);
		oc_int(&c, (int32_t)k);
		oc_output(&c, type);
		if (element == 1)
			oc_quantise(&c, 1, 0);
		oc_output(&c, NN_TENSOR_INT32);
		assert_int_equal(oc_run(&c), NN_OK);
		for (uint32_t n = 0; n < 2; n++) {
			const char *data = (const char *)&in + n * row * element;
			const char *values = oc_result(&c, 0)->data;
			const int32_t *indices = oc_result(&c, 1)->data;
			struct element sorted[MAX_ROW];

			for (uint32_t i = 0; i < row; i++)
				sorted[i] = (struct element){ number(type, data, i), (int32_t)i };
			qsort(sorted, row, sizeof(*sorted), compare);
			for (uint32_t i = 0; i < k; i++) {
				size_t at = (size_t)n * k + i;

				assert_int_equal(indices[at], sorted[i].index);
				assert_memory_equal(values + at * element, data +
						    (size_t)sorted[i].index * element, element);
			}
		}
		oc_free(&c);
	}
}

/*
 * Tests int8 and fp32 with each number of channels that has an inlined kernel, and with larger
 * numbers of channels.
 */
static void test_rows(void **state)
{
	static uint8_t in[4 * 5 * 6 * 150];

	(void)state;
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)random_bits();
	for (uint32_t round = 0; round < 600; round++) {
		const bool is_float = round % 2;
		const uint32_t element = is_float ? 4 : 1, channels = round / 4 + 1;
		const uint32_t first = pick(0, channels - 1), end = pick(first + 1, channels);
		const uint32_t y0 = pick(0, 4), step = pick(1, 2), h = 5 - y0, w = 5 / step + 1;
		const int32_t begins[] = { 0, (int32_t)y0, 0, (int32_t)first };
		const int32_t ends[] = { 1, 5, 6, (int32_t)end };
		const int32_t steps[] = { 1, 1, (int32_t)step, 1 };
		const int32_t type = is_float ? NN_TENSOR_FLOAT32 : NN_TENSOR_QUANT8_ASYMM;
		const uint32_t out_h = pick(1, 11), out_w = pick(1, 11);
		const char *name = round / 2 % 2 ? "STRIDED_SLICE" : "RESIZE_NEAREST_NEIGHBOR";
		const uint8_t *out;
		struct op_case c;

		oc_init(&c, name);
		oc_input(&c, type, OC_DIMS(1, 5, 6, channels), in);
		if (!is_float)
			oc_quantise(&c, 1, 0);
		if (round / 2 % 2) {
			oc_input(&c, NN_TENSOR_INT32, OC_DIMS(4), begins);
			oc_input(&c, NN_TENSOR_INT32, OC_DIMS(4), ends);
			oc_input(&c, NN_TENSOR_INT32, OC_DIMS(4), steps);
			for (int i = 0; i < 3; i++)
				oc_int(&c, 0);
		} else {
			oc_int(&c, (int32_t)out_w);
			oc_int(&c, (int32_t)out_h);
			oc_bool(&c, false);
		}
		oc_output(&c, type);
		if (!is_float)
			oc_quantise(&c, 1, 0);
		assert_int_equal(oc_run(&c), NN_OK);
		out = oc_result(&c, 0)->data;
		if (round / 2 % 2) {
			size_t bytes = (end - first) * element;

			assert_int_equal(nn_tensor_size(oc_result(&c, 0)), h * w * bytes);
			for (uint32_t i = 0; i < h * w; i++, out += bytes)
				assert_memory_equal(out, in + (((y0 + i / w) * 6 + i % w * step) *
							       channels + first) * element, bytes);
		} else {
			size_t bytes = channels * element;

			for (uint32_t i = 0; i < out_h * out_w; i++, out += bytes) {
				float y = floorf((float)(i / out_w) * (5.0f / (float)out_h));
				float x = floorf((float)(i % out_w) * (6.0f / (float)out_w));

				assert_memory_equal(out, in + (size_t)(y * 6 + x) * bytes, bytes);
			}
		}
		oc_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_regions),
		heap_unit_test(test_peaks),
		heap_unit_test(test_top),
		heap_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
