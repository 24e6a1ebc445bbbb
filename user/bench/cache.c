/* SPDX-License-Identifier: MIT */
/*
 * Measures the compilation cache: the time to prepare MobileNetV2 and a keyword-spotting network of
 * LSTM layers (float32) from the two files of an entry. The lower bound of a preparation is the
 * time to map the entry's data file and to hash the model file. For comparison, the program
 * prepares the models without the files of the cache. The program runs plans that were saved after
 * many executions of their model. Without an argument, the program measures the worker's part of a
 * preparation in this process. With --vm the program measures through libnnaccel, the module and
 * the engine, and prints no header.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nnaccel/nnaccel.h>

#include "base/clock.h"
#include "base/option.h"
#include "bench/cache/stages.h"
#include "compute/builder.h"
#include "compute/sequence.h"
#include "engine/keeper/cache_index.h"
#include "kit/cache/digest.h"
#include "figure.h"
#include "ops/op.h"
#include "plan/plan.h"

#define RUNS 31
#define UID 4711
#define SETTLE_US 20000

static struct nn_error err;
static char folder[] = "/tmp/bench-cache-XXXXXX";
static uint8_t token[CACHE_TOKEN_SIZE];

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench cache: %s: %s\n", what, err.message);
	exit(1);
}

/* ---- the network, with its constants in one piece of memory ---- */

struct network {
	struct net net;
	struct builder *builder;
	size_t size;		/* size of the constants in bytes */
};

static void make_network(struct network *n)
{
	net_mobilenet_v2(&n->net, NET_F32, 0);
	n->builder = builder_net(&n->net);
	n->size = builder_place(n->builder, NULL);
}

/* ---- what a worker does ---- */

struct worker {
	struct nn_pool pool;
	void *wire;
	size_t wire_size;
	struct cache_index *index;
	char model[64], data[64];	/* paths */
};

/* Makes a plan from the serialised model, as a worker does. */
static struct nn_plan *cold(const struct worker *w, struct nn_model **model)
{
	const struct nn_plan_options options = { .preference = 1 };
	struct nn_plan *plan = NULL;
	void *copy = must_alloc(w->wire_size);

	memcpy(copy, w->wire, w->wire_size);
	must(!nn_model_decode(copy, w->wire_size, &w->pool, 1, model, &err), "decode");
	must(!nn_ops_check_model(*model, NULL, &err), "check");
	must(!nn_plan_create(*model, &options, &plan, &err), "prepare");
	free(copy);
	return plan;
}

static void *map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *map;

	must(fd >= 0 && !fstat(fd, &st), path);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	must(map != MAP_FAILED, path);
	close(fd);
	*size = (size_t)st.st_size;
	return map;
}

static double time_floor(const struct worker *w)
{
	uint64_t start = clock_ns();
	size_t model_size, data_size;
	void *model = map_file(w->model, &model_size), *data = map_file(w->data, &data_size);
	uint8_t hash[DIGEST_SIZE];
	double us;

	must(digest(model, model_size, hash), "hash");
	us = (double)(clock_ns() - start) * 1e-3;
	munmap(model, model_size);
	munmap(data, data_size);
	return us;
}

/* Measures the keeper's code that prepares a model from the cache, without the keeper's socket. */
static double time_cached(const struct worker *w)
{
	const struct nn_plan_options options = { .preference = 1 };
	uint64_t start = clock_ns();
	size_t model_size, data_size;
	void *model = map_file(w->model, &model_size), *data = map_file(w->data, &data_size);
	void *copy = must_alloc(model_size);
	uint8_t hash[DIGEST_SIZE];
	struct nn_plan *plan;
	double us;

	memcpy(copy, model, model_size);
	must(digest(copy, model_size, hash), "hash");
	must(cache_index_query(w->index, UID, token, hash) == CACHE_YES, "index");
	must(!nn_plan_adopt(copy, model_size, data, data_size, &options, &plan, &err), "load");
	us = (double)(clock_ns() - start) * 1e-3;
	nn_plan_free(plan);
	munmap(model, model_size);
	munmap(data, data_size);
	return us;
}

static double time_cold(const struct worker *w)
{
	uint64_t start = clock_ns();
	struct nn_model *model;
	struct nn_plan *plan = cold(w, &model);
	double us = (double)(clock_ns() - start) * 1e-3;

	nn_plan_free(plan);
	nn_model_free(model);
	return us;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, path);
	close(fd);
}

static void save(struct worker *w)
{
	uint8_t hash[DIGEST_SIZE];
	struct nn_plan_image image;
	struct nn_model *model;
	struct nn_plan *plan = cold(w, &model);
	void *data;

	must(!nn_plan_save(plan, &image, &err), "save");
	data = must_alloc(image.data_size);
	nn_plan_image_data(&image, data);
	must(digest(image.model, image.model_size, hash), "hash");
	must(cache_index_store(w->index, UID, token, hash) == CACHE_YES, "index");
	write_file(w->model, image.model, image.model_size);
	write_file(w->data, data, image.data_size);
	fprintf(stderr, "model part %zu bytes, data part %zu bytes\n", image.model_size,
		image.data_size);
	free(data);
	nn_plan_image_free(&image);
	nn_plan_free(plan);
	nn_model_free(model);
}

/* Prints the figures of a network; the figures' names begin with `prefix`. */
static void report(const char *prefix, const char *where, double floors[RUNS],
		   double cacheds[RUNS], double colds[RUNS])
{
	double cached = figure_quantile(cacheds, RUNS, 0.5);
	char name[2][64];

	snprintf(name[0], sizeof(name[0]), "%sprepare_cached", prefix);
	snprintf(name[1], sizeof(name[1]), "%sprepare_cold", prefix);
	figure(name[0], cached, "us", "floor", figure_quantile(floors, RUNS, 0.5), where);
	figure(name[1], figure_quantile(colds, RUNS, 0.5), "us", name[0], cached, where);
}

/* Measures the worker's part for the network `builder`, which the function frees. */
static void bench_worker(const char *prefix, struct builder *builder)
{
	static double floors[RUNS], cacheds[RUNS], colds[RUNS];
	const size_t size = builder_place(builder, NULL);
	char *constants = must_alloc(size);
	struct worker w = { .wire = NULL };

	builder_place(builder, constants);
	w.pool = (struct nn_pool){ constants, size };
	builder->pool = w.pool;
	must(!nn_model_encode(&builder->model, &w.wire, &w.wire_size, &err), "encode");
	must(digest_init(), "hash");
	w.index = cache_index_open(folder, "bench", "");
	must(w.index, "index");
	snprintf(w.model, sizeof(w.model), "%s/model", folder);
	snprintf(w.data, sizeof(w.data), "%s/data", folder);
	save(&w);
	/* Kinds of preparation alternate, so that other load on the machine affects all kinds. */
	for (int i = -2; i < RUNS; i++) {
		/*
		 * Each timed preparation follows a preparation of a different kind, so that each
		 * timed preparation begins with CPU caches in the same state.
		 */
		double floor = time_floor(&w), between = time_cold(&w), cached = time_cached(&w),
		       cold_us = time_cold(&w);

		(void)between;
		if (i < 0)
			continue;
		floors[i] = floor;
		cacheds[i] = cached;
		colds[i] = cold_us;
	}
	report(prefix, "native", floors, cacheds, colds);
	cache_index_close(w.index);
	free(w.wire);
	free(constants);
	builder_free(builder);
}

/* ---- through libnnaccel ---- */

static double time_hal(struct nna_device *d, const struct nn_model *model,
		       struct nna_memory *memory, const struct nna_cache *cache)
{
	struct nna_prepared_model *p;
	uint64_t start;
	double us;

	/* Wait until the engine has freed the previous model. */
	usleep(SETTLE_US);
	start = clock_ns();
	if (cache)
		must(!nna_prepare_model_from_cache(d, cache, NULL, &p, &err), "prepare from cache");
	else
		must(!nna_prepare_model(d, model, &memory, NULL, &p, &err), "prepare");
	us = (double)(clock_ns() - start) * 1e-3;
	nna_prepared_model_free(p);
	return us;
}

static void bench_vm(void)
{
	static double floors[RUNS], cacheds[RUNS], colds[RUNS];
	struct worker w = { .wire = NULL };
	struct nna_prepare_options options = { .size = sizeof(options) };
	struct nna_cache cache = { .size = sizeof(cache),
				   .num_model_files = 1, .num_data_files = 1 };
	struct nn_error not_saved = { "" };
	struct nna_prepared_model *p;
	struct nna_memory *memory;
	struct nna_device *d;
	struct network n;
	int files[2];

	snprintf(w.model, sizeof(w.model), "%s/model", folder);
	snprintf(w.data, sizeof(w.data), "%s/data", folder);
	files[0] = open(w.model, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	files[1] = open(w.data, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	cache.model_files = &files[0];
	cache.data_files = &files[1];
	cache.not_saved = &not_saved;
	options.cache = &cache;
	make_network(&n);
	must(digest_init(), "hash");
	must(!nna_device_open(NULL, &d, &err), "device");
	must(!nna_memory_alloc(d, n.size, &memory, &err), "memory");
	builder_place(n.builder, nna_memory_map(memory, &err));
	must(!nna_prepare_model(d, &n.builder->model, &memory, &options, &p, &err), "prepare");
	err = not_saved;
	must(!not_saved.message[0], "save");
	nna_prepared_model_free(p);
	for (int i = 0; i < RUNS; i++) {
		floors[i] = time_floor(&w);
		cacheds[i] = time_hal(d, NULL, NULL, &cache);
		colds[i] = time_hal(d, &n.builder->model, memory, NULL);
	}
	report("", "vm", floors, cacheds, colds);
	nna_memory_free(memory);
	nna_device_close(d);
}

int main(int argc, char **argv)
{
	static struct network n;
	const bool is_vm = argc == 2 && !strcmp(argv[1], "--vm");
	char command[64];

	if (argc > 1 && !is_vm)
		return option_usage("cache", " [--vm]\n"
			"Measures how fast models are prepared from their cache files.\n"
			"  --vm  through libnnaccel; needs a device", argc, argv);
	must(mkdtemp(folder), folder);
	if (is_vm) {
		bench_vm();
	} else {
		figure_head();
		make_network(&n);
		bench_worker("", n.builder);
		bench_worker("kws_lstm_", sequence_kws_lstm(NET_F32, false));
		bench_stages();
	}
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) ? 1 : 0;
}
