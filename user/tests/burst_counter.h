/* SPDX-License-Identifier: MIT */
/*
 * Reads counters of this process's contexts and bursts from the fdinfo of their open files.
 */
#ifndef NN_TESTS_BURST_COUNTER_H
#define NN_TESTS_BURST_COUNTER_H

/*
 * Returns the sum of a counter (such as "nnaccel-client-packets") over all bursts of this process;
 * negative if no burst has the counter. Unless fd is NULL, stores the file descriptor of one burst
 * in *fd.
 */
long burst_counter(const char *name, int *fd);

/* Returns the sum of a counter (such as "nnaccel-buffers") over all contexts of this process. */
long context_counter(const char *name);

#endif /* NN_TESTS_BURST_COUNTER_H */
