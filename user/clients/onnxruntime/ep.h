/* SPDX-License-Identifier: MIT */
/* An execution provider of one session. */
#ifndef NN_ORT_EP_H
#define NN_ORT_EP_H

#include "ort.h"

/*
 * Creates a provider for the devices called `devices`, unless the session's options name another
 * device.
 */
OrtStatus *ep_new(const struct ort *ort, const char *name, uint32_t count,
		  const char *const *devices, const OrtSessionOptions *session, OrtEp **ep);
void ep_free(OrtEp *ep);

#endif
