/* SPDX-License-Identifier: MIT */
/*
 * A barrier that orders a ring end's write before the end's next read of a word that the other end
 * writes.
 */
#ifndef NN_RING_BARRIER_H
#define NN_RING_BARRIER_H

/* Orders all accesses. The compiler chooses the instruction of the barrier. */
static inline void nn_ring_barrier(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif /* NN_RING_BARRIER_H */
