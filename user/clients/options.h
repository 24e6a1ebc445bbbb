/* SPDX-License-Identifier: MIT */
/*
 * The options that the plug-ins of inference runtimes have in common: names and values as text.
 */
#ifndef NN_CLIENTS_OPTIONS_H
#define NN_CLIENTS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_ERROR_SIZE 256

struct options {
	char *device;			/* NULL: the plug-in's choice */
	char *cache_dir;		/* NULL: compilations are not kept */
	char *cache_token;		/* NULL: made of what a partition holds */
	char *runtime;			/* what messages call the runtime; NULL: by its name */
	char *model;			/* and the model; NULL: not at all */
	char *report;			/* a file, see report.h; NULL: none is written */
	int32_t preference;		/* PreferenceCode */
	int32_t priority;		/* PriorityCode */
	bool allow_fp16;
	bool burst;
	bool disallow_cpu;
	uint32_t max_partitions;	/* 0: any number */
	uint32_t min_work;		/* of a partition that is not the whole graph */
	uint32_t max_shapes;		/* that stay compiled; 0: the plug-in has no such option */
	uint32_t verbosity;
};

/* The defaults; the plug-in sets those of the last four members. */
void options_init(struct options *options);

/*
 * Sets an option. False, with a sentence in `error`: there is no such option, it does not take
 * the value, or there is no memory.
 */
bool options_set(struct options *options, const char *name, const char *value,
		 char error[OPTIONS_ERROR_SIZE]);
void options_free(struct options *options);

#endif /* NN_CLIENTS_OPTIONS_H */
