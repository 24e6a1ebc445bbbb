/* SPDX-License-Identifier: MIT */
/*
 * nnaccel bench: measures a model on the device and, by the runtime itself, on the CPU, and
 * compares the outputs. Each measurement runs in its own process, because runtimes do not free all
 * threads and memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "models.h"
#include "ops/float16.h"
#include "tool.h"
#include "tools/runtime/runtime.h"

/* exit status of a shell that does not find a command */
enum { SHELL_NOT_FOUND = 127 };

enum { MAX_RUNS = 20000, MIN_RUNS = 10, MAX_LIST = 8, MAX_LOAD = 64, INPUTS = 3 };

/*
 * Limits of the difference between the device's and the runtime's outputs; larger differences are
 * errors. The limit for floats is relative to the largest float; the limit for bytes is in
 * quantisation steps. A model whose outputs change more if its inputs change by CHANGE, as models that
 * quantise floats do, may differ by MOST_CHANGES times as much as its outputs change.
 */
#define MOST_APART 1e-3
#define CHANGE 1e-5f
enum { MOST_STEPS = 8, MOST_CHANGES = 4 };

enum side { DEVICE, CPU, SIDES };

struct list {
	unsigned int count, of[MAX_LIST];
};

struct arguments {
	const char *device, *library, *plot;
	struct list clients, threads;
	struct runtime_shapes shapes;
	unsigned int seconds;
	bool json, help;
};

struct difference {
	double apart;			/* difference of floats, divided by the largest float */
	unsigned int steps;		/* largest difference of 8-bit integers */
	/* number of different elements, for all types except floats and 8-bit integers */
	uint64_t others;
	bool shape;			/* true if the outputs differ in size or type */
};

/* Results of a measurement, in shared memory that the measuring processes write. */
struct results {
	char error[RUNTIME_ERROR];	/* "": none */
	char runtime[64];
	double first_ms[SIDES];
	uint64_t memory_kib[SIDES], device_kib;
	uint32_t runs[SIDES];
	float ms[SIDES][MAX_RUNS];
	struct difference difference;
	/* change of the runtime's outputs if its float inputs change by CHANGE */
	struct difference change;
	/* runs per second, by number of clients and number of threads */
	double rate[SIDES][MAX_LIST][MAX_LIST];
	/*
	 * State of a load measurement: each client loads the model and is then ready. All clients
	 * run the model from `go` to `stop`; `done` counts the runs.
	 */
	_Atomic unsigned int ready, failed;
	_Atomic bool go, stop;
	_Atomic uint64_t done;
};

struct bench {
	const struct arguments *a;
	const char *model;
	struct results *r;
	/* expected total time of the measurements, and their start time, for the progress bar */
	double expected_s, begun_s;
};

static double seconds(void)
{
	return (double)clock_ns() / 1e9;
}

/* ---- the bar ---- */

static void show(const struct bench *b, const char *what)
{
	char bar[21] = "....................";
	double share = (seconds() - b->begun_s) / b->expected_s;

	if (!isatty(STDERR_FILENO))
		return;
	memset(bar, '#', (size_t)(20 * (share < 1 ? share : 1)));
	fprintf(stderr, "\r[%s] %-40s", bar, what);
}

static void clear_bar(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%63s\r", "");
}

/* ---- processes ---- */

/*
 * Waits for a process, and shows the progress bar. If the process failed, returns false; the
 * results then contain the reason.
 */
static bool await(const struct bench *b, pid_t pid, const char *what)
{
	int status = -1;

	while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
		show(b, what);
		usleep(50000);
	}
	if (status && !b->r->error[0])
		snprintf(b->r->error, RUNTIME_ERROR, "%s: the process ended with status %#x", what, (unsigned int)status);
	return !status;
}

/* Starts a process that ends together with this process. */
static pid_t start_process(void)
{
	pid_t pid = fork();

	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static bool in_process(const struct bench *b, const char *what, bool (*measure)(const struct bench *b, enum side side),
		       enum side side)
{
	pid_t pid = start_process();

	if (!pid)
		_exit(!measure(b, side));
	return await(b, pid, what);
}

static struct runtime *open_side(const struct bench *b, enum side side, unsigned int seed)
{
	const struct runtime_options options = {
		.library = b->a->library, .device = side == DEVICE ? b->a->device : NULL,
		/*
		 * Do not print the plug-in's line that lists nodes, because `bench` reports the
		 * nodes itself.
		 */
		.report = "/dev/null",
		.shapes = &b->a->shapes,
	};
	char error[RUNTIME_ERROR];
	struct runtime *runtime = runtime_open(b->model, &options, error);

	if (runtime && runtime->kind->prepare(runtime, error) && runtime_fill(runtime, seed, error) &&
	    runtime->kind->run(runtime, error))
		return runtime;
	snprintf(b->r->error, RUNTIME_ERROR, "%s", error);
	runtime_close(runtime);
	return NULL;
}

/* ---- the first result, and memory ---- */

static uint64_t own_kib(const char *name)
{
	FILE *file = fopen("/proc/self/status", "re");
	uint64_t kib = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			kib = strtoull(line + strlen(name), NULL, 10);
	if (file)
		fclose(file);
	return kib;
}

static uint64_t on_device_kib(void)
{
	struct client_models models;
	uint64_t kib = 0;

	if (!models_read(&models))
		return 0;
	for (size_t i = 0; i < models.count; i++)
		if (models.list[i].pid == getpid())
			kib += models.list[i].weights_kib + models.list[i].execution_kib;
	free(models.list);
	return kib;
}

static bool measure_first(const struct bench *b, enum side side)
{
	uint64_t before_kib = own_kib("VmRSS:");
	double begin = seconds();
	struct runtime *runtime = open_side(b, side, 1);

	if (!runtime)
		return false;
	b->r->first_ms[side] = (seconds() - begin) * 1e3;
	b->r->memory_kib[side] = own_kib("VmHWM:") - before_kib;
	if (side == DEVICE)
		b->r->device_kib = on_device_kib();
	snprintf(b->r->runtime, sizeof(b->r->runtime), "%s", runtime->name);
	return true;
}

/* ---- right or wrong ---- */

static double number_at(const struct runtime_tensor *t, size_t i)
{
	switch (t->type) {
	case RUNTIME_FLOAT32:
		return ((const float *)t->data)[i];
	case RUNTIME_FLOAT16:
		return nn_fp16_to_float(((const uint16_t *)t->data)[i]);
	case RUNTIME_UINT8:
		return ((const uint8_t *)t->data)[i];
	case RUNTIME_INT8:
		return ((const int8_t *)t->data)[i];
	case RUNTIME_INT32:
		return ((const int32_t *)t->data)[i];
	case RUNTIME_INT64:
		return (double)((const int64_t *)t->data)[i];
	default:
		return ((const uint8_t *)t->data)[i];
	}
}

static void compare_output(const struct runtime_tensor *got, const struct runtime_tensor *want,
			   struct difference *d)
{
	bool floats = want->type == RUNTIME_FLOAT32 || want->type == RUNTIME_FLOAT16;
	bool bytes = want->type == RUNTIME_UINT8 || want->type == RUNTIME_INT8;
	size_t count = want->bytes / (runtime_size(want->type) ? runtime_size(want->type) : 1);
	double most = 0, apart = 0;

	if (got->type != want->type || got->bytes != want->bytes) {
		d->shape = true;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		double x = number_at(got, i), y = number_at(want, i), by = fabs(x - y);

		/* Two infinities of equal sign count as equal, and two NaNs count as equal. */
		if (x == y || (isnan(x) && isnan(y)))
			by = 0;
		if (isfinite(y))
			most = fmax(most, fabs(y));
		apart = isfinite(by) ? fmax(apart, by) : INFINITY;
		d->others += !floats && !bytes && by > 0;
	}
	if (floats && apart > 0)
		d->apart = fmax(d->apart, apart / fmax(most, 1e-30));
	if (bytes && apart > d->steps)
		d->steps = (unsigned int)apart;
}

static void compare(struct runtime *device, struct runtime *cpu, struct difference *d)
{
	for (unsigned int i = 0; i < cpu->kind->count_outputs(cpu); i++) {
		struct runtime_tensor got, want;

		if (device->kind->output(device, i, &got) && cpu->kind->output(cpu, i, &want))
			compare_output(&got, &want, d);
		else
			d->shape = true;
	}
}

static bool is_right(const struct results *r)
{
	const struct difference *d = &r->difference, *change = &r->change;

	return !d->shape && d->others <= MOST_CHANGES * change->others &&
	       d->apart <= fmax(MOST_APART, MOST_CHANGES * change->apart) &&
	       d->steps <= fmax(MOST_STEPS, MOST_CHANGES * change->steps);
}

/* Multiplies the elements of float inputs by 1 + CHANGE and 1 - CHANGE in turn. */
static void change_inputs(struct runtime *runtime)
{
	struct runtime_tensor t;

	for (unsigned int i = 0; i < runtime->kind->count_inputs(runtime); i++)
		if (runtime->kind->input(runtime, i, &t) && t.type == RUNTIME_FLOAT32)
			for (size_t k = 0; k < t.bytes / sizeof(float); k++)
				((float *)t.data)[k] *= 1 + (k % 2 ? -CHANGE : CHANGE);
}

/* Runs the CPU again with changed inputs, and compares its outputs with those before. */
static bool measure_change(struct runtime *cpu, struct results *r)
{
	const unsigned int count = cpu->kind->count_outputs(cpu);
	struct runtime_tensor *before = calloc(count + 1, sizeof(*before)), now;
	bool good = before;

	for (unsigned int i = 0; good && i < count; i++) {
		if (!cpu->kind->output(cpu, i, &now))
			continue;
		before[i] = now;
		before[i].data = malloc(now.bytes + 1);
		good = before[i].data;
		if (good)
			memcpy(before[i].data, now.data, now.bytes);
	}
	if (!good)
		snprintf(r->error, RUNTIME_ERROR, "there is no memory");
	change_inputs(cpu);
	good = good && cpu->kind->run(cpu, r->error);
	for (unsigned int i = 0; good && i < count; i++)
		if (before[i].data && cpu->kind->output(cpu, i, &now))
			compare_output(&now, &before[i], &r->change);
	for (unsigned int i = 0; before && i < count; i++)
		free(before[i].data);
	free(before);
	return good;
}

/* ---- latency ---- */

static bool time_run(const struct bench *b, struct runtime *runtime, enum side side)
{
	double begin = seconds();

	if (!runtime->kind->run(runtime, b->r->error))
		return false;
	b->r->ms[side][b->r->runs[side]++] = (float)((seconds() - begin) * 1e3);
	return true;
}

/*
 * Measures the device and the CPU alternately, so that load on the machine slows both measurements.
 */
static bool measure_latency(const struct bench *b, enum side side)
{
	struct runtime *runtimes[SIDES] = { open_side(b, DEVICE, 1), open_side(b, CPU, 1) };
	double end;

	(void)side;
	if (!runtimes[DEVICE] || !runtimes[CPU])
		return false;
	for (unsigned int seed = 1; seed <= INPUTS; seed++) {
		for (int i = 0; i < SIDES; i++)
			if (!runtime_fill(runtimes[i], seed, b->r->error) ||
			    !runtimes[i]->kind->run(runtimes[i], b->r->error))
				return false;
		compare(runtimes[DEVICE], runtimes[CPU], &b->r->difference);
		if (!measure_change(runtimes[CPU], b->r))
			return false;
	}
	end = seconds() + b->a->seconds;
	while (b->r->runs[CPU] < MAX_RUNS && (b->r->runs[CPU] < MIN_RUNS || seconds() < end))
		for (int i = 0; i < SIDES; i++)
			if (!time_run(b, runtimes[i], (enum side)i))
				return false;
	return true;
}

static int ascending(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Returns the latency that `percent` per cent of the sorted runs do not exceed. */
static double percentile(const struct results *r, enum side side, unsigned int percent)
{
	uint32_t at = (r->runs[side] * percent + 99) / 100;

	return r->ms[side][at ? at - 1 : 0];
}

/* ---- throughput ---- */

struct caller {
	const struct bench *b;
	enum side side;
};

static void *call(void *arg)
{
	const struct caller *caller = arg;
	const struct bench *b = caller->b;
	struct runtime *runtime = open_side(b, caller->side, 1);

	if (!runtime) {
		atomic_fetch_add(&b->r->failed, 1);
		return NULL;
	}
	atomic_fetch_add(&b->r->ready, 1);
	while (!atomic_load(&b->r->go))
		usleep(1000);
	while (!atomic_load(&b->r->stop) && runtime->kind->run(runtime, b->r->error))
		atomic_fetch_add(&b->r->done, 1);
	return NULL;
}

/* Runs a client process, in which each thread loads and runs the model. */
static void be_client(const struct bench *b, enum side side, unsigned int num_threads)
{
	struct caller caller = { b, side };
	pthread_t threads[MAX_LOAD];
	unsigned int started = 0;

	while (started < num_threads && !pthread_create(&threads[started], NULL, call, &caller))
		started++;
	atomic_fetch_add(&b->r->failed, num_threads - started);
	for (unsigned int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

static bool measure_rate(const struct bench *b, enum side side, unsigned int c, unsigned int t)
{
	unsigned int clients = b->a->clients.of[c], threads = b->a->threads.of[t], started = 0;
	struct results *r = b->r;
	double begin, end;
	char what[64];
	int status;

	r->ready = r->failed = 0;
	r->go = r->stop = false;
	snprintf(what, sizeof(what), "%u clients of %u threads", clients, threads);
	for (; started < clients; started++) {
		pid_t pid = start_process();

		if (!pid)
			be_client(b, side, threads);
		if (pid < 0)
			break;
	}
	if (started < clients)
		snprintf(r->error, sizeof(r->error), "%s", strerror(errno));
	while (started == clients && r->ready + r->failed < clients * threads && waitpid(-1, NULL, WNOHANG) <= 0) {
		show(b, what);
		usleep(10000);
	}
	r->done = 0;
	begin = seconds();
	r->go = true;
	while (!r->failed && seconds() < begin + b->a->seconds) {
		show(b, what);
		usleep(50000);
	}
	end = seconds();
	r->rate[side][c][t] = (double)r->done / (end - begin);
	r->stop = true;
	while (wait(&status) > 0)
		r->failed += status != 0;
	if ((r->failed || r->ready < clients * threads) && !r->error[0])
		snprintf(r->error, sizeof(r->error), "%s: a client ended too early", what);
	return !r->error[0];
}

/* ---- showing it ---- */

static void row(const char *what, double device, double cpu, const char *format)
{
	printf("%-36s ", what);
	printf(format, device);
	putchar(' ');
	printf(format, cpu);
	if (cpu > 0)
		printf(" %8.2f", device / cpu);
	putchar('\n');
}

static void print_text(const struct bench *b)
{
	const struct results *r = b->r;
	const struct difference *d = &r->difference;
	char what[64];

	printf("%s, on %s and on the CPU of %s\n\n%-36s %10s %10s %8s\n", b->model, b->a->device, r->runtime, "", "device",
	       "CPU", "ratio");
	row("first result, ms", r->first_ms[DEVICE], r->first_ms[CPU], "%10.1f");
	row("latency, median, ms", percentile(r, DEVICE, 50), percentile(r, CPU, 50), "%10.3f");
	row("latency, 90 % of runs, ms", percentile(r, DEVICE, 90), percentile(r, CPU, 90), "%10.3f");
	row("latency, 99 % of runs, ms", percentile(r, DEVICE, 99), percentile(r, CPU, 99), "%10.3f");
	for (unsigned int c = 0; c < b->a->clients.count; c++)
		for (unsigned int t = 0; t < b->a->threads.count; t++) {
			snprintf(what, sizeof(what), "runs a second, %u x %u callers", b->a->clients.of[c],
				 b->a->threads.of[t]);
			row(what, r->rate[DEVICE][c][t], r->rate[CPU][c][t], "%10.1f");
		}
	row("memory of the process, MB", (double)r->memory_kib[DEVICE] / 1024,
	    (double)r->memory_kib[CPU] / 1024, "%10.1f");
	if (r->device_kib)
		printf("%-36s %10.1f\n", "memory of the device, MB", (double)r->device_kib / 1024);
	printf("\n%s, of %d inputs: ", is_right(r) ? "right" : "WRONG", INPUTS);
	if (d->shape)
		printf("outputs have other types or sizes than the CPU's\n");
	else
		printf("floats differ by %.1e of the largest at most, bytes by %u, %" PRIu64 " other values\n",
		       d->apart, d->steps, d->others);
	if (r->change.apart > MOST_APART / MOST_CHANGES || r->change.steps > MOST_STEPS / MOST_CHANGES || r->change.others)
		printf("on the CPU, if inputs change by %.0e: %.1e of the largest, bytes by %u, %" PRIu64 " other values\n",
		       (double)CHANGE, r->change.apart, r->change.steps, r->change.others);
}

static void json_side(const struct bench *b, const char *name, enum side side)
{
	const struct results *r = b->r;

	printf("\"%s\": {\"first_ms\": %.3f, \"median_ms\": %.4f, \"p90_ms\": %.4f, \"p99_ms\": %.4f, \"runs\": %" PRIu32
	       ", \"memory_kib\": %" PRIu64 ", \"throughput\": [", name, r->first_ms[side], percentile(r, side, 50),
	       percentile(r, side, 90), percentile(r, side, 99), r->runs[side], r->memory_kib[side]);
	for (unsigned int c = 0; c < b->a->clients.count; c++)
		for (unsigned int t = 0; t < b->a->threads.count; t++)
			printf("%s{\"clients\": %u, \"threads\": %u, \"per_second\": %.2f}", c || t ? ", " : "",
			       b->a->clients.of[c], b->a->threads.of[t], r->rate[side][c][t]);
	printf("]},\n");
}

static void print_json(const struct bench *b)
{
	const struct difference *d = &b->r->difference;

	printf("{\"model\": ");
	tool_json_string(b->model);
	printf(", \"runtime\": ");
	tool_json_string(b->r->runtime);
	printf(", \"device_name\": ");
	tool_json_string(b->a->device);
	puts(",");
	json_side(b, "device", DEVICE);
	json_side(b, "cpu", CPU);
	/* Print 1e300 for an infinite difference, because JSON cannot represent infinity. */
	printf("\"device_memory_kib\": %" PRIu64 ", \"right\": %s, \"float_difference\": %.3g, "
	       "\"byte_difference\": %u, \"other_differences\": %" PRIu64 "}\n", b->r->device_kib,
	       is_right(b->r) ? "true" : "false", isfinite(d->apart) ? d->apart : 1e300, d->steps, d->others);
}

/* Plots the distribution of run times. Returns NULL, or the reason if plotting failed. */
static const char *plot(const struct bench *b)
{
	int status;
	FILE *gnuplot;

	/*
	 * Ignore SIGPIPE, because a shell that does not find gnuplot ends before it reads the plot.
	 */
	signal(SIGPIPE, SIG_IGN);
	gnuplot = popen("gnuplot 2>/dev/null", "we");
	if (!gnuplot)
		return strerror(errno);
	fprintf(gnuplot, "set terminal pngcairo size 900,500\nset output '%s'\nset key bottom right\n"
		"set xlabel 'latency, ms'\nset ylabel 'share of runs, %%'\nset grid\n"
		"plot '-' with lines lw 2 title '%s', '-' with lines lw 2 title 'CPU'\n", b->a->plot, b->a->device);
	for (int side = 0; side < SIDES; side++) {
		for (uint32_t i = 0; i < b->r->runs[side]; i++)
			fprintf(gnuplot, "%g %g\n", (double)b->r->ms[side][i],
				100.0 * (i + 1) / b->r->runs[side]);
		fputs("e\n", gnuplot);
	}
	status = pclose(gnuplot);
	if (!status)
		return NULL;
	return WIFEXITED(status) && WEXITSTATUS(status) == SHELL_NOT_FOUND ?
	       "it takes gnuplot, which is not installed" : "gnuplot cannot draw to that file";
}

/* ---- the command ---- */

static bool measure(const struct bench *b)
{
	const struct arguments *a = b->a;

	if (!in_process(b, "first result", measure_first, DEVICE) ||
	    !in_process(b, "first result of the CPU", measure_first, CPU) ||
	    !in_process(b, "latency", measure_latency, DEVICE))
		return false;
	for (unsigned int c = 0; c < a->clients.count; c++)
		for (unsigned int t = 0; t < a->threads.count; t++)
			for (int side = 0; side < SIDES; side++)
				if (!measure_rate(b, (enum side)side, c, t))
					return false;
	return true;
}

static int bench(const struct arguments *a, const char *model)
{
	struct bench b = { .a = a, .model = model, .begun_s = seconds(),
			   .expected_s = 2 + a->seconds * (1.0 + 2.0 * a->clients.count * a->threads.count) };
	const char *why;
	bool measured;

	b.r = mmap(NULL, sizeof(*b.r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (b.r == MAP_FAILED)
		return tool_fail("bench", "%s", strerror(errno));
	measured = measure(&b);
	clear_bar();
	if (!measured)
		return tool_fail("bench", "%s", b.r->error);
	for (int side = 0; side < SIDES; side++)
		qsort(b.r->ms[side], b.r->runs[side], sizeof(b.r->ms[side][0]), ascending);
	if (a->json)
		print_json(&b);
	else
		print_text(&b);
	if (a->plot && (why = plot(&b)))
		return tool_fail("bench", "%s was not drawn: %s", a->plot, why);
	return is_right(b.r) ? TOOL_OK :
	       tool_fail("bench", "the device computes something else than the runtime's CPU");
}

static bool take(struct list *list, const char *name, const char *text, char fault[OPTION_FAULT])
{
	list->count = option_list(text, 1, MAX_LOAD, list->of, MAX_LIST);
	if (list->count)
		return true;
	snprintf(fault, OPTION_FAULT, "--%s: '%.100s' is not a list of up to %d numbers from 1 to %d, as 1,2,4", name,
		 text, MAX_LIST, MAX_LOAD);
	return false;
}

static bool take_clients(void *into, const char *text, char fault[OPTION_FAULT])
{
	return take(&((struct arguments *)into)->clients, "clients", text, fault);
}

static bool take_threads(void *into, const char *text, char fault[OPTION_FAULT])
{
	return take(&((struct arguments *)into)->threads, "threads", text, fault);
}

int tool_bench(int argc, char **argv)
{
	struct arguments a = { .clients = { 1, { 1 } }, .threads = { 1, { 1 } }, .seconds = 3 };
	static const struct option_row options[] = {
		{ "clients", "LIST", "processes at once, as 1,2,4 (default 1)", OPTION_CALL, .take = take_clients },
		{ "threads", "LIST", "threads of each client, which all run the model (default 1)", OPTION_CALL,
		  .take = take_threads },
		{ "shape", "INPUT=DIMENSIONS", "the shape of an input, as x=1,3,224,224; may be repeated",
		  OPTION_CALL, OPTION_AT(struct arguments, shapes), .take = runtime_take_shape },
		{ "seconds", "N", "how long each measurement takes (default 3)", OPTION_UINT,
		  OPTION_AT(struct arguments, seconds), .min = 1, .max = 3600 },
		{ "json", NULL, "JSON instead of text", OPTION_FLAG, OPTION_AT(struct arguments, json) },
		{ "plot", "FILE", "draw the latencies to this image (PNG), by gnuplot", OPTION_TEXT,
		  OPTION_AT(struct arguments, plot) },
		{ "device", "NAME", "a device of the NNAPI (default: the first that is not the CPU)",
		  OPTION_TEXT, OPTION_AT(struct arguments, device) },
		{ "runtime", "LIBRARY", "the runtime's library (default: the one that the loader finds)",
		  OPTION_TEXT, OPTION_AT(struct arguments, library) },
		{ "help", NULL, "print this help", OPTION_STOP, OPTION_AT(struct arguments, help) },
		{ 0 },
	};
	static const struct tool_command command = {
		.name = "bench",
		.about = "bench [OPTION]... MODEL\n\n"
		"Measures a model on the device and, by turns, on the CPU of its runtime, and compares\n"
		"what both compute of made-up inputs. MODEL is a file for ONNX Runtime (1.23 or later)\n"
		"or TensorFlow Lite; without --shape, unknown dimensions are 1.\n",
		.more = "\nExit status 1: a measurement failed, or the device computes something else.\n",
		.options = options,
		.help = offsetof(struct arguments, help),
		.has_action = true,
	};
	const char *model = NULL, *device;
	char known[256];
	int status = tool_options(&command, argc, argv, &a, &model);

	if (status != TOOL_GO_ON)
		return status;
	if (!model)
		return tool_usage("bench", "a model is missing");
	device = tool_find_device(a.device, known, sizeof(known));
	if (!device)
		return tool_fail("bench", "there is no device %s, only %s; nnaccel doctor tells why",
				 a.device ? a.device : "but the CPU", known);
	a.device = device;
	return bench(&a, model);
}
