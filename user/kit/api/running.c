// SPDX-License-Identifier: MIT
/*
 * Executions in progress, for functions of <nnaccel/engine.h>.
 *
 * The handle of an execution consists of an index into a table and the number of earlier uses of
 * this table entry. If the table entry has been used again since, the execution has ended.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/nnaccel.h>
#include <linux/sync_file.h>
#include <nnaccel/engine.h>

#include "kit/api/log.h"
#include "kit/api/running.h"
#include "kit/session/session.h"

#define PLACE_BITS 16

struct place {
	struct running *running;	/* NULL: free */
	uintptr_t uses;
	uint32_t next_free;
};

/*
 * The member `lock` protects all members of this structure. Table entry 0 stays unused, so that no
 * handle is NULL.
 */
static struct {
	pthread_mutex_t lock;
	struct place places[1 << PLACE_BITS];
	uint32_t num_used;
	uint32_t free;	/* index of the first free table entry, or 0 */
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * Returns the execution of a handle, or NULL if the execution has ended. The caller holds all.lock.
 */
static struct running *find(const struct nna_engine_execution *execution)
{
	const uintptr_t handle = (uintptr_t)execution;
	const struct place *place = &all.places[handle & ((1 << PLACE_BITS) - 1)];

	return place->running && place->uses == handle >> PLACE_BITS && !place->running->has_ended ?
	       place->running : NULL;
}

enum nn_status running_begin(struct running *running, struct nn_error *err)
{
	uint32_t i;

	running->is_deferred = false;
	running->has_ended = false;
	running->fence = -1;
	running->reason.message[0] = '\0';
	pthread_mutex_lock(&all.lock);
	i = all.free;
	if (i)
		all.free = all.places[i].next_free;
	else if (all.num_used + 1 < 1 << PLACE_BITS)
		i = ++all.num_used;
	if (i) {
		all.places[i].running = running;
		running->execution = (void *)(all.places[i].uses << PLACE_BITS | i);
	}
	pthread_mutex_unlock(&all.lock);
	return i ? NN_OK : nn_fail(err, NN_RESOURCE_EXHAUSTED_TRANSIENT,
				   "%u executions run in this process, the limit",
				   (1 << PLACE_BITS) - 1);
}

enum nn_status running_end(struct running *running, enum nn_status result, struct nn_error *err)
{
	const uint32_t i = (uintptr_t)running->execution & ((1 << PLACE_BITS) - 1);
	bool was_deferred;

	pthread_mutex_lock(&all.lock);
	was_deferred = running->is_deferred;
	running->is_deferred = result == NNA_ENGINE_DEFERRED && !running->has_ended;
	if (running->is_deferred) {
		tasks_defer(running->tasks);
		pthread_mutex_unlock(&all.lock);
		return NNA_ENGINE_DEFERRED;
	}
	all.places[i].running = NULL;
	all.places[i].uses++;
	all.places[i].next_free = all.free;
	all.free = i;
	pthread_mutex_unlock(&all.lock);
	if (was_deferred)
		tasks_resume(running->tasks);
	if (!running->has_ended)
		return result;
	if (result != NNA_ENGINE_DEFERRED)
		log_warning("an execution was ended, but `execute` returned %s and not DEFERRED",
			    nn_status_name(result));
	return running->status ? nn_fail(err, running->status, "%s", running->reason.message) : NN_OK;
}

enum nn_status nna_engine_end(struct nna_engine_execution *execution, enum nn_status status,
			      const char *message, struct nn_error *err)
{
	const char *wrong = "it has ended already";
	bool was_deferred = false;
	struct running *running;

	pthread_mutex_lock(&all.lock);
	running = find(execution);
	if (running && status == NNA_ENGINE_DEFERRED) {
		wrong = "its status must not be DEFERRED";
	} else if (running) {
		wrong = NULL;
		running->has_ended = true;
		running->status = status;
		if (message)
			nn_fail(&running->reason, status, "%s", message);
		was_deferred = running->is_deferred;
	}
	pthread_mutex_unlock(&all.lock);
	/*
	 * Let a thread of the session end the execution, because running_end() may block and calls
	 * the engine.
	 */
	if (was_deferred)
		tasks_add(running->tasks, &running->end);
	if (!wrong)
		return NN_OK;
	log_warning("an execution cannot be ended: %s", wrong);
	return nn_fail(err, NN_INVALID_ARGUMENT, "the execution cannot be ended: %s", wrong);
}

bool nna_engine_progress(const struct nna_engine_preparation *how, uint32_t thousandths)
{
	struct nnaccel_session_commit commit = {
		.size = sizeof(commit),
		.cookie = how->reserved[1],
		.flags = NNACCEL_COMMIT_PROGRESS,
		.device_ns = NNACCEL_TIME_NONE,
		.fence = thousandths < NNACCEL_PROGRESS_ALL ? (int)thousandths : NNACCEL_PROGRESS_ALL,
	};

	return !commit.cookie ||
	       !session_call((int)how->reserved[0], NNACCEL_SESSION_COMMIT, &commit) ||
	       errno != ECANCELED;
}

int nna_engine_gone_file(struct nna_engine_execution *execution)
{
	const struct running *running;
	int file;

	pthread_mutex_lock(&all.lock);
	running = find(execution);
	file = running ? running->grants->gone : -1;
	pthread_mutex_unlock(&all.lock);
	return file;
}

/*
 * Returns the index of the pool that contains an argument's data, and sets *running to the
 * execution. Returns -1 if the data are in private memory or the execution has ended. The caller
 * holds all.lock.
 */
static int find_pool(const struct nna_engine_execution *execution, const void *data,
		     struct running **running)
{
	*running = find(execution);
	for (uint32_t i = 0; *running && i < (*running)->num_pools; i++)
		if ((uintptr_t)data - (uintptr_t)(*running)->pools[i]->base <
		    (*running)->pools[i]->mapped)
			return (int)i;
	return -1;
}

void *nna_engine_buffer(struct nna_engine_execution *execution, const void *data)
{
	struct running *running;
	void *own = NULL;
	int i;

	pthread_mutex_lock(&all.lock);
	i = find_pool(execution, data, &running);
	if (i >= 0 && running->buffers && running->buffers[i])
		own = running->buffers[i]->own;
	pthread_mutex_unlock(&all.lock);
	return own;
}

bool nna_engine_region_of(struct nna_engine_execution *execution, const void *data,
			  struct nna_engine_region *region)
{
	struct running *running;
	int i;

	pthread_mutex_lock(&all.lock);
	i = find_pool(execution, data, &running);
	if (i >= 0) {
		atomic_store(&running->pools[i]->told, true);
		*region = mapping_region(running->pools[i]);
	}
	pthread_mutex_unlock(&all.lock);
	return i >= 0;
}

int nna_engine_region_file(struct nna_engine_execution *execution, const void *data)
{
	struct nnaccel_session_grant_fd arg = { .size = sizeof(arg), .flags = NNACCEL_GRANT_FD_CLOEXEC };
	struct running *running;
	int i, session = -1;
	bool may = false;

	pthread_mutex_lock(&all.lock);
	i = find_pool(execution, data, &running);
	if (i >= 0) {
		arg.grant = running->pools[i]->grant;
		arg.prot = running->pools[i]->prot & (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE);
		session = running->grants->session;
		may = grants_reach_drivers(running->grants);
	}
	pthread_mutex_unlock(&all.lock);
	errno = i < 0 ? EINVAL : EPERM;
	return !may || session_call(session, NNACCEL_SESSION_GRANT_FD, &arg) ? -1 : arg.out_fd;
}

/*
 * Replaces *sync_file by a fence that waits for `fence` and, if *sync_file is valid, for the old
 * *sync_file. Closes the old *sync_file and `fence`, and preserves errno.
 */
static bool merge(int *sync_file, int fence)
{
	struct sync_merge_data both = { .name = "nnaccel", .fd2 = fence };
	int error = 0;

	if (*sync_file < 0) {
		*sync_file = fence;
		return true;
	}
	if (ioctl(*sync_file, SYNC_IOC_MERGE, &both))
		error = errno;
	close(*sync_file);
	close(fence);
	*sync_file = error ? -1 : both.fence;
	errno = error;
	return !error;
}

bool nna_engine_dependencies(struct nna_engine_execution *execution, int *sync_file)
{
	struct nnaccel_session_fence arg = { .size = sizeof(arg), .flags = NNACCEL_FENCE_CLOEXEC };
	const struct running *running;
	uint32_t count = 0;
	int session = -1;

	*sync_file = -1;
	pthread_mutex_lock(&all.lock);
	running = find(execution);
	if (running) {
		arg.cookie = running->cookie;
		count = running->num_fences;
		session = running->grants->session;
	}
	pthread_mutex_unlock(&all.lock);
	if (!running) {
		errno = EINVAL;
		return false;
	}
	for (; arg.index < count; arg.index++) {
		if (session_call(session, NNACCEL_SESSION_FENCE, &arg)) {
			const int error = errno;

			if (*sync_file >= 0)
				close(*sync_file);
			*sync_file = -1;
			errno = error;
			return false;
		}
		if (!merge(sync_file, arg.out_fd))
			return false;
	}
	return true;
}

bool nna_engine_end_with_fence(struct nna_engine_execution *execution, int sync_file)
{
	struct running *running;
	bool takes;

	pthread_mutex_lock(&all.lock);
	running = find(execution);
	takes = running && sync_file >= 0 && running->may_have_fence && running->fence < 0;
	if (takes)
		running->fence = sync_file;
	pthread_mutex_unlock(&all.lock);
	return takes;
}
