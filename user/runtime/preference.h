/* SPDX-License-Identifier: MIT */
/* A flag that the project's own plug-ins may add to a PreferenceCode. */
#ifndef NN_RUNTIME_PREFERENCE_H
#define NN_RUNTIME_PREFERENCE_H

/* Makes each device compute on one thread, without changing which devices the runtime chooses. */
#define RUNTIME_ONE_THREAD (1 << 8)

#endif
