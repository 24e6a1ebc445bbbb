/* SPDX-License-Identifier: MIT */
/*
 * nnacceld's engine: plans on the CPU, and plug-ins.
 */
#ifndef NN_ENGINE_ENGINE_H
#define NN_ENGINE_ENGINE_H

#include <nnaccel/engine.h>

extern const struct nna_engine cpu_engine;

#endif /* NN_ENGINE_ENGINE_H */
