/* SPDX-License-Identifier: MIT */
/*
 * Events. An event waits for the end of an execution on a thread or a device, or for a sync fence.
 */
#ifndef NN_RUNTIME_EVENT_H
#define NN_RUNTIME_EVENT_H

#include "runtime/execution.h"

struct ANeuralNetworksEvent {
	int fence;	/* fd of a sync_file, or of an execution's file from the kernel, or -1 */
	uint32_t process;	/* result of handle_process() when the event was made */
	/* device of `execution` if `fence` is the execution's file, otherwise NULL */
	const ANeuralNetworksDevice *device;
	/* execution of the event, protected by `lock`; NULL after its end was recorded */
	ANeuralNetworksExecution *execution;
	pthread_t thread;		/* thread that runs the execution, if there is no fence */
	atomic_uint references;	/* references by application, execution, dependents */

	pthread_mutex_t lock;
	pthread_cond_t ended;
	int sync_file;	/* fd of the hardware fence, or -1; protected by `lock` */
	/* true: the device has already been asked for `sync_file` */
	bool has_asked;
	bool has_ended;
	int result;
	struct nn_error reason;
};

/*
 * Runs a started execution in a new thread, which first waits for all dependencies. After the
 * dependencies have ended, the execution takes at most `duration_ns` (0: no limit). On failure,
 * event_start_execution() ends the execution.
 */
int event_start_execution(ANeuralNetworksExecution *execution,
			  const ANeuralNetworksEvent *const *dependencies, uint32_t count,
			  uint64_t duration_ns, ANeuralNetworksEvent **event,
			  struct nn_error *err);

/*
 * Starts an execution on its device if the device can wait for all dependencies and can read all
 * inputs. If the device cannot wait for the dependencies or read the inputs, a thread runs the
 * execution.
 */
int event_start_fenced(ANeuralNetworksExecution *execution,
		       const ANeuralNetworksEvent *const *dependencies, uint32_t count,
		       uint64_t duration_ns, ANeuralNetworksEvent **event, struct nn_error *err);

/* If the event's fence has signalled, records the end in the event's execution. Does not wait. */
void event_look(ANeuralNetworksEvent *event);

/* Drops a reference to the event; accepts NULL. */
void event_put(ANeuralNetworksEvent *event);

#endif /* NN_RUNTIME_EVENT_H */
