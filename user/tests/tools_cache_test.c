/* SPDX-License-Identifier: MIT */
/*
 * Tests `nnaccel cache` without an engine, on an index in a folder, and with a keeper that the test
 * program imitates.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit/cache/keeper_message.h"
#include "kit/cache/message.h"
#include "tests/open_files.h"
#include "tools/tool.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define OTHER_UID 65534

static char state[] = "/tmp/nnaccel-state-XXXXXX";

static const char *in_state(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", state, name);
	return path;
}

static void write_file(const char *name, const void *bytes, size_t size)
{
	int fd = open(in_state(name), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

static bool has_file(const char *name)
{
	return !access(in_state(name), F_OK);
}

/*
 * The tables of the keeper's index. User 0 has a plan, user 1000 has hashes and a plan, user 2000
 * has a hash.
 */
static const char index_sql[] =
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
	"CREATE TABLE hash (uid INTEGER NOT NULL, token BLOB NOT NULL, hash BLOB NOT NULL,"
	" used INTEGER NOT NULL, PRIMARY KEY (uid, token, hash)) WITHOUT ROWID;"
	"CREATE TABLE plan (uid INTEGER NOT NULL, key BLOB NOT NULL, file INTEGER NOT NULL UNIQUE,"
	" model_size INTEGER NOT NULL, data_size INTEGER NOT NULL, model_hash BLOB NOT NULL,"
	" data_hash BLOB NOT NULL, used INTEGER NOT NULL, identity TEXT, PRIMARY KEY (uid, key))"
	" WITHOUT ROWID;"
	"INSERT INTO meta VALUES ('version', 'v7');"
	"INSERT INTO hash VALUES (1000, x'01', x'01', 1), (1000, x'01', x'02', 2),"
	" (1000, x'02', x'03', 3), (2000, x'01', x'01', 4);"
	"INSERT INTO plan VALUES (0, x'01', 3, 10, 20, x'', x'', 5, NULL),"
	" (1000, x'02', 4, 100, 200, x'', x'', 6, 'an engine');";

static int make_state(void **unused)
{
	sqlite3 *db;

	(void)unused;
	strcpy(state + strlen(state) - 6, "XXXXXX");
	assert_non_null(mkdtemp(state));
	assert_int_equal(sqlite3_open(in_state("index.db"), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, index_sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(mkdir(in_state("plans"), 0700), 0);
	write_file("plans/3", "abc", 3);
	write_file("plans/4", "abcd", 4);
	write_file("plans/5", "abcde", 5);
	write_file("plans/.hidden", "", 0);
	return 0;
}

static int remove_state(void **unused)
{
	char command[128];

	(void)unused;
	snprintf(command, sizeof(command), "rm -r %s", state);
	return system(command);
}

/* Returns the output of `nnaccel cache` with the arguments, including standard error. */
static const char *print(int *status, const char *arguments)
{
	static char out[4096], words[256];
	int saved[2] = { dup(STDOUT_FILENO), dup(STDERR_FILENO) };
	int file = memfd_create("out", MFD_CLOEXEC), argc = 0;
	char *argv[12], *save = NULL;
	ssize_t size;

	snprintf(words, sizeof(words), "cache --state %s %s", state, arguments);
	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	fflush(stdout);
	dup2(file, STDOUT_FILENO);
	dup2(file, STDERR_FILENO);
	*status = tool_cache(argc, argv);
	fflush(stdout);
	dup2(saved[0], STDOUT_FILENO);
	dup2(saved[1], STDERR_FILENO);
	close(saved[0]);
	close(saved[1]);
	size = pread(file, out, sizeof(out) - 1, 0);
	close(file);
	out[size > 0 ? size : 0] = '\0';
	return out;
}

static void assert_prints(const char *arguments, int expected_status, const char *expected)
{
	int status;
	const char *out = print(&status, arguments);
	char *with_state;

	assert_true(asprintf(&with_state, expected, state) >= 0);
	assert_string_equal(out, with_state);
	assert_int_equal(status, expected_status);
	free(with_state);
}

/* ---- without an engine ---- */

static void test_show(void **unused)
{
	(void)unused;
	assert_prints("", 0,
		      "made by v7\n"
		      "      user   tokens   hashes    plans  entries          bytes\n"
		      "         0        0        0        1        0             30\n"
		      "      1000        2        3        0        1            300\n"
		      "      2000        1        1        0        0              0\n");
	assert_prints("--json show", 0,
		      "{\"state\": \"%s\", \"version\": \"v7\", \"users\": ["
		      "{\"uid\": 0, \"tokens\": 0, \"hashes\": 0, \"plans\": 1, \"entries\": 0, \"plan_bytes\": 30}, "
		      "{\"uid\": 1000, \"tokens\": 2, \"hashes\": 3, \"plans\": 0, \"entries\": 1, \"plan_bytes\": 300}, "
		      "{\"uid\": 2000, \"tokens\": 1, \"hashes\": 1, \"plans\": 0, \"entries\": 0, \"plan_bytes\": 0}]}\n");
}

static void test_size(void **unused)
{
	struct stat st;
	char expected[128];

	(void)unused;
	/* `nnaccel cache` ignores symbolic links. */
	assert_int_equal(symlink("3", in_state("plans/link")), 0);
	assert_int_equal(stat(in_state("index.db"), &st), 0);
	snprintf(expected, sizeof(expected), "%lld bytes of the index, 12 bytes of plans\n",
		 (long long)st.st_size);
	assert_prints("size", 0, expected);
	snprintf(expected, sizeof(expected), "{\"index_bytes\": %lld, \"plan_bytes\": 12}\n",
		 (long long)st.st_size);
	assert_prints("--json size", 0, expected);
}

/*
 * `nnaccel cache clear` for a user removes the user's entries and their files. `nnaccel cache
 * clear` removes files that belong to no entry.
 */
static void test_clear(void **unused)
{
	(void)unused;
	assert_prints("--uid 1000 clear", 0, "4 entries cleared\n");
	assert_true(has_file("plans/3") && has_file("plans/.hidden"));
	assert_false(has_file("plans/4") || has_file("plans/5"));
	assert_prints("", 0,
		      "made by v7\n"
		      "      user   tokens   hashes    plans  entries          bytes\n"
		      "         0        0        0        1        0             30\n"
		      "      2000        1        1        0        0              0\n");
	assert_prints("--uid 1000 --json clear", 0, "{\"cleared\": 0}\n");
	assert_prints("clear", 0, "2 entries cleared\n");
	assert_false(has_file("plans/3"));
	assert_prints("", 0, "made by v7\n      user   tokens   hashes    plans  entries          bytes\n");
}

static void test_refusals(void **unused)
{
	(void)unused;
	assert_prints("check", 1, "nnaccel cache: check needs a running nnacceld whose --state is %s; "
		      "start it, or name its folder by --state\n");
	/* A user who may not search the state folder cannot know whether nnacceld runs. */
	assert_int_equal(chmod(state, 0), 0);
	assert_int_equal(setreuid(getuid() ? getuid() : OTHER_UID, -1), 0);
	assert_prints("check", 1, "nnaccel cache: %s: Permission denied (only root may look)\n");
	assert_int_equal(setreuid(geteuid(), -1), 0);
	assert_int_equal(chmod(state, 0700), 0);
	assert_prints("--state /nonexistent size", 1,
		      "nnaccel cache: /nonexistent: No such file or directory\n");
	assert_prints("--uid 0 show", 2, "nnaccel cache: --uid is only for the action clear; see nnaccel cache --help\n");
	assert_prints("nothing", 2, "nnaccel cache: no action 'nothing' (there are show, size, "
		      "check, clear); see nnaccel cache --help\n");
	write_file("index.db", "no database at all, however long it is", 38);
	assert_prints("", 1, "nnaccel cache: %s/index.db: file is not a database\n");
	assert_prints("clear", 1, "nnaccel cache: %s/index.db: file is not a database\n");
	assert_int_equal(unlink(in_state("index.db")), 0);
	assert_prints("", 1, "nnaccel cache: %s/index.db: No such file or directory (has an nnacceld run "
		      "with this folder?)\n");
	assert_prints("clear", 1, "nnaccel cache: %s/index.db: No such file or directory (has an nnacceld run "
		      "with this folder?)\n");
}

/* ---- without memory ---- */

static sqlite3_mem_methods memory;	/* sqlite3's own functions */
static unsigned int allocations;	/* number of allocations of sqlite3 */
static unsigned int failing;		/* number of the first allocation that fails; 0: none fails */

static bool may_allocate(void)
{
	return ++allocations < failing || !failing;
}

static void *failing_malloc(int size)
{
	return may_allocate() ? memory.xMalloc(size) : NULL;
}

static void *failing_realloc(void *block, int size)
{
	return may_allocate() ? memory.xRealloc(block, size) : NULL;
}

/* Makes sqlite3 allocate by functions that can fail; sqlite3 has not been called before. */
static void init_memory(void)
{
	sqlite3_mem_methods methods;

	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory);
	methods = memory;
	methods.xMalloc = failing_malloc;
	methods.xRealloc = failing_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
	sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
}

/*
 * The command says so if sqlite3 has no more memory from any allocation on. It removes files only if
 * it has removed their entries.
 */
static void test_no_memory(void **unused)
{
	static const char *const arguments[] = { "", "clear", "--uid 1000 clear" };
	int status;

	for (size_t i = 0; i < COUNT(arguments); i++) {
		unsigned int refused = 0;

		remove_state(unused);
		make_state(unused);
		for (failing = 1;; failing++) {
			const char *out;

			allocations = 0;
			out = print(&status, arguments[i]);
			if (allocations < failing)
				break;
			if (!status)
				continue;
			refused++;
			assert_int_equal(status, 1);
			assert_int_equal(strncmp(out, "nnaccel cache: ", strlen("nnaccel cache: ")), 0);
			assert_non_null(strstr(out, ": out of memory\n"));
			assert_true(has_file("plans/4"));
		}
		failing = 0;
		assert_int_equal(status, 0);
		assert_true(refused > 10);
		assert_int_equal(has_file("plans/4"), i == 0);
	}
}

/* ---- with a played keeper ---- */

static long patience_s;	/* limit of the tool's wait for the keeper's answer; 0: none */

__attribute__((visibility("default")))
int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	if (name == SO_RCVTIMEO)
		patience_s = ((const struct timeval *)value)->tv_sec;
	return (int)syscall(SYS_setsockopt, fd, level, name, value, size);
}

static struct keeper {
	int socket;
	struct message answer;
	size_t size;			/* size of the imitated keeper's answer */
	const void *file;		/* contents of the answer's file, or NULL */
	size_t file_size;
	struct message request;
} keeper;

static void *serve(void *unused)
{
	int fd = accept(keeper.socket, NULL, NULL), file = -1;

	if (recv(fd, &keeper.request, sizeof(keeper.request), 0) == sizeof(keeper.request)) {
		if (keeper.file) {
			file = memfd_create("report", MFD_CLOEXEC);
			/* Leave the file's position at the end of the file, as the keeper does. */
			if (write(file, keeper.file, keeper.file_size) < 0)
				abort();
		}
		if (keeper.size == sizeof(keeper.answer))
			message_send(fd, &keeper.answer, file);
		else if (keeper.size)
			send(fd, &keeper.answer, keeper.size, MSG_NOSIGNAL);
		if (file >= 0)
			close(file);
	}
	close(fd);
	return unused;
}

static void listen_as_keeper(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/" KEEPER_SOCKET, state);
	keeper.socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(keeper.socket, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(keeper.socket, 1), 0);
}

/* Runs `nnaccel cache` while the imitated keeper returns `answer`. */
static void assert_asks(const char *arguments, const struct message *answer, size_t size,
			const void *file, size_t file_size, int status, const char *expected)
{
	pthread_t thread;

	keeper.answer = *answer;
	keeper.size = size;
	keeper.file = file;
	keeper.file_size = file_size;
	patience_s = 0;
	assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
	assert_prints(arguments, status, expected);
	pthread_join(thread, NULL);
}

static void test_keeper(void **unused)
{
	static const struct message yes = { .kind = CACHE_YES, .model_size = 2, .data_size = 5 };
	static const struct message no = { .kind = CACHE_FAILED };
	static const struct message none = { .kind = CACHE_YES };
	static const struct message well = { .kind = CACHE_YES, .model_size = 3 };
	static const struct {
		struct cache_report head;
		struct cache_report_user users[2];
	} report = { { "v8" }, { { 1, 2, 3, 4, 5, 6 }, { 7, 8, 9, 10, 11, 12 } } };
	struct cache_report endless;
	char long_version[256];
	static const char faults[] = "plan 3 is \"torn\"\nplan 4 is missing\n";
	const size_t all = sizeof(yes);

	(void)unused;
	listen_as_keeper();
	assert_asks("", &yes, all, &report, sizeof(report), 0,
		    "made by v8\n"
		    "      user   tokens   hashes    plans  entries          bytes\n"
		    "         1        2        3        4        5              6\n"
		    "         7        8        9       10       11             12\n");
	assert_int_equal(keeper.request.kind, CACHE_SHOW);
	assert_true(patience_s > 0);
	assert_asks("", &none, all, &report, sizeof(report.head), 0,
		    "made by v8\n      user   tokens   hashes    plans  entries          bytes\n");
	/* The tool truncates the keeper's version if the version has no null byte at the end. */
	memset(&endless, 'x', sizeof(endless));
	snprintf(long_version, sizeof(long_version), "made by %.*s\n      user   tokens   hashes    plans "
		 " entries          bytes\n", (int)sizeof(endless.version) - 1, endless.version);
	assert_asks("", &none, all, &endless, sizeof(endless), 0, long_version);
	assert_asks("--json clear", &yes, all, NULL, 0, 0, "{\"cleared\": 7}\n");
	assert_int_equal(keeper.request.kind, CACHE_CLEAR);
	assert_true(keeper.request.model_size == CACHE_ALL_USERS);
	assert_asks("--uid 4294967295 clear", &yes, all, &report, 1, 0, "7 entries cleared\n");
	assert_int_equal(keeper.request.model_size, 4294967295);
	assert_asks("check", &yes, all, faults, strlen(faults), 1,
		    "plan 3 is \"torn\"\nplan 4 is missing\n2 plans, 5 faults\n");
	assert_int_equal(keeper.request.kind, CACHE_CHECK);
	/* The keeper reads all plans, for as long as its disk needs. */
	assert_int_equal(patience_s, 0);
	assert_asks("--json check", &yes, all, faults, strlen(faults), 1,
		    "{\"plans\": 2, \"faults\": [\"plan 3 is \\\"torn\\\"\", \"plan 4 is missing\"]}\n");
	assert_asks("check", &well, all, "", 0, 0, "3 plans, 0 faults\n");

	/*
	 * The tool reports an error if the keeper sends a report or an answer of the wrong size, no
	 * answer, or a refusal.
	 */
	assert_asks("", &yes, all, &report, sizeof(report) - sizeof(report.users[0]), 1,
		    "nnaccel cache: the engine's keeper is of another build\n");
	assert_asks("", &well, all, &report, sizeof(report), 1,
		    "nnaccel cache: the engine's keeper is of another build\n");
	assert_asks("", &yes, all, &report, sizeof(report.head) - 1, 1,
		    "nnaccel cache: the engine's keeper is of another build\n");
	assert_asks("", &yes, all, NULL, 0, 1, "nnaccel cache: the engine's keeper is of another build\n");
	assert_asks("check", &yes, all, NULL, 0, 1,
		    "nnaccel cache: the engine's keeper is of another build\n");
	for (size_t i = 0; i < 3; i++) {
		static const char *const actions[] = { "show", "clear", "check" };

		assert_asks(actions[i], &yes, all - 1, &report, sizeof(report), 1,
			    "nnaccel cache: the engine's keeper does not answer\n");
		assert_asks(actions[i], &yes, 0, NULL, 0, 1,
			    "nnaccel cache: the engine's keeper does not answer\n");
		assert_asks(actions[i], &no, all, &report, sizeof(report), 1,
			    "nnaccel cache: the engine's keeper cannot do it: see its log\n");
	}
	close(keeper.socket);
	/* If no keeper listens, `nnaccel cache` itself opens the index of the engine's cache. */
	assert_prints("--uid 2000 clear", 0, "1 entries cleared\n");
}

static int open_files;

static int set_up(void **unused)
{
	open_files = count_files();
	return make_state(unused);
}

static int tear_down(void **unused)
{
	return remove_state(unused) || count_files() != open_files;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_show),
		TEST(test_size),
		TEST(test_clear),
		TEST(test_refusals),
		TEST(test_no_memory),
		TEST(test_keeper),
	};

	init_memory();
	return cmocka_run_group_tests_name("tools cache", tests, NULL, NULL);
}
