/* SPDX-License-Identifier: MIT */
/*
 * Runs an image network through the NNAPI on nnapi-reference. The measured time of a preparation
 * includes all calls that make the model, because an application waits for these calls, too. The
 * application passes constants to the NNAPI by pointers.
 */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "api.h"
#include "builder.h"

struct nnapi_net {
	struct builder *builder;
	ANeuralNetworksModel *model;
	ANeuralNetworksCompilation *compilation;
	const void *input;
	void *output;
	uint32_t input_size;
	uint32_t output_size;
};

static void add_operand(struct nnapi_net *n, uint32_t index)
{
	const struct nn_operand *o = &n->builder->operands[index];
	const ANeuralNetworksOperandType type = {
		.type = o->type,
		.dimensionCount = o->rank,
		.dimensions = o->rank ? o->dims : NULL,
		.scale = o->scale,
		.zeroPoint = o->zero_point,
	};

	api_must(ANeuralNetworksModel_addOperand(n->model, &type), "operand");
	if (o->extra.kind == NN_EXTRA_CHANNEL_QUANT)
		api_must(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
				n->model, (int32_t)index,
				&(ANeuralNetworksSymmPerChannelQuantParams){
					o->extra.channel_dim, o->extra.count, o->extra.scales }),
			 "scales");
	if (o->lifetime == NN_CONSTANT_REFERENCE)
		api_must(ANeuralNetworksModel_setOperandValue(
				n->model, (int32_t)index, nn_operand_value(&n->builder->model, o),
				o->location.length), "value");
}

static void make_model(struct nnapi_net *n)
{
	const struct nn_subgraph *s = &n->builder->subgraph;

	api_must(ANeuralNetworksModel_create(&n->model), "model");
	for (uint32_t i = 0; i < s->num_operands; i++)
		add_operand(n, i);
	for (uint32_t i = 0; i < s->num_operations; i++)
		api_must(ANeuralNetworksModel_addOperation(
				n->model, s->operations[i].type, s->operations[i].num_inputs,
				s->operations[i].inputs, s->operations[i].num_outputs,
				s->operations[i].outputs), "operation");
	api_must(ANeuralNetworksModel_identifyInputsAndOutputs(n->model, s->num_inputs, s->inputs,
							       s->num_outputs, s->outputs), "list");
	api_must(ANeuralNetworksModel_finish(n->model), "finish");
}

static void run(void *state)
{
	struct nnapi_net *n = state;
	ANeuralNetworksExecution *e;

	api_must(ANeuralNetworksExecution_create(n->compilation, &e), "execution");
	api_must(ANeuralNetworksExecution_setInput(e, 0, NULL, n->input, n->input_size), "input");
	api_must(ANeuralNetworksExecution_setOutput(e, 0, NULL, n->output, n->output_size),
		 "output");
	api_must(ANeuralNetworksExecution_compute(e), "compute");
	ANeuralNetworksExecution_free(e);
}

static void free_net(void *state)
{
	struct nnapi_net *n = state;

	ANeuralNetworksCompilation_free(n->compilation);
	ANeuralNetworksModel_free(n->model);
	free(n->output);
	builder_free(n->builder);
	free(n);
}

/* Folder of the compilation cache; the folder is removed when the program ends. */
static char folder[] = "/tmp/nnaccel-bench-XXXXXX";

static void remove_folder(void)
{
	struct dirent *entry;
	DIR *files = opendir(folder);

	while (files && (entry = readdir(files)))
		unlinkat(dirfd(files), entry->d_name, 0);
	if (files)
		closedir(files);
	rmdir(folder);
}

bool subject_nnapi_cache(void)
{
	return mkdtemp(folder) && !atexit(remove_folder);
}

static struct subject make(const struct net *net, uint32_t threads, bool cached)
{
	struct nnapi_net *n = must_alloc(sizeof(*n));
	const ANeuralNetworksDevice *device = api_cpu_device();

	n->builder = builder_net(net);
	n->input_size = (uint32_t)image_bytes(net, 0);
	n->output_size = (uint32_t)image_bytes(net, net->num_layers);
	n->input = net->input;
	n->output = must_alloc(n->output_size);
	make_model(n);
	api_must(ANeuralNetworksCompilation_createForDevices(n->model, &device, 1,
							     &n->compilation), "compilation");
	api_must(ANeuralNetworksCompilation_setPreference(
			n->compilation, threads > 1 ? ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER :
			ANEURALNETWORKS_PREFER_LOW_POWER), "preference");
	if (cached)
		api_must(ANeuralNetworksCompilation_setCaching(
				n->compilation, folder,
				(uint8_t[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN]){
					net->type, (uint8_t)net->num_layers }), "caching");
	api_must(ANeuralNetworksCompilation_finish(n->compilation), "compilation");
	return (struct subject){ n, run, free_net };
}

struct subject subject_nnapi(const struct net *net, uint32_t threads)
{
	return make(net, threads, false);
}

struct subject subject_nnapi_cached(const struct net *net, uint32_t threads)
{
	return make(net, threads, true);
}
