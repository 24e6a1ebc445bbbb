/* SPDX-License-Identifier: MIT */
/*
 * Functions for tests that damage serialised plans: iterate over a plan's steps, and update the
 * header after damage.
 */
#ifndef NN_TESTS_SERIALISED_PLAN_H
#define NN_TESTS_SERIALISED_PLAN_H

#include <stdlib.h>

#include "base/round.h"
#include "plan/kernels/fields.h"
#include "plan/saved/saved.h"

/*
 * An iterator over the steps of a serialised plan; `step` is the current step, and `words` are the
 * words of the current step's kernel.
 */
struct form_steps {
	const struct serial_step *step;
	const uint32_t *words;
	const uint32_t *next;
	const uint32_t *end;
};

static inline struct form_steps form_steps_begin(const struct saved_header *h)
{
	const struct serial_header *head = (const struct serial_header *)(h + 1);
	const uint32_t *form = (const uint32_t *)head;
	uint64_t at = sizeof(*head) +
		      ((uint64_t)head->num_inputs + head->num_outputs) * sizeof(struct serial_arg) +
		      (uint64_t)head->num_places * sizeof(struct serial_place);
	struct form_steps s = { .end = form + h->serial_size / sizeof(*form) };

	s.next = at < h->serial_size ? form + at / sizeof(*form) : s.end;
	return s;
}

/*
 * Return a step's words after its header: the outputs, then the inputs, then the words of the
 * kernel's state.
 */
static inline uint32_t *form_outputs(const struct serial_step *step)
{
	return (uint32_t *)(step + 1);
}

static inline uint32_t *form_inputs(const struct serial_step *step)
{
	return form_outputs(step) + step->num_outputs;
}

static inline uint32_t *form_words(const struct serial_step *step)
{
	return form_inputs(step) + step->num_inputs;
}

/* Returns bounds in which every operand has memory of size and alignment `room`. */
static inline struct nn_bounds form_bounds(struct nn_room room)
{
	struct nn_bounds bounds = { .output = room };

	for (uint32_t i = 0; i < NN_SAVED_INPUTS; i++)
		bounds.inputs[i] = room;
	for (uint32_t i = 0; i + 1 < NN_SAVED_OUTPUTS; i++)
		bounds.more_outputs[i] = room;
	return bounds;
}

/* Advances to the next step. Returns false after the last step. */
static inline bool form_steps_next(struct form_steps *s)
{
	const size_t head = sizeof(*s->step) / sizeof(*s->next);
	size_t operands;

	if ((size_t)(s->end - s->next) < head)
		return false;
	s->step = (const struct serial_step *)s->next;
	operands = (size_t)s->step->num_outputs + s->step->num_inputs;
	if ((size_t)(s->end - s->next) - head < operands + s->step->words)
		return false;
	s->words = form_words(s->step);
	s->next = s->words + s->step->words;
	return true;
}

/*
 * Restores a step. Returns the step's kernel, and the kernel's state in *state, which the caller
 * frees. Returns NULL if the kernel rejects the step.
 */
static inline const struct nn_kernel *form_restore(const struct form_steps *s,
						   const struct nn_bounds *bounds,
						   struct nn_ready *ready, void **state)
{
	const struct nn_kernel *kernel = nn_kernel_at(s->step->kernel);
	uint32_t *words = malloc(s->step->words * sizeof(*words) + 1);

	*state = NULL;
	if (kernel && kernel->fields && words) {
		*state = calloc(1, kernel->state_size);
		ready->kernel = kernel;
		ready->state = *state;
		/*
		 * Copy the words to memory of exactly their size, so that the sanitizer finds reads
		 * beyond the words.
		 */
		for (uint32_t i = 0; i < s->step->words; i++)
			words[i] = s->words[i];
		if (!*state || !nn_step_restore(kernel, words, s->step->words, bounds, ready, *state))
			kernel = NULL;
	} else {
		kernel = NULL;
	}
	free(words);
	return kernel;
}

/* Updates the size of packed weights in the header to the size that the changed steps need. */
static inline void form_mend(struct saved_header *h)
{
	/* `bounds` has room for operands of any size. */
	const struct nn_bounds bounds = form_bounds((struct nn_room){ UINT32_MAX, SAVED_ALIGN });
	struct form_steps s = form_steps_begin(h);
	uint64_t packed = 0;

	while (form_steps_next(&s)) {
		struct nn_ready ready = { .isa = nn_isa_find(h->kernels), .threads = 1 };
		void *state;
		const struct nn_kernel *kernel = form_restore(&s, &bounds, &ready, &state);

		free(state);
		if (!kernel)
			return;
		if (ready.packed_size && !ready.pack_tasks)
			packed += round_up(ready.packed_size, SAVED_ALIGN);
	}
	h->packed_size = packed;
}

#endif /* NN_TESTS_SERIALISED_PLAN_H */
