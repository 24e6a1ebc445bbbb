/* SPDX-License-Identifier: MIT */
/*
 * A connection of a client and an engine without the module. The client's library does what the
 * module does, and speaks to the engine's kit by two sockets of packets.
 *
 * The client connects to the engine by the first socket. It carries commands, as
 * NNACCEL_SESSION_FETCH writes them, and answers. The engine sends the second socket with
 * DIRECT_HELLO. It carries memory, which is always sent before the command, or the request of a
 * burst, that uses it.
 */
#ifndef NN_BASE_DIRECT_H
#define NN_BASE_DIRECT_H

#include <linux/nnaccel.h>

enum direct_kind {
	/* The first packet, with the second socket; the engine sends it back with `error`. */
	DIRECT_HELLO = 1,
	/* This message carries the memory of a grant, from `offset` of its file on. */
	DIRECT_GRANT,
	/*
	 * This message carries the regions of a burst, at their offsets. For burst 0 it carries the
	 * doorbell.
	 */
	DIRECT_BURST,
	/* A slot of a burst stands for the grant from now on. */
	DIRECT_SLOT,
};

/* Fields that a kind does not use are 0. */
struct direct_message {
	__u32 kind;
	__u32 error;		/* 0, or EUSERS if the engine has too many clients */
	__u32 burst;
	__u32 slot;
	struct nnaccel_grant grant;
	__u64 offset;
};

/* What NNACCEL_SESSION_COMMIT has. The payload and the message follow. */
struct direct_answer {
	__u64 cookie;
	__u64 device_ns;
	__u32 status;
	__u32 payload_size;
	__u32 message_size;
	__u32 __reserved;
};

/* Bytes that may wait in a socket; the largest packet has this size. */
#define DIRECT_ROOM (1 << 20)

#endif /* NN_BASE_DIRECT_H */
