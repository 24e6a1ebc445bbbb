/* SPDX-License-Identifier: MIT */
/*
 * The kernel that replaces a partition: see kernel_registration(). The file kernel.c compiles and
 * executes partitions; deferred.c has the functions for deferred partitions.
 */
#ifndef NN_TFLITE_KERNEL_H
#define NN_TFLITE_KERNEL_H

#include "clients/tflite/delegate.h"
#include "clients/tflite/graph.h"
#include "clients/tflite/members.h"

/* The memory of an argument at the time when the execution was configured. */
struct place {
	const void *data;
	int handle;
};

/* A tensor whose value determines the shape of another tensor in a deferred partition. */
struct pin {
	int tensor;
	/* the tensor's allocation type before deferred_pin() changed the type */
	int allocation;
};

struct kernel {
	struct delegate *delegate;
	struct members nodes;
	int *outputs;			/* tensors that the rest of the graph reads */
	bool *known;			/* for each output: true if TensorFlow Lite computed it */
	int num_outputs;

	bool is_deferred;		/* the shapes are known only when the kernel runs */
	bool is_whole;	/* the kernel has nearly the whole graph, so its work is never too small */
	/*
	 * The parts of a deferred kernel, each with consecutive nodes: see deferred.c. The fields
	 * from is_left to num_pins are only for kernels that are parts.
	 */
	struct kernel **parts;
	int num_parts;

	/* true if TensorFlow Lite computes the part's nodes for the current shapes */
	bool is_left;
	int refused;	/* index of the node in the part that NNAPI refuses, or -1 */
	uint64_t changes, runs;
	struct pin *pins;
	int num_pins;

	/*
	 * The fields from `graph` on are for one set of shapes, and are freed with the model for
	 * these shapes.
	 */
	struct graph graph;		/* graph with constants that the compilation points to */
	struct constants constants;	/* constants in the model file */
	ANeuralNetworksModel *model;
	bool built;
	bool is_idle;			/* true: no operation is needed, so `model` is NULL */
	struct graph_port *ports;	/* inputs, then outputs, in the model's order */
	uint32_t num_inputs, num_ports;
	int *shapes;			/* ranks and dimensions for which the model was built */
	size_t num_shapes;

	ANeuralNetworksCompilation *compilation;
	ANeuralNetworksBurst *burst;
	ANeuralNetworksExecution *execution;
	struct place *places;		/* by port */
	/*
	 * for each port: NULL, or memory that receives a new state or holds an int64 tensor as
	 * int32
	 */
	char **own;
};

/*
 * Reports a failure of a kernel, or only logs the failure if TensorFlow Lite can compute the
 * kernel's nodes.
 */
int kernel_fail(const struct kernel *k, struct tfl_context *context, const char *what,
		const char *why);
void kernel_free_model(struct kernel *k);
/*
 * Translates and compiles a kernel's nodes; on failure the kernel has no model. Returns enum
 * tfl_status.
 */
int kernel_build(struct kernel *k, struct tfl_context *context);
/* Returns whether the current shapes are those for which the model was built. */
bool kernel_same_shapes(const struct kernel *k, const struct tfl_context *context);
/* Stores the current shapes as the shapes of the built model. Returns enum tfl_status. */
int kernel_remember(struct kernel *k, const struct tfl_context *context);
/* Executes the model. Returns enum tfl_status. */
int kernel_run(struct kernel *k, struct tfl_context *context);

/* Makes a single part of all nodes of a deferred kernel. Returns false if memory runs out. */
bool deferred_init(struct kernel *k, const struct tfl_context *context);
void deferred_free(struct kernel *k);
/*
 * Makes outputs dynamic tensors, so that TensorFlow Lite reads the outputs' shapes after each
 * invocation.
 */
void deferred_prepare(struct kernel *k, struct tfl_context *context);
/*
 * Computes the nodes of a deferred kernel, on the device unless NNAPI refuses a node. TensorFlow
 * Lite computes a refused node, and the nodes before and after the refused node become separate
 * parts.
 */
int deferred_invoke(struct kernel *k, struct tfl_context *context);
/*
 * Make tensors whose values determine shapes look like constants while a part is built, and restore
 * these tensors.
 */
void deferred_pin(struct kernel *k, struct tfl_context *context);
void deferred_unpin(struct kernel *k, struct tfl_context *context);

#endif /* NN_TFLITE_KERNEL_H */
