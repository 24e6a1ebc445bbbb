/* SPDX-License-Identifier: MIT */
/* FarmHash's Fingerprint64, the hash that the NNAPI's LSH_PROJECTION uses. */
#ifndef NN_MODEL_FINGERPRINT_H
#define NN_MODEL_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

/* Returns the fingerprint of `size` bytes. Source: the published FarmHash algorithm. */
uint64_t nn_fingerprint64(const void *data, size_t size);

#endif /* NN_MODEL_FINGERPRINT_H */
