/* SPDX-License-Identifier: MIT */
/*
 * Prints the result of each pass over a model or a plan, for developers of the passes. A model and
 * a compiled plan are both printed as a list of nodes.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/operand.h"
#include "plan/passes/dump.h"

enum format { NOTHING, TEXT, DOT };

/* A main subgraph or a compiled plan, to be printed. */
struct shown {
	FILE *to;
	enum format format;
	const struct nn_subgraph *s;
	const struct compiled *c;	/* NULL: a model */
};

static enum format wanted(void)
{
	const char *text = secure_getenv("NNACCEL_PLAN_DUMP");

	if (!text)
		return NOTHING;
	return !strcmp(text, "text") ? TEXT : !strcmp(text, "dot") ? DOT : NOTHING;
}

/* ---- Nodes: operations of a model, steps of a plan ---- */

static uint32_t num_nodes(const struct shown *d)
{
	return d->c ? d->c->num_steps : d->s->num_operations;
}

static const struct nn_operation *operation_at(const struct shown *d, uint32_t node)
{
	return d->c ? d->c->steps[node].operation : &d->s->operations[node];
}

static uint32_t input_at(const struct shown *d, uint32_t node, uint32_t i)
{
	return d->c ? compiled_input(&d->c->steps[node], i) : operation_at(d, node)->inputs[i];
}

static uint32_t output_at(const struct shown *d, uint32_t node, uint32_t i)
{
	return d->c && !i ? d->c->steps[node].output : operation_at(d, node)->outputs[i];
}

/* ---- Operands ---- */

static void print_shape(const struct shown *d, uint32_t operand)
{
	const struct nn_operand *o = &d->s->operands[operand];
	const struct nn_tensor *t = d->c ? &d->c->tensors[operand] : NULL;
	uint32_t rank = t ? t->rank : o->rank;
	const uint32_t *dims = t ? t->dims : o->dims;
	const char *name = nn_type_name(t ? t->type : o->type);

	fprintf(d->to, "%s", strncmp(name, "TENSOR_", 7) ? name : name + 7);
	for (uint32_t i = 0; i < rank; i++)
		fprintf(d->to, "%c%" PRIu32, i ? ',' : '[', dims[i]);
	if (rank)
		fputc(']', d->to);
}

static bool is_constant(const struct shown *d, uint32_t operand)
{
	const struct nn_operand *o = &d->s->operands[operand];

	return nn_operand_is_constant(o) || o->lifetime == NN_NO_VALUE ||
	       (d->c && d->c->places[operand].constant);
}

/* Prints where the memory of an operand is, if the operand already has memory. */
static void print_place(const struct shown *d, uint32_t operand)
{
	const struct place *p = d->c ? &d->c->places[operand] : NULL;

	if (!p || p->kind == PLACE_NONE)
		return;
	if (p->kind == PLACE_CONSTANT)
		fputs(" constant", d->to);
	else if (p->kind == PLACE_ARENA && !d->c->arena_size)
		fputs(" arena", d->to);
	else if (p->kind == PLACE_ARENA)
		fprintf(d->to, " arena+%zu", d->c->places[p->root].offset + p->delta);
	else
		fprintf(d->to, " %s%" PRIu32 "+%zu", p->kind == PLACE_INPUT ? "input" : "output",
			p->index, p->delta);
}

static void print_operand(const struct shown *d, uint32_t operand)
{
	fprintf(d->to, " %%%" PRIu32 " ", operand);
	print_shape(d, operand);
	print_place(d, operand);
}

/* Prints the decisions of the passes about a step. */
static void print_step(const struct shown *d, uint32_t node, const char *between)
{
	static const char *const activations[] = { "", "RELU", "RELU1", "RELU6" };
	const struct compiled_step *step = d->c ? &d->c->steps[node] : NULL;

	if (!step)
		return;
	if (step->activation >= 1 && step->activation <= 3)
		fprintf(d->to, "%s+ %s", between, activations[step->activation]);
	if (step->is_padded)
		fprintf(d->to, "%s+ PAD %" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32, between,
			step->border[0], step->border[1], step->border[2], step->border[3]);
	if (step->is_gone)
		fprintf(d->to, "%sgone", between);
	if (step->ready.kernel)
		fprintf(d->to, "%skernel %s, %zu bytes packed", between,
			step->ready.kernel->name, step->ready.packed_size);
}

/* ---- The formats ---- */

static void print_text(const struct shown *d)
{
	for (uint32_t i = 0; i < num_nodes(d); i++) {
		const struct nn_operation *o = operation_at(d, i);

		fprintf(d->to, "%4" PRIu32 " %s", i, nn_op_name(o->type));
		for (uint32_t k = 0; k < o->num_outputs; k++)
			print_operand(d, output_at(d, i, k));
		fputs(" <-", d->to);
		for (uint32_t k = 0; k < o->num_inputs; k++)
			if (nn_type_info_of(d->s->operands[input_at(d, i, k)].type) &&
			    nn_type_info_of(d->s->operands[input_at(d, i, k)].type)->is_tensor)
				print_operand(d, input_at(d, i, k));
		print_step(d, i, "; ");
		fputc('\n', d->to);
	}
}

/* Prints the edges of the graph that lead to a node. */
static void print_edges(const struct shown *d, uint32_t node)
{
	const struct nn_operation *o = operation_at(d, node);

	for (uint32_t k = 0; k < o->num_inputs; k++) {
		uint32_t operand = input_at(d, node, k);

		if (is_constant(d, operand))
			continue;
		if (d->s->operands[operand].lifetime == NN_SUBGRAPH_INPUT) {
			fprintf(d->to, "\ti%" PRIu32 " -> n%" PRIu32 ";\n", operand, node);
			continue;
		}
		for (uint32_t i = 0; i < num_nodes(d); i++)
			for (uint32_t m = 0; m < operation_at(d, i)->num_outputs; m++)
				if (output_at(d, i, m) == operand)
					fprintf(d->to, "\tn%" PRIu32 " -> n%" PRIu32
						" [label=\"%%%" PRIu32 "\"];\n", i, node, operand);
	}
}

static void print_dot(const struct shown *d, const char *pass)
{
	fprintf(d->to, "digraph \"after %s\" {\n\tnode [shape=box];\n", pass);
	for (uint32_t i = 0; i < d->s->num_inputs; i++) {
		fprintf(d->to, "\ti%" PRIu32 " [shape=oval, label=\"", d->s->inputs[i]);
		print_shape(d, d->s->inputs[i]);
		fputs("\"];\n", d->to);
	}
	for (uint32_t i = 0; i < num_nodes(d); i++) {
		const struct nn_operation *o = operation_at(d, i);

		fprintf(d->to, "\tn%" PRIu32 " [label=\"%s", i, nn_op_name(o->type));
		for (uint32_t k = 0; k < o->num_outputs; k++) {
			fputs("\\n", d->to);
			print_shape(d, output_at(d, i, k));
		}
		print_step(d, i, "\\n");
		fputs("\"];\n", d->to);
		print_edges(d, i);
	}
	fputs("}\n", d->to);
}

/* Writes the text in one call, because other threads may print at the same time. */
static void print(struct shown *d, const char *pass)
{
	char *text = NULL;
	size_t size;

	d->to = open_memstream(&text, &size);
	if (!d->to)
		return;
	if (d->format == DOT) {
		print_dot(d, pass);
	} else {
		fprintf(d->to, "plan: after %s: %" PRIu32 " %s", pass, num_nodes(d),
			d->c ? "steps" : "operations");
		if (d->c && d->c->arena_size)
			fprintf(d->to, ", an arena of %zu bytes", d->c->arena_size);
		fputc('\n', d->to);
		print_text(d);
	}
	if (!fclose(d->to))
		fwrite(text, 1, size, stderr);
	free(text);
}

void plan_dump_model(const char *pass, const struct nn_model *model)
{
	struct shown d = { .format = wanted(), .s = &model->subgraphs[0] };

	if (d.format)
		print(&d, pass);
}

void plan_dump_compiled(const char *pass, const struct compiled *c)
{
	struct shown d = { .format = wanted(), .s = c->main, .c = c };

	if (d.format)
		print(&d, pass);
}
