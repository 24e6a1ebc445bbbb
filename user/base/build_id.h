/* SPDX-License-Identifier: MIT */
/*
 * The build ID, which differs between builds of a program.
 */
#ifndef NN_BASE_BUILD_ID_H
#define NN_BASE_BUILD_ID_H

#include <stdbool.h>

#define BUILD_ID_TEXT 17

/*
 * Writes the start of this program's build ID in hexadecimal. If the program has no build ID,
 * writes "unidentified" and returns false.
 */
bool build_id(char text[BUILD_ID_TEXT]);

#endif /* NN_BASE_BUILD_ID_H */
