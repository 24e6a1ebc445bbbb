/* SPDX-License-Identifier: MIT */
/*
 * Tests that saving a model writes to the client's memory only after the keeper has stored the
 * model's hash. A file simulates the session, and a thread simulates the keeper.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit/session/models.h"
#include "tests/heap_blocks.h"

#define MODEL 1		/* number of the model that the test saves */
#define SIZE 4096	/* of each part */

enum { MODEL_PART, DATA_PART, PARTS };

static char parts[PARTS][SIZE];

/* ---- an engine that saves these parts ---- */

static enum nn_status save(const struct nna_engine *engine, const void *prepared,
			   struct nna_engine_image *image, struct nn_error *err)
{
	(void)engine;
	(void)prepared;
	(void)err;
	image->model[0] = (struct nna_engine_part){ parts[MODEL_PART], SIZE };
	image->data_size[0] = SIZE;
	return NN_OK;
}

static void write_data(const struct nna_engine *engine, const struct nna_engine_image *image,
		       uint32_t index, void *data)
{
	(void)engine;
	(void)image;
	(void)index;
	memcpy(data, parts[DATA_PART], SIZE);
}

static void end_save(const struct nna_engine *engine, struct nna_engine_image *image)
{
	(void)engine;
	(void)image;
}

static void release(const struct nna_engine *engine, void *prepared)
{
	(void)engine;
	(void)prepared;
}

/* ---- the keeper ---- */

struct keeper_thread {
	int socket;
	enum message_kind verdict;	/* the keeper's answer, or 0 if the keeper dies */
	const char *client[PARTS];	/* the client's memory */
	struct message request;
	bool came_first;		/* set if the request came before the parts were written */
};

static bool is_empty(const char *const client[PARTS])
{
	static const char zeroes[SIZE];

	return !memcmp(client[MODEL_PART], zeroes, SIZE) && !memcmp(client[DATA_PART], zeroes, SIZE);
}

static void *keep(void *data)
{
	struct keeper_thread *k = data;
	struct message answer = { .kind = k->verdict };

	if (read(k->socket, &k->request, sizeof(k->request)) == sizeof(k->request))
		k->came_first = is_empty(k->client);
	answer.serial = k->request.serial;
	if (k->verdict && write(k->socket, &answer, sizeof(answer)) != sizeof(answer))
		k->came_first = false;
	close(k->socket);
	return NULL;
}

/* ---- the test ---- */

/*
 * Saves a model with a keeper that answers `verdict`; checks the parts and the error message that
 * the client gets.
 */
static void check(enum message_kind verdict, const char *message)
{
	const struct nna_engine engine = {
		.save = save, .write_data = write_data, .end_save = end_save, .release = release,
	};
	const struct nnaccel_grant granted[PARTS] = {
		{ 0, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE, SIZE },
		{ 1, NNACCEL_PROT_READ | NNACCEL_PROT_WRITE, SIZE },
	};
	const struct nnaccel_cmd head = {
		.model = MODEL, .num_grants = PARTS, .num_inputs = 1, .num_outputs = 1,
		.token = { 1, 2, 3 },
	};
	const struct nnaccel_arg args[PARTS] = {
		{ .pool = 0, .length = SIZE }, { .pool = 1, .length = SIZE },
	};
	const struct command command = {
		.head = &head, .grants = granted, .inputs = args, .outputs = args + 1,
	};
	struct loaded_model *loaded = calloc(1, sizeof(*loaded));
	int session = memfd_create("session", MFD_CLOEXEC), sockets[2];
	struct keeper_thread keeper = { .verdict = verdict };
	uint64_t sizes[PARTS];
	struct mapping *maps[PARTS];
	struct cache_client client;
	struct nn_error err = { "" };
	uint8_t hash[DIGEST_SIZE];
	struct grants grants;
	struct models models;
	enum nn_status status;
	pthread_t thread;

	assert_non_null(loaded);
	assert_int_equal(ftruncate(session, (1L << NNACCEL_GRANT_SHIFT) + SIZE), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	assert_true(grants_init(&grants, NULL, session));
	assert_true(cache_client_init(&client, sockets[0]));
	assert_true(models_init(&models, &engine, &grants, &client));
	loaded->number = MODEL;
	assert_int_equal(models_add(&models, loaded, &err), NN_OK);
	for (int i = 0; i < PARTS; i++) {
		assert_int_equal(grants_get(&grants, &granted[i], NULL, &maps[i], &err), NN_OK);
		keeper.client[i] = maps[i]->base;
		memset(parts[i], i + 1, SIZE);
	}
	keeper.socket = sockets[1];
	assert_int_equal(pthread_create(&thread, NULL, keep, &keeper), 0);

	status = models_save(&models, &command, sizes, &err);
	shutdown(sockets[0], SHUT_RDWR);
	pthread_join(thread, NULL);
	assert_true(keeper.came_first);
	assert_int_equal(keeper.request.kind, CACHE_STORE);
	assert_memory_equal(keeper.request.token, head.token, sizeof(head.token));
	assert_true(digest(parts[MODEL_PART], SIZE, hash));
	assert_memory_equal(keeper.request.hash, hash, sizeof(hash));
	assert_int_equal(status, verdict == CACHE_YES ? NN_OK : NN_GENERAL_FAILURE);
	assert_string_equal(err.message, message);
	if (status)
		assert_true(is_empty(keeper.client));
	for (int i = 0; i < PARTS; i++) {
		if (!status)
			assert_memory_equal(keeper.client[i], parts[i], SIZE);
		grants_put(&grants, maps[i]);
	}
	models_free(&models);
	grants_free(&grants);
	close(sockets[0]);
	close(session);
}

static void test_noted_first(void **state)
{
	(void)state;
	check(CACHE_YES, "");
}

/* If the keeper does not store the hash, the client's memory keeps its zeroes. */
static void test_not_noted(void **state)
{
	(void)state;
	check(CACHE_FAILED, "the engine's index cannot be written");
	check(CACHE_LATER, "this client saves too much at a time");
	check(0, "the engine's cache is gone");
}

static int set_up(void **state)
{
	(void)state;
	return !digest_init();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_noted_first),
		heap_unit_test(test_not_noted),
	};

	return cmocka_run_group_tests_name("saving a model", tests, set_up, NULL);
}
