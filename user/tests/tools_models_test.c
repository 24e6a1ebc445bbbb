/* SPDX-License-Identifier: MIT */
/*
 * Runs `nnaccel explain` and `nnaccel bench` with a runtime, devices and a clock that the test
 * program imitates.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <android/NeuralNetworks.h>

#include "base/clock.h"
#include "heap_blocks.h"
#include "open_files.h"
#include "tools/models.h"
#include "tools/runtime/runtime.h"
#include "tools/tool.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SEEN __attribute__((visibility("default")))
#define TRADE "runtime of tests"
#define MODEL "m.tflite"

enum { MOST_BYTES = 32, MOST_OUTPUTS = 2 };

/*
 * The call of the imitated runtime that the test makes fail. The fault KILLED kills the process
 * that opens the model. The faults CALLER and CALLER_KILLED affect only the caller processes of
 * `nnaccel bench`, and RUNNER_KILLED kills a caller between two runs. TOOL_KILLED kills `nnaccel
 * bench` itself during the runs of its callers.
 */
enum fault { NONE, OPEN, PREPARE, FILL, RUN, KILLED, CALLER, CALLER_KILLED, RUNNER_KILLED, TOOL_KILLED };

struct output {
	enum runtime_type type;
	size_t bytes;
	union {
		float f[8];
		uint16_t h[16];
		uint8_t u[32];
		int8_t s[32];
		int32_t i[8];
		int64_t l[4];
	} of;
};

static struct {
	uint32_t num_devices;		/* number of devices; the last device is the CPU */
	const char *report;		/* the plug-in's report */
	enum fault fault;
	bool fault_of_cpu;
	unsigned int fault_at;		/* index or seed of the run that fails */
	bool is_endless;		/* true: callers end only at a signal */
	bool is_terminal;
	int gnuplot_status;		/* gnuplot's status as wait() returns it */
	unsigned int num_outputs;
	/* outputs of the device, of the CPU, and of the CPU with changed inputs */
	struct output outputs[3][MOST_OUTPUTS];
	/* Seed of the input for which the device's results are wrong; 0: every input. */
	unsigned int wrong_seed;
	struct runtime_options options;
	unsigned int dimension;		/* first dimension of the last shape that the runtime must get */
	unsigned int opened, closed;
} played;

/*
 * Counters in memory that all processes share: numbers of callers that have loaded the model, and
 * of callers that have finished their runs, and the process of the last caller.
 */
static struct {
	atomic_uint started, ended;
	_Atomic pid_t last;
} *callers;

/* ---- the clock: whole numbers of ticks, so that all times are exact ---- */

#define TICK (NS_PER_S / 512)

static _Atomic uint64_t now_ns = 1000 * NS_PER_S;

SEEN int clock_gettime(clockid_t clock, struct timespec *now)
{
	uint64_t ns;

	if (clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, now);
	ns = now_ns;
	*now = (struct timespec){ (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
	return 0;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/*
 * Replaces usleep(): 16 long pauses advance the test's clock by one second. A long pause lasts
 * until a process has ended, and all callers have finished their runs.
 */
SEEN int usleep(useconds_t us)
{
	siginfo_t info;

	if (us >= 50000 && callers->started && played.fault == TOOL_KILLED)
		kill(getpid(), SIGKILL);
	now_ns += us < 10000 ? TICK : us < 50000 ? 8 * TICK : 32 * TICK;
	if (us < 50000 || (played.is_endless && callers->started))
		nap();
	else
		waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
	while (us >= 50000 && callers->ended < callers->started)
		nap();
	return 0;
}

/* ---- the machine ---- */

SEEN int isatty(int fd)
{
	(void)fd;
	return played.is_terminal;
}

static FILE *file_of(const char *text)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	dprintf(fd, "%s", text);
	lseek(fd, 0, SEEK_SET);
	return fdopen(fd, "r+");
}

SEEN FILE *fopen(const char *path, const char *mode)
{
	(void)mode;
	assert_string_equal(path, "/proc/self/status");
	return file_of(played.options.device ? "VmPeak: 9 kB\nVmHWM:\t  5096 kB\nVmRSS:\t  1000 kB\nVmLib: 7 kB\n" :
					       "VmPeak: 9 kB\nVmHWM:\t  3048 kB\nVmRSS:\t  1000 kB\nVmLib: 7 kB\n");
}

bool models_read(struct client_models *models)
{
	const struct client_model all[] = {
		{ .pid = getpid(), .weights_kib = 1000, .execution_kib = 24 },
		{ .pid = getpid() + 1, .weights_kib = 5000 },
		{ .pid = getpid(), .weights_kib = 512 },
	};

	models->count = COUNT(all);
	models->list = malloc(sizeof(all));
	memcpy(models->list, all, sizeof(all));
	return true;
}

static char drawn[8192];

SEEN FILE *popen(const char *command, const char *mode)
{
	assert_string_equal(command, "gnuplot 2>/dev/null");
	assert_int_equal(*mode, 'w');
	return file_of("");
}

SEEN int pclose(FILE *file)
{
	size_t size;

	rewind(file);
	size = fread(drawn, 1, sizeof(drawn) - 1, file);
	drawn[size] = '\0';
	fclose(file);
	return played.gnuplot_status;
}

int ANeuralNetworks_getDeviceCount(uint32_t *count)
{
	*count = played.num_devices;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworks_getDevice(uint32_t index, ANeuralNetworksDevice **device)
{
	*device = (ANeuralNetworksDevice *)(index + 1 == played.num_devices ? TOOL_CPU : "fake");
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice *device, const char **name)
{
	*name = (const char *)device;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice *device, int32_t *type)
{
	*type = strcmp((const char *)device, TOOL_CPU) ? ANEURALNETWORKS_DEVICE_ACCELERATOR :
							 ANEURALNETWORKS_DEVICE_CPU;
	return ANEURALNETWORKS_NO_ERROR;
}

/* ---- the runtime ---- */

struct loaded {
	struct runtime runtime;
	bool on_cpu, is_caller, has_ended;
	bool is_checked;		/* the run with changed inputs is over; it takes no time */
	unsigned int seed, runs;
	float input[2];
};

static bool fails(const struct loaded *l, enum fault fault, unsigned int at, char error[RUNTIME_ERROR])
{
	if (played.fault != fault || played.fault_of_cpu != l->on_cpu || played.fault_at != at)
		return false;
	snprintf(error, RUNTIME_ERROR, "told to fail at %u", at);
	return true;
}

static bool prepare(struct runtime *runtime, char error[RUNTIME_ERROR])
{
	return !fails((struct loaded *)runtime, PREPARE, 0, error);
}

static unsigned int count_inputs(const struct runtime *runtime)
{
	(void)runtime;
	return 2;
}

/* The first input has bytes, which `nnaccel bench` must not change, because it changes only floats. */
static bool input(struct runtime *runtime, unsigned int number, struct runtime_tensor *tensor)
{
	struct loaded *l = (struct loaded *)runtime;
	static float bytes = 3;

	assert_true(bytes == 3);
	*tensor = (struct runtime_tensor){ RUNTIME_FLOAT32, sizeof(l->input), l->input };
	if (!number)
		*tensor = (struct runtime_tensor){ RUNTIME_UINT8, sizeof(bytes), &bytes };
	return true;
}

/* Returns whether the inputs are those of runtime_fill(), changed by 1e-5 of their size. */
static bool is_changed(const struct loaded *l)
{
	const float seed = (float)l->seed;

	return l->input[0] == seed * (1 + 1e-5f) && l->input[1] == seed * (1 - 1e-5f);
}

static unsigned int count_outputs(const struct runtime *runtime)
{
	(void)runtime;
	return played.num_outputs;
}

static bool output(struct runtime *runtime, unsigned int number, struct runtime_tensor *tensor)
{
	struct loaded *l = (struct loaded *)runtime;
	bool on_cpu = l->on_cpu || (played.wrong_seed && l->seed != played.wrong_seed);
	bool changed = is_changed(l) && played.outputs[2][number].bytes;
	struct output *o = &played.outputs[changed ? 2 : on_cpu][number];

	*tensor = (struct runtime_tensor){ o->type, o->bytes, &o->of };
	return o->bytes;
}

/* The imitated runtime's runs take 1 to 10 ticks in turn, and twice as long on the CPU. */
static bool run(struct runtime *runtime, char error[RUNTIME_ERROR])
{
	struct loaded *l = (struct loaded *)runtime;

	if (fails(l, RUN, l->runs, error))
		return false;
	if (is_changed(l) && !l->is_checked) {
		l->is_checked = true;
		return true;
	}
	if (l->is_caller && l->runs == (l->on_cpu ? 5 : 11)) {
		callers->ended += !l->has_ended;
		if (played.fault == RUNNER_KILLED && played.fault_of_cpu == l->on_cpu)
			kill(getpid(), SIGKILL);
		l->has_ended = true;
		nap();
		return played.is_endless;
	}
	now_ns += TICK * (1 + l->runs++ % 10) * (l->on_cpu ? 2 : 1);
	return true;
}

static const struct runtime_kind kind = {
	.prepare = prepare, .count_inputs = count_inputs, .count_outputs = count_outputs, .input = input,
	.output = output, .run = run,
};

struct runtime *runtime_open(const char *model, const struct runtime_options *options,
			     char error[RUNTIME_ERROR])
{
	const struct loaded made = {
		.runtime = { .kind = &kind, .name = TRADE " 1.2" },
		.on_cpu = !options->device, .is_caller = syscall(SYS_gettid) != getpid(),
	};
	struct loaded *l;
	int file;

	assert_string_equal(model, MODEL);
	if (!made.is_caller)
		played.options = *options;
	if (played.dimension != (options->shapes->count ? options->shapes->list[options->shapes->count - 1].dims[0] : 0)) {
		snprintf(error, RUNTIME_ERROR, "wrong shapes");
		return NULL;
	}
	if (fails(&made, OPEN, 0, error) || (made.is_caller && fails(&made, CALLER, 0, error)))
		return NULL;
	if (fails(&made, KILLED, 0, error) || (made.is_caller && fails(&made, CALLER_KILLED, 0, error)))
		kill(getpid(), SIGKILL);
	if (played.report) {
		assert_int_equal(sscanf(options->report, "/proc/self/fd/%d", &file), 1);
		dprintf(file, "%s", played.report);
		lseek(file, 0, SEEK_SET);
	}
	l = malloc(sizeof(*l));
	*l = made;
	if (l->is_caller)
		callers->last = getpid();
	callers->started += l->is_caller;
	now_ns += 8 * TICK * (l->on_cpu ? 2 : 1);
	played.opened += !l->is_caller;
	return &l->runtime;
}

void runtime_close(struct runtime *runtime)
{
	played.closed += runtime != NULL;
	free(runtime);
}

bool runtime_fill(struct runtime *runtime, unsigned int seed, char error[RUNTIME_ERROR])
{
	struct loaded *l = (struct loaded *)runtime;

	l->seed = seed;
	l->input[0] = l->input[1] = (float)seed;
	l->is_checked = false;
	return !fails(l, FILL, seed, error);
}

size_t runtime_size(enum runtime_type type)
{
	static const size_t sizes[] = { 4, 2, 1, 1, 4, 8, 1, 0 };

	return sizes[type];
}

/* ---- what commands print ---- */

static char printed[2][1 << 18];		/* texts printed to stdout and to stderr */

static int call(int (*command)(int argc, char **argv), const char *arguments)
{
	char words[128], *argv[16], *save = NULL;
	int saved[2], files[2], argc = 0, status;

	snprintf(words, sizeof(words), "nnaccel %s", arguments);
	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		saved[i] = dup(STDOUT_FILENO + i);
		files[i] = memfd_create("out", MFD_CLOEXEC);
		dup2(files[i], STDOUT_FILENO + i);
	}
	status = command(argc, argv);
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		ssize_t size = pread(files[i], printed[i], sizeof(printed[i]) - 1, 0);

		printed[i][size > 0 ? size : 0] = '\0';
		dup2(saved[i], STDOUT_FILENO + i);
		close(saved[i]);
		close(files[i]);
	}
	return status;
}

static int set_up(void **state)
{
	(void)state;
	memset(&played, 0, sizeof(played));
	played.num_devices = 2;
	callers->started = callers->ended = 0;
	return 0;
}

/* ---- explain ---- */

static const struct {
	const char *arguments, *report;
	uint32_t num_devices;
	enum fault fault;
	int status;
	const char *out, *error;
} explained[] = {
#define PARTS \
	"part\t5\t9999\t10000\t9999999\npart\t7\t10000000\t1\t0\nother\tline\n" \
	"node\t5\tCONV_2D\tfirst\t1500000\t\n" \
	"node\t-\tSOFT\x01MAX\tla\x02st\t500000\ttoo\x03small\n" \
	"node\t7\tADD\tsum\t4\t\n" \
	"node\t9\tSUB\t\t0\tno such part\n"
	{ "", PARTS, 2, NONE, TOOL_OK,
	  MODEL ": 4 operations, 2.0 million multiply-adds, on " TRADE " 1.2\n\n"
	  "operation            name                       million  where\n"
	  "CONV_2D              first                         1.50  fake, partition 1\n"
	  "SOFT?MAX             la?st                         0.50  " TRADE ": too?small\n"
	  "ADD                  sum                           0.00  fake, partition 2\n"
	  "SUB                                                0.00  " TRADE ": no such part\n"
	  "\n"
	  "partition 1: 1 operations, 10000.0 kB of constants; a run copies 9999 bytes in and 10.0 kB out\n"
	  "partition 2: 1 operations, 0 bytes of constants; a run copies 10.0 MB in and 1 bytes out\n"
	  "2 of 4 operations (75.0 % of multiply-adds) on fake in 2 partitions\n", "" },
	{ "--json", PARTS, 2, NONE, TOOL_OK,
	  "{\"model\": \"" MODEL "\", \"runtime\": \"" TRADE " 1.2\", \"device\": \"fake\", \"estimated\": false, "
	  "\"on_device\": 2, \"multiply_adds\": 2000004, \"multiply_adds_on_device\": 1500004,\n\"operations\": [\n"
	  "\t{\"operator\": \"CONV_2D\", \"name\": \"first\", \"multiply_adds\": 1500000, \"partition\": 0, "
	  "\"reason\": null},\n"
	  "\t{\"operator\": \"SOFT?MAX\", \"name\": \"la?st\", \"multiply_adds\": 500000, \"partition\": null, "
	  "\"reason\": \"too?small\"},\n"
	  "\t{\"operator\": \"ADD\", \"name\": \"sum\", \"multiply_adds\": 4, \"partition\": 1, \"reason\": null},\n"
	  "\t{\"operator\": \"SUB\", \"name\": \"\", \"multiply_adds\": 0, \"partition\": null, "
	  "\"reason\": \"no such part\"}],\n"
	  "\"partitions\": [\n"
	  "\t{\"operations\": 1, \"bytes_in\": 9999, \"bytes_out\": 10000, \"constant_bytes\": 9999999},\n"
	  "\t{\"operations\": 1, \"bytes_in\": 10000000, \"bytes_out\": 1, \"constant_bytes\": 0}]}\n", "" },
#define ESTIMATED \
	  MODEL ": 1 operations, 0.0 million multiply-adds, on " TRADE " 1.2\n\n" \
	  "operation            name                       million  where\n" \
	  "RELU                 r                             0.00  " TOOL_CPU ", partition 1\n" \
	  "\n" \
	  "partition 1: 1 operations, 0 bytes of constants; a run copies 4 bytes in and 5 bytes out\n" \
	  "There is no device but the CPU: this is estimated.\n" \
	  "1 of 1 operations on " TOOL_CPU " in 1 partition\n"
	{ "", "part\t1\t4\t5\nnode\t1\tRELU\tr\t0\t-\n", 1, NONE, TOOL_OK, ESTIMATED, "" },
	{ "--device " TOOL_CPU, "part\t0\t4\t5\nnode\t0\tRELU\tr\t0\t-\n", 2, NONE, TOOL_OK, ESTIMATED, "" },
	{ "--json", "part\t1\t4\t5\nnode\t1\tRELU\tr\t0\t-\n", 1, NONE, TOOL_OK,
	  "{\"model\": \"" MODEL "\", \"runtime\": \"" TRADE " 1.2\", \"device\": \"" TOOL_CPU "\", "
	  "\"estimated\": true, \"on_device\": 1, \"multiply_adds\": 0, \"multiply_adds_on_device\": 0,\n"
	  "\"operations\": [\n"
	  "\t{\"operator\": \"RELU\", \"name\": \"r\", \"multiply_adds\": 0, \"partition\": 0, "
	  "\"reason\": null}],\n"
	  "\"partitions\": [\n"
	  "\t{\"operations\": 1, \"bytes_in\": 4, \"bytes_out\": 5, \"constant_bytes\": 0}]}\n", "" },
	{ "--device other", "", 2, NONE, TOOL_FAILED, "",
	  "nnaccel explain: there is no device other, only fake, " TOOL_CPU "\n" },
	{ "", "", 2, OPEN, TOOL_FAILED, "", "nnaccel explain: told to fail at 0\n" },
#define NOT_ASKED "nnaccel explain: " MODEL ": the plug-in was not asked about the model\n"
	{ "", "", 2, NONE, TOOL_FAILED, "", NOT_ASKED },
	{ "", "part\t1\t4\t5\t0\n", 2, NONE, TOOL_FAILED, "", NOT_ASKED },
	{ "", "node\n", 2, NONE, TOOL_FAILED, "", NOT_ASKED },
	{ "", "node\t1\n", 2, NONE, TOOL_FAILED, "", NOT_ASKED },
	{ "", "node\t1\tRELU\n", 2, NONE, TOOL_FAILED, "", NOT_ASKED },
	{ "", "node\t1\tRELU\tr\t0\n", 2, NONE, TOOL_FAILED, "", NOT_ASKED },
	{ "", "node\t1\tRELU\tr\t0\t-\nnode\t1\tRELU\tr\t0\n", 2, NONE, TOOL_FAILED, "", NOT_ASKED },
};

static void test_explain(void **state)
{
	for (size_t i = 0; i < COUNT(explained); i++) {
		char arguments[64];
		long blocks;
		int files;

		set_up(state);
		played.num_devices = explained[i].num_devices;
		played.report = explained[i].report;
		played.fault = explained[i].fault;
		snprintf(arguments, sizeof(arguments), "%s " MODEL, explained[i].arguments);
		blocks = heap_blocks;
		files = count_files();
		assert_int_equal(call(tool_explain, arguments), explained[i].status);
		assert_string_equal(printed[0], explained[i].out);
		assert_string_equal(printed[1], explained[i].error);
		assert_int_equal(played.closed, played.opened);
		assert_int_equal(count_files(), files);
		assert_int_equal(heap_blocks, blocks);
	}
	assert_int_equal(call(tool_explain, "--runtime x.so " MODEL), TOOL_FAILED);
	assert_string_equal(played.options.library, "x.so");
	set_up(state);
	played.report = "part\t1\t4\t5\nnode\t1\tRELU\tr\t0\t-\n";
	played.dimension = 3;
	assert_int_equal(call(tool_explain, "--shape x=1,2 --shape y:0=3 " MODEL), TOOL_OK);
	assert_int_equal(call(tool_explain, "--shape x " MODEL), TOOL_USAGE);
	assert_int_equal(call(tool_explain, "--json"), TOOL_USAGE);
}

/* ---- bench ---- */

#define FLOATS(...) { RUNTIME_FLOAT32, sizeof((float[]){ __VA_ARGS__ }), { .f = { __VA_ARGS__ } } }
#define FP16(...) { RUNTIME_FLOAT16, sizeof((uint16_t[]){ __VA_ARGS__ }), { .h = { __VA_ARGS__ } } }
#define UINT8(...) { RUNTIME_UINT8, sizeof((uint8_t[]){ __VA_ARGS__ }), { .u = { __VA_ARGS__ } } }
#define INT8(...) { RUNTIME_INT8, sizeof((int8_t[]){ __VA_ARGS__ }), { .s = { __VA_ARGS__ } } }
#define INT32(...) { RUNTIME_INT32, sizeof((int32_t[]){ __VA_ARGS__ }), { .i = { __VA_ARGS__ } } }
#define INT64(...) { RUNTIME_INT64, sizeof((int64_t[]){ __VA_ARGS__ }), { .l = { __VA_ARGS__ } } }
#define BOOLS(...) { RUNTIME_BOOL, sizeof((uint8_t[]){ __VA_ARGS__ }), { .u = { __VA_ARGS__ } } }

#define SAME "right, of 3 inputs: floats differ by 0.0e+00 of the largest at most, bytes by 0, 0 other values\n"
#define RIGHT(floats, bytes) "right, of 3 inputs: floats differ by " floats " of the largest at most, bytes by " \
	bytes ", 0 other values\n"
#define WRONG(floats, bytes, others) "WRONG, of 3 inputs: floats differ by " floats " of the largest at most, bytes by " \
	bytes ", " others " other values\n"
#define CHANGED(floats, bytes, others) "on the CPU, if inputs change by 1e-05: " floats " of the largest, bytes by " \
	bytes ", " others " other values\n"
#define OTHER_SHAPE "WRONG, of 3 inputs: outputs have other types or sizes than the CPU's\n"

static const struct {
	struct output device[MOST_OUTPUTS], cpu[MOST_OUTPUTS];
	unsigned int seed;		/* seed of the input with wrong outputs; 0: every input */
	const char *verdict;
} compared[] = {
	{ { FLOATS(1, 2, -4) }, { FLOATS(1, 2, -4) }, 0, SAME },
	{ { FLOATS(1, 1001) }, { FLOATS(1, 1000) }, 0, RIGHT("1.0e-03", "0") },
	{ { FLOATS(2, -1000) }, { FLOATS(1, -1000) }, 0, RIGHT("1.0e-03", "0") },
	{ { FLOATS(1, 1000) }, { FLOATS(1, 1001.5f) }, 0, WRONG("1.5e-03", "0", "0") },
	{ { FLOATS(0, 0) }, { FLOATS(0, -0.f) }, 0, SAME },
	{ { FLOATS(NAN, INFINITY, -INFINITY, 4) }, { FLOATS(NAN, INFINITY, -INFINITY, 4) }, 0, SAME },
	{ { FLOATS(INFINITY, 4.002f) }, { FLOATS(INFINITY, 4) }, 0, RIGHT("5.0e-04", "0") },
	{ { FLOATS(1, 4) }, { FLOATS(1, NAN) }, 0, WRONG("inf", "0", "0") },
	{ { FLOATS(1, INFINITY) }, { FLOATS(1, 4) }, 0, WRONG("inf", "0", "0") },
	/* The device returns the fp16 numbers 1 and 1 + 1/1024. */
	{ { FP16(0x3c00, 0x3c01) }, { FP16(0x3c00, 0x3c00) }, 0, RIGHT("9.8e-04", "0") },
	{ { FP16(0x3c00, 0x3c02) }, { FP16(0x3c00, 0x3c00) }, 0, WRONG("2.0e-03", "0", "0") },
	{ { UINT8(0, 208, 7) }, { UINT8(0, 200, 7) }, 0, RIGHT("0.0e+00", "8") },
	{ { UINT8(0, 200, 7) }, { UINT8(0, 209, 7) }, 0, WRONG("0.0e+00", "9", "0") },
	{ { INT8(3, -7) }, { INT8(-5, -7) }, 0, RIGHT("0.0e+00", "8") },
	{ { INT8(-128, 1) }, { INT8(127, 1) }, 0, WRONG("0.0e+00", "255", "0") },
	{ { INT32(5, 300000) }, { INT32(5, 300000) }, 0, SAME },
	{ { INT32(5, 300000) }, { INT32(5, 300001) }, 2, WRONG("0.0e+00", "0", "1") },
	{ { INT64(1, 1000000000000) }, { INT64(2, 1000000000001) }, 1, WRONG("0.0e+00", "0", "2") },
	{ { BOOLS(1, 1, 0) }, { BOOLS(1, 0, 0) }, 1, WRONG("0.0e+00", "0", "1") },
	/*
	 * The verdict is WRONG if the output for one input is wrong, or if one of several outputs
	 * is wrong.
	 */
	{ { INT32(1, 2) }, { INT32(3, 4) }, 0, WRONG("0.0e+00", "0", "6") },
	{ { FLOATS(1, 2) }, { FLOATS(1, 3) }, 1, WRONG("3.3e-01", "0", "0") },
	{ { FLOATS(1, 2) }, { FLOATS(1, 3) }, 3, WRONG("3.3e-01", "0", "0") },
	{ { FLOATS(1), UINT8(9) }, { FLOATS(1), UINT8(12) }, 0, RIGHT("0.0e+00", "3") },
	{ { UINT8(9), FLOATS(1) }, { UINT8(12), FLOATS(1.5f) }, 0, WRONG("3.3e-01", "3", "0") },
	{ { UINT8(9), UINT8(14) }, { UINT8(12), UINT8(13) }, 0, RIGHT("0.0e+00", "3") },
	{ { FLOATS(1, 2.001f), FLOATS(1) }, { FLOATS(1, 2), FLOATS(1) }, 0, RIGHT("5.0e-04", "0") },
	{ { FLOATS(1, 2, 3) }, { FLOATS(1, 2) }, 0, OTHER_SHAPE },
	{ { UINT8(1, 2) }, { INT8(1, 2) }, 0, OTHER_SHAPE },
	{ { FLOATS(1) }, { FLOATS(1), FLOATS(1) }, 0, OTHER_SHAPE },
	/* The device may differ by four times as much as the CPU's outputs change. */
	{ { FLOATS(1004) }, { FLOATS(1000) }, 0, RIGHT("4.0e-03", "0") CHANGED("1.0e-03", "0", "0") },
	{ { FLOATS(1004.5f) }, { FLOATS(1000) }, 0, WRONG("4.5e-03", "0", "0") CHANGED("1.0e-03", "0", "0") },
	{ { FLOATS(1001) }, { FLOATS(1000) }, 0, RIGHT("1.0e-03", "0") },
	{ { FLOATS(1001) }, { FLOATS(1000) }, 0, RIGHT("1.0e-03", "0") CHANGED("5.0e-04", "0", "0") },
	{ { UINT8(12) }, { UINT8(0) }, 0, RIGHT("0.0e+00", "12") CHANGED("0.0e+00", "3", "0") },
	{ { UINT8(13) }, { UINT8(0) }, 0, WRONG("0.0e+00", "13", "0") CHANGED("0.0e+00", "3", "0") },
	{ { UINT8(8) }, { UINT8(0) }, 0, RIGHT("0.0e+00", "8") },
	{ { INT32(1, 2, 3, 5) }, { INT32(1, 2, 3, 4) }, 0, "right, of 3 inputs: floats differ by 0.0e+00 of the largest at "
	  "most, bytes by 0, 3 other values\n" CHANGED("0.0e+00", "0", "3") },
	/* The size of an output may depend on the input. */
	{ { FLOATS(1) }, { FLOATS(1) }, 0, SAME },
};

/* The CPU's outputs for changed inputs, one for each of the last rows of `compared`. */
static const struct output changed[] = {
	FLOATS(1001),
	FLOATS(999),
	FLOATS(1000.25f),
	FLOATS(1000.5f),
	UINT8(3),
	UINT8(3),
	UINT8(2),
	INT32(2, 2, 3, 4),
	FLOATS(1, 2),
};

static void play_outputs(size_t i)
{
	const size_t first = COUNT(compared) - COUNT(changed);

	memcpy(played.outputs[0], compared[i].device, sizeof(compared[i].device));
	memcpy(played.outputs[1], compared[i].cpu, sizeof(compared[i].cpu));
	if (i >= first)
		played.outputs[2][0] = changed[i - first];
	played.num_outputs = compared[i].cpu[1].bytes ? 2 : 1;
	played.wrong_seed = compared[i].seed;
}

#define TIMES \
	MODEL ", on fake and on the CPU of " TRADE " 1.2\n\n" \
	"                                         device        CPU    ratio\n" \
	"first result, ms                           17.6       35.2     0.50\n" \
	"latency, median, ms                       9.766     19.531     0.50\n" \
	"latency, 90 % of runs, ms                17.578     35.156     0.50\n" \
	"latency, 99 % of runs, ms                19.531     39.062     0.50\n"
#define MEMORY \
	"memory of the process, MB                   4.0        2.0     2.00\n" \
	"memory of the device, MB                    1.5\n" \
	"\n"
#define ONE_CALLER "runs a second, 1 x 1 callers               10.0        4.0     2.50\n"

static void test_bench(void **state)
{
	static const char failed[] = "nnaccel bench: the device computes something else than the runtime's CPU\n";

	for (size_t i = 0; i < COUNT(compared); i++) {
		bool is_right = *compared[i].verdict == 'r';
		char expected[2048];

		set_up(state);
		play_outputs(i);
		snprintf(expected, sizeof(expected), "%s%s", TIMES ONE_CALLER MEMORY, compared[i].verdict);
		assert_int_equal(call(tool_bench, "--seconds 1 " MODEL), is_right ? TOOL_OK : TOOL_FAILED);
		assert_string_equal(printed[0], expected);
		assert_string_equal(printed[1], is_right ? "" : failed);
		/* `nnaccel bench` must not make the plug-in report which nodes it claims. */
		assert_null(played.options.report);
	}
	set_up(state);
	play_outputs(0);
	played.dimension = 7;
	assert_int_equal(call(tool_bench, "--seconds 1 --shape x=7 " MODEL), TOOL_OK);
	assert_int_equal(call(tool_bench, "--shape x=0 " MODEL), TOOL_USAGE);
}

#define JSON_SIDE(first, median, p90, p99, memory, rate, rates) \
	"{\"first_ms\": " first ", \"median_ms\": " median ", \"p90_ms\": " p90 ", \"p99_ms\": " p99 ", \"runs\": 32, " \
	"\"memory_kib\": " memory ", \"throughput\": [{\"clients\": 1, \"threads\": 1, \"per_second\": " rate "}" rates "]},\n"
#define JSON(rates, cpu_rates, end) \
	"{\"model\": \"" MODEL "\", \"runtime\": \"" TRADE " 1.2\", \"device_name\": \"fake\",\n" \
	"\"device\": " JSON_SIDE("17.578", "9.7656", "17.5781", "19.5312", "4096", "10.00", rates) \
	"\"cpu\": " JSON_SIDE("35.156", "19.5312", "35.1562", "39.0625", "2048", "4.00", cpu_rates) \
	"\"device_memory_kib\": 1536, \"right\": " end "}\n"
#define LOAD(clients, threads, rate) ", {\"clients\": " clients ", \"threads\": " threads ", \"per_second\": " rate "}"

static void test_bench_forms(void **state)
{
	static const char *const lines[] = {
		"set terminal pngcairo size 900,500\nset output 'p.png'\nset key bottom right\n"
		"set xlabel 'latency, ms'\nset ylabel 'share of runs, %'\nset grid\n"
		"plot '-' with lines lw 2 title 'fake', '-' with lines lw 2 title 'CPU'\n1.95312 3.125\n",
		"\n19.5312 100\ne\n3.90625 3.125\n", "\n39.0625 100\ne\n",
	};
	static const struct {
		size_t compared;
		const char *arguments;
		int status;
		const char *out;
	} cases[] = {
		{ 1, "--json", TOOL_OK, JSON("", "", "true, \"float_difference\": 0.001, \"byte_difference\": 0, "
					     "\"other_differences\": 0") },
		{ 8, "--json", TOOL_FAILED, JSON("", "", "false, \"float_difference\": 1e+300, "
						 "\"byte_difference\": 0, \"other_differences\": 0") },
		{ 11, "--json --clients 1,2 --threads 1,3", TOOL_OK,
		  JSON(LOAD("1", "3", "30.00") LOAD("2", "1", "20.00") LOAD("2", "3", "60.00"),
		       LOAD("1", "3", "12.00") LOAD("2", "1", "8.00") LOAD("2", "3", "24.00"),
		       "true, \"float_difference\": 0, \"byte_difference\": 8, \"other_differences\": 0") },
		{ 19, "--json --device fake", TOOL_FAILED, JSON("", "", "false, \"float_difference\": 0, "
								"\"byte_difference\": 0, \"other_differences\": 6") },
		{ 0, "--threads 1,1,1,1,1,1,1,2", TOOL_OK,
		  TIMES ONE_CALLER ONE_CALLER ONE_CALLER ONE_CALLER ONE_CALLER ONE_CALLER ONE_CALLER
		  "runs a second, 1 x 2 callers               20.0        8.0     2.50\n" MEMORY SAME },
		{ 0, "--plot p.png", TOOL_OK, TIMES ONE_CALLER MEMORY SAME },
	};
	const char *bar;

	for (size_t i = 0; i < COUNT(cases); i++) {
		char arguments[64];

		set_up(state);
		play_outputs(cases[i].compared);
		snprintf(arguments, sizeof(arguments), "%s --seconds 1 " MODEL, cases[i].arguments);
		assert_int_equal(call(tool_bench, arguments), cases[i].status);
		assert_string_equal(printed[0], cases[i].out);
	}
	for (size_t i = 0; i < COUNT(lines); i++)
		assert_non_null(strstr(drawn, lines[i]));
	set_up(state);
	play_outputs(0);
	played.gnuplot_status = 127 << 8;
	played.is_terminal = played.is_endless = true;
	assert_int_equal(call(tool_bench, "--plot p.png --seconds 1 " MODEL), TOOL_FAILED);
	/* On a terminal, the tool draws a progress bar, and removes the bar at the end. */
	bar = strstr(printed[1], "1 clients of 1 threads   ");
	assert_true(bar > printed[1] + 24 && !memcmp(bar - 24, "\r[", 2) && !memcmp(bar - 3, ".] ", 3));
	assert_non_null(strstr(printed[1], "\r                                                               \r"
			       "nnaccel bench: p.png was not drawn: it takes gnuplot, which is not installed\n"));
	set_up(state);
	play_outputs(0);
	played.gnuplot_status = 1 << 8;
	assert_int_equal(call(tool_bench, "--plot p.png --seconds 1 " MODEL), TOOL_FAILED);
	assert_non_null(strstr(printed[1], "p.png was not drawn: gnuplot cannot draw to that file\n"));
}

static void test_bench_failures(void **state)
{
	static const struct {
		enum fault fault;
		bool of_cpu;
		unsigned int at;
		const char *error;
	} cases[] = {
		{ OPEN, false, 0, "told to fail at 0" },
		{ OPEN, true, 0, "told to fail at 0" },
		{ PREPARE, false, 0, "told to fail at 0" },
		{ FILL, false, 1, "told to fail at 1" },
		{ FILL, false, 2, "told to fail at 2" },
		{ FILL, true, 3, "told to fail at 3" },
		{ RUN, true, 0, "told to fail at 0" },
		{ RUN, false, 1, "told to fail at 1" },
		{ RUN, true, 20, "told to fail at 20" },
		{ KILLED, false, 0, "first result: the process ended with status 0x9" },
		{ KILLED, true, 0, "first result of the CPU: the process ended with status 0x9" },
		{ CALLER, false, 0, "told to fail at 0" },
		{ CALLER, true, 0, "told to fail at 0" },
		{ CALLER_KILLED, true, 0, "1 clients of 1 threads: a client ended too early" },
		{ RUNNER_KILLED, false, 0, "1 clients of 1 threads: a client ended too early" },
		{ RUNNER_KILLED, true, 0, "1 clients of 1 threads: a client ended too early" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char expected[128];

		set_up(state);
		play_outputs(0);
		played.fault = cases[i].fault;
		played.fault_of_cpu = cases[i].of_cpu;
		played.fault_at = cases[i].at;
		snprintf(expected, sizeof(expected), "nnaccel bench: %s\n", cases[i].error);
		assert_int_equal(call(tool_bench, "--seconds 1 " MODEL), TOOL_FAILED);
		assert_string_equal(printed[0], "");
		assert_string_equal(printed[1], expected);
	}
	set_up(state);
	played.num_devices = 1;
	assert_int_equal(call(tool_bench, MODEL), TOOL_FAILED);
	assert_string_equal(printed[1], "nnaccel bench: there is no device but the CPU, only " TOOL_CPU
			    "; nnaccel doctor tells why\n");
}

/* Tests that the callers of `nnaccel bench`, which would run without end, die with the tool. */
static void test_bench_killed(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	pid = fork();
	if (!pid) {
		play_outputs(0);
		played.fault = TOOL_KILLED;
		played.is_endless = true;
		call(tool_bench, "--seconds 1 " MODEL);
		_exit(EXIT_FAILURE);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	/* The kernel has sent SIGKILL to the caller before the tool's end was reported. */
	kill(callers->last, SIGTERM);
	assert_int_equal(waitpid(callers->last, &status, 0), callers->last);
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_explain, set_up),
		cmocka_unit_test_setup(test_bench, set_up),
		cmocka_unit_test_setup(test_bench_forms, set_up),
		cmocka_unit_test_setup(test_bench_failures, set_up),
		cmocka_unit_test_setup(test_bench_killed, set_up),
	};

	callers = mmap(NULL, sizeof(*callers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return callers == MAP_FAILED ? 1 : cmocka_run_group_tests_name("tools models", tests, NULL, NULL);
}
