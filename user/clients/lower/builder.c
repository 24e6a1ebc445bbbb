// SPDX-License-Identifier: MIT
/* Models of the NNAPI, which are recorded first and then created. */
#include "clients/lower/builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nnaccel/log.h>

#include "runtime/sha256.h"

struct chunk {
	struct chunk *next;
	max_align_t data[];
};

void builder_free(struct builder *b)
{
	struct chunk *next;

	for (struct chunk *chunk = b->arena; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(b->operands);
	free(b->operations);
	free(b->refs);
	memset(b, 0, sizeof(*b));
}

struct builder_mark builder_mark(const struct builder *b)
{
	return (struct builder_mark){ b->operand_count, b->operation_count, b->ref_count };
}

void builder_rewind(struct builder *b, struct builder_mark mark)
{
	b->operand_count = mark.operands;
	b->operation_count = mark.operations;
	b->ref_count = mark.refs;
}

void *builder_alloc(struct builder *b, size_t size)
{
	struct chunk *chunk = size < SIZE_MAX / 2 ? calloc(1, sizeof(*chunk) + size) : NULL;

	if (!chunk) {
		b->failed = true;
		return NULL;
	}
	chunk->next = b->arena;
	b->arena = chunk;
	return chunk->data;
}

/* Transposes a matrix by strips of COLUMNS columns, so that each cache line is read once. */
static inline __attribute__((always_inline)) void transpose(char *to, const char *from, size_t size,
							     size_t rows, size_t columns)
{
	enum { COLUMNS = 16 };

	for (size_t first = 0; first < columns; first += COLUMNS)
		for (size_t r = 0; r < rows; r++)
			for (size_t c = first; c < columns && c < first + COLUMNS; c++)
				memcpy(to + size * (c * rows + r), from + size * (r * columns + c), size);
}

void transpose_matrices(void *to, const void *from, size_t size, size_t count, size_t rows, size_t columns)
{
	const size_t matrix = size * rows * columns;

	for (size_t at = 0; at < count * matrix; at += matrix) {
		/* A copy of a constant size is one load and one store. */
		if (size == 1)
			transpose((char *)to + at, (const char *)from + at, 1, rows, columns);
		else if (size == 4)
			transpose((char *)to + at, (const char *)from + at, 4, rows, columns);
		else
			transpose((char *)to + at, (const char *)from + at, size, rows, columns);
	}
}

void *transposed_copy(struct builder *b, const void *data, size_t size, size_t count, size_t rows,
		      size_t columns)
{
	void *copy = data ? builder_alloc(b, size * count * rows * columns) : NULL;

	if (copy && !b->is_trial)
		transpose_matrices(copy, data, size, count, rows, columns);
	return copy;
}

static bool grow(struct builder *b, void *array, uint32_t *room, uint32_t used, uint32_t count,
		 size_t size)
{
	void **pointer = array;
	uint32_t want = *room ? *room : 64;
	void *more;

	while (want < used + count)
		want *= 2;
	if (want == *room)
		return true;
	more = realloc(*pointer, want * size);
	if (!more) {
		b->failed = true;
		return false;
	}
	*pointer = more;
	*room = want;
	return true;
}

uint32_t builder_operand(struct builder *b, const struct operand *operand)
{
	if (!grow(b, &b->operands, &b->operand_room, b->operand_count, 1, sizeof(*operand)))
		return NO_OPERAND;
	b->operands[b->operand_count] = *operand;
	return b->operand_count++;
}

void builder_operation(struct builder *b, int32_t type, uint32_t in_count, const uint32_t *in,
		       uint32_t out_count, const uint32_t *out)
{
	if (!grow(b, &b->operations, &b->operation_room, b->operation_count, 1,
		  sizeof(*b->operations)) ||
	    !grow(b, &b->refs, &b->ref_room, b->ref_count, in_count + out_count,
		  sizeof(*b->refs)))
		return;
	b->operations[b->operation_count++] = (struct operation){
		.type = type,
		.node = b->node,
		.in_count = in_count,
		.out_count = out_count,
		.first = b->ref_count,
	};
	memcpy(b->refs + b->ref_count, in, in_count * sizeof(*in));
	memcpy(b->refs + b->ref_count + in_count, out, out_count * sizeof(*out));
	b->ref_count += in_count + out_count;
}

static size_t element_size(int32_t type)
{
	switch (type) {
	case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM:
	case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
	case ANEURALNETWORKS_TENSOR_QUANT8_SYMM:
	case ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL:
	case ANEURALNETWORKS_TENSOR_BOOL8:
	case ANEURALNETWORKS_BOOL:
		return 1;
	case ANEURALNETWORKS_TENSOR_FLOAT16:
	case ANEURALNETWORKS_TENSOR_QUANT16_SYMM:
	case ANEURALNETWORKS_FLOAT16:
		return 2;
	default:
		return 4;
	}
}

size_t builder_size(const struct operand *operand)
{
	size_t size = element_size(operand->type);

	for (uint32_t i = 0; i < operand->rank; i++)
		size *= operand->dims[i];
	return size;
}

static const uint32_t *outputs(const struct builder *b, const struct operation *operation)
{
	return b->refs + operation->first + operation->in_count;
}

bool builder_writes(const struct builder *b, uint32_t from, uint32_t operand)
{
	for (uint32_t i = from; i < b->operation_count; i++)
		for (uint32_t k = 0; k < b->operations[i].out_count; k++)
			if (outputs(b, &b->operations[i])[k] == operand)
				return true;
	return false;
}

uint32_t builder_end(const struct builder *b, uint32_t at)
{
	const uint32_t node = at < b->operation_count ? b->operations[at].node : 0;

	while (at < b->operation_count && b->operations[at].node == node)
		at++;
	return at;
}

bool *builder_used(const struct builder *b)
{
	bool *used = calloc(b->operand_count + 1, sizeof(*used));

	for (uint32_t i = 0; used && i < b->operation_count; i++)
		for (uint32_t k = 0; k < b->operations[i].in_count; k++)
			used[b->refs[b->operations[i].first + k]] = true;
	return used;
}

void builder_prune(struct builder *b, uint32_t count, const uint32_t *keep)
{
	bool *wanted = calloc(b->operand_count + 1, 1);
	uint32_t at = b->operation_count;

	if (!wanted) {
		b->failed = true;
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		wanted[keep[i]] = true;
	/*
	 * Operations are in topological order, so all consumers of an output come after the
	 * output's writer.
	 */
	for (uint32_t i = b->operation_count; i--;) {
		const struct operation operation = b->operations[i];
		bool used = false;

		for (uint32_t k = 0; k < operation.out_count; k++)
			used |= wanted[outputs(b, &operation)[k]];
		if (!used)
			continue;
		for (uint32_t k = 0; k < operation.in_count; k++)
			wanted[b->refs[operation.first + k]] = true;
		b->operations[--at] = operation;
	}
	if (b->operation_count)
		memmove(b->operations, b->operations + at,
			(b->operation_count - at) * sizeof(*b->operations));
	b->operation_count -= at;
	free(wanted);
}

/*
 * A model under construction. An operand gets its number in the model when an operation first uses
 * the operand.
 */
struct making {
	const struct builder *b;
	ANeuralNetworksModel *model;
	struct constants *constants;
	uint32_t *numbers;
	uint32_t count;
};

static int set_value(struct making *m, uint32_t number, const struct operand *operand)
{
	const ANeuralNetworksMemory *memory = NULL;
	uint64_t offset = 0;

	if (operand->omitted)
		return ANeuralNetworksModel_setOperandValue(m->model, (int32_t)number, NULL, 0);
	if (!operand->data)
		return ANEURALNETWORKS_NO_ERROR;
	if (m->constants && (operand->in_file || m->constants->placeholders))
		memory = constants_find(m->constants, operand->data, operand->size, &offset);
	if (memory)
		return ANeuralNetworksModel_setOperandValueFromMemory(
			m->model, (int32_t)number, memory, offset, operand->size);
	return ANeuralNetworksModel_setOperandValue(m->model, (int32_t)number, operand->data,
						    operand->size);
}

static int number_of(struct making *m, uint32_t index, uint32_t *number)
{
	const struct operand *operand = &m->b->operands[index];
	ANeuralNetworksOperandType type = {
		.type = operand->type,
		.dimensionCount = operand->rank,
		.dimensions = operand->rank ? operand->dims : NULL,
		.scale = operand->scale,
		.zeroPoint = operand->zero,
	};
	int result;

	if (m->numbers[index] == NO_OPERAND) {
		result = ANeuralNetworksModel_addOperand(m->model, &type);
		if (result)
			return result;
		m->numbers[index] = m->count++;
		if (operand->scales)
			result = ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
				m->model, (int32_t)m->numbers[index],
				&(ANeuralNetworksSymmPerChannelQuantParams){
					operand->channel, operand->dims[operand->channel],
					operand->scales });
		if (!result)
			result = set_value(m, m->numbers[index], operand);
		if (result)
			return result;
	}
	*number = m->numbers[index];
	return ANEURALNETWORKS_NO_ERROR;
}

/*
 * Adds an operation; with type -1, the function instead declares `in` and `out` as the model's
 * inputs and outputs.
 */
static int add(struct making *m, int32_t type, uint32_t in_count, const uint32_t *in,
	       uint32_t out_count, const uint32_t *out)
{
	uint32_t *numbers = malloc((in_count + out_count + 1) * sizeof(*numbers));
	int result = numbers ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OUT_OF_MEMORY;

	for (uint32_t i = 0; !result && i < in_count + out_count; i++)
		result = number_of(m, i < in_count ? in[i] : out[i - in_count], &numbers[i]);
	if (!result && type >= 0)
		result = ANeuralNetworksModel_addOperation(m->model, type, in_count, numbers,
							   out_count, numbers + in_count);
	else if (!result)
		result = ANeuralNetworksModel_identifyInputsAndOutputs(
			m->model, in_count, numbers, out_count, numbers + in_count);
	free(numbers);
	return result;
}

static int make(const struct builder *b, uint32_t from, uint32_t to, struct constants *constants,
		bool relaxed, uint32_t in_count, const uint32_t *in, uint32_t out_count,
		const uint32_t *out, ANeuralNetworksModel **model)
{
	struct making m = { .b = b, .constants = constants };
	int result;

	*model = NULL;
	m.numbers = malloc((b->operand_count + 1) * sizeof(*m.numbers));
	if (!m.numbers || b->failed) {
		free(m.numbers);
		return ANEURALNETWORKS_OUT_OF_MEMORY;
	}
	memset(m.numbers, 0xff, b->operand_count * sizeof(*m.numbers));
	result = ANeuralNetworksModel_create(&m.model);
	for (const struct operation *o = b->operations + from; !result && o < b->operations + to; o++)
		result = add(&m, o->type, o->in_count, b->refs + o->first, o->out_count,
			     outputs(b, o));
	if (!result)
		result = add(&m, -1, in_count, in, out_count, out);
	if (!result && relaxed)
		result = ANeuralNetworksModel_relaxComputationFloat32toFloat16(m.model, true);
	if (!result)
		result = ANeuralNetworksModel_finish(m.model);
	free(m.numbers);
	if (result)
		ANeuralNetworksModel_free(m.model);
	else
		*model = m.model;
	return result;
}

/* Adds the model to a hash; adds constants in files only if `all` is set. */
static void hash_model(const struct builder *b, struct sha256 *hash, bool all)
{
	for (uint32_t i = 0; i < b->operation_count; i++) {
		const struct operation *operation = &b->operations[i];

		sha256_add(hash, &operation->type, sizeof(operation->type));
		sha256_add(hash, &operation->node, sizeof(operation->node));
		sha256_add(hash, &operation->in_count, sizeof(operation->in_count));
		sha256_add(hash, &operation->out_count, sizeof(operation->out_count));
		for (uint32_t k = 0; k < operation->in_count + operation->out_count; k++) {
			uint32_t number = b->refs[operation->first + k];
			const struct operand *operand = &b->operands[number];

			sha256_add(hash, &number, sizeof(number));
			sha256_add(hash, &operand->type, sizeof(operand->type));
			sha256_add(hash, operand->dims, operand->rank * sizeof(*operand->dims));
			sha256_add(hash, &operand->scale, sizeof(operand->scale));
			sha256_add(hash, &operand->zero, sizeof(operand->zero));
			if (operand->scales)
				sha256_add(hash, operand->scales,
					   operand->dims[operand->channel] * sizeof(float));
			if (operand->data && (all || !operand->in_file))
				sha256_add(hash, operand->data, operand->size);
		}
	}
}

int builder_compile(const struct builder *b, struct constants *constants,
		    const struct devices *devices, const struct options *options,
		    uint32_t in_count, const uint32_t *in, uint32_t out_count, const uint32_t *out,
		    ANeuralNetworksModel **model, ANeuralNetworksCompilation **compilation)
{
	const int32_t preference = options_preference(options);
	const char *name = options->cache_token ?: "";
	uint8_t token[SHA256_SIZE];
	struct sha256 hash;
	int result = make(b, 0, b->operation_count, constants, options->allow_fp16, in_count, in,
			  out_count, out, model);

	if (result)
		return result;
	if (options->cache_dir) {
		sha256_init(&hash);
		sha256_add(&hash, name, strlen(name) + 1);
		hash_model(b, &hash, !options->cache_token);
		/*
		 * Add inputs and outputs to the hash, because models with the same operations may
		 * have different outputs.
		 */
		sha256_add(&hash, &in_count, sizeof(in_count));
		sha256_add(&hash, in, in_count * sizeof(*in));
		sha256_add(&hash, out, out_count * sizeof(*out));
		sha256_add(&hash, &preference, sizeof(preference));
		sha256_add(&hash, &options->allow_fp16, sizeof(options->allow_fp16));
		sha256_end(&hash, token);
	}
	return devices_compile(devices, options, *model, options->cache_dir ? token : NULL,
			       compilation);
}

/*
 * Makes a model of the operations from `from` to `to` - 1. The model's inputs and outputs are the
 * operands that connect operations in [from, to) with other operations.
 */
static int make_part(const struct builder *b, uint32_t from, uint32_t to,
		     struct constants *constants, ANeuralNetworksModel **model)
{
	enum { MADE = 1, USED = 2 };
	uint8_t *seen = calloc(b->operand_count + 1, 1);
	uint32_t *in = calloc(b->operand_count + 1, sizeof(*in));
	uint32_t *out = calloc(b->operand_count + 1, sizeof(*out));
	uint32_t in_count = 0, out_count = 0;
	int result = ANEURALNETWORKS_OUT_OF_MEMORY;

	for (uint32_t i = from; seen && in && out && i < to; i++) {
		const struct operation *operation = &b->operations[i];

		for (uint32_t k = 0; k < operation->in_count; k++) {
			uint32_t operand = b->refs[operation->first + k];

			if (!seen[operand] && !b->operands[operand].data &&
			    !b->operands[operand].omitted)
				in[in_count++] = operand;
			seen[operand] |= USED;
		}
		for (uint32_t k = 0; k < operation->out_count; k++)
			seen[outputs(b, operation)[k]] |= MADE;
	}
	for (uint32_t i = 0; seen && out && i < b->operand_count; i++)
		if (seen[i] == MADE)
			out[out_count++] = i;
	if (seen && in && out)
		result = make(b, from, to, constants, false, in_count, in, out_count, out, model);
	free(seen);
	free(in);
	free(out);
	return result;
}

int builder_ask(const struct builder *b, uint32_t from, uint32_t to, struct constants *constants,
		const ANeuralNetworksDevice *const *devices, uint32_t count, bool *supported,
		char why[BUILDER_WHY])
{
	char line[512];
	const char *reason;
	ANeuralNetworksModel *model;
	int result;

	if (why)
		nna_log_keep_error(line, sizeof(line));
	result = make_part(b, from, to, constants, &model);
	if (why) {
		nna_log_keep_error(NULL, 0);
		/* "FUNCTION: RESULT: operation 0: ABS: input 0 (TENSOR_BOOL8): must be ..." */
		reason = strstr(line, ": operation ");
		reason = reason ? strstr(reason + 2, ": ") : NULL;
		snprintf(why, BUILDER_WHY, "%s",
			 !result ? "" : reason ? reason + 2 : result_name(result));
	}
	if (result)
		return result;
	result = ANeuralNetworksModel_getSupportedOperationsForDevices(model, devices, count,
								       supported);
	ANeuralNetworksModel_free(model);
	return result;
}
