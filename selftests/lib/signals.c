// SPDX-License-Identifier: MIT
/* Signals that interrupt the calls of a test, and a count of handled signals. */
#include <unistd.h>

#include "signals.h"

volatile sig_atomic_t handled;

void count_signal(int signal)
{
	(void)signal;
	handled++;
}

bool handle(int signal, void (*handler)(int), int flags)
{
	const struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	handled = 0;
	return !sigaction(signal, &action, NULL);
}

bool disturb(pthread_t thread)
{
	int before = handled;

	if (pthread_kill(thread, SIGUSR1))
		return false;
	while (handled == before)
		usleep(1000);
	return true;
}
