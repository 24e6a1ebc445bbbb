/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/run/value.h"
#include "tests/serialised_plan.h"
#include "tests/plan_diff/bounds.h"
#include "tests/plan_diff/damage.h"
#include "vectors/random.h"

#define MAX_PIECE ((size_t)1 << 20)	/* maximum packed or scratch memory of a step that runs */
#define MAX_TASKS 4096
#define MAX_ARGS 80

static void damage_words(uint32_t *words, uint32_t count)
{
	for (uint32_t i = pick(1, 2); i > 0 && count; i--) {
		uint32_t *word = &words[pick(0, count - 1)];

		switch (pick(0, 5)) {
		case 0:
			*word = pick(0, 16);
			break;
		case 1:
			*word += pick(0, 4) - 2;
			break;
		case 2:
			*word ^= UINT32_C(1) << pick(0, 31);
			break;
		case 3:
			*word *= pick(2, 4);
			break;
		case 4:
			*word = random_bits() << 1;
			break;
		default:
			*word = words[pick(0, count - 1)];
		}
	}
}

/*
 * Allocates memory of exactly `size` bytes, so that the sanitizer finds overruns, and fills it with
 * noise.
 */
static void *noise(size_t size)
{
	uint8_t *memory = NULL;

	assert_int_equal(posix_memalign((void **)&memory, SAVED_ALIGN, size ? size : 1), 0);
	for (size_t i = 0; i < size; i++)
		memory[i] = (uint8_t)random_bits();
	return memory;
}

/* Returns the size and alignment of an operand's memory in an undamaged plan. */
static struct nn_room room_of(const struct saved_header *h, uint32_t operand)
{
	const struct serial_header *head = (const struct serial_header *)(h + 1);
	const struct serial_arg *args = (const struct serial_arg *)(head + 1);
	uint32_t num_args = head->num_inputs + head->num_outputs, size = 0;
	const struct serial_place *places = (const struct serial_place *)(args + num_args);

	if (operand < num_args)
		value_size(args[operand].type, args[operand].rank, args[operand].dims, &size);
	else
		size = places[operand - num_args].size;
	return (struct nn_room){ size, SAVED_ALIGN };
}

/* Runs a step in memory of exactly the size that `bounds` states. */
static void run_step(const struct nn_ready *ready, const struct nn_bounds *bounds)
{
	void *packed = noise(ready->packed_size), *scratch = noise(ready->scratch_size);
	void *inputs[NN_SAVED_INPUTS] = { NULL }, *outputs[NN_SAVED_OUTPUTS] = { NULL };
	struct nn_range ranges[NN_MAX_LOOKS];
	struct nn_ready on = *ready;
	const struct nn_kernel_call call = {
		.ready = &on,
		.inputs = (const void *const *)inputs,
		.outputs = outputs,
		.threads = 1,
		.ranges = ranges,
	};

	struct nn_tensor tensors[NN_SAVED_INPUTS] = { { 0 } };
	const struct nn_run run = { .num_inputs = ready->kernel->inputs, .inputs = tensors };

	on.packed = packed;
	outputs[0] = noise(bounds->output.bytes);
	for (uint32_t i = 0; i < ready->kernel->more_outputs; i++)
		outputs[1 + i] = noise(bounds->more_outputs[i].bytes);
	for (uint32_t i = 0; i < ready->kernel->inputs; i++)
		tensors[i].data = inputs[i] = noise(bounds->inputs[i].bytes);
	for (uint32_t task = 0; task < ready->pack_tasks; task++)
		assert_true(ready->kernel->pack_task(&run, &on, task, scratch, packed));
	for (uint32_t task = 0; task < ready->looks; task++)
		ready->kernel->look(&call, task);
	for (uint32_t task = 0; task < ready->tasks; task++)
		ready->kernel->run(&call, task, scratch);
	for (uint32_t i = 0; i < ready->kernel->inputs; i++)
		free(inputs[i]);
	for (uint32_t i = 0; i < NN_SAVED_OUTPUTS; i++)
		free(outputs[i]);
	free(scratch);
	free(packed);
}

static struct nn_bounds bounds_of(const struct saved_header *h, const struct form_steps *s)
{
	const uint32_t *inputs = form_inputs(s->step), *outputs = form_outputs(s->step);
	struct nn_bounds bounds = { .output = room_of(h, outputs[0]) };

	for (uint32_t i = 0; i < s->step->num_inputs; i++)
		bounds.inputs[i] = room_of(h, inputs[i]);
	for (uint32_t i = 1; i < s->step->num_outputs; i++)
		bounds.more_outputs[i - 1] = room_of(h, outputs[i]);
	return bounds;
}

void check_all_bounds(const struct nn_plan_image *image, struct damage_counts *counts)
{
	const struct saved_header *h = image->model;
	struct form_steps s = form_steps_begin(h);

	while (form_steps_next(&s)) {
		const struct nn_bounds bounds = bounds_of(h, &s);

		counts->bounds[s.step->kernel] += check_bounds(&s, &bounds);
	}
}

/*
 * Damages the words of a step. The kernel must refuse the damaged step, or access only memory
 * within the operands' bounds.
 */
static void damage_step(const struct saved_header *h, const struct form_steps *s,
			struct damage_counts *counts)
{
	const struct nn_bounds bounds = bounds_of(h, s);
	uint32_t words[NN_SAVED_WORDS];
	struct form_steps damaged = { .step = s->step, .words = words };
	struct nn_ready ready;
	void *own;

	for (uint32_t i = 0; i < 6; i++) {
		memcpy(words, s->words, s->step->words * sizeof(*words));
		/* The first of the six rounds does not damage the step. */
		if (i)
			damage_words(words, s->step->words);
		ready = (struct nn_ready){ .isa = nn_isa_find(h->kernels), .threads = pick(1, 3) };
		if (!form_restore(&damaged, &bounds, &ready, &own)) {
			assert_int_not_equal(i, 0);
		} else if (ready.packed_size <= MAX_PIECE && ready.scratch_size <= MAX_PIECE &&
			   ready.tasks <= MAX_TASKS) {
			run_step(&ready, &bounds);
			counts->steps++;
			counts->packing += ready.pack_tasks > 0;
		}
		free(own);
	}
}

/* Executes a damaged plan, whose arguments may have any shape. */
static void run_damaged(const struct nn_plan *plan)
{
	const struct nn_subgraph *s = nn_plan_main(plan);
	struct nn_arg args[MAX_ARGS] = { { 0 } };
	struct nn_execution e = {
		.num_inputs = s->num_inputs,
		.num_outputs = s->num_outputs,
		.inputs = args,
		.outputs = args + s->num_inputs,
	};
	uint32_t count = s->num_inputs + s->num_outputs;
	struct nn_error err = { "" };

	if (count > MAX_ARGS)
		return;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t size = 0;

		nn_operand_size(&s->operands[i], &size);
		args[i].length = size < MAX_PIECE ? size : 0;
		args[i].data = noise(args[i].length);
	}
	if (nn_plan_execute(plan, &e, &err))
		assert_true(err.message[0]);
	for (uint32_t i = 0; i < count; i++)
		free(args[i].data);
}

void check_damaged(const struct nn_plan_image *image, const void *data,
		   struct damage_counts *counts)
{
	const struct nn_plan_options options = { .preference = pick(0, 1) };
	const struct saved_header *h = image->model;
	struct form_steps s = form_steps_begin(h);
	struct nn_error err = { "" };
	struct nn_plan *plan;

	while (form_steps_next(&s))
		damage_step(h, &s, counts);
	for (uint32_t i = 0; i < 4; i++) {
		struct saved_header *copy = malloc(image->model_size);

		assert_non_null(copy);
		memcpy(copy, h, image->model_size);
		damage_words((uint32_t *)(copy + 1), h->serial_size / sizeof(uint32_t));
		form_mend(copy);
		if (nn_plan_adopt(copy, image->model_size, data, image->data_size, &options, &plan,
				  &err)) {
			assert_true(err.message[0]);
			counts->refused++;
			continue;
		}
		run_damaged(plan);
		nn_plan_free(plan);
		counts->loaded++;
	}
}
