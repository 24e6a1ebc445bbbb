// SPDX-License-Identifier: MIT
/* A table of a worker's options, by which the broker writes and the worker reads the options. */
#include "kit/worker/worker.h"

#define AT(member) OPTION_AT(struct worker_options, member)

const struct option_row worker_rows[WORKER_WORDS + 1] = {
	{ "isolation", "N", NULL, OPTION_UINT, AT(isolation), .max = ISOLATE_NONE },
	{ "log-level", "N", NULL, OPTION_UINT, AT(log_level), .max = LOG_DEBUG },
	{ "uid", "N", NULL, OPTION_UINT, AT(uid), .max = UINT32_MAX },
	{ "gid", "N", NULL, OPTION_UINT, AT(gid), .max = UINT32_MAX },
	{ "max-memory", "N", NULL, OPTION_UINT64, AT(max_memory), .max = UINT64_MAX },
	{ "device-memory", "N", NULL, OPTION_UINT64, AT(device_memory), .max = UINT64_MAX },
	{ "lazy", NULL, NULL, OPTION_FLAG, AT(lazy) },
	{ "cache-all", NULL, NULL, OPTION_FLAG, AT(cache_all) },
	{ "cache", NULL, NULL, OPTION_FLAG, AT(cache) },
	{ "plugins", "FOLDER", NULL, OPTION_TEXT, AT(plugins) },
	{ "probe", NULL, NULL, OPTION_FLAG, AT(probe) },
	{ "plugin-time", "N", NULL, OPTION_UINT, AT(plugin_s), .max = UINT32_MAX },
	{ 0 },
};
