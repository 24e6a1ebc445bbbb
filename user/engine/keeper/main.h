/* SPDX-License-Identifier: MIT */
/* nnaccel-keeper as a function, so that tests can also run keepers. */
#ifndef NN_ENGINE_KEEPER_MAIN_H
#define NN_ENGINE_KEEPER_MAIN_H

/*
 * Runs the keeper and returns its exit code. The arguments are the options in keeper_rows of
 * keeper.h.
 */
int keeper_main(int argc, char **argv);

#endif /* NN_ENGINE_KEEPER_MAIN_H */
