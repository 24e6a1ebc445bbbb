/* SPDX-License-Identifier: MIT */
/*
 * Options that the programs of all engines have: nnacceld and engines written with
 * libnnaccel-engine.
 */
#ifndef NN_KIT_OPTIONS_H
#define NN_KIT_OPTIONS_H

#include "kit/broker/extensions.h"
#include "kit/broker/keeper.h"
#include "kit/broker/spawn.h"

struct cgroup_options;
struct client_threads;

struct engine_options {
	const char *device;
	const char *name;		/* device name that the engine registers */
	const char *version;		/* version of the device, shown by the kernel */
	uint32_t type;			/* enum nn_device_type */
	unsigned int idle;		/* number of idle workers to keep ready */
	unsigned int max;		/* maximum number of clients at a time */
	unsigned int max_per_user;
	/* maximum number of new clients of a user per second, after LIMITS_BURST clients at once */
	unsigned int rate;
	/* spawner of workers; its `program` is -1 until spawner_init() opens it */
	struct spawner spawner;
	struct keeper_options keeper;
	/* plug-ins, which a process examines again after each change of their folder */
	struct extensions extensions;
	/* Limits of the workers' cgroups; NULL if workers have no cgroups. */
	const struct cgroup_options *cgroup;
	/* the engine, if it is written with libnnaccel-engine; otherwise NULL */
	const struct nna_engine *engine;
	/* path of a socket for clients without the kernel module, or NULL */
	const char *direct;
	/* functions that serve clients by threads; NULL if processes serve clients */
	const struct client_threads *threads;
};

/*
 * If the engine runs as root, the processes that serve clients have the user id CLIENT_UID outside
 * their user namespace.
 */
#define CLIENT_UID 65534

#define OPTION_MIB .unit = UINT64_C(1) << 20, .max = UINT64_C(1) << 32

#define ENGINE_AT(member) OPTION_AT(struct engine_options, member)

/*
 * Rows of a table of options for a structure that begins with struct engine_options. The macro's
 * argument `least` is the minimum of --idle; its other arguments are parts of help texts.
 */
#define ENGINE_ROWS(least, idle_text, state_text, cache_text, user_text, folder_text, list_text) \
	{ "device", "PATH", "engine node (default /dev/nnaccel-engine)", OPTION_TEXT, \
	  ENGINE_AT(device) }, \
	{ "idle", "N", "processes to keep ready for clients, " #least " to 64 (default " idle_text ")", \
	  OPTION_UINT, ENGINE_AT(idle), .min = least, .max = 64 }, \
	{ "state", "FOLDER", state_text, OPTION_TEXT, ENGINE_AT(keeper.folder) }, \
	{ "cache", "MIB", "limit of the cache of plans that clients ask for; 0: none\n(default " cache_text ")", \
	  OPTION_UINT64, ENGINE_AT(keeper.plans.bytes), OPTION_MIB }, \
	{ "cache-per-user", "MIB", "limit of cached plans of one user (default " user_text ")", OPTION_UINT64, \
	  ENGINE_AT(keeper.plans.bytes_per_user), OPTION_MIB, .min = 1 }, \
	{ "cache-all", NULL, "cache plans of all clients, also of those that do not ask for it", \
	  OPTION_FLAG, ENGINE_AT(spawner.options.cache_all) }, \
	{ "extensions", "FOLDER", "folder of plug-ins\n(default " folder_text ")", OPTION_TEXT, \
	  ENGINE_AT(extensions.folder) }, \
	{ "extensions-group", "GROUP", "group whose members get plug-ins (default nnaccel-ext)", OPTION_TEXT, \
	  ENGINE_AT(extensions.group) }, \
	{ "extensions-list", "FILE", "services and labels that get plug-ins without the group\n" \
	  "(default " list_text ")", OPTION_TEXT, ENGINE_AT(extensions.list.list.path) }, \
	{ "extension-time", "SECONDS", "time limit of a call of a plug-in; 0: none (default 60)", \
	  OPTION_UINT, ENGINE_AT(spawner.options.plugin_s), .max = 1000000 }, \
	{ "insecure-no-userns", NULL, "start workers without a user namespace if the kernel\n" \
	  "forbids one (weaker sandbox)", \
	  OPTION_FLAG, ENGINE_AT(spawner.allow_none) }, \
	{ "log-level", "LEVEL", "error, warning, info or debug (default info)", OPTION_CALL, \
	  .take = options_take_log_level }

bool options_take_log_level(void *into, const char *text, char fault[OPTION_FAULT]);

void options_init(struct engine_options *options);

/*
 * Reads options and sets the log level. If an option is wrong, logs the option and returns false.
 */
bool options_read(const struct option_row *rows, int argc, char **argv, void *into);

#endif /* NN_KIT_OPTIONS_H */
