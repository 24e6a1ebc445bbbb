/* SPDX-License-Identifier: MIT */
/*
 * Which inner loops this CPU runs.
 */
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

#include "plan/kernels/isa.h"
#include "plan/kernels/isa_arm64.h"
#include "plan/kernels/isa_x86.h"

extern const struct nn_isa nn_isa_plain;

static bool runs_always(void)
{
	return true;
}

#if defined(__x86_64__)
static bool runs_avx512(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

static bool runs_vnni(void)
{
	return runs_avx512() && __builtin_cpu_supports("avx512vnni");
}

static bool runs_avx2(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/*
 * The CPU is asked directly, because not all compilers know the feature's name. It is asked once,
 * because in a virtual machine the hypervisor answers.
 */
static bool runs_avx_vnni(void)
{
	static atomic_int known;	/* 0 if not asked yet, 1 for no, 2 for yes */
	int answer = atomic_load_explicit(&known, memory_order_relaxed);
	uint32_t a = 0, b, c, d;

	if (!answer) {
		answer = runs_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && a & 1 << 4 ?
			 2 : 1;
		atomic_store_explicit(&known, answer, memory_order_relaxed);
	}
	return answer == 2;
}

/* Returns whether the same loops on 256 bits can stand in for it. */
static bool runs_vnni_256(void)
{
	return runs_vnni() && !runs_avx_vnni();
}

static bool runs_sse4(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("sse4.1");
}
#endif

#if defined(__aarch64__)
static bool runs_dotprod(void)
{
	return getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
}

static bool runs_fp16(void)
{
	return runs_dotprod() && getauxval(AT_HWCAP) & HWCAP_ASIMDHP;
}

static bool runs_i8mm(void)
{
	return runs_fp16() && getauxval(AT_HWCAP2) & HWCAP2_I8MM;
}
#endif

/* The best first. */
static const struct {
	const struct nn_isa *isa;
	bool (*runs)(void);
} all[] = {
#if defined(__x86_64__)
	{ &nn_isa_vnni, runs_vnni },
	{ &nn_isa_avx512, runs_avx512 },
	{ &nn_isa_avx_vnni, runs_avx_vnni },
	{ &nn_isa_avx512_vnni_256, runs_vnni_256 },
	{ &nn_isa_avx2, runs_avx2 },
	{ &nn_isa_sse4, runs_sse4 },
#elif defined(__aarch64__)
	{ &nn_isa_i8mm, runs_i8mm },
	{ &nn_isa_fp16, runs_fp16 },
	{ &nn_isa_dotprod, runs_dotprod },
	{ &nn_isa_neon, runs_always },
#endif
	{ &nn_isa_plain, runs_always },
};

const struct nn_isa *nn_isa_at(size_t index)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].runs() && !index--)
			return all[i].isa;
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
