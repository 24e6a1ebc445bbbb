/* SPDX-License-Identifier: MIT */
/*
 * Deferred saves: cache entries that are saved after the engine has compiled or tuned a model.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/tuned.h"
#include "cache.h"
#include "cache_files.h"
#include "late.h"

#define NEVER UINT64_MAX

struct nna_late {
	struct nna_prepared_model *prepared;
	int fds[NNA_MAX_CACHE_FILES];	/* duplicates of the caller's handles: model files first */
	struct nna_cache cache;		/* of these handles */
	_Atomic(uint64_t) executions;
	/* the execution after which to save; NEVER while a thread saves */
	_Atomic(uint64_t) next;
	bool is_last;	/* set only by the thread: this save is of the tuned model */
	pthread_mutex_t lock;		/* protects the fields that follow */
	pthread_t thread;
	pid_t process;	/* process that has the thread; a forked child does not have it */
	bool has_thread;
};

static uint32_t count_files(const struct nna_late *late)
{
	return late->cache.num_model_files + late->cache.num_data_files;
}

void nna_late_begin(struct nna_prepared_model *prepared, const struct nna_cache *cache,
		    bool put_off)
{
	struct nna_late *late = calloc(1, sizeof(*late));
	bool has_all = true;

	if (!late)
		return;
	late->prepared = prepared;
	late->cache = *cache;
	late->cache.model_files = late->fds;
	late->cache.data_files = late->fds + cache->num_model_files;
	for (uint32_t i = 0; i < count_files(late); i++) {
		late->fds[i] = fcntl(nna_cache_file(cache, i), F_DUPFD_CLOEXEC, 0);
		has_all &= late->fds[i] >= 0;
	}
	late->is_last = !put_off;
	atomic_init(&late->next, put_off ? 1 : TUNED_EXECUTIONS);
	pthread_mutex_init(&late->lock, NULL);
	prepared->late = late;
	if (!has_all)
		nna_late_end(prepared);
}

static void *save(void *arg)
{
	struct nna_late *late = arg;
	struct nn_error reason = { "" };
	bool put_off = false;

	if (nna_cache_save(late->prepared, &late->cache, &put_off, &reason) &&
	    !reason.message[0])
		nn_fail(&reason, NN_GENERAL_FAILURE, "cache: not saved");
	if (put_off) {
		/*
		 * The execution has only begun, because it waits for a fence. The plan may exist at
		 * a later execution.
		 */
		atomic_store(&late->next, atomic_load(&late->executions) + 1);
		return NULL;
	}
	if (!late->is_last) {
		late->is_last = true;
		atomic_store(&late->next, TUNED_EXECUTIONS);
	}
	if (late->cache.saved_late)
		late->cache.saved_late(reason.message);
	return NULL;
}

/* Starts a thread with all of the program's signals blocked. */
static bool start_thread(struct nna_late *late)
{
	sigset_t all, before;
	bool started;

	late->process = getpid();
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	started = !pthread_create(&late->thread, NULL, save, late);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

static void join_thread(struct nna_late *late)
{
	if (late->has_thread && late->process == getpid())
		pthread_join(late->thread, NULL);
	late->has_thread = false;
}

void nna_late_executed(struct nna_prepared_model *prepared)
{
	struct nna_late *late = prepared->late;
	uint64_t next;

	if (!late)
		return;
	next = atomic_load_explicit(&late->next, memory_order_relaxed);
	if (atomic_fetch_add_explicit(&late->executions, 1, memory_order_relaxed) + 1 < next ||
	    !atomic_compare_exchange_strong(&late->next, &next, NEVER))
		return;
	/* The finished thread may be one that another caller is still starting. */
	pthread_mutex_lock(&late->lock);
	join_thread(late);
	late->has_thread = start_thread(late);
	pthread_mutex_unlock(&late->lock);
}

void nna_late_end(struct nna_prepared_model *prepared)
{
	struct nna_late *late = prepared->late;

	if (!late)
		return;
	prepared->late = NULL;
	join_thread(late);
	for (uint32_t i = 0; i < count_files(late); i++)
		if (late->fds[i] >= 0)
			close(late->fds[i]);
	pthread_mutex_destroy(&late->lock);
	free(late);
}
