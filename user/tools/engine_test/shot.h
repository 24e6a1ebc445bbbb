/* SPDX-License-Identifier: MIT */
/* An execution of a test vector: the memory, the request, and the check of the results. */
#ifndef NN_TOOLS_ENGINE_TEST_SHOT_H
#define NN_TOOLS_ENGINE_TEST_SHOT_H

#include <nnaccel/nnaccel.h>

#include "tools/engine_test/vector.h"

/* Size of a buffer for the reason why a test failed; if the test succeeds, the text is empty. */
#define REASON 256

struct shot {
	const struct vector *v;
	/* memories of inputs and of outputs, or one memory for both */
	struct nna_memory *memories[2];
	uint32_t num_memories;
	uint8_t *in, *out;		/* mapped */
	uint64_t in_size, out_size;
	struct nna_argument *inputs, *outputs;
	struct nna_output_shape *shapes;
	uint32_t num_shapes;
	uint64_t deadline_ns;
	bool measure;			/* true if times are requested: for half of all vectors */
	struct nna_timing timing;
	struct nn_error err;
};

/*
 * Allocates one or two memories for the arguments, depending on the vector. An execution must not
 * write the bytes between and around the arguments. The arguments' offsets are multiples of four.
 */
bool shot_init(struct shot *s, struct nna_device *device, const struct vector *v);
void shot_free(struct shot *s);

/*
 * Writes the inputs of another vector with equal shapes to the memory. After shot_fill(),
 * shot_check() compares the outputs with the outputs of the vector given to shot_fill().
 */
void shot_fill(struct shot *s, const struct vector *v);

/* Executes the request, in a burst unless `burst` is NULL. */
enum nn_status shot_run(struct shot *s, struct nna_prepared_model *prepared, struct nna_burst *burst);

/*
 * Checks outputs, shapes, times and guard bytes. If a check fails, `reason` describes the first
 * difference.
 */
bool shot_check(const struct shot *s, char reason[REASON]);

/* Checks only the guard bytes, which no execution may write, not even an execution that fails. */
bool shot_check_rest(const struct shot *s, char reason[REASON]);

/*
 * Checks that the status and the shapes report that the first output of an execution has too little
 * memory.
 */
bool shot_check_short(const struct shot *s, enum nn_status status, char reason[REASON]);

#endif /* NN_TOOLS_ENGINE_TEST_SHOT_H */
