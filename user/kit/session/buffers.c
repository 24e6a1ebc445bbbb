// SPDX-License-Identifier: MIT
/* Buffers of memory domains; see buffers.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kit/api/engine.h"
#include "kit/session/buffers.h"

/* ---- a new buffer ---- */

/*
 * The operand that a buffer must match: type and dimensions merged from the buffer's roles. A
 * struct merged holds references to the models that the roles name.
 */
struct merged {
	struct nn_operand operand;
	struct loaded_model **models;
	struct form **forms;		/* prepared forms of `models`, each with a reference */
	struct nna_engine_role *roles;	/* for the engine */
	uint32_t count;			/* number of elements of `models`, `forms` and `roles` */
};

static enum nn_status merge(struct merged *merged, const struct nn_operand *operand, uint32_t role,
			    struct nn_error *err)
{
	if (!role) {
		merged->operand = *operand;
		return NN_OK;
	}
	if (!nn_operand_same_type(&merged->operand, operand))
		return nn_fail(err, NN_INVALID_ARGUMENT, "role %u (%s) differs from the first role "
			       "(%s) in type, scale or zero point", role,
			       nn_type_name(operand->type), nn_type_name(merged->operand.type));
	if (!nn_operand_merge_dims(&merged->operand, operand->rank, operand->dims))
		return nn_fail(err, NN_INVALID_ARGUMENT,
			       "role %u has other dimensions than the earlier roles", role);
	return NN_OK;
}

static enum nn_status add_role(struct models *models, struct merged *merged,
			       const struct nnaccel_cmd_role *role, struct nn_error *err)
{
	bool is_output = role->kind == NNACCEL_ROLE_OUTPUT;
	const uint32_t index = merged->count, *operands;
	struct loaded_model *loaded = models_get(models, role->model, &merged->forms[index]);
	const struct nn_subgraph *main;
	uint32_t count;

	if (!loaded)
		return nn_fail(err, NN_GENERAL_FAILURE, "role %u: the client has no such model",
			       index);
	merged->models[index] = loaded;
	merged->roles[merged->count++] = (struct nna_engine_role){
		.prepared = merged->forms[index]->prepared, .is_output = is_output, .index = role->index,
		.frequency = (float)role->frequency / NNACCEL_MAX_FREQUENCY,
	};
	main = models_signature(models, loaded);
	count = is_output ? main->num_outputs : main->num_inputs;
	operands = is_output ? main->outputs : main->inputs;
	if (role->index >= count)
		return nn_fail(err, NN_INVALID_ARGUMENT, "role %u: %s %u, must be below %u", index,
			       is_output ? "output" : "input", role->index, count);
	return merge(merged, &main->operands[operands[role->index]], index, err);
}

static enum nn_status check_capacity(const struct nn_operand *operand, uint64_t capacity,
				     struct nn_error *err)
{
	struct nn_operand known = *operand;
	uint32_t size;

	/* Replace each unknown dimension by 1 to compute the smallest size of a tensor. */
	for (uint32_t i = 0; i < known.rank; i++)
		known.dims[i] = known.dims[i] ? known.dims[i] : 1;
	if (!known.rank) {
		const struct nn_type_info *info = nn_type_info_of(known.type);

		size = info ? info->element_size : 1;
	} else if (!nn_operand_size(&known, &size)) {
		return nn_fail(err, NN_INVALID_ARGUMENT, "the buffer exceeds 4 GiB");
	}
	if (nn_operand_is_specified(operand) ? capacity != size : !size || capacity % size)
		return nn_fail(err, NN_INVALID_ARGUMENT, "%" PRIu64 " bytes, but a %s needs %s%u",
			       capacity, nn_type_name(operand->type),
			       nn_operand_is_specified(operand) ? "" : "a multiple of ", size);
	return NN_OK;
}

/*
 * Lets the engine create a buffer, which counts towards the client's device memory unless *own is
 * NULL.
 */
static enum nn_status create_own(struct models *models, const struct nna_engine_new_buffer *wanted,
				 void **own, struct nn_error *err)
{
	enum nn_status status = models_reserve(models, wanted->capacity, err);

	if (status)
		return status;
	status = models->engine->buffers->create(models->engine, wanted, own, err);
	if (status || !*own)
		models_unreserve(models, wanted->capacity);
	return status;
}

static enum nn_status add_buffer(struct buffers *buffers, const struct command *command,
				 const struct merged *merged, uint32_t *layout,
				 struct nn_error *err)
{
	const struct nnaccel_grant *grant = &command->grants[0];
	const struct nna_engine_new_buffer wanted = {
		.operand = &merged->operand, .capacity = grant->length,
		.roles = merged->roles, .num_roles = merged->count,
	};
	struct buffer *b;
	enum nn_status status;

	if (!buffers->models->engine->buffers)
		return NN_OK;
	b = calloc(1, sizeof(*b));
	if (!b || pthread_mutex_init(&b->lock, NULL)) {
		free(b);
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	}
	b->grant = grant->grant;
	b->capacity = grant->length;
	status = create_own(buffers->models, &wanted, &b->own, err);
	if (status || !b->own) {
		pthread_mutex_destroy(&b->lock);
		free(b);
		return status;
	}
	pthread_mutex_lock(&buffers->lock);
	b->next = buffers->list;
	buffers->list = b;
	pthread_mutex_unlock(&buffers->lock);
	*layout = NNACCEL_LAYOUT_ENGINE;
	return NN_OK;
}

enum nn_status buffer_judge(struct buffers *buffers, const struct command *command,
			    uint32_t *layout, struct nn_error *err)
{
	struct models *models = buffers->models;
	const uint32_t count = command->head->num_roles;
	struct merged merged = {
		.models = calloc(count, sizeof(*merged.models)),
		.forms = calloc(count, sizeof(*merged.forms)),
		.roles = calloc(count, sizeof(*merged.roles)),
	};
	enum nn_status status = NN_OK;

	if (!merged.models || !merged.forms || !merged.roles)
		status = nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	for (uint32_t i = 0; i < count && !status; i++)
		status = add_role(models, &merged, &command->roles[i], err);
	if (!status)
		status = check_capacity(&merged.operand, command->grants[0].length, err);
	*layout = NNACCEL_LAYOUT_LINEAR;
	if (!status)
		status = add_buffer(buffers, command, &merged, layout, err);
	while (merged.count--)
		models_put(models, merged.models[merged.count], merged.forms[merged.count]);
	free(merged.models);
	free(merged.forms);
	free(merged.roles);
	return status;
}

/* ---- buffers in the engine's layout ---- */

bool buffers_init(struct buffers *buffers, struct models *models)
{
	*buffers = (struct buffers){ .models = models };
	return pthread_mutex_init(&buffers->lock, NULL) == 0;
}

/*
 * Removes all forgotten buffers without users from the list, and returns the removed buffers. The
 * caller holds buffers->lock.
 */
static struct buffer *take_forgotten(struct buffers *buffers)
{
	struct buffer **link = &buffers->list, *taken = NULL, *b;

	while ((b = *link)) {
		if (!b->forgotten || b->users) {
			link = &b->next;
			continue;
		}
		*link = b->next;
		b->next = taken;
		taken = b;
	}
	return taken;
}

static void destroy_all(struct models *models, struct buffer *list)
{
	struct buffer *b;

	while ((b = list)) {
		list = b->next;
		models->engine->buffers->destroy(models->engine, b->own);
		models_unreserve(models, b->capacity);
		pthread_mutex_destroy(&b->lock);
		free(b);
	}
}

void buffers_free(struct buffers *buffers)
{
	destroy_all(buffers->models, buffers->list);
	buffers->list = NULL;
	pthread_mutex_destroy(&buffers->lock);
}

/* Skips forgotten buffers, because a new grant may have the number of a forgotten buffer. */
struct buffer *buffers_get(struct buffers *buffers, uint32_t grant)
{
	struct buffer *b;

	pthread_mutex_lock(&buffers->lock);
	b = buffers->list;
	while (b && (b->grant != grant || b->forgotten))
		b = b->next;
	if (b)
		b->users++;
	pthread_mutex_unlock(&buffers->lock);
	return b;
}

void buffers_put(struct buffers *buffers, struct buffer *buffer)
{
	struct buffer *gone;

	if (!buffer)
		return;
	pthread_mutex_lock(&buffers->lock);
	buffer->users--;
	gone = take_forgotten(buffers);
	pthread_mutex_unlock(&buffers->lock);
	destroy_all(buffers->models, gone);
}

void buffers_forget(struct buffers *buffers, uint32_t grant)
{
	struct buffer *gone;

	pthread_mutex_lock(&buffers->lock);
	for (struct buffer *b = buffers->list; b; b = b->next)
		b->forgotten |= b->grant == grant;
	gone = take_forgotten(buffers);
	pthread_mutex_unlock(&buffers->lock);
	destroy_all(buffers->models, gone);
}

/* Calls the engine to copy between a buffer in the engine's layout and other memory. */
static enum nn_status convert(struct buffers *buffers, struct buffer *buffer,
			      const struct command *command, struct mapping *const maps[2],
			      struct nn_error *err)
{
	const struct nna_engine *engine = buffers->models->engine;
	const uint64_t length = command->head->wire_length;
	enum nn_status status;

	pthread_mutex_lock(&buffer->lock);
	if (command->head->kind == NNACCEL_DO_COPY_IN)
		status = engine->buffers->copy_in(engine, buffer->own, maps[0]->base,
						  maps[1]->base, length, err);
	else
		status = engine->buffers->copy_out(engine, buffer->own, maps[0]->base,
						   maps[1]->base, length, err);
	pthread_mutex_unlock(&buffer->lock);
	return status;
}

enum nn_status buffers_copy(struct buffers *buffers, struct grants *grants,
			    const struct command *command, struct nn_error *err)
{
	struct buffer *buffer = buffers_get(buffers, command->grants[0].grant);
	struct mapping *maps[2] = { NULL, NULL };
	enum nn_status status = NN_OK;

	if (!buffer)
		return nn_fail(err, NN_GENERAL_FAILURE,
			       "the memory is not a buffer of this engine");
	for (uint32_t i = 0; i < 2 && !status; i++)
		status = grants_get(grants, &command->grants[i], NULL, &maps[i], err);
	if (!status)
		status = convert(buffers, buffer, command, maps, err);
	if (!status)
		status = mappings_check(maps, 2, err);
	for (uint32_t i = 0; i < 2; i++)
		grants_put(grants, maps[i]);
	buffers_put(buffers, buffer);
	return status;
}

/* ---- executions ---- */

/* Returns the size in bytes of a tensor with the given shape; 0 if a dimension is 0. */
static uint64_t shape_size(int32_t type, uint32_t rank, const uint32_t *dims)
{
	const struct nn_type_info *info = nn_type_info_of(type);
	uint64_t size = info ? info->element_size : 0;

	for (uint32_t i = 0; i < rank; i++)
		if (__builtin_mul_overflow(size, dims[i], &size))
			return UINT64_MAX;
	return size;
}

enum nn_status buffer_check_inputs(const struct models *models,
				   const struct loaded_model *loaded,
				   const struct command *command, struct nn_error *err)
{
	const struct nn_subgraph *main = models_signature(models, loaded);

	for (uint32_t i = 0; i < command->head->num_inputs && i < main->num_inputs; i++) {
		const struct nn_operand *operand = &main->operands[main->inputs[i]];
		const struct nnaccel_arg *arg = &command->inputs[i];
		uint64_t size;

		if (!(arg->flags & NNACCEL_ARG_BUFFER))
			continue;
		size = arg->rank ? shape_size(operand->type, arg->rank, arg->dims) :
				   shape_size(operand->type, operand->rank, operand->dims);
		if (size != arg->length)
			return nn_fail(err, NN_INVALID_ARGUMENT, "input %u has %" PRIu64
				       " bytes, but its buffer holds %" PRIu64, i, size,
				       (uint64_t)arg->length);
	}
	return NN_OK;
}

void buffer_sizes(const struct models *models, const struct loaded_model *loaded,
		  const struct nn_execution *execution, uint64_t *sizes)
{
	const struct nn_subgraph *main = models_signature(models, loaded);

	for (uint32_t i = 0; i < execution->num_outputs; i++) {
		const struct nn_output_shape *shape = &execution->shapes[i];

		sizes[i] = shape_size(main->operands[main->outputs[i]].type, shape->rank,
				      shape->dims);
	}
}
