// SPDX-License-Identifier: MIT
/*
 * Measures the Vulkan engine without the kernel module. Matrix products are compared with ggml's.
 * Networks are compared with a lower bound, the time of their products and copies.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "bench/compute/builder.h"
#include "bench/figure.h"
#include "bench/vulkan/ggml.h"
#include "bench/vulkan/models.h"
#include "ops/op.h"
#include "vulkan/prepared.h"

#define WARM_UP 2
#define RUNS 5
#define ARGUMENTS 16

/*
 * Length of a chain of products or copies. The difference between a chain's time and a single
 * operation's time yields the time of each operation.
 */
#define CHAIN 5

static struct gpu *gpu;
static bool has_ggml;

static void must(enum nn_status status, const struct nn_error *err)
{
	if (!status)
		return;
	fprintf(stderr, "bench-vulkan: %s\n", err->message);
	exit(1);
}

/* ---- A model on the GPU ---- */

struct subject_gpu {
	struct builder *builder;
	struct prepared *prepared;
	struct nn_arg inputs[ARGUMENTS];
	struct nn_arg outputs[ARGUMENTS];
};

static struct nn_arg argument_of(const struct nn_operand *o)
{
	struct nn_arg arg = { 0 };
	uint32_t size = 0;

	nn_operand_size(o, &size);
	arg.length = size;
	arg.data = must_alloc(size);
	if (o->type == NN_TENSOR_FLOAT32)
		fill_random(NET_F32, arg.data, size / sizeof(float));
	return arg;
}

static struct subject_gpu prepare(struct builder *b)
{
	struct subject_gpu s = { .builder = b };
	struct nn_error err = { "" };

	must(nn_model_check(&b->model, &err), &err);
	must(nn_ops_check_model(&b->model, NULL, &err), &err);
	must(prepared_create(gpu, &b->model, &s.prepared, &err), &err);
	for (uint32_t i = 0; i < b->subgraph.num_inputs; i++)
		s.inputs[i] = argument_of(&b->operands[b->inputs[i]]);
	for (uint32_t i = 0; i < b->subgraph.num_outputs; i++)
		s.outputs[i] = argument_of(&b->operands[b->outputs[i]]);
	return s;
}

/* Returns how many milliseconds an execution takes. */
static double run(struct subject_gpu *s)
{
	struct nn_execution e = {
		.num_inputs = s->builder->subgraph.num_inputs, .inputs = s->inputs,
		.num_outputs = s->builder->subgraph.num_outputs, .outputs = s->outputs,
	};
	struct nn_error err = { "" };
	const uint64_t begin = clock_ns();

	must(prepared_execute(s->prepared, &e, -1, &err), &err);
	return (double)(clock_ns() - begin) * 1e-6;
}

/*
 * Returns the shortest time of several runs, because other work on the machine disturbs the
 * shortest run least.
 */
static double best(struct subject_gpu *s)
{
	double least = 1e12;

	for (uint32_t i = 0; i < WARM_UP + RUNS; i++) {
		const double ms = run(s);

		if (i >= WARM_UP && ms < least)
			least = ms;
	}
	return least;
}

static void release(struct subject_gpu *s)
{
	for (uint32_t i = 0; i < ARGUMENTS; i++) {
		free(s->inputs[i].data);
		free(s->outputs[i].data);
	}
	prepared_release(s->prepared);
	builder_free(s->builder);
}

/* ---- Products ---- */

/* A type of numbers, and the measured speed of matrix products of this type. */
struct way {
	struct numbers numbers;
	const char *name;
	double product;			/* multiply-adds per millisecond */
};

static struct way ways[] = {
	{ { NET_F32, false }, "fp32", 0 }, { { NET_F32, true }, "fp16", 0 },
	{ { NET_QC8, false }, "int8", 0 },
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

static const struct {
	uint32_t rows;
	uint32_t depth;
	uint32_t units;
} sizes[] = { { 1, 1024, 4096 }, { 128, 768, 768 }, { 512, 512, 512 } };

/*
 * The Vulkan engine and ggml run alternately, so that other work on the machine disturbs both.
 * There is no int8 product in ggml.
 */
static void product_beside_ggml(const struct way *w, uint32_t rows, uint32_t depth, uint32_t units)
{
	static double fp16;
	float *in = must_alloc((size_t)rows * depth * sizeof(*in));
	float *out = must_alloc((size_t)rows * units * sizeof(*out));
	float *weights = must_alloc((size_t)units * depth * sizeof(*weights));
	struct subject_gpu ours = prepare(model_products(w->numbers, rows, depth, units, 1));
	struct ggml_product *peer = has_ggml && w->numbers.type == NET_F32 ?
		ggml_product(rows, depth, units, w->numbers.is_fp16, weights) : NULL;
	double least = 1e12, least_peer = 1e12;
	char name[64];

	for (uint32_t i = 0; i < WARM_UP + RUNS; i++) {
		const double ms = run(&ours);
		const uint64_t begin = clock_ns();
		const bool is_right = !peer || ggml_multiply(peer, in, out);
		const double peer_ms = (double)(clock_ns() - begin) * 1e-6;

		if (!is_right) {
			fputs("bench-vulkan: ggml failed to multiply\n", stderr);
			exit(1);
		}
		if (i >= WARM_UP && ms < least)
			least = ms;
		if (i >= WARM_UP && peer_ms < least_peer)
			least_peer = peer_ms;
	}
	snprintf(name, sizeof(name), "product-%s-%ux%ux%u", w->name, rows, depth, units);
	if (w->numbers.type != NET_F32)
		figure(name, least, "ms", "fp16", fp16, gpu->name.name);
	else
		figure(name, least, "ms", peer ? "ggml" : NULL, least_peer, gpu->name.name);
	if (w->numbers.is_fp16)
		fp16 = least;
	if (peer)
		ggml_product_free(peer);
	release(&ours);
	free(in);
	free(out);
	free(weights);
}

/* ---- What the GPU reaches ---- */

static double more_of(struct builder *one, struct builder *many)
{
	struct subject_gpu first = prepare(one), second = prepare(many);
	const double ms = (best(&second) - best(&first)) / (CHAIN - 1);

	release(&first);
	release(&second);
	return ms > 0 ? ms : 1e-6;
}

/* Returns the bytes that the GPU copies in a millisecond. */
static double measure_copy(void)
{
	const double rate = 2.0 * MODEL_COPY_BYTES / more_of(model_copies(1), model_copies(CHAIN));

	figure("roof-copy", rate * 1e-6, "GB/s", NULL, 0, gpu->name.name);
	return rate;
}

static void measure_product(struct way *w)
{
	char name[64];

	w->product = 512.0 * 512 * 512 / more_of(model_products(w->numbers, 512, 512, 512, 1),
						 model_products(w->numbers, 512, 512, 512, CHAIN));
	snprintf(name, sizeof(name), "roof-product-%s", w->name);
	figure(name, w->product * 1e-6, "GMAC/s", NULL, 0, gpu->name.name);
}

/* ---- Networks ---- */

static bool is_product(enum shader s)
{
	return s == SHADER_conv_f || s == SHADER_conv_q || s == SHADER_conv_d ||
	       s == SHADER_depthwise_f || s == SHADER_depthwise_q;
}

/*
 * Returns a lower bound of a model's time in ms: each dispatch runs at the measured speed of
 * products or copies.
 */
static double roof_of(const struct nn_model *model, double product, double copy)
{
	struct nn_error err = { "" };
	struct graph g;
	double ms = 0;

	must(graph_create(model, &gpu->limits, &g, &err), &err);
	for (uint32_t i = 0; i < g.num_dispatches; i++) {
		const struct dispatch *d = &g.dispatches[i];
		double bytes = 0, work = is_product(d->shader) ? (double)d->cost / product : 0;

		for (uint32_t t = 0; t < TENSORS; t++)
			if (d->tensors[t] != NO_VALUE)
				bytes += (double)g.values[d->tensors[t]].size;
		ms += work > bytes / copy ? work : bytes / copy;
	}
	graph_destroy(&g);
	return ms;
}

static void network(const char *name, net_fn *make, const struct way *w, double copy)
{
	struct net *net = must_alloc(sizeof(*net));
	struct builder *b = model_network(w->numbers, make, net);
	struct subject_gpu s = prepare(b);
	double roof, ms;
	char figure_name[64];

	roof = roof_of(&b->model, w->product, copy);
	ms = best(&s);
	snprintf(figure_name, sizeof(figure_name), "%s-%s", name, w->name);
	figure(figure_name, ms, "ms", "roof", roof, gpu->name.name);
	release(&s);
	if (make)
		net_free(net);
	free(net);
}

static const struct {
	const char *name;
	net_fn *make;			/* NULL: the encoder */
} networks[] = {
	{ "mobilenet-v1", net_mobilenet_v1 },
	{ "mobilenet-v2", net_mobilenet_v2 },
	{ "encoder", NULL },
	{ "resnet50", net_resnet50 },
};

static bool is_wanted(const char *name, int count, char **list)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(list[i], name))
			return true;
	return !count;
}

int main(int argc, char **argv)
{
	struct nn_error err = { "" };
	double copy;

	if (argc > 1 && argv[1][0] == '-')
		return option_usage("vulkan", " GPU GGML-BACKEND [NETWORK]...\n"
			"Measures the engine on Vulkan: products beside ggml, and networks beside what products and\n"
			"copies alone reach. GPU is a part of its name, or software. GGML-BACKEND is the path of\n"
			"libggml-vulkan.so.", argc, argv);
	has_ggml = argc > 2 && ggml_open(argv[2]);
	must(gpu_open(argc > 1 && argv[1][0] ? argv[1] : NULL, &gpu, &err), &err);
	if (!has_ggml)
		fputs("bench-vulkan: ggml is not measured: its library was not loaded\n", stderr);
	figure_head();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t k = 0; k < WAYS; k++)
			product_beside_ggml(&ways[k], sizes[i].rows, sizes[i].depth, sizes[i].units);
	copy = measure_copy();
	for (size_t k = 0; k < WAYS; k++)
		measure_product(&ways[k]);
	for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
		for (size_t k = 0; k < WAYS; k++)
			if (is_wanted(networks[i].name, argc - 3, argv + 3))
				network(networks[i].name, networks[i].make, &ways[k], copy);
	gpu_release(gpu);
	return 0;
}
