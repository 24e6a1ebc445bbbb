/* SPDX-License-Identifier: MIT */
/*
 * Maps memory that the kernel grants to a session. A grant stays mapped until the kernel ends the
 * grant.
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

/*
 * A mapping of memory that the kernel has granted. Code outside grants.c may use only `base`,
 * `length` and mapping_is_broken().
 */
struct mapping {
	struct mapping *next;
	void *base;
	uint64_t length;
	size_t mapped;		/* the value of `length`, rounded up to whole pages */
	uint32_t grant;
	uint32_t prot;		/* NNACCEL_PROT_*, NNACCEL_PROT_SYNC included */
	/* format of the memory, if `prot` has NNACCEL_PROT_FORMATTED */
	struct nnaccel_format format;
	/* For each plane in another file than this mapping: the plane's mapping; otherwise NULL. */
	struct mapping *others[NNACCEL_MAX_PLANES];
	bool is_foreign; /* true: the memory or one of its planes belongs to another driver */
	unsigned int users;
	/* true: no new execution uses the mapping, which is unmapped after its last use */
	bool stale;
	/* true: a thread is notifying the engine that the memory will be unmapped */
	bool leaves;
	atomic_bool broken;
	atomic_bool told;	/* true: the engine has received the mapping */
};

struct grants {
	struct grants *next;	/* grants of the next client of this process */
	const struct nna_engine *engine;
	int session;
	int gone;	/* fd, readable when the client has ended; -1 in a process for one client */
	/* lock that protects the list and all fields of its mappings except `broken` */
	pthread_mutex_t lock;
	struct mapping *mappings;
	bool revoked;		/* true: no memory may be mapped any more; protected by `lock` */
};

/*
 * Creates an empty list of mappings for a session, and installs a SIGBUS handler. If a thread
 * accesses memory beyond the end of a truncated file, the handler replaces the whole mapping by
 * private zeroes and marks the mapping broken. The thread that received SIGBUS continues with the
 * zeroes, and its execution fails at the end.
 */
bool grants_init(struct grants *grants, const struct nna_engine *engine, int session);

/*
 * The session must have ended before the call of grants_revoke(). Replaces all mapped memory by
 * private zeroes, which threads that use the mappings may still read and write. After
 * grants_revoke(), grants_get() maps no memory. The function grants_revoke() does not call the
 * engine.
 */
void grants_revoke(struct grants *grants);

/* Returns whether the engine may pass granted memory to drivers. */
bool grants_reach_drivers(const struct grants *grants);

/* Unmaps unused memory that grants_revoke() has replaced by zeroes, and notifies the engine. */
void grants_sweep(struct grants *grants);

/* Unmaps all grants. The caller must ensure that no mapping is in use. */
void grants_free(struct grants *grants);

/*
 * Returns the mapping of a grant, with the grant's protection. Maps the grant's memory if the
 * memory is not yet mapped. The caller must later call grants_put(). `format` is the format of a
 * grant with NNACCEL_PROT_FORMATTED, and otherwise NULL.
 */
enum nn_status grants_get(struct grants *grants, const struct nnaccel_grant *grant,
			  const struct nnaccel_format *format, struct mapping **mapping,
			  struct nn_error *err);

/* Releases a mapping that grants_get() returned. Does nothing if `mapping` is NULL. */
void grants_put(struct grants *grants, struct mapping *mapping);

/*
 * Unmaps the memory of a grant that the kernel has ended. If a mapping of the grant is in use, the
 * memory is unmapped after the last use.
 */
void grants_forget(struct grants *grants, uint32_t grant);

/*
 * Begins an access of a burst's request to a mapping; `flags` are NNACCEL_SYNC_READ and
 * NNACCEL_SYNC_WRITE. If `flags` also have NNACCEL_SYNC_END, ends the access instead of beginning
 * it. Burst requests need grants_sync() for memory that a device uses; for a file, grants_sync()
 * does nothing.
 */
enum nn_status grants_sync(struct grants *grants, const struct mapping *mapping, uint32_t flags,
			   struct nn_error *err);

struct nna_engine_region mapping_region(const struct mapping *mapping);

/* Returns true if a thread has accessed the mapping beyond the end of its truncated file. */
bool mapping_is_broken(struct mapping *mapping);

#endif /* NN_KIT_GRANTS_H */
