/* SPDX-License-Identifier: MIT */
/*
 * Memories: created from file descriptors, mapped and imported when first
 * needed.
 */
#define _GNU_SOURCE
#include "runtime/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/dma-buf.h>
#include <linux/magic.h>

#include "base/write.h"
#include "plan/run/pages.h"
#include "runtime/handle.h"
#include "runtime/hardware_memory.h"
#include "runtime/log.h"

/* Drops `const`, because mapping and importing a memory do not change its contents or size. */
static ANeuralNetworksMemory *writable(const ANeuralNetworksMemory *memory)
{
	return (ANeuralNetworksMemory *)memory;
}

/* Makes a memory. If new_memory() fails, it closes `fd`. */
static ANeuralNetworksMemory *new_memory(int fd, int prot, size_t offset, size_t size)
{
	ANeuralNetworksMemory *memory = calloc(1, sizeof(*memory));

	if (!memory) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	memory->fd = fd;
	memory->prot = prot;
	memory->offset = offset;
	memory->size = size;
	pthread_mutex_init(&memory->lock, NULL);
	return memory;
}

int memory_create(int fd, int prot, size_t offset, size_t size, ANeuralNetworksMemory **memory,
		  struct nn_error *err)
{
	*memory = new_memory(fd, prot, offset, size);
	return *memory ? ANEURALNETWORKS_NO_ERROR : rt_out_of_memory(err);
}

static int no_memory(size_t size, struct nn_error *err)
{
	return rt_fail(err, ANEURALNETWORKS_OUT_OF_MEMORY, "no %zu bytes of memory: %s", size,
		       strerror(errno));
}

static int create_file(size_t size, int *file, struct nn_error *err)
{
	int fd = memfd_create("nnapi", MFD_CLOEXEC), result;

	if (fd < 0)
		return rt_fail(err, ANEURALNETWORKS_OUT_OF_MEMORY, "memfd_create: %s",
			       strerror(errno));
	if (ftruncate(fd, size)) {
		result = no_memory(size, err);
		close(fd);
		return result;
	}
	*file = fd;
	return ANEURALNETWORKS_NO_ERROR;
}

static int create_dmabuf(size_t size, struct accel_handle *handle, int *file, struct nn_error *err)
{
	struct nna_memory *pool = NULL;
	struct nna_device *device;
	int result = handle_get(handle, &device, err);
	enum nn_status status;

	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	status = nna_memory_alloc(device, size, &pool, err);
	if (!status)
		status = nna_memory_export(pool, file, err);
	nna_memory_free(pool);
	return rt_fail_status(err, status);
}

int memory_create_shared(size_t size, struct accel_handle *device, ANeuralNetworksMemory **memory,
			 struct nn_error *err)
{
	struct nn_error reason = { "" };
	int fd, result = ANEURALNETWORKS_NO_ERROR;

	if (device && create_dmabuf(size, device, &fd, &reason) != ANEURALNETWORKS_NO_ERROR) {
		nna_log(NNA_LOG_WARN, "a file replaces device memory: %s", reason.message);
		device = NULL;
	}
	if (!device)
		result = create_file(size, &fd, err);
	return result == ANEURALNETWORKS_NO_ERROR ?
	       memory_create(fd, PROT_READ | PROT_WRITE, 0, size, memory, err) : result;
}

int memory_create_private(size_t size, ANeuralNetworksMemory **memory, struct nn_error *err)
{
	void *base = pages_alloc(size);

	if (!base)
		return no_memory(size, err);
	*memory = new_memory(-1, PROT_READ | PROT_WRITE, 0, size);
	if (!*memory) {
		pages_free(base, size);
		return rt_out_of_memory(err);
	}
	(*memory)->base = base;
	(*memory)->has_pages = true;
	return ANEURALNETWORKS_NO_ERROR;
}

int memory_create_on_device(size_t size, struct memory_domain *domain,
			    ANeuralNetworksMemory **memory, struct nn_error *err)
{
	*memory = new_memory(-1, PROT_NONE, 0, size);
	if (!*memory)
		return rt_out_of_memory(err);
	(*memory)->domain = domain;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset,
				       ANeuralNetworksMemory **memory)
{
	int copy;

	RT_NOT_NULL(memory);
	*memory = NULL;
	if (!size)
		return rt_refuse(ANEURALNETWORKS_BAD_DATA, "the memory must not have 0 bytes");
	if (fd < 0)
		return rt_refuse(ANEURALNETWORKS_BAD_DATA, "fd %d", fd);
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return rt_refuse(ANEURALNETWORKS_UNEXPECTED_NULL, "fd %d: %s", fd,
				 strerror(errno));
	*memory = new_memory(copy, protect & (PROT_READ | PROT_WRITE), offset, size);
	if (!*memory)
		return rt_refuse(ANEURALNETWORKS_OUT_OF_MEMORY, "out of memory");
	return ANEURALNETWORKS_NO_ERROR;
}

void ANeuralNetworksMemory_free(ANeuralNetworksMemory *memory)
{
	if (!memory)
		return;
	while (memory->imports) {
		struct memory_import *import = memory->imports;

		memory->imports = import->next;
		nna_memory_free(import->imported);
		free(import);
	}
	if (memory->has_pages)
		pages_free(memory->base, memory->size);
	else if (memory->base)
		munmap(memory->base, memory->size);
	if (memory->fd >= 0)
		close(memory->fd);
	hardware_free(memory->hardware);
	if (memory->domain) {
		nna_buffer_free(memory->domain->buffer);
		free(memory->domain->roles);
	}
	free(memory->domain);
	pthread_mutex_destroy(&memory->lock);
	free(memory);
}

/* Maps a memory; the caller holds the memory's lock. */
static int map(ANeuralNetworksMemory *memory, struct nn_error *err)
{
	struct statfs fs;
	struct stat st;
	size_t end;
	void *base;

	if (__builtin_add_overflow(memory->offset, memory->size, &end))
		return rt_fail(err, ANEURALNETWORKS_UNMAPPABLE,
			       "offset %zu is too large for %zu bytes", memory->offset,
			       memory->size);
	/*
	 * Pages beyond the end of a file can be mapped, but accesses to the pages would fail.
	 */
	if (!fstat(memory->fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size < end)
		return rt_fail(err, ANEURALNETWORKS_UNMAPPABLE,
			       "the memory ends at byte %zu, the file has %lld bytes", end,
			       (long long)st.st_size);
	base = mmap(NULL, memory->size, memory->prot, MAP_SHARED, memory->fd, memory->offset);
	if (base == MAP_FAILED)
		return rt_fail(err, ANEURALNETWORKS_UNMAPPABLE,
			       "%zu bytes at offset %zu of fd %d cannot be mapped: %s",
			       memory->size, memory->offset, memory->fd, strerror(errno));
	memory->base = base;
	memory->is_dmabuf = !fstatfs(memory->fd, &fs) && fs.f_type == DMA_BUF_MAGIC;
	return ANEURALNETWORKS_NO_ERROR;
}

static int check_access(const ANeuralNetworksMemory *memory, int prot, struct nn_error *err)
{
	if (prot & ~memory->prot)
		return rt_fail(err, ANEURALNETWORKS_UNMAPPABLE, "a memory that must be %s is not",
			       prot & PROT_WRITE ? "writable" : "readable");
	return ANEURALNETWORKS_NO_ERROR;
}

int memory_map(const ANeuralNetworksMemory *memory, int prot, uint8_t **base,
	       struct nn_error *err)
{
	int result;

	if (memory_is_image(memory))
		return rt_fail(err, ANEURALNETWORKS_UNMAPPABLE,
			       "the bytes of an image cannot be copied to or from a memory");
	result = check_access(memory, prot, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	pthread_mutex_lock(&writable(memory)->lock);
	if (!memory->base)
		result = map(writable(memory), err);
	*base = memory->base;
	pthread_mutex_unlock(&writable(memory)->lock);
	return result;
}

/* Notifies a dma-buf's exporter that an access begins (after other drivers' fences) or ends. */
static int sync_dmabuf(const ANeuralNetworksMemory *memory, uint64_t flags, struct nn_error *err)
{
	struct dma_buf_sync sync = { flags };

	while (ioctl(memory->fd, DMA_BUF_IOCTL_SYNC, &sync))
		if (errno != EINTR && errno != EAGAIN)
			return rt_fail(err, ANEURALNETWORKS_UNMAPPABLE,
				       "a dma-buf cannot be accessed: its driver reports: %s",
				       strerror(errno));
	return ANEURALNETWORKS_NO_ERROR;
}

static uint64_t sync_flags(int prot)
{
	return prot & PROT_WRITE ? DMA_BUF_SYNC_RW : DMA_BUF_SYNC_READ;
}

int memory_begin(const ANeuralNetworksMemory *memory, int prot, uint8_t **data,
		 struct nn_error *err)
{
	int result;

	if (memory_is_image(memory))
		return hardware_begin(memory, prot & PROT_WRITE, data, err);
	result = memory_map(memory, prot, data, err);
	if (result == ANEURALNETWORKS_NO_ERROR && memory->is_dmabuf)
		result = sync_dmabuf(memory, DMA_BUF_SYNC_START | sync_flags(prot), err);
	return result;
}

int memory_end(const ANeuralNetworksMemory *memory, int prot, bool written, uint8_t *data,
	       struct nn_error *err)
{
	if (memory_is_image(memory))
		return hardware_end(memory, written, data, err);
	if (memory->is_dmabuf)
		return sync_dmabuf(memory, DMA_BUF_SYNC_END | sync_flags(prot), err);
	return ANEURALNETWORKS_NO_ERROR;
}

/*
 * Replaces private memory by a file with the same contents, mapped at the same address, so that
 * readers of the memory see no change. The caller holds the memory's lock.
 */
static int share(ANeuralNetworksMemory *memory, struct nn_error *err)
{
	int fd, result = create_file(memory->size, &fd, err);

	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	/*
	 * write() is twice as fast as stores to the mapping, because the kernel does not clear
	 * pages first.
	 */
	if (!write_at(fd, memory->base, memory->size, 0) ||
	    mmap(memory->base, memory->size, memory->prot, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED)
		result = no_memory(memory->size, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		memory->fd = fd;
	else
		close(fd);
	return result;
}

/* Imports a memory to another device; the caller holds the memory's lock. */
static enum nn_status add_import(ANeuralNetworksMemory *memory, struct nna_device *device,
				 struct nna_memory **imported, struct nn_error *err)
{
	struct memory_import *import = calloc(1, sizeof(*import));
	enum nn_status status;

	if (!import)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	if (memory_is_image(memory))
		status = hardware_import(memory, device, &import->imported, err);
	else if (memory->base && memory->fd < 0 &&
		 share(memory, err) != ANEURALNETWORKS_NO_ERROR)
		status = NN_OUT_OF_MEMORY;
	else
		/* A memory with PROT_WRITE can also be read, as with mmap(). */
		status = nna_memory_import(device, NNA_SIZED(nna_file, .fd = memory->fd,
					   .prot = memory->prot | PROT_READ,
					   .offset = memory->offset, .length = memory->size),
					   &import->imported, err);
	if (status) {
		free(import);
		return status;
	}
	import->device = device;
	import->next = memory->imports;
	memory->imports = import;
	*imported = import->imported;
	return NN_OK;
}

int memory_import(const ANeuralNetworksMemory *memory, int prot, struct nna_device *device,
		  struct nna_memory **imported, struct nn_error *err)
{
	int result = check_access(memory, prot, err);
	enum nn_status status = NN_OK;

	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	*imported = NULL;
	pthread_mutex_lock(&writable(memory)->lock);
	for (const struct memory_import *i = memory->imports; i && !*imported; i = i->next)
		if (i->device == device)
			*imported = i->imported;
	if (!*imported)
		status = add_import(writable(memory), device, imported, err);
	pthread_mutex_unlock(&writable(memory)->lock);
	/* Several errors have the ResultCode UNMAPPABLE; the log says which error occurred. */
	if (status == NN_INVALID_ARGUMENT || status == NN_GENERAL_FAILURE)
		return ANEURALNETWORKS_UNMAPPABLE;
	return rt_fail_status(err, status);
}

int memory_check_range(const ANeuralNetworksMemory *memory, size_t offset, size_t length,
		       struct nn_error *err)
{
	if (!length && !offset)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "the part's length must not be 0");
	if (offset > memory->size || length > memory->size - offset)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "%zu bytes at offset %zu end beyond a memory of %zu", length,
			       offset, memory->size);
	return ANEURALNETWORKS_NO_ERROR;
}
