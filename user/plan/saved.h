/* SPDX-License-Identifier: MIT */
/*
 * The form of a saved plan: shared by those who write and read it.
 *
 * Model part: struct saved_header, then the wire form of a model (model/wire.h)
 * whose constants that steer are copied values and whose other constants lie in
 * its one pool, the data part. What was computed from constants alone is itself a
 * constant there, and the operations that computed it are gone. Of a plan that was
 * tuned a byte for each step follows.
 *
 * Data part: struct saved_stamp, the packed weights as compiling lays them out, then
 * the constants of the model, each aligned to SAVED_ALIGN; padded to
 * NN_PLAN_DATA_ALIGN.
 */
#ifndef NN_PLAN_SAVED_H
#define NN_PLAN_SAVED_H

#include "plan.h"

#define SAVED_MAGIC UINT64_C(0x314e414c504e4e01)
#define SAVED_ALIGN 64

/* All of it is covered by the hash that the model part is trusted by. */
struct saved_header {
	uint64_t magic;
	uint64_t fingerprint;		/* nn_plan_fingerprint() of who wrote it */
	uint64_t model_size;		/* of the whole model part */
	uint64_t data_size;
	uint64_t data_identity;		/* of the data part that belongs to it */
	uint64_t packed_size;
	uint64_t choice;		/* which kernel runs what: compiled.choice */
	uint32_t tuned_steps;		/* 0: not tuned */
	uint32_t reserved;		/* 0 */
	char kernels[16];		/* "avx2"; "" for a plan that is interpreted */
};

/*
 * What the data part begins with: tells it from another plan's, or from one that
 * was never finished. It vouches for nothing.
 */
struct saved_stamp {
	uint64_t magic;
	uint64_t identity;
	uint64_t reserved[6];		/* 0 */
};

_Static_assert(sizeof(struct saved_header) == 80, "no hidden padding");
_Static_assert(sizeof(struct saved_stamp) == SAVED_ALIGN, "packed weights follow it, aligned");

#endif /* NN_PLAN_SAVED_H */
