/* SPDX-License-Identifier: MIT */
/* A bit of a PreferenceCode that only the project's own plug-ins use. */
#ifndef NN_RUNTIME_PREFERENCE_H
#define NN_RUNTIME_PREFERENCE_H

/* Devices are chosen as without the bit, and each computes on one thread. */
#define RUNTIME_ONE_THREAD (1 << 8)

#endif
