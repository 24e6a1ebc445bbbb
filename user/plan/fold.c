/* SPDX-License-Identifier: MIT */
/*
 * Folds steps of a compiled plan: PAD into a convolution's own padding, and
 * DEQUANTIZE and QUANTIZE to what it was before into nothing.
 */
#include <string.h>

#include "compiled.h"
#include "ops/window.h"
#include "plan/kernels/families.h"

enum { DEQUANTIZE = 6, PAD = 32, QUANTIZE = 72 };

/* Scales of which 255 times one is neither infinite nor rounded for want of exponents. */
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

/* An operand of the arena, as far as can be told by now. */
static bool is_internal(const struct folding *f, uint32_t index)
{
	return operand_of(f, index)->lifetime == NN_TEMPORARY && !f->data[index] &&
	       f->producers[index];
}

/* The step of kind `code` whose result a step reads first, or NULL. */
static struct compiled_step *step_before(const struct folding *f,
					 const struct compiled_step *step, int32_t code)
{
	struct compiled_step *before;

	if (!is_internal(f, step->input))
		return NULL;
	before = &f->c->steps[f->producers[step->input] - 1];
	return before->op->code == code && !before->is_gone ? before : NULL;
}

/* ---- PAD ---- */

/* Where a convolution has its NCHW flag, or 0 for other operations. */
static uint32_t layout_input(const struct nn_run *r)
{
	switch (r->op->code) {
	case NN_CODE_CONV_2D:
		return nn_window_run_args(r, 3, 0).nchw;
	case NN_CODE_DEPTHWISE_CONV_2D:
		return nn_window_run_args(r, 3, 1).nchw;
	default:
		return 0;
	}
}

/* The border that a PAD makes around the rows and columns of NHWC images; false: also another. */
static bool read_border(const struct folding *f, const struct compiled_step *pad,
			uint32_t border[4])
{
	const int32_t *p = f->data[pad->operation->inputs[1]];

	if (!p || f->c->tensors[pad->input].rank != 4 || p[0] || p[1] || p[6] || p[7])
		return false;
	for (uint32_t i = 0; i < 2; i++) {
		border[i] = (uint32_t)p[4 + i];
		border[2 + i] = (uint32_t)p[2 + i];
	}
	return true;
}

/* Whether a step with its border takes what a PAD reads, and writes what it did before. */
static bool is_same_with_border(const struct folding *f, const struct compiled_step *step)
{
	const struct nn_tensor *out = &f->c->tensors[step->output];
	struct nn_error err = { "" };
	struct nn_run r;
	bool same;

	compiled_run_init(f->c, step, f->data, f->inputs, f->outputs, &r);
	r.err = &err;
	same = !nn_op_infer(&r) && !nn_run_result(&r) && r.outputs[0].rank == out->rank &&
	       !memcmp(r.outputs[0].dims, out->dims, out->rank * sizeof(out->dims[0]));
	nn_op_finish(&r);
	return same;
}

static void fold_pad(const struct folding *f, struct compiled_step *step)
{
	struct compiled_step *pad = step_before(f, step, PAD), folded = *step;
	const struct nn_tensor *x, *y;
	struct nn_run r;
	uint32_t flag;

	if (!pad || operand_of(f, step->input)->consumers != 1 || f->data[pad->input])
		return;
	compiled_run_init(f->c, step, f->data, f->inputs, f->outputs, &r);
	flag = layout_input(&r);
	x = &f->c->tensors[pad->input];
	y = &f->c->tensors[step->input];
	if (!flag || nn_run_bool(&r, flag, false) || x->type == NN_TENSOR_FLOAT16 ||
	    !nn_tensor_count(x) ||
	    x->scale != y->scale || x->zero_point != y->zero_point ||
	    !read_border(f, pad, folded.border))
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
 * Of eight bits n with a scale s, n * s / s is off by less than 255 * 2^-22: it rounds to n.
 */
static bool is_exact(const struct nn_tensor *x, const struct nn_tensor *y)
{
	return x->type == y->type && x->scale == y->scale && x->zero_point == y->zero_point &&
	       (x->type == NN_TENSOR_QUANT8_ASYMM || x->type == NN_TENSOR_QUANT8_ASYMM_SIGNED) &&
	       x->scale >= MIN_SCALE && x->scale <= MAX_SCALE;
}

static void fold_quantize(const struct folding *f, struct compiled_step *step)
{
	struct compiled_step *before = step_before(f, step, DEQUANTIZE);
	const struct nn_tensor *tensors = f->c->tensors;

	if (!before || step->op->code != QUANTIZE || !is_internal(f, before->input) ||
	    !is_internal(f, step->output) || tensors[step->input].type != NN_TENSOR_FLOAT32 ||
	    !is_exact(&tensors[before->input], &tensors[step->output]))
		return;
	before->is_gone = operand_of(f, step->input)->consumers == 1;
	step->input = before->input;
	step->is_identity = true;
}

void compiled_fold(struct compiled *c, void *const *data, const uint32_t *producers,
		   struct nn_tensor *inputs, struct nn_tensor *outputs)
{
	const struct folding f = { c, data, producers, inputs, outputs };

	for (uint32_t i = 0; i < c->num_steps; i++) {
		fold_pad(&f, &c->steps[i]);
		fold_quantize(&f, &c->steps[i]);
	}
}
