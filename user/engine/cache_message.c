// SPDX-License-Identifier: MIT
/*
 * Checks what workers ask the keeper of the compilation cache.
 */
#include <string.h>

#include "engine/cache_message.h"

bool cache_request_parse(const void *data, size_t size, struct cache_request *request)
{
	if (size != sizeof(*request))
		return false;
	memcpy(request, data, sizeof(*request));
	return (request->kind == CACHE_STORE || request->kind == CACHE_QUERY) &&
	       !request->__reserved;
}
