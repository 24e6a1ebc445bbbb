/* SPDX-License-Identifier: MIT */
/*
 * Declares the faults of faults.def, and the engine for WRAPS and all faults that follow WRAPS in
 * faults.def.
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

/* Makes nnacceld's engine with one fault, namely WRAPS or a fault after WRAPS. */
void faulty_operations(struct nna_engine *engine, enum fault fault);

#endif /* NN_TESTS_FAULTY_H */
