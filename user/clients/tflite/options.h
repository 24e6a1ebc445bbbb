/* SPDX-License-Identifier: MIT */
/*
 * Options of the delegate: names and values as load_delegate() gets them.
 */
#ifndef NN_TFLITE_OPTIONS_H
#define NN_TFLITE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_ERROR_SIZE 256
#define OPTIONS_MIN_WORK 4096

struct options {
	char *device;			/* NULL: all devices of the machine */
	char *cache_dir;		/* NULL: compilations are not kept */
	char *cache_token;		/* NULL: made of what a partition holds */
	int32_t preference;		/* PreferenceCode */
	int32_t priority;		/* PriorityCode */
	bool allow_fp16;
	bool burst;
	bool disallow_cpu;
	uint32_t max_partitions;	/* 0: any number */
	uint32_t min_work;		/* of a partition that is not the whole graph; see partition.h */
	uint32_t verbosity;
};

/*
 * Reads `count` names and values over the defaults. False, with a sentence in `error`: an
 * option does not exist, or its value cannot be; call options_free() all the same.
 */
bool options_read(struct options *options, char **names, char **values, size_t count,
		  char error[OPTIONS_ERROR_SIZE]);
void options_free(struct options *options);

#endif /* NN_TFLITE_OPTIONS_H */
