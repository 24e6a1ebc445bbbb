/* SPDX-License-Identifier: MIT */
/*
 * Tests the compilation cache through the module and the engine. The test needs /dev/nnaccel, a
 * running nnacceld, and root, because the test becomes another user.
 *
 * hal_cache_test store|load|replace FOLDER: With `store`, the test saves entries in FOLDER; with
 * `load`, a later run of the test loads the entries. With `replace`, the test checks that the
 * engine refuses entries of another build, and saves entries again. The script that runs the test
 * changes the engine between two runs. "hal_cache_test TEST" runs only tests whose names match the
 * pattern TEST.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/nnaccel.h>
#include <nnaccel/nnaccel.h>

#include "../../selftests/lib/runner.h"
#include "tests/hal_entry.h"
#include "tests/hal_cached.h"

#define NOBODY		65534
#define OP_ADD		0
#define PROCESSES	3
#define ROUNDS		how_often(6, PROCESSES)
#define FLIPS		how_often(300, 8)
#define CHAIN		1000	/* number of operations of the large model */
/* distance between two flipped bits of a cache entry; always odd */
#define BIT_STEP	how_often(1, 151)
#define SAMPLE		how_often(1000, 15)	/* number of flipped bits in the large entry */
/*
 * If a keeper has run for so many seconds before its death, the next keeper starts without a pause.
 */
#define KEEPER_LIFE_S	11

/* ---- saving and loading ---- */

static void test_files_needed(void **state)
{
	uint32_t model = 7, data = 7;

	(void)state;
	assert_int_equal(nna_cache_files_needed(device, &model, &data, &err), NN_OK);
	assert_int_equal(model, 1);
	assert_int_equal(data, 1);
}

static void test_save_and_load(void **state)
{
	struct entry e;

	(void)state;
	entry_open(&e, 1);
	assert_refused(&e, NN_GENERAL_FAILURE);
	save(&e, 2);
	assert_loads(&e, 2);
	assert_loads(&e, 2);
	/* Saving a model a second time overwrites the entry. */
	save(&e, 3);
	assert_loads(&e, 3);
	entry_close(&e);
}

static void test_another_worker(void **state)
{
	struct nna_prepared_model *p = NULL;
	struct entry e;

	(void)state;
	entry_open(&e, 2);
	save(&e, 2);
	assert_true(workers_kill() > 0);
	/* Wait until the kernel has noticed the worker's death. */
	while (load(&e, &p) == NN_DEAD_OBJECT)
		usleep(10000);
	assert_non_null(p);
	nna_prepared_model_free(p);
	assert_loads(&e, 2);
	entry_close(&e);
}

/*
 * Runs a function in a child process, with a device that the child opens; returns the function's
 * result, which is 0 for success.
 */
static int in_child(int (*act)(struct nna_device *d, void *data), void *data)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct nna_device *d;

		if (nna_device_open(NULL, &d, NULL))
			_exit(100);
		status = act(d, data);
		nna_device_close(d);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 101;
}

static int load_it(struct nna_device *d, void *data)
{
	const struct entry *e = data;
	struct nna_prepared_model *p;
	int wrong;

	if (nna_prepare_model_from_cache(d, &e->cache, NULL, &p, NULL))
		return 1;
	wrong = is_right(d, p, 2) ? 0 : 2;
	nna_prepared_model_free(p);
	return wrong;
}

static void test_another_process(void **state)
{
	struct entry e;

	(void)state;
	entry_open(&e, 3);
	save(&e, 2);
	assert_int_equal(in_child(load_it, &e), 0);
	entry_close(&e);
}

/*
 * Adds the kilobytes of a file that a process has mapped to two sums: private pages to `own`, and
 * shared pages to `shared`.
 */
static void add_shares(const char *process, const char *file, long *own, long *shared)
{
	char line[512];
	bool ours = false;
	long kilobytes;
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%.20s/smaps", process);
	f = fopen(line, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))
			ours = strstr(line, file);
		else if (ours && sscanf(line, "Private_%*[^:]: %ld", &kilobytes) == 1)
			*own += kilobytes;
		else if (ours && sscanf(line, "Shared_%*[^:]: %ld", &kilobytes) == 1)
			*shared += kilobytes;
	}
	if (f)
		fclose(f);
}

/* Sums the private and the shared pages of a file, in kilobytes, over all processes. */
static void read_shares(const char *file, long *own, long *shared)
{
	const struct dirent *e;
	DIR *proc = opendir("/proc");

	*own = *shared = 0;
	while (proc && (e = readdir(proc)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			add_shares(e->d_name, file, own, shared);
	if (proc)
		closedir(proc);
}

/* Two workers that load the same cache entry share one copy of the weights. */
static void test_shared_weights(void **state)
{
	struct nna_prepared_model *p, *q;
	struct nna_device *other;
	struct entry e;
	long own, shared;

	(void)state;
	entry_open(&e, 15);
	save(&e, 2);
	assert_int_equal(nna_device_open(NULL, &other, &err), NN_OK);
	assert_int_equal(load(&e, &p), NN_OK);
	assert_true(is_right(device, p, 2));
	read_shares("/15.data", &own, &shared);
	assert_true(own >= (long)(WEIGHTS / 1024));
	assert_int_equal(nna_prepare_model_from_cache(other, &e.cache, NULL, &q, &err), NN_OK);
	assert_true(is_right(other, q, 2));
	read_shares("/15.data", &own, &shared);
	assert_int_equal(own, 0);
	assert_true(shared >= 2 * (long)(WEIGHTS / 1024));
	nna_prepared_model_free(p);
	nna_prepared_model_free(q);
	nna_device_close(other);
	entry_close(&e);
}

/* ---- what is refused ---- */

static void test_wrong_files(void **state)
{
	struct nna_prepared_model *p;
	struct entry e, bad;
	int pipes[2], read_only;
	char path[128];

	(void)state;
	entry_open(&e, 4);
	save(&e, 2);
	assert_int_equal(pipe(pipes), 0);
	snprintf(path, sizeof(path), "%s/4.model", folder);
	read_only = open(path, O_RDONLY);
	for (int i = 0; i < 7; i++) {
		const int files[] = { e.model, read_only, pipes[0], -1 };

		bad = e;
		bad.cache.not_saved = &bad.not_saved;
		bad.not_saved.message[0] = 0;
		switch (i) {
		case 0:
			bad.cache.num_model_files = 0;
			break;
		case 1:
			bad.cache.num_data_files = 0;
			break;
		case 2:
			bad.cache.num_model_files = 2;
			break;
		case 3:
			bad.cache.num_data_files = 32;
			break;
		default:
			bad.cache.model_files = &files[i - 3];
		}
		assert_refused(&bad, NN_INVALID_ARGUMENT);
		/*
		 * Preparing a model succeeds even if the cache files make saving the model
		 * impossible.
		 */
		p = prepare(device, &bad.cache, 5);
		assert_non_null(p);
		assert_true(is_right(device, p, 5));
		assert_true(bad.not_saved.message[0]);
		nna_prepared_model_free(p);
	}
	assert_loads(&e, 2);
	close(read_only);
	close(pipes[0]);
	close(pipes[1]);
	entry_close(&e);
}

static void test_other_tokens(void **state)
{
	struct entry e;

	(void)state;
	entry_open(&e, 5);
	save(&e, 2);
	for (int i = 0; i < NNA_CACHE_TOKEN_SIZE; i++) {
		e.cache.token[i] ^= 0x80;
		assert_refused(&e, NN_GENERAL_FAILURE);
		e.cache.token[i] ^= 0x80;
	}
	assert_loads(&e, 2);
	entry_close(&e);
}

/*
 * Flips every step-th bit of an entry's model file, one at a time; the damaged entry must not load.
 */
static void flip_bits(const struct entry *e, off_t step)
{
	off_t size = size_of(e->model);
	uint8_t *bytes;

	bytes = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, e->model, 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	for (off_t bit = 0; bit < 8 * size; bit += step) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_refused(e, NN_GENERAL_FAILURE);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	munmap(bytes, (size_t)size);
}

static void test_every_bit(void **state)
{
	struct entry e;

	(void)state;
	entry_open(&e, 6);
	save(&e, 2);
	flip_bits(&e, BIT_STEP);
	assert_loads(&e, 2);
	entry_close(&e);
}

/* Builds a chain of CHAIN operations; each operation adds 0 to the previous operation's result. */
static void build_chain(struct model_builder *b)
{
	static struct nn_operand operands[CHAIN + 3];
	static struct nn_operation operations[CHAIN];
	static uint32_t indices[CHAIN][3], results[CHAIN];
	static const float zero;

	mb_init(b);
	mb_constant(b, NN_TENSOR_FLOAT32, &zero, sizeof(zero), MB_DIMS(1));
	mb_int32(b, 0);
	memcpy(operands, b->operands[0], 2 * sizeof(*operands));
	operands[0].consumers = operands[1].consumers = CHAIN;
	for (uint32_t i = 0; i <= CHAIN; i++)
		operands[2 + i] = (struct nn_operand){
			.type = NN_TENSOR_FLOAT32, .rank = 2, .dims = { 1, WIDTH },
			.lifetime = i == 0 ? NN_SUBGRAPH_INPUT :
				    i < CHAIN ? NN_TEMPORARY : NN_SUBGRAPH_OUTPUT,
			.consumers = i < CHAIN,
		};
	for (uint32_t i = 0; i < CHAIN; i++) {
		memcpy(indices[i], (uint32_t[]){ 2 + i, 0, 1 }, sizeof(indices[i]));
		results[i] = 3 + i;
		operations[i] = (struct nn_operation){ OP_ADD, 3, 1, indices[i], &results[i] };
	}
	b->subgraphs[0] = (struct nn_subgraph){
		.num_operands = CHAIN + 3, .operands = operands,
		.num_operations = CHAIN, .operations = operations,
		.num_inputs = 1, .inputs = indices[0],
		.num_outputs = 1, .outputs = &results[CHAIN - 1],
	};
}

static void save_chain(struct entry *e)
{
	struct nna_prepare_options options = {
		.size = sizeof(options),
		.cache = &e->cache,
	};
	struct nna_prepared_model *p;
	struct model_builder b;

	build_chain(&b);
	if (nna_prepare_model(device, &b.model, NULL, &options, &p, &err))
		fail_msg("%s", err.message);
	assert_string_equal(e->not_saved.message, "");
	nna_prepared_model_free(p);
}

static void test_bits_of_a_large_model(void **state)
{
	struct entry e;
	off_t bits;

	(void)state;
	entry_open(&e, 16);
	save_chain(&e);
	assert_loads(&e, 1);
	bits = 8 * size_of(e.model);
	assert_true(bits > 8 * 16 * PAGE);
	/* The flipped bits have all positions in a byte, because their distance is odd. */
	flip_bits(&e, (bits / SAMPLE) | 1);
	assert_loads(&e, 1);
	print_message("a model file of %ld bytes\n", (long)(bits / 8));
	entry_close(&e);
}

static void test_other_lengths(void **state)
{
	static const uint8_t zeroes[PAGE];
	struct entry e;
	off_t model, data;

	(void)state;
	entry_open(&e, 7);
	save(&e, 2);
	model = size_of(e.model);
	data = size_of(e.data);
	for (off_t size = data; size; size -= PAGE) {
		assert_int_equal(ftruncate(e.data, size - PAGE), 0);
		assert_refused(&e, NN_GENERAL_FAILURE);
	}
	assert_int_equal(ftruncate(e.data, data), 0);
	/* The engine refuses an entry whose files have the right lengths but wrong contents. */
	assert_refused(&e, NN_GENERAL_FAILURE);
	save(&e, 2);
	assert_int_equal(pwrite(e.data, zeroes, sizeof(zeroes), data), sizeof(zeroes));
	assert_refused(&e, NN_GENERAL_FAILURE);
	save(&e, 2);
	assert_int_equal(pwrite(e.model, zeroes, 1, model), 1);
	assert_refused(&e, NN_GENERAL_FAILURE);
	for (off_t size = model - 1; size >= 0; size -= 1 + size / 9) {
		assert_int_equal(ftruncate(e.model, size), 0);
		assert_refused(&e, NN_GENERAL_FAILURE);
	}
	entry_close(&e);
}

/*
 * If an entry's data file was changed, the engine rejects the entry, or executions with the loaded
 * entry succeed (with any results).
 */
static void test_changed_data(void **state)
{
	struct nna_prepared_model *p;
	uint8_t *bytes;
	struct entry e;
	float y[WIDTH];
	off_t size;

	(void)state;
	entry_open(&e, 8);
	save(&e, 2);
	size = size_of(e.data);
	bytes = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, e.data, 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	for (int i = 0; i < FLIPS; i++) {
		off_t at = rand() % size;
		uint8_t old = bytes[at];

		bytes[at] = (uint8_t)rand();
		if (!load(&e, &p)) {
			assert_int_equal(run(device, p, y), NN_OK);
			nna_prepared_model_free(p);
		}
		bytes[at] = old;
	}
	assert_loads(&e, 2);
	munmap(bytes, (size_t)size);
	entry_close(&e);
}

/*
 * If the data file of a loaded entry shrinks, the worker survives. Executions of a model whose data
 * file has shrunk fail, unless the worker had read the data before.
 */
static void test_data_shrinks(void **state)
{
	struct nna_prepared_model *p;
	struct entry e;
	float y[WIDTH];
	pid_t worker;

	(void)state;
	entry_open(&e, 9);
	save(&e, 2);
	assert_int_equal(load(&e, &p), NN_OK);
	worker = workers_find();
	assert_int_equal(ftruncate(e.data, 0), 0);
	assert_int_equal(run(device, p, y), NN_GENERAL_FAILURE);
	assert_int_equal(workers_find(), worker);
	nna_prepared_model_free(p);
	save(&e, 2);
	assert_loads(&e, 2);
	entry_close(&e);
}

/* ---- other users ---- */

/* Becomes the user "nobody", who may open the device. */
static bool become_nobody(void)
{
	struct stat node;

	return !stat(NNA_DEVICE_PATH, &node) && !setgroups(1, &node.st_gid) &&
	       !setresgid(NOBODY, NOBODY, NOBODY) && !setresuid(NOBODY, NOBODY, NOBODY);
}

static int load_as_nobody(struct nna_device *d, void *data)
{
	struct nna_prepared_model *p;
	struct nna_device *mine;
	struct entry *e = data, own;

	(void)d;
	if (!become_nobody() || nna_device_open(NULL, &mine, NULL))
		return 1;
	/* The user nobody cannot load root's entry, even with the right token. */
	if (nna_prepare_model_from_cache(mine, &e->cache, NULL, &p, NULL) != NN_GENERAL_FAILURE)
		return 2;
	own = *e;
	own.cache.model_files = &own.model;
	own.cache.data_files = &own.data;
	own.cache.not_saved = &own.not_saved;
	p = prepare(mine, &own.cache, 4);
	if (!p || own.not_saved.message[0])
		return 3;
	nna_prepared_model_free(p);
	if (nna_prepare_model_from_cache(mine, &own.cache, NULL, &p, NULL))
		return 4;
	return is_right(mine, p, 4) ? 0 : 5;
}

static void test_other_users(void **state)
{
	struct entry e;

	(void)state;
	entry_open(&e, 10);
	assert_int_equal(fchmod(e.model, 0666) | fchmod(e.data, 0666), 0);
	save(&e, 2);
	assert_int_equal(in_child(load_as_nobody, &e), 0);
	/*
	 * Root cannot load the entry that the user nobody has saved in root's files, with the same
	 * token.
	 */
	assert_refused(&e, NN_GENERAL_FAILURE);
	save(&e, 2);
	assert_loads(&e, 2);
	entry_close(&e);
}

/* ---- others at the same time ---- */

static int use_it(struct nna_device *d, void *data)
{
	struct nna_prepared_model *p;
	const int *number = data;
	struct entry e;
	int wrong = 0;

	entry_open(&e, 11);
	for (int i = 0; i < ROUNDS; i++) {
		if (i % PROCESSES == *number)
			p = prepare(d, &e.cache, 2);
		else if (nna_prepare_model_from_cache(d, &e.cache, NULL, &p, NULL))
			continue;
		wrong += !p || !is_right(d, p, 2);
		nna_prepared_model_free(p);
	}
	entry_close(&e);
	return wrong;
}

static void *use_in_child(void *data)
{
	return (void *)(intptr_t)in_child(use_it, data);
}

static void test_many_processes(void **state)
{
	int numbers[PROCESSES];
	pthread_t threads[PROCESSES];
	struct entry e;
	void *wrong;

	(void)state;
	for (int i = 0; i < PROCESSES; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, use_in_child, &numbers[i]), 0);
	}
	for (int i = 0; i < PROCESSES; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	entry_open(&e, 11);
	assert_loads(&e, 2);
	entry_close(&e);
}

/* While a model that was loaded from files is in use, the files are locked against writers. */
static void test_in_use(void **state)
{
	struct nna_prepared_model *p, *other;
	struct entry e, again;

	(void)state;
	entry_open(&e, 12);
	save(&e, 2);
	assert_int_equal(load(&e, &p), NN_OK);
	entry_close(&e);
	entry_open(&again, 12);
	other = prepare(device, &again.cache, 5);
	assert_non_null(other);
	assert_non_null(strstr(again.not_saved.message, "in use"));
	assert_true(is_right(device, other, 5));
	assert_true(is_right(device, p, 2));
	assert_loads(&again, 2);
	nna_prepared_model_free(p);
	nna_prepared_model_free(other);
	save(&again, 5);
	assert_loads(&again, 5);
	entry_close(&again);
}

static void test_full_disk(void **state)
{
	const struct rlimit little = { PAGE, RLIM_INFINITY };
	struct nna_prepared_model *p;
	struct rlimit before;
	struct entry e;

	(void)state;
	entry_open(&e, 13);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	p = prepare(device, &e.cache, 2);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_non_null(p);
	assert_true(e.not_saved.message[0]);
	assert_int_equal(size_of(e.model), 0);
	assert_refused(&e, NN_GENERAL_FAILURE);
	nna_prepared_model_free(p);
	entry_close(&e);
}

/* ---- the engine's own cache ---- */

static struct nna_prepared_model *prepare_kept_of(struct nna_device *d, struct nna_memory *weights)
{
	struct nna_prepare_options options = {
		.size = sizeof(options),
		.engine_cache = true,
	};
	struct nna_prepared_model *p = NULL;
	struct model_builder b;

	build(&b);
	if (nna_prepare_model(d, &b.model, &weights, &options, &p, &err))
		fprintf(stderr, "prepare: %s\n", err.message);
	return p;
}

static struct nna_prepared_model *prepare_cached(struct nna_device *d, float diagonal)
{
	struct nna_memory *weights = make_weights(d, diagonal);
	struct nna_prepared_model *p = prepare_kept_of(d, weights);

	nna_memory_free(weights);
	return p;
}

/*
 * Becomes another user, prepares a model that is cached, reports the result, and waits until the
 * parent kills the process.
 */
static void prepare_as_nobody(int answer)
{
	struct nna_prepared_model *p = NULL;
	struct nna_device *mine;
	char right;

	if (become_nobody() && !nna_device_open(NULL, &mine, NULL))
		p = prepare_cached(mine, 6);
	right = p && is_right(mine, p, 6);
	if (write(answer, &right, 1) == 1)
		pause();
	_exit(1);
}

/* A second user gets a separate entry, although root has an entry of the same model. */
static void check_nobody(int cached)
{
	int answer[2];
	char right = 0;
	pid_t pid;

	assert_int_equal(pipe(answer), 0);
	pid = fork();
	if (pid == 0)
		prepare_as_nobody(answer[1]);
	close(answer[1]);
	assert_int_equal(read(answer[0], &right, 1), 1);
	assert_int_equal(right, 1);
	assert_true(await_cached(cached));
	close(answer[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_cached(void **state)
{
	struct nna_prepared_model *p, *q;
	int before = count_cached();

	(void)state;
	/* A model is not cached unless the client that prepares the model asks for caching. */
	p = prepare(device, NULL, 6);
	nna_prepared_model_free(p);
	p = prepare_cached(device, 6);
	assert_true(is_right(device, p, 6));
	assert_int_equal(count_mapped(), 0);
	assert_true(await_cached(before + 1));
	/*
	 * The next preparation of the model loads the model's plan from the cache, both in the same
	 * worker and in another worker.
	 */
	q = prepare_cached(device, 6);
	assert_true(is_right(device, q, 6));
	assert_int_equal(count_mapped(), 1);
	nna_prepared_model_free(q);
	nna_prepared_model_free(p);
	nna_device_close(device);
	set_up(NULL);
	q = prepare_cached(device, 6);
	assert_true(is_right(device, q, 6));
	assert_int_equal(count_mapped(), 1);
	/* A model with different weights has a separate plan in the cache. */
	p = prepare_cached(device, 7);
	assert_true(is_right(device, p, 7));
	assert_int_equal(count_mapped(), 1);
	assert_true(await_cached(before + 2));
	nna_prepared_model_free(p);
	nna_prepared_model_free(q);
	check_nobody(before + 3);
}

/*
 * If a client changes the weights of a model after the preparation, neither the prepared model nor
 * the cached plan changes.
 */
static void test_kept_copy(void **state)
{
	struct nna_memory *weights = make_weights(device, 12);
	struct nna_prepared_model *p, *q;
	int before = count_cached();
	float *w;

	(void)state;
	p = prepare_kept_of(device, weights);
	w = nna_memory_map(weights, &err);
	for (int i = 0; i < WIDTH; i++)
		w[i * WIDTH + i] = 13;
	assert_true(is_right(device, p, 12));
	assert_true(await_cached(before + 1));
	q = prepare_cached(device, 12);
	assert_int_equal(count_mapped(), 1);
	assert_true(is_right(device, q, 12));
	nna_prepared_model_free(q);
	q = prepare_kept_of(device, weights);
	assert_int_equal(count_mapped(), 0);
	assert_true(is_right(device, q, 13));
	assert_true(await_cached(before + 2));
	/* A model is cached even if the client frees the model before the plan is stored. */
	nna_prepared_model_free(prepare_cached(device, 14));
	assert_true(await_cached(before + 3));
	nna_prepared_model_free(q);
	nna_prepared_model_free(p);
	nna_memory_free(weights);
}

/* ---- a keeper that dies ---- */

/* Waits until a new keeper runs, whose process is not `old`. */
static pid_t await_keeper(pid_t old)
{
	pid_t keeper;

	do {
		usleep(10000);
		keeper = workers_find_keeper();
	} while (keeper < 0 || keeper == old);
	return keeper;
}

static double age_of(pid_t pid)
{
	unsigned long long start = 0;
	struct timespec now;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u "
				"%*u %*d %*d %*d %*d %*d %*d %llu", &start), 1);
	fclose(f);
	assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &now), 0);
	return (double)now.tv_sec - (double)start / (double)sysconf(_SC_CLK_TCK);
}

/*
 * If a keeper dies, the next keeper serves the dead keeper's workers. If the dead keeper had run
 * only for a short time, the next keeper starts after a pause; during the pause, workers compile
 * models. Only the full test run covers the pause, because the pause takes real time in this test.
 * (The test engine_clients_test covers the pause with a simulated clock.)
 */
static void test_keeper_dies(void **state)
{
	pid_t worker, keeper = workers_find_keeper(), next;
	struct nna_prepared_model *p;
	struct entry e, other;

	(void)state;
	assert_true(keeper > 0);
	entry_open(&e, 21);
	entry_open(&other, 22);
	save(&e, 2);
	worker = workers_find();
	while (age_of(keeper) < KEEPER_LIFE_S)
		usleep(100000);
	assert_int_equal(kill(keeper, SIGKILL), 0);
	assert_loads(&e, 2);
	next = await_keeper(keeper);
	assert_loads(&e, 2);
	save(&other, 3);
	assert_loads(&other, 3);
	assert_int_equal(workers_find(), worker);
	if (!how_often(1, 0))
		goto out;
	assert_int_equal(kill(next, SIGKILL), 0);
	assert_refused(&e, NN_GENERAL_FAILURE);
	p = prepare(device, NULL, 4);
	assert_true(is_right(device, p, 4));
	nna_prepared_model_free(p);
	assert_int_equal(workers_find(), worker);
	nna_device_close(device);
	sleep(KEEPER_LIFE_S);
	assert_int_equal(set_up(NULL), 0);
	assert_loads(&e, 2);
	assert_loads(&other, 3);
out:
	entry_close(&other);
	entry_close(&e);
}

/* ---- a writer that flips bytes while the engine reads ---- */

struct flipper {
	uint8_t *bytes;
	size_t size;
	volatile bool stop;
};

static void *flip(void *data)
{
	struct flipper *f = data;
	unsigned int seed = 1;

	while (!f->stop) {
		volatile uint8_t *at = &f->bytes[(size_t)rand_r(&seed) % f->size];
		uint8_t old = *at;

		*at = (uint8_t)(old ^ (1 << rand_r(&seed) % 8));
		*at = old;
	}
	return NULL;
}

/* Copies an entry's model file to memory that another thread can write. */
static uint32_t shared_copy(int fd, const struct entry *e, struct flipper *f)
{
	struct nnaccel_pool_import i = {
		.size = sizeof(i), .prot = NNACCEL_PROT_READ, .length = (uint64_t)size_of(e->model),
	};

	i.fd = memfd_create("model", 0);
	assert_int_equal(ftruncate(i.fd, size_of(e->model)), 0);
	f->size = (size_t)size_of(e->model);
	f->bytes = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, i.fd, 0);
	assert_ptr_not_equal(f->bytes, MAP_FAILED);
	assert_int_equal(pread(e->model, f->bytes, f->size, 0), f->size);
	assert_int_equal(ioctl(fd, NNACCEL_POOL_IMPORT, &i), 0);
	close(i.fd);
	return i.out_id;
}

static uint32_t import(int fd, int file)
{
	struct nnaccel_pool_import i = {
		.size = sizeof(i), .fd = file, .prot = NNACCEL_PROT_READ,
		.length = (uint64_t)size_of(file),
	};

	assert_int_equal(ioctl(fd, NNACCEL_POOL_IMPORT, &i), 0);
	return i.out_id;
}

/* Submits work to the engine through the module, and waits for the answer. */
static int ask(int fd, enum nnaccel_work kind, void *work)
{
	struct nnaccel_submit s = {
		.size = sizeof(s), .flags = NNACCEL_SUBMIT_WAIT, .kind = kind, .work = (uintptr_t)work,
	};
	int result = ioctl(fd, NNACCEL_SUBMIT, &s);

	assert_true(result || s.out_state == NNACCEL_STATE_DONE);
	return result;
}

/* Executes the model on a row of ones; returns whether the results are twos. */
static bool doubles(int fd, uint32_t model)
{
	struct nnaccel_pool_alloc a = { .size = sizeof(a), .length = PAGE };
	struct nnaccel_pool_export x = { .size = sizeof(x) };
	struct nnaccel_arg args[] = { { .length = ROW }, { .offset = ROW, .length = ROW } };
	struct nnaccel_execute e = {
		.size = sizeof(e), .model = model, .num_pools = 1, .num_inputs = 1,
		.num_outputs = 1, .args = (uintptr_t)args,
	};
	struct nnaccel_destroy d = { .size = sizeof(d) };
	bool right;
	float *data;

	assert_int_equal(ioctl(fd, NNACCEL_POOL_ALLOC, &a), 0);
	x.id = a.out_id;
	e.pools = (uintptr_t)&a.out_id;
	assert_int_equal(ioctl(fd, NNACCEL_POOL_EXPORT, &x), 0);
	data = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, x.out_fd, 0);
	assert_ptr_not_equal(data, MAP_FAILED);
	for (int i = 0; i < WIDTH; i++)
		data[i] = (float)(i - 5);
	right = !ask(fd, NNACCEL_WORK_EXECUTE, &e) && !e.out_status;
	for (int i = 0; i < WIDTH; i++)
		right &= data[WIDTH + i] == 2 * (float)(i - 5);
	munmap(data, PAGE);
	close(x.out_fd);
	d.id = a.out_id;
	ioctl(fd, NNACCEL_DESTROY, &d);
	return right;
}

static void test_flipping_writer(void **state)
{
	struct nnaccel_cache_part parts[2] = { { 0 } };
	struct nnaccel_prepare_cached p = {
		.size = sizeof(p), .num_model_parts = 1, .num_data_parts = 1,
		.parts = (uintptr_t)parts, .preference = 1, .priority = 1,
	};
	struct flipper f = { .stop = false };
	int fd = open(NNA_DEVICE_PATH, O_RDWR | O_CLOEXEC), loaded = 0;
	struct entry e;
	pthread_t thread;

	(void)state;
	entry_open(&e, 14);
	save(&e, 2);
	parts[0].pool = shared_copy(fd, &e, &f);
	parts[0].length = f.size;
	parts[1].pool = import(fd, e.data);
	parts[1].length = (uint64_t)size_of(e.data);
	memcpy(p.token, e.cache.token, sizeof(p.token));
	assert_int_equal(pthread_create(&thread, NULL, flip, &f), 0);
	for (int i = 0; i < FLIPS; i++) {
		struct nnaccel_destroy d = { .size = sizeof(d) };

		assert_int_equal(ask(fd, NNACCEL_WORK_PREPARE_CACHED, &p), 0);
		d.id = p.out_model;
		if (p.out_status) {
			assert_int_equal(p.out_status, NNACCEL_STATUS_GENERAL_FAILURE);
			continue;
		}
		/* A plan that loads computes the same results as the plan that was saved. */
		assert_true(doubles(fd, p.out_model));
		assert_int_equal(ioctl(fd, NNACCEL_DESTROY, &d), 0);
		loaded++;
	}
	f.stop = true;
	pthread_join(thread, NULL);
	print_message("%d of %d loaded\n", loaded, FLIPS);
	assert_int_equal(ask(fd, NNACCEL_WORK_PREPARE_CACHED, &p), 0);
	assert_int_equal(p.out_status, NNACCEL_STATUS_NONE);
	munmap(f.bytes, f.size);
	close(fd);
	entry_close(&e);
}

/* ---- in two runs ---- */

static const char *given_folder;

static void test_store(void **state)
{
	struct entry e;

	(void)state;
	entry_open_in(&e, given_folder, 20);
	save(&e, 2);
	entry_close(&e);
}

static void test_load(void **state)
{
	struct entry e;

	(void)state;
	entry_open_in(&e, given_folder, 20);
	assert_loads(&e, 2);
	entry_close(&e);
}

/*
 * The engine refuses entries that another build saved, and saving replaces the files of these
 * entries.
 */
static void test_replace(void **state)
{
	struct entry e;

	(void)state;
	entry_open_in(&e, given_folder, 20);
	assert_refused(&e, NN_GENERAL_FAILURE);
	assert_non_null(strstr(err.message, "did not save the model file"));
	save(&e, 2);
	assert_loads(&e, 2);
	entry_close(&e);
}

static int run_part(const char *part)
{
	const struct CMUnitTest store[] = {
		cmocka_unit_test_setup_teardown(test_store, set_up, tear_down),
	};
	const struct CMUnitTest load[] = {
		cmocka_unit_test_setup_teardown(test_load, set_up, tear_down),
	};
	const struct CMUnitTest replace[] = {
		cmocka_unit_test_setup_teardown(test_replace, set_up, tear_down),
	};

	if (!strcmp(part, "store"))
		return cmocka_run_group_tests(store, NULL, NULL);
	if (!strcmp(part, "load"))
		return cmocka_run_group_tests(load, NULL, NULL);
	if (!strcmp(part, "replace"))
		return cmocka_run_group_tests(replace, NULL, NULL);
	fprintf(stderr, "usage: hal_cache_test [TEST | store|load|replace FOLDER]\n");
	return 2;
}

#define TEST(name) cmocka_unit_test(test_##name)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(files_needed),
		TEST(save_and_load),
		TEST(another_worker),
		TEST(another_process),
		TEST(shared_weights),
		TEST(wrong_files),
		TEST(other_tokens),
		TEST(every_bit),
		TEST(bits_of_a_large_model),
		TEST(other_lengths),
		TEST(changed_data),
		TEST(data_shrinks),
		TEST(other_users),
		TEST(many_processes),
		TEST(in_use),
		TEST(full_disk),
		TEST(cached),
		TEST(kept_copy),
		TEST(keeper_dies),
		TEST(flipping_writer),
	};

	if (argc == 3) {
		given_folder = argv[2];
		return run_part(argv[1]);
	}
	if (argc == 2)
		cmocka_set_test_filter(argv[1]);
	if (!mkdtemp(folder) || chmod(folder, 0777)) {
		perror(folder);
		return 1;
	}
	/*
	 * All tests share one device, because on an emulated CPU each start of a worker takes half
	 * a second.
	 */
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
