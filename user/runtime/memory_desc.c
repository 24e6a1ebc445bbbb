/* SPDX-License-Identifier: MIT */
/*
 * Memory descriptions, whose roles must agree, and the state of memories made from descriptions. A
 * memory belongs to the single device that computes the operands of all roles, or is shared memory,
 * which all devices can access.
 */
#include "runtime/memory_desc.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/domain.h"
#include "runtime/log.h"
#include "runtime/operand.h"

int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc **desc)
{
	RT_NOT_NULL(desc);
	*desc = calloc(1, sizeof(**desc));
	if (!*desc)
		return rt_refuse(ANEURALNETWORKS_OUT_OF_MEMORY, "out of memory");
	return ANEURALNETWORKS_NO_ERROR;
}

void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc *desc)
{
	uint32_t i;

	if (!desc)
		return;
	for (i = 0; i < desc->num_roles; i++)
		compilation_put(desc->roles[i].compilation);
	free(desc->roles);
	free(desc);
}

static int check_mutable(const ANeuralNetworksMemoryDesc *desc, struct nn_error *err)
{
	if (desc->finished)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the description is finished");
	return ANEURALNETWORKS_NO_ERROR;
}

static bool same_role(const struct memory_role *a, const struct memory_role *b)
{
	return a->serial == b->serial && a->index == b->index && a->output == b->output;
}

static int check_role(const ANeuralNetworksMemoryDesc *desc, const struct memory_role *role,
		      struct nn_error *err)
{
	const char *what = role->output ? "output" : "input";
	const struct nn_subgraph *main;
	uint32_t count, i;

	if (!role->compilation->valid)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "the compilation is not finished, or has failed");
	main = model_main(role->compilation->model);
	count = role->output ? main->num_outputs : main->num_inputs;
	if (role->index >= count)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "%s %u of %u", what, role->index,
			       count);
	if (!(role->frequency > 0 && role->frequency <= 1))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "frequency %g, not in (0, 1]",
			       (double)role->frequency);
	for (i = 0; i < desc->num_roles; i++)
		if (same_role(&desc->roles[i], role))
			return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
				       "%s %u of that compilation is a role already", what,
				       role->index);
	return ANEURALNETWORKS_NO_ERROR;
}

/* Merges one more role's operand into the memory description's operand. */
static int merge_role(const ANeuralNetworksMemoryDesc *desc, const struct memory_role *role,
		      struct nn_operand *merged, struct nn_error *err)
{
	const ANeuralNetworksModel *model = role->compilation->model;
	const struct nn_operand *operand = role->output ? model_output(model, role->index) :
							  model_input(model, role->index);

	if (desc->num_roles && !nn_operand_same_type(&desc->operand, operand))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "%s has another type, scale or zero point than earlier roles",
			       nn_type_name(operand->type));
	*merged = *operand;
	if (!nn_operand_merge_dims(merged, desc->operand.rank, desc->operand.dims))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "%s has other dimensions than the description",
			       nn_type_name(operand->type));
	return ANEURALNETWORKS_NO_ERROR;
}

static int add_role(ANeuralNetworksMemoryDesc *desc,
		    const ANeuralNetworksCompilation *compilation, uint32_t index, bool output,
		    float frequency, struct nn_error *err)
{
	const struct memory_role role = { compilation, compilation->serial, index, output,
					  frequency };
	struct nn_operand merged;
	struct memory_role *roles;
	int result;

	result = check_mutable(desc, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = check_role(desc, &role, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		result = merge_role(desc, &role, &merged, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	roles = reallocarray(desc->roles, (size_t)desc->num_roles + 1, sizeof(roles[0]));
	if (!roles)
		return rt_out_of_memory(err);
	desc->roles = roles;
	desc->roles[desc->num_roles++] = role;
	compilation_get(compilation);
	desc->operand = merged;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksMemoryDesc_addInputRole(ANeuralNetworksMemoryDesc *desc,
					   const ANeuralNetworksCompilation *compilation,
					   uint32_t index, float frequency)
{
	RT_NOT_NULL(desc, compilation);
	return RT_CALL(add_role(desc, compilation, index, false, frequency, &err));
}

int ANeuralNetworksMemoryDesc_addOutputRole(ANeuralNetworksMemoryDesc *desc,
					    const ANeuralNetworksCompilation *compilation,
					    uint32_t index, float frequency)
{
	RT_NOT_NULL(desc, compilation);
	return RT_CALL(add_role(desc, compilation, index, true, frequency, &err));
}

static int set_dimensions(ANeuralNetworksMemoryDesc *desc, uint32_t rank, const uint32_t *dims,
			  struct nn_error *err)
{
	struct nn_operand merged = desc->operand;
	int result = check_mutable(desc, err);

	if (result != ANEURALNETWORKS_NO_ERROR)
		return result;
	if (rank > NN_MAX_RANK)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "rank %u must be at most %d", rank,
			       NN_MAX_RANK);
	/* Assume a tensor if dimensions are set before the first role determines the type. */
	if (!desc->num_roles)
		merged.type = NN_TENSOR_QUANT8_ASYMM;
	if (!nn_operand_merge_dims(&merged, rank, dims))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "%u dimensions do not fit those of the description",
			       rank);
	desc->operand.rank = merged.rank;
	memcpy(desc->operand.dims, merged.dims, sizeof(merged.dims));
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksMemoryDesc_setDimensions(ANeuralNetworksMemoryDesc *desc, uint32_t rank,
					    const uint32_t *dimensions)
{
	RT_NOT_NULL(desc);
	if (!dimensions && rank)
		return rt_refuse(ANEURALNETWORKS_UNEXPECTED_NULL,
				 "%u dimensions, their pointer is NULL", rank);
	return RT_CALL(set_dimensions(desc, rank, dimensions, &err));
}

int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc *desc)
{
	struct nn_error err = { "" };
	int result;

	RT_NOT_NULL(desc);
	result = check_mutable(desc, &err);
	if (result == ANEURALNETWORKS_NO_ERROR && !desc->num_roles)
		result = rt_fail(&err, ANEURALNETWORKS_BAD_DATA, "the description has no role");
	if (result == ANEURALNETWORKS_NO_ERROR)
		desc->finished = true;
	return rt_end(result, &err);
}

static struct memory_domain *new_domain(const ANeuralNetworksMemoryDesc *desc)
{
	struct memory_domain *domain = calloc(1, sizeof(*domain));

	if (!domain)
		return NULL;
	domain->roles = calloc(desc->num_roles, sizeof(domain->roles[0]));
	if (!domain->roles) {
		free(domain);
		return NULL;
	}
	memcpy(domain->roles, desc->roles, desc->num_roles * sizeof(domain->roles[0]));
	/*
	 * A memory needs no references to the compilations of its roles, because it stores the
	 * compilations' serial numbers.
	 */
	for (uint32_t i = 0; i < desc->num_roles; i++)
		domain->roles[i].compilation = NULL;
	domain->num_roles = desc->num_roles;
	domain->operand = desc->operand;
	domain->current = desc->operand;
	/* Per-channel scales belong to the model, which may be freed before this memory. */
	memset(&domain->operand.extra, 0, sizeof(domain->operand.extra));
	memset(&domain->current.extra, 0, sizeof(domain->current.extra));
	return domain;
}

/*
 * Returns whether the application, and not the runtime, chose the devices of a role's compilation.
 */
static bool has_explicit_role(const ANeuralNetworksMemoryDesc *desc)
{
	uint32_t i;

	for (i = 0; i < desc->num_roles; i++)
		if (desc->roles[i].compilation->is_explicit)
			return true;
	return false;
}

static void free_domain(struct memory_domain *domain)
{
	nna_buffer_free(domain->buffer);
	free(domain->roles);
	free(domain);
}

/* Creates a device's own memory if one device computes all roles' operands; else shared memory. */
static int make_memory(const ANeuralNetworksMemoryDesc *desc, struct memory_domain *domain,
		       ANeuralNetworksMemory **memory, struct nn_error *err)
{
	uint32_t size = operand_size(&desc->operand);
	struct accel_handle *device = NULL;
	struct nn_error reason = { "" };
	int result = domain_allocate(desc, domain, &reason);

	if (result != ANEURALNETWORKS_NO_ERROR && has_explicit_role(desc))
		return rt_fail(err, result, "%s", reason.message);
	if (domain->buffer)
		return memory_create_on_device(size, domain, memory, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		nna_log(NNA_LOG_WARN, "shared memory replaces a device's: %s", reason.message);
	if (!size)
		return rt_fail(err, ANEURALNETWORKS_OP_FAILED,
			       "the size of the description's %s is unknown",
			       nn_type_name(desc->operand.type));
	for (uint32_t i = 0; i < desc->num_roles && !device; i++)
		device = partition_sharer(&desc->roles[i].compilation->partition);
	result = memory_create_shared(size, device, memory, err);
	if (result == ANEURALNETWORKS_NO_ERROR)
		(*memory)->domain = domain;
	return result;
}

static int create_memory(const ANeuralNetworksMemoryDesc *desc, ANeuralNetworksMemory **memory,
			 struct nn_error *err)
{
	struct memory_domain *domain;
	int result;

	if (!desc->finished)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the description is not finished");
	domain = new_domain(desc);
	if (!domain)
		return rt_out_of_memory(err);
	result = make_memory(desc, domain, memory, err);
	if (result != ANEURALNETWORKS_NO_ERROR)
		free_domain(domain);
	return result;
}

int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc *desc,
					 ANeuralNetworksMemory **memory)
{
	RT_NOT_NULL(memory);
	*memory = NULL;
	RT_NOT_NULL(desc);
	return RT_CALL(create_memory(desc, memory, &err));
}

bool memory_may_hold(const ANeuralNetworksMemory *memory, uint32_t rank, const uint32_t *dims)
{
	struct nn_operand made = memory->domain->operand;

	return nn_operand_merge_dims(&made, rank, dims);
}

int memory_check_role(const ANeuralNetworksMemory *memory,
		      const ANeuralNetworksCompilation *compilation, bool output, uint32_t index,
		      const struct nn_operand *operand, size_t offset, size_t length,
		      struct nn_error *err)
{
	const struct memory_role role = { compilation, compilation->serial, index, output, 0 };
	const struct memory_domain *domain = memory->domain;
	uint32_t i;

	if (offset || length)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "%s %u: a memory made from a description is used whole, with "
			       "offset and length 0", output ? "output" : "input", index);
	for (i = 0; i < domain->num_roles && !same_role(&domain->roles[i], &role); i++)
		;
	if (i == domain->num_roles)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "%s %u is not a role of the memory's description",
			       output ? "output" : "input", index);
	if (!memory_may_hold(memory, operand->rank, operand->dims))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "%s %u has other dimensions than the memory was made with",
			       output ? "output" : "input", index);
	return ANEURALNETWORKS_NO_ERROR;
}

static bool same_dims(const struct nn_operand *operand, uint32_t rank, const uint32_t *dims)
{
	return operand->rank == rank && !memcmp(operand->dims, dims, rank * sizeof(dims[0]));
}

bool memory_get_contents(const ANeuralNetworksMemory *memory, struct nn_operand *operand)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&memory->lock;
	bool initialised;

	pthread_mutex_lock(lock);
	initialised = memory->domain->initialised;
	*operand = memory->domain->current;
	pthread_mutex_unlock(lock);
	return initialised;
}

int memory_check_input(const ANeuralNetworksMemory *memory, uint32_t index, uint32_t rank,
		       const uint32_t *dims, struct nn_error *err)
{
	struct nn_operand current;

	if (!memory_get_contents(memory, &current))
		return rt_fail(err, ANEURALNETWORKS_OP_FAILED,
			       "input %u: nothing was written to its memory", index);
	if (!same_dims(&current, rank, dims))
		return rt_fail(err, ANEURALNETWORKS_OP_FAILED,
			       "input %u: its memory holds a tensor of another shape", index);
	return ANEURALNETWORKS_NO_ERROR;
}

void memory_note_written(const ANeuralNetworksMemory *memory, bool success, uint32_t rank,
			 const uint32_t *dims)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&memory->lock;
	struct memory_domain *domain = memory->domain;

	pthread_mutex_lock(lock);
	domain->initialised = success;
	if (success) {
		domain->current = domain->operand;
		nn_operand_merge_dims(&domain->current, rank, dims);
	}
	pthread_mutex_unlock(lock);
}
