/* SPDX-License-Identifier: MIT */
/*
 * Makes each allocation of a keeper fail in turn, first alone, and then together with all later
 * allocations. When an allocation fails, the keeper ends or continues, workers get an answer, and
 * stored entries remain. The test also makes each allocation of a broker that starts a keeper fail
 * in turn.
 */
#define _GNU_SOURCE
#include <fcntl.h>

#include "tests/failing/failing.h"
#include "tests/keeper_fixture.h"

#define FILE_NAME "failing"

static const uint8_t token[CACHE_TOKEN_SIZE] = { 1 }, noted[CACHE_TOKEN_SIZE] = { 2 };
static uint8_t hash[CACHE_TOKEN_SIZE] = { 3 };

/*
 * Sends a worker's requests to the keeper while the keeper's allocations fail. The keeper may
 * answer each request with an error or with success.
 */
static void ask(void)
{
	struct cache_client client;
	struct nn_error err;
	int sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	keeper_pass(&keeper, sockets[0], 1);
	close(sockets[0]);
	if (!cache_client_init(&client, sockets[1]))
		return;
	hash[1]++;
	cache_client_store(&client, token, hash, &err);
	cache_client_query(&client, token, noted, &err);
	close(sockets[1]);
}

/*
 * Checks that a new keeper, whose allocations succeed, finds the entry that was stored before the
 * failures.
 */
static void check_noted(void)
{
	struct cache_client client;
	struct nn_error err;

	assert_true(keeper_start(&keeper, &options));
	client_of(&client, 1);
	assert_int_equal(cache_client_query(&client, token, noted, &err), NN_OK);
	/*
	 * Store the hash `noted`, so that the keeper does not remove it as the least recently used
	 * hash.
	 */
	assert_int_equal(cache_client_store(&client, token, noted, &err), NN_OK);
	keeper_stop(&keeper);
}

static void fail_each(enum failing_who who, bool lasting)
{
	unsigned int number = 0, failures;

	do {
		failing_begin(who, ++number, lasting);
		if (keeper_start(&keeper, &options)) {
			ask();
			keeper_stop(&keeper);
		}
		failures = failing_end(who);
		check_noted();
	} while (failures);
	print_message("%s%s: %u allocations\n", who == FAILING_SELF ? "broker" : "keeper",
		      lasting ? ", lasting" : "", number - 1);
	assert_true(who == FAILING_SELF || number > 1);
}

static void test_each_allocation(void **state)
{
	struct cache_client client;
	struct nn_error err;

	(void)state;
	assert_true(keeper_start(&keeper, &options));
	client_of(&client, 1);
	assert_int_equal(cache_client_store(&client, token, noted, &err), NN_OK);
	keeper_stop(&keeper);
	for (int lasting = 0; lasting < 2; lasting++) {
		fail_each(FAILING_KEEPER, lasting);
		fail_each(FAILING_SELF, lasting);
	}
}

static const char *file_in(const char *in)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/" FILE_NAME, in);
	return path;
}

static int set_up(void **state)
{
	int fd;

	if (make_folder(state))
		return -1;
	options.folder = folder;
	fd = open(file_in(folder), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, 4096))
		return -1;
	close(fd);
	return failing_open(file_in(folder)) ? 0 : -1;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_allocation, set_up, remove_folder),
	};

	if (argc > 1 && !strcmp(argv[0], KEEPER_NAME))
		failing_obey(FAILING_KEEPER, file_in(argv[1] + strlen("--folder=")));
	be_keeper(argc, argv);
	options.log_level = LOG_ERROR;
	return cmocka_run_group_tests_name("engine_fail", tests, NULL, NULL);
}
