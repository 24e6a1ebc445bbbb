/* SPDX-License-Identifier: MIT */
/*
 * Tests operands with shapes, values or scales that an operation rejects at run time, and operands
 * that the operation accepts. The model does not declare ranks, so the check of the signature
 * cannot reject the operands.
 */
#include <stdio.h>

#include "op_case.h"
#include "tests/heap_blocks.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))
#define FOUR(x) x " " x " " x " " x " "
#define MAX_WORD 96

/*
 * An operand is a word: the letter of a type (see op_case.h), optionally followed by dimensions
 * "[2,3]", quantisation "@scale,zero" and values "{1,2}". In the word of a scalar, the value
 * follows the letter. The word of an omitted input begins with "~".
 */
struct change {
	uint32_t operand;
	const char *word;
	const char *message;	/* part of the error message; NULL if the word is accepted */
};

struct refused {
	const char *op;
	const char *operands;
	struct change changes[14];
};

static double read_number(const char **p)
{
	char *end;
	double value = strtod(*p, &end);

	*p = end;
	return value;
}

static void store(const struct nn_tensor *t, uint32_t i, double value)
{
	float real = (float)value;
	int32_t whole = (int32_t)value;

	if (t->type == NN_TENSOR_FLOAT32 || t->type == NN_FLOAT32)
		memcpy((char *)t->data + 4 * i, &real, 4);
	else if (nn_type_info_of(t->type)->element_size == 4)
		memcpy((char *)t->data + 4 * i, &whole, 4);
	else
		((uint8_t *)t->data)[i] = (uint8_t)whole;
}

static void add_word(struct op_case *c, const char *word, bool output)
{
	uint32_t dims[NN_MAX_RANK + 1] = { 0 }, rank = 0;
	bool omitted = *word == '~';
	int32_t type = oc_type(word[omitted]);
	const char *p = word + omitted + 1;
	struct nn_tensor *t;

	while (*p == '[' || (rank && *p == ',')) {
		p++;
		dims[rank++] = (uint32_t)read_number(&p);
	}
	p += *p == ']';
	t = &c->tensors[c->num_inputs + c->num_outputs];
	if (output)
		oc_output(c, type);
	else
		oc_input(c, type, rank, dims, NULL);
	t->omitted = omitted;
	if (*p == '@') {
		p++;
		t->scale = (float)read_number(&p);
		p++;
		t->zero_point = (int32_t)read_number(&p);
	}
	if (*p == '{')
		for (uint32_t i = 0; *p && *p != '}'; i++) {
			p++;
			store(t, i, read_number(&p));
		}
	else if (*p)
		store(t, 0, read_number(&p));
	if (t->type == NN_TENSOR_QUANT8_SYMM_PER_CHANNEL) {
		static const float scales[] = { 0.5f, 2, 0.5f };
		struct nn_operand *o = &c->operands[t - c->tensors];

		o->extra = (struct nn_extra){ .kind = NN_EXTRA_CHANNEL_QUANT, .count = 2,
					      .scales = scales };
		t->extra = &o->extra;
	}
	c->operands[t - c->tensors].rank = 0;
}

/* Runs an operation with `operands`, where `word` replaces operand `changed`. */
static enum nn_status run(struct op_case *c, const char *op, const char *operands, uint32_t changed,
			  const char *word)
{
	char text[1024], *rest, *at;
	bool outputs = false;
	uint32_t i = 0;

	oc_init(c, op);
	snprintf(text, sizeof(text), "%s", operands);
	for (at = strtok_r(text, " ", &rest); at; at = strtok_r(NULL, " ", &rest)) {
		if (*at == '>')
			outputs = true;
		else
			add_word(c, word && i++ == changed ? word : at, outputs);
	}
	return oc_run(c);
}

static void check(const struct refused *r, const struct change *change)
{
	uint32_t operand = change ? change->operand : 0;
	const char *word = change ? change->word : NULL, *message = change ? change->message : NULL;
	struct op_case c;
	enum nn_status status = run(&c, r->op, r->operands, operand, word);

	if (!message && status)
		fail_msg("%s with \"%s\": %s", r->op, word ? word : r->operands, c.err.message);
	if (message && status != NN_GENERAL_FAILURE)
		fail_msg("%s with \"%s\": status %d", r->op, word, status);
	if (message && !strstr(c.err.message, message))
		fail_msg("%s with \"%s\": %s", r->op, word, c.err.message);
	oc_free(&c);
}

/*
 * The LSTM cells have batch size 2, input size 3, 4 units and output size 5. CELL is an LSTM cell
 * with all optional weights, CIFG a cell without optional weights.
 */
#define GATES(u, i) FOUR("f[" #u "," #i "]")
#define VECTORS "f[4] f[4] f[4] "
#define CELL GATES(4, 3) GATES(4, 5) VECTORS FOUR("f[4]") "f[5,4] f[5] "
#define THREE(x) "~f[1] " x " " x " " x " "
#define CIFG THREE("f[4,3]") THREE("f[4,4]") "~f[1] ~f[1] ~f[1] " THREE("f[4]") "~f[1] ~f[1] "
#define BI_LSTM									\
	"f[7,2,3] " CELL CELL "f[2,5] f[2,4] f[2,5] f[2,4] f[7,2,3] " GATES(4, 3)	\
	GATES(4, 3) "I4 F0 F0 B0 B1 " FOUR("f[4]") FOUR("f[4]") "> f f f f f f"
#define BI_RNN									\
	"f[7,2,3] f[4,3] f[4,4] f[4] f[2,4] f[5,3] f[5,5] f[5] f[2,5] f[7,2,6] "	\
	"f[4,6] f[5,6] I1 B1 B0 > f f f f"
#define Q_LSTM									\
	"s[2,3]@0.5,0 " FOUR("q[4,3]@0.5,0") FOUR("q[4,5]@0.5,0")			\
	"y[4]@0.5,0 y[4]@0.5,0 y[4]@0.5,0 " FOUR("w[4]") "q[5,4]@0.5,0 w[5] "	\
	"s[2,5]@0.5,0 y[2,4]@0.00048828125,0 " FOUR("y[4]@0.5,0")			\
	"F0 F0 F0.5 F0.5 F0.5 F0.5 I0 F0.5 > s@0.5,0 y@0.00048828125,0 s@0.5,0"
#define Q16_LSTM								\
	"u[2,3]@0.0078125,128 " FOUR("u[4,3]@0.5,7") FOUR("u[4,4]@0.5,7")		\
	FOUR("w[4]@0.00390625,0") "y[2,4]@0.00048828125,0 u[2,4]@0.0078125,128 "	\
	"> y@0.00048828125,0 u@0.0078125,128"

static const struct refused table[] = {
	{ "ARGMAX", "f[2,3] I1 > w",
	  { { 1, "I-2", NULL }, { 1, "I2", "axis 2 does not fit rank 2" },
	    { 1, "I-3", "axis -3 does not fit rank 2" } } },
	{ "TOPK_V2", "f[2,3] I1 > f w",
	  { { 1, "I3", NULL }, { 1, "I0", "0 values" },
	    { 1, "I4", "4 values are asked for, there are 3" } } },
	{ "CONCATENATION", "f[2,3] f[2,4] I1 > f",
	  { { 1, "f[3,4]", "axis 0 of input 1 has 3 elements, not 2" },
	    { 1, "f[2,4,1]", "input 1 has 3 dimensions, must have 2 as input 0" },
	    { 2, "I0", "axis 1 of input 1 has 4 elements, not 3" },
	    { 2, "I-1", "axis -1 does not fit rank 2" }, { 2, "I2", "axis 2 does not fit rank 2" } } },
	{ "CONCATENATION", "f[0,4294967292] f[0,3] I1 > f",
	  { { 1, "f[0,4]", "axis 1 would have 4294967296 elements, too many" } } },
	{ "PACK", "I2 f[2,3] f[2,3] > f",
	  { { 0, "I0", NULL }, { 0, "I-1", "axis -1 does not fit rank 3" },
	    { 0, "I3", "axis 3 does not fit rank 3" },
	    { 2, "f[2,4]", "input 2 has other dimensions" },
	    { 2, "f[2,3,1]", "input 2 has other dimensions" } } },
	{ "PACK", "I0 f[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] > f",
	  { { 1, "f[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "with 16 dimensions" } } },
	{ "PACK", "I0 u[2]@0.5,3 u[2]@0.5,3 > u@0.5,3",
	  { { 2, "u[2]@0.25,3", "input 2 has another" },
	    { 2, "u[2]@0.5,4", "input 2 has another" } } },
	{ "GATHER", "f[3,2] I0 w[2]{0,2} > f",
	  { { 2, "w[1]{3}", "index 0 is 3, must be below 3" },
	    { 2, "w[1]{-1}", "index 0 is -1, must be below 3" },
	    { 1, "I2", "axis 2 does not fit rank 2" },
	    { 2, "w[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]{0}", NULL },
	    { 2, "w[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]{0}", "would have 17 dimensions" } } },
	{ "HASHTABLE_LOOKUP", "w[1]{0} w[3]{0,1,2} f[3,2] > f u@1,0",
	  { { 2, "f[4,2]", "3 keys but 4 values" }, { 1, "w[2]{0,1}", "2 keys but 3 values" },
	    { 1, "w[3,1]{0,1,2}", "input 1 has 2 dimensions, must have 1" },
	    { 0, "w[1,1]{0}", "input 0 has 2 dimensions, must have 1" } } },
	{ "FILL", "w[2]{2,3} F1 > f",
	  { { 0, "w[2]{2,-1}", "dimension 1 is -1" },
	    { 0, "w[16]{1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}", NULL },
	    { 0, "w[17]{1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}", "17 dimensions, the limit is 16" } } },
	{ "RESHAPE", "f[2,3] w[2]{3,2} > f",
	  { { 1, "w[2]{-1,2}", NULL }, { 1, "w[2]{-1,4}", "has 4 elements, the input has 6" },
	    { 1, "w[2]{-1,-1}", "dimension 1 of the target shape must not be -1" },
	    { 1, "w[2]{-2,2}", "dimension 0 of the target shape must not be -2" },
	    { 1, "w[2]{0,-1}", "cannot be deduced if another one is 0" },
	    { 1, "w[3]{65536,65536,-1}", "too many elements" },
	    { 1, "w[16]{6,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}", NULL },
	    { 1, "w[17]{6,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}", "17 dimensions are asked for" } } },
	{ "SQUEEZE", "f[2,1,3] w[1]{1} > f",
	  { { 1, "w[1]{-2}", NULL }, { 1, "w[1]{0}", "axis 0 has 2 elements" },
	    { 1, "w[1]{3}", "axis 3 does not fit rank 3" }, { 1, "~w[1]", NULL } } },
	{ "EXPAND_DIMS", "f[2] I1 > f",
	  { { 1, "I-2", NULL }, { 1, "I2", "axis 2 does not fit rank 2" },
	    { 1, "I-3", "axis -3" }, { 0, "f[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", NULL },
	    { 0, "f[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "with 16 dimensions" } } },
	{ "LSH_PROJECTION", "f[2,32] f[3] ~f[3] I3 > w",
	  { { 0, "f[2,33]", "33 bits" }, { 0, "f[2]", "must have 2" }, { 3, "I1", NULL },
	    { 3, "I0", "projection type 0 does not exist" },
	    { 3, "I4", "projection type 4 does not exist" },
	    { 3, "I2", "dense projection must have" },
	    { 2, "f[3]", "sparse projection must not" } } },
	{ "LSH_PROJECTION", "f[2,4] f[3] f[3] I2 > w",
	  { { 2, "f[2]", "2 weights but 3 items" }, { 2, "f[3,1]", "must have 1" },
	    { 1, "f[4]", "3 weights but 4 items" } } },
	{ "BATCH_MATMUL", "f[2,3] f[3,4] B0 B0 > f",
	  { { 1, "f[4,4]", "3 columns do not fit 4 rows" },
	    { 1, "f[3,4,1]", "of 2 and 3 dimensions" },
	    { 0, "f[2]", "of 1 and 2 dimensions" }, { 2, "B1", "2 columns do not fit 3 rows" },
	    { 3, "B1", "3 columns do not fit 4 rows" } } },
	{ "BATCH_MATMUL", "f[2,1,2,3] f[2,5,3,4] B0 B0 > f",
	  { { 0, "f[3,1,2,3]", "axis 0 has 3 and 2 elements, must be equal" }, { 0, "f[1,5,2,3]", NULL },
	    { 0, "f[2,4,2,3]", "axis 1 has 4 and 5 elements, must be equal" } } },
	{ "BATCH_MATMUL", "f[1,1,1,1] f[1,1,1,1] B0 B0 > f",
	  { { 0, "f[1,1,1,1,1]", "of 5 and 4 dimensions" } } },
	{ "PAD", "f[2,2] w[2,2]{0,1,1,0} > f",
	  { { 1, "w[2,2]{0,0,-1,0}", "axis 1: padding of -1 and 0, must not be below 0" },
	    { 1, "w[2,2]{0,-1,0,0}", "axis 0: padding of 0 and -1, must not be below 0" },
	    { 1, "w[4]", "[2, 2]" },
	    { 1, "w[1,2]", "[2, 2]" }, { 1, "w[2,1]", "[2, 2]" } } },
	{ "MIRROR_PAD", "f[3] w[1,2]{2,2} I0 > f",
	  { { 1, "w[1,2]{3,0}", "padding of 3 and 0, at most 2" },
	    { 1, "w[1,2]{0,3}", "at most 2" }, { 2, "I2", "mode 2" }, { 2, "I-1", "mode -1" } } },
	{ "MIRROR_PAD", "f[3] w[1,2]{3,3} I1 > f",
	  { { 1, "w[1,2]{4,0}", "at most 3" } } },
	{ "STRIDED_SLICE", "f[4,3] w[2]{0,0} w[2]{4,3} w[2]{1,1} I0 I0 I0 > f",
	  { { 1, "w[1]{0}", "input 1 has 1 entries" },
	    { 2, "w[3]{4,3,1}", "input 2 has 3 entries" },
	    { 3, "w[1]{1}", "input 3 has 1 entries" },
	    { 3, "w[2]{1,0}", "stride of axis 1 is 0" } } },
	{ "SLICE", "f[4,3] w[2]{1,0} w[2]{3,-1} > f",
	  { { 1, "w[2]{2,0}", "axis 0: 3 elements from 2 on exceed its 4" },
	    { 1, "w[2]{-1,0}", "axis 0: 3 elements from -1 on exceed its 4" },
	    { 2, "w[2]{4,3}", "axis 0: 4 elements from 1 on exceed its 4" },
	    { 2, "w[2]{3,-2}", "axis 1: -2 elements from 0 on exceed its 3" },
	    { 1, "w[1]{1}", "begin and size must have 2 entries" },
	    { 2, "w[1]{3}", "begin and size must have 2 entries" } } },
	{ "SPLIT", "f[4,3] I0 I2 > f f",
	  { { 1, "I-2", NULL }, { 1, "I2", "axis 2 does not fit rank 2" },
	    { 2, "I1", "1 parts asked for" }, { 2, "I3", "3 parts" },
	    { 1, "I1", "axis 1 has 3 elements, must be a multiple of 2" } } },
	{ "TILE", "f[2,3] w[2]{1,2} > f",
	  { { 1, "w[1]{2}", "1 multiples" }, { 1, "w[3]{1,1,1}", "3 multiples" },
	    { 1, "w[2]{1,-1}", "axis 1 of 3 elements cannot be repeated -1 times" } } },
	{ "TRANSPOSE", "f[2,3] w[2]{1,0} > f",
	  { { 1, "w[2]{1,2}", "entry 1 of the permutation is 2" },
	    { 1, "w[2]{-1,0}", "entry 0 of the permutation is -1" },
	    { 1, "w[1]{0}", "the permutation has 1 entries, the input 2 dimensions" },
	    { 1, "~w[2]", NULL } } },
	{ "CHANNEL_SHUFFLE", "f[2,4] I2 I1 > f",
	  { { 2, "I-1", NULL }, { 2, "I2", "axis 2 does not fit rank 2" },
	    { 1, "I3", "do not divide" }, { 1, "I0", "0 groups" }, { 1, "I-1", "-1 groups" } } },
	{ "BATCH_TO_SPACE_ND", "f[4,1,2,3] w[2]{2,2} > f",
	  { { 1, "w[1]{2}", "dimension 0 is 1, must be 2" },
	    { 1, "w[3]{2,2,1}", "dimension 0 is 3, must be 2" },
	    { 1, "w[2]{0,2}", "0 * 2" }, { 1, "w[2]{2,0}", "2 * 0" },
	    { 1, "w[2]{3,1}", "4 batches do not divide into blocks of 3 * 1" },
	    { 0, "f[4,1,2]", "input 0 has 3 dimensions, must have 4" } } },
	{ "SPACE_TO_BATCH_ND", "f[1,2,4,3] w[2]{2,2} w[2,2]{0,0,1,1} > f",
	  { { 1, "w[1]{2}", "dimension 0 is 1, must be 2" },
	    { 2, "w[2,2]{0,1,0,0}", "blocks of 2 * 2 do not divide a padded image of 3 * 4" },
	    { 2, "w[2,2]{0,0,0,1}", "blocks of 2 * 2 do not divide a padded image of 2 * 5" },
	    { 2, "w[2,2]{-1,1,0,0}", "padding of -1 and 1, below 0" },
	    { 2, "w[2,2]{1,-1,0,0}", "padding of 1 and -1, below 0" },
	    { 2, "w[4]{0,0,0,0}", "input 2 has 1 dimensions, must have 2" } } },
	{ "DEPTH_TO_SPACE", "f[1,1,2,8] I2 > f",
	  { { 1, "I0", "8 channels do not divide into blocks of 0 * 0" },
	    { 1, "I3", "8 channels do not divide into blocks of 3 * 3" },
	    { 1, "I-2", "8 channels do not divide into blocks of -2 * -2" },
	    { 0, "f[1,2,8]", "input 0 has 3 dimensions, must have 4" } } },
	{ "SPACE_TO_DEPTH", "f[1,2,4,3] I2 > f",
	  { { 1, "I0", "an image of 2 * 4 does not divide into blocks of 0" },
	    { 1, "I4", "an image of 2 * 4 does not divide into blocks of 4" },
	    { 0, "f[1,4,3,3]", "an image of 4 * 3 does not divide into blocks of 2" },
	    { 0, "f[1,3,4,3]", "an image of 3 * 4 does not divide into blocks of 2" } } },
	{ "FULLY_CONNECTED", "f[2,3] f[4,3] f[4] I0 > f",
	  { { 3, "I3", NULL }, { 3, "I4", "unknown activation 4" },
	    { 3, "I-1", "unknown activation -1" }, { 0, "f[6]", "rank 1, must be 2 to 4" },
	    { 0, "f[1,1,1,2,3]", "rank 5, must be 2 to 4" },
	    { 0, "f[2,4]", "8 elements do not make rows of 3" },
	    { 0, "f[2,0]", "only dimension 0" }, { 1, "f[4,3,1]", "input 1 has 3 dimensions" },
	    { 2, "f[3]", "is 3, must be 4" }, { 2, "f[4,1]", "input 2 has 2" },
	    { 0, "f[0,3]", NULL } } },
	{ "FULLY_CONNECTED", "u[2,3]@0.5,0 u[4,3]@0.5,0 w[4]@0.25,0 I0 > u@1,0",
	  { { 2, "w[4]@0.26,0", "not the product" }, { 2, "w[4]@0.24,0", "not the product" } } },
	{ "CONV_2D", "f[1,3,3,2] f[4,2,2,2] f[4] I1 I1 I1 I0 > f",
	  { { 3, "I2", NULL }, { 3, "I0", "padding code 0 is unknown" },
	    { 3, "I3", "padding code 3 is unknown" }, { 4, "I0", "the stride is 0" },
	    { 5, "I-1", "the stride is -1" }, { 6, "I4", "activation 4" },
	    { 0, "f[1,3,2]", "input 0 has 3" }, { 1, "f[4,2,2]", "input 1 has 3" },
	    { 1, "f[4,2,2,3]", "channels" }, { 2, "f[5]", "is 5, must be 4" },
	    { 0, "f[1,0,3,2]", "only dimension" }, { 1, "f[4,0,2,2]", "a dimension is 0" } } },
	{ "CONV_2D", "f[1,3,3,2] f[4,2,2,2] f[4] I0 I1 I1 I0 I1 I1 I0 B0 I1 I1 > f",
	  { { 3, "I2", "smaller than the filter" }, { 4, "I2", "smaller than the filter" },
	    { 5, "I2", "smaller than the filter" }, { 6, "I2", "smaller than the filter" },
	    { 3, "I-1", "negative" }, { 4, "I-1", "negative" }, { 6, "I-1", "negative" },
	    { 11, "I0", "the dilation is 0" }, { 12, "I0", "the dilation is 0" },
	    { 11, "I2", NULL }, { 12, "I4", "the window is larger" }, { 0, "f[1,1,1,2]", NULL },
	    { 0, "f[0,3,3,2]", NULL } } },
	{ "CONV_2D", "s[1,1,1,2]@0.5,0 p[2,1,1,2] w[2]@0,0 I1 I1 I1 I0 > s@1,0",
	  { { 1, "p[3,1,1,2]", "input 2: dimension 0 is 2, must be 3" },
	    { 2, "w[3]@0,0", "must be 2" },
	    { 0, "s[1,1,1,2]@2e38,0", "output 0: the scale 1 is too small" } } },
	{ "AVERAGE_POOL_2D", "f[1,3,3,2] I1 I1 I1 I2 I2 I0 > f",
	  { { 0, "f[1,3,2]", "3 dimensions, must have 4" }, { 0, "f[1,3,0,2]", "only dimension 0" },
	    { 0, "f[0,3,3,2]", NULL }, { 4, "I0", "the filter size is 0" },
	    { 5, "I-1", "the filter size is -1" }, { 1, "I3", "padding code" },
	    { 2, "I0", "stride" }, { 3, "I0", "stride" }, { 6, "I4", "activation" } } },
	{ "TRANSPOSE_CONV_2D", "f[1,2,2,2] f[3,2,2,2] f[3] w[4]{1,4,4,3} I1 I2 I2 I0 B0 > f",
	  { { 3, "w[3]{1,4,4}", "4 elements" }, { 3, "w[2,2]{1,4,4,3}", "4 elements" },
	    { 1, "f[3,2,2,3]", "the input has 2 channels, the filter 3" },
	    { 4, "I3", "padding code" }, { 5, "I0", "stride" }, { 6, "I0", "stride" },
	    { 7, "I4", "activation" } } },
	{ "PRELU", "u[2]@0.5,0 u[2]@0.5,0 > u@0.5,0",
	  { { 2, "u@0,0", "cannot be converted" } } },
	{ "INSTANCE_NORMALIZATION", "f[1,2,2,3] F1 F0 F0.1 B0 > f",
	  { { 0, "f[2,2,3]", "3 dimensions, must have 4" } } },
	{ "RESIZE_BILINEAR", "f[1,2,2,3] I4 I3 > f",
	  { { 0, "f[2,2,3]", "3 dimensions, must have 4" },
	    { 1, "I0", "input 1 gives an output size of 0" },
	    { 2, "I0", "input 2 gives an output size of 0" },
	    { 2, "I-1", "input 2 gives an output size of -1" } } },
	{ "ROI_POOLING", "f[1,4,4,1] f[2,4]{0,0,2,2,1,1,3,3} w[2] I2 I2 F1 F1 B0 > f",
	  { { 0, "f[4,4,1]", "must have 4" }, { 1, "f[8]", "1 dimensions, must have 2" },
	    { 1, "f[2,5]", "dimension 1 is 5, must be 4" }, { 2, "w[3]", "is 3, must be 2" },
	    { 2, "w[2,1]", "2 dimensions, must have 1" },
	    { 2, "w[2]{0,1}", "region 1 is not inside an image of the batch" },
	    { 2, "w[2]{0,-1}", "region 1 is not inside an image of the batch" },
	    { 3, "I0", "at least 1" }, { 4, "I0", "at least 1" },
	    { 5, "F0", "stride 0 must be positive" },
	    { 6, "F-1", "stride -1 must be positive" },
	    { 1, "f[2,4]{0,0,2,2,3,1,1,3}", "region 1 is not inside an image of the batch" },
	    { 1, "f[2,4]{0,0,2,2,1,1,3,4.1}", "region 1 is not inside an image of the batch" } } },
	{ "ROI_ALIGN", "u[1,4,4,1]@0.5,0 a[1,4]@0.125,0 w[1] I2 I2 F1 F1 I0 I0 B0 > u@0.5,0",
	  { { 1, "a[1,4]@0.25,0", "scale 0.25" }, { 1, "a[1,4]@0.125,1", "zero point 1" },
	    { 7, "I-1", "at least 0" }, { 8, "I-1", "at least 0" },
	    { 10, "u@0.0001,0", "too small" }, { 0, "u[1,4,0,1]@0.5,0", "a dimension is 0" } } },
	{ "HEATMAP_MAX_KEYPOINT", "f[2,3,3,1] f[2,4]{0,0,2,2,1,1,3,3} B0 > f f",
	  { { 0, "f[3,3,1]", "must have 4" },
	    { 0, "f[2,3,4,1]", "input 0: maps of 3 by 4, must be square, of at least 2" },
	    { 0, "f[2,1,1,1]", "input 0: maps of 1 by 1, must be square, of at least 2" },
	    { 1, "f[1,4]", "dimension 0 is 1, must be 2" },
	    { 1, "f[2,5]", "dimension 1 is 5, must be 4" }, { 1, "f[8]", "must have 2" },
	    { 0, "f[2,2,2,1]", NULL } } },
	{ "AXIS_ALIGNED_BBOX_TRANSFORM", "f[2,4]{0,0,2,2,1,1,3,3} f[2,8] w[2] f[1,2]{9,9} > f",
	  { { 0, "f[8]", "must have 2" }, { 0, "f[2,5]", "dimension 1 is 5, must be 4" },
	    { 1, "f[2,7]", "input 1: rows of 7 values, must be 4 for each class" },
	    { 1, "f[3,8]", "input 1: dimension 0 is 3, must be 2" },
	    { 2, "w[3]", "input 2: dimension 0 is 3, must be 2" },
	    { 3, "f[1,3]", "input 3: dimension 1 is 3, must be 2" },
	    { 2, "w[2]{0,1}", "input 2: region 1: no image 1" },
	    { 2, "w[2]{-1,0}", "input 2: region 0: no image -1" },
	    { 0, "f[2,4]{0,0,2,2,3,1,1,3}", "input 0: region 1 has its corners swapped" },
	    { 0, "f[2,4]{0,0,2,2,1,3,3,1}", "input 0: region 1 has its corners swapped" } } },
	{ "GENERATE_PROPOSALS",
	  "f[1,1,1,1] f[1,1,1,4] f[1,4]{0,0,4,4} f[1,2]{9,9} F1 F1 I0 I0 F1 F0 B0 > f f w",
	  { { 0, "f[1,1,1]", "must have 4" }, { 1, "f[1,1,4]", "must have 4" },
	    { 1, "f[1,1,1,8]", "4 values for each" }, { 2, "f[2,4]", "1 by 4" },
	    { 2, "f[1,5]", "is 5, must be 4" }, { 3, "f[2,2]", "is 2, must be 1" },
	    { 3, "f[1,3]", "is 3, must be 2" }, { 3, "f[2]", "must have 2" } } },
	{ "BOX_WITH_NMS_LIMIT",
	  "f[1,2] f[1,8]{0,0,2,2,0,0,2,2} w[1] F0 I-1 I0 F0.5 F1 F0 > f f w w",
	  { { 1, "f[1,8]{0,0,2,2,3,0,2,2}", "box 1 has its corners" },
	    { 1, "f[1,4]", "input 1: must have 4 values for each of input 0" },
	    { 0, "f[1,1]", "input 0: 1 classes, must be at least 2" },
	    { 2, "w[2]", "input 2: dimension 0 is 2, must be 1" },
	    { 5, "I3", "input 5: NMS kernel 3 does not exist" },
	    { 5, "I-1", "input 5: NMS kernel -1 does not exist" }, { 5, "I2", NULL } } },
	{ "LSTM", "f[2,3] " CIFG "f[2,4] f[2,4] I4 F0 F0 ~f[1] ~f[1] ~f[1] ~f[1] > f f f f",
	  { { 20, "I6", NULL }, { 20, "I5", "activation 5" }, { 20, "I7", "activation 7" },
	    { 20, "I-1", "activation -1" }, { 21, "F-1", "clipping at -1 and 0, must not be below 0" },
	    { 22, "F-1", "clipping at 0 and -1, must not be below 0" }, { 21, "Fnan", "clipping" },
	    { 22, "Fnan", "clipping" }, { 22, "F1", NULL } } },
	{ "LSTM",
	  "f[2,3] " GATES(4, 3) GATES(4, 5) "~f[1] ~f[1] ~f[1] " FOUR("f[4]")
	  "f[5,4] ~f[1] f[2,5] f[2,4] I4 F0 F0 > f f f f",
	  { { 16, "~f[1]", "4 units but 5 outputs, without a projection" } } },
	{ "RNN", "f[2,3] f[4,3] f[4,4] f[4] f[2,4] I1 > f f",
	  { { 5, "I6", NULL }, { 5, "I5", "activation 5" }, { 5, "I7", "activation 7" },
	    { 5, "I-1", "activation -1" }, { 0, "f[6]", "1 dimensions, must have 2" } } },
	{ "UNIDIRECTIONAL_SEQUENCE_RNN", "f[7,2,3] f[4,3] f[4,4] f[4] f[2,4] I1 I1 > f f",
	  { { 6, "I2", "timeMajor is 2" }, { 6, "I-1", "timeMajor is -1" },
	    { 0, "f[14,3]", "must have 3" } } },
	{ "BIDIRECTIONAL_SEQUENCE_RNN", BI_RNN,
	  { { 14, "B1", "4 outputs do not fit merging on" },
	    { 9, "f[6,2,6]", "dimension 0 is 6, must be 7" },
	    { 9, "f[7,1,6]", "dimension 1 is 1, must be 2" }, { 10, "~f[1]", "one direction only" },
	    { 11, "~f[1]", "one direction only" },
	    { 9, "~f[1]", "without an auxiliary input" } } },
	{ "BIDIRECTIONAL_SEQUENCE_LSTM", BI_LSTM,
	  { { 51, "B1", "6 outputs do not fit merging on" },
	    { 39, "f[7,2,4]", "input of 4, must be 3" },
	    { 39, "~f[1]", "without an auxiliary input" }, { 40, "~f[1]", "must be" },
	    { 47, "~f[1]", "must be" }, { 43, "~f[1]", "be omitted" } } },
	{ "SVDF", "f[2,3] f[8,3] f[8,6] f[4] f[2,48] I2 I1 > f f",
	  { { 5, "I0", "a rank of 0" }, { 5, "I-2", "a rank of -2" },
	    { 5, "I3", "do not divide" }, { 6, "I5", "activation 5" },
	    { 6, "I7", "activation 7" }, { 6, "I6", NULL }, { 0, "f[6]", "must have 2" },
	    { 1, "f[24]", "must have 2" }, { 2, "f[48]", "must have 2" } } },
	{ "QUANTIZED_LSTM", Q_LSTM,
	  { { 30, "I127", NULL }, { 30, "I-128", NULL }, { 30, "I128", "does not fit 8 bits" },
	    { 30, "I-129", "does not fit 8 bits" }, { 19, "y[2,4]@0.001,0", "power of 2" },
	    { 19, "y[2,4]@0.00390625,0", "power of 2" },
	    { 19, "y[2,4]@0.0000152587890625,0", "power of 2" },
	    { 19, "y[2,4]@0.001953125,0", "output 1 is" },
	    { 26, "F0", "the quotient of the scales cannot be represented" },
	    { 29, "F0", "the quotient of the scales cannot be represented" },
	    { 31, "F0", "the quotient of the scales cannot be represented" },
	    { 0, "s[6]@0.5,0", "must have 2" }, { 8, "q[20]@0.5,0", "must have 2" } } },
	{ "QUANTIZED_16BIT_LSTM", Q16_LSTM,
	  { { 2, "u[4,3]@0.25,7", "input 2 has another scale or zero point" },
	    { 8, "u[4,4]@0.5,8", "input 8 has another scale or zero point" },
	    { 9, "w[4]@0.004,0", "input 9 has scale" },
	    { 12, "w[4]@0.0039,0", "input 12 has scale" },
	    { 9, "w[4]@0.00390625,1", "input 9 has scale" },
	    { 0, "u[2,3]@0.0078125,127", "input 0 must have" },
	    { 0, "u[2,3]@0.0079,128", "input 0 must have" },
	    { 14, "u[2,4]@0.0078125,127", "input 14 must have" },
	    { 13, "y[2,4]@0.001,0", "input 13 has scale" },
	    { 13, "y[2,4]@0.00048828125,1", "input 13 has scale" },
	    { 0, "u[6]@0.0078125,128", "must have 2" } } },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		check(&table[i], NULL);
		for (size_t k = 0; k < LENGTH(table[i].changes) && table[i].changes[k].word; k++)
			check(&table[i], &table[i].changes[k]);
	}
}

/* ---- Recurrent cells, whose operands must have matching sizes ---- */

static const struct {
	const char *op;
	const char *operands;
	const char *free;	/* OPERAND.AXIS: may have any size; OPERAND: optional */
} cells[] = {
	{ "LSTM", "f[2,3] " CELL "f[2,5] f[2,4] I4 F0 F0 " FOUR("f[4]") "> f f f f", " 17 " },
	{ "LSTM", "f[2,3] " CIFG "f[2,4] f[2,4] I4 F0 F0 ~f[1] ~f[1] ~f[1] ~f[1] > f f f f", " " },
	{ "UNIDIRECTIONAL_SEQUENCE_LSTM",
	  "f[7,2,3] " CELL "f[2,5] f[2,4] I4 F0 F0 B1 " FOUR("f[4]") "> f f f", " 17 0.0 " },
	{ "BIDIRECTIONAL_SEQUENCE_LSTM", BI_LSTM, " 17 34 " },
	{ "RNN", "f[2,3] f[4,3] f[4,4] f[4] f[2,4] I1 > f f", " " },
	{ "UNIDIRECTIONAL_SEQUENCE_RNN", "f[7,2,3] f[4,3] f[4,4] f[4] f[2,4] I1 I1 > f f",
	  " 0.0 " },
	{ "BIDIRECTIONAL_SEQUENCE_RNN", BI_RNN, " " },
	{ "SVDF", "f[2,3] f[8,3] f[8,6] f[4] f[2,48] I2 I1 > f f", " 3 " },
	{ "QUANTIZED_16BIT_LSTM", Q16_LSTM, " " },
	{ "QUANTIZED_LSTM", Q_LSTM, " 17 " },
};

/*
 * Copies an operand's word to `word`, and in the copy adds 1 to the dimension `axis`, or adds a
 * dimension.
 */
static void enlarge(const char *operands, uint32_t operand, uint32_t axis, char word[MAX_WORD])
{
	const char *at = operands, *end;
	size_t length;

	for (uint32_t i = 0; i < operand; i++)
		at += strcspn(at, " ") + 1;
	at += strspn(at, "> ");
	length = strcspn(at, "[,]@ ");
	memcpy(word, at, length);
	end = at + length;
	for (uint32_t i = 0; *end == '[' || *end == ','; i++) {
		int32_t dim = atoi(end + 1);

		length += (size_t)snprintf(word + length, MAX_WORD - length, "%c%d", *end,
					   dim + (i == axis));
		end += strcspn(end + 1, "[,]@ ") + 1;
		if (*end == ']' && i + 1 == axis)
			length += (size_t)snprintf(word + length, MAX_WORD - length, ",1");
	}
	snprintf(word + length, MAX_WORD - length, "%.*s", (int)strcspn(end, " "), end);
}

static bool is_free(const char *list, uint32_t operand, int32_t axis)
{
	char what[16];

	snprintf(what, sizeof(what), axis < 0 ? " %u " : " %u.%d ", operand, axis);
	return strstr(list, what);
}

static void check_cell(size_t i, uint32_t operand, const char *word, bool good)
{
	struct op_case c;
	enum nn_status status = run(&c, cells[i].op, cells[i].operands, operand, word);

	if (good && status)
		fail_msg("%s with operand %u \"%s\": %s", cells[i].op, operand, word,
			 c.err.message);
	if (!good && status != NN_GENERAL_FAILURE)
		fail_msg("%s with operand %u \"%s\": status %d", cells[i].op, operand, word,
			 status);
	oc_free(&c);
}

/*
 * Tries recurrent cells with a dimension larger by one, with one more dimension, and with an
 * optional tensor omitted or given.
 */
static void test_cells(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(cells); i++) {
		struct op_case whole;
		char word[MAX_WORD], other[MAX_WORD];

		if (run(&whole, cells[i].op, cells[i].operands, 0, NULL))
			fail_msg("%s: %s", cells[i].op, whole.err.message);
		for (uint32_t k = 0; k < whole.num_inputs; k++) {
			const struct nn_tensor *t = &whole.tensors[k];

			for (uint32_t axis = 0; t->rank && !t->omitted && axis <= t->rank; axis++) {
				enlarge(cells[i].operands, k, axis, word);
				check_cell(i, k, word, is_free(cells[i].free, k, (int32_t)axis));
			}
			if (!t->rank)
				continue;
			enlarge(cells[i].operands, k, 99, word);
			snprintf(other, sizeof(other), "%s%s", t->omitted ? "" : "~",
				 word + t->omitted);
			check_cell(i, k, other, is_free(cells[i].free, k, -1));
		}
		oc_free(&whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		heap_unit_test(test_refused),
		heap_unit_test(test_cells),
	};

	return cmocka_run_group_tests_name("ops_refused", tests, NULL, NULL);
}
