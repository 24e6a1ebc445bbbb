/* SPDX-License-Identifier: MIT */
/*
 * The memory models of C and of the Linux kernel, for the model checker spin. The memory model
 * records all stores to each word. A thread's view has, for each word, the oldest store that the
 * thread may still read. A load returns the value of the oldest readable store or of any newer
 * store. A release store contains the view of the storing thread; an acquire load of the store adds
 * this view to the loading thread's view. A full barrier merges the thread's view with the views of
 * all threads that executed a full barrier earlier. Loads and stores of a thread happen in program
 * order, except late_load(), which may happen at any time before late_wait() returns. If a store
 * depends on a condition, other threads see the store only after the condition is evaluated.
 *
 * A model defines THREADS, WORDS and STORES (the maximum number of stores to a word), and includes
 * this file.
 */

#define RELAXED	0
#define ORDERED	1	/* acquire or release */

typedef view {
	byte oldest[WORDS]
}

typedef one_store {
	byte value;
	view knew
}

typedef word {
	byte last;
	one_store stores[STORES]
}

word words[WORDS];
view knows[THREADS];
view all;			/* merged view of all threads that executed a full barrier */
hidden byte at, w;

inline join(to, from)
{
	for (w : 0 .. WORDS - 1) {
		if
		:: to.oldest[w] < from.oldest[w] -> to.oldest[w] = from.oldest[w]
		:: else
		fi
	}
}

inline copy(to, from)
{
	for (w : 0 .. WORDS - 1) {
		to.oldest[w] = from.oldest[w]
	}
}

inline load(thread, name, order, into)
{
	atomic {
		select(at : knows[thread].oldest[name] .. words[name].last);
		knows[thread].oldest[name] = at;
		into = words[name].stores[at].value;
		if
		:: order -> join(knows[thread], words[name].stores[at].knew)
		:: else
		fi;
		at = 0;
		w = 0
	}
}

inline put(thread, name, with, order)
{
	words[name].last++;
	assert(words[name].last < STORES);
	at = words[name].last;
	words[name].stores[at].value = with;
	knows[thread].oldest[name] = at;
	if
	:: order -> copy(words[name].stores[at].knew, knows[thread])
	:: else -> words[name].stores[at].knew.oldest[name] = at
	fi;
	at = 0;
	w = 0
}

/*
 * late_load() begins a late load, the process `late_loads` does the load at any time, and
 * late_wait() waits until the load is done. LATE_THREAD has at most one late load at a time.
 */
#ifdef LATE_THREAD
bool late;
byte late_word, late_value;

active proctype late_loads()
{
end:	do
	:: atomic {
		late ->
		late_value = words[late_word].stores[words[late_word].last].value;
		late = false
	   }
	od
}
#define late_load(name) atomic { late_word = name; late = true }
#define late_wait() !late
#endif

inline store(thread, name, with, order)
{
	atomic { put(thread, name, with, order) }
}

inline barrier(thread)
{
	atomic {
		join(knows[thread], all);
		copy(all, knows[thread]);
		w = 0
	}
}

/*
 * Atomically loads a word's newest value into `into`, and replaces the value by `with`. If `order`
 * is ORDERED, the load is an acquire and the store a release.
 */
inline exchange(thread, name, with, order, into)
{
	atomic {
		into = words[name].stores[words[name].last].value;
		if
		:: order -> join(knows[thread], words[name].stores[words[name].last].knew)
		:: else
		fi;
		put(thread, name, with, order)
	}
}

/* Atomically adds `what` to a word's newest value, and stores the old value in `into`. */
inline add(thread, name, what, order, into)
{
	exchange(thread, name, into + what, order, into)
}

bool locked;
view under_lock;

inline lock(thread)
{
	atomic {
		!locked;
		locked = true;
		join(knows[thread], under_lock);
		w = 0
	}
}

inline unlock(thread)
{
	atomic {
		copy(under_lock, knows[thread]);
		locked = false;
		w = 0
	}
}

/* A sequentially consistent load or store, made with full barriers. */
inline sc_load(thread, name, into)
{
	atomic {
		join(knows[thread], all);
		w = 0
	}
	load(thread, name, ORDERED, into);
	barrier(thread)
}

inline sc_store(thread, name, with)
{
	atomic {
		join(knows[thread], all);
		put(thread, name, with, ORDERED);
		copy(all, knows[thread]);
		w = 0
	}
}

inline sc_add(thread, name, what, into)
{
	atomic {
		join(knows[thread], all);
		into = words[name].stores[words[name].last].value;
		join(knows[thread], words[name].stores[words[name].last].knew);
		put(thread, name, into + what, ORDERED);
		copy(all, knows[thread]);
		w = 0
	}
}
