// SPDX-License-Identifier: MIT
/*
 * Operations of plug-ins as operations of the table: each call becomes a call of
 * the plug-in's function, and what it says is checked.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/worker/plugin.h"
#include "ops/check.h"

_Static_assert(NNX_MAX_RANK == NN_MAX_RANK, "the ranks of plug-ins are ours");

/* A call of a plug-in, with what it may not see behind it. */
struct call {
	struct nnx_call public;
	struct nn_run memory;		/* for its blocks */
	struct nn_error reason;
	struct nna_engine_call guard;
};

static const struct plugin_op *plugin_of(const struct nn_op *op)
{
	return (const struct plugin_op *)op;
}

static void *call_alloc(struct nnx_call *call, size_t count, size_t size)
{
	return nn_run_alloc(&((struct call *)call)->memory, count, size);
}

static enum nnx_status call_fail(struct nnx_call *call, enum nnx_status status,
				 const char *format, ...)
{
	struct nn_error *reason = &((struct call *)call)->reason;
	char text[NN_MESSAGE_SIZE / 2];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* It goes into a line of the log and a message to the client. */
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	nn_fail(reason, NN_GENERAL_FAILURE, "%s", text);
	return status;
}

/* From its begin to its end a call has to do with the plug-in alone, all but. */
static void call_begin(struct call *c, const struct nnx_operation *operation,
		       const char *extension, const char *name)
{
	*c = (struct call){
		.public = {
			.size = sizeof(c->public),
			.operation = operation,
			.alloc = call_alloc,
			.fail = call_fail,
		},
	};
	nna_engine_call_begin(&c->guard, extension, name);
}

static bool call_make_operands(struct call *c, uint32_t num_inputs, uint32_t num_outputs)
{
	c->public.num_inputs = num_inputs;
	c->public.num_outputs = num_outputs;
	c->public.inputs = nn_run_alloc(&c->memory, num_inputs + 1, sizeof(struct nnx_operand));
	c->public.outputs = nn_run_alloc(&c->memory, num_outputs + 1, sizeof(struct nnx_operand));
	return c->public.inputs && c->public.outputs;
}

/* Of what a client gave, what is this extension's. */
static bool call_take_attributes(struct call *c, const char *extension,
				 const struct nn_attributes *from,
				 const struct nnx_attribute **list, uint32_t *count)
{
	struct nnx_attribute *mine;

	if (!from || !from->count)
		return true;
	mine = nn_run_alloc(&c->memory, from->count, sizeof(*mine));
	if (!mine)
		return false;
	for (uint32_t i = 0; i < from->count; i++) {
		const struct nn_attribute *a = &from->list[i];

		if (!strcmp(a->extension, extension))
			mine[(*count)++] = (struct nnx_attribute){ .code = a->code, .size = a->size,
								   .data = a->data };
	}
	*list = mine;
	return true;
}

/* What a plug-in returned, as one of the two that its function may fail with. */
static enum nn_status call_end(struct call *c, enum nnx_status result, enum nn_status failure,
			       struct nn_error *err)
{
	enum nn_status status = failure;

	nna_engine_call_end(&c->guard);
	nn_op_finish(&c->memory);
	if (result == NNX_OK)
		return NN_OK;
	if (result == NNX_OUT_OF_MEMORY)
		status = NN_OUT_OF_MEMORY;
	return nn_fail(err, status, "%s%s%s", c->public.operation ? c->public.operation->name : "",
		       c->public.operation ? ": " : "",
		       c->reason.message[0] ? c->reason.message : "it fails without a reason");
}

/* ---- operands ---- */

static void set_type(struct nnx_operand *x, int32_t type)
{
	const struct nn_extension *extension = nn_extension_at((uint32_t)type >> 16);
	const struct nn_type_info *info = nn_type_info(type);

	x->extension = extension ? extension->name : NULL;
	x->type = extension ? type & 0xffff : type;
	x->element_size = info ? info->element_size : 0;
	x->flags = info && info->is_tensor ? NNX_IS_TENSOR : 0;
}

static void set_data(struct nnx_operand *x, const struct nn_extra *extra)
{
	if (extra->kind != NN_EXTRA_EXTENSION)
		return;
	x->data = extra->bytes;
	x->data_size = extra->count;
}

/* As a model declares it, without its value. */
static struct nnx_operand from_operand(const struct nn_operand *o)
{
	struct nnx_operand x = { .rank = o->rank, .scale = o->scale,
				 .zero_point = o->zero_point };

	set_type(&x, o->type);
	set_data(&x, &o->extra);
	memcpy(x.dims, o->dims, sizeof(x.dims));
	if (o->lifetime == NN_NO_VALUE)
		x.flags |= NNX_OMITTED;
	if (o->lifetime == NN_CONSTANT_COPY || o->lifetime == NN_CONSTANT_REFERENCE)
		x.flags |= NNX_CONSTANT;
	return x;
}

static struct nnx_operand from_tensor(const struct nn_tensor *t)
{
	struct nnx_operand x = { .rank = t->rank, .scale = t->scale,
				 .zero_point = t->zero_point };

	set_type(&x, t->type);
	set_data(&x, t->extra);
	memcpy(x.dims, t->dims, sizeof(x.dims));
	if (t->omitted)
		x.flags |= NNX_OMITTED;
	return x;
}

static bool steers(const struct nnx_operation *descriptor, const struct nnx_operand *x,
		   uint32_t input)
{
	return !(x->flags & NNX_IS_TENSOR) ||
	       (input < 64 && descriptor->value_inputs & NN_IN(input));
}

enum nn_status plugin_check_data(const struct nnx_type *type, const struct nn_operand *operand,
				 struct nn_error *err)
{
	struct nnx_operand x = from_operand(operand);
	struct nn_error reason = { "" };
	enum nn_status status;
	struct call c;

	if (!type->check_data)
		return x.data_size ? nn_fail(err, NN_INVALID_ARGUMENT,
					     "%u bytes of extension data, the type has none",
					     x.data_size) : NN_OK;
	call_begin(&c, NULL, x.extension, type->name);
	status = call_end(&c, type->check_data(&c.public, &x), NN_INVALID_ARGUMENT, &reason);
	return status ? nn_fail(err, status, "extension data: %s", reason.message) : NN_OK;
}

enum nn_status plugin_check_attribute(const struct nnx_attribute_type *type,
				      const struct nn_attribute *attribute, struct nn_error *err)
{
	const struct nnx_attribute x = { .code = attribute->code, .size = attribute->size,
					 .data = attribute->data };
	struct call c;

	call_begin(&c, NULL, attribute->extension, type->name);
	return call_end(&c, type->check(&c.public, &x), NN_INVALID_ARGUMENT, err);
}

/* ---- the table's functions ---- */

static enum nn_status op_check(const struct nn_check *check)
{
	const struct nnx_operation *descriptor = plugin_of(check->op)->descriptor;
	const struct nn_operation *o = check->operation;
	struct nnx_operand *inputs;
	struct call c;

	call_begin(&c, descriptor, plugin_of(check->op)->extension, descriptor->name);
	if (!call_make_operands(&c, o->num_inputs, o->num_outputs))
		return call_end(&c, NNX_OUT_OF_MEMORY, NN_INVALID_ARGUMENT, check->err);
	inputs = (struct nnx_operand *)c.public.inputs;
	for (uint32_t i = 0; i < o->num_inputs; i++)
		inputs[i] = from_operand(&check->scope->operands[o->inputs[i]]);
	for (uint32_t i = 0; i < o->num_outputs; i++)
		c.public.outputs[i] = from_operand(&check->scope->operands[o->outputs[i]]);
	return call_end(&c, descriptor->check(&c.public), NN_INVALID_ARGUMENT, check->err);
}

/* Fills a call from a run; values of all inputs and outputs only where it `computes`. */
static bool call_take_run(struct call *c, struct nn_run *r, bool computes)
{
	const char *extension = plugin_of(r->op)->extension;
	struct nnx_operand *inputs;

	if (!call_make_operands(c, r->num_inputs, r->num_outputs) ||
	    !call_take_attributes(c, extension, r->plan_attributes, &c->public.attributes,
				  &c->public.num_attributes) ||
	    !call_take_attributes(c, extension, r->attributes, &c->public.execution_attributes,
				  &c->public.num_execution_attributes))
		return false;
	c->public.relaxed = r->relaxed;
	c->public.state = r->state;
	inputs = (struct nnx_operand *)c->public.inputs;
	for (uint32_t i = 0; i < r->num_inputs; i++) {
		inputs[i] = from_tensor(&r->inputs[i]);
		if (r->inputs[i].omitted ||
		    (!computes && !steers(c->public.operation, &inputs[i], i)))
			continue;
		inputs[i].value = r->inputs[i].data;
		inputs[i].value_size = nn_tensor_size(&r->inputs[i]);
	}
	for (uint32_t i = 0; i < r->num_outputs; i++) {
		struct nnx_operand *x = &c->public.outputs[i];

		*x = from_tensor(&r->outputs[i]);
		if (!computes || r->outputs[i].omitted)
			continue;
		x->value = r->outputs[i].data;
		x->value_size = nn_tensor_size(&r->outputs[i]);
	}
	return true;
}

/* Takes over the shapes that a plug-in found; merging with the model's is the caller's. */
static enum nn_status take_shapes(const struct call *c, struct nn_run *r)
{
	for (uint32_t i = 0; i < r->num_outputs; i++) {
		const struct nnx_operand *x = &c->public.outputs[i];
		const struct nn_type_info *info = nn_type_info(r->outputs[i].type);
		struct nn_tensor *t = &r->outputs[i];

		if (x->rank > NN_MAX_RANK || (info && !info->is_tensor && x->rank))
			return nn_run_fail(r, "output %u (%s) comes out with %u dimensions", i,
					   nn_type_name(t->type), x->rank);
		t->rank = x->rank;
		memset(t->dims, 0, sizeof(t->dims));
		memcpy(t->dims, x->dims, x->rank * sizeof(t->dims[0]));
		t->scale = x->scale;
		t->zero_point = x->zero_point;
	}
	return NN_OK;
}

static enum nn_status op_infer(struct nn_run *r)
{
	const struct nnx_operation *descriptor = plugin_of(r->op)->descriptor;
	enum nnx_status result = NNX_OUT_OF_MEMORY;
	enum nn_status status, shapes = NN_OK;
	struct call c;

	call_begin(&c, descriptor, plugin_of(r->op)->extension, descriptor->name);
	if (call_take_run(&c, r, false))
		result = descriptor->shape(&c.public);
	if (result == NNX_OK)
		shapes = take_shapes(&c, r);
	status = call_end(&c, result, NN_GENERAL_FAILURE, r->err);
	return status ? status : shapes;
}

static enum nn_status op_execute(struct nn_run *r)
{
	const struct nnx_operation *descriptor = plugin_of(r->op)->descriptor;
	enum nnx_status result = NNX_OUT_OF_MEMORY;
	struct call c;

	call_begin(&c, descriptor, plugin_of(r->op)->extension, descriptor->name);
	if (call_take_run(&c, r, true))
		result = descriptor->execute(&c.public);
	return call_end(&c, result, NN_GENERAL_FAILURE, r->err);
}

/* Copies of constants, which do not change while the call lasts. */
static bool set_constants(struct call *c, const struct nn_model *model,
			  const struct nn_subgraph *s, const struct nn_operation *o)
{
	struct nnx_operand *inputs = (struct nnx_operand *)c->public.inputs;

	for (uint32_t i = 0; i < o->num_inputs; i++) {
		const struct nn_operand *operand = &s->operands[o->inputs[i]];
		const void *value = nn_operand_value(model, operand);
		struct nnx_operand *x = &inputs[i];

		*x = from_operand(operand);
		if (!(x->flags & NNX_CONSTANT) || !value)
			continue;
		x->value_size = operand->location.length;
		x->value = nn_run_alloc(&c->memory, x->value_size ? x->value_size : 1, 1);
		if (!x->value)
			return false;
		memcpy(x->value, value, x->value_size);
	}
	return true;
}

static enum nn_status op_compile(const struct nn_op *op, const struct nn_model *model,
				 const struct nn_subgraph *s, const struct nn_operation *o,
				 const struct nn_attributes *attributes, void **state,
				 struct nn_error *err)
{
	const struct nnx_operation *descriptor = plugin_of(op)->descriptor;
	enum nnx_status result = NNX_OUT_OF_MEMORY;
	struct call c;

	call_begin(&c, descriptor, plugin_of(op)->extension, descriptor->name);
	c.public.relaxed = model->relaxed;
	if (call_make_operands(&c, o->num_inputs, o->num_outputs) &&
	    call_take_attributes(&c, plugin_of(op)->extension, attributes, &c.public.attributes,
				 &c.public.num_attributes) &&
	    set_constants(&c, model, s, o)) {
		for (uint32_t i = 0; i < o->num_outputs; i++)
			c.public.outputs[i] = from_operand(&s->operands[o->outputs[i]]);
		result = descriptor->compile(&c.public, state);
	}
	if (result != NNX_OK)
		*state = NULL;
	return call_end(&c, result, NN_INVALID_ARGUMENT, err);
}

static void op_release(const struct nn_op *op, void *state)
{
	struct nna_engine_call call;

	nna_engine_call_begin(&call, plugin_of(op)->extension, op->name);
	plugin_of(op)->descriptor->release(state);
	nna_engine_call_end(&call);
}

void plugin_op_init(struct plugin_op *op, const struct nnx_operation *descriptor,
		    const char *extension, int32_t code, uint64_t version)
{
	*op = (struct plugin_op){
		.op = {
			.code = code,
			.version = version,
			.name = descriptor->name,
			.zero_sized = descriptor->flags & NNX_ZERO_SIZED ? NN_ZERO_ALLOWED :
									   NN_ZERO_NONE,
			.omissible = descriptor->omissible_inputs,
			.omissible_outputs = descriptor->omissible_outputs,
			.steering = descriptor->value_inputs,
			.every_time = true,
			.check = op_check,
			.infer = op_infer,
			.execute = op_execute,
			.compile = descriptor->compile ? op_compile : NULL,
			.release = op_release,
		},
		.descriptor = descriptor,
		.extension = extension,
	};
}
