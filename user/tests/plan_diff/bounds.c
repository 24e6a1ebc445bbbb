/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/kernels/fields.h"
#include "tests/plan_diff/bounds.h"

/* A word of a saved step, and the field of the kernel's table that describes the word. */
struct word {
	const struct nn_field *field;
	size_t at;			/* offset in `state` of the number that the word holds */
	bool is_related;		/* set if the rule of another field reads the number */
};

struct tried {
	const struct nn_kernel *kernel;
	uint32_t words[NN_SAVED_WORDS];
	uint32_t count;
	char *state;			/* kernel state that was restored from the words */
	struct word word[NN_SAVED_WORDS];
	uint32_t num_words;		/* number of words read so far */
	uint32_t index;			/* repetition of the fields that EACH repeats */
	uint32_t steps;
};

static bool fill_nothing(void *state, struct nn_ready *ready)
{
	(void)state;
	(void)ready;
	return true;
}

/*
 * Returns whether the rules of the kernel's fields accept the step's words. The function does not
 * call the kernel's complete().
 */
static bool takes(struct tried *t, const struct nn_bounds *bounds)
{
	struct nn_kernel parser = *t->kernel;
	struct nn_ready ready = { .isa = nn_isa_find(NULL), .threads = 1 };
	void *state = calloc(1, parser.state_size);
	bool taken;

	assert_non_null(state);
	parser.complete = fill_nothing;
	taken = nn_step_restore(&parser, t->words, t->count, bounds, &ready, state);
	free(state);
	t->steps++;
	return taken;
}

/*
 * Tries a step with `value` as a word, and with operands that are large enough; `taken` says
 * whether the kernel must accept the step.
 */
static void expect(struct tried *t, const struct word *word, uint64_t value, bool taken)
{
	const struct nn_bounds most = form_bounds((struct nn_room){ UINT64_MAX, SAVED_ALIGN });
	const uint32_t number = (uint32_t)(word - t->word), before = t->words[number];

	t->words[number] = (uint32_t)value;
	if (takes(t, &most) != taken)
		fail_msg("%s: word %u (%u, offset %zu) is %s as %u", t->kernel->name, number, before,
			 word->at, taken ? "refused" : "taken", (uint32_t)value);
	t->words[number] = before;
}

static uint64_t value_of(const struct tried *t, size_t part, struct nn_ref ref)
{
	const char *at = t->state + part + ref.at + t->index * ref.step;

	return ref.size == 1 ? *(const uint8_t *)at : ref.size == 4 ? *(const uint32_t *)at :
							       *(const uint64_t *)at;
}

/* Returns the word from which a number in the state was read; NULL if there is no such word. */
static struct word *find(struct tried *t, size_t part, struct nn_ref ref)
{
	for (uint32_t i = 0; i < t->num_words; i++)
		if (t->word[i].at == part + ref.at + t->index * ref.step)
			return &t->word[i];
	return NULL;
}

static struct word *relate(struct tried *t, size_t part, struct nn_ref ref)
{
	struct word *word = ref.size ? find(t, part, ref) : NULL;

	if (word)
		word->is_related = true;
	return word;
}

static bool is_in_range(const struct nn_field *f, uint64_t value)
{
	return value <= UINT32_MAX && (uint32_t)value - f->word.low <= f->word.span;
}

/*
 * Checks that the kernel refuses the step if the word has a number that the field's mask excludes.
 */
static void try_only(struct tried *t, size_t part, const struct nn_field *f)
{
	struct word *word = relate(t, part, f->ref);

	for (uint32_t i = 0; word && i < 32; i++)
		if (is_in_range(word->field, i) && (f->when.mask ? !(f->when.mask >> i & 1) : !i))
			expect(t, word, i, false);
}

/* Sets each factor of a product to the smallest value with which the product exceeds its limit. */
static void try_limit(struct tried *t, size_t part, const struct nn_field *f)
{
	for (const struct nn_ref *ref = f->span->factors; ref->size; ref++) {
		struct word *word = relate(t, part, *ref);
		uint64_t others = 1, least;

		for (const struct nn_ref *other = f->span->factors; other->size; other++)
			others *= other == ref ? 1 : value_of(t, part, *other);
		least = f->span->most / others + 1;
		if (word && is_in_range(word->field, least))
			expect(t, word, least, false);
	}
}

static void try_equal(struct tried *t, size_t part, const struct nn_field *f)
{
	struct word *word = relate(t, part, f->ref);

	for (const struct nn_ref *ref = f->span->factors; ref->size; ref++)
		relate(t, part, *ref);
	for (int i = -1; word && i <= 1; i += 2)
		if (is_in_range(word->field, value_of(t, part, f->ref) + (uint64_t)i))
			expect(t, word, value_of(t, part, f->ref) + (uint64_t)i, false);
}

static void add_word(struct tried *t, size_t at, const struct nn_field *f)
{
	assert_true(t->num_words < t->count);
	t->word[t->num_words++] = (struct word){ f, at, false };
}

static void walk(struct tried *t, const struct nn_field *f, size_t part)
{
	for (; f->rule != NN_RULE_END; f++) {
		const size_t at = part + f->ref.at + t->index * f->ref.step;

		switch (f->rule) {
		case NN_RULE_WORD:
		case NN_RULE_OR_ZERO:
		case NN_RULE_FLOAT:
			for (size_t i = 0; i < f->count; i++)
				add_word(t, at + i * f->ref.size, f);
			break;
		case NN_RULE_PART:
			walk(t, f->rows, at);
			break;
		case NN_RULE_WHEN: {
			const uint64_t value = value_of(t, part, f->ref);

			relate(t, part, f->ref);
			if (f->when.mask ? value >= 32 || !(f->when.mask >> value & 1) : !value)
				f += f->when.skip;
			break;
		}
		case NN_RULE_EACH: {
			const uint64_t count = f->count ? f->count : value_of(t, part, f->ref);

			if (!f->count)
				relate(t, part, f->ref);
			for (t->index = 0; t->index < count; t->index++)
				walk(t, f + 1, part);
			t->index = 0;
			f += f->when.skip;
			break;
		}
		case NN_RULE_ONLY:
			try_only(t, part, f);
			break;
		case NN_RULE_LIMIT:
			try_limit(t, part, f);
			break;
		case NN_RULE_EQUAL:
			try_equal(t, part, f);
			break;
		case NN_RULE_CHECK:
			for (uint32_t i = 0; i < t->num_words; i++)
				t->word[i].is_related |= t->word[i].at - at < f->ref.size;
			break;
		case NN_RULE_SPAN:
			relate(t, part, f->span->base);
			break;
		default:
			break;
		}
	}
}

static uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/*
 * Tries values at the bounds of a float field. A float's bits plus 1 are the bits of the next float
 * away from 0.
 */
static void try_float(struct tried *t, const struct word *word)
{
	const float most = word->field->most;

	expect(t, word, bits_of(most), true);
	expect(t, word, bits_of(-most), true);
	expect(t, word, bits_of(most) + 1, false);
	expect(t, word, bits_of(-most) + 1, false);
	expect(t, word, bits_of(__builtin_nanf("")), false);
}

static void try_word(struct tried *t, const struct word *word)
{
	const uint32_t low = word->field->word.low, high = low + word->field->word.span;
	const bool has_ends = word->field->word.span != UINT32_MAX;

	if (has_ends && !(word->field->rule == NN_RULE_OR_ZERO && low == 1))
		expect(t, word, low - 1, false);
	if (has_ends)
		expect(t, word, high + 1, false);
	if (word->is_related)
		return;
	expect(t, word, low, true);
	expect(t, word, high, true);
	if (word->field->rule == NN_RULE_OR_ZERO)
		expect(t, word, 0, true);
}

/*
 * Tries a step with an operand whose memory is too small, then with unaligned memory, and restores
 * the memory's description.
 */
static void try_room(struct tried *t, struct nn_bounds *bounds, struct nn_room *room,
		     const char *operand, uint32_t number)
{
	const struct nn_room before = *room;

	room->bytes--;
	if (takes(t, bounds))
		fail_msg("%s: %s %u of %zu bytes is taken", t->kernel->name, operand, number,
			 (size_t)room->bytes);
	*room = (struct nn_room){ before.bytes, 0 };
	if (takes(t, bounds))
		fail_msg("%s: %s %u that is not aligned is taken", t->kernel->name, operand, number);
	*room = before;
}

uint32_t check_bounds(const struct form_steps *s, const struct nn_bounds *bounds)
{
	const struct nn_kernel *kernel = nn_kernel_at(s->step->kernel);
	struct tried t = { .kernel = kernel, .count = s->step->words };
	struct nn_bounds rooms = *bounds;
	struct nn_ready ready = { .isa = nn_isa_find(NULL), .threads = 1, .kernel = kernel };
	struct nn_kernel parser = *kernel;
	uint64_t reads;

	memcpy(t.words, s->words, t.count * sizeof(*t.words));
	t.state = ready.state = calloc(1, kernel->state_size);
	parser.complete = fill_nothing;
	assert_true(ready.state && nn_step_restore(&parser, t.words, t.count, bounds, &ready,
						   ready.state));
	walk(&t, kernel->fields, 0);
	assert_int_equal(t.num_words, t.count);
	for (uint32_t i = 0; i < t.count; i++) {
		if (t.word[i].field->rule == NN_RULE_FLOAT)
			try_float(&t, &t.word[i]);
		else
			try_word(&t, &t.word[i]);
	}
	reads = nn_step_reads(&ready);
	for (uint32_t i = 0; i < s->step->num_inputs; i++)
		if (reads & NN_IN(i))
			try_room(&t, &rooms, &rooms.inputs[i], "input", i);
	for (uint32_t i = 0; i < s->step->num_outputs; i++)
		try_room(&t, &rooms, i ? &rooms.more_outputs[i - 1] : &rooms.output, "output", i);
	/* A step whose last word is missing is refused. */
	t.count--;
	assert_false(takes(&t, bounds));
	free(t.state);
	return t.steps;
}
