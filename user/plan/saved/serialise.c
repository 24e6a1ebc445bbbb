/* SPDX-License-Identifier: MIT */
/*
 * Serialises a plan, so that loading the plan needs no compiling. The serialiser first makes a plan
 * from the saved model, as loading does. The serialiser uses reserved addresses for the data part,
 * which does not exist yet.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "plan/compiled.h"
#include "plan/kernels/fields.h"
#include "plan/saved/saver.h"
#include "plan/saved/restore.h"

struct serialiser {
	/* start of the reserved addresses that stand for the memory of the data part */
	const void *data;
	const struct compiled *c;
	const struct saved_header *h;
	uint32_t *numbers;	/* for each operand: 1 + its number in the serialised plan, or 0 */
	/* 1 + number of the serial_place that stands for all unread inputs; 0: no such input */
	uint32_t none;
	struct serial_header head;
	struct serial_arg *args;
	struct serial_place *places;
	uint32_t *steps;		/* for each step: serial_step, operands and words */
	size_t steps_words;
};

/* Describes an argument. Returns false if a serialised plan cannot describe the argument. */
static bool set_arg(struct serialiser *f, uint32_t operand)
{
	uint32_t number = f->head.num_inputs + f->head.num_outputs;
	const struct nn_operand *o = &f->c->main->operands[operand];
	struct serial_arg *arg = &f->args[number];

	*arg = (struct serial_arg){ .type = o->type, .rank = o->rank, .scale = o->scale,
				    .zero_point = o->zero_point };
	memcpy(arg->dims, o->dims, sizeof(arg->dims));
	f->numbers[operand] = number + 1;
	return nn_operand_is_specified(o) && o->extra.kind == NN_EXTRA_NONE;
}

static bool set_args(struct serialiser *f)
{
	const struct nn_subgraph *s = f->c->main;
	bool fine = true;

	for (uint32_t i = 0; i < s->num_inputs && fine; i++, f->head.num_inputs++)
		fine = set_arg(f, s->inputs[i]);
	for (uint32_t i = 0; i < s->num_outputs && fine; i++, f->head.num_outputs++)
		fine = set_arg(f, s->outputs[i]);
	return fine;
}

/*
 * Finds the memory of an operand that is not an argument; returns false if a serial_place cannot
 * describe the memory.
 */
static bool find_place(const struct serialiser *f, uint32_t operand, struct serial_place *place)
{
	const struct place *p = &f->c->places[operand];

	place->size = nn_tensor_size(&f->c->tensors[operand]);
	switch (p->kind) {
	case PLACE_ARENA:
		place->in = SERIAL_ARENA;
		place->offset = f->c->places[p->root].offset + p->delta;
		return true;
	case PLACE_CONSTANT:
		place->in = SERIAL_DATA;
		place->offset = (uintptr_t)p->constant - (uintptr_t)f->data;
		return place->offset < f->h->data_size;
	case PLACE_INPUT:
	case PLACE_OUTPUT:
		place->in = SERIAL_ARG + p->index +
			    (p->kind == PLACE_OUTPUT ? f->head.num_inputs : 0);
		place->offset = p->delta;
		return true;
	default:
		return false;
	}
}

static bool number_of(struct serialiser *f, uint32_t operand, uint32_t *number)
{
	uint32_t args = f->head.num_inputs + f->head.num_outputs;

	if (!f->numbers[operand]) {
		if (!find_place(f, operand, &f->places[f->head.num_places]))
			return false;
		f->numbers[operand] = args + ++f->head.num_places;
	}
	*number = f->numbers[operand] - 1;
	return true;
}

/*
 * Finds the number that an input of a step has in the serialised plan. All inputs that kernels do
 * not read have one number, which refers to a serial_place without bytes.
 */
static bool number_of_input(struct serialiser *f, const struct compiled_step *step, uint32_t index,
			    bool is_read, uint32_t *number)
{
	const uint32_t operand = compiled_input(step, index);
	uint32_t args = f->head.num_inputs + f->head.num_outputs;

	if (is_read && f->c->main->operands[operand].lifetime != NN_NO_VALUE)
		return number_of(f, operand, number);
	if (!f->none) {
		f->places[f->head.num_places] = (struct serial_place){ .in = SERIAL_ARENA };
		f->none = args + ++f->head.num_places;
	}
	*number = f->none - 1;
	return true;
}

static bool number_of_kernel(const struct nn_kernel *kernel, uint16_t *number)
{
	const struct nn_kernel *k;

	for (uint16_t i = 0; (k = nn_kernel_at(i)); i++) {
		*number = i;
		if (k == kernel)
			return k->fields;
	}
	return false;
}

/*
 * Returns a bit mask of the inputs that a step reads; sets *count to 1 + the position of the last
 * of these inputs.
 */
static uint64_t inputs_of(const struct nn_ready *ready, uint16_t *count)
{
	const uint64_t reads = nn_step_reads(ready);

	for (*count = 0; reads >> *count; (*count)++)
		;
	return reads;
}

static bool add_step(struct serialiser *f, const struct compiled_step *step)
{
	struct serial_step *to = (struct serial_step *)(f->steps + f->steps_words);
	uint32_t *outputs = (uint32_t *)(to + 1), *inputs;
	const struct nn_kernel *kernel = step->ready.kernel;
	const struct nn_operation *o = step->operation;
	uint64_t reads;

	*to = (struct serial_step){ .code = o->type, .index = step->index, .packed_of = step->packed_of };
	if (!kernel || !number_of_kernel(kernel, &to->kernel))
		return false;
	reads = inputs_of(&step->ready, &to->num_inputs);
	to->num_outputs = (uint16_t)o->num_outputs;
	if (!saved_has_operands(kernel, o->num_outputs, to->num_inputs) ||
	    o->num_inputs < to->num_inputs)
		return false;
	for (uint32_t i = 0; i < to->num_outputs; i++)
		if (!number_of(f, i ? o->outputs[i] : step->output, &outputs[i]))
			return false;
	inputs = outputs + to->num_outputs;
	for (uint32_t i = 0; i < to->num_inputs; i++)
		if (!number_of_input(f, step, i, nn_has_input(reads, i), &inputs[i]))
			return false;
	to->words = (uint16_t)nn_step_save(&step->ready, inputs + to->num_inputs);
	f->steps_words += sizeof(*to) / sizeof(uint32_t) + to->num_outputs + to->num_inputs +
			  to->words;
	return to->words;
}

static bool alloc_lists(struct serialiser *f)
{
	const struct nn_subgraph *s = f->c->main;
	size_t most = sizeof(struct serial_step) +
		      (NN_SAVED_OUTPUTS + NN_SAVED_INPUTS + NN_SAVED_WORDS) * sizeof(uint32_t);

	f->numbers = calloc((size_t)s->num_operands + 1, sizeof(*f->numbers));
	f->args = calloc((size_t)s->num_inputs + s->num_outputs + 1, sizeof(*f->args));
	f->places = calloc((size_t)s->num_operands + 1, sizeof(*f->places));
	f->steps = calloc((size_t)f->c->num_steps + 1, most);
	return f->numbers && f->args && f->places && f->steps;
}

static void free_lists(struct serialiser *f)
{
	free(f->numbers);
	free(f->args);
	free(f->places);
	free(f->steps);
}

/*
 * Returns whether an execution of the model may omit an input. An execution that omits an input is
 * interpreted, because shapes depend on the inputs that are present. An execution may also omit an
 * input that no operation reads. Outputs need no check: only operations of plug-ins may omit
 * outputs, and such operations have no kernel.
 */
static bool may_omit(const struct nn_subgraph *s)
{
	for (uint32_t i = 0; i < s->num_inputs; i++)
		if (!s->operands[s->inputs[i]].consumers)
			return true;
	for (uint32_t i = 0; i < s->num_operations; i++) {
		const struct nn_operation *o = &s->operations[i];
		const struct nn_op *op = nn_op_find(o->type);

		for (uint32_t j = 0; j < o->num_inputs; j++)
			if (nn_has_input(op->omissible, j) &&
			    s->operands[o->inputs[j]].lifetime == NN_SUBGRAPH_INPUT)
				return true;
	}
	return false;
}

/* Serialises the whole plan; returns false if a step or an argument cannot be serialised. */
static bool serialise_all(struct serialiser *f)
{
	if (may_omit(f->c->main) || !set_args(f))
		return false;
	f->head.arena_size = f->c->arena_size;
	f->head.num_steps = f->c->num_steps;
	for (uint32_t i = 0; i < f->c->num_steps; i++)
		if (!add_step(f, &f->c->steps[i]))
			return false;
	return true;
}

static void append(uint8_t **to, const void *from, size_t size)
{
	memcpy(*to, from, size);
	*to += size;
}

/* Finds the piece of the data part that contains `place`; returns false if no piece contains it. */
static bool find_piece(const struct nn_plan_pieces *p, const struct serial_place *place,
		       uint32_t *number)
{
	for (uint32_t i = 0; i < p->count; i++) {
		const struct piece *piece = &p->list[i];

		*number = i;
		/*
		 * Pieces are sorted by offset, so each piece before the sought piece ends at or
		 * before the offset of `place`.
		 */
		if (place->offset - piece->offset < piece->size)
			return true;
	}
	return false;
}

/*
 * Reduces the data part to the packed weights, which are the first piece, and to the constants that
 * steps read. Returns false if memory runs out, or if no piece contains the place of a constant.
 */
static bool keep_used(struct serialiser *f, const struct nn_plan_pieces *all,
		      struct nn_plan_pieces *kept)
{
	bool *used = calloc((size_t)all->count + 1, sizeof(*used));
	uint64_t *moved = calloc((size_t)all->count + 1, sizeof(*moved));
	bool fine = used && moved;

	if (fine && f->h->packed_size)
		used[0] = true;
	for (uint32_t i = 0; i < f->head.num_places && fine; i++) {
		uint32_t piece;

		if (f->places[i].in != SERIAL_DATA)
			continue;
		fine = find_piece(all, &f->places[i], &piece);
		if (fine)
			used[piece] = true;
	}
	kept->data_size = sizeof(struct saved_stamp);
	for (uint32_t i = 0; i < all->count && fine; i++)
		if (used[i])
			moved[i] = pieces_add(kept, all->list[i].from, all->list[i].size);
	pieces_end(kept);
	for (uint32_t i = 0; i < f->head.num_places && fine; i++) {
		struct serial_place *place = &f->places[i];
		uint32_t piece;

		if (place->in == SERIAL_DATA && find_piece(all, place, &piece))
			place->offset += moved[piece] - all->list[piece].offset;
	}
	free(used);
	free(moved);
	return fine;
}

/* Returns the model part with the serialised plan, or NULL if memory runs out. */
static uint8_t *write_part(struct serialiser *f, const struct nn_plan_image *image,
			   uint64_t data_size, size_t *size)
{
	const uint8_t *tuned = (const uint8_t *)image->model + image->model_size - f->h->tuned_steps;
	const size_t args = ((size_t)f->head.num_inputs + f->head.num_outputs) * sizeof(*f->args);
	const size_t places = f->head.num_places * sizeof(*f->places);
	const size_t steps = f->steps_words * sizeof(*f->steps);
	struct saved_header h = *f->h;
	uint8_t *part, *to;

	h.serial_size = (uint32_t)(sizeof(f->head) + args + places + steps);
	h.data_size = data_size;
	h.model_size = sizeof(h) + h.serial_size + h.tuned_steps;
	*size = h.model_size;
	part = malloc(*size);
	if (!part)
		return NULL;
	to = part;
	append(&to, &h, sizeof(h));
	append(&to, &f->head, sizeof(f->head));
	append(&to, f->args, args);
	append(&to, f->places, places);
	append(&to, f->steps, steps);
	append(&to, tuned, h.tuned_steps);
	return part;
}

/*
 * Returns whether plan_restore() can restore the serialised plan: each kernel must accept the
 * fields that it has saved.
 */
static bool can_be_restored(const uint8_t *part, size_t size, const void *data)
{
	static const struct nn_plan_options options;
	struct saved_header *copy = malloc(size);
	struct nn_plan *plan = NULL;

	if (!copy)
		return false;
	memcpy(copy, part, size);
	if (plan_restore(copy, data, &options, &plan, NULL)) {
		free(copy);
		return false;
	}
	nn_plan_free(plan);
	return true;
}

static enum nn_status serialise(const struct nn_plan *plan, const struct saved_header *h,
				const void *data, struct nn_plan_image *image,
				struct nn_plan_pieces *pieces)
{
	const size_t room = sizeof(*pieces) + pieces->count * sizeof(struct piece);
	struct serialiser f = { .data = data, .c = plan->compiled, .h = h };
	struct nn_plan_pieces *kept = calloc(1, room);
	enum nn_status status = NN_OK;
	uint8_t *part = NULL;
	size_t size;

	if (!kept || !alloc_lists(&f))
		status = NN_OUT_OF_MEMORY;
	else if (serialise_all(&f) && keep_used(&f, pieces, kept))
		part = write_part(&f, image, kept->data_size, &size);
	free_lists(&f);
	if (part && can_be_restored(part, size, data)) {
		free(image->model);
		image->model = part;
		image->model_size = size;
		memcpy(pieces, kept, room);
	} else {
		free(part);
	}
	free(kept);
	return status;
}

enum nn_status plan_serialise(struct nn_plan_image *image, struct nn_plan_pieces *pieces)
{
	static const struct nn_plan_options options;
	enum nn_status status = NN_OK;
	struct saved_header h;
	struct nn_plan *plan;
	size_t room;
	void *data;

	memcpy(&h, image->model, sizeof(h));
	if (image->model_size > UINT32_MAX / 2)
		return NN_OK;
	/*
	 * If memory runs out during compiling, the compiler may try another kernel, which may read
	 * zeros at the reserved addresses. A plan compiled with another kernel does not match the
	 * plan's header, so the plan is not loaded.
	 */
	room = h.data_size + NN_PLAN_DATA_ALIGN;
	data = mmap(NULL, room, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (data == MAP_FAILED)
		return NN_OK;
	if (!plan_load_whole(&h, image->model, data, &options, &plan, NULL)) {
		status = serialise(plan, &h, data, image, pieces);
		nn_plan_free(plan);
	}
	munmap(data, room);
	return status;
}
