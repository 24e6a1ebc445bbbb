/* SPDX-License-Identifier: MIT */
/*
 * nnaccel info: prints the module, device, limits, memory of models, performance figures and
 * operations, as text or JSON.
 */
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/nnaccel.h>
#include <ops/op.h>

#include "models.h"
#include "tool.h"

#define NUM_FIGURES (NN_TYPE_COUNT + 4)

struct report {
	const char *path;
	struct nna_device_entry devices[NNA_MAX_DEVICES];
	uint32_t num_devices;
	struct nna_context_info context;
	bool has_device;
	struct nn_device_info device;
	const struct nn_device_extension *extensions;
	uint32_t num_extensions;
	struct client_models models;
};

struct figure {
	const char *name;
	const struct nn_performance *value;
};

struct number {
	const char *name;
	const char *label;
	const char *unit;
	uint64_t value;
};

static const char *engine_state(uint32_t state)
{
	static const char *const names[] = {
		[NNACCEL_ENGINE_ABSENT] = "absent",
		[NNACCEL_ENGINE_PENDING] = "ready",
		[NNACCEL_ENGINE_ATTACHED] = "attached",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

/*
 * Describes how a device accesses memory, as text or in JSON; NULL if the engine does not report
 * the access.
 */
static const char *memory_way(uint32_t memory, bool json)
{
	static const char *const names[][2] = {
		[NN_DEVICE_MEMORY_DMA_BUF] = { "imported as dma-bufs", "dma-buf" },
		[NN_DEVICE_MEMORY_ADDRESS] = { "imported by address", "address" },
		[NN_DEVICE_MEMORY_COPIED] = { "copied", "copied" },
	};

	return memory < sizeof(names) / sizeof(names[0]) ? names[memory][json] : NULL;
}

/* Lists the performance figures that the device reports; returns the number of figures. */
static size_t get_figures(const struct nn_device_info *d, struct figure *figures)
{
	const struct figure rest[] = {
		{ "relaxed scalars", &d->relaxed_scalar },
		{ "relaxed tensors", &d->relaxed_tensor },
		{ "IF", &d->if_performance },
		{ "WHILE", &d->while_performance },
	};
	size_t count = 0;

	for (int32_t i = 0; i < NN_TYPE_COUNT; i++)
		if (d->operand[i].exec_time < FLT_MAX)
			figures[count++] = (struct figure){ nn_type_name(i), &d->operand[i] };
	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++)
		if (rest[i].value->exec_time < FLT_MAX)
			figures[count++] = rest[i];
	return count;
}

static bool has_operation(const struct nn_device_info *d, int32_t code)
{
	return d->operations[code / 8] >> (code % 8) & 1;
}

static size_t get_limits(const struct nna_context_info *c, struct number *n)
{
	const struct number limits[] = {
		{ "pools", "pools", "", c->max_pools },
		{ "models", "models", "", c->max_models },
		{ "commands", "commands in flight", "", c->max_commands },
		{ "pool_bytes", "a pool", " bytes", c->max_pool_bytes },
		{ "context_bytes", "a client", " bytes", c->max_context_bytes },
		{ "user_bytes", "a user", " bytes", c->max_user_bytes },
	};
	size_t count = sizeof(limits) / sizeof(limits[0]);

	for (size_t i = 0; i < count; i++)
		n[i] = limits[i];
	return count;
}

static size_t get_usage(const struct nna_context_info *c, struct number *n)
{
	const struct number usage[] = {
		{ "pool_bytes", "allocated", " bytes", c->pool_bytes },
		{ "import_bytes", "imported", " bytes", c->import_bytes },
		{ "executions", "executions", "", c->executions },
		{ "engine_ns", "engine time", " ns", c->engine_ns },
	};
	size_t count = sizeof(usage) / sizeof(usage[0]);

	for (size_t i = 0; i < count; i++)
		n[i] = usage[i];
	return count;
}

static void text_numbers(const char *title, const struct number *n, size_t count)
{
	printf("\n%s\n", title);
	for (size_t i = 0; i < count; i++)
		printf("  %-18s %" PRIu64 "%s\n", n[i].label, n[i].value, n[i].unit);
}

/* Returns the memory of a model during one execution of the model. */
static uint64_t peak_kib(const struct client_model *m)
{
	return m->weights_kib + m->execution_kib;
}

static void text_models(const struct client_models *models)
{
	uint64_t total = 0;

	printf("\nMemory of models (of clients that this user may see), in KiB\n");
	if (!models->count) {
		printf("  none is prepared\n");
		return;
	}
	printf("  %6s %7s %-*s %6s %9s %9s %9s\n", "CLIENT", "PID", CLIENT_NAME_SIZE, "NAME",
	       "MODEL", "WEIGHTS", "EXECUTION", "PEAK");
	for (size_t i = 0; i < models->count; i++) {
		const struct client_model *m = &models->list[i];
		char name[CLIENT_NAME_SIZE + 1];

		strcpy(name, m->name);
		tool_make_plain(name);
		printf("  %6" PRIu64 " %7ld %-*s %6" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64
		       "\n", m->client, m->pid, CLIENT_NAME_SIZE, name, m->id, m->weights_kib,
		       m->execution_kib, peak_kib(m));
		total += peak_kib(m);
	}
	printf("  %-*s %9" PRIu64 "\n", 6 + 1 + 7 + 1 + CLIENT_NAME_SIZE + 1 + 6 + 20, "all",
	       total);
}

static void text_operations(const struct nn_device_info *d)
{
	int column = 0;

	printf("\nOperations\n");
	for (int32_t code = 0; code < NN_DEVICE_OPERATIONS * 8; code++) {
		if (!has_operation(d, code))
			continue;
		column += printf("%s%s", column ? " " : "  ", nn_op_name(code));
		if (column > 60) {
			putchar('\n');
			column = 0;
		}
	}
	if (column)
		putchar('\n');
}

static void text_device(const struct nn_device_info *d)
{
	struct figure figures[NUM_FIGURES];
	size_t count = get_figures(d, figures);

	printf("\nPerformance (the CPU reference is 1; lower is better)\n");
	printf("  %-32s %6s %6s\n", "", "time", "power");
	for (size_t i = 0; i < count; i++)
		printf("  %-32s %6.3f %6.3f\n", figures[i].name,
		       (double)figures[i].value->exec_time, (double)figures[i].value->power_usage);
	text_operations(d);
}

static void text_extensions(const struct report *r)
{
	printf("\nExtensions\n");
	if (!r->num_extensions)
		printf("  none for this client\n");
	for (uint32_t i = 0; i < r->num_extensions; i++) {
		const struct nn_device_extension *e = &r->extensions[i];

		printf("  %s, version %u%s\n", e->name, e->version,
		       e->has_oem_operation ? ", with the OEM operation" : "");
		for (uint32_t k = 0; k < e->num_types; k++)
			printf("    type %-5u       %s, %s of %u bytes\n", e->types[k].code,
			       e->types[k].name, e->types[k].is_tensor ? "elements" : "scalar",
			       e->types[k].element_size);
		for (uint32_t k = 0; k < e->num_operations; k++)
			printf("    operation %-5u  %s\n", e->operations[k].code,
			       e->operations[k].name);
	}
}

static const char *entry_state(const struct nna_device_entry *entry)
{
	return entry->is_ready ? "ready" : "absent";
}

static void text_devices(const struct report *r)
{
	printf("Devices\n  %-16s %-24s %-12s %-7s %s\n", "NODE", "NAME", "TYPE", "STATE",
	       "VERSION");
	for (uint32_t i = 0; i < r->num_devices; i++) {
		const struct nna_device_entry *d = &r->devices[i];

		printf("  %-16s %-24s %-12s %-7s %s\n", d->path, d->name[0] ? d->name : "-",
		       tool_device_type(d->type), entry_state(d), d->version[0] ? d->version : "-");
	}
	putchar('\n');
}

static void print_text(const struct report *r)
{
	struct number numbers[8];

	text_devices(r);
	printf("Device          %s\n", r->path);
	printf("Module          interface version %u\n", r->context.abi);
	printf("Engine          %s\n", engine_state(r->context.engine));
	if (r->has_device) {
		printf("Version         %s\n", r->device.version);
		printf("Type            %s\n", tool_device_type(r->device.type));
		printf("Feature level   %u\n", r->device.feature_level);
		printf("Cache files     %u model, %u data\n", r->device.model_cache_files,
		       r->device.data_cache_files);
		if (memory_way(r->device.memory, false))
			printf("Memory          %s; the CPU copied %" PRIu64 " arguments\n",
			       memory_way(r->device.memory, false), r->device.copies);
	}
	text_numbers("Limits", numbers, get_limits(&r->context, numbers));
	text_numbers("In use by this client", numbers, get_usage(&r->context, numbers));
	text_models(&r->models);
	if (r->has_device) {
		text_device(&r->device);
		text_extensions(r);
	}
}

static void json_numbers(const char *name, const struct number *n, size_t count)
{
	printf(",\n  \"%s\": {", name);
	for (size_t i = 0; i < count; i++)
		printf("%s\n    \"%s\": %" PRIu64, i ? "," : "", n[i].name, n[i].value);
	printf("\n  }");
}

static void json_devices(const struct report *r)
{
	printf(",\n  \"devices\": [");
	for (uint32_t i = 0; i < r->num_devices; i++) {
		const struct nna_device_entry *d = &r->devices[i];

		printf("%s\n    { \"path\": ", i ? "," : "");
		tool_json_string(d->path);
		printf(", \"name\": ");
		tool_json_string(d->name);
		printf(", \"type\": \"%s\", \"state\": \"%s\", \"version\": ",
		       tool_device_type(d->type), entry_state(d));
		tool_json_string(d->version);
		printf(" }");
	}
	printf("%s]", r->num_devices ? "\n  " : "");
}

static void json_models(const struct client_models *models)
{
	uint64_t total = 0;

	printf(",\n  \"models\": [");
	for (size_t i = 0; i < models->count; i++) {
		const struct client_model *m = &models->list[i];

		printf("%s\n    { \"client\": %" PRIu64 ", \"pid\": %ld, \"name\": ", i ? "," : "",
		       m->client, m->pid);
		tool_json_string(m->name);
		printf(", \"model\": %" PRIu64 ", \"weights_kib\": %" PRIu64
		       ", \"execution_kib\": %" PRIu64 ", \"peak_kib\": %" PRIu64 " }", m->id,
		       m->weights_kib, m->execution_kib, peak_kib(m));
		total += peak_kib(m);
	}
	printf("%s],\n  \"models_peak_kib\": %" PRIu64, models->count ? "\n  " : "", total);
}

static void json_items(const char *name, const struct nn_device_extension_item *items,
		       uint32_t count)
{
	printf(",\n        \"%s\": [", name);
	for (uint32_t i = 0; i < count; i++) {
		printf("%s\n          { \"code\": %u, \"name\": ", i ? "," : "", items[i].code);
		tool_json_string(items[i].name);
		if (items[i].element_size)
			printf(", \"tensor\": %s, \"element_size\": %u",
			       items[i].is_tensor ? "true" : "false", items[i].element_size);
		printf(" }");
	}
	printf("%s]", count ? "\n        " : "");
}

static void json_extensions(const struct report *r)
{
	printf(",\n    \"extensions\": [");
	for (uint32_t i = 0; i < r->num_extensions; i++) {
		const struct nn_device_extension *e = &r->extensions[i];

		printf("%s\n      {\n        \"name\": ", i ? "," : "");
		tool_json_string(e->name);
		printf(",\n        \"version\": %u,\n        \"oem_operation\": %s",
		       e->version, e->has_oem_operation ? "true" : "false");
		json_items("types", e->types, e->num_types);
		json_items("operations", e->operations, e->num_operations);
		printf("\n      }");
	}
	printf("%s]", r->num_extensions ? "\n    " : "");
}

static void json_device(const struct report *r)
{
	const struct nn_device_info *d = &r->device;
	struct figure figures[NUM_FIGURES];
	size_t count = get_figures(d, figures);
	const char *comma = "";

	printf("{\n    \"version\": ");
	tool_json_string(d->version);
	printf(",\n    \"type\": \"%s\",\n    \"feature_level\": %u,\n"
	       "    \"model_cache_files\": %u,\n    \"data_cache_files\": %u,\n",
	       tool_device_type(d->type), d->feature_level, d->model_cache_files,
	       d->data_cache_files);
	if (memory_way(d->memory, true))
		printf("    \"memory\": \"%s\",\n    \"copies\": %" PRIu64 ",\n",
		       memory_way(d->memory, true), d->copies);
	printf("    \"performance\": {");
	for (size_t i = 0; i < count; i++)
		printf("%s\n      \"%s\": { \"time\": %g, \"power\": %g }", i ? "," : "",
		       figures[i].name, (double)figures[i].value->exec_time,
		       (double)figures[i].value->power_usage);
	printf("\n    },\n    \"operations\": [");
	for (int32_t code = 0; code < NN_DEVICE_OPERATIONS * 8; code++) {
		if (!has_operation(d, code))
			continue;
		printf("%s\n      \"%s\"", comma, nn_op_name(code));
		comma = ",";
	}
	printf("\n    ]");
	json_extensions(r);
	printf("\n  }");
}

static void print_json(const struct report *r)
{
	struct number numbers[8];

	printf("{\n  \"path\": ");
	tool_json_string(r->path);
	printf(",\n  \"abi\": %u,\n  \"engine\": \"%s\"", r->context.abi,
	       engine_state(r->context.engine));
	json_numbers("limits", numbers, get_limits(&r->context, numbers));
	json_numbers("usage", numbers, get_usage(&r->context, numbers));
	json_devices(r);
	json_models(&r->models);
	printf(",\n  \"device\": ");
	if (r->has_device)
		json_device(r);
	else
		printf("null");
	printf("\n}\n");
}

/*
 * Finds the path of a device by the device's name. If no device has the name, prints a message and
 * returns false.
 */
static bool find_named(struct report *report, const char *name)
{
	for (uint32_t i = 0; i < report->num_devices; i++) {
		if (!strcmp(report->devices[i].name, name)) {
			report->path = report->devices[i].path;
			return true;
		}
	}
	tool_fail("info", "no device is named %s", name);
	return false;
}

/*
 * Shows the device's information; if no engine describes the device, shows only the module's
 * information.
 */
static int show(const char *path, const char *name, bool json)
{
	struct report report = {
		.path = path,
		.num_devices = NNA_MAX_DEVICES,
		.context.size = sizeof(report.context),
		.device.size = sizeof(report.device),
	};
	struct nn_error err = { "" };
	struct nna_device *device;
	enum nn_status status;

	if (nna_device_list(report.devices, sizeof(report.devices[0]), &report.num_devices, &err))
		return tool_fail("info", "%s", err.message);
	if (report.num_devices > NNA_MAX_DEVICES)
		report.num_devices = NNA_MAX_DEVICES;
	if (name && !find_named(&report, name))
		return TOOL_FAILED;
	if (nna_device_open(report.path, &device, &err))
		return tool_fail("info", "%s", err.message);
	status = nna_device_get_info(device, &report.device, &err);
	if (!status)
		status = nna_device_get_extensions(device, &report.extensions,
						   &report.num_extensions, &err);
	report.has_device = !status;
	if (nna_device_get_context_info(device, &report.context, &err)) {
		nna_device_close(device);
		return tool_fail("info", "%s", err.message);
	}
	if (!models_read(&report.models))
		tool_fail("info", "the memory of models cannot be read: no /proc, or too little memory");
	if (json)
		print_json(&report);
	else
		print_text(&report);
	free(report.models.list);
	nna_device_close(device);
	return status ? tool_fail("info", "%s", err.message) : TOOL_OK;
}

struct arguments {
	const char *path, *name;
	bool json, help;
};

int tool_info(int argc, char **argv)
{
	static const struct option_row options[] = {
		{ "json", NULL, "JSON instead of text", OPTION_FLAG,
		  OPTION_AT(struct arguments, json) },
		{ "device", "PATH", "path of the device (default " NNA_DEVICE_PATH ")", OPTION_TEXT,
		  OPTION_AT(struct arguments, path) },
		{ "name", "NAME", "the engine whose device to show", OPTION_TEXT,
		  OPTION_AT(struct arguments, name) },
		{ "help", NULL, "print this help", OPTION_STOP, OPTION_AT(struct arguments, help) },
		{ 0 },
	};
	static const struct tool_command command = {
		.name = "info",
		.about = "info [OPTION]...\n\n"
		"Shows the devices, the module, its limits, what memory the prepared models of all\n"
		"clients take that this user may see (packed weights, arena and scratch\n"
		"memory of one execution, and both: the peak) and, with an engine, one\n"
		"device.\n",
		.options = options,
		.help = offsetof(struct arguments, help),
	};
	struct arguments a = { .path = NULL };
	int status = tool_options(&command, argc, argv, &a, NULL);

	if (status != TOOL_GO_ON)
		return status;
	if (a.path && a.name)
		return tool_usage("info", "--device and --name exclude each other");
	return show(a.path ? a.path : NNA_DEVICE_PATH, a.name, a.json);
}
