/* SPDX-License-Identifier: MIT */
/*
 * Nodes of ONNX to operations of the NNAPI. A translator (ops/) reads the inputs of a node, records
 * operations and names the outputs. When it cannot, refuse() says why, in words that name what it
 * met; the functions here do nothing any more once a node is refused, so that only what follows
 * from it needs no check of its own.
 *
 * A value of rank 0 is an operand of shape [1]; of more than four dimensions, the leading ones are
 * one in the operand. view() gives any other shape of the same elements. int64 is int32.
 */
#ifndef NN_ORT_TRANSLATE_H
#define NN_ORT_TRANSLATE_H

#include "builder.h"
#include "device.h"
#include "graph.h"

struct dynamic_node;

/* What is known of a value while a graph is translated. */
struct translated {
	bool ready;			/* its shape is known; it is constant or has an operand */
	struct shape shape;
	uint32_t operand;		/* of a constant or input made when it is asked for */
	const void *data;		/* of a constant, of the value's ONNX type */
	bool quantised;			/* scale and zero point are known */
	float scale;
	int32_t zero;
	bool elided;			/* only a quantised form of it is computed */
};

struct translation {
	const struct graph *graph;
	struct builder *b;
	struct translated *values;
	const struct node *node;
	bool *done;			/* nodes that were translated as part of another */
	struct dynamic_node *dynamic;	/* by node: see dynamic.h */
	const struct devices *devices;	/* that are asked what they have; NULL: nothing */
	bool refused;
	char reason[192];
	uint64_t work;			/* multiplications, or elements where there are none */
	/* The node that is translated in its quantised form: see quantised.h. */
	uint32_t quantised_out;
	int32_t fused;			/* FuseCode */
};

typedef void translator(struct translation *t);

/* Fails the node. */
void refuse(struct translation *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- inputs of the node ---- */

bool has_in(const struct translation *t, uint32_t index);
int type_in(const struct translation *t, uint32_t index);
const struct shape *shape_in(struct translation *t, uint32_t index);
uint32_t in(struct translation *t, uint32_t index);

/*
 * Reading constants, which nothing else does. data_of_count() returns the elements of an input that
 * is a constant of this type with exactly `count` elements. It returns NULL for any other input, and
 * the node is refused with what the input is and what is wanted.
 */
const void *data_of_count(struct translation *t, uint32_t index, int type, int64_t count);
/* The same of a value of the graph, which may be NO_VALUE; nothing is refused. */
const void *value_of_count(const struct translation *t, uint32_t value, int type, int64_t count);
/* Returns the number of elements of a constant input; -1: it is not constant, or missing. */
int64_t constant_count(const struct translation *t, uint32_t index);
/* Constant numbers in memory of the builder; refuses what is not such a constant. */
int64_t *ints_in(struct translation *t, uint32_t index, int64_t *count);
float *floats_in(struct translation *t, uint32_t index, int64_t *count);
/* The same of exactly so many. */
float *floats_of_count(struct translation *t, uint32_t index, int64_t count);
/* A list that older operator sets have as an attribute, newer ones as an input; NULL: neither. */
int64_t *ints_of(struct translation *t, uint32_t index, const char *attribute, int64_t *count);

/* An axis, counted from the end where negative; refuses what is outside. */
int axis_of(struct translation *t, int64_t axis, int rank);

/* ---- operands ---- */

const struct operand *operand_of(const struct translation *t, uint32_t operand);
bool is_float(const struct translation *t, uint32_t operand);
bool is_quant8(const struct translation *t, uint32_t operand);

uint32_t scalar_int(struct translation *t, int32_t value);
uint32_t scalar_bool(struct translation *t, bool value);
/* Of the float type of `like`; float where that is quantised. */
uint32_t scalar_float(struct translation *t, uint32_t like, float value);
uint32_t vector_int(struct translation *t, uint32_t count, const int32_t *values);
/* A constant of the float type of `like` or, where it is int32, of that. */
uint32_t constant(struct translation *t, uint32_t like, uint32_t rank, const uint32_t *dims,
		  const float *values);
/* One number of shape [1]. */
uint32_t number(struct translation *t, uint32_t like, float value);
/* A constant of bytes that live as long as the builder. */
uint32_t constant_bytes(struct translation *t, const struct operand *type, const void *data);
/* The elements from `first` on of an operand, as [rows, columns]; of a constant they stay in place. */
uint32_t rows_from(struct translation *t, uint32_t x, uint64_t first, uint32_t rows,
		   uint32_t columns);
/* A result of the type of `like`. */
uint32_t result(struct translation *t, uint32_t like, uint32_t rank, const uint32_t *dims);
uint32_t result_type(struct translation *t, int32_t type, uint32_t rank, const uint32_t *dims);
/* Truth values as 0 and 1, and back: what the NNAPI moves are numbers. */
uint32_t bool_as_float(struct translation *t, uint32_t x);
uint32_t float_as_bool(struct translation *t, uint32_t x);
/* The same elements in another shape. */
uint32_t view(struct translation *t, uint32_t operand, uint32_t rank, const uint32_t *dims);
/* The shape of an operand for a value of this shape. */
uint32_t flat(const struct shape *shape, uint32_t dims[MAX_DIMS]);

/* ---- operations ---- */

#define EMIT(t, type, out, ...) \
	emit(t, type, out, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), \
	     (uint32_t[]){ __VA_ARGS__ })
uint32_t emit(struct translation *t, int32_t type, uint32_t out, uint32_t count,
	      const uint32_t *in);
void emit_many(struct translation *t, int32_t type, uint32_t out_count, const uint32_t *out,
	       uint32_t count, const uint32_t *in);
/* An operation of one or two operands whose result is like its first, and has its shape. */
uint32_t unary(struct translation *t, int32_t type, uint32_t x);
/* With a number of shape [1] as the second. */
uint32_t with_number(struct translation *t, int32_t type, uint32_t x, float value);
/* Element by element, broadcast; the shape of the result is given, as ranks may be above 4. */
uint32_t broadcast(struct translation *t, int32_t type, uint32_t a, const struct shape *as,
		   uint32_t b, const struct shape *bs, const struct shape *shape);
/* ADD, SUB, MUL, DIV of operands of at most four dimensions, the first of the result's shape. */
uint32_t arithmetic(struct translation *t, int32_t type, uint32_t a, uint32_t b);
uint32_t transposed(struct translation *t, uint32_t x, uint32_t rank, const int *order);
/* The shape of two that are broadcast; refuses where they cannot be. */
struct shape broadcast_shape(struct translation *t, const struct shape *a, const struct shape *b);
/* Repeats dimensions of size 1 until the shape is this. */
uint32_t expanded(struct translation *t, uint32_t x, const struct shape *from,
		  const struct shape *to);
/* A tensor of one value. */
uint32_t filled(struct translation *t, uint32_t like, uint32_t rank, const uint32_t *dims,
		float value);

/* ---- outputs of the node ---- */

bool has_out(const struct translation *t, uint32_t index);
/* An output is these elements; the shape of the operand may be another. */
void set_out(struct translation *t, uint32_t index, uint32_t operand, const struct shape *shape);
/* An output is constant: elements of this type, which must be the value's, that outlive it. */
void set_out_data(struct translation *t, uint32_t index, int type, const void *data,
		  const struct shape *shape);

/* ---- the whole ---- */

struct translation *translation_new(const struct graph *graph, struct builder *b,
				    const struct devices *devices);
void translation_free(struct translation *t);
/* Says what an input of the graph is, before nodes are translated. */
void translation_input(struct translation *t, uint32_t value, const struct shape *shape);
/* Translates a node; false: refused, with t->reason, and nothing is recorded. */
bool translate_node(struct translation *t, const struct node *node);
/* The translator of an operator, NULL and a reason where there is none for it. */
translator *translator_of(struct translation *t, const struct node *node);

/* OperandCode for an ONNX type; -1: none. */
int32_t nnapi_type(int type);

#endif
