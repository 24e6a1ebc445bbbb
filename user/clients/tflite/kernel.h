/* SPDX-License-Identifier: MIT */
/*
 * The kernel that replaces a partition: an NNAPI model, compiled for the shapes of its tensors, and
 * executed by each invocation.
 */
#ifndef NN_TFLITE_KERNEL_H
#define NN_TFLITE_KERNEL_H

#include "clients/tflite/abi.h"

extern const struct tfl_registration kernel_registration;

#endif /* NN_TFLITE_KERNEL_H */
