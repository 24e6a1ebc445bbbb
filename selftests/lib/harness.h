/* SPDX-License-Identifier: MIT */
/*
 * Includes all headers of selftests/lib, and kselftest_harness.h with time limits scaled for slow
 * machines.
 */
#ifndef SELFTESTS_HARNESS_H
#define SELFTESTS_HARNESS_H

#include <unistd.h>

#include "runner.h"

/* kselftest_harness.h limits the time of a test by alarm() in the test's parent process. */
static inline unsigned int scaled_alarm(unsigned int seconds)
{
	return alarm((unsigned int)scaled(seconds));
}

#define alarm scaled_alarm
#include "kselftest_harness.h"
#undef alarm

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 600

#include "buffer.h"
#include "burst.h"
#include "check.h"
#include "daemon.h"
#include "device.h"
#include "engine.h"
#include "fence.h"
#include "process.h"
#include "submit.h"
#include "summary.h"

#endif
