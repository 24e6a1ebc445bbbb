/* SPDX-License-Identifier: MIT */
/*
 * Finds the instruction sets that this CPU has.
 */
#if defined(__x86_64__)
#include "plan/kernels/isa_x86.h"
#elif defined(__aarch64__)
#include "plan/kernels/isa_arm64.h"
#else
#include "plan/kernels/isa.h"
#define NN_ISAS(I)
#endif

#define DECLARE(name) extern const struct nn_isa nn_isa_##name;
#define ENTRY(name) &nn_isa_##name,

NN_ISAS(DECLARE) DECLARE(plain)
static const struct nn_isa *const all[] = { NN_ISAS(ENTRY) ENTRY(plain) };

const struct nn_isa *nn_isa_at(size_t index)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if ((!all[i]->runs || all[i]->runs()) && !index--)
			return all[i];
	return NULL;
}

const struct nn_isa *nn_isa_find(const char *name)
{
	const struct nn_isa *isa;

	for (size_t i = 0; (isa = nn_isa_at(i)); i++)
		if (!name || !strcmp(name, isa->name))
			return isa;
	return NULL;
}
