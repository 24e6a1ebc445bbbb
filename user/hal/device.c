/* SPDX-License-Identifier: MIT */
/*
 * Opens devices, asks the kernel and the engine for descriptions, and counts references to devices.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "device.h"
#include "error.h"
#include "fence.h"
#include "model/device_read.h"
#include "sized.h"
#include "submit.h"

int nna_device_call(const struct nna_device *device, unsigned long request, void *arg)
{
	return device->direct ? direct_call(device->direct, request, arg) :
				ioctl(device->fd, request, arg);
}

struct nna_device *nna_device_get(struct nna_device *device)
{
	atomic_fetch_add_explicit(&device->users, 1, memory_order_relaxed);
	return device;
}

void nna_device_put(struct nna_device *device)
{
	struct nna_extensions *extensions;

	if (atomic_fetch_sub_explicit(&device->users, 1, memory_order_acq_rel) != 1)
		return;
	nna_watcher_destroy(&device->watcher);
	if (device->direct)
		direct_close(device->direct);
	close(device->fd);
	nna_fences_forget(device);
	/*
	 * A forked child does not free the lists of extensions, because pointers into the lists
	 * from before the fork are still in use.
	 */
	while (nna_device_is_ours(device) && (extensions = device->extensions)) {
		device->extensions = extensions->older;
		free(extensions->list);
		free(extensions);
	}
	pthread_mutex_destroy(&device->bursts_lock);
	pthread_mutex_destroy(&device->fences_lock);
	pthread_mutex_destroy(&device->buffers_lock);
	pthread_mutex_destroy(&device->info_lock);
	free(device->buffers);
	free(device);
}

bool nna_device_is_ours(const struct nna_device *device)
{
	return device->process == getpid();
}

bool nna_is_past(uint64_t deadline_ns)
{
	return deadline_ns && clock_ns() >= deadline_ns;
}

static enum nn_status get_info(const struct nna_device *device, const char *call,
			       struct nnaccel_info *info, struct nn_error *err)
{
	*info = (struct nnaccel_info){ .size = sizeof(*info) };
	if (nna_device_call(device, NNACCEL_INFO, info))
		return nna_fail_errno(device, call, errno, err);
	return NN_OK;
}

static enum nn_status check_abi(const struct nna_device *device, const char *path,
				struct nn_error *err)
{
	struct nnaccel_info info;
	enum nn_status status = get_info(device, path, &info, err);

	if (status)
		return status;
	if (info.abi != NNACCEL_ABI_VERSION)
		return nn_fail(err, NN_DEVICE_UNAVAILABLE, "%s: the module has version %u of its "
			       "interface, this library %u: upgrade the %s", path, info.abi,
			       NNACCEL_ABI_VERSION,
			       info.abi < NNACCEL_ABI_VERSION ? "module" : "library");
	return NN_OK;
}

enum nn_status nna_device_open(const char *path, struct nna_device **device, struct nn_error *err)
{
	struct nna_device *d = calloc(1, sizeof(*d));
	enum nn_status status;

	nna_error_clear(err);
	if (!d)
		return nn_fail(err, NN_OUT_OF_MEMORY, "open: out of memory");
	if (!path)
		path = secure_getenv("NNACCEL_DEVICE");
	path = path ? path : NNA_DEVICE_PATH;
	d->fd = open(path, O_RDWR | O_CLOEXEC);
	if (d->fd < 0 && errno == ENXIO && (d->direct = direct_open(path)))
		d->fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (d->fd < 0) {
		status = nn_fail(err, NN_DEVICE_UNAVAILABLE, "%s: %s%s", path,
				 strerrordesc_np(errno),
				 errno == ENOENT && !strcmp(path, NNA_DEVICE_PATH) ?
				 " (is the module nnaccel loaded?)" : "");
		if (d->direct)
			direct_close(d->direct);
		free(d);
		return status;
	}
	d->process = getpid();
	atomic_init(&d->users, 1);
	atomic_init(&d->worker, 1);
	pthread_mutex_init(&d->info_lock, NULL);
	pthread_mutex_init(&d->fences_lock, NULL);
	pthread_mutex_init(&d->bursts_lock, NULL);
	pthread_mutex_init(&d->buffers_lock, NULL);
	nna_watcher_init(&d->watcher);
	status = check_abi(d, path, err);
	if (status) {
		nna_device_put(d);
		return status;
	}
	*device = d;
	return NN_OK;
}

void nna_device_close(struct nna_device *device)
{
	if (device)
		nna_device_put(device);
}

enum nn_status nna_device_get_context_info(struct nna_device *device, struct nna_context_info *info,
					   struct nn_error *err)
{
	struct nna_context_info answer;
	struct nnaccel_info i;
	enum nn_status status;

	nna_error_clear(err);
	status = get_info(device, "context info", &i, err);
	if (status)
		return status;
	answer = (struct nna_context_info){
		.size = sizeof(answer),
		.abi = i.abi,
		.engine = i.engine,
		.max_pools = i.max_pools,
		.max_models = i.max_models,
		.max_commands = i.max_commands,
		.max_pool_bytes = i.max_pool_bytes,
		.max_context_bytes = i.max_context_bytes,
		.max_user_bytes = i.max_user_bytes,
		.pool_bytes = i.pool_bytes,
		.import_bytes = i.import_bytes,
		.executions = i.executions,
		.max_bursts = i.max_bursts,
		.bursts = i.bursts,
		.engine_ns = i.engine_ns,
		.features = i.features,
	};
	return NNA_GIVE(info, &info->size, &answer, engine_ns, "context info", err);
}

enum nna_device_status nna_device_status(struct nna_device *device)
{
	struct nnaccel_info info;

	if (get_info(device, "status", &info, NULL))
		return NNA_UNKNOWN;
	return info.engine == NNACCEL_ENGINE_ABSENT ? NNA_OFFLINE : NNA_AVAILABLE;
}

/*
 * Queries the engine. On entry *size is the size of `answer`; on return *size is the number of
 * bytes written.
 */
static enum nn_status query(struct nna_device *device, uint32_t what, const char *call,
			    void *answer, uint32_t *size, struct nn_error *err)
{
	struct nnaccel_query q = {
		.size = sizeof(q),
		.query = what,
		.data = (uintptr_t)answer,
		.data_size = *size,
	};
	int error = nna_ask(device, NNACCEL_WORK_QUERY, &q);

	if (error)
		return nna_fail_errno(device, call, error, err);
	if (q.out_status)
		return nna_fail_status(call, q.out_status, "", err);
	*size = q.data_size;
	return NN_OK;
}

static enum nn_status query_info(struct nna_device *device, struct nn_device_info *info,
				 struct nn_error *err)
{
	struct nn_device_info answer;
	uint32_t size = sizeof(answer);
	enum nn_status status = query(device, NNACCEL_QUERY_DEVICE, "device info", &answer, &size,
				      err);

	return status ? status : nn_device_info_decode(&answer, size, info, err);
}

/*
 * Queries the engine's extensions; the caller holds info_lock. If the new list equals the device's
 * newest list, the old list stays in use.
 */
static enum nn_status query_extensions(struct nna_device *device, struct nn_error *err)
{
	struct nna_extensions *e, *last = device->extensions;
	uint32_t size = NNACCEL_MAX_QUERY;
	enum nn_status status;

	e = calloc(1, sizeof(*e) + size);
	if (!e)
		return nn_fail(err, NN_OUT_OF_MEMORY, "extensions: out of memory");
	status = query(device, NNACCEL_QUERY_EXTENSIONS, "extensions", e->answer, &size, err);
	if (!status && last && size == last->size && !memcmp(e->answer, last->answer, size)) {
		free(e);
		return NN_OK;
	}
	if (!status)
		status = nn_device_extensions_decode(e->answer, size, &e->list, &e->count, err);
	if (status) {
		free(e);
		return status;
	}
	e->size = size;
	e->older = last;
	device->extensions = e;
	return NN_OK;
}

void nna_device_expect_worker(struct nna_device *device)
{
	struct nnaccel_info info;

	if (!get_info(device, "device info", &info, NULL) &&
	    info.engine == NNACCEL_ENGINE_PENDING)
		atomic_fetch_add(&device->worker, 1);
}

/*
 * Returns whether the engine must be queried again, because cached information from worker number
 * `of` (0: none yet) is outdated. The caller holds info_lock. Without an engine, known information
 * stays valid.
 */
static bool is_outdated(struct nna_device *device, uint32_t of)
{
	if (!of)
		return true;
	nna_device_expect_worker(device);
	return of != atomic_load(&device->worker) && nna_device_status(device) == NNA_AVAILABLE;
}

enum nn_status nna_device_get_info(struct nna_device *device, struct nn_device_info *info,
				   struct nn_error *err)
{
	enum nn_status status = NN_OK;
	struct nn_device_info answer;
	uint32_t worker;

	nna_error_clear(err);
	pthread_mutex_lock(&device->info_lock);
	if (is_outdated(device, device->info_of)) {
		worker = atomic_load(&device->worker);
		status = query_info(device, &answer, err);
		if (!status) {
			device->info = answer;
			device->info_of = worker;
		}
	}
	if (!status)
		status = NNA_GIVE(info, &info->size, &device->info, operations, "device info",
				  err);
	pthread_mutex_unlock(&device->info_lock);
	return status;
}

enum nn_status nna_device_get_extensions(struct nna_device *device,
					 const struct nn_device_extension **extensions,
					 uint32_t *count, struct nn_error *err)
{
	enum nn_status status = NN_OK;
	uint32_t worker;

	nna_error_clear(err);
	pthread_mutex_lock(&device->info_lock);
	if (is_outdated(device, device->extensions_of)) {
		worker = atomic_load(&device->worker);
		status = query_extensions(device, err);
		if (!status)
			device->extensions_of = worker;
	}
	if (!status) {
		*extensions = device->extensions->list;
		*count = device->extensions->count;
	}
	pthread_mutex_unlock(&device->info_lock);
	return status;
}
