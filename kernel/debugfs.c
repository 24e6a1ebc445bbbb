// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: global counters, and the files in debugfs: nnaccel/summary shows them and every context,
 * nnaccel/users what each user is charged, nnaccel/commands what each context waits for.
 */

#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "nnaccel_private.h"

static const char *const nnaccel_counter_names[NNACCEL_COUNTERS] = {
	[NNACCEL_CONTEXTS] = "contexts",
	[NNACCEL_CONTEXTS_HELD] = "contexts-held",
	[NNACCEL_USERS] = "users",
	[NNACCEL_POOLS] = "pools",
	[NNACCEL_POOL_BYTES] = "pool-bytes",
	[NNACCEL_IMPORTS] = "imports",
	[NNACCEL_IMPORT_BYTES] = "import-bytes",
	[NNACCEL_MODELS] = "models",
	[NNACCEL_BUFFERS] = "buffers",
	[NNACCEL_BURSTS] = "bursts",
	[NNACCEL_SLOTS] = "slots",
	[NNACCEL_LATENCY_REQUESTS] = "latency-requests",
	[NNACCEL_COMMANDS] = "commands",
	[NNACCEL_FENCES] = "fences",
	[NNACCEL_SESSIONS] = "sessions",
	[NNACCEL_GRANTS] = "grants",
	[NNACCEL_EXECUTIONS_TOTAL] = "executions-total",
	[NNACCEL_BURST_PACKETS_TOTAL] = "burst-packets-total",
};

static atomic64_t nnaccel_counters[NNACCEL_COUNTERS];
static struct dentry *nnaccel_debugfs;

/**
 * nnaccel_count() - Add to a counter
 * @counter: which
 * @n: how much
 */
void nnaccel_count(enum nnaccel_counter counter, s64 n)
{
	atomic64_add(n, &nnaccel_counters[counter]);
}

static int nnaccel_summary_show(struct seq_file *m, void *unused)
{
	int i;

	for (i = 0; i < NNACCEL_COUNTERS; i++)
		seq_printf(m, "%s: %lld\n", nnaccel_counter_names[i],
			   (s64)atomic64_read(&nnaccel_counters[i]));
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
 * nnaccel_debugfs_init() - Show the files; the module works without them
 */
void nnaccel_debugfs_init(void)
{
	nnaccel_debugfs = debugfs_create_dir("nnaccel", NULL);
	debugfs_create_file("summary", 0400, nnaccel_debugfs, NULL, &nnaccel_summary_fops);
	debugfs_create_file("users", 0400, nnaccel_debugfs, NULL, &nnaccel_users_fops);
	debugfs_create_file("commands", 0400, nnaccel_debugfs, NULL, &nnaccel_commands_fops);
}

/**
 * nnaccel_debugfs_exit() - Take the files away
 */
void nnaccel_debugfs_exit(void)
{
	debugfs_remove_recursive(nnaccel_debugfs);
}
