/* SPDX-License-Identifier: MIT */
/*
 * A graph that the plug-in has read from ONNX Runtime. Nodes are in topological order, values have
 * numbers, and attributes are copied. Constants are in ONNX Runtime's memory, which is valid while
 * the OrtGraph exists, unless graph_keep_constants() copies them.
 */
#ifndef NN_ORT_GRAPH_H
#define NN_ORT_GRAPH_H

#include <string.h>

#include "clients/lower/lower.h"
#include "ort.h"

struct value {
	char *name;
	int type;			/* an enum onnx_type; ONNX_NONE if not a tensor */
	struct shape shape;		/* shape as ONNX Runtime inferred it */
	uint32_t symbols[MAX_RANK];	/* hash of the name of each unknown dimension, or 0 */
	const void *data;		/* data of a constant */
	size_t size;
	void *owned;	/* copy of the data, if graph_keep_constants() has copied the data */
	/*
	 * node that computes the value; NULL for an input, a constant, or a value of another graph
	 */
	struct node *producer;
	uint32_t consumers;		/* number of node inputs in this graph that use the value */
	struct node *consumer;		/* one of the nodes that use the value */
	bool is_output;			/* true: the value is an output of the graph */
	bool is_outer;			/* true: the value belongs to an enclosing graph */
};

struct attribute {
	char *name;
	OrtOpAttrType kind;
	int64_t *ints;			/* integers of the attribute, one or more */
	float *floats;			/* floats of the attribute, one or more */
	/* strings, each with a terminating 0; `count` is the total number of bytes */
	char *string;
	size_t count;
	OrtValue *tensor;
	int type;			/* type of the tensor's elements */
	struct shape shape;
	const void *data;
	size_t size;
};

struct node {
	const OrtNode *ort;
	char *name, *op, *domain;
	int version;			/* operator set that introduced the node's definition */
	uint32_t index;
	uint32_t in_count, out_count, implicit_count, attribute_count;
	uint32_t *in, *out;		/* numbers of the values; NO_VALUE for an omitted value */
	uint32_t *implicit;		/* numbers of values that inner graphs of the node use */
	struct attribute *attributes;
	bool has_graphs;		/* true: the operator has subgraphs, like If */
};

struct domain {
	char *name;
	int64_t version;		/* of the operator set */
};

enum { NO_VALUE = UINT32_MAX };

struct graph {
	const struct ort *ort;
	struct value *values;
	struct node *nodes;
	uint32_t *in, *out;
	struct domain *domains;		/* the model's operator sets */
	uint32_t value_count, node_count, in_count, out_count, domain_count;
	uint32_t value_room;
	bool is_inner;			/* true: the graph belongs to a node of another graph */
	uint32_t *slots;		/* hash table of values by name, value_room * 2 slots */
};

/* Reads a graph. Returns NULL if memory runs out or ONNX Runtime fails. */
struct graph *graph_read(const struct ort *ort, const OrtGraph *graph);
void graph_free(struct graph *graph);

/* Copies the constants, so that they outlive the OrtGraph. */
bool graph_keep_constants(struct graph *graph);

/*
 * Reads a tensor of ONNX Runtime. If elements of the tensor's type have no fixed size, *data keeps its
 * value. If the tensor has more than MAX_RANK dimensions, shape->rank becomes -1.
 */
bool tensor_read(const struct ort *ort, const OrtValue *from, int *type, struct shape *shape,
		 const void **data, size_t *size);

/* Returns the number of the value called `name`, or NO_VALUE. */
uint32_t graph_find(const struct graph *graph, const char *name);

const struct attribute *node_attribute(const struct node *node, const char *name);
int64_t node_int(const struct node *node, const char *name, int64_t otherwise);
float node_float(const struct node *node, const char *name, float otherwise);
const char *node_string(const struct node *node, const char *name, const char *otherwise);
/*
 * Returns the elements of a tensor attribute if the tensor has type `type` and exactly `count`
 * elements, otherwise NULL.
 */
const void *attribute_of_count(const struct attribute *attribute, int type, int64_t count);

/* Returns the bytes of an element; 0 if the type is unknown or has no fixed size. */
size_t onnx_size(int type);
/* Returns the OperandCode for an enum onnx_type; -1 if the NNAPI lacks the type. */
int32_t nnapi_type(int type);
/* Returns an element of a tensor of int64, int32, int8 or uint8. */
static inline int64_t onnx_int(int type, const void *data, int64_t at)
{
	return type == ONNX_INT64 ? ((const int64_t *)data)[at] :
	       type == ONNX_INT32 ? ((const int32_t *)data)[at] :
	       type == ONNX_INT8 ? ((const int8_t *)data)[at] : ((const uint8_t *)data)[at];
}

/*
 * Sets an element of int64, int32, bool or float. Returns false if the element's type cannot hold the
 * number.
 */
bool onnx_set_number(int type, void *data, int64_t at, int64_t number);
const char *onnx_name(int type);

/* Returns whether a node, which may be NULL, is the operator `op` of ONNX. */
static inline bool is_op(const struct node *node, const char *op)
{
	return node && !*node->domain && !strcmp(node->op, op);
}

/* Returns whether a node is the operator `op` of ONNX Runtime's own domain. */
static inline bool is_microsoft(const struct node *node, const char *op)
{
	return !strcmp(node->domain, "com.microsoft") && !strcmp(node->op, op);
}

/* Returns the number of an input's value, NO_VALUE if the input is missing. */
static inline uint32_t input_of(const struct node *node, uint32_t index)
{
	return index < node->in_count ? node->in[index] : NO_VALUE;
}

/* Returns the value of an input; inputs from in_count on are those that inner graphs use. */
static inline uint32_t any_input_of(const struct node *node, uint32_t index)
{
	return index < node->in_count ? node->in[index] : node->implicit[index - node->in_count];
}

/* Returns the node that computes a value; NULL for NO_VALUE, a constant or an input of the graph. */
static inline const struct node *producer_of(const struct graph *graph, uint32_t value)
{
	return value == NO_VALUE ? NULL : graph->values[value].producer;
}

/*
 * Returns the only node that uses a value; NULL if several nodes use the value, or if the value is
 * an output of the graph.
 */
static inline const struct node *only_consumer(const struct graph *graph, uint32_t value)
{
	const struct value *v = value == NO_VALUE ? NULL : &graph->values[value];

	return v && v->consumers == 1 && !v->is_output ? v->consumer : NULL;
}

#endif
