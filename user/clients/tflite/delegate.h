/* SPDX-License-Identifier: MIT */
/*
 * The delegate: options, the devices that the options name, and the dma-bufs that the program has
 * added.
 */
#ifndef NN_TFLITE_DELEGATE_H
#define NN_TFLITE_DELEGATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "clients/device.h"
#include "clients/tflite/abi.h"

struct buffer {
	ANeuralNetworksMemory *memory;	/* memory of the handle; NULL if the handle is free */
	int fd;
	size_t size;
	size_t page;			/* offset in the file of the page in which the memory begins */
	size_t before;			/* bytes of the memory before the buffer */
};

struct delegate {
	struct tfl_delegate base;	/* TensorFlow Lite's view */
	struct options options;
	struct devices devices;
	_Atomic(int) minor;	/* minor version of the calling TensorFlow Lite 2; 0 if unknown */
	/* NNAPI chooses devices, and replaces failed devices by its CPU device */
	bool all_devices;

	/* protects the fields below, which several interpreters may use */
	pthread_mutex_t lock;
	struct buffer *buffers;		/* by handle */
	int num_buffers;
	/* the graph that the report lists first, and the number of parts in the report so far */
	const struct tfl_context *reported;
	int reported_parts;
};

/*
 * Creates a delegate. Returns NULL, with a sentence in `error`, for a wrong option or a missing
 * device.
 */
struct delegate *delegate_create(char **names, char **values, size_t count,
				 char error[OPTIONS_ERROR_SIZE]);
void delegate_destroy(struct delegate *delegate);

/*
 * Returns the memory of a handle, and sets the size of the buffer and its offset in the memory;
 * returns NULL if the handle is unknown.
 */
ANeuralNetworksMemory *delegate_memory(struct delegate *delegate, int handle, size_t *size,
				       size_t *offset);

/*
 * Prepares the delegate: chooses the nodes of a graph that the delegate claims, and replaces these
 * nodes by kernels. A partition that is not the whole graph costs a call and the transfer of its
 * tensors. If a partition is not the whole graph and has less work (multiplications or moved
 * elements) than the option min_work, TensorFlow Lite computes the partition.
 */
int partition_graph(struct tfl_context *context, struct tfl_delegate *delegate);

/*
 * Returns why the calling TensorFlow Lite cannot be trusted: an unknown version, or a structure's
 * member with an impossible value. Returns NULL if TensorFlow Lite can be trusted. The caller must
 * call runtime_wrong() before it reads execution plans.
 */
const char *runtime_wrong(struct delegate *delegate, struct tfl_context *context,
			  char text[OPTIONS_ERROR_SIZE]);

/*
 * Wraps the functions of a node whose output shapes depend on computed values. With `is_value`, the
 * node computes values that determine shapes; with `now`, the node computes its values at once.
 * Returns false if the node cannot be wrapped.
 */
bool fold_node(struct tfl_context *context, struct tfl_node *node,
	       struct tfl_registration *registration, bool is_value, bool now);

/*
 * The kernel that replaces a partition: an NNAPI model, compiled for the shapes of its tensors, and
 * executed by each invocation. A deferred partition has nodes whose shapes are known only when the
 * partition runs. A deferred partition is compiled at the first invocation, and at later
 * invocations with other shapes. TensorFlow Lite's kernels compute a deferred partition's nodes if
 * compiling fails, or if the partition had to be compiled too often. Unless `is_whole` is set,
 * TensorFlow Lite's kernels also compute a deferred partition that does too little work.
 */
struct tfl_registration kernel_registration(bool is_deferred, bool is_whole);

#endif /* NN_TFLITE_DELEGATE_H */
