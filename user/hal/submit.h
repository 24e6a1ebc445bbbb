/* SPDX-License-Identifier: MIT */
/*
 * Submits work to the engine through the kernel and gets its answer.
 */
#ifndef NN_HAL_SUBMIT_H
#define NN_HAL_SUBMIT_H

#include "device.h"

/* Submits work. Returns 0 or an errno. */
int nna_submit(const struct nna_device *device, struct nnaccel_submit *submit);

/*
 * Submits work and waits for the answer, which is written to the structure `work` of that kind. No
 * signal ends the wait. Returns 0 or an errno.
 */
int nna_ask(const struct nna_device *device, enum nnaccel_work kind, void *work);

/*
 * Does the same, and calls goes_on() from time to time with the engine's progress, out of
 * NNACCEL_PROGRESS_ALL. If that returns false, the work is cancelled: ECANCELED. A direct device
 * reports no progress.
 */
int nna_ask_slowly(const struct nna_device *device, enum nnaccel_work kind, void *work,
		   bool (*goes_on)(void *data, uint32_t progress), void *data);

#endif /* NN_HAL_SUBMIT_H */
