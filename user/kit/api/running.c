// SPDX-License-Identifier: MIT
/*
 * The execution of each thread, for functions of <nnaccel/engine.h> that an engine calls meanwhile.
 */
#include <errno.h>

#include <linux/nnaccel.h>
#include <nnaccel/engine.h>

#include "kit/api/running.h"
#include "kit/session/session.h"

static _Thread_local struct running *current;
static _Thread_local int gone_file = -1;
static _Thread_local struct {
	int session;
	uint64_t cookie;		/* 0: no preparation */
} preparation;

void running_set(struct running *running)
{
	current = running;
}

void running_set_gone(int file)
{
	gone_file = file;
}

void running_set_preparation(int session, uint64_t cookie)
{
	preparation.session = session;
	preparation.cookie = cookie;
}

bool nna_engine_progress(uint32_t thousandths)
{
	struct nnaccel_session_commit commit = {
		.size = sizeof(commit),
		.cookie = preparation.cookie,
		.flags = NNACCEL_COMMIT_PROGRESS,
		.device_ns = NNACCEL_TIME_NONE,
		.fence = thousandths < NNACCEL_PROGRESS_ALL ? (int)thousandths : NNACCEL_PROGRESS_ALL,
	};

	return !commit.cookie ||
	       !session_call(preparation.session, NNACCEL_SESSION_COMMIT, &commit) ||
	       errno != ECANCELED;
}

int nna_engine_gone_file(void)
{
	return gone_file;
}

/* Finds the pool that an argument's data is in; num_pools: private memory. */
static uint32_t find_pool(const void *data)
{
	uint32_t i = 0;

	while (i < current->num_pools &&
	       (uintptr_t)data - (uintptr_t)current->pools[i]->base >= current->pools[i]->mapped)
		i++;
	return i;
}

void *nna_engine_buffer(const void *data)
{
	uint32_t i = current && current->buffers ? find_pool(data) : 0;

	return current && current->buffers && i < current->num_pools && current->buffers[i] ?
	       current->buffers[i]->own : NULL;
}

bool nna_engine_region(const void *data, struct nna_engine_region *region)
{
	uint32_t i = current ? find_pool(data) : 0;

	if (!current || i == current->num_pools)
		return false;
	atomic_store(&current->pools[i]->told, true);
	*region = mapping_region(current->pools[i]);
	return true;
}

int nna_engine_region_file(const void *data)
{
	struct nnaccel_session_grant_fd arg = { .size = sizeof(arg), .flags = NNACCEL_GRANT_FD_CLOEXEC };
	uint32_t i = current ? find_pool(data) : 0;

	errno = !current || i == current->num_pools ? EINVAL : gone_file < 0 ? EPERM : EOPNOTSUPP;
	if (errno != EOPNOTSUPP)
		return -1;
	arg.grant = current->pools[i]->grant;
	arg.prot = current->pools[i]->prot & (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE);
	return session_call(current->grants->session, NNACCEL_SESSION_GRANT_FD, &arg) ? -1 : arg.out_fd;
}

bool nna_engine_end_with_fence(int sync_file)
{
	if (sync_file < 0 || !current || !current->may_have_fence || current->fence >= 0)
		return false;
	current->fence = sync_file;
	return true;
}
