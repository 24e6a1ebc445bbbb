/* SPDX-License-Identifier: MIT */
/*
 * Parses a command that NNACCEL_SESSION_FETCH wrote. The whole command is checked before any field
 * is used.
 */
#ifndef NN_KIT_COMMAND_H
#define NN_KIT_COMMAND_H

#include <stdbool.h>

#include <linux/nnaccel.h>
#include <nnaccel/engine_model.h>

/*
 * A command and its arrays. The pointers of struct command point into the buffer that was parsed.
 */
struct command {
	const struct nnaccel_cmd *head;
	const struct nnaccel_grant *grants;	/* head->num_grants */
	const struct nnaccel_arg *inputs;	/* head->num_inputs */
	const struct nnaccel_arg *outputs;	/* head->num_outputs */
	const struct nnaccel_cmd_role *roles;	/* head->num_roles */
	/* encoded attributes of head->attributes_size bytes */
	const void *attributes;
	/* array of head->num_formats formats, one for each grant of formatted memory */
	const struct nnaccel_format *formats;
};

/*
 * Parses a command of `size` bytes at an 8-byte aligned address. Checks counts, indices and all
 * ranges in grants (of arguments, parts and the wire form), and that outputs are writable. Returns
 * NN_OK or NN_GENERAL_FAILURE. The kernel never sends a command for which command_parse() fails.
 * Even after a failure, `head` points to the command's unchecked header, if `size` is large enough
 * for a header.
 */
enum nn_status command_parse(const void *buffer, size_t size, struct command *command,
			     struct nn_error *err);

/* Converts `status` to the status of the HAL that clients receive. */
uint32_t command_status(enum nn_status status);

#endif /* NN_KIT_COMMAND_H */
