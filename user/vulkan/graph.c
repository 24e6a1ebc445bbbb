// SPDX-License-Identifier: MIT
/*
 * Makes a graph from a model's operations. The shape rules of the reference kernels compute the
 * shapes, and the functions in the table of operations make the dispatches.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/float16.h"
#include "vulkan/lower.h"

/* ---- What the functions of the table call ---- */

enum nn_status lower_refuse(const struct lower *l, const char *format, ...)
{
	char text[NN_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return nn_fail(l->run.err, NN_INVALID_ARGUMENT, "%s: %s", nn_op_name(l->operation->type),
		       text);
}

static uint32_t type_in_memory(int32_t type)
{
	switch (type) {
	case NN_TENSOR_FLOAT16:
	case NN_FLOAT16:
		return TYPE_F16;
	case NN_TENSOR_INT32:
		return TYPE_I32;
	case NN_TENSOR_QUANT8_ASYMM:
	case NN_TENSOR_BOOL8:
		return TYPE_U8;
	case NN_TENSOR_QUANT8_ASYMM_SIGNED:
	case NN_TENSOR_QUANT8_SYMM:
	case NN_TENSOR_QUANT8_SYMM_PER_CHANNEL:
		return TYPE_I8;
	default:
		return TYPE_F32;
	}
}

static const struct nn_operand *operand_of(const struct lower *l, bool is_output, uint32_t i)
{
	return &l->graph->model->subgraphs[0].operands[is_output ? l->operation->outputs[i] :
								   l->operation->inputs[i]];
}

uint32_t lower_input_type(const struct lower *l, uint32_t input)
{
	return type_in_memory(operand_of(l, false, input)->type);
}

uint32_t lower_output_type(const struct lower *l, uint32_t output)
{
	return type_in_memory(operand_of(l, true, output)->type);
}

/* Enlarges an array for one more element, if necessary; the array's capacity is a power of two. */
static void *grown(void *list, uint32_t count, size_t size)
{
	if (count & (count - 1))
		return list;
	return reallocarray(list, count ? 2 * (size_t)count : 1, size);
}

static uint32_t add_value(struct lower *l, const struct value *value)
{
	struct graph *g = l->graph;
	struct value *list = grown(g->values, g->num_values, sizeof(*list));

	if (!list) {
		l->out_of_memory = true;
		return NO_VALUE;
	}
	g->values = list;
	list[g->num_values] = *value;
	return g->num_values++;
}

static uint32_t value_of(struct lower *l, uint32_t operand)
{
	struct graph *g = l->graph;
	const struct nn_operand *o = &g->model->subgraphs[0].operands[operand];
	struct value value = { .data = nn_operand_value(g->model, o) };
	uint32_t size;

	if (g->operand_values[operand] != NO_VALUE)
		return g->operand_values[operand];
	nn_operand_size(o, &size);
	value.size = size;
	value.element = nn_type_info_of(o->type)->element_size;
	value.is_input = o->lifetime == NN_SUBGRAPH_INPUT;
	value.is_output = o->lifetime == NN_SUBGRAPH_OUTPUT;
	g->operand_values[operand] = add_value(l, &value);
	return g->operand_values[operand];
}

uint32_t lower_input(struct lower *l, uint32_t input)
{
	return value_of(l, l->operation->inputs[input]);
}

uint32_t lower_output(struct lower *l, uint32_t output)
{
	return value_of(l, l->operation->outputs[output]);
}

uint32_t lower_constant(struct lower *l, void *data, uint64_t size, uint32_t element)
{
	const struct value value = { .size = size, .element = element, .data = data, .owned = data };
	uint32_t added = data ? add_value(l, &value) : NO_VALUE;

	if (added == NO_VALUE) {
		l->out_of_memory = true;
		free(data);
	}
	return added;
}

uint32_t lower_temporary(struct lower *l, uint64_t size, uint32_t element)
{
	return add_value(l, &(struct value){ .size = size, .element = element });
}

struct dispatch lower_groups(const struct lower *l, enum shader shader, uint64_t count)
{
	/* A dispatch may have at most 65535 work groups along each dimension. */
	const uint32_t x = count < GROUPS_X ? (uint32_t)count : GROUPS_X;
	struct dispatch d = { .shader = shader, .operation = l->index, .cost = count };

	d.groups[0] = x;
	d.groups[1] = (uint32_t)((count + x - 1) / x);
	d.groups[2] = 1;
	for (uint32_t i = 0; i < TENSORS; i++)
		d.tensors[i] = NO_VALUE;
	return d;
}

struct dispatch lower_linear(const struct lower *l, enum shader shader, uint64_t count)
{
	struct dispatch d = lower_groups(l, shader, (count + GROUP_SIZE - 1) / GROUP_SIZE);

	d.cost = count;
	return d;
}

enum nn_status lower_add(struct lower *l, const struct dispatch *d)
{
	struct graph *g = l->graph;
	struct dispatch *list = l->out_of_memory ? NULL :
				grown(g->dispatches, g->num_dispatches, sizeof(*list));

	if (!list)
		return nn_fail(l->run.err, NN_OUT_OF_MEMORY, "out of memory");
	g->dispatches = list;
	if (d->groups[0] > 65535 || d->groups[1] > 65535 || d->groups[2] > 65535)
		return lower_refuse(l, "needs more than 65535 work groups");
	list[g->num_dispatches++] = *d;
	return NN_OK;
}

struct strides lower_strides(const struct nn_image *i, bool nchw)
{
	return (struct strides){ i->h * i->w * i->c, nchw ? 1 : i->c, nchw ? i->h * i->w : 1 };
}

/* ---- Tables by the reference ---- */

/* Makes a tensor of rank `rank` that has the 256 values of a byte along `axis`. */
static struct nn_tensor all_bytes(const struct nn_tensor *like, uint32_t rank, uint32_t axis,
				  const uint8_t *bytes)
{
	struct nn_tensor t = *like;

	memset(t.dims, 0, sizeof(t.dims));
	t.rank = rank;
	for (uint32_t i = 0; i < rank; i++)
		t.dims[i] = i == axis ? 256 : 1;
	t.data = (void *)bytes;
	return t;
}

void *lower_table(struct lower *l, const struct nn_tensor *inputs, uint32_t num_inputs,
		  uint32_t arity)
{
	struct nn_tensor in[8], out = l->run.outputs[0];
	struct nn_run run = l->run;
	uint8_t bytes[256];

	for (uint32_t i = 0; i < 256; i++)
		bytes[i] = (uint8_t)i;
	memcpy(in, inputs, num_inputs * sizeof(*in));
	for (uint32_t i = 0; i < arity; i++)
		in[i] = all_bytes(&inputs[i], arity, i, bytes);
	run.inputs = in;
	run.num_inputs = num_inputs;
	run.outputs = &out;
	run.scratch = NULL;
	out.data = NULL;
	if (run.op->infer(&run) == NN_OK)
		out.data = calloc(nn_tensor_count(&out), nn_type_info_of(out.type)->element_size);
	if (out.data && run.op->execute(&run)) {
		free(out.data);
		out.data = NULL;
	}
	nn_op_finish(&run);
	return out.data;
}

/* ---- Running the shape rule ---- */

/*
 * Copies the value of a scalar, or of a tensor whose values determine a shape, because other
 * processes may change the value in shared memory.
 */
static enum nn_status copy_value(struct lower *l, uint32_t i, struct nn_tensor *t)
{
	const struct nn_operand *o = operand_of(l, false, i);
	const void *value = nn_operand_value(l->graph->model, o);
	uint32_t size;

	if (!value)
		return lower_refuse(l, "input %u determines shapes or indices and must be a "
				    "constant", i);
	nn_operand_size(o, &size);
	t->data = calloc(1, size + sizeof(float));
	if (!t->data)
		return nn_fail(l->run.err, NN_OUT_OF_MEMORY, "out of memory");
	memcpy(t->data, value, size);
	if (o->type == NN_FLOAT16 && l->run.op->float16_as_float32) {
		float wide = nn_fp16_to_float(*(const uint16_t *)t->data);

		memcpy(t->data, &wide, sizeof(wide));
	}
	return NN_OK;
}

static struct nn_tensor tensor_of(const struct graph *g, uint32_t operand)
{
	const struct nn_operand *o = &g->model->subgraphs[0].operands[operand];
	struct nn_tensor t = {
		.type = o->type, .rank = o->rank, .scale = o->scale, .zero_point = o->zero_point,
		.extra = &o->extra, .omitted = o->lifetime == NN_NO_VALUE,
		.is_model_output = o->lifetime == NN_SUBGRAPH_OUTPUT,
	};

	memcpy(t.dims, o->dims, sizeof(t.dims));
	return g->tensors[operand].extra ? g->tensors[operand] : t;
}

static void widen(const struct lower *l, struct nn_tensor *t)
{
	if (!l->run.op->float16_as_float32)
		return;
	if (t->type == NN_TENSOR_FLOAT16)
		t->type = NN_TENSOR_FLOAT32;
	else if (t->type == NN_FLOAT16)
		t->type = NN_FLOAT32;
}

static enum nn_status take_inputs(struct lower *l, struct nn_tensor *inputs)
{
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; !status && i < l->operation->num_inputs; i++) {
		const struct nn_operand *o = operand_of(l, false, i);
		const struct nn_type_info *info = nn_type_info_of(o->type);

		inputs[i] = tensor_of(l->graph, l->operation->inputs[i]);
		if (inputs[i].omitted)
			continue;
		if (!info || !info->element_size)
			status = lower_refuse(l, "input %u has a type that is not supported", i);
		else if (!nn_operand_is_specified(o))
			status = lower_refuse(l, "input %u has no fixed shape", i);
		else if (!info->is_tensor || (nn_has_input(l->run.op->determining, i) &&
					      l->operation->type != NN_OP_GATHER &&
					      l->operation->type != NN_OP_EMBEDDING_LOOKUP))
			status = copy_value(l, i, &inputs[i]);
		widen(l, &inputs[i]);
	}
	return status;
}

static enum nn_status take_outputs(struct lower *l, struct nn_tensor *outputs)
{
	for (uint32_t i = 0; i < l->operation->num_outputs; i++) {
		const struct nn_operand *o = operand_of(l, true, i);

		outputs[i] = tensor_of(l->graph, l->operation->outputs[i]);
		if (!nn_operand_is_specified(o))
			return lower_refuse(l, "output %u has no fixed shape", i);
		widen(l, &outputs[i]);
	}
	return NN_OK;
}

static enum nn_status infer_and_lower(struct lower *l, const struct vulkan_op *row,
				      struct nn_tensor *inputs, struct nn_tensor *outputs)
{
	enum nn_status status = take_inputs(l, inputs);

	if (!status)
		status = take_outputs(l, outputs);
	if (!status && nn_op_infer(&l->run))
		status = NN_INVALID_ARGUMENT;
	nn_op_finish(&l->run);
	for (uint32_t i = 0; !status && i < l->operation->num_outputs; i++)
		if (!nn_tensor_count(&outputs[i]))
			status = lower_refuse(l, "output %u has no elements", i);
	if (!status)
		status = row->lower(l);
	nn_op_finish(&l->run);
	for (uint32_t i = 0; !status && i < l->operation->num_outputs; i++) {
		outputs[i].type = operand_of(l, true, i)->type;
		outputs[i].data = NULL;
		l->graph->tensors[l->operation->outputs[i]] = outputs[i];
	}
	return status;
}

static bool has_type(const struct vulkan_op *row, int32_t type)
{
	return type >= 0 && type < NN_TYPE_COUNT && row->types & NN_T(type);
}

static enum nn_status lower_operation(struct graph *g, uint32_t index, struct nn_error *err)
{
	const struct nn_operation *operation = &g->model->subgraphs[0].operations[index];
	const struct vulkan_op *row = vulkan_op_find(operation->type);
	struct nn_tensor *tensors = calloc(operation->num_inputs + operation->num_outputs + 1,
					   sizeof(*tensors));
	struct lower l = {
		.graph = g, .operation = operation, .index = index,
		.run = { .op = nn_op_find(operation->type), .num_inputs = operation->num_inputs,
			 .num_outputs = operation->num_outputs, .inputs = tensors,
			 .outputs = tensors + operation->num_inputs, .relaxed = g->model->relaxed,
			 .err = err },
	};
	enum nn_status status;

	if (!tensors)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	if (!row || !l.run.op) {
		status = lower_refuse(&l, "not supported");
	} else if (!has_type(row, operand_of(&l, false, row->subject)->type)) {
		status = lower_refuse(&l, "not supported for %s",
				      nn_type_name(operand_of(&l, false, row->subject)->type));
	} else {
		l.argument = row->argument;
		status = infer_and_lower(&l, row, tensors, l.run.outputs);
	}
	for (uint32_t i = 0; i < operation->num_inputs; i++)
		free(tensors[i].data);
	free(tensors);
	return status;
}

/* ---- Graphs ---- */

static enum nn_status begin(const struct nn_model *model, struct graph *g, struct nn_error *err)
{
	const uint32_t count = model->subgraphs[0].num_operands;

	*g = (struct graph){ .model = model };
	g->tensors = calloc(count + 1, sizeof(*g->tensors));
	g->operand_values = malloc((count + 1) * sizeof(*g->operand_values));
	if (!g->tensors || !g->operand_values)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	for (uint32_t i = 0; i < count; i++)
		g->operand_values[i] = NO_VALUE;
	return NN_OK;
}

void graph_destroy(struct graph *g)
{
	for (uint32_t i = 0; i < g->num_values; i++)
		free(g->values[i].owned);
	free(g->tensors);
	free(g->operand_values);
	free(g->values);
	free(g->dispatches);
	free(g->checks);
	memset(g, 0, sizeof(*g));
}

enum nn_status graph_supported(const struct nn_model *model, const VkPhysicalDeviceLimits *limits,
			       bool *supported,
			       void (*refused)(uint32_t operation, const char *reason),
			       struct nn_error *err)
{
	const struct nn_subgraph *main = &model->subgraphs[0];
	struct graph g;
	enum nn_status status = begin(model, &g, err);

	for (uint32_t i = 0; !status && i < main->num_operations; i++) {
		struct nn_error why = { "" };

		supported[i] = !lower_operation(&g, i, &why);
		for (uint32_t k = 0; supported[i] && k < g.num_values; k++)
			if (g.values[k].size > limits->maxStorageBufferRange / 2) {
				supported[i] = false;
				nn_fail(&why, NN_INVALID_ARGUMENT,
					"%s: a tensor has %llu bytes, must have at most %u",
					nn_op_name(main->operations[i].type),
					(unsigned long long)g.values[k].size,
					limits->maxStorageBufferRange / 2);
			}
		if (!supported[i])
			refused(i, why.message);
	}
	graph_destroy(&g);
	return status;
}

/* Makes values for the model's arguments, even for arguments that no operation uses. */
static enum nn_status take_arguments(struct graph *g, struct nn_error *err)
{
	const struct nn_subgraph *main = &g->model->subgraphs[0];
	struct lower l = { .graph = g };

	for (uint32_t i = 0; i < main->num_inputs + main->num_outputs; i++) {
		uint32_t operand = i < main->num_inputs ? main->inputs[i] :
				   main->outputs[i - main->num_inputs];
		const struct nn_operand *o = &main->operands[operand];

		if (!nn_operand_is_specified(o) || !nn_type_info_of(o->type)->element_size)
			return nn_fail(err, NN_INVALID_ARGUMENT, "operand %u has no fixed shape",
				       operand);
		value_of(&l, operand);
	}
	return l.out_of_memory ? nn_fail(err, NN_OUT_OF_MEMORY, "out of memory") : NN_OK;
}

enum nn_status graph_create(const struct nn_model *model, const VkPhysicalDeviceLimits *limits,
			    struct graph *g, struct nn_error *err)
{
	const struct nn_subgraph *main = &model->subgraphs[0];
	enum nn_status status = begin(model, g, err);

	if (!status)
		status = take_arguments(g, err);
	for (uint32_t i = 0; !status && i < main->num_operations; i++)
		status = lower_operation(g, i, err);
	if (!status) {
		fuse(g);
		status = arena_plan(g, limits->minUniformBufferOffsetAlignment, err);
	}
	if (!status && g->size > limits->maxStorageBufferRange)
		status = nn_fail(err, NN_INVALID_ARGUMENT,
				 "the model takes %llu bytes of the GPU, a buffer has at most %u",
				 (unsigned long long)g->size, limits->maxStorageBufferRange);
	if (status)
		graph_destroy(g);
	return status;
}
