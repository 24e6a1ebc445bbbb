/* SPDX-License-Identifier: MIT */
/*
 * Trains the demo's network on images that are drawn during the training. The result of the
 * training depends only on constants of the program and on IEEE 754.
 */
#ifndef NN_DEMO_TRAIN_H
#define NN_DEMO_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#define TRAIN_SEED	1	/* seed of the training images; test images have other seeds */
#define TRAIN_STEPS	16000
#define TRAIN_BATCH	16
#define TRAIN_PROBE	100	/* training steps after which tests compare the hash */

/*
 * Runs the first `steps` steps of a training from scratch, and writes the parameters to `params`,
 * float[NET_PARAMS]. If `progress` is not NULL, calls `progress` with the mean loss of every 500
 * steps. Returns false if memory runs out.
 */
bool train(uint32_t steps, void (*progress)(uint32_t step, double loss), float *params);

#endif /* NN_DEMO_TRAIN_H */
