/* SPDX-License-Identifier: MIT */
/*
 * Translates nodes of ONNX to operations of the NNAPI. Translators (ops/) have the interface of
 * clients/lower/lower.h; onnx() returns the fields that only ONNX translators use.
 */
#ifndef NN_ORT_TRANSLATE_H
#define NN_ORT_TRANSLATE_H

#include "clients/lower/reader.h"
#include "clients/device.h"
#include "graph.h"

struct dynamic_node;

/* The inputs of a QLinear operator, in which a scale and a zero point follow each tensor. */
struct qlinear {
	uint32_t first;			/* index of the input that is the first tensor */
	uint32_t out;			/* index of the input that is the output's scale */
};

/* The state of a value while a graph is translated. */
struct translated {
	bool ready;	/* the shape is known, and the value is constant or has an operand */
	struct shape shape;
	/* number of the operand; constants and inputs get an operand when first used */
	uint32_t operand;
	/* elements of a constant, in the value's ONNX type; otherwise NULL */
	const void *data;
	bool quantised;			/* scale and zero point are known */
	float scale;
	int32_t zero;
	bool elided;			/* only the quantised form of the value is computed */
};

struct translation {
	struct lowering l;	/* must be the first field: onnx() casts a pointer to this field */
	const struct graph *graph;
	struct translated *values;
	const struct node *node;
	bool *done;	/* for each node: true if translated with another node */
	struct dynamic_node *dynamic;	/* for each node: its role in a dynamic GEMM or in GELU */
	/* The inputs of the node in translation if it is a QLinear operator, otherwise NULL. */
	const struct qlinear *qlinear;
	bool is_wide;			/* the node computes float16 values in float32 */
	uint32_t quantised_out;	/* quantised output of a node in quantised form; see quantised.h */
};

static inline struct translation *onnx(const struct lowering *t)
{
	return (struct translation *)t;
}

/* ---- attributes of the node ---- */

static inline const struct value *value_at(struct lowering *t, uint32_t value)
{
	return &onnx(t)->graph->values[value];
}

static inline int64_t attr_int(struct lowering *t, const char *name, int64_t otherwise)
{
	return node_int(onnx(t)->node, name, otherwise);
}

static inline float attr_float(struct lowering *t, const char *name, float otherwise)
{
	return node_float(onnx(t)->node, name, otherwise);
}

static inline const char *attr_string(struct lowering *t, const char *name, const char *otherwise)
{
	return node_string(onnx(t)->node, name, otherwise);
}

static inline const struct attribute *attr(struct lowering *t, const char *name)
{
	return node_attribute(onnx(t)->node, name);
}

/* Returns the version of the operator set that defined the operator of the node in translation. */
static inline int op_set(struct lowering *t)
{
	return onnx(t)->node->version;
}

/* ---- inputs of the node ---- */

/* Returns the number of the value that input `index` refers to, or NO_VALUE. */
uint32_t number_of_in(struct lowering *t, uint32_t index);
int type_in(struct lowering *t, uint32_t index);
/* Returns the shape of an input that may have no elements; shape_in() rejects such an input. */
const struct shape *any_shape_in(struct lowering *t, uint32_t index);

/*
 * Only data_of_count() and value_of_count() read data of constants. The function data_of_count()
 * returns the elements of an input that is a constant of type `type` with exactly `count` elements.
 * If the input is not constant, or has another type or count, data_of_count() rejects the node with
 * a message and returns NULL.
 */
const void *data_of_count(struct lowering *t, uint32_t index, int type, int64_t count);
/*
 * Returns the elements of a value like data_of_count(), or NULL, but never rejects the node.
 * `value` may be NO_VALUE.
 */
const void *value_of_count(struct lowering *t, uint32_t value, int type, int64_t count);
/* Reads an input's constant floats to memory of the builder. */
float *floats_in(struct lowering *t, uint32_t index, int64_t *count);
/*
 * Reads a list that is an attribute in older operator sets and an input in newer operator sets;
 * NULL if attribute and input are missing.
 */
int64_t *ints_of(struct lowering *t, uint32_t index, const char *attribute, int64_t *count);

/* ---- outputs of the node ---- */

static inline uint32_t out_count(struct lowering *t)
{
	return onnx(t)->node->out_count;
}

int type_out(struct lowering *t, uint32_t index);
/* Sets an output to constant elements of type `type`. `data` must outlive the translation. */
void set_out_data(struct lowering *t, uint32_t index, int type, const void *data,
		  const struct shape *shape);

/* ---- the graph ---- */

struct translation *translation_new(const struct graph *graph, struct builder *b,
				    const struct devices *devices);
void translation_free(struct translation *t);
/*
 * Sets the shape of an input of the graph. The caller must set input shapes before it translates
 * nodes.
 */
void translation_input(struct translation *t, uint32_t value, const struct shape *shape);
/*
 * Translates a node. If the node is rejected, returns false, sets t->reason, and records nothing.
 */
bool translate_node(struct translation *t, const struct node *node);
/* Returns the translator of an operator, or NULL and a reason. */
translator *translator_of(struct lowering *t, const struct node *node);

/*
 * Returns the input for whose values a node is compiled, although the values may differ in each run.
 * Returns NO_VALUE if a node has no input of this kind.
 */
uint32_t values_of(const struct node *node);

/*
 * Treats a value as a constant of up to MAX_RANK integers. Returns false if the value's type is
 * neither int32 nor int64.
 */
bool translation_values(struct translation *t, uint32_t value, const int64_t *values, int count);

#endif
