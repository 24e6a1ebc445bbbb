/* SPDX-License-Identifier: MIT */
/*
 * Makes a model that is being saved smaller: a model part is hashed and checked
 * each time that it is loaded.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/saved/saver.h"

#define DROPPED UINT32_MAX

/* Bytes of a constant, which fit; 0: its type does not tell. */
static size_t value_bytes(const struct nn_operand *o)
{
	uint32_t size;

	nn_operand_size(o, &size);
	return size;
}

/* Whether one constant can stand for another; both steer, so that they are copied. */
static bool are_equal(const struct nn_operand *a, const void *value_a, const struct nn_operand *b,
		      const void *value_b)
{
	return a->type == b->type && a->rank == b->rank &&
	       !memcmp(a->dims, b->dims, sizeof(a->dims)) && a->scale == b->scale &&
	       a->zero_point == b->zero_point && value_bytes(a) &&
	       !memcmp(value_a, value_b, value_bytes(a));
}

/* The subgraph that is being merged: its first operand in the lists of all. */
struct merging {
	struct saver *s;
	uint32_t subgraph;
	size_t first;
	uint32_t *to;			/* by operand: its new number, or DROPPED */
	uint32_t *kept;			/* new numbers of constants that steer */
	uint32_t num_kept;
};

/* The number of a constant that an operand equals, which was met before; or DROPPED. */
static uint32_t find_equal(const struct merging *m, uint32_t operand)
{
	const struct nn_operand *o = &m->s->operands[m->first + operand];
	const void *value = m->s->values[m->first + operand];

	for (uint32_t i = 0; i < m->num_kept; i++) {
		size_t at = m->first + m->kept[i];

		if (are_equal(o, value, &m->s->operands[at], m->s->values[at]))
			return m->kept[i];
	}
	return DROPPED;
}

/* Numbers the operands again and moves them there. */
static void merge_operands(struct merging *m)
{
	struct saver *s = m->s;
	struct nn_subgraph *g = &s->subgraphs[m->subgraph];
	uint32_t count = 0;

	/* Outputs of an operation may have no consumers, but are not dropped. */
	for (uint32_t i = 0; i < g->num_operands; i++) {
		const struct nn_operand *o = &s->operands[m->first + i];
		bool constant = nn_operand_is_constant(o);
		bool merges = constant && s->steers[m->first + i] && o->extra.kind == NN_EXTRA_NONE;

		m->to[i] = DROPPED;
		if (!o->consumers && (constant || o->lifetime == NN_NO_VALUE))
			continue;
		if (merges)
			m->to[i] = find_equal(m, i);
		if (m->to[i] != DROPPED)
			continue;
		m->to[i] = count;
		if (merges)
			m->kept[m->num_kept++] = count;
		s->operands[m->first + count] = *o;
		s->values[m->first + count] = s->values[m->first + i];
		s->steers[m->first + count] = s->steers[m->first + i];
		count++;
	}
	g->num_operands = count;
}

static uint32_t *renumber(const struct merging *m, const uint32_t *from, uint32_t count,
			  uint32_t **next)
{
	uint32_t *list = *next;

	for (uint32_t i = 0; i < count; i++)
		list[i] = m->to[from[i]];
	*next += count;
	return list;
}

static void renumber_lists(struct merging *m, uint32_t **next)
{
	struct saver *s = m->s;
	struct nn_subgraph *g = &s->subgraphs[m->subgraph];
	struct nn_operation *operations = s->operations + (g->operations - s->operations);

	g->inputs = renumber(m, g->inputs, g->num_inputs, next);
	g->outputs = renumber(m, g->outputs, g->num_outputs, next);
	for (uint32_t i = 0; i < g->num_operations; i++) {
		struct nn_operation *o = &operations[i];

		o->inputs = renumber(m, o->inputs, o->num_inputs, next);
		o->outputs = renumber(m, o->outputs, o->num_outputs, next);
	}
}

static size_t count_indices(const struct saver *s)
{
	size_t count = 1;

	for (uint32_t k = 0; k < s->model.num_subgraphs; k++) {
		const struct nn_subgraph *g = &s->subgraphs[k];

		count += (size_t)g->num_inputs + g->num_outputs;
		for (uint32_t i = 0; i < g->num_operations; i++)
			count += (size_t)g->operations[i].num_inputs +
				 g->operations[i].num_outputs;
	}
	return count;
}

static bool shrink_subgraph(struct saver *s, uint32_t subgraph, uint32_t **next)
{
	size_t operands = s->subgraphs[subgraph].num_operands;
	struct merging m = {
		.s = s,
		.subgraph = subgraph,
		.first = saver_first(s, subgraph),
		.to = calloc(operands, sizeof(*m.to)),
		.kept = calloc(operands, sizeof(*m.kept)),
	};
	bool fine = m.to && m.kept;

	if (fine) {
		merge_operands(&m);
		renumber_lists(&m, next);
	}
	free(m.to);
	free(m.kept);
	return fine;
}

bool saver_shrink(struct saver *s)
{
	uint32_t *next = s->indices = calloc(count_indices(s), sizeof(*next));

	if (!next)
		return false;
	for (uint32_t k = 0; k < s->model.num_subgraphs; k++)
		if (!shrink_subgraph(s, k, &next))
			return false;
	return true;
}
