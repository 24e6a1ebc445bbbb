/* SPDX-License-Identifier: MIT */
/*
 * A full barrier: the other end of a ring observes this end's earlier write before this end's next
 * read takes place.
 */
#ifndef NN_RING_BARRIER_H
#define NN_RING_BARRIER_H

/* Orders all accesses. The compiler chooses the instruction for the barrier. */
static inline void nn_ring_barrier(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif /* NN_RING_BARRIER_H */
