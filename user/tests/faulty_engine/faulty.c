// SPDX-License-Identifier: MIT
/*
 * The sample engine with one fault from the list in faults.def. The environment variable
 * NNACCEL_FAULT contains the name of the fault. Each fault breaks a rule that the sample engine
 * follows. Without NNACCEL_FAULT, or with NNACCEL_FAULT=NONE, the engine has no fault.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/faulty_engine/faulty.h"

static int run_faulty(const struct nna_engine *engine, int argc, char **argv);
int sample_main(int argc, char **argv);

#define nna_engine_main run_faulty
#define main sample_main
#include "../../examples/engine/sample.c"
#undef main
#undef nna_engine_main

static const char *const names[] = {
	"NONE",
#define FAULT(name, group, text) #name,
#include "tests/faulty_engine/faults.def"
#undef FAULT
};

#define MAX_ARGS 32
#define MAX_SET 1024
#define LEAK_SIZE 65536

static enum fault fault;
static const struct nna_engine *sample;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void hang(void)
{
	for (;;)
		pause();
}

/* ---- models ---- */

static uint32_t operand_size(const struct nn_operand *o)
{
	uint32_t size = 0;

	nn_operand_size(o, &size);
	return size;
}

static enum nn_status faulty_supported(const struct nna_engine *engine, const struct nn_model *model,
				       bool *operations, struct nn_error *err)
{
	const struct nn_subgraph *main = &model->subgraphs[0];
	static bool is_second = true;

	is_second &= fault == SUPPORT_CHANGES;
	for (uint32_t i = 0; i < main->num_operations && fault == CRASH_SUPPORTED; i++)
		if (main->operands[main->operations[i].inputs[0]].type != NN_TENSOR_FLOAT32)
			abort();
	if (fault == SUPPORT_CHANGES)
		is_second = !is_second;
	if (fault == CLAIMS_ALL || fault == CLAIMS_NOTHING || is_second) {
		memset(operations, fault == CLAIMS_ALL, main->num_operations);
		return NN_OK;
	}
	return sample->supported(engine, model, operations, err);
}

static void faulty_describe(const struct nna_engine *engine, struct nn_device_info *info)
{
	sample->describe(engine, info);
	if (fault == CLAIMS_ALL || fault == CLAIMS_NOTHING)
		memset(info->operations, fault == CLAIMS_ALL ? 0xff : 0, sizeof(info->operations));
}

/* Changes the fused activations or the float constants of a model, according to the fault. */
static void spoil(struct nn_model *model)
{
	const struct nn_subgraph *main = &model->subgraphs[0];

	for (uint32_t i = 0; i < main->num_operands; i++) {
		const struct nn_operand *o = &main->operands[i];
		char *value = (char *)nn_operand_value(model, o);
		int32_t activation;

		if (!value)
			continue;
		if (fault == CONSTANT && o->type == NN_TENSOR_FLOAT32)
			memset(value, 0, operand_size(o));
		if (fault == CONSTANT || o->type != NN_INT32)
			continue;
		memcpy(&activation, value, sizeof(activation));
		if (fault == LOADED_WRONG || fault == SAVE_SPOILS)
			activation = 0;
		else if (activation == 3)
			activation = 1;
		memcpy(value, &activation, sizeof(activation));
	}
}

/* Replaces the model in a prepared model by a copy with wrong constants. */
static void spoil_copy(struct prepared *p)
{
	struct nn_model *copy = NULL;
	struct nn_error err = { "" };
	void *block = NULL;
	size_t size;

	if (nna_engine_pack(p->model, &block, &size, &err) ||
	    nna_engine_unpack(block, size, &copy, &err))
		abort();
	free(block);
	spoil(copy);
	p->own = copy;
	p->model = copy;
}

static void leak(void)
{
	static void *volatile last;

	last = malloc(LEAK_SIZE);
	if (last)
		memset(last, 1, LEAK_SIZE);
}

static struct prepared *last_prepared, *broken;
static unsigned int num_models;

static enum nn_status faulty_prepare(const struct nna_engine *engine, const struct nn_model *model,
				     const struct nna_engine_preparation *how, void **prepared,
				     struct nn_error *err)
{
	const struct nn_subgraph *main = &model->subgraphs[0];
	enum nn_status status;

	if (fault == CRASH_PREPARE && main->num_outputs == 2)
		abort();
	if (fault == HANG_PREPARE && main->num_outputs == 2)
		hang();
	if (fault == PREPARE_REFUSES && main->num_operations > 1)
		return nn_fail(err, NN_GENERAL_FAILURE, "too many operations");
	if ((fault == MANY_MODELS || fault == CLIENT_MODELS) && num_models >= 3)
		return nn_fail(err, NN_RESOURCE_EXHAUSTED_TRANSIENT, "too many models");
	if (fault == PRIORITY && how->priority == 2)
		return nn_fail(err, NN_GENERAL_FAILURE, "no such priority");
	if (fault == FAR_PREPARATION && how->deadline_ns)
		return nn_fail(err, NN_MISSED_DEADLINE_TRANSIENT, "the deadline has passed");
	if (fault == PREFERENCE && how->preference == 2)
		abort();
	if (fault == LEAK_PREPARE)
		leak();
	status = sample->prepare(engine, model, how, prepared, err);
	if (fault == PREPARES_ANY && status == NN_INVALID_ARGUMENT) {
		struct prepared *p = calloc(1, sizeof(*p));

		p->model = model;
		*prepared = p;
		status = NN_OK;
	}
	if (status)
		return status;
	if (fault == ACTIVATION || fault == CONSTANT)
		spoil_copy(*prepared);
	pthread_mutex_lock(&lock);
	last_prepared = *prepared;
	num_models++;
	pthread_mutex_unlock(&lock);
	return NN_OK;
}

/* Prepared models that the client has executed at least once. */
static const void *executed[MAX_SET];

static bool was_executed(const void *prepared)
{
	for (int i = 0; i < MAX_SET; i++)
		if (executed[i] == prepared)
			return true;
	return false;
}

static void note_executed(const void *prepared)
{
	static unsigned int next;

	pthread_mutex_lock(&lock);
	if (!was_executed(prepared))
		executed[next++ % MAX_SET] = prepared;
	pthread_mutex_unlock(&lock);
}

static bool is_alike(const struct nn_subgraph *a, const struct nn_subgraph *b)
{
	if (a->num_inputs != b->num_inputs || a->num_outputs != b->num_outputs)
		return false;
	for (uint32_t i = 0; i < a->num_inputs; i++)
		if (!same_shape(&a->operands[a->inputs[i]], &b->operands[b->inputs[i]]))
			return false;
	for (uint32_t i = 0; i < a->num_outputs; i++)
		if (!same_shape(&a->operands[a->outputs[i]], &b->operands[b->outputs[i]]))
			return false;
	return true;
}

static bool has_weights(const struct nn_model *model)
{
	const struct nn_subgraph *main = &model->subgraphs[0];

	for (uint32_t i = 0; i < main->num_operands; i++)
		if (main->operands[i].type == NN_TENSOR_FLOAT32 && nn_operand_value(model, &main->operands[i]))
			return true;
	return false;
}

static void faulty_release(const struct nna_engine *engine, void *prepared)
{
	const struct prepared *p = prepared;

	pthread_mutex_lock(&lock);
	if (fault == CRASH_RELEASE && !was_executed(prepared))
		abort();
	if (last_prepared == prepared)
		last_prepared = NULL;
	if (broken == prepared)
		broken = NULL;
	if (last_prepared && is_alike(&last_prepared->model->subgraphs[0], &p->model->subgraphs[0]))
		broken = last_prepared;
	num_models--;
	pthread_mutex_unlock(&lock);
	sample->release(engine, prepared);
}

/* ---- executions ---- */

/* Copy of the first output of the previous execution. */
static struct {
	void *data;
	uint64_t size;
} before;

static void exchange_result(const struct nn_arg *out, uint64_t size)
{
	void *data = malloc(size);

	if (!data)
		abort();
	memcpy(data, out->data, size);
	pthread_mutex_lock(&lock);
	if (before.data && before.size == size)
		memcpy(out->data, before.data, size);
	free(before.data);
	before.data = data;
	before.size = size;
	pthread_mutex_unlock(&lock);
}

/* Rounds each float of an output to the float's upper 20 bits. */
static void round_floats(const struct nn_arg *out, uint64_t size)
{
	uint32_t bits;

	for (uint64_t i = 0; i + sizeof(bits) <= size; i += sizeof(bits)) {
		memcpy(&bits, (char *)out->data + i, sizeof(bits));
		bits = (bits + 0x800) & ~0xfffu;
		memcpy((char *)out->data + i, &bits, sizeof(bits));
	}
}

static bool has_zero(const struct nn_arg *in)
{
	for (uint64_t i = 0; i + sizeof(float) <= in->length; i += sizeof(float)) {
		float f;

		memcpy(&f, (char *)in->data + i, sizeof(f));
		if (f == 0)
			return true;
	}
	return false;
}

/*
 * Writes a wrong float to the address `at`, if `at` lies in the same region of the client's memory
 * as the output.
 */
static void write_at(struct nna_engine_execution *execution, const struct nn_arg *out, char *at)
{
	const float wrong = 42;
	struct nna_engine_region region;

	if (nna_engine_region_of(execution, out->data, &region) && at >= (char *)region.base &&
	    at + sizeof(wrong) <= (char *)region.base + region.length)
		memcpy(at, &wrong, sizeof(wrong));
}

/*
 * Replaces the weights in an input by old weights. The old weights are copied only when the
 * executed model changes.
 */
static void keep_weights(const void *prepared, struct nn_arg *in)
{
	static const void *owner;
	static char weights[4096];

	if (in->omitted || in->length > sizeof(weights))
		return;
	if (owner != prepared)
		memcpy(weights, in->data, in->length);
	owner = prepared;
	in->data = weights;
}

static void change_inputs(const struct prepared *p, struct nna_engine_execution *execution,
			  const struct nn_execution *e, struct nn_arg *in)
{
	const struct nn_subgraph *main = &p->model->subgraphs[0];
	static char zeroes[65536];
	struct nna_engine_region region;

	for (uint32_t i = 0; i < e->num_inputs; i++) {
		in[i] = e->inputs[i];
		if (fault == OFFSET && in[i].length && nna_engine_region_of(execution, in[i].data, &region) &&
		    region.length >= in[i].length)
			in[i].data = region.base;
		if (fault == ALIGNED)
			in[i].data = (void *)((uintptr_t)in[i].data & ~(uintptr_t)63);
		if (fault == SHORT_INPUT && i < main->num_inputs && !in[i].omitted)
			in[i].length = operand_size(&main->operands[main->inputs[i]]);
		if (fault == OTHER_DIMS)
			in[i].rank = 0;
		if (fault == WEIGHTS_KEPT && i == 1)
			keep_weights(p, &in[i]);
		if (fault == OMITTED && in[i].omitted && i < main->num_inputs) {
			in[i].omitted = false;
			in[i].data = zeroes;
			in[i].length = operand_size(&main->operands[main->inputs[i]]);
		}
	}
}

/*
 * For each output, sets out[i] to the client's memory or, if this memory is too short, to new
 * memory of the engine.
 */
static void lengthen(const struct nn_subgraph *main, const struct nn_execution *e, struct nn_arg *out)
{
	for (uint32_t i = 0; i < e->num_outputs; i++) {
		uint64_t size = i < main->num_outputs ?
				operand_size(&main->operands[main->outputs[i]]) : 0;

		out[i] = e->outputs[i];
		if (out[i].omitted || out[i].length >= size)
			continue;
		out[i].data = calloc(1, size);
		out[i].length = size;
		if (!out[i].data)
			abort();
	}
}

static void shorten(const struct nn_execution *e, const struct nn_arg *out)
{
	for (uint32_t i = 0; i < e->num_outputs; i++) {
		if (out[i].data == e->outputs[i].data)
			continue;
		memcpy(e->outputs[i].data, out[i].data, e->outputs[i].length);
		free(out[i].data);
	}
}

/* Executes a model with a fault: all executions share the memory of their temporaries. */
static enum nn_status execute_shared(const struct prepared *p, struct nn_execution *e, struct nn_error *err)
{
	static char room[1 << 20];
	struct value *values = calloc(p->model->subgraphs[0].num_operands + 1, sizeof(*values));
	enum nn_status status;

	if (!values || p->room > sizeof(room))
		abort();
	status = run(p, e, values, room, err);
	free(values);
	return status;
}

static void spoil_result(const struct prepared *p, struct nna_engine_execution *execution,
			 struct nn_execution *e)
{
	static unsigned int count;
	const struct nn_subgraph *main = &p->model->subgraphs[0];
	const struct nn_arg *out = &e->outputs[0], *in = &e->inputs[0];
	uint64_t size = main->num_outputs ? operand_size(&main->operands[main->outputs[0]]) : 0;
	struct nna_engine_region region;

	if (!e->num_outputs || !e->num_inputs || size < sizeof(float))
		return;
	if (fault == ROUNDING)
		round_floats(out, size);
	else if (fault == PAST_END)
		write_at(execution, out, (char *)out->data + size);
	else if (fault == BEFORE_BEGIN)
		write_at(execution, out, (char *)out->data - sizeof(float));
	else if (fault == SIXTY_FOURTH ? ++count % 64 == 0 : fault == RELEASE_ALIKE && p == broken)
		memset(out->data, 0x40, size);
	else if (fault == SAME_RESULT)
		exchange_result(out, size);
	else if (fault == WRONG_SHAPE)
		e->shapes[0].dims[0]++;
	else if (fault == NO_SHAPE)
		e->shapes_known = false;
	else if (fault == IN_PLACE && nna_engine_region_of(execution, in->data, &region) && region.is_writable)
		memcpy(in->data, out->data, size < in->length ? size : in->length);
}

/*
 * Applies faults that concern failed executions; returns the status that the engine then reports.
 */
static enum nn_status spoil_failure(struct nna_engine_execution *execution, struct nn_execution *e,
				    enum nn_status status)
{
	const struct nn_arg *out = e->outputs;
	bool is_short = status == NN_OUTPUT_INSUFFICIENT_SIZE;

	if (fault == HANG_ARGUMENTS && e->num_outputs == 2)
		hang();
	if (is_short && fault == SHORT_PAST && out->length)
		write_at(execution, out, (char *)out->data + out->length);
	if (is_short && fault == SHORT_SHAPE)
		e->shapes_known = false;
	for (uint32_t i = 0; i < e->num_outputs && e->shapes && is_short && fault == SHORT_ALL; i++)
		e->shapes[i].sufficient = false;
	if (is_short && fault == SHORT_STATUS)
		return NN_INVALID_ARGUMENT;
	if ((fault == WRONG_STATUS && status == NN_INVALID_ARGUMENT) ||
	    (fault == LATE_STATUS && (status == NN_MISSED_DEADLINE_TRANSIENT ||
				      status == NN_MISSED_DEADLINE_PERSISTENT)))
		return NN_GENERAL_FAILURE;
	return status;
}

static enum nn_status faulty_execute(const struct nna_engine *engine, void *prepared,
				     struct nna_engine_execution *execution,
				     struct nn_execution *e, struct nn_error *err)
{
	struct prepared *p = prepared;
	const struct nn_subgraph *main = &p->model->subgraphs[0];
	uint64_t size = main->num_outputs ? operand_size(&main->operands[main->outputs[0]]) : 0;
	struct nn_arg in[MAX_ARGS], out[MAX_ARGS];
	struct nn_execution changed = *e;
	static bool has_failed;
	enum nn_status status;
	struct nna_engine_region region;
	float last = 0;
	bool has_last;

	if (e->num_inputs > MAX_ARGS || e->num_outputs > MAX_ARGS || fault == NONE)
		return sample->execute(engine, prepared, execution, e, err);
	if (fault == BUSY) {
		static _Atomic(int) running;

		status = running++ ? nn_fail(err, NN_GENERAL_FAILURE, "another execution runs") :
				     sample->execute(engine, prepared, execution, e, err);
		running--;
		return status;
	}
	if ((fault == HANG_EXECUTE && e->deadline_ns) || (fault == HANG_MANY && num_models >= 4))
		hang();
	if (fault == CRASH_EXECUTE && e->num_inputs && !e->inputs[0].omitted && has_zero(&e->inputs[0]))
		abort();
	if (fault == LEAK)
		leak();
	for (int i = 0; i < 25 && fault == CLIENT_GONE; i++) {
		struct pollfd gone = { .fd = nna_engine_gone_file(execution), .events = POLLIN };

		if (poll(&gone, 1, 1) == 1)
			abort();
	}
	if (fault == LEAK_FILE)
		(void)!dup(STDERR_FILENO);
	if (fault == FAR_DEADLINE && e->deadline_ns)
		return nn_fail(err, NN_MISSED_DEADLINE_TRANSIENT, "the deadline has passed");
	if (fault == AFTER_FAILURE && has_failed) {
		has_failed = false;
		return nn_fail(err, NN_GENERAL_FAILURE, "the device is reset");
	}
	if ((fault == MIXED_MODELS || (fault == MIXED_SCALARS && !has_weights(p->model))) && last_prepared &&
	    is_alike(main, &last_prepared->model->subgraphs[0]))
		p = last_prepared;
	note_executed(prepared);
	change_inputs(p, execution, e, in);
	changed.inputs = in;
	if (fault == DEADLINE)
		changed.deadline_ns = 0;
	if (fault == SHORT_OUTPUT) {
		lengthen(main, e, out);
		changed.outputs = out;
	}
	if (fault == OUTPUT_OFFSET && e->num_outputs &&
	    nna_engine_region_of(execution, e->outputs[0].data, &region)) {
		memcpy(out, e->outputs, e->num_outputs * sizeof(*out));
		out[0].data = region.base;
		changed.outputs = out;
	}
	has_last = fault == LAST_ELEMENT && size >= sizeof(last) && e->outputs[0].length >= size;
	if (has_last)
		memcpy(&last, (char *)e->outputs[0].data + size - sizeof(last), sizeof(last));
	status = fault == RACE ? execute_shared(p, &changed, err) :
				 sample->execute(engine, p, execution, &changed, err);
	if (fault == SHORT_OUTPUT)
		shorten(e, out);
	if (has_last)
		memcpy((char *)e->outputs[0].data + size - sizeof(last), &last, sizeof(last));
	e->shapes_known = changed.shapes_known;
	if (!status)
		spoil_result(p, execution, e);
	else if (fault == LEAK_FAILED)
		leak();
	if (fault == ABSURD_TIME)
		e->device_ns = 3600 * UINT64_C(1000000000);
	has_failed = status;
	return status ? spoil_failure(execution, e, status) : NN_OK;
}

/* ---- bursts ---- */

/*
 * The sample engine's executor, and a table that has, for each index, the first slot with the
 * index.
 */
struct faulty_executor {
	/* first member, because the sample engine's functions take a pointer to `own` */
	struct executor own;
	unsigned int executions;
	bool has_failed;
	struct nna_engine_slot first[64];
};

/* An existing burst. */
static struct faulty_executor *any_executor;

static struct nna_engine_slot *first_of(struct faulty_executor *x, uint32_t slot)
{
	return &x->first[slot % (fault == SLOT_COLLIDES ? 4 : 64)];
}

static enum nn_status faulty_create(const struct nna_engine *engine, void *prepared, void **executor,
				    struct nn_error *err)
{
	struct faulty_executor *x = calloc(1, sizeof(*x));

	if (!x)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	x->own.prepared = prepared;
	*executor = x;
	if (!any_executor)
		any_executor = x;
	if (fault == LEAK_BURST)
		leak();
	return NN_OK;
}

static void faulty_remove(void *executor, uint32_t slot)
{
	struct nna_engine_slot *first = first_of(executor, slot);

	if (fault != STALE_SLOT && first->slot == slot) {
		free(first->base);
		first->base = NULL;
	}
	burst_remove(executor, slot);
}

static enum nn_status faulty_add(void *executor, const struct nna_engine_slot *slot, struct nn_error *err)
{
	struct nna_engine_slot *first = first_of(executor, slot->slot);

	if (!first->base) {
		*first = *slot;
		first->base = malloc(slot->length);
		if (!first->base)
			abort();
		memcpy(first->base, slot->base, slot->length);
	}
	return burst_add(executor, slot, err);
}

/*
 * Applies a fault: an execution reads an input from the slot that first had the index of the
 * input's slot, or from a stale copy of the slot's memory.
 */
static void take_stale(struct nna_engine_execution *execution, struct faulty_executor *x,
		       const uint32_t *slots, struct nn_arg *in, uint32_t count)
{
	struct nna_engine_region region;

	for (uint32_t i = 0; i < count; i++) {
		const struct nna_engine_slot *first = first_of(x, slots[i]);
		const bool is_same = fault == BURST_COPY || fault == BURST_MIXED;
		uint64_t offset;

		if (in[i].omitted || !first->base || (first->slot == slots[i]) != is_same ||
		    !nna_engine_region_of(execution, in[i].data, &region))
			continue;
		offset = (uint64_t)((char *)in[i].data - (char *)region.base);
		if (offset + in[i].length <= first->length)
			in[i].data = (char *)first->base + offset;
	}
}

static enum nn_status faulty_burst(void *executor, const uint32_t *slots,
				   struct nna_engine_execution *execution, struct nn_execution *e,
				   struct nn_error *err)
{
	struct faulty_executor *x = executor;
	struct nn_execution changed = *e;
	struct nn_arg in[MAX_ARGS];
	enum nn_status status;

	if (fault == BURST_ONCE && x->executions++)
		return nn_fail(err, NN_GENERAL_FAILURE, "executed already");
	if (fault == BURST_FAILED && x->has_failed)
		return nn_fail(err, NN_GENERAL_FAILURE, "failed already");
	if (e->num_inputs > MAX_ARGS)
		return faulty_execute(NULL, x->own.prepared, execution, e, err);
	memcpy(in, e->inputs, e->num_inputs * sizeof(*in));
	if (fault == STALE_SLOT || fault == BURST_COPY || fault == SLOT_COLLIDES ||
	    (fault == BURST_MIXED && x != any_executor && any_executor))
		take_stale(execution, fault == BURST_MIXED ? any_executor : x, slots, in, e->num_inputs);
	changed.inputs = in;
	status = faulty_execute(NULL, x->own.prepared, execution, &changed, err);
	e->shapes_known = changed.shapes_known;
	e->device_ns = changed.device_ns;
	x->has_failed |= status != NN_OK;
	return status;
}

static void faulty_destroy(void *executor)
{
	struct faulty_executor *x = executor;

	if (fault == CRASH_DESTROY)
		abort();
	if (any_executor == x)
		any_executor = NULL;
	for (int i = 0; i < 64; i++)
		free(x->first[i].base);
	free(x);
}

static const struct nna_engine_burst faulty_executor = {
	.size = sizeof(faulty_executor), .create = faulty_create, .destroy = faulty_destroy,
	.add = faulty_add, .is_cached = burst_is_cached, .remove = faulty_remove,
	.execute = faulty_burst,
};

/* ---- buffers, which have the layout of clients' memory ---- */

/* Data of a faulty buffer: a copy of what the client last wrote to the buffer. */
struct faulty_buffer {
	void *bytes;
	uint64_t length;
};

static enum nn_status create_buffer(const struct nna_engine *engine,
				    const struct nna_engine_new_buffer *wanted, void **buffer,
				    struct nn_error *err)
{
	if (fault == BUFFER_ROLES && wanted->num_roles > 1)
		abort();
	*buffer = calloc(1, sizeof(struct faulty_buffer));
	return *buffer ? NN_OK : nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
}

static void destroy_buffer(const struct nna_engine *engine, void *buffer)
{
	free(((struct faulty_buffer *)buffer)->bytes);
	free(buffer);
}

static enum nn_status copy_in(const struct nna_engine *engine, void *buffer, void *base,
			      const void *from, uint64_t length, struct nn_error *err)
{
	struct faulty_buffer *b = buffer;

	free(b->bytes);
	b->bytes = malloc(length);
	b->length = length;
	if (b->bytes)
		memcpy(b->bytes, from, length);
	memcpy(base, from, fault == COPY_IN ? length & ~UINT64_C(15) : length);
	return NN_OK;
}

static enum nn_status copy_out(const struct nna_engine *engine, void *buffer, const void *base,
			       void *to, uint64_t length, struct nn_error *err)
{
	const struct faulty_buffer *b = buffer;

	memcpy(to, fault == COPY_OUT && b->bytes && length <= b->length ? b->bytes : base, length);
	return NN_OK;
}

static const struct nna_engine_buffers faulty_buffers = {
	.size = sizeof(faulty_buffers), .create = create_buffer, .destroy = destroy_buffer,
	.copy_in = copy_in, .copy_out = copy_out,
};

/* ---- caching ---- */

static struct nna_engine_part last_saved;

static enum nn_status faulty_save(const struct nna_engine *engine, const void *prepared,
				  struct nna_engine_image *image, struct nn_error *err)
{
	struct prepared *p = (struct prepared *)prepared;
	enum nn_status status = sample->save(engine, prepared, image, err);

	image->data_size[0] = (fault == DAMAGED_DATA || fault == HANG_DAMAGED) && !status ?
			      NNA_ENGINE_DATA_ALIGN : 0;
	if (fault == SAVE_SPOILS && !status && !p->own)
		spoil_copy(p);
	if (fault == LOADS_LAST && !status) {
		free(last_saved.base);
		last_saved = image->model[0];
		last_saved.base = malloc(last_saved.size);
		memcpy(last_saved.base, image->model[0].base, last_saved.size);
	}
	return status;
}

static void faulty_write_data(const struct nna_engine *engine, const struct nna_engine_image *image,
			      uint32_t index, void *data)
{
	memset(data, 0, image->data_size[index]);
}

static enum nn_status faulty_load(const struct nna_engine *engine, const struct nna_engine_part *part,
				  const struct nna_engine_part *data,
				  const struct nna_engine_preparation *how, void **out,
				  struct nn_error *err)
{
	struct nna_engine_part rest = *data, saved = *part;
	enum nn_status status;
	uint64_t offset = 0;

	if (fault == DAMAGED_DATA && data->size >= sizeof(offset)) {
		memcpy(&offset, data->base, sizeof(offset));
		(void)*((const volatile char *)part->base + offset);
		rest.size = 0;
	}
	if (fault == HANG_DAMAGED && data->size >= sizeof(offset)) {
		memcpy(&offset, data->base, sizeof(offset));
		while (offset--)
			__asm__ volatile("");
		rest.size = 0;
	}
	if (fault == LOADS_LAST && last_saved.base) {
		free(part->base);
		saved = (struct nna_engine_part){ malloc(last_saved.size), last_saved.size };
		memcpy(saved.base, last_saved.base, saved.size);
	}
	status = sample->load(engine, &saved, &rest, how, out, err);
	if (!status && fault == LOADED_WRONG)
		spoil(((struct prepared *)*out)->own);
	return status;
}

/* ---- the engine ---- */

static int run_faulty(const struct nna_engine *engine, int argc, char **argv)
{
	const char *name = getenv("NNACCEL_FAULT");
	struct nna_engine faulty = *engine;

	while (name && fault < NUM_FAULTS && strcmp(name, names[fault]))
		fault++;
	if (fault == NUM_FAULTS) {
		fprintf(stderr, "no fault is called %s\n", name);
		return 2;
	}
	sample = engine;
	faulty.describe = faulty_describe;
	faulty.supported = faulty_supported;
	faulty.prepare = faulty_prepare;
	faulty.release = faulty_release;
	faulty.execute = faulty_execute;
	faulty.burst = &faulty_executor;
	faulty.save = faulty_save;
	faulty.write_data = faulty_write_data;
	faulty.load = faulty_load;
	if (fault == COPY_IN || fault == COPY_OUT || fault == BUFFER_ROLES)
		faulty.buffers = &faulty_buffers;
	if (fault == CLIENT_GONE || fault == CLIENT_MODELS)
		faulty.clients = NNA_ENGINE_CLIENTS_THREADS;
	if (fault >= WRAPS)
		faulty_operations(&faulty, fault);
	faulty.name = "faulty-engine";
	return nna_engine_main(&faulty, argc, argv);
}

int main(int argc, char **argv)
{
	return sample_main(argc, argv);
}
