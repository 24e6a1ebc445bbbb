/* SPDX-License-Identifier: MIT */
/*
 * The schedule by which clients save a model that its engine tunes during executions.
 */
#ifndef NN_BASE_TUNED_H
#define NN_BASE_TUNED_H

/* Executions after which an engine has tuned a model for certain, if it ever does. */
#define TUNED_EXECUTIONS 150

#endif /* NN_BASE_TUNED_H */
