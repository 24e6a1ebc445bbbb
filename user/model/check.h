/* SPDX-License-Identifier: MIT */
/* The state of a model check, and messages that name the rejected part of the model. */
#ifndef NN_MODEL_CHECK_H
#define NN_MODEL_CHECK_H

#include <nnaccel/engine_model.h>

/* The state of an operand while the operand's subgraph is checked. */
struct nn_operand_use {
	uint32_t consumers;	/* how often the checked operations read the operand */
	/* the operand was found in the subgraph's list of inputs or outputs */
	bool listed;
	bool written;
};

struct nn_model_checker {
	const struct nn_model *model;
	struct nn_error *err;
	uint32_t at;			/* index of the current subgraph */
	/* array with an element for each operand of the largest subgraph */
	struct nn_operand_use *uses;
	uint8_t prefixes[8192];		/* bit set of the extension prefixes in the model's list */
};

/* Checks the model's list of extensions and fills `prefixes` from the list. */
enum nn_status nn_check_extensions(struct nn_model_checker *c);

/*
 * Returns false if a type's or operation's code has a prefix that is not in the model's list of
 * extensions.
 */
bool nn_check_prefix(const struct nn_model_checker *c, int32_t code);

/* Checks the rules that concern a single operand, without other operands. */
enum nn_status nn_check_operand(const struct nn_model_checker *c, uint32_t index);

/*
 * Sets a message such as "subgraph 0, operand 5 (TENSOR_INT32): ..." and returns
 * NN_INVALID_ARGUMENT.
 */
enum nn_status nn_refuse_operand(const struct nn_model_checker *c, uint32_t index,
				 const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Rejects an operand because the prefix of its type is not in the model's list of extensions. */
enum nn_status nn_refuse_prefix(const struct nn_model_checker *c, uint32_t index);

/* Sets a message such as "subgraph 0, operation 3 (code 3)..." and returns NN_INVALID_ARGUMENT. */
enum nn_status nn_refuse_operation(const struct nn_model_checker *c, uint32_t index,
				   const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif /* NN_MODEL_CHECK_H */
