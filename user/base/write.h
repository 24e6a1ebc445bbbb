/* SPDX-License-Identifier: MIT */
/*
 * Writing to a file until all bytes are written.
 */
#ifndef NN_BASE_WRITE_H
#define NN_BASE_WRITE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * Writes `size` bytes to a regular file or memfd from offset `at` on; the file's position stays.
 * Usually this is one write, because the kernel takes up to 2 GiB at a time. Returns false with
 * errno; a part may be written then.
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
