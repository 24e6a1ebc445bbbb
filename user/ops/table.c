/* SPDX-License-Identifier: MIT */
/*
 * The table of operations, ordered by code: each line of ops.def is an entry.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "model/extension.h"
#include "model/fingerprint.h"
#include "ops/traits.h"

#define NN_OP(name, ...) extern const struct nn_op nn_op_##name;
#include "ops/ops.def"
#undef NN_OP

static const struct nn_op *const table[] = {
#define NN_OP(name, ...) &nn_op_##name,
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

/*
 * Registered operations. An entry of `added` never changes after it is set, and the first NULL ends
 * the list.
 */
#define MAX_ADDED 1024
static _Atomic(const struct nn_op *) added[MAX_ADDED + 1];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const struct nn_op *find_added(int32_t code)
{
	const struct nn_op *op;

	for (size_t i = 0; (op = atomic_load_explicit(&added[i], memory_order_acquire)); i++)
		if (op->code == code)
			return op;
	return NULL;
}

enum nn_status nn_op_register(const struct nn_op *op, struct nn_error *err)
{
	size_t end = 0;

	pthread_mutex_lock(&lock);
	if (nn_op_find(op->code))
		end = SIZE_MAX;
	else
		while (end < MAX_ADDED && added[end])
			end++;
	if (end < MAX_ADDED)
		atomic_store_explicit(&added[end], op, memory_order_release);
	pthread_mutex_unlock(&lock);
	if (end == SIZE_MAX)
		return nn_fail(err, NN_INVALID_ARGUMENT, "operation %s is registered already",
			       op->name);
	if (end == MAX_ADDED)
		return nn_fail(err, NN_RESOURCE_EXHAUSTED_PERSISTENT,
			       "operation %s exceeds the limit of %d", op->name, MAX_ADDED);
	return NN_OK;
}

uint64_t nn_op_added_fingerprint(void)
{
	uint64_t on[3] = { 0 };
	const struct nn_op *op;

	for (size_t i = 0; (op = atomic_load_explicit(&added[i], memory_order_acquire)); i++) {
		on[1] = (uint64_t)op->code;
		on[2] = op->version;
		on[0] = nn_fingerprint64(on, sizeof(on));
	}
	return on[0];
}

/*
 * Returns the index of an operation code's line in ops.def, or the number of lines if no line has
 * the code.
 */
static size_t line_of(int32_t code)
{
	size_t low = 0, high = nn_op_count();

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table[middle]->code == code)
			return middle;
		if (table[middle]->code < code)
			low = middle + 1;
		else
			high = middle;
	}
	return nn_op_count();
}

const struct nn_op *nn_op_find(int32_t code)
{
	const size_t line = line_of(code);

	return line < nn_op_count() ? table[line] : find_added(code);
}

const struct nn_traits *nn_traits(int32_t code)
{
	/* The last element of `traits` is for operations that ops.def does not list. */
	static const struct nn_traits traits[] = {
#define NN_OP(name, ...) { __VA_ARGS__ },
#include "ops/ops.def"
#undef NN_OP
		{ .activation = 0 }
	};

	return &traits[line_of(code)];
}

const char *nn_op_name(int32_t code)
{
	static _Thread_local char text[192];
	const struct nn_extension *extension = nn_extension_at((uint32_t)code >> 16);
	const struct nn_op *op = nn_op_find(code);

	if (op)
		return op->name;
	if (extension)
		snprintf(text, sizeof(text), "operation %d of %.128s", code & 0xffff,
			 extension->name);
	else
		snprintf(text, sizeof(text), "operation %d", code);
	return text;
}

uint32_t nn_op_feature_level(void)
{
	/*
	 * Code of the last operation of each NNAPI feature level. Feature levels 5 and 8 added no
	 * operation.
	 */
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
