/* SPDX-License-Identifier: MIT */
/*
 * The barrier between what an end of a ring writes and what it then reads of the other end.
 */
#ifndef NN_RING_BARRIER_H
#define NN_RING_BARRIER_H

/* Orders all accesses. Compilers make it of an instruction that they take for the cheapest. */
static inline void nn_ring_barrier(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif /* NN_RING_BARRIER_H */
