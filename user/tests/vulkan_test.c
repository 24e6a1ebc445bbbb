/* SPDX-License-Identifier: MIT */
/*
 * Tests the engine on Vulkan with a software driver. The test compares random graphs with the
 * reference kernels, and covers refused operations, memory, and failing calls of Vulkan.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/dma-buf.h>

#include <cmocka.h>

#include "../../selftests/lib/runner.h"
#include "base/clock.h"
#include "kit/worker/sandbox.h"
#include "ops/float16.h"
#include "ops/op.h"
#include "plan/plan.h"
#include "tests/heap_blocks.h"
#include "tests/plan_diff/compare.h"
#include "tests/vulkan/form_case.h"
#include "tests/vulkan/samples.h"
#include "tests/vulkan_layer/layer.h"
#include "vectors/graph.h"
#include "vectors/operations.h"
#include "vectors/random.h"
#include "vulkan/capabilities.h"
#include "vulkan/engine.h"
#include "vulkan/import.h"
#include "vulkan/prepared.h"

#define GRAPHS (uint32_t)how_often(400, 16)
#define MAX_ARGS 8

static struct gpu *gpu;

static int set_up(void **unused)
{
	struct nn_error err = { "" };

	(void)unused;
	vulkan_engine_choose("software", NULL, false);
	g.values = malloc(VALUES_SIZE);
	assert_non_null(g.values);
	return gpu_open("software", &gpu, &err);
}

static int tear_down(void **unused)
{
	(void)unused;
	gpu_release(gpu);
	free(g.values);
	return 0;
}

/*
 * The engine's GPU stays open until the process ends. LeakSanitizer would report some blocks of the
 * GPU's driver as leaks, because it does not read the memory that has the blocks' addresses.
 */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libvulkan_lvp";
}

/* ---- Calls of Vulkan that fail ---- */

static struct test_layer *layer;

static void fail_after(VkResult result, uint32_t calls)
{
	layer->result = result;
	layer->before = calls;
	layer->is_reached = false;
}

/*
 * Puts the test layer between the engine and the driver, before the layers that the environment
 * names.
 */
static void load_layer(const char *program)
{
	const char *others = getenv("VK_INSTANCE_LAYERS");
	char folder[400], text[600];

	snprintf(folder, sizeof(folder), "%.*s/vulkan_layer",
		 (int)(strrchr(program, '/') - program), program);
	setenv("VK_LAYER_PATH", folder, 1);
	if (others) {
		snprintf(text, sizeof(text), "%s:/usr/share/vulkan/explicit_layer.d", folder);
		setenv("VK_LAYER_PATH", text, 1);
	}
	snprintf(text, sizeof(text), "VK_LAYER_NNACCEL_test%s%s", others ? ":" : "",
		 others ? others : "");
	setenv("VK_INSTANCE_LAYERS", text, 1);
	snprintf(text, sizeof(text), "%s/libVkLayer_nnaccel_test.so", folder);
	layer = dlsym(dlopen(text, RTLD_NOW), "nn_test_layer");
}

/* ---- The engine's store, of one entry ---- */

static struct {
	char key[256];
	size_t key_size;
	void *data;
	size_t size;
	uint32_t puts;
} store;

enum nn_status __wrap_nna_engine_store_get(const void *key, size_t key_size, void **data,
					   size_t *size, struct nn_error *err);
enum nn_status __wrap_nna_engine_store_get(const void *key, size_t key_size, void **data,
					   size_t *size, struct nn_error *err)
{
	if (!store.data || key_size != store.key_size || memcmp(key, store.key, key_size))
		return nn_fail(err, NN_GENERAL_FAILURE, "no entry");
	*data = malloc(store.size);
	assert_non_null(*data);
	memcpy(*data, store.data, store.size);
	*size = store.size;
	return NN_OK;
}

enum nn_status __wrap_nna_engine_store_put(const void *key, size_t key_size, const void *data,
					   size_t size, struct nn_error *err);
enum nn_status __wrap_nna_engine_store_put(const void *key, size_t key_size, const void *data,
					   size_t size, struct nn_error *err)
{
	(void)err;
	assert_true(key_size <= sizeof(store.key) && size);
	memcpy(store.key, key, key_size);
	store.key_size = key_size;
	free(store.data);
	store.data = malloc(size);
	assert_non_null(store.data);
	memcpy(store.data, data, size);
	store.size = size;
	store.puts++;
	return NN_OK;
}

/* ---- A client's memory ---- */

static struct {
	/* the client's memory; if `base` is NULL, no argument is in this memory */
	struct nna_engine_region region;
	int file;				/* dma-buf of the region, or -1 */
} client = { .file = -1 };

bool __wrap_nna_engine_region_of(struct nna_engine_execution *execution, const void *data,
				 struct nna_engine_region *region);
bool __wrap_nna_engine_region_of(struct nna_engine_execution *execution, const void *data,
				 struct nna_engine_region *region)
{
	const uint64_t at = (uint64_t)((const char *)data - (const char *)client.region.base);

	(void)execution;
	*region = client.region;
	return client.region.base && at < client.region.length;
}

int __wrap_nna_engine_region_file(struct nna_engine_execution *execution, const void *data);
int __wrap_nna_engine_region_file(struct nna_engine_execution *execution, const void *data)
{
	(void)execution;
	(void)data;
	return client.file < 0 ? -1 : fcntl(client.file, F_DUPFD_CLOEXEC, 0);
}

/* A buffer of a memory domain, and the address of the argument that is in the buffer. */
static struct {
	const void *data;
	void *buffer;
} domains[2];

void *__wrap_nna_engine_buffer(struct nna_engine_execution *execution, const void *data);
void *__wrap_nna_engine_buffer(struct nna_engine_execution *execution, const void *data)
{
	(void)execution;
	for (uint32_t i = 0; i < 2; i++)
		if (data == domains[i].data)
			return domains[i].buffer;
	return NULL;
}

/* ---- The end of an execution ---- */

static struct {
	bool takes;			/* true: the library accepts sync_files */
	int file;			/* last sync_file that the library got, or -1 */
} fence = { .file = -1 };

bool __wrap_nna_engine_end_with_fence(struct nna_engine_execution *execution, int sync_file);
bool __wrap_nna_engine_end_with_fence(struct nna_engine_execution *execution, int sync_file)
{
	(void)execution;
	fence.file = sync_file;
	return fence.takes;
}

/* ---- The begin of an execution ---- */

static struct {
	int file;			/* file that the execution waits for, or -1 */
	int gone;			/* file that is readable once the client is gone, or -1 */
} wait_on = { .file = -1, .gone = -1 };

bool __wrap_nna_engine_dependencies(struct nna_engine_execution *execution, int *sync_file);
bool __wrap_nna_engine_dependencies(struct nna_engine_execution *execution, int *sync_file)
{
	(void)execution;
	*sync_file = wait_on.file < 0 ? -1 : dup(wait_on.file);
	return true;
}

int __wrap_nna_engine_gone_file(struct nna_engine_execution *execution);
int __wrap_nna_engine_gone_file(struct nna_engine_execution *execution)
{
	(void)execution;
	return wait_on.gone;
}

/*
 * Flags of the engine's calls of DMA_BUF_IOCTL_SYNC; the replaced ioctl() succeeds on every file,
 * after it was interrupted, or told to try again, `interruptions` times.
 */
static uint64_t accesses[4];
static uint32_t num_accesses, interruptions;

int __real_ioctl(int file, unsigned long request, void *arg);
int __wrap_ioctl(int file, unsigned long request, void *arg);
int __wrap_ioctl(int file, unsigned long request, void *arg)
{
	if (request != DMA_BUF_IOCTL_SYNC)
		return __real_ioctl(file, request, arg);
	if (interruptions) {
		errno = interruptions-- % 2 ? EINTR : EAGAIN;
		return -1;
	}
	assert_true(num_accesses < sizeof(accesses) / sizeof(accesses[0]));
	accesses[num_accesses++] = ((const struct dma_buf_sync *)arg)->flags;
	return 0;
}

/* ---- The clock ---- */

/* Time by which each reading of the clock advances the clock; 0: the real clock is used. */
static uint64_t step_ns;

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	static uint64_t now = NS_PER_S;

	if (!step_ns)
		return __real_clock_gettime(clock, time);
	now += step_ns;
	*time = (struct timespec){ (time_t)(now / NS_PER_S), (long)(now % NS_PER_S) };
	return 0;
}

/* ---- Running ---- */

struct arguments {
	struct nn_arg inputs[MAX_ARGS];
	struct nn_arg outputs[MAX_ARGS];
	struct nn_output_shape shapes[MAX_ARGS];
	struct nn_execution execution;
};

static struct nn_arg argument_of(const struct nn_operand *o)
{
	uint32_t size;
	struct nn_arg arg = { 0 };

	assert_true(nn_operand_size(o, &size));
	arg.length = size;
	arg.data = calloc(1, size + 1);
	assert_non_null(arg.data);
	return arg;
}

static void make_arguments(const struct nn_model *model, struct arguments *a)
{
	const struct nn_subgraph *main = &model->subgraphs[0];

	memset(a, 0, sizeof(*a));
	a->execution = (struct nn_execution){
		.num_inputs = main->num_inputs, .num_outputs = main->num_outputs,
		.inputs = a->inputs, .outputs = a->outputs, .shapes = a->shapes,
	};
	for (uint32_t i = 0; i < main->num_inputs; i++) {
		const struct nn_operand *o = &main->operands[main->inputs[i]];

		a->inputs[i] = argument_of(o);
		if (o->type != NN_TENSOR_INT32)
			fill(o->type, a->inputs[i].data, (uint32_t)a->inputs[i].length, 2);
	}
	for (uint32_t i = 0; i < main->num_outputs; i++)
		a->outputs[i] = argument_of(&main->operands[main->outputs[i]]);
}

static void free_arguments(struct arguments *a)
{
	for (uint32_t i = 0; i < a->execution.num_inputs; i++)
		free(a->inputs[i].data);
	for (uint32_t i = 0; i < a->execution.num_outputs; i++)
		free(a->outputs[i].data);
}

static struct prepared *must_prepare(const struct nn_model *model)
{
	struct nn_error err = { "" };
	struct prepared *p = NULL;

	if (nn_model_check(model, &err) || nn_ops_check_model(model, NULL, &err) ||
	    prepared_create(gpu, model, &p, &err))
		fail_msg("%s", err.message);
	return p;
}

static enum nn_status engine_execute(void *prepared, struct arguments *a)
{
	struct nn_error err = { "" };

	return vulkan_engine.execute(&vulkan_engine, prepared, NULL, &a->execution, &err);
}

/* ---- Random graphs ---- */

static void ignore(uint32_t operation, const char *reason)
{
	(void)operation;
	(void)reason;
}

/* Returns true if the engine supports all operations of the graph. */
static bool is_supported(void)
{
	struct nn_error err = { "" };
	bool supported[MAX_OPERATIONS];

	if (nn_model_check(&g.model, &err) || nn_ops_check_model(&g.model, NULL, &err) ||
	    graph_supported(&g.model, &gpu->limits, supported, ignore, &err))
		fail_msg("%s", err.message);
	for (uint32_t i = 0; i < g.subgraph.num_operations; i++)
		if (!supported[i])
			return false;
	return true;
}

static bool compute_reference(struct arguments *a)
{
	const struct nn_plan_options options = { .kernels = "none" };
	struct nn_error err = { "" };
	struct nn_plan *plan;
	enum nn_status status;

	assert_int_equal(nn_plan_create(&g.model, &options, &plan, &err), NN_OK);
	status = nn_plan_execute(plan, &a->execution, &err);
	nn_plan_free(plan);
	return status == NN_OK;
}

/* Executes the graph twice, so that the engine submits the recorded commands again. */
static void check_graph(uint64_t seed)
{
	struct arguments right, got;
	struct nn_error err = { "" };
	struct prepared *p;

	make_arguments(&g.model, &right);
	make_arguments(&g.model, &got);
	memcpy(got.inputs[0].data, right.inputs[0].data, right.inputs[0].length);
	if (compute_reference(&right)) {
		p = must_prepare(&g.model);
		for (uint32_t round = 0; round < 2; round++) {
			if (prepared_execute(p, &got.execution, -1, &err))
				fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
			for (uint32_t i = 0; i < g.subgraph.num_outputs; i++) {
				int64_t k = graph_differs(i, got.outputs[i].data,
							  right.outputs[i].data);

				assert_memory_equal(&got.shapes[i], &right.shapes[i],
						    sizeof(right.shapes[i]));
				if (k >= 0)
					fail_msg("seed %llu, type %s, output %u element %lld: %g, "
						 "not %g", (unsigned long long)seed,
						 nn_type_name(g.type), i, (long long)k,
						 (double)graph_element(got.outputs[i].data, (uint32_t)k),
						 (double)graph_element(right.outputs[i].data, (uint32_t)k));
			}
		}
		prepared_release(p);
	}
	free_arguments(&right);
	free_arguments(&got);
}

static void check_random_graphs(void)
{
	const char *given = getenv("NN_SEED");
	uint64_t first = given ? strtoull(given, NULL, 0) : 1;
	uint32_t checked = 0;

	for (uint32_t i = 0; i < GRAPHS; i++) {
		random_start((first + i) * 7919);
		make_graph();
		if (!is_supported())
			continue;
		check_graph(first + i);
		checked++;
	}
	print_message("%u of %u graphs from seed %llu on are supported\n", checked, GRAPHS,
		      (unsigned long long)first);
	assert_true(checked >= GRAPHS / 8);
	assert_true(pipelines_count(gpu) <= 300);
}

/*
 * By the test's clock each submission takes long, so the engine divides submissions. In the second
 * execution, each submission has only one work group.
 */
static void test_random_graphs(void **unused)
{
	(void)unused;
	step_ns = NS_PER_S;
	check_random_graphs();
	step_ns = 0;
}

/* ---- Models of one or two operations ---- */

/* Adds an ADD of two inputs; the operand `activation` is the ADD's activation. */
static void add_of(int32_t type, uint32_t activation)
{
	const uint32_t x = tensor(type, NN_SUBGRAPH_INPUT), y = tensor(type, NN_SUBGRAPH_INPUT);
	const uint32_t out = tensor(type, NN_SUBGRAPH_OUTPUT);

	mb_operation(&b, NN_OP_ADD, MB_LIST(x, y, activation), MB_LIST(out));
}

static void make_add(void)
{
	mb_init(&b);
	add_of(NN_TENSOR_FLOAT32, mb_int32(&b, 0));
}

/* Makes a model of an ADD whose dispatch has more than one row of work groups. */
static void make_large_add(void)
{
	uint32_t x, y, out;

	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(33000, 64));
	y = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(64));
	out = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(33000, 64));
	mb_operation(&b, NN_OP_ADD, MB_LIST(x, y, mb_int32(&b, 0)), MB_LIST(out));
}

static void make_open_activation(void)
{
	mb_init(&b);
	add_of(NN_TENSOR_FLOAT32, mb_operand(&b, NN_INT32, NN_SUBGRAPH_INPUT, MB_NONE));
}

static void make_open_shape(void)
{
	make_add();
	b.operands[0][b.inputs[0][0]].dims[1] = 0;
}

static void make_logical(void)
{
	uint32_t x, out;

	mb_init(&b);
	x = tensor(NN_TENSOR_BOOL8, NN_SUBGRAPH_INPUT);
	out = tensor(NN_TENSOR_BOOL8, NN_SUBGRAPH_OUTPUT);
	mb_operation(&b, NN_OP_LOGICAL_NOT, MB_LIST(x), MB_LIST(out));
}

static void make_div(void)
{
	uint32_t x, out;

	mb_init(&b);
	x = tensor(NN_TENSOR_INT32, NN_SUBGRAPH_INPUT);
	out = tensor(NN_TENSOR_INT32, NN_SUBGRAPH_OUTPUT);
	mb_operation(&b, NN_OP_DIV, MB_LIST(x, x, mb_int32(&b, 0)), MB_LIST(out));
}

/* Adds a GATHER that selects two of four rows by `indices`. */
static void gather_by(uint32_t indices)
{
	const uint32_t x = tensor(NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT);
	const uint32_t out = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT,
					MB_DIMS(1, 2, 4, 8));

	mb_operation(&b, NN_OP_GATHER, MB_LIST(x, mb_int32(&b, 1), indices), MB_LIST(out));
}

static void make_gather_constant(void)
{
	static const int32_t indices[] = { 0, 4 };

	mb_init(&b);
	gather_by(mb_constant(&b, NN_TENSOR_INT32, indices, sizeof(indices), MB_DIMS(2)));
}

static void make_gather_input(void)
{
	mb_init(&b);
	gather_by(mb_operand(&b, NN_TENSOR_INT32, NN_SUBGRAPH_INPUT, MB_DIMS(2)));
}

static void make_gather_computed(void)
{
	uint32_t x, indices;

	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_INT32, NN_SUBGRAPH_INPUT, MB_DIMS(2));
	indices = mb_operand(&b, NN_TENSOR_INT32, NN_TEMPORARY, MB_DIMS(2));
	mb_operation(&b, NN_OP_ABS, MB_LIST(x), MB_LIST(indices));
	gather_by(indices);
}

static void make_wide_softmax(void)
{
	uint32_t x, out;

	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_INPUT, MB_DIMS(1, 5000));
	out = mb_operand(&b, NN_TENSOR_QUANT8_ASYMM, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, 5000));
	b.operands[0][x].scale = 0.5f;
	b.operands[0][out].scale = 1.0f / 256;
	mb_operation(&b, NN_OP_SOFTMAX, MB_LIST(x, mb_float32(&b, 1)), MB_LIST(out));
}

static char reason[NN_MESSAGE_SIZE];

static void hear(uint32_t operation, const char *why)
{
	(void)operation;
	snprintf(reason, sizeof(reason), "%s", why);
}

/*
 * If the engine refuses an operation, the reason names the operation, and the engine does not
 * prepare the model.
 */
static void test_refused(void **unused)
{
	static const struct {
		void (*make)(void);
		const char *reason;
	} cases[] = {
		{ make_logical, "LOGICAL_NOT: not supported" },
		{ make_div, "DIV: not supported for TENSOR_INT32" },
		{ make_open_shape, "ADD: input 0 has no fixed shape" },
		{ make_open_activation,
		  "ADD: input 2 determines shapes or indices and must be a constant" },
		{ make_gather_constant, "GATHER: index 1 is 4, must be below 4" },
		{ make_gather_computed,
		  "GATHER: the indices are neither constants nor an input of the model" },
		{ make_wide_softmax, "SOFTMAX: a row has 5000 bytes, must have at most 4096" },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool supported[2] = { true, true };
		struct nn_error err = { "" };
		struct prepared *p;
		uint32_t last;

		cases[i].make();
		last = b.model.subgraphs[0].num_operations - 1;
		assert_int_equal(nn_model_check(&b.model, &err), NN_OK);
		assert_int_equal(graph_supported(&b.model, &gpu->limits, supported, hear, &err), NN_OK);
		assert_string_equal(reason, cases[i].reason);
		assert_false(supported[last]);
		assert_int_equal(prepared_create(gpu, &b.model, &p, &err), NN_INVALID_ARGUMENT);
	}
}

/* ---- Products of floats that are quantised when they run ---- */

/*
 * Returns true if the GPU supports the model. The engine may refuse a model only because shaders
 * lack float64.
 */
static bool is_exact(void)
{
	struct nn_error err = { "" };
	bool supported[4];

	reason[0] = '\0';
	if (graph_supported(&form.model, &gpu->limits, supported, hear, &err))
		fail_msg("%s", err.message);
	if (reason[0] && !strstr(reason, "form 2 needs float64, which shaders lack"))
		fail_msg("%s", reason);
	return !reason[0];
}

/*
 * Checks products of floats that are quantised at run time. The sums are whole numbers, so the
 * results must equal the reference's results bit by bit.
 */
static void check_dynamic(void)
{
	static const int32_t types[] = { NN_TENSOR_FLOAT32, NN_TENSOR_FLOAT16 };
	static struct form_case c;
	uint32_t checked = 0;

	for (uint32_t i = 0; i < 2 * (uint32_t)how_often(40, 8) * num_forms; i++) {
		const struct form *f = &forms[i / 2 % num_forms];
		struct nn_error err = { "" };
		struct prepared *p;

		if (strncmp(f->name, "DYNAMIC_", 8) || !form_make(f, types[i % 2], i, &c) ||
		    !is_exact())
			continue;
		p = must_prepare(&form.model);
		if (prepared_execute(p, &c.execution, -1, &err))
			fail_msg("%s", err.message);
		if (memcmp(c.got[0], c.right[0], c.outputs[0].length))
			fail_msg("%s, seed %u, %s: other numbers", f->name, i,
				 nn_type_name(types[i % 2]));
		prepared_release(p);
		checked++;
	}
	print_message("%u products\n", checked);
	assert_true(checked >= 32);
}

static void test_dynamic(void **unused)
{
	(void)unused;
	check_dynamic();
}

/*
 * Shader variants that the engine does not choose for a software driver must give right results.
 */
static void test_variants(void **unused)
{
	const uint32_t uses = gpu->uses, before = pipelines_count(gpu);

	(void)unused;
	assert_int_equal(uses, 0);
	if (!gpu->can)
		skip();
	gpu->uses = gpu->can;
	check_random_graphs();
	/*
	 * A usual run of the test skips check_dynamic(), because a software driver takes long to
	 * compile shaders.
	 */
	if (how_often(1, 0))
		check_dynamic();
	assert_true(pipelines_count(gpu) > before);
	gpu->uses = uses;
}

static float whole(uint32_t i)
{
	return (float)((i ^ i >> 3) % 7) - 3;
}

static float get(int32_t type, const void *data, uint32_t i)
{
	return type == NN_TENSOR_FLOAT32 ? ((const float *)data)[i] :
					   nn_fp16_to_float(((const uint16_t *)data)[i]);
}

/* Multiplies two pairs of matrices of small whole numbers, whose products are exact. */
static void check_whole_product(int32_t type, uint32_t rows, uint32_t depth, uint32_t columns)
{
	const bool no = false;
	struct nn_error err = { "" };
	struct arguments a;
	struct prepared *p;
	uint32_t x, y, out;

	mb_init(&b);
	b.model.relaxed = true;
	x = mb_operand(&b, type, NN_SUBGRAPH_INPUT, MB_DIMS(2, rows, depth));
	y = mb_operand(&b, type, NN_SUBGRAPH_INPUT, MB_DIMS(2, depth, columns));
	out = mb_operand(&b, type, NN_SUBGRAPH_OUTPUT, MB_DIMS(2, rows, columns));
	mb_operation(&b, NN_OP_BATCH_MATMUL,
		     MB_LIST(x, y, mb_constant(&b, NN_BOOL, &no, 1, MB_NONE),
			     mb_constant(&b, NN_BOOL, &no, 1, MB_NONE)), MB_LIST(out));
	p = must_prepare(&b.model);
	make_arguments(&b.model, &a);
	for (uint32_t k = 0; k < 2; k++) {
		for (uint32_t i = 0; i < 2 * depth * (k ? columns : rows); i++) {
			if (type == NN_TENSOR_FLOAT32)
				((float *)a.inputs[k].data)[i] = whole(i);
			else
				((uint16_t *)a.inputs[k].data)[i] = nn_float_to_fp16(whole(i));
		}
	}
	if (prepared_execute(p, &a.execution, -1, &err))
		fail_msg("%s", err.message);
	for (uint32_t i = 0; i < 2 * rows * columns; i++) {
		const uint32_t batch = i / (rows * columns), row = i / columns, column = i % columns;
		float sum = 0;

		for (uint32_t k = 0; k < depth; k++)
			sum += whole(row * depth + k) * whole((batch * depth + k) * columns + column);
		assert_float_equal(get(type, a.outputs[0].data, i), sum, 0);
	}
	free_arguments(&a);
	prepared_release(p);
}

/*
 * Each shader variant for float16 must give exact products of whole numbers, in full and in partly
 * filled tiles.
 */
static void test_fp16(void **unused)
{
	static const uint32_t sizes[][3] = { { 32, 16, 32 }, { 5, 3, 2 }, { 70, 37, 45 } };
	static const int32_t types[] = { NN_TENSOR_FLOAT16, NN_TENSOR_FLOAT32 };
	static const uint32_t variants[] = { GPU_FP16, GPU_FP16 | GPU_MATRIX };
	const uint32_t uses = gpu->uses;

	(void)unused;
	for (uint32_t v = 0; v < 2; v++) {
		if (variants[v] & ~gpu->can)
			continue;
		gpu->uses = variants[v];
		for (uint32_t t = 0; t < 2; t++) {
			const uint32_t before = pipelines_count(gpu);

			for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
				check_whole_product(types[t], sizes[i][0], sizes[i][1], sizes[i][2]);
			assert_int_equal(pipelines_count(gpu), before + 1);
		}
	}
	gpu->uses = uses;
}

/* ---- What a model becomes ---- */

/* Makes a model of a chain of poolings, which the engine does not fuse. */
static void make_poolings(void)
{
	uint32_t from, to, one, valid;

	mb_init(&b);
	one = mb_int32(&b, 1);
	valid = mb_int32(&b, 2);
	from = tensor(NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT);
	for (uint32_t i = 0; i < 6; i++, from = to) {
		to = tensor(NN_TENSOR_FLOAT32, i == 5 ? NN_SUBGRAPH_OUTPUT : NN_TEMPORARY);
		mb_operation(&b, NN_OP_MAX_POOL_2D,
			     MB_LIST(from, valid, one, one, one, one, mb_int32(&b, 0)), MB_LIST(to));
	}
}

static struct prepared_facts facts_of(struct prepared *p)
{
	struct prepared_facts facts;

	prepared_facts(p, &facts);
	return facts;
}

static void check_against_plan(struct prepared *p)
{
	const struct nn_plan_options options = { .kernels = "none" };
	struct nn_error err = { "" };
	struct arguments a;
	struct nn_plan *plan;
	float *right;

	make_arguments(&b.model, &a);
	right = calloc(1, a.outputs[0].length);
	assert_non_null(right);
	assert_int_equal(nn_plan_create(&b.model, &options, &plan, &err), NN_OK);
	assert_int_equal(nn_plan_execute(plan, &a.execution, &err), NN_OK);
	memcpy(right, a.outputs[0].data, a.outputs[0].length);
	memset(a.outputs[0].data, 0, a.outputs[0].length);
	assert_int_equal(prepared_execute(p, &a.execution, -1, &err), NN_OK);
	for (uint64_t i = 0; i < a.outputs[0].length / sizeof(float); i++)
		assert_float_equal(((float *)a.outputs[0].data)[i], right[i], 1e-5);
	nn_plan_free(plan);
	free(right);
	free_arguments(&a);
}

/*
 * The engine ignores inputs that no operation reads, here the first and the last, but refuses them
 * without a fixed shape.
 */
static void test_unread_inputs(void **unused)
{
	struct prepared *p = NULL;
	uint32_t unread[2];

	(void)unused;
	mb_init(&b);
	unread[0] = tensor(NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT);
	add_of(NN_TENSOR_FLOAT32, mb_int32(&b, 0));
	unread[1] = tensor(NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT);
	for (int i = 0; i < 2; i++) {
		struct nn_error err = { "" };
		char message[64];

		b.operands[0][unread[i]].dims[1] = 0;
		snprintf(message, sizeof(message), "operand %u has no fixed shape", unread[i]);
		assert_int_equal(prepared_create(gpu, &b.model, &p, &err), NN_INVALID_ARGUMENT);
		assert_string_equal(err.message, message);
		assert_null(p);
		b.operands[0][unread[i]].dims[1] = 1;
	}
	p = must_prepare(&b.model);
	check_against_plan(p);
	prepared_release(p);
}

/* Tensors share memory: The model has seven tensors, of which only two are needed at a time. */
static void test_shared_memory(void **unused)
{
	struct prepared_facts facts;
	struct prepared *p;

	(void)unused;
	make_poolings();
	p = must_prepare(&b.model);
	facts = facts_of(p);
	assert_int_equal(facts.dispatches, 6);
	assert_int_equal(facts.unshared, 7 * 512);
	assert_int_equal(facts.temporaries, 2 * 512);
	/*
	 * The first input begins at byte 256 of the staging memory, and the output follows the
	 * input.
	 */
	assert_int_equal(facts.staging, 256 + 2 * 512);
	check_against_plan(p);
	prepared_release(p);
}

/*
 * The engine submits two products of 4 million multiply-adds each in two submissions at first. If
 * the two submissions are quick, the engine joins the two products into one submission. If the
 * submissions take long, each of the two work groups of a product becomes a submission.
 */
static void test_submissions(void **unused)
{
	const uint32_t depth = 2048, rows = 64, units = 32;
	uint32_t x, w, c, zero, out;
	struct prepared *p;
	float *pool = calloc(units * depth + units, sizeof(float));

	(void)unused;
	assert_non_null(pool);
	random_start(1);
	fill(NN_TENSOR_FLOAT32, pool, (units * depth + units) * sizeof(float), 0.001f);
	mb_init(&b);
	b.pools[0] = (struct nn_pool){ pool, (units * depth + units) * sizeof(float) };
	b.model.num_pools = 1;
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(rows, depth));
	w = mb_reference(&b, NN_TENSOR_FLOAT32, 0, 0, units * depth * 4, MB_DIMS(units, depth));
	c = mb_reference(&b, NN_TENSOR_FLOAT32, 0, units * depth * 4, units * 4, MB_DIMS(units));
	zero = mb_int32(&b, 0);
	for (uint32_t i = 0; i < 2; i++) {
		out = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(rows, units));
		mb_operation(&b, NN_OP_FULLY_CONNECTED, MB_LIST(x, w, c, zero), MB_LIST(out));
	}
	p = must_prepare(&b.model);
	assert_int_equal(facts_of(p).submissions, 2);
	step_ns = 1000;
	check_against_plan(p);
	assert_int_equal(facts_of(p).submissions, 1);
	/* An execution makes five calls: reset a fence, submit, wait, begin and end commands. */
	step_ns = NS_PER_S;
	fail_after(VK_ERROR_OUT_OF_DEVICE_MEMORY, 4);
	check_against_plan(p);
	assert_true(layer->is_reached);
	fail_after(VK_SUCCESS, 0);
	check_against_plan(p);
	assert_int_equal(facts_of(p).submissions, 4);
	step_ns = 0;
	check_against_plan(p);
	prepared_release(p);
	free(pool);
}

/*
 * Each row of a matrix product of up to four rows has work groups of its own. The rows of larger
 * products, and of products with several input or output pixels, share work groups.
 */
static void test_few_rows(void **unused)
{
	static const struct {
		uint32_t rows, pixels, units, stride, groups;
	} cases[] = {
		{ 1, 1, 8, 1, 1 }, { 1, 1, 9, 1, 2 }, { 4, 1, 9, 1, 8 }, { 5, 1, 9, 1, 1 },
		{ 1, 2, 9, 1, 1 }, { 1, 2, 9, 2, 1 },
	};
	const uint32_t depth = 8;

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint32_t rows = cases[i].rows, pixels = cases[i].pixels, units = cases[i].units;
		float *weights = calloc(units * (depth + 1), sizeof(float));
		uint32_t x, w, c, zero, one, out;
		struct prepared *p;

		assert_non_null(weights);
		mb_init(&b);
		x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(rows, 1, pixels, depth));
		w = mb_constant(&b, NN_TENSOR_FLOAT32, weights, units * depth * sizeof(float),
				MB_DIMS(units, 1, 1, depth));
		c = mb_constant(&b, NN_TENSOR_FLOAT32, weights, units * sizeof(float), MB_DIMS(units));
		zero = mb_int32(&b, 0);
		one = mb_int32(&b, 1);
		out = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT,
				 MB_DIMS(rows, 1, pixels / cases[i].stride, units));
		mb_operation(&b, NN_OP_CONV_2D,
			     MB_LIST(x, w, c, one, mb_int32(&b, (int32_t)cases[i].stride), one, zero),
			     MB_LIST(out));
		layer->groups = 0;
		p = must_prepare(&b.model);
		assert_int_equal(layer->groups, cases[i].groups);
		check_against_plan(p);
		prepared_release(p);
		free(weights);
	}
}

/*
 * The engine halves a dispatch with rows of work groups until no submission takes more than 20 ms.
 */
static void test_cut(void **unused)
{
	struct prepared *p;

	(void)unused;
	make_large_add();
	p = must_prepare(&b.model);
	assert_int_equal(facts_of(p).submissions, 1);
	/* Each submission advances the test's clock by two steps. */
	step_ns = NS_PER_S / 20;
	check_against_plan(p);
	assert_int_equal(facts_of(p).submissions, 8);
	check_against_plan(p);
	/* A dispatch is halved at most ten times. */
	step_ns = 1000 * NS_PER_S;
	check_against_plan(p);
	assert_int_equal(facts_of(p).submissions, 1024);
	step_ns = 0;
	prepared_release(p);
}

/* Makes two ADDs, which the engine cannot fuse; before the first execution, an element takes 4 ns. */
static void make_adds(uint32_t elements)
{
	uint32_t x, y, out;

	mb_init(&b);
	x = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(elements));
	y = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	for (uint32_t i = 0; i < 2; i++) {
		out = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(elements));
		mb_operation(&b, NN_OP_ADD, MB_LIST(x, y, mb_int32(&b, 0)), MB_LIST(out));
	}
}

/* A submission may take exactly 20 ms, with one dispatch or with two. */
static void test_longest(void **unused)
{
	static const struct {
		uint32_t elements, submissions;
	} cases[] = { { 2500000, 1 }, { 2500001, 2 }, { 5000000, 2 }, { 5000001, 4 } };

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct prepared *p;

		make_adds(cases[i].elements);
		p = must_prepare(&b.model);
		assert_int_equal(facts_of(p).submissions, cases[i].submissions);
		prepared_release(p);
	}
}

/* ---- Executions that fail ---- */

static void test_arguments(void **unused)
{
	struct nn_error err = { "" };
	struct arguments a;
	struct prepared *p;

	(void)unused;
	make_add();
	p = must_prepare(&b.model);
	make_arguments(&b.model, &a);
	a.inputs[0].length--;
	assert_int_equal(prepared_execute(p, &a.execution, -1, &err), NN_INVALID_ARGUMENT);
	a.inputs[0].length++;
	a.outputs[0].length--;
	assert_int_equal(prepared_execute(p, &a.execution, -1, &err), NN_OUTPUT_INSUFFICIENT_SIZE);
	assert_true(a.execution.shapes_known);
	assert_false(a.shapes[0].sufficient);
	assert_memory_equal(a.shapes[0].dims, shape, sizeof(shape));
	a.outputs[0].length++;
	a.execution.num_inputs = 1;
	assert_int_equal(prepared_execute(p, &a.execution, -1, &err), NN_INVALID_ARGUMENT);
	a.execution.num_inputs = 2;
	assert_int_equal(prepared_execute(p, &a.execution, -1, &err), NN_OK);
	free_arguments(&a);
	prepared_release(p);
}

static void test_index(void **unused)
{
	struct nn_error err = { "" };
	struct arguments a;
	struct prepared *p;
	int32_t *indices;

	(void)unused;
	make_gather_input();
	p = must_prepare(&b.model);
	make_arguments(&b.model, &a);
	indices = a.inputs[a.inputs[0].length == 8 ? 0 : 1].data;
	for (int32_t i = -1; i <= 4; i++) {
		indices[1] = i;
		assert_int_equal(prepared_execute(p, &a.execution, -1, &err),
				 i < 0 || i == 4 ? NN_GENERAL_FAILURE : NN_OK);
	}
	/* The CPU cannot check indices in device memory. */
	indices[1] = 0;
	client.region = (struct nna_engine_region){ .base = indices, .length = 8, .is_device_memory = true };
	assert_int_equal(engine_execute(p, &a), NN_GENERAL_FAILURE);
	client.region = (struct nna_engine_region){ 0 };
	free_arguments(&a);
	prepared_release(p);
}

/*
 * If an execution misses its deadline, its submission continues on the GPU, and the next executions
 * give right results.
 */
static void test_deadline(void **unused)
{
	struct nn_error err = { "" };
	int readable = eventfd(1, EFD_CLOEXEC);
	struct arguments a;
	struct prepared *p;

	(void)unused;
	make_chain();
	p = must_prepare(&b.model);
	make_arguments(&b.model, &a);
	a.execution.deadline_ns = 1;
	assert_int_equal(prepared_execute(p, &a.execution, -1, &err), NN_MISSED_DEADLINE_PERSISTENT);
	a.execution.deadline_ns = clock_ns() + 3600 * NS_PER_S;
	layer->result = VK_TIMEOUT;
	assert_int_equal(prepared_execute(p, &a.execution, -1, &err), NN_MISSED_DEADLINE_TRANSIENT);
	/*
	 * The next execution waits for the running submission, but only until the next execution's
	 * deadline.
	 */
	assert_int_equal(prepared_execute(p, &a.execution, -1, &err), NN_MISSED_DEADLINE_TRANSIENT);
	layer->result = VK_SUCCESS;
	assert_int_equal(prepared_execute(p, &a.execution, readable, &err), NN_GENERAL_FAILURE);
	check_against_plan(p);
	close(readable);
	free_arguments(&a);
	prepared_release(p);
}

/* ---- GPUs that fail ---- */

static enum nn_status engine_prepare(void **prepared, struct nn_error *err)
{
	const struct nna_engine_preparation how = { 0 };

	return vulkan_engine.prepare(&vulkan_engine, &b.model, &how, prepared, err);
}

static void check_works(struct arguments *a)
{
	struct nn_error err = { "" };
	void *prepared = NULL;

	fail_after(VK_SUCCESS, 0);
	assert_int_equal(engine_prepare(&prepared, &err), NN_OK);
	assert_int_equal(engine_execute(prepared, a), NN_OK);
	vulkan_engine.release(&vulkan_engine, prepared);
}

/*
 * Each call of Vulkan fails in turn while the engine prepares a model: while it opens the GPU,
 * while it makes pipelines, and afterwards.
 */
static void test_out_of_memory(void **unused)
{
	static const struct {
		VkResult result;
		enum nn_status status;
		const char *message;
	} cases[] = {
		{ VK_ERROR_OUT_OF_HOST_MEMORY, NN_OUT_OF_MEMORY, ": out of memory" },
		{ VK_ERROR_OUT_OF_DEVICE_MEMORY, NN_RESOURCE_EXHAUSTED_TRANSIENT,
		  ": the GPU is out of memory" },
	};
	struct arguments a;

	(void)unused;
	make_product();
	make_arguments(&b.model, &a);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (uint32_t calls = 0;; calls++) {
			struct nn_error err = { "" };
			void *prepared = NULL;
			enum nn_status status;

			fail_after(cases[i].result, calls);
			status = engine_prepare(&prepared, &err);
			if (!layer->is_reached) {
				assert_int_equal(status, NN_OK);
				assert_true(calls > 20);
				vulkan_engine.release(&vulkan_engine, prepared);
				break;
			}
			assert_int_equal(status, cases[i].status);
			assert_non_null(strstr(err.message, cases[i].message));
			assert_null(prepared);
			if (i)
				check_works(&a);
		}
		check_works(&a);
	}
	free_arguments(&a);
}

/*
 * If the engine cannot record commands again after an execution, the next execution records the
 * commands.
 */
static void test_out_of_memory_later(void **unused)
{
	struct nn_error err = { "" };
	struct arguments a;
	struct prepared *p;

	(void)unused;
	make_poolings();
	make_arguments(&b.model, &a);
	/*
	 * Use the test's clock, because on a busy machine the engine may divide an execution, which
	 * then makes more calls.
	 */
	step_ns = 1000;
	/*
	 * The first execution records transfers in two command buffers, which the engine allocates,
	 * begins and ends.
	 */
	for (uint32_t calls = 0; calls < 6; calls++) {
		p = must_prepare(&b.model);
		fail_after(VK_ERROR_OUT_OF_DEVICE_MEMORY, calls);
		assert_int_equal(prepared_execute(p, &a.execution, -1, &err),
				 NN_RESOURCE_EXHAUSTED_TRANSIENT);
		fail_after(VK_SUCCESS, 0);
		check_against_plan(p);
		if (calls < 5)
			prepared_release(p);
	}
	/* An execution makes five calls: reset a fence, submit, wait, begin and end commands. */
	for (uint32_t calls = 3; calls <= 4; calls++) {
		fail_after(VK_ERROR_OUT_OF_DEVICE_MEMORY, calls);
		assert_int_equal(prepared_execute(p, &a.execution, -1, &err), NN_OK);
		assert_true(layer->is_reached);
		assert_int_equal(prepared_execute(p, &a.execution, -1, &err),
				 NN_RESOURCE_EXHAUSTED_TRANSIENT);
		fail_after(VK_SUCCESS, 0);
		check_against_plan(p);
	}
	step_ns = 0;
	prepared_release(p);
	free_arguments(&a);
}

/*
 * If a wait for the GPU fails, the GPU may still be executing. After a failed wait, the next
 * execution, or the release of the model, waits again.
 */
static void test_wait_fails(void **unused)
{
	static const VkResult results[] = { VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_UNKNOWN };
	static const char *const messages[] = { "the GPU failed: the GPU is out of memory",
						"the GPU failed: VkResult -13" };
	struct nn_error err = { "" };
	struct arguments a;
	struct prepared *p;
	uint32_t waits;

	(void)unused;
	make_poolings();
	make_arguments(&b.model, &a);
	for (uint32_t i = 0; i < 2; i++) {
		p = must_prepare(&b.model);
		/*
		 * The ninth call of an execution waits for the GPU: six calls record transfers, one
		 * call resets the fence, and one call submits commands.
		 */
		fail_after(results[i], 8);
		err.message[0] = '\0';
		assert_int_not_equal(prepared_execute(p, &a.execution, -1, &err), NN_OK);
		assert_string_equal(err.message, messages[i]);
		assert_true(layer->is_reached);
		fail_after(VK_SUCCESS, 0);
		waits = layer->waits;
		if (i) {
			a.execution.deadline_ns = clock_ns() + 3600 * NS_PER_S;
			assert_int_equal(prepared_execute(p, &a.execution, -1, &err), NN_OK);
			assert_int_equal(layer->waits, waits + 2);
		}
		prepared_release(p);
		assert_int_equal(layer->waits, waits + 1 + i);
	}
	/* If the release cannot wait for the execution, it waits for the whole GPU. */
	a.execution.deadline_ns = 0;
	p = must_prepare(&b.model);
	fail_after(VK_ERROR_UNKNOWN, 8);
	assert_int_not_equal(prepared_execute(p, &a.execution, -1, &err), NN_OK);
	fail_after(VK_ERROR_UNKNOWN, 0);
	waits = layer->waits;
	prepared_release(p);
	assert_int_equal(layer->waits, waits + 2);
	fail_after(VK_SUCCESS, 0);
	free_arguments(&a);
}

/* The release of a model destroys all of its Vulkan objects except pipelines. */
static void test_objects(void **unused)
{
	struct prepared *p;
	uint32_t objects;

	(void)unused;
	make_poolings();
	prepared_release(must_prepare(&b.model));
	objects = layer->objects;
	p = must_prepare(&b.model);
	check_against_plan(p);
	assert_true(layer->objects > objects);
	prepared_release(p);
	assert_int_equal(layer->objects, objects);
}

/*
 * If a GPU is lost, executions of all models that were prepared before the loss fail. Models that
 * are prepared after the loss work.
 */
static void test_lost(void **unused)
{
	struct arguments a;

	(void)unused;
	make_product();
	make_arguments(&b.model, &a);
	for (uint32_t calls = 0;; calls++) {
		struct nn_error err = { "" };
		void *older, *lost = NULL;

		assert_int_equal(engine_prepare(&older, &err), NN_OK);
		fail_after(VK_ERROR_DEVICE_LOST, calls);
		if (engine_prepare(&lost, &err) == NN_OK) {
			const enum nn_status status = engine_execute(lost, &a);

			assert_int_equal(status, layer->is_reached ? NN_DEVICE_UNAVAILABLE :
								      NN_OK);
			vulkan_engine.release(&vulkan_engine, lost);
		}
		if (!layer->is_reached) {
			vulkan_engine.release(&vulkan_engine, older);
			assert_true(calls >= 4);
			break;
		}
		fail_after(VK_SUCCESS, 0);
		assert_int_equal(engine_execute(older, &a), NN_DEVICE_UNAVAILABLE);
		check_works(&a);
		vulkan_engine.release(&vulkan_engine, older);
	}
	fail_after(VK_SUCCESS, 0);
	free_arguments(&a);
}

/*
 * If one of two GPUs disappears, its models fail until the GPU is back, and models on the other GPU
 * still work. The engine opens its own GPU beside the test's GPU.
 */
static void test_one_goes_away(void **unused)
{
	struct nn_error err = { "" };
	void *lost, *none = NULL;
	struct arguments a;
	struct prepared *p;
	struct gpu *own;

	(void)unused;
	make_product();
	make_arguments(&b.model, &a);
	p = must_prepare(&b.model);
	assert_int_equal(engine_prepare(&lost, &err), NN_OK);
	own = prepared_gpu(lost);
	assert_ptr_not_equal(own, gpu);
	layer->device = own->device;
	layer->queue = own->queue;
	layer->is_gone = true;
	fail_after(VK_ERROR_DEVICE_LOST, 0);
	assert_int_equal(engine_execute(lost, &a), NN_DEVICE_UNAVAILABLE);
	for (uint32_t i = 0; i < 2; i++) {
		check_against_plan(p);
		assert_int_equal(engine_execute(lost, &a), NN_DEVICE_UNAVAILABLE);
		assert_int_equal(engine_prepare(&none, &err), NN_DEVICE_UNAVAILABLE);
	}
	assert_string_equal(err.message, "no GPU is 'software'; --list-gpus prints names and UUIDs");
	layer->is_gone = false;
	layer->device = layer->queue = NULL;
	check_works(&a);
	vulkan_engine.release(&vulkan_engine, lost);
	prepared_release(p);
	free_arguments(&a);
}

/* Makes the engine lose its GPU, so that the engine opens the GPU again. */
static void lose_gpu(struct arguments *a)
{
	struct nn_error err = { "" };
	void *lost = NULL;

	assert_int_equal(engine_prepare(&lost, &err), NN_OK);
	fail_after(VK_ERROR_DEVICE_LOST, 0);
	assert_int_equal(engine_execute(lost, a), NN_DEVICE_UNAVAILABLE);
	fail_after(VK_SUCCESS, 0);
	vulkan_engine.release(&vulkan_engine, lost);
}

/* A lost GPU is closed when the engine has opened it again, whichever functions used it before. */
static void test_lost_is_closed(void **unused)
{
	static struct nn_device_info info;
	struct nn_error err = { "" };
	uint32_t objects = 0;
	struct arguments a;

	(void)unused;
	make_product();
	make_arguments(&b.model, &a);
	for (int round = 0; round < 3; round++) {
		bool supported[3];

		check_works(&a);
		assert_true(vulkan_engine.start(&vulkan_engine));
		vulkan_engine.describe(&vulkan_engine, &info);
		assert_int_equal(vulkan_engine.supported(&vulkan_engine, &b.model, supported, &err), NN_OK);
		if (round)
			assert_int_equal(layer->objects, objects);
		objects = layer->objects;
		lose_gpu(&a);
	}
	check_works(&a);
	free_arguments(&a);
}

/*
 * The engine stores new pipelines, and loads the stored pipelines when it starts and when it opens
 * the GPU again. The engine rejects a stored entry whose header is not the driver's. The engine
 * stores nothing if the driver's pipeline cache has no complete header.
 */
static void check_store(bool is_complete)
{
	struct nn_device_info info = { 0 };
	struct arguments a;
	uint32_t submissions;

	make_product();
	make_arguments(&b.model, &a);
	lose_gpu(&a);
	store.puts = 0;
	check_works(&a);
	check_works(&a);
	assert_int_equal(store.puts, is_complete);
	if (!is_complete)
		return free_arguments(&a);
	lose_gpu(&a);
	check_works(&a);
	assert_int_equal(layer->loaded, store.size);
	/* The library opens the store after describe() has opened the GPU, and before start(). */
	lose_gpu(&a);
	store.key_size++;
	vulkan_engine.describe(&vulkan_engine, &info);
	store.key_size--;
	assert_int_equal(layer->loaded, 0);
	assert_true(vulkan_engine.start(&vulkan_engine));
	assert_int_equal(layer->loaded, store.size);
	/* The engine does not measure the GPU for each client. */
	submissions = layer->submissions;
	vulkan_engine.describe(&vulkan_engine, &info);
	assert_int_equal(layer->submissions, submissions);
	/*
	 * Change each word of the stored header in turn (size, version, vendor, device, driver's
	 * UUID), and then truncate the header.
	 */
	for (size_t i = 0; i <= 32; i += 4) {
		lose_gpu(&a);
		if (i < 32)
			((uint8_t *)store.data)[i] ^= 1;
		else
			store.size = 31;
		store.puts = 0;
		check_works(&a);
		assert_int_equal(layer->loaded, 0);
		assert_int_equal(store.puts, 1);
	}
	/* The engine loads nothing if the store has only an entry with another driver's key. */
	lose_gpu(&a);
	store.key[20] ^= 1;
	check_works(&a);
	assert_int_equal(layer->loaded, 0);
	free(store.data);
	store.data = NULL;
	free_arguments(&a);
}

static void test_store(void **unused)
{
	VkPhysicalDeviceProperties properties;
	size_t size;
	void *saved = pipelines_save(gpu, &size);

	(void)unused;
	/* The driver's pipeline caches: some versions of Mesa return no complete header. */
	check_store(saved);
	free(saved);
	/* Pipeline caches of the layer: complete, too short, and of another GPU or driver. */
	vkGetPhysicalDeviceProperties(gpu->physical, &properties);
	layer->header = (VkPipelineCacheHeaderVersionOne){
		.headerSize = sizeof(layer->header),
		.headerVersion = VK_PIPELINE_CACHE_HEADER_VERSION_ONE,
		.vendorID = properties.vendorID,
		.deviceID = properties.deviceID,
	};
	memcpy(layer->header.pipelineCacheUUID, properties.pipelineCacheUUID, VK_UUID_SIZE);
	for (layer->header_size = 32; layer->header_size > 30; layer->header_size--)
		check_store(layer->header_size == sizeof(layer->header));
	layer->header_size = 32;
	for (size_t i = 0; i < 32; i += 4) {
		((uint8_t *)&layer->header)[i] ^= 1;
		check_store(false);
		((uint8_t *)&layer->header)[i] ^= 1;
	}
	layer->header_size = 0;
}

/*
 * The engine must flush incoherent memory before the GPU reads the memory, and invalidate it before
 * the CPU reads it.
 */
static void test_incoherent(void **unused)
{
	struct gpu *coherent = gpu;
	struct nn_error err = { "" };
	struct prepared *p;

	(void)unused;
	layer->is_incoherent = true;
	gpu = NULL;
	assert_int_equal(gpu_open("software", &gpu, &err), NN_OK);
	make_product();
	p = must_prepare(&b.model);
	for (uint32_t i = 0; i < 2; i++)
		check_against_plan(p);
	prepared_release(p);
	gpu_release(gpu);
	gpu = coherent;
	layer->is_incoherent = false;
}

/* ---- Saved models ---- */

/*
 * Loads a model from the first `size` bytes of a part, with the bits `change` of the byte at `at`
 * inverted.
 */
static enum nn_status load_part(const struct nna_engine_part *part, size_t size, size_t at,
				uint8_t change, void **prepared)
{
	const struct nna_engine_preparation how = { 0 };
	struct nna_engine_part copy = { malloc(size + 1), size };
	struct nn_error err = { "" };

	assert_non_null(copy.base);
	memcpy(copy.base, part->base, size);
	((uint8_t *)copy.base)[at] ^= change;
	return vulkan_engine.load(&vulkan_engine, &copy, NULL, &how, prepared, &err);
}

/*
 * A loaded model computes the results of the saved model. A saved part with changed bytes is
 * refused, or is loaded as another model.
 */
static void test_saved(void **unused)
{
	struct nna_engine_image image = { 0 };
	struct nna_engine_part *part = &image.model[0];
	struct nn_error err = { "" };
	uint32_t loaded = 0;
	void *prepared;
	long blocks;

	(void)unused;
	make_add();
	assert_int_equal(engine_prepare(&prepared, &err), NN_OK);
	blocks = heap_blocks;
	assert_int_equal(vulkan_engine.save(&vulkan_engine, prepared, &image, &err), NN_OK);
	vulkan_engine.end_save(&vulkan_engine, &image);
	assert_int_equal(heap_blocks, blocks);
	assert_int_equal(vulkan_engine.save(&vulkan_engine, prepared, &image, &err), NN_OK);
	vulkan_engine.release(&vulkan_engine, prepared);
	assert_int_equal(load_part(part, part->size, 0, 0, &prepared), NN_OK);
	assert_int_equal(vulkan_engine.signature(&vulkan_engine, prepared)->num_inputs, 2);
	check_against_plan(prepared);
	vulkan_engine.release(&vulkan_engine, prepared);
	for (size_t at = 0; at < part->size; at++) {
		assert_int_not_equal(load_part(part, at, 0, 0, &prepared), NN_OK);
		for (uint32_t bit = 0; bit < 8; bit++) {
			if (load_part(part, part->size, at, (uint8_t)(1 << bit), &prepared))
				continue;
			vulkan_engine.release(&vulkan_engine, prepared);
			loaded++;
		}
	}
	print_message("%u of %zu wrong bits make another model\n", loaded, 8 * part->size);
	vulkan_engine.end_save(&vulkan_engine, &image);
}

/* ---- Memory that is imported ---- */

#define CLIENT_BYTES 65536

static void *map_client(void)
{
	client.file = memfd_create("client", MFD_CLOEXEC);
	assert_true(client.file >= 0 && !ftruncate(client.file, CLIENT_BYTES));
	client.region.base = mmap(NULL, CLIENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
				  client.file, 0);
	assert_ptr_not_equal(client.region.base, MAP_FAILED);
	return client.region.base;
}

static void unmap_client(void)
{
	vulkan_engine.forget_region(&vulkan_engine, &client.region);
	munmap(client.region.base, CLIENT_BYTES);
	close(client.file);
	client.region.base = NULL;
	client.file = -1;
}

/* Checks that all elements of a float argument have the same value. */
static void check_all(const struct nn_arg *arg, float value)
{
	for (uint64_t k = 0; k < arg->length / sizeof(float); k++)
		assert_float_equal(((const float *)arg->data)[k], value, 0);
}

static void set_all(struct nn_arg *arg, float value)
{
	for (uint64_t k = 0; k < arg->length / sizeof(float); k++)
		((float *)arg->data)[k] = value;
}

/*
 * Puts the inputs of a sum, filled with 1 and with 2, and the output of the sum into the client's
 * memory.
 */
static void place_sum(struct arguments *a, char *memory)
{
	struct nn_arg *const args[] = { &a->inputs[0], &a->inputs[1], &a->outputs[0] };

	for (uint32_t i = 0; i < 3; i++) {
		args[i]->data = memory + 4 + 1024 * i;
		set_all(args[i], (float)(i + 1));
	}
	memset(args[2]->data, 0, args[2]->length);
}

static void add_in_place(void *prepared, struct arguments *a, char *memory)
{
	place_sum(a, memory);
	assert_int_equal(engine_execute(prepared, a), NN_OK);
	if (fence.takes && fence.file >= 0) {
		struct pollfd end = { .fd = fence.file, .events = POLLIN };

		assert_int_equal(poll(&end, 1, -1), 1);
		close(fence.file);
	}
	check_all(&a->outputs[0], 3);
}

/* Prepares the model of make_add(), and makes arguments without memory. */
static void *prepare_sum(struct arguments *a)
{
	struct nn_error err = { "" };
	void *prepared;

	make_add();
	assert_int_equal(engine_prepare(&prepared, &err), NN_OK);
	make_arguments(&b.model, a);
	free_arguments(a);
	return prepared;
}

/*
 * The CPU does not copy arguments if the GPU can access their memory. A client may import its
 * memory region again at another address.
 */
static void test_imported(void **unused)
{
	static const struct {
		const char *name;
		uint64_t length;	/* size of the region with the arguments */
		bool is_writable;
		bool has_file;
		uint64_t copies;	/* number of copied arguments in an execution */
	} cases[] = {
		{ "memory that the GPU reaches", CLIENT_BYTES, true, true, 0 },
		{ "memory without a dma-buf", CLIENT_BYTES, true, false, 0 },
		{ "memory that is read only", CLIENT_BYTES, false, true, 1 },
		{ "images", 0, true, true, 3 },
		{ "memory that ends inside of a page", CLIENT_BYTES - 100, true, true, 0 },
	};
	struct arguments a;
	uint32_t waits;
	void *prepared;

	(void)unused;
	if (import_way_of(gpu) == NN_DEVICE_MEMORY_COPIED)
		skip();
	prepared = prepare_sum(&a);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t before = facts_of(prepared).copies, all = prepared_copies();
		char *memory = map_client();

		client.region.length = cases[i].length;
		client.region.is_writable = cases[i].is_writable;
		if (!cases[i].has_file) {
			close(client.file);
			client.file = -1;
		}
		for (uint32_t round = 0; round < 2; round++)
			add_in_place(prepared, &a, memory);
		if (facts_of(prepared).copies != before + 2 * cases[i].copies)
			fail_msg("%s: %llu copies", cases[i].name,
				 (unsigned long long)(facts_of(prepared).copies - before));
		assert_int_equal(prepared_copies() - all, 2 * cases[i].copies);
		waits = layer->waits;
		unmap_client();
		assert_int_equal(layer->waits - waits, cases[i].length > 0);
	}
	vulkan_engine.release(&vulkan_engine, prepared);
}

/* The engine copies arguments in a region that begins inside of a page. */
static void test_unaligned(void **unused)
{
	struct arguments a;
	void *prepared;
	char *memory;

	(void)unused;
	if (import_way_of(gpu) == NN_DEVICE_MEMORY_COPIED || gpu->host_alignment < 8)
		skip();
	prepared = prepare_sum(&a);
	memory = map_client();
	client.region = (struct nna_engine_region){ .base = memory + 4, .length = CLIENT_BYTES - 4, .is_writable = true };
	close(client.file);
	client.file = -1;
	add_in_place(prepared, &a, memory);
	assert_int_equal(facts_of(prepared).copies, 3);
	vulkan_engine.forget_region(&vulkan_engine, &client.region);
	client.region.base = memory;
	unmap_client();
	vulkan_engine.release(&vulkan_engine, prepared);
}

/*
 * Two regions of a client are two imports, which the engine keeps until the regions are gone; an
 * execution uses the one that has its arguments.
 */
static void test_two_regions(void **unused)
{
	struct nna_engine_region regions[2];
	uint32_t objects, imported = 0;
	struct arguments a;
	char *memory[2];
	int files[2];
	void *prepared;

	(void)unused;
	if (import_way_of(gpu) == NN_DEVICE_MEMORY_COPIED)
		skip();
	prepared = prepare_sum(&a);
	objects = layer->objects;
	for (uint32_t i = 0; i < 2; i++) {
		memory[i] = map_client();
		client.region.length = CLIENT_BYTES;
		client.region.is_writable = true;
		regions[i] = client.region;
		files[i] = client.file;
	}
	for (uint32_t round = 0; round < 4; round++) {
		client.region = regions[round % 2];
		client.file = files[round % 2];
		add_in_place(prepared, &a, memory[round % 2]);
		if (round == 1)
			imported = layer->objects;
	}
	assert_int_equal(layer->objects, imported);
	assert_int_equal(facts_of(prepared).copies, 0);
	for (uint32_t i = 0; i < 2; i++) {
		client.region = regions[i];
		client.file = files[i];
		unmap_client();
	}
	assert_int_equal(layer->objects, objects);
	vulkan_engine.release(&vulkan_engine, prepared);
}

/*
 * If executions have arguments at a few addresses in turn, the engine records commands once for
 * each address.
 */
static void test_recorded(void **unused)
{
	struct arguments a;
	uint32_t before;
	void *prepared;
	char *memory;

	(void)unused;
	if (import_way_of(gpu) == NN_DEVICE_MEMORY_COPIED)
		skip();
	prepared = prepare_sum(&a);
	memory = map_client();
	client.region.length = CLIENT_BYTES;
	client.region.is_writable = true;
	/*
	 * The engine measures the first executions. The 12 executions use more addresses than the
	 * engine has recordings.
	 */
	for (uint32_t i = 0; i < 12; i++)
		add_in_place(prepared, &a, memory + 4096 * i);
	before = layer->recordings;
	add_in_place(prepared, &a, memory);
	assert_int_equal(layer->recordings, before + 2);
	for (uint32_t i = 0; i < 24; i++)
		add_in_place(prepared, &a, memory + 4096 * (5 + i % 7));
	assert_int_equal(layer->recordings, before + 2);
	unmap_client();
	vulkan_engine.release(&vulkan_engine, prepared);
}

/*
 * The engine imports memory that the CPU cannot access; if the import fails, the execution fails.
 */
static void test_device_memory(void **unused)
{
	static const struct {
		const char *name;
		bool is_writable, has_file;
		enum nn_status status;
	} cases[] = {
		{ "it is imported", true, true, NN_OK },
		{ "it has no dma-buf", true, false, NN_GENERAL_FAILURE },
		{ "the output cannot be written", false, true, NN_GENERAL_FAILURE },
	};
	struct arguments a;
	void *prepared;

	(void)unused;
	if (import_way_of(gpu) != NN_DEVICE_MEMORY_DMA_BUF)
		skip();
	prepared = prepare_sum(&a);
	client.region.is_device_memory = true;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *memory = map_client();
		enum nn_status status;

		client.region.length = CLIENT_BYTES;
		client.region.is_writable = cases[i].is_writable;
		if (!cases[i].has_file) {
			close(client.file);
			client.file = -1;
		}
		place_sum(&a, memory);
		/* Protect the memory, so that the CPU faults if it copies the arguments. */
		mprotect(memory, CLIENT_BYTES, PROT_NONE);
		status = engine_execute(prepared, &a);
		if (status != cases[i].status)
			fail_msg("%s: %s", cases[i].name, nn_status_name(status));
		mprotect(memory, CLIENT_BYTES, PROT_READ);
		if (!status)
			check_all(&a.outputs[0], 3);
		unmap_client();
	}
	client.region.is_device_memory = false;
	vulkan_engine.release(&vulkan_engine, prepared);
}

/* ---- Buffers of memory domains ---- */

/* Makes a buffer for an input, and for an output if `is_output` is set. */
static enum nn_status make_domain(void *prepared, uint32_t input, bool is_output, uint64_t capacity,
				  void **buffer)
{
	const struct nna_engine_role roles[] = {
		{ .prepared = prepared, .index = input },
		{ .prepared = is_output ? prepared : NULL, .is_output = true },
	};
	const struct nna_engine_new_buffer wanted = {
		.capacity = capacity, .roles = roles, .num_roles = is_output ? 2 : 1,
	};
	struct nn_error err = { "" };

	return vulkan_engine.buffers->create(&vulkan_engine, &wanted, buffer, &err);
}

static enum nn_status write_domain(void *buffer, const void *from, uint64_t length)
{
	struct nn_error err = { "" };

	return vulkan_engine.buffers->copy_in(&vulkan_engine, buffer, NULL, from, length, &err);
}

static enum nn_status read_domain(void *buffer, void *to, uint64_t length)
{
	struct nn_error err = { "" };

	return vulkan_engine.buffers->copy_out(&vulkan_engine, buffer, NULL, to, length, &err);
}

/* The CPU does not copy arguments that are in buffers; an output's buffer may be the next input. */
static void test_domains(void **unused)
{
	struct nn_error err = { "" };
	struct arguments a;
	void *prepared, *in, *sum;
	uint64_t length;
	uint32_t waits;
	void *x;

	(void)unused;
	make_add();
	assert_int_equal(engine_prepare(&prepared, &err), NN_OK);
	make_arguments(&b.model, &a);
	length = a.outputs[0].length;
	x = a.inputs[0].data;
	set_all(&a.inputs[0], 1);
	set_all(&a.inputs[1], 2);
	assert_int_equal(make_domain(prepared, 0, false, length, &in), NN_OK);
	assert_int_equal(make_domain(prepared, 0, true, length, &sum), NN_OK);
	assert_int_equal(write_domain(in, x, length), NN_OK);
	memset(x, 0, length);

	domains[0].data = x;
	domains[1].data = a.outputs[0].data;
	for (uint32_t round = 0; round < 6; round++) {
		const uint64_t before = facts_of(prepared).copies;

		domains[0].buffer = in;
		domains[1].buffer = sum;
		assert_int_equal(engine_execute(prepared, &a), NN_OK);
		assert_int_equal(facts_of(prepared).copies, before + 1);
		domains[0].buffer = sum;
		domains[1].buffer = NULL;
		assert_int_equal(engine_execute(prepared, &a), NN_OK);
		check_all(&a.outputs[0], 5);
		memset(a.outputs[0].data, 0, length);
	}
	assert_int_equal(read_domain(sum, x, length), NN_OK);
	check_all(&a.inputs[0], 3);
	assert_int_equal(read_domain(sum, x, length + 1), NN_GENERAL_FAILURE);
	domains[0].buffer = in;
	a.inputs[0].length++;
	assert_int_equal(engine_execute(prepared, &a), NN_GENERAL_FAILURE);
	a.inputs[0].length--;

	/* With only_devices, the engine cannot copy clients' memory. */
	vulkan_engine.only_devices = true;
	vulkan_engine.buffers->destroy(&vulkan_engine, sum);
	assert_int_equal(make_domain(prepared, 0, true, length, &sum), NN_OK);
	assert_null(sum);
	vulkan_engine.only_devices = false;
	memset(domains, 0, sizeof(domains));
	/* An execution whose deadline has passed may still use the buffer. */
	waits = layer->waits;
	vulkan_engine.buffers->destroy(&vulkan_engine, in);
	assert_int_equal(layer->waits, waits + 1);
	vulkan_engine.release(&vulkan_engine, prepared);
	free_arguments(&a);
}

/* Copies of buffers flush and invalidate incoherent memory. */
static void test_incoherent_domain(void **unused)
{
	const char sent[] = "contents of a buffer";
	struct gpu *coherent = gpu;
	struct nn_error err = { "" };
	char got[sizeof(sent)];
	struct prepared *p;
	void *buffer;

	(void)unused;
	layer->is_incoherent = true;
	assert_int_equal(gpu_open("software", &gpu, &err), NN_OK);
	make_product();
	p = must_prepare(&b.model);
	assert_int_equal(make_domain(p, 0, false, sizeof(sent), &buffer), NN_OK);
	assert_int_equal(write_domain(buffer, sent, sizeof(sent)), NN_OK);
	assert_int_equal(read_domain(buffer, got, sizeof(got)), NN_OK);
	assert_memory_equal(got, sent, sizeof(got));
	vulkan_engine.buffers->destroy(&vulkan_engine, buffer);
	prepared_release(p);
	gpu_release(gpu);
	gpu = coherent;
	layer->is_incoherent = false;
}

/*
 * The CPU checks the indices of GATHER, so a buffer of indices has the same layout as clients'
 * memory.
 */
static void test_domain_of_indices(void **unused)
{
	struct nn_error err = { "" };
	void *prepared, *buffer;

	(void)unused;
	make_gather_input();
	assert_int_equal(engine_prepare(&prepared, &err), NN_OK);
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t operand = b.model.subgraphs[0].inputs[i];
		const bool is_indices = b.model.subgraphs[0].operands[operand].type == NN_TENSOR_INT32;

		assert_int_equal(make_domain(prepared, i, false, 64, &buffer), NN_OK);
		assert_int_equal(!buffer, is_indices);
		if (buffer)
			vulkan_engine.buffers->destroy(&vulkan_engine, buffer);
	}
	vulkan_engine.release(&vulkan_engine, prepared);
}

/*
 * Each call of Vulkan fails in turn while a buffer is made, written and read. If the GPU of a
 * buffer is lost, copies of the buffer fail, and executions with the buffer fail on the reopened
 * GPU.
 */
static void test_domains_fail(void **unused)
{
	struct nn_error err = { "" };
	uint32_t objects, waits, calls = 0;
	void *prepared, *again, *buffer = NULL;
	struct arguments a;

	(void)unused;
	make_add();
	assert_int_equal(engine_prepare(&prepared, &err), NN_OK);
	make_arguments(&b.model, &a);
	objects = layer->objects;
	do {
		enum nn_status status;

		fail_after(VK_ERROR_OUT_OF_DEVICE_MEMORY, calls++);
		buffer = NULL;
		status = make_domain(prepared, 0, true, a.inputs[0].length, &buffer);
		if (!status)
			status = write_domain(buffer, a.inputs[0].data, a.inputs[0].length);
		if (!status)
			status = read_domain(buffer, a.outputs[0].data, a.outputs[0].length);
		assert_int_equal(status, layer->is_reached ? NN_RESOURCE_EXHAUSTED_TRANSIENT : NN_OK);
		if (buffer && layer->is_reached)
			vulkan_engine.buffers->destroy(&vulkan_engine, buffer);
		assert_true(!layer->is_reached || layer->objects == objects);
	} while (layer->is_reached);
	assert_true(calls > 10);
	assert_memory_equal(a.outputs[0].data, a.inputs[0].data, a.outputs[0].length);
	/*
	 * The tenth call of a copy waits for the GPU. If the tenth call fails, the engine waits for
	 * the whole GPU.
	 */
	waits = layer->waits;
	fail_after(VK_ERROR_OUT_OF_DEVICE_MEMORY, 9);
	assert_int_not_equal(write_domain(buffer, a.inputs[0].data, 4), NN_OK);
	assert_int_equal(layer->waits, waits + 2);

	fail_after(VK_ERROR_DEVICE_LOST, 0);
	assert_int_equal(write_domain(buffer, a.inputs[0].data, 4), NN_DEVICE_UNAVAILABLE);
	fail_after(VK_SUCCESS, 0);
	assert_int_equal(engine_prepare(&again, &err), NN_OK);
	domains[0].data = a.inputs[0].data;
	domains[0].buffer = buffer;
	assert_int_equal(engine_execute(again, &a), NN_DEVICE_UNAVAILABLE);
	memset(domains, 0, sizeof(domains));
	assert_int_equal(engine_execute(again, &a), NN_OK);
	vulkan_engine.buffers->destroy(&vulkan_engine, buffer);
	vulkan_engine.release(&vulkan_engine, again);
	vulkan_engine.release(&vulkan_engine, prepared);
	free_arguments(&a);
}

/*
 * An execution ends with the queue's sync_file if the GPU writes all outputs to the client's
 * memory. If the CPU writes an output or the library rejects the sync_file, the engine waits for
 * the GPU.
 */
static void test_sync_file(void **unused)
{
	static const struct {
		const char *name;
		bool is_writable, takes, measures, has_deadline;
		bool has_file;		/* true: the execution ends with a sync_file */
	} cases[] = {
		{ "the file is taken", true, true, false, false, true },
		{ "the file is not taken", true, false, false, false, true },
		{ "the CPU copies the output", false, true, false, false, false },
		{ "the time is asked for", true, true, true, false, false },
		{ "there is a deadline", true, true, false, true, false },
	};
	struct arguments a;
	void *prepared;

	(void)unused;
	if (!(gpu->can & GPU_SYNC_FILE))
		skip();
	prepared = prepare_sum(&a);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *memory = map_client();

		client.region.length = CLIENT_BYTES;
		client.region.is_writable = cases[i].is_writable;
		fence.takes = cases[i].takes;
		a.execution.measure = cases[i].measures;
		a.execution.deadline_ns = cases[i].has_deadline ? clock_ns() + 3600 * NS_PER_S : 0;
		/* The engine measures the first four executions, and waits for them. */
		for (uint32_t round = 0; round < 5; round++) {
			fence.file = -1;
			add_in_place(prepared, &a, memory);
			assert_true(fence.file < 0 || i || round == 4);
		}
		if (cases[i].has_file != (fence.file >= 0))
			fail_msg("%s: file %d", cases[i].name, fence.file);
		unmap_client();
	}
	/* If exporting a semaphore has failed once, later submissions signal no semaphore. */
	client.region.is_writable = true;
	a.execution.deadline_ns = 0;
	for (uint32_t round = 0; round < 2; round++) {
		char *memory = map_client();

		fail_after(round ? VK_SUCCESS : VK_ERROR_TOO_MANY_OBJECTS, 0);
		fence.file = -1;
		add_in_place(prepared, &a, memory);
		assert_int_equal(fence.file, -1);
		assert_true(layer->is_reached == !round);
		unmap_client();
	}
	vulkan_engine.release(&vulkan_engine, prepared);
}

/*
 * A thread signals the file that an execution waits for. The thread signals the file when the
 * execution is submitted, or after `patience_ms`.
 */
struct dependency {
	float *input;			/* input that the thread writes before the signal */
	uint32_t patience_ms;
	uint32_t submissions;		/* number of submissions before the execution */
	bool is_submitted;
};

static void *end_dependency(void *given)
{
	struct dependency *d = given;

	for (uint32_t i = 0; i < d->patience_ms && !d->is_submitted; i++) {
		usleep(1000);
		d->is_submitted = __atomic_load_n(&layer->submissions, __ATOMIC_RELAXED) != d->submissions;
	}
	*d->input = 1;
	eventfd_write(wait_on.file, 1);
	return NULL;
}

/* Returns true if the execution was submitted before the file that it waits for was signalled. */
static bool submits_before(void *prepared, struct arguments *a, char *memory, uint32_t patience_ms)
{
	struct dependency d = { .patience_ms = patience_ms, .submissions = layer->submissions };
	pthread_t thread;

	wait_on.file = eventfd(0, EFD_CLOEXEC);
	place_sum(a, memory);
	d.input = a->inputs[0].data;
	*d.input = 100;
	assert_int_equal(pthread_create(&thread, NULL, end_dependency, &d), 0);
	assert_int_equal(engine_execute(prepared, a), NN_OK);
	pthread_join(thread, NULL);
	check_all(&a->outputs[0], 3);
	close(wait_on.file);
	wait_on.file = -1;
	return d.is_submitted;
}

/*
 * The GPU waits for the fence that an execution depends on. If the engine copies arguments or
 * measures executions, the CPU waits for the fence.
 */
static void test_dependencies(void **unused)
{
	static const uint64_t copied[] = { DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW,
					   DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW };
	struct arguments a;
	void *prepared;
	char *memory;

	(void)unused;
	if (!(gpu->can & GPU_SYNC_FILE))
		skip();
	prepared = prepare_sum(&a);
	memory = map_client();
	client.region.length = CLIENT_BYTES;
	client.region.is_writable = true;
	vulkan_engine.only_devices = true;
	assert_false(submits_before(prepared, &a, memory, 100));
	/* The engine measures four executions. */
	for (uint32_t round = 0; round < 3; round++)
		add_in_place(prepared, &a, memory);
	for (uint32_t round = 0; round < 2; round++)
		assert_true(submits_before(prepared, &a, memory, 60000));
	assert_int_equal(num_accesses, 0);
	/* The execution fails if the driver cannot import the file of the fence. */
	wait_on.file = eventfd(0, EFD_CLOEXEC);
	fail_after(VK_ERROR_TOO_MANY_OBJECTS, 0);
	assert_int_equal(engine_execute(prepared, &a), NN_GENERAL_FAILURE);
	assert_true(layer->is_reached);
	fail_after(VK_SUCCESS, 0);
	unmap_client();

	memory = map_client();
	client.region.is_writable = false;
	/*
	 * The execution depends on a file that is never signalled, and the CPU must wait for the
	 * file before it copies arguments.
	 */
	place_sum(&a, memory);
	a.execution.deadline_ns = clock_ns() + 1;
	assert_int_equal(engine_execute(prepared, &a), NN_MISSED_DEADLINE_TRANSIENT);
	a.execution.deadline_ns = 0;
	wait_on.gone = eventfd(1, EFD_CLOEXEC);
	assert_int_equal(engine_execute(prepared, &a), NN_GENERAL_FAILURE);
	close(wait_on.gone);
	wait_on.gone = -1;
	close(wait_on.file);
	assert_int_equal(num_accesses, 0);
	interruptions = 2;
	assert_false(submits_before(prepared, &a, memory, 100));
	assert_int_equal(interruptions, 0);
	assert_int_equal(num_accesses, 2);
	assert_memory_equal(accesses, copied, sizeof(copied));
	vulkan_engine.only_devices = false;
	unmap_client();
	vulkan_engine.release(&vulkan_engine, prepared);
}

/*
 * The device time that an execution reports must be the time on the GPU, not the time of the call.
 */
static void test_time(void **unused)
{
	struct nn_error err = { "" };
	struct arguments a;
	struct prepared *p;
	const double tick_ns = gpu->tick_ns;
	uint64_t began;

	(void)unused;
	if (!(tick_ns > 0))
		skip();
	make_chain();
	p = must_prepare(&b.model);
	make_arguments(&b.model, &a);
	for (uint32_t round = 0; round < 3; round++) {
		/* In the last round the GPU's clock is a million times as fast as the CPU's. */
		gpu->tick_ns = round < 2 ? tick_ns : tick_ns * 1e6;
		began = clock_ns();
		a.execution.device_ns = 0;
		assert_int_equal(prepared_execute(p, &a.execution, -1, &err), NN_OK);
		assert_in_range(a.execution.device_ns, round < 2 ? 1 : 2, clock_ns() - began);
	}
	gpu->tick_ns = tick_ns;
	free_arguments(&a);
	prepared_release(p);
}

/* ---- Which GPU ---- */

static void test_choice(void **unused)
{
	struct gpu_name names[8];
	struct nn_error err = { "" };
	struct gpu *chosen = NULL;
	int count = gpu_list(names, 8, &err), software = 0;

	(void)unused;
	assert_true(count > 0);
	for (int i = 0; i < count && i < 8; i++) {
		assert_int_equal(strlen(names[i].uuid), 36);
		software += names[i].is_software;
		if (!names[i].is_software)
			continue;
		/*
		 * A software driver cannot be chosen by its name or its UUID, only by the word
		 * "software".
		 */
		assert_int_equal(gpu_open(names[i].name, &chosen, &err), NN_DEVICE_UNAVAILABLE);
		assert_int_equal(gpu_open(names[i].uuid, &chosen, &err), NN_DEVICE_UNAVAILABLE);
	}
	assert_true(software > 0);
	if (software < count)
		return;
	err.message[0] = '\0';
	assert_int_equal(gpu_open(NULL, &chosen, &err), NN_DEVICE_UNAVAILABLE);
	assert_non_null(strstr(err.message, "--gpu software"));
}

/* ---- Its speed ---- */

static void only_file(const char *folder, char path[600])
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			snprintf(path, 600, "%s/%s", folder, entry->d_name);
	closedir(dir);
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/*
 * The engine stores its performance figures. If the stored performance figures are invalid, the
 * engine measures its performance again.
 */
static void test_capabilities(void **unused)
{
	static const char *const invalid[] = { "0.5 -1 0.125\n", "0.5 0 0.125\n", "0.5 1e9 0.125\n", "0.5 0.25\n" };
	char folder[] = "/tmp/nnaccel-vulkan-XXXXXX", path[600] = "";
	struct nn_error err = { "" };
	struct capabilities c;

	(void)unused;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(capabilities_get(gpu, folder, &c, &err), NN_OK);
	assert_true(c.float32 > 0 && c.float16 > 0 && c.quant8 > 0);
	only_file(folder, path);
	write_text(path, "0.5 0.25 0.125\n");
	assert_int_equal(capabilities_get(gpu, folder, &c, &err), NN_OK);
	assert_float_equal(c.float32, 0.5, 0);
	assert_float_equal(c.float16, 0.25, 0);
	assert_float_equal(c.quant8, 0.125, 0);
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
		struct capabilities stored = { 0 };

		write_text(path, invalid[i]);
		assert_int_equal(capabilities_get(gpu, folder, &c, &err), NN_OK);
		assert_true(c.float32 > 0 && c.float16 > 0 && c.quant8 > 0 && c.float16 < 1e9f);
		assert_int_equal(capabilities_get(gpu, folder, &stored, &err), NN_OK);
		assert_true(stored.float16 > 0.99f * c.float16 && stored.float16 < 1.01f * c.float16);
	}
	unlink(path);
	rmdir(folder);
}

/* The engine describes the device and the memory of a model. */
static void test_description(void **unused)
{
	static struct nn_device_info info;
	struct nna_engine_memory memory;
	struct prepared_facts facts;
	struct nn_error err = { "" };
	struct arguments a;
	void *prepared;

	(void)unused;
	make_product();
	assert_int_equal(engine_prepare(&prepared, &err), NN_OK);
	make_arguments(&b.model, &a);
	assert_int_equal(engine_execute(prepared, &a), NN_OK);
	free_arguments(&a);
	facts = facts_of(prepared);
	assert_true(facts.weights && facts.temporaries);
	vulkan_engine.memory(&vulkan_engine, prepared, &memory);
	assert_int_equal(memory.weights, facts.staging);
	assert_int_equal(memory.device, facts.weights + facts.temporaries);
	assert_int_equal(memory.execution, 0);
	vulkan_engine.release(&vulkan_engine, prepared);

	vulkan_engine.describe(&vulkan_engine, &info);
	assert_int_equal(info.type, NN_DEVICE_GPU);
	assert_int_equal(info.feature_level, 8);
	assert_int_equal(info.memory, import_way_of(gpu));
	assert_true(info.copies >= 2);
	assert_int_equal(info.copies, prepared_copies());
	assert_true(strlen(info.version) > 9);
	/* Each type of tensors has the speed of its class, and scalars that of floats. */
	assert_true(info.operand[NN_TENSOR_FLOAT32].exec_time > 0);
	assert_float_equal(info.operand[NN_TENSOR_INT32].exec_time, info.operand[NN_TENSOR_FLOAT32].exec_time, 0);
	assert_float_equal(info.relaxed_tensor.power_usage, info.operand[NN_TENSOR_FLOAT32].exec_time, 0);
	assert_true(info.operand[NN_FLOAT16].exec_time > 0);
	assert_float_equal(info.operand[NN_FLOAT16].power_usage, info.operand[NN_TENSOR_FLOAT16].exec_time, 0);
	assert_true(info.operand[NN_TENSOR_QUANT8_SYMM].exec_time > 0);
	assert_float_equal(info.operand[NN_TENSOR_QUANT8_ASYMM].power_usage,
			   info.operand[NN_TENSOR_QUANT8_SYMM].exec_time, 0);
	/* The bits of the NNAPI's operations: RELU is supported, LOGICAL_NOT is not. */
	assert_int_equal(info.operations[NN_OP_RELU / 8] >> NN_OP_RELU % 8 & 1, 1);
	assert_int_equal(info.operations[NN_OP_LOGICAL_NOT / 8] >> NN_OP_LOGICAL_NOT % 8 & 1, 0);
}

/* ---- A client's process ---- */

/* Runs `body` in a process of its own, and prints the log of the process. Returns its status. */
static int run_process(void (*body)(const char *program, int answer), const char *program,
		       int answer)
{
	char text[512];
	int log[2], status = -1;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe2(log, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		/* In the sandbox the log must be no file, because the sandbox lets no file grow. */
		dup2(log[1], STDERR_FILENO);
		body(program, answer);
		_exit(0);
	}
	close(log[1]);
	while ((n = read(log[0], text, sizeof(text))) > 0)
		fwrite(text, 1, (size_t)n, stderr);
	close(log[0]);
	waitpid(pid, &status, 0);
	return status;
}

/* The value of VULKAN_FACTS that the engine sets, and the status of a client's process. */
static char facts[128];
static int process_status;

/* Describes the device as the engine's own process does, and writes the facts to `answer`. */
static void describe(const char *program, int answer)
{
	struct nn_device_info info = { .size = sizeof(info) };
	const char *text;

	(void)program;
	vulkan_engine_choose("software", NULL, false);
	vulkan_engine_choose_clients();
	vulkan_engine.describe(&vulkan_engine, &info);
	text = getenv(VULKAN_FACTS);
	if (text && write(answer, text, strlen(text)) < 0)
		_exit(1);
}

static void write_file(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* Enters the sandbox of a client's process, in a user namespace if the system has them. */
static void enter_sandbox(void)
{
	struct worker_options options = { .isolation = ISOLATE_NONE, .uid = geteuid(),
					  .gid = getegid() };
	char uids[32], gids[32];

	snprintf(uids, sizeof(uids), "0 %u 1", (unsigned int)geteuid());
	snprintf(gids, sizeof(gids), "0 %u 1", (unsigned int)getegid());
	if (!unshare(CLONE_NEWUSER | CLONE_NEWNS)) {
		options = (struct worker_options){ .isolation = ISOLATE_USERNS };
		write_file("/proc/self/setgroups", "deny");
		write_file("/proc/self/uid_map", uids);
		write_file("/proc/self/gid_map", gids);
	}
	assert_true(vulkan_engine_enter_process(facts));
	sandbox_enter(&vulkan_engine, &options);
	assert_true(vulkan_engine.start(&vulkan_engine));
	sandbox_stop_processes(&vulkan_engine, ISOLATE_NONE);
	sandbox_seal(&vulkan_engine);
}

/* Computes in a client's sandbox until the GPU is lost. A forbidden system call kills the process. */
static void compute_in_sandbox(const char *program, int answer)
{
	struct nn_device_info info = { .size = sizeof(info) };
	struct nn_error err = { "" };
	void *prepared, *again;
	struct arguments a;

	(void)answer;
	load_layer(program);
	map_client();
	client.file = fcntl(client.file, F_DUPFD_CLOEXEC, WORKER_ENGINE_FD);
	for (int file = WORKER_CONTROL_FD; file < WORKER_ENGINE_FD; file++)
		assert_int_equal(dup2(STDIN_FILENO, file), file);
	client.region.length = CLIENT_BYTES;
	client.region.is_writable = true;
	g.values = malloc(VALUES_SIZE);
	enter_sandbox();

	vulkan_engine.describe(&vulkan_engine, &info);
	prepared = prepare_sum(&a);
	gpu = prepared_gpu(prepared);
	/* A model's first four executions differ from the model's later ones. */
	fence.takes = true;
	for (uint32_t i = 0; i < 6; i++)
		add_in_place(prepared, &a, client.region.base);
	fence.takes = false;
	vulkan_engine.forget_region(&vulkan_engine, &client.region);
	for (uint64_t seed = 1; seed <= 8; seed++) {
		random_start(seed * 7919);
		make_graph();
		if (is_supported())
			check_graph(seed);
	}

	/* A process ends with its GPU, because a new GPU would need new threads. */
	fail_after(VK_ERROR_DEVICE_LOST, 0);
	assert_int_equal(engine_execute(prepared, &a), NN_DEAD_OBJECT);
	fail_after(VK_SUCCESS, 0);
	assert_int_equal(engine_execute(prepared, &a), NN_DEAD_OBJECT);
	make_add();
	assert_int_equal(engine_prepare(&again, &err), NN_DEAD_OBJECT);
}

/* Runs both processes, before the test's own process opens the GPU. */
static void run_client(const char *program)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	process_status = run_process(describe, program, ends[1]);
	close(ends[1]);
	if (read(ends[0], facts, sizeof(facts) - 1) > 0)
		process_status = run_process(compute_in_sandbox, program, -1);
	close(ends[0]);
}

/* A client's process computes with just the permissions that the driver needs. */
static void test_process(void **unused)
{
	struct capabilities c;
	unsigned int permissions, needed = NNA_ENGINE_MAY_MAKE_CODE;

	(void)unused;
	assert_int_equal(process_status, 0);
	if (import_way_of(gpu) == NN_DEVICE_MEMORY_DMA_BUF)
		needed |= NNA_ENGINE_MAY_USE_DRIVERS | NNA_ENGINE_MAY_GROW_FILES;
	assert_int_equal(sscanf(facts, "%x %f %f %f", &permissions, &c.float32, &c.float16,
				&c.quant8), 4);
	assert_int_equal(permissions, needed);
	assert_true(c.float32 > 0 && c.float16 > 0 && c.quant8 > 0);
	assert_false(vulkan_engine_enter_process("2 1 1"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_capabilities),
		cmocka_unit_test(test_description),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_unread_inputs),
		cmocka_unit_test(test_shared_memory),
		cmocka_unit_test(test_submissions),
		cmocka_unit_test(test_few_rows),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_out_of_memory_later),
		cmocka_unit_test(test_wait_fails),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_lost_is_closed),
		cmocka_unit_test(test_one_goes_away),
		cmocka_unit_test(test_store),
		cmocka_unit_test(test_incoherent),
		cmocka_unit_test(test_saved),
		cmocka_unit_test(test_imported),
		cmocka_unit_test(test_unaligned),
		cmocka_unit_test(test_two_regions),
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_device_memory),
		cmocka_unit_test(test_domains),
		cmocka_unit_test(test_incoherent_domain),
		cmocka_unit_test(test_domain_of_indices),
		cmocka_unit_test(test_domains_fail),
		cmocka_unit_test(test_sync_file),
		cmocka_unit_test(test_dependencies),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_random_graphs),
		cmocka_unit_test(test_dynamic),
		cmocka_unit_test(test_fp16),
		cmocka_unit_test(test_variants),
	};

	/* The suite runs slow checkers on only some tests, which it names in NN_TESTS. */
	const char *filter = getenv("NN_TESTS");
	struct gpu_name names[8];
	int count, software = 0;

	(void)argc;
	if (!filter || !fnmatch(filter, "test_process", 0))
		run_client(argv[0]);
	/* LeakSanitizer cannot suppress blocks of a driver that is no longer loaded. */
	(void)dlopen("libvulkan_lvp.so", RTLD_LAZY | RTLD_NODELETE);
	load_layer(argv[0]);
	if (!layer) {
		puts("Bail out! the layer of the tests is not built: make tests");
		return 1;
	}
	count = gpu_list(names, 8, NULL);
	for (int i = 0; i < count && i < 8; i++)
		software += names[i].is_software;
	if (!software) {
		puts("1..0 # SKIP Vulkan has no software driver: install mesa-vulkan-drivers");
		return 0;
	}
	if (filter)
		cmocka_set_test_filter(filter);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
