/* SPDX-License-Identifier: MIT */
/*
 * Tests which plug-ins the engine loads or rejects. The test covers models that use plug-ins: codes
 * are resolved, extension data is checked, and operations are planned and run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../examples/extensions/fibonacci.h"
#include "../examples/extensions/golden.h"
#include "engine/worker/plugin_op.h"
#include "kit/api/device.h"
#include "model/attribute.h"
#include "model/extension.h"
#include "model/extension_list.h"
#include "model_builder.h"
#include "ops/op.h"
#include "plan/plan.h"
#include "tests/failing/failing.h"
#include "tests/failing/kept.h"

#define CODE(prefix, code) ((prefix) << 16 | (code))

/* Returns the path of a plug-in, relative to the folder of this test's program. */
static const char *plugin_path(const char *name)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *end;

	assert_true(n > 0);
	path[n] = '\0';
	end = strrchr(path, '/');
	snprintf(end, sizeof(path) - (size_t)(end - path), "/%s.so", name);
	return path;
}

static const struct nna_engine engine;

static enum nna_engine_plugin take(const struct nnx_extension *descriptor, struct nn_error *err)
{
	enum nna_engine_plugin result = nna_engine_plugin_take(&engine, descriptor, 0, err);

	if (result == NNA_ENGINE_PLUGIN_LOADED)
		assert_int_equal(plugin_op_add_all(err), NN_OK);
	return result;
}

#define assert_load(result, name, text)							\
	do {										\
		struct nn_error e = { "" };						\
		assert_int_equal(plugin_op_load(&engine, plugin_path(name), &e), result);		\
		if (!strstr(e.message, text))						\
			fail_msg("%s: \"%s\" is not in \"%s\"", name, text, e.message);	\
	} while (0)

static void test_loading(void **state)
{
	uint64_t plan = nn_plan_fingerprint();

	(void)state;
	assert_int_equal(nna_engine_plugin_fingerprint(), 0);
	assert_load(NNA_ENGINE_PLUGIN_WAITS, "../extensions/golden",
		    "extension com.example.golden needs com.example.fibonacci");
	assert_load(NNA_ENGINE_PLUGIN_LOADED, "../extensions/fibonacci", "");
	assert_load(NNA_ENGINE_PLUGIN_LOADED, "../extensions/golden", "");
	assert_load(NNA_ENGINE_PLUGIN_LOADED, "plugins/hostile", "");
	assert_load(NNA_ENGINE_PLUGIN_LOADED, "plugins/old", "");
	assert_int_equal(nna_engine_plugin_count(), 4);
	assert_int_not_equal(nna_engine_plugin_fingerprint(), 0);
	/*
	 * The fingerprint of plans depends on the loaded plug-ins, so that the library does not
	 * load a plan that was saved with other plug-ins.
	 */
	assert_int_not_equal(nn_plan_fingerprint(), plan);
	assert_load(NNA_ENGINE_PLUGIN_REFUSED, "../extensions/fibonacci",
		    "extension com.example.fibonacci is registered already");
	assert_load(NNA_ENGINE_PLUGIN_REFUSED, "plugins/nothing", "exports no nnaccel_extension");
	assert_load(NNA_ENGINE_PLUGIN_REFUSED, "plugins/abi", "built for version 3 of the interface");
	assert_load(NNA_ENGINE_PLUGIN_REFUSED, "plugins/none", "No such file");
	assert_int_equal(nna_engine_plugin_count(), 4);
}

/* ---- descriptors ---- */

static enum nnx_status no_call(struct nnx_call *call)
{
	(void)call;
	return NNX_OK;
}

static enum nnx_status no_compile(struct nnx_call *call, void **state)
{
	(void)call;
	*state = NULL;
	return NNX_OK;
}

static enum nnx_status no_attribute(struct nnx_call *call, const struct nnx_attribute *attribute)
{
	(void)call;
	(void)attribute;
	return NNX_OK;
}

/* A valid descriptor of a plug-in; each test case makes one field of the descriptor invalid. */
struct sample {
	struct nnx_type types[2];
	struct nnx_operation operations[2];
	struct nnx_operation oem;
	struct nnx_attribute_type attributes[2];
	const char *needs[1];
	struct nnx_extension x;
};

static void sample_init(struct sample *s)
{
	*s = (struct sample){
		.types = {
			{ .code = 1, .element_size = 3, .name = "THREE" },
			{ .code = 2, .flags = NNX_TYPE_TENSOR, .element_size = 8, .name = "MANY" },
		},
		.operations = {
			{ .code = 1, .name = "A", .check = no_call, .shape = no_call,
			  .execute = no_call },
			{ .code = 2, .name = "B", .check = no_call, .shape = no_call,
			  .execute = no_call },
		},
		.attributes = {
			{ .code = 1, .flags = NNX_OF_COMPILATION, .name = "C",
			  .check = no_attribute },
			{ .code = 2, .flags = NNX_OF_EXECUTION, .name = "E",
			  .check = no_attribute },
		},
		.oem = { .name = "O", .check = no_call, .shape = no_call, .execute = no_call },
		.x = { .abi = NNX_ABI_VERSION, .size = sizeof(s->x), .name = "a.sample",
		       .num_types = 2, .num_operations = 2, .num_attributes = 2 },
	};
	s->x.types = s->types;
	s->x.operations = s->operations;
	s->x.attributes = s->attributes;
	s->x.needs = s->needs;
}

/* Makes an extension name that has `count` characters and contains a dot. */
static const char *letters(size_t count)
{
	static char name[NNX_MAX_NAME + 2];

	memset(name, 'x', count);
	name[1] = '.';
	name[count] = '\0';
	return name;
}

#define DESCRIPTORS(X)									\
X(abi, s->x.abi = 0, "built for version 0 of the interface, this engine has 2")	\
X(newer, s->x.abi = 3, "built for version 3 of the interface, this engine has 2")	\
X(old_size, s->x.abi = 1, "the descriptor has 80 bytes, must have 64")				\
X(many_attributes, s->x.num_attributes = NNX_MAX_ATTRIBUTES + 1, "too many attributes")	\
X(null_attributes, s->x.attributes = NULL, "attributes, or their list is NULL")		\
X(reserved_of_all, s->x.reserved = 1, "reserved fields are not 0")			\
X(attribute_name, s->attributes[1].name = " ", "attribute 1 has no valid name")	\
X(attribute_of_nothing, s->attributes[0].flags = 0, "attribute C: wrong flags 0x0")		\
X(attribute_flags, s->attributes[0].flags = 4, "attribute C: wrong flags 0x4")		\
X(attribute_reserved, s->attributes[0].reserved = 1, "flags 0x1 or reserved 0x1")	\
X(attribute_check, s->attributes[1].check = NULL, "attribute E lacks check")		\
X(attribute_twice, s->attributes[1].code = 1, "attributes C and E both have code 1")	\
X(size, s->x.size = 8, "the descriptor has 8 bytes")					\
X(no_name, s->x.name = NULL, "its name must be like com.")			\
X(no_dot, s->x.name = "sample", "its name must be like com.")			\
X(odd_name, s->x.name = "a.b c", "its name must be like com.")			\
X(long_name, s->x.name = letters(NNX_MAX_NAME + 1), "its name must be like com.")	\
X(many_types, s->x.num_types = NNX_MAX_TYPES + 1, "too many types")			\
X(null_types, s->x.types = NULL, "types, or their list is NULL")			\
X(type_name, s->types[1].name = "", "type 1 has no valid name")			\
X(type_odd_name, s->types[1].name = "A\177", "type 1 has no valid name")		\
X(type_long_name, s->types[1].name = letters(NNX_MAX_SHORT_NAME + 1), "type 1 has no valid name") \
X(type_empty, s->types[0].element_size = 0, "type THREE: elements have 0 bytes")		\
X(type_large, s->types[0].element_size = NNX_MAX_ELEMENT + 1, "elements have 65537 bytes") \
X(type_flags, s->types[1].flags = 2, "type MANY: unknown flags 0x2")			\
X(type_twice, s->types[1].code = 1, "types THREE and MANY both have code 1")		\
X(many_operations, s->x.num_operations = NNX_MAX_OPERATIONS + 1, "too many operations") \
X(null_operations, s->x.operations = NULL, "operations, or their list is NULL")		\
X(operation_name, s->operations[0].name = NULL, "an operation has no valid name")	\
X(no_check, s->operations[1].check = NULL, "operation B lacks check, shape or execute") \
X(no_shape, s->operations[1].shape = NULL, "operation B lacks check, shape or execute") \
X(no_execute, s->operations[1].execute = NULL, "operation B lacks check, shape or execute") \
X(no_release, s->operations[0].compile = no_compile,					\
  "operation A must have both compile and release, or none")						\
X(release, s->operations[0].release = free, "operation A must have both compile and release, or none") \
X(flags, s->operations[0].flags = 2, "operation A: unknown flags 0x2")			\
X(reserved, s->operations[0].reserved = 1, "operation A: unknown flags 0x0 or reserved 0x1") \
X(operation_twice, s->operations[1].code = 1, "operations A and B both have code 1")	\
X(oem, (s->x.oem_operation = &s->oem, s->oem.check = NULL), "operation O lacks check")	\
X(null_needs, (s->x.num_needs = 1, s->x.needs = NULL), "the list of needed extensions is NULL") \
X(no_name_needed, s->x.num_needs = 1, "needs (none), which is not loaded")		\
X(taken, s->x.name = FIBONACCI_NAME, "extension com.example.fibonacci is registered already") \
X(no_need, (s->x.num_needs = 1, s->needs[0] = "a.missing"), "needs a.missing, which is not loaded")

#define DEFINE(_name, _change, _message)	\
static void spoil_##_name(struct sample *s)	\
{						\
	(void)(_change);			\
}
DESCRIPTORS(DEFINE)
#undef DEFINE

static const struct {
	const char *name;
	void (*spoil)(struct sample *s);
	const char *message;
} descriptors[] = {
#define ENTRY(_name, _change, _message) { #_name, spoil_##_name, _message },
DESCRIPTORS(ENTRY)
#undef ENTRY
};

static void test_descriptors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(descriptors) / sizeof(descriptors[0]); i++) {
		struct nn_error err = { "" };
		struct sample s;

		sample_init(&s);
		descriptors[i].spoil(&s);
		if (take(&s.x, &err) == NNA_ENGINE_PLUGIN_LOADED ||
		    !strstr(err.message, descriptors[i].message))
			fail_msg("%s: \"%s\"", descriptors[i].name, err.message);
	}
	assert_int_equal(nna_engine_plugin_count(), 4);
}

/* ---- models ---- */

static const struct fibonacci_quant quant = { .scale = 0.5, .zero_point = 10 };

static void set_data(struct model_builder *b, uint32_t operand, const void *data, uint32_t size)
{
	b->operands[0][operand].extra = (struct nn_extra){
		.kind = NN_EXTRA_EXTENSION, .bytes = data, .count = size,
	};
}

/*
 * Builds a model with operations of the extensions golden (prefix 1) and fibonacci (prefix 2). The
 * operands are: 0 the count, 1 the numbers, 2 the ratios of the numbers, 3 constant ones, 4 the
 * activation, and 5 the sum.
 */
static void golden_model(struct model_builder *b, enum nn_lifetime count)
{
	static const float ones[] = { 1, 1, 1, 1, 1, 1, 1 };
	static const int64_t eight = 8;

	mb_init(b);
	b->model.num_extensions = 2;
	b->extensions[0] = (struct nn_extension_prefix){ GOLDEN_NAME, 1 };
	b->extensions[1] = (struct nn_extension_prefix){ FIBONACCI_NAME, 2 };
	if (count == NN_SUBGRAPH_INPUT)
		mb_operand(b, CODE(2, FIBONACCI_INT64), count, MB_NONE);
	else
		mb_constant(b, CODE(2, FIBONACCI_INT64), &eight, sizeof(eight), MB_NONE);
	mb_operand(b, CODE(2, FIBONACCI_TENSOR_QUANT64), NN_TEMPORARY, MB_DIMS(8));
	set_data(b, 1, &quant, sizeof(quant));
	mb_operand(b, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(0));
	mb_constant(b, NN_TENSOR_FLOAT32, ones, sizeof(ones), MB_DIMS(7));
	mb_int32(b, 0);
	mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(0));
	mb_operation(b, CODE(2, FIBONACCI_FIBONACCI), MB_LIST(0), MB_LIST(1));
	mb_operation(b, CODE(1, GOLDEN_RATIOS), MB_LIST(1), MB_LIST(2));
	mb_operation(b, 0 /* ADD */, MB_LIST(2, 3, 4), MB_LIST(5));
}

/* Decodes and checks a model as a worker does. */
static enum nn_status load(const struct model_builder *b, struct nn_model **model,
			   struct nn_error *err)
{
	enum nn_status status;
	size_t size;
	void *wire;

	assert_int_equal(nn_model_encode(&b->model, &wire, &size, err), NN_OK);
	status = nn_model_decode(wire, size, NULL, 0, model, err);
	free(wire);
	if (!status)
		status = nna_engine_plugin_check_model(*model, err);
	if (!status)
		status = nn_ops_check_model(*model, NULL, err);
	return status;
}

/* Runs a model that has one output and at most one input. */
static enum nn_status run(const struct model_builder *b, const char *kernels, const void *input,
			  uint64_t input_size, void *output, uint64_t output_size,
			  struct nn_error *err)
{
	const struct nn_plan_options options = { .preference = 1, .kernels = kernels };
	struct nn_arg in = { .data = (void *)input, .length = input_size };
	struct nn_arg out = { .data = output, .length = output_size };
	struct nn_execution e = { .num_inputs = b->subgraphs[0].num_inputs, .num_outputs = 1,
				  .inputs = &in, .outputs = &out };
	struct nn_model *model = NULL;
	struct nn_plan *plan = NULL;
	enum nn_status status = load(b, &model, err);

	if (!status)
		status = nn_plan_create(model, &options, &plan, err);
	/*
	 * Execute the plan twice, because the second execution uses state that the first execution
	 * made.
	 */
	if (!status)
		status = nn_plan_execute(plan, &e, err);
	if (!status)
		status = nn_plan_execute(plan, &e, err);
	nn_plan_free(plan);
	nn_model_free(model);
	return status;
}

static void test_running(void **state)
{
	static const char *const kernels[] = { "none", NULL };
	static const enum nn_lifetime counts[] = { NN_SUBGRAPH_INPUT, NN_CONSTANT_COPY };
	const int64_t fibonacci[] = { 0, 1, 1, 2, 3, 5, 8, 13 }, eight = 8;
	struct model_builder b;

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct nn_error err = { "" };
		float ratios[7] = { 0 };

		golden_model(&b, counts[i / 2]);
		assert_int_equal(run(&b, kernels[i % 2], &eight, sizeof(eight), ratios,
				     sizeof(ratios), &err), NN_OK);
		for (int k = 1; k < 7; k++)
			assert_float_equal(ratios[k],
					   (double)fibonacci[k + 1] / fibonacci[k] + 1, 1e-6);
	}
}

/*
 * Makes, saves and loads the plan of a model. Sets *data to the memory that the loaded plan reads.
 */
static struct nn_plan *plan_again(const struct model_builder *b, void **data)
{
	const struct nn_plan_options options = { .preference = 1 };
	struct nn_plan_image image = { 0 };
	struct nn_error err = { "" };
	struct nn_model *model = NULL;
	struct nn_plan *plan = NULL;
	void *model_part;

	if (load(b, &model, &err) || nn_plan_create(model, &options, &plan, &err) ||
	    nn_plan_save(plan, &image, &err))
		fail_msg("%s", err.message);
	model_part = malloc(image.model_size);
	*data = aligned_alloc(NN_PLAN_DATA_ALIGN, image.data_size + NN_PLAN_DATA_ALIGN);
	assert_true(model_part && *data);
	memcpy(model_part, image.model, image.model_size);
	nn_plan_image_data(&image, *data);
	nn_plan_free(plan);
	nn_model_free(model);

	if (nn_plan_load(model_part, image.model_size, *data, image.data_size, &options, &plan,
			 &err))
		fail_msg("%s", err.message);
	nn_plan_image_free(&image);
	free(model_part);
	return plan;
}

/* A plan with operations of plug-ins is saved and loaded like a plan without plug-ins. */
static void test_saving(void **state)
{
	static const enum nn_lifetime counts[] = { NN_SUBGRAPH_INPUT, NN_CONSTANT_COPY };
	const int64_t eight = 8;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct nn_arg in = { .data = (void *)&eight, .length = sizeof(eight) };
		float ratios[7] = { 0 };
		struct nn_arg out = { .data = ratios, .length = sizeof(ratios) };
		struct nn_execution e = { .num_inputs = (uint32_t)!i, .num_outputs = 1,
					  .inputs = &in, .outputs = &out };
		struct nn_error err = { "" };
		struct model_builder b;
		struct nn_plan *plan;
		void *data;

		golden_model(&b, counts[i]);
		plan = plan_again(&b, &data);
		assert_int_equal(nn_plan_execute(plan, &e, &err), NN_OK);
		assert_float_equal(ratios[6], 13.0 / 8 + 1, 1e-6);
		nn_plan_free(plan);
		free(data);
	}
}

static const char *long_name(void)
{
	static char name[5000];

	memset(name, 'x', sizeof(name) - 1);
	return name;
}

#define MODELS(X)									\
X(data_size, set_data(b, 1, &quant, 15), "subgraph 0, operand 1 (TENSOR_QUANT64): "	\
  "extension data: 15 bytes of extension data, must be 16")				\
X(no_data, b->operands[0][1].extra = (struct nn_extra){ 0 }, "operand 1 (TENSOR_QUANT64): " \
  "extension data: 0 bytes")								\
X(data_of_scalar, set_data(b, 0, "x", 1), "operand 0 (INT64): 1 bytes of extension data, " \
  "must be 0")									\
X(unknown_type, b->operands[0][1].type = CODE(2, 99),					\
  "operand 1 (unknown type): type 99 does not exist in extension com.example.fibonacci") \
X(unlisted, b->operands[0][1].type = CODE(3, 2),					\
  "operand 1 (unknown type): the extension of type 0x30002 is not listed")		\
X(unlisted_operation, b->operations[0][0].type = CODE(3, 1),				\
  "operation 0 (code 196609): its extension is not listed")				\
X(own_operation, b->operations[0][1].type = CODE(NN_OWN_PREFIX, 999),			\
  "unknown operation")							\
X(unknown_operation, b->operations[0][1].type = CODE(1, 8), "unknown operation") \
X(unknown_name, b->extensions[0].name = "com.example.silver",				\
  "extension 0 (com.example.silver) is not registered here")				\
X(name_twice, b->extensions[0].name = FIBONACCI_NAME,					\
  "extension \"com.example.fibonacci\" is listed twice")				\
X(name_twice_of_three, (b->extensions[0].name = FIBONACCI_NAME,				\
  b->extensions[2] = (struct nn_extension_prefix){ "com.example.last", 3 },		\
  b->model.num_extensions = 3),								\
  "extension \"com.example.fibonacci\" is listed twice")				\
X(name_empty, b->extensions[0].name = "", "extension 0: the name \"\" is not")		\
X(name_of_lines, b->extensions[0].name = "a.b\n<0>c", "extension 0: the name \"a")	\
X(name_long, b->extensions[0].name = long_name(), "is not registered here")		\
X(prefix_none, b->extensions[0].prefix = 0, "prefix 0 is reserved")			\
X(operation_0, b->operations[0][0].type = CODE(2, 0), "unknown operation")	\
X(operation_last, b->operations[0][0].type = (int32_t)0x2ffff,				\
  "unknown operation")							\
X(type_last, b->operands[0][1].type = (int32_t)0x2ffff, "type 65535 does not exist in extension") \
X(prefix_last, b->operands[0][1].type = -1, "the extension of type 0xffffffff is not listed") \
X(prefix_twice, b->extensions[0].prefix = 2, "prefix 2 is used twice")			\
X(scalar_with_dims, b->operands[0][0].rank = b->operands[0][0].dims[0] = 1,		\
  "a scalar has 1 dimensions, not 0")						\
X(length, b->operands[0][0].location.length = 4, "a constant has 4 bytes, must have 8")	\
X(signature, b->operations[0][0].type = CODE(1, GOLDEN_RATIOS),			\
  "RATIOS: input 0 must be TENSOR_QUANT64")

#define DEFINE(_name, _change, _message)		\
static void model_##_name(struct model_builder *b)	\
{							\
	(void)b;					\
	_change;					\
}
MODELS(DEFINE)
#undef DEFINE

static const struct {
	const char *name;
	void (*spoil)(struct model_builder *b);
	const char *message;	/* expected message; NULL if the model is valid */
} models[] = {
#define ENTRY(_name, _change, _message) { #_name, model_##_name, _message },
MODELS(ENTRY)
#undef ENTRY
};

static void test_models(void **state)
{
	struct model_builder b;

	(void)state;
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		struct nn_error err = { "" };
		struct nn_model *model = NULL;
		enum nn_status status;

		golden_model(&b, NN_CONSTANT_COPY);
		models[i].spoil(&b);
		status = load(&b, &model, &err);
		if (status != (models[i].message ? NN_INVALID_ARGUMENT : NN_OK) ||
		    (models[i].message && !strstr(err.message, models[i].message)))
			fail_msg("%s: \"%s\"", models[i].name, err.message);
		nn_model_free(model);
	}
}

/* ---- models that were not decoded ---- */

static void assert_refused(const struct model_builder *b, const char *message)
{
	struct nn_error err = { "" };

	assert_int_equal(nna_engine_plugin_check_model(&b->model, &err), NN_INVALID_ARGUMENT);
	assert_string_equal(err.message, message);
}

/* test_no_plugins() must run first, before any extension is registered. */
static void test_no_plugins(void **state)
{
	struct model_builder b;

	(void)state;
	golden_model(&b, NN_CONSTANT_COPY);
	assert_refused(&b, "extension com.example.golden: this client's device has no extensions");
}

/* Checks models that were built in memory, and whose extension names and types may be unknown. */
static void test_not_decoded(void **state)
{
	static const struct nn_extension own = { .name = "an.engine's" };
	struct model_builder b;
	uint16_t prefix;

	(void)state;
	assert_int_equal(nn_extension_register(&own, &prefix, NULL), NN_OK);
	golden_model(&b, NN_CONSTANT_COPY);
	b.extensions[0].name = "com.example.silver";
	assert_refused(&b, "extension com.example.silver: this client's device does not have it");
	golden_model(&b, NN_CONSTANT_COPY);
	b.operands[0][0].type = CODE(nn_extension_prefix(FIBONACCI_NAME), FIBONACCI_INT64);
	b.operands[0][1].type = CODE(nn_extension_prefix(FIBONACCI_NAME), 99);
	assert_refused(&b,
		       "subgraph 0, operand 1 (unknown type): no plug-in has type 0x10063");
	/* Plug-ins do not check operands of types that the engine itself defines. */
	golden_model(&b, NN_CONSTANT_COPY);
	b.operands[0][0].type = CODE(prefix, 99);
	set_data(&b, 1, NULL, 0);
	b.operands[0][1].type = CODE(prefix, 99);
	assert_int_equal(nna_engine_plugin_check_model(&b.model, NULL), NN_OK);
}

/* ---- attributes ---- */

static struct nn_attribute number(uint16_t code, const int64_t *value)
{
	return (struct nn_attribute){ FIBONACCI_NAME, code, sizeof(*value), value };
}

static void test_attributes_checked(void **state)
{
	const int64_t five = 5, zero = 0, many = 93;
	const struct {
		struct nn_attribute attribute;
		bool is_execution;
		const char *message;	/* expected message; NULL if the attributes are valid */
	} cases[] = {
		{ number(FIBONACCI_MODULUS, &five), false, NULL },
		{ number(FIBONACCI_SKIP, &five), true, NULL },
		{ number(FIBONACCI_SKIP, &zero), true, NULL },
		{ number(FIBONACCI_MODULUS, &five), true, "extension com.example.fibonacci has "
		  "no attribute 1 for an execution" },
		{ number(FIBONACCI_SKIP, &five), false, "no attribute 2 for a compilation" },
		{ number(FIBONACCI_MODULUS, &zero), false,
		  "attribute MODULUS of com.example.fibonacci: must be an int64_t above 0" },
		{ number(FIBONACCI_SKIP, &many), true, "attribute SKIP of com.example.fibonacci" },
		{ { FIBONACCI_NAME, FIBONACCI_SKIP, 7, &five }, true, "attribute SKIP of" },
		{ { FIBONACCI_NAME, FIBONACCI_SKIP, 0, NULL }, true, "attribute SKIP of" },
		{ { GOLDEN_NAME, 1, 8, &five }, false, "com.example.golden has no attribute 1" },
		{ { "com.example.old", 1, 8, &five }, false, "com.example.old has no attribute" },
		{ { "com.example.x", 1, 8, &five }, false, "com.example.x has no attribute 1" },
	};

	(void)state;
	assert_int_equal(nna_engine_plugin_check_attributes(NULL, false, NULL), NN_OK);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct nn_attributes a = { 1, &cases[i].attribute };
		struct nn_error err = { "" };
		enum nn_status status = nna_engine_plugin_check_attributes(&a, cases[i].is_execution, &err);

		if (status != (cases[i].message ? NN_INVALID_ARGUMENT : NN_OK) ||
		    (cases[i].message && !strstr(err.message, cases[i].message)))
			fail_msg("%zu: \"%s\"", i, err.message);
	}
}

/*
 * Interpreted and compiled plans pass the attributes of the plan and of the execution to a
 * plug-in's operation.
 */
static void test_attributes_told(void **state)
{
	static const char *const kernels[] = { "none", NULL };
	static const enum nn_lifetime counts[] = { NN_SUBGRAPH_INPUT, NN_CONSTANT_COPY };
	const int64_t five = 5, two = 2, eight = 8;
	const struct nn_attribute list[] = { number(FIBONACCI_MODULUS, &five),
					     number(FIBONACCI_SKIP, &two) };
	const struct nn_attributes of_plan = { 1, &list[0] }, of_execution = { 1, &list[1] };
	const int64_t plain[] = { 0, 1, 1, 2, 3, 0, 3, 3 }, skipped[] = { 1, 2, 3, 0, 3, 3, 1, 4 };

	(void)state;
	for (int i = 0; i < 8; i++) {
		const struct nn_plan_options options = {
			.preference = 1, .kernels = kernels[i % 2], .lazy = i / 4,
			.attributes = &of_plan,
		};
		struct nn_arg in = { .data = (void *)&eight, .length = sizeof(eight) };
		int64_t numbers[8];
		struct nn_arg out = { .data = numbers, .length = sizeof(numbers) };
		struct nn_execution e = { .num_inputs = !(i / 2 % 2), .num_outputs = 1,
					  .inputs = &in, .outputs = &out };
		struct nn_error err = { "" };
		struct model_builder b;
		struct nn_model *model;
		struct nn_plan *plan;

		mb_init(&b);
		b.model.num_extensions = 1;
		b.extensions[0] = (struct nn_extension_prefix){ FIBONACCI_NAME, 9 };
		if (counts[i / 2 % 2] == NN_SUBGRAPH_INPUT)
			mb_operand(&b, CODE(9, FIBONACCI_INT64), NN_SUBGRAPH_INPUT, MB_NONE);
		else
			mb_constant(&b, CODE(9, FIBONACCI_INT64), &eight, sizeof(eight), MB_NONE);
		mb_operand(&b, CODE(9, FIBONACCI_TENSOR_QUANT64), NN_SUBGRAPH_OUTPUT, MB_DIMS(8));
		set_data(&b, 1, &quant, sizeof(quant));
		mb_operation(&b, CODE(9, FIBONACCI_FIBONACCI), MB_LIST(0), MB_LIST(1));
		if (load(&b, &model, &err) || nn_plan_create(model, &options, &plan, &err))
			fail_msg("%s", err.message);
		for (int k = 0; k < 4; k++) {
			e.attributes = k % 2 ? &of_execution : NULL;
			assert_int_equal(nn_plan_execute(plan, &e, &err), NN_OK);
			for (int n = 0; n < 8; n++)
				assert_int_equal(numbers[n], (k % 2 ? skipped : plain)[n] /
						 quant.scale + quant.zero_point);
		}
		nn_plan_free(plan);
		nn_model_free(model);
	}
}

static uint32_t compiled_with;	/* first byte of the attribute that note_compile() got last */

static enum nnx_status note_compile(struct nnx_call *call, void **state)
{
	compiled_with = call->num_attributes ? *(const uint8_t *)call->attributes[0].data : 0;
	*state = calloc(1, 1);
	return NNX_OK;
}

/* The compile() functions of an extension's operation and of OEM_OPERATION get the attributes. */
static void test_attributes_compiled(void **state)
{
	static struct sample s;		/* static, because a registered structure must stay valid */
	const uint8_t byte = 77;
	const struct nn_attribute list[] = {
		{ GOLDEN_NAME, 1, 1, "x" }, { "a.told", 1, 1, &byte },
	};
	const struct nn_attributes attributes = { 2, list };
	const struct nn_plan_options options = { .preference = 1, .attributes = &attributes };
	struct nn_error err = { "" };
	struct model_builder b;
	struct nn_model *model;
	struct nn_plan *plan;

	(void)state;
	sample_init(&s);
	s.x.name = "a.told";
	s.operations[0].compile = note_compile;
	s.operations[0].release = free;
	assert_int_equal(take(&s.x, &err), NNA_ENGINE_PLUGIN_LOADED);
	mb_init(&b);
	b.model.num_extensions = 1;
	b.extensions[0] = (struct nn_extension_prefix){ "a.told", 9 };
	mb_operand(&b, CODE(9, 2), NN_SUBGRAPH_INPUT, MB_DIMS(4));
	mb_operand(&b, CODE(9, 2), NN_SUBGRAPH_OUTPUT, MB_DIMS(4));
	mb_operation(&b, CODE(9, 1), MB_LIST(0), MB_LIST(1));
	assert_int_equal(load(&b, &model, &err), NN_OK);
	assert_int_equal(nn_plan_create(model, &options, &plan, &err), NN_OK);
	assert_int_equal(compiled_with, byte);
	nn_plan_free(plan);
	nn_model_free(model);
}

#define LARGE (3 << 20)

static const void *large_data;

static enum nnx_status check_large(struct nnx_call *call, const struct nnx_operand *operand)
{
	if (operand->data_size == LARGE && !memcmp(operand->data, large_data, LARGE))
		return NNX_OK;
	return (call->fail)(call, NNX_INVALID_ARGUMENT, "%u bytes", operand->data_size);
}

/* Extension data of any size reach the plug-in unchanged. */
static void test_large_data(void **state)
{
	static struct sample s;		/* static, because a registered structure must stay valid */
	struct nn_error err = { "" };
	uint8_t *data = malloc(LARGE);
	struct nn_model *model = NULL;
	struct model_builder b;

	(void)state;
	assert_non_null(data);
	for (uint32_t i = 0; i < LARGE; i++)
		data[i] = (uint8_t)(i * 7 + (i >> 8));
	large_data = data;
	sample_init(&s);
	s.x.name = "a.large";
	s.types[1].check_data = check_large;
	assert_int_equal(take(&s.x, &err), NNA_ENGINE_PLUGIN_LOADED);
	mb_init(&b);
	b.model.num_extensions = 1;
	b.extensions[0] = (struct nn_extension_prefix){ "a.large", 65535 };
	mb_operand(&b, (int32_t)0xffff0002, NN_SUBGRAPH_INPUT, MB_DIMS(4));
	set_data(&b, 0, data, LARGE);
	mb_operand(&b, (int32_t)0xffff0002, NN_SUBGRAPH_OUTPUT, MB_DIMS(4));
	set_data(&b, 1, data, LARGE);
	mb_operation(&b, (int32_t)0xffff0001, MB_LIST(0), MB_LIST(1));
	assert_int_equal(load(&b, &model, &err), NN_OK);
	nn_model_free(model);
	set_data(&b, 1, data, LARGE - 1);
	assert_int_equal(load(&b, &model, &err), NN_INVALID_ARGUMENT);
	assert_non_null(strstr(err.message, "extension data: 3145727 bytes"));
	nn_model_free(model);
	free(data);
}

/* An IF has operands of an extension, and its branches have operations of the extension. */
static void test_control_flow(void **state)
{
	const struct nn_plan_options options = { .preference = 1 };
	int64_t five = 5, numbers[5] = { 0 };
	bool condition = true;
	struct nn_arg in[] = { { .data = &condition, .length = 1 },
			       { .data = &five, .length = sizeof(five) } };
	struct nn_arg out = { .data = numbers, .length = sizeof(numbers) };
	struct nn_execution e = { .num_inputs = 2, .num_outputs = 1, .inputs = in,
				  .outputs = &out };
	struct nn_error err = { "" };
	struct model_builder b;
	struct nn_model *model;
	struct nn_plan *plan = NULL;

	(void)state;
	mb_init(&b);
	b.model.num_extensions = 1;
	b.extensions[0] = (struct nn_extension_prefix){ FIBONACCI_NAME, 9 };
	mb_operand(&b, NN_TENSOR_BOOL8, NN_SUBGRAPH_INPUT, MB_DIMS(1));
	mb_subgraph_operand(&b, 1);
	mb_subgraph_operand(&b, 2);
	mb_operand(&b, CODE(9, FIBONACCI_INT64), NN_SUBGRAPH_INPUT, MB_NONE);
	mb_operand(&b, CODE(9, FIBONACCI_TENSOR_QUANT64), NN_SUBGRAPH_OUTPUT, MB_DIMS(0));
	set_data(&b, 4, &quant, sizeof(quant));
	mb_operation(&b, NN_OP_IF, MB_LIST(0, 1, 2, 3), MB_LIST(4));
	for (int k = 1; k <= 2; k++) {
		mb_subgraph(&b);
		mb_operand(&b, CODE(9, FIBONACCI_INT64), NN_SUBGRAPH_INPUT, MB_NONE);
		mb_operand(&b, CODE(9, FIBONACCI_TENSOR_QUANT64), NN_SUBGRAPH_OUTPUT, MB_DIMS(0));
		b.operands[k][1].extra = b.operands[0][4].extra;
		mb_operation(&b, CODE(9, FIBONACCI_FIBONACCI), MB_LIST(0), MB_LIST(1));
	}
	if (load(&b, &model, &err) || nn_plan_create(model, &options, &plan, &err) ||
	    nn_plan_execute(plan, &e, &err))
		fail_msg("%s", err.message);
	assert_int_equal(numbers[4], 3 / quant.scale + quant.zero_point);
	nn_plan_free(plan);
	nn_model_free(model);
}

/* An NNAPI operation whose operand has an extension's type is rejected. */
static void test_core_operation(void **state)
{
	struct nn_error err = { "" };
	struct nn_model *model = NULL;
	struct model_builder b;

	(void)state;
	golden_model(&b, NN_CONSTANT_COPY);
	b.operations[0][1].type = 0;
	assert_int_equal(load(&b, &model, &err), NN_INVALID_ARGUMENT);
	nn_model_free(model);
}

static void test_supported(void **state)
{
	struct nn_error err = { "" };
	struct nn_model *model;
	struct model_builder b;
	bool supported[3];
	size_t size;
	void *wire;

	(void)state;
	golden_model(&b, NN_CONSTANT_COPY);
	b.operations[0][1].type = CODE(1, 8);
	assert_int_equal(nn_model_encode(&b.model, &wire, &size, &err), NN_OK);
	assert_int_equal(nn_model_decode(wire, size, NULL, 0, &model, &err), NN_OK);
	assert_int_equal(nn_ops_check_model(model, supported, &err), NN_OK);
	assert_true(supported[0] && !supported[1] && supported[2]);
	nn_model_free(model);
	free(wire);
}

/* ---- misbehaviour ---- */

static void test_hostile(void **state)
{
	static const struct {
		uint16_t code;
		enum nn_status status;
		const char *message;
	} cases[] = {
		{ 8, NN_OK, "" },
		{ 3, NN_GENERAL_FAILURE, "HUGE_RANK: output 0 (TENSOR_FLOAT32) has too many "
					 "dimensions: 1073741824" },
		{ 4, NN_GENERAL_FAILURE, "dimension 0 of output 0 is 4294967295" },
		{ 5, NN_GENERAL_FAILURE, "dimension 0 of output 0 is 5, the model says 4" },
		{ 6, NN_GENERAL_FAILURE, "SILENT: it failed without a message" },
		{ 7, NN_GENERAL_FAILURE, "ESCAPE: two?lines?[31m" },
	};
	const float in[] = { 1, 2, 3, 4 };
	struct model_builder b;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nn_error err = { "" };
		float out[4] = { 0 };

		mb_init(&b);
		b.model.num_extensions = 1;
		b.extensions[0] = (struct nn_extension_prefix){ "com.example.hostile", 9 };
		mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(4));
		mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(4));
		mb_operation(&b, CODE(9, cases[i].code), MB_LIST(0), MB_LIST(1));
		assert_int_equal(run(&b, NULL, in, sizeof(in), out, sizeof(out), &err),
				 cases[i].status);
		if (!strstr(err.message, cases[i].message))
			fail_msg("%u: \"%s\"", cases[i].code, err.message);
		if (!cases[i].status)
			assert_memory_equal(in, out, sizeof(in));
	}
}

/* ---- OEM ---- */

static void test_oem(void **state)
{
	const uint8_t in[] = { 1, 2, 3, 4 }, want[] = { 11, 22, 33, 4 };
	struct nn_error err = { "" };
	struct model_builder b;
	uint8_t out[4];
	struct sample s;

	(void)state;
	mb_init(&b);
	mb_operand(&b, NN_TENSOR_OEM_BYTE, NN_SUBGRAPH_INPUT, MB_DIMS(4));
	b.operands[0][0].scale = 3;
	mb_constant(&b, NN_OEM_SCALAR, (const uint8_t[]){ 10, 20, 30 }, 3, MB_NONE);
	mb_operand(&b, NN_TENSOR_OEM_BYTE, NN_SUBGRAPH_OUTPUT, MB_DIMS(0));
	mb_operation(&b, NN_OP_OEM, MB_LIST(0, 1), MB_LIST(2));
	assert_int_equal(run(&b, NULL, in, sizeof(in), out, sizeof(out), &err),
			 NN_INVALID_ARGUMENT);
	assert_non_null(strstr(err.message, "operation 10000: unknown operation"));

	assert_load(NNA_ENGINE_PLUGIN_LOADED, "plugins/oem", "");
	err.message[0] = '\0';
	assert_int_equal(run(&b, NULL, in, sizeof(in), out, sizeof(out), &err), NN_OK);
	assert_memory_equal(out, want, sizeof(want));

	sample_init(&s);
	s.x.oem_operation = &s.oem;
	assert_int_equal(take(&s.x, &err), NNA_ENGINE_PLUGIN_REFUSED);
	assert_non_null(strstr(err.message, "another extension has the OEM operation already"));
}

/*
 * Saving a plan does not merge equal scalars of the OEM type, because the library does not know the
 * size of their values.
 */
static void test_saving_oem(void **state)
{
	const uint8_t x[] = { 1, 2, 3, 4 }, want[] = { 1 + 12, 2 + 24, 3 + 36, 4 };
	static const uint8_t scalars[][3] = { { 1, 2, 3 }, { 10, 20, 30 }, { 1, 2, 3 } };
	uint8_t sums[sizeof(want)];
	struct nn_arg in = { .data = (void *)x, .length = sizeof(x) };
	struct nn_arg out = { .data = sums, .length = sizeof(sums) };
	struct nn_execution e = { .num_inputs = 1, .num_outputs = 1, .inputs = &in,
				  .outputs = &out };
	struct nn_error err = { "" };
	uint32_t from, to, scalar;
	struct model_builder b;
	struct nn_plan *plan;
	void *data;

	(void)state;
	mb_init(&b);
	from = mb_operand(&b, NN_TENSOR_OEM_BYTE, NN_SUBGRAPH_INPUT, MB_DIMS(4));
	for (int i = 0; i < 3; i++) {
		scalar = mb_constant(&b, NN_OEM_SCALAR, scalars[i], sizeof(scalars[i]), MB_NONE);
		b.operands[0][scalar].zero_point = i == 2;
		to = mb_operand(&b, NN_TENSOR_OEM_BYTE, i < 2 ? NN_TEMPORARY : NN_SUBGRAPH_OUTPUT,
				MB_DIMS(4));
		mb_operation(&b, NN_OP_OEM, MB_LIST(from, scalar), MB_LIST(to));
		from = to;
	}
	plan = plan_again(&b, &data);
	assert_int_equal(nn_plan_execute(plan, &e, &err), NN_OK);
	assert_memory_equal(sums, want, sizeof(want));
	nn_plan_free(plan);
	free(data);
}

static enum nnx_status any_data(struct nnx_call *call, const struct nnx_operand *operand)
{
	(void)call;
	(void)operand;
	return NNX_OK;
}

/*
 * Saving a plan neither removes an operation without outputs, nor merges scalars with different
 * extension data.
 */
static void test_saving_silent(void **state)
{
	const float x[] = { -1, 2 };
	float y[2] = { 0 };
	struct nn_arg in = { .data = (void *)x, .length = sizeof(x) };
	struct nn_arg out = { .data = y, .length = sizeof(y) };
	struct nn_execution e = { .num_inputs = 1, .num_outputs = 1, .inputs = &in,
				  .outputs = &out };
	static struct sample silent;
	struct nn_error err = { "" };
	const struct nn_subgraph *main;
	struct model_builder b;
	struct nn_plan *plan;
	uint32_t inputs[3] = { 0 };
	const uint32_t *read;
	void *data;

	(void)state;
	sample_init(&silent);
	silent.x.name = "a.silent";
	silent.types[0].check_data = any_data;
	assert_int_equal(take(&silent.x, &err), NNA_ENGINE_PLUGIN_LOADED);
	mb_init(&b);
	b.model.num_extensions = 1;
	b.extensions[0] = (struct nn_extension_prefix){ "a.silent", 3 };
	mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(2));
	mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(2));
	mb_operation(&b, 19 /* RELU */, MB_LIST(0), MB_LIST(1));
	for (int i = 0; i < 2; i++) {
		inputs[1 + i] = mb_constant(&b, CODE(3, 1), "abc", 3, MB_NONE);
		set_data(&b, inputs[1 + i], i ? "y" : "x", 1);
	}
	mb_operation(&b, CODE(3, 1), 3, inputs, MB_NONE);
	plan = plan_again(&b, &data);
	main = nn_plan_main(plan);
	assert_int_equal(main->num_operations, 2);
	assert_int_equal(main->operations[1].num_outputs, 0);
	read = main->operations[1].inputs;
	for (int i = 0; i < 2; i++)
		assert_int_equal(main->operands[read[1 + i]].extra.bytes[0], i ? 'y' : 'x');
	assert_int_equal(nn_plan_execute(plan, &e, &err), NN_OK);
	assert_true(y[0] == 0 && y[1] == 2);
	nn_plan_free(plan);
	free(data);
}

/* A look-up by type finds each registered operation, and finds nothing for an unknown type. */
static void test_lookup(void **state)
{
	const struct nna_engine_plugin_operation *o;
	uint32_t count = 0;

	(void)state;
	assert_true(nna_engine_plugin_count() > 1);
	while ((o = nna_engine_plugin_operation_at(count))) {
		assert_ptr_equal(nna_engine_plugin_operation_of(o->type), o);
		for (uint32_t i = 0; i < count; i++)
			assert_ptr_not_equal(nna_engine_plugin_operation_at(i), o);
		count++;
	}
	assert_true(count >= nna_engine_plugin_count());
	assert_non_null(nna_engine_plugin_operation_of(NN_OP_OEM));
	assert_null(nna_engine_plugin_operation_of(0));
	assert_null(nna_engine_plugin_operation_of(CODE(1, 0xffff)));
	assert_null(nna_engine_plugin_operation_of(CODE(0x7fff, 1)));
	assert_null(nna_engine_plugin_operation_at(UINT32_MAX));
}

/* ---- one call ---- */

static struct {
	enum nnx_status result;
	uint32_t flags[4], value_sizes[4], num_attributes, code;
	uint8_t values[4];		/* first byte of each input's value */
	bool relaxed, is_zeroed;
	unsigned int released;
} called;

static enum nnx_status compile(struct nnx_call *call, void **state)
{
	const uint8_t *bytes;

	assert_int_equal(call->num_inputs, 4);
	for (uint32_t i = 0; i < 4; i++) {
		called.flags[i] = call->inputs[i].flags;
		called.value_sizes[i] = call->inputs[i].value_size;
		if (call->inputs[i].value)
			called.values[i] = *(const uint8_t *)call->inputs[i].value;
	}
	called.num_attributes = call->num_attributes;
	called.code = call->num_attributes ? call->attributes[0].code : 0;
	called.relaxed = call->relaxed;
	assert_null(call->alloc(call, SIZE_MAX, 2));
	assert_null(call->alloc(call, 1, SIZE_MAX - 100));
	bytes = call->alloc(call, 65, 3);
	assert_int_equal((uintptr_t)bytes % 64, 0);
	called.is_zeroed = true;
	for (int i = 0; i < 65 * 3; i++)
		called.is_zeroed = called.is_zeroed && !bytes[i];
	*state = &called;
	if (called.result == NNX_INVALID_ARGUMENT) {
		/* Write the name `fail` in parentheses, because cmocka has a macro fail(). */
		(call->fail)(call, NNX_GENERAL_FAILURE, "a\tb %d", 5);
		return (call->fail)(call, called.result, "too late");
	}
	return called.result;
}

static void release(void *state)
{
	assert_ptr_equal(state, &called);
	called.released++;
}

/*
 * A plug-in's compile() function gets constants and the plug-in's own attributes. If a plug-in's
 * compile() function fails, no state remains.
 */
static void test_compile(void **state)
{
	static const struct {
		enum nnx_status result;
		enum nn_status status;
		const char *message;
	} cases[] = {
		{ NNX_OK, NN_OK, "" },
		{ NNX_INVALID_ARGUMENT, NN_INVALID_ARGUMENT, "THIS: a?b 5" },
		{ NNX_GENERAL_FAILURE, NN_INVALID_ARGUMENT, "THIS: it failed without a message" },
		{ NNX_OUT_OF_MEMORY, NN_OUT_OF_MEMORY, "THIS: it failed without a message" },
	};
	const struct nn_attribute list[] = { { "com.example.other", 3, 1, "x" },
					     { "com.example.this", 4, 1, "y" } };
	const struct nn_attributes attributes = { 2, list };
	struct nnx_operation descriptor = {
		.name = "THIS", .compile = compile, .release = release,
	};
	const struct nna_engine_plugin_operation o = { .descriptor = &descriptor,
						       .extension = "com.example.this" };
	uint8_t pool[] = { 7, 8, 9 };
	struct model_builder b;
	struct nna_engine_plugin_use use = {
		.size = sizeof(use), .model = &b.model, .subgraph = &b.subgraphs[0],
		.of = &b.operations[0][0],
	};
	void *made;

	(void)state;
	mb_init(&b);
	mb_operand(&b, NN_TENSOR_BOOL8, NN_SUBGRAPH_INPUT, MB_DIMS(2));
	mb_constant(&b, NN_TENSOR_BOOL8, (const uint8_t[]){ 5, 6 }, 2, MB_DIMS(2));
	mb_reference(&b, NN_TENSOR_BOOL8, 0, 1, 2, MB_DIMS(2));
	mb_operand(&b, NN_TENSOR_BOOL8, NN_NO_VALUE, MB_DIMS(0));
	mb_operand(&b, NN_TENSOR_BOOL8, NN_SUBGRAPH_OUTPUT, MB_DIMS(2));
	mb_operation(&b, 0, MB_LIST(0, 1, 2, 3), MB_LIST(4));
	b.model.num_pools = 1;
	b.model.pools = b.pools;
	b.pools[0] = (struct nn_pool){ pool, sizeof(pool) };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nn_error err = { "" };
		struct kept kept = kept_now(), left;

		memset(&called, 0, sizeof(called));
		called.result = cases[i].result;
		b.model.relaxed = i % 2;
		made = &b;
		use.attributes = i ? &attributes : NULL;
		assert_int_equal(nna_engine_plugin_compile(&o, &use, &made, &err),
				 cases[i].status);
		assert_string_equal(err.message, cases[i].message);
		assert_ptr_equal(made, cases[i].status ? NULL : &called);
		assert_int_equal(called.relaxed, i % 2);
		assert_true(called.is_zeroed);
		assert_int_equal(called.num_attributes, i ? 1 : 0);
		assert_int_equal(called.code, i ? 4 : 0);
		assert_memory_equal(called.values, ((uint8_t[]){ 0, 5, 8, 0 }), 4);
		assert_memory_equal(called.value_sizes, ((uint32_t[]){ 0, 2, 2, 0 }), 16);
		assert_memory_equal(called.flags, ((uint32_t[]){
			NNX_IS_TENSOR, NNX_IS_TENSOR | NNX_CONSTANT, NNX_IS_TENSOR | NNX_CONSTANT,
			NNX_IS_TENSOR | NNX_OMITTED }), 16);
		/* Memory that a plug-in allocates during a call is freed when the call ends. */
		left = kept_now();
		assert_null(kept_more(&kept, &left));
	}
	nna_engine_plugin_release(&o, NULL);
	assert_int_equal(called.released, 0);
	nna_engine_plugin_release(&o, &called);
	assert_int_equal(called.released, 1);
	use.size--;
	assert_int_equal(nna_engine_plugin_compile(&o, &use, &made, NULL), NN_INVALID_ARGUMENT);
	use.size++;
	/*
	 * The functions compile() and release() of an operation are optional. Without compile(),
	 * the operation has no state.
	 */
	descriptor.compile = NULL;
	made = &b;
	assert_int_equal(nna_engine_plugin_compile(&o, &use, &made, NULL), NN_OK);
	assert_null(made);
	descriptor.release = NULL;
	nna_engine_plugin_release(&o, &called);
}

/* Length of the reason that check_with_reason() writes. */
static int reason_length;

static enum nnx_status check_with_reason(struct nnx_call *call)
{
	return (call->fail)(call, NNX_INVALID_ARGUMENT, "\n%0*d", reason_length - 1, 7);
}

/*
 * In the error message, the plug-in's reason follows the operation's name, and is truncated to the
 * remaining bytes.
 */
static void test_long_reason(void **state)
{
	static const struct nnx_operation descriptor = { .name = "THIS", .check = check_with_reason };
	const struct nna_engine_plugin_operation o = { .descriptor = &descriptor,
						       .extension = "com.example.this" };
	static const char name[] = "THIS: ?";
	const int room = NN_MESSAGE_SIZE - 1;
	struct model_builder b;

	(void)state;
	mb_init(&b);
	mb_operand(&b, NN_TENSOR_BOOL8, NN_SUBGRAPH_INPUT, MB_DIMS(2));
	mb_operand(&b, NN_TENSOR_BOOL8, NN_SUBGRAPH_OUTPUT, MB_DIMS(2));
	mb_operation(&b, 0, MB_LIST(0), MB_LIST(1));
	for (int length = room - 2; length < room + 3; length++) {
		struct nn_error err = { "" };

		reason_length = length - (int)strlen("THIS: ");
		assert_int_equal(nna_engine_plugin_check(&o, b.operands[0], &b.operations[0][0], &err),
				 NN_INVALID_ARGUMENT);
		assert_memory_equal(err.message, name, strlen(name));
		assert_int_equal(strlen(err.message), length < room ? length : room);
		assert_int_equal(err.message[strlen(err.message) - 1], length > room ? '0' : '7');
	}
}

/*
 * A struct nna_engine_plugin_run that is shorter than in the first release is rejected, and a
 * longer struct is accepted.
 */
static void test_size_of_run(void **state)
{
	const struct nnx_operation descriptor = { .name = "A", .shape = no_call,
						  .execute = no_call };
	const struct nna_engine_plugin_operation operation = { .descriptor = &descriptor,
							       .extension = "a.sample" };
	struct nna_engine_plugin_run run = { .size = sizeof(run) + 8 };
	struct nn_error err = { "" };

	(void)state;
	assert_int_equal(nna_engine_plugin_shape(&operation, &run, &err), NN_OK);
	assert_int_equal(nna_engine_plugin_execute(&operation, &run, &err), NN_OK);
	run.size = sizeof(run) - 1;
	assert_int_equal(nna_engine_plugin_shape(&operation, &run, &err), NN_INVALID_ARGUMENT);
	assert_int_equal(nna_engine_plugin_execute(&operation, &run, &err), NN_INVALID_ARGUMENT);
}

/* ---- no memory, and no room ---- */

static void test_no_memory(void **state)
{
	const struct nn_attribute attribute = { FIBONACCI_NAME, 1, 1, "x" };
	const struct nn_attributes attributes = { 1, &attribute };
	uint32_t count = nna_engine_plugin_count();
	static struct sample s;
	struct nn_attributes *read;
	struct nn_error err = { "" };
	struct nn_model *model;
	struct model_builder b;
	size_t size, wire_size;
	void *data, *wire;
	unsigned int n;

	(void)state;
	sample_init(&s);
	s.x.name = "a.first";
	for (n = 1; nna_engine_plugin_count() == count; n++) {
		failing_begin(FAILING_SELF, n, false);
		nna_engine_plugin_take(&engine, &s.x, 0, &err);
		if (failing_end(FAILING_SELF))
			assert_string_equal(err.message, "out of memory");
	}
	/*
	 * Only the last attempt registered the plug-in; attempts with failed allocations changed
	 * nothing.
	 */
	assert_int_equal(nna_engine_plugin_count(), count + 1);
	assert_true(n > 4);

	golden_model(&b, NN_CONSTANT_COPY);
	assert_int_equal(nn_model_encode(&b.model, &wire, &wire_size, NULL), NN_OK);
	assert_int_equal(nn_attributes_encode(&attributes, 100, &data, &size, NULL), NN_OK);
	for (n = 1; ; n++) {
		enum nn_status status;

		failing_begin(FAILING_SELF, n, false);
		status = nn_attributes_decode(data, size, &read, &err);
		if (!status)
			status = nn_model_decode(wire, wire_size, NULL, 0, &model, &err);
		free(read);
		if (!failing_end(FAILING_SELF))
			break;
		assert_int_equal(status, NN_OUT_OF_MEMORY);
	}
	assert_true(n > 5);
	nn_model_free(model);
	free(wire);
	free(data);
}

static struct nn_device_extension own_extension;

static const struct nn_device_extension *own_extensions(const struct nna_engine *of,
							uint32_t *count)
{
	(void)of;
	*count = 1;
	return &own_extension;
}

/*
 * A plug-in is rejected if its extension does not fit into the list of extensions that clients get.
 */
static void test_no_room(void **state)
{
	static const struct nna_engine crowded = { .extensions = own_extensions };
	static struct sample s;
	struct nn_error err = { "" };
	uint32_t items;
	size_t size;

	(void)state;
	sample_init(&s);
	s.x.name = "a.second";
	free(device_list_extensions(&engine, &size));
	items = (uint32_t)((EXTENSION_LIST_MAX_SIZE - size - 2 * sizeof(struct extension_record)) /
			   sizeof(struct extension_item));
	own_extension.num_types = items - 3;
	assert_int_equal(nna_engine_plugin_take(&crowded, &s.x, 0, &err),
			 NNA_ENGINE_PLUGIN_REFUSED);
	assert_string_equal(err.message, "there are too many extensions, types or operations");
	own_extension.num_types = items - 4;
	assert_int_equal(nna_engine_plugin_take(&crowded, &s.x, 0, &err), NNA_ENGINE_PLUGIN_LOADED);
}

/*
 * test_most() runs as the last test, because the test registers the maximum number of plug-ins and
 * of extensions.
 */
static void test_most(void **state)
{
	static char names[NN_MAX_EXTENSIONS + 1][16];
	static struct nn_extension others[NN_MAX_EXTENSIONS];
	struct nn_error err = { "" };
	uint16_t prefix = 0, last;
	uint32_t count;

	(void)state;
	for (size_t i = 0; i <= NN_MAX_EXTENSIONS; i++)
		snprintf(names[i], sizeof(names[i]), "a.number%zu", i);
	for (count = nna_engine_plugin_count(); count <= NNA_ENGINE_MAX_PLUGINS; count++) {
		const struct nnx_extension x = { .abi = NNX_ABI_VERSION, .size = sizeof(x),
						 .name = names[count] };

		assert_int_equal(nna_engine_plugin_take(&engine, &x, 0, &err),
				 count < NNA_ENGINE_MAX_PLUGINS ? NNA_ENGINE_PLUGIN_LOADED :
								  NNA_ENGINE_PLUGIN_REFUSED);
	}
	assert_string_equal(err.message, "there are too many extensions, types or operations");
	for (last = 0; nn_extension_at(last + 1); last++)
		;
	/*
	 * A name cannot be registered again; the second attempt returns the prefix of the first
	 * registration.
	 */
	others[0].name = FIBONACCI_NAME;
	err.message[0] = '\0';
	assert_int_equal(nn_extension_register(&others[0], &prefix, &err), NN_INVALID_ARGUMENT);
	assert_int_equal(prefix, nn_extension_prefix(FIBONACCI_NAME));
	assert_string_equal(err.message, "extension com.example.fibonacci is registered already");
	assert_null(nn_extension_at(last + 1));
	for (count = NN_MAX_EXTENSIONS; last < NN_MAX_EXTENSIONS; last++, count--) {
		others[last].name = names[count];
		assert_int_equal(nn_extension_register(&others[last], &prefix, &err), NN_OK);
		assert_int_equal(prefix, last + 1);
	}
	others[0].name = "a.last";
	err.message[0] = '\0';
	assert_int_equal(nn_extension_register(&others[0], &prefix, &err),
			 NN_RESOURCE_EXHAUSTED_PERSISTENT);
	assert_string_equal(err.message, "extension a.last exceeds the limit of 64");
	assert_int_equal(nn_extension_prefix("a.last"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_plugins),
		cmocka_unit_test(test_loading),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_running),
		cmocka_unit_test(test_saving),
		cmocka_unit_test(test_models),
		cmocka_unit_test(test_attributes_checked),
		cmocka_unit_test(test_attributes_told),
		cmocka_unit_test(test_attributes_compiled),
		cmocka_unit_test(test_large_data),
		cmocka_unit_test(test_control_flow),
		cmocka_unit_test(test_core_operation),
		cmocka_unit_test(test_supported),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_oem),
		cmocka_unit_test(test_saving_oem),
		cmocka_unit_test(test_saving_silent),
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_compile),
		cmocka_unit_test(test_long_reason),
		cmocka_unit_test(test_size_of_run),
		cmocka_unit_test(test_not_decoded),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_most),
	};

	kept_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
