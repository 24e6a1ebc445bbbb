/* SPDX-License-Identifier: MIT */
/*
 * Events: the end of an execution that a thread runs, or a sync fence.
 */
#ifndef NN_RUNTIME_EVENT_H
#define NN_RUNTIME_EVENT_H

#include "runtime/execution.h"

struct ANeuralNetworksEvent {
	int fence;			/* sync_file, the file of an execution, or -1 */
	uint32_t process;		/* value of handle_process() in the process that made it */
	const ANeuralNetworksDevice *device;	/* if the fence is an execution's file */
	/* Protected by the lock; NULL once the execution knows of its end. */
	ANeuralNetworksExecution *execution;
	pthread_t thread;		/* thread that runs the execution, if there is no fence */
	atomic_uint references;		/* by application, execution, and dependents */

	pthread_mutex_t lock;
	pthread_cond_t ended;
	int sync_file;	/* protected by the lock: file of the hardware's fence, or -1 */
	bool has_asked;			/* the application asked for it, so it stays open */
	bool has_ended;
	int result;
	struct nn_error reason;
};

/*
 * Runs a started execution in a thread: once all dependencies have ended, and
 * then for at most `duration_ns` (0: no limit). On failure the execution has ended.
 */
int event_start_execution(ANeuralNetworksExecution *execution,
			  const ANeuralNetworksEvent *const *dependencies, uint32_t count,
			  uint64_t duration_ns, ANeuralNetworksEvent **event,
			  struct nn_error *err);

/*
 * Starts an execution on the device if the device can wait for all dependencies and has all inputs;
 * otherwise in a thread.
 */
int event_start_fenced(ANeuralNetworksExecution *execution,
		       const ANeuralNetworksEvent *const *dependencies, uint32_t count,
		       uint64_t duration_ns, ANeuralNetworksEvent **event, struct nn_error *err);

/* Ends the execution of an event whose fence has signalled; does not wait. */
void event_look(ANeuralNetworksEvent *event);

/* Drops a reference; accepts NULL. */
void event_put(ANeuralNetworksEvent *event);

#endif /* NN_RUNTIME_EVENT_H */
