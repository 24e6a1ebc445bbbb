/* SPDX-License-Identifier: MIT */
/*
 * Trains the demo's network on images that are drawn during the training. The result depends only
 * on the constants here and on IEEE 754.
 */
#ifndef NN_DEMO_TRAIN_H
#define NN_DEMO_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#define TRAIN_SEED	1	/* seed that is used only for training images */
#define TRAIN_STEPS	16000
#define TRAIN_BATCH	16
#define TRAIN_PROBE	100	/* number of steps that suffice for a test */

/*
 * Runs the first `steps` steps of a training from scratch, and writes the parameters to `params`,
 * float[NET_PARAMS]. Calls `progress`, unless it is NULL, with the mean loss of every 500 steps.
 * Returns false if memory runs out.
 */
bool train(uint32_t steps, void (*progress)(uint32_t step, double loss), float *params);

#endif /* NN_DEMO_TRAIN_H */
