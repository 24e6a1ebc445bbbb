// SPDX-License-Identifier: MIT
/*
 * Imitates an ONNX Runtime that is too old for plug-in providers. Aborts if the program requests an
 * API version above 22.
 */
#include <stdlib.h>
#include <onnxruntime_c_api.h>

static const char *ORT_API_CALL version(void)
{
	return "1.22.1";
}

static const OrtApi *ORT_API_CALL get_api(uint32_t number)
{
	if (number > 22)
		abort();
	return NULL;
}

const OrtApiBase *ORT_API_CALL OrtGetApiBase(void)
{
	static const OrtApiBase base = { get_api, version };

	return &base;
}
