// SPDX-License-Identifier: MIT
/*
 * edu-engine: an engine for QEMU's PCI device for education, driven by VFIO. See
 * Documentation/hardware.rst.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/nnaccel.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "device.h"
#include "session.h"

#define NODE "/dev/nnaccel-engine"

static const char usage[] =
	"usage: edu-engine [OPTION...]\n"
	"\n"
	"Makes a device of nnaccel of QEMU's PCI device for education.\n"
	"\n"
	"  -d, --device=ADDRESS  its PCI address (default: the first one)\n"
	"  -h, --help            prints this\n";

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

/* A client that is served by a thread of its own. */
struct client {
	struct edu *edu;
	int session;
	uint64_t context;
};

static void *serve(void *data)
{
	struct client client = *(struct client *)data;

	free(data);
	edu_session_serve(client.edu, client.session, client.context);
	return NULL;
}

/* A client that gets no session waits until its own limit. */
static void admit(struct edu *edu, int node, uint64_t context)
{
	struct nnaccel_engine_session session = {
		.size = sizeof(session),
		.flags = NNACCEL_SESSION_CLOEXEC,
		.context = context,
	};
	struct client *client = malloc(sizeof(*client));
	pthread_t thread;

	if (!client || ioctl(node, NNACCEL_ENGINE_SESSION, &session)) {
		free(client);
		return;
	}
	*client = (struct client){ edu, session.out_fd, context };
	if (pthread_create(&thread, NULL, serve, client)) {
		close(session.out_fd);
		free(client);
		return;
	}
	pthread_detach(thread);
}

/* The engine's node, registered: -1 and a message where there is none. */
static int open_node(void)
{
	struct nnaccel_engine_register arg = {
		.size = sizeof(arg),
		.type = NNACCEL_DEVICE_OTHER,
		.name = "edu",
		.version = EDU_VERSION,
	};
	int node = open(NODE, O_RDWR | O_CLOEXEC);

	if (node >= 0 && !ioctl(node, NNACCEL_ENGINE_REGISTER, &arg)) {
		fprintf(stderr, "edu: ready, device %u\n", arg.out_device);
		return node;
	}
	perror("edu: " NODE);
	if (node >= 0)
		close(node);
	return -1;
}

static int run(struct edu *edu, const sigset_t *unblocked)
{
	int node = open_node();

	if (node < 0)
		return EXIT_FAILURE;
	while (!ended) {
		struct nnaccel_engine_next next = {
			.size = sizeof(next),
			.flags = NNACCEL_ENGINE_NONBLOCK,
		};
		struct pollfd event = { .fd = node, .events = POLLIN };

		if (ppoll(&event, 1, NULL, unblocked) < 0)
			continue;
		if (!ioctl(node, NNACCEL_ENGINE_NEXT, &next)) {
			if (next.out_event == NNACCEL_ENGINE_NEW)
				admit(edu, node, next.out_context);
		} else if (errno != EAGAIN) {
			perror("edu: " NODE);
			break;
		}
	}
	close(node);
	return ended ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const struct sigaction action = { .sa_handler = end };
	const char *address = NULL;
	sigset_t signals, unblocked;
	struct edu edu;
	int option, status;

	while ((option = getopt_long(argc, argv, "d:h", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			address = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (!edu_open(&edu, address)) {
		edu_close(&edu);
		return EXIT_FAILURE;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	/* They arrive while this thread waits, and nowhere else. */
	pthread_sigmask(SIG_BLOCK, &signals, &unblocked);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	status = run(&edu, &unblocked);
	fprintf(stderr, "edu: %llu transfers, %llu bytes by DMA, %llu factorials, %llu interrupts, %llu resets\n",
		(unsigned long long)edu.transfers, (unsigned long long)edu.dma_bytes,
		(unsigned long long)edu.factorials, (unsigned long long)edu.interrupts,
		(unsigned long long)edu.resets);
	/* Sessions end with the process; the kernel gives up the device. */
	return status;
}
