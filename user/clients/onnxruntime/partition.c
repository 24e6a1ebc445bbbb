// SPDX-License-Identifier: MIT
/*
 * Chooses the nodes that the device computes. Each node is translated with the shapes that ONNX
 * Runtime infers, and the device is asked about the resulting operations. Unknown dimensions are
 * replaced by two sets of numbers in turn; the translation of a node must succeed with both sets.
 * The numbers are small, medium or large: of the size with which most nodes are claimed. If a node is
 * rejected because two dimensions differ, and one of them is a number that replaces an unknown
 * dimension, the other dimension becomes the number.
 */
#include "partition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dynamic.h"
#include "quantised.h"

/* The cost of a node on the device. */
struct cost {
	bool can;
	bool computes;			/* true: the node's translation has operations */
	bool folds;			/* true: an output is a constant, once shapes are known */
	bool dequantises;		/* compilation converts the node's weights to float32 */
	uint64_t work;
};

/*
 * Sizes of the numbers that replace unknown dimensions, from the smallest on, and rounds for each size.
 * In the round SAME the numbers are equal, in the round DISTINCT they differ.
 */
enum { SAME, DISTINCT, ROUNDS, SIZES = 4 };

/* the most dimensions that follow from others, because all nodes are tried again for each */
enum { MOST_FOLLOWING = 16 };

/* The numbers that replace unknown dimensions. Dimensions of the same name get the same number. */
struct guesses {
	uint32_t *of;			/* for each dimension of each value: index of the number */
	struct guess {
		uint32_t symbol;	/* hash of the name, or 0 */
		bool is_small;		/* true: small in all sizes, because it may be the batch */
		bool follows[ROUNDS];	/* true: the number follows from other dimensions */
		int64_t number[ROUNDS];
	} *list;
	uint32_t count, following;
	int size, round;		/* numbers in use */
};

static int64_t guess_number(uint32_t index, int size, int round)
{
	/*
	 * Medium numbers are large enough for most windows and small enough for most tables of
	 * positions. Numbers of the third line are large enough for windows over images and short
	 * sounds, those of the fourth line for windows over windows of sounds. No number is the sum
	 * of two others of its line.
	 */
	static const int64_t numbers[SIZES][8] = {
		{ 3, 7, 11, 13, 17, 19, 23, 29 }, { 96, 128, 136, 160, 168, 176, 184, 208 },
		{ 640, 768, 896, 904, 920, 944, 960, 984 },
		{ 1920, 2304, 2688, 2712, 2760, 2832, 2880, 2952 },
	};
	static const int64_t same[SIZES] = { 1, 64, 512, 1536 };

	return round == SAME ? same[size] : numbers[size][index % 8];
}

static void guess_all(struct guesses *g, int size)
{
	g->size = size;
	g->following = 0;
	for (uint32_t i = 0; i < g->count; i++) {
		struct guess *of = &g->list[i];

		of->follows[SAME] = of->follows[DISTINCT] = false;
		of->number[SAME] = guess_number(i, of->is_small ? 0 : size, SAME);
		of->number[DISTINCT] = guess_number(i, of->is_small ? 0 : size, DISTINCT);
	}
}

/* Finds the unknown dimensions of all values. Returns false if memory runs out. */
static bool guesses_init(struct guesses *g, const struct graph *graph)
{
	const size_t room = (size_t)graph->value_count * MAX_RANK + 1;

	g->of = malloc(room * sizeof(*g->of));
	g->list = calloc(room, sizeof(*g->list));
	for (size_t k = 0; g->of && g->list && k + 1 < room; k++) {
		const struct value *value = &graph->values[k / MAX_RANK];
		const uint32_t symbol = value->symbols[k % MAX_RANK];
		uint32_t i = symbol ? 0 : g->count;

		if ((int)(k % MAX_RANK) >= value->shape.rank || value->shape.dims[k % MAX_RANK] >= 0)
			continue;
		while (i < g->count && g->list[i].symbol != symbol)
			i++;
		g->of[k] = i;
		g->count += i == g->count;
		g->list[i].symbol = symbol;
		/* The first dimension of an input, and others of its name, may be the batch. */
		g->list[i].is_small |= k % MAX_RANK == 0 && (!symbol || !value->producer);
	}
	return g->of && g->list;
}

static void guesses_free(struct guesses *g)
{
	free(g->of);
	free(g->list);
}

/*
 * If the number `a` replaces an unknown dimension, replaces this dimension, and those that follow from
 * it, by `b` instead. In the round SAME only does so for dimensions that follow in the round DISTINCT,
 * because the others are equal.
 */
static bool follow(struct guesses *g, int64_t a, int64_t b)
{
	struct guess *first = NULL;

	for (struct guess *of = g->list; b > 0 && !first && of < g->list + g->count; of++)
		if (of->number[g->round] == a && !of->follows[g->round] &&
		    (g->round == SAME ? of->follows[DISTINCT] : g->following < MOST_FOLLOWING))
			first = of;
	if (!first)
		return false;
	if (g->round == DISTINCT) {
		g->following++;
		first->number[SAME] = a;
	}
	for (struct guess *of = g->list; of < g->list + g->count; of++)
		if (of->number[g->round] == a && (g->round == DISTINCT || of->follows[DISTINCT]))
			of->number[g->round] = b;
	first->follows[g->round] = true;
	return true;
}

static bool trial_shape(const struct graph *graph, uint32_t number, const struct guesses *g,
			struct shape *shape)
{
	const struct value *value = &graph->values[number];

	*shape = value->shape;
	/* An input of the model that has no dimensions is a scalar. */
	if (!value->producer && !value->is_outer && shape->rank < 0)
		shape->rank = 0;
	for (int i = 0; i < shape->rank; i++)
		if (shape->dims[i] < 0)
			shape->dims[i] = g->list[g->of[number * MAX_RANK + (uint32_t)i]].number[g->round];
	return shape->rank >= 0;
}

/*
 * Sets a value's shape to the shape that ONNX Runtime infers, if no claimed node computes the
 * value.
 */
static void trial_value(struct translation *t, uint32_t number, const struct guesses *g)
{
	struct shape shape;

	if (number != NO_VALUE && !t->values[number].ready &&
	    trial_shape(t->graph, number, g, &shape))
		translation_input(t, number, &shape);
}

static bool asked(const struct builder *b, uint32_t from, const struct devices *devices,
		  struct constants *constants, char *reason, size_t size)
{
	const uint32_t count = b->operation_count - from;
	bool *supported = calloc(count + 1, sizeof(*supported)), all = true;
	int result = ANEURALNETWORKS_NO_ERROR;
	char why[BUILDER_WHY] = "";

	if (count)
		result = !supported ? ANEURALNETWORKS_OUT_OF_MEMORY :
			 builder_ask(b, from, b->operation_count, constants, devices->list,
				     devices->count, supported, why);
	for (uint32_t i = 0; !result && i < count; i++)
		all &= supported[i];
	free(supported);
	if (*why)
		snprintf(reason, size, "NNAPI refuses it: %.170s", why);
	else if (result || !all)
		snprintf(reason, size, "the device does not support it");
	return !result && all;
}

/* Treats the outputs of a rejected node as values that no claimed node computes. */
static void leave(struct translation *t, const struct node *node, const struct guesses *g)
{
	for (uint32_t i = 0; i < node->out_count; i++)
		if (node->out[i] != NO_VALUE) {
			t->values[node->out[i]].ready = false;
			t->values[node->out[i]].elided = false;
			t->values[node->out[i]].operand = NO_OPERAND;
			t->values[node->out[i]].data = NULL;
			trial_value(t, node->out[i], g);
		}
}

/*
 * If a rejected node is in a dynamically quantised pattern, rejects all nodes of the pattern.
 * Returns false if the node is in no pattern.
 */
static bool withdraw(const struct translation *t, uint32_t index, struct cost *costs, char **why)
{
	const struct node *quantise = t->dynamic[index].quantise;
	bool any = false;

	for (uint32_t i = 0; quantise && i < t->graph->node_count; i++) {
		if (t->dynamic[i].quantise != quantise || !costs[i].can)
			continue;
		costs[i].can = false;
		why[i] = strdup("another node of its pattern is not supported");
		any = true;
	}
	return any;
}

/*
 * Tries to translate a node. If the values of an input (such as axes) are unknown, tries all sets
 * of as many axes as the input has values.
 */
static bool try_node(struct translation *t, const struct node *node)
{
	const uint32_t number = values_of(node), x = input_of(node, 0);
	const struct translated *value = number == NO_VALUE ? NULL : &t->values[number];
	const int64_t count = value && value->ready && !value->data && x != NO_VALUE &&
			      !t->graph->values[number].producer ? shape_count(&value->shape) : -1;
	const int rank = count >= 0 && t->values[x].ready ? t->values[x].shape.rank : 0;

	/*
	 * Do not try a reduction along several axes of more than MAX_DIMS dimensions, because only
	 * some sets of axes would be possible.
	 */
	for (uint32_t set = 0; count >= 0 && (rank <= MAX_DIMS || count < 2) && set < 1u << rank; set++) {
		int64_t values[MAX_RANK];
		int have = 0;

		for (int i = 0; i < rank; i++)
			if (set >> i & 1)
				values[have++] = i;
		if (have != count)
			continue;
		if (translation_values(t, number, values, have) && translate_node(t, node))
			return true;
		t->values[number].data = NULL;
	}
	return translate_node(t, node);
}

/*
 * Tries to translate all nodes. Sets *again if a node's rejection has also caused the rejection of
 * earlier nodes, so that the caller must try all nodes again. Sets *guessed and returns early if a
 * dimension has got another number.
 */
static bool try_nodes(const struct graph *graph, const struct devices *devices, struct guesses *g,
		      struct cost *costs, char **why, bool *again, bool *guessed)
{
	struct builder b = { .is_trial = true };
	struct translation *t = translation_new(graph, &b, devices);
	struct constants constants = { .placeholders = true, .size = 1 << 20 };

	if (!t)
		return false;
	/* An 8-bit constant becomes four times as large when it is dequantised. */
	for (uint32_t i = 0; i < graph->value_count; i++)
		if (graph->values[i].data && graph->values[i].size * 4 > constants.size)
			constants.size = graph->values[i].size * 4;
	quantised_values(&t->l);
	for (uint32_t i = 0; i < graph->node_count; i++) {
		const struct node *node = &graph->nodes[i];
		uint32_t from = b.operation_count;
		char reason[sizeof(t->l.reason)];
		bool can;

		for (uint32_t k = 0; k < node->in_count; k++)
			if (node->in[k] != NO_VALUE && !graph->values[node->in[k]].producer)
				trial_value(t, node->in[k], g);
		can = costs[i].can && try_node(t, node);
		snprintf(reason, sizeof(reason), "%s", t->l.reason);
		if (!can && costs[i].can && t->l.apart[0] != t->l.apart[1] &&
		    (follow(g, t->l.apart[0], t->l.apart[1]) || follow(g, t->l.apart[1], t->l.apart[0]))) {
			*guessed = true;
			break;
		}
		if (!can && g->count && t->l.apart[0] != t->l.apart[1])
			snprintf(reason + strlen(reason), sizeof(reason) - strlen(reason),
				 ", with guesses for unknown dimensions");
		if (can)
			can = asked(&b, from, devices, &constants, reason, sizeof(reason));
		costs[i].computes = b.operation_count > from;
		costs[i].folds = false;
		for (uint32_t k = 0; can && k < node->out_count; k++)
			costs[i].folds |= node->out[k] != NO_VALUE && t->values[node->out[k]].data;
		if (g->round == DISTINCT)
			costs[i].work = t->l.work;
		costs[i].dequantises = can && t->dynamic[i].part == LAST &&
				       !has_own(&t->l);
		if (can)
			continue;
		if (costs[i].can)
			why[i] = strdup(reason);
		costs[i].can = false;
		*again |= withdraw(t, i, costs, why);
		leave(t, node, g);
	}
	translation_free(t);
	builder_free(&b);
	constants_free(&constants);
	return true;
}

/*
 * Computes a depth for each node, so that nodes of equal depth can form a part. The depth grows by
 * one from a claimed node to a consumer that is not claimed. All paths between two claimed nodes of
 * the same depth contain only claimed nodes.
 */
static void depths(const struct graph *graph, const struct cost *costs, int32_t *depth)
{
	for (uint32_t i = 0; i < graph->node_count; i++) {
		const struct node *node = &graph->nodes[i];

		depth[i] = 0;
		for (uint32_t k = 0; k < node->in_count + node->implicit_count; k++) {
			const struct node *from = producer_of(graph, any_input_of(node, k));
			int32_t d;

			if (!from)
				continue;
			d = depth[from->index] + (costs[from->index].can && !costs[i].can);
			depth[i] = d > depth[i] ? d : depth[i];
		}
	}
}

enum { NO_CONSUMER = -2, SEVERAL = -1 };

/* Returns the common depth of the consumers of two values; SEVERAL if the depths differ. */
static int32_t same_depth(int32_t a, int32_t b)
{
	return a == NO_CONSUMER || a == b ? b : b == NO_CONSUMER ? a : SEVERAL;
}

/*
 * Moves a DequantizeLinear to the part of its consumers, which can then read the 8-bit tensor
 * directly. Also moves a node whose output is a constant, because a part can use only constants
 * that its own nodes compute. Returns false if memory runs out.
 */
static bool sink(const struct graph *graph, const struct cost *costs, int32_t *depth)
{
	/* the depth of each value's consumers; SEVERAL if ONNX Runtime is a consumer */
	int32_t *of = malloc((graph->value_count + 1) * sizeof(*of));

	if (!of)
		return false;
	for (uint32_t i = 0; i < graph->value_count; i++)
		of[i] = graph->values[i].is_output ? SEVERAL : NO_CONSUMER;
	for (uint32_t i = graph->node_count; i--;) {
		const struct node *node = &graph->nodes[i];
		int32_t wanted = NO_CONSUMER;

		for (uint32_t k = 0; k < node->out_count; k++)
			if (node->out[k] != NO_VALUE)
				wanted = same_depth(wanted, of[node->out[k]]);
		if (wanted >= 0 && costs[i].can && (costs[i].folds || is_op(node, "DequantizeLinear")))
			depth[i] = wanted;
		for (uint32_t k = 0; k < node->in_count; k++)
			if (node->in[k] != NO_VALUE)
				of[node->in[k]] = same_depth(of[node->in[k]], costs[i].can ? depth[i] : SEVERAL);
	}
	free(of);
	return true;
}

/*
 * Rejects nodes whose output is a constant that nodes of another part use, because a part can use
 * only constants that its own nodes compute. Returns whether reject_shared() has rejected a node.
 */
static bool reject_shared(const struct graph *graph, struct cost *costs, const int32_t *depth, char **why)
{
	bool any = false;

	for (uint32_t i = 0; i < graph->node_count; i++)
		for (uint32_t k = 0; costs[i].can && k < graph->nodes[i].in_count; k++) {
			const struct node *from = producer_of(graph, graph->nodes[i].in[k]);

			if (!from || !costs[from->index].can || !costs[from->index].folds ||
			    depth[from->index] == depth[i])
				continue;
			costs[from->index].can = false;
			why[from->index] = strdup("several parts need its constant output");
			any = true;
		}
	return any;
}

struct part {
	uint32_t nodes, computing;
	uint64_t work, bytes;
};

static uint64_t bytes_of(const struct graph *graph, uint32_t value, const struct guesses *g)
{
	struct shape shape;
	int64_t count;

	if (graph->values[value].data || !trial_shape(graph, value, g, &shape))
		return 0;
	count = shape_count(&shape);
	return count > 0 ? (uint64_t)count * onnx_size(graph->values[value].type) : 0;
}

/*
 * Counts the work of the parts, and the bytes that enter and leave them. Medium and large numbers are
 * guesses, so bytes and work are then counted as if an unknown dimension were 1.
 */
static void weigh(const struct graph *graph, const struct cost *costs, const int32_t *of,
		  const struct guesses *g, struct part *parts, int32_t count)
{
	const uint64_t scale = (uint64_t)guess_number(0, g->size, SAME);

	for (uint32_t i = 0; i < graph->node_count; i++) {
		const struct node *node = &graph->nodes[i];
		struct part *part = of[i] < 0 ? NULL : &parts[of[i]];
		uint64_t least;

		for (uint32_t k = 0; k < node->in_count; k++) {
			const struct node *from;
			int32_t other;

			if (node->in[k] == NO_VALUE)
				continue;
			from = producer_of(graph, node->in[k]);
			other = from ? of[from->index] : -1;
			if (other == of[i])
				continue;
			if (part)
				part->bytes += bytes_of(graph, node->in[k], g);
			if (other >= 0)
				parts[other].bytes += bytes_of(graph, node->in[k], g);
		}
		if (!part)
			continue;
		least = multiply_adds(graph, node);
		part->nodes++;
		part->computing += costs[i].computes;
		part->work += scale == 1 || costs[i].work / scale > least ? costs[i].work / scale : least;
	}
	for (int32_t i = 0; i < count; i++)
		parts[i].bytes /= scale;
}

/*
 * Returns whether a part is worth claiming: the part's work must outweigh the cost of a call and of
 * the bytes that are moved. A part that is the whole model is always worth claiming.
 */
static bool pays(const struct part *part, const struct options *options, bool whole)
{
	if (whole)
		return part->nodes;
	return part->computing && part->work >= options->min_work + part->bytes / 4;
}

static void drop(struct partitions *partitions, uint32_t part, const char *why)
{
	for (uint32_t i = 0; i < partitions->node_count; i++)
		if (partitions->of[i] == (int32_t)part) {
			partitions->of[i] = -1;
			partitions->why[i] = strdup(why);
		}
}

static void choose(const struct graph *graph, const struct options *options,
		   struct part *parts, struct partitions *partitions)
{
	uint32_t count = partitions->count;
	char why[128];
	uint32_t kept = 0;

	for (uint32_t p = 0; p < count; p++) {
		if (!parts[p].nodes)
			continue;
		if (pays(&parts[p], options, !graph->is_inner && parts[p].nodes == graph->node_count)) {
			kept++;
			continue;
		}
		snprintf(why, sizeof(why), "%llu multiplications do not pay for moving %llu bytes",
			 (unsigned long long)parts[p].work, (unsigned long long)parts[p].bytes);
		say(options->verbosity, 2, "a part of %u nodes is left to ONNX Runtime: %s",
		    parts[p].nodes, why);
		drop(partitions, p, why);
		parts[p].nodes = 0;
	}
	/* Drop the parts with the least work first. */
	while (options->max_partitions && kept > options->max_partitions) {
		uint32_t least = UINT32_MAX;

		for (uint32_t p = 0; p < count; p++)
			if (parts[p].nodes && (least == UINT32_MAX ||
					       parts[p].work < parts[least].work))
				least = p;
		snprintf(why, sizeof(why), "more than max_partitions (%u)",
			 options->max_partitions);
		say(options->verbosity, 2, "a part of %u nodes is left to ONNX Runtime: %s",
		    parts[least].nodes, why);
		drop(partitions, least, why);
		parts[least].nodes = 0;
		kept--;
	}
}

static void try_again(const struct graph *graph, struct cost *costs, char **why)
{
	for (uint32_t i = 0; i < graph->node_count; i++) {
		costs[i] = (struct cost){ .can = true };
		free(why[i]);
		why[i] = NULL;
	}
}

/* Tries the nodes that are not rejected. Returns the number of claimed nodes; -1 if memory runs out. */
static int64_t try_claimed(const struct graph *graph, const struct devices *devices, struct guesses *g,
			   struct cost *costs, char **why)
{
	int64_t count = 0;

	for (int round = DISTINCT; round >= (g->count ? SAME : DISTINCT); round--) {
		bool again = false, guessed = false;

		g->round = round;
		if (!try_nodes(graph, devices, g, costs, why, &again, &guessed))
			return -1;
		if (guessed)
			try_again(graph, costs, why);
		if (guessed || again)
			round = ROUNDS;
	}
	for (uint32_t i = 0; i < graph->node_count; i++)
		count += costs[i].can;
	return count;
}

static int64_t try_all(const struct graph *graph, const struct devices *devices, struct guesses *g, int size,
		       struct cost *costs, char **why)
{
	guess_all(g, size);
	try_again(graph, costs, why);
	return try_claimed(graph, devices, g, costs, why);
}

/*
 * Tries to translate all nodes with small numbers for unknown dimensions. If nodes are rejected,
 * also tries the other sizes, and uses the size with which most nodes are claimed. Returns false if
 * memory runs out.
 */
static bool try_sizes(const struct graph *graph, const struct devices *devices, struct guesses *g,
		      struct cost *costs, char **why)
{
	const int sizes = g->count ? SIZES : 1;
	int64_t most = -1, count = 0;
	int best = 0, size;

	for (size = 0; size < sizes && count < graph->node_count; size++) {
		count = try_all(graph, devices, g, size, costs, why);
		if (count < 0)
			return false;
		if (count > most) {
			most = count;
			best = size;
		}
	}
	return best == size - 1 || try_all(graph, devices, g, best, costs, why) >= 0;
}

/* Chooses the nodes, and a depth for each. Returns false if memory runs out. */
static bool choose_nodes(const struct graph *graph, const struct devices *devices, struct guesses *g,
			 struct cost *costs, int32_t *depth, char **why)
{
	if (!try_sizes(graph, devices, g, costs, why))
		return false;
	for (;;) {
		depths(graph, costs, depth);
		if (!sink(graph, costs, depth))
			return false;
		if (!reject_shared(graph, costs, depth, why))
			return true;
		if (try_claimed(graph, devices, g, costs, why) < 0)
			return false;
	}
}

bool partition(const struct graph *graph, const struct options *options,
	       const struct devices *devices, struct partitions *partitions)
{
	struct cost *costs = calloc(graph->node_count + 1, sizeof(*costs));
	struct guesses guesses = { .of = NULL };
	struct part *parts = NULL;
	bool good = false;

	partitions->count = 0;
	partitions->node_count = graph->node_count;
	partitions->of = calloc(graph->node_count + 1, sizeof(*partitions->of));
	partitions->why = calloc(graph->node_count + 1, sizeof(*partitions->why));
	if (costs && partitions->of && partitions->why && guesses_init(&guesses, graph))
		good = choose_nodes(graph, devices, &guesses, costs, partitions->of, partitions->why);
	for (uint32_t i = 0; good && i < graph->node_count; i++)
		if (!costs[i].can)
			say(options->verbosity, 1, "%s %s is left to ONNX Runtime: %s",
			    graph->nodes[i].op,
			    *graph->nodes[i].name ? graph->nodes[i].name : "(unnamed)",
			    partitions->why[i]);
	if (good) {
		for (uint32_t i = 0; i < graph->node_count; i++) {
			if (!costs[i].can)
				partitions->of[i] = -1;
			else if (partitions->of[i] >= (int32_t)partitions->count)
				partitions->count = (uint32_t)partitions->of[i] + 1;
		}
		parts = calloc(partitions->count + 1, sizeof(*parts));
		good = parts;
	}
	if (good) {
		weigh(graph, costs, partitions->of, &guesses, parts, (int32_t)partitions->count);
		choose(graph, options, parts, partitions);
		for (uint32_t i = 0; i < graph->node_count; i++)
			if (costs[i].dequantises && partitions->of[i] >= 0)
				partitions->why[i] = strdup("its weights are dequantised");
	}
	guesses_free(&guesses);
	free(parts);
	free(costs);
	if (!good)
		partitions_free(partitions);
	return good;
}

void partitions_free(struct partitions *partitions)
{
	for (uint32_t i = 0; partitions->why && i < partitions->node_count; i++)
		free(partitions->why[i]);
	free(partitions->why);
	free(partitions->of);
	*partitions = (struct partitions){ 0 };
}
