// SPDX-License-Identifier: MIT
/* Windows of convolutions and poolings. */
#include "ops.h"

#include <string.h>

/*
 * Reads the list `name`, with one number between `low` and INT32_MAX for each dimension. If the
 * list is missing, sets all numbers to `otherwise`.
 */
static void read_numbers(struct lowering *t, const char *name, int64_t otherwise, int64_t low,
			 int count, int64_t *numbers)
{
	const struct attribute *attribute = attr(t, name);

	for (int i = 0; i < count; i++)
		numbers[i] = otherwise;
	if (!attribute || !attribute->ints || !attribute->count)
		return;
	if (attribute->count != (size_t)count)
		return refuse(t, "%s has %zu numbers, must be %d", name, attribute->count, count);
	for (int i = 0; i < count; i++) {
		numbers[i] = attribute->ints[i];
		if (numbers[i] < low || numbers[i] > 1 << 24)
			refuse(t, "%s of %lld is too small or over 2^24", name,
			       (long long)numbers[i]);
	}
}

/* Enlarges the padding at the end so that a partial last window fits. */
static void widen_tail(struct window *w)
{
	int64_t size = (w->size[0] - 1) * w->dilation[0] + 1;
	int64_t room = w->in[0] + w->head[0] + w->tail[0] - size;
	int64_t out = room < 0 ? 0 : (room + w->stride[0] - 1) / w->stride[0] + 1;

	/* Drop a window that would begin in the padding at the end. */
	if (out > 1 && (out - 1) * w->stride[0] >= w->in[0] + w->head[0])
		out--;
	if (out > 0 && (out - 1) * w->stride[0] > room)
		w->tail[0] += (out - 1) * w->stride[0] - room;
}

/* Counts the windows along a dimension. */
static void count_windows(struct lowering *t, struct window *w)
{
	int64_t room;

	if (attr_int(t, "ceil_mode", 0))
		widen_tail(w);
	room = w->in[0] + w->head[0] + w->tail[0] - ((w->size[0] - 1) * w->dilation[0] + 1);
	if (room < 0)
		refuse(t, "the window is larger than the padded input");
	w->out[0] = room < 0 ? 0 : (uint32_t)(room / w->stride[0] + 1);
}

bool axes_read(struct lowering *t, const struct shape *shape, const int64_t *filter,
	       struct window w[3])
{
	int64_t size[3], stride[3], dilation[3], pads[6] = { 0 };
	const char *automatic = attr_string(t, "auto_pad", "NOTSET");
	const bool is_same = !strncmp(automatic, "SAME_", 5);
	const int count = shape->rank - 2;

	if (REFUSED_IF(t, count < 1 || count > 3, "%d spatial dimensions, must be 1 to 3", count))
		return false;
	read_numbers(t, "kernel_shape", 1, 1, count, size);
	read_numbers(t, "strides", 1, 1, count, stride);
	read_numbers(t, "dilations", 1, 1, count, dilation);
	if (!is_same && strcmp(automatic, "VALID"))
		read_numbers(t, "pads", 0, 0, 2 * count, pads);
	for (int k = 0; !t->refused && k < count; k++) {
		w[k] = (struct window){ .size = { filter ? filter[k] : size[k] },
					.stride = { stride[k] }, .dilation = { dilation[k] },
					.in = { (uint32_t)shape->dims[2 + k] } };
		w[k].head[0] = pads[k];
		w[k].tail[0] = pads[count + k];
		/* ONNX Runtime cuts off elements at both ends if windows leave out more than one. */
		if (is_same && w[k].stride[0] - (w[k].size[0] - 1) * w[k].dilation[0] > 2)
			refuse(t, "auto_pad SAME with a stride of %lld for windows of %lld is not "
			       "supported", (long long)stride[k], (long long)w[k].size[0]);
		if (is_same)
			window_same(&w[k], 0, !strcmp(automatic, "SAME_UPPER"));
		w[k].tail[1] = w[k].tail[0];
		count_windows(t, &w[k]);
	}
	return !t->refused;
}

bool window_read(struct lowering *t, const struct shape *shape, const int64_t *filter,
		 struct window *w)
{
	struct window axes[3];
	const int first = 4 - shape->rank;

	if (REFUSED_IF(t, shape->rank != 3 && shape->rank != 4,
		       "%d spatial dimensions, must be 1 or 2", shape->rank - 2) ||
	    !axes_read(t, shape, filter, axes))
		return false;
	*w = (struct window){
		.spatial = shape->rank - 2, .size = { 1 }, .stride = { 1 }, .dilation = { 1 },
		.batch = (uint32_t)shape->dims[0], .channels = (uint32_t)shape->dims[1],
		.in = { 1 }, .out = { 1 }, .is_nchw = true,
	};
	for (int i = first; i < 2; i++) {
		w->size[i] = axes[i - first].size[0];
		w->stride[i] = axes[i - first].stride[0];
		w->dilation[i] = axes[i - first].dilation[0];
		w->head[i] = axes[i - first].head[0];
		w->tail[i] = axes[i - first].tail[0];
		w->in[i] = axes[i - first].in[0];
		w->out[i] = axes[i - first].out[0];
	}
	return true;
}

struct shape window_shape(const struct window *w, uint32_t channels)
{
	struct shape shape = { .rank = 2 + w->spatial, .dims = { w->batch, channels } };

	for (int i = 0; i < w->spatial; i++)
		shape.dims[2 + i] = w->out[2 - w->spatial + i];
	return shape;
}
