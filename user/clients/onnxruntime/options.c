// SPDX-License-Identifier: MIT
/* The options of an execution provider. */
#define _GNU_SOURCE
#include "options.h"

#include <android/NeuralNetworks.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

static const struct rule {
	const char *name;
	enum kind kind;
	size_t at;
	const struct choice *choices;
	const char *takes;
} rules[] = {
	{ "device", TEXT, AT(device), NULL, "the name of a device" },
	{ "cache_dir", TEXT, AT(cache_dir), NULL, "a folder" },
	{ "cache_token", TEXT, AT(cache_token), NULL, "a text" },
	{ "preference", CHOICE, AT(preference), preferences,
	  "low_power, fast_single_answer or sustained_speed" },
	{ "priority", CHOICE, AT(priority), priorities, "low, medium or high" },
	{ "allow_fp16", FLAG, AT(allow_fp16), NULL, "0 or 1" },
	{ "burst", FLAG, AT(burst), NULL, "0 or 1" },
	{ "disallow_cpu", FLAG, AT(disallow_cpu), NULL, "0 or 1" },
	{ "max_partitions", NUMBER, AT(max_partitions), NULL, "a number" },
	{ "min_work", NUMBER, AT(min_work), NULL, "a number" },
	{ "max_shapes", NUMBER, AT(max_shapes), NULL, "a number" },
	{ "verbosity", NUMBER, AT(verbosity), NULL, "a number" },
};

static bool read_flag(const char *text, bool *flag)
{
	*flag = !strcmp(text, "1") || !strcasecmp(text, "true");
	return *flag || !strcmp(text, "0") || !strcasecmp(text, "false");
}

static bool read_number(const char *text, uint32_t *number)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	*number = (uint32_t)value;
	return isdigit((unsigned char)*text) && !*end && !errno && value <= INT32_MAX;
}

static bool read_choice(const char *text, const struct choice *choice, int32_t *value)
{
	for (; choice->name; choice++)
		if (!strcmp(choice->name, text)) {
			*value = choice->value;
			return true;
		}
	return false;
}

static bool read_value(struct options *options, const struct rule *rule, const char *text)
{
	char *at = (char *)options + rule->at;

	switch (rule->kind) {
	case FLAG:
		return read_flag(text, (bool *)at);
	case NUMBER:
		return read_number(text, (uint32_t *)at);
	case CHOICE:
		return read_choice(text, rule->choices, (int32_t *)at);
	default:
		free(*(char **)at);
		*(char **)at = *text ? strdup(text) : NULL;
		return *(char **)at || !*text;
	}
}

__attribute__((format(printf, 1, 2)))
static char *text(const char *format, ...)
{
	va_list args;
	char *line;

	va_start(args, format);
	if (vasprintf(&line, format, args) < 0)
		line = NULL;
	va_end(args);
	return line;
}

static char *read_option(struct options *options, const char *name, const char *value)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (strcmp(rules[i].name, name))
			continue;
		if (read_value(options, &rules[i], value))
			return NULL;
		return text("option %s: \"%s\" is not %s", name, value, rules[i].takes);
	}
	return text("there is no option \"%s\"; see " OPTION_HELP, name);
}

char *options_read(struct options *options, const struct ort *ort, const OrtKeyValuePairs *entries,
		   const char *name)
{
	const char *const *keys, *const *values;
	size_t count, length = strlen(name);
	char *wrong = NULL;

	*options = (struct options){
		.preference = ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER,
		.priority = ANEURALNETWORKS_PRIORITY_DEFAULT,
		.burst = true,
		.max_partitions = 16,
		.min_work = 20000,
		.max_shapes = 8,
	};
	ort->GetKeyValuePairs(entries, &keys, &values, &count);
	for (size_t i = 0; !wrong && i < count; i++)
		if (!strncmp(keys[i], "ep.", 3) && !strncasecmp(keys[i] + 3, name, length) &&
		    keys[i][3 + length] == '.')
			wrong = read_option(options, keys[i] + length + 4, values[i]);
	if (!wrong && options->cache_token && !options->cache_dir)
		wrong = text("option cache_token needs cache_dir");
	if (!wrong && !options->max_shapes)
		wrong = text("option max_shapes: at least 1");
	return wrong;
}

void options_free(struct options *options)
{
	free(options->device);
	free(options->cache_dir);
	free(options->cache_token);
}
