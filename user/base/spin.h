/* SPDX-License-Identifier: MIT */
/*
 * What a thread does between two looks at a word that it spins on.
 */
#ifndef NN_BASE_SPIN_H
#define NN_BASE_SPIN_H

/*
 * Lets some cycles pass and leaves the core to its other thread. arm64's yield is a no-op on most
 * cores; isb refills the pipeline, which takes about as long as x86's pause.
 */
static inline void spin_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" : : : "memory");
#endif
}

#endif /* NN_BASE_SPIN_H */
