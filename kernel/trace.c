// SPDX-License-Identifier: GPL-2.0-only
/* nnaccel: definitions of the trace events. */

#define CREATE_TRACE_POINTS
#include "trace.h"
