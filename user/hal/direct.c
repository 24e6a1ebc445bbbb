/* SPDX-License-Identifier: MIT */
/* A device without the kernel module: the device's objects, commands to the engine, and answers. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/direct.h"
#include "base/packet.h"
#include "base/round.h"
#include "hal/direct.h"
#include "ring/ring.h"

/*
 * GRACE_NS after an execution's deadline, the client's call returns; KILL_NS after the deadline,
 * the worker is killed. GRACE_NS and KILL_NS equal the module's defaults.
 */
#define GRACE_NS UINT64_C(100000000)
#define KILL_NS NS_PER_S

/* Time limit for an engine's greeting. */
static const struct timeval greeting = { .tv_sec = 10 };

enum object_kind { POOL, MODEL, BUFFER };

/* An object of a device: a pool, a model or a buffer. */
struct object {
	struct object *next;
	uint32_t id;
	enum object_kind kind;
	bool has_id;			/* true: the object is not destroyed yet */
	unsigned int uses;	/* number of references: by the id, models, slots and commands */
	/* number of the session in whose engine the object exists */
	uint32_t session;
	/* a pool */
	int file;
	uint32_t prot;
	bool is_own;	/* true: this device allocated the pool, so the pool can be exported */
	uint64_t offset, length;
	/* a model */
	struct object **held;
	uint32_t num_held;
	/* a buffer */
	struct object *pool;
	uint64_t size;
	bool initialised;
	uint32_t layout;		/* enum nnaccel_layout */
	struct nnaccel_role *roles;
	uint32_t num_roles;
};

/*
 * A command in progress. The thread that sent the command frees this structure or, if that thread
 * no longer waits, the thread that reads the answer.
 */
struct call {
	struct call *next;
	struct nnaccel_cmd head;
	struct object **objects;	/* objects that the grants name, with a reference to each */
	struct nnaccel_grant *grants;
	struct nnaccel_arg *args;
	struct nnaccel_cmd_role *roles;
	const void *attributes;
	bool is_done, is_abandoned;
	int error;			/* errno of the call, or 0 if there is an answer */
	struct direct_answer answer;
	uint8_t *payload;		/* follows a struct direct_answer in a malloc()ed block */
};

struct slot {
	struct object *pool;		/* NULL: free */
	uint32_t lap;
};

struct burst {
	struct burst *next;
	uint32_t number, session;
	int fd, alive;	/* ends of a pipe; `fd` reports EPOLLHUP when `alive` is closed */
	int file;			/* of the regions */
	struct nnaccel_burst_status *status;
	struct slot *slots;
	uint32_t num_slots;
};

struct direct {
	struct sockaddr_un address;
	pid_t process;	/* process that opened the device; calls of a forked child are refused */
	pthread_mutex_t lock;		/* lock for the fields that follow */
	pthread_cond_t changed;
	uint32_t session;		/* number of the connection, from 1 */
	bool is_connected, is_ending;
	int commands, memory;		/* -1: never connected */
	bool has_reader;		/* true: the reader thread exists and must be joined */
	pthread_t reader;
	uint64_t cookies, executions;
	uint32_t ids, burst_numbers;
	struct object *objects;
	struct call *calls;		/* calls that wait for answers */
	struct burst *bursts;
	int doorbell;			/* -1: none yet */
};

static int fail(int error)
{
	errno = error;
	return -1;
}

/* Returns the time `grace_ns` after a deadline, at most UINT64_MAX. */
static uint64_t after(uint64_t deadline_ns, uint64_t grace_ns)
{
	return deadline_ns < UINT64_MAX - grace_ns ? deadline_ns + grace_ns : UINT64_MAX;
}

/* ---- the connection, under the lock ---- */

static void call_free(struct direct *d, struct call *c);
static void notify(struct direct *d, const struct nnaccel_cmd *notice);

/* Ends a session: models and bursts of the session become dead, and all waiting calls return. */
static void die(struct direct *d)
{
	if (!d->is_connected)
		return;
	d->is_connected = false;
	shutdown(d->commands, SHUT_RDWR);
	for (struct call **at = &d->calls, *c; (c = *at);) {
		*at = c->next;
		c->is_done = true;
		c->error = EPIPE;
		if (c->is_abandoned)
			call_free(d, c);
	}
	for (struct burst *b = d->bursts; b; b = b->next) {
		__atomic_store_n(&b->status->state, NNACCEL_BURST_DEAD, __ATOMIC_RELEASE);
		if (b->alive >= 0)
			close(b->alive);
		b->alive = -1;
	}
	pthread_cond_broadcast(&d->changed);
}

/* Passes an answer of `size` bytes from the engine to the waiting call. */
static void take_answer(struct direct *d, uint8_t *bytes, size_t size)
{
	const struct direct_answer *answer = (const void *)bytes;
	struct call **at = &d->calls, *c;

	if (size < sizeof(*answer) ||
	    (uint64_t)answer->payload_size + answer->message_size != size - sizeof(*answer)) {
		die(d);
		free(bytes);
		return;
	}
	while ((c = *at) && c->head.cookie != answer->cookie)
		at = &c->next;
	if (!c) {
		free(bytes);
		return;
	}
	*at = c->next;
	c->answer = *answer;
	c->payload = bytes;
	c->is_done = true;
	if (c->is_abandoned && !answer->status && (c->head.kind == NNACCEL_DO_PREPARE ||
						   c->head.kind == NNACCEL_DO_PREPARE_CACHED))
		notify(d, &(struct nnaccel_cmd){ .kind = NNACCEL_DO_FORGET_MODEL,
						 .model = c->head.model });
	if (c->is_abandoned)
		call_free(d, c);
	else
		pthread_cond_broadcast(&d->changed);
}

/*
 * Returns the time at which an overdue execution ends the session; UINT64_MAX if no execution has a
 * deadline.
 */
static uint64_t end_ns(const struct direct *d)
{
	uint64_t first_ns = UINT64_MAX;

	for (const struct call *c = d->calls; c; c = c->next)
		if (c->head.kind == NNACCEL_DO_EXECUTE && c->head.deadline_ns &&
		    after(c->head.deadline_ns, KILL_NS) < first_ns)
			first_ns = after(c->head.deadline_ns, KILL_NS);
	return first_ns;
}

static void *read_answers(void *arg)
{
	struct direct *d = arg;
	struct pollfd fd = { .fd = d->commands, .events = POLLIN };
	uint8_t *bytes;
	ssize_t size;

	pthread_mutex_lock(&d->lock);
	while (d->is_connected) {
		uint64_t until_ns = end_ns(d);

		if (until_ns <= clock_ns()) {
			die(d);
			break;
		}
		pthread_mutex_unlock(&d->lock);
		/*
		 * Limit the wait: another thread may send a call with an early deadline during
		 * poll().
		 */
		if (until_ns > clock_ns() + KILL_NS / 2)
			until_ns = clock_ns() + KILL_NS / 2;
		poll(&fd, 1, clock_ms_until(until_ns));
		size = recv(fd.fd, NULL, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
		bytes = size > 0 ? malloc((size_t)size) : NULL;
		pthread_mutex_lock(&d->lock);
		if (size < 0 && errno == EAGAIN)
			continue;
		if (bytes && recv(fd.fd, bytes, (size_t)size, MSG_DONTWAIT) == size) {
			take_answer(d, bytes, (size_t)size);
		} else {
			free(bytes);
			die(d);
		}
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

/*
 * Closes a dead connection. The caller holds d->lock; disconnect() releases d->lock while it waits
 * for the reader thread.
 */
static void disconnect(struct direct *d)
{
	while (d->is_ending)
		pthread_cond_wait(&d->changed, &d->lock);
	if (d->is_connected)
		return;
	if (d->has_reader) {
		d->is_ending = true;
		pthread_mutex_unlock(&d->lock);
		pthread_join(d->reader, NULL);
		pthread_mutex_lock(&d->lock);
		d->is_ending = false;
		d->has_reader = false;
		pthread_cond_broadcast(&d->changed);
	}
	if (d->commands >= 0)
		close(d->commands);
	if (d->memory >= 0)
		close(d->memory);
	d->commands = -1;
	d->memory = -1;
}

static void notify(struct direct *d, const struct nnaccel_cmd *notice)
{
	struct nnaccel_cmd head = *notice;

	head.size = sizeof(head);
	/*
	 * If the socket has no room for the notice, the engine does not read any more, so end the
	 * session.
	 */
	if (d->is_connected && !packet_send(d->commands, &head, sizeof(head), -1))
		die(d);
}

static bool send_memory(struct direct *d, const struct direct_message *m, int file)
{
	return packet_send(d->memory, m, sizeof(*m), file);
}

/* Exchanges greetings with the engine; returns 0 or an errno. */
static int greet(struct direct *d)
{
	const struct direct_message message = { .kind = DIRECT_HELLO };
	const struct direct_message doorbell = { .kind = DIRECT_BURST };
	struct direct_message answer;
	const int room = DIRECT_ROOM;
	int ends[2];
	bool sent;

	d->commands = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (d->commands < 0)
		return errno;
	if (connect(d->commands, (const struct sockaddr *)&d->address, sizeof(d->address)))
		return ENOTCONN;
	setsockopt(d->commands, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	setsockopt(d->commands, SOL_SOCKET, SO_RCVTIMEO, &greeting, sizeof(greeting));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return errno;
	d->memory = ends[0];
	sent = packet_send(d->commands, &message, sizeof(message), ends[1]);
	close(ends[1]);
	if (!sent || recv(d->commands, &answer, sizeof(answer), 0) != sizeof(answer))
		return ETIMEDOUT;
	if (answer.error)
		return (int)answer.error;
	return send_memory(d, &doorbell, d->doorbell) ? 0 : errno;
}

/* Connects to the engine unless the device is connected. Returns 0 or an errno. */
static int get_session(struct direct *d)
{
	int error;

	if (!d->is_connected)
		disconnect(d);
	if (d->is_connected)
		return 0;
	d->session++;
	error = greet(d);
	if (!error) {
		d->is_connected = true;
		error = pthread_create(&d->reader, NULL, read_answers, d);
		d->has_reader = !error;
	}
	if (error) {
		d->is_connected = false;
		disconnect(d);
	}
	return error;
}

/* ---- objects, under the lock ---- */

static struct object *object_new(struct direct *d, enum object_kind kind)
{
	struct object *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->kind = kind;
	o->file = -1;
	o->id = ++d->ids;
	o->uses = 1;
	o->next = d->objects;
	d->objects = o;
	return o;
}

static void object_put(struct direct *d, struct object *o)
{
	struct object **at = &d->objects;

	if (!o || --o->uses)
		return;
	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	if (o->kind == POOL && o->session == d->session)
		notify(d, &(struct nnaccel_cmd){ .kind = NNACCEL_DO_FORGET_GRANT, .grant = o->id });
	if (o->kind == MODEL && o->session == d->session)
		notify(d, &(struct nnaccel_cmd){ .kind = NNACCEL_DO_FORGET_MODEL, .model = o->id });
	for (uint32_t i = 0; i < o->num_held; i++)
		object_put(d, o->held[i]);
	object_put(d, o->pool);
	if (o->file >= 0)
		close(o->file);
	free(o->held);
	free(o->roles);
	free(o);
}

static struct object *find(struct direct *d, uint32_t id, enum object_kind kind)
{
	struct object *o;

	for (o = d->objects; o && (o->id != id || o->kind != kind || !o->has_id); o = o->next)
		;
	return o;
}

static int destroy(struct direct *d, uint32_t id)
{
	struct object *o;

	for (o = d->objects; o && (o->id != id || !o->has_id); o = o->next)
		;
	if (!o)
		return ENOENT;
	o->has_id = false;
	object_put(d, o);
	return 0;
}

/* Creates a pool of zeroed memory that has no id. */
static struct object *new_memory(struct direct *d, uint64_t length)
{
	struct object *o = object_new(d, POOL);

	if (!o)
		return NULL;
	o->length = length;
	o->prot = NNACCEL_PROT_READ | NNACCEL_PROT_WRITE;
	o->file = memfd_create("nnaccel-direct", MFD_CLOEXEC);
	if (o->file >= 0 && !ftruncate(o->file, (off_t)length))
		return o;
	object_put(d, o);
	return NULL;
}

static int pool_alloc(struct direct *d, struct nnaccel_pool_alloc *a)
{
	struct object *o;

	if (!a->length)
		return EINVAL;
	o = a->length <= INT64_MAX / 4 ? new_memory(d, a->length) : NULL;
	if (!o)
		return EDQUOT;
	o->has_id = true;
	o->is_own = true;
	a->out_id = o->id;
	return 0;
}

static int pool_import(struct direct *d, struct nnaccel_pool_import *i)
{
	int mode = fcntl(i->fd, F_GETFL);
	struct object *o;
	struct stat st;

	if (mode < 0 || fstat(i->fd, &st))
		return EBADF;
	if (i->fourcc || i->flags || !S_ISREG(st.st_mode))
		return EOPNOTSUPP;
	if ((mode & O_ACCMODE) == O_WRONLY ||
	    (i->prot & NNACCEL_PROT_WRITE && (mode & O_ACCMODE) != O_RDWR))
		return EACCES;
	if (!i->length || i->offset % (uint64_t)sysconf(_SC_PAGESIZE) ||
	    i->offset > (uint64_t)st.st_size || i->length > (uint64_t)st.st_size - i->offset)
		return EINVAL;
	o = object_new(d, POOL);
	if (!o)
		return ENOMEM;
	o->file = fcntl(i->fd, F_DUPFD_CLOEXEC, 0);
	o->offset = i->offset;
	o->length = i->length;
	o->prot = i->prot;
	o->has_id = true;
	i->out_id = o->id;
	return 0;
}

static int pool_export(struct direct *d, struct nnaccel_pool_export *e)
{
	struct object *o = find(d, e->id, POOL);

	if (!o)
		return ENOENT;
	if (!o->is_own)
		return EOPNOTSUPP;
	e->out_fd = fcntl(o->file, F_DUPFD_CLOEXEC, 0);
	return e->out_fd < 0 ? errno : 0;
}

/* ---- commands, under the lock ---- */

static struct call *call_new(uint32_t kind, uint32_t num_grants, uint32_t num_args)
{
	struct call *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->head.kind = kind;
	c->head.priority = NNACCEL_PRIORITY_MEDIUM;
	c->objects = calloc(num_grants + 1, sizeof(*c->objects));
	c->grants = calloc(num_grants + 1, sizeof(*c->grants));
	c->args = calloc(num_args + 1, sizeof(*c->args));
	if (c->objects && c->grants && c->args)
		return c;
	free(c->objects);
	free(c->grants);
	free(c->args);
	free(c);
	return NULL;
}

static void call_free(struct direct *d, struct call *c)
{
	for (uint32_t i = 0; i < c->head.num_grants; i++)
		object_put(d, c->objects[i]);
	free(c->objects);
	free(c->grants);
	free(c->args);
	free(c->roles);
	free(c->payload);
	free(c);
}

/*
 * Grants a call access to a pool. Returns 0, or an errno if the pool is NULL or does not allow
 * `prot`.
 */
static int add_grant(struct call *c, struct object *pool, uint32_t prot)
{
	if (!pool)
		return ENOENT;
	if (prot & ~pool->prot)
		return EACCES;
	pool->uses++;
	c->objects[c->head.num_grants] = pool;
	c->grants[c->head.num_grants++] = (struct nnaccel_grant){ pool->id, prot, pool->length };
	return 0;
}

static int add_pools(struct direct *d, struct call *c, uint64_t ids, uint32_t count)
{
	const uint32_t *from = (const uint32_t *)(uintptr_t)ids;
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++)
		error = add_grant(c, find(d, from[i], POOL), NNACCEL_PROT_READ);
	return error;
}

/* Sends a pool to the session's engine unless the engine already has the pool. */
static bool tell(struct direct *d, struct object *pool)
{
	const struct direct_message m = {
		.kind = DIRECT_GRANT, .grant = { pool->id, pool->prot, pool->length },
		.offset = pool->offset,
	};

	if (pool->session == d->session)
		return true;
	pool->session = d->session;
	return send_memory(d, &m, pool->file);
}

/* Sends a command without waiting for the answer; returns 0 or an errno. */
static int send_call(struct direct *d, struct call *c)
{
	const struct iovec parts[] = {
		{ &c->head, sizeof(c->head) },
		{ c->grants, c->head.num_grants * sizeof(*c->grants) },
		{ c->args, (c->head.num_inputs + c->head.num_outputs) * sizeof(*c->args) },
		{ c->roles, c->head.num_roles * sizeof(*c->roles) },
		{ (void *)c->attributes, c->head.attributes_size },
	};
	const struct msghdr message = { .msg_iov = (struct iovec *)parts, .msg_iovlen = 5 };

	c->head.size = 0;
	for (size_t i = 0; i < 5; i++)
		c->head.size += (uint32_t)parts[i].iov_len;
	for (uint32_t i = 0; i < c->head.num_grants; i++)
		if (!tell(d, c->objects[i]))
			return EPIPE;
	c->head.cookie = ++d->cookies;
	if (sendmsg(d->commands, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return errno == EMSGSIZE || errno == EAGAIN ? ENOMEM : EPIPE;
	c->next = d->calls;
	d->calls = c;
	return 0;
}

static void await(struct direct *d, struct call *c)
{
	const uint64_t until_ns = after(c->head.deadline_ns, GRACE_NS);
	const struct timespec until = { (time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S) };

	while (!c->is_done && (!c->head.deadline_ns || clock_ns() < until_ns)) {
		if (c->head.deadline_ns)
			pthread_cond_clockwait(&d->changed, &d->lock, CLOCK_MONOTONIC, &until);
		else
			pthread_cond_wait(&d->changed, &d->lock);
	}
}

/*
 * Sends a command and waits for the command's answer. Returns 0 or an errno. If no answer comes in
 * time, sets *call to NULL, because the thread that reads answers then owns the call.
 */
static int ask(struct direct *d, struct call **call)
{
	struct call *c = *call;
	int error;

	if (c->head.deadline_ns && clock_ns() >= c->head.deadline_ns)
		return ETIME;
	error = send_call(d, c);
	if (error == EPIPE)
		die(d);
	if (error)
		return error;
	await(d, c);
	if (!c->is_done) {
		c->is_abandoned = true;
		*call = NULL;
		return ETIME;
	}
	return c->error;
}

static void take_status(const struct call *c, uint32_t *status, uint64_t message, uint32_t room)
{
	const char *text = (const char *)c->payload + sizeof(c->answer) + c->answer.payload_size;
	uint32_t size = c->answer.message_size;

	*status = c->answer.status;
	if (!room)
		return;
	size = size < room ? size : room - 1;
	memcpy((void *)(uintptr_t)message, text, size);
	((char *)(uintptr_t)message)[size] = '\0';
}

#define TAKE_STATUS(c, w) take_status(c, &(w)->out_status, (w)->message, (w)->message_size)

static const void *payload_of(const struct call *c, size_t least)
{
	return c->answer.payload_size < least ? NULL : c->payload + sizeof(c->answer);
}

/* ---- work ---- */

static int do_query(struct direct *d, struct nnaccel_query *q, struct call **call)
{
	struct call *c = *call;
	int error;

	c->head.query = q->query;
	c->head.max_payload = q->data_size;
	error = ask(d, call);
	if (error)
		return error;
	take_status(c, &q->out_status, 0, 0);
	if (c->answer.payload_size > q->data_size)
		return ENOBUFS;
	q->data_size = c->answer.payload_size;
	memcpy((void *)(uintptr_t)q->data, payload_of(c, 0), q->data_size);
	return 0;
}

static int do_supported(struct direct *d, struct nnaccel_supported *s, struct call **call)
{
	struct call *c = *call;
	int error = add_grant(c, find(d, s->wire_pool, POOL), NNACCEL_PROT_READ);

	error = error ? error : add_pools(d, c, s->pools, s->num_pools);
	c->head.wire_offset = s->wire_offset;
	c->head.wire_length = s->wire_length;
	c->head.max_payload = s->num_operations;
	error = error ? error : ask(d, call);
	if (error)
		return error;
	TAKE_STATUS(c, s);
	if (!s->out_status && c->answer.payload_size != s->num_operations)
		return EPIPE;
	if (!s->out_status)
		memcpy((void *)(uintptr_t)s->supported, payload_of(c, 0), s->num_operations);
	return 0;
}

/*
 * Sends a command that makes a model. The model takes a reference to each pool that the command
 * names. Sets *id to 0 on failure.
 */
static int make_model(struct direct *d, struct call **call, uint32_t *id)
{
	struct call *c = *call;
	struct object *model = object_new(d, MODEL);
	int error = model ? 0 : ENOMEM;

	*id = 0;
	c->head.max_payload = sizeof(struct nnaccel_model_memory);
	c->head.model = model ? model->id : 0;
	error = error ? error : ask(d, call);
	if (!error && !c->answer.status) {
		model->session = d->session;
		model->held = calloc(c->head.num_grants, sizeof(*model->held));
		for (; model->held && model->num_held < c->head.num_grants; model->num_held++) {
			model->held[model->num_held] = c->objects[model->num_held];
			model->held[model->num_held]->uses++;
		}
		model->has_id = true;
		*id = model->id;
	} else if (model) {
		object_put(d, model);
	}
	return error;
}

static int do_prepare(struct direct *d, struct nnaccel_prepare *p, struct call **call)
{
	struct call *c = *call;
	int error = add_grant(c, find(d, p->wire_pool, POOL), NNACCEL_PROT_READ);

	error = error ? error : add_pools(d, c, p->pools, p->num_pools);
	c->head.flags = p->flags;
	c->head.wire_offset = p->wire_offset;
	c->head.wire_length = p->wire_length;
	c->head.preference = p->preference;
	c->head.priority = p->priority;
	c->head.deadline_ns = p->deadline_ns;
	c->head.attributes_size = p->attributes_size;
	c->attributes = (const void *)(uintptr_t)p->attributes;
	error = error ? error : make_model(d, call, &p->out_model);
	if (!error)
		TAKE_STATUS(c, p);
	return error;
}

static int add_parts(struct direct *d, struct call *c, uint64_t parts, uint32_t num_model,
		     uint32_t num_data, uint32_t prot)
{
	const struct nnaccel_cache_part *part = (const void *)(uintptr_t)parts;
	int error = 0;

	c->head.num_inputs = num_model;
	c->head.num_outputs = num_data;
	for (uint32_t i = 0; i < num_model + num_data && !error; i++, part++) {
		c->args[i].flags = NNACCEL_ARG_NO_VALUE;
		if (!part->pool)
			continue;
		c->args[i] = (struct nnaccel_arg){ .pool = c->head.num_grants,
						   .offset = part->offset, .length = part->length };
		error = add_grant(c, find(d, part->pool, POOL), prot);
	}
	return error;
}

static int do_prepare_cached(struct direct *d, struct nnaccel_prepare_cached *p, struct call **call)
{
	struct call *c = *call;
	int error = add_parts(d, c, p->parts, p->num_model_parts, p->num_data_parts,
			      NNACCEL_PROT_READ);

	memcpy(c->head.token, p->token, sizeof(p->token));
	c->head.preference = p->preference;
	c->head.priority = p->priority;
	c->head.deadline_ns = p->deadline_ns;
	c->head.attributes_size = p->attributes_size;
	c->attributes = (const void *)(uintptr_t)p->attributes;
	error = error ? error : make_model(d, call, &p->out_model);
	if (!error)
		TAKE_STATUS(c, p);
	return error;
}

/*
 * Returns the model of an id, if the worker that prepared the model still runs; otherwise returns
 * NULL and sets *error.
 */
static struct object *live_model(struct direct *d, uint32_t id, int *error)
{
	struct object *model = find(d, id, MODEL);

	*error = !model ? ENOENT : ESTALE;
	if (!model || !d->is_connected || model->session != d->session)
		return NULL;
	*error = 0;
	return model;
}

static int do_cache_save(struct direct *d, struct nnaccel_cache_save *s, struct call **call)
{
	struct call *c = *call;
	int error;

	live_model(d, s->model, &error);
	if (!error)
		error = add_parts(d, c, s->parts, s->num_model_parts, s->num_data_parts,
				  NNACCEL_PROT_READ | NNACCEL_PROT_WRITE);
	memcpy(c->head.token, s->token, sizeof(s->token));
	c->head.model = s->model;
	c->head.max_payload = (s->num_model_parts + s->num_data_parts) * (uint32_t)sizeof(uint64_t);
	error = error ? error : ask(d, call);
	if (error)
		return error;
	TAKE_STATUS(c, s);
	if (payload_of(c, c->head.max_payload))
		memcpy((void *)(uintptr_t)s->sizes, payload_of(c, 0), c->head.max_payload);
	return 0;
}

/* ---- executions ---- */

static bool has_role(const struct object *buffer, uint32_t model, uint32_t kind, uint32_t index)
{
	for (uint32_t i = 0; i < buffer->num_roles; i++)
		if (buffer->roles[i].model == model && buffer->roles[i].kind == kind &&
		    buffer->roles[i].index == index)
			return true;
	return false;
}

static int set_buffer(struct direct *d, struct call *c, const struct nnaccel_execute *e, uint32_t i)
{
	const uint32_t *ids = (const uint32_t *)(uintptr_t)e->buffers;
	bool is_output = i >= e->num_inputs;
	struct nnaccel_arg *arg = &c->args[i];
	struct object *buffer;

	if (arg->pool >= e->num_buffers || arg->offset || arg->length)
		return EINVAL;
	buffer = find(d, ids[arg->pool], BUFFER);
	if (!buffer)
		return ENOENT;
	if (!has_role(buffer, e->model, is_output ? NNACCEL_ROLE_OUTPUT : NNACCEL_ROLE_INPUT,
		      is_output ? i - e->num_inputs : i))
		return EPERM;
	if (!is_output && !buffer->initialised)
		return ENODATA;
	arg->pool += e->num_pools;
	arg->length = is_output ? buffer->pool->length : buffer->size;
	if (is_output) {
		buffer->initialised = false;
		c->grants[arg->pool].prot |= NNACCEL_PROT_WRITE;
	}
	return 0;
}

/*
 * Checks an argument in a pool, as the kernel module does, and adds the argument's access to the
 * pool's grant.
 */
static int add_access(struct call *c, const struct nnaccel_execute *e, uint32_t i)
{
	const struct nnaccel_arg *arg = &c->args[i];
	struct nnaccel_grant *grant;

	if (arg->rank > NNACCEL_MAX_RANK)
		return EINVAL;
	if (arg->flags & NNACCEL_ARG_NO_VALUE)
		return 0;
	if (arg->pool >= e->num_pools)
		return EINVAL;
	grant = &c->grants[arg->pool];
	if (arg->offset > grant->length || arg->length > grant->length - arg->offset)
		return EINVAL;
	if (i < e->num_inputs)
		return 0;
	if (!(c->objects[arg->pool]->prot & NNACCEL_PROT_WRITE))
		return EACCES;
	grant->prot |= NNACCEL_PROT_WRITE;
	return 0;
}

/* Sets the sizes of outputs that are buffers, as the engine reports them. */
static void fill_buffers(struct direct *d, const struct call *c, const struct nnaccel_execute *e)
{
	const size_t shapes = e->num_outputs * sizeof(struct nnaccel_shape);
	const uint8_t *sizes = payload_of(c, shapes + e->num_outputs * sizeof(uint64_t));
	const uint32_t *ids = (const uint32_t *)(uintptr_t)e->buffers;
	struct object *buffer;

	for (uint32_t i = 0; sizes && !c->answer.status && i < e->num_outputs; i++) {
		const struct nnaccel_arg *arg = &c->args[e->num_inputs + i];

		if (!(arg->flags & NNACCEL_ARG_BUFFER))
			continue;
		buffer = find(d, ids[arg->pool - e->num_pools], BUFFER);
		if (!buffer)
			continue;
		memcpy(&buffer->size, sizes + shapes + i * sizeof(uint64_t), sizeof(buffer->size));
		buffer->initialised = buffer->size <= buffer->pool->length;
	}
}

static int add_arguments(struct direct *d, struct call *c, const struct nnaccel_execute *e)
{
	const uint32_t *ids = (const uint32_t *)(uintptr_t)e->buffers;
	bool has_buffers = false;
	int error = add_pools(d, c, e->pools, e->num_pools);

	for (uint32_t i = 0; i < e->num_buffers && !error; i++) {
		struct object *buffer = find(d, ids[i], BUFFER);

		error = add_grant(c, buffer ? buffer->pool : NULL, NNACCEL_PROT_READ);
	}
	memcpy(c->args, (const void *)(uintptr_t)e->args,
	       (e->num_inputs + e->num_outputs) * sizeof(*c->args));
	for (uint32_t i = 0; i < e->num_inputs + e->num_outputs && !error; i++) {
		bool is_buffer = c->args[i].flags & NNACCEL_ARG_BUFFER;

		has_buffers |= is_buffer && i >= e->num_inputs;
		error = is_buffer ? set_buffer(d, c, e, i) : add_access(c, e, i);
	}
	c->head.num_inputs = e->num_inputs;
	c->head.num_outputs = e->num_outputs;
	c->head.max_payload = e->num_outputs * (uint32_t)(sizeof(struct nnaccel_shape) +
							 (has_buffers ? sizeof(uint64_t) : 0));
	return error;
}

static bool are_shapes(const struct nnaccel_shape *shapes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (shapes[i].rank > NNACCEL_MAX_RANK)
			return false;
	return true;
}

static int do_execute(struct direct *d, struct nnaccel_execute *e, struct call **call)
{
	const size_t shapes = e->num_outputs * sizeof(struct nnaccel_shape);
	uint64_t start_ns = clock_ns();
	struct call *c = *call;
	int error;

	live_model(d, e->model, &error);
	error = error ? error : add_arguments(d, c, e);
	c->head.flags = e->flags;
	c->head.model = e->model;
	c->head.deadline_ns = e->deadline_ns;
	c->head.loop_timeout_ns = e->loop_timeout_ns;
	c->head.attributes_size = e->attributes_size;
	c->attributes = (const void *)(uintptr_t)e->attributes;
	error = error ? error : ask(d, call);
	if (error)
		return error;
	e->out_num_shapes = payload_of(c, shapes) && c->answer.payload_size ? e->num_outputs : 0;
	if (!are_shapes(payload_of(c, 0), e->out_num_shapes)) {
		die(d);
		return EPIPE;
	}
	TAKE_STATUS(c, e);
	d->executions++;
	if (e->shapes && e->out_num_shapes)
		memcpy((void *)(uintptr_t)e->shapes, payload_of(c, shapes), shapes);
	e->out_device_ns = e->out_driver_ns = NNACCEL_TIME_NONE;
	if (e->flags & NNACCEL_EXECUTE_MEASURE) {
		e->out_device_ns = c->answer.device_ns;
		e->out_driver_ns = clock_ns() - start_ns;
	}
	e->out_fenced_ns = NNACCEL_TIME_NONE;
	fill_buffers(d, c, e);
	return 0;
}

/* ---- buffers ---- */

static int do_buffer_alloc(struct direct *d, struct nnaccel_buffer_alloc *a, struct call **call)
{
	const struct nnaccel_role *roles = (const struct nnaccel_role *)(uintptr_t)a->roles;
	struct object *buffer = object_new(d, BUFFER);
	struct call *c = *call;
	const uint32_t *layout;
	int error = buffer ? 0 : ENOMEM;

	a->out_buffer = 0;
	c->roles = calloc(a->num_roles + 1, sizeof(*c->roles));
	if (buffer) {
		buffer->pool = a->capacity ? new_memory(d, a->capacity) : NULL;
		buffer->roles = calloc(a->num_roles + 1, sizeof(*buffer->roles));
	}
	if (!buffer || !c->roles || !buffer->pool || !buffer->roles)
		error = ENOMEM;
	for (uint32_t i = 0; i < a->num_roles && !error; i++) {
		live_model(d, roles[i].model, &error);
		buffer->roles[i] = roles[i];
		c->roles[i] = (struct nnaccel_cmd_role){
			.model = roles[i].model, .kind = roles[i].kind, .index = roles[i].index,
			.frequency = roles[i].frequency,
		};
	}
	if (!error) {
		buffer->num_roles = a->num_roles;
		c->head.num_roles = a->num_roles;
		c->head.max_payload = sizeof(*layout);
		error = add_grant(c, buffer->pool, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE);
	}
	error = error ? error : ask(d, call);
	if (!error && !c->answer.status) {
		layout = payload_of(c, sizeof(*layout));
		buffer->layout = layout ? *layout : NNACCEL_LAYOUT_LINEAR;
		buffer->session = d->session;
		buffer->has_id = true;
		a->out_buffer = buffer->id;
	} else if (buffer) {
		object_put(d, buffer);
	}
	if (!error)
		TAKE_STATUS(c, a);
	return error;
}

/*
 * Copies between two files, or between a file and the caller's memory; the file descriptor is -1
 * for memory.
 */
static int copy(int to, uint64_t to_offset, void *to_data, int from, uint64_t from_offset,
		const void *from_data, uint64_t length)
{
	char bytes[65536];

	for (uint64_t done = 0, n; done < length; done += n) {
		n = length - done < sizeof(bytes) ? length - done : sizeof(bytes);
		if (from < 0)
			memcpy(bytes, (const char *)from_data + done, n);
		else if (pread(from, bytes, n, (off_t)(from_offset + done)) != (ssize_t)n)
			return EIO;
		if (to < 0)
			memcpy((char *)to_data + done, bytes, n);
		else if (pwrite(to, bytes, n, (off_t)(to_offset + done)) != (ssize_t)n)
			return EIO;
	}
	return 0;
}

/* Lets the engine convert a buffer between the engine's layout and the client's layout. */
static int convert(struct direct *d, struct object *buffer, struct object *plain,
		   struct nnaccel_buffer_copy *b, struct call **call)
{
	bool is_in = b->flags & NNACCEL_COPY_IN;
	struct call *c = *call;
	int error;

	if (!d->is_connected || buffer->session != d->session)
		return ESTALE;
	c->head.kind = is_in ? NNACCEL_DO_COPY_IN : NNACCEL_DO_COPY_OUT;
	c->head.wire_length = b->length;
	error = add_grant(c, buffer->pool, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE);
	error = error ? error : add_grant(c, plain, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE);
	error = error ? error : ask(d, call);
	if (!error)
		TAKE_STATUS(c, b);
	return error;
}

static int do_buffer_copy(struct direct *d, struct nnaccel_buffer_copy *b, struct call **call)
{
	struct object *buffer = find(d, b->buffer, BUFFER), *pool = find(d, b->pool, POOL), *plain;
	bool is_in = b->flags & NNACCEL_COPY_IN, has_pool = b->flags & NNACCEL_COPY_POOL;
	void *data = (void *)(uintptr_t)b->data;
	int error = 0, file = has_pool && pool ? pool->file : -1;
	uint64_t offset = has_pool && pool ? pool->offset + b->offset : 0;

	b->out_status = 0;
	if (!has_pool && !data)
		return EFAULT;
	if (!buffer || (has_pool && !pool))
		return ENOENT;
	if (has_pool && !is_in && !(pool->prot & NNACCEL_PROT_WRITE))
		return EACCES;
	if (!is_in && !buffer->initialised)
		return ENODATA;
	if (is_in ? !b->length || b->length > buffer->pool->length : b->length != buffer->size)
		return EINVAL;
	if (has_pool && (b->offset > pool->length || b->length > pool->length - b->offset))
		return EINVAL;
	plain = buffer->layout == NNACCEL_LAYOUT_LINEAR ? buffer->pool : new_memory(d, b->length);
	if (!plain)
		return ENOMEM;
	/* Another thread may destroy the buffer while the engine converts it. */
	buffer->uses++;
	if (is_in) {
		buffer->initialised = false;
		error = copy(plain->file, 0, NULL, file, offset, data, b->length);
	}
	if (!error && plain != buffer->pool)
		error = convert(d, buffer, plain, b, call);
	if (!error && !is_in && !b->out_status)
		error = copy(file, offset, data, plain->file, 0, NULL, b->length);
	if (is_in && !error && !b->out_status) {
		buffer->size = b->length;
		buffer->initialised = true;
	}
	if (plain != buffer->pool)
		object_put(d, plain);
	object_put(d, buffer);
	return error;
}

/* ---- bursts ---- */

static struct burst *find_burst(struct direct *d, int fd)
{
	struct burst *b;

	for (b = d->bursts; b && b->fd != fd; b = b->next)
		;
	return b;
}

static bool burst_is_alive(const struct direct *d, const struct burst *b)
{
	return d->is_connected && b->session == d->session;
}

/*
 * Frees a burst that is not in the device's list. A notice tells the engine that the burst is dead.
 */
static void burst_free(struct direct *d, struct burst *b)
{
	if (b->status && b->status != MAP_FAILED)
		__atomic_store_n(&b->status->state, NNACCEL_BURST_DEAD, __ATOMIC_RELEASE);
	if (b->session == d->session)
		notify(d, &(struct nnaccel_cmd){ .kind = NNACCEL_DO_BURST_GONE, .burst = b->number });
	for (uint32_t i = 0; i < b->num_slots; i++)
		object_put(d, b->slots[i].pool);
	if (b->status && b->status != MAP_FAILED)
		munmap(b->status, (size_t)sysconf(_SC_PAGESIZE));
	if (b->alive >= 0)
		close(b->alive);
	if (b->fd >= 0)
		close(b->fd);
	if (b->file >= 0)
		close(b->file);
	free(b->slots);
	free(b);
}

static struct burst *burst_new(struct direct *d, uint32_t capacity)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = round_up(nn_ring_bytes(capacity), page);
	struct burst *b = calloc(1, sizeof(*b));
	int ends[2] = { -1, -1 };

	if (!b)
		return NULL;
	b->number = ++d->burst_numbers;
	b->file = memfd_create("nnaccel-burst", MFD_CLOEXEC);
	if (pipe2(ends, O_CLOEXEC) || b->file < 0 ||
	    ftruncate(b->file, (off_t)(NNACCEL_BURST_RESULTS + bytes)))
		b->status = MAP_FAILED;
	else
		b->status = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, b->file,
				 NNACCEL_BURST_STATUS);
	b->fd = ends[0];
	b->alive = ends[1];
	if (b->status == MAP_FAILED) {
		burst_free(d, b);
		return NULL;
	}
	*b->status = (struct nnaccel_burst_status){
		.state = NNACCEL_BURST_ALIVE,
		.lines = nn_ring_lines(capacity),
		.capacity = capacity,
		.ring_bytes = (uint32_t)bytes,
	};
	return b;
}

static int do_burst(struct direct *d, struct nnaccel_burst_create *w, struct call **call)
{
	uint32_t capacity = w->capacity ? w->capacity : NNACCEL_BURST_DEFAULT_CAPACITY;
	struct direct_message regions = { .kind = DIRECT_BURST };
	struct call *c = *call;
	struct burst *b;
	int error;

	w->out_fd = -1;
	if (capacity > NNACCEL_BURST_MAX_CAPACITY)
		return EINVAL;
	if (!live_model(d, w->model, &error))
		return error;
	b = burst_new(d, capacity);
	if (!b)
		return EDQUOT;
	regions.burst = b->number;
	b->session = d->session;
	c->head.model = w->model;
	c->head.burst = b->number;
	c->head.flags = w->flags & NNACCEL_BURST_NO_SPIN;
	error = send_memory(d, &regions, b->file) ? ask(d, call) : EPIPE;
	if (!error)
		TAKE_STATUS(c, w);
	if (error || w->out_status) {
		burst_free(d, b);
		return error;
	}
	b->next = d->bursts;
	d->bursts = b;
	w->out_fd = b->fd;
	return 0;
}

static int bind_slot(struct direct *d, struct burst *b, struct nnaccel_burst_slot *s)
{
	struct direct_message m = { .kind = DIRECT_SLOT, .burst = b->number };
	struct object *pool = find(d, s->pool, POOL);
	struct slot *slots;
	uint32_t i = 0;

	if (!pool)
		return ENOENT;
	if (s->prot & ~pool->prot)
		return EACCES;
	if (!burst_is_alive(d, b))
		return EPIPE;
	while (i < b->num_slots && b->slots[i].pool)
		i++;
	if (i == NNACCEL_BURST_MAX_SLOTS)
		return ENOSPC;
	if (i == b->num_slots) {
		slots = realloc(b->slots, (i + 1) * sizeof(*slots));
		if (!slots)
			return ENOMEM;
		b->slots = slots;
		b->slots[b->num_slots++] = (struct slot){ .pool = NULL };
	}
	s->slot = b->slots[i].lap * NNACCEL_BURST_MAX_SLOTS + i;
	m.slot = s->slot;
	m.grant = (struct nnaccel_grant){ pool->id, s->prot, pool->length };
	if (!tell(d, pool) || !send_memory(d, &m, -1))
		return ENOSPC;
	b->slots[i].pool = pool;
	pool->uses++;
	return 0;
}

static int free_slot(struct direct *d, struct burst *b, uint32_t number)
{
	uint32_t i = NNACCEL_SLOT_INDEX(number);
	struct object *pool = i < b->num_slots ? b->slots[i].pool : NULL;

	if (!pool || b->slots[i].lap != number / NNACCEL_BURST_MAX_SLOTS)
		return ENOENT;
	b->slots[i].pool = NULL;
	b->slots[i].lap++;
	if (burst_is_alive(d, b))
		notify(d, &(struct nnaccel_cmd){ .kind = NNACCEL_DO_SLOT_GONE, .burst = b->number,
						 .grant = number });
	object_put(d, pool);
	return 0;
}

int direct_burst_call(struct direct *d, int burst, unsigned long request, void *arg)
{
	struct nnaccel_burst_slot *s = arg;
	struct burst *b;
	int error;

	if (d->process != getpid())
		return fail(EACCES);
	pthread_mutex_lock(&d->lock);
	b = find_burst(d, burst);
	if (!b || request != NNACCEL_BURST_SLOT)
		error = ENOTTY;
	else
		error = s->pool ? bind_slot(d, b, s) : free_slot(d, b, s->slot);
	pthread_mutex_unlock(&d->lock);
	return error ? fail(error) : 0;
}

void *direct_burst_map(struct direct *d, int burst, size_t length, int prot, uint64_t offset)
{
	bool is_doorbell = offset == NNACCEL_BURST_DOORBELL;
	struct burst *b;
	int file;

	pthread_mutex_lock(&d->lock);
	b = find_burst(d, burst);
	file = is_doorbell ? d->doorbell : b ? b->file : -1;
	pthread_mutex_unlock(&d->lock);
	return mmap(NULL, length, prot, MAP_SHARED, file, is_doorbell ? 0 : (off_t)offset);
}

void direct_burst_close(struct direct *d, int burst)
{
	struct burst **at, *b;

	if (d->process != getpid())
		return;
	pthread_mutex_lock(&d->lock);
	for (at = &d->bursts; (b = *at) && b->fd != burst; at = &b->next)
		;
	if (b) {
		*at = b->next;
		burst_free(d, b);
	}
	pthread_mutex_unlock(&d->lock);
}

/* ---- calls ---- */

static struct call *call_of(const struct nnaccel_submit *s)
{
	const struct nnaccel_execute *e = (const void *)(uintptr_t)s->work;
	const struct nnaccel_supported *supported = (const void *)(uintptr_t)s->work;
	const struct nnaccel_prepare *prepare = (const void *)(uintptr_t)s->work;
	const struct nnaccel_prepare_cached *cached = (const void *)(uintptr_t)s->work;
	const struct nnaccel_cache_save *save = (const void *)(uintptr_t)s->work;
	static const uint32_t kinds[] = {
		[NNACCEL_WORK_QUERY] = NNACCEL_DO_QUERY,
		[NNACCEL_WORK_SUPPORTED] = NNACCEL_DO_SUPPORTED,
		[NNACCEL_WORK_PREPARE] = NNACCEL_DO_PREPARE,
		[NNACCEL_WORK_PREPARE_CACHED] = NNACCEL_DO_PREPARE_CACHED,
		[NNACCEL_WORK_CACHE_SAVE] = NNACCEL_DO_CACHE_SAVE,
		[NNACCEL_WORK_EXECUTE] = NNACCEL_DO_EXECUTE,
		[NNACCEL_WORK_BUFFER_ALLOC] = NNACCEL_DO_BUFFER,
		[NNACCEL_WORK_BUFFER_COPY] = NNACCEL_DO_COPY_IN,
		[NNACCEL_WORK_BURST] = NNACCEL_DO_BURST,
	};
	uint32_t num_grants = 2, num_args = 0;

	if (s->kind == NNACCEL_WORK_EXECUTE) {
		num_grants = e->num_pools + e->num_buffers;
		num_args = e->num_inputs + e->num_outputs;
	} else if (s->kind == NNACCEL_WORK_SUPPORTED) {
		num_grants = supported->num_pools + 1;
	} else if (s->kind == NNACCEL_WORK_PREPARE) {
		num_grants = prepare->num_pools + 1;
	} else if (s->kind == NNACCEL_WORK_PREPARE_CACHED) {
		num_grants = num_args = cached->num_model_parts + cached->num_data_parts;
	} else if (s->kind == NNACCEL_WORK_CACHE_SAVE) {
		num_grants = num_args = save->num_model_parts + save->num_data_parts;
	}
	return call_new(kinds[s->kind], num_grants, num_args);
}

/*
 * Returns whether work of kind `kind` may start a new session. Work that needs an existing model or
 * burst may not start a session.
 */
static bool wants_session(uint32_t kind)
{
	return kind == NNACCEL_WORK_QUERY || kind == NNACCEL_WORK_SUPPORTED ||
	       kind == NNACCEL_WORK_PREPARE || kind == NNACCEL_WORK_PREPARE_CACHED;
}

static int do_work(struct direct *d, struct nnaccel_submit *s, struct call **call)
{
	void *work = (void *)(uintptr_t)s->work;
	int error = wants_session(s->kind) ? get_session(d) : 0;

	if (error)
		return error;
	switch (s->kind) {
	case NNACCEL_WORK_QUERY: return do_query(d, work, call);
	case NNACCEL_WORK_SUPPORTED: return do_supported(d, work, call);
	case NNACCEL_WORK_PREPARE: return do_prepare(d, work, call);
	case NNACCEL_WORK_PREPARE_CACHED: return do_prepare_cached(d, work, call);
	case NNACCEL_WORK_CACHE_SAVE: return do_cache_save(d, work, call);
	case NNACCEL_WORK_EXECUTE: return do_execute(d, work, call);
	case NNACCEL_WORK_BUFFER_ALLOC: return do_buffer_alloc(d, work, call);
	case NNACCEL_WORK_BUFFER_COPY: return do_buffer_copy(d, work, call);
	}
	return do_burst(d, work, call);
}

static int submit(struct direct *d, struct nnaccel_submit *s)
{
	struct call *call;
	int error;

	if (s->kind < NNACCEL_WORK_QUERY || s->kind > NNACCEL_WORK_BURST)
		return EINVAL;
	if (!(s->flags & NNACCEL_SUBMIT_WAIT))
		return EOPNOTSUPP;
	call = call_of(s);
	if (!call)
		return ENOMEM;
	error = do_work(d, s, &call);
	if (call)
		call_free(d, call);
	s->out_state = NNACCEL_STATE_DONE;
	s->out_id = 0;
	s->out_fd = -1;
	return error;
}

/* Answers NNACCEL_INFO, without the kernel module's limits, which do not apply. */
static void tell_info(const struct direct *d, struct nnaccel_info *info)
{
	*info = (struct nnaccel_info){
		.size = info->size,
		.abi = NNACCEL_ABI_VERSION,
		.engine = d->is_connected ? NNACCEL_ENGINE_ATTACHED :
			  access(d->address.sun_path, F_OK) ? NNACCEL_ENGINE_ABSENT :
			  NNACCEL_ENGINE_PENDING,
		.max_pools = UINT32_MAX,
		.max_models = UINT32_MAX,
		.max_commands = UINT32_MAX,
		.max_bursts = UINT32_MAX,
		.max_buffers = UINT32_MAX,
		.max_pool_bytes = INT64_MAX / 4,
		.max_context_bytes = INT64_MAX,
		.max_user_bytes = INT64_MAX,
		.executions = d->executions,
	};
}

int direct_call(struct direct *d, unsigned long request, void *arg)
{
	int error = EOPNOTSUPP;

	if (d->process != getpid())
		return fail(EACCES);
	pthread_mutex_lock(&d->lock);
	switch (request) {
	case NNACCEL_INFO:
		tell_info(d, arg);
		error = 0;
		break;
	case NNACCEL_DESTROY:
		error = destroy(d, ((struct nnaccel_destroy *)arg)->id);
		break;
	case NNACCEL_POOL_ALLOC:
		error = pool_alloc(d, arg);
		break;
	case NNACCEL_POOL_IMPORT:
		error = pool_import(d, arg);
		break;
	case NNACCEL_POOL_EXPORT:
		error = pool_export(d, arg);
		break;
	case NNACCEL_SUBMIT:
		error = submit(d, arg);
		break;
	}
	pthread_mutex_unlock(&d->lock);
	return error ? fail(error) : 0;
}

struct direct *direct_open(const char *path)
{
	struct direct *d = calloc(1, sizeof(*d));
	struct stat st;

	if (!d)
		return NULL;
	d->address.sun_family = AF_UNIX;
	d->commands = -1;
	d->memory = -1;
	d->doorbell = -1;
	errno = ENXIO;
	if (strlen(path) < sizeof(d->address.sun_path) && !stat(path, &st) && S_ISSOCK(st.st_mode))
		d->doorbell = memfd_create("nnaccel-doorbell", MFD_CLOEXEC);
	if (d->doorbell < 0 || ftruncate(d->doorbell, sysconf(_SC_PAGESIZE))) {
		if (d->doorbell >= 0)
			close(d->doorbell);
		free(d);
		return NULL;
	}
	strcpy(d->address.sun_path, path);
	d->process = getpid();
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->changed, NULL);
	return d;
}

void direct_close(struct direct *d)
{
	/* A forked child has no reader thread, and a thread of the parent may hold the lock. */
	if (d->process != getpid())
		return;
	pthread_mutex_lock(&d->lock);
	die(d);
	disconnect(d);
	pthread_mutex_unlock(&d->lock);
	close(d->doorbell);
	pthread_cond_destroy(&d->changed);
	pthread_mutex_destroy(&d->lock);
	free(d);
}
