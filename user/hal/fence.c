/* SPDX-License-Identifier: MIT */
/*
 * Fenced executions, which are submitted without waiting. Files represent the dependencies and the
 * end of a fenced execution.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "deferred.h"
#include "error.h"
#include "execute.h"
#include "fence.h"
#include "sized.h"
#include "submit.h"

struct end {
	int error;		/* an errno, or 0 */
	struct nnaccel_execute answer;
	char message[NNACCEL_MAX_MESSAGE];
};

/*
 * The fetched answer of a fenced execution. The library stores the answer, because the kernel
 * returns an answer only once.
 */
struct nna_fence {
	struct nna_fence *next;
	int fd;			/* number of the file by which the answer was fetched */
	struct end end;
};

/*
 * Gets the shape of an output from the request and the model's signature, or only from the request
 * if the signature is not known. Returns NN_INVALID_ARGUMENT if the shape is not complete.
 */
static enum nn_status declared_shape(const struct nna_prepared_model *p,
				     const struct nna_argument *a, uint32_t index,
				     struct nnaccel_shape *shape, struct nn_error *err)
{
	const struct nna_signature *s = p->signature;
	const struct nn_operand *o = s && index < s->num_outputs ?
				     &s->operands[s->num_inputs + index].operand : NULL;
	const struct nn_type_info *info = o ? nn_type_info_of(o->type) : NULL;

	memset(shape, 0, sizeof(*shape));
	shape->flags = NNACCEL_SHAPE_SUFFICIENT;
	shape->rank = a->rank || !o ? a->rank : o->rank;
	if (info && info->is_tensor && !shape->rank && !a->has_no_value)
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: output %u needs a shape, "
			       "because the execution is fenced", index);
	for (uint32_t i = 0; i < shape->rank; i++) {
		uint32_t known = o && i < o->rank ? o->dims[i] : 0;

		shape->dims[i] = i < a->rank && a->dims[i] ? a->dims[i] : known;
		if (!shape->dims[i] && !a->has_no_value)
			return nn_fail(err, NN_INVALID_ARGUMENT, "execute: dimension %u of output "
				       "%u must be known, because the execution is fenced", i,
				       index);
	}
	return NN_OK;
}

/*
 * Determines the shapes of outputs at submission, because a dependent execution may be submitted,
 * and its buffers checked, before this execution ends.
 */
static enum nn_status declare_shapes(struct nna_call *c, struct nn_error *err)
{
	const struct nna_request *r = c->request;
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; !status && i < r->num_outputs; i++)
		status = declared_shape(c->prepared, &r->outputs[i], i, &c->shapes[i], err);
	if (!status && r->num_tokens && !c->prepared->signature)
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: a fenced execution with buffers "
			       "needs a model that does not come from a cache");
	return status;
}

/*
 * Returns the pointer in the list that points to a file's fetched answer, or the NULL pointer at
 * the end of the list.
 */
static struct nna_fence **find(struct nna_device *device, int fd)
{
	struct nna_fence **at = &device->fences;

	while (*at && (*at)->fd != fd)
		at = &(*at)->next;
	return at;
}

/* Frees the stored answer of an older execution whose file had the same number. */
static void forget(struct nna_device *device, int fd)
{
	struct nna_fence **at, *old;

	pthread_mutex_lock(&device->fences_lock);
	at = find(device, fd);
	old = *at;
	if (old)
		*at = old->next;
	pthread_mutex_unlock(&device->fences_lock);
	free(old);
}

/*
 * Submits a fenced execution, whose file later yields the answer. Records the declared shapes of
 * outputs that are buffers.
 */
static enum nn_status submit(struct nna_call *c, struct nnaccel_submit *s, struct nn_error *err)
{
	struct nna_device *device = c->prepared->device;
	const struct nna_request *r = c->request;
	bool again;
	int error;

	s->work = (uintptr_t)&c->execute;
	c->execute.shapes = 0;
	c->execute.message = 0;
	c->execute.message_size = 0;
	error = nna_submit(device, s);
	if (error == EINVAL)
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: refused by the kernel: a range is "
			       "not valid, or an fd is neither a sync_file nor the file of an "
			       "execution");
	if (error)
		return nna_fail_errno(device, "execute", error, err);
	forget(device, s->out_fd);
	if (r->num_tokens)
		nna_buffers_out(&c->buffers, r, NN_OK, c->shapes, r->num_outputs, &again);
	return NN_OK;
}

enum nn_status nna_execute_fenced(struct nna_prepared_model *prepared,
				  const struct nna_request *request,
				  const struct nna_execute_options *options,
				  const struct nna_dependencies *after, int *fence,
				  struct nn_error *err)
{
	struct nnaccel_submit s = {
		.size = sizeof(s),
		.flags = NNACCEL_SUBMIT_FILE | NNACCEL_SUBMIT_CLOEXEC,
		.kind = NNACCEL_WORK_EXECUTE,
	};
	struct nna_dependencies d = { .size = sizeof(d) };
	struct nna_execute_options o;
	enum nn_status status;
	struct nna_request r;
	struct nna_call c;

	nna_error_clear(err);
	*fence = -1;
	status = after ? NNA_TAKE(&d, duration_ns, after, "execute: the dependencies", err) : NN_OK;
	if (status)
		return status;
	if (d.num_files > NNACCEL_MAX_DEPENDENCIES)
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: %u fences to wait for, at most "
			       "%d are possible", d.num_files, NNACCEL_MAX_DEPENDENCIES);
	s.dependencies = (uintptr_t)d.files;
	s.num_dependencies = d.num_files;
	s.duration_ns = d.duration_ns;
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
		status = submit(&c, &s, err);
	nna_call_end(&c);
	if (status)
		return status;
	*fence = s.out_fd;
	nna_deferred_executed(prepared);
	return NN_OK;
}

/* ---- results ---- */

/*
 * Fetches the result of the execution that a file represents. Returns 0 or an errno; EINPROGRESS if
 * the execution has not ended.
 */
static int fetch(const struct nna_device *device, int fd, struct end *e)
{
	struct nnaccel_wait w = {
		.size = sizeof(w),
		.flags = NNACCEL_WAIT_NONBLOCK,
		.fd = fd,
		.work = (uintptr_t)&e->answer,
	};

	*e = (struct end){ .answer = {
		.size = sizeof(e->answer),
		.message = (uintptr_t)e->message,
		.message_size = sizeof(e->message),
		.out_device_ns = NNACCEL_TIME_NONE,
		.out_driver_ns = NNACCEL_TIME_NONE,
		.out_fenced_ns = NNACCEL_TIME_NONE,
	} };
	if (nna_device_call(device, NNACCEL_WAIT, &w))
		return errno;
	e->error = (int)w.out_error;
	return w.out_state == NNACCEL_STATE_DONE ? 0 : EINPROGRESS;
}

void nna_fences_forget(struct nna_device *device)
{
	struct nna_fence *f;

	while ((f = device->fences)) {
		device->fences = f->next;
		free(f);
	}
}

/*
 * Fetches the result of the execution that a file represents, or copies the result if the library
 * has already stored the result. Returns 0 or an errno; EINPROGRESS if the execution has not ended.
 */
static int look_up(struct nna_device *device, int fd, struct end *e)
{
	struct nna_fence *f = malloc(sizeof(*f)), **at;
	int error;

	if (!f)
		return ENOMEM;
	pthread_mutex_lock(&device->fences_lock);
	error = fetch(device, fd, e);
	at = find(device, fd);
	if (!error && *at) {
		(*at)->end = *e;
	} else if (!error) {
		*f = (struct nna_fence){ .fd = fd, .end = *e };
		*at = f;
		f = NULL;
	} else if (error == ENOENT && *at) {
		*e = (*at)->end;
		error = 0;
	}
	pthread_mutex_unlock(&device->fences_lock);
	free(f);
	return error;
}

/*
 * Writes the reason why the kernel returned no result for a file's execution, and returns the
 * status.
 */
static enum nn_status fail_file(const struct nna_device *device, int error, struct nn_error *err)
{
	if (error == EINVAL || error == EBADF || error == ENOENT)
		return nn_fail(err, NN_INVALID_ARGUMENT, "execute: the fd is not a fence of an "
			       "execution on this device");
	return nna_fail_errno(device, "execute", error, err);
}

static void take_times(const struct nnaccel_execute *e, struct nna_timing *launched,
		       struct nna_timing *fenced)
{
	if (launched)
		*launched = (struct nna_timing){ nna_microseconds(e->out_device_ns),
						 nna_microseconds(e->out_driver_ns) };
	if (fenced)
		*fenced = (struct nna_timing){ nna_microseconds(e->out_device_ns),
					       nna_microseconds(e->out_fenced_ns) };
}

enum nn_status nna_fence_get_info(struct nna_device *device, int fence,
				  struct nna_timing *launched, struct nna_timing *fenced,
				  struct nn_error *err)
{
	struct end e;
	int error;

	nna_error_clear(err);
	/*
	 * A forked child must take no lock, because the parent's threads may hold the locks; the
	 * kernel rejects the child's calls anyway.
	 */
	if (!nna_device_is_ours(device))
		return nna_fail_errno(device, "execute", EACCES, err);
	error = look_up(device, fence, &e);
	take_times(&e.answer, launched, fenced);
	if (error == EINPROGRESS)
		return nn_fail(err, NN_GENERAL_FAILURE, "execute: the execution has not ended yet");
	if (error)
		return fail_file(device, error, err);
	if (e.error == EREMOTEIO)
		return nn_fail(err, NN_GENERAL_FAILURE, "execute: a fence that the execution "
			       "waited for signalled an error");
	if (e.error)
		return nna_fail_errno(device, "execute", e.error, err);
	if (e.answer.out_status)
		return nna_fail_status("execute", e.answer.out_status, e.message, err);
	return NN_OK;
}

enum nn_status nna_fence_get_sync_file(struct nna_device *device, int fence, int *sync_file,
				       struct nn_error *err)
{
	struct nnaccel_sync_file s = {
		.size = sizeof(s), .flags = NNACCEL_SYNC_FILE_CLOEXEC, .fd = fence,
	};
	struct pollfd poll_fd = { .fd = fence, .events = POLLIN | POLLPRI };
	int error;

	nna_error_clear(err);
	*sync_file = -1;
	while ((error = nna_device_call(device, NNACCEL_SYNC_FILE, &s) ? errno : 0) == EAGAIN)
		poll(&poll_fd, 1, -1);
	switch (error) {
	case 0:
		*sync_file = s.out_fd;
		return NN_OK;
	case EOPNOTSUPP:
		return nn_fail(err, NN_GENERAL_FAILURE, "execute: no sync_file: the execution uses "
			       "memory that a CPU accesses");
	case EBUSY:
		return nn_fail(err, NN_GENERAL_FAILURE, "execute: no sync_file yet: the execution "
			       "waits for another execution or a fence");
	case ENODATA:
		return nn_fail(err, NN_GENERAL_FAILURE, "execute: no sync_file: the execution has "
			       "ended without a fence of the hardware");
	default:
		return fail_file(device, error, err);
	}
}
