/* SPDX-License-Identifier: MIT */
/*
 * Partitions: groups the operations of each device into steps, makes a graph for each step, and
 * lets the devices prepare the graphs.
 */
#include "base/round.h"
#include "runtime/partition.h"

#include <string.h>

#include "runtime/assign.h"
#include "runtime/cache.h"
#include "runtime/log.h"
#include "runtime/operand.h"
#include "runtime/trace.h"

/*
 * In memory, temporaries that one step writes and another step reads begin at multiples of a cache
 * line.
 */
#define TEMPORARY_ALIGN 64

#define NO_STEP UINT32_MAX

struct dividing {
	struct partition *partition;
	const struct nn_subgraph *main;
	uint32_t *chosen;	/* device of each operation */
	uint32_t *step_of;	/* step of each operation, or NO_STEP */
	uint32_t *written_by;	/* step that writes each operand, or NO_STEP */
	bool *crosses;		/* true if one step writes the operand and another reads it */
	uint32_t *local;	/* for each operand of the whole graph: 1 + its index in the step */
};

static bool is_ready(const struct dividing *d, uint32_t operation)
{
	const struct nn_operation *o = &d->main->operations[operation];
	uint32_t i;

	if (d->step_of[operation] != NO_STEP)
		return false;
	for (i = 0; i < o->num_inputs; i++)
		if (operand_is_written(&d->main->operands[o->inputs[i]]) &&
		    d->written_by[o->inputs[i]] == NO_STEP)
			return false;
	return true;
}

/* Returns the highest device index among the operations whose inputs are all written. */
static uint32_t next_device(const struct dividing *d)
{
	uint32_t device = 0, i;

	for (i = 0; i < d->main->num_operations; i++)
		if (d->chosen[i] > device && is_ready(d, i))
			device = d->chosen[i];
	return device;
}

/*
 * Adds to a step all operations of `device` that need only outputs of earlier steps or of the step
 * itself. One pass over the operations is enough, because operations are in an executable order.
 * Returns the number of added operations.
 */
static uint32_t fill_step(struct dividing *d, uint32_t step, uint32_t device)
{
	uint32_t count = 0, i, k;

	for (i = 0; i < d->main->num_operations; i++) {
		const struct nn_operation *o = &d->main->operations[i];

		if (d->chosen[i] != device || !is_ready(d, i))
			continue;
		d->step_of[i] = step;
		for (k = 0; k < o->num_outputs; k++)
			d->written_by[o->outputs[k]] = step;
		count++;
	}
	return count;
}

static bool start_dividing(struct dividing *d, struct arena *arena)
{
	uint32_t i;

	d->step_of = arena_alloc(arena, d->main->num_operations, sizeof(uint32_t));
	d->written_by = arena_alloc(arena, d->main->num_operands, sizeof(uint32_t));
	d->crosses = arena_alloc(arena, d->main->num_operands, sizeof(bool));
	d->local = arena_alloc(arena, d->main->num_operands, sizeof(uint32_t));
	if (!d->step_of || !d->written_by || !d->crosses || !d->local)
		return false;
	for (i = 0; i < d->main->num_operations; i++)
		d->step_of[i] = NO_STEP;
	for (i = 0; i < d->main->num_operands; i++)
		d->written_by[i] = NO_STEP;
	return true;
}

/*
 * Assigns offsets in temporary memory to the operands that one step writes and another step reads.
 * The sizes of operands in temporary memory must be known before an execution.
 */
static int place_crossing(struct dividing *d, struct nn_error *err)
{
	struct partition *p = d->partition;
	uint32_t i, k;

	for (i = 0; i < d->main->num_operations; i++) {
		const struct nn_operation *o = &d->main->operations[i];

		for (k = 0; k < o->num_inputs; k++) {
			uint32_t by = d->written_by[o->inputs[k]];

			d->crosses[o->inputs[k]] |= by != NO_STEP && by != d->step_of[i];
		}
	}
	for (i = 0; i < d->main->num_operands; i++) {
		const struct nn_operand *operand = &d->main->operands[i];

		if (!d->crosses[i])
			continue;
		if (operand_is_dynamic(operand))
			return rt_fail(err, ANEURALNETWORKS_OP_FAILED,
				       "operand %u (%s) goes from one device to another, but its "
				       "size is not known", i, nn_type_name(operand->type));
		if (operand->lifetime != NN_TEMPORARY)
			continue;
		p->places[i] = (struct place){ PLACE_TEMPORARY, 0, p->temporaries_size };
		p->temporaries_size += round_up(operand_size(operand), TEMPORARY_ALIGN);
	}
	return ANEURALNETWORKS_NO_ERROR;
}

static bool place_arguments(struct partition *p)
{
	const struct nn_subgraph *main = &p->graph->model.subgraphs[0];
	uint32_t i;

	p->places = arena_alloc(&p->arena, main->num_operands, sizeof(p->places[0]));
	if (!p->places)
		return false;
	for (i = 0; i < main->num_inputs; i++)
		p->places[main->inputs[i]] = (struct place){ PLACE_INPUT, i, 0 };
	for (i = 0; i < main->num_outputs; i++)
		p->places[main->outputs[i]] = (struct place){ PLACE_OUTPUT, i, 0 };
	return true;
}

struct step_building {
	struct dividing *d;
	uint32_t step;
	struct nn_subgraph main;
	struct nn_operand *operands;
	struct nn_operation *operations;
	uint32_t *inputs, *outputs;		/* inputs and outputs added to the step so far */
	/* indices of the step's inputs, outputs and operations in the whole graph */
	uint32_t *whole_inputs, *whole_outputs;
	uint32_t *whole_operations;
};

/*
 * Converts an operand's index in the whole graph to its index in the step, and adds the operand to
 * the step if needed.
 */
static uint32_t local_operand(struct step_building *b, uint32_t whole)
{
	struct dividing *d = b->d;
	const struct nn_operand *from = &d->main->operands[whole];
	uint32_t at = b->main.num_operands;
	struct nn_operand *operand;

	if (d->local[whole])
		return d->local[whole] - 1;
	d->local[whole] = ++b->main.num_operands;
	operand = &b->operands[at];
	*operand = *from;
	operand->consumers = 0;
	if (from->lifetime == NN_SUBGRAPH_INPUT ||
	    (operand_is_written(from) && d->written_by[whole] != b->step)) {
		operand->lifetime = NN_SUBGRAPH_INPUT;
		b->whole_inputs[b->main.num_inputs] = whole;
		b->inputs[b->main.num_inputs++] = at;
	} else if (operand_is_written(from) &&
		   (d->crosses[whole] || from->lifetime == NN_SUBGRAPH_OUTPUT)) {
		operand->lifetime = NN_SUBGRAPH_OUTPUT;
		b->whole_outputs[b->main.num_outputs] = whole;
		b->outputs[b->main.num_outputs++] = at;
	}
	return at;
}

static bool add_operation(struct step_building *b, uint32_t index)
{
	const struct nn_operation *from = &b->d->main->operations[index];
	struct arena *arena = &b->d->partition->arena;
	uint32_t *inputs = arena_alloc(arena, from->num_inputs, sizeof(uint32_t));
	uint32_t *outputs = arena_alloc(arena, from->num_outputs, sizeof(uint32_t));
	uint32_t i;

	if (!inputs || !outputs)
		return false;
	for (i = 0; i < from->num_inputs; i++) {
		inputs[i] = local_operand(b, from->inputs[i]);
		b->operands[inputs[i]].consumers++;
	}
	for (i = 0; i < from->num_outputs; i++)
		outputs[i] = local_operand(b, from->outputs[i]);
	b->whole_operations[b->main.num_operations] = index;
	b->operations[b->main.num_operations++] = (struct nn_operation){
		from->type, from->num_inputs, from->num_outputs, inputs, outputs };
	return true;
}

static bool start_step(struct step_building *b)
{
	const struct nn_subgraph *whole = b->d->main;
	struct arena *arena = &b->d->partition->arena;

	memset(b->d->local, 0, whole->num_operands * sizeof(b->d->local[0]));
	b->operands = arena_alloc(arena, whole->num_operands, sizeof(b->operands[0]));
	b->operations = arena_alloc(arena, whole->num_operations, sizeof(b->operations[0]));
	b->inputs = arena_alloc(arena, whole->num_operands, sizeof(uint32_t));
	b->outputs = arena_alloc(arena, whole->num_operands, sizeof(uint32_t));
	b->whole_inputs = arena_alloc(arena, whole->num_operands, sizeof(uint32_t));
	b->whole_outputs = arena_alloc(arena, whole->num_operands, sizeof(uint32_t));
	b->whole_operations = arena_alloc(arena, whole->num_operations, sizeof(uint32_t));
	return b->operands && b->operations && b->inputs && b->outputs && b->whole_inputs &&
	       b->whole_outputs && b->whole_operations;
}

/*
 * Builds the graph of a step. The step's graph has its own main subgraph, and shares referenced
 * subgraphs, constant values and pools with the whole graph.
 */
static bool build_step(struct dividing *d, uint32_t index)
{
	struct partition *p = d->partition;
	struct step *step = &p->steps[index];
	struct step_building b = { .d = d, .step = index };
	struct nn_subgraph *subgraphs;
	uint32_t i;

	subgraphs = arena_copy(&p->arena, p->graph->model.subgraphs,
			       p->graph->model.num_subgraphs, sizeof(subgraphs[0]));
	if (!subgraphs || !start_step(&b))
		return false;
	for (i = 0; i < d->main->num_operations; i++)
		if (d->step_of[i] == index && !add_operation(&b, i))
			return false;
	b.main.operands = b.operands;
	b.main.operations = b.operations;
	b.main.inputs = b.inputs;
	b.main.outputs = b.outputs;
	subgraphs[0] = b.main;
	step->graph = *p->graph;
	step->graph.model.subgraphs = subgraphs;
	step->inputs = b.whole_inputs;
	step->outputs = b.whole_outputs;
	step->operations = b.whole_operations;
	return true;
}

/* Makes a partition of one step: the whole, unchanged graph on one device. */
static int divide_simply(struct partition *p, const ANeuralNetworksDevice *device,
			 struct nn_error *err)
{
	p->steps = arena_alloc(&p->arena, 1, sizeof(p->steps[0]));
	if (!p->steps)
		return rt_out_of_memory(err);
	p->num_steps = 1;
	p->steps[0].device = device;
	p->steps[0].graph = *p->graph;
	p->steps[0].inputs = p->graph->model.subgraphs[0].inputs;
	p->steps[0].outputs = p->graph->model.subgraphs[0].outputs;
	return ANEURALNETWORKS_NO_ERROR;
}

static int divide(struct dividing *d, const ANeuralNetworksDevice *const *devices,
		  struct arena *scratch, struct nn_error *err)
{
	struct partition *p = d->partition;
	uint32_t left = d->main->num_operations;
	uint32_t i;
	int result;

	p->steps = arena_alloc(&p->arena, left, sizeof(p->steps[0]));
	if (!p->steps || !start_dividing(d, scratch))
		return rt_out_of_memory(err);
	while (left) {
		uint32_t device = next_device(d);

		p->steps[p->num_steps].device = devices[device];
		left -= fill_step(d, p->num_steps++, device);
	}
	result = place_crossing(d, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	for (i = 0; i < p->num_steps; i++)
		if (!build_step(d, i))
			return rt_out_of_memory(err);
	return ANEURALNETWORKS_NO_ERROR;
}

static bool is_one_device(const struct dividing *d)
{
	uint32_t i;

	for (i = 1; i < d->main->num_operations; i++)
		if (d->chosen[i] != d->chosen[0])
			return false;
	return true;
}

static int make_steps(struct partition *p, const ANeuralNetworksDevice *const *devices,
		      uint32_t num_devices, struct nn_error *err)
{
	struct arena scratch = { NULL };
	struct dividing d = { .partition = p, .main = &p->graph->model.subgraphs[0] };
	int result;

	d.chosen = arena_alloc(&scratch, d.main->num_operations, sizeof(uint32_t));
	if (!d.chosen || !place_arguments(p))
		result = rt_out_of_memory(err);
	else
		result = assign_operations(p->graph, devices, num_devices,
					   p->options.choice, d.chosen, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = is_one_device(&d) ? divide_simply(p, devices[d.chosen[0]], err) :
					     divide(&d, devices, &scratch, err);
	arena_free(&scratch);
	return result;
}

static int prepare_steps(struct partition *p, const struct cache_options *cache,
			 struct nn_error *err)
{
	const uint32_t model = trace_is_on() ? trace_new_model() : 0;
	int result = ANEURALNETWORKS_NO_ERROR;
	uint32_t i;

	for (i = 0; i < p->num_steps && result == ANEURALNETWORKS_NO_ERROR; i++) {
		struct step *step = &p->steps[i];

		nna_log(NNA_LOG_INFO, "step %u of %u: %u operations on %s", i, p->num_steps,
		       step->graph.model.subgraphs[0].num_operations, step->device->name);
		if (trace_is_on()) {
			step->trace = trace_new_step(step, model, i, p->num_steps);
			trace_begin("prepare", "\"part\":%u,\"operations\":%u,\"device\":\"%s\"", i + 1,
				    step->graph.model.subgraphs[0].num_operations, step->device->name);
		}
		result = cache_prepare(cache, step, &p->options, &step->prepared, err);
		if (trace_is_on())
			trace_end("prepare", result);
	}
	return result;
}

int partition_create(const struct graph *graph, const ANeuralNetworksDevice *const *devices,
		     uint32_t num_devices, const struct prepare_options *options,
		     const struct cache_options *cache,
		     struct partition *partition, struct nn_error *err)
{
	int result;

	*partition = (struct partition){ .graph = graph, .options = *options };
	pthread_mutex_init(&partition->lock, NULL);
	result = make_steps(partition, devices, num_devices, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = prepare_steps(partition, cache, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		partition_free(partition);
	return result;
}

static void free_prepared(struct prepared *prepared)
{
	if (prepared)
		prepared->ops->free(prepared);
}

void partition_free(struct partition *partition)
{
	uint32_t i;

	for (i = 0; i < partition->num_steps; i++) {
		free_prepared(partition->steps[i].prepared);
		free_prepared(partition->steps[i].fallback);
	}
	free_prepared(partition->fallback);
	pthread_mutex_destroy(&partition->lock);
	arena_free(&partition->arena);
}

struct accel_handle *partition_sharer(const struct partition *partition)
{
	for (uint32_t i = 0; i < partition->num_steps; i++) {
		const ANeuralNetworksDevice *device = partition->steps[i].device;

		if (!device_is_cpu(device) &&
		    device_info(device)->memory == NN_DEVICE_MEMORY_DMA_BUF)
			return device->handle;
	}
	return NULL;
}

bool step_init_request(const struct step *step, struct arena *arena, struct request *request)
{
	const struct nn_subgraph *main = &step->graph.model.subgraphs[0];

	*request = (struct request){
		.num_inputs = main->num_inputs,
		.num_outputs = main->num_outputs,
		.inputs = arena_alloc(arena, main->num_inputs, sizeof(request->inputs[0])),
		.outputs = arena_alloc(arena, main->num_outputs, sizeof(request->outputs[0])),
		.shapes = arena_alloc(arena, main->num_outputs, sizeof(request->shapes[0])),
	};
	return request->inputs && request->outputs && request->shapes;
}

int partition_get_fallback(struct partition *partition, struct step *step,
			   struct prepared **prepared, struct nn_error *err)
{
	const struct graph *graph = step ? &step->graph : partition->graph;
	struct prepared **kept = step ? &step->fallback : &partition->fallback;
	const ANeuralNetworksDevice *cpu = device_cpu();
	int result = ANEURALNETWORKS_NO_ERROR;

	/* The options have no deadline, because a compilation with a timeout names its devices. */
	pthread_mutex_lock(&partition->lock);
	if (!*kept)
		result = cpu->ops->prepare(cpu, graph, &partition->options, NULL, kept, err);
	*prepared = *kept;
	pthread_mutex_unlock(&partition->lock);
	return result;
}
