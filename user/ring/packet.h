/* SPDX-License-Identifier: MIT */
/*
 * Converts request and result packets of a burst from and to the structures of an ordinary
 * execution. The parser reads and completely checks the private copy that nn_ring_receive() made.
 */
#ifndef NN_RING_PACKET_H
#define NN_RING_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/nnaccel.h>

/*
 * A request. The caller owns the arrays of the request. `args` has the inputs, then the outputs; an
 * argument's member `pool` is an index into `slots`. Before it parses a request, the caller sets
 * max_args and max_slots to the lengths of `args` and `slots`.
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
 * A result. Before it parses a result, the caller sets max_outputs to the length of `shapes`, and
 * `message` to NN_RESULT_MESSAGE bytes.
 */
#define NN_RESULT_MESSAGE (NNACCEL_MAX_MESSAGE + 1)
struct nn_result {
	uint32_t status;	/* enum nnaccel_status */
	uint32_t num_outputs;	/* number of outputs with a shape; 0 if shapes are unknown */
	uint64_t device_ns;
	uint64_t driver_ns;
	struct nnaccel_shape *shapes;
	uint32_t max_outputs;
	char *message;		/* the engine's message, or ""; if NULL, no message is encoded */
};

/*
 * Writes a packet into datums[room] and returns its length in datums. Returns 0 if the packet does
 * not fit, or if an offset or a length is 4 GiB or more; the caller then executes by ioctl. A
 * message that does not fit into the packet is truncated.
 */
uint32_t nn_request_encode(const struct nn_request *request, struct nnaccel_datum *datums,
			   uint32_t room);
uint32_t nn_result_encode(const struct nn_result *result, struct nnaccel_datum *datums,
			  uint32_t room);

/*
 * Reads a packet of `count` datums. Returns NULL, or a description of the packet's fault; after a
 * fault the parsed structure must not be used. Checks every kind, count, flag and rank, and that
 * all unused bytes are 0. Checks that each operand's pool is a slot of the packet, and that the
 * packet's length is the length stated in the packet. The caller must check that slots exist, that
 * ranges are inside pools, and that the arguments fit the model.
 */
const char *nn_request_parse(const struct nnaccel_datum *datums, uint32_t count,
			     struct nn_request *request);
const char *nn_result_parse(const struct nnaccel_datum *datums, uint32_t count,
			    struct nn_result *result);

#endif /* NN_RING_PACKET_H */
