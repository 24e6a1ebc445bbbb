/* SPDX-License-Identifier: MIT */
/*
 * Sums the times of executions, and writes a report at a program's end.
 */
#include "runtime/trace_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/op.h"
#include "runtime/log.h"
#include "runtime/partition.h"

/* Sum of an operation's times in all executions. */
struct row {
	uint32_t index;			/* of struct nn_operation_time */
	int32_t type;
	uint64_t ns;
};

struct trace_step {
	struct trace_step *next;	/* next older step */
	uint32_t model, number, num_steps;
	bool is_inherited;	/* true if a parent process made the step before the fork */
	char device[64];
	uint64_t runs, ns;		/* on the device */
	uint64_t failures;
	uint64_t in_place_runs, in_place_ns;	/* on the CPU */
	uint64_t engine_runs, queue_ns, engine_ns;	/* sums of times that the engine reported */
	uint64_t timed_runs;		/* number of runs that reported times of operations */
	uint64_t copied_in, copied_out;
	struct row *rows;
	uint32_t num_rows;
	uint32_t num_operations;
	/* `index` counts operations of the whole model */
	struct { uint32_t index; int32_t type; } operations[];
};

static struct trace_step *steps;

struct trace_step *trace_report_new_step(const struct step *step, uint32_t model, uint32_t number,
					 uint32_t num_steps)
{
	const struct nn_subgraph *main = &step->graph.model.subgraphs[0];
	struct trace_step *t = calloc(1, sizeof(*t) + main->num_operations * sizeof(t->operations[0]));

	if (!t)
		return NULL;
	t->number = number;
	t->num_steps = num_steps;
	snprintf(t->device, sizeof(t->device), "%s", step->device->name);
	t->num_operations = main->num_operations;
	for (uint32_t i = 0; i < main->num_operations; i++) {
		t->operations[i].index = step->operations ? step->operations[i] : i;
		t->operations[i].type = main->operations[i].type;
	}
	t->model = model;
	t->next = steps;
	steps = t;
	return t;
}

/*
 * Returns the row of an operation, and adds the row if it is missing. Every execution of a step
 * adds the times of the step's operations in the same order.
 */
static struct row *find_row(struct trace_step *t, uint32_t from, const struct nn_operation_time *time)
{
	struct row *rows;

	for (uint32_t i = 0; i < t->num_rows; i++) {
		struct row *row = &t->rows[(from + i) % t->num_rows];

		if (row->index == time->index && row->type == time->type)
			return row;
	}
	rows = realloc(t->rows, (t->num_rows + 1) * sizeof(*rows));
	if (!rows)
		return NULL;
	t->rows = rows;
	rows[t->num_rows] = (struct row){ time->index, time->type, 0 };
	return &rows[t->num_rows++];
}

void trace_report_add(struct trace_step *t, bool in_place, const struct trace_run *run, uint64_t ns,
		      int result)
{
	if (result != ANEURALNETWORKS_NO_ERROR) {
		t->failures++;
	} else if (in_place) {
		t->in_place_runs++;
		t->in_place_ns += ns;
	} else {
		t->runs++;
		t->ns += ns;
		t->copied_in += run->copied_in;
		t->copied_out += run->copied_out;
		if (run->engine_begin_ns) {
			t->engine_runs++;
			t->queue_ns += run->engine_begin_ns - run->submitted_ns;
			t->engine_ns += run->engine_end_ns - run->engine_begin_ns;
		}
		t->timed_runs += run->times.count > 0;
		for (uint32_t i = 0; i < run->times.count; i++) {
			struct row *row = find_row(t, i, &run->times.list[i]);

			if (row)
				row->ns += run->times.list[i].end_ns - run->times.list[i].begin_ns;
		}
	}
}

/* ---- the text ---- */

#define BEGIN "nnaccel: report: "
#define MS(ns, runs) ((runs) ? (double)(ns) / (double)(runs) / 1e6 : 0)

static void print_row(const char *what, uint32_t index, int32_t type, const char *device, uint64_t ns,
		      uint64_t runs, uint64_t sum)
{
	fprintf(stderr, BEGIN "  %s %u %s on %s: %.3f ms, %.1f %%\n", what, index,
		type == NN_OPERATIONS ? "and some that follow" : nn_op_name(type), device, MS(ns, runs),
		sum ? 100.0 * (double)ns / (double)sum : 0);
}

static const struct row *row_of(const struct trace_step *t, uint32_t index)
{
	for (uint32_t i = 0; i < t->num_rows; i++)
		if (t->rows[i].index == index && (t->rows[i].type == t->operations[index].type ||
						  t->rows[i].type == NN_OPERATIONS))
			return &t->rows[i];
	return NULL;
}

static void print_operations(const struct trace_step *t)
{
	uint64_t sum = 0;
	bool other = false;

	for (uint32_t i = 0; i < t->num_rows; i++) {
		sum += t->rows[i].ns;
		other |= t->rows[i].index & NN_OTHER_MODEL;
	}
	for (uint32_t i = 0; !other && i < t->num_operations; i++) {
		const struct row *row = row_of(t, i);

		if (row)
			print_row("operation", t->operations[i].index, row->type, t->device, row->ns,
				  t->timed_runs, sum);
		else
			fprintf(stderr, BEGIN "  operation %u %s on %s: computed with another\n",
				t->operations[i].index, nn_op_name(t->operations[i].type), t->device);
	}
	if (other)
		fputs(BEGIN "  the engine computes another form of these operations:\n", stderr);
	for (uint32_t i = 0; other && i < t->num_rows; i++)
		print_row("its operation", t->rows[i].index & ~NN_OTHER_MODEL, t->rows[i].type, t->device,
			  t->rows[i].ns, t->timed_runs, sum);
}

static void print_step(const struct trace_step *t)
{
	fprintf(stderr, BEGIN "model %u, part %u of %u: %u operations on %s: %" PRIu64 " run%s", t->model,
		t->number + 1, t->num_steps, t->num_operations, t->device, t->runs, t->runs == 1 ? "" : "s");
	if (t->runs)
		fprintf(stderr, ", %.3f ms each", MS(t->ns, t->runs));
	if (t->engine_runs)
		fprintf(stderr, ", of which %.3f ms before the engine began and %.3f ms in the engine",
			MS(t->queue_ns, t->engine_runs), MS(t->engine_ns, t->engine_runs));
	fputc('\n', stderr);
	if (t->failures || t->in_place_runs)
		fprintf(stderr, BEGIN "  %" PRIu64 " failed; %" PRIu64 " by the CPU in its place, %.3f ms each\n",
			t->failures, t->in_place_runs, MS(t->in_place_ns, t->in_place_runs));
	if (!t->runs)
		return;
	fprintf(stderr, BEGIN "  copies: %" PRIu64 " bytes in, %" PRIu64 " bytes out a run\n",
		t->copied_in / t->runs, t->copied_out / t->runs);
	if (t->timed_runs)
		print_operations(t);
	else
		fputs(BEGIN "  the device does not report times of single operations\n", stderr);
}

static void print_from(const struct trace_step *t)
{
	if (!t)
		return;
	print_from(t->next);
	if (!t->is_inherited || t->runs || t->failures)
		print_step(t);
}

void trace_report_print(void)
{
	print_from(steps);
}

void trace_report_forget(void)
{
	for (struct trace_step *t = steps; t; t = t->next) {
		t->is_inherited = true;
		t->runs = t->ns = t->failures = t->in_place_runs = t->in_place_ns = 0;
		t->engine_runs = t->queue_ns = t->engine_ns = t->timed_runs = 0;
		t->copied_in = t->copied_out = 0;
		t->num_rows = 0;
	}
}
