/* SPDX-License-Identifier: MIT */
/*
 * Pragmas that make a compiler unroll loops of constant length, so that arrays of vectors become
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
