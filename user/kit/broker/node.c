// SPDX-License-Identifier: MIT
/* Opens the engine node, and a signalfd for the signals that end an engine's program. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <linux/nnaccel.h>

#include <nnaccel/engine.h>

#include "kit/api/log.h"
#include "kit/broker/node.h"

static bool register_engine(int node, const char *device, struct nnaccel_engine_register *arg,
			    const char *name)
{

	if (strlen(name) >= sizeof(arg->name)) {
		log_error("the engine's name is too long");
		return false;
	}
	strcpy(arg->name, name);
	if (ioctl(node, NNACCEL_ENGINE_REGISTER, arg)) {
		log_error("%s: engine %s: %s%s", device, name, strerror(errno),
			  errno == ENOTTY ? " (it is not an engine node, as " NODE_PATH " is)" :
			  errno == EBUSY ? " (is it running already?)" :
			  errno == ENOSPC ? " (the module's limit max_devices is reached)" :
			  errno == ENODEV ? " (its hardware is missing or has no driver)" : "");
		return false;
	}
	log_info("engine %s is device %u", name, arg->out_device);
	return true;
}

int node_open(const char *device, const char *name, const char *version, uint32_t type,
	      uint32_t flags, const struct nna_engine_hardware *hardware)
{
	struct nnaccel_engine_register arg = { .size = sizeof(arg), .type = type, .flags = flags };
	int node = open(device, O_RDWR | O_CLOEXEC);

	if (node < 0) {
		log_error("%s: %s%s", device, strerror(errno),
			  errno == ENOENT && !strcmp(device, NODE_PATH) ?
			  " (is the module nnaccel loaded?)" : "");
		return -1;
	}
	snprintf(arg.version, sizeof(arg.version), "%s", version);
	if (hardware) {
		snprintf(arg.bus, sizeof(arg.bus), "%s", hardware->bus);
		snprintf(arg.hardware, sizeof(arg.hardware), "%s", hardware->name);
	}
	if (register_engine(node, device, &arg, name))
		return node;
	close(node);
	return -1;
}

int node_open_signals(void)
{
	int signals = -1;
	sigset_t set;

	/*
	 * SIGPIPE must not end this process when the process writes to a log whose reader has
	 * ended.
	 */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (!sigprocmask(SIG_BLOCK, &set, NULL))
		signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		log_error("signals: %s", strerror(errno));
	return signals;
}
