// SPDX-License-Identifier: MIT
/*
 * The module's reports: the counters of debugfs' nnaccel/summary, a context's fdinfo, and the
 * module's parameters.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "summary.h"
#include "runner.h"

/* Number of waits of 10 ms after which a test fails if a counter still has a wrong value. */
#define TRIES scaled(10000)

#define SUMMARY "/sys/kernel/debug/nnaccel/summary"
#define COMMANDS "/sys/kernel/debug/nnaccel/commands"

/* Counters that the tests compare: all of nnaccel/summary except totals, which never decrease. */
static const char *const names[NUM_COUNTERS] = {
	"contexts", "users", "pools", "pool-bytes", "imports", "import-bytes", "models",
	"bursts", "slots", "commands", "sessions", "grants", "proxies", "buffers",
	"contexts-held", "latency-requests", "submissions",
};

bool summary_read(struct summary *summary)
{
	for (int i = 0; i < NUM_COUNTERS; i++) {
		summary->counter[i] = summary_get(-1, names[i]);
		if (summary->counter[i] < 0)
			return false;
	}
	return true;
}

bool summary_settles(const struct summary *before)
{
	struct summary now;

	/*
	 * Repeat the comparison, because the kernel drops the last reference to a file
	 * asynchronously.
	 */
	for (unsigned long long i = TRIES; i; i--) {
		if (!summary_read(&now))
			return false;
		if (!memcmp(&now, before, sizeof(now)))
			return true;
		usleep(10000);
	}
	for (int i = 0; i < NUM_COUNTERS; i++)
		if (now.counter[i] != before->counter[i])
			fprintf(stderr, "# %s: %lld, not %lld\n", names[i], now.counter[i],
				before->counter[i]);
	return false;
}

long long summary_get(int fd, const char *name)
{
	char path[64] = SUMMARY, line[256];
	long long value = -1;
	size_t length = strlen(name);
	FILE *file;

	if (fd >= 0)
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, length) && line[length] == ':')
			sscanf(line + length + 1, "%lld", &value);
	if (file)
		fclose(file);
	return value;
}

bool summary_becomes(int fd, const char *name, long long value)
{
	long long now = -1;

	/*
	 * Read the counter repeatedly, because references to objects may be dropped late, for
	 * example by the worker's call.
	 */
	for (unsigned long long i = TRIES; i; i--) {
		now = summary_get(fd, name);
		if (now == value)
			return true;
		usleep(10000);
	}
	fprintf(stderr, "# %s: %lld, not %lld\n", name, now, value);
	return false;
}

int shown_commands(struct shown *shown, int max)
{
	FILE *file = fopen(COMMANDS, "re");
	struct shown s = {};
	char line[256];
	int n = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llu %llu %15s %15s %u %llu %u %7s", &s.context, &s.cookie,
			   s.kind, s.state, &s.age_ms, &s.model, &s.priority, s.flags) != 8)
			continue;
		if (n < max)
			shown[n] = s;
		n++;
	}
	if (file)
		fclose(file);
	return n;
}

bool shown_command(int fd, struct shown *shown)
{
	unsigned long long context = (unsigned long long)summary_get(fd, "nnaccel-client-id");
	struct shown all[64];
	int n = shown_commands(all, 64);
	bool found = false;

	for (int i = 0; i < n && i < 64; i++) {
		if (all[i].context != context)
			continue;
		*shown = all[i];
		found = true;
	}
	return found;
}

static FILE *param_open(const char *name, const char *mode, long long *value)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/nnaccel/parameters/%s", name);
	file = fopen(path, mode);
	if (!file || fscanf(file, "%lld", value) != 1)
		*value = -1;
	return file;
}

long long param_get(const char *name)
{
	long long value;
	FILE *file = param_open(name, "re", &value);

	if (file)
		fclose(file);
	return value;
}

long long param_set(const char *name, long long value)
{
	long long old;
	FILE *file = param_open(name, "r+e", &old);

	if (!file)
		return -1;
	rewind(file);
	fprintf(file, "%lld\n", value);
	return fclose(file) ? -1 : old;
}
