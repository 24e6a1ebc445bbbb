// SPDX-License-Identifier: MIT
/*
 * An engine for tests of the kit. It has nnacceld's operations and a layout of its own for buffers
 * of memory domains. Lines of the log go through a function, and some inputs make an execution take
 * long.
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

/* ---- buffers: each byte of them is as the client's, exclusive or this ---- */

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

/* Buffers of a scalar or of one element have the common layout. */
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

/* ---- executions ---- */

/* Signals after a while, as hardware would. */
static void *be_hardware(void *arg)
{
	struct exporter *exporter = arg;

	usleep(KIT_ENGINE_FENCE_US);
	nna_engine_log(NNA_ENGINE_INFO, KIT_ENGINE_SIGNALS);
	ioctl(exporter->fd, EXPORTER_SIGNAL);
	exporter_close(exporter);
	free(exporter);
	return NULL;
}

/* Gives the execution's end to the fence of the tests' exporter. */
static bool leave_to_fence(void)
{
	struct exporter *exporter = calloc(1, sizeof(*exporter));
	pthread_t thread;
	int fence = -1;

	if (!exporter || !exporter_open(exporter, 0) || ioctl(exporter->fd, EXPORTER_FENCE, 1))
		return false;
	fence = buffer_fence(exporter->buffer);
	return fence >= 0 && nna_engine_end_with_fence(fence) &&
	       !pthread_create(&thread, NULL, be_hardware, exporter) && !pthread_detach(thread);
}

/* Whether the dma-buf of an argument's memory is that memory. */
static bool look_at_file(const struct nn_arg *arg)
{
	struct nna_engine_region region;
	int file = nna_engine_region_file(arg->data);
	char *bytes = MAP_FAILED;
	bool same = false;

	if (file >= 0 && nna_engine_region(arg->data, &region))
		bytes = mmap(NULL, region.length, PROT_READ, MAP_SHARED, file, 0);
	if (bytes != MAP_FAILED) {
		same = !memcmp(bytes, region.base, region.length);
		munmap(bytes, region.length);
	}
	if (file >= 0)
		close(file);
	return same;
}

/* Uses the first file, with a request. */
static bool use_file(unsigned long request)
{
	char byte;
	int bits;

	return read(nna_engine_file(0), &byte, 1) == 1 &&
	       !ioctl(nna_engine_file(0), request, &bits);
}

/* Obeys the first input, if it is one number. Returns whether it was a command. */
static bool obey(struct nn_execution *e)
{
	struct pollfd gone = { .fd = nna_engine_gone_file(), .events = POLLIN };
	float wish = 0;

	if (e->num_inputs && e->inputs[0].length == sizeof(wish))
		memcpy(&wish, e->inputs[0].data, sizeof(wish));
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
		return leave_to_fence();
	} else if (wish == KIT_ENGINE_EXPORT) {
		return look_at_file(&e->inputs[0]);
	} else if (wish == KIT_ENGINE_READ) {
		return use_file(RNDGETENTCNT);
	} else if (wish == KIT_ENGINE_TIMED) {
		e->device_ns = KIT_ENGINE_DEVICE_US * 1000;
	} else if (wish == KIT_ENGINE_STRAY) {
		return use_file(RNDRESEEDCRNG);
	}
	return true;
}

/* Has the arguments that are such buffers in memory of its own. */
struct plain {
	struct nn_arg *args;		/* inputs, then outputs */
	void **copies;			/* of each, or NULL */
};

static bool begin(const struct nn_execution *e, struct plain *p)
{
	const uint32_t count = e->num_inputs + e->num_outputs;
	bool done = true;

	p->args = calloc(count + 1, sizeof(*p->args));
	p->copies = calloc(count + 1, sizeof(*p->copies));
	for (uint32_t i = 0; i < count && p->args && p->copies; i++) {
		const struct nn_arg *from = i < e->num_inputs ? &e->inputs[i] :
					    &e->outputs[i - e->num_inputs];

		p->args[i] = *from;
		if (!from->data || !nna_engine_buffer(from->data))
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

/* The tests' device does it, which doubles a number of memory that no CPU maps. */
static bool double_by_device(struct nn_execution *e, const struct nna_engine_region *region)
{
	struct exporter_dma word = {
		.offset = (uint32_t)((char *)e->inputs[0].data - (char *)region->base),
	};
	struct exporter_import import = { .fd = nna_engine_region_file(e->inputs[0].data) };
	struct exporter device;
	bool done = false;
	float number;

	if (import.fd < 0 || !exporter_open(&device, 0))
		return false;
	if (!ioctl(device.fd, EXPORTER_IMPORT, &import) && !ioctl(device.fd, EXPORTER_DMA, &word)) {
		memcpy(&number, &word.value, sizeof(number));
		number *= 2;
		memcpy(&word.value, &number, sizeof(number));
		word.offset = (uint32_t)((char *)e->outputs[0].data - (char *)region->base);
		word.write = 1;
		done = !ioctl(device.fd, EXPORTER_DMA, &word);
	}
	exporter_close(&device);
	close(import.fd);
	e->shapes[0] = (struct nn_output_shape){ .rank = 1, .dims = { 1 }, .sufficient = true };
	e->shapes_known = true;
	return done;
}

static enum nn_status execute(const struct nna_engine *engine, void *prepared,
			      struct nn_execution *execution, struct nn_error *err)
{
	struct nn_execution e = *execution;
	struct nna_engine_region region;
	enum nn_status status;
	struct plain p;

	if (e.num_inputs && nna_engine_region(e.inputs[0].data, &region) && region.is_device_memory)
		return double_by_device(execution, &region) ? NN_OK :
		       nn_fail(err, NN_GENERAL_FAILURE, "the device does not reach the memory");
	if (!obey(execution))
		return nn_fail(err, NN_GENERAL_FAILURE, "no fence, dma-buf or file can be had");
	if (begin(execution, &p)) {
		e.inputs = p.args;
		e.outputs = p.args + e.num_inputs;
		status = cpu_engine.execute(engine, prepared, &e, err);
		execution->shapes_known = e.shapes_known;
	} else {
		status = nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	}
	end(execution, &p);
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

/* ---- models ---- */

static enum nn_status prepare(const struct nna_engine *engine, const struct nn_model *model,
			      const struct nna_engine_preparation *how, void **prepared,
			      struct nn_error *err)
{
	nna_engine_log(NNA_ENGINE_INFO, KIT_ENGINE_PREPARES, how->priority);
	return cpu_engine.prepare(engine, model, how, prepared, err);
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

static const uint32_t requests[] = { RNDGETENTCNT };
static const struct nna_engine_file random_file = {
	.size = sizeof(random_file), .use = NNA_ENGINE_FILE_READ, .path = "/dev/urandom",
	.requests = requests, .num_requests = 1,
};
static const struct nna_engine_file *const files[] = { &random_file, NULL };

int main(int argc, char **argv)
{
	struct nna_engine engine = cpu_engine;

	engine.size = sizeof(engine);
	engine.name = "kit-engine";
	engine.prepare = prepare;
	engine.memory = memory;
	engine.takes_device_memory = true;
	engine.begin_burst = begin_burst;
	engine.end_burst = end_burst;
	engine.execute = execute;
	engine.log = write_line;
	engine.buffers = &buffers;
	engine.files = files;
	return nna_engine_main(&engine, argc, argv);
}
