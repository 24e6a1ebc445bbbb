/* SPDX-License-Identifier: MIT */
/*
 * A burst that goes idle while its client sends: its thread parks it and ends, and the context's
 * listener must find the packet. Checked: the packet is always served. Store buffers as in
 * packet.pml. WITHOUT_* takes one step out.
 */

bool sequence, waiting;
bool b_sequence, b_waiting, p_sequence, p_waiting;
byte doorbell;		/* changed by locked instructions only: never in a buffer */
bool asleep;		/* the listener, in the kernel */
bool locked;		/* the listener's list of parked bursts */
bool listed;
bool served;

#define STORE(word, value) \
	atomic { !p_##word -> b_##word = value; p_##word = true }
#define FLUSH(word) \
	atomic { p_##word -> word = b_##word; p_##word = false }
#define DRAINED(word) (!p_##word)
#define LOCK atomic { !locked -> locked = true }
#define UNLOCK locked = false

active proctype store_buffers()
{
end:	do
	:: FLUSH(sequence)
	:: FLUSH(waiting)
	od
}

active proctype client()
{
	STORE(sequence, true);
#ifndef WITHOUT_SEND_BARRIER
	DRAINED(sequence);
#endif
	if
	:: waiting ->
		/* A locked instruction drains what was stored before. */
		DRAINED(sequence);
#ifndef WITHOUT_RING
		doorbell++;
#endif
		asleep = false
	:: else
	fi;
	/* The result arrives. */
	served
}

/* The burst's own thread: nothing came for a while. */
active proctype thread()
{
#ifndef WITHOUT_LOCK
	LOCK;
#endif
	/* nn_ring_park() */
	STORE(waiting, true);
#ifndef WITHOUT_PARK_BARRIER
	DRAINED(waiting);
#endif
#ifndef WITHOUT_PARK_LOOK
	if
	:: sequence -> STORE(waiting, false); served = true
	:: else -> listed = true
	fi;
#else
	listed = true;
#endif
#ifndef WITHOUT_LOCK
	UNLOCK
#else
	skip
#endif
}

active proctype listener()
{
	byte seen;

end:	do
	::
#ifndef WITHOUT_SEEN_FIRST
	   seen = doorbell;
#endif
	   LOCK;
#ifndef WITHOUT_SCAN
	   if
	   :: listed && sequence -> listed = false; served = true
	   :: else
	   fi;
#endif
	   UNLOCK;
#ifdef WITHOUT_SEEN_FIRST
	   seen = doorbell;
#endif
#ifndef WITHOUT_DOORBELL_COMPARE
	   atomic { if :: doorbell == seen -> asleep = true :: else fi };
#else
	   asleep = true;
#endif
endsleep:  !asleep
	od
}
