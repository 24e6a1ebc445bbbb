/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "clients/lower/constants.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A mapping of this process, from a line of /proc/self/maps. */
struct mapping {
	uintptr_t start, end;
	uint64_t offset;
	dev_t device;
	ino_t inode;
	char path[4096];
};

/*
 * Finds the mapping that contains the address `at`. Returns true if the mapping is a read-only
 * mapping of a file.
 */
static bool find_mapping(uintptr_t at, struct mapping *m)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char *line = NULL;
	size_t size = 0;
	bool found = false;

	while (maps && !found && getline(&line, &size, maps) > 0) {
		unsigned int major, minor;
		unsigned long inode;
		char mode[5];

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %x:%x %lu %4095[^\n]",
			   &m->start, &m->end, mode, &m->offset, &major, &minor, &inode,
			   m->path) != 8)
			continue;
		m->device = makedev(major, minor);
		m->inode = inode;
		found = at >= m->start && at < m->end && mode[0] == 'r' && mode[1] == '-' && inode;
	}
	free(line);
	if (maps)
		fclose(maps);
	return found;
}

/*
 * Opens a mapped file again by its path. Returns -1 if the file cannot be opened, or if the path
 * now names another file.
 */
static int open_mapped(const struct mapping *m)
{
	int fd = open(m->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_dev == m->device &&
	    st.st_ino == m->inode && (uint64_t)st.st_size > m->offset)
		return fd;
	close(fd);
	return -1;
}

static void of_file(struct constants *c, uintptr_t at)
{
	struct mapping m;
	struct stat st;
	uint64_t size;
	int fd;

	if (!find_mapping(at, &m))
		return;
	fd = open_mapped(&m);
	if (fd < 0)
		return;
	size = m.end - m.start;
	if (!fstat(fd, &st) && (uint64_t)st.st_size - m.offset < size)
		size = (uint64_t)st.st_size - m.offset;
	if (ANeuralNetworksMemory_createFromFd(size, PROT_READ, fd, m.offset, &c->memory) ==
	    ANEURALNETWORKS_NO_ERROR) {
		c->start = m.start;
		c->end = m.start + size;
	}
	close(fd);
}

static void of_zeros(struct constants *c)
{
	int fd = memfd_create("nnaccel-constants", MFD_CLOEXEC);

	if (fd < 0)
		return;
	if (!ftruncate(fd, (off_t)c->size) &&
	    ANeuralNetworksMemory_createFromFd(c->size, PROT_READ, fd, 0, &c->memory) ==
	    ANEURALNETWORKS_NO_ERROR)
		c->end = c->size;
	close(fd);
}

const ANeuralNetworksMemory *constants_find(struct constants *c, const void *data, uint64_t size,
					    uint64_t *offset)
{
	uintptr_t at = (uintptr_t)data;

	if (size < CONSTANTS_LEAST)
		return NULL;
	if (!c->tried) {
		c->tried = true;
		if (c->placeholders)
			of_zeros(c);
		else
			of_file(c, at);
	}
	if (c->placeholders)
		at = 0;
	if (!c->memory || at < c->start || at >= c->end || size > c->end - at)
		return NULL;
	*offset = at - c->start;
	return c->memory;
}

void constants_free(struct constants *c)
{
	ANeuralNetworksMemory_free(c->memory);
}
