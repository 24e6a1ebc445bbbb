/* SPDX-License-Identifier: MIT */
/*
 * Matrix products by ggml's Vulkan backend, for comparison. The first call that needs ggml loads
 * ggml's libraries.
 */
#ifndef NN_BENCH_GGML_H
#define NN_BENCH_GGML_H

#include <stdbool.h>
#include <stdint.h>

/* A matrix product of an input [rows, depth] and weights [units, depth]. */
struct ggml_product;

/*
 * Loads ggml, and ggml's Vulkan backend from the file `backend`; returns false if ggml is missing
 * or has no GPU.
 */
bool ggml_open(const char *backend);

/*
 * Makes a matrix product; returns NULL if memory runs out. If `is_fp16` is set, the weights are
 * converted to float16.
 */
struct ggml_product *ggml_product(uint32_t rows, uint32_t depth, uint32_t units, bool is_fp16,
				  const float *weights);
/* Copies the input to the GPU, multiplies, and copies the result back. */
bool ggml_multiply(struct ggml_product *product, const float *in, float *out);
void ggml_product_free(struct ggml_product *product);

#endif /* NN_BENCH_GGML_H */
