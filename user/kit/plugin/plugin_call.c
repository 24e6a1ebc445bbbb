// SPDX-License-Identifier: MIT
/*
 * Calls the functions of plug-ins: prepares the arguments, provides services to the called
 * functions, and checks the results.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "kit/plugin/plugin.h"
#include "model/extension.h"
#include "model/operand.h"

_Static_assert(NNX_MAX_RANK == NN_MAX_RANK, "the ranks of plug-ins are ours");

/*
 * A block of memory that a plug-in allocated; call_end() frees the block. A header of ALIGN bytes
 * precedes the memory of a block.
 */
struct block {
	struct block *next;
};

#define ALIGN 64

/*
 * A call of a plug-in's function. The plug-in gets a pointer to the first field, `public`, and must
 * not access the other fields.
 */
struct call {
	struct nnx_call public;
	struct block *blocks;
	struct nn_error reason;
	struct nna_engine_call guard;
};

/* ---- services for plug-ins ---- */

static void *call_alloc(struct nnx_call *public, size_t count, size_t size)
{
	struct call *call = (struct call *)public;
	struct block *block;
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + 2 * ALIGN - 1) / ALIGN * ALIGN;
	block = aligned_alloc(ALIGN, bytes);
	if (!block)
		return NULL;
	memset(block, 0, bytes);
	block->next = call->blocks;
	call->blocks = block;
	return (char *)block + ALIGN;
}

static enum nnx_status call_fail(struct nnx_call *call, enum nnx_status status,
				 const char *format, ...)
{
	struct nn_error *reason = &((struct call *)call)->reason;
	char text[NN_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	nn_fail(reason, NN_GENERAL_FAILURE, "%s", text);
	return status;
}

/* ---- a call ---- */

/* Begins a call, whose time limit runs until call_end(). */
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

static void call_begin_of(struct call *c, const struct nna_engine_plugin_operation *o)
{
	call_begin(c, o->descriptor, o->extension, o->descriptor->name);
}

/*
 * Ends a call. Converts the result of the plug-in's function to NN_OK, NN_OUT_OF_MEMORY or
 * `failure`.
 */
static enum nn_status call_end(struct call *c, enum nnx_status result, enum nn_status failure,
			       struct nn_error *err)
{
	enum nn_status status = failure;

	nna_engine_call_end(&c->guard);
	while (c->blocks) {
		struct block *block = c->blocks;

		c->blocks = block->next;
		free(block);
	}
	if (result == NNX_OK)
		return NN_OK;
	if (result == NNX_OUT_OF_MEMORY)
		status = NN_OUT_OF_MEMORY;
	return nn_fail(err, status, "%s%s%s", c->public.operation ? c->public.operation->name : "",
		       c->public.operation ? ": " : "",
		       c->reason.message[0] ? c->reason.message : "it failed without a message");
}

/* Selects the client's attributes that belong to `extension`, and passes them to the plug-in. */
static bool call_take_attributes(struct call *c, const char *extension,
				 const struct nn_attributes *from,
				 const struct nnx_attribute **list, uint32_t *count)
{
	struct nnx_attribute *mine;

	if (!from || !from->count)
		return true;
	mine = call_alloc(&c->public, from->count, sizeof(*mine));
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

/* Passes to the plug-in an operation's operands, as the model declares the operands. */
static bool call_declare(struct call *c, const struct nn_operand *operands,
			 const struct nn_operation *o)
{
	struct nnx_operand *inputs = call_alloc(&c->public, o->num_inputs + 1, sizeof(*inputs));
	struct nnx_operand *outputs = call_alloc(&c->public, o->num_outputs + 1, sizeof(*outputs));

	if (!inputs || !outputs)
		return false;
	for (uint32_t i = 0; i < o->num_inputs; i++)
		nna_engine_plugin_operand(&operands[o->inputs[i]], &inputs[i]);
	for (uint32_t i = 0; i < o->num_outputs; i++)
		nna_engine_plugin_operand(&operands[o->outputs[i]], &outputs[i]);
	c->public.num_inputs = o->num_inputs;
	c->public.num_outputs = o->num_outputs;
	c->public.inputs = inputs;
	c->public.outputs = outputs;
	return true;
}

/* ---- operands ---- */

void nna_engine_plugin_operand(const struct nn_operand *from, struct nnx_operand *to)
{
	const struct nn_extension *extension = nn_extension_at((uint32_t)from->type >> 16);
	const struct nn_type_info *info = nn_type_info_of(from->type);

	*to = (struct nnx_operand){
		.extension = extension ? extension->name : NULL,
		.type = extension ? from->type & 0xffff : from->type,
		.flags = info && info->is_tensor ? NNX_IS_TENSOR : 0,
		.element_size = info ? info->element_size : 0,
		.rank = from->rank,
		.scale = from->scale,
		.zero_point = from->zero_point,
	};
	memcpy(to->dims, from->dims, sizeof(to->dims));
	if (from->extra.kind == NN_EXTRA_EXTENSION) {
		to->data = from->extra.bytes;
		to->data_size = from->extra.count;
	}
	if (from->lifetime == NN_NO_VALUE)
		to->flags |= NNX_OMITTED;
	if (nn_operand_is_constant(from))
		to->flags |= NNX_CONSTANT;
}

bool nna_engine_plugin_needs_value(const struct nna_engine_plugin_operation *operation,
				   const struct nnx_operand *operand, uint32_t input)
{
	return !(operand->flags & NNX_IS_TENSOR) ||
	       (input < 64 && operation->descriptor->value_inputs & UINT64_C(1) << input);
}

static const char *type_name(const struct nnx_operand *x)
{
	uint32_t prefix = x->extension ? nn_extension_prefix(x->extension) : 0;

	return nn_type_name((int32_t)(prefix << 16 | (uint32_t)x->type));
}

/* ---- checks ---- */

enum nn_status plugin_check_data(const struct nnx_type *type, const struct nn_operand *operand,
				 struct nn_error *err)
{
	struct nn_error reason = { "" };
	enum nn_status status;
	struct nnx_operand x;
	struct call c;

	nna_engine_plugin_operand(operand, &x);
	if (!type->check_data)
		return x.data_size ? nn_fail(err, NN_INVALID_ARGUMENT,
					     "%u bytes of extension data, must be 0",
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

enum nn_status nna_engine_plugin_check(const struct nna_engine_plugin_operation *operation,
				       const struct nn_operand *operands,
				       const struct nn_operation *of, struct nn_error *err)
{
	enum nnx_status result = NNX_OUT_OF_MEMORY;
	struct call c;

	call_begin_of(&c, operation);
	if (call_declare(&c, operands, of))
		result = operation->descriptor->check(&c.public);
	return call_end(&c, result, NN_INVALID_ARGUMENT, err);
}

/* ---- compiling ---- */

/*
 * Copies the constants of an operation, so that the client cannot change the constants during the
 * plug-in's call.
 */
static bool set_constants(struct call *c, const struct nn_model *model,
			  const struct nn_subgraph *s, const struct nn_operation *o)
{
	struct nnx_operand *inputs = (struct nnx_operand *)c->public.inputs;

	for (uint32_t i = 0; i < o->num_inputs; i++) {
		const struct nn_operand *operand = &s->operands[o->inputs[i]];
		const void *value = nn_operand_value(model, operand);
		struct nnx_operand *x = &inputs[i];

		if (!(x->flags & NNX_CONSTANT) || !value)
			continue;
		x->value_size = operand->location.length;
		x->value = call_alloc(&c->public, x->value_size ? x->value_size : 1, 1);
		if (!x->value)
			return false;
		memcpy(x->value, value, x->value_size);
	}
	return true;
}

enum nn_status nna_engine_plugin_compile(const struct nna_engine_plugin_operation *operation,
					 const struct nna_engine_plugin_use *use, void **state,
					 struct nn_error *err)
{
	enum nnx_status result = NNX_OUT_OF_MEMORY;
	struct call c;

	*state = NULL;
	if (!HAS_FIELD(use, attributes))
		return nn_fail(err, NN_INVALID_ARGUMENT,
			       "struct nna_engine_plugin_use has a wrong size %u", use->size);
	if (!operation->descriptor->compile)
		return NN_OK;
	call_begin_of(&c, operation);
	c.public.relaxed = use->model->relaxed;
	if (call_declare(&c, use->subgraph->operands, use->of) &&
	    call_take_attributes(&c, operation->extension, use->attributes, &c.public.attributes,
				 &c.public.num_attributes) &&
	    set_constants(&c, use->model, use->subgraph, use->of))
		result = operation->descriptor->compile(&c.public, state);
	if (result != NNX_OK)
		*state = NULL;
	return call_end(&c, result, NN_INVALID_ARGUMENT, err);
}

void nna_engine_plugin_release(const struct nna_engine_plugin_operation *operation, void *state)
{
	struct nna_engine_call call;

	if (!operation->descriptor->release || !state)
		return;
	nna_engine_call_begin(&call, operation->extension, operation->descriptor->name);
	operation->descriptor->release(state);
	nna_engine_call_end(&call);
}

/* ---- running ---- */

static enum nn_status check_run(const struct nna_engine_plugin_run *run, struct nn_error *err)
{
	if (HAS_FIELD(run, execution_attributes))
		return NN_OK;
	return nn_fail(err, NN_INVALID_ARGUMENT, "a struct nna_engine_plugin_run of %u bytes: set its "
		       "size to sizeof the structure", run->size);
}

static bool call_take_run(struct call *c, const struct nna_engine_plugin_operation *operation,
			  const struct nna_engine_plugin_run *run)
{
	c->public.relaxed = run->relaxed;
	c->public.num_inputs = run->num_inputs;
	c->public.num_outputs = run->num_outputs;
	c->public.inputs = run->inputs;
	c->public.outputs = run->outputs;
	c->public.state = run->state;
	return call_take_attributes(c, operation->extension, run->attributes,
				    &c->public.attributes, &c->public.num_attributes) &&
	       call_take_attributes(c, operation->extension, run->execution_attributes,
				    &c->public.execution_attributes,
				    &c->public.num_execution_attributes);
}

static enum nn_status check_ranks(const struct nna_engine_plugin_operation *operation,
				  const struct nna_engine_plugin_run *run, struct nn_error *err)
{
	for (uint32_t i = 0; i < run->num_outputs; i++) {
		const struct nnx_operand *x = &run->outputs[i];

		if (x->rank > (x->flags & NNX_IS_TENSOR ? NN_MAX_RANK : 0))
			return nn_fail(err, NN_GENERAL_FAILURE,
				       "%s: output %u (%s) has too many dimensions: %u",
				       operation->descriptor->name, i, type_name(x), x->rank);
	}
	return NN_OK;
}

enum nn_status nna_engine_plugin_shape(const struct nna_engine_plugin_operation *operation,
				       const struct nna_engine_plugin_run *run,
				       struct nn_error *err)
{
	enum nnx_status result = NNX_OUT_OF_MEMORY;
	enum nn_status status = check_run(run, err);
	struct call c;

	if (status)
		return status;
	call_begin_of(&c, operation);
	if (call_take_run(&c, operation, run))
		result = operation->descriptor->shape(&c.public);
	status = call_end(&c, result, NN_GENERAL_FAILURE, err);
	return status ? status : check_ranks(operation, run, err);
}

enum nn_status nna_engine_plugin_execute(const struct nna_engine_plugin_operation *operation,
					 const struct nna_engine_plugin_run *run,
					 struct nn_error *err)
{
	enum nnx_status result = NNX_OUT_OF_MEMORY;
	struct call c;

	if (check_run(run, err))
		return NN_INVALID_ARGUMENT;
	call_begin_of(&c, operation);
	if (call_take_run(&c, operation, run))
		result = operation->descriptor->execute(&c.public);
	return call_end(&c, result, NN_GENERAL_FAILURE, err);
}
