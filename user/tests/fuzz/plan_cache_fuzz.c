/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the loading of saved plans. The fuzzer saves the plan of a model, and changes words of the
 * plan's model part as the fuzzer's input says. If the changed plan can be loaded, the fuzzer runs
 * the plan. Random bytes, which change while the plan runs, replace the data part of the plan. The
 * fuzzer's inputs contain models instead of plans, because only the build that saved a plan can
 * load the plan.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "../serialised_plan.h"
#include "base/clock.h"
#include "plan/compiled.h"
#include "run_plan.h"

#define MAX_DATA_SIZE 65536
#define MAX_DAMAGE 6

/* Header of a fuzzer's input; a serialised model without pools follows the header. */
struct program {
	uint8_t seed;
	uint8_t noise;	/* seed of random bytes that replace the data part; 0: none */
	uint8_t num_damage;
	uint8_t preference;
	struct {
		uint16_t at;		/* index of the damaged word in the model part */
		/* 0: adds `value` to the word, 1: replaces the word, 2 to 255: exclusive or */
		uint8_t how;
		int8_t value;
	} damage[MAX_DAMAGE];
	uint8_t kernels;		/* index into the sets of kernels for this CPU */
	uint8_t reserved[3];
};

_Static_assert(sizeof(struct program) == 32, "what make_corpus writes the seeds behind");

/* Usually changes a byte of the input's header; sometimes changes the model, as model_fuzz does. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	const size_t program = sizeof(struct program), wire = program + sizeof(struct wire_header);

	srandom(seed);
	if (size > program && random() % 16)
		data[(size_t)random() % program] = (uint8_t)random();
	else if (random() % 16 == 0 || !replace_word(data, size, wire))
		return LLVMFuzzerMutate(data, size, max_size);
	return size;
}

static struct nn_plan *plan_of(const struct nn_model *model, uint8_t kernels)
{
	static const char *const names[] = { NULL, "avx2", "plain" };
	const struct nn_isa *isa = nn_isa_find(names[kernels % 3]);
	const struct nn_plan_options options = {
		.deadline_ns = clock_ns() + RUN_NS,
		.kernels = isa ? isa->name : NULL,
	};
	struct nn_error err = { "" };
	struct nn_plan *plan;

	if (nn_ops_check_model(model, NULL, &err) || nn_plan_create(model, &options, &plan, &err))
		return NULL;
	return plan;
}

/*
 * Damages words of a serialised plan, and sometimes words of the data after the serialised plan. If
 * the model part has no serialised plan, damages the serialised model in the model part.
 */
static void damage(struct nn_plan_image *image, const struct program *p)
{
	const struct saved_header *h = image->model;
	size_t all = image->model_size - sizeof(*h);
	size_t words = (h->serial_size && p->seed % 8 ? h->serial_size : all) / sizeof(uint32_t);
	uint8_t *wire = (uint8_t *)image->model + sizeof(*h);

	for (uint32_t i = 0; words && i < p->num_damage % (MAX_DAMAGE + 1); i++) {
		uint8_t *at = wire + p->damage[i].at % words * sizeof(uint32_t);
		uint32_t word, value = (uint32_t)p->damage[i].value;

		memcpy(&word, at, sizeof(word));
		word = p->damage[i].how == 0 ? word + value :
		       p->damage[i].how == 1 ? value : word ^ value << p->damage[i].how % 32;
		memcpy(at, &word, sizeof(word));
	}
}

/*
 * Makes the header of a damaged plan consistent with the damaged plan, as an attacker would. If the
 * header were left unchanged, loading would reject most damaged plans early.
 */
static void mend_header(struct nn_plan_image *image, const void *data)
{
	static const struct nn_plan_options options;
	const struct nn_pool pool = { data, image->data_size };
	struct packed_weights weights = { .data = data };
	struct saved_header h;
	struct nn_error err;
	struct nn_model *model;
	struct nn_plan *plan;
	struct compiled *c;

	memcpy(&h, image->model, sizeof(h));
	if (h.serial_size)
		form_mend(image->model);
	if (!h.kernels[0] || h.serial_size ||
	    nn_model_decode((char *)image->model + sizeof(h), image->model_size - sizeof(h), &pool,
			    image->data_size ? 1 : 0, &model, &err))
		return;
	weights.size = h.data_size ? h.data_size - sizeof(struct saved_stamp) : 0;
	if (!nn_ops_check_model(model, NULL, &err) && !plan_create(model, &options, &plan, &err)) {
		c = compiled_create(plan, nn_isa_find(h.kernels), 1, &weights);
		if (c) {
			h.packed_size = c->packed_size;
			h.choice = c->choice;
			memcpy(image->model, &h, sizeof(h));
		}
		compiled_free(c);
		nn_plan_free(plan);
	}
	nn_model_free(model);
}

/* A thread that changes the data part of a plan while the plan runs. */
struct scribbler {
	uint8_t *data;
	size_t size;
	atomic_bool stop;
};

static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	uint32_t x = 1;

	while (!atomic_load(&s->stop)) {
		x = x * 1664525 + 1013904223;
		((volatile uint8_t *)s->data)[(x >> 8) % s->size] = (uint8_t)x;
	}
	return NULL;
}

static void run_scribbled(const struct nn_plan *plan, uint8_t *data, size_t size, uint8_t seed)
{
	struct scribbler s = { .data = data, .size = size };
	pthread_t thread;

	if (pthread_create(&thread, NULL, scribble, &s))
		abort();
	run_plan(plan, seed);
	atomic_store(&s.stop, true);
	pthread_join(thread, NULL);
}

static void load_and_run(const struct nn_plan_image *image, uint8_t *data, const struct program *p)
{
	const struct nn_plan_options options = {
		.preference = p->preference % 3,
		.deadline_ns = clock_ns() + RUN_NS,
	};
	struct nn_error err = { "" };
	struct nn_plan *plan;

	if (nn_plan_load(image->model, image->model_size, data, image->data_size, &options, &plan,
			 &err)) {
		/* Loading a plan without damage fails only if the deadline has passed. */
		if (!err.message[0] || (!p->num_damage && clock_ns() < options.deadline_ns))
			abort();
		return;
	}
	run_plan(plan, p->seed);
	if (p->noise && image->data_size) {
		for (size_t i = 0; i < image->data_size; i++)
			data[i] = (uint8_t)(p->noise * i + i / 7 * p->seed);
		if (p->seed % 16)
			run_plan(plan, p->seed);
		else
			run_scribbled(plan, data, image->data_size, p->seed);
	}
	nn_plan_free(plan);
}

/*
 * Saved plans of models, in a table indexed by a hash of the model. The table saves time: most
 * inputs contain the same model as an earlier input, and compiling and saving a plan takes ten
 * times as long as loading the plan.
 */
#define MAX_SAVED 256

static struct saved_plan {
	uint8_t *wire;			/* serialised model; NULL if the entry is free */
	size_t wire_size;
	uint8_t kernels;
	struct nn_plan_image image;	/* image.model is NULL if the plan was not saved */
	uint8_t *data;
} saved_plans[MAX_SAVED];

static void save(const struct nn_plan *plan, struct saved_plan *s)
{
	struct nn_plan_image image;
	struct nn_error err = { "" };

	if (nn_plan_save(plan, &image, &err)) {
		if (!err.message[0])
			abort();
		return;
	}
	if (image.data_size <= MAX_DATA_SIZE)
		s->data = aligned_alloc(NN_PLAN_DATA_ALIGN, image.data_size ? image.data_size :
					NN_PLAN_DATA_ALIGN);
	if (s->data) {
		nn_plan_image_data(&image, s->data);
		s->image = (struct nn_plan_image){ .model_size = image.model_size,
						   .data_size = image.data_size };
		s->image.model = malloc(image.model_size);
		if (!s->image.model)
			abort();
		memcpy(s->image.model, image.model, image.model_size);
	}
	nn_plan_image_free(&image);
}

/* Makes a plan from a model, and saves the plan if possible. */
static void make_saved(struct saved_plan *s)
{
	struct nn_error err = { "" };
	struct nn_model *model;
	struct nn_plan *plan;

	if (nn_model_decode(s->wire, s->wire_size, NULL, 0, &model, &err))
		return;
	plan = plan_of(model, s->kernels);
	if (plan)
		save(plan, s);
	nn_plan_free(plan);
	nn_model_free(model);
}

/*
 * Returns the saved plan of a model from the table. If the table has no saved plan of the model,
 * makes and saves a plan.
 */
static const struct saved_plan *find_saved(const uint8_t *wire, size_t size, uint8_t kernels)
{
	uint32_t hash = kernels;
	struct saved_plan *s;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ wire[i]) * 16777619;
	s = &saved_plans[(hash ^ hash >> 16) % MAX_SAVED];
	if (s->wire && s->kernels == kernels && s->wire_size == size &&
	    !memcmp(s->wire, wire, size))
		return s;
	free(s->wire);
	free(s->data);
	free(s->image.model);
	*s = (struct saved_plan){ .wire = malloc(size + 1), .wire_size = size, .kernels = kernels };
	if (!s->wire)
		abort();
	memcpy(s->wire, wire, size);
	make_saved(s);
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct saved_plan *s;
	struct nn_plan_image image;
	struct program p;
	uint8_t *part;

	if (size < sizeof(p))
		return 0;
	memcpy(&p, data, sizeof(p));
	s = find_saved(data + sizeof(p), size - sizeof(p), p.kernels % 3);
	if (!s->image.model)
		return 0;
	image = s->image;
	image.model = malloc(image.model_size);
	part = aligned_alloc(NN_PLAN_DATA_ALIGN, image.data_size ? image.data_size :
			     NN_PLAN_DATA_ALIGN);
	if (image.model && part) {
		memcpy(image.model, s->image.model, image.model_size);
		memcpy(part, s->data, image.data_size);
		damage(&image, &p);
		mend_header(&image, part);
		load_and_run(&image, part, &p);
	}
	free(image.model);
	free(part);
	return 0;
}
