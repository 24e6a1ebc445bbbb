/* SPDX-License-Identifier: MIT */
/*
 * Values of operands while a plan runs: their sizes and their memory.
 */
#include <string.h>

#include "plan/run/value.h"

struct value value_declared(const struct nn_operand *operand)
{
	struct value value = {
		.tensor = {
			.type = operand->type,
			.rank = operand->rank,
			.scale = operand->scale,
			.zero_point = operand->zero_point,
			.extra = &operand->extra,
			.length = operand->location.length,
			.omitted = operand->lifetime == NN_NO_VALUE,
			.is_model_output = operand->lifetime == NN_SUBGRAPH_OUTPUT,
		},
	};

	memcpy(value.tensor.dims, operand->dims, sizeof(operand->dims));
	return value;
}

bool value_size(int32_t type, uint32_t rank, const uint32_t *dims, uint32_t *size)
{
	const struct nn_type_info *info = nn_type_info_of(type);
	uint64_t product = info ? info->element_size : 0;
	bool is_empty = false;

	for (uint32_t i = 0; i < rank; i++) {
		is_empty |= !dims[i];
		product *= dims[i] ? dims[i] : 1;
		if (product > UINT32_MAX)
			return false;
	}
	*size = is_empty ? 0 : product;
	return true;
}

bool value_fits(const struct nn_tensor *tensor, const struct nn_tensor *declared)
{
	const struct nn_type_info *info = nn_type_info_of(declared->type);

	if (tensor->type != declared->type)
		return false;
	if (!declared->rank && info && info->is_tensor)
		return true;
	if (tensor->rank != declared->rank)
		return false;
	for (uint32_t i = 0; i < tensor->rank; i++)
		if (declared->dims[i] && declared->dims[i] != tensor->dims[i])
			return false;
	return true;
}

bool value_is_aligned(const void *data, int32_t type)
{
	const struct nn_type_info *info = nn_type_info_of(type);
	/*
	 * The required alignment is the largest power of two that divides the element's size,
	 * because elements of extension types may have any size.
	 */
	uint32_t alignment = info ? info->element_size & -info->element_size : 0;

	return !alignment || (uintptr_t)data % alignment == 0;
}

bool value_allocate(struct value *value, struct heap *heap)
{
	value->owned = heap_alloc(heap, nn_tensor_size(&value->tensor));
	value->tensor.data = value->owned;
	value->foreign = false;
	return value->owned;
}

bool value_own(struct value *value, struct heap *heap)
{
	const void *from = value->tensor.data;

	if (value->owned)
		return true;
	if (!value_allocate(value, heap))
		return false;
	memcpy(value->owned, from, nn_tensor_size(&value->tensor));
	return true;
}

void value_release(struct value *value, struct heap *heap)
{
	heap_free(heap, value->owned);
	value->owned = NULL;
}
