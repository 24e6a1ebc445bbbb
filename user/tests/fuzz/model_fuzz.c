/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes what a worker does with a client's model: decodes hostile bytes and,
 * where they are a model, checks its operations, plans it and runs it once.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/wire.h"
#include "ops/op.h"
#include "plan/plan.h"

#define MAX_POOLS 4
#define MAX_POOL_SIZE 4096
#define MAX_ARGS 16
#define MAX_ARG_SIZE 4096
#define UNKNOWN_DIM 2		/* size of an input's dimension that the model leaves open */
#define RUN_NS 20000000
#define LOOP_NS 5000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
const char *__asan_default_options(void);

/* Models that want much memory fail as they do in a worker's cgroup. */
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=64:detect_leaks=1";
}

/*
 * Mostly replaces one word and leaves the size alone, since a wire form whose
 * size changed is refused by its header.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	const size_t header = sizeof(struct wire_header);
	uint32_t word;
	size_t at;

	srandom(seed);
	if (size < header + sizeof(word) || random() % 16 == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	at = header + random() % ((size - header) / sizeof(word)) * sizeof(word);
	memcpy(&word, data + at, sizeof(word));
	switch (random() % 4) {
	case 0:
		word = random() % 16;
		break;
	case 1:
		word += random() % 5 - 2;
		break;
	case 2:
		word ^= 1u << random() % 32;
		break;
	default:
		memcpy(&word, data + header + random() % (size - header - sizeof(word) + 1),
		       sizeof(word));
	}
	memcpy(data + at, &word, sizeof(word));
	return size;
}

static uint8_t pool_memory[MAX_POOLS][MAX_POOL_SIZE];
static uint8_t arg_memory[2 * MAX_ARGS][MAX_ARG_SIZE];

/* Pools of the sizes that the wire form asks for; what it does not get, it must refuse. */
static uint32_t offer_pools(const uint8_t *wire, size_t size, struct nn_pool *pools)
{
	uint64_t start[W_END + 1];
	struct wire_header h;
	uint32_t i;

	if (size < sizeof(h))
		return 0;
	memcpy(&h, wire, sizeof(h));
	if (!wire_layout(&h, start) || start[W_END] > size)
		return 0;
	for (i = 0; i < h.num_pools && i < MAX_POOLS; i++) {
		uint64_t pool_size;

		memcpy(&pool_size, wire + start[W_POOLS] + i * sizeof(pool_size),
		       sizeof(pool_size));
		if (pool_size > MAX_POOL_SIZE)
			pool_size = MAX_POOL_SIZE;
		pools[i] = (struct nn_pool){ pool_memory[i], pool_size };
	}
	return i;
}

/* A model has one wire form: what was decoded must encode to what it came from. */
static void check_round_trip(const struct nn_model *model, const uint8_t *wire, size_t size)
{
	size_t again_size;
	void *again;

	if (nn_model_encode(model, &again, &again_size, NULL))
		return;
	if (again_size != size || memcmp(again, wire, size))
		abort();
	free(again);
}

/* An input of the model's shape; false where it is larger than our memory. */
static bool set_input(const struct nn_operand *o, uint8_t *memory, struct nn_arg *arg)
{
	struct nn_operand known = *o;
	uint32_t size, i;

	for (i = 0; i < known.rank; i++)
		if (!known.dims[i])
			known.dims[i] = UNKNOWN_DIM;
	if (!nn_operand_size(&known, &size) || size > MAX_ARG_SIZE)
		return false;
	*arg = (struct nn_arg){ .data = memory, .length = size, .rank = known.rank };
	memcpy(arg->dims, known.dims, sizeof(arg->dims));
	return true;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

static void run(const struct nn_plan *plan, const struct nn_subgraph *s, uint8_t seed)
{
	struct nn_output_shape shapes[MAX_ARGS];
	struct nn_arg inputs[MAX_ARGS], outputs[MAX_ARGS];
	struct nn_execution e = {
		.num_inputs = s->num_inputs,
		.num_outputs = s->num_outputs,
		.inputs = inputs,
		.outputs = outputs,
		.shapes = shapes,
		.deadline_ns = now_ns() + RUN_NS,
		.loop_timeout_ns = LOOP_NS,
	};
	struct nn_error err = { "" };
	uint32_t i;

	for (i = 0; i < 2 * MAX_ARGS; i++)
		memset(arg_memory[i], seed + i, MAX_ARG_SIZE);
	for (i = 0; i < s->num_inputs; i++)
		if (!set_input(&s->operands[s->inputs[i]], arg_memory[i], &inputs[i]))
			return;
	/* Outputs at odd addresses now and then, and of too few bytes. */
	for (i = 0; i < s->num_outputs; i++)
		outputs[i] = (struct nn_arg){
			.data = arg_memory[MAX_ARGS + i] + seed % 2,
			.length = seed % 3 ? MAX_ARG_SIZE - 1 : seed,
		};
	if (nn_plan_execute(plan, &e, &err) && !err.message[0])
		abort();
}

static void plan_and_run(const struct nn_model *model, uint8_t seed)
{
	const struct nn_plan_options options = { .deadline_ns = now_ns() + RUN_NS };
	const struct nn_subgraph *s = &model->subgraphs[0];
	struct nn_error err = { "" };
	struct nn_plan *plan;

	if (nn_ops_check_model(model, NULL, &err) || nn_plan_create(model, &options, &plan, &err)) {
		if (!err.message[0])
			abort();
		return;
	}
	if (s->num_inputs <= MAX_ARGS && s->num_outputs <= MAX_ARGS)
		run(plan, s, seed);
	nn_plan_free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nn_pool pools[MAX_POOLS];
	struct nn_error err = { "" };
	struct nn_model *model;
	uint32_t num_pools;

	num_pools = offer_pools(data, size, pools);
	if (nn_model_decode(data, size, pools, num_pools, &model, &err)) {
		if (!err.message[0])
			abort();
		return 0;
	}
	check_round_trip(model, data, size);
	plan_and_run(model, data[size - 1]);
	nn_model_free(model);
	return 0;
}
