/* SPDX-License-Identifier: MIT */
/*
 * Executes a prepared model. The functions in this file have the order in which an execution calls
 * them, from the HAL's request to the results. Small requests need no heap memory.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "deferred.h"
#include "error.h"
#include "execute.h"
#include "memory.h"
#include "sized.h"
#include "submit.h"
#include "model/attribute.h"

/* ---- begin: check and hold ---- */

enum nn_status nna_take_request(struct nna_request *ours, const struct nna_request *request,
				struct nn_error *err)
{
	return NNA_TAKE(ours, tokens, request, "execute: the request", err);
}

enum nn_status nna_take_options(struct nna_execute_options *ours,
				const struct nna_execute_options *options, struct nn_error *err)
{
	if (options)
		return NNA_TAKE(ours, attributes, options, "execute: the options", err);
	*ours = (struct nna_execute_options){ .size = sizeof(*ours) };
	return NN_OK;
}

enum nn_status nna_take_results(struct nna_results *ours, const struct nna_results *results,
				struct nna_spare *spare, struct nn_error *err)
{
	enum nn_status status = NN_OK;

	*ours = (struct nna_results){ .size = sizeof(*ours) };
	if (results)
		status = NNA_TAKE(ours, timing, results, "execute: the results", err);
	if (status)
		return status;
	ours->num_shapes = ours->num_shapes ? ours->num_shapes : &spare->num_shapes;
	ours->timing = ours->timing ? ours->timing : &spare->timing;
	*ours->num_shapes = 0;
	*ours->timing = (struct nna_timing){ NNA_TIME_NONE, NNA_TIME_NONE };
	return NN_OK;
}

static enum nn_status make_room(struct nna_call *c, const struct nna_request *r,
				struct nn_error *err)
{
	size_t args = (size_t)r->num_inputs + r->num_outputs;

	c->args = c->small.args;
	c->shapes = c->small.shapes;
	c->pools = c->small.pools;
	if (args <= SMALL_ARGS && r->num_outputs <= SMALL_OUTPUTS && r->num_memories <= SMALL_POOLS)
		return NN_OK;
	if (args > NNACCEL_MAX_ARGS || r->num_memories > NNACCEL_MAX_CMD_POOLS)
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: %zu arguments in %u memories, "
			       "but at most %d arguments in %d memories are possible", args,
			       r->num_memories, NNACCEL_MAX_ARGS, NNACCEL_MAX_CMD_POOLS);
	c->block = malloc(args * sizeof(*c->args) + r->num_outputs * sizeof(*c->shapes) +
			  r->num_memories * sizeof(*c->pools));
	if (!c->block)
		return nn_fail(err, NN_OUT_OF_MEMORY, "execute: out of memory");
	c->args = c->block;
	c->shapes = (struct nnaccel_shape *)(c->args + args);
	c->pools = (uint32_t *)(c->shapes + r->num_outputs);
	return NN_OK;
}

enum nn_status nna_call_begin(struct nna_call *c, const struct nna_prepared_model *p,
			      const struct nna_request *r, struct nn_error *err)
{
	enum nn_status status;

	status = nna_memories_hold(p->device, "execute", r->memories, r->num_memories, err);
	if (status)
		return status;
	c->prepared = p;
	c->request = r;
	c->block = NULL;
	c->attributes = NULL;
	c->attributes_size = 0;
	nna_buffers_init(&c->buffers);
	status = make_room(c, r, err);
	if (status) {
		nna_call_end(c);
		return status;
	}
	for (uint32_t i = 0; i < r->num_memories; i++)
		c->pools[i] = r->memories[i]->pool;
	return NN_OK;
}

/* ---- translate ---- */

/* Sets an argument that is a buffer; an execution always uses whole buffers. */
static enum nn_status set_buffer_arg(struct nnaccel_arg *arg, const struct nna_argument *a,
				     const struct nna_request *r, const char *kind, uint32_t index,
				     struct nn_error *err)
{
	if (a->offset || a->length)
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: %s %u is a buffer: its offset "
			       "and length must be 0", kind, index);
	if (a->rank > NN_MAX_RANK)
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: %s %u: rank %u, at most %d is "
			       "possible", kind, index, a->rank, NN_MAX_RANK);
	arg->flags = NNACCEL_ARG_BUFFER;
	arg->pool = a->pool - r->num_memories;
	arg->rank = a->rank;
	memcpy(arg->dims, a->dims, a->rank * sizeof(*a->dims));
	return NN_OK;
}

static enum nn_status set_arg(struct nnaccel_arg *arg, const struct nna_argument *a,
			      const struct nna_request *r, const char *kind, uint32_t index,
			      struct nn_error *err)
{
	memset(arg, 0, sizeof(*arg));
	if (a->has_no_value) {
		if (a->pool || a->offset || a->length || a->rank)
			return nn_fail(err, NN_INVALID_ARGUMENT, "execute: %s %u is omitted: its "
				       "pool, offset, length and rank must be 0", kind, index);
		arg->flags = NNACCEL_ARG_NO_VALUE;
		return NN_OK;
	}
	if (a->pool >= r->num_memories && a->pool - r->num_memories < r->num_tokens)
		return set_buffer_arg(arg, a, r, kind, index, err);
	if (a->pool >= r->num_memories)
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: %s %u is in memory %u, but only "
			       "%u are given", kind, index, a->pool,
			       r->num_memories + r->num_tokens);
	if (r->memories[a->pool]->is_formatted && (a->offset || a->length))
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: %s %u is an image, which is "
			       "used as a whole: its offset and length must be 0", kind, index);
	if (a->offset > r->memories[a->pool]->size ||
	    a->length > r->memories[a->pool]->size - a->offset)
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: %s %u: %" PRIu64 " bytes at %"
			       PRIu64 " are outside of memory %u of %" PRIu64 " bytes", kind, index,
			       a->length, a->offset, a->pool, r->memories[a->pool]->size);
	if (a->rank > NN_MAX_RANK)
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: %s %u: rank %u, at most %d is "
			       "possible", kind, index, a->rank, NN_MAX_RANK);
	arg->pool = a->pool;
	arg->offset = r->memories[a->pool]->offset + a->offset;
	arg->length = a->length;
	arg->rank = a->rank;
	memcpy(arg->dims, a->dims, a->rank * sizeof(*a->dims));
	return NN_OK;
}

enum nn_status nna_set_args(const struct nna_request *r, struct nnaccel_arg *args,
			    struct nn_error *err)
{
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; !status && i < r->num_inputs; i++)
		status = set_arg(&args[i], &r->inputs[i], r, "input", i, err);
	for (uint32_t i = 0; !status && i < r->num_outputs; i++)
		status = set_arg(&args[r->num_inputs + i], &r->outputs[i], r, "output", i, err);
	return status;
}

enum nn_status nna_call_translate(struct nna_call *c, const struct nna_execute_options *options,
				  struct nn_error *err)
{
	const struct nna_request *r = c->request;
	enum nn_status status = nna_set_args(r, c->args, err);

	if (!status && options->attributes && !c->attributes)
		status = nn_attributes_encode(options->attributes, NNACCEL_MAX_ATTRIBUTES,
					      &c->attributes, &c->attributes_size, err);
	if (!status && r->num_tokens)
		status = nna_buffers_in(&c->buffers, c->prepared->device, r, c->args, err);
	if (status)
		return status;
	c->message[0] = 0;
	c->execute = (struct nnaccel_execute){
		.size = sizeof(c->execute),
		.flags = options->measure ? NNACCEL_EXECUTE_MEASURE : 0,
		.model = c->prepared->id,
		.num_pools = r->num_memories,
		.pools = (uintptr_t)c->pools,
		.num_inputs = r->num_inputs,
		.num_outputs = r->num_outputs,
		.args = (uintptr_t)c->args,
		.shapes = (uintptr_t)c->shapes,
		.deadline_ns = options->deadline_ns,
		.loop_timeout_ns = options->loop_timeout_ns,
		.message = (uintptr_t)c->message,
		.message_size = sizeof(c->message),
		.num_buffers = c->buffers.count,
		.buffers = (uintptr_t)c->buffers.ids,
		.attributes = (uintptr_t)c->attributes,
		.attributes_size = (uint32_t)c->attributes_size,
	};
	return NN_OK;
}

/* ---- read back ---- */

enum nn_status nna_get_shapes(const struct nnaccel_shape *from, uint32_t count,
			      struct nna_output_shape *shapes, struct nn_error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct nnaccel_shape *s = &from[i];

		if (s->rank > NN_MAX_RANK)
			return nn_fail(err, NN_GENERAL_FAILURE, "execute: the engine reports for "
				       "output %u the rank %u, which is too high", i, s->rank);
		shapes[i].rank = s->rank;
		shapes[i].is_sufficient = s->flags & NNACCEL_SHAPE_SUFFICIENT;
		memcpy(shapes[i].dims, s->dims, sizeof(s->dims));
	}
	return NN_OK;
}

uint64_t nna_microseconds(uint64_t ns)
{
	return ns == NNACCEL_TIME_NONE ? NNA_TIME_NONE : ns / 1000;
}

enum nn_status nna_call_read_back(struct nna_call *c, int error, bool was_past, bool *again,
				  struct nn_error *err)
{
	enum nn_status status = nna_call_verdict(c->prepared->device, "execute", error, was_past,
						 c->execute.out_status, c->message, err);

	*again = false;
	if (error) {
		c->execute.out_num_shapes = 0;
		c->execute.out_device_ns = NNACCEL_TIME_NONE;
		c->execute.out_driver_ns = NNACCEL_TIME_NONE;
	}
	if (c->request->num_tokens)
		nna_buffers_out(&c->buffers, c->request, status, c->shapes,
				c->execute.out_num_shapes, again);
	return status;
}

enum nn_status nna_call_results(const struct nna_call *c, enum nn_status status,
				const struct nna_results *to, struct nn_error *err)
{
	const struct nnaccel_execute *e = &c->execute;
	enum nn_status bad;

	to->timing->on_device_us = nna_microseconds(e->out_device_ns);
	to->timing->in_driver_us = nna_microseconds(e->out_driver_ns);
	if (status != NN_OK && status != NN_OUTPUT_INSUFFICIENT_SIZE)
		return status;
	if (e->out_num_shapes != e->num_outputs)
		return nn_fail(err, NN_GENERAL_FAILURE, "execute: the engine returned %u of %u "
			       "output shapes", e->out_num_shapes, e->num_outputs);
	bad = to->shapes ? nna_get_shapes(c->shapes, e->num_outputs, to->shapes, err) : NN_OK;
	if (bad)
		return bad;
	*to->num_shapes = e->num_outputs;
	return status;
}

/* ---- end: release ---- */

void nna_call_end(struct nna_call *c)
{
	nna_buffers_release(&c->buffers);
	nna_memories_release(c->request->memories, c->request->num_memories);
	free(c->block);
	free(c->attributes);
}

/* ---- the synchronous way ---- */

static enum nn_status submit(struct nna_call *c, bool *again, struct nn_error *err)
{
	bool past = nna_is_past(c->execute.deadline_ns);
	int error = nna_ask(c->prepared->device, NNACCEL_WORK_EXECUTE, &c->execute);

	return nna_call_read_back(c, error, past, again, err);
}

enum nn_status nna_execute(struct nna_prepared_model *prepared, const struct nna_request *request,
			   const struct nna_execute_options *options,
			   const struct nna_results *results, struct nn_error *err)
{
	struct nna_execute_options o;
	struct nna_spare spare;
	enum nn_status status;
	struct nna_results w;
	struct nna_request r;
	struct nna_call c;
	bool again;

	nna_error_clear(err);
	status = nna_take_results(&w, results, &spare, err);
	if (!status)
		status = nna_take_request(&r, request, err);
	if (!status)
		status = nna_take_options(&o, options, err);
	if (!status)
		status = nna_call_begin(&c, prepared, &r, err);
	if (status)
		return status;
	status = nna_call_translate(&c, &o, err);
	if (!status) {
		status = submit(&c, &again, err);
		/* An output's buffer was too small and has grown, so execute once more. */
		if (again) {
			nna_error_clear(err);
			status = submit(&c, &again, err);
		}
		status = nna_call_results(&c, status, &w, err);
	}
	nna_call_end(&c);
	if (!status)
		nna_deferred_executed(prepared);
	return status;
}
