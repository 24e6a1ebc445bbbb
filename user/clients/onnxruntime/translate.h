/* SPDX-License-Identifier: MIT */
/*
 * Nodes of ONNX to operations of the NNAPI. A translator (ops/) is one of clients/lower/lower.h;
 * onnx() gives it what is around.
 */
#ifndef NN_ORT_TRANSLATE_H
#define NN_ORT_TRANSLATE_H

#include "clients/lower/reader.h"
#include "clients/device.h"
#include "graph.h"

struct dynamic_node;

/* What is known of a value while a graph is translated. */
struct translated {
	bool ready;			/* its shape is known; it is constant or has an operand */
	struct shape shape;
	uint32_t operand;		/* of a constant or input made when it is asked for */
	const void *data;		/* of a constant, of the value's ONNX type */
	bool quantised;			/* scale and zero point are known */
	float scale;
	int32_t zero;
	bool elided;			/* only a quantised form of it is computed */
};

struct translation {
	struct lowering l;		/* the first: see onnx() */
	const struct graph *graph;
	struct translated *values;
	const struct node *node;
	bool *done;			/* nodes that were translated as part of another */
	struct dynamic_node *dynamic;	/* by node: see dynamic.h */
	const struct devices *devices;	/* that are asked what they have; NULL: nothing */
	uint32_t quantised_out;		/* of a node in its quantised form: see quantised.h */
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

/* The version of the operator set that defined the operator. */
static inline int op_set(struct lowering *t)
{
	return onnx(t)->node->version;
}

/* ---- inputs of the node ---- */

int type_in(struct lowering *t, uint32_t index);

/*
 * Reading constants, which nothing else does. data_of_count() returns the elements of an input that
 * is a constant of this type with exactly `count` elements. It returns NULL for any other input, and
 * the node is refused with what the input is and what is wanted.
 */
const void *data_of_count(struct lowering *t, uint32_t index, int type, int64_t count);
/* The same of a value of the graph, which may be NO_VALUE; nothing is refused. */
const void *value_of_count(struct lowering *t, uint32_t value, int type, int64_t count);
/* Constant floats in memory of the builder. */
float *floats_in(struct lowering *t, uint32_t index, int64_t *count);
/* A list that older operator sets have as an attribute, newer ones as an input; NULL: neither. */
int64_t *ints_of(struct lowering *t, uint32_t index, const char *attribute, int64_t *count);

/* ---- outputs of the node ---- */

static inline uint32_t out_count(struct lowering *t)
{
	return onnx(t)->node->out_count;
}

int type_out(struct lowering *t, uint32_t index);
/* An output is constant: elements of this type, which must be the value's, that outlive it. */
void set_out_data(struct lowering *t, uint32_t index, int type, const void *data,
		  const struct shape *shape);

/* ---- the whole ---- */

struct translation *translation_new(const struct graph *graph, struct builder *b,
				    const struct devices *devices);
void translation_free(struct translation *t);
/* Says what an input of the graph is, before nodes are translated. */
void translation_input(struct translation *t, uint32_t value, const struct shape *shape);
/* Translates a node; false: refused, with t->reason, and nothing is recorded. */
bool translate_node(struct translation *t, const struct node *node);
/* The translator of an operator, NULL and a reason where there is none for it. */
translator *translator_of(struct lowering *t, const struct node *node);

/* OperandCode for an ONNX type; -1: none. */
int32_t nnapi_type(int type);

#endif
