/* SPDX-License-Identifier: MIT */
/*
 * Synchronous execution of a prepared model.
 */
#include <errno.h>
#include <sys/ioctl.h>

#include "call.h"
#include "late.h"

/* Executes once; buffers that the request names get what they hold from then on. */
static enum nn_status attempt(const struct nna_prepared_model *p, const struct nna_request *r,
			      const struct nna_execute_options *options, struct nna_call *c,
			      bool *again, struct nn_error *err)
{
	enum nn_status status = nna_call_set(c, p, r, options, err);
	int error;

	*again = false;
	if (status)
		return status;
	error = ioctl(p->device->fd, NNACCEL_EXECUTE, &c->execute) ? errno : 0;
	return nna_call_note(c, p->device, r, error, again, err);
}

/* The request's memories are there and held. */
static enum nn_status execute(const struct nna_prepared_model *p, const struct nna_request *r,
			      const struct nna_execute_options *options,
			      struct nna_output_shape *shapes, uint32_t *num_shapes,
			      struct nna_timing *timing, struct nn_error *err)
{
	enum nn_status status;
	struct nna_call c;
	bool again;

	status = nna_call_begin(&c, p, r, err);
	if (status)
		return status;
	/* For an attempt that does not get as far. */
	c.execute.out_device_ns = NNACCEL_TIME_NONE;
	c.execute.out_driver_ns = NNACCEL_TIME_NONE;
	status = attempt(p, r, options, &c, &again, err);
	/* A buffer of open size has grown to what the first attempt asked for. */
	if (again)
		status = attempt(p, r, options, &c, &again, err);
	status = nna_call_results(&c, status, shapes, num_shapes, timing, err);
	nna_call_end(&c);
	return status;
}

enum nn_status nna_execute(struct nna_prepared_model *prepared, const struct nna_request *request,
			   const struct nna_execute_options *options,
			   struct nna_output_shape *shapes, uint32_t *num_shapes,
			   struct nna_timing *timing, struct nn_error *err)
{
	struct nna_timing no_timing;
	uint32_t no_count;
	enum nn_status status;

	options = options ? options : &nna_execute_defaults;
	timing = timing ? timing : &no_timing;
	num_shapes = num_shapes ? num_shapes : &no_count;
	*timing = (struct nna_timing){ NNA_TIME_NONE, NNA_TIME_NONE };
	*num_shapes = 0;
	status = nna_request_get(prepared, request, err);
	if (status)
		return status;
	status = execute(prepared, request, options, shapes, num_shapes, timing, err);
	if (!status)
		nna_late_executed(prepared);
	nna_request_put(request);
	return status;
}
