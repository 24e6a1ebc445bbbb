/* SPDX-License-Identifier: MIT */
/*
 * Fenced executions: started without waiting for them, with sync_files for what
 * they wait for and for their end.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "error.h"
#include "execute.h"
#include "late.h"

/*
 * The shape of an output as the request and the model have it; where the model
 * is not known, what the request says. NN_INVALID_ARGUMENT: it is not all there.
 */
static enum nn_status declared_shape(const struct nna_prepared_model *p,
				     const struct nna_argument *a, uint32_t index,
				     struct nnaccel_shape *shape, struct nn_error *err)
{
	const struct nna_signature *s = p->signature;
	const struct nn_operand *o = s && index < s->num_outputs ?
				     &s->operands[s->num_inputs + index].operand : NULL;
	const struct nn_type_info *info = o ? nn_type_info(o->type) : NULL;

	memset(shape, 0, sizeof(*shape));
	shape->flags = NNACCEL_SHAPE_SUFFICIENT;
	shape->rank = a->rank || !o ? a->rank : o->rank;
	if (info && info->is_tensor && !shape->rank && !a->has_no_value)
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: output %u of a fenced "
			       "execution has no shape", index);
	for (uint32_t i = 0; i < shape->rank; i++) {
		uint32_t known = o && i < o->rank ? o->dims[i] : 0;

		shape->dims[i] = i < a->rank && a->dims[i] ? a->dims[i] : known;
		if (!shape->dims[i] && !a->has_no_value)
			return nn_fail(err, NN_INVALID_ARGUMENT, "execute: dimension %u of output "
				       "%u of a fenced execution is open", i, index);
	}
	return NN_OK;
}

/* What outputs that are buffers will hold: what comes after in a chain asks for it. */
static enum nn_status declare_shapes(struct nna_call *c, struct nn_error *err)
{
	const struct nna_request *r = c->request;
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; !status && i < r->num_outputs; i++)
		status = declared_shape(c->prepared, &r->outputs[i], i, &c->shapes[i], err);
	if (!status && r->num_tokens && !c->prepared->signature)
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: a fenced execution of a model "
			       "from a cache cannot have buffers");
	return status;
}

/* Its result is asked for by the fence; here buffers get what they will hold. */
static enum nn_status submit(struct nna_call *c, struct nnaccel_execute_fenced *e,
			     struct nn_error *err)
{
	const struct nna_request *r = c->request;
	bool again;

	e->execute = (uintptr_t)&c->execute;
	c->execute.shapes = 0;
	c->execute.message = 0;
	c->execute.message_size = 0;
	if (ioctl(c->prepared->device->fd, NNACCEL_EXECUTE_FENCED, e)) {
		if (errno == EINVAL)
			return nn_fail(err, NN_INVALID_ARGUMENT, "execute: refused by the kernel: "
				       "a range is not valid, or an fd is not a sync_file");
		return nna_fail_errno(c->prepared->device, "execute", errno, err);
	}
	if (r->num_tokens)
		nna_buffers_out(&c->buffers, r, NN_OK, c->shapes, r->num_outputs, &again);
	return NN_OK;
}

enum nn_status nna_execute_fenced(struct nna_prepared_model *prepared,
				  const struct nna_request *request,
				  const struct nna_execute_options *options,
				  const int *wait_for, uint32_t num_wait_for,
				  uint64_t duration_ns, int *fence, struct nn_error *err)
{
	struct nnaccel_execute_fenced e = {
		.size = sizeof(e),
		.flags = NNACCEL_FENCE_CLOEXEC,
		.fences = (uintptr_t)wait_for,
		.num_fences = num_wait_for,
		.duration_ns = duration_ns,
	};
	struct nna_execute_options o;
	enum nn_status status;
	struct nna_request r;
	struct nna_call c;

	nna_error_clear(err);
	*fence = -1;
	if (num_wait_for > NNACCEL_MAX_FENCES)
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: %u fences to wait for, at most "
			       "%d are possible", num_wait_for, NNACCEL_MAX_FENCES);
	status = nna_take_request(&r, request, err);
	if (!status)
		status = nna_take_options(&o, options, err);
	if (!status)
		status = nna_call_begin(&c, prepared, &r, err);
	if (status)
		return status;
	status = nna_call_translate(&c, &o, err);
	if (!status)
		status = declare_shapes(&c, err);
	if (!status)
		status = submit(&c, &e, err);
	nna_call_end(&c);
	if (status)
		return status;
	*fence = e.out_fd;
	nna_late_executed(prepared);
	return NN_OK;
}

/* ---- what became of one ---- */

static void take_times(const struct nnaccel_fence_info *info, struct nna_timing *launched,
		       struct nna_timing *fenced)
{
	if (launched)
		*launched = (struct nna_timing){ nna_microseconds(info->out_device_ns),
						 nna_microseconds(info->out_launched_ns) };
	if (fenced)
		*fenced = (struct nna_timing){ nna_microseconds(info->out_device_ns),
					       nna_microseconds(info->out_fenced_ns) };
}

enum nn_status nna_fence_get_info(struct nna_device *device, int fence,
				  struct nna_timing *launched, struct nna_timing *fenced,
				  struct nn_error *err)
{
	char message[NNACCEL_MAX_MESSAGE] = "";
	struct nnaccel_fence_info info = {
		.size = sizeof(info),
		.fd = fence,
		.message = (uintptr_t)message,
		.message_size = sizeof(message),
		.out_device_ns = NNACCEL_TIME_NONE,
		.out_launched_ns = NNACCEL_TIME_NONE,
		.out_fenced_ns = NNACCEL_TIME_NONE,
	};
	int error = ioctl(device->fd, NNACCEL_FENCE_INFO, &info) ? errno : 0;

	nna_error_clear(err);
	take_times(&info, launched, fenced);
	if (error == EBUSY)
		return nn_fail(err, NN_GENERAL_FAILURE, "execute: it is not at its end yet");
	if (error == EINVAL)
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: the fd is no fence of an "
			       "execution of this device");
	if (error)
		return nna_fail_errno(device, "execute", error, err);
	if (info.out_error == EREMOTEIO)
		return nn_fail(err, NN_GENERAL_FAILURE, "execute: a fence that it waited for "
			       "carried an error");
	if (info.out_error)
		return nna_fail_errno(device, "execute", (int)info.out_error, err);
	if (info.out_status)
		return nna_fail_status("execute", info.out_status, message, err);
	return NN_OK;
}
