/* SPDX-License-Identifier: MIT */
/*
 * The two files of a compilation cache entry: opening, locking, writing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/write.h"
#include "cache_files.h"

/* Number of tries for a lock, and the pause between. */
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
 * Opens the file behind a handle again, because locks belong to an open file and the caller's may
 * be in use for another model. If that fails, returns a duplicate of the caller's handle.
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
		return nn_fail(err, NN_INVALID_ARGUMENT, "cache: the %s file is not a regular one",
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

static enum nn_status get_size(const char *kind, int fd, uint64_t *size, struct nn_error *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return fail_errno(kind, errno, err);
	*size = (uint64_t)st.st_size;
	return NN_OK;
}

/*
 * Locks the model file before the data file, always, so that two processes cannot wait for each
 * other. A writer first locks the data for reading: they may be unchanged.
 */
enum nn_status nna_cache_files_open(const struct nna_cache *cache, short type,
				    struct nna_cache_files *files, struct nn_error *err)
{
	enum nn_status status;

	*files = (struct nna_cache_files){ .model = -1, .data = -1 };
	if (cache->num_model_files != 1 || cache->num_data_files != 1)
		return nn_fail(err, NN_INVALID_ARGUMENT, "cache: %u model and %u data files, "
			       "1 and 1 are needed", cache->num_model_files,
			       cache->num_data_files);
	status = check_file("model", cache->model_files[0], err);
	if (!status)
		status = check_file("data", cache->data_files[0], err);
	if (status)
		return status;
	files->model = open_again(cache->model_files[0]);
	files->data = open_again(cache->data_files[0]);
	if (files->model < 0 || files->data < 0)
		status = fail_errno("files", errno, err);
	if (!status)
		status = lock_file("model", files->model, type, err);
	if (!status)
		status = lock_file("data", files->data, F_RDLCK, err);
	if (!status)
		status = get_size("model", files->model, &files->model_size, err);
	if (!status)
		status = get_size("data", files->data, &files->data_size, err);
	if (status)
		nna_cache_files_close(files);
	return status;
}

void nna_cache_files_close(struct nna_cache_files *files)
{
	if (files->model >= 0)
		close(files->model);
	if (files->data >= 0)
		close(files->data);
	files->model = -1;
	files->data = -1;
}

/* Returns whether a file holds exactly these bytes. */
static bool holds(int fd, uint64_t file_size, const char *bytes, size_t size)
{
	char buffer[COMPARED];
	size_t at = 0;

	if (file_size != size)
		return false;
	while (at < size) {
		ssize_t n = pread(fd, buffer, sizeof(buffer), (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || (size_t)n > size - at || memcmp(buffer, bytes + at, (size_t)n))
			return false;
		at += (size_t)n;
	}
	return true;
}

/*
 * Removes the model part first and writes it last, with each step on disk before the next. Even
 * after a power failure no model part is ever beside data that do not belong to it.
 */
enum nn_status nna_cache_files_write(struct nna_cache_files *files, const void *model,
				     size_t model_size, const void *data, size_t data_size,
				     struct nn_error *err)
{
	bool has_data = holds(files->data, files->data_size, data, data_size);
	int error;

	if (has_data && holds(files->model, files->model_size, model, model_size))
		return NN_OK;
	if (!has_data && lock_file("data", files->data, F_WRLCK, err))
		return NN_GENERAL_FAILURE;
	if (!ftruncate(files->model, 0) && !fdatasync(files->model) &&
	    (has_data || (write_at(files->data, data, data_size, 0) &&
			  !ftruncate(files->data, (off_t)data_size) &&
			  !fdatasync(files->data))) &&
	    write_at(files->model, model, model_size, 0) && !fdatasync(files->model))
		return NN_OK;
	error = errno;
	if (ftruncate(files->model, 0))
		return fail_errno("a torn entry cannot be emptied", errno, err);
	return fail_errno("writing", error, err);
}
