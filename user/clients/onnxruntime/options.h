/* SPDX-License-Identifier: MIT */
/*
 * Options of an execution provider, which ONNX Runtime stores under keys that begin with
 * "ep.NAME.".
 */
#ifndef NN_ORT_OPTIONS_H
#define NN_ORT_OPTIONS_H

#include "clients/options.h"
#include "ort.h"

#define OPTION_HELP "Documentation/onnxruntime.rst"

/*
 * Reads the options of the provider `name` from a session's entries. On failure, returns false and
 * sets `error`. The caller must call options_free() even after a failure.
 */
bool options_read(struct options *options, const struct ort *ort, const OrtKeyValuePairs *entries,
		  const char *name, char error[OPTIONS_ERROR_SIZE]);

#endif
