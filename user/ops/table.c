/* SPDX-License-Identifier: MIT */
/*
 * The table of operations, ordered by code: every line of ops.def is an entry.
 */
#include <stdio.h>

#include "ops/op.h"

#define NN_OP(name) extern const struct nn_op nn_op_##name;
#include "ops/ops.def"
#undef NN_OP

static const struct nn_op *const table[] = {
#define NN_OP(name) &nn_op_##name,
#include "ops/ops.def"
#undef NN_OP
};

size_t nn_op_count(void)
{
	return sizeof(table) / sizeof(table[0]);
}

const struct nn_op *nn_op_at(size_t index)
{
	return table[index];
}

const struct nn_op *nn_op_find(int32_t code)
{
	size_t low = 0, high = nn_op_count();

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table[middle]->code == code)
			return table[middle];
		if (table[middle]->code < code)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const char *nn_op_name(int32_t code)
{
	static _Thread_local char text[32];
	const struct nn_op *op = nn_op_find(code);

	if (op)
		return op->name;
	snprintf(text, sizeof(text), "operation %d", code);
	return text;
}

uint32_t nn_op_feature_level(void)
{
	/* Code of the last operation of each level; 5 and 8 added none. */
	static const int32_t last[] = { 28, 37, 94, 101, 101, 103, 105, 105 };
	int32_t code = 0;
	uint32_t level;

	for (level = 0; level < sizeof(last) / sizeof(last[0]); level++) {
		for (; code <= last[level]; code++) {
			if (!nn_op_find(code))
				return level ? level : 1;
		}
	}
	return level;
}
