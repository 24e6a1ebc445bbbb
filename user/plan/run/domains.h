/* SPDX-License-Identifier: MIT */
/*
 * Finds domains: a domain is a set of CPUs that share a last-level cache.
 */
#ifndef NN_PLAN_DOMAINS_H
#define NN_PLAN_DOMAINS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A domain and the domains of its CPU package, as bit masks. If there are more than 32 domains,
 * several domains have the same bit.
 */
struct domain {
	uint32_t bit;
	uint32_t package;		/* bits of all domains in the same CPU package */
};

/* The domains of all CPUs. The caller frees the member `of` with free(). */
struct domains {
	uint32_t num_cpus;
	uint32_t count;
	uint8_t *of;			/* of[cpu]: index of the CPU's domain */
	struct domain domains[UINT8_MAX];
};

/*
 * Reads the domains of CPUs 0 ... num_cpus - 1 from the folder `root`, laid out like
 * /sys/devices/system/cpu. A CPU that shares its last-level cache with no other CPU belongs to the
 * domain of its package. Returns false if `root` lists neither the CPUs that share a CPU's cache
 * nor the CPUs of its package, or if memory runs out.
 */
bool domains_read(struct domains *d, const char *root, uint32_t num_cpus);

/* Reads the domains of this system at the first call. */
void domains_start(void);

/* Returns the number of domains; 0 if the number is unknown. */
uint32_t domains_count(void);

/*
 * Returns the domain of the CPU that runs the calling thread. All bits of the result are set if
 * there is only one domain.
 */
struct domain domain_here(void);

#endif /* NN_PLAN_DOMAINS_H */
