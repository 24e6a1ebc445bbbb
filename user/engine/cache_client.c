// SPDX-License-Identifier: MIT
/*
 * A worker's way to the keeper of the compilation cache.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/cache_client.h"

bool cache_client_init(struct cache_client *client, int socket)
{
	client->socket = socket;
	return pthread_mutex_init(&client->lock, NULL) == 0;
}

/* Plain reads and writes of packets: the filter of system calls allows no more. */
static bool exchange(int socket, const struct cache_request *request, struct cache_answer *answer)
{
	struct iovec data = { .iov_base = answer, .iov_len = sizeof(*answer) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	ssize_t n;

	if (write(socket, request, sizeof(*request)) != sizeof(*request))
		return false;
	do {
		n = recvmsg(socket, &message, 0);
	} while (n < 0 && errno == EINTR);
	return n == sizeof(*answer) && answer->verdict >= CACHE_YES &&
	       answer->verdict <= CACHE_LATER;
}

/* What failed once stays so: an answer that comes late would be taken for the next one. */
static enum nn_status ask(struct cache_client *client, enum cache_request_kind kind,
			  const uint8_t *token, const uint8_t *hash, enum cache_verdict *verdict,
			  struct nn_error *err)
{
	struct cache_request request = { .kind = kind };
	struct cache_answer answer;
	bool answered = false;

	memcpy(request.token, token, sizeof(request.token));
	memcpy(request.hash, hash, sizeof(request.hash));
	pthread_mutex_lock(&client->lock);
	if (client->socket >= 0) {
		answered = exchange(client->socket, &request, &answer);
		if (!answered)
			client->socket = -1;
	}
	pthread_mutex_unlock(&client->lock);
	if (!answered)
		return nn_fail(err, NN_GENERAL_FAILURE, "the engine keeps no cache for this "
			       "client any more, or never did");
	*verdict = answer.verdict;
	return NN_OK;
}

enum nn_status cache_client_store(struct cache_client *client, const uint8_t *token,
				  const uint8_t *hash, struct nn_error *err)
{
	enum cache_verdict verdict;
	enum nn_status status = ask(client, CACHE_STORE, token, hash, &verdict, err);

	if (status || verdict == CACHE_YES)
		return status;
	if (verdict == CACHE_LATER)
		return nn_fail(err, NN_GENERAL_FAILURE, "this client saves too much at a time");
	return nn_fail(err, NN_GENERAL_FAILURE, "the engine's index cannot be written");
}

enum nn_status cache_client_query(struct cache_client *client, const uint8_t *token,
				  const uint8_t *hash, struct nn_error *err)
{
	enum cache_verdict verdict;
	enum nn_status status = ask(client, CACHE_QUERY, token, hash, &verdict, err);

	if (status || verdict == CACHE_YES)
		return status;
	if (verdict == CACHE_NO)
		return nn_fail(err, NN_GENERAL_FAILURE, "the model file is none that this engine "
			       "saved under this token for this user");
	return nn_fail(err, NN_GENERAL_FAILURE, "the engine's index cannot be read");
}
