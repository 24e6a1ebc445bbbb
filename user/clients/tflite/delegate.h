/* SPDX-License-Identifier: MIT */
/*
 * The delegate: its options, the devices that they name, and the dma-bufs that were given to it.
 */
#ifndef NN_TFLITE_DELEGATE_H
#define NN_TFLITE_DELEGATE_H

#include <pthread.h>

#include "clients/device.h"
#include "clients/tflite/abi.h"

struct buffer {
	ANeuralNetworksMemory *memory;	/* NULL: the handle is free */
	int fd;
	size_t size;
	size_t offset;
};

struct delegate {
	struct tfl_delegate base;	/* what TensorFlow Lite sees */
	struct options options;
	struct devices devices;
	bool all_devices;		/* NNAPI chooses, and its CPU is there if a device fails */

	pthread_mutex_t lock;		/* of the buffers: several interpreters may use them */
	struct buffer *buffers;		/* by handle */
	int num_buffers;
};

/* NULL, with a sentence in `error`: an option is wrong, or the device is not there. */
struct delegate *delegate_create(char **names, char **values, size_t count,
				 char error[OPTIONS_ERROR_SIZE]);
void delegate_destroy(struct delegate *delegate);

/* The memory of a handle. NULL: there is no such handle. */
ANeuralNetworksMemory *delegate_memory(struct delegate *delegate, int handle, size_t *size);

#endif /* NN_TFLITE_DELEGATE_H */
