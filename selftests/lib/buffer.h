/* SPDX-License-Identifier: MIT */
/*
 * Buffers of memory domains, as clients use them. Functions return 0 or an errno, unless their
 * comments say otherwise.
 */
#ifndef SELFTESTS_BUFFER_H
#define SELFTESTS_BUFFER_H

#include "device.h"

/** struct allocation - A BUFFER_ALLOC and its arrays */
struct allocation {
	struct nnaccel_buffer_alloc cmd;
	struct nnaccel_role roles[2];
	char message[NNACCEL_MAX_MESSAGE];
};

/** allocation_init() - Fills in an allocation with both roles of a model: input 0 and output 0. */
void allocation_init(struct allocation *a, uint32_t model, uint64_t capacity);

/**
 * buffer_alloc() - Allocates a buffer with both roles of a model; returns its id, or 0 and errno.
 */
uint32_t buffer_alloc(int fd, uint32_t model, uint64_t capacity);

/** buffer_copy_in() - Copies into a buffer; EREMOTEIO: the engine's status is a failure. */
int buffer_copy_in(int fd, uint32_t buffer, const void *data, uint64_t length);

/** buffer_copy_out() - Copies out of a buffer; EREMOTEIO: the engine's status is a failure. */
int buffer_copy_out(int fd, uint32_t buffer, void *data, uint64_t length);

/**
 * struct buffer_execution - An EXECUTE whose only input and only output are buffers
 */
struct buffer_execution {
	struct execution base;
	uint32_t buffers[2];
};

/**
 * buffer_execution_init() - Fills in all fields; if @output is 0, the input is the only argument.
 */
void buffer_execution_init(struct buffer_execution *e, uint32_t model, uint32_t input,
			   uint32_t output);

#endif
