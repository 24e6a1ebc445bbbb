/* SPDX-License-Identifier: MIT */
/*
 * Tests how libnnaccel requests entries of the compilation cache from an engine and writes the
 * entries to files. The test program imitates the kernel, the engine and the disk.
 */
#define _GNU_SOURCE
/* Fortified headers define pread() inline, so clang would reject the definition in this file. */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include <nnaccel/nnaccel.h>

#include "base/tuned.h"
#include "hal/cache_files.h"
#include "tests/failing/kept.h"
#include "tests/fake_kernel.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MOST_ASKED 5

/* ---- the disk ---- */

/*
 * Text that records the calls that change files. The text has two letters for each call: the kind
 * of call (see test_order()), and 'm' or 'd' for the model or data file.
 */
static struct {
	int model, data;	/* the entry's files */
	char calls[64];
	int fails;		/* number (from 1) of the call that fails; 0: no call fails */
	bool reads_fail;
} disk;

static bool disk_fails(char call, int fd)
{
	size_t length = strlen(disk.calls);
	struct stat file, data;

	assert_true(length + 3 < sizeof(disk.calls));
	assert_int_equal(fstat(fd, &file) | fstat(disk.data, &data), 0);
	disk.calls[length] = call;
	disk.calls[length + 1] = file.st_ino == data.st_ino ? 'd' : 'm';
	errno = EDQUOT;
	return disk.fails && (int)(length / 2) + 1 == disk.fails;
}

__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void *bytes, size_t size,
						      off_t at)
{
	bool is_watched = disk.model >= 0;

	if (is_watched && disk_fails('w', fd))
		return -1;
	return syscall(SYS_pwrite64, fd, bytes, size, at);
}

__attribute__((visibility("default"))) ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
	errno = EIO;
	return disk.reads_fail ? -1 : syscall(SYS_pread64, fd, bytes, size, at);
}

__attribute__((visibility("default"))) int ftruncate(int fd, off_t size)
{
	bool is_watched = disk.model >= 0;

	if (is_watched && disk_fails(size ? 't' : '0', fd))
		return -1;
	return (int)syscall(SYS_ftruncate, fd, size);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
	return disk.model >= 0 && disk_fails('s', fd) ? -1 : 0;
}

/* ---- what the tests share ---- */

static struct nn_error err;
static struct kept kept;
static int files[2];
static struct nna_cache cache;

static int make_file(void)
{
	int fd = (int)syscall(SYS_memfd_create, "entry", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int set_up(void **state)
{
	(void)state;
	kept = kept_now();
	disk.model = -1;
	files[0] = make_file();
	files[1] = make_file();
	err.message[0] = '\0';
	cache = (struct nna_cache){
		.size = sizeof(cache), .model_files = &files[0], .num_model_files = 1,
		.data_files = &files[1], .num_data_files = 1, .token = { 1, 2, 3 },
	};
	return 0;
}

static int tear_down(void **state)
{
	struct kept left;

	(void)state;
	close(files[0]);
	close(files[1]);
	fake.is_on = false;
	fake.answer = NULL;
	left = kept_now();
	if (kept_more(&kept, &left))
		print_error("not given back: %s\n", kept_more(&kept, &left));
	return kept_more(&kept, &left) || fake.live || fake.wrong;
}

static off_t size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_size;
}

/* Checks that a file has `size` bytes, and that each byte of the file is `byte`. */
static void assert_holds(int fd, off_t size, char byte)
{
	char bytes[256];

	assert_int_equal(size_of(fd), size);
	assert_true(size <= (off_t)sizeof(bytes));
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), size);
	for (off_t i = 0; i < size; i++)
		assert_int_equal(bytes[i], byte);
}

/* Without being watched. */
static void fill(int fd, size_t size, char byte)
{
	char *bytes = malloc(size + 1);

	memset(bytes, byte, size + 1);
	assert_int_equal(syscall(SYS_pwrite64, fd, bytes, size, 0), size);
	free(bytes);
}

/* ---- the engine ---- */

/* Answers NNACCEL_WORK_CACHE_SAVE. */
struct answer {
	uint32_t status;
	uint64_t model_size, data_size;
};

static struct engine {
	const struct answer *answers;
	struct nnaccel_cache_save saves[MOST_ASKED];
	struct nnaccel_cache_part rooms[MOST_ASKED][2];
	unsigned int asked;
	struct nnaccel_prepare_cached cached;
	struct nnaccel_cache_part parts[NNA_MAX_CACHE_FILES];
	struct nnaccel_prepare prepare;
} engine;

/*
 * Plays the kernel. Each byte of a mapped pool is 'm' if the engine saved the model part, or 'd' if
 * it saved the data part.
 */
static bool answer(unsigned long request, void *arg, int *result)
{
	struct nnaccel_pool_export *export = arg;
	struct nnaccel_cache_save *save = arg;
	uint64_t *sizes;

	*result = 0;
	if (request == NNACCEL_WORK_PREPARE)
		engine.prepare = *(struct nnaccel_prepare *)arg;
	if (request == NNACCEL_WORK_PREPARE_CACHED) {
		engine.cached = *(struct nnaccel_prepare_cached *)arg;
		memcpy(engine.parts, (void *)(uintptr_t)engine.cached.parts, sizeof(engine.parts[0]) *
		       (engine.cached.num_model_parts + engine.cached.num_data_parts));
	}
	if (request == NNACCEL_POOL_EXPORT) {
		export->out_fd = fake_file(FAKE_PAGE);
		fill(export->out_fd, 256,
		     export->id == engine.rooms[engine.asked - 1][0].pool ? 'm' : 'd');
		return true;
	}
	if (request != NNACCEL_WORK_CACHE_SAVE || !engine.answers)
		return false;
	assert_true(engine.asked < MOST_ASKED);
	engine.saves[engine.asked] = *save;
	memcpy(engine.rooms[engine.asked], (void *)(uintptr_t)save->parts, sizeof(engine.rooms[0]));
	save->out_status = engine.answers[engine.asked].status;
	sizes = (uint64_t *)(uintptr_t)save->sizes;
	sizes[0] = engine.answers[engine.asked].model_size;
	sizes[1] = engine.answers[engine.asked].data_size;
	engine.asked++;
	return true;
}

static struct nna_device *open_device(void)
{
	struct nna_device *device;

	memset(&engine, 0, sizeof(engine));
	fake.is_on = true;
	fake.answer = answer;
	assert_int_equal(nna_device_open(NULL, &device, &err), NN_OK);
	return device;
}

/* y = RELU(x) */
static const uint32_t x = 0, y = 1;
static const struct nn_operation relu = { NN_OP_RELU, 1, 1, &x, &y };
static const struct nn_operand operands[] = {
	{ .type = NN_TENSOR_FLOAT32, .lifetime = NN_SUBGRAPH_INPUT, .rank = 1, .dims = { 4 },
	  .consumers = 1 },
	{ .type = NN_TENSOR_FLOAT32, .lifetime = NN_SUBGRAPH_OUTPUT, .rank = 1, .dims = { 4 } },
};
static const struct nn_subgraph subgraph = { 2, 1, 1, 1, operands, &relu, &x, &y };
static const struct nn_model model = {
	.size = sizeof(model), .num_subgraphs = 1, .subgraphs = &subgraph,
};

/* ---- tests ---- */

static enum nn_status open_entry(bool writes, struct nna_cache_files *opened)
{
	err.message[0] = '\0';
	return nna_cache_files_open(&cache, writes, opened, &err);
}

static enum nn_status write_entry(struct nna_cache_files *opened, const char *model_part,
				  const char *data)
{
	err.message[0] = '\0';
	return nna_cache_files_write(opened, (const struct nna_cache_bytes[]){
		{ model_part, strlen(model_part) }, { data, strlen(data) } }, &err);
}

/*
 * The sizes of a model's parts may change while the model is saved; the library then requests the
 * parts' sizes up to three more times.
 */
static void test_saving(void **state)
{
	enum { SHORT = NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE, FAILS = NNACCEL_STATUS_GENERAL_FAILURE };
	static const struct {
		const char *name;
		struct answer answers[MOST_ASKED];
		unsigned int asked;
		off_t model_size, data_size;	/* file sizes after saving (before: 3 and 5) */
		const char *not_saved;
	} cases[] = {
		{ "both parts", { { 0, 100, 50 }, { 0, 100, 50 } }, 2, 100, 50, "" },
		{ "no data", { { 0, 100, 0 }, { 0, 100, 0 } }, 2, 100, 0, "" },
		{ "smaller than it said", { { 0, 100, 50 }, { 0, 99, 49 } }, 2, 99, 49, "" },
		{ "nothing yet", { { 0, 0, 0 } }, 1, 3, 5, "" },
		{ "no model", { { 0, 0, 50 } }, 1, 3, 5, "cache: the engine has no data for the "
		  "first file, but has data for others" },
		{ "grows", { { 0, 100, 50 }, { SHORT, 101, 50 }, { 0, 101, 50 } }, 3, 101, 50, "" },
		{ "grows twice", { { 0, 100, 50 }, { SHORT, 101, 50 }, { SHORT, 101, 51 },
				   { 0, 101, 51 } }, 4, 101, 51, "" },
		{ "needs no data any more", { { 0, 100, 50 }, { SHORT, 101, 0 }, { 0, 101, 0 } }, 3, 101,
		  0, "" },
		{ "grows on", { { 0, 100, 50 }, { SHORT, 101, 50 }, { SHORT, 102, 50 },
				{ SHORT, 103, 50 } }, 4, 3, 5, "cache: the engine's sizes of the "
		  "cache files changed at each try" },
		{ "has no sizes", { { FAILS, 7, 7 } }, 1, 3, 5, "cache: the engine refused without "
		  "a reason" },
		{ "longer than its room", { { 0, 100, 50 }, { 0, 100, 51 } }, 2, 3, 5,
		  "cache: the engine says that it saved 51 bytes for file 1, which has room for 50" },
		{ "without a room", { { 0, 100, 0 }, { 0, 100, 1 } }, 2, 3, 5,
		  "cache: the engine says that it saved 1 bytes for file 1, which has room for 0" },
		{ "fails", { { 0, 100, 50 }, { FAILS, 7, 7 } }, 2, 3, 5,
		  "cache: the engine refused without a reason" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct nn_error not_saved = { "old" };
		struct nna_prepare_options options = { .size = sizeof(options), .cache = &cache };
		struct nna_device *device = open_device();
		struct nna_prepared_model *p;

		engine.answers = cases[i].answers;
		cache.not_saved = &not_saved;
		assert_int_equal(ftruncate(files[0], 0) | ftruncate(files[1], 0), 0);
		fill(files[0], 3, 'm');
		fill(files[1], 5, 'd');
		assert_int_equal(nna_prepare_model(device, &model, NULL, &options, &p, &err), NN_OK);
		nna_prepared_model_free(p);
		nna_device_close(device);
		if (strcmp(not_saved.message, cases[i].not_saved) || engine.asked != cases[i].asked)
			fail_msg("%s: asked %u times, then \"%s\"", cases[i].name, engine.asked,
				 not_saved.message);
		assert_holds(files[0], cases[i].model_size, 'm');
		assert_holds(files[1], cases[i].data_size, 'd');
		for (unsigned int k = 0; k < engine.asked; k++) {
			const struct nnaccel_cache_save *save = &engine.saves[k];
			const struct answer *last = k ? &cases[i].answers[k - 1] : &(struct answer){ 0 };

			assert_int_equal(engine.rooms[k][0].length, last->model_size);
			assert_int_equal(engine.rooms[k][1].length, last->data_size);
			assert_int_equal(engine.rooms[k][0].pool != 0, last->model_size != 0);
			assert_int_equal(engine.rooms[k][1].pool != 0, last->data_size != 0);
			assert_memory_equal(save->token, cache.token, sizeof(save->token));
		}
	}
}

/*
 * Each request of the library to the kernel fails in turn. The model grows while it is saved, so
 * the library requests memory twice.
 */
static void test_failing_saves(void **state)
{
	static const struct answer answers[] = {
		{ 0, 100, 50 }, { NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE, 101, 50 }, { 0, 101, 50 },
		{ 0, 101, 50 },
	};
	unsigned int failures, number = 0, unsaved = 0;

	(void)state;
	do {
		struct nn_error not_saved = { "" };
		struct nna_prepare_options options = { .size = sizeof(options), .cache = &cache };
		struct nna_device *device = open_device();
		struct nna_prepared_model *p = NULL;

		engine.answers = answers;
		cache.not_saved = &not_saved;
		fake_begin(++number, EIO);
		nna_prepare_model(device, &model, NULL, &options, &p, &err);
		failures = fake_end();
		unsaved += p && not_saved.message[0];
		nna_prepared_model_free(p);
		nna_device_close(device);
		assert_int_equal(fake.live, 0);
		assert_int_equal(fake.wrong, 0);
	} while (failures);
	/*
	 * Saving a model takes three requests for sizes, two for the memory of each part, and two
	 * to map the parts.
	 */
	assert_true(unsaved >= 3 + 4 + 2);
}

/* ---- deferred saves ---- */

static sem_t saved;
static char saved_reason[256];

/* Returns true if this thread blocks all signals, as the library's thread must. */
static bool has_all_blocked(void)
{
	sigset_t blocked;

	sigemptyset(&blocked);
	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	return sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGUSR1) &&
	       sigismember(&blocked, SIGCHLD);
}

static void deferred_saved(void *data, const char *reason)
{
	if (!has_all_blocked())
		reason = "a signal is not blocked";
	if (data != &saved)
		reason = "the pointer is another";
	snprintf(saved_reason, sizeof(saved_reason), "%s", reason);
	sem_post(&saved);
}

static void execute(struct nna_prepared_model *p, struct nna_memory *memory, unsigned int times)
{
	const struct nna_argument arg = { .length = 16 };
	const struct nna_request r = {
		.size = sizeof(r), .num_inputs = 1, .num_outputs = 1, .inputs = &arg, .outputs = &arg,
		.num_memories = 1, .memories = &memory,
	};

	while (times--)
		assert_int_equal(nna_execute(p, &r, NULL, NULL, &err), NN_OK);
}

/* Counts this process's file descriptors of cache entries, either with or without close-on-exec. */
static int count_entries(bool closed_on_exec)
{
	char path[32], target[64];
	int count = 0;

	for (int fd = 0; fd < 2048; fd++) {
		ssize_t size;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		size = readlink(path, target, sizeof(target) - 1);
		target[size > 0 ? size : 0] = '\0';
		count += !strncmp(target, "/memfd:entry", 12) &&
			 !(fcntl(fd, F_GETFD) & FD_CLOEXEC) == !closed_on_exec;
	}
	return count;
}

/*
 * The library saves a model again after many executions. If the engine deferred compiling, the
 * library saves the model after the first execution.
 */
static void test_late_saves(void **state)
{
	enum { FAILS = NNACCEL_STATUS_GENERAL_FAILURE };
	static const struct {
		bool is_loaded;	/* set if the model is loaded from the cache, not saved */
		struct answer answers[MOST_ASKED];
		unsigned int asked_at_once, asked_first, asked_hot;
		/*
		 * Error message that the library passes to deferred_saved() after the first
		 * execution; NULL if the library does not call deferred_saved().
		 */
		const char *first;
	} cases[] = {
		{ false, { { 0, 10, 5 }, { 0, 10, 5 }, { 0, 12, 5 }, { 0, 12, 5 } }, 2, 2, 4, NULL },
		{ false, { { 0, 0, 0 }, { 0, 10, 5 }, { 0, 10, 5 }, { 0, 12, 5 }, { 0, 12, 5 } }, 1, 3, 5,
		  "" },
		{ false, { { 0, 0, 0 }, { FAILS, 0, 0 }, { 0, 12, 5 }, { 0, 12, 5 } }, 1, 2, 4,
		  "cache: the engine refused without a reason" },
		{ true, { { 0, 12, 5 }, { 0, 12, 5 } }, 0, 0, 2, NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		int given[2] = { dup(files[0]), dup(files[1]) };
		struct nna_cache own = cache;
		struct nna_prepare_options options = { .size = sizeof(options), .cache = &own };
		struct nna_device *device = open_device();
		struct nna_prepared_model *p;
		struct nna_memory *memory;

		own.deferred_saved = deferred_saved;
		own.deferred_saved_data = &saved;
		own.model_files = &given[0];
		own.data_files = &given[1];
		fake.shape = (struct nnaccel_shape){ .rank = 1, .dims = { 4 } };
		engine.answers = cases[i].answers;
		assert_int_equal(nna_memory_alloc(device, 64, &memory, &err), NN_OK);
		assert_int_equal(cases[i].is_loaded ?
				 nna_prepare_model_from_cache(device, &own, NULL, &p, &err) :
				 nna_prepare_model(device, &model, NULL, &options, &p, &err), NN_OK);
		assert_int_equal(engine.asked, cases[i].asked_at_once);
		/*
		 * The caller may close the cache files, because the library has duplicates, which
		 * executed programs do not inherit.
		 */
		for (int k = 0; k < 2; k++) {
			close(given[k]);
			given[k] = -1;
		}
		assert_int_equal(count_entries(true), 4);
		assert_int_equal(count_entries(false), 0);
		execute(p, memory, 1);
		if (cases[i].first) {
			assert_int_equal(sem_wait(&saved), 0);
			assert_string_equal(saved_reason, cases[i].first);
		}
		assert_int_equal(engine.asked, cases[i].asked_first);
		execute(p, memory, TUNED_EXECUTIONS - 2);
		assert_int_equal(sem_trywait(&saved), -1);
		execute(p, memory, 1);
		assert_int_equal(sem_wait(&saved), 0);
		assert_string_equal(saved_reason, "");
		assert_int_equal(engine.asked, cases[i].asked_hot);
		assert_holds(files[0], 12, 'm');
		assert_false(has_all_blocked());
		/* After the model was saved twice, further executions save nothing. */
		execute(p, memory, 2 * TUNED_EXECUTIONS);
		nna_prepared_model_free(p);
		assert_int_equal(sem_trywait(&saved), -1);
		nna_memory_free(memory);
		nna_device_close(device);
	}
}

static void test_loading(void **state)
{
	static const uint8_t byte = 7;
	const struct nn_attribute attribute = { "dev.nnaccel.test", 1, 1, &byte };
	const struct nn_attributes attributes = { 1, &attribute };
	const struct nna_prepare_options options = {
		.size = sizeof(options), .preference = NNA_PREFER_LOW_POWER,
		.priority = NNA_PRIORITY_HIGH, .deadline_ns = 1234, .attributes = &attributes,
	};
	static const struct {
		off_t model_size, data_size;
		enum nn_status status;
	} cases[] = {
		{ 0, 5, NN_GENERAL_FAILURE }, { 1, 5, NN_OK }, { 1, 0, NN_OK },
		{ NNACCEL_MAX_WIRE, 5, NN_OK }, { NNACCEL_MAX_WIRE + 1, 5, NN_GENERAL_FAILURE },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct nna_device *device = open_device();
		struct nna_prepared_model *p = NULL;

		assert_int_equal(ftruncate(files[0], cases[i].model_size) |
				 ftruncate(files[1], cases[i].data_size), 0);
		assert_int_equal(nna_prepare_model_from_cache(device, &cache, &options, &p, &err),
				 cases[i].status);
		assert_int_equal(engine.parts[0].pool != 0, cases[i].status == NN_OK);
		if (cases[i].status == NN_OK) {
			assert_int_equal(engine.parts[1].pool != 0, cases[i].data_size != 0);
			assert_int_equal(engine.parts[0].length, cases[i].model_size);
			assert_int_equal(engine.parts[1].length, cases[i].data_size);
			assert_int_equal(engine.cached.preference, NNACCEL_PREFER_LOW_POWER);
			assert_int_equal(engine.cached.priority, NNACCEL_PRIORITY_HIGH);
			assert_int_equal(engine.cached.deadline_ns, options.deadline_ns);
			assert_true(engine.cached.attributes_size > 0);
			assert_memory_equal(engine.cached.token, cache.token,
					    sizeof(engine.cached.token));
		}
		nna_prepared_model_free(p);
		nna_device_close(device);
	}
}

static void test_preparing(void **state)
{
	static const uint8_t byte = 7;
	const struct nn_attribute attribute = { "dev.nnaccel.test", 1, 1, &byte };
	const struct nn_attributes attributes = { 1, &attribute };
	static const struct {
		uint32_t preference, priority;
		enum nn_status status;
		uint32_t kernels_preference, kernels_priority;
	} cases[] = {
		{ 0, 0, NN_OK, NNACCEL_PREFER_FAST_SINGLE_ANSWER, NNACCEL_PRIORITY_MEDIUM },
		{ NNA_PREFER_LOW_POWER, NNA_PRIORITY_LOW, NN_OK, NNACCEL_PREFER_LOW_POWER,
		  NNACCEL_PRIORITY_LOW },
		{ NNA_PREFER_SUSTAINED_SPEED, NNA_PRIORITY_HIGH, NN_OK,
		  NNACCEL_PREFER_SUSTAINED_SPEED, NNACCEL_PRIORITY_HIGH },
		{ NNA_PREFER_SUSTAINED_SPEED + 1, NNA_PRIORITY_LOW, NN_INVALID_ARGUMENT, 0, 0 },
		{ NNA_PREFER_LOW_POWER, NNA_PRIORITY_HIGH + 1, NN_INVALID_ARGUMENT, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct nna_prepare_options options = {
			.size = sizeof(options), .preference = cases[i].preference,
			.priority = cases[i].priority, .deadline_ns = 99, .attributes = &attributes,
		};
		struct nna_device *device = open_device();
		struct nna_prepared_model *p = NULL;

		assert_int_equal(nna_prepare_model(device, &model, NULL, &options, &p, &err),
				 cases[i].status);
		if (cases[i].status == NN_OK) {
			assert_int_equal(engine.prepare.preference, cases[i].kernels_preference);
			assert_int_equal(engine.prepare.priority, cases[i].kernels_priority);
			assert_int_equal(engine.prepare.deadline_ns, 99);
			assert_true(engine.prepare.attributes_size > 0);
		}
		nna_prepared_model_free(p);
		nna_device_close(device);
	}
}

/*
 * The engine requires exactly one model file and one data file, regular and open for reading and
 * writing.
 */
static void test_files_that_are_refused(void **state)
{
	struct nna_cache_files open_files;
	int ends[2], wrong[] = { -1, 0, 0, 0, 0 }, folder;
	char path[32];

	(void)state;
	cache.num_model_files = cache.num_data_files = 0;
	assert_int_equal(open_entry(false, &open_files), NN_INVALID_ARGUMENT);
	cache.num_model_files = 33;
	assert_int_equal(open_entry(false, &open_files), NN_INVALID_ARGUMENT);
	assert_string_equal(err.message, "cache: 33 model files and 0 data files are given; give "
			    "at least one file, and at most 32 of each kind");
	cache.num_model_files = 0;
	cache.num_data_files = 33;
	assert_int_equal(open_entry(false, &open_files), NN_INVALID_ARGUMENT);
	cache.num_model_files = cache.num_data_files = 1;
	assert_int_equal(pipe(ends), 0);
	folder = open("/", O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", files[0]);
	wrong[1] = open(path, O_RDONLY);
	wrong[2] = open(path, O_WRONLY);
	wrong[3] = ends[0];
	wrong[4] = folder;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		cache.model_files = &wrong[i];
		assert_int_equal(open_entry(false, &open_files), NN_INVALID_ARGUMENT);
		assert_non_null(strstr(err.message, "model file"));
		cache.model_files = &files[0];
		cache.data_files = &wrong[i];
		assert_int_equal(open_entry(false, &open_files), NN_INVALID_ARGUMENT);
		assert_non_null(strstr(err.message, "data file"));
		cache.data_files = &files[1];
	}
	close(wrong[1]);
	close(wrong[2]);
	close(ends[0]);
	close(ends[1]);
	close(folder);
}

/*
 * Several readers can open a cache entry at once. A writer locks the model file exclusively, and
 * also locks the data file if it changes the data.
 */
static void test_locks(void **state)
{
	struct nna_cache_files reader, other, writer;

	(void)state;
	fill(files[0], 3, 'm');
	fill(files[1], 5, 'd');
	assert_int_equal(open_entry(false, &reader), NN_OK);
	assert_int_equal(reader.sizes[0], 3);
	assert_int_equal(reader.sizes[1], 5);
	assert_int_equal(open_entry(false, &other), NN_OK);
	assert_int_equal(open_entry(true, &writer), NN_GENERAL_FAILURE);
	assert_string_equal(err.message, "cache: the model file is in use by another process");
	assert_int_equal(writer.count, 0);
	close(reader.fds[0]);
	close(other.fds[0]);
	assert_int_equal(open_entry(true, &writer), NN_OK);
	/*
	 * The library does not overwrite a data file with equal data, because a loaded model may be
	 * using the file.
	 */
	assert_int_equal(write_entry(&writer, "MMM", "ddddd"), NN_OK);
	assert_holds(files[0], 3, 'M');
	assert_int_equal(write_entry(&writer, "mmm", "DDDDD"), NN_GENERAL_FAILURE);
	assert_string_equal(err.message, "cache: the data file is in use by another process");
	assert_holds(files[0], 3, 'M');
	assert_holds(files[1], 5, 'd');
	close(reader.fds[1]);
	close(other.fds[1]);
	assert_int_equal(write_entry(&writer, "mmm", "DDDDD"), NN_OK);
	assert_holds(files[1], 5, 'D');
	nna_cache_files_close(&writer);
	assert_int_equal(writer.count, 0);
}

/* A cache entry of several model or data files is written, compared and loaded as a whole. */
static void test_several_files(void **state)
{
	static const struct { uint32_t model, data; } cases[] = {
		{ 1, 0 }, { 0, 1 }, { 2, 1 }, { 0, 2 }, { 3, 2 }, { 32, 32 },
	};
	struct nna_cache_bytes parts[NNA_MAX_CACHE_FILES];
	char bytes[NNA_MAX_CACHE_FILES];
	int fds[NNA_MAX_CACHE_FILES];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const uint32_t count = cases[i].model + cases[i].data;
		struct nna_device *device = open_device();
		struct nna_prepared_model *p;
		struct nna_cache_files f;

		cache.model_files = fds;
		cache.num_model_files = cases[i].model;
		cache.data_files = fds + cases[i].model;
		cache.num_data_files = cases[i].data;
		for (uint32_t k = 0; k < count; k++) {
			fds[k] = make_file();
			bytes[k] = (char)k + 1;
			parts[k] = (struct nna_cache_bytes){ &bytes[k], 1 };
		}
		for (int round = 0; round < 2; round++) {
			/*
			 * The second round writes an entry that differs from the first entry only
			 * in the last byte.
			 */
			bytes[count - 1] += round;
			assert_int_equal(open_entry(true, &f), NN_OK);
			assert_int_equal(f.count, count);
			assert_int_equal(nna_cache_files_write(&f, parts, &err), NN_OK);
			nna_cache_files_close(&f);
			for (uint32_t k = 0; k < count; k++)
				assert_holds(fds[k], 1, bytes[k]);
		}
		assert_int_equal(nna_prepare_model_from_cache(device, &cache, NULL, &p, &err), NN_OK);
		assert_int_equal(engine.cached.num_model_parts, cases[i].model);
		assert_int_equal(engine.cached.num_data_parts, cases[i].data);
		nna_prepared_model_free(p);
		/* An empty first file means that writing the entry was interrupted. */
		assert_int_equal(ftruncate(fds[0], 0), 0);
		assert_int_equal(nna_prepare_model_from_cache(device, &cache, NULL, &p, &err),
				 NN_GENERAL_FAILURE);
		assert_string_equal(err.message, cases[i].model ? "cache: the model file is empty" :
				    "cache: the data file is empty");
		nna_device_close(device);
		for (uint32_t k = 0; k < count; k++)
			close(fds[k]);
	}
}

/*
 * The library finds a single different byte at any offset of a file, even at the borders of the
 * compared blocks.
 */
static void test_same_bytes(void **state)
{
	static const size_t sizes[] = { 1, 2, 65535, 65536, 65537, 131072, 131073 };
	static char bytes[131073];

	(void)state;
	memset(bytes, 'd', sizeof(bytes));
	for (size_t i = 0; i < COUNT(sizes); i++) {
		const size_t at[] = { SIZE_MAX, 0, sizes[i] / 2, sizes[i] - 1 };

		for (size_t k = 0; k < COUNT(at); k++) {
			struct nna_cache_files f = { 1, 2, { files[0], files[1] }, { 1, sizes[i] } };
			const char *expected = k ? "0msmwdtdsdwmsm" : "";

			fill(files[0], 1, 'm');
			fill(files[1], sizes[i], 'd');
			bytes[k ? at[k] : 0] = k ? 'x' : 'd';
			disk.model = files[0];
			disk.data = files[1];
			memset(disk.calls, 0, sizeof(disk.calls));
			assert_int_equal(nna_cache_files_write(&f, (const struct nna_cache_bytes[]){
				{ "m", 1 }, { bytes, sizes[i] } }, &err), NN_OK);
			assert_string_equal(disk.calls, expected);
			disk.model = -1;
			if (k)
				bytes[at[k]] = 'd';
		}
	}
}

/* If the library cannot read the cache files to compare them, it writes the files. */
static void test_unreadable(void **state)
{
	struct nna_cache_files f = { 1, 2, { files[0], files[1] }, { 3, 5 } };

	(void)state;
	fill(files[0], 3, 'm');
	fill(files[1], 5, 'd');
	disk.model = files[0];
	disk.data = files[1];
	memset(disk.calls, 0, sizeof(disk.calls));
	disk.reads_fail = true;
	assert_int_equal(write_entry(&f, "mmm", "ddddd"), NN_OK);
	disk.reads_fail = false;
	assert_string_equal(disk.calls, "0msmwdtdsdwmsm");
}

/*
 * The library truncates the model file first and writes the model file last, and syncs each step
 * before the next step. If the library fails to write a cache entry, the entry's model file is
 * empty. The letter of a call is '0' (truncating to 0), 't' (truncating to a size), 'w' (writing)
 * or 's' (syncing).
 */
static void test_order(void **state)
{
	static const struct {
		const char *name, *model, *data, *calls;
	} cases[] = {
		{ "nothing new", "mmm", "ddddd", "" },
		{ "another model", "mmM", "ddddd", "0msmwmsm" },
		{ "a longer model", "mmmm", "ddddd", "0msmwmsm" },
		{ "a shorter model", "mm", "ddddd", "0msmwmsm" },
		{ "other data", "mmm", "ddddD", "0msmwdtdsdwmsm" },
		{ "longer data", "mmm", "dddddd", "0msmwdtdsdwmsm" },
		{ "shorter data", "mmm", "dddd", "0msmwdtdsdwmsm" },
		{ "no data", "mmm", "", "0msm0dsdwmsm" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		int steps = (int)strlen(cases[i].calls) / 2;

		for (int fails = 0; fails <= steps; fails++) {
			struct nna_cache_files f = { 1, 2, { files[0], files[1] }, { 3, 5 } };
			const char *model_part = cases[i].model, *data = cases[i].data;
			enum nn_status status;

			disk.model = -1;
			assert_int_equal(ftruncate(files[0], 3) | ftruncate(files[1], 5), 0);
			fill(files[0], 3, 'm');
			fill(files[1], 5, 'd');
			disk.model = files[0];
			disk.data = files[1];
			disk.fails = fails;
			memset(disk.calls, 0, sizeof(disk.calls));
			status = write_entry(&f, model_part, data);
			disk.model = -1;
			if ((status == NN_OK) != !fails)
				fail_msg("%s, step %d fails: %s", cases[i].name, fails,
					 nna_status_name(status));
			if (!fails) {
				char text[16] = "";

				assert_string_equal(disk.calls, cases[i].calls);
				assert_int_equal(pread(files[0], text, 15, 0), strlen(model_part));
				assert_string_equal(text, model_part);
				memset(text, 0, sizeof(text));
				assert_int_equal(pread(files[1], text, 15, 0), strlen(data));
				assert_string_equal(text, data);
			} else {
				assert_memory_equal(disk.calls, cases[i].calls, 2 * (size_t)fails);
				assert_string_equal(disk.calls + 2 * fails, "0m");
				assert_int_equal(size_of(files[0]), 0);
				assert_string_equal(err.message, "cache: writing: Disk quota exceeded");
			}
		}
	}
	disk.fails = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_saving),
		TEST(test_failing_saves),
		TEST(test_late_saves),
		TEST(test_loading),
		TEST(test_preparing),
		TEST(test_files_that_are_refused),
		TEST(test_locks),
		TEST(test_several_files),
		TEST(test_same_bytes),
		TEST(test_unreadable),
		TEST(test_order),
	};

	kept_start();
	sem_init(&saved, 0, 0);
	return cmocka_run_group_tests_name("libnnaccel_cache", tests, NULL, NULL);
}
