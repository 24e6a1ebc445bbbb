/* SPDX-License-Identifier: MIT */
/*
 * Commands to the engine for tests of the kit. If the first input of an execution is a single
 * number, it may be one of these commands.
 */
#ifndef NN_TESTS_KIT_ENGINE_H
#define NN_TESTS_KIT_ENGINE_H

#include <stdint.h>

#include "runner.h"

/* The execution takes this long, even beyond the deadline. */
#define KIT_ENGINE_LATE 666.0F
#define KIT_ENGINE_LATE_NS scaled(4000000000)

/*
 * The execution waits until the client is gone. The engine logs the first line before, and the
 * second after it.
 */
#define KIT_ENGINE_UNTIL_GONE 667.0F
#define KIT_ENGINE_WAITS "waits for the client's end"
#define KIT_ENGINE_TOLD "was notified of the client's end"

/*
 * The execution ends with a fence of another driver. After this time the engine logs the line, and
 * signals the fence.
 */
#define KIT_ENGINE_FENCED 668.0F
#define KIT_ENGINE_FENCE_US 500000
#define KIT_ENGINE_SIGNALS "signals the fence"

/* The engine logs this line when it waits for the fences that an execution depends on. */
#define KIT_ENGINE_DEPENDS "waits for what the execution depends on"

/* The engine reads the input through the memory's dma-buf, and fails if the contents differ. */
#define KIT_ENGINE_EXPORT 669.0F

/*
 * The engine reads its own file, and calls an ioctl on it: the first command an allowed one, the
 * second a forbidden one.
 */
#define KIT_ENGINE_READ 670.0F
#define KIT_ENGINE_STRAY 671.0F

/* The engine reports that the device worked for this long. */
#define KIT_ENGINE_TIMED 672.0F
#define KIT_ENGINE_DEVICE_US 77

/*
 * The engine puts an entry into its own store, gets this entry, or gets the entry that its `start`
 * function put. The environment variable has the store's identity.
 */
#define KIT_ENGINE_PUT 673.0F
#define KIT_ENGINE_GET 674.0F
#define KIT_ENGINE_GET_FIRST 675.0F
#define KIT_ENGINE_IDENTITY "NN_KIT_IDENTITY"

/*
 * Another thread of the engine ends the execution twice, and logs why the second time was refused.
 * With the second command this thread first waits for the client's end, which an engine process
 * never sees.
 */
#define KIT_ENGINE_DEFERRED 676.0F
#define KIT_ENGINE_NEVER 677.0F
#define KIT_ENGINE_ENDED "was refused: the execution cannot be ended: it has ended already"

/*
 * The device collects this many executions (more than the library has threads), and then ends them
 * in reverse order.
 */
#define KIT_ENGINE_QUEUED 679.0F
#define KIT_ENGINE_QUEUE 24

/* The engine's device is lost. */
#define KIT_ENGINE_LOST 678.0F
#define KIT_ENGINE_IS_LOST "the device does not answer any more"

/*
 * Maximum number of bursts at a time; the engine refuses more with DEVICE_UNAVAILABLE and this
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

/* Maximum number of a user's clients that the engine serves at a time. */
#define KIT_ENGINE_MOST 8

#endif /* NN_TESTS_KIT_ENGINE_H */
