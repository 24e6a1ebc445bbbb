// SPDX-License-Identifier: MIT
/*
 * The functions of the Vulkan engine that libnnaccel-engine calls. All clients that threads serve
 * share one GPU; if the GPU is lost, the engine opens the GPU again. A client's process opens the
 * GPU once, and ends if the GPU is lost.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/dma-buf.h>

#include "base/build_id.h"
#include "base/clock.h"
#include "vulkan/capabilities.h"
#include "vulkan/domain.h"
#include "vulkan/engine.h"
#include "vulkan/import.h"
#include "vulkan/lower.h"
#include "vulkan/prepared.h"

static struct {
	pthread_mutex_t lock;
	const char *wanted;
	const char *folder;
	bool gpu_waits;
	bool is_process;		/* this process serves one client */
	struct gpu *gpu;		/* under the lock */
	uint32_t stored; /* number of the GPU's pipelines that are saved in the engine's store */
	bool has_speed;			/* under the lock */
	struct capabilities speed;	/* speed of `gpu`, if has_speed is set; under the lock */
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

void vulkan_engine_choose(const char *wanted, const char *folder, bool gpu_waits)
{
	state.wanted = wanted;
	state.folder = folder;
	state.gpu_waits = gpu_waits;
}

/* ---- Clients' processes ---- */

/* Variables that clients' processes get: the engine's own, and those of the driver. */
static const char *const environment[] = {
	VULKAN_FACTS, "VK_DRIVER_FILES", "VK_ICD_FILENAMES", "GALLIVM_PERF", "LP_NATIVE_VECTOR_WIDTH",
	"LP_NUM_THREADS", NULL,
};

/* Sets VULKAN_FACTS once, before the first client. */
static void set_facts(const struct capabilities *speed)
{
	char text[128];

	if (vulkan_engine.clients != NNA_ENGINE_CLIENTS_EITHER || getenv(VULKAN_FACTS))
		return;
	snprintf(text, sizeof(text), "%x %g %g %g", vulkan_engine.permissions,
		 (double)speed->float32, (double)speed->float16, (double)speed->quant8);
	setenv(VULKAN_FACTS, text, 1);
}

bool vulkan_engine_enter_process(const char *facts)
{
	struct nn_error err = { "" };
	struct capabilities *speed = &state.speed;

	if (sscanf(facts, "%x %f %f %f", &vulkan_engine.permissions, &speed->float32,
		   &speed->float16, &speed->quant8) != 4)
		return false;
	state.is_process = state.has_speed = true;
	state.wanted = "software";
	/* The process could neither read nor write the driver's cache of shaders. */
	setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
	if (!gpu_load(&err))
		return true;
	nna_engine_log(NNA_ENGINE_ERROR, "%s", err.message);
	return false;
}

/* ---- Pipelines in the engine's store ---- */

/* Makes the key of stored pipelines from the engine's build id, the driver and the GPU. */
static int key_of(const struct gpu *gpu, char key[256])
{
	char build[BUILD_ID_TEXT];

	build_id(build);
	return snprintf(key, 256, "pipelines %.40s %s %08x %s", build, gpu->driver_uuid,
			gpu->driver_version, gpu->name.uuid);
}

static void load_pipelines(struct gpu *gpu)
{
	struct nn_error err = { "" };
	char key[256];
	void *data;
	size_t size;

	if (nna_engine_store_get(key, (size_t)key_of(gpu, key), &data, &size, &err))
		return;
	if (!pipelines_load(gpu, data, size))
		nna_engine_log(NNA_ENGINE_WARNING,
			       "the stored pipelines do not fit %s: they are made again",
			       gpu->name.name);
	free(data);
}

/* If some pipelines of the GPU are not in the engine's store yet, stores all pipelines. */
static void store_pipelines(struct gpu *gpu)
{
	struct nn_error err = { "" };
	bool is_new = false;
	char key[256];
	void *data;
	size_t size;

	pthread_mutex_lock(&state.lock);
	if (gpu == state.gpu) {
		is_new = state.stored != pipelines_count(gpu);
		state.stored = pipelines_count(gpu);
	}
	pthread_mutex_unlock(&state.lock);
	data = is_new ? pipelines_save(gpu, &size) : NULL;
	if (data && nna_engine_store_put(key, (size_t)key_of(gpu, key), data, size, &err))
		nna_engine_log(NNA_ENGINE_DEBUG, "pipelines are not stored: %s", err.message);
	free(data);
}

static enum nn_status open_gpu(struct nn_error *err)
{
	enum nn_status status = gpu_open(state.wanted, &state.gpu, err);

	state.stored = 0;
	state.has_speed = state.is_process;
	if (status)
		return status;
	if (state.is_process) {
		state.gpu->when_lost = NN_DEAD_OBJECT;
		/* Without /dev/udmabuf lavapipe has no sync_files, even if it says that it does. */
		state.gpu->can &= ~GPU_SYNC_FILE;
	}
	load_pipelines(state.gpu);
	return status;
}

/* Returns the GPU and takes a reference to the GPU, which the caller must release. */
static enum nn_status take_gpu(struct gpu **gpu, struct nn_error *err)
{
	enum nn_status status = NN_OK;

	pthread_mutex_lock(&state.lock);
	if (state.gpu && gpu_is_lost(state.gpu) && state.is_process) {
		status = nn_fail(err, NN_DEAD_OBJECT, "the GPU was lost; prepare the model again");
	} else if (state.gpu && gpu_is_lost(state.gpu)) {
		nna_engine_log(NNA_ENGINE_WARNING, "%s was lost: it is opened again",
			       state.gpu->name.name);
		gpu_release(state.gpu);
		state.gpu = NULL;
	}
	if (!state.gpu)
		status = open_gpu(err);
	if (!status)
		*gpu = gpu_hold(state.gpu);
	pthread_mutex_unlock(&state.lock);
	return status;
}

/*
 * Sets the device's performance figures. The power consumption of a GPU is unknown, so it is
 * reported as equal to the CPU's.
 */
static void set_speed(struct nn_device_info *info, const struct capabilities *c)
{
	static const int32_t types[] = {
		NN_TENSOR_FLOAT32, NN_TENSOR_INT32, NN_TENSOR_BOOL8, NN_FLOAT32, NN_INT32, NN_BOOL,
	};
	static const int32_t fp16_types[] = { NN_TENSOR_FLOAT16, NN_FLOAT16 };
	static const int32_t byte_types[] = {
		NN_TENSOR_QUANT8_ASYMM, NN_TENSOR_QUANT8_ASYMM_SIGNED, NN_TENSOR_QUANT8_SYMM,
		NN_TENSOR_QUANT8_SYMM_PER_CHANNEL,
	};
	const struct nn_performance real = { c->float32, c->float32 };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		info->operand[types[i]] = real;
	for (size_t i = 0; i < sizeof(fp16_types) / sizeof(fp16_types[0]); i++)
		info->operand[fp16_types[i]] = (struct nn_performance){ c->float16, c->float16 };
	for (size_t i = 0; i < sizeof(byte_types) / sizeof(byte_types[0]); i++)
		info->operand[byte_types[i]] = (struct nn_performance){ c->quant8, c->quant8 };
	info->relaxed_scalar = info->relaxed_tensor = real;
}

/* Measures the GPU's speed once, because the engine describes the device for each client. */
static enum nn_status get_speed(struct gpu *gpu, struct capabilities *speed, struct nn_error *err)
{
	enum nn_status status = NN_OK;

	pthread_mutex_lock(&state.lock);
	if (!state.has_speed)
		status = capabilities_get(gpu, state.folder, &state.speed, err);
	state.has_speed = !status;
	*speed = state.speed;
	if (!status)
		set_facts(speed);
	pthread_mutex_unlock(&state.lock);
	return status;
}

static void describe(const struct nna_engine *engine, struct nn_device_info *info)
{
	struct capabilities speed;
	char build[BUILD_ID_TEXT];
	struct nn_error err = { "" };
	struct gpu *gpu = NULL;
	const struct vulkan_op *op;

	(void)engine;
	build_id(build);
	if (take_gpu(&gpu, &err) || get_speed(gpu, &speed, &err))
		nna_engine_log(NNA_ENGINE_ERROR, "%s", err.message);
	else
		set_speed(info, &speed);
	snprintf(info->version, sizeof(info->version), "%.40s-%08x", build,
		 gpu ? gpu->driver_version : 0);
	info->type = NN_DEVICE_GPU;
	info->feature_level = 8;
	if (gpu)
		info->memory = import_way_of(gpu);
	info->copies = prepared_copies();
	for (uint32_t i = 0; (op = vulkan_op_at(i)) && !nn_is_own(op->code); i++)
		info->operations[op->code / 8] |= (uint8_t)(1 << op->code % 8);
	gpu_release(gpu);
}

static void refused(uint32_t operation, const char *reason)
{
	nna_engine_log(NNA_ENGINE_DEBUG, "operation %u: %s", operation, reason);
}

static enum nn_status supported(const struct nna_engine *engine, const struct nn_model *model,
				bool *operations, struct nn_error *err)
{
	enum nn_status status = nn_ops_check_model(model, operations, err);
	struct gpu *gpu = NULL;

	(void)engine;
	if (!status)
		status = take_gpu(&gpu, err);
	if (!status)
		status = graph_supported(model, &gpu->limits, operations, refused, err);
	gpu_release(gpu);
	return status;
}

static enum nn_status prepare(const struct nna_engine *engine, const struct nn_model *model,
			      const struct nna_engine_preparation *how, void **prepared,
			      struct nn_error *err)
{
	enum nn_status status = nn_ops_check_model(model, NULL, err);
	struct prepared *made = NULL;
	struct gpu *gpu = NULL;

	(void)engine;
	(void)how;
	if (!status)
		status = take_gpu(&gpu, err);
	if (!status)
		status = prepared_create(gpu, model, &made, err);
	if (!status)
		store_pipelines(gpu);
	gpu_release(gpu);
	*prepared = made;
	return status;
}

static void release(const struct nna_engine *engine, void *prepared)
{
	(void)engine;
	prepared_release(prepared);
}

static void memory(const struct nna_engine *engine, const void *prepared,
		   struct nna_engine_memory *memory)
{
	struct prepared_facts facts;

	(void)engine;
	prepared_facts((struct prepared *)prepared, &facts);
	*memory = (struct nna_engine_memory){
		.weights = facts.staging, .device = facts.weights + facts.temporaries,
	};
}

/* ---- Saved models: in their wire form, with constants; the engine's store has the pipelines ---- */

static enum nn_status save(const struct nna_engine *engine, const void *prepared,
			   struct nna_engine_image *image, struct nn_error *err)
{
	(void)engine;
	return nna_engine_pack(prepared_model(prepared), &image->model[0].base,
			       &image->model[0].size, err);
}

static void end_save(const struct nna_engine *engine, struct nna_engine_image *image)
{
	(void)engine;
	free(image->model[0].base);
}

static enum nn_status load(const struct nna_engine *engine, const struct nna_engine_part *part,
			   const struct nna_engine_part *data,
			   const struct nna_engine_preparation *how, void **prepared,
			   struct nn_error *err)
{
	struct nn_model *model = NULL;
	enum nn_status status = nna_engine_unpack(part->base, part->size, &model, err);

	(void)data;
	free(part->base);
	if (!status)
		status = prepare(engine, model, how, prepared, err);
	if (status)
		nn_model_free(model);
	else
		prepared_own_model(*prepared, model);
	return status;
}

static const struct nn_subgraph *signature(const struct nna_engine *engine, const void *prepared)
{
	(void)engine;
	return &prepared_model(prepared)->subgraphs[0];
}

/* ---- Executions ---- */

static const struct nn_arg *argument_at(const struct nn_execution *e, uint32_t i)
{
	return i < e->num_inputs ? &e->inputs[i] : &e->outputs[i - e->num_inputs];
}

/*
 * Finds an argument in a domain or in imported memory, and sets *place. Arguments with indices are
 * copied, because clients must not change indices that the CPU has checked.
 */
static enum nn_status find_place(const struct prepared *p, struct nna_engine_execution *execution,
				 const struct nn_execution *e, uint32_t i, struct place *place,
				 struct nn_error *err)
{
	const void *data = argument_at(e, i)->data;
	const struct domain *domain = nna_engine_buffer(execution, data);
	struct nna_engine_region region;

	if (domain)
		return domain_place(domain, prepared_gpu(p), argument_at(e, i)->length, place, err);
	if (!prepared_checks(p, i))
		return import_place(prepared_gpu(p), execution, data, i >= e->num_inputs, place, err);
	if (nna_engine_region_of(execution, data, &region) && region.is_device_memory)
		return nn_fail(err, NN_GENERAL_FAILURE, "input %u: the CPU cannot map its indices",
			       i);
	return NN_OK;
}

/* Waits for the sync_file on which an execution depends, if the execution has one. */
static enum nn_status await(const struct prepared_files *files, uint64_t deadline_ns,
			    struct nn_error *err)
{
	struct pollfd ends[] = {
		{ .fd = files->after, .events = POLLIN }, { .fd = files->gone, .events = POLLIN },
	};

	while (files->after >= 0 && !ends[0].revents) {
		if (ends[1].revents)
			return nn_fail(err, NN_GENERAL_FAILURE, "the client is gone");
		if (deadline_ns && clock_ns() >= deadline_ns)
			return nn_fail(err, NN_MISSED_DEADLINE_TRANSIENT, "the deadline has passed");
		poll(ends, 2, clock_ms_until(deadline_ns ? deadline_ns : UINT64_MAX));
	}
	return NN_OK;
}

/*
 * For each argument that the CPU copies from or to a dma-buf, begins or ends the CPU's access to
 * the dma-buf. The function access_copies() is needed only if vulkan_engine.only_devices is set,
 * because the kernel then begins and ends no CPU accesses itself. Memory other than dma-bufs needs
 * no DMA_BUF_IOCTL_SYNC.
 */
static enum nn_status access_copies(struct nna_engine_execution *execution,
				    const struct nn_execution *e, const struct place *places,
				    uint64_t flags, struct nn_error *err)
{
	for (uint32_t i = 0; i < e->num_inputs + e->num_outputs; i++) {
		const struct dma_buf_sync sync = {
			flags | (i < e->num_inputs ? DMA_BUF_SYNC_READ : DMA_BUF_SYNC_RW),
		};
		const int file = places[i].buffer || argument_at(e, i)->omitted ? -1 :
				 nna_engine_region_file(execution, argument_at(e, i)->data);
		int failed;

		if (file < 0)
			continue;
		do
			failed = ioctl(file, DMA_BUF_IOCTL_SYNC, &sync);
		while (failed && (errno == EINTR || errno == EAGAIN));
		close(file);
		if (failed)
			return nn_fail(err, NN_GENERAL_FAILURE,
				       "the CPU cannot access the memory of argument %u", i);
	}
	return NN_OK;
}

/*
 * Executes the model after the fences of the arguments' memory have signalled. The CPU waits for
 * the fences of the arguments' memory if the CPU copies arguments or if the GPU cannot wait;
 * otherwise the GPU waits.
 */
static enum nn_status compute(struct prepared *p, struct nna_engine_execution *execution,
			      struct nn_execution *e, const struct place *places, bool copies,
			      struct prepared_files *files, struct nn_error *err)
{
	struct nn_error ignored = { "" };
	enum nn_status status = NN_OK;

	if (copies || !prepared_waits(p)) {
		status = await(files, e->deadline_ns, err);
		if (files->after >= 0)
			close(files->after);
		files->after = -1;
	}
	if (status)
		return status;
	copies = copies && vulkan_engine.only_devices;
	if (copies)
		status = access_copies(execution, e, places, DMA_BUF_SYNC_START, err);
	if (!status)
		status = prepared_begin(p, e, places, files, err);
	if (copies)
		access_copies(execution, e, places, DMA_BUF_SYNC_END, &ignored);
	return status;
}

static enum nn_status execute(const struct nna_engine *engine, void *prepared,
			      struct nna_engine_execution *execution,
			      struct nn_execution *arguments, struct nn_error *err)
{
	const uint32_t count = arguments->num_inputs + arguments->num_outputs;
	struct prepared_files files = { nna_engine_gone_file(execution), -1, -1 };
	struct place *places = calloc(count + 1, sizeof(*places));
	enum nn_status status = NN_OK;
	bool copies = false;

	(void)engine;
	if (!places)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	for (uint32_t i = 0; !status && i < count; i++) {
		if (argument_at(arguments, i)->omitted)
			continue;
		status = find_place(prepared, execution, arguments, i, &places[i], err);
		copies |= !places[i].buffer;
	}
	if (!status && !nna_engine_dependencies(execution, &files.after))
		status = nn_fail(err, NN_GENERAL_FAILURE, "cannot get the fences before: %s",
				 strerror(errno));
	if (!status)
		status = compute(prepared, execution, arguments, places, copies, &files, err);
	if (files.after >= 0)
		close(files.after);
	if (files.end >= 0 && !nna_engine_end_with_fence(execution, files.end)) {
		close(files.end);
		status = prepared_finish(prepared, err);
	}
	free(places);
	return status;
}

/* ---- Buffers of memory domains ---- */

/*
 * Returns the GPU that all models of a buffer's roles are prepared for. Returns NULL if the models
 * have different GPUs, or if the CPU checks the buffer's contents.
 */
static struct gpu *gpu_of_roles(const struct nna_engine_new_buffer *wanted)
{
	struct gpu *gpu = prepared_gpu(wanted->roles[0].prepared);

	for (uint32_t i = 0; i < wanted->num_roles; i++) {
		const struct nna_engine_role *role = &wanted->roles[i];

		if (prepared_gpu(role->prepared) != gpu ||
		    (!role->is_output && prepared_checks(role->prepared, role->index)))
			return NULL;
	}
	return gpu;
}

/*
 * Makes a domain for a buffer. With only_devices, the engine cannot copy between a domain and a
 * client's memory, so the buffer stays in memory that the GPU imports.
 */
static enum nn_status create_buffer(const struct nna_engine *engine,
				    const struct nna_engine_new_buffer *wanted, void **buffer,
				    struct nn_error *err)
{
	struct gpu *gpu = engine->only_devices ? NULL : gpu_of_roles(wanted);
	struct domain *domain = NULL;
	enum nn_status status = NN_OK;

	if (gpu)
		status = domain_create(gpu, wanted->capacity, &domain, err);
	*buffer = domain;
	return status;
}

static void destroy_buffer(const struct nna_engine *engine, void *buffer)
{
	(void)engine;
	domain_release(buffer);
}

static enum nn_status copy_in(const struct nna_engine *engine, void *buffer, void *base,
			      const void *from, uint64_t length, struct nn_error *err)
{
	(void)engine;
	(void)base;
	return domain_write(buffer, from, length, err);
}

static enum nn_status copy_out(const struct nna_engine *engine, void *buffer, const void *base,
			       void *to, uint64_t length, struct nn_error *err)
{
	(void)engine;
	(void)base;
	return domain_read(buffer, to, length, err);
}

static const struct nna_engine_buffers buffers = {
	.size = sizeof(buffers), .create = create_buffer, .destroy = destroy_buffer,
	.copy_in = copy_in, .copy_out = copy_out,
};

static void forget_region(const struct nna_engine *engine, const struct nna_engine_region *region)
{
	(void)engine;
	import_forget(region->base);
}

void vulkan_engine_choose_clients(void)
{
	struct nn_error err = { "" };
	struct gpu *gpu = NULL;

	/* describe() reports a failure. */
	if (take_gpu(&gpu, &err))
		return;
	if (gpu->name.is_lavapipe) {
		vulkan_engine.clients = NNA_ENGINE_CLIENTS_EITHER;
		vulkan_engine.permissions = NNA_ENGINE_MAY_MAKE_CODE;
		/* A lavapipe that imports dma-bufs also allocates its memory in a file. */
		vulkan_engine.takes_device_memory = import_way_of(gpu) == NN_DEVICE_MEMORY_DMA_BUF;
		if (vulkan_engine.takes_device_memory)
			vulkan_engine.permissions |= NNA_ENGINE_MAY_USE_DRIVERS |
						     NNA_ENGINE_MAY_GROW_FILES;
	}
	gpu_release(gpu);
}

/*
 * Executes a small model, so that the driver makes the system calls that it makes only once, such
 * as those at the start of its compiler. A convolution would be compiled for seconds.
 */
static enum nn_status warm_up(struct gpu *gpu, struct nn_error *err)
{
	static const uint32_t input = 0, output = 1;
	const struct nn_operand operands[] = {
		{ .type = NN_TENSOR_FLOAT32, .lifetime = NN_SUBGRAPH_INPUT, .rank = 1, .dims = { 1 } },
		{ .type = NN_TENSOR_FLOAT32, .lifetime = NN_SUBGRAPH_OUTPUT, .rank = 1, .dims = { 1 } },
	};
	const struct nn_operation relu = { NN_OP_RELU, 1, 1, &input, &output };
	const struct nn_subgraph main = {
		.num_operands = 2, .num_operations = 1, .num_inputs = 1, .num_outputs = 1,
		.operands = operands, .operations = &relu, .inputs = &input, .outputs = &output,
	};
	const struct nn_model model = {
		.size = sizeof(model), .num_subgraphs = 1, .subgraphs = &main,
	};
	float from = 0, to;
	const struct nn_arg in = { .data = &from, .length = sizeof(from) };
	const struct nn_arg out = { .data = &to, .length = sizeof(to) };
	struct nn_execution e = { .num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out };
	struct prepared *prepared = NULL;
	enum nn_status status = prepared_create(gpu, &model, &prepared, err);

	if (status)
		return status;
	status = prepared_execute(prepared, &e, -1, err);
	prepared_release(prepared);
	return status;
}

/*
 * Opens the GPU, so that a missing GPU is reported before clients connect. In a client's process,
 * start() runs before the filter of system calls is loaded, so all of the driver's threads start
 * here.
 */
static bool start(const struct nna_engine *engine)
{
	struct nn_error err = { "" };
	struct gpu *gpu = NULL;
	bool can_wait;

	(void)engine;
	if (take_gpu(&gpu, &err) ||
	    (state.is_process && warm_up(gpu, &err))) {
		nna_engine_log(NNA_ENGINE_ERROR, "%s", err.message);
		gpu_release(gpu);
		return false;
	}
	nna_engine_log(state.is_process ? NNA_ENGINE_DEBUG : NNA_ENGINE_INFO,
		       "computes on %s; clients' memory is %s", gpu->name.name,
		       import_way_name(import_way_of(gpu)));
	/* The store was not open yet when describe() opened the GPU. */
	load_pipelines(gpu);
	vulkan_engine.takes_device_memory = import_way_of(gpu) == NN_DEVICE_MEMORY_DMA_BUF;
	can_wait = vulkan_engine.takes_device_memory && gpu->can & GPU_SYNC_FILE;
	gpu_release(gpu);
	if (state.gpu_waits && !can_wait) {
		nna_engine_log(NNA_ENGINE_ERROR, "--gpu-waits: the driver cannot wait for fences; "
			       "start without it");
		return false;
	}
	vulkan_engine.only_devices = vulkan_engine.takes_fences = state.gpu_waits;
	return true;
}

struct nna_engine vulkan_engine = {
	.size = sizeof(vulkan_engine),
	.clients = NNA_ENGINE_CLIENTS_THREADS,
	.name = "vulkan",
	.store_identity = "pipelines",
	.model_cache_files = 1,
	.describe = describe,
	.supported = supported,
	.prepare = prepare,
	.release = release,
	.memory = memory,
	.execute = execute,
	.save = save,
	.end_save = end_save,
	.load = load,
	.signature = signature,
	.forget_region = forget_region,
	.buffers = &buffers,
	.start = start,
	.environment = environment,
	.help = "  --gpu NAME                a part of the GPU's name, or its UUID (the first GPU)\n"
		"                            software: a driver that computes on the CPU, for tests\n"
		"  --gpu-waits               let the GPU wait for fences of clients; one that is late\n"
		"                            delays all clients, which threads then serve\n"
		"  --list-gpus               prints names and UUIDs, and ends\n"
		"  --list-operations         prints supported operations and types, and ends\n",
};
