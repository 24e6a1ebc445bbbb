// SPDX-License-Identifier: MIT
#include "program.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nnaccel/log.h>

#include "base/clock.h"
#include "base/first.h"
#include "compiled.h"
#include "runtime.h"
#include "translate.h"

enum { REASON = 512 };			/* maximum length of a log line */

#define MOST_PAUSE_NS (60 * NS_PER_S)

/* Number of sets of shapes that are compiled at once. Other shapes must pay for their compilation. */
enum { SHAPES_AT_ONCE = 3 };

/*
 * A compilation in progress. During the compilation the program's lock is released. A run waits
 * while another run compiles for the same shapes.
 */
struct making {
	const struct shape *shapes;
	struct making *next;
};

struct program {
	const struct ort *ort;
	const struct options *options;
	const struct devices *devices;
	/* CPU device that replaces failed devices; empty if a replacement is not allowed. */
	struct devices cpu;
	struct graph *graph;
	uint32_t *in, *out;		/* graph values of a run's inputs and outputs */
	uint32_t in_count, out_count;
	/* inputs for whose values, not only shapes, the model is compiled */
	bool *by_value;
	pthread_mutex_t lock;		/* protects all fields after `lock` */
	struct compiled *compiled;	/* list of compilations, last used first */
	struct making *making;
	pthread_cond_t made;		/* signalled after each compilation */
	uint32_t compilations;		/* number of models compiled by runs */
	uint64_t compile_ns;		/* how long the last of these compilations took */
	bool no_runtime;		/* true: ONNX Runtime's CPU cannot compute the part */
	bool on_cpu;			/* true: runs use the CPU, as the devices failed */
	uint64_t again_ns;		/* time at which to try the devices again */
	/* length of the last pause on the CPU; 0 after a successful run on the devices */
	_Atomic uint64_t pause_ns;
	pthread_mutex_t runtime_lock;	/* protects `runtime`, and is held while the session is made */
	struct runtime *runtime;	/* of runs that cannot be translated, or NULL */
};

/*
 * Returns the graph values that are inputs or outputs of the fused node; NULL if ONNX Runtime
 * reports an error or memory runs out.
 */
static uint32_t *ports(const struct program *p, const OrtNode *fused, bool outputs,
		       uint32_t *count)
{
	const struct ort *ort = p->ort;
	size_t number = 0;
	const OrtValueInfo **infos =
		ort_list(ort, fused,
			 outputs ? (void *)ort->Node_GetNumOutputs : (void *)ort->Node_GetNumInputs,
			 outputs ? (void *)ort->Node_GetOutputs : (void *)ort->Node_GetInputs,
			 &number);
	uint32_t *values = infos ? calloc(number + 1, sizeof(*values)) : NULL;

	*count = (uint32_t)number;
	for (size_t i = 0; values && i < number; i++) {
		const char *name;

		values[i] = NO_VALUE;
		if (!infos[i])
			continue;
		if (!ort_ok(ort, ort->GetValueInfoName(infos[i], &name))) {
			free(values);
			values = NULL;
		} else if (*name) {
			values[i] = graph_find(p->graph, name);
		}
	}
	free(infos);
	return values;
}

static bool all_known(const struct program *p)
{
	for (uint32_t i = 0; i < p->in_count; i++)
		if (p->by_value[i] || (p->in[i] != NO_VALUE &&
				       !shape_known(&p->graph->values[p->in[i]].shape)))
			return false;
	return true;
}

/*
 * Finds the inputs for whose values, such as axes, the model is compiled. Returns false if memory
 * runs out.
 */
static bool find_values(struct program *p)
{
	const struct graph *graph = p->graph;

	p->by_value = calloc(p->in_count + 1, sizeof(*p->by_value));
	for (uint32_t i = 0; p->by_value && i < p->in_count; i++) {
		const struct value *value = p->in[i] == NO_VALUE ? NULL : &graph->values[p->in[i]];
		const bool is_whole = value && !value->data &&
				      (value->type == ONNX_INT64 || value->type == ONNX_INT32);

		for (uint32_t n = 0; is_whole && n < graph->node_count; n++)
			p->by_value[i] |= values_of(&graph->nodes[n]) == p->in[i];
	}
	return p->by_value;
}

/* Returns the known shapes and values of inputs, as the list `shapes` of compiled_new(). */
static struct shape *new_shapes(const struct program *p)
{
	struct shape *shapes = calloc(2 * (size_t)p->in_count + 1, sizeof(*shapes));

	for (uint32_t i = 0; shapes && i < p->in_count; i++) {
		if (p->in[i] != NO_VALUE)
			shapes[i] = p->graph->values[p->in[i]].shape;
		shapes[p->in_count + i].rank = -1;
	}
	return shapes;
}

static void log_reason(enum nna_log_level level, const char *reason)
{
	if (*reason)
		nna_log(level, "%s", reason);
}

/*
 * Runs the program on the CPU for a pause, which is longer after each failure of the devices. If the
 * result is BAD_DATA, the devices refuse only the shapes of a run, so there is no pause. Logs the
 * fallback to the CPU as the NNAPI does for programs that name no device. Returns whether a pause
 * begins.
 */
static bool go_to_cpu(struct program *p, int result, const char *reason)
{
	static atomic_uint said;	/* a bit for each ResultCode that any program has logged */
	char names[256];
	bool is_new, pauses;

	pthread_mutex_lock(&p->lock);
	is_new = !p->on_cpu;
	pauses = is_new && result != ANEURALNETWORKS_BAD_DATA;
	if (pauses) {
		p->on_cpu = true;
		p->pause_ns = p->pause_ns ? p->pause_ns * 2 : NS_PER_S;
		if (p->pause_ns > MOST_PAUSE_NS)
			p->pause_ns = MOST_PAUSE_NS;
		p->again_ns = clock_ns() + p->pause_ns;
	}
	pthread_mutex_unlock(&p->lock);
	devices_names(p->devices, names, sizeof(names));
	if (is_new)
		nna_log(first_time(&said, result) ? NNA_LOG_NOTE : NNA_LOG_WARN,
			"onnxruntime: the CPU computes instead of %s: %s", names,
			*reason ? reason : result_name(result));
	return pauses;
}

/*
 * Compiles the program for the shapes `shapes`. The caller does not hold the program's lock,
 * because compiling takes long.
 */
static struct compiled *compile(struct program *p, bool on_cpu, const struct shape *shapes,
				char *message, size_t size)
{
	const struct devices *devices = on_cpu ? &p->cpu : p->devices;
	struct compiled *c;
	char reason[REASON];
	int result;

	nna_log_keep_error(reason, sizeof(reason));
	c = compiled_new(p->graph, p->options, devices, shapes, p->in_count, p->in, p->out_count,
			 p->out, &result, message, size);
	nna_log_keep_error(NULL, 0);
	if (result == ANEURALNETWORKS_BAD_DATA)
		snprintf(message + strlen(message), size - strlen(message), ": %s", reason);
	if (result && !on_cpu && p->cpu.count) {
		compiled_drop(c);
		go_to_cpu(p, result, reason);
		c = compile(p, true, shapes, message, size);
		if (c && result == ANEURALNETWORKS_BAD_DATA)
			c->stands_in = false;
		return c;
	}
	log_reason(NNA_LOG_ERROR, reason);
	if (c)
		c->stands_in = on_cpu;
	if (c && c->refused && !(c->reason = strdup(message))) {
		compiled_drop(c);
		c = NULL;
	}
	return c;
}

struct program *program_new(const struct ort *ort, const OrtGraph *part, const OrtNode *fused,
			    const struct options *options, const struct devices *devices,
			    char *message, size_t size)
{
	struct program *p = calloc(1, sizeof(*p));
	struct shape *shapes;
	bool good;

	snprintf(message, size, "there is no memory");
	if (!p)
		return NULL;
	p->ort = ort;
	p->options = options;
	p->devices = devices;
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->runtime_lock, NULL);
	pthread_cond_init(&p->made, NULL);
	if (!options->disallow_cpu && !devices_have_cpu(devices))
		devices_add(&p->cpu, "nnapi-reference");
	p->graph = graph_read(ort, part);
	good = p->graph && (p->in = ports(p, fused, false, &p->in_count)) &&
	       (p->out = ports(p, fused, true, &p->out_count)) && find_values(p);
	/* Later compilations need the constants after the OrtGraph is freed. */
	if (good)
		good = graph_keep_constants(p->graph);
	/* If all shapes are known, compile when the program is created, to report errors early. */
	if (good && all_known(p)) {
		shapes = new_shapes(p);
		if (shapes)
			p->compiled = compile(p, false, shapes, message, size);
		free(shapes);
		good = p->compiled && !p->compiled->refused;
	}
	if (good)
		return p;
	program_free(p);
	return NULL;
}

void program_free(struct program *p)
{
	struct compiled *next;

	if (!p)
		return;
	for (struct compiled *c = p->compiled; c; c = next) {
		next = c->next;
		compiled_drop(c);
	}
	pthread_cond_destroy(&p->made);
	pthread_mutex_destroy(&p->runtime_lock);
	pthread_mutex_destroy(&p->lock);
	runtime_free(p->runtime);
	graph_free(p->graph);
	free(p->in);
	free(p->out);
	free(p->by_value);
	free(p);
}

/* ---- runs ---- */

struct run {
	struct program *program;
	OrtKernelContext *context;
	struct shape *shapes;
	const void **inputs;
	void **buffers;			/* int32 copies of int64 inputs, then int32 outputs */
	void **outputs;
	char *message;
	size_t size;
};

static bool same_shapes(const struct shape *a, const struct shape *b, uint32_t count)
{
	for (uint32_t i = 0; i < 2 * count; i++)
		if (a[i].rank != b[i].rank || (a[i].rank > 0 &&
		    memcmp(a[i].dims, b[i].dims, (size_t)a[i].rank * sizeof(a[i].dims[0]))))
			return false;
	return true;
}

static void unlist(struct program *p, struct compiled *c)
{
	struct compiled **at = &p->compiled;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->dropped = true;
}

/*
 * Drops the least recently used compilations, until at most max_shapes are left, and of the remembered
 * refusals as many.
 */
static void shrink(struct program *p)
{
	struct compiled *next;
	uint32_t counts[2] = { 0 };

	for (struct compiled *c = p->compiled; c; c = next) {
		next = c->next;
		if (++counts[c->refused] > p->options->max_shapes && !c->users) {
			unlist(p, c);
			compiled_drop(c);
		}
	}
}

/*
 * Returns the compilation for the shapes `shapes` in the program's list, or NULL. The caller holds
 * the program's lock.
 */
static struct compiled *find_compiled(const struct program *p, const struct shape *shapes)
{
	struct compiled *c = p->compiled;

	while (c && !same_shapes(c->shapes, shapes, p->in_count))
		c = c->next;
	return c;
}

/*
 * Returns a struct without a model for new shapes if the program has been compiled for many shapes.
 * ONNX Runtime's CPU then computes these shapes until this has taken as long as a compilation. So
 * shapes that grow in each run take at most twice as long as on the CPU, and shapes that return
 * often reach the device. The caller holds the program's lock.
 */
static struct compiled *defer(struct program *p, const struct shape *shapes)
{
	struct compiled *c;
	char reason[REASON];

	if (p->compilations < SHAPES_AT_ONCE || p->no_runtime || p->options->disallow_cpu)
		return NULL;
	c = compiled_without_model(p->options, shapes, p->in_count);
	snprintf(reason, sizeof(reason), "compiling for new shapes takes %.0f ms",
		 (double)p->compile_ns / 1e6);
	if (c && !(c->reason = strdup(reason))) {
		compiled_drop(c);
		return NULL;
	}
	if (c)
		c->waits = true;
	return c;
}

static bool is_making(const struct program *p, const struct shape *shapes)
{
	for (const struct making *m = p->making; m; m = m->next)
		if (same_shapes(m->shapes, shapes, p->in_count))
			return true;
	return false;
}

/*
 * Compiles the program for the shapes of a run. The caller holds the program's lock, which make()
 * releases while it compiles.
 */
static struct compiled *make(struct run *run)
{
	struct program *p = run->program;
	struct making making = { run->shapes, p->making }, **at = &p->making;
	const uint64_t begin = clock_ns();
	const bool on_cpu = p->on_cpu;
	struct compiled *c;

	p->making = &making;
	pthread_mutex_unlock(&p->lock);
	c = compile(p, on_cpu, run->shapes, run->message, run->size);
	pthread_mutex_lock(&p->lock);
	while (*at != &making)
		at = &(*at)->next;
	*at = making.next;
	if (c && !c->refused) {
		p->compilations++;
		p->compile_ns = clock_ns() - begin;
	}
	pthread_cond_broadcast(&p->made);
	return c;
}

/*
 * Drops the compilations for the CPU, so that runs try the devices again. The caller holds the
 * program's lock.
 */
static void return_to_devices(struct program *p)
{
	struct compiled *next;

	p->on_cpu = false;
	for (struct compiled *c = p->compiled; c; c = next) {
		next = c->next;
		if (!c->stands_in)
			continue;
		unlist(p, c);
		if (!c->users)
			compiled_drop(c);
	}
}

static struct compiled *acquire(struct run *run)
{
	struct program *p = run->program;
	struct compiled *c;

	pthread_mutex_lock(&p->lock);
	if (p->on_cpu && clock_ns() >= p->again_ns)
		return_to_devices(p);
	/*
	 * If another run is compiling for the same shapes, wait. If the other run's compilation
	 * fails, the waiting run compiles to get a message of its own.
	 */
	while (is_making(p, run->shapes))
		pthread_cond_wait(&p->made, &p->lock);
	c = find_compiled(p, run->shapes);
	if (c)
		unlist(p, c);
	if (c && c->waits && (c->runtime_ns >= p->compile_ns || p->no_runtime)) {
		if (!c->users)
			compiled_drop(c);
		c = make(run);
	} else if (!c && !(c = defer(p, run->shapes))) {
		c = make(run);
	}
	if (c) {
		c->users++;
		/*
		 * While this run compiled for the CPU, another run may have called
		 * return_to_devices().
		 */
		c->dropped = c->stands_in && !p->on_cpu;
	}
	if (c && !c->dropped) {
		c->next = p->compiled;
		p->compiled = c;
		shrink(p);
	}
	pthread_mutex_unlock(&p->lock);
	return c;
}

static void release(struct program *p, struct compiled *c, bool drop)
{
	pthread_mutex_lock(&p->lock);
	c->users--;
	if (drop && !c->dropped)
		unlist(p, c);
	if (c->dropped && !c->users)
		compiled_drop(c);
	pthread_mutex_unlock(&p->lock);
}

/* Reads the values of input i, if the model is compiled for this input's values. */
static void read_values(struct run *run, uint32_t i)
{
	const struct program *p = run->program;
	const int64_t count = shape_count(&run->shapes[i]);
	struct shape *values = &run->shapes[p->in_count + i];

	if (!p->by_value[i] || count < 0 || count > MAX_RANK)
		return;
	values->rank = (int)count;
	for (int64_t k = 0; k < count; k++)
		values->dims[k] = onnx_int(p->graph->values[p->in[i]].type, run->inputs[i], k);
}

static bool read_input(struct run *run, uint32_t i)
{
	const struct ort *ort = run->program->ort;
	const struct graph *graph = run->program->graph;
	OrtTensorTypeAndShapeInfo *info = NULL;
	struct shape *shape = &run->shapes[i];
	const OrtValue *value;
	ONNXTensorElementDataType type;
	size_t rank;
	void *data;
	bool good;

	if (run->program->in[i] == NO_VALUE || graph->values[run->program->in[i]].data)
		return true;
	if (!ort_ok(ort, ort->KernelContext_GetInput(run->context, i, &value)) || !value ||
	    !ort_ok(ort, ort->GetTensorTypeAndShape(value, &info)))
		return false;
	good = ort_ok(ort, ort->GetTensorElementType(info, &type)) &&
	       (int)type == graph->values[run->program->in[i]].type &&
	       ort_ok(ort, ort->GetDimensionsCount(info, &rank)) && rank <= MAX_RANK &&
	       ort_ok(ort, ort->GetDimensions(info, shape->dims, rank)) &&
	       ort_ok(ort, ort->GetTensorMutableData((OrtValue *)value, &data));
	ort->ReleaseTensorTypeAndShapeInfo(info);
	if (!good)
		return false;
	shape->rank = (int)rank;
	run->inputs[i] = data;
	read_values(run, i);
	return true;
}

static bool narrow(struct run *run, uint32_t i, const struct port *port, const void **data)
{
	const int64_t *from = *data;
	int32_t *to = malloc(port->size + 1);

	run->buffers[i] = to;
	if (!to) {
		snprintf(run->message, run->size, "there is no memory");
		return false;
	}
	for (int64_t k = 0; k < port->count; k++) {
		to[k] = (int32_t)from[k];
		if (to[k] != from[k]) {
			snprintf(run->message, run->size, "input %s: %lld does not fit int32",
				 run->program->graph->values[run->program->in[port->index]].name,
				 (long long)from[k]);
			return false;
		}
	}
	*data = to;
	return true;
}

static bool set_inputs(struct run *run, const struct compiled *c,
		       ANeuralNetworksExecution *execution)
{
	for (uint32_t i = 0; i < c->in_count; i++) {
		const struct port *port = &c->in[i];
		const void *data = run->inputs[port->index];
		int result;

		if (port->type == ONNX_INT64 && !narrow(run, i, port, &data))
			return false;
		result = ANeuralNetworksExecution_setInput(execution, (int32_t)i, NULL, data,
							   port->size);
		if (result) {
			snprintf(run->message, run->size, "input %u: %s", i, result_name(result));
			return false;
		}
	}
	return true;
}

static bool set_output(struct run *run, const struct compiled *c, uint32_t i, int32_t number,
		       ANeuralNetworksExecution *execution)
{
	const struct ort *ort = run->program->ort;
	const struct port *port = &c->out[i];
	OrtValue *value;
	void *data;
	int result;

	if (!ort_ok(ort, ort->KernelContext_GetOutput(run->context, port->index, port->shape.dims,
						      (size_t)port->shape.rank, &value)) ||
	    !ort_ok(ort, ort->GetTensorMutableData(value, &data))) {
		snprintf(run->message, run->size, "output %u: ONNX Runtime gives no memory", i);
		return false;
	}
	run->outputs[i] = data;
	if (port->data) {
		memcpy(data, port->data, port->size);
		return true;
	}
	if (port->type == ONNX_INT64) {
		data = run->buffers[c->in_count + i] = malloc(port->size + 1);
		if (!data)
			return false;
	}
	result = ANeuralNetworksExecution_setOutput(execution, number, NULL, data, port->size);
	if (result)
		snprintf(run->message, run->size, "output %u: %s", i, result_name(result));
	return !result;
}

static void widen(struct run *run, const struct compiled *c)
{
	for (uint32_t i = 0; i < c->out_count; i++) {
		const int32_t *from = run->buffers[c->in_count + i];
		int64_t *to = run->outputs[i];

		for (int64_t k = 0; from && k < c->out[i].count; k++)
			to[k] = from[k];
	}
}

/*
 * Executes a compiled model. Returns a ResultCode; -1, with a message, if a step before the
 * execution failed.
 */
static int execute(struct run *run, struct compiled *c)
{
	ANeuralNetworksExecution *execution = NULL;
	int32_t number = 0;
	int result = ANEURALNETWORKS_NO_ERROR;
	bool good = true;

	run->buffers = calloc(c->in_count + c->out_count + 1, sizeof(*run->buffers));
	run->outputs = calloc(c->out_count + 1, sizeof(*run->outputs));
	if (!run->buffers || !run->outputs)
		good = false;
	if (good && c->compilation)
		result = ANeuralNetworksExecution_create(c->compilation, &execution);
	good = good && !result && set_inputs(run, c, execution);
	for (uint32_t i = 0; good && i < c->out_count; i++) {
		good = set_output(run, c, i, number, execution);
		number += !c->out[i].data;
	}
	if (good && execution)
		result = compiled_compute(c, execution);
	if (good && !result)
		widen(run, c);
	ANeuralNetworksExecution_free(execution);
	for (uint32_t i = 0; run->buffers && i < c->in_count + c->out_count; i++)
		free(run->buffers[i]);
	free(run->buffers);
	free(run->outputs);
	if (result)
		snprintf(run->message, run->size, "the execution failed: %s", result_name(result));
	return result ? result : good ? ANEURALNETWORKS_NO_ERROR : -1;
}

/* Ends a pause of the devices that did not help, because the CPU fails as the devices did. */
static void end_pause(struct program *p)
{
	pthread_mutex_lock(&p->lock);
	p->again_ns = 0;
	p->pause_ns /= 2;
	pthread_mutex_unlock(&p->lock);
}

/* Returns whether compiling again may help, because the engine died or failed temporarily. */
static bool worth_another(int result)
{
	return result == ANEURALNETWORKS_DEAD_OBJECT ||
	       result == ANEURALNETWORKS_UNAVAILABLE_DEVICE ||
	       result == ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT ||
	       result == ANEURALNETWORKS_OP_FAILED;
}

/*
 * Executes a run with up to three attempts: with the cached compilation, with a new compilation,
 * and on the CPU.
 */
static bool attempts(struct run *run)
{
	struct program *p = run->program;
	bool pauses = false;

	for (int attempt = 0;; attempt++) {
		struct compiled *c = acquire(run);
		char reason[REASON];
		int result;

		if (!c)
			return false;
		if (c->refused) {
			snprintf(run->message, run->size, "%s", c->reason);
			release(p, c, false);
			return false;
		}
		nna_log_keep_error(reason, sizeof(reason));
		result = execute(run, c);
		nna_log_keep_error(NULL, 0);
		if (!result && !c->stands_in && p->pause_ns)
			p->pause_ns = 0;
		release(p, c, result > 0);
		if (result < 0 || (result && (!worth_another(result) || attempt == 2 ||
					      (attempt == 1 && !p->cpu.count)))) {
			log_reason(NNA_LOG_ERROR, reason);
			if (result > 0 && *reason)
				snprintf(run->message + strlen(run->message),
					 run->size - strlen(run->message), ": %s", reason);
			if (pauses)
				end_pause(p);
			return false;
		}
		if (attempt == 1 && result)
			pauses = go_to_cpu(p, result, reason);
		else
			log_reason(NNA_LOG_WARN, reason);
		if (!result)
			return true;
	}
}

/*
 * Runs a part on ONNX Runtime's own CPU, because the part cannot be translated for the shapes or
 * values of the run. Makes a session for the part at the first call.
 */
static bool run_on_runtime(struct run *run)
{
	static atomic_uint said;
	struct program *p = run->program;
	struct runtime *runtime;
	struct compiled *c;
	uint64_t begin;

	if (p->options->disallow_cpu)
		return false;
	pthread_mutex_lock(&p->runtime_lock);
	if (!p->runtime)
		p->runtime = runtime_new(p->graph, p->in_count, p->in, p->out_count, p->out);
	runtime = p->runtime;
	pthread_mutex_unlock(&p->runtime_lock);
	begin = clock_ns();
	if (!runtime || !runtime_run(runtime, run->context))
		return false;
	pthread_mutex_lock(&p->lock);
	c = find_compiled(p, run->shapes);
	if (c)
		c->runtime_ns += clock_ns() - begin;
	pthread_mutex_unlock(&p->lock);
	nna_log(first_time(&said, 0) ? NNA_LOG_NOTE : NNA_LOG_INFO,
		"onnxruntime: ONNX Runtime's CPU computes a part of %u nodes: %s", p->graph->node_count,
		run->message);
	return true;
}

/*
 * If a run waits for the compilation of its shapes, but ONNX Runtime's CPU cannot compute the part,
 * compiles all shapes at once from now on. Returns whether the run waits.
 */
static bool stop_waiting(struct run *run)
{
	struct program *p = run->program;
	struct compiled *c;
	bool waits;

	pthread_mutex_lock(&p->lock);
	c = find_compiled(p, run->shapes);
	waits = c && c->waits;
	p->no_runtime |= waits;
	pthread_mutex_unlock(&p->lock);
	return waits;
}

bool program_run(struct program *p, OrtKernelContext *context, char *message, size_t size)
{
	struct run run = { .program = p, .context = context, .message = message, .size = size };
	bool good;

	snprintf(message, size, "there is no memory");
	run.shapes = new_shapes(p);
	run.inputs = calloc(p->in_count + 1, sizeof(*run.inputs));
	good = run.shapes && run.inputs;
	for (uint32_t i = 0; good && i < p->in_count; i++) {
		/* The shape of a constant is known from the graph, and is not checked. */
		good = read_input(&run, i);
		if (!good)
			snprintf(message, size, "input %u has a wrong type or shape", i);
	}
	good = good && (attempts(&run) || run_on_runtime(&run) ||
			(stop_waiting(&run) && attempts(&run)));
	free(run.shapes);
	free(run.inputs);
	return good;
}
