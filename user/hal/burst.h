/* SPDX-License-Identifier: MIT */
/*
 * Bursts: executions through rings in memory that is shared with the worker.
 */
#ifndef NN_HAL_BURST_H
#define NN_HAL_BURST_H

struct nna_burst;
struct nna_device;

/* Wakes whoever waits for a burst of the device; nothing where it is gone. */
void nna_bursts_interrupt(struct nna_device *device, const struct nna_burst *burst);

#endif /* NN_HAL_BURST_H */
