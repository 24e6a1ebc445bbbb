// SPDX-License-Identifier: MIT
/*
 * Translates operations that compute each element by itself. For an operation on 8-bit values, the
 * reference kernel computes a table of 256 results.
 */
#include <math.h>
#include <string.h>

#include "ops/broadcast.h"
#include "ops/quant.h"
#include "ops/traits.h"
#include "vulkan/lower.h"

static bool is_bytes(int32_t type)
{
	return (NN_QUANT8 | NN_T(NN_TENSOR_BOOL8)) & NN_T(type);
}

/*
 * Begins a dispatch for all elements of the output. Tensors 0 and 1 of the dispatch are the
 * operation's inputs (one or two), broadcast to the output.
 */
static struct dispatch begin(struct lower *l, enum shader shader, uint32_t num_inputs)
{
	struct dispatch d = lower_linear(l, shader, nn_tensor_count(&l->run.outputs[0]));
	struct elementwise_params *p = &d.params.elementwise;

	p->count = nn_tensor_count(&l->run.outputs[0]);
	p->num_operands = num_inputs - 1;
	d.tensors[0] = lower_input(l, 0);
	d.tensors[OUTPUT] = lower_output(l, 0);
	if (num_inputs == 1) {
		p->rank = 1;
		p->dims[0] = p->count;
		p->moves[0] = 1;
	} else {
		struct nn_broadcast_axes axes;

		nn_broadcast_axes(&l->run, &axes);
		p->rank = axes.count;
		d.tensors[1] = lower_input(l, 1);
		for (uint32_t i = 0; i < axes.count && i < MAX_AXES; i++) {
			p->dims[i] = (uint32_t)axes.dims[i];
			p->moves[i] = (uint32_t)axes.steps_a[i];
			p->moves[MAX_AXES + i] = (uint32_t)axes.steps_b[i];
		}
	}
	return d;
}

static void add_step(struct dispatch *d, uint32_t step, uint32_t operand, float x, float y)
{
	struct elementwise_params *p = &d->params.elementwise;

	p->steps[p->num_steps] = step;
	p->operands[p->num_steps] = operand;
	p->x[p->num_steps] = x;
	p->y[p->num_steps++] = y;
}

static enum nn_status add(struct lower *l, const struct dispatch *d)
{
	if (d->params.elementwise.rank > MAX_AXES)
		return lower_refuse(l, "more than %d axes", MAX_AXES);
	return lower_add(l, d);
}

static enum nn_status lower_bytes(struct lower *l, uint32_t arity)
{
	const struct nn_tensor *out = &l->run.outputs[0];
	struct dispatch d = begin(l, SHADER_lookup, arity);
	void *table = lower_table(l, l->run.inputs, l->run.num_inputs, arity);

	if (!table)
		return lower_refuse(l, "the CPU's kernel cannot compute its table");
	d.constants[0] = is_bytes(out->type) ? TYPE_U8 : lower_output_type(l, 0);
	d.tensors[2] = lower_constant(l, table, arity == 2 ? 65536 : 256, 1);
	return add(l, &d);
}

/* Sets the element types of a dispatch's tensors 0 and 1 and of its output. */
static void set_types(struct lower *l, struct dispatch *d)
{
	d->constants[0] = lower_input_type(l, 0);
	d->constants[1] = d->constants[0];
	d->constants[2] = lower_output_type(l, 0);
}

enum nn_status lower_unary(struct lower *l)
{
	const int32_t type = l->run.inputs[0].type;
	float x = 0, y = 0;
	struct dispatch d;

	if (is_bytes(type))
		return lower_bytes(l, 1);
	d = begin(l, type == NN_TENSOR_INT32 ? SHADER_elementwise_int : SHADER_elementwise, 1);
	set_types(l, &d);
	if (l->argument == STEP_CLAMP)
		nn_fused_range_float(nn_traits(l->operation->type)->fused_code, &x, &y);
	if (l->argument == STEP_ELU)
		x = nn_run_float(&l->run, 1, 0);
	add_step(&d, l->argument, 0, x, y);
	return add(l, &d);
}

enum nn_status lower_binary(struct lower *l)
{
	const int32_t type = l->run.inputs[0].type;
	const uint32_t activation = nn_run_activation(&l->run);
	const int32_t code = activation ? nn_run_int(&l->run, activation, 0) : 0;
	float low, high;
	struct dispatch d;

	if (!nn_fused_range_float(code, &low, &high))
		return lower_refuse(l, "input 2: activation %d does not exist", code);
	if (is_bytes(type))
		return lower_bytes(l, 2);
	d = begin(l, type == NN_TENSOR_INT32 ? SHADER_elementwise_int : SHADER_elementwise, 2);
	set_types(l, &d);
	add_step(&d, l->argument, 1, 0, 0);
	if (code && type == NN_TENSOR_INT32)
		return lower_refuse(l, "the activation must be 0 for TENSOR_INT32");
	if (code)
		add_step(&d, STEP_CLAMP, 0, low, high);
	return add(l, &d);
}

enum nn_status lower_cast(struct lower *l)
{
	const int32_t from = l->run.inputs[0].type, to = l->run.outputs[0].type;
	const bool is_int = from == NN_TENSOR_INT32 && (to == from || to == NN_TENSOR_QUANT8_ASYMM);
	struct dispatch d = begin(l, is_int ? SHADER_elementwise_int : SHADER_elementwise, 1);

	set_types(l, &d);
	if (NN_T(from) & NN_FLOATS && !(NN_T(to) & NN_FLOATS))
		add_step(&d, STEP_TO_INT, 0, 0, 0);
	if (to == NN_TENSOR_QUANT8_ASYMM)
		add_step(&d, STEP_CLAMP, 0, 0, 255);
	return add(l, &d);
}

enum nn_status lower_quantize(struct lower *l)
{
	const struct nn_tensor *out = &l->run.outputs[0];
	struct dispatch d = begin(l, SHADER_elementwise, 1);
	int32_t low, high;

	set_types(l, &d);
	nn_quant_range(out->type, &low, &high);
	add_step(&d, STEP_QUANTIZE, 0, out->scale, (float)out->zero_point);
	add_step(&d, STEP_CLAMP, 0, (float)low, (float)high);
	return add(l, &d);
}

enum nn_status lower_dequantize(struct lower *l)
{
	struct dispatch d = begin(l, SHADER_lookup, 1);

	d.constants[0] = lower_output_type(l, 0);
	d.tensors[2] = lower_constant(l, lower_table(l, l->run.inputs, 1, 1),
				      256 * sizeof(float), sizeof(float));
	return add(l, &d);
}

uint32_t lower_requantised(struct lower *l, uint32_t input)
{
	const struct nn_tensor *in = &l->run.inputs[input];
	const uint32_t count = nn_tensor_count(in);
	int32_t axis = 0;
	const struct nn_tensor inputs[] = {
		*in, { .type = NN_INT32, .extra = in->extra, .data = &axis },
	};
	struct dispatch d = lower_linear(l, SHADER_lookup, count);
	struct elementwise_params *p = &d.params.elementwise;

	p->count = p->dims[0] = count;
	p->rank = p->moves[0] = 1;
	d.constants[0] = TYPE_U8;
	d.tensors[0] = lower_input(l, input);
	d.tensors[2] = lower_constant(l, lower_table(l, inputs, 2, 1), 256, 1);
	d.tensors[OUTPUT] = lower_temporary(l, count, 1);
	return lower_add(l, &d) ? NO_VALUE : d.tensors[OUTPUT];
}
