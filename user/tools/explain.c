/* SPDX-License-Identifier: MIT */
/*
 * nnaccel explain: loads a model into its runtime with the plug-in for the device, and shows the
 * plug-in's report (clients/report.h). The report says where each operation runs, or why the device
 * cannot run the operation.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tool.h"
#include "tools/runtime/runtime.h"

struct operation {
	char *line;	/* memory of the report's line, into which `op`, `name` and `why` point */
	const char *op, *name, *why;
	int part;	/* index of the operation's part; -1: the runtime computes the operation */
	uint64_t multiply_adds;
};

struct part {
	int number;			/* number of the part in the plug-in's report */
	uint32_t operations;
	uint64_t in, out, constants;
};

struct model {
	const char *path, *device;
	bool estimated;			/* true if the CPU device replaces a missing device */
	char runtime[64];
	struct operation *operations;
	struct part *parts;
	uint32_t num_operations, num_parts, on_device;
	uint64_t multiply_adds, on_device_adds;
};

/* ---- reading what the plug-in wrote ---- */

/* Returns the next field of a line of the report; NULL after the last field. */
static const char *field(char **rest)
{
	return strsep(rest, "\t");
}

static uint64_t number(char **rest)
{
	const char *text = field(rest);

	return text ? strtoull(text, NULL, 10) : 0;
}

static bool add_operation(struct model *m, char *line, char *rest)
{
	struct operation *more = realloc(m->operations, (m->num_operations + 1) * sizeof(*more)), *o;
	const char *part = field(&rest);

	if (!more || !part)
		return false;
	m->operations = more;
	o = &more[m->num_operations++];
	*o = (struct operation){ .line = line, .part = *part == '-' ? -1 : atoi(part) };
	o->op = field(&rest);
	o->name = field(&rest);
	o->multiply_adds = number(&rest);
	o->why = field(&rest);
	if (!o->op || !o->name || !o->why)
		return false;
	tool_make_plain((char *)o->op);
	tool_make_plain((char *)o->name);
	tool_make_plain((char *)o->why);
	return true;
}

static bool add_part(struct model *m, char *rest)
{
	struct part *more = realloc(m->parts, (m->num_parts + 1) * sizeof(*more)), *p;

	if (!more)
		return false;
	m->parts = more;
	p = &more[m->num_parts++];
	*p = (struct part){ .number = (int)number(&rest) };
	p->in = number(&rest);
	p->out = number(&rest);
	p->constants = number(&rest);
	return true;
}

/*
 * Converts the part numbers in the plug-in's report, which have gaps, to indices, and counts the
 * operations of each part.
 */
static void sum_up(struct model *m)
{
	for (uint32_t i = 0; i < m->num_operations; i++) {
		struct operation *o = &m->operations[i];
		int part = -1;

		m->multiply_adds += o->multiply_adds;
		for (uint32_t p = 0; o->part >= 0 && p < m->num_parts; p++)
			if (m->parts[p].number == o->part)
				part = (int)p;
		o->part = part;
		if (part < 0)
			continue;
		m->parts[part].operations++;
		m->on_device++;
		m->on_device_adds += o->multiply_adds;
	}
}

static bool read_report(struct model *m, FILE *file)
{
	char *line = NULL;
	size_t room = 0;
	bool good = true;

	while (good && getline(&line, &room, file) > 0) {
		char *rest = line, *kept = NULL;
		const char *kind;

		line[strcspn(line, "\n")] = '\0';
		kind = field(&rest);
		if (!strcmp(kind, "node")) {
			kept = rest ? strdup(rest) : NULL;
			good = kept && add_operation(m, kept, kept);
		} else if (!strcmp(kind, "part")) {
			good = add_part(m, rest);
		}
	}
	free(line);
	sum_up(m);
	return good && m->num_operations;
}

/* ---- showing it ---- */

static double percent(const struct model *m)
{
	return 100.0 * (double)m->on_device_adds / (double)m->multiply_adds;
}

static const char *runtime_short(const struct model *m, char name[64])
{
	snprintf(name, 64, "%s", m->runtime);
	if (strrchr(name, ' '))
		*strrchr(name, ' ') = '\0';
	return name;
}

static const char *bytes(uint64_t count, char text[32])
{
	if (count < 10000)
		snprintf(text, 32, "%" PRIu64 " bytes", count);
	else if (count < 10000000)
		snprintf(text, 32, "%.1f kB", (double)count / 1e3);
	else
		snprintf(text, 32, "%.1f MB", (double)count / 1e6);
	return text;
}

static void print_text(const struct model *m)
{
	char runtime[64], in[32], out[32], constants[32];

	printf("%s: %" PRIu32 " operations, %.1f million multiply-adds, on %s\n\n", m->path,
	       m->num_operations, (double)m->multiply_adds / 1e6, m->runtime);
	printf("%-20s %-24s %9s  %s\n", "operation", "name", "million", "where");
	for (uint32_t i = 0; i < m->num_operations; i++) {
		const struct operation *o = &m->operations[i];

		printf("%-20s %-24s %9.2f  ", o->op, o->name, (double)o->multiply_adds / 1e6);
		if (o->part >= 0)
			printf("%s, partition %d\n", m->device, o->part + 1);
		else
			printf("%s: %s\n", runtime_short(m, runtime), o->why);
	}
	putchar('\n');
	for (uint32_t i = 0; i < m->num_parts; i++) {
		const struct part *p = &m->parts[i];

		printf("partition %" PRIu32 ": %" PRIu32 " operations, %s of constants; a run copies %s in and "
		       "%s out\n", i + 1, p->operations, bytes(p->constants, constants), bytes(p->in, in),
		       bytes(p->out, out));
	}
	if (m->estimated)
		printf("There is no device but the CPU: this is estimated.\n");
	printf("%" PRIu32 " of %" PRIu32 " operations ", m->on_device, m->num_operations);
	if (m->multiply_adds)
		printf("(%.1f %% of multiply-adds) ", percent(m));
	printf("on %s in %" PRIu32 " partition%s\n", m->device, m->num_parts, m->num_parts == 1 ? "" : "s");
}

static void json_text(const char *key, const char *text)
{
	printf("\"%s\": ", key);
	if (text)
		tool_json_string(text);
	else
		printf("null");
}

static void print_json(const struct model *m)
{
	putchar('{');
	json_text("model", m->path);
	printf(", ");
	json_text("runtime", m->runtime);
	printf(", ");
	json_text("device", m->device);
	printf(", \"estimated\": %s, \"on_device\": %" PRIu32 ", \"multiply_adds\": %" PRIu64
	       ", \"multiply_adds_on_device\": %" PRIu64 ",\n\"operations\": [",
	       m->estimated ? "true" : "false", m->on_device, m->multiply_adds, m->on_device_adds);
	for (uint32_t i = 0; i < m->num_operations; i++) {
		const struct operation *o = &m->operations[i];

		printf("%s\n\t{", i ? "," : "");
		json_text("operator", o->op);
		printf(", ");
		json_text("name", o->name);
		printf(", \"multiply_adds\": %" PRIu64 ", ", o->multiply_adds);
		if (o->part >= 0)
			printf("\"partition\": %d, ", o->part);
		else
			printf("\"partition\": null, ");
		json_text("reason", o->part >= 0 ? NULL : o->why);
		putchar('}');
	}
	printf("],\n\"partitions\": [");
	for (uint32_t i = 0; i < m->num_parts; i++) {
		const struct part *p = &m->parts[i];

		printf("%s\n\t{\"operations\": %" PRIu32 ", \"bytes_in\": %" PRIu64 ", \"bytes_out\": %" PRIu64
		       ", \"constant_bytes\": %" PRIu64 "}", i ? "," : "", p->operations, p->in, p->out,
		       p->constants);
	}
	puts("]}");
}

/* ---- asking the runtime ---- */

struct arguments {
	const char *device, *library;
	struct runtime_shapes shapes;
	bool json, help;
};

static bool load(struct model *m, const struct arguments *a, char error[RUNTIME_ERROR])
{
	struct runtime_options options = { .library = a->library, .device = m->device, .shapes = &a->shapes };
	int fd = memfd_create("nnaccel-explain", MFD_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	struct runtime *runtime;
	char path[64];
	bool good;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	options.report = path;
	if (!file) {
		snprintf(error, RUNTIME_ERROR, "%s", strerror(errno));
		return false;
	}
	runtime = runtime_open(m->path, &options, error);
	if (runtime)
		snprintf(m->runtime, sizeof(m->runtime), "%s", runtime->name);
	runtime_close(runtime);
	good = runtime && read_report(m, file);
	if (runtime && !good)
		snprintf(error, RUNTIME_ERROR, "%s: the plug-in was not asked about the model", m->path);
	fclose(file);
	return good;
}

static int explain(struct model *m, const struct arguments *a)
{
	char error[RUNTIME_ERROR];
	bool good = load(m, a, error);

	if (good && a->json)
		print_json(m);
	else if (good)
		print_text(m);
	for (uint32_t i = 0; i < m->num_operations; i++)
		free(m->operations[i].line);
	free(m->operations);
	free(m->parts);
	return good ? TOOL_OK : tool_fail("explain", "%s", error);
}

int tool_explain(int argc, char **argv)
{
	struct arguments a = { 0 };
	static const struct option_row options[] = {
		{ "shape", "INPUT=DIMENSIONS", "the shape of an input, as x=1,3,224,224; may be repeated",
		  OPTION_CALL, OPTION_AT(struct arguments, shapes), .take = runtime_take_shape },
		{ "json", NULL, "JSON instead of text", OPTION_FLAG, OPTION_AT(struct arguments, json) },
		{ "device", "NAME", "a device of the NNAPI (default: the first that is not the CPU)",
		  OPTION_TEXT, OPTION_AT(struct arguments, device) },
		{ "runtime", "LIBRARY", "the runtime's library (default: the one that the loader finds)",
		  OPTION_TEXT, OPTION_AT(struct arguments, library) },
		{ "help", NULL, "print this help", OPTION_STOP, OPTION_AT(struct arguments, help) },
		{ 0 },
	};
	static const struct tool_command command = {
		.name = "explain",
		.about = "explain [OPTION]... MODEL\n\n"
		"Shows where the operations of a model go: to the device, or why they stay with the\n"
		"runtime. MODEL is a file for ONNX Runtime (1.23 or later) or TensorFlow Lite. The model\n"
		"is loaded into its runtime with the plug-in, and not run. Without a device the NNAPI's\n"
		"CPU is asked: the answer is estimated.\n",
		.options = options,
		.help = offsetof(struct arguments, help),
		.has_action = true,
	};
	struct model m = { 0 };
	char known[256];
	int status = tool_options(&command, argc, argv, &a, &m.path);

	if (status != TOOL_GO_ON)
		return status;
	if (!m.path)
		return tool_usage("explain", "a model is missing");
	m.device = tool_find_device(a.device, known, sizeof(known));
	if (!m.device && a.device)
		return tool_fail("explain", "there is no device %s, only %s", a.device, known);
	m.estimated = !m.device || !strcmp(m.device, TOOL_CPU);
	m.device = m.device ? m.device : TOOL_CPU;
	return explain(&m, &a);
}
