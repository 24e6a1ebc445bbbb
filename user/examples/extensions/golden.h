/* SPDX-License-Identifier: MIT */
/*
 * Definitions for applications that use com.example.golden.
 */
#ifndef GOLDEN_H
#define GOLDEN_H

#define GOLDEN_NAME "com.example.golden"

/*
 * RATIOS: input 0, TENSOR_QUANT64 of com.example.fibonacci, of one dimension;
 * output 0, TENSOR_FLOAT32, one element less: each number over the one before it.
 */
#define GOLDEN_RATIOS 7

#endif /* GOLDEN_H */
