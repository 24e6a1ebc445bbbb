/* SPDX-License-Identifier: MIT */
/*
 * Counters of this process's contexts and bursts, from the fdinfo of the open files of both.
 */
#ifndef NN_TESTS_BURST_COUNTER_H
#define NN_TESTS_BURST_COUNTER_H

/*
 * Returns the sum of a counter ("nnaccel-client-packets") over all bursts of this process; negative
 * if there is no such counter. Unless fd is NULL, stores the file descriptor of one of the bursts
 * in *fd.
 */
long burst_counter(const char *name, int *fd);

/* Returns the sum of a counter ("nnaccel-buffers") over all contexts of this process. */
long context_counter(const char *name);

#endif /* NN_TESTS_BURST_COUNTER_H */
