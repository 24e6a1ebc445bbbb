// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: global counters and the files in debugfs. nnaccel/summary shows the counters and every
 * context, nnaccel/users the charges of each user, and nnaccel/commands the commands of each
 * context.
 */

#include <linux/debugfs.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>

#include "account.h"
#include "command.h"
#include "engine.h"

static const char *const nnaccel_counter_names[NNACCEL_COUNTERS] = {
	[NNACCEL_CONTEXTS] = "contexts", [NNACCEL_CONTEXTS_HELD] = "contexts-held",
	[NNACCEL_USERS] = "users", [NNACCEL_POOLS] = "pools", [NNACCEL_POOL_BYTES] = "pool-bytes",
	[NNACCEL_IMPORTS] = "imports", [NNACCEL_IMPORT_BYTES] = "import-bytes",
	[NNACCEL_MODELS] = "models", [NNACCEL_BUFFERS] = "buffers", [NNACCEL_BURSTS] = "bursts",
	[NNACCEL_SLOTS] = "slots", [NNACCEL_LATENCY_REQUESTS] = "latency-requests",
	[NNACCEL_COMMANDS] = "commands", [NNACCEL_SUBMISSIONS] = "submissions",
	[NNACCEL_SESSIONS] = "sessions", [NNACCEL_GRANTS] = "grants",
	[NNACCEL_PROXIES] = "proxies", [NNACCEL_EXECUTIONS_TOTAL] = "executions-total",
	[NNACCEL_BURST_PACKETS_TOTAL] = "burst-packets-total",
};

/*
 * Counters are per CPU, because every execution adds to the counters. The counter of one CPU may be
 * negative, but the sum over all CPUs is not.
 */
static DEFINE_PER_CPU(s64 [NNACCEL_COUNTERS], nnaccel_counters);
static struct dentry *nnaccel_debugfs;

/**
 * nnaccel_count() - Adds to a counter
 * @counter: the counter
 * @n: number to add
 */
void nnaccel_count(enum nnaccel_counter counter, s64 n)
{
	this_cpu_add(nnaccel_counters[counter], n);
}

/* The returned sum is exact only if no other thread adds to the counter at the same time. */
static int nnaccel_summary_show(struct seq_file *m, void *unused)
{
	int i, cpu;

	for (i = 0; i < NNACCEL_COUNTERS; i++) {
		s64 sum = 0;

		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu(nnaccel_counters[i], cpu));
		seq_printf(m, "%s: %lld\n", nnaccel_counter_names[i], sum);
	}
	seq_putc(m, '\n');
	nnaccel_engine_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(nnaccel_summary);

static int nnaccel_users_show(struct seq_file *m, void *unused)
{
	nnaccel_account_show_users(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(nnaccel_users);

static int nnaccel_commands_show(struct seq_file *m, void *unused)
{
	struct nnaccel_context *ctx = NULL;

	seq_puts(m, "context cookie kind state age-ms model priority flags\n");
	while ((ctx = nnaccel_engine_next_context(ctx)))
		nnaccel_command_show_all(ctx, m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(nnaccel_commands);

/**
 * nnaccel_debugfs_init() - Creates the files; the module works without them
 */
void nnaccel_debugfs_init(void)
{
	nnaccel_debugfs = debugfs_create_dir("nnaccel", NULL);
	debugfs_create_file("summary", 0400, nnaccel_debugfs, NULL, &nnaccel_summary_fops);
	debugfs_create_file("users", 0400, nnaccel_debugfs, NULL, &nnaccel_users_fops);
	debugfs_create_file("commands", 0400, nnaccel_debugfs, NULL, &nnaccel_commands_fops);
}

/**
 * nnaccel_debugfs_exit() - Removes the files
 */
void nnaccel_debugfs_exit(void)
{
	debugfs_remove_recursive(nnaccel_debugfs);
}
