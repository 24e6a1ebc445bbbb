/* SPDX-License-Identifier: MIT */
/*
 * Makes NNAPI calls in random order. The test makes a few objects of each kind, makes valid and
 * invalid calls, and frees the objects in random order. The test finds faults that sanitizers
 * report, results that are not a ResultCode, and failing calls that return an object. The
 * environment variable NN_SEED selects another random order of calls.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "runtime_fixture.h"
#include "tests/between.h"

#define LIVES 400
#define CALLS 300

#define MODELS 4
#define COMPILATIONS 4
#define EXECUTIONS 6
#define BURSTS 3
#define EVENTS 4
#define DESCS 3
#define MEMORIES 5
#define FIXED 2		/* memories that contain models' constants; never freed */

#define BYTES 64

static struct {
	ANeuralNetworksModel *models[MODELS];
	ANeuralNetworksCompilation *compilations[COMPILATIONS];
	ANeuralNetworksExecution *executions[EXECUTIONS];
	ANeuralNetworksBurst *bursts[BURSTS];
	ANeuralNetworksEvent *events[EVENTS];
	uint32_t event_of[EVENTS];		/* the execution */
	ANeuralNetworksMemoryDesc *descs[DESCS];
	ANeuralNetworksMemory *memories[MEMORIES];
	uint64_t random;
	uint32_t succeeded;			/* number of successful executions of any kind */
} w;

static uint32_t below(uint32_t n)
{
	w.random = w.random * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(w.random >> 33) % n;
}

/* Returns a random element of an array of objects; the element may be NULL. */
#define ANY(array) ((array)[below(ARRAY_SIZE(array))])

static bool succeeds(int result)
{
	assert_between(result, ANEURALNETWORKS_NO_ERROR, ANEURALNETWORKS_DEAD_OBJECT);
	return result == ANEURALNETWORKS_NO_ERROR;
}

static const struct shape {
	uint32_t rank;
	uint32_t dims[4];
} shapes[] = { { 2, { 2, 2 } }, { 2, { 0, 2 } }, { 1, { 4 } }, { 1, { 1 } }, { 0, { 0 } } };

static ANeuralNetworksOperandType any_tensor(void)
{
	const struct shape *shape = &shapes[below(ARRAY_SIZE(shapes))];

	return tensor_type(shape->rank, shape->rank ? shape->dims : NULL);
}

/* ---- models ---- */

/* Describes out = a OP b for floats, where OP is ADD, MUL or LESS; LESS returns booleans. */
static void describe_binary(ANeuralNetworksModel *model)
{
	const int32_t codes[] = { ANEURALNETWORKS_ADD, ANEURALNETWORKS_MUL, ANEURALNETWORKS_LESS };
	const ANeuralNetworksOperandType tensor = any_tensor();
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const uint32_t inputs[] = { 0, 1, 2 }, outputs[] = { 3 };
	const int32_t code = ANY(codes), none = 0;
	const uint32_t count = code == ANEURALNETWORKS_LESS ? 2 : 3;
	ANeuralNetworksOperandType out = tensor;
	bool constant = false;
	uint32_t i;

	if (code == ANEURALNETWORKS_LESS)
		out.type = ANEURALNETWORKS_TENSOR_BOOL8;
	for (i = 0; i < 4; i++)
		succeeds(ANeuralNetworksModel_addOperand(model, i == 2 ? &scalar :
								i == 3 ? &out : &tensor));
	succeeds(ANeuralNetworksModel_setOperandValue(model, 2, &none, 4));
	if (below(2))
		constant = succeeds(ANeuralNetworksModel_setOperandValue(model, 1, add_b, 16));
	succeeds(ANeuralNetworksModel_addOperation(model, code, count, inputs, 1, outputs));
	succeeds(ANeuralNetworksModel_identifyInputsAndOutputs(model, constant ? 1 : 2, inputs, 1,
							       outputs));
}

static void describe_control(ANeuralNetworksModel *model)
{
	const bool loop = below(2);
	const ANeuralNetworksOperandType reference = scalar_type(ANEURALNETWORKS_MODEL);
	const ANeuralNetworksOperandType tensor = any_tensor();
	const ANeuralNetworksOperandType truth = { ANEURALNETWORKS_TENSOR_BOOL8, 1,
						   shapes[3].dims, 0, 0 };
	const uint32_t if_inputs[] = { 2, 0, 1, 3 }, while_inputs[] = { 0, 1, 3 };
	const uint32_t inputs[] = { 3, 2 }, outputs[] = { 4 };
	const ANeuralNetworksOperandType *types[] = { &reference, &reference, &truth, &tensor,
						      &tensor };
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		succeeds(ANeuralNetworksModel_addOperand(model, types[i]));
	for (i = 0; i < 2; i++)
		succeeds(ANeuralNetworksModel_setOperandValueFromModel(model, i, ANY(w.models)));
	succeeds(ANeuralNetworksModel_addOperation(
		model, loop ? ANEURALNETWORKS_WHILE : ANEURALNETWORKS_IF, loop ? 3 : 4,
		loop ? while_inputs : if_inputs, 1, outputs));
	succeeds(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs));
}

static void new_model(void)
{
	ANeuralNetworksModel **model = &ANY(w.models);

	ANeuralNetworksModel_free(*model);
	*model = NULL;
	assert_ok(ANeuralNetworksModel_create(model));
	if (below(4))
		describe_binary(*model);
	else
		describe_control(*model);
	if (below(8))
		succeeds(ANeuralNetworksModel_finish(*model));
}

static void change_model(void)
{
	ANeuralNetworksModel *model = ANY(w.models);
	const ANeuralNetworksOperandType type = any_tensor();
	const uint32_t list[] = { below(6), below(6), below(6) };
	const int32_t operand = (int32_t)below(6) - 1;

	if (below(4))
		model = NULL;
	succeeds(ANeuralNetworksModel_addOperand(model, &type));
	succeeds(ANeuralNetworksModel_setOperandValueFromMemory(model, operand,
								w.memories[below(FIXED)],
								below(2) * 16, below(3) * 8));
	succeeds(ANeuralNetworksModel_setOperandValue(model, operand, NULL, 0));
	succeeds(ANeuralNetworksModel_addOperation(model, below(105), below(4), list, 1, list));
	succeeds(ANeuralNetworksModel_identifyInputsAndOutputs(model, below(3), list, 1, list));
	succeeds(ANeuralNetworksModel_finish(model));
}

/* ---- compilations ---- */

static void new_compilation(void)
{
	const ANeuralNetworksDevice *device = cpu_device();
	ANeuralNetworksCompilation **compilation = &ANY(w.compilations);
	ANeuralNetworksModel *model = ANY(w.models);
	int result;

	ANeuralNetworksCompilation_free(*compilation);
	if (below(2))
		result = ANeuralNetworksCompilation_create(model, compilation);
	else
		result = ANeuralNetworksCompilation_createForDevices(model, &device, 1,
								     compilation);
	assert_int_equal(succeeds(result), *compilation != NULL);
	succeeds(ANeuralNetworksCompilation_setPriority(*compilation, 90 + (int)below(4) * 10));
	if (!below(8))
		succeeds(ANeuralNetworksCompilation_setTimeout(*compilation, below(2)));
	if (below(8))
		succeeds(ANeuralNetworksCompilation_finish(*compilation));
}

static void new_burst(void)
{
	ANeuralNetworksBurst **burst = &ANY(w.bursts);
	int result;

	ANeuralNetworksBurst_free(*burst);
	result = ANeuralNetworksBurst_create(ANY(w.compilations), burst);
	assert_int_equal(succeeds(result), *burst != NULL);
}

/* ---- executions ---- */

static void end_event(uint32_t index)
{
	if (w.events[index])
		w.succeeded += succeeds(ANeuralNetworksEvent_wait(w.events[index]));
	ANeuralNetworksEvent_free(w.events[index]);
	w.events[index] = NULL;
}

static void free_execution(uint32_t index)
{
	uint32_t i;

	for (i = 0; i < EVENTS; i++)
		if (w.event_of[i] == index)
			end_event(i);
	ANeuralNetworksExecution_free(w.executions[index]);
	w.executions[index] = NULL;
}

static int set_bytes(ANeuralNetworksExecution *execution, int32_t index, bool output,
		     const ANeuralNetworksOperandType *type, void *buffer, size_t length)
{
	return output ? ANeuralNetworksExecution_setOutput(execution, index, type, buffer, length) :
			ANeuralNetworksExecution_setInput(execution, index, type, buffer, length);
}

static int set_memory(ANeuralNetworksExecution *execution, int32_t index, bool output)
{
	const ANeuralNetworksMemory *memory = ANY(w.memories);
	const size_t length = below(2) * 16;

	return output ? ANeuralNetworksExecution_setOutputFromMemory(execution, index, NULL, memory,
								     0, length) :
			ANeuralNetworksExecution_setInputFromMemory(execution, index, NULL, memory,
								    0, length);
}

/* Tries to set an argument with random shapes and lengths, until a call succeeds. */
static void set_argument(ANeuralNetworksExecution *execution, int32_t index, bool output,
			 void *buffer)
{
	static const size_t lengths[] = { 16, 4, 8, BYTES };
	bool set = below(2) && succeeds(set_memory(execution, index, output));
	uint32_t i, k;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		ANeuralNetworksOperandType type = tensor_type(shapes[i].rank, shapes[i].dims);

		if (!type.dimensionCount)
			type.dimensions = NULL;
		for (k = 0; k < ARRAY_SIZE(lengths) && !set; k++)
			set = succeeds(set_bytes(execution, index, output, NULL, buffer,
						 lengths[k])) ||
			      succeeds(set_bytes(execution, index, output, &type, buffer,
						 lengths[k]));
	}
}

static void new_execution(void)
{
	static uint8_t in[BYTES], out[EXECUTIONS][BYTES];
	const uint32_t index = below(EXECUTIONS);
	ANeuralNetworksExecution **execution = &w.executions[index];
	int result;

	free_execution(index);
	result = ANeuralNetworksExecution_create(ANY(w.compilations), execution);
	assert_int_equal(succeeds(result), *execution != NULL);
	succeeds(ANeuralNetworksExecution_setReusable(*execution, below(2)));
	succeeds(ANeuralNetworksExecution_setMeasureTiming(*execution, below(2)));
	/* Set a loop timeout for half of the executions. */
	if (below(2))
		succeeds(ANeuralNetworksExecution_setLoopTimeout(*execution, 1000000));
	set_argument(*execution, 0, false, in);
	set_argument(*execution, 1, false, in);
	set_argument(*execution, 0, true, out[index]);
}

static void compute(void)
{
	const uint32_t index = below(EXECUTIONS), event = below(EVENTS), other = below(EVENTS);
	const ANeuralNetworksEvent *before = other == event ? NULL : w.events[other];
	ANeuralNetworksExecution *execution = w.executions[index];
	int result;

	switch (below(4)) {
	case 0:
		w.succeeded += succeeds(ANeuralNetworksExecution_compute(execution));
		return;
	case 1:
		w.succeeded += succeeds(ANeuralNetworksExecution_burstCompute(execution,
									      ANY(w.bursts)));
		return;
	case 2:
		end_event(event);
		result = ANeuralNetworksExecution_startCompute(execution, &w.events[event]);
		break;
	default:
		end_event(event);
		result = ANeuralNetworksExecution_startComputeWithDependencies(
			execution, &before, before != NULL, below(2) * 1000000, &w.events[event]);
	}
	w.event_of[event] = index;
	assert_int_equal(succeeds(result), w.events[event] != NULL);
}

static void ask(void)
{
	ANeuralNetworksExecution *execution = ANY(w.executions);
	uint32_t rank = 0, dims[16];
	uint64_t ns = 0;

	if (succeeds(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank)) && rank)
		assert_ok(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dims));
	succeeds(ANeuralNetworksExecution_getDuration(execution, (int32_t)below(5), &ns));
	end_event(below(EVENTS));
}

/* ---- memories ---- */

static void change_desc(void)
{
	ANeuralNetworksMemoryDesc **desc = &ANY(w.descs);
	const struct shape *shape = &shapes[below(ARRAY_SIZE(shapes))];

	if (!below(4)) {
		ANeuralNetworksMemoryDesc_free(*desc);
		*desc = NULL;
		assert_ok(ANeuralNetworksMemoryDesc_create(desc));
	}
	succeeds(ANeuralNetworksMemoryDesc_addInputRole(*desc, ANY(w.compilations), below(2), 1));
	succeeds(ANeuralNetworksMemoryDesc_addOutputRole(*desc, ANY(w.compilations), 0, 1));
	if (!below(4))
		succeeds(ANeuralNetworksMemoryDesc_setDimensions(*desc, shape->rank, shape->dims));
	if (!below(4))
		succeeds(ANeuralNetworksMemoryDesc_finish(*desc));
}

/* Frees a memory that no execution uses, and makes a new memory in its place. */
static void new_memory(void)
{
	ANeuralNetworksMemory **place = &w.memories[FIXED + below(MEMORIES - FIXED)], *memory;
	uint32_t i;

	if (!succeeds(ANeuralNetworksMemory_createFromDesc(ANY(w.descs), &memory))) {
		assert_null(memory);
		return;
	}
	for (i = 0; i < EXECUTIONS; i++)
		free_execution(i);
	succeeds(ANeuralNetworksMemory_copy(*place, memory));
	ANeuralNetworksMemory_free(*place);
	*place = memory;
}

static void copy_memory(void)
{
	succeeds(ANeuralNetworksMemory_copy(ANY(w.memories), ANY(w.memories)));
}

/* ---- random calls ---- */

static void (*const calls[])(void) = {
	new_model, new_model, change_model, new_compilation, new_compilation, new_burst,
	new_execution, new_execution, compute, compute, compute, ask, change_desc, change_desc,
	new_memory, copy_memory,
};

#define FREE_ALL(array, free_one) \
	do { \
		for (uint32_t at = 0; at < ARRAY_SIZE(array); at++) \
			free_one((array)[at]); \
	} while (0)

static void free_models(void)
{
	FREE_ALL(w.models, ANeuralNetworksModel_free);
}

static void free_compilations(void)
{
	FREE_ALL(w.compilations, ANeuralNetworksCompilation_free);
}

static void free_executions(void)
{
	for (uint32_t i = 0; i < EXECUTIONS; i++)
		free_execution(i);
}

static void free_bursts(void)
{
	FREE_ALL(w.bursts, ANeuralNetworksBurst_free);
}

static void free_descs(void)
{
	FREE_ALL(w.descs, ANeuralNetworksMemoryDesc_free);
}

static void (*const frees[])(void) = {
	free_models, free_compilations, free_executions, free_bursts, free_descs,
};

static void live(uint32_t seed)
{
	const uint32_t succeeded = w.succeeded;
	uint32_t i, first;
	void *base;

	memset(&w, 0, sizeof(w));
	w.random = seed;
	w.succeeded = succeeded;
	for (i = 0; i < MEMORIES; i++) {
		w.memories[i] = shared_memory(BYTES, i ? PROT_READ | PROT_WRITE : PROT_READ,
					      &base);
		munmap(base, BYTES);
	}
	for (i = 0; i < CALLS; i++)
		ANY(calls)();
	first = below(ARRAY_SIZE(frees));
	for (i = 0; i < ARRAY_SIZE(frees); i++)
		frees[(first + i) % ARRAY_SIZE(frees)]();
	FREE_ALL(w.memories, ANeuralNetworksMemory_free);
}

static void test_calls(void **state)
{
	const char *seed = getenv("NN_SEED");
	uint32_t i;

	(void)state;
	for (i = 0; i < LIVES; i++)
		live((seed ? (uint32_t)strtoul(seed, NULL, 0) : 1) + i);
	/* On average, more than one execution of each random sequence must succeed. */
	assert_true(w.succeeded > LIVES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
	};

	/* Most calls of this test are invalid on purpose, so a log of errors is useless. */
	setenv("NNACCEL_LOG", "none", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
