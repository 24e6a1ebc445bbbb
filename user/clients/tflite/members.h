/* SPDX-License-Identifier: MIT */
/*
 * The nodes of a partition. TensorFlow Lite's functions compute the shapes of a partition's nodes
 * and, if NNAPI cannot, the values.
 */
#ifndef NN_TFLITE_MEMBERS_H
#define NN_TFLITE_MEMBERS_H

#include "clients/tflite/abi.h"

typedef int node_function(struct tfl_context *context, struct tfl_node *node);

/*
 * A copy of a node. The delegate copies nodes, because TensorFlow Lite allows access to nodes only
 * while it prepares the delegate, and moves nodes later. The memory that a node's pointers refer to
 * stays valid. The copied node has its own list of temporary tensors, which `prepare` may replace.
 */
struct member {
	struct tfl_node node;
	int index;
	int32_t code;
	uint32_t values;	/* bits of the inputs whose values determine shapes of outputs */
	node_function *prepare, *invoke;
};

struct members {
	struct member *list;
	int count;
	struct tfl_ints **before;	/* dimensions of outputs before `prepare` */
};

/*
 * Copies the nodes of the list. Returns false if memory runs out; the caller must call
 * members_free() even then.
 */
bool members_init(struct members *m, struct tfl_context *context, const struct tfl_ints *nodes);
void members_free(struct members *m);

/*
 * Computes the shapes of all nodes in the order of the list. With `deferred`, each output has its
 * own memory, and a shape that cannot be computed before its node runs is an error. Returns enum
 * tfl_status.
 */
int members_prepare(const struct members *m, struct tfl_context *context, bool deferred);

/* Computes the shapes and values of all nodes by TensorFlow Lite's kernels. */
int members_invoke(const struct members *m, struct tfl_context *context);

/*
 * Gives a tensor its own memory, and sets its enum tfl_allocation to `allocation`. Returns enum
 * tfl_status.
 */
int tensor_keep(struct tfl_context *context, int index, int allocation);

/*
 * Calls `prepare`. Until `prepare` returns, inputs whose values were computed early look like
 * constants in the model file, because some operations accept no other constants.
 */
int prepare_known(struct tfl_context *context, struct tfl_node *node, node_function *prepare);

/* Calls `invoke` for a node whose temporary tensors have no memory. */
int invoke_early(struct tfl_context *context, struct tfl_node *node, node_function *invoke);

#endif /* NN_TFLITE_MEMBERS_H */
