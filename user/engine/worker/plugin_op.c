// SPDX-License-Identifier: MIT
/*
 * Adds operations of plug-ins to the table of operations.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/worker/plugin_op.h"
#include "ops/op.h"

/* A plug-in's operation, which is never removed from the table of operations. */
struct plugin_op {
	struct nn_op op;
	const struct nna_engine_plugin_operation *operation;
};

static const struct nna_engine_plugin_operation *operation_of(const struct nn_op *op)
{
	return ((const struct plugin_op *)op)->operation;
}

static enum nn_status op_check(const struct nn_check *check)
{
	return nna_engine_plugin_check(operation_of(check->op), check->scope->operands,
				       check->operation, check->err);
}

/* ---- runs ---- */

static void set_operand(struct nnx_operand *x, const struct nn_tensor *t)
{
	const struct nn_operand declared = {
		.type = t->type, .lifetime = t->omitted ? NN_NO_VALUE : NN_TEMPORARY,
		.rank = t->rank, .scale = t->scale, .zero_point = t->zero_point, .extra = *t->extra,
	};

	nna_engine_plugin_operand(&declared, x);
	memcpy(x->dims, t->dims, sizeof(x->dims));
}

static void set_value(struct nnx_operand *x, const struct nn_tensor *t)
{
	if (t->omitted)
		return;
	x->value = t->data;
	x->value_size = nn_tensor_size(t);
}

/*
 * Fills in the structure that describes a run to a plug-in. If `computes` is false, only shapes are
 * wanted: outputs have no value, and inputs have a value only if the plug-in needs it for shapes.
 */
static enum nn_status take_run(struct nn_run *r, bool computes, struct nna_engine_plugin_run *run)
{
	struct nnx_operand *inputs = nn_run_alloc(r, r->num_inputs + 1, sizeof(*inputs));
	struct nnx_operand *outputs = nn_run_alloc(r, r->num_outputs + 1, sizeof(*outputs));

	if (!inputs || !outputs)
		return nn_fail(r->err, NN_OUT_OF_MEMORY, "out of memory");
	for (uint32_t i = 0; i < r->num_inputs; i++) {
		set_operand(&inputs[i], &r->inputs[i]);
		if (computes || nna_engine_plugin_needs_value(operation_of(r->op), &inputs[i], i))
			set_value(&inputs[i], &r->inputs[i]);
	}
	for (uint32_t i = 0; i < r->num_outputs; i++) {
		set_operand(&outputs[i], &r->outputs[i]);
		if (computes)
			set_value(&outputs[i], &r->outputs[i]);
	}
	*run = (struct nna_engine_plugin_run){
		.size = sizeof(*run),
		.num_inputs = r->num_inputs,
		.num_outputs = r->num_outputs,
		.relaxed = r->relaxed,
		.inputs = inputs,
		.outputs = outputs,
		.state = r->state,
		.attributes = r->plan_attributes,
		.execution_attributes = r->attributes,
	};
	return NN_OK;
}

/*
 * Calls the plug-in to infer the outputs' shapes. The caller must merge the inferred shapes with
 * the shapes in the model.
 */
static enum nn_status op_infer(struct nn_run *r)
{
	struct nna_engine_plugin_run run;
	enum nn_status status = take_run(r, false, &run);

	if (!status)
		status = nna_engine_plugin_shape(operation_of(r->op), &run, r->err);
	for (uint32_t i = 0; i < r->num_outputs && !status; i++) {
		const struct nnx_operand *x = &run.outputs[i];
		struct nn_tensor *t = &r->outputs[i];

		t->rank = x->rank;
		memset(t->dims, 0, sizeof(t->dims));
		memcpy(t->dims, x->dims, x->rank * sizeof(t->dims[0]));
		t->scale = x->scale;
		t->zero_point = x->zero_point;
	}
	return status;
}

static enum nn_status op_execute(struct nn_run *r)
{
	struct nna_engine_plugin_run run;
	enum nn_status status = take_run(r, true, &run);

	return status ? status : nna_engine_plugin_execute(operation_of(r->op), &run, r->err);
}

static enum nn_status op_compile(const struct nn_op *op, const struct nn_model *model,
				 const struct nn_subgraph *s, const struct nn_operation *o,
				 const struct nn_attributes *attributes, void **state,
				 struct nn_error *err)
{
	const struct nna_engine_plugin_use use = {
		.size = sizeof(use), .model = model, .subgraph = s, .of = o, .attributes = attributes,
	};

	return nna_engine_plugin_compile(operation_of(op), &use, state, err);
}

static void op_release(const struct nn_op *op, void *state)
{
	nna_engine_plugin_release(operation_of(op), state);
}

/* ---- the table ---- */

static enum nn_status add(const struct nna_engine_plugin_operation *o, struct nn_error *err)
{
	const struct nnx_operation *descriptor = o->descriptor;
	struct plugin_op *p = malloc(sizeof(*p));
	enum nn_status status;

	if (!p)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	*p = (struct plugin_op){
		.op = {
			.code = o->type,
			.version = o->version,
			.name = descriptor->name,
			.zero_sized = descriptor->flags & NNX_ZERO_SIZED ? NN_ZERO_ALLOWED :
									   NN_ZERO_NONE,
			.omissible = descriptor->omissible_inputs,
			.omissible_outputs = descriptor->omissible_outputs,
			.determining = descriptor->value_inputs,
			.every_time = true,
			.check = op_check,
			.infer = op_infer,
			.execute = op_execute,
			.compile = descriptor->compile ? op_compile : NULL,
			.release = op_release,
		},
		.operation = o,
	};
	status = nn_op_register(&p->op, err);
	if (status)
		free(p);
	return status;
}

enum nn_status plugin_op_add_all(struct nn_error *err)
{
	static uint32_t added;
	const struct nna_engine_plugin_operation *o;
	enum nn_status status = NN_OK;

	while (!status && (o = nna_engine_plugin_operation_at(added))) {
		status = add(o, err);
		added += !status;
	}
	return status;
}

enum nna_engine_plugin plugin_op_load(const struct nna_engine *engine, const char *path,
				      struct nn_error *err)
{
	enum nna_engine_plugin result = nna_engine_plugin_load(engine, path, err);

	if (result == NNA_ENGINE_PLUGIN_LOADED && plugin_op_add_all(err))
		return NNA_ENGINE_PLUGIN_REFUSED;
	return result;
}
