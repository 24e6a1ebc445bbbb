/* SPDX-License-Identifier: MIT */
/* Events: sync fences, and threads that run executions once all dependencies have ended. */
#define _GNU_SOURCE
#include "runtime/event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runtime/handle.h"
#include "runtime/log.h"

/*
 * Arguments of a thread that runs an execution. The thread has a reference to each event in its
 * job.
 */
struct job {
	ANeuralNetworksExecution *execution;
	ANeuralNetworksEvent *event;
	uint64_t deadline_ns;
	uint64_t duration_ns;
	uint32_t num_dependencies;
	ANeuralNetworksEvent *dependencies[];
};

static ANeuralNetworksEvent *new_event(int fence)
{
	ANeuralNetworksEvent *event = calloc(1, sizeof(*event));

	if (!event)
		return NULL;
	event->fence = fence;
	event->sync_file = -1;
	event->references = 1;
	event->process = handle_process();
	pthread_mutex_init(&event->lock, NULL);
	pthread_cond_init(&event->ended, NULL);
	return event;
}

void event_put(ANeuralNetworksEvent *event)
{
	if (!event || atomic_fetch_sub(&event->references, 1) > 1)
		return;
	if (event->fence >= 0)
		close(event->fence);
	if (event->sync_file >= 0)
		close(event->sync_file);
	pthread_cond_destroy(&event->ended);
	pthread_mutex_destroy(&event->lock);
	free(event);
}

static void drop_job(struct job *job)
{
	uint32_t i;

	for (i = 0; i < job->num_dependencies; i++)
		event_put(job->dependencies[i]);
	event_put(job->event);
	free(job);
}

/* Returns the status of a signalled sync_file: 1, or a negative error. */
static int fence_status(int fence)
{
	struct sync_file_info info = { .status = 0 };

	if (ioctl(fence, SYNC_IOC_FILE_INFO, &info))
		return 1;
	return info.status;
}

static int wait_fence(int fence, struct nn_error *err)
{
	struct pollfd poll_fd = { .fd = fence, .events = POLLIN };
	int count, status;

	do
		count = poll(&poll_fd, 1, -1);
	while (count < 0 && (errno == EINTR || errno == EAGAIN));
	if (count < 0 || poll_fd.revents & (POLLERR | POLLNVAL))
		return rt_fail(err, ANEURALNETWORKS_OP_FAILED, "the sync fence is in error");
	status = fence_status(fence);
	if (status < 0)
		return rt_fail(err, ANEURALNETWORKS_OP_FAILED,
			       "the sync fence ended with an error: %s", strerror(-status));
	return ANEURALNETWORKS_NO_ERROR;
}

/*
 * Records the end of an execution whose fence has signalled; later calls for the event do nothing.
 */
static void end_execution(ANeuralNetworksEvent *event)
{
	pthread_mutex_lock(&event->lock);
	if (event->execution) {
		event->result = execution_end_fenced(event->execution, event->fence,
						     &event->reason);
		event->execution = NULL;
		event->has_ended = true;
	}
	pthread_mutex_unlock(&event->lock);
}

void event_look(ANeuralNetworksEvent *event)
{
	struct pollfd poll_fd = { .fd = event->fence, .events = POLLIN };

	if (poll(&poll_fd, 1, 0) > 0)
		end_execution(event);
}

/* Returns whether the event's thread belongs to a parent process. */
static bool is_of_parent(const ANeuralNetworksEvent *event)
{
	return event->fence < 0 && event->process != handle_process();
}

static int wait_event(ANeuralNetworksEvent *event, struct nn_error *err)
{
	int result;

	if (event->fence >= 0) {
		result = wait_fence(event->fence, err);
		end_execution(event);
		if (!event->device)
			return result;
	}
	if (is_of_parent(event))
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE,
			       "the event was made before a fork()");
	pthread_mutex_lock(&event->lock);
	while (!event->has_ended)
		pthread_cond_wait(&event->ended, &event->lock);
	result = event->result;
	nn_fail(err, NN_GENERAL_FAILURE, "%s", event->reason.message);
	pthread_mutex_unlock(&event->lock);
	return result;
}

static int wait_dependencies(const struct job *job, struct nn_error *err)
{
	struct nn_error reason = { "" };
	uint32_t i;

	for (i = 0; i < job->num_dependencies; i++)
		if (wait_event(job->dependencies[i], &reason) != ANEURALNETWORKS_NO_ERROR)
			return rt_fail(err, ANEURALNETWORKS_OP_FAILED, "dependency %u failed: %s",
				       i, reason.message);
	return ANEURALNETWORKS_NO_ERROR;
}

/* Waits for all dependencies, whose outputs the execution may read, and then runs the execution. */
static int run_job(const struct job *job, struct nn_error *err)
{
	uint64_t deadline = job->deadline_ns;
	uint64_t limit;
	int result;

	result = wait_dependencies(job, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = execution_check_memories(job->execution, err);
	if (result != ANEURALNETWORKS_NO_ERROR) {
		execution_abandon(job->execution, result);
		return result;
	}
	limit = deadline_after(job->duration_ns);
	if (limit && (!deadline || limit < deadline))
		deadline = limit;
	return execution_run(job->execution, NULL, deadline, err);
}

static void *job_thread(void *data)
{
	struct job *job = data;
	ANeuralNetworksEvent *event = job->event;
	struct nn_error reason = { "" };
	int result = run_job(job, &reason);

	pthread_mutex_lock(&event->lock);
	event->result = result;
	event->reason = reason;
	event->has_ended = true;
	pthread_cond_broadcast(&event->ended);
	pthread_mutex_unlock(&event->lock);
	drop_job(job);
	return NULL;
}

/* Block all signals for the new thread, because only the application's threads handle signals. */
static int start_thread(struct job *job)
{
	pthread_attr_t attr;
	sigset_t all;
	int error;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setsigmask_np(&attr, &all);
	error = pthread_create(&job->event->thread, &attr, job_thread, job);
	pthread_attr_destroy(&attr);
	return error;
}

static struct job *new_job(const ANeuralNetworksEvent *const *dependencies, uint32_t count)
{
	struct job *job = calloc(1, sizeof(*job) + count * sizeof(job->dependencies[0]));
	uint32_t i;

	if (!job)
		return NULL;
	job->event = new_event(-1);
	if (!job->event) {
		free(job);
		return NULL;
	}
	for (i = 0; i < count; i++) {
		/*
		 * The cast drops `const`, because only the number of references changes, which
		 * callers cannot read.
		 */
		job->dependencies[i] = (ANeuralNetworksEvent *)dependencies[i];
		atomic_fetch_add(&job->dependencies[i]->references, 1);
	}
	job->num_dependencies = count;
	return job;
}

int event_start_execution(ANeuralNetworksExecution *execution,
			  const ANeuralNetworksEvent *const *dependencies, uint32_t count,
			  uint64_t duration_ns, ANeuralNetworksEvent **event,
			  struct nn_error *err)
{
	struct job *job = new_job(dependencies, count);
	int error;

	if (!job) {
		execution_abandon(execution, ANEURALNETWORKS_OUT_OF_MEMORY);
		return rt_out_of_memory(err);
	}
	job->execution = execution;
	job->deadline_ns = deadline_after(execution->timeout_ns);
	job->duration_ns = duration_ns;
	/* The application and the thread have one reference each, because either may end first. */
	atomic_fetch_add(&job->event->references, 1);
	*event = job->event;
	error = start_thread(job);
	if (error) {
		event_put(*event);
		*event = NULL;
		drop_job(job);
		execution_abandon(execution, ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT);
		return rt_fail(err, ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT,
			       "cannot make a thread: %s", strerror(error));
	}
	return ANEURALNETWORKS_NO_ERROR;
}

/* Returns whether an event without a fence has ended with success. */
static bool has_succeeded(const ANeuralNetworksEvent *event)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&event->lock;
	bool succeeded;

	pthread_mutex_lock(lock);
	succeeded = event->has_ended && event->result == ANEURALNETWORKS_NO_ERROR;
	pthread_mutex_unlock(lock);
	return succeeded;
}

/*
 * Returns the fences of dependencies, and sets *count to the number of fences. Returns NULL if a
 * dependency without a fence is unfinished or has failed, or if memory ran out.
 */
static int *get_fences(const ANeuralNetworksEvent *const *dependencies, uint32_t *count)
{
	int *fences = calloc((size_t)*count + 1, sizeof(*fences));
	uint32_t fenced = 0, i;

	for (i = 0; fences && i < *count; i++) {
		if (dependencies[i]->fence >= 0) {
			fences[fenced++] = dependencies[i]->fence;
		} else if (!has_succeeded(dependencies[i])) {
			free(fences);
			return NULL;
		}
	}
	*count = fenced;
	return fences;
}

static bool have_signalled(const int *fences, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		struct pollfd poll_fd = { .fd = fences[i], .events = POLLIN };

		if (poll(&poll_fd, 1, 0) <= 0)
			return false;
	}
	return true;
}

int event_start_fenced(ANeuralNetworksExecution *execution,
		       const ANeuralNetworksEvent *const *dependencies, uint32_t count,
		       uint64_t duration_ns, ANeuralNetworksEvent **event, struct nn_error *err)
{
	uint32_t num_fences = count;
	int *fences = get_fences(dependencies, &num_fences);
	ANeuralNetworksEvent *e = fences ? new_event(-1) : NULL;
	int fence = -1;

	if (e)
		execution_start_fenced(execution, fences, num_fences,
				       have_signalled(fences, num_fences), duration_ns, &fence);
	free(fences);
	if (fence >= 0) {
		e->fence = fence;
		e->execution = execution;
		e->device = execution->compilation->partition.steps[0].device;
		atomic_fetch_add(&e->references, 1);
		execution->event = e;
		*event = e;
		return ANEURALNETWORKS_NO_ERROR;
	}
	event_put(e);
	return event_start_execution(execution, dependencies, count, duration_ns, event, err);
}

int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent **event)
{
	int fence;

	RT_NOT_NULL(event);
	*event = NULL;
	if (sync_fence_fd <= 0)
		return rt_refuse(ANEURALNETWORKS_BAD_DATA, "fd %d", sync_fence_fd);
	fence = fcntl(sync_fence_fd, F_DUPFD_CLOEXEC, 1);
	if (fence < 0)
		return rt_refuse(ANEURALNETWORKS_BAD_DATA, "fd %d: %s", sync_fence_fd,
				 strerror(errno));
	*event = new_event(fence);
	if (!*event) {
		close(fence);
		return rt_refuse(ANEURALNETWORKS_OUT_OF_MEMORY, "out of memory");
	}
	return ANEURALNETWORKS_NO_ERROR;
}

/*
 * Gets the sync_file of the hardware fence that signals an execution's end, or -1 without such a
 * fence. The event stores the device's answer, so only the first call asks the device. If memory or
 * file descriptors ran out, the next call asks the device again.
 */
static int get_sync_file(ANeuralNetworksEvent *event, int *fence, struct nn_error *reason)
{
	int result = ANEURALNETWORKS_NO_ERROR;

	pthread_mutex_lock(&event->lock);
	if (!event->has_asked)
		result = event->device->ops->sync_file(event->device, event->fence,
						       &event->sync_file, reason);
	event->has_asked = result != ANEURALNETWORKS_OUT_OF_MEMORY &&
			   result != ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT;
	if (event->has_asked)
		result = ANEURALNETWORKS_NO_ERROR;
	*fence = event->sync_file;
	pthread_mutex_unlock(&event->lock);
	return result;
}

int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent *event, int *sync_fence_fd)
{
	int fence, result = ANEURALNETWORKS_NO_ERROR;
	struct nn_error reason = { "" };

	RT_NOT_NULL(sync_fence_fd);
	*sync_fence_fd = -1;
	RT_NOT_NULL(event);
	/*
	 * An execution has a sync_file only if hardware computes the execution. If a process
	 * computes the execution, a file that is no sync_file, or a thread, signals the execution's
	 * end.
	 */
	fence = event->fence;
	if (event->device)
		result = get_sync_file((ANeuralNetworksEvent *)event, &fence, &reason);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return rt_refuse(result, "%s", reason.message);
	if (fence < 0)
		return rt_refuse(ANEURALNETWORKS_BAD_DATA, "the event has no sync fence%s%s",
				 reason.message[0] ? ": " : "", reason.message);
	*sync_fence_fd = fcntl(fence, F_DUPFD_CLOEXEC, 1);
	if (*sync_fence_fd < 0)
		return rt_refuse(ANEURALNETWORKS_OP_FAILED, "no fd: %s", strerror(errno));
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksEvent_wait(ANeuralNetworksEvent *event)
{
	RT_NOT_NULL(event);
	return RT_CALL(wait_event(event, &err));
}

void ANeuralNetworksEvent_free(ANeuralNetworksEvent *event)
{
	struct nn_error err = { "" };

	if (!event)
		return;
	wait_event(event, &err);
	if (event->fence < 0 && !is_of_parent(event))
		pthread_join(event->thread, NULL);
	event_put(event);
}
