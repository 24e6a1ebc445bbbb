/* SPDX-License-Identifier: MIT */
/*
 * Makes models of one operation with random shapes, from a table of all operations.
 *
 * A word of the table describes an operand of an operation: its type, dimensions and values. The
 * type X is the type under test, and C is a constant of type X. The types W, P and Q are filters:
 * an int8 P is quantised per channel, and Q is quantised per channel for every X. The type B stands
 * for a bias, R for boxes, A for anchors, and U for uint8 weights. The type "=" or "=1" is the type
 * of input 0 or 1, and "f32|f16" is one of the two types. Each letter in a dimension is a random
 * number; a dimension is a sum of products of letters and numbers, and "a~" is sometimes 1. The
 * values "{a,1}" are the numbers a and 1, "<a" numbers less than a, "#" ascending numbers, "%"
 * boxes, and "+" positive numbers. The suffix "@scale,zero" sets an operand's quantisation, and the
 * suffix "!" makes the operand constant. The scalar "i:0|1" is an int32 with one of the two values,
 * "b:" a bool, and "f:" a float32. The scalar "s:" is a float16 if X is float16, otherwise a
 * float32. The word "-" is an omitted operand, and "-s16" an omitted operand of type s16.
 */
#include <ctype.h>
#include <string.h>

#include "ops/float16.h"
#include "vectors/form.h"
#include "vectors/random.h"
#include "vectors/require.h"

const struct form forms[] = {
#include "vectors/forms.def"
};

const uint32_t num_forms = sizeof(forms) / sizeof(forms[0]);

struct form_model form;

static uint32_t *take(uint32_t subgraph, uint32_t count)
{
	uint32_t *list = form.lists[subgraph] + form.used[subgraph];

	form.used[subgraph] += count;
	require(form.used[subgraph] <= 2 * FORM_MAX_OPERANDS);
	return list;
}

static uint32_t add_operand(uint32_t subgraph, const struct nn_operand *o)
{
	struct nn_subgraph *s = &form.subgraphs[subgraph];

	require(s->num_operands < FORM_MAX_OPERANDS);
	form.operands[subgraph][s->num_operands] = *o;
	return s->num_operands++;
}

static void *add_value(struct nn_operand *o)
{
	require(nn_operand_size(o, &o->location.length));
	o->lifetime = NN_CONSTANT_COPY;
	o->location.offset = form.model.values_size;
	form.model.values_size += (o->location.length + 7) / 8 * 8;
	require(form.model.values_size <= FORM_MAX_BYTES);
	return form.values + o->location.offset;
}

static void begin(int32_t type)
{
	memset(&form, 0, sizeof(form));
	form.type = type;
	form.model = (struct nn_model){
		.size = sizeof(struct nn_model),
		.num_subgraphs = 1,
		.subgraphs = form.subgraphs,
		.values = form.values,
	};
	for (uint32_t i = 0; i < 3; i++) {
		form.subgraphs[i].operands = form.operands[i];
		form.subgraphs[i].operations = form.operations[i];
	}
	for (uint32_t i = 0; i < 26; i++)
		form.dims[i] = pick(1, 6);
	form.dims['n' - 'a'] = pick(1, 2);
	form.dims['c' - 'a'] = pick(1, 20);
}

/* ---- Reading the table ---- */

static bool is_fp16(void)
{
	return form.type == NN_TENSOR_FLOAT16;
}

/* Reads a sum of products of numbers and letters, and moves *p to the end of the sum. */
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
			int32_t dim = (int32_t)form.dims[*(*p)++ - 'a'];

			if (**p == '~' && (*p)++ && !pick(0, 2))
				dim = 1;
			product *= dim;
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

const struct form_type form_types[FORM_NUM_TYPES] = {
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

static int32_t type_of(const char *word, size_t length)
{
	for (size_t i = 0; i < FORM_NUM_TYPES; i++)
		if (strlen(form_types[i].name) == length && !strncmp(form_types[i].name, word, length))
			return form_types[i].type;
	require(!"a type");
	return 0;
}

static void quantise(struct nn_operand *o)
{
	if (form_is_quant8(o->type)) {
		o->scale = (float)pick(10, 100) / 1000;
		o->zero_point = (int32_t)pick(0, 255) -
				(o->type == NN_TENSOR_QUANT8_ASYMM ? 0 : 128);
	} else if (o->type == NN_TENSOR_QUANT8_SYMM || o->type == NN_TENSOR_QUANT16_SYMM) {
		o->scale = 0.01f;
	} else if (o->type == NN_TENSOR_QUANT16_ASYMM) {
		o->scale = 0.125f;
	}
}

/* Chooses one of the words in "a|b|c", and sets *length to the length of the chosen word. */
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
	if (!form_is_quant8(form.type))
		return;
	o->scale = 0.01f;
	o->zero_point = form.type == NN_TENSOR_QUANT8_ASYMM ? 120 : 0;
	if (kind == 'P') {
		o->type = NN_TENSOR_QUANT8_SYMM_PER_CHANNEL;
		o->scale = 0;
		o->zero_point = 0;
	}
}

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
		o->type = *word == 'U' ? NN_TENSOR_QUANT8_ASYMM : form.type;
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
		o->type = form_is_quant8(form.type) ? NN_TENSOR_INT32 : form.type;
		if (form_is_quant8(form.type) && form.operands[0][1].type != NN_TENSOR_QUANT8_SYMM_PER_CHANNEL)
			o->scale = form.operands[0][0].scale * form.operands[0][1].scale;
		return behind;
	case 'R':
		o->type = form_is_quant8(form.type) ? NN_TENSOR_QUANT16_ASYMM : form.type;
		quantise(o);
		return behind;
	case 'A':
		o->type = form_is_quant8(form.type) ? NN_TENSOR_QUANT16_SYMM : form.type;
		o->scale = form_is_quant8(form.type) ? 0.125f : 0;
		return behind;
	case '=': {
		const struct nn_operand *like = &form.operands[0][isdigit((unsigned char)word[1]) ?
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
	uint16_t half = nn_float_to_fp16((float)value), word = (uint16_t)stored;
	float single = (float)value;
	int32_t whole = (int32_t)value;
	uint8_t byte = (uint8_t)(int32_t)stored;

	if (o->type == NN_TENSOR_FLOAT32)
		memcpy((char *)to + 4 * i, &single, 4);
	else if (o->type == NN_TENSOR_INT32)
		memcpy((char *)to + 4 * i, &whole, 4);
	else if (o->type == NN_TENSOR_FLOAT16)
		memcpy((char *)to + 2 * i, &half, 2);
	else if (nn_type_info_of(o->type)->element_size == 2)
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

/* Returns element `i` of a tensor of boxes, whose corners have the order x1, y1, x2, y2. */
static double box_value(uint32_t i)
{
	return i % 4 < 2 ? pick(0, 8) : pick(12, 28);
}

/*
 * Returns a random byte. If `least` is set, most bytes are -128, to test overflow: the sum of two
 * products of -128 exceeds 16 bits.
 */
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
		else if (form_is_quant8(o->type) && *how != '+')
			((uint8_t *)to)[i] = random_byte(least);
		else
			put(o, to, i, random_value(o, *how == '+'));
	}
}

/* Data of the model's inputs, in the order of the inputs. */
_Alignas(64) char form_inputs[FORM_MAX_OPERANDS][FORM_MAX_BYTES / 2];
bool form_is_large;
bool form_is_plain;

/*
 * Chooses whether an operand is constant. The constants are operands with listed values or "!",
 * operands of type C or U, most filters and biases, at least half of the determining operands (see
 * ops/op.h), and a third of all other operands. If form_is_large is set, no operand of type X is
 * constant.
 */
static bool is_constant(const char *word, const struct nn_op *op, uint32_t index)
{
	if (form_is_large && *word == 'X')
		return false;
	if (strchr("WPQB", *word) && !strchr(word, '{'))
		return pick(0, 3);
	return (nn_has_input(op->determining, index) && pick(0, 1)) ||
	       strchr("CU", *word) || strpbrk(word, "{!") || pick(0, 2) == 0;
}

static void read_tensor(const char *word, const struct nn_op *op, uint32_t index,
			struct nn_operand *o)
{
	const char *p = read_type(word, o);
	const char *at = strchr(p, '@');
	uint32_t size;
	char *end;

	require(*p == '[');
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
					      .scales = form.scales };
		for (uint32_t i = 0; i < o->dims[0]; i++)
			form.scales[i] = 0.01f + 0.001f * (float)i;
	}
	require(nn_operand_size(o, &size));
	require(size <= sizeof(form_inputs[0]));
	if (is_constant(word, op, index)) {
		fill(o, add_value(o), p);
		return;
	}
	o->lifetime = NN_SUBGRAPH_INPUT;
	fill(o, form_inputs[form.subgraphs[0].num_inputs++], p);
}

/* Reads the word of an omitted operand, which has a type (default X) and a rank. */
static void read_omitted(const char *word, struct nn_operand *o)
{
	const char *dims = strchr(word, '[');

	o->type = form.type;
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
	half = nn_float_to_fp16(real);
	o->type = kind == 'i' ? NN_INT32 : kind == 'b' ? NN_BOOL : kind == 's' && is_fp16() ?
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
		if (!form_is_quant8(o->type) && o->type != NN_TENSOR_QUANT16_SYMM)
			o->scale = 0, o->zero_point = 0;
	}
	o->lifetime = NN_SUBGRAPH_OUTPUT;
}

/* Makes the lists of a subgraph's inputs and outputs from the lifetimes of its operands. */
static void list_arguments(uint32_t subgraph)
{
	struct nn_subgraph *s = &form.subgraphs[subgraph];
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
	struct nn_subgraph *s = &form.subgraphs[subgraph];
	struct nn_operation *o = &form.operations[subgraph][s->num_operations++];
	uint32_t *list = take(subgraph, num_inputs + num_outputs + 2);

	/*
	 * An invalid index follows each list of operands, so that code which reads beyond the list
	 * fails.
	 */
	memcpy(list, inputs, num_inputs * sizeof(*list));
	list[num_inputs] = UINT32_MAX;
	memcpy(list + num_inputs + 1, outputs, num_outputs * sizeof(*list));
	list[num_inputs + 1 + num_outputs] = UINT32_MAX;
	for (uint32_t i = 0; i < num_inputs; i++)
		form.operands[subgraph][inputs[i]].consumers++;
	*o = (struct nn_operation){ .type = code, .num_inputs = num_inputs,
				    .num_outputs = num_outputs, .inputs = list,
				    .outputs = list + num_inputs + 1 };
	return o;
}

/*
 * Inserts a RESHAPE before the operation, so that the operation reads a temporary, which may share
 * the memory of the model's input.
 */
static void put_between(uint32_t *operand)
{
	struct nn_operand like = form.operands[0][*operand], shape = {
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
	uint32_t inputs[FORM_MAX_OPERANDS], outputs[8], num_inputs = 0, num_outputs = 0;
	bool writes = false;
	char *rest, *word;

	snprintf(form.text, sizeof(form.text), "%s", f->text);
	for (word = strtok_r(form.text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
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
		form.fixed[num_outputs] = writes && (*word == '=' || strchr(word, '@'));
		if (writes)
			outputs[num_outputs++] = add_operand(0, &o);
		else
			inputs[num_inputs++] = add_operand(0, &o);
	}
	if (form.operands[0][inputs[0]].lifetime == NN_SUBGRAPH_INPUT && pick(0, 1) &&
	    form.type != NN_TENSOR_BOOL8 && !form_is_plain)
		put_between(&inputs[0]);
	add_operation(0, op->code, num_inputs, inputs, num_outputs, outputs);
	list_arguments(0);
}

/* ---- Control flow ---- */

static struct nn_operand tensor(int32_t type, enum nn_lifetime lifetime, uint32_t count)
{
	struct nn_operand o = { .type = type, .rank = 1, .dims = { count }, .lifetime = lifetime };

	if (form_is_quant8(type)) {
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

/* Builds a branch of an IF: an operation with one input and one output of `count` elements. */
static void build_branch(uint32_t subgraph, int32_t code, uint32_t count)
{
	uint32_t x = add(subgraph, tensor(form.type, NN_SUBGRAPH_INPUT, count));
	uint32_t y = add(subgraph, tensor(form.type, NN_SUBGRAPH_OUTPUT, count));

	add_operation(subgraph, code, 1, &x, 1, &y);
	list_arguments(subgraph);
}

static void fill_input(uint32_t operand)
{
	fill(&form.operands[0][operand], form_inputs[form.subgraphs[0].num_inputs++], "");
}

static void build_if(void)
{
	uint32_t count = pick(1, 20), condition, x, y;

	form.model.num_subgraphs = 3;
	build_branch(1, 19, count);	/* RELU */
	build_branch(2, 21, count);	/* RELU6 */
	condition = add(0, tensor(NN_TENSOR_BOOL8, NN_SUBGRAPH_INPUT, 1));
	fill_input(condition);
	x = add(0, tensor(form.type, NN_SUBGRAPH_INPUT, count));
	fill_input(x);
	y = add(0, tensor(form.type, NN_SUBGRAPH_OUTPUT, count));
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

/* Builds a WHILE that counts from 0 to a limit, and applies RELU6 to a value in each iteration. */
static void build_while(void)
{
	uint32_t count = pick(1, 20), at[2], x[2], out[2], limit;
	struct nn_operand number = tensor(NN_TENSOR_INT32, NN_SUBGRAPH_INPUT, 1);

	form.model.num_subgraphs = 3;
	at[0] = add(1, number);
	add(1, tensor(form.type, NN_SUBGRAPH_INPUT, count));
	limit = int_constant(1, NN_TENSOR_INT32, (int32_t)pick(0, 5));
	out[0] = add(1, tensor(NN_TENSOR_BOOL8, NN_SUBGRAPH_OUTPUT, 1));
	add_operation(1, 58, 2, (uint32_t[]){ at[0], limit }, 1, out);	/* LESS */
	list_arguments(1);
	at[1] = add(2, number);
	x[1] = add(2, tensor(form.type, NN_SUBGRAPH_INPUT, count));
	number.lifetime = NN_SUBGRAPH_OUTPUT;
	out[0] = add(2, number);
	out[1] = add(2, tensor(form.type, NN_SUBGRAPH_OUTPUT, count));
	add_operation(2, 0, 3, (uint32_t[]){ at[1], int_constant(2, NN_TENSOR_INT32, 1),
					     int_constant(2, NN_INT32, 0) }, 1, out);
	add_operation(2, 21, 1, &x[1], 1, &out[1]);
	list_arguments(2);
	at[0] = int_constant(0, NN_TENSOR_INT32, 0);
	x[0] = add(0, tensor(form.type, NN_SUBGRAPH_INPUT, count));
	fill_input(x[0]);
	out[0] = add(0, number);
	out[1] = add(0, tensor(form.type, NN_SUBGRAPH_OUTPUT, count));
	add_operation(0, NN_OP_WHILE, 4, (uint32_t[]){ refer(1), refer(2), at[0], x[0] }, 2, out);
	list_arguments(0);
}

bool form_build(const struct nn_op *op, const struct form *f, int32_t type)
{
	struct nn_error err = { "" };

	begin(type);
	form.op = op;
	if (op->code == NN_OP_IF)
		build_if();
	else if (op->code == NN_OP_WHILE)
		build_while();
	else
		build_form(f, op);
	return !nn_model_check(&form.model, &err) && !nn_ops_check_model(&form.model, NULL, &err);
}
