/* SPDX-License-Identifier: MIT */
/*
 * The compilation cache: copies the engine's parts of a prepared model to the caller's files, and
 * back. The engine never gets the files.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "cache_files.h"
#include "error.h"
#include "late.h"
#include "memory.h"
#include "model/attribute.h"
#include "sized.h"
#include "submit.h"

/* Number of times to ask for sizes, if they change meanwhile. */
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
	return NNA_TAKE(ours, saved_late, cache, "cache: the entry", err);
}

/* ---- loading ---- */

/* Imports a whole file as a read-only pool; 0: the file is empty. */
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

static void drop_pool(const struct nna_device *device, uint32_t pool)
{
	struct nnaccel_destroy d = { .size = sizeof(d), .id = pool };

	if (pool)
		nna_device_call(device, NNACCEL_DESTROY, &d);
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

/* Loads a model. The kernel's model holds the data file's pool, which holds the file's lock. */
static enum nn_status load(struct nna_device *device, const struct nna_cache *cache,
			   const struct nna_cache_files *files,
			   const struct nna_prepare_options *options, uint32_t *id,
			   struct nn_error *err)
{
	struct nnaccel_prepare_cached p = {
		.model_length = files->model_size,
		.data_length = files->data_size,
		.preference = options->preference,
		.priority = options->priority,
		.deadline_ns = options->deadline_ns,
	};
	enum nn_status status;
	void *attributes;
	size_t size;

	if (!files->model_size)
		return nn_fail(err, NN_GENERAL_FAILURE, "cache: the model file is empty");
	if (files->model_size > NNACCEL_MAX_WIRE)
		return nn_fail(err, NN_GENERAL_FAILURE, "cache: the model file has %llu bytes, at "
			       "most %d are possible", (unsigned long long)files->model_size,
			       NNACCEL_MAX_WIRE);
	memcpy(p.token, cache->token, sizeof(p.token));
	status = nn_attributes_encode(options->attributes, NNACCEL_MAX_ATTRIBUTES, &attributes,
				      &size, err);
	if (status)
		return status;
	p.attributes = (uintptr_t)attributes;
	p.attributes_size = (uint32_t)size;
	status = import_file(device, files->model, files->model_size, &p.model_pool, err);
	if (!status)
		status = import_file(device, files->data, files->data_size, &p.data_pool, err);
	if (!status)
		status = ask_cached(device, &p, err);
	drop_pool(device, p.data_pool);
	drop_pool(device, p.model_pool);
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
		status = nna_cache_files_open(&c, F_RDLCK, &files, err);
	if (status)
		return status;
	status = load(device, &c, &files, &o, &id, err);
	nna_cache_files_close(&files);
	if (!status)
		status = nna_prepared_model_new(device, id, &o, prepared, err);
	if (!status)
		nna_late_begin(*prepared, &c, false);
	return status;
}

/* ---- saving ---- */

/* Memory that the engine writes the parts to. */
struct parts {
	struct nna_memory *model, *data;
	uint64_t model_size, data_size;
};

static enum nn_status ask_save(const struct nna_prepared_model *prepared,
			       const struct nna_cache *cache, struct parts *parts,
			       struct nn_error *err)
{
	char message[NNACCEL_MAX_MESSAGE] = "";
	struct nnaccel_cache_save s = {
		.size = sizeof(s),
		.model = prepared->id,
		.model_pool = parts->model ? parts->model->pool : 0,
		.data_pool = parts->data ? parts->data->pool : 0,
		.model_room = parts->model_size,
		.data_room = parts->data_size,
		.message = (uintptr_t)message,
		.message_size = sizeof(message),
	};
	int error;

	memcpy(s.token, cache->token, sizeof(s.token));
	error = nna_ask(prepared->device, NNACCEL_WORK_CACHE_SAVE, &s);
	if (error)
		return nna_fail_errno(prepared->device, "cache", error, err);
	if (!s.out_status || s.out_status == NNACCEL_STATUS_OUTPUT_INSUFFICIENT_SIZE) {
		parts->model_size = s.out_model_size;
		parts->data_size = s.out_data_size;
	}
	return s.out_status ? nna_fail_status("cache", s.out_status, message, err) : NN_OK;
}

static void free_parts(struct parts *parts)
{
	nna_memory_free(parts->model);
	nna_memory_free(parts->data);
	parts->model = NULL;
	parts->data = NULL;
}

static enum nn_status alloc_parts(struct nna_device *device, struct parts *parts,
				  struct nn_error *err)
{
	enum nn_status status;

	if (!parts->model_size)
		return nn_fail(err, NN_GENERAL_FAILURE, "cache: the engine saves nothing");
	status = nna_memory_alloc(device, parts->model_size, &parts->model, err);
	if (!status && parts->data_size)
		status = nna_memory_alloc(device, parts->data_size, &parts->data, err);
	return status;
}

/*
 * Gets the parts into memory of this process. No model part means that compilation was deferred.
 * `err` must not be NULL, and stays empty on success.
 */
static enum nn_status get_parts(const struct nna_prepared_model *prepared,
				const struct nna_cache *cache, struct parts *parts,
				struct nn_error *err)
{
	enum nn_status status;

	parts->model_size = 0;
	parts->data_size = 0;
	status = ask_save(prepared, cache, parts, err);
	if (!status && !parts->model_size && !parts->data_size)
		return NN_OK;
	for (int i = 0; i < SAVE_TRIES && !status; i++) {
		status = alloc_parts(prepared->device, parts, err);
		if (!status)
			status = ask_save(prepared, cache, parts, err);
		if (status != NN_OUTPUT_INSUFFICIENT_SIZE)
			return status;
		/* The model was tuned meanwhile, so this try is no failure. */
		free_parts(parts);
		err->message[0] = '\0';
		status = NN_OK;
	}
	return status ? status : nn_fail(err, NN_GENERAL_FAILURE, "cache: sizes keep changing");
}

static enum nn_status write_parts(const struct parts *parts, struct nna_cache_files *files,
				  struct nn_error *err)
{
	const void *data = NULL, *model = nna_memory_map(parts->model, err);

	if (model && parts->data)
		data = nna_memory_map(parts->data, err);
	if (!model || (parts->data && !data))
		return NN_GENERAL_FAILURE;
	return nna_cache_files_write(files, model, parts->model_size, data, parts->data_size, err);
}

enum nn_status nna_cache_save(struct nna_prepared_model *prepared, const struct nna_cache *cache,
			      bool *put_off, struct nn_error *err)
{
	struct parts parts = { .model = NULL };
	struct nna_cache_files files;
	enum nn_status status;

	status = nna_cache_files_open(cache, F_WRLCK, &files, err);
	if (status)
		return status;
	status = get_parts(prepared, cache, &parts, err);
	*put_off = !status && !parts.model;
	if (!status && parts.model)
		status = write_parts(&parts, &files, err);
	free_parts(&parts);
	nna_cache_files_close(&files);
	return status;
}
