/* SPDX-License-Identifier: MIT */
/*
 * Serving one client's session: its commands, its memory, its models.
 */
#ifndef EDU_SESSION_H
#define EDU_SESSION_H

#include <stdint.h>

#include "device.h"

#define EDU_VERSION "edu-1"

/*
 * Attaches this process to a session, serves it until its client is gone and closes it. For a
 * thread of its own.
 */
void edu_session_serve(struct edu *edu, int session, uint64_t context);

#endif /* EDU_SESSION_H */
