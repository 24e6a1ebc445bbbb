/* SPDX-License-Identifier: MIT */
/*
 * Each section caches its plans in slots. A thread that runs a plan has incremented `users` of the
 * plan's slot. A thread that changes a slot holds the section's lock and has set the slot's `users`
 * from 0 to CHANGING. With the counters `users`, threads find cached plans without taking a lock.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "model/operand.h"
#include "model/times.h"
#include "ops/traits.h"
#include "plan/compiled.h"
#include "plan/run/sections.h"
#include "plan/run/weights.h"

#define CHANGING (-1)

/* A plan counts as recently used if one of the last LATELY executions used the plan. */
#define LATELY 16

/* Maximum number of cache misses in a row in which a section is interpreted instead of compiled. */
#define MAX_PENALTY 1024

/*
 * If new plans replace recently used plans, but making plans is still faster than interpreting, the
 * section is interpreted only in one of LOOK_AGAIN cache misses, to measure interpreting again.
 */
#define LOOK_AGAIN 64

/*
 * Maximum number of times that a subgraph is divided. A subgraph is divided again if values that a
 * section computes from constants are needed outside of the section.
 */
#define MAX_ROUNDS 4

/* A section for one set of input shapes: the section as its own model, and the model's plan. */
struct shaped {
	struct nn_model model;
	struct nn_subgraph subgraph;
	/* the model's plan; NULL if the model could not be compiled */
	struct nn_plan *plan;
	struct nn_plan_memory memory;	/* the plan's memory, without shared weights */
	_Atomic(uint64_t) bytes;	/* bytes that the last count_bytes() added for the plan */
	struct nn_operand operands[];
};

struct slot {
	_Atomic(int32_t) users;
	_Atomic(uint64_t) used_ns;	/* time of the last use of the slot */
	_Atomic(uint64_t) used_run;	/* number of the execution that last used the slot */
	struct shaped *shaped;		/* NULL: empty */
};

/* State that the sections of a plan share. */
struct sections {
	const struct nn_isa *isa;
	uint32_t preference;
	const struct nn_attributes *attributes;
	struct section *first;
	struct weights *weights;
	_Atomic(uint64_t) runs;		/* number of all executions so far */
	_Atomic(uint64_t) made;		/* number of all plans made so far */
	_Atomic(uint64_t) bytes;	/* memory of all cached plans, without shared weights */
	uint64_t limit;	/* limit for `bytes` plus the bytes of the shared weights */
};

struct section {
	struct sections *all;
	struct section *next;
	const struct nn_model *model;
	const struct nn_subgraph *from;
	uint32_t index;			/* index of the subgraph */
	uint32_t first;			/* index of the first operation */
	uint32_t count;
	uint32_t *inputs;	/* operands that the section reads but does not write */
	uint32_t *outputs;		/* operands that the section writes and other steps need */
	uint32_t num_inputs;
	uint32_t num_outputs;
	/* number of cache misses to interpret before the next plan is made */
	_Atomic(int32_t) wait;
	_Atomic(uint64_t) made_ns;	/* shortest time of making and running a plan; 0: unknown */
	_Atomic(uint64_t) interpreted_ns;	/* shortest time of interpreting the section */
	pthread_mutex_t lock;
	/* the value that judge() last stored in `wait`, or 0; judge() doubles this value */
	int32_t penalty;
	uint32_t thrashes;		/* number of new plans that replaced recently used plans */
	struct slot slots[SECTION_PLANS];
};

uint32_t section_length(const struct section *section)
{
	return section->count;
}

/* ---- Dividing a subgraph ---- */

/*
 * Properties of an operand while a subgraph is divided. The number of a section is 1 + the number
 * of its first operation; 0 means no section.
 */
struct fact {
	uint32_t known;			/* section that computes the operand from constants alone */
	uint32_t writer;		/* section that writes the operand */
	uint32_t listed;		/* last section that lists the operand as an input */
	/* the operand is used outside of the section that writes the operand */
	bool is_needed;
	/*
	 * `known` and `is_needed` were both set, in this round of find_all() or in an earlier round
	 */
	bool is_leaving;
};

/* Returns whether the output shapes of an operation do not depend on the values of input `o`. */
static bool determines_no_shape(const struct nn_op *op, const struct nn_operand *o)
{
	const struct nn_type_info *info = nn_type_info_of(o->type);

	return info && info->is_tensor && nn_traits(op->code)->determines_no_shape;
}

/*
 * Returns whether the value of an operand is known when section `s` is compiled; `s` is NULL for a
 * new section. Constants are known, and values that the section computes from constants alone,
 * except values that are needed outside of the section.
 */
static bool knows(const struct graph *g, const struct section *s, const struct fact *facts,
		  uint32_t operand)
{
	return nn_operand_is_constant(&g->subgraph->operands[operand]) ||
	       (s && facts[operand].known == s->first + 1 && !facts[operand].is_leaving);
}

/* Returns whether an operation can be part of a section. */
static bool is_plain(const struct graph *g, const struct section *s, const struct step *step,
		     const struct fact *facts)
{
	const struct nn_operation *o = step->operation;

	/* The output shapes of an extension's operation are known only when the operation runs. */
	if (!step->op->execute || (o->type > UINT16_MAX && !nn_is_own(o->type)) ||
	    step->op->code == NN_OP_OEM || nn_traits(step->op->code)->is_sized_by_values)
		return false;
	for (uint32_t i = 0; i < o->num_inputs; i++) {
		const struct nn_operand *in = &g->subgraph->operands[o->inputs[i]];

		if (in->lifetime != NN_NO_VALUE && !knows(g, s, facts, o->inputs[i]) &&
		    plan_determines(step->op, i, in->type) && !determines_no_shape(step->op, in))
			return false;
	}
	return o->num_outputs;
}

/* Marks the outputs of an operation as known if all its inputs are known. */
static void learn(const struct graph *g, const struct section *s, const struct step *step,
		  struct fact *facts)
{
	const struct nn_operation *o = step->operation;

	if (nn_op_varies(step->op))
		return;
	for (uint32_t i = 0; i < o->num_inputs; i++)
		if (!knows(g, s, facts, o->inputs[i]) &&
		    g->subgraph->operands[o->inputs[i]].lifetime != NN_NO_VALUE)
			return;
	for (uint32_t i = 0; i < o->num_outputs; i++)
		facts[o->outputs[i]].known = s->first + 1;
}

static struct section *add_section(struct graph *g, uint32_t first)
{
	struct section *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	s->from = g->subgraph;
	s->first = first;
	g->steps[first].section = s;
	return s;
}

/* Finds the sections of a subgraph, and the section that writes each operand. */
static bool find_sections(struct graph *g, struct fact *facts)
{
	struct section *s = NULL;

	for (uint32_t i = 0; i < g->subgraph->num_operations; i++) {
		const struct step *step = &g->steps[i];

		if (!is_plain(g, s, step, facts)) {
			s = NULL;
			continue;
		}
		if (!s)
			s = add_section(g, i);
		if (!s)
			return false;
		s->count++;
		learn(g, s, step, facts);
		for (uint32_t j = 0; j < step->operation->num_outputs; j++)
			facts[step->operation->outputs[j]].writer = s->first + 1;
	}
	return true;
}

/*
 * Marks values that are needed outside of the section that writes them: outputs of the subgraph,
 * and inputs of another section or step.
 */
static void find_needed(const struct graph *g, struct fact *facts)
{
	uint32_t at = 0, end = 0;

	for (uint32_t i = 0; i < g->subgraph->num_outputs; i++)
		facts[g->subgraph->outputs[i]].is_needed = true;
	for (uint32_t i = 0; i < g->subgraph->num_operations; i++) {
		const struct nn_operation *o = &g->subgraph->operations[i];

		if (g->steps[i].section) {
			at = i + 1;
			end = i + g->steps[i].section->count;
		}
		for (uint32_t j = 0; j < o->num_inputs; j++)
			if (i >= end || facts[o->inputs[j]].writer != at)
				facts[o->inputs[j]].is_needed = true;
	}
}

/* Lists the inputs and outputs of a section. */
static bool list_operands(struct section *s, struct fact *facts)
{
	size_t inputs = 1, outputs = 1;

	for (uint32_t i = s->first; i < s->first + s->count; i++) {
		inputs += s->from->operations[i].num_inputs;
		outputs += s->from->operations[i].num_outputs;
	}
	s->inputs = calloc(inputs, sizeof(*s->inputs));
	s->outputs = calloc(outputs, sizeof(*s->outputs));
	if (!s->inputs || !s->outputs)
		return false;
	for (uint32_t i = s->first; i < s->first + s->count; i++) {
		const struct nn_operation *o = &s->from->operations[i];

		for (uint32_t j = 0; j < o->num_inputs; j++) {
			const struct nn_operand *in = &s->from->operands[o->inputs[j]];
			struct fact *fact = &facts[o->inputs[j]];

			if (fact->listed == s->first + 1 || nn_operand_is_constant(in) ||
			    in->lifetime == NN_NO_VALUE || fact->writer == s->first + 1)
				continue;
			fact->listed = s->first + 1;
			s->inputs[s->num_inputs++] = o->inputs[j];
		}
		for (uint32_t j = 0; j < o->num_outputs; j++)
			if (facts[o->outputs[j]].is_needed)
				s->outputs[s->num_outputs++] = o->outputs[j];
	}
	return true;
}

static void free_sections(struct graph *g);

/*
 * Sets is_leaving for each value that a section computes from constants and that is needed outside
 * of the section. Returns whether is_leaving of any value has changed.
 */
static bool finds_leaving(const struct graph *g, struct fact *facts)
{
	bool found = false;

	for (uint32_t i = 0; i < g->subgraph->num_operands; i++) {
		if (!facts[i].known || !facts[i].is_needed || facts[i].is_leaving)
			continue;
		facts[i].is_leaving = true;
		found = true;
	}
	return found;
}

/*
 * Divides a subgraph into sections. Values that a section computes from constants are constants in
 * the section's plan, except values that are needed outside of the section. If a division finds
 * more of these exceptions, divides the subgraph again, up to MAX_ROUNDS times in total.
 */
static bool find_all(struct graph *g, struct fact *facts)
{
	for (uint32_t round = 0; round < MAX_ROUNDS; round++) {
		for (uint32_t i = 0; i < g->subgraph->num_operands; i++)
			facts[i] = (struct fact){ .is_leaving = facts[i].is_leaving };
		free_sections(g);
		if (!find_sections(g, facts))
			return false;
		find_needed(g, facts);
		if (!finds_leaving(g, facts))
			break;
	}
	return true;
}

static bool divide(struct nn_plan *plan, uint32_t index)
{
	struct graph *g = &plan->graphs[index];
	struct fact *facts = calloc((size_t)g->subgraph->num_operands + 1, sizeof(*facts));
	bool fine = facts && find_all(g, facts);

	for (uint32_t i = 0; fine && i < g->subgraph->num_operations; i++) {
		struct section *s = g->steps[i].section;

		if (!s)
			continue;
		s->model = plan->model;
		s->index = index;
		s->all = plan->sections;
		s->next = s->all->first;
		s->all->first = s;
		fine = list_operands(s, facts);
	}
	free(facts);
	return fine;
}

bool sections_create(struct nn_plan *plan, const struct nn_plan_options *options)
{
	struct sections *all = calloc(1, sizeof(*all));
	bool fine;

	if (!all)
		return false;
	*all = (struct sections){
		.isa = nn_isa_find(options->kernels),
		.preference = options->preference,
		.attributes = options->attributes,
		.weights = weights_create(),
		.limit = options->sections_bytes ? options->sections_bytes : SECTIONS_BYTES,
	};
	plan->sections = all;
	fine = all->weights;
	for (uint32_t i = 0; fine && i < plan->model->num_subgraphs; i++)
		fine = divide(plan, i);
	if (!fine)
		sections_free(plan);
	return fine;
}

uint64_t sections_made(const struct nn_plan *plan)
{
	return plan->sections ? atomic_load(&plan->sections->made) : 0;
}

const char *sections_kernels(const struct nn_plan *plan)
{
	return plan->sections->isa->name;
}

uint64_t sections_begin(const struct nn_plan *plan)
{
	return plan->sections ? atomic_fetch_add(&plan->sections->runs, 1) + 1 : 0;
}

/*
 * Updates the bytes that a plan contributes to all->bytes, including the cached memory of the
 * plan's executions.
 */
static void count_bytes(struct sections *all, struct shaped *shaped)
{
	uint64_t bytes = sizeof(*shaped) + shaped->memory.weights +
			 shaped->subgraph.num_operands * sizeof(shaped->operands[0]) +
			 (shaped->plan ? compiled_cached(shaped->plan->compiled) : 0);

	if (atomic_load(&shaped->bytes) != bytes)
		atomic_fetch_add(&all->bytes, bytes - atomic_exchange(&shaped->bytes, bytes));
}

/* Empties a slot that no other thread changes or uses. */
static void empty_slot(struct section *s, struct slot *slot)
{
	struct shaped *shaped = slot->shaped;

	slot->shaped = NULL;
	atomic_store(&slot->used_ns, 0);
	if (!shaped)
		return;
	atomic_fetch_sub(&s->all->bytes, atomic_load(&shaped->bytes));
	nn_plan_free(shaped->plan);
	free(shaped);
}

static void section_free(struct section *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < SECTION_PLANS; i++)
		empty_slot(s, &s->slots[i]);
	pthread_mutex_destroy(&s->lock);
	free(s->inputs);
	free(s->outputs);
	free(s);
}

static void free_sections(struct graph *g)
{
	for (uint32_t i = 0; g->steps && i < g->subgraph->num_operations; i++) {
		section_free(g->steps[i].section);
		g->steps[i].section = NULL;
	}
}

void sections_free(struct nn_plan *plan)
{
	for (uint32_t i = 0; i < plan->model->num_subgraphs; i++)
		free_sections(&plan->graphs[i]);
	if (plan->sections)
		weights_free(plan->sections->weights);
	free(plan->sections);
	plan->sections = NULL;
}

/* ---- A plan for a set of shapes ---- */

/* Adds to the section's model an operand that operations of the section use. */
static void take_operand(const struct section *s, struct shaped *shaped, uint32_t operand)
{
	if (shaped->operands[operand].consumers++)
		return;
	shaped->operands[operand] = s->from->operands[operand];
	shaped->operands[operand].consumers = 1;
}

static void set_input(struct nn_operand *o, const struct nn_tensor *t)
{
	o->lifetime = NN_SUBGRAPH_INPUT;
	o->rank = t->rank;
	memcpy(o->dims, t->dims, sizeof(o->dims));
	o->scale = t->scale;
	o->zero_point = t->zero_point;
}

static struct shaped *shaped_create(const struct section *s, const struct value *values,
				    uint64_t deadline_ns)
{
	size_t size = sizeof(struct shaped) + s->from->num_operands * sizeof(struct nn_operand);
	const struct nn_plan_options options = {
		.preference = s->all->preference,
		.kernels = s->all->isa->name,
		.attributes = s->all->attributes,
		.deadline_ns = deadline_ns == UINT64_MAX ? 0 : deadline_ns,
	};
	struct shaped *shaped = calloc(1, size);

	if (!shaped)
		return NULL;
	for (uint32_t i = 0; i < s->from->num_operands; i++) {
		shaped->operands[i].type = NN_TENSOR_FLOAT32;
		shaped->operands[i].lifetime = NN_NO_VALUE;
	}
	for (uint32_t i = s->first; i < s->first + s->count; i++) {
		const struct nn_operation *o = &s->from->operations[i];

		for (uint32_t j = 0; j < o->num_inputs; j++)
			take_operand(s, shaped, o->inputs[j]);
		for (uint32_t j = 0; j < o->num_outputs; j++) {
			shaped->operands[o->outputs[j]] = s->from->operands[o->outputs[j]];
			shaped->operands[o->outputs[j]].consumers = 0;
		}
	}
	for (uint32_t i = 0; i < s->num_inputs; i++)
		set_input(&shaped->operands[s->inputs[i]], &values[s->inputs[i]].tensor);
	for (uint32_t i = 0; i < s->num_outputs; i++)
		shaped->operands[s->outputs[i]].lifetime = NN_SUBGRAPH_OUTPUT;
	shaped->subgraph = *s->from;
	shaped->subgraph.num_operations = s->count;
	shaped->subgraph.operations = s->from->operations + s->first;
	shaped->subgraph.operands = shaped->operands;
	shaped->subgraph.num_inputs = s->num_inputs;
	shaped->subgraph.num_outputs = s->num_outputs;
	shaped->subgraph.inputs = s->inputs;
	shaped->subgraph.outputs = s->outputs;
	shaped->model = *s->model;
	shaped->model.num_subgraphs = 1;
	shaped->model.subgraphs = &shaped->subgraph;
	shaped->plan = plan_compile(&shaped->model, &options, s->all->weights);
	if (shaped->plan) {
		nn_plan_memory(shaped->plan, &shaped->memory);
		atomic_fetch_add(&s->all->made, 1);
	}
	count_bytes(s->all, shaped);
	return shaped;
}

static bool is_for(const struct section *s, const struct shaped *shaped,
		   const struct value *values)
{
	for (uint32_t i = 0; i < s->num_inputs; i++) {
		const struct nn_operand *o = &shaped->operands[s->inputs[i]];
		const struct nn_tensor *t = &values[s->inputs[i]].tensor;

		if (o->rank != t->rank || memcmp(o->dims, t->dims, t->rank * sizeof(t->dims[0])) ||
		    o->scale != t->scale || o->zero_point != t->zero_point)
			return false;
	}
	return true;
}

static void put_slot(struct slot *slot)
{
	atomic_fetch_sub(&slot->users, 1);
}

static void set_used(struct slot *slot, uint64_t run)
{
	atomic_store_explicit(&slot->used_ns, clock_ns(), memory_order_relaxed);
	atomic_store_explicit(&slot->used_run, run, memory_order_relaxed);
}

/*
 * Returns the slot whose plan has the shapes of `values`, and increments its `users`. Returns NULL
 * if no slot has a plan for the shapes of `values`.
 */
static struct slot *find_slot(struct section *s, const struct value *values, uint64_t run)
{
	for (uint32_t i = 0; i < SECTION_PLANS; i++) {
		struct slot *slot = &s->slots[i];
		int32_t users = atomic_load(&slot->users);

		while (users != CHANGING &&
		       !atomic_compare_exchange_weak(&slot->users, &users, users + 1))
			;
		if (users == CHANGING)
			continue;
		if (slot->shaped && is_for(s, slot->shaped, values)) {
			set_used(slot, run);
			return slot;
		}
		put_slot(slot);
	}
	return NULL;
}

/*
 * Sets `users` of an empty slot, or else of the least recently used slot, to CHANGING. Returns NULL
 * if all slots are in use.
 */
static struct slot *take_slot(struct section *s)
{
	for (uint32_t tries = 0; tries < SECTION_PLANS; tries++) {
		struct slot *oldest = NULL;
		int32_t nobody = 0;

		for (uint32_t i = 0; i < SECTION_PLANS; i++) {
			struct slot *slot = &s->slots[i];

			if (!atomic_load(&slot->users) &&
			    (!oldest || atomic_load(&slot->used_ns) < atomic_load(&oldest->used_ns)))
				oldest = slot;
		}
		if (!oldest || atomic_compare_exchange_strong(&oldest->users, &nobody, CHANGING))
			return oldest;
	}
	return NULL;
}

/* Returns whether one of the last executions used the plan of a slot. */
static bool is_wanted(const struct section *s, const struct slot *slot)
{
	return atomic_load(&slot->used_ns) &&
	       atomic_load(&slot->used_run) + LATELY >= atomic_load(&s->all->runs);
}

/*
 * Returns whether the plan of a slot may be freed. The last plan that a section used stays cached
 * while executions use the section, because otherwise each execution would make the plan again.
 */
static bool may_go(const struct section *s, const struct slot *slot)
{
	const uint64_t used = atomic_load(&slot->used_ns);

	if (!used || atomic_load(&slot->users))
		return false;
	for (uint32_t i = 0; i < SECTION_PLANS; i++)
		if (atomic_load(&s->slots[i].used_ns) > used)
			return true;
	return !is_wanted(s, slot);
}

/*
 * Frees the least recently used of all plans that may be freed, in any section. Returns false if no
 * plan was freed. Sets *missed if one of the last executions used the freed plan.
 */
static bool evict_one(struct section *holder, bool *missed)
{
	struct section *of = NULL;
	struct slot *oldest = NULL;
	int32_t nobody = 0;
	bool evicted;

	for (struct section *s = holder->all->first; s; s = s->next) {
		for (uint32_t i = 0; i < SECTION_PLANS; i++) {
			struct slot *slot = &s->slots[i];

			if (!may_go(s, slot) || (oldest && atomic_load(&oldest->used_ns) <=
							   atomic_load(&slot->used_ns)))
				continue;
			of = s;
			oldest = slot;
		}
	}
	/*
	 * Do not wait for the lock of another section, to avoid a deadlock: the thread that holds
	 * the other lock may wait for this section's lock.
	 */
	if (!oldest || (of != holder && pthread_mutex_trylock(&of->lock)))
		return false;
	evicted = atomic_compare_exchange_strong(&oldest->users, &nobody, CHANGING);
	if (evicted) {
		*missed = *missed || is_wanted(of, oldest);
		empty_slot(of, oldest);
		atomic_store(&oldest->users, 0);
	}
	if (of != holder)
		pthread_mutex_unlock(&of->lock);
	return evicted;
}

/*
 * Frees plans until the cached plans are within the limit, or until no other plan may be freed. The
 * caller holds the section's lock. Returns whether one of the last executions used a freed plan.
 */
static bool keep_limit(struct section *s)
{
	struct sections *all = s->all;
	bool missed = false;

	while (atomic_load(&all->bytes) + weights_bytes(all->weights) > all->limit &&
	       evict_one(s, &missed))
		;
	return missed;
}

/*
 * Decides in how many of the next cache misses the section is interpreted instead of compiled. A
 * new plan that is never used again, or that replaces a recently used plan, may cost more time than
 * it saves. The function compares the time of making a plan with the time of interpreting.
 */
static void judge(struct section *s, bool has_plan, bool missed)
{
	const uint64_t interpreted = atomic_load(&s->interpreted_ns);

	if (has_plan && (!missed || atomic_load(&s->made_ns) < interpreted)) {
		s->penalty = 0;
		if (!missed || ++s->thrashes % LOOK_AGAIN)
			return;
	}
	s->penalty = s->penalty ? 2 * s->penalty : 1;
	if (s->penalty > MAX_PENALTY)
		s->penalty = MAX_PENALTY;
	atomic_store(&s->wait, s->penalty);
}

/*
 * Makes a plan for the shapes of `values`; the caller holds the section's lock. Returns NULL if all
 * slots are in use, if memory runs out, or if the deadline passes.
 */
static struct slot *make_slot(struct section *s, const struct value *values, const struct run *run)
{
	struct slot *slot = take_slot(s);
	struct shaped *shaped;
	bool missed;

	if (!slot)
		return NULL;
	missed = is_wanted(s, slot);
	empty_slot(s, slot);
	shaped = shaped_create(s, values, run->deadline_ns);
	slot->shaped = shaped;
	/*
	 * If the compiler stopped at the deadline, the shapes may be compilable in a later
	 * execution.
	 */
	if (shaped && !shaped->plan && clock_ns() >= run->deadline_ns)
		empty_slot(s, slot);
	if (!slot->shaped) {
		atomic_store(&slot->users, 0);
		return NULL;
	}
	set_used(slot, run->number);
	atomic_store(&slot->users, 1);
	missed = keep_limit(s) || missed;
	judge(s, shaped->plan, missed);
	return slot;
}

/*
 * Waits until the deadline for a lock that another thread may hold while it makes a plan.
 * UINT64_MAX means no deadline. Returns false if the deadline passed before this thread got the
 * lock.
 */
static bool lock_until(pthread_mutex_t *lock, uint64_t deadline_ns)
{
	const struct timespec at = { .tv_sec = (time_t)(deadline_ns / 1000000000),
				     .tv_nsec = (long)(deadline_ns % 1000000000) };

	return !(deadline_ns == UINT64_MAX ? pthread_mutex_lock(lock) :
		 pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &at));
}

/*
 * Returns the slot with the plan for the shapes of `values`; makes the plan if no slot has a plan
 * for these shapes. While a plan is made, other threads can run cached plans. Returns NULL if the
 * deadline passed, or if the section must be interpreted.
 */
static struct slot *get_slot(struct section *s, const struct value *values, const struct run *run,
			     bool *made)
{
	struct slot *slot = find_slot(s, values, run->number);

	*made = false;
	if (slot || (atomic_load(&s->wait) > 0 && atomic_fetch_sub(&s->wait, 1) > 0) ||
	    !lock_until(&s->lock, run->deadline_ns))
		return slot;
	slot = find_slot(s, values, run->number);
	if (!slot && clock_ns() < run->deadline_ns) {
		slot = make_slot(s, values, run);
		*made = slot;
	}
	pthread_mutex_unlock(&s->lock);
	return slot;
}

void sections_memory(const struct nn_plan *plan, struct nn_plan_memory *memory)
{
	if (!plan->sections)
		return;
	memory->weights += weights_bytes(plan->sections->weights);
	memory->execution += heaps_bytes(plan->heaps);
	for (struct section *s = plan->sections->first; s; s = s->next) {
		uint64_t execution = 0;

		pthread_mutex_lock(&s->lock);
		for (uint32_t i = 0; i < SECTION_PLANS; i++) {
			const struct shaped *shaped = s->slots[i].shaped;

			if (!shaped)
				continue;
			memory->weights += shaped->memory.weights;
			if (shaped->memory.execution > execution)
				execution = shaped->memory.execution;
		}
		pthread_mutex_unlock(&s->lock);
		memory->execution += execution;
	}
}

/* ---- Running ---- */

/* Returns whether a compiled plan accepts a value, which must be aligned and not empty. */
static bool is_taken(const struct value *v)
{
	if (v->tensor.omitted || !v->tensor.data ||
	    !value_is_aligned(v->tensor.data, v->tensor.type))
		return false;
	for (uint32_t i = 0; i < v->tensor.rank; i++)
		if (!v->tensor.dims[i])
			return false;
	return true;
}

/*
 * Sets the shapes and the memory of a section's outputs. Returns false if a shape differs from the
 * operand's declaration, or if memory runs out.
 */
static bool place_outputs(struct frame *f, const struct section *s, const struct compiled *c,
			  struct value *outputs, struct nn_arg *args)
{
	for (uint32_t i = 0; i < s->num_outputs; i++) {
		const struct nn_tensor *t = &c->tensors[c->main->outputs[i]];
		struct value *v = &outputs[i];

		*v = f->values[s->outputs[i]];
		if (v->tensor.omitted || !value_fits(t, &v->tensor) ||
		    (v->tensor.is_model_output && (t->scale != v->tensor.scale ||
						   t->zero_point != v->tensor.zero_point)))
			return false;
		v->tensor.rank = t->rank;
		memcpy(v->tensor.dims, t->dims, sizeof(t->dims));
		v->tensor.scale = t->scale;
		v->tensor.zero_point = t->zero_point;
		if (!frame_place_output(f, s->outputs[i], v))
			return false;
		args[i] = (struct nn_arg){ .data = v->tensor.data,
					   .length = nn_tensor_size(&v->tensor) };
	}
	return true;
}

/* Runs the plan. `args` is memory for the arguments of the plan: inputs, then outputs. */
static bool run_plan(struct frame *f, const struct section *s, const struct nn_plan *plan,
		     struct nn_arg *args, struct value *outputs, enum nn_status *status)
{
	struct nn_times *times = f->index ? NULL : f->run->times;
	struct nn_execution e = {
		.num_inputs = s->num_inputs,
		.num_outputs = s->num_outputs,
		.inputs = args,
		.outputs = args + s->num_inputs,
		.deadline_ns = f->run->deadline_ns == UINT64_MAX ? 0 : f->run->deadline_ns,
		.attributes = f->run->attributes,
		.times = plan->owned ? NULL : times,
	};
	uint32_t before = times ? times->count : 0;
	uint64_t begin_ns = times ? clock_ns() : 0;
	struct nn_error reason = { "" };

	for (uint32_t i = 0; i < s->num_inputs; i++) {
		const struct nn_tensor *t = &f->values[s->inputs[i]].tensor;

		args[i] = (struct nn_arg){ .data = t->data, .length = nn_tensor_size(t) };
	}
	if (!place_outputs(f, s, plan->compiled, outputs, args + s->num_inputs) ||
	    !compiled_execute(plan->compiled, &e, status, &reason))
		return false;
	for (uint32_t i = before; times && i < times->count; i++)
		times->list[i].index += s->first;
	if (times && plan->owned)
		times_add(times, s->first, NN_OPERATIONS, begin_ns, clock_ns());
	if (*status)
		nn_fail(f->run->err, *status, "subgraph %u, operations from %u on: %.400s", f->index,
			s->first, reason.message);
	return true;
}

static bool run_on_plan(struct frame *f, const struct section *s, const struct nn_plan *plan,
			enum nn_status *status)
{
	struct heap *heap = f->run->heap;
	struct nn_arg *args = heap_alloc(heap, sizeof(*args) * ((size_t)s->num_inputs +
								s->num_outputs));
	struct value *outputs = heap_zeroed(heap, s->num_outputs, sizeof(*outputs));
	bool done = args && outputs && run_plan(f, s, plan, args, outputs, status);

	for (uint32_t i = 0; outputs && i < s->num_outputs; i++) {
		if (done && !*status)
			frame_set_output(f, s->outputs[i], &outputs[i]);
		else
			value_release(&outputs[i], heap);
	}
	heap_free(heap, outputs);
	heap_free(heap, args);
	return done;
}

/*
 * Stores the shortest of all measured times, because other programs can only lengthen an execution.
 */
static void measure(_Atomic(uint64_t) *least, uint64_t ns)
{
	uint64_t old = atomic_load(least);

	ns += !ns;
	while ((!old || ns < old) && !atomic_compare_exchange_weak(least, &old, ns))
		;
}

void section_interpreted(struct section *s, uint64_t ns)
{
	measure(&s->interpreted_ns, ns);
}

bool section_run(struct frame *f, struct section *s, enum nn_status *status)
{
	const uint64_t start = clock_ns();
	struct slot *slot;
	bool done = false, made;

	*status = NN_OK;
	if (start >= f->run->deadline_ns)
		return false;
	for (uint32_t i = 0; i < s->num_inputs; i++)
		if (!is_taken(&f->values[s->inputs[i]]))
			return false;
	slot = get_slot(s, f->values, f->run, &made);
	if (!slot)
		return false;
	if (slot->shaped->plan) {
		done = run_on_plan(f, s, slot->shaped->plan, status);
		count_bytes(s->all, slot->shaped);
	}
	if (made && done && !*status)
		measure(&s->made_ns, clock_ns() - start);
	put_slot(slot);
	return done;
}
