/* SPDX-License-Identifier: MIT */
/*
 * A chain of steps on each element; a shader that includes this has NUMBER, load(), store() and step().
 */
layout(local_size_x = GROUP_SIZE) in;

void main()
{
	const uint i = linear_index();
	uint from[3] = uint[](p.at[0], p.at[1], p.at[2]), rest = i;
	NUMBER b = NUMBER(0), c = NUMBER(0), value;

	if (i >= p.count)
		return;
	for (uint axis = p.rank - 1u; axis > 0u; axis--) {
		const uint k = rest % p.dims[axis];

		rest /= p.dims[axis];
		from[0] += k * p.moves[axis];
		from[1] += k * p.moves[MAX_AXES + axis];
		from[2] += k * p.moves[2 * MAX_AXES + axis];
	}
	from[0] += rest * p.moves[0];
	from[1] += rest * p.moves[MAX_AXES];
	from[2] += rest * p.moves[2 * MAX_AXES];
	value = load(TYPE_A, from[0]);
	if (p.num_operands > 0u)
		b = load(TYPE_B, from[1]);
	if (p.num_operands > 1u)
		c = load(TYPE_B, from[2]);
	for (uint s = 0u; s < p.num_steps; s++)
		value = step_of(p.steps[s], value, p.operands[s] == 2u ? c : b, p.x[s], p.y[s]);
	store(TYPE_OUT, p.at[OUTPUT] + i, value);
}
