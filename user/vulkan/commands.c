// SPDX-License-Identifier: MIT
/*
 * Records a graph's commands in Vulkan command buffers. Most dispatches read the output of the
 * previous dispatch, so there is a barrier before each dispatch.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "vulkan/commands.h"
#include "vulkan/pipeline.h"

/* Maximum number of times that a dispatch is halved to fit into a submission. */
#define MAX_CUTS	10

/*
 * A matrix product with at most VECTOR_ROWS rows is computed row by row, because computing tiles
 * would be slower.
 */
#define VECTOR_ROWS	4

/* Maximum number of work groups along a dimension of a dispatch; every GPU supports MAX_GROUPS. */
#define MAX_GROUPS	65535

/*
 * Assumed time in ns for a unit of a dispatch's cost, before the model's submissions have been
 * measured.
 */
#define NS_PER_COST	4

/*
 * Records a barrier after all earlier commands, and before all later commands and reads by the
 * host. `owners` are the barriers that transfer ownership of buffers.
 */
static void barrier(VkCommandBuffer commands, const VkBufferMemoryBarrier *owners, uint32_t count)
{
	const VkMemoryBarrier all = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
		.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
		.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
				 VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT |
				 VK_ACCESS_HOST_READ_BIT,
	};
	const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT |
					    VK_PIPELINE_STAGE_TRANSFER_BIT;

	vkCmdPipelineBarrier(commands, stages, stages | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &all,
			     count, owners, 0, NULL);
}

/* Returns whether a matrix product has so few rows that most rows of a tile would be empty. */
static bool is_vector(const struct dispatch *d)
{
	const struct window_params *p = &d->params.window;

	return (d->shader == SHADER_conv_f || d->shader == SHADER_conv_q ||
		d->shader == SHADER_conv_d) && p->images <= VECTOR_ROWS &&
	       p->in_h * p->in_w == 1 && p->out_h * p->out_w == 1 &&
	       p->kernel_h * p->kernel_w == 1 && !p->head_h && !p->head_w &&
	       p->width <= MAX_GROUPS * VECTOR_COLUMNS;
}

/* Returns the variant of a dispatch's shader that is quickest on the GPU. */
static enum shader variant_of(const struct commands_target *t, const struct dispatch *d)
{
	const bool is_fp16 = d->constants[0] == TYPE_F16 || t->graph->model->relaxed;

	if (is_vector(d))
		return d->shader == SHADER_conv_f ? SHADER_vector_f :
		       d->shader == SHADER_conv_q ? SHADER_vector_q : SHADER_vector_d;
	if (d->shader == SHADER_conv_f && is_fp16 && t->gpu->uses & GPU_MATRIX)
		return SHADER_conv_f_matrix;
	if (d->shader == SHADER_conv_f && is_fp16 && t->gpu->uses & GPU_FP16)
		return SHADER_conv_f_fp16;
	if (d->shader == SHADER_conv_q && t->gpu->uses & GPU_DOT)
		return SHADER_conv_q_dot;
	if (d->shader == SHADER_conv_d && t->gpu->uses & GPU_DOT)
		return SHADER_conv_d_dot;
	return d->shader;
}

/* A range of a dispatch's work groups, in three dimensions. */
struct box {
	uint32_t base[3];
	uint32_t groups[3];
};

static VkResult dispatch(VkCommandBuffer commands, const struct commands_target *t, uint32_t index,
			 const struct box *box)
{
	const struct dispatch *d = &t->graph->dispatches[index];
	const VkPipelineLayout layout = pipelines_layout(t->gpu);
	const uint32_t offset = (uint32_t)(index * t->graph->params_step);
	VkPipeline pipeline;
	VkResult result = pipeline_get(t->gpu, variant_of(t, d), d->constants, &pipeline);

	if (result)
		return result;
	barrier(commands, NULL, 0);
	vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
	vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &t->set, 1,
				&offset);
	vkCmdDispatchBase(commands, box->base[0], box->base[1], box->base[2], box->groups[0],
			  box->groups[1], box->groups[2]);
	return VK_SUCCESS;
}

static VkResult allocate(struct gpu *gpu, VkCommandBuffer *commands)
{
	const VkCommandBufferAllocateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.commandPool = gpu->pool,
		.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
		.commandBufferCount = 1,
	};

	return vkAllocateCommandBuffers(gpu->device, &info, commands);
}

static VkResult begin(VkCommandBuffer commands)
{
	const VkCommandBufferBeginInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
	};

	return vkBeginCommandBuffer(commands, &info);
}

uint64_t place_id(void)
{
	static uint64_t last;

	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/*
 * Lists barriers for the buffers whose memory is also used outside of the GPU: with `is_taken` the
 * GPU acquires the buffers, otherwise the GPU releases them. A buffer that contains several
 * arguments gets only one barrier.
 */
static uint32_t list_owners(const struct commands_target *t, const struct place *places,
			    uint32_t count, bool is_taken, VkBufferMemoryBarrier *list)
{
	const VkAccessFlags transfers = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
	uint32_t owners = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool is_new = places[i].buffer && !places[i].is_own;

		for (uint32_t k = 0; k < owners; k++)
			is_new = is_new && list[k].buffer != places[i].buffer;
		if (is_new)
			list[owners++] = (VkBufferMemoryBarrier){
				.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
				.srcAccessMask = is_taken ? 0 : transfers,
				.dstAccessMask = is_taken ? transfers : 0,
				.srcQueueFamilyIndex = is_taken ? VK_QUEUE_FAMILY_EXTERNAL : t->gpu->family,
				.dstQueueFamilyIndex = is_taken ? t->gpu->family : VK_QUEUE_FAMILY_EXTERNAL,
				.buffer = places[i].buffer,
				.size = VK_WHOLE_SIZE,
			};
	}
	return owners;
}

/*
 * Each dispatch has a barrier before it. No command precedes the transfers of inputs, so the
 * transfers of inputs need barriers only to change the owners of buffers. Commands that write a
 * domain end with a barrier.
 */
VkResult commands_transfer(VkCommandBuffer *commands, const struct commands_target *t,
			   const struct place *places, bool is_output)
{
	const struct transfer *list = is_output ? t->outputs : t->inputs;
	const uint32_t count = is_output ? t->num_outputs : t->num_inputs;
	VkBufferMemoryBarrier *owners = calloc(count + 1, sizeof(*owners));
	VkResult result = owners ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
	uint32_t num_owners;

	pthread_mutex_lock(&t->gpu->lock);
	if (!result && !*commands)
		result = allocate(t->gpu, commands);
	if (!result)
		result = begin(*commands);
	if (!result) {
		if (t->times && !is_output) {
			vkCmdResetQueryPool(*commands, t->times, 0, 2);
			vkCmdWriteTimestamp(*commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, t->times, 0);
		}
		num_owners = list_owners(t, places, count, true, owners);
		if (is_output || num_owners)
			barrier(*commands, owners, num_owners);
		for (uint32_t i = 0; i < count; i++) {
			const bool is_staged = !places[i].buffer;
			const VkBuffer other = is_staged ? t->staging : places[i].buffer;
			const uint64_t at = is_staged ? list[i].host : places[i].offset;
			const VkBufferCopy copy = {
				.srcOffset = is_output ? list[i].gpu : at,
				.dstOffset = is_output ? at : list[i].gpu,
				.size = list[i].size,
			};

			vkCmdCopyBuffer(*commands, is_output ? t->memory : other,
					is_output ? other : t->memory, 1, &copy);
		}
		if (t->times && is_output) {
			vkCmdWriteTimestamp(*commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, t->times, 1);
			vkCmdCopyQueryPoolResults(*commands, t->times, 0, 2, t->staging, 0,
						  sizeof(uint64_t), VK_QUERY_RESULT_64_BIT |
						  VK_QUERY_RESULT_WAIT_BIT);
		}
		list_owners(t, places, count, false, owners);
		if (is_output || num_owners)
			barrier(*commands, owners, num_owners);
		result = vkEndCommandBuffer(*commands);
	}
	/* A command buffer whose recording has begun must be reset before it is recorded again. */
	if (result && *commands)
		vkResetCommandBuffer(*commands, 0);
	pthread_mutex_unlock(&t->gpu->lock);
	free(owners);
	return result;
}

static bool grow(void **list, uint32_t count, uint32_t *room, size_t size)
{
	void *grown = *list;

	if (count < *room)
		return true;
	grown = reallocarray(*list, 2 * *room + 1, size);
	if (!grown)
		return false;
	memset((char *)grown + *room * size, 0, (*room + 1) * size);
	*room = 2 * *room + 1;
	*list = grown;
	return true;
}

/* Begins to record the commands of the next submission. */
static VkResult next(struct commands *c, struct gpu *gpu)
{
	struct submission *s;
	VkResult result = VK_SUCCESS;

	if (!grow((void **)&c->list, c->count, &c->room, sizeof(*c->list)))
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	s = &c->list[c->count];
	if (!s->buffer)
		result = allocate(gpu, &s->buffer);
	if (result)
		return result;
	s->ns = 0;
	s->measured_ns = 0;
	c->count++;
	return begin(s->buffer);
}

/*
 * Records a range of work groups in the current submission or, if the current submission would take
 * too long, in a new submission.
 */
static VkResult record_box(struct commands *c, const struct commands_target *t, uint32_t index,
			   const struct box *box, double ns)
{
	struct submission *s = &c->list[c->count - 1];

	if (s->ns > 0 && s->ns + ns > SUBMISSION_NS) {
		VkResult result = vkEndCommandBuffer(s->buffer);

		if (!result)
			result = next(c, t->gpu);
		if (result)
			return result;
		s = &c->list[c->count - 1];
	}
	if (!grow((void **)&c->pieces, c->num_pieces, &c->pieces_room, sizeof(*c->pieces)))
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	c->pieces[c->num_pieces++] = (struct piece){ index, c->count - 1, ns };
	s->ns += ns;
	return dispatch(s->buffer, t, index, box);
}

/*
 * Records a range of work groups. Halves a range that is too long for a submission, until each part
 * is short enough.
 */
static VkResult record_halves(struct commands *c, const struct commands_target *t, uint32_t index,
			      const struct box *all, double ns, uint32_t cuts)
{
	const uint32_t *g = all->groups;
	const uint32_t axis = g[0] >= g[1] && g[0] >= g[2] ? 0 : g[1] >= g[2] ? 1 : 2;
	struct box first = *all, second = *all;
	double share;
	VkResult result;

	if (ns <= SUBMISSION_NS || g[axis] == 1 || cuts == MAX_CUTS)
		return record_box(c, t, index, all, ns);
	first.groups[axis] = g[axis] / 2;
	second.groups[axis] -= first.groups[axis];
	second.base[axis] += first.groups[axis];
	share = ns * first.groups[axis] / g[axis];
	result = record_halves(c, t, index, &first, share, cuts + 1);
	return result ? result : record_halves(c, t, index, &second, ns - share, cuts + 1);
}

static VkResult record(struct commands *c, const struct commands_target *t)
{
	VkResult result = next(c, t->gpu);

	if (result)
		return result;
	for (uint32_t i = 0; i < t->graph->num_dispatches; i++) {
		const struct dispatch *d = &t->graph->dispatches[i];
		struct box all = { .base = { 0 } };

		memcpy(all.groups, d->groups, sizeof(all.groups));
		if (is_vector(d)) {
			all.groups[0] = d->params.window.images;
			all.groups[1] = (d->params.window.width + VECTOR_COLUMNS - 1) /
					VECTOR_COLUMNS;
		}
		result = record_halves(c, t, i, &all, c->ns[i], 0);
		if (result)
			return result;
	}
	return vkEndCommandBuffer(c->list[c->count - 1].buffer);
}

/*
 * Estimates the time of each dispatch: divides the measured time of each submission among the
 * submission's dispatches.
 */
static bool estimate(struct commands *c, const struct graph *g)
{
	bool is_measured = c->count > 0;

	if (!c->ns) {
		c->ns = calloc(g->num_dispatches + 1, sizeof(*c->ns));
		for (uint32_t i = 0; c->ns && i < g->num_dispatches; i++)
			c->ns[i] = NS_PER_COST * (double)g->dispatches[i].cost;
		return c->ns;
	}
	for (uint32_t i = 0; i < c->count; i++)
		is_measured = is_measured && c->list[i].measured_ns;
	if (!is_measured)
		return true;
	memset(c->ns, 0, g->num_dispatches * sizeof(*c->ns));
	for (uint32_t i = 0; i < c->num_pieces; i++) {
		const struct piece *p = &c->pieces[i];
		const struct submission *s = &c->list[p->submission];

		c->ns[p->dispatch] += s->ns > 0 ? p->ns / s->ns * (double)s->measured_ns : 0;
	}
	return true;
}

VkResult commands_record(struct commands *c, const struct commands_target *target)
{
	VkResult result;

	if (!estimate(c, target->graph))
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	pthread_mutex_lock(&target->gpu->lock);
	c->count = 0;
	c->num_pieces = 0;
	result = record(c, target);
	/* A command buffer whose recording has begun must be reset before it is recorded again. */
	for (; result && c->count; c->count--)
		vkResetCommandBuffer(c->list[c->count - 1].buffer, 0);
	pthread_mutex_unlock(&target->gpu->lock);
	return result;
}

void commands_drop(struct gpu *gpu, const VkCommandBuffer *list, uint32_t count)
{
	pthread_mutex_lock(&gpu->lock);
	vkFreeCommandBuffers(gpu->device, gpu->pool, count, list);
	pthread_mutex_unlock(&gpu->lock);
}

void commands_free(struct commands *c, struct gpu *gpu)
{
	for (uint32_t i = 0; i < c->room; i++)
		commands_drop(gpu, &c->list[i].buffer, 1);
	free(c->list);
	free(c->pieces);
	free(c->ns);
	memset(c, 0, sizeof(*c));
}

static VkResult record_copy(VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint64_t size)
{
	const VkBufferCopy all = { .size = size };
	VkResult result = begin(commands);

	if (result)
		return result;
	vkCmdCopyBuffer(commands, from, to, 1, &all);
	barrier(commands, NULL, 0);
	return vkEndCommandBuffer(commands);
}

static VkResult run_copy(struct gpu *gpu, VkCommandBuffer commands)
{
	static const VkFenceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	const VkSubmitInfo submit = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.commandBufferCount = 1,
		.pCommandBuffers = &commands,
	};
	VkFence fence;
	VkResult result = vkCreateFence(gpu->device, &info, NULL, &fence);

	if (result)
		return result;
	pthread_mutex_lock(&gpu->queue_lock);
	result = vkQueueSubmit(gpu->queue, 1, &submit, fence);
	pthread_mutex_unlock(&gpu->queue_lock);
	if (!result)
		result = vkWaitForFences(gpu->device, 1, &fence, VK_TRUE, UINT64_MAX);
	/* If a wait fails, wait again, because the GPU may still be using the commands. */
	if (result)
		gpu_wait(gpu);
	vkDestroyFence(gpu->device, fence, NULL);
	return result;
}

VkResult commands_copy(struct gpu *gpu, VkBuffer from, VkBuffer to, uint64_t size)
{
	VkCommandBuffer commands = NULL;
	VkResult result;

	pthread_mutex_lock(&gpu->lock);
	result = allocate(gpu, &commands);
	if (!result)
		result = record_copy(commands, from, to, size);
	pthread_mutex_unlock(&gpu->lock);
	if (!result)
		result = run_copy(gpu, commands);
	commands_drop(gpu, &commands, 1);
	return result;
}
