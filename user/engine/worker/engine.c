// SPDX-License-Identifier: MIT
/*
 * nnacceld's engine: plans on the CPU, and plug-ins.
 */
#include <stdlib.h>

#include "engine/worker/device.h"
#include "engine/worker/engine.h"
#include "engine/worker/plugin_op.h"
#include "ops/op.h"
#include "plan/plan.h"

static void describe(const struct nna_engine *engine, struct nn_device_info *info)
{
	(void)engine;
	device_describe(info);
}

/* ---- models ---- */

static struct nn_plan_options options_of(const struct nna_engine_preparation *how)
{
	return (struct nn_plan_options){
		.preference = how->preference,
		.deadline_ns = how->deadline_ns,
		.lazy = how->may_be_put_off,
		.attributes = how->attributes,
	};
}

static enum nn_status supported(const struct nna_engine *engine, const struct nn_model *model,
				bool *operations, struct nn_error *err)
{
	(void)engine;
	return nn_ops_check_model(model, operations, err);
}

static enum nn_status prepare(const struct nna_engine *engine, const struct nn_model *model,
			      const struct nna_engine_preparation *how, void **prepared,
			      struct nn_error *err)
{
	const struct nn_plan_options options = options_of(how);
	enum nn_status status = nn_ops_check_model(model, NULL, err);
	struct nn_plan *plan = NULL;

	(void)engine;
	if (!status)
		status = nn_plan_create(model, &options, &plan, err);
	*prepared = plan;
	return status;
}

static void release(const struct nna_engine *engine, void *prepared)
{
	(void)engine;
	nn_plan_free(prepared);
}

static void memory(const struct nna_engine *engine, const void *prepared,
		   struct nna_engine_memory *memory)
{
	struct nn_plan_memory taken;

	(void)engine;
	nn_plan_memory(prepared, &taken);
	*memory = (struct nna_engine_memory){ .weights = taken.weights, .execution = taken.execution };
}

static enum nn_status execute(const struct nna_engine *engine, void *prepared,
			      struct nna_engine_execution *execution,
			      struct nn_execution *arguments, struct nn_error *err)
{
	(void)engine;
	(void)execution;
	return nn_plan_execute(prepared, arguments, err);
}

/* ---- caching ---- */

static enum nn_status save(const struct nna_engine *engine, const void *prepared,
			   struct nna_engine_image *image, struct nn_error *err)
{
	struct nn_plan_image *saved;
	enum nn_status status;

	(void)engine;
	if (nn_plan_stage(prepared) == NN_PLAN_PUT_OFF)
		return NN_OK;
	saved = calloc(1, sizeof(*saved));
	if (!saved)
		return nn_fail(err, NN_OUT_OF_MEMORY, "out of memory");
	status = nn_plan_save(prepared, saved, err);
	image->model[0] = (struct nna_engine_part){ saved->model, saved->model_size };
	image->data_size[0] = saved->data_size;
	image->own = saved;
	return status;
}

static void write_data(const struct nna_engine *engine, const struct nna_engine_image *image,
		       uint32_t index, void *data)
{
	(void)engine;
	(void)index;
	nn_plan_image_data(image->own, data);
}

static void end_save(const struct nna_engine *engine, struct nna_engine_image *image)
{
	(void)engine;
	if (image->own)
		nn_plan_image_free(image->own);
	free(image->own);
}

/*
 * Checks the extensions of a saved model. Rejects a model with an extension that this process does
 * not have.
 */
static enum nn_status check_saved(const struct nn_plan *plan, struct nn_error *err)
{
	enum nn_status status = NN_OK;

	if (nn_plan_has_extensions(plan))
		status = nna_engine_plugin_check_model(nn_plan_model(plan), err);
	return status == NN_INVALID_ARGUMENT ? NN_GENERAL_FAILURE : status;
}

static enum nn_status load(const struct nna_engine *engine, const struct nna_engine_part *model,
			   const struct nna_engine_part *data,
			   const struct nna_engine_preparation *how, void **prepared,
			   struct nn_error *err)
{
	const struct nn_plan_options options = options_of(how);
	struct nn_plan *plan = NULL;
	enum nn_status status;

	(void)engine;
	status = nn_plan_adopt(model->base, model->size, data->base, data->size, &options, &plan, err);
	if (!status)
		status = check_saved(plan, err);
	if (status)
		nn_plan_free(plan);
	*prepared = status ? NULL : plan;
	return status;
}

static const struct nn_subgraph *signature(const struct nna_engine *engine, const void *prepared)
{
	(void)engine;
	return nn_plan_main(prepared);
}

/* ---- the process ---- */

static bool start(const struct nna_engine *engine)
{
	(void)engine;
	nn_plan_start_threads();
	return true;
}

const struct nna_engine cpu_engine = {
	.size = sizeof(cpu_engine),
	.name = "nnacceld",
	.describe = describe,
	.supported = supported,
	.prepare = prepare,
	.release = release,
	.memory = memory,
	.execute = execute,
	.save = save,
	.write_data = write_data,
	.end_save = end_save,
	.load = load,
	.signature = signature,
	.start = start,
	.load_plugin = plugin_op_load,
};
