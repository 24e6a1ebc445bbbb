/* SPDX-License-Identifier: MIT */
/*
 * Memory by the models of C and the kernel, for spin. A word remembers its stores. A thread has a
 * view: for each word the oldest store that it may still read. A load returns this store or any
 * later one. A release store carries the view of its thread, and an acquire load takes it over. A
 * full barrier exchanges views with all threads that had one. A thread's loads and stores are done
 * in program order, except late_load(), which ends at any time before late_wait(). Stores never
 * become visible before a condition on which they depend.
 *
 * A model defines THREADS, WORDS and STORES (maximum per word), and includes this file.
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
view all;			/* joint view of all threads with full barriers */
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
 * A load that ends at any time: late_load() begins it, `late_loads` does it, and it has ended when
 * late_wait() returns. LATE_THREAD has at most one at a time.
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
 * Atomically reads the last store and adds another one, either as acquire and release or relaxed.
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

/* Atomically adds `what` to the value of the last store. */
inline add(thread, name, what, order, into)
{
	exchange(thread, name, into + what, order, into)
}

/* A mutex or spinlock. */
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

/* A sequentially consistent load or store, as full barriers make it. */
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
