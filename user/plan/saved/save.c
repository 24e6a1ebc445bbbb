/* SPDX-License-Identifier: MIT */
/*
 * Saves a plan: makes the model to save, and a list of the pieces of the data part. Values that
 * compiling has computed from constants become constants of the saved model. Determining constants
 * (see ops/op.h) are saved in the model part; other constants are saved in the data part.
 */
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "model/fingerprint.h"
#include "plan/run/sections.h"
#include "plan/saved/saver.h"
#include "plan/saved/restore.h"
#include "plan/run/tuning.h"

/* ---- The copy ---- */

static size_t count_operands(const struct nn_model *m, size_t *operations)
{
	size_t operands = 0;

	*operations = 0;
	for (uint32_t k = 0; k < m->num_subgraphs; k++) {
		operands += m->subgraphs[k].num_operands;
		*operations += m->subgraphs[k].num_operations;
	}
	return operands;
}

static bool copy_model(struct saver *s)
{
	const struct nn_model *from = s->plan->model;
	size_t num_operations, num_operands = count_operands(from, &num_operations);
	struct nn_operation *operation;
	struct nn_operand *operand;

	s->model = *from;
	s->subgraphs = calloc(from->num_subgraphs, sizeof(*s->subgraphs));
	s->operands = operand = calloc(num_operands, sizeof(*operand));
	s->operations = operation = calloc(num_operations, sizeof(*operation));
	s->determines = calloc(num_operands, sizeof(*s->determines));
	s->values = calloc(num_operands, sizeof(*s->values));
	/*
	 * The pieces of the data part are the packed weights and each constant; the header of the
	 * data part is not a piece.
	 */
	s->pieces = calloc(1, sizeof(*s->pieces) + (num_operands + 1) * sizeof(struct piece));
	if (!s->subgraphs || !operand || !operation || !s->determines || !s->values || !s->pieces)
		return false;
	for (uint32_t k = 0; k < from->num_subgraphs; k++) {
		struct nn_subgraph *g = &s->subgraphs[k];

		*g = from->subgraphs[k];
		memcpy(operand, g->operands, g->num_operands * sizeof(*operand));
		memcpy(operation, g->operations, g->num_operations * sizeof(*operation));
		for (uint32_t i = 0; i < g->num_operands; i++)
			s->values[operand - s->operands + i] =
				nn_operand_value(from, &g->operands[i]);
		g->operands = operand;
		g->operations = operation;
		operand += g->num_operands;
		operation += g->num_operations;
	}
	s->model.subgraphs = s->subgraphs;
	return true;
}

/* ---- What was computed from constants ---- */

static bool is_folded(const struct compiled *c, const struct nn_operand *o, uint32_t index)
{
	return o->lifetime == NN_TEMPORARY && c->places[index].kind == PLACE_CONSTANT;
}

/*
 * Turns the values that a compiled plan owns (copied or computed) into constants of the saved
 * model.
 */
static void take_constants(struct saver *s, const struct compiled *c)
{
	const struct nn_subgraph *g = &s->subgraphs[0];

	for (uint32_t i = 0; i < g->num_operands; i++) {
		struct nn_operand *o = &s->operands[i];
		const struct nn_tensor *t = &c->tensors[i];

		if (nn_operand_is_constant(o))
			s->values[i] = c->places[i].constant;
		if (!is_folded(c, o, i))
			continue;
		o->lifetime = NN_CONSTANT_REFERENCE;
		o->rank = t->rank;
		memcpy(o->dims, t->dims, sizeof(o->dims));
		o->scale = t->scale;
		o->zero_point = t->zero_point;
		s->values[i] = c->places[i].constant;
	}
}

/* Removes the operations whose results have become constants. */
static void drop_folded(struct saver *s)
{
	struct nn_subgraph *g = &s->subgraphs[0];
	uint32_t count = 0;

	for (uint32_t i = 0; i < g->num_operations; i++) {
		const struct nn_operation *o = &g->operations[i];

		if (!o->num_outputs || !nn_operand_is_constant(&s->operands[o->outputs[0]]))
			s->operations[count++] = *o;
	}
	g->num_operations = count;
}

static void count_consumers(struct saver *s)
{
	for (uint32_t k = 0; k < s->model.num_subgraphs; k++) {
		const struct nn_subgraph *g = &s->subgraphs[k];
		struct nn_operand *operands = s->operands + saver_first(s, k);

		for (uint32_t i = 0; i < g->num_operands; i++)
			operands[i].consumers = 0;
		for (uint32_t i = 0; i < g->num_operations; i++)
			for (uint32_t j = 0; j < g->operations[i].num_inputs; j++)
				operands[g->operations[i].inputs[j]].consumers++;
	}
}

/* ---- Determining values ---- */

/*
 * Returns whether input `input` of a subgraph determines addresses or control flow. `reference` is
 * the operand that refers to the subgraph.
 */
static bool determines_inside(const struct saver *s, const struct nn_operand *reference,
			      uint32_t input)
{
	uint32_t k = (uint32_t)reference->location.offset + 1;
	const struct nn_subgraph *g = &s->subgraphs[k];

	return s->determines[saver_first(s, k) + g->inputs[input]];
}

/*
 * The inputs of IF are a condition, two references to subgraphs, and the inputs of the subgraphs.
 * The inputs of WHILE are two references to subgraphs and the inputs of the subgraphs, without a
 * condition.
 */
static bool determines_flow(const struct saver *s, const struct nn_operand *operands,
			    const struct nn_operation *o, uint32_t index)
{
	uint32_t first = o->type == NN_OP_IF ? 1 : 0;

	/*
	 * The input at `index` is not a reference to a subgraph: plan_determines() is true for
	 * references, and mark_operation() then does not call this function.
	 */
	return index < first ||
	       determines_inside(s, &operands[o->inputs[first]], index - first - 2) ||
	       determines_inside(s, &operands[o->inputs[first + 1]], index - first - 2);
}

static bool mark_operation(struct saver *s, uint32_t k, const struct nn_operation *o)
{
	const struct nn_operand *operands = s->subgraphs[k].operands;
	const struct nn_op *op = nn_op_find(o->type);
	bool changed = false;

	for (uint32_t i = 0; i < o->num_inputs; i++) {
		bool *determines = &s->determines[saver_first(s, k) + o->inputs[i]];

		if (*determines || (!plan_determines(op, i, operands[o->inputs[i]].type) &&
				    (op->execute || !determines_flow(s, operands, o, i))))
			continue;
		*determines = true;
		changed = true;
	}
	return changed;
}

/*
 * Marks operands that determine addresses or control flow, in rounds, until a round changes
 * nothing. The number of rounds is at most one more than the nesting depth of subgraphs, because
 * subgraphs do not refer to each other in cycles.
 */
static void mark_determining(struct saver *s)
{
	const struct compiled *c = s->plan->compiled;
	bool changed = true;

	for (uint32_t i = 0; c && i < c->num_steps; i++)
		for (uint32_t j = 0; j < c->steps[i].operation->num_inputs; j++)
			if (nn_has_input(c->steps[i].ready.reads, j))
				s->determines[compiled_input(&c->steps[i], j)] = true;
	while (changed) {
		changed = false;
		for (uint32_t k = 0; k < s->model.num_subgraphs; k++)
			for (uint32_t i = 0; i < s->subgraphs[k].num_operations; i++)
				changed |= mark_operation(s, k, &s->subgraphs[k].operations[i]);
	}
}

/* ---- Where constants go ---- */

uint64_t pieces_add(struct nn_plan_pieces *p, const void *from, uint64_t size)
{
	uint64_t offset = round_up(p->data_size, SAVED_ALIGN);

	if (!size)
		return offset;
	p->list[p->count++] = (struct piece){ from, offset, size };
	p->data_size = offset + size;
	return offset;
}

void pieces_end(struct nn_plan_pieces *p)
{
	p->data_size = p->count ? round_up(p->data_size, NN_PLAN_DATA_ALIGN) : 0;
}

/*
 * Puts a determining constant at offset *used of model.values, and any other constant in the data
 * part of the saved plan. A constant that no operation reads is removed.
 */
static void place_constant(struct saver *s, size_t index, uint64_t *used)
{
	struct nn_operand *o = &s->operands[index];
	const struct nn_type_info *info = nn_type_info_of(o->type);
	uint32_t length = o->location.length;

	if (!o->consumers) {
		o->lifetime = NN_NO_VALUE;
		o->location = (struct nn_location){ 0 };
		return;
	}
	/*
	 * The length of a computed value follows from the value's type and dimensions. Values of
	 * OEM types have no fixed size.
	 */
	if (info->element_size)
		nn_operand_size(o, &length);
	o->location = (struct nn_location){ .length = length };
	if (s->determines[index]) {
		o->lifetime = NN_CONSTANT_COPY;
		o->location.offset = *used;
		*used += round_up(length, 8);
	} else {
		o->lifetime = NN_CONSTANT_REFERENCE;
		o->location.offset = pieces_add(s->pieces, s->values[index], length);
	}
}

static bool copy_values(struct saver *s, uint64_t size)
{
	s->copied = calloc(1, size ? size : 1);
	if (!s->copied)
		return false;
	for (uint32_t k = 0; k < s->model.num_subgraphs; k++) {
		const struct nn_subgraph *g = &s->subgraphs[k];

		for (uint32_t i = 0; i < g->num_operands; i++)
			if (g->operands[i].lifetime == NN_CONSTANT_COPY)
				memcpy(s->copied + g->operands[i].location.offset,
				       s->values[saver_first(s, k) + i],
				       g->operands[i].location.length);
	}
	s->model.values = s->copied;
	s->model.values_size = size;
	return true;
}

static bool place_constants(struct saver *s)
{
	const struct compiled *c = s->plan->compiled;
	struct nn_plan_pieces *p = s->pieces;
	uint64_t used = 0;

	p->data_size = sizeof(struct saved_stamp);
	if (c)
		pieces_add(p, c->packed, c->packed_size);
	for (uint32_t k = 0; k < s->model.num_subgraphs; k++) {
		const struct nn_subgraph *g = &s->subgraphs[k];

		for (uint32_t i = 0; i < g->num_operands; i++)
			if (nn_operand_is_constant(&g->operands[i]))
				place_constant(s, saver_first(s, k) + i, &used);
	}
	pieces_end(p);
	s->pool.size = p->data_size;
	s->model.pools = &s->pool;
	s->model.num_pools = p->count ? 1 : 0;
	return copy_values(s, used);
}

/*
 * Computes the identity of a data part from its contents, so that several processes that write the
 * same cache entry write equal bytes.
 */
static uint64_t identify(const struct nn_plan_pieces *p)
{
	uint64_t on[2] = { p->data_size, p->count };

	for (uint32_t i = 0; i < p->count; i++) {
		on[0] = nn_fingerprint64(on, sizeof(on));
		on[1] = nn_fingerprint64(p->list[i].from, p->list[i].size);
	}
	return nn_fingerprint64(on, sizeof(on));
}

/* ---- All of it ---- */

static enum nn_status write_model(struct saver *s, struct nn_plan_image *image)
{
	const struct compiled *c = s->plan->compiled;
	bool tuned = c && tuning_is_done(c->tuning);
	struct saved_header h = {
		.magic = SAVED_MAGIC,
		.fingerprint = nn_plan_fingerprint(),
		.data_size = s->pieces->data_size,
		.tuned_steps = tuned ? c->num_steps : 0,
	};
	enum nn_status status;
	size_t size;
	void *wire;

	if (c) {
		strncpy(h.kernels, c->isa->name, sizeof(h.kernels) - 1);
		h.packed_size = c->packed_size;
		h.choice = c->choice;
	} else if (s->plan->sections) {
		strncpy(h.kernels, sections_kernels(s->plan), sizeof(h.kernels) - 1);
		h.choice = SAVED_SECTIONS;
	}
	status = nn_model_encode(&s->model, &wire, &size, s->err);
	if (status)
		return status;
	h.model_size = sizeof(h) + size + h.tuned_steps;
	image->model = malloc(h.model_size);
	if (image->model) {
		memcpy(image->model, &h, sizeof(h));
		memcpy((char *)image->model + sizeof(h), wire, size);
		if (tuned)
			tuning_save(c, (uint8_t *)image->model + sizeof(h) + size);
		image->model_size = h.model_size;
	}
	free(wire);
	if (!image->model)
		return NN_OUT_OF_MEMORY;
	return c ? plan_serialise(image, s->pieces) : NN_OK;
}

/* Writes the identity of the data part into both parts of the saved plan. */
static void stamp(struct saver *s, struct nn_plan_image *image)
{
	struct saved_header *h = image->model;

	h->data_identity = identify(s->pieces);
	s->pieces->stamp.magic = SAVED_MAGIC;
	s->pieces->stamp.identity = h->data_identity;
}

static enum nn_status save(struct saver *s, struct nn_plan_image *image)
{
	const struct compiled *c = s->plan->compiled;
	struct nn_error reason = { "" };
	enum nn_status status;

	if (!copy_model(s))
		return NN_OUT_OF_MEMORY;
	if (c) {
		take_constants(s, c);
		drop_folded(s);
	}
	count_consumers(s);
	mark_determining(s);
	if (!place_constants(s))
		return NN_OUT_OF_MEMORY;
	/*
	 * nn_model_check() rejects constants without elements, which compiling may have computed.
	 */
	if (nn_model_check(&s->model, &reason) || nn_ops_check_model(&s->model, NULL, &reason))
		return nn_fail(s->err, NN_GENERAL_FAILURE, "the plan cannot be saved: %.400s",
			       reason.message);
	status = write_model(s, image);
	if (!status)
		stamp(s, image);
	return status;
}

/*
 * Saves a restored plan: copies the plan's model part and data part, with the numbers of threads
 * that tuning has chosen since loading.
 */
static enum nn_status save_restored(const struct nn_plan *plan, struct nn_plan_image *image)
{
	const struct saved_header *part = restored_part(plan->restored);
	const size_t size = part->model_size - part->tuned_steps;
	const struct compiled *c = plan->compiled;
	const bool tuned = part->tuned_steps || tuning_is_done(c->tuning);
	const uint64_t stamp = sizeof(struct saved_stamp);
	struct saved_header *h = malloc(size + c->num_steps);
	struct nn_plan_pieces *p = calloc(1, sizeof(*p) + sizeof(struct piece));

	image->model = h;
	image->pieces = p;
	if (!h || !p)
		return NN_OUT_OF_MEMORY;
	memcpy(h, part, size);
	h->tuned_steps = tuned ? c->num_steps : 0;
	h->model_size = size + h->tuned_steps;
	if (tuned)
		tuning_save(c, (uint8_t *)h + size);
	p->stamp = (struct saved_stamp){ SAVED_MAGIC, h->data_identity, { 0 } };
	p->data_size = h->data_size;
	if (p->data_size > stamp)
		p->list[p->count++] = (struct piece){
			(const char *)restored_data(plan->restored) + stamp, stamp,
			p->data_size - stamp,
		};
	image->model_size = h->model_size;
	image->data_size = p->data_size;
	return NN_OK;
}

enum nn_status nn_plan_save(const struct nn_plan *plan, struct nn_plan_image *image,
			    struct nn_error *err)
{
	struct saver s = { .plan = lazy_plan(plan), .err = err };
	enum nn_status status;

	*image = (struct nn_plan_image){ 0 };
	if (plan->restored) {
		status = save_restored(plan, image);
		if (status)
			nn_plan_image_free(image);
		return status ? nn_fail(err, status, "no memory to save the plan") : NN_OK;
	}
	if (nn_plan_stage(plan) == NN_PLAN_PUT_OFF)
		return nn_fail(err, NN_GENERAL_FAILURE, "the plan was not compiled yet");
	status = save(&s, image);
	if (status == NN_OUT_OF_MEMORY)
		nn_fail(err, status, "no memory to save the plan");
	if (!status) {
		image->data_size = s.pieces->data_size;
		image->pieces = s.pieces;
		s.pieces = NULL;
	} else {
		nn_plan_image_free(image);
	}
	free(s.subgraphs);
	free(s.operands);
	free(s.operations);
	free(s.determines);
	free(s.values);
	free(s.copied);
	free(s.pieces);
	return status;
}

void nn_plan_image_data(const struct nn_plan_image *image, void *data)
{
	const struct nn_plan_pieces *p = image->pieces;
	uint64_t at = sizeof(p->stamp);
	char *to = data;

	if (!image->data_size)
		return;
	memcpy(to, &p->stamp, sizeof(p->stamp));
	for (uint32_t i = 0; i < p->count; i++) {
		memset(to + at, 0, p->list[i].offset - at);
		memcpy(to + p->list[i].offset, p->list[i].from, p->list[i].size);
		at = p->list[i].offset + p->list[i].size;
	}
	memset(to + at, 0, p->data_size - at);
}

void nn_plan_image_free(struct nn_plan_image *image)
{
	free(image->model);
	free(image->pieces);
	*image = (struct nn_plan_image){ 0 };
}
