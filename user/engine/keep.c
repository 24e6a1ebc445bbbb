// SPDX-License-Identifier: MIT
/*
 * The keeper's process: one request of each worker in turn. What takes as long as a
 * plan is large - writing one, or comparing its checksum for the first time - is done
 * by a thread, one of each kind at a time: whoever asked for it waits, and nobody else.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/clock.h"
#include "engine/file_message.h"
#include "engine/keep.h"
#include "engine/log.h"

/* Idle for so long, it writes what can wait. */
#define FLUSH_MS 1000

/* Stores of a worker: so many at once, and one more each time that this has passed. */
#define STORE_BURST 32
#define STORE_NS UINT64_C(100000000)

/* Sockets to begin with; room grows. */
#define FIRST_ROOM 16

/* What poll() looks at: the broker, the ends of jobs, workers. */
enum { BROKER, JOBS_END, FIRST_CLIENT };

enum job_kind { JOB_WRITE, JOB_VERIFY, JOBS };

/* Work of a thread. */
struct job {
	pthread_t thread;
	bool busy;
	bool has_thread;		/* else it was done already */
	int end;			/* to be told of it */
	atomic_bool ended;
	int socket;			/* of the worker that waits for it */
	struct blob_work work;
};

/* A worker; its socket is in the list of those that poll() looks at. */
struct client {
	uint32_t uid;
	unsigned int stores;		/* that it may make now */
	uint64_t refilled_ns;
	int memory;			/* that it writes a plan to, -1: none */
	struct cache_request made_for;	/* what asked for it */
	struct cache_request request;	/* that waits, while poll() does not look */
	uint64_t turn;			/* in which it does; 0: a job works for it */
};

struct keep {
	struct cache_index *index;
	struct blob_store *plans;	/* NULL: none are kept */
	struct pollfd *fds;
	struct client *clients;		/* clients[i] is behind fds[i]; the first are unused */
	size_t count, room;
	struct job jobs[JOBS];
	uint64_t last_turn;
};

static bool make_room(struct keep *k)
{
	size_t room = k->room ? 2 * k->room : FIRST_ROOM;
	struct pollfd *fds = realloc(k->fds, room * sizeof(*fds));
	struct client *clients;

	if (!fds)
		return false;
	k->fds = fds;
	clients = realloc(k->clients, room * sizeof(*clients));
	if (!clients)
		return false;
	k->clients = clients;
	k->room = room;
	return true;
}

static bool begin_keep(struct keep *k, int broker)
{
	int end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (end < 0 || !make_room(k)) {
		log_error("the compilation cache's keeper: %s", strerror(errno));
		return false;
	}
	k->fds[BROKER] = (struct pollfd){ .fd = broker, .events = POLLIN };
	k->fds[JOBS_END] = (struct pollfd){ .fd = end, .events = POLLIN };
	k->count = FIRST_CLIENT;
	for (int kind = 0; kind < JOBS; kind++)
		k->jobs[kind] = (struct job){ .end = end, .socket = -1 };
	return true;
}

static void add_client(struct keep *k, int fd, uint32_t uid)
{
	if (k->count == k->room && !make_room(k)) {
		close(fd);
		return;
	}
	k->fds[k->count] = (struct pollfd){ .fd = fd, .events = POLLIN };
	k->clients[k->count] = (struct client){
		.uid = uid, .stores = STORE_BURST, .refilled_ns = clock_ns(), .memory = -1,
	};
	k->count++;
}

static void drop_memory(struct client *c)
{
	if (c->memory >= 0)
		close(c->memory);
	c->memory = -1;
}

/* The broker has the socket too: closing it would not show at the other end. */
static void drop_client(struct keep *k, size_t i)
{
	drop_memory(&k->clients[i]);
	shutdown(k->fds[i].fd, SHUT_RDWR);
	close(k->fds[i].fd);
	k->count--;
	k->fds[i] = k->fds[k->count];
	k->clients[i] = k->clients[k->count];
}

/* Takes over a worker from the broker. False: it is to end at once. */
static bool take_client(struct keep *k)
{
	uint32_t uid = 0;
	int fd;
	ssize_t n = file_message_receive(k->fds[BROKER].fd, &uid, sizeof(uid),
					 MSG_CMSG_CLOEXEC | MSG_DONTWAIT, &fd);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n == sizeof(uid) && fd >= 0)
		add_client(k, fd, uid);
	else if (n <= 0)
		k->fds[BROKER].fd = -1;
	return n <= 0 || fd >= 0 || uid != KEEP_END;
}

/* A worker that stores more than it can have reason to is put off. */
static bool may_store(struct client *c)
{
	uint64_t now = clock_ns(), more = (now - c->refilled_ns) / STORE_NS;

	if (more) {
		c->stores = more < STORE_BURST - c->stores ? c->stores + (unsigned int)more :
			    STORE_BURST;
		c->refilled_ns = now;
	}
	if (!c->stores)
		return false;
	c->stores--;
	return true;
}

/* ---- requests ---- */

/* What becomes of a request: an answer, perhaps with a file, or nothing yet. */
struct reply {
	struct cache_answer answer;
	int file;			/* -1: none; */
	bool close_file;		/* it is sent, and no longer needed */
	bool waits;			/* a job works for it, or is to */
};

static void *run_job(void *data)
{
	struct job *job = data;
	const uint64_t one = 1;

	blob_work_run(&job->work);
	atomic_store(&job->ended, true);
	if (write(job->end, &one, sizeof(one)) != sizeof(one))
		log_error("the compilation cache's keeper: %s", strerror(errno));
	return NULL;
}

static void start_job(struct job *job, int socket)
{
	job->busy = true;
	job->socket = socket;
	atomic_store(&job->ended, false);
	job->has_thread = !pthread_create(&job->thread, NULL, run_job, job);
	if (!job->has_thread)
		run_job(job);
}

static void give_plan(const struct blob_work *work, struct reply *reply)
{
	reply->answer.verdict = CACHE_YES;
	reply->answer.model_size = work->blob.model_size;
	reply->answer.data_size = work->blob.data_size;
	memcpy(reply->answer.hash, work->blob.model_hash, sizeof(reply->answer.hash));
	reply->file = work->file;
	reply->close_file = true;
}

/* The file of a plan, for reading; one that was not verified yet is first. */
static void get_plan(struct keep *k, size_t i, const struct cache_request *request,
		     struct reply *reply)
{
	struct job *job = &k->jobs[JOB_VERIFY];
	struct blob_work work;

	reply->answer.verdict = CACHE_NO;
	if (!k->plans || !blob_store_get(k->plans, k->clients[i].uid, request->token, &work))
		return;
	if (work.done) {
		give_plan(&work, reply);
		return;
	}
	reply->waits = true;
	if (job->busy) {
		close(work.file);
		return;
	}
	job->work = work;
	start_job(job, k->fds[i].fd);
}

/*
 * Memory of the size that a plan will have, which can neither grow nor shrink. It
 * is ours, but charged to the worker, who touches it first.
 */
static void new_plan(struct keep *k, struct client *c, const struct cache_request *request,
		     struct reply *reply)
{
	drop_memory(c);
	reply->answer.verdict = CACHE_NO;
	if (!k->plans || !blob_store_wants(k->plans, c->uid, request->token, request->model_size,
					   request->data_size))
		return;
	reply->answer.verdict = CACHE_LATER;
	if (!may_store(c))
		return;
	reply->answer.verdict = CACHE_FAILED;
	c->memory = memfd_create("nnaccel-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (c->memory < 0)
		return;
	if (ftruncate(c->memory, (off_t)(request->model_size + request->data_size)) ||
	    fcntl(c->memory, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK)) {
		drop_memory(c);
		return;
	}
	c->made_for = *request;
	reply->answer.verdict = CACHE_YES;
	reply->file = c->memory;
}

/* Begins to write what can change no more: sealing fails where the worker still maps it. */
static enum cache_verdict begin_write(struct keep *k, size_t i, const struct cache_request *request)
{
	struct client *c = &k->clients[i];
	const struct cache_request *made_for = &c->made_for;
	uint64_t size = made_for->model_size + made_for->data_size;
	struct job *job = &k->jobs[JOB_WRITE];
	void *bytes;

	if (c->memory < 0 || memcmp(made_for->token, request->token, sizeof(request->token)) ||
	    fcntl(c->memory, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) ||
	    !blob_store_wants(k->plans, c->uid, made_for->token, made_for->model_size,
			      made_for->data_size))
		return CACHE_NO;
	bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, c->memory, 0);
	if (bytes == MAP_FAILED)
		return CACHE_FAILED;
	if (!blob_store_put(k->plans, c->uid, made_for->token, bytes, made_for->model_size,
			    made_for->data_size, &job->work)) {
		munmap(bytes, size);
		return CACHE_FAILED;
	}
	start_job(job, k->fds[i].fd);
	return CACHE_YES;
}

static void keep_plan(struct keep *k, size_t i, const struct cache_request *request,
		      struct reply *reply)
{
	reply->waits = k->jobs[JOB_WRITE].busy;
	if (reply->waits)
		return;
	reply->answer.verdict = begin_write(k, i, request);
	reply->waits = k->jobs[JOB_WRITE].busy;
	if (!reply->waits)
		drop_memory(&k->clients[i]);
}

static struct reply reply_to(struct keep *k, size_t i, const struct cache_request *request)
{
	struct reply reply = { .answer.verdict = CACHE_LATER, .file = -1 };
	struct client *c = &k->clients[i];

	reply.answer.serial = request->serial;
	switch (request->kind) {
	case CACHE_QUERY:
		reply.answer.verdict = cache_index_query(k->index, c->uid, request->token,
							 request->hash);
		break;
	case CACHE_STORE:
		if (may_store(c))
			reply.answer.verdict = cache_index_store(k->index, c->uid, request->token,
								 request->hash);
		break;
	case CACHE_GET:
		get_plan(k, i, request, &reply);
		break;
	case CACHE_NEW:
		new_plan(k, c, request, &reply);
		break;
	case CACHE_DONE:
		keep_plan(k, i, request, &reply);
		break;
	case CACHE_DROP:
		reply.answer.verdict = CACHE_YES;
		if (k->plans)
			blob_store_drop(k->plans, c->uid, request->token);
		break;
	}
	return reply;
}

/* False: the worker is gone, or does not read. */
static bool send_reply(int socket, const struct reply *reply)
{
	bool sent = file_message_send(socket, &reply->answer, sizeof(reply->answer), reply->file);

	if (reply->close_file)
		close(reply->file);
	return sent;
}

/* ---- waiting for jobs ---- */

/* poll() does not look at a negative number. */
static bool is_waiting(const struct keep *k, size_t i)
{
	return k->fds[i].fd < 0;
}

static void wait_for(struct keep *k, size_t i, const struct cache_request *request,
		     bool for_job)
{
	struct client *c = &k->clients[i];

	k->fds[i].fd = ~k->fds[i].fd;
	c->request = *request;
	c->turn = for_job ? 0 : ++k->last_turn;
}

static enum job_kind job_of(const struct cache_request *request)
{
	return request->kind == CACHE_DONE ? JOB_WRITE : JOB_VERIFY;
}

/* Answers a request, or has it wait. False: the worker is gone. */
static bool serve_request(struct keep *k, size_t i, const struct cache_request *request)
{
	const struct job *job = &k->jobs[job_of(request)];
	struct reply reply = reply_to(k, i, request);

	if (!reply.waits)
		return send_reply(k->fds[i].fd, &reply);
	wait_for(k, i, request, job->socket == k->fds[i].fd);
	return true;
}

/* The worker that a job works for. It is not dropped meanwhile. */
static size_t client_of(const struct keep *k, const struct job *job)
{
	size_t i = FIRST_CLIENT;

	while (k->fds[i].fd != ~job->socket)
		i++;
	return i;
}

static struct reply end_work(struct keep *k, struct client *c, struct job *job)
{
	struct reply reply = { .answer.serial = c->request.serial, .file = -1 };
	bool good = blob_store_end(k->plans, &job->work);

	if (c->request.kind == CACHE_GET) {
		reply.answer.verdict = CACHE_NO;
		if (good)
			give_plan(&job->work, &reply);
		return reply;
	}
	reply.answer.verdict = good ? CACHE_YES : CACHE_FAILED;
	munmap((void *)job->work.bytes, job->work.blob.model_size + job->work.blob.data_size);
	drop_memory(c);
	return reply;
}

static void end_job(struct keep *k, struct job *job)
{
	size_t i = client_of(k, job);
	struct reply reply;

	if (job->has_thread)
		pthread_join(job->thread, NULL);
	job->busy = false;
	job->socket = -1;
	reply = end_work(k, &k->clients[i], job);
	k->fds[i].fd = ~k->fds[i].fd;
	if (!send_reply(k->fds[i].fd, &reply))
		drop_client(k, i);
}

/* The worker whose turn it is at a job; 0: nobody waits for it. */
static size_t next_waiting(const struct keep *k, enum job_kind kind)
{
	size_t next = 0;

	for (size_t i = FIRST_CLIENT; i < k->count; i++)
		if (is_waiting(k, i) && k->clients[i].turn &&
		    job_of(&k->clients[i].request) == kind &&
		    (!next || k->clients[i].turn < k->clients[next].turn))
			next = i;
	return next;
}

/* Whoever waited for a job is served as if it had asked now. */
static void serve_waiting(struct keep *k, enum job_kind kind)
{
	struct cache_request request;
	size_t i;

	while (!k->jobs[kind].busy && (i = next_waiting(k, kind))) {
		k->fds[i].fd = ~k->fds[i].fd;
		request = k->clients[i].request;
		if (!serve_request(k, i, &request))
			drop_client(k, i);
	}
}

static void end_jobs(struct keep *k)
{
	uint64_t count;

	if (read(k->fds[JOBS_END].fd, &count, sizeof(count)) < 0)
		return;
	for (int kind = 0; kind < JOBS; kind++) {
		if (k->jobs[kind].busy && atomic_load(&k->jobs[kind].ended))
			end_job(k, &k->jobs[kind]);
		serve_waiting(k, kind);
	}
}

/* ---- the loop ---- */

/* Answers one request. False: the worker is gone, or is not to be listened to. */
static bool serve_client(struct keep *k, size_t i)
{
	struct cache_request request;
	char bytes[sizeof(request) + 1];
	ssize_t n = recv(k->fds[i].fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (cache_request_parse(bytes, (size_t)n, &request))
		return serve_request(k, i, &request);
	if (n)
		log_warning("uid %u: a worker sends what is no request", k->clients[i].uid);
	return false;
}

/* One request of each in turn. */
static void keep_loop(struct keep *k)
{
	int n;

	while (k->fds[BROKER].fd >= 0 || k->count > FIRST_CLIENT) {
		n = poll(k->fds, k->count, FLUSH_MS);
		if (!n)
			cache_index_flush(k->index);
		if (n <= 0)
			continue;
		/* Backwards: one that goes makes the last take its place. */
		for (size_t i = k->count; --i >= FIRST_CLIENT;)
			if (k->fds[i].revents && !is_waiting(k, i) && !serve_client(k, i))
				drop_client(k, i);
		if (k->fds[JOBS_END].revents)
			end_jobs(k);
		if (k->fds[BROKER].revents && !take_client(k))
			return;
	}
}

static void end_keep(struct keep *k)
{
	for (int kind = 0; kind < JOBS; kind++)
		if (k->jobs[kind].busy)
			end_job(k, &k->jobs[kind]);
	while (k->count > FIRST_CLIENT) {
		if (is_waiting(k, k->count - 1))
			k->fds[k->count - 1].fd = ~k->fds[k->count - 1].fd;
		drop_client(k, k->count - 1);
	}
	close(k->fds[JOBS_END].fd);
	free(k->fds);
	free(k->clients);
}

bool keep_run(int broker, struct cache_index *index, struct blob_store *plans)
{
	struct keep k = { .index = index, .plans = plans };

	if (!begin_keep(&k, broker))
		return false;
	keep_loop(&k);
	end_keep(&k);
	return true;
}
