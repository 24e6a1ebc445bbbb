/* SPDX-License-Identifier: MIT */
/*
 * Folds steps of a compiled plan. A PAD becomes padding of the convolution or pooling that reads
 * the PAD's result. The pass removes pairs of steps that cancel out: a DEQUANTIZE with a QUANTIZE,
 * or two TRANSPOSEs.
 */
#include <math.h>
#include <string.h>

#include "plan/compiled.h"
#include "ops/quant.h"
#include "ops/traits.h"
#include "ops/window.h"
#include "plan/kernels/kernel.h"

/* The range of scales for which 255 times the scale is neither subnormal nor infinite. */
#define MIN_SCALE 1e-30f
#define MAX_SCALE 1e30f

struct folding {
	struct compiled *c;
	void *const *data;
	const uint32_t *producers;
	struct nn_tensor *inputs;
	struct nn_tensor *outputs;
};

static const struct nn_operand *operand_of(const struct folding *f, uint32_t index)
{
	return &f->c->plan->graphs[0].subgraph->operands[index];
}

/*
 * Returns whether an operand is the result of a step, but neither an output of the model nor a
 * constant.
 */
static bool is_internal(const struct folding *f, uint32_t index)
{
	return operand_of(f, index)->lifetime == NN_TEMPORARY && !f->data[index] &&
	       f->producers[index];
}

/* Returns the step that writes the first input of `step`, or NULL. */
static struct compiled_step *step_before(const struct folding *f,
					 const struct compiled_step *step)
{
	struct compiled_step *before;

	if (!step->operation->num_inputs || !is_internal(f, step->input))
		return NULL;
	before = &f->c->steps[f->producers[step->input] - 1];
	return before->is_gone || before->output != step->input ? NULL : before;
}

/* Two TRANSPOSEs may cancel out. */
static bool is_transpose(const struct compiled_step *step)
{
	return step->op->code == NN_OP_TRANSPOSE;
}

/* ---- PAD ---- */

/*
 * Reads the border that a PAD adds to the rows, axis `first`, and to the columns, axis `first` + 1.
 * Returns false if the PAD also adds elements to other axes.
 */
static bool read_border(const struct folding *f, const struct compiled_step *pad, uint32_t first,
			uint32_t border[4])
{
	const int32_t *p = f->data[pad->operation->inputs[1]];

	if (!p || f->c->tensors[pad->input].rank != 4)
		return false;
	for (uint32_t i = 0; i < 8; i++)
		if (p[i] && (i < 2 * first || i >= 2 * first + 4))
			return false;
	for (uint32_t i = 0; i < 2; i++) {
		border[i] = (uint32_t)p[2 * (first + 1) + i];
		border[2 + i] = (uint32_t)p[2 * first + i];
	}
	return true;
}

/* Returns whether a PAD has an input that contains the border's value. */
static bool has_value(const struct compiled_step *pad)
{
	return pad->operation->num_inputs > 2;
}

/*
 * Reads the constant that a PAD writes to the border; quantised values are divided by the scale.
 * PAD always writes 0; PAD_V2 has an input for the constant. Returns false if the value of the
 * border is not constant.
 */
static bool read_padding(const struct folding *f, const struct compiled_step *pad, float *value)
{
	const struct nn_tensor *x = &f->c->tensors[pad->input];
	const void *scalar;
	int32_t stored;

	*value = 0;
	if (!has_value(pad))
		return true;
	scalar = f->data[pad->operation->inputs[2]];
	if (!scalar)
		return false;
	if (x->type == NN_TENSOR_FLOAT32) {
		memcpy(value, scalar, sizeof(*value));
		return true;
	}
	/* The scalar has the border's value as a quantised byte. */
	memcpy(&stored, scalar, sizeof(stored));
	stored = x->type == NN_TENSOR_QUANT8_ASYMM ? (uint8_t)stored : (int8_t)stored;
	*value = (float)(stored - x->zero_point);
	return true;
}

/*
 * Returns the least value that an operand can have; quantised values are divided by the scale. The
 * type of the operand, or the activation of the step that wrote the operand, determines the value.
 */
static float least_value(const struct folding *f, uint32_t operand)
{
	const struct nn_tensor *t = &f->c->tensors[operand];
	const struct compiled_step *step;
	int32_t activation, low, high;
	uint32_t input;
	float least = -INFINITY;
	struct nn_run r;

	if (t->type != NN_TENSOR_FLOAT32) {
		nn_quant_range(t->type, &low, &high);
		least = (float)(low - t->zero_point);
	}
	do {
		if (!is_internal(f, operand))
			return least;
		step = &f->c->steps[f->producers[operand] - 1];
		operand = step->input;
	} while (is_transpose(step) || nn_traits(step->op->code)->only_reshapes);
	compiled_run_init(f->c, step, f->data, f->inputs, f->outputs, &r);
	input = nn_run_activation(&r);
	activation = input ? nn_run_int(&r, input, 0) : nn_traits(step->op->code)->fused_code;
	return activation == 1 || activation == 3 ? 0 : least;
}

/*
 * Returns whether a PAD's border, filled with `value`, has the same effect as padding of kind
 * `border` in the operation that reads the PAD's output.
 */
static bool is_padding(const struct folding *f, enum nn_border border, uint32_t operand, float value)
{
	return border == NN_BORDER_LEAST ? value <= least_value(f, operand) : value == 0;
}

/*
 * Changes the type of float16 tensors to float32. Otherwise nn_op_infer() would convert the values
 * of float16 tensors, but some of these values are unknown.
 */
static void widen_tensors(struct nn_tensor *tensors, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (tensors[i].type == NN_TENSOR_FLOAT16)
			tensors[i].type = NN_TENSOR_FLOAT32;
}

/*
 * Returns whether a step can read the PAD's input and use the border as padding, without changing
 * the shape of the step's output.
 */
static bool is_same_with_border(const struct folding *f, const struct compiled_step *step)
{
	const struct nn_tensor *out = &f->c->tensors[step->output];
	struct nn_error err = { "" };
	struct nn_run r;
	bool same;

	compiled_run_init(f->c, step, f->data, f->inputs, f->outputs, &r);
	r.err = &err;
	widen_tensors(f->inputs, r.num_inputs);
	widen_tensors(f->outputs, r.num_outputs);
	same = !nn_op_infer(&r) && !nn_run_result(&r) && r.outputs[0].rank == out->rank &&
	       !memcmp(r.outputs[0].dims, out->dims, out->rank * sizeof(out->dims[0]));
	nn_op_finish(&r);
	return same;
}

static void fold_pad(const struct folding *f, struct compiled_step *step)
{
	struct compiled_step *pad = step_before(f, step), folded = *step;
	const enum nn_border takes = nn_traits(step->op->code)->border;
	const struct nn_tensor *x, *y;
	struct nn_run r;
	bool nchw;
	float value;

	if (!takes || !pad || !nn_traits(pad->op->code)->pads ||
	    operand_of(f, step->input)->consumers != 1 || f->data[pad->input])
		return;
	compiled_run_init(f->c, step, f->data, f->inputs, f->outputs, &r);
	nchw = nn_run_bool(&r, nn_window_run_args(&r).nchw, false);
	x = &f->c->tensors[pad->input];
	y = &f->c->tensors[step->input];
	if (!nn_tensor_count(x) ||
	    (x->type == NN_TENSOR_FLOAT16 && (has_value(pad) || takes == NN_BORDER_LEAST)) ||
	    x->scale != y->scale || x->zero_point != y->zero_point ||
	    !read_border(f, pad, nchw ? 2 : 1, folded.border) ||
	    !read_padding(f, pad, &value) || !is_padding(f, takes, pad->input, value))
		return;
	folded.input = pad->input;
	folded.is_padded = true;
	if (!is_same_with_border(f, &folded))
		return;
	*step = folded;
	pad->is_gone = true;
}

/* ---- DEQUANTIZE and QUANTIZE ---- */

/*
 * Returns whether n * s / s rounds to n, for every n of eight bits, where s is the scale. The error
 * of n * s / s is less than 255 * 2^-22 if s is from MIN_SCALE to MAX_SCALE.
 */
static bool is_exact(const struct nn_tensor *x, const struct nn_tensor *y)
{
	return nn_tensor_quantised_alike(x, y) &&
	       (x->type == NN_TENSOR_QUANT8_ASYMM || x->type == NN_TENSOR_QUANT8_ASYMM_SIGNED) &&
	       x->scale >= MIN_SCALE && x->scale <= MAX_SCALE;
}

static void fold_quantize(const struct folding *f, struct compiled_step *step)
{
	struct compiled_step *before = step_before(f, step);
	const struct nn_tensor *tensors = f->c->tensors;

	/* Fold only if `before` and `step` cancel out. */
	if (!before || before->op->code != NN_OP_DEQUANTIZE || step->op->code != NN_OP_QUANTIZE ||
	    !is_internal(f, before->input) ||
	    !is_internal(f, step->output) || tensors[step->input].type != NN_TENSOR_FLOAT32 ||
	    !is_exact(&tensors[before->input], &tensors[step->output]))
		return;
	before->is_gone = operand_of(f, step->input)->consumers == 1;
	step->input = before->input;
	step->is_identity = true;
}

/* ---- TRANSPOSE ---- */

/* Returns the axis of the input that TRANSPOSE makes axis `i` of the output. */
static uint32_t permuted(const struct folding *f, const struct compiled_step *step, uint32_t i)
{
	const int32_t *permutation = f->data[step->operation->inputs[1]];

	return permutation ? (uint32_t)permutation[i] : f->c->tensors[step->input].rank - 1 - i;
}

/*
 * Returns whether `before` and `step` together keep the order of axes with more than one element;
 * `before` may be NULL.
 */
static bool keeps_order(const struct folding *f, const struct compiled_step *before,
			const struct compiled_step *step)
{
	const struct nn_tensor *x = &f->c->tensors[before ? before->input : step->input];
	uint32_t next = 0;

	for (uint32_t i = 0; i < x->rank; i++) {
		uint32_t axis = permuted(f, step, i);

		if (before)
			axis = permuted(f, before, axis);
		if (x->dims[axis] == 1)
			continue;
		if (axis < next)
			return false;
		next = axis + 1;
	}
	return true;
}

/*
 * Returns whether the operands `from` and `to` can share memory, so that the step between them can
 * be removed.
 */
static bool can_alias(const struct folding *f, uint32_t from, uint32_t to)
{
	enum nn_lifetime lifetime = operand_of(f, from)->lifetime;

	return is_internal(f, to) && !f->data[from] &&
	       (lifetime == NN_TEMPORARY || lifetime == NN_SUBGRAPH_INPUT ||
		lifetime == NN_SUBGRAPH_OUTPUT);
}

/* Returns whether a step is a TRANSPOSE with a constant permutation. */
static bool is_permuted(const struct folding *f, const struct compiled_step *step)
{
	return is_transpose(step) && !step->is_identity &&
	       (f->c->tensors[step->operation->inputs[1]].omitted ||
		f->data[step->operation->inputs[1]]);
}

static void fold_transpose(const struct folding *f, struct compiled_step *step)
{
	struct compiled_step *before;

	if (!is_permuted(f, step))
		return;
	before = step_before(f, step);
	if (before && is_permuted(f, before) && can_alias(f, before->input, step->output) &&
	    keeps_order(f, before, step)) {
		before->is_gone = operand_of(f, step->input)->consumers == 1;
		step->input = before->input;
		step->is_identity = true;
	} else if (can_alias(f, step->input, step->output) && keeps_order(f, NULL, step)) {
		step->is_identity = true;
	}
}

void compiled_fold(struct compiled *c, void *const *data, const uint32_t *producers,
		   struct nn_tensor *inputs, struct nn_tensor *outputs)
{
	const struct folding f = { c, data, producers, inputs, outputs };

	for (uint32_t i = 0; i < c->num_steps; i++) {
		fold_pad(&f, &c->steps[i]);
		fold_quantize(&f, &c->steps[i]);
		fold_transpose(&f, &c->steps[i]);
	}
}
