/* SPDX-License-Identifier: MIT */
/*
 * A work group computes a tile of a product, each invocation 4 * 4 of it.
 */
layout(local_size_x = 8, local_size_y = 8) in;

/* Elements of both factors, four of the depth together. */
shared FACTOR left[TILE_DEPTH / 4][TILE];
shared FACTOR right[TILE_DEPTH / 4][TILE];

NUMBER4 products(FACTOR a, FACTOR b0, FACTOR b1, FACTOR b2, FACTOR b3)
{
	return NUMBER4(product(a, b0), product(a, b1), product(a, b2), product(a, b3));
}

void main()
{
	const uint thread = gl_LocalInvocationIndex;
	const uint first_row = gl_WorkGroupID.x * TILE, first_column = gl_WorkGroupID.y * TILE;
	const uint filter_batch = filter_start();
	const uint size = p.kernel_h * p.kernel_w * ((p.depth + 3u) / 4u);
	const row mine = row_of(first_row + thread % TILE);
	const uint rows = 4u * gl_LocalInvocationID.y, columns = 4u * gl_LocalInvocationID.x;
	NUMBER4 sums0 = NUMBER4(0), sums1 = NUMBER4(0), sums2 = NUMBER4(0), sums3 = NUMBER4(0);
#ifdef WITH_ZEROS
	ivec4 left_sums = ivec4(0), right_sums = ivec4(0);
#endif

	for (uint begin = 0u; begin < size; begin += TILE_DEPTH / 4) {
		for (uint i = thread; i < TILE * TILE_DEPTH / 4u; i += 64u) {
			left[i / TILE][i % TILE] =
				factor(image_at(mine, part_of(begin + i / TILE)));
			right[i % (TILE_DEPTH / 4)][i / (TILE_DEPTH / 4)] =
				factor(filter_at(filter_batch,
						 part_of(begin + i % (TILE_DEPTH / 4)),
						 first_column + i / (TILE_DEPTH / 4)));
		}
		barrier();
		for (uint k = 0u; k < TILE_DEPTH / 4; k++) {
			const FACTOR b0 = right[k][columns], b1 = right[k][columns + 1u];
			const FACTOR b2 = right[k][columns + 2u], b3 = right[k][columns + 3u];

			sums0 += products(left[k][rows], b0, b1, b2, b3);
			sums1 += products(left[k][rows + 1u], b0, b1, b2, b3);
			sums2 += products(left[k][rows + 2u], b0, b1, b2, b3);
			sums3 += products(left[k][rows + 3u], b0, b1, b2, b3);
#ifdef WITH_ZEROS
			left_sums += products(ONES, left[k][rows], left[k][rows + 1u],
					      left[k][rows + 2u], left[k][rows + 3u]);
			right_sums += products(ONES, b0, b1, b2, b3);
#endif
		}
		barrier();
	}
#ifdef WITH_ZEROS
	/* The sum of (a - x) (b - y) is that of ab - ay - bx + xy. */
	const int count = int((size + TILE_DEPTH / 4 - 1) / (TILE_DEPTH / 4)) * TILE_DEPTH;
	const ivec4 zeros = ivec4(row_of(first_row + rows).zero, row_of(first_row + rows + 1u).zero,
				  row_of(first_row + rows + 2u).zero,
				  row_of(first_row + rows + 3u).zero);
	const ivec4 rest = (p.filter_zero - SHIFT(TYPE_FILTER)) * (zeros * count - left_sums);

	sums0 += rest.x - zeros.x * right_sums;
	sums1 += rest.y - zeros.y * right_sums;
	sums2 += rest.z - zeros.z * right_sums;
	sums3 += rest.w - zeros.w * right_sums;
#endif
	finish_row(sums0, first_row + rows, first_column + columns);
	finish_row(sums1, first_row + rows + 1u, first_column + columns);
	finish_row(sums2, first_row + rows + 2u, first_column + columns);
	finish_row(sums3, first_row + rows + 3u, first_column + columns);
}
