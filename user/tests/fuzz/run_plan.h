/* SPDX-License-Identifier: MIT */
/*
 * Common code of the fuzzers of models and of saved plans. The functions of run_plan.h change a
 * word of a serialised model or plan, and run a plan on arguments that a seed byte determines.
 */
#ifndef NN_TESTS_RUN_PLAN_H
#define NN_TESTS_RUN_PLAN_H

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "model/wire.h"
#include "plan/internal.h"

#define MAX_ARGS 16
#define MAX_ARG_SIZE 4096
#define UNKNOWN_DIM 2		/* size that the fuzzers use for an unknown dimension */
#define RUN_NS 20000000		/* time limit in ns for making or loading a plan */
#define EXECUTE_NS 2000000
#define LOOP_NS 200000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
const char *__asan_default_options(void);

/*
 * Makes large allocations fail, because large allocations also fail in a worker's cgroup. The
 * sanitizer's reports name only two callers of an allocation, because unwinding is slow;
 * ASAN_OPTIONS=malloc_context_size=30 shows more callers.
 */
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=64:detect_leaks=1:"
	       "malloc_context_size=2";
}

/* Replaces one word after the first `header` bytes. Returns false if no word follows the header. */
static bool replace_word(uint8_t *data, size_t size, size_t header)
{
	uint32_t word;
	size_t at;

	if (size < header + sizeof(word))
		return false;
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
	return true;
}

static uint8_t arg_memory[2 * MAX_ARGS][MAX_ARG_SIZE];

/*
 * Sets the argument of an execution for an input of the model. Returns false if the input's tensor
 * is larger than MAX_ARG_SIZE.
 */
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

/* Runs the plan, unless the model has too many arguments or an argument is too large. */
static void run_plan(const struct nn_plan *plan, uint8_t seed)
{
	const struct nn_subgraph *s = nn_plan_main(plan);
	struct nn_output_shape shapes[MAX_ARGS];
	struct nn_arg inputs[MAX_ARGS], outputs[MAX_ARGS];
	struct nn_execution e = {
		.num_inputs = s->num_inputs,
		.num_outputs = s->num_outputs,
		.inputs = inputs,
		.outputs = outputs,
		.shapes = shapes,
		.deadline_ns = clock_ns() + EXECUTE_NS,
		.loop_timeout_ns = LOOP_NS,
	};
	struct nn_error err = { "" };
	uint32_t i;

	if (s->num_inputs > MAX_ARGS || s->num_outputs > MAX_ARGS)
		return;
	for (i = 0; i < 2 * MAX_ARGS; i++)
		memset(arg_memory[i], seed + i, MAX_ARG_SIZE);
	for (i = 0; i < s->num_inputs; i++)
		if (!set_input(&s->operands[s->inputs[i]], arg_memory[i], &inputs[i]))
			return;
	/* Sometimes give outputs odd addresses or too few bytes. */
	for (i = 0; i < s->num_outputs; i++)
		outputs[i] = (struct nn_arg){
			.data = arg_memory[MAX_ARGS + i] + seed % 2,
			.length = seed % 3 ? MAX_ARG_SIZE - 1 : seed,
		};
	if (nn_plan_execute(plan, &e, &err) && !err.message[0])
		abort();
}

#endif /* NN_TESTS_RUN_PLAN_H */
