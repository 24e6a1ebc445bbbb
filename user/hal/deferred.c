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
#include "deferred.h"

#define NEVER UINT64_MAX

struct nna_deferred {
	struct nna_prepared_model *prepared;
	int fds[NNA_MAX_CACHE_FILES];	/* duplicates of the caller's handles: model files first */
	struct nna_cache cache;		/* of these handles */
	_Atomic(uint64_t) executions;
	/*
	 * number of executions after which to save the model; NEVER while a thread saves the model
	 */
	_Atomic(uint64_t) next;
	bool is_last;	/* the next save is the last; only the saving thread sets is_last */
	pthread_mutex_t lock;		/* lock for the fields that follow */
	pthread_t thread;
	/* process of the saving thread, which does not exist in a forked child */
	pid_t process;
	bool has_thread;
};

static uint32_t count_files(const struct nna_deferred *deferred)
{
	return deferred->cache.num_model_files + deferred->cache.num_data_files;
}

void nna_deferred_begin(struct nna_prepared_model *prepared, const struct nna_cache *cache,
			bool put_off)
{
	struct nna_deferred *deferred = calloc(1, sizeof(*deferred));
	bool has_all = true;

	if (!deferred)
		return;
	deferred->prepared = prepared;
	deferred->cache = *cache;
	deferred->cache.model_files = deferred->fds;
	deferred->cache.data_files = deferred->fds + cache->num_model_files;
	for (uint32_t i = 0; i < count_files(deferred); i++) {
		deferred->fds[i] = fcntl(nna_cache_file(cache, i), F_DUPFD_CLOEXEC, 0);
		has_all &= deferred->fds[i] >= 0;
	}
	deferred->is_last = !put_off;
	atomic_init(&deferred->next, put_off ? 1 : TUNED_EXECUTIONS);
	pthread_mutex_init(&deferred->lock, NULL);
	prepared->deferred = deferred;
	if (!has_all)
		nna_deferred_end(prepared);
}

static void *save(void *arg)
{
	struct nna_deferred *deferred = arg;
	struct nn_error reason = { "" };
	bool put_off = false;

	if (nna_cache_save(deferred->prepared, &deferred->cache, &put_off, &reason) &&
	    !reason.message[0])
		nn_fail(&reason, NN_GENERAL_FAILURE, "cache: the model could not be saved");
	if (put_off) {
		/*
		 * The engine may not have compiled yet, because a fenced execution is reported at
		 * its submission. Try again after the next execution.
		 */
		atomic_store(&deferred->next, atomic_load(&deferred->executions) + 1);
		return NULL;
	}
	if (!deferred->is_last) {
		deferred->is_last = true;
		atomic_store(&deferred->next, TUNED_EXECUTIONS);
	}
	if (deferred->cache.deferred_saved)
		deferred->cache.deferred_saved(deferred->cache.deferred_saved_data, reason.message);
	return NULL;
}

/* Starts a thread with all of the program's signals blocked. */
static bool start_thread(struct nna_deferred *deferred)
{
	sigset_t all, before;
	bool started;

	deferred->process = getpid();
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	started = !pthread_create(&deferred->thread, NULL, save, deferred);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

static void join_thread(struct nna_deferred *deferred)
{
	if (deferred->has_thread && deferred->process == getpid())
		pthread_join(deferred->thread, NULL);
	deferred->has_thread = false;
}

void nna_deferred_executed(struct nna_prepared_model *prepared)
{
	struct nna_deferred *deferred = prepared->deferred;
	uint64_t next;

	if (!deferred)
		return;
	next = atomic_load_explicit(&deferred->next, memory_order_relaxed);
	if (atomic_fetch_add_explicit(&deferred->executions, 1, memory_order_relaxed) + 1 < next ||
	    !atomic_compare_exchange_strong(&deferred->next, &next, NEVER))
		return;
	/* The lock may be held by a caller that starts the thread of an earlier save. */
	pthread_mutex_lock(&deferred->lock);
	join_thread(deferred);
	deferred->has_thread = start_thread(deferred);
	pthread_mutex_unlock(&deferred->lock);
}

void nna_deferred_end(struct nna_prepared_model *prepared)
{
	struct nna_deferred *deferred = prepared->deferred;

	if (!deferred)
		return;
	prepared->deferred = NULL;
	join_thread(deferred);
	for (uint32_t i = 0; i < count_files(deferred); i++)
		if (deferred->fds[i] >= 0)
			close(deferred->fds[i]);
	pthread_mutex_destroy(&deferred->lock);
	free(deferred);
}
