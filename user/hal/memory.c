/* SPDX-License-Identifier: MIT */
/*
 * Memory that the device can access: allocates and imports pools of the kernel, maps pools, and
 * exports pools to other processes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "burst.h"
#include "error.h"
#include "memory.h"
#include "sized.h"
#include "submit.h"

struct nna_memory *nna_memory_get(struct nna_memory *memory)
{
	atomic_fetch_add_explicit(&memory->users, 1, memory_order_relaxed);
	return memory;
}

static struct nna_memory *memory_new(struct nna_device *device, uint64_t size, int prot)
{
	struct nna_memory *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->device = nna_device_get(device);
	atomic_init(&m->users, 1);
	m->prot = prot;
	m->size = size;
	pthread_mutex_init(&m->map_lock, NULL);
	return m;
}

/* Frees a memory that has no pool. */
static void memory_delete(struct nna_memory *m)
{
	if (m->map)
		munmap(m->map, m->size);
	pthread_mutex_destroy(&m->map_lock);
	nna_device_put(m->device);
	free(m);
}

/* Creates a memory's pool by an ioctl() that writes its result to *id. Returns 0 or an errno. */
static int make_pool(struct nna_memory *m, unsigned long request, void *argument,
		     const uint32_t *id)
{
	if (!nna_device_is_ours(m->device))
		return EACCES;
	if (nna_device_call(m->device, request, argument))
		return errno;
	m->pool = *id;
	return 0;
}

void nna_memory_put(struct nna_memory *memory)
{
	struct nna_device *device = memory->device;

	if (atomic_fetch_sub_explicit(&memory->users, 1, memory_order_acq_rel) != 1)
		return;
	if (nna_device_is_ours(device)) {
		if (memory->has_slots)
			nna_bursts_forget(memory);
		nna_drop(device, memory->pool);
	}
	memory_delete(memory);
}

void nna_memory_free(struct nna_memory *memory)
{
	if (memory)
		nna_memory_put(memory);
}

enum nn_status nna_memory_alloc(struct nna_device *device, uint64_t size,
				struct nna_memory **memory, struct nn_error *err)
{
	struct nnaccel_pool_alloc a = { .size = sizeof(a), .length = size };
	struct nna_memory *m;
	int error;

	nna_error_clear(err);
	if (!size)
		return nn_fail(err, NN_INVALID_ARGUMENT, "memory: the length is 0, but must be at "
			       "least 1 byte");
	m = memory_new(device, size, PROT_READ | PROT_WRITE);
	if (!m)
		return nn_fail(err, NN_OUT_OF_MEMORY, "memory: out of memory");
	error = make_pool(m, NNACCEL_POOL_ALLOC, &a, &a.out_id);
	if (error) {
		memory_delete(m);
		return nna_fail_errno(device, "memory", error, err);
	}
	*memory = m;
	return NN_OK;
}

static uint32_t pool_prot(int prot)
{
	return NNACCEL_PROT_READ | (prot & PROT_WRITE ? NNACCEL_PROT_WRITE : 0);
}

static enum nn_status check_prot(const char *what, int prot, struct nn_error *err)
{
	if (prot == PROT_READ || prot == (PROT_READ | PROT_WRITE))
		return NN_OK;
	return nn_fail(err, NN_INVALID_ARGUMENT, "%s: protection 0x%x is neither PROT_READ nor "
		       "PROT_READ | PROT_WRITE", what, (unsigned int)prot);
}

/*
 * Converts the errno of a rejected import. EINVAL becomes GENERAL_FAILURE, because from an import
 * it means that the device cannot access the memory.
 */
static enum nn_status fail_import(const struct nna_device *device, const char *what, int error,
				  struct nn_error *err)
{
	enum nn_status status = nna_fail_errno(device, what, error, err);

	return status == NN_INVALID_ARGUMENT && error != EBADF ? NN_GENERAL_FAILURE : status;
}

enum nn_status nna_memory_import(struct nna_device *device, const struct nna_file *file,
				 struct nna_memory **memory, struct nn_error *err)
{
	struct nnaccel_pool_import i = { .size = sizeof(i) };
	enum nn_status status;
	struct nna_memory *m;
	struct nna_file f;
	uint64_t before;
	int error;

	nna_error_clear(err);
	status = NNA_TAKE(&f, length, file, "memory: the file", err);
	if (status)
		return status;
	if (!f.length || f.offset > INT64_MAX || f.length > INT64_MAX - f.offset)
		return nn_fail(err, NN_INVALID_ARGUMENT, "memory: offset %llu and length %llu are "
			       "invalid: the length must not be 0, and the sum must fit 63 bits",
			       (unsigned long long)f.offset, (unsigned long long)f.length);
	if (check_prot("memory", f.prot, err))
		return NN_INVALID_ARGUMENT;
	before = f.offset % (uint64_t)sysconf(_SC_PAGESIZE);
	i.fd = f.fd;
	i.prot = pool_prot(f.prot);
	i.offset = f.offset - before;
	i.length = before + f.length;
	m = memory_new(device, f.length, f.prot);
	if (!m)
		return nn_fail(err, NN_OUT_OF_MEMORY, "memory: out of memory");
	m->is_imported = true;
	m->offset = before;
	error = make_pool(m, NNACCEL_POOL_IMPORT, &i, &i.out_id);
	/*
	 * Import again with NNACCEL_IMPORT_DEVICE, because the memory may be a dma-buf that CPUs
	 * cannot map.
	 */
	if (error == EOPNOTSUPP) {
		i.flags = NNACCEL_IMPORT_DEVICE;
		error = make_pool(m, NNACCEL_POOL_IMPORT, &i, &i.out_id);
	}
	if (error) {
		memory_delete(m);
		return fail_import(device, "memory", error, err);
	}
	*memory = m;
	return NN_OK;
}

static enum nn_status fail_formatted(const struct nna_device *device,
				     const struct nna_format *format, int error,
				     struct nn_error *err)
{
	char name[5];

	if (error == EINVAL)
		return nna_fail_errno(device, "image", error, err);
	if (error != EOPNOTSUPP)
		return fail_import(device, "image", error, err);
	if (format->modifier)
		return nn_fail(err, NN_GENERAL_FAILURE, "image: the modifier 0x%llx is not linear",
			       (unsigned long long)format->modifier);
	for (int i = 0; i < 4; i++) {
		name[i] = (char)(format->fourcc >> 8 * i & 0x7f);
		/* Replace only zeros, because nn_fail() replaces all other control characters. */
		name[i] = name[i] ? name[i] : '?';
	}
	name[4] = 0;
	return nn_fail(err, NN_GENERAL_FAILURE, "image: the format %s (0x%08x) or the kind of file "
		       "is not supported", name, format->fourcc);
}

enum nn_status nna_memory_import_formatted(struct nna_device *device, int fd, int prot,
					   const struct nna_format *format,
					   struct nna_memory **memory, struct nn_error *err)
{
	struct nnaccel_pool_import i = { .size = sizeof(i), .fd = fd };
	struct nna_memory *m;
	enum nn_status status;
	struct nna_format f;
	int error;

	nna_error_clear(err);
	status = check_prot("image", prot, err);
	if (!status)
		status = NNA_TAKE(&f, planes, format, "image: the format", err);
	if (status)
		return status;
	m = memory_new(device, 0, prot);
	if (!m)
		return nn_fail(err, NN_OUT_OF_MEMORY, "memory: out of memory");
	i.prot = pool_prot(prot);
	i.offset = f.offset;
	i.modifier = f.modifier;
	i.fourcc = f.fourcc;
	i.width = f.width;
	i.height = f.height;
	i.stride = f.stride;
	for (uint32_t k = 0; k < NNACCEL_MAX_PLANES - 1 && f.planes[k].stride; k++) {
		i.planes[k].fd = f.planes[k].fd;
		i.planes[k].stride = f.planes[k].stride;
		i.planes[k].offset = f.planes[k].offset;
	}
	m->is_imported = true;
	m->is_formatted = true;
	/* Reject fourcc 0, because the kernel imports memory without a fourcc as unformatted. */
	error = i.fourcc ? make_pool(m, NNACCEL_POOL_IMPORT, &i, &i.out_id) : EOPNOTSUPP;
	m->size = i.length;
	if (error) {
		memory_delete(m);
		return fail_formatted(device, &f, error, err);
	}
	*memory = m;
	return NN_OK;
}

uint64_t nna_memory_size(const struct nna_memory *memory)
{
	return memory->size;
}

enum nn_status nna_memory_export(struct nna_memory *memory, int *fd, struct nn_error *err)
{
	struct nnaccel_pool_export e = {
		.size = sizeof(e),
		.flags = NNACCEL_EXPORT_CLOEXEC,
		.id = memory->pool,
	};

	nna_error_clear(err);
	if (nna_device_call(memory->device, NNACCEL_POOL_EXPORT, &e))
		return nna_fail_errno(memory->device, "export of memory", errno, err);
	*fd = e.out_fd;
	return NN_OK;
}

/* Maps the memory's pool; the caller holds map_lock. */
static enum nn_status make_map(struct nna_memory *m, struct nn_error *err)
{
	enum nn_status status;
	int fd, error = 0;
	void *map;

	status = nna_memory_export(m, &fd, err);
	if (status)
		return status;
	map = mmap(NULL, m->size, m->prot, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		error = errno;
	close(fd);
	if (error)
		return nna_fail_errno(m->device, "mapping of memory", error, err);
	m->map = map;
	return NN_OK;
}

void *nna_memory_map(struct nna_memory *memory, struct nn_error *err)
{
	void *map = NULL;

	nna_error_clear(err);
	if (memory->is_imported) {
		nn_fail(err, NN_INVALID_ARGUMENT,
			"mapping of memory: the memory was imported: map its file instead");
		return NULL;
	}
	pthread_mutex_lock(&memory->map_lock);
	if (memory->map || !make_map(memory, err))
		map = memory->map;
	pthread_mutex_unlock(&memory->map_lock);
	return map;
}

enum nn_status nna_memories_hold(const struct nna_device *device, const char *call,
				 struct nna_memory *const *memories, uint32_t count,
				 struct nn_error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!memories[i])
			return nn_fail(err, NN_INVALID_ARGUMENT, "%s: memory %u is missing", call,
				       i);
		if (memories[i]->device != device)
			return nn_fail(err, NN_INVALID_ARGUMENT, "%s: memory %u belongs to another "
				       "device", call, i);
	}
	for (uint32_t i = 0; i < count; i++)
		nna_memory_get(memories[i]);
	return NN_OK;
}

void nna_memories_release(struct nna_memory *const *memories, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		nna_memory_put(memories[i]);
}
