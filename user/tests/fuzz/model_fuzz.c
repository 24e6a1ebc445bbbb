/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes a worker's handling of a client's model. The fuzzer decodes arbitrary bytes as a model. If
 * a decoded model is valid, the fuzzer checks the operations of the model, compiles the model, and
 * runs the model once.
 */
#include "base/clock.h"
#include "model/extension.h"
#include "run_plan.h"

#define MAX_POOLS 4
#define MAX_POOL_SIZE 4096

/*
 * Usually replaces one word of the input. The size of the input must stay the same, because the
 * decoder rejects a model whose header contains another size.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	srandom(seed);
	if (random() % 16 == 0 || !replace_word(data, size, sizeof(struct wire_header)))
		return LLVMFuzzerMutate(data, size, max_size);
	return size;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

/*
 * Registers the extension that the sample models use, so that decoding replaces the models' prefix
 * of the extension by the registered prefix.
 */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const struct nn_extension_type types[] = {
		{ 0, { "PAIR", 2, true } }, { 5, { "BYTES", 1, false } },
	};
	static const struct nn_extension extension = { "com.example.ext", 2, types };
	uint16_t prefix;

	(void)argc;
	(void)argv;
	if (nn_extension_register(&extension, &prefix, NULL))
		abort();
	return 0;
}

static uint8_t pool_memory[MAX_POOLS][MAX_POOL_SIZE];

/*
 * Provides the pools of a model, with the sizes that the serialised form of the model contains. If
 * pools are missing or too small, the worker must reject the model.
 */
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

/*
 * Checks that encoding a decoded model restores the original bytes, except for the prefixes of
 * extensions; a model has exactly one serialised form.
 */
static void check_round_trip(const struct nn_model *model, const uint8_t *wire, size_t size)
{
	size_t again_size;
	void *again;

	if (nn_model_encode(model, &again, &again_size, NULL))
		return;
	if (again_size != size || (!model->num_extensions && memcmp(again, wire, size)))
		abort();
	free(again);
}

/* A decoded model must not contain codes of an extension that is not registered. */
static void check_prefix(const struct nn_model *model, int32_t code)
{
	uint16_t prefix = (uint32_t)code >> 16;

	if (prefix && (!model->num_extensions || !nn_extension_at(prefix)))
		abort();
}

static void check_prefixes(const struct nn_model *model)
{
	for (uint32_t i = 0; i < model->num_extensions; i++)
		if (model->extensions[i].prefix != nn_extension_prefix(model->extensions[i].name))
			abort();
	for (uint32_t i = 0; i < model->num_subgraphs; i++) {
		const struct nn_subgraph *g = &model->subgraphs[i];

		for (uint32_t k = 0; k < g->num_operands; k++)
			check_prefix(model, g->operands[k].type);
		for (uint32_t k = 0; k < g->num_operations; k++)
			check_prefix(model, g->operations[k].type);
	}
}

static void plan_and_run(const struct nn_model *model, uint8_t seed)
{
	const struct nn_plan_options options = { .deadline_ns = clock_ns() + RUN_NS };
	struct nn_error err = { "" };
	struct nn_plan *plan;

	if (nn_ops_check_model(model, NULL, &err) || nn_plan_create(model, &options, &plan, &err)) {
		if (!err.message[0])
			abort();
		return;
	}
	run_plan(plan, seed);
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
	check_prefixes(model);
	check_round_trip(model, data, size);
	plan_and_run(model, data[size - 1]);
	nn_model_free(model);
	return 0;
}
