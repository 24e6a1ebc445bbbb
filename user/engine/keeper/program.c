// SPDX-License-Identifier: MIT
/*
 * The program nnaccel-keeper.
 */
#include <unistd.h>

#include "engine/keeper/main.h"

int main(int argc, char **argv)
{
	/* Nothing of this process is needed that a handler of its exit could do. */
	_exit(keeper_main(argc, argv));
}
