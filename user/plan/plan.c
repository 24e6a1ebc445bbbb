/* SPDX-License-Identifier: MIT */
/*
 * Makes a plan of a checked model: finds the functions of each operation, and the operands that
 * each step can free.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "model/operand.h"
#include "plan/compiled.h"
#include "plan/run/sections.h"
#include "plan/passes/dump.h"
#include "plan/passes/rewrite.h"
#include "plan/run/threads.h"
#include "plan/saved/restore.h"

#define MAX_PREFERENCE 2	/* sustained speed */

static enum nn_status find_operations(const struct nn_plan *plan, uint32_t index,
				      struct nn_error *err)
{
	struct graph *g = &plan->graphs[index];

	for (uint32_t i = 0; i < g->subgraph->num_operations; i++) {
		const struct nn_operation *operation = &g->subgraph->operations[i];
		const struct nn_op *op = nn_op_find(operation->type);

		if (!op || (!op->execute && op->code != NN_OP_IF && op->code != NN_OP_WHILE))
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "subgraph %u, operation %u (%s): not supported",
				       index, i, nn_op_name(operation->type));
		g->steps[i] = (struct step){ .op = op, .operation = operation };
		if (g->max_inputs < operation->num_inputs)
			g->max_inputs = operation->num_inputs;
		if (g->max_outputs < operation->num_outputs)
			g->max_outputs = operation->num_outputs;
	}
	return NN_OK;
}

/* Sets the values with which each execution of a subgraph begins. */
static enum nn_status set_initial(const struct nn_plan *plan, uint32_t index, struct nn_error *err)
{
	struct graph *g = &plan->graphs[index];

	for (uint32_t i = 0; i < g->subgraph->num_operands; i++) {
		const struct nn_operand *o = &g->subgraph->operands[i];
		struct value *v = &g->initial[i];

		*v = value_declared(o);
		if (!nn_operand_is_constant(o))
			continue;
		v->tensor.data = (void *)nn_operand_value(plan->model, o);
		v->foreign = o->lifetime == NN_CONSTANT_REFERENCE;
		if (!v->tensor.data)
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "subgraph %u, operand %u: its memory is not mapped", index,
				       i);
	}
	for (uint32_t i = 0; i < g->subgraph->num_outputs; i++)
		g->outputs[g->subgraph->outputs[i]] = i + 1;
	return NN_OK;
}

/* Calls the compile function of each operation, which prepares state for all executions. */
static enum nn_status compile_operations(const struct nn_plan *plan, uint32_t index,
					 struct nn_error *err)
{
	struct graph *g = &plan->graphs[index];
	struct nn_error reason = { "" };
	enum nn_status status;

	for (uint32_t i = 0; i < g->subgraph->num_operations; i++) {
		const struct nn_op *op = g->steps[i].op;

		if (!op->compile)
			continue;
		status = op->compile(op, plan->model, g->subgraph, g->steps[i].operation,
				     plan->attributes, &g->steps[i].state, &reason);
		if (status)
			return nn_fail(err, status, "subgraph %u, operation %u: %.400s", index, i,
				       reason.message);
	}
	return NN_OK;
}

static void release_operations(const struct graph *g)
{
	for (uint32_t i = 0; g->steps && i < g->subgraph->num_operations; i++)
		if (g->steps[i].state)
			g->steps[i].op->release(g->steps[i].op, g->steps[i].state);
}

/*
 * Lists, for each step, the temporaries that the step is the last to use. `last` is scratch memory:
 * uint32_t[num_operands].
 */
static void list_releases(struct graph *g, uint32_t *last)
{
	const struct nn_subgraph *s = g->subgraph;
	uint32_t *next = g->releases;

	for (uint32_t i = 0; i < s->num_operations; i++) {
		for (uint32_t j = 0; j < s->operations[i].num_inputs; j++)
			last[s->operations[i].inputs[j]] = i;
		for (uint32_t j = 0; j < s->operations[i].num_outputs; j++)
			last[s->operations[i].outputs[j]] = i;
	}
	for (uint32_t i = 0; i < s->num_operands; i++)
		if (s->operands[i].lifetime == NN_TEMPORARY)
			g->steps[last[i]].num_releases++;
	for (uint32_t i = 0; i < s->num_operations; i++) {
		g->steps[i].releases = next;
		next += g->steps[i].num_releases;
		g->steps[i].num_releases = 0;
	}
	for (uint32_t i = 0; i < s->num_operands; i++) {
		struct step *step = &g->steps[last[i]];

		if (s->operands[i].lifetime == NN_TEMPORARY)
			g->releases[step->releases - g->releases + step->num_releases++] = i;
	}
}

static enum nn_status make_graph(const struct nn_plan *plan, uint32_t index, struct nn_error *err)
{
	const struct nn_subgraph *s = &plan->model->subgraphs[index];
	struct graph *g = &plan->graphs[index];
	enum nn_status status;
	uint32_t *last;

	g->subgraph = s;
	g->steps = calloc(s->num_operations, sizeof(*g->steps));
	g->initial = calloc(s->num_operands, sizeof(*g->initial));
	g->outputs = calloc(s->num_operands, sizeof(*g->outputs));
	g->releases = calloc(s->num_operands, sizeof(*g->releases));
	last = calloc(s->num_operands, sizeof(*last));
	if (g->steps && g->initial && g->outputs && g->releases && last) {
		status = find_operations(plan, index, err);
		if (!status)
			status = set_initial(plan, index, err);
		if (!status)
			status = compile_operations(plan, index, err);
		if (!status)
			list_releases(g, last);
	} else {
		status = nn_fail(err, NN_OUT_OF_MEMORY, "no memory to plan subgraph %u", index);
	}
	free(last);
	return status;
}

enum nn_status plan_check_options(const struct nn_plan_options *options, struct nn_error *err)
{
	if (options->preference > MAX_PREFERENCE)
		return nn_fail(err, NN_INVALID_ARGUMENT, "preference %u, must be at most %u",
			       options->preference, MAX_PREFERENCE);
	if (options->kernels && !nn_plan_has_kernels(options->kernels))
		return nn_fail(err, NN_INVALID_ARGUMENT, "there are no kernels %s",
			       options->kernels);
	if (options->deadline_ns && clock_ns() >= options->deadline_ns)
		return nn_fail(err, NN_MISSED_DEADLINE_PERSISTENT,
			       "the deadline was past before the model was prepared");
	return NN_OK;
}

enum nn_status plan_create(const struct nn_model *model, const struct nn_plan_options *options,
			   struct nn_plan **plan, struct nn_error *err)
{
	enum nn_status status = NN_OK;
	struct nn_plan *p;

	*plan = NULL;
	p = calloc(1, sizeof(*p));
	if (p) {
		p->graphs = calloc(model->num_subgraphs, sizeof(*p->graphs));
		p->heaps = heaps_create();
	}
	if (!p || !p->graphs || !p->heaps) {
		if (p)
			free(p->graphs);
		if (p)
			heaps_free(p->heaps);
		free(p);
		return nn_fail(err, NN_OUT_OF_MEMORY, "no memory to plan the model");
	}
	p->model = model;
	p->attributes = options->attributes;
	p->deadline_ns = options->deadline_ns;
	for (uint32_t i = 0; i < model->num_subgraphs && !status; i++)
		status = make_graph(p, i, err);
	if (status) {
		nn_plan_free(p);
		return status;
	}
	*plan = p;
	return NN_OK;
}

/*
 * The passes that rewrite a model to an equivalent model, in the order in which they run. A pass
 * returns NULL if it changes nothing in the model.
 */
enum { FLOAT32, NHWC, FLOAT16, REWRITES };

static const struct {
	const char *name;
	struct nn_model *(*run)(const struct nn_model *model);
} rewrites[REWRITES] = {
	[FLOAT32] = { "float32", plan_float32 },
	[NHWC] = { "nhwc", plan_nhwc },
	[FLOAT16] = { "float16", plan_float16 },
};

/* Rewrites a model and compiles the result; returns NULL if the result cannot be compiled. */
static struct nn_plan *create_rewritten(const struct nn_model *model,
					const struct nn_plan_options *options,
					struct weights *weights)
{
	const struct nn_isa *isa = nn_isa_find(options->kernels);
	struct nn_model *made[REWRITES] = { NULL }, *last = NULL;
	struct nn_error err = { "" };
	struct nn_plan *p;

	plan_dump_model("model", model);
	for (uint32_t i = 0; i < REWRITES; i++) {
		if (i == FLOAT16 && (!isa->gemm_f16 || !(made[FLOAT32] || model->relaxed)))
			continue;
		made[i] = rewrites[i].run(last ? last : model);
		if (!made[i])
			continue;
		last = made[i];
		plan_dump_model(rewrites[i].name, last);
	}
	if (!last || plan_create(last, options, &p, &err)) {
		for (uint32_t i = REWRITES; i; i--)
			nn_model_free(made[i - 1]);
		return NULL;
	}
	for (uint32_t i = 0, k = 0; i < REWRITES; i++) {
		if (made[i] == last)
			p->owned = last;
		else if (made[i])
			p->bases[k++] = made[i];
	}
	p->weights = weights;
	p->compiled = compiled_create(p, isa, compiled_threads(options->preference), NULL);
	if (p->compiled)
		return p;
	nn_plan_free(p);
	return NULL;
}

struct nn_plan *plan_compile(const struct nn_model *model, const struct nn_plan_options *options,
			     struct weights *weights)
{
	struct nn_plan *plan = create_rewritten(model, options, weights);
	struct nn_error err = { "" };

	if (plan || plan_create(model, options, &plan, &err))
		return plan;
	plan->weights = weights;
	plan->compiled = compiled_create(plan, nn_isa_find(options->kernels),
					 compiled_threads(options->preference), NULL);
	if (plan->compiled)
		return plan;
	nn_plan_free(plan);
	return NULL;
}

/* Makes a lazy plan, whose model is only checked. */
static enum nn_status create_lazy(const struct nn_model *model,
				  const struct nn_plan_options *options, struct nn_plan **plan,
				  struct nn_error *err)
{
	enum nn_status status = plan_create(model, options, plan, err);

	if (status || lazy_create(*plan, options))
		return status;
	nn_plan_free(*plan);
	*plan = NULL;
	return nn_fail(err, NN_OUT_OF_MEMORY, "no memory to plan the model");
}

enum nn_status nn_plan_create(const struct nn_model *model, const struct nn_plan_options *options,
			      struct nn_plan **plan, struct nn_error *err)
{
	bool compile = !options->kernels || strcmp(options->kernels, NO_KERNELS);
	enum nn_status status = plan_check_options(options, err);

	*plan = NULL;
	if (!status && options->lazy)
		return create_lazy(model, options, plan, err);
	if (!status && compile)
		*plan = plan_compile(model, options, NULL);
	if (status || *plan)
		return status;
	/* The deadline may have passed during compiling. */
	status = plan_check_options(options, err);
	if (!status)
		status = plan_create(model, options, plan, err);
	/* If there is no memory for sections, the plan is interpreted. */
	if (!status && compile)
		sections_create(*plan, options);
	return status;
}

const struct nn_model *nn_plan_model(const struct nn_plan *plan)
{
	return plan->model;
}

bool nn_plan_has_extensions(const struct nn_plan *plan)
{
	return plan->model && plan->model->num_extensions;
}

const struct nn_subgraph *nn_plan_main(const struct nn_plan *plan)
{
	return plan->restored ? plan->compiled->main : plan->graphs[0].subgraph;
}

bool plan_determines(const struct nn_op *op, uint32_t index, int32_t type)
{
	const struct nn_type_info *info = nn_type_info_of(type);

	return (info && !info->is_tensor) || nn_has_input(op->determining, index);
}

void nn_plan_memory(const struct nn_plan *plan, struct nn_plan_memory *memory)
{
	plan = lazy_plan(plan);
	*memory = (struct nn_plan_memory){ 0 };
	if (plan->compiled)
		compiled_memory(plan->compiled, memory);
	else
		sections_memory(plan, memory);
}

bool nn_plan_has_kernels(const char *name)
{
	return !strcmp(name, NO_KERNELS) || nn_isa_find(name);
}

const char *nn_plan_kernels_at(uint32_t index)
{
	const struct nn_isa *isa = nn_isa_at(index);

	return isa ? isa->name : NULL;
}

void nn_plan_start_threads(void)
{
	threads_start();
}

void nn_plan_free(struct nn_plan *plan)
{
	if (!plan)
		return;
	if (plan->restored) {
		restored_free(plan);
		return;
	}
	lazy_free(plan->lazy);
	compiled_free(plan->compiled);
	sections_free(plan);
	for (uint32_t i = 0; i < plan->model->num_subgraphs; i++) {
		struct graph *g = &plan->graphs[i];

		release_operations(g);
		free(g->steps);
		free(g->initial);
		free(g->outputs);
		free(g->releases);
	}
	free(plan->graphs);
	heaps_free(plan->heaps);
	nn_model_free(plan->owned);
	nn_model_free(plan->bases[0]);
	nn_model_free(plan->bases[1]);
	free(plan);
}
