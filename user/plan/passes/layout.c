/* SPDX-License-Identifier: MIT */
/*
 * Chooses the place of each operand in the arena of a compiled plan. Two operands that are not
 * needed at the same time may overlap in the arena. The largest operand is placed first.
 */
#include <stdlib.h>

#include "plan/compiled.h"

struct item {
	struct place *place;
	size_t size;
};

static int by_size(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int by_offset(const void *a, const void *b)
{
	const struct item *const *x = a, *const *y = b;
	size_t p = (*x)->place->offset, q = (*y)->place->offset;

	return p < q ? -1 : p > q;
}

static bool overlap(const struct place *a, const struct place *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/*
 * Returns the lowest offset at which `item` overlaps no placed item that is needed at the same
 * time.
 */
static size_t find_gap(const struct item *items, size_t placed, const struct item *item,
		       const struct item **busy)
{
	size_t count = 0, offset = 0;

	for (size_t i = 0; i < placed; i++)
		if (overlap(items[i].place, item->place))
			busy[count++] = &items[i];
	qsort(busy, count, sizeof(*busy), by_offset);
	for (size_t i = 0; i < count; i++) {
		if (busy[i]->place->offset >= offset + item->size)
			break;
		if (busy[i]->place->offset + busy[i]->size > offset)
			offset = busy[i]->place->offset + busy[i]->size;
	}
	return offset;
}

bool compiled_layout(struct compiled *c)
{
	uint32_t operands = c->plan->graphs[0].subgraph->num_operands;
	struct item *items = calloc((size_t)operands + 1, sizeof(*items));
	const struct item **busy = calloc((size_t)operands + 1, sizeof(*busy));
	bool enough = items && busy;
	size_t count = 0;

	for (uint32_t i = 0; enough && i < operands; i++) {
		if (c->places[i].kind == PLACE_ARENA && c->places[i].root == i)
			items[count++] = (struct item){
				&c->places[i], nn_kernel_aligned(nn_tensor_size(&c->tensors[i]) + 1)
			};
	}
	if (enough)
		qsort(items, count, sizeof(*items), by_size);
	for (size_t i = 0; i < count; i++) {
		items[i].place->offset = find_gap(items, i, &items[i], busy);
		if (items[i].place->offset + items[i].size > c->arena_size)
			c->arena_size = items[i].place->offset + items[i].size;
	}
	free(busy);
	free(items);
	return enough;
}
