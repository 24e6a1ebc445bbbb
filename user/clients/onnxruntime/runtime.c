// SPDX-License-Identifier: MIT
#include "runtime.h"

#include <stdlib.h>

struct runtime {
	const struct ort *ort;
	OrtEnv *env;
	OrtSession *session;		/* NULL if ONNX Runtime makes no session */
	/* names and indices of the inputs that are no constants, and of the outputs */
	const char **in, **out;
	uint32_t *in_at, *out_at;
	uint32_t in_count, out_count;
};

static _Thread_local bool in_making;

bool runtime_in_making(void)
{
	return in_making;
}

/* ---- the graph as a serialised ModelProto of ONNX ---- */

enum { IR_VERSION = 10, LENGTH_BYTES = 5, MOST_BYTES = INT32_MAX };
enum { VARINT, LENGTH = 2, FIXED32 = 5 };	/* wire types of Protocol Buffers */

struct message {
	uint8_t *bytes;
	size_t size, room;
	bool failed;
};

static void put(struct message *m, const void *bytes, size_t size)
{
	if (m->failed || size > MOST_BYTES - m->size) {
		m->failed = true;
		return;
	}
	if (m->size + size > m->room) {
		size_t room = 2 * (m->size + size) + 256;
		uint8_t *grown = realloc(m->bytes, room);

		m->failed = !grown;
		if (!grown)
			return;
		m->bytes = grown;
		m->room = room;
	}
	memcpy(m->bytes + m->size, bytes, size);
	m->size += size;
}

static void put_varint(struct message *m, uint64_t number)
{
	uint8_t byte;

	do {
		byte = (uint8_t)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
		put(m, &byte, 1);
		number >>= 7;
	} while (number);
}

static void put_tag(struct message *m, uint32_t field, uint32_t wire)
{
	put_varint(m, field << 3 | wire);
}

static void put_int(struct message *m, uint32_t field, int64_t number)
{
	put_tag(m, field, VARINT);
	put_varint(m, (uint64_t)number);
}

static void put_bytes(struct message *m, uint32_t field, const void *bytes, size_t size)
{
	put_tag(m, field, LENGTH);
	put_varint(m, size);
	put(m, bytes, size);
}

static void put_text(struct message *m, uint32_t field, const char *text)
{
	put_bytes(m, field, text, strlen(text));
}

/* Begins a message in the message; end() writes its length, always in LENGTH_BYTES bytes. */
static size_t begin(struct message *m, uint32_t field)
{
	put_tag(m, field, LENGTH);
	put(m, (uint8_t[LENGTH_BYTES]){ 0 }, LENGTH_BYTES);
	return m->size;
}

static void end(struct message *m, size_t start)
{
	size_t length = m->size - start;

	for (int i = 0; !m->failed && i < LENGTH_BYTES; i++, length >>= 7)
		m->bytes[start - LENGTH_BYTES + i] = (uint8_t)((length & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
}

static void put_tensor(struct message *m, uint32_t field, const char *name, int type,
		       const struct shape *shape, const void *data, size_t size)
{
	const size_t start = begin(m, field);

	for (int i = 0; i < shape->rank; i++)
		put_int(m, 1, shape->dims[i]);
	put_int(m, 2, type);
	put_text(m, 8, name);
	put_bytes(m, 9, data, size);
	end(m, start);
	m->failed |= !onnx_size(type) || !data;
}

static void put_attribute(struct message *m, const struct attribute *a)
{
	/* Field of an element, and number of the type, of AttributeProto. */
	static const struct {
		uint8_t field, type;
	} kinds[] = {
		[ORT_ATTRIBUTE_INT] = { 3, 2 },	    [ORT_ATTRIBUTE_INTS] = { 8, 7 },
		[ORT_ATTRIBUTE_FLOAT] = { 2, 1 },   [ORT_ATTRIBUTE_FLOATS] = { 7, 6 },
		[ORT_ATTRIBUTE_STRING] = { 4, 3 },  [ORT_ATTRIBUTE_STRINGS] = { 9, 8 },
		[ORT_ATTRIBUTE_TENSOR] = { 5, 4 },
	};
	const size_t start = begin(m, 5);
	const uint32_t field = a->kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[a->kind].field : 0;

	put_text(m, 1, a->name);
	for (size_t i = 0; a->ints && i < a->count; i++)
		put_int(m, field, a->ints[i]);
	for (size_t i = 0; a->floats && i < a->count; i++) {
		put_tag(m, field, FIXED32);
		put(m, &a->floats[i], sizeof(a->floats[i]));
	}
	if (a->kind == ORT_ATTRIBUTE_STRING)
		put_bytes(m, field, a->string, a->count);
	else
		for (size_t i = 0; a->string && i < a->count; i += strlen(a->string + i) + 1)
			put_text(m, field, a->string + i);
	if (a->kind == ORT_ATTRIBUTE_TENSOR)
		put_tensor(m, field, "", a->type, &a->shape, a->data, a->size);
	m->failed |= !field;
	put_int(m, 20, field ? kinds[a->kind].type : 0);
	end(m, start);
}

static void put_names(struct message *m, uint32_t field, const struct graph *graph, const uint32_t *values,
		      uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		put_text(m, field, values[i] == NO_VALUE ? "" : graph->values[values[i]].name);
}

static void put_node(struct message *m, const struct graph *graph, const struct node *node)
{
	const size_t start = begin(m, 1);

	put_names(m, 1, graph, node->in, node->in_count);
	put_names(m, 2, graph, node->out, node->out_count);
	put_text(m, 3, node->name);
	put_text(m, 4, node->op);
	for (uint32_t i = 0; i < node->attribute_count; i++)
		put_attribute(m, &node->attributes[i]);
	put_text(m, 7, node->domain);
	end(m, start);
}

/* An input or output of the graph, of unknown shape. */
static void put_port(struct message *m, uint32_t field, const struct value *value)
{
	const size_t start = begin(m, field);
	size_t type, tensor;

	put_text(m, 1, value->name);
	type = begin(m, 2);
	tensor = begin(m, 1);
	put_int(m, 1, value->type);
	end(m, tensor);
	end(m, type);
	end(m, start);
}

static void put_model(struct message *m, const struct graph *graph, const struct runtime *r,
		      const uint32_t *in, const uint32_t *out)
{
	size_t start;

	put_int(m, 1, IR_VERSION);
	for (uint32_t i = 0; i < graph->domain_count; i++) {
		start = begin(m, 8);
		put_text(m, 1, graph->domains[i].name);
		put_int(m, 2, graph->domains[i].version);
		end(m, start);
	}
	start = begin(m, 7);
	put_text(m, 2, "part");
	for (uint32_t i = 0; i < graph->node_count; i++)
		put_node(m, graph, &graph->nodes[i]);
	for (uint32_t i = 0; i < graph->value_count; i++)
		if (graph->values[i].data)
			put_tensor(m, 5, graph->values[i].name, graph->values[i].type, &graph->values[i].shape,
				   graph->values[i].data, graph->values[i].size);
	for (uint32_t i = 0; i < r->in_count; i++)
		put_port(m, 11, &graph->values[in[r->in_at[i]]]);
	for (uint32_t i = 0; i < r->out_count; i++)
		put_port(m, 12, &graph->values[out[r->out_at[i]]]);
	end(m, start);
}

/* ---- the session ---- */

static void open_session(struct runtime *r, const struct message *m)
{
	const struct ort *ort = r->ort;
	OrtSessionOptions *options = NULL;

	in_making = true;
	if (ort_ok(ort, ort->CreateEnv(ORT_LEVEL_FATAL, "nnaccel", &r->env)) &&
	    ort_ok(ort, ort->CreateSessionOptions(&options)) &&
	    ort_ok(ort, ort->SetSessionLogSeverityLevel(options, ORT_LEVEL_FATAL)) &&
	    /*
	     * Optimised nodes of ONNX Runtime, such as fused ones and those in another layout of
	     * images, fail with a batch of 0.
	     */
	    ort_ok(ort, ort->SetSessionGraphOptimizationLevel(options, ORT_OPTIMIZE_NOTHING)) &&
	    ort_ok(ort, ort->SetIntraOpNumThreads(options, 1)))
		ort_ok(ort, ort->CreateSessionFromArray(r->env, m->bytes, m->size, options, &r->session));
	in_making = false;
	if (options)
		ort->ReleaseSessionOptions(options);
}

static bool list_ports(const struct graph *graph, uint32_t count, const uint32_t *values, const char ***names,
		       uint32_t **at, uint32_t *named)
{
	*names = calloc(count + 1, sizeof(**names));
	*at = calloc(count + 1, sizeof(**at));
	for (uint32_t i = 0; *names && *at && i < count; i++) {
		if (values[i] == NO_VALUE || graph->values[values[i]].data)
			continue;
		(*names)[*named] = graph->values[values[i]].name;
		(*at)[(*named)++] = i;
	}
	return *names && *at;
}

struct runtime *runtime_new(const struct graph *graph, uint32_t in_count, const uint32_t *in,
			    uint32_t out_count, const uint32_t *out)
{
	struct runtime *r = calloc(1, sizeof(*r));
	struct message m = { 0 };
	bool good;

	if (!r)
		return NULL;
	r->ort = graph->ort;
	good = list_ports(graph, in_count, in, &r->in, &r->in_at, &r->in_count) &&
	       list_ports(graph, out_count, out, &r->out, &r->out_at, &r->out_count);
	if (good)
		put_model(&m, graph, r, in, out);
	good = good && !m.failed;
	if (good)
		open_session(r, &m);
	free(m.bytes);
	if (good)
		return r;
	runtime_free(r);
	return NULL;
}

void runtime_free(struct runtime *r)
{
	if (!r)
		return;
	if (r->session)
		r->ort->ReleaseSession(r->session);
	if (r->env)
		r->ort->ReleaseEnv(r->env);
	free(r->in);
	free(r->out);
	free(r->in_at);
	free(r->out_at);
	free(r);
}

/* Copies a tensor to an output of the run. */
static bool copy_out(const struct ort *ort, const OrtValue *from, OrtKernelContext *context, uint32_t index)
{
	struct shape shape;
	const void *data = NULL;
	OrtValue *to;
	void *bytes;
	size_t size;
	int type;

	if (!tensor_read(ort, from, &type, &shape, &data, &size) || !data || shape.rank < 0 ||
	    !ort_ok(ort, ort->KernelContext_GetOutput(context, index, shape.dims, (size_t)shape.rank, &to)) ||
	    !ort_ok(ort, ort->GetTensorMutableData(to, &bytes)))
		return false;
	/* An output without elements has no memory. */
	if (size)
		memcpy(bytes, data, size);
	return true;
}

bool runtime_run(const struct runtime *r, OrtKernelContext *context)
{
	const struct ort *ort = r->ort;
	const OrtValue **in = calloc(r->in_count + 1, sizeof(*in));
	OrtValue **out = calloc(r->out_count + 1, sizeof(*out));
	bool good = in && out && r->session;

	for (uint32_t i = 0; good && i < r->in_count; i++)
		good = ort_ok(ort, ort->KernelContext_GetInput(context, r->in_at[i], &in[i]));
	good = good && ort_ok(ort, ort->Run(r->session, NULL, r->in, in, r->in_count, r->out, r->out_count, out));
	for (uint32_t i = 0; good && i < r->out_count; i++)
		good = copy_out(ort, out[i], context, r->out_at[i]);
	for (uint32_t i = 0; out && i < r->out_count; i++)
		if (out[i])
			ort->ReleaseValue(out[i]);
	free(in);
	free(out);
	return good;
}
