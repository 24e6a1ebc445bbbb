// SPDX-License-Identifier: MIT
/* Reads the functions of ONNX Runtime from its tables, by index. */
#include "ort.h"

#include <stdlib.h>
#include <string.h>

bool ort_load(struct ort *ort, const struct ort_api_base *base)
{
	void *const *api = base->GetApi(ORT_VERSION);
	const char *version = base->GetVersionString();
	void *const *ep;

	if (!api)
		return false;
	ort->names_parts = strncmp(version, "1.", 2) || atoi(version + 2) >= 25;
#define CALL(index, result, name, parameters) ort->name = (result (*) parameters)api[index];
#define EP_CALL(index, result, name, parameters)
#include "ort_calls.def"
#undef CALL
#undef EP_CALL
	ep = (void *const *)ort->GetEpApi();
	if (!ep)
		return false;
#define CALL(index, result, name, parameters)
#define EP_CALL(index, result, name, parameters) ort->name = (result (*) parameters)ep[index];
#include "ort_calls.def"
#undef CALL
#undef EP_CALL
	return true;
}

bool ort_ok(const struct ort *ort, OrtStatus *status)
{
	if (status)
		ort->ReleaseStatus(status);
	return !status;
}

typedef OrtStatus *count_of(const void *object, size_t *count);
typedef OrtStatus *list_of(const void *object, void **list, size_t count);

void *ort_list(const struct ort *ort, const void *object, void *counter, void *lister,
	       size_t *count)
{
	void **list = NULL;

	if (ort_ok(ort, ((count_of *)counter)(object, count)))
		list = calloc(*count + 1, sizeof(*list));
	if (!list || !*count || ort_ok(ort, ((list_of *)lister)(object, list, *count)))
		return list;
	free(list);
	return NULL;
}
