/* SPDX-License-Identifier: MIT */
/*
 * The test makes each allocation of worker, keeper and broker fail in turn, first alone and then
 * together with all later allocations. Each client must get an error or a right answer in finite
 * time, and a later client without failing allocations must be served. The allocations of a
 * starting broker fail in turn, too. The test needs /dev/nnaccel and tests/failing/nnacceld
 * (scripts/guest/allocation-failures). With NN_TEST_PART=I/N, the test makes only every N-th
 * allocation fail. NN_TEST_ONLY contains a pattern that selects the tests to run.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "tests/failing/failing.h"
#include "tests/hal_entry.h"

/* The time limit of a client in seconds, which also limits each wait of the client. */
#define PATIENCE 120

/* Exit statuses of a client that was served, was refused, or got a wrong answer. */
enum { SERVED, REFUSED, WRONG };

static unsigned int part, parts = 1;

#define TRY(call) do {		\
	if (call)		\
		return REFUSED;	\
} while (0)

struct client {
	struct nna_device *device;
	struct nna_memory *weights, *memory;
	struct nna_prepared_model *model, *cached;
	struct nna_buffer *buffer;
	struct nna_burst *burst;
	struct entry entry;
	float *x;
};

static int check_row(const float *y, float times)
{
	for (int i = 0; i < WIDTH; i++)
		if (y[i] != times * (float)(i - 5))
			return WRONG;
	return SERVED;
}

/*
 * Prepares two models, and asks the engine to cache the models. Models whose cache entry exists are
 * loaded from the entry.
 */
static int prepare_both(struct client *c)
{
	struct nna_prepare_options options = {
		.size = sizeof(options), .cache = &c->entry.cache,
	};
	struct model_builder b;
	float *w;

	TRY(nna_memory_alloc(c->device, WEIGHTS, &c->weights, NULL));
	w = nna_memory_map(c->weights, NULL);
	for (int i = 0; w && i < WIDTH; i++)
		w[i * WIDTH + i] = 2;
	build(&b);
	TRY(!w || nna_prepare_model(c->device, &b.model, &c->weights, &options, &c->model, NULL));
	/*
	 * The entry may be missing in the cache, because a preparation succeeds even if saving the
	 * model fails.
	 */
	nna_prepare_model_from_cache(c->device, &c->entry.cache, NULL, &c->cached, NULL);
	return SERVED;
}

static int execute(struct client *c, struct nna_prepared_model *p)
{
	const struct nna_argument in = { .length = ROW }, out = { .offset = ROW, .length = ROW };
	const struct nna_request r = { .size = sizeof(r), 1, 1, 1, &in, &out, &c->memory, 0, NULL };
	struct pollfd fence = { .fd = -1, .events = POLLIN };

	memset(c->x + WIDTH, 0, ROW);
	TRY(nna_execute(p, &r, NULL, NULL, NULL));
	if (check_row(c->x + WIDTH, 2))
		return WRONG;
	TRY(nna_execute_fenced(p, &r, NULL, NULL, &fence.fd, NULL));
	if (fence.fd >= 0) {
		bool done = poll(&fence, 1, -1) == 1 &&
			    !nna_fence_get_info(c->device, fence.fd, NULL, NULL, NULL);

		close(fence.fd);
		TRY(!done);
	}
	if (check_row(c->x + WIDTH, 2))
		return WRONG;
	TRY(nna_burst_create(p, NULL, &c->burst, NULL));
	for (int i = 0; i < 2; i++) {
		memset(c->x + WIDTH, 0, ROW);
		TRY(nna_burst_execute(c->burst, &r, NULL, NULL, NULL));
		if (check_row(c->x + WIDTH, 2))
			return WRONG;
	}
	return SERVED;
}

static int execute_to_buffer(struct client *c)
{
	const struct nna_role role = { .frequency = 1 };
	const struct nna_argument in = { .length = ROW }, out = { .pool = 1 };
	float y[WIDTH];
	uint32_t token;

	TRY(nna_buffer_allocate(c->device, NNA_SIZED(nna_buffer_roles, .models = &c->model,
				.num_models = 1, .outputs = &role, .num_outputs = 1), &c->buffer,
				&token, NULL));
	TRY(nna_execute(c->model,
			&(struct nna_request){ sizeof(struct nna_request), 1, 1, 1, &in, &out, &c->memory, 1, &token },
			NULL, NULL, NULL));
	TRY(nna_buffer_read(c->buffer, y, sizeof(y), NULL));
	return check_row(y, 2);
}

static int be_client(struct client *c)
{
	struct nn_device_info info = { .size = sizeof(info) };
	int result;

	TRY(nna_device_open(NULL, &c->device, NULL));
	TRY(nna_device_get_info(c->device, &info, NULL));
	TRY(nna_memory_alloc(c->device, PAGE, &c->memory, NULL));
	c->x = nna_memory_map(c->memory, NULL);
	TRY(!c->x);
	for (int i = 0; i < WIDTH; i++)
		c->x[i] = (float)(i - 5);
	result = prepare_both(c);
	if (!result)
		result = execute(c, c->model);
	nna_burst_free(c->burst);
	c->burst = NULL;
	if (!result && c->cached)
		result = execute(c, c->cached);
	return result ? result : execute_to_buffer(c);
}

static int client(bool cold)
{
	struct client c = { .device = NULL };
	int result;

	entry_open(&c.entry, 1);
	if (cold && (ftruncate(c.entry.model, 0) || ftruncate(c.entry.data, 0)))
		return WRONG;
	result = be_client(&c);
	nna_burst_free(c.burst);
	nna_buffer_free(c.buffer);
	nna_prepared_model_free(c.cached);
	nna_prepared_model_free(c.model);
	nna_memory_free(c.memory);
	nna_memory_free(c.weights);
	nna_device_close(c.device);
	entry_close(&c.entry);
	return result;
}

/*
 * Runs a client in a separate process. A timeout kills a client process that would wait for ever.
 */
static int start_client(bool cold)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		alarm(PATIENCE);
		_exit(client(cold));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status))
		fail_msg("the client's status is %#x", status);
	return WEXITSTATUS(status);
}

/*
 * Runs a client. A refused client retries, because the broker refuses a user for a while after
 * workers have failed. If `failures` is not NULL, allocations of the process `who` fail while the
 * client runs, and the client does not retry after such a failure.
 */
static int patient_client(bool cold, enum failing_who who, unsigned int number, bool lasting,
			  unsigned int *failures)
{
	int result;

	for (int tries = 0; tries < PATIENCE * 10; tries++) {
		if (failures)
			failing_begin(who, number, lasting);
		result = start_client(cold);
		if (failures)
			*failures = failing_end(who);
		if (result != REFUSED || (failures && *failures))
			break;
		usleep(100000);
	}
	return result;
}

/* Runs a client while all allocations succeed. */
static int next_client(bool cold)
{
	return patient_client(cold, 0, 0, false, NULL);
}

static void fail_each(enum failing_who who, const char *name, bool lasting)
{
	unsigned int number = 1 + part, runs = 0, refused = 0, failures;
	int result;

	do {
		result = patient_client(number % 2, who, number, lasting, &failures);
		if (result > REFUSED || (result == REFUSED && !failures))
			fail_msg("%s, allocation %u%s: %s", name, number,
				 lasting ? " and all later ones" : "",
				 result == REFUSED ? "refused without a failure" :
				 "a wrong answer");
		refused += result == REFUSED;
		runs++;
		result = next_client(number % 2);
		if (result)
			fail_msg("%s, allocation %u%s: the next client: %d", name, number,
				 lasting ? " and all later ones" : "", result);
		number += parts;
	} while (failures);
	print_message("%s%s: %u of %u allocations, %u clients refused\n", name,
		      lasting ? ", lasting" : "", runs - 1, number - parts - 1, refused);
}

static void test_worker(void **state)
{
	(void)state;
	fail_each(FAILING_WORKER, "worker", false);
	fail_each(FAILING_WORKER, "worker", true);
}

static void test_keeper(void **state)
{
	(void)state;
	fail_each(FAILING_KEEPER, "keeper", false);
	fail_each(FAILING_KEEPER, "keeper", true);
}

static void test_broker(void **state)
{
	(void)state;
	fail_each(FAILING_BROKER, "broker", false);
	fail_each(FAILING_BROKER, "broker", true);
}

/*
 * Restarts the nnacceld that scripts/guest/allocation-failures has chosen, and returns whether
 * nnacceld became ready.
 */
static bool restart_engine(void)
{
	return !system("scripts/guest/engine restart --worker-rate=1000");
}

static bool engine_is_gone(void)
{
	return system("kill -0 $(cat /run/nnacceld.pid) 2>/dev/null");
}

/*
 * If an allocation fails while a broker starts, the broker either serves without an optional
 * feature or ends. After a broker has ended because of a failed allocation, the next broker starts.
 */
static void fail_each_start(bool lasting)
{
	unsigned int number = 1 + part, runs = 0, ended = 0, failures;

	do {
		bool ready;

		failing_begin(FAILING_BROKER, number, lasting);
		ready = restart_engine();
		failures = failing_end(FAILING_BROKER);
		if (!ready && (!failures || !engine_is_gone()))
			fail_msg("a broker's start, allocation %u%s: %s", number,
				 lasting ? " and all later ones" : "",
				 failures ? "it is neither ready nor gone" : "it failed without a failure");
		ended += !ready;
		runs++;
		if (!ready && !restart_engine())
			fail_msg("a broker's start after allocation %u", number);
		assert_int_equal(next_client(number % 2), SERVED);
		number += parts;
	} while (failures);
	print_message("a broker's start%s: %u of %u allocations, %u brokers ended\n",
		      lasting ? ", lasting" : "", runs - 1, number - parts - 1, ended);
}

static void test_broker_start(void **state)
{
	(void)state;
	fail_each_start(false);
	fail_each_start(true);
}

static int set_up_folder(void **state)
{
	(void)state;
	if (!failing_open(FAILING_FILE)) {
		print_error("%s is not there: tests/failing/nnacceld is to run\n", FAILING_FILE);
		return -1;
	}
	return !mkdtemp(folder);
}

static int remove_folder(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const char *given = getenv("NN_TEST_PART"), *only = getenv("NN_TEST_ONLY");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worker),
		cmocka_unit_test(test_keeper),
		cmocka_unit_test(test_broker),
		cmocka_unit_test(test_broker_start),
	};

	if (given && (sscanf(given, "%u/%u", &part, &parts) != 2 || part >= parts)) {
		fprintf(stderr, "NN_TEST_PART=%s is no part I/N\n", given);
		return 2;
	}
	if (only)
		cmocka_set_test_filter(only);
	return cmocka_run_group_tests_name("hal_fail", tests, set_up_folder, remove_folder);
}
