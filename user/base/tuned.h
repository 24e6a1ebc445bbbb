/* SPDX-License-Identifier: MIT */
/*
 * When clients save a model that its engine tunes as it is executed.
 */
#ifndef NN_BASE_TUNED_H
#define NN_BASE_TUNED_H

/* Executions after which an engine has tuned a model for certain, if it ever does. */
#define TUNED_EXECUTIONS 150

#endif /* NN_BASE_TUNED_H */
