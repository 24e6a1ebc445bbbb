// SPDX-License-Identifier: MIT
/*
 * Calls libggml, which scripts/mesa unpacks. This file declares libggml's functions, so that the
 * build needs no header.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "ggml.h"
#include "ops/float16.h"

enum { GGML_F32, GGML_F16 };		/* of enum ggml_type */

#define CONTEXT_BYTES (1u << 20)

struct parameters {			/* struct ggml_init_params */
	size_t size;
	void *memory;
	bool no_alloc;
};

#define CALLS										\
	CALL(void *, ggml_init, (struct parameters p))					\
	CALL(void, ggml_free, (void *context))						\
	CALL(void *, ggml_new_tensor_2d, (void *context, int type, int64_t x, int64_t y)) \
	CALL(void *, ggml_mul_mat, (void *context, void *a, void *b))			\
	CALL(void *, ggml_new_graph, (void *context))					\
	CALL(void, ggml_build_forward_expand, (void *graph, void *tensor))		\
	CALL(void *, ggml_backend_load, (const char *path))				\
	CALL(size_t, ggml_backend_dev_count, (void))					\
	CALL(void *, ggml_backend_dev_get, (size_t index))				\
	CALL(void *, ggml_backend_dev_init, (void *device, const char *parameters))	\
	CALL(void *, ggml_backend_alloc_ctx_tensors, (void *context, void *backend))	\
	CALL(void, ggml_backend_buffer_free, (void *buffer))				\
	CALL(void, ggml_backend_tensor_set,						\
	     (void *tensor, const void *data, size_t offset, size_t size))		\
	CALL(void, ggml_backend_tensor_get,						\
	     (void *tensor, void *data, size_t offset, size_t size))			\
	CALL(int, ggml_backend_graph_compute, (void *backend, void *graph))

#define CALL(type, name, parameters) static type (*name) parameters;
CALLS
#undef CALL

static const struct {
	const char *name;
	void **call;
} calls[] = {
#define CALL(type, name, parameters) { #name, (void **)&name },
CALLS
#undef CALL
};

static void *backend;

struct ggml_product {
	void *context;
	void *buffer;
	void *graph;
	void *in;
	void *out;
	size_t in_size;
	size_t out_size;
};

bool ggml_open(const char *path)
{
	if (!dlopen("libggml-base.so.0", RTLD_NOW | RTLD_GLOBAL) ||
	    !dlopen("libggml.so.0", RTLD_NOW | RTLD_GLOBAL))
		return false;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		*calls[i].call = dlsym(RTLD_DEFAULT, calls[i].name);
		if (!*calls[i].call)
			return false;
	}
	if (!ggml_backend_load(path) || !ggml_backend_dev_count())
		return false;
	backend = ggml_backend_dev_init(ggml_backend_dev_get(0), NULL);
	return backend;
}

struct ggml_product *ggml_product(uint32_t rows, uint32_t depth, uint32_t units, bool is_fp16,
				  const float *weights)
{
	struct ggml_product *p = calloc(1, sizeof(*p));
	const size_t count = (size_t)units * depth;
	uint16_t *fp16 = calloc(count, sizeof(*fp16));
	void *a;

	if (!p || !fp16)
		goto out;
	p->context = ggml_init((struct parameters){ CONTEXT_BYTES, NULL, true });
	a = ggml_new_tensor_2d(p->context, is_fp16 ? GGML_F16 : GGML_F32, depth, units);
	p->in = ggml_new_tensor_2d(p->context, GGML_F32, depth, rows);
	p->out = ggml_mul_mat(p->context, a, p->in);
	p->graph = ggml_new_graph(p->context);
	ggml_build_forward_expand(p->graph, p->out);
	p->buffer = ggml_backend_alloc_ctx_tensors(p->context, backend);
	if (!p->buffer)
		goto out;
	p->in_size = (size_t)rows * depth * sizeof(float);
	p->out_size = (size_t)rows * units * sizeof(float);
	for (size_t i = 0; is_fp16 && i < count; i++)
		fp16[i] = nn_float_to_fp16(weights[i]);
	ggml_backend_tensor_set(a, is_fp16 ? (const void *)fp16 : weights, 0,
				count * (is_fp16 ? sizeof(*fp16) : sizeof(*weights)));
	free(fp16);
	return p;

out:
	free(fp16);
	if (p)
		ggml_product_free(p);
	return NULL;
}

bool ggml_multiply(struct ggml_product *p, const float *in, float *out)
{
	ggml_backend_tensor_set(p->in, in, 0, p->in_size);
	if (ggml_backend_graph_compute(backend, p->graph))
		return false;
	ggml_backend_tensor_get(p->out, out, 0, p->out_size);
	return true;
}

void ggml_product_free(struct ggml_product *p)
{
	if (p->buffer)
		ggml_backend_buffer_free(p->buffer);
	if (p->context)
		ggml_free(p->context);
	free(p);
}
