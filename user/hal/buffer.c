/* SPDX-License-Identifier: MIT */
/*
 * Buffers of memory domains: device memory that executions read and write. The client cannot map a
 * buffer, but only copies data to and from the buffer. For the kernel, a buffer is a number of
 * bytes; this file stores the shapes of buffers.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "buffer.h"
#include "error.h"
#include "memory.h"
#include "prepare.h"
#include "sized.h"
#include "submit.h"

/* The first size of a buffer whose size is unknown: as many whole elements as fit into a page. */
#define FIRST_CAPACITY 4096

/* Initial size of a device's table of buffers. */
#define FIRST_BUFFERS 16

struct nna_buffer {
	struct nna_device *device;
	atomic_uint users;	/* number of references: the handle, and each execution in flight */
	uint32_t token;			/* token of the buffer in the device's table */
	uint32_t num_roles;
	struct nnaccel_role *roles;

	/* lock for the fields that follow; not held during ioctls that copy */
	pthread_mutex_t lock;
	uint32_t kernel_id;
	uint64_t capacity;
	/*
	 * The buffer's type if an extension defines the type, as in struct nna_signature_operand;
	 * NULL for a type of the NNAPI.
	 */
	const struct nn_device_extension_item *type;
	/*
	 * The buffer's operand: type and shape, merged from all roles and the buffer's description,
	 * without extra parameters.
	 */
	struct nn_operand initial;
	struct nn_operand current;	/* `operand` with the shape of the current contents */
	bool initialised;
};

/* ---- the kernel's buffer ---- */

static enum nn_status kernel_alloc(const struct nna_buffer *b, uint64_t capacity, uint32_t *id,
				   struct nn_error *err)
{
	char message[NNACCEL_MAX_MESSAGE] = "";
	struct nnaccel_buffer_alloc a = {
		.size = sizeof(a),
		.capacity = capacity,
		.roles = (uintptr_t)b->roles,
		.num_roles = b->num_roles,
		.message = (uintptr_t)message,
		.message_size = sizeof(message),
	};
	int error = nna_ask(b->device, NNACCEL_WORK_BUFFER_ALLOC, &a);

	if (error)
		return nna_fail_errno(b->device, "buffer", error, err);
	if (a.out_status)
		return nna_fail_status("buffer", a.out_status, message, err);
	*id = a.out_buffer;
	return NN_OK;
}

/*
 * Allocates a larger kernel buffer; the caller holds b->lock. The old contents are lost, so the
 * caller must write new contents.
 */
static enum nn_status grow(struct nna_buffer *b, uint64_t size, struct nn_error *err)
{
	enum nn_status status;
	uint32_t id = 0;

	if (size <= b->capacity)
		return NN_OK;
	status = kernel_alloc(b, size, &id, err);
	if (status)
		return status;
	nna_drop(b->device, b->kernel_id);
	b->kernel_id = id;
	b->capacity = size;
	b->initialised = false;
	return NN_OK;
}

/* The source or target of a copy: a whole memory, or data in this process. */
struct place {
	const struct nna_memory *memory;	/* or NULL */
	void *data;
	uint64_t size;
};

static enum nn_status kernel_copy(struct nna_buffer *b, uint32_t flags, uint32_t id,
				  const struct place *place, struct nn_error *err)
{
	char message[NNACCEL_MAX_MESSAGE] = "";
	struct nnaccel_buffer_copy c = {
		.size = sizeof(c),
		.flags = flags,
		.buffer = id,
		.data = (uintptr_t)place->data,
		.length = place->size,
		.message_size = sizeof(message),
		.message = (uintptr_t)message,
	};
	int error;

	if (place->memory) {
		c.flags |= NNACCEL_COPY_POOL;
		c.pool = place->memory->pool;
		c.offset = place->memory->offset;
	}
	error = nna_ask(b->device, NNACCEL_WORK_BUFFER_COPY, &c);
	if (error)
		return nna_fail_errno(b->device, "buffer copy", error, err);
	if (c.out_status)
		return nna_fail_status("buffer copy", c.out_status, message, err);
	return NN_OK;
}

/* ---- lifetime ---- */

static void buffer_put(struct nna_buffer *b)
{
	if (atomic_fetch_sub_explicit(&b->users, 1, memory_order_acq_rel) != 1)
		return;
	nna_drop(b->device, b->kernel_id);
	pthread_mutex_destroy(&b->lock);
	nna_device_put(b->device);
	free(b->roles);
	free(b);
}

/*
 * Takes a reference to the buffer of a token and returns the buffer; NULL if no buffer has the
 * token.
 */
static struct nna_buffer *buffer_find(struct nna_device *device, uint32_t token)
{
	struct nna_buffer *b = NULL;

	pthread_mutex_lock(&device->buffers_lock);
	if (token && token <= device->buffers_size)
		b = device->buffers[token - 1];
	if (b)
		atomic_fetch_add_explicit(&b->users, 1, memory_order_relaxed);
	pthread_mutex_unlock(&device->buffers_lock);
	return b;
}

/*
 * Doubles the device's table of buffers; returns false if memory runs out. The caller holds
 * buffers_lock.
 */
static bool grow_table(struct nna_device *device)
{
	uint32_t before = device->buffers_size, size = before ? 2 * before : FIRST_BUFFERS;
	struct nna_buffer **buffers = realloc(device->buffers, size * sizeof(*buffers));

	if (!buffers)
		return false;
	memset(buffers + before, 0, (size - before) * sizeof(*buffers));
	device->buffers = buffers;
	device->buffers_size = size;
	return true;
}

/* Assigns a token to the buffer: the first free index of the table, from 1. */
static bool publish(struct nna_buffer *b)
{
	struct nna_device *device = b->device;
	uint32_t i;

	pthread_mutex_lock(&device->buffers_lock);
	i = device->first_free;
	while (i < device->buffers_size && device->buffers[i])
		i++;
	if (i < device->buffers_size || grow_table(device)) {
		device->buffers[i] = b;
		device->first_free = i + 1;
		b->token = i + 1;
	}
	pthread_mutex_unlock(&device->buffers_lock);
	return b->token;
}

void nna_buffer_free(struct nna_buffer *buffer)
{
	struct nna_device *device;

	if (!buffer)
		return;
	device = buffer->device;
	if (buffer->token && nna_device_is_ours(device)) {
		pthread_mutex_lock(&device->buffers_lock);
		device->buffers[buffer->token - 1] = NULL;
		if (device->first_free > buffer->token - 1)
			device->first_free = buffer->token - 1;
		pthread_mutex_unlock(&device->buffers_lock);
	}
	buffer_put(buffer);
}

/* ---- allocation ---- */

struct role_list {
	struct nna_prepared_model *const *models;
	uint32_t num_models;
	const struct nna_role *roles;
	uint32_t count;
	uint32_t kind;		/* enum nnaccel_role_kind */
};

static const char *type_name(const struct nn_device_extension_item *type,
			     const struct nn_operand *operand)
{
	return type ? type->name : nn_type_name(operand->type);
}

static enum nn_status merge_role(struct nna_buffer *b, const struct nna_signature_operand *of,
				 const char *what, uint32_t index, struct nn_error *err)
{
	const struct nn_operand *operand = &of->operand;

	if (!b->num_roles) {
		b->initial = *operand;
		b->type = of->type;
	} else if (b->type != of->type || !nn_operand_same_type(&b->initial, operand)) {
		return nn_fail(err, NN_INVALID_ARGUMENT,
			       "buffer: %s %u has type %s and another role has type %s, or the "
			       "scales or zero points differ", what, index,
			       type_name(of->type, operand), type_name(b->type, &b->initial));
	}
	if (!nn_operand_merge_dims(&b->initial, operand->rank, operand->dims))
		return nn_fail(err, NN_INVALID_ARGUMENT, "buffer: the dimensions of %s %u differ "
			       "from those of the roles before it", what, index);
	return NN_OK;
}

static enum nn_status add_role(struct nna_buffer *b, const struct role_list *list, uint32_t i,
			       struct nn_error *err)
{
	const char *what = list->kind == NNACCEL_ROLE_OUTPUT ? "output role" : "input role";
	const struct nna_role *role = &list->roles[i];
	const struct nna_signature *s;
	struct nnaccel_role *r = &b->roles[b->num_roles];
	bool output = list->kind == NNACCEL_ROLE_OUTPUT;
	uint32_t count;
	enum nn_status status;

	if (role->model >= list->num_models)
		return nn_fail(err, NN_INVALID_ARGUMENT, "buffer: %s %u names model %u, but only "
			       "%u are given", what, i, role->model, list->num_models);
	if (!(role->frequency > 0 && role->frequency <= 1))
		return nn_fail(err, NN_INVALID_ARGUMENT, "buffer: %s %u has frequency %g, not in "
			       "(0, 1]", what, i, (double)role->frequency);
	s = list->models[role->model]->signature;
	if (!s)
		return nn_fail(err, NN_INVALID_ARGUMENT, "buffer: model %u came from a cache: "
			       "first describe it with nna_prepared_model_set_signature()",
			       role->model);
	count = output ? s->num_outputs : s->num_inputs;
	if (role->index >= count)
		return nn_fail(err, NN_INVALID_ARGUMENT, "buffer: %s %u has index %u, but must be "
			       "below %u", what, i, role->index, count);
	*r = (struct nnaccel_role){ .model = list->models[role->model]->id, .kind = list->kind,
				    .index = role->index };
	for (uint32_t k = 0; k < b->num_roles; k++)
		if (!memcmp(r, &b->roles[k], offsetof(struct nnaccel_role, frequency)))
			return nn_fail(err, NN_INVALID_ARGUMENT, "buffer: %s %u is given twice",
				       what, i);
	r->frequency = (uint32_t)(role->frequency * NNACCEL_MAX_FREQUENCY);
	status = merge_role(b, &s->operands[(output ? s->num_inputs : 0) + role->index], what, i,
			    err);
	b->num_roles++;
	return status;
}

static enum nn_status add_roles(struct nna_buffer *b, const struct role_list *list,
				struct nn_error *err)
{
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; i < list->count && !status; i++)
		status = add_role(b, list, i, err);
	return status;
}

/*
 * Returns the factor by which the size of a buffer's operand is multiplied: the element size of an
 * extension's type, or 1.
 */
static uint32_t unit_of(const struct nna_buffer *b)
{
	return b->type ? b->type->element_size : 1;
}

/*
 * Returns the initial size of a buffer: the size of its shape, or FIRST_CAPACITY if dimensions are
 * unknown.
 */
static uint64_t first_capacity(const struct nna_buffer *b)
{
	struct nn_operand least = b->initial;
	uint32_t size;

	if (nn_operand_is_specified(&least))
		return nn_operand_size(&least, &size) &&
		       !__builtin_mul_overflow(size, unit_of(b), &size) ? size : 0;
	if (!least.rank)
		least.rank = 1;
	for (uint32_t i = 0; i < least.rank; i++)
		least.dims[i] = least.dims[i] ? least.dims[i] : 1;
	if (!nn_operand_size(&least, &size) || __builtin_mul_overflow(size, unit_of(b), &size) ||
	    !size)
		return 0;
	return size < FIRST_CAPACITY ? FIRST_CAPACITY / size * size : size;
}

static enum nn_status check_request(struct nna_device *device, const struct role_list *lists,
				    const struct nna_buffer_desc *desc, struct nn_error *err)
{
	uint64_t count = (uint64_t)lists[0].count + lists[1].count;

	if (!lists[0].num_models)
		return nn_fail(err, NN_INVALID_ARGUMENT, "buffer: no prepared model is given");
	for (uint32_t i = 0; i < lists[0].num_models; i++)
		if (!lists[0].models[i] || lists[0].models[i]->device != device)
			return nn_fail(err, NN_INVALID_ARGUMENT, "buffer: model %u is %s", i,
				       lists[0].models[i] ? "from another device" : "missing");
	if (!count || count > NNACCEL_MAX_ROLES)
		return nn_fail(err, NN_INVALID_ARGUMENT, "buffer: %" PRIu64 " roles, 1 to %d are "
			       "possible", count, NNACCEL_MAX_ROLES);
	if (desc->rank > NN_MAX_RANK)
		return nn_fail(err, NN_INVALID_ARGUMENT, "buffer: rank %u, at most %d is possible",
			       desc->rank, NN_MAX_RANK);
	return NN_OK;
}

static enum nn_status allocate(struct nna_buffer *b, const struct role_list *lists,
			       const struct nna_buffer_desc *desc, struct nn_error *err)
{
	enum nn_status status;
	uint64_t capacity;

	b->roles = calloc((size_t)lists[0].count + lists[1].count, sizeof(*b->roles));
	if (!b->roles)
		return nn_fail(err, NN_OUT_OF_MEMORY, "buffer: out of memory");
	status = add_roles(b, &lists[0], err);
	if (!status)
		status = add_roles(b, &lists[1], err);
	if (status)
		return status;
	/*
	 * Drop the scales, because the scales belong to the model, which may be freed before the
	 * buffer.
	 */
	memset(&b->initial.extra, 0, sizeof(b->initial.extra));
	if (!nn_operand_merge_dims(&b->initial, desc->rank, desc->dims))
		return nn_fail(err, NN_INVALID_ARGUMENT, "buffer: the description's dimensions and "
			       "those of the roles differ");
	capacity = first_capacity(b);
	if (!capacity)
		return nn_fail(err, NN_INVALID_ARGUMENT, "buffer: a %s of these dimensions is too "
			       "large", type_name(b->type, &b->initial));
	status = kernel_alloc(b, capacity, &b->kernel_id, err);
	b->capacity = capacity;
	if (!status && !publish(b))
		status = nn_fail(err, NN_OUT_OF_MEMORY, "buffer: out of memory");
	return status;
}

enum nn_status nna_buffer_allocate(struct nna_device *device, const struct nna_buffer_roles *roles,
				   struct nna_buffer **buffer, uint32_t *token,
				   struct nn_error *err)
{
	static const struct nna_buffer_desc open;
	const struct nna_buffer_desc *desc;
	struct nna_buffer_roles r;
	struct nna_buffer *b;
	enum nn_status status;

	nna_error_clear(err);
	*buffer = NULL;
	*token = 0;
	status = NNA_TAKE(&r, desc, roles, "buffer: the roles", err);
	if (status)
		return status;
	desc = r.desc ? r.desc : &open;

	const struct role_list lists[] = {
		{ r.models, r.num_models, r.inputs, r.num_inputs, NNACCEL_ROLE_INPUT },
		{ r.models, r.num_models, r.outputs, r.num_outputs, NNACCEL_ROLE_OUTPUT },
	};

	status = check_request(device, lists, desc, err);
	if (status)
		return status;
	b = calloc(1, sizeof(*b));
	if (!b)
		return nn_fail(err, NN_OUT_OF_MEMORY, "buffer: out of memory");
	b->device = nna_device_get(device);
	atomic_init(&b->users, 1);
	pthread_mutex_init(&b->lock, NULL);
	status = allocate(b, lists, desc, err);
	if (status) {
		nna_buffer_free(b);
		return status;
	}
	*buffer = b;
	*token = b->token;
	return NN_OK;
}

/* ---- copies ---- */

/* Returns the size in bytes of a complete shape; 0 if a dimension is 0. */
static uint64_t bytes_of(const struct nna_buffer *b, const struct nn_operand *operand)
{
	const struct nn_type_info *info = nn_type_info_of(operand->type);
	uint64_t size = info ? (uint64_t)info->element_size * unit_of(b) : 0;

	for (uint32_t i = 0; i < operand->rank; i++)
		if (__builtin_mul_overflow(size, operand->dims[i], &size))
			return UINT64_MAX;
	return size;
}

uint64_t nna_buffer_size(struct nna_buffer *buffer)
{
	uint64_t size;

	pthread_mutex_lock(&buffer->lock);
	size = buffer->initialised ? bytes_of(buffer, &buffer->current) : 0;
	pthread_mutex_unlock(&buffer->lock);
	return size;
}

static enum nn_status copy_out(struct nna_buffer *buffer, const struct place *to,
			       struct nn_error *err)
{
	uint64_t holds;
	uint32_t id;
	bool initialised;

	pthread_mutex_lock(&buffer->lock);
	initialised = buffer->initialised;
	holds = bytes_of(buffer, &buffer->current);
	id = buffer->kernel_id;
	pthread_mutex_unlock(&buffer->lock);
	if (!initialised)
		return nn_fail(err, NN_GENERAL_FAILURE, "buffer: nothing was written to it");
	if (to->size != holds)
		return nn_fail(err, NN_INVALID_ARGUMENT, "buffer: it holds %" PRIu64 " bytes, but "
			       "the memory to copy to has %" PRIu64, holds, to->size);
	return kernel_copy(buffer, NNACCEL_COPY_OUT, id, to, err);
}

enum nn_status nna_buffer_read(struct nna_buffer *buffer, void *data, uint64_t size,
			       struct nn_error *err)
{
	const struct place to = { .data = data, .size = size };

	nna_error_clear(err);
	return copy_out(buffer, &to, err);
}

/* Checks the shape of a write, and enlarges the buffer if the buffer is too small. */
static enum nn_status begin_write(struct nna_buffer *b, uint64_t size, uint32_t rank,
				  const uint32_t *dims, struct nn_operand *shape, uint32_t *id,
				  struct nn_error *err)
{
	enum nn_status status = NN_OK;

	*shape = b->initial;
	if (rank > NN_MAX_RANK || !nn_operand_merge_dims(shape, rank, dims))
		return nn_fail(err, NN_INVALID_ARGUMENT,
			       "buffer: the shape to copy differs from the shape that the buffer "
			       "was created with");
	if (!nn_operand_is_specified(shape))
		return nn_fail(err, NN_INVALID_ARGUMENT,
			       "buffer: neither the buffer nor the copy specifies all dimensions");
	if (bytes_of(b, shape) != size)
		return nn_fail(err, NN_INVALID_ARGUMENT, "buffer: the shape takes %" PRIu64 " "
			       "bytes, but the memory to copy from has %" PRIu64,
			       bytes_of(b, shape), size);
	pthread_mutex_lock(&b->lock);
	status = grow(b, size, err);
	*id = b->kernel_id;
	pthread_mutex_unlock(&b->lock);
	return status;
}

static void end_write(struct nna_buffer *b, bool success, const struct nn_operand *shape)
{
	pthread_mutex_lock(&b->lock);
	b->initialised = success;
	b->current = *shape;
	pthread_mutex_unlock(&b->lock);
}

static enum nn_status copy_in(struct nna_buffer *buffer, const struct place *from, uint32_t rank,
			      const uint32_t *dims, struct nn_error *err)
{
	struct nn_operand shape;
	enum nn_status status;
	uint32_t id = 0;

	status = begin_write(buffer, from->size, rank, dims, &shape, &id, err);
	if (!status)
		status = kernel_copy(buffer, NNACCEL_COPY_IN, id, from, err);
	end_write(buffer, !status, &shape);
	return status;
}

enum nn_status nna_buffer_write(struct nna_buffer *buffer, const void *data, uint64_t size,
				uint32_t rank, const uint32_t *dims, struct nn_error *err)
{
	const struct place from = { .data = (void *)data, .size = size };

	nna_error_clear(err);
	return copy_in(buffer, &from, rank, dims, err);
}

static enum nn_status check_memory(const struct nna_buffer *buffer,
				   const struct nna_memory *memory, int prot, struct nn_error *err)
{
	if (memory->device != buffer->device)
		return nn_fail(err, NN_INVALID_ARGUMENT, "buffer: the memory belongs to another "
			       "device");
	if (memory->is_formatted)
		return nn_fail(err, NN_GENERAL_FAILURE, "buffer: the memory is an image, which "
			       "cannot be copied");
	if (prot & ~memory->prot)
		return nn_fail(err, NN_INVALID_ARGUMENT, "buffer: the memory is not writable");
	return NN_OK;
}

enum nn_status nna_buffer_copy_to(struct nna_buffer *buffer, struct nna_memory *memory,
				  struct nn_error *err)
{
	const struct place to = { .memory = memory, .size = memory->size };
	enum nn_status status;

	nna_error_clear(err);
	status = check_memory(buffer, memory, PROT_WRITE, err);
	return status ? status : copy_out(buffer, &to, err);
}

enum nn_status nna_buffer_copy_from(struct nna_buffer *buffer, struct nna_memory *memory,
				    uint32_t rank, const uint32_t *dims, struct nn_error *err)
{
	const struct place from = { .memory = memory, .size = memory->size };
	enum nn_status status;

	nna_error_clear(err);
	status = check_memory(buffer, memory, PROT_READ, err);
	if (!status)
		return copy_in(buffer, &from, rank, dims, err);
	end_write(buffer, false, &buffer->initial);
	return status;
}

/* ---- executions ---- */

void nna_buffers_init(struct nna_buffer_uses *uses)
{
	uses->count = 0;
	uses->buffers = uses->small_buffers;
	uses->ids = uses->small_ids;
}

static enum nn_status hold(struct nna_buffer_uses *uses, struct nna_device *device,
			   const struct nna_request *request, struct nn_error *err)
{
	uint32_t n = request->num_tokens;

	if (n > NNACCEL_MAX_CMD_BUFFERS)
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: %u buffers, at most %d are "
			       "possible", n, NNACCEL_MAX_CMD_BUFFERS);
	if (n > NNA_SMALL_TOKENS) {
		uses->buffers = calloc(n, sizeof(*uses->buffers));
		uses->ids = calloc(n, sizeof(*uses->ids));
		if (!uses->buffers || !uses->ids)
			return nn_fail(err, NN_OUT_OF_MEMORY, "execute: out of memory");
	}
	for (uint32_t i = 0; i < n; i++) {
		uses->buffers[i] = buffer_find(device, request->tokens[i]);
		if (!uses->buffers[i])
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "execute: no buffer has the token %u", request->tokens[i]);
		uses->count++;
		for (uint32_t k = 0; k < i; k++)
			if (uses->buffers[k] == uses->buffers[i])
				return nn_fail(err, NN_INVALID_ARGUMENT, "execute: token "
					       "%u is given twice", request->tokens[i]);
	}
	return NN_OK;
}

/* Checks that the buffer's contents fit input `index`. The caller holds b->lock. */
static enum nn_status check_input(struct nna_buffer *b, struct nnaccel_arg *arg, uint32_t index,
				  struct nn_error *err)
{
	struct nn_operand shape = b->current;

	if (!b->initialised)
		return nn_fail(err, NN_GENERAL_FAILURE, "execute: input %u: nothing was written to "
			       "its buffer", index);
	if (!nn_operand_merge_dims(&shape, arg->rank, arg->dims))
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: input %u: the tensor in its "
			       "buffer has another shape", index);
	arg->rank = shape.rank;
	memcpy(arg->dims, shape.dims, sizeof(arg->dims));
	return NN_OK;
}

/* Checks that the buffer fits output `index`. The caller holds b->lock. */
static enum nn_status check_output(struct nna_buffer *b, const struct nnaccel_arg *arg,
				   uint32_t index, struct nn_error *err)
{
	struct nn_operand shape = b->initial;

	if (!nn_operand_merge_dims(&shape, arg->rank, arg->dims))
		return nn_fail(err, NN_INVALID_ARGUMENT,
			       "execute: output %u: its buffer was created for another shape",
			       index);
	return nn_operand_is_specified(&shape) ? grow(b, bytes_of(b, &shape), err) : NN_OK;
}

enum nn_status nna_buffers_in(struct nna_buffer_uses *uses, struct nna_device *device,
			      const struct nna_request *request, struct nnaccel_arg *args,
			      struct nn_error *err)
{
	enum nn_status status = uses->count ? NN_OK : hold(uses, device, request, err);

	for (uint32_t i = 0; i < request->num_inputs + request->num_outputs && !status; i++) {
		struct nna_buffer *b;

		if (!(args[i].flags & NNACCEL_ARG_BUFFER))
			continue;
		b = uses->buffers[args[i].pool];
		pthread_mutex_lock(&b->lock);
		status = i < request->num_inputs ?
			 check_input(b, &args[i], i, err) :
			 check_output(b, &args[i], i - request->num_inputs, err);
		pthread_mutex_unlock(&b->lock);
	}
	for (uint32_t i = 0; i < uses->count && !status; i++) {
		pthread_mutex_lock(&uses->buffers[i]->lock);
		uses->ids[i] = uses->buffers[i]->kernel_id;
		pthread_mutex_unlock(&uses->buffers[i]->lock);
	}
	return status;
}

/* Records the shape of an output's contents in the buffer. The caller holds b->lock. */
static void note_output(struct nna_buffer *b, bool success, const struct nnaccel_shape *shape,
			bool *again)
{
	struct nn_operand operand = b->initial;
	uint64_t had = b->capacity;

	b->initialised = success;
	if (!shape)
		return;
	operand.rank = shape->rank;
	memcpy(operand.dims, shape->dims, sizeof(operand.dims));
	if (success)
		b->current = operand;
	else if (!(shape->flags & NNACCEL_SHAPE_SUFFICIENT) &&
		 !nn_operand_is_specified(&b->initial))
		*again |= !grow(b, bytes_of(b, &operand), NULL) && b->capacity > had;
}

void nna_buffers_out(struct nna_buffer_uses *uses, const struct nna_request *request,
		     enum nn_status status, const struct nnaccel_shape *shapes,
		     uint32_t num_shapes, bool *again)
{
	*again = false;
	/*
	 * NN_INVALID_ARGUMENT most likely means that the execution never began, so the contents
	 * stay. If the execution did begin, the kernel has marked its output buffers uninitialised.
	 */
	if (status == NN_INVALID_ARGUMENT)
		return;
	for (uint32_t i = 0; i < request->num_outputs; i++) {
		const struct nna_argument *a = &request->outputs[i];
		const struct nnaccel_shape *shape = i < num_shapes ? &shapes[i] : NULL;
		struct nna_buffer *b;
		uint32_t token;

		if (a->has_no_value || a->pool < request->num_memories)
			continue;
		token = a->pool - request->num_memories;
		b = uses->buffers[token];
		if (status != NN_OK && status != NN_OUTPUT_INSUFFICIENT_SIZE)
			shape = NULL;
		pthread_mutex_lock(&b->lock);
		note_output(b, status == NN_OK, shape, again);
		uses->ids[token] = b->kernel_id;
		pthread_mutex_unlock(&b->lock);
	}
}

void nna_buffers_release(struct nna_buffer_uses *uses)
{
	for (uint32_t i = 0; i < uses->count; i++)
		buffer_put(uses->buffers[i]);
	if (uses->buffers != uses->small_buffers) {
		free(uses->buffers);
		free(uses->ids);
	}
}
