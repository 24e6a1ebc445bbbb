// SPDX-License-Identifier: MIT
/*
 * The keeper's process. The main thread only reads requests and sends answers. Besides the main
 * thread, three threads do everything that may wait for a disk. The index thread changes the index
 * and the names of files. The index thread takes all waiting requests at once and commits them
 * together. The writing thread writes plans. The verifying thread reads plans to compare their
 * checksums. A worker has one request at a time. The writing thread and the verifying thread serve
 * the waiting requests of different users in turn.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/keeper/loop.h"
#include "kit/api/log.h"
#include "kit/cache/keeper_message.h"
#include "kit/cache/message.h"

/* Idle time after which the index thread writes the times of use that are kept in memory. */
#define FLUSH_S 1

/*
 * Number of entries that a user may store at once. After STORE_BURST entries, the user may store
 * one more entry per STORE_NS.
 */
#define STORE_BURST 32
#define STORE_NS UINT64_C(100000000)

/*
 * In an hour, a user may write WRITE_TIMES times as many bytes of plans as the user's cached plans
 * may have.
 */
#define WRITE_TIMES 4
#define WRITE_NS (3600 * NS_PER_S)

/* Initial size of tables that grow. */
#define FIRST_ROOM 16

/*
 * Indices of the files that poll() watches: the broker's socket, the eventfd of finished work, the
 * listening socket of administrators, and then the clients' sockets.
 */
enum { BROKER, WORK_END, LISTENER, FIRST_CLIENT };

/* The threads, each with a queue of tasks. */
enum queue_kind { INDEX, WRITE, VERIFY, QUEUES };

/*
 * The stages of a request. A request for a plan goes through BEGIN and FINISH, because the index
 * thread performs both the first and the last step of the request.
 */
enum stage { BEGIN, FINISH };

struct task {
	struct task *next;
	struct client *client;
	uint32_t uid;
	struct message request;
	enum stage stage;
	enum queue_kind to;	/* next queue; unused once `ended` is set */
	bool ended;
	struct message answer;
	int file;			/* file to be sent with the answer, or -1 */
	struct blob_work work;
	void *bytes;			/* contents of a plan to be written */
};

/* A client of the keeper: a worker, or an administrator. */
struct client {
	uint32_t uid;
	bool is_admin;
	bool is_busy;	/* true: a task runs for this client, so poll() does not watch the client */
	int memory;			/* memfd to which the client writes a plan, or -1 */
	struct message made_for;	/* the worker's request for which `memory` was made */
	struct task task;
};

/* The remaining budgets of a user for entries and bytes to store. */
struct user {
	uint32_t uid;
	/* Time at which the user may store the full number of entries again. */
	uint64_t stores_paid_ns;
	/* time at which the user may write the full number of bytes again */
	uint64_t bytes_paid_ns;
};

struct queue {
	struct task *first;
	uint32_t last_uid;		/* user of the task that the thread took last */
	pthread_cond_t filled;
	pthread_t thread;
	bool has_thread;
};

struct keep {
	struct cache_index *index;
	struct blob_store *plans;	/* store of plans; NULL if plans are not cached */
	int work_end;			/* eventfd that reports finished work to the main thread */
	struct pollfd *fds;
	/* clients[i] has the socket fds[i]; entries below FIRST_CLIENT are unused */
	struct client **clients;
	size_t count, room;
	struct user *users;
	size_t num_users, user_room;
	pthread_mutex_t lock;		/* lock that protects the queues, `done` and `stop` */
	struct queue queues[QUEUES];
	struct task *done;
	bool stop;
};

/* ---- users ---- */

static bool is_paid(const struct user *user, uint64_t now)
{
	return user->stores_paid_ns <= now && user->bytes_paid_ns <= now;
}

static struct user *get_user(struct keep *k, uint32_t uid, uint64_t now)
{
	size_t kept = 0, room;
	struct user *users;

	for (size_t i = 0; i < k->num_users; i++)
		if (k->users[i].uid == uid)
			return &k->users[i];
	/* Remove the entries of users with full budgets: a new entry has full budgets, too. */
	for (size_t i = 0; i < k->num_users; i++)
		if (!is_paid(&k->users[i], now))
			k->users[kept++] = k->users[i];
	k->num_users = kept;
	if (k->num_users == k->user_room) {
		room = k->user_room ? 2 * k->user_room : FIRST_ROOM;
		users = realloc(k->users, room * sizeof(*users));
		if (!users)
			return NULL;
		k->users = users;
		k->user_room = room;
	}
	k->users[k->num_users] = (struct user){ .uid = uid };
	return &k->users[k->num_users++];
}

/*
 * Charges `price` to a budget that refills over time up to `most`; *paid_ns is the time at which
 * the budget is full. Returns false, without charging, if less than `price` is left.
 */
static bool pay(uint64_t *paid_ns, uint64_t price, uint64_t most, uint64_t now)
{
	uint64_t debt = *paid_ns > now ? *paid_ns - now : 0;

	if (debt > most - price)
		return false;
	*paid_ns = now + debt + price;
	return true;
}

/*
 * Returns whether a user may store an entry now. A user who stores too often must wait, even if the
 * user switches to another worker.
 */
static bool may_store(struct keep *k, uint32_t uid)
{
	uint64_t now = clock_ns();
	struct user *user = get_user(k, uid, now);

	return user && pay(&user->stores_paid_ns, STORE_NS, STORE_BURST * STORE_NS, now);
}

static bool may_write(struct keep *k, uint32_t uid, uint64_t bytes)
{
	double most = (double)blob_store_user_bytes(k->plans) * WRITE_TIMES;
	uint64_t now = clock_ns();
	struct user *user = get_user(k, uid, now);

	return user && (double)bytes <= most &&
	       pay(&user->bytes_paid_ns, (uint64_t)((double)bytes / most * (double)WRITE_NS),
		   WRITE_NS, now);
}

/* ---- the index's thread ---- */

static void give_plan(struct task *t)
{
	t->answer.kind = CACHE_YES;
	t->answer.model_size = t->work.blob.model_size;
	t->answer.data_size = t->work.blob.data_size;
	memcpy(t->answer.hash, t->work.blob.model_hash, sizeof(t->answer.hash));
	t->file = t->work.file;
}

/*
 * Looks up a plan's file for reading. Sends the task to the verifying thread if the plan's file was
 * not verified yet.
 */
static void get_plan(struct keep *k, struct task *t)
{
	t->answer.kind = CACHE_NO;
	if (!k->plans || !blob_store_get(k->plans, t->uid, t->request.token, &t->work))
		return;
	if (t->work.done)
		give_plan(t);
	else
		t->to = VERIFY;
}

/* Returns the description of the entry for which a worker requests memory. */
static struct blob blob_of(const struct message *request)
{
	return (struct blob){
		.model_size = request->model_size, .data_size = request->data_size,
		.is_own = request->kind == CACHE_NEW_OWN,
	};
}

static bool wants(struct keep *k, const struct task *t, const struct blob *blob)
{
	return k->plans && blob_store_wants(k->plans, t->uid, t->request.token, blob);
}

static bool asks_for_memory(const struct task *t)
{
	return t->request.kind == CACHE_NEW || t->request.kind == CACHE_NEW_OWN;
}

/* Begins to write a plan from sealed memory to a file. */
static void put_plan(struct keep *k, struct task *t)
{
	const struct blob blob = blob_of(&t->client->made_for);

	t->answer.kind = CACHE_NO;
	if (!wants(k, t, &blob))
		return;
	t->answer.kind = CACHE_FAILED;
	if (blob_store_put(k->plans, t->uid, t->request.token, t->bytes, &blob, &t->work))
		t->to = WRITE;
}

static void end_plan(struct keep *k, struct task *t)
{
	bool good = blob_store_end(k->plans, &t->work);

	if (t->request.kind == CACHE_DONE) {
		t->answer.kind = good ? CACHE_YES : CACHE_FAILED;
		return;
	}
	t->answer.kind = CACHE_NO;
	if (good)
		give_plan(t);
}

/* Removes a user's entries, and stores the number of removed entries in the answer. */
static void clear_user(struct keep *k, struct task *t)
{
	t->answer.kind = CACHE_FAILED;
	if (cache_index_clear(k->index, t->request.uid, &t->answer.model_size) &&
	    (!k->plans ||
	     blob_store_clear(k->plans, t->request.uid, &t->answer.data_size)))
		t->answer.kind = CACHE_YES;
}

/* Makes a file that lists the number and size of each user's entries. */
static void show_users(struct keep *k, struct task *t)
{
	t->answer.kind = CACHE_FAILED;
	t->file = memfd_create("nnaccel-report", MFD_CLOEXEC);
	if (t->file < 0)
		return;
	if (cache_index_report(k->index, t->file, &t->answer.model_size)) {
		t->answer.kind = CACHE_YES;
		return;
	}
	close(t->file);
	t->file = -1;
}

/* Begins to check all entries. The verifying thread later reads the entries' files. */
static void check_plans(struct keep *k, struct task *t)
{
	t->answer.kind = CACHE_FAILED;
	if (!k->plans) {
		log_warning("the compilation cache is not checked: it has no folder of plans");
		return;
	}
	t->file = memfd_create("nnaccel-check", MFD_CLOEXEC);
	if (t->file >= 0 && blob_store_check(k->plans, t->file, &t->work)) {
		t->to = VERIFY;
		return;
	}
	if (t->file >= 0)
		close(t->file);
	t->file = -1;
}

static void end_check(struct keep *k, struct task *t)
{
	blob_store_end_check(k->plans, &t->work, &t->answer.model_size, &t->answer.data_size);
	t->answer.kind = CACHE_YES;
}

static void ask_index(struct keep *k, struct task *t)
{
	const struct blob blob = blob_of(&t->request);

	t->to = INDEX;
	if (t->stage == FINISH) {
		if (t->request.kind == CACHE_CHECK)
			end_check(k, t);
		else
			end_plan(k, t);
		return;
	}
	switch (t->request.kind) {
	case CACHE_QUERY:
		t->answer.kind = cache_index_query(k->index, t->uid, t->request.token,
						      t->request.hash);
		break;
	case CACHE_STORE:
		t->answer.kind = cache_index_store(k->index, t->uid, t->request.token,
						      t->request.hash);
		break;
	case CACHE_GET:
		get_plan(k, t);
		break;
	case CACHE_NEW:
	case CACHE_NEW_OWN:
		t->answer.kind = wants(k, t, &blob) ? CACHE_YES : CACHE_NO;
		break;
	case CACHE_DONE:
		put_plan(k, t);
		break;
	case CACHE_DROP:
		t->answer.kind = !k->plans || blob_store_drop(k->plans, t->uid,
								 t->request.token) ?
				    CACHE_YES : CACHE_FAILED;
		break;
	case CACHE_CLEAR:
		clear_user(k, t);
		break;
	case CACHE_SHOW:
		show_users(k, t);
		break;
	case CACHE_CHECK:
		check_plans(k, t);
		break;
	}
	t->stage = FINISH;
}

/*
 * Returns whether a request needs a transaction; a transaction also writes the times of use that
 * are kept in memory. CACHE_DROP begins a transaction of its own, and only if the entry exists.
 * Workers cannot cause transactions by dropping missing entries.
 */
static bool changes_index(const struct task *t)
{
	return t->request.kind != CACHE_DROP && t->request.kind != CACHE_QUERY &&
	       !asks_for_memory(t) &&
	       t->request.kind != CACHE_SHOW && t->request.kind != CACHE_CHECK &&
	       (t->request.kind != CACHE_GET || t->stage == FINISH);
}

/* Turns an answer into a failure, because the request's change is not on the disk. */
static void fail_task(struct keep *k, struct task *t, bool was_finish)
{
	if (t->request.kind == CACHE_GET || t->request.kind == CACHE_QUERY ||
	    asks_for_memory(t) || t->request.kind == CACHE_SHOW ||
	    t->request.kind == CACHE_CHECK)
		return;
	if (t->request.kind == CACHE_DONE && (was_finish || t->to == WRITE))
		blob_store_abandon(k->plans, &t->work);
	if (t->answer.kind == CACHE_YES)
		t->answer.kind = CACHE_FAILED;
	t->to = INDEX;
}

/*
 * Runs one transaction for all waiting requests. If an error rolls the transaction back, the
 * requests up to the failed request are answered with a failure. Returns the requests after the
 * failed request, for another transaction, or NULL.
 */
static struct task *run_transaction(struct keep *k, struct task *batch)
{
	struct task *t = batch, *rest = NULL;
	bool begun;

	while (t && !changes_index(t))
		t = t->next;
	begun = t && cache_index_begin(k->index);
	for (t = batch; t; t = t->next) {
		/*
		 * In the stage FINISH, the task's file was already verified or written, so the task
		 * ends here.
		 */
		t->ended = t->stage == FINISH;
		ask_index(k, t);
		if (begun && cache_index_batch_failed(k->index)) {
			rest = t->next;
			break;
		}
	}
	if (begun && !cache_index_commit(k->index)) {
		for (t = batch; t != rest; t = t->next)
			fail_task(k, t, t->ended);
		if (k->plans)
			blob_store_rolled_back(k->plans);
	} else if (k->plans) {
		blob_store_committed(k->plans);
	}
	return rest;
}

static void run_batch(struct keep *k, struct task *batch)
{
	struct task *rest = batch;

	while (rest)
		rest = run_transaction(k, rest);
	for (struct task *t = batch; t; t = t->next)
		t->ended = t->to == INDEX;
}

/* ---- threads ---- */

/*
 * Takes the first task that does not belong to the user served last. If all tasks belong to the
 * user served last, takes the first task.
 */
static struct task *take_turn(struct queue *q)
{
	struct task **link = &q->first, *t;

	while (*link && (*link)->uid == q->last_uid)
		link = &(*link)->next;
	if (!*link)
		link = &q->first;
	t = *link;
	*link = t->next;
	t->next = NULL;
	q->last_uid = t->uid;
	return t;
}

/*
 * Waits at most FLUSH_S for work. Returns all tasks for the index thread, one task for another
 * thread, or NULL.
 */
static struct task *take_work(struct keep *k, enum queue_kind kind)
{
	struct queue *q = &k->queues[kind];
	struct task *batch = NULL;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += FLUSH_S;
	pthread_mutex_lock(&k->lock);
	while (!q->first && !k->stop &&
	       pthread_cond_timedwait(&q->filled, &k->lock, &until) != ETIMEDOUT)
		;
	if (q->first && kind != INDEX) {
		batch = take_turn(q);
	} else {
		batch = q->first;
		q->first = NULL;
	}
	pthread_mutex_unlock(&k->lock);
	return batch;
}

static void add_last(struct task **list, struct task *t)
{
	while (*list)
		list = &(*list)->next;
	*list = t;
}

/*
 * Returns tasks to the main thread, which passes each task to another queue or answers its request.
 */
static void hand_back(struct keep *k, struct task *batch)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&k->lock);
	add_last(&k->done, batch);
	pthread_mutex_unlock(&k->lock);
	if (write(k->work_end, &one, sizeof(one)) != sizeof(one))
		log_error("the compilation cache's keeper: cannot end work: %s", strerror(errno));
}

static void do_work(struct keep *k, enum queue_kind kind, struct task *batch)
{
	if (kind == INDEX) {
		run_batch(k, batch);
	} else {
		blob_work_run(&batch->work);
		batch->to = INDEX;
	}
}

static void *run_thread(struct keep *k, enum queue_kind kind)
{
	struct task *batch;
	bool stop = false;

	while (!stop) {
		batch = take_work(k, kind);
		if (batch) {
			do_work(k, kind, batch);
			hand_back(k, batch);
		} else if (kind == INDEX) {
			cache_index_flush(k->index);
		}
		pthread_mutex_lock(&k->lock);
		stop = k->stop && !k->queues[kind].first;
		pthread_mutex_unlock(&k->lock);
	}
	return NULL;
}

static void *index_thread(void *data)
{
	return run_thread(data, INDEX);
}

static void *write_thread(void *data)
{
	return run_thread(data, WRITE);
}

static void *verify_thread(void *data)
{
	return run_thread(data, VERIFY);
}

static void enqueue(struct keep *k, struct task *t)
{
	struct queue *q = &k->queues[t->to];

	t->next = NULL;
	pthread_mutex_lock(&k->lock);
	add_last(&q->first, t);
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&k->lock);
}

/* ---- clients ---- */

static bool make_room(struct keep *k)
{
	size_t room = k->room ? 2 * k->room : FIRST_ROOM;
	struct pollfd *fds = realloc(k->fds, room * sizeof(*fds));
	struct client **clients;

	if (!fds)
		return false;
	k->fds = fds;
	clients = realloc(k->clients, room * sizeof(struct client *));
	if (!clients)
		return false;
	k->clients = clients;
	k->room = room;
	return true;
}

static void add_client(struct keep *k, int fd, uint32_t uid, bool is_admin)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c || (k->count == k->room && !make_room(k))) {
		free(c);
		close(fd);
		return;
	}
	c->uid = uid;
	c->is_admin = is_admin;
	c->memory = -1;
	k->fds[k->count] = (struct pollfd){ .fd = fd, .events = POLLIN };
	k->clients[k->count] = c;
	k->count++;
}

static void drop_memory(struct client *c)
{
	if (c->memory >= 0)
		close(c->memory);
	c->memory = -1;
}

/*
 * Drops a client by shutdown() and close(). The broker has a copy of the socket, so close() alone
 * would not end the connection.
 */
static void drop_client(struct keep *k, size_t i)
{
	drop_memory(k->clients[i]);
	free(k->clients[i]);
	shutdown(k->fds[i].fd, SHUT_RDWR);
	close(k->fds[i].fd);
	k->count--;
	k->fds[i] = k->fds[k->count];
	k->clients[i] = k->clients[k->count];
}

/*
 * Takes over a worker's socket from the broker. Returns false if the broker has closed its end of
 * the connection.
 */
static bool take_client(struct keep *k)
{
	struct message message;
	int fd, n = message_receive(k->fds[BROKER].fd, BROKER_TO_KEEPER,
				    MSG_CMSG_CLOEXEC | MSG_DONTWAIT, &message, &fd);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0 || message.kind != KEEPER_SERVE)
		return false;
	if (fd >= 0)
		add_client(k, fd, (uint32_t)message.uid, false);
	else
		log_error("a worker of user %u has no cache: its socket is missing",
			  (uint32_t)message.uid);
	return true;
}

static void take_admin(struct keep *k)
{
	int fd = accept4(k->fds[LISTENER].fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0)
		add_client(k, fd, 0, true);
}

/* ---- requests ---- */

/* Sends a task's answer. Returns false if the worker has ended or does not read answers. */
static bool answer(struct keep *k, size_t i, struct task *t)
{
	bool sent = message_send(k->fds[i].fd, &t->answer, t->file);

	if (t->file >= 0)
		close(t->file);
	t->file = -1;
	return sent;
}

/* Makes memory of the size that a plan will have, and seals the memory's size. */
static int make_memory(const struct message *sizes)
{
	int memory = memfd_create("nnaccel-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (memory >= 0 &&
	    (ftruncate(memory, (off_t)(sizes->model_size + sizes->data_size)) ||
	     fcntl(memory, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK))) {
		close(memory);
		memory = -1;
	}
	return memory;
}

/*
 * Answers a request to store a plan: sends memory for the plan, unless the user has stored too much
 * lately.
 */
static void give_memory(struct keep *k, struct client *c)
{
	struct task *t = &c->task;

	if (t->answer.kind != CACHE_YES)
		return;
	t->answer.kind = CACHE_LATER;
	if (!may_store(k, c->uid) ||
	    !may_write(k, c->uid, t->request.model_size + t->request.data_size))
		return;
	c->memory = make_memory(&t->request);
	c->made_for = t->request;
	t->file = c->memory < 0 ? -1 : fcntl(c->memory, F_DUPFD_CLOEXEC, 0);
	t->answer.kind = t->file < 0 ? CACHE_FAILED : CACHE_YES;
}

/*
 * Seals and maps the memory that a worker has written. Sealing fails if the worker still has the
 * memory mapped. Memory with holes is refused, because reading the holes would allocate memory at
 * this process's cost. The mapping is private, because some kernels refuse a shared mapping of a
 * sealed file.
 */
static enum message_kind map_memory(struct client *c, struct task *t)
{
	const struct message *sizes = &c->made_for;
	uint64_t size = sizes->model_size + sizes->data_size;
	struct stat st;

	if (c->memory < 0 || memcmp(sizes->token, t->request.token, sizeof(sizes->token)) ||
	    fcntl(c->memory, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) ||
	    fstat(c->memory, &st) || (uint64_t)st.st_blocks * 512 < size)
		return CACHE_NO;
	t->bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, c->memory, 0);
	if (t->bytes != MAP_FAILED)
		return CACHE_YES;
	t->bytes = NULL;
	return CACHE_FAILED;
}

static void unmap_memory(struct client *c, struct task *t)
{
	if (t->bytes)
		munmap(t->bytes, c->made_for.model_size + c->made_for.data_size);
	t->bytes = NULL;
	drop_memory(c);
}

/* Answers a request if the main thread can do so itself; otherwise returns false. */
static bool answers_at_once(struct keep *k, struct client *c)
{
	struct task *t = &c->task;

	switch (t->request.kind) {
	case CACHE_STORE:
		t->answer.kind = CACHE_LATER;
		return !may_store(k, c->uid);
	case CACHE_NEW:
	case CACHE_NEW_OWN:
		drop_memory(c);
		return false;
	case CACHE_DONE:
		t->answer.kind = map_memory(c, t);
		if (t->answer.kind != CACHE_YES)
			unmap_memory(c, t);
		return t->answer.kind != CACHE_YES;
	}
	return false;
}

/* Makes poll() ignore a busy client: poll() ignores negative file descriptors. */
static void set_busy(struct keep *k, size_t i, bool is_busy)
{
	k->clients[i]->is_busy = is_busy;
	k->fds[i].fd = ~k->fds[i].fd;
}

/*
 * Answers a request, or queues the request for another thread. Returns false if the client has
 * closed the connection.
 */
static bool serve_request(struct keep *k, size_t i, const struct message *request)
{
	struct client *c = k->clients[i];
	struct task *t = &c->task;

	*t = (struct task){
		.client = c,
		.uid = c->uid,
		.request = *request,
		.to = INDEX,
		.answer = { .kind = CACHE_FAILED, .serial = request->serial },
		.file = -1,
	};
	if (answers_at_once(k, c))
		return answer(k, i, t);
	set_busy(k, i, true);
	enqueue(k, t);
	return true;
}

static size_t place_of(const struct keep *k, const struct client *c)
{
	size_t i = FIRST_CLIENT;

	while (k->clients[i] != c)
		i++;
	return i;
}

/* Passes a task to its next queue, or answers the task's request. */
static void go_on(struct keep *k, struct task *t)
{
	size_t i = place_of(k, t->client);
	struct client *c = t->client;

	if (!t->ended) {
		enqueue(k, t);
		return;
	}
	if (asks_for_memory(t))
		give_memory(k, c);
	else if (t->request.kind == CACHE_DONE)
		unmap_memory(c, t);
	set_busy(k, i, false);
	if (!answer(k, i, t))
		drop_client(k, i);
}

static void end_work(struct keep *k)
{
	struct task *done, *next;
	uint64_t count;

	if (read(k->work_end, &count, sizeof(count)) < 0)
		return;
	pthread_mutex_lock(&k->lock);
	done = k->done;
	k->done = NULL;
	pthread_mutex_unlock(&k->lock);
	for (; done; done = next) {
		next = done->next;
		go_on(k, done);
	}
}

/*
 * Reads and answers one request. Returns false if the worker has ended or has sent an invalid
 * message.
 */
static bool serve_client(struct keep *k, size_t i)
{
	struct client *c = k->clients[i];
	struct message request;
	int n = message_receive(k->fds[i].fd, c->is_admin ? ADMIN_TO_KEEPER : WORKER_TO_KEEPER,
				MSG_DONTWAIT, &request, NULL);

	if (n > 0)
		return serve_request(k, i, &request);
	if (n < 0 && errno == EPROTO)
		log_warning("uid %u: a worker sent an invalid request", c->uid);
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* ---- the loop ---- */

/* Serves one request of each client in turn. */
static void keep_loop(struct keep *k)
{
	for (;;) {
		if (poll(k->fds, k->count, -1) <= 0)
			continue;
		/*
		 * Serve clients from the end of the array, because the last client moves to the
		 * array element of a client that leaves.
		 */
		for (size_t i = k->count; --i >= FIRST_CLIENT;)
			if (k->fds[i].revents && !serve_client(k, i))
				drop_client(k, i);
		if (k->fds[WORK_END].revents)
			end_work(k);
		if (k->fds[LISTENER].revents)
			take_admin(k);
		if (k->fds[BROKER].revents && !take_client(k))
			return;
	}
}

static bool is_any_busy(const struct keep *k)
{
	for (size_t i = FIRST_CLIENT; i < k->count; i++)
		if (k->clients[i]->is_busy)
			return true;
	return false;
}

/* Waits for all running tasks, sends their answers, and then closes all connections. */
static void end_tasks(struct keep *k)
{
	while (is_any_busy(k)) {
		poll(&k->fds[WORK_END], 1, -1);
		end_work(k);
	}
	while (k->count > FIRST_CLIENT)
		drop_client(k, k->count - 1);
}

static void end_threads(struct keep *k)
{
	pthread_mutex_lock(&k->lock);
	k->stop = true;
	for (int kind = 0; kind < QUEUES; kind++)
		pthread_cond_broadcast(&k->queues[kind].filled);
	pthread_mutex_unlock(&k->lock);
	for (int kind = 0; kind < QUEUES; kind++)
		if (k->queues[kind].has_thread)
			pthread_join(k->queues[kind].thread, NULL);
}

static void end_keep(struct keep *k)
{
	end_threads(k);
	close(k->work_end);
	free(k->fds);
	free(k->clients);
	free(k->users);
	free(k);
}

static bool start_threads(struct keep *k)
{
	static void *(*const bodies[QUEUES])(void *data) = {
		[INDEX] = index_thread, [WRITE] = write_thread, [VERIFY] = verify_thread,
	};
	bool started = true;

	for (int kind = 0; kind < QUEUES; kind++) {
		struct queue *q = &k->queues[kind];

		q->has_thread = !pthread_create(&q->thread, NULL, bodies[kind], k);
		started = started && q->has_thread;
	}
	return started;
}

struct keep *keep_begin(int broker, int listener, struct cache_index *index,
			struct blob_store *plans)
{
	struct keep *k = calloc(1, sizeof(*k));
	int end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (!k || end < 0 || !make_room(k)) {
		log_error("the compilation cache's keeper: cannot start: %s", strerror(errno));
		if (end >= 0)
			close(end);
		free(k);
		return NULL;
	}
	k->index = index;
	k->plans = plans;
	k->work_end = end;
	k->fds[BROKER] = (struct pollfd){ .fd = broker, .events = POLLIN };
	k->fds[WORK_END] = (struct pollfd){ .fd = end, .events = POLLIN };
	k->fds[LISTENER] = (struct pollfd){ .fd = listener, .events = POLLIN };
	k->count = FIRST_CLIENT;
	pthread_mutex_init(&k->lock, NULL);
	for (int kind = 0; kind < QUEUES; kind++) {
		k->queues[kind].last_uid = UINT32_MAX;
		pthread_cond_init(&k->queues[kind].filled, NULL);
	}
	if (start_threads(k))
		return k;
	log_error("the compilation cache's keeper: threads: %s", strerror(errno));
	end_keep(k);
	return NULL;
}

void keep_run(struct keep *k)
{
	keep_loop(k);
	end_tasks(k);
	end_keep(k);
}
