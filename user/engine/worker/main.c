// SPDX-License-Identifier: MIT
/*
 * The program nnaccel-worker.
 */
#include <stdio.h>
#include <string.h>

#include <nnaccel/device.h>

#include "base/build_id.h"
#include "engine/worker/device.h"
#include "engine/worker/engine.h"
#include "kit/worker/process.h"
#include "plan/plan.h"

/*
 * Prints the identity of this build and CPU, on which saved plans depend. Prints nothing if the
 * program has no build ID that distinguishes builds.
 */
static int identify(void)
{
	struct nn_device_info info;
	char build[BUILD_ID_TEXT];

	if (!build_id(build))
		return 1;
	device_describe(&info);
	/* The device's version contains the build ID and the CPU's features. */
	printf("%s plan %016llx", info.version, (unsigned long long)nn_plan_fingerprint());
	return fflush(stdout) ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], WORKER_IDENTIFY))
		return identify();
	worker_main(&cpu_engine, argc, argv);
}
