/* SPDX-License-Identifier: MIT */
/*
 * The compilation cache: copies a prepared model's parts from the engine to the caller's files, and
 * back. The engine never gets the caller's files.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "cache_files.h"
#include "deferred.h"
#include "error.h"
#include "memory.h"
#include "model/attribute.h"
#include "sized.h"
#include "submit.h"

/* Maximum number of queries for the parts' sizes, which may change before the parts are read. */
#define SAVE_TRIES 3

enum nn_status nna_cache_files_needed(struct nna_device *device, uint32_t *model_files,
				      uint32_t *data_files, struct nn_error *err)
{
	struct nn_device_info info = { .size = sizeof(info) };
	enum nn_status status = nna_device_get_info(device, &info, err);

	if (status)
		return status;
	*model_files = info.model_cache_files;
	*data_files = info.data_cache_files;
	return NN_OK;
}

enum nn_status nna_take_cache(struct nna_cache *ours, const struct nna_cache *cache,
			      struct nn_error *err)
{
	return NNA_TAKE(ours, deferred_saved_data, cache, "cache: the entry", err);
}

/* ---- loading ---- */

/* Imports a whole file as a read-only pool; sets the pool's id to 0 if the file is empty. */
static enum nn_status import_file(const struct nna_device *device, int fd, uint64_t size,
				  uint32_t *pool, struct nn_error *err)
{
	struct nnaccel_pool_import i = {
		.size = sizeof(i),
		.fd = fd,
		.prot = NNACCEL_PROT_READ,
		.length = size,
	};

	*pool = 0;
	if (!size)
		return NN_OK;
	if (nna_device_call(device, NNACCEL_POOL_IMPORT, &i))
		return nna_fail_errno(device, "cache", errno, err);
	*pool = i.out_id;
	return NN_OK;
}

static enum nn_status ask_cached(struct nna_device *device, struct nnaccel_prepare_cached *p,
				 struct nn_error *err)
{
	char message[NNACCEL_MAX_MESSAGE] = "";
	bool past = nna_is_past(p->deadline_ns);
	int error;

	p->size = sizeof(*p);
	p->message = (uintptr_t)message;
	p->message_size = sizeof(message);
	nna_device_expect_worker(device);
	error = nna_ask(device, NNACCEL_WORK_PREPARE_CACHED, p);
	return nna_call_verdict(device, "prepare from cache", error, past, p->out_status, message,
				err);
}

/* Checks the sizes of an entry's files, which is possible without the engine. */
static enum nn_status check_sizes(const struct nna_cache_files *files, struct nn_error *err)
{
	uint64_t bytes = 0;

	if (!files->sizes[0])
		return nn_fail(err, NN_GENERAL_FAILURE, "cache: the %s file is empty",
			       files->num_model ? "model" : "data");
	for (uint32_t i = 0; i < files->num_model; i++)
		if (__builtin_add_overflow(bytes, files->sizes[i], &bytes))
			bytes = UINT64_MAX;
	if (bytes > NNACCEL_MAX_WIRE)
		return nn_fail(err, NN_GENERAL_FAILURE, "cache: the model file has %llu bytes, at "
			       "most %d are possible", (unsigned long long)bytes, NNACCEL_MAX_WIRE);
	return NN_OK;
}

/*
 * Loads a model. The kernel's model refers to the pools of the data files, and these pools keep the
 * files locked.
 */
static enum nn_status load(struct nna_device *device, const struct nna_cache *cache,
			   const struct nna_cache_files *files,
			   const struct nna_prepare_options *options, uint32_t *id,
			   struct nn_error *err)
{
	struct nnaccel_cache_part parts[NNA_MAX_CACHE_FILES] = { 0 };
	struct nnaccel_prepare_cached p = {
		.num_model_parts = files->num_model,
		.num_data_parts = files->count - files->num_model,
		.parts = (uintptr_t)parts,
		.preference = options->preference,
		.priority = options->priority,
		.deadline_ns = options->deadline_ns,
	};
	enum nn_status status = check_sizes(files, err);
	void *attributes;
	size_t size;

	if (status)
		return status;
	memcpy(p.token, cache->token, sizeof(p.token));
	status = nn_attributes_encode(options->attributes, NNACCEL_MAX_ATTRIBUTES, &attributes,
				      &size, err);
	if (status)
		return status;
	p.attributes = (uintptr_t)attributes;
	p.attributes_size = (uint32_t)size;
	for (uint32_t i = 0; i < files->count && !status; i++) {
		parts[i].length = files->sizes[i];
		status = import_file(device, files->fds[i], files->sizes[i], &parts[i].pool, err);
	}
	if (!status)
		status = ask_cached(device, &p, err);
	for (uint32_t i = 0; i < files->count; i++)
		nna_drop(device, parts[i].pool);
	free(attributes);
	*id = p.out_model;
	return status;
}

enum nn_status nna_prepare_model_from_cache(struct nna_device *device,
					    const struct nna_cache *cache,
					    const struct nna_prepare_options *options,
					    struct nna_prepared_model **prepared,
					    struct nn_error *err)
{
	struct nna_cache_files files;
	struct nna_prepare_options o;
	enum nn_status status;
	struct nna_cache c;
	uint32_t id = 0;

	nna_error_clear(err);
	status = nna_take_prepare_options(&o, options, err);
	if (!status)
		status = nna_take_cache(&c, cache, err);
	if (!status)
		status = nna_cache_files_open(&c, false, &files, err);
	if (status)
		return status;
	status = load(device, &c, &files, &o, &id, err);
	nna_cache_files_close(&files);
	if (!status)
		status = nna_prepared_model_new(device, id, &o, prepared, err);
	if (!status)
		nna_deferred_begin(*prepared, &c, false);
	return status;
}

/* ---- saving ---- */

/* Memory to which the engine writes the parts of a model. */
struct parts {
	uint32_t num_model, count;
	struct nna_memory *memories[NNA_MAX_CACHE_FILES];
	uint64_t sizes[NNA_MAX_CACHE_FILES];
};

static enum nn_status ask_save(const struct nna_prepared_model *prepared,
			       const struct nna_cache *cache, struct parts *parts,
			       struct nn_error *err)
{
	struct nnaccel_cache_part rooms[NNA_MAX_CACHE_FILES] = { 0 };
	char message[NNACCEL_MAX_MESSAGE] = "";
	struct nnaccel_cache_save s = {
		.size = sizeof(s),
		.model = prepared->id,
		.num_model_parts = parts->num_model,
		.num_data_parts = parts->count - parts->num_model,
		.parts = (uintptr_t)rooms,
		.sizes = (uintptr_t)parts->sizes,
		.message = (uintptr_t)message,
		.message_size = sizeof(message),
	};
	int error;

	for (uint32_t i = 0; i < parts->count; i++)
		if (parts->memories[i])
			rooms[i] = (struct nnaccel_cache_part){ .pool = parts->memories[i]->pool,
								.length = parts->sizes[i] };
	memcpy(s.token, cache->token, sizeof(s.token));
	error = nna_ask(prepared->device, NNACCEL_WORK_CACHE_SAVE, &s);
	if (error)
		return nna_fail_errno(prepared->device, "cache", error, err);
	return s.out_status ? nna_fail_status("cache", s.out_status, message, err) : NN_OK;
}

static bool has_bytes(const struct parts *parts)
{
	for (uint32_t i = 0; i < parts->count; i++)
		if (parts->sizes[i])
			return true;
	return false;
}

static void free_parts(struct parts *parts)
{
	for (uint32_t i = 0; i < parts->count; i++) {
		nna_memory_free(parts->memories[i]);
		parts->memories[i] = NULL;
	}
}

static enum nn_status alloc_parts(struct nna_device *device, struct parts *parts,
				  struct nn_error *err)
{
	enum nn_status status = NN_OK;

	if (!parts->sizes[0])
		return nn_fail(err, NN_GENERAL_FAILURE, "cache: the engine has no data for the "
			       "first file, but has data for others");
	for (uint32_t i = 0; i < parts->count && !status; i++)
		if (parts->sizes[i])
			status = nna_memory_alloc(device, parts->sizes[i], &parts->memories[i], err);
	return status;
}

/* Rejects the engine's answer if a part is longer than the memory for this part. */
static enum nn_status check_parts(const struct parts *parts, struct nn_error *err)
{
	for (uint32_t i = 0; i < parts->count; i++) {
		uint64_t room = parts->memories[i] ? parts->memories[i]->size : 0;

		if (parts->sizes[i] > room)
			return nn_fail(err, NN_GENERAL_FAILURE, "cache: the engine says that it "
				       "saved %llu bytes for file %u, which has room for %llu",
				       (unsigned long long)parts->sizes[i], i,
				       (unsigned long long)room);
	}
	return NN_OK;
}

/*
 * Lets the engine write a model's parts to memory of this process. All parts are empty if the
 * engine has deferred the compilation. `err` must not be NULL, and stays empty on success.
 */
static enum nn_status get_parts(const struct nna_prepared_model *prepared,
				const struct nna_cache *cache, struct parts *parts,
				struct nn_error *err)
{
	enum nn_status status;

	status = ask_save(prepared, cache, parts, err);
	if (!status && !has_bytes(parts))
		return NN_OK;
	for (int i = 0; i < SAVE_TRIES && !status; i++) {
		status = alloc_parts(prepared->device, parts, err);
		if (!status)
			status = ask_save(prepared, cache, parts, err);
		if (status != NN_OUTPUT_INSUFFICIENT_SIZE)
			return status ? status : check_parts(parts, err);
		/*
		 * The engine has tuned the model since the sizes were read, so try again with the
		 * new sizes.
		 */
		free_parts(parts);
		err->message[0] = '\0';
		status = NN_OK;
	}
	return status ? status : nn_fail(err, NN_GENERAL_FAILURE, "cache: the engine's sizes of "
					 "the cache files changed at each try");
}

static enum nn_status write_parts(const struct parts *parts, struct nna_cache_files *files,
				  struct nn_error *err)
{
	struct nna_cache_bytes bytes[NNA_MAX_CACHE_FILES] = { { 0 } };

	for (uint32_t i = 0; i < parts->count; i++) {
		if (!parts->memories[i])
			continue;
		bytes[i].bytes = nna_memory_map(parts->memories[i], err);
		bytes[i].size = parts->sizes[i];
		if (!bytes[i].bytes)
			return NN_GENERAL_FAILURE;
	}
	return nna_cache_files_write(files, bytes, err);
}

enum nn_status nna_cache_save(struct nna_prepared_model *prepared, const struct nna_cache *cache,
			      bool *put_off, struct nn_error *err)
{
	struct nna_cache_files files;
	struct parts parts = { 0 };
	enum nn_status status;

	status = nna_cache_files_open(cache, true, &files, err);
	if (status)
		return status;
	parts.num_model = files.num_model;
	parts.count = files.count;
	status = get_parts(prepared, cache, &parts, err);
	*put_off = !status && !parts.memories[0];
	if (!status && parts.memories[0])
		status = write_parts(&parts, &files, err);
	free_parts(&parts);
	nna_cache_files_close(&files);
	return status;
}
