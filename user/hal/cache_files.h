/* SPDX-License-Identifier: MIT */
/*
 * The files of a compilation cache entry. They are opened again and locked against readers or
 * writers in other processes. A crash while writing leaves an empty entry, never a mixed one.
 */
#ifndef NN_HAL_CACHE_FILES_H
#define NN_HAL_CACHE_FILES_H

#include <sys/types.h>

#include <linux/nnaccel.h>

#include <nnaccel/nnaccel.h>

#define NNA_MAX_CACHE_FILES (2 * NNACCEL_MAX_CACHE_PARTS)

/* Model files come first. */
struct nna_cache_files {
	uint32_t num_model, count;
	/* Open files of this process alone, so that the locks are its own too. */
	int fds[NNA_MAX_CACHE_FILES];
	uint64_t sizes[NNA_MAX_CACHE_FILES];
};

/* Bytes that a file is to hold. */
struct nna_cache_bytes {
	const void *bytes;
	size_t size;
};

/* Returns the caller's handle of file i of an entry; model files come first. */
int nna_cache_file(const struct nna_cache *cache, uint32_t i);

/*
 * Opens and locks the files of an entry, for reading unless `writes`. Returns NN_INVALID_ARGUMENT
 * for wrong files, no files, or more than 32 of a kind, and NN_GENERAL_FAILURE if other processes
 * keep them locked. nna_cache_files_close() must follow. It ends the locks unless another reference
 * holds the open files, as a pool of the kernel does.
 */
enum nn_status nna_cache_files_open(const struct nna_cache *cache, bool writes,
				    struct nna_cache_files *files, struct nn_error *err);
void nna_cache_files_close(struct nna_cache_files *files);

/*
 * Writes all parts of an entry that was opened for writing. A data file that already has these
 * bytes stays, even if a loaded model keeps it locked. If writing fails, the entry is left empty,
 * because its first file is empty.
 */
enum nn_status nna_cache_files_write(struct nna_cache_files *files,
				     const struct nna_cache_bytes *parts, struct nn_error *err);

#endif /* NN_HAL_CACHE_FILES_H */
