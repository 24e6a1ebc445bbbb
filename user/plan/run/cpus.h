/* SPDX-License-Identifier: MIT */
/*
 * The CPUs that this process may keep busy.
 */
#ifndef NN_PLAN_CPUS_H
#define NN_PLAN_CPUS_H

#include <stdint.h>

/*
 * Returns the number of CPUs in the calling thread's affinity, but at most the quota of the
 * cgroup's cpu.max, rounded down. If a process exceeds the quota, the kernel stops the process for
 * the rest of each period. cpus_usable() returns at least 1.
 */
uint32_t cpus_usable(void);

/*
 * Returns the number of CPUs that cpu.max of a cgroup and of its ancestors allow. `root` is the
 * directory where cgroups are mounted; `path` is the path in /proc/PID/cgroup. UINT32_MAX means
 * that there is no limit, or that the limit is unknown.
 */
uint32_t cpus_of_cgroup(const char *root, const char *path);

#endif /* NN_PLAN_CPUS_H */
