/* SPDX-License-Identifier: MIT */
/*
 * The pause of a spinning thread between two reads of the word for which it waits.
 */
#ifndef NN_BASE_SPIN_H
#define NN_BASE_SPIN_H

/*
 * Pauses for some cycles, so that the core's second hardware thread can run. On most cores of arm64
 * "yield" is a no-op; "isb" refills the pipeline, which takes about as long as x86's pause.
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
