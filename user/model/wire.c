/* SPDX-License-Identifier: MIT */
/* Computes the offsets of a serialised model's sections; used by the encoder and the decoder. */
#include "wire.h"

bool wire_layout(const struct wire_header *h, uint64_t start[W_END + 1])
{
	const uint64_t lengths[W_END] = {
		[W_SUBGRAPHS] = sizeof(struct wire_subgraph) * (uint64_t)h->num_subgraphs,
		[W_OPERANDS] = sizeof(struct wire_operand) * (uint64_t)h->num_operands,
		[W_OPERATIONS] = sizeof(struct wire_operation) * (uint64_t)h->num_operations,
		[W_EXTENSIONS] = sizeof(struct wire_extension) * (uint64_t)h->num_extensions,
		[W_POOLS] = sizeof(uint64_t) * (uint64_t)h->num_pools,
		[W_INDICES] = sizeof(uint32_t) * (uint64_t)h->num_indices,
		[W_SCALES] = sizeof(float) * (uint64_t)h->num_scales,
		[W_BYTES] = h->num_bytes,
		[W_VALUES] = h->values_size,
	};
	int i;

	start[0] = sizeof(*h);
	for (i = 0; i < W_END; i++)
		if (__builtin_add_overflow(start[i], lengths[i], &start[i + 1]))
			return false;
	return true;
}
