/* SPDX-License-Identifier: MIT */
/* The subject of a measurement: a network that nnaccel or a peer has prepared. */
#ifndef NN_BENCH_SUBJECT_H
#define NN_BENCH_SUBJECT_H

#include <stdbool.h>

#include "net.h"

struct subject {
	void *state;		/* NULL if this machine cannot have the subject */
	void (*run)(void *state);
	void (*free)(void *state);
};

/* Make a network as a plan of nnaccel, or as a runtime of XNNPACK. */
struct subject subject_plan(const struct net *net, uint32_t threads);
struct subject subject_plan_fp16(const struct net *net, uint32_t threads);	/* in float16 */
struct subject subject_xnnpack(const struct net *net, uint32_t threads);

/* Compiles a network through the NNAPI, for nnapi-reference. */
struct subject subject_nnapi(const struct net *net, uint32_t threads);
/*
 * Does the same as subject_nnapi(), but uses the compilation cache. The first preparation of a
 * network saves it to the cache.
 */
struct subject subject_nnapi_cached(const struct net *net, uint32_t threads);
/*
 * Makes the folder of the compilation cache, which is removed when the process ends. Returns false
 * on failure.
 */
bool subject_nnapi_cache(void);

/* Makes a subject that runs through libnnaccel in a worker; for a VM. */
struct subject subject_worker(const struct net *net);

/*
 * Returns the year of the XNNPACK with which this program was built. Without XNNPACK, returns NULL,
 * and subjects of XNNPACK have no state.
 */
const char *subject_peer(void);

/*
 * Makes XNNPACK use only the instructions of an older CPU. `level` is "avx512" (without VNNI),
 * "avx-vnni" (which XNNPACK treats as AVX2), "avx2", "sse4" or "sse2". The call must come before
 * the first subject of XNNPACK. Returns false if this build of XNNPACK cannot limit its
 * instructions.
 */
bool subject_limit_peer(const char *level);

/* Make a recurrent or an attention network, as a plan of nnaccel or as calls of XNNPACK. */
struct subject subject_lstm(void);
struct subject subject_lstm_xnnpack(void);
struct subject subject_transformer(void);
struct subject subject_transformer_xnnpack(void);

#endif /* NN_BENCH_SUBJECT_H */
