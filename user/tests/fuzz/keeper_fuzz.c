/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the keeper of the compilation cache. Three workers (two workers of one user) and an
 * administrator send packets, and the workers misuse the memory that the keeper sends. Tables in
 * memory replace the disk; the test checks the keeper's answers by these tables. A single thread
 * does the work of all the keeper's threads, because waking threads would take longer than the
 * work.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/socket.h>

static int no_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
		     void *data)
{
	(void)thread;
	(void)attributes;
	(void)body;
	(void)data;
	return 0;
}
/*
 * The macros below replace functions of the keeper's loop, so that the loop starts no threads, and
 * sends and receives packets without system calls.
 */
#include "kit/cache/message.h"

static int take_packet(int socket, enum message_way way, int flags, struct message *message,
		       int *file);
static bool take_answer(int socket, const struct message *message, int file);

#define pthread_create no_thread
#define message_receive take_packet
#define message_send take_answer
#include "engine/keeper/loop.c"
#undef message_send
#undef message_receive
#undef pthread_create

#define WORKERS 3
#define ADMIN WORKERS		/* the last client */
#define CLIENTS (WORKERS + 1)
#define ENTRIES 16
#define MAX_PLAN 16384

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One step of a fuzzer's input; after a step of kind PACKET, `size` bytes of a packet follow. */
struct step {
	uint8_t worker;
	uint8_t what;			/* enum act; any larger number means PACKET */
	uint8_t size;
	uint8_t byte;
};

enum act { PACKET, POKE, UNMAP, RESIZE, HANG_UP, FILL, LATER, LOOK };

static struct worker {
	int memory;			/* memory that the worker got, or -1 */
	uint8_t *map;			/* mapping of `memory`, or NULL */
	const uint8_t *view;		/* private mapping of `memory`, unaffected by seals */
	size_t size, view_size;
	bool is_filled;			/* set if the worker wrote every page of `memory` */
} workers[CLIENTS];

static struct keep *keep;
static int some_file;			/* stands for sockets */

/* `incoming` is the packet that a client sends to the keeper, and `told` is the keeper's answer. */
static struct {
	const uint8_t *bytes;
	size_t size;
} incoming;
static struct {
	bool is_there;
	struct message answer;
	int file;
} told;

static int take_packet(int socket, enum message_way way, int flags, struct message *message,
		       int *file)
{
	(void)socket;
	(void)flags;
	/* Only brokers send files to a keeper, and this test has no broker. */
	if (file)
		abort();
	if (!incoming.size)
		return 0;
	if (message_parse(incoming.bytes, incoming.size, way, message))
		return 1;
	errno = EPROTO;
	return -1;
}

static bool take_answer(int socket, const struct message *message, int file)
{
	struct message parsed;

	(void)socket;
	if (told.is_there || !message_parse(message, sizeof(*message), KEEPER_ANSWERS, &parsed))
		abort();
	told.is_there = true;
	told.answer = *message;
	told.file = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 0);
	return true;
}

static uint32_t uid_of(size_t worker)
{
	return worker == ADMIN ? 0 : worker < 2 ? 7 : 9;
}

/* ---- what stands for the disk ---- */

static struct entry {
	uint32_t uid;
	uint8_t key[CACHE_TOKEN_SIZE];
	uint8_t hash[DIGEST_SIZE];
	struct blob blob;
} hashes[ENTRIES], plans[ENTRIES];
static unsigned int num_hashes, num_plans;

static struct entry *find_plan(uint32_t uid, const uint8_t *key)
{
	for (unsigned int i = 0; i < num_plans; i++)
		if (plans[i].uid == uid && !memcmp(plans[i].key, key, sizeof(plans[i].key)))
			return &plans[i];
	return NULL;
}

enum message_kind cache_index_query(struct cache_index *index, uint32_t uid,
				     const uint8_t token[CACHE_TOKEN_SIZE],
				     const uint8_t hash[DIGEST_SIZE])
{
	(void)index;
	for (unsigned int i = 0; i < num_hashes; i++)
		if (hashes[i].uid == uid && !memcmp(hashes[i].key, token, CACHE_TOKEN_SIZE) &&
		    !memcmp(hashes[i].hash, hash, DIGEST_SIZE))
			return CACHE_YES;
	return CACHE_NO;
}

enum message_kind cache_index_store(struct cache_index *index, uint32_t uid,
				     const uint8_t token[CACHE_TOKEN_SIZE],
				     const uint8_t hash[DIGEST_SIZE])
{
	struct entry *e = &hashes[num_hashes];

	(void)index;
	if (num_hashes == ENTRIES)
		return CACHE_FAILED;
	e->uid = uid;
	memcpy(e->key, token, sizeof(e->key));
	memcpy(e->hash, hash, sizeof(e->hash));
	num_hashes++;
	return CACHE_YES;
}

bool blob_store_get(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		    struct blob_work *work)
{
	const struct entry *e = find_plan(uid, key);

	(void)store;
	if (!e)
		return false;
	/* A bit of the key determines whether the file is already verified. */
	*work = (struct blob_work){ .uid = uid, .blob = e->blob, .done = key[1] % 2 };
	memcpy(work->key, key, sizeof(work->key));
	work->file = fcntl(some_file, F_DUPFD_CLOEXEC, 0);
	return true;
}

bool blob_store_wants(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		      const struct blob *blob)
{
	(void)store;
	return blob->model_size && blob->model_size <= MAX_PLAN && blob->data_size <= MAX_PLAN &&
	       blob->data_size % BLOB_PAGE == 0 && (blob->is_own || !find_plan(uid, key));
}

bool blob_store_put(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE],
		    const void *bytes, const struct blob *blob, struct blob_work *work)
{
	if (!blob_store_wants(store, uid, key, blob))
		abort();
	*work = (struct blob_work){ .uid = uid, .bytes = bytes, .file = -1, .blob = *blob };
	memcpy(work->key, key, sizeof(work->key));
	return num_plans < ENTRIES;
}

/*
 * Reads one byte of each page of the memory that a worker stores; the memory must have the full
 * size.
 */
void blob_work_run(struct blob_work *work)
{
	uint64_t size = work->blob.model_size + work->blob.data_size;
	uint8_t sum = 0;

	for (uint64_t i = 0; work->bytes && i < size; i += BLOB_PAGE)
		sum ^= ((const volatile uint8_t *)work->bytes)[i];
	if (work->bytes)
		memset(work->blob.model_hash, sum, sizeof(work->blob.model_hash));
}

bool blob_store_end(struct blob_store *store, struct blob_work *work)
{
	struct entry *e;

	if (!work->bytes)
		return true;
	if (work->blob.is_own)
		blob_store_drop(store, work->uid, work->key);
	e = &plans[num_plans];
	e->uid = work->uid;
	memcpy(e->key, work->key, sizeof(e->key));
	e->blob = work->blob;
	num_plans++;
	return true;
}

bool blob_store_drop(struct blob_store *store, uint32_t uid, const uint8_t key[DIGEST_SIZE])
{
	struct entry *e = find_plan(uid, key);

	(void)store;
	if (e)
		*e = plans[--num_plans];
	return true;
}

uint64_t blob_store_user_bytes(const struct blob_store *store)
{
	(void)store;
	return MAX_PLAN;
}

/* Removes the entries of a user, or all entries; returns the number of removed entries. */
static uint64_t clear_entries(struct entry *entries, unsigned int *count, uint64_t uid)
{
	unsigned int kept = 0;
	uint64_t gone;

	for (unsigned int i = 0; i < *count; i++)
		if (uid != CACHE_ALL_USERS && entries[i].uid != uid)
			entries[kept++] = entries[i];
	gone = *count - kept;
	*count = kept;
	return gone;
}

bool cache_index_clear(struct cache_index *index, uint64_t uid, uint64_t *count)
{
	(void)index;
	*count = clear_entries(hashes, &num_hashes, uid);
	return true;
}

bool blob_store_clear(struct blob_store *store, uint64_t uid, uint64_t *count)
{
	(void)store;
	*count = clear_entries(plans, &num_plans, uid);
	return true;
}

/* Writes one byte for each hash into the report of the index, instead of text. */
bool cache_index_report(struct cache_index *index, int file, uint64_t *count)
{
	(void)index;
	*count = num_hashes;
	return !ftruncate(file, num_hashes);
}

/* Reports no damage of the store, because the test has no files. */
bool blob_store_check(struct blob_store *store, int report, struct blob_work *work)
{
	(void)store;
	*work = (struct blob_work){ .file = -1 };
	return !ftruncate(report, num_plans);
}

void blob_store_end_check(struct blob_store *store, struct blob_work *work, uint64_t *plan_count,
			  uint64_t *faults)
{
	(void)store;
	(void)work;
	*plan_count = num_plans;
	*faults = 0;
}

/* ---- what the fuzzer has no use for ---- */

bool cache_index_begin(struct cache_index *index)
{
	(void)index;
	return true;
}

bool cache_index_batch_failed(const struct cache_index *index)
{
	(void)index;
	return false;
}

bool cache_index_commit(struct cache_index *index)
{
	(void)index;
	return true;
}

/* All is committed. */
void blob_store_abandon(struct blob_store *store, struct blob_work *work)
{
	(void)store;
	(void)work;
	abort();
}

void blob_store_rolled_back(struct blob_store *store)
{
	(void)store;
	abort();
}

void blob_store_committed(struct blob_store *store)
{
	(void)store;
}

void cache_index_flush(struct cache_index *index)
{
	(void)index;
}

void log_line(enum log_level level, const char *format, ...)
{
	(void)level;
	(void)format;
}

/* ---- workers ---- */

static void unmap(struct worker *w)
{
	if (w->map)
		munmap(w->map, w->size);
	w->map = NULL;
}

static void let_go(struct worker *w)
{
	unmap(w);
	if (w->view)
		munmap((void *)w->view, w->view_size);
	w->view = NULL;
	if (w->memory >= 0)
		close(w->memory);
	w->memory = -1;
}

static size_t place(size_t i)
{
	return FIRST_CLIENT + i;
}

/*
 * Connects client i to the keeper. Moves the new elements of keep->fds and keep->clients from the
 * end of the arrays to the index place(i).
 */
static void begin(size_t i)
{
	workers[i] = (struct worker){ .memory = -1 };
	add_client(keep, fcntl(some_file, F_DUPFD_CLOEXEC, 0), uid_of(i), i == ADMIN);
	if (place(i) + 1 < keep->count) {
		struct pollfd fd = keep->fds[place(i)];
		struct client *client = keep->clients[place(i)];

		keep->fds[place(i)] = keep->fds[keep->count - 1];
		keep->clients[place(i)] = keep->clients[keep->count - 1];
		keep->fds[keep->count - 1] = fd;
		keep->clients[keep->count - 1] = client;
	}
}

static void end(size_t i)
{
	let_go(&workers[i]);
	drop_client(keep, place(i));
}

/* Resets a client's state to the state after connecting. */
static void renew(size_t i)
{
	struct client *c = keep->clients[place(i)];

	let_go(&workers[i]);
	drop_memory(c);
	*c = (struct client){ .uid = uid_of(i), .is_admin = i == ADMIN, .memory = -1 };
}

/* Receives the keeper's answer; returns the file that came with the answer, or -1. */
static int receive(struct message *answer)
{
	if (!told.is_there)
		abort();
	told.is_there = false;
	*answer = told.answer;
	return told.file;
}

/* Gives a worker the memory that the keeper sent, and checks the memory's size. */
static void take_memory(struct worker *w, const struct message *request, int memory)
{
	struct stat st;

	let_go(w);
	w->memory = memory;
	w->size = request->model_size + request->data_size;
	w->is_filled = false;
	if (fstat(memory, &st) || (uint64_t)st.st_size != w->size)
		abort();
}

static void check_answer(size_t i, const struct message *request, bool was_known)
{
	const struct entry *plan = find_plan(uid_of(i), request->token);
	struct worker *w = &workers[i];
	struct message answer;
	int file = receive(&answer);
	bool is_yes = answer.kind == CACHE_YES;
	bool is_new = request->kind == CACHE_NEW || request->kind == CACHE_NEW_OWN;

	if (answer.kind < CACHE_YES || answer.kind > CACHE_LATER || 
	    answer.serial != request->serial ||
	    (file >= 0) != (is_yes && (request->kind == CACHE_GET || is_new)))
		abort();
	if (request->kind == CACHE_QUERY && is_yes != was_known)
		abort();
	/* The keeper must not store memory with a hole, because reading a hole allocates pages. */
	if (request->kind == CACHE_DONE && is_yes && (w->map || !w->is_filled || !plan))
		abort();
	if (request->kind == CACHE_GET && (is_yes != !!plan ||
	    (plan && (answer.model_size != plan->blob.model_size ||
		      answer.data_size != plan->blob.data_size))))
		abort();
	if (is_new && is_yes)
		take_memory(w, request, file);
	else if (file >= 0)
		close(file);
}

/*
 * Checks the keeper's answer to an administrator, which contains the number of cleared or of
 * existing entries.
 */
static void check_admin(const struct message *request, unsigned int old_hashes,
			unsigned int old_plans)
{
	struct message answer;
	int file = receive(&answer);
	struct stat st;

	if (answer.kind != CACHE_YES || answer.serial != request->serial ||
	    (file >= 0) != (request->kind != CACHE_CLEAR))
		abort();
	if (file < 0) {
		if (answer.model_size != old_hashes - num_hashes ||
		    answer.data_size != old_plans - num_plans ||
		    (request->model_size == CACHE_ALL_USERS && (num_hashes || num_plans)))
			abort();
		return;
	}
	if (fstat(file, &st) || (uint64_t)st.st_size != answer.model_size ||
	    answer.model_size != (request->kind == CACHE_SHOW ? num_hashes : num_plans))
		abort();
	close(file);
}

/* Does the work that the keeper has queued for its threads. */
static void work(void)
{
	struct task *t;

	for (int kind = 0; kind < QUEUES; kind++) {
		if (!keep->queues[kind].first)
			continue;
		t = take_work(keep, kind);
		do_work(keep, kind, t);
		hand_back(keep, t);
	}
}

/*
 * Sends a packet to the keeper. If the packet is a valid request, the keeper must answer; otherwise
 * the keeper must drop the client.
 */
static void send_packet(size_t i, const uint8_t *bytes, size_t size)
{
	unsigned int old_hashes = num_hashes, old_plans = num_plans;
	struct message request;
	bool is_request, was_known;
	unsigned int ways = 0;

	for (int way = BROKER_TO_WORKER; way <= KEEPER_ANSWERS; way++)
		ways += message_parse(bytes, size, way, &request);
	if (ways > 1)
		abort();
	is_request = i == ADMIN ? message_parse(bytes, size, ADMIN_TO_KEEPER, &request) :
				  message_parse(bytes, size, WORKER_TO_KEEPER, &request);
	was_known = is_request && cache_index_query(NULL, uid_of(i), request.token,
						    request.hash) == CACHE_YES;
	incoming.bytes = bytes;
	incoming.size = size;
	if (serve_client(keep, place(i)) != is_request)
		abort();
	while (is_request && keep->clients[place(i)]->is_busy) {
		work();
		end_work(keep);
	}
	if (is_request && i == ADMIN) {
		check_admin(&request, old_hashes, old_plans);
		return;
	}
	if (is_request) {
		check_answer(i, &request, was_known);
		return;
	}
	renew(i);
}

static bool map_it(struct worker *w)
{
	if (w->memory >= 0 && !w->map) {
		w->map = mmap(NULL, w->size, PROT_READ | PROT_WRITE, MAP_SHARED, w->memory, 0);
		/*
		 * Once the keeper has stored and sealed the memory, a worker can no longer map it
		 * for writing.
		 */
		if (w->map == MAP_FAILED)
			w->map = NULL;
	}
	return w->map;
}

/* Writes one byte of a worker's memory; other pages of the memory may stay unallocated. */
static void write_memory(struct worker *w, uint8_t byte)
{
	if (map_it(w))
		w->map[byte % w->size] = byte;
	if (w->map && w->size <= BLOB_PAGE)
		w->is_filled = true;
}

static void fill_memory(struct worker *w, uint8_t byte)
{
	if (!map_it(w))
		return;
	memset(w->map, byte, w->size);
	w->is_filled = true;
}

/* Maps a worker's memory read-only; sealing the memory later remains possible. */
static void look(struct worker *w)
{
	void *view;

	if (w->memory < 0 || w->view || !w->size)
		return;
	view = mmap(NULL, w->size, PROT_READ, MAP_PRIVATE, w->memory, 0);
	if (view == MAP_FAILED)
		abort();
	w->view = view;
	w->view_size = w->size;
}

/* Advances the clock so far that the keeper defers no user's requests. */
static void pay_all(void)
{
	for (size_t i = 0; i < keep->num_users; i++)
		keep->users[i].stores_paid_ns = keep->users[i].bytes_paid_ns = 0;
}

static void act(const struct step *step, const uint8_t *packet)
{
	size_t i = step->worker % CLIENTS;

	switch (step->what) {
	case POKE:
		write_memory(&workers[i], step->byte);
		break;
	case UNMAP:
		unmap(&workers[i]);
		break;
	case RESIZE:
		if (workers[i].memory >= 0 && (off_t)workers[i].size != step->byte &&
		    !ftruncate(workers[i].memory, step->byte))
			abort();
		break;
	case FILL:
		fill_memory(&workers[i], step->byte);
		break;
	case LATER:
		pay_all();
		break;
	case LOOK:
		look(&workers[i]);
		break;
	case HANG_UP:
		end(i);
		begin(i);
		break;
	default:
		send_packet(i, packet, step->size);
	}
}

static void set_up(void)
{
	static int store;	/* a store without contents; the test uses only the address */

	some_file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	keep = keep_begin(-1, -1, NULL, (struct blob_store *)&store);
	if (!keep || some_file < 0)
		abort();
	for (size_t i = 0; i < CLIENTS; i++)
		begin(i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct step step;

	if (!keep)
		set_up();
	num_hashes = num_plans = 0;
	pay_all();
	while (size >= sizeof(step)) {
		memcpy(&step, data, sizeof(step));
		data += sizeof(step);
		size -= sizeof(step);
		if (step.what >= POKE && step.what <= LOOK)
			step.size = 0;
		else if (step.size > size)
			break;
		act(&step, data);
		data += step.size;
		size -= step.size;
	}
	for (size_t i = 0; i < CLIENTS; i++)
		renew(i);
	if (keep->count != place(CLIENTS))
		abort();
	return 0;
}
