// SPDX-License-Identifier: MIT
/*
 * The program nnaccel-vulkan.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vulkan/device.h"
#include "vulkan/engine.h"
#include "vulkan/lower.h"

static int list_gpus(void)
{
	struct gpu_name names[MAX_GPUS];
	struct nn_error err = { "" };
	int count = gpu_list(names, MAX_GPUS, &err);

	if (count < 0) {
		fprintf(stderr, "nnaccel-vulkan: %s\n", err.message);
		return 1;
	}
	for (int i = 0; i < count; i++)
		printf("%s  %s%s%s%s\n", names[i].uuid, names[i].name,
		       names[i].is_software ? " (software)" : "",
		       names[i].lack[0] ? ", not usable: it lacks " : "", names[i].lack);
	return 0;
}

static int list_operations(void)
{
	static const struct {
		uint32_t types;
		const char *name;
	} columns[] = {
		{ NN_T(NN_TENSOR_FLOAT32), "float32" },
		{ NN_T(NN_TENSOR_FLOAT16), "float16" },
		{ NN_T(NN_TENSOR_QUANT8_ASYMM), "uint8" },
		{ NN_T(NN_TENSOR_QUANT8_ASYMM_SIGNED), "int8" },
		{ NN_T(NN_TENSOR_INT32), "int32" },
		{ NN_T(NN_TENSOR_BOOL8), "bool" },
	};
	const struct vulkan_op *op;

	for (uint32_t i = 0; (op = vulkan_op_at(i)); i++) {
		printf("%s\t", nn_op_name(op->code));
		for (uint32_t k = 0, count = 0; k < sizeof(columns) / sizeof(columns[0]); k++)
			if (op->types & columns[k].types)
				printf("%s%s", count++ ? ", " : "", columns[k].name);
		printf("\n");
	}
	return 0;
}

/* Returns VALUE if the arguments are "--option=VALUE" or "--option VALUE"; otherwise NULL. */
static const char *value_of(char *const *argument, const char *option)
{
	const size_t length = strlen(option);

	if (strncmp(*argument, option, length))
		return NULL;
	return (*argument)[length] == '=' ? *argument + length + 1 :
	       (*argument)[length] ? NULL : argument[1];
}

/*
 * Reads the engine's own options, and removes --gpu NAME and --gpu-waits from the arguments. Keeps
 * --state FOLDER in the arguments, because libnnaccel-engine also reads it.
 */
static int take_options(int argc, char **argv)
{
	const char *gpu = NULL, *folder = NULL;
	bool gpu_waits = false, direct = false;
	int kept = 0;

	for (int i = 0; i < argc; i++) {
		const char *name = value_of(&argv[i], "--gpu");

		direct |= value_of(&argv[i], "--direct") != NULL;
		if (value_of(&argv[i], "--state"))
			folder = value_of(&argv[i], "--state");
		if (!strcmp(argv[i], "--gpu-waits")) {
			gpu_waits = true;
			continue;
		}
		if (!name) {
			argv[kept++] = argv[i];
			continue;
		}
		gpu = name;
		i += name == argv[i + 1];
	}
	argv[kept] = NULL;
	vulkan_engine_choose(gpu, folder, gpu_waits);
	if (!direct && !gpu_waits)
		vulkan_engine_choose_clients();
	return kept;
}

int main(int argc, char **argv)
{
	const char *facts = getenv(VULKAN_FACTS);

	if (facts)
		return vulkan_engine_enter_process(facts) ?
		       nna_engine_main(&vulkan_engine, argc, argv) : 1;
	if (argc == 2 && !strcmp(argv[1], "--list-gpus"))
		return list_gpus();
	if (argc == 2 && !strcmp(argv[1], "--list-operations"))
		return list_operations();
	argc = take_options(argc, argv);
	return nna_engine_main(&vulkan_engine, argc, argv);
}
