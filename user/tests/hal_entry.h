/* SPDX-License-Identifier: MIT */
/*
 * Common functions for tests of the compilation cache on the device: a model of one matrix, entries
 * in files, and the expected results.
 */
#ifndef NN_TESTS_HAL_ENTRY_H
#define NN_TESTS_HAL_ENTRY_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/nnaccel.h>

#include "tests/hal_fixture.h"
#include "tests/model_builder.h"

#define OP_FULLY_CONNECTED 9
#define WIDTH		64
#define WEIGHTS		(WIDTH * WIDTH * sizeof(float))
#define ROW		(WIDTH * sizeof(float))
#define PAGE		4096

static char folder[64] = "/tmp/nnaccel-cache-XXXXXX";

/*
 * A cache entry: the open files of the entry, and the reason why nna_prepare_model() did not save
 * the entry.
 */
struct entry {
	int model, data;
	struct nn_error not_saved;
	struct nna_cache cache;
};

static inline int open_part(const char *in, int number, const char *part)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%d.%s", in, number, part);
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
}

static inline void entry_open_in(struct entry *e, const char *in, int number)
{
	*e = (struct entry){
		.model = open_part(in, number, "model"),
		.data = open_part(in, number, "data"),
		.cache = { .size = sizeof(e->cache), .num_model_files = 1, .num_data_files = 1 },
	};
	assert_true(e->model >= 0 && e->data >= 0);
	e->cache.model_files = &e->model;
	e->cache.data_files = &e->data;
	e->cache.token[0] = (uint8_t)number;
	e->cache.not_saved = &e->not_saved;
}

static inline void entry_open(struct entry *e, int number)
{
	entry_open_in(e, folder, number);
}

static inline void entry_close(struct entry *e)
{
	close(e->model);
	close(e->data);
}

static inline off_t size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_size;
}

/*
 * Makes the memory of the weights: a matrix with `diagonal` in the diagonal, and zeroes elsewhere.
 */
static inline struct nna_memory *make_weights(struct nna_device *d, float diagonal)
{
	struct nna_memory *m;
	float *w;

	assert_int_equal(nna_memory_alloc(d, WEIGHTS, &m, &err), NN_OK);
	w = nna_memory_map(m, &err);
	assert_non_null(w);
	for (int i = 0; i < WIDTH; i++)
		w[i * WIDTH + i] = diagonal;
	return m;
}

static inline void build(struct model_builder *b)
{
	static const float zeroes[WIDTH];
	uint32_t x, w, bias, none, y;

	mb_init(b);
	b->model.num_pools = 1;
	x = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(1, WIDTH));
	w = mb_reference(b, NN_TENSOR_FLOAT32, 0, 0, WEIGHTS, MB_DIMS(WIDTH, WIDTH));
	bias = mb_constant(b, NN_TENSOR_FLOAT32, zeroes, sizeof(zeroes), MB_DIMS(WIDTH));
	none = mb_int32(b, 0);
	y = mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1, WIDTH));
	mb_operation(b, OP_FULLY_CONNECTED, MB_LIST(x, w, bias, none), MB_LIST(y));
}

static inline struct nna_prepared_model *prepare(struct nna_device *d,
						 const struct nna_cache *cache, float diagonal)
{
	struct nna_prepare_options options = {
		.size = sizeof(options),
		.cache = cache,
	};
	struct nna_memory *weights = make_weights(d, diagonal);
	struct nna_prepared_model *p = NULL;
	struct model_builder b;
	struct nn_error e = { "" };

	build(&b);
	if (nna_prepare_model(d, &b.model, &weights, &options, &p, &e))
		fprintf(stderr, "prepare: %s\n", e.message);
	nna_memory_free(weights);
	return p;
}

static inline void save(struct entry *e, float diagonal)
{
	struct nna_prepared_model *p = prepare(device, &e->cache, diagonal);

	assert_non_null(p);
	assert_string_equal(e->not_saved.message, "");
	assert_true(size_of(e->model) > 0);
	assert_true(size_of(e->data) >= (off_t)WEIGHTS);
	nna_prepared_model_free(p);
}

static inline enum nn_status load(const struct entry *e, struct nna_prepared_model **p)
{
	err.message[0] = 0;
	*p = NULL;
	return nna_prepare_model_from_cache(device, &e->cache, NULL, p, &err);
}

/* Executes a model on positive and negative numbers; stores the results in y. */
static inline enum nn_status run(struct nna_device *d, struct nna_prepared_model *p, float y[WIDTH])
{
	const struct nna_argument in = { .length = ROW }, out = { .offset = ROW, .length = ROW };
	struct nna_memory *m;
	const struct nna_request r = { .size = sizeof(r), 1, 1, 1, &in, &out, &m, 0, NULL };
	enum nn_status status = nna_memory_alloc(d, PAGE, &m, NULL);
	float *x;

	if (status)
		return status;
	x = nna_memory_map(m, NULL);
	for (int i = 0; i < WIDTH; i++)
		x[i] = (float)(i - 5);
	status = nna_execute(p, &r, NULL, NULL, NULL);
	memcpy(y, x + WIDTH, ROW);
	nna_memory_free(m);
	return status;
}

static inline bool is_right(struct nna_device *d, struct nna_prepared_model *p, float diagonal)
{
	float y[WIDTH];
	bool right = run(d, p, y) == NN_OK;

	for (int i = 0; right && i < WIDTH; i++)
		right = y[i] == diagonal * (float)(i - 5);
	return right;
}

static inline void assert_loads(const struct entry *e, float diagonal)
{
	struct nna_prepared_model *p;

	if (load(e, &p))
		print_error("%s\n", err.message);
	assert_non_null(p);
	assert_true(is_right(device, p, diagonal));
	nna_prepared_model_free(p);
}

static inline void assert_refused(const struct entry *e, enum nn_status status)
{
	struct nna_prepared_model *p;

	assert_int_equal(load(e, &p), status);
	assert_null(p);
	assert_true(err.message[0]);
}

#endif /* NN_TESTS_HAL_ENTRY_H */
