/* SPDX-License-Identifier: MIT */
/* Submits work to the engine through the kernel and gets the engine's answer. */
#ifndef NN_HAL_SUBMIT_H
#define NN_HAL_SUBMIT_H

#include "device.h"

/* Submits work, without waiting for the answer. Returns 0 or an errno. */
int nna_submit(const struct nna_device *device, struct nnaccel_submit *submit);

/*
 * Submits work and waits for the answer. `work` is the structure for work of kind `kind`, and
 * receives the answer. Signals do not end the wait for the answer. Returns 0 or an errno.
 */
int nna_ask(const struct nna_device *device, enum nnaccel_work kind, void *work);

/*
 * Fetches the answer of work that nna_submit() submitted, and writes it to `work`. Without `waits`
 * nna_fetch() may return EINPROGRESS: the work continues, and *progress is the engine's progress,
 * out of NNACCEL_PROGRESS_ALL. After any return value except EINPROGRESS the submission does not
 * exist any more.
 */
int nna_fetch(const struct nna_device *device, uint32_t id, void *work, bool waits,
	      uint32_t *progress);

/*
 * Destroys the kernel's object `id` (0: none). If the object is a submission, the kernel cancels
 * the submitted work.
 */
void nna_drop(const struct nna_device *device, uint32_t id);

#endif /* NN_HAL_SUBMIT_H */
