/* SPDX-License-Identifier: MIT */
/*
 * The nodes of a partition, their shapes and values. TensorFlow Lite's own functions compute the
 * shapes and, if NNAPI cannot, the values.
 */
#ifndef NN_TFLITE_MEMBERS_H
#define NN_TFLITE_MEMBERS_H

#include "clients/tflite/abi.h"

typedef int node_function(struct tfl_context *context, struct tfl_node *node);

/*
 * A node. TensorFlow Lite shows nodes only while the delegate prepares, and moves them; the memory
 * that they point to stays. The list of temporary tensors is a copy, which `prepare` may replace.
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
	struct tfl_ints **before;	/* earlier dimensions of a node's outputs */
};

/*
 * Copies the nodes of the list. Returns false if memory runs out; members_free() must follow
 * anyway.
 */
bool members_init(struct members *m, struct tfl_context *context, const struct tfl_ints *nodes);
void members_free(struct members *m);

/*
 * Computes the shapes of all nodes in their order. With `deferred`, outputs get memory of their own,
 * and it is an error if a shape cannot be computed before the node runs. Returns enum tfl_status.
 */
int members_prepare(const struct members *m, struct tfl_context *context, bool deferred);

/* Computes all nodes by TensorFlow Lite's kernels, also their shapes. */
int members_invoke(const struct members *m, struct tfl_context *context);

/* Gives a tensor memory of its own: of this enum tfl_allocation. Returns enum tfl_status. */
int tensor_keep(struct tfl_context *context, int index, int allocation);

/*
 * Calls `prepare` while inputs that were computed early look like constants of the file, because some
 * versions of some operations know no others.
 */
int prepare_known(struct tfl_context *context, struct tfl_node *node, node_function *prepare);

/* Calls `invoke` for a node whose temporary tensors have no memory. */
int invoke_early(struct tfl_context *context, struct tfl_node *node, node_function *invoke);

#endif /* NN_TFLITE_MEMBERS_H */
