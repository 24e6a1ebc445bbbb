/* SPDX-License-Identifier: MIT */
/*
 * Request and result packets of a burst, from and to the structures of an ordinary execution. The
 * parser reads and fully checks the private copy that nn_ring_receive() made.
 */
#ifndef NN_RING_PACKET_H
#define NN_RING_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/nnaccel.h>

/*
 * A request. The caller owns the arrays. `args` has the inputs, then the outputs; the member `pool`
 * of each is an index into `slots`. Before parsing, max_args and max_slots say how much room the
 * arrays have.
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
 * A result. Before parsing, max_outputs says how many shapes have room, and `message` has room for
 * NN_RESULT_MESSAGE bytes.
 */
#define NN_RESULT_MESSAGE (NNACCEL_MAX_MESSAGE + 1)
struct nn_result {
	uint32_t status;	/* enum nnaccel_status */
	uint32_t num_outputs;	/* number of `shapes`, one of each output; 0 if they are unknown */
	uint64_t device_ns;
	uint64_t driver_ns;
	struct nnaccel_shape *shapes;
	uint32_t max_outputs;
	char *message;		/* the engine's message, or ""; NULL encodes no message */
};

/*
 * Writes a packet into datums[room] and returns its length in datums. Returns 0 if the packet does
 * not fit, or if an offset or a length is 4 GiB or more; the caller then executes by ioctl instead.
 * A message that does not fit is truncated.
 */
uint32_t nn_request_encode(const struct nn_request *request, struct nnaccel_datum *datums,
			   uint32_t room);
uint32_t nn_result_encode(const struct nn_result *result, struct nnaccel_datum *datums,
			  uint32_t room);

/*
 * Reads a packet of `count` datums. Returns NULL, or what is wrong with the packet; the parsed
 * structure must not be used then. Checks every kind, count, flag and rank, and that unused bytes
 * are 0. Also checks that each operand's pool is a slot of the packet, and that the packet has the
 * length it claims. The caller must check what the packet does not tell: whether slots exist,
 * ranges inside pools, and what the model requires.
 */
const char *nn_request_parse(const struct nnaccel_datum *datums, uint32_t count,
			     struct nn_request *request);
const char *nn_result_parse(const struct nnaccel_datum *datums, uint32_t count,
			    struct nn_result *result);

#endif /* NN_RING_PACKET_H */
