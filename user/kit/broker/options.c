// SPDX-License-Identifier: MIT
/*
 * Options that the programs of all engines have: nnacceld and engines written with
 * libnnaccel-engine.
 */
#include <unistd.h>

#include "kit/api/log.h"
#include "kit/broker/node.h"
#include "kit/broker/options.h"

bool options_take_log_level(void *into, const char *text, char fault[OPTION_FAULT])
{
	(void)fault;
	return log_parse_level(text, &((struct engine_options *)into)->spawner.options.log_level);
}

void options_init(struct engine_options *o)
{
	o->device = NODE_PATH;
	o->rate = 8;
	o->spawner.uid = geteuid() ? geteuid() : CLIENT_UID;
	o->spawner.gid = geteuid() ? getegid() : CLIENT_UID;
	o->spawner.options.log_level = LOG_INFO;
	o->spawner.options.plugin_s = 60;
	o->extensions.group = "nnaccel-ext";
	o->keeper.plugins = &o->extensions.plugins;
}

bool options_read(const struct option_row *rows, int argc, char **argv, void *into)
{
	struct engine_options *options = into;
	char fault[OPTION_FAULT];
	int first = option_read(rows, argc, argv, into, fault);

	if (first < 0)
		log_error("%s; see --help", fault);
	else if (first < argc)
		log_error("unknown argument '%s'; see --help", argv[first]);
	options->keeper.log_level = options->spawner.options.log_level;
	log_set_level(options->keeper.log_level);
	return first == argc;
}
