/* SPDX-License-Identifier: MIT */
/*
 * Restores a serialised plan in one pass, which checks each number as it reads the number, because
 * the file is not trusted. The restored plan is one block of memory. The restored plan also refers
 * to the model part, which contains the lists of operands.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "plan/compiled.h"
#include "plan/kernels/fields.h"
#include "plan/saved/restore.h"
#include "plan/run/tuning.h"

#define MAX_ARENA (UINT64_C(1) << 40)

struct restored {
	struct saved_header *part;
	const void *data;
};

/* A restored plan is one block of memory that begins with this structure. */
struct block {
	struct nn_plan plan;
	struct restored restored;
	struct compiled compiled;
	struct nn_subgraph main;
};

/* An alignment that is sufficient for any object, like the alignment of memory from malloc(). */
#define OBJECT_ALIGN 16

/* The part of a serialised plan that was not read yet. */
struct cursor {
	const char *at;
	uint64_t left;
};

/* The sections of a serialised plan, and the structures made so far from the sections. */
struct restoring {
	const struct saved_header *h;
	const struct serial_header *head;
	const struct serial_arg *args;
	uint32_t num_args;
	const struct serial_place *places;
	struct cursor steps;
	struct nn_operand *operands;	/* of the arguments */
	struct nn_tensor *tensors;
	struct compiled *c;
	const char *packed;
	struct nn_error *err;
};

static enum nn_status refuse(const struct restoring *t, const char *what, uint32_t index)
{
	return nn_fail(t->err, NN_GENERAL_FAILURE, "the serialised plan: %s %u is damaged", what,
		       index);
}

/*
 * Returns the next `count` records, or NULL if fewer records are left. The function is inlined, so
 * that the record size `size` is a constant divisor.
 */
static inline __attribute__((always_inline))
const void *take(struct cursor *c, uint64_t count, size_t size)
{
	const char *at = c->at;

	if (count > c->left / size)
		return NULL;
	c->at += count * size;
	c->left -= count * size;
	return at;
}

/* Finds the arguments, the operands' serial_place[], and the steps of a serialised plan. */
static enum nn_status find_parts(struct restoring *t)
{
	struct cursor c = { (const char *)(t->h + 1), t->h->serial_size };

	t->head = take(&c, 1, sizeof(*t->head));
	if (!t->head || t->head->arena_size > MAX_ARENA ||
	    t->h->model_size != sizeof(*t->h) + t->h->serial_size + t->h->tuned_steps)
		return refuse(t, "header", 0);
	t->args = take(&c, (uint64_t)t->head->num_inputs + t->head->num_outputs,
		       sizeof(*t->args));
	if (t->args)
		t->places = take(&c, t->head->num_places, sizeof(*t->places));
	if (!t->args || !t->places)
		return refuse(t, "list", 0);
	t->num_args = t->head->num_inputs + t->head->num_outputs;
	t->steps = c;
	return NN_OK;
}

/* A step of a serialised plan, and the arrays that follow it in the file. */
struct step_form {
	const struct serial_step *step;
	const struct nn_kernel *kernel;
	const uint32_t *outputs;
	const uint32_t *inputs;
	const uint32_t *words;
};

/*
 * Reads the next step of a serialised plan. Returns false if the step is truncated, or if its
 * kernel is unknown, cannot be saved, or does not allow the step's numbers of operands.
 */
static bool take_step(struct cursor *c, struct step_form *f)
{
	f->step = take(c, 1, sizeof(*f->step));
	f->kernel = f->step ? nn_kernel_at(f->step->kernel) : NULL;
	if (!f->kernel || !f->kernel->fields ||
	    !saved_has_operands(f->kernel, f->step->num_outputs, f->step->num_inputs))
		return false;
	f->outputs = take(c, (uint64_t)f->step->num_outputs + f->step->num_inputs + f->step->words,
			  sizeof(*f->outputs));
	if (!f->outputs)
		return false;
	f->inputs = f->outputs + f->step->num_outputs;
	f->words = f->inputs + f->step->num_inputs;
	return true;
}

/*
 * Returns the size of the kernel states of all steps. The sum stops at an invalid step, which
 * restore_step() later rejects.
 */
static size_t states_size(const struct restoring *t)
{
	struct cursor c = t->steps;
	struct step_form from;
	size_t size = 0;

	for (uint32_t i = 0; i < t->head->num_steps && take_step(&c, &from); i++)
		size += round_up(from.kernel->state_size, OBJECT_ALIGN);
	return size;
}

/* ---- Operands ---- */

static enum nn_status restore_arg(struct restoring *t, uint32_t index)
{
	const struct serial_arg *arg = &t->args[index];
	const struct nn_type_info *info = arg->type >= 0 && arg->type < NN_TYPE_COUNT ?
					  nn_type_info_of(arg->type) : NULL;
	static const struct nn_extra no_extra;
	struct nn_tensor *tensor = &t->tensors[index];
	struct nn_operand *o = &t->operands[index];
	uint32_t size;

	if (!info || !info->element_size || arg->rank > NN_MAX_RANK ||
	    !value_size(arg->type, arg->rank, arg->dims, &size))
		return refuse(t, "argument", index);
	*o = (struct nn_operand){
		.type = arg->type,
		.lifetime = index < t->head->num_inputs ? NN_SUBGRAPH_INPUT : NN_SUBGRAPH_OUTPUT,
		.rank = arg->rank,
		.scale = arg->scale,
		.zero_point = arg->zero_point,
	};
	*tensor = (struct nn_tensor){ .type = arg->type, .rank = arg->rank, .extra = &no_extra };
	memcpy(tensor->dims, arg->dims, arg->rank * sizeof(arg->dims[0]));
	memcpy(o->dims, arg->dims, arg->rank * sizeof(arg->dims[0]));
	return NN_OK;
}

static enum nn_status check_place(struct restoring *t, uint32_t index)
{
	const struct serial_place *p = &t->places[index];
	uint64_t end = t->head->arena_size, first = 0;

	if (p->in == SERIAL_DATA) {
		first = sizeof(struct saved_stamp);
		end = t->h->data_size;
	} else if (p->in >= SERIAL_ARG) {
		if (p->in - SERIAL_ARG >= t->num_args)
			return refuse(t, "place", index);
		end = nn_tensor_size(&t->tensors[p->in - SERIAL_ARG]);
		t->c->borrowers[t->c->num_borrowers++] = t->num_args + index;
	}
	if (p->offset < first || p->offset > end || p->size > end - p->offset)
		return refuse(t, "place", index);
	return NN_OK;
}

static enum nn_status restore_operands(struct restoring *t)
{
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; i < t->num_args && !status; i++)
		status = restore_arg(t, i);
	for (uint32_t i = 0; i < t->head->num_places && !status; i++)
		status = check_place(t, i);
	return status;
}

/* ---- Steps ---- */

/*
 * Finds the memory of an operand that a step reads or, if `written`, writes. Returns false if the
 * operand does not exist, or if the step would write memory that steps must not write.
 */
static bool bound_operand(const struct restoring *t, uint32_t operand, bool written,
			  struct nn_room *room)
{
	const struct serial_place *p;
	const struct nn_tensor *arg;
	uint32_t in;

	if (operand < t->num_args) {
		arg = &t->tensors[operand];
		*room = (struct nn_room){ nn_tensor_size(arg),
					  nn_type_info_of(arg->type)->element_size };
		return !written || operand >= t->head->num_inputs;
	}
	if (operand - t->num_args >= t->head->num_places)
		return false;
	p = &t->places[operand - t->num_args];
	in = p->in;
	*room = (struct nn_room){ p->size, NN_KERNEL_ALIGN };
	if (in >= SERIAL_ARG)
		room->align = nn_type_info_of(t->tensors[in - SERIAL_ARG].type)->element_size;
	if (p->offset % NN_KERNEL_ALIGN & (room->align - 1))
		room->align = (uint32_t)(p->offset & -p->offset);
	return !written || in == SERIAL_ARENA || in >= SERIAL_ARG + t->head->num_inputs;
}

/* Returns where the memory of a serialised plan's operand is. */
static struct serial_place place_of(const struct restoring *t, uint32_t operand)
{
	if (operand >= t->num_args)
		return t->places[operand - t->num_args];
	return (struct serial_place){ 0, nn_tensor_size(&t->tensors[operand]),
				      SERIAL_ARG + operand };
}

static bool overlap(const struct restoring *t, uint32_t a, uint32_t b)
{
	const struct serial_place p = place_of(t, a), q = place_of(t, b);

	return p.in == q.in && p.offset < q.offset + q.size && q.offset < p.offset + p.size;
}

/*
 * Sets the size and alignment of the memory that a step may access for each of the step's operands.
 * The size is 0 for operands that the kernel supports but the step lacks.
 */
static bool bound_operands(const struct restoring *t, const struct step_form *from,
			   struct nn_bounds *bounds)
{
	const struct nn_kernel *kernel = from->kernel;
	uint32_t i;

	for (i = 0; i < from->step->num_inputs; i++)
		if (!bound_operand(t, from->inputs[i], false, &bounds->inputs[i]))
			return false;
	for (; i < kernel->inputs; i++)
		bounds->inputs[i] = (struct nn_room){ 0 };
	for (i = 0; i < from->step->num_outputs; i++)
		if (!bound_operand(t, from->outputs[i], true, i ? &bounds->more_outputs[i - 1] :
								  &bounds->output))
			return false;
	for (; i < 1 + kernel->more_outputs; i++)
		bounds->more_outputs[i - 1] = (struct nn_room){ 0 };
	return true;
}

/* Checks that the memory of each output of a step overlaps no input and no other output. */
static bool is_apart(const struct restoring *t, const struct step_form *from,
		     const struct nn_bounds *bounds)
{
	for (uint32_t i = 0; i < from->step->num_outputs; i++) {
		/* Inputs without bytes cannot overlap; most inputs of an LSTM have no bytes. */
		for (uint32_t k = 0; k < from->step->num_inputs; k++)
			if (bounds->inputs[k].bytes && overlap(t, from->inputs[k], from->outputs[i]))
				return false;
		for (uint32_t k = 0; k < i; k++)
			if (overlap(t, from->outputs[k], from->outputs[i]))
				return false;
	}
	return true;
}

/*
 * Sets the address of a step's packed weights in the data part, or in another step. If each execution
 * packs the weights, only the size of the weights is recorded. Returns false if the data part or the
 * other step's weights are too short.
 */
static bool restore_weights(struct restoring *t, struct compiled_step *step)
{
	struct nn_ready *ready = &step->ready;
	const size_t size = nn_kernel_aligned(ready->packed_size);
	struct compiled *c = t->c;

	if (step->packed_of > c->num_steps)
		return false;
	if (step->packed_of) {
		const struct nn_ready *other = &c->steps[step->packed_of - 1].ready;

		ready->packed = other->packed;
		return !ready->pack_tasks && !other->pack_tasks && other->packed_size == ready->packed_size;
	}
	if (ready->pack_tasks) {
		if (c->run_packed_size < size)
			c->run_packed_size = size;
		return true;
	}
	if (size > t->h->packed_size - c->packed_size)
		return false;
	/* The data part may be absent if no step has packed weights. */
	if (size)
		ready->packed = t->packed + c->packed_size;
	c->packed_size += size;
	return true;
}

/*
 * Fills in the zeroed structure `step` from the next step of the serialised plan. `*state` is
 * memory for the state of the step's kernel.
 */
static bool restore_step(struct restoring *t, struct compiled_step *step,
			 struct nn_operation *operation, char **state)
{
	struct compiled *c = t->c;
	struct nn_bounds bounds;
	struct step_form from;

	if (!take_step(&t->steps, &from) || !bound_operands(t, &from, &bounds) ||
	    !is_apart(t, &from, &bounds))
		return false;
	*operation = (struct nn_operation){ from.step->code, from.step->num_inputs,
					    from.step->num_outputs, from.inputs, from.outputs };
	step->operation = operation;
	step->index = from.step->index;
	step->input = from.inputs[0];
	step->output = from.outputs[0];
	step->ready.isa = c->isa;
	step->ready.threads = c->threads;
	step->ready.kernel = from.kernel;
	step->ready.state = *state;
	if (!nn_step_restore(from.kernel, from.words, from.step->words, &bounds, &step->ready, *state))
		return false;
	*state += round_up(from.kernel->state_size, OBJECT_ALIGN);
	if (c->max_inputs < operation->num_inputs)
		c->max_inputs = operation->num_inputs;
	if (c->max_outputs < operation->num_outputs)
		c->max_outputs = operation->num_outputs;
	if (c->scratch_size < step->ready.scratch_size)
		c->scratch_size = nn_kernel_aligned(step->ready.scratch_size);
	step->packed_of = from.step->packed_of;
	return restore_weights(t, step);
}

static enum nn_status restore_steps(struct restoring *t, struct nn_operation *operations,
				    char *states)
{
	for (uint32_t i = 0; i < t->head->num_steps; i++, t->c->num_steps++)
		if (!restore_step(t, &t->c->steps[i], &operations[i], &states))
			return refuse(t, "step", i);
	if (t->steps.left || t->c->packed_size != t->h->packed_size)
		return refuse(t, "step", t->head->num_steps);
	return NN_OK;
}

/* ---- All of it ---- */

static size_t place(size_t *end, uint64_t count, size_t size)
{
	size_t at = *end;

	*end += round_up(count * size, OBJECT_ALIGN);
	return at;
}

/*
 * Sums of sizes cannot overflow: the file's size limits all counts, and each structure is only a
 * few times as large as its record in the file.
 */
static enum nn_status fill(struct restoring *t, struct saved_header *part, const void *data,
			   uint32_t preference, struct block **out)
{
	size_t size = sizeof(struct block);
	const size_t operands = place(&size, t->num_args, sizeof(struct nn_operand));
	const size_t tensors = place(&size, t->num_args, sizeof(struct nn_tensor));
	const size_t list = place(&size, t->num_args, sizeof(uint32_t));
	const size_t steps = place(&size, t->head->num_steps, sizeof(struct compiled_step));
	const size_t operations = place(&size, t->head->num_steps, sizeof(struct nn_operation));
	const size_t borrowers = place(&size, t->head->num_places, sizeof(uint32_t));
	const size_t states = place(&size, 1, states_size(t));
	char *base = calloc(1, size);
	struct block *b = (struct block *)base;
	uint32_t *args = (uint32_t *)(base + list);
	enum nn_status status;

	*out = b;
	if (!b)
		return nn_fail(t->err, NN_OUT_OF_MEMORY, "no memory for a plan");
	b->plan = (struct nn_plan){ .compiled = &b->compiled, .restored = &b->restored };
	b->restored = (struct restored){ .part = part, .data = data };
	b->main = (struct nn_subgraph){
		.num_operands = t->num_args + t->head->num_places,
		.num_inputs = t->head->num_inputs,
		.num_outputs = t->head->num_outputs,
		.operands = (struct nn_operand *)(base + operands),
		.inputs = args,
		.outputs = args + t->head->num_inputs,
	};
	b->compiled = (struct compiled){
		.plan = &b->plan,
		.main = &b->main,
		.isa = nn_isa_find(t->h->kernels),
		.tensors = (struct nn_tensor *)(base + tensors),
		.serial_places = t->places,
		.data = data,
		.borrowers = (uint32_t *)(base + borrowers),
		.steps = (struct compiled_step *)(base + steps),
		.packed = t->packed,
		.packed_is_mapped = true,
		.arena_size = t->head->arena_size,
		.threads = compiled_threads(preference),
	};
	for (uint32_t i = 0; i < t->num_args; i++)
		args[i] = i;
	t->c = &b->compiled;
	t->operands = (struct nn_operand *)(base + operands);
	t->tensors = b->compiled.tensors;
	status = restore_operands(t);
	return status ? status : restore_steps(t, (struct nn_operation *)(base + operations),
					       base + states);
}

static enum nn_status restore_tuning(const struct restoring *t)
{
	const uint8_t *tuned = (const uint8_t *)t->h + t->h->model_size - t->h->tuned_steps;

	if (!tuning_create(t->c))
		return nn_fail(t->err, NN_OUT_OF_MEMORY, "no memory for a plan");
	if (t->h->tuned_steps && !tuning_load(t->c, tuned, t->h->tuned_steps))
		return nn_fail(t->err, NN_GENERAL_FAILURE, "the plan differs from what was saved");
	return NN_OK;
}

enum nn_status plan_restore(struct saved_header *part, const void *data,
			    const struct nn_plan_options *options, struct nn_plan **plan,
			    struct nn_error *err)
{
	struct restoring t = {
		.h = part,
		.packed = data ? (const char *)data + sizeof(struct saved_stamp) : NULL,
		.err = err,
	};
	enum nn_status status = find_parts(&t);
	struct block *b = NULL;

	if (status)
		return status;
	/* The number of steps is checked before memory for the steps is allocated. */
	if (t.head->num_steps > t.steps.left / sizeof(struct serial_step))
		return refuse(&t, "header", 0);
	status = fill(&t, part, data, options->preference, &b);
	if (!status)
		status = restore_tuning(&t);
	if (status) {
		if (b)
			tuning_free(b->compiled.tuning);
		free(b);
		return status;
	}
	*plan = &b->plan;
	return NN_OK;
}

void restored_free(struct nn_plan *plan)
{
	struct block *b = (struct block *)plan;

	compiled_release(&b->compiled);
	tuning_free(b->compiled.tuning);
	free(b->restored.part);
	free(b);
}

const struct saved_header *restored_part(const struct restored *t)
{
	return t->part;
}

const void *restored_data(const struct restored *t)
{
	return t->data;
}
