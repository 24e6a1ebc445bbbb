// SPDX-License-Identifier: MIT
/*
 * Fuzzes the data that the client or the worker of a burst reads from a ring: lines, and packets of
 * requests and results in the lines. If a packet is accepted, encoding the packet must restore the
 * original bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ring/packet.h"
#include "ring/ring.h"

#define CAPACITY 96
#define MAX_ARGS 32
#define MAX_SLOTS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static void parse_request(const struct nnaccel_datum *datums, uint32_t count)
{
	struct nnaccel_datum again[CAPACITY];
	struct nnaccel_arg args[MAX_ARGS];
	uint32_t slots[MAX_SLOTS];
	struct nn_request request = {
		.args = args, .slots = slots, .max_args = MAX_ARGS, .max_slots = MAX_SLOTS,
	};

	if (nn_request_parse(datums, count, &request))
		return;
	require(nn_request_encode(&request, again, CAPACITY) == count);
	require(!memcmp(again, datums, count * sizeof(*datums)));
}

static void parse_result(const struct nnaccel_datum *datums, uint32_t count)
{
	struct nnaccel_datum again[CAPACITY];
	struct nnaccel_shape shapes[MAX_ARGS];
	char message[NN_RESULT_MESSAGE];
	struct nn_result result = { .shapes = shapes, .max_outputs = MAX_ARGS,
				    .message = message };

	if (nn_result_parse(datums, count, &result))
		return;
	require(nn_result_encode(&result, again, CAPACITY) == count);
	require(!memcmp(again, datums, count * sizeof(*datums)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static _Alignas(64) char peer[NNACCEL_RING_LINES + (CAPACITY / 3) * 64], mine[sizeof(peer)];
	static const struct nnaccel_burst_status status = { .state = NNACCEL_BURST_DEAD };
	const struct nn_ring_map map = {
		.status = &status, .mine = (void *)mine, .peer = (const void *)peer,
		.lines = CAPACITY / 3, .capacity = CAPACITY,
	};
	struct nnaccel_datum *packet;
	struct nn_ring ring;
	uint32_t n;

	if (size > sizeof(peer) - NNACCEL_RING_LINES)
		size = sizeof(peer) - NNACCEL_RING_LINES;
	memset(peer, 0, sizeof(peer));
	memcpy(peer + NNACCEL_RING_LINES, data, size);
	require(!nn_ring_init(&ring, &map, 0));
	packet = malloc(CAPACITY * sizeof(*packet));
	require(packet != NULL);
	while (!nn_ring_receive(&ring, packet, &n, NN_RING_FOREVER)) {
		/*
		 * Copy the packet to memory of exactly the packet's length, so that the sanitizer
		 * finds reads beyond the packet's end.
		 */
		struct nnaccel_datum *exact = malloc(n * sizeof(*exact));

		require(exact != NULL);
		memcpy(exact, packet, n * sizeof(*exact));
		parse_request(exact, n);
		parse_result(exact, n);
		free(exact);
	}
	free(packet);
	return 0;
}
