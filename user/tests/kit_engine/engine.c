// SPDX-License-Identifier: MIT
/*
 * An engine for tests of the engine kit. The engine supports the operations of nnacceld, and stores
 * buffers of memory domains in its own layout. The engine writes the log by its own log function.
 * Certain values of an input are commands to the engine, for example to delay the execution.
 */
#include <linux/random.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nnaccel/engine.h>

#include "base/clock.h"
#include "engine/worker/engine.h"
#include "exporters.h"
#include "tests/kit_engine/engine.h"

/* ---- buffers in the engine's own layout: each byte is the client's byte XOR MASK ---- */

#define MASK 0xa5

/* The engine's buffer. */
struct own_buffer {
	uint64_t capacity;
};

static void convert(void *to, const void *from, uint64_t length)
{
	for (uint64_t i = 0; i < length; i++)
		((uint8_t *)to)[i] = ((const uint8_t *)from)[i] ^ MASK;
}

/*
 * Makes a buffer in the engine's own layout; buffers with only one element have the ordinary
 * layout.
 */
static enum nn_status create(const struct nna_engine *engine,
			     const struct nna_engine_new_buffer *wanted, void **buffer,
			     struct nn_error *err)
{
	struct own_buffer *b;

	(void)engine;
	for (uint32_t i = 0; i < wanted->num_roles; i++)
		nna_engine_log(NNA_ENGINE_INFO, KIT_ENGINE_ROLE,
			       wanted->roles[i].is_output ? "output" : "input",
			       wanted->roles[i].index, (int)(wanted->roles[i].frequency * 100));
	if (!wanted->operand->rank || wanted->capacity <= sizeof(float))
		return NN_OK;
	b = malloc(sizeof(*b));
	if (!b)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	b->capacity = wanted->capacity;
	*buffer = b;
	return NN_OK;
}

static void destroy(const struct nna_engine *engine, void *buffer)
{
	(void)engine;
	free(buffer);
}

static enum nn_status copy_in(const struct nna_engine *engine, void *buffer, void *base,
			      const void *from, uint64_t length, struct nn_error *err)
{
	const struct own_buffer *b = buffer;

	(void)engine;
	if (length > b->capacity)
		return nn_fail(err, NN_GENERAL_FAILURE, "more than the buffer holds");
	convert(base, from, length);
	return NN_OK;
}

static enum nn_status copy_out(const struct nna_engine *engine, void *buffer, const void *base,
			       void *to, uint64_t length, struct nn_error *err)
{
	const struct own_buffer *b = buffer;

	(void)engine;
	if (length > b->capacity)
		return nn_fail(err, NN_GENERAL_FAILURE, "more than the buffer holds");
	convert(to, base, length);
	return NN_OK;
}

static const struct nna_engine_buffers buffers = {
	.size = sizeof(buffers), .create = create, .destroy = destroy, .copy_in = copy_in,
	.copy_out = copy_out,
};

/* ---- the device: a thread that ends executions, and the tests' exporter if it is loaded ---- */

#define EXPORTER_PATH "/dev/" EXPORTER_DEVICE

/* A deferred execution, which the device's thread will end. */
struct deferred {
	struct nna_engine_execution *execution;
	struct nn_execution *arguments;
	void *prepared;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	float wish;			/* command for the device's thread; 0 if idle */
	struct deferred work;
	struct deferred queue[KIT_ENGINE_QUEUE];
	uint32_t num_queued;
	int buffer;			/* handle of the exporter's memory, or 0 */
} device = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static enum nn_status end_with_result(const struct nna_engine *engine, const struct deferred *work)
{
	struct nn_error err = { "" };
	enum nn_status status = cpu_engine.execute(engine, work->prepared, work->execution,
						   work->arguments, &err);

	nna_engine_end(work->execution, status, err.message, NULL);
	return status;
}

/*
 * Under the lock. Tries to end the deferred execution twice. For the command KIT_ENGINE_NEVER,
 * end_deferred() first waits until the client is gone.
 */
static void end_deferred(const struct nna_engine *engine)
{
	struct pollfd gone = {
		.fd = nna_engine_gone_file(device.work.execution), .events = POLLIN,
	};
	struct nn_error again = { "" };
	enum nn_status status;

	if (device.wish == KIT_ENGINE_NEVER)
		poll(&gone, 1, -1);
	status = end_with_result(engine, &device.work);
	nna_engine_end(device.work.execution, status, NULL, &again);
	nna_engine_log(NNA_ENGINE_INFO, "was refused: %s", again.message);
}

static void *be_device(void *arg)
{
	pthread_mutex_lock(&device.lock);
	for (;;) {
		while (!device.wish)
			pthread_cond_wait(&device.changed, &device.lock);
		if (device.wish == KIT_ENGINE_FENCED) {
			/*
			 * Wait by poll(), because a sandboxed process may call poll(), but not
			 * sleep functions.
			 */
			poll(NULL, 0, KIT_ENGINE_FENCE_US / 1000);
			nna_engine_log(NNA_ENGINE_INFO, KIT_ENGINE_SIGNALS);
			ioctl(nna_engine_file_at(1), EXPORTER_SIGNAL);
		} else if (device.wish == KIT_ENGINE_QUEUED) {
			while (device.num_queued)
				end_with_result(arg, &device.queue[--device.num_queued]);
		} else {
			end_deferred(arg);
		}
		device.wish = 0;
		pthread_cond_broadcast(&device.changed);
	}
	return NULL;
}

/* Waits until the engine's device is idle; returns with device.lock held. */
static void lock_device(void)
{
	pthread_mutex_lock(&device.lock);
	while (device.wish)
		pthread_cond_wait(&device.changed, &device.lock);
}

static enum nn_status defer(struct nna_engine_execution *execution, void *prepared,
			    struct nn_execution *arguments, float wish)
{
	const struct deferred work = { execution, arguments, prepared };

	lock_device();
	if (wish == KIT_ENGINE_QUEUED)
		device.queue[device.num_queued++] = work;
	else
		device.work = work;
	if (wish != KIT_ENGINE_QUEUED || device.num_queued == KIT_ENGINE_QUEUE)
		device.wish = wish;
	pthread_cond_broadcast(&device.changed);
	pthread_mutex_unlock(&device.lock);
	return NNA_ENGINE_DEFERRED;
}

/* Ends the execution with a fence of another driver; the fence signals after a while. */
static bool leave_to_fence(struct nna_engine_execution *execution)
{
	bool is_fenced;
	int fence = -1;

	lock_device();
	if (!device.buffer)
		device.buffer = ioctl(nna_engine_file_at(1), EXPORTER_CREATE, 0);
	if (device.buffer > 0 && !ioctl(nna_engine_file_at(1), EXPORTER_FENCE, 1))
		fence = buffer_fence(device.buffer);
	if (fence >= 0 && nna_engine_end_with_fence(execution, fence))
		device.wish = KIT_ENGINE_FENCED;
	pthread_cond_broadcast(&device.changed);
	is_fenced = device.wish == KIT_ENGINE_FENCED;
	pthread_mutex_unlock(&device.lock);
	return is_fenced;
}

/* ---- executions ---- */

/* Checks that the dma-buf of an argument's memory has the same contents as the argument. */
static bool look_at_file(struct nna_engine_execution *execution, const struct nn_arg *arg)
{
	struct nna_engine_region region;
	int file = nna_engine_region_file(execution, arg->data);
	char *bytes = MAP_FAILED;
	bool same = false;

	if (file >= 0 && nna_engine_region_of(execution, arg->data, &region))
		bytes = mmap(NULL, region.length, PROT_READ, MAP_SHARED, file, 0);
	if (bytes != MAP_FAILED) {
		same = !memcmp(bytes, region.base, region.length);
		munmap(bytes, region.length);
	}
	if (file >= 0)
		close(file);
	return same;
}

/* Reads the first file that the engine has declared, and calls an ioctl on this file. */
static bool use_file(unsigned long request)
{
	char byte;
	int bits;

	return read(nna_engine_file_at(0), &byte, 1) == 1 &&
	       !ioctl(nna_engine_file_at(0), request, &bits);
}

#define STORED "an entry of the engine's own"

static enum nn_status put_entry(char key, struct nn_error *err)
{
	return nna_engine_store_put(&key, 1, STORED, sizeof(STORED), err);
}

static enum nn_status get_entry(char key, struct nn_error *err)
{
	void *data;
	size_t size;
	enum nn_status status = nna_engine_store_get(&key, 1, &data, &size, err);

	if (!status && (size != sizeof(STORED) || memcmp(data, STORED, size)))
		status = nn_fail(err, NN_GENERAL_FAILURE, "the store has another entry");
	free(data);
	return status;
}

/* Returns the value of the first input if the input is a single number, otherwise 0. */
static float wish_of(const struct nn_execution *e)
{
	float wish = 0;

	if (e->num_inputs && e->inputs[0].length == sizeof(wish))
		memcpy(&wish, e->inputs[0].data, sizeof(wish));
	return wish;
}

/*
 * Executes the command that the first input contains, if the input is a single number. Returns
 * false if the command failed.
 */
static bool obey(struct nna_engine_execution *execution, struct nn_execution *e,
		 struct nn_error *err)
{
	struct pollfd gone = { .fd = nna_engine_gone_file(execution), .events = POLLIN };
	const float wish = wish_of(e);

	if (wish == KIT_ENGINE_LATE) {
		for (uint64_t end_ns = clock_ns() + KIT_ENGINE_LATE_NS; clock_ns() < end_ns;)
			;
	} else if (wish == KIT_ENGINE_UNTIL_GONE) {
		nna_engine_log(NNA_ENGINE_INFO, KIT_ENGINE_WAITS);
		while (gone.fd < 0)
			sched_yield();
		poll(&gone, 1, -1);
		nna_engine_log(NNA_ENGINE_INFO, KIT_ENGINE_TOLD);
	} else if (wish == KIT_ENGINE_FENCED) {
		return leave_to_fence(execution);
	} else if (wish == KIT_ENGINE_EXPORT) {
		return look_at_file(execution, &e->inputs[0]);
	} else if (wish == KIT_ENGINE_READ) {
		return use_file(RNDGETENTCNT);
	} else if (wish == KIT_ENGINE_TIMED) {
		e->device_ns = KIT_ENGINE_DEVICE_US * 1000;
	} else if (wish == KIT_ENGINE_STRAY) {
		return use_file(RNDRESEEDCRNG);
	} else if (wish == KIT_ENGINE_PUT) {
		return !put_entry('e', err);
	} else if (wish == KIT_ENGINE_GET || wish == KIT_ENGINE_GET_FIRST) {
		return !get_entry(wish == KIT_ENGINE_GET ? 'e' : 's', err);
	}
	return true;
}

/*
 * The arguments of an execution in the ordinary layout: copies of arguments that have the engine's
 * own layout, and the other arguments unchanged.
 */
struct plain {
	struct nn_arg *args;		/* inputs, then outputs */
	void **copies;			/* copy of each argument, or NULL if not copied */
};

static bool begin(struct nna_engine_execution *execution, const struct nn_execution *e,
		  struct plain *p)
{
	const uint32_t count = e->num_inputs + e->num_outputs;
	bool done = true;

	p->args = calloc(count + 1, sizeof(*p->args));
	p->copies = calloc(count + 1, sizeof(*p->copies));
	for (uint32_t i = 0; i < count && p->args && p->copies; i++) {
		const struct nn_arg *from = i < e->num_inputs ? &e->inputs[i] :
					    &e->outputs[i - e->num_inputs];

		p->args[i] = *from;
		if (!from->data || !nna_engine_buffer(execution, from->data))
			continue;
		p->copies[i] = malloc(from->length + 1);
		done &= p->copies[i] != NULL;
		if (p->copies[i])
			convert(p->copies[i], from->data, from->length);
		p->args[i].data = p->copies[i];
	}
	return done && p->args && p->copies;
}

static void end(const struct nn_execution *e, struct plain *p)
{
	for (uint32_t i = 0; p->copies && i < e->num_inputs + e->num_outputs; i++) {
		if (p->copies[i] && i >= e->num_inputs)
			convert(e->outputs[i - e->num_inputs].data, p->copies[i],
				e->outputs[i - e->num_inputs].length);
		free(p->copies[i]);
	}
	free(p->copies);
	free(p->args);
}

/*
 * Makes the test's device double a number in memory that no CPU can map. If the doubled number is
 * the command KIT_ENGINE_FENCED, a fence of the test's driver ends the execution.
 */
static bool double_by_device(struct nna_engine_execution *execution, struct nn_execution *e,
			     const struct nna_engine_region *region)
{
	struct exporter_dma word = {
		.offset = (uint32_t)((char *)e->inputs[0].data - (char *)region->base),
	};
	struct exporter_import import = {
		.fd = nna_engine_region_file(execution, e->inputs[0].data),
	};
	bool done = false, is_fenced = false;
	float number;

	if (import.fd < 0)
		return false;
	lock_device();
	if (!ioctl(nna_engine_file_at(1), EXPORTER_IMPORT, &import)) {
		done = !ioctl(nna_engine_file_at(1), EXPORTER_DMA, &word);
		memcpy(&number, &word.value, sizeof(number));
		is_fenced = number == KIT_ENGINE_FENCED;
		number *= 2;
		memcpy(&word.value, &number, sizeof(number));
		word.offset = (uint32_t)((char *)e->outputs[0].data - (char *)region->base);
		word.write = 1;
		done = done && !ioctl(nna_engine_file_at(1), EXPORTER_DMA, &word);
		ioctl(nna_engine_file_at(1), EXPORTER_DETACH);
	}
	pthread_mutex_unlock(&device.lock);
	close(import.fd);
	e->shapes[0] = (struct nn_output_shape){ .rank = 1, .dims = { 1 }, .sufficient = true };
	e->shapes_known = true;
	return done && (!is_fenced || leave_to_fence(execution));
}

static bool await_dependencies(struct nna_engine_execution *execution)
{
	struct pollfd after = { .events = POLLIN };

	if (!nna_engine_dependencies(execution, &after.fd))
		return false;
	if (after.fd < 0)
		return true;
	nna_engine_log(NNA_ENGINE_INFO, KIT_ENGINE_DEPENDS);
	poll(&after, 1, -1);
	close(after.fd);
	return true;
}

static enum nn_status execute(const struct nna_engine *engine, void *prepared,
			      struct nna_engine_execution *execution,
			      struct nn_execution *arguments, struct nn_error *err)
{
	struct nn_execution e = *arguments;
	struct nna_engine_region region;
	enum nn_status status;
	struct plain p;
	float wish;

	if (!await_dependencies(execution))
		return nn_fail(err, NN_GENERAL_FAILURE, "no fence can be had");
	if (e.num_inputs && nna_engine_region_of(execution, e.inputs[0].data, &region) &&
	    region.is_device_memory)
		return double_by_device(execution, arguments, &region) ? NN_OK :
		       nn_fail(err, NN_GENERAL_FAILURE, "the device does not reach the memory");
	wish = wish_of(&e);
	if (wish == KIT_ENGINE_DEFERRED || wish == KIT_ENGINE_NEVER || wish == KIT_ENGINE_QUEUED)
		return defer(execution, prepared, arguments, wish);
	if (wish == KIT_ENGINE_LOST)
		return nn_fail(err, NN_DEAD_OBJECT, KIT_ENGINE_IS_LOST);
	if (!obey(execution, arguments, err))
		return nn_fail(err, NN_GENERAL_FAILURE, "no fence, dma-buf or file can be had");
	if (begin(execution, arguments, &p)) {
		e.inputs = p.args;
		e.outputs = p.args + e.num_inputs;
		status = cpu_engine.execute(engine, prepared, execution, &e, err);
		arguments->shapes_known = e.shapes_known;
	} else {
		status = nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	}
	end(arguments, &p);
	return status;
}

/* ---- bursts ---- */

static atomic_int num_bursts;

static enum nn_status begin_burst(const struct nna_engine *engine, void *prepared,
				  struct nn_error *err)
{
	(void)engine;
	(void)prepared;
	if (atomic_fetch_add(&num_bursts, 1) < KIT_ENGINE_BURSTS)
		return NN_OK;
	atomic_fetch_sub(&num_bursts, 1);
	return nn_fail(err, NN_DEVICE_UNAVAILABLE, KIT_ENGINE_NO_BURST);
}

static void end_burst(const struct nna_engine *engine, void *prepared)
{
	(void)engine;
	(void)prepared;
	atomic_fetch_sub(&num_bursts, 1);
}

/* ---- cache files: nnacceld's two parts, divided into the wanted number of files ---- */

static uint32_t num_model, num_data;

/*
 * The saved form of a model: the size of the model part, the model part, and from the next page on
 * the data part.
 */
struct saved {
	struct nna_engine_image whole;	/* nnacceld's */
	char *bytes;
	size_t model_end, size;
};

static size_t page_end(size_t size)
{
	return (size + NNA_ENGINE_DATA_ALIGN - 1) / NNA_ENGINE_DATA_ALIGN * NNA_ENGINE_DATA_ALIGN;
}

/* Returns the offset of part `i` if `units` are divided into `n` parts; part 0 is never empty. */
static size_t cut(size_t units, uint32_t i, uint32_t n)
{
	return (units * i + n - 1) / n;
}

static enum nn_status save(const struct nna_engine *engine, const void *prepared,
			   struct nna_engine_image *image, struct nn_error *err)
{
	struct saved *s = calloc(1, sizeof(*s));
	enum nn_status status = cpu_engine.save(engine, prepared, &s->whole, err);
	size_t model = s->whole.model[0].size, in_model, pages;

	image->own = s;
	if (status || !model)
		return status;
	s->model_end = sizeof(model) + model;
	s->size = page_end(s->model_end) + s->whole.data_size[0];
	s->bytes = calloc(1, s->size);
	memcpy(s->bytes, &model, sizeof(model));
	memcpy(s->bytes + sizeof(model), s->whole.model[0].base, model);
	if (s->whole.data_size[0])
		cpu_engine.write_data(engine, &s->whole, 0, s->bytes + page_end(s->model_end));
	in_model = !num_model ? 0 : num_data ? s->model_end : s->size;
	for (uint32_t i = 0; i < num_model; i++) {
		size_t at = cut(in_model, i, num_model);

		image->model[i] = (struct nna_engine_part){ s->bytes + at,
							    cut(in_model, i + 1, num_model) - at };
	}
	pages = (s->size - page_end(in_model)) / NNA_ENGINE_DATA_ALIGN;
	for (uint32_t i = 0; i < num_data; i++)
		image->data_size[i] = (cut(pages, i + 1, num_data) - cut(pages, i, num_data)) *
				      NNA_ENGINE_DATA_ALIGN;
	return NN_OK;
}

static void write_data(const struct nna_engine *engine, const struct nna_engine_image *image,
		       uint32_t index, void *data)
{
	const struct saved *s = image->own;
	const char *from = s->bytes + (num_model ? page_end(s->model_end) : 0);

	(void)engine;
	for (uint32_t i = 0; i < index; i++)
		from += image->data_size[i];
	memcpy(data, from, image->data_size[index]);
}

static void end_save(const struct nna_engine *engine, struct nna_engine_image *image)
{
	struct saved *s = image->own;

	if (!s)
		return;
	cpu_engine.end_save(engine, &s->whole);
	free(s->bytes);
	free(s);
}

/* A model that the engine has loaded, and the memory that contains the model's data. */
static struct loaded {
	struct loaded *next;
	void *prepared, *bytes;
} *all_loaded;
static pthread_mutex_t loaded_lock = PTHREAD_MUTEX_INITIALIZER;

static char *append(char *to, const struct nna_engine_part *parts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (parts[i].size)
			memcpy(to, parts[i].base, parts[i].size);
		to += parts[i].size;
	}
	return to;
}

static enum nn_status load(const struct nna_engine *engine, const struct nna_engine_part *model,
			   const struct nna_engine_part *data,
			   const struct nna_engine_preparation *how, void **prepared,
			   struct nn_error *err)
{
	struct nna_engine_part whole = { NULL, 0 }, rest = { NULL, 0 };
	struct loaded *l = calloc(1, sizeof(*l));
	enum nn_status status = NN_GENERAL_FAILURE;
	size_t size = 2 * NNA_ENGINE_DATA_ALIGN, end = 0;
	char *bytes, *at;

	for (uint32_t i = 0; i < num_model; i++)
		size += model[i].size;
	for (uint32_t i = 0; i < num_data; i++)
		size += data[i].size;
	bytes = aligned_alloc(NNA_ENGINE_DATA_ALIGN, page_end(size));
	memset(bytes, 0, page_end(size));
	at = append(bytes, model, num_model);
	at = append(bytes + page_end((size_t)(at - bytes)), data, num_data);
	size = (size_t)(at - bytes);
	memcpy(&whole.size, bytes, sizeof(whole.size));
	if (whole.size <= size && whole.size + sizeof(whole.size) <= size) {
		end = page_end(whole.size + sizeof(whole.size));
		whole.base = malloc(whole.size + 1);
		memcpy(whole.base, bytes + sizeof(whole.size), whole.size);
		rest = (struct nna_engine_part){ bytes + end, size > end ? size - end : 0 };
		status = cpu_engine.load(engine, &whole, &rest, how, prepared, err);
	}
	for (uint32_t i = 0; i < num_model; i++)
		free(model[i].base);
	if (status) {
		free(bytes);
		free(l);
		return status;
	}
	pthread_mutex_lock(&loaded_lock);
	*l = (struct loaded){ all_loaded, *prepared, bytes };
	all_loaded = l;
	pthread_mutex_unlock(&loaded_lock);
	return NN_OK;
}

static void release(const struct nna_engine *engine, void *prepared)
{
	struct loaded **at = &all_loaded, *l;

	pthread_mutex_lock(&loaded_lock);
	while ((l = *at) && l->prepared != prepared)
		at = &l->next;
	if (l)
		*at = l->next;
	pthread_mutex_unlock(&loaded_lock);
	cpu_engine.release(engine, prepared);
	if (l)
		free(l->bytes);
	free(l);
}

/*
 * Sets the engine's numbers of model and data cache files from the environment variable
 * KIT_ENGINE_FILES, if this variable exists.
 */
static void cut_files(struct nna_engine *engine)
{
	const char *text = getenv(KIT_ENGINE_FILES);

	if (!text || sscanf(text, "%u %u", &num_model, &num_data) != 2)
		return;
	engine->model_cache_files = num_model;
	engine->data_cache_files = num_data;
	engine->save = save;
	engine->write_data = write_data;
	engine->end_save = end_save;
	engine->load = load;
	engine->release = release;
}

/* ---- models ---- */

static enum nn_status prepare(const struct nna_engine *engine, const struct nn_model *model,
			      const struct nna_engine_preparation *how, void **prepared,
			      struct nn_error *err)
{
	nna_engine_log(NNA_ENGINE_INFO, KIT_ENGINE_PREPARES, how->priority);
	return cpu_engine.prepare(engine, model, how, prepared, err);
}

/*
 * Logs the priority as prepare() does, because with --cache-all the engine may load a model that an
 * earlier test cached.
 */
static enum nn_status load_cached(const struct nna_engine *engine, const struct nna_engine_part *model,
				const struct nna_engine_part *data,
				const struct nna_engine_preparation *how, void **prepared,
				struct nn_error *err)
{
	nna_engine_log(NNA_ENGINE_INFO, KIT_ENGINE_PREPARES, how->priority);
	return cpu_engine.load(engine, model, data, how, prepared, err);
}

static void memory(const struct nna_engine *engine, const void *prepared,
		   struct nna_engine_memory *taken)
{
	cpu_engine.memory(engine, prepared, taken);
	taken->device = KIT_ENGINE_DEVICE_KIB << 10;
}

/* ---- the engine ---- */

static void write_line(const struct nna_engine *engine, enum nna_engine_level level,
		       const char *line)
{
	char text[1100];
	int length = snprintf(text, sizeof(text), "%s of level %d: %s\n", engine->name, level, line);

	if (write(STDERR_FILENO, text, (size_t)length) < 0)
		return;
}

/* While the engine starts, the engine can use its store only if threads serve the clients. */
static bool start(const struct nna_engine *engine)
{
	pthread_t thread;

	put_entry('s', NULL);
	return cpu_engine.start(engine) &&
	       !pthread_create(&thread, NULL, be_device, (void *)engine) &&
	       !pthread_detach(thread);
}

static const uint32_t requests[] = { RNDGETENTCNT };
static const struct nna_engine_file random_file = {
	.size = sizeof(random_file), .use = NNA_ENGINE_FILE_READ, .path = "/dev/urandom",
	.requests = requests, .num_requests = 1,
};
static const uint32_t exporter_requests[] = {
	EXPORTER_CREATE, EXPORTER_FENCE, EXPORTER_SIGNAL, EXPORTER_IMPORT, EXPORTER_DMA,
	EXPORTER_DETACH,
};
static const struct nna_engine_file exporter_file = {
	.size = sizeof(exporter_file), .use = NNA_ENGINE_FILE_WRITE, .path = EXPORTER_PATH,
	.requests = exporter_requests,
	.num_requests = sizeof(exporter_requests) / sizeof(exporter_requests[0]),
};
static const struct nna_engine_file *files[] = { &random_file, NULL, NULL };

int main(int argc, char **argv)
{
	struct nna_engine engine = cpu_engine;

	engine.size = sizeof(engine);
	engine.name = "kit-engine";
	engine.prepare = prepare;
	engine.load = load_cached;
	engine.memory = memory;
	engine.takes_device_memory = true;
	engine.begin_burst = begin_burst;
	engine.end_burst = end_burst;
	engine.execute = execute;
	engine.log = write_line;
	engine.buffers = &buffers;
	engine.files = files;
	if (!access(EXPORTER_PATH, R_OK | W_OK)) {
		files[1] = &exporter_file;
		engine.permissions = NNA_ENGINE_MAY_USE_DRIVERS;
		/*
		 * The test engine declares only_devices, although it computes on the CPU. In the
		 * tests' virtual machines, the CPU can read memory that a device has written
		 * without any sync.
		 */
		engine.only_devices = true;
		engine.takes_fences = true;
	}
	engine.start = start;
	engine.store_identity = getenv(KIT_ENGINE_IDENTITY);
	cut_files(&engine);
	return nna_engine_main(&engine, argc, argv);
}
