/* SPDX-License-Identifier: MIT */
/* The number of executions before clients save a model that the engine tunes during executions. */
#ifndef NN_BASE_TUNED_H
#define NN_BASE_TUNED_H

/* Number of executions after which an engine that tunes models has certainly tuned a model. */
#define TUNED_EXECUTIONS 150

#endif /* NN_BASE_TUNED_H */
