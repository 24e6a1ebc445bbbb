// SPDX-License-Identifier: MIT
/* Reports to the service manager, if one runs, by the protocol of sd_notify(3). */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "kit/api/log.h"
#include "kit/broker/notify.h"

static void notify(const char *message)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	socklen_t length;
	int fd;

	if (!path || !path[0] || strlen(path) >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, strlen(path));
	length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	/* The name of an abstract socket begins with a zero byte. */
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || sendto(fd, message, strlen(message), MSG_NOSIGNAL | MSG_DONTWAIT,
			     (struct sockaddr *)&address, length) < 0)
		log_warning("the service manager cannot be told %s: %s", message, strerror(errno));
	if (fd >= 0)
		close(fd);
}

void notify_ready(void)
{
	notify("READY=1");
}

/* Returns the number in an environment variable, or 0 if the variable has no number. */
static uint64_t number_of(const char *name)
{
	const char *text = getenv(name);
	unsigned long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return 0;
	errno = 0;
	value = strtoul(text, &end, 10);
	return errno || *end ? 0 : value;
}

/* Returns the watchdog's interval in ms; 0 if the service manager does not watch this process. */
static uint64_t interval_ms(void)
{
	uint64_t pid = number_of("WATCHDOG_PID"), us = number_of("WATCHDOG_USEC");

	if (!us || (getenv("WATCHDOG_PID") && pid != (uint64_t)getpid()))
		return 0;
	us /= 2000;
	return us ? us : 1;
}

int notify_alive(int timeout_ms)
{
	static uint64_t next_ms; /* time of the next WATCHDOG=1; 0 before the first WATCHDOG=1 */
	uint64_t interval = interval_ms(), now, left;

	if (!interval)
		return timeout_ms;
	now = clock_ns() / 1000000;
	if (now >= next_ms) {
		notify("WATCHDOG=1");
		next_ms = now + interval;
	}
	left = next_ms - now < INT_MAX ? next_ms - now : INT_MAX;
	return timeout_ms < 0 || (uint64_t)timeout_ms > left ? (int)left : timeout_ms;
}
