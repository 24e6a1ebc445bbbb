/* SPDX-License-Identifier: MIT */
/*
 * Files of an engine's own, which are open in processes that serve clients.
 */
#ifndef NN_KIT_FILES_H
#define NN_KIT_FILES_H

#include <nnaccel/engine.h>

/* Maximum number of an engine's files. */
#define FILES_MAX 16

/* Returns how many files an engine asks for. */
uint32_t files_count(const struct nna_engine *engine);

/*
 * Opens all files, in the order of the list. Returns false, with a log line, if one cannot be
 * opened.
 */
bool files_open(const struct nna_engine *engine);

#endif /* NN_KIT_FILES_H */
