// SPDX-License-Identifier: MIT
/*
 * The program nnaccel-keeper.
 */
#include <unistd.h>

#include "engine/keeper/main.h"

int main(int argc, char **argv)
{
	/*
	 * End the process at once, without the handlers of exit(), which the keeper does not need.
	 */
	_exit(keeper_main(argc, argv));
}
