/* SPDX-License-Identifier: MIT */
/*
 * The delegate: its options, the devices that they name, and the dma-bufs that were given to it.
 */
#ifndef NN_TFLITE_DELEGATE_H
#define NN_TFLITE_DELEGATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <android/NeuralNetworks.h>

#include "clients/options.h"
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
	ANeuralNetworksDevice **devices;
	uint32_t num_devices;
	bool all_devices;		/* NNAPI chooses, and its CPU is there if a device fails */

	pthread_mutex_t lock;		/* of what follows: several interpreters may use it */
	bool asked_dynamic;
	bool has_dynamic;
	struct buffer *buffers;		/* by handle */
	int num_buffers;
};

/* NULL, with a sentence in `error`: an option is wrong, or the device is not there. */
struct delegate *delegate_create(char **names, char **values, size_t count,
				 char error[OPTIONS_ERROR_SIZE]);
void delegate_destroy(struct delegate *delegate);

/* Whether a device has the operations of clients/dynamic.h; the devices are asked once. */
bool delegate_has_dynamic(struct delegate *delegate);

/* Prints a line to the standard error, if the option verbosity is at least `level`. */
void delegate_say(const struct delegate *delegate, uint32_t level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The name of the device, for messages. */
const char *delegate_device(const struct delegate *delegate);

/* The memory of a handle. NULL: there is no such handle. */
ANeuralNetworksMemory *delegate_memory(struct delegate *delegate, int handle, size_t *size);

/* "NO_ERROR", "BAD_DATA" */
const char *result_name(int result);

#endif /* NN_TFLITE_DELEGATE_H */
