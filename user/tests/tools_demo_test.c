/* SPDX-License-Identifier: MIT */
/*
 * Runs `nnaccel demo` and `nnaccel demo camera`. The test program simulates the device of `nnaccel
 * demo`, the camera of `nnaccel demo camera`, the clock, and files of /proc. The simulated device
 * computes the networks' results on the CPU.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/dma-buf.h>
#include <linux/videodev2.h>

#include "open_files.h"
#include "plan/plan.h"
#include "tools/camera/glyphs.h"
#include "tools/tool.h"

/*
 * The wrapped functions have default visibility, because the sanitizers' libraries call these
 * functions.
 */
#pragma GCC visibility push(default)
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_open(const char *path, int flags, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_poll(struct pollfd *files, nfds_t count, int timeout_ms);
FILE *__wrap_fopen(const char *path, const char *mode);
#pragma GCC visibility pop

#define MS UINT64_C(1000000)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the clock ---- */

static uint64_t now_ns, tick_ns;	/* each reading advances the clock by tick_ns */

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	(void)clock;
	*t = (struct timespec){ (time_t)(now_ns / (1000 * MS)), (long)(now_ns % (1000 * MS)) };
	/*
	 * Only the main thread advances the clock, because other threads read the clock at random
	 * moments.
	 */
	if (gettid() == getpid())
		now_ns += tick_ns;
	return 0;
}

/* ---- the device ---- */

struct nna_device {
	int open;
};

struct nna_memory {
	char bytes[8192];
};

struct nna_prepared_model {
	struct nn_plan *plan;
};

static struct {
	const char *fails;		/* name of the function whose call fails, or NULL */
	int skip;			/* number of successful calls before the failure */
	int wrong;			/* number (from 1) of the model whose result is always 0 */
	uint64_t missed;		/* number of executions that the module does not count */
	/* Numbers of the device's executions, of live objects, and of models. */
	uint64_t executions, objects;
	int models;
} device;

static enum nn_status call(const char *name, struct nn_error *error)
{
	if (!device.fails || strcmp(device.fails, name) || device.skip-- > 0)
		return NN_OK;
	return nn_fail(error, NN_GENERAL_FAILURE, "%s fails", name);
}

enum nn_status nna_device_open(const char *path, struct nna_device **made, struct nn_error *error)
{
	static struct nna_device it;
	enum nn_status status = call("open", error);

	/* The library of the camera demo opens devices that the test does not simulate. */
	if (!path || strcmp(path, "/dev/played"))
		return nn_fail(error, NN_DEVICE_UNAVAILABLE, "there is no other");
	now_ns += 2 * MS;
	*made = status ? NULL : &it;
	device.objects += !status;
	return status;
}

void nna_device_close(struct nna_device *of)
{
	device.objects -= of != NULL;
}

enum nn_status nna_device_get_info(struct nna_device *of, struct nn_device_info *info, struct nn_error *error)
{
	(void)of;
	now_ns += 3 * MS;
	strcpy(info->version, "7-played");
	info->type = 4;
	return call("info", error);
}

enum nn_status nna_device_get_context_info(struct nna_device *of, struct nna_context_info *info, struct nn_error *error)
{
	(void)of;
	/* The module has counted 1000 executions of this process before the demo. */
	info->executions = 1000 + device.executions - (device.executions ? device.missed : 0);
	return call("context", error);
}

enum nn_status nna_prepare_model(struct nna_device *of, const struct nn_model *model, struct nna_memory *const *memories,
				 const struct nna_prepare_options *options, struct nna_prepared_model **made,
				 struct nn_error *error)
{
	const struct nn_plan_options how = { .preference = 1 };
	enum nn_status status = call("prepare", error);

	(void)of;
	(void)memories;
	(void)options;
	now_ns += (uint64_t)(10 * ++device.models) * MS;
	if (status)
		return status;
	*made = calloc(1, sizeof(**made));
	device.objects++;
	return nn_plan_create(model, &how, &(*made)->plan, error);
}

void nna_prepared_model_free(struct nna_prepared_model *p)
{
	if (!p)
		return;
	nn_plan_free(p->plan);
	free(p);
	device.objects--;
}

enum nn_status nna_memory_alloc(struct nna_device *of, uint64_t size, struct nna_memory **memory, struct nn_error *error)
{
	enum nn_status status = call("alloc", error);

	(void)of;
	assert_int_equal(size, sizeof((*memory)->bytes));
	if (status)
		return status;
	*memory = calloc(1, sizeof(**memory));
	device.objects++;
	return NN_OK;
}

void nna_memory_free(struct nna_memory *memory)
{
	device.objects -= memory != NULL;
	free(memory);
}

void *nna_memory_map(struct nna_memory *memory, struct nn_error *error)
{
	return call("map", error) ? NULL : memory->bytes;
}

/*
 * Each execution takes 1 ms longer than the preceding execution; executions in 8 bits take half of
 * the time.
 */
enum nn_status nna_execute(struct nna_prepared_model *p, const struct nna_request *request,
			   const struct nna_execute_options *options,
			   const struct nna_results *results, struct nn_error *error)
{
	char *bytes = request->memories[0]->bytes;
	const struct nn_arg in = { .data = bytes + request->inputs[0].offset, .length = request->inputs[0].length };
	const struct nn_arg out = { .data = bytes + request->outputs[0].offset, .length = request->outputs[0].length };
	struct nn_execution e = { .num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out };
	int number = (int)(device.executions++ % 2);

	assert_true(options->measure);
	results->timing->on_device_us = 500 * (device.executions + 1) / (uint64_t)(number + 1);
	now_ns += 2 * 1000 * results->timing->on_device_us;
	if (call("execute", error))
		return NN_GENERAL_FAILURE;
	if (nn_plan_execute(p->plan, &e, error))
		return NN_GENERAL_FAILURE;
	if (device.wrong == number + 1)
		memset(out.data, 0, out.length);
	return NN_OK;
}

/* ---- a command and what it writes ---- */

static char text[1 << 16], said[1024];

static void read_into(int fd, char *to, size_t size)
{
	ssize_t n = pread(fd, to, size - 1, 0);

	assert_true(n >= 0);
	to[n] = '\0';
	close(fd);
}

/* Duplicates of the test program's standard output and standard error. */
static int out, err;

/*
 * Restores standard output and error, which a test that failed inside a command has left
 * redirected.
 */
static void restore_output(void)
{
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
}

static int run(int (*command)(int argc, char **argv), const char *words)
{
	int status, argc = 0;
	int caught[] = { memfd_create("out", 0), memfd_create("err", 0) };
	char copy[512], *argv[32];

	snprintf(copy, sizeof(copy), "%s", words);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	fflush(stdout);
	dup2(caught[0], STDOUT_FILENO);
	dup2(caught[1], STDERR_FILENO);
	status = command(argc, argv);
	restore_output();
	read_into(caught[0], text, sizeof(text));
	read_into(caught[1], said, sizeof(said));
	return status;
}

static void expect(const char *part)
{
	if (!strstr(text, part))
		fail_msg("it does not write \"%s\" but\n%s", part, text);
}

/* ---- nnaccel demo ---- */

#define DEMO "demo --device /dev/played --ascii "

static int set_up(void **state)
{
	(void)state;
	restore_output();
	memset(&device, 0, sizeof(device));
	now_ns = tick_ns = 0;
	return 0;
}

static int lines_with(const char *part)
{
	int found = 0;

	for (const char *at = text; (at = strstr(at, part)); at++)
		found++;
	return found;
}

static void test_demo(void **state)
{
	(void)state;
	assert_int_equal(run(tool_demo, DEMO "--count 8 --seed 7"), TOOL_OK);
	assert_string_equal(said, "");
	expect("/dev/played: 7-played, type accelerator\n8 images of digits, drawn from seed 7 (training had seed 1)\n\n");
	assert_int_equal(lines_with(" is  "), 4);
	assert_int_equal(lines_with(" f32 "), 4);
	assert_int_equal(lines_with(" q8  "), 4);
	expect("                         float32         quant8\n"
	       "right                          8              8\n"
	       "accuracy                 100.0 %        100.0 %\n"
	       "prepare                10.000 ms      20.000 ms\n"
	       "execute, median        10.000 ms       5.500 ms\n"
	       "execute, p99           16.000 ms       8.500 ms\n"
	       "on device, median       5.000 ms       2.750 ms\n\n"
	       "Opening the device and its engine took 5.000 ms.\n"
	       "The module counted 16 executions of this client.\n");
	assert_int_equal(device.objects, 0);
	/* With --count 1 the demo has fewer images than it usually shows. */
	assert_int_equal(run(tool_demo, DEMO "--count 1"), TOOL_OK);
	assert_int_equal(lines_with(" is  "), 1);
	expect("1 images of digits, drawn from seed 2026 ");
}

static void test_demo_fails(void **state)
{
	static const struct {
		const char *fails;
		int skip;
	} cases[] = {
		{ "open", 0 }, { "info", 0 }, { "prepare", 0 }, { "prepare", 1 }, { "alloc", 0 }, { "alloc", 1 },
		{ "map", 0 }, { "map", 1 }, { "context", 0 }, { "context", 1 }, { "execute", 0 }, { "execute", 1 },
		{ "execute", 3 },
	};
	char expected[64];

	for (size_t i = 0; i < COUNT(cases); i++) {
		set_up(state);
		device.fails = cases[i].fails;
		device.skip = cases[i].skip;
		assert_int_equal(run(tool_demo, DEMO "--count 2"), TOOL_FAILED);
		snprintf(expected, sizeof(expected), "nnaccel demo: %s fails\n", cases[i].fails);
		assert_string_equal(said, expected);
		assert_string_equal(text, "");
		assert_int_equal(device.objects, 0);
	}
}

static void test_demo_promises(void **state)
{
	set_up(state);
	device.missed = 1;
	assert_int_equal(run(tool_demo, DEMO "--count 3"), TOOL_FAILED);
	assert_string_equal(said, "nnaccel demo: the module counted 5 executions, not 6\n");
	for (int wrong = 1; wrong < 3; wrong++) {
		set_up(state);
		device.wrong = wrong;
		assert_int_equal(run(tool_demo, DEMO "--count 20"), TOOL_FAILED);
		assert_string_equal(said, wrong == 1 ? "nnaccel demo: accuracy in float32 is below 95 %\n" :
					   "nnaccel demo: accuracy in quant8 is below 95 %\n");
	}
	assert_int_equal(run(tool_demo, "demo --seed 1"), TOOL_USAGE);
	assert_non_null(strstr(said, "seed 1 drew the training's images"));
}

/* ---- the camera ---- */

#define BUFFERS 4
#define WIDTH 320
#define HEIGHT 180

static struct {
	unsigned long fails;		/* number of the ioctl that fails */
	int skip;			/* number of successful calls before the failure */
	uint32_t stride, sequence, fourcc, num_buffers, fps, caps;
	uint32_t late;			/* number of the frame before which frames are missing */
	/* number of the first frame that shows the previous frame's number */
	uint32_t wrong;
	int other, vivid, streaming;	/* descriptors of both cameras; 1 while one streams */
	int buffers[BUFFERS];
	uint32_t queue[BUFFERS], queued;
	int patterns, movement;		/* number of test patterns set, and last movement set */
	bool has_no_frame, has_no_numbers, is_mapped, has_no_io;
	/* rchar in the simulated /proc/self/io; each fopen() then adds half of `moved` */
	int64_t moved;
} camera;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	int *file = !strcmp(path, "/dev/video1") ? &camera.other : &camera.vivid;
	mode_t mode = 0;
	va_list args;

	if (!strcmp(path, "/dev/video1") || !strcmp(path, "/dev/video3")) {
		/* The opened file may get the descriptor of a camera that was closed earlier. */
		camera.other = camera.vivid = -1;
		*file = memfd_create("camera", MFD_CLOEXEC);
		return *file;
	}
	if (flags & O_CREAT) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return __real_open(path, flags, mode);
}

static bool has_ink(uint32_t digit, uint32_t x, uint32_t y)
{
	static const uint8_t strokes[] = { 0x77, 0x24, 0x5d, 0x6d, 0x2e, 0x6b, 0x7b, 0x25, 0x7f, 0x6f };
	uint8_t s = strokes[digit];

	if (x < 1 || x > 6 || y < 2 || y > 13)
		return false;
	return (s & 0x01 && y == 2) || (s & 0x08 && y == 7) || (s & 0x40 && y == 13) ||
	       (s & 0x02 && x == 1 && y < 8) || (s & 0x04 && x == 6 && y < 8) ||
	       (s & 0x10 && x == 1 && y > 7) || (s & 0x20 && x == 6 && y > 7);
}

static size_t frame_bytes(void)
{
	return (size_t)camera.stride * HEIGHT * 3 / 2;
}

static void draw(int fd, uint32_t number)
{
	uint8_t *frame = mmap(NULL, frame_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char digits[16];

	assert_ptr_not_equal(frame, MAP_FAILED);
	memset(frame, 16, (size_t)camera.stride * HEIGHT);
	memset(frame + (size_t)camera.stride * HEIGHT, 128, frame_bytes() - (size_t)camera.stride * HEIGHT);
	snprintf(digits, sizeof(digits), "%u", number);
	for (uint32_t i = 0; digits[i] && !camera.has_no_numbers; i++)
		for (uint32_t p = 0; p < GLYPH_PIXELS; p++)
			if (has_ink((uint32_t)(digits[i] - '0'), p % GLYPH_WIDTH, p / GLYPH_WIDTH))
				frame[(NUMBER_Y + p / GLYPH_WIDTH) * camera.stride + NUMBER_X + i * GLYPH_WIDTH +
				      p % GLYPH_WIDTH] = 235;
	munmap(frame, frame_bytes());
}

static int take_frame(struct v4l2_buffer *b)
{
	assert_true(camera.queued > 0 && camera.streaming == 1);
	b->index = camera.queue[0];
	memmove(camera.queue, camera.queue + 1, --camera.queued * sizeof(camera.queue[0]));
	if (camera.sequence == camera.late)
		camera.sequence += 3;
	b->sequence = camera.sequence++;
	draw(camera.buffers[b->index], camera.wrong && b->sequence >= camera.wrong ? b->sequence - 1 : b->sequence);
	return 0;
}

static int control(unsigned long request, void *arg)
{
	static const char *const names[] = { "Brightness", "Horizontal Movement", "Test Pattern" };
	struct v4l2_queryctrl *query = arg;
	const struct v4l2_control *set = arg;

	if (request == VIDIOC_S_CTRL) {
		camera.patterns += set->id == 3;
		camera.movement = set->id == 2 ? set->value : camera.movement;
		return 0;
	}
	assert_true(query->id & V4L2_CTRL_FLAG_NEXT_CTRL);
	query->id = (query->id & ~V4L2_CTRL_FLAG_NEXT_CTRL) + 1;
	if (query->id > COUNT(names))
		return -1;
	strcpy((char *)query->name, names[query->id - 1]);
	return 0;
}

static int play_camera(int fd, unsigned long request, void *arg)
{
	struct v4l2_capability *caps = arg;
	struct v4l2_format *format = arg;
	struct v4l2_streamparm *rate = arg;
	struct v4l2_requestbuffers *wanted = arg;
	struct v4l2_exportbuffer *made = arg;
	const struct v4l2_buffer *put = arg;

	switch (request) {
	case VIDIOC_QUERYCAP:
		strcpy((char *)caps->driver, fd == camera.other ? "other" : "vivid");
		strcpy((char *)caps->card, "played");
		caps->device_caps = camera.caps;
		return 0;
	case VIDIOC_S_INPUT:
		return 0;
	case VIDIOC_S_FMT:
		assert_int_equal(format->fmt.pix.pixelformat, V4L2_PIX_FMT_NV12);
		assert_int_equal(format->fmt.pix.width, WIDTH + 1);
		assert_int_equal(format->fmt.pix.height, HEIGHT + 1);
		format->fmt.pix.pixelformat = camera.fourcc;
		format->fmt.pix.width = WIDTH;
		format->fmt.pix.height = HEIGHT;
		format->fmt.pix.bytesperline = camera.stride;
		return 0;
	case VIDIOC_S_PARM:
		assert_int_equal(rate->parm.capture.timeperframe.numerator, 1);
		camera.fps = rate->parm.capture.timeperframe.denominator;
		rate->parm.capture.timeperframe.numerator = 2;
		rate->parm.capture.timeperframe.denominator *= 2;
		return 0;
	case VIDIOC_REQBUFS:
		wanted->count = camera.num_buffers;
		return 0;
	case VIDIOC_EXPBUF:
		made->fd = memfd_create("frame", MFD_CLOEXEC);
		assert_int_equal(ftruncate(made->fd, (off_t)frame_bytes()), 0);
		camera.buffers[made->index] = made->fd;
		return 0;
	case VIDIOC_QBUF:
		assert_true(camera.queued < BUFFERS);
		camera.queue[camera.queued++] = put->index;
		return 0;
	case VIDIOC_DQBUF:
		return take_frame(arg);
	case VIDIOC_STREAMON:
		return camera.streaming++;
	case VIDIOC_STREAMOFF:
		return !camera.streaming--;
	}
	return control(request, arg);
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	errno = EIO;
	if (request == camera.fails && camera.skip-- <= 0)
		return -1;
	return request == DMA_BUF_IOCTL_SYNC ? 0 : play_camera(fd, request, arg);
}

int __wrap_poll(struct pollfd *files, nfds_t count, int timeout_ms)
{
	assert_int_equal(count, 1);
	assert_true(files->fd >= 0 && (files->fd == camera.vivid || files->fd == camera.other));
	assert_true(files->events == POLLIN && timeout_ms > 0);
	return !camera.has_no_frame;
}

/* ---- files of /proc ---- */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
	static char lines[512];
	struct stat st = { 0 };

	if (!strcmp(path, "/proc/self/io")) {
		if (camera.has_no_io)
			return NULL;
		snprintf(lines, sizeof(lines), "rchar: %lld\nwchar: 5\nsyscr: 77\n", (long long)camera.moved);
		camera.moved += camera.moved / 2;
	} else if (!strcmp(path, "/proc/self/maps")) {
		fstat(camera.buffers[1], &st);
		snprintf(lines, sizeof(lines), "1-2 r--s 0 0:1 %lu /dmabuf:\n3-4 r--p 0 0:1 %lu /other\n5-6 r--s 0 0:1 7 %s\n",
			 camera.is_mapped ? (unsigned long)st.st_ino : 1, (unsigned long)st.st_ino,
			 camera.is_mapped ? "/dev/video3" : "/dmabuf:x");
	} else if (!strncmp(path, "/proc/self/fdinfo/", 18)) {
		snprintf(lines, sizeof(lines), "pos:\t0\n%s", !strcmp(path + 18, "0") ? "nnaccel-slot-resolves:\t3\n" :
			 !strcmp(path + 18, "1") ? "nnaccel-slot-resolves:\t4\n" : "");
	} else {
		return __real_fopen(path, mode);
	}
	return fmemopen(lines, strlen(lines), "r");
}

/* ---- nnaccel demo camera ---- */

#define CAMERA "demo camera --device nnapi-reference --size 321x181 --fps 30 --count 60 "

static int set_up_camera(void **state)
{
	(void)state;
	memset(&camera, 0, sizeof(camera));
	camera.stride = WIDTH;
	camera.fourcc = V4L2_PIX_FMT_NV12;
	camera.num_buffers = BUFFERS;
	camera.caps = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
	camera.late = 50;
	camera.moved = 1000;
	now_ns = 0;
	tick_ns = MS;
	return 0;
}

/*
 * The expected report of the camera demo. The demo learns the digits from 20 frames, which contain
 * each digit twice. After learning, the demo recognises 60 frames, and reads the clock twice for
 * each frame.
 */
#define REPORT(right, accuracy, missed) \
	"camera: played (vivid), 320 x 180, NV12, 30 frames a second, in 4 dma-bufs\n" \
	"20 frames with their numbers taught the digits; then the network read 60 frames.\n\n" \
	"right              " right "\naccuracy           " accuracy " %\nleast probability       0.963\n" \
	"frame rate              495.9 /s\nframes missed      " missed "\n" \
	"execute, median         1.000 ms\nexecute, p99            1.000 ms\n\n"

static void test_camera(void **state)
{
	int files;

	set_up_camera(state);
	/* The first run of the demo opens files that the library keeps open. */
	assert_int_equal(run(tool_demo, CAMERA), TOOL_OK);
	files = count_files();
	set_up_camera(state);
	assert_int_equal(run(tool_demo, CAMERA), TOOL_OK);
	assert_string_equal(said, "");
	assert_string_equal(text, REPORT("        60", "     100.0", "         3")
			    "Copies of frames by this program: 0: of 5.2 MB of frames its system calls moved 1250 bytes\n"
			    "(/proc/self/io), and it had 0 frames mapped (/proc/self/maps).\n"
			    "The worker was handed 7 memories in all (the burst's fdinfo): 4 buffers and the answers',\n"
			    "each once. Rows lie without gaps: it reads them where the camera wrote them.\n");
	assert_int_equal(camera.fps, 30);
	assert_int_equal(camera.movement, 4);
	assert_int_equal(camera.patterns, 3);
	assert_int_equal(camera.queued, BUFFERS);
	assert_int_equal(camera.streaming, 0);
	assert_int_equal(count_files(), files);
}

static void test_camera_reports(void **state)
{
	char path[] = "/tmp/nn-demo-XXXXXX", words[256];
	int fd = mkstemp(path);
	struct stat st;

	set_up_camera(state);
	camera.stride = WIDTH + 32;
	camera.has_no_io = true;
	camera.late = UINT32_MAX;
	snprintf(words, sizeof(words), CAMERA "--video /dev/video1 --png %s", path);
	assert_int_equal(run(tool_demo, words), TOOL_OK);
	expect("camera: played (other)");
	snprintf(words, sizeof(words), CAMERA "--video /dev/video3 --png %s", path);
	set_up_camera(state);
	camera.stride = WIDTH + 32;
	camera.has_no_io = true;
	camera.late = UINT32_MAX;
	assert_int_equal(run(tool_demo, words), TOOL_OK);
	expect("this kernel does not count what system calls move");
	expect(", and it had 0 frames mapped (/proc/self/maps).\n");
	expect("There are gaps between rows: it copies those of each frame together.\n12 more frames, copied for the "
	       "purpose, are in /tmp/nn-demo-");
	/*
	 * The camera shows each test pattern once, after the frames that the buffers already
	 * contain.
	 */
	assert_int_equal(camera.patterns, 3 + 12);
	assert_int_equal(camera.sequence, 20 + 60 + 12 * 7);
	assert_true(!fstat(fd, &st) && st.st_size > 1000);
	close(fd);
	unlink(path);
}

static void test_camera_promises(void **state)
{
	/* The demo succeeds if at least 95 % of the answers are right, which are 57 of 60. */
	for (uint32_t right = 56; right < 58; right++) {
		set_up_camera(state);
		camera.late = UINT32_MAX;
		camera.wrong = 20 + right;
		assert_int_equal(run(tool_demo, CAMERA), right == 57 ? TOOL_OK : TOOL_FAILED);
		expect(right == 57 ? "accuracy                 95.0 %" : "accuracy                 93.3 %");
		assert_string_equal(said, right == 57 ? "" : "nnaccel demo camera: accuracy is below 95 %\n");
	}
	set_up_camera(state);
	camera.is_mapped = true;
	assert_int_equal(run(tool_demo, CAMERA), TOOL_FAILED);
	expect("it had 2 frames mapped");
	assert_string_equal(said, "nnaccel demo camera: frames were copied\n");
	for (int i = 0; i < 2; i++) {
		set_up_camera(state);
		/*
		 * System calls move camera.moved / 2 bytes before each of the demo's two checks of
		 * moved bytes.
		 */
		camera.moved = (int64_t)frame_bytes() * 4 / 5 - 4 * (i == 0);
		if (run(tool_demo, CAMERA) != (i ? TOOL_FAILED : TOOL_OK))
			fail_msg("%s", text);
		assert_string_equal(said, i ? "nnaccel demo camera: frames were copied\n" : "");
	}
}

static void test_camera_fails(void **state)
{
	static const struct {
		unsigned long fails;
		int skip;
		const char *reason;
	} cases[] = {
		{ VIDIOC_QUERYCAP, 1, "camera: no camera of the driver vivid: modprobe vivid, or give --video" },
		{ VIDIOC_S_FMT, 0, "camera: format: Input/output error" },
		{ VIDIOC_REQBUFS, 0, "camera: buffers: Input/output error" },
		{ VIDIOC_EXPBUF, 3, "camera: export of a buffer: Input/output error" },
		{ VIDIOC_QBUF, 3, "camera: buffer: Input/output error" },
		{ VIDIOC_QBUF, 4, "camera: buffer: Input/output error" },
		{ VIDIOC_STREAMON, 0, "camera: start: Input/output error" },
		{ VIDIOC_DQBUF, 0, "camera: frame: Input/output error" },
		{ VIDIOC_DQBUF, 20, "camera: frame: Input/output error" },
		{ VIDIOC_QBUF, 24, "camera: buffer: Input/output error" },
		{ DMA_BUF_IOCTL_SYNC, 0, "a frame cannot be mapped" },
	};
	char expected[160];
	int files = count_files();

	for (size_t i = 0; i < COUNT(cases); i++) {
		set_up_camera(state);
		camera.fails = cases[i].fails;
		camera.skip = cases[i].skip;
		assert_int_equal(run(tool_demo, CAMERA), TOOL_FAILED);
		snprintf(expected, sizeof(expected), "nnaccel demo camera: %s\n", cases[i].reason);
		assert_string_equal(said, expected);
		assert_string_equal(text, "");
		assert_int_equal(camera.streaming, 0);
		assert_int_equal(count_files(), files);
	}
	/*
	 * The demo fails with six cameras that cannot deliver frames; each camera has a different
	 * fault.
	 */
	for (int i = 0; i < 6; i++) {
		static const char *const reasons[] = {
			"it cannot give frames in NV12", "gave 3 buffers, needs 4",
			"no camera of the driver vivid", "no camera of the driver vivid",
			"no frame within 10 s", "the camera does not number its frames",
		};

		set_up_camera(state);
		camera.fourcc += i == 0;
		camera.num_buffers -= i == 1;
		camera.caps &= ~(uint32_t)(i == 2 ? V4L2_CAP_VIDEO_CAPTURE : i == 3 ? V4L2_CAP_STREAMING : 0);
		camera.has_no_frame = i == 4;
		/*
		 * The demo examines the first eight of the ten digits in a frame's number; from
		 * 1,000,000,000 on, seven of these digits rarely change.
		 */
		camera.sequence = i == 5 ? 1000000000 : 0;
		assert_int_equal(run(tool_demo, CAMERA), TOOL_FAILED);
		assert_non_null(strstr(said, reasons[i]));
	}
	set_up_camera(state);
	assert_int_equal(run(tool_demo, "demo camera --device nothing --size 321x181"), TOOL_FAILED);
	assert_non_null(strstr(said, "network: the NNAPI has no device nothing"));
}

static void test_camera_sizes(void **state)
{
	static const char *const wrong[] = { "320", "319x180", "320x179", "8193x180", "320x8193", "x180", "320x", "123456789x180" };
	char words[64];

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		snprintf(words, sizeof(words), "demo camera --size %s", wrong[i]);
		assert_int_equal(run(tool_demo, words), TOOL_USAGE);
	}
	/*
	 * With the smallest and the largest valid size, the demo fails only because the camera is
	 * missing.
	 */
	assert_int_equal(run(tool_demo, "demo camera --video /dev/null/x --size 320x180"), TOOL_FAILED);
	assert_int_equal(run(tool_demo, "demo camera --video /dev/null/x --size 8192x8192"), TOOL_FAILED);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_demo),
		TEST(test_demo_fails),
		TEST(test_demo_promises),
		TEST(test_camera),
		TEST(test_camera_reports),
		TEST(test_camera_promises),
		TEST(test_camera_fails),
		TEST(test_camera_sizes),
	};

	out = dup(STDOUT_FILENO);
	err = dup(STDERR_FILENO);
	return cmocka_run_group_tests_name("tools demo", tests, NULL, NULL);
}
