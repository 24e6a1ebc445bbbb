/* SPDX-License-Identifier: MIT */
/*
 * Walks a kernel's field table to save a step, to restore it, or to find the inputs that it reads.
 */
#include <string.h>

#include "ops/window.h"
#include "plan/kernels/fields.h"

/* What a walk is for: it writes words, reads words, or does neither and collects inputs. */
struct walk {
	const struct nn_kernel *kernel;
	uint32_t *to;
	const uint32_t *from;
	uint32_t left;			/* words, or room for them */
	const struct nn_bounds *bounds;
	uint64_t reads;
	uint32_t index;			/* the element that EACH is at */
};

static char *place(const struct walk *w, char *state, struct nn_ref ref)
{
	return state + ref.at + (size_t)w->index * ref.step;
}

static uint64_t load(const struct walk *w, char *state, struct nn_ref ref)
{
	const char *at = place(w, state, ref);
	uint32_t word;
	uint64_t wide;

	if (ref.size == sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		return word;
	}
	if (ref.size != sizeof(wide))
		return *(const uint8_t *)at;
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

static void store(char *at, uint8_t size, uint32_t word)
{
	const uint64_t wide = word;

	if (size == sizeof(word))
		memcpy(at, &word, sizeof(word));
	else if (size == sizeof(wide))
		memcpy(at, &wide, sizeof(wide));
	else
		*(uint8_t *)at = (uint8_t)word;
}

static bool walk_words(struct walk *w, const struct nn_field *f, char *state)
{
	struct nn_ref ref = f->ref;

	if (!w->to && !w->from)
		return true;
	if (w->left < f->count)
		return false;
	w->left -= f->count;
	for (uint32_t i = 0; i < f->count; i++, ref.at += ref.size) {
		if (w->to) {
			const uint64_t value = load(w, state, ref);

			*w->to++ = (uint32_t)value;
			if (value > UINT32_MAX)
				return false;
		} else {
			const uint32_t word = *w->from++;

			if (word - f->word.low > f->word.span && (word || !f->word.or_zero))
				return false;
			store(place(w, state, ref), ref.size, word);
		}
	}
	return true;
}

static bool walk_float(struct walk *w, const struct nn_field *f, char *state)
{
	float *at = (float *)place(w, state, f->ref);

	if (!w->to && !w->from)
		return true;
	if (!w->left--)
		return false;
	if (w->to) {
		memcpy(w->to++, at, sizeof(*at));
		return true;
	}
	memcpy(at, w->from++, sizeof(*at));
	return *at >= -f->most && *at <= f->most;
}

static bool is_among(uint64_t value, uint32_t mask)
{
	return mask ? value < 32 && mask >> value & 1 : value != 0;
}

static uint64_t product_of(const struct walk *w, char *state, const struct nn_ref *factors)
{
	uint64_t product = 1;

	for (; factors->size; factors++)
		product = nn_times(product, load(w, state, *factors));
	return product;
}

/* The elements that a span takes of its operand, or UINT64_MAX if they are too many. */
static uint64_t elements_of(const struct walk *w, char *state, const struct nn_span *s)
{
	const uint64_t count = s->count.size ? load(w, state, s->count) : s->num_axes;
	uint64_t elements = product_of(w, state, s->factors);
	struct walk axis = *w;

	for (axis.index = 0; axis.index < count; axis.index++) {
		const uint64_t dim = load(&axis, state, s->dims);

		if (!s->steps.size)
			elements = nn_times(elements, dim);
		else if (__builtin_add_overflow(elements, nn_times(dim - 1, load(&axis, state, s->steps)),
						&elements))
			elements = UINT64_MAX;
	}
	return elements;
}

static bool walk_span(struct walk *w, const struct nn_span *s, char *state)
{
	const uint64_t position = s->position + (s->base.size ? load(w, state, s->base) : 0) +
				  (s->is_each ? w->index : 0);
	const struct nn_room *room;
	uint32_t element;

	if (w->to)
		return true;
	if (position >= (s->is_output ? 1 + w->kernel->more_outputs : w->kernel->inputs))
		return false;
	if (!w->from) {
		w->reads |= s->is_output ? 0 : NN_IN(position);
		return true;
	}
	room = !s->is_output ? &w->bounds->inputs[position] :
	       position ? &w->bounds->more_outputs[position - 1] : &w->bounds->output;
	element = s->sizes >> (s->element.size ? 4 * load(w, state, s->element) : 0) & 0xf;
	return nn_times(elements_of(w, state, s), element) <= room->bytes && element <= room->align;
}

/* Walks rows from `f` to the last one. False: they cannot be written, or hold what is not allowed. */
static bool walk(struct walk *w, const struct nn_field *f, char *state)
{
	const bool checks = w->from;
	bool fine = true;

	for (; fine && f->rule != NN_RULE_END; f++) {
		switch ((enum nn_field_rule)f->rule) {
		case NN_RULE_WORD:
			fine = walk_words(w, f, state);
			break;
		case NN_RULE_FLOAT:
			fine = walk_float(w, f, state);
			break;
		case NN_RULE_COPY:
			if (checks)
				store(place(w, state, f->ref), f->ref.size,
				      (uint32_t)load(w, state, f->from));
			break;
		case NN_RULE_PART:
			fine = walk(w, f->when.rows, place(w, state, f->ref));
			break;
		case NN_RULE_WHEN:
			if (is_among(load(w, state, f->ref), f->when.mask))
				fine = walk(w, f->when.rows, state);
			break;
		case NN_RULE_EACH: {
			const uint64_t count = f->count ? f->count : load(w, state, f->ref);

			for (w->index = 0; fine && w->index < count; w->index++)
				fine = walk(w, f->when.rows, state);
			w->index = 0;
			break;
		}
		case NN_RULE_ONLY:
			fine = !checks || is_among(load(w, state, f->ref), f->when.mask);
			break;
		case NN_RULE_LIMIT:
			fine = !checks || product_of(w, state, f->product.factors) <= f->product.most;
			break;
		case NN_RULE_EQUAL:
			fine = !checks || product_of(w, state, f->product.factors) ==
					  load(w, state, f->ref);
			break;
		case NN_RULE_CHECK:
			fine = !checks || f->check(state);
			break;
		case NN_RULE_SPAN:
			fine = walk_span(w, f->span, state);
			break;
		case NN_RULE_END:
			break;
		}
	}
	return fine;
}

uint32_t nn_step_save(const struct nn_ready *ready, uint32_t words[NN_SAVED_WORDS])
{
	struct walk w = { .kernel = ready->kernel, .to = words, .left = NN_SAVED_WORDS };

	return walk(&w, ready->kernel->fields, ready->state) ? NN_SAVED_WORDS - w.left : 0;
}

uint64_t nn_step_reads(const struct nn_ready *ready)
{
	struct walk w = { .kernel = ready->kernel };

	return walk(&w, ready->kernel->fields, ready->state) ? w.reads : 0;
}

bool nn_step_restore(const struct nn_kernel *kernel, const uint32_t *words, uint32_t count,
		     const struct nn_bounds *bounds, struct nn_ready *ready, void *state)
{
	struct walk w = { .kernel = kernel, .from = words, .left = count, .bounds = bounds };

	memset(state, 0, kernel->state_size);
	return walk(&w, kernel->fields, state) && !w.left && kernel->complete(state, ready);
}

/* ---- Windows ---- */

static bool reaches(const void *state)
{
	const struct nn_axis *a = state;

	return a->head <= (int64_t)(a->filter - 1) * a->dilation &&
	       (int64_t)(a->out - 1) * a->stride - a->head < a->in;
}

#define NN_STATE struct nn_axis
const struct nn_field nn_axis_fields[] = {
	DIMENSION(in), DIMENSION(out), DIMENSION(filter), DIMENSION(stride), DIMENSION(dilation),
	WORD(head, 0, INT32_MAX - 1),
	END
};

static const struct nn_field axis_reaches[] = { CHECK(reaches), END };
#undef NN_STATE

#define NN_STATE struct nn_window
const struct nn_field nn_window_fields[] = {
	PART(h, nn_axis_fields), PART(w, nn_axis_fields),
	END
};

const struct nn_field nn_window_reaches[] = { PART(h, axis_reaches), PART(w, axis_reaches), END };
#undef NN_STATE
