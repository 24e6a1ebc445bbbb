/* SPDX-License-Identifier: MIT */
/*
 * The two files of a compilation cache entry. They are opened again and locked against readers or
 * writers in other processes. A crash while writing leaves an empty entry, never a mixed one.
 */
#ifndef NN_HAL_CACHE_FILES_H
#define NN_HAL_CACHE_FILES_H

#include <sys/types.h>

#include <nnaccel/nnaccel.h>

struct nna_cache_files {
	int model, data;	/* open files of our own, so that their locks are too */
	uint64_t model_size, data_size;
};

/*
 * Opens and locks the files of an entry; `type` is F_RDLCK or F_WRLCK of <fcntl.h>.
 * NN_INVALID_ARGUMENT: wrong files; NN_GENERAL_FAILURE: other processes keep them locked.
 * nna_cache_files_close() must follow. It ends the locks unless another reference holds the open
 * files, as a pool of the kernel does.
 */
enum nn_status nna_cache_files_open(const struct nna_cache *cache, short type,
				    struct nna_cache_files *files, struct nn_error *err);
void nna_cache_files_close(struct nna_cache_files *files);

/*
 * Writes both parts of an entry that was opened for writing. If the data file already has these
 * bytes, it stays, even if a loaded model keeps it locked. If writing fails, the entry is left
 * empty.
 */
enum nn_status nna_cache_files_write(struct nna_cache_files *files, const void *model,
				     size_t model_size, const void *data, size_t data_size,
				     struct nn_error *err);

#endif /* NN_HAL_CACHE_FILES_H */
