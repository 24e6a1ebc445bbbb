/* SPDX-License-Identifier: MIT */
/* Writes all bytes to a file, with several calls if needed. */
#ifndef NN_BASE_WRITE_H
#define NN_BASE_WRITE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * Writes `size` bytes to a regular file or memfd from offset `at` on, without moving the file's
 * position. Usually one pwrite() suffices, because the kernel writes up to 2 GiB in a call. On
 * failure returns false and sets errno; the file may then contain a part of the bytes.
 */
static inline bool write_at(int fd, const void *bytes, size_t size, off_t at)
{
	const char *from = bytes;

	while (size) {
		ssize_t n = pwrite(fd, from, size, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n ? errno : ENOSPC;
			return false;
		}
		from += n;
		at += n;
		size -= (size_t)n;
	}
	return true;
}

#endif /* NN_BASE_WRITE_H */
