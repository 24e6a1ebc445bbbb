/* SPDX-License-Identifier: MIT */
/*
 * Status codes of every nnaccel library, and the buffer to which a failing call writes the reason.
 */
#ifndef NNACCEL_STATUS_H
#define NNACCEL_STATUS_H

/*
 * The status that a call returns. The values up to 8 equal those of the NN HAL's ErrorStatus and of
 * enum nnaccel_status in <linux/nnaccel.h>.
 */
enum nn_status {
	NN_OK = 0,
	NN_DEVICE_UNAVAILABLE = 1,
	NN_GENERAL_FAILURE = 2,
	NN_OUTPUT_INSUFFICIENT_SIZE = 3,
	NN_INVALID_ARGUMENT = 4,
	NN_MISSED_DEADLINE_TRANSIENT = 5,
	NN_MISSED_DEADLINE_PERSISTENT = 6,
	NN_RESOURCE_EXHAUSTED_TRANSIENT = 7,
	NN_RESOURCE_EXHAUSTED_PERSISTENT = 8,
	/* The worker that served the call died. A worker itself never sends NN_DEAD_OBJECT. */
	NN_DEAD_OBJECT = 9,
	/* This process has too little memory for the call. */
	NN_OUT_OF_MEMORY = 10,
};

#define NN_MESSAGE_SIZE 512

/*
 * The reason of a failure: one line without a newline. Each function of libnnaccel.so first empties
 * its struct nn_error, and writes the reason of a failure to this structure. The function nn_fail()
 * does not overwrite a reason; if a call records several reasons, the first reason stays.
 */
struct nn_error {
	char message[NN_MESSAGE_SIZE];
};

#endif /* NNACCEL_STATUS_H */
