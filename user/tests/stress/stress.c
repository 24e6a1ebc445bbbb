/* SPDX-License-Identifier: MIT */
/*
 * usage: stress [SECONDS [ATTACK...]]
 *
 * Measures the effect of one user on other users. User A, with 65,536 subordinate ids, runs all
 * attacks on the device, or the named attacks, for SECONDS each (default 60). During an attack,
 * user B repeatedly opens the device, prepares a model and executes it, and root requests the
 * device's description. Before each attack, A's processes compute for SECONDS without the device,
 * which shows how much a busy machine alone slows B. User A does nothing for a third of SECONDS
 * before its processes compute, and again after the attack. The test prints a table of B's times in
 * all phases, and a TAP line for each attack, which passes if B and root were never refused. The
 * test needs root, in a VM (make stress) with nnacceld. Each user has a separate cgroup, as after a
 * login.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nnaccel/nnaccel.h>

#include "base/clock.h"
#include "tests/model_builder.h"

#define UID_A 7001
#define UID_B 7002
#define FIRST_SUBID 200000
#define SUBIDS 65536

#define CGROUPS "/sys/fs/cgroup"
#define ENGINE_WAIT "/sys/module/nnaccel/parameters/engine_wait_ms"

/*
 * Number of A's processes in an attack, and number of contexts that each of these processes may
 * keep open.
 */
#define ATTACKERS 4
#define HELD 300

/* Pause of user B between two rounds, and pause of root between two queries. */
#define REST_US 150000

#define MAX_SAMPLES 4096
#define COUNT 256

enum { OP_ADD = 0, OP_MUL = 18, OP_REDUCE_MAX = 77, OP_FILL = 100 };

enum step { OPEN, PREPARE, EXECUTE, STEPS };

/* The results of all processes; the processes share this memory. */
static struct shared {
	atomic_bool stop;
	atomic_uint tries, refused;		/* numbers of A's attempts and refused attempts */
	atomic_uint rounds, failures;		/* numbers of B's rounds and failed rounds */
	/* numbers of root's queries and failed queries */
	atomic_uint questions, unanswered;
	char message[200];			/* message of the last failure of B or root */
	uint32_t samples[STEPS][MAX_SAMPLES];	/* us */
} *shared;

/* Times of user B's steps in one phase of an attack, in us. */
struct times {
	unsigned int count;
	uint32_t samples[STEPS][MAX_SAMPLES];
};

/* Times of user B's steps while user A is quiet: before an attack, and after the attack. */
static struct times quiet[2];

static void die(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

static uint64_t now_us(void)
{
	return clock_ns() / 1000;
}

/* ---- users and cgroups ---- */

static void enter_cgroup(const char *name)
{
	char path[128], text[16];
	int fd;

	snprintf(path, sizeof(path), CGROUPS "/%s", name);
	mkdir(path, 0755);
	strcat(path, "/cgroup.procs");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	snprintf(text, sizeof(text), "%d", (int)getpid());
	if (write(fd, text, strlen(text)) < 0)
		perror(path);
	close(fd);
}

/* Becomes a user whose group may open the device. */
static void become(uid_t uid)
{
	struct stat node;
	gid_t group;

	if (stat(NNA_DEVICE_PATH, &node))
		die(NNA_DEVICE_PATH);
	group = node.st_gid;
	if (setgroups(1, &group) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		die("becoming a user");
	/* Let the kernel kill this process when its parent ends. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Maps subordinate ids, as newuidmap does for a user with a line in /etc/subuid. */
static void map_subids(pid_t pid)
{
	char path[64], map[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
	snprintf(map, sizeof(map), "0 %u 1\n1 %u %u\n", UID_A, FIRST_SUBID, SUBIDS);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, map, strlen(map)) < 0)
		die(path);
	close(fd);
}

/* Switches to another of A's subordinate ids, under which the process opens the next files. */
static void next_subid(void)
{
	static unsigned int id;

	if (!id)
		id = (unsigned int)getpid();
	id = (id * 16807 + 1) % SUBIDS;
	if (setresuid((uid_t)-1, 0, (uid_t)-1) || setresuid((uid_t)-1, 1 + id, (uid_t)-1))
		die("taking a subordinate id");
}

/* ---- models ---- */

static enum nn_status prepare_add(struct nna_device *device, float value, bool keep,
				  struct nna_prepared_model **p, struct nn_error *err)
{
	const struct nna_prepare_options options = { .size = sizeof(options), .engine_cache = keep };
	uint32_t in, add, none, out;
	struct model_builder b;

	mb_init(&b);
	in = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_INPUT, MB_DIMS(COUNT));
	add = mb_constant(&b, NN_TENSOR_FLOAT32, &value, sizeof(value), MB_DIMS(1));
	none = mb_int32(&b, 0);
	out = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(COUNT));
	mb_operation(&b, OP_ADD, MB_LIST(in, add, none), MB_LIST(out));
	return nna_prepare_model(device, &b.model, NULL, &options, p, err);
}

static enum nn_status execute(struct nna_device *device, struct nna_prepared_model *p,
			      uint64_t in_size, uint64_t out_size, struct nn_error *err)
{
	const struct nna_argument in = { .length = in_size };
	const struct nna_argument out = { .offset = 2048, .length = out_size };
	struct nna_memory *memory;
	enum nn_status status = nna_memory_alloc(device, 4096, &memory, err);
	const struct nna_request request = { .size = sizeof(request),
					     1, 1, 1, &in, &out, &memory, 0, NULL };

	if (status)
		return status;
	status = nna_execute(p, &request, NULL, NULL, err);
	nna_memory_free(memory);
	return status;
}

/* Prepares a model with eight temporaries of 128 MB, and an output of 128 MB. */
static enum nn_status prepare_huge(struct nna_device *device, struct nna_prepared_model **p,
				   struct nn_error *err)
{
	const int32_t size = 1 << 25, axis = 0;
	uint32_t in, dims, none, last, next, axes, keep, out;
	struct model_builder b;

	mb_init(&b);
	in = mb_operand(&b, NN_FLOAT32, NN_SUBGRAPH_INPUT, MB_NONE);
	dims = mb_constant(&b, NN_TENSOR_INT32, &size, sizeof(size), MB_DIMS(1));
	none = mb_int32(&b, 0);
	last = mb_operand(&b, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS((uint32_t)size));
	mb_operation(&b, OP_FILL, MB_LIST(dims, in), MB_LIST(last));
	for (int i = 0; i < 8; i++) {
		next = mb_operand(&b, NN_TENSOR_FLOAT32, NN_TEMPORARY, MB_DIMS((uint32_t)size));
		mb_operation(&b, OP_MUL, MB_LIST(last, last, none), MB_LIST(next));
		last = next;
	}
	axes = mb_constant(&b, NN_TENSOR_INT32, &axis, sizeof(axis), MB_DIMS(1));
	keep = mb_constant(&b, NN_BOOL, &(bool){ true }, 1, MB_NONE);
	out = mb_operand(&b, NN_TENSOR_FLOAT32, NN_SUBGRAPH_OUTPUT, MB_DIMS(1));
	mb_operation(&b, OP_REDUCE_MAX, MB_LIST(last, axes, keep), MB_LIST(out));
	return nna_prepare_model(device, &b.model, NULL, NULL, p, err);
}

/* ---- A's attacks: the test repeats each attack ---- */

/* Keeps the CPU busy without using the device. */
static void compute(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		;
}

/* Fills newly allocated memory: uses as much memory as compute_huge(), without using the device. */
static void fill_memory(void)
{
	const size_t count = 1 << 25;
	float *values = mmap(NULL, count * sizeof(*values), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (values == MAP_FAILED)
		die("mmap");
	for (size_t i = 0; i < count; i++)
		values[i] = (float)i;
	munmap(values, count * sizeof(*values));
}

/*
 * Opens the device under another subordinate id, and gets a worker. Returns NULL if the device or
 * the worker was refused.
 */
static struct nna_device *take(void)
{
	struct nna_device *device = NULL;
	struct nn_device_info info = { .size = sizeof(info) };
	struct nn_error err = { "" };

	next_subid();
	atomic_fetch_add(&shared->tries, 1);
	if (!nna_device_open(NULL, &device, &err) && !nna_device_get_info(device, &info, &err))
		return device;
	atomic_fetch_add(&shared->refused, 1);
	nna_device_close(device);
	return NULL;
}

/* Opens one more context and keeps this context open, until HELD contexts are open. */
static void hold(void)
{
	static int held;

	if (held < HELD && take())
		held++;
	else
		usleep(1000);
}

static void open_and_close(void)
{
	int fd;

	next_subid();
	for (int i = 0; i < 100; i++) {
		atomic_fetch_add(&shared->tries, 1);
		fd = open(NNA_DEVICE_PATH, O_RDWR | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
		else
			atomic_fetch_add(&shared->refused, 1);
	}
}

static void ask_and_close(void)
{
	struct nna_device *device = take();

	nna_device_close(device);
}

/* Uses a worker until start_crasher()'s process crashes the worker. */
static void be_crashed(void)
{
	struct nna_device *device = take();
	struct nn_device_info info = { .size = sizeof(info) };
	struct nn_error err = { "" };

	for (int i = 0; device && i < 100 && !nna_device_get_info(device, &info, &err); i++)
		usleep(2000);
	nna_device_close(device);
}

static void store(void)
{
	static struct nna_device *device;
	struct nna_prepared_model *p;
	static float value;
	struct nn_error err = { "" };

	if (!device)
		device = take();
	if (!device)
		return;
	value += 1;
	atomic_fetch_add(&shared->tries, 1);
	if (prepare_add(device, value + (float)getpid() / 65536, true, &p, &err))
		atomic_fetch_add(&shared->refused, 1);
	else
		nna_prepared_model_free(p);
	/* Open a new context after 32 stores, because a context's number of stores is limited. */
	if ((int)value % 32 == 0) {
		nna_device_close(device);
		device = NULL;
	}
}

static void compute_huge(void)
{
	static struct nna_device *device;
	static struct nna_prepared_model *p;
	struct nn_error err = { "" };

	if (!device)
		device = take();
	if (!device)
		return;
	atomic_fetch_add(&shared->tries, 1);
	if ((p || !prepare_huge(device, &p, &err)) && !execute(device, p, 4, 4, &err))
		return;
	atomic_fetch_add(&shared->refused, 1);
	nna_prepared_model_free(p);
	nna_device_close(device);
	p = NULL;
	device = NULL;
}

static const struct attack {
	const char *name;
	void (*act)(void);
	void (*peer)(void);		/* function that causes an equal load without the device */
	bool crash;			/* true: another process crashes user A's workers */
} attacks[] = {
	{ "open and hold", hold, compute, false },
	{ "open and close", open_and_close, compute, false },
	{ "ask and close", ask_and_close, compute, false },
	{ "crash", be_crashed, compute, true },
	{ "store", store, compute, false },
	{ "huge models", compute_huge, fill_memory, false },
};

#define NUM_ATTACKS (sizeof(attacks) / sizeof(attacks[0]))

/* ---- processes ---- */

static pid_t start_attacker(void (*act)(void))
{
	int go[2], mapped[2];
	char byte = 0;
	pid_t pid;

	if (pipe(go) || pipe(mapped))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		enter_cgroup("stress-a");
		become(UID_A);
		if (unshare(CLONE_NEWUSER) || write(go[1], &byte, 1) != 1 ||
		    read(mapped[0], &byte, 1) != 1)
			die("unshare");
		while (!atomic_load(&shared->stop))
			act();
		_exit(0);
	}
	if (read(go[0], &byte, 1) != 1)
		die("a process of A's");
	map_subids(pid);
	if (write(mapped[1], &byte, 1) != 1)
		die("a process of A's");
	close(go[0]);
	close(go[1]);
	close(mapped[0]);
	close(mapped[1]);
	return pid;
}

/*
 * Runs one round of user B, with the steps open, prepare and execute. Returns false if a step
 * failed.
 */
static bool do_round(uint32_t us[STEPS], struct nn_error *err)
{
	struct nna_prepared_model *p = NULL;
	struct nna_device *device = NULL;
	struct nn_device_info info = { .size = sizeof(info) };
	uint64_t start = now_us(), opened, prepared;
	bool done;

	done = !nna_device_open(NULL, &device, err) && !nna_device_get_info(device, &info, err);
	opened = now_us();
	done = done && !prepare_add(device, 1, false, &p, err);
	prepared = now_us();
	done = done && !execute(device, p, 4 * COUNT, 4 * COUNT, err);
	us[OPEN] = (uint32_t)(opened - start);
	us[PREPARE] = (uint32_t)(prepared - opened);
	us[EXECUTE] = (uint32_t)(now_us() - prepared);
	nna_prepared_model_free(p);
	nna_device_close(device);
	return done;
}

static void fail(atomic_uint *count, const char *who, const struct nn_error *err)
{
	snprintf(shared->message, sizeof(shared->message), "%s: %.150s", who, err->message);
	atomic_fetch_add(count, 1);
}

static pid_t start_b(void)
{
	pid_t pid = fork();
	struct nn_error err = { "" };
	uint32_t us[STEPS];

	if (pid)
		return pid;
	enter_cgroup("stress-b");
	become(UID_B);
	while (!atomic_load(&shared->stop)) {
		unsigned int n = atomic_load(&shared->rounds);

		if (!do_round(us, &err)) {
			fail(&shared->failures, "user B", &err);
		} else if (n < MAX_SAMPLES) {
			for (int step = 0; step < STEPS; step++)
				shared->samples[step][n] = us[step];
			atomic_store(&shared->rounds, n + 1);
		}
		usleep(REST_US);
	}
	_exit(0);
}

static pid_t start_root(void)
{
	struct nn_device_info info = { .size = sizeof(info) };
	pid_t pid = fork();
	struct nn_error err = { "" };

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!atomic_load(&shared->stop)) {
		struct nna_device *device = NULL;

		atomic_fetch_add(&shared->questions, 1);
		if (nna_device_open(NULL, &device, &err) ||
		    nna_device_get_info(device, &info, &err))
			fail(&shared->unanswered, "root", &err);
		nna_device_close(device);
		usleep(2 * REST_US);
	}
	_exit(0);
}

/* Returns true if a process's cgroup belongs to a worker of user A. */
static bool is_worker_of_a(const char *pid)
{
	char path[300], text[256] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/cgroup", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strstr(text, "/user-") && !strstr(text, "/user-0/") && !strstr(text, "/user-7002/");
}

static pid_t start_crasher(void)
{
	const struct dirent *entry;
	pid_t pid = fork();
	DIR *proc;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!atomic_load(&shared->stop)) {
		proc = opendir("/proc");
		while (proc && (entry = readdir(proc)))
			if (atoi(entry->d_name) > 1 && is_worker_of_a(entry->d_name))
				kill(atoi(entry->d_name), SIGBUS);
		if (proc)
			closedir(proc);
		usleep(20000);
	}
	_exit(0);
}

/* ---- the table ---- */

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts samples. Returns the samples' quantile `tenths` / 10, or 0 if there are no samples. */
static double quantile(uint32_t *samples, unsigned int count, unsigned int tenths)
{
	if (!count)
		return 0;
	qsort(samples, count, sizeof(*samples), compare);
	return samples[count * tenths / 10] / 1e3;
}

/*
 * Returns the median of user B's times for a step while user A is quiet, before and after an
 * attack.
 */
static double quiet_median(enum step step)
{
	static uint32_t all[2 * MAX_SAMPLES];

	memcpy(all, quiet[0].samples[step], quiet[0].count * sizeof(*all));
	memcpy(all + quiet[0].count, quiet[1].samples[step], quiet[1].count * sizeof(*all));
	return quantile(all, quiet[0].count + quiet[1].count, 5);
}

static void print_head(unsigned int seconds)
{
	printf("user A attacks with %d processes and %d ids for %u s each; user B's times in ms:\n"
	       "medians when it is quiet, while A's processes compute without the device (alone),\n"
	       "and in the attack; its 90th percentile; and its median over the two others\n\n",
	       ATTACKERS, SUBIDS, seconds);
	printf("%-14s %9s %9s  %-8s %8s %8s %8s %8s  %7s %7s  %9s  %9s\n", "A's attack", "tries",
	       "refused", "B", "quiet", "alone", "attack", "90%", "/ quiet", "/ alone", "B failed",
	       "root f.");
}

/*
 * Makes user A's processes call `act` for some seconds (do nothing if `act` is NULL) while user B
 * and root use the device. Stores the results of user A, user B and root in *shared.
 */
static void blow(void (*act)(void), bool crash, unsigned int seconds)
{
	pid_t pids[ATTACKERS + 3];
	int count = 0;

	memset(shared, 0, sizeof(*shared));
	pids[count++] = start_b();
	pids[count++] = start_root();
	for (int i = 0; act && i < ATTACKERS; i++)
		pids[count++] = start_attacker(act);
	if (crash)
		pids[count++] = start_crasher();
	sleep(seconds);
	atomic_store(&shared->stop, true);
	for (int i = 0; i < 2; i++)
		waitpid(pids[i], NULL, 0);
	for (int i = 2; i < count; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	/* Give the engine and the kernel time to free the state of A's processes. */
	sleep(1);
}

/*
 * Copies the times that blow() measured to `times`, and copies failures of B and root to `message`.
 * Returns true if user B and root had no failures.
 */
static bool take_times(struct times *times, char message[200])
{
	times->count = atomic_load(&shared->rounds);
	memcpy(times->samples, shared->samples, sizeof(times->samples));
	if (shared->message[0])
		memcpy(message, shared->message, sizeof(shared->message));
	return !atomic_load(&shared->failures) && !atomic_load(&shared->unanswered) &&
	       times->count;
}

static bool be_quiet(struct times *times, unsigned int seconds, char message[200])
{
	blow(NULL, false, seconds / 3 + 1);
	return take_times(times, message);
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

/*
 * Prints user B's times, with one line for each step. The output begins on the current line, and
 * the last line has no newline at the end.
 */
static void print_times(struct times *alone, struct times *during)
{
	static const char *const names[] = { "opens", "prepares", "executes" };

	for (int step = 0; step < STEPS; step++) {
		double usual = quiet_median(step);
		double peer = quantile(alone->samples[step], alone->count, 5);
		double median = quantile(during->samples[step], during->count, 5);

		printf("%*s  %-8s %8.1f %8.1f %8.1f %8.1f  %7.2f %7.2f%s", step ? 34 : 0, "",
		       names[step], usual, peer, median,
		       quantile(during->samples[step], during->count, 9), ratio(median, usual),
		       ratio(median, peer), step + 1 < STEPS ? "\n" : "");
	}
}

/*
 * Runs all phases of an attack, from the load without the device to the quiet time after the
 * attack. Returns true if user B and root were never refused.
 */
static bool run(const struct attack *attack, unsigned int seconds, char message[200])
{
	static struct times alone, during;
	unsigned int failures, unanswered, questions;
	char not_theirs[200];
	bool fair;

	blow(attack->peer, false, seconds);
	take_times(&alone, not_theirs);
	message[0] = '\0';
	blow(attack->act, attack->crash, seconds);
	fair = take_times(&during, message) && atomic_load(&shared->tries);
	failures = atomic_load(&shared->failures);
	unanswered = atomic_load(&shared->unanswered);
	questions = atomic_load(&shared->questions);
	printf("%-14s %9u %9u", attack->name, atomic_load(&shared->tries),
	       atomic_load(&shared->refused));
	fair = be_quiet(&quiet[1], seconds, message) && fair;
	print_times(&alone, &during);
	printf("  %4u/%4u  %4u/%4u\n", failures, during.count + failures, unanswered, questions);
	fflush(stdout);
	quiet[0] = quiet[1];
	return fair;
}

/*
 * Chooses the attacks with the given names, or all attacks if `count` is 0. Returns false for an
 * unknown name.
 */
static bool choose(bool chosen[NUM_ATTACKS], int count, char **names)
{
	size_t i;

	for (i = 0; i < NUM_ATTACKS; i++)
		chosen[i] = !count;
	for (int n = 0; n < count; n++) {
		for (i = 0; i < NUM_ATTACKS && strcmp(names[n], attacks[i].name); i++)
			;
		if (i == NUM_ATTACKS) {
			fprintf(stderr, "stress: there is no attack '%s'\n", names[n]);
			return false;
		}
		chosen[i] = true;
	}
	return true;
}

/*
 * Sets a long limit for a call's wait for a worker, so that a slow start of a worker is measured
 * instead of refused.
 */
static void be_patient(void)
{
	int fd = open(ENGINE_WAIT, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "30000", 5) != 5)
		die(ENGINE_WAIT);
	close(fd);
}

int main(int argc, char **argv)
{
	unsigned int seconds = argc > 1 ? (unsigned int)atoi(argv[1]) : 60;
	char messages[NUM_ATTACKS][200] = { "" };
	bool chosen[NUM_ATTACKS], good[NUM_ATTACKS], all;

	if (geteuid()) {
		fputs("stress: only root can be several users\n", stderr);
		return EXIT_FAILURE;
	}
	if (!choose(chosen, argc > 2 ? argc - 2 : 0, argv + 2))
		return EXIT_FAILURE;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("mmap");
	be_patient();
	print_head(seconds);
	all = be_quiet(&quiet[0], seconds, messages[0]);
	for (size_t i = 0; i < NUM_ATTACKS; i++) {
		good[i] = chosen[i] && run(&attacks[i], seconds, messages[i]);
		all = all && (good[i] || !chosen[i]);
	}
	puts("");
	for (size_t i = 0; i < NUM_ATTACKS; i++)
		if (chosen[i])
			printf("%sok - attack of user A: %s: neither B nor root is refused%s%s\n",
			       good[i] ? "" : "not ", attacks[i].name, good[i] ? "" : ": ",
			       good[i] ? "" : messages[i]);
	return all ? EXIT_SUCCESS : EXIT_FAILURE;
}
