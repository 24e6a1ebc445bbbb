/* SPDX-License-Identifier: MIT */
/*
 * Commands to the engine for tests of the kit: an execution's first input, if it is a single
 * number.
 */
#ifndef NN_TESTS_KIT_ENGINE_H
#define NN_TESTS_KIT_ENGINE_H

#include <stdint.h>

#include "runner.h"

/* The execution takes this long, even beyond the deadline. */
#define KIT_ENGINE_LATE 666.0F
#define KIT_ENGINE_LATE_NS scaled(4000000000)

/* The execution waits until the client is gone, and logs this before and after. */
#define KIT_ENGINE_UNTIL_GONE 667.0F
#define KIT_ENGINE_WAITS "waits for the client's end"
#define KIT_ENGINE_TOLD "was notified of the client's end"

/*
 * Another driver's fence ends the execution. The engine logs, and lets the fence signal after this
 * time.
 */
#define KIT_ENGINE_FENCED 668.0F
#define KIT_ENGINE_FENCE_US 500000
#define KIT_ENGINE_SIGNALS "signals the fence"

/* The engine logs this when it waits for the fences that an execution depends on. */
#define KIT_ENGINE_DEPENDS "waits for what the execution depends on"

/* The engine reads the input through the memory's dma-buf, and fails if the contents differ. */
#define KIT_ENGINE_EXPORT 669.0F

/* The engine reads its own file, and makes an ioctl of it that is allowed, or one that is not. */
#define KIT_ENGINE_READ 670.0F
#define KIT_ENGINE_STRAY 671.0F

/* The engine reports that the device worked for this long. */
#define KIT_ENGINE_TIMED 672.0F
#define KIT_ENGINE_DEVICE_US 77

/*
 * The engine puts an entry into its own store, or gets it, or gets the entry that it put in
 * `start`. The environment variable with the store's identity.
 */
#define KIT_ENGINE_PUT 673.0F
#define KIT_ENGINE_GET 674.0F
#define KIT_ENGINE_GET_FIRST 675.0F
#define KIT_ENGINE_IDENTITY "NN_KIT_IDENTITY"

/*
 * Another thread of the engine ends the execution twice, and logs why the second time was refused;
 * or it waits for the client's end first, which a process never sees.
 */
#define KIT_ENGINE_DEFERRED 676.0F
#define KIT_ENGINE_NEVER 677.0F
#define KIT_ENGINE_ENDED "was refused: the execution cannot be ended: it has ended already"

/*
 * The device takes this many executions, more than the library has threads, and then ends them, the
 * last one first.
 */
#define KIT_ENGINE_QUEUED 679.0F
#define KIT_ENGINE_QUEUE 24

/* The engine's device is lost. */
#define KIT_ENGINE_LOST 678.0F
#define KIT_ENGINE_IS_LOST "the device does not answer any more"

/*
 * Maximum number of bursts at a time; the engine refuses others with DEVICE_UNAVAILABLE and this
 * text.
 */
#define KIT_ENGINE_BURSTS 4
#define KIT_ENGINE_NO_BURST "all bursts of the device are taken"

/* Device memory that the engine reports for each model. */
#define KIT_ENGINE_DEVICE_KIB 3072

/* The engine logs these lines about models and buffers. */
#define KIT_ENGINE_PREPARES "prepares with priority %u"
#define KIT_ENGINE_ROLE "a buffer is %s %u in %d %% of executions"

/* The environment variable with the numbers of model and data cache files, such as "2 1". */
#define KIT_ENGINE_FILES "NN_KIT_FILES"

/* Number of clients of a user that the engine serves at a time. */
#define KIT_ENGINE_MOST 8

#endif /* NN_TESTS_KIT_ENGINE_H */
