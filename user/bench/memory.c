/* SPDX-License-Identifier: MIT */
/*
 * Measures accesses to memory through the kernel module and an engine. The benchmark compares
 * copies into and out of buffers of memory domains with memcpy(). The benchmark compares executions
 * on memory that a burst keeps mapped with executions on memory that is imported for each
 * execution. The program runs in scripts/vm's guest.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nnaccel/engine_model.h>
#include <nnaccel/nnaccel.h>

#include "base/clock.h"
#include "base/option.h"
#include "bench/figure.h"

#define MIB		(1UL << 20)
#define COPY_BYTES	(16 * MIB)
#define COPIES		60	/* number of copies for each kind of memory; the kinds alternate */
#define EXECUTIONS	200	/* number of executions for each kind of memory */

static struct nna_device *device;
static struct nn_error err;

static void check(enum nn_status status)
{
	if (!status)
		return;
	fprintf(stderr, "memory: %s: %s\n", nn_status_name(status), err.message);
	exit(1);
}

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "memory: %s\n", what);
	exit(1);
}

/* Builds a model that reshapes its input, so the model reads and writes each byte once. */
static struct nna_prepared_model *prepare(uint32_t elements)
{
	const uint32_t inputs[] = { 0, 1 }, outputs[] = { 2 }, arguments[] = { 0 };
	const struct nn_operand operands[] = {
		{ .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { elements },
		  .consumers = 1, .lifetime = NN_SUBGRAPH_INPUT },
		{ .type = NN_TENSOR_INT32, .rank = 1, .dims = { 1 }, .consumers = 1,
		  .lifetime = NN_CONSTANT_COPY, .location = { .length = 4 } },
		{ .type = NN_TENSOR_FLOAT32, .rank = 1, .dims = { elements },
		  .lifetime = NN_SUBGRAPH_OUTPUT },
	};
	const struct nn_operation reshape = { .type = 22, .num_inputs = 2, .num_outputs = 1,
					      .inputs = inputs, .outputs = outputs };
	const struct nn_subgraph main = { .num_operands = 3, .num_operations = 1,
					  .num_inputs = 1, .num_outputs = 1,
					  .operands = operands, .operations = &reshape,
					  .inputs = arguments, .outputs = outputs };
	_Alignas(8) uint32_t value = elements;
	const struct nn_model model = { .size = sizeof(model),
					.num_subgraphs = 1, .subgraphs = &main,
					.values = (const uint8_t *)&value,
					.values_size = sizeof(value) };
	struct nna_prepared_model *prepared;

	check(nna_prepare_model(device, &model, NULL, NULL, &prepared, &err));
	return prepared;
}

/* Allocates memory as applications do, and touches its pages. */
static char *memory(size_t size)
{
	char *at = malloc(size);

	require(at, "no memory");
	memset(at, 1, size);
	return at;
}

enum copy { COPY_IN, COPY_OUT, MEMCPY, COPY_SUBJECTS };

static double copy_once(enum copy subject, struct nna_buffer *b, char *one, char *other)
{
	uint64_t start = clock_ns();

	if (subject == COPY_IN)
		check(nna_buffer_write(b, one, COPY_BYTES, 0, NULL, &err));
	else if (subject == COPY_OUT)
		check(nna_buffer_read(b, other, COPY_BYTES, &err));
	else
		memcpy(other, one, COPY_BYTES);
	/* Keeps the copy. */
	__asm__ volatile("" : : "r"(other) : "memory");
	return (double)(clock_ns() - start);
}

static void bench_copies(void)
{
	struct nna_prepared_model *p = prepare(COPY_BYTES / sizeof(float));
	const struct nna_role role = { 0, 0, 1 };
	char *one = memory(COPY_BYTES), *other = memory(COPY_BYTES);
	double samples[COPY_SUBJECTS][COPIES], speed[COPY_SUBJECTS];
	struct nna_buffer *b;
	uint32_t token;

	check(nna_buffer_allocate(device, NNA_SIZED(nna_buffer_roles, .models = &p, .num_models = 1,
				  .inputs = &role, .num_inputs = 1), &b, &token, &err));
	for (int s = 0; s < COPY_SUBJECTS; s++)
		copy_once((enum copy)s, b, one, other);
	for (int i = 0; i < COPIES; i++)
		for (int s = 0; s < COPY_SUBJECTS; s++)
			samples[s][i] = copy_once((enum copy)s, b, one, other);
	/* The speeds are in GB/s, because one byte per nanosecond is 1 GB/s. */
	for (int s = 0; s < COPY_SUBJECTS; s++)
		speed[s] = COPY_BYTES / figure_quantile(samples[s], COPIES, 0.5);
	figure("domain_copy_in", speed[COPY_IN], "GB/s", "memcpy", speed[MEMCPY], "vm");
	figure("domain_copy_out", speed[COPY_OUT], "GB/s", "memcpy", speed[MEMCPY], "vm");
	free(one);
	free(other);
	nna_buffer_free(b);
	nna_prepared_model_free(p);
}

/* The model's input and output have half a MiB each. */
static void execute(struct nna_burst *burst, struct nna_memory *m)
{
	const struct nna_argument in = { .length = MIB / 2 };
	const struct nna_argument out = { .offset = MIB / 2, .length = MIB / 2 };
	const struct nna_request r = { .size = sizeof(r), 1, 1, 1, &in, &out, &m, 0, NULL };

	check(nna_burst_execute(burst, &r, NULL, NULL, &err));
}

/*
 * Executes on the imported memory `kept`. If `kept` is NULL, imports memory only for this
 * execution.
 */
static double execute_once(struct nna_burst *burst, struct nna_memory *kept, int file)
{
	uint64_t start = clock_ns();
	struct nna_memory *m = kept;

	if (!kept)
		check(nna_memory_import(device, NNA_SIZED(nna_file, .fd = file,
					.prot = PROT_READ | PROT_WRITE, .length = MIB), &m, &err));
	execute(burst, m);
	if (!kept)
		nna_memory_free(m);
	return (double)(clock_ns() - start);
}

static void bench_mapping(void)
{
	struct nna_prepared_model *p = prepare(MIB / 2 / sizeof(float));
	int file = memfd_create("bench", MFD_CLOEXEC);
	double cached[EXECUTIONS], mapped[EXECUTIONS];
	struct nna_burst *burst;
	struct nna_memory *kept;

	require(file >= 0 && !ftruncate(file, MIB), "cannot make a memfd");
	check(nna_burst_create(p, NULL, &burst, &err));
	check(nna_memory_import(device, NNA_SIZED(nna_file, .fd = file,
				.prot = PROT_READ | PROT_WRITE, .length = MIB), &kept, &err));
	for (int i = 0; i < 10; i++) {
		execute_once(burst, kept, file);
		execute_once(burst, NULL, file);
	}
	for (int i = 0; i < EXECUTIONS; i++) {
		cached[i] = execute_once(burst, kept, file);
		mapped[i] = execute_once(burst, NULL, file);
	}
	figure("map_cached_1m", figure_quantile(cached, EXECUTIONS, 0.5) / 1000, "us",
	       "map per execution", figure_quantile(mapped, EXECUTIONS, 0.5) / 1000, "vm");
	nna_memory_free(kept);
	nna_burst_free(burst);
	nna_prepared_model_free(p);
	close(file);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return option_usage("memory", "\n"
			"Measures copies to and from buffers, and memory that a burst keeps mapped. Needs a device.",
			argc, argv);
	check(nna_device_open(NULL, &device, &err));
	figure_head();
	bench_copies();
	bench_mapping();
	nna_device_close(device);
	return 0;
}
