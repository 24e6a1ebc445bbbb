// SPDX-License-Identifier: MIT
/*
 * An engine that computes only the operations of plug-ins. Plug-ins are vendor extensions in shared
 * objects, in the folder that --extensions names. The engine is built against installed headers and
 * libnnaccel-engine.so only; Documentation/extensions.rst shows how to run the engine.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nnaccel/engine_plugins.h>

static void describe(const struct nna_engine *engine, struct nn_device_info *info)
{
	strcpy(info->version, "plugged-1");
	info->type = NN_DEVICE_OTHER;
	info->feature_level = 4;
}

/* ---- models ---- */

/*
 * Returns a plug-in's operation; NULL if no plug-in has the operation, or if the plug-in rejects
 * the operands.
 */
static const struct nna_engine_plugin_operation *find(const struct nn_model *model,
						      const struct nn_operation *of,
						      struct nn_error *err)
{
	const struct nna_engine_plugin_operation *found = nna_engine_plugin_operation_of(of->type);

	if (!found)
		nn_fail(err, NN_INVALID_ARGUMENT, "no plug-in has operation 0x%x",
			(unsigned int)of->type);
	else if (nna_engine_plugin_check(found, model->subgraphs[0].operands, of, err))
		found = NULL;
	return found;
}

static enum nn_status supported(const struct nna_engine *engine, const struct nn_model *model,
				bool *operations, struct nn_error *err)
{
	const struct nn_subgraph *main = &model->subgraphs[0];

	for (uint32_t i = 0; i < main->num_operations; i++) {
		struct nn_error reason = { "" };

		operations[i] = find(model, &main->operations[i], &reason);
	}
	return NN_OK;
}

struct step {
	const struct nna_engine_plugin_operation *operation;
	void *state;
};

struct prepared {
	const struct nn_model *model;
	const struct nn_attributes *attributes;
	struct step steps[];		/* of each operation */
};

static void release(const struct nna_engine *engine, void *prepared)
{
	struct prepared *p = prepared;

	for (uint32_t i = 0; i < p->model->subgraphs[0].num_operations; i++)
		if (p->steps[i].operation)
			nna_engine_plugin_release(p->steps[i].operation, p->steps[i].state);
	free(p);
}

static enum nn_status prepare(const struct nna_engine *engine, const struct nn_model *model,
			      const struct nna_engine_preparation *how, void **prepared,
			      struct nn_error *err)
{
	const struct nn_subgraph *main = &model->subgraphs[0];
	struct prepared *p = calloc(1, sizeof(*p) + main->num_operations * sizeof(*p->steps));
	enum nn_status status = NN_OK;

	if (!p)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	p->model = model;
	p->attributes = how->attributes;
	for (uint32_t i = 0; i < main->num_operations && !status; i++) {
		const struct nna_engine_plugin_use use = {
			.size = sizeof(use), .model = model, .subgraph = main,
			.of = &main->operations[i], .attributes = how->attributes,
		};

		p->steps[i].operation = find(model, use.of, err);
		status = !p->steps[i].operation ? NN_INVALID_ARGUMENT :
			 nna_engine_plugin_compile(p->steps[i].operation, &use, &p->steps[i].state,
						   err);
	}
	if (status)
		release(engine, p);
	else
		*prepared = p;
	return status;
}

/* ---- executions: each value has memory of its own while one lasts ---- */

struct run {
	const struct prepared *prepared;
	struct nn_execution *execution;
	struct nnx_operand *values;	/* of each operand */
	struct nnx_operand *arguments;	/* arguments of an operation: inputs, then outputs */
	struct nn_error *err;
};

/*
 * Allocates the memory of a value with a known shape, and copies `from` to this memory unless
 * `from` is NULL.
 */
static enum nn_status give_memory(struct run *r, struct nnx_operand *x, const void *from,
				  uint64_t size)
{
	x->value = size <= UINT32_MAX ? malloc(size + 1) : NULL;
	if (!x->value)
		return nn_fail(r->err, NN_OUT_OF_MEMORY, "out of memory");
	x->value_size = (uint32_t)size;
	if (from)
		memcpy(x->value, from, size);
	return NN_OK;
}

static uint64_t size_of(const struct nnx_operand *x)
{
	uint64_t size = x->element_size;

	for (uint32_t i = 0; i < x->rank && size <= UINT32_MAX; i++)
		size *= x->dims[i];
	return size;
}

static enum nn_status take_constant(struct run *r, uint32_t index)
{
	const struct nn_operand *o = &r->prepared->model->subgraphs[0].operands[index];
	const void *value = nn_operand_value(r->prepared->model, o);

	return value ? give_memory(r, &r->values[index], value, o->location.length) : NN_OK;
}

static enum nn_status take_input(struct run *r, uint32_t number)
{
	const struct nn_subgraph *main = &r->prepared->model->subgraphs[0];
	struct nn_operand known = main->operands[main->inputs[number]];
	struct nnx_operand *x = &r->values[main->inputs[number]];
	const struct nn_arg *arg = &r->execution->inputs[number];

	if (arg->omitted || !nn_operand_merge_dims(&known, arg->rank, arg->dims))
		return nn_fail(r->err, NN_INVALID_ARGUMENT, "input %u does not fit", number);
	x->rank = known.rank;
	memcpy(x->dims, known.dims, sizeof(x->dims));
	if (arg->length != size_of(x))
		return nn_fail(r->err, NN_INVALID_ARGUMENT, "input %u has another size", number);
	return give_memory(r, x, arg->data, arg->length);
}

static enum nn_status take_output_shapes(struct run *r, const struct nn_operation *of,
					 const struct nnx_operand *outputs)
{
	const struct nn_operand *operands = r->prepared->model->subgraphs[0].operands;
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; i < of->num_outputs && !status; i++) {
		struct nn_operand known = operands[of->outputs[i]];

		if (!nn_operand_merge_dims(&known, outputs[i].rank, outputs[i].dims))
			return nn_fail(r->err, NN_GENERAL_FAILURE,
				       "output %u is not of the shape that the model says", i);
		r->values[of->outputs[i]] = outputs[i];
		status = give_memory(r, &r->values[of->outputs[i]], NULL, size_of(&outputs[i]));
	}
	return status;
}

static enum nn_status compute(struct run *r, uint32_t index)
{
	const struct nn_operation *of = &r->prepared->model->subgraphs[0].operations[index];
	const struct step *step = &r->prepared->steps[index];
	struct nnx_operand *inputs = r->arguments, *outputs = inputs + of->num_inputs;
	const struct nna_engine_plugin_run run = {
		.size = sizeof(run),
		.num_inputs = of->num_inputs, .num_outputs = of->num_outputs,
		.inputs = inputs, .outputs = outputs,
		.relaxed = r->prepared->model->relaxed, .state = step->state,
		.attributes = r->prepared->attributes,
		.execution_attributes = r->execution->attributes,
	};
	enum nn_status status;

	for (uint32_t i = 0; i < of->num_inputs; i++) {
		inputs[i] = r->values[of->inputs[i]];
		if (!nna_engine_plugin_needs_value(step->operation, &inputs[i], i))
			inputs[i].value = NULL, inputs[i].value_size = 0;
	}
	for (uint32_t i = 0; i < of->num_outputs; i++)
		outputs[i] = r->values[of->outputs[i]];
	status = nna_engine_plugin_shape(step->operation, &run, r->err);
	if (!status)
		status = take_output_shapes(r, of, outputs);
	for (uint32_t i = 0; i < of->num_inputs; i++)
		inputs[i] = r->values[of->inputs[i]];
	for (uint32_t i = 0; i < of->num_outputs; i++)
		outputs[i] = r->values[of->outputs[i]];
	return status ? status : nna_engine_plugin_execute(step->operation, &run, r->err);
}

/* Copies the outputs. Reports all shapes, even if the memory of an output is too short. */
static enum nn_status give_outputs(struct run *r)
{
	const struct nn_subgraph *main = &r->prepared->model->subgraphs[0];
	struct nn_execution *e = r->execution;
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; i < main->num_outputs; i++) {
		const struct nnx_operand *x = &r->values[main->outputs[i]];
		bool fits = e->outputs[i].length >= x->value_size;

		if (e->outputs[i].omitted)
			return nn_fail(r->err, NN_INVALID_ARGUMENT, "output %u is omitted", i);
		if (e->shapes) {
			e->shapes[i] = (struct nn_output_shape){ .rank = x->rank,
								 .sufficient = fits };
			memcpy(e->shapes[i].dims, x->dims, sizeof(x->dims));
		}
		if (fits)
			memcpy(e->outputs[i].data, x->value, x->value_size);
		else
			status = nn_fail(r->err, NN_OUTPUT_INSUFFICIENT_SIZE,
					 "output %u is too small", i);
	}
	e->shapes_known = e->shapes;
	return status;
}

static bool is_late(const struct nn_execution *e)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return e->deadline_ns &&
	       (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec >= e->deadline_ns;
}

static enum nn_status run_all(struct run *r)
{
	const struct nn_subgraph *main = &r->prepared->model->subgraphs[0];
	enum nn_status status = NN_OK;

	if (r->execution->num_inputs != main->num_inputs ||
	    r->execution->num_outputs != main->num_outputs)
		return nn_fail(r->err, NN_INVALID_ARGUMENT, "wrong number of arguments");
	for (uint32_t i = 0; i < main->num_operands && !status; i++) {
		nna_engine_plugin_operand(&main->operands[i], &r->values[i]);
		status = take_constant(r, i);
	}
	for (uint32_t i = 0; i < main->num_inputs && !status; i++)
		status = take_input(r, i);
	for (uint32_t i = 0; i < main->num_operations && !status; i++)
		status = is_late(r->execution) ?
			 nn_fail(r->err, i ? NN_MISSED_DEADLINE_TRANSIENT :
				 NN_MISSED_DEADLINE_PERSISTENT, "the deadline has passed") :
			 compute(r, i);
	return status ? status : give_outputs(r);
}

static enum nn_status execute(const struct nna_engine *engine, void *prepared,
			      struct nna_engine_execution *execution,
			      struct nn_execution *arguments, struct nn_error *err)
{
	struct run r = { .prepared = prepared, .execution = arguments, .err = err };
	const struct nn_subgraph *main = &r.prepared->model->subgraphs[0];
	uint32_t most = 0;
	enum nn_status status;

	for (uint32_t i = 0; i < main->num_operations; i++) {
		uint32_t count = main->operations[i].num_inputs + main->operations[i].num_outputs;

		most = count > most ? count : most;
	}
	r.values = calloc(main->num_operands + 1, sizeof(*r.values));
	r.arguments = calloc(most + 1, sizeof(*r.arguments));
	if (r.values && r.arguments)
		status = run_all(&r);
	else
		status = nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	for (uint32_t i = 0; r.values && i < main->num_operands; i++)
		free(r.values[i].value);
	free(r.values);
	free(r.arguments);
	return status;
}

int main(int argc, char **argv)
{
	const struct nna_engine engine = {
		.size = sizeof(engine), .name = "plugged-engine",
		.clients = NNA_ENGINE_CLIENTS_PROCESSES,
		.describe = describe, .supported = supported, .prepare = prepare,
		.release = release, .execute = execute, .load_plugin = nna_engine_plugin_load,
	};

	return nna_engine_main(&engine, argc, argv);
}
