/* SPDX-License-Identifier: MIT */
/*
 * Common functions for tests of the runtime: small models, and macros that call a function and
 * check the function's result.
 */
#ifndef NN_TESTS_RUNTIME_FIXTURE_H
#define NN_TESTS_RUNTIME_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <android/NeuralNetworks.h>
#include <android/NeuralNetworksExtensions.h>

#define assert_ok(call) assert_int_equal(call, ANEURALNETWORKS_NO_ERROR)
#define assert_result(name, call) assert_int_equal(call, ANEURALNETWORKS_##name)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum { ADD_A, ADD_B, ADD_ACTIVATION, ADD_SUM, ADD_ELEMENTS = 4 };

static inline ANeuralNetworksOperandType tensor_type(uint32_t rank, const uint32_t *dims)
{
	return (ANeuralNetworksOperandType){ ANEURALNETWORKS_TENSOR_FLOAT32, rank, dims, 0, 0 };
}

static inline ANeuralNetworksOperandType scalar_type(int32_t type)
{
	return (ANeuralNetworksOperandType){ type, 0, NULL, 0, 0 };
}

/*
 * Makes a model sum[rows, 2] = a + b, but does not finish the model; if `rows` is 0, the number of
 * rows is unknown.
 */
static inline ANeuralNetworksModel *unfinished_add_model(uint32_t rows)
{
	const uint32_t dims[] = { rows, 2 };
	const uint32_t inputs[] = { ADD_A, ADD_B, ADD_ACTIVATION };
	const uint32_t outputs[] = { ADD_SUM };
	const ANeuralNetworksOperandType tensor = tensor_type(2, dims);
	const ANeuralNetworksOperandType scalar = scalar_type(ANEURALNETWORKS_INT32);
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	ANeuralNetworksModel *model;

	assert_ok(ANeuralNetworksModel_create(&model));
	assert_ok(ANeuralNetworksModel_addOperand(model, &tensor));
	assert_ok(ANeuralNetworksModel_addOperand(model, &tensor));
	assert_ok(ANeuralNetworksModel_addOperand(model, &scalar));
	assert_ok(ANeuralNetworksModel_addOperand(model, &tensor));
	assert_ok(ANeuralNetworksModel_setOperandValue(model, ADD_ACTIVATION, &none, 4));
	assert_ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1,
						    outputs));
	assert_ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs));
	return model;
}

static inline ANeuralNetworksModel *add_model(uint32_t rows)
{
	ANeuralNetworksModel *model = unfinished_add_model(rows);

	assert_ok(ANeuralNetworksModel_finish(model));
	return model;
}

/* Returns the CPU device, which is the last device. */
static inline const ANeuralNetworksDevice *cpu_device(void)
{
	ANeuralNetworksDevice *device;
	uint32_t count;

	assert_ok(ANeuralNetworks_getDeviceCount(&count));
	assert_ok(ANeuralNetworks_getDevice(count - 1, &device));
	return device;
}

static inline const ANeuralNetworksDevice *find_device(const char *wanted)
{
	ANeuralNetworksDevice *device;
	const char *name;
	uint32_t count;

	assert_ok(ANeuralNetworks_getDeviceCount(&count));
	for (uint32_t i = 0; i < count; i++) {
		assert_ok(ANeuralNetworks_getDevice(i, &device));
		assert_ok(ANeuralNetworksDevice_getName(device, &name));
		if (!strcmp(name, wanted))
			return device;
	}
	return NULL;
}

/* Returns the accelerator of the machine, which must exist. */
static inline const ANeuralNetworksDevice *nnaccel_device(void)
{
	const ANeuralNetworksDevice *device = find_device("nnaccel");

	assert_non_null(device);
	return device;
}

/* Compiles a model for the CPU if `by_name` is set, and otherwise for all devices. */
static inline ANeuralNetworksCompilation *compile(ANeuralNetworksModel *model, bool by_name)
{
	const ANeuralNetworksDevice *device = cpu_device();
	ANeuralNetworksCompilation *compilation;

	if (by_name)
		assert_ok(ANeuralNetworksCompilation_createForDevices(model, &device, 1,
								      &compilation));
	else
		assert_ok(ANeuralNetworksCompilation_create(model, &compilation));
	assert_ok(ANeuralNetworksCompilation_finish(compilation));
	return compilation;
}

/*
 * The models add_model(2) and add_model(0), and their compilations. The model add_model(0) has an
 * unknown number of rows, which each execution determines.
 */
struct add_models {
	ANeuralNetworksModel *model;
	ANeuralNetworksModel *open_model;
	ANeuralNetworksCompilation *compilation;	/* `model`, compiled for the CPU by name */
	ANeuralNetworksCompilation *open;		/* `open_model`, compiled for CPU or all */
};

static inline void add_models_init(struct add_models *m, bool open_by_name)
{
	m->model = add_model(2);
	m->open_model = add_model(0);
	m->compilation = compile(m->model, true);
	m->open = compile(m->open_model, open_by_name);
}

static inline int add_models_teardown(void **state)
{
	struct add_models *m = *state;

	ANeuralNetworksCompilation_free(m->compilation);
	ANeuralNetworksCompilation_free(m->open);
	ANeuralNetworksModel_free(m->model);
	ANeuralNetworksModel_free(m->open_model);
	return 0;
}

static const float add_a[ADD_ELEMENTS] = { 1, 2, 3, 4 };
static const float add_b[ADD_ELEMENTS] = { 10, 20, 30, 40 };

/* Makes an execution of add_model(2) with both inputs set. */
static inline ANeuralNetworksExecution *add_execution(ANeuralNetworksCompilation *compilation)
{
	ANeuralNetworksExecution *execution;

	assert_ok(ANeuralNetworksExecution_create(compilation, &execution));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 0, NULL, add_a, sizeof(add_a)));
	assert_ok(ANeuralNetworksExecution_setInput(execution, 1, NULL, add_b, sizeof(add_b)));
	return execution;
}

static inline void assert_sum(const float *sum)
{
	int i;

	for (i = 0; i < ADD_ELEMENTS; i++)
		assert_true(sum[i] == add_a[i] + add_b[i]);
}

/* Makes a memory from a zeroed memfd, which is mapped at *base. */
static inline ANeuralNetworksMemory *shared_memory(size_t size, int prot, void **base)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	ANeuralNetworksMemory *memory;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	*base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(*base != MAP_FAILED);
	assert_ok(ANeuralNetworksMemory_createFromFd(size, prot, fd, 0, &memory));
	close(fd);
	return memory;
}

#endif /* NN_TESTS_RUNTIME_FIXTURE_H */
