/* SPDX-License-Identifier: MIT */
/* Functions for tests of the runtime: find an engine's device, and count its executions. */
#ifndef NN_TESTS_NAMED_DEVICES_H
#define NN_TESTS_NAMED_DEVICES_H

#include <stdio.h>

#include "tests/runtime_fixture.h"

/* Finds the name of an engine's device node, as `nnaccel stat` shows it. */
static inline void find_node(const char *engine, char node[16])
{
	char command[128];
	FILE *output;

	snprintf(command, sizeof(command),
		 "grep -lx %s /sys/class/nnaccel/*/name | cut -d / -f 5", engine);
	output = popen(command, "re");
	assert_non_null(output);
	assert_int_equal(fscanf(output, "%15s", node), 1);
	pclose(output);
}

/* Returns how many executions of this process `nnaccel stat` shows on an engine's device. */
static inline unsigned long long count_executions(const char *engine)
{
	char line[512], node[16], device[16];
	unsigned long long count, all = 0;
	FILE *output = popen("nnaccel stat --once", "re");
	long pid;

	find_node(engine, node);
	assert_non_null(output);
	while (fgets(line, sizeof(line), output))
		if (sscanf(line, "%*u %ld %*s %15s %llu", &pid, device, &count) == 3 &&
		    pid == getpid() && !strcmp(device, node))
			all += count;
	pclose(output);
	return all;
}

#endif /* NN_TESTS_NAMED_DEVICES_H */
