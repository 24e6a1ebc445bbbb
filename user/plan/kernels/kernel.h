/* SPDX-License-Identifier: MIT */
/*
 * Fast kernels. A kernel runs an operation whose shapes are known and that was prepared; constant
 * weights are packed in advance. NN_KERNELS lists all kernels; each family of kernels has a file.
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

/* Maximum numbers of 32-bit words, of inputs and of outputs in a saved step. */
#define NN_SAVED_WORDS 128
#define NN_SAVED_INPUTS 61
#define NN_SAVED_OUTPUTS 6

/*
 * Alignment of packed weights, scratch memory and the arena, for cache lines and the widest
 * vectors.
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
	void *state;	/* state of the kernel, from calloc(); freed with the plan */
	uint64_t reads;	/* bit mask of the inputs whose values prepare() read */
	size_t packed_size;		/* bytes of packed weights */
	/* packed weights; if the weights are not constants, valid for one run */
	const void *packed;
	/*
	 * Number of tasks that pack the weights in each execution. The number is 0 if the weights
	 * are constants, which are packed only once.
	 */
	uint32_t pack_tasks;
	size_t scratch_size;		/* bytes of scratch memory for each thread */
	uint32_t looks;			/* number of tasks of look(), at most NN_MAX_LOOKS */
	size_t looked;	/* number of elements of input 0 among which look() finds the range */
	uint32_t tasks;
};

#define NN_MAX_LOOKS 32

/* Range of the values of a part of the input: low <= 0 <= high. */
struct nn_range {
	float low, high;
};

/* The arguments for one execution of a step's kernel. */
struct nn_kernel_call {
	const struct nn_ready *ready;
	const void *const *inputs;	/* NULL where omitted */
	void *const *outputs;
	uint32_t threads;		/* threads among which one task may divide its work */
	struct nn_range *ranges;	/* range of values that each task of look() found */
};

/* Size and alignment of the part of an operand's memory that a step of a saved plan may access. */
struct nn_room {
	uint64_t bytes;
	uint32_t align;			/* alignment of the address; 0 if no memory is needed */
};

/*
 * The memory that a saved step may access: nn_kernel.inputs inputs, and nn_kernel.more_outputs
 * outputs besides `output`.
 */
struct nn_bounds {
	struct nn_room inputs[NN_SAVED_INPUTS];	/* 0 bytes: input omitted or not read */
	struct nn_room output;
	struct nn_room more_outputs[NN_SAVED_OUTPUTS - 1];
};

struct nn_kernel {
	const char *name;
	/* The operations that prepare() may accept, set by NN_TAKES() or NN_TAKES_ROWS(). */
	const int32_t *codes;
	uint32_t num_codes;
	uint32_t code_step;		/* distance in bytes between operation codes */
	/*
	 * Prepares an operation whose code is in `codes`. All shapes are known, and only constant
	 * inputs have data; input 0 and output 0 are not empty. ready->state is zeroed memory of
	 * state_size bytes. Returns false if memory runs out or this kernel cannot run the
	 * operation. The caller then tries the next kernel, and uses the reference code if no
	 * kernel is left.
	 *
	 * The layout of packed weights may depend only on types, shapes, scalars and `isa`. The
	 * layout must not depend on `threads`, because a loaded plan uses weights that were packed
	 * before the plan was saved.
	 *
	 * If prepare() reads the values of a tensor, prepare() adds the tensor to ready->reads,
	 * even if prepare() rejects the operation.
	 */
	bool (*prepare)(struct nn_run *r, struct nn_ready *ready);
	/*
	 * Packs constant weights: writes packed_size bytes to `packed`, which is aligned to 64
	 * bytes. Returns false if memory runs out or the kernel rejects a constant. If pack() is
	 * NULL, task 0 of pack_task() packs the constant weights, without scratch memory.
	 */
	bool (*pack)(struct nn_run *r, const struct nn_ready *ready, void *packed);
	/*
	 * Packs, during an execution, a part of weights that are not constants. All tensors of `r`
	 * have data. Several tasks may run concurrently; run() is called after all of them. Returns
	 * false for values that the kernel cannot handle; the reference code then runs the
	 * operation. In a restored step, the tensors have data but no types and dimensions, and
	 * pack_task() must accept all values.
	 */
	bool (*pack_task)(const struct nn_run *r, const struct nn_ready *ready, uint32_t task,
			  void *scratch, void *packed);
	/*
	 * Finds the range of values of a part of the input. Several tasks of look() may run
	 * concurrently; run() is called after all of them.
	 */
	void (*look)(const struct nn_kernel_call *call, uint32_t task);
	/*
	 * Runs one task. Several tasks of one run may run concurrently. `scratch` is aligned to 64
	 * bytes.
	 */
	void (*run)(const struct nn_kernel_call *call, uint32_t task, void *scratch);
	/*
	 * A table of the fields of `state` that are saved (see fields.h), so that a saved plan can
	 * be loaded without compiling. `fields` is NULL if steps of this kernel cannot be saved. A
	 * step may read only inputs for which `fields` has a SPAN row, which checks the input's
	 * size. In a saved step, no address, size or branch may depend on values of inputs. In a
	 * restored step, omitted inputs also have addresses, so a saved field must show which
	 * inputs are omitted.
	 */
	const struct nn_field *fields;
	/*
	 * Restores a state by calling nn_restore_rows() for the table `fields`. restore() may be
	 * NULL if the speed of loading does not matter.
	 */
	bool (*restore)(struct nn_walk *w, void *state);
	/*
	 * Computes the unsaved fields of `state` from the saved fields. Sets the members of `ready`
	 * that prepare() sets, except `kernel`, `state` and `reads`. Returns false if the CPU
	 * cannot run the step, or if a size is too large.
	 */
	bool (*complete)(void *state, struct nn_ready *ready);
	/* Maximum number of inputs of a restored step, at most NN_SAVED_INPUTS. */
	uint32_t inputs;
	uint32_t more_outputs;		/* maximum number of outputs besides output 0 */
	size_t state_size;
};

/* Set nn_kernel.codes to a list of operation codes, or to the `code` members of a table's rows. */
#define NN_TAKES(...) .codes = (const int32_t[]){ __VA_ARGS__ }, .code_step = sizeof(int32_t),	\
		      .num_codes = sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t)
#define NN_TAKES_ROWS(rows) .codes = &(rows)[0].code, .code_step = sizeof((rows)[0]),		\
			    .num_codes = sizeof(rows) / sizeof((rows)[0])

/*
 * Defines a kernel with the functions prepare(), run() and complete() and the table `fields` of the
 * including file. After `size`, NN_KERNEL accepts designated initialisers of further members of
 * struct nn_kernel.
 */
#define NN_KERNEL(which, label, size, ...)						\
const struct nn_kernel nn_kernel_##which = {						\
	.name = label, .prepare = prepare, .run = run, .fields = fields,		\
	.complete = complete, .state_size = size, __VA_ARGS__				\
}

/*
 * Replaces ready->state by `size` zeroed bytes, for a kernel that needs more than state_size bytes.
 * Returns false if memory runs out.
 */
bool nn_kernel_enlarge(struct nn_ready *ready, size_t size);

/*
 * Returns the kernel with a number, or NULL if no kernel has the number. The numbers of kernels are
 * valid only in the same build of the library.
 */
const struct nn_kernel *nn_kernel_at(uint32_t number);

/*
 * Fills `ready` with the first kernel that accepts the operation; returns false if no kernel
 * accepts it.
 */
bool nn_kernel_find(struct nn_run *r, struct nn_ready *ready);

/* Packs weights that are constants; nn_kernel.pack describes the details. */
bool nn_kernel_pack(struct nn_run *r, const struct nn_ready *ready, void *packed);

/*
 * The list of all kernels, specialised kernels first: the first kernel that accepts an operation
 * runs it.
 */
#define NN_KERNELS(K)									\
	K(arg) K(batch_matmul) K(batch_matmul_q8) K(table) K(binary) K(concatenation)	\
	K(conv) K(depthwise) K(conv_parts) K(dynamic) K(fully_connected) K(function)	\
	K(instance) K(l2_normalization) K(local_response) K(lstm) K(pool)		\
	K(quantized_lstm) K(reduce) K(resize) K(softmax) K(svdf) K(transpose)

#define NN_DECLARE_KERNEL(which) extern const struct nn_kernel nn_kernel_##which;
NN_KERNELS(NN_DECLARE_KERNEL)

#endif /* NN_PLAN_KERNELS_KERNEL_H */
