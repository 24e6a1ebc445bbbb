/* SPDX-License-Identifier: MIT */
/*
 * Diagnostics of support libraries: callbacks for each finished compilation and execution, with the
 * facts that Android's telemetry has.
 */
#include <inttypes.h>
#include <pthread.h>
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

/* Facts of both compilations and executions. */
struct facts {
	uint8_t hash[SHA256_SIZE];
	char devices[1024];		/* "NAME=VERSION", with commas between them */
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

/* The latest callbacks. Older ones are never freed, because a thread may be using them. */
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
		return ANNDIAG_DATA_CLASS_UNKNOWN;	/* scalars do not count */
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

/* Hashes the architecture, without values of constants. */
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

/* Returns a time only if the program measures it. */
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

/* Returns a number of this process, the same for all its callbacks. */
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

/* Defines an accessor for both kinds of information. */
#define BOTH(type, name, value)								\
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

BOTH(int32_t, session_id, session_id())
BOTH(int64_t, version, ANeuralNetworks_getRuntimeFeatureLevel())
BOTH(const uint8_t *, hash, info->facts.hash)
BOTH(const char *, devices, info->facts.devices)
BOTH(ANeuralNetworksDiagnosticDataClass, input_class, info->facts.input_class)
BOTH(ANeuralNetworksDiagnosticDataClass, output_class, info->facts.output_class)
BOTH(bool, has_cache, info->facts.has_cache)
BOTH(bool, has_control_flow, info->facts.has_control_flow)
BOTH(bool, has_dynamic, info->facts.has_dynamic)

#define ONE(type, kind, name) static type kind##_##name(kind##_info *info) { return info->name; }
ONE(int32_t, compilation, error)
ONE(uint64_t, compilation, ns)
ONE(uint32_t, execution, error)
ONE(ANeuralNetworksDiagnosticExecutionMode, execution, mode)
ONE(uint64_t, execution, runtime_ns)
ONE(uint64_t, execution, driver_ns)
ONE(uint64_t, execution, hardware_ns)

#define COMPILATION(name) table->SL_ANeuralNetworksDiagnosticCompilationInfo_##name
#define EXECUTION(name) table->SL_ANeuralNetworksDiagnosticExecutionInfo_##name

void sl_fill_diagnostic(NnApiSLDriverImplFL5 *table)
{
	COMPILATION(getSessionId) = compilation_session_id;
	COMPILATION(getNnApiVersion) = compilation_version;
	COMPILATION(getModelArchHash) = compilation_hash;
	COMPILATION(getDeviceIds) = compilation_devices;
	COMPILATION(getErrorCode) = compilation_error;
	COMPILATION(getInputDataClass) = compilation_input_class;
	COMPILATION(getOutputDataClass) = compilation_output_class;
	COMPILATION(getCompilationTimeNanos) = compilation_ns;
	COMPILATION(isCachingEnabled) = compilation_has_cache;
	COMPILATION(isControlFlowUsed) = compilation_has_control_flow;
	COMPILATION(areDynamicTensorsUsed) = compilation_has_dynamic;
	EXECUTION(getSessionId) = execution_session_id;
	EXECUTION(getNnApiVersion) = execution_version;
	EXECUTION(getModelArchHash) = execution_hash;
	EXECUTION(getDeviceIds) = execution_devices;
	EXECUTION(getExecutionMode) = execution_mode;
	EXECUTION(getInputDataClass) = execution_input_class;
	EXECUTION(getOutputDataClass) = execution_output_class;
	EXECUTION(getErrorCode) = execution_error;
	EXECUTION(getRuntimeExecutionTimeNanos) = execution_runtime_ns;
	EXECUTION(getDriverExecutionTimeNanos) = execution_driver_ns;
	EXECUTION(getHardwareExecutionTimeNanos) = execution_hardware_ns;
	EXECUTION(isCachingEnabled) = execution_has_cache;
	EXECUTION(isControlFlowUsed) = execution_has_control_flow;
	EXECUTION(areDynamicTensorsUsed) = execution_has_dynamic;
	table->SL_ANeuralNetworksDiagnostic_registerCallbacks = register_callbacks;
}
