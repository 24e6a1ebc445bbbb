/* SPDX-License-Identifier: MIT */
/*
 * Models that the bench runs on a GPU.
 */
#ifndef NN_BENCH_VULKAN_MODELS_H
#define NN_BENCH_VULKAN_MODELS_H

#include "bench/compute/net.h"

#include <stdbool.h>

struct builder;

/* The type of a model's numbers: enum net_type, or float16 instead of float32 if is_fp16 is set. */
struct numbers {
	enum net_type type;
	bool is_fp16;
};

/* Makes a chain of `count` products; a product's input is the previous product's result. */
struct builder *model_products(struct numbers n, uint32_t rows, uint32_t depth, uint32_t units,
			       uint32_t count);

/*
 * Makes a chain of `count` copies of MODEL_COPY_BYTES; a copy's source is the previous copy's
 * result.
 */
#define MODEL_COPY_BYTES (16u << 20)
struct builder *model_copies(uint32_t count);

/*
 * Makes an image network by calling `make`, or a text encoder if `make` is NULL. The model's
 * weights stay in the memory of `net`.
 */
struct builder *model_network(struct numbers n, net_fn *make, struct net *net);

#endif /* NN_BENCH_VULKAN_MODELS_H */
