/* SPDX-License-Identifier: MIT */
/*
 * Writes the coverage counters of scripts/conditions, for processes whose sandbox forbids to open
 * files. In builds without coverage, the functions of counts.h do nothing.
 */
#ifndef NN_TESTS_COUNTS_H
#define NN_TESTS_COUNTS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

const char *__llvm_profile_get_filename(void) __attribute__((weak));
uint64_t __llvm_profile_get_size_for_buffer(void) __attribute__((weak));
int __llvm_profile_write_buffer(char *buffer) __attribute__((weak));

struct counts {
	uint64_t size;
	char *bytes;
	int file;
};

/* Opens the file for the coverage counters, before the sandbox forbids to open files. */
static inline struct counts counts_open(void)
{
	struct counts c = { .file = -1 };

	if (!__llvm_profile_write_buffer)
		return c;
	c.size = __llvm_profile_get_size_for_buffer();
	c.bytes = malloc(c.size);
	c.file = open(__llvm_profile_get_filename(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return c;
}

static inline bool counts_write(const struct counts *c)
{
	return !c->bytes || (!__llvm_profile_write_buffer(c->bytes) &&
			     write(c->file, c->bytes, c->size) == (ssize_t)c->size);
}

#endif /* NN_TESTS_COUNTS_H */
