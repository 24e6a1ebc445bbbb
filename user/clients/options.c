/* SPDX-License-Identifier: MIT */
#include "clients/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <android/NeuralNetworks.h>

#include "runtime/preference.h"

enum kind { TEXT, FLAG, NUMBER, CHOICE };

struct choice {
	const char *name;
	int32_t value;
};

static const struct choice preferences[] = {
	{ "low_power", ANEURALNETWORKS_PREFER_LOW_POWER },
	{ "fast_single_answer", ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER },
	{ "sustained_speed", ANEURALNETWORKS_PREFER_SUSTAINED_SPEED },
	{ NULL, 0 },
};

static const struct choice priorities[] = {
	{ "low", ANEURALNETWORKS_PRIORITY_LOW },
	{ "medium", ANEURALNETWORKS_PRIORITY_MEDIUM },
	{ "high", ANEURALNETWORKS_PRIORITY_HIGH },
	{ NULL, 0 },
};

#define AT(member) offsetof(struct options, member)
#define NUMBERS "a number from 0 to 2147483647"
#define POSITIVE "a number from 1 to 2147483647"

/*
 * The options, each with a second name: the name that TensorFlow Lite's tools use for TensorFlow
 * Lite's NNAPI delegate.
 */
static const struct rule {
	const char *name;
	const char *other;
	enum kind kind;
	size_t at;
	const struct choice *choices;
	const char *takes;
} rules[] = {
	{ "device", "accelerator_name", TEXT, AT(device), NULL, "the name of a device" },
	{ "cache_dir", "cache_directory", TEXT, AT(cache_dir), NULL, "a folder" },
	{ "cache_token", "model_token", TEXT, AT(cache_token), NULL, "a text" },
	{ "runtime", NULL, TEXT, AT(runtime), NULL, "a text" },
	{ "model", NULL, TEXT, AT(model), NULL, "a text" },
	{ "report", NULL, TEXT, AT(report), NULL, "a file" },
	{ "preference", "execution_preference", CHOICE, AT(preference), preferences,
	  "low_power, fast_single_answer or sustained_speed" },
	{ "priority", "execution_priority", CHOICE, AT(priority), priorities,
	  "low, medium or high" },
	{ "allow_fp16", "allow_fp16_precision_for_fp32", FLAG, AT(allow_fp16), NULL, "0 or 1" },
	{ "burst", "use_burst_mode", FLAG, AT(burst), NULL, "0 or 1" },
	{ "disallow_cpu", "disallow_nnapi_cpu", FLAG, AT(disallow_cpu), NULL, "0 or 1" },
	{ "max_partitions", "max_number_delegated_partitions", NUMBER, AT(max_partitions), NULL,
	  NUMBERS },
	{ "num_threads", NULL, NUMBER, AT(num_threads), NULL, POSITIVE },
	{ "min_work", NULL, NUMBER, AT(min_work), NULL, NUMBERS },
	{ "max_shapes", NULL, NUMBER, AT(max_shapes), NULL, POSITIVE },
	{ "verbosity", NULL, NUMBER, AT(verbosity), NULL, NUMBERS },
};

static bool read_flag(const char *text, bool *flag)
{
	static const char *const words[2][4] = {
		{ "0", "false", "no", "off" }, { "1", "true", "yes", "on" },
	};

	for (int value = 0; value < 2; value++)
		for (int i = 0; i < 4; i++)
			if (!strcasecmp(text, words[value][i])) {
				*flag = value;
				return true;
			}
	return false;
}

static bool read_number(const char *text, uint32_t least, uint32_t *number)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value > INT32_MAX || value < least)
		return false;
	*number = (uint32_t)value;
	return true;
}

static bool read_choice(const char *text, const struct choice *choices, int32_t *value)
{
	for (; choices->name; choices++)
		if (!strcasecmp(text, choices->name)) {
			*value = choices->value;
			return true;
		}
	return false;
}

static bool read_text(const char *text, char **to)
{
	free(*to);
	*to = *text ? strdup(text) : NULL;
	return *to || !*text;
}

static bool set(struct options *options, const struct rule *rule, const char *text)
{
	void *to = (char *)options + rule->at;

	switch (rule->kind) {
	case TEXT:
		return read_text(text, to);
	case FLAG:
		return read_flag(text, to);
	case CHOICE:
		return read_choice(text, rule->choices, to);
	case NUMBER:
		return read_number(text, rule->at == AT(max_shapes) || rule->at == AT(num_threads),
				   to);
	}
	return false;
}

static const struct rule *find(const struct options *options, const char *name)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!strcmp(name, rules[i].name) ||
		    (rules[i].other && !strcmp(name, rules[i].other)))
			return rules[i].at == AT(max_shapes) && !options->max_shapes ? NULL :
			       &rules[i];
	return NULL;
}

void options_init(struct options *options)
{
	*options = (struct options){
		.preference = ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER,
		.priority = ANEURALNETWORKS_PRIORITY_DEFAULT,
		.burst = true,
	};
}

bool options_set(struct options *options, const char *name, const char *value,
		 char error[OPTIONS_ERROR_SIZE])
{
	const struct rule *rule = find(options, name);

	if (!rule) {
		snprintf(error, OPTIONS_ERROR_SIZE, "there is no option \"%.80s\"", name);
		return false;
	}
	if (!set(options, rule, value)) {
		snprintf(error, OPTIONS_ERROR_SIZE, "option %s: \"%.80s\" is not %s", name, value,
			 rule->takes);
		return false;
	}
	return true;
}

int32_t options_preference(const struct options *options)
{
	return options->preference | (options->num_threads == 1 ? RUNTIME_ONE_THREAD : 0);
}

void options_free(struct options *options)
{
	free(options->device);
	free(options->cache_dir);
	free(options->cache_token);
	free(options->runtime);
	free(options->model);
	free(options->report);
}
