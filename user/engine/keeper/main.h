/* SPDX-License-Identifier: MIT */
/* nnaccel-keeper as a function, so that tests can run keepers too. */
#ifndef NN_ENGINE_KEEPER_MAIN_H
#define NN_ENGINE_KEEPER_MAIN_H

/* The arguments are the words of keeper_rows in keeper.h. Returns the exit code. */
int keeper_main(int argc, char **argv);

#endif /* NN_ENGINE_KEEPER_MAIN_H */
