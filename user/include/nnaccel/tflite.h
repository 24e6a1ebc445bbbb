/* SPDX-License-Identifier: MIT */
/*
 * Tensors in dma-bufs. libnnaccel_tflite.so exports this besides TensorFlow Lite's two entry
 * points of external delegates.
 */
#ifndef NNACCEL_TFLITE_H
#define NNACCEL_TFLITE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct TfLiteDelegate;

/*
 * Makes a buffer handle of a dma-buf, or of another fd that can be mapped for reading and
 * writing, for Interpreter::SetBufferHandle(). If a tensor with the handle is an input or output
 * of a partition, the device uses that memory without a copy. `size` bytes from `offset` must hold
 * the tensor. The fd is duplicated. The handle ends when TensorFlow Lite frees it.
 *
 * Returns the handle, or -EINVAL if the fd cannot be mapped for this access, -ENOMEM or -EBADF. Any
 * thread may call it.
 */
__attribute__((visibility("default")))
int nnaccel_tflite_add_buffer(struct TfLiteDelegate *delegate, int fd, size_t size,
			      size_t offset);

#ifdef __cplusplus
}
#endif

#endif /* NNACCEL_TFLITE_H */
