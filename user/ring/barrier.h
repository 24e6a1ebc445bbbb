/* SPDX-License-Identifier: MIT */
/*
 * A barrier between two accesses of one end of a ring: what it writes, and what it then reads from
 * the other end.
 */
#ifndef NN_RING_BARRIER_H
#define NN_RING_BARRIER_H

/* Orders all accesses. Compilers choose the instruction that they consider cheapest. */
static inline void nn_ring_barrier(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif /* NN_RING_BARRIER_H */
