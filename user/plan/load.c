/* SPDX-License-Identifier: MIT */
/*
 * Makes a plan of its saved parts: reads and checks the model as any other, then
 * compiles it on weights that are packed already.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiled.h"
#include "saved.h"
#include "tuning.h"

static enum nn_status read_header(const void *model, size_t model_size, struct saved_header *h,
				  struct nn_error *err)
{
	if (model_size < sizeof(*h))
		return nn_fail(err, NN_GENERAL_FAILURE, "a saved plan of %zu bytes", model_size);
	memcpy(h, model, sizeof(*h));
	if (h->magic != SAVED_MAGIC)
		return nn_fail(err, NN_GENERAL_FAILURE, "not a saved plan");
	if (h->fingerprint != nn_plan_fingerprint())
		return nn_fail(err, NN_GENERAL_FAILURE,
			       "the plan was saved by another build, or for another CPU");
	if (h->model_size != model_size)
		return nn_fail(err, NN_GENERAL_FAILURE, "the plan has %zu bytes, not %" PRIu64,
			       model_size, h->model_size);
	if (h->tuned_steps > model_size - sizeof(*h) || h->reserved)
		return nn_fail(err, NN_GENERAL_FAILURE, "a plan of %u tuned steps in %zu bytes",
			       h->tuned_steps, model_size);
	if (!memchr(h->kernels, '\0', sizeof(h->kernels)))
		return nn_fail(err, NN_GENERAL_FAILURE, "the plan's kernels have no name");
	return NN_OK;
}

/* Whether the data part is the one that the model part was written with. */
static enum nn_status check_data(const struct saved_header *h, const void *data, size_t data_size,
				 struct nn_error *err)
{
	struct saved_stamp stamp;

	if (h->data_size != data_size)
		return nn_fail(err, NN_GENERAL_FAILURE, "the plan's data has %zu bytes, not %"
			       PRIu64, data_size, h->data_size);
	if (!data_size)
		return NN_OK;
	if (data_size < sizeof(stamp) || h->packed_size > data_size - sizeof(stamp))
		return nn_fail(err, NN_GENERAL_FAILURE, "%" PRIu64 " bytes of packed weights in %"
			       "zu of data", h->packed_size, data_size);
	memcpy(&stamp, data, sizeof(stamp));
	if (stamp.magic != SAVED_MAGIC || stamp.identity != h->data_identity)
		return nn_fail(err, NN_GENERAL_FAILURE, "the data is not this plan's");
	return NN_OK;
}

/* What steers must be in the model part: the data part may change at any time. */
static enum nn_status check_steering(const struct nn_model *model, struct nn_error *err)
{
	for (uint32_t k = 0; k < model->num_subgraphs; k++) {
		const struct nn_subgraph *s = &model->subgraphs[k];

		for (uint32_t i = 0; i < s->num_operations; i++) {
			const struct nn_operation *o = &s->operations[i];
			const struct nn_op *op = nn_op_find(o->type);

			for (uint32_t j = 0; op && j < o->num_inputs; j++) {
				const struct nn_operand *in = &s->operands[o->inputs[j]];

				if (in->lifetime == NN_CONSTANT_REFERENCE &&
				    plan_steers(op, j, in->type))
					return nn_fail(err, NN_GENERAL_FAILURE, "subgraph %u, "
						       "operation %u: input %u lies in the data",
						       k, i, j);
			}
		}
	}
	return NN_OK;
}

/* The model of a model part, checked. */
static enum nn_status read_model(const struct saved_header *h, const void *model, const void *data,
				 struct nn_model **out, struct nn_error *err)
{
	const struct nn_pool pool = { data, h->data_size };
	enum nn_status status;

	status = nn_model_decode((const char *)model + sizeof(*h), h->model_size - sizeof(*h) - h->tuned_steps, &pool, h->data_size ? 1 : 0, out, err);
	if (!status) {
		status = nn_ops_check_model(*out, NULL, err);
		if (!status)
			status = check_steering(*out, err);
		if (status) {
			nn_model_free(*out);
			*out = NULL;
		}
	}
	return status;
}

static enum nn_status compile(struct nn_plan *plan, const struct saved_header *h,
			      const void *model, const void *data,
			      const struct nn_plan_options *options, struct nn_error *err)
{
	const struct packed_weights weights = {
		.data = data ? (const char *)data + sizeof(struct saved_stamp) : NULL,
		.size = h->packed_size,
	};
	const uint8_t *tuned = (const uint8_t *)model + h->model_size - h->tuned_steps;
	const struct nn_isa *isa = nn_isa_find(h->kernels);

	if (options->kernels && !strcmp(options->kernels, NO_KERNELS))
		return NN_OK;
	if (options->kernels && strcmp(options->kernels, h->kernels))
		return nn_fail(err, NN_GENERAL_FAILURE, "the plan is for the kernels %s, not %s",
			       h->kernels, options->kernels);
	if (!isa)
		return nn_fail(err, NN_GENERAL_FAILURE, "this CPU does not run the kernels %s",
			       h->kernels);
	plan->compiled = compiled_create(plan, isa, options->preference, &weights);
	if (!plan->compiled || plan->compiled->packed_size != h->packed_size ||
	    plan->compiled->choice != h->choice ||
	    (h->tuned_steps && !tuning_load(plan->compiled, tuned, h->tuned_steps)))
		return nn_fail(err, NN_GENERAL_FAILURE, "the plan is not what was saved");
	return NN_OK;
}

/* The plan of parts whose ends were checked. */
static enum nn_status load(const struct saved_header *h, const void *model, const void *data,
			   const struct nn_plan_options *options, struct nn_plan **plan,
			   struct nn_error *err)
{
	struct nn_model *decoded;
	enum nn_status status;

	status = read_model(h, model, data, &decoded, err);
	if (status)
		return status;
	status = plan_create(decoded, options, plan, err);
	if (status) {
		nn_model_free(decoded);
		return status;
	}
	(*plan)->owned = decoded;
	if (h->kernels[0])
		status = compile(*plan, h, model, data, options, err);
	if (status) {
		nn_plan_free(*plan);
		*plan = NULL;
	}
	return status;
}

enum nn_status nn_plan_load(const void *model, size_t model_size, const void *data,
			    size_t data_size, const struct nn_plan_options *options,
			    struct nn_plan **plan, struct nn_error *err)
{
	enum nn_status status = plan_check_options(options, err);
	struct saved_header h;

	*plan = NULL;
	if (!status && data_size && (uintptr_t)data % NN_PLAN_DATA_ALIGN)
		status = nn_fail(err, NN_INVALID_ARGUMENT, "the plan's data is not aligned");
	if (status)
		return status;
	status = read_header(model, model_size, &h, err);
	if (!status)
		status = check_data(&h, data, data_size, err);
	if (!status)
		status = load(&h, model, h.data_size ? data : NULL, options, plan, err);
	/* What a model must not be, a file has become. */
	return status == NN_INVALID_ARGUMENT ? NN_GENERAL_FAILURE : status;
}
