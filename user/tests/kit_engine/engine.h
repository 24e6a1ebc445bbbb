/* SPDX-License-Identifier: MIT */
/*
 * Commands to the test engine of the engine kit. If the first input of an execution is a single
 * number, this number may be a command of engine.h.
 */
#ifndef NN_TESTS_KIT_ENGINE_H
#define NN_TESTS_KIT_ENGINE_H

#include <stdint.h>

#include "runner.h"

/*
 * With the command KIT_ENGINE_LATE, an execution takes KIT_ENGINE_LATE_NS, even beyond the
 * deadline.
 */
#define KIT_ENGINE_LATE 666.0F
#define KIT_ENGINE_LATE_NS scaled(4000000000)

/*
 * With the command KIT_ENGINE_UNTIL_GONE, an execution waits until the client is gone. The engine
 * logs KIT_ENGINE_WAITS before the wait for the client's end, and KIT_ENGINE_TOLD after the wait.
 */
#define KIT_ENGINE_UNTIL_GONE 667.0F
#define KIT_ENGINE_WAITS "waits for the client's end"
#define KIT_ENGINE_TOLD "was notified of the client's end"

/*
 * With the command KIT_ENGINE_FENCED, an execution ends with a fence of another driver. The engine
 * logs KIT_ENGINE_SIGNALS and signals the fence after KIT_ENGINE_FENCE_US.
 */
#define KIT_ENGINE_FENCED 668.0F
#define KIT_ENGINE_FENCE_US 500000
#define KIT_ENGINE_SIGNALS "signals the fence"

/*
 * The engine logs KIT_ENGINE_DEPENDS when the engine waits for the fences on which an execution
 * depends.
 */
#define KIT_ENGINE_DEPENDS "waits for what the execution depends on"

/*
 * With the command KIT_ENGINE_EXPORT, the engine reads the input through the dma-buf of the input's
 * memory. The execution fails if the dma-buf's contents differ from the input.
 */
#define KIT_ENGINE_EXPORT 669.0F

/*
 * With KIT_ENGINE_READ or KIT_ENGINE_STRAY, the engine reads a file that the engine has declared,
 * and calls an ioctl on the file. KIT_ENGINE_READ calls an allowed ioctl, and KIT_ENGINE_STRAY
 * calls a forbidden ioctl.
 */
#define KIT_ENGINE_READ 670.0F
#define KIT_ENGINE_STRAY 671.0F

/*
 * With the command KIT_ENGINE_TIMED, the engine reports that the device worked for
 * KIT_ENGINE_DEVICE_US.
 */
#define KIT_ENGINE_TIMED 672.0F
#define KIT_ENGINE_DEVICE_US 77

/*
 * KIT_ENGINE_PUT puts an entry into the engine's own store; KIT_ENGINE_GET gets the entry that
 * KIT_ENGINE_PUT has put. KIT_ENGINE_GET_FIRST gets the entry that the engine's `start` function
 * put. The environment variable KIT_ENGINE_IDENTITY contains the identity of the engine's store.
 */
#define KIT_ENGINE_PUT 673.0F
#define KIT_ENGINE_GET 674.0F
#define KIT_ENGINE_GET_FIRST 675.0F
#define KIT_ENGINE_IDENTITY "NN_KIT_IDENTITY"

/*
 * With KIT_ENGINE_DEFERRED, another thread of the engine ends the execution twice, and logs why the
 * library refused the second end. With KIT_ENGINE_NEVER, the other thread first waits for the
 * client's end; if an engine process serves only one client, the process is killed before.
 */
#define KIT_ENGINE_DEFERRED 676.0F
#define KIT_ENGINE_NEVER 677.0F
#define KIT_ENGINE_ENDED "was refused: the execution cannot be ended: it has ended already"

/*
 * The device collects KIT_ENGINE_QUEUE executions, more than the library has threads, and then ends
 * the collected executions in reverse order.
 */
#define KIT_ENGINE_QUEUED 679.0F
#define KIT_ENGINE_QUEUE 24

/*
 * With the command KIT_ENGINE_LOST, the engine reports that its device is lost, with the message
 * KIT_ENGINE_IS_LOST.
 */
#define KIT_ENGINE_LOST 678.0F
#define KIT_ENGINE_IS_LOST "the device does not answer any more"

/*
 * Maximum number of bursts at the same time; the engine refuses further bursts with
 * DEVICE_UNAVAILABLE and the message KIT_ENGINE_NO_BURST.
 */
#define KIT_ENGINE_BURSTS 4
#define KIT_ENGINE_NO_BURST "all bursts of the device are taken"

/* Device memory in KiB that the engine reports for each model. */
#define KIT_ENGINE_DEVICE_KIB 3072

/* Lines that the engine logs when preparing a model, and when making a buffer for a role. */
#define KIT_ENGINE_PREPARES "prepares with priority %u"
#define KIT_ENGINE_ROLE "a buffer is %s %u in %d %% of executions"

/*
 * Name of the environment variable that contains the numbers of model and data cache files, such as
 * "2 1".
 */
#define KIT_ENGINE_FILES "NN_KIT_FILES"

/* Maximum number of clients of one user that the engine serves at the same time. */
#define KIT_ENGINE_MOST 8

#endif /* NN_TESTS_KIT_ENGINE_H */
