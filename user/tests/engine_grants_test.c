/* SPDX-License-Identifier: MIT */
/*
 * What becomes of a mapping whose memory is gone: a file stands for the session.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit/grants.h"

/* More than the worker may have of its own. */
#define POOL (UINT64_C(1) << 32)
#define PRIVATE (UINT64_C(1) << 26)

/* Touches a pool that has no memory; the exit code, 0: it was all zeroes, and can be written. */
static int touch(uint32_t prot)
{
	const struct nnaccel_grant grant = { .grant = 0, .prot = prot, .length = POOL };
	const struct rlimit limit = { PRIVATE, PRIVATE };
	struct mapping *mapping;
	struct grants grants;
	volatile char *bytes;

	if (!grants_init(&grants, NULL, memfd_create("session", MFD_CLOEXEC)) ||
	    grants_get(&grants, &grant, &mapping, NULL))
		return 10;
#if !defined(__SANITIZE_ADDRESS__)
	if (setrlimit(RLIMIT_DATA, &limit))
		return 11;
#endif
	(void)limit;
	bytes = mapping->base;
	if (bytes[0] || bytes[POOL - 1])
		return 12;
	if (prot & NNACCEL_PROT_WRITE) {
		bytes[POOL / 2] = 1;
		if (bytes[POOL / 2] != 1)
			return 13;
	}
	return atomic_load(&mapping->broken) ? 0 : 14;
}

/* However large the pool is, and little the worker may have, it goes on. */
static void test_gone_memory(void **state)
{
	static const uint32_t prots[] = { NNACCEL_PROT_READ,
					  NNACCEL_PROT_READ | NNACCEL_PROT_WRITE };
	int status;
	pid_t pid;

	(void)state;
	for (size_t i = 0; i < sizeof(prots) / sizeof(prots[0]); i++) {
		pid = fork();
		if (!pid)
			_exit(touch(prots[i]));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gone_memory),
	};

	return cmocka_run_group_tests_name("engine grants", tests, NULL, NULL);
}
