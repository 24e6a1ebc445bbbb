// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: the trace events' bodies.
 */

#define CREATE_TRACE_POINTS
#include "trace.h"
