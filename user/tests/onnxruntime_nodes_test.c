// SPDX-License-Identifier: MIT
/*
 * Tests the execution provider with small graphs; the test program imitates ONNX Runtime. The file
 * onnxruntime_nodes.def has the graphs, and for each graph the outputs, or the reason why the
 * provider rejects the graph.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <android/NeuralNetworks.h>
#include <nnaccel/log.h>
#include <nnaccel/operation.h>
#define PLAY_CALLOC __real_calloc
void *__real_calloc(size_t count, size_t size);
#include "onnxruntime_part.h"
#include "onnxruntime_play.h"
#include "recorded.h"
#include "tests/failing/failing.h"
#include "tests/heap_blocks.h"
#include "tests/open_files.h"
#include "ops/float16.h"

enum { NO_NAME = -3 };	/* an unknown dimension, see symbols_of() */
enum { VALUES = 48, ROOM = 1 << 16, EACH = 600 /* number of allocations that fail in turn */ };

struct value {
	struct OrtValueInfo info;
	struct OrtValue value;
	struct OrtValue shaped;		/* value with its dimensions at run time */
	char name[16];
	bool is_read, is_made, is_dynamic, is_rankless;
};

struct the_case {
	struct value values[VALUES];
	int value_count;
	struct OrtNode nodes[MAX];
	struct OrtOpAttr attributes[MAX][MAX];
	struct OrtGraph graph;
	char *memory;			/* buffer in which the parsed graph is allocated */
	size_t used;
};

static void *take(struct the_case *c, size_t size)
{
	void *memory = c->memory + c->used;

	c->used += (size + 7) & ~(size_t)7;
	assert_true(c->used <= ROOM);
	return memory;
}

static const struct {
	char letter;
	int type;
	size_t size;
} types[] = {
	{ 'f', ONNX_FLOAT, 4 }, { 'h', ONNX_FLOAT16, 2 }, { 'd', ONNX_DOUBLE, 8 },
	{ 'i', ONNX_INT32, 4 }, { 'l', ONNX_INT64, 8 }, { 'u', ONNX_UINT8, 1 },
	{ 's', ONNX_INT8, 1 }, { 'b', ONNX_BOOL, 1 }, { 'w', ONNX_UINT16, 2 },
};

static size_t type_number(char letter)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].letter == letter)
			return i;
	fail_msg("no type %c", letter);
	return 0;
}

static struct value *value_named(struct the_case *c, const char *name)
{
	struct value *v;

	for (int i = 0; i < c->value_count; i++)
		if (!strcmp(c->values[i].name, name))
			return &c->values[i];
	assert_true(c->value_count < VALUES);
	v = &c->values[c->value_count++];
	snprintf(v->name, sizeof(v->name), "%s", name);
	v->info.name = v->name;
	return v;
}

/*
 * Reads a value's type and dimensions from a text. A character of `open` marks a dimension that is
 * unknown in the model. Returns a pointer to the text after the dimensions.
 */
static const char *read_type(const char *text, struct value *v, size_t *elements)
{
	static const char open[] = "?!&";	/* -1, -2 and NO_NAME; see symbols_of() */
	const size_t type = type_number(*text++);
	struct OrtTensorTypeAndShapeInfo *info = &v->info.info;

	v->shaped.info.type = info->type = types[type].type;
	info->rank = 0;
	*elements = 1;
	while (*text && strchr(",?!&0123456789", *text)) {
		const char *mark = strchr(open, *text);
		const bool is_open = mark;
		char *end;

		v->shaped.info.dims[info->rank] = strtol(text + is_open, &end, 10);
		*elements *= (size_t)v->shaped.info.dims[info->rank];
		info->dims[info->rank] = is_open ? open - mark - 1 : v->shaped.info.dims[info->rank];
		v->is_dynamic |= is_open;
		info->rank++;
		text = end + (*end == ',');
	}
	v->shaped.info.rank = info->rank;
	v->shaped.size = *elements * types[type].size;
	return text;
}

static void put(struct value *v, size_t at, double number)
{
	void *data = v->shaped.data;

	switch (v->shaped.info.type) {
	case ONNX_FLOAT:
		((float *)data)[at] = (float)number;
		break;
	case ONNX_FLOAT16:
		((uint16_t *)data)[at] = nn_float_to_fp16((float)number);
		break;
	case ONNX_DOUBLE:
		((double *)data)[at] = number;
		break;
	case ONNX_INT32:
		((int32_t *)data)[at] = (int32_t)number;
		break;
	case ONNX_INT64:
		((int64_t *)data)[at] = (int64_t)number;
		break;
	case ONNX_UINT16:
		((uint16_t *)data)[at] = (uint16_t)number;
		break;
	default:
		((uint8_t *)data)[at] = (uint8_t)(int)number;
	}
}

static double get(const struct OrtValue *v, int type, size_t at)
{
	switch (type) {
	case ONNX_FLOAT:
		return ((float *)v->data)[at];
	case ONNX_FLOAT16:
		return nn_fp16_to_float(((uint16_t *)v->data)[at]);
	case ONNX_INT32:
		return ((int32_t *)v->data)[at];
	case ONNX_INT64:
		return (double)((int64_t *)v->data)[at];
	case ONNX_INT8:
		return ((int8_t *)v->data)[at];
	default:
		return ((uint8_t *)v->data)[at];
	}
}

/* Reads a value: the word NAME:TYPE is an input, and the word NAME=TYPE a constant. */
static void read_value(struct the_case *c, char *word)
{
	char *kind = strpbrk(word, ":="), how;
	struct value *v;
	uint32_t state;
	const char *text;
	size_t elements;
	bool is_constant;

	assert_non_null(kind);
	is_constant = *kind == '=';
	*kind = '\0';
	v = value_named(c, word);
	text = read_type(kind + 1, v, &elements);
	/* A tensor without elements has no data in ONNX Runtime. */
	v->shaped.data = elements ? take(c, v->shaped.size) : NULL;
	how = *text;
	state = recorded_seed(word);
	for (size_t i = 0; i < elements; i++) {
		char *end;

		if (how != '{') {
			put(v, i, recorded_next(&state, kind[1], how));
			continue;
		}
		if (v->shaped.info.type == ONNX_INT64)
			((int64_t *)v->shaped.data)[i] = strtoll(text + 1, &end, 10);
		else
			put(v, i, strtod(text + 1, &end));
		assert_true(*end == (i + 1 == elements ? '}' : ','));
		text = end;
	}
	if (is_constant)
		v->info.constant = &v->shaped;
	else
		c->graph.in[c->graph.in_count++] = &v->info;
}

static void read_attribute_of(struct the_case *c, struct OrtOpAttr *a, char *text)
{
	const bool is_list = strchr(text, ','), is_float = strchr(text, '.');
	size_t count = 0;
	int64_t *ints;
	float *floats;

	if (*text == '@') {
		a->type = ORT_ATTRIBUTE_TENSOR;
		a->data = &value_named(c, text + 1)->shaped;
		return;
	}
	if (*text == '=') {
		a->type = ORT_ATTRIBUTE_STRING;
		a->data = text + 1;
		a->size = strlen(text + 1);
		return;
	}
	if ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z')) {
		a->type = is_list ? ORT_ATTRIBUTE_STRINGS : ORT_ATTRIBUTE_STRING;
		a->data = text;
		a->size = strlen(text);
		a->size += is_list && text[a->size - 1] != ',';
		for (char *at = text; is_list && (at = strchr(at, ',')); at++)
			*at = '\0';
		return;
	}
	ints = take(c, 16 * sizeof(*ints));
	floats = (float *)ints;
	while (*text) {
		if (is_float)
			floats[count++] = strtof(text, &text);
		else
			ints[count++] = strtoll(text, &text, 10);
		text += *text == ',';
	}
	a->type = is_float ? is_list ? ORT_ATTRIBUTE_FLOATS : ORT_ATTRIBUTE_FLOAT :
			     is_list ? ORT_ATTRIBUTE_INTS : ORT_ATTRIBUTE_INT;
	a->data = ints;
	a->size = count * (is_float ? sizeof(*floats) : sizeof(*ints));
}

/*
 * Reads a node from the words OPERATOR-VERSION, inputs, ">", outputs, and ATTRIBUTE=VALUE for each
 * attribute.
 */
static void read_node(struct the_case *c, char *words)
{
	const size_t n = c->graph.node_count++;
	struct OrtNode *node = &c->nodes[n];
	bool is_out = false;
	char *save, *version;

	assert_true(n < MAX);
	c->graph.nodes[n] = node;
	node->op = strtok_r(words, " ", &save);
	version = strchr(node->op, '-');
	assert_non_null(version);
	*version = '\0';
	node->version = atoi(version + 1);
	for (char *word; (word = strtok_r(NULL, " ", &save));) {
		char *equals = strchr(word, '=');

		if (equals) {
			struct OrtOpAttr *a = &c->attributes[n][node->attribute_count];

			*equals = '\0';
			a->name = word;
			read_attribute_of(c, a, equals + 1);
			node->attributes[node->attribute_count++] = a;
		} else if (!strcmp(word, ">")) {
			is_out = true;
		} else if (is_out) {
			const char mark = word[strlen(word) - 1];
			struct value *v;

			word[strcspn(word, "*^")] = '\0';
			v = strcmp(word, "?") ? value_named(c, word) : NULL;
			if (v) {
				v->is_made = true;
				v->is_rankless = mark == '^';
				v->info.is_output = mark == '*';
			}
			node->out[node->out_count++] = v ? &v->info : NULL;
		} else {
			const bool is_implicit = *word == '@';
			struct value *v = strcmp(word, "?") ? value_named(c, word + is_implicit) : NULL;

			if (v)
				v->is_read = true;
			if (is_implicit)
				node->implicit[node->implicit_count++] = &v->info;
			else
				node->in[node->in_count++] = v ? &v->info : NULL;
		}
	}
	assert_true(node->in_count <= MAX && node->out_count <= MAX);
}

/*
 * Reads expected outputs: for each value that a node computes, the word NAME:TYPE, the numbers, and
 * ";".
 */
static void read_outputs(struct the_case *c, const char *text)
{
	bool is_dynamic = false;

	for (int i = 0; i < c->value_count; i++)
		is_dynamic |= c->values[i].is_dynamic;
	while (*text) {
		const char *kind = strchr(text, ':');
		char name[16];
		struct value *v;
		size_t elements;

		assert_non_null(kind);
		snprintf(name, sizeof(name), "%.*s", (int)(kind - text), text);
		v = value_named(c, name);
		assert_true(v->is_made);
		text = read_type(kind + 1, v, &elements);
		for (size_t i = 0; is_dynamic && i < v->info.info.rank; i++)
			v->info.info.dims[i] = NO_NAME;
		if (v->is_rankless)
			v->info.info.rank = 0;
		v->info.is_output |= !v->is_read;
		if (v->info.is_output)
			c->graph.out[c->graph.out_count++] = &v->info;
		v->value.data = (void *)text;	/* the expected numbers */
		text += strcspn(text, ";");
		text += strspn(text, "; ");
	}
}

static void read_case(struct the_case *c, const char *graph, const char *outputs)
{
	char *text, *bar;

	memset(c->memory, 0, ROOM);
	*c = (struct the_case){ .memory = c->memory };
	text = take(c, strlen(graph) + 1);
	strcpy(text, graph);
	for (bool is_first = true; text; text = bar) {
		bar = strstr(text, " | ");
		if (bar) {
			*bar = '\0';
			bar += 3;
		}
		if (!is_first) {
			read_node(c, text);
			continue;
		}
		is_first = false;
		for (char *save, *word = strtok_r(text, " ", &save); word;
		     word = strtok_r(NULL, " ", &save))
			read_value(c, word);
	}
	read_outputs(c, outputs);
}

/* Names of the operations of the NNAPI model that was built last. */
static char operations[1024];

/*
 * OWN is the number of operations of the project's own extension. If own_count is less than OWN,
 * the NNAPI has only the extension's first own_count operations.
 */
enum { OWN = 5 };
static uint32_t own_count = OWN;

/*
 * The allowed difference between outputs and expected numbers in graphs that are quantised at run
 * time: APART if the NNAPI lacks the dynamic operations, otherwise 0.
 */
static double apart;
#define APART 4

int ANeuralNetworksModel_addOperation(ANeuralNetworksModel *model, ANeuralNetworksOperationType type,
				      uint32_t in_count, const uint32_t *in, uint32_t out_count,
				      const uint32_t *out)
{
	static int (*add)(ANeuralNetworksModel *model, ANeuralNetworksOperationType type,
			  uint32_t in_count, const uint32_t *in, uint32_t out_count,
			  const uint32_t *out);
	static const char *const names[] = {
#define NN_OP(name, ...) [ANEURALNETWORKS_##name] = #name,
#define NN_OWN_OP(name, ...)
#include "ops/ops.def"
#undef NN_OP
#undef NN_OWN_OP
	};
	static const char *const own[OWN] = {
		"DYNAMIC_FULLY_CONNECTED", "DYNAMIC_BATCH_MATMUL", "DYNAMIC_CONV_2D", "ERF", "GELU",
	};
	const char *name = nn_is_own(type) ? own[type & 0xffff] : names[type];
	const size_t used = strlen(operations);

	if (!add)
		*(void **)&add = dlsym(RTLD_NEXT, "ANeuralNetworksModel_addOperation");
	if (nn_is_own(type) && (type & 0xffff) >= own_count)
		return ANEURALNETWORKS_BAD_DATA;
	snprintf(operations + used, sizeof(operations) - used, "%s%s", used ? " " : "", name);
	return add(model, type, in_count, in, out_count, out);
}

static bool are_expected(const struct the_case *c, const struct OrtKernelContext *context)
{
	for (size_t o = 0; o < c->graph.out_count; o++) {
		const struct value *v = (const struct value *)c->graph.out[o];
		const struct OrtValue *got = &context->out[o];
		const int type = v->info.info.type;
		const double loose = type == ONNX_FLOAT ? 2e-4 : type == ONNX_FLOAT16 ? 4e-3 : 0;
		const double step = apart ? apart :
				    type == ONNX_UINT8 || type == ONNX_INT8 ? 1 : loose / 10;
		const char *text = v->value.data;
		size_t count = 1;

		if (got->info.rank != v->shaped.info.rank ||
		    memcmp(got->info.dims, v->shaped.info.dims, got->info.rank * sizeof(int64_t))) {
			print_error("%s has another shape\n", v->name);
			return false;
		}
		for (size_t i = 0; i < got->info.rank; i++)
			count *= (size_t)got->info.dims[i];
		for (size_t i = 0; i < count; i++) {
			char *end;
			const double want = strtod(text, &end), is = get(got, type, i);

			assert_ptr_not_equal(text, end);
			text = end;
			if (!recorded_agree(want, is, loose, step)) {
				print_error("%s[%zu] is %g, not %g\n", v->name, i, is, want);
				return false;
			}
		}
	}
	return true;
}

/* Runs the graph. If `refused` is not NULL, the run must fail with the reason `refused`. */
static bool compute(struct the_case *c, OrtNodeComputeInfo *compiled, const char *refused)
{
	struct ort_node_compute_info *info = (struct ort_node_compute_info *)compiled;
	struct OrtKernelContext context = { .in = { NULL } };
	OrtStatus *status;
	bool good;

	for (size_t i = 0; i < c->graph.in_count; i++)
		context.in[i] = &((const struct value *)c->graph.in[i])->shaped;
	status = info->Compute(compiled, NULL, &context);
	if (status && !refused)
		print_error("not computed: %s\n", status->text);
	good = refused ? status && strstr(status->text, refused) :
			 !status && are_expected(c, &context);
	release_status(status);
	for (size_t i = 0; i < c->graph.out_count; i++)
		free(context.out[i].data);
	return good;
}

static struct ort_ep_factory *factory;

/* Makes a provider with session options; `key` is one more option, or NULL. */
static struct ort_ep *provider(long min_work, long max_partitions, const char *key, const char *value)
{
	static const struct OrtKeyValuePairs metadata = { { "device" }, { "nnapi-reference" }, 1 };
	char least[16], most[16];
	const struct OrtKeyValuePairs session = {
		{ "ep.nn.min_work", "ep.nn.max_partitions", "ep.nn.verbosity", "ep.nn.cache_dir", key },
		{ least, most, "2", "/tmp/nnaccel-no-such", value }, key ? 5 : 3
	};
	const OrtKeyValuePairs *list = &metadata;
	OrtEp *ep;

	snprintf(least, sizeof(least), "%ld", min_work);
	snprintf(most, sizeof(most), "%ld", max_partitions);
	assert_null(factory->CreateEp((OrtEpFactory *)factory, NULL, &list, 1,
				      (const OrtSessionOptions *)&session, NULL, &ep));
	return (struct ort_ep *)ep;
}

/*
 * Calls GetCapability(), which says which nodes the provider claims. Returns the provider's
 * message, which the caller frees.
 */
static char *capability(const struct the_case *c, struct ort_ep *ep,
			struct OrtEpGraphSupportInfo *info)
{
	FILE *const usual = stderr;
	char *said;
	size_t size;

	memset(info, 0, sizeof(*info));
	stderr = open_memstream(&said, &size);
	assert_null(ep->GetCapability((OrtEp *)ep, &c->graph, info));
	fclose(stderr);
	stderr = usual;
	return said;
}

enum kind { NODES, AS, REFUSED, LEFT, PAYS, PARTS };

static const struct {
	enum kind kind;
	const char *graph, *outputs, *text;
	long number;
} cases[] = {
#define NODES(graph, outputs) { NODES, graph, outputs, NULL, 0 },
#define AS(graph, outputs, operations) { AS, graph, outputs, operations, 0 },
#define REFUSED(graph, outputs, reason) { REFUSED, graph, outputs, reason, 0 },
#define LEFT(graph, outputs, reason) { LEFT, graph, outputs, reason, 0 },
#define PAYS(graph, outputs, least) { PAYS, graph, outputs, NULL, least },
#define PARTS(graph, outputs, parts, most) { PARTS, graph, outputs, parts, most },
#include "onnxruntime_nodes.def"
};

/* Overwrites a graph's constants, because the compiled graph must have copies of the constants. */
static bool forget_constants(struct the_case *c)
{
	for (int i = 0; i < c->value_count; i++)
		if (c->values[i].info.constant && c->values[i].is_read && c->values[i].shaped.size)
			memset(c->values[i].shaped.data, 0x5a, c->values[i].shaped.size);
	return true;
}

/*
 * Compiles and runs a graph as a whole; returns whether the result is as in onnxruntime_nodes.def.
 */
static bool compile(struct the_case *c, struct ort_ep *ep, enum kind kind, const char *text)
{
	struct OrtNode whole = { .op = "whole", .in_count = c->graph.in_count,
				 .out_count = c->graph.out_count };
	const OrtGraph *graphs[] = { &c->graph };
	const OrtNode *nodes[] = { &whole };
	OrtNodeComputeInfo *infos[1] = { NULL };
	OrtNode *none_made[1];
	OrtStatus *status;
	bool good;

	memcpy(whole.in, c->graph.in, sizeof(whole.in));
	memcpy(whole.out, c->graph.out, sizeof(whole.out));
	operations[0] = '\0';
	status = ep->Compile((OrtEp *)ep, graphs, nodes, 1, infos, none_made);
	if (kind == REFUSED && status)
		good = strstr(status->text, text);
	else
		good = !status && forget_constants(c) && compute(c, infos[0], kind == REFUSED ? text : NULL);
	if (status && !good)
		print_error("refused: %s\n", status->text);
	if (!status)
		ep->ReleaseNodeComputeInfos((OrtEp *)ep, infos, 1);
	if (kind == AS && strcmp(operations, text)) {
		print_error("made of %s, not of %s\n", operations, text);
		good = false;
	}
	release_status(status);
	return good;
}

/*
 * Returns whether the claimed parts have the nodes that a text lists. The text "0 1|3" means a part
 * of nodes 0 and 1, and a part of node 3.
 */
static bool are_parts(const struct the_case *c, const struct OrtEpGraphSupportInfo *info,
		      const char *wanted)
{
	char parts[64] = "";

	for (size_t p = 0; p < info->count; p++)
		for (size_t n = 0; n < info->counts[p]; n++)
			snprintf(parts + strlen(parts), sizeof(parts) - strlen(parts), "%s%td",
				 n ? " " : p ? "|" : "",
				 (const struct OrtNode *)info->nodes[p][n] - c->nodes);
	if (strcmp(parts, wanted))
		print_error("parts %s\n", parts);
	return !strcmp(parts, wanted);
}

static bool try_case(struct the_case *c, enum kind kind, const char *text, long number, long min_work)
{
	struct ort_ep *ep = provider(min_work, kind == PARTS ? number : 16, NULL, NULL);
	struct OrtEpGraphSupportInfo info;
	char *said = capability(c, ep, &info);
	const bool is_taken = info.count == 1 && info.counts[0] == c->graph.node_count;
	bool good;

	if (kind == LEFT)
		good = !info.count && strstr(said, text);
	else if (kind == PAYS)
		good = info.count == (min_work <= number);
	else if (kind == PARTS)
		good = are_parts(c, &info, text);
	else
		good = is_taken == (kind != REFUSED) && compile(c, ep, kind, text);
	if (!good)
		print_error("%s", said);
	free(said);
	factory->ReleaseEp((OrtEpFactory *)factory, (OrtEp *)ep);
	return good;
}

static void load(void)
{
	OrtEpFactory *made;
	size_t count;

	assert_null(CreateEpFactories("NN", &base, NULL, &made, 1, &count));
	assert_int_equal(count, 1);
	factory = (struct ort_ep_factory *)made;
}

static void try_cases(void)
{
	struct the_case c = { .memory = malloc(ROOM) };
	size_t failed = 0;

	assert_non_null(c.memory);
	load();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const enum kind kind = cases[i].kind;

		/*
		 * The provider claims a part whose work is exactly min_work, and does not claim a
		 * part whose work is less.
		 */
		for (int more = 0; more <= (kind == PAYS); more++) {
			read_case(&c, cases[i].graph, cases[i].outputs);
			if (try_case(&c, kind, cases[i].text, cases[i].number, kind == LEFT ? INT32_MAX :
				     kind == PAYS ? cases[i].number + more : 0))
				continue;
			print_error("  %s\n  %s\n", cases[i].graph, cases[i].text ?: "");
			failed++;
		}
	}
	free(c.memory);
	assert_null(ReleaseEpFactory((OrtEpFactory *)factory));
	assert_int_equal(failed, 0);
}

static void test_nodes(void **unused)
{
	(void)unused;
	try_cases();
}

/*
 * For devices that lack the project's extension or its newest operations, the provider dequantises
 * weights. Without the extension, grouped convolutions cannot have a dilation.
 */
static void test_without_extension(void **unused)
{
	struct the_case c = { .memory = malloc(ROOM) };
	size_t failed = 0;

	(void)unused;
	assert_non_null(c.memory);
	load();
	for (own_count = 0; own_count < OWN; own_count += OWN - 1)
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			const bool refused = strstr(cases[i].graph, "group=4 dilations=2,1");
			const bool is_dynamic = cases[i].kind == AS && strstr(cases[i].text, "DYNAMIC_");

			if (!is_dynamic && (cases[i].kind > AS || !(strstr(cases[i].graph, "Erf-") ||
								    strstr(cases[i].graph, "Gelu-"))))
				continue;
			apart = is_dynamic ? APART : 0;
			read_case(&c, cases[i].graph, cases[i].outputs);
			if (try_case(&c, refused ? REFUSED : NODES,
				     "dilation must be 1 with groups", 0, 0))
				continue;
			print_error("  without %u: %s\n", own_count, cases[i].graph);
			failed++;
		}
	own_count = OWN;
	apart = 0;
	free(c.memory);
	assert_null(ReleaseEpFactory((OrtEpFactory *)factory));
	assert_int_equal(failed, 0);
}

/*
 * A second run of all cases must free everything; only the first run may make permanent
 * allocations.
 */
static void test_nothing_is_left(void **unused)
{
	const long blocks = heap_blocks, files = count_files();

	(void)unused;
	try_cases();
	assert_int_equal(heap_blocks, blocks);
	assert_int_equal(count_files(), files);
	assert_int_equal(recorded_locks, 0);
}

/*
 * Claims, compiles and runs a graph; returns whether the outputs are as expected. `reported` tells
 * whether the provider reported an error.
 */
static bool use(struct the_case *c, bool *reported)
{
	static const struct OrtKeyValuePairs metadata = { { "device" }, { "nnapi-reference" }, 1 };
	static const struct OrtKeyValuePairs session = { { "ep.nn.min_work" }, { "0" }, 1 };
	const OrtKeyValuePairs *list = &metadata;
	struct OrtNode whole = { .op = "whole", .in_count = c->graph.in_count,
				 .out_count = c->graph.out_count };
	const OrtGraph *graphs[] = { &c->graph };
	const OrtNode *nodes[] = { &whole };
	struct OrtKernelContext context = { .in = { NULL } };
	struct OrtEpGraphSupportInfo info = { .count = 0 };
	OrtNodeComputeInfo *infos[1];
	OrtNode *none_made[1];
	struct ort_ep *ep = NULL;
	OrtEp *made = NULL;
	OrtStatus *status;
	bool good = false;

	memcpy(whole.in, c->graph.in, sizeof(whole.in));
	memcpy(whole.out, c->graph.out, sizeof(whole.out));
	for (size_t i = 0; i < c->graph.in_count; i++)
		context.in[i] = &((const struct value *)c->graph.in[i])->shaped;
	status = factory->CreateEp((OrtEpFactory *)factory, NULL, &list, 1,
				   (const OrtSessionOptions *)&session, NULL, &made);
	ep = (struct ort_ep *)made;
	if (!status)
		status = ep->GetCapability(made, &c->graph, &info);
	if (!status) {
		status = ep->Compile(made, graphs, nodes, 1, infos, none_made);
		if (!status) {
			status = ((struct ort_node_compute_info *)infos[0])->Compute(infos[0], NULL,
										     &context);
			good = !status && are_expected(c, &context);
			ep->ReleaseNodeComputeInfos(made, infos, 1);
		}
	}
	*reported = status;
	release_status(status);
	for (size_t i = 0; i < c->graph.out_count; i++)
		free(context.out[i].data);
	if (made)
		factory->ReleaseEp((OrtEpFactory *)factory, made);
	return good;
}

/*
 * Each allocation of the provider, and each call that reads the graph, fails in turn. The provider
 * must not leak memory. If a call that reads the graph fails, the provider either computes the
 * graph or reports an error.
 */
static void test_failures(void **unused)
{
	FILE *const usual = stderr;
	struct the_case c = { .memory = malloc(ROOM) };
	size_t tried = 0;
	bool good, reported;

	(void)unused;
	assert_non_null(c.memory);
	load();
	stderr = fopen("/dev/null", "w");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		long blocks, files;

		/* The test tries only some cases, because all cases would take minutes. */
		if (cases[i].kind > AS || i % (getenv("NNACCEL_ALL") ? 5 : 37))
			continue;
		read_case(&c, cases[i].graph, cases[i].outputs);
		assert_true(use(&c, &reported));
		blocks = heap_blocks;
		files = count_files();
		/*
		 * A long sequence allocates memory in each time step, so after each failed
		 * allocation the test skips more allocations than before.
		 */
		for (unsigned int n = 1, reads = 0, failed; reads < 2; tried++) {
			read_case(&c, cases[i].graph, cases[i].outputs);
			play_countdown = reads ? n : 0;
			failing_begin(FAILING_SELF, reads ? 0 : n, false);
			good = use(&c, &reported) || reported || !reads;
			failed = failing_end(FAILING_SELF) || (reads && !play_countdown);
			play_countdown = 0;
			if (!good || heap_blocks != blocks || count_files() != files || recorded_locks) {
				stderr = usual;
				fail_msg("%s: %s %u, %ld blocks, %ld files, %ld locks", cases[i].graph,
					 reads ? "read" : "allocation", n, heap_blocks - blocks,
					 count_files() - files, (long)recorded_locks);
			}
			n = failed ? n + 1 + n / EACH * 7 : 1;
			reads += !failed;
		}
		read_case(&c, cases[i].graph, cases[i].outputs);
		assert_true(use(&c, &reported));
	}
	fclose(stderr);
	stderr = usual;
	assert_true(tried > 100);
	free(c.memory);
	assert_null(ReleaseEpFactory((OrtEpFactory *)factory));
}

static OrtStatus *as_session(const OrtValue *const *in, OrtValue *out)
{
	static float data[] = { 8, 9 };

	(void)in;
	*out = (OrtValue){ { ONNX_FLOAT, 1, { 2 } }, data, sizeof(data) };
	return NULL;
}

static void nothing(void)
{
}

/*
 * Runs a graph with each allocation failing in turn, and then without failures: the second run must
 * succeed, and have an output of `rank` dimensions.
 */
static void try_allocations(struct the_case *c, const char *graph, size_t rank)
{
	unsigned int n = 1;

	for (unsigned int failed = 1; failed; n++) {
		const long blocks = heap_blocks;
		struct ort_ep *ep = provider(0, 16, NULL, NULL);
		struct OrtNode whole = { .op = "whole", .in_count = 1, .out_count = 1 };
		struct OrtKernelContext context = { .in = { NULL } };
		struct ort_node_compute_info *info;
		OrtStatus *status[2];

		read_case(c, graph, "y:f2,5");
		whole.in[0] = c->graph.in[0];
		whole.out[0] = c->graph.out[0];
		context.in[0] = &((const struct value *)c->graph.in[0])->shaped;
		info = compile_part(ep, &c->graph, &whole);
		for (int k = 0; k < 2; k++) {
			failing_begin(FAILING_SELF, k ? 0 : n, false);
			status[k] = info->Compute((OrtNodeComputeInfo *)info, NULL, &context);
			failed = k ? failed : failing_end(FAILING_SELF);
		}
		failing_end(FAILING_SELF);
		if (status[1] || (!failed && status[0]))
			fail_msg("%s, allocation %u: %s", graph, n, (status[1] ?: status[0])->text);
		if (context.out[0].info.rank != rank)
			fail_msg("%s, allocation %u: %zu dimensions", graph, n, context.out[0].info.rank);
		release_status(status[0]);
		free(context.out[0].data);
		release_part(ep, info);
		factory->ReleaseEp((OrtEpFactory *)factory, (OrtEp *)ep);
		assert_int_equal(heap_blocks, blocks);
		assert_int_equal(played_sessions, 0);
	}
	assert_true(n > 20);
}

/*
 * If an allocation fails in a run, the next run succeeds, on the device or on ONNX Runtime's CPU: the
 * provider remembers neither a refused shape nor a failed session.
 */
static void test_forgotten_failures(void **unused)
{
	struct the_case c = { .memory = malloc(ROOM) };

	(void)unused;
	assert_non_null(c.memory);
	load();
	played_session = as_session;
	while_in_making = nothing;
	nna_log_set(NULL, NULL, NNA_LOG_NONE);
	try_allocations(&c, "x:f?2,&3 w=f4,5 | MatMul-13 x w > y", 1);
	try_allocations(&c, "x:f?2,&4 w=f4,5 | MatMul-13 x w > y", 2);
	nna_log_set(NULL, NULL, NNA_LOG_ERROR);
	played_session = NULL;
	free(c.memory);
	assert_null(ReleaseEpFactory((OrtEpFactory *)factory));
}

#define PLAIN "ep.nn.burst", "1"
#define QUANTISED(scale, zero) "q:u2,3 s=f{" scale "} z=u{" zero "} | DequantizeLinear-13 q s z > y"
#define CHANNELS(scales, axis) \
	"q:u1,2,3,3 s=f{0.0625} z=u{128} w=s2,2,2,2 ws=f2{" scales "} t=f{0.5} tz=u{100} | " \
	"DequantizeLinear-13 q s z > x | DequantizeLinear-13 w ws > v axis=" axis " | " \
	"Conv-11 x v > c | QuantizeLinear-13 c t tz > y"

/* Different models, options or names must give different cache tokens. */
static void test_tokens(void **unused)
{
	static const struct {
		const char *graph, *outputs, *key, *value;
	} graphs[] = {
		{ "x:f2,3 y:f2,3 | Add-14 x y > z", "z:f2,3 0", PLAIN },
		{ "x:f2,3 y:f2,3 | Add-14 x y > z", "z:f2,3 0", "ep.nn.preference", "low_power" },
		{ "x:f2,3 y:f2,3 | Add-14 x y > z", "z:f2,3 0", "ep.nn.allow_fp16", "1" },
		{ "x:f2,3 y:f2,3 | Add-14 x y > z", "z:f2,3 0", "ep.nn.cache_token", "a" },
		{ "x:f2,3 y:f2,3 | Add-14 x y > z", "z:f2,3 0", "ep.nn.cache_token", "b" },
		{ "x:f2,3 y:f2,3 | Sub-14 x y > z", "z:f2,3 0", PLAIN },
		{ "x:f2,3 y:f2,3 | Sub-14 y x > z", "z:f2,3 0", PLAIN },
		{ "x:f3,2 y:f3,2 | Add-14 x y > z", "z:f3,2 0", PLAIN },
		{ "x:i2,3 y:i2,3 | Add-14 x y > z", "z:i2,3 0", PLAIN },
		{ "x:f2,3 y=f2,3 | Add-14 x y > z", "z:f2,3 0", PLAIN },
		{ "x:f2,3 w=f2,3 | Add-14 x w > z", "z:f2,3 0", PLAIN },
		{ "x:f2,3 y:f2,3 | Sub-14 x y > a | Mul-14 a x > z", "a:f2,3; z:f2,3 0", PLAIN },
		{ "x:f2,3 y:f2,3 | Sub-14 x y > a | Mul-14 a y > z", "a:f2,3; z:f2,3 0", PLAIN },
		{ "x:f2,3 | Relu-14 x > a | Abs-13 a > b", "a:f2,3 0; b:f2,3 0", PLAIN },
		{ "x:f2,3 | Relu-14 x > a* | Abs-13 a > b", "a:f2,3 0; b:f2,3 0", PLAIN },
		{ "x:f2,3 | Relu-14 x > a* | Abs-13 a > b", "b:f2,3 0; a:f2,3 0", PLAIN },
		{ QUANTISED("0.5", "3"), "y:f2,3 0", PLAIN },
		{ QUANTISED("0.25", "3"), "y:f2,3 0", PLAIN },
		{ QUANTISED("0.5", "4"), "y:f2,3 0", PLAIN },
		{ CHANNELS("0.0625,0.03125", "0"), "x:f1,2,3,3; v:f2,2,2,2; c:f1,2,2,2; y:u1,2,2,2", PLAIN },
		{ CHANNELS("0.0625,0.125", "0"), "x:f1,2,3,3; v:f2,2,2,2; c:f1,2,2,2; y:u1,2,2,2", PLAIN },
	};
	enum { COUNT = sizeof(graphs) / sizeof(graphs[0]) };
	uint8_t tokens[COUNT][sizeof(recorded_token)];
	struct the_case c = { .memory = malloc(ROOM) };

	(void)unused;
	assert_non_null(c.memory);
	load();
	for (int i = 0; i < 2 * COUNT; i++) {
		const int n = i % COUNT;
		struct ort_ep *ep = provider(0, 16, graphs[n].key, graphs[n].value);
		struct OrtNode whole = { .op = "whole" };

		read_case(&c, graphs[n].graph, graphs[n].outputs);
		whole.in_count = c.graph.in_count;
		whole.out_count = c.graph.out_count;
		memcpy(whole.in, c.graph.in, sizeof(whole.in));
		memcpy(whole.out, c.graph.out, sizeof(whole.out));
		memset(recorded_token, 0, sizeof(recorded_token));
		release_part(ep, compile_part(ep, &c.graph, &whole));
		factory->ReleaseEp((OrtEpFactory *)factory, (OrtEp *)ep);
		if (i >= COUNT) {
			assert_memory_equal(tokens[n], recorded_token, sizeof(recorded_token));
			continue;
		}
		memcpy(tokens[n], recorded_token, sizeof(recorded_token));
		for (int k = 0; k < n; k++)
			if (!memcmp(tokens[k], tokens[n], sizeof(recorded_token)))
				fail_msg("the token of %s, %s", graphs[n].graph, graphs[n].value);
	}
	free(c.memory);
	assert_null(ReleaseEpFactory((OrtEpFactory *)factory));
}

/* The provider's report must have the right number of multiply-adds for each graph. */
static void test_report(void **unused)
{
	static const struct { const char *graph; unsigned long multiply_adds; } reports[] = {
		{ "x:f1,2,4,5 w=f3,2,3,2 b=f3 | Conv-11 x w b > y", 24 * 12 },
		{ "x:f1,2,3,3 w=f2,3,2,2 b=f3 | ConvTranspose-11 x w b > y", 18 * 12 },
		{ "q:u1,2,3,3 s=f{0.0625} z=u{128} w=u2,2,2,2 ws=f{0.0625} wz=u{120} t=f{0.5} tz=u{100} "
		  "| QLinearConv-10", 8 * 8 },
		{ "x:f2,3,5,4 w=u4,3,3,2", 96 * 18 },
		{ "x:f2,3 w:f3 | MatMul-13", 2 * 3 },
		{ "x:f2,2,7 w=u7,4", 16 * 7 },
		{ "q:u2,3 s=f{0.0625} z=u{128} w=u3,4 ws=f{0.0625} wz=u{120} t=f{0.5} tz=u{100} | QLinearMatMul-10",
		  8 * 3 },
		{ "a:f3,2 b:f4,3 c=f4 | Gemm-13 a b c > y transA=1", 8 * 3 },
		{ "a:f2,3 b=f3,4 c=f | Gemm-13 a b c > y", 8 * 3 },
		{ "x:f3,1,2 w=f1,8,2~ r=f1,8,2~ | LSTM-14", 3 * (16 + 16) },
		{ "x:f1,2,2{-7,8.9375,1,0.5} w=s1,2,8", 2 * (16 + 16) },
		{ "x:f3,2,2 w=f1,2,2~ r=f1,2,2~ b=f1,4 | RNN-14", 6 * (4 + 4) },
		{ "x:f2,2,3 w=f2,6,3~ r=f2,6,2~ b:f2,12 h0:f2,2,2 | GRU-14", 4 * (36 + 24) },
		/*
		 * Attention computes 2 by 3 scores; each score is a sum of 4 products, and is
		 * multiplied by 2 values.
		 */
		{ "q:f1,2,4 k:f1,3,4 v:f1,3,2 | Attention-23", 6 * 4 + 6 * 2 },
		/*
		 * Attention multiplies by the weights of Q, K and V, and computes 3 by 3 scores and
		 * weighted sums in 2 batches.
		 */
		{ "x:f2,3,4 w=f4,12~ b=f12~ | microsoft:Attention-1", 6 * 4 * 12 + 18 * 4 + 18 * 4 },
		{ "x:f2,3,4 w=f4,16~ b=f16~ | microsoft:Attention-1", 6 * 4 * 16 + 18 * 4 + 18 * 8 },
		{ "x:f2,2,7 w=u7,4 v=u{119} k=f{0.0625} b=f4 | microsoft:DynamicQuantizeMatMul-1", 16 * 7 },
	};
	struct the_case c = { .memory = malloc(ROOM) };

	(void)unused;
	assert_non_null(c.memory);
	load();
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		char path[64], text[2048] = "";
		int fd = memfd_create("report", MFD_CLOEXEC);
		struct OrtEpGraphSupportInfo info;
		unsigned long sum = 0, k = 0;
		struct ort_ep *ep;

		while (strncmp(cases[k].graph, reports[i].graph, strlen(reports[i].graph)))
			assert_true(++k < sizeof(cases) / sizeof(cases[0]));
		read_case(&c, cases[k].graph, cases[k].outputs);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ep = provider(0, 16, "ep.nn.report", path);
		free(capability(&c, ep, &info));
		factory->ReleaseEp((OrtEpFactory *)factory, (OrtEp *)ep);
		assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
		close(fd);
		for (const char *node = text; (node = strstr(node, "\nnode\t"));) {
			for (int field = 0; field < 4; field++)
				node = strchr(node + 1, '\t');
			sum += strtoul(node, NULL, 10);
		}
		if (sum != reports[i].multiply_adds)
			fail_msg("%s: %lu, not %lu\n%s", reports[i].graph, sum, reports[i].multiply_adds, text);
	}
	free(c.memory);
	assert_null(ReleaseEpFactory((OrtEpFactory *)factory));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_without_extension),
		cmocka_unit_test(test_nothing_is_left),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_forgotten_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
