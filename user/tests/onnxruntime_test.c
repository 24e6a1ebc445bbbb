// SPDX-License-Identifier: MIT
/*
 * Tests the execution provider for ONNX Runtime: devices, options, the nodes that the provider
 * claims, results of claimed nodes, and rejections. The test program imitates ONNX Runtime. Tests
 * with Debian's ONNX Runtime are in user/tests/clients/onnxruntime.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <android/NeuralNetworks.h>
#include "nnapi_calls.h"
#include "onnxruntime_part.h"
#include "onnxruntime_play.h"
#include "tests/heap_blocks.h"
#include "version.h"

static struct OrtStatus *last;

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

/* Value of the option min_work that provider() sets; NULL if provider() does not set the option. */
static const char *least_work;

/* Makes a provider with options; returns NULL if the options are refused (message in `last`). */
static struct ort_ep *provider(struct ort_ep_factory *factory, const char *key, const char *value)
{
	struct OrtKeyValuePairs metadata = { { "device" }, { "nnapi-reference" }, 1 };
	struct OrtKeyValuePairs session = { { least_work ? "ep.nn.min_work" : "session.other", key },
					    { least_work ?: "1", value }, key ? 2 : 1 };
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
	const OrtHardwareDevice *all[] = {
		(const OrtHardwareDevice *)"npu", (const OrtHardwareDevice *)"cpu",
		(const OrtHardwareDevice *)"cpu, too",
	};
	OrtEpDevice *devices[MAX];
	size_t count;

	(void)unused;
	assert_string_equal(factory->GetName((OrtEpFactory *)factory), "NN");
	assert_string_equal(factory->GetVersion((OrtEpFactory *)factory), NNACCEL_VERSION);
	assert_null(factory->GetSupportedDevices((OrtEpFactory *)factory, all, 3, devices, MAX,
						 &count));
	assert_true(count >= 1);
	assert_string_equal(devices[count - 1]->device, "nnapi-reference");
	assert_string_equal(devices[count - 1]->type, "cpu");
	/* The provider assigns the NNAPI's CPU device to ONNX Runtime's first CPU device. */
	assert_ptr_equal(devices[count - 1]->hardware, all[1]);
	for (size_t i = 0; i < count; i++)
		free(devices[i]);
	assert_null(factory->GetSupportedDevices((OrtEpFactory *)factory, NULL, 0, devices, MAX,
						 &count));
	assert_int_equal(count, 0);
	assert_null(factory->GetSupportedDevices((OrtEpFactory *)factory, all, 3, devices, 0, &count));
	assert_int_equal(count, 0);
	unload(factory);
}

/* Optional functions of the provider return what ONNX Runtime assumes for a missing function. */
static void test_plain_functions(void **unused)
{
	struct ort_ep_factory *f = load();
	OrtEpFactory *factory = (OrtEpFactory *)f, *made = NULL;
	struct ort_ep *ep = provider(f, NULL, NULL);
	void *const poison = f;
	OrtAllocator *allocator = poison;
	OrtDataTransferImpl *transfer = poison;
	OrtSyncStreamImpl *stream = poison;
	unsigned int compatibility = 9;
	size_t count = 1;

	(void)unused;
	assert_int_equal(f->ort_version_supported, ORT_VERSION);
	assert_int_equal(ep->ort_version_supported, ORT_VERSION);
	assert_string_equal(ep->GetName((OrtEp *)ep), "NN");
	assert_string_equal(f->GetVendor(factory), "nnaccel");
	assert_int_equal(f->GetVendorId(factory), 0);
	assert_false(f->IsStreamAware(factory));
	assert_null(f->ValidateCompiledModelCompatibilityInfo(factory, NULL, 0, "", &compatibility));
	assert_int_equal(compatibility, 0);
	assert_null(f->CreateAllocator(factory, NULL, NULL, &allocator));
	assert_null(allocator);
	f->ReleaseAllocator(factory, allocator);
	assert_null(f->CreateDataTransfer(factory, &transfer));
	assert_null(transfer);
	assert_null(f->CreateSyncStreamForDevice(factory, NULL, NULL, &stream));
	assert_null(stream);
	release(f, ep);
	unload(f);
	release_status(last);
	last = CreateEpFactories("NN", &base, NULL, &made, 0, &count);
	assert_non_null(strstr(last->text, "no room for a factory"));
	assert_int_equal(count, 0);
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
		{ "ep.nn.speed", "9", "nnaccel: there is no option \"speed\"; see" },
		{ "ep.nn.burst", "maybe", "option burst" },
		{ "ep.nn.priority", "highest", "option priority" },
		{ "ep.nn.max_shapes", "-1", "option max_shapes" },
		{ "ep.nn.max_shapes", "0", "option max_shapes" },
		{ "ep.nn.min_work", "99999999999", "option min_work" },
		{ "ep.nn.cache_token", "t", "needs cache_dir" },
		{ "ep.nn.device", "tpu", "no device \"tpu\"" },
		{ "ep.nn.disallow_cpu", "1", "option disallow_cpu" },
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

/*
 * The test graph computes y as RELU of the matrix product of x [N, 2] and the constant w, and z as
 * tan(y). The NNAPI has no operation for tan.
 */
static float weights[] = { 1, -1, 2, 3, 0, -4 };
static const struct OrtValue w_value = { { ONNX_FLOAT, 2, { 2, 3 } }, weights, sizeof(weights) };
static struct OrtValueInfo x = { "x", { ONNX_FLOAT, 2, { -1, 2 } }, NULL, false };
static const struct OrtValueInfo w = { "w", { ONNX_FLOAT, 2, { 2, 3 } }, &w_value, false };
static const struct OrtValueInfo m = { "m", { ONNX_FLOAT, 2, { -1, 3 } }, NULL, false };
static const struct OrtValueInfo y = { "y", { ONNX_FLOAT, 2, { -1, 3 } }, NULL, true };
static const struct OrtValueInfo z = { "z", { ONNX_FLOAT, 2, { -1, 3 } }, NULL, true };
static const struct OrtValueInfo flag = { "flag", { ONNX_BOOL, 1, { 1 } }, NULL, false };
static const struct OrtNode matmul = { .op = "MatMul", .version = 13, .in = { &x, &w },
				       .out = { &m }, .in_count = 2, .out_count = 1 };
static const struct OrtNode relu = { .op = "Relu", .version = 14, .in = { &m }, .out = { &y },
				     .in_count = 1, .out_count = 1 };
static const struct OrtNode tangent = { .op = "Tan", .version = 7, .in = { &y }, .out = { &z },
					.in_count = 1, .out_count = 1 };
static const struct OrtGraph part = { { &matmul, &relu }, { &x }, { &y }, 2, 1, 1 };
static const struct OrtNode fused = { .op = "fused", .in = { &x }, .out = { &y }, .in_count = 1,
				      .out_count = 1 };

/* Redirects standard error to a pipe, which must have room for the whole text, until hear_to(). */
static void hear_from(int saved[2]);
static void hear_to(int saved[2], char *text, size_t size);

static void test_capability(void **unused)
{
	static const struct OrtGraph whole = { { &matmul, &relu, &tangent }, { &x }, { &z },
					       3, 1, 1 };
	static const struct {
		const char *key, *value;
		const struct OrtGraph *graph;
		size_t parts;
	} cases[] = {
		{ "ep.nn.verbosity", "1", &whole, 0 }, { "ep.nn.verbosity", "2", &whole, 0 },
		{ "ep.nn.min_work", "0", &whole, 1 }, { "ep.nn.verbosity", "2", &part, 1 },
	};
	struct ort_ep_factory *factory = load();
	char said[1024];
	int saved[2];

	(void)unused;
	/*
	 * The provider leaves a part with too little work to ONNX Runtime, unless the option
	 * min_work is 0. The provider always claims a graph that is a single part. With the
	 * verbosity 2, the provider writes which part it leaves.
	 */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ort_ep *ep = provider(factory, cases[i].key, cases[i].value);
		struct OrtEpGraphSupportInfo info = { .count = 0 };

		hear_from(saved);
		assert_null(ep->GetCapability((OrtEp *)ep, cases[i].graph, &info));
		hear_to(saved, said, sizeof(said));
		assert_int_equal(info.count, cases[i].parts);
		assert_int_equal(info.counts[0], cases[i].parts ? 2 : 0);
		assert_int_equal(!!strstr(said, "a part of 2 nodes is left to ONNX Runtime: "), i == 1);
		release(factory, ep);
	}
	unload(factory);
}

/*
 * Unknown dimensions are guessed. A dimension of an input follows from the shape that ONNX Runtime
 * infers for an output, or from the number of elements of a constant. If two known dimensions
 * differ, the reason says that there are guesses.
 */
static void test_guesses(void **unused)
{
	static const struct OrtValueInfo in = { "in", { ONNX_FLOAT, 2, { -1, -2 } }, NULL, false };
	static const struct OrtValueInfo out = { "out", { ONNX_FLOAT, 2, { -1, 40 } }, NULL, false };
	static const struct OrtValueInfo end = { "end", { ONNX_FLOAT, 2, { -1, 3 } }, NULL, true };
	static const struct OrtValueInfo sequences = { "s", { ONNX_FLOAT, 3, { 1, -1, 2 } }, NULL, false };
	static const struct OrtValueInfo states = { "t", { ONNX_FLOAT, 4, { 1, 1, -1, 1 } }, NULL, true };
	static int32_t ones[] = { 1, 1, 1, 1, 1, 1 };
	static const struct OrtValue values[] = {
		{ { ONNX_FLOAT, 3, { 1, 3, 2 } }, ones, 6 * sizeof(float) },
		{ { ONNX_FLOAT, 3, { 1, 3, 1 } }, ones, 3 * sizeof(float) },
		{ { ONNX_INT32, 1, { 5 } }, ones, 5 * sizeof(int32_t) },
	};
	static const struct OrtValueInfo constants[] = {
		{ "c0", { ONNX_FLOAT, 3, { 1, 3, 2 } }, &values[0], false },
		{ "c1", { ONNX_FLOAT, 3, { 1, 3, 1 } }, &values[1], false },
		{ "lengths", { ONNX_INT32, 1, { 5 } }, &values[2], false },
	};
	static const struct OrtNode nodes[] = {
		{ .op = "Relu", .version = 14, .in = { &in }, .out = { &out }, .in_count = 1, .out_count = 1 },
		{ .op = "MatMul", .version = 13, .in = { &out, &w }, .out = { &end }, .in_count = 2, .out_count = 1 },
		{ .op = "GRU", .version = 14, .out = { &states }, .in_count = 5, .out_count = 1,
		  .in = { &sequences, &constants[0], &constants[1], NULL, &constants[2] } },
	};
	static const struct OrtGraph graphs[] = {
		{ { &nodes[0] }, { &in }, { &out }, 1, 1, 1 },
		{ { &nodes[2] }, { &sequences }, { &states }, 1, 1, 1 },
		{ { &nodes[0], &nodes[1] }, { &in }, { &end }, 2, 1, 1 },
	};
	struct ort_ep_factory *factory = load();
	char said[512];
	int saved[2];

	(void)unused;
	for (int i = 0; i < 3; i++) {
		struct ort_ep *ep = provider(factory, "ep.nn.verbosity", "1");
		struct OrtEpGraphSupportInfo info = { .count = 0 };

		hear_from(saved);
		assert_null(ep->GetCapability((OrtEp *)ep, &graphs[i], &info));
		hear_to(saved, said, sizeof(said));
		assert_int_equal(info.count, i < 2);
		if (i == 2)
			assert_non_null(strstr(said, "MatMul MatMul is left to ONNX Runtime: 40 columns do not fit 2 rows, "
					       "with guesses for unknown dimensions\n"));
		release(factory, ep);
	}
	unload(factory);
}

/*
 * Settings of the replaced query for supported operations: the index of an operation that the query
 * reports as unsupported (-1: none), and the result code (0: the real result code).
 */
static struct {
	int refused, result;
} asking = { .refused = -1 };

int ANeuralNetworksModel_getSupportedOperationsForDevices(const ANeuralNetworksModel *model,
							  const ANeuralNetworksDevice *const *devices,
							  uint32_t count, bool *supported)
{
	int (*next)(const ANeuralNetworksModel *, const ANeuralNetworksDevice *const *, uint32_t,
		    bool *);
	int result;

	*(void **)&next = dlsym(RTLD_NEXT, __func__);
	result = next(model, devices, count, supported);
	if (asking.refused >= 0)
		supported[asking.refused] = false;
	return asking.result ? asking.result : result;
}

/*
 * The provider converts Softsign to ABS, ADD and DIV, and claims the node only if the device
 * supports all three operations.
 */
static void test_refused_operation(void **unused)
{
	static const struct OrtNode node = { .op = "Softsign", .version = 1, .in = { &m },
					     .out = { &y }, .in_count = 1, .out_count = 1 };
	static const struct OrtGraph graph = { { &node }, { &m }, { &y }, 1, 1, 1 };
	struct ort_ep_factory *factory = load();
	struct OrtEpGraphSupportInfo info;

	(void)unused;
	for (int i = -1; i < 4; i++) {
		struct ort_ep *ep = provider(factory, NULL, NULL);

		asking.refused = i < 3 ? i : -1;
		asking.result = i < 3 ? 0 : ANEURALNETWORKS_OP_FAILED;
		memset(&info, 0, sizeof(info));
		assert_null(ep->GetCapability((OrtEp *)ep, &graph, &info));
		assert_int_equal(info.count, i < 0);
		release(factory, ep);
	}
	asking.refused = -1;
	asking.result = 0;
	unload(factory);
}

/*
 * The graph is a matrix product and a tangent. By default the provider claims the product if its
 * work is at least 20,000 plus a fourth of the number of moved bytes.
 */
static void test_usual_work(void **unused)
{
	static float zeros[200 * 400];
	static const struct {
		int64_t inner, columns;
		size_t parts;
	} cases[] = {
		/* work 20,400, which is enough for tensors of 4 * 400 bytes */
		{ 60, 340, 1 },
		{ 161, 126, 0 },	/* work 20,286, too little for tensors of 4 * 287 bytes */
	};
	struct ort_ep_factory *factory = load();

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int64_t b = cases[i].inner, c = cases[i].columns;
		const struct OrtValue value = { { ONNX_FLOAT, 2, { b, c } }, zeros, sizeof(zeros) };
		const struct OrtValueInfo in = { "x", { ONNX_FLOAT, 2, { 1, b } }, NULL, false };
		const struct OrtValueInfo weight = { "w", value.info, &value, false };
		const struct OrtValueInfo mid = { "m", { ONNX_FLOAT, 2, { 1, c } }, NULL, false };
		const struct OrtValueInfo out = { "z", { ONNX_FLOAT, 2, { 1, c } }, NULL, true };
		const struct OrtNode product = { .op = "MatMul", .version = 13, .in = { &in, &weight },
						 .out = { &mid }, .in_count = 2, .out_count = 1 };
		const struct OrtNode tan = { .op = "Tan", .version = 7, .in = { &mid },
					     .out = { &out }, .in_count = 1, .out_count = 1 };
		const struct OrtGraph graph = { { &product, &tan }, { &in }, { &out }, 2, 1, 1 };
		struct ort_ep *ep = provider(factory, NULL, NULL);
		struct OrtEpGraphSupportInfo info = { .count = 0 };

		assert_null(ep->GetCapability((OrtEp *)ep, &graph, &info));
		assert_int_equal(info.count, cases[i].parts);
		release(factory, ep);
	}
	unload(factory);
}

/*
 * By default the provider claims at most 16 parts. With the verbosity 2, the provider writes which
 * further parts it leaves.
 */
static void test_usual_parts(void **unused)
{
	enum { PARTS = 17 };
	static float ones[16];
	static const struct OrtValue value = { { ONNX_FLOAT, 2, { 4, 4 } }, ones, sizeof(ones) };
	static const struct OrtValueInfo weight = { "w", { ONNX_FLOAT, 2, { 4, 4 } }, &value, false };
	struct OrtValueInfo values[2 * PARTS];
	struct OrtNode nodes[2 * PARTS - 1];
	char names[2 * PARTS][8];
	struct OrtGraph graph = { { NULL }, { &values[0] }, { &values[2 * PARTS - 1] }, 2 * PARTS - 1,
				  1, 1 };
	struct ort_ep_factory *factory = load();
	char said[4096];
	int saved[2];

	(void)unused;
	for (int i = 0; i < 2 * PARTS; i++) {
		snprintf(names[i], sizeof(names[i]), "v%d", i);
		values[i] = (struct OrtValueInfo){ names[i], { ONNX_FLOAT, 2, { 4, 4 } }, NULL,
						   i == 2 * PARTS - 1 };
	}
	for (int i = 0; i < 2 * PARTS - 1; i++) {
		nodes[i] = (struct OrtNode){ .op = i % 2 ? "Tan" : "MatMul", .version = i % 2 ? 7 : 13,
					     .in = { &values[i], &weight }, .out = { &values[i + 1] },
					     .in_count = i % 2 ? 1 : 2, .out_count = 1 };
		graph.nodes[i] = &nodes[i];
	}
	least_work = "0";
	for (int i = 0; i < 3; i++) {
		struct ort_ep *ep = provider(factory, "ep.nn.verbosity", i < 2 ? "1" : "2");
		struct OrtEpGraphSupportInfo info = { .count = 0 };

		graph.node_count = i ? 2 * PARTS - 1 : 2 * PARTS - 3;
		hear_from(saved);
		assert_null(ep->GetCapability((OrtEp *)ep, &graph, &info));
		hear_to(saved, said, sizeof(said));
		assert_int_equal(info.count, 16);
		assert_int_equal(!!strstr(said, "a part of 1 nodes is left to ONNX Runtime: "
					  "more than max_partitions (16)\n"), i == 2);
		release(factory, ep);
	}
	least_work = NULL;
	unload(factory);
}

/*
 * If only the second of two parts needs a shape, the second part computes the shape. If both parts
 * need the shape, the provider leaves the Shape node and the Reshape nodes to ONNX Runtime.
 */
static void test_shape_of_other_part(void **unused)
{
	static float ones[16];
	static const struct OrtValue value = { { ONNX_FLOAT, 2, { 4, 4 } }, ones, sizeof(ones) };
	static const struct OrtValueInfo weight = { "w", { ONNX_FLOAT, 2, { 4, 4 } }, &value, false };
	static const struct OrtValueInfo shape = { "s", { ONNX_INT64, 1, { 2 } }, NULL, false };
	static const struct OrtValueInfo v[] = {
		{ "v0", { ONNX_FLOAT, 2, { -1, 4 } }, NULL, false },
		{ "v1", { ONNX_FLOAT, 2, { -1, 4 } }, NULL, false },
		{ "v2", { ONNX_FLOAT, 2, { -1, 4 } }, NULL, false },
		{ "v3", { ONNX_FLOAT, 2, { -1, 4 } }, NULL, false },
		{ "v4", { ONNX_FLOAT, 2, { -1, -1 } }, NULL, true },
		{ "v5", { ONNX_FLOAT, 2, { -1, -1 } }, NULL, true },
	};
	static const struct OrtNode nodes[] = {
		{ .op = "MatMul", .version = 13, .in = { &v[0], &weight }, .out = { &v[1] }, .in_count = 2,
		  .out_count = 1 },
		{ .op = "Shape", .version = 15, .in = { &v[1] }, .out = { &shape }, .in_count = 1,
		  .out_count = 1 },
		{ .op = "Tan", .version = 7, .in = { &v[1] }, .out = { &v[2] }, .in_count = 1,
		  .out_count = 1 },
		{ .op = "MatMul", .version = 13, .in = { &v[2], &weight }, .out = { &v[3] }, .in_count = 2,
		  .out_count = 1 },
		{ .op = "Reshape", .version = 14, .in = { &v[3], &shape }, .out = { &v[4] },
		  .in_count = 2, .out_count = 1 },
		{ .op = "Reshape", .version = 14, .in = { &v[1], &shape }, .out = { &v[5] },
		  .in_count = 2, .out_count = 1 },
	};
	struct OrtGraph graph = { { &nodes[0], &nodes[1], &nodes[2], &nodes[3], &nodes[4], &nodes[5] },
				  { &v[0] }, { &v[4], &v[5] }, 0, 1, 0 };
	struct ort_ep_factory *factory = load();

	(void)unused;
	for (size_t outputs = 1; outputs <= 2; outputs++) {
		struct ort_ep *ep = provider(factory, "ep.nn.min_work", "0");
		struct OrtEpGraphSupportInfo info = { .count = 0 };

		graph.out_count = outputs;
		graph.node_count = 4 + outputs;
		assert_null(ep->GetCapability((OrtEp *)ep, &graph, &info));
		assert_int_equal(info.count, 2);
		assert_int_equal(info.counts[0], 1);
		assert_int_equal(info.counts[1], outputs == 1 ? 3 : 1);
		release(factory, ep);
	}
	unload(factory);
}

/* A node of the tested graph computes weights that are larger than all constants of the graph. */
static void test_made_weights(void **unused)
{
	static int64_t dims[] = { 512, 1024 };
	static const struct OrtValue dims_value = { { ONNX_INT64, 1, { 2 } }, dims, sizeof(dims) };
	static const struct OrtValueInfo in = { "in", { ONNX_FLOAT, 2, { 1, 512 } }, NULL, false };
	static const struct OrtValueInfo of = { "of", { ONNX_INT64, 1, { 2 } }, &dims_value, false };
	static const struct OrtValueInfo made = { "made", { ONNX_FLOAT, 2, { 512, 1024 } }, NULL, false };
	static const struct OrtValueInfo out = { "out", { ONNX_FLOAT, 2, { 1, 1024 } }, NULL, true };
	static const struct OrtNode make = { .op = "ConstantOfShape", .version = 9, .in = { &of },
					     .out = { &made }, .in_count = 1, .out_count = 1 };
	static const struct OrtNode multiply = { .op = "MatMul", .version = 13, .in = { &in, &made },
						 .out = { &out }, .in_count = 2, .out_count = 1 };
	static const struct OrtGraph graph = { { &make, &multiply }, { &in }, { &out }, 2, 1, 1 };
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, NULL, NULL);
	struct OrtEpGraphSupportInfo info = { .count = 0 };

	(void)unused;
	assert_null(ep->GetCapability((OrtEp *)ep, &graph, &info));
	assert_int_equal(info.count, 1);
	assert_int_equal(info.counts[0], 2);
	release(factory, ep);
	unload(factory);
}

/* In the report, the parts of a branch come before the parts of the main graph. */
static void test_report_of_branch(int fd, const char *path)
{
	static const struct OrtGraph branch = { { &matmul, &relu }, { NULL }, { &y }, 2, 0, 1 };
	struct OrtEpGraphSupportInfo info = { .count = 0 };
	struct ort_ep_factory *factory;
	char text[512] = "";
	struct ort_ep *ep;

	played_version = "1.25.0";
	factory = load();
	least_work = "0";
	ep = provider(factory, "ep.nn.report", path);
	least_work = NULL;
	inner_graph = &branch;
	assert_null(ep->GetCapability((OrtEp *)ep, &branch, &info));
	inner_graph = NULL;
	assert_null(ep->GetCapability((OrtEp *)ep, &part, &info));
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "device\tnnapi-reference\n"
			    "node\t0\tMatMul\tMatMul\t6\t-\nnode\t0\tRelu\tRelu\t0\t-\npart\t0\t8\t12\t24\n"
			    "node\t1\tMatMul\tMatMul\t6\t-\nnode\t1\tRelu\tRelu\t0\t-\npart\t1\t8\t12\t24\n");
	played_version = "1.24.4";
	release(factory, ep);
	unload(factory);
}

/* Tests the report that nnaccel explain reads. The report counts an unknown dimension as 1. */
static void test_report(void **unused)
{
	static const struct OrtGraph whole = { { &matmul, &relu, &tangent }, { &x }, { &z }, 3, 1, 1 };
	/* A graph inside of the node If reads m. */
	static const struct OrtNode branch = { .op = "If", .version = 13, .in = { &flag }, .out = { &z },
					       .in_count = 1, .out_count = 1, .implicit = { &m },
					       .implicit_count = 1 };
	static const struct OrtGraph outer = { { &matmul, &relu, &branch }, { &x, &flag }, { &y, &z }, 3, 2, 2 };
	static const struct {
		const struct OrtGraph *graph;
		const char *text;
	} cases[] = {
		{ &whole, "node\t-\tMatMul\tMatMul\t6\t18 multiplications do not pay for moving 20 bytes\n"
		  "node\t-\tRelu\tRelu\t0\t18 multiplications do not pay for moving 20 bytes\n"
		  "node\t-\tTan\tTan\t0\tthe NNAPI cannot express this operator\n" },
		{ &part, "node\t0\tMatMul\tMatMul\t6\t-\nnode\t0\tRelu\tRelu\t0\t-\npart\t0\t8\t12\t24\n" },
		{ &outer, "node\t0\tMatMul\tMatMul\t6\t-\nnode\t0\tRelu\tRelu\t0\t-\n"
		  "node\t-\tIf\tIf\t0\tcontrol flow is unsupported\npart\t0\t8\t24\t24\n" },
	};
	struct ort_ep_factory *factory = load();
	char path[64], text[512], expected[512];
	int fd = memfd_create("report", MFD_CLOEXEC);

	(void)unused;
	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct OrtEpGraphSupportInfo info = { .count = 0 };
		struct ort_ep *ep;
		ssize_t length;

		least_work = cases[i].graph == &outer ? "0" : NULL;
		ep = provider(factory, "ep.nn.report", path);
		least_work = NULL;

		assert_null(ep->GetCapability((OrtEp *)ep, cases[i].graph, &info));
		length = pread(fd, text, sizeof(text) - 1, 0);
		assert_true(length > 0);
		text[length] = '\0';
		snprintf(expected, sizeof(expected), "device\tnnapi-reference\n%s", cases[i].text);
		assert_string_equal(text, expected);
		release(factory, ep);
	}
	unload(factory);
	test_report_of_branch(fd, path);
	close(fd);
}

static void hear_from(int saved[2])
{
	int ends[2];

	fflush(stderr);
	assert_int_equal(pipe(ends), 0);
	saved[0] = dup(STDERR_FILENO);
	saved[1] = ends[0];
	assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
	close(ends[1]);
}

static void hear_to(int saved[2], char *text, size_t size)
{
	ssize_t got;

	fflush(stderr);
	assert_true(dup2(saved[0], STDERR_FILENO) >= 0);
	close(saved[0]);
	got = read(saved[1], text, size - 1);
	close(saved[1]);
	text[got > 0 ? got : 0] = '\0';
}

/* Two unknown dimensions are expected to be equal if a node needs it, with or without names. */
static void test_unnamed_dimensions(void **unused)
{
	struct ort_ep_factory *factory = load();

	(void)unused;
	for (int64_t open = -3; open < 0; open += 2) {
		const struct OrtValueInfo a = { "a", { ONNX_FLOAT, 2, { open, 2 } }, NULL, false };
		const struct OrtValueInfo b = { "b", { ONNX_FLOAT, 2, { open, 2 } }, NULL, false };
		const struct OrtValueInfo c = { "c", { ONNX_FLOAT, 2, { open, 2 } }, NULL, true };
		const struct OrtNode add = { .op = "Add", .version = 14, .in = { &a, &b }, .out = { &c },
					     .in_count = 2, .out_count = 1 };
		const struct OrtGraph graph = { { &add }, { &a, &b }, { &c }, 1, 2, 1 };
		struct ort_ep *ep = provider(factory, NULL, NULL);
		struct OrtEpGraphSupportInfo info = { .count = 0 };

		assert_null(ep->GetCapability((OrtEp *)ep, &graph, &info));
		assert_int_equal(info.count, 1);
		release(factory, ep);
	}
	unload(factory);
}

/*
 * A graph that uses a value of an outer graph is an inner graph, even if its name is the main
 * graph's name.
 */
static void test_outer_value(void **unused)
{
	struct ort_ep_factory *factory = load();

	(void)unused;
	for (int i = 0; i < 2; i++) {
		struct ort_ep *ep = provider(factory, NULL, NULL);
		struct OrtEpGraphSupportInfo info = { .count = 0 };

		outer_value = i ? &w : NULL;
		assert_null(ep->GetCapability((OrtEp *)ep, &part, &info));
		assert_int_equal(info.count, !i);
		release(factory, ep);
	}
	outer_value = NULL;
	unload(factory);
}

/*
 * ONNX Runtime asks which nodes the plug-in claims in a node's inner graph, before it asks about
 * the main graph. The name of an inner graph differs from the main graph's name. The body of a loop
 * has inputs, so the plug-in does not claim the body. With ONNX Runtime 1.25 and later, the plug-in
 * claims the parts of a branch that have enough work.
 */
static void test_inner_graph(void **unused)
{
	static const struct OrtGraph body = { { &matmul, &relu }, { &x }, { &y }, 2, 1, 1 };
	static const struct OrtGraph branch = { { &matmul, &relu }, { NULL }, { &y }, 2, 0, 1 };
	static const struct {
		const char *version;
		size_t parts;		/* number of parts in the branch */
		const char *text, *least;
	} cases[] = {
		{ "1.24.4", 0, "2 of 2 nodes in 1 part on", "0" },
		{ "1.25.0", 1, "4 of 4 nodes in 2 parts on", "0" },
		{ "2.0.0", 1, "4 of 4 nodes in 2 parts on", "0" },
		{ "1.25.0", 0, "2 of 4 nodes in 1 part on", NULL },
	};

	(void)unused;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct ort_ep_factory *factory;
		struct ort_ep *ep;
		struct OrtEpGraphSupportInfo info = { .count = 0 };
		char text[512];
		int saved[2];

		played_version = cases[c].version;
		factory = load();
		least_work = cases[c].least;
		ep = provider(factory, NULL, NULL);
		least_work = NULL;
		hear_from(saved);
		inner_graph = &body;
		assert_null(ep->GetCapability((OrtEp *)ep, &body, &info));
		assert_int_equal(info.count, 0);
		inner_graph = &branch;
		assert_null(ep->GetCapability((OrtEp *)ep, &branch, &info));
		assert_int_equal(info.count, cases[c].parts);
		if (info.count)
			release_part(ep, compile_part(ep, &branch, &fused));
		for (size_t i = 1; i < 3; i++) {
			assert_null(ep->GetCapability((OrtEp *)ep, &part, &info));
			assert_int_equal(info.count, cases[c].parts + i);
		}
		inner_graph = NULL;
		hear_to(saved, text, sizeof(text));
		assert_non_null(strstr(text, cases[c].text));
		assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
		release(factory, ep);
		unload(factory);
	}
	played_version = "1.24.4";
}

/*
 * If a graph has nodes of an unknown domain, they may be functions of the model. The provider logs the
 * number of nodes only when ONNX Runtime has asked about the functions' nodes, compiles a part, or
 * releases the provider.
 */
static void test_functions(void **unused)
{
	static const struct OrtNode block = { .op = "other:Block", .version = 1, .in = { &m }, .out = { &y },
					      .in_count = 1, .out_count = 1 };
	static const struct OrtGraph graph = { { &matmul, &block }, { &x }, { &y }, 2, 1, 1 };
	static const struct OrtGraph *const asked[][3] = {
		{ &graph, &part }, { &graph, &graph, &part }, { &graph }, { &graph },
	};
	static const char *const texts[] = {
		": 2 of 2 nodes in 1 part ", ": 2 of 2 nodes in 1 part ", ": 1 of 2 nodes in 1 part ",
		": 1 of 2 nodes in 1 part ",
	};
	struct ort_ep_factory *factory = load();
	int saved[2];
	char text[512];

	(void)unused;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct OrtEpGraphSupportInfo info = { .count = 0 };
		struct ort_ep *ep;

		least_work = "0";
		ep = provider(factory, NULL, NULL);
		least_work = NULL;
		hear_from(saved);
		for (int k = 0; k < 3 && asked[i][k]; k++)
			assert_null(ep->GetCapability((OrtEp *)ep, asked[i][k], &info));
		if (i == 3)
			release_part(ep, compile_part(ep, &part, &fused));
		if (i == 2)
			release(factory, ep);
		hear_to(saved, text, sizeof(text));
		if (i != 2)
			release(factory, ep);
		if (!strstr(text, texts[i]) || strchr(text, '\n') != text + strlen(text) - 1)
			fail_msg("%zu: %s", i, text);
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
	struct OrtKernelContext context = { .in = { NULL } };
	float data[] = { 1, 2, 3, 4 }, expected[] = { 7, 0, 0, 15, 0, 0 };
	struct OrtValue value = { { ONNX_FLOAT, 2, { 2, 2 } }, data, sizeof(data) };
	struct ort_node_compute_info *info;

	(void)unused;
	info = compile_part(ep, &part, &fused);
	for (int rows = 2; rows > 0; rows--) {
		value.info.dims[0] = rows;
		run(info, &value, &context);
		assert_null(last);
		assert_int_equal(context.out[0].info.dims[0], rows);
		expected[0] = 7;
		expected[1] = 0;
		expected[2] = 0;
		/*
		 * The product [1 2] times [[1 -1 2] [3 0 -4]] is [7 -1 -6], of which RELU makes [7
		 * 0 0].
		 */
		assert_memory_equal(context.out[0].data, expected,
				    (size_t)rows * 3 * sizeof(float));
	}
	/* A run refuses an input value of a wrong type or shape; the next run succeeds. */
	value.info.type = ONNX_DOUBLE;
	run(info, &value, &context);
	assert_non_null(strstr(last->text, "input 0"));
	value.info.type = ONNX_FLOAT;
	value.info.dims[1] = 3;
	run(info, &value, &context);
	assert_non_null(strstr(last->text, "MatMul"));
	value.info.dims[0] = (int64_t)1 << 40;
	value.info.dims[1] = 2;
	run(info, &value, &context);
	assert_non_null(last);
	value.info.dims[0] = 1;
	run(info, &value, &context);
	assert_null(last);
	free(context.out[0].data);
	release_part(ep, info);
	release(factory, ep);
	unload(factory);
}

static struct ort_ep *asked_ep;

/* The session that runs a part must not use the provider, even if all sessions of a program do. */
static void ask_while_in_making(void)
{
	struct OrtEpGraphSupportInfo info = { .count = 0 };

	assert_null(asked_ep->GetCapability((OrtEp *)asked_ep, &part, &info));
	assert_int_equal(info.count, 0);
}

static OrtStatus *as_session(const OrtValue *const *in, OrtValue *out)
{
	static float data[] = { 8, 9 };

	if (in[0]->info.dims[1] != 3)
		return create_status(1, "another shape");
	*out = (OrtValue){ { ONNX_FLOAT, 2, { 1, 2 } }, data, sizeof(data) };
	return NULL;
}

/* A session of ONNX Runtime computes a part that cannot be translated for the shapes of a run. */
static void test_runs_of_runtime(void **unused)
{
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = asked_ep = provider(factory, NULL, NULL);
	struct OrtKernelContext context = { .in = { NULL } };
	float data[] = { 1, 2, 3 }, expected[] = { 8, 9 };
	struct OrtValue value = { { ONNX_FLOAT, 2, { 1, 3 } }, data, sizeof(data) };
	struct ort_node_compute_info *info;

	(void)unused;
	info = compile_part(ep, &part, &fused);
	played_session = as_session;
	while_in_making = ask_while_in_making;
	for (int i = 0; i < 2; i++) {
		run(info, &value, &context);
		assert_null(last);
		assert_string_equal(played_ports, "x > y ");
		assert_string_equal(played_settings, "nnaccel: level 4, severity 4, optimisation 0, threads 1");
		assert_int_equal(played_sessions, 2);	/* a session and its environment */
		assert_int_equal(context.out[0].info.dims[1], 2);
		assert_memory_equal(context.out[0].data, expected, sizeof(expected));
	}
	/* If the session fails, too, the error is the error of the translation. */
	value.info.dims[1] = 4;
	run(info, &value, &context);
	assert_non_null(strstr(last->text, "MatMul"));
	value.info.dims[1] = 2;
	run(info, &value, &context);
	assert_null(last);
	played_session = NULL;
	free(context.out[0].data);
	release_part(ep, info);
	assert_int_equal(played_sessions, 0);
	release(factory, ep);
	unload(factory);
}

static uint64_t read_varint(const uint8_t **at)
{
	uint64_t number = 0;

	for (int shift = 0;; shift += 7) {
		number |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return number;
	}
}

/*
 * Appends the fields of a message of Protocol Buffers to a text. `in` is the message's kind in the
 * table, which has the fields that are messages, too.
 */
static void describe(const uint8_t *at, size_t size, char in, char *text)
{
	static const struct {
		char in;
		uint32_t field;
		char of;
	} messages[] = {
		{ 'm', 7, 'g' }, { 'm', 8, 's' }, { 'g', 1, 'n' }, { 'g', 5, 't' }, { 'g', 11, 'v' },
		{ 'g', 12, 'v' }, { 'n', 5, 'a' }, { 'a', 5, 't' }, { 'v', 2, 'y' }, { 'y', 1, 'e' },
	};

	for (const uint8_t *end = at + size; at < end;) {
		const uint64_t tag = read_varint(&at);
		const uint32_t field = (uint32_t)(tag >> 3);
		uint64_t length;
		float number;
		char of = 0;

		text += sprintf(text, " %u", field);
		if ((tag & 7) == 0) {
			text += sprintf(text, "=%lld", (long long)read_varint(&at));
			continue;
		}
		if ((tag & 7) == 5) {
			memcpy(&number, at, sizeof(number));
			at += sizeof(number);
			text += sprintf(text, "=%g", (double)number);
			continue;
		}
		assert_int_equal(tag & 7, 2);
		length = read_varint(&at);
		assert_true(length <= (size_t)(end - at));
		for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
			if (messages[i].in == in && messages[i].field == field)
				of = messages[i].of;
		if (of) {
			strcpy(text, "{");
			describe(at, length, of, text + 1);
			strcat(text, " }");
		} else if (in == 't' && field == 9) {
			for (size_t i = 0; i < length; i++)
				sprintf(text + 3 * i, ",%02x", at[i]);
		} else {
			sprintf(text, "=%.*s", (int)length, (const char *)at);
		}
		text += strlen(text);
		at += length;
	}
}

#define LONG_NAME "a_name_of_127_characters,_the_longest_whose_length_has_one_byte_________" \
		  "_______________________________________________________"

static OrtStatus *copy_inputs(const OrtValue *const *in, OrtValue *out)
{
	out[0] = *in[1];
	out[1] = *in[0];
	return NULL;
}

/*
 * The model for a session of ONNX Runtime has everything of the part. The expected text has the
 * numbers of fields, types and attributes' types of ONNX's file onnx.proto.
 */
static void test_model_for_runtime(void **unused)
{
	static const int64_t numbers[] = { 1, -128 }, tens[] = { 3, 300 };
	static const float reals[] = { 1.5f, -1 };
	static const uint8_t bytes[] = { 7, 255 };
	static const struct OrtValue tensor = { { ONNX_INT64, 1, { 2 } }, (void *)tens, sizeof(tens) };
	static const struct OrtValue weight = { { ONNX_UINT8, 2, { 1, 2 } }, (void *)bytes, sizeof(bytes) };
	static const struct OrtOpAttr attributes[] = {
		{ "i", ORT_ATTRIBUTE_INT, numbers, 8 }, { "is", ORT_ATTRIBUTE_INTS, numbers, 16 },
		{ "f", ORT_ATTRIBUTE_FLOAT, reals, 4 }, { "fs", ORT_ATTRIBUTE_FLOATS, reals, 8 },
		{ "s", ORT_ATTRIBUTE_STRING, "ab", 2 }, { "ss", ORT_ATTRIBUTE_STRINGS, "c\0de", 5 },
		{ "t", ORT_ATTRIBUTE_TENSOR, &tensor, 0 },
	};
	static const struct OrtValueInfo a = { LONG_NAME, { ONNX_FLOAT, 1, { -1 } }, NULL, false };
	static const struct OrtValueInfo b = { "b", { ONNX_INT64, 1, { -1 } }, NULL, false };
	static const struct OrtValueInfo c = { "c", { ONNX_INT64, 1, { -1 } }, NULL, true };
	static const struct OrtValueInfo d = { "d", { ONNX_FLOAT, 1, { -1 } }, NULL, true };
	static const struct OrtValueInfo k = { "k", { ONNX_UINT8, 2, { 1, 2 } }, &weight, false };
	static const struct OrtNode odd = {
		.op = "microsoft:Odd", .version = 1, .in = { &a, NULL, &k, &b }, .out = { &c, NULL, &d },
		.in_count = 4, .out_count = 3, .attribute_count = 7,
		.attributes = { &attributes[0], &attributes[1], &attributes[2], &attributes[3],
				&attributes[4], &attributes[5], &attributes[6] },
	};
	static const struct OrtGraph graph = { { &odd }, { &a, &k, &b }, { &c, &d }, 1, 3, 2 };
	static const struct OrtNode whole = { .op = "whole", .in = { &a, &k, &b }, .out = { &c, NULL, &d },
					      .in_count = 3, .out_count = 3 };
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = asked_ep = provider(factory, NULL, NULL);
	struct OrtKernelContext context = { .in = { NULL } };
	struct OrtValue first = { { ONNX_FLOAT, 1, { 2 } }, (void *)reals, sizeof(reals) };
	struct OrtValue second = { { ONNX_INT64, 0, { 0 } }, (void *)numbers, sizeof(numbers[0]) };
	struct ort_node_compute_info *info;
	char text[4096];

	(void)unused;
	assert_int_equal(strlen(LONG_NAME), 127);
	info = compile_part(ep, &graph, &whole);
	played_session = copy_inputs;
	while_in_making = ask_while_in_making;
	context.in[2] = &second;
	run(info, &first, &context);
	assert_null(last);
	assert_string_equal(played_ports, "a_name_of b > c d ");
	assert_int_equal(context.out[0].info.rank, 0);
	assert_int_equal(*(int64_t *)context.out[0].data, 1);
	assert_int_equal(context.out[2].info.rank, 1);
	assert_int_equal(context.out[2].info.dims[0], 2);
	assert_memory_equal(context.out[2].data, reals, sizeof(reals));
	describe(played_model, played_size, 'm', text);
	assert_string_equal(text, " 1=10 8{ 1= 2=17 } 8{ 1=com.microsoft 2=1 } 7{ 2=part"
			    " 1{ 1=" LONG_NAME " 1= 1=k 1=b 2=c 2= 2=d 3=Odd 4=Odd"
			    " 5{ 1=i 3=1 20=2 } 5{ 1=is 8=1 8=-128 20=7 }"
			    " 5{ 1=f 2=1.5 20=1 } 5{ 1=fs 7=1.5 7=-1 20=6 }"
			    " 5{ 1=s 4=ab 20=3 } 5{ 1=ss 9=c 9=de 20=8 }"
			    " 5{ 1=t 5{ 1=2 2=7 8= 9,03,00,00,00,00,00,00,00,2c,01,00,00,00,00,00,00 } 20=4 } 7=com.microsoft }"
			    " 5{ 1=1 1=2 2=2 8=k 9,07,ff }"
			    " 11{ 1=" LONG_NAME " 2{ 1{ 1=1 } } } 11{ 1=b 2{ 1{ 1=7 } } }"
			    " 12{ 1=c 2{ 1{ 1=7 } } } 12{ 1=d 2{ 1{ 1=1 } } } }");
	played_session = NULL;
	free(context.out[0].data);
	free(context.out[2].data);
	release_part(ep, info);
	assert_int_equal(played_sessions, 0);
	release(factory, ep);
	unload(factory);
}

/*
 * Tests which NNAPI calls the provider makes for each option. By default all runs share one burst.
 */
static void test_calls(void **unused)
{
	static const struct {
		const char *key, *value, *calls;
	} cases[] = {
		{ "ep.nn.verbosity", "0", NNAPI_SET(1, 1, 100) NNAPI_IN_BURST },
		{ "EP.nn.burst", "0", NNAPI_SET(1, 1, 100) NNAPI_IN_BURST },
		{ "ep.nn2.burst", "0", NNAPI_SET(1, 1, 100) NNAPI_IN_BURST },
		{ "ep.nn.burst", "0", NNAPI_SET(1, 1, 100) "run, run, " },
		{ "ep.NN.burst", "0", NNAPI_SET(1, 1, 100) "run, run, " },
		{ "ep.nn.preference", "low_power", NNAPI_SET(1, 0, 100) NNAPI_IN_BURST },
		{ "ep.nn.preference", "sustained_speed", NNAPI_SET(1, 2, 100) NNAPI_IN_BURST },
		{ "ep.nn.priority", "low", NNAPI_SET(1, 1, 90) NNAPI_IN_BURST },
		{ "ep.nn.priority", "high", NNAPI_SET(1, 1, 110) NNAPI_IN_BURST },
		{ "ep.nn.allow_fp16", "1", "relaxed 1, " NNAPI_SET(1, 1, 100) NNAPI_IN_BURST },
		{ "ep.nn.cache_dir", "/tmp/nnaccel-no-such",
		  NNAPI_SET(1, 1, 100) "cache /tmp/nnaccel-no-such, " NNAPI_IN_BURST },
	};
	struct ort_ep_factory *factory = load();
	float data[] = { 1, 2 };
	const struct OrtValue value = { { ONNX_FLOAT, 2, { 1, 2 } }, data, sizeof(data) };

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ort_ep *ep = provider(factory, cases[i].key, cases[i].value);
		struct OrtKernelContext context = { .in = { NULL } };
		struct ort_node_compute_info *info;

		assert_non_null(ep);
		nnapi_calls[0] = '\0';
		info = compile_part(ep, &part, &fused);
		for (int k = 0; k < 2; k++) {
			run(info, &value, &context);
			assert_null(last);
		}
		assert_string_equal(nnapi_calls, cases[i].calls);
		free(context.out[0].data);
		release_part(ep, info);
		release(factory, ep);
	}
	unload(factory);
}

/*
 * If a run fails, and no other device is left to try, the provider compiles and runs once more,
 * unless a new compilation cannot help.
 */
static void test_failures(void **unused)
{
	static const int again[] = {
		ANEURALNETWORKS_OP_FAILED, ANEURALNETWORKS_UNAVAILABLE_DEVICE,
		ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT, ANEURALNETWORKS_DEAD_OBJECT,
	};
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, NULL, NULL);
	struct OrtKernelContext context = { .in = { NULL } };
	float data[] = { 1, 2 };
	const struct OrtValue value = { { ONNX_FLOAT, 2, { 1, 2 } }, data, sizeof(data) };
	struct ort_node_compute_info *info;

	(void)unused;
	info = compile_part(ep, &part, &fused);
	run(info, &value, &context);
	assert_null(last);
	for (int result = 1; result <= ANEURALNETWORKS_DEAD_OBJECT + 1; result++) {
		bool is_tried = false;

		for (size_t i = 0; i < sizeof(again) / sizeof(again[0]); i++)
			is_tried |= again[i] == result;
		for (int times = 1; times < 3; times++) {
			nnapi_failing.times = times;
			nnapi_failing.result = result;
			nnapi_calls[0] = '\0';
			run(info, &value, &context);
			assert_int_equal(!last, is_tried && times == 1);
			if (last) {
				assert_non_null(strstr(last->text, result > ANEURALNETWORKS_DEAD_OBJECT ?
						       "unknown" : nnapi_results[result]));
				assert_non_null(strstr(last->text, "burstCompute: told to fail"));
			}
			/* After a failed run, the next run compiles the part again. */
			assert_int_equal(!!strstr(nnapi_calls, "for 1, "), is_tried || result > 1 ||
					 times > 1);
		}
		nnapi_failing.times = 0;
	}
	run(info, &value, &context);
	assert_null(last);
	assert_true(((float *)context.out[0].data)[0] == 7);
	free(context.out[0].data);
	release_part(ep, info);
	release(factory, ep);
	unload(factory);
}

/*
 * The device type that the replaced ANeuralNetworksDevice_getType() returns; if 0, the function
 * returns the real type.
 */
static int32_t played_type;

int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice *device, int32_t *type)
{
	int (*next)(const ANeuralNetworksDevice *, int32_t *), result;

	*(void **)&next = dlsym(RTLD_NEXT, __func__);
	result = next(device, type);
	if (played_type)
		*type = played_type;
	return result;
}

/* The log line that reports claimed nodes is a warning if the CPU computes these nodes. */
static void test_warning(void **unused)
{
	static const struct {
		int32_t type;
		const char *text;
	} cases[] = {
		{ 0, "nnaccel: onnxruntime: warning: 2 of 2 nodes in 1 part on nnapi-reference, "
		  "which is the CPU\n" },
		{ ANEURALNETWORKS_DEVICE_ACCELERATOR,
		  "nnaccel: onnxruntime: 2 of 2 nodes in 1 part on nnapi-reference\n" },
	};
	struct ort_ep_factory *factory = load();

	(void)unused;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct OrtEpGraphSupportInfo info = { .count = 0 };
		struct ort_ep *ep;
		char text[512];
		int saved[2];

		played_type = cases[c].type;
		ep = provider(factory, NULL, NULL);
		hear_from(saved);
		assert_null(ep->GetCapability((OrtEp *)ep, &part, &info));
		hear_to(saved, text, sizeof(text));
		assert_string_equal(text, cases[c].text);
		release(factory, ep);
	}
	played_type = 0;
	unload(factory);
}

/* The time that the replaced clock_gettime() returns; if 0, the function returns the real time. */
static uint64_t played_ns;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (!played_ns || clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, now);
	*now = (struct timespec){ (time_t)(played_ns / 1000000000), (long)(played_ns % 1000000000) };
	return 0;
}

static int count_text(const char *text, const char *wanted)
{
	int found = 0;

	for (; (text = strstr(text, wanted)); text++)
		found++;
	return found;
}

/* If a run fails twice on the device, the CPU computes this run and all following runs. */
static void test_cpu_takes_over(void **unused)
{
	static const struct {
		const char *disallow_cpu;
		int failing, runs, later;
		bool is_good;
	} cases[] = {
		{ "0", 0, 1, 0, true }, { "0", 1, 2, 0, true }, { "0", 2, 3, 0, true }, { "0", 3, 3, 1, false },
		{ "1", 1, 2, 0, true }, { "1", 2, 2, 1, false },
	};
	struct ort_ep_factory *factory = load();
	float data[] = { 1, 2 };
	const struct OrtValue value = { { ONNX_FLOAT, 2, { 1, 2 } }, data, sizeof(data) };

	(void)unused;
	played_type = ANEURALNETWORKS_DEVICE_ACCELERATOR;
	played_ns = 1000000000;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ort_ep *ep = provider(factory, "ep.nn.disallow_cpu", cases[i].disallow_cpu);
		struct OrtKernelContext context = { .in = { NULL } };
		struct ort_node_compute_info *info;

		assert_non_null(ep);
		info = compile_part(ep, &part, &fused);
		nnapi_failing.times = cases[i].failing;
		nnapi_failing.result = ANEURALNETWORKS_DEAD_OBJECT;
		nnapi_calls[0] = '\0';
		run(info, &value, &context);
		assert_int_equal(!last, cases[i].is_good);
		assert_int_equal(count_text(nnapi_calls, "run"), cases[i].runs);
		assert_int_equal(count_text(nnapi_calls, "for 1, "), cases[i].runs);
		nnapi_failing.times = 0;
		nnapi_calls[0] = '\0';
		run(info, &value, &context);
		assert_null(last);
		assert_true(((float *)context.out[0].data)[0] == 7);
		assert_int_equal(count_text(nnapi_calls, "for 1, "), cases[i].later);
		free(context.out[0].data);
		release_part(ep, info);
		release(factory, ep);
	}
	played_type = 0;
	played_ns = 0;
	unload(factory);
}

/*
 * If the device fails, the provider tries the device again after a pause, and uses the device if a
 * compilation succeeds. Each failure of the device makes the provider's next pause longer.
 */
static void test_device_comes_back(void **unused)
{
	static const struct {
		unsigned int ms;		/* time in ms that passes before a run */
		int failing, compiled;	/* numbers of failing runs and expected compilations */
	} steps[] = {
		{ 0, 2, 3 }, { 999, 0, 0 }, { 1, 0, 1 }, { 5000, 0, 0 },
		/*
		 * After a successful compilation the next pause is one second; each failure of the
		 * device doubles the pause.
		 */
		{ 0, 2, 2 }, { 1000, 2, 3 }, { 1999, 0, 0 }, { 1, 2, 3 }, { 3999, 0, 0 }, { 1, 1, 2 }, { 60000, 0, 0 },
		/* The longest pause between two tries is one minute. */
		{ 0, 2, 2 }, { 1000, 2, 3 }, { 2000, 2, 3 }, { 4000, 2, 3 }, { 8000, 2, 3 }, { 16000, 2, 3 },
		{ 32000, 2, 3 }, { 59999, 0, 0 }, { 1, 2, 3 }, { 59999, 0, 0 }, { 1, 0, 1 },
	};
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, NULL, NULL);
	struct OrtKernelContext context = { .in = { NULL } };
	float data[] = { 1, 2 };
	const struct OrtValue value = { { ONNX_FLOAT, 2, { 1, 2 } }, data, sizeof(data) };
	struct ort_node_compute_info *info;

	(void)unused;
	played_type = ANEURALNETWORKS_DEVICE_ACCELERATOR;
	played_ns = 1000000000;
	nna_log_set(NULL, NULL, NNA_LOG_NONE);
	info = compile_part(ep, &part, &fused);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		played_ns += steps[i].ms * UINT64_C(1000000);
		nnapi_failing.times = steps[i].failing;
		nnapi_failing.result = ANEURALNETWORKS_DEAD_OBJECT;
		nnapi_calls[0] = '\0';
		run(info, &value, &context);
		if (last || ((float *)context.out[0].data)[0] != 7 ||
		    count_text(nnapi_calls, "for 1, ") != steps[i].compiled)
			fail_msg("step %zu: %s: %s", i, last ? last->text : "no error", nnapi_calls);
	}
	nna_log_set(NULL, NULL, NNA_LOG_ERROR);
	nnapi_failing.times = 0;
	played_type = 0;
	played_ns = 0;
	free(context.out[0].data);
	release_part(ep, info);
	release(factory, ep);
	unload(factory);
}

/* The provider accepts at most eight dimensions of an input. */
static void test_ranks(void **unused)
{
	static const struct OrtValueInfo in = { "x", { ONNX_FLOAT, 8, { -1, 1, 1, 1, 1, 1, 1, 2 } }, NULL, false };
	static const struct OrtValueInfo out = { "y", { ONNX_FLOAT, 8, { -1, 1, 1, 1, 1, 1, 1, 2 } }, NULL, true };
	static const struct OrtNode node = { .op = "Relu", .version = 14, .in = { &in }, .out = { &out },
					     .in_count = 1, .out_count = 1 };
	const struct OrtGraph graph = { { &node }, { &in }, { &out }, 1, 1, 1 };
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, NULL, NULL);
	struct OrtKernelContext context = { .in = { NULL } };
	float data[] = { -1, 2 };
	struct OrtValue value = { { ONNX_FLOAT, 8, { 1, 1, 1, 1, 1, 1, 1, 2 } }, data, sizeof(data) };
	struct ort_node_compute_info *info;

	(void)unused;
	info = compile_part(ep, &graph, &fused);
	run(info, &value, &context);
	assert_null(last);
	assert_int_equal(context.out[0].info.rank, 8);
	assert_true(((float *)context.out[0].data)[0] == 0 && ((float *)context.out[0].data)[1] == 2);
	value.info = (struct OrtTensorTypeAndShapeInfo){ ONNX_FLOAT, 9, { 1, 1, 1, 1, 1, 1, 1, 2, 1 } };
	run(info, &value, &context);
	assert_non_null(strstr(last->text, "input 0"));
	free(context.out[0].data);
	release_part(ep, info);
	release(factory, ep);
	unload(factory);
}

/* A reduction is compiled for the values of its axes, of which there may be eight. */
static void test_eight_axes(void **unused)
{
	static const struct OrtValueInfo in = { "x", { ONNX_FLOAT, 8, { -1, 1, 1, 1, 1, 1, 1, 3 } }, NULL, false };
	static const struct OrtValueInfo axes = { "a", { ONNX_INT64, 1, { 8 } }, NULL, false };
	static const struct OrtValueInfo out = { "y", { ONNX_FLOAT, 8, { 1, 1, 1, 1, 1, 1, 1, 1 } }, NULL, true };
	static const struct OrtNode node = { .op = "ReduceSum", .version = 13, .in = { &in, &axes },
					     .out = { &out }, .in_count = 2, .out_count = 1 };
	static const struct OrtGraph graph = { { &node }, { &in, &axes }, { &out }, 1, 2, 1 };
	static const struct OrtNode whole = { .op = "whole", .in = { &in, &axes }, .out = { &out },
					      .in_count = 2, .out_count = 1 };
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, NULL, NULL);
	struct OrtKernelContext context = { .in = { NULL } };
	float data[] = { 1, 2, 4 };
	int64_t all[] = { 7, 6, 5, 4, 3, 2, 1, 0 };
	struct OrtValue value = { { ONNX_FLOAT, 8, { 1, 1, 1, 1, 1, 1, 1, 3 } }, data, sizeof(data) };
	struct OrtValue list = { { ONNX_INT64, 1, { 8 } }, all, sizeof(all) };
	struct ort_node_compute_info *info;

	(void)unused;
	info = compile_part(ep, &graph, &whole);
	context.in[1] = &list;
	run(info, &value, &context);
	assert_null(last);
	assert_true(*(float *)context.out[0].data == 7);
	free(context.out[0].data);
	release_part(ep, info);
	release(factory, ep);
	unload(factory);
}

struct door {
	atomic_bool shut;
	atomic_int reached;		/* number of threads that came to the door while it was shut */
	atomic_int admitted;		/* number of them that may pass the shut door, the first first */
};

static void pass(struct door *door)
{
	const int place = door->shut ? ++door->reached : 0;

	while (door->shut && door->admitted < place)
		sched_yield();
}

static void shut(struct door *door)
{
	door->reached = door->admitted = 0;
	door->shut = true;
}

/*
 * Compilations wait while the door is shut. The next gate.times compilations fail with
 * gate.result.
 */
static struct {
	struct door door;
	uint64_t ns;					/* how long a compilation takes on the played clock */
	int times, result;
	const ANeuralNetworksCompilation *failed;	/* last compilation that failed with gate.result */
	int freed;		/* how often the compilation `failed` was freed */
} gate;

int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation *compilation)
{
	static int (*finish)(ANeuralNetworksCompilation *compilation);

	if (!finish)
		*(void **)&finish = dlsym(RTLD_NEXT, __func__);
	pass(&gate.door);
	played_ns += gate.ns;
	if (!gate.times)
		return finish(compilation);
	gate.times--;
	gate.failed = compilation;
	gate.freed = 0;
	nna_log(NNA_LOG_ERROR, "%s: told to fail", __func__);
	return gate.result;
}

void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation *compilation)
{
	void (*next)(ANeuralNetworksCompilation *);

	*(void **)&next = dlsym(RTLD_NEXT, __func__);
	gate.freed += compilation == gate.failed;
	next(compilation);
}

static void take_line(void *context, enum nna_log_level level, const char *line)
{
	char *text = context;

	sprintf(text + strlen(text), "%s: %s\n", nna_log_level_name(level), line);
}

#define FAILED(name) "ANeuralNetworks" name ": told to fail\n"
#define TAKES_PLACE(level, name) \
	level ": onnxruntime: the CPU computes instead of nnapi-reference: " FAILED(name)
#define RUN "Execution_burstCompute"
#define COMPILATION "Compilation_finish"

/*
 * The device is not paused if the CPU cannot compute the run either, or if only one shape cannot be
 * compiled for the device. No part is then compiled again after the time of a pause.
 */
static void test_no_pause(void **unused)
{
	static const struct {
		int result, runs, compilations;	/* numbers of failing runs and compilations */
		int compiled;		/* number of compilations of the two runs before the pause */
		bool fails;
	} cases[] = {
		{ ANEURALNETWORKS_OP_FAILED, 3, 0, 4, true },
		{ ANEURALNETWORKS_BAD_DATA, 0, 1, 2, false },
		{ ANEURALNETWORKS_BAD_DATA, 0, 2, 2, true },
	};
	struct ort_ep_factory *factory = load();
	float data[] = { 1, 2 };
	const struct OrtValue value = { { ONNX_FLOAT, 2, { 1, 2 } }, data, sizeof(data) };

	(void)unused;
	played_type = ANEURALNETWORKS_DEVICE_ACCELERATOR;
	played_ns = 1000000000;
	nna_log_set(NULL, NULL, NNA_LOG_NONE);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ort_ep *ep = provider(factory, NULL, NULL);
		struct OrtKernelContext context = { .in = { NULL } };
		struct ort_node_compute_info *info;

		info = compile_part(ep, &part, &fused);
		nnapi_failing.result = gate.result = cases[i].result;
		nnapi_failing.times = cases[i].runs;
		gate.times = cases[i].compilations;
		nnapi_calls[0] = '\0';
		for (int k = 0; k < 3; k++) {
			const bool fails = cases[i].fails && (!k || cases[i].compilations);
			const int compiled = cases[i].compiled;

			if (k == 2)
				played_ns += UINT64_C(60000000000);
			run(info, &value, &context);
			if (!last != !fails || (k && count_text(nnapi_calls, "for 1, ") != compiled))
				fail_msg("case %zu, run %d: %s: %s", i, k, last ? last->text : "good", nnapi_calls);
			if (fails && cases[i].compilations)
				assert_non_null(strstr(last->text, "BAD_DATA: ANeuralNetworksCompilation_finish: told to fail"));
		}
		free(context.out[0].data);
		release_part(ep, info);
		release(factory, ep);
	}
	nna_log_set(NULL, NULL, NNA_LOG_ERROR);
	nnapi_failing.times = gate.times = 0;
	played_type = 0;
	played_ns = 0;
	unload(factory);
}

/*
 * If two parts fail for the same reason, the provider logs only once that the CPU replaces the
 * device.
 */
static void test_fallbacks(void **unused)
{
	static const struct {
		const char *name;
		int runs, compilations;	/* numbers of failing runs and compilations of each part */
		int result;
		const char *option;
		enum nna_log_level level;
		const char *told;
		bool fails;
	} cases[] = {
		{ "runs", 2, 0, ANEURALNETWORKS_OP_FAILED, NULL, NNA_LOG_ERROR, TAKES_PLACE("note", RUN), false },
		{ "compilations", 0, 1, ANEURALNETWORKS_UNAVAILABLE_DEVICE, NULL, NNA_LOG_NOTE,
		  TAKES_PLACE("note", COMPILATION), false },
		{ "a known cause", 2, 0, ANEURALNETWORKS_OP_FAILED, NULL, NNA_LOG_ERROR, "", false },
		{ "a run that is good again", 1, 0, ANEURALNETWORKS_OP_FAILED, NULL, NNA_LOG_ERROR, "", false },
		{ "all lines", 2, 0, ANEURALNETWORKS_OP_FAILED, NULL, NNA_LOG_WARN,
		  "warn: " FAILED(RUN) TAKES_PLACE("warn", RUN) "warn: " FAILED(RUN) TAKES_PLACE("warn", RUN), false },
		{ "no line", 2, 0, ANEURALNETWORKS_DEAD_OBJECT, NULL, NNA_LOG_NONE, "", false },
		{ "the CPU not allowed", 2, 0, ANEURALNETWORKS_OP_FAILED, "ep.nn.disallow_cpu", NNA_LOG_ERROR,
		  "error: " FAILED(RUN) "error: " FAILED(RUN), true },
		{ "compilations without the CPU", 0, 1, ANEURALNETWORKS_OP_FAILED, "ep.nn.disallow_cpu",
		  NNA_LOG_ERROR, "error: " FAILED(COMPILATION) "error: " FAILED(COMPILATION), true },
		{ "no failure of the device", 1, 0, ANEURALNETWORKS_BAD_DATA, NULL, NNA_LOG_ERROR,
		  "error: " FAILED(RUN) "error: " FAILED(RUN), true },
	};
	const struct OrtGraph *graphs[] = { &part, &part };
	const struct OrtNode *nodes[] = { &fused, &fused };
	float data[] = { 1, 2 };
	const struct OrtValue value = { { ONNX_FLOAT, 2, { 1, 2 } }, data, sizeof(data) };
	struct ort_ep_factory *factory = load();

	(void)unused;
	played_ns = 1000000000;
	played_type = ANEURALNETWORKS_DEVICE_ACCELERATOR;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ort_ep *ep = provider(factory, cases[i].option, "1");
		OrtNodeComputeInfo *infos[2];
		OrtNode *none_made[2];
		char told[2048] = "";

		assert_non_null(ep);
		nna_log_set(take_line, told, cases[i].level);
		assert_null(ep->Compile((OrtEp *)ep, graphs, nodes, 2, infos, none_made));
		nnapi_failing.result = gate.result = cases[i].result;
		for (int k = 0; k < 2; k++) {
			struct OrtKernelContext context = { .in = { NULL } };

			nnapi_calls[0] = '\0';
			nnapi_failing.times = cases[i].runs;
			gate.times = cases[i].compilations;
			run((struct ort_node_compute_info *)infos[k], &value, &context);
			if (!last != !cases[i].fails || (!last && ((float *)context.out[0].data)[0] != 7))
				fail_msg("%s: %s", cases[i].name, last ? last->text : "wrong");
			free(context.out[0].data);
		}
		if (strcmp(told, cases[i].told))
			fail_msg("%s: %s", cases[i].name, told);
		nna_log_set(NULL, NULL, NNA_LOG_ERROR);
		ep->ReleaseNodeComputeInfos((OrtEp *)ep, infos, 2);
		release(factory, ep);
	}
	played_ns = 0;
	played_type = 0;
	nnapi_failing.times = gate.times = 0;
	unload(factory);
}

/*
 * The provider converts int64 inputs to int32. A run with an input number beyond int32 fails with the
 * name of the input unchanged, and the next run succeeds.
 */
static void test_numbers_that_do_not_fit(void **unused)
{
	static const struct OrtValueInfo in = { "%%in", { ONNX_INT64, 2, { 1, 2 } }, NULL, false };
	static const struct OrtValueInfo out = { "out", { ONNX_INT64, 2, { 2, 1 } }, NULL, true };
	static const struct OrtNode transpose = { .op = "Transpose", .version = 13, .in = { &in }, .out = { &out },
					     .in_count = 1, .out_count = 1 };
	static const struct OrtNode whole = { .op = "fused", .in = { &in }, .out = { &out }, .in_count = 1,
					      .out_count = 1 };
	static const struct OrtGraph graph = { { &transpose }, { &in }, { &out }, 1, 1, 1 };
	static const struct {
		int64_t data[2];
		const char *message;
	} cases[] = {
		{ { INT32_MIN, INT32_MAX }, NULL },
		{ { 5, INT64_C(1) << 31 }, "input %%in: 2147483648 does not fit int32" },
		{ { INT32_MIN - INT64_C(1), 5 }, "input %%in: -2147483649 does not fit int32" },
		{ { -7, 8 }, NULL },
	};
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, NULL, NULL);
	struct OrtKernelContext context = { .in = { NULL } };
	struct ort_node_compute_info *info;

	(void)unused;
	info = compile_part(ep, &graph, &whole);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct OrtValue value = { { ONNX_INT64, 2, { 1, 2 } }, (void *)cases[i].data,
						sizeof(cases[i].data) };

		run(info, &value, &context);
		assert_int_equal(!last, !cases[i].message);
		if (last)
			assert_non_null(strstr(last->text, cases[i].message));
		else
			assert_memory_equal(context.out[0].data, cases[i].data, sizeof(cases[i].data));
	}
	free(context.out[0].data);
	release_part(ep, info);
	release(factory, ep);
	unload(factory);
}

/* The provider keeps the compilations for the 8 most recently used shapes. */
static void test_usual_shapes(void **unused)
{
	static const struct {
		int64_t rows;
		bool is_compiled;
	} runs[] = {
		{ 1, true }, { 2, true }, { 3, true }, { 4, true }, { 5, true }, { 6, true },
		{ 7, true }, { 8, true }, { 1, false }, { 9, true }, { 1, false }, { 3, false },
		{ 2, true }, { 4, true },
	};
	static float data[18];
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, NULL, NULL);
	struct OrtKernelContext context = { .in = { NULL } };
	struct ort_node_compute_info *info;

	(void)unused;
	info = compile_part(ep, &part, &fused);
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		const struct OrtValue value = { { ONNX_FLOAT, 2, { runs[i].rows, 2 } }, data,
						(size_t)runs[i].rows * 8 };

		nnapi_calls[0] = '\0';
		run(info, &value, &context);
		assert_null(last);
		assert_int_equal(!!strstr(nnapi_calls, "for 1"), runs[i].is_compiled);
	}
	free(context.out[0].data);
	release_part(ep, info);
	release(factory, ep);
	unload(factory);
}

/* ---- runs of several threads ---- */

static OrtStatus *run_rows(struct ort_node_compute_info *info, int64_t rows)
{
	float data[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	const struct OrtValue value = { { ONNX_FLOAT, 2, { rows, 2 } }, data,
					(size_t)rows * 2 * sizeof(float) };
	struct OrtKernelContext context = { .in = { &value } };
	OrtStatus *status;

	status = info->Compute((OrtNodeComputeInfo *)info, NULL, &context);
	free(context.out[0].data);
	return status;
}

/* If the compilation for a shape failed, the next run with this shape compiles again. */
static void test_compilation_fails(void **unused)
{
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, NULL, NULL);
	struct ort_node_compute_info *info;
	OrtStatus *status;

	(void)unused;
	info = compile_part(ep, &part, &fused);
	gate.result = ANEURALNETWORKS_OP_FAILED;
	gate.times = 2;
	for (int i = 0; i < 2; i++) {
		status = run_rows(info, 2);
		assert_non_null(status);
		assert_string_equal(status->text, "nnaccel: cannot compile 2 operations: OP_FAILED");
		assert_int_equal(gate.freed, 1);
		release_status(status);
	}
	assert_null(run_rows(info, 2));
	release_part(ep, info);
	release(factory, ep);
	unload(factory);
}

static void *run_three_rows(void *info)
{
	return run_rows(info, 3);
}

/* Runs two rows while two other runs of other shapes wait at the door. */
static void run_beside(struct ort_node_compute_info *info, void *(*run_other)(void *info),
		       struct door *door)
{
	pthread_t others[2];
	void *status;

	alarm(60);
	shut(door);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&others[i], NULL, run_other, info), 0);
	while (!door->reached)
		sched_yield();
	assert_null(run_rows(info, 2));
	door->shut = false;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(others[i], &status), 0);
		assert_null(status);
	}
	alarm(0);
}

/* A run with a shape that is already compiled does not wait while another shape is compiled. */
static void test_run_while_compiling(void **unused)
{
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, NULL, NULL);
	struct ort_node_compute_info *info;

	(void)unused;
	info = compile_part(ep, &part, &fused);
	assert_null(run_rows(info, 2));
	run_beside(info, run_three_rows, &gate.door);
	release_part(ep, info);
	release(factory, ep);
	unload(factory);
}

static void *run_four_rows(void *info)
{
	return run_rows(info, 4);
}

/*
 * Two runs compile for different shapes at the same time, and the first to begin is the first to end.
 * A third run does not wait for the second compilation. Later runs compile nothing.
 */
static void test_compilations_overlap(void **unused)
{
	static void *(*const runs[2])(void *info) = { run_three_rows, run_four_rows };
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, NULL, NULL);
	struct ort_node_compute_info *info;
	pthread_t threads[2];
	void *status;

	(void)unused;
	info = compile_part(ep, &part, &fused);
	alarm(60);
	shut(&gate.door);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, runs[i], info), 0);
		while (gate.door.reached <= i)
			sched_yield();
	}
	for (int i = 0; i < 2; i++) {
		gate.door.admitted++;
		assert_int_equal(pthread_join(threads[i], &status), 0);
		assert_null(status);
		assert_null(run_rows(info, 3));
	}
	assert_null(run_rows(info, 4));
	assert_int_equal(gate.door.reached, 2);
	gate.door.shut = false;
	alarm(0);
	release_part(ep, info);
	release(factory, ep);
	unload(factory);
}

/* Number of runs of the session. The session takes 10 ms on the played clock. */
static int session_runs;

static OrtStatus *count_session(const OrtValue *const *in, OrtValue *out)
{
	static float data[18];

	session_runs++;
	played_ns += UINT64_C(10000000);
	*out = (OrtValue){ { ONNX_FLOAT, 2, { in[0]->info.dims[0], 3 } }, data,
			   (size_t)in[0]->info.dims[0] * 12 };
	return NULL;
}

static OrtStatus *fail_session(const OrtValue *const *in, OrtValue *out)
{
	(void)in;
	(void)out;
	session_runs++;
	return create_status(1, "told to fail");
}

/*
 * The part is compiled at once for three sets of shapes. ONNX Runtime's CPU computes other shapes until
 * that has taken as long as a compilation. Nothing waits if the CPU may not or cannot compute the part.
 */
static void test_shapes_wait(void **unused)
{
	static const struct {
		const char *disallow_cpu;
		OrtStatus *(*session)(const OrtValue *const *in, OrtValue *out);
		struct {
			int64_t rows;
			int compilations, sessions;	/* of the run */
		} steps[12];
	} cases[] = {
		{ "0", count_session, { { 1, 1, 0 }, { 2, 1, 0 }, { 3, 1, 0 }, { 4, 0, 1 }, { 5, 0, 1 }, { 4, 0, 1 },
					{ 1, 0, 0 }, { 4, 0, 1 }, { 4, 1, 0 }, { 4, 0, 0 }, { 5, 0, 1 }, { 6, 0, 1 } } },
		{ "1", count_session, { { 1, 1, 0 }, { 2, 1, 0 }, { 3, 1, 0 }, { 4, 1, 0 }, { 5, 1, 0 } } },
		{ "0", fail_session, { { 1, 1, 0 }, { 2, 1, 0 }, { 3, 1, 0 }, { 4, 1, 1 }, { 5, 1, 0 } } },
	};
	struct ort_ep_factory *factory = load();

	(void)unused;
	played_type = ANEURALNETWORKS_DEVICE_ACCELERATOR;
	played_ns = 1000000000;
	gate.ns = 25000000;
	while_in_making = ask_while_in_making;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ort_ep *ep = asked_ep = provider(factory, "ep.nn.disallow_cpu", cases[i].disallow_cpu);
		struct ort_node_compute_info *info = compile_part(ep, &part, &fused);
		char told[2048] = "";

		played_session = cases[i].session;
		nna_log_set(take_line, told, NNA_LOG_INFO);
		for (int k = 0; k < 12 && cases[i].steps[k].rows; k++) {
			nnapi_calls[0] = '\0';
			session_runs = 0;
			assert_null(run_rows(info, cases[i].steps[k].rows));
			assert_int_equal(count_text(nnapi_calls, "for 1, "), cases[i].steps[k].compilations);
			assert_int_equal(session_runs, cases[i].steps[k].sessions);
		}
		nna_log_set(NULL, NULL, NNA_LOG_ERROR);
		assert_int_equal(count_text(told, "a part of 2 nodes: compiling for new shapes takes 25 ms\n"),
				 i ? 0 : 6);
		release_part(ep, info);
		release(factory, ep);
	}
	played_session = NULL;
	gate.ns = played_ns = 0;
	played_type = 0;
	unload(factory);
}

static struct door making;

static void wait_while_in_making(void)
{
	pass(&making);
}

static void *run_other_columns(void *info)
{
	float data[] = { 1, 2, 3 };
	const struct OrtValue value = { { ONNX_FLOAT, 2, { 1, 3 } }, data, sizeof(data) };
	struct OrtKernelContext context = { .in = { &value } };
	OrtStatus *status;

	status = ((struct ort_node_compute_info *)info)->Compute(info, NULL, &context);
	free(context.out[0].data);
	return status;
}

/*
 * A run that the device computes does not wait while a session for other shapes is made. Two runs
 * that need the session share it.
 */
static void test_run_while_in_making(void **unused)
{
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, NULL, NULL);
	struct ort_node_compute_info *info;

	(void)unused;
	info = compile_part(ep, &part, &fused);
	played_session = as_session;
	while_in_making = wait_while_in_making;
	run_beside(info, run_other_columns, &making);
	assert_int_equal(played_sessions, 2);	/* a session and its environment */
	played_session = NULL;
	release_part(ep, info);
	assert_int_equal(played_sessions, 0);
	release(factory, ep);
	unload(factory);
}

static unsigned int translations;	/* number of calls of translation_new() */
typedef void *new_translation(const void *graph, void *builder, const void *devices);
new_translation __real_translation_new, __wrap_translation_new;

void *__wrap_translation_new(const void *graph, void *builder, const void *devices)
{
	translations++;
	return __real_translation_new(graph, builder, devices);
}

/*
 * A part that cannot be translated is translated once for each of the 8 most recent shapes, and ONNX
 * Runtime is asked once for a session. The compilation for a good shape is kept.
 */
static void test_refused_once(void **unused)
{
	static const struct {
		int64_t columns;	/* 2: the part can be translated */
		bool is_translated;
	} runs[] = {
		{ 2, true }, { 3, true }, { 3, false }, { 4, true }, { 3, false }, { 4, false }, { 5, true },
		{ 6, true }, { 7, true }, { 8, true }, { 9, true }, { 10, true }, { 3, false }, { 11, true },
		{ 2, false }, { 3, false }, { 4, true }, { 6, false }, { 5, true },
	};
	static float data[11];
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, NULL, NULL);
	struct OrtKernelContext context = { .in = { NULL } };
	struct ort_node_compute_info *info;

	(void)unused;
	info = compile_part(ep, &part, &fused);
	played_tries = 0;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		const struct OrtValue value = { { ONNX_FLOAT, 2, { 1, runs[i].columns } }, data,
						(size_t)runs[i].columns * 4 };

		translations = 0;
		run(info, &value, &context);
		if (translations != runs[i].is_translated || !last != (runs[i].columns == 2) ||
		    (last && !strstr(last->text, "MatMul")))
			fail_msg("run %zu: %u translations, %s", i, translations, last ? last->text : "good");
	}
	assert_int_equal(played_tries, 1);
	free(context.out[0].data);
	release_part(ep, info);
	release(factory, ep);
	unload(factory);
}

/* ---- constants that are smaller than another tensor's shape says ---- */

/* Copies `data` to the end of a page, before a page that cannot be accessed. */
static void *guarded(const void *data, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page - 1) / page * page;
	char *at = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(mprotect(at + room, page, PROT_NONE), 0);
	return memcpy(at + room - size, data, size);
}

/* A constant that has at most 4 dimensions, and whose elements are all 1. */
struct constant {
	struct OrtValueInfo info;
	struct OrtValue value;
};

static struct constant *constant(const char *name, int type, size_t element, size_t rank,
				 const int64_t *dims)
{
	struct constant *c = calloc(1, sizeof(*c));
	size_t count = 1;
	char *ones;

	assert_non_null(c);
	for (size_t i = 0; i < rank; i++)
		count *= (size_t)dims[i];
	ones = calloc(count, element);
	assert_non_null(ones);
	for (size_t i = 0; i < count; i++) {
		if (type == ONNX_FLOAT)
			memcpy(ones + i * element, &(float){ 1 }, element);
		else
			ones[i * element] = 1;
	}
	c->value = (struct OrtValue){ { type, rank, { 0 } }, guarded(ones, count * element),
				      count * element };
	memcpy(c->value.info.dims, dims, rank * sizeof(*dims));
	c->info = (struct OrtValueInfo){ name, c->value.info, &c->value, false };
	free(ones);
	return c;
}

#define DIMS(...) sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), (int64_t[]){ __VA_ARGS__ }

static void free_constant(struct constant *c)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (c->value.size + page - 1) / page * page;

	munmap((char *)c->value.data + c->value.size - room, room + page);
	free(c);
}

/*
 * Checks that the provider does not claim a graph of one node. If ONNX Runtime compiles a graph
 * that the provider did not claim, the compilation must fail with a message that contains `why`.
 */
static void refused(const struct OrtGraph *graph, const char *why)
{
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, "ep.nn.min_work", "0");
	struct OrtNode whole = { .op = "whole", .in_count = graph->in_count,
				 .out_count = graph->out_count };
	const struct OrtGraph *graphs[] = { graph };
	const struct OrtNode *nodes[] = { &whole };
	struct OrtEpGraphSupportInfo info = { .count = 0 };
	OrtNodeComputeInfo *infos[1];
	OrtNode *none_made[1];

	memcpy(whole.in, graph->in, sizeof(whole.in));
	memcpy(whole.out, graph->out, sizeof(whole.out));
	assert_null(ep->GetCapability((OrtEp *)ep, graph, &info));
	assert_true(!info.count || graph->node_count > 1);
	release_status(last);
	last = ep->Compile((OrtEp *)ep, graphs, nodes, 1, infos, none_made);
	assert_non_null(last);
	if (!strstr(last->text, why))
		fail_msg("\"%s\" does not say \"%s\"", last->text, why);
	release(factory, ep);
	unload(factory);
}

static void test_concat_overflows(void **unused)
{
	struct constant *piece = constant("c", ONNX_INT64, 8, DIMS(65536));
	static const struct OrtValueInfo out = { "y", { ONNX_INT64, 1, { -1 } }, NULL, true };
	static const int64_t zero;
	const struct OrtOpAttr axis = { "axis", ORT_ATTRIBUTE_INT, &zero, sizeof(zero) };
	struct OrtNode node = { .op = "Concat", .version = 13, .out = { &out }, .in_count = 32768,
				.out_count = 1, .attribute_count = 1, .attributes = { &axis },
				.every_in = &piece->info };
	const struct OrtGraph graph = { { &node }, { &piece->info }, { &out }, 1, 0, 1 };

	(void)unused;
	refused(&graph, "Concat");
	free_constant(piece);
}

static void test_missing_input(void **unused)
{
	static const struct OrtValueInfo value = { "x", { ONNX_FLOAT, 2, { 2, 2 } }, NULL, false };
	static const struct OrtValueInfo out = { "y", { ONNX_FLOAT, 2, { 2, 2 } }, NULL, true };

	(void)unused;
	for (int i = 0; i < 2; i++) {
		const struct OrtNode node = { .op = "Add", .version = 14, .in = { i ? &value : NULL, i ? NULL : &value },
					      .out = { &out }, .in_count = 2, .out_count = 1 };
		const struct OrtGraph graph = { { &node }, { &value }, { &out }, 1, 1, 1 };

		refused(&graph, i ? "Add: input 1 is missing" : "Add: input 0 is missing");
	}
}

/*
 * The provider rejects a node whose output has a wrong type, because ONNX Runtime would allocate a
 * wrong size, and an operation that it does not know. The error has the operation's name unchanged.
 */
static void test_other_type(void **unused)
{
	static const struct {
		const char *op, *why;
		int version, in, out;
	} cases[] = {
		{ "Not", "output 0 is of int64", 1, ONNX_BOOL, ONNX_INT64 },
		{ "Acosh", "the NNAPI has no uint16 tensors", 9, ONNX_FLOAT16, ONNX_UINT16 },
		{ "100%%", "100%%: ", 1, ONNX_FLOAT, ONNX_FLOAT },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct OrtValueInfo in = { "x", { cases[i].in, 1, { 64 } }, NULL, false };
		const struct OrtValueInfo out = { "y", { cases[i].out, 1, { 64 } }, NULL, true };
		const struct OrtNode node = { .op = cases[i].op, .version = cases[i].version, .in = { &in },
					      .out = { &out }, .in_count = 1, .out_count = 1 };
		const struct OrtGraph graph = { { &node }, { &in }, { &out }, 1, 1, 1 };

		refused(&graph, cases[i].why);
	}
}

/*
 * QLinearConcat's first inputs are the scale and zero point of the result; the remaining inputs are
 * the tensors. The zero point of QLinearConcat's result may be omitted.
 */
static void test_no_zero_point(void **unused)
{
	struct constant *scale = constant("s", ONNX_FLOAT, sizeof(float), DIMS(1));
	static const struct OrtValueInfo in = { "x", { ONNX_UINT8, 1, { 4 } }, NULL, false };
	static const struct OrtValueInfo out = { "y", { ONNX_UINT8, 1, { 8 } }, NULL, true };
	static const int64_t zero;
	const struct OrtOpAttr axis = { "axis", ORT_ATTRIBUTE_INT, &zero, sizeof(zero) };
	const struct OrtNode node = { .op = "microsoft:QLinearConcat", .version = 1,
				      .in = { &scale->info, NULL, &in, &scale->info, NULL, &in,
					      &scale->info, NULL },
				      .out = { &out }, .in_count = 8, .out_count = 1,
				      .attribute_count = 1, .attributes = { &axis } };
	const struct OrtGraph graph = { { &node }, { &in }, { &out }, 1, 1, 1 };
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, "ep.nn.min_work", "0");
	struct OrtEpGraphSupportInfo info = { .count = 0 };

	(void)unused;
	assert_null(ep->GetCapability((OrtEp *)ep, &graph, &info));
	assert_int_equal(info.count, 1);
	release(factory, ep);
	unload(factory);
	free_constant(scale);
}

/*
 * The provider rejects recurrent operators with two units if an optional input has only one
 * element.
 */
static void test_short_recurrent(void **unused)
{
	static const char *const ops[] = { "LSTM", "GRU", "RNN" };
	static const int64_t gates[] = { 4, 3, 1 }, units = 2;
	static const int indices[] = { 3, 5, 6, 7 };
	static const struct OrtValueInfo data = { "x", { ONNX_FLOAT, 3, { 1, 1, 1 } }, NULL, false };
	static const struct OrtValueInfo out = { "y", { ONNX_FLOAT, 4, { 1, 1, 1, 2 } }, NULL, true };
	const struct OrtOpAttr size = { "hidden_size", ORT_ATTRIBUTE_INT, &units, sizeof(units) };

	(void)unused;
	for (int op = 0; op < 3; op++) {
		struct constant *weight = constant("w", ONNX_FLOAT, 4, DIMS(1, gates[op] * units, 1));
		struct constant *back = constant("r", ONNX_FLOAT, 4, DIMS(1, gates[op] * units, units));
		struct constant *small = constant("s", ONNX_FLOAT, 4, DIMS(1));

		for (size_t i = 0; i < (op ? 2 : 4); i++) {
			struct OrtNode node = { .op = ops[op], .version = 14,
						.in = { &data, &weight->info, &back->info },
						.out = { &out }, .in_count = 8, .out_count = 1,
						.attribute_count = 1, .attributes = { &size } };
			const struct OrtGraph graph = { { &node }, { &data }, { &out }, 1, 1, 1 };
			char input[16];

			node.in[indices[i]] = &small->info;
			snprintf(input, sizeof(input), "input %d", indices[i]);
			refused(&graph, input);
		}
		free_constant(weight);
		free_constant(back);
		free_constant(small);
	}
}

/*
 * The provider rejects a quantised convolution with 4096 filters but only one bias, or only one
 * scale.
 */
static void test_short_bias(void **unused)
{
	static const struct OrtValueInfo data = { "x", { ONNX_UINT8, 4, { 1, 1, 2, 2 } }, NULL, false };
	static const struct OrtValueInfo real = { "xr", { ONNX_FLOAT, 4, { 1, 1, 2, 2 } }, NULL,
						  false };
	static const struct OrtValueInfo filter = { "wr", { ONNX_FLOAT, 4, { 4096, 1, 1, 1 } }, NULL,
						    false };
	static const struct OrtValueInfo result = { "yr", { ONNX_FLOAT, 4, { 1, 4096, 2, 2 } }, NULL,
						    false };
	static const struct OrtValueInfo out = { "y", { ONNX_UINT8, 4, { 1, 4096, 2, 2 } }, NULL,
						 true };
	struct constant *scale = constant("s", ONNX_FLOAT, 4, DIMS(1));
	struct constant *zero = constant("z", ONNX_UINT8, 1, DIMS(1));
	struct constant *weight = constant("w", ONNX_UINT8, 1, DIMS(4096, 1, 1, 1));
	struct constant *bias = constant("b", ONNX_FLOAT, 4, DIMS(1));
	const struct OrtNode x_node = { .op = "DequantizeLinear", .version = 13,
					.in = { &data, &scale->info, &zero->info }, .out = { &real },
					.in_count = 3, .out_count = 1 };
	const struct OrtNode w_node = { .op = "DequantizeLinear", .version = 13,
					.in = { &weight->info, &scale->info, &zero->info },
					.out = { &filter }, .in_count = 3, .out_count = 1 };
	const struct OrtNode conv = { .op = "Conv", .version = 11,
				      .in = { &real, &filter, &bias->info }, .out = { &result },
				      .in_count = 3, .out_count = 1 };
	const struct OrtNode y_node = { .op = "QuantizeLinear", .version = 13,
					.in = { &result, &scale->info, &zero->info }, .out = { &out },
					.in_count = 3, .out_count = 1 };
	const struct OrtGraph graph = { { &x_node, &w_node, &conv, &y_node }, { &data }, { &out },
					4, 1, 1 };

	(void)unused;
	refused(&graph, "Conv");
	free_constant(scale);
	free_constant(zero);
	free_constant(weight);
	free_constant(bias);
}

/* ---- numbers that are too large to compute with ---- */

/*
 * The provider converts negative indices through floats, which limits the length of the indexed
 * axis.
 */
static void test_long_axis(void **unused)
{
	static const int64_t size = (1 << 24) + 2, one = 1, last_index = 1;
	static const struct OrtValueInfo in = { "x", { ONNX_FLOAT, 1, { size } }, NULL, false };
	static const struct OrtValueInfo out = { "y", { ONNX_INT64, 1, { 1 } }, NULL, true };
	static const struct OrtValueInfo most = { "m", { ONNX_FLOAT, 1, { 1 } }, NULL, true };
	static const struct OrtValue k_value = { { ONNX_INT64, 1, { 1 } }, (void *)&one, sizeof(one) };
	static const struct OrtValueInfo k = { "k", { ONNX_INT64, 1, { 1 } }, &k_value, false };
	static const struct OrtOpAttr last_of = { "select_last_index", ORT_ATTRIBUTE_INT, &last_index,
						  sizeof(last_index) };
	const struct OrtNode arg = { .op = "ArgMax", .version = 13, .in = { &in }, .out = { &out },
				     .in_count = 1, .out_count = 1, .attribute_count = 1,
				     .attributes = { &last_of } };
	const struct OrtNode top = { .op = "TopK", .version = 11, .in = { &in, &k },
				     .out = { &most, &out }, .in_count = 2, .out_count = 2 };
	/* An axis of a Gather with variable indices must be shorter. */
	static const struct OrtValueInfo from = { "f", { ONNX_FLOAT, 1, { 1 << 24 } }, NULL, false };
	static const struct OrtValueInfo at = { "i", { ONNX_INT64, 1, { 1 } }, NULL, false };
	const struct OrtNode gather = { .op = "Gather", .version = 13, .in = { &from, &at },
					.out = { &most }, .in_count = 2, .out_count = 1 };
	const struct OrtGraph graphs[] = {
		{ { &arg }, { &in }, { &out }, 1, 1, 1 }, { { &top }, { &in }, { &most, &out }, 1, 1, 2 },
		{ { &gather }, { &from, &at }, { &most }, 1, 2, 1 },
	};

	(void)unused;
	refused(&graphs[0], "at most 16777216");
	refused(&graphs[1], "at most 16777216");
	refused(&graphs[2], "indices of 1 dimensions, or their axis, are too large");
}

/*
 * The provider rejects a node if one of three constants has the largest or the smallest int64
 * value.
 */
static void test_far_numbers(void **unused)
{
	static const int64_t far[] = { INT64_MIN, INT64_MAX }, one = 1;
	static const struct OrtValueInfo out = { "y", { ONNX_INT64, 1, { -1 } }, NULL, true };
	struct OrtValue values[3];
	struct OrtValueInfo infos[3];

	(void)unused;
	for (int i = 0; i < 6; i++) {
		const struct OrtNode node = { .op = "Range", .version = 11,
					      .in = { &infos[0], &infos[1], &infos[2] },
					      .out = { &out }, .in_count = 3, .out_count = 1 };
		const struct OrtGraph graph = { { &node }, { NULL }, { &out }, 1, 0, 1 };

		for (int k = 0; k < 3; k++) {
			values[k] = (struct OrtValue){ { ONNX_INT64, 0, { 0 } },
				(void *)(k == i / 2 ? &far[i % 2] : &one), sizeof(one) };
			infos[k] = (struct OrtValueInfo){ k == 0 ? "a" : k == 1 ? "b" : "c",
							  values[k].info, &values[k], false };
		}
		refused(&graph, "must be within");
	}
}

/*
 * The provider rejects a node with very large or very small numbers in an attribute or a constant.
 */
static void far_list(const char *op, int version, const char *name, const int64_t *list, size_t count)
{
	static const struct OrtValueInfo in = { "x", { ONNX_FLOAT, 4, { 1, 4, 2, 2 } }, NULL, false };
	static const struct OrtValueInfo out = { "y", { ONNX_FLOAT, MAX + 1, { 0 } }, NULL, true };
	static const struct OrtValueInfo other = { "z", { ONNX_FLOAT, MAX + 1, { 0 } }, NULL, true };
	const struct OrtOpAttr attribute = { name, count > 1 ? ORT_ATTRIBUTE_INTS : ORT_ATTRIBUTE_INT,
					     list, count * sizeof(*list) };
	struct OrtValue value = { { ONNX_INT64, 1, { (int64_t)count } }, (void *)list,
				  count * sizeof(*list) };
	struct OrtValueInfo constant_list = { "k", value.info, &value, false };
	struct OrtNode node = { .op = op, .version = version, .in = { &in, &constant_list },
				.out = { &out, &other }, .in_count = 2, .out_count = 1 };
	const struct OrtGraph graph = { { &node }, { &in }, { &out }, 1, 1, 1 };

	if (name) {
		node.in[1] = &in;
		node.in_count = !strcmp(op, "ConvTranspose") ? 2 : 1;
		node.attributes[node.attribute_count++] = &attribute;
	}
	if (!strcmp(op, "Split"))
		node.out_count = 2;
	refused(&graph, op);
}

static void test_far_lists(void **unused)
{
	static const int64_t many = INT64_MAX / 2, times[] = { 1, many, 1, 1 };
	static const int64_t parts[] = { 1, INT64_MAX }, more[] = { INT64_MAX, INT64_MAX };

	(void)unused;
	far_list("Tile", 13, NULL, times, 4);
	far_list("Split", 13, NULL, parts, 2);
	far_list("DepthToSpace", 13, "blocksize", &many, 1);
	far_list("SpaceToDepth", 13, "blocksize", &many, 1);
	far_list("ConvTranspose", 11, "output_padding", more, 2);
}

/* The provider rejects a node with an attribute of a wrong type of number. */
static void test_other_kind(void **unused)
{
	static const float half = 0.5f, transposed[] = { 1, 0 };
	static const struct OrtValueInfo any = { "y", { ONNX_FLOAT, 2, { -1, -1 } }, NULL, true };
	static const struct OrtOpAttr perm = { "perm", ORT_ATTRIBUTE_FLOATS, transposed, sizeof(transposed) };
	static const struct OrtValueInfo scores = { "x", { ONNX_FLOAT, 2, { 2, 3 } }, NULL, false };
	static const struct OrtValueInfo labels = { "t", { ONNX_INT64, 1, { 2 } }, NULL, false };
	static const struct OrtValueInfo out = { "y", { ONNX_FLOAT, 0, { 0 } }, NULL, true };
	static const struct OrtOpAttr ignored = { "ignore_index", ORT_ATTRIBUTE_FLOAT, &half,
						  sizeof(half) };
	const struct OrtNode node = { .op = "NegativeLogLikelihoodLoss", .version = 13,
				      .in = { &scores, &labels }, .out = { &out }, .in_count = 2,
				      .out_count = 1, .attribute_count = 1,
				      .attributes = { &ignored } };
	const struct OrtNode transpose = { .op = "Transpose", .version = 13, .in = { &scores },
				      .out = { &any }, .in_count = 1, .out_count = 1,
				      .attribute_count = 1, .attributes = { &perm } };
	const struct OrtGraph graphs[] = {
		{ { &node }, { &scores, &labels }, { &out }, 1, 2, 1 },
		{ { &transpose }, { &scores }, { &any }, 1, 1, 1 },
	};
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, NULL, NULL);
	struct OrtEpGraphSupportInfo info = { .count = 0 };

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		assert_null(ep->GetCapability((OrtEp *)ep, &graphs[i], &info));
		assert_int_equal(info.count, i + 1);
	}
	release(factory, ep);
	unload(factory);
}

/* Tests Trilu with a triangle that begins at diagonal INT64_MIN or INT64_MAX. */
static void test_far_diagonal(void **unused)
{
	static const int64_t far[] = { INT64_MIN, INT64_MAX };
	static const struct OrtValueInfo in = { "x", { ONNX_FLOAT, 2, { 2, 2 } }, NULL, false };
	static const struct OrtValueInfo out = { "y", { ONNX_FLOAT, 2, { 2, 2 } }, NULL, true };
	struct ort_ep_factory *factory = load();
	struct ort_ep *ep = provider(factory, NULL, NULL);
	struct OrtEpGraphSupportInfo info;

	(void)unused;
	for (int i = 0; i < 2; i++) {
		struct OrtValue value = { { ONNX_INT64, 0, { 0 } }, (void *)&far[i], sizeof(far[i]) };
		struct OrtValueInfo k = { "k", value.info, &value, false };
		const struct OrtNode node = { .op = "Trilu", .version = 14, .in = { &in, &k },
					      .out = { &out }, .in_count = 2, .out_count = 1 };
		const struct OrtGraph graph = { { &node }, { &in }, { &out }, 1, 1, 1 };

		memset(&info, 0, sizeof(info));
		assert_null(ep->GetCapability((OrtEp *)ep, &graph, &info));
		assert_int_equal(info.count, 1);
	}
	release(factory, ep);
	unload(factory);
}

/* The provider rejects Resize if the output has too many elements, or if a scale is too large. */
static void test_huge_resize(void **unused)
{
	static const struct OrtValueInfo in = { "x", { ONNX_FLOAT, 4, { 1, 1, 1, 1 } }, NULL, false };
	static const struct OrtValueInfo out = { "y", { ONNX_FLOAT, 4, { -1, -1, -1, -1 } }, NULL, true };
	static const float large[] = { 1, 1, 1 << 20, 1 << 20 }, long_axis[] = { 1, 1, 1, 1 << 21 };
	static const float *const scales[] = { large, long_axis };
	static const char *const reasons[] = { "more than 2^31 elements",
					      "must give an output dimension" };

	(void)unused;
	for (int i = 0; i < 2; i++) {
		struct OrtValue value = { { ONNX_FLOAT, 1, { 4 } }, (void *)scales[i], 4 * sizeof(float) };
		struct OrtValueInfo scale = { "s", value.info, &value, false };
		struct OrtNode node = { .op = "Resize", .version = 13, .in = { &in, NULL, &scale },
					.out = { &out }, .in_count = 3, .out_count = 1 };
		const struct OrtGraph graph = { { &node }, { &in }, { &out }, 1, 1, 1 };

		refused(&graph, reasons[i]);
	}
}

/* Each listed test frees all its memory when it runs for the second time. */
static void test_nothing_is_left(void **unused)
{
	static void (*const again[])(void **) = {
		test_devices, test_plain_functions, test_older_runtime, test_options, test_capability, test_refused_operation,
		test_usual_work, test_usual_parts, test_usual_shapes, test_inner_graph, test_runs, test_calls, test_failures, test_cpu_takes_over, test_run_while_compiling, test_compilation_fails,
		test_compilations_overlap,
	};

	for (size_t i = 0; i < sizeof(again) / sizeof(again[0]); i++) {
		long blocks;

		release_status(last);
		last = NULL;
		blocks = heap_blocks;
		again[i](unused);
		release_status(last);
		last = NULL;
		if (heap_blocks != blocks)
			fail_msg("%ld blocks of test %zu", heap_blocks - blocks, i);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_plain_functions),
		cmocka_unit_test(test_older_runtime),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_capability),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_shape_of_other_part),
		cmocka_unit_test(test_made_weights),
		cmocka_unit_test(test_guesses),
		cmocka_unit_test(test_refused_operation),
		cmocka_unit_test(test_usual_work),
		cmocka_unit_test(test_usual_parts),
		cmocka_unit_test(test_numbers_that_do_not_fit),
		cmocka_unit_test(test_usual_shapes),
		cmocka_unit_test(test_unnamed_dimensions),
		cmocka_unit_test(test_outer_value),
		cmocka_unit_test(test_inner_graph),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_warning),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_runs_of_runtime),
		cmocka_unit_test(test_model_for_runtime),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_cpu_takes_over),
		cmocka_unit_test(test_device_comes_back),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_eight_axes),
		cmocka_unit_test(test_fallbacks),
		cmocka_unit_test(test_no_pause),
		cmocka_unit_test(test_compilation_fails),
		cmocka_unit_test(test_run_while_compiling),
		cmocka_unit_test(test_compilations_overlap),
		cmocka_unit_test(test_refused_once),
		cmocka_unit_test(test_run_while_in_making),
		cmocka_unit_test(test_shapes_wait),
		cmocka_unit_test(test_concat_overflows),
		cmocka_unit_test(test_missing_input),
		cmocka_unit_test(test_other_type),
		cmocka_unit_test(test_no_zero_point),
		cmocka_unit_test(test_short_recurrent),
		cmocka_unit_test(test_short_bias),
		cmocka_unit_test(test_long_axis),
		cmocka_unit_test(test_far_numbers),
		cmocka_unit_test(test_far_lists),
		cmocka_unit_test(test_far_diagonal),
		cmocka_unit_test(test_huge_resize),
		cmocka_unit_test(test_other_kind),
		cmocka_unit_test(test_nothing_is_left),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	release_status(last);
	return failed;
}
