/* SPDX-License-Identifier: MIT */
/*
 * Makes a plan from the two parts of a saved plan. The model part has a serialised plan or a model.
 * A model in the model part is checked like any other model, and compiled with the saved packed
 * weights.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plan/compiled.h"
#include "plan/run/sections.h"
#include "plan/saved/restore.h"
#include "plan/run/tuning.h"

static enum nn_status read_header(const void *model, size_t model_size, struct saved_header *h,
				  struct nn_error *err)
{
	if (model_size < sizeof(*h))
		return nn_fail(err, NN_GENERAL_FAILURE, "a plan of %zu bytes has no header",
			       model_size);
	memcpy(h, model, sizeof(*h));
	if (h->magic != SAVED_MAGIC)
		return nn_fail(err, NN_GENERAL_FAILURE, "the bytes are not a saved plan");
	if (h->fingerprint != nn_plan_fingerprint())
		return nn_fail(err, NN_GENERAL_FAILURE,
			       "the plan was saved by another build, or for another CPU");
	if (h->model_size != model_size)
		return nn_fail(err, NN_GENERAL_FAILURE,
			       "the plan has %zu bytes, needs %" PRIu64, model_size,
			       h->model_size);
	if (h->tuned_steps > model_size - sizeof(*h) ||
	    h->serial_size > model_size - sizeof(*h) - h->tuned_steps)
		return nn_fail(err, NN_GENERAL_FAILURE,
			       "%u tuned steps and %u serialised bytes do not fit %zu bytes",
			       h->tuned_steps, h->serial_size, model_size);
	if (!memchr(h->kernels, '\0', sizeof(h->kernels)))
		return nn_fail(err, NN_GENERAL_FAILURE, "the plan's kernels have no name");
	return NN_OK;
}

/* Checks that the data part was written together with the model part. */
static enum nn_status check_data(const struct saved_header *h, const void *data, size_t data_size,
				 struct nn_error *err)
{
	struct saved_stamp stamp;

	if (h->data_size != data_size)
		return nn_fail(err, NN_GENERAL_FAILURE, "the plan's data has %zu bytes, needs %"
			       PRIu64, data_size, h->data_size);
	if (!data_size && !h->packed_size)
		return NN_OK;
	if (data_size < sizeof(stamp) || h->packed_size > data_size - sizeof(stamp))
		return nn_fail(err, NN_GENERAL_FAILURE, "%" PRIu64 " bytes of packed weights do "
			       "not fit %zu bytes of data", h->packed_size, data_size);
	memcpy(&stamp, data, sizeof(stamp));
	if (stamp.magic != SAVED_MAGIC || stamp.identity != h->data_identity)
		return nn_fail(err, NN_GENERAL_FAILURE, "the data belongs to another plan");
	return NN_OK;
}

/*
 * Checks that values that determine addresses or control flow are in the model part, because other
 * processes may change the data part at any time.
 */
static enum nn_status check_determining(const struct nn_model *model, struct nn_error *err)
{
	for (uint32_t k = 0; k < model->num_subgraphs; k++) {
		const struct nn_subgraph *s = &model->subgraphs[k];

		for (uint32_t i = 0; i < s->num_operations; i++) {
			const struct nn_operation *o = &s->operations[i];
			const struct nn_op *op = nn_op_find(o->type);

			for (uint32_t j = 0; j < o->num_inputs; j++) {
				const struct nn_operand *in = &s->operands[o->inputs[j]];

				if (in->lifetime == NN_CONSTANT_REFERENCE &&
				    plan_determines(op, j, in->type))
					return nn_fail(err, NN_GENERAL_FAILURE, "subgraph %u, "
						       "operation %u: input %u cannot be in the data",
						       k, i, j);
			}
		}
	}
	return NN_OK;
}

/* Decodes and checks a model whose wire form is in the model part. */
static enum nn_status read_model(const struct saved_header *h, const void *model, const void *data,
				 struct nn_model **out, struct nn_error *err)
{
	const struct nn_pool pool = { data, h->data_size };
	size_t size = h->model_size - sizeof(*h) - h->tuned_steps;
	enum nn_status status = nn_model_decode((const char *)model + sizeof(*h), size, &pool,
						h->data_size ? 1 : 0, out, err);

	if (status)
		return status;
	status = nn_ops_check_model(*out, NULL, err);
	if (!status)
		status = check_determining(*out, err);
	if (status) {
		nn_model_free(*out);
		*out = NULL;
	}
	return status;
}

/*
 * Checks that the plan was saved for the kernels that the options name, and that this CPU can run
 * these kernels.
 */
static enum nn_status check_kernels(const struct saved_header *h,
				    const struct nn_plan_options *options, struct nn_error *err)
{
	if (options->kernels && strcmp(options->kernels, h->kernels))
		return nn_fail(err, NN_GENERAL_FAILURE, "the plan is for the kernels %s, not %s",
			       h->kernels, options->kernels);
	if (!nn_isa_find(h->kernels))
		return nn_fail(err, NN_GENERAL_FAILURE, "this CPU does not run the kernels %s",
			       h->kernels);
	return NN_OK;
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
	enum nn_status status = check_kernels(h, options, err);

	if (status)
		return status;
	plan->compiled = compiled_create(plan, nn_isa_find(h->kernels),
					 compiled_threads(options->preference), &weights);
	if (!plan->compiled || plan->compiled->packed_size != h->packed_size ||
	    plan->compiled->choice != h->choice ||
	    (h->tuned_steps && !tuning_load(plan->compiled, tuned, h->tuned_steps)))
		return nn_fail(err, NN_GENERAL_FAILURE, "the plan differs from what was saved");
	return NN_OK;
}

static enum nn_status divide(struct nn_plan *plan, const struct saved_header *h,
			     const struct nn_plan_options *options, struct nn_error *err)
{
	struct nn_plan_options how = *options;
	enum nn_status status = check_kernels(h, options, err);

	how.kernels = h->kernels;
	/* If memory for sections runs out, the plan is interpreted. */
	if (!status)
		sections_create(plan, &how);
	return status;
}

static bool is_interpreted(const struct saved_header *h, const struct nn_plan_options *options)
{
	return !h->kernels[0] || (options->kernels && !strcmp(options->kernels, NO_KERNELS));
}

enum nn_status plan_load_whole(const struct saved_header *h, const void *model, const void *data,
			       const struct nn_plan_options *options, struct nn_plan **plan,
			       struct nn_error *err)
{
	struct nn_model *decoded;
	enum nn_status status = read_model(h, model, data, &decoded, err);

	if (status)
		return status;
	status = plan_create(decoded, options, plan, err);
	if (status) {
		nn_model_free(decoded);
		return status;
	}
	(*plan)->owned = decoded;
	if (is_interpreted(h, options))
		return NN_OK;
	if (h->choice == SAVED_SECTIONS)
		status = divide(*plan, h, options, err);
	else
		status = compile(*plan, h, model, data, options, err);
	if (status) {
		nn_plan_free(*plan);
		*plan = NULL;
	}
	return status;
}

/*
 * Makes a plan from a model part whose header was already checked. If the model part has a
 * serialised plan, the plan becomes the owner of the model part.
 */
static enum nn_status load(const struct saved_header *h, void **model, const void *data,
			   const struct nn_plan_options *options, struct nn_plan **plan,
			   struct nn_error *err)
{
	enum nn_status status;

	if (!h->serial_size)
		return plan_load_whole(h, *model, data, options, plan, err);
	status = check_kernels(h, options, err);
	if (!status)
		status = plan_restore(*model, data, options, plan, err);
	if (!status)
		*model = NULL;
	return status;
}

enum nn_status nn_plan_adopt(void *model, size_t model_size, const void *data, size_t data_size,
			     const struct nn_plan_options *options, struct nn_plan **plan,
			     struct nn_error *err)
{
	enum nn_status status = plan_check_options(options, err);
	struct saved_header h;

	*plan = NULL;
	if (!status && data_size && (uintptr_t)data % NN_PLAN_DATA_ALIGN)
		status = nn_fail(err, NN_INVALID_ARGUMENT,
				 "the plan's data must be aligned to %d bytes", NN_PLAN_DATA_ALIGN);
	if (status) {
		free(model);
		return status;
	}
	status = read_header(model, model_size, &h, err);
	if (!status)
		status = check_data(&h, data, data_size, err);
	if (!status)
		status = load(&h, &model, h.data_size ? data : NULL, options, plan, err);
	free(model);
	/* An invalid saved model means that the file is damaged. */
	return status == NN_INVALID_ARGUMENT ? NN_GENERAL_FAILURE : status;
}

enum nn_status nn_plan_load(const void *model, size_t model_size, const void *data,
			    size_t data_size, const struct nn_plan_options *options,
			    struct nn_plan **plan, struct nn_error *err)
{
	void *copy = malloc(model_size ? model_size : 1);

	*plan = NULL;
	if (!copy)
		return nn_fail(err, NN_OUT_OF_MEMORY, "no memory for a plan of %zu bytes",
			       model_size);
	memcpy(copy, model, model_size);
	return nn_plan_adopt(copy, model_size, data, data_size, options, plan, err);
}
