/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "vectors/graph.h"
#include "vectors/windows.h"
#include "vectors/random.h"

/* Adds a filter of the given shape as in[1], and a bias for `channels` channels as in[2]. */
static void add_filter(uint32_t x, uint32_t rank, const uint32_t *dims, uint32_t channel_dim,
		       uint32_t channels, uint32_t depth, uint32_t *in)
{
	static float scales[MAX_OPERATIONS][128];
	bool per_channel = !is_float() && rank == 4 && chance(2);
	float scale = random_float(0.5f, 2) / 127 / sqrtf((float)depth);
	int32_t zero = chance(3) ? (g.type == NN_TENSOR_QUANT8_ASYMM ? 128 : 0) :
		       random_zero(g.type);
	int32_t *bias;

	in[1] = per_channel ? add_operand(NN_TENSOR_QUANT8_SYMM_PER_CHANNEL, rank, dims, 0, 0) :
		add_result(rank, dims, scale, zero);
	fill_constant(in[1], 2 / sqrtf((float)depth));
	if (per_channel) {
		float *s = scales[g.subgraph.num_operations];

		for (uint32_t i = 0; i < channels; i++)
			s[i] = scale * random_float(0.3f, 2);
		g.operands[in[1]].extra = (struct nn_extra){
			.kind = NN_EXTRA_CHANNEL_QUANT,
			.channel_dim = channel_dim,
			.count = channels,
			.scales = s,
		};
	}
	in[2] = is_float() ? add_result(1, &channels, 0, 0) :
		add_operand(NN_TENSOR_INT32, 1, &channels,
			    per_channel ? 0 : g.operands[x].scale * scale, 0);
	if (is_float()) {
		fill_constant(in[2], 1);
		return;
	}
	bias = set_value(in[2]);
	for (uint32_t i = 0; i < channels; i++) {
		int32_t value = (int32_t)pick(0, 20000) - 10000;

		memcpy((char *)bias + i * sizeof(value), &value, sizeof(value));
	}
}

/*
 * Adds the parameters that all windowed operations have: paddings and strides. Returns the size of
 * the output.
 */
static uint32_t window_size(uint32_t in, uint32_t filter, uint32_t stride, uint32_t dilation,
			    uint32_t head, uint32_t tail)
{
	uint32_t extent = (filter - 1) * dilation + 1;

	return in + head + tail < extent ? 0 : (in + head + tail - extent) / stride + 1;
}

/* The sizes of an image, and whether the channels are the first axis of the image (NCHW). */
struct layout {
	bool nchw;
	uint32_t n, h, w, c;
};

static struct layout layout_of(const struct nn_operand *x, bool nchw)
{
	return nchw ? (struct layout){ true, x->dims[0], x->dims[2], x->dims[3], x->dims[1] } :
		      (struct layout){ false, x->dims[0], x->dims[1], x->dims[2], x->dims[3] };
}

/* Adds a result with the layout of the input: channels first, or channels last. */
static uint32_t image_result(const struct layout *l, uint32_t h, uint32_t w, uint32_t c,
			     float scale, int32_t zero)
{
	return add_result(4, l->nchw ? (uint32_t[]){ l->n, c, h, w } :
			     (uint32_t[]){ l->n, h, w, c }, scale, zero);
}

static uint32_t random_image(const struct layout *l, uint32_t h, uint32_t w, uint32_t c)
{
	return image_result(l, h, w, c, random_float(0.01f, 0.1f), random_zero(g.type));
}

/* Adds paddings and strides to the inputs; returns false if the output would be empty. */
static bool add_window(const struct layout *x, uint32_t fh, uint32_t fw, uint32_t dilation,
		       uint32_t *in, uint32_t *count, uint32_t *oh, uint32_t *ow)
{
	uint32_t stride_w = pick(1, 3), stride_h = pick(1, 3), pads[4];
	bool same = chance(2);

	if (chance(3)) {
		*oh = same ? (x->h + stride_h - 1) / stride_h :
			     window_size(x->h, fh, stride_h, dilation, 0, 0);
		*ow = same ? (x->w + stride_w - 1) / stride_w :
			     window_size(x->w, fw, stride_w, dilation, 0, 0);
		in[(*count)++] = add_int(same ? 1 : 2);
		in[(*count)++] = add_int((int32_t)stride_w);
		in[(*count)++] = add_int((int32_t)stride_h);
		return *oh && *ow;
	}
	for (uint32_t i = 0; i < 4; i++)
		pads[i] = chance(2) ? 0 : pick(0, (i < 2 ? fw : fh) - 1);
	*oh = window_size(x->h, fh, stride_h, dilation, pads[2], pads[3]);
	*ow = window_size(x->w, fw, stride_w, dilation, pads[0], pads[1]);
	if (!*oh || !*ow)
		return false;
	for (uint32_t i = 0; i < 4; i++)
		in[(*count)++] = add_int((int32_t)pads[i]);
	in[(*count)++] = add_int((int32_t)stride_w);
	in[(*count)++] = add_int((int32_t)stride_h);
	return true;
}

/*
 * Sometimes replaces a constant filter by the sum of the filter and a computed zero, which is not
 * constant.
 */
static void vary_filter(uint32_t *in)
{
	const struct nn_operand *x = &g.operands[in[0]], *filter = &g.operands[in[1]];
	const uint32_t one = 1, rank = x->rank;
	uint32_t most, nothing, sum;

	if (rank > 4 || filter->extra.kind || !chance(6))
		return;
	most = add_result(1, &one, x->scale, x->zero_point);
	nothing = add_result(1, &one, filter->scale, filter->zero_point);
	sum = add_result(filter->rank, filter->dims, filter->scale, filter->zero_point);
	finish(77, 3, (uint32_t[]){ in[0], add_ints(1, &rank, (int32_t[]){ 0, 1, 2, 3 }),
				    add_bool(false) }, most);
	finish(36, 3, (uint32_t[]){ most, most, add_int(0) }, nothing);
	/*
	 * Remove the tensors of rank 1 from the graph's list, because other operations do not
	 * accept them.
	 */
	g.num_tensors -= 2;
	finish(0, 3, (uint32_t[]){ in[1], nothing, add_int(0) }, sum);
	in[1] = sum;
}

/* Adds CONV_2D, or GROUPED_CONV_2D if the channels can be divided into groups. */
static bool convolve(uint32_t groups)
{
	uint32_t x = any_image(), in[16], count = 3, oh, ow;
	uint32_t fh = chance(2) ? 1 : pick(1, 4), fw = chance(2) ? fh : pick(1, 4);
	uint32_t dilation = groups == 1 && chance(4) ? pick(2, 5) : 1;
	uint32_t channels = groups * pick(1, groups > 1 ? 20 : 80);
	struct layout l = layout_of(&g.operands[x], chance(4));

	if (l.c % groups || l.c > 140)
		return false;
	in[0] = x;
	add_filter(x, 4, (uint32_t[]){ channels, fh, fw, l.c / groups }, 0, channels,
		   fh * fw * l.c / groups, in);
	if (!add_window(&l, fh, fw, dilation, in, &count, &oh, &ow))
		return false;
	if (groups > 1)
		in[count++] = add_int((int32_t)groups);
	in[count++] = add_int((int32_t)pick(0, 3));
	in[count++] = add_bool(l.nchw);
	if (groups == 1) {
		in[count++] = add_int((int32_t)dilation);
		in[count++] = add_int((int32_t)dilation);
	}
	vary_filter(in);
	return finish(groups > 1 ? 55 : 3, count, in, random_image(&l, oh, ow, channels));
}

bool add_conv(void)
{
	return convolve(1);
}

bool add_grouped(void)
{
	return convolve(pick(2, 4));
}

bool add_transposed(void)
{
	uint32_t x = any_image(), in[16], count = 3, four = 4, sizes[2], sh = pick(1, 3);
	uint32_t sw = pick(1, 3), fh = pick(1, 5), fw = pick(1, 5), channels = pick(1, 20);
	struct layout l = layout_of(&g.operands[x], chance(4));
	uint32_t pads[4] = { pick(0, fw - 1), pick(0, fw - 1), pick(0, fh - 1), pick(0, fh - 1) };
	bool same = chance(2);
	int32_t shape[4];

	if (l.c > 80 || l.h > 20 || l.w > 20)
		return false;
	in[0] = x;
	add_filter(x, 4, (uint32_t[]){ channels, fh, fw, l.c }, 0, channels, fh * fw * l.c, in);
	sizes[0] = (l.h - 1) * sh + fh;
	sizes[1] = (l.w - 1) * sw + fw;
	if (chance(2)) {
		if (sizes[0] <= pads[2] + pads[3] || sizes[1] <= pads[0] + pads[1])
			return false;
		sizes[0] -= pads[2] + pads[3];
		sizes[1] -= pads[0] + pads[1];
		for (uint32_t i = 0; i < 4; i++)
			in[count++] = add_int((int32_t)pads[i]);
	} else {
		if (same) {
			sizes[0] = l.h * sh;
			sizes[1] = l.w * sw;
		}
		shape[0] = (int32_t)l.n;
		shape[l.nchw ? 1 : 3] = (int32_t)channels;
		shape[l.nchw ? 2 : 1] = (int32_t)sizes[0];
		shape[l.nchw ? 3 : 2] = (int32_t)sizes[1];
		in[count++] = add_ints(1, &four, shape);
		in[count++] = add_int(same ? 1 : 2);
	}
	in[count++] = add_int((int32_t)sw);
	in[count++] = add_int((int32_t)sh);
	in[count++] = add_int((int32_t)pick(0, 3));
	in[count++] = add_bool(l.nchw);
	vary_filter(in);
	return finish(91, count, in, random_image(&l, sizes[0], sizes[1], channels));
}

bool add_depthwise(void)
{
	uint32_t x = any_image(), in[16], count = 3, oh, ow;
	uint32_t fh = chance(2) ? 3 : pick(1, 6), fw = chance(2) ? 3 : pick(1, 6);
	uint32_t multiplier = chance(5) ? 2 : 1, dilation = chance(4) ? 2 : 1, channels;
	struct layout l = layout_of(&g.operands[x], chance(4));

	if (l.c > 60)
		return false;
	channels = l.c * multiplier;
	in[0] = x;
	add_filter(x, 4, (uint32_t[]){ 1, fh, fw, channels }, 3, channels, fh * fw, in);
	if (!add_window(&l, fh, fw, dilation, in, &count, &oh, &ow))
		return false;
	in[count++] = add_int((int32_t)multiplier);
	in[count++] = add_int((int32_t)pick(0, 3));
	in[count++] = add_bool(l.nchw);
	in[count++] = add_int((int32_t)dilation);
	in[count++] = add_int((int32_t)dilation);
	vary_filter(in);
	return finish(4, count, in, random_image(&l, oh, ow, channels));
}

bool add_fully_connected(void)
{
	uint32_t x = any_tensor(), in[4], units = pick(1, 70);
	const struct nn_operand *o = &g.operands[x];
	uint32_t depth = o->rank >= 2 ? o->dims[o->rank - 1] : 0;
	uint32_t out;

	if (!depth)
		return false;
	in[0] = x;
	add_filter(x, 2, (uint32_t[]){ units, depth }, 0, units, depth, in);
	in[3] = add_int((int32_t)pick(0, 3));
	vary_filter(in);
	out = random_result(2, (uint32_t[]){ elements(o) / depth, units });
	return finish(9, 4, in, out);
}

static bool add_pool_of(int32_t code)
{
	uint32_t x = any_image(), in[16], count = 1, fh = pick(1, 7), fw = pick(1, 7), oh, ow;
	const struct nn_operand *o = &g.operands[x];
	struct layout l = layout_of(o, chance(4));

	in[0] = x;
	if (!add_window(&l, fh, fw, 1, in, &count, &oh, &ow))
		return false;
	in[count++] = add_int((int32_t)fw);
	in[count++] = add_int((int32_t)fh);
	in[count++] = add_int((int32_t)pick(0, 3));
	in[count++] = add_bool(l.nchw);
	return finish(code, count, in, image_result(&l, oh, ow, l.c, o->scale, o->zero_point));
}

bool add_pool(void)
{
	return add_pool_of(chance(3) ? 17 : is_float() && chance(3) ? 12 : 1);
}

bool add_max_pool(void)
{
	return add_pool_of(17);
}
