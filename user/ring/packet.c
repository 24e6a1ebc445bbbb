/* SPDX-License-Identifier: MIT */
/*
 * Writes and parses the request and result packets of a burst.
 */
#include "ring/packet.h"

#include <stddef.h>
#include <string.h>

_Static_assert(sizeof(struct nnaccel_datum) == 20, "a datum is ABI");
_Static_assert(offsetof(struct nnaccel_datum_request, size) ==
	       offsetof(struct nnaccel_datum_result, size), "every packet begins with its size");

#define TEXT_BYTES sizeof(((struct nnaccel_datum *)NULL)->u.text)

/* The remaining room for writing datums. `end` is the address after the last datum. */
struct writer {
	struct nnaccel_datum *next;
	struct nnaccel_datum *end;
};

/* Appends a zeroed datum of the kind `kind` and returns it, or returns NULL if there is no room. */
static inline struct nnaccel_datum *put(struct writer *w, enum nnaccel_datum_kind kind)
{
	struct nnaccel_datum *datum = w->next;

	if (datum == w->end)
		return NULL;
	memset(datum, 0, sizeof(*datum));
	datum->kind = kind;
	w->next++;
	return datum;
}

static inline bool put_value(struct writer *w, enum nnaccel_datum_kind kind, uint32_t value)
{
	struct nnaccel_datum *datum = put(w, kind);

	if (!datum)
		return false;
	datum->u.value = value;
	return true;
}

static inline bool put_dims(struct writer *w, enum nnaccel_datum_kind kind, const uint32_t *dims,
		     uint32_t rank)
{
	for (uint32_t i = 0; i < rank; i++) {
		if (!put_value(w, kind, dims[i]))
			return false;
	}
	return true;
}

static inline bool put_arg(struct writer *w, enum nnaccel_datum_kind kind,
		    enum nnaccel_datum_kind dim_kind, const struct nnaccel_arg *arg)
{
	struct nnaccel_datum *datum = put(w, kind);

	if (!datum)
		return false;
	if (arg->flags & NNACCEL_ARG_NO_VALUE) {
		datum->flags = NNACCEL_ARG_NO_VALUE;
		return true;
	}
	if (arg->offset > UINT32_MAX || arg->length > UINT32_MAX || arg->rank > NNACCEL_MAX_RANK)
		return false;
	datum->rank = (uint16_t)arg->rank;
	datum->u.operand.pool = arg->pool;
	datum->u.operand.offset = (uint32_t)arg->offset;
	datum->u.operand.length = (uint32_t)arg->length;
	return put_dims(w, dim_kind, arg->dims, arg->rank);
}

static bool put_request(struct writer *w, const struct nn_request *request)
{
	const struct nnaccel_arg *outputs = request->args + request->num_inputs;

	for (uint32_t i = 0; i < request->num_inputs; i++) {
		if (!put_arg(w, NNACCEL_DATUM_INPUT, NNACCEL_DATUM_INPUT_DIMENSION,
			     &request->args[i]))
			return false;
	}
	for (uint32_t i = 0; i < request->num_outputs; i++) {
		if (!put_arg(w, NNACCEL_DATUM_OUTPUT, NNACCEL_DATUM_OUTPUT_DIMENSION, &outputs[i]))
			return false;
	}
	for (uint32_t i = 0; i < request->num_slots; i++) {
		if (!put_value(w, NNACCEL_DATUM_SLOT, request->slots[i]))
			return false;
	}
	return put_value(w, NNACCEL_DATUM_MEASURE, request->measure);
}

uint32_t nn_request_encode(const struct nn_request *request, struct nnaccel_datum *datums,
			   uint32_t room)
{
	struct writer w = { datums, datums + room };
	struct nnaccel_datum *head = put(&w, NNACCEL_DATUM_REQUEST);

	if (!head || !put_request(&w, request))
		return 0;
	head->u.request.size = (uint32_t)(w.next - datums);
	head->u.request.num_inputs = request->num_inputs;
	head->u.request.num_outputs = request->num_outputs;
	head->u.request.num_pools = request->num_slots;
	return head->u.request.size;
}

static inline bool put_timing(struct writer *w, uint64_t device_ns, uint64_t driver_ns)
{
	struct nnaccel_datum *datum = put(w, NNACCEL_DATUM_TIMING);

	if (!datum)
		return false;
	datum->u.timing.device_ns_low = (uint32_t)device_ns;
	datum->u.timing.device_ns_high = (uint32_t)(device_ns >> 32);
	datum->u.timing.driver_ns_low = (uint32_t)driver_ns;
	datum->u.timing.driver_ns_high = (uint32_t)(driver_ns >> 32);
	return true;
}

static inline bool put_shape(struct writer *w, const struct nnaccel_shape *shape)
{
	struct nnaccel_datum *datum = put(w, NNACCEL_DATUM_SHAPE);

	if (!datum || shape->rank > NNACCEL_MAX_RANK)
		return false;
	datum->flags = (uint8_t)shape->flags;
	datum->rank = (uint16_t)shape->rank;
	return put_dims(w, NNACCEL_DATUM_SHAPE_DIMENSION, shape->dims, shape->rank);
}

/* Writes a message, or only the beginning of the message if there is not enough room. */
static void put_message(struct writer *w, const char *text)
{
	size_t left = strnlen(text, NNACCEL_MAX_MESSAGE);
	struct nnaccel_datum *datum;

	while (left) {
		size_t here = left < TEXT_BYTES ? left : TEXT_BYTES;

		datum = put(w, NNACCEL_DATUM_MESSAGE);
		if (!datum)
			return;
		memcpy(datum->u.text, text, here);
		text += here;
		left -= here;
	}
}

uint32_t nn_result_encode(const struct nn_result *result, struct nnaccel_datum *datums,
			  uint32_t room)
{
	struct writer w = { datums, datums + room };
	struct nnaccel_datum *head = put(&w, NNACCEL_DATUM_RESULT);

	if (!head)
		return 0;
	for (uint32_t i = 0; i < result->num_outputs; i++) {
		if (!put_shape(&w, &result->shapes[i]))
			return 0;
	}
	if (!put_timing(&w, result->device_ns, result->driver_ns))
		return 0;
	if (result->message)
		put_message(&w, result->message);
	head->u.result.size = (uint32_t)(w.next - datums);
	head->u.result.status = result->status;
	head->u.result.num_outputs = result->num_outputs;
	return head->u.result.size;
}

/*
 * The remaining datums of a packet that is being read. `end` is the address after the last datum.
 * `why` describes the first fault of the packet, or is NULL.
 */
struct reader {
	const struct nnaccel_datum *next;
	const struct nnaccel_datum *end;
	const char *why;
};

static bool bad(struct reader *r, const char *why)
{
	r->why = why;
	return false;
}

/* Returns the next datum, or NULL if the next datum is of another kind. */
static inline const struct nnaccel_datum *take(struct reader *r, enum nnaccel_datum_kind kind)
{
	if (r->next == r->end) {
		bad(r, "the packet ends before its last datum");
		return NULL;
	}
	if (r->next->kind != kind) {
		bad(r, "a datum has another kind than expected at its place");
		return NULL;
	}
	return r->next++;
}

/*
 * Returns whether the unused parts of a datum are 0: its flags, its rank, and its words from index
 * `used` on.
 */
static bool is_plain(const struct nnaccel_datum *datum, unsigned int used)
{
	uint32_t rest = (uint32_t)datum->flags | datum->rank;

	for (unsigned int i = used; i < 4; i++)
		rest |= datum->u.words[i];
	return !rest;
}

static inline const struct nnaccel_datum *take_plain(struct reader *r, enum nnaccel_datum_kind kind,
					      unsigned int used)
{
	const struct nnaccel_datum *datum = take(r, kind);

	if (datum && !is_plain(datum, used)) {
		bad(r, "unused bytes of a datum are not 0");
		return NULL;
	}
	return datum;
}

static inline bool take_dims(struct reader *r, enum nnaccel_datum_kind kind, uint32_t rank,
		      uint32_t *dims)
{
	const struct nnaccel_datum *datum;

	memset(dims, 0, NNACCEL_MAX_RANK * sizeof(*dims));
	for (uint32_t i = 0; i < rank; i++) {
		datum = take_plain(r, kind, 1);
		if (!datum)
			return false;
		dims[i] = datum->u.value;
	}
	return true;
}

static inline bool take_arg(struct reader *r, enum nnaccel_datum_kind kind,
		     enum nnaccel_datum_kind dim_kind, uint32_t num_pools, struct nnaccel_arg *arg)
{
	const struct nnaccel_datum *datum = take(r, kind);

	if (!datum)
		return false;
	if (datum->flags & ~NNACCEL_ARG_NO_VALUE)
		return bad(r, "an operand has unknown flags");
	if (datum->rank > NNACCEL_MAX_RANK)
		return bad(r, "an operand has too many dimensions");
	if (datum->flags & NNACCEL_ARG_NO_VALUE) {
		if (datum->rank || datum->u.words[0] | datum->u.words[1] | datum->u.words[2] |
		    datum->u.words[3])
			return bad(r, "an omitted operand has a place or dimensions");
		*arg = (struct nnaccel_arg){ .flags = NNACCEL_ARG_NO_VALUE };
		return true;
	}
	if (datum->u.operand.__reserved)
		return bad(r, "unused bytes of a datum are not 0");
	if (datum->u.operand.pool >= num_pools)
		return bad(r, "an operand lies in a pool that the packet does not have");
	arg->flags = 0;
	arg->__reserved = 0;
	arg->pool = datum->u.operand.pool;
	arg->offset = datum->u.operand.offset;
	arg->length = datum->u.operand.length;
	arg->rank = datum->rank;
	return take_dims(r, dim_kind, arg->rank, arg->dims);
}

static bool take_request_head(struct reader *r, uint32_t count, struct nn_request *request)
{
	const struct nnaccel_datum *head = take_plain(r, NNACCEL_DATUM_REQUEST, 4);

	if (!head)
		return false;
	if (head->u.request.size != count)
		return bad(r, "the packet's size differs from its number of datums");
	request->num_inputs = head->u.request.num_inputs;
	request->num_outputs = head->u.request.num_outputs;
	request->num_slots = head->u.request.num_pools;
	if (request->num_inputs > request->max_args ||
	    request->num_outputs > request->max_args - request->num_inputs)
		return bad(r, "the packet has too many operands");
	if (request->num_slots > request->max_slots)
		return bad(r, "the packet has too many pools");
	return true;
}

static bool take_request(struct reader *r, uint32_t count, struct nn_request *request)
{
	const struct nnaccel_datum *datum;
	uint32_t i;

	if (!take_request_head(r, count, request))
		return false;
	for (i = 0; i < request->num_inputs; i++) {
		if (!take_arg(r, NNACCEL_DATUM_INPUT, NNACCEL_DATUM_INPUT_DIMENSION,
			      request->num_slots, &request->args[i]))
			return false;
	}
	for (; i < request->num_inputs + request->num_outputs; i++) {
		if (!take_arg(r, NNACCEL_DATUM_OUTPUT, NNACCEL_DATUM_OUTPUT_DIMENSION,
			      request->num_slots, &request->args[i]))
			return false;
	}
	for (i = 0; i < request->num_slots; i++) {
		datum = take_plain(r, NNACCEL_DATUM_SLOT, 1);
		if (!datum)
			return false;
		request->slots[i] = datum->u.value;
	}
	datum = take_plain(r, NNACCEL_DATUM_MEASURE, 1);
	if (!datum)
		return false;
	if (datum->u.value > 1)
		return bad(r, "the flag for measuring is neither 0 nor 1");
	request->measure = datum->u.value;
	if (r->next != r->end)
		return bad(r, "the packet continues after its last datum");
	return true;
}

const char *nn_request_parse(const struct nnaccel_datum *datums, uint32_t count,
			     struct nn_request *request)
{
	struct reader r = { datums, datums + count, NULL };

	return take_request(&r, count, request) ? NULL : r.why;
}

static bool take_result_head(struct reader *r, uint32_t count, struct nn_result *result)
{
	const struct nnaccel_datum *head = take_plain(r, NNACCEL_DATUM_RESULT, 3);

	if (!head)
		return false;
	if (head->u.result.size != count)
		return bad(r, "the packet's size differs from its number of datums");
	if (head->u.result.status > NNACCEL_STATUS_RESOURCE_EXHAUSTED_PERSISTENT)
		return bad(r, "the result has an unknown status");
	result->status = head->u.result.status;
	result->num_outputs = head->u.result.num_outputs;
	if (result->num_outputs > result->max_outputs)
		return bad(r, "the packet has too many operands");
	return true;
}

static inline bool take_shape(struct reader *r, struct nnaccel_shape *shape)
{
	const struct nnaccel_datum *datum = take(r, NNACCEL_DATUM_SHAPE);

	if (!datum)
		return false;
	if (datum->flags & ~NNACCEL_SHAPE_SUFFICIENT)
		return bad(r, "a shape has unknown flags");
	if (datum->rank > NNACCEL_MAX_RANK)
		return bad(r, "a shape has too many dimensions");
	if (datum->u.words[0] | datum->u.words[1] | datum->u.words[2] | datum->u.words[3])
		return bad(r, "unused bytes of a datum are not 0");
	shape->flags = datum->flags;
	shape->rank = datum->rank;
	return take_dims(r, NNACCEL_DATUM_SHAPE_DIMENSION, shape->rank, shape->dims);
}

/*
 * Reads a packet's message. The message fills the rest of the packet: a text without 0 bytes, then
 * only 0 bytes.
 */
static bool take_message(struct reader *r, char *message)
{
	const struct nnaccel_datum *datum;
	size_t length = 0, here = TEXT_BYTES;

	while (r->next != r->end) {
		datum = take_plain(r, NNACCEL_DATUM_MESSAGE, 4);
		if (!datum)
			return false;
		if (here < TEXT_BYTES || !datum->u.text[0])
			return bad(r, "a message continues after its end");
		if (length + TEXT_BYTES > NNACCEL_MAX_MESSAGE)
			return bad(r, "a message is too long");
		here = strnlen(datum->u.text, TEXT_BYTES);
		for (size_t i = here; i < TEXT_BYTES; i++)
			if (datum->u.text[i])
				return bad(r, "unused bytes of a datum are not 0");
		memcpy(message + length, datum->u.text, here);
		length += here;
	}
	message[length] = '\0';
	return true;
}

static bool take_result(struct reader *r, uint32_t count, struct nn_result *result)
{
	const struct nnaccel_datum *datum;

	if (!take_result_head(r, count, result))
		return false;
	for (uint32_t i = 0; i < result->num_outputs; i++) {
		if (!take_shape(r, &result->shapes[i]))
			return false;
	}
	datum = take_plain(r, NNACCEL_DATUM_TIMING, 4);
	if (!datum)
		return false;
	result->device_ns = (uint64_t)datum->u.timing.device_ns_high << 32 |
			    datum->u.timing.device_ns_low;
	result->driver_ns = (uint64_t)datum->u.timing.driver_ns_high << 32 |
			    datum->u.timing.driver_ns_low;
	return take_message(r, result->message);
}

const char *nn_result_parse(const struct nnaccel_datum *datums, uint32_t count,
			    struct nn_result *result)
{
	struct reader r = { datums, datums + count, NULL };

	return take_result(&r, count, result) ? NULL : r.why;
}
