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
 * Fetches the answer of work that nna_submit() handed over, as nna_ask() does. Without `waits` it
 * may return EINPROGRESS: the work goes on, and *progress is the engine's progress, out of
 * NNACCEL_PROGRESS_ALL. After any other return the submission is gone.
 */
int nna_fetch(const struct nna_device *device, uint32_t id, void *work, bool waits,
	      uint32_t *progress);

/* Destroys a kernel object (0: none). This cancels work that was handed over. */
void nna_drop(const struct nna_device *device, uint32_t id);

#endif /* NN_HAL_SUBMIT_H */
