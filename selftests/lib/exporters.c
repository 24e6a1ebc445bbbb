// SPDX-License-Identifier: MIT
/*
 * Exporters of dma-bufs for the tests.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/dma-buf.h>
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

/* Copies of DRM's structures for vgem, because DRM's headers are not installed everywhere. */
struct drm_says {
	int version[3];
	size_t name_length;
	char *name;
	size_t date_length;
	char *date;
	size_t description_length;
	char *description;
};

struct drm_dumb {
	uint32_t height, width, bpp, flags;
	uint32_t handle, pitch;
	uint64_t size;
};

struct drm_prime {
	uint32_t handle, flags;
	int32_t fd;
};

struct drm_fence {
	uint32_t handle, flags, fence, padding;
};

struct drm_signal {
	uint32_t fence, flags;
};

#define DRM_SAY		_IOWR('d', 0x00, struct drm_says)
#define DRM_PRIME	_IOWR('d', 0x2d, struct drm_prime)
#define DRM_FENCE	_IOWR('d', 0x41, struct drm_fence)
#define DRM_SIGNAL	_IOW('d', 0x42, struct drm_signal)
#define DRM_DUMB	_IOWR('d', 0xb2, struct drm_dumb)

/* Loads the tests' module nnaccel_exporter.ko from the directory of nnaccel.ko. */
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

int driver_open(const char *folder, const char *prefix, bool (*is_it)(int fd))
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int fd = -1;

	while (dir && fd < 0 && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)))
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && !is_it(fd)) {
			close(fd);
			fd = -1;
		}
	}
	if (dir)
		closedir(dir);
	return fd;
}

static bool is_vgem(int fd)
{
	char name[16] = "";
	struct drm_says says = { .name = name, .name_length = sizeof(name) - 1 };

	return !ioctl(fd, DRM_SAY, &says) && !strcmp(name, "vgem");
}

int vgem_open(void)
{
	return module_load("vgem", "") ? driver_open("/dev/dri", "card", is_vgem) : -1;
}

int vgem_buffer(int vgem, uint64_t length, uint32_t *handle)
{
	struct drm_dumb create = { .width = (uint32_t)length / 4, .height = 1, .bpp = 32 };
	struct drm_prime prime = { .flags = O_CLOEXEC | O_RDWR };

	if (ioctl(vgem, DRM_DUMB, &create))
		return -1;
	*handle = prime.handle = create.handle;
	return ioctl(vgem, DRM_PRIME, &prime) ? -1 : prime.fd;
}

uint32_t vgem_fence(int vgem, uint32_t handle, uint32_t flags)
{
	struct drm_fence attach = { .handle = handle, .flags = flags };

	return ioctl(vgem, DRM_FENCE, &attach) ? 0 : attach.fence;
}

int vgem_signal(int vgem, uint32_t fence)
{
	struct drm_signal signal = { .fence = fence };

	return ioctl(vgem, DRM_SIGNAL, &signal) ? errno : 0;
}

int buffer_sync(int buffer, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags };

	return ioctl(buffer, DMA_BUF_IOCTL_SYNC, &sync) ? errno : 0;
}

int buffer_fence(int buffer)
{
	struct dma_buf_export_sync_file export = { .flags = DMA_BUF_SYNC_RW, .fd = -1 };

	return ioctl(buffer, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &export) ? -1 : export.fd;
}

bool exporter_lend_fence(const struct exporter *e, int buffer)
{
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_RW };
	bool done;

	if (ioctl(e->fd, EXPORTER_FENCE, 1))
		return false;
	import.fd = buffer_fence(e->buffer);
	done = import.fd >= 0 && !ioctl(buffer, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import);
	close(import.fd);
	return done;
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
