/* SPDX-License-Identifier: MIT */
#include "clients/dynamic.h"

#include "clients/lower/lower.h"

bool dynamic_is_supported(const ANeuralNetworksDevice *const *devices, uint32_t count)
{
	static const int8_t weight = 1;
	static const uint32_t one[] = { 1, 1 };
	const struct operand weights = { .type = NN(TENSOR_QUANT8_SYMM), .rank = 2,
					 .dims = { 1, 1 }, .scale = 1 };
	struct builder b = { .operands = NULL };
	struct lowering t = { .b = &b };
	uint32_t x = result_type(&t, NN(TENSOR_FLOAT32), 2, one);
	bool supported[3] = { false };

	EMIT(&t, NN_OP_DYNAMIC_FULLY_CONNECTED, result_like(&t, x), x,
	     constant_bytes(&t, &weights, &weight), zeros(&t, x, 1, one),
	     scalar_int(&t, NN(FUSED_NONE)), scalar_int(&t, DYNAMIC_TENSOR));
	unary(&t, NN_OP_ERF, x);
	unary(&t, NN_OP_GELU, x);
	if (t.refused || builder_ask(&b, 0, b.operation_count, NULL, devices, count, supported,
				     NULL))
		supported[0] = false;
	builder_free(&b);
	return supported[0] && supported[1] && supported[2];
}
