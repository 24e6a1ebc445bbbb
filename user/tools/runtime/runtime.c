/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "runtime.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../tool.h"

static bool is_text(const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!isprint((unsigned char)bytes[i]) && !isspace((unsigned char)bytes[i]))
			return false;
	return true;
}

/*
 * Finds the runtime for a model by the file's first bytes; the file's name does not matter. Files
 * of TensorFlow Lite and of ONNX Runtime's own format begin with an offset, followed by the
 * format's name. ONNX files begin with the tag of a field of ModelProto. Returns NULL for an
 * unknown format.
 */
static const struct runtime_kind *find_kind(const char *begin, size_t length)
{
	static const unsigned char tags[] = { 0x08, 0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42, 0x72, 0xa2, 0xca };

	if (length == 8 && !memcmp(begin + 4, "TFL3", 4))
		return &runtime_tflite;
	if (length == 8 && !memcmp(begin + 4, "ORTM", 4))
		return &runtime_onnxruntime;
	return memchr(tags, (unsigned char)begin[0], sizeof(tags)) && !is_text(begin, length) ?
	       &runtime_onnxruntime : NULL;
}

static const struct runtime_kind *kind_of(const char *model, char error[RUNTIME_ERROR])
{
	const struct runtime_kind *kind;
	FILE *file = fopen(model, "re");
	char begin[8] = "";
	size_t length = file ? fread(begin, 1, sizeof(begin), file) : 0;

	if (!file || !length) {
		snprintf(error, RUNTIME_ERROR, "%s: %s", model,
			 file && !ferror(file) ? "the file is empty" : strerror(errno));
		if (file)
			fclose(file);
		return NULL;
	}
	fclose(file);
	kind = find_kind(begin, length);
	if (!kind)
		snprintf(error, RUNTIME_ERROR,
			 "%.300s is not a model of ONNX (.onnx, .ort) or TensorFlow Lite (.tflite)",
			 model);
	return kind;
}

struct runtime *runtime_open(const char *model, const struct runtime_options *options,
			     char error[RUNTIME_ERROR])
{
	const struct runtime_kind *kind = kind_of(model, error);
	struct runtime *runtime = kind ? kind->open(model, options, error) : NULL;

	if (runtime)
		runtime->kind = kind;
	return runtime;
}

void runtime_close(struct runtime *runtime)
{
	if (runtime)
		runtime->kind->close(runtime);
}

size_t runtime_size(enum runtime_type type)
{
	static const size_t sizes[] = {
		[RUNTIME_FLOAT32] = 4, [RUNTIME_FLOAT16] = 2, [RUNTIME_UINT8] = 1, [RUNTIME_INT8] = 1,
		[RUNTIME_INT32] = 4, [RUNTIME_INT64] = 8, [RUNTIME_BOOL] = 1, [RUNTIME_OTHER] = 0,
	};

	return sizes[type];
}

/*
 * Fills a tensor. Floats are from 0 to 1, like the pixels of images; integers are 0 or 1, because
 * many integers are indices.
 */
static bool fill(const struct runtime_tensor *tensor, uint32_t *state)
{
	size_t size = runtime_size(tensor->type);

	for (size_t i = 0; size && i < tensor->bytes / size; i++) {
		uint32_t random;

		*state = *state * 1664525 + 1013904223;
		random = *state >> 8;
		switch (tensor->type) {
		case RUNTIME_FLOAT32:
			((float *)tensor->data)[i] = (float)random / (1 << 24);
			break;
		/* Makes numbers from 0.5 to 1: the bits of the fraction are random. */
		case RUNTIME_FLOAT16:
			((uint16_t *)tensor->data)[i] = (uint16_t)(0x3800 | (random & 0x3ff));
			break;
		case RUNTIME_UINT8:
		case RUNTIME_INT8:
			((uint8_t *)tensor->data)[i] = (uint8_t)random;
			break;
		case RUNTIME_INT32:
			((int32_t *)tensor->data)[i] = random & 1;
			break;
		case RUNTIME_INT64:
			((int64_t *)tensor->data)[i] = random & 1;
			break;
		default:
			((uint8_t *)tensor->data)[i] = random & 1;
		}
	}
	return size;
}

bool runtime_fill(struct runtime *runtime, unsigned int seed, char error[RUNTIME_ERROR])
{
	uint32_t state = seed;

	for (unsigned int i = 0; i < runtime->kind->count_inputs(runtime); i++) {
		struct runtime_tensor tensor;

		if (!runtime->kind->input(runtime, i, &tensor) || !fill(&tensor, &state)) {
			snprintf(error, RUNTIME_ERROR,
				 "no numbers can be generated for the type of input %u", i);
			return false;
		}
	}
	return true;
}

void *runtime_load(const char *wanted, const char *const *names, const char *package,
		   char error[RUNTIME_ERROR])
{
	void *library = NULL;

	if (wanted) {
		library = dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
		if (!library)
			snprintf(error, RUNTIME_ERROR, "%s", dlerror());
		return library;
	}
	for (; *names && !library; names++)
		library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		snprintf(error, RUNTIME_ERROR,
			 "the model's runtime was not found: install %s, or name its "
			 "library by --runtime", package);
	return library;
}

bool runtime_plugin(const char *name, char path[RUNTIME_PATH], char error[RUNTIME_ERROR])
{
	char folder[PATH_MAX];

	if (tool_plugins(name, folder)) {
		snprintf(path, RUNTIME_PATH, "%s/%s", folder, name);
		return true;
	}
	snprintf(error, RUNTIME_ERROR, "there is no %.300s/%s: install libnnaccel-plugins", folder, name);
	return false;
}

void runtime_catch(struct runtime_caught *c)
{
	c->errors = -1;
	c->caught = memfd_create("nnaccel-errors", MFD_CLOEXEC);
	if (c->caught < 0)
		return;
	fflush(stderr);
	c->errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	if (c->errors >= 0)
		dup2(c->caught, STDERR_FILENO);
}

void runtime_release(struct runtime_caught *c, const char *but)
{
	FILE *file = NULL;
	char line[1024];

	fflush(stderr);
	if (c->errors >= 0) {
		dup2(c->errors, STDERR_FILENO);
		close(c->errors);
	}
	if (c->caught >= 0 && !lseek(c->caught, 0, SEEK_SET))
		file = fdopen(c->caught, "r");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, but, strlen(but)) && line[0] != '\n')
			fputs(line, stderr);
	if (file)
		fclose(file);
	else if (c->caught >= 0)
		close(c->caught);
}
