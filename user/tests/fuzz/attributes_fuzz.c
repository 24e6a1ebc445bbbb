/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the decoding of a client's attributes in a worker. If the decoder accepts the attributes,
 * all pointers must stay in one allocation, and encoding must restore the original bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "model/attribute.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t sum_of(const struct nn_attributes *attributes)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < attributes->count; i++) {
		const struct nn_attribute *a = &attributes->list[i];

		sum += (uint32_t)strlen(a->extension);
		for (uint32_t k = 0; k < a->size; k++)
			sum = sum * 31 + ((const uint8_t *)a->data)[k];
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nn_attributes *attributes, *again;
	size_t out_size;
	void *out;

	if (nn_attributes_decode(data, size, &attributes, NULL) || !attributes)
		return 0;
	if (nn_attributes_encode(attributes, size, &out, &out_size, NULL) || out_size != size ||
	    nn_attributes_decode(out, out_size, &again, NULL) ||
	    sum_of(again) != sum_of(attributes))
		abort();
	free(again);
	free(out);
	free(attributes);
	return 0;
}
