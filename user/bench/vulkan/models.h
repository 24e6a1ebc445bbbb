/* SPDX-License-Identifier: MIT */
/*
 * Models that the bench runs on a GPU.
 */
#ifndef NN_BENCH_VULKAN_MODELS_H
#define NN_BENCH_VULKAN_MODELS_H

#include "bench/compute/net.h"

#include <stdbool.h>

struct builder;

/* The type of a model's numbers: a network's type, or float16 in place of float32. */
struct numbers {
	enum net_type type;
	bool is_fp16;
};

/* Makes `count` products of [rows, depth], each on the result of the previous one. */
struct builder *model_products(struct numbers n, uint32_t rows, uint32_t depth, uint32_t units,
			       uint32_t count);

/* Makes `count` copies of MODEL_COPY_BYTES, each of the previous one's result. */
#define MODEL_COPY_BYTES (16u << 20)
struct builder *model_copies(uint32_t count);

/* Makes an image network, whose weights stay in `net`; without `make` a text encoder. */
struct builder *model_network(struct numbers n, net_fn *make, struct net *net);

#endif /* NN_BENCH_VULKAN_MODELS_H */
