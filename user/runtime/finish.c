/* SPDX-License-Identifier: MIT */
/*
 * Finishes a model: sorts operations, merges referenced models into one flat graph, copies large
 * constants to one shared memory, and checks the whole model.
 */
#include "base/round.h"
#include "runtime/finish.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ops/op.h"
#include "plan/run/threads.h"
#include "runtime/extension.h"
#include "runtime/log.h"
#include "runtime/operand.h"

/* Large constants begin at multiples of a cache line. */
#define CONSTANT_ALIGN 64

/*
 * State of the sort of operations: the operations that read each operand, and the number of each
 * operation's inputs that no sorted operation has written.
 */
struct sorting {
	uint32_t *first;	/* for each operand: index of its first consumer in `consumers` */
	uint32_t *consumers;	/* operations, by operand */
	uint32_t *missing;	/* number of each operation's inputs that are not yet written */
	bool *written;		/* by operand */
};

static bool prepare_sorting(const ANeuralNetworksModel *model, struct arena *arena,
			    struct sorting *s)
{
	uint32_t *next;
	size_t total = 0;
	uint32_t i, k;

	for (i = 0; i < model->num_operands; i++)
		total += model->operands[i].consumers;
	s->first = arena_alloc(arena, model->num_operands + 1, sizeof(uint32_t));
	s->consumers = arena_alloc(arena, total, sizeof(uint32_t));
	s->missing = arena_alloc(arena, model->num_operations, sizeof(uint32_t));
	s->written = arena_alloc(arena, model->num_operands, sizeof(bool));
	next = arena_alloc(arena, model->num_operands, sizeof(uint32_t));
	if (!s->first || !s->consumers || !s->missing || !s->written || !next)
		return false;

	for (i = 0; i < model->num_operands; i++) {
		s->first[i + 1] = s->first[i] + model->operands[i].consumers;
		next[i] = s->first[i];
	}
	for (i = 0; i < model->num_operations; i++) {
		const struct nn_operation *operation = &model->operations[i];

		for (k = 0; k < operation->num_inputs; k++) {
			uint32_t operand = operation->inputs[k];

			s->consumers[next[operand]++] = i;
			if (operand_is_written(&model->operands[operand]))
				s->missing[i]++;
		}
	}
	return true;
}

/*
 * Marks the outputs of operation `at` as written, and appends to `order` each operation whose
 * inputs are now all written.
 */
static uint32_t release(const ANeuralNetworksModel *model, struct sorting *s, uint32_t at,
			uint32_t *order, uint32_t ready)
{
	const struct nn_operation *operation = &model->operations[at];
	uint32_t i, k;

	for (i = 0; i < operation->num_outputs; i++) {
		uint32_t operand = operation->outputs[i];

		if (s->written[operand] || !operand_is_written(&model->operands[operand]))
			continue;
		s->written[operand] = true;
		for (k = s->first[operand]; k < s->first[operand + 1]; k++)
			if (!--s->missing[s->consumers[k]])
				order[ready++] = s->consumers[k];
	}
	return ready;
}

/* Sorts operations by Kahn's algorithm: an operation follows when all of its inputs are written. */
static int sort_operations(const ANeuralNetworksModel *model, struct arena *arena,
			   uint32_t *order, struct nn_error *err)
{
	struct sorting s;
	uint32_t done = 0, ready = 0, i;

	if (!prepare_sorting(model, arena, &s))
		return rt_out_of_memory(err);
	for (i = 0; i < model->num_operations; i++)
		if (!s.missing[i])
			order[ready++] = i;
	for (done = 0; done < ready; done++)
		ready = release(model, &s, order[done], order, ready);
	if (ready == model->num_operations)
		return ANEURALNETWORKS_NO_ERROR;
	for (i = 0; !s.missing[i]; i++)
		;
	return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
		       "operation %u (%s) has an input that no operation writes before it", i,
		       nn_op_name(model->operations[i].type));
}

/* A chunk has the size of a huge page, so that two threads never write the same page. */
#define CHUNK ((size_t)2 << 20)

struct copying {
	const ANeuralNetworksModel *model;
	uint8_t *base;
};

/* Copies the constants that lie in one chunk of the shared memory. */
static void copy_chunk(void *arg, uint32_t task, uint32_t thread)
{
	const struct copying *c = arg;
	const ANeuralNetworksModel *model = c->model;
	const uint64_t first = task * CHUNK, end = first + CHUNK;

	(void)thread;
	for (uint32_t i = 0; i < model->num_operands; i++) {
		const struct nn_location *at = &model->operands[i].location;
		const uint64_t from = at->offset > first ? at->offset : first;
		uint64_t to = at->offset + at->length;

		to = to < end ? to : end;
		if (model->large_values[i] && from < to)
			memcpy(c->base + from, (const uint8_t *)model->large_values[i] + (from - at->offset),
			       to - from);
	}
}

/*
 * Copies large constants from the application's buffers into one memory, the last pool of the
 * model. Several threads copy, a chunk at a time, because page faults take most of the time.
 */
static int copy_large_values(ANeuralNetworksModel *model, struct nn_error *err)
{
	size_t size = 0;
	uint8_t *base;
	uint32_t i;
	int result;

	for (i = 0; i < model->num_operands; i++) {
		struct nn_location *at = &model->operands[i].location;

		if (!model->large_values[i])
			continue;
		at->pool = model->num_memories;
		at->offset = size;
		size += round_up(at->length, CONSTANT_ALIGN);
	}
	if (!size)
		return ANEURALNETWORKS_NO_ERROR;
	result = memory_create_private(size, &model->large_memory, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = memory_map(model->large_memory, PROT_READ | PROT_WRITE, &base, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return ANEURALNETWORKS_OUT_OF_MEMORY;
	threads_run_long(copy_chunk, &(struct copying){ model, base },
			 (uint32_t)((size + CHUNK - 1) / CHUNK), size > CHUNK ? threads_start() : 1);
	return ANEURALNETWORKS_NO_ERROR;
}

/* The graph under construction; the arrays are large enough for the whole graph. */
struct building {
	ANeuralNetworksModel *model;
	struct nn_subgraph *subgraphs;
	ANeuralNetworksMemory **memories;
	struct nn_pool *pools;
	uint8_t *values;
	uint32_t num_subgraphs;
	uint32_t num_pools;
	uint64_t values_size;
	/* for each referenced model: index of its subgraph, not counting the main subgraph */
	uint32_t *child_at;
};

static uint32_t add_pool(struct building *b, ANeuralNetworksMemory *memory)
{
	uint32_t i;

	for (i = 0; i < b->num_pools; i++)
		if (b->memories[i] == memory)
			return i;
	b->memories[i] = memory;
	b->pools[i] = (struct nn_pool){ .size = memory->size };
	b->num_pools++;
	return i;
}

/* Appends constant values at an offset that is a multiple of 8, so that the values stay aligned. */
static uint64_t add_values(struct building *b, const uint8_t *values, uint64_t size)
{
	uint64_t at = round_up(b->values_size, 8);

	if (size)
		memcpy(b->values + at, values, size);
	b->values_size = at + size;
	return at;
}

/*
 * Appends the subgraphs of a referenced model's graph, with their operands, operations and values.
 */
static bool add_child(struct building *b, const struct nn_model *child,
		      ANeuralNetworksMemory *const *memories)
{
	uint64_t values_at = add_values(b, child->values, child->values_size);
	uint32_t first = b->num_subgraphs;
	uint32_t i, k;

	for (i = 0; i < child->num_subgraphs; i++) {
		struct nn_subgraph *subgraph = &b->subgraphs[b->num_subgraphs++];
		struct nn_operand *operands;

		*subgraph = child->subgraphs[i];
		operands = arena_copy(&b->model->arena, subgraph->operands,
				      subgraph->num_operands, sizeof(operands[0]));
		if (!operands)
			return false;
		subgraph->operands = operands;
		for (k = 0; k < subgraph->num_operands; k++) {
			struct nn_location *at = &operands[k].location;

			if (operands[k].lifetime == NN_CONSTANT_COPY)
				at->offset += values_at;
			else if (operands[k].lifetime == NN_CONSTANT_REFERENCE)
				at->pool = add_pool(b, memories[at->pool]);
			else if (operands[k].lifetime == NN_SUBGRAPH)
				at->offset += first;
		}
	}
	return true;
}

/* Adds one subgraph for each referenced model, even if several operations reference the model. */
static bool add_children(struct building *b)
{
	const ANeuralNetworksModel *model = b->model;
	uint32_t i, k;

	for (i = 0; i < model->num_children; i++) {
		for (k = 0; model->children[k] != model->children[i]; k++)
			;
		if (k < i) {
			b->child_at[i] = b->child_at[k];
			continue;
		}
		b->child_at[i] = b->num_subgraphs - 1;
		if (!add_child(b, &model->children[i]->graph.model,
			       model->children[i]->graph.memories))
			return false;
	}
	return true;
}

static bool allocate(struct building *b)
{
	struct arena *arena = &b->model->arena;
	size_t subgraphs = 1, pools = b->model->num_memories + 1;
	uint64_t values = b->model->values_size;
	uint32_t i;

	for (i = 0; i < b->model->num_children; i++) {
		const struct nn_model *child = &b->model->children[i]->graph.model;

		subgraphs += child->num_subgraphs;
		pools += child->num_pools;
		values += child->values_size + 7;
	}
	b->subgraphs = arena_alloc(arena, subgraphs, sizeof(b->subgraphs[0]));
	b->memories = arena_alloc(arena, pools, sizeof(b->memories[0]));
	b->pools = arena_alloc(arena, pools, sizeof(b->pools[0]));
	b->values = arena_alloc(arena, values, 1);
	b->child_at = arena_alloc(arena, b->model->num_children, sizeof(b->child_at[0]));
	return b->subgraphs && b->memories && b->pools && b->values && b->child_at;
}

/* Adds the model's own subgraph, with its operations in order. */
static bool build_main(struct building *b)
{
	const ANeuralNetworksModel *model = b->model;
	struct nn_operation *operations;
	struct nn_operand *operands;
	uint32_t i;

	operands = arena_copy(&b->model->arena, model->operands, model->num_operands,
			      sizeof(operands[0]));
	operations = arena_alloc(&b->model->arena, model->num_operations, sizeof(operations[0]));
	if (!operands || !operations)
		return false;
	for (i = 0; i < model->num_operations; i++)
		operations[i] = model->operations[model->order[i]];
	for (i = 0; i < model->num_operands; i++)
		if (operands[i].lifetime == NN_SUBGRAPH)
			operands[i].location.offset = b->child_at[operands[i].location.offset];

	b->subgraphs[0] = (struct nn_subgraph){
		.num_operands = model->num_operands,
		.num_operations = model->num_operations,
		.num_inputs = model->num_inputs,
		.num_outputs = model->num_outputs,
		.operands = operands,
		.operations = operations,
		.inputs = model->inputs,
		.outputs = model->outputs,
	};
	return true;
}

static bool flatten(ANeuralNetworksModel *model)
{
	struct building b = { .model = model, .num_subgraphs = 1 };
	uint32_t i;

	if (!allocate(&b))
		return false;
	for (i = 0; i < model->num_memories; i++)
		add_pool(&b, model->memories[i]);
	if (model->large_memory)
		add_pool(&b, model->large_memory);
	add_values(&b, model->values, model->values_size);
	if (!add_children(&b) || !build_main(&b))
		return false;

	model->graph.memories = b.memories;
	model->graph.model = (struct nn_model){
		.size = sizeof(struct nn_model),
		.num_subgraphs = b.num_subgraphs,
		.num_pools = b.num_pools,
		.relaxed = model->relaxed,
		.subgraphs = b.subgraphs,
		.pools = b.pools,
		.values = b.values,
		.values_size = b.values_size,
	};
	return extension_list_used(b.subgraphs, b.num_subgraphs, &model->arena,
				   &model->graph.model);
}

/*
 * Checks the whole model. Accepts unknown operations of vendors, because only a compilation finds
 * out whether a device supports such operations.
 */
static int check(ANeuralNetworksModel *model, struct nn_error *err)
{
	bool *supported = arena_alloc(&model->arena, model->num_operations, sizeof(bool));
	enum nn_status status;

	if (!supported)
		return rt_out_of_memory(err);
	status = nn_model_check(&model->graph.model, err);
	if (status == NN_OK)
		status = nn_ops_check_model(&model->graph.model, supported, err);
	return rt_fail_status(err, status);
}

int model_build_graph(ANeuralNetworksModel *model, struct nn_error *err)
{
	struct arena scratch = { NULL };
	int result;

	result = copy_large_values(model, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	model->order = arena_alloc(&model->arena, model->num_operations, sizeof(uint32_t));
	if (!model->order)
		return rt_out_of_memory(err);
	result = sort_operations(model, &scratch, model->order, err);
	arena_free(&scratch);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (!flatten(model))
		return rt_out_of_memory(err);
	return check(model, err);
}
