/* SPDX-License-Identifier: MIT */
/*
 * A model as a list of dispatches of shaders. A graph has the values that each dispatch reads and
 * writes, and the offsets of the values in one buffer. No function of graph.h calls Vulkan.
 */
#ifndef NN_VULKAN_GRAPH_H
#define NN_VULKAN_GRAPH_H

#include "ops/op.h"
#include "vulkan/pipeline.h"

typedef uint32_t uint;
#include "vulkan/shaders/params.h"

#define NO_VALUE UINT32_MAX

/* A value: a range of the GPU's buffer that dispatches read or write. */
struct value {
	uint64_t size;
	uint32_t element;		/* size of an element in bytes */
	const void *data;	/* contents of a constant; NULL if the value is no constant */
	void *owned;			/* memory that is freed with the graph, or NULL */
	bool is_input;
	bool is_output;
	uint32_t first;			/* first and last dispatch that uses the value */
	uint32_t last;
	uint64_t at;			/* in the buffer */
};

struct elementwise_params { ELEMENTWISE_PARAMS };
struct copy_params { COPY_PARAMS };
struct window_params { WINDOW_PARAMS };
struct rows_params { ROWS_PARAMS };
struct resize_params { RESIZE_PARAMS };
struct gather_params { GATHER_PARAMS };
struct quantise_params { QUANTISE_PARAMS };

struct dispatch {
	enum shader shader; /* shader; SHADERS if the dispatch was fused into another dispatch */
	uint32_t constants[SHADER_CONSTANTS];
	uint32_t groups[3];
	uint32_t tensors[TENSORS];	/* values, or NO_VALUE */
	uint32_t operation;		/* index of the operation in the model */
	uint64_t cost;			/* multiply-adds or elements */
	union {
		uint8_t bytes[PARAMS_BYTES];
		struct elementwise_params elementwise;
		struct copy_params copy;
		struct window_params window;
		struct rows_params rows;
		struct resize_params resize;
		struct gather_params gather;
		struct quantise_params quantise;
		/* first field of all params structs: offset of each tensor in the buffer */
		uint32_t at[TENSORS];
	} params;
};

/* A check of an argument whose elements are indices, which must be in [0, limit). */
struct index_check {
	uint32_t input;
	uint32_t limit;
};

/*
 * A graph. The graph's buffer contains the parameters of the dispatches, then constants, then other
 * values.
 */
struct graph {
	const struct nn_model *model;
	struct nn_tensor *tensors;	/* shape of each operand, as the shape rules compute it */
	uint32_t *operand_values;	/* by operand */
	struct value *values;
	uint32_t num_values;
	struct dispatch *dispatches;
	uint32_t num_dispatches;
	struct index_check *checks;
	uint32_t num_checks;
	uint64_t params_step;		/* distance in bytes between dispatches' parameters */
	uint64_t constants_end;
	uint64_t size;			/* size of the buffer in bytes */
	uint64_t unshared;	/* size that temporaries would need without sharing memory */
};

/*
 * Makes a graph of a checked model. The graph points to the model's constants and does not copy
 * them. Returns NN_INVALID_ARGUMENT with the reason if the model has an unsupported operation or
 * operand.
 */
enum nn_status graph_create(const struct nn_model *model, const VkPhysicalDeviceLimits *limits,
			    struct graph *graph, struct nn_error *err);
void graph_destroy(struct graph *graph);

/*
 * Finds which operations of the main subgraph are supported. For each unsupported operation, calls
 * `refused` with the reason.
 */
enum nn_status graph_supported(const struct nn_model *model, const VkPhysicalDeviceLimits *limits,
			       bool *supported,
			       void (*refused)(uint32_t operation, const char *reason),
			       struct nn_error *err);

/*
 * Sets the offset of each value in the buffer. Temporaries that are not needed at the same time
 * share memory.
 */
enum nn_status arena_plan(struct graph *graph, uint64_t alignment, struct nn_error *err);

/* Fuses chains of elementwise dispatches, and fuses activations into the preceding products. */
void fuse(struct graph *graph);

#endif /* NN_VULKAN_GRAPH_H */
