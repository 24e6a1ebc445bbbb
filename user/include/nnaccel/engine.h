/* SPDX-License-Identifier: MIT */
/*
 * Engines: what computes behind /dev/nnaccel. An engine fills in the functions of struct
 * nna_engine and calls nna_engine_main(); libnnaccel-engine.so does the rest: it registers with
 * the kernel, starts a sandboxed process for each client, fetches commands and commits answers,
 * maps memory, serves bursts, keeps cache files honest. Documentation/writing-an-engine.rst
 * builds one.
 *
 * Structs that the engine fills in carry their size: a newer library takes older ones. Structs
 * that the library fills in grow at their end. Functions may be called from several threads at
 * a time. A function that fails returns its status by nn_fail(), whose reason the client sees.
 */
#ifndef NNACCEL_ENGINE_H
#define NNACCEL_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nnaccel/device.h>
#include <nnaccel/execution.h>
#include <nnaccel/model.h>
#include <nnaccel/status.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct nna_engine;

/* How a client wants a model prepared. */
struct nna_engine_preparation {
	uint32_t preference;		/* 0 low power, 1 fast single answer, 2 sustained speed */
	bool may_be_put_off;		/* to the first execution */
	uint64_t deadline_ns;		/* CLOCK_MONOTONIC, 0: none */
	const struct nn_attributes *attributes;	/* NULL, or of extensions; outlives `prepared` */
};

/* Bytes that a prepared model keeps besides the model, and that each execution at a time takes. */
struct nna_engine_memory {
	uint64_t weights;
	uint64_t execution;
};

/*
 * A prepared model as it is saved. The model part is all that steers an execution: the library
 * notes its hash durably and gives `load` no other. The data part is values that whoever has
 * the file may change, and may lack.
 */
struct nna_engine_image {
	void *model;			/* NULL: it cannot be saved yet; the engine's */
	size_t model_size;
	size_t data_size;		/* a multiple of NNA_ENGINE_DATA_ALIGN */
	void *own;			/* the engine's */
};

#define NNA_ENGINE_DATA_ALIGN 4096

/* What came of loading a plug-in. */
enum nna_engine_plugin {
	NNA_ENGINE_PLUGIN_LOADED,
	NNA_ENGINE_PLUGIN_REFUSED,
	NNA_ENGINE_PLUGIN_WAITS,	/* for an extension that is not there yet */
};

/* Memory behind a slot of a burst, mapped until it is removed. */
struct nna_engine_slot {
	uint32_t slot;
	bool is_writable;
	void *base;			/* others may write it at any time */
	uint64_t length;		/* bytes; may become unreadable zeroes, never a fault */
};

/*
 * An engine's own executor of bursts, which keeps what it made of a client's memory: as the HAL's
 * IBurstExecutorWithCache. Without one the library executes the prepared model on memory that it
 * keeps mapped. Calls for one executor come one at a time, but `remove`, which comes at any time
 * but during `execute`.
 */
struct nna_engine_burst {
	uint32_t size;			/* sizeof(struct nna_engine_burst) */
	enum nn_status (*create)(const struct nna_engine *engine, void *prepared, void **executor,
				 struct nn_error *err);
	void (*destroy)(void *executor);
	/* A slot's first use. */
	enum nn_status (*add)(void *executor, const struct nna_engine_slot *slot,
			      struct nn_error *err);
	/* False: it is to be added (again) before the execution that comes. */
	bool (*is_cached)(void *executor, uint32_t slot);
	/* The client freed the slot; its memory is unmapped afterwards. */
	void (*remove)(void *executor, uint32_t slot);
	/* slots[num_inputs + num_outputs]: of each argument; undefined for omitted ones. */
	enum nn_status (*execute)(void *executor, const uint32_t *slots,
				  struct nn_execution *execution, struct nn_error *err);
};

/* An engine. Functions that are not marked "or NULL" are needed. */
struct nna_engine {
	uint32_t size;			/* sizeof(struct nna_engine) */
	uint32_t reserved;		/* 0 */
	const char *name;		/* lower-case letters, digits, '-': of the device and the log */
	void *data;			/* the engine's own */

	/* ---- the device ---- */

	/* Fills *info, which is zeroes but for magic, size and "unoffered" figures. */
	void (*describe)(const struct nna_engine *engine, struct nn_device_info *info);
	/*
	 * NULL, or: the extensions that the device has. Types and operations have the codes of
	 * nna_engine_code() in models.
	 */
	const struct nn_device_extension *(*extensions)(const struct nna_engine *engine,
							uint32_t *count);
	/*
	 * NULL: the model's extensions are those of the device, or it is refused; else what
	 * the engine checks instead: that, and operands' extension data.
	 */
	enum nn_status (*check_model)(const struct nna_engine *engine, const struct nn_model *model,
				      struct nn_error *err);
	/* NULL: no attributes are taken; else checks those of a preparation or an execution. */
	enum nn_status (*check_attributes)(const struct nna_engine *engine,
					   const struct nn_attributes *attributes,
					   bool is_execution, struct nn_error *err);

	/* ---- models: checked, with constants where they lie: see nn_operand_value() ---- */

	/* supported[i] for each operation of the main subgraph. */
	enum nn_status (*supported)(const struct nna_engine *engine, const struct nn_model *model,
				    bool *supported, struct nn_error *err);
	/* The model and its pools outlive *prepared. Pools may be memory that others write. */
	enum nn_status (*prepare)(const struct nna_engine *engine, const struct nn_model *model,
				  const struct nna_engine_preparation *how, void **prepared,
				  struct nn_error *err);
	/* Once nobody executes it. */
	void (*release)(const struct nna_engine *engine, void *prepared);
	/* NULL, or: what it takes. */
	void (*memory)(const struct nna_engine *engine, const void *prepared,
		       struct nna_engine_memory *memory);

	/* ---- executions: synchronous, fenced, by io_uring and in bursts ---- */

	/*
	 * Checks the arguments against the model and computes. Fills execution->shapes and sets
	 * shapes_known with NN_OK and NN_OUTPUT_INSUFFICIENT_SIZE, which says of each output
	 * whether it was large enough. A deadline that has passed is
	 * NN_MISSED_DEADLINE_TRANSIENT.
	 */
	enum nn_status (*execute)(const struct nna_engine *engine, void *prepared,
				  struct nn_execution *execution, struct nn_error *err);
	/* NULL, or an executor of bursts of the engine's own. */
	const struct nna_engine_burst *burst;

	/* ---- caching: all, or all NULL ---- */

	/*
	 * Makes the model part of an image and tells the size of the data part, which write_data
	 * (NULL: there is never one) writes, all of it; end_save frees the image, a zeroed one too.
	 */
	enum nn_status (*save)(const struct nna_engine *engine, const void *prepared,
			       struct nna_engine_image *image, struct nn_error *err);
	void (*write_data)(const struct nna_engine *engine, const struct nna_engine_image *image,
			   void *data);
	void (*end_save)(const struct nna_engine *engine, struct nna_engine_image *image);
	/*
	 * Prepares from both parts. `model` is malloc()ed and the engine's from now on, freed where
	 * this fails; it is as this engine saved it. `data` outlives *prepared and may be
	 * anything at any time. NN_GENERAL_FAILURE where they do not belong together.
	 */
	enum nn_status (*load)(const struct nna_engine *engine, void *model, size_t model_size,
			       const void *data, size_t data_size,
			       const struct nna_engine_preparation *how, void **prepared,
			       struct nn_error *err);
	/* The arguments of executions of a loaded one: inputs, outputs, and their operands. */
	const struct nn_subgraph *(*signature)(const struct nna_engine *engine,
					       const void *prepared);

	/* ---- the process ---- */

	/*
	 * NULL, or called once in each process that serves a client, sandboxed but for its
	 * filter of system calls: what makes threads makes them here.
	 */
	bool (*start)(const struct nna_engine *engine);
	/* NULL, or loads a plug-in, a file of the folder of extensions. */
	enum nna_engine_plugin (*load_plugin)(const struct nna_engine *engine, const char *path,
					      struct nn_error *err);
};

/*
 * Runs an engine: with the options that --help tells, or, where the library has executed the
 * program for a client, as what serves it. Returns main()'s exit code.
 */
int nna_engine_main(const struct nna_engine *engine, int argc, char **argv);

/*
 * The code that a type or an operation of an extension has in models of this process: what
 * struct nn_operand and struct nn_operation have as type. 0: nobody registered the extension.
 */
int32_t nna_engine_code(const char *extension, uint16_t code);

/*
 * A model with all of its constants in one block, malloc()ed, which nna_engine_unpack() makes a
 * model of again, for a model part. The block is used up by neither.
 */
enum nn_status nna_engine_pack(const struct nn_model *model, void **block, size_t *size,
			       struct nn_error *err);
enum nn_status nna_engine_unpack(const void *block, size_t size, struct nn_model **model,
				 struct nn_error *err);

/* Of the lines of the log. */
enum nna_engine_level {
	NNA_ENGINE_ERROR = 0,
	NNA_ENGINE_WARNING = 1,
	NNA_ENGINE_INFO = 2,
	NNA_ENGINE_DEBUG = 3,
};

/* Writes a line, printf-like, to the engine's log; of a client's process by way of the engine. */
void nna_engine_log(enum nna_engine_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* NNACCEL_ENGINE_H */
