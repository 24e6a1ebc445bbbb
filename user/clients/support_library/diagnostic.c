/* SPDX-License-Identifier: MIT */
/*
 * Diagnostics of support libraries: callbacks for each finished compilation and execution. The
 * callbacks get the facts that Android's telemetry expects.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "clients/support_library/support_library.h"
#include "runtime/observer.h"
#include "runtime/sha256.h"

#define UNKNOWN_TIME UINT64_MAX
#define NS_PER_US 1000

/* Facts that compilations and executions share. */
struct facts {
	uint8_t hash[SHA256_SIZE];
	char devices[1024];		/* list of "NAME=VERSION", separated by commas */
	ANeuralNetworksDiagnosticDataClass input_class, output_class;
	bool has_cache, has_control_flow, has_dynamic;
};

struct ANeuralNetworksDiagnosticCompilationInfo {
	struct facts facts;
	int32_t error;
	uint64_t ns;
};

struct ANeuralNetworksDiagnosticExecutionInfo {
	struct facts facts;
	uint32_t error;
	ANeuralNetworksDiagnosticExecutionMode mode;
	uint64_t runtime_ns, driver_ns, hardware_ns;
};

/* The latest callbacks. Replaced callbacks are never freed, because a thread may use them. */
struct callbacks {
	ANeuralNetworksDiagnosticCompilationFinishedCallback compiled;
	ANeuralNetworksDiagnosticExecutionFinishedCallback executed;
	void *context;
	const struct callbacks *older;
};
static _Atomic(const struct callbacks *) callbacks;

/* ---- facts ---- */

static ANeuralNetworksDiagnosticDataClass class_of(int32_t type)
{
	switch (type) {
	case NN_TENSOR_FLOAT32:
		return ANNDIAG_DATA_CLASS_FLOAT32;
	case NN_TENSOR_FLOAT16:
		return ANNDIAG_DATA_CLASS_FLOAT16;
	case NN_TENSOR_QUANT8_ASYMM:
	case NN_TENSOR_QUANT8_ASYMM_SIGNED:
	case NN_TENSOR_QUANT8_SYMM:
	case NN_TENSOR_QUANT8_SYMM_PER_CHANNEL:
	case NN_TENSOR_QUANT16_ASYMM:
	case NN_TENSOR_QUANT16_SYMM:
		return ANNDIAG_DATA_CLASS_QUANT;
	case NN_FLOAT32:
	case NN_FLOAT16:
	case NN_INT32:
	case NN_UINT32:
	case NN_BOOL:
		return ANNDIAG_DATA_CLASS_UNKNOWN;	/* scalars have no data class */
	}
	return ANNDIAG_DATA_CLASS_OTHER;
}

static ANeuralNetworksDiagnosticDataClass class_of_all(const struct nn_subgraph *main, const uint32_t *list,
						       uint32_t count)
{
	ANeuralNetworksDiagnosticDataClass all = ANNDIAG_DATA_CLASS_UNKNOWN;

	for (uint32_t i = 0; i < count; i++) {
		ANeuralNetworksDiagnosticDataClass one = class_of(main->operands[list[i]].type);

		if (all == ANNDIAG_DATA_CLASS_UNKNOWN)
			all = one;
		else if (one != ANNDIAG_DATA_CLASS_UNKNOWN && one != all)
			all = ANNDIAG_DATA_CLASS_MIXED;
	}
	return all;
}

static void tell_devices(const ANeuralNetworksCompilation *compilation, char *text, size_t size)
{
	int length = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < compilation->num_devices && (size_t)length < size; i++)
		length += snprintf(text + length, size - (size_t)length, "%s%s=%s", i ? "," : "",
				   compilation->devices[i]->name,
				   device_info(compilation->devices[i])->version);
}

static void hash_numbers(struct sha256 *hash, const uint32_t *numbers, uint32_t count)
{
	sha256_add(hash, &count, sizeof(count));
	if (count)
		sha256_add(hash, numbers, count * sizeof(*numbers));
}

/* Hashes the model's architecture, without the values of its constants. */
static void hash_subgraph(struct sha256 *hash, const struct nn_subgraph *s)
{
	for (uint32_t i = 0; i < s->num_operands; i++) {
		const struct nn_operand *o = &s->operands[i];
		const uint32_t form[] = { (uint32_t)o->type, (uint32_t)o->lifetime };

		hash_numbers(hash, form, 2);
		hash_numbers(hash, o->dims, o->rank);
		sha256_add(hash, &o->scale, sizeof(o->scale));
		sha256_add(hash, &o->zero_point, sizeof(o->zero_point));
	}
	for (uint32_t i = 0; i < s->num_operations; i++) {
		const struct nn_operation *o = &s->operations[i];

		sha256_add(hash, &o->type, sizeof(o->type));
		hash_numbers(hash, o->inputs, o->num_inputs);
		hash_numbers(hash, o->outputs, o->num_outputs);
	}
	hash_numbers(hash, s->inputs, s->num_inputs);
	hash_numbers(hash, s->outputs, s->num_outputs);
}

static void look_at_subgraph(const struct nn_subgraph *s, struct facts *facts)
{
	for (uint32_t i = 0; i < s->num_operations; i++)
		facts->has_control_flow |= s->operations[i].type == NN_OP_IF ||
					   s->operations[i].type == NN_OP_WHILE;
	for (uint32_t i = 0; i < s->num_operands; i++)
		facts->has_dynamic |= s->operands[i].lifetime == NN_TEMPORARY &&
				      !nn_operand_is_specified(&s->operands[i]);
}

static void find_facts(const ANeuralNetworksCompilation *compilation, struct facts *facts)
{
	const struct nn_model *model = &compilation->model->graph.model;
	const struct nn_subgraph *main = &model->subgraphs[0];
	struct sha256 hash;

	*facts = (struct facts){
		.input_class = class_of_all(main, main->inputs, main->num_inputs),
		.output_class = class_of_all(main, main->outputs, main->num_outputs),
		.has_cache = compilation->cache_dir || compilation->cache_fds,
	};
	sha256_init(&hash);
	for (uint32_t i = 0; i < model->num_subgraphs; i++) {
		hash_subgraph(&hash, &model->subgraphs[i]);
		look_at_subgraph(&model->subgraphs[i], facts);
	}
	sha256_end(&hash, facts->hash);
	tell_devices(compilation, facts->devices, sizeof(facts->devices));
}

/* ---- callbacks ---- */

static void compiled(const ANeuralNetworksCompilation *compilation, int result, uint64_t ns)
{
	const struct callbacks *c = callbacks;
	struct ANeuralNetworksDiagnosticCompilationInfo info = { .error = result, .ns = ns };

	if (!c->compiled)
		return;
	find_facts(compilation, &info.facts);
	c->compiled(c->context, &info);
}

/* Returns a duration of an execution; UNKNOWN_TIME unless the program measures the execution. */
static uint64_t measured(const ANeuralNetworksExecution *execution, uint64_t us)
{
	return execution->measure && us != NNA_TIME_NONE ? us * NS_PER_US : UNKNOWN_TIME;
}

static void executed(const ANeuralNetworksExecution *execution, uint64_t ns)
{
	static const ANeuralNetworksDiagnosticExecutionMode modes[] = {
		[EXECUTION_ASYNC] = ANNDIAG_EXECUTION_MODE_ASYNC,
		[EXECUTION_SYNC] = ANNDIAG_EXECUTION_MODE_SYNC,
		[EXECUTION_BURST] = ANNDIAG_EXECUTION_MODE_BURST,
		[EXECUTION_FENCED] = ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS,
	};
	const struct callbacks *c = callbacks;
	bool is_good = execution->result == ANEURALNETWORKS_NO_ERROR;
	struct ANeuralNetworksDiagnosticExecutionInfo info = {
		.error = (uint32_t)execution->result,
		.mode = modes[execution->way],
		.runtime_ns = ns,
		.driver_ns = is_good ? measured(execution, execution->in_driver_us) : UNKNOWN_TIME,
		.hardware_ns = is_good ? measured(execution, execution->on_device_us) : UNKNOWN_TIME,
	};

	if (!c->executed)
		return;
	find_facts(execution->compilation, &info.facts);
	c->executed(c->context, &info);
}

static void register_callbacks(ANeuralNetworksDiagnosticCompilationFinishedCallback compilation,
			       ANeuralNetworksDiagnosticExecutionFinishedCallback execution,
			       void *context)
{
	static const struct observer observer = { compiled, executed };
	struct callbacks *c = malloc(sizeof(*c));

	if (!c)
		return;
	*c = (struct callbacks){ compilation, execution, context, callbacks };
	while (!atomic_compare_exchange_weak(&callbacks, &c->older, c))
		;
	observer_set(compilation || execution ? &observer : NULL);
}

/* ---- accessors of the callbacks' information ---- */

typedef const ANeuralNetworksDiagnosticCompilationInfo compilation_info;
typedef const ANeuralNetworksDiagnosticExecutionInfo execution_info;

/* Returns a random number, which is the same in all callbacks of this process. */
static int32_t session_id(void)
{
	static _Atomic(int32_t) session;
	int32_t none = 0, random = 0;

	if (session)
		return session;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random) || !random)
		random = getpid();
	return atomic_compare_exchange_strong(&session, &none, random) ? random : none;
}

/* Defines two functions that return `value`: one for compilations, one for executions. */
#define BOTH(type, name, of, value)							\
static type compilation_##name(compilation_info *info)					\
{											\
	(void)info;									\
	return value;									\
}											\
											\
static type execution_##name(execution_info *info)					\
{											\
	(void)info;									\
	return value;									\
}

/*
 * The values that both compilations and executions have: type, name of the static function, name in
 * the table, and value.
 */
#define FOR_BOTH(X)									\
	X(int32_t, session_id, getSessionId, session_id())				\
	X(int64_t, version, getNnApiVersion, ANeuralNetworks_getRuntimeFeatureLevel())	\
	X(const uint8_t *, hash, getModelArchHash, info->facts.hash)			\
	X(const char *, devices, getDeviceIds, info->facts.devices)			\
	X(ANeuralNetworksDiagnosticDataClass, input_class, getInputDataClass,		\
	  info->facts.input_class)							\
	X(ANeuralNetworksDiagnosticDataClass, output_class, getOutputDataClass,		\
	  info->facts.output_class)							\
	X(bool, has_cache, isCachingEnabled, info->facts.has_cache)			\
	X(bool, has_control_flow, isControlFlowUsed, info->facts.has_control_flow)	\
	X(bool, has_dynamic, areDynamicTensorsUsed, info->facts.has_dynamic)
FOR_BOTH(BOTH)

#define FOR_COMPILATION(X)								\
	X(int32_t, compilation, error, getErrorCode)					\
	X(uint64_t, compilation, ns, getCompilationTimeNanos)
#define FOR_EXECUTION(X)								\
	X(uint32_t, execution, error, getErrorCode)					\
	X(ANeuralNetworksDiagnosticExecutionMode, execution, mode, getExecutionMode)	\
	X(uint64_t, execution, runtime_ns, getRuntimeExecutionTimeNanos)		\
	X(uint64_t, execution, driver_ns, getDriverExecutionTimeNanos)			\
	X(uint64_t, execution, hardware_ns, getHardwareExecutionTimeNanos)
#define ONE(type, kind, name, of) static type kind##_##name(kind##_info *info) { return info->name; }
FOR_COMPILATION(ONE)
FOR_EXECUTION(ONE)

#define COMPILATION(type, kind, name, of) \
	table->SL_ANeuralNetworksDiagnosticCompilationInfo_##of = compilation_##name;
#define EXECUTION(type, kind, name, of) \
	table->SL_ANeuralNetworksDiagnosticExecutionInfo_##of = execution_##name;
#define FILL_BOTH(type, name, of, value) \
	COMPILATION(type, both, name, of) EXECUTION(type, both, name, of)

void sl_fill_diagnostic(NnApiSLDriverImplFL5 *table)
{
	FOR_BOTH(FILL_BOTH)
	FOR_COMPILATION(COMPILATION)
	FOR_EXECUTION(EXECUTION)
	table->SL_ANeuralNetworksDiagnostic_registerCallbacks = register_callbacks;
}
