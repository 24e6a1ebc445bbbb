/* SPDX-License-Identifier: MIT */
/*
 * Tests compilation caching on nnapi-reference, or on the device that NN_TEST_DEVICE names: file
 * names, hits, misses, faults, and concurrent processes. Executions must give right results in all
 * tests.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "model/fingerprint.h"
#include "runtime/sha256.c"
#include "../../selftests/lib/runner.h"
#include "runtime_cache_fixture.h"

#define IN 4
#define OUT 40

static const ANeuralNetworksDevice *device(void)
{
	const char *wanted = getenv("NN_TEST_DEVICE"), *name;
	ANeuralNetworksDevice *d;
	uint32_t count;

	assert_ok(ANeuralNetworks_getDeviceCount(&count));
	for (uint32_t i = 0; wanted && i < count; i++) {
		assert_ok(ANeuralNetworks_getDevice(i, &d));
		assert_ok(ANeuralNetworksDevice_getName(d, &name));
		if (!strcmp(name, wanted))
			return d;
	}
	if (wanted)
		fail_msg("no device %s", wanted);
	return cpu_device();
}

/* ---- A model with weights: out[1, units] = in[1, 4] times weights, plus bias ---- */

static float weight(uint32_t unit, uint32_t input)
{
	return (float)((unit * 7 + input * 3) % 11) - 5;
}

/*
 * A constant that models add to each output, so that models with equal inputs and outputs can
 * differ.
 */
static float added;

static ANeuralNetworksModel *weights_model(uint32_t units)
{
	const uint32_t in[] = { 1, IN }, shape[] = { units, IN }, out[] = { 1, units };
	const ANeuralNetworksOperandType types[] = {
		tensor_type(2, in), tensor_type(2, shape), tensor_type(1, &units),
		scalar_type(ANEURALNETWORKS_INT32), tensor_type(2, out),
	};
	static const uint32_t inputs[] = { 0, 1, 2, 3 }, outputs[] = { 4 };
	float weights[2 * OUT * IN], bias[2 * OUT];
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	ANeuralNetworksModel *model;

	for (uint32_t i = 0; i < units; i++) {
		for (uint32_t k = 0; k < IN; k++)
			weights[i * IN + k] = weight(i, k);
		bias[i] = (float)i + added;
	}
	assert_ok(ANeuralNetworksModel_create(&model));
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, &types[i]));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, 1, weights,
						       units * IN * sizeof(float)));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, 2, bias, units * sizeof(float)));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, 3, &none, sizeof(none)));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_FULLY_CONNECTED, 4,
						    inputs, 1, outputs));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, outputs));
	assert_ok(ANeuralNetworksModel_finish(model));
	return model;
}

struct wishes {
	const char *dir;
	int32_t preference;
	int32_t priority;
	uint32_t units;			/* 0: OUT */
};

static ANeuralNetworksCompilation *compile_with(ANeuralNetworksModel *model,
						const struct wishes *wishes)
{
	const ANeuralNetworksDevice *d = device();
	ANeuralNetworksCompilation *c;

	assert_ok(ANeuralNetworksCompilation_createForDevices(model, &d, 1, &c));
	assert_ok(ANeuralNetworksCompilation_setCaching(c, wishes->dir, token));
	assert_ok(ANeuralNetworksCompilation_setPreference(c, wishes->preference));
	if (wishes->priority)
		assert_ok(ANeuralNetworksCompilation_setPriority(c, wishes->priority));
	assert_ok(ANeuralNetworksCompilation_finish(c));
	return c;
}

static void assert_right(ANeuralNetworksCompilation *c, uint32_t units)
{
	static const float in[IN] = { 1, -2, 3, 0.5f };
	ANeuralNetworksExecution *execution;
	float out[2 * OUT];

	assert_ok(ANeuralNetworksExecution_create(c, &execution));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 0, NULL, in, sizeof(in)));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out,
						     units * sizeof(float)));
	assert_ok(ANeuralNetworksExecution_compute(execution));
	ANeuralNetworksExecution_free(execution);
	for (uint32_t i = 0; i < units; i++) {
		float right = (float)i;

		for (uint32_t k = 0; k < IN; k++)
			right += in[k] * weight(i, k);
		assert_true(out[i] == right);
	}
}

/* Compiles a model with the settings `wishes`, and executes the model. */
static void run_at_once(const struct wishes *wishes)
{
	uint32_t units = wishes->units ? wishes->units : OUT;
	ANeuralNetworksModel *model = weights_model(units);
	ANeuralNetworksCompilation *c = compile_with(model, wishes);

	assert_right(c, units);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/*
 * Waits until the device may save a cache entry again, because the last compilation may have saved
 * an entry.
 */
static void pace(void)
{
	if (getenv("NN_TEST_DEVICE"))
		pace_saves(1);
}

static void run(const struct wishes *wishes)
{
	run_at_once(wishes);
	pace();
}

static const struct wishes usual = { .dir = dir, .preference = 1 };

/* ---- What is logged ---- */

static void run_logged(const struct wishes *wishes)
{
	log_begin();
	run_at_once(wishes);
	log_end();
	if (!count("prepared from the cache"))
		pace();
}

static void assert_hit(void)
{
	run_logged(&usual);
	assert_logged(1, 0);
}

/*
 * Checks that a compilation succeeds without a cache entry, and logs one warning with the reason
 * `why`.
 */
static void assert_miss(const struct wishes *wishes, const char *why)
{
	run_logged(wishes);
	if (count("prepared from the cache") || count("warn:") != 1 || !strstr(log_text, why))
		fail_msg("not a miss with \"%s\": %s", why, log_text);
}

/* ---- Files ---- */

/* Returns the NNAPI's path for a cache file of the settings `wishes`. */
static const char *path_of(const struct wishes *wishes, int file)
{
	const int32_t preference = wishes->preference;
	const int32_t priority = wishes->priority ? wishes->priority :
						    ANEURALNETWORKS_PRIORITY_DEFAULT;
	static char paths[FILES][512];
	uint8_t hash[SHA256_SIZE];
	const char *text;
	struct sha256 s;
	char *to = paths[file];

	sha256_init(&s);
	sha256_add(&s, token, sizeof(token));
	assert_ok(ANeuralNetworksDevice_getName(device(), &text));
	sha256_add(&s, text, strlen(text));
	assert_ok(ANeuralNetworksDevice_getVersion(device(), &text));
	sha256_add(&s, text, strlen(text));
	sha256_add(&s, &preference, sizeof(preference));
	sha256_add(&s, &priority, sizeof(priority));
	sha256_end(&s, hash);
	to += sprintf(to, "%s/", dir);
	for (int i = 0; i < SHA256_SIZE; i++)
		to += sprintf(to, "%c%c", 'A' + hash[i] % 16, 'A' + hash[i] / 16);
	sprintf(to, "%d0", file + 1);
	return paths[file];
}

static const char *path(int file)
{
	return path_of(&usual, file);
}

static struct stat stat_of(int file)
{
	struct stat st;

	assert_int_equal(stat(path(file), &st), 0);
	return st;
}

/* Removes all cache entries, and makes an entry with the usual settings. */
static void make_entry(void)
{
	remove_all();
	run(&usual);
	assert_int_equal(list().count, FILES);
}

static void write_at(int file, off_t at, const void *bytes, size_t size)
{
	int fd = open(path(file), O_RDWR);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, size, at), size);
	close(fd);
}

/* ---- Tests ---- */

static void test_names(void **state)
{
	(void)state;
	remove_all();
	run(&usual);
	for (int i = 0; i < FILES; i++) {
		assert_true(stat_of(i).st_size > 0);
		assert_int_equal(stat_of(i).st_mode & 07777, 0600);
	}
	assert_int_equal(list().count, FILES);
}

static void test_hit(void **state)
{
	struct stat before[FILES], after;

	(void)state;
	make_entry();
	for (int i = 0; i < FILES; i++)
		before[i] = stat_of(i);
	assert_hit();
	for (int i = 0; i < FILES; i++) {
		after = stat_of(i);
		assert_memory_equal(&after.st_mtim, &before[i].st_mtim, sizeof(after.st_mtim));
		assert_int_equal(after.st_ino, before[i].st_ino);
	}
}

static void test_first_compilation_is_silent(void **state)
{
	(void)state;
	remove_all();
	run_logged(&usual);
	assert_logged(0, 0);
}

/* Compilations that differ in a property that affects plans get different cache entries. */
static void test_keys(void **state)
{
	static const struct wishes others[] = {
		{ .dir = dir, .preference = 0 },
		{ .dir = dir, .preference = 2 },
		{ .dir = dir, .preference = 1, .priority = ANEURALNETWORKS_PRIORITY_LOW },
		{ .dir = dir, .preference = 1, .priority = ANEURALNETWORKS_PRIORITY_HIGH },
	};

	(void)state;
	make_entry();
	for (uint32_t i = 0; i < ARRAY_SIZE(others); i++) {
		run(&others[i]);
		assert_int_equal(list().count, FILES * (i + 2));
		assert_int_equal(access(path_of(&others[i], DATA_FILE), F_OK), 0);
	}
	for (int i = 0; i < TOKEN_SIZE; i += TOKEN_SIZE - 1) {
		uint32_t files = list().count;

		token[i] ^= 0x80;
		run(&usual);
		assert_int_equal(list().count, files + FILES);
		token[i] ^= 0x80;
	}
	assert_hit();
}

static void cut_model(void)
{
	assert_int_equal(truncate(path(MODEL_FILE), stat_of(MODEL_FILE).st_size - 1), 0);
}

static void cut_model_short(void)
{
	assert_int_equal(truncate(path(MODEL_FILE), 7), 0);
}

static void empty_model(void)
{
	assert_int_equal(truncate(path(MODEL_FILE), 0), 0);
}

static void lengthen_model(void)
{
	assert_int_equal(truncate(path(MODEL_FILE), stat_of(MODEL_FILE).st_size + 64), 0);
}

static void cut_data(void)
{
	assert_int_equal(truncate(path(DATA_FILE), stat_of(DATA_FILE).st_size - 1), 0);
}

static void empty_data(void)
{
	assert_int_equal(truncate(path(DATA_FILE), 0), 0);
}

static void lengthen_data(void)
{
	assert_int_equal(truncate(path(DATA_FILE), stat_of(DATA_FILE).st_size + 4096), 0);
}

static void foreign_model(void)
{
	static const char text[] = "#!/bin/sh\necho this is something else entirely\n";

	write_at(MODEL_FILE, 0, text, sizeof(text));
}

static void foreign_data(void)
{
	char zeros[4096] = { 0 };

	write_at(DATA_FILE, 0, zeros, sizeof(zeros));
}

static void remove_data(void)
{
	assert_int_equal(unlink(path(DATA_FILE)), 0);
}

/* Replaces the files of a cache entry by the files of another model's entry. */
static void other_model(void)
{
	const struct wishes other = { .dir = dir, .preference = 2, .units = 2 * OUT };
	char from[512];

	run(&other);
	for (int i = 0; i < FILES; i++) {
		strcpy(from, path_of(&other, i));
		assert_int_equal(rename(from, path(i)), 0);
	}
}

static void other_data(void)
{
	const struct wishes other = { .dir = dir, .preference = 2, .units = 2 * OUT };
	char from[512];

	run(&other);
	strcpy(from, path_of(&other, DATA_FILE));
	assert_int_equal(rename(from, path(DATA_FILE)), 0);
}

/*
 * Each test case damages a cache entry. If an entry is damaged, the library compiles the model
 * again, and replaces the damaged entry.
 */
static void test_damaged(void **state)
{
	static const struct {
		void (*damage)(void);
		const char *why;
	} cases[] = {
		{ cut_model, "" }, { cut_model_short, "" }, { empty_model, "empty" },
		{ lengthen_model, "" }, { cut_data, "" }, { empty_data, "" },
		{ lengthen_data, "" }, { foreign_model, "" }, { foreign_data, "" },
		{ other_model, "" }, { other_data, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make_entry();
		cases[i].damage();
		assert_miss(&usual, cases[i].why);
		assert_hit();
	}
}

/* If a cache entry has a complete plan of an older format, the library compiles the model again. */
static void test_older_format(void **state)
{
	const char *why = getenv("NN_TEST_DEVICE") ? "" : "not a saved plan";
	static uint8_t part[65536];
	uint64_t hash;
	ssize_t size;
	int fd;

	(void)state;
	make_entry();
	fd = open(path(MODEL_FILE), O_RDONLY);
	size = read(fd, part, sizeof(part));
	close(fd);
	/*
	 * The plan's format number follows a header of 32 bytes; the header's third word (of 8
	 * bytes) is the hash.
	 */
	assert_true(size > 32 && (size_t)size < sizeof(part));
	part[32]--;
	hash = nn_fingerprint64(part + 32, (size_t)size - 32);
	write_at(MODEL_FILE, 16, &hash, sizeof(hash));
	write_at(MODEL_FILE, 32, part + 32, 1);
	assert_miss(&usual, why);
	assert_hit();
}

/*
 * An application gives two models the same token. If both models of a token have equal arguments,
 * the second model computes the results of the first model. If the models' arguments differ, the
 * device nnapi-reference reports the mistake at the compilation, and the device nnaccel at the
 * execution.
 */
static void test_same_token(void **state)
{
	static const float in[IN];
	const struct wishes larger = { .dir = dir, .preference = 1, .units = 2 * OUT };
	ANeuralNetworksCompilation *c;
	ANeuralNetworksExecution *execution;
	ANeuralNetworksModel *model;
	float out[2 * OUT];

	(void)state;
	make_entry();
	added = 1;
	assert_hit();
	added = 0;
	if (!getenv("NN_TEST_DEVICE")) {
		assert_miss(&larger, "the entry belongs to another model");
		return;
	}
	model = weights_model(2 * OUT);
	c = compile_with(model, &larger);
	assert_ok(ANeuralNetworksExecution_create(c, &execution));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 0, NULL, in, sizeof(in)));
	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, sizeof(out)));
	assert_int_equal(ANeuralNetworksExecution_compute(execution),
			 ANEURALNETWORKS_BAD_DATA);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/* If one of the two files of a cache entry is missing, the whole entry counts as missing. */
static void test_half_missing(void **state)
{
	(void)state;
	make_entry();
	remove_data();
	run_logged(&usual);
	assert_int_equal(count("prepared from the cache"), 0);
	assert_hit();
}

/*
 * Changes bits in all regions of both files of a cache entry. The device nnapi-reference detects
 * all changes; the device nnaccel detects only changes in the model file.
 */
static void test_flipped_bits(void **state)
{
	int last = getenv("NN_TEST_DEVICE") ? MODEL_FILE : DATA_FILE;

	(void)state;
	for (int file = MODEL_FILE; file <= last; file++) {
		off_t size, step;

		make_entry();
		size = stat_of(file).st_size;
		step = size / how_often(40, 6) + 1;
		for (off_t at = 0; at < size; at += step) {
			uint8_t byte;
			int fd = open(path(file), O_RDONLY);

			assert_int_equal(pread(fd, &byte, 1, at), 1);
			close(fd);
			byte ^= 1 << at % 8;
			write_at(file, at, &byte, 1);
			assert_miss(&usual, "");
		}
		assert_hit();
	}
}

static void test_bad_folders(void **state)
{
	struct wishes wishes = usual;
	char file[512];

	(void)state;
	make_entry();
	snprintf(file, sizeof(file), "%s/nowhere", dir);
	wishes.dir = file;
	assert_miss(&wishes, "No such file");
	wishes.dir = path(MODEL_FILE);
	assert_miss(&wishes, "Not a directory");
	/* Even root cannot make files in /proc/self. */
	wishes.dir = "/proc/self";
	run_logged(&wishes);
	assert_int_equal(count("warn:"), 1);
	assert_hit();
}

/*
 * Tests a cache entry if the path of a cache file is a folder, or another file that is not regular.
 */
static void test_no_files(void **state)
{
	(void)state;
	make_entry();
	assert_int_equal(unlink(path(MODEL_FILE)), 0);
	assert_int_equal(mkdir(path(MODEL_FILE), 0700), 0);
	assert_miss(&usual, "Is a directory");
	remove_all();
	assert_int_equal(mkfifo(path(MODEL_FILE), 0600), 0);
	assert_miss(&usual, "not a regular file");
	remove_all();
	assert_int_equal(symlink("/dev/full", path(MODEL_FILE)), 0);
	assert_miss(&usual, "not a regular file");
	remove_all();
}

/* Tests the cache on a full file system, if the process may mount a file system. */
static void test_full_disk(void **state)
{
	char fill[65536] = { 1 }, name[512];
	int fd;

	(void)state;
	remove_all();
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, "size=64k")) {
		print_message("not allowed to mount: %s\n", strerror(errno));
		skip();
	}
	snprintf(name, sizeof(name), "%s/fill", dir);
	fd = open(name, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	while (write(fd, fill, 4096) == 4096)
		;
	assert_miss(&usual, "No space left");
	assert_int_equal(stat_of(MODEL_FILE).st_size, 0);
	close(fd);
	assert_int_equal(unlink(name), 0);
	run(&usual);
	assert_hit();
	/* A worker may still have a file of the mounted file system open. */
	assert_int_equal(umount2(dir, MNT_DETACH), 0);
}

/* ---- Several processes ---- */

/*
 * The following functions run in child processes, which select a function by name; each child opens
 * its own device.
 */
static void child_run(void)
{
	run(&usual);
}

static void child_hit(void)
{
	assert_hit();
}

/*
 * A limit on file sizes stops the library in the middle of the data file or, if the limit is small,
 * of the model file.
 */
static void child_no_room(void)
{
	const struct rlimit room = { strtoul(getenv("NN_TEST_ROOM"), NULL, 10), RLIM_INFINITY };
	ANeuralNetworksModel *model = weights_model(OUT);
	ANeuralNetworksCompilation *c;
	int null = open("/dev/null", O_RDWR);

	signal(SIGXFSZ, SIG_IGN);
	/* Discard the test's own output, which may be a file that reaches the limit. */
	assert_true(dup2(null, STDOUT_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &room), 0);
	c = compile_with(model, &usual);
	assert_right(c, OUT);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/* Repeatedly makes and uses a cache entry, and sometimes removes one of the entry's files. */
static void child_busy(void)
{
	for (int i = 0; i < how_often(12, 4); i++) {
		run(&usual);
		if (i % 3 == 0)
			unlink(path(i % 2));
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} children[] = {
	{ "run", child_run }, { "hit", child_hit }, { "no-room", child_no_room },
	{ "busy", child_busy },
};

/*
 * Starts the test program as a child that runs the function `name`, and aborts if the function
 * fails.
 */
static pid_t start_child(const char *name)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	execl("/proc/self/exe", "runtime_caching_test", name, dir, NULL);
	_exit(127);
}

static void end_child(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void in_child(const char *name)
{
	end_child(start_child(name));
}

static void test_no_room(void **state)
{
	(void)state;
	/*
	 * Skip the test with NN_TEST_DEVICE, because files of the library that are no cache files
	 * would exceed the limit.
	 */
	if (getenv("NN_TEST_DEVICE"))
		skip();
	for (int room = 100; room < 5000; room += 1000) {
		char text[16];

		remove_all();
		snprintf(text, sizeof(text), "%d", room);
		setenv("NN_TEST_ROOM", text, 1);
		in_child("no-room");
		/* The model file must be either empty or complete. */
		if (stat_of(MODEL_FILE).st_size)
			assert_hit();
	}
}

/* A process uses the entry that another process saved. */
static void test_other_process(void **state)
{
	(void)state;
	remove_all();
	in_child("run");
	in_child("hit");
}

/* If another process is still writing the cache files, the library compiles the model. */
static void test_locked(void **state)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd;

	(void)state;
	make_entry();
	fd = open(path(MODEL_FILE), O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	assert_miss(&usual, "in use");
	close(fd);
	assert_hit();
}

/* Several processes repeatedly remove, make and use one cache entry, and must get right results. */
static void test_processes_at_a_time(void **state)
{
	const int count = how_often(4, 2);
	pid_t pids[4];

	(void)state;
	remove_all();
	for (int i = 0; i < count; i++)
		pids[i] = start_child("busy");
	for (int i = 0; i < count; i++)
		end_child(pids[i]);
	run(&usual);
	assert_hit();
}

/* Another process repeatedly writes to the cache files, and ignores their locks. */
static void test_scribbler(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	/*
	 * The device nnaccel maps cache files, so its results may change while the other process
	 * writes.
	 */
	if (getenv("NN_TEST_DEVICE"))
		skip();
	make_entry();
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		for (uint32_t x = 1;;) {
			int fd = open(path(x % 2), O_RDWR);
			struct stat st;

			x = x * 1664525 + 1013904223;
			if (fd >= 0 && !fstat(fd, &st) && st.st_size &&
			    pwrite(fd, &x, 1, x % st.st_size) == 1 && x % 64 == 0 &&
			    ftruncate(fd, x % st.st_size))
				_exit(1);
			close(fd);
		}
	}
	for (int i = 0; i < 40; i++)
		run(&usual);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	run(&usual);
	assert_hit();
}

/* The library can replace a damaged model file while another compilation uses the data file. */
static void test_in_use_damaged(void **state)
{
	ANeuralNetworksModel *model = weights_model(OUT);
	ANeuralNetworksCompilation *c;

	(void)state;
	make_entry();
	c = compile_with(model, &usual);
	empty_model();
	assert_miss(&usual, "empty");
	assert_hit();
	assert_right(c, OUT);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

/*
 * Several processes, and several compilations of one process, can use a cache entry at the same
 * time.
 */
static void test_in_use(void **state)
{
	ANeuralNetworksModel *model = weights_model(OUT);
	ANeuralNetworksCompilation *c;

	(void)state;
	make_entry();
	c = compile_with(model, &usual);
	assert_hit();
	in_child("hit");
	assert_right(c, OUT);
	/* Removing cache files does not affect compilations that already use the files. */
	remove_all();
	assert_right(c, OUT);
	ANeuralNetworksCompilation_free(c);
	ANeuralNetworksModel_free(model);
}

static int be_child(const char *name, const char *folder)
{
	memcpy(dir, folder, sizeof(dir));
	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		if (strcmp(name, children[i].name))
			continue;
		children[i].run();
		return 0;
	}
	return 2;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_hit),
		cmocka_unit_test(test_first_compilation_is_silent),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_older_format),
		cmocka_unit_test(test_same_token),
		cmocka_unit_test(test_half_missing),
		cmocka_unit_test(test_flipped_bits),
		cmocka_unit_test(test_bad_folders),
		cmocka_unit_test(test_no_files),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_other_process),
		cmocka_unit_test(test_locked),
		cmocka_unit_test(test_processes_at_a_time),
		cmocka_unit_test(test_scribbler),
		cmocka_unit_test(test_in_use),
		cmocka_unit_test(test_in_use_damaged),
	};

	cache_fixture_init();
	pace();
	if (argc == 3 && strlen(argv[2]) == sizeof(dir) - 1)
		return be_child(argv[1], argv[2]);
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
