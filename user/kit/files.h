/* SPDX-License-Identifier: MIT */
/*
 * Files of an engine's own, which processes that serve clients have besides the library's.
 */
#ifndef NN_KIT_FILES_H
#define NN_KIT_FILES_H

#include <nnaccel/engine.h>

/* That an engine has at most. */
#define FILES_MAX 16

/* How many an engine asks for. */
uint32_t files_count(const struct nna_engine *engine);

/* Opens all of them, in the order of the list. False, with a log line: one cannot be opened. */
bool files_open(const struct nna_engine *engine);

#endif /* NN_KIT_FILES_H */
