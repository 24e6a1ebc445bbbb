/* SPDX-License-Identifier: MIT */
/*
 * How many CPUs this process may keep busy.
 */
#ifndef NN_PLAN_CPUS_H
#define NN_PLAN_CPUS_H

#include <stdint.h>

/*
 * Those of the calling thread's affinity, but no more than the cgroup's cpu.max pays for, rounded
 * down: who uses more than that is stopped for the rest of each period. At least 1.
 */
uint32_t cpus_usable(void);

/*
 * CPUs that cpu.max of a cgroup and of those above it pay for. `root` is where cgroups are
 * mounted, `path` is as /proc/PID/cgroup has it. UINT32_MAX: there is no limit, or none is told.
 */
uint32_t cpus_of_cgroup(const char *root, const char *path);

#endif /* NN_PLAN_CPUS_H */
