// SPDX-License-Identifier: MIT
/*
 * nna_engine_main(): an engine's options, and what it is told to be.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nnaccel/engine.h>

#include "kit/build_id.h"
#include "kit/clients.h"
#include "kit/device.h"
#include "kit/engine.h"
#include "kit/log.h"
#include "kit/process.h"

/* Wrong usage. */
#define EXIT_USAGE 2

/* Who a client's process is outside of its user namespace, where the engine is root. */
#define CLIENT_UID 65534

#define MIB (UINT64_C(1) << 20)

enum option_id {
	OPT_DEVICE = 256, OPT_NAME, OPT_STATE, OPT_KEEP, OPT_KEEPER, OPT_MAX, OPT_MEMORY, OPT_NO_USERNS,
	OPT_NO_SLOT_CACHE, OPT_LOG_LEVEL, OPT_HELP,
};

static const struct option long_options[] = {
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "name", required_argument, NULL, OPT_NAME },
	{ "state", required_argument, NULL, OPT_STATE },
	{ "keep", required_argument, NULL, OPT_KEEP },
	{ "keeper", required_argument, NULL, OPT_KEEPER },
	{ "max-clients", required_argument, NULL, OPT_MAX },
	{ "client-memory", required_argument, NULL, OPT_MEMORY },
	{ "insecure-no-userns", no_argument, NULL, OPT_NO_USERNS },
	{ "no-slot-cache", no_argument, NULL, OPT_NO_SLOT_CACHE },
	{ "log-level", required_argument, NULL, OPT_LOG_LEVEL },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"usage: %s [OPTION]...\n"
	"Serves /dev/nnaccel in the foreground, and logs to standard error.\n"
	"\n"
	"  --device=PATH         the engine node (/dev/nnaccel-engine)\n"
	"  --name=NAME           of the engine, by which its device is found again\n"
	"  --state=FOLDER        where the compilation cache's index is (none: no cache)\n"
	"  --keep=MIB            models kept for clients that want it, 0: none (64)\n"
	"  --keeper=PATH         the keeper's program (nnaccel-keeper, beside this one or installed)\n"
	"  --max-clients=N       clients at a time (64)\n"
	"  --client-memory=MIB   private memory for a client, 0: unbounded (4096)\n"
	"  --no-slot-cache       bursts map their memory for each execution afresh\n"
	"  --insecure-no-userns  where user namespaces are refused, make do with less\n"
	"  --log-level=LEVEL     error, warning, info or debug (info)\n"
	"  --help\n";

static bool parse_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	*value = strtoull(text, &end, 10);
	return end != text && !*end && text[0] != '-' && *value <= max;
}

/* False: the value is wrong. */
static bool parse_option(int id, struct clients_options *o)
{
	uint64_t number = 0;

	switch (id) {
	case OPT_DEVICE:
		o->device = optarg;
		return true;
	case OPT_NAME:
		o->name = optarg;
		return optarg[0];
	case OPT_STATE:
		o->keeper.folder = optarg;
		return optarg[0];
	case OPT_KEEP:
		if (!parse_number(optarg, UINT32_MAX, &number))
			return false;
		o->keeper.plans.bytes = number * MIB;
		return true;
	case OPT_KEEPER:
		o->keeper.program = optarg;
		return true;
	case OPT_MAX:
		if (!parse_number(optarg, 4096, &number) || !number)
			return false;
		o->max = (unsigned int)number;
		return true;
	case OPT_MEMORY:
		if (!parse_number(optarg, UINT32_MAX, &number))
			return false;
		o->spawner.options.max_memory = number * MIB;
		return true;
	case OPT_NO_USERNS:
		o->spawner.allow_none = true;
		return true;
	case OPT_NO_SLOT_CACHE:
		o->spawner.options.no_slot_cache = true;
		return true;
	default:
		return id == OPT_LOG_LEVEL &&
		       log_parse_level(optarg, &o->spawner.options.log_level);
	}
}

/* -1, or main()'s exit code. */
static int parse_options(int argc, char **argv, struct clients_options *o)
{
	int id, index = 0;

	while ((id = getopt_long(argc, argv, "", long_options, &index)) >= 0) {
		if (id == OPT_HELP) {
			printf(help, argv[0]);
			return EXIT_SUCCESS;
		}
		if (id == '?' || !parse_option(id, o)) {
			log_error("--%s: see --help", id == '?' ? "" : long_options[index].name);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		log_error("unknown argument '%s'; see --help", argv[optind]);
		return EXIT_USAGE;
	}
	return -1;
}

const char *engine_fault(const struct nna_engine *e)
{
	const struct nna_engine_burst *b = e->burst;

	/* This is the first version: there is no shorter one. */
	if (e->size < sizeof(*e))
		return "it is of a version before the first";
	if (!e->name || !e->name[0] || e->reserved)
		return "it has no name, or something where nothing is to be";
	if (!e->describe || !e->supported || !e->prepare || !e->release || !e->execute)
		return "it lacks describe, supported, prepare, release or execute";
	if (!e->save != !e->load || !e->save != !e->end_save || !e->save != !e->signature)
		return "it has some of save, end_save, load and signature, not all";
	if (b && (b->size < sizeof(*b) || !b->create || !b->destroy || !b->add || !b->is_cached ||
		  !b->remove || !b->execute))
		return "its executor of bursts lacks a function";
	return NULL;
}

/* What saved models depend on besides themselves: this build, and the device's version. */
static const char *identify(const struct nna_engine *engine, const struct nn_device_info *info,
			    char *text, size_t size)
{
	char program[BUILD_ID_TEXT];

	if (!build_id(program))
		return "";
	snprintf(text, size, "%.20s %s %s", engine->name, program, info->version);
	return text;
}

int nna_engine_main(const struct nna_engine *engine, int argc, char **argv)
{
	const unsigned int uid = geteuid() ? geteuid() : CLIENT_UID;
	struct clients_options options = {
		.device = "/dev/nnaccel-engine",
		.name = engine->name,
		.max = 64,
		.spawner = {
			.path = "/proc/self/exe",
			.uid = uid,
			.gid = geteuid() ? getegid() : CLIENT_UID,
			.options = { .log_level = LOG_INFO, .max_memory = 4096 * MIB },
		},
		.keeper.plans = { 64 * MIB, 16 * MIB },
	};
	char identity[WORKER_IDENTITY];
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
		worker_main(engine, argv + 1);
	exit_code = parse_options(argc, argv, &options);
	if (exit_code >= 0)
		return exit_code;
	log_set_level(options.spawner.options.log_level);
	options.keeper.log_level = options.spawner.options.log_level;
	device_init(&info);
	engine->describe(engine, &info);
	info.version[sizeof(info.version) - 1] = '\0';
	options.version = info.version;
	options.type = info.type;
	options.keeper.identity = identify(engine, &info, identity, sizeof(identity));
	if (!engine->save)
		options.keeper.folder = NULL;
	return clients_serve(&options);
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
