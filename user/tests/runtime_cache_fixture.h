/* SPDX-License-Identifier: MIT */
/*
 * Common functions for tests of the NNAPI's compilation caching: a folder of cache entries, a
 * token, and the library's log.
 */
#ifndef NN_TESTS_RUNTIME_CACHE_FIXTURE_H
#define NN_TESTS_RUNTIME_CACHE_FIXTURE_H

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "runtime_fixture.h"

#define TOKEN_SIZE ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN

enum { MODEL_FILE, DATA_FILE, FILES };

static char dir[] = "/tmp/runtime_cache_test.XXXXXX";
static uint8_t token[TOKEN_SIZE];

/* ---- what is logged ---- */

static char log_text[65536];
static int log_old, log_file;

static inline void log_begin(void)
{
	log_old = dup(STDERR_FILENO);
	log_file = memfd_create("log", MFD_CLOEXEC);
	assert_true(log_old >= 0 && log_file >= 0);
	assert_true(dup2(log_file, STDERR_FILENO) >= 0);
}

static inline void log_end(void)
{
	ssize_t n;

	assert_true(dup2(log_old, STDERR_FILENO) >= 0);
	n = pread(log_file, log_text, sizeof(log_text) - 1, 0);
	assert_true(n >= 0);
	log_text[n] = '\0';
	close(log_file);
	close(log_old);
}

static inline uint32_t count(const char *what)
{
	uint32_t n = 0;

	for (const char *s = log_text; (s = strstr(s, what)); s++)
		n++;
	return n;
}

/*
 * Asserts how many steps of models were prepared from the cache, and how many log lines are
 * warnings.
 */
static inline void assert_logged(uint32_t hits, uint32_t warnings)
{
	if (count("prepared from the cache") != hits || count("warn:") != warnings)
		fail_msg("not %u hits and %u warnings: %s", hits, warnings, log_text);
}

/* ---- files ---- */

struct listing {
	uint32_t count;
	char names[16][NAME_MAX + 1];
};

static inline int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/*
 * Lists the cache files in order: the model file of an entry, its data file, the model file of the
 * next entry, and so on.
 */
static inline struct listing list(void)
{
	DIR *d = opendir(dir);
	struct listing l = { 0 };
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && l.count < 16)
			strcpy(l.names[l.count++], e->d_name);
	closedir(d);
	qsort(l.names, l.count, sizeof(l.names[0]), compare_names);
	return l;
}

static inline void remove_all(void)
{
	struct listing l = list();
	char path[512];

	for (uint32_t i = 0; i < l.count; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, l.names[i]);
		if (unlink(path))
			assert_int_equal(rmdir(path), 0);
	}
}

/* ---- how often the engine saves ---- */

#define SAVE_NS UINT64_C(110000000)	/* time after which a user may save one more entry */
#define SAVES_AT_ONCE 30		/* number of saves allowed at once after a pause */

/* Waits until the engine's limit on saves per time allows `entries` more saves. */
static inline void pace_saves(uint32_t entries)
{
	static uint64_t paid_ns;
	uint64_t now_ns = clock_ns();

	if (!paid_ns)
		paid_ns = now_ns;
	if (paid_ns + SAVES_AT_ONCE * SAVE_NS < now_ns)
		paid_ns = now_ns - SAVES_AT_ONCE * SAVE_NS;
	paid_ns += entries * SAVE_NS;
	if (paid_ns > now_ns)
		usleep((useconds_t)((paid_ns - now_ns) / 1000));
}

/*
 * Sets the cache token, the environment and the folder of cache entries. Call this function before
 * the first call of the library, because the first call reads the environment.
 */
static inline void cache_fixture_init(void)
{
	for (int i = 0; i < TOKEN_SIZE; i++)
		token[i] = (uint8_t)(i * 37 + 1);
	setenv("NNACCEL_LOG", "info", 1);
}

static inline int make_dir(void **state)
{
	(void)state;
	strcpy(dir + sizeof(dir) - sizeof("XXXXXX"), "XXXXXX");
	return !mkdtemp(dir);
}

static inline int remove_dir(void **state)
{
	(void)state;
	remove_all();
	return rmdir(dir);
}

#endif /* NN_TESTS_RUNTIME_CACHE_FIXTURE_H */
