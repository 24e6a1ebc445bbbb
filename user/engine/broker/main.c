// SPDX-License-Identifier: MIT
/*
 * nnacceld: reads the options and becomes the broker.
 */
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/nnaccel.h>

#include "base/build_id.h"
#include "base/option.h"
#include "kit/api/log.h"
#include "kit/broker/broker.h"
#include "kit/broker/cgroup.h"
#include "kit/broker/program.h"
#include "version.h"

/* The default list of programs that may use extensions; see Documentation/extensions.rst. */
#define EXTENSIONS_LIST NN_CONFIG_DIR "/extensions_app_allowlist"

static const char extensions_folder[] = NN_EXTENSIONS_DIR;

/* The engine's default name, and the name of its folder of state. */
#define NAME "nnaccel"
#define STATE "/var/lib/nnaccel"

/* The values of all options: the broker's options, and options that only main() uses. */
struct arguments {
	struct engine_options options;
	struct cgroup_options cgroup;
	bool no_cache;
	bool help;
	bool version;
};

static bool take_user(void *into, const char *text, char fault[OPTION_FAULT])
{
	struct spawner *spawner = &((struct arguments *)into)->options.spawner;
	const struct passwd *user;
	uint64_t id;

	if (geteuid()) {
		snprintf(fault, OPTION_FAULT,
			 "--worker-user: only root can run workers as another user");
		return false;
	}
	user = getpwnam(text);
	if (user) {
		spawner->uid = user->pw_uid;
		spawner->gid = user->pw_gid;
		return spawner->uid;
	}
	if (!option_number(text, 1, UINT32_MAX - 1, &id)) {
		snprintf(fault, OPTION_FAULT, "--worker-user: there is no user '%.100s'", text);
		return false;
	}
	spawner->uid = (uid_t)id;
	spawner->gid = (gid_t)id;
	return true;
}

/*
 * Reads the option for the engine's name; accepts only names that NNACCEL_ENGINE_REGISTER allows.
 */
static bool take_name(void *into, const char *text, char fault[OPTION_FAULT])
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	(void)fault;
	((struct arguments *)into)->options.name = text;
	return length && length < NNACCEL_MAX_NAME && !text[length] && text[0] != '-';
}

#define AT(member) OPTION_AT(struct arguments, member)
#define WEIGHT .min = 1, .max = 10000

static const struct option_row rows[] = {
	ENGINE_ROWS(1, "2", "folder of the compilation cache (default " STATE ",\n"
		    "with --name " STATE "-NAME)", "1024", "256", NN_EXTENSIONS_DIR, EXTENSIONS_LIST),
	{ "name", "NAME", "device name to register: lower-case letters, digits and\n"
	  "hyphens (default nnaccel)", OPTION_CALL, .take = take_name },
	{ "max-workers", "N", "limit of workers that serve at a time (default 256)", OPTION_UINT,
	  AT(options.max), .min = 1, .max = 100000 },
	{ "max-workers-per-user", "N", "the same for one user (default 64)", OPTION_UINT,
	  AT(options.max_per_user), .min = 1, .max = 100000 },
	{ "worker-rate", "N", "limit of new workers of a user a second, after 64 (default 8)", OPTION_UINT,
	  AT(options.rate), .min = 1, .max = 100000 },
	{ "worker-memory", "MIB", "limit of a worker's private memory; 0: none (default 4096)", OPTION_UINT64,
	  AT(cgroup.max_memory), OPTION_MIB },
	{ "worker-cpu-weight", "N", "CPU weight of a worker among its user's, 1 to 10000 (default 100)",
	  OPTION_UINT, AT(cgroup.cpu_weight), WEIGHT },
	{ "low-cpu-weight", "N", "the same if its models have low priority (default 10)", OPTION_UINT,
	  AT(cgroup.low_cpu_weight), WEIGHT },
	{ "user-memory", "MIB", "memory limit of all workers of a user; 0: none\n"
	  "(default: half the machine's memory)",
	  OPTION_UINT64, AT(cgroup.user_memory), OPTION_MIB },
	{ "user-cpu-weight", "N", "CPU weight of a user's workers among all (default 100)", OPTION_UINT,
	  AT(cgroup.user_cpu_weight), WEIGHT },
	{ "no-client-limit", NULL, "do not apply the memory limit of a client's cgroup to its worker,\n"
	  "for an nnacceld that cannot see its clients' processes", OPTION_FLAG,
	  AT(cgroup.no_client_limit) },
	{ "worker-user", "USER", "user of workers if nnacceld is root (default 65534)", OPTION_CALL,
	  .take = take_user },
	{ "lazy", NULL, "compile models at their first execution", OPTION_FLAG,
	  AT(options.spawner.options.lazy) },
	{ "no-cache", NULL, "run without a compilation cache", OPTION_FLAG, AT(no_cache) },
	{ "help", NULL, NULL, OPTION_STOP, AT(help) },
	{ "version", NULL, "", OPTION_STOP, AT(version) },
	{ 0 },
};

static void print_help(void)
{
	puts("usage: nnacceld [OPTION]...\n"
	     "Serves a device, as /dev/nnaccel: one sandboxed worker for each context that computes.\n"
	     "Runs in the foreground and logs to standard error.\n");
	option_help(rows);
}

static void print_version(void)
{
	char id[BUILD_ID_TEXT];

	build_id(id);
	printf("nnacceld (nnaccel) %s, build %s\n", NNACCEL_VERSION, id);
}

/* Parses the options; returns -1 to continue, or the exit code for main(). */
static int parse_options(int argc, char **argv, struct arguments *a)
{
	if (!options_read(rows, argc, argv, a))
		return EXIT_USAGE;
	if (a->help)
		print_help();
	else if (a->version)
		print_version();
	else
		return -1;
	return option_printed("nnacceld");
}

/* Returns half of the machine's memory, or 0 if its size is unknown. */
static uint64_t half_of_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : 0;
}

/*
 * Opens those of the descriptors 0 to 2 that are closed, so that no other file gets the number of
 * standard input, output or error.
 */
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
	struct arguments arguments = {
		.options = {
			.name = NAME,
			.type = NNACCEL_DEVICE_ACCELERATOR,
			.idle = 2,
			.max = 256,
			.max_per_user = 64,
			.keeper.plans = { UINT64_C(1024) << 20, UINT64_C(256) << 20 },
			.extensions = { .folder = extensions_folder,
					.list.list.path = EXTENSIONS_LIST },
			.cgroup = &arguments.cgroup,
		},
		.cgroup = {
			.max_memory = UINT64_C(4096) << 20,
			.user_memory = half_of_memory(),
			.cpu_weight = 100,
			.low_cpu_weight = 10,
			.user_cpu_weight = 100,
			.max_pids = 64,
		},
	};
	struct engine_options *options = &arguments.options;
	char identity[WORKER_IDENTITY], version[NNACCEL_MAX_VERSION];
	char state[sizeof(STATE) + 1 + NNACCEL_MAX_NAME];
	int exit_code;

	fill_standard_files();
	options_init(options);
	exit_code = parse_options(argc, argv, &arguments);
	if (exit_code >= 0)
		return exit_code;
	snprintf(state, sizeof(state), STATE "%s%s", strcmp(options->name, NAME) ? "-" : "",
		 strcmp(options->name, NAME) ? options->name : "");
	if (arguments.no_cache)
		options->keeper.folder = NULL;
	else if (!options->keeper.folder)
		options->keeper.folder = state;
	options->extensions.is_default = options->extensions.folder == extensions_folder;
	options->spawner.options.max_memory = arguments.cgroup.max_memory;
	arguments.cgroup.user_workers = options->max_per_user;
	if (!spawner_init(&options->spawner) ||
	    !extensions_find(&options->extensions, &options->spawner))
		return EXIT_FAILURE;
	/* The device's version is the first word of the workers' identity. */
	program_ask(options->spawner.program, WORKER_IDENTIFY, identity, sizeof(identity));
	snprintf(version, sizeof(version), "%.*s", (int)strcspn(identity, " "), identity);
	options->version = version;
	options->keeper.engine = identity;
	return broker_run(options);
}
