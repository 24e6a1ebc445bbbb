/* SPDX-License-Identifier: MIT */
/*
 * Walks one row of a field table. Only the functions of this header read the untrusted words of
 * saved steps. The functions are inline, because steps are restored faster if the compiler knows
 * the field table of a kernel.
 */
#ifndef NN_PLAN_KERNELS_FIELDS_ROW_H
#define NN_PLAN_KERNELS_FIELDS_ROW_H

#include <string.h>

#include "plan/kernels/fields.h"
#include "plan/kernels/unroll.h"

/*
 * A walk over a field table saves words, restores a state from words, or collects the inputs that a
 * step reads.
 */
enum nn_aim { NN_SAVE, NN_RESTORE, NN_COLLECT };

struct nn_walk {
	const struct nn_kernel *kernel;
	uint32_t *to;
	const uint32_t *from;
	const uint32_t *end;		/* end of the words to read, or of the memory for words */
	uint32_t index;			/* index of the EACH row's current element */
	const struct nn_bounds *bounds;
	uint64_t reads;
};

/*
 * Walks all rows of a field table. Returns false if a word cannot be written, or if a row rejects a
 * value.
 */
bool nn_walk_rows(struct nn_walk *w, const struct nn_field *rows, char *state, enum nn_aim aim);

static inline ALWAYS_INLINE char *nn_place(const struct nn_walk *w, char *state, struct nn_ref ref)
{
	return state + ref.at + (size_t)w->index * ref.step;
}

static inline ALWAYS_INLINE uint64_t nn_load(const char *at, uint8_t size)
{
	uint32_t word;
	uint64_t wide;

	if (size == sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		return word;
	}
	if (size != sizeof(wide))
		return *(const uint8_t *)at;
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

static inline ALWAYS_INLINE uint64_t nn_value(const struct nn_walk *w, char *state, struct nn_ref ref)
{
	return nn_load(nn_place(w, state, ref), ref.size);
}

static inline ALWAYS_INLINE void nn_store(char *at, uint8_t size, uint32_t word)
{
	const uint64_t wide = word;

	if (size == sizeof(word))
		memcpy(at, &word, sizeof(word));
	else if (size == sizeof(wide))
		memcpy(at, &wide, sizeof(wide));
	else
		*(uint8_t *)at = (uint8_t)word;
}

/* Copies the values of a field between the state and saved words. */
static inline ALWAYS_INLINE bool nn_move_words(struct nn_walk *w, const struct nn_field *f, char *at,
					       enum nn_aim aim)
{
	for (uint32_t i = 0; i < f->count; i++, at += f->ref.size) {
		if (aim == NN_SAVE) {
			const uint64_t value = nn_load(at, f->ref.size);

			if (w->to == w->end || value > UINT32_MAX)
				return false;
			*w->to++ = (uint32_t)value;
		} else {
			uint32_t word;
			float value;

			if (w->from == w->end)
				return false;
			word = *w->from++;
			memcpy(&value, &word, sizeof(value));
			nn_store(at, f->ref.size, word);
			if (f->rule == NN_RULE_FLOAT ? !(value >= -f->most && value <= f->most) :
			    word - f->word.low > f->word.span && (word || f->rule != NN_RULE_OR_ZERO))
				return false;
		}
	}
	return true;
}

static inline ALWAYS_INLINE bool nn_is_among(uint64_t value, uint32_t mask)
{
	return mask ? value < 32 && mask >> value & 1 : value != 0;
}

static inline ALWAYS_INLINE uint64_t nn_product(const struct nn_walk *w, char *state,
						const struct nn_span *s)
{
	uint64_t product = 1;

	UNROLL
	for (size_t i = 0; i < NN_MAX_FACTORS; i++)
		if (s->factors[i].size)
			product = nn_times(product, nn_value(w, state, s->factors[i]));
	return product;
}

/*
 * Multiplies `elements` by the dimensions of axes. If the axes have steps, adds instead the
 * distance from the first to the last element of each axis. Returns UINT64_MAX if the number of
 * elements does not fit in 64 bits.
 */
uint64_t nn_add_axes(const struct nn_walk *w, char *state, const struct nn_span *s, uint64_t elements);

_Static_assert(offsetof(struct nn_bounds, output) == NN_SAVED_INPUTS * sizeof(struct nn_room) &&
	       offsetof(struct nn_bounds, more_outputs) ==
	       (NN_SAVED_INPUTS + 1) * sizeof(struct nn_room), "rooms in one row");

/*
 * For NN_RESTORE, returns whether the memory of an operand is large enough for a span. For NN_SAVE
 * and NN_COLLECT, adds the operand to w->reads if the operand is an input.
 */
static inline ALWAYS_INLINE bool nn_take_span(struct nn_walk *w, char *state, const struct nn_span *s,
					      enum nn_aim aim)
{
	const uint64_t position = s->position + (s->base.size ? nn_value(w, state, s->base) : 0) +
				  (s->is_each ? w->index : 0);
	const struct nn_room *room;
	uint64_t elements;
	uint32_t element;

	if (position >= (s->is_output ? 1 + w->kernel->more_outputs : w->kernel->inputs))
		return false;
	if (aim != NN_RESTORE) {
		w->reads |= s->is_output ? 0 : NN_IN(position);
		return true;
	}
	room = w->bounds->inputs + position + (s->is_output ? NN_SAVED_INPUTS : 0);
	element = s->sizes >> (s->element.size ? 4 * (uint32_t)nn_value(w, state, s->element) : 0) & 0xf;
	elements = nn_product(w, state, s);
	if (s->dims.size)
		elements = nn_add_axes(w, state, s, elements);
	return nn_times(elements, element) <= room->bytes && element <= room->align;
}

/* Walks one row. Sets *skip to the number of following rows that the caller must skip. */
static inline ALWAYS_INLINE bool nn_walk_row(struct nn_walk *w, const struct nn_field *f, char *state,
					     enum nn_aim aim, uint32_t *skip)
{
	const bool checks = aim == NN_RESTORE;
	char *at = nn_place(w, state, f->ref);
	bool fine = true;

	*skip = 0;
	switch ((enum nn_field_rule)f->rule) {
	case NN_RULE_WORD:
	case NN_RULE_OR_ZERO:
	case NN_RULE_FLOAT:
		return aim == NN_COLLECT || nn_move_words(w, f, at, aim);
	case NN_RULE_PART:
		return nn_walk_rows(w, f->rows, at, aim);
	case NN_RULE_WHEN:
		if (!nn_is_among(nn_load(at, f->ref.size), f->when.mask))
			*skip = f->when.skip;
		return true;
	case NN_RULE_EACH: {
		const uint64_t count = f->count ? f->count : nn_load(at, f->ref.size);

		for (w->index = 0; fine && w->index < count; w->index++)
			fine = nn_walk_rows(w, f + 1, state, aim);
		w->index = 0;
		*skip = f->when.skip;
		return fine;
	}
	case NN_RULE_SPAN:
		return nn_take_span(w, state, f->span, aim);
	case NN_RULE_COPY:
		if (checks)
			nn_store(at, f->ref.size, (uint32_t)nn_value(w, state, f->from));
		return true;
	case NN_RULE_ONLY:
		return !checks || nn_is_among(nn_load(at, f->ref.size), f->when.mask);
	case NN_RULE_LIMIT:
		return !checks || nn_product(w, state, f->span) <= f->span->most;
	case NN_RULE_EQUAL:
		return !checks || nn_product(w, state, f->span) == nn_load(at, f->ref.size);
	case NN_RULE_CHECK:
		return !checks || f->check(at);
	case NN_RULE_END:
		break;
	}
	return true;
}

/*
 * A loop over a field table may have more than 32 iterations, the maximum of gcc's UNROLL.
 */
#ifdef __clang__
#define NN_UNROLL_ROWS UNROLL
#else
#define NN_UNROLL_ROWS _Pragma("GCC unroll 64")
#endif

/* Restores a state from saved words. `rows` is a constant table of `count` rows, END included. */
static inline ALWAYS_INLINE bool nn_restore_rows(struct nn_walk *walk, const struct nn_field *rows,
						 size_t count, void *state)
{
	struct nn_walk w = *walk;
	uint32_t next = 0, skip;

	NN_UNROLL_ROWS
	for (uint32_t i = 0; i < count; i++) {
		if (i < next)
			continue;
		if (!nn_walk_row(&w, &rows[i], state, NN_RESTORE, &skip))
			return false;
		next = i + 1 + skip;
	}
	walk->from = w.from;
	return true;
}

/* Defines the member nn_kernel.restore() for a field table. */
#define NN_RESTORE(fields)								\
static bool restore(struct nn_walk *w, void *state)					\
{											\
	return nn_restore_rows(w, fields, sizeof(fields) / sizeof((fields)[0]), state);	\
}

#endif /* NN_PLAN_KERNELS_FIELDS_ROW_H */
