// SPDX-License-Identifier: MIT
/*
 * Messages between broker, workers, keeper and administrators.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kit/message.h"

/* Room for one file. */
union file_room {
	char buffer[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

/* Fields that a kind uses besides its serial. */
enum { TOKEN = 1, HASH = 2, SIZES = 4, USER = 8, ALL_USERS = 16 };

static const struct {
	uint8_t way, fields;
} rules[] = {
	[CACHE_STORE] = { WORKER_TO_KEEPER, TOKEN | HASH },
	[CACHE_QUERY] = { WORKER_TO_KEEPER, TOKEN | HASH },
	[CACHE_GET] = { WORKER_TO_KEEPER, TOKEN },
	[CACHE_NEW] = { WORKER_TO_KEEPER, TOKEN | SIZES },
	[CACHE_DONE] = { WORKER_TO_KEEPER, TOKEN },
	[CACHE_DROP] = { WORKER_TO_KEEPER, TOKEN },
	[CACHE_YES] = { KEEPER_ANSWERS, HASH | SIZES },
	[CACHE_NO] = { KEEPER_ANSWERS, 0 },
	[CACHE_FAILED] = { KEEPER_ANSWERS, SIZES },
	[CACHE_LATER] = { KEEPER_ANSWERS, 0 },
	[WORKER_GO] = { BROKER_TO_WORKER, 0 },
	[WORKER_SESSION] = { BROKER_TO_WORKER, 0 },
	[WORKER_READY] = { WORKER_TO_BROKER, 0 },
	[KEEPER_SERVE] = { BROKER_TO_KEEPER, USER },
	[KEEPER_END] = { BROKER_TO_KEEPER, 0 },
	[CACHE_CLEAR] = { ADMIN_TO_KEEPER, USER | ALL_USERS },
	[CACHE_SHOW] = { ADMIN_TO_KEEPER, 0 },
	[CACHE_CHECK] = { ADMIN_TO_KEEPER, 0 },
};

bool message_parse(const void *bytes, size_t size, enum message_way way, struct message *m)
{
	static const struct message none;
	uint8_t fields;

	if (size != sizeof(*m))
		return false;
	memcpy(m, bytes, sizeof(*m));
	if (m->kind >= sizeof(rules) / sizeof(rules[0]) || rules[m->kind].way != way)
		return false;
	fields = rules[m->kind].fields;
	return (fields & TOKEN || !memcmp(m->token, none.token, sizeof(m->token))) &&
	       (fields & HASH || !memcmp(m->hash, none.hash, sizeof(m->hash))) &&
	       (fields & SIZES || !m->data_size) &&
	       (fields & (SIZES | USER) || !m->model_size) &&
	       (!(fields & USER) || m->uid <= UINT32_MAX ||
		(fields & ALL_USERS && m->uid == CACHE_ALL_USERS));
}

bool message_send(int socket, const struct message *m, int file)
{
	union file_room room = { { 0 } };
	struct iovec data = { .iov_base = (void *)m, .iov_len = sizeof(*m) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *part;

	if (file >= 0) {
		message.msg_control = room.buffer;
		message.msg_controllen = sizeof(room.buffer);
		part = CMSG_FIRSTHDR(&message);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(sizeof(file));
		memcpy(CMSG_DATA(part), &file, sizeof(file));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(*m);
}

/* Takes the file out of a message that carries one. Others, and several of them, are closed. */
static int take_file(struct msghdr *message)
{
	int files[sizeof(union file_room) / sizeof(int)], file = -1;

	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part;
	     part = CMSG_NXTHDR(message, part)) {
		size_t size = part->cmsg_len - CMSG_LEN(0), count = size / sizeof(files[0]);

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(files, CMSG_DATA(part), size);
		if (count == 1)
			file = files[0];
		for (size_t i = 0; count > 1 && i < count; i++)
			close(files[i]);
	}
	return file;
}

int message_receive(int socket, enum message_way way, int flags, struct message *m, int *file)
{
	union file_room room;
	char bytes[sizeof(*m) + 1];
	struct iovec data = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = file ? room.buffer : NULL,
		.msg_controllen = file ? sizeof(room.buffer) : 0,
	};
	ssize_t n = recvmsg(socket, &message, flags);

	if (file)
		*file = n >= 0 ? take_file(&message) : -1;
	if (n <= 0)
		return (int)n;
	if (message_parse(bytes, (size_t)n, way, m))
		return 1;
	if (file && *file >= 0)
		close(*file);
	if (file)
		*file = -1;
	errno = EPROTO;
	return -1;
}
