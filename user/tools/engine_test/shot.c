/* SPDX-License-Identifier: MIT */
/*
 * Executions of vectors.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nnaccel/engine_model.h>

#include "base/round.h"
#include "tools/engine_test/shot.h"

/* Number of guard bytes before and after each argument, and the value of the guard bytes. */
#define GAP 64
#define POISON 0xa5

/* Alignment of arguments: no more than the size of a number. */
#define UNALIGNED 4

/* Places the arguments in memory from `begin` on, and returns the end of the last argument. */
static uint64_t place(struct nna_argument *args, const struct vector_arg *from, uint32_t count,
		      uint32_t pool, uint64_t begin)
{
	uint64_t at = begin + GAP + UNALIGNED;

	for (uint32_t i = 0; i < count; i++) {
		args[i] = (struct nna_argument){ .pool = pool, .offset = at, .length = from[i].size };
		at = round_up(at + from[i].size, 16) + GAP + UNALIGNED;
	}
	return round_up(at, 16);
}

bool shot_init(struct shot *s, struct nna_device *device, const struct vector *v)
{
	*s = (struct shot){ .v = v };
	s->inputs = calloc(v->num_inputs + 1, sizeof(*s->inputs));
	s->outputs = calloc(v->num_outputs + 1, sizeof(*s->outputs));
	s->shapes = calloc(v->num_outputs + 1, sizeof(*s->shapes));
	if (!s->inputs || !s->outputs || !s->shapes)
		return false;
	s->num_memories = vector_size(v) / 4 % 3 ? 2 : 1;
	s->measure = vector_size(v) / 4 % 2;
	s->in_size = place(s->inputs, v->inputs, v->num_inputs, 0, 0);
	s->out_size = place(s->outputs, v->outputs, v->num_outputs, s->num_memories - 1,
			    s->num_memories == 1 ? s->in_size : 0);
	if (s->num_memories == 1)
		s->in_size = s->out_size;
	if (nna_memory_alloc(device, s->in_size, &s->memories[0], &s->err) ||
	    (s->num_memories > 1 &&
	     nna_memory_alloc(device, s->out_size, &s->memories[1], &s->err)))
		return false;
	s->in = nna_memory_map(s->memories[0], &s->err);
	s->out = s->num_memories > 1 ? nna_memory_map(s->memories[1], &s->err) : s->in;
	if (!s->in || !s->out)
		return false;
	shot_fill(s, v);
	return true;
}

void shot_free(struct shot *s)
{
	nna_memory_free(s->memories[0]);
	nna_memory_free(s->memories[1]);
	free(s->inputs);
	free(s->outputs);
	free(s->shapes);
}

void shot_fill(struct shot *s, const struct vector *v)
{
	s->v = v;
	memset(s->in, POISON, s->in_size);
	memset(s->out, POISON, s->out_size);
	for (uint32_t i = 0; i < v->num_inputs; i++)
		memcpy(s->in + s->inputs[i].offset, v->inputs[i].data, v->inputs[i].size);
}

enum nn_status shot_run(struct shot *s, struct nna_prepared_model *prepared, struct nna_burst *burst)
{
	const struct nna_request r = {
		.size = sizeof(r), .num_inputs = s->v->num_inputs, .num_outputs = s->v->num_outputs,
		.num_memories = s->num_memories, .inputs = s->inputs, .outputs = s->outputs,
		.memories = s->memories,
	};
	const struct nna_execute_options o = {
		.size = sizeof(o), .measure = s->measure, .deadline_ns = s->deadline_ns,
	};
	const struct nna_results results = {
		.size = sizeof(results), .shapes = s->shapes, .num_shapes = &s->num_shapes,
		.timing = &s->timing,
	};

	s->num_shapes = 0;
	if (burst)
		return nna_burst_execute(burst, &r, &o, &results, &s->err);
	return nna_execute(prepared, &r, &o, &results, &s->err);
}

/* Returns whether the guard bytes between and after the arguments, from `at` on, are unchanged. */
static bool is_untouched(const uint8_t *memory, uint64_t at, uint64_t size,
			 const struct nna_argument *args, uint32_t count)
{
	for (uint32_t i = 0; i <= count; i++) {
		uint64_t end = i < count ? args[i].offset : size;

		for (; at < end; at++)
			if (memory[at] != POISON)
				return false;
		if (i < count)
			at = args[i].offset + args[i].length;
	}
	return true;
}

static bool is_shape(const struct nna_output_shape *shape, const struct nn_output_shape *right)
{
	return shape->rank == right->rank &&
	       !memcmp(shape->dims, right->dims, right->rank * sizeof(right->dims[0]));
}

bool shot_check_rest(const struct shot *s, char reason[REASON])
{
	const struct vector *v = s->v;
	uint64_t in_end = s->num_memories == 1 ? s->outputs[0].offset : s->in_size;

	for (uint32_t i = 0; i < v->num_inputs; i++) {
		if (!memcmp(s->in + s->inputs[i].offset, v->inputs[i].data, v->inputs[i].size))
			continue;
		snprintf(reason, REASON, "input %u was overwritten", i);
		return false;
	}
	if (is_untouched(s->in, 0, in_end, s->inputs, v->num_inputs) &&
	    is_untouched(s->out, s->num_memories == 1 ? in_end : 0, s->out_size, s->outputs,
			 v->num_outputs))
		return true;
	snprintf(reason, REASON, "memory beside the arguments was written");
	return false;
}

/*
 * Returns whether times obey the HAL: requested times are reported, and the device's time is at
 * most the driver's time.
 */
static bool is_time(const struct shot *s)
{
	const uint64_t device = s->timing.on_device_us, driver = s->timing.in_driver_us;

	return s->measure ? device == NNA_TIME_NONE || device <= driver :
			    device == NNA_TIME_NONE && driver == NNA_TIME_NONE;
}

bool shot_check(const struct shot *s, char reason[REASON])
{
	const struct vector *v = s->v;
	uint32_t element;

	reason[0] = '\0';
	if (s->num_shapes != v->num_outputs)
		snprintf(reason, REASON, "the shapes of outputs are not reported");
	for (uint32_t i = 0; !reason[0] && i < v->num_outputs; i++) {
		if (!s->shapes[i].is_sufficient || !is_shape(&s->shapes[i], &v->outputs[i].shape))
			snprintf(reason, REASON, "output %u: wrong shape", i);
		else if (!vector_equals(v, i, s->out + s->outputs[i].offset, &element))
			snprintf(reason, REASON, "output %u, element %u: wrong value", i, element);
	}
	if (!reason[0] && !is_time(s))
		snprintf(reason, REASON, "times: %lld us on the device, %lld us in the driver%s",
			 (long long)s->timing.on_device_us, (long long)s->timing.in_driver_us,
			 s->measure ? "" : ", which nobody asked for");
	return !reason[0] && shot_check_rest(s, reason);
}

bool shot_check_short(const struct shot *s, enum nn_status status, char reason[REASON])
{
	bool is_told = status == NN_OUTPUT_INSUFFICIENT_SIZE && s->num_shapes == s->v->num_outputs;

	for (uint32_t i = 0; is_told && i < s->num_shapes; i++)
		is_told = s->shapes[i].is_sufficient == (i != 0) &&
			  is_shape(&s->shapes[i], &s->v->outputs[i].shape);
	if (is_told)
		return shot_check_rest(s, reason);
	snprintf(reason, REASON, "an output is too short: %s, or the shapes do not tell it, or another",
		 nn_status_name(status));
	return false;
}
