// SPDX-License-Identifier: MIT
/*
 * Telling the service manager, where there is one, that the broker is ready.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "kit/log.h"
#include "kit/notify.h"

void notify_ready(void)
{
	static const char message[] = "READY=1";
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	socklen_t length;
	int fd;

	if (!path || !path[0] || strlen(path) >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, strlen(path));
	length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	/* An abstract name, which begins with a zero byte. */
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || sendto(fd, message, sizeof(message) - 1, MSG_NOSIGNAL,
			     (struct sockaddr *)&address, length) < 0)
		log_warning("the service manager cannot be told: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
}
