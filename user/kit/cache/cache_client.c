// SPDX-License-Identifier: MIT
/*
 * A worker's connection to the keeper of the compilation cache.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kit/cache/cache_client.h"
#include "kit/cache/message.h"

bool cache_client_init(struct cache_client *client, int socket)
{
	client->socket = socket;
	client->serial = 0;
	return pthread_mutex_init(&client->lock, NULL) == 0;
}

/*
 * Sends a request to the keeper and waits for the answer. The caller holds client->lock. Uses
 * write() and recvmsg(), because the filter of system calls forbids other calls. Sets *file to the
 * descriptor of the file in the answer, or to -1. Skips late answers to earlier requests. Returns
 * false with errno on failure; the errno EAGAIN means that a later request may succeed.
 */
static bool exchange(struct cache_client *client, struct message *request,
		     struct message *answer, int *file)
{
	int n;

	request->serial = ++client->serial;
	if (write(client->socket, request, sizeof(*request)) != sizeof(*request))
		return false;
	for (;;) {
		n = message_receive(client->socket, KEEPER_ANSWERS, MSG_CMSG_CLOEXEC, answer, file);
		if (n < 0 && errno == EINTR)
			continue;
		if (!n)
			errno = EPIPE;
		if (n <= 0)
			return false;
		if (answer->serial == request->serial)
			return true;
		if (*file >= 0)
			close(*file);
		*file = -1;
	}
}

static enum nn_status ask_locked(struct cache_client *client, struct message *request,
				 struct message *answer, int *file, struct nn_error *err)
{
	*file = -1;
	if (client->socket < 0)
		return nn_fail(err, NN_GENERAL_FAILURE, "no compilation cache for this client");
	if (exchange(client, request, answer, file))
		return NN_OK;
	if (errno == EAGAIN)
		return nn_fail(err, NN_GENERAL_FAILURE, "the engine's cache does not answer");
	client->socket = -1;
	return nn_fail(err, NN_GENERAL_FAILURE, "the engine's cache is gone");
}

/* Sends a request to the keeper, and sets *verdict to the kind of the answer. */
static enum nn_status ask(struct cache_client *client, enum message_kind kind,
			  const uint8_t *token, const uint8_t *hash, enum message_kind *verdict,
			  struct nn_error *err)
{
	struct message request = { .kind = kind };
	struct message answer;
	enum nn_status status;
	int file;

	memcpy(request.token, token, sizeof(request.token));
	if (hash)
		memcpy(request.hash, hash, sizeof(request.hash));
	pthread_mutex_lock(&client->lock);
	status = ask_locked(client, &request, &answer, &file, err);
	if (file >= 0)
		close(file);
	pthread_mutex_unlock(&client->lock);
	if (!status)
		*verdict = answer.kind;
	return status;
}

enum nn_status cache_client_store(struct cache_client *client, const uint8_t *token,
				  const uint8_t *hash, struct nn_error *err)
{
	enum message_kind verdict;
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
	enum message_kind verdict;
	enum nn_status status = ask(client, CACHE_QUERY, token, hash, &verdict, err);

	if (status || verdict == CACHE_YES)
		return status;
	if (verdict == CACHE_NO)
		return nn_fail(err, NN_GENERAL_FAILURE, "this engine did not save the model file "
			       "under this token for this user");
	return nn_fail(err, NN_GENERAL_FAILURE, "the engine's index cannot be read");
}

/* ---- the engine's own cache ---- */

/* Maps the file of a saved plan; the caller may then close the file. */
static bool map_plan(const struct message *answer, int file, struct cached_parts *plan)
{
	size_t size = answer->model_size + answer->data_size;

	if (!answer->model_size || answer->model_size > BLOB_MAX_MODEL ||
	    answer->data_size % BLOB_PAGE || answer->data_size > INT64_MAX - BLOB_MAX_MODEL)
		return false;
	plan->base = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
	if (plan->base == MAP_FAILED) {
		plan->base = NULL;
		return false;
	}
	plan->model_size = answer->model_size;
	plan->data_size = answer->data_size;
	memcpy(plan->hash, answer->hash, sizeof(plan->hash));
	return true;
}

enum nn_status cache_client_get(struct cache_client *client, const uint8_t *key,
				struct cached_parts *plan, struct nn_error *err)
{
	struct message request = { .kind = CACHE_GET };
	struct message answer;
	enum nn_status status;
	bool mapped = false;
	int file;

	*plan = (struct cached_parts){ .base = NULL };
	memcpy(request.token, key, sizeof(request.token));
	pthread_mutex_lock(&client->lock);
	status = ask_locked(client, &request, &answer, &file, err);
	if (file >= 0) {
		mapped = answer.kind == CACHE_YES && map_plan(&answer, file, plan);
		close(file);
	}
	pthread_mutex_unlock(&client->lock);
	if (!status && !mapped)
		status = nn_fail(err, NN_GENERAL_FAILURE, "there is no such entry");
	return status;
}

void cached_parts_unmap(struct cached_parts *plan)
{
	if (plan->base)
		munmap(plan->base, plan->model_size + plan->data_size);
	plan->base = NULL;
}

/* Writes an entry to `file`, a file in memory that the keeper has created. */
static bool write_entry(int file, const struct cache_entry *entry)
{
	size_t size = entry->model_size + entry->data_size;
	char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (bytes == MAP_FAILED)
		return false;
	entry->write(entry, bytes);
	munmap(bytes, size);
	return true;
}

enum nn_status cache_client_put(struct cache_client *client, const struct cache_entry *entry,
				struct nn_error *err)
{
	struct message request = {
		.kind = entry->is_own ? CACHE_NEW_OWN : CACHE_NEW,
		.model_size = entry->model_size,
		.data_size = entry->data_size,
	};
	struct message answer = { .kind = CACHE_FAILED };
	enum nn_status status;
	bool written = false;
	int file;

	memcpy(request.token, entry->key, sizeof(request.token));
	pthread_mutex_lock(&client->lock);
	status = ask_locked(client, &request, &answer, &file, err);
	if (file >= 0) {
		written = answer.kind == CACHE_YES && write_entry(file, entry);
		close(file);
	}
	if (written) {
		request.kind = CACHE_DONE;
		request.model_size = 0;
		request.data_size = 0;
		status = ask_locked(client, &request, &answer, &file, err);
		if (file >= 0)
			close(file);
	}
	pthread_mutex_unlock(&client->lock);
	if (status || (written && answer.kind == CACHE_YES))
		return status;
	if (answer.kind == CACHE_LATER)
		return nn_fail(err, NN_RESOURCE_EXHAUSTED_TRANSIENT,
			       "this user stores too much at a time");
	return nn_fail(err, NN_GENERAL_FAILURE, "it is not stored: it is there already, or too "
		       "large, or the disk is full");
}

void cache_client_drop(struct cache_client *client, const uint8_t *key)
{
	enum message_kind verdict;

	ask(client, CACHE_DROP, key, NULL, &verdict, NULL);
}
