// SPDX-License-Identifier: MIT
/*
 * Measures the time of a convolution on the GPU and on the CPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "plan/plan.h"
#include "vulkan/capabilities.h"
#include "vulkan/prepared.h"

#define SIZE		28	/* height and width of the convolution's image in pixels */
#define CHANNELS	32
#define KERNEL		3
#define RUNS		3

#define INPUT_SIZE	(SIZE * SIZE * CHANNELS)
#define FILTER_SIZE	(CHANNELS * KERNEL * KERNEL * CHANNELS)

enum { INPUT, FILTER, BIAS, PADDING, STRIDE, ACTIVATION, OUTPUT_OPERAND, OPERANDS };

/*
 * A convolution of zeros, whose time is measured. The arrays of zeros, inputs and outputs are large
 * enough for elements of each type.
 */
struct sample {
	struct nn_model model;
	struct nn_subgraph main;
	struct nn_operation operation;
	struct nn_operand operands[OPERANDS];
	struct nn_pool pool;
	int32_t scalars[3];		/* the convolution's padding, stride and activation */
	float zeros[FILTER_SIZE + CHANNELS];
	float input[INPUT_SIZE];
	float output[INPUT_SIZE];
};

static struct nn_operand constant(int32_t type, uint32_t lifetime, uint64_t offset, uint32_t length)
{
	return (struct nn_operand){ .type = type, .lifetime = lifetime,
				    .location = { .offset = offset, .length = length } };
}

static struct nn_operand tensor(int32_t type, enum nn_lifetime lifetime)
{
	return (struct nn_operand){
		.type = type, .lifetime = lifetime, .rank = 4,
		.dims = { 1, SIZE, SIZE, CHANNELS },
		.scale = type == NN_TENSOR_QUANT8_ASYMM ? 0.5f : 0,
	};
}

static void make(struct sample *s, int32_t type)
{
	static const uint32_t inputs[] = { INPUT, FILTER, BIAS, PADDING, STRIDE, STRIDE, ACTIVATION };
	static const uint32_t input = INPUT, output = OUTPUT_OPERAND;
	const bool is_bytes = type == NN_TENSOR_QUANT8_ASYMM;
	const uint32_t element = nn_type_info_of(type)->element_size;
	const uint32_t bias_size = CHANNELS * (is_bytes ? 4 : element);

	s->scalars[0] = s->scalars[1] = 1;
	s->operands[INPUT] = tensor(type, NN_SUBGRAPH_INPUT);
	s->operands[OUTPUT_OPERAND] = tensor(type, NN_SUBGRAPH_OUTPUT);
	s->operands[FILTER] = constant(type, NN_CONSTANT_REFERENCE, 0, FILTER_SIZE * element);
	s->operands[FILTER].rank = 4;
	memcpy(s->operands[FILTER].dims, ((uint32_t[]){ CHANNELS, KERNEL, KERNEL, CHANNELS }),
	       4 * sizeof(uint32_t));
	s->operands[FILTER].scale = is_bytes ? 0.5f : 0;
	s->operands[BIAS] = constant(is_bytes ? NN_TENSOR_INT32 : type, NN_CONSTANT_REFERENCE,
				     FILTER_SIZE * sizeof(float), bias_size);
	s->operands[BIAS].rank = 1;
	s->operands[BIAS].dims[0] = CHANNELS;
	s->operands[BIAS].scale = is_bytes ? 0.25f : 0;
	for (uint32_t i = 0; i < 3; i++)
		s->operands[PADDING + i] = constant(NN_INT32, NN_CONSTANT_COPY, i * sizeof(int32_t),
						    sizeof(int32_t));
	s->operation = (struct nn_operation){ NN_OP_CONV_2D, 7, 1, inputs, &output };
	s->main = (struct nn_subgraph){
		.num_operands = OPERANDS, .num_operations = 1, .num_inputs = 1, .num_outputs = 1,
		.operands = s->operands, .operations = &s->operation, .inputs = &input,
		.outputs = &output,
	};
	s->pool = (struct nn_pool){ s->zeros, sizeof(s->zeros) };
	s->model = (struct nn_model){
		.size = sizeof(s->model), .num_subgraphs = 1, .num_pools = 1, .subgraphs = &s->main,
		.pools = &s->pool, .values = (const uint8_t *)s->scalars,
		.values_size = sizeof(s->scalars),
	};
}

/* Measures the time of the shortest of RUNS executions, after a first execution to warm up. */
static enum nn_status time_of(struct sample *s, struct prepared *prepared, const struct nn_plan *plan,
			      uint64_t *ns, struct nn_error *err)
{
	const uint64_t size = INPUT_SIZE * nn_type_info_of(s->operands[INPUT].type)->element_size;
	const struct nn_arg in = { .data = s->input, .length = size };
	const struct nn_arg out = { .data = s->output, .length = size };
	struct nn_execution e = { .num_inputs = 1, .num_outputs = 1, .inputs = &in, .outputs = &out };
	enum nn_status status = NN_OK;

	*ns = UINT64_MAX;
	for (uint32_t i = 0; !status && i <= RUNS; i++) {
		const uint64_t begin = clock_ns();

		status = prepared ? prepared_execute(prepared, &e, -1, err) :
				    nn_plan_execute(plan, &e, err);
		if (i && *ns > clock_ns() - begin)
			*ns = clock_ns() - begin + 1;
	}
	return status;
}

static enum nn_status measure(struct gpu *gpu, struct sample *s, int32_t type, float *ratio,
			      struct nn_error *err)
{
	const struct nn_plan_options options = { .preference = 1 };
	uint64_t gpu_ns = 0, cpu_ns = 0;
	struct prepared *prepared = NULL;
	struct nn_plan *plan = NULL;
	enum nn_status status;

	make(s, type);
	status = nn_plan_create(&s->model, &options, &plan, err);
	if (!status)
		status = time_of(s, NULL, plan, &cpu_ns, err);
	if (!status)
		status = prepared_create(gpu, &s->model, &prepared, err);
	if (!status) {
		status = time_of(s, prepared, NULL, &gpu_ns, err);
		prepared_release(prepared);
	}
	nn_plan_free(plan);
	*ratio = (float)gpu_ns / (float)(cpu_ns + 1);
	return status;
}

static bool is_figure(float f)
{
	return f > 0 && f < 1e9f;
}

static bool read_figures(const char *path, struct capabilities *c)
{
	FILE *file = fopen(path, "re");
	int count;

	if (!file)
		return false;
	count = fscanf(file, "%f %f %f", &c->float32, &c->float16, &c->quant8);
	fclose(file);
	return count == 3 && is_figure(c->float32) && is_figure(c->float16) && is_figure(c->quant8);
}

static void write_figures(const char *path, const struct capabilities *c)
{
	FILE *file = fopen(path, "we");

	if (!file)
		return;
	fprintf(file, "%g %g %g\n", (double)c->float32, (double)c->float16, (double)c->quant8);
	fclose(file);
}

enum nn_status capabilities_get(struct gpu *gpu, const char *folder,
				struct capabilities *c, struct nn_error *err)
{
	struct sample *s;
	enum nn_status status;
	char path[4096];

	if (folder && snprintf(path, sizeof(path), "%s/speed-%s-%08x-%s", folder,
			       gpu->driver_uuid, gpu->driver_version,
			       gpu->name.uuid) >= (int)sizeof(path))
		folder = NULL;
	if (folder && read_figures(path, c))
		return NN_OK;
	s = calloc(1, sizeof(*s));
	if (!s)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	status = measure(gpu, s, NN_TENSOR_FLOAT32, &c->float32, err);
	if (!status)
		status = measure(gpu, s, NN_TENSOR_FLOAT16, &c->float16, err);
	if (!status)
		status = measure(gpu, s, NN_TENSOR_QUANT8_ASYMM, &c->quant8, err);
	free(s);
	if (!status && folder)
		write_figures(path, c);
	return status;
}
