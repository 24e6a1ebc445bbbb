/* SPDX-License-Identifier: MIT */
/*
 * Checks whole models: each subgraph, references between subgraphs, and extensions. The check takes
 * time linear in the model's size, and no function recurses.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum nn_status nn_refuse_operation(const struct nn_model_checker *c, uint32_t index,
				   const char *format, ...)
{
	char reason[NN_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return nn_fail(c->err, NN_INVALID_ARGUMENT, "subgraph %u, operation %u (code %d)%s", c->at,
		       index, c->model->subgraphs[c->at].operations[index].type, reason);
}

/*
 * Checks the list of a subgraph's inputs or outputs: each operand in the list must have `lifetime`
 * and be listed once.
 */
static enum nn_status check_list(const struct nn_model_checker *c, const char *what,
				 uint32_t lifetime, const uint32_t *list, uint32_t count)
{
	const struct nn_subgraph *g = &c->model->subgraphs[c->at];
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (list[i] >= g->num_operands)
			return nn_fail(c->err, NN_INVALID_ARGUMENT,
				       "subgraph %u, %s %u: operand %u, must be below %u", c->at,
				       what, i, list[i], g->num_operands);
		if (g->operands[list[i]].lifetime != lifetime)
			return nn_refuse_operand(c, list[i], "listed as %s %u, but has lifetime %u",
						 what, i, g->operands[list[i]].lifetime);
		if (c->uses[list[i]].listed)
			return nn_refuse_operand(c, list[i], "listed again as %s %u", what, i);
		c->uses[list[i]].listed = true;
	}
	return NN_OK;
}

static bool is_produced(const struct nn_operand *o)
{
	return o->lifetime == NN_TEMPORARY || o->lifetime == NN_SUBGRAPH_OUTPUT;
}

static enum nn_status check_operation(const struct nn_model_checker *c, uint32_t index)
{
	const struct nn_subgraph *g = &c->model->subgraphs[c->at];
	const struct nn_operation *op = &g->operations[index];
	uint32_t i, o;

	if (!nn_is_own(op->type) && !nn_check_prefix(c, op->type))
		return nn_refuse_operation(c, index, ": its extension is not listed");
	for (i = 0; i < op->num_inputs; i++) {
		o = op->inputs[i];
		if (o >= g->num_operands)
			return nn_refuse_operation(c, index,
						   ", input %u: operand %u, must be below %u", i, o,
						   g->num_operands);
		if (is_produced(&g->operands[o]) && !c->uses[o].written)
			return nn_refuse_operation(c, index,
						   ", input %u: operand %u has no value yet", i, o);
		c->uses[o].consumers++;
	}
	for (i = 0; i < op->num_outputs; i++) {
		o = op->outputs[i];
		if (o >= g->num_operands)
			return nn_refuse_operation(c, index,
						   ", output %u: operand %u, must be below %u", i,
						   o, g->num_operands);
		if (!is_produced(&g->operands[o]))
			return nn_refuse_operation(c, index,
						   ", output %u: operand %u of lifetime %u is read-only",
						   i, o, g->operands[o].lifetime);
		if (c->uses[o].written)
			return nn_refuse_operation(c, index,
						   ", output %u: operand %u is written again", i, o);
		c->uses[o].written = true;
	}
	return NN_OK;
}

/* Checks rules that concern a whole subgraph. */
static enum nn_status check_use(const struct nn_model_checker *c, uint32_t index)
{
	const struct nn_operand *o = &c->model->subgraphs[c->at].operands[index];
	const struct nn_operand_use *use = &c->uses[index];

	if ((o->lifetime == NN_SUBGRAPH_INPUT || o->lifetime == NN_SUBGRAPH_OUTPUT) &&
	    !use->listed)
		return nn_refuse_operand(c, index, "lifetime %u, but is not listed", o->lifetime);
	if (is_produced(o) && !use->written)
		return nn_refuse_operand(c, index, "no operation writes it");
	if (o->consumers != use->consumers)
		return nn_refuse_operand(c, index, "claims %u consumers, but has %u",
					 o->consumers, use->consumers);
	return NN_OK;
}

static enum nn_status check_subgraph(const struct nn_model_checker *c)
{
	const struct nn_subgraph *g = &c->model->subgraphs[c->at];
	enum nn_status status = NN_OK;
	uint32_t i;

	if (!g->num_operands)
		return nn_fail(c->err, NN_INVALID_ARGUMENT, "subgraph %u has no operands", c->at);
	if (!g->num_operations)
		return nn_fail(c->err, NN_INVALID_ARGUMENT, "subgraph %u has no operations",
			       c->at);

	memset(c->uses, 0, g->num_operands * sizeof(*c->uses));
	for (i = 0; i < g->num_operands && !status; i++)
		status = nn_check_operand(c, i);
	if (!status)
		status = check_list(c, "input", NN_SUBGRAPH_INPUT, g->inputs, g->num_inputs);
	if (!status)
		status = check_list(c, "output", NN_SUBGRAPH_OUTPUT, g->outputs, g->num_outputs);
	for (i = 0; i < g->num_operations && !status; i++)
		status = check_operation(c, i);
	for (i = 0; i < g->num_operands && !status; i++)
		status = check_use(c, i);
	return status;
}

/* The state of a subgraph in the depth-first search along references. */
struct visit {
	uint32_t parent;	/* subgraph whose operand led the search to this subgraph */
	uint32_t next;		/* index of the next operand to examine */
	uint32_t height;	/* height of the tree of subgraphs from this subgraph down */
	/* true while the search visits this subgraph, or a subgraph to which it refers */
	bool open;
};

/* Leaves a subgraph after the search has followed all its references. */
static enum nn_status close_visit(struct nn_model_checker *c, struct visit *visits)
{
	struct visit *v = &visits[c->at];
	struct visit *parent = &visits[v->parent];

	v->open = false;
	if (v->height > NN_MAX_NESTING)
		return nn_fail(c->err, NN_INVALID_ARGUMENT,
			       "subgraph %u: subgraphs are nested more than %d deep", c->at,
			       NN_MAX_NESTING);
	if (v->parent != c->at && parent->height < v->height + 1)
		parent->height = v->height + 1;
	c->at = v->parent;
	return NN_OK;
}

/*
 * Visits all unvisited subgraphs that the subgraph `root` refers to, directly or not, depth first.
 */
static enum nn_status walk_references(struct nn_model_checker *c, struct visit *visits,
				      uint32_t root)
{
	enum nn_status status = NN_OK;

	visits[root] = (struct visit){ .parent = root, .height = 1, .open = true };
	c->at = root;
	while (!status && visits[root].open) {
		const struct nn_subgraph *g = &c->model->subgraphs[c->at];
		struct visit *v = &visits[c->at];
		uint32_t index = v->next, below;

		if (index == g->num_operands) {
			status = close_visit(c, visits);
			continue;
		}
		v->next++;
		if (g->operands[index].lifetime != NN_SUBGRAPH)
			continue;
		below = g->operands[index].location.offset + 1;
		if (visits[below].open)
			return nn_refuse_operand(c, index, "refers to subgraph %u, which is itself "
						 "or refers back to it", below);
		if (!visits[below].height) {
			visits[below] = (struct visit){ .parent = c->at, .height = 1, .open = true };
			c->at = below;
		} else if (v->height < visits[below].height + 1) {
			v->height = visits[below].height + 1;
		}
	}
	return status;
}

static enum nn_status check_references(struct nn_model_checker *c)
{
	struct visit *visits = calloc(c->model->num_subgraphs, sizeof(*visits));
	enum nn_status status = NN_OK;
	uint32_t i;

	if (!visits)
		return nn_fail(c->err, NN_OUT_OF_MEMORY, "no memory to check the subgraphs");
	for (i = 0; i < c->model->num_subgraphs && !status; i++)
		if (!visits[i].height)
			status = walk_references(c, visits, i);
	free(visits);
	return status;
}

static bool is_graphic(const char *name)
{
	const char *p;

	for (p = name; *p; p++)
		if (*p <= ' ' || *p > '~')
			return false;
	return p != name;
}

static int compare_names(const void *a, const void *b)
{
	const struct nn_extension_prefix *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static enum nn_status check_unique_names(const struct nn_model_checker *c)
{
	const struct nn_model *m = c->model;
	const struct nn_extension_prefix **sorted = calloc(m->num_extensions, sizeof(*sorted));
	enum nn_status status = NN_OK;
	uint32_t i;

	if (!sorted)
		return nn_fail(c->err, NN_OUT_OF_MEMORY, "no memory to check the extensions");
	for (i = 0; i < m->num_extensions; i++)
		sorted[i] = &m->extensions[i];
	qsort(sorted, m->num_extensions, sizeof(*sorted), compare_names);
	for (i = 1; i < m->num_extensions && !status; i++)
		if (!compare_names(&sorted[i - 1], &sorted[i]))
			status = nn_fail(c->err, NN_INVALID_ARGUMENT,
					 "extension \"%.128s\" is listed twice", sorted[i]->name);
	free(sorted);
	return status;
}

enum nn_status nn_check_extensions(struct nn_model_checker *c)
{
	const struct nn_model *m = c->model;
	uint32_t i;

	for (i = 0; i < m->num_extensions; i++) {
		uint16_t prefix = m->extensions[i].prefix;

		if (!is_graphic(m->extensions[i].name))
			return nn_fail(c->err, NN_INVALID_ARGUMENT,
				       "extension %u: the name \"%.128s\" is not printable", i,
				       m->extensions[i].name);
		bool reserved = !prefix || prefix == NN_OWN_PREFIX;

		if (reserved || c->prefixes[prefix / 8] >> (prefix % 8) & 1)
			return nn_fail(c->err, NN_INVALID_ARGUMENT,
				       "extension %u (%.128s): prefix %u is %s", i,
				       m->extensions[i].name, prefix,
				       reserved ? "reserved" : "used twice");
		c->prefixes[prefix / 8] |= 1 << (prefix % 8);
	}
	return m->num_extensions ? check_unique_names(c) : NN_OK;
}

static uint32_t most_operands(const struct nn_model *model)
{
	uint32_t most = 1, i;

	for (i = 0; i < model->num_subgraphs; i++)
		if (most < model->subgraphs[i].num_operands)
			most = model->subgraphs[i].num_operands;
	return most;
}

enum nn_status nn_model_check(const struct nn_model *model, struct nn_error *err)
{
	struct nn_model_checker c = { .model = model, .err = err };
	enum nn_status status;

	if (!model->num_subgraphs)
		return nn_fail(err, NN_INVALID_ARGUMENT, "the model has no subgraph");
	c.uses = calloc(most_operands(model), sizeof(*c.uses));
	if (!c.uses)
		return nn_fail(err, NN_OUT_OF_MEMORY, "no memory to check the model");

	status = nn_check_extensions(&c);
	for (; c.at < model->num_subgraphs && !status; c.at++)
		status = check_subgraph(&c);
	free(c.uses);
	return status ? status : check_references(&c);
}
