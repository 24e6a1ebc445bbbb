/* SPDX-License-Identifier: MIT */
/*
 * Cache files of the device nnapi-reference. The model file has a header and the model part of a
 * saved plan; the data file has the plan's data part.
 */
#define _GNU_SOURCE
#include "runtime/cache_cpu.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hal/cache_files.h"
#include "model/fingerprint.h"
#include "plan/run/pages.h"
#include "plan/run/threads.h"

enum { MODEL, DATA };		/* index of a file in a cache entry */

#define MAGIC UINT64_C(0x3265686361636e6e)	/* "nncache2" */

/*
 * Number of bytes that a thread reads at a time: so few that the bytes are still in the CPU's cache
 * when they are hashed.
 */
#define CHUNK (UINT64_C(256) << 10)

/* The hashes detect only accidental changes; an application may change its own files anyway. */
struct file_header {
	uint64_t magic;
	uint64_t data_size;
	uint64_t model_hash;		/* nn_fingerprint64() of the model part */
	uint64_t data_hash;		/* hash of the hashes of all chunks */
};

/* Reads `size` bytes of a file, from offset `from` on. */
static enum nn_status read_all(int fd, const char *kind, void *to, uint64_t from, uint64_t size,
			       struct nn_error *err)
{
	uint64_t at = 0;

	while (at < size) {
		ssize_t n = pread(fd, (char *)to + at, size - at, (off_t)(from + at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return nn_fail(err, NN_GENERAL_FAILURE, "cache: the %s file: %s", kind,
				       n ? strerrordesc_np(errno) : "it became shorter");
		at += (uint64_t)n;
	}
	return NN_OK;
}

/* ---- Hashing data ---- */

/* Data in chunks. */
struct chunks {
	int fd;	/* file that contains the chunks; -1 if the chunks are in memory */
	char *data;
	uint64_t size;
	uint64_t *hashes;
	atomic_bool failed;
	pthread_mutex_t lock;		/* protects `err` */
	struct nn_error *err;
};

static void take_chunk(void *arg, uint32_t index, uint32_t thread)
{
	struct chunks *c = arg;
	const uint64_t at = index * CHUNK, left = c->size - at, size = left < CHUNK ? left : CHUNK;
	struct nn_error err = { "" };

	(void)thread;
	if (c->fd >= 0 && read_all(c->fd, "data", c->data + at, at, size, &err)) {
		pthread_mutex_lock(&c->lock);
		nn_fail(c->err, NN_GENERAL_FAILURE, "%s", err.message);
		pthread_mutex_unlock(&c->lock);
		atomic_store(&c->failed, true);
		return;
	}
	c->hashes[index] = nn_fingerprint64(c->data + at, size);
}

/* Reads data and hashes the data, on several threads; if fd is -1, only hashes the data. */
static enum nn_status hash_data(int fd, void *data, uint64_t size, uint32_t threads,
				uint64_t *hash, struct nn_error *err)
{
	const uint64_t count = size / CHUNK + (size % CHUNK != 0);
	struct chunks c = {
		.fd = fd, .data = data, .size = size, .lock = PTHREAD_MUTEX_INITIALIZER,
		.err = err, .hashes = count > UINT32_MAX ? NULL : malloc((count + 1) * sizeof(*hash)),
	};

	if (!c.hashes)
		return nn_fail(err, NN_OUT_OF_MEMORY, "no memory for data of %" PRIu64 " bytes",
			       size);
	threads_run_long(take_chunk, &c, (uint32_t)count, threads);
	*hash = nn_fingerprint64(c.hashes, c.failed ? 0 : count * sizeof(*hash));
	free(c.hashes);
	return c.failed ? NN_GENERAL_FAILURE : NN_OK;
}

/* The device nnapi-reference has one model file and one data file. */
static enum nn_status open_files(const struct nna_cache *cache, bool writes,
				 struct nna_cache_files *files, struct nn_error *err)
{
	if (cache->num_model_files != 1 || cache->num_data_files != 1)
		return nn_fail(err, NN_INVALID_ARGUMENT, "cache: %u model and %u data files, "
			       "must be 1 and 1", cache->num_model_files,
			       cache->num_data_files);
	return nna_cache_files_open(cache, writes, files, err);
}

/* ---- Saving ---- */

static enum nn_status write_image(const struct nn_plan_image *image, const struct nna_cache *cache,
				  char *model, void *data, struct nn_error *err)
{
	struct file_header h = { .magic = MAGIC, .data_size = image->data_size };
	const struct nna_cache_bytes parts[] = {
		{ model, sizeof(h) + image->model_size }, { data, image->data_size },
	};
	struct nna_cache_files files;
	enum nn_status status;

	nn_plan_image_data(image, data);
	h.model_hash = nn_fingerprint64(image->model, image->model_size);
	status = hash_data(-1, data, image->data_size, 1, &h.data_hash, err);
	if (status)
		return status;
	memcpy(model, &h, sizeof(h));
	memcpy(model + sizeof(h), image->model, image->model_size);
	status = open_files(cache, true, &files, err);
	if (status)
		return status;
	status = nna_cache_files_write(&files, parts, err);
	nna_cache_files_close(&files);
	return status;
}

enum nn_status cpu_cache_save(const struct nn_plan *plan, const struct nna_cache *cache,
			      struct nn_error *err)
{
	struct nn_plan_image image;
	enum nn_status status = nn_plan_save(plan, &image, err);
	void *data = NULL;
	char *model = NULL;

	if (!status) {
		model = malloc(sizeof(struct file_header) + image.model_size);
		data = image.data_size ? pages_alloc(image.data_size) : NULL;
	}
	if (!status && (!model || (image.data_size && !data)))
		status = nn_fail(err, NN_OUT_OF_MEMORY, "no memory to save a plan");
	if (!status)
		status = write_image(&image, cache, model, data, err);
	pages_free(data, image.data_size);
	free(model);
	nn_plan_image_free(&image);
	return status;
}

/* ---- Loading ---- */

static enum nn_status read_model(const struct nna_cache_files *files, void **model,
				 struct nn_error *err)
{
	struct file_header h;

	if (!files->sizes[MODEL])
		return nn_fail(err, NN_GENERAL_FAILURE, "cache: the model file is empty");
	*model = malloc(files->sizes[MODEL]);
	if (!*model)
		return nn_fail(err, NN_OUT_OF_MEMORY, "no memory for a model file of %" PRIu64
			       " bytes", files->sizes[MODEL]);
	if (read_all(files->fds[MODEL], "model", *model, 0, files->sizes[MODEL], err))
		return NN_GENERAL_FAILURE;
	if (files->sizes[MODEL] < sizeof(h))
		return nn_fail(err, NN_GENERAL_FAILURE,
			       "cache: wrong model file of %" PRIu64 " bytes", files->sizes[MODEL]);
	memcpy(&h, *model, sizeof(h));
	if (h.magic != MAGIC)
		return nn_fail(err, NN_GENERAL_FAILURE,
			       "cache: the model file belongs to another device or build");
	if (h.data_size != files->sizes[DATA])
		return nn_fail(err, NN_GENERAL_FAILURE, "cache: the data file has %" PRIu64
			       " bytes, not %" PRIu64, files->sizes[DATA], h.data_size);
	if (nn_fingerprint64((char *)*model + sizeof(h), files->sizes[MODEL] - sizeof(h)) !=
	    h.model_hash)
		return nn_fail(err, NN_GENERAL_FAILURE, "cache: the model file is damaged");
	return NN_OK;
}

static enum nn_status read_data(const struct nna_cache_files *files, const void *model,
				uint32_t preference, struct cpu_cached *cached,
				struct nn_error *err)
{
	const uint32_t threads = preference == NN_PREFER_LOW_POWER ? 1 : threads_start();
	enum nn_status status;
	struct file_header h;
	uint64_t hash;

	memcpy(&h, model, sizeof(h));
	cached->data_size = files->sizes[DATA];
	cached->data = files->sizes[DATA] ? pages_alloc(files->sizes[DATA]) : NULL;
	if (files->sizes[DATA] && !cached->data)
		return nn_fail(err, NN_OUT_OF_MEMORY, "no memory for a data file of %" PRIu64
			       " bytes", files->sizes[DATA]);
	status = hash_data(files->fds[DATA], cached->data, cached->data_size, threads, &hash, err);
	if (status)
		return status;
	if (hash != h.data_hash)
		return nn_fail(err, NN_GENERAL_FAILURE, "cache: the data file is damaged");
	return NN_OK;
}

static enum nn_status load(const struct nna_cache_files *files,
			   const struct nn_plan_options *options, struct cpu_cached *cached,
			   struct nn_error *err)
{
	const size_t header = sizeof(struct file_header);
	void *model = NULL;
	enum nn_status status = read_model(files, &model, err);

	if (!status)
		status = read_data(files, model, options->preference, cached, err);
	if (!status)
		status = nn_plan_load((char *)model + header, files->sizes[MODEL] - header,
				      cached->data, cached->data_size, options, &cached->plan,
				      err);
	free(model);
	return status;
}

enum nn_status cpu_cache_load(const struct nna_cache *cache, const struct nn_plan_options *options,
			      struct cpu_cached *cached, struct nn_error *err)
{
	struct nna_cache_files files;
	enum nn_status status;

	*cached = (struct cpu_cached){ .plan = NULL };
	status = open_files(cache, false, &files, err);
	if (status)
		return status;
	status = load(&files, options, cached, err);
	nna_cache_files_close(&files);
	if (status)
		cpu_cached_free(cached);
	return status;
}

void cpu_cached_free(struct cpu_cached *cached)
{
	nn_plan_free(cached->plan);
	pages_free(cached->data, cached->data_size);
	*cached = (struct cpu_cached){ .plan = NULL };
}
