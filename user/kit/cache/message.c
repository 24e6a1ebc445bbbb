// SPDX-License-Identifier: MIT
/*
 * Messages between broker, workers, keeper and administrators.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/packet.h"
#include "kit/cache/message.h"

/*
 * A bit for each field that messages may use besides `serial`; each kind of message has a set of
 * these bits.
 */
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
	[CACHE_NEW_OWN] = { WORKER_TO_KEEPER, TOKEN | SIZES },
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
	return packet_send(socket, m, sizeof(*m), file);
}

int message_receive(int socket, enum message_way way, int flags, struct message *m, int *file)
{
	char bytes[sizeof(*m) + 1];
	ssize_t n = packet_receive(socket, bytes, sizeof(bytes), flags, file);

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
