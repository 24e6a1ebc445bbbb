// SPDX-License-Identifier: MIT
/* Parses a command that NNACCEL_SESSION_FETCH wrote. */
#include <stddef.h>
#include <stdint.h>

#include "base/round.h"
#include "kit/session/command.h"

static enum nn_status bad(struct nn_error *err, const char *what)
{
	return nn_fail(err, NN_GENERAL_FAILURE, "malformed command: %s", what);
}

static enum nn_status check_sizes(const struct command *c, size_t size, struct nn_error *err)
{
	const struct nnaccel_cmd *head = c->head;
	uint64_t args = (uint64_t)head->num_inputs + head->num_outputs;
	uint64_t want = sizeof(*head) + head->num_grants * (uint64_t)sizeof(*c->grants) +
			args * sizeof(*c->inputs) + head->num_roles * (uint64_t)sizeof(*c->roles) +
			head->attributes_size;

	if (head->num_formats)
		want = round_up(want, sizeof(uint64_t)) +
		       head->num_formats * (uint64_t)sizeof(*c->formats);
	if (head->num_grants > NNACCEL_MAX_CMD_POOLS + NNACCEL_MAX_CMD_BUFFERS)
		return bad(err, "too many memories");
	if (args > NNACCEL_MAX_ARGS)
		return bad(err, "too many arguments");
	if (head->num_roles > NNACCEL_MAX_ROLES)
		return bad(err, "too many roles");
	if (head->attributes_size > NNACCEL_MAX_ATTRIBUTES)
		return bad(err, "too many attributes");
	if (head->size != size || want != size)
		return bad(err, "its size and its counts differ");
	return NN_OK;
}

static enum nn_status check_grants(const struct command *c, struct nn_error *err)
{
	uint32_t num_formats = 0;

	for (uint32_t i = 0; i < c->head->num_grants; i++) {
		const struct nnaccel_grant *grant = &c->grants[i];
		bool may_lack = c->head->kind == NNACCEL_DO_SUPPORTED && i;

		if ((!(grant->prot & NNACCEL_PROT_READ) && !may_lack) ||
		    grant->prot & ~(NNACCEL_PROT_READ | NNACCEL_PROT_WRITE | NNACCEL_PROT_SYNC |
				    NNACCEL_PROT_FORMATTED | NNACCEL_PROT_DEVICE) ||
		    (grant->prot & NNACCEL_PROT_DEVICE && c->head->kind != NNACCEL_DO_EXECUTE))
			return bad(err, "wrong protection of a grant");
		if (grant->length == 0 || grant->length > INT64_MAX / 2)
			return bad(err, "wrong length of a grant");
		num_formats += grant->prot & NNACCEL_PROT_FORMATTED ? 1 : 0;
	}
	if (c->head->num_formats != num_formats)
		return bad(err, "wrong number of formats");
	for (uint32_t i = 0; i < num_formats; i++)
		if (!c->formats[i].num_planes || c->formats[i].num_planes > NNACCEL_MAX_PLANES)
			return bad(err, "wrong number of planes of a format");
	return NN_OK;
}

static enum nn_status check_arg(const struct command *c, const struct nnaccel_arg *arg,
				bool is_output, struct nn_error *err)
{
	const struct nnaccel_grant *grant;

	if (arg->flags & ~(uint32_t)(NNACCEL_ARG_NO_VALUE | NNACCEL_ARG_BUFFER))
		return bad(err, "unknown flags of an argument");
	if (arg->rank > NNACCEL_MAX_RANK)
		return bad(err, "wrong rank of an argument");
	if (arg->flags & NNACCEL_ARG_NO_VALUE)
		return NN_OK;
	if (arg->pool >= c->head->num_grants)
		return bad(err, "unknown pool of an argument");
	grant = &c->grants[arg->pool];
	if (arg->offset > grant->length || arg->length > grant->length - arg->offset)
		return bad(err, "an argument lies outside its pool");
	if (is_output && !(grant->prot & NNACCEL_PROT_WRITE))
		return bad(err, "an output lies in a pool that is not writable");
	return NN_OK;
}

static enum nn_status check_args(const struct command *c, struct nn_error *err)
{
	enum nn_status status;

	for (uint32_t i = 0; i < c->head->num_inputs; i++) {
		status = check_arg(c, &c->inputs[i], false, err);
		if (status)
			return status;
	}
	for (uint32_t i = 0; i < c->head->num_outputs; i++) {
		status = check_arg(c, &c->outputs[i], true, err);
		if (status)
			return status;
	}
	return NN_OK;
}

static enum nn_status check_buffer(const struct command *c, struct nn_error *err)
{
	if (c->head->num_grants != 1)
		return bad(err, "a buffer must be one memory");
	if (c->head->num_roles == 0)
		return bad(err, "a buffer without a role");
	for (uint32_t i = 0; i < c->head->num_roles; i++)
		if (c->roles[i].kind > NNACCEL_ROLE_OUTPUT)
			return bad(err, "unknown kind of a role");
	return NN_OK;
}

static enum nn_status check_wire(const struct command *c, struct nn_error *err)
{
	const struct nnaccel_cmd *head = c->head;

	if (head->num_grants == 0)
		return bad(err, "a model without a wire form");
	if (head->wire_length > NNACCEL_MAX_WIRE)
		return bad(err, "wrong length of a wire form");
	if (head->wire_offset > c->grants[0].length ||
	    head->wire_length > c->grants[0].length - head->wire_offset)
		return bad(err, "a wire form lies outside its pool");
	return NN_OK;
}

/*
 * Checks a command to copy between the command's first grant, which is a buffer, and its second
 * grant. Write access is checked only for grant `to`, because all grants are readable.
 */
static enum nn_status check_copy(const struct command *c, uint32_t to, struct nn_error *err)
{
	const struct nnaccel_cmd *head = c->head;

	if (head->num_grants != 2)
		return bad(err, "a copy must name two memories");
	if (!head->wire_length || head->wire_length > c->grants[0].length ||
	    head->wire_length > c->grants[1].length)
		return bad(err, "wrong length of a copy");
	if (!(c->grants[to].prot & NNACCEL_PROT_WRITE))
		return bad(err, "wrong protection of a copy");
	return NN_OK;
}

/* Checks the parts of a saved model. Grant i of the command is the memory of part i. */
static enum nn_status check_parts(const struct command *c, bool are_written, struct nn_error *err)
{
	const struct nnaccel_cmd *head = c->head;
	uint64_t model_bytes = 0;
	uint32_t used = 0;

	if (head->num_inputs > NNACCEL_MAX_CACHE_PARTS ||
	    head->num_outputs > NNACCEL_MAX_CACHE_PARTS || !(head->num_inputs + head->num_outputs))
		return bad(err, "wrong number of parts");
	for (uint32_t i = 0; i < head->num_inputs + head->num_outputs; i++) {
		const struct nnaccel_arg *arg = &c->inputs[i];
		enum nn_status status = check_arg(c, arg, are_written, err);

		if (status)
			return status;
		if (arg->flags & NNACCEL_ARG_NO_VALUE)
			continue;
		if (arg->flags || arg->pool != used++)
			return bad(err, "unknown grant of a part");
		if (i < head->num_inputs && arg->length > NNACCEL_MAX_WIRE - model_bytes)
			return bad(err, "wrong length of a part");
		if (i < head->num_inputs)
			model_bytes += arg->length;
	}
	return used == head->num_grants ? NN_OK : bad(err, "wrong number of parts");
}

enum nn_status command_parse(const void *buffer, size_t size, struct command *c,
			     struct nn_error *err)
{
	enum nn_status status;

	c->head = buffer;
	if (size < sizeof(*c->head))
		return bad(err, "shorter than its head");
	status = check_sizes(c, size, err);
	if (status)
		return status;
	c->grants = (const void *)(c->head + 1);
	c->inputs = (const void *)(c->grants + c->head->num_grants);
	c->outputs = c->inputs + c->head->num_inputs;
	c->roles = (const void *)(c->outputs + c->head->num_outputs);
	c->attributes = c->roles + c->head->num_roles;
	c->formats = (const void *)((const char *)buffer + size -
				    c->head->num_formats * sizeof(*c->formats));

	status = check_grants(c, err);
	if (status)
		return status;
	switch (c->head->kind) {
	case NNACCEL_DO_QUERY:
	case NNACCEL_DO_FORGET_MODEL:
	case NNACCEL_DO_FORGET_GRANT:
	case NNACCEL_DO_BURST:
	case NNACCEL_DO_BURST_GONE:
	case NNACCEL_DO_SLOT_GONE:
		return NN_OK;
	case NNACCEL_DO_SUPPORTED:
	case NNACCEL_DO_PREPARE:
		return check_wire(c, err);
	case NNACCEL_DO_EXECUTE:
		return check_args(c, err);
	case NNACCEL_DO_PREPARE_CACHED:
		return check_parts(c, false, err);
	case NNACCEL_DO_CACHE_SAVE:
		return check_parts(c, true, err);
	case NNACCEL_DO_BUFFER:
		return check_buffer(c, err);
	case NNACCEL_DO_COPY_IN:
		return check_copy(c, 0, err);
	case NNACCEL_DO_COPY_OUT:
		return check_copy(c, 1, err);
	}
	return bad(err, "unknown kind");
}

uint32_t command_status(enum nn_status status)
{
	switch (status) {
	case NN_OUT_OF_MEMORY:
		return NNACCEL_STATUS_RESOURCE_EXHAUSTED_TRANSIENT;
	case NN_DEAD_OBJECT:
		return NNACCEL_STATUS_DEVICE_UNAVAILABLE;
	default:
		return (uint32_t)status;
	}
}
