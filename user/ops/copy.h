/* SPDX-License-Identifier: MIT */
/*
 * Copies a small number of bytes faster than memcpy() does, if the number is known only at run
 * time.
 */
#ifndef NN_OPS_COPY_H
#define NN_OPS_COPY_H

#include <stddef.h>
#include <string.h>

/* Maximum number of bytes that nn_copy() copies without memcpy(). */
#define NN_COPY_FEW 128

/*
 * Copies `bytes` bytes by two moves of fixed size, which may overlap: one move from the beginning,
 * and one up to the end.
 */
static inline void nn_copy(void *to, const void *from, size_t bytes)
{
	char *t = to;
	const char *f = from;

	if (bytes > NN_COPY_FEW) {
		memcpy(to, from, bytes);
	} else if (bytes >= 16) {
		for (size_t i = 0; i + 16 < bytes; i += 16)
			memcpy(t + i, f + i, 16);
		memcpy(t + bytes - 16, f + bytes - 16, 16);
	} else if (bytes >= 8) {
		memcpy(t, f, 8);
		memcpy(t + bytes - 8, f + bytes - 8, 8);
	} else if (bytes >= 4) {
		memcpy(t, f, 4);
		memcpy(t + bytes - 4, f + bytes - 4, 4);
	} else {
		for (size_t i = 0; i < bytes; i++)
			t[i] = f[i];
	}
}

#endif /* NN_OPS_COPY_H */
