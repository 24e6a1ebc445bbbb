// SPDX-License-Identifier: MIT
/*
 * Checks what workers ask the keeper of the compilation cache.
 */
#include <string.h>

#include "kit/keeper_message.h"

static bool is_zero(const uint8_t hash[DIGEST_SIZE])
{
	for (size_t i = 0; i < DIGEST_SIZE; i++)
		if (hash[i])
			return false;
	return true;
}

bool cache_request_parse(const void *data, size_t size, struct cache_request *request)
{
	if (size != sizeof(*request))
		return false;
	memcpy(request, data, sizeof(*request));
	switch (request->kind) {
	case CACHE_STORE:
	case CACHE_QUERY:
		return !request->model_size && !request->data_size;
	case CACHE_NEW:
		return is_zero(request->hash);
	case CACHE_GET:
	case CACHE_DONE:
	case CACHE_DROP:
		return is_zero(request->hash) && !request->model_size && !request->data_size;
	}
	return false;
}

bool cache_admin_parse(const void *data, size_t size, struct cache_request *request)
{
	if (size != sizeof(*request))
		return false;
	memcpy(request, data, sizeof(*request));
	if (!is_zero(request->hash) || request->data_size)
		return false;
	if (request->kind == CACHE_SHOW || request->kind == CACHE_CHECK)
		return !request->model_size;
	return request->kind == CACHE_CLEAR &&
	       (request->model_size <= UINT32_MAX || request->model_size == CACHE_ALL_USERS);
}
