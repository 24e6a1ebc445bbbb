// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: large copies from and to user memory, by whichever of two ways this CPU is fast at.
 *
 * copy_from_user() and copy_to_user() are string instructions where the CPU says that it has fast
 * ones. Emulated CPUs say so too, and then take many times longer than for a loop of words. Each
 * way is tried on parts of a context's first large copy, as the kernel does for RAID's checksums.
 */

#include <linux/align.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/uaccess.h>

#include "nnaccel.h"

#define NNACCEL_TRIAL_BYTES	(32UL << 10)
#define NNACCEL_TRIALS		4

/* The loop has to be this many times faster: else the measurement may be wrong. */
#define NNACCEL_TRIAL_FACTOR	2

/* Of each direction; whoever races to find out finds out the same. */
enum nnaccel_copy_way {
	NNACCEL_COPY_UNKNOWN,
	NNACCEL_COPY_STRINGS,
	NNACCEL_COPY_WORDS,
};

static bool nnaccel_copy_strings(void *at, void __user *user, size_t bytes, bool in)
{
	return !(in ? copy_from_user(at, user, bytes) : copy_to_user(user, at, bytes));
}

/*
 * Words of a step: read all, then written all, since a reader and a writer that take turns fight
 * for a place where their addresses are alike.
 */
#define NNACCEL_STEP	8

static bool nnaccel_words_in(u64 *to, const u64 __user *from, size_t n)
{
	u64 w[NNACCEL_STEP];

	if (!user_read_access_begin(from, n * sizeof(*to)))
		return false;
	for (; n; n -= NNACCEL_STEP, to += NNACCEL_STEP, from += NNACCEL_STEP) {
		unsafe_get_user(w[0], from + 0, fault);
		unsafe_get_user(w[1], from + 1, fault);
		unsafe_get_user(w[2], from + 2, fault);
		unsafe_get_user(w[3], from + 3, fault);
		unsafe_get_user(w[4], from + 4, fault);
		unsafe_get_user(w[5], from + 5, fault);
		unsafe_get_user(w[6], from + 6, fault);
		unsafe_get_user(w[7], from + 7, fault);
		barrier();
		to[0] = w[0];
		to[1] = w[1];
		to[2] = w[2];
		to[3] = w[3];
		to[4] = w[4];
		to[5] = w[5];
		to[6] = w[6];
		to[7] = w[7];
	}
	user_read_access_end();
	return true;
fault:
	user_read_access_end();
	return false;
}

static bool nnaccel_words_out(u64 __user *to, const u64 *from, size_t n)
{
	u64 w[NNACCEL_STEP];

	if (!user_write_access_begin(to, n * sizeof(*from)))
		return false;
	for (; n; n -= NNACCEL_STEP, to += NNACCEL_STEP, from += NNACCEL_STEP) {
		w[0] = from[0];
		w[1] = from[1];
		w[2] = from[2];
		w[3] = from[3];
		w[4] = from[4];
		w[5] = from[5];
		w[6] = from[6];
		w[7] = from[7];
		barrier();
		unsafe_put_user(w[0], to + 0, fault);
		unsafe_put_user(w[1], to + 1, fault);
		unsafe_put_user(w[2], to + 2, fault);
		unsafe_put_user(w[3], to + 3, fault);
		unsafe_put_user(w[4], to + 4, fault);
		unsafe_put_user(w[5], to + 5, fault);
		unsafe_put_user(w[6], to + 6, fault);
		unsafe_put_user(w[7], to + 7, fault);
	}
	user_write_access_end();
	return true;
fault:
	user_write_access_end();
	return false;
}

static bool nnaccel_copy_words(void *at, void __user *user, size_t bytes, bool in)
{
	size_t done = ALIGN_DOWN(bytes, NNACCEL_STEP * sizeof(u64)), n = done / sizeof(u64);

	if (!IS_ALIGNED((unsigned long)user, sizeof(u64)))
		return nnaccel_copy_strings(at, user, bytes, in);
	if (n && !(in ? nnaccel_words_in(at, user, n) : nnaccel_words_out(user, at, n)))
		return false;
	return nnaccel_copy_strings(at + done, user + done, bytes - done, in);
}

/* Copies some, by both ways in turn, and takes note of which is faster. */
static bool nnaccel_copy_try(u8 *way, void *at, void __user *user, bool in)
{
	u64 best[2] = { U64_MAX, U64_MAX }, start;
	unsigned int i;
	bool copied;

	for (i = 0; i < 2 * NNACCEL_TRIALS; i++) {
		start = ktime_get_ns();
		copied = i % 2 ? nnaccel_copy_words(at, user, NNACCEL_TRIAL_BYTES, in) :
				 nnaccel_copy_strings(at, user, NNACCEL_TRIAL_BYTES, in);
		if (!copied)
			return false;
		best[i % 2] = min(best[i % 2], ktime_get_ns() - start);
		at += NNACCEL_TRIAL_BYTES;
		user += NNACCEL_TRIAL_BYTES;
	}
	WRITE_ONCE(*way, best[1] * NNACCEL_TRIAL_FACTOR < best[0] ?
		   NNACCEL_COPY_WORDS : NNACCEL_COPY_STRINGS);
	return true;
}

/**
 * nnaccel_user_copy() - Copy between memory of the kernel and user memory
 * @way: what is known of this direction, 0: nothing; belongs to one client, who can see to it that
 *	either way takes long
 * @at: memory of the kernel, aligned to words
 * @user: the user memory
 * @bytes: how much
 * @in: into memory of the kernel
 *
 * Return: whether all of it was copied.
 */
bool nnaccel_user_copy(u8 *way, void *at, void __user *user, size_t bytes, bool in)
{
	const size_t tried = 2 * NNACCEL_TRIALS * NNACCEL_TRIAL_BYTES;

	if (READ_ONCE(*way) == NNACCEL_COPY_UNKNOWN && bytes >= tried) {
		if (!nnaccel_copy_try(way, at, user, in))
			return false;
		at += tried;
		user += tried;
		bytes -= tried;
	}
	if (READ_ONCE(*way) == NNACCEL_COPY_WORDS)
		return nnaccel_copy_words(at, user, bytes, in);
	return nnaccel_copy_strings(at, user, bytes, in);
}
