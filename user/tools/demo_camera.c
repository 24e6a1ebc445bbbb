/* SPDX-License-Identifier: MIT */
/*
 * nnaccel demo camera: reads the number that a camera draws into each frame, with an
 * NNAPI network on the device. The frames are hardware buffers, which the device
 * reads without a copy.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <linux/dma-buf.h>

#include "base/clock.h"
#include "camera/network.h"
#include "camera/outside.h"
#include "camera/reader.h"
#include "camera/sheet.h"
#include "tool.h"

#define DEFAULT_DEVICE	"nnaccel"
#define DEFAULT_COUNT	300
#define DEFAULT_WIDTH	320
#define DEFAULT_HEIGHT	180
#define DEFAULT_FPS	60
#define MIN_ACCURACY	95	/* percent */
#define LESSONS		2	/* number of times that the demo must see each digit to learn it */
#define MAX_LESSON	600	/* frames */
#define PATTERN_FRAMES	25	/* number of frames with one test pattern of the camera */
#define NUM_PATTERNS	20
/* number of frames after which all buffers have a new test pattern */
#define SETTLE_FRAMES	(CAMERA_BUFFERS + 2)
#define SLOW_MOVEMENT	4

struct options {
	const char *device, *video, *png;
	uint64_t count, width, height, fps;
	bool help;
};

struct demo {
	struct options options;
	struct camera camera;
	struct glyphs glyphs;
	struct reader reader;
	struct sheet sheet;
	struct network network;
	float probabilities[READER_OUTPUT / sizeof(float)];
	uint32_t lessons;

	/* results that are measured while the network reads frames */
	uint64_t *execute_ns;
	uint64_t right;
	uint64_t skipped;
	uint64_t run_ns;
	float least;			/* lowest probability of a digit that was read correctly */
	int mapped;
	int64_t moved, resolves;
	struct nn_error err;
};

/* ---- looking at frames: to learn and for the contact sheet, never to recognise ---- */

static const uint8_t *look_at(struct demo *d, uint32_t buffer)
{
	struct dma_buf_sync sync = { DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ };
	void *map = mmap(NULL, camera_frame_bytes(&d->camera), PROT_READ, MAP_SHARED,
			 d->camera.buffers[buffer], 0);

	if (map == MAP_FAILED || ioctl(d->camera.buffers[buffer], DMA_BUF_IOCTL_SYNC, &sync)) {
		nn_fail(&d->err, NN_GENERAL_FAILURE, "a frame cannot be mapped");
		return NULL;
	}
	return map;
}

static void look_away(struct demo *d, uint32_t buffer, const uint8_t *pixels)
{
	struct dma_buf_sync sync = { DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ };

	ioctl(d->camera.buffers[buffer], DMA_BUF_IOCTL_SYNC, &sync);
	munmap((void *)pixels, camera_frame_bytes(&d->camera));
}

static bool learn(struct demo *d)
{
	struct camera_frame frame;
	const uint8_t *pixels;

	while (!glyphs_know_all(&d->glyphs, LESSONS)) {
		if (d->lessons++ == MAX_LESSON) {
			nn_fail(&d->err, NN_GENERAL_FAILURE,
				"the camera does not number its frames");
			return false;
		}
		if (camera_get(&d->camera, &frame, &d->err))
			return false;
		pixels = look_at(d, frame.index);
		if (!pixels)
			return false;
		glyphs_learn(&d->glyphs, &d->camera, pixels, frame.sequence);
		look_away(d, frame.index, pixels);
		if (camera_put(&d->camera, &frame, &d->err))
			return false;
	}
	glyphs_finish(&d->glyphs);
	return true;
}

/* ---- the device ---- */

/* Adds each buffer of the camera to the network, as a hardware buffer: two planes in a dma-buf. */
static bool add_frames(struct demo *d)
{
	struct nna_hardware_image image = {
		.fourcc = CAMERA_FOURCC,
		.width = d->camera.width,
		.height = d->camera.height,
		.num_planes = 2,
		.usage = AHARDWAREBUFFER_USAGE_GPU_SAMPLED_IMAGE,
	};

	for (int i = 0; i < CAMERA_BUFFERS; i++) {
		for (int k = 0; k < 2; k++)
			image.planes[k] = (struct nna_hardware_plane){
				.fd = d->camera.buffers[i],
				.stride = d->camera.stride,
				.offset = k ? camera_chroma_offset(&d->camera) : 0,
			};
		if (network_add_image(&d->network, &image, d->probabilities,
				      sizeof(d->probabilities), &d->err))
			return false;
	}
	return true;
}

static bool open_device(struct demo *d)
{
	reader_init(&d->reader, &d->glyphs, d->camera.width, d->camera.height);
	return !network_open(&d->network, &d->reader.model, d->options.device, &d->err) &&
	       add_frames(d);
}

static bool recognise(struct demo *d, uint32_t buffer, int64_t *answer, float *probability)
{
	if (network_execute(&d->network, buffer, &d->err))
		return false;
	*answer = reader_answer(d->probabilities, probability);
	return true;
}

/* ---- the frames that count ---- */

static bool run_frame(struct demo *d, uint64_t index, uint32_t *next)
{
	struct camera_frame frame;
	float probability;
	int64_t answer;
	uint64_t start;

	if (index % PATTERN_FRAMES == 0)
		camera_set(&d->camera, "Test Pattern", index / PATTERN_FRAMES % NUM_PATTERNS);
	if (camera_get(&d->camera, &frame, &d->err))
		return false;
	/*
	 * A slow camera may draw the same number into two frames, so only a number above the
	 * expected number shows skipped frames.
	 */
	if (index && (int32_t)(frame.sequence - *next) > 0)
		d->skipped += frame.sequence - *next;
	*next = frame.sequence + 1;
	start = clock_ns();
	if (!recognise(d, frame.index, &answer, &probability))
		return false;
	d->execute_ns[index] = clock_ns() - start;
	if (answer == frame.sequence) {
		d->right++;
		d->least = probability < d->least ? probability : d->least;
	}
	return !camera_put(&d->camera, &frame, &d->err);
}

static bool run(struct demo *d)
{
	int64_t before = outside_moved_bytes(), after;
	uint64_t start = clock_ns();
	uint32_t next = 0;

	d->least = 1;
	for (uint64_t i = 0; i < d->options.count; i++)
		if (!run_frame(d, i, &next))
			return false;
	d->run_ns = clock_ns() - start;
	after = outside_moved_bytes();
	d->moved = before < 0 || after < 0 ? -1 : after - before;
	d->mapped = outside_mapped_frames(d->camera.buffers, CAMERA_BUFFERS);
	d->resolves = outside_slot_resolves();
	return true;
}

/* ---- the contact sheet ---- */

static bool show_pattern(struct demo *d, uint32_t index)
{
	struct camera_frame frame;
	const uint8_t *pixels;
	float probability;
	int64_t answer;

	camera_set(&d->camera, "Test Pattern", (int32_t)index);
	for (int i = 0; i < SETTLE_FRAMES; i++)
		if (camera_get(&d->camera, &frame, &d->err) ||
		    camera_put(&d->camera, &frame, &d->err))
			return false;
	if (camera_get(&d->camera, &frame, &d->err) ||
	    !recognise(d, frame.index, &answer, &probability))
		return false;
	pixels = look_at(d, frame.index);
	if (!pixels)
		return false;
	sheet_put(&d->sheet, index, &d->camera, pixels, &d->glyphs, answer,
		  answer == frame.sequence);
	look_away(d, frame.index, pixels);
	return !camera_put(&d->camera, &frame, &d->err);
}

static bool make_sheet(struct demo *d)
{
	if (!d->options.png)
		return true;
	if (sheet_init(&d->sheet, d->camera.width, d->camera.height, &d->err))
		return false;
	for (uint32_t i = 0; i < SHEET_FRAMES; i++)
		if (!show_pattern(d, i))
			return false;
	return !sheet_write(&d->sheet, d->options.png, &d->err);
}

/* ---- telling ---- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double accuracy(const struct demo *d)
{
	return 100.0 * (double)d->right / (double)d->options.count;
}

/* Returns the number of bytes that this process moved by system calls, in units of a frame. */
static int64_t copies(const struct demo *d)
{
	return d->moved / (int64_t)camera_frame_bytes(&d->camera);
}

static void print_copies(const struct demo *d)
{
	if (d->moved < 0)
		printf("Copies of frames: this kernel does not count what system calls move.\n");
	else
		printf("Copies of frames by this program: %" PRId64 ": of %.1f MB of frames its "
		       "system calls moved %" PRId64 " bytes\n(/proc/self/io)", copies(d),
		       (double)camera_frame_bytes(&d->camera) * (double)d->options.count / 1e6,
		       d->moved);
	printf(", and it had %d frames mapped (/proc/self/maps).\n", d->mapped);
	printf("The worker was handed %" PRId64 " memories in all (the burst's fdinfo): %d buffers "
	       "and the answers',\neach once. %s\n", d->resolves, CAMERA_BUFFERS,
	       d->camera.stride == d->camera.width ?
	       "Rows lie without gaps: it reads them where the camera wrote them." :
	       "There are gaps between rows: it copies those of each frame together.");
}

static void print_report(struct demo *d)
{
	uint64_t count = d->options.count;

	qsort(d->execute_ns, count, sizeof(uint64_t), compare);
	printf("camera: %s (%s), %u x %u, NV12, %u frames a second, in %d dma-bufs\n",
	       d->camera.card, d->camera.driver, d->camera.width, d->camera.height, d->camera.fps,
	       CAMERA_BUFFERS);
	printf("%u frames with their numbers taught the digits; then the network read %" PRIu64
	       " frames.\n\n", d->lessons, count);
	printf("right              %10" PRIu64 "\n", d->right);
	printf("accuracy           %10.1f %%\n", accuracy(d));
	printf("least probability  %10.3f\n", (double)d->least);
	printf("frame rate         %10.1f /s\n", (double)count * 1e9 / (double)d->run_ns);
	printf("frames missed      %10" PRIu64 "\n", d->skipped);
	printf("execute, median    %10.3f ms\n", (double)d->execute_ns[count / 2] / 1e6);
	printf("execute, p99       %10.3f ms\n\n", (double)d->execute_ns[count * 99 / 100] / 1e6);
	print_copies(d);
	if (d->options.png)
		printf("%d more frames, copied for the purpose, are in %s.\n", SHEET_FRAMES,
		       d->options.png);
}

/* Checks the accuracy, and that no frame was copied; returns the exit status. */
static int judge(const struct demo *d)
{
	if (accuracy(d) < MIN_ACCURACY)
		return tool_fail("demo camera", "accuracy is below %d %%", MIN_ACCURACY);
	if (d->mapped || (d->moved >= 0 && copies(d)))
		return tool_fail("demo camera", "frames were copied");
	return TOOL_OK;
}

static bool open_camera(struct demo *d)
{
	const struct options *o = &d->options;

	d->execute_ns = calloc(o->count, sizeof(*d->execute_ns));
	if (!d->execute_ns)
		return !nn_fail(&d->err, NN_OUT_OF_MEMORY, "out of memory");
	if (camera_open(&d->camera, o->video, (uint32_t)o->width, (uint32_t)o->height,
			(uint32_t)o->fps, &d->err))
		return false;
	camera_set(&d->camera, "Horizontal Movement", SLOW_MOVEMENT);
	return true;
}

static void close_all(struct demo *d)
{
	network_close(&d->network);
	camera_close(&d->camera);
	sheet_free(&d->sheet);
	free(d->execute_ns);
	free(d);
}

static int show(const struct options *options)
{
	struct demo *d = calloc(1, sizeof(*d));
	int status;

	if (!d)
		return tool_fail("demo camera", "out of memory");
	d->options = *options;
	d->camera.fd = -1;
	if (open_camera(d) && learn(d) && open_device(d) && run(d) && make_sheet(d)) {
		print_report(d);
		status = judge(d);
	} else {
		status = tool_fail("demo camera", "%s", d->err.message);
	}
	close_all(d);
	return status;
}

static bool take_size(void *into, const char *text, char fault[OPTION_FAULT])
{
	struct options *options = into;
	const char *x = strchr(text, 'x');
	char width[8] = "";

	(void)fault;
	if (!x || x - text >= (int)sizeof(width))
		return false;
	memcpy(width, text, (size_t)(x - text));
	return option_number(width, 320, 8192, &options->width) &&
	       option_number(x + 1, 180, 8192, &options->height);
}

int tool_demo_camera(int argc, char **argv)
{
	static const struct option_row rows[] = {
		{ "count", "N", "number of frames, 1 to 1000000 (default " OPTION_STRING(DEFAULT_COUNT) ")",
		  OPTION_UINT64, OPTION_AT(struct options, count), .min = 1, .max = 1000000 },
		{ "size", "WxH", "size of frames, about (default " OPTION_STRING(DEFAULT_WIDTH) "x"
		  OPTION_STRING(DEFAULT_HEIGHT) ")", OPTION_CALL, .take = take_size },
		{ "fps", "N", "frames a second, 1 to 60 (default " OPTION_STRING(DEFAULT_FPS) ")",
		  OPTION_UINT64, OPTION_AT(struct options, fps), .min = 1, .max = 60 },
		{ "png", "FILE", "write a contact sheet of frames with their answers", OPTION_TEXT,
		  OPTION_AT(struct options, png) },
		{ "video", "PATH", "camera node (default: the first one of vivid)", OPTION_TEXT,
		  OPTION_AT(struct options, video) },
		{ "device", "NAME", "device of the NNAPI (default " DEFAULT_DEVICE ")", OPTION_TEXT,
		  OPTION_AT(struct options, device) },
		{ "help", NULL, "print this help", OPTION_STOP, OPTION_AT(struct options, help) },
		{ 0 },
	};
	static const struct tool_command command = {
		.name = "demo camera",
		.about = "demo camera [OPTION]...\n\n"
		"Reads the number that the camera of the driver vivid draws into each frame, with a\n"
		"network that runs on the device and uses the frames where they are. Fails where\n"
		"less than " OPTION_STRING(MIN_ACCURACY) " % are right, or a frame was copied.\n",
		.options = rows,
		.help = offsetof(struct options, help),
	};
	struct options options = {
		.device = DEFAULT_DEVICE,
		.count = DEFAULT_COUNT,
		.width = DEFAULT_WIDTH,
		.height = DEFAULT_HEIGHT,
		.fps = DEFAULT_FPS,
	};
	int status = tool_options(&command, argc, argv, &options, NULL);

	return status == TOOL_GO_ON ? show(&options) : status;
}
