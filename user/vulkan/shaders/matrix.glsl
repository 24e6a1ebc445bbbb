/* SPDX-License-Identifier: MIT */
/*
 * A work group computes a tile of a product by cooperative matrices of float16. Each subgroup adds
 * up some matrices of the tile in float32.
 */
layout(constant_id = 3) const uint M = 8;
layout(constant_id = 4) const uint N = 8;
layout(constant_id = 5) const uint K = 8;
layout(constant_id = 6) const uint MATRICES = 2;	/* of a subgroup */
layout(local_size_x = 64) in;

/* Rows of the left factor and columns of the right one, four of the depth together. */
shared FACTOR left[TILE * TILE_DEPTH / 4];
shared FACTOR right[TILE * TILE_DEPTH / 4];
shared float tile[TILE * TILE];

void main()
{
	const uint thread = gl_LocalInvocationIndex, parts = TILE_DEPTH / 4;
	const uint first_row = gl_WorkGroupID.x * TILE, first_column = gl_WorkGroupID.y * TILE;
	const uint size = p.kernel_h * p.kernel_w * ((p.depth + 3u) / 4u);
	const row mine = row_of(first_row + thread % TILE);
	coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> sums[MATRICES];
	coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA> a;
	coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB> b;

	for (uint i = 0u; i < MATRICES; i++)
		sums[i] = coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(0.0);
	for (uint begin = 0u; begin < size; begin += parts) {
		for (uint i = thread; i < TILE * parts; i += 64u) {
			left[i % TILE * parts + i / TILE] =
				factor(image_at(mine, part_of(begin + i / TILE)));
			right[i] = factor(filter_at(filter_start(), part_of(begin + i % parts),
						    first_column + i / parts));
		}
		barrier();
		for (uint k = 0u; k < TILE_DEPTH; k += K) {
			for (uint i = 0u; i < MATRICES; i++) {
				const uint matrix = gl_SubgroupID * MATRICES + i;

				coopMatLoad(a, left, matrix / (TILE / N) * M * parts + k / 4u, parts,
					    gl_CooperativeMatrixLayoutRowMajor);
				coopMatLoad(b, right, matrix % (TILE / N) * N * parts + k / 4u, parts,
					    gl_CooperativeMatrixLayoutColumnMajor);
				sums[i] = coopMatMulAdd(a, b, sums[i]);
			}
		}
		barrier();
	}
	for (uint i = 0u; i < MATRICES; i++) {
		const uint matrix = gl_SubgroupID * MATRICES + i;

		coopMatStore(sums[i], tile, matrix / (TILE / N) * M * TILE + matrix % (TILE / N) * N,
			     TILE, gl_CooperativeMatrixLayoutRowMajor);
	}
	barrier();
	for (uint i = 4u * thread; i < TILE * TILE; i += 4u * 64u)
		finish_row(vec4(tile[i], tile[i + 1u], tile[i + 2u], tile[i + 3u]),
			   first_row + i / TILE, first_column + i % TILE);
}
