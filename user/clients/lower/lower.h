/* SPDX-License-Identifier: MIT */
/*
 * Nodes of a runtime's graph as operations of the NNAPI. A translator reads the inputs of a node,
 * records operations and names the outputs. If it cannot, refuse() says why, in words that name
 * what it met. The functions here do nothing any more once a node is refused, so their results
 * need no check.
 *
 * A value of rank 0 is an operand of shape [1]. If a value has more than four dimensions, the
 * leading ones are one in the operand. view() gives any other shape of the same elements. An int64
 * is an int32.
 */
#ifndef NN_LOWER_H
#define NN_LOWER_H

#include <stdbool.h>

#include "clients/lower/builder.h"

#define NN(name) ANEURALNETWORKS_##name

enum { MAX_RANK = 8 };

/* A shape: rank -1 is unknown, a dimension of -1 is too. */
struct shape {
	int rank;
	int64_t dims[MAX_RANK];
};

struct lowering;
typedef uint32_t function(struct lowering *t, uint32_t x);

/* A node that is being translated; a plug-in's own part is around it. */
struct lowering {
	struct builder *b;
	bool refused;
	char reason[200];
	uint64_t work;			/* multiplications; of other nodes elements */
	uint64_t written;		/* elements that operations write, except RESHAPE */
	int32_t fused;			/* FuseCode of the node's arithmetic */
	/* These are of the node's row in the plug-in's table. */
	int32_t code;			/* OperationCode */
	function *function;
};

/* Translates a node, or refuses it. */
typedef void translator(struct lowering *t);

/* Fails the node. */
void refuse(struct lowering *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The name of an OperandCode, for messages. */
const char *nnapi_type_name(int32_t type);

/* ---- shapes ---- */

/* Elements of a shape that is known; -1: not known, or more than fit 31 bits. */
int64_t shape_count(const struct shape *shape);
bool shape_known(const struct shape *shape);
/* The shape of an operand for a value of this shape. */
uint32_t flat(const struct shape *shape, uint32_t dims[MAX_DIMS]);
/* The shape around an axis: [before, the axis, behind]. */
void around(const struct shape *shape, int axis, uint32_t dims[3]);
/* The shape of an operand with an axis: flat(), or around(). Returns where the axis is then. */
uint32_t facing(const struct shape *shape, int axis, uint32_t *rank, uint32_t dims[MAX_DIMS]);
/* The shape of two that are broadcast; refuses where they cannot be. */
struct shape broadcast_shape(struct lowering *t, const struct shape *a, const struct shape *b);
/* An axis, counted from the end where negative; refuses what is outside. */
int axis_of(struct lowering *t, int64_t axis, int rank);

/* ---- operands ---- */

const struct operand *operand_of(const struct lowering *t, uint32_t operand);
bool is_float(const struct lowering *t, uint32_t operand);
bool is_quant8(const struct lowering *t, uint32_t operand);
bool is_type(const struct lowering *t, uint32_t operand, int32_t type);
/* Whether both have one type, scale and zero point. */
bool is_alike(const struct lowering *t, uint32_t a, uint32_t b);
uint32_t elements_of(const struct lowering *t, uint32_t operand);
bool is_of_shape(const struct lowering *t, uint32_t operand, uint32_t rank, const uint32_t *dims);

uint32_t scalar_int(struct lowering *t, int32_t value);
uint32_t scalar_bool(struct lowering *t, bool value);
/* A scalar of the float type of `like`, or float if that is quantised. */
uint32_t scalar_float(struct lowering *t, uint32_t like, float value);
uint32_t vector_int(struct lowering *t, uint32_t count, const int32_t *values);
/* A constant of the type of `like`: a float type, or int32. */
uint32_t constant(struct lowering *t, uint32_t like, uint32_t rank, const uint32_t *dims,
		  const float *values);
/* Integers, which are copied. */
uint32_t constant_ints(struct lowering *t, uint32_t rank, const uint32_t *dims,
		       const int32_t *values);
/* One number of shape [1]. */
uint32_t number(struct lowering *t, uint32_t like, float value);
/* A constant of bytes that live as long as the builder. */
uint32_t constant_bytes(struct lowering *t, const struct operand *type, const void *data);
/* A constant of bytes that are copied; sets their number. */
uint32_t constant_copy(struct lowering *t, struct operand *operand, const void *data);
/* A constant of the type of `like` whose bytes are 0. */
uint32_t zeros(struct lowering *t, uint32_t like, uint32_t rank, const uint32_t *dims);
/* An optional operand of the type of `like` that is absent. */
uint32_t omitted(struct lowering *t, uint32_t like, uint32_t rank);
/* The elements from `first` on of an operand, as [rows, columns]; those of a constant stay. */
uint32_t rows_from(struct lowering *t, uint32_t x, uint64_t first, uint32_t rows,
		   uint32_t columns);
/* A result of the type of `like`. */
uint32_t result(struct lowering *t, uint32_t like, uint32_t rank, const uint32_t *dims);
/* The same of its shape. */
uint32_t result_like(struct lowering *t, uint32_t x);
uint32_t result_type(struct lowering *t, int32_t type, uint32_t rank, const uint32_t *dims);
/* Truth values as 0 and 1, and back: what the NNAPI moves are numbers. */
uint32_t bool_as_float(struct lowering *t, uint32_t x);
uint32_t float_as_bool(struct lowering *t, uint32_t x);
/* The same elements in another shape. */
uint32_t view(struct lowering *t, uint32_t operand, uint32_t rank, const uint32_t *dims);
/* The same elements in an operand that an operation of its own writes. */
uint32_t rewritten(struct lowering *t, uint32_t operand);
uint32_t view_shape(struct lowering *t, uint32_t operand, const struct shape *shape);

/* ---- operations ---- */

#define EMIT(t, type, out, ...) \
	emit(t, type, out, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), \
	     (uint32_t[]){ __VA_ARGS__ })
uint32_t emit(struct lowering *t, int32_t type, uint32_t out, uint32_t count,
	      const uint32_t *in);
void emit_many(struct lowering *t, int32_t type, uint32_t out_count, const uint32_t *out,
	       uint32_t count, const uint32_t *in);
/* An operation of one or two operands whose result is like its first, and has its shape. */
uint32_t unary(struct lowering *t, int32_t type, uint32_t x);
/* With a number of shape [1] as the second. */
uint32_t with_number(struct lowering *t, int32_t type, uint32_t x, float value);
/* ADD, SUB, MUL, DIV of operands of at most four dimensions, the first of the result's shape. */
uint32_t arithmetic(struct lowering *t, int32_t type, uint32_t a, uint32_t b);
/* SUB or DIV of a number of shape [1] and an operand. */
uint32_t number_with(struct lowering *t, int32_t type, float value, uint32_t x);
/* Truth values of the shape of the first. */
uint32_t compared(struct lowering *t, int32_t type, uint32_t a, uint32_t b);
uint32_t compared_number(struct lowering *t, int32_t type, uint32_t x, float value);
/* SELECT of two of one type and shape. */
uint32_t selected(struct lowering *t, uint32_t mask, uint32_t a, uint32_t b);
/* Element by element, broadcast; the shape of the result is given, as ranks may be above 4. */
uint32_t broadcast(struct lowering *t, int32_t type, uint32_t a, const struct shape *as,
		   uint32_t b, const struct shape *bs, const struct shape *shape);
/* The same; the result is like the operand `like`, if it is not bool. */
uint32_t broadcast_like(struct lowering *t, int32_t type, uint32_t a, const struct shape *as,
			uint32_t b, const struct shape *bs, const struct shape *shape,
			uint32_t like);
uint32_t transposed(struct lowering *t, uint32_t x, uint32_t rank, const int *order);
/* Repeats dimensions of size 1 until the shape is this. */
uint32_t expanded(struct lowering *t, uint32_t x, const struct shape *from,
		  const struct shape *to);
/* A tensor of one value. */
uint32_t filled(struct lowering *t, uint32_t like, uint32_t rank, const uint32_t *dims,
		float value);
uint32_t filled_like(struct lowering *t, uint32_t x, float value);

#endif
