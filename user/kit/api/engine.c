// SPDX-License-Identifier: MIT
/*
 * nna_engine_main(): parses an engine's options, and runs the process as broker or worker.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nnaccel/engine.h>

#include "base/build_id.h"
#include "base/option.h"
#include "base/sized.h"
#include "kit/api/device.h"
#include "kit/api/engine.h"
#include "kit/api/files.h"
#include "kit/api/log.h"
#include "kit/broker/broker.h"
#include "kit/broker/direct.h"
#include "kit/broker/node.h"
#include "kit/session/serve.h"
#include "kit/worker/process.h"
#include "kit/worker/threads.h"

#define MIB (UINT64_C(1) << 20)

struct arguments {
	struct engine_options options;
	bool help;
};

static bool take_clients(void *into, const char *text, char fault[OPTION_FAULT])
{
	struct engine_options *o = into;
	const uint32_t choice = o->engine->clients;
	const bool threads = !strcmp(text, "threads");

	if (!threads && strcmp(text, "processes"))
		return false;
	o->threads = threads ? &client_threads : NULL;
	if (choice == NNA_ENGINE_CLIENTS_EITHER ||
	    threads == (choice == NNA_ENGINE_CLIENTS_THREADS))
		return true;
	snprintf(fault, OPTION_FAULT, "--clients=%s: this engine serves by %s only", text,
		 threads ? "processes" : "threads");
	return false;
}

#define AT(member) OPTION_AT(struct arguments, options.member)

static const struct option_row rows[] = {
	ENGINE_ROWS(0, "1", "folder of the compilation cache (default: no cache)", "64", "16",
		    "none", "none"),
	{ "name", "NAME", "name of the engine's device", OPTION_TEXT,
	  AT(name) },
	{ "clients", "WHAT", "processes: one for each client; threads: of this process, which is\n"
	  "then trusted with data of any client (default: processes)", OPTION_CALL,
	  .take = take_clients },
	{ "direct", "SOCKET", "serve clients at this socket, without the module and without a\n"
	  "sandbox: for tests (nnaccel engine-test --in-process)", OPTION_TEXT, AT(direct) },
	{ "keeper", "PATH", "program of the cache daemon (default nnaccel-keeper)",
	  OPTION_TEXT, AT(keeper.program) },
	{ "max-clients", "N", "limit of clients at a time (default 64)", OPTION_UINT, AT(max),
	  .min = 1, .max = 4096 },
	{ "max-clients-per-user", "N", "the same for one user (default 32)", OPTION_UINT,
	  AT(max_per_user), .min = 1, .max = 4096 },
	{ "client-memory", "MIB", "limit of a client's private memory; 0: none (default 4096)", OPTION_UINT64,
	  AT(spawner.options.max_memory), OPTION_MIB },
	{ "device-memory", "MIB", "limit of the device's memory of a client's models and buffers; 0: none\n"
	  "(default 4096)", OPTION_UINT64, AT(spawner.options.device_memory), OPTION_MIB },
	{ "help", NULL, "", OPTION_STOP, OPTION_AT(struct arguments, help) },
	{ 0 },
};

/* Parses options. Returns -1 if the program must continue, else the exit code of main(). */
static int parse_options(int argc, char **argv, struct arguments *a)
{
	if (!options_read(rows, argc, argv, a))
		return EXIT_USAGE;
	if (a->help) {
		printf("usage: %s [OPTION]...\n"
		       "Serves a device, as /dev/nnaccel. Runs in the foreground and logs to standard\n"
		       "error.\n\n",
		       argv[0]);
		option_help(rows);
		if (a->options.engine->help)
			fputs(a->options.engine->help, stdout);
		return option_printed(argv[0]);
	}
	if (!a->options.extensions.folder ||
	    (a->options.engine->load_plugin && !a->options.threads))
		return -1;
	log_error("--extensions: %s; see --help", a->options.engine->load_plugin ?
		  "plug-ins are for --clients=processes" : "this engine does not load plug-ins");
	return EXIT_USAGE;
}

static bool has_many_variables(const struct nna_engine *e)
{
	uint32_t count = 0;

	while (HAS_FIELD(e, environment) && e->environment && e->environment[count])
		count++;
	return count > ENVIRONMENT_MAX;
}

static const char *files_fault(const struct nna_engine *e)
{
	const uint32_t count = files_count(e);

	if (count > FILES_MAX)
		return "it has too many files";
	for (uint32_t i = 0; i < count; i++) {
		const struct nna_engine_file *file = e->files[i];

		if (!HAS_FIELD(file, num_requests) || !file->path ||
		    (file->num_requests && !file->requests) ||
		    file->use & ~(NNA_ENGINE_FILE_READ | NNA_ENGINE_FILE_WRITE |
				  NNA_ENGINE_FILE_POLL))
			return "one of its files has no size or path, or an unknown use";
	}
	return NULL;
}

/*
 * The structures below have no size field and are elements of arrays, so the size of each structure
 * must never change.
 */
_Static_assert(sizeof(struct nn_arg) == 88 && sizeof(struct nn_output_shape) == 72 &&
	       sizeof(struct nn_device_extension) == 40 && sizeof(struct nna_engine_role) == 24 &&
	       sizeof(struct nn_device_extension_item) == 16, "engines of older releases read them");

const char *engine_fault(const struct nna_engine *e)
{
	const struct nna_engine_burst *b = e->burst;

	/* An engine's structure must have all fields of the structure's first release. */
	if (!HAS_FIELD(e, data_cache_files))
		return "its structure is smaller than that of the first release";
	if (!e->name || !e->name[0])
		return "it has no name";
	if (e->clients > NNA_ENGINE_CLIENTS_THREADS)
		return "its clients are neither processes nor threads";
	if (!e->describe || !e->supported || !e->prepare || !e->release || !e->execute)
		return "it lacks describe, supported, prepare, release or execute";
	if (!e->save != !e->load || !e->save != !e->end_save || !e->save != !e->signature)
		return "it has some of save, end_save, load and signature, not all";
	if (HAS_FIELD(e, store_identity) && e->store_identity &&
	    (!e->store_identity[0] || strlen(e->store_identity) > NNA_ENGINE_MAX_IDENTITY))
		return "the identity of its store has no characters, or more than 128";
	if (HAS_FIELD(e, takes_fences) && e->takes_fences && !e->only_devices)
		return "it takes fences, but not only devices access the memory";
	if (engine_permissions(e) & ~(NNA_ENGINE_MAY_MAKE_THREADS | NNA_ENGINE_MAY_MAKE_CODE |
				      NNA_ENGINE_MAY_USE_DRIVERS | NNA_ENGINE_MAY_GROW_FILES))
		return "it asks for an unknown permission";
	if (has_many_variables(e))
		return "it has more than 16 environment variables for clients' processes";
	if (e->model_cache_files > NNA_ENGINE_MAX_CACHE_FILES ||
	    e->data_cache_files > NNA_ENGINE_MAX_CACHE_FILES)
		return "it has more than 32 cache files of a kind";
	if (b && (!HAS_FIELD(b, execute) || !b->create || !b->destroy || !b->add || !b->is_cached ||
		  !b->remove || !b->execute))
		return "its executor of bursts lacks a function";
	if (e->buffers &&
	    (!HAS_FIELD(e->buffers, copy_out) || !e->buffers->create ||
	     !e->buffers->destroy || !e->buffers->copy_in || !e->buffers->copy_out))
		return "its buffers lack a function";
	return files_fault(e);
}

/*
 * Logs for the administrator what a client could do after taking over the process that serves the
 * client.
 */
static void log_permissions(const struct nna_engine *e)
{
	const uint32_t count = files_count(e);

	for (uint32_t i = 0; i < count; i++)
		log_info("clients' processes may use %s", e->files[i]->path);
	if (engine_permissions(e) & NNA_ENGINE_MAY_MAKE_THREADS)
		log_info("clients' processes may make threads");
	if (engine_permissions(e) & NNA_ENGINE_MAY_MAKE_CODE)
		log_info("clients' processes may make memory executable");
	if (engine_permissions(e) & NNA_ENGINE_MAY_USE_DRIVERS)
		log_info("clients' processes may use dma-bufs and fences of drivers");
	if (engine_permissions(e) & NNA_ENGINE_MAY_GROW_FILES)
		log_info("clients' processes may grow files in memory");
}

struct cache_files engine_cache_files(const struct nna_engine *e)
{
	const struct cache_files said = { e->model_cache_files, e->data_cache_files };

	return said.model || said.data ? said : (struct cache_files){ 1, 1 };
}

/*
 * Returns the identity of this build and the device's version; saved models are valid only for the
 * same identity.
 */
static const char *identify(const struct nna_engine *engine, const struct nn_device_info *info,
			    char *text, size_t size)
{
	char program[BUILD_ID_TEXT];

	if (!build_id(program))
		return "";
	snprintf(text, size, "%.20s %s %s", engine->name, program, info->version);
	return text;
}

static void log_to_engine(void *data, enum log_level level, const char *line)
{
	const struct nna_engine *engine = data;

	engine->log(engine, (enum nna_engine_level)level, line);
}

int nna_engine_main(const struct nna_engine *engine, int argc, char **argv)
{
	struct arguments arguments = {
		.options = {
			.name = engine->name,
			.idle = 1,
			.max = 64,
			.max_per_user = 32,
			.spawner = { .path = "/proc/self/exe", .program = -1,
				     .options.max_memory = 4096 * MIB,
				     .options.device_memory = 4096 * MIB,
				     .environment = HAS_FIELD(engine, environment) ?
						    engine->environment : NULL },
			.keeper.plans = { 64 * MIB, 16 * MIB },
			.engine = engine,
			.threads = engine->clients == NNA_ENGINE_CLIENTS_THREADS ?
				   &client_threads : NULL,
		},
	};
	struct engine_options *options = &arguments.options;
	char identity[WORKER_IDENTITY], store[NNA_ENGINE_MAX_IDENTITY + 32];
	struct nn_device_info info;
	const char *fault = engine_fault(engine);
	int exit_code;

	if (engine->name)
		log_set_name(engine->name);
	if (fault) {
		log_error("the engine: %s", fault);
		return EXIT_FAILURE;
	}
	if (argc > 1 && !strcmp(argv[0], WORKER_NAME))
		worker_main(engine, argc, argv);
	options_init(options);
	exit_code = parse_options(argc, argv, &arguments);
	if (exit_code >= 0)
		return exit_code;
	if (engine->log)
		log_set_sink(log_to_engine, (void *)engine);
	device_init(&info);
	engine->describe(engine, &info);
	info.version[sizeof(info.version) - 1] = '\0';
	options->version = info.version;
	options->type = info.type;
	options->keeper.engine = identify(engine, &info, identity, sizeof(identity));
	if (HAS_FIELD(engine, store_identity) && engine->store_identity) {
		snprintf(store, sizeof(store), "%.20s %s", engine->name, engine->store_identity);
		options->keeper.identity = store;
	} else if (!engine->save) {
		options->keeper.folder = NULL;
	}
	if (options->spawner.options.cache_all)
		server_cache_all();
	models_limit_device(options->spawner.options.device_memory);
	if (!options->threads)
		log_permissions(engine);
	return options->direct ? direct_run(options) : broker_run(options);
}

void nna_engine_log(enum nna_engine_level level, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	log_line((enum log_level)level, "%s", line);
}
