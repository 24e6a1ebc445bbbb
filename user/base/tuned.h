/* SPDX-License-Identifier: MIT */
/*
 * When clients save a model that the engine tunes during the model's executions.
 */
#ifndef NN_BASE_TUNED_H
#define NN_BASE_TUNED_H

/* Executions after which an engine has certainly tuned a model, if it tunes at all. */
#define TUNED_EXECUTIONS 150

#endif /* NN_BASE_TUNED_H */
