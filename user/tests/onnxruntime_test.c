// SPDX-License-Identifier: MIT
/*
 * The execution provider for ONNX Runtime on an ONNX Runtime that is played here: devices, options,
 * which nodes it takes, what they compute, what it refuses. Debian's own runs it in
 * user/tests/clients/onnxruntime.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clients/onnxruntime/ort.h"

OrtStatus *CreateEpFactories(const char *name, const struct ort_api_base *base,
			     const OrtLogger *logger, OrtEpFactory **factories, size_t max,
			     size_t *count);
OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);

/* ---- what is played ---- */

enum { TABLE = 400, MAX = 8 };

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
};

struct OrtGraph {
	const OrtNode *nodes[MAX];
	const OrtValueInfo *in[MAX], *out[MAX];
	size_t node_count, in_count, out_count;
};

struct OrtKeyValuePairs {
	const char *keys[MAX], *values[MAX];
	size_t count;
};

struct OrtKernelContext {
	const OrtValue *in[MAX];
	OrtValue out[MAX];
};

struct OrtEpDevice {
	char device[64];
};

struct OrtEpGraphSupportInfo {
	const OrtNode *nodes[MAX][MAX];
	size_t counts[MAX], count;
};

static struct OrtStatus *last;

static OrtStatus *create_status(OrtErrorCode code, const char *text)
{
	OrtStatus *status = malloc(sizeof(*status));

	(void)code;
	snprintf(status->text, sizeof(status->text), "%s", text);
	return status;
}

static void release_status(OrtStatus *status)
{
	free(status);
}

static OrtStatus *cast_type(const OrtTypeInfo *type, const OrtTensorTypeAndShapeInfo **info)
{
	*info = (const OrtTensorTypeAndShapeInfo *)type;
	return NULL;
}

static OrtStatus *element_type(const OrtTensorTypeAndShapeInfo *info,
			       ONNXTensorElementDataType *type)
{
	*type = (ONNXTensorElementDataType)info->type;
	return NULL;
}

static OrtStatus *rank_of(const OrtTensorTypeAndShapeInfo *info, size_t *rank)
{
	*rank = info->rank;
	return NULL;
}

static OrtStatus *dims_of(const OrtTensorTypeAndShapeInfo *info, int64_t *dims, size_t count)
{
	memcpy(dims, info->dims, count * sizeof(*dims));
	return NULL;
}

static OrtStatus *symbols_of(const OrtTensorTypeAndShapeInfo *info, const char *names[],
			     size_t count)
{
	for (size_t i = 0; i < count; i++)
		names[i] = info->dims[i] < 0 ? "N" : "";
	return NULL;
}

static OrtStatus *type_and_shape(const OrtValue *value, OrtTensorTypeAndShapeInfo **info)
{
	*info = malloc(sizeof(**info));
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
	return NULL;
}

static OrtStatus *size_of(const OrtValue *value, size_t *size)
{
	*size = value->size;
	return NULL;
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
	out->data = calloc(1, out->size);
	*value = out;
	return NULL;
}

static OrtStatus *value_name(const OrtValueInfo *value, const char **name)
{
	*name = value->name;
	return NULL;
}

static OrtStatus *value_type(const OrtValueInfo *value, const OrtTypeInfo **type)
{
	*type = (const OrtTypeInfo *)&value->info;
	return NULL;
}

static OrtStatus *is_constant(const OrtValueInfo *value, bool *is)
{
	*is = value->constant;
	return NULL;
}

static OrtStatus *constant_of(const OrtValueInfo *value, const OrtValue **constant)
{
	*constant = value->constant;
	return NULL;
}

static OrtStatus *is_output(const OrtValueInfo *value, bool *is)
{
	*is = value->is_output;
	return NULL;
}

static OrtStatus *is_outer(const OrtValueInfo *value, bool *is)
{
	(void)value;
	*is = false;
	return NULL;
}

#define LIST(name, object, field, of) \
	static OrtStatus *name##_count(const object *o, size_t *count) \
	{ \
		*count = o->field##_count; \
		return NULL; \
	} \
	static OrtStatus *name##_list(const object *o, const of **list, size_t count) \
	{ \
		memcpy(list, o->of_##field, count * sizeof(*list)); \
		return NULL; \
	}
#define of_in in
#define of_out out
#define of_node nodes
#define of_attribute attributes
LIST(graph_in, OrtGraph, in, OrtValueInfo)
LIST(graph_out, OrtGraph, out, OrtValueInfo)
LIST(graph_node, OrtGraph, node, OrtNode)
LIST(node_in, OrtNode, in, OrtValueInfo)
LIST(node_out, OrtNode, out, OrtValueInfo)
LIST(node_attribute, OrtNode, attribute, OrtOpAttr)

static OrtStatus *parent(const OrtGraph *graph, const OrtNode **node)
{
	(void)graph;
	*node = NULL;
	return NULL;
}

static OrtStatus *node_name(const OrtNode *node, const char **name)
{
	*name = node->op;
	return NULL;
}

static OrtStatus *node_domain(const OrtNode *node, const char **domain)
{
	(void)node;
	*domain = "";
	return NULL;
}

static OrtStatus *node_version(const OrtNode *node, int *version)
{
	*version = node->version;
	return NULL;
}

static OrtStatus *none(const OrtNode *node, size_t *count)
{
	(void)node;
	*count = 0;
	return NULL;
}

static OrtStatus *attribute_name(const OrtOpAttr *attribute, const char **name)
{
	*name = attribute->name;
	return NULL;
}

static OrtStatus *attribute_type(const OrtOpAttr *attribute, OrtOpAttrType *type)
{
	*type = attribute->type;
	return NULL;
}

static OrtStatus *read_attribute(const OrtOpAttr *attribute, OrtOpAttrType type, void *data,
				 size_t size, size_t *needed)
{
	(void)type;
	*needed = attribute->size;
	if (size < attribute->size)
		return create_status(1, "too small");
	memcpy(data, attribute->data, attribute->size);
	return NULL;
}

static void create_pairs(OrtKeyValuePairs **pairs)
{
	*pairs = calloc(1, sizeof(**pairs));
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

static OrtHardwareDeviceType hardware_type(const OrtHardwareDevice *device)
{
	(void)device;
	return ORT_HARDWARE_CPU;
}

/* Session options are the pairs themselves. */
static OrtStatus *entries_of(const OrtSessionOptions *options, OrtKeyValuePairs **entries)
{
	*entries = malloc(sizeof(**entries));
	**entries = *(const OrtKeyValuePairs *)options;
	return NULL;
}

static OrtStatus *create_device(OrtEpFactory *factory, const OrtHardwareDevice *hardware,
				const OrtKeyValuePairs *metadata, const OrtKeyValuePairs *options,
				OrtEpDevice **device)
{
	(void)factory;
	(void)hardware;
	(void)options;
	*device = calloc(1, sizeof(**device));
	snprintf((*device)->device, sizeof((*device)->device), "%s",
		 get_value(metadata, "device"));
	return NULL;
}

static OrtStatus *add_nodes(OrtEpGraphSupportInfo *info, const OrtNode *const *nodes, size_t count,
			    const OrtNodeFusionOptions *options)
{
	(void)options;
	assert_true(info->count < MAX && count <= MAX);
	memcpy(info->nodes[info->count], nodes, count * sizeof(*nodes));
	info->counts[info->count++] = count;
	return NULL;
}

static void not_played(void)
{
	fail_msg("a call that is not played");
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
	table[AT_Node_GetName] = (void *)node_name;
	table[AT_Node_GetOperatorType] = (void *)node_name;
	table[AT_Node_GetDomain] = (void *)node_domain;
	table[AT_Node_GetSinceVersion] = (void *)node_version;
	table[AT_Node_GetNumInputs] = (void *)node_in_count;
	table[AT_Node_GetInputs] = (void *)node_in_list;
	table[AT_Node_GetNumOutputs] = (void *)node_out_count;
	table[AT_Node_GetOutputs] = (void *)node_out_list;
	table[AT_Node_GetNumSubgraphs] = (void *)none;
	table[AT_Node_GetNumAttributes] = (void *)node_attribute_count;
	table[AT_Node_GetAttributes] = (void *)node_attribute_list;
	table[AT_OpAttr_GetName] = (void *)attribute_name;
	table[AT_OpAttr_GetType] = (void *)attribute_type;
	table[AT_ReadOpAttr] = (void *)read_attribute;
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

static const char *version_string(void)
{
	return "played";
}

static const struct ort_api_base base = { get_api, version_string };

/* ---- the tests ---- */

static struct ort_ep_factory *load(void)
{
	OrtEpFactory *factory;
	size_t count;

	assert_null(CreateEpFactories("NN", &base, NULL, &factory, 1, &count));
	assert_int_equal(count, 1);
	return (struct ort_ep_factory *)factory;
}

static void unload(struct ort_ep_factory *factory)
{
	assert_null(ReleaseEpFactory((OrtEpFactory *)factory));
}

/* A provider with options; NULL: refused, with `last`. */
static struct ort_ep *provider(struct ort_ep_factory *factory, const char *key, const char *value)
{
	struct OrtKeyValuePairs metadata = { { "device" }, { "nnapi-reference" }, 1 };
	struct OrtKeyValuePairs session = { { "session.other", key }, { "1", value }, key ? 2 : 1 };
	const OrtKeyValuePairs *list = &metadata;
	OrtEp *ep = NULL;

	release_status(last);
	last = factory->CreateEp((OrtEpFactory *)factory, NULL, &list, 1,
				 (const OrtSessionOptions *)&session, NULL, &ep);
	return last ? NULL : (struct ort_ep *)ep;
}

static void release(struct ort_ep_factory *factory, struct ort_ep *ep)
{
	factory->ReleaseEp((OrtEpFactory *)factory, (OrtEp *)ep);
}

static void test_devices(void **unused)
{
	struct ort_ep_factory *factory = load();
	const OrtHardwareDevice *cpu = (const OrtHardwareDevice *)"cpu";
	OrtEpDevice *devices[MAX];
	size_t count;

	(void)unused;
	assert_string_equal(factory->GetName((OrtEpFactory *)factory), "NN");
	assert_null(factory->GetSupportedDevices((OrtEpFactory *)factory, &cpu, 1, devices, MAX,
						 &count));
	assert_true(count >= 1);
	assert_string_equal(devices[count - 1]->device, "nnapi-reference");
	for (size_t i = 0; i < count; i++)
		free(devices[i]);
	assert_null(factory->GetSupportedDevices((OrtEpFactory *)factory, NULL, 0, devices, MAX,
						 &count));
	assert_int_equal(count, 0);
	unload(factory);
}

static const void *no_api(uint32_t version)
{
	(void)version;
	return NULL;
}

static void test_older_runtime(void **unused)
{
	static const struct ort_api_base older = { no_api, version_string };
	OrtEpFactory *factory;
	size_t count = 7;

	(void)unused;
	assert_null(CreateEpFactories("NN", &older, NULL, &factory, 1, &count));
	assert_int_equal(count, 0);
}

static void test_options(void **unused)
{
	static const struct {
		const char *key, *value, *message;
	} cases[] = {
		{ "ep.nn.burst", "0", NULL },
		{ "ep.nn.verbosity", "0", NULL },
		{ "ep.other.speed", "9", NULL },
		{ "ep.nn.device", "nnapi-reference", NULL },
		{ "ep.nn.preference", "low_power", NULL },
		{ "ep.nn.speed", "9", "no option \"speed\"" },
		{ "ep.nn.burst", "maybe", "option burst" },
		{ "ep.nn.priority", "highest", "option priority" },
		{ "ep.nn.max_shapes", "-1", "option max_shapes" },
		{ "ep.nn.max_shapes", "0", "option max_shapes" },
		{ "ep.nn.min_work", "99999999999", "option min_work" },
		{ "ep.nn.cache_token", "t", "needs cache_dir" },
		{ "ep.nn.device", "tpu", "no device \"tpu\"" },
	};
	struct ort_ep_factory *factory = load();

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ort_ep *ep = provider(factory, cases[i].key, cases[i].value);

		assert_int_equal(!ep, cases[i].message != NULL);
		if (ep)
			release(factory, ep);
		else
			assert_non_null(strstr(last->text, cases[i].message));
	}
	unload(factory);
}

/* y = relu(x w), x [N, 2], and z = tan(y), which the NNAPI has not; w is constant. */
static float weights[] = { 1, -1, 2, 3, 0, -4 };
static const struct OrtValue w_value = { { ONNX_FLOAT, 2, { 2, 3 } }, weights, sizeof(weights) };
static struct OrtValueInfo x = { "x", { ONNX_FLOAT, 2, { -1, 2 } }, NULL, false };
static const struct OrtValueInfo w = { "w", { ONNX_FLOAT, 2, { 2, 3 } }, &w_value, false };
static const struct OrtValueInfo m = { "m", { ONNX_FLOAT, 2, { -1, 3 } }, NULL, false };
static const struct OrtValueInfo y = { "y", { ONNX_FLOAT, 2, { -1, 3 } }, NULL, true };
static const struct OrtValueInfo z = { "z", { ONNX_FLOAT, 2, { -1, 3 } }, NULL, true };
static const struct OrtNode matmul = { .op = "MatMul", .version = 13, .in = { &x, &w },
				       .out = { &m }, .in_count = 2, .out_count = 1 };
static const struct OrtNode relu = { .op = "Relu", .version = 14, .in = { &m }, .out = { &y },
				     .in_count = 1, .out_count = 1 };
static const struct OrtNode tangent = { .op = "Tan", .version = 7, .in = { &y }, .out = { &z },
					.in_count = 1, .out_count = 1 };
static const struct OrtGraph part = { { &matmul, &relu }, { &x }, { &y }, 2, 1, 1 };
static const struct OrtNode fused = { .op = "fused", .in = { &x }, .out = { &y }, .in_count = 1,
				      .out_count = 1 };

static void test_capability(void **unused)
{
	static const struct OrtGraph whole = { { &matmul, &relu, &tangent }, { &x }, { &z },
					       3, 1, 1 };
	struct ort_ep_factory *factory = load();
	struct OrtEpGraphSupportInfo info;
	struct ort_ep *ep;

	(void)unused;
	/* Worth nothing, unless that is asked for; a graph that is one part always is. */
	for (int i = 0; i < 3; i++) {
		ep = provider(factory, i == 1 ? "ep.nn.min_work" : NULL, "0");
		memset(&info, 0, sizeof(info));
		assert_null(ep->GetCapability((OrtEp *)ep, i == 2 ? &part : &whole, &info));
		assert_int_equal(info.count, i != 0);
		assert_int_equal(info.counts[0], i ? 2 : 0);
		release(factory, ep);
	}
	unload(factory);
}

static void run(struct ort_node_compute_info *info, const struct OrtValue *value,
		struct OrtKernelContext *context)
{
	void *state;

	context->in[0] = value;
	assert_null(info->CreateState((OrtNodeComputeInfo *)info, NULL, &state));
	release_status(last);
	last = info->Compute((OrtNodeComputeInfo *)info, state, context);
	info->ReleaseState((OrtNodeComputeInfo *)info, state);
}

static void test_runs(void **unused)
{
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, "ep.nn.max_shapes", "1");
	const struct OrtGraph *graphs[] = { &part };
	const struct OrtNode *nodes[] = { &fused };
	struct OrtKernelContext context = { .in = { NULL } };
	float data[] = { 1, 2, 3, 4 }, expected[] = { 7, 0, 0, 15, 0, 0 };
	struct OrtValue value = { { ONNX_FLOAT, 2, { 2, 2 } }, data, sizeof(data) };
	OrtNodeComputeInfo *infos[1];
	OrtNode *none_made[1];

	(void)unused;
	assert_null(ep->Compile((OrtEp *)ep, graphs, nodes, 1, infos, none_made));
	for (int rows = 2; rows > 0; rows--) {
		value.info.dims[0] = rows;
		run((struct ort_node_compute_info *)infos[0], &value, &context);
		assert_null(last);
		assert_int_equal(context.out[0].info.dims[0], rows);
		expected[0] = 7;
		expected[1] = 0;
		expected[2] = 0;
		/* [1 2] by [[1 -1 2] [3 0 -4]] is [7 -1 -6]. */
		assert_memory_equal(context.out[0].data, expected,
				    (size_t)rows * 3 * sizeof(float));
	}
	/* What is not as the model says is refused, and the next run is good. */
	value.info.type = ONNX_DOUBLE;
	run((struct ort_node_compute_info *)infos[0], &value, &context);
	assert_non_null(strstr(last->text, "input 0"));
	value.info.type = ONNX_FLOAT;
	value.info.dims[1] = 3;
	run((struct ort_node_compute_info *)infos[0], &value, &context);
	assert_non_null(strstr(last->text, "MatMul"));
	value.info.dims[0] = (int64_t)1 << 40;
	value.info.dims[1] = 2;
	run((struct ort_node_compute_info *)infos[0], &value, &context);
	assert_non_null(last);
	value.info.dims[0] = 0;
	run((struct ort_node_compute_info *)infos[0], &value, &context);
	assert_non_null(last);
	value.info.dims[0] = 1;
	run((struct ort_node_compute_info *)infos[0], &value, &context);
	assert_null(last);
	free(context.out[0].data);
	ep->ReleaseNodeComputeInfos((OrtEp *)ep, infos, 1);
	release(factory, ep);
	unload(factory);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_older_runtime),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_capability),
		cmocka_unit_test(test_runs),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	release_status(last);
	return failed;
}
