/* SPDX-License-Identifier: MIT */
/*
 * Compiles a plan: infers every shape, computes constants, folds and fuses operations, chooses
 * kernels and packs their weights.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "plan/compiled.h"
#include "plan/run/pages.h"
#include "plan/passes/dump.h"
#include "plan/run/threads.h"
#include "plan/run/tuning.h"
#include "plan/run/weights.h"
#include "model/fingerprint.h"
#include "ops/traits.h"

/* State that exists only while a plan is compiled. */
struct compiler {
	struct compiled *c;
	const struct nn_subgraph *s;
	/* data[i]: values of operand i; NULL if the values are unknown */
	void **data;
	/* producers[i]: 1 + number of the step that writes operand i, or 0 */
	uint32_t *producers;
	void *zeros;			/* zeros that are used in place of unknown values */
	size_t zeros_size;
	struct nn_tensor *inputs;
	struct nn_tensor *outputs;
	/* Weights that were packed earlier; NULL if compiling must pack the weights. */
	const struct packed_weights *weights;
};

static const struct nn_operand *operand_of(const struct compiler *k, uint32_t index)
{
	return &k->s->operands[index];
}

static bool is_scalar(const struct nn_tensor *t)
{
	const struct nn_type_info *info = nn_type_info_of(t->type);

	return info && !info->is_tensor;
}

void compiled_run_init(const struct compiled *c, const struct compiled_step *step,
		       void *const *data, struct nn_tensor *inputs, struct nn_tensor *outputs,
		       struct nn_run *r)
{
	const struct nn_operation *o = step->operation;

	for (uint32_t i = 0; i < o->num_inputs; i++) {
		uint32_t operand = compiled_input(step, i);

		inputs[i] = c->tensors[operand];
		inputs[i].data = data[operand];
	}
	if (step->activation)
		inputs[step->activation_input].data = (void *)&step->activation;
	for (uint32_t i = 0; i < o->num_outputs; i++) {
		uint32_t operand = i ? o->outputs[i] : step->output;

		outputs[i] = c->tensors[operand];
		outputs[i].data = data[operand];
	}
	*r = (struct nn_run){
		.op = step->op,
		.num_inputs = o->num_inputs,
		.num_outputs = o->num_outputs,
		.inputs = inputs,
		.outputs = outputs,
		.relaxed = c->plan->model->relaxed,
		.border = step->is_padded ? step->border : NULL,
		.state = step->state,
		.plan_attributes = c->plan->attributes,
	};
}

/* ---- Constants ---- */

/* Allocates memory that the plan then owns; returns NULL if memory runs out. */
static void *own(struct compiler *k, size_t size)
{
	struct compiled *c = k->c;
	void *memory = heap_alloc(NULL, size);

	if (memory) {
		c->owned[c->num_owned++] = memory;
		c->owned_size += size;
	}
	return memory;
}

static bool set_constants(struct compiler *k)
{
	const struct graph *g = &k->c->plan->graphs[0];

	for (uint32_t i = 0; i < k->s->num_operands; i++) {
		const struct value *v = &g->initial[i];

		k->c->tensors[i] = v->tensor;
		k->data[i] = v->tensor.data;
		if (!v->tensor.data || value_is_aligned(v->tensor.data, v->tensor.type))
			continue;
		if (k->weights)
			return false;
		k->data[i] = own(k, nn_tensor_size(&v->tensor));
		if (!k->data[i])
			return false;
		memcpy(k->data[i], v->tensor.data, nn_tensor_size(&v->tensor));
	}
	return true;
}

/*
 * Copies the values of inputs that determine shapes or addresses out of memory that other processes
 * may write.
 */
static bool fix_determining(struct compiler *k, const struct nn_op *op,
			    const struct nn_operation *o)
{
	for (uint32_t i = 0; i < o->num_inputs; i++) {
		const struct nn_tensor *t = &k->c->tensors[o->inputs[i]];
		void **data = &k->data[o->inputs[i]], *copy;

		if (t->omitted || !plan_determines(op, i, t->type))
			continue;
		if (!*data && (is_scalar(t) || !nn_traits(op->code)->determines_no_shape))
			return false;
		if (!*data || operand_of(k, o->inputs[i])->lifetime != NN_CONSTANT_REFERENCE ||
		    *data != k->c->tensors[o->inputs[i]].data)
			continue;
		copy = own(k, nn_tensor_size(t));
		if (!copy)
			return false;
		memcpy(copy, *data, nn_tensor_size(t));
		*data = copy;
	}
	return true;
}

static bool is_foldable(const struct compiler *k, const struct nn_op *op,
			const struct nn_operation *o)
{
	if (nn_op_varies(op) || k->weights)
		return false;
	for (uint32_t i = 0; i < o->num_inputs; i++)
		if (!k->data[o->inputs[i]] && !k->c->tensors[o->inputs[i]].omitted)
			return false;
	for (uint32_t i = 0; i < o->num_outputs; i++)
		if (operand_of(k, o->outputs[i])->lifetime != NN_TEMPORARY)
			return false;
	return true;
}

/* Computes the outputs of an operation whose inputs are constants. */
static bool fold(struct compiler *k, struct nn_run *r, const struct nn_operation *o)
{
	for (uint32_t i = 0; i < o->num_outputs; i++) {
		r->outputs[i].data = own(k, nn_tensor_size(&r->outputs[i]));
		if (!r->outputs[i].data)
			return false;
	}
	if ((k->c->plan->deadline_ns && clock_ns() >= k->c->plan->deadline_ns) || nn_op_execute(r))
		return false;
	for (uint32_t i = 0; i < o->num_outputs; i++)
		k->data[o->outputs[i]] = r->outputs[i].data;
	return true;
}

/* ---- Shapes ---- */

/*
 * Returns true if an operand's value is not known during compiling, or must not be used by the
 * compiler.
 */
static bool is_unknown(const struct compiler *k, uint32_t operand)
{
	return !k->data[operand] ||
	       (k->weights && operand_of(k, operand)->lifetime == NN_CONSTANT_REFERENCE);
}

/*
 * Sets all inputs with unknown values to one block of zeros, which is enlarged if necessary.
 * Returns false if memory runs out.
 */
static bool set_zeros(struct compiler *k, const struct nn_operation *o)
{
	size_t most = 0;

	for (uint32_t i = 0; i < o->num_inputs; i++) {
		const size_t size = nn_tensor_size(&k->inputs[i]);

		if (!k->inputs[i].omitted && is_unknown(k, o->inputs[i]) && size > most)
			most = size;
	}
	/*
	 * Enlarge the block of zeros, because temporaries of unknown shape may be larger than all
	 * operands of known shape.
	 */
	if (most > k->zeros_size) {
		pages_free(k->zeros, k->zeros_size);
		k->zeros = pages_zeros(most);
		k->zeros_size = k->zeros ? most : 0;
	}
	for (uint32_t i = 0; i < o->num_inputs; i++)
		if (!k->inputs[i].omitted && is_unknown(k, o->inputs[i]))
			k->inputs[i].data = k->zeros;
	return k->zeros;
}

/*
 * Infers the shapes of an operation's outputs. Computes the outputs if all inputs are constants,
 * otherwise adds a step to the plan.
 */
static bool add_operation(struct compiler *k, uint32_t index)
{
	const struct step *from = &k->c->plan->graphs[0].steps[index];
	const struct nn_operation *o = from->operation;
	struct compiled_step *step = &k->c->steps[k->c->num_steps];
	struct nn_error err = { "" };
	struct nn_run r;
	bool fine;

	*step = (struct compiled_step){ .op = from->op, .operation = o, .index = index,
					.state = from->state };
	/* An OEM operation is not compiled, because its operands may have no fixed size. */
	if (!from->op->execute || from->op->code == NN_OP_OEM || !fix_determining(k, from->op, o))
		return false;
	step->input = o->num_inputs ? o->inputs[0] : 0;
	step->output = o->num_outputs ? o->outputs[0] : 0;
	compiled_run_init(k->c, step, k->data, k->inputs, k->outputs, &r);
	r.err = &err;
	if (!set_zeros(k, o))
		return false;
	/*
	 * Fail if nn_op_infer() has already computed the result, because the result would depend on
	 * values that are not known yet.
	 */
	fine = !nn_op_infer(&r) && !nn_run_result(&r);
	for (uint32_t i = 0; fine && i < o->num_outputs; i++) {
		k->c->tensors[o->outputs[i]] = r.outputs[i];
		k->producers[o->outputs[i]] = k->c->num_steps + 1;
	}
	if (fine && is_foldable(k, from->op, o))
		fine = fold(k, &r, o);
	else
		k->c->num_steps++;
	nn_op_finish(&r);
	return fine;
}

static bool add_operations(struct compiler *k)
{
	for (uint32_t i = 0; i < k->s->num_inputs; i++)
		if (!nn_operand_is_specified(operand_of(k, k->s->inputs[i])))
			return false;
	for (uint32_t i = 0; i < k->s->num_operations; i++)
		if (!add_operation(k, i))
			return false;
	return true;
}

/* ---- Fusing ---- */

/*
 * Returns whether the step that writes operand x can write operand y instead. Only one step may
 * read x, and both operands must have the same quantisation.
 */
static bool is_fusible(const struct compiler *k, uint32_t x, uint32_t y)
{
	const struct nn_tensor *from = &k->c->tensors[x], *to = &k->c->tensors[y];

	return k->producers[x] && operand_of(k, x)->lifetime == NN_TEMPORARY &&
	       operand_of(k, x)->consumers == 1 && from->scale == to->scale &&
	       from->zero_point == to->zero_point;
}

/*
 * Fuses the activation `step` into the operation that writes the input of `step`; returns false if
 * fusing is not possible.
 */
static bool fuse(struct compiler *k, const struct compiled_step *step)
{
	struct compiled_step *before;
	struct nn_run r;
	uint32_t input, x;

	if (!nn_traits(step->op->code)->fused_code)
		return false;
	x = step->operation->inputs[0];
	if (!is_fusible(k, x, step->output))
		return false;
	before = &k->c->steps[k->producers[x] - 1];
	if (before->output != x)
		return false;
	compiled_run_init(k->c, before, k->data, k->inputs, k->outputs, &r);
	input = nn_run_activation(&r);
	if (!input || nn_run_int(&r, input, -1))
		return false;
	before->activation = nn_traits(step->op->code)->fused_code;
	before->activation_input = input;
	before->output = step->output;
	k->producers[step->output] = k->producers[x];
	return true;
}

static bool fuse_activations(struct compiler *k)
{
	struct compiled *c = k->c;
	uint32_t count = 0;

	for (uint32_t i = 0; i < c->num_steps; i++) {
		if (c->steps[i].is_gone || fuse(k, &c->steps[i]))
			continue;
		if (c->steps[i].operation->num_outputs)
			k->producers[c->steps[i].output] = count + 1;
		c->steps[count++] = c->steps[i];
	}
	c->num_steps = count;
	return true;
}

/* ---- Places ---- */

static bool place_operands(struct compiler *k)
{
	struct compiled *c = k->c;

	for (uint32_t i = 0; i < k->s->num_operands; i++) {
		struct place *p = &c->places[i];

		p->root = i;
		p->first = UINT32_MAX;
		p->constant = k->data[i];
		if (c->tensors[i].omitted)
			p->kind = PLACE_NONE;
		else if (k->data[i])
			p->kind = PLACE_CONSTANT;
		else if (operand_of(k, i)->lifetime == NN_TEMPORARY)
			p->kind = PLACE_ARENA;
	}
	for (uint32_t i = 0; i < k->s->num_inputs; i++) {
		c->places[k->s->inputs[i]].kind = PLACE_INPUT;
		c->places[k->s->inputs[i]].index = i;
	}
	for (uint32_t i = 0; i < k->s->num_outputs; i++) {
		c->places[k->s->outputs[i]].kind = PLACE_OUTPUT;
		c->places[k->s->outputs[i]].index = i;
	}
	return true;
}

static void touch(struct compiled *c, uint32_t operand, uint32_t step)
{
	struct place *p = &c->places[c->places[operand].root];

	if (p->first > step)
		p->first = step;
	if (p->last < step)
		p->last = step;
}

static void find_lifetimes(struct compiled *c)
{
	for (uint32_t i = 0; i < c->num_steps; i++) {
		const struct nn_operation *o = c->steps[i].operation;

		for (uint32_t j = 0; j < o->num_inputs; j++)
			touch(c, compiled_input(&c->steps[i], j), i);
		for (uint32_t j = 0; j < o->num_outputs; j++)
			touch(c, j ? o->outputs[j] : c->steps[i].output, i);
	}
}

/* Removes from the arena all temporaries that no step accesses. */
static void drop_untouched(struct compiled *c, uint32_t operands)
{
	for (uint32_t i = 0; i < operands; i++)
		if (c->places[i].kind == PLACE_ARENA && c->places[c->places[i].root].first ==
		    UINT32_MAX)
			c->places[i].kind = PLACE_NONE;
}

/* ---- Kernels ---- */

/* Adds a number to a hash. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* Returns false if the choice of the kernel depends on a value that another process may change. */
static bool reads_fixed(const struct compiler *k, const struct compiled_step *step)
{
	for (uint32_t i = 0; i < step->operation->num_inputs; i++)
		if (nn_has_input(step->ready.reads, i) &&
		    operand_of(k, compiled_input(step, i))->lifetime == NN_CONSTANT_REFERENCE)
			return false;
	return true;
}

/* Returns whether the weights of a step are constants, which are packed only once. */
static bool packs_once(const struct compiled_step *step)
{
	return step->ready.kernel && step->ready.packed_size && !step->ready.pack_tasks;
}

/* Returns whether two operands are the same weights, equal scalars, or variables of one type. */
static bool is_same(const struct compiler *k, uint32_t a, uint32_t b)
{
	const struct nn_tensor *x = &k->c->tensors[a], *y = &k->c->tensors[b];

	if (a == b)
		return true;
	if (x->type != y->type || x->rank != y->rank || memcmp(x->dims, y->dims, x->rank * sizeof(x->dims[0])) ||
	    x->scale != y->scale || x->zero_point != y->zero_point || x->omitted != y->omitted ||
	    x->extra->kind != NN_EXTRA_NONE || y->extra->kind != NN_EXTRA_NONE)
		return false;
	return is_scalar(x) && k->data[a] && k->data[b] ? !memcmp(k->data[a], k->data[b], nn_tensor_size(x)) :
							  !k->data[a] && !k->data[b];
}

static bool packs_same(const struct compiler *k, const struct compiled_step *a, const struct compiled_step *b)
{
	const struct nn_operation *o = a->operation;

	if (a->ready.kernel != b->ready.kernel || a->ready.row != b->ready.row ||
	    a->ready.packed_size != b->ready.packed_size || o->type != b->operation->type ||
	    o->num_inputs != b->operation->num_inputs || a->activation != b->activation ||
	    memcmp(a->ready.state, b->ready.state, a->ready.kernel->state_size) || !is_same(k, a->output, b->output))
		return false;
	for (uint32_t i = 0; i < o->num_inputs; i++)
		if (!is_same(k, compiled_input(a, i), compiled_input(b, i)))
			return false;
	return true;
}

/*
 * Finds the last step before step `number` that packs the same weights in the same way, as the steps
 * of a loop that was unrolled do. Returns 1 + the step's number, or 0.
 */
static uint32_t find_packed(const struct compiler *k, uint32_t number)
{
	const struct compiled_step *steps = k->c->steps;

	for (uint32_t i = packs_once(&steps[number]) ? number : 0; i-- > 0;)
		if (packs_once(&steps[i]) && packs_same(k, &steps[i], &steps[number]))
			return steps[i].packed_of ? steps[i].packed_of : i + 1;
	return 0;
}

static bool find_kernels(struct compiler *k)
{
	struct compiled *c = k->c;

	for (uint32_t i = 0; i < c->num_steps; i++) {
		struct nn_ready *ready = &c->steps[i].ready;
		struct nn_error err = { "" };
		struct nn_run r;

		compiled_run_init(c, &c->steps[i], k->data, k->inputs, k->outputs, &r);
		r.err = &err;
		*ready = (struct nn_ready){ .isa = c->isa, .threads = c->threads };
		if (nn_kernel_find(&r, ready)) {
			const char *name = ready->kernel->name;

			c->steps[i].packed_of = find_packed(k, i);
			if (!ready->pack_tasks)
				c->packed_size += c->steps[i].packed_of ? 0 : nn_kernel_aligned(ready->packed_size);
			else if (ready->packed_size > c->run_packed_size)
				c->run_packed_size = ready->packed_size;
			if (ready->scratch_size > c->scratch_size)
				c->scratch_size = nn_kernel_aligned(ready->scratch_size);
			c->choice = mix(mix(c->choice, i), ready->packed_size);
			c->choice = mix(c->choice, nn_fingerprint64(name, strlen(name)));
		}
		nn_op_finish(&r);
		if (k->weights && !reads_fixed(k, &c->steps[i]))
			return false;
	}
	return true;
}

/* Sets the addresses of packed weights that several steps use. */
static void share_weights(struct compiled *c)
{
	for (uint32_t i = 0; i < c->num_steps; i++)
		if (c->steps[i].packed_of)
			c->steps[i].ready.packed = c->steps[c->steps[i].packed_of - 1].ready.packed;
}

/* Sets the addresses of packed weights, except those that share_weights() sets. */
static void place_weights(struct compiled *c, const char *next)
{
	c->packed = next;
	for (uint32_t i = 0; i < c->num_steps; i++) {
		struct nn_ready *ready = &c->steps[i].ready;

		if (!packs_once(&c->steps[i]) || c->steps[i].packed_of)
			continue;
		ready->packed = next;
		next += nn_kernel_aligned(ready->packed_size);
	}
}

/*
 * Packs the weights of a step; if another plan has equal packed weights, shares the other plan's
 * weights and frees the new weights.
 */
static const void *pack_shared(const struct compiled *c, const struct nn_ready *ready,
			       struct nn_run *r)
{
	void *memory = weights_alloc(ready->packed_size);

	if (!memory || !nn_kernel_pack(r, ready, memory)) {
		weights_release(memory, ready->packed_size);
		return NULL;
	}
	return weights_share(c->plan->weights, memory, ready->packed_size);
}

/*
 * State for packing the weights of all steps. Each thread that packs weights uses its own tensors.
 */
struct packing {
	const struct compiler *k;
	struct nn_tensor *inputs;	/* max_inputs + 1 tensors for each thread */
	struct nn_tensor *outputs;
	_Atomic(bool) failed;
};

/*
 * Packs the weights of a step. The last step is packed first, because the last steps of networks
 * usually have the most weights.
 */
static void pack_step(void *arg, uint32_t task, uint32_t thread)
{
	struct packing *p = arg;
	const struct compiled *c = p->k->c;
	struct compiled_step *step = &c->steps[c->num_steps - 1 - task];
	struct nn_ready *ready = &step->ready;
	struct nn_error err = { "" };
	struct nn_run r;

	if (!packs_once(step) || step->packed_of)
		return;
	compiled_run_init(c, step, p->k->data, p->inputs + thread * (c->max_inputs + 1),
			  p->outputs + thread * (c->max_outputs + 1), &r);
	r.err = &err;
	if (c->plan->weights)
		ready->packed = pack_shared(c, ready, &r);
	if (c->plan->weights ? !ready->packed : !nn_kernel_pack(&r, ready, (void *)ready->packed))
		p->failed = true;
	nn_op_finish(&r);
}

static bool alloc_weights(struct compiled *c)
{
	/*
	 * If the plan has several threads, each page is allocated by the thread that first writes
	 * the page.
	 */
	void *memory = c->threads > 1 ? pages_alloc(c->packed_size) :
				       pages_alloc_all(c->packed_size);

	if (memory)
		place_weights(c, memory);
	return memory;
}

static bool pack_weights(struct compiler *k)
{
	struct compiled *c = k->c;
	struct packing p = {
		.k = k,
		.inputs = calloc(c->threads * ((size_t)c->max_inputs + 1), sizeof(*p.inputs)),
		.outputs = calloc(c->threads * ((size_t)c->max_outputs + 1), sizeof(*p.outputs)),
	};
	bool fine = c->plan->weights || alloc_weights(c);

	fine = fine && p.inputs && p.outputs;
	if (fine)
		threads_run_long(pack_step, &p, c->num_steps, c->threads);
	share_weights(c);
	free(p.inputs);
	free(p.outputs);
	return fine && !p.failed;
}

/*
 * Uses weights that an earlier plan packed. The caller of compiled_create() checks that the weights
 * belong to the model.
 */
static bool adopt_weights(struct compiler *k)
{
	struct compiled *c = k->c;

	c->packed_is_mapped = true;
	if (c->packed_size > k->weights->size)
		return false;
	place_weights(c, k->weights->data);
	share_weights(c);
	return true;
}

/* ---- All of it ---- */

static bool fold_steps(struct compiler *k)
{
	compiled_fold(k->c, k->data, k->producers, k->inputs, k->outputs);
	return true;
}

static bool alias(struct compiler *k)
{
	compiled_alias(k->c, k->s->num_operands);
	find_lifetimes(k->c);
	drop_untouched(k->c, k->s->num_operands);
	return true;
}

static bool lay_out(struct compiler *k)
{
	return compiled_layout(k->c);
}

/*
 * The passes that compile a plan, in the order in which they run. If any of the passes returns
 * false, the plan is interpreted instead.
 */
static const struct {
	const char *name;
	bool (*run)(struct compiler *k);
} passes[] = {
	{ "constants", set_constants },
	{ "shapes", add_operations },	/* infers shapes, and computes operations on constants */
	{ "fold", fold_steps },
	{ "fuse", fuse_activations },
	{ "places", place_operands },
	{ "alias", alias },
	{ "kernels", find_kernels },
	{ "layout", lay_out },
};

static bool compile(struct compiler *k)
{
	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
		if (!passes[i].run(k))
			return false;
		/*
		 * For a loaded plan no pass is printed, because the plan was printed when it was
		 * first compiled.
		 */
		if (!k->weights)
			plan_dump_compiled(passes[i].name, k->c);
	}
	/*
	 * The memory of a loaded plan is allocated in the first execution, to load the plan
	 * quickly.
	 */
	return k->weights ? adopt_weights(k) : pack_weights(k) && compiled_reserve(k->c);
}

static size_t largest_operand(const struct nn_subgraph *s)
{
	size_t largest = NN_KERNEL_ALIGN;

	for (uint32_t i = 0; i < s->num_operands; i++) {
		uint32_t size;

		if (nn_operand_size(&s->operands[i], &size) && size > largest)
			largest = size;
	}
	return largest;
}

static bool alloc_lists(struct compiler *k, const struct graph *g)
{
	struct compiled *c = k->c;
	size_t operands = (size_t)k->s->num_operands + 1;

	c->tensors = calloc(operands, sizeof(*c->tensors));
	c->places = calloc(operands, sizeof(*c->places));
	c->borrowers = calloc(operands, sizeof(*c->borrowers));
	c->steps = calloc((size_t)k->s->num_operations + 1, sizeof(*c->steps));
	c->owned = calloc(3 * operands, sizeof(*c->owned));
	k->data = calloc(operands, sizeof(*k->data));
	k->producers = calloc(operands, sizeof(*k->producers));
	k->inputs = calloc((size_t)g->max_inputs + 1, sizeof(*k->inputs));
	k->outputs = calloc((size_t)g->max_outputs + 1, sizeof(*k->outputs));
	return c->tensors && c->places && c->borrowers && c->steps && c->owned && k->data &&
	       k->producers && k->inputs && k->outputs;
}

struct compiled *compiled_create(const struct nn_plan *plan, const struct nn_isa *isa,
				 uint32_t threads, const struct packed_weights *weights)
{
	const struct graph *g = &plan->graphs[0];
	struct compiler k = { .c = calloc(1, sizeof(*k.c)), .s = g->subgraph, .weights = weights };

	if (!k.c)
		return NULL;
	k.c->plan = plan;
	k.c->main = g->subgraph;
	k.c->max_inputs = g->max_inputs;
	k.c->max_outputs = g->max_outputs;
	k.c->packed_is_mapped = plan->weights;
	k.c->isa = isa;
	k.c->threads = threads;
	k.zeros_size = largest_operand(k.s);
	k.zeros = pages_zeros(k.zeros_size);
	if (!k.zeros || !alloc_lists(&k, g) || !compile(&k) || !tuning_create(k.c)) {
		compiled_free(k.c);
		k.c = NULL;
	}
	pages_free(k.zeros, k.zeros_size);
	free(k.data);
	free(k.producers);
	free(k.inputs);
	free(k.outputs);
	return k.c;
}

void compiled_free(struct compiled *c)
{
	if (!c)
		return;
	compiled_release(c);
	for (uint32_t i = 0; i < c->num_steps; i++) {
		if (c->plan->weights && c->steps[i].ready.packed && !c->steps[i].packed_of)
			weights_drop(c->plan->weights, c->steps[i].ready.packed);
		free(c->steps[i].ready.state);
	}
	for (uint32_t i = 0; i < c->num_owned; i++)
		free(c->owned[i]);
	if (!c->packed_is_mapped)
		pages_free((void *)c->packed, c->packed_size);
	free(c->tensors);
	free(c->places);
	free(c->borrowers);
	free(c->steps);
	tuning_free(c->tuning);
	free(c->owned);
	free(c);
}
