/* SPDX-License-Identifier: MIT */
/*
 * Groups of tests that compute: operations, graphs, models with varied shapes and constants,
 * bursts, memory domains, and many executions at a time.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ops/op.h"
#include "tools/engine_test/test.h"
#include "vectors/form.h"
#include "vectors/graph.h"
#include "vectors/operations.h"
#include "vectors/random.h"

static bool is_claimed(const struct test *t, int32_t code)
{
	return code >= 0 && code / 8 < NN_DEVICE_OPERATIONS && t->info.operations[code / 8] >> code % 8 & 1;
}

/*
 * Stores a correctly computed vector for later groups of tests. A vector with several operations
 * may replace a stored vector with one operation.
 */
static bool keep(struct test *t, struct vector *v)
{
	const uint32_t count = v->model->subgraphs[0].num_operations;

	v->was_supported = true;
	if (t->num_kept < MAX_KEPT) {
		t->kept[t->num_kept++] = v;
		return true;
	}
	for (uint32_t i = 0; i < MAX_KEPT / 2 && count > 1; i++) {
		if (t->kept[i]->model->subgraphs[0].num_operations > 1)
			continue;
		vector_free(t->kept[i]);
		t->kept[i] = v;
		return true;
	}
	return false;
}

/* ---- what the engine says of its device ---- */

static const char *fault_of(const struct nn_device_info *info)
{
	if (!info->version[0] || !memchr(info->version, '\0', sizeof(info->version)))
		return "the version is empty, or has no end";
	if (info->type < NN_DEVICE_OTHER || info->type > NN_DEVICE_ACCELERATOR)
		return "the type is unknown";
	if (!info->feature_level)
		return "the feature level is 0";
	for (int i = 0; i < NN_TYPE_COUNT; i++)
		if (!(info->operand[i].exec_time > 0) || !(info->operand[i].power_usage > 0))
			return "a performance figure is not above 0";
	for (int32_t code = 0; code < NN_DEVICE_OPERATIONS * 8; code++)
		if (info->operations[code / 8] >> code % 8 & 1 && !nn_op_find(code))
			return "an operation is claimed that does not exist";
	return NULL;
}

void group_description(struct test *t)
{
	struct row *row = test_row(t, "description");
	const char *fault = fault_of(&t->info);

	test_note(t, row, fault ? WRONG : RIGHT, NULL, fault ? fault : "");
	test_end_row(t, row);
}

/* ---- operations: each form in each type ---- */

/*
 * Tests that inputs with arbitrary bits do no harm: for example NaN, and indices beyond all
 * dimensions.
 */
static enum outcome try_wild(struct test *t, const struct vector *v, char reason[REASON])
{
	struct vector *wild = vector_wild(v, (uint64_t)v->operation);
	struct ready ready = { .model = NULL };
	enum outcome outcome = wild ? test_prepare(t, v, NULL, &ready, reason) : REFUSED;
	struct shot s;

	if (outcome == RIGHT && shot_init(&s, t->target.device, wild)) {
		target_guard(&t->target, "an execution with inputs of any bits");
		outcome = test_outcome(t, shot_run(&s, ready.model, NULL), "inputs of any bits", &s.err,
				       reason);
		outcome = test_end_call(t, "a call", outcome, reason);
		if (outcome != CRASHED)
			outcome = shot_check_rest(&s, reason) ? RIGHT : WRONG;
		shot_free(&s);
	}
	test_release(&ready);
	vector_free(wild);
	return outcome;
}

static void try_strange(struct test *t, struct row *row, const struct vector *v)
{
	struct vector *others[] = { vector_special(v, (uint64_t)v->operation), vector_large(v) };
	char reason[REASON];

	test_note(t, row, try_wild(t, v, reason), v, reason);
	for (int i = 0; i < 2; i++) {
		if (others[i])
			test_note(t, row, test_vector(t, others[i], reason), others[i], reason);
		vector_free(others[i]);
	}
}

static void try_form(struct test *t, struct row *row, const struct nn_op *op, const struct form *f,
		     uint32_t round)
{
	const void *inputs[FORM_MAX_OPERANDS];
	char name[96], reason[REASON];
	enum outcome outcome;
	struct vector *v;

	for (uint32_t i = 0; i < FORM_MAX_OPERANDS; i++)
		inputs[i] = form_inputs[i];
	for (size_t k = 0; k < FORM_NUM_TYPES; k++) {
		random_start(((round + 1) * 131 + (uint64_t)op->code) * 7919 + k);
		if (form_types[k].type == NN_INT32 || !form_build(op, f, form_types[k].type))
			continue;
		snprintf(name, sizeof(name), "%s of %s, round %u: %.40s", op->name, form_types[k].name, round,
			 f->text ? f->text : "");
		v = vector_make(&form.model, inputs, name, op->code);
		if (!v)
			continue;
		outcome = test_vector(t, v, reason);
		test_note(t, row, outcome, v, reason);
		if (outcome == RIGHT && !round && !t->is_brief)
			try_strange(t, row, v);
		if (outcome == RIGHT && row->counts[RIGHT] <= 2 && v->num_inputs && keep(t, v))
			continue;
		vector_free(v);
	}
}

/* Operations on tensors with more than 65,536 elements. */
static const struct form large_forms[] = {
	{ "ADD", "X[3,149,151] =[3,149,151] i:0 > X" },
	{ "CONV_2D", "X[1,65,65,16] W[16,1,1,16] B[16] i:2 i:1 i:1 i:0 b:0 > X" },
	{ "MUL", "X[3,149,151] X[149,1] i:0 > X@0.2,mid" },
	{ "RELU", "X[3,149,151] > =" },
	{ "RESHAPE", "X[3,149,151] i32[2]{447,151} > =" },
	{ "TRANSPOSE", "X[3,149,151] i32[3]{2,0,1} > =" },
};

void group_operations(struct test *t)
{
	static const struct form none;
	const uint32_t rounds = t->is_full ? 12 : t->is_brief ? 1 : 3;

	form_is_plain = true;
	for (size_t i = 0; i < nn_op_count(); i++) {
		const struct nn_op *op = nn_op_at(i);
		struct row *row;

		if (!is_claimed(t, op->code))
			continue;
		row = test_row(t, op->name);
		for (uint32_t round = 0; round < rounds; round++) {
			if (op->code == NN_OP_IF || op->code == NN_OP_WHILE)
				try_form(t, row, op, &none, round);
			for (uint32_t k = 0; k < num_forms; k++)
				if (!strcmp(forms[k].name, op->name))
					try_form(t, row, op, &forms[k], round);
		}
		for (size_t k = 0; k < sizeof(large_forms) / sizeof(large_forms[0]); k++)
			if (!t->is_brief && !strcmp(large_forms[k].name, op->name))
				try_form(t, row, op, &large_forms[k], rounds);
		if (!row->counts[RIGHT] && !row->counts[WRONG] && !row->counts[CRASHED])
			snprintf(row->reason, sizeof(row->reason), "claimed, but no vector is supported");
		test_end_row(t, row);
	}
}

/* ---- random graphs ---- */

static const struct test *graphs_of;

static bool may_have(int32_t code)
{
	return is_claimed(graphs_of, code);
}

/*
 * Returns a model of those operations of the graph that the engine supports; NULL if the engine
 * refuses all operations.
 */
static struct vector *supported_part(struct test *t, const char *name)
{
	bool supported[MAX_OPERATIONS] = { false };
	struct nn_error err = { "" };
	struct vector *all, *part = NULL;
	struct nna_memory *pool = NULL;
	bool any = false;

	for (uint32_t i = 0; i < g.subgraph.num_operations; i++)
		supported[i] = true;
	g.pool.size = g.used + 8;
	all = vector_cut(&g.model, supported, name);
	if (!all || nna_memory_alloc(t->target.device, g.used + 8, &pool, &err)) {
		vector_free(all);
		return NULL;
	}
	memset(supported, 0, sizeof(supported));
	target_guard(&t->target, "asked for supported operations");
	nna_get_supported_operations(t->target.device, all->model, &pool, supported, &err);
	target_unguard(&t->target);
	nna_memory_free(pool);
	for (uint32_t i = 0; i < g.subgraph.num_operations; i++)
		any |= supported[i];
	if (any)
		part = vector_cut(&g.model, supported, name);
	vector_free(all);
	return part;
}

/* Tests each operation of a failing graph separately, to find a smaller model that fails. */
static void shrink(struct test *t, struct row *row, const struct vector *v)
{
	const uint32_t count = v->model->subgraphs[0].num_operations;
	struct row ignored = *row;
	char reason[REASON];

	for (uint32_t i = 0; i < count && count > 1 && count <= MAX_OPERATIONS; i++) {
		bool remain[MAX_OPERATIONS] = { false };
		enum outcome outcome;
		struct vector *one;

		remain[i] = true;
		one = vector_cut(v->model, remain, v->name);
		outcome = one ? test_vector(t, one, reason) : RIGHT;
		if (outcome != RIGHT && outcome != REFUSED)
			test_note(t, &ignored, outcome, one, reason);
		vector_free(one);
	}
}

void group_graphs(struct test *t)
{
	struct row *row = test_row(t, "random graphs");
	const uint32_t count = t->is_full ? 2000 : t->is_brief ? 60 : 120;
	char name[64], reason[REASON];

	g.values = malloc(VALUES_SIZE);
	if (!g.values)
		return;
	graphs_of = t;
	for (uint32_t i = 1; i <= count; i++) {
		enum outcome outcome;
		struct vector *v;

		random_start(i * UINT64_C(7919));
		snprintf(name, sizeof(name), "random graph %u", i);
		v = make_graph_of(may_have) ? supported_part(t, name) : NULL;
		if (!v)
			continue;
		if (g.is_delicate)
			v->tolerance = 2e-3f;
		outcome = test_vector(t, v, reason);
		test_note(t, row, outcome, v, reason);
		if (outcome == WRONG || outcome == CRASHED)
			shrink(t, row, v);
		if (outcome != RIGHT || !v->num_inputs || !keep(t, v))
			vector_free(v);
	}
	free(g.values);
	g.values = NULL;
	test_end_row(t, row);
}

/* ---- dimensions that are known at the execution only ---- */

enum dims { NO_DIMS, NO_RANK, TWICE_THE_FIRST };

/* Copies a model, and changes the dimensions of all operands that are not constants. */
static struct nn_model *change_dims(const struct vector *v, struct nn_subgraph *main, enum dims dims)
{
	static struct nn_model model;
	struct nn_operand *operands = calloc(v->model->subgraphs[0].num_operands, sizeof(*operands));

	if (!operands || v->model->num_subgraphs > 1) {
		free(operands);
		return NULL;
	}
	*main = v->model->subgraphs[0];
	memcpy(operands, main->operands, main->num_operands * sizeof(*operands));
	for (uint32_t i = 0; i < main->num_operands; i++) {
		if (operands[i].lifetime > NN_SUBGRAPH_OUTPUT)
			continue;
		if (dims == TWICE_THE_FIRST)
			operands[i].dims[0] *= 2;
		else
			memset(operands[i].dims, 0, sizeof(operands[i].dims));
		if (dims == NO_RANK)
			operands[i].rank = 0;
	}
	main->operands = operands;
	model = *v->model;
	model.subgraphs = main;
	return &model;
}

/*
 * Copies a vector, and doubles the first dimension of its arguments; returns NULL if the reference
 * cannot compute the model with these dimensions.
 */
static struct vector *double_dims(const struct vector *v)
{
	struct vector *twice = NULL;
	struct nn_subgraph main;
	struct nn_model *model = change_dims(v, &main, TWICE_THE_FIRST);
	bool all[MAX_OPERATIONS];

	memset(all, 1, sizeof(all));
	if (model && main.num_operations <= MAX_OPERATIONS)
		twice = vector_cut(model, all, v->name);
	if (model)
		free((void *)main.operands);
	return twice;
}

/*
 * Executes a model in which the arguments, not the model, contain the dimensions. The memory of
 * each output is `more` bytes larger than the output, or smaller if `more` is negative.
 */
static enum outcome run_dynamic(struct test *t, const struct vector *v, struct nna_prepared_model *model,
				int more, char reason[REASON])
{
	const struct nn_subgraph *main = &v->model->subgraphs[0];
	enum outcome outcome = REFUSED;
	enum nn_status status;
	struct shot s;

	if (shot_init(&s, t->target.device, v) && v->outputs[0].size + (uint32_t)more > 0) {
		for (uint32_t i = 0; i < v->num_inputs; i++) {
			const struct nn_operand *o = &main->operands[main->inputs[i]];

			s.inputs[i].rank = o->rank;
			memcpy(s.inputs[i].dims, o->dims, o->rank * sizeof(o->dims[0]));
		}
		s.outputs[0].length += (uint64_t)more;
		target_guard(&t->target, "an execution with dimensions");
		status = shot_run(&s, model, NULL);
		outcome = test_outcome(t, status, "execute", &s.err, reason);
		outcome = test_end_call(t, "a call", outcome, reason);
		if (more < 0 && outcome != CRASHED)
			outcome = shot_check_short(&s, status, reason) ? RIGHT : WRONG;
		else if (outcome == RIGHT && !shot_check(&s, reason))
			outcome = WRONG;
	}
	shot_free(&s);
	return outcome;
}

static enum outcome try_dynamic(struct test *t, const struct vector *v, enum dims dims, char reason[REASON])
{
	struct vector open = *v, *twice;
	struct nn_subgraph main;
	enum outcome outcome;
	struct ready ready;

	open.was_supported = false;
	open.model = change_dims(v, &main, dims);
	if (!open.model)
		return REFUSED;
	outcome = test_prepare(t, &open, NULL, &ready, reason);
	twice = outcome == RIGHT ? double_dims(v) : NULL;
	if (outcome == RIGHT)
		outcome = run_dynamic(t, v, ready.model, 0, reason);
	if (outcome == RIGHT && twice)
		outcome = run_dynamic(t, twice, ready.model, 0, reason);
	if (outcome == RIGHT)
		outcome = run_dynamic(t, v, ready.model, 16, reason);
	if (outcome == RIGHT && v->outputs[0].shape.rank)
		outcome = run_dynamic(t, v, ready.model, -1, reason);
	test_release(&ready);
	vector_free(twice);
	free((void *)main.operands);
	return outcome;
}

void group_dynamic(struct test *t)
{
	struct row *row = test_row(t, "open dimensions");
	char reason[REASON];

	for (uint32_t i = 0; i < 2 * t->num_kept; i++)
		test_note(t, row, try_dynamic(t, t->kept[i / 2], i % 2 ? NO_RANK : NO_DIMS, reason), NULL,
			  reason);
	test_end_row(t, row);
}

/* ---- bursts ---- */

#define ALIVE 6

/* Executes a model many times in a burst, with new memory or with memory of earlier executions. */
static enum outcome run_burst(struct test *t, const struct vector *v, struct nna_burst *burst,
			      char reason[REASON])
{
	struct shot shots[ALIVE] = { { .v = NULL } };
	enum outcome outcome = RIGHT;
	struct vector *other;

	for (uint32_t i = 0; i < 14 && outcome == RIGHT; i++) {
		struct shot *s = &shots[i % ALIVE];

		other = vector_vary(v, i);
		if (!other)
			break;
		if (s->v && i % 2)
			shot_free(s);
		if ((!s->v || i % 2) && !shot_init(s, t->target.device, v)) {
			snprintf(reason, REASON, "memory: %.200s", s->err.message);
			outcome = WRONG;
		} else {
			shot_fill(s, other);
			target_guard(&t->target, "an execution of a burst");
			outcome = test_outcome(t, shot_run(s, NULL, burst), "burst", &s->err, reason);
			outcome = test_end_call(t, "a call", outcome, reason);
			if (outcome == RIGHT && !shot_check(s, reason))
				outcome = WRONG;
		}
		vector_free(other);
	}
	for (uint32_t i = 0; i < ALIVE; i++)
		shot_free(&shots[i]);
	return outcome;
}

/* Tests that a burst reports the outputs' shapes if the memory of an output is too short. */
static enum outcome run_short(struct test *t, const struct vector *v, struct nna_burst *burst,
			      char reason[REASON])
{
	enum outcome outcome = RIGHT;
	enum nn_status status;
	struct shot s;

	if (shot_init(&s, t->target.device, v) && v->outputs[0].size >= 8 &&
	    v->outputs[0].shape.rank) {
		s.outputs[0].length -= 4;
		target_guard(&t->target, "an execution of a burst with a short output");
		status = shot_run(&s, NULL, burst);
		if (!shot_check_short(&s, status, reason))
			outcome = status == NN_DEAD_OBJECT ? CRASHED : WRONG;
		outcome = test_end_call(t, "a burst", outcome, reason);
	}
	shot_free(&s);
	return outcome;
}

static enum outcome try_burst(struct test *t, const struct vector *v, char reason[REASON])
{
	const struct nna_burst_options o = { .size = sizeof(o), .capacity = 8192 };
	struct nn_error err = { "" };
	struct nna_burst *burst;
	enum outcome outcome;
	struct ready ready;

	outcome = test_prepare(t, v, NULL, &ready, reason);
	if (outcome != RIGHT)
		return outcome;
	target_guard(&t->target, "the begin of a burst");
	outcome = test_outcome(t, nna_burst_create(ready.model, &o, &burst, &err), "burst", &err, reason);
	outcome = test_end_call(t, "a call", outcome, reason);
	if (outcome == RIGHT) {
		outcome = run_short(t, v, burst, reason);
		if (outcome == RIGHT)
			outcome = run_burst(t, v, burst, reason);
		nna_burst_free(burst);
	}
	test_release(&ready);
	return outcome;
}

void group_bursts(struct test *t)
{
	struct row *row = test_row(t, "bursts");
	char reason[REASON];

	for (uint32_t i = 0; i < t->num_kept; i++)
		test_note(t, row, try_burst(t, t->kept[i], reason), t->kept[i], reason);
	test_end_row(t, row);
}

/* ---- memory domains ---- */

/*
 * Tests buffers with roles in two models, as the first input and the first output. The execution
 * overwrites the former contents of the output's buffer.
 */
static enum outcome run_domains(struct test *t, const struct vector *v,
				struct nna_prepared_model *const models[2], char reason[REASON])
{
	const struct nna_role roles[2] = { { 0, 0, 1 }, { 1, 0, 0.5f } };
	struct nna_buffer *in = NULL, *out = NULL;
	uint32_t tokens[2] = { 0 }, element;
	struct nn_error err = { "" };
	enum outcome outcome = RIGHT;
	void *result = calloc(1, v->outputs[0].size + v->inputs[0].size + 1);
	enum nn_status status;
	struct shot s;

	if (!result || !shot_init(&s, t->target.device, v)) {
		free(result);
		return REFUSED;
	}
	const struct nna_request r = {
		.size = sizeof(r), .num_inputs = v->num_inputs, .num_outputs = v->num_outputs,
		.num_memories = s.num_memories, .inputs = s.inputs, .outputs = s.outputs,
		.memories = s.memories,
		.num_tokens = 2, .tokens = tokens,
	};

	s.inputs[0] = (struct nna_argument){ .pool = s.num_memories };
	s.outputs[0] = (struct nna_argument){ .pool = s.num_memories + 1 };
	target_guard(&t->target, "buffers of memory domains");
	status = nna_buffer_allocate(t->target.device, NNA_SIZED(nna_buffer_roles, .models = models,
				     .num_models = 2, .inputs = roles, .num_inputs = 2), &in,
				     &tokens[0], &err);
	if (!status)
		status = nna_buffer_allocate(t->target.device, NNA_SIZED(nna_buffer_roles,
					     .models = models, .num_models = 2, .outputs = roles,
					     .num_outputs = 2), &out, &tokens[1], &err);
	if (!status)
		status = nna_buffer_write(in, v->inputs[0].data, v->inputs[0].size, 0, NULL, &err);
	for (int round = 0; round < 3 && !status && outcome == RIGHT; round++) {
		memset(result, 0x5a, v->outputs[0].size);
		status = nna_buffer_write(out, result, v->outputs[0].size, 0, NULL, &err);
		if (!status)
			status = nna_execute(models[round % 2], &r, NULL,
					     NNA_SIZED(nna_results, .shapes = s.shapes,
						       .num_shapes = &s.num_shapes), &err);
		if (!status)
			status = nna_buffer_read(out, result, v->outputs[0].size, &err);
		if (!status && !vector_equals(v, 0, result, &element)) {
			snprintf(reason, REASON, "the output's buffer, element %u: wrong value", element);
			outcome = WRONG;
		}
	}
	if (!status)
		status = nna_buffer_read(in, result, v->inputs[0].size, &err);
	if (!status && outcome == RIGHT && memcmp(result, v->inputs[0].data, v->inputs[0].size)) {
		snprintf(reason, REASON, "the input's buffer has other bytes than were written to it");
		outcome = WRONG;
	}
	if (status)
		outcome = test_outcome(t, status, "buffers", &err, reason);
	outcome = test_end_call(t, "a call", outcome, reason);
	nna_buffer_free(in);
	nna_buffer_free(out);
	shot_free(&s);
	free(result);
	return outcome;
}

void group_domains(struct test *t)
{
	struct row *row = test_row(t, "memory domains");
	char reason[REASON];

	for (uint32_t i = 0; i < t->num_kept && i < 12; i++) {
		struct ready first, second = { .model = NULL };
		enum outcome outcome = test_prepare(t, t->kept[i], NULL, &first, reason);

		if (outcome == RIGHT)
			outcome = test_prepare(t, t->kept[i], NULL, &second, reason);
		if (outcome == RIGHT)
			outcome = run_domains(t, t->kept[i], (struct nna_prepared_model *const[]){
					      first.model, second.model }, reason);
		test_release(&first);
		test_release(&second);
		test_note(t, row, outcome, t->kept[i], reason);
	}
	test_end_row(t, row);
}

/* ---- many models of a client ---- */

#define MODELS 10

/* Executes a prepared model once, with new memory for the arguments. */
static enum outcome run_once(struct test *t, const struct vector *v, struct nna_prepared_model *model,
			     char reason[REASON])
{
	enum outcome outcome = WRONG;
	struct shot s;

	if (!shot_init(&s, t->target.device, v)) {
		snprintf(reason, REASON, "memory: %.200s", s.err.message);
	} else {
		target_guard(&t->target, "an execution beside other models");
		outcome = test_outcome(t, shot_run(&s, model, NULL), "execute", &s.err, reason);
		outcome = test_end_call(t, "a call", outcome, reason);
		if (outcome == RIGHT && !shot_check(&s, reason))
			outcome = WRONG;
	}
	shot_free(&s);
	return outcome;
}

/*
 * Tests several prepared models at a time; the arguments are equal, but half of the models have
 * other constants. Executes the models in turn with changed inputs, releases some models, and
 * checks that the other models still compute correctly.
 */
static enum outcome try_models(struct test *t, const struct vector *v, char reason[REASON])
{
	struct ready ready[MODELS] = { { .model = NULL } };
	struct vector *vectors[MODELS] = { NULL }, *other;
	enum outcome outcome = RIGHT;

	for (uint32_t i = 0; i < MODELS && outcome == RIGHT; i++) {
		vectors[i] = i % 2 ? vector_sibling(v, i) : vector_vary(v, i);
		if (vectors[i])
			outcome = test_prepare(t, vectors[i], NULL, &ready[i], reason);
		if (outcome == REFUSED)
			outcome = RIGHT;
	}
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < MODELS && outcome == RIGHT; i++) {
			/* Every fifth model is prepared but never executed. */
			if (!ready[i].model || i % 5 == 4)
				continue;
			outcome = run_once(t, vectors[i], ready[i].model, reason);
			other = outcome == RIGHT && !round ? vector_vary(vectors[i], MODELS + i) : NULL;
			if (other)
				outcome = run_once(t, other, ready[i].model, reason);
			vector_free(other);
			if (i % 3 == 1)
				test_release(&ready[i]);
		}
		test_release(&ready[4]);
	}
	for (uint32_t i = 0; i < MODELS; i++) {
		test_release(&ready[i]);
		vector_free(vectors[i]);
	}
	return outcome;
}

void group_many_models(struct test *t)
{
	struct row *row = test_row(t, "several models");
	char reason[REASON];

	for (uint32_t i = 0; i < t->num_kept && i < 12; i++)
		test_note(t, row, try_models(t, t->kept[i], reason), t->kept[i], reason);
	test_end_row(t, row);
}

/* ---- executions at a time ---- */

#define THREADS 6
#define PREPARATIONS 10
#define TURNS 40

struct thread {
	pthread_t id;
	struct test *t;
	/* test on the same device as `t`, but without time limits of calls */
	struct test own;
	struct vector *v;
	/* model that the thread executes; NULL if the thread itself prepares a model */
	struct nna_prepared_model *model;
	bool has_burst;
	enum outcome outcome;
	char reason[REASON];
};

static void *run_thread(void *arg)
{
	struct thread *a = arg;
	struct ready ready = { .model = NULL };
	struct nna_burst *burst = NULL;
	struct nn_error err = { "" };
	struct shot s;

	a->outcome = RIGHT;
	for (uint32_t i = 0; i < PREPARATIONS && !a->model && a->outcome == RIGHT; i++) {
		test_release(&ready);
		a->outcome = test_prepare(&a->own, a->v, NULL, &ready, a->reason);
	}
	if (a->outcome == RIGHT && a->has_burst)
		a->outcome = test_outcome(a->t, nna_burst_create(a->model ? a->model : ready.model, NULL,
								 &burst, &err), "burst", &err, a->reason);
	if (shot_init(&s, a->t->target.device, a->v)) {
		for (uint32_t i = 0; i < TURNS && a->outcome == RIGHT; i++) {
			shot_fill(&s, a->v);
			a->outcome = test_outcome(a->t, shot_run(&s, a->model ? a->model : ready.model,
								 burst), "execute", &s.err, a->reason);
			if (a->outcome == RIGHT && !shot_check(&s, a->reason))
				a->outcome = WRONG;
		}
	}
	shot_free(&s);
	nna_burst_free(burst);
	test_release(&ready);
	return NULL;
}

static enum outcome try_threads(struct test *t, const struct vector *v, char reason[REASON])
{
	struct thread threads[THREADS] = { { .t = NULL } };
	struct ready ready;
	enum outcome outcome = test_prepare(t, v, NULL, &ready, reason);

	if (outcome != RIGHT)
		return outcome;
	target_guard_many(&t->target, "executions at a time");
	for (uint32_t i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){ .t = t, .v = vector_vary(v, i), .has_burst = i / 2 % 2 };
		threads[i].own.target.device = t->target.device;
		threads[i].model = i >= THREADS - 2 ? NULL : ready.model;
		if (threads[i].v && pthread_create(&threads[i].id, NULL, run_thread, &threads[i])) {
			vector_free(threads[i].v);
			threads[i].v = NULL;
		}
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		if (!threads[i].v)
			continue;
		pthread_join(threads[i].id, NULL);
		vector_free(threads[i].v);
		if (threads[i].outcome > outcome) {
			outcome = threads[i].outcome;
			memcpy(reason, threads[i].reason, REASON);
		}
	}
	outcome = test_end_call(t, "a call", outcome, reason);
	test_release(&ready);
	return outcome;
}

/* Executes models on several threads: concurrent executions must not share temporaries. */
void group_threads(struct test *t)
{
	struct row *row = test_row(t, "executions at a time");
	char reason[REASON];

	for (uint32_t i = 0; i < t->num_kept; i++)
		if (i < 4 || t->kept[i]->model->subgraphs[0].num_operations > 1)
			test_note(t, row, try_threads(t, t->kept[i], reason), t->kept[i], reason);
	test_end_row(t, row);
}

/* ---- clients at a time ---- */

struct client {
	pthread_t id;
	/* a test of this client alone, with its own file of the device */
	struct test test;
	const struct vector *v;
	enum outcome outcome;
	char reason[REASON];
	bool is_refused;
};

static atomic_uint waiting;

static void *run_client(void *arg)
{
	struct client *c = arg;
	struct nn_device_info info = { .size = sizeof(info) };
	struct nn_error err = { "" };
	struct ready ready = { .model = NULL };
	enum nn_status status;

	c->outcome = WRONG;
	status = nna_device_open(c->test.target.path, &c->test.target.device, &err);
	if (!status)
		status = nna_device_get_info(c->test.target.device, &info, &err);
	/*
	 * Wait until all clients have begun, so that the engine has all clients at the same
	 * time.
	 */
	atomic_fetch_sub(&waiting, 1);
	while (atomic_load(&waiting))
		sched_yield();
	if (status == NN_DEVICE_UNAVAILABLE) {
		c->is_refused = true;
		c->outcome = REFUSED;
	} else if (!status) {
		c->outcome = test_prepare(&c->test, c->v, NULL, &ready, c->reason);
		for (uint32_t i = 0; i < 5 && c->outcome == RIGHT; i++)
			c->outcome = run_once(&c->test, c->v, ready.model, c->reason);
		test_release(&ready);
	} else {
		snprintf(c->reason, REASON, "open: %.200s", err.message);
	}
	if (c->test.target.device)
		nna_device_close(c->test.target.device);
	return NULL;
}

void group_clients(struct test *t)
{
	struct row *row = test_row(t, "clients at a time");
	const uint32_t count = !t->num_kept ? 0 : t->is_full ? 200 : 40;
	struct client *clients = calloc(count + 1, sizeof(*clients));

	if (!clients)
		return;
	atomic_store(&waiting, count);
	target_guard_many(&t->target, "many clients at a time");
	for (uint32_t i = 0; i < count; i++) {
		clients[i].test.target.path = t->target.path;
		clients[i].v = t->kept[i % t->num_kept];
		if (pthread_create(&clients[i].id, NULL, run_client, &clients[i])) {
			atomic_fetch_sub(&waiting, 1);
			clients[i].v = NULL;
		}
	}
	for (uint32_t i = 0; i < count; i++)
		if (clients[i].v)
			pthread_join(clients[i].id, NULL);
	target_unguard(&t->target);
	for (uint32_t i = 0; i < count; i++) {
		if (!clients[i].v)
			continue;
		/* An engine that has many clients at a time may reject some of them. */
		test_note(t, row, clients[i].outcome, NULL, clients[i].reason);
	}
	free(clients);
	test_end_row(t, row);
}

/* ---- memory of the engine ---- */

#define MOST_GROWTH (2 << 20)
#define MOST_FILES 20

/*
 * Finds leaks: compares the program's memory, files and threads after a sixth of the rounds with
 * those after all rounds.
 */
static enum outcome watch_memory(struct test *t, const char *what, uint32_t rounds,
				 enum outcome (*run)(struct test *t, struct ready *ready, char *reason),
				 char reason[REASON])
{
	struct ready ready = { .model = NULL };
	struct usage before = { 0 }, after;
	enum outcome outcome = RIGHT;

	for (uint32_t i = 0; i < rounds && outcome == RIGHT; i++) {
		if (i == rounds / 6)
			before = target_usage(&t->target);
		outcome = run(t, &ready, reason);
	}
	after = target_usage(&t->target);
	test_release(&ready);
	if (outcome != RIGHT)
		return outcome;
	if (after.bytes > before.bytes + MOST_GROWTH || after.files > before.files + MOST_FILES ||
	    after.threads > before.threads + MOST_FILES) {
		snprintf(reason, REASON, "%u %s took %lld KiB, %d files and %d threads that did not come back",
			 rounds - rounds / 6, what, ((long long)after.bytes - (long long)before.bytes) / 1024,
			 (int)after.files - (int)before.files, (int)after.threads - (int)before.threads);
		return WRONG;
	}
	return RIGHT;
}

/*
 * Executes a model many times, because a single execution may leak very little. Every second
 * execution must fail.
 */
static enum outcome execute_again(struct test *t, struct ready *ready, char *reason)
{
	enum outcome outcome = ready->model ? RIGHT : test_prepare(t, t->kept[0], NULL, ready, reason);
	enum nn_status status;
	struct shot s;

	if (outcome == RIGHT && shot_init(&s, t->target.device, t->kept[0])) {
		target_guard_many(&t->target, "executions");
		for (uint32_t i = 0; i < 50 && outcome == RIGHT; i++) {
			s.outputs[0].length = i % 2 ? 0 : t->kept[0]->outputs[0].size;
			status = shot_run(&s, ready->model, NULL);
			if (i % 2 == 0 || status != NN_OUTPUT_INSUFFICIENT_SIZE)
				outcome = test_outcome(t, status, "execute", &s.err, reason);
		}
		outcome = test_end_call(t, "executions", outcome, reason);
		shot_free(&s);
	}
	return outcome;
}

static enum outcome prepare_again(struct test *t, struct ready *ready, char *reason)
{
	test_release(ready);
	return test_prepare(t, t->kept[0], NULL, ready, reason);
}

static enum outcome burst_again(struct test *t, struct ready *ready, char *reason)
{
	enum outcome outcome = ready->model ? RIGHT : test_prepare(t, t->kept[0], NULL, ready, reason);
	struct nn_error err = { "" };
	struct nna_burst *burst = NULL;

	if (outcome == RIGHT)
		outcome = test_outcome(t, nna_burst_create(ready->model, NULL, &burst, &err), "burst", &err,
				       reason);
	nna_burst_free(burst);
	return outcome;
}

void group_memory(struct test *t)
{
	struct row *row = test_row(t, "memory that comes back");
	char reason[REASON] = "";

	if (t->num_kept && t->target.pid) {
		test_note(t, row, watch_memory(t, "times 50 executions", 120, execute_again, reason), NULL, reason);
		test_note(t, row, watch_memory(t, "preparations", 600, prepare_again, reason), NULL, reason);
		test_note(t, row, watch_memory(t, "bursts", 120, burst_again, reason), NULL, reason);
	}
	test_end_row(t, row);
}
