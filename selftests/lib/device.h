/* SPDX-License-Identifier: MIT */
/*
 * Helpers of the tests for clients: contexts, pools, and calls in a second thread. Functions return
 * 0 or an errno, unless their comments say otherwise.
 */
#ifndef SELFTESTS_DEVICE_H
#define SELFTESTS_DEVICE_H

#include <linux/nnaccel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#define DEVICE		"/dev/nnaccel"

/* The page size of this system, and the largest page size of all supported systems. */
#define PAGE		((unsigned long)sysconf(_SC_PAGESIZE))
#define MAX_PAGE	65536UL

/* Value of output fields before a call; a field with another value was written by the call. */
#define POISON		0xa5a5a5a5U

/** device_open() - Opens a context to which limits apply; returns an fd, or -1 and errno. */
int device_open(void);

/** device_open_unlimited() - Opens a context with the caller's right to override limits, if any. */
int device_open_unlimited(void);

/** xioctl() - Makes an ioctl; if @request is an enum nnaccel_work, submits the work and waits. */
int xioctl(int fd, unsigned long request, void *arg);

/** pool_alloc() - Allocates a pool; returns its id, or 0 and errno. */
uint32_t pool_alloc(int fd, uint64_t length);

/** pool_import() - Imports a range of @file; @id may be NULL. */
int pool_import(int fd, int file, uint32_t prot, uint64_t offset, uint64_t length, uint32_t *id);

/** pool_export() - Exports a pool; returns a dma-buf fd, or -1 and errno. */
int pool_export(int fd, uint32_t id);

/** object_destroy() - Destroys a pool or a model. */
int object_destroy(int fd, uint32_t id);

/** file_new() - Creates a memfd that can be sealed; returns -1 and errno if that fails. */
int file_new(uint64_t length);

/** map_shared() - Maps a file's first bytes shared; returns NULL if that fails. */
void *map_shared(int file, uint64_t length, int prot);

/** prepare_init() - Fills in a PREPARE of a pool's first @length bytes. */
void prepare_init(struct nnaccel_prepare *prepare, uint32_t pool, uint64_t length);

/**
 * struct saved - Descriptions of a cache entry's model part and data part, with memory for the
 * sizes of both parts.
 */
struct saved {
	struct nnaccel_cache_part model;
	struct nnaccel_cache_part data;
	uint64_t model_size;
	uint64_t data_size;
};

/**
 * prepare_cached_init() - Fills in a PREPARE_CACHED from two parts; pool 0: a part without memory.
 */
void prepare_cached_init(struct nnaccel_prepare_cached *prepare, struct saved *saved, uint32_t pool,
			 uint64_t length, uint32_t data, uint64_t data_length);

/** cache_save_init() - Fills in a CACHE_SAVE of two parts. */
void cache_save_init(struct nnaccel_cache_save *save, struct saved *saved, uint32_t model,
		     uint32_t pool, uint64_t room, uint32_t data, uint64_t data_room);

/** supported_init() - Fills in a SUPPORTED of a model with @n operations. */
void supported_init(struct nnaccel_supported *supported, uint32_t pool, uint64_t length,
		    uint8_t *answer, uint32_t n);

/** query_init() - Fills in a QUERY. */
void query_init(struct nnaccel_query *query, uint32_t what, void *data, uint32_t size);

/**
 * struct execution - An EXECUTE command with one input and one output, and the command's arrays
 *
 * The input is bytes 0 to 15 of the first pool; the output is bytes 16 to 31 of the
 * second pool.
 */
struct execution {
	struct nnaccel_execute cmd;
	uint32_t pools[2];
	struct nnaccel_arg args[2];
	struct nnaccel_shape shape;
	char message[NNACCEL_MAX_MESSAGE];
};

/** execution_init() - Fills in all fields of an execution. */
void execution_init(struct execution *e, uint32_t model, uint32_t input, uint32_t output);

/** struct async - An ioctl that a second thread makes */
struct async {
	pthread_t thread;
	int fd;
	unsigned long request;
	void *arg;
	int error;
};

/** async_start() - Makes a call in a new thread; false: the thread could not start. */
bool async_start(struct async *async, int fd, unsigned long request, void *arg);

/** async_wait() - Waits for the call's end and returns its error. */
int async_wait(struct async *async);

/** now_ns() - Returns the time of CLOCK_MONOTONIC. */
uint64_t now_ns(void);

/**
 * deadline_soon() - Returns a deadline that leaves time for some steps of a test, even slow ones.
 */
uint64_t deadline_soon(void);

/** await_commands() - Waits until a context has @n commands. */
void await_commands(int fd, long long n);

#endif
