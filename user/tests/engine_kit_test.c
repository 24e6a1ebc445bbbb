/* SPDX-License-Identifier: MIT */
/*
 * Tests parts of the engine kit that need no kernel or only a few ioctls: checks of an engine,
 * options, extensions, packed models, and contexts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/sized.h"
#include "engine/worker/engine.h"
#include "kit/api/device.h"
#include "kit/api/engine.h"
#include "kit/api/files.h"
#include "kit/api/log.h"
#include "kit/api/running.h"
#include "kit/broker/contexts.h"
#include "kit/broker/node.h"
#include "kit/broker/spawn.h"
#include "kit/worker/worker.h"
#include "tests/model_builder.h"
#include "tests/heap_blocks.h"
#include "tests/open_files.h"

#define OP_ADD 0

/* ---- the kernel ---- */

static struct {
	int error;			/* errno of the next ioctl(); 0 for success */
	unsigned long request;		/* the last request */
	union {
		struct nnaccel_engine_register registered;
		struct nnaccel_engine_next next;
		struct nnaccel_engine_session session;
		struct nnaccel_engine_opener opener;
		struct nnaccel_engine_refuse refuse;
	} in, out;			/* argument and result of the last ioctl() */
	unsigned int count;
} kernel;

static size_t size_of(unsigned long request)
{
	switch (request) {
	case NNACCEL_ENGINE_REGISTER: return sizeof(kernel.in.registered);
	case NNACCEL_ENGINE_NEXT: return sizeof(kernel.in.next);
	case NNACCEL_ENGINE_SESSION: return sizeof(kernel.in.session);
	case NNACCEL_ENGINE_OPENER: return sizeof(kernel.in.opener);
	case NNACCEL_ENGINE_REFUSE: return sizeof(kernel.in.refuse);
	}
	return 0;
}

int ioctl(int file, unsigned long request, ...)
{
	size_t size = size_of(request);
	va_list args;
	void *arg;

	(void)file;
	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	kernel.request = request;
	kernel.count++;
	memcpy(&kernel.in, arg, size);
	/* The first field of each ioctl's argument is the size of the argument. */
	assert_int_equal(*(uint32_t *)arg, size);
	errno = kernel.error;
	if (!kernel.error && request != NNACCEL_ENGINE_REGISTER)
		memcpy(arg, &kernel.out, size);
	return kernel.error ? -1 : 0;
}

/* ---- the log ---- */

static char logged[4096];

static void take_line(void *data, enum log_level level, const char *line)
{
	size_t used = strlen(logged);

	(void)data;
	snprintf(logged + used, sizeof(logged) - used, "%d %s\n", (int)level, line);
}

static int set_up(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	logged[0] = '\0';
	log_set_sink(take_line, NULL);
	log_set_level(LOG_INFO);
	return 0;
}

/* ---- an engine ---- */

/*
 * Offsets of functions that every engine must have, and of functions that only some engines must
 * have.
 */
static const size_t needed[] = {
	offsetof(struct nna_engine, describe), offsetof(struct nna_engine, supported),
	offsetof(struct nna_engine, prepare), offsetof(struct nna_engine, release),
	offsetof(struct nna_engine, execute), offsetof(struct nna_engine, save),
	offsetof(struct nna_engine, end_save), offsetof(struct nna_engine, load),
	offsetof(struct nna_engine, signature), offsetof(struct nna_engine, name),
}, of_bursts[] = {
	offsetof(struct nna_engine_burst, create), offsetof(struct nna_engine_burst, destroy),
	offsetof(struct nna_engine_burst, add), offsetof(struct nna_engine_burst, is_cached),
	offsetof(struct nna_engine_burst, remove), offsetof(struct nna_engine_burst, execute),
}, of_buffers[] = {
	offsetof(struct nna_engine_buffers, create), offsetof(struct nna_engine_buffers, destroy),
	offsetof(struct nna_engine_buffers, copy_in), offsetof(struct nna_engine_buffers, copy_out),
};

/*
 * Checks that an engine is rejected if any of the pointers at the offsets `at` in the structure
 * `part` is NULL.
 */
static void check_needed(const struct nna_engine *e, void *part, const size_t *at, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		void **pointer = (void **)((char *)part + at[i]), *old = *pointer;

		assert_null(engine_fault(e));
		*pointer = NULL;
		assert_non_null(engine_fault(e));
		*pointer = old;
	}
}

#define CHECK_NEEDED(e, part, at) check_needed(e, part, at, sizeof(at) / sizeof((at)[0]))

/* Placeholder for all engine functions that the test does not call. */
static void any_function(void)
{
}

static void fill(void *part, const size_t *at, size_t count)
{
	void (*function)(void) = any_function;

	for (size_t i = 0; i < count; i++)
		memcpy((char *)part + at[i], &function, sizeof(function));
}

static void test_fault(void **state)
{
	struct nna_engine_burst burst = { .size = sizeof(burst) };
	struct nna_engine_buffers buffers = { .size = sizeof(buffers) };
	struct nna_engine e = cpu_engine;
	const char *names[18];
	char identity[160];

	(void)state;
	for (int i = 0; i < 17; i++)
		names[i] = "NAME";
	names[17] = NULL;
	assert_null(engine_fault(&e));
	e.size = SIZE_WITH(struct nna_engine, data_cache_files);
	assert_null(engine_fault(&e));
	e.size--;
	assert_non_null(engine_fault(&e));
	e = cpu_engine;
	e.clients = NNA_ENGINE_CLIENTS_THREADS;
	assert_null(engine_fault(&e));
	e.clients = NNA_ENGINE_CLIENTS_THREADS + 1;
	assert_non_null(engine_fault(&e));
	e = cpu_engine;
	e.name = "";
	assert_non_null(engine_fault(&e));
	e = cpu_engine;
	e.model_cache_files = e.data_cache_files = 32;
	assert_null(engine_fault(&e));
	e.store_identity = "x";
	assert_null(engine_fault(&e));
	for (int i = 0; i < 3; i++) {
		/*
		 * The identity of the store has a valid length of 128 characters, and invalid
		 * lengths of 0 and 129 characters.
		 */
		snprintf(identity, sizeof(identity), "%0*d", i == 1 ? 1 : 128 + i / 2, 0);
		if (i == 1)
			identity[0] = '\0';
		e.store_identity = identity;
		if (i)
			assert_string_equal(engine_fault(&e), "the identity of its store has no "
					    "characters, or more than 128");
		else
			assert_null(engine_fault(&e));
	}
	e.store_identity = NULL;
	e.permissions = NNA_ENGINE_MAY_MAKE_THREADS | NNA_ENGINE_MAY_MAKE_CODE |
			NNA_ENGINE_MAY_USE_DRIVERS | NNA_ENGINE_MAY_GROW_FILES;
	assert_null(engine_fault(&e));
	e.permissions = NNA_ENGINE_MAY_GROW_FILES << 1;
	assert_string_equal(engine_fault(&e), "it asks for an unknown permission");
	e.permissions = 0;
	e.environment = names + 1;
	assert_null(engine_fault(&e));
	e.environment = names;
	assert_string_equal(engine_fault(&e),
			    "it has more than 16 environment variables for clients' processes");
	e.environment = NULL;
	e.takes_fences = true;
	assert_string_equal(engine_fault(&e), "it takes fences, but not only devices access the memory");
	e.only_devices = true;
	assert_null(engine_fault(&e));
	e.data_cache_files = 33;
	assert_string_equal(engine_fault(&e), "it has more than 32 cache files of a kind");
	e.model_cache_files = 33;
	e.data_cache_files = 0;
	assert_string_equal(engine_fault(&e), "it has more than 32 cache files of a kind");
	e = cpu_engine;
	fill(&burst, of_bursts, sizeof(of_bursts) / sizeof(of_bursts[0]));
	fill(&buffers, of_buffers, sizeof(of_buffers) / sizeof(of_buffers[0]));
	e.burst = &burst;
	e.buffers = &buffers;
	CHECK_NEEDED(&e, &e, needed);
	CHECK_NEEDED(&e, &burst, of_bursts);
	CHECK_NEEDED(&e, &buffers, of_buffers);
	burst.size--;
	assert_non_null(engine_fault(&e));
	burst.size++;
	buffers.size--;
	assert_non_null(engine_fault(&e));
	/* An engine that cannot save models needs no functions for saving and loading models. */
	e = cpu_engine;
	e.save = NULL;
	e.end_save = NULL;
	e.load = NULL;
	e.signature = NULL;
	assert_null(engine_fault(&e));
}

static void test_files(void **state)
{
	const uint32_t requests[] = { 1 };
	const struct nna_engine_file good = {
		.size = sizeof(good), .path = "/dev/null", .requests = requests, .num_requests = 1,
		.use = NNA_ENGINE_FILE_READ | NNA_ENGINE_FILE_WRITE | NNA_ENGINE_FILE_POLL,
	};
	struct nna_engine_file file = good;
	const struct nna_engine_file *files[FILES_MAX + 2] = { &file, NULL };
	struct nna_engine e = cpu_engine;

	(void)state;
	assert_int_equal(nna_engine_file_at(0), -1);
	assert_int_equal(files_count(&e), 0);
	e.files = files;
	assert_null(engine_fault(&e));
	assert_int_equal(files_count(&e), 1);
	file.use = NNA_ENGINE_FILE_POLL << 1;
	assert_non_null(engine_fault(&e));
	file = good;
	file.requests = NULL;
	assert_non_null(engine_fault(&e));
	file = good;
	file.path = NULL;
	assert_non_null(engine_fault(&e));
	file = good;
	file.size = offsetof(struct nna_engine_file, num_requests) + 3;
	assert_non_null(engine_fault(&e));
	file = good;
	for (int i = 0; i < FILES_MAX; i++)
		files[i] = &good;
	assert_null(engine_fault(&e));
	files[FILES_MAX] = &good;
	assert_non_null(engine_fault(&e));
	/* The second file of the engine is missing, but the first file exists. */
	files[1] = &file;
	files[2] = NULL;
	file.path = "/dev/none such";
	assert_false(files_open(&e));
	assert_string_equal(logged, "0 /dev/none such: No such file or directory\n");
	assert_true(nna_engine_file_at(0) >= WORKER_ENGINE_FD);
	assert_int_equal(nna_engine_file_at(1), -1);
	assert_int_equal(write(nna_engine_file_at(0), "x", 1), 1);
	close(nna_engine_file_at(0));
	/* The engine cannot write to a file that the engine declares as read-only. */
	file = good;
	file.use = NNA_ENGINE_FILE_READ;
	files[0] = &file;
	files[1] = NULL;
	assert_true(files_open(&e));
	assert_int_equal(write(nna_engine_file_at(0), "x", 1), -1);
	close(nna_engine_file_at(0));
}

/* ---- its options ---- */

static enum nna_engine_plugin no_plugin(const struct nna_engine *engine, const char *path,
					struct nn_error *err)
{
	(void)engine;
	(void)path;
	(void)err;
	return NNA_ENGINE_PLUGIN_REFUSED;
}

/* The engine node is /dev/null, on which the kernel refuses to register an engine. */
#define ON_NULL "--device=/dev/null"
#define NO_NODE "0 /dev/null: engine kit: Inappropriate ioctl for device (it is not an engine " \
	"node, as /dev/nnaccel-engine is)\n"

static const struct {
	uint32_t clients;
	bool has_plugins;
	const char *args[3];
	int error;			/* errno of the simulated ioctl() */
	int exit_code;
	const char *logged;
} runs[] = {
	{ 0, false, { ON_NULL }, ENOTTY, 1, NO_NODE },
	{ 0, false, { ON_NULL }, EBUSY, 1,
	  "0 /dev/null: engine kit: Device or resource busy (is it running already?)\n" },
	{ 0, false, { ON_NULL }, ENOSPC, 1, "0 /dev/null: engine kit: No space left on device "
	  "(the module's limit max_devices is reached)\n" },
	{ 0, false, { ON_NULL }, EPERM, 1, "0 /dev/null: engine kit: Operation not permitted\n" },
	{ 0, false, { "--device=/none" }, 0, 1, "0 /none: No such file or directory\n" },
	{ 0, false, { "more" }, 0, 2, "0 unknown argument 'more'; see --help\n" },
	{ 0, false, { "--none" }, 0, 2, "0 wrong option --none; see --help\n" },
	{ 0, false, { ON_NULL, "--clients=threads" }, ENOTTY, 1, NO_NODE },
	{ 0, false, { ON_NULL, "--clients=processes" }, ENOTTY, 1, NO_NODE },
	{ 0, false, { "--clients=both" }, 0, 2, "--clients" },
	{ 1, false, { ON_NULL, "--clients=processes" }, ENOTTY, 1, NO_NODE },
	{ 1, false, { "--clients=threads" }, 0, 2,
	  "0 --clients=threads: this engine serves by processes only; see --help\n" },
	{ 2, false, { ON_NULL, "--clients=threads" }, ENOTTY, 1, NO_NODE },
	{ 2, false, { "--clients=processes" }, 0, 2,
	  "0 --clients=processes: this engine serves by threads only; see --help\n" },
	{ 0, false, { "--extensions=/x" }, 0, 2,
	  "0 --extensions: this engine does not load plug-ins; see --help\n" },
	{ 0, true, { "--extensions=" }, 0, 2, "--extensions" },
	{ 0, true, { ON_NULL, "--extensions=/x" }, ENOTTY, 1, NO_NODE },
	{ 0, true, { "--clients=threads", "--extensions=/x" }, 0, 2,
	  "0 --extensions: plug-ins are for --clients=processes; see --help\n" },
	{ 0, false, { "--max-clients=0" }, 0, 2, "--max-clients" },
	{ 0, false, { ON_NULL, "--max-clients=1" }, ENOTTY, 1, NO_NODE },
	{ 0, false, { ON_NULL, "--max-clients=4096" }, ENOTTY, 1, NO_NODE },
	{ 0, false, { "--max-clients=4097" }, 0, 2, "--max-clients" },
	{ 0, false, { "--max-clients-per-user=0" }, 0, 2, "--max-clients-per-user" },
	{ 0, false, { ON_NULL, "--idle=64" }, ENOTTY, 1, NO_NODE },
	{ 0, false, { "--idle=65" }, 0, 2, "--idle" },
	{ 0, false, { "--log-level=loud" }, 0, 2, "--log-level" },
	{ 0, false, { ON_NULL, "--name=a-name-of-thirty-one-characters" }, ENOTTY, 1,
	  "0 /dev/null: engine a-name-of-thirty-one-characters: " },
	{ 0, false, { ON_NULL, "--name=a-name-of-thirty-two-characters!" }, ENOTTY, 1,
	  "0 the engine's name is too long\n" },
};

static int run_engine(const struct nna_engine *e, const char *const *args)
{
	char *argv[5] = { (char *)"kit" };
	int argc = 1;

	while (args[argc - 1]) {
		argv[argc] = (char *)args[argc - 1];
		argc++;
	}
	return nna_engine_main(e, argc, argv);
}

static void test_options(void **state)
{
	static const struct nna_engine_file file = {
		.size = sizeof(file), .path = "/dev/null", .use = NNA_ENGINE_FILE_READ,
	};
	static const struct nna_engine_file *const files[] = { &file, NULL };
	struct nna_engine e = cpu_engine;
	const int open_files = count_files();

	(void)state;
	e.name = "kit";
	e.help = NULL;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		logged[0] = '\0';
		e.clients = runs[i].clients;
		e.load_plugin = runs[i].has_plugins ? no_plugin : NULL;
		kernel.error = runs[i].error;
		if (run_engine(&e, (const char *[]){ runs[i].args[0], runs[i].args[1], NULL }) !=
		    runs[i].exit_code || !strstr(logged, runs[i].logged))
			fail_msg("%s: %s", runs[i].args[0], logged);
		if (count_files() != open_files)
			fail_msg("%s: %d files are open, not %d", runs[i].args[0], count_files(),
				 open_files);
	}
	/*
	 * If the workers are processes, the log shows the permissions of the workers. Workers that
	 * are threads have no restrictions, so the log shows no permissions.
	 */
	e.clients = NNA_ENGINE_CLIENTS_EITHER;
	e.load_plugin = NULL;
	e.permissions = NNA_ENGINE_MAY_MAKE_THREADS | NNA_ENGINE_MAY_MAKE_CODE |
			NNA_ENGINE_MAY_USE_DRIVERS | NNA_ENGINE_MAY_GROW_FILES;
	e.files = files;
	for (int threads = 0; threads < 2; threads++) {
		logged[0] = '\0';
		run_engine(&e, (const char *[]){ "--device=/none",
			   threads ? "--clients=threads" : NULL, NULL });
		assert_int_equal(!strstr(logged, "processes may make threads\n"), threads);
		assert_int_equal(!strstr(logged, "processes may make memory executable\n"),
				 threads);
		assert_int_equal(!strstr(logged, "processes may use dma-bufs and fences of drivers\n"),
				 threads);
		assert_int_equal(!strstr(logged, "processes may grow files in memory\n"), threads);
		assert_int_equal(!strstr(logged, "processes may use /dev/null\n"), threads);
	}
	e.execute = NULL;
	assert_int_equal(run_engine(&e, (const char *[]){ ON_NULL, NULL }), 1);
	assert_non_null(strstr(logged, "0 the engine: it lacks describe, supported"));
}

/* An engine gets a keeper only if the engine saves models or has its own store. */
static void test_keeper(void **state)
{
	struct nna_engine e = cpu_engine;

	(void)state;
	e.name = "kit";
	e.start = NULL;
	for (int i = 0; i < 4; i++) {
		logged[0] = '\0';
		e.save = i & 1 ? cpu_engine.save : NULL;
		e.end_save = i & 1 ? cpu_engine.end_save : NULL;
		e.load = i & 1 ? cpu_engine.load : NULL;
		e.signature = i & 1 ? cpu_engine.signature : NULL;
		e.store_identity = i & 2 ? "library 1" : NULL;
		run_engine(&e, (const char *[]){ "--device=/none", "--clients=threads",
						 "--state=/none/state", NULL });
		assert_int_equal(!strstr(logged, "no compilation cache: "), !i);
	}
}

static void test_help(void **state)
{
	int output = memfd_create("output", MFD_CLOEXEC), stdout_copy = dup(STDOUT_FILENO);
	static char text[16384];
	struct nna_engine e = cpu_engine;

	(void)state;
	e.name = "kit";
	e.help = "  --more  of the engine\n";
	fflush(stdout);
	dup2(output, STDOUT_FILENO);
	assert_int_equal(run_engine(&e, (const char *[]){ "--help", NULL }), 0);
	dup2(stdout_copy, STDOUT_FILENO);
	assert_true(pread(output, text, sizeof(text) - 1, 0) > 0);
	assert_non_null(strstr(text, "usage: kit [OPTION]..."));
	assert_non_null(strstr(text, "--max-clients N"));
	assert_non_null(strstr(text, e.help));
	close(output);
	close(stdout_copy);
}

static void describe_version(const struct nna_engine *engine, struct nn_device_info *info)
{
	(void)engine;
	memset(info->version, 'v', sizeof(info->version));
}

static void describe_type(const struct nna_engine *engine, struct nn_device_info *info)
{
	(void)engine;
	info->type = NN_DEVICE_GPU;
	strcpy(info->version, "7");
}

static char lines[4096];

static void engine_log(const struct nna_engine *engine, enum nna_engine_level level,
		       const char *line)
{
	size_t used = strlen(lines);

	assert_string_equal(engine->name, "kit");
	snprintf(lines + used, sizeof(lines) - used, "%d %s\n", (int)level, line);
}

/*
 * The engine registers with the description from describe(), and serves clients until a signal ends
 * the engine.
 */
static void test_registers(void **state)
{
	char device[64];
	const char *const args[] = { device, "--clients=threads", "--log-level=debug", NULL };
	const struct nnaccel_engine_register *registered = &kernel.in.registered;
	char version[NNACCEL_MAX_VERSION];
	struct nna_engine e = cpu_engine;
	sigset_t ends, old;

	(void)state;
	e.name = "kit";
	e.start = NULL;
	e.extensions = NULL;
	e.log = engine_log;
	/* The engine node is a named pipe, which epoll can watch. */
	snprintf(device, sizeof(device), "--device=/tmp/engine-kit-%d", (int)getpid());
	assert_int_equal(mkfifo(strchr(device, '/'), 0600), 0);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &old);
	for (int i = 0; i < 2; i++) {
		lines[0] = '\0';
		e.describe = i ? describe_type : describe_version;
		kernel.error = i ? 0 : EPERM;
		kill(getpid(), SIGTERM);
		assert_int_equal(run_engine(&e, args), i ? 0 : 1);
		sigtimedwait(&ends, NULL, &(struct timespec){ 0 });
		if (i) {
			assert_non_null(strstr(lines, "2 engine kit is device "));
			assert_non_null(strstr(lines, "2 ready\n"));
			continue;
		}
		assert_int_equal(kernel.request, NNACCEL_ENGINE_REGISTER);
		assert_string_equal(registered->name, "kit");
		assert_int_equal(registered->type, 0);
		memset(version, 'v', sizeof(version));
		version[sizeof(version) - 1] = '\0';
		assert_memory_equal(registered->version, version, sizeof(version));
	}
	unlink(strchr(device, '/'));
	nna_engine_log(NNA_ENGINE_DEBUG, "%s %d", "number", 5);
	assert_non_null(strstr(lines, "3 number 5\n"));
	/*
	 * The broker ignores SIGPIPE, so the broker continues if the reader of the log has ended.
	 */
	assert_ptr_equal(signal(SIGPIPE, SIG_DFL), SIG_IGN);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* The function node_open() registers the device with the given type, version and hardware. */
static void test_node(void **state)
{
	const struct nnaccel_engine_register *registered = &kernel.in.registered;
	const struct nna_engine_hardware hardware = { "pci", "0000:01:00.0" };
	int node = node_open("/dev/null", "one", "7", NN_DEVICE_GPU, NNACCEL_ENGINE_DEVICE_POOLS,
			     &hardware);

	(void)state;
	assert_true(node >= 0);
	assert_string_equal(registered->bus, "pci");
	assert_string_equal(registered->hardware, "0000:01:00.0");
	assert_int_equal(registered->type, NN_DEVICE_GPU);
	assert_int_equal(registered->flags, NNACCEL_ENGINE_DEVICE_POOLS);
	assert_string_equal(registered->version, "7");
	assert_string_equal(registered->name, "one");
	assert_string_equal(logged, "2 engine one is device 0\n");
	close(node);
}

/* ---- contexts ---- */

static void test_contexts(void **state)
{
	struct nnaccel_engine_next next;
	uint32_t pid = 1;

	(void)state;
	kernel.out.next.out_context = 5;
	assert_int_equal(context_next(0, "node", &next), 1);
	assert_int_equal(next.out_context, 5);
	assert_int_equal(kernel.in.next.flags, NNACCEL_ENGINE_NONBLOCK);
	kernel.error = EAGAIN;
	assert_int_equal(context_next(0, "node", &next), 0);
	kernel.error = EINTR;
	assert_int_equal(context_next(0, "node", &next), 0);
	assert_string_equal(logged, "");
	kernel.error = ENODEV;
	assert_int_equal(context_next(0, "node", &next), -1);
	assert_string_equal(logged, "0 node: No such device (the hardware lost its driver or was "
				    "removed)\n");

	logged[0] = '\0';
	kernel.error = ENOENT;
	assert_int_equal(context_session(0, 7), -1);
	assert_string_equal(logged, "");
	kernel.error = EMFILE;
	assert_int_equal(context_session(0, 7), -1);
	assert_string_equal(logged, "0 context 7: cannot open its session: Too many open files\n");
	kernel.error = 0;
	kernel.out.session.out_fd = 33;
	assert_int_equal(context_session(0, 7), 33);
	assert_int_equal(kernel.in.session.context, 7);
	assert_int_equal(kernel.in.session.flags, NNACCEL_SESSION_CLOEXEC);

	memset(&kernel.out, 0, sizeof(kernel.out));
	kernel.out.opener.out_pid = 99;
	assert_false(context_opener(0, 8, &pid));
	kernel.out.opener.out_lives = 1;
	kernel.error = ENOTTY;
	assert_false(context_opener(0, 8, &pid));
	assert_int_equal(pid, 1);
	kernel.error = 0;
	assert_true(context_opener(0, 8, &pid));
	assert_int_equal(kernel.in.opener.context, 8);
	assert_int_equal(pid, 99);
}

/*
 * The broker refuses a waiting context at the time `refuse_at_ns` of the context. The log names the
 * refused context, unless the log named another refused context of the same user shortly before.
 */
static void test_refusals(void **state)
{
	struct waiter waiter = { .context = 1, .uid = 6, .pid = 44, .error = EUSERS };
	struct waiting waiting = { NULL };
	struct limits limits;

	(void)state;
	assert_true(limits_init(&limits, 8, 8, 8));
	assert_true(waiting_add(&waiting, &waiter));
	assert_true(contexts_refuse(0, &waiting, &limits) == UINT64_MAX);
	assert_null(waiting.first);
	assert_int_equal(kernel.count, 1);
	assert_int_equal(kernel.in.refuse.context, 1);
	assert_int_equal(kernel.in.refuse.error, EUSERS);
	assert_string_equal(logged,
			    "2 context 1 of process 44, uid 6: refused: too many workers\n");
	/*
	 * The broker refuses two more contexts of user 6, which have already ended (ENOENT). The
	 * log names neither context.
	 */
	logged[0] = '\0';
	kernel.error = ENOENT;
	for (waiter.context = 2; waiter.context < 4; waiter.context++)
		assert_true(waiting_add(&waiting, &waiter));
	contexts_refuse(0, &waiting, &limits);
	assert_int_equal(kernel.count, 3);
	assert_string_equal(logged, "");
	/*
	 * The broker refuses a context of a second user because no worker is free, but the broker's
	 * ioctl() fails.
	 */
	kernel.error = EIO;
	waiter = (struct waiter){ .context = 4, .uid = 7, .error = EAGAIN };
	assert_true(waiting_add(&waiting, &waiter));
	contexts_refuse(0, &waiting, &limits);
	assert_string_equal(logged, "2 context 4 of process 0, uid 7: refused: no worker for now\n"
			    "0 context 4: cannot be refused: Input/output error\n");
	kernel.error = 0;
	logged[0] = '\0';
	waiter = (struct waiter){ .context = 5, .uid = 8, .error = EAGAIN, .reason = "because" };
	assert_true(waiting_add(&waiting, &waiter));
	contexts_refuse(0, &waiting, &limits);
	assert_string_equal(logged, "2 context 5 of process 0, uid 8: refused: because\n");
	/*
	 * The next log line about user 6 reports the number of contexts of user 6 that the log did
	 * not name.
	 */
	logged[0] = '\0';
	limits.users[0].logged_ns -= LIMITS_LOG_NS;
	waiter = (struct waiter){ .context = 6, .uid = 6, .error = EUSERS };
	assert_true(waiting_add(&waiting, &waiter));
	contexts_refuse(0, &waiting, &limits);
	assert_string_equal(logged, "2 context 6 of process 0, uid 6: refused: too many workers; "
			    "so were 2 since the last such line\n");
	/* A context is not refused before the time refuse_at_ns of the context. */
	waiter = (struct waiter){ .context = 7, .uid = 6, .error = EUSERS,
				  .refuse_at_ns = UINT64_MAX - 1 };
	assert_true(waiting_add(&waiting, &waiter));
	assert_true(contexts_refuse(0, &waiting, &limits) == UINT64_MAX - 1);
	assert_non_null(waiting.first);
	waiting_clear(&waiting);
	limits_free(&limits);
}

/* ---- processes ---- */

/*
 * Each option of the engine reaches the worker process; unknown options and invalid values are
 * rejected.
 */
static void test_worker_options(void **state)
{
	static const struct worker_options cases[] = {
		{ .isolation = ISOLATE_ROOT }, { .isolation = ISOLATE_NONE },
		{ .log_level = LOG_DEBUG }, { .uid = 4294967294U }, { .gid = 4294967293U },
		{ .max_memory = UINT64_MAX - 1 }, { .device_memory = UINT64_MAX - 2 }, { .lazy = true },
		{ .cache_all = true }, { .cache = true }, { .plugins = "/a folder" },
		{ .probe = true }, { .plugin_s = 1000000 },
		{ ISOLATE_NONE, LOG_DEBUG, UINT32_MAX, UINT32_MAX, UINT64_MAX, UINT64_MAX,
		  true, true, true, "--lazy", true, UINT32_MAX },
	};
	static const char *const refused[] = {
		"--help", "--isolation=3", "--log-level=4", "--uid=4294967296", "--lazy=1", "--cache=0",
		"--max-memory=", "--plugin-time=-1", "--plugins=",
	};
	char text[WORKER_TEXT], fault[OPTION_FAULT];
	struct worker_options o;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *argv[WORKER_WORDS + 1] = { (char *)"worker" };
		int count = option_write(worker_rows, &cases[i], text, sizeof(text), argv + 1);

		o = (struct worker_options){ .plugins = NULL };
		assert_int_equal(option_read(worker_rows, count + 1, argv, &o, fault), count + 1);
		assert_true(o.isolation == cases[i].isolation &&
			    o.log_level == cases[i].log_level && o.uid == cases[i].uid &&
			    o.gid == cases[i].gid && o.max_memory == cases[i].max_memory &&
			    o.device_memory == cases[i].device_memory);
		assert_true(o.lazy == cases[i].lazy && o.cache_all == cases[i].cache_all &&
			    o.cache == cases[i].cache && o.probe == cases[i].probe &&
			    o.plugin_s == cases[i].plugin_s);
		assert_string_equal(o.plugins ? o.plugins : "none",
				    cases[i].plugins ? cases[i].plugins : "none");
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		char *argv[] = { (char *)"worker", (char *)refused[i], NULL };

		assert_int_equal(option_read(worker_rows, 2, argv, &o, fault), -1);
	}
}

/*
 * The engine raises the soft limit of open files to the number that max_workers workers need, but
 * not beyond the hard limit.
 */
static void test_raised_files(void **state)
{
	static const struct {
		rlim_t now, most;
		unsigned int workers;
		rlim_t raised;
		bool warns;
	} cases[] = {
		{ 50, 200, 10, 94, false }, { 94, 200, 10, 94, false },
		{ 150, 200, 10, 150, false }, { 50, 200, 45, 199, false },
		{ 50, 200, 46, 200, true }, { 199, 200, 1000, 200, true },
	};
	struct rlimit old, limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			limit = (struct rlimit){ cases[i].now, cases[i].most };
			if (setrlimit(RLIMIT_NOFILE, &limit))
				_exit(1);
			spawn_raise_files(cases[i].workers);
			if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur != cases[i].raised ||
			    limit.rlim_max != cases[i].most)
				_exit(2);
			_exit(!!strstr(logged, "too low for ") != cases[i].warns ? 3 : 0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (status)
			fail_msg("case %zu: %d", i, WEXITSTATUS(status));
	}
}

/* ---- extensions and models ---- */

static const char *extension_name;

static const struct nn_device_extension *extensions(const struct nna_engine *engine,
						    uint32_t *count)
{
	static const struct nn_device_extension_item type = {
		.code = 7, .is_tensor = true, .element_size = 8, .name = "TENSOR_INT64",
	};
	static struct nn_device_extension one;

	(void)engine;
	one = (struct nn_device_extension){
		.name = extension_name, .version = 1, .num_types = 1, .types = &type,
	};
	*count = 1;
	return &one;
}

static void test_extensions(void **state)
{
	struct nna_engine e = cpu_engine;
	struct nn_error err = { "" };

	(void)state;
	e.extensions = extensions;
	extension_name = "";
	assert_false(device_register_extensions(&e));
	extension_name = "com.example.kit";
	assert_int_equal(nna_engine_code(extension_name, 7), 0);
	assert_true(device_register_extensions(&e));
	assert_true(device_register_extensions(&e));
	assert_int_equal(nn_type_info_of(nna_engine_code(extension_name, 7))->element_size, 8);
	assert_string_equal(err.message, "");
}

/*
 * A packed model is one block of memory that contains the constants from pools, each at a multiple
 * of 8 bytes.
 */
static void test_pack(void **state)
{
	float constant[] = { 0, 1, 2, 3, 4, 5, 6 };
	struct nn_error err = { "" };
	struct nn_model *model = NULL;
	struct model_builder b;
	uint32_t x, none, part, sum, constants[2];
	void *block = NULL;
	size_t size = 0;

	(void)state;
	mb_init(&b);
	b.pools[0] = (struct nn_pool){ constant, sizeof(constant) };
	b.model.num_pools = 1;
	b.model.pools = b.pools;
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(3));
	for (uint32_t i = 0; i < 2; i++)
		constants[i] = mb_reference(&b, NN_TENSOR_FLOAT32, 0, (1 + 3 * i) * sizeof(float),
					    3 * sizeof(float), MB_DIMS(3));
	none = mb_int32(&b, 0);
	part = mb_operand(&b, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(3));
	sum = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(3));
	mb_operation(&b, OP_ADD, MB_LIST(x, constants[0], none), MB_LIST(part));
	mb_operation(&b, OP_ADD, MB_LIST(part, constants[1], none), MB_LIST(sum));
	assert_int_equal(nn_model_check(&b.model, &err), NN_OK);
	assert_int_equal(nna_engine_pack(&b.model, &block, &size, &err), NN_OK);
	memset(constant, 0, sizeof(constant));
	assert_int_equal(nna_engine_unpack(block, size, &model, &err), NN_OK);
	free(block);
	assert_int_equal(model->num_pools, 0);
	for (uint32_t i = 0; i < 2; i++) {
		const struct nn_operand *o = &model->subgraphs[0].operands[constants[i]];

		assert_int_equal(o->lifetime, NN_CONSTANT_COPY);
		assert_int_equal(o->location.offset % 8, 0);
		for (uint32_t k = 0; k < 3; k++)
			assert_true(((const float *)nn_operand_value(model, o))[k] == (float)(1 + 3 * i + k));
	}
	nn_model_free(model);
	assert_int_not_equal(nna_engine_unpack("no model", 8, &model, &err), NN_OK);
}

/* At most 65,535 executions run at once, and an ended execution's handle can be used again. */
static void test_running(void **state)
{
	enum { MOST = 65535 };
	struct running *r = calloc(MOST + 1, sizeof(*r));
	struct nna_engine_execution *handle;
	struct nn_error err = { .message = "" };

	(void)state;
	assert_non_null(r);
	for (int i = 0; i < MOST; i++)
		assert_int_equal(running_begin(&r[i], &err), NN_OK);
	assert_int_equal(running_begin(&r[MOST], &err), NN_RESOURCE_EXHAUSTED_TRANSIENT);
	assert_string_equal(err.message, "65535 executions run in this process, the limit");
	handle = r[1].execution;
	for (int i = 0; i < MOST; i++)
		assert_int_equal(running_end(&r[i], NN_OK, &err), NN_OK);
	for (int i = 0; i < MOST; i++)
		assert_int_equal(running_begin(&r[i], &err), NN_OK);
	assert_int_equal(running_begin(&r[MOST], &err), NN_RESOURCE_EXHAUSTED_TRANSIENT);
	/* The handle of an execution that has ended finds no other execution. */
	assert_int_equal(nna_engine_end(handle, NN_OK, NULL, &err), NN_INVALID_ARGUMENT);
	for (int i = 0; i < MOST; i++)
		assert_int_equal(running_end(&r[i], NN_OK, &err), NN_OK);
	free(r);
}

#define TEST(name) cmocka_unit_test_setup(test_##name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(fault),
		TEST(files),
		TEST(options),
		TEST(keeper),
		TEST(help),
		TEST(registers),
		TEST(node),
		TEST(contexts),
		TEST(refusals),
		TEST(worker_options),
		TEST(raised_files),
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_running),
		heap_unit_test(test_pack),
	};

	return cmocka_run_group_tests_name("kit", tests, NULL, NULL);
}
