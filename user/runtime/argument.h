/* SPDX-License-Identifier: MIT */
/*
 * The rules for an argument of an execution: shape, length, memory and role.
 */
#ifndef NN_RUNTIME_ARGUMENT_H
#define NN_RUNTIME_ARGUMENT_H

#include "runtime/execution.h"

/* The application's description of an input or output of an execution. */
struct argument {
	bool output;
	int32_t index;
	const ANeuralNetworksOperandType *type;	/* NULL: the model's */
	const ANeuralNetworksMemory *memory;	/* NULL: buffer */
	void *buffer;				/* NULL: omitted */
	size_t offset;
	size_t length;
};

/* Checks an argument and stores it in the execution. BAD_STATE, BAD_DATA. */
int execution_set_argument(ANeuralNetworksExecution *execution, const struct argument *argument,
			   struct nn_error *err);

#endif /* NN_RUNTIME_ARGUMENT_H */
