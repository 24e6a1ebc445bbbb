// SPDX-License-Identifier: MIT
/*
 * The keeper of the compilation cache.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/cache_index.h"
#include "engine/clock.h"
#include "engine/device.h"
#include "engine/keeper.h"
#include "engine/log.h"
#include "plan/plan.h"

#define KEEPER_NAME "nnacceld-keeper"

/* Where the broker's socket is in the keeper; all other files but the log are closed. */
#define BROKER_FD 3

/* A keeper that dies is not started again before that. */
#define RESTART_NS UINT64_C(10000000000)

/* Idle for so long, it writes what can wait. */
#define FLUSH_MS 1000

/* Stores of a worker: so many at once, and one more each time that this has passed. */
#define STORE_BURST 32
#define STORE_NS UINT64_C(100000000)

/* Sockets to begin with; room grows. */
#define FIRST_ROOM 16

/* ---- the process ---- */

/* A worker; its socket is in the list of those that poll() looks at. */
struct client {
	uint32_t uid;
	unsigned int stores;		/* that it may make now */
	uint64_t refilled_ns;
	int memory;			/* that it writes a plan to, -1: none */
	struct cache_request made_for;	/* what asked for it */
};

struct keep {
	struct cache_index *index;
	struct blob_store *plans;	/* NULL: none are kept */
	struct pollfd *fds;		/* the broker's, then one for each client */
	struct client *clients;		/* clients[i] is behind fds[i]; clients[0] is unused */
	size_t count, room;
};

static bool make_room(struct keep *k)
{
	size_t room = k->room ? 2 * k->room : FIRST_ROOM;
	struct pollfd *fds = realloc(k->fds, room * sizeof(*fds));
	struct client *clients;

	if (!fds)
		return false;
	k->fds = fds;
	clients = realloc(k->clients, room * sizeof(*clients));
	if (!clients)
		return false;
	k->clients = clients;
	k->room = room;
	return true;
}

static void add_client(struct keep *k, int fd, uint32_t uid)
{
	if (k->count == k->room && !make_room(k)) {
		close(fd);
		return;
	}
	k->fds[k->count] = (struct pollfd){ .fd = fd, .events = POLLIN };
	k->clients[k->count] = (struct client){
		.uid = uid, .stores = STORE_BURST, .refilled_ns = clock_ns(), .memory = -1,
	};
	k->count++;
}

static void drop_memory(struct client *c)
{
	if (c->memory >= 0)
		close(c->memory);
	c->memory = -1;
}

static void drop_client(struct keep *k, size_t i)
{
	drop_memory(&k->clients[i]);
	close(k->fds[i].fd);
	k->count--;
	k->fds[i] = k->fds[k->count];
	k->clients[i] = k->clients[k->count];
}

/* Takes over a worker from the broker. False: the broker is gone. */
static bool take_client(struct keep *k)
{
	union {
		char buffer[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	uint32_t uid;
	struct iovec data = { .iov_base = &uid, .iov_len = sizeof(uid) };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control.buffer,
		.msg_controllen = sizeof(control.buffer),
	};
	struct cmsghdr *part;
	ssize_t n = recvmsg(BROKER_FD, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	int fd;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	part = n ? CMSG_FIRSTHDR(&message) : NULL;
	if (!part || n != sizeof(uid) || part->cmsg_type != SCM_RIGHTS ||
	    part->cmsg_len != CMSG_LEN(sizeof(fd)))
		return false;
	memcpy(&fd, CMSG_DATA(part), sizeof(fd));
	add_client(k, fd, uid);
	return true;
}

/* A worker that stores more than it can have reason to is put off. */
static bool may_store(struct client *c)
{
	uint64_t now = clock_ns(), more = (now - c->refilled_ns) / STORE_NS;

	if (more) {
		c->stores = more < STORE_BURST - c->stores ? c->stores + (unsigned int)more :
			    STORE_BURST;
		c->refilled_ns = now;
	}
	if (!c->stores)
		return false;
	c->stores--;
	return true;
}

/* The file of a plan, for reading. */
static int get_plan(struct keep *k, struct client *c, const struct cache_request *request,
		    struct cache_answer *answer)
{
	struct blob blob;
	int fd = k->plans ? blob_store_get(k->plans, c->uid, request->token, &blob) : -1;

	answer->verdict = CACHE_NO;
	if (fd < 0)
		return -1;
	answer->verdict = CACHE_YES;
	answer->model_size = blob.model_size;
	answer->data_size = blob.data_size;
	memcpy(answer->hash, blob.model_hash, sizeof(answer->hash));
	return fd;
}

/*
 * Memory of the size that a plan will have, which can neither grow nor shrink. It
 * is ours, but charged to the worker, who touches it first.
 */
static int new_plan(struct keep *k, struct client *c, const struct cache_request *request,
		    struct cache_answer *answer)
{
	drop_memory(c);
	answer->verdict = CACHE_NO;
	if (!k->plans || !blob_store_wants(k->plans, c->uid, request->token, request->model_size,
					   request->data_size))
		return -1;
	answer->verdict = CACHE_LATER;
	if (!may_store(c))
		return -1;
	answer->verdict = CACHE_FAILED;
	c->memory = memfd_create("nnaccel-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (c->memory < 0)
		return -1;
	if (ftruncate(c->memory, (off_t)(request->model_size + request->data_size)) ||
	    fcntl(c->memory, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK)) {
		drop_memory(c);
		return -1;
	}
	c->made_for = *request;
	answer->verdict = CACHE_YES;
	return c->memory;
}

/* What can change no more is kept: sealing fails where the worker still maps it. */
static enum cache_verdict keep_plan(struct keep *k, struct client *c,
				    const struct cache_request *request)
{
	const struct cache_request *made_for = &c->made_for;
	uint64_t size = made_for->model_size + made_for->data_size;
	enum cache_verdict verdict = CACHE_NO;
	void *bytes;

	if (c->memory < 0 || memcmp(made_for->token, request->token, sizeof(request->token)) ||
	    fcntl(c->memory, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL))
		return CACHE_NO;
	bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, c->memory, 0);
	if (bytes == MAP_FAILED)
		return CACHE_FAILED;
	if (blob_store_wants(k->plans, c->uid, made_for->token, made_for->model_size,
			     made_for->data_size))
		verdict = blob_store_put(k->plans, c->uid, made_for->token, bytes,
					 made_for->model_size, made_for->data_size) ?
			  CACHE_YES : CACHE_FAILED;
	munmap(bytes, size);
	return verdict;
}

/* Answers a request; returns a file that goes with the answer, or -1. */
static int answer_to(struct keep *k, struct client *c, const struct cache_request *request,
		     struct cache_answer *answer)
{
	answer->verdict = CACHE_LATER;
	switch (request->kind) {
	case CACHE_QUERY:
		answer->verdict = cache_index_query(k->index, c->uid, request->token, request->hash);
		break;
	case CACHE_STORE:
		if (may_store(c))
			answer->verdict = cache_index_store(k->index, c->uid, request->token,
							    request->hash);
		break;
	case CACHE_GET:
		return get_plan(k, c, request, answer);
	case CACHE_NEW:
		return new_plan(k, c, request, answer);
	case CACHE_DONE:
		answer->verdict = keep_plan(k, c, request);
		drop_memory(c);
		break;
	case CACHE_DROP:
		answer->verdict = CACHE_YES;
		if (k->plans)
			blob_store_drop(k->plans, c->uid, request->token);
		break;
	}
	return -1;
}

/* Sends bytes, with a file unless that is -1. */
static bool send_with(int socket, const void *bytes, size_t size, int file)
{
	union {
		char buffer[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct iovec data = { .iov_base = (void *)bytes, .iov_len = size };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *part;

	if (file >= 0) {
		message.msg_control = control.buffer;
		message.msg_controllen = sizeof(control.buffer);
		part = CMSG_FIRSTHDR(&message);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(sizeof(file));
		memcpy(CMSG_DATA(part), &file, sizeof(file));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

/* Answers one request. False: the worker is gone, or is not to be listened to. */
static bool serve_client(struct keep *k, size_t i)
{
	struct cache_answer answer = { .verdict = CACHE_FAILED };
	struct client *c = &k->clients[i];
	struct cache_request request;
	char bytes[sizeof(request) + 1];
	ssize_t n = recv(k->fds[i].fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	bool sent;
	int file;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!cache_request_parse(bytes, (size_t)n, &request)) {
		if (n)
			log_warning("uid %u: a worker sends what is no request", c->uid);
		return false;
	}
	file = answer_to(k, c, &request, &answer);
	sent = send_with(k->fds[i].fd, &answer, sizeof(answer), file);
	if (file >= 0 && file != c->memory)
		close(file);
	return sent;
}

/* One request of each in turn, until the broker is gone. */
static void keep_loop(struct keep *k)
{
	int n;

	for (;;) {
		n = poll(k->fds, k->count, FLUSH_MS);
		if (!n)
			cache_index_flush(k->index);
		if (n <= 0)
			continue;
		/* Backwards: one that goes makes the last take its place. */
		for (size_t i = k->count; --i > 0;)
			if (k->fds[i].revents && !serve_client(k, i))
				drop_client(k, i);
		if (k->fds[0].revents && !take_client(k))
			return;
	}
}

/* Adds a file's name and bytes; false where it cannot be read. */
static bool hash_file(struct evp_md_ctx_st *context, const char *folder, const char *name)
{
	char path[4096], bytes[8192];
	ssize_t n = -1;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	digest_add(context, name, strlen(name) + 1);
	while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
		digest_add(context, bytes, (size_t)n);
	if (fd >= 0)
		close(fd);
	return !n;
}

/* What plug-ins compute may be in a plan: those that there are, and what is in them. */
static bool hash_plugins(const struct spawn_plugins *plugins, uint8_t hash[DIGEST_SIZE])
{
	struct evp_md_ctx_st *context = digest_init() ? digest_begin() : NULL;
	bool read = context;

	for (unsigned int i = 0; read && plugins && i < plugins->count; i++)
		read = hash_file(context, plugins->folder, plugins->files[i]);
	return digest_end(context, hash) && read;
}

/*
 * All that an entry depends on besides its model. Where a build cannot be told
 * from others there is no version, and no cache.
 */
static bool describe_version(const struct keeper_options *options, char *text, size_t size)
{
	struct nn_device_info info;
	uint8_t hash[DIGEST_SIZE];
	char build[32];

	device_build_id(build, sizeof(build));
	if (!strcmp(build, "unidentified") || !hash_plugins(options->plugins, hash))
		return false;
	device_describe(&info);
	/* The device's version has the build and the CPU's features. */
	snprintf(text, size, "1 %s plan %016llx plug-ins %02x%02x%02x%02x%02x%02x%02x%02x",
		 info.version, (unsigned long long)nn_plan_fingerprint(), hash[0], hash[1], hash[2],
		 hash[3], hash[4], hash[5], hash[6], hash[7]);
	return true;
}

__attribute__((noreturn)) static void keeper_main(const struct keeper_options *options)
{
	struct keep k = { .index = NULL };
	char version[160];
	sigset_t none;

	/* The end comes from the broker: what it passed before is served first. */
	umask(0077);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, KEEPER_NAME);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!describe_version(options, version, sizeof(version)) || !make_room(&k))
		_exit(EXIT_FAILURE);
	k.index = digest_init() ? cache_index_open(options->folder, version) : NULL;
	if (!k.index)
		_exit(EXIT_FAILURE);
	if (options->plans.bytes)
		k.plans = blob_store_open(k.index, options->folder, &options->plans);
	k.fds[0] = (struct pollfd){ .fd = BROKER_FD, .events = POLLIN };
	k.count = 1;
	keep_loop(&k);
	blob_store_close(k.plans);
	cache_index_close(k.index);
	_exit(EXIT_SUCCESS);
}

/* ---- the broker's side ---- */

static bool prepare_folder(const struct keeper_options *options)
{
	const char *folder = options->folder;
	char version[160];

	if (!describe_version(options, version, sizeof(version))) {
		log_warning("no compilation cache: this build has no id, or a plug-in "
			    "cannot be read");
		return false;
	}
	if ((!mkdir(folder, 0700) || errno == EEXIST) && !access(folder, R_OK | W_OK | X_OK))
		return true;
	log_warning("no compilation cache: %s: %s", folder, strerror(errno));
	return false;
}

static bool fork_keeper(struct keeper *keeper)
{
	int sockets[2];

	keeper->started_ns = clock_ns();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		log_error("no compilation cache: socketpair: %s", strerror(errno));
		return false;
	}
	keeper->pid = fork();
	if (keeper->pid == 0) {
		if (dup2(sockets[1], BROKER_FD) < 0 || close_range(BROKER_FD + 1, ~0U, 0))
			_exit(EXIT_FAILURE);
		keeper_main(keeper->options);
	}
	close(sockets[1]);
	if (keeper->pid < 0) {
		log_error("no compilation cache: fork: %s", strerror(errno));
		close(sockets[0]);
		keeper->pid = 0;
		return false;
	}
	keeper->socket = sockets[0];
	return true;
}

bool keeper_start(struct keeper *keeper, const struct keeper_options *options)
{
	static const struct keeper_options none = { .folder = NULL };

	*keeper = (struct keeper){ .options = options, .socket = -1 };
	if (!options->folder)
		return false;
	if (prepare_folder(options) && fork_keeper(keeper))
		return true;
	keeper->options = &none;
	return false;
}

static void reap_keeper(struct keeper *keeper)
{
	int status = 0;

	if (keeper->socket < 0)
		return;
	close(keeper->socket);
	keeper->socket = -1;
	while (waitpid(keeper->pid, &status, 0) < 0 && errno == EINTR)
		;
	keeper->pid = 0;
	if (WIFSIGNALED(status))
		log_warning("the compilation cache's keeper: killed by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		log_warning("the compilation cache's keeper failed");
}

bool keeper_pass(struct keeper *keeper, int worker, uint32_t uid)
{
	if (!keeper->options->folder)
		return false;
	if (keeper->socket >= 0 && send_with(keeper->socket, &uid, sizeof(uid), worker))
		return true;
	/* One that is merely behind stays. */
	if (keeper->socket >= 0 && errno == EAGAIN)
		return false;
	reap_keeper(keeper);
	return clock_ns() - keeper->started_ns >= RESTART_NS && fork_keeper(keeper) &&
	       send_with(keeper->socket, &uid, sizeof(uid), worker);
}

void keeper_stop(struct keeper *keeper)
{
	reap_keeper(keeper);
}
