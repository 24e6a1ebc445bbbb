/* SPDX-License-Identifier: MIT */
/*
 * Returns the codes of the NNAPI's feature levels, and the timeouts of WHILE loops.
 */
#include "runtime/feature_level.h"

#include <android/NeuralNetworks.h>

#include "ops/op.h"

#define DEFAULT_LOOP_TIMEOUT_NS UINT64_C(2000000000)
#define MAXIMUM_LOOP_TIMEOUT_NS UINT64_C(15000000000)

static const int64_t codes[] = {
	ANEURALNETWORKS_FEATURE_LEVEL_1, ANEURALNETWORKS_FEATURE_LEVEL_2,
	ANEURALNETWORKS_FEATURE_LEVEL_3, ANEURALNETWORKS_FEATURE_LEVEL_4,
	ANEURALNETWORKS_FEATURE_LEVEL_5, ANEURALNETWORKS_FEATURE_LEVEL_6,
	ANEURALNETWORKS_FEATURE_LEVEL_7, ANEURALNETWORKS_FEATURE_LEVEL_8,
};

int64_t feature_level_code(uint32_t level)
{
	return codes[level - 1];
}

int64_t ANeuralNetworks_getRuntimeFeatureLevel(void)
{
	return feature_level_code(nn_op_feature_level());
}

uint64_t ANeuralNetworks_getDefaultLoopTimeout(void)
{
	return DEFAULT_LOOP_TIMEOUT_NS;
}

uint64_t ANeuralNetworks_getMaximumLoopTimeout(void)
{
	return MAXIMUM_LOOP_TIMEOUT_NS;
}
