/* SPDX-License-Identifier: MIT */
/*
 * Runs models in the inference runtimes installed on the machine: with the plug-in for a device, or
 * on the CPU without the plug-in. Each runtime is loaded when a model first needs the runtime.
 */
#ifndef NN_TOOLS_RUNTIME_H
#define NN_TOOLS_RUNTIME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define RUNTIME_ERROR 512
#define RUNTIME_PATH (PATH_MAX + 64)
#define RUNTIME_RANK 16
#define RUNTIME_SHAPES 32

/* The shape of an input, which the user names. */
struct runtime_shape {
	const char *name;		/* name of the input, `length` bytes */
	size_t length;
	unsigned int rank, dims[RUNTIME_RANK];
};

struct runtime_shapes {
	unsigned int count;
	struct runtime_shape list[RUNTIME_SHAPES];
};

struct runtime_options {
	const char *library;	/* path of the runtime's library; NULL: the loader searches */
	const char *device;	/* name of an NNAPI device; NULL: the runtime's own CPU code */
	const char *report;	/* file for the plug-in's report, or NULL */
	unsigned int threads;	/* number of CPU threads; 0: the runtime chooses */
	/* shapes of inputs, or NULL; must live until prepare() has returned */
	const struct runtime_shapes *shapes;
};

enum runtime_type {
	RUNTIME_FLOAT32,
	RUNTIME_FLOAT16,
	RUNTIME_UINT8,
	RUNTIME_INT8,
	RUNTIME_INT32,
	RUNTIME_INT64,
	RUNTIME_BOOL,
	RUNTIME_OTHER,			/* type whose tensors the tools cannot fill or compare */
};

/* An input or output of a model; the runtime owns `data`. */
struct runtime_tensor {
	enum runtime_type type;
	size_t bytes;
	void *data;
};

/* A loaded model; the structure of each kind of runtime begins with a struct runtime. */
struct runtime {
	const struct runtime_kind *kind;
	char name[64];			/* "onnxruntime 1.23.2" */
};

struct runtime_kind {
	struct runtime *(*open)(const char *model, const struct runtime_options *options,
				char error[RUNTIME_ERROR]);
	void (*close)(struct runtime *runtime);
	/* Makes the inputs; prepare() must be called before the functions below. */
	bool (*prepare)(struct runtime *runtime, char error[RUNTIME_ERROR]);
	unsigned int (*count_inputs)(const struct runtime *runtime);
	unsigned int (*count_outputs)(const struct runtime *runtime);
	/* Return false if the tensor does not exist or has no data. */
	bool (*input)(struct runtime *runtime, unsigned int number, struct runtime_tensor *tensor);
	bool (*output)(struct runtime *runtime, unsigned int number, struct runtime_tensor *tensor);
	bool (*run)(struct runtime *runtime, char error[RUNTIME_ERROR]);
};

extern const struct runtime_kind runtime_onnxruntime, runtime_tflite;

/*
 * Loads a model. The first bytes of the model's file determine the runtime. On failure, returns
 * NULL, and writes the reason to `error`.
 */
struct runtime *runtime_open(const char *model, const struct runtime_options *options,
			     char error[RUNTIME_ERROR]);
void runtime_close(struct runtime *runtime);

/*
 * Fills the inputs with numbers that depend only on the seed. Returns false if an input has the
 * type RUNTIME_OTHER.
 */
bool runtime_fill(struct runtime *runtime, unsigned int seed, char error[RUNTIME_ERROR]);

/* Returns the size of an element in bytes; 0 for RUNTIME_OTHER. */
size_t runtime_size(enum runtime_type type);

/*
 * Adds the shape that `text`, INPUT=DIMENSION[,DIMENSION...], names to `into`, a struct runtime_shapes;
 * `text` must live as long as the shape. Returns false, with the reason in `fault`, which has
 * OPTION_FAULT bytes.
 */
bool runtime_take_shape(void *into, const char *text, char *fault);

/* Returns the last shape for an input; NULL if the user named none. `shapes` may be NULL. */
const struct runtime_shape *runtime_shape_of(const struct runtime_shapes *shapes, const char *input);

/*
 * Returns the index of a shape's input among the names of the model's inputs; -1, with the reason in
 * `error`, if the model has no such input.
 */
int runtime_input_of(const struct runtime_shape *shape, const char *const *inputs, int count,
		     char error[RUNTIME_ERROR]);

/* Loads the first existing library of a list of names, for the implementations of runtimes. */
void *runtime_load(const char *wanted, const char *const *names, const char *package,
		   char error[RUNTIME_ERROR]);

/*
 * Finds this project's plug-in for a runtime. Returns false, with the reason in `error`, if the
 * plug-in is not installed.
 */
bool runtime_plugin(const char *name, char path[RUNTIME_PATH], char error[RUNTIME_ERROR]);

/*
 * Redirect standard error (runtime_catch), and write the redirected text to standard error
 * (runtime_release), except lines that begin with `but`.
 */
struct runtime_caught {
	int errors, caught;		/* file descriptors */
};

void runtime_catch(struct runtime_caught *caught);
void runtime_release(struct runtime_caught *caught, const char *but);

#endif /* NN_TOOLS_RUNTIME_H */
