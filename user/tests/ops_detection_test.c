/* SPDX-License-Identifier: MIT */
/*
 * Tests operations on regions, boxes, key points and detections: signatures, results computed by
 * hand, and regions outside of the image.
 */
#include <math.h>

#include "op_case.h"
#include "ops/float16.h"
#include "tests/heap_blocks.h"

static void test_signatures(void **state)
{
	static const struct oc_signature table[] = {
		{ "ROI_ALIGN", "f4 f2 w1 I I F F I I B > f4", true },
		{ "ROI_ALIGN", "h4 h2 w1 I I H H I I B > h4", true },
		{ "ROI_ALIGN", "u4 a2 w1 I I F F I I B > u4", true },
		{ "ROI_ALIGN", "s4 a2 w1 I I F F I I B > s4", true },
		{ "ROI_ALIGN", "u4 u2 w1 I I F F I I B > u4", false },
		{ "ROI_ALIGN", "f4 f2 f1 I I F F I I B > f4", false },
		{ "ROI_ALIGN", "f4 f3 w1 I I F F I I B > f4", false },
		{ "ROI_ALIGN", "f4 f2 w1 I I F F I I > f4", false },
		{ "ROI_ALIGN", "f4 f2 w1 I I I F I I B > f4", false },
		{ "ROI_ALIGN", "f4 f2 w1 I I F F I I B B > f4", false },
		{ "ROI_POOLING", "f4 f2 w1 I I F F B > f4", true },
		{ "ROI_POOLING", "h4 h2 w1 I I H H B > h4", true },
		{ "ROI_POOLING", "u4 a2 w1 I I F F B > u4", true },
		{ "ROI_POOLING", "s4 a2 w1 I I F F B > s4", true },
		{ "ROI_POOLING", "f4 f2 w1 I I F F I I B > f4", false },
		{ "ROI_POOLING", "f4 f2 w1 I I F F B > f3", false },
		{ "HEATMAP_MAX_KEYPOINT", "f4 f2 B > f2 f3", true },
		{ "HEATMAP_MAX_KEYPOINT", "h4 h2 B > h2 h3", true },
		{ "HEATMAP_MAX_KEYPOINT", "u4 a2 B > u2 a3", true },
		{ "HEATMAP_MAX_KEYPOINT", "s4 a2 B > s2 a3", true },
		{ "HEATMAP_MAX_KEYPOINT", "s4 a2 B > s2 s3", false },
		{ "HEATMAP_MAX_KEYPOINT", "f4 f2 B > f2", false },
		{ "HEATMAP_MAX_KEYPOINT", "f4 f2 > f2 f3", false },
		{ "AXIS_ALIGNED_BBOX_TRANSFORM", "f2 f2 w1 f2 > f2", true },
		{ "AXIS_ALIGNED_BBOX_TRANSFORM", "h2 h2 w1 h2 > h2", true },
		{ "AXIS_ALIGNED_BBOX_TRANSFORM", "a2 u2 w1 a2 > a2", true },
		{ "AXIS_ALIGNED_BBOX_TRANSFORM", "a2 s2 w1 a2 > a2", true },
		{ "AXIS_ALIGNED_BBOX_TRANSFORM", "a2 a2 w1 a2 > a2", false },
		{ "AXIS_ALIGNED_BBOX_TRANSFORM", "f2 f2 f1 f2 > f2", false },
		{ "AXIS_ALIGNED_BBOX_TRANSFORM", "f2 f2 w1 > f2", false },
		{ "BOX_WITH_NMS_LIMIT", "f2 f2 w1 F I I F F F > f1 f2 w1 w1", true },
		{ "BOX_WITH_NMS_LIMIT", "h2 h2 w1 H I I H H H > h1 h2 w1 w1", true },
		{ "BOX_WITH_NMS_LIMIT", "u2 a2 w1 F I I F F F > u1 a2 w1 w1", true },
		{ "BOX_WITH_NMS_LIMIT", "s2 a2 w1 F I I F F F > s1 a2 w1 w1", true },
		{ "BOX_WITH_NMS_LIMIT", "u2 u2 w1 F I I F F F > u1 u2 w1 w1", false },
		{ "BOX_WITH_NMS_LIMIT", "f2 f2 w1 F I I F F F > f1 f2 w1", false },
		{ "BOX_WITH_NMS_LIMIT", "f2 f2 w1 F I F F F F > f1 f2 w1 w1", false },
		{ "GENERATE_PROPOSALS", "f4 f4 f2 f2 F F I I F F B > f1 f2 w1", true },
		{ "GENERATE_PROPOSALS", "h4 h4 h2 h2 H H I I H H B > h1 h2 w1", true },
		{ "GENERATE_PROPOSALS", "u4 u4 y2 a2 F F I I F F B > u1 a2 w1", true },
		{ "GENERATE_PROPOSALS", "s4 s4 y2 a2 F F I I F F B > s1 a2 w1", true },
		{ "GENERATE_PROPOSALS", "u4 u4 a2 a2 F F I I F F B > u1 a2 w1", false },
		{ "GENERATE_PROPOSALS", "f4 f4 f2 f2 F F I I F F > f1 f2 w1", false },
		{ "DETECTION_POSTPROCESSING",
		  "f3 f3 f2 F F F F B I I I F F B > f2 f3 w2 w1", true },
		{ "DETECTION_POSTPROCESSING",
		  "h3 h3 h2 H H H H B I I I H H B > h2 h3 w2 w1", true },
		{ "DETECTION_POSTPROCESSING",
		  "u3 u3 u2 F F F F B I I I F F B > u2 u3 w2 w1", false },
		{ "DETECTION_POSTPROCESSING",
		  "f3 f3 f2 F F F F B I I I F F > f2 f3 w2 w1", false },
		{ "DETECTION_POSTPROCESSING",
		  "f2 f3 f2 F F F F B I I I F F B > f2 f3 w2 w1", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		oc_assert_signature(&table[i]);
}

static void assert_floats(const struct op_case *c, uint32_t output, const float *expected,
			  uint32_t count)
{
	const struct nn_tensor *t = oc_result(c, output);

	assert_int_equal(nn_tensor_count(t), count);
	for (uint32_t i = 0; i < count; i++)
		if (!(fabsf(((float *)t->data)[i] - expected[i]) < 1e-4f))
			fail_msg("output %u[%u] is %g, not %g", output, i,
				 (double)((float *)t->data)[i], (double)expected[i]);
}

static void assert_ints(const struct op_case *c, uint32_t output, const int32_t *expected,
			uint32_t count)
{
	const struct nn_tensor *t = oc_result(c, output);

	assert_int_equal(nn_tensor_count(t), count);
	assert_memory_equal(t->data, expected, count * sizeof(*expected));
}

/* ---- Regions ---- */

/* An image of 4 by 4 pixels whose values are 10 y + x. */
static const float small_image[] = {
	0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33,
};

/*
 * Runs ROI_ALIGN or ROI_POOLING of one region, with 2 by 2 outputs and pixels that are 2 units
 * wide.
 */
static enum nn_status run_region(struct op_case *c, bool align, const float box[4], int32_t batch,
				 int32_t samples)
{
	oc_init(c, align ? "ROI_ALIGN" : "ROI_POOLING");
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(1, 4, 4, 1), small_image);
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(1, 4), box);
	oc_input(c, NN_TENSOR_INT32, OC_DIMS(1), &batch);
	oc_int(c, 2);
	oc_int(c, 2);
	oc_float(c, 2);
	oc_float(c, 2);
	if (align) {
		oc_int(c, samples);
		oc_int(c, samples);
	}
	oc_bool(c, false);
	oc_output(c, NN_TENSOR_FLOAT32);
	return oc_run(c);
}

static void test_regions(void **state)
{
	static const struct {
		bool align;
		float box[4];
		int32_t samples;
		float y[4];
	} table[] = {
		/* ROI_ALIGN samples at 0.5 and 1.5, the centers of cells of size 1. */
		{ true, { 0, 0, 4, 4 }, 1, { 5.5f, 6.5f, 15.5f, 16.5f } },
		{ true, { 0, 0, 4, 4 }, 2, { 5.5f, 6.5f, 15.5f, 16.5f } },
		{ true, { 0, 0, 4, 4 }, 0, { 5.5f, 6.5f, 15.5f, 16.5f } },
		/* ROI_ALIGN samples at 2.5 and 3.5; the position 3.5 is beyond the last pixel. */
		{ true, { 4, 4, 8, 8 }, 1, { 27.5f, 28, 32.5f, 33 } },
		/* A region of size 0 counts as a region of one pixel. */
		{ true, { 2, 2, 2, 2 }, 1, { 13.75f, 14.25f, 18.75f, 19.25f } },
		/*
		 * The region of ROI_POOLING has pixels 0 to 2, so its two cells of size 1.5
		 * overlap.
		 */
		{ false, { 0, 0, 4, 4 }, 0, { 11, 12, 21, 22 } },
		{ false, { 0, 2, 6, 2 }, 0, { 11, 13, 11, 13 } },
		/*
		 * The region consists of pixel 4, which is outside of the image, so all cells of
		 * the region are empty.
		 */
		{ false, { 8, 8, 8, 8 }, 0, { 0, 0, 0, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct op_case c;

		if (run_region(&c, table[i].align, table[i].box, 0, table[i].samples))
			fail_msg("region %zu: %s", i, c.err.message);
		assert_floats(&c, 0, table[i].y, 4);
		oc_free(&c);
	}
}

static void test_bad_regions(void **state)
{
	static const struct {
		float box[4];
		int32_t batch;
		int32_t samples;
	} table[] = {
		{ { 0, 0, 4, 4 }, 1, 1 },
		{ { 0, 0, 4, 4 }, -1, 1 },
		{ { 0, 0, 4, 4 }, INT32_MIN, 1 },
		{ { 4, 0, 2, 4 }, 0, 1 },
		{ { 0, 4, 4, 2 }, 0, 1 },
		{ { -1, 0, 4, 4 }, 0, 1 },
		{ { 0, -1, 4, 4 }, 0, 1 },
		{ { 0, 0, 8.5f, 4 }, 0, 1 },
		{ { 0, 0, 4, INFINITY }, 0, 1 },
		{ { NAN, 0, 4, 4 }, 0, 1 },
		{ { 0, 0, 4, NAN }, 0, 1 },
		{ { 0, 0, 4, 4 }, 0, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct op_case c;

		assert_int_equal(run_region(&c, true, table[i].box, table[i].batch,
					    table[i].samples), NN_GENERAL_FAILURE);
		oc_free(&c);
		if (table[i].samples != 1)
			continue;
		assert_int_equal(run_region(&c, false, table[i].box, table[i].batch, 0),
				 NN_GENERAL_FAILURE);
		oc_free(&c);
	}
}

/* Tests ROI operations on quantised images with two channels, as NHWC and as NCHW. */
static void test_quantised_regions(void **state)
{
	static const uint8_t nhwc[] = { 10, 20, 30, 40, 50, 60, 70, 80 };
	static const uint8_t nchw[] = { 10, 30, 50, 70, 20, 40, 60, 80 };
	static const uint16_t box[] = { 0, 0, 16, 16 };
	static const int32_t batch;
	/*
	 * The sample at the image's center is the mean of a channel (40 or 50), requantised to the
	 * output's scale and zero point.
	 */
	static const uint8_t mean[] = { 25, 45 }, most[] = { 70, 80 };

	(void)state;
	for (int way = 0; way < 4; way++) {
		bool align = way & 1, is_nchw = way & 2;
		struct op_case c;

		oc_init(&c, align ? "ROI_ALIGN" : "ROI_POOLING");
		oc_input(&c, NN_TENSOR_QUANT8_ASYMM, OC_DIMS(1, 2, 2, 2), is_nchw ? nchw : nhwc);
		oc_quantise(&c, 0.5f, 30);
		oc_input(&c, NN_TENSOR_QUANT16_ASYMM, OC_DIMS(1, 4), box);
		oc_quantise(&c, 0.125f, 0);
		oc_input(&c, NN_TENSOR_INT32, OC_DIMS(1), &batch);
		oc_int(&c, 1);
		oc_int(&c, 1);
		oc_float(&c, align ? 2 : 1);
		oc_float(&c, align ? 2 : 1);
		if (align) {
			oc_int(&c, 1);
			oc_int(&c, 1);
		}
		oc_bool(&c, is_nchw);
		oc_output(&c, NN_TENSOR_QUANT8_ASYMM);
		oc_quantise(&c, align ? 0.25f : 0.5f, align ? 5 : 30);
		if (oc_run(&c))
			fail_msg("way %d: %s", way, c.err.message);
		assert_memory_equal(oc_result(&c, 0)->data, align ? mean : most, 2);
		oc_free(&c);
	}
}

/* ROI_ALIGN of a white image gives white cells, even with the largest allowed number of samples. */
static void test_many_samples(void **state)
{
	static const struct {
		uint32_t size;
		int32_t rows, columns;
		bool good;
	} table[] = {
		{ 2, 32768, 1, true }, { 2, 128, 256, true }, { 181, 0, 0, true },
		{ 2, 32769, 1, false }, { 2, 256, 256, false }, { 2, INT32_MAX, INT32_MAX, false },
		{ 2, 65536, 65536, false }, { 200, 0, 0, false },
	};
	static uint8_t white[200 * 200];
	static const int32_t batch;

	(void)state;
	memset(white, 255, sizeof(white));
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint32_t size = table[i].size;
		const uint16_t box[] = { 0, 0, (uint16_t)(8 * size), (uint16_t)(8 * size) };
		struct op_case c;

		oc_init(&c, "ROI_ALIGN");
		oc_input(&c, NN_TENSOR_QUANT8_ASYMM, OC_DIMS(1, size, size, 1), white);
		oc_quantise(&c, 0.5f, 0);
		oc_input(&c, NN_TENSOR_QUANT16_ASYMM, OC_DIMS(1, 4), box);
		oc_quantise(&c, 0.125f, 0);
		oc_input(&c, NN_TENSOR_INT32, OC_DIMS(1), &batch);
		oc_int(&c, 1);
		oc_int(&c, 1);
		oc_float(&c, 1);
		oc_float(&c, 1);
		oc_int(&c, table[i].rows);
		oc_int(&c, table[i].columns);
		oc_bool(&c, false);
		oc_output(&c, NN_TENSOR_QUANT8_ASYMM);
		oc_quantise(&c, 0.5f, 0);
		if ((oc_run(&c) == NN_OK) != table[i].good)
			fail_msg("case %zu: %s", i, c.err.message);
		if (table[i].good)
			assert_int_equal(*(uint8_t *)oc_result(&c, 0)->data, 255);
		oc_free(&c);
	}
}

/* ---- Several channels ---- */

#define SIDE 7
#define CHANNELS 70		/* more channels than a block has, and no multiple of it */

static int32_t channel_type;

/*
 * Adds an image input of `count` channels, which are copied from `noise` from channel `first` on.
 */
static void add_channels(struct op_case *c, const uint8_t *noise, uint32_t first, uint32_t count)
{
	size_t element = channel_type == NN_TENSOR_FLOAT32 ? sizeof(float) : 1;
	uint8_t some[SIDE * SIDE * CHANNELS * sizeof(float)];

	for (size_t i = 0; i < SIDE * SIDE; i++)
		memcpy(some + i * count * element, noise + (i * CHANNELS + first) * element,
		       count * element);
	oc_input(c, channel_type, OC_DIMS(1, SIDE, SIDE, count), some);
	if (channel_type != NN_TENSOR_FLOAT32)
		oc_quantise(c, 0.5f, 3);
}

static void run_channels(struct op_case *c, const char *name, const uint8_t *noise,
			 uint32_t first, uint32_t count)
{
	static const uint16_t sixteen[] = { 4, 8, 90, 80 };
	static const float box[] = { 0.5f, 1, 11.25f, 10 };
	static const int32_t batch;
	bool align = !strcmp(name, "ROI_ALIGN"), heat = !strcmp(name, "HEATMAP_MAX_KEYPOINT");

	oc_init(c, name);
	add_channels(c, noise, first, count);
	if (channel_type == NN_TENSOR_FLOAT32) {
		oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(1, 4), box);
	} else {
		oc_input(c, NN_TENSOR_QUANT16_ASYMM, OC_DIMS(1, 4), sixteen);
		oc_quantise(c, 0.125f, 0);
	}
	if (!heat) {
		oc_input(c, NN_TENSOR_INT32, OC_DIMS(1), &batch);
		oc_int(c, 3);
		oc_int(c, 2);
		oc_float(c, 2);
		oc_float(c, 2);
	}
	if (align) {
		/* The region's only cell has more samples than the kernel sums in one block. */
		oc_int(c, 7);
		oc_int(c, 0);
	}
	oc_bool(c, false);
	oc_output(c, channel_type);
	if (channel_type != NN_TENSOR_FLOAT32)
		oc_quantise(c, 0.5f, 3);
	if (heat) {
		oc_output(c, channel_type == NN_TENSOR_FLOAT32 ? NN_TENSOR_FLOAT32 :
			     NN_TENSOR_QUANT16_ASYMM);
		if (channel_type != NN_TENSOR_FLOAT32)
			oc_quantise(c, 0.125f, 0);
	}
	if (oc_run(c))
		fail_msg("%s: %s", name, c->err.message);
}

/*
 * Each channel has the same result whether the operation computes one channel or all channels
 * together.
 */
static void test_channels(void **state)
{
	static const char *const names[] = { "ROI_ALIGN", "ROI_POOLING", "HEATMAP_MAX_KEYPOINT" };
	static const int32_t types[] = {
		NN_TENSOR_FLOAT32, NN_TENSOR_QUANT8_ASYMM, NN_TENSOR_QUANT8_ASYMM_SIGNED,
	};
	static _Alignas(float) uint8_t noise[SIDE * SIDE * CHANNELS * sizeof(float)];
	static struct op_case all, one;

	(void)state;
	srandom(1);
	for (size_t i = 0; i < 9; i++) {
		channel_type = types[i % 3];
		for (size_t k = 0; k < SIDE * SIDE * CHANNELS; k++) {
			if (channel_type == NN_TENSOR_FLOAT32)
				((float *)(void *)noise)[k] = (float)(random() % 2000) / 16;
			else
				noise[k] = (uint8_t)random();
		}
		run_channels(&all, names[i / 3], noise, 0, CHANNELS);
		for (uint32_t c = 0; c < CHANNELS; c++) {
			run_channels(&one, names[i / 3], noise, c, 1);
			for (uint32_t out = 0; out < all.num_outputs; out++) {
				const struct nn_tensor *a = oc_result(&all, out);
				const struct nn_tensor *b = oc_result(&one, out);
				/*
				 * Size of an element in a channel's result; a keypoint is an
				 * element of two numbers.
				 */
				size_t size = nn_tensor_size(b) / (i / 3 < 2 ? 6 : 1);

				for (size_t at = 0; at < nn_tensor_size(b) / size; at++)
					assert_memory_equal((char *)a->data +
							    (at * CHANNELS + c) * size,
							    (char *)b->data + at * size, size);
			}
			oc_free(&one);
		}
		oc_free(&all);
	}
}

/* ---- HEATMAP_MAX_KEYPOINT ---- */

static enum nn_status run_heatmap(struct op_case *c, const float *map, uint32_t size,
				  const float box[4])
{
	oc_init(c, "HEATMAP_MAX_KEYPOINT");
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(1, size, size, 1), map);
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(1, 4), box);
	oc_bool(c, false);
	oc_output(c, NN_TENSOR_FLOAT32);
	oc_output(c, NN_TENSOR_FLOAT32);
	return oc_run(c);
}

/*
 * The heatmap 8 - 2 (x - 1.25)^2 - (y - 1)^2 peaks at (1.25, 1), which the quadratic fit finds. The
 * quadratic fit mirrors the heatmap at the heatmap's border, so a peak in a corner keeps its
 * position.
 */
static void test_heatmap(void **state)
{
	static const float slope[] = {
		3.875f, 6.875f, 5.875f, 4.875f, 7.875f, 6.875f, 3.875f, 6.875f, 5.875f,
	};
	static const float flat[] = { 2, 2, 2, 2 }, corner[] = { 9, 1, 1, 0 };
	/*
	 * The quadratic fit of the heatmap `far` peaks at (-10, -10), but the fit moves a keypoint
	 * by at most 1.5. The heatmap `ridge` is flat along a diagonal, so the quadratic fit does
	 * not move the peak.
	 */
	static const float far[] = { 99, 96, 79.2f, 96, 100, 94, 79.2f, 94, 99 };
	static const float ridge[] = { 99.9f, 50, -100.0996f, 51, 100, 49, -100.0996f, 50, 99.9f };
	static const struct {
		const float *map;
		uint32_t size;
		float score, x, y;
	} table[] = {
		{ slope, 3, 8, 10 + 1.75f / 3 * 6, 20 + 1.5f / 3 * 12 },
		{ flat, 2, 2, 10 + 0.25f * 6, 20 + 0.25f * 12 },
		{ corner, 2, 9, 10 + 0.25f * 6, 20 + 0.25f * 12 },
		{ far, 3, 102.775f, 10, 20 },
		{ ridge, 3, 100, 10 + 1.5f / 3 * 6, 20 + 1.5f / 3 * 12 },
	};
	static const float box[] = { 10, 20, 16, 32 };

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const float keypoint[] = { table[i].x, table[i].y };
		struct op_case c;

		assert_int_equal(run_heatmap(&c, table[i].map, table[i].size, box), NN_OK);
		assert_floats(&c, 0, &table[i].score, 1);
		assert_floats(&c, 1, keypoint, 2);
		oc_free(&c);
	}
}

/*
 * The heatmap's peak is too flat for the quadratic fit in float16, so the keypoint is the peak's
 * pixel.
 */
static void test_flat_heatmap(void **state)
{
	static const float low = 1 - 0x1p-6f, high = 1 - 0x1p-11f;
	const float map[] = { low, low, low, low, 1, high, low, high, high };
	const float box[] = { 0, 0, 3, 3 };
	uint16_t fp16_map[9], fp16_box[4];
	struct op_case c;

	(void)state;
	assert_int_equal(run_heatmap(&c, map, 3, box), NN_OK);
	assert_true(((const float *)oc_result(&c, 1)->data)[0] > 1.9f);
	oc_free(&c);

	nn_fp32_to_fp16(map, fp16_map, 9);
	nn_fp32_to_fp16(box, fp16_box, 4);
	oc_init(&c, "HEATMAP_MAX_KEYPOINT");
	oc_input(&c, NN_TENSOR_FLOAT16, OC_DIMS(1, 3, 3, 1), fp16_map);
	oc_input(&c, NN_TENSOR_FLOAT16, OC_DIMS(1, 4), fp16_box);
	oc_bool(&c, false);
	oc_output(&c, NN_TENSOR_FLOAT16);
	oc_output(&c, NN_TENSOR_FLOAT16);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_true(nn_tensor_float(oc_result(&c, 1), 0) == 1.5f);
	assert_true(nn_tensor_float(oc_result(&c, 1), 1) == 1.5f);
	oc_free(&c);
}

static void test_bad_heatmaps(void **state)
{
	static const struct {
		uint32_t size;
		float box[4];
	} table[] = {
		{ 1, { 0, 0, 1, 1 } },
		{ 2, { 1, 0, 0, 1 } },
		{ 2, { 0, 1, 1, 0 } },
		{ 2, { 0, NAN, 1, 1 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct op_case c;

		assert_int_equal(run_heatmap(&c, NULL, table[i].size, table[i].box),
				 NN_GENERAL_FAILURE);
		oc_free(&c);
	}
}

/* ---- AXIS_ALIGNED_BBOX_TRANSFORM ---- */

static enum nn_status run_transform(struct op_case *c, const float box[4], int32_t image)
{
	static const float deltas[] = { 0.5f, -0.25f, 0, 0, 0, 0, 1, 1 }, info[] = { 30, 20 };

	oc_init(c, "AXIS_ALIGNED_BBOX_TRANSFORM");
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(1, 4), box);
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(1, 8), deltas);
	oc_input(c, NN_TENSOR_INT32, OC_DIMS(1), &image);
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(1, 2), info);
	oc_output(c, NN_TENSOR_FLOAT32);
	return oc_run(c);
}

/*
 * For class 0 the operation moves a box of 8 by 8 by half of its width and a quarter of its height.
 * For class 1 the operation makes the box larger. The boxes of both classes are clipped to the
 * image.
 */
static void test_transform(void **state)
{
	static const float box[] = { 10, 2, 18, 10 };
	static const float moved[] = { 14, 0, 20, 8,
				       14 - 4 * (float)M_E, 0, 20, 6 + 4 * (float)M_E };
	static const struct {
		float box[4];
		int32_t image;
	} bad[] = {
		{ { 10, 2, 18, 10 }, 1 }, { { 10, 2, 18, 10 }, -1 }, { { 18, 2, 10, 10 }, 0 },
		{ { 10, 10, 18, 2 }, 0 }, { { NAN, 2, 18, 10 }, 0 },
	};
	struct op_case c;

	(void)state;
	assert_int_equal(run_transform(&c, box, 0), NN_OK);
	assert_floats(&c, 0, moved, 8);
	oc_free(&c);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(run_transform(&c, bad[i].box, bad[i].image), NN_GENERAL_FAILURE);
		oc_free(&c);
	}
}

/* The move of test_transform() in eighths of a pixel. */
static void test_quantised_transform(void **state)
{
	static const uint16_t box[] = { 80, 16, 144, 80 }, info[] = { 240, 160 }, moved[] = { 112, 0, 160, 64 };
	static const uint8_t deltas[] = { 130, 127, 128, 128 };
	static const int32_t image;
	struct op_case c;

	(void)state;
	oc_init(&c, "AXIS_ALIGNED_BBOX_TRANSFORM");
	oc_input(&c, NN_TENSOR_QUANT16_ASYMM, OC_DIMS(1, 4), box);
	oc_quantise(&c, 0.125f, 0);
	oc_input(&c, NN_TENSOR_QUANT8_ASYMM, OC_DIMS(1, 4), deltas);
	oc_quantise(&c, 0.25f, 128);
	oc_input(&c, NN_TENSOR_INT32, OC_DIMS(1), &image);
	oc_input(&c, NN_TENSOR_QUANT16_ASYMM, OC_DIMS(1, 2), info);
	oc_quantise(&c, 0.125f, 0);
	oc_output(&c, NN_TENSOR_QUANT16_ASYMM);
	oc_quantise(&c, 0.125f, 0);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_memory_equal(oc_result(&c, 0)->data, moved, sizeof(moved));
	oc_free(&c);
}

/* ---- BOX_WITH_NMS_LIMIT ---- */

/*
 * A test case of non-maximum suppression: the scalar inputs, and the expected scores and classes.
 */
struct nms_case {
	const char *name;
	int32_t limit, kernel;
	float floor;
	uint32_t count;
	float scores[5];
	int32_t classes[5];
};

/*
 * Scores of four regions for the background and two classes. The boxes of regions 0 and 1 overlap
 * by half of their union. Region 2 overlaps no other region, and region 3 belongs to another image.
 */
static const float nms_scores[] = {
	0, 0.9f, 0.1f, 0, 0.8f, 0.6f, 0, 0.7f, 0.1f, 0, 0.1f, 0.5f,
};

static enum nn_status run_nms(struct op_case *c, const struct nms_case *n, float sigma)
{
	static const int32_t batch[] = { 5, 5, 5, 2 };
	static const float region[4][4] = {
		{ 0, 0, 4, 3 }, { 0, 1, 4, 4 }, { 8, 8, 9, 9 }, { 0, 0, 4, 3 },
	};
	float boxes[4][3][4];

	for (int i = 0; i < 12; i++)
		memcpy(boxes[i / 3][i % 3], region[i / 3], sizeof(region[0]));
	oc_init(c, "BOX_WITH_NMS_LIMIT");
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(4, 3), nms_scores);
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(4, 12), boxes);
	oc_input(c, NN_TENSOR_INT32, OC_DIMS(4), batch);
	oc_float(c, 0.3f);
	oc_int(c, n->limit);
	oc_int(c, n->kernel);
	oc_float(c, 0.5f);
	oc_float(c, sigma);
	oc_float(c, n->floor);
	oc_output(c, NN_TENSOR_FLOAT32);
	oc_output(c, NN_TENSOR_FLOAT32);
	oc_output(c, NN_TENSOR_INT32);
	oc_output(c, NN_TENSOR_INT32);
	return oc_run(c);
}

static void test_nms(void **state)
{
	static const struct nms_case table[] = {
		{ "hard", -1, 0, 0.1f, 4, { 0.9f, 0.7f, 0.6f, 0.5f }, { 1, 1, 2, 2 } },
		{ "hard, two an image", 2, 0, 0.1f, 3, { 0.9f, 0.7f, 0.5f }, { 1, 1, 2 } },
		{ "hard, none", 0, 0, 0.1f, 0, { 0 }, { 0 } },
		{ "hard, no floor: a score of 0 stays", -1, 0, 0, 5, { 0.9f, 0.7f, 0, 0.6f, 0.5f },
		  { 1, 1, 1, 2, 2 } },
		{ "linear, dropped below the floor", -1, 1, 0.45f, 4, { 0.9f, 0.7f, 0.6f, 0.5f },
		  { 1, 1, 2, 2 } },
		{ "linear, three an image", 3, 1, 0.1f, 4, { 0.9f, 0.7f, 0.6f, 0.5f },
		  { 1, 1, 2, 2 } },
		{ "gaussian", 2, 2, 0.1f, 3, { 0.9f, 0.7f, 0.5f }, { 1, 1, 2 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct nms_case *n = &table[i];
		int32_t batch[5] = { 5, 5, 5, 5, 5 };
		struct op_case c;

		if (n->count)
			batch[n->count - 1] = 2;
		if (run_nms(&c, n, 0.5f))
			fail_msg("%s: %s", n->name, c.err.message);
		assert_floats(&c, 0, n->scores, n->count);
		assert_ints(&c, 2, n->classes, n->count);
		assert_ints(&c, 3, batch, n->count);
		assert_int_equal(oc_result(&c, 1)->dims[0], n->count);
		assert_int_equal(oc_result(&c, 1)->dims[1], 4);
		oc_free(&c);
	}
}

/*
 * Two boxes overlap by half of their union. Soft suppression reduces the score of the second box.
 */
static void test_soft_nms(void **state)
{
	static const int32_t kernels[] = { 1, 2 };
	const float left[] = { 0.8f * 0.5f, 0.8f * expf(-0.25f / 2) };

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct nms_case n = { .limit = -1, .kernel = kernels[i], .floor = 0.1f };
		struct op_case c;
		const float *scores;

		assert_int_equal(run_nms(&c, &n, 2), NN_OK);
		assert_int_equal(oc_result(&c, 0)->dims[0], 5);
		scores = oc_result(&c, 0)->data;
		assert_true(fabsf(scores[i == 0 ? 2 : 1] - left[i]) < 1e-6f);
		oc_free(&c);
	}
}

static void test_bad_nms(void **state)
{
	static const struct {
		int32_t kernel;
		float sigma;
	} table[] = {
		{ 3, 1 }, { -1, 1 }, { 2, 0 }, { 2, -1 }, { 2, NAN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct nms_case n = { .limit = -1, .kernel = table[i].kernel };
		struct op_case c;

		assert_int_equal(run_nms(&c, &n, table[i].sigma), NN_GENERAL_FAILURE);
		oc_free(&c);
	}
}

/* ---- GENERATE_PROPOSALS ---- */

/*
 * The image of 9 by 10 has three positions with a stride of 4, and one anchor at each position. The
 * three boxes reach horizontally from 0 to 6, from 4 to 9 and from 8 to 9. The second box overlaps
 * the first box by 8 of 36 units of area, and the third box by 4 of 20.
 */
static void test_proposals(void **state)
{
	static const float scores[] = { 0.2f, 0.9f, 0.4f }, anchor[] = { 0, 0, 6, 4 };
	static const float info[] = { 10, 9 };
	static const int32_t batch[3];
	static const struct {
		int32_t before, after;
		float overlap, least;
		uint32_t count;
		float scores[3], boxes[12];
	} table[] = {
		{ 0, 0, 0.9f, 1, 2, { 0.9f, 0.2f }, { 4, 0, 9, 4, 0, 0, 6, 4 } },
		{ -1, -1, 0.9f, 0.5f, 3, { 0.9f, 0.4f, 0.2f },
		  { 4, 0, 9, 4, 8, 0, 9, 4, 0, 0, 6, 4 } },
		{ 1, 0, 0.9f, 1, 1, { 0.9f }, { 4, 0, 9, 4 } },
		{ 0, 1, 0.9f, 1, 1, { 0.9f }, { 4, 0, 9, 4 } },
		{ 0, 0, 0.21f, 0.5f, 2, { 0.9f, 0.4f }, { 4, 0, 9, 4, 8, 0, 9, 4 } },
		{ 0, 0, 0.9f, 4, 0, { 0 }, { 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct op_case c;

		oc_init(&c, "GENERATE_PROPOSALS");
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 1, 3, 1), scores);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 1, 3, 4), NULL);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 4), anchor);
		oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 2), info);
		oc_float(&c, 4);
		oc_float(&c, 4);
		oc_int(&c, table[i].before);
		oc_int(&c, table[i].after);
		oc_float(&c, table[i].overlap);
		oc_float(&c, table[i].least);
		oc_bool(&c, false);
		oc_output(&c, NN_TENSOR_FLOAT32);
		oc_output(&c, NN_TENSOR_FLOAT32);
		oc_output(&c, NN_TENSOR_INT32);
		assert_int_equal(oc_run(&c), NN_OK);
		assert_floats(&c, 0, table[i].scores, table[i].count);
		assert_floats(&c, 1, table[i].boxes, 4 * table[i].count);
		assert_ints(&c, 2, batch, table[i].count);
		oc_free(&c);
	}
}

/* Boxes whose centers are to the right of the image or below it are clipped to the image's edge. */
static void test_proposals_outside(void **state)
{
	static const float scores[] = { 0.9f, 0.8f, 0.7f }, info[] = { 10, 9 };
	static const float anchors[] = { 12, 0, 16, 4, 0, 12, 4, 16, 1, 2, 5, 6 };
	struct op_case c;

	(void)state;
	oc_init(&c, "GENERATE_PROPOSALS");
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 1, 1, 3), scores);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 1, 1, 12), NULL);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(3, 4), anchors);
	oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 2), info);
	oc_float(&c, 4);
	oc_float(&c, 4);
	oc_int(&c, 0);
	oc_int(&c, 0);
	oc_float(&c, 0.5f);
	oc_float(&c, -1);
	oc_bool(&c, false);
	oc_output(&c, NN_TENSOR_FLOAT32);
	oc_output(&c, NN_TENSOR_FLOAT32);
	oc_output(&c, NN_TENSOR_INT32);
	assert_int_equal(oc_run(&c), NN_OK);
	assert_floats(&c, 0, scores + 2, 1);
	assert_floats(&c, 1, anchors + 8, 4);
	oc_free(&c);
}

/* ---- DETECTION_POSTPROCESSING ---- */

struct post_case {
	bool regular;
	int32_t most, classes, per_class;
	float threshold, overlap;
	bool background;
	uint32_t width;
	int32_t count;
	float scores[6];
	int32_t labels[6];
	int anchors[6];		/* anchor of each output box; -1 if the box is all zeros */
};

/*
 * Scores of three anchors for the background and two classes. Anchors 0 and 1 overlap by 12 of 20
 * units of area. The deltas move anchor 2 by half of its size, and double its height.
 */
static enum nn_status run_post(struct op_case *c, const struct post_case *p, float scale)
{
	static const float scores[] = { 0.9f, 0.8f, 0.3f, 0, 0.7f, 0.6f, 0, 0.2f, 0.5f };
	static const float anchors[] = { 2, 2, 4, 4, 2, 3, 4, 4, 10, 10, 2, 2 };
	const float deltas[] = { 0, 0, 0, 0, 0, 0, 0, 0, 5, -5, 5 * (float)M_LN2, 0 };

	oc_init(c, "DETECTION_POSTPROCESSING");
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(1, 3, 3), scores);
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(1, 3, 4), deltas);
	oc_input(c, NN_TENSOR_FLOAT32, OC_DIMS(3, 4), anchors);
	oc_float(c, scale);
	oc_float(c, 10);
	oc_float(c, 5);
	oc_float(c, 5);
	oc_bool(c, p->regular);
	oc_int(c, p->most);
	oc_int(c, p->classes);
	oc_int(c, p->per_class);
	oc_float(c, p->threshold);
	oc_float(c, p->overlap);
	oc_bool(c, p->background);
	oc_output(c, NN_TENSOR_FLOAT32);
	oc_output(c, NN_TENSOR_FLOAT32);
	oc_output(c, NN_TENSOR_INT32);
	oc_output(c, NN_TENSOR_INT32);
	return oc_run(c);
}

static void test_postprocessing(void **state)
{
	static const float boxes[3][4] = { { 0, 0, 4, 4 }, { 0, 1, 4, 5 }, { 9, 8, 13, 10 } };
	static const struct post_case table[] = {
		{ true, 3, 0, 2, 0.25f, 0.5f, false, 3, 3, { 0.8f, 0.6f, 0.5f }, { 0, 1, 1 },
		  { 0, 1, 2 } },
		{ true, 4, 0, 1, 0.25f, 0.5f, true, 4, 2, { 0.8f, 0.6f }, { 1, 2 },
		  { 0, 1, -1, -1 } },
		{ true, 2, 0, 3, 0.25f, 0.7f, false, 2, 2, { 0.8f, 0.7f }, { 0, 0 }, { 0, 1 } },
		{ false, 2, 2, 0, 0.25f, 0.5f, false, 4, 4, { 0.8f, 0.3f, 0.5f, 0.2f },
		  { 0, 1, 1, 0 }, { 0, 0, 2, 2 } },
		{ false, 2, 3, 0, 0.25f, 0.5f, true, 6, 4, { 0.8f, 0.3f, 0.5f, 0.2f },
		  { 1, 2, 2, 1 }, { 0, 0, 2, 2, -1, -1 } },
		{ false, 3, 1, 0, 0.6f, 0.7f, false, 3, 2, { 0.8f, 0.7f }, { 0, 0 }, { 0, 1, -1 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct post_case *p = &table[i];
		float expected[6][4] = { { 0 } };
		struct op_case c;

		for (uint32_t k = 0; k < p->width; k++)
			if (p->anchors[k] >= 0)
				memcpy(expected[k], boxes[p->anchors[k]], sizeof(boxes[0]));
		assert_int_equal(run_post(&c, p, 10), NN_OK);
		assert_floats(&c, 0, p->scores, p->width);
		assert_floats(&c, 1, expected[0], 4 * p->width);
		assert_ints(&c, 2, p->labels, p->width);
		assert_ints(&c, 3, &p->count, 1);
		oc_free(&c);
	}
}

/*
 * DETECTION_POSTPROCESSING chooses the best of few or many classes, with scores above and below the
 * threshold. The number after the last class exceeds all scores, so that the test fails if the
 * operation reads too far.
 */
static void test_many_classes(void **state)
{
	enum { MOST = 40 };
	static const float anchors[] = { 2, 2, 4, 4, 8, 8, 4, 4 };

	(void)state;
	for (uint32_t classes = 2; classes <= MOST; classes++)
		for (uint32_t i = 0; i < 2 * (classes - 1); i++) {
			const uint32_t best = 1 + i / 2;
			const int32_t label = i % 2 ? 0 : (int32_t)best, count = i % 2 ? 0 : 1;
			const float score = i % 2 ? 0 : 0.5f;
			float scores[2 * MOST] = { 0 };
			struct op_case c;

			for (uint32_t k = 0; k < classes; k++)
				scores[k] = k ? 0.25f : 0.9f;
			scores[best] = 0.5f;
			scores[classes] = 0.9f;
			oc_init(&c, "DETECTION_POSTPROCESSING");
			oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 2, classes), scores);
			oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(1, 2, 4), NULL);
			oc_input(&c, NN_TENSOR_FLOAT32, OC_DIMS(2, 4), anchors);
			for (uint32_t k = 0; k < 4; k++)
				oc_float(&c, 1);
			oc_bool(&c, false);
			oc_int(&c, 1);
			oc_int(&c, 1);
			oc_int(&c, 1);
			oc_float(&c, i % 2 ? 0.6f : 0.3f);
			oc_float(&c, 0.5f);
			oc_bool(&c, true);
			oc_output(&c, NN_TENSOR_FLOAT32);
			oc_output(&c, NN_TENSOR_FLOAT32);
			oc_output(&c, NN_TENSOR_INT32);
			oc_output(&c, NN_TENSOR_INT32);
			assert_int_equal(oc_run(&c), NN_OK);
			assert_floats(&c, 0, &score, 1);
			assert_ints(&c, 2, &label, 1);
			assert_ints(&c, 3, &count, 1);
			oc_free(&c);
		}
}

static void test_bad_postprocessing(void **state)
{
	static const struct {
		struct post_case p;
		float scale;
	} table[] = {
		{ { .regular = true, .most = 0, .per_class = 1 }, 1 },
		{ { .regular = true, .most = 1, .per_class = 0 }, 1 },
		{ { .most = 1, .classes = 0, .per_class = 1 }, 1 },
		{ { .most = INT32_MIN, .classes = 1 }, 1 },
		{ { .most = INT32_MAX, .classes = INT32_MAX }, 1 },
		{ { .most = INT32_MAX, .classes = 2 }, 1 },
		{ { .most = 1, .classes = 1, .threshold = -1 }, 1 },
		{ { .most = 1, .classes = 1, .overlap = NAN }, 1 },
		{ { .most = 1, .classes = 1 }, 0 },
		{ { .most = 1, .classes = 1 }, NAN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct op_case c;

		if (run_post(&c, &table[i].p, table[i].scale) != NN_GENERAL_FAILURE)
			fail_msg("case %zu is taken", i);
		oc_free(&c);
	}
}

/* ---- Shapes that do not match ---- */

static void test_shapes(void **state)
{
	/* In each case, one input tensor has wrong dimensions. */
	static const struct {
		const char *op, *scalars, *outputs;
		uint32_t dims[4][4];
	} table[] = {
		{ "ROI_ALIGN", "IIFFIIB", "f", { { 1, 2, 2, 1 }, { 3, 5 }, { 3 } } },
		{ "ROI_ALIGN", "IIFFIIB", "f", { { 1, 2, 2, 1 }, { 3, 4 }, { 2 } } },
		{ "ROI_POOLING", "IIFFB", "f", { { 1, 2, 2, 1 }, { 3, 4 }, { 4 } } },
		{ "AXIS_ALIGNED_BBOX_TRANSFORM", "", "f", { { 2, 4 }, { 3, 4 }, { 2 }, { 1, 2 } } },
		{ "AXIS_ALIGNED_BBOX_TRANSFORM", "", "f", { { 2, 4 }, { 2, 5 }, { 2 }, { 1, 2 } } },
		{ "AXIS_ALIGNED_BBOX_TRANSFORM", "", "f", { { 2, 4 }, { 2, 4 }, { 1 }, { 1, 2 } } },
		{ "AXIS_ALIGNED_BBOX_TRANSFORM", "", "f", { { 2, 4 }, { 2, 4 }, { 2 }, { 1, 3 } } },
		{ "BOX_WITH_NMS_LIMIT", "FIIFFF", "ffww", { { 2, 1 }, { 2, 4 }, { 2 } } },
		{ "BOX_WITH_NMS_LIMIT", "FIIFFF", "ffww", { { 2, 2 }, { 2, 4 }, { 2 } } },
		{ "BOX_WITH_NMS_LIMIT", "FIIFFF", "ffww", { { 2, 2 }, { 1, 8 }, { 2 } } },
		{ "BOX_WITH_NMS_LIMIT", "FIIFFF", "ffww", { { 2, 2 }, { 2, 8 }, { 3 } } },
		{ "GENERATE_PROPOSALS", "FFIIFFB", "ffw",
		  { { 1, 2, 2, 1 }, { 1, 2, 2, 3 }, { 1, 4 }, { 1, 2 } } },
		{ "GENERATE_PROPOSALS", "FFIIFFB", "ffw",
		  { { 1, 2, 2, 1 }, { 1, 2, 1, 4 }, { 1, 4 }, { 1, 2 } } },
		{ "GENERATE_PROPOSALS", "FFIIFFB", "ffw",
		  { { 1, 2, 2, 1 }, { 1, 2, 2, 4 }, { 2, 4 }, { 1, 2 } } },
		{ "GENERATE_PROPOSALS", "FFIIFFB", "ffw",
		  { { 1, 2, 2, 1 }, { 1, 2, 2, 4 }, { 1, 4 }, { 2, 2 } } },
		{ "DETECTION_POSTPROCESSING", "FFFFBIIIFFB", "ffww",
		  { { 1, 3, 1 }, { 1, 3, 4 }, { 3, 4 } } },
		{ "DETECTION_POSTPROCESSING", "FFFFBIIIFFB", "ffww",
		  { { 1, 3, 2 }, { 1, 2, 4 }, { 3, 4 } } },
		{ "DETECTION_POSTPROCESSING", "FFFFBIIIFFB", "ffww",
		  { { 1, 3, 2 }, { 1, 3, 3 }, { 3, 4 } } },
		{ "DETECTION_POSTPROCESSING", "FFFFBIIIFFB", "ffww",
		  { { 1, 3, 2 }, { 1, 3, 4 }, { 2, 4 } } },
		{ "HEATMAP_MAX_KEYPOINT", "B", "ff", { { 1, 2, 3, 1 }, { 1, 4 } } },
		{ "HEATMAP_MAX_KEYPOINT", "B", "ff", { { 1, 2, 2, 1 }, { 2, 4 } } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct op_case c;

		oc_init(&c, table[i].op);
		for (int k = 0; k < 4 && table[i].dims[k][0]; k++) {
			uint32_t rank = 0;

			while (rank < 4 && table[i].dims[k][rank])
				rank++;
			oc_input(&c, rank == 1 ? NN_TENSOR_INT32 : NN_TENSOR_FLOAT32, rank,
				 table[i].dims[k], NULL);
		}
		for (const char *s = table[i].scalars; *s; s++) {
			if (*s == 'I')
				oc_int(&c, 1);
			else if (*s == 'F')
				oc_float(&c, 1);
			else
				oc_bool(&c, false);
		}
		for (const char *s = table[i].outputs; *s; s++)
			oc_output(&c, *s == 'w' ? NN_TENSOR_INT32 : NN_TENSOR_FLOAT32);
		if (oc_run(&c) != NN_GENERAL_FAILURE)
			fail_msg("%s, case %zu: %s", table[i].op, i, c.err.message);
		oc_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_signatures),
		heap_unit_test(test_regions),
		heap_unit_test(test_bad_regions),
		heap_unit_test(test_quantised_regions),
		heap_unit_test(test_many_samples),
		heap_unit_test(test_channels),
		heap_unit_test(test_heatmap),
		heap_unit_test(test_flat_heatmap),
		heap_unit_test(test_bad_heatmaps),
		heap_unit_test(test_transform),
		heap_unit_test(test_quantised_transform),
		heap_unit_test(test_nms),
		heap_unit_test(test_soft_nms),
		heap_unit_test(test_bad_nms),
		heap_unit_test(test_proposals),
		heap_unit_test(test_proposals_outside),
		heap_unit_test(test_postprocessing),
		heap_unit_test(test_many_classes),
		heap_unit_test(test_bad_postprocessing),
		heap_unit_test(test_shapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
