/* SPDX-License-Identifier: MIT */
/*
 * Plug-ins in an engine: shared objects that each hold a vendor extension, which
 * <nnaccel/extension.h> describes. An engine that accepts plug-ins sets load_plugin to
 * nna_engine_plugin_load(), or calls nna_engine_plugin_load() from its own load_plugin.
 * The library libnnaccel-engine lists the plug-ins' extensions beside the engine's own, and lets
 * plug-ins check attributes and models' extension data. The engine calls plug-ins to check
 * operations of a model, and to compute the shapes and values of outputs.
 * Documentation/extensions.rst has an example of a plug-in.
 *
 * Only a process that serves one client can load plug-ins: see --extensions in an engine's --help.
 * The library owns the objects that functions of this header return, for the life of the process.
 * Several threads may call functions of this header at a time, except nna_engine_plugin_load() and
 * nna_engine_plugin_take().
 */
#ifndef NNACCEL_ENGINE_PLUGINS_H
#define NNACCEL_ENGINE_PLUGINS_H

#include <nnaccel/engine.h>
#include <nnaccel/extension.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* One operation of a plug-in. A later version may add fields at the end of the structure. */
struct nna_engine_plugin_operation {
	/* the operation's code in models of this process, or NN_OP_OEM */
	int32_t type;
	const struct nnx_operation *descriptor;
	const char *extension;		/* whose it is */
	/* The plug-in's version: 64 bits of the hash of its file; 0 if it has no file. */
	uint64_t version;
};

/*
 * Loads the plug-in at `path`, checks the whole plug-in and registers its extensions. If the result
 * is REFUSED or WAITS, `err` contains the reason. The parameters are those of
 * nna_engine.load_plugin. Only one thread may call nna_engine_plugin_load(), before the first model
 * is prepared.
 */
enum nna_engine_plugin nna_engine_plugin_load(const struct nna_engine *engine, const char *path,
					      struct nn_error *err);

/*
 * Registers an extension, like nna_engine_plugin_load(), from a descriptor in the engine's program.
 * The descriptor and its data must stay valid for the life of the process. `version` must change
 * when the plug-in's code changes.
 */
enum nna_engine_plugin nna_engine_plugin_take(const struct nna_engine *engine,
					      const struct nnx_extension *descriptor,
					      uint64_t version, struct nn_error *err);

/* Returns the number of plug-ins that were loaded. */
uint32_t nna_engine_plugin_count(void);

/* Returns a hash of all plug-ins and their versions, for keys of caches; 0 without plug-ins. */
uint32_t nna_engine_plugin_fingerprint(void);

/*
 * Returns operation `index` of all plug-ins, in the order of loading; NULL if `index` is too large.
 */
const struct nna_engine_plugin_operation *nna_engine_plugin_operation_at(uint32_t index);

/*
 * Returns the operation with a model's operation code `type`; NULL if no plug-in has this
 * operation.
 */
const struct nna_engine_plugin_operation *nna_engine_plugin_operation_of(int32_t type);

/*
 * Checks the extension data of a decoded model's operands, and that all extensions of the model are
 * registered. If a check fails, returns NN_INVALID_ARGUMENT with a message that names the operand
 * or the extension. An engine's check_model() must call nna_engine_plugin_check_model(), also for
 * models that load() makes. If the engine has no check_model(), the library itself calls
 * nna_engine_plugin_check_model().
 */
enum nn_status nna_engine_plugin_check_model(const struct nn_model *model, struct nn_error *err);

/*
 * Checks attributes of a preparation or an execution (NULL: no attributes). If no plug-in accepts
 * an attribute, returns NN_INVALID_ARGUMENT with a message that names this attribute. If the engine
 * has no check_attributes(), the library itself calls nna_engine_plugin_check_attributes().
 */
enum nn_status nna_engine_plugin_check_attributes(const struct nn_attributes *attributes,
						  bool is_execution, struct nn_error *err);

/* ---- calls of an operation ---- */

/* The arguments of shape() and execute() of a plug-in. */
struct nna_engine_plugin_run {
	uint32_t size;			/* sizeof(struct nna_engine_plugin_run) */
	uint32_t num_inputs;
	uint32_t num_outputs;
	bool relaxed;			/* the model's */
	const struct nnx_operand *inputs;
	struct nnx_operand *outputs;
	void *state;			/* the state from nna_engine_plugin_compile(), or NULL */
	/* attributes of the preparation, or NULL */
	const struct nn_attributes *attributes;
	/* attributes of the execution, or NULL */
	const struct nn_attributes *execution_attributes;
};

/*
 * Fills in all fields of *to from the model's operand *from, except the value. The filled structure
 * points to arrays of the model. Before a run, the engine sets value, value_size, and the known
 * rank and dimensions of *to. The engine must align the value to the largest power of two that
 * divides the element size. Scalars and the tensors of descriptor->value_inputs must lie in memory
 * that the client cannot write during the run.
 */
void nna_engine_plugin_operand(const struct nn_operand *from, struct nnx_operand *to);

/*
 * Returns whether shape() needs an input's value: true for a scalar and for an input in
 * value_inputs.
 */
bool nna_engine_plugin_needs_value(const struct nna_engine_plugin_operation *operation,
				   const struct nnx_operand *operand, uint32_t input);

/*
 * Checks the signature of the operation `of`; `operands` are the operands of the subgraph with this
 * operation. Returns NN_INVALID_ARGUMENT with the reason in `err` if the signature is wrong, and
 * NN_OUT_OF_MEMORY if memory runs out.
 */
enum nn_status nna_engine_plugin_check(const struct nna_engine_plugin_operation *operation,
				       const struct nn_operand *operands,
				       const struct nn_operation *of, struct nn_error *err);

/* An operation in a checked model whose pools are mapped. */
struct nna_engine_plugin_use {
	uint32_t size;			/* sizeof(struct nna_engine_plugin_use) */
	const struct nn_model *model;
	const struct nn_subgraph *subgraph;
	const struct nn_operation *of;
	const struct nn_attributes *attributes;	/* attributes of the preparation, or NULL */
};

/*
 * Calls the operation's compile(), and sets *state to the state for the operation's runs. If the
 * operation keeps no state, *state is set to NULL. The caller frees the state by
 * nna_engine_plugin_release(), which accepts NULL. The attributes in `use` must stay valid until
 * the state is freed. Returns NN_INVALID_ARGUMENT if compile() fails or the size of `use` is wrong,
 * and NN_OUT_OF_MEMORY if memory runs out.
 */
enum nn_status nna_engine_plugin_compile(const struct nna_engine_plugin_operation *operation,
					 const struct nna_engine_plugin_use *use, void **state,
					 struct nn_error *err);
void nna_engine_plugin_release(const struct nna_engine_plugin_operation *operation, void *state);

/*
 * Computes rank, dims, scale and zero_point of the outputs. On entry, the outputs have the values
 * that the model declares. The caller must check that the computed values agree with the model's
 * declarations. Returns NN_OK, NN_GENERAL_FAILURE, NN_OUT_OF_MEMORY, or NN_INVALID_ARGUMENT if the
 * size of `run` is wrong.
 */
enum nn_status nna_engine_plugin_shape(const struct nna_engine_plugin_operation *operation,
				       const struct nna_engine_plugin_run *run,
				       struct nn_error *err);

/*
 * Computes the values of the outputs, whose shapes are known. Returns NN_OK, NN_GENERAL_FAILURE,
 * NN_OUT_OF_MEMORY, or NN_INVALID_ARGUMENT if the size of `run` is wrong.
 */
enum nn_status nna_engine_plugin_execute(const struct nna_engine_plugin_operation *operation,
					 const struct nna_engine_plugin_run *run,
					 struct nn_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* NNACCEL_ENGINE_PLUGINS_H */
