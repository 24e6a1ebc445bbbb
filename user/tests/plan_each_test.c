/* SPDX-License-Identifier: MIT */
/*
 * Every operation in every type that it takes, in random shapes, compiled against
 * interpreted: bytes and whole numbers must be equal, floats nearly so. The table of
 * plan_each_test.def has the operations; IF and WHILE are built here. What ran is
 * counted: an operation that never did fails the test. NN_SEED sets the first seed.
 *
 * Operands are a type, dimensions and what they hold. Types: X is the one that is tried,
 * C a constant of it, W and P a filter (of bytes, P by channels; Q so for all X), B a bias, R boxes, A
 * anchors, U bytes of weights, "=" or "=1" as input 0 or 1; "f32|f16" any of those. Dimensions are
 * random by letter, as sums of products. "{a,1}" are values, "<a" below it, "#" ascending,
 * "%" boxes, "+" positive; "@scale,zero" quantises, and "!" is a constant. Scalars: "i:0|1" one
 * of them, "b:", "f:", and "s:" of the kind that belongs to X; "-" is omitted, "-s16" of that type.
 */
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../selftests/lib/runner.h"
#include "ops/float16.h"
#include "ops/op.h"
#include "plan/compiled.h"
#include "plan/plan.h"
#include "plan/run/cpus.h"
#include "plan/saved/saved.h"
#include "tests/between.h"
#include "tests/plan_diff/damage.h"
#include "tests/random.h"

#define MAX_OPERANDS 90
#define MAX_BYTES (1 << 20)	/* of an output, and of all constants */
#define ROUNDS (uint64_t)how_often(12, 4)	/* of each operation in each type */
#define FIRST_SEED 1

struct form {
	const char *name;
	const char *text;
};

static const struct form forms[] = {
#include "plan_each_test.def"
};

#define NUM_FORMS (sizeof(forms) / sizeof(forms[0]))

static const struct form large_forms[] = {
#include "plan_each_large.def"
};

/* Stands in for the library's function, so that there are threads on each machine. */
uint32_t cpus_usable(void)
{
	return 3;
}

/* ---- The model ---- */

static struct {
	struct nn_model model;
	struct nn_subgraph subgraphs[3];
	struct nn_operation operations[3][4];
	struct nn_operand operands[3][MAX_OPERANDS];
	uint32_t lists[3][2 * MAX_OPERANDS];	/* operands of operations, then of subgraphs */
	uint32_t used[3];
	uint8_t values[MAX_BYTES];
	struct nn_extra extra;
	float scales[64];
	uint32_t dims[26];		/* by letter */
	int32_t type;			/* X */
	const struct nn_op *op;
	char text[2048];
	bool fixed[8];			/* by output: the operation says how it is quantised */
} g;

static uint32_t *take(uint32_t subgraph, uint32_t count)
{
	uint32_t *list = g.lists[subgraph] + g.used[subgraph];

	g.used[subgraph] += count;
	assert_between(g.used[subgraph], 0, 2 * MAX_OPERANDS);
	return list;
}

static uint32_t add_operand(uint32_t subgraph, const struct nn_operand *o)
{
	struct nn_subgraph *s = &g.subgraphs[subgraph];

	assert_between(s->num_operands, 0, MAX_OPERANDS - 1);
	g.operands[subgraph][s->num_operands] = *o;
	return s->num_operands++;
}

static void *add_value(struct nn_operand *o)
{
	assert_true(nn_operand_size(o, &o->location.length));
	o->lifetime = NN_CONSTANT_COPY;
	o->location.offset = g.model.values_size;
	g.model.values_size += (o->location.length + 7) / 8 * 8;
	assert_between(g.model.values_size, 0, MAX_BYTES);
	return g.values + o->location.offset;
}

static void begin(int32_t type)
{
	memset(&g, 0, sizeof(g));
	g.type = type;
	g.model = (struct nn_model){
		.size = sizeof(struct nn_model),
		.num_subgraphs = 1,
		.subgraphs = g.subgraphs,
		.values = g.values,
	};
	for (uint32_t i = 0; i < 3; i++) {
		g.subgraphs[i].operands = g.operands[i];
		g.subgraphs[i].operations = g.operations[i];
	}
	for (uint32_t i = 0; i < 26; i++)
		g.dims[i] = pick(1, 6);
	g.dims['n' - 'a'] = pick(1, 2);
	g.dims['c' - 'a'] = pick(1, 20);
}

/* ---- Reading the table ---- */

static bool is_quant8(int32_t type)
{
	return type == NN_TENSOR_QUANT8_ASYMM || type == NN_TENSOR_QUANT8_ASYMM_SIGNED;
}

static bool is_half(void)
{
	return g.type == NN_TENSOR_FLOAT16;
}

/* A number or a letter, times others, plus others; moves behind it. */
static int32_t read_sum(const char **p)
{
	int32_t sum = 0, product = 1, sign = 1;
	char *end;

	for (;; (*p)++) {
		if (**p == '-') {
			sign = -1;
			(*p)++;
		}
		if (islower((unsigned char)**p)) {
			product *= (int32_t)g.dims[*(*p)++ - 'a'];
		} else {
			product *= (int32_t)strtol(*p, &end, 10);
			*p = end;
		}
		if (**p == '*')
			continue;
		sum += sign * product;
		product = sign = 1;
		if (**p != '+' || strchr("0123456789abcdefghijklmnopqrstuvwxyz", (*p)[1]) == NULL ||
		    !(*p)[1])
			return sum;
	}
}

static const struct {
	const char *name;
	int32_t type;
} types[] = {
	{ "f32", NN_TENSOR_FLOAT32 },
	{ "f16", NN_TENSOR_FLOAT16 },
	{ "u8", NN_TENSOR_QUANT8_ASYMM },
	{ "i8", NN_TENSOR_QUANT8_ASYMM_SIGNED },
	{ "i32", NN_TENSOR_INT32 },
	{ "s16", NN_TENSOR_QUANT16_SYMM },
	{ "b8", NN_TENSOR_BOOL8 },
	{ "q8", NN_TENSOR_QUANT8_SYMM },
	{ "int", NN_INT32 },
};

#define NUM_TYPES (sizeof(types) / sizeof(types[0]))

static int32_t type_of(const char *word, size_t length)
{
	for (size_t i = 0; i < NUM_TYPES; i++)
		if (strlen(types[i].name) == length && !strncmp(types[i].name, word, length))
			return types[i].type;
	fail_msg("no type %s", word);
	return 0;
}

static void quantise(struct nn_operand *o)
{
	if (is_quant8(o->type)) {
		o->scale = (float)pick(10, 100) / 1000;
		o->zero_point = (int32_t)pick(0, 255) -
				(o->type == NN_TENSOR_QUANT8_ASYMM ? 0 : 128);
	} else if (o->type == NN_TENSOR_QUANT8_SYMM || o->type == NN_TENSOR_QUANT16_SYMM) {
		o->scale = 0.01f;
	} else if (o->type == NN_TENSOR_QUANT16_ASYMM) {
		o->scale = 0.125f;
	}
}

/* Chooses one of "a|b|c", whose length it tells. */
static const char *choose(const char *word, const char *behind, size_t *length)
{
	uint32_t count = 1, wanted;

	for (const char *p = word; p < behind; p++)
		count += *p == '|';
	wanted = pick(0, count - 1);
	for (; wanted; word++)
		wanted -= *word == '|';
	*length = strcspn(word, "|");
	if (word + *length > behind)
		*length = (size_t)(behind - word);
	return word;
}

static void set_filter(struct nn_operand *o, char kind)
{
	if (!is_quant8(g.type))
		return;
	o->scale = 0.01f;
	o->zero_point = g.type == NN_TENSOR_QUANT8_ASYMM ? 120 : 0;
	if (kind == 'P') {
		o->type = NN_TENSOR_QUANT8_SYMM_PER_CHANNEL;
		o->scale = 0;
		o->zero_point = 0;
	}
}

/* The type and quantisation that a word begins with. */
static const char *read_type(const char *word, struct nn_operand *o)
{
	size_t length = strcspn(word, "[@{<%+#");
	const char *behind = word + length;

	switch (*word) {
	case 'X':
	case 'C':
	case 'W':
	case 'P':
	case 'U':
		o->type = *word == 'U' ? NN_TENSOR_QUANT8_ASYMM : g.type;
		quantise(o);
		if (*word == 'U')
			*o = (struct nn_operand){ .type = o->type, .scale = 0.0078125f,
						  .zero_point = 128 };
		if (*word == 'W' || *word == 'P')
			set_filter(o, *word);
		return behind;
	case 'Q':
		o->type = NN_TENSOR_QUANT8_SYMM_PER_CHANNEL;
		return behind;
	case 'B':
		o->type = is_quant8(g.type) ? NN_TENSOR_INT32 : g.type;
		if (is_quant8(g.type) && g.operands[0][1].type != NN_TENSOR_QUANT8_SYMM_PER_CHANNEL)
			o->scale = g.operands[0][0].scale * g.operands[0][1].scale;
		return behind;
	case 'R':
		o->type = is_quant8(g.type) ? NN_TENSOR_QUANT16_ASYMM : g.type;
		quantise(o);
		return behind;
	case 'A':
		o->type = is_quant8(g.type) ? NN_TENSOR_QUANT16_SYMM : g.type;
		o->scale = is_quant8(g.type) ? 0.125f : 0;
		return behind;
	case '=': {
		const struct nn_operand *like = &g.operands[0][isdigit((unsigned char)word[1]) ?
							       word[1] - '0' : 0];

		o->type = like->type;
		o->scale = like->scale;
		o->zero_point = like->zero_point;
		return word + 1 + !!isdigit((unsigned char)word[1]);
	}
	default:
		word = choose(word, behind, &length);
		o->type = type_of(word, length);
		quantise(o);
		return behind;
	}
}

static void put(struct nn_operand *o, void *to, uint32_t i, double value)
{
	double stored = o->scale > 0 ? value / (double)o->scale + o->zero_point : value;
	uint16_t half = nn_float_to_half((float)value), word = (uint16_t)stored;
	float single = (float)value;
	int32_t whole = (int32_t)value;
	uint8_t byte = (uint8_t)(int32_t)stored;

	if (o->type == NN_TENSOR_FLOAT32)
		memcpy((char *)to + 4 * i, &single, 4);
	else if (o->type == NN_TENSOR_INT32)
		memcpy((char *)to + 4 * i, &whole, 4);
	else if (o->type == NN_TENSOR_FLOAT16)
		memcpy((char *)to + 2 * i, &half, 2);
	else if (nn_type_info(o->type)->element_size == 2)
		memcpy((char *)to + 2 * i, &word, 2);
	else
		((uint8_t *)to)[i] = byte;
}

static double random_value(const struct nn_operand *o, bool positive)
{
	double real = (double)(random_bits() % 4001) / 1000 - (positive ? -0.1 : 2);

	if (o->type == NN_TENSOR_BOOL8)
		return random_bits() % 2;
	if (o->type == NN_TENSOR_INT32)
		return (double)pick(1, 40) - (positive ? 0 : 20);
	return real;
}

/* Corners of boxes in order: x1, y1, x2, y2. */
static double box_value(uint32_t i)
{
	return i % 4 < 2 ? pick(0, 8) : pick(12, 28);
}

/* With `least`, most bytes are the least signed one: two products of it exceed 16 bits. */
static uint8_t random_byte(bool least)
{
	return least && pick(0, 3) ? 0x80 : (uint8_t)random_bits();
}

static void fill(struct nn_operand *o, void *to, const char *how)
{
	const char *next = how + (*how != 0);
	uint32_t count = 1, limit = *how == '<' ? (uint32_t)read_sum(&next) : 0;
	const bool least = pick(0, 2) == 0;

	for (uint32_t i = 0; i < o->rank; i++)
		count *= o->dims[i];
	for (uint32_t i = 0; i < count; i++) {
		if (*how == '{') {
			put(o, to, i, read_sum(&next));
			next += *next == ',';
		} else if (limit)
			put(o, to, i, pick(0, limit - 1));
		else if (*how == '#')
			put(o, to, i, i);
		else if (*how == '%')
			put(o, to, i, box_value(i));
		else if (is_quant8(o->type) && *how != '+')
			((uint8_t *)to)[i] = random_byte(least);
		else
			put(o, to, i, random_value(o, *how == '+'));
	}
}

/* The data of inputs of the model, in order. */
static _Alignas(64) char input_data[MAX_OPERANDS][MAX_BYTES / 4];
static bool is_large;

/* Addresses, sizes, most filters and half of the rest are constant. */
static bool is_constant(const char *word, const struct nn_op *op, uint32_t index)
{
	if (is_large && *word == 'X')
		return false;
	if (strchr("WPQB", *word) && !strchr(word, '{'))
		return pick(0, 3);
	return (index < 64 && op->steering & NN_IN(index) && pick(0, 1)) ||
	       strchr("CU", *word) || strpbrk(word, "{!") || pick(0, 2) == 0;
}

static void read_tensor(const char *word, const struct nn_op *op, uint32_t index,
			struct nn_operand *o)
{
	const char *p = read_type(word, o);
	const char *at = strchr(p, '@');
	uint32_t size;
	char *end;

	if (*p != '[')
		fail_msg("%s: operand %s", op->name, word);
	do {
		p++;
		o->dims[o->rank++] = (uint32_t)read_sum(&p);
	} while (*p == ',');
	p++;
	if (at) {
		o->scale = strtof(at + 1, &end);
		o->zero_point = atoi(end + 1);
	}
	if (o->type == NN_TENSOR_QUANT8_SYMM_PER_CHANNEL) {
		o->extra = (struct nn_extra){ .kind = NN_EXTRA_CHANNEL_QUANT, .count = o->dims[0],
					      .scales = g.scales };
		for (uint32_t i = 0; i < o->dims[0]; i++)
			g.scales[i] = 0.01f + 0.001f * (float)i;
	}
	assert_true(nn_operand_size(o, &size));
	assert_between(size, 0, sizeof(input_data[0]));
	if (is_constant(word, op, index)) {
		fill(o, add_value(o), p);
		return;
	}
	o->lifetime = NN_SUBGRAPH_INPUT;
	fill(o, input_data[g.subgraphs[0].num_inputs++], p);
}

/* An omitted operand has a type (default X) and a rank. */
static void read_omitted(const char *word, struct nn_operand *o)
{
	const char *dims = strchr(word, '[');

	o->type = g.type;
	if (word[1])
		read_type(word + 1, o);
	o->rank = dims && strchr(dims, ',') ? 2 : 1;
	o->lifetime = NN_NO_VALUE;
}

static void read_scalar(const char *word, struct nn_operand *o)
{
	char kind = *word;
	size_t length;
	float real;
	int32_t whole;
	uint16_t half;

	word = choose(word + 2, word + strlen(word), &length);
	real = strtof(word, NULL);
	whole = islower((unsigned char)*word) ? read_sum(&word) : atoi(word);
	half = nn_float_to_half(real);
	o->type = kind == 'i' ? NN_INT32 : kind == 'b' ? NN_BOOL : kind == 's' && is_half() ?
		  NN_FLOAT16 : NN_FLOAT32;
	if (kind == 'b')
		*(uint8_t *)add_value(o) = (uint8_t)whole;
	else if (o->type == NN_FLOAT16)
		memcpy(add_value(o), &half, 2);
	else
		memcpy(add_value(o), kind == 'i' ? (const void *)&whole : &real, 4);
}

static void read_output(const char *word, struct nn_operand *o)
{
	const char *at = strchr(word, '@');
	char *end;

	read_type(word, o);
	if (at) {
		o->scale = strtof(at + 1, &end);
		end++;
		o->zero_point = *end == 'm' ? (o->type == NN_TENSOR_QUANT8_ASYMM ? 128 : 0) :
				*end == 'l' ? (o->type == NN_TENSOR_QUANT8_ASYMM ? 0 : -128) :
					      atoi(end);
		if (!is_quant8(o->type) && o->type != NN_TENSOR_QUANT16_SYMM)
			o->scale = 0, o->zero_point = 0;
	}
	o->lifetime = NN_SUBGRAPH_OUTPUT;
}

/* The list of a subgraph's inputs or outputs: its operands of that lifetime. */
static void list_arguments(uint32_t subgraph)
{
	struct nn_subgraph *s = &g.subgraphs[subgraph];
	uint32_t *in = take(subgraph, s->num_operands), *out;

	s->inputs = in;
	s->num_inputs = s->num_outputs = 0;
	for (uint32_t i = 0; i < s->num_operands; i++)
		if (s->operands[i].lifetime == NN_SUBGRAPH_INPUT)
			in[s->num_inputs++] = i;
	s->outputs = out = in + s->num_inputs;
	for (uint32_t i = 0; i < s->num_operands; i++)
		if (s->operands[i].lifetime == NN_SUBGRAPH_OUTPUT)
			out[s->num_outputs++] = i;
}

static struct nn_operation *add_operation(uint32_t subgraph, int32_t code, uint32_t num_inputs,
					  const uint32_t *inputs, uint32_t num_outputs,
					  const uint32_t *outputs)
{
	struct nn_subgraph *s = &g.subgraphs[subgraph];
	struct nn_operation *o = &g.operations[subgraph][s->num_operations++];
	uint32_t *list = take(subgraph, num_inputs + num_outputs + 2);

	/* An index that is read too many leads out of any array. */
	memcpy(list, inputs, num_inputs * sizeof(*list));
	list[num_inputs] = UINT32_MAX;
	memcpy(list + num_inputs + 1, outputs, num_outputs * sizeof(*list));
	list[num_inputs + 1 + num_outputs] = UINT32_MAX;
	for (uint32_t i = 0; i < num_inputs; i++)
		g.operands[subgraph][inputs[i]].consumers++;
	*o = (struct nn_operation){ .type = code, .num_inputs = num_inputs,
				    .num_outputs = num_outputs, .inputs = list,
				    .outputs = list + num_inputs + 1 };
	return o;
}

/* An input of the model that a RESHAPE gives to the operation: it lies in the same memory. */
static void put_between(uint32_t *operand)
{
	struct nn_operand like = g.operands[0][*operand], shape = {
		.type = NN_TENSOR_INT32, .rank = 1, .dims = { like.rank },
	};
	uint32_t from = *operand, list;

	memcpy(add_value(&shape), like.dims, like.rank * sizeof(like.dims[0]));
	list = add_operand(0, &shape);
	like.lifetime = NN_TEMPORARY;
	*operand = add_operand(0, &like);
	add_operation(0, 22, 2, (uint32_t[]){ from, list }, 1, operand);
}

static void build_form(const struct form *f, const struct nn_op *op)
{
	uint32_t inputs[MAX_OPERANDS], outputs[8], num_inputs = 0, num_outputs = 0;
	bool writes = false;
	char *rest, *word;

	snprintf(g.text, sizeof(g.text), "%s", f->text);
	for (word = strtok_r(g.text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		struct nn_operand o = { 0 };

		if (*word == '>') {
			writes = true;
			continue;
		}
		if (*word == '-')
			read_omitted(word, &o);
		else if (writes)
			read_output(word, &o);
		else if (word[1] == ':')
			read_scalar(word, &o);
		else
			read_tensor(word, op, num_inputs, &o);
		g.fixed[num_outputs] = writes && (*word == '=' || strchr(word, '@'));
		if (writes)
			outputs[num_outputs++] = add_operand(0, &o);
		else
			inputs[num_inputs++] = add_operand(0, &o);
	}
	if (g.operands[0][inputs[0]].lifetime == NN_SUBGRAPH_INPUT && pick(0, 1) &&
	    g.type != NN_TENSOR_BOOL8)
		put_between(&inputs[0]);
	add_operation(0, op->code, num_inputs, inputs, num_outputs, outputs);
	list_arguments(0);
}

/* ---- Control flow ---- */

static struct nn_operand tensor(int32_t type, enum nn_lifetime lifetime, uint32_t count)
{
	struct nn_operand o = { .type = type, .rank = 1, .dims = { count }, .lifetime = lifetime };

	if (is_quant8(type)) {
		o.scale = 0.05f;
		o.zero_point = 3;
	}
	return o;
}

static uint32_t refer(uint32_t to)
{
	struct nn_operand o = { .type = NN_SUBGRAPH_TYPE, .lifetime = NN_SUBGRAPH,
				.location = { .offset = to - 1 } };

	return add_operand(0, &o);
}

static uint32_t add(uint32_t subgraph, struct nn_operand o)
{
	return add_operand(subgraph, &o);
}

/* A subgraph of one operation that writes what it reads, in another form. */
static void build_branch(uint32_t subgraph, int32_t code, uint32_t count)
{
	uint32_t x = add(subgraph, tensor(g.type, NN_SUBGRAPH_INPUT, count));
	uint32_t y = add(subgraph, tensor(g.type, NN_SUBGRAPH_OUTPUT, count));

	add_operation(subgraph, code, 1, &x, 1, &y);
	list_arguments(subgraph);
}

static void fill_input(uint32_t operand)
{
	fill(&g.operands[0][operand], input_data[g.subgraphs[0].num_inputs++], "");
}

static void build_if(void)
{
	uint32_t count = pick(1, 20), condition, x, y;

	g.model.num_subgraphs = 3;
	build_branch(1, 19, count);	/* RELU */
	build_branch(2, 21, count);	/* RELU6 */
	condition = add(0, tensor(NN_TENSOR_BOOL8, NN_SUBGRAPH_INPUT, 1));
	fill_input(condition);
	x = add(0, tensor(g.type, NN_SUBGRAPH_INPUT, count));
	fill_input(x);
	y = add(0, tensor(g.type, NN_SUBGRAPH_OUTPUT, count));
	add_operation(0, NN_OP_IF, 4, (uint32_t[]){ condition, refer(1), refer(2), x }, 1, &y);
	list_arguments(0);
}

static uint32_t int_constant(uint32_t subgraph, int32_t type, int32_t value)
{
	struct nn_operand o = { .type = type, .rank = type == NN_TENSOR_INT32, .dims = { 1 } };

	o.dims[0] = o.rank;
	memcpy(add_value(&o), &value, sizeof(value));
	return add_operand(subgraph, &o);
}

/* Counts from 0 to a limit, RELU6 of what is carried along. */
static void build_while(void)
{
	uint32_t count = pick(1, 20), at[2], x[2], out[2], limit;
	struct nn_operand number = tensor(NN_TENSOR_INT32, NN_SUBGRAPH_INPUT, 1);

	g.model.num_subgraphs = 3;
	at[0] = add(1, number);
	add(1, tensor(g.type, NN_SUBGRAPH_INPUT, count));
	limit = int_constant(1, NN_TENSOR_INT32, (int32_t)pick(0, 5));
	out[0] = add(1, tensor(NN_TENSOR_BOOL8, NN_SUBGRAPH_OUTPUT, 1));
	add_operation(1, 58, 2, (uint32_t[]){ at[0], limit }, 1, out);	/* LESS */
	list_arguments(1);
	at[1] = add(2, number);
	x[1] = add(2, tensor(g.type, NN_SUBGRAPH_INPUT, count));
	number.lifetime = NN_SUBGRAPH_OUTPUT;
	out[0] = add(2, number);
	out[1] = add(2, tensor(g.type, NN_SUBGRAPH_OUTPUT, count));
	add_operation(2, 0, 3, (uint32_t[]){ at[1], int_constant(2, NN_TENSOR_INT32, 1),
					     int_constant(2, NN_INT32, 0) }, 1, out);
	add_operation(2, 21, 1, &x[1], 1, &out[1]);
	list_arguments(2);
	at[0] = int_constant(0, NN_TENSOR_INT32, 0);
	x[0] = add(0, tensor(g.type, NN_SUBGRAPH_INPUT, count));
	fill_input(x[0]);
	out[0] = add(0, number);
	out[1] = add(0, tensor(g.type, NN_SUBGRAPH_OUTPUT, count));
	add_operation(0, NN_OP_WHILE, 4, (uint32_t[]){ refer(1), refer(2), at[0], x[0] }, 2, out);
	list_arguments(0);
}

/* ---- Running ---- */

struct result {
	char data[8][MAX_BYTES / 4];
	struct nn_output_shape shapes[8];
	enum nn_status status;
	struct nn_error err;
	uint32_t tasks;			/* of a step of the plan, at most */
};

static struct result results[2];

#define MOST_OPS 128

/* An operation's place in the table. */
static size_t place_of(const struct nn_op *op)
{
	size_t i = 0;

	while (nn_op_at(i) != op)
		i++;
	assert_true(i < MOST_OPS);
	return i;
}

/* By operation and type: plans that were saved in their frozen form. */
static uint32_t frozen[MOST_OPS][NUM_TYPES];
/* The first round of all operations, and the first set of kernels: both are saved always. */
static bool is_first_round, is_first_set;
static struct damage_counts damaged;

/* A saved and loaded plan gives the same bits. Damage of a serialised one does no harm. */
static void check_saved(const struct nn_plan *plan, const struct nn_execution *as,
			const struct result *right)
{
	const struct nn_plan_options options = { .preference = pick(0, 2) };
	static struct result got;
	struct nn_execution e = *as;
	struct nn_arg out[8];
	struct nn_error err = { "" };
	struct nn_plan_image image;
	struct nn_plan *loaded;
	void *data = NULL;

	if (nn_plan_save(plan, &image, &err))
		fail_msg("%s", err.message);
	assert_int_equal(posix_memalign(&data, NN_PLAN_DATA_ALIGN, image.data_size + 1), 0);
	nn_plan_image_data(&image, data);
	if (nn_plan_load(image.model, image.model_size, data, image.data_size, &options, &loaded,
			 &err))
		fail_msg("%s", err.message);
	memset(&got, 0, sizeof(got));
	for (uint32_t i = 0; i < e.num_outputs; i++)
		out[i] = (struct nn_arg){ .data = got.data[i], .length = sizeof(got.data[i]) };
	e.outputs = out;
	e.shapes = got.shapes;
	assert_int_equal(nn_plan_execute(loaded, &e, &err), NN_OK);
	assert_memory_equal(got.shapes, right->shapes, sizeof(got.shapes));
	assert_memory_equal(got.data, right->data, sizeof(got.data));
	nn_plan_free(loaded);
	if (((const struct saved_header *)image.model)->frozen_size) {
		for (size_t t = 0; t < NUM_TYPES; t++)
			frozen[place_of(g.op)][t] += types[t].type == g.type;
		check_all_bounds(&image, &damaged);
		if (chance(4))
			check_damaged(&image, data, &damaged);
	}
	nn_plan_image_free(&image);
	free(data);
}

/* A value that changes addresses, but no shape, may be unknown when the model is compiled. */
static void check_compiled(const struct nn_plan *plan, const char *kernels)
{
	static const int32_t always[] = {
		NN_OP_AXIS_ALIGNED_BBOX_TRANSFORM, NN_OP_EMBEDDING_LOOKUP, NN_OP_GATHER,
		NN_OP_HASHTABLE_LOOKUP, NN_OP_ROI_ALIGN, NN_OP_ROI_POOLING,
	};
	struct nn_plan_memory memory;

	nn_plan_memory(plan, &memory);
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (g.op->code == always[i] && strcmp(kernels, "none") && !memory.execution)
			fail_msg("%s is not compiled", g.op->name);
}

/* The most tasks of a step of a plan; 0: it is interpreted. */
static uint32_t most_tasks(const struct nn_plan *plan)
{
	uint32_t most = 0;

	for (uint32_t i = 0; plan->compiled && i < plan->compiled->num_steps; i++)
		if (plan->compiled->steps[i].ready.tasks > most)
			most = plan->compiled->steps[i].ready.tasks;
	return most;
}

static void execute_by(const char *kernels, uint32_t preference, struct result *r)
{
	const struct nn_plan_options options = { .preference = preference, .kernels = kernels };
	const struct nn_subgraph *s = &g.subgraphs[0];
	struct nn_arg in[MAX_OPERANDS], out[8];
	struct nn_execution e = { .num_inputs = s->num_inputs, .num_outputs = s->num_outputs,
				  .inputs = in, .outputs = out, .shapes = r->shapes };
	struct nn_plan *plan;
	uint32_t size;

	memset(r, 0, sizeof(*r));
	for (uint32_t i = 0; i < s->num_inputs; i++) {
		assert_true(nn_operand_size(&s->operands[s->inputs[i]], &size));
		in[i] = (struct nn_arg){ .data = input_data[i], .length = size };
	}
	for (uint32_t i = 0; i < s->num_outputs; i++)
		out[i] = (struct nn_arg){ .data = r->data[i], .length = sizeof(r->data[i]) };
	if (nn_plan_create(&g.model, &options, &plan, &r->err))
		fail_msg("%s", r->err.message);
	check_compiled(plan, kernels);
	r->tasks = most_tasks(plan);
	/* The second time with memory that the first one left. */
	for (uint32_t i = 0; i < 2; i++)
		r->status = nn_plan_execute(plan, &e, &r->err);
	if (strcmp(kernels, "none") && !r->status &&
	    (chance(3) || (is_first_round && is_first_set)))
		check_saved(plan, &e, r);
	nn_plan_free(plan);
}

static void execute(const char *kernels, struct result *r)
{
	execute_by(kernels, pick(0, 2), r);
}

static float float_at(int32_t type, const char *x, uint32_t i)
{
	uint16_t half;
	float value;

	if (type == NN_TENSOR_FLOAT16) {
		memcpy(&half, x + 2 * i, sizeof(half));
		return nn_half_to_float(half);
	}
	memcpy(&value, x + 4 * i, sizeof(value));
	return value;
}

/* Returns the largest term: errors of sums are in proportion to it, above all in float16. */
static float largest_of(int32_t type, const char *x, uint32_t count)
{
	float largest = 0;

	for (uint32_t i = 0; i < count; i++)
		if (isfinite(float_at(type, x, i)))
			largest = fmaxf(largest, fabsf(float_at(type, x, i)));
	return largest;
}

static bool is_close(int32_t type, const char *x, const char *y, uint32_t i, float largest)
{
	float a = float_at(type, x, i), b = float_at(type, y, i);
	float tolerance = type == NN_TENSOR_FLOAT16 ? 2e-2f : 1e-3f;
	float size = type == NN_TENSOR_FLOAT16 ? largest : fabsf(b);
	float lost = 2 * FLT_EPSILON * largest;

	return a == b || fabsf(a - b) <= tolerance * (1 + size) + lost || (isnan(a) && isnan(b));
}

static void compare(const char *name, uint64_t seed)
{
	const struct nn_subgraph *s = &g.subgraphs[0];

	if (results[0].status != results[1].status)
		fail_msg("seed %llu, %s: status %d, not %d: %s", (unsigned long long)seed, name,
			 results[1].status, results[0].status, results[1].err.message);
	for (uint32_t i = 0; !results[0].status && i < s->num_outputs; i++) {
		int32_t type = s->operands[s->outputs[i]].type;
		const struct nn_output_shape *shape = &results[0].shapes[i];
		uint32_t count = 1, element = nn_type_info(type)->element_size;

		assert_memory_equal(shape, &results[1].shapes[i], sizeof(*shape));
		for (uint32_t k = 0; k < shape->rank; k++)
			count *= shape->dims[k];

		const bool is_float = type == NN_TENSOR_FLOAT32 || type == NN_TENSOR_FLOAT16;
		const float largest = is_float ? largest_of(type, results[0].data[i], count) : 0;

		for (uint32_t k = 0; k < count; k++) {
			const char *x = results[0].data[i], *y = results[1].data[i];

			if (is_float ? !is_close(type, x, y, k, largest) :
				       memcmp(x + k * element, y + k * element, element))
				fail_msg("seed %llu, %s of %s: output %u, element %u",
					 (unsigned long long)seed, name, nn_type_name(g.type), i,
					 k);
		}
	}
}

/* ---- All of them ---- */

/* By operation and type: how often it was tried, and how often it succeeded. */
static uint32_t tries[MOST_OPS][NUM_TYPES], runs[MOST_OPS][NUM_TYPES];

/* Builds one; false where the operation does not take the type. */
static bool build(const struct nn_op *op, const struct form *f, int32_t type)
{
	struct nn_error err = { "" };

	begin(type);
	g.op = op;
	if (op->code == NN_OP_IF)
		build_if();
	else if (op->code == NN_OP_WHILE)
		build_while();
	else
		build_form(f, op);
	return !nn_model_check(&g.model, &err) && !nn_ops_check_model(&g.model, NULL, &err);
}

static bool is_executed(void)
{
	struct nn_error err = { "" };

	if (nn_model_check(&g.model, &err) || nn_ops_check_model(&g.model, NULL, &err))
		return false;
	execute("none", &results[1]);
	return !results[1].status;
}

/* An operation that says how its output is quantised refuses another scale and zero point. */
static void check_quantised(void)
{
	static const int32_t free_ones[] = {
		NN_OP_CAST, NN_OP_CONCATENATION, NN_OP_MUL, NN_OP_ROI_ALIGN, NN_OP_SELECT,
	};
	const struct nn_subgraph *s = &g.subgraphs[0];

	for (size_t i = 0; i < sizeof(free_ones) / sizeof(free_ones[0]); i++)
		if (g.op->code == free_ones[i])
			return;
	for (uint32_t i = 0; i < s->num_outputs; i++) {
		struct nn_operand *o = &g.operands[0][s->outputs[i]], good = *o;

		if (!g.fixed[i] || !is_quant8(o->type))
			continue;
		o->scale *= 2;
		if (is_executed())
			fail_msg("%s: output %u of another scale", g.op->name, i);
		*o = good;
		o->zero_point ^= 1;
		if (is_executed())
			fail_msg("%s: output %u of another zero point", g.op->name, i);
		*o = good;
	}
}

/* Gives the outputs the shapes that they have: what leaves one open is not frozen. */
static void declare_outputs(const struct result *r)
{
	const struct nn_subgraph *s = &g.subgraphs[0];

	for (uint32_t i = 0; i < s->num_outputs; i++) {
		struct nn_operand *o = &g.operands[0][s->outputs[i]];

		o->rank = r->shapes[i].rank;
		memcpy(o->dims, r->shapes[i].dims, sizeof(o->dims));
	}
}

static uint32_t try_form(const struct nn_op *op, const struct form *f, uint64_t seed)
{
	const char *kernels;
	uint32_t count = 0;

	for (size_t t = 0; t < NUM_TYPES; t++) {
		/* The same numbers for each set of kernels, and for none of them. */
		random_start((seed * 131 + (uint64_t)op->code) * 7919 + t);
		if (types[t].type == NN_INT32 || !build(op, f, types[t].type))
			continue;
		execute("none", &results[0]);
		if (results[0].status && getenv("NN_VERBOSE"))
			print_message("%s\n", results[0].err.message);
		tries[place_of(op)][t]++;
		runs[place_of(op)][t] += !results[0].status;
		if (!results[0].status && is_first_round)
			check_quantised();
		if (!results[0].status && (chance(2) || is_first_round))
			declare_outputs(&results[0]);
		for (uint32_t k = 0; (kernels = nn_plan_kernels_at(k)); k++) {
			is_first_set = !k;
			execute(kernels, &results[1]);
			compare(op->name, seed);
		}
		count++;
	}
	return count;
}

/* Threads compute together what one computes alone, to the bit. */
static void test_threads(void **unused)
{
	const char *kernels = nn_plan_kernels_at(0);
	static const struct result none;

	(void)unused;
	is_large = true;
	is_first_round = false;
	for (size_t i = 0; i < sizeof(large_forms) / sizeof(large_forms[0]); i++) {
		uint32_t ran = 0, tasks = 0;

		for (size_t t = 0; t < NUM_TYPES; t++) {
			const struct nn_op *op = NULL;

			for (size_t k = 0; k < nn_op_count(); k++)
				if (!strcmp(nn_op_at(k)->name, large_forms[i].name))
					op = nn_op_at(k);
			random_start(i * NUM_TYPES + t);
			if (types[t].type == NN_INT32 || !build(op, &large_forms[i], types[t].type))
				continue;
			results[0] = results[1] = none;
			execute_by(kernels, NN_PREFER_LOW_POWER, &results[0]);
			execute_by(kernels, NN_PREFER_LOW_POWER + 1, &results[1]);
			assert_int_equal(results[0].status, results[1].status);
			ran += !results[0].status;
			/* Others have conversions beside them, which are divided as well. */
			if (types[t].type != NN_TENSOR_FLOAT16 && results[1].tasks > tasks)
				tasks = results[1].tasks;
			if (memcmp(results[0].data, results[1].data, sizeof(results[0].data)))
				fail_msg("%s of %s: \"%s\" of one and of three threads differ",
					 op->name, types[t].name, large_forms[i].text);
		}
		if (!ran || tasks < 2)
			fail_msg("%s of \"%s\" was executed %u times, in %u tasks",
				 large_forms[i].name, large_forms[i].text, ran, tasks);
	}
	is_large = false;
}

static void tell_types(const struct nn_op *op)
{
	char list[128] = "";

	for (size_t t = 0; t < NUM_TYPES; t++) {
		if (tries[place_of(op)][t] && !runs[place_of(op)][t])
			fail_msg("%s was never executed on %s", op->name, types[t].name);
		if (runs[place_of(op)][t])
			snprintf(list + strlen(list), sizeof(list) - strlen(list), " %s",
				 types[t].name);
	}
	if (getenv("NN_VERBOSE"))
		print_message("%s:%s\n", op->name, list);
	if (!list[0])
		fail_msg("%s was never executed", op->name);
}

/* Operations whose kernels can save a step; a kernel that saves none fails nothing else. */
static const struct {
	const char *types;
	const char *operations;
} always_frozen[] = {
	{ "f32",
	  "ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D FLOOR "
	  "FULLY_CONNECTED L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC "
	  "LSTM MAX_POOL_2D MUL RELU RELU1 RELU6 RESIZE_BILINEAR RNN SOFTMAX SVDF TANH DIV MEAN "
	  "SUB TRANSPOSE ABS ARGMAX ARGMIN BIDIRECTIONAL_SEQUENCE_LSTM "
	  "BIDIRECTIONAL_SEQUENCE_RNN CHANNEL_SHUFFLE EXP GROUPED_CONV_2D "
	  "INSTANCE_NORMALIZATION LOG LOG_SOFTMAX MAXIMUM MINIMUM NEG POW PRELU QUANTIZE "
	  "DYNAMIC_BATCH_MATMUL DYNAMIC_CONV_2D DYNAMIC_FULLY_CONNECTED "
	  "REDUCE_MAX REDUCE_MIN REDUCE_PROD RSQRT SIN SQRT TRANSPOSE_CONV_2D "
	  "UNIDIRECTIONAL_SEQUENCE_LSTM UNIDIRECTIONAL_SEQUENCE_RNN ELU HARD_SWISH BATCH_MATMUL" },
	{ "u8 i8",
	  "ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEQUANTIZE FULLY_CONNECTED "
	  "L2_NORMALIZATION LOGISTIC MAX_POOL_2D MUL RELU RELU1 RELU6 RESIZE_BILINEAR SOFTMAX "
	  "TANH MEAN SUB TRANSPOSE ARGMAX ARGMIN CHANNEL_SHUFFLE GROUPED_CONV_2D PRELU "
	  "REDUCE_MAX REDUCE_MIN RSQRT TRANSPOSE_CONV_2D HARD_SWISH" },
	{ "u8", "QUANTIZED_16BIT_LSTM" },
	{ "i8", "BATCH_MATMUL QUANTIZED_LSTM" },
	{ "b8", "REDUCE_ALL REDUCE_ANY" },
};

static bool is_among(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += length)
		if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	return false;
}

static void check_frozen(const struct nn_op *op)
{
	for (size_t t = 0; t < NUM_TYPES; t++)
		for (size_t k = 0; k < sizeof(always_frozen) / sizeof(always_frozen[0]); k++)
			if (is_among(always_frozen[k].types, types[t].name) &&
			    is_among(always_frozen[k].operations, op->name) && !frozen[place_of(op)][t])
				fail_msg("%s of %s was never saved in the frozen form", op->name,
					 types[t].name);
}

static void test_each_operation(void **unused)
{
	const char *given = getenv("NN_SEED");
	uint64_t first = given ? strtoull(given, NULL, 0) : FIRST_SEED;
	static const struct form none;
	uint32_t count = 0;

	(void)unused;
	for (uint64_t seed = first; seed < first + ROUNDS; seed++) {
		is_first_round = seed == first;
		for (size_t i = 0; i < nn_op_count(); i++) {
			const struct nn_op *op = nn_op_at(i);

			if (op->code == NN_OP_IF || op->code == NN_OP_WHILE)
				count += try_form(op, &none, seed);
			for (size_t k = 0; k < NUM_FORMS; k++)
				if (!strcmp(forms[k].name, op->name))
					count += try_form(op, &forms[k], seed);
		}
	}
	for (size_t i = 0; i < nn_op_count(); i++)
		tell_types(nn_op_at(i));
	for (size_t i = 0; first == FIRST_SEED && i < nn_op_count(); i++)
		check_frozen(nn_op_at(i));
	print_message("damaged: %u refused, %u loaded, %u steps run, %u on weights of the run\n",
		      damaged.refused, damaged.loaded, damaged.steps, damaged.packing);
	assert_true(damaged.packing > 0);
	for (uint32_t i = 0; first == FIRST_SEED && nn_kernel_at(i); i++)
		if (!damaged.bounds[i])
			fail_msg("the kernel %s was never tried at its bounds", nn_kernel_at(i)->name);
	print_message("%u graphs of %zu operations from seed %llu on\n", count, nn_op_count(),
		      (unsigned long long)first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_operation),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests_name("plan_each", tests, NULL, NULL);
}
