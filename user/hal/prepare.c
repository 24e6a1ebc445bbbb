/* SPDX-License-Identifier: MIT */
/*
 * Prepares a model: checks the model, takes references to memories, serialises the model into a
 * sealed memfd, submits the memfd, reads the engine's answer, and drops the references.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/write.h"
#include "cache.h"
#include "deferred.h"
#include "error.h"
#include "memory.h"
#include "model/attribute.h"
#include "sized.h"
#include "submit.h"

/* Pause between two reads of a preparation's progress. */
#define PAUSE_US 10000

/*
 * A model that is sent to the engine: the pool of its serialised form, and references to the pools
 * of its constants.
 */
struct sent_model {
	struct nna_memory *const *memories;
	uint32_t wire_pool;
	uint64_t wire_length;
	uint32_t num_pools;
	uint32_t *pools;
};

/* ---- translate ---- */

/*
 * Copies a subgraph's operands, and changes the offsets of constants to offsets in the kernel's
 * pools.
 */
static struct nn_operand *moved_operands(const struct nn_subgraph *g,
					 struct nna_memory *const *memories)
{
	struct nn_operand *operands = calloc(g->num_operands ? g->num_operands : 1,
					     sizeof(*operands));

	for (uint32_t i = 0; operands && i < g->num_operands; i++) {
		operands[i] = g->operands[i];
		if (operands[i].lifetime == NN_CONSTANT_REFERENCE)
			operands[i].location.offset += memories[operands[i].location.pool]->offset;
	}
	return operands;
}

/*
 * Encodes a model whose memories may begin inside pools of the kernel. `model` is a copy, which
 * encode_moved() changes.
 */
static enum nn_status encode_moved(struct nn_model *model, struct nn_pool *pools,
				   struct nna_memory *const *memories, void **wire, size_t *size,
				   struct nn_error *err)
{
	struct nn_subgraph *subgraphs = calloc(model->num_subgraphs, sizeof(*subgraphs));
	enum nn_status status = NN_OUT_OF_MEMORY;
	uint32_t count = 0;

	for (uint32_t i = 0; i < model->num_pools; i++)
		pools[i].size += memories[i]->offset;
	for (; subgraphs && count < model->num_subgraphs; count++) {
		subgraphs[count] = model->subgraphs[count];
		subgraphs[count].operands = moved_operands(&model->subgraphs[count], memories);
		if (!subgraphs[count].operands)
			break;
	}
	if (subgraphs && count == model->num_subgraphs) {
		model->subgraphs = subgraphs;
		status = nn_model_encode(model, wire, size, err);
	} else {
		nn_fail(err, status, "model: out of memory");
	}
	while (count)
		free((void *)subgraphs[--count].operands);
	free(subgraphs);
	return status;
}

/* Checks a model against its memories and serialises the model. */
static enum nn_status encode(const struct nn_model *model, struct nna_memory *const *memories,
			     void **wire, size_t *size, struct nn_error *err)
{
	struct nn_pool *pools = calloc(model->num_pools ? model->num_pools : 1, sizeof(*pools));
	struct nn_model copy = *model;
	enum nn_status status;
	bool moved = false;

	if (!pools)
		return nn_fail(err, NN_OUT_OF_MEMORY, "model: out of memory");
	for (uint32_t i = 0; i < model->num_pools; i++) {
		pools[i].size = memories[i]->size;
		moved |= memories[i]->offset;
	}
	copy.pools = pools;
	status = nn_model_check(&copy, err);
	if (!status)
		status = moved ? encode_moved(&copy, pools, memories, wire, size, err) :
				 nn_model_encode(&copy, wire, size, err);
	free(pools);
	return status;
}

/* Creates a memfd with `data`, sealed against changes; returns -1 with errno on failure. */
static int sealed_memfd(const void *data, size_t size)
{
	int fd = memfd_create("nnaccel-model", MFD_CLOEXEC | MFD_ALLOW_SEALING), error;

	if (fd < 0)
		return -1;
	if (write_at(fd, data, size, 0) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static enum nn_status import_wire(const struct nna_device *device, const void *wire, size_t size,
				  struct sent_model *sent, struct nn_error *err)
{
	struct nnaccel_pool_import i = {
		.size = sizeof(i),
		.prot = NNACCEL_PROT_READ,
		.length = size,
	};
	int error = 0;

	if (size > NNACCEL_MAX_WIRE)
		return nn_fail(err, NN_RESOURCE_EXHAUSTED_PERSISTENT, "model: %zu bytes without "
			       "the pools, but at most %d are possible", size, NNACCEL_MAX_WIRE);
	i.fd = sealed_memfd(wire, size);
	if (i.fd < 0)
		return nna_fail_errno(device, "model", errno, err);
	if (nna_device_call(device, NNACCEL_POOL_IMPORT, &i))
		error = errno;
	close(i.fd);
	if (error)
		return nna_fail_errno(device, "model", error, err);
	sent->wire_pool = i.out_id;
	sent->wire_length = size;
	return NN_OK;
}

/* ---- check, hold, release ---- */

static enum nn_status take_model(struct nn_model *ours, const struct nn_model *model,
				 struct nn_error *err)
{
	return NNA_TAKE(ours, values_size, model, "model", err);
}

static void model_end(const struct nna_device *device, struct sent_model *sent)
{
	nna_drop(device, sent->wire_pool);
	nna_memories_release(sent->memories, sent->num_pools);
	free(sent->pools);
}

/* Passes a model to the kernel. On success the caller must call model_end(). */
static enum nn_status model_begin(const struct nna_device *device, const struct nn_model *model,
				  struct nna_memory *const *memories, struct sent_model *sent,
				  struct nn_error *err)
{
	uint32_t n = model->num_pools;
	enum nn_status status;
	void *wire = NULL;
	size_t size = 0;

	if (n >= NNACCEL_MAX_CMD_POOLS)
		return nn_fail(err, NN_INVALID_ARGUMENT, "model: %u pools, but at most %d are "
			       "possible", n, NNACCEL_MAX_CMD_POOLS - 1);
	status = nna_memories_hold(device, "model", memories, n, err);
	if (status)
		return status;
	*sent = (struct sent_model){ .memories = memories, .num_pools = n };
	for (uint32_t i = 0; i < n && !status; i++)
		if (memories[i]->is_formatted)
			status = nn_fail(err, NN_GENERAL_FAILURE, "model: memory %u is an image, "
					 "but constants must be in plain memory", i);
	sent->pools = calloc(n ? n : 1, sizeof(*sent->pools));
	if (!status && !sent->pools)
		status = nn_fail(err, NN_OUT_OF_MEMORY, "model: out of memory");
	for (uint32_t i = 0; i < n && !status; i++)
		sent->pools[i] = memories[i]->pool;
	if (!status)
		status = encode(model, memories, &wire, &size, err);
	if (!status)
		status = import_wire(device, wire, size, sent, err);
	free(wire);
	if (status)
		model_end(device, sent);
	return status;
}

/* ---- supported operations ---- */

static enum nn_status ask_supported(struct nna_device *device, const struct sent_model *sent,
				    uint8_t *flags, uint32_t count, struct nn_error *err)
{
	char message[NNACCEL_MAX_MESSAGE] = "";
	struct nnaccel_supported s = {
		.size = sizeof(s),
		.wire_pool = sent->wire_pool,
		.num_pools = sent->num_pools,
		.wire_length = sent->wire_length,
		.pools = (uintptr_t)sent->pools,
		.supported = (uintptr_t)flags,
		.num_operations = count,
		.message = (uintptr_t)message,
		.message_size = sizeof(message),
	};
	int error;

	nna_device_expect_worker(device);
	error = nna_ask(device, NNACCEL_WORK_SUPPORTED, &s);
	if (error)
		return nna_fail_errno(device, "supported operations", error, err);
	if (s.out_status)
		return nna_fail_status("supported operations", s.out_status, message, err);
	return NN_OK;
}

/*
 * Replaces a memory that could not be imported by a truncated file, which the engine cannot read
 * either.
 */
static enum nn_status make_unreachable(struct nna_device *device, uint64_t size,
				       struct nna_memory **memory, struct nn_error *err)
{
	int fd = memfd_create("nnaccel-unreachable", MFD_CLOEXEC);
	enum nn_status status = NN_RESOURCE_EXHAUSTED_TRANSIENT;

	if (fd < 0 || ftruncate(fd, (off_t)size))
		nn_fail(err, status, "supported operations: %s", strerror(errno));
	else
		status = nna_memory_import(device, NNA_SIZED(nna_file, .fd = fd, .prot = PROT_READ,
					   .length = size), memory, err);
	if (!status && ftruncate(fd, 0))
		status = nn_fail(err, NN_GENERAL_FAILURE, "supported operations: %s",
				 strerror(errno));
	if (fd >= 0)
		close(fd);
	return status;
}

static enum nn_status get_supported(struct nna_device *device, const struct nn_model *model,
				    struct nna_memory *const *memories, bool *supported,
				    struct nn_error *err)
{
	struct sent_model sent;
	enum nn_status status = model_begin(device, model, memories, &sent, err);
	uint32_t count;
	uint8_t *flags;

	if (status)
		return status;
	count = model->subgraphs[0].num_operations;
	flags = calloc(count, 1);
	if (flags)
		status = ask_supported(device, &sent, flags, count, err);
	else
		status = nn_fail(err, NN_OUT_OF_MEMORY, "supported operations: out of memory");
	for (uint32_t i = 0; !status && i < count; i++)
		supported[i] = flags[i];
	free(flags);
	model_end(device, &sent);
	return status;
}

enum nn_status nna_get_supported_operations(struct nna_device *device,
					    const struct nn_model *model,
					    struct nna_memory *const *memories,
					    bool *supported, struct nn_error *err)
{
	struct nna_memory **all;
	enum nn_status status;
	struct nn_model m;
	uint32_t i, n;

	nna_error_clear(err);
	status = take_model(&m, model, err);
	if (status)
		return status;
	n = m.num_pools;
	for (i = 0; i < n && memories[i]; i++)
		;
	if (i == n)
		return get_supported(device, &m, memories, supported, err);
	all = calloc(n, sizeof(*all));
	if (!all)
		return nn_fail(err, NN_OUT_OF_MEMORY, "supported operations: out of memory");
	for (i = 0; i < n && !status; i++) {
		if (memories[i])
			all[i] = nna_memory_get(memories[i]);
		else
			status = make_unreachable(device, m.pools[i].size, &all[i], err);
	}
	if (!status)
		status = get_supported(device, &m, all, supported, err);
	for (i = 0; i < n; i++)
		nna_memory_free(all[i]);
	free(all);
	return status;
}

/* ---- preparing ---- */

static bool wants_cache(const struct nna_prepare_options *options)
{
	const char *text = secure_getenv("NNACCEL_ENGINE_CACHE");

	return options->engine_cache || (text && !strcmp(text, "1"));
}

struct nna_preparation {
	struct nna_device *device;	/* held */
	uint32_t id;	/* id of the submission; 0 if the work has ended or was never submitted */
	int error;			/* errno with which the submission ended, or 0 */
	bool was_past;			/* true: the deadline had passed before the submission */
	struct nnaccel_prepare work;
	char message[NNACCEL_MAX_MESSAGE];
	struct nna_prepare_options options;
	struct nna_cache cache;		/* copy of the options' cache */
	struct nna_signature *signature;
};

/*
 * Submits a model to the engine. With `waits`, also waits for the answer; without `waits`, the
 * caller fetches the answer later.
 */
static enum nn_status submit(struct nna_preparation *p, const struct sent_model *sent, bool waits,
			     struct nn_error *err)
{
	const struct nna_prepare_options *o = &p->options;
	struct nnaccel_submit s = {
		.size = sizeof(s), .kind = NNACCEL_WORK_PREPARE, .work = (uintptr_t)&p->work,
	};
	enum nn_status status;
	void *attributes;
	size_t size;

	status = nn_attributes_encode(o->attributes, NNACCEL_MAX_ATTRIBUTES, &attributes, &size, err);
	if (status)
		return status;
	p->work = (struct nnaccel_prepare){
		.size = sizeof(p->work),
		.flags = wants_cache(o) ? NNACCEL_PREPARE_CACHE : 0,
		.wire_pool = sent->wire_pool,
		.num_pools = sent->num_pools,
		.wire_length = sent->wire_length,
		.pools = (uintptr_t)sent->pools,
		.preference = o->preference,
		.priority = o->priority,
		.deadline_ns = o->deadline_ns,
		.message = (uintptr_t)p->message,
		.message_size = sizeof(p->message),
		.attributes = (uintptr_t)attributes,
		.attributes_size = (uint32_t)size,
	};
	p->was_past = nna_is_past(o->deadline_ns);
	nna_device_expect_worker(p->device);
	if (!waits) {
		p->error = nna_submit(p->device, &s);
		p->id = p->error ? 0 : s.out_id;
	}
	/*
	 * A device without the module cannot prepare in the background, so wait for the end of the
	 * preparation.
	 */
	if (waits || p->error == EOPNOTSUPP)
		p->error = nna_ask(p->device, NNACCEL_WORK_PREPARE, &p->work);
	free(attributes);
	return NN_OK;
}

enum nn_status nna_take_prepare_options(struct nna_prepare_options *ours,
					const struct nna_prepare_options *options,
					struct nn_error *err)
{
	static const uint32_t preferences[] = {
		[NNA_PREFER_FAST_SINGLE_ANSWER] = NNACCEL_PREFER_FAST_SINGLE_ANSWER,
		[NNA_PREFER_LOW_POWER] = NNACCEL_PREFER_LOW_POWER,
		[NNA_PREFER_SUSTAINED_SPEED] = NNACCEL_PREFER_SUSTAINED_SPEED,
	};
	static const uint32_t priorities[] = {
		[NNA_PRIORITY_MEDIUM] = NNACCEL_PRIORITY_MEDIUM,
		[NNA_PRIORITY_LOW] = NNACCEL_PRIORITY_LOW,
		[NNA_PRIORITY_HIGH] = NNACCEL_PRIORITY_HIGH,
	};
	enum nn_status status;

	*ours = (struct nna_prepare_options){ .size = sizeof(*ours) };
	status = options ? NNA_TAKE(ours, attributes, options, "prepare: the options", err) : NN_OK;
	if (status)
		return status;
	if (ours->preference > NNA_PREFER_SUSTAINED_SPEED)
		return nn_fail(err, NN_INVALID_ARGUMENT, "prepare: preference %u, but the highest is %d",
			       ours->preference, NNA_PREFER_SUSTAINED_SPEED);
	if (ours->priority > NNA_PRIORITY_HIGH)
		return nn_fail(err, NN_INVALID_ARGUMENT, "prepare: priority %u, but the highest is %d",
			       ours->priority, NNA_PRIORITY_HIGH);
	ours->preference = preferences[ours->preference];
	ours->priority = priorities[ours->priority];
	return NN_OK;
}

enum nn_status nna_prepared_model_new(struct nna_device *device, uint32_t id,
				      const struct nna_prepare_options *options,
				      struct nna_prepared_model **prepared, struct nn_error *err)
{
	struct nna_prepared_model *p = calloc(1, sizeof(*p));

	if (!p) {
		nna_drop(device, id);
		return nn_fail(err, NN_OUT_OF_MEMORY, "prepare: out of memory");
	}
	p->id = id;
	p->device = nna_device_get(device);
	p->low_power = options->preference == NNACCEL_PREFER_LOW_POWER;
	*prepared = p;
	return NN_OK;
}

/*
 * Saves a model. If the model cannot be saved, it is still prepared, and not_saved has the reason.
 */
static void save(struct nna_prepared_model *prepared, const struct nna_cache *cache)
{
	struct nn_error reason = { "" };
	bool put_off = false;
	enum nn_status status = nna_cache_save(prepared, cache, &put_off, &reason);

	if (!status)
		nna_deferred_begin(prepared, cache, put_off);
	else if (!reason.message[0])
		nn_fail(&reason, NN_GENERAL_FAILURE, "cache: the model could not be saved");
	if (cache->not_saved)
		*cache->not_saved = reason;
}

static enum nn_status make_signature(struct nna_device *device, const struct nn_model *model,
				     struct nna_signature **signature, struct nn_error *err)
{
	const struct nn_device_extension *extensions = NULL;
	uint32_t count = 0;

	/*
	 * If nna_device_get_extensions() fails, the signature lacks the extensions' types, which
	 * only buffers need.
	 */
	if (nna_signature_needs_extensions(model))
		nna_device_get_extensions(device, &extensions, &count, NULL);
	*signature = nna_signature_create(model, extensions, count);
	return *signature ? NN_OK : nn_fail(err, NN_OUT_OF_MEMORY, "prepare: out of memory");
}

/* Starts a preparation in memory that the caller owns. */
static enum nn_status start(struct nna_preparation *p, struct nna_device *device,
			    const struct nn_model *model, struct nna_memory *const *memories,
			    const struct nna_prepare_options *options, bool waits,
			    struct nn_error *err)
{
	struct sent_model sent;
	enum nn_status status;
	struct nn_model m;

	p->device = device;
	status = nna_take_prepare_options(&p->options, options, err);
	if (!status)
		status = take_model(&m, model, err);
	if (!status && p->options.cache)
		status = nna_take_cache(&p->cache, p->options.cache, err);
	if (!status)
		status = make_signature(device, &m, &p->signature, err);
	if (!status)
		status = model_begin(device, &m, memories, &sent, err);
	if (status)
		return status;
	status = submit(p, &sent, waits && !p->options.progress, err);
	model_end(device, &sent);
	return status;
}

bool nna_preparation_has_ended(struct nna_preparation *p, uint32_t *thousandths)
{
	if (p->id) {
		p->error = nna_fetch(p->device, p->id, &p->work, false, thousandths);
		if (p->error == EINPROGRESS)
			return false;
		p->id = 0;
	}
	*thousandths = NNACCEL_PROGRESS_ALL;
	return true;
}

static void await(struct nna_preparation *p)
{
	const struct nna_prepare_options *o = &p->options;
	uint32_t thousandths;

	while (p->id && o->progress && !nna_preparation_has_ended(p, &thousandths)) {
		if (!o->progress(o->progress_data, thousandths)) {
			nna_drop(p->device, p->id);
			p->id = 0;
			p->error = ECANCELED;
			return;
		}
		usleep(PAUSE_US);
	}
	if (p->id)
		p->error = nna_fetch(p->device, p->id, &p->work, true, NULL);
	p->id = 0;
}

enum nn_status nna_preparation_finish(struct nna_preparation *p,
				      struct nna_prepared_model **prepared, struct nn_error *err)
{
	enum nn_status status;

	nna_error_clear(err);
	await(p);
	status = nna_call_verdict(p->device, "prepare", p->error, p->was_past, p->work.out_status,
				  p->message, err);
	if (status)
		return status;
	status = nna_prepared_model_new(p->device, p->work.out_model, &p->options, prepared, err);
	/* The model now belongs to *prepared or was destroyed, so `p` must not free the model. */
	p->error = ENOENT;
	if (status)
		return status;
	(*prepared)->signature = p->signature;
	p->signature = NULL;
	if (p->options.cache)
		save(*prepared, &p->cache);
	return NN_OK;
}

enum nn_status nna_preparation_start(struct nna_device *device, const struct nn_model *model,
				     struct nna_memory *const *memories,
				     const struct nna_prepare_options *options,
				     struct nna_preparation **preparation, struct nn_error *err)
{
	struct nna_preparation *p = calloc(1, sizeof(*p));
	enum nn_status status;

	nna_error_clear(err);
	if (!p)
		return nn_fail(err, NN_OUT_OF_MEMORY, "prepare: out of memory");
	status = start(p, nna_device_get(device), model, memories, options, false, err);
	if (status)
		nna_preparation_free(p);
	else
		*preparation = p;
	return status;
}

void nna_preparation_free(struct nna_preparation *p)
{
	if (!p)
		return;
	if (p->id)
		nna_drop(p->device, p->id);
	else if (!p->error && !p->work.out_status)
		/* destroy a prepared model that nna_preparation_finish() did not return */
		nna_drop(p->device, p->work.out_model);
	nna_signature_free(p->signature);
	nna_device_put(p->device);
	free(p);
}

enum nn_status nna_prepare_model(struct nna_device *device, const struct nn_model *model,
				 struct nna_memory *const *memories,
				 const struct nna_prepare_options *options,
				 struct nna_prepared_model **prepared, struct nn_error *err)
{
	struct nna_preparation p = { 0 };
	enum nn_status status;

	nna_error_clear(err);
	status = start(&p, device, model, memories, options, true, err);
	if (!status)
		status = nna_preparation_finish(&p, prepared, err);
	nna_signature_free(p.signature);
	return status;
}

enum nn_status nna_prepared_model_set_signature(struct nna_prepared_model *prepared,
						const struct nn_model *model,
						struct nn_error *err)
{
	enum nn_status status;
	struct nn_model m;

	nna_error_clear(err);
	if (prepared->signature)
		return NN_OK;
	status = take_model(&m, model, err);
	return status ? status : make_signature(prepared->device, &m, &prepared->signature, err);
}

void nna_prepared_model_free(struct nna_prepared_model *prepared)
{
	if (!prepared)
		return;
	nna_deferred_end(prepared);
	nna_drop(prepared->device, prepared->id);
	nna_device_put(prepared->device);
	nna_signature_free(prepared->signature);
	free(prepared);
}
