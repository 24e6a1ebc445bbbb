/* SPDX-License-Identifier: MIT */
/*
 * Chooses a device for each operation: the device with the lowest cost for the operation. The cost
 * is the device's performance figure for the type of the operation's first input.
 */
#include "runtime/assign.h"

#include <float.h>
#include <math.h>

#include "ops/op.h"
#include "runtime/log.h"
#include "runtime/operand.h"

/* The costs of executing subgraphs on one device. */
struct costs {
	const struct nn_model *model;
	const struct nn_device_info *info;
	uint32_t preference;
	double *subgraphs;	/* cost of each subgraph; NAN before it is computed */
};

static double figure(const struct costs *c, const struct nn_performance *performance)
{
	return c->preference == ANEURALNETWORKS_PREFER_LOW_POWER ? performance->power_usage :
								    performance->exec_time;
}

static double operand_cost(const struct costs *c, int32_t type)
{
	if ((uint32_t)type >= NN_TYPE_COUNT)
		return FLT_MAX;
	if (c->model->relaxed && type == NN_FLOAT32)
		return figure(c, &c->info->relaxed_scalar);
	if (c->model->relaxed && type == NN_TENSOR_FLOAT32)
		return figure(c, &c->info->relaxed_tensor);
	return figure(c, &c->info->operand[type]);
}

static double operation_cost(struct costs *c, const struct nn_subgraph *subgraph,
			     const struct nn_operation *operation);

/* The cost of a subgraph is computed once, even if several operations refer to the subgraph. */
static double subgraph_cost(struct costs *c, const struct nn_subgraph *from, uint32_t operand)
{
	uint32_t at = from->operands[operand].location.offset + 1;
	const struct nn_subgraph *subgraph = &c->model->subgraphs[at];
	double sum = 0;
	uint32_t i;

	if (!isnan(c->subgraphs[at]))
		return c->subgraphs[at];
	for (i = 0; i < subgraph->num_operations; i++)
		sum += operation_cost(c, subgraph, &subgraph->operations[i]);
	c->subgraphs[at] = sum;
	return sum;
}

static double operation_cost(struct costs *c, const struct nn_subgraph *subgraph,
			     const struct nn_operation *operation)
{
	if (operation->type == NN_OP_IF)
		return figure(c, &c->info->if_performance) +
		       0.5 * (subgraph_cost(c, subgraph, operation->inputs[1]) +
			      subgraph_cost(c, subgraph, operation->inputs[2]));
	if (operation->type == NN_OP_WHILE)
		return figure(c, &c->info->while_performance) +
		       subgraph_cost(c, subgraph, operation->inputs[0]) +
		       subgraph_cost(c, subgraph, operation->inputs[1]);
	if (!operation->num_inputs)
		return FLT_MAX;
	return operand_cost(c, subgraph->operands[operation->inputs[0]].type);
}

static bool has_unknown_size(const struct nn_subgraph *subgraph,
			     const struct nn_operation *operation)
{
	uint32_t i;

	for (i = 0; i < operation->num_inputs; i++)
		if (operand_is_dynamic(&subgraph->operands[operation->inputs[i]]))
			return true;
	for (i = 0; i < operation->num_outputs; i++)
		if (operand_is_dynamic(&subgraph->operands[operation->outputs[i]]))
			return true;
	return false;
}

/*
 * Returns whether an operation is IF or WHILE with operands of unknown size. If the CPU is among
 * the devices, the CPU executes all IF and WHILE operations with operands of unknown size.
 */
static bool is_for_cpu(const struct nn_subgraph *subgraph, const struct nn_operation *operation)
{
	return (operation->type == NN_OP_IF || operation->type == NN_OP_WHILE) &&
	       has_unknown_size(subgraph, operation);
}

/* State of the search for an operation's device. */
struct choice {
	double cost;		/* lowest cost so far; INFINITY if no device was found yet */
	bool settled;		/* true: the CPU was chosen, regardless of costs */
	bool taken;		/* true: a device other than the CPU can execute the operation */
};

static void offer(struct costs *c, const ANeuralNetworksDevice *device, uint32_t index,
		  const bool *supported, struct choice *choices, uint32_t *chosen)
{
	const struct nn_subgraph *main = &c->model->subgraphs[0];
	bool is_cpu = device_is_cpu(device);
	uint32_t i;

	for (i = 0; i < main->num_operations; i++) {
		struct choice *choice = &choices[i];
		double cost;

		choice->taken |= supported[i] && !is_cpu;
		if (!supported[i] || choice->settled)
			continue;
		cost = operation_cost(c, main, &main->operations[i]);
		choice->settled = is_cpu && is_for_cpu(main, &main->operations[i]);
		/* If costs are equal, the CPU is chosen, or else the first device. */
		if (choice->settled || cost < choice->cost ||
		    (is_cpu && cost <= choice->cost)) {
			choice->cost = cost;
			chosen[i] = index;
		}
	}
}

static int offer_all(const struct graph *graph, const ANeuralNetworksDevice *const *devices,
		     uint32_t num_devices, uint32_t preference, struct choice *choices,
		     bool *supported, double *subgraphs, uint32_t *chosen, struct nn_error *err)
{
	int failure = ANEURALNETWORKS_BAD_DATA;
	uint32_t i, k;

	for (i = 0; i < num_devices; i++) {
		struct costs costs = { &graph->model, device_info(devices[i]), preference, subgraphs };
		int result = device_get_supported(devices[i], graph, supported, err);

		/* A device that fails to answer is treated like a device that supports nothing. */
		if (result != ANEURALNETWORKS_NO_ERROR) {
			failure = result;
			continue;
		}
		for (k = 0; k < graph->model.num_subgraphs; k++)
			subgraphs[k] = NAN;
		offer(&costs, devices[i], i, supported, choices, chosen);
	}
	return failure;
}

/* Logs the operations that the CPU executes because every other device rejects them. */
static void say_refused(const struct nn_subgraph *main, const ANeuralNetworksDevice *const *devices,
			uint32_t num_devices, const struct choice *choices)
{
	uint32_t refused = 0, first = 0;

	for (uint32_t i = main->num_operations; i--;)
		if (!choices[i].taken && choices[i].cost < (double)INFINITY) {
			refused++;
			first = i;
		}
	if (refused && (num_devices > 1 || !device_is_cpu(devices[0])))
		rt_fall_back(FALL_BACK_REFUSED, 0, "the CPU computes %u of %u operations, because no other "
			     "device takes them; the first is operation %u (%s)", refused,
			     main->num_operations, first, nn_op_name(main->operations[first].type));
}

int assign_operations(const struct graph *graph, const ANeuralNetworksDevice *const *devices,
		      uint32_t num_devices, uint32_t preference, uint32_t *chosen,
		      struct nn_error *err)
{
	const struct nn_subgraph *main = &graph->model.subgraphs[0];
	struct nn_error reason = { "" };
	struct arena arena = { NULL };
	struct choice *choices = arena_alloc(&arena, main->num_operations, sizeof(choices[0]));
	bool *supported = arena_alloc(&arena, main->num_operations, sizeof(bool));
	double *subgraphs = arena_alloc(&arena, graph->model.num_subgraphs, sizeof(double));
	int failure, result = ANEURALNETWORKS_NO_ERROR;
	uint32_t i;

	if (!choices || !supported || !subgraphs) {
		arena_free(&arena);
		return rt_out_of_memory(err);
	}
	for (i = 0; i < main->num_operations; i++)
		choices[i].cost = INFINITY;
	failure = offer_all(graph, devices, num_devices, preference, choices, supported,
			    subgraphs, chosen, &reason);
	say_refused(main, devices, num_devices, choices);
	for (i = 0; i < main->num_operations && result == ANEURALNETWORKS_NO_ERROR; i++)
		if (choices[i].cost == (double)INFINITY)
			result = rt_fail(err, failure,
					 "operation %u (%s): no device executes it%s%s", i,
					 nn_op_name(main->operations[i].type),
					 reason.message[0] ? ": " : "", reason.message);
	arena_free(&arena);
	return result;
}
