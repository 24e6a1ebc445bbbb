/* SPDX-License-Identifier: MIT */
/*
 * Models that the bench runs on a GPU.
 */
#ifndef NN_BENCH_VULKAN_MODELS_H
#define NN_BENCH_VULKAN_MODELS_H

#include "bench/compute/net.h"

#include <stdbool.h>

struct builder;

/* The numbers of a model: a type of a network, or float16 of one of floats. */
struct numbers {
	enum net_type type;
	bool is_half;
};

/* `count` products of [rows, depth], one on the result of the other. */
struct builder *model_products(struct numbers n, uint32_t rows, uint32_t depth, uint32_t units,
			       uint32_t count);

/* As many copies of MODEL_COPY_BYTES, likewise. */
#define MODEL_COPY_BYTES (16u << 20)
struct builder *model_copies(uint32_t count);

/* A network of images, whose weights stay in `net`; without `make` an encoder. */
struct builder *model_network(struct numbers n, net_fn *make, struct net *net);

#endif /* NN_BENCH_VULKAN_MODELS_H */
