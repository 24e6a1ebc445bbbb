// SPDX-License-Identifier: MIT
/* Prints the frequency of the CPU's time stamp counter in kHz, for scripts/vm. */
#include <stdio.h>
#include <time.h>

#include <x86intrin.h>

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(void)
{
	double start_ms = now_ms();
	unsigned long long start = __rdtsc();

	nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	printf("%.0f\n", (double)(__rdtsc() - start) / (now_ms() - start_ms));
	return 0;
}
