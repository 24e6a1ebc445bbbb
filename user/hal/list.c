/* SPDX-License-Identifier: MIT */
/*
 * Lists the devices in /sys/class/nnaccel.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nnaccel/engine_model.h>

#include "base/sized.h"
#include "device.h"
#include "error.h"

#define CLASS "/sys/class/nnaccel"

/*
 * Reads a file of a device's folder in sysfs into `text`, without the newline. If the file cannot
 * be read, `text` becomes empty.
 */
static void read_attribute(const char *node, const char *attribute, char *text, size_t size)
{
	char path[300];
	FILE *file;

	text[0] = 0;
	snprintf(path, sizeof(path), CLASS "/%.200s/%s", node, attribute);
	file = fopen(path, "re");
	if (!file)
		return;
	if (!fgets(text, (int)size, file))
		text[0] = 0;
	text[strcspn(text, "\n")] = 0;
	fclose(file);
}

static uint32_t parse_type(const char *text)
{
	static const char *const names[] = {
		[NN_DEVICE_OTHER] = "other",
		[NN_DEVICE_CPU] = "cpu",
		[NN_DEVICE_GPU] = "gpu",
		[NN_DEVICE_ACCELERATOR] = "accelerator",
	};

	for (uint32_t i = NN_DEVICE_OTHER; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], text))
			return i;
	return 0;
}

static void read_entry(const char *node, struct nna_device_entry *entry)
{
	char type[32], state[32];

	memset(entry, 0, sizeof(*entry));
	snprintf(entry->path, sizeof(entry->path), "/dev/%.24s", node);
	read_attribute(node, "name", entry->name, sizeof(entry->name));
	read_attribute(node, "version", entry->version, sizeof(entry->version));
	read_attribute(node, "type", type, sizeof(type));
	read_attribute(node, "state", state, sizeof(state));
	entry->type = parse_type(type);
	entry->is_ready = !strcmp(state, "ready");
}

/* Compares the names of two devices by the number at the name's end; "nnaccel" has number 0. */
static int by_number(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

static int is_device(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "nnaccel", strlen("nnaccel"));
}

/* Copies a device's entry to a caller's structure, which may have another size. */
static void put_entry(void *to, size_t size, const struct nna_device_entry *entry)
{
	memset(to, 0, size);
	memcpy(to, entry, size < sizeof(*entry) ? size : sizeof(*entry));
}

enum nn_status nna_device_list(struct nna_device_entry *entries, size_t entry_size,
			       uint32_t *count, struct nn_error *err)
{
	uint32_t room = *count;
	struct nna_device_entry entry;
	struct dirent **nodes;
	int found;

	nna_error_clear(err);
	if (entry_size < SIZE_WITH(struct nna_device_entry, is_ready))
		return nn_fail(err, NN_INVALID_ARGUMENT, "device list: the entry size is %zu "
			       "bytes, less than this library's smallest: pass sizeof the "
			       "structure", entry_size);
	found = scandir(CLASS, &nodes, is_device, by_number);
	if (found < 0 && errno == ENOMEM)
		return nn_fail(err, NN_OUT_OF_MEMORY, "device list: out of memory");
	*count = 0;
	/* Without sysfs, list only the first device. */
	if (found < 0 && !access(NNA_DEVICE_PATH, F_OK)) {
		memset(&entry, 0, sizeof(entry));
		strcpy(entry.path, NNA_DEVICE_PATH);
		entry.is_ready = 1;
		if (room)
			put_entry(entries, entry_size, &entry);
		*count = 1;
	}
	for (int i = 0; i < found; i++) {
		if (*count < room) {
			read_entry(nodes[i]->d_name, &entry);
			put_entry((char *)entries + *count * entry_size, entry_size, &entry);
		}
		++*count;
		free(nodes[i]);
	}
	if (found >= 0)
		free(nodes);
	return NN_OK;
}

enum nn_status nna_device_open_by_name(const char *name, struct nna_device **device,
				       struct nn_error *err)
{
	struct nna_device_entry entries[NNA_MAX_DEVICES];
	uint32_t count = NNA_MAX_DEVICES;
	enum nn_status status = nna_device_list(entries, sizeof(entries[0]), &count, err);

	for (uint32_t i = 0; !status && i < count && i < NNA_MAX_DEVICES; i++)
		if (name[0] && !strcmp(entries[i].name, name))
			return nna_device_open(entries[i].path, device, err);
	return status ? status : nn_fail(err, NN_DEVICE_UNAVAILABLE, "no device is named %s", name);
}
