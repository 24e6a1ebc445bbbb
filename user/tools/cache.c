/* SPDX-License-Identifier: MIT */
/*
 * nnaccel cache: shows the contents and the size of the engine's compilation cache, and checks or
 * empties the cache. The command asks the engine's keeper, the process that owns the cache, to do
 * the work. If no keeper runs, the command opens the cache's index itself.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "kit/cache/keeper_message.h"
#include "kit/cache/message.h"
#include "tool.h"

#define DEFAULT_STATE "/var/lib/nnaccel"
#define ALL_USERS CACHE_ALL_USERS

/* Time limit of the wait for the keeper's answer, except to CACHE_CHECK. */
#define KEEPER_PATIENCE_S 30

/* Time limit of the wait for the index, while the engine has locked the index. */
#define BUSY_MS 5000

struct cache {
	const char *state;		/* the folder */
	sqlite3 *db;
	bool json;
	uint64_t uid;			/* user whose entries `clear` removes, or ALL_USERS */
	bool help;
};

/* ---- the keeper ---- */

/*
 * Sends a request to the engine's keeper, because only the keeper may use the index while a keeper
 * runs. Returns false if no keeper runs. Sets *file to the file descriptor that came with the
 * answer, which the caller closes, or to -1.
 */
static bool ask_keeper(const struct cache *c, const struct message *request,
		       struct message *answer, int *file, int *status)
{
	const struct timeval patience = { .tv_sec = KEEPER_PATIENCE_S };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t size = sizeof(address.sun_path);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	*file = -1;
	*status = TOOL_OK;
	if (fd < 0)
		return false;
	if (snprintf(address.sun_path, size, "%s/" KEEPER_SOCKET, c->state) >= (int)size ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return false;
	}
	/* Set no time limit for a check, which reads all plans from the disk. */
	if (request->kind != CACHE_CHECK)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (send(fd, request, sizeof(*request), MSG_NOSIGNAL) != sizeof(*request) ||
	    message_receive(fd, KEEPER_ANSWERS, MSG_CMSG_CLOEXEC, answer, file) <= 0)
		*status = tool_fail("cache", "the engine's keeper does not answer");
	else if (answer->kind != CACHE_YES)
		*status = tool_fail("cache", "the engine's keeper cannot do it: see its log");
	close(fd);
	return true;
}

/* ---- the index ---- */

static int open_index(struct cache *c, bool write)
{
	char path[PATH_MAX];
	int error;

	snprintf(path, sizeof(path), "%s/index.db", c->state);
	if (access(path, write ? R_OK | W_OK : R_OK))
		return tool_fail("cache", "%s: %s%s", path, strerror(errno),
				 errno == EACCES ? " (only root may look)" :
				 errno == ENOENT ? " (has an nnacceld run with this folder?)" : "");
	error = sqlite3_open_v2(path, &c->db, write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY,
				NULL);
	if (error)
		return tool_fail("cache", "%s: %s", path, sqlite3_errstr(error));
	sqlite3_busy_timeout(c->db, BUSY_MS);
	return TOOL_OK;
}

static int fail_index(const struct cache *c)
{
	return tool_fail("cache", "%s/index.db: %s", c->state, sqlite3_errmsg(c->db));
}

/* ---- show ---- */

struct report {
	struct cache_report head;
	struct cache_report_user *users;
	uint64_t count;
};

static int read_report(struct report *r, int file, uint64_t count)
{
	struct stat st;
	size_t size;

	if (fstat(file, &st) || (uint64_t)st.st_size < sizeof(r->head) ||
	    ((uint64_t)st.st_size - sizeof(r->head)) / sizeof(*r->users) != count)
		return tool_fail("cache", "the engine's keeper is of another build");
	size = count * sizeof(*r->users);
	r->users = malloc(size + 1);
	if (!r->users)
		return tool_fail("cache", "out of memory");
	r->count = count;
	if (pread(file, &r->head, sizeof(r->head), 0) != sizeof(r->head) ||
	    pread(file, r->users, size, sizeof(r->head)) != (ssize_t)size)
		return tool_fail("cache", "the keeper's report: %s", strerror(errno));
	r->head.version[sizeof(r->head.version) - 1] = '\0';
	return TOOL_OK;
}

static bool add_user(struct report *r, sqlite3_stmt *row)
{
	struct cache_report_user *users = realloc(r->users, (r->count + 1) * sizeof(*users));

	if (!users)
		return false;
	users[r->count++] = (struct cache_report_user){
		.uid = (uint64_t)sqlite3_column_int64(row, 0),
		.tokens = (uint64_t)sqlite3_column_int64(row, 1),
		.hashes = (uint64_t)sqlite3_column_int64(row, 2),
		.plans = (uint64_t)sqlite3_column_int64(row, 3),
		.entries = (uint64_t)sqlite3_column_int64(row, 4),
		.bytes = (uint64_t)sqlite3_column_int64(row, 5),
	};
	r->users = users;
	return true;
}

/* Makes the report on the cache from the index itself, without a keeper. */
static int query_report(const struct cache *c, struct report *r)
{
	sqlite3_stmt *s = NULL;
	int error = sqlite3_prepare_v2(c->db, "SELECT value FROM meta WHERE key = 'version'", -1, &s,
				       NULL);

	if (!error && sqlite3_step(s) == SQLITE_ROW)
		snprintf(r->head.version, sizeof(r->head.version), "%s",
			 (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	s = NULL;
	if (!error)
		error = sqlite3_prepare_v2(c->db, CACHE_REPORT_SQL, -1, &s, NULL);
	while (!error && (error = sqlite3_step(s)) == SQLITE_ROW)
		error = add_user(r, s) ? SQLITE_OK : SQLITE_NOMEM;
	sqlite3_finalize(s);
	return error == SQLITE_DONE ? TOOL_OK : fail_index(c);
}

static void print_json(const struct cache *c, const struct report *r)
{
	fputs("{\"state\": ", stdout);
	tool_json_string(c->state);
	fputs(", \"version\": ", stdout);
	if (r->head.version[0])
		tool_json_string(r->head.version);
	else
		fputs("null", stdout);
	fputs(", \"users\": [", stdout);
	for (uint64_t i = 0; i < r->count; i++)
		printf("%s{\"uid\": %" PRIu64 ", \"tokens\": %" PRIu64 ", \"hashes\": %" PRIu64
		       ", \"plans\": %" PRIu64 ", \"entries\": %" PRIu64 ", \"plan_bytes\": %" PRIu64
		       "}", i ? ", " : "", r->users[i].uid, r->users[i].tokens, r->users[i].hashes,
		       r->users[i].plans, r->users[i].entries, r->users[i].bytes);
	puts("]}");
}

static void print_table(const struct report *r)
{
	if (r->head.version[0])
		printf("made by %s\n", r->head.version);
	printf("%10s %8s %8s %8s %8s %14s\n", "user", "tokens", "hashes", "plans", "entries",
	       "bytes");
	for (uint64_t i = 0; i < r->count; i++)
		printf("%10" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %14" PRIu64
		       "\n", r->users[i].uid, r->users[i].tokens, r->users[i].hashes,
		       r->users[i].plans, r->users[i].entries, r->users[i].bytes);
}

static int show(struct cache *c)
{
	const struct message request = { .kind = CACHE_SHOW };
	struct report r = { .users = NULL };
	struct message answer;
	int status, file;

	if (!ask_keeper(c, &request, &answer, &file, &status)) {
		status = open_index(c, false);
		if (!status)
			status = query_report(c, &r);
	} else if (!status) {
		status = read_report(&r, file, answer.model_size);
	}
	if (file >= 0)
		close(file);
	if (!status && c->json)
		print_json(c, &r);
	else if (!status)
		print_table(&r);
	free(r.users);
	return status;
}

/* ---- size ---- */

/* Returns the total size of the files in a folder and in the folder's subfolder of plans. */
static uint64_t folder_size(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	uint64_t size = 0;
	struct stat st;

	while (folder && (entry = readdir(folder))) {
		if (!fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			size += (uint64_t)st.st_size;
	}
	if (folder)
		closedir(folder);
	return size;
}

static int show_size(struct cache *c)
{
	char plans[PATH_MAX];
	uint64_t index_size, plan_size;

	snprintf(plans, sizeof(plans), "%s/plans", c->state);
	if (access(c->state, R_OK | X_OK))
		return tool_fail("cache", "%s: %s", c->state, strerror(errno));
	index_size = folder_size(c->state);
	plan_size = folder_size(plans);
	printf(c->json ? "{\"index_bytes\": %" PRIu64 ", \"plan_bytes\": %" PRIu64 "}\n" :
	       "%" PRIu64 " bytes of the index, %" PRIu64 " bytes of plans\n", index_size, plan_size);
	return TOOL_OK;
}

/* ---- check ---- */

static void print_faults(const struct cache *c, FILE *lines, const struct message *answer)
{
	const char *separator = "";
	char line[256];

	if (c->json)
		printf("{\"plans\": %" PRIu64 ", \"faults\": [", answer->model_size);
	while (fgets(line, sizeof(line), lines)) {
		line[strcspn(line, "\n")] = '\0';
		if (c->json) {
			fputs(separator, stdout);
			tool_json_string(line);
			separator = ", ";
		} else {
			puts(line);
		}
	}
	if (c->json)
		puts("]}");
	else
		printf("%" PRIu64 " plans, %" PRIu64 " faults\n", answer->model_size,
		       answer->data_size);
}

static int check(struct cache *c)
{
	const struct message request = { .kind = CACHE_CHECK };
	struct message answer;
	int status, file;
	FILE *lines;

	if (!ask_keeper(c, &request, &answer, &file, &status))
		return access(c->state, X_OK) && errno == EACCES ?
		       tool_fail("cache", "%s: %s (only root may look)", c->state, strerror(errno)) :
		       tool_fail("cache", "check needs a running nnacceld whose --state is %s; "
				 "start it, or name its folder by --state", c->state);
	if (status || file < 0) {
		if (file >= 0)
			close(file);
		return status ? status : tool_fail("cache", "the engine's keeper is of another build");
	}
	lseek(file, 0, SEEK_SET);
	lines = fdopen(file, "r");
	if (!lines) {
		close(file);
		return tool_fail("cache", "%s", strerror(errno));
	}
	print_faults(c, lines, &answer);
	fclose(lines);
	return answer.data_size ? TOOL_FAILED : TOOL_OK;
}

/* ---- clear ---- */

static bool is_known(const struct cache *c, const char *file)
{
	sqlite3_stmt *s = NULL;
	bool known = true;

	if (!sqlite3_prepare_v2(c->db, "SELECT 1 FROM plan WHERE file = ?1", -1, &s, NULL)) {
		sqlite3_bind_int64(s, 1, strtoll(file, NULL, 10));
		known = sqlite3_step(s) != SQLITE_DONE;
	}
	sqlite3_finalize(s);
	return known;
}

/*
 * Removes files that are no longer in the index. Workers that have mapped a removed file can still
 * use the file.
 */
static void remove_files(const struct cache *c)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/plans", c->state);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		if (entry->d_name[0] != '.' && !is_known(c, entry->d_name))
			unlinkat(dirfd(folder), entry->d_name, 0);
	}
	if (folder)
		closedir(folder);
}

static int say_cleared(const struct cache *c, uint64_t count)
{
	printf(c->json ? "{\"cleared\": %" PRIu64 "}\n" : "%" PRIu64 " entries cleared\n", count);
	return TOOL_OK;
}

static int clear_index(struct cache *c)
{
	int before, error;
	char *sql;

	if (c->uid == ALL_USERS)
		sql = sqlite3_mprintf("BEGIN IMMEDIATE; DELETE FROM hash WHERE 1; "
				      "DELETE FROM plan WHERE 1; COMMIT");
	else
		sql = sqlite3_mprintf("BEGIN IMMEDIATE; DELETE FROM hash WHERE uid = %lld; "
				      "DELETE FROM plan WHERE uid = %lld; COMMIT",
				      (long long)c->uid, (long long)c->uid);
	if (!sql)
		return tool_fail("cache", "out of memory");
	before = sqlite3_total_changes(c->db);
	error = sqlite3_exec(c->db, sql, NULL, NULL, NULL);
	sqlite3_free(sql);
	if (error)
		return fail_index(c);
	before = sqlite3_total_changes(c->db) - before;
	remove_files(c);
	return say_cleared(c, (uint64_t)before);
}

static int clear(struct cache *c)
{
	const struct message request = { .kind = CACHE_CLEAR, .uid = c->uid };
	struct message answer;
	int status, file;

	if (!ask_keeper(c, &request, &answer, &file, &status)) {
		status = open_index(c, true);
		return status ? status : clear_index(c);
	}
	if (file >= 0)
		close(file);
	return status ? status : say_cleared(c, answer.model_size + answer.data_size);
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int (*run)(struct cache *c);
	bool has_user;
} actions[] = {
	{ "show", show, false },
	{ "size", show_size, false },
	{ "check", check, false },
	{ "clear", clear, true },
};

static int run(struct cache *c, const char *name)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		int status;

		if (strcmp(actions[i].name, name))
			continue;
		if (c->uid != ALL_USERS && !actions[i].has_user)
			return tool_usage("cache", "--uid is only for the action clear");
		status = actions[i].run(c);
		sqlite3_close(c->db);
		return status;
	}
	return tool_usage("cache", "no action '%s' (there are show, size, check, clear)", name);
}

int tool_cache(int argc, char **argv)
{
	static const struct option_row options[] = {
		{ "json", NULL, "JSON instead of text", OPTION_FLAG, OPTION_AT(struct cache, json) },
		{ "uid", "UID", "clear entries of this user only", OPTION_UINT64,
		  OPTION_AT(struct cache, uid), .max = UINT32_MAX },
		{ "state", "FOLDER", "nnacceld's state folder (default " DEFAULT_STATE ")", OPTION_TEXT,
		  OPTION_AT(struct cache, state) },
		{ "help", NULL, "print this help", OPTION_STOP, OPTION_AT(struct cache, help) },
		{ 0 },
	};
	static const struct tool_command command = {
		.name = "cache",
		.about = "cache [OPTION]... [show|size|check|clear]\n\n"
		"What the engine's compilation cache holds of each user: hashes of what it saved\n"
		"for NNAPI's cache files, and plans that it keeps itself. For root.\n\n"
		"  show            tokens, hashes, plans and entries of engines' own stores of each\n"
		"                  user; the default\n"
		"  size            bytes of the index and of the plans\n"
		"  check           whether index and plans are whole; 1: they are not\n"
		"  clear           forgets all; with --uid what one user has\n",
		.options = options,
		.help = offsetof(struct cache, help),
		.has_action = true,
	};
	struct cache c = { .state = DEFAULT_STATE, .uid = ALL_USERS };
	const char *action = NULL;
	int status = tool_options(&command, argc, argv, &c, &action);

	return status == TOOL_GO_ON ? run(&c, action ? action : "show") : status;
}
