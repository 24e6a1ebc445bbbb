// SPDX-License-Identifier: MIT
/*
 * How a worker is told what it is to be: its options as the text of its argv[1].
 */
#include <stdio.h>

#include "kit/worker.h"

void worker_options_format(const struct worker_options *o, char text[WORKER_OPTIONS_TEXT])
{
	snprintf(text, WORKER_OPTIONS_TEXT, "%d:%d:%u:%u:%llu:%d:%d:%d:%d:%u", (int)o->isolation,
		 (int)o->log_level, (unsigned int)o->uid, (unsigned int)o->gid,
		 (unsigned long long)o->max_memory, o->no_slot_cache, o->lazy, o->cache,
		 o->probe, o->plugin_s);
}

bool worker_options_parse(const char *text, struct worker_options *o)
{
	unsigned int isolation, level, uid, gid, no_slot_cache, lazy, cache, probe, plugin_s;
	unsigned long long memory;
	char rest;

	if (sscanf(text, "%u:%u:%u:%u:%llu:%u:%u:%u:%u:%u%c", &isolation, &level, &uid, &gid,
		   &memory, &no_slot_cache, &lazy, &cache, &probe, &plugin_s, &rest) != 10)
		return false;
	if (isolation > ISOLATE_NONE || level > LOG_DEBUG || no_slot_cache > 1 || lazy > 1 ||
	    cache > 1 || probe > 1)
		return false;
	*o = (struct worker_options){
		.isolation = isolation,
		.log_level = level,
		.uid = uid,
		.gid = gid,
		.max_memory = memory,
		.no_slot_cache = no_slot_cache,
		.lazy = lazy,
		.cache = cache,
		.probe = probe,
		.plugin_s = plugin_s,
	};
	return true;
}
