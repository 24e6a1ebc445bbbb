// SPDX-License-Identifier: MIT
/*
 * Tests the delegate with graphs of a few nodes; the test program imitates TensorFlow Lite. The
 * file tflite_nodes.def has the graphs, and the outputs or the reason why the delegate refuses
 * nodes.
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

#define PLAY_MOST 64
#include "tflite_play.h"
#include "recorded.h"
#include "tests/heap_blocks.h"
#include "tests/open_files.h"
#include "ops/float16.h"
#include "ops/op.h"

static const struct {
	char letter;
	int type;
	size_t size;
} types[] = {
	{ 'f', TFL_FLOAT32, 4 }, { 'h', TFL_FLOAT16, 2 }, { 'i', TFL_INT32, 4 }, { 'l', TFL_INT64, 8 },
	{ 'u', TFL_UINT8, 1 }, { 's', TFL_INT8, 1 }, { 'b', TFL_BOOL, 1 }, { 'w', TFL_INT16, 2 },
};

static const char *const operators[] = {
#define X(code, name) [code] = #name,
#include "clients/tflite/builtins.def"
#undef X
};

enum { CUSTOM = 32, CODES = sizeof(operators) / sizeof(operators[0]) };

/* The scales and zero points of a tensor: one scale, or a scale for each channel. */
struct scales {
	struct tfl_affine affine;
	struct {
		int size;
		float data[8];
	} scale;
	struct {
		int size;
		int data[8];
	} zero;
};

struct graph {
	struct world *w;
	char names[MOST][16];
	size_t letters[MOST];		/* indices in `types` */
	struct scales scales[MOST];
	struct list intermediates[MOST];
	char customs[MOST][32];
	bool is_read[MOST], is_made[MOST];
};

static int number_of(const struct graph *g, const char *name)
{
	if (!strcmp(name, "?"))
		return TFL_NO_TENSOR;
	for (int i = 0; i < g->w->num_tensors; i++)
		if (!strcmp(g->names[i], name))
			return i;
	fail_msg("no tensor %s", name);
	return 0;
}

static void put(void *data, char letter, size_t at, double number)
{
	switch (letter) {
	case 'f':
		((float *)data)[at] = (float)number;
		break;
	case 'h':
		((uint16_t *)data)[at] = nn_float_to_fp16((float)number);
		break;
	case 'i':
		((int32_t *)data)[at] = (int32_t)number;
		break;
	case 'l':
		((int64_t *)data)[at] = (int64_t)number;
		break;
	case 'w':
		((int16_t *)data)[at] = (int16_t)number;
		break;
	default:
		((uint8_t *)data)[at] = (uint8_t)(int)number;
	}
}

static double get(const void *data, char letter, size_t at)
{
	switch (letter) {
	case 'f':
		return ((const float *)data)[at];
	case 'i':
		return ((const int32_t *)data)[at];
	case 'l':
		return (double)((const int64_t *)data)[at];
	case 'w':
		return ((const int16_t *)data)[at];
	case 's':
		return ((const int8_t *)data)[at];
	default:
		return ((const uint8_t *)data)[at];
	}
}

/* @SCALE&SCALE.../ZERO^AXIS */
static char *read_scales(struct graph *g, int n, char *text)
{
	struct tfl_tensor *t = &g->w->tensors[n];
	struct scales *s = &g->scales[n];

	if (*text != '@')
		return text;
	do {
		s->scale.data[s->scale.size++] = strtof(text + 1, &text);
	} while (*text == '&');
	if (*text == '/')
		s->zero.data[0] = (int)strtol(text + 1, &text, 10);
	s->zero.size = s->scale.size;
	for (int i = 1; i < s->zero.size; i++)
		s->zero.data[i] = s->zero.data[0];
	if (*text == '^')
		s->affine.dimension = (int)strtol(text + 1, &text, 10);
	s->affine.scale = (struct tfl_floats *)&s->scale;
	s->affine.zero_point = (struct tfl_ints *)&s->zero;
	t->quantization.type = TFL_AFFINE_QUANTIZATION;
	t->quantization.params = &s->affine;
	/*
	 * If a tensor has several scales, TensorFlow Lite sets the field for a single scale to 0.
	 */
	t->params.scale = s->scale.size == 1 ? s->scale.data[0] : 0;
	t->params.zero_point = s->scale.size == 1 ? s->zero.data[0] : 0;
	return text;
}

/*
 * Reads the description of a tensor, which has a name, a kind, a type, and the tensor's numbers or
 * the way to generate numbers.
 */
static int read_tensor(struct graph *g, char *word, bool is_made)
{
	char *text = strpbrk(word, ":=~_"), kind;
	uint32_t state;
	int dims[MOST], rank = 0, n;
	size_t type = 0, count = 1;

	assert_non_null(text);
	kind = *text;
	*text++ = '\0';
	while (types[type].letter != *text)
		type++;
	text++;
	for (; (*text >= '0' && *text <= '9') || *text == ','; text += *text == ',') {
		dims[rank] = (int)strtol(text, &text, 10);
		count *= (size_t)dims[rank++];
	}
	n = tensor(g->w, types[type].type, rank, dims);
	assert_true(g->w->num_tensors < MOST && count * types[type].size <= MOST_BYTES);
	g->w->tensors[n].bytes = count * types[type].size;
	g->letters[n] = type;
	g->is_made[n] = is_made;
	snprintf(g->names[n], sizeof(g->names[n]), "%s", word);
	text = read_scales(g, n, text);
	g->w->tensors[n].is_variable = kind == '~';
	if (kind == '=')
		g->w->tensors[n].allocation_type = TFL_READ_ONLY;
	state = recorded_seed(word);
	for (size_t i = 0; i < count && !is_made && (kind == ':' || kind == '='); i++) {
		if (*text == '{' || *text == ',')
			put(g->w->data[n], types[type].letter, i, strtod(text + 1, &text));
		else
			put(g->w->data[n], types[type].letter, i,
			    recorded_next(&state, types[type].letter, *text));
	}
	return n;
}

/* Reads an output of a node. If the output's word ends with "-", no node reads the output. */
static int read_output(struct graph *g, char *word)
{
	const bool is_unread = word[strlen(word) - 1] == '-';
	const int n = read_tensor(g, word, true);

	if (is_unread)
		append(&g->w->unread, n);
	return n;
}

/*
 * Reads parameters into TensorFlow Lite's structures: bytes, integers and floats. Returns their
 * size.
 */
static int read_params(char *text, char *params)
{
	size_t at = 0;

	while (text && *text) {
		if (*text == 't' || *text == 'n') {
			params[at++] = *text == 't';
			text++;
		} else {
			const bool is_padding = *text == 'p';
			char *end;
			int whole = (int)strtol(text + is_padding, &end, 10) + is_padding;

			at = (at + 3) / 4 * 4;
			if (*end == '.')
				*(float *)(void *)&params[at] = strtof(text, &end);
			else
				*(int *)(void *)&params[at] = whole;
			at += 4;
			text = end;
		}
		text += *text == ',';
	}
	return (int)at;
}

/* Appends a little-endian int32 to a FlexBuffer. */
static void append_int(char *out, size_t *at, size_t number)
{
	const int32_t value = (int32_t)number;

	memcpy(out + *at, &value, sizeof(value));
	*at += sizeof(value);
}

/*
 * Reads {NAME=NUMBER,NAME=NUMBER&NUMBER...} into a FlexBuffer, a map of numbers and vectors of
 * integers. Returns the FlexBuffer's size.
 */
static int read_map(char *text, char *out)
{
	enum { INT = 1 << 2 | 2, FLOAT = 3 << 2 | 2, MAP = 9 << 2 | 2, INTS = 11 << 2 | 2 };
	size_t at = 0, count = 0, keys, map, places[8];
	char names[8][32], kinds[8];
	int32_t values[8];

	for (text++; *text != '}'; text += *text == ',', count++) {
		const size_t length = strcspn(text, "=");

		assert_true(count < 8 && length < sizeof(names[0]));
		snprintf(names[count], sizeof(names[0]), "%.*s", (int)length, text);
		text += length + 1;
		values[count] = (int32_t)strtol(text, &text, 10);
		kinds[count] = *text == '.' ? FLOAT : *text == '&' ? INTS : INT;
		if (*text == '.') {
			float fraction = (float)values[count] + strtof(text, &text);

			memcpy(&values[count], &fraction, sizeof(fraction));
		}
		if (*text != '&')
			continue;
		keys = at;
		append_int(out, &at, 0);
		append_int(out, &at, (size_t)values[count]);
		values[count] = (int32_t)at - 4;
		while (*text == '&')
			append_int(out, &at, (size_t)strtol(text + 1, &text, 10));
		append_int(out, &keys, (at - keys) / 4 - 1);
	}
	for (size_t i = 0; i < count; i++) {
		places[i] = at;
		at += (size_t)sprintf(out + at, "%s", names[i]) + 1;
	}
	append_int(out, &at, count);
	keys = at;
	for (size_t i = 0; i < count; i++)
		append_int(out, &at, at - places[i]);
	append_int(out, &at, at - keys);
	append_int(out, &at, 4);
	append_int(out, &at, count);
	map = at;
	for (size_t i = 0; i < count; i++)
		append_int(out, &at, kinds[i] == INTS ? at - (size_t)values[i] : (size_t)values[i]);
	for (size_t i = 0; i < count; i++)
		out[at++] = kinds[i];
	out[at] = (char)(at - map);
	out[at + 1] = MAP;
	out[at + 2] = 1;
	return (int)at + 3;
}

/*
 * Reads a node from the words OPERATOR[PARAMETERS], inputs, ">", outputs, "%", and intermediates.
 */
static void read_node(struct graph *g, char *words)
{
	struct world *w = g->w;
	struct list inputs = { 0 }, outputs = { 0 }, *list = &inputs;
	char *save, *params, *name = strtok_r(words, " ", &save);
	int code = 0, n, size = 0;

	params = strchr(name, '[');
	if (params) {
		*params++ = '\0';
		params[strcspn(params, "]")] = '\0';
		size = (*params == '{' ? read_map : read_params)(params, (char *)w->params[w->num_nodes]);
	}
	while (code < CODES && strcmp(operators[code] ?: "", name))
		code++;
	for (char *word; (word = strtok_r(NULL, " ", &save));) {
		if (!strcmp(word, ">"))
			list = &outputs;
		else if (!strcmp(word, "%"))
			list = &g->intermediates[w->num_nodes];
		else if (list == &outputs)
			append(list, read_output(g, word));
		else
			append(list, number_of(g, word));
	}
	n = node(w, code < CODES ? code : CUSTOM, inputs.data[0], -2, outputs.data[0]);
	if (code == CODES) {
		snprintf(g->customs[n], sizeof(g->customs[n]), "%s", name);
		w->registrations[n].custom_name = g->customs[n];
		w->nodes[n].builtin_data = NULL;
		w->nodes[n].custom_data = w->params[n];
		w->nodes[n].custom_size = size;
	}
	w->inputs[n] = inputs;
	w->outputs[n] = outputs;
	if (g->intermediates[n].size)
		w->nodes[n].intermediates = (struct tfl_ints *)&g->intermediates[n];
	for (int i = 0; i < inputs.size; i++)
		if (inputs.data[i] != TFL_NO_TENSOR)
			g->is_read[inputs.data[i]] = true;
}

static void read_graph(struct graph *g, const char *text)
{
	char *copy = strdup(text), *at = copy, *bar;

	assert_non_null(copy);
	memset(g, 0, sizeof(*g));
	g->w = world();
	for (bool is_first = true; at; at = bar, is_first = false) {
		bar = strstr(at, " | ");
		if (bar) {
			*bar = '\0';
			bar += 3;
		}
		if (!is_first) {
			read_node(g, at);
			continue;
		}
		for (char *save, *word = strtok_r(at, " ", &save); word;
		     word = strtok_r(NULL, " ", &save))
			read_tensor(g, word, false);
	}
	for (int i = 0; i < g->w->num_tensors; i++)
		if (g->is_made[i] && g->is_read[i])
			append(&g->w->unread, i);
	free(copy);
}

/* Names of the operations in the NNAPI model that was built last. */
static char operations[1024];

/* If true, the NNAPI lacks the project's own extension, and outputs may differ by APART. */
static bool lacks_own;
#define APART 1

int ANeuralNetworksModel_create(ANeuralNetworksModel **model)
{
	static int (*create)(ANeuralNetworksModel **model);

	if (!create)
		*(void **)&create = dlsym(RTLD_NEXT, "ANeuralNetworksModel_create");
	operations[0] = '\0';
	return create(model);
}

int ANeuralNetworksModel_addOperation(ANeuralNetworksModel *model, ANeuralNetworksOperationType type,
				      uint32_t in_count, const uint32_t *in, uint32_t out_count,
				      const uint32_t *out)
{
	static int (*add)(ANeuralNetworksModel *model, ANeuralNetworksOperationType type,
			  uint32_t in_count, const uint32_t *in, uint32_t out_count,
			  const uint32_t *out);
	const size_t used = strlen(operations);

	if (!add)
		*(void **)&add = dlsym(RTLD_NEXT, "ANeuralNetworksModel_addOperation");
	if (lacks_own && nn_is_own(type))
		return ANEURALNETWORKS_BAD_DATA;
	snprintf(operations + used, sizeof(operations) - used, "%s%s", used ? " " : "",
		 nn_op_name(type));
	return add(model, type, in_count, in, out_count, out);
}

/*
 * Returns true if each output has the numbers in `text`, which has a name, a colon and numbers for
 * each output.
 */
static bool are_expected(const struct graph *g, const char *text)
{
	while (*text) {
		const size_t length = strcspn(text, ":");
		char name[16];
		size_t type, count;
		int n;

		snprintf(name, sizeof(name), "%.*s", (int)length, text);
		n = number_of(g, name);
		text += length + 1;
		type = g->letters[n];
		count = g->w->tensors[n].bytes / types[type].size;
		for (size_t i = 0; i < count; i++) {
			const char letter = types[type].letter;
			const double is = get(g->w->data[n], letter, i);
			const double loose = letter == 'f' ? 2e-4 : 0;
			const double step = lacks_own ? APART : letter == 'u' || letter == 's' ? 1 : letter == 'w' ? 16 :
					    loose / 10;
			char *end;
			const double want = strtod(text, &end);

			assert_ptr_not_equal(text, end);
			text = end;
			if (!recorded_agree(want, is, loose, step)) {
				print_error("%s[%zu] is %g, not %g\n", name, i, is, want);
				return false;
			}
		}
		text += strspn(text, "; ");
	}
	return true;
}

/*
 * Runs all kernels of a graph twice, so that the second run reads the states that the first run
 * wrote.
 */
static bool run(struct world *w)
{
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < w->num_kernels; i++)
			if (w->kernel.prepare(&w->context, &w->kernels[i]) != TFL_OK ||
			    w->kernel.invoke(&w->context, &w->kernels[i]) != TFL_OK) {
				print_error("%s\n", w->error);
				return false;
			}
	return true;
}

enum kind { NODES, AS, REFUSED, WORK };

static const struct {
	enum kind kind;
	const char *graph, *outputs, *text;
} cases[] = {
#define NODES(graph, outputs) { NODES, graph, outputs, NULL },
#define AS(graph, outputs, operations) { AS, graph, outputs, operations },
#define ALONE(graph, outputs, operations) { AS, graph, outputs, operations },
#define REFUSED(graph, reason) { REFUSED, graph, NULL, reason },
#define WORK(graph, least) { WORK, graph, NULL, #least },
#include "tflite_nodes.def"
};

/* Makes a delegate partition a graph; returns the delegate's messages, which the caller frees. */
static char *partitioned(struct graph *g, struct tfl_delegate *d)
{
	FILE *const usual = stderr;
	char *said;
	size_t size;
	int status;

	stderr = open_memstream(&said, &size);
	status = d->prepare(&g->w->context, d);
	fclose(stderr);
	stderr = usual;
	assert_int_equal(status, TFL_OK);
	return said;
}

static bool try_case(struct graph *g, enum kind kind, const char *outputs, const char *text,
		     long min_work)
{
	char least[16], *names[] = { "device", "verbosity", "min_work" };
	char *values[] = { "nnapi-reference", "1", least };
	struct tfl_delegate *d;
	char *said;
	bool is_whole, good;

	snprintf(least, sizeof(least), "%ld", min_work);
	d = tflite_plugin_create_delegate(names, values, 3, NULL);
	assert_non_null(d);
	said = partitioned(g, d);
	is_whole = g->w->num_kernels == 1 && g->w->parts[0][0].size == g->w->num_nodes;
	if (kind == REFUSED)
		good = !is_whole && strstr(said, text);
	else if (kind == WORK)
		good = g->w->num_kernels == (min_work <= atol(text)) && !is_whole;
	else
		good = is_whole && run(g->w) && are_expected(g, outputs);
	if (good && kind == AS && *text && strcmp(operations, text)) {
		print_error("made of %s\n", operations);
		good = false;
	}
	if (!good)
		print_error("%s", said);
	free(said);
	destroy(g->w);
	tflite_plugin_destroy_delegate(d);
	return good;
}

static void try_cases(void)
{
	struct graph *g = malloc(sizeof(*g));
	size_t failed = 0;

	assert_non_null(g);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const enum kind kind = cases[i].kind;

		/*
		 * The delegate claims a part whose work is exactly min_work, and does not claim a
		 * part with less work.
		 */
		for (int more = 0; more <= (kind == WORK); more++) {
			read_graph(g, cases[i].graph);
			if (!try_case(g, kind, cases[i].outputs, cases[i].text,
				      kind == WORK ? atol(cases[i].text) + more : 0)) {
				print_error("  %s\n  %s\n", cases[i].graph, cases[i].text ?: "");
				failed++;
			}
		}
	}
	free(g);
	assert_int_equal(failed, 0);
}

static void test_nodes(void **unused)
{
	(void)unused;
	try_cases();
}

/*
 * If devices lack the hybrid operations of the project's extension, the delegate dequantises the
 * weights for float operations.
 */
static void test_without_extension(void **unused)
{
	struct graph *g = malloc(sizeof(*g));
	size_t failed = 0;

	(void)unused;
	assert_non_null(g);
	lacks_own = true;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (cases[i].kind != AS || !strstr(cases[i].text, "DYNAMIC_"))
			continue;
		read_graph(g, cases[i].graph);
		if (try_case(g, NODES, cases[i].outputs, NULL, 0) && strstr(operations, "DEQUANTIZE"))
			continue;
		print_error("  %s\n  %s\n", cases[i].graph, operations);
		failed++;
	}
	lacks_own = false;
	free(g);
	assert_int_equal(failed, 0);
}

/*
 * A second run of all cases must free all memory, because test_nodes() has already made all
 * permanent allocations.
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

#define PLAIN "burst", "1"
#define CHANNELS(scales) \
	"x:s1,3,3,2@0.0625/12 w=s2,2,2,2@" scales "^0 | CONV_2D[p0,2,2,1,1,1] x w > y:s1,2,2,2@0.5/-10"

/*
 * Different models or options must give different cache tokens; equal models must give equal
 * tokens.
 */
static void test_tokens(void **unused)
{
	static const struct {
		const char *graph, *name, *value;
	} graphs[] = {
		{ "x:f2,3 y:f2,3 | ADD[0,n] x y > z:f2,3", PLAIN },
		{ "x:f2,3 y:f2,3 | ADD[0,n] x y > z:f2,3", "allow_fp16", "1" },
		{ "x:f2,3 y:f2,3 | ADD[0,n] x y > z:f2,3", "cache_token", "a" },
		{ "x:f2,3 y:f2,3 | ADD[0,n] x y > z:f2,3", "cache_token", "b" },
		{ "x:f2,3 y:f2,3 | ADD[1,n] x y > z:f2,3", PLAIN },
		{ "x:f2,3 y:f2,3 | SUB[0,n] x y > z:f2,3", PLAIN },
		{ "x:f2,3 y:f2,3 | SUB[0,n] y x > z:f2,3", PLAIN },
		{ "x:f3,2 y:f3,2 | ADD[0,n] x y > z:f3,2", PLAIN },
		{ "x:f2,3,1 y:f2,3,1 | ADD[0,n] x y > z:f2,3,1", PLAIN },
		{ "x:i2,3 y:i2,3 | ADD[0,n] x y > z:i2,3", PLAIN },
		{ "x:f2,3 y=f2,3 | ADD[0,n] x y > z:f2,3", PLAIN },
		{ "x:f2,3 w=f2,3 | ADD[0,n] x w > z:f2,3", PLAIN },
		{ "x:f2,3 | RELU x > a:f2,3 | ABS a > b:f2,3", PLAIN },
		{ "x:f2,3 | RELU x > a:f2,3 | ABS a > b:f2,3-", PLAIN },
		{ "q:u2,3@0.5/3 | DEQUANTIZE q > y:f2,3", PLAIN },
		{ "q:u2,3@0.25/3 | DEQUANTIZE q > y:f2,3", PLAIN },
		{ "q:u2,3@0.5/4 | DEQUANTIZE q > y:f2,3", PLAIN },
		{ CHANNELS("0.0625&0.03125"), PLAIN },
		{ CHANNELS("0.0625&0.125"), PLAIN },
		/*
		 * If the user gives a token, the delegate does not hash the constants, because the
		 * token identifies the constants.
		 */
		{ "x:f2,3 y=f2,3 | ADD[0,n] x y > z:f2,3", "cache_token", "a" },
		{ "x:f2,3 w=f2,3 | ADD[0,n] x w > z:f2,3", "cache_token", "a" },
	};
	enum { COUNT = sizeof(graphs) / sizeof(graphs[0]) };
	uint8_t tokens[COUNT][sizeof(recorded_token)];
	struct graph *g = malloc(sizeof(*g));

	(void)unused;
	assert_non_null(g);
	for (int i = 0; i < 2 * COUNT; i++) {
		const int n = i % COUNT;
		char *names[] = { "min_work", "cache_dir", (char *)graphs[n].name };
		char *values[] = { "0", "/tmp/nnaccel-no-such", (char *)graphs[n].value };
		struct tfl_delegate *d = tflite_plugin_create_delegate(names, values, 3, NULL);

		read_graph(g, graphs[n].graph);
		memset(recorded_token, 0, sizeof(recorded_token));
		free(partitioned(g, d));
		assert_int_equal(g->w->num_kernels, 1);
		assert_true(run(g->w));
		destroy(g->w);
		tflite_plugin_destroy_delegate(d);
		if (i >= COUNT) {
			assert_memory_equal(tokens[n], recorded_token, sizeof(recorded_token));
			continue;
		}
		memcpy(tokens[n], recorded_token, sizeof(recorded_token));
		for (int k = 0; k < n; k++)
			if (!memcmp(tokens[k], tokens[n], sizeof(recorded_token)) !=
			    (n == COUNT - 1 && k == COUNT - 2))
				fail_msg("the token of %s, %s", graphs[n].graph, graphs[n].value);
	}
	free(g);
}

/*
 * Tests the report's multiply-adds of the first node, and the input, output and constant bytes of
 * the node's part.
 */
static void test_report(void **unused)
{
	static const struct {
		const char *graph;
		unsigned long multiply_adds, in, out, constants;
	} reports[] = {
		{ "x:f2,3 y=f2,3 | ADD[0,n] x y > z:f2,3", 0, 24, 24, 24 },
		{ "x:f1,4,5,2 w=f3,2,3,2 b=f3 | CONV_2D[p0,1,2,1,1,1] x w b > y:f1,2,5,3", 30 * 12, 160, 120, 156 },
		{ "x:f1,3,3,4 w=f2,2,2,2 b=f2 | CONV_2D[p1,1,2,0,1,1] x w b > y:f1,1,2,2", 4 * 8, 144, 16, 72 },
		{ "x:f1,4,3,2 w=f1,2,2,4 b=f4 | DEPTHWISE_CONV_2D[p1,1,2,2,1,1,1] x w b > y:f1,2,2,4",
		  16 * 4, 96, 64, 80 },
		{ "s=i4{1,6,6,2} w=f2,3,2,1 x:f1,3,3,1 | TRANSPOSE_CONV[p0,2,2,0] s w x > y:f1,6,6,2",
		  9 * 12, 36, 288, 64 },
		{ "x:f2,2,3 w=f2,6 | FULLY_CONNECTED[1,0,n,n] x w ? > y:f2,2", 4 * 6, 48, 16, 48 },
		{ "x:f2,3,4 y:f2,4,5 | BATCH_MATMUL[n,n,n] x y > z:f2,3,5", 30 * 4, 256, 120, 0 },
		{ "x:f2,4,3 y:f2,4,5 | BATCH_MATMUL[t,n,n] x y > z:f2,3,5", 30 * 4, 256, 120, 0 },
		{ "x:f2,3 w=f4,3~ r=f4,4~ b=f4 h~f2,4 | RNN[4,n] x w r b h > y:f2,4", 2 * 28, 56, 32, 128 },
		{ "x:f2,3,3 w=f4,3~ r=f4,4~ b=f4 h~f2,4 | UNIDIRECTIONAL_SEQUENCE_RNN[n,1,n] x w r b h > y:f2,3,4",
		  6 * 28, 104, 96, 128 },
		/*
		 * The report counts a dimension of 0 as 1. A refused node belongs to no part, so
		 * the expected bytes of a part are 0.
		 */
		{ "x:f0,3,3,2 w=f2,2,2,2 | CONV_2D[p1,1,1,0,1,1] x w ? > y:f0,2,2,2", 8 * 8, 0, 0, 0 },
		{ "x:f7 w=f4,3 | FULLY_CONNECTED[0,0,n,n] x w ? > y:f2,4", 8 * 3, 0, 0, 0 },
	};
	struct graph *g = malloc(sizeof(*g));

	(void)unused;
	assert_non_null(g);
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		char path[64], text[512] = "", *node, *part, *end;
		char *names[] = { "min_work", "report" }, *values[] = { "0", path };
		int fd = memfd_create("report", MFD_CLOEXEC);
		struct tfl_delegate *d;
		unsigned long in = 0, out = 0, constants = 0;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		d = tflite_plugin_create_delegate(names, values, 2, NULL);
		assert_non_null(d);
		read_graph(g, reports[i].graph);
		free(partitioned(g, d));
		destroy(g->w);
		tflite_plugin_destroy_delegate(d);
		assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
		close(fd);
		node = strstr(text, "\nnode\t");
		assert_non_null(node);
		for (int field = 0; field < 4; field++)
			node = strchr(node + 1, '\t');
		part = strstr(node, "\npart\t0\t");
		if (part) {
			in = strtoul(part + 8, &end, 10);
			out = strtoul(end, &end, 10);
			constants = strtoul(end, NULL, 10);
		}
		if (strtoul(node, NULL, 10) != reports[i].multiply_adds || in != reports[i].in ||
		    out != reports[i].out || constants != reports[i].constants)
			fail_msg("%s:\n%s", reports[i].graph, text);
	}
	free(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_without_extension),
		cmocka_unit_test(test_nothing_is_left),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
