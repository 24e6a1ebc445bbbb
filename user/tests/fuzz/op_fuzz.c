/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes one operation: checks the operation, infers the shapes of the outputs, and runs the
 * operation on arbitrary operands. Each operand's buffer has exactly the size of the operand.
 */
#include <stdlib.h>
#include <string.h>

#include "ops/op.h"
#include "tests/fuzz/op_seed.h"

#define MAX_OPERANDS 80
#define MAX_TENSOR 65536	/* maximum number of bytes of an operation's input */
#define MAX_OUTPUT 1048576
#define MAX_CHANNELS 256
#define MAX_SAMPLES 64

enum { ROI_ALIGN = 81, ROI_SAMPLES = 7 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
const char *__asan_default_options(void);

/* Makes large allocations fail, because large allocations also fail in a worker's cgroup. */
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=64:detect_leaks=1";
}

/*
 * Usually changes one field of the fuzzer's input, so that the records in the input keep their
 * offsets.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	static const int32_t words[] = { 0, 1, -1, 2, INT32_MAX, INT32_MIN, 0x7f800000, 0x7fc00000 };
	const size_t header = sizeof(struct os_header), word = sizeof(words[0]);
	uint8_t *at;

	srandom(seed);
	if (size < header + sizeof(struct os_operand) || random() % 16 == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	at = data + random() % size;
	switch (random() % 4) {
	case 0:
		*at += (uint8_t)(random() % 5 - 2);
		break;
	case 1:
		*at = (uint8_t)(random() % 16);
		break;
	case 2:
		*at ^= (uint8_t)(1 << random() % 8);
		break;
	default:
		at = data + header + random() % ((size - header) / word) * word;
		memcpy(at, &words[random() % 8], word);
	}
	return size;
}

struct job {
	struct os_header header;
	uint32_t count;
	struct nn_operand operands[MAX_OPERANDS];
	struct nn_tensor tensors[MAX_OPERANDS];
	struct nn_error err;
};

static float channel_scales[MAX_CHANNELS];

static void quantise(struct nn_operand *o, const struct os_operand *s)
{
	float scale = s->scale > 0 ? s->scale : 1;

	switch (o->type) {
	case NN_TENSOR_QUANT8_ASYMM:
	case NN_TENSOR_QUANT16_ASYMM:
		o->zero_point = (uint8_t)s->zero_point;
		break;
	case NN_TENSOR_QUANT8_ASYMM_SIGNED:
		o->zero_point = s->zero_point;
		break;
	case NN_TENSOR_QUANT8_SYMM:
	case NN_TENSOR_QUANT16_SYMM:
		break;
	case NN_TENSOR_INT32:
		scale = s->scale >= 0 ? s->scale : 0;
		break;
	default:
		return;
	}
	o->scale = scale;
}

/* Gives an operand a scale for each channel of one dimension; all scales are equal. */
static void quantise_channels(struct nn_operand *o, const struct os_operand *s)
{
	o->extra = (struct nn_extra){
		.kind = NN_EXTRA_CHANNEL_QUANT,
		.channel_dim = (uint8_t)s->zero_point % o->rank,
		.scales = channel_scales,
	};
	o->extra.count = o->dims[o->extra.channel_dim];
	for (uint32_t i = 0; i < MAX_CHANNELS; i++)
		channel_scales[i] = s->scale > 0 ? s->scale : 1;
}

/*
 * Reads an operand from the operand's record. Returns false if no model can contain the operand, or
 * if the operand is too large for this fuzzer. The rank of an output may be unknown.
 */
static bool read_operand(struct nn_operand *o, const struct os_operand *s, bool is_input)
{
	const struct nn_type_info *info = nn_type_info_of(s->type);
	uint64_t size;

	if (!info || !info->element_size || s->rank > OS_RANK ||
	    (s->rank ? !info->is_tensor : info->is_tensor && is_input))
		return false;
	*o = (struct nn_operand){ .type = s->type, .rank = s->rank };
	size = info->element_size;
	for (uint32_t i = 0; i < s->rank; i++) {
		o->dims[i] = s->dims[i];
		size *= s->dims[i];
	}
	quantise(o, s);
	if (o->type == NN_TENSOR_QUANT8_SYMM_PER_CHANNEL && o->rank)
		quantise_channels(o, s);
	return size <= MAX_TENSOR;
}

static void fill(struct nn_tensor *t, const struct os_operand *s)
{
	uint32_t size = nn_tensor_size(t);
	uint8_t *bytes = malloc(size ? size : 1);

	if (!bytes)
		abort();
	for (uint32_t i = 0; i < size; i++)
		bytes[i] = s->data[i % sizeof(s->data)];
	t->data = bytes;
}

static bool read_job(struct job *j, const uint8_t *data, size_t size)
{
	struct os_operand s;

	if (size < sizeof(j->header))
		return false;
	memcpy(&j->header, data, sizeof(j->header));
	j->count = (uint32_t)j->header.num_inputs + j->header.num_outputs;
	if (j->count > MAX_OPERANDS || size < sizeof(j->header) + j->count * sizeof(s))
		return false;
	for (uint32_t i = 0; i < j->count; i++) {
		struct nn_operand *o = &j->operands[i];
		bool is_input = i < j->header.num_inputs;

		memcpy(&s, data + sizeof(j->header) + i * sizeof(s), sizeof(s));
		if (!read_operand(o, &s, is_input))
			return false;
		o->lifetime = is_input ? NN_SUBGRAPH_INPUT : NN_SUBGRAPH_OUTPUT;
		j->tensors[i] = (struct nn_tensor){
			.type = o->type, .rank = o->rank, .scale = o->scale,
			.zero_point = o->zero_point, .extra = &o->extra,
			.omitted = is_input && s.flags & OS_OMITTED,
			.is_model_output = !is_input && !(s.flags & OS_TEMPORARY),
		};
		memcpy(j->tensors[i].dims, o->dims, sizeof(o->dims));
		if (is_input && !j->tensors[i].omitted)
			fill(&j->tensors[i], &s);
		if (j->header.flags & OS_SHAPES_OPEN)
			o->rank = 0;
	}
	return true;
}

static enum nn_status check(struct job *j)
{
	uint32_t indices[MAX_OPERANDS];
	const struct nn_scope scope = { .operands = j->operands, .num_operands = j->count };
	const struct nn_operation operation = {
		.type = j->header.code,
		.num_inputs = j->header.num_inputs,
		.num_outputs = j->header.num_outputs,
		.inputs = indices,
		.outputs = indices + j->header.num_inputs,
	};

	for (uint32_t i = 0; i < MAX_OPERANDS; i++)
		indices[i] = i;
	return nn_op_check(&scope, &operation, &j->err);
}

/*
 * Returns whether a run of ROI_ALIGN takes too many samples; no shape limits the number of samples.
 */
static bool takes_long(const struct nn_run *r)
{
	return r->op->code == ROI_ALIGN && (nn_run_int(r, ROI_SAMPLES, 0) > MAX_SAMPLES ||
					    nn_run_int(r, ROI_SAMPLES + 1, 0) > MAX_SAMPLES);
}

static enum nn_status run(struct job *j)
{
	struct nn_run r = {
		.op = nn_op_find(j->header.code),
		.num_inputs = j->header.num_inputs,
		.num_outputs = j->header.num_outputs,
		.inputs = j->tensors,
		.outputs = j->tensors + j->header.num_inputs,
		.err = &j->err,
	};
	enum nn_status status;

	if (!r.op->execute || takes_long(&r))
		return NN_OK;
	status = nn_op_infer(&r);
	for (uint32_t i = 0; !status && i < r.num_outputs; i++) {
		uint32_t size = nn_tensor_size(&r.outputs[i]);

		if (size > MAX_OUTPUT)
			goto out;
		r.outputs[i].data = malloc(size ? size : 1);
		if (!r.outputs[i].data)
			abort();
	}
	if (!status)
		status = nn_op_execute(&r);
out:
	nn_op_finish(&r);
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct job j;

	memset(&j, 0, sizeof(j));
	if (read_job(&j, data, size)) {
		enum nn_status status = check(&j);

		if (!status)
			status = run(&j);
		if (status && !j.err.message[0])
			abort();
	}
	for (uint32_t i = 0; i < MAX_OPERANDS; i++)
		free(j.tensors[i].data);
	return 0;
}
