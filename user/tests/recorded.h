/* SPDX-License-Identifier: MIT */
/*
 * Makes the numbers in the tensors of onnxruntime_nodes.def and tflite_nodes.def; the script
 * clients/recorded.py makes the same numbers.
 */
#ifndef NN_TESTS_RECORDED_H
#define NN_TESTS_RECORDED_H

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <android/NeuralNetworks.h>

/* Returns a seed made from a tensor's name, so that tensors have different numbers. */
static uint32_t recorded_seed(const char *name)
{
	uint32_t state = 1;

	while (*name)
		state = state * 31 + (unsigned char)*name++;
	return state;
}

/*
 * Returns the next random number of a type; `how` is "~" for small, "+" for positive and "*" for
 * large numbers.
 */
static double recorded_next(uint32_t *state, char letter, char how)
{
	uint32_t r;

	*state = *state * 1664525 + 1013904223;
	r = *state >> 24;
	switch (letter) {
	case 'f':
	case 'h':
	case 'd':
		return how == '+' ? (double)((r >> 2) + 1) / 16 :
				    ((double)(r >> 2) - 32) / (how == '~' ? 64 : 16);
	case 'i':
	case 'l':
		return how == '+' ? (r >> 4) + 1 : ((double)(r >> 4) - 8) * (how == '*' ? 64 : 1);
	case 'b':
		return r >> 7;
	case 's':
		return (double)r - 128;
	case 'w':
		return ((double)r - 128) * 64;
	default:
		return r;
	}
}

static bool recorded_agree(double want, double is, double loose, double step)
{
	return isnan(want) ? isnan(is) : want == is || fabs(want - is) <= loose * fabs(want) + step;
}

/* The cache token of the compilation that was made last. */
static uint8_t recorded_token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN];

int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation *compilation, const char *folder,
					  const uint8_t *token)
{
	int (*next)(ANeuralNetworksCompilation *, const char *, const uint8_t *);

	*(void **)&next = dlsym(RTLD_NEXT, __func__);
	memcpy(recorded_token, token, sizeof(recorded_token));
	return next(compilation, folder, token);
}

/* The number of mutexes that are currently locked. */
static atomic_long recorded_locks;

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static int (*lock)(pthread_mutex_t *mutex);

	if (!lock)
		*(void **)&lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	atomic_fetch_add(&recorded_locks, 1);
	return lock(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static int (*unlock)(pthread_mutex_t *mutex);

	if (!unlock)
		*(void **)&unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	atomic_fetch_sub(&recorded_locks, 1);
	return unlock(mutex);
}

#endif /* NN_TESTS_RECORDED_H */
