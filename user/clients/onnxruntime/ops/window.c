// SPDX-License-Identifier: MIT
/* Windows of convolutions and poolings. */
#include "ops.h"

#include <string.h>

/*
 * Reads one number for each dimension, between `low` and INT32_MAX; `otherwise` if the list is
 * missing.
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
		return refuse(t, "%s of %zu numbers", name, attribute->count);
	for (int i = 0; i < count; i++) {
		numbers[i] = attribute->ints[i];
		if (numbers[i] < low || numbers[i] > 1 << 24)
			refuse(t, "%s of %lld", name, (long long)numbers[i]);
	}
}

static void read_pads(struct lowering *t, struct window *w, int first)
{
	const char *automatic = attr_string(t, "auto_pad", "NOTSET");
	int64_t pads[4] = { 0 };

	if (!strncmp(automatic, "SAME_", 5)) {
		for (int i = first; i < 2; i++)
			window_same(w, i, !strcmp(automatic, "SAME_UPPER"));
		return;
	}
	if (strcmp(automatic, "VALID"))
		read_numbers(t, "pads", 0, 0, 2 * w->spatial, pads);
	for (int i = 0; i < w->spatial; i++) {
		w->head[first + i] = pads[i];
		w->tail[first + i] = pads[w->spatial + i];
	}
}

/* Widens the tail so that a last, partial window fits. */
static void widen_tail(struct window *w, int i)
{
	int64_t size = (w->size[i] - 1) * w->dilation[i] + 1;
	int64_t room = w->in[i] + w->head[i] + w->tail[i] - size;
	int64_t out = room < 0 ? 0 : (room + w->stride[i] - 1) / w->stride[i] + 1;

	/* Drop a window that would begin in the tail. */
	if (out > 1 && (out - 1) * w->stride[i] >= w->in[i] + w->head[i])
		out--;
	if (out > 0 && (out - 1) * w->stride[i] > room)
		w->tail[i] += (out - 1) * w->stride[i] - room;
}

/* Counts the windows along a dimension. */
static void count_windows(struct lowering *t, struct window *w, int i)
{
	int64_t room;

	if (attr_int(t, "ceil_mode", 0))
		widen_tail(w, i);
	room = w->in[i] + w->head[i] + w->tail[i] - ((w->size[i] - 1) * w->dilation[i] + 1);
	if (room < 0)
		refuse(t, "a window larger than what it is on");
	w->out[i] = room < 0 ? 0 : (uint32_t)(room / w->stride[i] + 1);
}

bool window_read(struct lowering *t, const struct shape *shape, const int64_t *size,
		 struct window *w)
{
	int first;

	memset(w, 0, sizeof(*w));
	w->is_nchw = true;
	w->spatial = shape->rank - 2;
	if (REFUSED_IF(t, w->spatial != 1 && w->spatial != 2, "%d dimensions of space", w->spatial))
		return false;
	first = 2 - w->spatial;
	w->size[0] = w->stride[0] = w->dilation[0] = w->in[0] = 1;
	w->batch = (uint32_t)shape->dims[0];
	w->channels = (uint32_t)shape->dims[1];
	for (int i = 0; i < w->spatial; i++)
		w->in[first + i] = (uint32_t)shape->dims[2 + i];
	read_numbers(t, "kernel_shape", 1, 1, w->spatial, w->size + first);
	for (int i = 0; size && i < w->spatial; i++)
		w->size[first + i] = size[i];
	read_numbers(t, "strides", 1, 1, w->spatial, w->stride + first);
	read_numbers(t, "dilations", 1, 1, w->spatial, w->dilation + first);
	if (t->refused)
		return false;
	read_pads(t, w, first);
	for (int i = 0; i < 2; i++)
		count_windows(t, w, i);
	return !t->refused;
}

bool axes_read(struct lowering *t, const struct shape *shape, struct window w[3])
{
	int64_t size[3], stride[3], dilation[3], pads[6];
	const char *automatic = attr_string(t, "auto_pad", "NOTSET");
	const int count = shape->rank - 2;

	if (REFUSED_IF(t, count < 1 || count > 3, "%d dimensions of space", count))
		return false;
	read_numbers(t, "kernel_shape", 1, 1, count, size);
	read_numbers(t, "strides", 1, 1, count, stride);
	read_numbers(t, "dilations", 1, 1, count, dilation);
	read_numbers(t, "pads", 0, 0, 2 * count, pads);
	for (int k = 0; !t->refused && k < count; k++) {
		w[k] = (struct window){ .size = { size[k] }, .stride = { stride[k] },
					.dilation = { dilation[k] },
					.in = { (uint32_t)shape->dims[2 + k] } };
		if (!strncmp(automatic, "SAME_", 5)) {
			window_same(&w[k], 0, !strcmp(automatic, "SAME_UPPER"));
		} else if (strcmp(automatic, "VALID")) {
			w[k].head[0] = pads[k];
			w[k].tail[0] = pads[count + k];
		}
		w[k].tail[1] = w[k].tail[0];
		count_windows(t, &w[k], 0);
	}
	return !t->refused;
}

struct shape window_shape(const struct window *w, uint32_t channels)
{
	struct shape shape = { .rank = 2 + w->spatial, .dims = { w->batch, channels } };

	for (int i = 0; i < w->spatial; i++)
		shape.dims[2 + i] = w->out[2 - w->spatial + i];
	return shape;
}
