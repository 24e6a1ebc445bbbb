/* SPDX-License-Identifier: MIT */
/*
 * Pragmas for unrolling loops of constant length, so that compilers keep arrays of vectors in
 * registers.
 */
#ifndef NN_PLAN_KERNELS_UNROLL_H
#define NN_PLAN_KERNELS_UNROLL_H

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

#define ALWAYS_INLINE __attribute__((always_inline))

#endif /* NN_PLAN_KERNELS_UNROLL_H */
