/* SPDX-License-Identifier: MIT */
/*
 * Granted memory: mappings through the session, kept until the kernel takes the
 * grant back, and what happens when the file behind one becomes shorter.
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
#include <nnaccel/status.h>

/* A mapping in use. Only base, length and mapping_is_broken() are for users. */
struct mapping {
	struct mapping *next;
	void *base;
	uint64_t length;
	size_t mapped;		/* length in whole pages */
	uint32_t grant;
	uint32_t prot;		/* NNACCEL_PROT_*, NNACCEL_PROT_SYNC included */
	struct nnaccel_format format;	/* with NNACCEL_PROT_FORMATTED; else 0 */
	struct mapping *others[NNACCEL_MAX_PLANES];	/* of planes in other files, or NULL */
	bool is_foreign;	/* it or another plane's file is another driver's */
	unsigned int users;
	bool stale;		/* not to be handed out again */
	bool leaves;		/* a thread tells the engine, and then unmaps it */
	atomic_bool broken;
	atomic_bool told;	/* the engine knows it */
};

struct grants {
	struct grants *next;	/* of those of this process */
	const struct nna_engine *engine;
	int session;
	pthread_mutex_t lock;	/* protects the list and all but `broken` of its entries */
	struct mapping *mappings;
	bool revoked;		/* nothing is mapped any more; under the lock */
};

/*
 * Makes an empty cache for a session's memory and catches SIGBUS: an access
 * beyond the end of a file that a client made shorter turns the whole mapping
 * into zeroes of our own and marks it broken, so that whoever uses it runs on
 * and fails afterwards.
 */
bool grants_init(struct grants *grants, const struct nna_engine *engine, int session);

/*
 * Turns all memory into zeroes of our own, which whoever still uses it may read and write, and
 * maps nothing from now on: the session has ended. The engine is not called.
 */
void grants_revoke(struct grants *grants);

/* Unmaps what grants_revoke() left and nobody uses: the engine is told of it. */
void grants_sweep(struct grants *grants);

/* Unmaps everything, once nobody uses any of it. */
void grants_free(struct grants *grants);

/*
 * Maps a grant with its protection, or finds it mapped; grants_put() ends the use. `format`: of a
 * grant with NNACCEL_PROT_FORMATTED; else NULL.
 */
enum nn_status grants_get(struct grants *grants, const struct nnaccel_grant *grant,
			  const struct nnaccel_format *format, struct mapping **mapping,
			  struct nn_error *err);

/* NULL is fine. */
void grants_put(struct grants *grants, struct mapping *mapping);

/* The kernel took a grant back: unmaps it, now or after its last use. */
void grants_forget(struct grants *grants, uint32_t grant);

/*
 * A burst's request is about to access a mapping (`flags`: NNACCEL_SYNC_READ,
 * NNACCEL_SYNC_WRITE), or did (NNACCEL_SYNC_END besides). Memory that a device uses
 * needs that; of a file nothing is to be done.
 */
enum nn_status grants_sync(struct grants *grants, const struct mapping *mapping, uint32_t flags,
			   struct nn_error *err);

/* What engines know of a mapping. */
struct nna_engine_region mapping_region(const struct mapping *mapping);

/* True once an access hit memory that is no longer there. */
bool mapping_is_broken(struct mapping *mapping);

#endif /* NN_KIT_GRANTS_H */
