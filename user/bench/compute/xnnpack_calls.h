/* SPDX-License-Identifier: MIT */
/*
 * A network as calls of XNNPACK's operators, which all read and write the same memory. The
 * operators take as long as in a real network, but the results are meaningless.
 */
#ifndef NN_BENCH_XNNPACK_CALLS_H
#define NN_BENCH_XNNPACK_CALLS_H

#include <stddef.h>

#include "subject.h"

struct calls;

/*
 * Begins a list of XNNPACK operators that run on `threads` threads. No tensor of an operator has
 * more than `elements` numbers.
 */
struct calls *calls_begin(size_t elements, uint32_t threads);

/*
 * calls_product(), calls_sigmoid() and calls_softmax() make an operator for NET_F32 or NET_QC8, and
 * return the operator's number.
 */
uint32_t calls_product(struct calls *c, enum net_type type, size_t rows, size_t depth,
		       size_t units);
uint32_t calls_sigmoid(struct calls *c, enum net_type type, size_t count);
uint32_t calls_softmax(struct calls *c, enum net_type type, size_t rows, size_t columns);

/*
 * Makes a sum or a product of [rows, columns] and [other_rows, other_columns]; sizes of 1 are
 * broadcast.
 */
enum calls_binary { CALLS_ADD, CALLS_MUL };
uint32_t calls_binary(struct calls *c, enum net_type type, enum calls_binary operation, size_t rows,
		      size_t columns, size_t other_rows, size_t other_columns);

/* Makes an operator that converts float32 to int8, or int8 to float32 if `to` is NET_F32. */
uint32_t calls_convert(struct calls *c, enum net_type to, size_t count);

/* Adds a call of an operator; the calls run in the order of calls_call(). */
void calls_call(struct calls *c, uint32_t operator);

struct subject calls_end(struct calls *c);

#endif /* NN_BENCH_XNNPACK_CALLS_H */
