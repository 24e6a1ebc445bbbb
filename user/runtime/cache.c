/* SPDX-License-Identifier: MIT */
/*
 * Compilation caching: names the cache files of a step, and prepares the step from its cache files.
 */
#define _GNU_SOURCE
#include "runtime/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/log.h"
#include "runtime/sha256.h"

#define MAX_FILES 32		/* maximum number of model files, and of data files */
#define FILE_MODE 0600

/*
 * The name of a cache file has two letters for each byte of the token, then the kind and a number.
 */
enum kind { MODEL = '1', DATA = '2' };

/* The open files of a cache entry. */
struct entry {
	struct nna_cache files;
	int model[MAX_FILES];
	int data[MAX_FILES];
};

/*
 * Makes the key of a cache entry from the application's token and all properties that change the
 * prepared step.
 */
static void make_token(const struct cache_options *cache, const struct step *step,
		       const struct prepare_options *options, uint8_t token[SHA256_SIZE])
{
	const ANeuralNetworksDevice *device = step->device;
	const int32_t preference = (int32_t)options->preference;
	const int32_t priority = ANEURALNETWORKS_PRIORITY_LOW + 10 * (int32_t)options->priority;
	uint32_t count = step->graph.model.subgraphs[0].num_operations;
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, cache->token, ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN);
	for (uint32_t i = 0; step->operations && i < count; i++) {
		/* Adds an operation of the main model to the key. */
		const uint32_t at[] = { 0, step->operations[i] };

		sha256_add(&s, at, sizeof(at));
	}
	/*
	 * Adds the extensions that the model uses; the device's version, which is also part of the
	 * key, identifies the plug-ins.
	 */
	for (uint32_t i = 0; i < step->graph.model.num_extensions; i++)
		sha256_add(&s, step->graph.model.extensions[i].name,
			   strlen(step->graph.model.extensions[i].name) + 1);
	for (uint32_t i = 0; options->attributes && i < options->attributes->count; i++) {
		const struct nn_attribute *a = &options->attributes->list[i];
		const uint32_t head[] = { a->code, a->size };

		sha256_add(&s, a->extension, strlen(a->extension) + 1);
		sha256_add(&s, head, sizeof(head));
		sha256_add(&s, a->data, a->size);
	}
	sha256_add(&s, device->name, strlen(device->name));
	sha256_add(&s, device_info(device)->version, strlen(device_info(device)->version));
	sha256_add(&s, &preference, sizeof(preference));
	sha256_add(&s, &priority, sizeof(priority));
	sha256_end(&s, token);
}

static int open_file(const struct cache_options *cache, const uint8_t *token, enum kind kind,
		     uint32_t index, int flags)
{
	char name[2 * SHA256_SIZE + 1], *path;
	int fd, error;

	for (uint32_t i = 0; i < SHA256_SIZE; i++) {
		name[2 * i] = (char)('A' + (token[i] & 15));
		name[2 * i + 1] = (char)('A' + (token[i] >> 4));
	}
	name[2 * SHA256_SIZE] = '\0';
	if (asprintf(&path, "%s%s%c%u", cache->dir, name, kind, index) < 0) {
		errno = ENOMEM;
		return -1;
	}
	fd = open(path, O_RDWR | O_CLOEXEC | flags, FILE_MODE);
	error = errno;
	free(path);
	errno = error;
	return fd;
}

static void close_entry(struct entry *e)
{
	for (uint32_t i = 0; i < e->files.num_model_files; i++)
		close(e->model[i]);
	for (uint32_t i = 0; i < e->files.num_data_files; i++)
		close(e->data[i]);
	e->files.num_model_files = 0;
	e->files.num_data_files = 0;
}

/* Returns whether all files of a cache entry are empty. */
static bool is_empty(const struct entry *e)
{
	struct stat st;

	for (uint32_t i = 0; i < e->files.num_model_files; i++)
		if (fstat(e->model[i], &st) || st.st_size)
			return false;
	for (uint32_t i = 0; i < e->files.num_data_files; i++)
		if (fstat(e->data[i], &st) || st.st_size)
			return false;
	return true;
}

/* Makes a cache entry from duplicates of the application's open files. */
static bool dup_entry(struct entry *e, const struct cache_options *cache,
		      const struct nn_device_info *info)
{
	uint32_t count = info->model_cache_files + info->data_cache_files;
	int error;

	for (uint32_t i = 0; i < count; i++) {
		int fd = fcntl(cache->fds[i], F_DUPFD_CLOEXEC, 0);

		if (fd < 0) {
			error = errno;
			close_entry(e);
			errno = error;
			return false;
		}
		if (i < info->model_cache_files)
			e->model[e->files.num_model_files++] = fd;
		else
			e->data[e->files.num_data_files++] = fd;
	}
	return true;
}

/* Opens all files of a cache entry. On failure all files are closed, and errno is the reason. */
static bool open_entry(struct entry *e, const struct cache_options *cache,
		       const struct nn_device_info *info, int flags)
{
	const struct nna_cache *f = &e->files;
	int fd = 0, error;

	e->files.model_files = e->model;
	e->files.data_files = e->data;
	if (cache->fds)
		return dup_entry(e, cache, info);
	while (fd >= 0 && f->num_model_files < info->model_cache_files) {
		fd = open_file(cache, f->token, MODEL, f->num_model_files, flags);
		if (fd >= 0)
			e->model[e->files.num_model_files++] = fd;
	}
	while (fd >= 0 && f->num_data_files < info->data_cache_files) {
		fd = open_file(cache, f->token, DATA, f->num_data_files, flags);
		if (fd >= 0)
			e->data[e->files.num_data_files++] = fd;
	}
	if (fd >= 0)
		return true;
	error = errno;
	close_entry(e);
	errno = error;
	return false;
}

/* Returns the location of a cache entry's files, as a text for messages. */
static const char *where(const struct cache_options *cache)
{
	return cache->dir ? cache->dir : "the files given";
}

/* libnnaccel calls log_late() on a separate thread. */
static void log_late(void *data, const char *reason)
{
	(void)data;
	if (reason[0])
		nna_log(NNA_LOG_WARN, "a cache entry was not saved again: %s", reason);
	else
		nna_log(NNA_LOG_INFO, "a deferred cache entry was saved");
}

/*
 * Returns false if the step must be prepared without its cache entry. If the entry has an error,
 * `reason` describes the error.
 */
static bool load(const struct cache_options *cache, const struct step *step,
		 const struct prepare_options *options, struct entry *e,
		 struct prepared **prepared, struct nn_error *reason)
{
	const ANeuralNetworksDevice *device = step->device;
	int result;

	if (!open_entry(e, cache, device_info(device), 0)) {
		/*
		 * A missing cache entry is no error, because the first compilation creates the
		 * entry.
		 */
		if (errno != ENOENT)
			rt_fail(reason, ANEURALNETWORKS_UNMAPPABLE, "%s: %s", where(cache),
				strerrordesc_np(errno));
		return false;
	}
	/* If the application passed empty files, the entry also counts as missing. */
	if (cache->fds && is_empty(e)) {
		close_entry(e);
		return false;
	}
	result = device->ops->prepare_cached(device, &step->graph, options, &e->files, prepared,
					     reason);
	close_entry(e);
	return result == ANEURALNETWORKS_NO_ERROR;
}

/*
 * Prepares a step and saves a cache entry for the step. If saving fails, `reason` describes the
 * failure.
 */
static int prepare(const struct cache_options *cache, const struct step *step,
		   const struct prepare_options *options, struct entry *e,
		   struct prepared **prepared, struct nn_error *reason, struct nn_error *err)
{
	const ANeuralNetworksDevice *device = step->device;
	bool is_open = open_entry(e, cache, device_info(device), O_CREAT);
	int result;

	if (!is_open)
		rt_fail(reason, ANEURALNETWORKS_UNMAPPABLE, "%s: %s", where(cache),
			strerrordesc_np(errno));
	e->files.not_saved = reason;
	result = device->ops->prepare(device, &step->graph, options, is_open ? &e->files : NULL,
				      prepared, err);
	close_entry(e);
	return result;
}

int cache_prepare(const struct cache_options *cache, const struct step *step,
		  const struct prepare_options *options, struct prepared **prepared,
		  struct nn_error *err)
{
	const ANeuralNetworksDevice *device = step->device;
	struct nn_error not_loaded = { "" }, not_saved = { "" };
	struct entry e = { .files = { .size = sizeof(e.files), .deferred_saved = log_late } };
	int result;

	if (!cache || (cache->fds && step->operations) ||
	    !(device_info(device)->model_cache_files || device_info(device)->data_cache_files))
		return device->ops->prepare(device, &step->graph, options, NULL, prepared, err);
	make_token(cache, step, options, e.files.token);
	if (load(cache, step, options, &e, prepared, &not_loaded)) {
		nna_log(NNA_LOG_INFO, "prepared from the cache");
		return ANEURALNETWORKS_NO_ERROR;
	}
	result = prepare(cache, step, options, &e, prepared, &not_saved, err);
	if (not_loaded.message[0] || not_saved.message[0])
		nna_log(NNA_LOG_WARN, "%s: prepared without its cache entry%s%.200s%s%.200s",
		       device->name, not_loaded.message[0] ? ": " : "", not_loaded.message,
		       not_saved.message[0] ? "; not saved: " : "", not_saved.message);
	return result;
}
