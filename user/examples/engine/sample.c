// SPDX-License-Identifier: MIT
/*
 * A sample engine that computes ADD and RELU of float32 tensors on the CPU. The sample engine has
 * an extension, executes bursts by itself, and stores data in the compilation cache.
 * Documentation/writing-an-engine.rst explains the sample step by step. The sample is built against
 * installed headers and libnnaccel-engine.so only.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nnaccel/engine.h>

/* ---- step 1: the device ---- */

#define SAMPLE "com.example.sample"
#define SQUARE 1

static void describe(const struct nna_engine *engine, struct nn_device_info *info)
{
	const struct nn_performance fast = { 0.8f, 0.8f };

	strcpy(info->version, "sample-1");
	info->type = NN_DEVICE_OTHER;
	info->feature_level = 4;
	info->relaxed_tensor = info->relaxed_scalar = fast;
	info->operand[NN_TENSOR_FLOAT32] = fast;
	info->operations[NN_OP_ADD / 8] |= 1 << (NN_OP_ADD % 8);
	info->operations[NN_OP_RELU / 8] |= 1 << (NN_OP_RELU % 8);
}

/* ---- step 2: which operations of a model are supported ---- */

static bool same_shape(const struct nn_operand *a, const struct nn_operand *b)
{
	return a->type == b->type && a->rank == b->rank && !memcmp(a->dims, b->dims, sizeof(a->dims));
}

/*
 * Returns ADD's fused activation: 0 none, 1 RELU, 2 RELU1, 3 RELU6; -1 if the activation's value is
 * not known.
 */
static int activation_of(const struct nn_model *model, const struct nn_operand *o)
{
	const void *value = o->type == NN_INT32 ? nn_operand_value(model, o) : NULL;
	int32_t activation = -1;

	if (value)
		memcpy(&activation, value, sizeof(activation));
	return activation > 3 ? -1 : activation;
}

static bool is_supported(const struct nn_model *model, const struct nn_operation *op)
{
	if (!op->num_inputs || !op->num_outputs)
		return false;

	const struct nn_operand *operands = model->subgraphs[0].operands;
	const struct nn_operand *in = &operands[op->inputs[0]], *out = &operands[op->outputs[0]];

	if (in->type != NN_TENSOR_FLOAT32 || !nn_operand_is_specified(in) || !same_shape(in, out))
		return false;
	if (op->type == NN_OP_ADD)
		return op->num_inputs == 3 && same_shape(in, &operands[op->inputs[1]]) &&
		       activation_of(model, &operands[op->inputs[2]]) >= 0;
	return (op->type == NN_OP_RELU || op->type == nna_engine_code(SAMPLE, SQUARE)) &&
	       op->num_inputs == 1;
}

static enum nn_status supported(const struct nna_engine *engine, const struct nn_model *model,
				bool *operations, struct nn_error *err)
{
	const struct nn_subgraph *main = &model->subgraphs[0];

	for (uint32_t i = 0; i < main->num_operations; i++)
		operations[i] = is_supported(model, &main->operations[i]);
	return NN_OK;
}

/* ---- step 3: preparing a model ---- */

/* A prepared model. The model's temporaries need `room` bytes; the cache also stores `room`. */
struct prepared {
	const struct nn_model *model;
	/* the model, if it was loaded from the cache; otherwise NULL */
	struct nn_model *own;
	uint64_t room;
};

static uint32_t size_of(const struct nn_operand *o)
{
	uint32_t size = 0;

	nn_operand_size(o, &size);
	return (size + 15) / 16 * 16;
}

static enum nn_status make(const struct nn_model *model, uint64_t room, void **out,
			   struct nn_error *err)
{
	const struct nn_subgraph *main = &model->subgraphs[0];
	struct prepared *p;

	for (uint32_t i = 0; i < main->num_operations; i++)
		if (!is_supported(model, &main->operations[i]))
			return nn_fail(err, NN_INVALID_ARGUMENT, "operation %u: not supported", i);
	p = calloc(1, sizeof(*p));
	if (!p)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	*p = (struct prepared){ .model = model, .room = room };
	*out = p;
	return NN_OK;
}

static enum nn_status prepare(const struct nna_engine *engine, const struct nn_model *model,
			      const struct nna_engine_preparation *how, void **out,
			      struct nn_error *err)
{
	const struct nn_subgraph *main = &model->subgraphs[0];
	uint64_t room = 0;

	for (uint32_t i = 0; i < main->num_operands; i++)
		if (main->operands[i].lifetime == NN_TEMPORARY)
			room += size_of(&main->operands[i]);
	return make(model, room, out, err);
}

static void release(const struct nna_engine *engine, void *prepared)
{
	struct prepared *p = prepared;

	nn_model_free(p->own);
	free(p);
}

/* ---- step 4: executing it ---- */

/* The value of an operand during an execution. */
struct value {
	const struct nn_operand *operand;
	char *data;
};

static float get(const struct value *v, uint32_t i)
{
	float f;

	memcpy(&f, v->data + i * sizeof(f), sizeof(f));
	return f;
}

static float activate(float f, int activation)
{
	static const float low[] = { 0, 0, -1, 0 }, high[] = { 0, 0, 1, 6 };

	if (activation > 0 && f < low[activation])
		return low[activation];
	return activation > 1 && f > high[activation] ? high[activation] : f;
}

static void compute(const struct nn_model *model, const struct nn_operation *op,
		    const struct value *values)
{
	const struct value *a = &values[op->inputs[0]], *out = &values[op->outputs[0]];
	const struct value *b = op->type == NN_OP_ADD ? &values[op->inputs[1]] : NULL;
	int activation = b ? activation_of(model, values[op->inputs[2]].operand) : 0;
	uint32_t size = 0;

	nn_operand_size(out->operand, &size);
	for (uint32_t i = 0; i < size / sizeof(float); i++) {
		float f = get(a, i);

		if (b)
			f = activate(f + get(b, i), activation);
		else
			f = op->type == NN_OP_RELU ? activate(f, 1) : f * f;
		memcpy(out->data + i * sizeof(f), &f, sizeof(f));
	}
}

/*
 * Checks the arguments, uses the arguments' memory for the operands' values, and reports the
 * outputs' shapes.
 */
static enum nn_status take_args(const struct nn_subgraph *main, struct nn_execution *e,
				struct value *values, struct nn_error *err)
{
	enum nn_status status = NN_OK;

	if (e->num_inputs != main->num_inputs || e->num_outputs != main->num_outputs)
		return nn_fail(err, NN_INVALID_ARGUMENT, "wrong number of arguments");
	for (uint32_t i = 0; i < e->num_inputs + e->num_outputs; i++) {
		bool is_output = i >= e->num_inputs;
		uint32_t n = is_output ? i - e->num_inputs : i, size = 0;
		uint32_t k = is_output ? main->outputs[n] : main->inputs[n];
		const struct nn_arg *arg = is_output ? &e->outputs[n] : &e->inputs[n];
		struct nn_operand known = main->operands[k];

		nn_operand_size(&known, &size);
		if (arg->omitted || !nn_operand_merge_dims(&known, arg->rank, arg->dims) ||
		    (!is_output && arg->length != size))
			return nn_fail(err, NN_INVALID_ARGUMENT, "argument %u does not fit", i);
		values[k].data = arg->data;
		if (!is_output || !e->shapes)
			continue;
		e->shapes[n] = (struct nn_output_shape){ .rank = known.rank };
		memcpy(e->shapes[n].dims, known.dims, sizeof(known.dims));
		e->shapes[n].sufficient = arg->length >= size;
		if (arg->length < size)
			status = nn_fail(err, NN_OUTPUT_INSUFFICIENT_SIZE, "output %u is too small",
					 n);
	}
	e->shapes_known = e->shapes;
	return status;
}

static bool is_late(const struct nn_execution *e)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return e->deadline_ns &&
	       (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec >= e->deadline_ns;
}

static enum nn_status run(const struct prepared *p, struct nn_execution *e, struct value *values,
			  char *room, struct nn_error *err)
{
	const struct nn_subgraph *main = &p->model->subgraphs[0];
	enum nn_status status;

	for (uint32_t i = 0; i < main->num_operands; i++) {
		const struct nn_operand *o = &main->operands[i];

		values[i] = (struct value){ o, (char *)nn_operand_value(p->model, o) };
		if (o->lifetime == NN_TEMPORARY) {
			values[i].data = room;
			room += size_of(o);
		}
	}
	status = take_args(main, e, values, err);
	for (uint32_t i = 0; i < main->num_operations && !status; i++) {
		if (is_late(e))
			return nn_fail(err, i ? NN_MISSED_DEADLINE_TRANSIENT :
				       NN_MISSED_DEADLINE_PERSISTENT, "the deadline has passed");
		compute(p->model, &main->operations[i], values);
	}
	return status;
}

static enum nn_status execute(const struct nna_engine *engine, void *prepared,
			      struct nna_engine_execution *execution,
			      struct nn_execution *arguments, struct nn_error *err)
{
	const struct prepared *p = prepared;
	struct value *values = calloc(p->model->subgraphs[0].num_operands + 1, sizeof(*values));
	char *room = calloc(1, p->room + 1);
	enum nn_status status;

	if (values && room)
		status = run(p, arguments, values, room, err);
	else
		status = nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	free(values);
	free(room);
	return status;
}

/* ---- step 5: caching: the model part is the number and the model, a data part there is not ---- */

static enum nn_status save(const struct nna_engine *engine, const void *prepared,
			   struct nna_engine_image *image, struct nn_error *err)
{
	const struct prepared *p = prepared;
	void *block = NULL;
	size_t size = 0;
	enum nn_status status = nna_engine_pack(p->model, &block, &size, err);

	if (!status && !(image->model[0].base = malloc(sizeof(p->room) + size)))
		status = nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	if (!status) {
		memcpy(image->model[0].base, &p->room, sizeof(p->room));
		memcpy((char *)image->model[0].base + sizeof(p->room), block, size);
		image->model[0].size = sizeof(p->room) + size;
	}
	free(block);
	return status;
}

static void end_save(const struct nna_engine *engine, struct nna_engine_image *image)
{
	free(image->model[0].base);
}

static enum nn_status load(const struct nna_engine *engine, const struct nna_engine_part *part,
			   const struct nna_engine_part *data,
			   const struct nna_engine_preparation *how, void **out,
			   struct nn_error *err)
{
	struct nn_model *model = NULL;
	enum nn_status status = NN_GENERAL_FAILURE;
	uint64_t room = 0;

	if (part->size > sizeof(room) && !data->size) {
		memcpy(&room, part->base, sizeof(room));
		memmove(part->base, (char *)part->base + sizeof(room), part->size - sizeof(room));
		status = nna_engine_unpack(part->base, part->size - sizeof(room), &model, err);
	}
	free(part->base);
	/*
	 * The stored `room` needs no check, because the library passes only data that this engine
	 * has saved.
	 */
	if (!status)
		status = make(model, room, out, err);
	if (!status)
		((struct prepared *)*out)->own = model;
	else
		nn_model_free(model);
	return status;
}

static const struct nn_subgraph *signature(const struct nna_engine *engine, const void *prepared)
{
	return &((const struct prepared *)prepared)->model->subgraphs[0];
}

/* ---- step 6: an executor of bursts, which knows what memory there is ---- */

/*
 * An executor of bursts, which only records the slots. An executor for a real device would map the
 * slots' memory for the device.
 */
struct executor {
	void *prepared;
	uint64_t slots;			/* slots that are now recorded, one bit each */
};

#define BIT(slot) (UINT64_C(1) << (slot) % 64)

static enum nn_status burst_create(const struct nna_engine *engine, void *prepared,
				   void **executor, struct nn_error *err)
{
	struct executor *x = calloc(1, sizeof(*x));

	if (!x)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	x->prepared = prepared;
	*executor = x;
	return NN_OK;
}

static enum nn_status burst_add(void *executor, const struct nna_engine_slot *slot,
				struct nn_error *err)
{
	((struct executor *)executor)->slots |= BIT(slot->slot);
	return NN_OK;
}

static bool burst_is_cached(void *executor, uint32_t slot)
{
	return ((struct executor *)executor)->slots & BIT(slot);
}

static void burst_remove(void *executor, uint32_t slot)
{
	((struct executor *)executor)->slots &= ~BIT(slot);
}

static enum nn_status burst_execute(void *executor, const uint32_t *slots,
				    struct nna_engine_execution *execution,
				    struct nn_execution *arguments, struct nn_error *err)
{
	return execute(NULL, ((struct executor *)executor)->prepared, execution, arguments, err);
}

static const struct nna_engine_burst burst = {
	.size = sizeof(burst), .create = burst_create, .destroy = free, .add = burst_add,
	.is_cached = burst_is_cached, .remove = burst_remove, .execute = burst_execute,
};

/* ---- step 7: an extension of its own, and the engine ---- */

static const struct nn_device_extension *extensions(const struct nna_engine *engine,
						    uint32_t *count)
{
	static const struct nn_device_extension_item square = { .code = SQUARE, .name = "SQUARE" };
	static const struct nn_device_extension list[] = {
		{ .name = SAMPLE, .version = 1, .num_operations = 1, .operations = &square },
	};

	*count = 1;
	return list;
}

int main(int argc, char **argv)
{
	const struct nna_engine engine = {
		.size = sizeof(engine), .name = "sample-engine",
		.describe = describe, .extensions = extensions,
		.supported = supported, .prepare = prepare, .release = release,
		.execute = execute, .burst = &burst,
		.save = save, .end_save = end_save, .load = load, .signature = signature,
	};

	return nna_engine_main(&engine, argc, argv);
}
