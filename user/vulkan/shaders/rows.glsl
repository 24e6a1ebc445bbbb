/* SPDX-License-Identifier: MIT */
/*
 * Work groups that compute a row each: where it is, and how parts of it are combined.
 */
layout(local_size_x = GROUP_SIZE) in;

shared float parts[GROUP_SIZE];

uint row_index()
{
	return gl_WorkGroupID.y * GROUPS_X + gl_WorkGroupID.x;
}

bool row_exists()
{
	return row_index() < p.count;
}

/* The place of the row's first element. */
uint row_start()
{
	return row_index() / p.inner * p.size * p.inner + row_index() % p.inner;
}

float combine_max(float part)
{
	float result;

	parts[gl_LocalInvocationID.x] = part;
	barrier();
	result = parts[0];
	for (uint i = 1u; i < GROUP_SIZE; i++)
		result = max(result, parts[i]);
	barrier();
	return result;
}

float combine_sum(float part)
{
	float result = 0.0;

	parts[gl_LocalInvocationID.x] = part;
	barrier();
	for (uint i = 0u; i < GROUP_SIZE; i++)
		result += parts[i];
	barrier();
	return result;
}
