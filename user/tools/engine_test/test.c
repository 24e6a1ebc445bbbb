/* SPDX-License-Identifier: MIT */
/* Steps that all groups of tests use: preparing, executing and counting outcomes. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nnaccel/engine_model.h>

#include "base/clock.h"
#include "base/write.h"
#include "tools/engine_test/test.h"

/* Time until a deadline that no preparation misses. */
#define FAR_NS (3600 * NS_PER_S)

static enum nn_status ask_sentinel(struct test *t)
{
	enum nn_status status = NN_OK;
	struct shot s;

	if (shot_init(&s, t->target.device, t->kept[0])) {
		target_guard(&t->target, "an execution after a group");
		status = shot_run(&s, t->sentinel.model, NULL);
		if (target_unguard(&t->target))
			status = NN_DEAD_OBJECT;
	}
	shot_free(&s);
	return status;
}

struct row *test_row(struct test *t, const char *name)
{
	char reason[REASON];
	struct row *row = &t->rows[t->num_rows < MAX_ROWS - 1 ? t->num_rows++ : t->num_rows];

	*row = (struct row){ .counts = { 0 } };
	snprintf(row->name, sizeof(row->name), "%s", name);
	if (t->num_kept && !t->sentinel.model)
		test_prepare(t, t->kept[0], NULL, &t->sentinel, reason);
	return row;
}

void test_end_row(struct test *t, struct row *row)
{
	if (t->sentinel.model && ask_sentinel(t) == NN_DEAD_OBJECT) {
		test_release(&t->sentinel);
		if (!row->counts[CRASHED])
			test_note(t, row, CRASHED, NULL, "the engine died at the end of a model or a burst");
	}
	if (t->progress)
		t->progress(row);
}

/* Stores a copy of a failing vector if the vector is the smallest so far. */
static void keep_smallest(struct test *t, const struct vector *v)
{
	char path[] = "/proc/self/fd/0000000000";
	int file;

	if (t->smallest && vector_size(t->smallest) <= vector_size(v))
		return;
	file = memfd_create("vector", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	if (file >= 0 && vector_save(v, path)) {
		struct vector *copy = vector_load(path);

		if (copy) {
			vector_free(t->smallest);
			t->smallest = copy;
		}
	}
	if (file >= 0)
		close(file);
}

void test_note(struct test *t, struct row *row, enum outcome outcome, const struct vector *v,
	       const char *reason)
{
	row->counts[outcome]++;
	if (outcome == RIGHT || outcome == REFUSED)
		return;
	if (!row->reason[0])
		snprintf(row->reason, sizeof(row->reason), "%s", reason);
	if (v)
		keep_smallest(t, v);
	if (outcome == CRASHED && !target_recover(&t->target)) {
		fprintf(stderr, "nnaccel engine-test: the engine does not serve any more: %s\n", reason);
		exit(EXIT_FAILURE);
	}
}

enum outcome test_outcome(struct test *t, enum nn_status status, const char *what,
			  const struct nn_error *err, char reason[REASON])
{
	(void)t;
	reason[0] = '\0';
	if (!status)
		return RIGHT;
	snprintf(reason, REASON, "%s: %s: %.160s", what, nn_status_name(status), err->message);
	return status == NN_DEAD_OBJECT || status == NN_DEVICE_UNAVAILABLE ? CRASHED : WRONG;
}

enum outcome test_end_call(struct test *t, const char *what, enum outcome outcome,
			   char reason[REASON])
{
	if (!target_unguard(&t->target))
		return outcome;
	snprintf(reason, REASON, "%s: it hangs", what);
	t->hangs++;
	return CRASHED;
}

void test_release(struct ready *ready)
{
	nna_prepared_model_free(ready->model);
	nna_memory_free(ready->pool);
	*ready = (struct ready){ .model = NULL };
}

static bool import_pool(struct test *t, const struct vector *v, struct nna_memory **memory,
			struct nn_error *err)
{
	const uint64_t size = v->model->num_pools ? v->model->pools[0].size : 0;
	bool done = false;
	int file;

	if (!size)
		return true;
	file = memfd_create("nnaccel-constants", MFD_CLOEXEC);
	if (file < 0 || !write_at(file, v->pool, size, 0))
		nn_fail(err, NN_GENERAL_FAILURE, "%s", strerror(errno));
	else
		done = !nna_memory_import(t->target.device, NNA_SIZED(nna_file, .fd = file,
					  .prot = PROT_READ, .length = size), memory, err);
	if (file >= 0)
		close(file);
	return done;
}

static enum outcome ask_supported(struct test *t, const struct vector *v, struct ready *ready,
				  char reason[REASON])
{
	const uint32_t count = v->model->subgraphs[0].num_operations;
	bool *supported = calloc(count + 1, sizeof(*supported));
	struct nn_error err = { "" };
	enum outcome outcome = REFUSED;
	enum nn_status status;
	bool all = true;

	if (!supported)
		return REFUSED;
	target_guard(&t->target, "asked for supported operations");
	status = nna_get_supported_operations(t->target.device, v->model, &ready->pool, supported, &err);
	/* Query a second time, because both answers of the engine must be equal. */
	if (v->was_supported)
		status = nna_get_supported_operations(t->target.device, v->model, &ready->pool, supported,
						      &err);
	if (status)
		outcome = test_outcome(t, status, "supported operations", &err, reason);
	outcome = test_end_call(t, "supported operations", outcome, reason);
	for (uint32_t i = 0; i < count; i++)
		all &= supported[i];
	free(supported);
	if (!status && !all && v->was_supported) {
		snprintf(reason, REASON, "supported operations: they were supported before");
		return WRONG;
	}
	return !status && all ? RIGHT : outcome;
}

enum outcome test_prepare(struct test *t, const struct vector *v, const struct nna_cache *cache,
			  struct ready *ready, char reason[REASON])
{
	const struct nna_prepare_options o = {
		.size = sizeof(o), .preference = t->prepared % 3, .priority = t->prepared / 3 % 3,
		.deadline_ns = t->prepared % 4 == 3 ? clock_ns() + FAR_NS : 0, .cache = cache,
	};
	struct nn_error err = { "" };
	enum outcome asked, outcome;
	char refusal[REASON];
	enum nn_status status;

	*ready = (struct ready){ .model = NULL };
	reason[0] = '\0';
	t->prepared++;
	if (t->hangs >= MOST_HANGS)
		return REFUSED;
	if (!import_pool(t, v, &ready->pool, &err)) {
		snprintf(reason, REASON, "memory of constants: %.200s", err.message);
		return WRONG;
	}
	asked = outcome = ask_supported(t, v, ready, reason);
	memcpy(refusal, reason, REASON);
	/*
	 * If an engine prepares a model that the engine reports as not supported, the results must
	 * be right, as the HAL's own tests demand.
	 */
	if (asked != CRASHED) {
		target_guard(&t->target, "preparing a model");
		status = nna_prepare_model(t->target.device, v->model, &ready->pool, &o, &ready->model,
					   &err);
		outcome = test_outcome(t, status, "prepare", &err, reason);
		outcome = test_end_call(t, "prepare", outcome, reason);
		if (outcome == WRONG && asked != RIGHT) {
			outcome = asked;
			memcpy(reason, refusal, REASON);
		} else if (outcome == RIGHT && asked == WRONG) {
			outcome = WRONG;
			snprintf(reason, REASON, "prepare: succeeds after %.200s", refusal);
		}
	}
	if (outcome != RIGHT)
		test_release(ready);
	return outcome;
}

static enum outcome execute(struct test *t, const struct vector *v, const struct ready *ready,
			    char reason[REASON])
{
	enum outcome outcome = WRONG;
	enum nn_status status;
	struct shot s;

	if (!shot_init(&s, t->target.device, v)) {
		snprintf(reason, REASON, "memory: %.200s", s.err.message);
	} else {
		target_guard(&t->target, "an execution");
		status = shot_run(&s, ready->model, NULL);
		outcome = test_outcome(t, status, "execute", &s.err, reason);
		outcome = test_end_call(t, "execute", outcome, reason);
		if (outcome == RIGHT && !shot_check(&s, reason))
			outcome = WRONG;
	}
	shot_free(&s);
	return outcome;
}

enum outcome test_vector(struct test *t, const struct vector *v, char reason[REASON])
{
	struct ready ready;
	enum outcome outcome = test_prepare(t, v, NULL, &ready, reason);

	if (outcome == RIGHT) {
		outcome = execute(t, v, &ready, reason);
		target_guard(&t->target, "the end of a model");
		test_release(&ready);
		target_unguard(&t->target);
	}
	return outcome;
}
