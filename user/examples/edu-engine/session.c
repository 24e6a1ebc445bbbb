// SPDX-License-Identifier: MIT
/*
 * Serving one client's session: its commands, its memory, its models.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <float.h>
#include <linux/nnaccel.h>
#include <nnaccel/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "edu.h"
#include "model.h"
#include "model/extension_list.h"
#include "session.h"

/* How long the device may take for one operation of a command without a deadline. */
#define LIMIT_NS	(30 * 1000000000ull)

#define ROOM		(256 * 1024)

/* A grant: mapped, and where `pinned` within the reach of the device. */
struct mapping {
	struct mapping *next;
	uint32_t grant;
	bool writable;
	bool pinned;
	void *at;
	uint64_t length;
	uint64_t pages;			/* `length` in whole pages, in bytes */
	uint64_t iova;
};

struct session {
	struct edu *edu;
	int fd;
	struct mapping *mappings;
	struct edu_model *models;
	struct {
		uint64_t executions;
		uint64_t cpu_copies;	/* of arguments, or parts of them, by the CPU */
	} counts[EDU_COPY + 1];		/* by the operation's code */
};

/* A fetched command and what it comes to. */
struct work {
	struct session *session;
	const struct nnaccel_cmd *head;
	const struct nnaccel_grant *grants;
	const struct nnaccel_arg *args;
	enum nn_status status;
	void *payload;
	uint32_t payload_size;
	uint64_t device_ns;
	struct nn_error err;
};

/* ---- memory ---- */

/*
 * Copies between this process and memory that a client may make shorter at any time: the kernel
 * says EFAULT where an access would be a SIGBUS.
 */
static bool copy(void *own, void *theirs, size_t size, bool to_them)
{
	struct iovec local = { own, size }, remote = { theirs, size };
	ssize_t n = to_them ? process_vm_writev(getpid(), &local, 1, &remote, 1, 0) :
			      process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	return n == (ssize_t)size;
}

static void unmap(struct session *s, struct mapping *m)
{
	struct mapping **at = &s->mappings;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	if (m->pinned)
		edu_unmap(s->edu, m->iova);
	munmap(m->at, m->pages);
	free(m);
}

static struct mapping *find_mapping(struct session *s, uint32_t grant)
{
	struct mapping *m = s->mappings;

	while (m && m->grant != grant)
		m = m->next;
	return m;
}

/* What a grant gives, mapped; where the device is to reach it, pinned. */
static struct mapping *map(struct work *w, const struct nnaccel_grant *grant, bool pinned)
{
	bool writable = grant->prot & NNACCEL_PROT_WRITE;
	struct session *s = w->session;
	struct mapping *m = find_mapping(s, grant->grant);

	/* It was granted for reading before. */
	if (m && writable && !m->writable) {
		unmap(s, m);
		m = NULL;
	}
	if (!m) {
		uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

		m = calloc(1, sizeof(*m));
		if (!m) {
			w->status = nn_fail(&w->err, NN_OUT_OF_MEMORY, "out of memory");
			return NULL;
		}
		m->grant = grant->grant;
		m->writable = writable;
		m->length = grant->length;
		m->pages = (grant->length + page - 1) & ~(page - 1);
		m->at = mmap(NULL, m->pages, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED,
			     s->fd, (off_t)((uint64_t)grant->grant << NNACCEL_GRANT_SHIFT));
		if (m->at == MAP_FAILED) {
			w->status = nn_fail(&w->err, NN_GENERAL_FAILURE, "cannot map memory: %s",
					    strerror(errno));
			free(m);
			return NULL;
		}
		m->next = s->mappings;
		s->mappings = m;
	}
	if (pinned && !m->pinned) {
		m->pinned = edu_map(s->edu, m->at, m->pages, m->writable, &m->iova);
		if (!m->pinned) {
			w->status = nn_fail(&w->err, errno == ENOSPC || errno == ENOMEM ?
						     NN_RESOURCE_EXHAUSTED_TRANSIENT :
						     NN_GENERAL_FAILURE,
					    "the device cannot reach the memory: %s",
					    strerror(errno));
			return NULL;
		}
	}
	return m;
}

/* ---- what the device is ---- */

static void answer(struct work *w, size_t size)
{
	w->payload = calloc(1, size ? size : 1);
	if (w->payload)
		w->payload_size = (uint32_t)size;
	else
		w->status = nn_fail(&w->err, NN_OUT_OF_MEMORY, "out of memory");
}

static void query_device(struct work *w)
{
	const struct nn_performance none = { FLT_MAX, FLT_MAX }, some = { 0.9f, 0.9f };
	struct nn_device_info *info;

	answer(w, sizeof(*info));
	info = w->payload;
	if (!info)
		return;
	info->magic = NN_DEVICE_MAGIC;
	info->size = sizeof(*info);
	strcpy(info->version, EDU_VERSION);
	info->type = NN_DEVICE_OTHER;
	info->feature_level = 4;
	info->relaxed_scalar = info->relaxed_tensor = none;
	info->if_performance = info->while_performance = none;
	for (int type = 0; type < NN_TYPE_COUNT; type++)
		info->operand[type] = none;
	info->operand[NN_TENSOR_INT32] = info->operand[NN_TENSOR_QUANT8_ASYMM] = some;
}

static void query_extensions(struct work *w)
{
	struct {
		struct extension_list list;
		struct extension_record record;
		struct extension_item operations[2];
	} *all;

	answer(w, sizeof(*all));
	all = w->payload;
	if (!all)
		return;
	all->list.magic = EXTENSION_LIST_MAGIC;
	all->list.count = 1;
	strcpy(all->record.name, EDU_NAME);
	all->record.version = 1;
	all->record.num_operations = 2;
	all->operations[0].code = EDU_FACTORIAL;
	strcpy(all->operations[0].name, "FACTORIAL");
	all->operations[1].code = EDU_COPY;
	strcpy(all->operations[1].name, "COPY");
}

static void do_query(struct work *w)
{
	if (w->head->query == NNACCEL_QUERY_DEVICE)
		query_device(w);
	else if (w->head->query == NNACCEL_QUERY_EXTENSIONS)
		query_extensions(w);
	else
		w->status = nn_fail(&w->err, NN_INVALID_ARGUMENT, "unknown query");
}

/* ---- models ---- */

/* Constants are not looked at: no operation takes one. */
static struct nn_model *decode(struct work *w)
{
	const struct nnaccel_cmd *head = w->head;
	struct nn_pool *pools = calloc(head->num_grants, sizeof(*pools));
	void *wire = malloc(head->wire_length ? head->wire_length : 1);
	struct mapping *m = map(w, &w->grants[0], false);
	struct nn_model *model = NULL;

	if (!pools || !wire)
		w->status = nn_fail(&w->err, NN_OUT_OF_MEMORY, "out of memory");
	for (uint32_t i = 1; pools && i < head->num_grants; i++)
		pools[i - 1].size = w->grants[i].length;
	if (!w->status && !copy(wire, (char *)m->at + head->wire_offset, head->wire_length, false))
		w->status = nn_fail(&w->err, NN_GENERAL_FAILURE, "the model's memory is gone");
	if (!w->status)
		w->status = nn_model_decode(wire, head->wire_length, pools, head->num_grants - 1,
					    &model, &w->err);
	free(wire);
	free(pools);
	return model;
}

static void do_supported(struct work *w)
{
	struct nn_model *model = decode(w);

	if (model && model->subgraphs[0].num_operations == w->head->max_payload) {
		answer(w, w->head->max_payload);
		if (w->payload)
			edu_model_supported(model, w->payload);
	} else if (model) {
		w->status = nn_fail(&w->err, NN_INVALID_ARGUMENT, "number of operations");
	}
	nn_model_free(model);
}

static void do_prepare(struct work *w)
{
	struct nn_model *from = decode(w);
	struct edu_model *model;

	if (from)
		w->status = edu_model_make(from, &model, &w->err);
	if (from && !w->status) {
		model->number = w->head->model;
		model->next = w->session->models;
		w->session->models = model;
	}
	nn_model_free(from);
}

static void do_forget_model(struct work *w)
{
	struct edu_model **at = &w->session->models, *model;

	while (*at && (*at)->number != w->head->model)
		at = &(*at)->next;
	model = *at;
	if (model)
		*at = model->next;
	free(model);
}

static void do_forget_grant(struct work *w)
{
	struct mapping *m = find_mapping(w->session, w->head->grant);

	if (m)
		unmap(w->session, m);
}

/* ---- executions ---- */

static enum nn_status from_device(struct work *w, enum edu_result result)
{
	switch (result) {
	case EDU_DONE:
		return NN_OK;
	case EDU_LATE:
		return nn_fail(&w->err, w->head->deadline_ns ? NN_MISSED_DEADLINE_TRANSIENT :
			       NN_GENERAL_FAILURE, "the device did not answer in time");
	case EDU_CANCELLED:
		return nn_fail(&w->err, NN_GENERAL_FAILURE, "the client is gone");
	default:
		return nn_fail(&w->err, NN_GENERAL_FAILURE, "the device failed: %s",
			       strerror(errno));
	}
}

static enum nn_status run_copy(struct work *w, const struct nnaccel_arg *in,
			       const struct nnaccel_arg *out, uint64_t size,
			       const struct edu_limit *limit)
{
	struct mapping *from, *to;

	to = map(w, &w->grants[out->pool], true);
	from = to ? map(w, &w->grants[in->pool], true) : NULL;
	if (!from)
		return w->status;
	return from_device(w, edu_copy(w->session->edu, to->iova + out->offset,
				       from->iova + in->offset, size, limit));
}

/* The numbers go through the device's registers, so the CPU carries them. */
static enum nn_status run_factorial(struct work *w, const struct nnaccel_arg *in,
				    const struct nnaccel_arg *out, uint64_t size,
				    const struct edu_limit *limit)
{
	struct mapping *from, *to;
	uint32_t n, value;

	to = map(w, &w->grants[out->pool], false);
	from = to ? map(w, &w->grants[in->pool], false) : NULL;
	if (!from)
		return w->status;
	for (uint64_t i = 0; i < size && !w->status; i += sizeof(n)) {
		w->session->counts[EDU_FACTORIAL].cpu_copies += 2;
		if (!copy(&n, (char *)from->at + in->offset + i, sizeof(n), false))
			return nn_fail(&w->err, NN_GENERAL_FAILURE, "an input is gone");
		w->status = from_device(w, edu_factorial(w->session->edu, n, &value, limit));
		if (!w->status && !copy(&value, (char *)to->at + out->offset + i, sizeof(value),
					true))
			return nn_fail(&w->err, NN_GENERAL_FAILURE, "an output is gone");
	}
	return w->status;
}

/* The shapes of the outputs, and behind them their sizes where one is a buffer. */
static void tell(struct work *w, const struct edu_step *step, const struct nn_operand *shape,
		 uint32_t size, bool sufficient)
{
	struct nnaccel_shape *shapes = w->payload;
	uint64_t *sizes = (uint64_t *)(shapes + w->head->num_outputs);

	shapes[step->output].flags = sufficient ? NNACCEL_SHAPE_SUFFICIENT : 0;
	shapes[step->output].rank = shape->rank;
	memcpy(shapes[step->output].dims, shape->dims, shape->rank * sizeof(shape->dims[0]));
	if (w->payload_size > w->head->num_outputs * sizeof(*shapes))
		sizes[step->output] = size;
}

static enum nn_status run_step(struct work *w, const struct edu_step *step,
			       const struct edu_limit *limit)
{
	const struct nnaccel_arg *in = &w->args[step->input];
	const struct nnaccel_arg *out = &w->args[w->head->num_inputs + step->output];
	struct nn_operand shape = step->operand;
	uint32_t size;

	if ((in->flags | out->flags) & NNACCEL_ARG_NO_VALUE)
		return nn_fail(&w->err, NN_INVALID_ARGUMENT, "an argument is omitted");
	if ((w->grants[in->pool].prot | w->grants[out->pool].prot) & NNACCEL_PROT_FORMATTED)
		return nn_fail(&w->err, NN_INVALID_ARGUMENT, "an argument is a formatted picture");
	if (!nn_operand_merge_dims(&shape, in->rank, in->dims) ||
	    !nn_operand_size(&shape, &size) || !nn_operand_is_specified(&shape) ||
	    in->length != size)
		return nn_fail(&w->err, NN_INVALID_ARGUMENT, "shape or size of input %u",
			       step->input);
	tell(w, step, &shape, size, out->length >= size);
	if (out->length < size)
		return nn_fail(&w->err, NN_OUTPUT_INSUFFICIENT_SIZE, "output %u is too small",
			       step->output);
	w->session->counts[step->operation].executions++;
	return step->operation == EDU_COPY ? run_copy(w, in, out, size, limit) :
					     run_factorial(w, in, out, size, limit);
}

static void do_execute(struct work *w)
{
	const struct nnaccel_cmd *head = w->head;
	const struct edu_model *model = w->session->models;
	uint64_t start_ns = edu_now_ns();

	while (model && model->number != head->model)
		model = model->next;
	if (!model || head->num_inputs != model->num_inputs ||
	    head->num_outputs != model->num_outputs) {
		w->status = nn_fail(&w->err, NN_INVALID_ARGUMENT, "number of arguments");
		return;
	}
	answer(w, head->max_payload);
	for (uint32_t i = 0; i < model->num_steps && !w->status; i++) {
		struct edu_limit limit = { edu_now_ns() + LIMIT_NS, w->session->fd };

		if (head->deadline_ns && head->deadline_ns < limit.deadline_ns)
			limit.deadline_ns = head->deadline_ns;
		w->status = run_step(w, &model->steps[i], &limit);
	}
	if (head->flags & NNACCEL_EXECUTE_MEASURE)
		w->device_ns = edu_now_ns() - start_ns;
	if (w->status && w->status != NN_OUTPUT_INSUFFICIENT_SIZE)
		w->payload_size = 0;
}

/* ---- the session ---- */

static void do_buffer(struct work *w)
{
	answer(w, sizeof(uint32_t));
	_Static_assert(NNACCEL_LAYOUT_LINEAR == 0, "the answer is one of zeros");
}

static void do_nothing(struct work *w)
{
	(void)w;
}

/* By enum nnaccel_cmd_kind; others are refused. */
static void (*const handlers[])(struct work *w) = {
	[NNACCEL_DO_QUERY] = do_query,
	[NNACCEL_DO_SUPPORTED] = do_supported,
	[NNACCEL_DO_PREPARE] = do_prepare,
	[NNACCEL_DO_EXECUTE] = do_execute,
	[NNACCEL_DO_FORGET_MODEL] = do_forget_model,
	[NNACCEL_DO_FORGET_GRANT] = do_forget_grant,
	[NNACCEL_DO_BURST_GONE] = do_nothing,
	[NNACCEL_DO_SLOT_GONE] = do_nothing,
	[NNACCEL_DO_BUFFER] = do_buffer,
};

static bool commit(struct work *w)
{
	struct nnaccel_session_commit commit = {
		.size = sizeof(commit),
		.status = w->status == NN_OUT_OF_MEMORY ? NN_RESOURCE_EXHAUSTED_TRANSIENT :
							  w->status,
		.cookie = w->head->cookie,
		.payload = (uintptr_t)w->payload,
		.payload_size = w->payload_size,
		.message_size = w->status ? (uint32_t)strlen(w->err.message) : 0,
		.message = (uintptr_t)w->err.message,
		.device_ns = w->device_ns,
	};

	return !ioctl(w->session->fd, NNACCEL_SESSION_COMMIT, &commit);
}

/* One command, in `buffer`. False: the session is over. */
static bool serve_one(struct session *s, const void *buffer)
{
	struct work w = { .session = s, .head = buffer, .device_ns = NNACCEL_TIME_NONE };
	bool going = true;

	w.grants = (const void *)(w.head + 1);
	w.args = (const void *)(w.grants + w.head->num_grants);
	if (w.head->kind < sizeof(handlers) / sizeof(handlers[0]) && handlers[w.head->kind])
		handlers[w.head->kind](&w);
	else
		w.status = nn_fail(&w.err, NN_GENERAL_FAILURE, "the device has no such thing");
	if (w.head->cookie)
		going = commit(&w);
	free(w.payload);
	return going;
}

void edu_session_serve(struct edu *edu, int fd, uint64_t context)
{
	struct nnaccel_session_attach attach = { .size = sizeof(attach) };
	struct session s = { .edu = edu, .fd = fd };
	void *buffer = malloc(ROOM);

	if (buffer && !ioctl(fd, NNACCEL_SESSION_ATTACH, &attach)) {
		for (;;) {
			struct nnaccel_session_fetch fetch = {
				.size = sizeof(fetch),
				.buffer = (uintptr_t)buffer,
				.buffer_size = ROOM,
			};

			if (ioctl(fd, NNACCEL_SESSION_FETCH, &fetch) ?
			    errno != EINTR : !serve_one(&s, buffer))
				break;
		}
	}
	for (int i = EDU_FACTORIAL; i <= EDU_COPY; i++)
		if (s.counts[i].executions)
			fprintf(stderr, "edu: context %llu: %s: %llu executions, %llu copies by the CPU\n",
				(unsigned long long)context, i == EDU_COPY ? "COPY" : "FACTORIAL",
				(unsigned long long)s.counts[i].executions,
				(unsigned long long)s.counts[i].cpu_copies);
	/* Nobody is left to forget them: the device reaches none of them from here on. */
	while (s.mappings)
		unmap(&s, s.mappings);
	while (s.models) {
		struct edu_model *model = s.models;

		s.models = model->next;
		free(model);
	}
	free(buffer);
	close(fd);
}
