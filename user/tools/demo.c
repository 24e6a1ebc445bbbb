/* SPDX-License-Identifier: MIT */
/*
 * nnaccel demo: recognises drawn digits on the device, in float32 and in 8
 * bits, and shows images, accuracy and times.
 */
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "demo/digits.h"
#include "demo/net_model.h"
#include "demo/image.h"
#include "demo/train.h"
#include "demo/weights.h"
#include "tool.h"

#define DEFAULT_COUNT	500
#define DEFAULT_SEED	2026
#define MIN_ACCURACY	95	/* percent */
#define SHOWN		4	/* number of printed images, in rows of two images */

#define OUTPUT_OFFSET	4096	/* offset of the output in a memory whose offset 0 is the input */

struct options {
	const char *path;
	uint32_t count;
	uint64_t seed;
	bool ascii, help;
};

/* The network on the device with one type of numbers, float32 or 8 bits. */
struct form {
	const char *name;
	struct net_model net;
	struct nna_prepared_model *prepared;
	struct nna_memory *memory;
	char *data;
	uint64_t prepare_ns;
	uint64_t *execute_ns;		/* execution time of each image */
	uint64_t *device_ns;
	uint32_t right;
	struct image_answer shown[SHOWN];
};

struct demo {
	struct options options;
	struct nna_device *device;
	struct nn_device_info info;
	uint64_t open_ns;
	uint64_t executions;		/* number of executions that the module counted */
	struct form forms[2];
	struct digit shown[SHOWN];
	struct nn_error err;
};

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static bool no_memory(struct demo *d)
{
	nn_fail(&d->err, NN_OUT_OF_MEMORY, "out of memory");
	return false;
}

static bool open_device(struct demo *d)
{
	uint64_t start = clock_ns();

	d->info.size = sizeof(d->info);
	if (nna_device_open(d->options.path, &d->device, &d->err) ||
	    nna_device_get_info(d->device, &d->info, &d->err))
		return false;
	d->open_ns = clock_ns() - start;
	return true;
}

static bool open_form(struct demo *d, struct form *f, const char *name,
		      const struct net_quant *quant)
{
	uint64_t start;

	f->name = name;
	f->execute_ns = calloc(d->options.count, sizeof(*f->execute_ns));
	f->device_ns = calloc(d->options.count, sizeof(*f->device_ns));
	if (!f->execute_ns || !f->device_ns)
		return no_memory(d);
	net_model_init(&f->net, net_weights.params, quant);
	start = clock_ns();
	if (nna_prepare_model(d->device, &f->net.model, NULL, NULL, &f->prepared, &d->err))
		return false;
	f->prepare_ns = clock_ns() - start;
	if (nna_memory_alloc(d->device, 2 * OUTPUT_OFFSET, &f->memory, &d->err))
		return false;
	f->data = nna_memory_map(f->memory, &d->err);
	return f->data;
}

static void close_form(struct form *f)
{
	nna_prepared_model_free(f->prepared);
	nna_memory_free(f->memory);
	free(f->execute_ns);
	free(f->device_ns);
}

static bool recognise(struct demo *d, struct form *f, const struct digit *digit, uint32_t index)
{
	const struct nna_argument input = { .length = net_model_input_size(&f->net) };
	const struct nna_argument output = {
		.offset = OUTPUT_OFFSET,
		.length = net_model_output_size(&f->net),
	};
	const struct nna_request request = {
		.size = sizeof(request),
		.num_inputs = 1,
		.num_outputs = 1,
		.num_memories = 1,
		.inputs = &input,
		.outputs = &output,
		.memories = &f->memory,
	};
	const struct nna_execute_options options = { .size = sizeof(options), .measure = true };
	struct image_answer answer;
	struct nna_timing timing;
	uint64_t start;

	net_model_put_image(&f->net, digit->pixels, f->data);
	start = clock_ns();
	if (nna_execute(f->prepared, &request, &options, NNA_SIZED(nna_results, .timing = &timing),
			&d->err))
		return false;
	f->execute_ns[index] = clock_ns() - start;
	f->device_ns[index] = timing.on_device_us * 1000;
	answer.digit = net_model_answer(&f->net, f->data + OUTPUT_OFFSET, &answer.probability);
	f->right += answer.digit == digit->label;
	if (index < SHOWN)
		f->shown[index] = answer;
	return true;
}

static bool run(struct demo *d)
{
	struct random r = { d->options.seed };
	struct nna_context_info before = { .size = sizeof(before) }, after = { .size = sizeof(after) };
	struct digit digit;

	if (nna_device_get_context_info(d->device, &before, &d->err))
		return false;
	for (uint32_t i = 0; i < d->options.count; i++) {
		digit_draw(&r, &digit);
		if (i < SHOWN)
			d->shown[i] = digit;
		for (int k = 0; k < 2; k++)
			if (!recognise(d, &d->forms[k], &digit, i))
				return false;
	}
	if (nna_device_get_context_info(d->device, &after, &d->err))
		return false;
	d->executions = after.executions - before.executions;
	return true;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void print_times(struct demo *d)
{
	uint32_t count = d->options.count, middle = count / 2, high = count * 99ull / 100;
	struct form *f = d->forms;

	for (int k = 0; k < 2; k++) {
		qsort(f[k].execute_ns, count, sizeof(uint64_t), compare);
		qsort(f[k].device_ns, count, sizeof(uint64_t), compare);
	}
	printf("prepare            %10.3f ms  %10.3f ms\n", ms(f[0].prepare_ns),
	       ms(f[1].prepare_ns));
	printf("execute, median    %10.3f ms  %10.3f ms\n", ms(f[0].execute_ns[middle]),
	       ms(f[1].execute_ns[middle]));
	printf("execute, p99       %10.3f ms  %10.3f ms\n", ms(f[0].execute_ns[high]),
	       ms(f[1].execute_ns[high]));
	printf("on device, median  %10.3f ms  %10.3f ms\n\n", ms(f[0].device_ns[middle]),
	       ms(f[1].device_ns[middle]));
	printf("Opening the device and its engine took %.3f ms.\n", ms(d->open_ns));
}

static double accuracy(const struct demo *d, int form)
{
	return 100.0 * d->forms[form].right / d->options.count;
}

static void print_report(struct demo *d)
{
	uint32_t shown = d->options.count < SHOWN ? d->options.count : SHOWN;

	printf("%s: %s, type %s\n", d->options.path, d->info.version,
	       tool_device_type(d->info.type));
	printf("%u images of digits, drawn from seed %" PRIu64 " (training had seed %d)\n\n",
	       d->options.count, d->options.seed, TRAIN_SEED);
	images_print(d->shown, d->forms[0].shown, d->forms[1].shown, shown, d->options.ascii);
	printf("                   %13s  %13s\n", d->forms[0].name, d->forms[1].name);
	printf("right              %13u  %13u\n", d->forms[0].right, d->forms[1].right);
	printf("accuracy           %11.1f %%  %11.1f %%\n", accuracy(d, 0), accuracy(d, 1));
	print_times(d);
	printf("The module counted %" PRIu64 " executions of this client.\n", d->executions);
}

/* Checks the accuracy and the module's number of executions; returns the exit status. */
static int judge(const struct demo *d)
{
	if (d->executions != 2ull * d->options.count)
		return tool_fail("demo", "the module counted %" PRIu64 " executions, not %llu",
				 d->executions, 2ull * d->options.count);
	for (int k = 0; k < 2; k++)
		if (accuracy(d, k) < MIN_ACCURACY)
			return tool_fail("demo", "accuracy in %s is below %d %%", d->forms[k].name,
					 MIN_ACCURACY);
	return TOOL_OK;
}

static bool open_all(struct demo *d)
{
	struct net_quant quant;

	if (!net_calibrate(net_weights.params, &quant))
		return no_memory(d);
	return open_device(d) && open_form(d, &d->forms[0], "float32", NULL) &&
	       open_form(d, &d->forms[1], "quant8", &quant);
}

static int show(const struct options *options)
{
	struct demo *d = calloc(1, sizeof(*d));
	int status;

	if (!d)
		return tool_fail("demo", "out of memory");
	d->options = *options;
	if (open_all(d) && run(d)) {
		print_report(d);
		status = judge(d);
	} else {
		status = tool_fail("demo", "%s", d->err.message);
	}
	close_form(&d->forms[0]);
	close_form(&d->forms[1]);
	nna_device_close(d->device);
	free(d);
	return status;
}

int tool_demo(int argc, char **argv)
{
	static const struct option_row rows[] = {
		{ "count", "N", "number of images, 1 to 1000000 (default " OPTION_STRING(DEFAULT_COUNT) ")",
		  OPTION_UINT, OPTION_AT(struct options, count), .min = 1, .max = 1000000 },
		{ "seed", "N", "seed of the images (default " OPTION_STRING(DEFAULT_SEED) "), not "
		  OPTION_STRING(TRAIN_SEED) ", the training's", OPTION_UINT64,
		  OPTION_AT(struct options, seed), .max = UINT64_MAX },
		{ "ascii", NULL, "draw with ASCII only (default if the locale is not UTF-8)",
		  OPTION_FLAG, OPTION_AT(struct options, ascii) },
		{ "device", "PATH", "path of the device (default " NNA_DEVICE_PATH ")", OPTION_TEXT,
		  OPTION_AT(struct options, path) },
		{ "help", NULL, "print this help", OPTION_STOP, OPTION_AT(struct options, help) },
		{ 0 },
	};
	static const struct tool_command command = {
		.name = "demo",
		.about = "demo [OPTION]...\n"
		"       nnaccel demo camera [OPTION]...\n\n"
		"Recognises drawn digits with a trained network that runs on the device, in\n"
		"float32 and in 8 bits. Fails where less than " OPTION_STRING(MIN_ACCURACY)
		" % are right.\n",
		.more = "\nnnaccel demo camera --help tells of the other demo, which reads the\n"
		"frames of a camera without copying them.\n",
		.options = rows,
		.help = offsetof(struct options, help),
	};
	struct options options = {
		.path = NNA_DEVICE_PATH,
		.count = DEFAULT_COUNT,
		.seed = DEFAULT_SEED,
	};
	int status;

	if (argc > 1 && !strcmp(argv[1], "camera"))
		return tool_demo_camera(argc - 1, argv + 1);
	setlocale(LC_CTYPE, "");
	options.ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	status = tool_options(&command, argc, argv, &options, NULL);
	if (status != TOOL_GO_ON)
		return status;
	if (options.seed == TRAIN_SEED)
		return tool_usage("demo", "seed %d drew the training's images", TRAIN_SEED);
	return show(&options);
}
