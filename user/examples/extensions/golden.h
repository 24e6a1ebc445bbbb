/* SPDX-License-Identifier: MIT */
/*
 * Definitions for applications that use com.example.golden.
 */
#ifndef GOLDEN_H
#define GOLDEN_H

#define GOLDEN_NAME "com.example.golden"

/*
 * RATIOS: input 0 is a TENSOR_QUANT64 of com.example.fibonacci with one dimension. Output 0, a
 * TENSOR_FLOAT32 with one element less, receives the ratio of each number to the previous number.
 */
#define GOLDEN_RATIOS 7

#endif /* GOLDEN_H */
