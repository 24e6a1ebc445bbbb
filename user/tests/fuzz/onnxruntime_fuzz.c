/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the execution provider for ONNX Runtime with a node of any operator. The fuzzer's input
 * contains records of the node's inputs, some of which are hostile constants, and of the node's
 * attributes. Nodes before and after a quantised node dequantise the inputs and quantise the
 * outputs. The provider chooses nodes that it supports, compiles the chosen nodes, and runs the
 * compiled nodes on the CPU device.
 */
#include "tests/fuzz/records.h"
#include "tests/onnxruntime_play.h"

enum { MOST = 8, MOST_ATTRIBUTES = 6, MOST_ELEMENTS = 4096 };

/*
 * Flags: a QuantizeLinear or a Relu follows the fuzzed node, or the shape of the node's outputs is
 * known.
 */
enum { QUANTISED_OUT = 1, RELU_BEHIND = 2, SHAPE_KNOWN = 4 };

struct header {
	uint8_t op, version, inputs, outputs, attributes, flags, out_type, out_rank;
	uint8_t out_dims[MOST];
};

enum { CONSTANT = 1, OMITTED = 2, OPEN = 4, QUANTISED = 8, ZERO_POINT = 16 };

struct tensor_record {
	uint8_t flags, type, rank, stored, scales, zeros, zero_type, unused;
	uint8_t dims[MOST];
	uint8_t data[16];
};

struct attribute_record {
	uint8_t name, type, count, text;
	int32_t numbers[MOST];
};

static const struct {
	const char *name;
	int first, last;
} ops[] = {
#define OP(name, first, last, translate) { #name, first, last },
#define MICROSOFT(name, translate, is_wide) { "microsoft:" #name, 1, 1 },
#define QLINEAR(name, translate, code, first, out) { "microsoft:" #name, 1, 1 },
#include "clients/onnxruntime/ops/ops.def"
#define ONNX_FUNCTION(name, first, last, y) { #name, first, last },
#define FUNCTION(name, first, last, tflite, y) ONNX_FUNCTION(name, first, last, y)
#include "clients/lower/functions.def"
};

static const char *const names[] = {
	"activations", "allowzero", "alpha", "antialias", "approximate", "auto_pad", "axes",
	"axis", "beta", "bias", "block_size", "blocksize", "ceil_mode", "clip",
	"coordinate_transformation_mode", "count_include_pad", "cubic_coeff_a",
	"detect_negative", "detect_positive", "dilations", "direction", "end", "ends", "epsilon",
	"exclude_outside", "fmod", "gamma", "group", "ignore_index", "input_forget",
	"interleaved", "is_causal", "k", "keep_aspect_ratio_policy", "keepdims",
	"kernel_shape", "kv_num_heads", "lambd", "largest", "layout", "linear_before_reset", "max",
	"min", "mode", "nearest_mode", "noop_with_empty_axes", "num_groups", "num_heads",
	"output_padding", "output_shape", "p", "pads", "perm", "q_num_heads",
	"qk_matmul_output_mode", "reduction", "rotary_embedding_dim", "scale", "scales",
	"select_last_index", "shape", "size", "softcap", "softmax_precision", "spatial", "split",
	"start", "starts", "strides", "training_mode", "transA", "transB", "upper", "value",
};

#define TEXT(text) { text, sizeof(text) - 1 }
static const struct {
	const char *text;
	size_t size;
} texts[] = {
	TEXT("NOTSET"), TEXT("SAME_UPPER"), TEXT("SAME_LOWER"), TEXT("VALID"), TEXT("forward"),
	TEXT("reverse"), TEXT("bidirectional"), TEXT("constant"), TEXT("reflect"), TEXT("edge"),
	TEXT("linear"), TEXT("nearest"), TEXT("cubic"), TEXT("mean"), TEXT("sum"), TEXT("none"),
	TEXT("tanh"), TEXT("align_corners"), TEXT("half_pixel"), TEXT("asymmetric"),
	TEXT("pytorch_half_pixel"), TEXT("floor"), TEXT("ceil"), TEXT("round_prefer_floor"),
	TEXT("round_prefer_ceil"), TEXT("stretch"), TEXT("not_smaller"), TEXT("not_larger"),
	TEXT("DCR"), TEXT("CRD"), TEXT("Sigmoid\0Tanh\0Tanh"), TEXT("Tanh"), TEXT(""),
};

static const int types[] = {
	ONNX_FLOAT, ONNX_FLOAT, ONNX_FLOAT, ONNX_INT64, ONNX_INT32, ONNX_UINT8, ONNX_INT8,
	ONNX_BOOL, ONNX_FLOAT16, ONNX_DOUBLE, ONNX_STRING, ONNX_UINT16,
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* ---- a graph of records ---- */

/* A value of the graph. Only constants and, while the graph runs, inputs have a tensor. */
struct made {
	struct OrtValueInfo info;
	struct OrtValue value;
};

static struct {
	struct made made[8 * MOST];
	char names[8 * MOST][8];
	struct OrtNode nodes[MOST];
	struct OrtOpAttr attributes[MOST_ATTRIBUTES];
	int64_t numbers[MOST_ATTRIBUTES][MOST];
	float reals[MOST_ATTRIBUTES][MOST];
	const struct made *inputs[MOST];
	struct OrtGraph graph;
	size_t count;
	bool is_large;			/* set if an input has too many elements for a run */
} now;

static size_t bytes_of(int type)
{
	return type == ONNX_INT64 || type == ONNX_DOUBLE ? 8 :
	       type == ONNX_FLOAT || type == ONNX_INT32 ? 4 :
	       type == ONNX_FLOAT16 || type == ONNX_UINT16 ? 2 : type == ONNX_STRING ? 0 : 1;
}

static struct made *make(int type, size_t rank, const uint8_t *dims)
{
	struct made *m = &now.made[now.count];

	snprintf(now.names[now.count], sizeof(now.names[0]), "v%zu", now.count);
	m->info.name = now.names[now.count++];
	m->info.info.type = type;
	m->info.info.rank = rank;
	for (size_t i = 0; i < rank; i++)
		m->info.info.dims[i] = size_of_dim(dims[i]);
	m->value.info = m->info.info;
	return m;
}

/*
 * Fills a tensor with as many elements as the tensor's shape has; returns false if the shape has
 * too many elements.
 */
static bool fill(struct made *m, const uint8_t *data, size_t size)
{
	size_t count = 1;

	for (size_t i = 0; i < m->value.info.rank; i++) {
		if (m->value.info.dims[i] > MOST_ELEMENTS)
			return false;
		count *= (size_t)m->value.info.dims[i];
		if (count > MOST_ELEMENTS)
			return false;
	}
	m->value.size = count * bytes_of(m->value.info.type);
	m->value.data = malloc(m->value.size ? m->value.size : 1);
	if (!m->value.data)
		abort();
	for (size_t i = 0; i < m->value.size; i++)
		((uint8_t *)m->value.data)[i] = data[i % size];
	return true;
}

static bool fill_constant(struct made *m, const uint8_t *data, size_t size)
{
	m->info.constant = &m->value;
	return fill(m, data, size);
}

static struct OrtNode *add_node(const char *op, int version)
{
	struct OrtNode *node = &now.nodes[now.graph.node_count];

	node->op = op;
	node->version = version;
	now.graph.nodes[now.graph.node_count++] = node;
	return node;
}

/* Adds a scale and a zero point to the inputs of a QuantizeLinear or DequantizeLinear. */
static bool add_scales(struct OrtNode *node, const struct tensor_record *r, int type)
{
	static const uint8_t half[] = { 0, 0, 0, 0x3f };	/* 0.5f */
	uint8_t one = r->scales;
	struct made *scale = make(ONNX_FLOAT, 1, &one), *zero;

	node->in[node->in_count++] = &scale->info;
	if (!fill_constant(scale, r->zeros & 0x80 ? r->data : half, sizeof(half)))
		return false;
	if (!(r->flags & ZERO_POINT))
		return true;
	one = r->zeros & 0x7f;
	zero = make(r->zero_type % 4 ? type : types[r->zero_type % COUNT(types)], 1, &one);
	node->in[node->in_count++] = &zero->info;
	return fill_constant(zero, r->data, r->zero_type & 0x80 ? sizeof(r->data) : 1);
}

/* Adds an input of the node; *in is NULL if the record omits the input. */
static bool add_input(const struct tensor_record *r, const struct OrtValueInfo **in)
{
	bool quantised = r->flags & QUANTISED;
	int type = types[quantised ? 4u + r->stored % 3 : r->type % COUNT(types)];
	struct made *m;

	*in = NULL;
	if (r->flags & OMITTED)
		return true;
	m = make(type, r->rank % (MOST + 1), r->dims);
	if (r->flags & CONSTANT) {
		if (!fill_constant(m, r->data, sizeof(r->data)))
			return false;
	} else {
		now.is_large |= !fill(m, r->data, sizeof(r->data));
		if (r->flags & OPEN && m->info.info.rank)
			m->info.info.dims[r->data[0] % m->info.info.rank] = -1;
		now.inputs[now.graph.in_count] = m;
		now.graph.in[now.graph.in_count++] = &m->info;
	}
	if (quantised && now.graph.node_count < MOST - 4) {
		struct OrtNode *node = add_node("DequantizeLinear", 13);
		struct made *real = make(ONNX_FLOAT, r->rank % (MOST + 1), r->dims);

		real->info.info = m->info.info;
		real->info.info.type = ONNX_FLOAT;
		node->in[node->in_count++] = &m->info;
		node->out[node->out_count++] = &real->info;
		if (!add_scales(node, r, type))
			return false;
		m = real;
	}
	*in = &m->info;
	return true;
}

static void add_attribute(struct OrtNode *node, const struct attribute_record *r)
{
	size_t i = node->attribute_count, count = r->count % (MOST + 1);
	struct OrtOpAttr *a = &now.attributes[i];
	size_t text = r->text % COUNT(texts);

	a->name = names[r->name % COUNT(names)];
	for (size_t k = 0; k < MOST; k++) {
		now.numbers[i][k] = r->numbers[k];
		now.reals[i][k] = r->text & 0x80 ? (float)r->numbers[k] / 4 : (float)r->numbers[k];
	}
	switch (r->type % 6) {
	case 0:
		*a = (struct OrtOpAttr){ a->name, ORT_ATTRIBUTE_INT, now.numbers[i], 8 };
		break;
	case 1:
	case 2:
		*a = (struct OrtOpAttr){ a->name, ORT_ATTRIBUTE_INTS, now.numbers[i], 8 * count };
		break;
	case 3:
		*a = (struct OrtOpAttr){ a->name, ORT_ATTRIBUTE_FLOAT, now.reals[i], 4 };
		break;
	case 4:
		*a = (struct OrtOpAttr){ a->name, ORT_ATTRIBUTE_FLOATS, now.reals[i], 4 * count };
		break;
	default:
		*a = (struct OrtOpAttr){ a->name, ORT_ATTRIBUTE_STRING, texts[text].text,
					 texts[text].size };
	}
	node->attributes[node->attribute_count++] = a;
}

/*
 * Adds the outputs of the fuzzed node. If the node has a single output, a Relu and a QuantizeLinear
 * may follow the node.
 */
static bool add_outputs(struct OrtNode *node, const struct header *h, const struct tensor_record *r)
{
	struct made *out = NULL;

	for (uint8_t i = 0; i < 1 + h->outputs % 3; i++) {
		out = make(types[h->out_type % COUNT(types)], h->out_rank % (MOST + 1), h->out_dims);
		if (!(h->flags & SHAPE_KNOWN))
			out->info.info.rank = MOST + 1;
		out->info.is_output = true;
		node->out[node->out_count++] = &out->info;
		now.graph.out[now.graph.out_count++] = &out->info;
	}
	if (node->out_count != 1)
		return true;
	for (int i = 0; i < 2; i++) {
		struct OrtNode *behind;
		struct made *next;

		if (!(h->flags & (i ? QUANTISED_OUT : RELU_BEHIND)))
			continue;
		behind = add_node(i ? "QuantizeLinear" : "Relu", 13);
		next = make(i ? types[4 + r->stored % 3] : out->info.info.type, 1, h->out_dims);
		next->info.info.rank = MOST + 1;
		out->info.is_output = false;
		next->info.is_output = true;
		behind->in[behind->in_count++] = &out->info;
		behind->out[behind->out_count++] = &next->info;
		now.graph.out[0] = &next->info;
		if (i && !add_scales(behind, r, next->info.info.type))
			return false;
		out = next;
	}
	return true;
}

static bool read_graph(const uint8_t *data, size_t size)
{
	const struct OrtValueInfo *in[MOST];
	struct tensor_record r = { 0 };
	struct attribute_record a;
	struct OrtNode *node;
	struct header h;
	int version;

	if (!take(&data, &size, &h, sizeof(h)))
		return false;
	h.inputs %= MOST + 1;
	for (uint8_t i = 0; i < h.inputs; i++)
		if (!take(&data, &size, &r, sizeof(r)) || !add_input(&r, &in[i]))
			return false;
	h.op %= COUNT(ops);
	version = ops[h.op].last - h.version % 16;
	node = add_node(ops[h.op].name, version < ops[h.op].first ? ops[h.op].first : version);
	memcpy(node->in, in, h.inputs * sizeof(in[0]));
	node->in_count = h.inputs;
	for (uint8_t i = 0; i < h.attributes % (MOST_ATTRIBUTES + 1); i++) {
		if (!take(&data, &size, &a, sizeof(a)))
			return false;
		add_attribute(node, &a);
	}
	return add_outputs(node, &h, &r);
}

/* ---- what ONNX Runtime does with it ---- */

static OrtStatus *freed(OrtStatus *status)
{
	free(status);
	return NULL;
}

static struct ort_ep_factory *factory;

static struct ort_ep *provider(void)
{
	static struct OrtKeyValuePairs metadata = { { "device" }, { "nnapi-reference" }, 1 };
	static struct OrtKeyValuePairs session = {
		{ "ep.nn.verbosity", "ep.nn.min_work", "ep.nn.preference" },
		{ "0", "0", "low_power" }, 3,
	};
	const OrtKeyValuePairs *list = &metadata;
	OrtEp *ep;
	size_t count;

	if (!factory && CreateEpFactories("NN", &base, NULL, (OrtEpFactory **)&factory, 1, &count))
		abort();
	if (factory->CreateEp((OrtEpFactory *)factory, NULL, &list, 1,
			      (const OrtSessionOptions *)&session, NULL, &ep))
		abort();
	return (struct ort_ep *)ep;
}

static void run(struct ort_node_compute_info *info)
{
	struct OrtKernelContext context = { .in = { NULL } };
	void *state;

	for (size_t i = 0; i < now.graph.in_count; i++)
		context.in[i] = &now.inputs[i]->value;
	freed(info->CreateState((OrtNodeComputeInfo *)info, NULL, &state));
	/* Run the nodes twice, because the second run uses the compilation of the first run. */
	for (int i = 0; i < 2; i++)
		freed(info->Compute((OrtNodeComputeInfo *)info, state, &context));
	info->ReleaseState((OrtNodeComputeInfo *)info, state);
	for (size_t i = 0; i < MOST; i++)
		free(context.out[i].data);
}

static void offer(void)
{
	struct ort_ep *ep = provider();
	struct OrtNode whole = { .op = "whole", .in_count = now.graph.in_count,
				 .out_count = now.graph.out_count };
	const struct OrtGraph *graph = &now.graph;
	const struct OrtNode *node = &whole;
	struct OrtEpGraphSupportInfo info = { .count = 0 };
	OrtNodeComputeInfo *infos[1];
	OrtNode *none_made[1];
	OrtStatus *status;

	memcpy(whole.in, graph->in, sizeof(whole.in));
	memcpy(whole.out, graph->out, sizeof(whole.out));
	freed(ep->GetCapability((OrtEp *)ep, graph, &info));
	status = ep->Compile((OrtEp *)ep, &graph, &node, 1, infos, none_made);
	if (!status) {
		if (!now.is_large)
			run((struct ort_node_compute_info *)infos[0]);
		ep->ReleaseNodeComputeInfos((OrtEp *)ep, infos, 1);
	} else if (!status->text[0]) {
		abort();
	}
	freed(status);
	factory->ReleaseEp((OrtEpFactory *)factory, (OrtEp *)ep);
}

/* ---- nodes that may well be right ---- */

static void add(uint8_t **at, const void *record, size_t size)
{
	memcpy(*at, record, size);
	*at += size;
}

/*
 * Generates a node that is likely to be valid, because it has inputs of equal or broadcast shapes,
 * lists of small numbers, and known attributes.
 */
static size_t generate(uint8_t *data, size_t max_size)
{
	const size_t most = sizeof(struct header) + MOST * sizeof(struct tensor_record) +
			    MOST_ATTRIBUTES * sizeof(struct attribute_record);
	struct header h = {
		.op = (uint8_t)(random() % (long)COUNT(ops)), .version = ANY_OF(0, 0, 0, 1, 4, 8),
		.inputs = ANY_OF(1, 1, 2, 2, 3, 3, 4, 5, 6, 8), .outputs = ANY_OF(0, 0, 0, 0, 1, 2),
		.attributes = (uint8_t)(random() % (MOST_ATTRIBUTES + 1)),
		.flags = ANY_OF(0, 0, 0, QUANTISED_OUT, QUANTISED_OUT | RELU_BEHIND, RELU_BEHIND),
	};
	bool quantised = random() % 3 == 0;
	uint8_t dims[MOST], rank = ANY_OF(1, 2, 3, 4, 4, 4, 5), *at = data;

	if (max_size < most)
		return 0;
	for (size_t i = 0; i < MOST; i++)
		dims[i] = ANY_OF(0, 1, 1, 1, 2, 3, 8);
	add(&at, &h, sizeof(h));
	for (uint8_t i = 0; i < h.inputs; i++) {
		struct tensor_record r = {
			.flags = i ? ANY_OF(0, CONSTANT, CONSTANT, CONSTANT, OMITTED) : ANY_OF(0, 0, CONSTANT),
			.type = ANY_OF(0, 0, 0, 0, 0, 3, 3, 4, 5, 6, 7, 8), .rank = rank,
			.stored = ANY_OF(1, 2), .scales = ANY_OF(0, 0, 0, 1, 2), .zero_type = 1,
		};

		memcpy(r.dims, dims, sizeof(dims));
		r.dims[random() % MOST] = ANY_OF(0, 1, 2, 3, 0xf8, 0xfc);
		if (i && random() % 2) {
			r.rank = ANY_OF(0, 1, 1, 1);
			r.type = ANY_OF(0, 3, 3, 4);
		}
		if (quantised)
			r.flags |= QUANTISED | ZERO_POINT;
		if (random() % 4 == 0)
			r.flags |= OPEN;
		r.zeros = r.scales;
		for (size_t k = 0; k < sizeof(r.data); k++)
			r.data[k] = k % 8 ? 0 : ANY_OF(0, 1, 1, 2, 3, 255);
		if (types[r.type % COUNT(types)] == ONNX_FLOAT && random() % 2)
			memcpy(r.data, ((const float[]){ 1, 2, .5f, -1 }), sizeof(r.data));
		add(&at, &r, sizeof(r));
	}
	for (uint8_t i = 0; i < h.attributes; i++) {
		struct attribute_record a = {
			.name = (uint8_t)(random() % (long)COUNT(names)), .type = (uint8_t)(random() % 6),
			.count = ANY_OF(0, 1, 2, 3, 4, 8), .text = (uint8_t)random(),
		};

		for (size_t k = 0; k < MOST; k++)
			a.numbers[k] = ANY_OF(0, 1, 1, 1, 2, 3) - (random() % 8 == 0 ? 3 : 0);
		add(&at, &a, sizeof(a));
	}
	return (size_t)(at - data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	memset(&now, 0, sizeof(now));
	if (read_graph(data, size))
		offer();
	for (size_t i = 0; i < now.count; i++)
		free(now.made[i].value.data);
	return 0;
}
