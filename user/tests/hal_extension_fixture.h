/* SPDX-License-Identifier: MIT */
/*
 * Common functions for tests of extensions on libnnaccel's device: clients with and without access
 * to extensions, a model, and expected results.
 */
#ifndef NN_TESTS_HAL_EXTENSION_FIXTURE_H
#define NN_TESTS_HAL_EXTENSION_FIXTURE_H

#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../examples/extensions/fibonacci.h"
#include "../examples/extensions/golden.h"
#include "tests/hal_fixture.h"
#include "tests/model_builder.h"

#define GROUP		"nnaccel-ext"
#define CODE(prefix, code) ((prefix) << 16 | (code))
#define COUNT		8

#ifndef PAGE
#define PAGE		4096
#endif

static inline struct nna_device *open_as_user(uid_t uid, bool member)
{
	const struct group *group = getgrnam(GROUP);
	gid_t groups[2];
	struct stat node;
	struct nna_device *client;

	assert_non_null(group);
	assert_int_equal(stat(NNA_DEVICE_PATH, &node), 0);
	groups[0] = node.st_gid;
	groups[1] = group->gr_gid;
	assert_int_equal(setgroups(member ? 2 : 1, groups), 0);
	assert_int_equal(seteuid(uid), 0);
	check(nna_device_open(NULL, &client, &err));
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(setgroups(0, NULL), 0);
	return client;
}

static inline struct nna_device *open_as(bool member)
{
	return open_as_user(0, member);
}

/* ---- models ---- */

static const struct fibonacci_quant quant = { .scale = 0.25, .zero_point = -3 };

/*
 * Makes a model that computes the ratios of the first COUNT Fibonacci numbers by operations of
 * extensions, and adds 1 by an operation of the NNAPI.
 */
static inline void build_golden(struct model_builder *b)
{
	static const float ones[COUNT - 1] = { 1, 1, 1, 1, 1, 1, 1 };

	mb_init(b);
	b->model.num_extensions = 2;
	b->extensions[0] = (struct nn_extension_prefix){ GOLDEN_NAME, 700 };
	b->extensions[1] = (struct nn_extension_prefix){ FIBONACCI_NAME, 1 };
	mb_operand(b, CODE(1, FIBONACCI_INT64), NN_SUBGRAPH_INPUT, MB_NONE);
	mb_operand(b, CODE(1, FIBONACCI_TENSOR_QUANT64), NN_TEMPORARY, MB_DIMS(COUNT));
	b->operands[0][1].extra = (struct nn_extra){
		.kind = NN_EXTRA_EXTENSION, .bytes = (const uint8_t *)&quant,
		.count = sizeof(quant),
	};
	mb_operand(b, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS(COUNT - 1));
	mb_constant(b, NN_TENSOR_FLOAT32, ones, sizeof(ones), MB_DIMS(COUNT - 1));
	mb_int32(b, 0);
	mb_operand(b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(COUNT - 1));
	mb_operation(b, CODE(1, FIBONACCI_FIBONACCI), MB_LIST(0), MB_LIST(1));
	mb_operation(b, CODE(700, GOLDEN_RATIOS), MB_LIST(1), MB_LIST(2));
	mb_operation(b, 0 /* ADD */, MB_LIST(2, 3, 4), MB_LIST(5));
}

/*
 * A request of a client; the input lies at the start of a memory, and the output in the middle of
 * this memory.
 */
struct job {
	struct nna_device *client;
	struct nna_prepared_model *prepared;
	struct nna_memory *memory;
	uint8_t *map;
	struct nna_argument in, out;
	struct nna_request request;
};

static inline void job_init(struct job *j, struct nna_device *client, uint64_t in, uint64_t out)
{
	j->client = client;
	check(nna_memory_alloc(client, PAGE, &j->memory, &err));
	j->map = nna_memory_map(j->memory, &err);
	assert_non_null(j->map);
	j->in = (struct nna_argument){ .length = in };
	j->out = (struct nna_argument){ .offset = PAGE / 2, .length = out };
	j->request = (struct nna_request){ .size = sizeof(struct nna_request),
					   1, 1, 1, &j->in, &j->out, &j->memory, 0, NULL };
}

static inline void job_free(struct job *j)
{
	nna_prepared_model_free(j->prepared);
	nna_memory_free(j->memory);
}

/* Sets the input of the model: the number of Fibonacci numbers to compute. */
static inline void golden_set(struct job *j)
{
	const int64_t count = COUNT;

	memcpy(j->map, &count, sizeof(count));
}

static inline void golden_init(struct job *j, struct nna_device *client,
			       const struct nna_prepare_options *how)
{
	struct model_builder b;

	job_init(j, client, sizeof(int64_t), (COUNT - 1) * sizeof(float));
	build_golden(&b);
	check(nna_prepare_model(client, &b.model, NULL, how, &j->prepared, &err));
	golden_set(j);
}

static inline void check_golden(struct job *j)
{
	static const double numbers[COUNT] = { 0, 1, 1, 2, 3, 5, 8, 13 };
	float ratios[COUNT - 1];

	memcpy(ratios, j->map + PAGE / 2, sizeof(ratios));
	for (int i = 1; i < COUNT - 1; i++)
		assert_float_equal(ratios[i], numbers[i + 1] / numbers[i] + 1, 1e-6);
	memset(j->map + PAGE / 2, 0, sizeof(ratios));
}

#endif /* NN_TESTS_HAL_EXTENSION_FIXTURE_H */
