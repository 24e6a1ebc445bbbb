/* SPDX-License-Identifier: MIT */
/*
 * A network that runs in a worker, through libnnaccel, the module and a burst. The first execution
 * binds the network's memory to the burst.
 */
#include <stdio.h>
#include <stdlib.h>

#include <nnaccel/nnaccel.h>

#include "base/round.h"
#include "builder.h"

struct worker_net {
	struct builder *builder;
	struct nna_device *device;
	struct nna_memory *constants;
	struct nna_memory *arguments;
	struct nna_prepared_model *prepared;
	struct nna_burst *burst;
	struct nna_argument input;
	struct nna_argument output;
};

static struct nn_error err;

static void must(enum nn_status status)
{
	if (!status)
		return;
	fprintf(stderr, "through the worker: %s\n", err.message);
	exit(1);
}

static void run(void *state)
{
	const struct worker_net *w = state;
	const struct nna_request request = {
		.size = sizeof(request),
		.num_inputs = 1,
		.num_outputs = 1,
		.num_memories = 1,
		.inputs = &w->input,
		.outputs = &w->output,
		.memories = &w->arguments,
	};

	must(nna_burst_execute(w->burst, &request, NULL, NULL, &err));
}

static void free_worker(void *state)
{
	struct worker_net *w = state;

	nna_burst_free(w->burst);
	nna_prepared_model_free(w->prepared);
	nna_memory_free(w->arguments);
	nna_memory_free(w->constants);
	nna_device_close(w->device);
	builder_free(w->builder);
	free(w);
}

static void make_arguments(struct worker_net *w, const struct net *net)
{
	const struct builder *b = w->builder;
	uint32_t in, out;

	nn_operand_size(&b->operands[b->inputs[0]], &in);
	nn_operand_size(&b->operands[b->outputs[0]], &out);
	w->input.length = in;
	w->output = (struct nna_argument){ .offset = round_up(in, 64), .length = out };
	must(nna_memory_alloc(w->device, w->output.offset + out, &w->arguments, &err));
	fill_random(net->type, nna_memory_map(w->arguments, &err), in / net_element(net));
}

struct subject subject_worker(const struct net *net)
{
	const struct nna_prepare_options options = { .size = sizeof(options),
						     .preference = NNA_PREFER_LOW_POWER };
	struct worker_net *w = must_alloc(sizeof(*w));

	w->builder = builder_net(net);
	must(nna_device_open(NULL, &w->device, &err));
	must(nna_memory_alloc(w->device, builder_place(w->builder, NULL), &w->constants, &err));
	builder_place(w->builder, nna_memory_map(w->constants, &err));
	w->builder->pool = (struct nn_pool){ NULL, nna_memory_size(w->constants) };
	must(nna_prepare_model(w->device, &w->builder->model, &w->constants, &options,
			       &w->prepared, &err));
	make_arguments(w, net);
	must(nna_burst_create(w->prepared, NULL, &w->burst, &err));
	return (struct subject){ w, run, free_worker };
}
