/* SPDX-License-Identifier: MIT */
/*
 * nnaccel stat: shows the activity of each client of the devices, from the fdinfo of the client's
 * files. The command redraws a table until interrupted, or prints once, as a table or as JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clients.h"
#include "tool.h"

#define MAX_CLIENTS 1024
#define DEFAULT_INTERVAL_MS 1000

/*
 * Counters of a client: the counters of the client's context, and the sums of the counters of all
 * its bursts. The client and the worker write the counters of a burst themselves, so burst counters
 * cannot be trusted. In the names of burst counters, "client" means libnnaccel, and "engine" means
 * the worker.
 */
static const struct field {
	const char *key;	/* in fdinfo */
	const char *name;	/* in JSON */
	/* title of the counter's column; NULL if the table does not show the counter */
	const char *title;
	bool of_burst;
	bool is_gauge;		/* true: the counter's value may decrease */
} fields[] = {
	{ "nnaccel-executions", "executions", "IOCTLS", false, false },
	{ "nnaccel-burst-executions", "burst_executions", "BURSTED", false, false },
	{ "nnaccel-client-spins", "client_spins", "SPINS", true, false },
	{ "nnaccel-client-sleeps", "client_sleeps", "SLEEPS", true, false },
	{ "nnaccel-client-wakes", "client_wakes", "WAKES", true, false },
	{ "nnaccel-client-misses", "client_misses", "MISSES", true, false },
	{ "nnaccel-client-fallbacks", "client_fallbacks", "FALLBACKS", true, false },
	{ "nnaccel-engine-spins", "engine_spins", "E-SPINS", true, false },
	{ "nnaccel-engine-sleeps", "engine_sleeps", "E-SLEEPS", true, false },
	{ "nnaccel-engine-wakes", "engine_wakes", "E-WAKES", true, false },
	{ "nnaccel-engine-misses", "engine_misses", "E-MISSES", true, false },
	{ "nnaccel-slots", "slots", NULL, true, true },
	{ "nnaccel-slot-resolves", "slot_resolves", NULL, true, false },
	{ "nnaccel-bursts", "bursts", "BURSTS", false, true },
	{ "nnaccel-models", "models", "MODELS", false, true },
	{ "nnaccel-pools", "pools", "POOLS", false, true },
	{ "nnaccel-commands", "commands", NULL, false, true },
	{ "nnaccel-memory-alloc", "memory_kib", "KIB", false, true },
	{ "nnaccel-memory-import", "import_kib", NULL, false, true },
	{ "nnaccel-engine-time", "engine_ns", NULL, false, false },
	{ "nnaccel-model-weights", "weights_kib", "W-KIB", false, true },
	{ "nnaccel-model-executions", "execution_kib", "X-KIB", false, true },
	{ "drm-resident-device", "device_kib", "D-KIB", false, true },
	{ "drm-engine-nn", "device_ns", "D-MS", false, false },
};

#define NUM_FIELDS (sizeof(fields) / sizeof(fields[0]))

enum format { TABLE, JSON, OPENMETRICS };

struct client {
	uint64_t id;
	long pid;
	char name[CLIENT_NAME_SIZE + 1];
	char device[16];		/* name of the device node, such as "nnaccel1" */
	bool has_context;		/* true if the context's own counters have been read */
	uint64_t values[NUM_FIELDS];
};

struct clients {
	size_t count;
	struct client list[MAX_CLIENTS];
};

struct info {
	uint64_t id;
	bool is_client;
	char device[16];		/* device of a context */
	uint64_t burst;			/* number of the burst; 0 if the file is a context */
	uint64_t values[NUM_FIELDS];
};

static void take_line(struct info *info, char *line)
{
	char *value = strchr(line, ':');

	if (!value)
		return;
	*value++ = 0;
	if (!strcmp(line, "nnaccel-client-id")) {
		info->is_client = true;
		info->id = strtoull(value, NULL, 10);
	} else if (!strcmp(line, "nnaccel-device")) {
		sscanf(value, "%15s", info->device);
	} else if (!strcmp(line, "nnaccel-burst")) {
		info->burst = strtoull(value, NULL, 10);
	}
	for (size_t i = 0; i < NUM_FIELDS; i++)
		if (!strcmp(line, fields[i].key))
			info->values[i] = strtoull(value, NULL, 10);
}

/* Reads a file's fdinfo. Returns false if the file does not belong to the module. */
static bool read_info(FILE *file, struct info *info)
{
	char line[256];

	memset(info, 0, sizeof(*info));
	while (fgets(line, sizeof(line), file))
		take_line(info, line);
	return info->is_client;
}

static struct client *get_client(struct clients *clients, uint64_t id, const char *pid)
{
	struct client *c;

	for (size_t i = 0; i < clients->count; i++)
		if (clients->list[i].id == id)
			return &clients->list[i];
	if (clients->count == MAX_CLIENTS)
		return NULL;
	c = &clients->list[clients->count++];
	*c = (struct client){ .id = id, .pid = atol(pid) };
	clients_read_name(pid, c->name);
	return c;
}

static void add_info(struct clients *clients, const char *pid, const struct info *info)
{
	struct client *c = get_client(clients, info->id, pid);

	/* Add a context's counters only once, because a context may have several fds. */
	if (!c || (!info->burst && c->has_context))
		return;
	c->has_context |= !info->burst;
	if (!info->burst)
		strcpy(c->device, info->device);
	for (size_t i = 0; i < NUM_FIELDS; i++)
		if (fields[i].of_burst == (info->burst != 0))
			c->values[i] += info->values[i];
}

static void take_file(void *arg, const char *pid, FILE *file)
{
	struct info info;

	if (read_info(file, &info))
		add_info(arg, pid, &info);
}

/* Reads all clients that this user may see; returns false without /proc. */
static bool read_clients(struct clients *clients)
{
	clients->count = 0;
	return clients_each_file(take_file, clients);
}

/* Returns the value that the table shows for a counter; times are in milliseconds. */
static uint64_t in_table(const struct field *field, uint64_t value)
{
	return strstr(field->name, "_ns") ? value / 1000000 : value;
}

static void print_table(const struct clients *clients)
{
	printf("%6s %7s %-*s %-10s", "CLIENT", "PID", CLIENT_NAME_SIZE, "NAME", "DEVICE");
	for (size_t i = 0; i < NUM_FIELDS; i++)
		if (fields[i].title)
			printf(" %9s", fields[i].title);
	putchar('\n');
	for (size_t k = 0; k < clients->count; k++) {
		const struct client *c = &clients->list[k];
		char name[CLIENT_NAME_SIZE + 1];

		strcpy(name, c->name);
		tool_make_plain(name);
		printf("%6" PRIu64 " %7ld %-*s %-10s", c->id, c->pid, CLIENT_NAME_SIZE, name,
		       c->device);
		for (size_t i = 0; i < NUM_FIELDS; i++)
			if (fields[i].title)
				printf(" %9" PRIu64, in_table(&fields[i], c->values[i]));
		putchar('\n');
	}
}

/* Prints a label's value, with quotes and backslashes escaped. */
static void print_label(const char *text)
{
	char plain[CLIENT_NAME_SIZE + 1];

	strcpy(plain, text);
	tool_make_plain(plain);
	putchar('"');
	for (const char *c = plain; *c; c++)
		printf(*c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
	putchar('"');
}

/* Prints all clients in one line of JSON, so that repeated printing makes a stream of lines. */
static void print_json(const struct clients *clients)
{
	printf("{\"clients\": [");
	for (size_t k = 0; k < clients->count; k++) {
		const struct client *c = &clients->list[k];

		printf("%s{\"id\": %" PRIu64 ", \"pid\": %ld, \"name\": ", k ? ", " : "", c->id,
		       c->pid);
		tool_json_string(c->name);
		printf(", \"device\": ");
		tool_json_string(c->device);
		for (size_t i = 0; i < NUM_FIELDS; i++)
			printf(", \"%s\": %" PRIu64, fields[i].name, c->values[i]);
		putchar('}');
	}
	puts("]}");
}

/*
 * Prints the counters as OpenMetrics, for exporters of Prometheus. Each counter has one series for
 * each client id, because a process may be several clients.
 */
static void print_openmetrics(const struct clients *clients)
{
	for (size_t i = 0; i < NUM_FIELDS; i++) {
		const char *suffix = fields[i].is_gauge ? "" : "_total";

		printf("# TYPE nnaccel_client_%s %s\n# HELP nnaccel_client_%s %s of fdinfo.\n",
		       fields[i].name, fields[i].is_gauge ? "gauge" : "counter", fields[i].name,
		       fields[i].key);
		for (size_t k = 0; k < clients->count; k++) {
			const struct client *c = &clients->list[k];

			printf("nnaccel_client_%s%s{client=\"%" PRIu64 "\",pid=\"%ld\",name=",
			       fields[i].name, suffix, c->id, c->pid);
			print_label(c->name);
			printf("} %" PRIu64 "\n", c->values[i]);
		}
	}
	puts("# EOF");
}

/* Returns whether the machine has a device of the module, which may have clients. */
static bool has_device(void)
{
	struct nn_error err;
	uint32_t count = 0;

	return nna_device_list(NULL, sizeof(struct nna_device_entry), &count, &err) || count;
}

static int show(bool once, enum format format, uint64_t interval_ms)
{
	const struct timespec pause = { (time_t)(interval_ms / 1000),
					(long)(interval_ms % 1000) * 1000000 };
	static void (*const print[])(const struct clients *clients) = {
		[TABLE] = print_table,
		[JSON] = print_json,
		[OPENMETRICS] = print_openmetrics,
	};
	bool redraw = !once && format == TABLE && isatty(STDOUT_FILENO);
	struct clients *clients;
	int status = TOOL_OK;

	if (once && !has_device())
		return tool_fail("stat", "there is no device; nnaccel doctor tells why");
	clients = malloc(sizeof(*clients));
	if (!clients)
		return tool_fail("stat", "out of memory");
	do {
		if (!read_clients(clients)) {
			status = tool_fail("stat", "/proc cannot be read");
			break;
		}
		if (redraw)
			fputs("\033[H\033[2J", stdout);
		print[format](clients);
		fflush(stdout);
	} while (!once && !ferror(stdout) && !nanosleep(&pause, NULL));
	free(clients);
	return status;
}

struct arguments {
	bool once, json, openmetrics, help;
	uint64_t interval_ms;
};

int tool_stat(int argc, char **argv)
{
	static const struct option_row options[] = {
		{ "once", NULL, "print once (default: until interrupted)", OPTION_FLAG,
		  OPTION_AT(struct arguments, once) },
		{ "json", NULL, "print JSON, a line each time", OPTION_FLAG,
		  OPTION_AT(struct arguments, json) },
		{ "openmetrics", NULL, "print once, in the format of Prometheus", OPTION_FLAG,
		  OPTION_AT(struct arguments, openmetrics) },
		{ "interval", "MS", "time between two reports (default " OPTION_STRING(DEFAULT_INTERVAL_MS) ")",
		  OPTION_UINT64, OPTION_AT(struct arguments, interval_ms), .min = 10,
		  .max = 3600000 },
		{ "help", NULL, "print this help", OPTION_STOP, OPTION_AT(struct arguments, help) },
		{ 0 },
	};
	static const struct tool_command command = {
		.name = "stat",
		.about = "stat [OPTION]...\n\n"
		"Shows what each client of the devices does that this user may see.\n"
		"E- columns are what the engine says of its side of bursts, W-KIB\n"
		"and X-KIB what it says that models keep and an execution of each\n"
		"takes. D-KIB is memory of the device itself, and D-MS the time that\n"
		"executions took there.\n",
		.options = options,
		.help = offsetof(struct arguments, help),
	};
	struct arguments a = { .interval_ms = DEFAULT_INTERVAL_MS };
	int status = tool_options(&command, argc, argv, &a, NULL);

	if (status != TOOL_GO_ON)
		return status;
	if (a.json && a.openmetrics)
		return tool_usage("stat", "--json and --openmetrics exclude each other");
	return show(a.once || a.openmetrics, a.json ? JSON : a.openmetrics ? OPENMETRICS : TABLE,
		    a.interval_ms);
}
