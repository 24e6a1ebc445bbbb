/* SPDX-License-Identifier: MIT */
/*
 * The table of functions that loaders of NNAPI support libraries request. Most functions of the
 * table are the NNAPI runtime's. The files device.c and diagnostic.c add the functions that only
 * support libraries have.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "clients/support_library/support_library.h"
#include "runtime/feature_level.h"
#include "runtime/log.h"

#define LOWEST_LEVEL 5
#define HIGHEST_LEVEL 8

#define ENTRY(name) .name = name,

static NnApiSLDriverImplFL8 table = {
	.base = {
		NN_SL_FUNCTIONS(ENTRY)
	},
	ENTRY(ANeuralNetworksCompilation_addExtensionAttribute)
	ENTRY(ANeuralNetworksExecution_addExtensionAttribute)
};

static uint32_t wanted_level(void)
{
	const char *text = secure_getenv("NNACCEL_SL_FEATURE_LEVEL");
	char *end = NULL;
	long level = text ? strtol(text, &end, 10) : HIGHEST_LEVEL;

	if (text && (end == text || *end || level < LOWEST_LEVEL || level > HIGHEST_LEVEL)) {
		nna_log(NNA_LOG_WARN, "NNACCEL_SL_FEATURE_LEVEL: \"%.32s\" is not a number from %d to %d",
		       text, LOWEST_LEVEL, HIGHEST_LEVEL);
		return HIGHEST_LEVEL;
	}
	return (uint32_t)level;
}

/*
 * Fills the table, which does not change later, before any other code can get a pointer to the
 * table.
 */
__attribute__((constructor)) static void fill_table(void)
{
	sl_fill_device(&table.base);
	sl_fill_diagnostic(&table.base);
	table.base.base.implFeatureLevel = feature_level_code(wanted_level());
}

NnApiSLDriverImpl *ANeuralNetworks_getSLDriverImpl(void)
{
	return &table.base.base;
}
