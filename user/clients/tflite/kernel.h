/* SPDX-License-Identifier: MIT */
/*
 * The kernel that replaces a partition: see kernel_registration(). kernel.c builds and executes it,
 * deferred.c has what deferred partitions need.
 */
#ifndef NN_TFLITE_KERNEL_H
#define NN_TFLITE_KERNEL_H

#include "clients/tflite/delegate.h"
#include "clients/tflite/graph.h"
#include "clients/tflite/members.h"

/* The place of an argument when the execution was configured. */
struct place {
	const void *data;
	int handle;
};

/* A tensor whose value gives the shape of another one inside of a deferred partition. */
struct pin {
	int tensor;
	int allocation;			/* while it does not look constant */
};

struct kernel {
	struct delegate *delegate;
	struct members nodes;
	int *outputs;			/* tensors that the rest of the graph reads */
	bool *known;			/* by output: TensorFlow Lite has computed the node */
	int num_outputs;

	bool is_deferred;		/* the shapes are known only when the kernel runs */
	bool is_whole;			/* nearly all of the graph: it is never too small */
	/* Consecutive nodes of a deferred kernel (deferred.c). The fields below are for them. */
	struct kernel **parts;
	int num_parts;

	bool is_left;			/* TensorFlow Lite computes these shapes */
	int refused;			/* number of the member that NNAPI refuses; -1: none */
	uint64_t changes, runs;
	struct pin *pins;
	int num_pins;

	/* The fields below belong to one shape, and are freed with its model. */
	struct graph graph;		/* graph with constants that the compilation points to */
	struct constants constants;	/* constants in the model file */
	ANeuralNetworksModel *model;
	bool built;
	bool is_idle;			/* there is nothing to compute, so there is no model */
	struct graph_port *ports;	/* inputs, then outputs, in the model's order */
	uint32_t num_inputs, num_ports;
	int *shapes;			/* ranks and dimensions for which it was built */
	size_t num_shapes;

	ANeuralNetworksCompilation *compilation;
	ANeuralNetworksBurst *burst;
	ANeuralNetworksExecution *execution;
	struct place *places;		/* by port */
	/*
	 * for each port: memory that receives a new state, or holds an int64 tensor as int32; or
	 * NULL
	 */
	char **own;
};

/* Reports a failure. If TensorFlow Lite computes the nodes instead, it is only logged. */
int kernel_fail(const struct kernel *k, struct tfl_context *context, const char *what,
		const char *why);
void kernel_free_model(struct kernel *k);
/* Translates the nodes and compiles them; on failure nothing is built. Returns enum tfl_status. */
int kernel_build(struct kernel *k, struct tfl_context *context);
/* Returns whether the shapes are those that it was built for. */
bool kernel_same_shapes(const struct kernel *k, const struct tfl_context *context);
/* Remembers the shapes of now. Returns enum tfl_status. */
int kernel_remember(struct kernel *k, const struct tfl_context *context);
/* Executes the model. Returns enum tfl_status. */
int kernel_run(struct kernel *k, struct tfl_context *context);

/* Makes all nodes of a deferred kernel its first part. Returns false if memory runs out. */
bool deferred_init(struct kernel *k, const struct tfl_context *context);
void deferred_free(struct kernel *k);
/* Gives outputs a type for which TensorFlow Lite looks at shapes after each invocation. */
void deferred_prepare(struct kernel *k, struct tfl_context *context);
/*
 * Computes the nodes, on the device unless NNAPI refuses them. TensorFlow Lite computes a refused
 * node, and the nodes before and after it become parts of their own.
 */
int deferred_invoke(struct kernel *k, struct tfl_context *context);
/* Make values that give shapes look like constants while a part is built, and restore them. */
void deferred_pin(struct kernel *k, struct tfl_context *context);
void deferred_unpin(struct kernel *k, struct tfl_context *context);

#endif /* NN_TFLITE_KERNEL_H */
