/* SPDX-License-Identifier: MIT */
/*
 * Plug-ins: shared objects that hold a vendor extension each. Loaded once, when
 * the process begins, and never unloaded.
 */
#ifndef NN_ENGINE_PLUGIN_H
#define NN_ENGINE_PLUGIN_H

#include <nnaccel/engine.h>
#include <nnaccel/extension.h>
#include <nnaccel/model.h>

#include "model/extension.h"
#include "ops/op.h"

/* One operation, in the table of operations from its registration on. */
struct plugin_op {
	struct nn_op op;
	const struct nnx_operation *descriptor;
	const char *extension;		/* whose it is */
};

struct plugin {
	struct nnx_extension descriptor;	/* what is not in its version is 0 */
	uint64_t fingerprint;		/* of the file, or 0 */
	uint16_t prefix;		/* in this process */
	struct nn_extension extension;
	struct nn_device_extension_item *items;	/* of what clients are told */
	struct nn_extension_type *types;
	struct plugin_op *ops;		/* the OEM's last */
	uint32_t num_ops;
};

/*
 * Loads the shared object at `path` and registers what it has; err says why it is
 * refused. For one thread, before models are decoded.
 */
enum nna_engine_plugin plugin_load(const char *path, struct nn_error *err);

/* The same for a descriptor that is there already; for tests too. */
enum nna_engine_plugin plugin_register(const struct nnx_extension *descriptor, uint64_t fingerprint,
				   struct nn_error *err);

/* Those that are loaded; as clients are told. */
const struct nn_device_extension *plugin_list(uint32_t *count);

/* Those that are loaded. */
uint32_t plugin_count(void);

/* Stands for the set of those loaded, by their files' contents; 0: none. */
uint32_t plugin_fingerprint(void);

/*
 * Checks the extensions of a decoded model as only plug-ins can: operands' extension
 * data; and that it names none where none is loaded. NN_INVALID_ARGUMENT with the
 * extension or the operand named.
 */
enum nn_status plugin_check_model(const struct nn_model *model, struct nn_error *err);

/*
 * Checks what a client gave to a preparation, or to an execution; NULL: nothing. Each
 * must be one that a plug-in takes for that. NN_INVALID_ARGUMENT names the first that
 * is not.
 */
enum nn_status plugin_check_attributes(const struct nn_attributes *attributes, bool is_execution,
				       struct nn_error *err);

/* Makes the entry of the table for an operation of an extension, or its OEM operation. */
void plugin_op_init(struct plugin_op *op, const struct nnx_operation *descriptor,
		    const char *extension, int32_t code, uint64_t version);

/* Has an operand's extension data checked by its type. */
enum nn_status plugin_check_data(const struct nnx_type *type, const struct nn_operand *operand,
				 struct nn_error *err);

/* Has an attribute checked by its own. */
enum nn_status plugin_check_attribute(const struct nnx_attribute_type *type,
				      const struct nn_attribute *attribute, struct nn_error *err);

#endif /* NN_ENGINE_PLUGIN_H */
