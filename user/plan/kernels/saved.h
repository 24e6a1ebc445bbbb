/* SPDX-License-Identifier: MIT */
/*
 * Parts of steps as they are saved, and what is checked of them: numbers that anybody
 * may have written. All of them are of 32 bits, so that there is no padding.
 */
#ifndef NN_PLAN_KERNELS_SAVED_H
#define NN_PLAN_KERNELS_SAVED_H

#include "ops/image.h"
#include "ops/window.h"
#include "plan/kernels/fields.h"
#include "plan/kernels/kernel.h"

#define NN_WORDS(type) ((uint32_t)(sizeof(type) / sizeof(uint32_t)))

/* Whether there is room for so many bytes of elements of a size. */
static inline bool nn_fits(const struct nn_room *room, uint64_t bytes, size_t element)
{
	return bytes <= room->bytes && element <= room->align;
}

/* Whether there is room for a matrix of floats. */
static inline bool nn_fits_floats(const struct nn_room *room, uint64_t rows, uint64_t columns)
{
	return nn_fits(room, nn_times(nn_times(rows, columns), sizeof(float)), sizeof(float));
}

/* The room of an operand by a number; where a kernel has no such one, none that anything fits. */
const struct nn_room *nn_saved_input(const struct nn_kernel *kernel, const struct nn_bounds *bounds,
				     uint32_t index);
const struct nn_room *nn_saved_output(const struct nn_kernel *kernel,
				      const struct nn_bounds *bounds, uint32_t index);

/* A dimension: positive, and a step from one to another is an int32_t. */
static inline bool nn_is_dimension(uint32_t n)
{
	return n - 1 < INT32_MAX;
}

/* A sliding window over an image. */
struct nn_saved_axis {
	uint32_t in;
	uint32_t out;
	uint32_t filter;
	uint32_t stride;
	uint32_t dilation;
	uint32_t head;
};

struct nn_saved_window {
	uint32_t n;
	uint32_t c;
	struct nn_saved_axis h;
	struct nn_saved_axis w;
};

/* False: the padding is too large for the form. */
bool nn_window_save(const struct nn_image *in, const struct nn_window *window,
		    struct nn_saved_window *saved);

/*
 * False unless it is one that nn_window_infer() could have come to: each window
 * reaches into the image.
 */
bool nn_window_restore(const struct nn_saved_window *saved, struct nn_image *in,
		       struct nn_window *window);

/* Bytes of the image, and of as many outputs as there are windows, `channels` each. */
uint64_t nn_window_input(const struct nn_saved_window *w, uint64_t element);
uint64_t nn_window_output(const struct nn_saved_window *w, uint64_t channels, uint64_t element);

/* How an operation with constant weights computes: in bytes, or in others, which have a range. */
struct nn_saved_bytes {
	uint32_t flip;			/* of the input: 0 or 0x80 */
	int32_t in_zero;		/* after the flip */
	int32_t filter_zero;
	int32_t zero;			/* of the output */
	int32_t low;
	int32_t high;
};

struct nn_saved_numbers {
	uint32_t number;		/* enum nn_number */
	union {
		float range[2];		/* of the output; the form ends there */
		struct nn_saved_bytes bytes;
	};
};

/* Words that it takes. */
static inline uint32_t nn_numbers_words(const struct nn_saved_numbers *n)
{
	return n->number != NN_IN_BYTES ? 3 : NN_WORDS(struct nn_saved_numbers);
}

/* Whether `count` words are one of any kind, with values that the arithmetic can bear. */
bool nn_numbers_are_sane(const struct nn_saved_numbers *n, uint32_t count);

#endif /* NN_PLAN_KERNELS_SAVED_H */
