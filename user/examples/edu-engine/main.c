// SPDX-License-Identifier: MIT
/*
 * edu-engine: an engine for QEMU's PCI device for education, driven by VFIO, made with
 * libnnaccel-engine.so. The engine has a single device, so threads of one process serve all
 * clients. See Documentation/hardware.rst.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nnaccel/engine.h>

#include "device.h"
#include "edu.h"
#include "memory.h"
#include "model.h"

/* Time limit for an operation if the command has no deadline. */
#define LIMIT_NS	(30 * 1000000000ull)

static struct edu edu;
static const char *address;
static const struct nna_engine_hardware hardware = { "pci", edu.address };

static struct {
	atomic_ullong executions;
	/* Number of arguments, or parts of arguments, that the CPU has copied. */
	atomic_ullong cpu_copies;
} counts[EDU_COPY + 1];			/* counts of an operation, at the index that is its code */

/* ---- what the device is ---- */

static void describe(const struct nna_engine *engine, struct nn_device_info *info)
{
	const struct nn_performance some = { 0.9f, 0.9f };

	(void)engine;
	strcpy(info->version, "edu-1");
	info->type = NN_DEVICE_OTHER;
	info->feature_level = 4;
	info->operand[NN_TENSOR_INT32] = info->operand[NN_TENSOR_QUANT8_ASYMM] = some;
}

static const struct nn_device_extension *extensions(const struct nna_engine *engine,
						    uint32_t *count)
{
	static const struct nn_device_extension_item operations[] = {
		{ .code = EDU_FACTORIAL, .name = "FACTORIAL" },
		{ .code = EDU_COPY, .name = "COPY" },
	};
	static const struct nn_device_extension list[] = {
		{ .name = EDU_NAME, .version = 1, .num_operations = 2, .operations = operations },
	};

	(void)engine;
	*count = 1;
	return list;
}

/* ---- models ---- */

static enum nn_status supported(const struct nna_engine *engine, const struct nn_model *model,
				bool *operations, struct nn_error *err)
{
	(void)engine;
	(void)err;
	edu_model_supported(model, operations);
	return NN_OK;
}

static enum nn_status prepare(const struct nna_engine *engine, const struct nn_model *model,
			      const struct nna_engine_preparation *how, void **prepared,
			      struct nn_error *err)
{
	struct edu_model *made = NULL;
	enum nn_status status = edu_model_make(model, &made, err);

	(void)engine;
	(void)how;
	*prepared = made;
	return status;
}

static void release(const struct nna_engine *engine, void *prepared)
{
	(void)engine;
	free(prepared);
}

/* ---- executions ---- */

static enum nn_status from_device(enum edu_result result, const struct nn_execution *e,
				  struct nn_error *err)
{
	switch (result) {
	case EDU_DONE:
		return NN_OK;
	case EDU_LATE:
		return nn_fail(err, e->deadline_ns ? NN_MISSED_DEADLINE_TRANSIENT :
			       NN_GENERAL_FAILURE, "the device did not answer in time");
	case EDU_CANCELLED:
		return nn_fail(err, NN_GENERAL_FAILURE, "the client is gone");
	default:
		return nn_fail(err, NN_GENERAL_FAILURE, "the device failed: %s", strerror(errno));
	}
}

/* An operation of a model that is being executed. */
struct run {
	struct nna_engine_execution *execution;
	const struct nn_execution *e;
	const struct nn_arg *in, *out;
	uint64_t size;			/* size in bytes of `in` and of `out` */
	struct edu_limit limit;
};

static enum nn_status run_copy(const struct run *r, struct nn_error *err)
{
	uint64_t from, to;
	enum nn_status status = edu_memory_reach(&edu, r->execution, r->out->data, &to, err);

	if (!status)
		status = edu_memory_reach(&edu, r->execution, r->in->data, &from, err);
	return status ? status : from_device(edu_copy(&edu, to, from, r->size, &r->limit), r->e, err);
}

/*
 * Runs FACTORIAL. The CPU copies the numbers, because the device reads each number from a register.
 */
static enum nn_status run_factorial(const struct run *r, struct nn_error *err)
{
	enum nn_status status = NN_OK;
	uint32_t n, value;

	for (uint64_t i = 0; i < r->size && !status; i += sizeof(n)) {
		counts[EDU_FACTORIAL].cpu_copies += 2;
		memcpy(&n, (const char *)r->in->data + i, sizeof(n));
		status = from_device(edu_factorial(&edu, n, &value, &r->limit), r->e, err);
		if (!status)
			memcpy((char *)r->out->data + i, &value, sizeof(value));
	}
	return status;
}

static enum nn_status run_step(struct nna_engine_execution *execution, struct nn_execution *e,
			       const struct edu_step *step, struct nn_error *err)
{
	const struct nn_arg *in = &e->inputs[step->input], *out = &e->outputs[step->output];
	struct run run = {
		.execution = execution, .e = e, .in = in, .out = out,
		.limit = { edu_now_ns() + LIMIT_NS, nna_engine_gone_file(execution) },
	};
	struct nn_operand shape = step->operand;
	struct nn_output_shape *told = &e->shapes[step->output];
	uint32_t size;

	if (e->deadline_ns && e->deadline_ns < run.limit.deadline_ns)
		run.limit.deadline_ns = e->deadline_ns;
	if (in->omitted || out->omitted)
		return nn_fail(err, NN_INVALID_ARGUMENT, "an argument is omitted");
	if (!nn_operand_merge_dims(&shape, in->rank, in->dims) || !nn_operand_size(&shape, &size) ||
	    !nn_operand_is_specified(&shape) || in->length != size)
		return nn_fail(err, NN_INVALID_ARGUMENT, "wrong shape or size of input %u",
			       step->input);
	*told = (struct nn_output_shape){ .rank = shape.rank, .sufficient = out->length >= size };
	memcpy(told->dims, shape.dims, sizeof(told->dims));
	if (!told->sufficient)
		return nn_fail(err, NN_OUTPUT_INSUFFICIENT_SIZE, "output %u is too small",
			       step->output);
	counts[step->operation].executions++;
	run.size = size;
	return step->operation == EDU_COPY ? run_copy(&run, err) : run_factorial(&run, err);
}

static enum nn_status execute(const struct nna_engine *engine, void *prepared,
			      struct nna_engine_execution *execution, struct nn_execution *e,
			      struct nn_error *err)
{
	const struct edu_model *model = prepared;
	enum nn_status status = NN_OK;

	(void)engine;
	if (e->num_inputs != model->num_inputs || e->num_outputs != model->num_outputs)
		return nn_fail(err, NN_INVALID_ARGUMENT, "wrong number of arguments");
	for (uint32_t i = 0; i < model->num_steps && !status; i++)
		status = run_step(execution, e, &model->steps[i], err);
	e->shapes_known = !status || status == NN_OUTPUT_INSUFFICIENT_SIZE;
	return status;
}

static void forget_region(const struct nna_engine *engine, const struct nna_engine_region *region)
{
	(void)engine;
	edu_memory_forget(&edu, region);
}

/* ---- the program ---- */

static bool start(const struct nna_engine *engine)
{
	(void)engine;
	return edu_open(&edu, address);
}

/* Removes --pci ADDRESS or --pci=ADDRESS from the arguments, and returns ADDRESS. */
static int take_address(int argc, char **argv)
{
	int kept = 0;

	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "--pci=", strlen("--pci=")))
			address = argv[i] + strlen("--pci=");
		else if (!strcmp(argv[i], "--pci") && argv[i + 1])
			address = argv[++i];
		else
			argv[kept++] = argv[i];
	}
	argv[kept] = NULL;
	return kept;
}

int main(int argc, char **argv)
{
	const struct nna_engine engine = {
		.size = sizeof(engine), .name = "edu", .clients = NNA_ENGINE_CLIENTS_THREADS,
		.describe = describe, .extensions = extensions, .supported = supported,
		.prepare = prepare, .release = release, .execute = execute, .start = start,
		.forget_region = forget_region, .hardware = &hardware,
		.help = "  --pci ADDRESS          address of the device (default: the first one)\n",
	};
	int status = nna_engine_main(&engine, take_address(argc, argv), argv);

	for (int i = EDU_FACTORIAL; i <= EDU_COPY; i++)
		if (counts[i].executions)
			fprintf(stderr, "edu: %s: %llu executions, %llu copies by the CPU\n",
				i == EDU_COPY ? "COPY" : "FACTORIAL", counts[i].executions,
				counts[i].cpu_copies);
	if (edu.regs)
		fprintf(stderr, "edu: %llu transfers, %llu bytes by DMA, %llu factorials, %llu interrupts, %llu resets\n",
			(unsigned long long)edu.transfers, (unsigned long long)edu.dma_bytes,
			(unsigned long long)edu.factorials, (unsigned long long)edu.interrupts,
			(unsigned long long)edu.resets);
	/* Do not close the device, because the kernel releases it when the process ends. */
	return status;
}
