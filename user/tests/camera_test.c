/* SPDX-License-Identifier: MIT */
/*
 * The network of the camera demo: learns digits from numbered frames, whatever
 * they look like, and reads numbers that it has not seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ops/op.h"
#include "plan/plan.h"
#include "tools/camera/reader.h"

#define WIDTH	240
#define HEIGHT	64
#define STRIDE	WIDTH

static const struct camera camera = { .width = WIDTH, .height = HEIGHT, .stride = STRIDE };
static uint8_t frame[HEIGHT * STRIDE * 3 / 2];

/* A digit of seven strokes, as on a clock. */
static bool has_ink(uint32_t digit, uint32_t x, uint32_t y)
{
	static const uint8_t strokes[] = { 0x77, 0x24, 0x5d, 0x6d, 0x2e, 0x6b, 0x7b, 0x25, 0x7f,
					   0x6f };
	uint8_t s = strokes[digit];

	if (x < 1 || x > 6 || y < 2 || y > 13)
		return false;
	return (s & 0x01 && y == 2) || (s & 0x08 && y == 7) || (s & 0x40 && y == 13) ||
	       (s & 0x02 && x == 1 && y < 8) || (s & 0x04 && x == 6 && y < 8) ||
	       (s & 0x10 && x == 1 && y > 7) || (s & 0x20 && x == 6 && y > 7);
}

/* A frame of noise with a number, ink on paper, both grey. */
static void draw(uint32_t number, uint8_t ink, uint8_t paper)
{
	uint32_t noise = number * 2654435761u;
	char text[16];
	int digits = snprintf(text, sizeof(text), "%u", number);

	for (size_t i = 0; i < sizeof(frame); i++) {
		noise = noise * 1664525 + 1013904223;
		frame[i] = (uint8_t)(noise >> 24);
	}
	for (int i = 0; i < digits; i++) {
		for (uint32_t p = 0; p < GLYPH_PIXELS; p++) {
			uint32_t x = p % GLYPH_WIDTH, y = p / GLYPH_WIDTH;
			bool on = has_ink((uint32_t)(text[i] - '0'), x, y);

			uint32_t at = NUMBER_X + (uint32_t)i * GLYPH_WIDTH + x;

			frame[(NUMBER_Y + y) * STRIDE + at] = on ? ink : paper;
			frame[(HEIGHT + (NUMBER_Y + y) / 2) * STRIDE + at] = 128;
		}
	}
}

static struct nn_plan *learn(struct reader *reader)
{
	const struct nn_plan_options options = { .preference = 1 };
	static struct glyphs glyphs;
	struct nn_error err = { "" };
	struct nn_plan *plan = NULL;

	assert_false(glyphs_know_all(&glyphs, 1));
	for (uint32_t number = 0; number < 20; number++) {
		draw(number, 255, 0);
		glyphs_learn(&glyphs, &camera, frame, number);
	}
	assert_true(glyphs_know_all(&glyphs, 2));
	glyphs_finish(&glyphs);
	reader_init(reader, &glyphs, WIDTH, HEIGHT);
	nn_model_check(&reader->model, &err);
	nn_ops_check_model(&reader->model, NULL, &err);
	assert_string_equal(err.message, "");
	assert_int_equal(nn_plan_create(&reader->model, &options, &plan, &err), NN_OK);
	return plan;
}

static int64_t read_frame(const struct nn_plan *plan, float *probability)
{
	float output[READER_OUTPUT / sizeof(float)];
	const struct nn_arg in = { .data = frame, .length = sizeof(frame) };
	const struct nn_arg out = { .data = output, .length = sizeof(output) };
	struct nn_execution execution = {
		.num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out,
	};
	struct nn_error err;

	assert_int_equal(nn_plan_execute(plan, &execution, &err), NN_OK);
	return reader_answer(output, probability);
}

static void test_reads_what_it_never_saw(void **state)
{
	static const struct { uint8_t ink, paper; } looks[] = {
		{ 255, 0 }, { 0, 255 }, { 190, 50 }, { 40, 100 },
	};
	static const uint32_t numbers[] = { 0, 7, 88, 365, 4096, 99999, 1234567, 98765432 };
	static struct reader reader;
	struct nn_plan *plan = learn(&reader);
	float probability;

	(void)state;
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
			draw(numbers[k], looks[i].ink, looks[i].paper);
			assert_int_equal(read_frame(plan, &probability), numbers[k]);
			assert_true(i > 1 || probability > 0.9f);
		}
	}
	memset(frame, 99, sizeof(frame));
	assert_int_equal(read_frame(plan, &probability), -1);
	nn_plan_free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_what_it_never_saw),
	};

	return cmocka_run_group_tests_name("camera", tests, NULL, NULL);
}
