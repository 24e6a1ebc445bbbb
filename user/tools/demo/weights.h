/* SPDX-License-Identifier: MIT */
/*
 * The trained parameters of the demo's network, and hashes by which a test checks the training. The
 * program train_digits (`make retrain`) writes weights.c.
 */
#ifndef NN_DEMO_WEIGHTS_H
#define NN_DEMO_WEIGHTS_H

#include <stdint.h>

#include "net.h"

struct net_weights {
	uint64_t hash;			/* net_hash() of `params` */
	/* net_hash() of the parameters after TRAIN_PROBE steps of training */
	uint64_t probe_hash;
	float params[NET_PARAMS];
};

extern const struct net_weights net_weights;

#endif /* NN_DEMO_WEIGHTS_H */
