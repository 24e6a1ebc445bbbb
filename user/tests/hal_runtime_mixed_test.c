/* SPDX-License-Identifier: MIT */
/*
 * Three engines of different kinds serve one program at once: libneuralnetworks splits a model over
 * them by their figures, and `nnaccel stat` shows what each did. It needs nnacceld as nnaccel, and
 * the engines sample-engine and kit-engine beside it.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "tests/runtime_fixture.h"

static const ANeuralNetworksDevice *find_device(const char *wanted)
{
	ANeuralNetworksDevice *device;
	const char *name;
	uint32_t count;

	assert_ok(ANeuralNetworks_getDeviceCount(&count));
	/* And nnapi-reference. */
	assert_int_equal(count, 4);
	for (uint32_t i = 0; i < count; i++) {
		assert_ok(ANeuralNetworks_getDevice(i, &device));
		assert_ok(ANeuralNetworksDevice_getName(device, &name));
		if (!strcmp(name, wanted))
			return device;
	}
	fail_msg("no device %s", wanted);
	return NULL;
}

/* (a + b) * b: the sample engine reports that it is faster, and lacks MUL. */
static ANeuralNetworksModel *sum_and_product(void)
{
	enum { A, B, NONE, SUM, PRODUCT };
	static const uint32_t dims[] = { ADD_ELEMENTS };
	const ANeuralNetworksOperandType tensor = tensor_type(1, dims);
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const uint32_t added[] = { A, B, NONE }, sum = SUM, multiplied[] = { SUM, B, NONE };
	const uint32_t inputs[] = { A, B }, product = PRODUCT;
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	for (int i = A; i <= PRODUCT; i++)
		assert_ok(ANeuralNetworksModel_addOperand(model, i == NONE ? &scalar : &tensor));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, NONE, &none, sizeof(none)));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, added, 1, &sum));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_MUL, 3, multiplied, 1,
						    &product));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, &product));
	assert_ok(ANeuralNetworksModel_finish(model));
	return model;
}

static void execute(ANeuralNetworksCompilation *c)
{
	ANeuralNetworksExecution *e = add_execution(c);
	float result[ADD_ELEMENTS] = { 0 };

	assert_ok(ANeuralNetworksExecution_setOutput(e, 0, NULL, result, sizeof(result)));
	assert_ok(ANeuralNetworksExecution_compute(e));
	for (int i = 0; i < ADD_ELEMENTS; i++)
		assert_true(result[i] == (add_a[i] + add_b[i]) * add_b[i]);
	ANeuralNetworksExecution_free(e);
}

/* Returns the name of an engine's device node, as `nnaccel stat` shows it. */
static void find_node(const char *engine, char node[16])
{
	char command[128];
	FILE *output;

	snprintf(command, sizeof(command),
		 "basename \"$(dirname \"$(grep -lx %s /sys/class/nnaccel/*/name)\")\"", engine);
	output = popen(command, "re");
	assert_non_null(output);
	assert_int_equal(fscanf(output, "%15s", node), 1);
	pclose(output);
}

/* Returns the executions of this process on an engine's device, from the rows of `nnaccel stat`. */
static unsigned long long count_executions(const char *engine)
{
	char line[512], node[16], device[16];
	unsigned long long count, all = 0;
	FILE *output = popen("nnaccel stat --once", "re");
	long pid;

	find_node(engine, node);
	assert_non_null(output);
	while (fgets(line, sizeof(line), output))
		if (sscanf(line, "%*u %ld %*s %15s %llu", &pid, device, &count) == 3 &&
		    pid == getpid() && !strcmp(device, node))
			all += count;
	pclose(output);
	return all;
}

static void test_split(void **state)
{
	ANeuralNetworksModel *model = sum_and_product();
	const ANeuralNetworksDevice *kit = find_device("kit-engine");
	const ANeuralNetworksDevice *two[] = { find_device("nnaccel"), find_device("sample-engine") };
	ANeuralNetworksCompilation *split, *whole;

	(void)state;
	assert_ok(ANeuralNetworksCompilation_createForDevices(model, two, 2, &split));
	assert_ok(ANeuralNetworksCompilation_finish(split));
	assert_ok(ANeuralNetworksCompilation_createForDevices(model, &kit, 1, &whole));
	assert_ok(ANeuralNetworksCompilation_finish(whole));
	execute(split);
	execute(whole);
	execute(whole);
	assert_int_equal(count_executions("nnaccel"), 1);
	assert_int_equal(count_executions("sample-engine"), 1);
	assert_int_equal(count_executions("kit-engine"), 2);
	ANeuralNetworksCompilation_free(split);
	ANeuralNetworksCompilation_free(whole);
	ANeuralNetworksModel_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
	};

	return cmocka_run_group_tests_name("hal runtime mixed", tests, NULL, NULL);
}
