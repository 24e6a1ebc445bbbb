/* SPDX-License-Identifier: MIT */
/* Files that an engine requests: these files are open in all processes that serve clients. */
#ifndef NN_KIT_FILES_H
#define NN_KIT_FILES_H

#include <nnaccel/engine.h>

/* Maximum number of files that an engine may request. */
#define FILES_MAX 16

uint32_t files_count(const struct nna_engine *engine);

/*
 * Opens all files that an engine requests, in the order of the engine's list. Returns false, with a
 * log line, if a file cannot be opened.
 */
bool files_open(const struct nna_engine *engine);

#endif /* NN_KIT_FILES_H */
