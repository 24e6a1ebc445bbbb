/* SPDX-License-Identifier: MIT */
/*
 * Replaces operations on NCHW images by operations on NHWC images, which have fast kernels.
 */
#include <string.h>

#include "model/operand.h"
#include "ops/traits.h"
#include "plan/passes/rewrite.h"

#define NONE UINT32_MAX
#define WANTED_SHAPE 3		/* index of TRANSPOSE_CONV_2D's input that has the output shape */
#define VALUE_SIZE 32		/* bytes of the largest constant that this pass adds */

/* The NCHW axis of each NHWC axis, and the NHWC axis of each NCHW axis. */
static const uint32_t to_nhwc[] = { 0, 2, 3, 1 }, to_nchw[] = { 0, 3, 1, 2 };

/*
 * Properties of an operand that only the NHWC pass uses. The original operand is in NCHW, and
 * remains in the model only if rewrite.is_there is set.
 */
struct fact {
	uint32_t twin;			/* the operand's version in NHWC, or NONE */
	uint32_t wanted;		/* number of operations that read the operand in NHWC */
	uint32_t reader;		/* the last operation that reads the operand, or NONE */
};

struct nhwc {
	struct rewrite r;
	struct fact *facts;
	/* Constants with the permutations to NHWC and to NCHW; NONE if not yet added. */
	uint32_t permutations[2];
};

/* ---- What can be transposed ---- */

/*
 * Returns the integers of a constant list, or NULL if the operand is not a constant list of `count`
 * integers. The error of a wrong operand is reported later, by the operation that reads it.
 */
static const void *ints_of(const struct nn_model *model, const struct nn_operand *o, uint32_t count)
{
	return nn_operand_value_of_count(model, o, NN_TENSOR_INT32, count, NULL);
}

/*
 * Returns whether an operation has its output's shape as an input. Only TRANSPOSE_CONV_2D can have
 * the output's shape as an input.
 */
static bool has_wanted_shape(const struct nn_operation *o)
{
	return o->type == NN_OP_TRANSPOSE_CONV_2D && o->num_inputs == 9;
}

/*
 * Returns the position of the input that selects NCHW, for an operation on images. Returns NONE if
 * the operation is not in NCHW, or if it cannot be computed in NHWC.
 */
static uint32_t nchw_input(const struct nn_model *model, const struct nn_operation *o)
{
	const struct nn_subgraph *s = &model->subgraphs[0];
	uint32_t input = nn_operation_layout(s, o);
	const struct nn_operand *flag;
	const uint8_t *value;

	if (!input || input >= o->num_inputs || s->operands[o->inputs[0]].rank != 4 ||
	    s->operands[o->outputs[0]].rank != 4)
		return NONE;
	if (has_wanted_shape(o) && !ints_of(model, &s->operands[o->inputs[WANTED_SHAPE]], 4))
		return NONE;
	flag = &s->operands[o->inputs[input]];
	value = nn_operand_value_of_count(model, flag, NN_BOOL, 1, NULL);
	return value && *value ? input : NONE;
}

/*
 * Returns whether an operation also has kernels for NCHW images. An operation with NCHW kernels is
 * only computed in NHWC if its input already is in NHWC.
 */
static bool takes_both(const struct nn_operation *o)
{
	return nn_traits(o->type)->takes_nchw;
}

/* Returns whether an image exists in NHWC but not in NCHW. */
static bool is_transposed(const struct nhwc *w, uint32_t operand)
{
	return w->facts[operand].twin != NONE && !w->r.is_there[operand];
}

static bool is_known_image(const struct nn_operand *o)
{
	return o->rank == 4 && o->dims[0] && o->dims[1] && o->dims[2] && o->dims[3];
}

/* Returns whether a constant has one element, or one element for each channel of an NCHW image. */
static bool is_by_channel(const struct nn_model *model, const struct nn_operand *o)
{
	uint32_t count = 1;

	for (uint32_t i = 0; i < o->rank; i++) {
		if (o->dims[i] != 1 && i + 3 != o->rank)
			return false;
		count *= o->dims[i];
	}
	return o->rank && o->rank <= 4 && nn_operand_value_of_count(model, o, o->type, count, NULL);
}

/*
 * Returns whether an arithmetic operation on two operands is computed in NHWC. The operands must be
 * two images in NHWC, or one image in NHWC and constants for each channel.
 */
static bool is_transposed_arithmetic(const struct nhwc *w, const struct nn_model *model,
				     const struct nn_operation *o)
{
	const struct nn_operand *operands = model->subgraphs[0].operands;
	uint32_t images = 0;

	for (uint32_t i = 0; i < 2; i++) {
		const struct nn_operand *x = &operands[o->inputs[i]];

		if (is_known_image(x) && is_transposed(w, o->inputs[i]))
			images++;
		else if (!is_by_channel(model, x))
			return false;
	}
	return images && is_known_image(&operands[o->outputs[0]]);
}

/*
 * Returns whether an operation without a layout argument is computed in NHWC. Sets *images to the
 * number of the operation's inputs that are images.
 */
static bool follows(const struct nhwc *w, const struct nn_model *model,
		    const struct nn_operation *o, uint32_t *images)
{
	const struct nn_operand *operands = model->subgraphs[0].operands;

	*images = 1;
	if (!o->num_inputs || o->num_outputs != 1 || operands[o->outputs[0]].rank != 4)
		return false;
	if (nn_traits(o->type)->elementwise == 2) {
		*images = 2;
		return is_transposed_arithmetic(w, model, o);
	}
	if (operands[o->inputs[0]].rank != 4)
		return false;
	if (nn_traits(o->type)->elementwise == 1)
		return is_transposed(w, o->inputs[0]);
	/* SLICE has lists with one element for each axis, in the order of the image's axes. */
	if (o->type == NN_OP_SLICE)
		return is_transposed(w, o->inputs[0]) &&
		       ints_of(model, &operands[o->inputs[1]], 4) &&
		       ints_of(model, &operands[o->inputs[2]], 4) &&
		       is_known_image(&operands[o->outputs[0]]);
	/*
	 * CONCATENATION has any number of images as inputs, and the axis as its last input. The
	 * plan later transposes constant images once.
	 */
	if (o->type == NN_OP_CONCATENATION) {
		uint32_t transposed = 0;

		*images = o->num_inputs - 1;
		for (uint32_t i = 0; i < *images; i++) {
			if (is_transposed(w, o->inputs[i]))
				transposed++;
			else if (!nn_operand_is_constant(&operands[o->inputs[i]]))
				return false;
		}
		return transposed &&
		       nn_operand_value_of_count(model, &operands[o->inputs[*images]], NN_INT32, 1,
						 NULL);
	}
	if (!nn_traits(o->type)->pads)
		return false;
	return ints_of(model, &operands[o->inputs[1]], 8) && operands[o->inputs[1]].rank == 2 &&
	       operands[o->inputs[1]].dims[0] == 4 && operands[o->inputs[1]].dims[1] == 2 &&
	       (is_transposed(w, o->inputs[0]) ||
		(w->facts[o->outputs[0]].wanted &&
		 w->facts[o->outputs[0]].wanted == operands[o->outputs[0]].consumers));
}

/* ---- New operands and operations ---- */

static uint32_t add_constant(struct nhwc *w, int32_t type, uint32_t rank, uint32_t rows,
			     const void *value, uint32_t size)
{
	uint32_t index = w->r.subgraph.num_operands++;

	w->r.operands[index] = (struct nn_operand){
		.type = type,
		.rank = rank,
		.dims = { rank ? rows : 0, rank > 1 ? 2 : 0 },
		.lifetime = NN_CONSTANT_COPY,
		.location = { .length = size, .offset = w->r.model.values_size },
	};
	memcpy(w->r.bytes + w->r.model.values_size, value, size);
	w->r.model.values_size += VALUE_SIZE;
	return index;
}

static void add_permutation(struct nhwc *w, uint32_t from, uint32_t to, uint32_t permutation)
{
	/*
	 * Passes usually look at the traits of an operation, not at its name. This code names
	 * TRANSPOSE, because the pass itself adds this operation.
	 */
	rewrite_add(&w->r, NN_OP_TRANSPOSE, 2, 1, (uint32_t[]){ from, permutation }, &to);
}

static void add_transpose(struct nhwc *w, uint32_t from, uint32_t to, bool nchw)
{
	uint32_t *permutation = &w->permutations[nchw];

	if (*permutation == NONE)
		*permutation = add_constant(w, NN_TENSOR_INT32, 1, 4, nchw ? to_nchw : to_nhwc,
					    sizeof(to_nhwc));
	add_permutation(w, from, to, *permutation);
}

/* ---- Turning ---- */

/*
 * Adds an operand for the NHWC version of an image. The caller adds the operation that writes the
 * NHWC operand.
 */
static uint32_t add_twin(struct nhwc *w, uint32_t index)
{
	const struct nn_operand *o = &w->r.operands[index];
	uint32_t dims[4];

	for (uint32_t i = 0; i < 4; i++)
		dims[i] = o->dims[to_nhwc[i]];
	w->facts[index].twin = rewrite_operand(&w->r, index, o->type, 4, dims);
	return w->facts[index].twin;
}

static void need_nchw(struct nhwc *w, uint32_t index)
{
	if (w->r.is_there[index] || w->facts[index].twin == NONE)
		return;
	add_transpose(w, w->facts[index].twin, index, true);
	w->r.is_there[index] = true;
}

/*
 * Returns the NHWC version of an operation's input. The NHWC version of constants for each channel
 * is a vector.
 */
static uint32_t transposed_input(struct nhwc *w, const struct nn_operation *o, uint32_t index)
{
	const uint32_t from = o->inputs[index];
	const struct nn_operand *x = &w->r.operands[from];
	uint32_t vector;

	if (nn_traits(o->type)->elementwise != 2 || is_transposed(w, from)) {
		if (w->facts[from].twin == NONE)
			add_transpose(w, from, add_twin(w, from), false);
		return w->facts[from].twin;
	}
	vector = w->r.subgraph.num_operands++;
	w->r.operands[vector] = *x;
	w->r.operands[vector].rank = 1;
	memset(w->r.operands[vector].dims, 0, sizeof(x->dims));
	w->r.operands[vector].dims[0] = x->rank > 2 ? x->dims[x->rank - 3] : 1;
	return vector;
}

/*
 * Converts the paddings, the axis or the bounds of an operation without a layout argument from NCHW
 * to NHWC.
 */
static void transpose_arguments(struct nhwc *w, const struct nn_model *from, uint32_t *list,
				const struct nn_operation *o)
{
	const struct nn_operand *operands = from->subgraphs[0].operands;
	uint32_t last = o->num_inputs - 1;
	int32_t pads[8], transposed[8], axis;

	/* The function follows() has already checked the arguments of the operation. */
	if (o->type == NN_OP_CONCATENATION) {
		memcpy(&axis, nn_operand_value_of_count(from, &operands[o->inputs[last]], NN_INT32,
							1, NULL), sizeof(axis));
		/*
		 * An invalid axis is not changed; the CONCATENATION later reports the invalid axis.
		 */
		if (axis >= 0 && axis < 4)
			axis = (int32_t)to_nchw[axis];
		list[last] = add_constant(w, NN_INT32, 0, 0, &axis, sizeof(axis));
	} else if (nn_traits(o->type)->pads) {
		memcpy(pads, ints_of(from, &operands[o->inputs[1]], 8), sizeof(pads));
		for (uint32_t i = 0; i < 8; i++)
			transposed[i] = pads[2 * to_nhwc[i / 2] + i % 2];
		list[1] = add_constant(w, NN_TENSOR_INT32, 2, 4, transposed, sizeof(transposed));
	} else if (o->type == NN_OP_SLICE) {	/* begin and size */
		for (uint32_t k = 1; k < 3; k++) {
			memcpy(pads, ints_of(from, &operands[o->inputs[k]], 4), 4 * sizeof(*pads));
			for (uint32_t i = 0; i < 4; i++)
				transposed[i] = pads[to_nhwc[i]];
			list[k] = add_constant(w, NN_TENSOR_INT32, 1, 4, transposed,
					       4 * sizeof(*transposed));
		}
	}
}

/* Converts the requested output shape of an operation to NHWC. */
static void transpose_shape(struct nhwc *w, const struct nn_model *from, uint32_t *list,
			    const struct nn_operation *o)
{
	const struct nn_operand *shape = &from->subgraphs[0].operands[o->inputs[WANTED_SHAPE]];
	int32_t dims[4], transposed[4];

	memcpy(dims, ints_of(from, shape, 4), sizeof(dims));
	for (uint32_t i = 0; i < 4; i++)
		transposed[i] = dims[to_nhwc[i]];
	list[WANTED_SHAPE] = add_constant(w, NN_TENSOR_INT32, 1, 4, transposed, sizeof(transposed));
}

/*
 * Adds the NHWC version of an operation on images. The first `images` inputs of the operation are
 * images.
 */
static void transpose_operation(struct nhwc *w, const struct nn_model *from,
				const struct nn_operation *o, uint32_t images, uint32_t flag)
{
	uint32_t *list, inputs[2];

	/* The transposes of inputs are added first, because they must run before the operation. */
	for (uint32_t i = 0; i < images; i++) {
		uint32_t input = transposed_input(w, o, i);

		if (i < 2)
			inputs[i] = input;
	}
	list = rewrite_add(&w->r, o->type, o->num_inputs, 1, o->inputs, o->outputs);
	for (uint32_t i = 0; i < images; i++)
		list[i] = i < 2 ? inputs[i] : w->facts[o->inputs[i]].twin;
	list[o->num_inputs] = add_twin(w, o->outputs[0]);
	w->r.is_there[o->outputs[0]] = false;
	if (flag != NONE)
		list[flag] = add_constant(w, NN_BOOL, 0, 0, &(uint8_t){ 0 }, 1);
	else
		transpose_arguments(w, from, list, o);
	if (has_wanted_shape(o))
		transpose_shape(w, from, list, o);
}

/* ---- Channels in another order ---- */

/*
 * A channel shuffle consists of RESHAPE, TRANSPOSE and RESHAPE, and changes the order of channels
 * from [rows, columns] to [columns, rows].
 */
struct shuffle {
	const struct nn_operation *last;
	uint32_t rows;
	uint32_t columns;
};

/*
 * Returns the only operation that reads the output of `o`. Returns NULL if several operations read
 * the output, or if the output is not input 0 of the reader.
 */
static const struct nn_operation *only_reader(const struct nhwc *w, const struct nn_model *model,
					      const struct nn_operation *o)
{
	const struct nn_subgraph *s = &model->subgraphs[0];
	const struct nn_operand *out = &s->operands[o->outputs[0]];
	const struct nn_operation *reader;

	if (out->lifetime != NN_TEMPORARY || out->consumers != 1 ||
	    w->facts[o->outputs[0]].reader == NONE)
		return NULL;
	reader = &s->operations[w->facts[o->outputs[0]].reader];
	return reader->inputs[0] == o->outputs[0] ? reader : NULL;
}

/*
 * Returns whether `permutation` exchanges rows and columns of a shape that is [batch, rows,
 * columns, pixels], or [rows, columns, pixels] for a batch of 1.
 */
static bool is_divided(const struct nn_operand *image, const struct nn_operand *o,
		       const int32_t *permutation, struct shuffle *found)
{
	const uint32_t *dims = o->dims + (o->rank == 4);
	const int32_t first = o->rank == 4;

	if (o->rank != 4 && (o->rank != 3 || image->dims[0] != 1))
		return false;
	for (int32_t i = 0; i < (int32_t)o->rank; i++)
		if (permutation[i] != (i == first ? i + 1 : i == first + 1 ? i - 1 : i))
			return false;
	found->rows = dims[0];
	found->columns = dims[1];
	return (!first || o->dims[0] == image->dims[0]) && dims[0] && dims[1] &&
	       (uint64_t)dims[0] * dims[1] == image->dims[1] &&
	       (uint64_t)image->dims[2] * image->dims[3] == dims[2];
}

static bool find_shuffle(const struct nhwc *w, const struct nn_model *model,
			 const struct nn_operation *o, struct shuffle *found)
{
	const struct nn_operand *operands = model->subgraphs[0].operands;
	const struct nn_operand *image, *transposed, *permutation;
	const struct nn_operation *middle;
	uint32_t rank;
	int32_t order[4];

	if (!nn_traits(o->type)->only_reshapes || !is_transposed(w, o->inputs[0]))
		return false;
	image = &operands[o->inputs[0]];
	/* The second operation of a shuffle must exchange rows and columns of channels. */
	middle = only_reader(w, model, o);
	if (!middle || middle->type != NN_OP_TRANSPOSE || !is_known_image(image))
		return false;
	found->last = only_reader(w, model, middle);
	permutation = &operands[middle->inputs[middle->num_inputs - 1]];
	rank = operands[middle->inputs[0]].rank;
	if (!found->last || !nn_traits(found->last->type)->only_reshapes || rank > 4 ||
	    !ints_of(model, permutation, rank))
		return false;
	memcpy(order, ints_of(model, permutation, rank), rank * sizeof(*order));
	transposed = &operands[found->last->outputs[0]];
	return is_known_image(transposed) &&
	       !memcmp(transposed->dims, image->dims, 4 * sizeof(*image->dims)) &&
	       is_divided(image, &operands[o->outputs[0]], order, found);
}

static void add_reshape(struct nhwc *w, uint32_t from, uint32_t to)
{
	const struct nn_operand *o = &w->r.operands[to];
	uint32_t shape = add_constant(w, NN_TENSOR_INT32, 1, o->rank, o->dims,
				      o->rank * (uint32_t)sizeof(*o->dims));

	/* Unlike other code of passes, this code names an operation, which the pass itself adds. */
	rewrite_add(&w->r, NN_OP_RESHAPE, 2, 1, (uint32_t[]){ from, shape }, &to);
}

/*
 * Adds the channel shuffle for NHWC images: [pixels, rows, columns] becomes [pixels, columns,
 * rows].
 */
static void transpose_shuffle(struct nhwc *w, const struct nn_operation *o, const struct shuffle *s)
{
	const uint32_t image = w->facts[o->inputs[0]].twin, last = s->last->outputs[0];
	const struct nn_operand *x = &w->r.operands[image];
	const uint32_t pixels = x->dims[0] * x->dims[1] * x->dims[2];
	uint32_t divided, transposed, permutation;

	divided = rewrite_operand(&w->r, image, x->type, 3,
				  (uint32_t[]){ pixels, s->rows, s->columns });
	transposed = rewrite_operand(&w->r, image, x->type, 3,
				     (uint32_t[]){ pixels, s->columns, s->rows });
	permutation = add_constant(w, NN_TENSOR_INT32, 1, 3, (int32_t[]){ 0, 2, 1 },
				   3 * sizeof(int32_t));
	add_reshape(w, image, divided);
	add_permutation(w, divided, transposed, permutation);
	add_reshape(w, transposed, add_twin(w, last));
	w->r.is_there[last] = false;
}

/*
 * Returns whether an operation is the second or third operation of a channel shuffle that was
 * replaced.
 */
static bool is_within_shuffle(const struct nhwc *w, const struct nn_operation *o)
{
	return o->num_inputs && !w->r.is_there[o->inputs[0]] && w->facts[o->inputs[0]].twin == NONE;
}

static void transpose_operations(struct nhwc *w, const struct nn_model *from)
{
	const struct nn_subgraph *s = &from->subgraphs[0];

	for (uint32_t i = 0; i < s->num_operations; i++) {
		const struct nn_operation *o = &s->operations[i];
		uint32_t flag = nchw_input(from, o), images = 1;
		struct shuffle shuffle;

		if (is_within_shuffle(w, o))
			continue;
		if (takes_both(o) && !is_transposed(w, o->inputs[0]))
			flag = NONE;
		if (find_shuffle(w, from, o, &shuffle)) {
			transpose_shuffle(w, o, &shuffle);
			w->r.is_there[o->outputs[0]] = false;
			w->r.is_there[shuffle.last->inputs[0]] = false;
			continue;
		}
		if (flag != NONE || follows(w, from, o, &images)) {
			transpose_operation(w, from, o, images, flag);
			continue;
		}
		for (uint32_t k = 0; k < o->num_inputs; k++)
			need_nchw(w, o->inputs[k]);
		rewrite_add(&w->r, o->type, o->num_inputs, o->num_outputs, o->inputs, o->outputs);
	}
	for (uint32_t i = 0; i < s->num_outputs; i++)
		need_nchw(w, s->outputs[i]);
}

static bool has_nchw(const struct nn_model *model)
{
	for (uint32_t i = 0; i < model->subgraphs[0].num_operations; i++)
		if (nchw_input(model, &model->subgraphs[0].operations[i]) != NONE &&
		    !takes_both(&model->subgraphs[0].operations[i]))
			return true;
	return false;
}

struct nn_model *plan_nhwc(const struct nn_model *model)
{
	const struct nn_subgraph *s = &model->subgraphs[0];
	const size_t operands = s->num_operands, constants = 2 * (size_t)s->num_operations + 2;
	struct nhwc *w;

	if (model->num_subgraphs != 1 || model->num_extensions || !has_nchw(model))
		return NULL;
	/*
	 * Each operation may add an NHWC operand and up to two constants. Three new operations
	 * replace the three operations of a shuffle; the new operations need two more operands and
	 * three constants.
	 */
	w = rewrite_create(model, &(struct rewrite_room){
		.pass = sizeof(*w), .fact = sizeof(*w->facts), .operands = operands + constants,
		.operations = 2 * operands, .indices = 6 * operands,
		.bytes = VALUE_SIZE * constants });
	if (!w)
		return NULL;
	w->facts = w->r.facts;
	w->permutations[0] = w->permutations[1] = NONE;
	for (uint32_t i = 0; i < s->num_operands; i++)
		w->facts[i].twin = w->facts[i].reader = NONE;
	for (uint32_t i = 0; i < s->num_operations; i++) {
		const struct nn_operation *o = &s->operations[i];

		if (nchw_input(model, o) != NONE && !takes_both(o))
			w->facts[o->inputs[0]].wanted++;
		for (uint32_t k = 0; k < o->num_inputs; k++)
			w->facts[o->inputs[k]].reader = i;
	}
	transpose_operations(w, model);
	return rewrite_end(&w->r);
}
