/* SPDX-License-Identifier: MIT */
/*
 * Functions that fill in the support library's table of functions.
 */
#ifndef NN_CLIENTS_SUPPORT_LIBRARY_H
#define NN_CLIENTS_SUPPORT_LIBRARY_H

#include <nnaccel/support_library.h>

/* Fills in the functions for devices, and for caching in open files. */
void sl_fill_device(NnApiSLDriverImplFL5 *table);

/* Fills in the functions for diagnostics. */
void sl_fill_diagnostic(NnApiSLDriverImplFL5 *table);

#endif /* NN_CLIENTS_SUPPORT_LIBRARY_H */
