/* SPDX-License-Identifier: MIT */
/*
 * Products of few rows: a work group computes VECTOR_COLUMNS of a row, and its invocations share the
 * depth. A shader that includes this has what conv.glsl takes, except factors.
 */
layout(local_size_x = GROUP_SIZE) in;

shared NUMBER parts[VECTOR_COLUMNS][GROUP_SIZE];

void main()
{
	const uint thread = gl_LocalInvocationID.x, row = gl_WorkGroupID.x;
	const uint first = gl_WorkGroupID.y * VECTOR_COLUMNS, column = first + thread;
	const uint outer = gl_WorkGroupID.z / p.inner_batches;
	const uint inner = gl_WorkGroupID.z % p.inner_batches;
	const uint image = outer * p.in_outer + inner * p.in_inner + row * p.in_image;
	const uint filters = p.at[1] + outer * p.filter_outer + inner * p.filter_inner;
	const NUMBER zero = zero_of(image);
	NUMBER sums[VECTOR_COLUMNS];

	for (uint c = 0u; c < VECTOR_COLUMNS; c++)
		sums[c] = NUMBER(0);
	for (uint k = thread; k < p.depth; k += GROUP_SIZE) {
		const NUMBER x = load(IMAGE_TYPE, p.at[0] + image + k * p.in_channel) - zero;

		/* The last work group computes the last column more than once. */
		for (uint c = 0u; c < VECTOR_COLUMNS; c++)
			sums[c] += x * (load(TYPE_FILTER, filters + k * p.filter_depth +
					     min(first + c, p.width - 1u) * p.filter_width) -
					NUMBER(p.filter_zero));
	}
	for (uint c = 0u; c < VECTOR_COLUMNS; c++)
		parts[c][thread] = sums[c];
	barrier();
	if (thread >= VECTOR_COLUMNS || column >= p.width)
		return;
	for (uint i = 1u; i < GROUP_SIZE; i++)
		parts[thread][0] += parts[thread][i];
	finish(parts[thread][0], gl_WorkGroupID.z * p.bias_batch + column,
	       p.at[OUTPUT] + gl_WorkGroupID.z * p.out_batch + row * p.out_image +
	       column * p.out_channel, image);
}
