// SPDX-License-Identifier: MIT
/*
 * nnacceld: reads the options and becomes the broker.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/nnaccel.h>

#include "engine/broker/broker.h"
#include "kit/build_id.h"
#include "kit/log.h"
#include "version.h"

/* Wrong usage, as of sysexits and most programs of this kind. */
#define EXIT_USAGE 2

/* Who a worker is outside of its user namespace, where the broker is root. */
#define DEFAULT_WORKER_UID 65534

enum option_id {
	OPT_DEVICE = 256,
	OPT_NAME,
	OPT_IDLE,
	OPT_MAX_WORKERS,
	OPT_MAX_WORKERS_PER_USER,
	OPT_WORKER_RATE,
	OPT_WORKER_MEMORY,
	OPT_WORKER_CPU_WEIGHT,
	OPT_LOW_CPU_WEIGHT,
	OPT_USER_MEMORY,
	OPT_USER_CPU_WEIGHT,
	OPT_WORKER_USER,
	OPT_NO_SLOT_CACHE,
	OPT_LAZY,
	OPT_STATE,
	OPT_NO_CACHE,
	OPT_KEEP,
	OPT_KEEP_PER_USER,
	OPT_EXTENSIONS,
	OPT_EXTENSIONS_GROUP,
	OPT_EXTENSION_TIME,
	OPT_INSECURE_NO_USERNS,
	OPT_LOG_LEVEL,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option long_options[] = {
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "name", required_argument, NULL, OPT_NAME },
	{ "idle", required_argument, NULL, OPT_IDLE },
	{ "max-workers", required_argument, NULL, OPT_MAX_WORKERS },
	{ "max-workers-per-user", required_argument, NULL, OPT_MAX_WORKERS_PER_USER },
	{ "worker-rate", required_argument, NULL, OPT_WORKER_RATE },
	{ "worker-memory", required_argument, NULL, OPT_WORKER_MEMORY },
	{ "worker-cpu-weight", required_argument, NULL, OPT_WORKER_CPU_WEIGHT },
	{ "low-cpu-weight", required_argument, NULL, OPT_LOW_CPU_WEIGHT },
	{ "user-memory", required_argument, NULL, OPT_USER_MEMORY },
	{ "user-cpu-weight", required_argument, NULL, OPT_USER_CPU_WEIGHT },
	{ "worker-user", required_argument, NULL, OPT_WORKER_USER },
	{ "no-slot-cache", no_argument, NULL, OPT_NO_SLOT_CACHE },
	{ "lazy", no_argument, NULL, OPT_LAZY },
	{ "state", required_argument, NULL, OPT_STATE },
	{ "no-cache", no_argument, NULL, OPT_NO_CACHE },
	{ "keep", required_argument, NULL, OPT_KEEP },
	{ "keep-per-user", required_argument, NULL, OPT_KEEP_PER_USER },
	{ "extensions", required_argument, NULL, OPT_EXTENSIONS },
	{ "extensions-group", required_argument, NULL, OPT_EXTENSIONS_GROUP },
	{ "extension-time", required_argument, NULL, OPT_EXTENSION_TIME },
	{ "insecure-no-userns", no_argument, NULL, OPT_INSECURE_NO_USERNS },
	{ "log-level", required_argument, NULL, OPT_LOG_LEVEL },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"usage: nnacceld [OPTION]...\n"
	"Serves a device, as /dev/nnaccel: one sandboxed worker for each context that computes.\n"
	"Runs in the foreground and logs to standard error.\n"
	"\n"
	"  --device=PATH             the engine node (/dev/nnaccel-engine)\n"
	"  --name=NAME               that it registers under: lower-case letters, digits and\n"
	"                            hyphens (nnaccel)\n"
	"  --idle=N                  workers to keep ready, 1 to 64 (1)\n"
	"  --max-workers=N           workers that serve at a time (256)\n"
	"  --max-workers-per-user=N  the same, of one user (64)\n"
	"  --worker-rate=N           new workers of one user a second, after 64 (8)\n"
	"  --worker-memory=MIB       private memory of a worker, 0: unbounded (4096)\n"
	"  --worker-cpu-weight=N     CPU weight of a worker among its user's, 1 to 10000 (100)\n"
	"  --low-cpu-weight=N        the same while its models are of low priority (10)\n"
	"  --user-memory=MIB         memory of a user's workers, 0: unbounded (half the machine's)\n"
	"  --user-cpu-weight=N       CPU weight of a user's workers among all (100)\n"
	"  --worker-user=USER        whom workers run as where nnacceld is root (65534)\n"
	"  --no-slot-cache           bursts map their memory for each execution afresh\n"
	"  --lazy                    compile models at their first execution\n"
	"  --state=FOLDER            of the compilation cache's index (/var/lib/nnaccel)\n"
	"  --no-cache                no compilation cache\n"
	"  --keep=MIB                plans kept for clients that want it, 0: none (1024)\n"
	"  --keep-per-user=MIB       the same, of one user (256)\n"
	"  --extensions=FOLDER       where plug-ins are\n"
	"                            (" NN_EXTENSIONS_DIR ")\n"
	"  --extensions-group=GROUP  whose clients get them (nnaccel-ext)\n"
	"  --extension-time=SECONDS  that a call of a plug-in may take, 0: unbounded (60)\n"
	"  --insecure-no-userns      where user namespaces are refused, make do with less\n"
	"  --log-level=LEVEL         error, warning, info or debug (info)\n"
	"  --help, --version\n";

__attribute__((noreturn)) static void usage_error(const char *option, const char *value)
{
	log_error("%s: wrong value '%s'; see nnacceld --help", option, value);
	exit(EXIT_USAGE);
}

static unsigned long parse_number(const char *option, const char *text, unsigned long min,
				  unsigned long max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || value < min || value > max)
		usage_error(option, text);
	return value;
}

static void parse_user(const char *option, const char *text, struct spawner *spawner)
{
	const struct passwd *user = getpwnam(text);

	if (user) {
		spawner->uid = user->pw_uid;
		spawner->gid = user->pw_gid;
	} else {
		spawner->uid = (uid_t)parse_number(option, text, 1, UINT32_MAX - 1);
		spawner->gid = (gid_t)spawner->uid;
	}
	if (spawner->uid == 0)
		usage_error(option, text);
}

/* As NNACCEL_ENGINE_REGISTER wants it. */
static bool is_engine_name(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return length && length < NNACCEL_MAX_NAME && !name[length] && name[0] != '-';
}

static void print_version(void)
{
	char id[BUILD_ID_TEXT];

	build_id(id);
	printf("nnacceld (nnaccel) %s, build %s\n", NNACCEL_VERSION, id);
}

static void parse_option(int id, const char *name, struct broker_options *o)
{
	struct spawner *spawner = &o->spawner;

	switch (id) {
	case OPT_DEVICE:
		o->device = optarg;
		break;
	case OPT_NAME:
		if (!is_engine_name(optarg))
			usage_error(name, optarg);
		o->name = optarg;
		break;
	case OPT_IDLE:
		o->idle = (unsigned int)parse_number(name, optarg, 1, 64);
		break;
	case OPT_MAX_WORKERS:
		o->max_workers = (unsigned int)parse_number(name, optarg, 1, 100000);
		break;
	case OPT_MAX_WORKERS_PER_USER:
		o->max_workers_per_user = (unsigned int)parse_number(name, optarg, 1, 100000);
		break;
	case OPT_WORKER_RATE:
		o->worker_rate = (unsigned int)parse_number(name, optarg, 1, 100000);
		break;
	case OPT_WORKER_MEMORY:
		o->cgroup.max_memory = parse_number(name, optarg, 0, 1UL << 32) << 20;
		break;
	case OPT_WORKER_CPU_WEIGHT:
		o->cgroup.cpu_weight = (unsigned int)parse_number(name, optarg, 1, 10000);
		break;
	case OPT_LOW_CPU_WEIGHT:
		o->cgroup.low_cpu_weight = (unsigned int)parse_number(name, optarg, 1, 10000);
		break;
	case OPT_USER_MEMORY:
		o->cgroup.user_memory = parse_number(name, optarg, 0, 1UL << 32) << 20;
		break;
	case OPT_USER_CPU_WEIGHT:
		o->cgroup.user_cpu_weight = (unsigned int)parse_number(name, optarg, 1, 10000);
		break;
	case OPT_WORKER_USER:
		if (geteuid()) {
			log_error("%s: only root can run workers as another user", name);
			exit(EXIT_USAGE);
		}
		parse_user(name, optarg, spawner);
		break;
	case OPT_LAZY:
		spawner->options.lazy = true;
		break;
	case OPT_NO_SLOT_CACHE:
		spawner->options.no_slot_cache = true;
		break;
	case OPT_STATE:
		if (!optarg[0])
			usage_error(name, optarg);
		o->keeper.folder = optarg;
		break;
	case OPT_KEEP:
		o->keeper.plans.bytes = parse_number(name, optarg, 0, 1UL << 32) << 20;
		break;
	case OPT_KEEP_PER_USER:
		o->keeper.plans.bytes_per_user = parse_number(name, optarg, 1, 1UL << 32) << 20;
		break;
	case OPT_NO_CACHE:
		o->keeper.folder = NULL;
		break;
	case OPT_EXTENSIONS:
		o->extensions.folder = optarg;
		o->extensions.is_default = false;
		break;
	case OPT_EXTENSIONS_GROUP:
		o->extensions.group = optarg;
		break;
	case OPT_EXTENSION_TIME:
		spawner->options.plugin_s = (unsigned int)parse_number(name, optarg, 0, 1000000);
		break;
	case OPT_INSECURE_NO_USERNS:
		spawner->allow_none = true;
		break;
	case OPT_LOG_LEVEL:
		if (!log_parse_level(optarg, &spawner->options.log_level))
			usage_error(name, optarg);
		break;
	case OPT_HELP:
		fputs(help, stdout);
		exit(EXIT_SUCCESS);
	case OPT_VERSION:
		print_version();
		exit(EXIT_SUCCESS);
	default:
		fputs("see nnacceld --help\n", stderr);
		exit(EXIT_USAGE);
	}
}

static void parse_options(int argc, char **argv, struct broker_options *o)
{
	int id, index;

	while ((id = getopt_long(argc, argv, "", long_options, &index)) >= 0)
		parse_option(id, id == '?' ? "" : long_options[index].name, o);
	if (optind < argc) {
		log_error("unknown argument '%s'; see nnacceld --help", argv[optind]);
		exit(EXIT_USAGE);
	}
}

/* What the machine has; 0: it does not tell. */
static uint64_t half_of_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : 0;
}

/* The numbers up to 2 belong to input, output and log, come what may. */
static void fill_standard_files(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

int main(int argc, char **argv)
{
	struct broker_options options = {
		.device = "/dev/nnaccel-engine",
		.name = "nnaccel",
		.idle = 1,
		.max_workers = 256,
		.max_workers_per_user = 64,
		.worker_rate = 8,
		.cgroup = {
			.max_memory = UINT64_C(4096) << 20,
			.user_memory = half_of_memory(),
			.cpu_weight = 100,
			.low_cpu_weight = 10,
			.user_cpu_weight = 100,
			.max_pids = 64,
		},
		.keeper = {
			.folder = "/var/lib/nnaccel",
			.plans = { UINT64_C(1024) << 20, UINT64_C(256) << 20 },
		},
		.spawner = {
			.uid = geteuid() ? geteuid() : DEFAULT_WORKER_UID,
			.gid = geteuid() ? getegid() : DEFAULT_WORKER_UID,
			.options = { .log_level = LOG_INFO, .plugin_s = 60 },
		},
		.extensions = {
			.folder = NN_EXTENSIONS_DIR,
			.is_default = true,
			.group = "nnaccel-ext",
		},
	};
	int exit_code;

	fill_standard_files();
	parse_options(argc, argv, &options);
	log_set_level(options.spawner.options.log_level);
	options.spawner.options.max_memory = options.cgroup.max_memory;
	options.cgroup.user_workers = options.max_workers_per_user;
	if (!spawner_init(&options.spawner) ||
	    !extensions_find(&options.extensions, &options.spawner))
		return EXIT_FAILURE;
	exit_code = broker_run(&options);
	extensions_free(&options.extensions);
	return exit_code;
}
