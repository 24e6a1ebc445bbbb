/* SPDX-License-Identifier: MIT */
/*
 * The subject of a measurement: a network that nnaccel or another library (the peer) has prepared.
 */
#ifndef NN_BENCH_SUBJECT_H
#define NN_BENCH_SUBJECT_H

#include <stdbool.h>

#include "net.h"

struct subject {
	void *state;		/* NULL if the library cannot run the network on this machine */
	void (*run)(void *state);
	void (*free)(void *state);
};

/* Make an image network as a plan of nnaccel, or as a runtime of XNNPACK. */
struct subject subject_plan(const struct net *net, uint32_t threads);
struct subject subject_plan_fp16(const struct net *net, uint32_t threads);	/* in float16 */
struct subject subject_xnnpack(const struct net *net, uint32_t threads);

/* Compiles a network through the NNAPI, which runs the network on nnapi-reference. */
struct subject subject_nnapi(const struct net *net, uint32_t threads);
/*
 * Compiles a network like subject_nnapi(), but with the compilation cache. The first preparation of
 * a network saves the compiled network to the cache.
 */
struct subject subject_nnapi_cached(const struct net *net, uint32_t threads);
/*
 * Makes the folder of the compilation cache, which is removed when the process ends; returns false
 * if the folder cannot be made.
 */
bool subject_nnapi_cache(void);

/* Makes a subject that runs a network through libnnaccel in a worker; for use in a VM. */
struct subject subject_worker(const struct net *net);

/*
 * Returns the year of the XNNPACK with which this program was built. Returns NULL in a build
 * without XNNPACK.
 */
const char *subject_peer(void);

/*
 * Makes XNNPACK use only the instructions of an older CPU. `level` is "avx512" (without VNNI),
 * "avx-vnni" (which XNNPACK treats as AVX2), "avx2", "sse4" or "sse2". The function
 * subject_limit_peer() must be called before the first subject of XNNPACK is made. Returns false if
 * this build of XNNPACK cannot limit the instructions that XNNPACK uses.
 */
bool subject_limit_peer(const char *level);

/* Make a recurrent or an attention network as a plan of nnaccel, or as XNNPACK operators. */
struct subject subject_lstm(void);
struct subject subject_lstm_xnnpack(void);
struct subject subject_transformer(void);
struct subject subject_transformer_xnnpack(void);

#endif /* NN_BENCH_SUBJECT_H */
