// SPDX-License-Identifier: MIT
/*
 * One thread, the watcher, waits for requests on all idle bursts. A separate thread serves each
 * active burst, except while the engine defers the burst's execution.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "kit/api/log.h"
#include "kit/burst/bursts.h"
#include "kit/burst/executor.h"
#include "kit/plugin/guard.h"
#include "kit/session/session.h"

/*
 * Time for which a thread waits for a request before the thread returns the burst to the watcher.
 */
#define LINGER_NS UINT64_C(100000000)

/* Maximum time for which the watcher sleeps between two checks of the bursts. */
#define WATCH_NS NS_PER_S

/*
 * Limits of the free memory that malloc() retains while a burst is open (WARM_*) and while no burst
 * is open (COLD_*).
 */
#define WARM_TRIM INT_MAX
#define WARM_MMAP (32 << 20)
#define COLD_BYTES (128 << 10)

/*
 * A burst. The list `bursts->list` holds a reference to each burst, and each caller of a burst's
 * executor holds another reference. No thread calls the engine under the lock of struct bursts,
 * because the engine may be slow. The last reference to a burst is dropped under the lock of struct
 * bursts, but the burst is freed after unlocking.
 */
struct burst {
	struct burst *next;		/* next burst in the list */
	/*
	 * True while the watcher waits for a request of this burst. While is_parked is false, a
	 * thread or task owns the burst, and only the owner removes the burst from the list.
	 */
	bool is_parked;
	/* number of references; the lock of struct bursts protects `pins` and the fields above */
	unsigned int pins;
	struct bursts *bursts;
	struct task ready;		/* task that serves the burst */
	int session;
	uint32_t number;
	struct loaded_model *loaded;
	struct executor *executor;
	struct nn_rings rings;
	uint64_t spin_ns;
	struct nn_ring ring;
};

bool bursts_init(struct bursts *bursts, struct grants *grants, struct models *models,
		 struct tasks *tasks)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*bursts = (struct bursts){
		.grants = grants,
		.models = models,
		.tasks = tasks,
		.spin_ns = nn_spin_budget(-1, false),
		.max_spinning = cpus < 2 ? 0 : (unsigned int)cpus / 2,
	};
	return !pthread_mutex_init(&bursts->lock, NULL) &&
	       !pthread_cond_init(&bursts->opened, NULL);
}

/* ---- reserve of memory ---- */

/* While a burst is open, the heap keeps freed memory for the next execution. */
static void keep_warm(bool warm)
{
	static atomic_uint clients;

	/* Change nothing if another client of this process has bursts. */
	if (warm ? atomic_fetch_add(&clients, 1) : atomic_fetch_sub(&clients, 1) > 1)
		return;
	mallopt(M_TRIM_THRESHOLD, warm ? WARM_TRIM : COLD_BYTES);
	mallopt(M_MMAP_THRESHOLD, warm ? WARM_MMAP : COLD_BYTES);
	if (!warm)
		malloc_trim(0);
}

/* ---- a burst ---- */

static void *map_region(const void *end, size_t length, int prot, uint64_t region)
{
	const struct burst *burst = end;

	return session_map(burst->session, length, prot,
			   NNACCEL_BURST_MAP | (uint64_t)burst->number << NNACCEL_BURST_SHIFT | region);
}

/* Frees a burst. The caller must not hold bursts->lock, because burst_free() calls the engine. */
static void burst_free(struct bursts *bursts, struct burst *burst)
{
	if (burst->executor)
		executor_free(burst->executor);
	if (burst->loaded)
		models_put(bursts->models, burst->loaded, NULL);
	nn_rings_unmap(&burst->rings);
	free(burst);
}

static void serve_ready(struct task *task);

static enum nn_status burst_init(struct bursts *bursts, const struct nnaccel_cmd *head,
				 struct burst *burst, struct nn_error *err)
{
	struct nn_ring_map map;
	enum nn_status status;

	burst->bursts = bursts;
	burst->ready.run = serve_ready;
	burst->session = bursts->grants->session;
	burst->number = head->burst;
	burst->spin_ns = head->flags & NNACCEL_BURST_NO_SPIN ? 0 : bursts->spin_ns;
	burst->loaded = models_get(bursts->models, head->model, NULL);
	if (!burst->loaded)
		return nn_fail(err, NN_GENERAL_FAILURE, "the client has no such model");
	status = executor_create(bursts->models, burst->loaded, burst->number, &burst->executor,
				 err);
	if (status)
		return status;
	if (!nn_rings_map(&burst->rings, map_region, burst, false, &map))
		return nn_fail(err, NN_GENERAL_FAILURE, "cannot map a burst's rings: %s",
			       strerror(errno));
	burst->executor->devices = &map.status->devices;
	return nn_ring_init(&burst->ring, &map, burst->spin_ns) ?
	       nn_fail(err, NN_GENERAL_FAILURE, "the burst's ring sizes are invalid") : NN_OK;
}

/* ---- the list, under the lock ---- */

static struct burst **find(struct bursts *bursts, uint32_t number)
{
	struct burst **link = &bursts->list;

	while (*link && (*link)->number != number)
		link = &(*link)->next;
	return link;
}

static void add(struct bursts *bursts, struct burst *burst)
{
	burst->next = bursts->list;
	burst->pins = 1;
	bursts->list = burst;
	if (bursts->count++ == 0)
		keep_warm(true);
}

/*
 * Drops a reference to a burst. Returns whether the caller must free the burst after it has
 * released bursts->lock.
 */
static bool unpin(struct burst *burst)
{
	return --burst->pins == 0;
}

/*
 * Removes a burst from the list, and unmaps the burst's rings, because bursts_revoke() unmaps only
 * the rings of bursts in the list.
 */
static bool take_out(struct bursts *bursts, struct burst *burst)
{
	*find(bursts, burst->number) = burst->next;
	nn_rings_unmap(&burst->rings);
	if (--bursts->count)
		return unpin(burst);
	while (bursts->scratches) {
		struct scratch *scratch = bursts->scratches;

		bursts->scratches = scratch->next;
		scratch_free(scratch);
	}
	keep_warm(false);
	return unpin(burst);
}

/*
 * Takes the most recently used scratch memory with enough capacity, because this memory is most
 * likely in the CPU's caches. Returns NULL if no free scratch memory has enough capacity.
 */
static struct scratch *take_scratch(struct bursts *bursts, uint32_t capacity)
{
	struct scratch **link = &bursts->scratches, *scratch;

	while (*link && (*link)->capacity < capacity)
		link = &(*link)->next;
	scratch = *link;
	if (scratch)
		*link = scratch->next;
	return scratch;
}

static void put_scratch(struct bursts *bursts, struct scratch *scratch)
{
	if (!scratch)
		return;
	scratch->next = bursts->scratches;
	bursts->scratches = scratch;
}

static void enqueue(struct bursts *bursts, struct burst *burst)
{
	burst->is_parked = false;
	tasks_add(bursts->tasks, &burst->ready);
}

/*
 * Returns a burst to the watcher. If a request has already arrived, queues the burst for a serving
 * thread instead of the watcher.
 */
static void park(struct bursts *bursts, struct burst *burst)
{
	if (nn_ring_park(&burst->ring))
		burst->is_parked = true;
	else
		enqueue(bursts, burst);
}

/* ---- commands ---- */

enum nn_status bursts_open(struct bursts *bursts, const struct command *command,
			   struct nn_error *err)
{
	struct burst *burst = calloc(1, sizeof(*burst));
	enum nn_status status;
	bool open;

	if (!burst)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	status = burst_init(bursts, command->head, burst, err);
	if (status) {
		burst_free(bursts, burst);
		return status;
	}
	pthread_mutex_lock(&bursts->lock);
	errno = ESHUTDOWN;
	if (!bursts->ended && !bursts->doorbell.base &&
	    nn_region_map(&bursts->doorbell, map_region, burst, NNACCEL_BURST_DOORBELL,
			  sizeof(uint32_t), PROT_READ))
		pthread_cond_signal(&bursts->opened);
	open = bursts->doorbell.base && !bursts->ended;
	if (open) {
		add(bursts, burst);
		park(bursts, burst);
	}
	pthread_mutex_unlock(&bursts->lock);
	if (open)
		return NN_OK;
	burst_free(bursts, burst);
	return nn_fail(err, NN_GENERAL_FAILURE, "cannot watch a burst's doorbell: %s",
		       strerror(errno));
}

/*
 * Removes a burst for whose requests the watcher waits (is_parked). If a thread serves the burst,
 * the function only interrupts the thread, which then notices that the kernel has marked the burst
 * dead.
 */
void bursts_close(struct bursts *bursts, uint32_t number)
{
	struct burst *burst;
	bool last = false;

	pthread_mutex_lock(&bursts->lock);
	burst = *find(bursts, number);
	if (burst && burst->is_parked)
		last = take_out(bursts, burst);
	else if (burst)
		nn_ring_interrupt(&burst->ring);
	pthread_mutex_unlock(&bursts->lock);
	if (last)
		burst_free(bursts, burst);
}

void bursts_forget_slot(struct bursts *bursts, uint32_t number, uint32_t slot)
{
	struct burst *burst;
	bool last;

	pthread_mutex_lock(&bursts->lock);
	burst = *find(bursts, number);
	if (burst)
		burst->pins++;
	pthread_mutex_unlock(&bursts->lock);
	if (!burst)
		return;
	executor_forget(burst->executor, slot);
	pthread_mutex_lock(&bursts->lock);
	last = unpin(burst);
	pthread_mutex_unlock(&bursts->lock);
	if (last)
		burst_free(bursts, burst);
}

/* ---- the watcher ---- */

static void queue_woken(struct bursts *bursts)
{
	for (struct burst *burst = bursts->list; burst; burst = burst->next) {
		if (!burst->is_parked)
			continue;
		if (nn_ring_has_packet(&burst->ring) || nn_ring_is_dead(&burst->ring)) {
			nn_ring_unpark(&burst->ring);
			enqueue(bursts, burst);
		}
	}
}

void bursts_watch(struct bursts *bursts)
{
	pthread_mutex_lock(&bursts->lock);
	while (!bursts->doorbell.base && !bursts->ended)
		pthread_cond_wait(&bursts->opened, &bursts->lock);
	while (!bursts->ended) {
		uint32_t seen = nn_doorbell_read(bursts->doorbell.base);

		queue_woken(bursts);
		pthread_mutex_unlock(&bursts->lock);
		nn_doorbell_wait(bursts->doorbell.base, seen, WATCH_NS);
		pthread_mutex_lock(&bursts->lock);
	}
	pthread_mutex_unlock(&bursts->lock);
}

/* ---- the serving threads ---- */

static void fail_request(struct scratch *scratch, const struct burst *burst, const char *what,
			 const char *wrong)
{
	log_debug("burst %u: %s: %s", burst->number, what, wrong);
	scratch->err.message[0] = '\0';
	nn_fail(&scratch->err, NN_GENERAL_FAILURE, "%s: %s", what, wrong);
	scratch->result.message = scratch->err.message;
	scratch->result.status = NNACCEL_STATUS_GENERAL_FAILURE;
	scratch->result.num_outputs = 0;
	scratch->result.device_ns = NNACCEL_TIME_NONE;
	scratch->result.driver_ns = NNACCEL_TIME_NONE;
}

/* Sends scratch->result, or an error if the result is too large for the ring. */
static enum nn_ring_result send_result(struct burst *burst, struct scratch *scratch,
				       uint64_t until_ns)
{
	uint32_t length;

	length = nn_result_encode(&scratch->result, scratch->datums, burst->ring.map.capacity);
	if (!length) {
		fail_request(scratch, burst, "the result", "it does not fit the ring");
		length = nn_result_encode(&scratch->result, scratch->datums,
					  burst->ring.map.capacity);
	}
	return nn_ring_send(&burst->ring, scratch->datums, length, until_ns);
}

/* Time limit for sending a last error to the client, before the worker ends. */
#define FAIL_NS UINT64_C(100000000)

struct serving {
	struct guard_job job;
	struct scratch *scratch;
};

static void fail_serving(struct guard_job *job, const char *reason)
{
	const struct serving *s = (struct serving *)job;

	fail_request(s->scratch, s->scratch->burst, "execute", reason);
	send_result(s->scratch->burst, s->scratch, clock_ns() + FAIL_NS);
}

/* Finishes a request after its execution: updates the burst's counters and sends the result. */
static enum nn_ring_result end_request(struct burst *burst, struct scratch *scratch)
{
	enum nn_ring_result result;

	for (; burst->executor->misses; burst->executor->misses--)
		nn_ring_count_miss(&burst->ring);
	nn_ring_count_device(&burst->ring, scratch->device_ns);
	result = send_result(burst, scratch, NN_RING_FOREVER);
	if (result == NN_RING_OK && scratch->is_lost) {
		burst->bursts->lost(burst->bursts);
		return NN_RING_AGAIN;
	}
	return result;
}

/*
 * Executes the request in scratch->datums and sends its result. Returns false if the engine defers
 * the execution.
 */
static bool execute(struct burst *burst, struct scratch *scratch, uint32_t count,
		    enum nn_ring_result *result)
{
	const char *wrong = nn_request_parse(scratch->datums, count, &scratch->request);
	struct serving serving = { { fail_serving }, scratch };
	bool has_ended;

	if (wrong) {
		fail_request(scratch, burst, "malformed request", wrong);
		*result = send_result(burst, scratch, NN_RING_FOREVER);
		return true;
	}
	guard_set_job(&serving.job);
	has_ended = executor_run(burst->executor, scratch);
	guard_set_job(NULL);
	if (has_ended)
		*result = end_request(burst, scratch);
	return has_ended;
}

/*
 * Returns the time until which a thread waits for the next request of its burst. Returns 0 if no
 * other thread is idle, so that the calling thread becomes free immediately.
 */
static uint64_t linger_until(struct bursts *bursts)
{
	return atomic_load(&bursts->tasks->idle) ? clock_ns() + LINGER_NS : 0;
}

/*
 * Serves a burst's requests until no request has come for a while (NN_RING_AGAIN) or the burst has
 * ended. Returns false if the engine defers an execution; the task serve_deferred() then owns the
 * burst.
 */
static bool serve_requests(struct burst *burst, struct scratch *scratch,
			   enum nn_ring_result *result)
{
	struct bursts *bursts = burst->bursts;
	uint32_t count;

	while (*result == NN_RING_OK) {
		burst->ring.waiter.budget_ns =
			atomic_load(&bursts->serving) > bursts->max_spinning ? 0 : burst->spin_ns;
		*result = nn_ring_try_receive(&burst->ring, scratch->datums, &count);
		if (*result == NN_RING_AGAIN)
			*result = nn_ring_receive(&burst->ring, scratch->datums, &count,
						  linger_until(bursts));
		if (*result == NN_RING_OK && !execute(burst, scratch, count, result))
			return false;
	}
	return true;
}

/* Marks a burst, which the calling thread serves, as broken after an error of the burst's ring. */
static void retire(struct burst *burst, enum nn_ring_result result)
{
	if (result == NN_RING_DEAD || result == NN_RING_AGAIN)
		return;
	log_warning("burst %u: %s", burst->number, nn_ring_result_name(result));
	nn_ring_break(&burst->ring);
}

/*
 * Serves a burst on the calling thread. The parameter `result` is the result of the last
 * nn_ring_send() for the burst, or NN_RING_OK.
 */
static void serve(struct burst *burst, struct scratch *scratch, enum nn_ring_result result)
{
	struct bursts *bursts = burst->bursts;
	bool last = false, is_mine;

	atomic_fetch_add(&bursts->serving, 1);
	is_mine = serve_requests(burst, scratch, &result);
	atomic_fetch_sub(&bursts->serving, 1);
	if (!is_mine)
		return;
	pthread_mutex_lock(&bursts->lock);
	put_scratch(bursts, scratch);
	if (result == NN_RING_AGAIN && !bursts->ended) {
		park(bursts, burst);
	} else {
		retire(burst, result);
		last = take_out(bursts, burst);
	}
	pthread_mutex_unlock(&bursts->lock);
	if (last)
		burst_free(bursts, burst);
}

/* The task that runs after the end of a deferred execution. */
static void serve_deferred(struct task *task)
{
	struct scratch *scratch = (void *)((char *)task - offsetof(struct scratch, running.end));

	executor_resume(scratch->burst->executor, scratch);
	serve(scratch->burst, scratch, end_request(scratch->burst, scratch));
}

/* The task that serves a burst which has requests. */
static void serve_ready(struct task *task)
{
	struct burst *burst = (void *)((char *)task - offsetof(struct burst, ready));
	struct bursts *bursts = burst->bursts;
	struct scratch *scratch;

	pthread_mutex_lock(&bursts->lock);
	if (bursts->ended) {
		pthread_mutex_unlock(&bursts->lock);
		return;
	}
	scratch = take_scratch(bursts, burst->ring.map.capacity);
	pthread_mutex_unlock(&bursts->lock);
	if (!scratch)
		scratch = scratch_create(burst->ring.map.capacity);
	if (scratch) {
		scratch->burst = burst;
		scratch->running.tasks = bursts->tasks;
		scratch->running.end.run = serve_deferred;
	} else {
		log_error("burst %u: out of memory", burst->number);
	}
	serve(burst, scratch, scratch ? NN_RING_OK : NN_RING_BROKEN);
}

/* ---- the end ---- */

void bursts_end(struct bursts *bursts)
{
	pthread_mutex_lock(&bursts->lock);
	bursts->ended = true;
	pthread_cond_broadcast(&bursts->opened);
	for (struct burst *burst = bursts->list; burst; burst = burst->next)
		nn_ring_interrupt(&burst->ring);
	pthread_mutex_unlock(&bursts->lock);
}

/*
 * Atomically replaces a mapping by private memory that contains the word `first` followed by
 * zeroes.
 */
static void replace(const struct nn_region *region, uint32_t first)
{
	uint32_t *own;

	if (!region->base)
		return;
	own = mmap(NULL, region->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (own != MAP_FAILED) {
		*own = first;
		if (mremap(own, region->length, region->length, MREMAP_MAYMOVE | MREMAP_FIXED,
			   region->base) != MAP_FAILED)
			return;
	}
	log_error("cannot unmap a burst of an ended session: %s", strerror(errno));
}

void bursts_revoke(struct bursts *bursts)
{
	_Static_assert(offsetof(struct nnaccel_burst_status, state) == 0, "what replace() writes");
	pthread_mutex_lock(&bursts->lock);
	for (struct burst *burst = bursts->list; burst; burst = burst->next) {
		replace(&burst->rings.status, NNACCEL_BURST_DEAD);
		replace(&burst->rings.requests, 0);
		replace(&burst->rings.results, 0);
	}
	replace(&bursts->doorbell, 0);
	pthread_mutex_unlock(&bursts->lock);
}

void bursts_free(struct bursts *bursts)
{
	struct burst *burst;

	while ((burst = bursts->list))
		if (take_out(bursts, burst))
			burst_free(bursts, burst);
	nn_region_unmap(&bursts->doorbell);
	pthread_cond_destroy(&bursts->opened);
	pthread_mutex_destroy(&bursts->lock);
}
