/* SPDX-License-Identifier: MIT */
/*
 * Checks and runs operations. The file core.c has the code that all operations share; the file of
 * an operation has only the operation's own rules.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/check.h"
#include "ops/float16.h"
#include "ops/op.h"

/* ---- Memory of a run ---- */

struct block {
	struct block *next;
};

/* The private data of a run, to which nn_run.scratch points. */
struct scratch {
	struct block *blocks;
	void *result;
	/* the caller's inputs, while nn_run.inputs has float copies */
	const struct nn_tensor *inputs;
	bool is_kept;	/* true: this struct scratch is in nn_run.memory and must not be freed */
};

#define ALIGNMENT 64

/*
 * Allocates from the caller's memory (nn_run.memory); returns NULL if the caller's memory is too
 * small. Records in `wanted` the size that the caller's memory must have.
 */
static void *take(const struct nn_run *r, size_t bytes)
{
	struct nn_run_memory *m = r->memory;
	size_t at;

	if (!m || __builtin_add_overflow(bytes, ALIGNMENT - 1, &bytes))
		return NULL;
	bytes = bytes / ALIGNMENT * ALIGNMENT;
	at = m->used;
	if (__builtin_add_overflow(at, bytes, &m->used))
		m->used = SIZE_MAX;
	if (m->wanted < m->used)
		m->wanted = m->used;
	return m->used <= m->size ? m->base + at : NULL;
}

static struct scratch *scratch_of(struct nn_run *r)
{
	struct scratch *s = r->scratch;

	if (s)
		return s;
	s = take(r, sizeof(*s));
	if (s)
		*s = (struct scratch){ .is_kept = true };
	else
		s = calloc(1, sizeof(*s));
	r->scratch = s;
	return s;
}

void *nn_run_room(struct nn_run *r, size_t count, size_t size)
{
	struct scratch *s = scratch_of(r);
	struct block *b;
	size_t bytes;
	void *kept;

	if (!s || __builtin_mul_overflow(count, size, &bytes) ||
	    __builtin_add_overflow(bytes, 2 * ALIGNMENT - 1, &bytes))
		return NULL;
	kept = take(r, bytes - ALIGNMENT);
	if (kept)
		return kept;
	bytes = bytes / ALIGNMENT * ALIGNMENT;
	b = aligned_alloc(ALIGNMENT, bytes);
	if (!b)
		return NULL;
	b->next = s->blocks;
	s->blocks = b;
	return (char *)b + ALIGNMENT;
}

void *nn_run_alloc(struct nn_run *r, size_t count, size_t size)
{
	void *room = nn_run_room(r, count, size);

	return room ? memset(room, 0, count * size) : NULL;
}

void nn_run_set_result(struct nn_run *r, void *block)
{
	struct scratch *s = scratch_of(r);

	if (s)
		s->result = block;
}

void *nn_run_result(const struct nn_run *r)
{
	const struct scratch *s = r->scratch;

	return s ? s->result : NULL;
}

void nn_op_finish(struct nn_run *r)
{
	struct scratch *s = r->scratch;

	if (!s)
		return;
	if (s->inputs)
		r->inputs = s->inputs;
	while (s->blocks) {
		struct block *next = s->blocks->next;

		free(s->blocks);
		s->blocks = next;
	}
	if (!s->is_kept)
		free(s);
	if (r->memory)
		r->memory->used = 0;
	r->scratch = NULL;
}

enum nn_status nn_run_fail(const struct nn_run *r, const char *format, ...)
{
	char text[NN_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return nn_fail(r->err, NN_GENERAL_FAILURE, "%s: %s", r->op->name, text);
}

/* ---- Tensors and scalars ---- */

uint32_t nn_tensor_product(const struct nn_tensor *t, uint32_t from, uint32_t to)
{
	uint32_t product = 1;

	for (uint32_t i = from; i < to; i++)
		product *= t->dims[i];
	return product;
}

uint32_t nn_tensor_count(const struct nn_tensor *t)
{
	return nn_tensor_product(t, 0, t->rank);
}

uint32_t nn_tensor_size(const struct nn_tensor *t)
{
	const struct nn_type_info *info = nn_type_info_of(t->type);

	if (!info)
		return 0;
	return info->element_size ? nn_tensor_count(t) * info->element_size : t->length;
}

float nn_tensor_float(const struct nn_tensor *t, uint32_t index)
{
	const char *data = t->data;
	uint16_t fp16;
	float value;

	if (nn_type_info_of(t->type)->element_size == sizeof(fp16)) {
		memcpy(&fp16, data + index * sizeof(fp16), sizeof(fp16));
		return nn_fp16_to_float(fp16);
	}
	memcpy(&value, data + index * sizeof(value), sizeof(value));
	return value;
}

static const struct nn_tensor *scalar(const struct nn_run *r, uint32_t index)
{
	return index < r->num_inputs && !r->inputs[index].omitted ? &r->inputs[index] : NULL;
}

int32_t nn_run_int(const struct nn_run *r, uint32_t index, int32_t otherwise)
{
	const struct nn_tensor *t = scalar(r, index);
	int32_t value;

	if (!t)
		return otherwise;
	if (t->type == NN_BOOL)
		return *(const uint8_t *)t->data != 0;
	memcpy(&value, t->data, sizeof(value));
	return value;
}

bool nn_run_bool(const struct nn_run *r, uint32_t index, bool otherwise)
{
	return nn_run_int(r, index, otherwise) != 0;
}

float nn_run_float(const struct nn_run *r, uint32_t index, float otherwise)
{
	const struct nn_tensor *t = scalar(r, index);

	return t ? nn_tensor_float(t, 0) : otherwise;
}

/* ---- Checking ---- */

enum nn_status nn_op_check(const struct nn_scope *scope, const struct nn_operation *operation,
			   struct nn_error *err)
{
	struct nn_check c = {
		.op = nn_op_find(operation->type),
		.scope = scope,
		.operation = operation,
		.err = err,
	};
	enum nn_status status;

	if (!c.op)
		return nn_fail(err, NN_INVALID_ARGUMENT, "%s: unknown operation",
			       nn_op_name(operation->type));
	status = c.op->inputs ? nn_check_rules(&c) : NN_OK;
	return status || !c.op->check ? status : c.op->check(&c);
}

/* Returns whether `good` is true for all subgraphs to which an operation refers. */
static bool references_are(const struct nn_subgraph *s, const struct nn_operation *operation,
			   const bool *good)
{
	for (uint32_t i = 0; i < operation->num_inputs; i++) {
		const struct nn_operand *o = &s->operands[operation->inputs[i]];

		if (o->lifetime == NN_SUBGRAPH && !good[o->location.offset + 1])
			return false;
	}
	return true;
}

static bool is_supported(const struct nn_subgraph *s, const struct nn_operation *operation,
			 const bool *good)
{
	return nn_op_find(operation->type) && references_are(s, operation, good);
}

/*
 * Finds the supported operations of the main subgraph. An operation is supported if it is known,
 * and if its subgraphs have only supported operations. The caller sets all flags in `good` to true.
 * The loop clears the flags of subgraphs with unsupported operations until no flag changes.
 */
static void find_supported(const struct nn_model *model, bool *good, bool *supported)
{
	const struct nn_subgraph *main = &model->subgraphs[0];
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t k = 1; k < model->num_subgraphs; k++) {
			const struct nn_subgraph *s = &model->subgraphs[k];

			for (uint32_t i = 0; good[k] && i < s->num_operations; i++) {
				if (!is_supported(s, &s->operations[i], good)) {
					good[k] = false;
					changed = true;
				}
			}
		}
	}
	for (uint32_t i = 0; i < main->num_operations; i++)
		supported[i] = is_supported(main, &main->operations[i], good);
}

static enum nn_status check_subgraph(const struct nn_model *model, uint32_t k,
				     const struct nn_subgraph *const *references,
				     bool unknown_is_fine, struct nn_error *err)
{
	const struct nn_subgraph *s = &model->subgraphs[k];
	const struct nn_scope scope = {
		.operands = s->operands,
		.num_operands = s->num_operands,
		.subgraphs = references,
		.num_subgraphs = model->num_subgraphs - 1,
	};
	struct nn_error why = { "" };

	for (uint32_t i = 0; i < s->num_operations; i++) {
		const struct nn_operation *operation = &s->operations[i];

		if (unknown_is_fine && !nn_op_find(operation->type))
			continue;
		if (nn_op_check(&scope, operation, &why))
			return nn_fail(err, NN_INVALID_ARGUMENT,
				       "subgraph %u, operation %u: %.400s", k, i, why.message);
	}
	return NN_OK;
}

enum nn_status nn_ops_check_model(const struct nn_model *model, bool *supported,
				  struct nn_error *err)
{
	enum nn_status status = NN_OK;
	bool *good;
	const struct nn_subgraph **references = calloc(model->num_subgraphs, sizeof(*references));

	good = malloc(model->num_subgraphs * sizeof(*good));
	if (!references || !good) {
		status = nn_fail(err, NN_OUT_OF_MEMORY, "no memory to check %u subgraphs",
				 model->num_subgraphs);
		goto out;
	}
	for (uint32_t k = 1; k < model->num_subgraphs; k++)
		references[k - 1] = &model->subgraphs[k];
	for (uint32_t k = 0; !status && k < model->num_subgraphs; k++)
		status = check_subgraph(model, k, references, supported, err);
	if (!status && supported) {
		memset(good, true, model->num_subgraphs * sizeof(*good));
		find_supported(model, good, supported);
	}
out:
	free(references);
	free(good);
	return status;
}

/* ---- Running ---- */

static bool has_zero_dim(const struct nn_tensor *t)
{
	for (uint32_t i = 0; i < t->rank; i++) {
		if (t->dims[i] == 0)
			return true;
	}
	return false;
}

static bool is_tensor(int32_t type)
{
	const struct nn_type_info *info = nn_type_info_of(type);

	return info && info->is_tensor;
}

static enum nn_status check_inputs(const struct nn_run *r)
{
	for (uint32_t i = 0; i < r->num_inputs; i++) {
		const struct nn_tensor *t = &r->inputs[i];

		if (t->omitted) {
			if (!nn_has_input(r->op->omissible, i))
				return nn_run_fail(r, "input %u is omitted", i);
		} else if (is_tensor(t->type) && t->rank == 0) {
			return nn_run_fail(r, "input %u has no dimensions", i);
		} else if (r->op->zero_sized == NN_ZERO_NONE && has_zero_dim(t)) {
			return nn_run_fail(r, "input %u has no elements", i);
		}
	}
	for (uint32_t i = 0; i < r->num_outputs; i++) {
		if (r->outputs[i].omitted && !nn_has_input(r->op->omissible_outputs, i))
			return nn_run_fail(r, "output %u is omitted", i);
	}
	return NN_OK;
}

/* Checks the inputs' dimensions against the words in the string nn_op.dims. */
static enum nn_status check_dims(const struct nn_run *r)
{
	/* for each letter of an axis: 1 plus the axis's size; 0 while the size is unknown */
	uint64_t sizes[26] = { 0 };
	const char *word = r->op->dims;

	for (uint32_t i = 0; word && *word && i < r->num_inputs; i++) {
		const struct nn_tensor *t = &r->inputs[i];
		const uint32_t rank = (uint32_t)strcspn(word, " ");
		const bool is_any = t->omitted || *word == '-';

		if (!is_any && t->rank != rank)
			return nn_run_fail(r, "input %u has %u dimensions, must have %u", i,
					   t->rank, rank);
		for (uint32_t k = 0; !is_any && k < rank; k++) {
			uint64_t digit = (uint64_t)(word[k] - '0') + 1;
			uint64_t *size = word[k] >= 'a' ? &sizes[word[k] - 'a'] : &digit;

			if (word[k] == '*')
				continue;
			*size = *size ? *size : (uint64_t)t->dims[k] + 1;
			if (*size != (uint64_t)t->dims[k] + 1)
				return nn_run_fail(r, "input %u: dimension %u is %u, must be %u", i,
						   k, t->dims[k], (uint32_t)(*size - 1));
		}
		word = word[rank] ? word + rank + 1 : NULL;
	}
	return NN_OK;
}

static bool is_fp16(int32_t type)
{
	return type == NN_TENSOR_FLOAT16 || type == NN_FLOAT16;
}

static int32_t float_type(int32_t type)
{
	return type == NN_TENSOR_FLOAT16 ? NN_TENSOR_FLOAT32 : NN_FLOAT32;
}

static bool any_fp16(const struct nn_tensor *t, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (is_fp16(t[i].type))
			return true;
	}
	return false;
}

bool nn_run_is_widened(const struct nn_run *r)
{
	const struct scratch *s = r->scratch;

	return s && s->inputs;
}

static bool converts(const struct nn_run *r)
{
	return r->op->float16_as_float32 &&
	       (nn_run_is_widened(r) || any_fp16(r->inputs, r->num_inputs) ||
		any_fp16(r->outputs, r->num_outputs));
}

/* Replaces an operation's float16 inputs by float32 copies. */
static enum nn_status convert_inputs(struct nn_run *r)
{
	struct nn_tensor *copies = nn_run_alloc(r, r->num_inputs, sizeof(*copies));

	if (!copies)
		return NN_OUT_OF_MEMORY;
	memcpy(copies, r->inputs, r->num_inputs * sizeof(*copies));
	for (uint32_t i = 0; i < r->num_inputs; i++) {
		struct nn_tensor *t = &copies[i];
		float *floats;

		if (!is_fp16(t->type))
			continue;
		t->type = float_type(t->type);
		if (t->omitted)
			continue;
		floats = nn_run_alloc(r, nn_tensor_count(t), sizeof(*floats));
		if (!floats)
			return NN_OUT_OF_MEMORY;
		nn_fp16_to_fp32(t->data, floats, nn_tensor_count(t));
		t->data = floats;
	}
	scratch_of(r)->inputs = r->inputs;
	r->inputs = copies;
	return NN_OK;
}

/*
 * Makes copies of the outputs in which float16 tensors are float32. If `data` is set, allocates a
 * buffer for the elements of each float32 copy.
 */
static enum nn_status convert_outputs(struct nn_run *r, bool data, struct nn_tensor **copies)
{
	struct nn_tensor *t = nn_run_alloc(r, r->num_outputs, sizeof(*t));

	*copies = t;
	if (!t)
		return NN_OUT_OF_MEMORY;
	memcpy(t, r->outputs, r->num_outputs * sizeof(*t));
	for (uint32_t i = 0; i < r->num_outputs; i++, t++) {
		if (!is_fp16(t->type))
			continue;
		t->type = float_type(t->type);
		if (!data)
			continue;
		t->data = nn_run_alloc(r, nn_tensor_count(t), sizeof(float));
		if (!t->data)
			return NN_OUT_OF_MEMORY;
	}
	return NN_OK;
}

/*
 * Runs the shape rule on float32 copies of float16 tensors, and copies the inferred shapes to the
 * outputs.
 */
static enum nn_status infer_converted(struct nn_run *r)
{
	struct nn_tensor *outputs = r->outputs, *copies;
	enum nn_status status = convert_inputs(r);

	if (!status)
		status = convert_outputs(r, false, &copies);
	if (status)
		return nn_fail(r->err, status, "%s: no memory to convert float16", r->op->name);
	r->outputs = copies;
	status = r->op->infer(r);
	r->outputs = outputs;
	for (uint32_t i = 0; !status && i < r->num_outputs; i++) {
		int32_t type = outputs[i].type;

		outputs[i] = copies[i];
		if (is_fp16(type) && copies[i].type == float_type(type))
			outputs[i].type = type;
	}
	return status;
}

/* Checks the inferred shape of an output against the model's declaration. */
static enum nn_status merge_output(const struct nn_run *r, uint32_t index,
				   const struct nn_tensor *declared)
{
	const struct nn_tensor *t = &r->outputs[index];
	const struct nn_type_info *info = nn_type_info_of(t->type);
	uint64_t size = info ? info->element_size : 1;
	bool zero = has_zero_dim(t);

	if (declared->rank && declared->rank != t->rank)
		return nn_run_fail(r, "output %u has %u dimensions, the model says %u", index,
				   t->rank, declared->rank);
	for (uint32_t i = 0; i < t->rank; i++) {
		if (declared->rank && declared->dims[i] && declared->dims[i] != t->dims[i])
			return nn_run_fail(r, "dimension %u of output %u is %u, the model says %u",
					   i, index, t->dims[i], declared->dims[i]);
		if (zero)
			continue;
		size *= t->dims[i];
		if (size > UINT32_MAX)
			return nn_run_fail(r, "output %u would have more than 4 GiB", index);
	}
	if (t->type != declared->type ||
	    (t->is_model_output &&
	     (t->scale != declared->scale || t->zero_point != declared->zero_point)))
		return nn_run_fail(r,
				   "output %u is %s of scale %g and zero point %d, "
				   "the model says %s, %g and %d",
				   index, nn_type_name(t->type), (double)t->scale, t->zero_point,
				   nn_type_name(declared->type), (double)declared->scale,
				   declared->zero_point);
	return NN_OK;
}

enum nn_status nn_op_infer(struct nn_run *r)
{
	struct nn_tensor *declared;
	enum nn_status status = check_inputs(r);

	status = status ? status : check_dims(r);
	if (status)
		return status;
	declared = nn_run_alloc(r, r->num_outputs, sizeof(*declared));
	if (!declared)
		return nn_fail(r->err, NN_OUT_OF_MEMORY, "%s: no memory", r->op->name);
	memcpy(declared, r->outputs, r->num_outputs * sizeof(*declared));
	status = converts(r) ? infer_converted(r) : r->op->infer(r);
	for (uint32_t i = 0; !status && i < r->num_outputs; i++)
		status = merge_output(r, i, &declared[i]);
	if (status == NN_OUT_OF_MEMORY)
		return nn_fail(r->err, status, "%s: no memory", r->op->name);
	return status;
}

enum nn_status nn_op_execute(struct nn_run *r)
{
	struct nn_tensor *outputs = r->outputs, *copies;
	enum nn_status status;

	if (!converts(r)) {
		status = r->op->execute(r);
		goto out;
	}
	status = convert_outputs(r, true, &copies);
	if (status)
		goto out;
	r->outputs = copies;
	status = r->op->execute(r);
	r->outputs = outputs;
	for (uint32_t i = 0; !status && i < r->num_outputs; i++) {
		if (is_fp16(outputs[i].type) && !outputs[i].omitted)
			nn_fp32_to_fp16(copies[i].data, outputs[i].data,
					nn_tensor_count(&outputs[i]));
	}
out:
	if (status == NN_OUT_OF_MEMORY)
		return nn_fail(r->err, status, "%s: no memory", r->op->name);
	return status;
}
