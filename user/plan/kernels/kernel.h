/* SPDX-License-Identifier: MIT */
/*
 * Fast kernels. A kernel runs an operation of known shapes that was prepared before, with weights
 * packed in advance if they are constants. One table lists all kernels; each family has a file.
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
 * The type that a fast kernel computes in: int8 (or uint8), float32, or float16 if the CPU supports
 * it.
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

/* Returns how many floats or fp16 numbers a vector has. */
static inline size_t nn_number_lanes(const struct nn_isa *isa, enum nn_number number)
{
	return number == NN_IN_FP16 ? 2 * (size_t)isa->lanes : isa->lanes;
}

/* Maximum numbers of 32-bit words, inputs and outputs of a saved step. */
#define NN_SAVED_WORDS 128
#define NN_SAVED_INPUTS 61
#define NN_SAVED_OUTPUTS 6

/*
 * Alignment of packed weights, scratch memory and the arena: a cache line, and the widest vector.
 */
#define NN_KERNEL_ALIGN 64

static inline size_t nn_kernel_aligned(size_t size)
{
	return round_up(size, NN_KERNEL_ALIGN);
}

/*
 * One operation, prepared for a kernel. nn_kernel.prepare() fills all fields except `isa` and
 * `threads`.
 */
struct nn_ready {
	const struct nn_isa *isa;
	uint32_t threads;		/* threads that will run the tasks */
	const struct nn_kernel *kernel;
	uint32_t row;			/* index of the operation in kernel->codes */
	void *state;	/* private to the kernel, from calloc(); freed with the plan */
	uint64_t reads;	/* bit mask of the tensor inputs whose values this struct depends on */
	size_t packed_size;		/* bytes of packed weights */
	const void *packed;	/* packed weights: of this run, if weights are no constants */
	/*
	 * Number of tasks that pack the weights in each run. It is 0 if weights are constants,
	 * which are packed only once.
	 */
	uint32_t pack_tasks;
	size_t scratch_size;		/* bytes of scratch memory for each thread */
	uint32_t looks;			/* number of tasks of look(), at most NN_MAX_LOOKS */
	size_t looked;			/* elements of input 0 whose range look() finds */
	uint32_t tasks;
};

#define NN_MAX_LOOKS 32

/* Range of a part of the input: low <= 0 <= high. */
struct nn_range {
	float low, high;
};

/* The arguments of one run of a step's kernel. */
struct nn_kernel_call {
	const struct nn_ready *ready;
	const void *const *inputs;	/* NULL where omitted */
	void *const *outputs;
	uint32_t threads;		/* threads for work that one task divides further */
	struct nn_range *ranges;	/* range that each task of look() found */
};

/* The memory of an operand that a step of a saved plan, which is not trusted, may access. */
struct nn_room {
	uint64_t bytes;
	uint32_t align;			/* alignment of the address; 0 if no memory is needed */
};

/*
 * Memory of a saved step's operands; valid are as many as nn_kernel.inputs and
 * nn_kernel.more_outputs.
 */
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
	 * Prepares an operation of the list `codes`. Its shapes are inferred, and only its constant
	 * inputs have data; input 0 and output 0 are not empty. ready->state is zeroed memory of
	 * state_size bytes. Returns false if this kernel cannot run the operation or memory runs
	 * out; then the next kernel is tried, at last the reference kernel.
	 *
	 * A loaded plan runs the operation on weights that were packed earlier. So the packed form
	 * may depend only on types, shapes, scalars and `isa`, not on `threads`.
	 *
	 * prepare() adds each tensor whose values it reads to ready->reads, even if it then rejects
	 * the operation.
	 */
	bool (*prepare)(struct nn_run *r, struct nn_ready *ready);
	/*
	 * Packs weights that are constants: writes packed_size bytes; `packed` is aligned to 64.
	 * Returns false if memory runs out or the kernel rejects a constant. If pack() is NULL,
	 * task 0 of pack_task() packs constant weights, without scratch memory.
	 */
	bool (*pack)(struct nn_run *r, const struct nn_ready *ready, void *packed);
	/*
	 * Packs a part of weights that are no constants. All tensors have data. Tasks may run
	 * concurrently; run() comes after all of them. Returns false for values that the kernel
	 * cannot handle; the reference kernel then runs the operation. In a restored step, tensors
	 * have only data, and all values must be accepted.
	 */
	bool (*pack_task)(const struct nn_run *r, const struct nn_ready *ready, uint32_t task,
			  void *scratch, void *packed);
	/*
	 * Finds the range of a part of the input. Tasks may run concurrently; run() comes after all
	 * of them.
	 */
	void (*look)(const struct nn_kernel_call *call, uint32_t task);
	/* Runs one task. Tasks may run concurrently. `scratch` is aligned to 64. */
	void (*run)(const struct nn_kernel_call *call, uint32_t task, void *scratch);
	/*
	 * The fields of `state` that are saved (fields.h), so that a saved plan can be loaded
	 * without compiling. NULL if steps of this kernel cannot be saved. A step may read only
	 * inputs for which the table has a span. No address, size or branch may depend on values of
	 * inputs. In a restored step even an omitted input has an address, so a field must record
	 * that it was omitted.
	 */
	const struct nn_field *fields;
	/*
	 * Restores a state: nn_restore_rows() of the table `fields`. It may be NULL if speed does
	 * not matter.
	 */
	bool (*restore)(struct nn_walk *w, void *state);
	/*
	 * Derives from the saved fields the rest of `state`, and those members of `ready` that
	 * prepare() fills, except `kernel`, `state` and `reads`. Returns false if the CPU cannot
	 * run the step, or if a size is too large.
	 */
	bool (*complete)(void *state, struct nn_ready *ready);
	/* Maximum number of inputs of a restored step: NN_SAVED_INPUTS or fewer. */
	uint32_t inputs;
	uint32_t more_outputs;		/* maximum number of outputs besides the first one */
	size_t state_size;
};

/* Set nn_kernel.codes to a list of operations, or to the `code` members of a table's rows. */
#define NN_TAKES(...) .codes = (const int32_t[]){ __VA_ARGS__ }, .code_step = sizeof(int32_t),	\
		      .num_codes = sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t)
#define NN_TAKES_ROWS(rows) .codes = &(rows)[0].code, .code_step = sizeof((rows)[0]),		\
			    .num_codes = sizeof(rows) / sizeof((rows)[0])

/*
 * Defines a kernel with the functions prepare(), run() and complete() of the file, and with the
 * table `fields` there. The last arguments are the kernel's other members.
 */
#define NN_KERNEL(which, label, size, ...)						\
const struct nn_kernel nn_kernel_##which = {						\
	.name = label, .prepare = prepare, .run = run, .fields = fields,		\
	.complete = complete, .state_size = size, __VA_ARGS__				\
}

/*
 * Replaces ready->state by `size` zeroed bytes, for a kernel whose state_size is too small. Returns
 * false if memory runs out.
 */
bool nn_kernel_enlarge(struct nn_ready *ready, size_t size);

/*
 * Returns the kernel of a number, or NULL beyond the last one. Another build may have other
 * numbers.
 */
const struct nn_kernel *nn_kernel_at(uint32_t number);

/* Fills `ready` with the first kernel that accepts the operation; returns false if none does. */
bool nn_kernel_find(struct nn_run *r, struct nn_ready *ready);

/* Packs weights that are constants; see nn_kernel.pack. */
bool nn_kernel_pack(struct nn_run *r, const struct nn_ready *ready, void *packed);

/*
 * All kernels, specialised ones before general ones: the first that accepts an operation runs it.
 */
#define NN_KERNELS(K)									\
	K(arg) K(batch_matmul) K(batch_matmul_q8) K(table) K(binary) K(concatenation)	\
	K(conv) K(depthwise) K(conv_parts) K(dynamic) K(fully_connected) K(function)	\
	K(instance) K(l2_normalization) K(local_response) K(lstm) K(pool)		\
	K(quantized_lstm) K(reduce) K(resize) K(softmax) K(svdf) K(transpose)

#define NN_DECLARE_KERNEL(which) extern const struct nn_kernel nn_kernel_##which;
NN_KERNELS(NN_DECLARE_KERNEL)

#endif /* NN_PLAN_KERNELS_KERNEL_H */
