/* SPDX-License-Identifier: MIT */
/*
 * Bursts: executions through rings in memory that is shared with the worker.
 */
#ifndef NN_HAL_BURST_H
#define NN_HAL_BURST_H

struct nna_burst;
struct nna_device;
struct nna_memory;

/* Wakes whoever waits for a burst of the device; nothing where it is gone. */
void nna_bursts_interrupt(struct nna_device *device, const struct nna_burst *burst);

/* Frees the slots of a memory that nobody uses any more, in every burst. */
void nna_bursts_forget(struct nna_memory *memory);

#endif /* NN_HAL_BURST_H */
