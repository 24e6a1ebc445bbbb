/* SPDX-License-Identifier: MIT */
/*
 * Executes a compiled plan. The memory of an execution is one block, which is cached for later
 * executions. With cached memory, an execution usually allocates, locks and copies nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "model/times.h"
#include "plan/compiled.h"
#include "plan/run/pages.h"
#include "plan/run/threads.h"
#include "plan/saved/saved.h"
#include "plan/run/tuning.h"

/*
 * The memory of one execution of a compiled plan. The struct and the arrays to which its members
 * point are in the same block of memory.
 */
struct context {
	size_t size;			/* size of the block with this struct and its arrays */
	void **data;			/* address of each operand */
	struct nn_tensor *inputs;	/* inputs of the running step */
	struct nn_tensor *outputs;
	const void **kernel_inputs;
	void **kernel_outputs;
	char *scratch;			/* scratch memory of each thread */
	void *packed;			/* packed weights of the running step, if not constant */
	const struct nn_attributes *attributes;	/* of the execution */
	struct nn_times *times;		/* where times of operations are recorded, or NULL */
	/* scratch memory of reference kernels, enlarged as needed */
	struct nn_run_memory memory;
	/* Input whose range of values look() found for the previous step, or NULL. */
	const void *looked_at;
	size_t looked;			/* number of elements of `looked_at` */
	struct nn_range ranges[NN_MAX_LOOKS];
};

/*
 * Adds the aligned size of an array to *at, and returns the array's address in the memory block, or
 * NULL if `base` is NULL.
 */
static void *take(char *base, size_t *at, size_t count, size_t size)
{
	size_t offset = *at;

	*at += nn_kernel_aligned(count * size);
	return base ? base + offset : NULL;
}

/* Divides a block of memory into the arrays of `x`; returns the size of the block. */
static size_t divide(const struct compiled *c, char *base, struct context *x, char **arena)
{
	size_t at = nn_kernel_aligned(sizeof(*x));

	x->data = take(base, &at, (size_t)c->main->num_operands + 1, sizeof(*x->data));
	x->inputs = take(base, &at, c->max_inputs + 1, sizeof(*x->inputs));
	x->outputs = take(base, &at, c->max_outputs + 1, sizeof(*x->outputs));
	x->kernel_inputs = take(base, &at, c->max_inputs + 1, sizeof(*x->kernel_inputs));
	x->kernel_outputs = take(base, &at, c->max_outputs + 1, sizeof(*x->kernel_outputs));
	*arena = take(base, &at, 1, c->arena_size);
	x->scratch = take(base, &at, c->threads, c->scratch_size);
	x->packed = take(base, &at, 1, c->run_packed_size);
	return at;
}

static void context_free(struct compiled *c, struct context *x)
{
	if (!x)
		return;
	atomic_fetch_sub(&c->cached, x->size + x->memory.size);
	pages_free(x->memory.base, x->memory.size);
	pages_free(x, x->size);
}

/*
 * Enlarges the scratch memory of reference kernels to the largest size that any execution needed.
 * If memory runs out, the reference kernels have no scratch memory.
 */
static void grow(struct compiled *c, struct context *x, size_t wanted)
{
	struct nn_run_memory *m = &x->memory;
	size_t most = atomic_load(&c->run_memory);

	while (wanted > most && !atomic_compare_exchange_weak(&c->run_memory, &most, wanted))
		;
	pages_free(m->base, m->size);
	atomic_fetch_sub(&c->cached, m->size);
	m->size = wanted > most ? wanted : most;
	m->base = m->size ? pages_alloc(m->size) : NULL;
	if (!m->base)
		m->size = 0;
	atomic_fetch_add(&c->cached, m->size);
}

/* Returns the memory of an operand that is not an argument; NULL if memory runs out. */
static void *memory_of(const struct compiled *c, uint32_t operand, char *arena)
{
	const struct place *p = &c->places[operand];

	if (p->kind == PLACE_CONSTANT)
		return (void *)p->constant;
	return p->kind == PLACE_ARENA ? arena + c->places[p->root].offset + p->delta : NULL;
}

static void *restored_memory_of(const struct compiled *c, uint32_t operand, char *arena)
{
	uint32_t args = c->main->num_inputs + c->main->num_outputs;
	const struct serial_place *p;

	if (operand < args)
		return NULL;
	p = &c->serial_places[operand - args];
	return p->in >= SERIAL_ARG ? NULL :
	       (p->in == SERIAL_DATA ? (char *)c->data : arena) + p->offset;
}

static struct context *context_create(struct compiled *c)
{
	struct context *x, sizes;
	char *arena;

	sizes.size = divide(c, NULL, &sizes, &arena);
	x = pages_alloc(sizes.size);
	if (!x)
		return NULL;
	divide(c, (char *)x, x, &arena);
	x->size = sizes.size;
	atomic_fetch_add(&c->cached, x->size);
	for (uint32_t i = 0; i < c->main->num_operands; i++)
		x->data[i] = c->places ? memory_of(c, i, arena) : restored_memory_of(c, i, arena);
	grow(c, x, 0);
	return x;
}

static void context_put(struct compiled *c, struct context *x)
{
	for (uint32_t i = 0; i < COMPILED_CONTEXTS; i++) {
		struct context *none = NULL;

		if (atomic_compare_exchange_strong(&c->contexts[i], &none, x))
			return;
	}
	context_free(c, x);
}

static struct context *context_get(struct compiled *c)
{
	for (uint32_t i = 0; i < COMPILED_CONTEXTS; i++) {
		struct context *x = atomic_exchange(&c->contexts[i], NULL);

		if (x)
			return x;
	}
	return context_create(c);
}

uint32_t compiled_threads(uint32_t preference)
{
	return preference == NN_PREFER_LOW_POWER ? 1 : threads_start();
}

bool compiled_reserve(struct compiled *c)
{
	struct context *x = context_create(c);

	if (x)
		context_put(c, x);
	return x;
}

void compiled_release(struct compiled *c)
{
	for (uint32_t i = 0; i < COMPILED_CONTEXTS; i++)
		context_free(c, atomic_load(&c->contexts[i]));
}

uint64_t compiled_cached(const struct compiled *c)
{
	return atomic_load(&c->cached);
}

void compiled_memory(const struct compiled *c, struct nn_plan_memory *memory)
{
	struct context x;
	char *arena;

	memory->weights = c->owned_size + (c->packed_is_mapped ? 0 : c->packed_size);
	memory->execution = divide(c, NULL, &x, &arena) + atomic_load(&c->run_memory);
}

/* ---- Arguments ---- */

static bool is_as_compiled(const struct compiled *c, uint32_t operand, const struct nn_arg *arg)
{
	const struct nn_tensor *t = &c->tensors[operand];

	return !arg->omitted && arg->data && arg->length >= nn_tensor_size(t) &&
	       value_is_aligned(arg->data, t->type) && (!arg->rank || (arg->rank == t->rank &&
			!memcmp(arg->dims, t->dims, t->rank * sizeof(t->dims[0]))));
}

static bool takes(const struct compiled *c, const struct nn_execution *e)
{
	const struct nn_subgraph *s = c->main;

	for (uint32_t i = 0; i < e->num_inputs; i++)
		if (!is_as_compiled(c, s->inputs[i], &e->inputs[i]))
			return false;
	for (uint32_t i = 0; i < e->num_outputs; i++)
		if (!is_as_compiled(c, s->outputs[i], &e->outputs[i]))
			return false;
	return !e->deadline_ns || clock_ns() < e->deadline_ns;
}

static void set_args(const struct compiled *c, const struct nn_execution *e, struct context *x)
{
	for (uint32_t i = 0; i < c->num_borrowers; i++) {
		const struct place *p = &c->places[c->borrowers[i]];
		const struct nn_arg *args = p->kind == PLACE_INPUT ? e->inputs : e->outputs;

		x->data[c->borrowers[i]] = (char *)args[p->index].data + p->delta;
	}
	x->attributes = e->attributes;
	x->times = e->times;
}

/*
 * Sets the addresses of the arguments of a restored plan. In a restored plan, the arguments are the
 * first operands.
 */
static void set_restored_args(const struct compiled *c, const struct nn_execution *e,
			      struct context *x)
{
	const uint32_t inputs = c->main->num_inputs, args = inputs + c->main->num_outputs;

	for (uint32_t i = 0; i < args; i++)
		x->data[i] = i < inputs ? e->inputs[i].data : e->outputs[i - inputs].data;
	for (uint32_t i = 0; i < c->num_borrowers; i++) {
		const struct serial_place *p = &c->serial_places[c->borrowers[i] - args];

		x->data[c->borrowers[i]] = (char *)x->data[p->in - SERIAL_ARG] + p->offset;
	}
	x->times = e->times;
}

static void tell_shapes(const struct compiled *c, struct nn_execution *e)
{
	const struct nn_subgraph *s = c->main;

	for (uint32_t i = 0; e->shapes && i < e->num_outputs; i++) {
		const struct nn_tensor *t = &c->tensors[s->outputs[i]];

		e->shapes[i] = (struct nn_output_shape){ .rank = t->rank, .sufficient = true };
		memcpy(e->shapes[i].dims, t->dims, t->rank * sizeof(t->dims[0]));
	}
	e->shapes_known = e->shapes;
}

/* ---- Steps ---- */

/* One call of a kernel, whose tasks run on several threads. */
struct launch {
	struct nn_kernel_call call;
	char *scratch;
	size_t scratch_size;
};

static void look_task(void *arg, uint32_t task, uint32_t thread)
{
	const struct launch *l = arg;

	(void)thread;
	l->call.ready->kernel->look(&l->call, task);
}

static void run_task(void *arg, uint32_t task, uint32_t thread)
{
	const struct launch *l = arg;

	l->call.ready->kernel->run(&l->call, task, l->scratch + thread * l->scratch_size);
}

/*
 * State for packing weights that are not constant. Several threads run the tasks that pack weights.
 */
struct packing {
	const struct nn_run *run;
	const struct nn_ready *ready;
	const struct launch *launch;
	void *packed;
	_Atomic(bool) refused;
};

static void pack_task(void *arg, uint32_t task, uint32_t thread)
{
	struct packing *p = arg;

	if (!p->ready->kernel->pack_task(p->run, p->ready, task,
					 p->launch->scratch + thread * p->launch->scratch_size,
					 p->packed))
		p->refused = true;
}

/* Fills in the inputs of a step of a restored plan, so that the step's weights can be packed. */
static void restored_run_init(const struct compiled_step *step, const struct context *x,
			      struct nn_run *r)
{
	const struct nn_operation *o = step->operation;

	for (uint32_t i = 0; i < o->num_inputs; i++)
		x->inputs[i] = (struct nn_tensor){ .data = x->data[o->inputs[i]] };
	*r = (struct nn_run){ .num_inputs = o->num_inputs, .inputs = x->inputs };
}

/*
 * Packs a step's weights. Returns false if the kernel does not accept the values that the weights
 * have in this execution.
 */
static bool pack_weights(const struct compiled *c, const struct compiled_step *step,
			 const struct context *x, const struct launch *l, uint32_t threads)
{
	struct packing p = { .ready = &step->ready, .launch = l, .packed = x->packed };
	struct nn_run r;

	if (c->places)
		compiled_run_init(c, step, x->data, x->inputs, x->outputs, &r);
	else
		restored_run_init(step, x, &r);
	p.run = &r;
	threads_run(pack_task, &p, step->ready.pack_tasks, threads);
	return !p.refused;
}

/*
 * Finds the ranges of the input's values, unless the previous step has already found these
 * ranges.
 */
static void look(struct context *x, const struct nn_ready *ready, struct launch *l, uint32_t threads)
{
	const void *in = x->kernel_inputs[0];

	if (x->looked_at != in || x->looked != ready->looked)
		threads_run(look_task, l, ready->looks, threads);
	x->looked_at = x->kernel_outputs[0] != in ? in : NULL;
	x->looked = ready->looked;
}

/*
 * Returns false if the kernel rejects the values of this execution. A kernel that rejects values
 * writes to no output.
 */
static bool run_kernel(const struct compiled *c, const struct compiled_step *step, struct context *x,
		       uint32_t threads)
{
	const struct nn_operation *o = step->operation;
	struct nn_ready ready;
	struct launch l = {
		.call = { &step->ready, x->kernel_inputs, x->kernel_outputs, threads, x->ranges },
		.scratch = x->scratch,
		.scratch_size = c->scratch_size,
	};

	for (uint32_t i = 0; i < o->num_inputs; i++)
		x->kernel_inputs[i] = x->data[compiled_input(step, i)];
	for (uint32_t i = 0; i < o->num_outputs; i++)
		x->kernel_outputs[i] = x->data[i ? o->outputs[i] : step->output];
	if (step->ready.pack_tasks) {
		if (!pack_weights(c, step, x, &l, threads))
			return false;
		ready = step->ready;
		ready.packed = x->packed;
		l.call.ready = &ready;
	}
	if (step->ready.looks)
		look(x, &step->ready, &l, threads);
	else
		x->looked_at = NULL;
	threads_run(run_task, &l, step->ready.tasks, threads);
	return true;
}

/* Copies inputs that determine shapes or addresses from the caller's memory to private memory. */
static bool stage(const struct compiled *c, const struct compiled_step *step, struct nn_run *r,
		  struct nn_tensor *in)
{
	const struct nn_operation *o = step->operation;

	for (uint32_t i = 0; i < o->num_inputs; i++) {
		enum place_kind kind = c->places[compiled_input(step, i)].kind;
		const void *from = in[i].data;

		if (!nn_has_input(step->op->determining, i) ||
		    (kind != PLACE_INPUT && kind != PLACE_OUTPUT))
			continue;
		in[i].data = nn_run_alloc(r, nn_tensor_size(&in[i]), 1);
		if (!in[i].data)
			return false;
		memcpy(in[i].data, from, nn_tensor_size(&in[i]));
	}
	return true;
}

static bool is_inferred(const struct compiled *c, const struct compiled_step *step,
			const struct nn_run *r)
{
	for (uint32_t i = 0; i < r->num_outputs; i++) {
		const struct nn_tensor *t =
			&c->tensors[i ? step->operation->outputs[i] : step->output];

		if (r->outputs[i].rank != t->rank ||
		    memcmp(r->outputs[i].dims, t->dims, t->rank * sizeof(t->dims[0])))
			return false;
	}
	return true;
}

/*
 * Runs a step's reference kernel. Returns false if the shape of an output differs from the compiled
 * shape.
 */
static bool run_reference(struct compiled *c, const struct compiled_step *step,
			  struct context *x, enum nn_status *status, struct nn_error *err)
{
	struct nn_error reason = { "" };
	bool as_compiled = true;
	struct nn_run r;

	x->looked_at = NULL;
	compiled_run_init(c, step, x->data, x->inputs, x->outputs, &r);
	r.attributes = x->attributes;
	r.err = &reason;
	r.memory = &x->memory;
	*status = NN_OUT_OF_MEMORY;
	if (stage(c, step, &r, x->inputs))
		*status = nn_op_infer(&r);
	if (!*status)
		as_compiled = is_inferred(c, step, &r);
	if (!*status && as_compiled)
		*status = nn_op_execute(&r);
	nn_op_finish(&r);
	if (x->memory.wanted > x->memory.size)
		grow(c, x, x->memory.wanted);
	if (*status)
		nn_fail(err, *status, "subgraph 0, operation %u: %s", step->index, reason.message);
	return as_compiled;
}

/*
 * Runs the fast kernel of a step, and measures the kernel's time for `tuning`. Returns false if the
 * kernel rejected the values of this execution.
 */
static bool run_fast(const struct compiled *c, uint32_t index, struct context *x,
		     struct tuning *tuning)
{
	const struct compiled_step *step = &c->steps[index];
	uint32_t threads = atomic_load_explicit(&step->threads, memory_order_relaxed);
	uint64_t start;
	bool done;

	if (!tuning)
		return run_kernel(c, step, x, threads ? threads : c->threads);
	start = clock_ns();
	done = run_kernel(c, step, x, tuning_threads(tuning, index, c->threads));
	tuning_add(tuning, index, clock_ns() - start);
	return done;
}

/*
 * Records the time of an operation. Sets NN_OTHER_MODEL if the plan was rewritten or restored,
 * because its operations have other indices than the caller's model.
 */
static void note_time(const struct compiled *c, const struct compiled_step *step, struct nn_times *times,
		      uint64_t begin_ns)
{
	uint32_t other = c->plan->owned || !c->places ? NN_OTHER_MODEL : 0;

	times_add(times, step->index | other, step->operation->type, begin_ns, clock_ns());
}

static bool run_steps(struct compiled *c, struct context *x, uint64_t deadline_ns,
		      struct tuning *tuning, enum nn_status *status, struct nn_error *err)
{
	*status = NN_OK;
	x->looked_at = NULL;
	for (uint32_t i = 0; i < c->num_steps && !*status; i++) {
		const struct compiled_step *step = &c->steps[i];
		uint64_t begin_ns = x->times ? clock_ns() : 0;

		if (deadline_ns && clock_ns() >= deadline_ns)
			*status = nn_fail(err, NN_MISSED_DEADLINE_TRANSIENT,
					  "subgraph 0, operation %u (%s): the deadline is past",
					  step->index, nn_op_name(step->operation->type));
		else if ((!step->ready.kernel || !run_fast(c, i, x, tuning)) &&
			 !run_reference(c, step, x, status, err))
			return false;
		if (x->times)
			note_time(c, step, x->times, begin_ns);
	}
	return true;
}

bool compiled_execute(struct compiled *c, struct nn_execution *e, enum nn_status *status,
		      struct nn_error *err)
{
	uint32_t before = e->times ? e->times->count : 0;
	struct tuning *tuning;
	struct context *x;
	bool done;

	if (!takes(c, e))
		return false;
	x = context_get(c);
	if (!x)
		return false;
	if (c->places)
		set_args(c, e, x);
	else
		set_restored_args(c, e, x);
	tuning = tuning_begin(c->tuning);
	done = run_steps(c, x, e->deadline_ns, tuning, status, err);
	if (tuning)
		tuning_end(c, done && !*status);
	context_put(c, x);
	if (done && !*status)
		tell_shapes(c, e);
	/*
	 * The times of a failed compiled execution are dropped, because the operations are then
	 * interpreted.
	 */
	if (!done && e->times)
		e->times->count = before;
	return done;
}
