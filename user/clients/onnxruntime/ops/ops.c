// SPDX-License-Identifier: MIT
/* The table of operators. */
#include "ops.h"

#include <string.h>

static const struct op {
	const char *name;
	int first, last;
	translator *translate;
	int32_t code;
	function *function;
	bool is_microsoft, is_qlinear, is_wide;
	bool takes_values;		/* true: input 1 need not be constant */
	struct qlinear qlinear;
} ops[] = {
#define OP(op, since, until, op_of) \
	{ .name = #op, .first = since, .last = until, .translate = op_of, .code = -1 },
#define CODE(op, since, until, op_of, of) \
	{ .name = #op, .first = since, .last = until, .translate = op_of, .code = NN(of) },
#define VALUES(op, since, until, op_of, of) \
	{ .name = #op, .first = since, .last = until, .translate = op_of, .code = of, \
	  .takes_values = true },
#define WIDE(op, since, until, op_of) \
	{ .name = #op, .first = since, .last = until, .translate = op_of, .code = -1, \
	  .is_wide = true },
#define MICROSOFT(op, op_of, wide) \
	{ .name = #op, .first = 1, .last = 1, .translate = op_of, .code = -1, \
	  .is_microsoft = true, .is_wide = wide },
#define QLINEAR(op, op_of, of, at, to) \
	{ .name = #op, .first = 1, .last = 1, .translate = op_of, .code = NN(of), \
	  .is_microsoft = true, .is_qlinear = true, .qlinear = { at, to } },
#include "ops.def"
#define ONNX_FUNCTION(op, since, until, y) \
	{ .name = #op, .first = since, .last = until, .translate = function_op, .code = -1, \
	  .function = function_##op },
#define FUNCTION(name, first, last, tflite, y) ONNX_FUNCTION(name, first, last, y)
#include "clients/lower/functions.def"
};

/* Functions whose intermediate results would be too inexact in float16. */
static function *const wide[] = { function_Acos, function_Acosh, function_Asin, function_Asinh,
				  function_Atan, function_Atanh, function_Cos, function_Erf,
				  function_Sinh };

bool is_node(struct lowering *t, const char *op)
{
	return !strcmp(onnx(t)->node->op, op);
}

void refuse_scaled(struct lowering *t, uint32_t x)
{
	if (is_quant8(t, x) && (operand_of(t, x)->scale != 1 || operand_of(t, x)->zero))
		refuse(t, "8-bit numbers with a scale are not supported");
}

uint32_t values_of(const struct node *node)
{
	const uint32_t value = *node->domain ? NO_VALUE : input_of(node, 1);

	for (size_t i = 0; value != NO_VALUE && i < sizeof(ops) / sizeof(ops[0]); i++)
		if (ops[i].takes_values && !strcmp(ops[i].name, node->op))
			return value;
	return NO_VALUE;
}

translator *translator_of(struct lowering *t, const struct node *node)
{
	const bool is_microsoft = !strcmp(node->domain, "com.microsoft");

	if (REFUSED_IF(t, (*node->domain && !is_microsoft) || node->has_graphs, node->has_graphs ?
		       "control flow is unsupported" : "domain %s is unsupported",
		       node->domain))
		return NULL;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (strcmp(ops[i].name, node->op) || ops[i].is_microsoft != is_microsoft)
			continue;
		t->code = ops[i].code;
		t->function = ops[i].function;
		onnx(t)->qlinear = ops[i].is_qlinear ? &ops[i].qlinear : NULL;
		onnx(t)->is_wide = ops[i].is_wide;
		for (size_t k = 0; k < sizeof(wide) / sizeof(wide[0]); k++)
			onnx(t)->is_wide |= t->function == wide[k];
		if (node->version >= ops[i].first && node->version <= ops[i].last)
			return ops[i].translate;
		refuse(t, "version %d of the operator is not supported", node->version);
		return NULL;
	}
	refuse(t, "the NNAPI cannot express this operator");
	return NULL;
}
