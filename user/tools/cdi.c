/* SPDX-License-Identifier: MIT */
/*
 * nnaccel cdi: describes the devices in the format of the Container Device Interface, so that
 * containers get nodes and libraries from the host.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <android/NeuralNetworks.h>
#include <nnaccel/hardware_buffer.h>

#include "tool.h"

#define CLASS "/sys/class/nnaccel"

static int is_device(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "nnaccel", 7) &&
	       strspn(entry->d_name + 7, "0123456789") == strlen(entry->d_name + 7);
}

/* Returns the number of a device, which is 0 for "nnaccel" and 1 for "nnaccel1". */
static const char *number_of(const char *name)
{
	return name[7] ? name + 7 : "0";
}

static void print_node(const char *name, bool first)
{
	printf("%s{\"path\": \"/dev/%s\", \"permissions\": \"rw\"}", first ? "" : ", ", name);
}

/*
 * Reads the name of a device's engine. Returns false if the engine has no name, or if the name is a
 * number or "all", because numbers and "all" name other entries.
 */
static bool read_name(const char *device, char name[64])
{
	char path[PATH_MAX];
	FILE *file;
	bool has_line;

	snprintf(path, sizeof(path), CLASS "/%s/name", device);
	file = fopen(path, "re");
	if (!file)
		return false;
	has_line = fgets(name, 64, file);
	fclose(file);
	if (has_line)
		name[strcspn(name, "\n")] = 0;
	return has_line && name[strspn(name, "0123456789")] && strcmp(name, "all");
}

static void print_device(const char *name, const char *node)
{
	printf("    {\"name\": \"%s\", \"containerEdits\": {\"deviceNodes\": [", name);
	print_node(node, true);
	puts("]}},");
}

/*
 * Lists one entry for each device's number, one for each engine's name, and one for all devices
 * together.
 */
static void print_devices(struct dirent **names, int count)
{
	for (int i = 0; i < count; i++) {
		char name[64];

		print_device(number_of(names[i]->d_name), names[i]->d_name);
		if (read_name(names[i]->d_name, name))
			print_device(name, names[i]->d_name);
	}
	printf("    {\"name\": \"all\", \"containerEdits\": {\"deviceNodes\": [");
	for (int i = 0; i < count; i++)
		print_node(names[i]->d_name, i == 0);
	puts("]}}");
}

/*
 * Prints the mount of the library that contains a function, at the path where programs search for
 * the library.
 */
static bool print_mount(const void *function, bool first)
{
	char *real;
	Dl_info info;

	if (!dladdr(function, &info) || !info.dli_fname)
		return false;
	real = realpath(info.dli_fname, NULL);
	if (!real)
		return false;
	printf("%s      {\"hostPath\": ", first ? "" : ",\n");
	tool_json_string(real);
	printf(", \"containerPath\": ");
	tool_json_string(real);
	printf(", \"options\": [\"ro\", \"nosuid\", \"nodev\", \"bind\"]}");
	free(real);
	return true;
}

static int generate(void)
{
	const void *const functions[] = {
		(const void *)ANeuralNetworks_getRuntimeFeatureLevel,
		(const void *)nna_device_open,
		(const void *)AHardwareBuffer_allocate,
	};
	struct dirent **names;
	int count = scandir(CLASS, &names, is_device, versionsort);
	bool complete = true;

	if (count <= 0) {
		if (count == 0)
			free(names);
		return tool_fail("cdi", "there is no device: nnaccel doctor tells why");
	}
	printf("{\n  \"cdiVersion\": \"0.5.0\",\n  \"kind\": \"nnaccel.dev/npu\",\n"
	       "  \"devices\": [\n");
	print_devices(names, count);
	printf("  ],\n  \"containerEdits\": {\n    \"mounts\": [\n");
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		complete &= print_mount(functions[i], i == 0);
	printf("\n    ]\n  }\n}\n");
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	return complete ? TOOL_OK : tool_fail("cdi", "the libraries are not found");
}

int tool_cdi(int argc, char **argv)
{
	struct arguments {
		bool help;
	} a = { false };
	static const struct option_row options[] = {
		{ "help", NULL, "print this help", OPTION_STOP, OPTION_AT(struct arguments, help) },
		{ 0 },
	};
	static const struct tool_command command = {
		.name = "cdi",
		.about = "cdi [OPTION]... [generate]\n\n"
		"Prints the description of the devices for containers, to be put into\n"
		"/etc/cdi/nnaccel.json: podman run --device nnaccel.dev/npu=0 then gives a\n"
		"container the device and the libraries, as does npu=NAME with its engine's name.\n",
		.options = options,
		.help = offsetof(struct arguments, help),
		.has_action = true,
	};
	const char *action = NULL;
	int status = tool_options(&command, argc, argv, &a, &action);

	if (status != TOOL_GO_ON)
		return status;
	if (action && strcmp(action, "generate"))
		return tool_usage("cdi", "no action '%s' (there is generate)", action);
	return generate();
}
