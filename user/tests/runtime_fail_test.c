/* SPDX-License-Identifier: MIT */
/*
 * Each allocation of libneuralnetworks and libnnaccel fails in turn, first alone and then together
 * with all later allocations. When an allocation fails, a call must return an error or succeed,
 * without a crash or a leak. When the calls are repeated without failures, they must succeed. The
 * test uses nnapi-reference, or the device that NN_TEST_DEVICE names. Each request to the kernel,
 * which the test imitates, fails in turn. Each failing call must log a reason, even if only an
 * argument is invalid.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/wait.h>

#include <android/hardware_buffer.h>
#include <nnaccel/log.h>

#include "plan/run/threads.h"
#include "runtime_cache_fixture.h"
#include "tests/failing/failing.h"
#include "tests/failing/kept.h"
#include "tests/fake_kernel.h"

#define EXPORTS "user/runtime/libneuralnetworks.map"

#define IN 4
#define OUT 40
#define IN_SIZE (IN * sizeof(float))
#define OUT_SIZE (OUT * sizeof(float))

/* The objects that a run makes, and that release() frees after the run. */
struct made {
	ANeuralNetworksModel *model, *all;
	ANeuralNetworksCompilation *compilation;
	ANeuralNetworksExecution *execution, *second;
	ANeuralNetworksBurst *burst;
	ANeuralNetworksEvent *event, *next;
	ANeuralNetworksMemoryDesc *desc;
	ANeuralNetworksMemory *in, *out, *device;
	AHardwareBuffer *buffer;
};

/* Objects that all runs use, and that the test makes before allocations fail. */
static struct {
	const ANeuralNetworksDevice *device;
	ANeuralNetworksModel *model;
	ANeuralNetworksCompilation *compilation;
	int in_file, out_file;
	float weights[OUT * IN], bias[OUT], right[OUT];
} ready;

static const float in[IN] = { 1, -2, 3, 0.5f };
static float out[OUT];

/* The last line of the log, and the number of calls that failed without logging a reason. */
static char line[1024];
static unsigned int unexplained;

static void take_line(void *context, enum nna_log_level level, const char *text)
{
	(void)context;
	(void)level;
	snprintf(line, sizeof(line), "%s", text);
}

/*
 * Checks that the log line of a failed NNAPI call has the name and the result of the call, and a
 * reason.
 */
static void look_for_reason(const char *call)
{
	size_t length = strcspn(call, "(");
	const char *reason = !strncmp(line, call, length) ? strstr(line + length, ": ") : NULL;

	reason = reason ? strstr(reason + 2, ": ") : NULL;
	if (!strncmp(call, "ANeuralNetworks", 15) &&
	    (!reason || !reason[2] || line[strlen(line) - 1] == ' ')) {
		print_error("%.*s failed, and the log is \"%s\"\n", (int)length, call, line);
		unexplained++;
	}
	line[0] = '\0';
}

/* Makes a call. If the tried call fails, the function that uses TRY() returns the call's result. */
#define TRY(call) do {			\
	int result_ = call;		\
					\
	if (result_) {			\
		look_for_reason(#call);	\
		return result_;		\
	}				\
} while (0)

static void release(struct made *m)
{
	ANeuralNetworksEvent_free(m->next);
	ANeuralNetworksEvent_free(m->event);
	ANeuralNetworksExecution_free(m->second);
	ANeuralNetworksExecution_free(m->execution);
	ANeuralNetworksBurst_free(m->burst);
	ANeuralNetworksCompilation_free(m->compilation);
	ANeuralNetworksModel_free(m->all);
	ANeuralNetworksModel_free(m->model);
	ANeuralNetworksMemory_free(m->in);
	ANeuralNetworksMemory_free(m->out);
	ANeuralNetworksMemory_free(m->device);
	ANeuralNetworksMemoryDesc_free(m->desc);
	if (m->buffer)
		AHardwareBuffer_release(m->buffer);
}

/* ---- runs while allocations fail ---- */

static int finish(ANeuralNetworksModel *model, const uint32_t *input, uint32_t output)
{
	TRY(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, input, 1, &output));
	TRY(ANeuralNetworksModel_finish(model));
	return 0;
}

/* Makes a model out = relu(weights * in + bias); the weights are in the application's memory. */
static int make_model(ANeuralNetworksModel **made)
{
	static const uint32_t dims[][2] = { { 1, IN }, { OUT, IN }, { OUT }, { 1, OUT } };
	static const uint32_t inputs[] = { 0, 1, 2, 3 }, sum = 4, end = 5;
	const ANeuralNetworksOperandType types[] = {
		tensor_type(2, dims[0]), tensor_type(2, dims[1]), tensor_type(1, dims[2]),
		scalar_type(ANEURALNETWORKS_INT32), tensor_type(2, dims[3]), tensor_type(2, dims[3]),
	};
	const int32_t none = ANEURALNETWORKS_FUSED_NONE;
	ANeuralNetworksModel *m;

	TRY(ANeuralNetworksModel_create(made));
	m = *made;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		TRY(ANeuralNetworksModel_addOperand(m, &types[i]));
	TRY(ANeuralNetworksModel_setOperandValue(m, 1, ready.weights, sizeof(ready.weights)));
	TRY(ANeuralNetworksModel_setOperandValue(m, 2, ready.bias, sizeof(ready.bias)));
	TRY(ANeuralNetworksModel_setOperandValue(m, 3, &none, sizeof(none)));
	TRY(ANeuralNetworksModel_addOperation(m, ANEURALNETWORKS_FULLY_CONNECTED, 4, inputs, 1, &sum));
	TRY(ANeuralNetworksModel_addOperation(m, ANEURALNETWORKS_RELU, 1, &sum, 1, &end));
	return finish(m, inputs, end);
}

static int run_model(struct made *m)
{
	return make_model(&m->model);
}

static int create(const ANeuralNetworksModel *model, ANeuralNetworksCompilation **made)
{
	TRY(ANeuralNetworksCompilation_createForDevices((ANeuralNetworksModel *)model,
							&ready.device, 1, made));
	return 0;
}

static int execution_of(ANeuralNetworksCompilation *compilation, ANeuralNetworksExecution **made)
{
	TRY(ANeuralNetworksExecution_create(compilation, made));
	TRY(ANeuralNetworksExecution_setInput(*made, 0, NULL, in, IN_SIZE));
	TRY(ANeuralNetworksExecution_setOutput(*made, 0, NULL, out, OUT_SIZE));
	return 0;
}

static int compute(struct made *m, ANeuralNetworksCompilation *compilation)
{
	TRY(execution_of(compilation, &m->execution));
	TRY(ANeuralNetworksExecution_compute(m->execution));
	return 0;
}

static int run_compilation(struct made *m)
{
	TRY(create(ready.model, &m->compilation));
	TRY(ANeuralNetworksCompilation_setPreference(m->compilation, ANEURALNETWORKS_PREFER_LOW_POWER));
	TRY(ANeuralNetworksCompilation_finish(m->compilation));
	return compute(m, m->compilation);
}

/* A model that refers to another model is compiled for all devices. */
static int run_split(struct made *m)
{
	static const uint32_t one[] = { 1 }, dims[][2] = { { 1, IN }, { 1, OUT } };
	static const uint32_t inputs[] = { 0, 1, 2, 3 }, in_operand = 3, end = 4;
	const ANeuralNetworksOperandType types[] = {
		tensor_type(1, one), scalar_type(ANEURALNETWORKS_MODEL),
		scalar_type(ANEURALNETWORKS_MODEL), tensor_type(2, dims[0]), tensor_type(2, dims[1]),
	};
	const ANeuralNetworksOperandType is_type = { ANEURALNETWORKS_TENSOR_BOOL8, 1, one, 0, 0 };
	const uint8_t is = 1;
	bool supported[1];

	TRY(make_model(&m->model));
	TRY(ANeuralNetworksModel_create(&m->all));
	TRY(ANeuralNetworksModel_addOperand(m->all, &is_type));
	for (size_t i = 1; i < ARRAY_SIZE(types); i++)
		TRY(ANeuralNetworksModel_addOperand(m->all, &types[i]));
	TRY(ANeuralNetworksModel_setOperandValue(m->all, 0, &is, sizeof(is)));
	TRY(ANeuralNetworksModel_setOperandValueFromModel(m->all, 1, m->model));
	TRY(ANeuralNetworksModel_setOperandValueFromModel(m->all, 2, ready.model));
	TRY(ANeuralNetworksModel_addOperation(m->all, ANEURALNETWORKS_IF, 4, inputs, 1, &end));
	TRY(finish(m->all, &in_operand, end));
	TRY(ANeuralNetworksModel_getSupportedOperationsForDevices(m->all, &ready.device, 1, supported));
	TRY(ANeuralNetworksCompilation_create(m->all, &m->compilation));
	TRY(ANeuralNetworksCompilation_finish(m->compilation));
	return compute(m, m->compilation);
}

static int run_caching(struct made *m)
{
	TRY(create(ready.model, &m->compilation));
	TRY(ANeuralNetworksCompilation_setCaching(m->compilation, dir, token));
	TRY(ANeuralNetworksCompilation_finish(m->compilation));
	return compute(m, m->compilation);
}

static int run_execution(struct made *m)
{
	uint64_t duration;

	TRY(execution_of(ready.compilation, &m->execution));
	TRY(ANeuralNetworksExecution_setReusable(m->execution, true));
	TRY(ANeuralNetworksExecution_setMeasureTiming(m->execution, true));
	TRY(ANeuralNetworksExecution_compute(m->execution));
	TRY(ANeuralNetworksExecution_compute(m->execution));
	TRY(ANeuralNetworksExecution_getDuration(m->execution, ANEURALNETWORKS_DURATION_ON_HARDWARE,
						 &duration));
	return 0;
}

static int run_async(struct made *m)
{
	TRY(execution_of(ready.compilation, &m->execution));
	TRY(ANeuralNetworksExecution_startCompute(m->execution, &m->event));
	TRY(ANeuralNetworksEvent_wait(m->event));
	return 0;
}

static int run_dependencies(struct made *m)
{
	const ANeuralNetworksEvent *first;

	TRY(execution_of(ready.compilation, &m->execution));
	TRY(execution_of(ready.compilation, &m->second));
	TRY(ANeuralNetworksExecution_startComputeWithDependencies(m->execution, NULL, 0, 0, &m->event));
	first = m->event;
	TRY(ANeuralNetworksExecution_startComputeWithDependencies(m->second, &first, 1, 0, &m->next));
	/*
	 * The second execution, which depends on the first execution, fails with another result
	 * code if the first execution failed.
	 */
	TRY(ANeuralNetworksEvent_wait(m->event));
	TRY(ANeuralNetworksEvent_wait(m->next));
	return 0;
}

static int run_burst(struct made *m)
{
	TRY(ANeuralNetworksBurst_create(ready.compilation, &m->burst));
	TRY(execution_of(ready.compilation, &m->execution));
	TRY(ANeuralNetworksExecution_burstCompute(m->execution, m->burst));
	TRY(execution_of(ready.compilation, &m->second));
	TRY(ANeuralNetworksExecution_burstCompute(m->second, m->burst));
	return 0;
}

static int run_files(struct made *m)
{
	TRY(ANeuralNetworksMemory_createFromFd(IN_SIZE, PROT_READ | PROT_WRITE, ready.in_file, 0, &m->in));
	TRY(ANeuralNetworksMemory_createFromFd(OUT_SIZE, PROT_READ | PROT_WRITE, ready.out_file, 0,
					       &m->out));
	TRY(ANeuralNetworksExecution_create(ready.compilation, &m->execution));
	TRY(ANeuralNetworksExecution_setInputFromMemory(m->execution, 0, NULL, m->in, 0, IN_SIZE));
	TRY(ANeuralNetworksExecution_setOutputFromMemory(m->execution, 0, NULL, m->out, 0, OUT_SIZE));
	TRY(ANeuralNetworksExecution_compute(m->execution));
	assert_int_equal(pread(ready.out_file, out, OUT_SIZE, 0), OUT_SIZE);
	return 0;
}

/*
 * Starts a fenced execution; all arguments are memory of files, so that a device with fences needs
 * no thread.
 */
static int run_fenced(struct made *m)
{
	uint32_t rank, dims[2];

	TRY(ANeuralNetworksMemory_createFromFd(IN_SIZE, PROT_READ | PROT_WRITE, ready.in_file, 0, &m->in));
	TRY(ANeuralNetworksMemory_createFromFd(OUT_SIZE, PROT_READ | PROT_WRITE, ready.out_file, 0,
					       &m->out));
	TRY(ANeuralNetworksExecution_create(ready.compilation, &m->execution));
	TRY(ANeuralNetworksExecution_setInputFromMemory(m->execution, 0, NULL, m->in, 0, IN_SIZE));
	TRY(ANeuralNetworksExecution_setOutputFromMemory(m->execution, 0, NULL, m->out, 0, OUT_SIZE));
	TRY(ANeuralNetworksExecution_startComputeWithDependencies(m->execution, NULL, 0, 0, &m->event));
	TRY(ANeuralNetworksEvent_wait(m->event));
	assert_int_equal(pread(ready.out_file, out, OUT_SIZE, 0), OUT_SIZE);
	TRY(ANeuralNetworksExecution_getOutputOperandRank(m->execution, 0, &rank));
	assert_int_equal(rank, 2);
	TRY(ANeuralNetworksExecution_getOutputOperandDimensions(m->execution, 0, dims));
	assert_true(dims[0] == 1 && dims[1] == OUT);
	return 0;
}

/* Executes with an output in device memory, and copies this output to memory of a file. */
static int run_domain(struct made *m)
{
	TRY(ANeuralNetworksMemoryDesc_create(&m->desc));
	TRY(ANeuralNetworksMemoryDesc_addOutputRole(m->desc, ready.compilation, 0, 1));
	TRY(ANeuralNetworksMemoryDesc_finish(m->desc));
	TRY(ANeuralNetworksMemory_createFromDesc(m->desc, &m->device));
	TRY(ANeuralNetworksMemory_createFromFd(OUT_SIZE, PROT_READ | PROT_WRITE, ready.out_file, 0,
					       &m->out));
	TRY(ANeuralNetworksExecution_create(ready.compilation, &m->execution));
	TRY(ANeuralNetworksExecution_setInput(m->execution, 0, NULL, in, IN_SIZE));
	TRY(ANeuralNetworksExecution_setOutputFromMemory(m->execution, 0, NULL, m->device, 0, 0));
	TRY(ANeuralNetworksExecution_compute(m->execution));
	TRY(ANeuralNetworksMemory_copy(m->device, m->out));
	assert_int_equal(pread(ready.out_file, out, OUT_SIZE, 0), OUT_SIZE);
	return 0;
}

static int run_hardware_buffer(struct made *m)
{
	const AHardwareBuffer_Desc desc = {
		.width = IN_SIZE, .height = 1, .layers = 1, .format = AHARDWAREBUFFER_FORMAT_BLOB,
		.usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN,
	};
	void *at;

	if (AHardwareBuffer_allocate(&desc, &m->buffer) ||
	    AHardwareBuffer_lock(m->buffer, AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN, -1, NULL, &at))
		return ANEURALNETWORKS_OUT_OF_MEMORY;
	memcpy(at, in, IN_SIZE);
	AHardwareBuffer_unlock(m->buffer, NULL);
	TRY(ANeuralNetworksMemory_createFromAHardwareBuffer(m->buffer, &m->in));
	TRY(ANeuralNetworksExecution_create(ready.compilation, &m->execution));
	TRY(ANeuralNetworksExecution_setInputFromMemory(m->execution, 0, NULL, m->in, 0, IN_SIZE));
	TRY(ANeuralNetworksExecution_setOutput(m->execution, 0, NULL, out, OUT_SIZE));
	TRY(ANeuralNetworksExecution_compute(m->execution));
	return 0;
}

/* ---- failing allocations ---- */

static const struct run {
	const char *name;
	int (*run)(struct made *m);
	bool computes;
	bool is_cold;		/* set if the run needs an empty cache */
} runs[] = {
	{ "model", run_model, false, false },
	{ "compilation", run_compilation, true, false },
	{ "a model in a model", run_split, true, false },
	{ "caching, cold", run_caching, true, true },
	{ "caching, warm", run_caching, true, false },
	{ "execution", run_execution, true, false },
	{ "async", run_async, true, false },
	{ "dependencies", run_dependencies, true, false },
	{ "burst", run_burst, true, false },
	{ "files", run_files, true, false },
	{ "fenced", run_fenced, true, false },
	{ "device memory", run_domain, true, false },
};

static const struct run hardware_buffer = { "hardware buffer", run_hardware_buffer, true, false };

/*
 * Returns whether a result code reports a missing resource. UNMAPPABLE reports a file that cannot
 * be mapped.
 */
static bool says_so(int result)
{
	return result == ANEURALNETWORKS_OUT_OF_MEMORY || result == ANEURALNETWORKS_UNMAPPABLE ||
	       result == ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT;
}

/*
 * Calls a run function once, stores its result in *result, and returns how many allocations failed.
 */
static unsigned int run_once(const struct run *run, unsigned int number, bool lasting, int *result)
{
	struct made made = { 0 };
	unsigned int failures;

	memset(out, 0x55, sizeof(out));
	if (run->is_cold)
		remove_all();
	failing_begin(FAILING_SELF, number, lasting);
	*result = run->run(&made);
	failures = failing_end(FAILING_SELF);
	if (!*result && run->computes && memcmp(out, ready.right, sizeof(out)))
		fail_msg("%s: allocation %u: a wrong answer", run->name, number);
	release(&made);
	return failures;
}

/*
 * Executes ready.compilation once, because its first execution allocates memory that the
 * compilation keeps.
 */
static void settle(void)
{
	static const struct run execution = { .name = "execution", .run = run_execution };
	int result;

	run_once(&execution, 0, false, &result);
}

/*
 * Repeats a run until each of the run's allocations has failed once; returns the number of
 * allocations.
 */
static unsigned int fail_each(const struct run *run, bool lasting)
{
	unsigned int number = 0, refused = 0, failures;
	struct kept kept, left;
	bool has_grown = false;
	int result;

	run_once(run, 0, false, &result);
	assert_int_equal(result, ANEURALNETWORKS_NO_ERROR);
	settle();
	kept = kept_now();
	do {
		failures = run_once(run, ++number, lasting, &result);
		if (result && (!failures || !says_so(result)))
			fail_msg("%s: allocation %u%s: result %d", run->name, number,
				 lasting ? " and all later ones" : "", result);
		refused += result != 0;
		assert_int_equal(unexplained, 0);
		run_once(run, 0, false, &result);
		assert_int_equal(result, ANEURALNETWORKS_NO_ERROR);
		settle();
		left = kept_now();
		if (!kept_more(&kept, &left)) {
			has_grown = false;
			continue;
		}
		/*
		 * The memory in use may grow once, when the CPU replaces the device for the first
		 * time. If the memory in use grows a second time, the library leaks memory.
		 */
		if (has_grown)
			fail_msg("%s: allocation %u: not given back: %s", run->name, number,
				 kept_more(&kept, &left));
		has_grown = true;
		kept = left;
		number--;
	} while (failures);
	print_message("%s%s: %u allocations, %u runs refused\n", run->name, lasting ? ", lasting" : "",
		      number - 1, refused);
	return number - 1;
}

static void test_each_allocation(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
		for (int lasting = 0; lasting < 2; lasting++)
			assert_true(fail_each(&runs[i], lasting) > 0);
}

/*
 * Returns whether AHardwareBuffer_lock() works; emulated system calls may lack the ioctls of
 * dma-bufs.
 */
static bool are_locked(void)
{
	const AHardwareBuffer_Desc desc = {
		.width = IN_SIZE, .height = 1, .layers = 1, .format = AHARDWAREBUFFER_FORMAT_BLOB,
		.usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN,
	};
	AHardwareBuffer *buffer;
	void *at;
	int result;

	assert_int_equal(AHardwareBuffer_allocate(&desc, &buffer), 0);
	result = AHardwareBuffer_lock(buffer, desc.usage, -1, NULL, &at);
	if (!result)
		AHardwareBuffer_unlock(buffer, NULL);
	AHardwareBuffer_release(buffer);
	return result != -ENOSYS;
}

static void test_hardware_buffer(void **state)
{
	(void)state;
	if (!are_locked())
		skip();
	for (int lasting = 0; lasting < 2; lasting++)
		assert_true(fail_each(&hardware_buffer, lasting) > 0);
}

/*
 * Makes the first NNAPI call of a process, which searches for devices. The library must find the
 * CPU device even if allocations for other devices fail.
 */
static int first_call(unsigned int number, bool lasting)
{
	ANeuralNetworksDevice *last;
	const char *name = "";
	uint32_t count = 0;
	int result;

	failing_begin(FAILING_SELF, number, lasting);
	result = ANeuralNetworks_getDeviceCount(&count);
	if (!failing_end(FAILING_SELF))
		return 2;
	if (result || !count || ANeuralNetworks_getDevice(count - 1, &last) ||
	    ANeuralNetworksDevice_getName(last, &name))
		return 1;
	return strcmp(name, "nnapi-reference") ? 1 : 0;
}

static void test_first_call(void **state)
{
	(void)state;
	for (int lasting = 0; lasting < 2; lasting++) {
		int status = 0;

		for (unsigned int number = 1; !status; number++) {
			pid_t pid = fork();

			if (!pid)
				_exit(first_call(number, lasting));
			assert_int_equal(waitpid(pid, &status, 0), pid);
		}
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 2);
	}
}

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, size, 0), size);
	return fd;
}

static int get_ready(void **state)
{
	for (uint32_t i = 0; i < OUT; i++) {
		ready.bias[i] = (float)i - 5;
		ready.right[i] = ready.bias[i];
		for (uint32_t k = 0; k < IN; k++) {
			ready.weights[i * IN + k] = (float)((i * 7 + k * 3) % 11) - 5;
			ready.right[i] += in[k] * ready.weights[i * IN + k];
		}
		ready.right[i] = ready.right[i] > 0 ? ready.right[i] : 0;
	}
	ready.device = fake.is_on || getenv("NN_TEST_DEVICE") ? nnaccel_device() : cpu_device();
	assert_ok(make_model(&ready.model));
	assert_ok(create(ready.model, &ready.compilation));
	assert_ok(ANeuralNetworksCompilation_finish(ready.compilation));
	ready.in_file = file_of(in, IN_SIZE);
	ready.out_file = file_of(out, OUT_SIZE);
	return make_dir(state);
}

static int let_go(void **state)
{
	close(ready.in_file);
	close(ready.out_file);
	ANeuralNetworksCompilation_free(ready.compilation);
	ANeuralNetworksModel_free(ready.model);
	return remove_dir(state);
}

/* ---- failing kernel requests of a played device ---- */

/* Calls a run function while kernel request `number` fails; returns how many requests failed. */
static unsigned int request_once(const struct run *run, unsigned int number, int error, int *result)
{
	struct made made = { 0 };
	unsigned int failures;

	if (run->is_cold)
		remove_all();
	fake_begin(number, error);
	*result = run->run(&made);
	failures = fake_end();
	release(&made);
	return failures;
}

/*
 * Repeats a run without a failure, and then executes ready.compilation, whose first execution
 * leaves state in the compilation.
 */
static int request_again(const struct run *run)
{
	static const struct run execution = { .run = run_execution };
	int result, executed;

	request_once(run, 0, 0, &result);
	request_once(&execution, 0, 0, &executed);
	return result ? result : executed;
}

/*
 * Repeats a run until each of the run's kernel requests has failed once. Returns false if an object
 * of the C library or kernel was leaked.
 */
static bool fail_requests(const struct run *run, int error)
{
	unsigned int number = 0, refused = 0, failures;
	struct kept kept, left;
	const char *more;
	int result, live;

	request_again(run);
	kept = kept_now();
	live = fake.live;
	do {
		failures = request_once(run, ++number, error, &result);
		refused += result != 0;
		result = request_again(run);
		left = kept_now();
		more = kept_more(&kept, &left);
		if (result || more || fake.live > live || fake.wrong) {
			print_error("%s, error %d, request %u: result %d, not given back: %s, %d ids; "
				    "%u wrong\n", run->name, error, number, result, more,
				    fake.live - live, fake.wrong);
			return false;
		}
	} while (failures);
	print_message("%s, error %d: %u requests, %u runs refused\n", run->name, error, number - 1,
		      refused);
	return true;
}

/*
 * Lets kernel requests fail in turn, in a child process whose library has not searched for devices
 * yet.
 */
static void test_each_request(void **state)
{
	static const int errors[] = { EIO, ENOMEM, EINVAL, ETIMEDOUT, EPIPE, FAKE_REFUSES };
	int status;
	pid_t pid = fork();

	if (!pid) {
		fake.is_on = true;
		fake.shape = (struct nnaccel_shape){ .rank = 2, .dims = { 1, OUT } };
		if (get_ready(state))
			_exit(2);
		/* The threads of the CPU device never end, so start them before counting. */
		threads_start();
		for (size_t i = 0; i < ARRAY_SIZE(runs) * ARRAY_SIZE(errors); i++)
			if (!fail_requests(&runs[i / ARRAY_SIZE(errors)],
					   errors[i % ARRAY_SIZE(errors)]))
				_exit(3);
		/*
		 * Make each allocation fail in turn on the imitated device, which computes nothing.
		 */
		for (size_t i = 0; i < 2 * ARRAY_SIZE(runs); i++) {
			struct run run = runs[i / 2];

			run.computes = false;
			fail_each(&run, i % 2);
		}
		let_go(state);
		fflush(NULL);
		_exit(unexplained != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- invalid arguments ---- */

static const char *called[128];
static unsigned int num_called;

static void expect_reason(const char *function, int result)
{
	if (!result)
		fail_msg("%s takes NULL", function);
	look_for_reason(function);
	called[num_called++] = function;
}

#define REFUSE(function, ...) expect_reason(#function, function(__VA_ARGS__))

static void call_each(void)
{
	REFUSE(ANeuralNetworksBurst_create, NULL, NULL);
	REFUSE(ANeuralNetworksCompilation_create, NULL, NULL);
	REFUSE(ANeuralNetworksCompilation_createForDevices, NULL, NULL, 0, NULL);
	REFUSE(ANeuralNetworksCompilation_finish, NULL);
	REFUSE(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput, NULL, 0, NULL);
	REFUSE(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput, NULL, 0, NULL);
	REFUSE(ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput, NULL, 0, NULL);
	REFUSE(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput, NULL, 0, NULL);
	REFUSE(ANeuralNetworksCompilation_setCaching, NULL, NULL, NULL);
	REFUSE(ANeuralNetworksCompilation_setPreference, NULL, 0);
	REFUSE(ANeuralNetworksCompilation_setPriority, NULL, 0);
	REFUSE(ANeuralNetworksCompilation_setTimeout, NULL, 0);
	REFUSE(ANeuralNetworksDevice_getFeatureLevel, NULL, NULL);
	REFUSE(ANeuralNetworksDevice_getName, NULL, NULL);
	REFUSE(ANeuralNetworksDevice_getType, NULL, NULL);
	REFUSE(ANeuralNetworksDevice_getVersion, NULL, NULL);
	REFUSE(ANeuralNetworksDevice_wait, NULL);
	REFUSE(ANeuralNetworksEvent_createFromSyncFenceFd, 0, NULL);
	REFUSE(ANeuralNetworksEvent_getSyncFenceFd, NULL, NULL);
	REFUSE(ANeuralNetworksEvent_wait, NULL);
	REFUSE(ANeuralNetworksExecution_burstCompute, NULL, NULL);
	REFUSE(ANeuralNetworksExecution_compute, NULL);
	REFUSE(ANeuralNetworksExecution_create, NULL, NULL);
	REFUSE(ANeuralNetworksExecution_enableInputAndOutputPadding, NULL, 0);
	REFUSE(ANeuralNetworksExecution_getDuration, NULL, 0, NULL);
	REFUSE(ANeuralNetworksExecution_getOutputOperandDimensions, NULL, 0, NULL);
	REFUSE(ANeuralNetworksExecution_getOutputOperandRank, NULL, 0, NULL);
	REFUSE(ANeuralNetworksExecution_setInput, NULL, 0, NULL, NULL, 0);
	REFUSE(ANeuralNetworksExecution_setInputFromMemory, NULL, 0, NULL, NULL, 0, 0);
	REFUSE(ANeuralNetworksExecution_setLoopTimeout, NULL, 0);
	REFUSE(ANeuralNetworksExecution_setMeasureTiming, NULL, 0);
	REFUSE(ANeuralNetworksExecution_setOutput, NULL, 0, NULL, NULL, 0);
	REFUSE(ANeuralNetworksExecution_setOutputFromMemory, NULL, 0, NULL, NULL, 0, 0);
	REFUSE(ANeuralNetworksExecution_setReusable, NULL, 0);
	REFUSE(ANeuralNetworksExecution_setTimeout, NULL, 0);
	REFUSE(ANeuralNetworksExecution_startCompute, NULL, NULL);
	REFUSE(ANeuralNetworksExecution_startComputeWithDependencies, NULL, NULL, 0, 0, NULL);
	REFUSE(ANeuralNetworksMemoryDesc_addInputRole, NULL, NULL, 0, 0);
	REFUSE(ANeuralNetworksMemoryDesc_addOutputRole, NULL, NULL, 0, 0);
	REFUSE(ANeuralNetworksMemoryDesc_create, NULL);
	REFUSE(ANeuralNetworksMemoryDesc_finish, NULL);
	REFUSE(ANeuralNetworksMemoryDesc_setDimensions, NULL, 0, NULL);
	REFUSE(ANeuralNetworksMemory_copy, NULL, NULL);
	REFUSE(ANeuralNetworksMemory_createFromAHardwareBuffer, NULL, NULL);
	REFUSE(ANeuralNetworksMemory_createFromDesc, NULL, NULL);
	REFUSE(ANeuralNetworksMemory_createFromFd, 0, 0, 0, 0, NULL);
	REFUSE(ANeuralNetworksModel_addOperand, NULL, NULL);
	REFUSE(ANeuralNetworksModel_addOperation, NULL, 0, 0, NULL, 0, NULL);
	REFUSE(ANeuralNetworksModel_create, NULL);
	REFUSE(ANeuralNetworksModel_finish, NULL);
	REFUSE(ANeuralNetworksModel_getSupportedOperationsForDevices, NULL, NULL, 0, NULL);
	REFUSE(ANeuralNetworksModel_identifyInputsAndOutputs, NULL, 0, NULL, 0, NULL);
	REFUSE(ANeuralNetworksModel_relaxComputationFloat32toFloat16, NULL, 0);
	REFUSE(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams, NULL, 0, NULL);
	REFUSE(ANeuralNetworksModel_setOperandValue, NULL, 0, NULL, 0);
	REFUSE(ANeuralNetworksModel_setOperandValueFromMemory, NULL, 0, NULL, 0, 0);
	REFUSE(ANeuralNetworksModel_setOperandValueFromModel, NULL, 0, NULL);
	REFUSE(ANeuralNetworks_getDevice, 0, NULL);
	REFUSE(ANeuralNetworks_getDeviceCount, NULL);
	REFUSE(ANeuralNetworksCompilation_addExtensionAttribute, NULL, NULL, 0, NULL, 0);
	REFUSE(ANeuralNetworksDevice_getExtensionSupport, NULL, NULL, NULL);
	REFUSE(ANeuralNetworksExecution_addExtensionAttribute, NULL, NULL, 0, NULL, 0);
	REFUSE(ANeuralNetworksModel_getExtensionOperandType, NULL, NULL, 0, NULL);
	REFUSE(ANeuralNetworksModel_getExtensionOperationType, NULL, NULL, 0, NULL);
	REFUSE(ANeuralNetworksModel_setOperandExtensionData, NULL, 0, NULL, 0);
}

/* The exported functions that return no result code, so test_bad_arguments() need not call them. */
static const char *const silent[] = {
	"ANeuralNetworksBurst_free",
	"ANeuralNetworksCompilation_free",
	"ANeuralNetworksEvent_free",
	"ANeuralNetworksExecution_free",
	"ANeuralNetworksMemoryDesc_free",
	"ANeuralNetworksMemory_free",
	"ANeuralNetworksModel_free",
	"ANeuralNetworks_getDefaultLoopTimeout",
	"ANeuralNetworks_getMaximumLoopTimeout",
	"ANeuralNetworks_getRuntimeFeatureLevel",
};

static bool is_one_of(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}

/* The test fails if test_bad_arguments() does not call one of the exported functions. */
static void test_bad_arguments(void **state)
{
	FILE *map = fopen(EXPORTS, "re");
	char text[256], name[128];
	unsigned int count = 0;

	(void)state;
	call_each();
	assert_int_equal(unexplained, 0);
	assert_non_null(map);
	while (fgets(text, sizeof(text), map)) {
		if (sscanf(text, " ANeuralNetworks%100[A-Za-z0-9_];", name) != 1)
			continue;
		snprintf(text, sizeof(text), "ANeuralNetworks%s", name);
		if (!is_one_of(text, called, num_called) &&
		    !is_one_of(text, silent, ARRAY_SIZE(silent)))
			fail_msg("%s is exported, and not in this test", text);
		count++;
	}
	fclose(map);
	assert_int_equal(count, num_called + ARRAY_SIZE(silent));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_request),
		cmocka_unit_test(test_first_call),
		cmocka_unit_test(test_bad_arguments),
		cmocka_unit_test_setup_teardown(test_each_allocation, get_ready, let_go),
		cmocka_unit_test_setup_teardown(test_hardware_buffer, get_ready, let_go),
	};

	kept_start();
	cache_fixture_init();
	nna_log_set(take_line, NULL, NNA_LOG_ERROR);
	return cmocka_run_group_tests_name("runtime_fail", tests, NULL, NULL);
}
