/* SPDX-License-Identifier: MIT */
/*
 * Definitions for applications of com.example.edu, the extension of the engine of
 * QEMU's PCI device for education.
 */
#ifndef EDU_H
#define EDU_H

#define EDU_NAME "com.example.edu"

/*
 * FACTORIAL: input 0 is a TENSOR_INT32 of any numbers. Output 0, a TENSOR_INT32 of the same shape,
 * receives the factorial of each number modulo 2^32. The device's factorial unit computes each
 * factorial. The device reads numbers of input 0 as uint32; the number 2^32 - 1 keeps the device
 * busy for seconds.
 */
#define EDU_FACTORIAL 1

/*
 * COPY: copies the bytes of input 0 to output 0, both TENSOR_QUANT8_ASYMM. The device's DMA engine
 * copies the bytes, and the CPU does not access the bytes.
 */
#define EDU_COPY 2

#endif /* EDU_H */
