// SPDX-License-Identifier: MIT
/* Windows of convolutions and poolings. */
#include "clients/lower/lowerings.h"

#include <nnaccel/operation.h>

void window_same(struct window *w, int i, bool upper)
{
	int64_t size = (w->size[i] - 1) * w->dilation[i] + 1;
	int64_t out = (w->in[i] + w->stride[i] - 1) / w->stride[i];
	int64_t need = (out - 1) * w->stride[i] + size - w->in[i];

	if (need < 0)
		need = 0;
	w->head[i] = upper ? need / 2 : need - need / 2;
	w->tail[i] = need - w->head[i];
}

void window_dims(const struct window *w, uint32_t channels, const uint32_t size[2],
		 uint32_t dims[4])
{
	dims[0] = w->batch;
	dims[w->is_nchw ? 1 : 3] = channels;
	dims[w->is_nchw ? 2 : 1] = size[0];
	dims[w->is_nchw ? 3 : 2] = size[1];
}

uint32_t window_view(struct lowering *t, uint32_t x, const struct window *w)
{
	uint32_t dims[4];

	window_dims(w, w->channels, w->in, dims);
	return view(t, x, 4, dims);
}

uint32_t window_padded(struct lowering *t, uint32_t x, struct window *w)
{
	int32_t pairs[8] = { 0 };

	for (int i = 0; i < 2; i++) {
		const int at = 2 * (w->is_nchw ? 2 + i : 1 + i);

		pairs[at] = (int32_t)w->head[i];
		pairs[at + 1] = (int32_t)w->tail[i];
		w->in[i] += (uint32_t)(w->head[i] + w->tail[i]);
		w->head[i] = w->tail[i] = 0;
	}
	return padded(t, NN(PAD), x, pairs, NO_OPERAND);
}

static uint32_t append_window(struct lowering *t, const struct window *w, uint32_t *ins,
			      uint32_t count)
{
	for (int i = 2; i--;) {
		ins[count++] = scalar_int(t, (int32_t)w->head[i]);
		ins[count++] = scalar_int(t, (int32_t)w->tail[i]);
	}
	for (int i = 2; i--;)
		ins[count++] = scalar_int(t, (int32_t)w->stride[i]);
	return count;
}

uint32_t pooled(struct lowering *t, int32_t code, uint32_t x, const struct window *w)
{
	uint32_t dims[4], ins[11] = { x }, count = append_window(t, w, ins, 1);

	for (int i = 2; i--;)
		ins[count++] = scalar_int(t, (int32_t)w->size[i]);
	ins[count++] = scalar_int(t, t->fused);
	ins[count++] = scalar_bool(t, w->is_nchw);
	window_dims(w, w->channels, w->out, dims);
	t->work += (uint64_t)w->batch * w->channels * w->out[0] * w->out[1] *
		   (uint64_t)(w->size[0] * w->size[1]);
	return emit(t, code, result(t, x, 4, dims), count, ins);
}

uint32_t global_pooled(struct lowering *t, int32_t code, uint32_t x, const struct shape *shape)
{
	const struct window w = {
		.spatial = 2,
		.size = { shape->dims[2], shape->dims[3] },
		.stride = { 1, 1 },
		.batch = (uint32_t)shape->dims[0],
		.channels = (uint32_t)shape->dims[1],
		.out = { 1, 1 },
		.is_nchw = true,
	};

	return pooled(t, code, x, &w);
}

uint32_t convolved(struct lowering *t, struct conv *c, uint32_t out)
{
	const bool is_dynamic = c->code == NN_OP_DYNAMIC_CONV_2D;
	uint32_t ins[16], count;

	/* NNAPI requires that a window is larger than the padding on each side. */
	for (int i = 0; i < 2 && c->code != NN(TRANSPOSE_CONV_2D); i++) {
		int64_t size = (c->w.size[i] - 1) * c->w.dilation[i] + 1;

		if (c->w.head[i] >= size || c->w.tail[i] >= size)
			c->x = window_padded(t, c->x, &c->w);
	}
	ins[0] = c->x;
	ins[1] = c->filter;
	ins[2] = c->bias;
	count = append_window(t, &c->w, ins, 3);
	if (c->code == NN(DEPTHWISE_CONV_2D))
		ins[count++] = scalar_int(t, (int32_t)(c->outputs / c->w.channels));
	if (c->code == NN(GROUPED_CONV_2D) || is_dynamic)
		ins[count++] = scalar_int(t, (int32_t)c->groups);
	if (is_dynamic)
		ins[count++] = scalar_int(t, c->form);
	ins[count++] = scalar_int(t, t->fused);
	ins[count++] = scalar_bool(t, c->w.is_nchw);
	if (c->code == NN(GROUPED_CONV_2D) || c->code == NN(TRANSPOSE_CONV_2D)) {
		if (c->w.dilation[0] != 1 || c->w.dilation[1] != 1)
			refuse(t, "dilation must be 1%s", c->groups > 1 ? " with groups" : "");
	} else {
		for (int i = 2; i--;)
			ins[count++] = scalar_int(t, (int32_t)c->w.dilation[i]);
	}
	return emit(t, c->code, out, count, ins);
}
