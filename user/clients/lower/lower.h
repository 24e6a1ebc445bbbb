/* SPDX-License-Identifier: MIT */
/*
 * Translates nodes of a runtime's graph to operations of the NNAPI. A translator reads the inputs
 * of a node, records operations and sets the outputs. A translator that cannot translate its node
 * calls refuse() with the reason. After refuse() the functions of this header do nothing for the
 * node, so translators need not check the functions' results.
 *
 * A value of rank 0 is an operand of shape [1]. The operand for a value of more than four
 * dimensions merges the value's leading dimensions. The function view() makes operands with the
 * same elements in another shape. An int64 value becomes an int32 operand.
 */
#ifndef NN_LOWER_H
#define NN_LOWER_H

#include <stdbool.h>

#include "clients/lower/builder.h"

#define NN(name) ANEURALNETWORKS_##name

enum { MAX_RANK = 8 };

/* A shape. A rank or a dimension of -1 is unknown. */
struct shape {
	int rank;
	int64_t dims[MAX_RANK];
};

struct devices;
struct lowering;
typedef uint32_t function(struct lowering *t, uint32_t x);

/* The state of translating a node. Plug-ins embed struct lowering in a larger structure. */
struct lowering {
	struct builder *b;
	bool refused;
	char reason[200];
	/* Sizes of two dimensions that had to be equal, if the node was rejected for that; otherwise 0. */
	int64_t apart[2];
	/* Number of multiplications; number of elements for a node that does not multiply. */
	uint64_t work;
	uint64_t written; /* number of elements that the node's operations write, without RESHAPE */
	int32_t fused;			/* FuseCode of the node's fused activation */
	/* devices that may have the extension's operations; NULL: none has */
	const struct devices *devices;
	/* `code` and `function` come from the node's row in the plug-in's table of operators. */
	int32_t code;			/* OperationCode */
	function *function;
};

/* Translates a node, or rejects it. */
typedef void translator(struct lowering *t);

/* Returns whether the devices have the operations of the project's own extension. */
bool has_own(const struct lowering *t);

/* Fails the node. */
void refuse(struct lowering *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Rejects the node unless two dimensions have the same size. `format` is the message, and may have
 * %lld for each size.
 */
void refuse_unless_same(struct lowering *t, int64_t a, int64_t b, const char *format)
	__attribute__((format(printf, 4, 0)));

/*
 * Rejects the node with a message if the condition holds. Returns whether the node is rejected. If
 * the node is already rejected, the condition is not evaluated, because the condition may rely on
 * earlier checks.
 */
#define REFUSED_IF(t, condition, ...) \
	((t)->refused || ((condition) && (refuse(t, __VA_ARGS__), true)))

/* Returns the name of an OperandCode, for messages. */
const char *nnapi_type_name(int32_t type);

/* ---- shapes ---- */

/*
 * Returns the number of elements of a shape; -1 if the number is unknown or needs more than 31
 * bits.
 */
int64_t shape_count(const struct shape *shape);
bool shape_known(const struct shape *shape);
/* Returns the shape of the NNAPI operand for a value of the given shape. */
uint32_t flat(const struct shape *shape, uint32_t dims[MAX_DIMS]);
/*
 * Returns a shape of three dimensions: the merged dimensions before the axis, the axis, and the
 * merged dimensions after the axis.
 */
void around(const struct shape *shape, int axis, uint32_t dims[3]);
/*
 * Sets `dims` to a shape of at most four dimensions, made by flat() or around(), in which `axis` is
 * not merged with other dimensions. Returns the index of `axis` in `dims`.
 */
uint32_t facing(const struct shape *shape, int axis, uint32_t *rank, uint32_t dims[MAX_DIMS]);
/* Returns the shape that results from broadcasting two shapes; rejects incompatible shapes. */
struct shape broadcast_shape(struct lowering *t, const struct shape *a, const struct shape *b);
/* Resolves an axis, which counts from the end if it is negative; rejects an axis out of range. */
int axis_of(struct lowering *t, int64_t axis, int rank);

/* ---- operands ---- */

const struct operand *operand_of(const struct lowering *t, uint32_t operand);
bool is_float(const struct lowering *t, uint32_t operand);
bool is_quant8(const struct lowering *t, uint32_t operand);
bool is_type(const struct lowering *t, uint32_t operand, int32_t type);
/* Returns whether two operands have the same type, scale and zero point. */
bool is_alike(const struct lowering *t, uint32_t a, uint32_t b);
uint32_t elements_of(const struct lowering *t, uint32_t operand);
bool is_of_shape(const struct lowering *t, uint32_t operand, uint32_t rank, const uint32_t *dims);

uint32_t scalar_int(struct lowering *t, int32_t value);
uint32_t scalar_bool(struct lowering *t, bool value);
/* Makes a scalar of the float type of `like`; of type FLOAT32 if `like` is quantised. */
uint32_t scalar_float(struct lowering *t, uint32_t like, float value);
uint32_t vector_int(struct lowering *t, uint32_t count, const int32_t *values);
/* Makes a constant of the type of `like`: a float type, or int32. */
uint32_t constant(struct lowering *t, uint32_t like, uint32_t rank, const uint32_t *dims,
		  const float *values);
/* Makes a constant of integers; the builder copies the integers. */
uint32_t constant_ints(struct lowering *t, uint32_t rank, const uint32_t *dims,
		       const int32_t *values);
/* Copies int64 numbers to memory of the builder as int32; rejects numbers that exceed int32. */
const int32_t *narrowed(struct lowering *t, const int64_t *data, int64_t count);
/* Makes a constant of shape [1] with the type of `like`. */
uint32_t number(struct lowering *t, uint32_t like, float value);
/* Makes a constant of `data`, which must live as long as the builder. */
uint32_t constant_bytes(struct lowering *t, const struct operand *type, const void *data);
/* Makes a constant of a copy of `data`, and sets operand->data to the copy. */
uint32_t constant_copy(struct lowering *t, struct operand *operand, const void *data);
/*
 * Makes a bias of int32 numbers. `values` must live as long as the builder; NULL means that an
 * earlier call failed.
 */
uint32_t bias_ints(struct lowering *t, uint32_t count, float scale, const int32_t *values);
/* Makes a constant of the type of `like` whose bytes are 0. */
uint32_t zeros(struct lowering *t, uint32_t like, uint32_t rank, const uint32_t *dims);
/* Makes an omitted optional operand of the type of `like`. */
uint32_t omitted(struct lowering *t, uint32_t like, uint32_t rank);
/*
 * Returns the elements of x from `first` on as a matrix [rows, columns]. The matrix is a constant
 * if x is a constant.
 */
uint32_t rows_from(struct lowering *t, uint32_t x, uint64_t first, uint32_t rows,
		   uint32_t columns);
/* Makes an operand for a result, with the type of `like`. */
uint32_t result(struct lowering *t, uint32_t like, uint32_t rank, const uint32_t *dims);
/* Makes an operand for a result, with type `type`, scale `scale` and zero point `zero`. */
uint32_t result_scaled(struct lowering *t, int32_t type, float scale, int32_t zero, uint32_t rank,
		       const uint32_t *dims);
/* Makes an operand for a result, with the type and shape of x. */
uint32_t result_like(struct lowering *t, uint32_t x);
uint32_t result_type(struct lowering *t, int32_t type, uint32_t rank, const uint32_t *dims);
/* Convert bools to the numbers 0 and 1, or back, because the NNAPI moves only numbers. */
uint32_t bool_as_float(struct lowering *t, uint32_t x);
uint32_t float_as_bool(struct lowering *t, uint32_t x);
/* Returns an operand with the same elements in another shape. */
uint32_t view(struct lowering *t, uint32_t operand, uint32_t rank, const uint32_t *dims);
/* Emits an operation that copies an operand's elements to a new operand. */
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
/* Emits an operation on x whose result has the type and shape of x. */
uint32_t unary(struct lowering *t, int32_t type, uint32_t x);
/* Emits DEQUANTIZE to the given float type. */
uint32_t dequantised(struct lowering *t, uint32_t x, int32_t type);
/* Emits CAST to the OperandCode `type`, unless x has this type. */
uint32_t cast(struct lowering *t, uint32_t x, int32_t type);
/* Emits an operation of type `type` whose inputs are x and a constant of shape [1]. */
uint32_t with_number(struct lowering *t, int32_t type, uint32_t x, float value);
/*
 * Emits ADD, SUB, MUL or DIV of operands with at most four dimensions. Operand a has the result's
 * shape.
 */
uint32_t arithmetic(struct lowering *t, int32_t type, uint32_t a, uint32_t b);
/* Emits SUB or DIV of a number of shape [1] and an operand. */
uint32_t number_with(struct lowering *t, int32_t type, float value, uint32_t x);
/* Emits a comparison, whose result has the shape of the first operand. */
uint32_t compared(struct lowering *t, int32_t type, uint32_t a, uint32_t b);
uint32_t compared_number(struct lowering *t, int32_t type, uint32_t x, float value);
/* Returns whether an operation on two operands has a fused activation. */
static inline bool is_fused(int32_t type)
{
	return type == NN(ADD) || type == NN(SUB) || type == NN(MUL) || type == NN(DIV);
}

/*
 * Multiplies a [batch, rows, inner] by b [batch, inner, columns] or, if b is transposed, [batch,
 * columns, inner].
 */
uint32_t batch_product(struct lowering *t, uint32_t a, uint32_t b, const uint32_t sizes[4],
		       bool is_transposed);
/* Emits SELECT of two operands of one type and shape. */
uint32_t selected(struct lowering *t, uint32_t mask, uint32_t a, uint32_t b);
/* Emits an elementwise operation with broadcasting to a shape, whose rank may be above 4. */
uint32_t broadcast(struct lowering *t, int32_t type, uint32_t a, const struct shape *as,
		   uint32_t b, const struct shape *bs, const struct shape *shape);
/* Emits an operation like broadcast(). The result has the type of `like`, unless `like` is bool. */
uint32_t broadcast_like(struct lowering *t, int32_t type, uint32_t a, const struct shape *as,
			uint32_t b, const struct shape *bs, const struct shape *shape,
			uint32_t like);
uint32_t transposed(struct lowering *t, uint32_t x, uint32_t rank, const int *order);
/* Broadcasts x to the shape `to` by repeating dimensions of size 1. */
uint32_t expanded(struct lowering *t, uint32_t x, const struct shape *from,
		  const struct shape *to);
/* Makes a tensor filled with one value. */
uint32_t filled(struct lowering *t, uint32_t like, uint32_t rank, const uint32_t *dims,
		float value);
uint32_t filled_like(struct lowering *t, uint32_t x, float value);

#endif
