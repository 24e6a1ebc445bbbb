/* SPDX-License-Identifier: MIT */
/*
 * Describes the format of a saved plan, for the code that writes and the code that reads saved
 * plans.
 *
 * Model part: struct saved_header, then a serialised plan or a model. If the plan was tuned, the
 * model part ends with a byte for each step, the chosen number of threads.
 *
 * The model part has a serialised plan if each step has a kernel that can be saved, and if no
 * argument may be omitted. A serialised plan has all information that an execution needs, so
 * loading compiles nothing.
 *
 * Otherwise, the model part has a model in its wire form (see model/wire.h). The wire form contains
 * the values of determining constants (see ops/op.h); the values of all other constants are in the
 * model's only pool, which is the data part. Operations that depend on constants alone are replaced
 * by their results in the saved model.
 *
 * Data part: struct saved_stamp, the packed weights as compiling lays them out, and constants, each
 * aligned to SAVED_ALIGN. With a serialised plan, the data part has only the constants that steps
 * read; with a model, the data part has all constants. The data part is padded to
 * NN_PLAN_DATA_ALIGN.
 */
#ifndef NN_PLAN_SAVED_H
#define NN_PLAN_SAVED_H

#include "plan/plan.h"
#include "plan/kernels/kernel.h"

#define SAVED_MAGIC UINT64_C(0x314e414c504e4e02)
#define SAVED_ALIGN 64

/* Value of saved_header.choice for a plan with sections, which are compiled during executions. */
#define SAVED_SECTIONS UINT64_MAX

/* The hash of the model part also covers struct saved_header. */
struct saved_header {
	uint64_t magic;
	uint64_t fingerprint;		/* nn_plan_fingerprint() of the build that wrote the file */
	uint64_t model_size;		/* size of the whole model part, with this header */
	uint64_t data_size;
	uint64_t data_identity;	/* saved_stamp.identity of the plan's data part */
	uint64_t packed_size;
	uint64_t choice;		/* hash of the chosen kernels: compiled.choice */
	uint32_t tuned_steps;		/* 0: not tuned */
	uint32_t serial_size;	/* bytes of the serialised plan; 0 if the part has a model */
	char kernels[16];		/* name such as "avx2"; "" for an interpreted plan */
};

/*
 * Header of a serialised plan, followed by serial_arg[num_inputs + num_outputs],
 * serial_place[num_places] and the steps. Each step is followed by its operands, outputs first, and
 * by `words` words. Operands are numbered in this order: inputs, outputs, then the operands of
 * serial_place[].
 */
struct serial_header {
	uint64_t arena_size;
	uint32_t num_inputs;
	uint32_t num_outputs;
	uint32_t num_places;
	uint32_t num_steps;
};

/*
 * An argument of a serialised plan, with the type that the model declares. All dimensions of the
 * argument are known.
 */
struct serial_arg {
	int32_t type;
	uint32_t rank;
	uint32_t dims[NN_MAX_RANK];	/* dimensions after the first `rank` are 0 */
	float scale;
	int32_t zero_point;
};

/*
 * Values of serial_place.in: the operand is in the arena, in the data part, or in argument `in -
 * SERIAL_ARG`.
 */
enum { SERIAL_ARENA, SERIAL_DATA, SERIAL_ARG };

struct serial_place {
	uint64_t offset;
	uint32_t size;
	uint32_t in;
};

struct serial_step {
	uint16_t kernel;		/* number of the kernel, see nn_kernel_at() */
	uint16_t words;			/* number of words in the kernel's saved fields */
	int32_t code;			/* code of the operation, for messages */
	uint32_t index;
	uint16_t num_outputs;
	uint16_t num_inputs;
	uint32_t packed_of; /* 1 + number of the step that has the same packed weights; 0: none */
};

/* Returns whether a step of a kernel may have `outputs` outputs and `inputs` inputs. */
static inline bool saved_has_operands(const struct nn_kernel *kernel, uint32_t outputs,
				      uint32_t inputs)
{
	return outputs && outputs <= 1 + kernel->more_outputs && inputs && inputs <= kernel->inputs;
}

/*
 * Header of the data part of a saved plan. The stamp shows that a data part belongs to another
 * plan, or was not written completely. The stamp does not protect the data part against changes.
 */
struct saved_stamp {
	uint64_t magic;
	uint64_t identity;
	uint64_t reserved[6];		/* 0 */
};

_Static_assert(sizeof(struct saved_header) == 80, "no hidden padding");
_Static_assert(sizeof(struct serial_header) == 24, "no hidden padding");
_Static_assert(sizeof(struct serial_arg) == 80, "no hidden padding");
_Static_assert(sizeof(struct serial_place) == 16, "no hidden padding");
_Static_assert(sizeof(struct serial_step) == 20, "no hidden padding");
_Static_assert(sizeof(struct saved_stamp) == SAVED_ALIGN, "packed weights follow it, aligned");

#endif /* NN_PLAN_SAVED_H */
