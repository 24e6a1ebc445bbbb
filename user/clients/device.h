/* SPDX-License-Identifier: MIT */
/* The devices of the NNAPI that a plug-in compiles for, and the plug-in's messages on stderr. */
#ifndef NN_CLIENTS_DEVICE_H
#define NN_CLIENTS_DEVICE_H

#include <android/NeuralNetworks.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "clients/options.h"

enum { MAX_DEVICES = 8 };

struct devices {
	const ANeuralNetworksDevice *list[MAX_DEVICES];
	uint32_t count;
	_Atomic(int) dynamic;	/* result of devices_have_dynamic() + 1; 0 before the first call */
};

/*
 * Adds the device called `name`, unless `devices` already has the device. Returns false if no
 * device has the name.
 */
bool devices_add(struct devices *devices, const char *name);
bool device_is_cpu(const ANeuralNetworksDevice *device);
bool devices_have_cpu(const struct devices *devices);
/*
 * Returns whether a device has the operations of clients/dynamic.h. The first call asks the devices
 * and stores the answer.
 */
bool devices_have_dynamic(const struct devices *devices);
/* Joins the names of the devices, for messages. */
void devices_names(const struct devices *devices, char *names, size_t size);

/*
 * Compiles a model for `devices`. If `devices` is NULL, the NNAPI chooses the devices. The token,
 * which may be NULL, identifies the model in the compilation cache. Returns a ResultCode; on
 * failure *compilation is NULL.
 */
int devices_compile(const struct devices *devices, const struct options *options,
		    ANeuralNetworksModel *model, const uint8_t *token,
		    ANeuralNetworksCompilation **compilation);

const char *result_name(int result);

/* The prefix of the lines that say() prints; each plug-in defines said_by. */
extern const char said_by[];

/* Prints a line on stderr, if verbosity is at least `level`. */
void say(uint32_t verbosity, uint32_t level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
