/* SPDX-License-Identifier: MIT */
/*
 * Measures single operations on shapes of real networks. The time on one thread (--threads: on all
 * threads) is compared with memcpy() of as many bytes as the operation reads and writes. If a
 * figure's name ends in _ref, the operation runs on its reference kernel.
 */
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/option.h"
#include "base/round.h"
#include "figure.h"
#include "ops/op.h"
#include "plan/compiled.h"

#define MAX_OPERANDS 70
#define MAX_RUNS 101
#define PAGE_SIZE 4096
#define RUN_NS UINT64_C(60000000)	/* approximate run time of one operation */

/*
 * A row of the table has an operation's inputs, then the operation's outputs. `f32[1,2]` is an
 * input of the model, `=f32[1,2]` a constant of random numbers, `=i32[2]{1,2}` a constant of the
 * values 1 and 2. `i3`, `b1` and `f0.5` are scalars. `-` is an omitted input, `-s16[1]` an omitted
 * input of type s16. The types of tensors are f32, f16, u8, i8, q8, i32, s16 and b8; int8 and uint8
 * are quantised by *scale+zero. A `%` after a tensor's dimensions fills the tensor with bounding
 * boxes.
 */
struct shape {
	const char *name;
	const char *text;
};

static const struct shape shapes[] = {
#include "operations.def"
};

struct case_model {
	struct nn_model model;
	struct nn_subgraph subgraph;
	struct nn_operation operation;
	struct nn_pool pool;
	struct nn_operand operands[MAX_OPERANDS];
	uint32_t indices[MAX_OPERANDS];	/* the operation's inputs, then outputs */
	uint32_t inputs[MAX_OPERANDS];	/* operands that are inputs of the model */
	bool boxes[MAX_OPERANDS];	/* by operand */
	char *at;			/* address of the next constant */
};

#define POOL_SIZE ((size_t)64 << 20)

static void fail(const char *name, const char *what)
{
	fprintf(stderr, "bench operations: %s: %s\n", name, what);
	exit(1);
}

/* Fills memory with random numbers that are valid in every type, and small enough for indices. */
static void fill(int32_t type, void *to, size_t bytes)
{
	static uint32_t state = 1;

	for (size_t i = 0; i < bytes; i++) {
		state = state * 1664525 + 1013904223;
		((uint8_t *)to)[i] = (uint8_t)(state >> 24);
	}
	for (size_t i = 0; type == NN_TENSOR_FLOAT32 && i < bytes / 4; i++)
		((float *)to)[i] = (float)((int32_t)((uint32_t *)to)[i]) / 0x1p30f;
	if (type == NN_TENSOR_INT32)
		memset(to, 0, bytes);
	for (size_t i = 0; type == NN_TENSOR_BOOL8 && i < bytes; i++)
		((uint8_t *)to)[i] &= 1;
}

/* Makes boxes in an image of 320 by 320; the corners of each box are in order. */
static void fill_boxes(float *to, size_t count)
{
	fill(NN_TENSOR_FLOAT32, to, count * sizeof(*to));
	for (size_t i = 0; i < count; i++)
		to[i] = (to[i] + 2) * 40 + (i % 4 < 2 ? 0 : to[i - 2] + 1);
}

static const struct {
	const char *name;
	int32_t type;
} types[] = {
	{ "f32", NN_TENSOR_FLOAT32 },
	{ "f16", NN_TENSOR_FLOAT16 },
	{ "u8", NN_TENSOR_QUANT8_ASYMM },
	{ "i8", NN_TENSOR_QUANT8_ASYMM_SIGNED },
	{ "q8", NN_TENSOR_QUANT8_SYMM },
	{ "i32", NN_TENSOR_INT32 },
	{ "s16", NN_TENSOR_QUANT16_SYMM },
	{ "b8", NN_TENSOR_BOOL8 },
};

static int32_t read_type(const char **p, const char *name)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t length = strlen(types[i].name);

		if (strncmp(*p, types[i].name, length) || (*p)[length] != '[')
			continue;
		*p += length + 1;
		return types[i].type;
	}
	fail(name, *p);
	return 0;
}

static void set_quantisation(struct nn_operand *o)
{
	if (o->type == NN_TENSOR_QUANT8_ASYMM || o->type == NN_TENSOR_QUANT8_ASYMM_SIGNED ||
	    o->type == NN_TENSOR_QUANT8_SYMM || o->type == NN_TENSOR_QUANT16_SYMM) {
		o->scale = 0.05f;
		o->zero_point = o->type == NN_TENSOR_QUANT8_ASYMM ? 128 : 0;
	}
}

static void *add_value(struct case_model *m, struct nn_operand *o)
{
	void *value;

	nn_operand_size(o, &o->location.length);
	o->lifetime = NN_CONSTANT_REFERENCE;
	o->location.offset = (uint32_t)(m->at - (const char *)m->pool.base);
	value = m->at;
	m->at += round_up(o->location.length, 64);
	return value;
}

/* Reads a scalar: a letter for the type, then the value. */
static void read_scalar(struct case_model *m, struct nn_operand *o, const char *p)
{
	const float f = (float)atof(p + 1);
	const int32_t i = atoi(p + 1);

	o->type = *p == 'f' ? NN_FLOAT32 : *p == 'b' ? NN_BOOL : NN_INT32;
	if (*p == 'b')
		*(uint8_t *)add_value(m, o) = (uint8_t)i;
	else
		memcpy(add_value(m, o), *p == 'f' ? (const void *)&f : &i, 4);
}

static void read_tensor(struct case_model *m, struct nn_operand *o, const char *p,
			const char *name)
{
	bool constant = *p == '=';
	int32_t *values;
	char *end;

	p += constant;
	o->type = read_type(&p, name);
	do {
		o->dims[o->rank++] = (uint32_t)strtoul(p, &end, 10);
		p = end + 1;
	} while (*end == ',');
	set_quantisation(o);
	if (*p == '*') {
		o->scale = strtof(p + 1, &end);
		o->zero_point = (int32_t)strtol(end, &end, 10);
		p = end;
	}
	m->boxes[o - m->operands] = *p == '%';
	if (!constant)
		return;
	values = add_value(m, o);
	if (*p == '%')
		fill_boxes((float *)values, o->location.length / sizeof(float));
	else
		fill(o->type, values, o->location.length);
	if (*p == '{')
		for (uint32_t i = 0; *p != '}'; i++, p = end)
			values[i] = (int32_t)strtol(p + 1, &end, 10);
}

static void read_case(struct case_model *m, const struct shape *s)
{
	static char copy[2048];
	bool writes = false;
	uint32_t count = 0;
	char *rest, *word;

	snprintf(copy, sizeof(copy), "%s", s->text);
	m->operation.inputs = m->indices;
	for (word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		struct nn_operand *o = &m->operands[count];

		if (*word == '>') {
			m->operation.outputs = m->indices + count;
			writes = true;
			continue;
		}
		m->indices[count] = count;
		if (*word == '-') {
			const char *type = word + 1;

			*o = (struct nn_operand){ .type = NN_TENSOR_FLOAT32, .rank = 1,
						  .lifetime = NN_NO_VALUE };
			if (*type)
				o->type = read_type(&type, s->name);
			set_quantisation(o);
		} else if (strchr(word, '[')) {
			read_tensor(m, o, word, s->name);
		} else {
			read_scalar(m, o, word);
		}
		if (writes) {
			o->lifetime = NN_SUBGRAPH_OUTPUT;
			m->operation.num_outputs++;
		} else {
			m->operation.num_inputs++;
			o->consumers = 1;
		}
		if (!writes && !o->lifetime) {
			o->lifetime = NN_SUBGRAPH_INPUT;
			m->inputs[m->subgraph.num_inputs++] = count;
		}
		count++;
	}
	m->subgraph.num_operands = count;
}

static int32_t find_code(const char *name)
{
	size_t length = strcspn(name, "-");

	for (size_t i = 0; i < nn_op_count(); i++)
		if (strlen(nn_op_at(i)->name) == length &&
		    !strncmp(nn_op_at(i)->name, name, length))
			return nn_op_at(i)->code;
	fail(name, "no such operation");
	return 0;
}

static size_t set_args(const struct case_model *m, const uint32_t *list, uint32_t count,
		       struct nn_arg *args)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t size;

		nn_operand_size(&m->operands[list[i]], &size);
		args[i] = (struct nn_arg){ .data = aligned_alloc(64, round_up(size, 64)),
					   .length = size };
		if (m->boxes[list[i]])
			fill_boxes(args[i].data, size / sizeof(float));
		else
			fill(m->operands[list[i]].type, args[i].data, size);
		bytes += size;
	}
	return bytes;
}

/*
 * Returns the shortest time of many copies that read half of `bytes` and write the other half. Each
 * copy has another distance between source and destination, because some CPUs (Zen 3, by `rep
 * movsb`) copy slowly if the two addresses are at nearly the same offset in a page.
 */
static double time_copy(size_t bytes)
{
	char *from = malloc(bytes), *to = malloc(bytes + PAGE_SIZE);
	double least = 1e9;

	/* Write to all pages, because pages that were never written share a single zero page. */
	memset(from, 1, bytes);
	memset(to, 1, bytes + PAGE_SIZE);
	for (size_t i = 0; i < 64; i++) {
		char *at = to + i % 16 * (PAGE_SIZE / 16);
		uint64_t start = clock_ns();

		memcpy(at, from, bytes / 2);
		__asm__ volatile("" : : "r"(at) : "memory");
		least = least < (double)(clock_ns() - start) ? least :
			(double)(clock_ns() - start);
	}
	free(from);
	free(to);
	return least * 1e-3;
}

static double time_plan(const struct nn_plan *plan, struct nn_execution *e, const char *name)
{
	uint64_t end = clock_ns() + RUN_NS;
	struct nn_error err = { "" };
	double least = 1e9;

	for (int i = 0; i < MAX_RUNS && (i < 3 || clock_ns() < end); i++) {
		uint64_t start = clock_ns();
		double us;

		if (nn_plan_execute(plan, e, &err))
			fail(name, err.message);
		us = (double)(clock_ns() - start) * 1e-3;
		least = us < least ? us : least;
	}
	return least;
}

static void measure(const struct shape *s, uint32_t preference)
{
	const struct nn_plan_options options = { .preference = preference,
						 .kernels = getenv("NN_BENCH_KERNELS") };
	struct case_model m = { .pool = { calloc(1, POOL_SIZE), POOL_SIZE } };
	struct nn_arg in[MAX_OPERANDS], out[MAX_OPERANDS];
	struct nn_error err = { "" };
	struct nn_execution e = { .inputs = in, .outputs = out };
	struct nn_plan *plan = NULL;
	char name[128];
	size_t bytes;
	bool fast;

	m.at = (char *)m.pool.base;
	read_case(&m, s);
	m.operation.type = find_code(s->name);
	m.subgraph.operands = m.operands;
	m.subgraph.operations = &m.operation;
	m.subgraph.num_operations = 1;
	m.subgraph.inputs = m.inputs;
	m.subgraph.outputs = m.operation.outputs;
	m.subgraph.num_outputs = m.operation.num_outputs;
	m.model = (struct nn_model){ .size = sizeof(struct nn_model),
				     .num_subgraphs = 1, .subgraphs = &m.subgraph,
				     .num_pools = 1, .pools = &m.pool };
	if (nn_model_check(&m.model, &err) || nn_ops_check_model(&m.model, NULL, &err) ||
	    nn_plan_create(&m.model, &options, &plan, &err))
		fail(s->name, err.message);
	e.num_inputs = m.subgraph.num_inputs;
	e.num_outputs = m.subgraph.num_outputs;
	bytes = set_args(&m, m.subgraph.inputs, e.num_inputs, in);
	bytes += set_args(&m, m.subgraph.outputs, e.num_outputs, out);
	fast = plan->compiled && (!plan->compiled->num_steps ||
				  plan->compiled->steps[0].ready.kernel);
	snprintf(name, sizeof(name), "%s%s", s->name, fast ? "" : "_ref");
	figure(name, time_plan(plan, &e, s->name), "us", "memcpy", time_copy(bytes), "native");
	nn_plan_free(plan);
	for (uint32_t i = 0; i < e.num_inputs; i++)
		free(in[i].data);
	for (uint32_t i = 0; i < e.num_outputs; i++)
		free(out[i].data);
	free((void *)m.pool.base);
}

/*
 * Arguments are names of operations or beginnings of names. Without arguments, all operations are
 * measured.
 */
int main(int argc, char **argv)
{
	bool threads = argc > 1 && !strcmp(argv[1], "--threads");

	argc -= threads;
	argv += threads;
	if (argc > 1 && argv[1][0] == '-')
		return option_usage("operations", " [--threads] [NAME]...\n"
			"Measures single operations beside memcpy(), or those whose names begin with NAME.\n"
			"  --threads  on all threads", argc, argv);
	figure_head();
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		bool wanted = argc < 2;

		for (int k = 1; k < argc; k++)
			wanted |= !strncmp(shapes[i].name, argv[k], strlen(argv[k]));
		if (wanted)
			measure(&shapes[i], threads ? 1 : NN_PREFER_LOW_POWER);
	}
	return 0;
}
