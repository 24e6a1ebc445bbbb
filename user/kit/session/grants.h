/* SPDX-License-Identifier: MIT */
/*
 * Granted memory. A grant is mapped through the session and stays mapped until the kernel ends the
 * grant. Also handles files that are truncated while mapped.
 */
#ifndef NN_KIT_GRANTS_H
#define NN_KIT_GRANTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/nnaccel.h>
#include <nnaccel/engine.h>
#include <nnaccel/engine_model.h>

/* A mapping in use. Other files may use only `base`, `length` and mapping_is_broken(). */
struct mapping {
	struct mapping *next;
	void *base;
	uint64_t length;
	size_t mapped;		/* `length`, rounded up to whole pages */
	uint32_t grant;
	uint32_t prot;		/* NNACCEL_PROT_*, NNACCEL_PROT_SYNC included */
	/* format of the memory, if `prot` has NNACCEL_PROT_FORMATTED */
	struct nnaccel_format format;
	/* For each plane in another file, its mapping; otherwise NULL. */
	struct mapping *others[NNACCEL_MAX_PLANES];
	bool is_foreign;	/* the memory or one of its planes belongs to another driver */
	unsigned int users;
	bool stale;		/* the mapping must not be used again */
	bool leaves;		/* a thread is notifying the engine, and unmaps the memory then */
	atomic_bool broken;
	atomic_bool told;	/* the engine has been given the mapping */
};

struct grants {
	struct grants *next;	/* next in the list of all clients of the process */
	const struct nna_engine *engine;
	int session;
	int gone;	/* becomes readable when the client ends; -1 if a process serves it */
	pthread_mutex_t lock;	/* protects the list and all but `broken` of its entries */
	struct mapping *mappings;
	bool revoked;		/* no more memory is mapped; protected by the lock */
};

/*
 * Creates an empty list of mappings for a session and installs a handler of SIGBUS. If a thread
 * accesses memory beyond the end of a truncated file, the handler replaces the whole mapping by
 * private zeroes and marks it broken. The thread continues, and its work fails afterwards.
 */
bool grants_init(struct grants *grants, const struct nna_engine *engine, int session);

/*
 * Called after the end of the session. Replaces all memory by private zeroes, which users of the
 * mappings may still read and write. From now on nothing is mapped. Does not call the engine.
 */
void grants_revoke(struct grants *grants);

/* Returns whether the engine may give the memory to drivers. */
bool grants_reach_drivers(const struct grants *grants);

/* Unmaps unused memory that is still mapped after grants_revoke(), and notifies the engine. */
void grants_sweep(struct grants *grants);

/* Unmaps everything. No mapping may be in use. */
void grants_free(struct grants *grants);

/*
 * Returns the mapping of a grant, with the grant's protection. Maps the grant if it is not mapped
 * yet. grants_put() must follow. `format` is the format of a grant with NNACCEL_PROT_FORMATTED, and
 * otherwise NULL.
 */
enum nn_status grants_get(struct grants *grants, const struct nnaccel_grant *grant,
			  const struct nnaccel_format *format, struct mapping **mapping,
			  struct nn_error *err);

/* Ends a use of a mapping. Does nothing for NULL. */
void grants_put(struct grants *grants, struct mapping *mapping);

/* Unmaps a grant that the kernel has ended: now or, if it is in use, after its last use. */
void grants_forget(struct grants *grants, uint32_t grant);

/*
 * Begins an access of a burst's request to a mapping; `flags` are NNACCEL_SYNC_READ and
 * NNACCEL_SYNC_WRITE. Ends the access if `flags` also have NNACCEL_SYNC_END. Needed for memory that
 * a device uses; does nothing for a file.
 */
enum nn_status grants_sync(struct grants *grants, const struct mapping *mapping, uint32_t flags,
			   struct nn_error *err);

/* Describes a mapping to an engine. */
struct nna_engine_region mapping_region(const struct mapping *mapping);

/* Returns true if an access has hit memory that no longer exists. */
bool mapping_is_broken(struct mapping *mapping);

#endif /* NN_KIT_GRANTS_H */
