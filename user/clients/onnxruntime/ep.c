// SPDX-License-Identifier: MIT
/* An execution provider: claims nodes, compiles them, and runs the compiled parts. */
#include "ep.h"

#include <stdarg.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition.h"
#include "program.h"
#include "runtime.h"

const char said_by[] = "onnxruntime: ";

struct ep {
	/*
	 * `api` is the first field, because ONNX Runtime's pointer to `api` is also the pointer to
	 * struct ep
	 */
	struct ort_ep api;
	const struct ort *ort;		/* owned by the factory, which outlives this object */
	char *name;
	struct options options;
	struct devices devices;
	bool compiled;			/* true: this provider has claimed parts of a graph */
	bool told;			/* true: the number of nodes was reported */
	/* true: the number of nodes is reported later, unless ONNX Runtime asks again */
	bool waits;
	/* Counters over all graphs so far; `numbers` is the number that the next part gets. */
	uint32_t nodes, taken, parts, numbers;
};

/* ONNX Runtime's handle of a program. */
struct compute {
	struct ort_node_compute_info api;
	const struct ort *ort;
	struct program *program;
};

__attribute__((format(printf, 3, 4)))
static OrtStatus *failed(const struct ort *ort, OrtErrorCode code, const char *format, ...)
{
	char line[512] = "nnaccel: ";
	va_list args;

	va_start(args, format);
	vsnprintf(line + 9, sizeof(line) - 9, format, args);
	va_end(args);
	return ort->CreateStatus(code, line);
}

static const char *get_name(const OrtEp *ep)
{
	return ((const struct ep *)ep)->name;
}

/* ---- claiming nodes ---- */

static OrtStatus *fuse(struct ep *ep, const struct graph *graph, const struct partitions *parts,
		       int32_t part, OrtEpGraphSupportInfo *info)
{
	struct ort_node_fusion_options options = {
		.ort_version_supported = ORT_VERSION,
		/* Programs copy the constants, so ONNX Runtime may free its own copies. */
		.drop_constant_initializers = true,
	};
	const OrtNode **nodes = calloc(graph->node_count + 1, sizeof(*nodes));
	OrtStatus *status;
	size_t count = 0;

	if (!nodes)
		return failed(ep->ort, ORT_CODE_FAIL, "there is no memory");
	for (uint32_t i = 0; i < graph->node_count; i++)
		if (parts->of[i] == part)
			nodes[count++] = graph->nodes[i].ort;
	status = !count ? NULL :
		 ep->ort->EpGraphSupportInfo_AddNodesToFuse(
			 info, nodes, count, (const OrtNodeFusionOptions *)&options);
	free(nodes);
	return status;
}

/* Returns whether a graph's name differs from the main graph's name; false if a name is unknown. */
static bool is_named_otherwise(const struct ort *ort, const OrtGraph *graph)
{
	OrtAllocator *allocator;
	OrtModelMetadata *metadata;
	const char *name;
	char *main_name = NULL;
	bool is = false;

	if (!ort_ok(ort, ort->GetAllocatorWithDefaultOptions(&allocator)) ||
	    !ort_ok(ort, ort->Graph_GetModelMetadata(graph, &metadata)))
		return false;
	if (ort_ok(ort, ort->ModelMetadataGetGraphName(metadata, allocator, &main_name)) &&
	    ort_ok(ort, ort->Graph_GetName(graph, &name)))
		is = strcmp(name, main_name);
	if (main_name)
		ort_ok(ort, ort->AllocatorFree(allocator, main_name));
	ort->ReleaseModelMetadata(metadata);
	return is;
}

/*
 * Returns whether a graph is the inner graph of a node. ONNX Runtime asks about inner graphs before
 * outer graphs, and does not report the parent nodes of inner graphs. A graph counts as inner if it
 * uses values of an outer graph, or if its name is not the main graph's name.
 */
static bool is_inner(const struct ep *ep, const OrtGraph *from, const struct graph *graph)
{
	const OrtNode *parent = NULL;

	return graph->is_inner || !ort_ok(ep->ort, ep->ort->Graph_GetParentNode(from, &parent)) ||
	       parent || is_named_otherwise(ep->ort, from);
}

/*
 * Returns whether the provider leaves a whole graph to ONNX Runtime. Inner graphs with inputs are
 * left, because they are bodies of Loop or Scan, which run often; branches of If have no inputs. Up
 * to version 1.24, ONNX Runtime fails to load a model in which parts of several graphs are claimed,
 * because it gives these parts the same name.
 */
static bool is_left(const struct ep *ep, const struct graph *graph, bool is_in_node)
{
	return ep->ort->names_parts ? is_in_node && graph->in_count : is_in_node || ep->compiled;
}

/*
 * Returns whether a graph may have functions of the model. ONNX Runtime asks about such a graph, and
 * then again about the graph in which functions are replaced by their nodes.
 */
static bool may_have_functions(const struct graph *graph)
{
	for (uint32_t i = 0; i < graph->node_count; i++)
		if (*graph->nodes[i].domain && strncmp(graph->nodes[i].domain, "com.microsoft", 13) &&
		    strncmp(graph->nodes[i].domain, "ai.onnx.", 8))
			return true;
	return false;
}

/* Logs how many nodes the device computes, unless the options ask for a report. */
static void tell_count(struct ep *ep)
{
	char names[256];

	ep->told = true;
	ep->waits = false;
	if (ep->options.report)
		return;
	devices_names(&ep->devices, names, sizeof(names));
	fprintf(stderr, "nnaccel: %s: %s%u of %u nodes%s%s in %u part%s on %s%s\n",
		ep->options.runtime ? ep->options.runtime : "onnxruntime",
		devices_have_cpu(&ep->devices) ? "warning: " : "", ep->taken, ep->nodes,
		ep->options.model ? " of " : "", ep->options.model ? ep->options.model : "",
		ep->parts, ep->parts == 1 ? "" : "s", names,
		devices_have_cpu(&ep->devices) ? ", which is the CPU" : "");
}

/*
 * Counts the nodes of a graph, and writes the report if the options ask for a report. Logs the numbers
 * after the main graph, which ONNX Runtime asks about last.
 */
static void tell(struct ep *ep, const struct graph *graph, const struct partitions *partitions,
		 bool is_last)
{
	if (ep->told || !graph->node_count)
		return;
	if (ep->waits)
		ep->nodes = ep->taken = ep->parts = ep->numbers = 0;
	ep->waits = is_last && may_have_functions(graph);
	if (ep->options.report)
		report_graph(ep->options.report, graph, partitions, &ep->devices,
			     ep->nodes ? (int)ep->numbers : -1);
	ep->nodes += graph->node_count;
	ep->numbers += partitions->count;
	for (uint32_t p = 0; p < partitions->count; p++) {
		uint32_t before = ep->taken;

		for (uint32_t i = 0; i < graph->node_count; i++)
			ep->taken += partitions->of[i] == (int32_t)p;
		ep->parts += ep->taken > before;
	}
	if (is_last && !ep->waits)
		tell_count(ep);
}

static OrtStatus *get_capability(OrtEp *this_ep, const OrtGraph *from, OrtEpGraphSupportInfo *info)
{
	struct ep *ep = (struct ep *)this_ep;
	struct partitions parts = { 0 };
	OrtStatus *status = NULL;
	struct graph *graph;
	bool is_in_node;

	if (runtime_in_making())
		return NULL;
	graph = graph_read(ep->ort, from);
	is_in_node = graph && is_inner(ep, from, graph);
	if (graph)
		graph->is_inner = is_in_node;
	if (graph && is_left(ep, graph, is_in_node)) {
		say(ep->options.verbosity, 1, "the inner graph of a node is left to ONNX Runtime");
		graph_free(graph);
		return NULL;
	}
	if (!graph || !partition(graph, &ep->options, &ep->devices, &parts)) {
		graph_free(graph);
		return failed(ep->ort, ORT_CODE_FAIL, "the graph cannot be read");
	}
	for (uint32_t p = 0; !status && p < parts.count; p++)
		status = fuse(ep, graph, &parts, (int32_t)p, info);
	tell(ep, graph, &parts, !is_in_node);
	partitions_free(&parts);
	graph_free(graph);
	return status;
}

/* ---- compiling and running ---- */

static OrtStatus *create_state(OrtNodeComputeInfo *info, OrtNodeComputeContext *context,
			       void **state)
{
	(void)context;
	*state = ((struct compute *)info)->program;
	return NULL;
}

static void release_state(OrtNodeComputeInfo *info, void *state)
{
	(void)info;
	(void)state;
}

static OrtStatus *run(OrtNodeComputeInfo *info, void *state, OrtKernelContext *context)
{
	struct compute *compute = (struct compute *)info;
	char message[256];

	(void)state;
	if (program_run(compute->program, context, message, sizeof(message)))
		return NULL;
	return failed(compute->ort, ORT_CODE_EP_FAIL, "%s", message);
}

static void free_compute(struct compute *compute)
{
	if (!compute)
		return;
	program_free(compute->program);
	free(compute);
}

static void release_infos(OrtEp *ep, OrtNodeComputeInfo **infos, size_t count)
{
	(void)ep;
	for (size_t i = 0; i < count; i++)
		free_compute((struct compute *)infos[i]);
}

static OrtStatus *compile_one(struct ep *ep, const OrtGraph *graph, const OrtNode *fused,
			      OrtNodeComputeInfo **info)
{
	struct compute *compute = calloc(1, sizeof(*compute));
	char message[256] = "there is no memory";

	if (compute)
		compute->program = program_new(ep->ort, graph, fused, &ep->options, &ep->devices,
					       message, sizeof(message));
	if (!compute || !compute->program) {
		free(compute);
		return failed(ep->ort, ORT_CODE_EP_FAIL, "%s", message);
	}
	compute->ort = ep->ort;
	compute->api = (struct ort_node_compute_info){
		.ort_version_supported = ORT_VERSION,
		.CreateState = create_state,
		.Compute = run,
		.ReleaseState = release_state,
	};
	*info = (OrtNodeComputeInfo *)compute;
	return NULL;
}

static OrtStatus *compile(OrtEp *this_ep, const OrtGraph **graphs, const OrtNode **fused,
			  size_t count, OrtNodeComputeInfo **infos, OrtNode **context_nodes)
{
	struct ep *ep = (struct ep *)this_ep;

	(void)context_nodes;
	ep->compiled = true;
	if (ep->waits)
		tell_count(ep);
	for (size_t i = 0; i < count; i++) {
		OrtStatus *status = compile_one(ep, graphs[i], fused[i], &infos[i]);

		if (!status)
			continue;
		while (i--) {
			free_compute((struct compute *)infos[i]);
			infos[i] = NULL;
		}
		return status;
	}
	return NULL;
}

/* ---- lifetime ---- */

static OrtStatus *choose_devices(struct ep *ep, uint32_t count, const char *const *devices)
{
	if (ep->options.device && !devices_add(&ep->devices, ep->options.device))
		return failed(ep->ort, ORT_CODE_INVALID_ARGUMENT,
			      "option device: there is no device \"%s\"", ep->options.device);
	for (uint32_t i = 0; !ep->options.device && i < count; i++)
		if (!devices_add(&ep->devices, devices[i]))
			return failed(ep->ort, ORT_CODE_EP_FAIL,
				      "device %s does not exist", devices[i]);
	if (!ep->devices.count)
		return failed(ep->ort, ORT_CODE_INVALID_ARGUMENT, "no device was chosen");
	if (ep->options.disallow_cpu && devices_have_cpu(&ep->devices))
		return failed(ep->ort, ORT_CODE_INVALID_ARGUMENT,
			      "option disallow_cpu: the CPU is one of the devices; choose others, or "
			      "name one by the option device");
	return NULL;
}

static OrtStatus *read_options(struct ep *ep, const OrtSessionOptions *session)
{
	OrtKeyValuePairs *entries;
	char wrong[OPTIONS_ERROR_SIZE];
	OrtStatus *status = ep->ort->GetSessionOptionsConfigEntries(session, &entries);

	if (status)
		return status;
	if (!options_read(&ep->options, ep->ort, entries, ep->name, wrong))
		status = failed(ep->ort, ORT_CODE_INVALID_ARGUMENT, "%s; see " OPTION_HELP, wrong);
	ep->ort->ReleaseKeyValuePairs(entries);
	return status;
}

OrtStatus *ep_new(const struct ort *ort, const char *name, uint32_t count,
		  const char *const *devices, const OrtSessionOptions *session, OrtEp **out)
{
	struct ep *ep = calloc(1, sizeof(*ep));
	OrtStatus *status;

	if (!ep)
		return failed(ort, ORT_CODE_FAIL, "there is no memory");
	ep->ort = ort;
	ep->name = strdup(name);
	status = ep->name ? read_options(ep, session) :
			    failed(ort, ORT_CODE_FAIL, "there is no memory");
	if (!status)
		status = choose_devices(ep, count, devices);
	if (status) {
		ep_free((OrtEp *)ep);
		return status;
	}
	ep->api = (struct ort_ep){
		.ort_version_supported = ORT_VERSION,
		.GetName = get_name,
		.GetCapability = get_capability,
		.Compile = compile,
		.ReleaseNodeComputeInfos = release_infos,
	};
	*out = (OrtEp *)ep;
	return NULL;
}

void ep_free(OrtEp *this_ep)
{
	struct ep *ep = (struct ep *)this_ep;

	if (!ep)
		return;
	if (ep->waits)
		tell_count(ep);
	options_free(&ep->options);
	free(ep->name);
	free(ep);
}
