/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the decoding of a worker's list of extensions in a client. If the decoder accepts the
 * list, all pointers of the decoded list must be valid and lie in one allocation.
 */
#include <stdlib.h>
#include <string.h>

#include "model/device_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct nn_device_extension_item *items, uint32_t count, bool are_types)
{
	for (uint32_t i = 0; i < count; i++)
		if (!strlen(items[i].name) || !items[i].element_size == are_types)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nn_device_extension *list;
	uint32_t count;

	if (nn_device_extensions_decode(data, size, &list, &count, NULL))
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		if (!strlen(list[i].name))
			abort();
		use(list[i].types, list[i].num_types, true);
		use(list[i].operations, list[i].num_operations, false);
	}
	free(list);
	return 0;
}
