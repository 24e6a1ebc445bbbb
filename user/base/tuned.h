/* SPDX-License-Identifier: MIT */
/*
 * The schedule by which clients save a model that its engine tunes during executions.
 */
#ifndef NN_BASE_TUNED_H
#define NN_BASE_TUNED_H

/* Executions after which an engine has certainly tuned a model, if it tunes at all. */
#define TUNED_EXECUTIONS 150

#endif /* NN_BASE_TUNED_H */
