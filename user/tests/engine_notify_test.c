/* SPDX-License-Identifier: MIT */
/* Tests the notifications to the service manager, whose socket the test imitates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit/broker/notify.h"

static int manager = -1;

/*
 * Binds the service manager's socket to an abstract name, and puts the name into the environment.
 */
static int open_manager(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char name[64];
	int length;

	(void)state;
	length = snprintf(name, sizeof(name), "@nnaccel-notify-test-%d", (int)getpid());
	memcpy(address.sun_path, name, (size_t)length);
	address.sun_path[0] = '\0';
	manager = socket(AF_UNIX, SOCK_DGRAM, 0);
	return bind(manager, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length)) ||
	       setenv("NOTIFY_SOCKET", name, 1);
}

static int close_manager(void **state)
{
	(void)state;
	return close(manager);
}

/* Returns the oldest message to the service manager, or "". */
static const char *message(void)
{
	static char text[64];
	ssize_t n = recv(manager, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void watch(const char *us, long pid)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", pid);
	setenv("WATCHDOG_USEC", us, 1);
	setenv("WATCHDOG_PID", text, 1);
}

static void test_ready(void **state)
{
	(void)state;
	notify_ready();
	assert_string_equal(message(), "READY=1");
	assert_string_equal(message(), "");
}

static void test_not_watched(void **state)
{
	static const char *const wrong[] = { "", "0", "x", "-1", "5x" };

	(void)state;
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	assert_int_equal(notify_alive(-1), -1);
	assert_int_equal(notify_alive(7), 7);
	watch("1000000", (long)getpid() + 1);
	assert_int_equal(notify_alive(-1), -1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		watch(wrong[i], getpid());
		assert_int_equal(notify_alive(-1), -1);
	}
	assert_string_equal(message(), "");
}

/*
 * A watchdog with an interval of an hour is notified at most every half hour. If the function is
 * called twice in a row, the second call sends nothing.
 */
static void test_watched(void **state)
{
	int wait;

	(void)state;
	watch("3600000000", getpid());
	wait = notify_alive(-1);
	assert_string_equal(message(), "WATCHDOG=1");
	assert_int_equal(wait, 1800000);
	wait = notify_alive(-1);
	assert_true(wait > 0 && wait <= 1800000);
	assert_int_equal(notify_alive(5), 5);
	assert_string_equal(message(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ready),
		cmocka_unit_test(test_not_watched),
		cmocka_unit_test(test_watched),
	};

	return cmocka_run_group_tests(tests, open_manager, close_manager);
}
