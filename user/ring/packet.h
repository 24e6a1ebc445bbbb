/* SPDX-License-Identifier: MIT */
/*
 * Request and result packets of a burst, from and to the structures of an ordinary execution.
 * The parser reads the private copy that nn_ring_receive() made, and checks all of it.
 */
#ifndef NN_RING_PACKET_H
#define NN_RING_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/nnaccel.h>

/*
 * A request. Arrays are the caller's. args: inputs, then outputs; their pool members index slots.
 * For parsing, max_args and max_slots say how many the arrays have room for.
 */
struct nn_request {
	uint32_t num_inputs;
	uint32_t num_outputs;
	uint32_t num_slots;
	bool measure;
	struct nnaccel_arg *args;
	uint32_t *slots;
	uint32_t max_args;
	uint32_t max_slots;
};

/*
 * A result. For parsing, max_outputs says how many shapes there is room for, and message has room
 * for NN_RESULT_MESSAGE bytes.
 */
#define NN_RESULT_MESSAGE (NNACCEL_MAX_MESSAGE + 1)
struct nn_result {
	uint32_t status;	/* enum nnaccel_status */
	uint32_t num_outputs;	/* `shapes` has all outputs' shapes; 0 if they are unknown */
	uint64_t device_ns;
	uint64_t driver_ns;
	struct nnaccel_shape *shapes;
	uint32_t max_outputs;
	char *message;		/* the engine's message, "" without one. NULL: encode no message */
};

/*
 * Writes a packet into datums[room] and returns its length in datums. Returns 0 if it does not fit,
 * or if an offset or a length is 4 GiB or more; the caller then uses the ioctl. A message is
 * truncated to the room.
 */
uint32_t nn_request_encode(const struct nn_request *request, struct nnaccel_datum *datums,
			   uint32_t room);
uint32_t nn_result_encode(const struct nn_result *result, struct nnaccel_datum *datums,
			  uint32_t room);

/*
 * Reads a packet of `count` datums. Returns NULL, or what is wrong with the packet; then the output
 * must not be used. It checks every kind, count, flag and rank, that unused bytes are 0, that each
 * operand's pool belongs to the packet, and that the packet ends where it says. It cannot check
 * what is not in the packet: slots, ranges inside pools, and the model's requirements.
 */
const char *nn_request_parse(const struct nnaccel_datum *datums, uint32_t count,
			     struct nn_request *request);
const char *nn_result_parse(const struct nnaccel_datum *datums, uint32_t count,
			    struct nn_result *result);

#endif /* NN_RING_PACKET_H */
