/* SPDX-License-Identifier: MIT */
/*
 * Tensors in dma-bufs. libnnaccel_tflite.so exports nnaccel_tflite_add_buffer() besides TensorFlow
 * Lite's two entry points of external delegates.
 */
#ifndef NNACCEL_TFLITE_H
#define NNACCEL_TFLITE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct TfLiteDelegate;

/*
 * Makes a buffer handle for Interpreter::SetBufferHandle() from a dma-buf, or from another fd that
 * can be mapped for reading and writing. If a tensor with the handle is an input or output of a
 * delegated partition, the device uses the dma-buf's memory without a copy. The tensor must fit in
 * the `size` bytes from `offset`. The handle has its own duplicate of the fd, and is valid until
 * TensorFlow Lite frees the handle.
 *
 * Returns the handle, or -EINVAL if the fd cannot be mapped for reading and writing, -ENOMEM or
 * -EBADF. Any thread may call nnaccel_tflite_add_buffer().
 */
__attribute__((visibility("default")))
int nnaccel_tflite_add_buffer(struct TfLiteDelegate *delegate, int fd, size_t size,
			      size_t offset);

#ifdef __cplusplus
}
#endif

#endif /* NNACCEL_TFLITE_H */
