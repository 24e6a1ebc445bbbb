/* SPDX-License-Identifier: MIT */
/*
 * Models of the edu extension: each operation computes one of the model's outputs from one of the
 * model's inputs.
 */
#ifndef EDU_MODEL_H
#define EDU_MODEL_H

#include <nnaccel/engine_model.h>

struct edu_step {
	uint16_t operation;		/* EDU_FACTORIAL, EDU_COPY */
	uint32_t input;			/* positions among the model's inputs and outputs */
	uint32_t output;
	struct nn_operand operand;	/* type and shape of input and output */
};

struct edu_model {
	uint32_t num_inputs;
	uint32_t num_outputs;
	uint32_t num_steps;
	struct edu_step steps[];
};

/* Sets which operations of a decoded model's main subgraph the device supports. */
void edu_model_supported(const struct nn_model *model, bool *supported);

/*
 * Makes *model from a decoded model, in one allocation. Returns NN_INVALID_ARGUMENT if an operation
 * is not supported.
 */
enum nn_status edu_model_make(const struct nn_model *from, struct edu_model **model,
			      struct nn_error *err);

#endif /* EDU_MODEL_H */
