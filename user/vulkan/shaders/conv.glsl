/* SPDX-License-Identifier: MIT */
/*
 * Products of an image's windows with filters, as products of matrices whose left factor is read
 * from the image: rows are pixels of the output, columns channels. A shader that includes this has
 * IMAGE_TYPE, NUMBER, load(), zero_of() and finish(), and one of factor_*.glsl, which has FACTOR,
 * factor() and product(). Then it includes tile.glsl or matrix.glsl, which has main().
 */
layout(constant_id = 2) const bool IS_TRANSPOSED = false;

/* Where a row of the left factor begins: its image, and its window's first pixel. */
struct row {
	bool exists;
	uint image;
	NUMBER zero;
	int y;
	int x;
};

/* Where the image of a row begins in tensor 0. */
uint image_of(uint index)
{
	return gl_WorkGroupID.z / p.inner_batches * p.in_outer +
	       gl_WorkGroupID.z % p.inner_batches * p.in_inner +
	       index / (p.out_h * p.out_w) * p.in_image;
}

row row_of(uint index)
{
	const uint pixels = p.out_h * p.out_w, pixel = index % pixels;
	const int y = int(pixel / p.out_w), x = int(pixel % p.out_w);
	row r;

	r.exists = index < p.images * pixels;
	r.image = image_of(index);
	r.zero = NUMBER(0);
	if (r.exists)
		r.zero = zero_of(r.image) - SHIFT(IMAGE_TYPE);
	r.y = IS_TRANSPOSED ? y + p.head_h : y * int(p.stride_h) - p.head_h;
	r.x = IS_TRANSPOSED ? x + p.head_w : x * int(p.stride_w) - p.head_w;
	return r;
}

/* a / b of a below 2^22: much quicker than a division of integers. */
uint quotient(uint a, uint b)
{
	const uint q = uint(float(a) / float(b));

	return q * b > a ? q - 1u : q * b + b <= a ? q + 1u : q;
}

/* Up to four channels of a tap of the filter: group k of all. */
struct part {
	bool exists;
	uint tap;
	uint channel;
};

part part_of(uint k)
{
	const uint per_tap = (p.depth + 3u) / 4u, tap = quotient(k, per_tap);

	return part(tap < p.kernel_h * p.kernel_w, tap, (k - tap * per_tap) * 4u);
}

/* Four neighbours; those beyond the depth are as if they were 0. */
#define four(type, at, step, zero, channel)						\
	NUMBER4(inside(load(type, at), zero, type),						\
		channel + 1u < p.depth ? inside(load(type, (at) + step), zero, type) :	\
					 outside(zero),					\
		channel + 2u < p.depth ? inside(load(type, (at) + 2u * step), zero, type) : \
					 outside(zero),					\
		channel + 3u < p.depth ? inside(load(type, (at) + 3u * step), zero, type) : \
					 outside(zero))

/* The elements of the image that meet a part of a filter; as if they were 0 outside of it. */
NUMBER4 image_at(row r, part f)
{
	int y = int(quotient(f.tap, p.kernel_w)), x = int(f.tap) - y * int(p.kernel_w);
	bool is_inside = r.exists && f.exists;
	uint at;

	if (IS_TRANSPOSED) {
		y = r.y - y;
		x = r.x - x;
		is_inside = is_inside && y >= 0 && x >= 0 && uint(y) % p.stride_h == 0u &&
			    uint(x) % p.stride_w == 0u;
		y /= int(p.stride_h);
		x /= int(p.stride_w);
	} else {
		y = r.y + y * int(p.dilation_h);
		x = r.x + x * int(p.dilation_w);
	}
	if (!is_inside || y < 0 || x < 0 || y >= int(p.in_h) || x >= int(p.in_w))
		return NUMBER4(outside(r.zero));
	at = p.at[0] + r.image + (uint(y) * p.in_w + uint(x)) * p.in_pixel +
	     f.channel * p.in_channel;
	return four(IMAGE_TYPE, at, p.in_channel, r.zero, f.channel);
}

/* Where the filters of a batch begin in tensor 1. */
uint filter_start()
{
	return p.at[1] + gl_WorkGroupID.z / p.inner_batches * p.filter_outer +
	       gl_WorkGroupID.z % p.inner_batches * p.filter_inner;
}

NUMBER4 filter_at(uint batch, part f, uint column)
{
	const uint at = batch + (f.tap * p.depth + f.channel) * p.filter_depth +
			column * p.filter_width;
	const NUMBER zero = NUMBER(p.filter_zero) - SHIFT(TYPE_FILTER);

	if (!f.exists || column >= p.width)
		return NUMBER4(outside(zero));
	return four(TYPE_FILTER, at, p.filter_depth, zero, f.channel);
}

void finish_one(NUMBER sum, uint column, uint to, uint from)
{
	if (column < p.width)
		finish(sum, gl_WorkGroupID.z * p.bias_batch + column, to + column * p.out_channel,
		       from);
}

void finish_row(NUMBER4 sums, uint row, uint column)
{
	const uint pixels = p.out_h * p.out_w, from = image_of(row);
	const uint to = p.at[OUTPUT] + gl_WorkGroupID.z * p.out_batch +
			row / pixels * p.out_image + row % pixels * p.out_pixel;

	if (row >= p.images * pixels)
		return;
	finish_one(sums.x, column, to, from);
	finish_one(sums.y, column + 1u, to, from);
	finish_one(sums.z, column + 2u, to, from);
	finish_one(sums.w, column + 3u, to, from);
}
