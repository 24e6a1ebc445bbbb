/* SPDX-License-Identifier: MIT */
/*
 * Definitions for applications of com.example.edu, the extension of the engine of
 * QEMU's PCI device for education.
 */
#ifndef EDU_H
#define EDU_H

#define EDU_NAME "com.example.edu"

/*
 * FACTORIAL: input 0, TENSOR_INT32: any numbers; output 0, TENSOR_INT32 of the same shape: the
 * factorial of each modulo 2^32, by the device's own unit. Numbers are taken as uint32: one of
 * 2^32 - 1 keeps the device busy for seconds.
 */
#define EDU_FACTORIAL 1

/*
 * COPY: input 0, TENSOR_QUANT8_ASYMM; output 0, the same: its bytes, moved by the device's DMA
 * engine. The CPU does not touch them.
 */
#define EDU_COPY 2

#endif /* EDU_H */
