/* SPDX-License-Identifier: MIT */
/*
 * Common code of the fuzzers for the plug-ins of ONNX Runtime and TensorFlow Lite. The input of a
 * plug-in's fuzzer consists of records of bytes. Most mutations change one byte, so that all
 * records of an input keep their offsets.
 */
#ifndef NN_TESTS_RECORDS_H
#define NN_TESTS_RECORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
const char *__asan_default_options(void);

/* Makes large allocations fail, because the memory of an application is limited. */
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=64:detect_leaks=1:"
	       "malloc_context_size=2";
}

/*
 * Discards log lines that the library and the plug-ins write to stderr; libFuzzer writes to a copy
 * of stderr.
 */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	FILE *nowhere = fopen("/dev/null", "w");

	(void)argc;
	(void)argv;
	if (nowhere)
		stderr = nowhere;
	return setenv("NNACCEL_LOG", "none", 1);
}

/* Copies the next bytes of the fuzzer's input to `to`; returns false if too few bytes remain. */
static bool take(const uint8_t **data, size_t *size, void *to, size_t bytes)
{
	if (*size < bytes)
		return false;
	memcpy(to, *data, bytes);
	*data += bytes;
	*size -= bytes;
	return true;
}

/* Maps a byte to a dimension; most bytes map to small dimensions. */
static int64_t size_of_dim(uint8_t byte)
{
	static const int64_t small[] = { 1, 2, 3, 4, 1, 2, 3, 4, 5, 8, 6, 16, 0, 7, 64, 1 };
	static const int64_t large[] = { 256, 4097, 65536, 1 << 24, INT32_MAX, INT64_C(1) << 31,
					 INT64_C(1) << 40, INT64_MAX };

	return byte < 0xf8 ? small[byte % 16] : large[byte - 0xf8];
}

static uint8_t chosen(const uint8_t *list, size_t count)
{
	return list[(size_t)random() % count];
}

#define ANY_OF(...) chosen((const uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }))

/*
 * Writes random records that are likely to be valid; returns the size of the records, or 0 if
 * max_size is too small.
 */
static size_t generate(uint8_t *data, size_t max_size);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	size_t made = 0;

	srandom(seed);
	if (size < 16 || random() % 8 == 0)
		made = generate(data, max_size);
	if (made)
		return made;
	if (random() % 16 == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	for (long i = 1 + random() % 3; i && size; i--) {
		uint8_t *at = data + (size_t)random() % size;

		switch (random() % 4) {
		case 0:
			*at += (uint8_t)(random() % 5 - 2);
			break;
		case 1:
			*at = (uint8_t)(random() % 16);
			break;
		case 2:
			*at ^= (uint8_t)(1 << random() % 8);
			break;
		default:
			*at = data[(size_t)random() % size];
		}
	}
	return size;
}

#endif /* NN_TESTS_RECORDS_H */
