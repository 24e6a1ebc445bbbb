/* SPDX-License-Identifier: MIT */
/*
 * The extension com.example.hostile; each of the extension's operations misbehaves in a different
 * way. All operations of the extension have one input and one output of type TENSOR_FLOAT32.
 */
#include <signal.h>
#include <string.h>

#include <nnaccel/extension.h>

enum { CRASH = 1, LOOP = 2, HUGE_RANK = 3, HUGE_SIZE = 4, OTHER_SIZE = 5, SILENT = 6, ESCAPE = 7,
       COPY = 8, LOOP_IN_CHECK = 9, STUBBORN = 10 };

static void loop(void)
{
	for (volatile int i = 0; ; i = i + 1)
		;
}

static enum nnx_status check(struct nnx_call *call)
{
	if (call->operation->code == LOOP_IN_CHECK)
		loop();
	if (call->num_inputs != 1 || call->num_outputs != 1)
		return call->fail(call, NNX_INVALID_ARGUMENT, "one input and one output");
	return NNX_OK;
}

static enum nnx_status shape(struct nnx_call *call)
{
	struct nnx_operand *out = &call->outputs[0];

	out->rank = call->inputs[0].rank;
	memcpy(out->dims, call->inputs[0].dims, sizeof(out->dims));
	if (call->operation->code == HUGE_RANK)
		out->rank = 1u << 30;
	if (call->operation->code == HUGE_SIZE)
		out->dims[0] = UINT32_MAX;
	if (call->operation->code == OTHER_SIZE)
		out->dims[0]++;
	return NNX_OK;
}

static enum nnx_status execute(struct nnx_call *call)
{
	int *volatile nowhere = (int *)8;
	sigset_t all;

	switch (call->operation->code) {
	case CRASH:
		*nowhere = 1;
		break;
	case STUBBORN:
		/* Block all signals, so that only a signal that cannot be blocked ends the loop. */
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		loop();
		break;
	case LOOP:
		loop();
		break;
	case SILENT:
		return NNX_GENERAL_FAILURE;
	case ESCAPE:
		return call->fail(call, NNX_GENERAL_FAILURE, "two\nlines\x1b[31m");
	}
	memcpy(call->outputs[0].value, call->inputs[0].value, call->outputs[0].value_size);
	return NNX_OK;
}

#define OPERATION(_name) { .code = _name, .name = #_name, .check = check, .shape = shape, \
			   .execute = execute }

static const struct nnx_operation operations[] = {
	OPERATION(CRASH), OPERATION(LOOP), OPERATION(HUGE_RANK), OPERATION(HUGE_SIZE),
	OPERATION(OTHER_SIZE), OPERATION(SILENT), OPERATION(ESCAPE), OPERATION(COPY),
	OPERATION(LOOP_IN_CHECK), OPERATION(STUBBORN),
};

NNX_EXPORT const struct nnx_extension nnaccel_extension = {
	.abi = NNX_ABI_VERSION,
	.size = sizeof(nnaccel_extension),
	.name = "com.example.hostile",
	.version = 1,
	.num_operations = sizeof(operations) / sizeof(operations[0]),
	.operations = operations,
};
