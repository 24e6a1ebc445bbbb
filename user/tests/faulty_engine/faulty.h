/* SPDX-License-Identifier: MIT */
/*
 * Declares the faults of faults.def, and the engine with one of the faults from WRAPS on.
 */
#ifndef NN_TESTS_FAULTY_H
#define NN_TESTS_FAULTY_H

#include <nnaccel/engine.h>

enum fault {
	NONE,
#define FAULT(name, group, text) name,
#include "tests/faulty_engine/faults.def"
#undef FAULT
	NUM_FAULTS,
};

/*
 * Makes nnacceld's engine with the fault `fault`, which must be WRAPS or come after WRAPS in
 * faults.def.
 */
void faulty_operations(struct nna_engine *engine, enum fault fault);

#endif /* NN_TESTS_FAULTY_H */
