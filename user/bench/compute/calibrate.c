/* SPDX-License-Identifier: MIT */
/*
 * What the library goes by on this CPU, and where it has it from. Nothing of it is measured when
 * a plan is made; which steps run on one thread is, later (plan/run/tuning.h).
 */
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "calibrate.h"
#include "plan/kernels/caches.h"
#include "plan/kernels/isa.h"
#include "plan/run/cpus.h"
#include "ring/waiting.h"

static void tell(const char *name, long value, const char *unit, const char *why)
{
	printf("%s\t%ld\t%s\t%s\n", name, value, unit, why);
}

/* A cache that is there, beside which the fixed sizes are to be read; 0: the system tells none. */
static void tell_cache(const char *name, int of)
{
	long size = sysconf(of);

	tell(name, size < 0 ? 0 : size, "bytes", "the system's, not used");
}

static void tell_kernels(void)
{
	const struct nn_isa *isa;

	for (size_t i = 0; (isa = nn_isa_at(i)); i++)
		printf("kernels\t%s\t%u floats\t%s\n", isa->name, isa->lanes,
		       i ? "the CPU runs them, too" : "chosen: the first that the CPU says it runs");
}

void bench_calibrate(void)
{
	printf("name\tvalue\tunit\twhy\n");
	tell_kernels();
	tell("threads", (long)cpus_usable(), "CPUs", "affinity, and the cgroup's cpu.max");
	tell("spin_low_power", (long)(nn_spin_budget(-1, true) / 1000), "us", "fixed: it sleeps");
	tell("spin", (long)(nn_spin_budget(-1, false) / 1000), "us",
	     "NNACCEL_SPIN_US, or fixed; 0 on one CPU; less as a burst learns");
	tell("near", NN_NEAR_BYTES, "bytes", "fixed: half of a first level of 48 KiB");
	tell("block", NN_BLOCK_BYTES, "bytes", "fixed: part of a second level");
	tell_cache("first_level", _SC_LEVEL1_DCACHE_SIZE);
	tell_cache("second_level", _SC_LEVEL2_CACHE_SIZE);
	tell_cache("third_level", _SC_LEVEL3_CACHE_SIZE);
}
