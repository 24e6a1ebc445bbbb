/* SPDX-License-Identifier: MIT */
/*
 * Prints settings that the library has chosen for this CPU, and the origin of each setting. The
 * library measures no setting when it makes a plan. During executions, the library measures which
 * steps run faster on one thread (see plan/run/tuning.h). No setting depends on the time of a
 * memory barrier, which is only printed.
 */
#include <unistd.h>

#include "base/clock.h"
#include "bench/compute/calibrate.h"
#include "plan/kernels/caches.h"
#include "plan/kernels/gemm.h"
#include "plan/kernels/isa.h"
#include "plan/run/domains.h"
#include "plan/run/threads.h"
#include "ring/barrier.h"
#include "ring/waiting.h"

#define BARRIERS 1000000

static void tell(FILE *out, const char *name, long value, const char *unit, const char *why)
{
	fprintf(out, "%s\t%ld\t%s\t%s\n", name, value, unit, why);
}

/*
 * Prints the size of a CPU cache as the system reports the size (0 if unknown), for a comparison
 * with the library's fixed sizes.
 */
static void tell_cache(FILE *out, const char *name, int of)
{
	long size = sysconf(of);

	tell(out, name, size < 0 ? 0 : size, "bytes", "the system's, not used");
}

static void tell_kernels(FILE *out)
{
	const struct nn_isa *isa;

	for (size_t i = 0; (isa = nn_isa_at(i)); i++)
		fprintf(out, "kernels\t%s\t%u floats, tiles of %u rows\t%s\n", isa->name, isa->lanes,
			isa->tile_rows, i ? "the CPU runs them, too" :
			"chosen: the first that the CPU says it runs");
}

static void tell_threads(FILE *out)
{
	tell(out, "threads", (long)threads_start(), "CPUs",
	     "affinity, and the cgroup's cpu.max; 256 at most");
	tell(out, "domains", (long)domains_count(), "last-level caches",
	     "the system's; 0 where it tells none");
	tell(out, "thread_spin", THREADS_SPIN_NS / 1000, "us", "fixed: between two operations");
	tell(out, "thread_fan_out", THREADS_FAN_OUT, "threads", "fixed: that each wakes");
	tell(out, "thread_late", THREADS_LATE_NS / 1000, "us", "fixed: a helper in the end");
	tell(out, "thread_alone", THREADS_ALONE_NS / 1000, "us", "fixed: after one was late");
}

static void tell_waiting(FILE *out)
{
	uint64_t start = clock_ns();

	for (uint32_t i = 0; i < BARRIERS; i++)
		nn_ring_barrier();
	fprintf(out, "ring_barrier\t%.1f\tns\t%s\n", (double)(clock_ns() - start) / BARRIERS,
		"measured now; the instruction is the compiler's choice");
	tell(out, "spin_low_power", (long)(nn_spin_budget(-1, true) / 1000), "us", "fixed: it sleeps");
	tell(out, "spin", (long)(nn_spin_budget(-1, false) / 1000), "us",
	     "NNACCEL_SPIN_US, or fixed; 0 on one CPU; less as a burst learns");
	tell(out, "held_up", NN_HELD_UP_NS / 1000, "us",
	     "fixed: a spin that is off its CPU for so long held others up");
}

void bench_calibrate(FILE *out)
{
	fprintf(out, "name\tvalue\tunit\twhy\n");
	tell_kernels(out);
	tell(out, "cut_rows", NN_TILE_ROWS, "rows", "fixed: a multiple of most tiles");
	tell_threads(out);
	tell_waiting(out);
	tell(out, "near", NN_NEAR_BYTES, "bytes", "fixed: half of a first level of 48 KiB");
	tell(out, "way", NN_WAY_BYTES, "bytes",
	     "fixed: rows that are multiples of it apart share a set of the first level");
	tell(out, "block", NN_BLOCK_BYTES, "bytes", "fixed: part of a second level");
	tell_cache(out, "first_level", _SC_LEVEL1_DCACHE_SIZE);
	tell_cache(out, "second_level", _SC_LEVEL2_CACHE_SIZE);
	tell_cache(out, "third_level", _SC_LEVEL3_CACHE_SIZE);
}
