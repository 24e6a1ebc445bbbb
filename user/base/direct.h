/* SPDX-License-Identifier: MIT */
/*
 * A connection of a client and an engine without the module. The client's library takes the place
 * of the kernel module. It exchanges packets with the engine's kit on two sockets.
 *
 * The first socket is the one by which the client connects to the engine. It carries commands, in
 * the format of NNACCEL_SESSION_FETCH, and answers. The client sends the engine the second socket
 * with DIRECT_HELLO. This socket carries files of memory. The client sends a file before the
 * command or burst request that uses the memory.
 */
#ifndef NN_BASE_DIRECT_H
#define NN_BASE_DIRECT_H

#include <linux/nnaccel.h>

enum direct_kind {
	/*
	 * The first packet on the first socket: brings the second socket. The engine answers with
	 * the same packet and `error`.
	 */
	DIRECT_HELLO = 1,
	/* Brings a grant's file. The grant's memory begins at `offset` of the file. */
	DIRECT_GRANT,
	/*
	 * Brings a file with the regions of a burst at their offsets. For burst 0 the file has the
	 * doorbell.
	 */
	DIRECT_BURST,
	/* From now on, `slot` of `burst` stands for `grant`. */
	DIRECT_SLOT,
};

/*
 * A message: DIRECT_HELLO on the first socket, other kinds on the second. Fields that its kind does
 * not use are 0.
 */
struct direct_message {
	__u32 kind;
	__u32 error;		/* 0, or EUSERS if the engine has too many clients */
	__u32 burst;
	__u32 slot;
	struct nnaccel_grant grant;
	__u64 offset;
};

/* An answer, with the fields of NNACCEL_SESSION_COMMIT. The payload and then the message follow. */
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
