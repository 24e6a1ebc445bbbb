/* SPDX-License-Identifier: MIT */
/*
 * Client and worker of a burst without the module: two processes use user/ring in shared memory,
 * with all checks and the search for slots.
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "bench/burst/ends.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nnaccel/engine_model.h>

#include "bench/figure.h"

void die(const char *what)
{
	fprintf(stderr, "burst: %s: %s\n", what, strerror(errno));
	exit(1);
}

void check(enum nn_status status, const struct nn_error *err)
{
	if (!status)
		return;
	fprintf(stderr, "burst: %s: %s\n", nn_status_name(status), err->message);
	exit(1);
}

void *shared(size_t size)
{
	int fd = memfd_create("bench-burst", MFD_CLOEXEC);
	void *base;

	if (fd < 0 || ftruncate(fd, (off_t)size))
		die("memfd");
	base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (base == MAP_FAILED)
		die("mmap");
	close(fd);
	return base;
}

struct burst_memory burst_memory_create(void)
{
	struct burst_memory m = {
		.status = shared(4096),
		.requests = shared(nn_ring_bytes(CAPACITY)),
		.results = shared(nn_ring_bytes(CAPACITY)),
		.doorbell = shared(4096),
	};

	*m.status = (struct nnaccel_burst_status){
		.state = NNACCEL_BURST_ALIVE,
		.lines = nn_ring_lines(CAPACITY),
		.capacity = CAPACITY,
		.ring_bytes = (uint32_t)nn_ring_bytes(CAPACITY),
	};
	return m;
}

void burst_end_init(struct burst_end *end, const struct burst_memory *m, bool is_client,
			   uint64_t spin_ns)
{
	const struct nn_ring_map map = {
		.status = m->status,
		.mine = is_client ? m->requests : m->results,
		.peer = is_client ? m->results : m->requests,
		.doorbell = is_client ? m->doorbell : NULL,
		.lines = m->status->lines,
		.capacity = CAPACITY,
	};

	if (nn_ring_init(&end->ring, &map, spin_ns))
		die("rings");
}

static bool args_are_inside(const struct nn_request *r, const struct place *places)
{
	for (uint32_t i = 0; i < r->num_slots; i++)
		if (places[NNACCEL_SLOT_INDEX(r->slots[i]) % SLOTS].slot != r->slots[i])
			return false;
	for (uint32_t i = 0; i < r->num_inputs + r->num_outputs; i++) {
		const struct nnaccel_arg *a = &r->args[i];
		uint64_t length = places[NNACCEL_SLOT_INDEX(r->slots[a->pool]) % SLOTS].length;

		if (a->offset > length || a->length > length - a->offset)
			return false;
	}
	return true;
}

void work(uint64_t ns)
{
	uint64_t start = ns ? clock_ns() : 0;

	while (ns && clock_ns() - start < ns)
		;
}

/* Runs the plan or, if `plan` is NULL, waits for `work_ns`. */
static void execute(struct burst_end *end, const struct nn_plan *plan, uint64_t work_ns)
{
	static float data[2][ELEMENTS];
	struct nn_arg in = { .data = data[0], .length = sizeof(data[0]) };
	struct nn_arg out = { .data = data[1], .length = sizeof(data[1]) };
	struct nn_output_shape shape;
	struct nn_execution e = { .num_inputs = 1, .num_outputs = 1, .inputs = &in,
				  .outputs = &out, .shapes = &shape };

	work(work_ns);
	if (plan && nn_plan_execute(plan, &e, NULL))
		die("plan");
	end->shapes[0] = (struct nnaccel_shape){ NNACCEL_SHAPE_SUFFICIENT, 2, { 1, 16 } };
}

void burst_serve_one(struct burst_end *end, const struct place *places,
			    const struct nn_plan *plan, uint64_t work_ns)
{
	struct nn_request request = { .args = end->args, .slots = end->slots,
				      .max_args = INPUTS + OUTPUTS, .max_slots = POOLS };
	struct nn_result result = {
		.num_outputs = OUTPUTS,
		.device_ns = NNACCEL_TIME_NONE,
		.driver_ns = NNACCEL_TIME_NONE,
		.shapes = end->shapes,
	};
	uint32_t count;

	if (nn_ring_receive(&end->ring, end->datums, &count, NN_RING_FOREVER) ||
	    nn_request_parse(end->datums, count, &request) || !args_are_inside(&request, places))
		die("request");
	execute(end, plan, work_ns);
	count = nn_result_encode(&result, end->datums, CAPACITY);
	if (nn_ring_try_send(&end->ring, end->datums, count))
		die("result");
}

void burst_send(struct burst_end *end)
{
	struct nn_request request = { .num_inputs = INPUTS, .num_outputs = OUTPUTS,
				      .num_slots = POOLS, .args = end->args,
				      .slots = end->slots };
	uint32_t count;

	for (uint32_t i = 0; i < INPUTS + OUTPUTS; i++) {
		end->args[i] = (struct nnaccel_arg){ .pool = i == INPUTS, .offset = 64 * i,
						     .length = 64 };
		end->slots[i == INPUTS] = i == INPUTS;
	}
	count = nn_request_encode(&request, end->datums, CAPACITY);
	if (nn_ring_try_send(&end->ring, end->datums, count))
		die("request");
}

void burst_receive(struct burst_end *end)
{
	char message[NN_RESULT_MESSAGE];
	struct nn_result result = { .shapes = end->shapes, .max_outputs = OUTPUTS,
				    .message = message };
	uint32_t count;

	if (nn_ring_receive(&end->ring, end->datums, &count, NN_RING_FOREVER) ||
	    nn_result_parse(end->datums, count, &result) || result.status)
		die("result");
}

void burst_trip(struct burst_end *end)
{
	burst_send(end);
	burst_receive(end);
}
