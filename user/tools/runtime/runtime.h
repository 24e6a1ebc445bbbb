/* SPDX-License-Identifier: MIT */
/*
 * Runs models in the machine's inference runtimes, either with the plug-in for a device, or on the
 * CPU by the runtime itself. Runtimes are loaded when needed.
 */
#ifndef NN_TOOLS_RUNTIME_H
#define NN_TOOLS_RUNTIME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define RUNTIME_ERROR 512
#define RUNTIME_PATH (PATH_MAX + 64)

struct runtime_options {
	const char *library;	/* the runtime's library; NULL: by the loader's search */
	const char *device;		/* NNAPI device; NULL: the runtime itself, on the CPU */
	const char *report;		/* file for the plug-in's report, or NULL */
	unsigned int threads;	/* threads on the CPU; 0: the runtime's choice */
};

enum runtime_type {
	RUNTIME_FLOAT32,
	RUNTIME_FLOAT16,
	RUNTIME_UINT8,
	RUNTIME_INT8,
	RUNTIME_INT32,
	RUNTIME_INT64,
	RUNTIME_BOOL,
	RUNTIME_OTHER,			/* a type that the tools can neither fill nor compare */
};

/* An input or output. The runtime owns `data`. */
struct runtime_tensor {
	enum runtime_type type;
	size_t bytes;
	void *data;
};

/* A loaded model; the structure of each runtime begins with this. */
struct runtime {
	const struct runtime_kind *kind;
	char name[64];			/* "onnxruntime 1.23.2" */
};

struct runtime_kind {
	struct runtime *(*open)(const char *model, const struct runtime_options *options,
				char error[RUNTIME_ERROR]);
	void (*close)(struct runtime *runtime);
	/* Makes the inputs; call it before the following functions. */
	bool (*prepare)(struct runtime *runtime, char error[RUNTIME_ERROR]);
	unsigned int (*count_inputs)(const struct runtime *runtime);
	unsigned int (*count_outputs)(const struct runtime *runtime);
	/* Returns false if there is no such tensor, or if it holds no data. */
	bool (*input)(struct runtime *runtime, unsigned int number, struct runtime_tensor *tensor);
	bool (*output)(struct runtime *runtime, unsigned int number, struct runtime_tensor *tensor);
	bool (*run)(struct runtime *runtime, char error[RUNTIME_ERROR]);
};

extern const struct runtime_kind runtime_onnxruntime, runtime_tflite;

/*
 * Loads a model. The file's first bytes determine its runtime. Returns NULL with the reason in
 * `error`.
 */
struct runtime *runtime_open(const char *model, const struct runtime_options *options,
			     char error[RUNTIME_ERROR]);
void runtime_close(struct runtime *runtime);

/*
 * Fills the inputs with numbers that depend only on the seed. Returns false if an input has the
 * type RUNTIME_OTHER.
 */
bool runtime_fill(struct runtime *runtime, unsigned int seed, char error[RUNTIME_ERROR]);

/* Returns the bytes of an element; 0 for RUNTIME_OTHER. */
size_t runtime_size(enum runtime_type type);

/* Loads the first existing library of a list of names; used by the implementations of runtimes. */
void *runtime_load(const char *wanted, const char *const *names, const char *package,
		   char error[RUNTIME_ERROR]);

/*
 * Finds this project's plug-in for a runtime. Returns false, with the reason, if it is not
 * installed.
 */
bool runtime_plugin(const char *name, char path[RUNTIME_PATH], char error[RUNTIME_ERROR]);

/*
 * Redirect standard error, and later write the redirected text, except lines that begin with a
 * prefix.
 */
struct runtime_caught {
	int errors, caught;		/* file descriptors */
};

void runtime_catch(struct runtime_caught *caught);
void runtime_release(struct runtime_caught *caught, const char *but);

#endif /* NN_TOOLS_RUNTIME_H */
