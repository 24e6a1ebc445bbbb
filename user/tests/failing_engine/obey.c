/* SPDX-License-Identifier: MIT */
/*
 * Makes allocations fail in tests/failing/nnacceld, if the file FAILING_FILE demands failures for
 * the process: broker, keeper or worker.
 */
#include <string.h>

#include "kit/cache/keeper_message.h"
#include "kit/worker/worker.h"
#include "tests/failing/failing.h"

__attribute__((constructor)) static void obey(int argc, char **argv)
{
	if (argc && !strcmp(argv[0], KEEPER_NAME))
		failing_obey(FAILING_KEEPER, FAILING_FILE);
	else if (argc && !strcmp(argv[0], WORKER_NAME))
		failing_obey(FAILING_WORKER, FAILING_FILE);
	else
		failing_obey(FAILING_BROKER, FAILING_FILE);
}
