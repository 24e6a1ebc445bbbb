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
} ops[] = {
#define OP(name, first, last, translate) { #name, first, last, translate, -1, NULL },
#define CODE(name, first, last, translate, code) { #name, first, last, translate, NN(code), NULL },
#include "ops.def"
#define ONNX_FUNCTION(name, first, last, y) \
	{ #name, first, last, function_op, -1, function_##name },
#define FUNCTION(name, first, last, tflite, y) ONNX_FUNCTION(name, first, last, y)
#include "clients/lower/functions.def"
};

bool is_node(struct lowering *t, const char *op)
{
	return !strcmp(onnx(t)->node->op, op);
}

translator *translator_of(struct lowering *t, const struct node *node)
{
	if (*node->domain || node->has_graphs) {
		refuse(t, *node->domain ? "no operator of ONNX" : "control flow");
		return NULL;
	}
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (strcmp(ops[i].name, node->op))
			continue;
		t->code = ops[i].code;
		t->function = ops[i].function;
		if (node->version >= ops[i].first && node->version <= ops[i].last)
			return ops[i].translate;
		refuse(t, "as of operator set %d", node->version);
		return NULL;
	}
	refuse(t, "the NNAPI cannot express this operator");
	return NULL;
}
