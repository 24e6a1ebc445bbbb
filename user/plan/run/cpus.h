/* SPDX-License-Identifier: MIT */
/*
 * The CPUs that this process may keep busy.
 */
#ifndef NN_PLAN_CPUS_H
#define NN_PLAN_CPUS_H

#include <stdint.h>

/*
 * The CPUs of the calling thread's affinity, but no more than the cgroup's cpu.max pays for,
 * rounded down: a process that uses more than that is stopped for the rest of each period. At least
 * 1.
 */
uint32_t cpus_usable(void);

/*
 * CPUs that cpu.max of a cgroup and of those above it pay for. `root` is where cgroups are mounted,
 * `path` is as /proc/PID/cgroup has it. UINT32_MAX: no limit, or an unknown one.
 */
uint32_t cpus_of_cgroup(const char *root, const char *path);

#endif /* NN_PLAN_CPUS_H */
