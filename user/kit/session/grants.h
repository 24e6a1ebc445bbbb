/* SPDX-License-Identifier: MIT */
/*
 * Granted memory: mappings through the session, which stay until the kernel ends the grant, and the
 * handling of files that are truncated while mapped.
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

/* A mapping in use. Only base, length and mapping_is_broken() are for users. */
struct mapping {
	struct mapping *next;
	void *base;
	uint64_t length;
	size_t mapped;		/* length in whole pages */
	uint32_t grant;
	uint32_t prot;		/* NNACCEL_PROT_*, NNACCEL_PROT_SYNC included */
	struct nnaccel_format format;	/* format with NNACCEL_PROT_FORMATTED; otherwise 0 */
	/* Mappings of planes in other files, or NULL. */
	struct mapping *others[NNACCEL_MAX_PLANES];
	bool is_foreign;	/* the memory, or a plane of it, is another driver's */
	unsigned int users;
	bool stale;		/* the mapping must not be used again */
	bool leaves;		/* a thread notifies the engine, and then unmaps it */
	atomic_bool broken;
	atomic_bool told;	/* the engine knows the mapping */
};

struct grants {
	struct grants *next;	/* next structure in the process' list */
	const struct nna_engine *engine;
	int session;
	int gone;		/* readable once the client has ended; -1: a process serves it */
	pthread_mutex_t lock;	/* protects the list and all but `broken` of its entries */
	struct mapping *mappings;
	bool revoked;		/* no memory is mapped any more; under the lock */
};

/*
 * Creates an empty cache for a session's memory and handles SIGBUS. An access beyond the end of a
 * truncated file replaces the whole mapping by private zeroes and marks it broken. The thread that
 * accessed it runs on and fails afterwards.
 */
bool grants_init(struct grants *grants, const struct nna_engine *engine, int session);

/*
 * Replaces all memory by private zeroes, which its users may still read and write, and maps nothing
 * from now on: the session has ended. The engine is not called.
 */
void grants_revoke(struct grants *grants);

/* Returns whether the engine may give the memory to drivers. */
bool grants_reach_drivers(const struct grants *grants);

/* Unmaps unused memory that grants_revoke() left, and notifies the engine. */
void grants_sweep(struct grants *grants);

/* Unmaps everything; no mapping may be in use. */
void grants_free(struct grants *grants);

/*
 * Maps a grant with its protection, or finds its mapping; grants_put() ends the use. `format`
 * belongs to a grant with NNACCEL_PROT_FORMATTED; otherwise it is NULL.
 */
enum nn_status grants_get(struct grants *grants, const struct nnaccel_grant *grant,
			  const struct nnaccel_format *format, struct mapping **mapping,
			  struct nn_error *err);

/* Ends a use of a mapping; NULL does nothing. */
void grants_put(struct grants *grants, struct mapping *mapping);

/* Unmaps a grant that the kernel ended, now or after its last use. */
void grants_forget(struct grants *grants, uint32_t grant);

/*
 * Begins an access of a burst's request to a mapping (`flags`: NNACCEL_SYNC_READ,
 * NNACCEL_SYNC_WRITE), or ends it (NNACCEL_SYNC_END besides). Memory that a device uses needs this;
 * for a file it does nothing.
 */
enum nn_status grants_sync(struct grants *grants, const struct mapping *mapping, uint32_t flags,
			   struct nn_error *err);

/* Describes a mapping to an engine. */
struct nna_engine_region mapping_region(const struct mapping *mapping);

/* Returns true once an access hit memory that no longer exists. */
bool mapping_is_broken(struct mapping *mapping);

#endif /* NN_KIT_GRANTS_H */
