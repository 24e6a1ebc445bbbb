/* SPDX-License-Identifier: MIT */
/* An execution of a vector: its memory, its request, and whether the answer is right. */
#ifndef NN_TOOLS_ENGINE_TEST_SHOT_H
#define NN_TOOLS_ENGINE_TEST_SHOT_H

#include <nnaccel/nnaccel.h>

#include "tools/engine_test/vector.h"

/* The reason of a fault; empty without one. */
#define REASON 256

struct shot {
	const struct vector *v;
	struct nna_memory *memories[2];	/* memories of inputs and outputs, or one for both */
	uint32_t num_memories;
	uint8_t *in, *out;		/* mapped */
	uint64_t in_size, out_size;
	struct nna_argument *inputs, *outputs;
	struct nna_output_shape *shapes;
	uint32_t num_shapes;
	uint64_t deadline_ns;
	bool measure;			/* used for half of all vectors */
	struct nna_timing timing;
	struct nn_error err;
};

/*
 * Allocates one or two memories for a vector, depending on the vector. The bytes between and around
 * the arguments must not be written. Offsets are multiples of four bytes.
 */
bool shot_init(struct shot *s, struct nna_device *device, const struct vector *v);
void shot_free(struct shot *s);

/* Writes the inputs of another vector of the same shapes. shot_check() then compares with it. */
void shot_fill(struct shot *s, const struct vector *v);

/* Executes, in a burst unless that is NULL. */
enum nn_status shot_run(struct shot *s, struct nna_prepared_model *prepared, struct nna_burst *burst);

/*
 * Compares outputs, shapes, times and all other bytes. If they differ, `reason` gets the first
 * difference.
 */
bool shot_check(const struct shot *s, char reason[REASON]);

/* Compares only the bytes that no execution may write, not even a failed one. */
bool shot_check_rest(const struct shot *s, char reason[REASON]);

/* Checks a failure: the first output is too short, and the shapes must say so. */
bool shot_check_short(const struct shot *s, enum nn_status status, char reason[REASON]);

#endif /* NN_TOOLS_ENGINE_TEST_SHOT_H */
