/* SPDX-License-Identifier: MIT */
/*
 * A fake accelerator for tests of libneuralnetworks. The accelerator replaces libnnaccel, adds only
 * floats, and is absent, fails or dies on a test's demand. Only one file of a test may include
 * runtime_fake_accel.h.
 */
#ifndef NN_TESTS_RUNTIME_FAKE_ACCEL_H
#define NN_TESTS_RUNTIME_FAKE_ACCEL_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include <nnaccel/engine_model.h>
#include <nnaccel/log.h>
#include <nnaccel/nnaccel.h>

#include "base/clock.h"
#include "model/times.h"
#include "runtime_fixture.h"
#include "tests/between.h"

struct nna_device {
	int number;
	pid_t process;			/* only process that may use the device */
};

struct nna_memory {
	atomic_int references;
	void *base;
	uint64_t size;
	struct nna_memory *next;	/* next freed memory; access to freed memory faults */
};

struct nna_prepared_model {
	struct nna_device *device;
	uint32_t worker;		/* number of the worker that prepared the model */
	struct nn_model *model;
	struct nna_memory **memories;
	struct nn_pool *pools;
};

/* The extension of each device; it has no types and no operations. */
#define FAKE_EXTENSION "com.example.fake"

struct nna_burst {
	struct nna_prepared_model *prepared;
};

struct nna_buffer {
	float elements[ADD_ELEMENTS];
};

/*
 * The settings by which a test controls the accelerator, and counters of the accelerator's
 * requests.
 */
static struct {
	enum nn_status supported_status;
	enum nn_status prepare_status;
	enum nn_status execute_status;
	enum nn_status burst_status;
	void (*before_prepare)(void);	/* called once, by the next nna_prepare_model(); or NULL */
	void (*at_model)(const struct nn_model *model);	/* called by nna_prepare_model(), or NULL */
	bool supports_all;		/* true: the device claims to support all operations */
	uint32_t rows;			/* reported rows of outputs; 0: two */
	bool blocks;			/* true: executions wait for the semaphore `go` */
	sem_t entered, go;
	uint32_t prepared;
	uint32_t executed;
	uint32_t in_bursts;
	uint32_t bursts;		/* number of open bursts */
	uint32_t allocated;		/* number of memories allocated so far */
	uint32_t freed;			/* number of memories freed so far */
	enum nn_status alloc_status;
	bool refuses_imports;		/* true: the device cannot reach imported memories */
	uint32_t unreachable;		/* number of unreachable memories in the last model */
	bool has_buffers;
	uint32_t tokens;		/* token of the next buffer, from 1 */
	/*
	 * Buffer tokens of the last execution; the accelerator computes nothing if an execution has
	 * tokens.
	 */
	uint32_t num_tokens, asked_tokens[3];
	uint32_t num_memories;
	uint32_t refused_buffers;
	/* Frequencies of the last buffer's first input and output roles; 0: no such role. */
	float frequency, output_frequency;
	uint32_t buffers_read;		/* number of calls */
	uint32_t buffers_written;
	/* Numbers of reads of buffers and of writes to buffers that fail next. */
	uint32_t failing_reads, failing_writes;
	void (*at_list)(void);		/* function called by device listings, or NULL */
	uint64_t loop_timeout_ns;
	bool saw_deadline;
	struct nna_prepare_options preparation;	/* options of the last nna_prepare_model() */
	struct nna_execute_options execution;	/* options of the last nna_execute() */
	struct nna_argument arguments[3];	/* inputs and outputs of the last execution */
	uint32_t cache_files;		/* number of model files, and of data files */
	uint32_t asked_for_cached;	/* number of requests to load a model from files */
	bool saw_cache;			/* true: the last preparation had cache files */
	bool is_absent;
	bool is_offline;		/* true: the device has no engine */
	uint32_t offline_looks;		/* number of next calls that find no engine */
	bool keeps_dying;		/* true: every execution kills its worker */
	bool has_fences;		/* true: fences are supported; executions end at once */
	bool runs_on;			/* true: fences do not signal until the test writes to them */
	int fence;			/* the last fence */
	uint32_t fenced, num_dependencies;	/* fenced executions; files that the last one awaits */
	sigset_t blocked;		/* signals that the last execution's thread blocks */
	enum nn_status sync_file_status;
	uint32_t sync_files;		/* number of requests for a hardware fence */
	bool refuses_times;		/* true: accelerator reports no times of operations */
	int64_t lies_ns;		/* the device adds this to the times that it reports */
	/*
	 * Times of operations that the accelerator reports, relative to the execution's begin in
	 * the engine.
	 */
	struct nn_operation_time times[2];
	uint32_t num_times;
	const char *reason;		/* error message of failing executions, or NULL */
	bool has_second;		/* true: a second device exists, with an engine */
	uint32_t executed_by_second;
	uint32_t opened;		/* number of device handles open in this process */
	uint32_t asked_for_info;	/* number of requests for the device's info */
	void (*at_info)(struct nn_device_info *info);	/* function that changes info, or NULL */
	atomic_uint worker;		/* number of the living worker; other workers are dead */
} accel;

/* Device handles. A closed handle stays valid, because models refer to it. */
#define MOST_DEVICES 64
static struct nna_device devices[MOST_DEVICES];

enum nn_status nna_device_open(const char *path, struct nna_device **device, struct nn_error *err)
{
	if (accel.is_absent) {
		/*
		 * If the library finds no devices, it opens the default device to get the reason
		 * from the error.
		 */
		assert_string_equal(path, NNA_DEVICE_PATH);
		return nn_fail(err, NN_DEVICE_UNAVAILABLE, "told to be absent");
	}
	assert_between(accel.opened, 0, MOST_DEVICES - 1);
	*device = &devices[accel.opened++];
	(*device)->process = getpid();
	(*device)->number = strcmp(path, NNA_DEVICE_PATH) != 0;
	return NN_OK;
}

enum nn_status nna_device_list(struct nna_device_entry *entries, size_t entry_size,
			       uint32_t *count, struct nn_error *err)
{
	(void)err;
	if (accel.at_list)
		accel.at_list();
	assert_int_equal(entry_size, sizeof(entries[0]));
	assert_true(*count >= 2);
	entries[0] = (struct nna_device_entry){ NNA_DEVICE_PATH, "nnaccel", "fake",
						NN_DEVICE_ACCELERATOR, !accel.is_offline };
	entries[1] = (struct nna_device_entry){ NNA_DEVICE_PATH "1", "second", "fake",
						NN_DEVICE_ACCELERATOR, accel.has_second };
	*count = accel.is_absent ? 0 : 2;
	return NN_OK;
}

void nna_device_close(struct nna_device *device)
{
	(void)device;
}

enum nna_device_status nna_device_status(struct nna_device *device)
{
	if (device->number)
		return accel.has_second ? NNA_AVAILABLE : NNA_OFFLINE;
	if (accel.offline_looks) {
		accel.offline_looks--;
		return NNA_OFFLINE;
	}
	return accel.is_offline ? NNA_OFFLINE : NNA_AVAILABLE;
}

enum nn_status nna_device_get_extensions(struct nna_device *device,
					 const struct nn_device_extension **extensions,
					 uint32_t *count, struct nn_error *err)
{
	static const struct nn_device_extension extension = { .name = FAKE_EXTENSION };

	(void)device;
	(void)err;
	*extensions = &extension;
	*count = 1;
	return NN_OK;
}

/*
 * The first device is twice as fast as the CPU, the second device four times as fast; both take
 * twice the power of the CPU.
 */
enum nn_status nna_device_get_info(struct nna_device *device, struct nn_device_info *info,
				   struct nn_error *err)
{
	const struct nn_performance figure = { device->number ? 0.25f : 0.5f, 2.0f };
	int i;

	accel.asked_for_info++;
	if (device->number ? !accel.has_second : accel.is_offline)
		return nn_fail(err, NN_DEVICE_UNAVAILABLE, "told to have no engine");
	*info = (struct nn_device_info){ .magic = NN_DEVICE_MAGIC, .size = sizeof(*info),
					 .version = "fake", .type = NN_DEVICE_ACCELERATOR,
					 .feature_level = 4, .relaxed_scalar = figure,
					 .relaxed_tensor = figure, .if_performance = figure,
					 .while_performance = figure,
					 .model_cache_files = accel.cache_files,
					 .data_cache_files = accel.cache_files };
	for (i = 0; i < NN_TYPE_COUNT; i++)
		info->operand[i] = figure;
	if (accel.at_info)
		accel.at_info(info);
	return NN_OK;
}

/*
 * Returns an eventfd as fence, which poll() treats like the fence of an execution that has ended.
 */
enum nn_status nna_execute_fenced(struct nna_prepared_model *prepared,
				  const struct nna_request *request,
				  const struct nna_execute_options *options,
				  const struct nna_dependencies *after, int *fence,
				  struct nn_error *err)
{
	struct nna_output_shape shapes[8];
	struct nna_timing timing;
	uint32_t count;

	if (!accel.has_fences)
		return nn_fail(err, NN_GENERAL_FAILURE, "told to have no fences");
	accel.fenced++;
	accel.num_dependencies = after ? after->num_files : 0;
	*fence = accel.fence = eventfd(!accel.runs_on, EFD_CLOEXEC);
	return nna_execute(prepared, request, options, NNA_SIZED(nna_results, .shapes = shapes,
			   .num_shapes = &count, .timing = &timing), err);
}

enum nn_status nna_fence_get_info(struct nna_device *device, int fence,
				  struct nna_timing *launched, struct nna_timing *fenced,
				  struct nn_error *err)
{
	(void)device;
	(void)fence;
	(void)err;
	*launched = *fenced = (struct nna_timing){ 3, 5 };
	return NN_OK;
}

enum nn_status nna_fence_get_sync_file(struct nna_device *device, int fence, int *sync_file,
				       struct nn_error *err)
{
	(void)device;
	(void)fence;
	accel.sync_files++;
	if (accel.sync_file_status)
		return nn_fail(err, accel.sync_file_status, "told to have none");
	*sync_file = eventfd(2, EFD_CLOEXEC);
	return NN_OK;
}

static struct nna_memory *new_memory(void *base, uint64_t size)
{
	struct nna_memory *memory = calloc(1, sizeof(*memory));

	assert_non_null(memory);
	assert_true(base != MAP_FAILED);
	memory->references = 1;
	memory->base = base;
	memory->size = size;
	return memory;
}

enum nn_status nna_memory_alloc(struct nna_device *device, uint64_t size,
				struct nna_memory **memory, struct nn_error *err)
{
	(void)device;
	if (accel.alloc_status)
		return nn_fail(err, accel.alloc_status, "told to have no memory");
	accel.allocated++;
	*memory = new_memory(mmap(NULL, size, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0), size);
	return NN_OK;
}

enum nn_status nna_memory_import(struct nna_device *device, const struct nna_file *file,
				 struct nna_memory **memory, struct nn_error *err)
{
	(void)device;
	if (accel.refuses_imports)
		return nn_fail(err, NN_GENERAL_FAILURE, "told not to reach it");
	*memory = new_memory(mmap(NULL, file->length, file->prot, MAP_SHARED, file->fd,
				  (off_t)file->offset), file->length);
	return NN_OK;
}

void nna_memory_free(struct nna_memory *memory)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct nna_memory *gone;

	assert_true(!memory || memory->references > 0);
	if (!memory || --memory->references)
		return;
	accel.freed++;
	munmap(memory->base, memory->size);
	pthread_mutex_lock(&lock);
	memory->next = gone;
	gone = memory;
	pthread_mutex_unlock(&lock);
}

enum nn_status nna_buffer_allocate(struct nna_device *device, const struct nna_buffer_roles *roles,
				   struct nna_buffer **buffer, uint32_t *token,
				   struct nn_error *err)
{
	for (uint32_t i = 0; i < roles->num_models; i++)
		if (roles->models[i]->device != device)
			return nn_fail(err, NN_INVALID_ARGUMENT, "another device's model");
	accel.frequency = roles->num_inputs ? roles->inputs[0].frequency : 0;
	accel.output_frequency = roles->num_outputs ? roles->outputs[0].frequency : 0;
	for (uint32_t i = 0; i < roles->num_models; i++)
		if (roles->models[i]->worker != accel.worker)
			return nn_fail(err, NN_DEAD_OBJECT, "its worker is dead");
	if (accel.has_buffers) {
		*buffer = calloc(1, sizeof(**buffer));
		*token = ++accel.tokens;
		assert_non_null(*buffer);
		return NN_OK;
	}
	accel.refused_buffers++;
	return nn_fail(err, NN_RESOURCE_EXHAUSTED_TRANSIENT, "told to refuse");
}

void nna_buffer_free(struct nna_buffer *buffer)
{
	free(buffer);
}

enum nn_status nna_buffer_read(struct nna_buffer *buffer, void *data, uint64_t size,
			       struct nn_error *err)
{
	assert_int_equal(size, sizeof(buffer->elements));
	if (accel.failing_reads) {
		accel.failing_reads--;
		return nn_fail(err, NN_GENERAL_FAILURE, "told not to give it");
	}
	memcpy(data, buffer->elements, size);
	accel.buffers_read++;
	return NN_OK;
}

enum nn_status nna_buffer_write(struct nna_buffer *buffer, const void *data, uint64_t size,
				uint32_t rank, const uint32_t *dims, struct nn_error *err)
{
	(void)err;
	assert_int_equal(size, sizeof(buffer->elements));
	assert_int_equal(rank, 2);
	assert_int_equal(dims[0] * dims[1], ADD_ELEMENTS);
	if (accel.failing_writes) {
		accel.failing_writes--;
		return nn_fail(err, NN_GENERAL_FAILURE, "told not to take it");
	}
	memcpy(buffer->elements, data, size);
	accel.buffers_written++;
	return NN_OK;
}

enum nn_status nna_buffer_copy_to(struct nna_buffer *buffer, struct nna_memory *memory,
				  struct nn_error *err)
{
	(void)err;
	memcpy(memory->base, buffer->elements, sizeof(buffer->elements));
	return NN_OK;
}

enum nn_status nna_buffer_copy_from(struct nna_buffer *buffer, struct nna_memory *memory,
				    uint32_t rank, const uint32_t *dims, struct nn_error *err)
{
	(void)rank;
	(void)dims;
	(void)err;
	memcpy(buffer->elements, memory->base, sizeof(buffer->elements));
	return NN_OK;
}

uint64_t nna_memory_size(const struct nna_memory *memory)
{
	assert_true(memory->references > 0);
	return memory->size;
}

void *nna_memory_map(struct nna_memory *memory, struct nn_error *err)
{
	assert_true(memory->references > 0);
	(void)err;
	return memory->base;
}

enum nn_status nna_get_supported_operations(struct nna_device *device,
					    const struct nn_model *model,
					    struct nna_memory *const *memories, bool *supported,
					    struct nn_error *err)
{
	const struct nn_subgraph *main = &model->subgraphs[0];
	uint32_t i;

	(void)device;
	accel.unreachable = 0;
	for (i = 0; i < model->num_pools; i++)
		accel.unreachable += !memories[i];
	if (accel.supported_status)
		return nn_fail(err, accel.supported_status, "told to fail");
	for (i = 0; i < main->num_operations; i++)
		supported[i] = accel.supports_all || main->operations[i].type == ANEURALNETWORKS_ADD;
	return NN_OK;
}

/* Copies the model by encoding and decoding it, which also checks the model. */
enum nn_status nna_prepare_model(struct nna_device *device, const struct nn_model *model,
				 struct nna_memory *const *memories,
				 const struct nna_prepare_options *options,
				 struct nna_prepared_model **prepared, struct nn_error *err)
{
	void (*before)(void) = accel.before_prepare;
	struct nna_prepared_model *p;
	size_t size;
	void *wire;
	uint32_t i;

	accel.before_prepare = NULL;
	if (before)
		before();
	if (accel.prepare_status)
		return nn_fail(err, accel.prepare_status, "told to fail");
	if (device->process != getpid())
		return nn_fail(err, NN_DEVICE_UNAVAILABLE, "another process's device");
	p = calloc(1, sizeof(*p));
	assert_non_null(p);
	p->device = device;
	p->worker = accel.worker;
	p->memories = calloc(model->num_pools + 1, sizeof(p->memories[0]));
	p->pools = calloc(model->num_pools + 1, sizeof(p->pools[0]));
	for (i = 0; i < model->num_pools; i++) {
		p->memories[i] = memories[i];
		p->memories[i]->references++;
		p->pools[i] = (struct nn_pool){ memories[i]->base, memories[i]->size };
	}
	/* The model and the options are structures that begin with the structure's size. */
	assert_int_equal(model->size, sizeof(*model));
	assert_int_equal(options->size, sizeof(*options));
	accel.saw_cache = options->cache;
	accel.preparation = *options;
	if (accel.at_model)
		accel.at_model(model);
	assert_int_equal(nn_model_check(model, err), NN_OK);
	assert_int_equal(nn_model_encode(model, &wire, &size, err), NN_OK);
	assert_int_equal(nn_model_decode(wire, size, p->pools, model->num_pools, &p->model, err),
			 NN_OK);
	free(wire);
	accel.prepared++;
	*prepared = p;
	return NN_OK;
}

/* The fake accelerator never loads a cached model. */
enum nn_status nna_prepare_model_from_cache(struct nna_device *device,
					    const struct nna_cache *cache,
					    const struct nna_prepare_options *options,
					    struct nna_prepared_model **prepared,
					    struct nn_error *err)
{
	(void)device;
	(void)cache;
	(void)options;
	(void)prepared;
	accel.asked_for_cached++;
	return nn_fail(err, NN_GENERAL_FAILURE, "told to know no file");
}

void nna_prepared_model_free(struct nna_prepared_model *prepared)
{
	uint32_t i;

	if (!prepared)
		return;
	for (i = 0; i < prepared->model->num_pools; i++)
		nna_memory_free(prepared->memories[i]);
	nn_model_free(prepared->model);
	free(prepared->memories);
	free(prepared->pools);
	free(prepared);
}

static float *argument_at(const struct nna_request *request, const struct nna_argument *arg)
{
	/*
	 * The argument is in memory, not in a buffer: for executions with buffers, the fake device
	 * computes nothing.
	 */
	assert_true(arg->pool < request->num_memories);
	return (float *)((uint8_t *)request->memories[arg->pool]->base + arg->offset);
}

/*
 * Returns the floats of an operand, which is an argument, a constant or a temporary in `temporary`.
 */
static float *operand_at(const struct nna_prepared_model *p, const struct nna_request *request,
			 uint32_t index, float (*temporary)[ADD_ELEMENTS])
{
	const struct nn_subgraph *main = &p->model->subgraphs[0];
	const void *value = nn_operand_value(p->model, &main->operands[index]);
	uint32_t i;

	for (i = 0; i < main->num_inputs; i++)
		if (main->inputs[i] == index)
			return argument_at(request, &request->inputs[i]);
	for (i = 0; i < main->num_outputs; i++)
		if (main->outputs[i] == index)
			return argument_at(request, &request->outputs[i]);
	return value ? (float *)value : temporary[index];
}

static void add(const struct nna_prepared_model *p, const struct nna_request *request)
{
	const struct nn_subgraph *main = &p->model->subgraphs[0];
	float temporary[16][ADD_ELEMENTS];
	uint32_t i;
	int k;

	for (i = 0; i < main->num_operations; i++) {
		const struct nn_operation *o = &main->operations[i];
		const float *a = operand_at(p, request, o->inputs[0], temporary);
		const float *b = operand_at(p, request, o->inputs[1], temporary);
		float *sum = operand_at(p, request, o->outputs[0], temporary);

		for (k = 0; k < ADD_ELEMENTS; k++)
			sum[k] = a[k] + b[k];
	}
}

/* Reports accel.times as the times of operations, and waits until these times have passed. */
static void tell_times(const struct nna_request *request)
{
	const struct nna_argument *arg = &request->outputs[request->num_outputs - 1];
	uint8_t *at = (uint8_t *)request->memories[arg->pool]->base + arg->offset;
	struct times_head head = { .begin_ns = clock_ns(), .count = accel.num_times };

	assert_true(arg->length >= sizeof(head) + sizeof(accel.times));
	for (uint32_t i = 0; i < accel.num_times; i++) {
		struct nn_operation_time time = accel.times[i];

		time.begin_ns += head.begin_ns;
		time.end_ns += head.begin_ns;
		while (clock_ns() <= time.end_ns)
			;
		memcpy(at + sizeof(head) + i * sizeof(time), &time, sizeof(time));
	}
	head.end_ns = clock_ns();
	head.begin_ns += (uint64_t)accel.lies_ns;
	memcpy(at, &head, sizeof(head));
}

static bool asks_for_times(const struct nna_execute_options *options)
{
	return times_are_asked(options->attributes);
}

enum nn_status nna_execute(struct nna_prepared_model *prepared, const struct nna_request *request,
			   const struct nna_execute_options *options,
			   const struct nna_results *results, struct nn_error *err)
{
	uint32_t i;

	assert_int_equal(request->size, sizeof(*request));
	assert_int_equal(options->size, sizeof(*options));
	if (prepared->device->process != getpid())
		return nn_fail(err, NN_DEVICE_UNAVAILABLE, "another process's device");
	if (accel.keeps_dying)
		accel.worker++;
	if (prepared->worker != accel.worker)
		return nn_fail(err, NN_DEAD_OBJECT, "its worker is dead");
	if (asks_for_times(options) && accel.refuses_times)
		return nn_fail(err, NN_INVALID_ARGUMENT, "no such attribute");
	accel.executed++;
	accel.executed_by_second += (uint32_t)prepared->device->number;
	accel.loop_timeout_ns = options->loop_timeout_ns;
	accel.saw_deadline = options->deadline_ns;
	accel.execution = *options;
	pthread_sigmask(SIG_BLOCK, NULL, &accel.blocked);
	for (i = 0; i < request->num_inputs && i < 2; i++)
		accel.arguments[i] = request->inputs[i];
	accel.arguments[2] = request->outputs[0];
	accel.num_memories = request->num_memories;
	accel.num_tokens = request->num_tokens;
	for (i = 0; i < request->num_tokens && i < 3; i++)
		accel.asked_tokens[i] = request->tokens[i];
	if (accel.blocks) {
		sem_post(&accel.entered);
		sem_wait(&accel.go);
	}
	for (i = 0; i < request->num_outputs; i++) {
		const struct nna_argument *arg = &request->outputs[i];
		/* An output in a device buffer always fits into the buffer. */
		bool fits = arg->pool >= request->num_memories || arg->length >= 16;

		results->shapes[i] = (struct nna_output_shape){ 2, { accel.rows ? accel.rows : 2, 2 }, fits };
		if (!fits)
			accel.execute_status = NN_OUTPUT_INSUFFICIENT_SIZE;
	}
	if (accel.execute_status == NN_OK || accel.execute_status == NN_OUTPUT_INSUFFICIENT_SIZE)
		*results->num_shapes = request->num_outputs;
	if (accel.execute_status)
		return nn_fail(err, accel.execute_status, "%s", accel.reason ? accel.reason : "told to fail");
	if (asks_for_times(options))
		tell_times(request);
	if (!request->num_tokens)
		add(prepared, request);
	if (options->measure)
		*results->timing = (struct nna_timing){ 3, 5 };
	return NN_OK;
}

enum nn_status nna_burst_create(struct nna_prepared_model *prepared,
				const struct nna_burst_options *options,
				struct nna_burst **burst, struct nn_error *err)
{
	(void)options;
	if (accel.burst_status)
		return nn_fail(err, accel.burst_status, "told to fail");
	*burst = malloc(sizeof(**burst));
	(*burst)->prepared = prepared;
	accel.bursts++;
	return NN_OK;
}

void nna_burst_free(struct nna_burst *burst)
{
	if (burst)
		accel.bursts--;
	free(burst);
}

enum nn_status nna_burst_execute(struct nna_burst *burst, const struct nna_request *request,
				 const struct nna_execute_options *options,
				 const struct nna_results *results, struct nn_error *err)
{
	accel.in_bursts++;
	return nna_execute(burst->prepared, request, options, results, err);
}

/* ---- Common functions of the tests ---- */

static inline int reset(void **state)
{
	uint32_t opened = accel.opened;

	memset(&accel, 0, sizeof(accel));
	accel.opened = opened;
	(void)state;
	sem_init(&accel.entered, 0, 0);
	sem_init(&accel.go, 0, 0);
	return 0;
}

static inline const ANeuralNetworksDevice *accelerator(void)
{
	ANeuralNetworksDevice *device;

	assert_ok(ANeuralNetworks_getDevice(0, &device));
	return device;
}

static inline ANeuralNetworksCompilation *for_accelerator(ANeuralNetworksModel *model)
{
	const ANeuralNetworksDevice *device = accelerator();
	ANeuralNetworksCompilation *compilation;

	assert_ok(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
	return compilation;
}

static char last_line[512];

static inline void take_line(void *context, enum nna_log_level level, const char *line)
{
	(void)context;
	(void)level;
	snprintf(last_line, sizeof(last_line), "%s", line);
}

/*
 * Executes a compilation of add_model(), and checks the sum if the execution succeeds. Returns the
 * execution's result.
 */
static inline int compute_sum(ANeuralNetworksCompilation *compilation)
{
	ANeuralNetworksExecution *execution = add_execution(compilation);
	float sum[ADD_ELEMENTS] = { 0 };
	int result;

	assert_ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof(sum)));
	result = ANeuralNetworksExecution_compute(execution);
	if (result == ANEURALNETWORKS_NO_ERROR)
		assert_sum(sum);
	ANeuralNetworksExecution_free(execution);
	return result;
}

#endif /* NN_TESTS_RUNTIME_FAKE_ACCEL_H */
