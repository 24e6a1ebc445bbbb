/* SPDX-License-Identifier: MIT */
/* Signals that interrupt the calls of a test, and a count of handled signals. */
#ifndef SELFTESTS_SIGNALS_H
#define SELFTESTS_SIGNALS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/** handled - Number of signals handled since the last call of handle() */
extern volatile sig_atomic_t handled;

/** count_signal() - A handler that counts in @handled, and does nothing else. */
void count_signal(int signal);

/** handle() - Installs a handler, with @flags of struct sigaction, and sets @handled to 0. */
bool handle(int signal, void (*handler)(int), int flags);

/** disturb() - Sends SIGUSR1 to a thread, and waits for the handler; false: the call failed. */
bool disturb(pthread_t thread);

#endif
