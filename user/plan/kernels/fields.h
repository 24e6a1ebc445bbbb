/* SPDX-License-Identifier: MIT */
/*
 * A field table lists which numbers of a kernel's state are saved, in which order, and with which
 * allowed values. A field table is used to save a step, to restore a step from untrusted numbers,
 * and to find the inputs that a step reads. Each number is saved as a word of 32 bits.
 *
 * A field table consists of rows made by the macros below, and ends with END. NN_STATE, defined
 * before the table, names the structure whose fields the rows list. A row may use the values of
 * fields that earlier rows restored.
 */
#ifndef NN_PLAN_KERNELS_FIELDS_H
#define NN_PLAN_KERNELS_FIELDS_H

#include <stddef.h>

#include "ops/image.h"
#include "ops/window.h"
#include "plan/kernels/kernel.h"

/*
 * Refers to a number in a kernel's state. The number may be an element of an array; the index of
 * the element is the index that the surrounding EACH row has reached.
 */
struct nn_ref {
	uint16_t at;
	uint8_t size;			/* size of the number: 1, 4 or 8 bytes; 0: no number */
	uint8_t step;	/* distance between elements of the array; 0: not an array */
};

enum nn_field_rule {
	NN_RULE_END, NN_RULE_WORD, NN_RULE_OR_ZERO, NN_RULE_FLOAT, NN_RULE_COPY, NN_RULE_PART,
	NN_RULE_WHEN, NN_RULE_EACH, NN_RULE_ONLY, NN_RULE_LIMIT, NN_RULE_EQUAL, NN_RULE_CHECK,
	NN_RULE_SPAN,
};

#define NN_MAX_FACTORS 4

/*
 * A product of fields in a kernel's state. A LIMIT row checks that the product is at most `most`.
 * In a SPAN row, the product is the number of elements that a step accesses in an operand.
 */
struct nn_span {
	bool is_output;
	/* true: the index of the EACH row's current element is added to the operand's position */
	bool is_each;
	uint8_t position;	/* position of the operand, or the number to be added to `base` */
	uint8_t num_axes;		/* number of axes if `count` refers to no field */
	struct nn_ref base;
	/* If `element` refers to a field, digit i of `sizes` is the element size for value i. */
	struct nn_ref element;
	union {
		uint32_t sizes;		/* each hexadecimal digit is an element's size in bytes */
		uint32_t most;
	};
	struct nn_ref factors[NN_MAX_FACTORS + 1];
	/*
	 * Number of axes, and the axes' dimensions and steps. Without `steps`, the dimensions are
	 * factors of the product. With `steps`, the distance from the first to the last element of
	 * each axis is added to the product.
	 */
	struct nn_ref count;
	struct nn_ref dims;
	struct nn_ref steps;
};

struct nn_field {
	uint8_t rule;
	uint8_t count;
	struct nn_ref ref;
	union {
		struct {
			uint32_t low;
			uint32_t span;	/* the largest allowed value is `low` + `span` */
		} word;
		struct {
			/*
			 * Set of values, one bit for each value. WHEN applies its rows for values
			 * in the set, and ONLY allows values in the set. A mask of 0 stands for all
			 * values except 0.
			 */
			uint32_t mask;
			/*
			 * number of following rows that are skipped for all values outside of
			 * `mask`
			 */
			uint32_t skip;
		} when;
		float most;
		struct nn_ref from;
		const struct nn_field *rows;
		const struct nn_span *span;
		bool (*check)(const void *part);
	};
};

#define NN_REF(field) { offsetof(NN_STATE, field), sizeof(((NN_STATE *)NULL)->field), 0 }
#define NN_REF_EACH(array, field) {							\
	offsetof(NN_STATE, array[0] field), sizeof(((NN_STATE *)NULL)->array[0] field),	\
	sizeof(((NN_STATE *)NULL)->array[0]) }

#define NN_REFS_0(none)
#define NN_REFS_1(none, a) NN_REF(a),
#define NN_REFS_2(none, a, b) NN_REF(a), NN_REF(b),
#define NN_REFS_3(none, a, b, c) NN_REF(a), NN_REF(b), NN_REF(c),
#define NN_REFS_4(none, a, b, c, d) NN_REF(a), NN_REF(b), NN_REF(c), NN_REF(d),
#define NN_REFS_BY(none, a, b, c, d, refs, ...) refs
#define NN_FACTORS(...) .factors = {							\
	NN_REFS_BY(none, ##__VA_ARGS__, NN_REFS_4, NN_REFS_3, NN_REFS_2, NN_REFS_1,	\
		   NN_REFS_0)(none, ##__VA_ARGS__) { 0, 0, 0 } }
#define NN_SPAN(kind, ...) { .rule = kind, .span = &(const struct nn_span){ __VA_ARGS__ } }
#define NN_ROWS(...) (sizeof((const struct nn_field[]){ __VA_ARGS__ }) / sizeof(struct nn_field))

#define END { .rule = NN_RULE_END }

/* ---- Rows that are words ---- */

#define NN_WORDS_OF(kind, number, reference, least, most_) {				\
	.rule = kind, .count = number, .ref = reference,				\
	.word = { (uint32_t)(least), (uint32_t)(most_) - (uint32_t)(least) } }

/*
 * WORD saves one number, which must be in [least, most]. RUN saves `number` contiguous fields from
 * `field` on.
 */
#define WORD(field, least, most) NN_WORDS_OF(NN_RULE_WORD, 1, NN_REF(field), least, most)
#define RUN(field, number, least, most) \
	NN_WORDS_OF(NN_RULE_WORD, number, NN_REF(field), least, most)
#define WORD_EACH(array, field, least, most)						\
	NN_WORDS_OF(NN_RULE_WORD, 1, NN_REF_EACH(array, field), least, most)

/* A positive int32_t: a dimension, or a step between elements. */
#define DIMENSION(field) WORD(field, 1, INT32_MAX)
/* A number of elements or bytes; SPAN rows limit this number. */
#define COUNT(field) WORD(field, 1, UINT32_MAX)
#define FLAG(field) WORD(field, 0, 1)
/* The operand of XOR that makes bytes unsigned: 0x80 for signed bytes, otherwise 0. */
#define FLIP(field) NN_WORDS_OF(NN_RULE_OR_ZERO, 1, NN_REF(field), 0x80, 0x80)
/* The member `value` of a struct nn_multiplier. */
#define MULTIPLIER(field) NN_WORDS_OF(NN_RULE_OR_ZERO, 1, NN_REF(field), 1 << 30, INT32_MAX)
/* FLOAT is any float; FLOAT_WITHIN is a float in [-limit, limit]. */
#define FLOAT(field) WORD(field, 0, UINT32_MAX)
#define FLOAT_WITHIN(field, limit) { .rule = NN_RULE_FLOAT, .count = 1, .ref = NN_REF(field), .most = limit }

/* The index of an input among the operation's inputs. */
#define POSITION(field) WORD(field, 0, NN_SAVED_INPUTS - 1)
/* An activation code that nn_recurrent_activation() accepts: 0 to 4, or 6. */
#define RECURRENT_ACTIVATION(field) WORD(field, 0, 6), ONLY(field, 0x5f)

/* The value of a byte, or the difference between a byte and a zero point. */
#define BYTE(field) WORD(field, 0, UINT8_MAX)
#define BYTE_DIFFERENCE(field) WORD(field, -UINT8_MAX, UINT8_MAX)
#define OUTPUT_BYTES(output) RUN(output.zero, 3, 0, UINT8_MAX)
#define OUTPUT_DIFFERENCES(output) RUN(output.zero, 3, -UINT8_MAX, UINT8_MAX)

/* ---- Rows that lead to others ---- */

/* A structure in the state whose own fields are listed by the field table `table`. */
#define PART(field, table) { .rule = NN_RULE_PART, .ref = { offsetof(NN_STATE, field), 1, 0 },	\
			     .rows = table }
/* Rows that apply only if the value of a field is in the mask `values` or, with SET, is not 0. */
#define WHEN(field, values, ...) { .rule = NN_RULE_WHEN, .ref = NN_REF(field),		\
				   .when = { values, NN_ROWS(__VA_ARGS__) } }, __VA_ARGS__
#define IS(value) (UINT32_C(1) << (value))
#define SET 0
/* Rows that are applied once for each element of arrays. */
#define EACH(field, ...) NN_EACH(.ref = NN_REF(field), __VA_ARGS__, END)
#define EACH_OF(number, ...) NN_EACH(.count = number, __VA_ARGS__, END)
#define NN_EACH(number, ...) { .rule = NN_RULE_EACH, number,				\
			       .when.skip = NN_ROWS(__VA_ARGS__) }, __VA_ARGS__

/* ---- Rows that check, and one that fills ---- */

/* Restores a field as a copy of the field `other`. */
#define COPY(field, other) { .rule = NN_RULE_COPY, .ref = NN_REF(field), .from = NN_REF(other) }
#define ONLY(field, values) { .rule = NN_RULE_ONLY, .ref = NN_REF(field), .when.mask = values }
/* LIMIT checks that a product is at most `limit`. EQUAL checks that a product equals a field. */
#define LIMIT(limit, ...) NN_SPAN(NN_RULE_LIMIT, .most = limit, NN_FACTORS(__VA_ARGS__))
#define EQUAL(field, ...) { .rule = NN_RULE_EQUAL, .ref = NN_REF(field),			\
			    .span = &(const struct nn_span){ NN_FACTORS(__VA_ARGS__) } }
/* Checks a structure in the state by calling a function. */
#define CHECK(field, function) { .rule = NN_RULE_CHECK, .ref = NN_REF(field), .check = function }

/*
 * An image and a window that slides over its height and width. WINDOW_REACHES checks that each
 * position of the window overlaps the image.
 */
#define IMAGE_WINDOW(image, window) DIMENSION(image.n), DIMENSION(image.c),		\
	RUN(window.h.in, 5, 1, INT32_MAX), WORD(window.h.head, 0, INT32_MAX - 1),	\
	RUN(window.w.in, 5, 1, INT32_MAX), WORD(window.w.head, 0, INT32_MAX - 1)
#define WINDOW_REACHES(window) CHECK(window, nn_window_reaches)

/* ---- Rows about operands ---- */

/* SPAN checks that an operand has at least as many elements as the product of the given factors. */
#define SPAN(operand, element, ...)							\
	NN_SPAN(NN_RULE_SPAN, operand, element, NN_FACTORS(__VA_ARGS__))
/* A SPAN whose factors are `factor` and the member `field` of the EACH row's current element. */
#define SPAN_EACH(operand, element, array, field, factor)				\
	NN_SPAN(NN_RULE_SPAN, operand, element,						\
		.factors = { NN_REF(factor), NN_REF_EACH(array, field), { 0, 0, 0 } })
/*
 * SPAN_AXES is a SPAN whose factors are the dimensions of axes. REACH also uses the axes' steps: it
 * checks that an operand contains the element that is the last along each axis.
 */
#define SPAN_AXES(operand, element, number, dims_)					\
	NN_SPAN(NN_RULE_SPAN, operand, element, .count = NN_REF(number), .dims = NN_REF_EACH(dims_,))
#define REACH(operand, element, number, dims_, steps_, ...)				\
	NN_SPAN(NN_RULE_SPAN, operand, element, NN_FACTORS(__VA_ARGS__), number,	\
		.dims = NN_REF_EACH(dims_,), .steps = NN_REF_EACH(steps_,))

/* An argument of REACH for the number of axes, which is the value of a field or a constant. */
#define AXES(field) .count = NN_REF(field)
#define AXES_OF(number) .num_axes = number

/*
 * An argument for the position of an operand among the inputs or outputs. The position is the
 * constant `number`, alone or added to the value of a field or to the index of the EACH row's
 * current element.
 */
#define INPUT(number) .position = number
#define INPUT_AT(field, number) .base = NN_REF(field), .position = number
#define INPUT_EACH(number) .is_each = true, .position = number
#define OUTPUT(number) .is_output = true, INPUT(number)
#define OUTPUT_AT(field, number) .is_output = true, INPUT_AT(field, number)

/* An argument for the size of an element: a constant, or digit `field` of a hexadecimal number. */
#define SIZE(bytes) .sizes = bytes
#define SIZE_BY(field, digits) .element = NN_REF(field), .sizes = digits
#define FLOATS SIZE(sizeof(float))
/*
 * NUMBERS gets the size of an element from an enum nn_number, or from a flag that is 1 for floats.
 */
#define NUMBERS(field) SIZE_BY(field, 0x241)

/* ---- What follows from a table ---- */

/* Sets the height and width of an image to the input sizes of a window's axes. */
static inline void nn_image_of_window(struct nn_image *image, const struct nn_window *window)
{
	image->h = window->h.in;
	image->w = window->w.in;
}

/* Returns whether nn_window_infer() can produce the struct nn_window at `window`. */
bool nn_window_reaches(const void *window);

/* Returns a * b, or UINT64_MAX if the product overflows. */
static inline uint64_t nn_times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Saves a step to `words`. Returns the number of words, or 0 if the step cannot be saved. */
uint32_t nn_step_save(const struct nn_ready *ready, uint32_t words[NN_SAVED_WORDS]);

/*
 * Returns a bit mask of the inputs that a step reads when it runs. Returns 0 if the step has too
 * many inputs to be saved.
 */
uint64_t nn_step_reads(const struct nn_ready *ready);

/*
 * Restores a step from untrusted words: fills in `state`, which must be zeros, and all members of
 * `ready` except `kernel`, `state` and `reads`. Returns false if any contents of the memory within
 * `bounds` could make the step access memory outside of `bounds`, its packed weights and its
 * scratch memory.
 */
bool nn_step_restore(const struct nn_kernel *kernel, const uint32_t *words, uint32_t count,
		     const struct nn_bounds *bounds, struct nn_ready *ready, void *state);

#endif /* NN_PLAN_KERNELS_FIELDS_H */
