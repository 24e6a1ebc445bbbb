/* SPDX-License-Identifier: MIT */
/*
 * A fast kernel: an operation of known shapes made ready to run, with its weights packed if they
 * are constants. One table lists all kernels; each family has a file.
 */
#ifndef NN_PLAN_KERNELS_KERNEL_H
#define NN_PLAN_KERNELS_KERNEL_H

#include "base/round.h"
#include "ops/op.h"
#include "plan/kernels/isa.h"

struct nn_kernel;
struct nn_field;
struct nn_walk;

/*
 * The numbers that a fast kernel computes in: int8 (or uint8), float32, or float16 if the CPU
 * can.
 */
enum nn_number { NN_IN_INT8, NN_IN_FLOATS, NN_IN_FP16 };

static inline enum nn_number nn_number_of(int32_t type)
{
	return type == NN_TENSOR_FLOAT32 ? NN_IN_FLOATS :
	       type == NN_TENSOR_FLOAT16 ? NN_IN_FP16 : NN_IN_INT8;
}

static inline size_t nn_number_size(enum nn_number number)
{
	return number == NN_IN_INT8 ? 1 : number == NN_IN_FP16 ? sizeof(uint16_t) : sizeof(float);
}

/* Lanes of a vector of floats or of fp16 numbers. */
static inline size_t nn_number_lanes(const struct nn_isa *isa, enum nn_number number)
{
	return number == NN_IN_FP16 ? 2 * (size_t)isa->lanes : isa->lanes;
}

/* Maximum number of 32-bit words of a saved step, and of its inputs and outputs. */
#define NN_SAVED_WORDS 128
#define NN_SAVED_INPUTS 61
#define NN_SAVED_OUTPUTS 6

/* The alignment of packed weights, scratch and the arena: a cache line, the widest vector. */
#define NN_KERNEL_ALIGN 64

static inline size_t nn_kernel_aligned(size_t size)
{
	return round_up(size, NN_KERNEL_ALIGN);
}

/*
 * One operation made ready. The function that prepares it fills all fields except `isa` and
 * `threads`.
 */
struct nn_ready {
	const struct nn_isa *isa;
	uint32_t threads;		/* threads that will share the tasks */
	const struct nn_kernel *kernel;
	uint32_t row;			/* place of the operation among the kernel's codes */
	void *state;			/* the kernel's own, from calloc(); freed with the plan */
	uint64_t reads;			/* bits of the tensor inputs whose values it depends on */
	size_t packed_size;		/* bytes of packed weights */
	const void *packed;	/* packed weights; if weights are no constants, those of this run */
	/*
	 * Number of tasks that pack the weights in each run; 0 if weights are constants, packed
	 * once.
	 */
	uint32_t pack_tasks;
					/* number of tasks in which each run packs the weights */
	size_t scratch_size;		/* bytes for each thread that runs tasks of it */
	uint32_t looks;			/* number of tasks of look(), at most NN_MAX_LOOKS */
	size_t looked;			/* elements of input 0 whose range they find */
	uint32_t tasks;
};

#define NN_MAX_LOOKS 32

/* The least and the largest value of a part of the input; 0 is between them. */
struct nn_range {
	float low, high;
};

/* The arguments of one run of a step's kernel. */
struct nn_kernel_call {
	const struct nn_ready *ready;
	const void *const *inputs;	/* NULL where omitted */
	void *const *outputs;
	uint32_t threads;		/* threads that may share what one task divides itself */
	struct nn_range *ranges;	/* what each task of look() found */
};

/* The memory of a step that came from a file and is not trusted. */
struct nn_room {
	uint64_t bytes;
	uint32_t align;			/* alignment of the address; 0 if no memory is needed */
};

/* Only the first `inputs` inputs and `more_outputs` further outputs of the kernel are valid. */
struct nn_bounds {
	struct nn_room inputs[NN_SAVED_INPUTS];	/* 0 bytes: omitted, or not read */
	struct nn_room output;
	struct nn_room more_outputs[NN_SAVED_OUTPUTS - 1];
};

struct nn_kernel {
	const char *name;
	/* Operations that prepare() may accept: NN_TAKES() or NN_TAKES_ROWS(). */
	const int32_t *codes;
	uint32_t num_codes;
	uint32_t code_step;		/* bytes from one operation code to the next */
	/*
	 * Takes one of these operations, whose shapes are inferred, and whose constant inputs alone
	 * have data; input 0 and output 0 have elements. ready->state is zeros, state_size of them.
	 * Returns false if this kernel cannot run it or memory runs out; the reference kernel then
	 * runs.
	 *
	 * A loaded plan runs the operation on weights that were packed earlier. So the packed form
	 * may depend only on types, shapes, scalars and `isa`, not on `threads`. prepare() reads
	 * values only of tensors that it adds to `reads`, also if it then rejects the operation.
	 */
	bool (*prepare)(struct nn_run *r, struct nn_ready *ready);
	/*
	 * Packs weights that are constants: writes packed_size bytes, aligned to 64. Returns false
	 * if memory runs out or a constant is rejected. If it is NULL, task 0 of pack_task() packs
	 * them, without scratch memory.
	 */
	bool (*pack)(struct nn_run *r, const struct nn_ready *ready, void *packed);
	/*
	 * Packs a part of weights that are no constants, with tensors that all have data. Any of
	 * these tasks may run at a time; run() comes after them. Returns false for values that the
	 * kernel cannot handle; the reference kernel then runs instead. In a restored step, tensors
	 * have only data, and all values must be accepted.
	 */
	bool (*pack_task)(const struct nn_run *r, const struct nn_ready *ready, uint32_t task,
			  void *scratch, void *packed);
	/*
	 * Finds the range of a part of the input. Any of these tasks may run at a time; run() comes
	 * after them.
	 */
	void (*look)(const struct nn_kernel_call *call, uint32_t task);
	/* Runs a task, of which any may run at a time. `scratch` is aligned to 64. */
	void (*run)(const struct nn_kernel_call *call, uint32_t task, void *scratch);
	/*
	 * The fields of `state` that are saved (fields.h), so that a plan is loaded without being
	 * compiled. It is NULL if a step cannot be saved. A step may read only inputs for which the
	 * table has a span. Their values must not become an address, a size or a choice. An omitted
	 * input has an address in a restored step, so a field must record that it was omitted.
	 */
	const struct nn_field *fields;
	/*
	 * Walks the fields to restore a state: nn_restore_rows() of the table. The function may be
	 * NULL if speed does not matter.
	 */
	bool (*restore)(struct nn_walk *w, void *state);
	/*
	 * Fills what follows from the fields: the rest of `state`, and of `ready` all that
	 * prepare() fills except `kernel`, `state` and `reads`. Returns false if the CPU cannot run
	 * it, or if a size is too large.
	 */
	bool (*complete)(void *state, struct nn_ready *ready);
	/* Maximum number of inputs of a restored step: NN_SAVED_INPUTS or fewer. */
	uint32_t inputs;
	uint32_t more_outputs;		/* maximum number of outputs besides the first one */
	size_t state_size;
};

/* Lists operations, or refers to a table whose rows have a `code`. */
#define NN_TAKES(...) .codes = (const int32_t[]){ __VA_ARGS__ }, .code_step = sizeof(int32_t),	\
		      .num_codes = sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t)
#define NN_TAKES_ROWS(rows) .codes = &(rows)[0].code, .code_step = sizeof((rows)[0]),		\
			    .num_codes = sizeof(rows) / sizeof((rows)[0])

/*
 * Defines a kernel of the functions prepare(), run() and complete() of its file, and of its table
 * `fields`. Its other members follow.
 */
#define NN_KERNEL(which, label, size, ...)						\
const struct nn_kernel nn_kernel_##which = {						\
	.name = label, .prepare = prepare, .run = run, .fields = fields,		\
	.complete = complete, .state_size = size, __VA_ARGS__				\
}

/*
 * Makes ready->state `size` zero bytes, for a kernel whose state_size is too small. Returns false
 * if memory runs out.
 */
bool nn_kernel_enlarge(struct nn_ready *ready, size_t size);

/* Returns a kernel by its number, which is fixed in one build; NULL beyond the last one. */
const struct nn_kernel *nn_kernel_at(uint32_t number);

/* Finds the first kernel that takes the operation; returns false if none does. */
bool nn_kernel_find(struct nn_run *r, struct nn_ready *ready);

/* Packs weights that are constants; see nn_kernel.pack. */
bool nn_kernel_pack(struct nn_run *r, const struct nn_ready *ready, void *packed);

/*
 * The first kernel that takes an operation gets it, so specialised kernels come before general
 * ones.
 */
#define NN_KERNELS(K)									\
	K(arg) K(batch_matmul) K(batch_matmul_q8) K(table) K(binary) K(concatenation)	\
	K(conv) K(depthwise) K(conv_parts) K(dynamic) K(fully_connected) K(function)	\
	K(instance) K(l2_normalization) K(local_response) K(lstm) K(pool)		\
	K(quantized_lstm) K(reduce) K(resize) K(softmax) K(svdf) K(transpose)

#define NN_DECLARE_KERNEL(which) extern const struct nn_kernel nn_kernel_##which;
NN_KERNELS(NN_DECLARE_KERNEL)

#endif /* NN_PLAN_KERNELS_KERNEL_H */
