// SPDX-License-Identifier: MIT
#include "compiled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quantised.h"

/* ---- the model's inputs and outputs ---- */

static void set_port(struct port *port, uint32_t index, int type, const struct shape *shape,
		     const struct operand *operand)
{
	port->index = index;
	port->type = type;
	port->shape = *shape;
	port->count = shape_count(shape);
	port->size = operand ? builder_size(operand) : 0;
}

struct job {
	const struct graph *graph;
	struct translation *t;
	struct builder b;
	struct compiled *c;
	const uint32_t *in, *out;
	uint32_t in_count, out_count;
	uint32_t *model_in, *model_out;
	char *message;
	size_t size;
	bool refused;			/* true: the message is the reason of a translator */
};

static bool translate(struct job *job)
{
	struct translation *t = job->t;

	quantised_values(&t->l);
	for (uint32_t i = 0; i < job->in_count; i++)
		if (job->in[i] != NO_VALUE && !job->graph->values[job->in[i]].data)
			translation_input(t, job->in[i], &job->c->shapes[i]);
	for (uint32_t i = 0; i < job->in_count; i++) {
		const struct shape *values = &job->c->shapes[job->in_count + i];

		if (values->rank >= 0)
			translation_values(t, job->in[i], values->dims, values->rank);
	}
	for (uint32_t i = 0; i < job->graph->node_count; i++) {
		const struct node *node = &job->graph->nodes[i];

		if (translate_node(t, node))
			continue;
		snprintf(job->message, job->size, "%s %s: %s", node->op, node->name, t->l.reason);
		job->refused = !job->b.failed;
		return false;
	}
	return true;
}

static bool find_outputs(struct job *job)
{
	struct compiled *c = job->c;
	struct translation *t = job->t;
	uint32_t made = 0;

	t->l.refused = false;
	for (uint32_t i = 0; i < job->out_count; i++) {
		struct translated *value;
		struct port *port;
		bool is_own;
		int type;

		if (job->out[i] == NO_VALUE)
			continue;
		value = &t->values[job->out[i]];
		type = job->graph->values[job->out[i]].type;
		c->out_count++;
		port = &c->out[c->out_count - 1];
		if (!value->ready || value->elided || !onnx_size(type)) {
			snprintf(job->message, job->size, "output %s %s",
				 job->graph->values[job->out[i]].name,
				 onnx_size(type) ? "is not computed" : "has an unknown type");
			return false;
		}
		if (value->data) {
			set_port(port, i, type, &value->shape, NULL);
			port->size = (size_t)port->count * onnx_size(type);
			port->data = malloc(port->size + 1);
			if (!port->data)
				return false;
			memcpy(port->data, value->data, port->size);
			continue;
		}
		/*
		 * An operation must write each output of the model, so copy an output that is an
		 * input, a constant or another output.
		 */
		is_own = value->operand == NO_OPERAND || builder_writes(&job->b, 0, value->operand);
		for (uint32_t k = 0; k < made; k++)
			is_own &= job->model_out[k] != value->operand;
		job->model_out[made] = is_own ? value->operand : rewritten(&t->l, value->operand);
		if (t->l.refused || job->model_out[made] == NO_OPERAND) {
			snprintf(job->message, job->size, "output %s: %s",
				 job->graph->values[job->out[i]].name, t->l.reason);
			return false;
		}
		set_port(port, i, type, &value->shape, operand_of(&t->l, job->model_out[made]));
		made++;
	}
	builder_prune(&job->b, made, job->model_out);
	return !job->b.failed;
}

static bool find_inputs(struct job *job)
{
	bool *used = builder_used(&job->b);

	for (uint32_t i = 0; used && i < job->in_count; i++) {
		const struct translated *value;

		if (job->in[i] == NO_VALUE)
			continue;
		value = &job->t->values[job->in[i]];
		if (value->operand == NO_OPERAND || !used[value->operand] || value->data)
			continue;
		/* One value may be several inputs of the node. */
		for (uint32_t k = 0; k < job->c->in_count; k++)
			if (job->model_in[k] == value->operand)
				goto next;
		job->model_in[job->c->in_count] = value->operand;
		set_port(&job->c->in[job->c->in_count++], i,
			 job->graph->values[job->in[i]].type, &value->shape,
			 operand_of(&job->t->l, value->operand));
next:;
	}
	free(used);
	return used;
}

/* ---- compiling ---- */

struct compiled *compiled_without_model(const struct options *options, const struct shape *shapes,
					uint32_t in_count)
{
	struct compiled *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	c->options = options;
	c->refused = true;
	c->shapes = calloc(2 * (size_t)in_count + 1, sizeof(*c->shapes));
	if (!c->shapes) {
		compiled_drop(c);
		return NULL;
	}
	if (in_count)
		memcpy(c->shapes, shapes, 2 * (size_t)in_count * sizeof(*shapes));
	return c;
}

struct compiled *compiled_new(const struct graph *graph, const struct options *options,
			      const struct devices *devices, const struct shape *shapes,
			      uint32_t in_count, const uint32_t *in, uint32_t out_count,
			      const uint32_t *out, int *result, char *message, size_t size)
{
	struct compiled *c = compiled_without_model(options, shapes, in_count);
	struct job job = { .graph = graph, .c = c, .in = in, .out = out, .in_count = in_count,
			   .out_count = out_count, .message = message, .size = size };
	uint32_t made = 0;
	bool good;

	snprintf(message, size, "there is no memory");
	*result = ANEURALNETWORKS_NO_ERROR;
	if (!c)
		return NULL;
	c->in = calloc(in_count + 1, sizeof(*c->in));
	c->out = calloc(out_count + 1, sizeof(*c->out));
	job.model_in = calloc(in_count + 1, sizeof(*job.model_in));
	job.model_out = calloc(out_count + 1, sizeof(*job.model_out));
	job.t = translation_new(graph, &job.b, devices);
	good = c->in && c->out && job.model_in && job.model_out && job.t;
	good = good && translate(&job) && find_outputs(&job) && find_inputs(&job);
	for (uint32_t i = 0; good && i < c->out_count; i++)
		made += !c->out[i].data;
	if (good && made)
		*result = builder_compile(&job.b, NULL, devices, options, c->in_count, job.model_in,
					  made, job.model_out, &c->model, &c->compilation);
	if (*result)
		snprintf(message, size, "cannot compile %u operations: %s", job.b.operation_count,
			 result_name(*result));
	c->refused = job.refused || *result == ANEURALNETWORKS_BAD_DATA;
	good = good && !*result;
	if (good)
		say(options->verbosity, 3, "compiled %u nodes as %u operations, %u inputs, %u "
		    "outputs", graph->node_count, job.b.operation_count, c->in_count, c->out_count);
	translation_free(job.t);
	builder_free(&job.b);
	free(job.model_in);
	free(job.model_out);
	if (good || c->refused)
		return c;
	compiled_drop(c);
	return NULL;
}

void compiled_drop(struct compiled *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->burst_count; i++)
		ANeuralNetworksBurst_free(c->bursts[i]);
	for (uint32_t i = 0; c->out && i < c->out_count; i++)
		free(c->out[i].data);
	ANeuralNetworksCompilation_free(c->compilation);
	ANeuralNetworksModel_free(c->model);
	pthread_mutex_destroy(&c->lock);
	free(c->reason);
	free(c->bursts);
	free(c->shapes);
	free(c->in);
	free(c->out);
	free(c);
}

static ANeuralNetworksBurst *take_burst(struct compiled *c)
{
	ANeuralNetworksBurst *burst = NULL;

	pthread_mutex_lock(&c->lock);
	if (c->burst_count)
		burst = c->bursts[--c->burst_count];
	pthread_mutex_unlock(&c->lock);
	if (!burst && ANeuralNetworksBurst_create(c->compilation, &burst))
		return NULL;
	return burst;
}

static void put_burst(struct compiled *c, ANeuralNetworksBurst *burst)
{
	pthread_mutex_lock(&c->lock);
	if (c->burst_count == c->burst_room) {
		uint32_t room = c->burst_room * 2 + 4;
		ANeuralNetworksBurst **bursts = realloc(c->bursts, room * sizeof(*bursts));

		if (bursts) {
			c->bursts = bursts;
			c->burst_room = room;
		}
	}
	if (c->burst_count < c->burst_room) {
		c->bursts[c->burst_count++] = burst;
		burst = NULL;
	}
	pthread_mutex_unlock(&c->lock);
	ANeuralNetworksBurst_free(burst);
}

int compiled_compute(struct compiled *c, ANeuralNetworksExecution *execution)
{
	ANeuralNetworksBurst *burst = c->options->burst ? take_burst(c) : NULL;
	int result;

	if (!burst)
		return ANeuralNetworksExecution_compute(execution);
	result = ANeuralNetworksExecution_burstCompute(execution, burst);
	if (result)
		ANeuralNetworksBurst_free(burst);
	else
		put_burst(c, burst);
	return result;
}
