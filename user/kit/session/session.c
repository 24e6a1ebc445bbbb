// SPDX-License-Identifier: MIT
/*
 * System calls on a session. For a direct session, which needs no kernel module, messages replace
 * the system calls; see session.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/direct.h"
#include "base/packet.h"
#include "kit/api/log.h"
#include "kit/session/session.h"

/* A message received on the memory socket of a direct session. */
struct known {
	struct known *next;
	struct direct_message message;
	int file;			/* file that the message carried, or -1 */
};

struct direct {
	struct direct *next;
	int commands, memory;
	atomic_bool ended;
	/* lock that protects `known`; held while a thread reads a command */
	pthread_mutex_t lock;
	struct known *known;
};

/*
 * All direct sessions of this process. While the number `count` of direct sessions is 0, find()
 * does not take the lock.
 */
static struct {
	atomic_uint count;
	pthread_mutex_t lock;
	struct direct *list;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * Returns the direct session with the descriptor `session`, or NULL if the kernel module provides
 * the session.
 */
static struct direct *find(int session)
{
	struct direct *d;

	if (!atomic_load(&all.count))
		return NULL;
	pthread_mutex_lock(&all.lock);
	for (d = all.list; d && d->commands != session; d = d->next)
		;
	pthread_mutex_unlock(&all.lock);
	return d;
}

bool session_begin_direct(int commands, int memory)
{
	struct direct *d = calloc(1, sizeof(*d));
	const int room = DIRECT_ROOM;

	if (!d) {
		close(commands);
		close(memory);
		return false;
	}
	setsockopt(commands, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	d->commands = commands;
	d->memory = memory;
	pthread_mutex_init(&d->lock, NULL);
	pthread_mutex_lock(&all.lock);
	d->next = all.list;
	all.list = d;
	pthread_mutex_unlock(&all.lock);
	atomic_fetch_add(&all.count, 1);
	return true;
}

/* ---- memory, under the lock ---- */

static void forget(struct known **at)
{
	struct known *k = *at;

	*at = k->next;
	if (k->file >= 0)
		close(k->file);
	free(k);
}

static void read_memory(struct direct *d)
{
	struct direct_message m;
	struct known *k;
	int file;

	while (packet_receive(d->memory, &m, sizeof(m), MSG_DONTWAIT | MSG_CMSG_CLOEXEC, &file) ==
	       sizeof(m)) {
		k = malloc(sizeof(*k));
		if (k) {
			*k = (struct known){ d->known, m, file };
			d->known = k;
		} else if (file >= 0) {
			close(file);
		}
	}
}

static bool is_of(const struct direct_message *m, uint32_t kind, uint32_t burst, uint32_t number)
{
	return m->kind == kind && m->burst == burst &&
	       (kind == DIRECT_BURST || (kind == DIRECT_SLOT ? m->slot : m->grant.grant) == number);
}

/* Finds the message in which the client's library described a grant, a slot or a burst. */
static struct known *look_up(struct direct *d, uint32_t kind, uint32_t burst, uint32_t number)
{
	struct known *k;

	read_memory(d);
	for (k = d->known; k && !is_of(&k->message, kind, burst, number); k = k->next)
		;
	return k;
}

/*
 * If a command reports the end of a grant, slot or burst, forgets the messages about the grant,
 * slot or burst.
 */
static void take_notice(struct direct *d, const struct nnaccel_cmd *head)
{
	struct known **at = &d->known;

	if (head->kind != NNACCEL_DO_FORGET_GRANT && head->kind != NNACCEL_DO_BURST_GONE &&
	    head->kind != NNACCEL_DO_SLOT_GONE)
		return;
	read_memory(d);
	while (*at) {
		const struct direct_message *m = &(*at)->message;

		if (head->kind == NNACCEL_DO_FORGET_GRANT ? is_of(m, DIRECT_GRANT, 0, head->grant) :
		    head->kind == NNACCEL_DO_SLOT_GONE ? is_of(m, DIRECT_SLOT, head->burst, head->grant) :
		    m->burst == head->burst && m->kind != DIRECT_GRANT)
			forget(at);
		else
			at = &(*at)->next;
	}
}

static void *map_direct(struct direct *d, size_t length, int prot, uint64_t offset)
{
	const uint64_t which = offset & ((UINT64_C(1) << NNACCEL_BURST_SHIFT) - 1);
	const uint32_t burst = (uint32_t)((offset & ~NNACCEL_BURST_MAP) >> NNACCEL_BURST_SHIFT);
	void *base = MAP_FAILED;
	struct known *k;
	uint64_t at;

	pthread_mutex_lock(&d->lock);
	if (!(offset & NNACCEL_BURST_MAP)) {
		k = look_up(d, DIRECT_GRANT, 0, (uint32_t)(offset >> NNACCEL_GRANT_SHIFT));
		at = k ? k->message.offset : 0;
	} else {
		k = look_up(d, DIRECT_BURST, which == NNACCEL_BURST_DOORBELL ? 0 : burst, 0);
		at = which == NNACCEL_BURST_DOORBELL ? 0 : which;
	}
	errno = EINVAL;
	if (k)
		base = mmap(NULL, length, prot, MAP_SHARED, k->file, (off_t)at);
	pthread_mutex_unlock(&d->lock);
	return base;
}

void *session_map(int session, size_t length, int prot, uint64_t offset)
{
	struct direct *d = find(session);

	if (d)
		return map_direct(d, length, prot, offset);
	return mmap(NULL, length, prot, MAP_SHARED, session, (off_t)offset);
}

static int find_slot(struct direct *d, struct nnaccel_session_slot *s)
{
	struct known *k;

	pthread_mutex_lock(&d->lock);
	k = look_up(d, DIRECT_SLOT, s->burst, s->slot);
	if (k)
		s->out_grant = k->message.grant;
	pthread_mutex_unlock(&d->lock);
	errno = ENOENT;
	return k ? 0 : -1;
}

/* ---- commands ---- */

/*
 * Receives the next command from the client's library. Returns 0, or -1 with errno. The caller
 * holds d->lock.
 */
static int take(struct direct *d, void *buffer, uint32_t room, uint32_t *size)
{
	ssize_t n = recv(d->commands, NULL, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return -1;
	errno = ESHUTDOWN;
	if (n <= 0)
		return -1;
	*size = (uint32_t)n;
	errno = EMSGSIZE;
	if (n > room || recv(d->commands, buffer, room, MSG_DONTWAIT) != n)
		return -1;
	if ((size_t)n >= sizeof(struct nnaccel_cmd))
		take_notice(d, buffer);
	return 0;
}

static int fetch(struct direct *d, void *buffer, uint32_t room, uint32_t *size, bool waits)
{
	struct pollfd fd = { .fd = d->commands, .events = POLLIN };
	int result;

	for (;;) {
		errno = ESHUTDOWN;
		if (atomic_load(&d->ended))
			return -1;
		pthread_mutex_lock(&d->lock);
		result = take(d, buffer, room, size);
		pthread_mutex_unlock(&d->lock);
		if (!result || errno != EAGAIN || !waits)
			return result;
		poll(&fd, 1, -1);
	}
}

/*
 * Waits for an execution's fence in place of the kernel module, and returns the execution's status.
 */
static uint32_t status_of_fence(int fence)
{
	struct pollfd fd = { .fd = fence, .events = POLLIN };
	struct sync_file_info info = { .num_fences = 0 };

	while (poll(&fd, 1, -1) < 0 && errno == EINTR)
		;
	return !ioctl(fence, SYNC_IOC_FILE_INFO, &info) && info.status < 0 ?
	       NNACCEL_STATUS_GENERAL_FAILURE : NNACCEL_STATUS_NONE;
}

static int send_answer(const struct direct *d, const struct nnaccel_session_commit *c)
{
	struct direct_answer head = {
		.cookie = c->cookie,
		.device_ns = c->device_ns,
		.status = c->status,
		.payload_size = c->payload_size,
		.message_size = c->message_size,
	};
	const struct iovec parts[] = {
		{ &head, sizeof(head) },
		{ (void *)(uintptr_t)c->payload, c->payload_size },
		{ (void *)(uintptr_t)c->message, c->message_size },
	};
	const struct msghdr message = { .msg_iov = (struct iovec *)parts, .msg_iovlen = 3 };

	if (c->flags & NNACCEL_COMMIT_FENCE)
		head.status = status_of_fence(c->fence);
	if (sendmsg(d->commands, &message, MSG_NOSIGNAL) >= 0)
		return 0;
	errno = errno == EMSGSIZE ? EMSGSIZE : ESHUTDOWN;
	return -1;
}

static int commit(struct direct *d, struct nnaccel_session_commit *c)
{
	/* Ignore progress reports, because clients of direct sessions never request progress. */
	if (c->flags & NNACCEL_COMMIT_PROGRESS)
		return 0;
	errno = ESHUTDOWN;
	if (atomic_load(&d->ended) || (c->cookie && send_answer(d, c)))
		return -1;
	if (!c->buffer)
		return 0;
	c->cookie = 0;
	return fetch(d, (void *)(uintptr_t)c->buffer, c->buffer_size, &c->out_size,
		     !(c->flags & NNACCEL_FETCH_NONBLOCK));
}

static int call_direct(struct direct *d, unsigned long request, void *arg)
{
	struct nnaccel_session_fetch *f = arg;

	switch (request) {
	case NNACCEL_SESSION_ATTACH:
		return 0;
	case NNACCEL_SESSION_FETCH:
		return fetch(d, (void *)(uintptr_t)f->buffer, f->buffer_size, &f->out_size,
			     !(f->flags & NNACCEL_FETCH_NONBLOCK));
	case NNACCEL_SESSION_COMMIT:
		return commit(d, arg);
	case NNACCEL_SESSION_SLOT:
		return find_slot(d, arg);
	}
	/* The memory of a direct session consists of files, so no driver needs a sync. */
	errno = EOPNOTSUPP;
	return -1;
}

int session_call(int session, unsigned long request, void *arg)
{
	struct direct *d = find(session);

	return d ? call_direct(d, request, arg) : ioctl(session, request, arg);
}

/* ---- the end ---- */

void session_close(int session)
{
	struct direct **at, *d = find(session);

	if (!d) {
		close(session);
		return;
	}
	pthread_mutex_lock(&all.lock);
	for (at = &all.list; *at != d; at = &(*at)->next)
		;
	*at = d->next;
	pthread_mutex_unlock(&all.lock);
	atomic_fetch_sub(&all.count, 1);
	close(session);
	while (d->known)
		forget(&d->known);
	close(d->memory);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

void session_abandon(int session)
{
	struct direct *d = find(session);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (d)
		atomic_store(&d->ended, true);
	if (null < 0 || dup3(null, session, O_CLOEXEC) < 0)
		log_error("cannot close an ended session: %s", strerror(errno));
	if (null >= 0)
		close(null);
}
