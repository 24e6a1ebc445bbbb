// SPDX-License-Identifier: MIT
/*
 * The program nnaccel-keeper.
 */
#include <unistd.h>

#include "engine/keeper/main.h"

int main(int argc, char **argv)
{
	/*
	 * The process ends at once, because nothing that a handler of exit() does is needed here.
	 */
	_exit(keeper_main(argc, argv));
}
