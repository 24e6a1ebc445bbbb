/* SPDX-License-Identifier: MIT */
/*
 * Imitates ONNX Runtime for onnxruntime_test.c and for the fuzzer of the execution provider. The
 * functions in the imitated API tables work on graphs that are plain C structures.
 */
#ifndef NN_TESTS_ONNXRUNTIME_PLAY_H
#define NN_TESTS_ONNXRUNTIME_PLAY_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/onnxruntime/ort.h"

OrtStatus *CreateEpFactories(const char *name, const struct ort_api_base *base,
			     const OrtLogger *logger, OrtEpFactory **factories, size_t max,
			     size_t *count);
OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);

/*
 * This header allocates with PLAY_CALLOC, so that tests can make only allocations outside of the
 * header fail.
 */
#ifndef PLAY_CALLOC
#define PLAY_CALLOC calloc
#endif

enum { TABLE = 400, MAX = 36 };

struct OrtStatus {
	char text[512];
};

struct OrtTensorTypeAndShapeInfo {
	int type;
	size_t rank;
	int64_t dims[MAX];
};

struct OrtValue {
	struct OrtTensorTypeAndShapeInfo info;
	void *data;
	size_t size;
};

struct OrtValueInfo {
	const char *name;
	struct OrtTensorTypeAndShapeInfo info;
	const struct OrtValue *constant;
	bool is_output;
};

struct OrtOpAttr {
	const char *name;
	OrtOpAttrType type;
	const void *data;
	size_t size;
};

struct OrtNode {
	const char *op;
	int version;
	const OrtValueInfo *in[MAX], *out[MAX];
	size_t in_count, out_count, attribute_count;
	const OrtOpAttr *attributes[MAX];
	/*
	 * If every_in is not NULL, each input of the node is this value; otherwise `in` has the
	 * inputs.
	 */
	const OrtValueInfo *every_in;
	/* values that graphs inside of the node use; a node without such values has no graph */
	const OrtValueInfo *implicit[MAX];
	size_t implicit_count;
};

struct OrtGraph {
	const OrtNode *nodes[MAX];
	const OrtValueInfo *in[MAX], *out[MAX];
	size_t node_count, in_count, out_count;
};

/*
 * The graph inside of a node; the inner graph's name differs from the main graph's name. May be
 * NULL.
 */
static const OrtGraph *inner_graph;
static const OrtValueInfo *outer_value;	/* value that an inner graph uses of an outer graph; may be NULL */

struct OrtKeyValuePairs {
	const char *keys[MAX], *values[MAX];
	size_t count;
};

struct OrtKernelContext {
	const OrtValue *in[MAX];
	OrtValue out[MAX];
};

struct OrtEpDevice {
	const OrtHardwareDevice *hardware;
	char device[64], type[16];
};

struct OrtEpGraphSupportInfo {
	const OrtNode *nodes[MAX][MAX];
	size_t counts[MAX], count;
};

static OrtStatus *create_status(OrtErrorCode code, const char *text)
{
	OrtStatus *status = PLAY_CALLOC(1, sizeof(*status));

	(void)code;
	snprintf(status->text, sizeof(status->text), "%s", text);
	return status;
}

static void release_status(OrtStatus *status)
{
	free(status);
}

/* If play_countdown is n > 0, the n-th of the next calls that read a graph fails. */
static unsigned int play_countdown;

static OrtStatus *result_of_read(void)
{
	return play_countdown && !--play_countdown ? create_status(1, "played") : NULL;
}

static OrtStatus *cast_type(const OrtTypeInfo *type, const OrtTensorTypeAndShapeInfo **info)
{
	*info = (const OrtTensorTypeAndShapeInfo *)type;
	return result_of_read();
}

static OrtStatus *element_type(const OrtTensorTypeAndShapeInfo *info,
			       ONNXTensorElementDataType *type)
{
	*type = (ONNXTensorElementDataType)info->type;
	return result_of_read();
}

static OrtStatus *rank_of(const OrtTensorTypeAndShapeInfo *info, size_t *rank)
{
	*rank = info->rank;
	return result_of_read();
}

static OrtStatus *dims_of(const OrtTensorTypeAndShapeInfo *info, int64_t *dims, size_t count)
{
	for (size_t i = 0; i < count; i++)
		dims[i] = info->dims[i] < -1 ? -1 : info->dims[i];
	return result_of_read();
}

/* Dimensions of -1 are named N, dimensions of -2 M, and other negative dimensions have no names. */
static OrtStatus *symbols_of(const OrtTensorTypeAndShapeInfo *info, const char *names[],
			     size_t count)
{
	for (size_t i = 0; i < count; i++)
		names[i] = info->dims[i] == -1 ? "N" : info->dims[i] == -2 ? "M" : "";
	return result_of_read();
}

static OrtStatus *type_and_shape(const OrtValue *value, OrtTensorTypeAndShapeInfo **info)
{
	OrtStatus *status = result_of_read();

	if (status)
		return status;
	*info = PLAY_CALLOC(1, sizeof(**info));
	**info = value->info;
	return NULL;
}

static void release_info(OrtTensorTypeAndShapeInfo *info)
{
	free(info);
}

static OrtStatus *data_of(OrtValue *value, void **data)
{
	*data = value->data;
	return result_of_read();
}

static OrtStatus *size_of(const OrtValue *value, size_t *size)
{
	*size = value->size;
	return result_of_read();
}

static OrtStatus *context_input(const OrtKernelContext *context, size_t index,
				const OrtValue **value)
{
	*value = context->in[index];
	return NULL;
}

static OrtStatus *context_output(OrtKernelContext *context, size_t index, const int64_t *dims,
				 size_t count, OrtValue **value)
{
	OrtValue *out = &context->out[index];

	out->info.rank = count;
	out->size = sizeof(int64_t);
	memcpy(out->info.dims, dims, count * sizeof(*dims));
	for (size_t i = 0; i < count; i++)
		out->size *= (size_t)dims[i];
	free(out->data);
	out->data = PLAY_CALLOC(1, out->size);
	*value = out;
	return out->data ? NULL : create_status(1, "no memory");
}

static OrtStatus *value_name(const OrtValueInfo *value, const char **name)
{
	*name = value->name;
	return result_of_read();
}

static OrtStatus *value_type(const OrtValueInfo *value, const OrtTypeInfo **type)
{
	*type = (const OrtTypeInfo *)&value->info;
	return result_of_read();
}

static OrtStatus *is_constant(const OrtValueInfo *value, bool *is)
{
	*is = value->constant;
	return result_of_read();
}

static OrtStatus *constant_of(const OrtValueInfo *value, const OrtValue **constant)
{
	*constant = value->constant;
	return result_of_read();
}

static OrtStatus *is_output(const OrtValueInfo *value, bool *is)
{
	*is = value->is_output;
	return result_of_read();
}

static OrtStatus *is_outer(const OrtValueInfo *value, bool *is)
{
	*is = value == outer_value;
	return result_of_read();
}

#define LIST(name, object, field, of) \
	static OrtStatus *name##_count(const object *o, size_t *count) \
	{ \
		*count = o->field##_count; \
		return result_of_read(); \
	} \
	static OrtStatus *name##_list(const object *o, const of **list, size_t count) \
	{ \
		memcpy(list, o->of_##field, count * sizeof(*list)); \
		return result_of_read(); \
	}
#define of_in in
#define of_out out
#define of_node nodes
#define of_attribute attributes
#define of_implicit implicit
LIST(graph_in, OrtGraph, in, OrtValueInfo)
LIST(graph_out, OrtGraph, out, OrtValueInfo)
LIST(graph_node, OrtGraph, node, OrtNode)
LIST(node_out, OrtNode, out, OrtValueInfo)
LIST(node_attribute, OrtNode, attribute, OrtOpAttr)
LIST(node_implicit, OrtNode, implicit, OrtValueInfo)

static OrtStatus *node_in_count(const OrtNode *node, size_t *count)
{
	*count = node->in_count;
	return result_of_read();
}

static OrtStatus *node_in_list(const OrtNode *node, const OrtValueInfo **list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		list[i] = node->every_in ? node->every_in : node->in[i];
	return result_of_read();
}

static OrtStatus *graph_name(const OrtGraph *graph, const char **name)
{
	*name = graph == inner_graph ? "body" : "main";
	return result_of_read();
}

static OrtStatus *default_allocator(OrtAllocator **allocator)
{
	*allocator = NULL;
	return NULL;
}

static OrtStatus *allocator_free(OrtAllocator *allocator, void *memory)
{
	(void)allocator;
	free(memory);
	return NULL;
}

static OrtStatus *model_metadata(const OrtGraph *graph, OrtModelMetadata **metadata)
{
	(void)graph;
	*metadata = NULL;
	return result_of_read();
}

static OrtStatus *main_name(const OrtModelMetadata *metadata, OrtAllocator *allocator, char **name)
{
	(void)metadata;
	(void)allocator;
	*name = PLAY_CALLOC(1, sizeof("main"));
	memcpy(*name, "main", sizeof("main"));
	return NULL;
}

static void release_metadata(OrtModelMetadata *metadata)
{
	(void)metadata;
}

static OrtStatus *parent(const OrtGraph *graph, const OrtNode **node)
{
	(void)graph;
	*node = NULL;
	return result_of_read();
}

/*
 * An operator "microsoft:NAME" belongs to ONNX Runtime's own domain, an operator "other:NAME" to an
 * unknown domain.
 */
static OrtStatus *node_name(const OrtNode *node, const char **name)
{
	const char *colon = strchr(node->op, ':');

	*name = colon ? colon + 1 : node->op;
	return result_of_read();
}

static OrtStatus *node_domain(const OrtNode *node, const char **domain)
{
	*domain = !strchr(node->op, ':') ? "" : *node->op == 'm' ? "com.microsoft" : "other";
	return result_of_read();
}

static OrtStatus *node_version(const OrtNode *node, int *version)
{
	*version = node->version;
	return result_of_read();
}

static OrtStatus *graph_count(const OrtNode *node, size_t *count)
{
	*count = node->implicit_count != 0;
	return result_of_read();
}

static OrtStatus *attribute_name(const OrtOpAttr *attribute, const char **name)
{
	*name = attribute->name;
	return result_of_read();
}

static OrtStatus *attribute_type(const OrtOpAttr *attribute, OrtOpAttrType *type)
{
	*type = attribute->type;
	return result_of_read();
}

static OrtStatus *read_attribute(const OrtOpAttr *attribute, OrtOpAttrType type, void *data,
				 size_t size, size_t *needed)
{
	(void)type;
	*needed = attribute->size;
	if (size < attribute->size)
		return create_status(1, "too small");
	memcpy(data, attribute->data, attribute->size);
	return result_of_read();
}

/* If an attribute is a tensor, the attribute's `data` points to an OrtValue. */
static OrtStatus *tensor_of(const OrtOpAttr *attribute, OrtValue **value)
{
	*value = (OrtValue *)attribute->data;
	return result_of_read();
}

static void release_value(OrtValue *value)
{
	(void)value;
}

static void create_pairs(OrtKeyValuePairs **pairs)
{
	*pairs = PLAY_CALLOC(1, sizeof(**pairs));
}

static void add_pair(OrtKeyValuePairs *pairs, const char *key, const char *value)
{
	pairs->keys[pairs->count] = key;
	pairs->values[pairs->count++] = value;
}

static const char *get_value(const OrtKeyValuePairs *pairs, const char *key)
{
	for (size_t i = 0; i < pairs->count; i++)
		if (!strcmp(pairs->keys[i], key))
			return pairs->values[i];
	return NULL;
}

static void get_pairs(const OrtKeyValuePairs *pairs, const char *const **keys,
		      const char *const **values, size_t *count)
{
	*keys = pairs->keys;
	*values = pairs->values;
	*count = pairs->count;
}

static void release_pairs(OrtKeyValuePairs *pairs)
{
	free(pairs);
}

/* The imitated OrtHardwareDevice is a string: the name of the device's type. */
static OrtHardwareDeviceType hardware_type(const OrtHardwareDevice *device)
{
	return !strcmp((const char *)device, "npu") ? ORT_HARDWARE_NPU : ORT_HARDWARE_CPU;
}

/* The imitated OrtSessionOptions is an OrtKeyValuePairs: names and values of the options. */
static OrtStatus *entries_of(const OrtSessionOptions *options, OrtKeyValuePairs **entries)
{
	*entries = PLAY_CALLOC(1, sizeof(**entries));
	**entries = *(const OrtKeyValuePairs *)options;
	return NULL;
}

static OrtStatus *create_device(OrtEpFactory *factory, const OrtHardwareDevice *hardware,
				const OrtKeyValuePairs *metadata, const OrtKeyValuePairs *options,
				OrtEpDevice **device)
{
	(void)factory;
	(void)options;
	*device = PLAY_CALLOC(1, sizeof(**device));
	(*device)->hardware = hardware;
	snprintf((*device)->device, sizeof((*device)->device), "%s",
		 get_value(metadata, "device"));
	snprintf((*device)->type, sizeof((*device)->type), "%s", get_value(metadata, "device_type"));
	return NULL;
}

static OrtStatus *add_nodes(OrtEpGraphSupportInfo *info, const OrtNode *const *nodes, size_t count,
			    const OrtNodeFusionOptions *options)
{
	(void)options;
	if (info->count >= MAX || count > MAX)
		return create_status(1, "too many parts or nodes");
	memcpy(info->nodes[info->count], nodes, count * sizeof(*nodes));
	info->counts[info->count++] = count;
	return NULL;
}

/*
 * The imitated session, which runs a part that cannot be translated for a run. By default no session
 * can be made. `played_session` makes the outputs from the inputs and returns its status.
 */
static OrtStatus *(*played_session)(const OrtValue *const *in, OrtValue *out);
static unsigned int played_sessions;	/* number of sessions, their environments and options that exist */
static unsigned int played_tries;	/* number of sessions that were made, or could not be made */
static void (*while_in_making)(void);	/* called while a session is made */
static char played_settings[128];	/* of the last session */
static char played_ports[256];		/* names of the inputs and outputs of the last run */
static uint8_t played_model[4096];	/* model of the last session */
static size_t played_size;

static OrtStatus *create_env(OrtLoggingLevel level, const char *name, OrtEnv **env)
{
	played_tries++;
	if (!played_session)
		return create_status(1, "no session is played");
	snprintf(played_settings, sizeof(played_settings), "%s: level %u", name, level);
	*env = (OrtEnv *)played_model;
	played_sessions++;
	return NULL;
}

static OrtStatus *create_options(OrtSessionOptions **options)
{
	*options = (OrtSessionOptions *)played_model;
	played_sessions++;
	return NULL;
}

static void release_one(void *object)
{
	(void)object;
	played_sessions--;
}

static void tell(const char *what, int number)
{
	const size_t used = strlen(played_settings);

	snprintf(played_settings + used, sizeof(played_settings) - used, ", %s %d", what, number);
}

static OrtStatus *set_severity(OrtSessionOptions *options, int level)
{
	(void)options;
	tell("severity", level);
	return NULL;
}

static OrtStatus *set_optimisation(OrtSessionOptions *options, GraphOptimizationLevel level)
{
	(void)options;
	tell("optimisation", (int)level);
	return NULL;
}

static OrtStatus *set_threads(OrtSessionOptions *options, int count)
{
	(void)options;
	tell("threads", count);
	return NULL;
}

static OrtStatus *create_session(const OrtEnv *env, const void *data, size_t size,
				 const OrtSessionOptions *options, OrtSession **session)
{
	(void)env;
	(void)options;
	played_size = size < sizeof(played_model) ? size : sizeof(played_model);
	memcpy(played_model, data, played_size);
	*session = (OrtSession *)played_model;
	played_sessions++;
	while_in_making();
	return NULL;
}

static OrtStatus *run_session(OrtSession *session, const OrtRunOptions *options, const char *const *in_names,
			      const OrtValue *const *in, size_t in_count, const char *const *out_names,
			      size_t out_count, OrtValue **out)
{
	static OrtValue made[MAX];

	(void)session;
	(void)options;
	played_ports[0] = '\0';
	for (size_t i = 0; i < in_count + out_count; i++)
		snprintf(played_ports + strlen(played_ports), sizeof(played_ports) - strlen(played_ports), "%.9s%s",
			 i < in_count ? in_names[i] : out_names[i - in_count], i + 1 == in_count ? " > " : " ");
	for (size_t i = 0; i < out_count; i++)
		out[i] = &made[i];
	return played_session(in, made);
}

static OrtStatus *domain_count(const OrtGraph *graph, size_t *count)
{
	(void)graph;
	*count = 2;
	return result_of_read();
}

static OrtStatus *domain_list(const OrtGraph *graph, const char **domains, int64_t *versions, size_t count)
{
	(void)graph;
	(void)count;
	domains[0] = "";
	domains[1] = "com.microsoft";
	versions[0] = 17;
	versions[1] = 1;
	return result_of_read();
}

static void not_played(void)
{
	fprintf(stderr, "a call that is not played\n");
	abort();
}

static const void *get_ep_api(void)
{
	static void *table[8];

	for (int i = 0; i < 8; i++)
		table[i] = (void *)not_played;
	table[0] = (void *)create_device;
	table[2] = (void *)add_nodes;
	return table;
}

enum {
#define CALL(index, result, name, parameters) AT_##name = index,
#define EP_CALL(index, result, name, parameters)
#include "clients/onnxruntime/ort_calls.def"
#undef CALL
#undef EP_CALL
};

static const void *get_api(uint32_t version)
{
	static void *table[TABLE];

	if (version != ORT_VERSION)
		return NULL;
	for (int i = 0; i < TABLE; i++)
		table[i] = (void *)not_played;
	table[AT_CreateEnv] = (void *)create_env;
	table[AT_CreateSessionOptions] = (void *)create_options;
	table[AT_SetSessionLogSeverityLevel] = (void *)set_severity;
	table[AT_SetSessionGraphOptimizationLevel] = (void *)set_optimisation;
	table[AT_SetIntraOpNumThreads] = (void *)set_threads;
	table[AT_CreateSessionFromArray] = (void *)create_session;
	table[AT_Run] = (void *)run_session;
	table[AT_ReleaseSession] = (void *)release_one;
	table[AT_ReleaseSessionOptions] = (void *)release_one;
	table[AT_ReleaseEnv] = (void *)release_one;
	table[AT_Graph_GetNumOperatorSets] = (void *)domain_count;
	table[AT_Graph_GetOperatorSets] = (void *)domain_list;
	table[AT_CreateStatus] = (void *)create_status;
	table[AT_ReleaseStatus] = (void *)release_status;
	table[AT_CastTypeInfoToTensorInfo] = (void *)cast_type;
	table[AT_GetTensorElementType] = (void *)element_type;
	table[AT_GetDimensionsCount] = (void *)rank_of;
	table[AT_GetDimensions] = (void *)dims_of;
	table[AT_GetSymbolicDimensions] = (void *)symbols_of;
	table[AT_GetTensorTypeAndShape] = (void *)type_and_shape;
	table[AT_ReleaseTensorTypeAndShapeInfo] = (void *)release_info;
	table[AT_GetTensorMutableData] = (void *)data_of;
	table[AT_GetTensorSizeInBytes] = (void *)size_of;
	table[AT_KernelContext_GetInput] = (void *)context_input;
	table[AT_KernelContext_GetOutput] = (void *)context_output;
	table[AT_GetValueInfoName] = (void *)value_name;
	table[AT_GetValueInfoTypeInfo] = (void *)value_type;
	table[AT_ValueInfo_IsConstantInitializer] = (void *)is_constant;
	table[AT_ValueInfo_GetInitializerValue] = (void *)constant_of;
	table[AT_ValueInfo_IsGraphOutput] = (void *)is_output;
	table[AT_ValueInfo_IsFromOuterScope] = (void *)is_outer;
	table[AT_Graph_GetNumInputs] = (void *)graph_in_count;
	table[AT_Graph_GetInputs] = (void *)graph_in_list;
	table[AT_Graph_GetNumOutputs] = (void *)graph_out_count;
	table[AT_Graph_GetOutputs] = (void *)graph_out_list;
	table[AT_Graph_GetNumNodes] = (void *)graph_node_count;
	table[AT_Graph_GetNodes] = (void *)graph_node_list;
	table[AT_Graph_GetParentNode] = (void *)parent;
	table[AT_Graph_GetName] = (void *)graph_name;
	table[AT_Graph_GetModelMetadata] = (void *)model_metadata;
	table[AT_ModelMetadataGetGraphName] = (void *)main_name;
	table[AT_ReleaseModelMetadata] = (void *)release_metadata;
	table[AT_GetAllocatorWithDefaultOptions] = (void *)default_allocator;
	table[AT_AllocatorFree] = (void *)allocator_free;
	table[AT_Node_GetName] = (void *)node_name;
	table[AT_Node_GetOperatorType] = (void *)node_name;
	table[AT_Node_GetDomain] = (void *)node_domain;
	table[AT_Node_GetSinceVersion] = (void *)node_version;
	table[AT_Node_GetNumInputs] = (void *)node_in_count;
	table[AT_Node_GetInputs] = (void *)node_in_list;
	table[AT_Node_GetNumOutputs] = (void *)node_out_count;
	table[AT_Node_GetOutputs] = (void *)node_out_list;
	table[AT_Node_GetNumSubgraphs] = (void *)graph_count;
	table[AT_Node_GetNumImplicitInputs] = (void *)node_implicit_count;
	table[AT_Node_GetImplicitInputs] = (void *)node_implicit_list;
	table[AT_Node_GetNumAttributes] = (void *)node_attribute_count;
	table[AT_Node_GetAttributes] = (void *)node_attribute_list;
	table[AT_OpAttr_GetName] = (void *)attribute_name;
	table[AT_OpAttr_GetType] = (void *)attribute_type;
	table[AT_ReadOpAttr] = (void *)read_attribute;
	table[AT_OpAttr_GetTensorAttributeAsOrtValue] = (void *)tensor_of;
	table[AT_ReleaseValue] = (void *)release_value;
	table[AT_CreateKeyValuePairs] = (void *)create_pairs;
	table[AT_AddKeyValuePair] = (void *)add_pair;
	table[AT_GetKeyValue] = (void *)get_value;
	table[AT_GetKeyValuePairs] = (void *)get_pairs;
	table[AT_ReleaseKeyValuePairs] = (void *)release_pairs;
	table[AT_HardwareDevice_Type] = (void *)hardware_type;
	table[AT_GetEpApi] = (void *)get_ep_api;
	table[AT_GetSessionOptionsConfigEntries] = (void *)entries_of;
	return table;
}

static const char *played_version = "1.24.4";

static const char *version_string(void)
{
	return played_version;
}

static const struct ort_api_base base = { get_api, version_string };

#endif /* NN_TESTS_ONNXRUNTIME_PLAY_H */
