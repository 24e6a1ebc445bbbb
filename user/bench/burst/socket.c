/* SPDX-License-Identifier: MIT */
/*
 * A server behind a unix stream socket, to compare with a burst. The server executes the burst's
 * model, and receives the memory as a file descriptor.
 *
 * The messages on the socket are a burst's packets, which the burst's code builds and checks, so a
 * burst and a socket differ only in the transport between the two processes.
 */
#define _GNU_SOURCE
#include "bench/burst/socket.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/burst/ends.h"

#define MESSAGE_DATUMS	16

struct message {
	struct nnaccel_datum datums[MESSAGE_DATUMS];
	uint32_t count;
	int file;	/* -1: none */
};

static void send_message(int socket, struct message *m)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { m->datums, m->count * sizeof(m->datums[0]) };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *file;

	if (m->file >= 0) {
		header.msg_control = control;
		header.msg_controllen = sizeof(control);
		file = CMSG_FIRSTHDR(&header);
		file->cmsg_level = SOL_SOCKET;
		file->cmsg_type = SCM_RIGHTS;
		file->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(file), &m->file, sizeof(int));
	}
	if (sendmsg(socket, &header, MSG_NOSIGNAL) != (ssize_t)part.iov_len)
		die("sendmsg");
}

/*
 * Receives a message. Each call of recvmsg() receives a whole message, because only one message is
 * sent at a time. Returns false if the peer process has closed the socket.
 */
static bool receive_message(int socket, struct message *m)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec part = { m->datums, sizeof(m->datums) };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
				 .msg_controllen = sizeof(control) };
	ssize_t size = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *file;

	if (size <= 0)
		return false;
	m->count = (uint32_t)((size_t)size / sizeof(m->datums[0]));
	m->file = -1;
	file = CMSG_FIRSTHDR(&header);
	if (file && file->cmsg_type == SCM_RIGHTS)
		memcpy(&m->file, CMSG_DATA(file), sizeof(int));
	return true;
}

static char *map_file(int file)
{
	char *base = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (base == MAP_FAILED)
		die("mmap");
	return base;
}

/* ---- the server ---- */

static void run(const struct nn_plan *plan, const struct nn_request *request, char *memory,
		struct nnaccel_shape *shape)
{
	const struct nnaccel_arg *a = request->args;
	struct nn_output_shape known = { 0 };
	struct nn_arg args[2];
	struct nn_execution e = { .num_inputs = 1, .num_outputs = 1, .inputs = &args[0],
				  .outputs = &args[1], .shapes = &known };

	for (int i = 0; i < 2; i++) {
		if (a[i].offset > POOL_BYTES || a[i].length > POOL_BYTES - a[i].offset)
			die("an argument is outside of the memory");
		args[i] = (struct nn_arg){ .data = memory + a[i].offset, .length = a[i].length };
	}
	if (nn_plan_execute(plan, &e, NULL))
		die("plan");
	*shape = (struct nnaccel_shape){ .flags = NNACCEL_SHAPE_SUFFICIENT, .rank = known.rank };
	memcpy(shape->dims, known.dims, sizeof(shape->dims));
}

static void answer(const struct nn_plan *plan, struct message *m, char *memory)
{
	struct nnaccel_arg args[2];
	struct nnaccel_shape shape;
	uint32_t slot;
	struct nn_request request = { .args = args, .slots = &slot, .max_args = 2,
				      .max_slots = 1 };
	const struct nn_result result = { .num_outputs = 1, .device_ns = NNACCEL_TIME_NONE,
					  .driver_ns = NNACCEL_TIME_NONE, .shapes = &shape };

	if (nn_request_parse(m->datums, m->count, &request) || request.num_inputs != 1 ||
	    request.num_outputs != 1)
		die("request");
	run(plan, &request, memory, &shape);
	m->count = nn_result_encode(&result, m->datums, MESSAGE_DATUMS);
	m->file = -1;
}

static void serve(int socket, const struct nn_plan *plan)
{
	char *kept = NULL, *memory;
	struct message m;

	while (receive_message(socket, &m)) {
		int file = m.file;

		memory = file >= 0 ? map_file(file) : kept;
		if (!memory)
			die("the client sent no memory");
		answer(plan, &m, memory);
		if (file >= 0) {
			/*
			 * Keep the first request's memory mapped for later requests that carry no
			 * memory.
			 */
			if (!kept)
				kept = memory;
			else
				munmap(memory, POOL_BYTES);
			close(file);
		}
		send_message(socket, &m);
	}
	_exit(0);
}

/* ---- the client ---- */

void socket_peer_start(struct socket_peer *peer, const struct nn_model *model)
{
	int ends[2];

	peer->memory = memfd_create("bench-burst", MFD_CLOEXEC);
	if (peer->memory < 0 || ftruncate(peer->memory, POOL_BYTES) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		die("socket");
	peer->server = fork();
	if (peer->server < 0)
		die("fork");
	if (peer->server == 0) {
		const struct nn_plan_options options = { .preference = 1 };
		struct nn_plan *plan;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		if (nn_plan_create(model, &options, &plan, NULL))
			die("plan");
		serve(ends[1], plan);
	}
	close(ends[1]);
	peer->socket = ends[0];
	socket_peer_execute(peer, true);
}

void socket_peer_execute(struct socket_peer *peer, bool pass_memory)
{
	struct nnaccel_arg args[2] = {
		{ .length = 4 * ELEMENTS },
		{ .offset = 1024, .length = 4 * ELEMENTS },
	};
	uint32_t slot = 0;
	const struct nn_request request = { .num_inputs = 1, .num_outputs = 1, .num_slots = 1,
					    .args = args, .slots = &slot };
	struct nnaccel_shape shape;
	char message[NN_RESULT_MESSAGE];
	struct nn_result result = { .shapes = &shape, .max_outputs = 1, .message = message };
	struct message m = { .file = pass_memory ? peer->memory : -1 };

	m.count = nn_request_encode(&request, m.datums, MESSAGE_DATUMS);
	send_message(peer->socket, &m);
	if (!receive_message(peer->socket, &m) || nn_result_parse(m.datums, m.count, &result) ||
	    result.status)
		die("result");
}

void socket_peer_stop(struct socket_peer *peer)
{
	close(peer->socket);
	close(peer->memory);
	waitpid(peer->server, NULL, 0);
}
