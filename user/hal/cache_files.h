/* SPDX-License-Identifier: MIT */
/*
 * The two files of an entry of the compilation cache: opened anew, locked
 * against writers or readers of other processes, and written so that a death in
 * between leaves an entry that is empty rather than torn.
 */
#ifndef NN_HAL_CACHE_FILES_H
#define NN_HAL_CACHE_FILES_H

#include <sys/types.h>

#include <nnaccel/nnaccel.h>

struct nna_cache_files {
	int model, data;	/* open files of our own, so that locks are ours */
	uint64_t model_size, data_size;
};

/*
 * Opens and locks the files of an entry; `type` is F_RDLCK or F_WRLCK of
 * <fcntl.h>. NN_INVALID_ARGUMENT: wrong files; NN_GENERAL_FAILURE: others keep
 * them locked. To be followed by nna_cache_files_close(), which ends the locks
 * where nobody else holds the open files: a pool of the kernel does.
 */
enum nn_status nna_cache_files_open(const struct nna_cache *cache, short type,
				    struct nna_cache_files *files, struct nn_error *err);
void nna_cache_files_close(struct nna_cache_files *files);

/*
 * Writes both parts, of an entry that was opened to be written; data that are there
 * already stay, though a model be made of them and keep them locked. Where writing
 * fails, leaves an empty entry.
 */
enum nn_status nna_cache_files_write(struct nna_cache_files *files, const void *model,
				     size_t model_size, const void *data, size_t data_size,
				     struct nn_error *err);

#endif /* NN_HAL_CACHE_FILES_H */
