// SPDX-License-Identifier: MIT
/* Handles SIGBUS for files that are truncated while mapped. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/round.h"
#include "kit/api/engine.h"
#include "kit/api/log.h"
#include "kit/session/grants.h"
#include "kit/session/session.h"
#include "kit/worker/worker.h"

/* All grants of this process: a list with a struct grants for each client. */
static struct {
	/* a thread must not take `lock` while it holds the lock of a struct grants */
	pthread_mutex_t lock;
	struct grants *list;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * Returns the protection for mmap(). For memory that no CPU can map, returns PROT_NONE, which only
 * reserves addresses.
 */
static int mmap_prot(uint32_t prot)
{
	if (prot & NNACCEL_PROT_DEVICE)
		return PROT_NONE;
	return PROT_READ | (prot & NNACCEL_PROT_WRITE ? PROT_WRITE : 0);
}

static struct mapping *find_address(struct grants *grants, const void *address)
{
	for (struct mapping *m = grants->mappings; m; m = m->next) {
		if ((uintptr_t)address - (uintptr_t)m->base < m->mapped)
			return m;
	}
	return NULL;
}

/* Replaces a mapping by private zeroes. The caller holds grants->lock. */
static bool take_away(struct mapping *m)
{
	void *zeroes = mmap(m->base, m->mapped, mmap_prot(m->prot),
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	m->stale = true;
	atomic_store(&m->broken, true);
	return zeroes != MAP_FAILED;
}

/*
 * Handles SIGBUS on the thread that accessed the memory. The thread holds no lock of grants.c,
 * because no code accesses client memory under a lock of grants.c.
 */
static void on_bus_error(int signal, siginfo_t *info, void *context)
{
	int saved_errno = errno;
	bool found = false;

	(void)signal;
	(void)context;
	pthread_mutex_lock(&all.lock);
	for (struct grants *g = all.list; g && !found && info->si_code == BUS_ADRERR; g = g->next) {
		struct mapping *m;

		pthread_mutex_lock(&g->lock);
		m = find_address(g, info->si_addr);
		found = m && take_away(m);
		pthread_mutex_unlock(&g->lock);
	}
	pthread_mutex_unlock(&all.lock);
	if (!found) {
		log_error("bus error");
		_exit(WORKER_EXIT_BUS_ERROR);
	}
	errno = saved_errno;
}

bool grants_init(struct grants *grants, const struct nna_engine *engine, int session)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };

	*grants = (struct grants){ .engine = engine, .session = session, .gone = -1 };
	if (pthread_mutex_init(&grants->lock, NULL))
		return false;
	pthread_mutex_lock(&all.lock);
	grants->next = all.list;
	all.list = grants;
	pthread_mutex_unlock(&all.lock);
	sigemptyset(&action.sa_mask);
	return sigaction(SIGBUS, &action, NULL) == 0;
}

static void let_go_of_others(struct mapping *m)
{
	for (uint32_t i = 0; i < NNACCEL_MAX_PLANES; i++) {
		if (m->others[i])
			m->others[i]->users--;
		m->others[i] = NULL;
	}
}

struct nna_engine_region mapping_region(const struct mapping *m)
{
	return (struct nna_engine_region){
		.base = m->base,
		.length = m->length,
		.is_writable = m->prot & NNACCEL_PROT_WRITE,
		.is_device_memory = m->prot & NNACCEL_PROT_DEVICE,
	};
}

static void forget_region(const struct grants *grants, struct mapping *m)
{
	const struct nna_engine_region region = mapping_region(m);

	if (atomic_load(&m->told) && grants->engine->forget_region)
		grants->engine->forget_region(grants->engine, &region);
}

static struct mapping *find_unused(struct grants *grants)
{
	struct mapping *m = grants->mappings;

	while (m && (!m->stale || m->users || m->leaves))
		m = m->next;
	return m;
}

/* Unmaps a mapping and removes it from the list. The caller holds grants->lock. */
static void unmap(struct grants *grants, struct mapping *m)
{
	struct mapping **link = &grants->mappings;

	while (*link != m)
		link = &(*link)->next;
	*link = m->next;
	let_go_of_others(m);
	munmap(m->base, m->mapped);
	free(m);
}

/*
 * Unmaps stale and unused mappings. The caller holds grants->lock; sweep() releases the lock while
 * it notifies the engine, because the engine may be slow. While sweep() notifies the engine, the
 * mapping stays in the list for the SIGBUS handler and grants_revoke(). Only the thread that set
 * the mapping's flag `leaves` removes the mapping. Each step searches the list from its start,
 * because the unmapping of an image may leave the mappings of its planes unused.
 */
static void sweep(struct grants *grants)
{
	struct mapping *m;

	while ((m = find_unused(grants))) {
		m->leaves = true;
		pthread_mutex_unlock(&grants->lock);
		forget_region(grants, m);
		pthread_mutex_lock(&grants->lock);
		unmap(grants, m);
	}
}

/*
 * Finds a grant's mapping. A new grant may have the number of an old grant whose mapping another
 * thread has not removed yet. A mapping whose length differs from the length of the new grant
 * belongs to an old grant of the same number.
 */
static struct mapping *find(struct grants *grants, const struct nnaccel_grant *grant)
{
	for (struct mapping *m = grants->mappings; m; m = m->next) {
		if (m->grant == grant->grant && m->prot == grant->prot && !m->stale &&
		    m->length == grant->length)
			return m;
	}
	return NULL;
}

static enum nn_status map(struct grants *grants, const struct nnaccel_grant *grant,
			  const struct nnaccel_format *format, struct mapping **mapping,
			  struct nn_error *err);

/* Maps those planes of an image that are in other files than the pool. */
static enum nn_status map_others(struct grants *grants, struct mapping *m, struct nn_error *err)
{
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; i < m->format.num_planes && !status; i++) {
		const struct nnaccel_grant *grant = &m->format.planes[i].grant;

		if (grant->grant == m->grant)
			continue;
		m->others[i] = find(grants, grant);
		if (!m->others[i])
			status = map(grants, grant, NULL, &m->others[i], err);
		if (status)
			break;
		m->others[i]->users++;
		m->is_foreign |= m->others[i]->is_foreign;
	}
	if (status)
		let_go_of_others(m);
	return status;
}

static enum nn_status map(struct grants *grants, const struct nnaccel_grant *grant,
			  const struct nnaccel_format *format, struct mapping **mapping,
			  struct nn_error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct mapping *m = calloc(1, sizeof(*m));
	enum nn_status status;

	*mapping = NULL;
	if (grants->revoked) {
		free(m);
		return nn_fail(err, NN_GENERAL_FAILURE, "the session has ended");
	}
	if (!m)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	m->grant = grant->grant;
	m->prot = grant->prot;
	m->length = grant->length;
	m->mapped = round_up(grant->length, page);
	m->is_foreign = grant->prot & NNACCEL_PROT_SYNC;
	if (format)
		m->format = *format;
	if (grant->prot & NNACCEL_PROT_DEVICE)
		m->base = mmap(NULL, m->mapped, mmap_prot(m->prot),
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	else
		m->base = session_map(grants->session, m->mapped, mmap_prot(m->prot),
				      (uint64_t)grant->grant << NNACCEL_GRANT_SHIFT);
	if (m->base == MAP_FAILED) {
		int error = errno;

		free(m);
		return nn_fail(err, error == ENOMEM ? NN_RESOURCE_EXHAUSTED_PERSISTENT :
			       NN_GENERAL_FAILURE, "%llu bytes of memory cannot be mapped: %s",
			       (unsigned long long)grant->length, strerror(error));
	}
	status = map_others(grants, m, err);
	if (status) {
		munmap(m->base, m->mapped);
		free(m);
		return status;
	}
	m->next = grants->mappings;
	grants->mappings = m;
	*mapping = m;
	return NN_OK;
}

bool grants_reach_drivers(const struct grants *grants)
{
	return grants->gone >= 0 || engine_permissions(grants->engine) & NNA_ENGINE_MAY_USE_DRIVERS;
}

bool mapping_is_broken(struct mapping *mapping)
{
	bool broken = atomic_load(&mapping->broken);

	for (uint32_t i = 1; i < mapping->format.num_planes && !broken; i++)
		broken = mapping->others[i] && atomic_load(&mapping->others[i]->broken);
	return broken;
}

enum nn_status grants_get(struct grants *grants, const struct nnaccel_grant *grant,
			  const struct nnaccel_format *format, struct mapping **mapping,
			  struct nn_error *err)
{
	enum nn_status status = NN_OK;

	pthread_mutex_lock(&grants->lock);
	*mapping = find(grants, grant);
	if (!*mapping)
		status = map(grants, grant, format, mapping, err);
	if (!status)
		(*mapping)->users++;
	pthread_mutex_unlock(&grants->lock);
	return status;
}

void grants_put(struct grants *grants, struct mapping *mapping)
{
	if (!mapping)
		return;
	pthread_mutex_lock(&grants->lock);
	mapping->users--;
	if (mapping->stale)
		sweep(grants);
	pthread_mutex_unlock(&grants->lock);
}

static enum nn_status sync_one(struct grants *grants, const struct mapping *mapping,
			       uint32_t flags, struct nn_error *err)
{
	struct nnaccel_session_sync sync = {
		.size = sizeof(sync),
		.flags = flags,
		.grant = mapping->grant,
	};

	while (session_call(grants->session, NNACCEL_SESSION_SYNC, &sync)) {
		/*
		 * Ignore EOPNOTSUPP unless the grant has NNACCEL_PROT_SYNC. The ioctl returns
		 * EOPNOTSUPP for files, which need no sync.
		 */
		if (errno == EOPNOTSUPP && !(mapping->prot & NNACCEL_PROT_SYNC))
			return NN_OK;
		if (errno != EINTR)
			return nn_fail(err, NN_GENERAL_FAILURE,
				       "memory of another driver cannot be reached: %s",
				       strerror(errno));
	}
	return NN_OK;
}

enum nn_status grants_sync(struct grants *grants, const struct mapping *mapping, uint32_t flags,
			   struct nn_error *err)
{
	enum nn_status status, one;

	status = sync_one(grants, mapping, flags, err);
	for (uint32_t i = 1; i < mapping->format.num_planes; i++) {
		if (!mapping->others[i] || (status && !(flags & NNACCEL_SYNC_END)))
			continue;
		one = sync_one(grants, mapping->others[i], flags, err);
		/* After a failure, end the accesses that sync_one() has already begun. */
		if (one && !(flags & NNACCEL_SYNC_END)) {
			struct nn_error ignored = { "" };

			sync_one(grants, mapping, flags | NNACCEL_SYNC_END, &ignored);
			while (--i)
				if (mapping->others[i])
					sync_one(grants, mapping->others[i],
						 flags | NNACCEL_SYNC_END, &ignored);
			return one;
		}
		status = status ? status : one;
	}
	return status;
}

void grants_forget(struct grants *grants, uint32_t grant)
{
	pthread_mutex_lock(&grants->lock);
	for (struct mapping *m = grants->mappings; m; m = m->next) {
		if (m->grant == grant)
			m->stale = true;
	}
	sweep(grants);
	pthread_mutex_unlock(&grants->lock);
}

void grants_revoke(struct grants *grants)
{
	pthread_mutex_lock(&grants->lock);
	grants->revoked = true;
	for (struct mapping *m = grants->mappings; m; m = m->next)
		if (!take_away(m))
			log_error("cannot unmap memory of an ended session: %s", strerror(errno));
	pthread_mutex_unlock(&grants->lock);
}

void grants_sweep(struct grants *grants)
{
	pthread_mutex_lock(&grants->lock);
	sweep(grants);
	pthread_mutex_unlock(&grants->lock);
}

void grants_free(struct grants *grants)
{
	struct grants **link = &all.list;

	pthread_mutex_lock(&all.lock);
	while (*link != grants)
		link = &(*link)->next;
	*link = grants->next;
	pthread_mutex_unlock(&all.lock);
	pthread_mutex_lock(&grants->lock);
	for (struct mapping *m = grants->mappings; m; m = m->next)
		m->stale = true;
	sweep(grants);
	pthread_mutex_unlock(&grants->lock);
	pthread_mutex_destroy(&grants->lock);
}
