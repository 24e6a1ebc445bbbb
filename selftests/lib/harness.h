/* SPDX-License-Identifier: MIT */
/*
 * The kernel's harness with a time limit for slow machines, and all of lib/.
 */
#ifndef SELFTESTS_HARNESS_H
#define SELFTESTS_HARNESS_H

#include "kselftest_harness.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 300

#include "buffer.h"
#include "burst.h"
#include "check.h"
#include "daemon.h"
#include "device.h"
#include "engine.h"
#include "fence.h"
#include "process.h"
#include "summary.h"

#endif
