// SPDX-License-Identifier: MIT
/*
 * Fault injection: in every call each allocation and each user copy fails in turn. A call with a
 * failed allocation or copy returns an error and leaves no object.
 */
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <sys/mman.h>

#include "harness.h"

#define PROT_RW (NNACCEL_PROT_READ | NNACCEL_PROT_WRITE)
#define MOST 1000
#define DRM_FORMAT_R8 0x20203852

FIXTURE(fail_nth) {
	struct summary before;
	struct served s;
	int nth;
	uint32_t pool;
	uint32_t model;
	uint32_t domain;
	struct allocation allocation;
	char data[MAX_PAGE + 1];
	int buffer;
	int file;
	/* The fields from `queued` on hold state that tested calls of broker and worker need. */
	bool queued;
	bool fetched;
	int other;
	int session;
	uint64_t context;
	void *mapped;
	struct async async;
	struct execution execution;
	union command cmd;
	int burst;
	uint32_t number;
	uint32_t slot;
	struct nnaccel_burst_create create;
	struct io_uring ring;
	bool has_ring;
};

static bool setting(const char *path, const char *value)
{
	char name[128];
	int fd;
	bool done;

	snprintf(name, sizeof(name), "/sys/kernel/debug/%s", path);
	fd = open(name, O_WRONLY);
	done = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
	close(fd);
	return done;
}

FIXTURE_SETUP(fail_nth)
{
	struct nnaccel_prepare prepare;
	int broker;

	self->nth = open("/proc/self/fail-nth", O_RDWR);
	if (self->nth < 0)
		return;
	ASSERT_TRUE(setting("failslab/ignore-gfp-wait", "N"));
	ASSERT_TRUE(setting("failslab/verbose", "0"));
	ASSERT_TRUE(setting("fail_page_alloc/ignore-gfp-wait", "N"));
	ASSERT_TRUE(setting("fail_page_alloc/ignore-gfp-highmem", "N"));
	ASSERT_TRUE(setting("fail_page_alloc/min-order", "0"));
	ASSERT_TRUE(setting("fail_page_alloc/verbose", "0"));
	ASSERT_TRUE(setting("fail_usercopy/verbose", "0"));
	broker = broker_open();
	ASSERT_GE(broker, 0);
	close(broker);
	ASSERT_TRUE(summary_read(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->pool = pool_alloc(self->s.fd, 4 * PAGE);
	self->buffer = pool_export(self->s.fd, self->pool);
	self->file = file_new(4 * PAGE);
	prepare_init(&prepare, self->pool, 1);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_PREPARE, &prepare));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	ASSERT_EQ(session_answer(self->s.session, &self->cmd), 0);
	ASSERT_EQ(async_wait(&self->async), 0);
	self->model = prepare.out_model;
	/*
	 * Touch the pages of `data` before the tests, because a page fault that fails during a test
	 * would kill this process.
	 */
	memset(self->data, 1, sizeof(self->data));
	allocation_init(&self->allocation, self->model, 4 * PAGE);
	ASSERT_TRUE(async_start(&self->async, self->s.fd, NNACCEL_WORK_BUFFER_ALLOC,
				&self->allocation.cmd));
	ASSERT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	ASSERT_EQ(session_answer(self->s.session, &self->cmd), 0);
	ASSERT_EQ(async_wait(&self->async), 0);
	self->domain = self->allocation.cmd.out_buffer;
	self->other = -1;
	self->session = -1;
	self->burst = -1;
}

FIXTURE_TEARDOWN(fail_nth)
{
	if (self->nth < 0)
		return;
	if (self->queued && !self->fetched) {
		EXPECT_EQ(session_fetch(self->s.session, 0, &self->cmd), 0);
	}
	if (self->queued) {
		EXPECT_EQ(session_answer(self->s.session, &self->cmd), 0);
		EXPECT_EQ(async_wait(&self->async), 0);
	}
	if (self->has_ring)
		io_uring_queue_exit(&self->ring);
	close(self->burst);
	close(self->other);
	close(self->buffer);
	close(self->file);
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* Makes a call; returns an errno, or 0 with the object to remove in @made. */
typedef int (*call_fn)(FIXTURE_DATA(fail_nth) *self, int *made);

static int call_open(FIXTURE_DATA(fail_nth) *self, int *made)
{
	*made = device_open();
	return *made < 0 ? errno : 0;
}

static int call_info(FIXTURE_DATA(fail_nth) *self, int *made)
{
	struct nnaccel_info info = { .size = sizeof(info) };

	return xioctl(self->s.fd, NNACCEL_INFO, &info);
}

static int call_alloc(FIXTURE_DATA(fail_nth) *self, int *made)
{
	struct nnaccel_pool_alloc alloc = { .size = sizeof(alloc), .length = 3 * PAGE };
	int error = xioctl(self->s.fd, NNACCEL_POOL_ALLOC, &alloc);

	*made = (int)alloc.out_id;
	return error;
}

static int call_import_file(FIXTURE_DATA(fail_nth) *self, int *made)
{
	return pool_import(self->s.fd, self->file, PROT_RW, 0, PAGE, (uint32_t *)made);
}

static int call_import_buffer(FIXTURE_DATA(fail_nth) *self, int *made)
{
	return pool_import(self->s.fd, self->buffer, NNACCEL_PROT_READ, 0, PAGE, (uint32_t *)made);
}

static int call_import_formatted(FIXTURE_DATA(fail_nth) *self, int *made)
{
	struct nnaccel_pool_import import = {
		.size = sizeof(import),
		.fd = self->buffer,
		.prot = PROT_RW,
		.fourcc = DRM_FORMAT_R8,
		.width = 1,
		.height = 1,
		.stride = 1,
	};
	int error = xioctl(self->s.fd, NNACCEL_POOL_IMPORT, &import);

	*made = (int)import.out_id;
	return error;
}

static int call_export(FIXTURE_DATA(fail_nth) *self, int *made)
{
	*made = pool_export(self->s.fd, self->pool);
	return *made < 0 ? errno : 0;
}

static int call_query(FIXTURE_DATA(fail_nth) *self, int *made)
{
	struct nnaccel_query query;
	uint32_t answer;

	query_init(&query, 1, &answer, sizeof(answer));
	return xioctl(self->s.fd, NNACCEL_WORK_QUERY, &query);
}

static int call_supported(FIXTURE_DATA(fail_nth) *self, int *made)
{
	struct nnaccel_supported supported;
	uint8_t answer[4];

	supported_init(&supported, self->pool, 1, answer, sizeof(answer));
	supported.pools = (uintptr_t)&self->pool;
	supported.num_pools = 1;
	return xioctl(self->s.fd, NNACCEL_WORK_SUPPORTED, &supported);
}

static int call_prepare(FIXTURE_DATA(fail_nth) *self, int *made)
{
	struct nnaccel_prepare prepare;
	int error;

	prepare_init(&prepare, self->pool, 1);
	prepare.pools = (uintptr_t)&self->pool;
	prepare.num_pools = 1;
	prepare.attributes = (uintptr_t)"attributes";
	prepare.attributes_size = 9;
	error = xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &prepare);
	*made = (int)prepare.out_model;
	return error;
}

static int call_prepare_cached(FIXTURE_DATA(fail_nth) *self, int *made)
{
	struct nnaccel_prepare_cached prepare;
	struct saved saved;
	int error;

	prepare_cached_init(&prepare, &saved, self->pool, 1, self->pool, PAGE);
	prepare.attributes = (uintptr_t)"attributes";
	prepare.attributes_size = 9;
	error = xioctl(self->s.fd, NNACCEL_WORK_PREPARE_CACHED, &prepare);
	*made = (int)prepare.out_model;
	return error;
}

static int call_cache_save(FIXTURE_DATA(fail_nth) *self, int *made)
{
	struct nnaccel_cache_save save;
	struct saved saved;

	cache_save_init(&save, &saved, self->model, self->pool, 1, self->pool, PAGE);
	return xioctl(self->s.fd, NNACCEL_WORK_CACHE_SAVE, &save);
}

static int call_execute(FIXTURE_DATA(fail_nth) *self, int *made)
{
	struct execution e;

	execution_init(&e, self->model, self->pool, self->pool);
	e.cmd.attributes = (uintptr_t)"attributes";
	e.cmd.attributes_size = 9;
	return xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd);
}

static int call_execute_with_file(FIXTURE_DATA(fail_nth) *self, int *made)
{
	*made = file_start(self->s.fd, self->model, self->pool, self->other);
	return *made < 0 ? errno : 0;
}

/*
 * Submits the prepared entry of an io_uring and waits for the entry's completion. Returns the errno
 * of the submission or of the completion.
 */
static int through_ring(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	int ret = io_uring_submit_and_wait(ring, 1);

	if (ret < 0)
		return -ret;
	ret = io_uring_wait_cqe(ring, &cqe);
	if (ret)
		return -ret;
	ret = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return ret < 0 ? -ret : 0;
}

static int call_uring_execute(FIXTURE_DATA(fail_nth) *self, int *made)
{
	struct nnaccel_submit submit;

	execution_init(&self->execution, self->model, self->pool, self->pool);
	submit_by_ring(io_uring_get_sqe(&self->ring), self->s.fd, &submit, &self->execution.cmd, 0);
	return through_ring(&self->ring);
}

static int call_cancel(FIXTURE_DATA(fail_nth) *self, int *made)
{
	struct nnaccel_cancel cancel = { .size = sizeof(cancel) };
	int error = xioctl(self->s.fd, NNACCEL_CANCEL, &cancel);

	return error == ENOENT ? 0 : error;
}

static int call_burst(FIXTURE_DATA(fail_nth) *self, int *made)
{
	return burst_create(self->s.fd, self->model, 0, made);
}

static int call_buffer_alloc(FIXTURE_DATA(fail_nth) *self, int *made)
{
	int error;

	allocation_init(&self->allocation, self->model, 4 * PAGE);
	error = xioctl(self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &self->allocation.cmd);
	*made = (int)self->allocation.cmd.out_buffer;
	return error;
}

static int call_buffer_copy(FIXTURE_DATA(fail_nth) *self, int *made)
{
	return buffer_copy_in(self->s.fd, self->domain, self->data, PAGE + 1) ?:
	       buffer_copy_out(self->s.fd, self->domain, self->data, PAGE + 1);
}

static int call_buffer_execute(FIXTURE_DATA(fail_nth) *self, int *made)
{
	struct buffer_execution e;

	buffer_execution_init(&e, self->model, self->domain, 0);
	e.base.args[0].flags = NNACCEL_ARG_NO_VALUE;
	e.base.cmd.num_outputs = 1;
	e.base.args[1].pool = 0;
	return xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.base.cmd);
}

static void undo_fd(FIXTURE_DATA(fail_nth) *self, int made)
{
	close(made);
}

static void undo_file(FIXTURE_DATA(fail_nth) *self, int made)
{
	file_end(self->s.fd, made);
	close(made);
}

static void undo_object(FIXTURE_DATA(fail_nth) *self, int made)
{
	object_destroy(self->s.fd, (uint32_t)made);
}

/* ---- engine calls: state is set up without failures ---- */

static bool ready_queued(FIXTURE_DATA(fail_nth) *self)
{
	struct pollfd poll_fd = { .fd = self->s.session, .events = POLLIN };

	if (self->queued)
		return true;
	execution_init(&self->execution, self->model, self->pool, self->pool);
	self->queued = async_start(&self->async, self->s.fd, NNACCEL_WORK_EXECUTE,
				   &self->execution.cmd);
	return self->queued && poll(&poll_fd, 1, -1) == 1;
}

static bool ready_fetched(FIXTURE_DATA(fail_nth) *self)
{
	if (!ready_queued(self))
		return false;
	if (!self->fetched)
		self->fetched = !session_fetch(self->s.session, 0, &self->cmd);
	return self->fetched;
}

/* Opens a second context, which has not been offered to the broker. */
static bool ready_wanted(FIXTURE_DATA(fail_nth) *self)
{
	struct nnaccel_engine_next next;

	while (self->other < 0 && !broker_next(self->s.broker, NNACCEL_ENGINE_NONBLOCK, &next))
		;
	if (self->other < 0)
		self->other = device_open();
	return self->other >= 0;
}

static bool ready_offered(FIXTURE_DATA(fail_nth) *self)
{
	if (self->other >= 0)
		return true;
	return ready_wanted(self) && !broker_await_new(self->s.broker, &self->context);
}

/* Starts an execution with a file and waits until the execution ends. */
static bool ready_file(FIXTURE_DATA(fail_nth) *self)
{
	if (self->other >= 0)
		return true;
	self->other = file_start(self->s.fd, self->model, self->pool, -1);
	return self->other >= 0 && !served_start(&self->s) && !file_end(self->s.fd, self->other);
}

/* Makes io_uring allocate its memory first, so that only the module's allocations fail. */
static bool ready_ring(FIXTURE_DATA(fail_nth) *self)
{
	if (self->has_ring)
		return true;
	self->has_ring = !io_uring_queue_init(1, &self->ring, 0);
	if (!self->has_ring || served_start(&self->s))
		return false;
	io_uring_prep_nop(io_uring_get_sqe(&self->ring));
	return !through_ring(&self->ring);
}

static bool ready_burst(FIXTURE_DATA(fail_nth) *self)
{
	if (self->burst < 0)
		self->burst = served_burst(&self->s, self->model, &self->number);
	return self->burst >= 0;
}

static bool ready_slot(FIXTURE_DATA(fail_nth) *self)
{
	return ready_burst(self) && (self->slot || !slot_bind(self->burst, self->pool, PROT_RW,
							      &self->slot));
}

/* Creates a burst that has not been announced to the worker. */
static bool ready_announcement(FIXTURE_DATA(fail_nth) *self)
{
	struct pollfd poll_fd = { .fd = self->s.session, .events = POLLIN };

	/* Fetch the notice of the previous burst's end first. */
	while (!self->queued && !session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd))
		;
	if (self->queued)
		return true;
	burst_init(&self->create, self->model, 0);
	self->queued = async_start(&self->async, self->s.fd, NNACCEL_WORK_BURST, &self->create);
	return self->queued && poll(&poll_fd, 1, -1) == 1;
}

static int call_slot_bind(FIXTURE_DATA(fail_nth) *self, int *made)
{
	return slot_bind(self->burst, self->pool, PROT_RW, (uint32_t *)made);
}

static int call_slot_resolve(FIXTURE_DATA(fail_nth) *self, int *made)
{
	struct nnaccel_grant grant;

	return slot_resolve(self->s.session, self->number, self->slot, &grant);
}

/* After the first success SESSION_GRANT_FD returns the same dma-buf. */
static int call_grant_fd(FIXTURE_DATA(fail_nth) *self, int *made)
{
	return session_grant_fd(self->s.session, command_grants(&self->cmd)[0].grant,
				NNACCEL_PROT_READ, made);
}

static int call_burst_map(FIXTURE_DATA(fail_nth) *self, int *made)
{
	self->mapped = burst_map(self->burst, NNACCEL_BURST_DOORBELL, PAGE, PROT_READ | PROT_WRITE);
	return self->mapped ? 0 : errno;
}

static int call_session_burst_map(FIXTURE_DATA(fail_nth) *self, int *made)
{
	self->mapped = session_burst_map(self->s.session, self->number, NNACCEL_BURST_STATUS, PAGE,
					 PROT_READ);
	return self->mapped ? 0 : errno;
}

static int call_fetch(FIXTURE_DATA(fail_nth) *self, int *made)
{
	return session_fetch(self->s.session, NNACCEL_FETCH_NONBLOCK, &self->cmd);
}

static int call_announcement(FIXTURE_DATA(fail_nth) *self, int *made)
{
	return call_fetch(self, made);
}

static int call_commit(FIXTURE_DATA(fail_nth) *self, int *made)
{
	const struct nnaccel_shape shape = {};

	return session_commit(self->s.session, self->cmd.head.cookie, 0, &shape, sizeof(shape),
			      "text");
}

static int call_map(FIXTURE_DATA(fail_nth) *self, int *made)
{
	self->mapped = session_map(self->s.session, command_grants(&self->cmd)->grant, 4 * PAGE,
				   PROT_READ);
	return self->mapped ? 0 : errno;
}

static int call_next(FIXTURE_DATA(fail_nth) *self, int *made)
{
	struct nnaccel_engine_next next;

	return broker_next(self->s.broker, NNACCEL_ENGINE_NONBLOCK, &next);
}

static int call_session(FIXTURE_DATA(fail_nth) *self, int *made)
{
	return broker_session(self->s.broker, self->context, made);
}

static int call_refuse(FIXTURE_DATA(fail_nth) *self, int *made)
{
	return broker_refuse(self->s.broker, self->context, EAGAIN);
}

/* Creates a session that no worker has attached to. */
static bool ready_session(FIXTURE_DATA(fail_nth) *self)
{
	if (self->session >= 0)
		return true;
	return ready_offered(self) && !broker_session(self->s.broker, self->context,
						      &self->session);
}

static int call_attach(FIXTURE_DATA(fail_nth) *self, int *made)
{
	return session_attach(self->session);
}

static void undo_fetch(FIXTURE_DATA(fail_nth) *self, int made)
{
	session_answer(self->s.session, &self->cmd);
	async_wait(&self->async);
	self->queued = false;
}

static void undo_announcement(FIXTURE_DATA(fail_nth) *self, int made)
{
	undo_fetch(self, made);
	close(self->create.out_fd);
}

static void undo_slot_bind(FIXTURE_DATA(fail_nth) *self, int made)
{
	slot_free(self->burst, (uint32_t)made);
}

static void undo_burst_map(FIXTURE_DATA(fail_nth) *self, int made)
{
	munmap(self->mapped, PAGE);
}

static void undo_commit(FIXTURE_DATA(fail_nth) *self, int made)
{
	async_wait(&self->async);
	self->queued = false;
	self->fetched = false;
}

static void undo_map(FIXTURE_DATA(fail_nth) *self, int made)
{
	munmap(self->mapped, 4 * PAGE);
}

static void undo_next(FIXTURE_DATA(fail_nth) *self, int made)
{
	close(self->other);
	self->other = -1;
}

static void undo_session(FIXTURE_DATA(fail_nth) *self, int made)
{
	close(made);
	undo_next(self, made);
}

static void undo_attach(FIXTURE_DATA(fail_nth) *self, int made)
{
	close(self->session);
	self->session = -1;
	undo_next(self, made);
}

/*
 * Returns whether the injected fault hit the tested call. If the tested call had fewer allocations,
 * the fault may hit the pread() or the pwrite() below.
 */
static bool was_injected(int nth)
{
	char text[16] = "";
	bool injected = pread(nth, text, sizeof(text) - 1, 0) > 0 && atoi(text) == 0;

	if (!injected)
		injected = pwrite(nth, "0", 1, 0) < 0 && errno != EFAULT;
	return injected;
}

/*
 * Makes a call again and again; the first, second, third... allocation fails in turn, until the
 * call needs fewer allocations.
 */
static void sweep(struct __test_metadata *_metadata, FIXTURE_DATA(fail_nth) *self,
		  bool (*ready)(FIXTURE_DATA(fail_nth) *self), call_fn call,
		  void (*undo)(FIXTURE_DATA(fail_nth) *self, int made))
{
	bool failed = true;
	int nth;

	/* Skip here, because the harness runs a test even if the test's fixture skips. */
	if (self->nth < 0)
		SKIP(return, "this kernel injects no faults");
	if (!ready) {
		ASSERT_EQ(served_start(&self->s), 0);
	}
	for (nth = 1; failed; nth++) {
		char text[16] = "";
		int made = -1, error;

		ASSERT_LT(nth, MOST);
		ASSERT_TRUE(!ready || ready(self));
		snprintf(text, sizeof(text), "%d", nth);
		ASSERT_GT(pwrite(self->nth, text, strlen(text), 0), 0);
		error = call(self, &made);
		failed = was_injected(self->nth);
		EXPECT_TRUE(!error || (failed && (error == ENOMEM || error == EFAULT)))
			TH_LOG("failure %d: %s", nth, strerror(error));
		if (!error && undo)
			undo(self, made);
	}
	EXPECT_GT(nth, 2);
}

#define SWEEP(_name, _ready, _undo) \
	TEST_F(fail_nth, _name) { sweep(_metadata, self, _ready, call_##_name, _undo); }

SWEEP(open, NULL, undo_fd)
SWEEP(info, NULL, NULL)
SWEEP(alloc, NULL, undo_object)
SWEEP(import_file, NULL, undo_object)
SWEEP(import_buffer, NULL, undo_object)
SWEEP(import_formatted, NULL, undo_object)
SWEEP(export, NULL, undo_fd)
SWEEP(query, NULL, NULL)
SWEEP(supported, NULL, NULL)
SWEEP(prepare, NULL, undo_object)
SWEEP(prepare_cached, NULL, undo_object)
SWEEP(cache_save, NULL, NULL)
SWEEP(execute, NULL, NULL)
SWEEP(uring_execute, ready_ring, NULL)
SWEEP(execute_with_file, ready_file, undo_file)
SWEEP(cancel, NULL, NULL)
SWEEP(burst, NULL, undo_fd)
SWEEP(buffer_alloc, NULL, undo_object)
SWEEP(buffer_copy, NULL, NULL)
SWEEP(buffer_execute, NULL, NULL)
SWEEP(slot_bind, ready_burst, undo_slot_bind)
SWEEP(slot_resolve, ready_slot, NULL)
SWEEP(burst_map, ready_burst, undo_burst_map)
SWEEP(session_burst_map, ready_burst, undo_burst_map)
SWEEP(announcement, ready_announcement, undo_announcement)
SWEEP(fetch, ready_queued, undo_fetch)
SWEEP(commit, ready_fetched, undo_commit)
SWEEP(map, ready_fetched, undo_map)
SWEEP(grant_fd, ready_fetched, undo_fd)
SWEEP(next, ready_wanted, undo_next)
SWEEP(session, ready_offered, undo_session)
SWEEP(refuse, ready_offered, undo_next)
SWEEP(attach, ready_session, undo_attach)

TEST_HARNESS_MAIN
