/* SPDX-License-Identifier: MIT */
/*
 * An application for the engine of QEMU's PCI device for education (Documentation/hardware.rst).
 * The application lets the device compute factorials and copy an image, and then sends a command
 * that misses its deadline.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <android/NeuralNetworks.h>
#include <android/NeuralNetworksExtensions.h>

#include "edu-engine/edu.h"
#include "usage.h"

#define NUMBERS		13
#define WIDTH		96
#define HEIGHT		96
#define IMAGE		(WIDTH * HEIGHT)
#define NEVER		UINT32_MAX	/* a number whose factorial takes the device seconds */
#define TIMEOUT_NS	300000000u

static void must(int result, const char *what)
{
	if (result == ANEURALNETWORKS_NO_ERROR)
		return;
	/* Print only the failed step, because the library has logged the reason. */
	fprintf(stderr, "edu: cannot %s (%d)\n", what, result);
	exit(EXIT_FAILURE);
}

static void check(int is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "edu: %s\n", what);
	exit(EXIT_FAILURE);
}

/* Prints a list of the devices; returns the device that has the extension. */
static const ANeuralNetworksDevice *find_device(void)
{
	ANeuralNetworksDevice *device, *found = NULL;
	uint32_t count = 0;

	must(ANeuralNetworks_getDeviceCount(&count), "count devices");
	for (uint32_t i = 0; i < count; i++) {
		const char *name, *version;
		bool has_it;

		must(ANeuralNetworks_getDevice(i, &device), "get a device");
		must(ANeuralNetworksDevice_getName(device, &name), "get a name");
		must(ANeuralNetworksDevice_getVersion(device, &version), "get a version");
		must(ANeuralNetworksDevice_getExtensionSupport(device, EDU_NAME, &has_it),
		     "ask for an extension");
		printf("device %s, version %s%s\n", name, version,
		       has_it ? ", extension " EDU_NAME : "");
		if (has_it)
			found = device;
	}
	check(found != NULL, "no device has the extension " EDU_NAME);
	return found;
}

/* Makes a model of one operation of the extension, and compiles it for the device. */
static ANeuralNetworksCompilation *compile(const ANeuralNetworksDevice *device, uint16_t code,
					   int32_t type, uint32_t count)
{
	const ANeuralNetworksOperandType operand = {
		.type = type,
		.dimensionCount = 1,
		.dimensions = &count,
		.scale = type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM ? 1.0f : 0.0f,
	};
	const uint32_t in = 0, out = 1;
	ANeuralNetworksCompilation *compilation;
	ANeuralNetworksOperationType operation;
	ANeuralNetworksModel *model;

	must(ANeuralNetworksModel_create(&model), "create a model");
	must(ANeuralNetworksModel_addOperand(model, &operand), "add the input");
	must(ANeuralNetworksModel_addOperand(model, &operand), "add the output");
	must(ANeuralNetworksModel_getExtensionOperationType(model, EDU_NAME, code, &operation),
	     "get the operation");
	must(ANeuralNetworksModel_addOperation(model, operation, 1, &in, 1, &out),
	     "add the operation");
	must(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &in, 1, &out),
	     "name input and output");
	must(ANeuralNetworksModel_finish(model), "finish the model");
	must(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation),
	     "create a compilation");
	must(ANeuralNetworksCompilation_finish(compilation), "compile the model");
	ANeuralNetworksModel_free(model);
	return compilation;
}

/* Computes factorials; a timeout_ns of 0 sets no time limit. */
static int factorials(const ANeuralNetworksCompilation *compilation, const uint32_t *numbers,
		      uint32_t *values, size_t size, uint64_t timeout_ns)
{
	ANeuralNetworksExecution *execution;
	int result;

	must(ANeuralNetworksExecution_create((ANeuralNetworksCompilation *)compilation,
					     &execution), "create an execution");
	must(ANeuralNetworksExecution_setInput(execution, 0, NULL, numbers, size), "set the input");
	must(ANeuralNetworksExecution_setOutput(execution, 0, NULL, values, size),
	     "set the output");
	if (timeout_ns)
		must(ANeuralNetworksExecution_setTimeout(execution, timeout_ns), "set a limit");
	result = ANeuralNetworksExecution_compute(execution);
	ANeuralNetworksExecution_free(execution);
	return result;
}

static void count(const ANeuralNetworksDevice *device)
{
	ANeuralNetworksCompilation *compilation =
		compile(device, EDU_FACTORIAL, ANEURALNETWORKS_TENSOR_INT32, NUMBERS);
	uint32_t numbers[NUMBERS], values[NUMBERS], expected = 1;

	for (uint32_t i = 0; i < NUMBERS; i++)
		numbers[i] = i;
	must(factorials(compilation, numbers, values, sizeof(numbers), 0), "compute factorials");
	for (uint32_t i = 0; i < NUMBERS; i++) {
		expected *= i ? i : 1;
		printf("%u! = %" PRIu32 "\n", i, values[i]);
		check(values[i] == expected, "the result is wrong");
	}
	ANeuralNetworksCompilation_free(compilation);
}

/* Makes a memfd for an image, maps the memfd, and makes an NNAPI memory of the memfd. */
static uint8_t *make_memory(ANeuralNetworksMemory **memory)
{
	int fd = memfd_create("image", MFD_CLOEXEC);
	uint8_t *at = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, IMAGE))
		at = mmap(NULL, IMAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(at != MAP_FAILED, "no memory");
	must(ANeuralNetworksMemory_createFromFd(IMAGE, PROT_READ | PROT_WRITE, fd, 0, memory),
	     "make memory");
	close(fd);
	return at;
}

/* Draws a disc with a shadow. */
static void draw(uint8_t *image)
{
	for (int y = 0; y < HEIGHT; y++) {
		for (int x = 0; x < WIDTH; x++) {
			int dx = x - WIDTH / 2, dy = y - HEIGHT / 2;
			int inside = dx * dx + dy * dy < WIDTH * WIDTH / 6;

			image[y * WIDTH + x] = (uint8_t)(inside ? 128 + dx + dy : 16);
		}
	}
}

static void show(const uint8_t *image)
{
	static const char shades[] = " .:-=+*#%@";

	for (int y = 0; y < HEIGHT; y += 6) {
		for (int x = 0; x < WIDTH; x += 3)
			putchar(shades[image[y * WIDTH + x] * 10 / 256]);
		putchar('\n');
	}
}

static void move_image(const ANeuralNetworksDevice *device)
{
	ANeuralNetworksCompilation *compilation =
		compile(device, EDU_COPY, ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, IMAGE);
	ANeuralNetworksMemory *in, *out;
	ANeuralNetworksExecution *execution;
	uint8_t *from = make_memory(&in), *to = make_memory(&out);

	draw(from);
	must(ANeuralNetworksExecution_create(compilation, &execution), "create an execution");
	must(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, in, 0, IMAGE),
	     "set the input");
	must(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, out, 0, IMAGE),
	     "set the output");
	must(ANeuralNetworksExecution_compute(execution), "move the image");
	show(to);
	check(!memcmp(from, to, IMAGE), "the moved image differs");
	printf("an image of %d bytes was moved by the device\n", IMAGE);
	ANeuralNetworksExecution_free(execution);
	ANeuralNetworksCompilation_free(compilation);
	ANeuralNetworksMemory_free(in);
	ANeuralNetworksMemory_free(out);
	munmap(from, IMAGE);
	munmap(to, IMAGE);
}

static void hang(const ANeuralNetworksDevice *device)
{
	ANeuralNetworksCompilation *compilation =
		compile(device, EDU_FACTORIAL, ANEURALNETWORKS_TENSOR_INT32, 1);
	uint32_t number = NEVER, value = 0;
	int result = factorials(compilation, &number, &value, sizeof(number), TIMEOUT_NS);

	check(result == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT, "no deadline was missed");
	printf("a command that the device did not finish in time ended with MISSED_DEADLINE\n");
	number = 5;
	must(factorials(compilation, &number, &value, sizeof(number), 0), "compute after that");
	check(value == 120, "5! is wrong after a reset");
	printf("after the reset: 5! = %" PRIu32 "\n", value);
	ANeuralNetworksCompilation_free(compilation);
}

int main(int argc, char **argv)
{
	const ANeuralNetworksDevice *device;

	check_usage(argc, argv, 0, "edu");
	device = find_device();
	count(device);
	move_image(device);
	hang(device);
	return 0;
}
