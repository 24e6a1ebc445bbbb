/* SPDX-License-Identifier: MIT */
/* Submits work to the engine through the kernel and gets the engine's answer. */
#ifndef NN_HAL_SUBMIT_H
#define NN_HAL_SUBMIT_H

#include "device.h"

/* Submits work. Returns 0 or an errno. */
int nna_submit(const struct nna_device *device, struct nnaccel_submit *submit);

/*
 * Submits work and waits for the answer. `work` is the structure of this kind of work, to which the
 * answer is written. No signal ends the wait. Returns 0 or an errno.
 */
int nna_ask(const struct nna_device *device, enum nnaccel_work kind, void *work);

/*
 * Fetches the answer of work that nna_submit() submitted, and writes it to `work`. Without `waits`
 * it may return EINPROGRESS: the work continues, and *progress is the engine's progress, out of
 * NNACCEL_PROGRESS_ALL. After any other return value the submission no longer exists.
 */
int nna_fetch(const struct nna_device *device, uint32_t id, void *work, bool waits,
	      uint32_t *progress);

/*
 * Destroys the kernel's object `id` (0: none). If the object is a submission, its work is
 * cancelled.
 */
void nna_drop(const struct nna_device *device, uint32_t id);

#endif /* NN_HAL_SUBMIT_H */
