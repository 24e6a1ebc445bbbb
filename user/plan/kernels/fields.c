/* SPDX-License-Identifier: MIT */
/*
 * Walks a kernel's field table, to save a step, to restore a step, or to find the inputs that a
 * step reads.
 */
#include "plan/kernels/fields_row.h"

uint64_t nn_add_axes(const struct nn_walk *w, char *state, const struct nn_span *s, uint64_t elements)
{
	const uint64_t count = s->count.size ? nn_value(w, state, s->count) : s->num_axes;

	for (size_t i = 0; i < count; i++) {
		const uint64_t dim = nn_load(state + s->dims.at + i * s->dims.step, s->dims.size);
		const char *step = state + s->steps.at + i * s->steps.step;

		if (!s->steps.size)
			elements = nn_times(elements, dim);
		else if (__builtin_add_overflow(elements, nn_times(dim - 1, nn_load(step, s->steps.size)),
						&elements))
			elements = UINT64_MAX;
	}
	return elements;
}

bool nn_walk_rows(struct nn_walk *w, const struct nn_field *rows, char *state, enum nn_aim aim)
{
	uint32_t skip;

	for (const struct nn_field *f = rows; f->rule != NN_RULE_END; f += 1 + skip)
		if (!nn_walk_row(w, f, state, aim, &skip))
			return false;
	return true;
}

uint32_t nn_step_save(const struct nn_ready *ready, uint32_t words[NN_SAVED_WORDS])
{
	struct nn_walk w = { .kernel = ready->kernel, .to = words, .end = words + NN_SAVED_WORDS };

	return nn_walk_rows(&w, ready->kernel->fields, ready->state, NN_SAVE) ?
	       (uint32_t)(w.to - words) : 0;
}

uint64_t nn_step_reads(const struct nn_ready *ready)
{
	struct nn_walk w = { .kernel = ready->kernel };

	return nn_walk_rows(&w, ready->kernel->fields, ready->state, NN_COLLECT) ? w.reads : 0;
}

bool nn_step_restore(const struct nn_kernel *kernel, const uint32_t *words, uint32_t count,
		     const struct nn_bounds *bounds, struct nn_ready *ready, void *state)
{
	struct nn_walk w = { .kernel = kernel, .from = words, .end = words + count, .bounds = bounds };
	const bool fine = kernel->restore ? kernel->restore(&w, state) :
			  nn_walk_rows(&w, kernel->fields, state, NN_RESTORE);

	return fine && w.from == w.end && kernel->complete(state, ready);
}

/* ---- Windows ---- */

static bool axis_reaches(const struct nn_axis *a)
{
	return a->head <= (int64_t)(a->filter - 1) * a->dilation &&
	       (int64_t)(a->out - 1) * a->stride - a->head < a->in;
}

bool nn_window_reaches(const void *state)
{
	const struct nn_window *window = state;

	return axis_reaches(&window->h) && axis_reaches(&window->w);
}

/*
 * RUN(in, 5) requires that five fields from `in` on are contiguous in struct nn_axis. RUN(zero, 3)
 * requires that three fields from `zero` on are contiguous in struct nn_q8_output.
 */
_Static_assert(offsetof(struct nn_axis, dilation) ==
	       offsetof(struct nn_axis, in) + 4 * sizeof(uint32_t), "RUN(in, 5)");
_Static_assert(sizeof(struct nn_q8_output) == 3 * sizeof(int32_t), "RUN(zero, 3)");
