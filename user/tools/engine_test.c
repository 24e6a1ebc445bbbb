/* SPDX-License-Identifier: MIT */
/*
 * nnaccel engine-test: searches for faults of an engine, by comparison with this project's
 * reference and by the HAL's rules.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/op.h"
#include "tools/engine_test/test.h"
#include "tool.h"

#define NAME "engine-test"
#define SAVED "engine-test.vector"

struct arguments {
	const char *program, *run, *save, *only;
	unsigned int limit_s;
	bool full, tap, help;
};

static const struct {
	const char *name;
	void (*run)(struct test *t);
} groups[] = {
	{ "operations", group_operations },
	{ "graphs", group_graphs },
	{ "models", group_many_models },
	{ "threads", group_threads },
	{ "bursts", group_bursts },
	{ "domains", group_domains },
	{ "dynamic", group_dynamic },
	{ "arguments", group_arguments },
	{ "changed", group_models },
	{ "cache", group_cache },
	{ "deadlines", group_deadlines },
	{ "clients", group_clients },
	{ "memory", group_memory },
	{ "deaths", group_deaths },
};

#define NUM_GROUPS (sizeof(groups) / sizeof(groups[0]))

static uint32_t claimed_of(const struct row *row)
{
	return row->counts[RIGHT] + row->counts[WRONG] + row->counts[REFUSED] + row->counts[CRASHED];
}

static bool has_failed(const struct row *row)
{
	return row->counts[WRONG] || row->counts[CRASHED];
}

static void print_row(const struct row *row)
{
	char reason[REASON];

	printf("%-36s %8u %8u %8u %8u %8u\n", row->name, claimed_of(row), row->counts[RIGHT],
	       row->counts[WRONG], row->counts[REFUSED], row->counts[CRASHED]);
	strcpy(reason, row->reason);
	tool_make_plain(reason);
	if (reason[0])
		printf("  %s\n", reason);
	fflush(stdout);
}

static unsigned int tap_number;

static void print_tap(const struct row *row)
{
	char reason[REASON];

	strcpy(reason, row->reason);
	tool_make_plain(reason);
	printf("%s %u - %s%s%s\n", has_failed(row) ? "not ok" : "ok", ++tap_number, row->name,
	       reason[0] ? ": " : "", reason);
	printf("# %u claimed, %u right, %u wrong, %u refused, %u crashed\n", claimed_of(row),
	       row->counts[RIGHT], row->counts[WRONG], row->counts[REFUSED], row->counts[CRASHED]);
	fflush(stdout);
}

/* Prints the sum of the results of all rows. Returns true if no test failed. */
static bool print_sum(const struct test *t, bool tap)
{
	struct row sum = { .name = "all" };

	for (uint32_t i = 0; i < t->num_rows; i++)
		for (int k = 0; k < 4; k++)
			sum.counts[k] += t->rows[i].counts[k];
	if (tap)
		printf("1..%u\n", tap_number);
	else
		print_row(&sum);
	return !has_failed(&sum);
}

static void save(const struct test *t, const char *path, bool tap)
{
	if (!t->smallest)
		return;
	if (vector_save(t->smallest, path))
		printf("%sthe smallest model that failed: %s (%s); nnaccel " NAME " --run %s runs it\n",
		       tap ? "# " : "", path, t->smallest->name, path);
	else
		tool_fail(NAME, "%s: %s", path, strerror(errno));
}

static int run_file(struct test *t, const char *path)
{
	static const char *const outcomes[] = {
		[RIGHT] = "right", [WRONG] = "wrong", [REFUSED] = "refused", [CRASHED] = "crashed",
	};
	struct vector *v = vector_load(path);
	char reason[REASON] = "";
	enum outcome outcome;

	if (!v)
		return tool_fail(NAME, "%s: %s", path, errno == EINVAL ?
				 "it is not a vector, or the reference refuses it" : strerror(errno));
	outcome = test_vector(t, v, reason);
	printf("%s: %s%s%s\n", v->name, outcomes[outcome], reason[0] ? ": " : "", reason);
	vector_free(v);
	return outcome == RIGHT || outcome == REFUSED ? TOOL_OK : TOOL_FAILED;
}

static int run_groups(struct test *t, const struct arguments *a)
{
	struct row *row;
	bool good;

	t->progress = a->tap ? print_tap : print_row;
	if (!a->tap)
		printf("%-36s %8s %8s %8s %8s %8s\n", "", "tried", "right", "wrong", "refused", "crashed");
	group_description(t);
	/*
	 * The groups from number 2 on need vectors that the engine has computed correctly in
	 * earlier groups.
	 */
	for (size_t i = 0; i < NUM_GROUPS; i++) {
		if (i == 2 && !t->num_kept)
			test_note(t, row = test_row(t, "models for other tests"), WRONG, NULL,
				  "no model with an input is computed rightly: the rest cannot be tested");
		if (i == 2 && !t->num_kept)
			test_end_row(t, row);
		t->is_brief = a->only && !a->full && (i || strcmp(a->only, groups[0].name));
		if (i < 2 || !a->only || !strcmp(a->only, groups[i].name))
			groups[i].run(t);
	}
	if (t->hangs >= MOST_HANGS)
		printf("%sit hangs too often: the rest counts as refused\n", a->tap ? "# " : "");
	good = print_sum(t, a->tap);
	save(t, a->save, a->tap);
	for (uint32_t i = 0; i < t->num_kept; i++)
		vector_free(t->kept[i]);
	vector_free(t->smallest);
	return good ? TOOL_OK : TOOL_FAILED;
}

/*
 * Finds a device by its path or by the name of its engine. Returns the path; NULL if the device
 * does not exist.
 */
static const char *find_device(const char *wanted)
{
	static struct nna_device_entry devices[NNA_MAX_DEVICES];
	uint32_t count = NNA_MAX_DEVICES;
	struct nn_error err = { "" };

	if (!wanted || strchr(wanted, '/'))
		return wanted ? wanted : NNA_DEVICE_PATH;
	if (nna_device_list(devices, sizeof(devices[0]), &count, &err))
		return NULL;
	for (uint32_t i = 0; i < count && i < NNA_MAX_DEVICES; i++)
		if (!strcmp(devices[i].name, wanted))
			return devices[i].path;
	return NULL;
}

/* Splits a program and its arguments at spaces. */
static void split(const char *from, char *text, size_t size, char **words, size_t most)
{
	size_t count = 0;
	char *rest;

	snprintf(text, size, "%s", from);
	for (char *word = strtok_r(text, " ", &rest); word && count + 1 < most;
	     word = strtok_r(NULL, " ", &rest))
		words[count++] = word;
	words[count] = NULL;
}

static int run(const struct arguments *a, const char *device)
{
	static struct test t;
	char text[4096], *program[32];
	struct nn_error err = { "" };
	int status;

	split(a->program ? a->program : "", text, sizeof(text), program, 32);
	t.target.path = find_device(device);
	t.target.program = a->program ? program : NULL;
	t.target.limit_s = a->limit_s;
	t.is_full = a->full;
	t.info.size = sizeof(t.info);
	if (!a->program && !t.target.path)
		return tool_fail(NAME, "no device is named %s; nnaccel info lists them", device);
	signal(SIGPIPE, SIG_IGN);
	if (!target_start(&t.target, &err) ||
	    nna_device_get_info(t.target.device, &t.info, &err)) {
		target_stop(&t.target);
		return tool_fail(NAME, "%s", err.message);
	}
	status = a->run ? run_file(&t, a->run) : run_groups(&t, a);
	target_stop(&t.target);
	return status;
}

static bool take_group(void *into, const char *text, char fault[OPTION_FAULT])
{
	struct arguments *a = into;
	int n = snprintf(fault, OPTION_FAULT, "--only must be one of");

	for (size_t i = 0; i < NUM_GROUPS; i++) {
		a->only = groups[i].name;
		if (!strcmp(text, groups[i].name))
			return true;
		n += snprintf(fault + n, OPTION_FAULT - (size_t)n, " %s", groups[i].name);
	}
	return false;
}

int tool_engine_test(int argc, char **argv)
{
	static const struct option_row options[] = {
		{ "in-process", "PROGRAM", "test an engine's program without the module, not a device;\n"
		  "its arguments follow it, with spaces between",
		  OPTION_TEXT, OPTION_AT(struct arguments, program) },
		{ "full", NULL, "run more of each test, for an hour", OPTION_FLAG,
		  OPTION_AT(struct arguments, full) },
		{ "only", "GROUP", "run this group, after few operations and graphs", OPTION_CALL,
		  .take = take_group },
		{ "tap", NULL, "TAP instead of a table", OPTION_FLAG, OPTION_AT(struct arguments, tap) },
		{ "save", "FILE", "save the smallest model that fails here (default " SAVED ")", OPTION_TEXT,
		  OPTION_AT(struct arguments, save) },
		{ "run", "FILE", "run only the model of a saved file", OPTION_TEXT,
		  OPTION_AT(struct arguments, run) },
		{ "limit", "SECONDS", "time limit of a call (default 20)", OPTION_UINT,
		  OPTION_AT(struct arguments, limit_s), .min = 3, .max = 3600 },
		{ "help", NULL, "print this help", OPTION_STOP, OPTION_AT(struct arguments, help) },
		{ 0 },
	};
	static const struct tool_command command = {
		.name = NAME,
		.about = NAME " [OPTION]... [DEVICE]\n\n"
		"Looks for what is wrong with an engine: the outputs of all operations that it\n"
		"claims and of random graphs, executions in bursts, in memory domains and at a time,\n"
		"wrong arguments and models, damaged cache files, deadlines, many clients, and deaths.\n"
		"DEVICE is the path of a device, of the socket of an engine with --direct, or the name of\n"
		"an engine.\n",
		.more = "\nThe table has a line an operation and a group: how many tests were tried, right,\n"
		"wrong, refused (the engine does not support the model) and crashed, and why the first\n"
		"failed. Exit status 1: one was wrong or crashed.\n",
		.options = options,
		.help = offsetof(struct arguments, help),
		.has_action = true,
	};
	struct arguments a = { .save = SAVED, .limit_s = 20 };
	const char *device = NULL;
	int status = tool_options(&command, argc, argv, &a, &device);

	if (status != TOOL_GO_ON)
		return status;
	if (a.program && device)
		return tool_usage(NAME, "--in-process and a device exclude each other");
	return run(&a, device);
}
