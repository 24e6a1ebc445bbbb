/* SPDX-License-Identifier: MIT */
/*
 * Codes of the NNAPI's feature levels.
 */
#ifndef NN_RUNTIME_FEATURE_LEVEL_H
#define NN_RUNTIME_FEATURE_LEVEL_H

#include <stdint.h>

int64_t feature_level_code(uint32_t level);

#endif /* NN_RUNTIME_FEATURE_LEVEL_H */
