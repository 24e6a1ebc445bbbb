/* SPDX-License-Identifier: MIT */
/*
 * Operations of plug-ins in the table of operations.
 */
#ifndef NN_ENGINE_PLUGIN_OP_H
#define NN_ENGINE_PLUGIN_OP_H

#include <nnaccel/engine_plugins.h>

/* Calls nna_engine_plugin_load(), and adds the plug-in's operations to the table of operations. */
enum nna_engine_plugin plugin_op_load(const struct nna_engine *engine, const char *path,
				      struct nn_error *err);

/*
 * Adds the operations of all plug-ins that were loaded after the last plugin_op_add_all(). Only one
 * thread may call plugin_op_add_all(), and only before models are decoded.
 */
enum nn_status plugin_op_add_all(struct nn_error *err);

#endif /* NN_ENGINE_PLUGIN_OP_H */
