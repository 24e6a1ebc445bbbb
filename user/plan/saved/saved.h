/* SPDX-License-Identifier: MIT */
/*
 * The format of a saved plan, for the code that writes and the code that reads it.
 *
 * Model part: struct saved_header, then one of two forms. If the plan was tuned, a byte for each
 * step follows.
 *
 * The first form is the serialised plan. It is used if each step has a kernel that can be saved and
 * no argument may be omitted. It has all that an execution needs, so loading compiles nothing.
 *
 * The other form is the wire form of a model (model/wire.h). Its determining constants (ops/op.h)
 * are copied values; its other constants lie in its only pool, the data part. Operations that
 * depend on constants alone are replaced by their results.
 *
 * Data part: struct saved_stamp, the packed weights as compiling lays them out, then constants,
 * each aligned to SAVED_ALIGN. With a serialised plan the data part has only the constants that
 * steps read, otherwise all. The data part is padded to NN_PLAN_DATA_ALIGN.
 */
#ifndef NN_PLAN_SAVED_H
#define NN_PLAN_SAVED_H

#include "plan/plan.h"
#include "plan/kernels/kernel.h"

#define SAVED_MAGIC UINT64_C(0x314e414c504e4e02)
#define SAVED_ALIGN 64

/* Value of saved_header.choice for a plan with sections, which are compiled when executed. */
#define SAVED_SECTIONS UINT64_MAX

/* The hash by which the model part is checked covers this header too. */
struct saved_header {
	uint64_t magic;
	uint64_t fingerprint;		/* nn_plan_fingerprint() of the build that wrote the file */
	uint64_t model_size;		/* size of the whole model part */
	uint64_t data_size;
	uint64_t data_identity;	/* saved_stamp.identity of the data part that belongs to it */
	uint64_t packed_size;
	uint64_t choice;		/* hash of the chosen kernels: compiled.choice */
	uint32_t tuned_steps;		/* 0: not tuned */
	uint32_t serial_size;	/* bytes of the serialised plan; 0: there is the wire form */
	char kernels[16];		/* "avx2"; "" for a plan that is interpreted */
};

/*
 * Head of the serialised plan. serial_arg[num_inputs + num_outputs], serial_place[num_places] and
 * the steps follow. Each step is followed by its operands, outputs first, and by `words` words.
 * Operands are numbered in this order: inputs, outputs, places.
 */
struct serial_header {
	uint64_t arena_size;
	uint32_t num_inputs;
	uint32_t num_outputs;
	uint32_t num_places;
	uint32_t num_steps;
};

/* An argument as the model declares it. All dimensions are known. */
struct serial_arg {
	int32_t type;
	uint32_t rank;
	uint32_t dims[NN_MAX_RANK];	/* elements from `rank` on are 0 */
	float scale;
	int32_t zero_point;
};

/*
 * serial_place.in: the operand is in the arena, in the data part, or in argument `in - SERIAL_ARG`.
 */
enum { SERIAL_ARENA, SERIAL_DATA, SERIAL_ARG };

struct serial_place {
	uint64_t offset;
	uint32_t size;
	uint32_t in;
};

struct serial_step {
	uint16_t kernel;		/* its number, see nn_kernel_at() */
	uint16_t words;			/* number of words that the kernel's fields make */
	int32_t code;			/* code of the operation; with its index, for messages */
	uint32_t index;
	uint16_t num_outputs;
	uint16_t num_inputs;
};

/* Returns whether a step of a kernel may have these numbers of outputs and inputs. */
static inline bool saved_has_operands(const struct nn_kernel *kernel, uint32_t outputs,
				      uint32_t inputs)
{
	return outputs && outputs <= 1 + kernel->more_outputs && inputs && inputs <= kernel->inputs;
}

/*
 * The head of the data part. It shows if the part belongs to another plan or was not written
 * completely. It does not protect against changes.
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
_Static_assert(sizeof(struct serial_step) == 16, "no hidden padding");
_Static_assert(sizeof(struct saved_stamp) == SAVED_ALIGN, "packed weights follow it, aligned");

#endif /* NN_PLAN_SAVED_H */
