/* SPDX-License-Identifier: MIT */
/*
 * Tests how the priorities of models affect the CPU weights of workers. If a user has several
 * workers, a worker gets a lower CPU weight while all models of the worker have low priority. The
 * test needs /dev/nnaccel, a running nnacceld and root. The test is skipped if workers have no
 * cgroups.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/nnaccel.h>

#include "tests/hal_fixture.h"
#include "tests/model_samples.h"
#include "tests/workers.h"

/*
 * Reads the path of a process's cgroup (v2) from /proc/PID/cgroup. Returns false if the file has no
 * path of cgroup v2.
 */
static bool cgroup_of(pid_t pid, char *path, size_t size)
{
	char name[64], line[512];
	bool found = false;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
	file = fopen(name, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		found = !strncmp(line, "0::/", 4) && strstr(line, "/worker-");
		if (found)
			snprintf(path, size, "/sys/fs/cgroup%s/cpu.weight", line + 3);
	}
	if (file)
		fclose(file);
	return found;
}

/* Finds the CPU weight file of the user's cgroup, which contains the cgroup of the worker. */
static void user_of(const char *path, char *user)
{
	char *name = strstr(strcpy(user, path), "/user-");

	assert_non_null(name);
	strcpy(name + 1 + strcspn(name + 1, "/"), "/cpu.weight");
}

/* Returns the CPU weight in a file, or 0 if the file does not exist. */
static int weight_of(const char *path)
{
	FILE *file = fopen(path, "re");
	int weight = 0;

	if (!file)
		return 0;
	assert_int_equal(fscanf(file, "%d", &weight), 1);
	fclose(file);
	return weight;
}

/* Waits until the broker has set the CPU weight in a file to the given value. */
static void await_weight(const char *path, int weight)
{
	while (weight_of(path) != weight)
		usleep(10000);
}

static struct nna_prepared_model *prepare(struct nna_device *on, uint32_t priority)
{
	const struct nna_prepare_options options = {
		.size = sizeof(options),
		.priority = priority,
	};
	struct nna_prepared_model *p = NULL;
	struct model_builder b;

	sample_add(&b);
	check(nna_prepare_model(on, &b.model, NULL, &options, &p, &err));
	return p;
}

static void test_weight(void **state)
{
	struct nna_prepared_model *low, *other, *high, *beside;
	struct nna_device *second;
	char path[640], user[640];

	(void)state;
	low = prepare(device, NNA_PRIORITY_LOW);
	if (!cgroup_of(workers_find(), path, sizeof(path))) {
		nna_prepared_model_free(low);
		skip();
	}
	user_of(path, user);
	await_weight(user, 10);
	check(nna_device_open(NULL, &second, &err));
	beside = prepare(second, NNA_PRIORITY_LOW);
	await_weight(path, 10);
	await_weight(user, 10);
	high = prepare(device, NNA_PRIORITY_HIGH);
	await_weight(path, 100);
	await_weight(user, 100);
	other = prepare(device, NNA_PRIORITY_LOW);
	nna_prepared_model_free(high);
	await_weight(path, 10);
	nna_prepared_model_free(low);
	nna_prepared_model_free(other);
	await_weight(path, 100);
	nna_prepared_model_free(beside);
	nna_device_close(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_weight, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
