/* SPDX-License-Identifier: MIT */
/*
 * Bursts: executions through rings in memory shared with the worker.
 */
#ifndef NN_HAL_BURST_H
#define NN_HAL_BURST_H

struct nna_burst;
struct nna_device;
struct nna_memory;

/* Wakes the threads that wait for results of a burst; does nothing if the burst was freed. */
void nna_bursts_interrupt(struct nna_device *device, const struct nna_burst *burst);

/* Frees the slots of a memory, which no execution uses any more, in all bursts. */
void nna_bursts_forget(struct nna_memory *memory);

#endif /* NN_HAL_BURST_H */
