/* SPDX-License-Identifier: MIT */
/*
 * Table-driven checks for every ioctl. Each check function prints a line for each error and returns
 * the number of errors.
 */
#ifndef SELFTESTS_CHECK_H
#define SELFTESTS_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** enum file_kind - The kind of file on which an ioctl works */
enum file_kind {
	FILE_CONTEXT,
	FILE_BURST,
	FILE_ENGINE,
	FILE_SESSION,
};

/** struct ioctl_desc - An ioctl of the module, or a kind of work that xioctl() submits */
struct ioctl_desc {
	const char *name;
	unsigned long request;
	size_t size;
	enum file_kind kind;
};

extern const struct ioctl_desc ioctls[];
extern const size_t num_ioctls;

/** struct refusal - An invalid value of a field, and the errno of a call that passes this value */
struct refusal {
	const char *what;
	size_t offset;
	size_t size;
	uint64_t value;
	int error;
};

#define REFUSE(_type, _field, _value, _error)					\
	{ #_field " = " #_value, offsetof(_type, _field),			\
	  sizeof(((_type *)0)->_field), (uint64_t)(_value), _error }

/**
 * check_refusals() - Checks that a call with an invalid value fails and changes nothing
 *
 * Each case of @cases makes the valid structure @good invalid by one value. An ioctl with an
 * invalid structure must fail with the errno of the structure's case, and must not change the
 * structure.
 */
int check_refusals(int fd, unsigned long request, const void *good, size_t size,
		   const struct refusal *cases, size_t num_cases);

/**
 * check_structure() - Checks the lengths and addresses of a structure that a call accepts
 *
 * Tests structures that are too short, or have a tail of zeros or of other bytes. Tests addresses
 * that are not mapped, partly mapped, or (if the call writes the structure back) read-only. Each
 * call with a valid structure must return @expected.
 */
int check_structure(int fd, unsigned long request, const void *good, size_t size, int expected,
		    bool written_back);

/** check_read_only() - Checks that a valid read-only structure causes EFAULT and opens no file */
int check_read_only(int fd, unsigned long request, const void *good, size_t size);

/**
 * check_no_fd() - Checks that a call gives EMFILE if the process may not open the file that it
 * makes
 */
int check_no_fd(int fd, unsigned long request, const void *good, size_t size);

/** check_fd_0() - Checks that a call returns fd 0 if it is free; @out_fd: offset of the field */
int check_fd_0(int fd, unsigned long request, const void *good, size_t size, size_t out_fd);

/**
 * check_numbers() - Checks that calls with the number of no ioctl of the file fail with ENOTTY
 *
 * Tests each ioctl number with each direction and size. Ioctls that work only on files of another
 * kind than @kind must also fail with ENOTTY.
 */
int check_numbers(int fd, enum file_kind kind);

/** check_all_refused() - Checks that each ioctl of a kind of file, and mmap(), fails with @error */
int check_all_refused(int fd, enum file_kind kind, int error);

/** struct odd_file - An open file that is neither memory nor a file of the module */
struct odd_file {
	const char *name;
	int fd;
};

#define MAX_ODD_FILES 24

/** odd_files_open() - Opens one of each kind of file that is neither memory nor of this module */
size_t odd_files_open(struct odd_file *files);

#endif
