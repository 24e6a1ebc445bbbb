/* SPDX-License-Identifier: MIT */
/*
 * Sending and receiving as ring.c does it, in a ring of one line: both ends sleep where they must.
 * Checked: every packet arrives as it was sent, and nobody sleeps for good. Stores sit in store
 * buffers, one for each word, and reach memory in any order; a futex's look at its word is a load
 * like any other. WITHOUT_* takes one step out; scripts/check-models sees each of them missed.
 */

#define PACKETS 3
#define FREE 0
#define PACKET 1	/* NNACCEL_WAIT_PACKET */
#define SPACE 2		/* NNACCEL_WAIT_SPACE */

/* Memory, and what has not got there yet. */
byte payload, sequence, consumed, tx_waiting, rx_waiting;
byte b_payload, b_sequence, b_consumed, b_tx_waiting, b_rx_waiting;
bool p_payload, p_sequence, p_consumed, p_tx_waiting, p_rx_waiting;

/* Who sleeps in the kernel. */
bool tx_asleep, rx_asleep;

#define STORE(word, value) \
	atomic { !p_##word -> b_##word = value; p_##word = true }
#define FLUSH(word) \
	atomic { p_##word -> word = b_##word; p_##word = false }
#define DRAINED(word) (!p_##word)

active proctype store_buffers()
{
end:	do
	:: FLUSH(payload)
	:: FLUSH(sequence)
	:: FLUSH(consumed)
	:: FLUSH(tx_waiting)
	:: FLUSH(rx_waiting)
	od
}

/* FUTEX_WAIT: sleeps while the word has the value. */
#define FUTEX_WAIT(word, value, asleep) \
	atomic { if :: word == value -> asleep = true :: else fi }; \
	!asleep

#ifdef WITHOUT_PACKET_COMPARE
#define SLEEP_FOR_PACKET(value) rx_asleep = true; !rx_asleep
#else
#define SLEEP_FOR_PACKET(value) FUTEX_WAIT(sequence, value, rx_asleep)
#endif
#ifdef WITHOUT_ROOM_COMPARE
#define SLEEP_FOR_ROOM(value) tx_asleep = true; !tx_asleep
#else
#define SLEEP_FOR_ROOM(value) FUTEX_WAIT(consumed, value, tx_asleep)
#endif

active proctype sender()
{
	byte i, seen;

	for (i : 1 .. PACKETS) {
		/* nn_ring_send(): room? */
		do
		:: seen = consumed;
#ifdef WITHOUT_ROOM_CHECK
		   break
#endif
		   if
		   :: seen == i - 1 -> break
		   :: else
		   fi;
		   STORE(tx_waiting, SPACE);
#ifndef WITHOUT_ROOM_BARRIER
		   DRAINED(tx_waiting);
#endif
		   SLEEP_FOR_ROOM(seen);
		   STORE(tx_waiting, FREE)
		od;
		/* write_packet() */
		STORE(payload, i);
#ifndef WITHOUT_RELEASE
		DRAINED(payload);
#endif
		STORE(sequence, i);
		/* look_for_sleeper() */
#ifndef WITHOUT_SEND_BARRIER
		DRAINED(sequence);
#endif
#ifndef WITHOUT_SEND_LOOK
		if
		:: rx_waiting == PACKET -> rx_asleep = false
		:: else
		fi
#endif
	}
}

active proctype receiver()
{
	byte i;
	bool owes;

	for (i : 1 .. PACKETS) {
		/* nn_ring_receive() */
		do
		:: sequence == i -> break
		:: else ->
		   if
		   :: owes ->
#ifndef WITHOUT_FREE_BARRIER
			DRAINED(consumed);
#endif
#ifndef WITHOUT_FREE_LOOK
			if
			:: tx_waiting == SPACE -> tx_asleep = false
			:: else
			fi;
#endif
			owes = false
		   :: else
		   fi;
		   STORE(rx_waiting, PACKET);
#ifndef WITHOUT_SLEEP_BARRIER
		   DRAINED(rx_waiting);
#endif
		   SLEEP_FOR_PACKET(i - 1);
		   STORE(rx_waiting, FREE)
		od;
		assert(payload == i);
		STORE(consumed, i);
		owes = true
	}
}
