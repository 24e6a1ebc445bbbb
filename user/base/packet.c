/* SPDX-License-Identifier: MIT */
/*
 * Packets on Unix sockets. A packet may carry a file descriptor.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/packet.h"

/* Memory for a control message with one file descriptor. */
union file_room {
	char buffer[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

bool packet_send(int socket, const void *bytes, size_t size, int file)
{
	union file_room room = { { 0 } };
	struct iovec data = { .iov_base = (void *)bytes, .iov_len = size };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *part;

	if (file >= 0) {
		message.msg_control = room.buffer;
		message.msg_controllen = sizeof(room.buffer);
		part = CMSG_FIRSTHDR(&message);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(sizeof(file));
		memcpy(CMSG_DATA(part), &file, sizeof(file));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

/*
 * Returns the file of a message that has exactly one file. If the message has several files, closes
 * all files and returns -1.
 */
static int take_file(struct msghdr *message)
{
	int files[sizeof(union file_room) / sizeof(int)], file = -1;

	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part;
	     part = CMSG_NXTHDR(message, part)) {
		size_t size = part->cmsg_len - CMSG_LEN(0), count = size / sizeof(files[0]);

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(files, CMSG_DATA(part), size);
		if (count == 1)
			file = files[0];
		for (size_t i = 0; count > 1 && i < count; i++)
			close(files[i]);
	}
	return file;
}

ssize_t packet_receive(int socket, void *bytes, size_t size, int flags, int *file)
{
	union file_room room;
	struct iovec data = { .iov_base = bytes, .iov_len = size };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = file ? room.buffer : NULL,
		.msg_controllen = file ? sizeof(room.buffer) : 0,
	};
	ssize_t n = recvmsg(socket, &message, flags);

	if (file)
		*file = n >= 0 ? take_file(&message) : -1;
	return n;
}
