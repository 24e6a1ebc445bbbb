// SPDX-License-Identifier: MIT
/*
 * Compiles only if the tables of calls in user/run and user/tools/runtime have the indices and
 * parameters of ONNX Runtime's header.
 */
#include <onnxruntime_c_api.h>
#include <stddef.h>

#define CALL(index, result, name, parameters) \
	_Static_assert(offsetof(OrtApi, name) == (index) * sizeof(void *), #name); \
	_Static_assert(__builtin_types_compatible_p(result (*) parameters, \
						    __typeof__(((OrtApi *)0)->name)), #name);
#define CREATE(index, name, parameters, arguments, path) CALL(index, OrtStatus *, name, parameters)
#define RUN(index, name, parameters, arguments) CALL(index, OrtStatus *, name, parameters)
#define PROVIDER(index, name, parameters, arguments, what) CALL(index, OrtStatus *, name, parameters)
#include "run/ort_calls.def"
#include "tools/runtime/ort_calls.def"

