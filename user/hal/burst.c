/* SPDX-License-Identifier: MIT */
/*
 * Bursts: executions through rings in memory shared with the worker.
 */
#define _GNU_SOURCE
#include "burst.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "deferred.h"
#include "error.h"
#include "execute.h"
#include "memory.h"
#include "ring/packet.h"
#include "ring/regions.h"
#include "sized.h"
#include "slots.h"
#include "submit.h"

/* Initial number of elements of an array that grows on demand. */
#define FIRST_ROOM 16

struct nna_burst {
	struct nna_device *device;
	struct nna_prepared_model *prepared;
	/* neighbours in a list that the device's bursts_lock protects */
	struct nna_burst *next, *previous;
	int fd;
	struct nn_rings rings;
	struct nn_region doorbell;
	struct nna_slots slots;

	atomic_flag busy;	/* flag; the thread that has set it may use the fields below */
	bool broken;	/* true: the rings are corrupt, so nothing uses the rings any more */
	struct nn_ring ring;
	struct nnaccel_datum *datums;	/* [capacity] */
	uint32_t capacity;

	/* Arrays of the current packet, which grow on demand. */
	struct nnaccel_arg *args;
	struct nnaccel_shape *shapes;
	uint32_t *numbers;		/* slots of the request's memories */
	uint32_t max_args, max_shapes, max_numbers;
	char message[NN_RESULT_MESSAGE];
};

static int burst_call(const struct nna_burst *b, struct nnaccel_burst_slot *slot)
{
	return b->device->direct ?
	       direct_burst_call(b->device->direct, b->fd, NNACCEL_BURST_SLOT, slot) :
	       ioctl(b->fd, NNACCEL_BURST_SLOT, slot);
}

/* ---- the list of a device's bursts ---- */

static void link_burst(struct nna_burst *b)
{
	b->next = b->device->bursts;
	if (b->next)
		b->next->previous = b;
	b->device->bursts = b;
}

static void unlink_burst(struct nna_burst *b)
{
	if (b->next)
		b->next->previous = b->previous;
	if (b->previous)
		b->previous->next = b->next;
	else
		b->device->bursts = b->next;
}

void nna_bursts_interrupt(struct nna_device *device, const struct nna_burst *burst)
{
	pthread_mutex_lock(&device->bursts_lock);
	for (struct nna_burst *b = device->bursts; b; b = b->next)
		if (b == burst)
			nn_ring_interrupt(&b->ring);
	pthread_mutex_unlock(&device->bursts_lock);
}

void nna_bursts_forget(struct nna_memory *memory)
{
	struct nnaccel_burst_slot f = { .size = sizeof(f) };

	pthread_mutex_lock(&memory->device->bursts_lock);
	for (struct nna_burst *b = memory->device->bursts; b; b = b->next)
		if (nna_slots_remove(&b->slots, memory, &f.slot))
			burst_call(b, &f);
	pthread_mutex_unlock(&memory->device->bursts_lock);
}

/* ---- creation ---- */

static void *map_region(const void *end, size_t length, int prot, uint64_t region)
{
	const struct nna_burst *b = end;

	return b->device->direct ?
	       direct_burst_map(b->device->direct, b->fd, length, prot, region) :
	       mmap(NULL, length, prot, MAP_SHARED, b->fd, (off_t)region);
}

static enum nn_status map_rings(struct nna_burst *b, uint64_t spin_ns, struct nn_error *err)
{
	struct nn_ring_map map;

	if (!nn_rings_map(&b->rings, map_region, b, true, &map) ||
	    !nn_region_map(&b->doorbell, map_region, b, NNACCEL_BURST_DOORBELL, sizeof(uint32_t),
			   PROT_READ | PROT_WRITE))
		return nna_fail_errno(b->device, "burst", errno, err);
	map.doorbell = b->doorbell.base;
	if (nn_ring_init(&b->ring, &map, spin_ns))
		return nn_fail(err, NN_GENERAL_FAILURE, "burst: the kernel's ring sizes are invalid");
	b->capacity = map.capacity;
	b->datums = malloc(b->capacity * sizeof(*b->datums));
	if (!b->datums)
		return nn_fail(err, NN_OUT_OF_MEMORY, "burst: out of memory");
	return NN_OK;
}

static enum nn_status create(struct nna_burst *b, const struct nna_burst_options *options,
			     struct nn_error *err)
{
	const int spin_us = !options->spin_us ? -1 : options->spin_us < 0 ? 0 : options->spin_us;
	const uint64_t spin_ns = nn_spin_budget(spin_us, b->prepared->low_power);
	char message[NNACCEL_MAX_MESSAGE] = "";
	struct nnaccel_burst_create c = {
		.size = sizeof(c),
		.flags = NNACCEL_BURST_CLOEXEC | (spin_ns ? 0 : NNACCEL_BURST_NO_SPIN),
		.model = b->prepared->id,
		.capacity = options->capacity,
		.message = (uintptr_t)message,
		.message_size = sizeof(message),
	};
	int error = nna_ask(b->device, NNACCEL_WORK_BURST, &c);

	if (error)
		return nna_fail_errno(b->device, "burst", error, err);
	if (c.out_status)
		return nna_fail_status("burst", c.out_status, message, err);
	b->fd = c.out_fd;
	return map_rings(b, spin_ns, err);
}

static enum nn_status publish(struct nna_burst *b, struct nn_error *err)
{
	int error;

	pthread_mutex_lock(&b->device->bursts_lock);
	error = nna_watcher_add(b->device, b, b->fd);
	if (!error)
		link_burst(b);
	pthread_mutex_unlock(&b->device->bursts_lock);
	return error ? nna_fail_errno(b->device, "burst", error, err) : NN_OK;
}

/* Frees a burst that is not in the device's list. */
static void delete(struct nna_burst *b)
{
	/*
	 * The kernel does not copy the rings to a forked child, so the child may have mapped other
	 * memory at the addresses of the rings.
	 */
	if (nna_device_is_ours(b->device)) {
		nn_rings_unmap(&b->rings);
		nn_region_unmap(&b->doorbell);
	}
	if (b->fd >= 0 && b->device->direct)
		direct_burst_close(b->device->direct, b->fd);
	else if (b->fd >= 0)
		close(b->fd);
	nna_slots_destroy(&b->slots);
	nna_device_put(b->device);
	free(b->datums);
	free(b->args);
	free(b->shapes);
	free(b->numbers);
	free(b);
}

enum nn_status nna_burst_create(struct nna_prepared_model *prepared,
				const struct nna_burst_options *options,
				struct nna_burst **burst, struct nn_error *err)
{
	struct nna_burst_options o = { .size = sizeof(o) };
	enum nn_status status = NN_OK;
	struct nna_burst *b;

	nna_error_clear(err);
	if (options)
		status = NNA_TAKE(&o, spin_us, options, "burst: the options", err);
	if (status)
		return status;
	b = calloc(1, sizeof(*b));
	if (!b)
		return nn_fail(err, NN_OUT_OF_MEMORY, "burst: out of memory");
	b->device = nna_device_get(prepared->device);
	b->prepared = prepared;
	b->fd = -1;
	nna_slots_init(&b->slots);
	status = create(b, &o, err);
	if (!status)
		status = publish(b, err);
	if (status) {
		delete(b);
		return status;
	}
	*burst = b;
	return NN_OK;
}

void nna_burst_free(struct nna_burst *burst)
{
	if (!burst)
		return;
	if (nna_device_is_ours(burst->device)) {
		pthread_mutex_lock(&burst->device->bursts_lock);
		unlink_burst(burst);
		pthread_mutex_unlock(&burst->device->bursts_lock);
	}
	delete(burst);
}

/* ---- execution ---- */

/* Returns whether a request and its longest possible result fit into the rings. */
static bool may_fit(const struct nna_burst *b, const struct nna_request *r)
{
	uint64_t args = (uint64_t)r->num_inputs + r->num_outputs;
	uint64_t result = 2 + (uint64_t)r->num_outputs * (1 + NN_MAX_RANK);

	/*
	 * A request with buffers does not use the rings, because only the kernel checks the state
	 * of buffers.
	 */
	return !r->num_tokens && args <= b->capacity && result <= b->capacity;
}

/*
 * Returns an array of at least `count` elements, or NULL if memory runs out; the old contents are
 * lost.
 */
static void *reserve(void *array, uint32_t *room, uint32_t count, size_t size)
{
	if (array && count <= *room)
		return array;
	free(array);
	*room = count < FIRST_ROOM ? FIRST_ROOM : count;
	return malloc(*room * size);
}

static enum nn_status reserve_all(struct nna_burst *b, const struct nna_request *r,
				  struct nn_error *err)
{
	b->args = reserve(b->args, &b->max_args, r->num_inputs + r->num_outputs,
			  sizeof(*b->args));
	b->shapes = reserve(b->shapes, &b->max_shapes, r->num_outputs, sizeof(*b->shapes));
	b->numbers = reserve(b->numbers, &b->max_numbers, r->num_memories, sizeof(*b->numbers));
	if (!b->args || !b->shapes || !b->numbers)
		return nn_fail(err, NN_OUT_OF_MEMORY, "execute: out of memory");
	return NN_OK;
}

/* Binds a memory to a slot at the memory's first use. Returns false if the memory gets no slot. */
static bool bind_slot(struct nna_burst *b, struct nna_memory *memory, uint32_t *slot)
{
	struct nnaccel_burst_slot bind = {
		.size = sizeof(bind),
		.pool = memory->pool,
		.prot = NNACCEL_PROT_READ | (memory->prot & PROT_WRITE ? NNACCEL_PROT_WRITE : 0),
	};

	nn_ring_count_miss(&b->ring);
	if (burst_call(b, &bind))
		return false;
	/*
	 * Set has_slots before other threads can find the slot, because a thread that frees the
	 * memory searches for slots only if has_slots is set.
	 */
	memory->has_slots = true;
	*slot = bind.slot;
	if (nna_slots_add(&b->slots, memory, *slot))
		return true;
	bind.pool = 0;
	bind.prot = 0;
	burst_call(b, &bind);
	return false;
}

static bool get_slots(struct nna_burst *b, const struct nna_request *r)
{
	for (uint32_t i = 0; i < r->num_memories; i++)
		if (!nna_slots_find(&b->slots, r->memories[i], &b->numbers[i]) &&
		    !bind_slot(b, r->memories[i], &b->numbers[i]))
			return false;
	return true;
}

/*
 * Sends a request through the rings. Returns false, without sending, if the request does not fit
 * the rings or a memory gets no slot.
 */
static bool send_request(struct nna_burst *b, const struct nna_request *r, bool measure)
{
	const struct nn_request request = {
		.num_inputs = r->num_inputs,
		.num_outputs = r->num_outputs,
		.num_slots = r->num_memories,
		.measure = measure,
		.args = b->args,
		.slots = b->numbers,
	};
	enum nn_ring_result result;
	uint32_t count;

	if (b->broken || nn_ring_is_dead(&b->ring) || !get_slots(b, r))
		return false;
	count = nn_request_encode(&request, b->datums, b->capacity);
	if (!count)
		return false;
	result = nn_ring_try_send(&b->ring, b->datums, count);
	b->broken |= result == NN_RING_BROKEN;
	return result == NN_RING_OK;
}

/*
 * Receives the result of a request that was sent. After a failure the caller must not repeat the
 * request by nna_execute(), because the worker may have executed it.
 */
static enum nn_status receive_result(struct nna_burst *b, const struct nna_request *r,
				     struct nn_result *result, struct nn_error *err)
{
	enum nn_ring_result received;
	const char *wrong;
	uint32_t count;

	*result = (struct nn_result){ .shapes = b->shapes, .max_outputs = r->num_outputs,
				      .message = b->message };
	received = nn_ring_receive(&b->ring, b->datums, &count, NN_RING_FOREVER);
	if (received == NN_RING_DEAD)
		return nn_fail(err, NN_DEAD_OBJECT,
			       "burst: the engine's worker died, and its models with it");
	if (received != NN_RING_OK) {
		b->broken = true;
		return nn_fail(err, NN_GENERAL_FAILURE, "burst: no result: %s",
			       nn_ring_result_name(received));
	}
	wrong = nn_result_parse(b->datums, count, result);
	if (wrong)
		return nn_fail(err, NN_GENERAL_FAILURE, "burst: malformed result: %s", wrong);
	return NN_OK;
}

/*
 * Copies shapes and times from the worker's result. Returns the worker's status unless the shapes
 * are wrong.
 */
static enum nn_status take_result(const struct nna_request *r, const struct nn_result *result,
				  const struct nna_results *to, struct nn_error *err)
{
	enum nn_status status = NN_OK, bad;

	to->timing->on_device_us = nna_microseconds(result->device_ns);
	to->timing->in_driver_us = nna_microseconds(result->driver_ns);
	if (result->status)
		status = nna_fail_status("burst", result->status, result->message, err);
	if (status != NN_OK && status != NN_OUTPUT_INSUFFICIENT_SIZE)
		return status;
	if (result->num_outputs != r->num_outputs)
		return nn_fail(err, NN_GENERAL_FAILURE, "burst: the engine returned %u of %u "
			       "output shapes", result->num_outputs, r->num_outputs);
	bad = to->shapes ? nna_get_shapes(result->shapes, r->num_outputs, to->shapes, err) : NN_OK;
	if (bad)
		return bad;
	*to->num_shapes = r->num_outputs;
	return status;
}

/*
 * Executes a request through the rings. Sets *sent if the request was sent. If *sent stays false
 * and NN_OK is returned, the caller must use the ioctl.
 */
static enum nn_status execute(struct nna_burst *b, const struct nna_request *r, bool measure,
			      bool *sent, const struct nna_results *to, struct nn_error *err)
{
	struct nn_result result;
	enum nn_status status;

	status = reserve_all(b, r, err);
	if (!status)
		status = nna_set_args(r, b->args, err);
	if (status)
		return status;
	*sent = send_request(b, r, measure);
	if (!*sent)
		return NN_OK;
	status = receive_result(b, r, &result, err);
	return status ? status : take_result(r, &result, to, err);
}

enum nn_status nna_burst_execute(struct nna_burst *burst, const struct nna_request *request,
				 const struct nna_execute_options *options,
				 const struct nna_results *results, struct nn_error *err)
{
	struct nna_execute_options o;
	struct nna_spare spare;
	enum nn_status status;
	struct nna_results w;
	struct nna_request r;
	bool sent = false;

	nna_error_clear(err);
	status = nna_take_results(&w, results, &spare, err);
	if (!status)
		status = nna_take_request(&r, request, err);
	if (!status)
		status = nna_take_options(&o, options, err);
	if (status)
		return status;
	if (atomic_flag_test_and_set_explicit(&burst->busy, memory_order_acquire))
		return nn_fail(err, NN_DEVICE_UNAVAILABLE,
			       "burst: another execution is in flight");
	status = nna_memories_hold(burst->device, "execute", r.memories, r.num_memories, err);
	if (!status) {
		if (!o.deadline_ns && !o.loop_timeout_ns && !o.attributes && may_fit(burst, &r))
			status = execute(burst, &r, o.measure, &sent, &w, err);
		if (sent && !status)
			nna_deferred_executed(burst->prepared);
		if (!sent && !status) {
			nn_ring_count_fallback(&burst->ring);
			status = nna_execute(burst->prepared, &r, &o, &w, err);
		}
		nna_memories_release(r.memories, r.num_memories);
	}
	atomic_flag_clear_explicit(&burst->busy, memory_order_release);
	return status;
}
