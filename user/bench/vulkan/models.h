/* SPDX-License-Identifier: MIT */
/*
 * Models that the bench runs on a GPU.
 */
#ifndef NN_BENCH_VULKAN_MODELS_H
#define NN_BENCH_VULKAN_MODELS_H

#include "bench/compute/net.h"

#include <stdbool.h>

struct builder;

/* The type of a model's numbers: a type of networks, or float16 instead of float32. */
struct numbers {
	enum net_type type;
	bool is_fp16;
};

/* Makes a chain of `count` products of [rows, depth], each on the previous product's result. */
struct builder *model_products(struct numbers n, uint32_t rows, uint32_t depth, uint32_t units,
			       uint32_t count);

/* Makes a chain of `count` copies of MODEL_COPY_BYTES, each of the previous copy's result. */
#define MODEL_COPY_BYTES (16u << 20)
struct builder *model_copies(uint32_t count);

/*
 * Makes an image network by `make`, whose weights stay in `net`; a text encoder if `make` is NULL.
 */
struct builder *model_network(struct numbers n, net_fn *make, struct net *net);

#endif /* NN_BENCH_VULKAN_MODELS_H */
