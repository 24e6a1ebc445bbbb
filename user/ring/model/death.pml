/* SPDX-License-Identifier: MIT */
/*
 * The other end is gone: the kernel marks the burst dead, then lets poll() say so; a watcher wakes
 * whoever sleeps. The kernel wakes no futex. Checked: the waiter always ends. WITHOUT_* takes one
 * step out.
 */

bool dead, hung_up, asleep;
bool sliced;	/* one slice is enough: what was to happen has happened before */

active proctype kernel()
{
	dead = true;	/* the status page first */
	hung_up = true
}

active proctype watcher()
{
	hung_up;
	asleep = false
}

active proctype waiter()
{
	do
#ifndef WITHOUT_STATUS_LOOK
	:: dead -> break
#endif
	:: else ->
		/* The word does not change any more: the futex sleeps. */
		asleep = true;
		if
		:: !asleep
#ifndef WITHOUT_SLICES
		:: timeout && !sliced -> sliced = true; asleep = false
#endif
		fi
	od
}
