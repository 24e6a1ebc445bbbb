// SPDX-License-Identifier: MIT
/*
 * Accounting: which user the module charges for a context's objects, the limits, and the
 * values that the module reports.
 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

#define USERS	"/sys/kernel/debug/nnaccel/users"
#define GROUP	"/sys/fs/cgroup/nnaccel-account"
#define OWNER	4711
#define SUB_ID	200000

FIXTURE(account) {
	struct summary before;
	struct served s;
	uint32_t pool;
	uint32_t model;
	int burst;
	int ended;		/* file of an execution that has ended */
	union command cmd;
};

FIXTURE_SETUP(account)
{
	ASSERT_TRUE(idle_summary(&self->before));
	ASSERT_EQ(served_open(&self->s), 0);
	self->pool = pool_alloc(self->s.fd, PAGE);
	self->model = served_prepare(&self->s, self->pool);
	ASSERT_NE(self->model, 0);
	self->burst = served_burst(&self->s, self->model, NULL);
	ASSERT_GE(self->burst, 0);
	ASSERT_EQ(served_start(&self->s), 0);
	self->ended = file_start(self->s.fd, self->model, self->pool, -1);
	ASSERT_EQ(file_end(self->s.fd, self->ended), 0);
}

FIXTURE_TEARDOWN(account)
{
	close(self->ended);
	close(self->burst);
	served_close(&self->s);
	EXPECT_TRUE(summary_settles(&self->before));
}

/* Returns the bytes of kernel structures that root is charged for, or -1. */
static long long kernel_bytes(void)
{
	FILE *users = fopen(USERS, "re");
	long long bytes = -1, value;
	char line[256];
	unsigned int uid;

	while (users && fgets(line, sizeof(line), users))
		if (sscanf(line, "%u %*u %*u %lld", &uid, &value) == 2 && uid == 0)
			bytes = value;
	if (users)
		fclose(users);
	return bytes;
}

/*
 * Waits until the last references to commands are dropped, and returns the charge, which is then
 * stable.
 */
static long long kernel_bytes_at_rest(const FIXTURE_DATA(account) *self)
{
	summary_becomes(-1, "commands", 0);
	return kernel_bytes();
}

/* ---- charges for kernel structures ---- */

static int do_pool(FIXTURE_DATA(account) *self)
{
	uint32_t id = pool_alloc(self->s.fd, 1);

	return id ? object_destroy(self->s.fd, id) : errno;
}

static int do_import(FIXTURE_DATA(account) *self)
{
	int file = file_new(PAGE), error;
	uint32_t id;

	error = pool_import(self->s.fd, file, NNACCEL_PROT_READ, 0, PAGE, &id);
	close(file);
	return error ?: object_destroy(self->s.fd, id);
}

static int do_model(FIXTURE_DATA(account) *self)
{
	struct nnaccel_prepare prepare;
	int error;

	prepare_init(&prepare, self->pool, 1);
	error = xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &prepare);
	return error ?: object_destroy(self->s.fd, prepare.out_model);
}

static int do_model_with_constants(FIXTURE_DATA(account) *self)
{
	struct nnaccel_prepare prepare;
	uint32_t pools[100];
	int error;

	for (size_t i = 0; i < ARRAY_SIZE(pools); i++)
		pools[i] = self->pool;
	prepare_init(&prepare, self->pool, 1);
	prepare.pools = (uintptr_t)pools;
	prepare.num_pools = ARRAY_SIZE(pools);
	error = xioctl(self->s.fd, NNACCEL_WORK_PREPARE, &prepare);
	return error ?: object_destroy(self->s.fd, prepare.out_model);
}

static int do_buffer(FIXTURE_DATA(account) *self)
{
	uint32_t buffer = buffer_alloc(self->s.fd, self->model, 1);

	return buffer ? object_destroy(self->s.fd, buffer) : errno;
}

static int do_burst(FIXTURE_DATA(account) *self)
{
	int burst, error = burst_create(self->s.fd, self->model, 0, &burst);

	if (!error)
		close(burst);
	return error;
}

static int do_slot(FIXTURE_DATA(account) *self)
{
	uint32_t slot;
	int error = slot_bind(self->burst, self->pool, NNACCEL_PROT_READ, &slot);

	return error ?: slot_free(self->burst, slot);
}

static int do_query(FIXTURE_DATA(account) *self)
{
	struct nnaccel_query query;
	char data[NNACCEL_MAX_QUERY];

	query_init(&query, NNACCEL_QUERY_DEVICE, data, sizeof(data));
	return xioctl(self->s.fd, NNACCEL_WORK_QUERY, &query);
}

static int do_execution(FIXTURE_DATA(account) *self)
{
	struct execution e;

	execution_init(&e, self->model, self->pool, self->pool);
	return xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, &e.cmd);
}

/* Runs an execution that depends on @num executions; returns 0 or an errno. */
static int do_files(FIXTURE_DATA(account) *self, uint32_t num)
{
	static int32_t files[64];
	struct nnaccel_submit submit;
	struct execution e;
	int error;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		files[i] = self->ended;
	execution_init(&e, self->model, self->pool, self->pool);
	submit_init(&submit, NNACCEL_WORK_EXECUTE, &e.cmd);
	submit.flags = NNACCEL_SUBMIT_FILE;
	submit.dependencies = (uintptr_t)files;
	submit.num_dependencies = num;
	error = xioctl(self->s.fd, NNACCEL_SUBMIT, &submit);
	if (error)
		return error;
	error = file_end(self->s.fd, submit.out_fd);
	close(submit.out_fd);
	return error;
}

static int do_file(FIXTURE_DATA(account) *self)
{
	return do_files(self, 0);
}

static int do_file_that_waits(FIXTURE_DATA(account) *self)
{
	return do_files(self, 64);
}

static const struct {
	const char *name;
	int (*act)(FIXTURE_DATA(account) *self);
} acts[] = {
	{ "a pool", do_pool }, { "an import", do_import }, { "a model", do_model },
	{ "a buffer", do_buffer }, { "a burst", do_burst }, { "a slot", do_slot },
	{ "a query", do_query }, { "an execution", do_execution },
	{ "an execution with a file", do_file },
	{ "a model with constants", do_model_with_constants },
	{ "an execution that depends on others", do_file_that_waits },
};

/* A call that would exceed the user's limit fails, and leaves no charge. */
TEST_F(account, structures_are_bounded)
{
	for (size_t i = 0; i < ARRAY_SIZE(acts); i++) {
		long long before = kernel_bytes_at_rest(self), more = 1, old;
		int error;

		ASSERT_GT(before, 0);
		old = param_set("max_user_kernel_bytes", before + more);
		ASSERT_GT(old, 0);
		EXPECT_EQ(acts[i].act(self), EDQUOT)
			TH_LOG("%s", acts[i].name);
		do {
			more += 300;
			param_set("max_user_kernel_bytes", before + more);
			error = acts[i].act(self);
		} while (error == EDQUOT && more < 1 << 20);
		param_set("max_user_kernel_bytes", old);
		EXPECT_EQ(error, 0)
			TH_LOG("%s", acts[i].name);
		EXPECT_EQ(kernel_bytes_at_rest(self), before)
			TH_LOG("%s", acts[i].name);
	}
}

/* The charge of a user may equal the limit, but not exceed the limit by one byte. */
TEST_F(account, structures_reach_the_bound)
{
	long long before = kernel_bytes_at_rest(self), cost, old;
	uint32_t id = pool_alloc(self->s.fd, 1);

	cost = kernel_bytes() - before;
	EXPECT_EQ(object_destroy(self->s.fd, id), 0);
	EXPECT_GT(cost, 0);
	old = param_set("max_user_kernel_bytes", before + cost - 1);
	EXPECT_EQ(do_pool(self), EDQUOT);
	param_set("max_user_kernel_bytes", before + cost);
	EXPECT_EQ(do_pool(self), 0);
	param_set("max_user_kernel_bytes", old);
}

/* Checks that @room bytes below the limit suffice for a small execution, but not for @execute. */
static void expect_charged(struct __test_metadata *_metadata, FIXTURE_DATA(account) *self,
			   struct nnaccel_execute *execute, long long room)
{
	long long before = kernel_bytes_at_rest(self);
	long long old = param_set("max_user_kernel_bytes", before + room);

	EXPECT_EQ(do_execution(self), 0);
	summary_becomes(-1, "commands", 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, execute), EDQUOT);
	param_set("max_user_kernel_bytes", old);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_EXECUTE, execute), 0);
	EXPECT_EQ(kernel_bytes_at_rest(self), before);
}

/* For each pool of a command the user is charged for at least the bytes of the pool's grant. */
TEST_F(account, pools_of_a_command_are_charged)
{
	static uint32_t pools[NNACCEL_MAX_CMD_POOLS];
	struct nnaccel_execute execute = {
		.size = sizeof(execute),
		.model = self->model,
		.num_pools = NNACCEL_MAX_CMD_POOLS,
		.pools = (uintptr_t)pools,
	};

	for (size_t i = 0; i < NNACCEL_MAX_CMD_POOLS; i++)
		pools[i] = self->pool;
	expect_charged(_metadata, self, &execute,
		       NNACCEL_MAX_CMD_POOLS * (long long)sizeof(struct nnaccel_grant));
}

TEST_F(account, arguments_are_charged)
{
	enum { NUM = 1000, ROOM = NUM * sizeof(struct nnaccel_arg) / 2 };
	static struct nnaccel_arg args[NUM];
	struct nnaccel_execute execute = {
		.size = sizeof(execute),
		.model = self->model,
		.num_inputs = NUM,
		.args = (uintptr_t)args,
	};

	for (int i = 0; i < NUM; i++)
		args[i].flags = NNACCEL_ARG_NO_VALUE;
	expect_charged(_metadata, self, &execute, ROOM);
}

TEST_F(account, attributes_are_charged)
{
	static char attributes[NNACCEL_MAX_ATTRIBUTES];
	struct execution e;

	execution_init(&e, self->model, self->pool, self->pool);
	e.cmd.attributes = (uintptr_t)attributes;
	e.cmd.attributes_size = sizeof(attributes);
	expect_charged(_metadata, self, &e.cmd, sizeof(attributes) / 2);
}

/* Describes a buffer with the maximum number of roles. */
static void allocation_with_roles(struct nnaccel_buffer_alloc *alloc, uint32_t model)
{
	static struct nnaccel_role roles[NNACCEL_MAX_ROLES];

	for (uint32_t i = 0; i < NNACCEL_MAX_ROLES; i++)
		roles[i] = (struct nnaccel_role){ .model = model, .index = i };
	*alloc = (struct nnaccel_buffer_alloc){
		.size = sizeof(*alloc),
		.capacity = 1,
		.roles = (uintptr_t)roles,
		.num_roles = NNACCEL_MAX_ROLES,
	};
}

TEST_F(account, roles_are_charged)
{
	long long before = kernel_bytes_at_rest(self), old;
	struct nnaccel_buffer_alloc alloc;

	allocation_with_roles(&alloc, self->model);
	old = param_set("max_user_kernel_bytes", before + 16 * 1024);
	EXPECT_EQ(do_buffer(self), 0);
	summary_becomes(-1, "commands", 0);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &alloc), EDQUOT);
	param_set("max_user_kernel_bytes", old);
	EXPECT_EQ(xioctl(self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &alloc), 0);
	/* The user is charged for a buffer's roles until the buffer is destroyed. */
	EXPECT_GT(kernel_bytes_at_rest(self), before + NNACCEL_MAX_ROLES * 16);
	EXPECT_EQ(object_destroy(self->s.fd, alloc.out_buffer), 0);
	EXPECT_EQ(kernel_bytes_at_rest(self), before);
}

/* ---- pinned memory ---- */

TEST_F(account, all_users_together)
{
	long long old = param_set("max_total_bytes", summary_get(-1, "pool-bytes") + PAGE);
	uint32_t id;

	ASSERT_GT(old, 0);
	id = pool_alloc(self->s.fd, PAGE);
	EXPECT_NE(id, 0);
	EXPECT_EQ(pool_alloc(self->s.fd, PAGE), 0);
	EXPECT_EQ(errno, EDQUOT);
	EXPECT_EQ(object_destroy(self->s.fd, id), 0);
	EXPECT_NE(pool_alloc(self->s.fd, PAGE), 0);
	param_set("max_total_bytes", old);
}

/* CAP_SYS_RESOURCE overrides the limits of users, but the charge is still counted. */
TEST_F(account, override)
{
	const char *const params[] = {
		"max_contexts", "max_user_bytes", "max_total_bytes", "max_user_kernel_bytes",
	};
	long long old[ARRAY_SIZE(params)], bytes = summary_get(-1, "pool-bytes");
	int fd, limited;

	for (size_t i = 0; i < ARRAY_SIZE(params); i++)
		old[i] = param_set(params[i], 0);
	limited = device_open();
	EXPECT_EQ(limited, -1);
	EXPECT_EQ(errno, EDQUOT);
	fd = device_open_unlimited();
	EXPECT_GE(fd, 0);
	EXPECT_NE(pool_alloc(fd, PAGE), 0);
	EXPECT_EQ(summary_get(-1, "pool-bytes"), bytes + (long long)PAGE);
	EXPECT_EQ(pool_alloc(self->s.fd, PAGE), 0);
	EXPECT_EQ(errno, EDQUOT);
	for (size_t i = 0; i < ARRAY_SIZE(params); i++)
		param_set(params[i], old[i]);
	close(fd);
}

/* ---- who is charged ---- */

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return written;
}

/* Opens contexts as a user with subordinate ids; the exit code names the step that failed. */
static void open_with_many_ids(struct actor *self, void *data)
{
	int fds[2];

	if (!become_user(OWNER, OWNER) || unshare(CLONE_NEWUSER))
		_exit(1);
	actor_reached(self);
	/*
	 * After the ids are mapped, the owner opens one context, and a subordinate id opens the
	 * second context.
	 */
	if (setresuid(0, 0, 0))
		_exit(2);
	fds[0] = device_open();
	if (fds[0] < 0 || seteuid(1))
		_exit(3);
	fds[1] = device_open();
	if (fds[1] < 0 || seteuid(0) || seteuid(2))
		_exit(4);
	if (device_open() >= 0 || errno != EDQUOT)
		_exit(5);
	/* The user is charged for contexts that a nested user namespace opens. */
	if (unshare(CLONE_NEWUSER))
		_exit(6);
	if (device_open() >= 0 || errno != EDQUOT)
		_exit(7);
	actor_reached(self);
	_exit(0);
}

TEST_F(account, subordinate_ids_are_one_user)
{
	long long users = summary_get(-1, "users"), old = param_set("max_contexts", 2);
	struct nnaccel_engine_next next = { .size = sizeof(next) };
	char path[64], map[64];
	struct actor actor;
	int status, seen = 0;

	ASSERT_GT(old, 0);
	ASSERT_TRUE(actor_start(&actor, open_with_many_ids, NULL));
	if (!actor_await(&actor))
		SKIP(goto out, "user namespaces cannot be created");
	snprintf(map, sizeof(map), "0 %d 1\n1 %d 10\n", OWNER, SUB_ID);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", actor.pid);
	EXPECT_TRUE(write_file(path, map));
	snprintf(path, sizeof(path), "/proc/%d/gid_map", actor.pid);
	EXPECT_TRUE(write_file(path, map));
	actor_go(&actor);
	EXPECT_TRUE(actor_await(&actor));
	EXPECT_EQ(summary_get(-1, "users"), users + 1);
	/* The engine gets the owner's user id, even for the context of the subordinate id. */
	while (!broker_next(self->s.broker, NNACCEL_ENGINE_NONBLOCK, &next)) {
		EXPECT_EQ(next.out_uid, OWNER);
		seen++;
	}
	EXPECT_EQ(seen, 2);
	actor_go(&actor);
out:
	param_set("max_contexts", old);
	EXPECT_EQ(waitpid(actor.pid, &status, 0), actor.pid);
	EXPECT_EQ(status, 0)
		TH_LOG("step %d", WEXITSTATUS(status));
}

/* ---- a dma-buf that outlives its context ---- */

static int give_buffer(int socket)
{
	int fd = device_open(), buffer = pool_export(fd, pool_alloc(fd, 3 * PAGE));

	return buffer >= 0 && send_file(socket, buffer) ? 0 : 1;
}

TEST_F(account, buffer_outlives_its_context)
{
	long long held = summary_get(-1, "contexts-held"), bytes = summary_get(-1, "pool-bytes");
	int pair[2], buffer;

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ASSERT_EQ(in_child(give_buffer, pair[0]), 0);
	buffer = receive_file(pair[1]);
	ASSERT_GE(buffer, 0);
	/* The user is still charged for the memory of a context that no longer exists. */
	EXPECT_TRUE(summary_becomes(-1, "contexts-held", held));
	EXPECT_EQ(summary_get(-1, "pool-bytes"), bytes + 3 * (long long)PAGE);
	close(buffer);
	EXPECT_TRUE(summary_becomes(-1, "pool-bytes", bytes));
	close(pair[0]);
	close(pair[1]);
}

/* ---- the memory cgroup ---- */

static long long group_bytes(void)
{
	FILE *file = fopen(GROUP "/memory.current", "re");
	long long bytes = -1;

	if (file && fscanf(file, "%lld", &bytes) != 1)
		bytes = -1;
	if (file)
		fclose(file);
	return bytes;
}

/* The cgroup is charged for the pages of pools, and for structures such as roles and slots. */
TEST_F(account, memory_cgroup)
{
	enum { BUFFERS = 256, POOL = 16 << 20, SLOTS = NNACCEL_BURST_MAX_SLOTS };
	long long before, pool, roles, slots;
	struct nnaccel_buffer_alloc alloc;

	if (mkdir(GROUP, 0755) || group_bytes() < 0) {
		rmdir(GROUP);
		SKIP(return, "a memory cgroup cannot be created");
	}
	ASSERT_TRUE(write_file(GROUP "/cgroup.procs", "0"));
	before = group_bytes();
	ASSERT_NE(pool_alloc(self->s.fd, POOL), 0);
	pool = group_bytes();
	EXPECT_GE(pool - before, POOL);
	allocation_with_roles(&alloc, self->model);
	for (int i = 0; i < BUFFERS; i++)
		ASSERT_EQ(xioctl(self->s.fd, NNACCEL_WORK_BUFFER_ALLOC, &alloc), 0);
	roles = group_bytes();
	EXPECT_GT(roles - pool, BUFFERS * NNACCEL_MAX_ROLES * 16);
	for (int i = 0; i < SLOTS; i++)
		ASSERT_EQ(slot_bind(self->burst, self->pool, NNACCEL_PROT_READ, NULL), 0);
	/*
	 * The cgroup is charged in advance for up to 64 pages of each CPU. If pages are larger than
	 * 4 KiB, the charge in advance hides the charge for the slots.
	 */
	slots = group_bytes();
	EXPECT_GT(slots - roles, PAGE > 4096 ? -1 : SLOTS * 128 / 8);
	TH_LOG("pool %lld, roles %lld, slots %lld KiB", (pool - before) >> 10,
	       (roles - pool) >> 10, (slots - roles) >> 10);
	ASSERT_TRUE(write_file("/sys/fs/cgroup/cgroup.procs", "0"));
	EXPECT_EQ(rmdir(GROUP), 0);
}

/* If pools and bursts are destroyed, the charge for their pages ends. */
TEST_F(account, memory_comes_back)
{
	enum { BURSTS = 150, ROOM = 1 << 20 };
	long long before;

	if (mkdir(GROUP, 0755) || group_bytes() < 0) {
		rmdir(GROUP);
		SKIP(return, "a memory cgroup cannot be created");
	}
	ASSERT_TRUE(write_file(GROUP "/cgroup.procs", "0"));
	before = group_bytes();
	EXPECT_EQ(object_destroy(self->s.fd, pool_alloc(self->s.fd, 16 << 20)), 0);
	for (int i = 0; i < BURSTS; i++)
		ASSERT_EQ(do_burst(self), 0);
	EXPECT_TRUE(summary_becomes(self->s.fd, "nnaccel-bursts", 1));
	/*
	 * The charge for the pages of all bursts would exceed ROOM. Pages that the cgroup is
	 * charged for in advance do not exceed ROOM.
	 */
	EXPECT_LT(group_bytes() - before, PAGE > 4096 ? LLONG_MAX : ROOM);
	TH_LOG("%lld KiB more", (group_bytes() - before) >> 10);
	ASSERT_TRUE(write_file("/sys/fs/cgroup/cgroup.procs", "0"));
	EXPECT_EQ(rmdir(GROUP), 0);
}

/* ---- fdinfo ---- */

static bool fdinfo_has(int fd, const char *wanted)
{
	char path[64], line[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		found |= !strcmp(line, wanted);
	if (file)
		fclose(file);
	return found;
}

TEST_F(account, keys_of_drm_usage_stats)
{
	int fd = self->s.fd, file = file_new(8 * PAGE);

	EXPECT_TRUE(fdinfo_has(fd, "drm-driver:\tnnaccel\n"));
	EXPECT_EQ(summary_get(fd, "drm-client-id"), summary_get(fd, "nnaccel-client-id"));
	EXPECT_EQ(summary_get(fd, "drm-resident-memory"),
		  summary_get(fd, "nnaccel-memory-alloc"));
	EXPECT_EQ(summary_get(fd, "drm-shared-memory"), 0);
	EXPECT_EQ(pool_import(fd, file, NNACCEL_PROT_READ, 0, 8 * PAGE, NULL), 0);
	EXPECT_EQ(summary_get(fd, "drm-shared-memory"), 8 * (long long)PAGE / 1024);
	EXPECT_EQ(summary_get(fd, "drm-total-memory"),
		  summary_get(fd, "nnaccel-memory-alloc") + 8 * (long long)PAGE / 1024);
	EXPECT_EQ(do_execution(self), 0);
	EXPECT_GT(summary_get(fd, "drm-engine-nn"), 0);
	/* fdinfo shows the device time of two executions: the fixture's and the test's. */
	EXPECT_LE(summary_get(fd, "drm-engine-nn"), 2 * MOCK_DEVICE_NS);
	EXPECT_EQ(summary_get(fd, "drm-resident-device"), 0);
	close(file);
}

/* fdinfo shows the sum of what workers reported for bursts, even after the bursts are closed. */
TEST_F(account, executions_of_bursts)
{
	struct nnaccel_ring_control *results;
	int fd = self->s.fd;
	long long before = summary_get(fd, "drm-engine-nn");

	EXPECT_EQ(summary_get(fd, "nnaccel-burst-executions"), 0);
	results = session_burst_map(self->s.session, 1, NNACCEL_BURST_RESULTS,
				    (NNACCEL_RING_LINES +
				     (NNACCEL_BURST_DEFAULT_CAPACITY + 2) / 3 * 64 + PAGE - 1) /
				    PAGE * PAGE, PROT_READ | PROT_WRITE);
	ASSERT_NE(results, NULL);
	results->packets = 7;
	results->device_ns = 9;
	EXPECT_EQ(summary_get(fd, "nnaccel-burst-executions"), 7);
	EXPECT_EQ(summary_get(fd, "drm-engine-nn"), before + 9);
	close(self->burst);
	EXPECT_EQ(summary_get(fd, "nnaccel-burst-executions"), 7);
	EXPECT_EQ(summary_get(fd, "drm-engine-nn"), before + 9);
	EXPECT_EQ(burst_create(fd, self->model, 0, &self->burst), 0);
	EXPECT_EQ(summary_get(fd, "nnaccel-burst-executions"), 7);
}

TEST_HARNESS_MAIN
