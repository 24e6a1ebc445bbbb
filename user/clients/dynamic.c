/* SPDX-License-Identifier: MIT */
#include "clients/dynamic.h"

#include <stddef.h>

static bool add_operands(ANeuralNetworksModel *model)
{
	static const uint32_t one[] = { 1, 1 };
	static const int8_t weights[] = { 1 };
	static const float bias;
	static const int32_t activation = ANEURALNETWORKS_FUSED_NONE, form = DYNAMIC_TENSOR;
	const struct {
		ANeuralNetworksOperandType type;
		const void *value;
		size_t size;
	} operands[] = {
		{ { ANEURALNETWORKS_TENSOR_FLOAT32, 2, one, 0, 0 }, NULL, 0 },
		{ { ANEURALNETWORKS_TENSOR_QUANT8_SYMM, 2, one, 1, 0 }, weights, sizeof(weights) },
		{ { ANEURALNETWORKS_TENSOR_FLOAT32, 1, one, 0, 0 }, &bias, sizeof(bias) },
		{ { ANEURALNETWORKS_INT32, 0, NULL, 0, 0 }, &activation, sizeof(activation) },
		{ { ANEURALNETWORKS_INT32, 0, NULL, 0, 0 }, &form, sizeof(form) },
		{ { ANEURALNETWORKS_TENSOR_FLOAT32, 2, one, 0, 0 }, NULL, 0 },
	};
	bool added = true;

	for (size_t i = 0; i < sizeof(operands) / sizeof(operands[0]); i++) {
		added = added && !ANeuralNetworksModel_addOperand(model, &operands[i].type);
		if (operands[i].value)
			added = added && !ANeuralNetworksModel_setOperandValue(
						 model, (int32_t)i, operands[i].value,
						 operands[i].size);
	}
	return added;
}

bool dynamic_is_supported(const ANeuralNetworksDevice *const *devices, uint32_t count)
{
	static const uint32_t inputs[] = { 0, 1, 2, 3, 4 }, output = 5;
	ANeuralNetworksModel *model = NULL;
	bool supported = false, built;

	built = !ANeuralNetworksModel_create(&model) && add_operands(model) &&
		!ANeuralNetworksModel_addOperation(model, NN_OP_DYNAMIC_FULLY_CONNECTED, 5, inputs,
						   1, &output) &&
		!ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, &output) &&
		!ANeuralNetworksModel_finish(model) &&
		!ANeuralNetworksModel_getSupportedOperationsForDevices(model, devices, count,
								       &supported);
	ANeuralNetworksModel_free(model);
	return built && supported;
}
