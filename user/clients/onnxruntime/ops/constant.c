// SPDX-License-Identifier: MIT
/* Operators whose results are computed during translation: shapes, and arithmetic on shapes. */
#include "ops.h"

#include <string.h>

void constant_op(struct lowering *t)
{
	const struct attribute *value = attr(t, "value");
	int type = type_out(t, 0);

	const void *elements = value ? attribute_of_count(value, type, shape_count(&value->shape)) :
				       NULL;

	if (!elements)
		return refuse(t, "the constant must be a tensor of %s", onnx_name(type));
	set_out_data(t, 0, type, elements, &value->shape);
}

void constant_of_shape_op(struct lowering *t)
{
	const struct attribute *value = attr(t, "value");
	int type = type_out(t, 0);
	size_t size = onnx_size(type);
	int64_t count = 0, *dims = ints_in(t, 0, &count), elements;
	const void *element = attribute_of_count(value, type, 1);
	struct shape shape = { 0 };
	char *data;

	if (!dims || count > MAX_RANK || !size || (value && !element))
		return refuse(t, "the shape must be constant, and the value one %s",
			      onnx_name(type));
	shape.rank = (int)count;
	for (int i = 0; i < shape.rank; i++)
		shape.dims[i] = dims[i];
	elements = shape_count(&shape);
	if (elements <= 0 || elements > 1 << 24)
		return refuse(t, "output of %lld elements, not 1 to 2^24", (long long)elements);
	data = builder_alloc(t->b, size * (size_t)elements);
	for (int64_t i = 0; data && element && i < elements; i++)
		memcpy(data + size * (size_t)i, element, size);
	set_out_data(t, 0, type, data, &shape);
}

/* Translates Shape and Size. */
void shape_op(struct lowering *t)
{
	const struct shape *shape = any_shape_in(t, 0);
	int64_t begin = attr_int(t, "start", 0), end = attr_int(t, "end", INT32_MAX);
	int64_t *numbers = builder_alloc(t->b, MAX_RANK * sizeof(*numbers));
	struct shape to = { 0 };
	int rank = shape->rank;

	if (!numbers || t->refused)
		return;
	if (is_node(t, "Size")) {
		numbers[0] = shape_count(shape);
		set_out_data(t, 0, ONNX_INT64, numbers, &to);
		return;
	}
	begin = begin < 0 ? begin + rank : begin;
	end = end < 0 ? end + rank : end;
	begin = begin < 0 ? 0 : begin;
	end = end > rank ? rank : end;
	if (end <= begin)
		return refuse(t, "start and end select no dimension");
	to.rank = 1;
	to.dims[0] = end - begin;
	for (int64_t i = begin; i < end; i++)
		numbers[i - begin] = shape->dims[i];
	set_out_data(t, 0, ONNX_INT64, numbers, &to);
}
