// SPDX-License-Identifier: MIT
/* A mock engine for the tests: a broker, and a worker that answers commands without computing. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon.h"
#include "device.h"
#include "engine.h"

int broker_open(void)
{
	int broker = broker_open_as(ENGINE_NAME, NULL);

	if (broker < 0 && errno == EBUSY && daemon_stop())
		broker = broker_open_as(ENGINE_NAME, NULL);
	return broker;
}

bool idle_summary(struct summary *summary)
{
	int broker = broker_open();

	if (broker < 0)
		return false;
	close(broker);
	return summary_read(summary);
}

int broker_register_with(int broker, const char *name, uint32_t flags, uint32_t *device)
{
	struct nnaccel_engine_register arg = {
		.size = sizeof(arg),
		.flags = flags,
		.type = NNACCEL_DEVICE_OTHER,
		.out_device = POISON,
		.version = "1 (a mock)",
	};
	int error;

	memcpy(arg.name, name, strnlen(name, sizeof(arg.name)));
	error = xioctl(broker, NNACCEL_ENGINE_REGISTER, &arg);
	if (device)
		*device = arg.out_device;
	return error;
}

int broker_register(int broker, const char *name, uint32_t *device)
{
	return broker_register_with(broker, name, 0, device);
}

int broker_open_as(const char *name, uint32_t *device)
{
	int broker = open(ENGINE_NODE, O_RDWR | O_CLOEXEC), error;

	if (broker < 0)
		return -1;
	error = broker_register(broker, name, device);
	if (!error)
		return broker;
	close(broker);
	errno = error;
	return -1;
}

int broker_next(int broker, uint32_t flags, struct nnaccel_engine_next *next)
{
	memset(next, 0xa5, sizeof(*next));
	next->size = sizeof(*next);
	next->flags = flags;
	return xioctl(broker, NNACCEL_ENGINE_NEXT, next);
}

int broker_await_new(int broker, uint64_t *context)
{
	struct nnaccel_engine_next next;
	int error;

	do {
		error = broker_next(broker, 0, &next);
		if (error)
			return error;
	} while (next.out_event != NNACCEL_ENGINE_NEW || next.out_pid != (uint32_t)getpid());
	*context = next.out_context;
	return 0;
}

int broker_session(int broker, uint64_t context, int *session)
{
	struct nnaccel_engine_session arg = {
		.size = sizeof(arg),
		.flags = NNACCEL_SESSION_CLOEXEC,
		.context = context,
		.out_fd = -1,
	};
	int error = xioctl(broker, NNACCEL_ENGINE_SESSION, &arg);

	*session = arg.out_fd;
	return error;
}

int broker_refuse(int broker, uint64_t context, uint32_t error)
{
	struct nnaccel_engine_refuse arg = {
		.size = sizeof(arg),
		.error = error,
		.context = context,
	};

	return xioctl(broker, NNACCEL_ENGINE_REFUSE, &arg);
}

int session_attach_as(int session, uint32_t flags)
{
	struct nnaccel_session_attach attach = { .size = sizeof(attach), .flags = flags };

	return xioctl(session, NNACCEL_SESSION_ATTACH, &attach);
}

int session_attach(int session)
{
	return session_attach_as(session, 0);
}

int session_fetch(int session, uint32_t flags, union command *cmd)
{
	struct nnaccel_session_fetch fetch = {
		.size = sizeof(fetch),
		.flags = flags,
		.buffer = (uintptr_t)cmd,
		.buffer_size = sizeof(*cmd),
	};

	return xioctl(session, NNACCEL_SESSION_FETCH, &fetch);
}

const struct nnaccel_grant *command_grants(const union command *cmd)
{
	return (const struct nnaccel_grant *)(&cmd->head + 1);
}

const struct nnaccel_arg *command_args(const union command *cmd)
{
	return (const struct nnaccel_arg *)(command_grants(cmd) + cmd->head.num_grants);
}

const struct nnaccel_cmd_role *command_roles(const union command *cmd)
{
	return (const struct nnaccel_cmd_role *)(command_args(cmd) + cmd->head.num_inputs +
						 cmd->head.num_outputs);
}

const void *command_attributes(const union command *cmd)
{
	return command_roles(cmd) + cmd->head.num_roles;
}

const struct nnaccel_format *command_formats(const union command *cmd)
{
	uintptr_t end = (uintptr_t)command_attributes(cmd) + cmd->head.attributes_size;

	return (const struct nnaccel_format *)((end + 7) & ~(uintptr_t)7);
}

int session_commit(int session, uint64_t cookie, uint32_t status, const void *payload,
		   uint32_t payload_size, const char *message)
{
	struct nnaccel_session_commit commit = {
		.size = sizeof(commit),
		.status = status,
		.cookie = cookie,
		.payload = (uintptr_t)payload,
		.payload_size = payload_size,
		.message = (uintptr_t)message,
		.message_size = message ? (uint32_t)strlen(message) : 0,
		.device_ns = MOCK_DEVICE_NS,
	};

	return xioctl(session, NNACCEL_SESSION_COMMIT, &commit);
}

int session_commit_fenced(int session, uint64_t cookie, int fence)
{
	struct nnaccel_session_commit commit = {
		.size = sizeof(commit),
		.cookie = cookie,
		.flags = NNACCEL_COMMIT_FENCE,
		.fence = fence,
		.device_ns = MOCK_DEVICE_NS,
	};

	return xioctl(session, NNACCEL_SESSION_COMMIT, &commit);
}

int session_answer(int session, const union command *cmd)
{
	uint32_t i, size = 0;
	void *payload = calloc(1, cmd->head.max_payload + sizeof(uint32_t));
	struct nnaccel_shape *shapes = payload;
	int error;

	if (!payload)
		return ENOMEM;
	switch (cmd->head.kind) {
	case NNACCEL_DO_QUERY:
		size = sizeof(cmd->head.query);
		memcpy(payload, &cmd->head.query, size);
		break;
	case NNACCEL_DO_SUPPORTED:
		size = cmd->head.max_payload;
		memset(payload, 1, size);
		break;
	case NNACCEL_DO_EXECUTE:
		/* Report an output size of 0, which fits into any memory that the client passed. */
		size = cmd->head.max_payload;
		for (i = 0; i < cmd->head.num_outputs; i++) {
			shapes[i].flags = NNACCEL_SHAPE_SUFFICIENT;
			shapes[i].rank = 1;
			shapes[i].dims[0] = i + 1;
		}
		break;
	case NNACCEL_DO_CACHE_SAVE:
		/* Leave the payload zero: the model part and the data part have 0 bytes. */
		size = cmd->head.max_payload;
		break;
	}
	error = session_commit(session, cmd->head.cookie, NNACCEL_STATUS_NONE, payload, size, NULL);
	free(payload);
	return error;
}

int session_serve(int session)
{
	union command *cmd = malloc(sizeof(*cmd));
	int error = cmd ? 0 : ENOMEM;

	while (!error) {
		error = session_fetch(session, 0, cmd);
		if (!error && cmd->head.cookie)
			error = session_answer(session, cmd);
	}
	free(cmd);
	return error;
}

void *session_map(int session, uint64_t grant, uint64_t length, int prot)
{
	void *at = mmap(NULL, length, prot, MAP_SHARED, session,
			(off_t)(grant << NNACCEL_GRANT_SHIFT));

	return at == MAP_FAILED ? NULL : at;
}

int session_grant_fd(int session, uint32_t grant, uint32_t prot, int *fd)
{
	struct nnaccel_session_grant_fd arg = {
		.size = sizeof(arg),
		.flags = NNACCEL_GRANT_FD_CLOEXEC,
		.grant = grant,
		.prot = prot,
		.out_fd = -1,
	};
	int error = xioctl(session, NNACCEL_SESSION_GRANT_FD, &arg);

	*fd = arg.out_fd;
	return error;
}

int session_fence(int session, uint64_t cookie, uint32_t index, int *fence)
{
	struct nnaccel_session_fence arg = {
		.size = sizeof(arg),
		.flags = NNACCEL_FENCE_CLOEXEC,
		.cookie = cookie,
		.index = index,
		.out_fd = -1,
	};
	int error = xioctl(session, NNACCEL_SESSION_FENCE, &arg);

	*fence = arg.out_fd;
	return error;
}

int served_open(struct served *s)
{
	return served_open_as(s, 0);
}

int served_open_as(struct served *s, uint32_t flags)
{
	int error;

	*s = (struct served){ .broker = -1, .fd = -1, .session = -1 };
	s->broker = broker_open();
	if (s->broker < 0)
		return errno;
	s->fd = device_open();
	if (s->fd < 0)
		return errno;
	error = broker_await_new(s->broker, &s->context);
	if (!error)
		error = broker_session(s->broker, s->context, &s->session);
	if (!error)
		error = session_attach_as(s->session, flags);
	return error;
}

static void *served_run(void *data)
{
	const struct served *s = data;

	session_serve(s->session);
	return NULL;
}

int served_start(struct served *s)
{
	int error = pthread_create(&s->thread, NULL, served_run, s);

	s->serving = !error;
	return error;
}

void served_close(struct served *s)
{
	if (s->fd >= 0)
		close(s->fd);
	if (s->serving)
		pthread_join(s->thread, NULL);
	if (s->session >= 0)
		close(s->session);
	if (s->broker >= 0)
		close(s->broker);
}
