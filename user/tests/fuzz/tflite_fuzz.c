/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the delegate for TensorFlow Lite with a node of any operation. The fuzzer's input has the
 * parameters of the node, and records of the node's tensors, some of which are hostile constants.
 * If the delegate supports the node, the delegate compiles the node and runs it on the CPU device.
 */
#include "tests/fuzz/records.h"
#include "tests/tflite_play.h"

enum { MOST_TENSORS = 30, MOST_RANK = 8, MOST_SCALES = 8, CODES = 170 };

/*
 * Flags: the fuzzed node has intermediate results, a RELU follows the node, a second run has
 * another shape, or the node has no parameters.
 */
enum { INTERMEDIATES = 1, RELU_BEHIND = 2, RESHAPED = 4, NO_PARAMS = 8 };

struct header {
	uint8_t code, inputs, outputs, flags;
	uint8_t params[64];
};

enum { CONSTANT = 1, OMITTED = 2, VARIABLE = 4, SHORT = 8, NO_SCALE = 16, PER_CHANNEL = 32 };

struct tensor_record {
	uint8_t flags, type, rank, scale, zero_point, channel, channels, unused;
	uint8_t dims[MOST_RANK];
	uint8_t data[16];
};

static const int types[] = {
	TFL_FLOAT32, TFL_FLOAT32, TFL_FLOAT32, TFL_INT32, TFL_INT32, TFL_UINT8, TFL_INT8,
	TFL_BOOL, TFL_INT64, TFL_FLOAT16, TFL_INT16, TFL_STRING,
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Quantisation parameters; the tensors point to these parameters. */
static struct {
	struct {
		int size;
		float data[MOST_SCALES];
	} scales[MOST_TENSORS];
	struct {
		int size;
		int data[MOST_SCALES];
	} zeros[MOST_TENSORS];
	struct tfl_affine affine[MOST_TENSORS];
	bool is_large;
} now;

static void quantise(struct tfl_tensor *t, int i, const struct tensor_record *r)
{
	t->params.scale = (float)(1 + r->scale) / 16;
	t->params.zero_point = t->type == TFL_UINT8 ? r->zero_point : (int8_t)r->zero_point;
	if (!(r->flags & PER_CHANNEL))
		return;
	now.scales[i].size = r->channels % (MOST_SCALES + 1);
	now.zeros[i].size = r->channels / 16 % (MOST_SCALES + 1);
	for (int k = 0; k < MOST_SCALES; k++) {
		now.scales[i].data[k] = t->params.scale;
		now.zeros[i].data[k] = r->zero_point;
	}
	now.affine[i] = (struct tfl_affine){ (struct tfl_floats *)&now.scales[i],
					     (struct tfl_ints *)&now.zeros[i],
					     (int8_t)r->channel };
	t->quantization.type = TFL_AFFINE_QUANTIZATION;
	t->quantization.params = &now.affine[i];
}

/* Adds a tensor whose memory has the size that the tensor's type and shape require. */
static int add_tensor(struct world *w, const struct tensor_record *r)
{
	int dims[MOST_RANK], i;
	struct tfl_tensor *t;

	for (int k = 0; k < MOST_RANK; k++)
		dims[k] = (int)size_of_dim(r->dims[k]);
	i = tensor(w, types[r->type % COUNT(types)], r->rank % (MOST_RANK + 1), dims);
	t = &w->tensors[i];
	if (r->flags & SHORT)
		t->bytes = r->data[0] % (t->bytes + 1);
	t->contents = NULL;
	t->is_variable = r->flags & VARIABLE;
	if (r->flags & CONSTANT)
		t->allocation_type = TFL_READ_ONLY;
	if (!(r->flags & NO_SCALE))
		quantise(t, i, r);
	if (t->bytes > MOST_BYTES) {
		now.is_large = true;
		return i;
	}
	t->contents = malloc(t->bytes ? t->bytes : 1);
	if (!t->contents)
		abort();
	for (size_t b = 0; b < t->bytes; b++)
		((uint8_t *)t->contents)[b] = r->data[b % sizeof(r->data)];
	return i;
}

static bool read_world(struct world *w, const uint8_t *data, size_t size)
{
	struct tensor_record r;
	struct header h;
	int n, out;

	if (!take(&data, &size, &h, sizeof(h)))
		return false;
	n = node(w, h.code % CODES, 0, -2, 0);
	w->inputs[n].size = w->outputs[n].size = 0;
	memcpy(w->params[n], h.params, sizeof(h.params));
	if (h.flags & NO_PARAMS)
		w->nodes[n].builtin_data = NULL;
	h.inputs %= MOST_TENSORS - 4;
	h.outputs = 1 + h.outputs % 4;
	for (uint8_t i = 0; i < h.inputs + h.outputs; i++) {
		bool is_input = i < h.inputs;

		if (w->num_tensors == MOST_TENSORS - 1 || !take(&data, &size, &r, sizeof(r)))
			return false;
		if (!is_input)
			r.flags &= (uint8_t)~(CONSTANT | OMITTED);
		append(is_input ? &w->inputs[n] : &w->outputs[n],
		       r.flags & OMITTED ? -1 : add_tensor(w, &r));
	}
	if (h.flags & INTERMEDIATES && w->num_tensors >= 5) {
		static struct list list = { 5, { 0, 1, 2, 3, 4 } };

		w->nodes[n].intermediates = (struct tfl_ints *)&list;
	}
	if (h.flags & RELU_BEHIND) {
		out = w->outputs[n].data[0];
		node(w, 19, out, -2, add_tensor(w, &r));
	}
	return true;
}

static void run(struct world *w)
{
	for (int i = 0; i < w->num_kernels; i++)
		if (w->kernels[i].user_data &&
		    w->kernel.prepare(&w->context, &w->kernels[i]) == TFL_OK && !now.is_large)
			w->kernel.invoke(&w->context, &w->kernels[i]);
}

/*
 * Halves the first dimension of all tensors that are not constants, as an application does when it
 * resizes tensors.
 */
static void resize_again(struct world *w)
{
	for (int i = 0; i < w->num_tensors; i++) {
		struct tfl_tensor *t = &w->tensors[i];

		if (t->allocation_type == TFL_READ_ONLY || !w->dims[i].size || t->bytes < size_of(t))
			continue;
		w->dims[i].data[0] = w->dims[i].data[0] / 2 + w->dims[i].data[0] % 2;
		t->bytes = size_of(t);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *options[] = { "device", "min_work", "preference", "verbosity" };
	static char *values[] = { "nnapi-reference", "0", "low_power", "0" };
	struct world *w = world();
	struct tfl_delegate *d = NULL;

	memset(&now, 0, sizeof(now));
	if (read_world(w, data, size)) {
		d = tflite_plugin_create_delegate(options, values, COUNT(options), NULL);
		if (!d || d->prepare(&w->context, d) != TFL_OK)
			abort();
		run(w);
		if (data[3] & RESHAPED) {
			resize_again(w);
			run(w);
		}
	}
	for (int i = 0; i < w->num_tensors; i++)
		free(w->tensors[i].contents);
	destroy(w);
	tflite_plugin_destroy_delegate(d);
	return 0;
}

/* ---- nodes that may well be right ---- */

static size_t generate(uint8_t *data, size_t max_size)
{
	struct header h = {
		.code = (uint8_t)(random() % CODES),
		.inputs = ANY_OF(1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 9, 20, 24),
		.outputs = ANY_OF(0, 0, 0, 0, 0, 1, 3),
		.flags = ANY_OF(0, 0, RELU_BEHIND, RESHAPED, INTERMEDIATES),
	};
	struct tensor_record r = {
		.type = ANY_OF(0, 0, 0, 0, 3, 5, 5, 6, 6, 7), .rank = ANY_OF(1, 2, 2, 3, 4, 4, 4),
		.scale = 7, .channels = 1,
	};
	uint8_t type = r.type, rank = r.rank, dims[MOST_RANK], *at = data;
	const size_t size = sizeof(h) + (h.inputs + h.outputs + 1u) * sizeof(r);

	if (max_size < size)
		return 0;
	for (size_t i = 0; i < sizeof(h.params); i++)
		h.params[i] = i % 4 && random() % 8 ? 0 : ANY_OF(0, 0, 1, 1, 2, 3);
	memcpy(at, &h, sizeof(h));
	at += sizeof(h);
	for (size_t i = 0; i < MOST_RANK; i++)
		dims[i] = ANY_OF(1, 1, 1, 1, 2, 3, 0);
	for (int i = 0; i < h.inputs + h.outputs + 1; i++) {
		r.flags = i && i < h.inputs ? ANY_OF(0, CONSTANT, CONSTANT, OMITTED, VARIABLE) : 0;
		if (random() % 16 == 0)
			r.flags |= ANY_OF(SHORT, NO_SCALE, PER_CHANNEL, PER_CHANNEL);
		r.type = random() % 8 ? type : ANY_OF(0, 3, 5, 6, 10);
		r.rank = random() % 8 ? rank : ANY_OF(1, 1, 2, 4);
		memcpy(r.dims, dims, sizeof(dims));
		r.dims[random() % MOST_RANK] = ANY_OF(0, 1, 2, 3, 9);
		if (i && i < h.inputs && random() % 3 == 0) {
			r.type = 3;
			r.rank = ANY_OF(0, 1, 1, 2);
			r.flags |= CONSTANT;
		}
		for (size_t k = 0; k < sizeof(r.data); k++)
			r.data[k] = k % 4 ? 0 : ANY_OF(0, 1, 1, 2, 3, 255);
		memcpy(at, &r, sizeof(r));
		at += sizeof(r);
	}
	return size;
}
