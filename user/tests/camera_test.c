/* SPDX-License-Identifier: MIT */
/*
 * Tests the parts of the camera demo: the contact sheet, the count of mapped frames, and the
 * network, which learns digits of any font from numbered frames and then reads other numbers.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "ops/op.h"
#include "plan/plan.h"
#include "tools/camera/outside.h"
#include "tools/camera/reader.h"
#include "tools/camera/sheet.h"

#define WIDTH	240
#define HEIGHT	64
#define STRIDE	WIDTH

static const struct camera camera = { .width = WIDTH, .height = HEIGHT, .stride = STRIDE };
static uint8_t frame[HEIGHT * STRIDE * 3 / 2];

/* Draws a digit of seven segments, as on a digital clock. */
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

/*
 * Makes a frame of noise that shows a number: grey digits on a background of another shade of grey.
 */
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

	memset(&glyphs, 0, sizeof(glyphs));
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

static void assert_pixel(const struct sheet *s, uint32_t x, uint32_t y, int r, int g, int b)
{
	const uint8_t *pixel = s->pixels + ((size_t)y * s->width + x) * 3;

	if (abs(pixel[0] - r) > 1 || abs(pixel[1] - g) > 1 || abs(pixel[2] - b) > 1)
		fail_msg("%u, %u is %d, %d, %d, not %d, %d, %d", x, y, pixel[0], pixel[1], pixel[2], r,
			 g, b);
}

/*
 * The contact sheet has four frames in a row, in colours converted by BT.601. Each frame in the
 * contact sheet has a border of 8 pixels, and 32 pixels for a text below the frame.
 */
static void test_sheet(void **state)
{
	static const struct {
		uint8_t y, cb, cr;
		int r, g, b;
	} colours[] = {
		{ 16, 128, 128, 0, 0, 0 }, { 235, 128, 128, 255, 255, 255 }, { 81, 90, 240, 254, 0, 0 },
		{ 145, 54, 34, 0, 255, 1 }, { 41, 240, 110, 0, 0, 255 }, { 126, 128, 128, 128, 128, 128 },
	};
	/* A row of the camera's image has more bytes (the stride) than the frame is wide. */
	static const struct camera wide = { .width = WIDTH, .height = HEIGHT, .stride = WIDTH + 16 };
	static uint8_t image[(WIDTH + 16) * HEIGHT * 3 / 2];
	static struct glyphs glyphs;
	struct nn_error err = { "" };
	struct sheet s;

	(void)state;
	for (uint32_t number = 0; number < 20; number++) {
		draw(number, 255, 0);
		glyphs_learn(&glyphs, &camera, frame, number);
	}
	glyphs_finish(&glyphs);
	assert_int_equal(sheet_init(&s, WIDTH, HEIGHT, &err), NN_OK);
	assert_int_equal(s.width, 4 * (WIDTH + 8) + 8);
	assert_int_equal(s.height, 3 * (HEIGHT + 8 + 32) + 8);
	for (uint32_t i = 0; i < SHEET_FRAMES; i++) {
		uint32_t c = i % 6, x = 8 + i % 4 * (WIDTH + 8), y = 8 + i / 4 * (HEIGHT + 40);
		uint32_t found[2] = { 0, 0 };

		memset(image, colours[c].y, sizeof(image));
		for (uint32_t k = 0; k < sizeof(image) / 6; k++) {
			image[wide.stride * HEIGHT + 2 * k] = colours[c].cb;
			image[wide.stride * HEIGHT + 2 * k + 1] = colours[c].cr;
		}
		sheet_put(&s, i, &wide, image, &glyphs, i == 5 ? -1 : 7, i % 2);
		assert_pixel(&s, x, y, colours[c].r, colours[c].g, colours[c].b);
		assert_pixel(&s, x + WIDTH - 1, y + HEIGHT - 1, colours[c].r, colours[c].g, colours[c].b);
		assert_pixel(&s, x - 1, y, 32, 32, 32);
		assert_pixel(&s, x + WIDTH, y, 32, 32, 32);
		assert_pixel(&s, x, y - 1, 32, 32, 32);
		/*
		 * The number that the network read is drawn below the frame, at twice the glyphs'
		 * size, and in green if the network read correctly.
		 */
		for (uint32_t k = 0; k < 16 * 32; k++) {
			uint32_t px = k % 16, py = k / 16;
			const uint8_t *pixel = s.pixels + ((size_t)(y + HEIGHT + py) * s.width + x + px) * 3;
			bool is_ink = i != 5 && glyph_has_ink(&glyphs, 7, py / 2 * GLYPH_WIDTH + px / 2);

			assert_int_equal(is_ink, pixel[0] != 32 || pixel[1] != 32);
			found[pixel[1] > pixel[0]] += is_ink;
		}
		assert_int_equal(found[!(i % 2)], 0);
		assert_int_equal(found[i % 2] > 0, i != 5);
	}
	sheet_free(&s);
}

/*
 * Mappings of cameras and of the given dma-bufs are counted. The paths of the test's files have the
 * names of such mappings.
 */
static void test_mapped_frames(void **state)
{
	static const char *const names[] = { "x /dmabuf:0", "x /dmabuf:1", "x /dmabuf:2", "dev/video0" };
	char folder[] = "/tmp/camera-XXXXXX", path[64];
	int files[4];
	void *maps[4];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/x ", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/dev", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(outside_mapped_frames(files, 0), 0);
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		files[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		maps[i] = mmap(NULL, 4096, PROT_READ, MAP_SHARED, files[i], 0);
		assert_true(maps[i] != MAP_FAILED);
	}
	assert_int_equal(outside_mapped_frames(files, 0), 1);
	assert_int_equal(outside_mapped_frames(files + 1, 1), 2);
	assert_int_equal(outside_mapped_frames(files, 3), 4);
	assert_int_equal(munmap(maps[3], 4096), 0);
	assert_int_equal(outside_mapped_frames(files, 2), 2);
	for (int i = 0; i < 4; i++) {
		if (i < 3)
			munmap(maps[i], 4096);
		close(files[i]);
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	assert_int_equal(outside_mapped_frames(files, 3), 0);
	snprintf(path, sizeof(path), "%s/x ", folder);
	assert_int_equal(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/dev", folder);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sheet),
		cmocka_unit_test(test_mapped_frames),
		cmocka_unit_test(test_reads_what_it_never_saw),
	};

	return cmocka_run_group_tests_name("camera", tests, NULL, NULL);
}
