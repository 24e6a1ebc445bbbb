/* SPDX-License-Identifier: MIT */
/*
 * Work for the engine, handed to the kernel, and its answer.
 */
#ifndef NN_HAL_SUBMIT_H
#define NN_HAL_SUBMIT_H

#include "device.h"

/* Hands work over. Returns 0 or an errno. */
int nna_submit(const struct nna_device *device, struct nnaccel_submit *submit);

/*
 * Hands work over and waits for the answer, which is in the structure `work` of that kind then. No
 * signal ends the wait. Returns 0 or an errno.
 */
int nna_ask(const struct nna_device *device, enum nnaccel_work kind, void *work);

/*
 * The same, and calls goes_on() from time to time with what the engine says of its progress, of
 * NNACCEL_PROGRESS_ALL. False cancels the work: ECANCELED. A direct device says nothing.
 */
int nna_ask_slowly(const struct nna_device *device, enum nnaccel_work kind, void *work,
		   bool (*goes_on)(void *data, uint32_t progress), void *data);

#endif /* NN_HAL_SUBMIT_H */
