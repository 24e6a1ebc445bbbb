/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the keeper of the compilation cache: three workers, two of them one user's, and an
 * administrator send packets, and workers do with the memory that they are given what they like. What is durable
 * is stood in for by tables in memory, which also tell what may be answered.
 */
#include "engine/keeper/loop.c"

#define WORKERS 3
#define ADMIN WORKERS		/* the last client */
#define CLIENTS (WORKERS + 1)
#define ENTRIES 16
#define MAX_PLAN 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What an input is made of: this, and `size` bytes of a packet where it has one. */
struct step {
	uint8_t worker;
	uint8_t what;			/* enum act, any other: PACKET */
	uint8_t size;
	uint8_t byte;
};

enum act { PACKET, POKE, UNMAP, RESIZE, HANG_UP, FILL, LATER, LOOK };

static struct worker {
	int socket;
	int memory;			/* that it was given, -1: none */
	uint8_t *map;			/* NULL: it has it not mapped */
	const uint8_t *view;		/* mapped as private: sealing does not mind */
	size_t size, view_size;
	bool is_filled;			/* every page of it was written */
} workers[CLIENTS];

static struct keep *keep;

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

enum cache_verdict cache_index_query(struct cache_index *index, uint32_t uid, const uint8_t *token,
				     const uint8_t *hash)
{
	(void)index;
	for (unsigned int i = 0; i < num_hashes; i++)
		if (hashes[i].uid == uid && !memcmp(hashes[i].key, token, CACHE_TOKEN_SIZE) &&
		    !memcmp(hashes[i].hash, hash, DIGEST_SIZE))
			return CACHE_YES;
	return CACHE_NO;
}

enum cache_verdict cache_index_store(struct cache_index *index, uint32_t uid, const uint8_t *token,
				     const uint8_t *hash)
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

bool blob_store_get(struct blob_store *store, uint32_t uid, const uint8_t *key,
		    struct blob_work *work)
{
	const struct entry *e = find_plan(uid, key);

	(void)store;
	if (!e)
		return false;
	/* Every other one is looked at for the first time. */
	*work = (struct blob_work){ .uid = uid, .blob = e->blob, .done = key[1] % 2 };
	memcpy(work->key, key, sizeof(work->key));
	work->file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return true;
}

bool blob_store_wants(struct blob_store *store, uint32_t uid, const uint8_t *key,
		      uint64_t model_size, uint64_t data_size)
{
	(void)store;
	return model_size && model_size <= MAX_PLAN && data_size <= MAX_PLAN &&
	       data_size % BLOB_PAGE == 0 && !find_plan(uid, key);
}

bool blob_store_put(struct blob_store *store, uint32_t uid, const uint8_t *key, const void *bytes,
		    uint64_t model_size, uint64_t data_size, struct blob_work *work)
{
	if (!blob_store_wants(store, uid, key, model_size, data_size))
		abort();
	*work = (struct blob_work){ .uid = uid, .bytes = bytes, .file = -1,
				    .blob = { .model_size = model_size, .data_size = data_size } };
	memcpy(work->key, key, sizeof(work->key));
	return num_plans < ENTRIES;
}

/* What is put is all there, and nobody can change it meanwhile. */
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
	struct entry *e = &plans[num_plans];

	(void)store;
	if (!work->bytes)
		return true;
	e->uid = work->uid;
	memcpy(e->key, work->key, sizeof(e->key));
	e->blob = work->blob;
	num_plans++;
	return true;
}

void blob_store_drop(struct blob_store *store, uint32_t uid, const uint8_t *key)
{
	struct entry *e = find_plan(uid, key);

	(void)store;
	if (e)
		*e = plans[--num_plans];
}

uint64_t blob_store_user_bytes(const struct blob_store *store)
{
	(void)store;
	return MAX_PLAN;
}

/* Removes a user's entries, or all, and counts them. */
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

/* A file of as many bytes as there are hashes stands for the report. */
bool cache_index_report(struct cache_index *index, int file, uint64_t *count)
{
	(void)index;
	*count = num_hashes;
	return !ftruncate(file, num_hashes);
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
void blob_store_abandon(struct blob_store *store, const struct blob_work *work)
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

/* Client i is behind keep->fds[place(i)]: one that goes makes the last take its place. */
static void begin(size_t i)
{
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		abort();
	workers[i] = (struct worker){ .socket = sockets[1], .memory = -1 };
	add_client(keep, sockets[0], uid_of(i), i == ADMIN);
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
	close(workers[i].socket);
	drop_client(keep, place(i));
}

/* Takes an answer, and the file that came with it: -1, none. */
static int receive(const struct worker *w, struct cache_answer *answer)
{
	int file;

	if (file_message_receive(w->socket, answer, sizeof(*answer),
				 MSG_DONTWAIT | MSG_CMSG_CLOEXEC, &file) != sizeof(*answer))
		abort();
	return file;
}

/* Memory is of the size that was asked for, and stays so. */
static void take_memory(struct worker *w, const struct cache_request *request, int memory)
{
	struct stat st;

	let_go(w);
	w->memory = memory;
	w->size = request->model_size + request->data_size;
	w->is_filled = false;
	if (fstat(memory, &st) || (uint64_t)st.st_size != w->size)
		abort();
}

static void check_answer(size_t i, const struct cache_request *request, bool was_known)
{
	const struct entry *plan = find_plan(uid_of(i), request->token);
	struct worker *w = &workers[i];
	struct cache_answer answer;
	int file = receive(w, &answer);
	bool is_yes = answer.verdict == CACHE_YES;

	if (answer.verdict < CACHE_YES || answer.verdict > CACHE_LATER || 
	    answer.serial != request->serial ||
	    (file >= 0) != (is_yes && (request->kind == CACHE_GET || request->kind == CACHE_NEW)))
		abort();
	if (request->kind == CACHE_QUERY && is_yes != was_known)
		abort();
	/* What was not written costs whoever reads it. */
	if (request->kind == CACHE_DONE && is_yes && (w->map || !w->is_filled || !plan))
		abort();
	if (request->kind == CACHE_GET && (is_yes != !!plan ||
	    (plan && (answer.model_size != plan->blob.model_size ||
		      answer.data_size != plan->blob.data_size))))
		abort();
	if (request->kind == CACHE_NEW && is_yes)
		take_memory(w, request, file);
	else if (file >= 0)
		close(file);
}

/* What it is told is what there is no more of, or what there is. */
static void check_admin(const struct cache_request *request, unsigned int old_hashes,
			unsigned int old_plans)
{
	struct cache_answer answer;
	int file = receive(&workers[ADMIN], &answer);
	struct stat st;

	if (answer.verdict != CACHE_YES || answer.serial != request->serial ||
	    (file >= 0) != (request->kind == CACHE_SHOW))
		abort();
	if (file < 0) {
		if (answer.model_size != old_hashes - num_hashes ||
		    answer.data_size != old_plans - num_plans ||
		    (request->model_size == CACHE_ALL_USERS && (num_hashes || num_plans)))
			abort();
		return;
	}
	if (fstat(file, &st) || (uint64_t)st.st_size != answer.model_size ||
	    answer.model_size != num_hashes)
		abort();
	close(file);
}

/* A packet that is a request has an answer, any other ends the client. */
static void send_packet(size_t i, const uint8_t *bytes, size_t size)
{
	unsigned int old_hashes = num_hashes, old_plans = num_plans;
	struct cache_request request;
	bool is_request, was_known;

	is_request = i == ADMIN ? cache_admin_parse(bytes, size, &request) :
				  cache_request_parse(bytes, size, &request);
	was_known = is_request && cache_index_query(NULL, uid_of(i), request.token,
						    request.hash) == CACHE_YES;
	if (send(workers[i].socket, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
		abort();
	if (serve_client(keep, place(i)) != is_request)
		abort();
	/* A thread is at it: its end comes by and by. */
	while (is_request && keep->clients[place(i)]->is_busy) {
		poll(&keep->fds[WORK_END], 1, -1);
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
	end(i);
	/* The last client has its place: brings it back to its own. */
	begin(i);
}

static bool map_it(struct worker *w)
{
	if (w->memory >= 0 && !w->map) {
		w->map = mmap(NULL, w->size, PROT_READ | PROT_WRITE, MAP_SHARED, w->memory, 0);
		/* Kept already, so sealed. */
		if (w->map == MAP_FAILED)
			w->map = NULL;
	}
	return w->map;
}

/* The rest of it stays a hole. */
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

/* Looks at its memory, from now on even when that is sealed, and holds what is there. */
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

/* Time passes: users may store again. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int store;		/* nobody looks into it */
	struct step step;

	if (!keep)
		keep = keep_begin(-1, -1, NULL, (struct blob_store *)&store);
	if (!keep)
		abort();
	num_hashes = num_plans = 0;
	pay_all();
	for (size_t i = 0; i < CLIENTS; i++)
		begin(i);
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
	for (size_t i = CLIENTS; i--;)
		end(i);
	if (keep->count != FIRST_CLIENT)
		abort();
	return 0;
}
