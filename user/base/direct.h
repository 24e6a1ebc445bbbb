/* SPDX-License-Identifier: MIT */
/*
 * A connection between a client and an engine, without the kernel module. The client's library
 * replaces the kernel module, and exchanges packets with the engine's kit on two sockets.
 *
 * The first of the two sockets carries commands, in the format of NNACCEL_SESSION_FETCH, and
 * answers. By DIRECT_HELLO on the first socket, the client sends the second socket's descriptor to
 * the engine. The second socket carries the files that hold shared memory. The client sends a file
 * before the command or burst request that uses the file's memory.
 */
#ifndef NN_BASE_DIRECT_H
#define NN_BASE_DIRECT_H

#include <linux/nnaccel.h>

enum direct_kind {
	/*
	 * DIRECT_HELLO is the first packet on the first socket, and carries the second socket's
	 * descriptor. The engine answers with a DIRECT_HELLO packet, whose `error` says whether the
	 * engine accepts the client.
	 */
	DIRECT_HELLO = 1,
	/* DIRECT_GRANT carries a file, in which the grant's memory begins at `offset`. */
	DIRECT_GRANT,
	/*
	 * DIRECT_BURST carries a file that holds the regions of a burst at their offsets. If
	 * `burst` is 0, the file is the client's doorbell.
	 */
	DIRECT_BURST,
	/* DIRECT_SLOT assigns the memory of `grant` to `slot` of `burst`. */
	DIRECT_SLOT,
};

/*
 * A message. DIRECT_HELLO is sent on the first socket, and all other kinds on the second socket.
 * Fields that a message's kind does not use are 0.
 */
struct direct_message {
	__u32 kind;
	__u32 error;		/* 0, or EUSERS if the engine has too many clients */
	__u32 burst;
	__u32 slot;
	struct nnaccel_grant grant;
	__u64 offset;
};

/*
 * An answer to a command; the fields are those of NNACCEL_SESSION_COMMIT. In the packet the payload
 * follows this structure, and the message follows the payload.
 */
struct direct_answer {
	__u64 cookie;
	__u64 device_ns;
	__u32 status;
	__u32 payload_size;
	__u32 message_size;
	__u32 __reserved;
};

/* Size of a socket's buffer in bytes, which is also the maximum size of a packet. */
#define DIRECT_ROOM (1 << 20)

#endif /* NN_BASE_DIRECT_H */
