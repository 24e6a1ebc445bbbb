// SPDX-License-Identifier: MIT
/*
 * Exporters of dma-bufs for the tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exporters.h"

#define EXPORTER_PATH "/dev/" EXPORTER_DEVICE

/* The tests' module lies beside nnaccel.ko. */
static bool load_own(void)
{
	const char *nnaccel = getenv("NNACCEL_MODULE");
	char folder[4096], path[4200];
	bool loaded;
	int fd;

	if (access(EXPORTER_PATH, F_OK) == 0)
		return true;
	if (!nnaccel || strlen(nnaccel) >= sizeof(folder))
		return false;
	strcpy(folder, nnaccel);
	snprintf(path, sizeof(path), "%s/nnaccel_exporter.ko", dirname(folder));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	loaded = fd >= 0 && (!syscall(SYS_finit_module, fd, "", 0) || errno == EEXIST);
	close(fd);
	return loaded;
}

bool exporter_open(struct exporter *e, unsigned long refused)
{
	*e = (struct exporter){ -1, -1 };
	if (!load_own())
		return false;
	e->fd = open(EXPORTER_PATH, O_RDWR | O_CLOEXEC);
	if (e->fd >= 0)
		e->buffer = ioctl(e->fd, EXPORTER_CREATE, refused);
	return e->buffer >= 0;
}

void exporter_close(struct exporter *e)
{
	if (e->buffer >= 0)
		close(e->buffer);
	if (e->fd >= 0)
		close(e->fd);
	*e = (struct exporter){ -1, -1 };
}

struct exporter_counts exporter_counts(const struct exporter *e)
{
	struct exporter_counts counts;

	if (ioctl(e->fd, EXPORTER_COUNTS, &counts))
		memset(&counts, 0xff, sizeof(counts));
	return counts;
}

bool module_load(const char *name, const char *options)
{
	char command[256];

	snprintf(command, sizeof(command), "modprobe -q %s %s", name, options);
	return system(command) == 0;
}

int heap_buffer(uint64_t length)
{
	struct dma_heap_allocation_data heap = { .len = length, .fd_flags = O_RDWR | O_CLOEXEC };
	int device = open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC), error;

	if (device < 0)
		return -1;
	error = ioctl(device, DMA_HEAP_IOCTL_ALLOC, &heap);
	close(device);
	return error ? -1 : (int)heap.fd;
}

int udmabuf_buffer(int file, uint64_t length)
{
	struct udmabuf_create create = {
		.memfd = (uint32_t)file,
		.flags = UDMABUF_FLAGS_CLOEXEC,
		.size = length,
	};
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), buffer;

	if (device < 0)
		return -1;
	fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK);
	buffer = ioctl(device, UDMABUF_CREATE, &create);
	close(device);
	return buffer;
}
