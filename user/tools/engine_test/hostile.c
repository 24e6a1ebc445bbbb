/* SPDX-License-Identifier: MIT */
/*
 * Groups of tests with wrong models, deadlines, damaged files and dead processes.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "ops/op.h"
#include "tools/engine_test/test.h"
#include "vectors/random.h"

/* ---- arguments ---- */

enum spoiled {
	ONE_INPUT_LESS, ONE_INPUT_MORE, ONE_OUTPUT_LESS, SHORT_INPUT, NO_INPUT, NO_OUTPUT,
	OTHER_RANK, OTHER_DIMENSION, OTHER_OUTPUT_DIMENSION, SHORT_OUTPUT, SHORTEST_OUTPUT,
	LONG_OUTPUT, ALL_DIMENSIONS, SAME_AGAIN, NUM_SPOILED,
};

static const struct {
	const char *what;
	enum nn_status status;
	/* true if GENERAL_FAILURE is also right, because the operation itself may fail */
	bool may_fail;
} spoils[NUM_SPOILED] = {
	[ONE_INPUT_LESS] = { "an input is missing", NN_INVALID_ARGUMENT, false },
	[ONE_INPUT_MORE] = { "one input too many", NN_INVALID_ARGUMENT, false },
	[ONE_OUTPUT_LESS] = { "an output is missing", NN_INVALID_ARGUMENT, false },
	[SHORT_INPUT] = { "an input is an element too short", NN_INVALID_ARGUMENT, false },
	[NO_INPUT] = { "an input is omitted", NN_INVALID_ARGUMENT, true },
	[NO_OUTPUT] = { "an output is omitted", NN_INVALID_ARGUMENT, true },
	[OTHER_RANK] = { "an input has another rank", NN_INVALID_ARGUMENT, false },
	[OTHER_DIMENSION] = { "an input has another dimension", NN_INVALID_ARGUMENT, false },
	[OTHER_OUTPUT_DIMENSION] = { "an output has another dimension", NN_INVALID_ARGUMENT, false },
	[SHORT_OUTPUT] = { "an output is an element too short", NN_OUTPUT_INSUFFICIENT_SIZE, false },
	[SHORTEST_OUTPUT] = { "an output has no room", NN_OUTPUT_INSUFFICIENT_SIZE, false },
	[LONG_OUTPUT] = { "an output has more room", NN_OK, false },
	[ALL_DIMENSIONS] = { "all dimensions are given", NN_OK, false },
	[SAME_AGAIN] = { "nothing is wrong after all these", NN_OK, false },
};

static uint32_t element_of(const struct vector *v, uint32_t operand)
{
	return nn_type_info_of(v->model->subgraphs[0].operands[operand].type)->element_size;
}

/* Sets the dimensions of an argument; if is_wrong is set, one dimension is wrong. */
static void set_dims(struct nna_argument *a, const struct nn_operand *o, bool is_wrong)
{
	a->rank = o->rank;
	memcpy(a->dims, o->dims, o->rank * sizeof(o->dims[0]));
	a->dims[0] += is_wrong;
}

static void spoil(struct shot *s, struct vector *v, enum spoiled how)
{
	const struct nn_subgraph *main = &s->v->model->subgraphs[0];
	struct nna_argument *in = &s->inputs[0], *out = &s->outputs[0];

	switch (how) {
	case ONE_INPUT_LESS:
		v->num_inputs--;
		break;
	case ONE_INPUT_MORE:
		s->inputs[v->num_inputs++] = *in;
		break;
	case ONE_OUTPUT_LESS:
		v->num_outputs--;
		break;
	case SHORT_INPUT:
		in->length -= element_of(s->v, main->inputs[0]);
		break;
	case NO_INPUT:
		*in = (struct nna_argument){ .has_no_value = true };
		break;
	case NO_OUTPUT:
		*out = (struct nna_argument){ .has_no_value = true };
		break;
	case OTHER_RANK:
		set_dims(in, &main->operands[main->inputs[0]], false);
		in->dims[in->rank++] = 1;
		break;
	case OTHER_DIMENSION:
		set_dims(in, &main->operands[main->inputs[0]], true);
		break;
	case OTHER_OUTPUT_DIMENSION:
		set_dims(out, &main->operands[main->outputs[0]], true);
		break;
	case SHORT_OUTPUT:
		out->length -= element_of(s->v, main->outputs[0]);
		break;
	case SHORTEST_OUTPUT:
		out->length = 0;
		break;
	case LONG_OUTPUT:
		out->length += 4;
		break;
	case ALL_DIMENSIONS:
		set_dims(in, &main->operands[main->inputs[0]], false);
		set_dims(out, &main->operands[main->outputs[0]], false);
		break;
	default:
		break;
	}
}

/*
 * Tests that an execution with a wrong argument fails as the HAL requires, and that the next
 * execution is right.
 */
static enum outcome try_spoiled(struct test *t, const struct vector *v, struct nna_prepared_model *model,
				enum spoiled how, char reason[REASON])
{
	struct vector other = *v;
	enum outcome outcome = RIGHT;
	enum nn_status status;
	struct shot s;

	if (!shot_init(&s, t->target.device, v)) {
		shot_free(&s);
		return REFUSED;
	}
	spoil(&s, &other, how);
	s.v = &other;
	target_guard(&t->target, "an execution with a wrong argument");
	status = shot_run(&s, model, NULL);
	if (target_unguard(&t->target) || status == NN_DEAD_OBJECT || status == NN_DEVICE_UNAVAILABLE) {
		snprintf(reason, REASON, "%s: the engine died", spoils[how].what);
		outcome = CRASHED;
	} else if (status != spoils[how].status &&
		   !(spoils[how].may_fail && status == NN_GENERAL_FAILURE)) {
		snprintf(reason, REASON, "%s: %s, not %s", spoils[how].what, nn_status_name(status),
			 nn_status_name(spoils[how].status));
		outcome = WRONG;
	} else if (status == NN_OUTPUT_INSUFFICIENT_SIZE && !shot_check_short(&s, status, reason)) {
		outcome = WRONG;
	} else if (!status && !shot_check(&s, reason)) {
		outcome = WRONG;
	}
	shot_free(&s);
	return outcome;
}

void group_arguments(struct test *t)
{
	struct row *row = test_row(t, "wrong arguments");
	char reason[REASON];

	for (uint32_t i = 0; i < t->num_kept && i < 8; i++) {
		const struct vector *v = t->kept[i];
		struct ready ready;
		enum outcome outcome = test_prepare(t, v, NULL, &ready, reason);

		for (int how = 0; how < NUM_SPOILED && outcome == RIGHT; how++) {
			const struct nn_operand *o =
				&v->model->subgraphs[0].operands[v->model->subgraphs[0].outputs[0]];

			if (v->outputs[0].size < 8 || v->inputs[0].size < 8 || !o->rank ||
			    !nn_operand_is_specified(o))
				continue;
			outcome = try_spoiled(t, v, ready.model, how, reason);
			test_note(t, row, outcome, v, reason);
			if (outcome == WRONG)
				outcome = RIGHT;
		}
		test_release(&ready);
	}
	test_end_row(t, row);
}

/* ---- models that are wrong, or other than they were ---- */

struct mutant {
	struct nn_model model;
	struct nn_subgraph main;
	struct nn_operand *operands;
	struct nn_operation *operations;
	uint32_t *inputs;		/* inputs of the operation that is changed */
};

static void mutant_free(struct mutant *m)
{
	free(m->operands);
	free(m->operations);
	free(m->inputs);
}

static void mutate(struct mutant *m)
{
	struct nn_operand *o = &m->operands[pick(0, m->main.num_operands - 1)];
	struct nn_operation *op = &m->operations[pick(0, m->main.num_operations - 1)];

	switch (pick(0, 8)) {
	case 0:
		o->type = (int32_t)pick(0, 14);
		break;
	case 1:
		o->rank = pick(0, 5);
		for (uint32_t i = 0; i < o->rank; i++)
			o->dims[i] = o->dims[i] ? o->dims[i] : pick(1, 3);
		for (uint32_t i = o->rank; i < NN_MAX_RANK; i++)
			o->dims[i] = 0;
		break;
	case 2:
		if (o->rank)
			o->dims[pick(0, o->rank - 1)] = pick(0, 20);
		break;
	case 3:
		op->type = (int32_t)pick(0, 101);
		break;
	case 4:
		op->num_inputs -= op->num_inputs > 0;
		break;
	case 5:
		o->scale = chance(2) ? 0 : 0.5f;
		o->zero_point = (int32_t)pick(0, 300) - 100;
		break;
	case 6:
		m->inputs = malloc((op->num_inputs + 1) * sizeof(*m->inputs));
		if (!m->inputs)
			break;
		memcpy(m->inputs, op->inputs, op->num_inputs * sizeof(*m->inputs));
		m->inputs[pick(0, op->num_inputs)] = pick(0, m->main.num_operands - 1);
		op->inputs = m->inputs;
		break;
	case 7:
		o->type = NN_TENSOR_QUANT8_ASYMM;
		o->scale = 0.5f;
		o->zero_point = 128;
		break;
	default:
		if (o->rank)
			o->dims[0] = 0x40000000;
	}
}

static void recount(struct mutant *m)
{
	for (uint32_t i = 0; i < m->main.num_operands; i++) {
		uint32_t size = 0;

		m->operands[i].consumers = 0;
		/*
		 * Shorten a constant that is longer than the constant's changed type and dimensions
		 * need.
		 */
		if (m->operands[i].lifetime == NN_CONSTANT_COPY &&
		    nn_operand_size(&m->operands[i], &size) && size < m->operands[i].location.length)
			m->operands[i].location.length = size;
	}
	for (uint32_t i = 0; i < m->main.num_operations; i++)
		for (uint32_t k = 0; k < m->operations[i].num_inputs; k++)
			if (m->operations[i].inputs[k] < m->main.num_operands)
				m->operands[m->operations[i].inputs[k]].consumers++;
}

#define HUGE_SIZE (64 << 20)

static bool mutant_init(struct mutant *m, const struct vector *v)
{
	const struct nn_subgraph *main = &v->model->subgraphs[0];

	*m = (struct mutant){ .model = *v->model, .main = *main };
	m->operands = malloc((main->num_operands + 1) * sizeof(*m->operands));
	m->operations = malloc((main->num_operations + 1) * sizeof(*m->operations));
	if (!m->operands || !m->operations || v->model->num_subgraphs > 1)
		return false;
	memcpy(m->operands, main->operands, main->num_operands * sizeof(*m->operands));
	memcpy(m->operations, main->operations, main->num_operations * sizeof(*m->operations));
	m->main.operands = m->operands;
	m->main.operations = m->operations;
	m->model.subgraphs = &m->main;
	mutate(m);
	recount(m);
	return true;
}

/*
 * Tests a changed model: if the reference rejects the model, the engine must reject the model too.
 * If the reference accepts the model, the engine may either reject the model or compute it
 * correctly.
 */
static enum outcome try_mutant(struct test *t, const struct vector *v, const struct nn_model *model,
			       char reason[REASON])
{
	struct vector wrong = *v, *valid;
	struct nn_error err = { "" };
	bool all[64], is_valid;
	enum outcome outcome;
	struct ready ready;

	memset(all, 1, sizeof(all));
	if (nn_model_check(model, &err) || model->subgraphs[0].num_operations > 64)
		return REFUSED;
	is_valid = !nn_ops_check_model(model, NULL, &err);
	/* Skip a huge valid model, which would take too much time and memory. */
	for (uint32_t i = 0; i < model->subgraphs[0].num_operands && is_valid; i++) {
		uint32_t size = 0;

		if (nn_operand_size(&model->subgraphs[0].operands[i], &size) && size > HUGE_SIZE)
			return REFUSED;
	}
	valid = is_valid ? vector_cut(model, all, "changed model") : NULL;
	if (valid) {
		outcome = test_vector(t, valid, reason);
		if (outcome != RIGHT && outcome != REFUSED)
			snprintf(reason + strlen(reason), REASON - strlen(reason), " (a changed model)");
		vector_free(valid);
		return outcome;
	}
	wrong.model = (struct nn_model *)model;
	wrong.was_supported = false;
	outcome = test_prepare(t, &wrong, NULL, &ready, reason);
	test_release(&ready);
	if (outcome == RIGHT && !is_valid) {
		snprintf(reason, REASON, "a wrong model is prepared: %.200s", err.message);
		return WRONG;
	}
	/* If the engine rejects the changed model with an error, the engine is right. */
	return outcome == CRASHED ? CRASHED : outcome == WRONG && strstr(reason, "prepare") ? WRONG : REFUSED;
}

void group_models(struct test *t)
{
	struct row *row = test_row(t, "changed models");
	const uint32_t rounds = t->is_full ? 400 : 40;
	char reason[REASON] = "";

	for (uint32_t i = 0; i < t->num_kept; i++) {
		for (uint32_t round = 0; round < rounds; round++) {
			struct mutant m;

			random_start(round * UINT64_C(104729) + i);
			if (mutant_init(&m, t->kept[i]))
				test_note(t, row, try_mutant(t, t->kept[i], &m.model, reason), NULL, reason);
			mutant_free(&m);
		}
	}
	test_end_row(t, row);
}

/* ---- the compilation cache ---- */

#define MOST_CACHE_FILES 32	/* the HAL's maximum number of model files, and of data files */

struct entry {
	int files[2 * MOST_CACHE_FILES];	/* model files first */
	uint32_t num_model, count;
	struct nna_cache cache;
	struct nn_error not_saved;
};

static void entry_init(struct entry *e, const struct test *t, uint8_t token)
{
	e->num_model = t->info.model_cache_files;
	e->count = e->num_model + t->info.data_cache_files;
	for (uint32_t i = 0; i < e->count; i++)
		e->files[i] = memfd_create("nnaccel-cache", MFD_CLOEXEC);
	e->not_saved.message[0] = '\0';
	e->cache = (struct nna_cache){
		.size = sizeof(e->cache), .model_files = e->files, .num_model_files = e->num_model,
		.data_files = e->files + e->num_model, .num_data_files = e->count - e->num_model,
		.not_saved = &e->not_saved,
	};
	memset(e->cache.token, token, sizeof(e->cache.token));
}

static void entry_close(struct entry *e)
{
	for (uint32_t i = 0; i < e->count; i++)
		close(e->files[i]);
}

static uint64_t size_of(int file)
{
	struct stat st;

	return fstat(file, &st) ? 0 : (uint64_t)st.st_size;
}

static enum nn_status load(struct test *t, struct entry *e, struct nna_prepared_model **model,
			   struct nn_error *err)
{
	enum nn_status status;

	*model = NULL;
	target_guard(&t->target, "loading a saved model");
	status = nna_prepare_model_from_cache(t->target.device, &e->cache, NULL, model, err);
	return target_unguard(&t->target) ? NN_DEAD_OBJECT : status;
}

/* Executes a loaded model. Compares the outputs' values unless is_damaged is set. */
static enum outcome run_loaded(struct test *t, const struct vector *v, struct nna_prepared_model *model,
			       bool is_damaged, char reason[REASON])
{
	enum outcome outcome = RIGHT;
	struct shot s;

	if (shot_init(&s, t->target.device, v)) {
		target_guard(&t->target, "an execution of a loaded model");
		outcome = test_outcome(t, shot_run(&s, model, NULL), "execute a loaded model", &s.err,
				       reason);
		outcome = test_end_call(t, "a call", outcome, reason);
		if (outcome == RIGHT && !is_damaged && !shot_check(&s, reason))
			outcome = WRONG;
		if (outcome == WRONG && is_damaged)
			outcome = RIGHT;
	}
	shot_free(&s);
	return outcome;
}

static void damage(int file, uint32_t round)
{
	uint64_t size = size_of(file), at = size ? random_bits() % size : 0;
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)random_bits();
	if (round % 8 == 7 && !ftruncate(file, (off_t)at))
		return;
	/* In every second round, choose the beginning of the file or an aligned offset. */
	if (round % 2)
		at = round % 4 == 1 ? 0 : at / 8 * 8;
	if (pwrite(file, bytes, size - at < sizeof(bytes) ? size - at : sizeof(bytes), (off_t)at) < 0)
		return;
}

static void copy_file(int to, int from)
{
	char bytes[4096];
	off_t at = 0;
	ssize_t n;

	if (ftruncate(to, 0))
		return;
	while ((n = pread(from, bytes, sizeof(bytes), at)) > 0) {
		if (pwrite(to, bytes, (size_t)n, at) != n)
			return;
		at += n;
	}
}

/*
 * Tests that the engine survives damaged parts of a saved model. A damaged model part must be
 * rejected; a damaged data part may only change the results' values.
 */
static enum outcome try_damage(struct test *t, const struct vector *v, const struct entry *saved,
			       uint8_t token, uint32_t round, char reason[REASON])
{
	struct nna_prepared_model *model;
	struct nn_error err = { "" };
	enum outcome outcome = RIGHT;
	enum nn_status status;
	struct entry e;
	uint32_t file;
	bool is_model;

	entry_init(&e, t, token);
	for (uint32_t i = 0; i < e.count; i++)
		copy_file(e.files[i], saved->files[i]);
	/* Damage a model part in every third round, or if the chosen data part is empty. */
	file = round % 3 && e.count > e.num_model ? e.num_model + round / 3 % (e.count - e.num_model) :
	       e.num_model ? round / 3 % e.num_model : 0;
	if (!size_of(e.files[file]))
		file = 0;
	is_model = file < e.num_model;
	damage(e.files[file], round);
	status = load(t, &e, &model, &err);
	if (status == NN_DEAD_OBJECT || status == NN_DEVICE_UNAVAILABLE) {
		snprintf(reason, REASON, "a damaged %s part: the engine died", is_model ? "model" : "data");
		outcome = CRASHED;
	} else if (status && status != NN_GENERAL_FAILURE) {
		snprintf(reason, REASON, "a damaged part: %s, not GENERAL_FAILURE", nn_status_name(status));
		outcome = WRONG;
	} else if (!status) {
		outcome = run_loaded(t, v, model, true, reason);
	}
	nna_prepared_model_free(model);
	entry_close(&e);
	return outcome;
}

static enum outcome try_cache(struct test *t, struct row *row, const struct vector *v, uint8_t token,
			      char reason[REASON])
{
	char refusal[REASON];
	struct nna_prepared_model *model = NULL;
	struct nn_error err = { "" };
	struct ready ready, ready_next;
	enum outcome outcome;
	struct entry e, next;

	entry_init(&e, t, token);
	entry_init(&next, t, 0xff);
	outcome = test_prepare(t, v, &e.cache, &ready, reason);
	/* Save another model before the test loads the first model. */
	test_prepare(t, t->kept[token % t->num_kept], &next.cache, &ready_next, refusal);
	test_release(&ready_next);
	if (outcome == RIGHT && e.not_saved.message[0]) {
		snprintf(reason, REASON, "save: %.200s", e.not_saved.message);
		outcome = WRONG;
	}
	/* If the first file is empty, the engine compiles and saves only at the first execution. */
	if (outcome == RIGHT && size_of(e.files[0])) {
		/* Saving changes nothing. */
		outcome = run_loaded(t, v, ready.model, false, reason);
		test_release(&ready);
		e.cache.token[0] ^= 1;
		if (outcome == RIGHT && load(t, &e, &model, &err) != NN_GENERAL_FAILURE) {
			snprintf(reason, REASON, "load: with another token it does not fail, or not with "
				 "GENERAL_FAILURE");
			outcome = WRONG;
		}
		nna_prepared_model_free(model);
		e.cache.token[0] ^= 1;
		if (outcome == RIGHT)
			outcome = test_outcome(t, load(t, &e, &model, &err), "load", &err, reason);
		if (outcome == RIGHT)
			outcome = run_loaded(t, v, model, false, reason);
		nna_prepared_model_free(model);
		model = NULL;
		if (outcome == RIGHT && t->target.pid && token == 1) {
			test_release(&t->sentinel);
			target_kill(&t->target);
			snprintf(reason, REASON, "the next engine does not serve");
			outcome = target_recover(&t->target) ?
				  test_outcome(t, load(t, &e, &model, &err), "load by the next engine", &err,
					       reason) : CRASHED;
			if (outcome == RIGHT)
				outcome = run_loaded(t, v, model, false, reason);
			nna_prepared_model_free(model);
		}
		for (uint32_t round = 0; round < (t->is_full ? 200 : 24) && outcome == RIGHT; round++) {
			random_start(round + token * UINT64_C(1000));
			outcome = try_damage(t, v, &e, token, round, reason);
			if (outcome == RIGHT)
				row->counts[RIGHT]++;
		}
	}
	test_release(&ready);
	entry_close(&e);
	entry_close(&next);
	return outcome;
}

void group_cache(struct test *t)
{
	const bool has_cache = t->info.model_cache_files || t->info.data_cache_files;
	struct row *row = test_row(t, "compilation cache");
	char reason[REASON] = "";

	for (uint32_t i = 0; i < t->num_kept && i < 8 && has_cache; i++)
		test_note(t, row, try_cache(t, row, t->kept[i], (uint8_t)(i + 1), reason), t->kept[i], reason);
	test_end_row(t, row);
}

/* ---- deadlines ---- */

#define LATE_TRIES 300
#define LATE_ROUNDS 5

/* Returns the median time of a model's executions in ns. */
static uint64_t usual_ns(struct shot *s, struct nna_prepared_model *model)
{
	uint64_t least[32], ns;

	for (uint32_t i = 0; i < 32; i++) {
		uint64_t start_ns = clock_ns();
		uint32_t k = i;

		shot_run(s, model, NULL);
		ns = clock_ns() - start_ns;
		for (; k && least[k - 1] > ns; k--)
			least[k] = least[k - 1];
		least[k] = ns;
	}
	return least[16];
}

/* Numbers of executions that succeeded after their deadlines, and that missed their deadlines. */
struct lateness {
	uint32_t late, missed;
};

/* Returns whether an engine seems to ignore deadlines. */
static bool is_late(const struct lateness *l)
{
	return l->late > 20 && l->late > 20 * l->missed;
}

/*
 * Tries deadlines that pass while the engine computes, and adds what happened to *sum. If the engine
 * observes deadlines, most of the executions miss their deadlines. If the engine ignores deadlines,
 * the executions succeed, unless the call itself was too slow.
 */
static enum outcome try_late(struct test *t, const struct vector *v, struct nna_prepared_model *model,
			     struct lateness *sum, char reason[REASON])
{
	enum outcome outcome = RIGHT;
	struct lateness l;
	uint32_t rounds = 0;
	uint64_t usual;
	struct shot s;

	if (!shot_init(&s, t->target.device, v)) {
		shot_free(&s);
		return REFUSED;
	}
	target_guard_many(&t->target, "executions with deadlines");
	usual = usual_ns(&s, model);
	/* Try several rounds, because on a busy CPU the engine notices few deadlines in time. */
	do {
		l = (struct lateness){ 0 };
		for (uint32_t i = 0; i < LATE_TRIES && outcome == RIGHT; i++) {
			enum nn_status status;

			s.deadline_ns = clock_ns() + usual / 6 + usual / 4 * (i % 16) / 16;
			status = shot_run(&s, model, NULL);
			if (status == NN_MISSED_DEADLINE_TRANSIENT || status == NN_MISSED_DEADLINE_PERSISTENT)
				l.missed++;
			else if (!status)
				l.late += clock_ns() > s.deadline_ns;
			else
				outcome = test_outcome(t, status, "a deadline that passes", &s.err, reason);
		}
	} while (outcome == RIGHT && is_late(&l) && ++rounds < LATE_ROUNDS);
	sum->late += l.late;
	sum->missed += l.missed;
	shot_free(&s);
	return test_end_call(t, "a call", outcome, reason);
}

/* Tests that an execution with a deadline far in the future is right. */
static enum outcome try_far(struct test *t, const struct vector *v, struct nna_prepared_model *model,
			    char reason[REASON])
{
	enum outcome outcome = WRONG;
	struct shot s;

	if (shot_init(&s, t->target.device, v)) {
		s.deadline_ns = clock_ns() + (t->target.limit_s - 2) * NS_PER_S;
		target_guard(&t->target, "an execution with a deadline that is far away");
		outcome = test_outcome(t, shot_run(&s, model, NULL), "a deadline that is far away", &s.err,
				       reason);
		outcome = test_end_call(t, "a call", outcome, reason);
		if (outcome == RIGHT && !shot_check(&s, reason))
			outcome = WRONG;
	}
	shot_free(&s);
	return outcome;
}

/*
 * Judges the deadlines of a few models together. An engine may check deadlines only between the
 * operations of a model, and one operation may take nearly all of a model's time.
 */
void group_deadlines(struct test *t)
{
	const uint32_t count = t->num_kept < 3 ? t->num_kept : 3;
	struct row *row = test_row(t, "deadlines");
	struct lateness sum = { 0 };
	char reason[REASON];

	for (uint32_t i = 0; i < count; i++) {
		struct ready ready;
		enum outcome outcome = test_prepare(t, t->kept[i], NULL, &ready, reason);

		if (outcome == RIGHT)
			outcome = try_far(t, t->kept[i], ready.model, reason);
		test_note(t, row, outcome, t->kept[i], reason);
		if (outcome == RIGHT) {
			outcome = try_late(t, t->kept[i], ready.model, &sum, reason);
			if (outcome == RIGHT && i + 1 == count && is_late(&sum)) {
				snprintf(reason, REASON, "of %u executions whose deadlines passed %u "
					 "missed them", sum.late + sum.missed, sum.missed);
				outcome = WRONG;
			}
			test_note(t, row, outcome, t->kept[i], reason);
		}
		test_release(&ready);
		if (outcome != RIGHT)
			break;
	}
	test_end_row(t, row);
}

/* ---- deaths, of clients and of a program ---- */

#define CLIENTS_DEATHS 8

/*
 * If kill_ns is 0, runs one vector in another process; otherwise runs all tests in another process
 * until the process is killed. Returns how long the process ran.
 */
static uint64_t run_client(const struct test *t, char *file, uint64_t kill_ns)
{
	char *argv[] = {
		"nnaccel", "engine-test", kill_ns ? "--tap" : "--run", kill_ns ? "--full" : file,
		(char *)t->target.path, NULL,
	};
	uint64_t start_ns = clock_ns();
	posix_spawn_file_actions_t quiet;
	pid_t pid;

	if (posix_spawn_file_actions_init(&quiet))
		return 0;
	posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (!posix_spawn(&pid, "/proc/self/exe", &quiet, NULL, argv, environ)) {
		usleep((useconds_t)(kill_ns / 1000));
		if (kill_ns)
			kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	posix_spawn_file_actions_destroy(&quiet);
	return clock_ns() - start_ns;
}

/* Tests that the engine serves other clients when clients die at any time. */
static enum outcome try_clients_deaths(struct test *t, const struct vector *v, char reason[REASON])
{
	int saved = memfd_create("vector", MFD_CLOEXEC);
	enum outcome outcome;
	uint64_t usual_ns;
	struct ready ready;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), saved);
	outcome = test_prepare(t, v, NULL, &ready, reason);
	if (outcome == RIGHT && saved >= 0 && vector_save(v, path)) {
		usual_ns = run_client(t, path, 0);
		for (uint32_t i = 0; i < CLIENTS_DEATHS; i++)
			run_client(t, path, usual_ns * (i + 2) / 4);
		outcome = run_loaded(t, v, ready.model, false, reason);
	}
	close(saved);
	test_release(&ready);
	return outcome;
}

enum stage { IDLE, PREPARED, IN_BURST, EXECUTING, NUM_STAGES };

static const char *const stages[NUM_STAGES] = {
	[IDLE] = "idle", [PREPARED] = "after preparing", [IN_BURST] = "in a burst",
	[EXECUTING] = "during executions",
};

struct killer {
	struct target *target;
	atomic_bool runs;
};

static void *kill_soon(void *arg)
{
	struct killer *k = arg;

	while (!atomic_load(&k->runs))
		usleep(100);
	usleep(2000);
	kill(-k->target->pid, SIGKILL);
	return NULL;
}

/*
 * Tests that calls end with DEAD_OBJECT when the engine dies, and that a restarted engine serves
 * the client.
 */
static enum outcome try_death(struct test *t, const struct vector *v, enum stage stage, char reason[REASON])
{
	struct killer killer = { .target = &t->target };
	struct nna_burst *burst = NULL;
	enum nn_status status = NN_OK;
	struct nn_error err = { "" };
	enum outcome outcome;
	struct ready ready;
	pthread_t thread;
	struct shot s;

	outcome = test_prepare(t, v, NULL, &ready, reason);
	if (outcome != RIGHT || !shot_init(&s, t->target.device, v))
		return outcome;
	if (stage == IN_BURST && !nna_burst_create(ready.model, NULL, &burst, &err))
		shot_run(&s, NULL, burst);
	if (pthread_create(&thread, NULL, kill_soon, &killer)) {
		shot_free(&s);
		return REFUSED;
	}
	atomic_store(&killer.runs, true);
	if (stage != EXECUTING)
		pthread_join(thread, NULL);
	target_guard(&t->target, "calls of an engine that was killed");
	while (stage != IDLE && (!status || (status != NN_DEAD_OBJECT && stage == EXECUTING)))
		status = shot_run(&s, ready.model, burst);
	if (stage == EXECUTING)
		pthread_join(thread, NULL);
	if (stage != IDLE && status != NN_DEAD_OBJECT) {
		snprintf(reason, REASON, "%s: %s, not DEAD_OBJECT", stages[stage], nn_status_name(status));
		outcome = WRONG;
	}
	if (target_unguard(&t->target)) {
		snprintf(reason, REASON, "%s: a call of a dead engine does not return", stages[stage]);
		outcome = WRONG;
	}
	nna_burst_free(burst);
	test_release(&ready);
	shot_free(&s);
	target_kill(&t->target);
	if (!target_recover(&t->target)) {
		snprintf(reason, REASON, "%s: the next engine does not serve", stages[stage]);
		return CRASHED;
	}
	return outcome == RIGHT ? test_vector(t, v, reason) : outcome;
}

void group_deaths(struct test *t)
{
	struct row *row = test_row(t, "deaths");
	char reason[REASON] = "";

	test_release(&t->sentinel);
	if (t->num_kept)
		test_note(t, row, try_clients_deaths(t, t->kept[0], reason), NULL, reason);
	for (int stage = 0; stage < NUM_STAGES && t->target.pid && t->num_kept; stage++)
		test_note(t, row, try_death(t, t->kept[0], stage, reason), NULL, reason);
	test_end_row(t, row);
}
