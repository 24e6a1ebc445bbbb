/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the parser of commands that a session fetches. A command that the parser accepts must lie
 * inside the buffer, and the command's arguments must lie inside their grants.
 */
#include <stdlib.h>
#include <string.h>

/*
 * This test includes command.c, because this source file needs neither the kernel's interface nor
 * other files of sessions.
 */
#include "kit/session/command.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static void check_argument(const struct command *c, const struct nnaccel_arg *arg, bool is_output)
{
	const struct nnaccel_grant *grant;

	require(arg->rank <= NNACCEL_MAX_RANK);
	if (arg->flags & NNACCEL_ARG_NO_VALUE)
		return;
	require(arg->pool < c->head->num_grants);
	grant = &c->grants[arg->pool];
	require(arg->length <= grant->length && arg->offset <= grant->length - arg->length);
	require(!is_output || grant->prot & NNACCEL_PROT_WRITE);
}

static void check_command(const struct command *c, const char *buffer, size_t size)
{
	const char *end = (const char *)c->attributes + c->head->attributes_size;

	if (c->head->num_formats) {
		require((const char *)c->formats - end < 8);
		end = (const char *)(c->formats + c->head->num_formats);
	}
	require(end == buffer + size);
	require(c->head->kind >= NNACCEL_DO_QUERY && c->head->kind <= NNACCEL_DO_CACHE_SAVE);
	if (c->head->kind == NNACCEL_DO_BUFFER)
		require(c->head->num_grants == 1 && c->head->num_roles > 0);
	if (c->head->kind != NNACCEL_DO_EXECUTE)
		return;
	for (uint32_t i = 0; i < c->head->num_inputs; i++)
		check_argument(c, &c->inputs[i], false);
	for (uint32_t i = 0; i < c->head->num_outputs; i++)
		check_argument(c, &c->outputs[i], true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nn_error err = { "" };
	struct command command;
	char *buffer = malloc(size ? size : 1);

	if (!buffer)
		return 0;
	memcpy(buffer, data, size);
	/*
	 * Every second input gets the right value in the command's size field, because a fuzzer
	 * rarely finds the right value.
	 */
	if (size >= sizeof(struct nnaccel_cmd) && data[sizeof(struct nnaccel_cmd) - 1] & 1) {
		uint32_t own = (uint32_t)size;

		memcpy(buffer, &own, sizeof(own));
	}
	if (command_parse(buffer, size, &command, &err) == NN_OK)
		check_command(&command, buffer, size);
	else
		require(err.message[0]);
	free(buffer);
	return 0;
}
