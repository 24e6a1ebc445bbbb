/* SPDX-License-Identifier: MIT */
/* Opens, locks and writes the files of a compilation cache entry. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <nnaccel/engine_model.h>

#include "base/write.h"
#include "cache_files.h"

/* Number of tries for a lock, and the pause between two tries. */
#define LOCK_TRIES 50
#define LOCK_PAUSE_NS 10000000

/* Number of bytes of a file that are compared at a time. */
#define COMPARED 65536

static enum nn_status fail_errno(const char *what, int error, struct nn_error *err)
{
	const char *text = strerrordesc_np(error);

	return nn_fail(err, NN_GENERAL_FAILURE, "cache: %s: %s", what,
		       text ? text : "unknown error");
}

/*
 * Opens the file of a handle a second time. Locks belong to an open file description, and the
 * caller's description may be in use for another model. If the file cannot be opened, returns a
 * duplicate of the caller's handle.
 */
static int open_again(int fd)
{
	char path[32];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	return again < 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : again;
}

static enum nn_status check_file(const char *kind, int fd, struct nn_error *err)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(fd, &st))
		return nn_fail(err, NN_INVALID_ARGUMENT, "cache: the %s file is not open", kind);
	if (!S_ISREG(st.st_mode))
		return nn_fail(err, NN_INVALID_ARGUMENT, "cache: the %s file is not a regular file",
			       kind);
	if ((flags & O_ACCMODE) != O_RDWR)
		return nn_fail(err, NN_INVALID_ARGUMENT,
			       "cache: the %s file is not open for reading and writing", kind);
	return NN_OK;
}

static enum nn_status lock_file(const char *kind, int fd, short type, struct nn_error *err)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET };

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (!fcntl(fd, F_OFD_SETLK, &lock))
			return NN_OK;
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			return fail_errno(kind, errno, err);
		nanosleep(&pause, NULL);
	}
	return nn_fail(err, NN_GENERAL_FAILURE, "cache: the %s file is in use by another process",
		       kind);
}

static const char *kind_of(const struct nna_cache_files *files, uint32_t i)
{
	return i < files->num_model ? "model" : "data";
}

int nna_cache_file(const struct nna_cache *cache, uint32_t i)
{
	return i < cache->num_model_files ? cache->model_files[i] :
					    cache->data_files[i - cache->num_model_files];
}

static enum nn_status open_file(const struct nna_cache *cache, struct nna_cache_files *files,
				uint32_t i, bool writes, struct nn_error *err)
{
	short type = writes && i < files->num_model ? F_WRLCK : F_RDLCK;
	struct stat st;

	files->fds[i] = open_again(nna_cache_file(cache, i));
	if (files->fds[i] < 0)
		return fail_errno("files", errno, err);
	if (lock_file(kind_of(files, i), files->fds[i], type, err))
		return NN_GENERAL_FAILURE;
	if (fstat(files->fds[i], &st))
		return fail_errno(kind_of(files, i), errno, err);
	files->sizes[i] = (uint64_t)st.st_size;
	return NN_OK;
}

/*
 * Opens and locks the files, always in the same order, so that two processes cannot wait for each
 * other. A writer first locks data files only for reading, because the files may already have the
 * right contents.
 */
enum nn_status nna_cache_files_open(const struct nna_cache *cache, bool writes,
				    struct nna_cache_files *files, struct nn_error *err)
{
	const uint32_t num_model = cache->num_model_files, num_data = cache->num_data_files;
	enum nn_status status = NN_OK;

	files->count = 0;
	if (num_model > NNACCEL_MAX_CACHE_PARTS || num_data > NNACCEL_MAX_CACHE_PARTS ||
	    !(num_model + num_data))
		return nn_fail(err, NN_INVALID_ARGUMENT, "cache: %u model files and %u data files "
			       "are given; give at least one file, and at most %d of each kind",
			       num_model, num_data, NNACCEL_MAX_CACHE_PARTS);
	files->num_model = num_model;
	for (uint32_t i = 0; i < num_model + num_data && !status; i++)
		status = check_file(kind_of(files, i), nna_cache_file(cache, i), err);
	if (status)
		return status;
	while (files->count < num_model + num_data && !status)
		status = open_file(cache, files, files->count++, writes, err);
	if (status)
		nna_cache_files_close(files);
	return status;
}

void nna_cache_files_close(struct nna_cache_files *files)
{
	for (uint32_t i = 0; i < files->count; i++)
		if (files->fds[i] >= 0)
			close(files->fds[i]);
	files->count = 0;
}

/* Returns whether the contents of file `i` are exactly the bytes of `part`. */
static bool holds(const struct nna_cache_files *files, uint32_t i,
		  const struct nna_cache_bytes *part)
{
	char buffer[COMPARED];
	size_t at = 0;

	if (files->sizes[i] != part->size)
		return false;
	while (at < part->size) {
		ssize_t n = pread(files->fds[i], buffer, sizeof(buffer), (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || (size_t)n > part->size - at ||
		    memcmp(buffer, (const char *)part->bytes + at, (size_t)n))
			return false;
		at += (size_t)n;
	}
	return true;
}

/* Empties a file, and waits until the change is on the disk. */
static bool empty(int fd)
{
	return !ftruncate(fd, 0) && !fdatasync(fd);
}

static bool write_file(int fd, const struct nna_cache_bytes *part)
{
	return write_at(fd, part->bytes, part->size, 0) && !ftruncate(fd, (off_t)part->size) &&
	       !fdatasync(fd);
}

/*
 * Writes an entry's files. The first file is emptied before the other files are written, and is
 * written last. Even after a power failure, an entry whose first file has contents is therefore
 * complete.
 */
enum nn_status nna_cache_files_write(struct nna_cache_files *files,
				     const struct nna_cache_bytes *parts, struct nn_error *err)
{
	bool has[NNA_MAX_CACHE_FILES], has_all = true, written;
	uint32_t i = files->count;
	int error;

	while (i--) {
		has[i] = holds(files, i, &parts[i]);
		has_all &= has[i];
	}
	if (has_all)
		return NN_OK;
	for (i = files->num_model; i < files->count; i++)
		if ((!has[i] || !i) && lock_file("data", files->fds[i], F_WRLCK, err))
			return NN_GENERAL_FAILURE;
	written = empty(files->fds[0]);
	for (i = files->count; written && --i;)
		written = has[i] || write_file(files->fds[i], &parts[i]);
	if (written && write_at(files->fds[0], parts[0].bytes, parts[0].size, 0) &&
	    !fdatasync(files->fds[0]))
		return NN_OK;
	error = errno;
	if (ftruncate(files->fds[0], 0))
		return fail_errno("cannot truncate an incompletely written entry", errno, err);
	return fail_errno("writing", error, err);
}
