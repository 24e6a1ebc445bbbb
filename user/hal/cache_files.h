/* SPDX-License-Identifier: MIT */
/*
 * The files of a compilation cache entry. The library opens the caller's files again and locks the
 * files against readers or writers in other processes. A crash during a write leaves an empty
 * entry, never an entry with files of different models.
 */
#ifndef NN_HAL_CACHE_FILES_H
#define NN_HAL_CACHE_FILES_H

#include <sys/types.h>

#include <linux/nnaccel.h>

#include <nnaccel/nnaccel.h>

#define NNA_MAX_CACHE_FILES (2 * NNACCEL_MAX_CACHE_PARTS)

/* The files of an entry. In all arrays of struct nna_cache_files, model files come first. */
struct nna_cache_files {
	uint32_t num_model, count;
	/*
	 * Open file descriptions that no other process shares, so no other process shares the
	 * locks.
	 */
	int fds[NNA_MAX_CACHE_FILES];
	uint64_t sizes[NNA_MAX_CACHE_FILES];
};

struct nna_cache_bytes {
	const void *bytes;
	size_t size;
};

/* Returns the caller's handle of file i of an entry; model files come first. */
int nna_cache_file(const struct nna_cache *cache, uint32_t i);

/*
 * Opens and locks the files of an entry, for writing if `writes` is set, otherwise for reading.
 * Returns NN_INVALID_ARGUMENT for wrong files, no files, or more than 32 files of a kind, and
 * NN_GENERAL_FAILURE if other processes keep the files locked. The caller must call
 * nna_cache_files_close(), which ends the locks. A file stays locked as long as a pool of the
 * kernel refers to the file.
 */
enum nn_status nna_cache_files_open(const struct nna_cache *cache, bool writes,
				    struct nna_cache_files *files, struct nn_error *err);
void nna_cache_files_close(struct nna_cache_files *files);

/*
 * Writes all parts of an entry that was opened for writing. A data file that already has the right
 * bytes is not written, even if a loaded model keeps the file locked. If writing fails, the first
 * file is empty, so the entry counts as empty.
 */
enum nn_status nna_cache_files_write(struct nna_cache_files *files,
				     const struct nna_cache_bytes *parts, struct nn_error *err);

#endif /* NN_HAL_CACHE_FILES_H */
