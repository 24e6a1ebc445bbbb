/* SPDX-License-Identifier: MIT */
/* The test of an engine: groups of tests, and the results of the groups. */
#ifndef NN_TOOLS_ENGINE_TEST_TEST_H
#define NN_TOOLS_ENGINE_TEST_TEST_H

#include "tools/engine_test/shot.h"
#include "tools/engine_test/target.h"

enum outcome { RIGHT, WRONG, REFUSED, CRASHED };

/* A row of the test's report: an operation, or a group of tests. */
struct row {
	char name[48];
	uint32_t counts[4];		/* by enum outcome */
	char reason[REASON];		/* reason why the first vector was wrong or crashed */
};

#define MAX_ROWS 256
#define MAX_KEPT 24
#define MOST_HANGS 3

struct test {
	struct target target;
	/* is_full: run more tests; is_brief: run fewer operations and graphs */
	bool is_full, is_brief;
	uint32_t hangs;			/* number of hanging calls; MOST_HANGS end the test */
	struct nn_device_info info;
	struct row rows[MAX_ROWS];
	uint32_t num_rows;
	/* Vectors that the engine computes correctly, stored for later groups of tests. */
	struct vector *kept[MAX_KEPT];
	uint32_t num_kept;
	struct vector *smallest;	/* smallest vector that failed so far */
	struct ready {
		struct nna_prepared_model *model;
		struct nna_memory *pool;
	} sentinel;	/* prepared model of the first stored vector, until the engine dies */
	/*
	 * Number of prepared models, which also selects the preference and the priority of the next
	 * preparation.
	 */
	uint32_t prepared;
	/* function that is called for each finished row, or NULL */
	void (*progress)(const struct row *row);
};

struct row *test_row(struct test *t, const char *name);

/*
 * Reports a row. Checks whether the sentinel model still executes. If the engine has died, counts a
 * crash, unless the row already has a crash.
 */
void test_end_row(struct test *t, struct row *row);

/* Counts an outcome, and restarts the target after a crash. `v` may be NULL. */
void test_note(struct test *t, struct row *row, enum outcome outcome, const struct vector *v,
	       const char *reason);

/*
 * Prepares a vector's model. Returns REFUSED if the engine neither supports the whole model nor
 * prepares the model. If the result is RIGHT, the caller must call test_release().
 */
enum outcome test_prepare(struct test *t, const struct vector *v, const struct nna_cache *cache,
			  struct ready *ready, char reason[REASON]);
void test_release(struct ready *ready);

/* Returns RIGHT for NN_OK; otherwise WRONG or CRASHED, with a reason. */
enum outcome test_outcome(struct test *t, enum nn_status status, const char *what,
			  const struct nn_error *err, char reason[REASON]);

/* Ends target_guard(). Returns `outcome`, or CRASHED with a reason if the guarded call hung. */
enum outcome test_end_call(struct test *t, const char *what, enum outcome outcome,
			   char reason[REASON]);

/* Prepares a vector's model, executes the model once, and checks the outputs. */
enum outcome test_vector(struct test *t, const struct vector *v, char reason[REASON]);

/* The groups of tests; each group adds rows to the report. */
void group_description(struct test *t);
void group_operations(struct test *t);
void group_graphs(struct test *t);
void group_arguments(struct test *t);
void group_models(struct test *t);
void group_dynamic(struct test *t);
void group_bursts(struct test *t);
void group_domains(struct test *t);
void group_cache(struct test *t);
void group_deadlines(struct test *t);
void group_many_models(struct test *t);
void group_threads(struct test *t);
void group_clients(struct test *t);
void group_memory(struct test *t);
void group_deaths(struct test *t);

#endif /* NN_TOOLS_ENGINE_TEST_TEST_H */
