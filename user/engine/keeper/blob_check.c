// SPDX-License-Identifier: MIT
/*
 * Checks that the index and the files of plans are complete and match. Plans may change during the
 * check, so a fault of a plan's file is reported only if the index still has the plan at the
 * check's end.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/keeper/blob_check.h"
#include "kit/api/log.h"

/* Maximum number of errors of the database that are reported. */
#define MAX_DAMAGES "16"

struct checked {
	int64_t file;
	uint64_t uid, model_size, data_size;
	uint8_t model_hash[DIGEST_SIZE], data_hash[DIGEST_SIZE];
	const char *wrong;		/* fault of the plan, or NULL */
};

struct blob_check {
	int folder, report;
	struct checked *plans;
	size_t num_plans, room;
	uint64_t faults;
};

/* ---- the index ---- */

static void check_index(struct blob_check *check, sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	int error = sqlite3_prepare_v2(db, "PRAGMA integrity_check(" MAX_DAMAGES ")", -1, &s, NULL);

	while (!error && (error = sqlite3_step(s)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(s, 0);

		error = SQLITE_OK;
		if (text && !strcmp(text, "ok"))
			continue;
		check->faults++;
		dprintf(check->report, "the index: %s\n", text ? text : "damaged");
	}
	sqlite3_finalize(s);
	if (error != SQLITE_DONE) {
		check->faults++;
		dprintf(check->report, "the index: %s\n", sqlite3_errstr(error));
	}
}

static bool make_room(struct blob_check *check)
{
	size_t room = check->room ? 2 * check->room : 64;
	struct checked *plans;

	if (check->num_plans < check->room)
		return true;
	plans = realloc(check->plans, room * sizeof(*plans));
	if (!plans)
		return false;
	check->plans = plans;
	check->room = room;
	return true;
}

static void read_plan(struct checked *plan, sqlite3_stmt *row)
{
	*plan = (struct checked){
		.file = sqlite3_column_int64(row, 0),
		.uid = (uint64_t)sqlite3_column_int64(row, 1),
		.model_size = (uint64_t)sqlite3_column_int64(row, 2),
		.data_size = (uint64_t)sqlite3_column_int64(row, 3),
	};
	if (sqlite3_column_bytes(row, 4) != DIGEST_SIZE ||
	    sqlite3_column_bytes(row, 5) != DIGEST_SIZE) {
		plan->wrong = "its hashes have a wrong length";
		return;
	}
	memcpy(plan->model_hash, sqlite3_column_blob(row, 4), DIGEST_SIZE);
	memcpy(plan->data_hash, sqlite3_column_blob(row, 5), DIGEST_SIZE);
}

/* Reads the list of plans from the index; returns SQLITE_DONE or an error. */
static int read_plans(struct blob_check *check, sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	int error = sqlite3_prepare_v2(db, "SELECT file, uid, model_size, data_size, model_hash, "
				       "data_hash FROM plan ORDER BY file", -1, &s, NULL);

	while (!error && (error = sqlite3_step(s)) == SQLITE_ROW) {
		error = make_room(check) ? SQLITE_OK : SQLITE_NOMEM;
		if (!error)
			read_plan(&check->plans[check->num_plans++], s);
	}
	sqlite3_finalize(s);
	return error;
}

static void check_free(struct blob_check *check)
{
	free(check->plans);
	free(check);
}

struct blob_check *blob_check_begin(struct cache_index *index, int folder, int report)
{
	struct blob_check *check = calloc(1, sizeof(*check));
	sqlite3 *db = cache_index_db(index);
	int error = SQLITE_NOMEM;

	if (check && db) {
		check->folder = folder;
		check->report = report;
		check_index(check, db);
		error = read_plans(check, db);
		if (error == SQLITE_DONE)
			return check;
	}
	log_error("the compilation cache cannot be checked: %s",
		  db ? sqlite3_errstr(error) : "there is no index");
	if (check)
		check_free(check);
	return NULL;
}

/* ---- files ---- */

static const char *check_bytes(const struct checked *plan, int fd)
{
	uint8_t hash[DIGEST_SIZE];

	if (!digest_file(fd, 0, plan->data_size, hash) ||
	    memcmp(hash, plan->data_hash, sizeof(hash)))
		return "its data part is damaged";
	if (!digest_file(fd, plan->data_size, plan->model_size, hash) ||
	    memcmp(hash, plan->model_hash, sizeof(hash)))
		return "its model part is damaged";
	return NULL;
}

static const char *check_file(const struct checked *plan, int folder)
{
	const char *wrong;
	struct stat st;
	uint64_t size;
	char name[24];
	int fd;

	snprintf(name, sizeof(name), "%" PRId64, plan->file);
	fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? "its file does not exist" : "its file cannot be opened";
	size = !fstat(fd, &st) && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	/* In a damaged index, the sizes may have any value, and their sum may overflow. */
	if (!size || plan->model_size > size || plan->data_size != size - plan->model_size)
		wrong = "its file has another size than in the index";
	else
		wrong = check_bytes(plan, fd);
	close(fd);
	return wrong;
}

void blob_check_run(struct blob_check *check)
{
	for (size_t i = 0; i < check->num_plans && check->folder >= 0; i++)
		if (!check->plans[i].wrong)
			check->plans[i].wrong = check_file(&check->plans[i], check->folder);
}

/* ---- the end ---- */

/*
 * Returns 1 if the index has a plan in file `file`, 0 if the index has no such plan, and -1 if the
 * query failed.
 */
static int is_there(sqlite3_stmt *s, int64_t file)
{
	int error;

	sqlite3_reset(s);
	sqlite3_bind_int64(s, 1, file);
	error = sqlite3_step(s);
	return error == SQLITE_ROW ? 1 : error == SQLITE_DONE ? 0 : -1;
}

/* Reports files that have no entry in the index. */
static uint64_t count_strange(const struct blob_check *check, sqlite3_stmt *s)
{
	int fd = openat(check->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	uint64_t count = 0;
	char *end;

	if (!folder) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while ((entry = readdir(folder))) {
		int64_t file = strtoll(entry->d_name, &end, 10);

		if (entry->d_name[0] != '.')
			count += *end || is_there(s, file) == 0;
	}
	closedir(folder);
	return count;
}

void blob_check_end(struct blob_check *check, struct cache_index *index, uint64_t in_flight,
		    uint64_t *plans, uint64_t *faults)
{
	sqlite3 *db = cache_index_db(index);
	sqlite3_stmt *s = NULL;
	uint64_t strange = 0;

	if (db && !sqlite3_prepare_v2(db, "SELECT 1 FROM plan WHERE file = ?1", -1, &s, NULL)) {
		for (size_t i = 0; i < check->num_plans; i++) {
			const struct checked *plan = &check->plans[i];

			if (!plan->wrong || !is_there(s, plan->file))
				continue;
			check->faults++;
			dprintf(check->report, "plan %" PRId64 " of uid %" PRIu64 ": %s\n", plan->file,
				plan->uid, plan->wrong);
		}
		strange = check->folder < 0 ? 0 : count_strange(check, s);
	}
	sqlite3_finalize(s);
	if (strange > in_flight) {
		check->faults++;
		dprintf(check->report, "%" PRIu64 " files have no plan, of which %" PRIu64
			" are being written\n", strange, in_flight);
	}
	*plans = check->num_plans;
	*faults = check->faults;
	check_free(check);
}
