// SPDX-License-Identifier: MIT
/* Reads a graph of ONNX Runtime. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash(const char *name)
{
	uint32_t h = 2166136261u;

	while (*name)
		h = (h ^ (unsigned char)*name++) * 16777619u;
	return h ? h : 1;
}

static uint32_t *slot_of(const struct graph *graph, const char *name)
{
	uint32_t slots = graph->value_room * 2;
	uint32_t at = hash(name) % slots;

	while (graph->slots[at] != NO_VALUE && strcmp(graph->values[graph->slots[at]].name, name))
		at = (at + 1) % slots;
	return &graph->slots[at];
}

uint32_t graph_find(const struct graph *graph, const char *name)
{
	return graph->value_room ? *slot_of(graph, name) : NO_VALUE;
}

static bool make_room(struct graph *graph)
{
	uint32_t room = graph->value_room ? graph->value_room * 2 : 64;
	struct value *values;
	uint32_t *slots;

	if (graph->value_count < graph->value_room)
		return true;
	values = realloc(graph->values, room * sizeof(*values));
	if (!values)
		return false;
	graph->values = values;
	slots = malloc(room * 2 * sizeof(*slots));
	if (!slots)
		return false;
	free(graph->slots);
	graph->slots = slots;
	graph->value_room = room;
	memset(slots, 0xff, room * 2 * sizeof(*slots));
	for (uint32_t i = 0; i < graph->value_count; i++)
		*slot_of(graph, values[i].name) = i;
	return true;
}

static bool read_shape(const struct ort *ort, const OrtTensorTypeAndShapeInfo *info, int *type,
		       struct shape *shape, uint32_t *symbols)
{
	const char *names[MAX_RANK] = { NULL };
	ONNXTensorElementDataType element;
	size_t rank;

	if (!ort_ok(ort, ort->GetTensorElementType(info, &element)) ||
	    !ort_ok(ort, ort->GetDimensionsCount(info, &rank)))
		return false;
	*type = (int)element;
	shape->rank = -1;
	if (rank > MAX_RANK)
		return true;
	if (!ort_ok(ort, ort->GetDimensions(info, shape->dims, rank)))
		return false;
	shape->rank = (int)rank;
	if (symbols && rank && ort_ok(ort, ort->GetSymbolicDimensions(info, names, rank)))
		for (size_t i = 0; i < rank; i++)
			symbols[i] = names[i] && *names[i] ? hash(names[i]) : 0;
	return true;
}

bool tensor_read(const struct ort *ort, const OrtValue *from, int *type, struct shape *shape,
		 const void **data, size_t *size)
{
	OrtTensorTypeAndShapeInfo *info;
	void *bytes;
	bool good;

	if (!ort_ok(ort, ort->GetTensorTypeAndShape(from, &info)))
		return false;
	good = read_shape(ort, info, type, shape, NULL);
	ort->ReleaseTensorTypeAndShapeInfo(info);
	if (!good)
		return false;
	if (!onnx_size(*type))
		return true;
	if (!ort_ok(ort, ort->GetTensorSizeInBytes(from, size)) ||
	    !ort_ok(ort, ort->GetTensorMutableData((OrtValue *)from, &bytes)) ||
	    (shape_count(shape) > 0 && *size / onnx_size(*type) < (size_t)shape_count(shape)))
		return false;
	*data = *size ? bytes : "";	/* NULL would mean that the tensor is not a constant */
	return true;
}

static bool read_value(const struct ort *ort, const OrtValueInfo *info, struct value *value)
{
	const OrtTensorTypeAndShapeInfo *tensor = NULL;
	const OrtValue *constant = NULL;
	const OrtTypeInfo *type;
	bool is = false;

	value->shape.rank = -1;
	if (ort_ok(ort, ort->GetValueInfoTypeInfo(info, &type)) && type &&
	    ort_ok(ort, ort->CastTypeInfoToTensorInfo(type, &tensor)) && tensor &&
	    !read_shape(ort, tensor, &value->type, &value->shape, value->symbols))
		return false;
	return !ort_ok(ort, ort->ValueInfo_IsConstantInitializer(info, &is)) || !is ||
	       !ort_ok(ort, ort->ValueInfo_GetInitializerValue(info, &constant)) || !constant ||
	       tensor_read(ort, constant, &value->type, &value->shape, &value->data, &value->size);
}

/*
 * Returns the number of a value; reads the value's type and data at the first call for this value.
 */
static bool value_number(struct graph *graph, const OrtValueInfo *info, uint32_t *number)
{
	const struct ort *ort = graph->ort;
	const char *name;
	struct value *value;
	bool is_output = false, is_outer = false;
	uint32_t *slot;

	*number = NO_VALUE;
	if (!info)
		return true;
	if (!ort_ok(ort, ort->GetValueInfoName(info, &name)))
		return false;
	if (!*name)
		return true;
	if (!make_room(graph))
		return false;
	slot = slot_of(graph, name);
	if (*slot == NO_VALUE) {
		value = &graph->values[graph->value_count];
		memset(value, 0, sizeof(*value));
		value->name = strdup(name);
		if (!value->name)
			return false;
		*slot = graph->value_count++;
		if (!read_value(ort, info, value))
			return false;
		if (ort_ok(ort, ort->ValueInfo_IsGraphOutput(info, &is_output)))
			value->is_output = is_output;
		if (ort_ok(ort, ort->ValueInfo_IsFromOuterScope(info, &is_outer)))
			value->is_outer = is_outer;
		graph->is_inner |= is_outer;
	}
	*number = *slot;
	return true;
}

static bool read_list(struct graph *graph, const void *object, void *counter, void *lister,
		      uint32_t **numbers, uint32_t *number_count)
{
	size_t count;
	const OrtValueInfo **list = ort_list(graph->ort, object, counter, lister, &count);
	bool good = list && (*numbers = calloc(count + 1, sizeof(**numbers)));

	for (size_t i = 0; good && i < count; i++)
		good = value_number(graph, list[i], &(*numbers)[i]);
	*number_count = good ? (uint32_t)count : 0;
	free(list);
	return good;
}

/* Reads the raw bytes of an attribute, and appends a zero byte. */
static void *read_bytes(const struct ort *ort, const OrtOpAttr *from, OrtOpAttrType type,
			size_t *size)
{
	char *bytes, none;

	*size = 0;
	ort_ok(ort, ort->ReadOpAttr(from, type, &none, 0, size));
	bytes = calloc(1, *size + sizeof(int64_t));
	if (bytes && *size && !ort_ok(ort, ort->ReadOpAttr(from, type, bytes, *size, size))) {
		free(bytes);
		bytes = NULL;
	}
	return bytes;
}

/*
 * Reads an attribute, or only the attribute's name if no translator reads attributes of this type.
 */
static bool read_attribute(const struct ort *ort, const OrtOpAttr *from, struct attribute *to)
{
	const char *name;
	OrtOpAttrType type;
	size_t size = 0;

	if (!ort_ok(ort, ort->OpAttr_GetName(from, &name)) ||
	    !ort_ok(ort, ort->OpAttr_GetType(from, &type)))
		return false;
	to->name = strdup(name);
	to->kind = type;
	if (!to->name)
		return false;
	switch (type) {
	case ORT_ATTRIBUTE_INT:
	case ORT_ATTRIBUTE_INTS:
		to->ints = read_bytes(ort, from, type, &size);
		to->count = size / sizeof(int64_t);
		return to->ints;
	case ORT_ATTRIBUTE_FLOAT:
	case ORT_ATTRIBUTE_FLOATS:
		to->floats = read_bytes(ort, from, type, &size);
		to->count = size / sizeof(float);
		return to->floats;
	case ORT_ATTRIBUTE_STRING:
	case ORT_ATTRIBUTE_STRINGS:
		to->string = read_bytes(ort, from, type, &to->count);
		return to->string;
	case ORT_ATTRIBUTE_TENSOR:
		if (!ort_ok(ort, ort->OpAttr_GetTensorAttributeAsOrtValue(from, &to->tensor)))
			return true;
		return tensor_read(ort, to->tensor, &to->type, &to->shape, &to->data, &to->size);
	default:
		return true;
	}
}

static bool read_attributes(const struct ort *ort, struct node *node)
{
	size_t count;
	const OrtOpAttr **list = ort_list(ort, node->ort, (void *)ort->Node_GetNumAttributes,
					  (void *)ort->Node_GetAttributes, &count);
	bool good = list && (node->attributes = calloc(count + 1, sizeof(*node->attributes)));

	for (size_t i = 0; good && i < count; i++) {
		node->attribute_count++;
		good = read_attribute(ort, list[i], &node->attributes[i]);
	}
	free(list);
	return good;
}

static bool read_node(struct graph *graph, struct node *node)
{
	const struct ort *ort = graph->ort;
	const char *name, *op, *domain;
	size_t graphs = 0;

	if (!ort_ok(ort, ort->Node_GetName(node->ort, &name)) ||
	    !ort_ok(ort, ort->Node_GetOperatorType(node->ort, &op)) ||
	    !ort_ok(ort, ort->Node_GetDomain(node->ort, &domain)) ||
	    !ort_ok(ort, ort->Node_GetSinceVersion(node->ort, &node->version)) ||
	    !ort_ok(ort, ort->Node_GetNumSubgraphs(node->ort, &graphs)))
		return false;
	node->has_graphs = graphs != 0;
	node->name = strdup(name);
	node->op = strdup(op);
	node->domain = strdup(strcmp(domain, "ai.onnx") ? domain : "");
	return node->name && node->op && node->domain && read_attributes(ort, node) &&
	       read_list(graph, node->ort, (void *)ort->Node_GetNumInputs,
			 (void *)ort->Node_GetInputs, &node->in, &node->in_count) &&
	       read_list(graph, node->ort, (void *)ort->Node_GetNumOutputs,
			 (void *)ort->Node_GetOutputs, &node->out, &node->out_count);
}

/* Marks values that inner graphs of a node use as outputs of the graph that contains the node. */
static bool read_implicit(struct graph *graph, struct node *node)
{
	const bool good = read_list(graph, node->ort, (void *)graph->ort->Node_GetNumImplicitInputs,
				    (void *)graph->ort->Node_GetImplicitInputs, &node->implicit,
				    &node->implicit_count);

	for (uint32_t i = 0; i < node->implicit_count; i++)
		if (node->implicit[i] != NO_VALUE)
			graph->values[node->implicit[i]].is_output = true;
	return good;
}

static bool read_nodes(struct graph *graph, const OrtGraph *from)
{
	size_t count;
	const OrtNode **list = ort_list(graph->ort, from, (void *)graph->ort->Graph_GetNumNodes,
					(void *)graph->ort->Graph_GetNodes, &count);
	bool good = list && (graph->nodes = calloc(count + 1, sizeof(*graph->nodes)));

	for (uint32_t i = 0; good && i < count; i++) {
		graph->node_count++;
		graph->nodes[i].ort = list[i];
		graph->nodes[i].index = i;
		good = read_node(graph, &graph->nodes[i]) &&
		       (!graph->nodes[i].has_graphs || read_implicit(graph, &graph->nodes[i]));
	}
	free(list);
	return good;
}

static bool read_domains(struct graph *graph, const OrtGraph *from)
{
	const struct ort *ort = graph->ort;
	const char **names = NULL;
	int64_t *versions = NULL;
	size_t count = 0;
	bool good = ort_ok(ort, ort->Graph_GetNumOperatorSets(from, &count)) &&
		    (graph->domains = calloc(count + 1, sizeof(*graph->domains))) &&
		    (names = calloc(count + 1, sizeof(*names))) &&
		    (versions = calloc(count + 1, sizeof(*versions))) &&
		    ort_ok(ort, ort->Graph_GetOperatorSets(from, names, versions, count));

	for (size_t i = 0; good && i < count; i++) {
		graph->domains[i] = (struct domain){ strdup(names[i]), versions[i] };
		good = graph->domains[i].name;
		graph->domain_count++;
	}
	free(names);
	free(versions);
	return good;
}

static void link_values(struct graph *graph)
{
	for (uint32_t n = 0; n < graph->node_count; n++) {
		struct node *node = &graph->nodes[n];

		for (uint32_t i = 0; i < node->out_count; i++)
			if (node->out[i] != NO_VALUE)
				graph->values[node->out[i]].producer = node;
		for (uint32_t i = 0; i < node->in_count; i++) {
			if (node->in[i] == NO_VALUE)
				continue;
			graph->values[node->in[i]].consumers++;
			graph->values[node->in[i]].consumer = node;
		}
	}
	for (uint32_t i = 0; i < graph->out_count; i++)
		if (graph->out[i] != NO_VALUE)
			graph->values[graph->out[i]].is_output = true;
	/* ONNX Runtime reports no dimensions both for a scalar and for a value of unknown rank. */
	for (uint32_t i = 0; i < graph->value_count; i++)
		if (!graph->values[i].shape.rank && !graph->values[i].data)
			graph->values[i].shape.rank = -1;
}

struct graph *graph_read(const struct ort *ort, const OrtGraph *from)
{
	struct graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return NULL;
	graph->ort = ort;
	if (!read_list(graph, from, (void *)ort->Graph_GetNumInputs, (void *)ort->Graph_GetInputs,
		       &graph->in, &graph->in_count) ||
	    !read_list(graph, from, (void *)ort->Graph_GetNumOutputs,
		       (void *)ort->Graph_GetOutputs, &graph->out, &graph->out_count) ||
	    !read_domains(graph, from) || !read_nodes(graph, from)) {
		graph_free(graph);
		return NULL;
	}
	link_values(graph);
	return graph;
}

bool graph_keep_constants(struct graph *graph)
{
	for (uint32_t i = 0; i < graph->value_count; i++) {
		struct value *value = &graph->values[i];

		if (!value->data || value->owned)
			continue;
		value->owned = malloc(value->size ? value->size : 1);
		if (!value->owned)
			return false;
		memcpy(value->owned, value->data, value->size);
		value->data = value->owned;
	}
	return true;
}

void graph_free(struct graph *graph)
{
	if (!graph)
		return;
	for (struct node *n = graph->nodes; n < graph->nodes + graph->node_count; n++) {
		for (struct attribute *a = n->attributes; a < n->attributes + n->attribute_count; a++) {
			free(a->name);
			free(a->ints);
			free(a->floats);
			free(a->string);
			if (a->tensor)
				graph->ort->ReleaseValue(a->tensor);
		}
		free(n->attributes);
		free(n->name);
		free(n->op);
		free(n->domain);
		free(n->in);
		free(n->implicit);
		free(n->out);
	}
	for (uint32_t i = 0; i < graph->value_count; i++) {
		free(graph->values[i].name);
		free(graph->values[i].owned);
	}
	for (uint32_t i = 0; i < graph->domain_count; i++)
		free(graph->domains[i].name);
	free(graph->domains);
	free(graph->nodes);
	free(graph->values);
	free(graph->slots);
	free(graph->in);
	free(graph->out);
	free(graph);
}

const struct attribute *node_attribute(const struct node *node, const char *name)
{
	for (uint32_t i = 0; i < node->attribute_count; i++)
		if (!strcmp(node->attributes[i].name, name))
			return &node->attributes[i];
	return NULL;
}

int64_t node_int(const struct node *node, const char *name, int64_t otherwise)
{
	const struct attribute *attribute = node_attribute(node, name);

	return attribute && attribute->ints && attribute->count ? attribute->ints[0] : otherwise;
}

float node_float(const struct node *node, const char *name, float otherwise)
{
	const struct attribute *attribute = node_attribute(node, name);

	return attribute && attribute->floats && attribute->count ? attribute->floats[0] :
								    otherwise;
}

const char *node_string(const struct node *node, const char *name, const char *otherwise)
{
	const struct attribute *attribute = node_attribute(node, name);

	return attribute && attribute->string ? attribute->string : otherwise;
}

const void *attribute_of_count(const struct attribute *attribute, int type, int64_t count)
{
	return attribute && attribute->type == type && count >= 0 &&
	       shape_count(&attribute->shape) == count ? attribute->data : NULL;
}

static const struct {
	const char *name;
	size_t size;
	int32_t type;			/* OperandCode, or 0 */
} types[] = {
	[ONNX_NONE] = { "no tensor type", 0, 0 },
	[ONNX_FLOAT] = { "float", 4, NN(TENSOR_FLOAT32) },
	[ONNX_UINT8] = { "uint8", 1, NN(TENSOR_QUANT8_ASYMM) },
	[ONNX_INT8] = { "int8", 1, NN(TENSOR_QUANT8_ASYMM_SIGNED) },
	[ONNX_UINT16] = { "uint16", 2, 0 },
	[ONNX_INT16] = { "int16", 2, 0 },
	[ONNX_INT32] = { "int32", 4, NN(TENSOR_INT32) },
	[ONNX_INT64] = { "int64", 8, NN(TENSOR_INT32) },
	[ONNX_STRING] = { "string", 0, 0 },
	[ONNX_BOOL] = { "bool", 1, NN(TENSOR_BOOL8) },
	[ONNX_FLOAT16] = { "float16", 2, NN(TENSOR_FLOAT16) },
	[ONNX_DOUBLE] = { "double", 8, 0 },
	[ONNX_UINT32] = { "uint32", 4, 0 },
	[ONNX_UINT64] = { "uint64", 8, 0 },
};

static bool type_known(int type)
{
	return type >= 0 && (size_t)type < sizeof(types) / sizeof(types[0]);
}

size_t onnx_size(int type)
{
	return type_known(type) ? types[type].size : 0;
}

int32_t nnapi_type(int type)
{
	return type_known(type) && types[type].type ? types[type].type : -1;
}

bool onnx_set_number(int type, void *data, int64_t at, int64_t number)
{
	if (type == ONNX_FLOAT)
		((float *)data)[at] = (float)number;
	else if (type == ONNX_INT64)
		((int64_t *)data)[at] = number;
	else if (type == ONNX_BOOL)
		((uint8_t *)data)[at] = (uint8_t)number;
	else
		((int32_t *)data)[at] = (int32_t)number;
	return type != ONNX_INT32 || number == (int32_t)number;
}

const char *onnx_name(int type)
{
	return type_known(type) ? types[type].name : "an unknown type";
}
