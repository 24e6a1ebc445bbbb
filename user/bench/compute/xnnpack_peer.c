/* SPDX-License-Identifier: MIT */
/* Common code of the files that call XNNPACK: a graph with one input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

#ifdef NN_BENCH_XNNPACK

#include "xnnpack_peer.h"

#if defined(__x86_64__) && __has_include(<cpuinfo.h>)

#include <cpuinfo.h>

/* Changes the writable variable of libcpuinfo in which XNNPACK finds the CPU's instruction sets. */
bool subject_limit_peer(const char *level)
{
	bool sse2 = !strcmp(level, "sse2"), sse4 = !strcmp(level, "sse4") || sse2;
	bool avx2 = !strcmp(level, "avx2") || !strcmp(level, "avx-vnni") || sse4;
	struct cpuinfo_x86_isa *isa = &cpuinfo_isa;

	if (!cpuinfo_initialize())
		return false;
	isa->avx512vnni = false;
	if (avx2)
		isa->avx512f = isa->avx512cd = isa->avx512dq = isa->avx512bw = isa->avx512vl =
			isa->avx512vbmi = false;
	if (sse4)
		isa->avx = isa->avx2 = isa->f16c = isa->fma3 = isa->fma4 = isa->xop = false;
	if (sse2)
		isa->sse3 = isa->ssse3 = isa->sse4_1 = isa->sse4_2 = false;
	return true;
}

#else

bool subject_limit_peer(const char *level)
{
	(void)level;
	return false;
}

#endif

struct peer_state {
	xnn_runtime_t runtime;
	pthreadpool_t pool;
	uint32_t num_values;
	/* memory of the network's input, then of its outputs */
	struct xnn_external_value values[1 + NET_OUTPUTS];
};

const char *subject_peer(void)
{
	return NN_BENCH_XNNPACK >= 2024 ? "xnnpack-2024" : "xnnpack-2022";
}

void xnn_must(enum xnn_status status, const char *what)
{
	if (status == xnn_status_success)
		return;
	fprintf(stderr, "XNNPACK: %s: status %d\n", what, (int)status);
	exit(1);
}

xnn_subgraph_t peer_begin(uint32_t num_outputs)
{
	xnn_subgraph_t g;

	xnn_must(xnn_initialize(NULL), "initialize");
	xnn_must(xnn_create_subgraph(1 + num_outputs, 0, &g), "subgraph");
	return g;
}

static void run(void *state)
{
	xnn_must(xnn_invoke_runtime(((struct peer_state *)state)->runtime), "invoke");
}

static void free_state(void *state)
{
	struct peer_state *s = state;

	xnn_delete_runtime(s->runtime);
	pthreadpool_destroy(s->pool);
	for (uint32_t i = 1; i < s->num_values; i++)
		free(s->values[i].data);
	free(s);
}

static void set_up(const struct peer_state *s)
{
#if NN_BENCH_XNNPACK >= 2024
	xnn_must(xnn_reshape_runtime(s->runtime), "reshape");
	xnn_must(xnn_setup_runtime_v2(s->runtime, s->num_values, s->values), "set up");
#else
	xnn_must(xnn_setup_runtime(s->runtime, s->num_values, s->values), "set up");
#endif
}

static void add_value(struct peer_state *s, void *data)
{
	s->values[s->num_values] = (struct xnn_external_value){ s->num_values, data };
	s->num_values++;
}

struct subject peer_end(xnn_subgraph_t g, uint32_t threads, const struct net *net)
{
	struct peer_state *s = must_alloc(sizeof(*s));

	s->pool = threads > 1 ? pthreadpool_create(threads) : NULL;
	xnn_must(xnn_create_runtime_v2(g, s->pool, 0, &s->runtime), "runtime");
	xnn_delete_subgraph(g);
	add_value(s, net->input);
	for (uint32_t i = 0; i < net->num_outputs; i++)
		add_value(s, must_alloc(image_bytes(net, net->outputs[i])));
	set_up(s);
	return (struct subject){ s, run, free_state };
}

#else

const char *subject_peer(void)
{
	return NULL;
}

bool subject_limit_peer(const char *level)
{
	(void)level;
	return false;
}

#endif
