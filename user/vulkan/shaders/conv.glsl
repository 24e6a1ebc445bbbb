/* SPDX-License-Identifier: MIT */
/*
 * Products of an image's windows with filters, as products of matrices whose left factor is read
 * from the image: rows are pixels of the output, columns channels. Each work group computes a
 * tile, each invocation 4 * 4 of it. A shader that includes this has NUMBER, load() and finish().
 */
layout(constant_id = 0) const uint TYPE = TYPE_F32;
layout(constant_id = 1) const uint TYPE_FILTER = TYPE_F32;
layout(constant_id = 2) const bool IS_TRANSPOSED = false;
layout(local_size_x = 8, local_size_y = 8) in;

#define PER_THREAD 4

shared NUMBER left[TILE_DEPTH][TILE];
shared NUMBER right[TILE_DEPTH][TILE + 1];

/* Where a row of the left factor begins: its image, and its window's first pixel. */
struct row {
	bool exists;
	uint image;
	int y;
	int x;
};

row row_of(uint index)
{
	const uint pixels = p.out_h * p.out_w, pixel = index % pixels;
	const int y = int(pixel / p.out_w), x = int(pixel % p.out_w);
	row r;

	r.exists = index < p.images * pixels;
	r.image = index / pixels * p.in_image;
	r.y = IS_TRANSPOSED ? y + p.head_h : y * int(p.stride_h) - p.head_h;
	r.x = IS_TRANSPOSED ? x + p.head_w : x * int(p.stride_w) - p.head_w;
	return r;
}

/* The element of the image that meets element k of a filter; 0 outside of the image. */
NUMBER image_at(row r, uint k, uint batch)
{
	const uint channel = k % p.depth, tap = k / p.depth;
	int y = int(tap / p.kernel_w), x = int(tap % p.kernel_w);
	bool is_inside = r.exists;

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
		return NUMBER(0);
	return load(TYPE, p.at[0] + batch + r.image + (uint(y) * p.in_w + uint(x)) * p.in_pixel +
		    channel * p.in_channel) - NUMBER(p.in_zero);
}

void main()
{
	const uint thread = gl_LocalInvocationIndex;
	const uint first_row = gl_WorkGroupID.x * TILE, first_column = gl_WorkGroupID.y * TILE;
	const uint outer = gl_WorkGroupID.z / p.inner_batches;
	const uint inner = gl_WorkGroupID.z % p.inner_batches;
	const uint in_batch = outer * p.in_outer + inner * p.in_inner;
	const uint filter_batch = p.at[1] + outer * p.filter_outer + inner * p.filter_inner;
	const uint size = p.kernel_h * p.kernel_w * p.depth, rows = p.images * p.out_h * p.out_w;
	const row mine = row_of(first_row + thread % TILE);
	NUMBER sums[PER_THREAD][PER_THREAD];

	for (uint i = 0u; i < PER_THREAD; i++)
		for (uint j = 0u; j < PER_THREAD; j++)
			sums[i][j] = NUMBER(0);
	for (uint begin = 0u; begin < size; begin += TILE_DEPTH) {
		for (uint k = thread / TILE; k < TILE_DEPTH; k += 64u / TILE)
			left[k][thread % TILE] = begin + k < size ?
				image_at(mine, begin + k, in_batch) : NUMBER(0);
		for (uint i = thread; i < TILE * TILE_DEPTH; i += 64u) {
			const uint k = i % TILE_DEPTH, column = i / TILE_DEPTH;
			NUMBER value = NUMBER(0);

			if (begin + k < size && first_column + column < p.width)
				value = load(TYPE_FILTER, filter_batch + (begin + k) * p.filter_depth +
					     (first_column + column) * p.filter_width) -
					NUMBER(p.filter_zero);
			right[k][column] = value;
		}
		barrier();
		for (uint k = 0u; k < TILE_DEPTH; k++) {
			NUMBER a[PER_THREAD], b[PER_THREAD];

			for (uint i = 0u; i < PER_THREAD; i++) {
				a[i] = left[k][gl_LocalInvocationID.y * PER_THREAD + i];
				b[i] = right[k][gl_LocalInvocationID.x * PER_THREAD + i];
			}
			for (uint i = 0u; i < PER_THREAD; i++)
				for (uint j = 0u; j < PER_THREAD; j++)
					sums[i][j] += a[i] * b[j];
		}
		barrier();
	}
	for (uint i = 0u; i < PER_THREAD; i++) {
		const uint r = first_row + gl_LocalInvocationID.y * PER_THREAD + i;
		const uint pixels = p.out_h * p.out_w;

		for (uint j = 0u; j < PER_THREAD; j++) {
			const uint column = first_column + gl_LocalInvocationID.x * PER_THREAD + j;

			if (r < rows && column < p.width)
				finish(sums[i][j], gl_WorkGroupID.z * p.bias_batch + column,
				       p.at[OUTPUT] + gl_WorkGroupID.z * p.out_batch +
				       r / pixels * p.out_image + r % pixels * p.out_pixel +
				       column * p.out_channel);
		}
	}
}
