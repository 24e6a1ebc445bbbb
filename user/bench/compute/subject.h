/* SPDX-License-Identifier: MIT */
/* The subject of a measurement: a prepared network of nnaccel or a peer that can be run. */
#ifndef NN_BENCH_SUBJECT_H
#define NN_BENCH_SUBJECT_H

#include <stdbool.h>

#include "net.h"

struct subject {
	void *state;		/* state of the subject; NULL if it is not available here */
	void (*run)(void *state);
	void (*free)(void *state);
};

/* Make a network as a plan of nnaccel, or as a runtime of XNNPACK. */
struct subject subject_plan(const struct net *net, uint32_t threads);
struct subject subject_plan_fp16(const struct net *net, uint32_t threads);	/* in float16 */
struct subject subject_xnnpack(const struct net *net, uint32_t threads);

/* Compiles the network through the NNAPI, for nnapi-reference. */
struct subject subject_nnapi(const struct net *net, uint32_t threads);
/*
 * Does the same as subject_nnapi() with the compilation cache, to which a network is saved at its
 * first use.
 */
struct subject subject_nnapi_cached(const struct net *net, uint32_t threads);
/*
 * Makes the folder of that cache, which is removed when the process ends; returns false on failure.
 */
bool subject_nnapi_cache(void);

/* Makes the subject in a worker: through libnnaccel, in a VM. */
struct subject subject_worker(const struct net *net);

/*
 * Returns the year of the XNNPACK that this was built with; NULL without XNNPACK, whose subjects
 * then have no state.
 */
const char *subject_peer(void);

/*
 * Makes XNNPACK use the instructions of an older CPU: "avx512" (without VNNI), "avx-vnni" (which it
 * treats as AVX2), "avx2", "sse4" or "sse2". Call it before XNNPACK has a subject. Returns
 * false if this build of XNNPACK does not allow that.
 */
bool subject_limit_peer(const char *level);

/* Make a recurrent or an attention network, as a plan of nnaccel or as the peer's calls. */
struct subject subject_lstm(void);
struct subject subject_lstm_xnnpack(void);
struct subject subject_transformer(void);
struct subject subject_transformer_xnnpack(void);

#endif /* NN_BENCH_SUBJECT_H */
