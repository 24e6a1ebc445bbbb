// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: events. An event is the end of an execution, for pollers of its file and for commands
 * that depend on it. It happens once. It holds no references, so it keeps nothing of the execution
 * alive.
 */

#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "command.h"
#include "submit.h"

/**
 * struct nnaccel_event - The end of an execution
 * @refs: references of the submission and of the commands that wait for it
 * @wait: pollers
 * @lock: protects the fields below; no lock is taken inside of it except those of wait queues
 * @happened: the event has happened; pollers read it without the lock
 * @failed: the execution has no answer, or no successful one; constant after @happened
 * @fenced: a hardware fence will end the execution; pollers read it without the lock
 * @waits: struct nnaccel_async_wait of commands that wait for it; empty after @happened
 */
struct nnaccel_event {
	struct kref refs;
	wait_queue_head_t wait;
	spinlock_t lock;	/* see above */
	bool happened;
	bool failed;
	bool fenced;
	struct list_head waits;
};

/**
 * nnaccel_event_create() - Makes an event that has not happened
 *
 * Return: the event with one reference, or NULL if there is no memory.
 */
struct nnaccel_event *nnaccel_event_create(void)
{
	struct nnaccel_event *event = kzalloc(sizeof(*event), GFP_KERNEL_ACCOUNT);

	if (!event)
		return NULL;
	kref_init(&event->refs);
	init_waitqueue_head(&event->wait);
	spin_lock_init(&event->lock);
	INIT_LIST_HEAD(&event->waits);
	return event;
}

/**
 * nnaccel_event_get() - Takes a reference to an event
 * @event: the event
 */
void nnaccel_event_get(struct nnaccel_event *event)
{
	kref_get(&event->refs);
}

static void nnaccel_event_free(struct kref *refs)
{
	kfree(container_of(refs, struct nnaccel_event, refs));
}

/**
 * nnaccel_event_put() - Drops a reference to an event
 * @event: the event
 */
void nnaccel_event_put(struct nnaccel_event *event)
{
	kref_put(&event->refs, nnaccel_event_free);
}

/**
 * nnaccel_event_add_wait() - Lets nnaccel_async_signalled() be called when an event happens
 * @event: the event
 * @wait: the wait, in no list
 *
 * Return: false if it has happened; then nothing is called.
 */
bool nnaccel_event_add_wait(struct nnaccel_event *event, struct nnaccel_async_wait *wait)
{
	bool waits;

	spin_lock(&event->lock);
	waits = !event->happened;
	if (waits)
		list_add_tail(&wait->node, &event->waits);
	spin_unlock(&event->lock);
	return waits;
}

/**
 * nnaccel_event_remove_wait() - Reverts nnaccel_event_add_wait()
 * @event: the event
 * @wait: the wait, in the event's list or not
 *
 * Return: false if the wait was not in the list.
 */
bool nnaccel_event_remove_wait(struct nnaccel_event *event, struct nnaccel_async_wait *wait)
{
	bool waits;

	spin_lock(&event->lock);
	waits = !list_empty(&wait->node);
	list_del_init(&wait->node);
	spin_unlock(&event->lock);
	return waits;
}

/**
 * nnaccel_event_happen() - Marks an event as happened and wakes those who wait for it
 * @event: the event, which has not happened
 * @failed: the execution has no answer, or no successful one
 */
void nnaccel_event_happen(struct nnaccel_event *event, bool failed)
{
	struct nnaccel_async_wait *wait, *next;

	spin_lock(&event->lock);
	event->failed = failed;
	WRITE_ONCE(event->happened, true);
	list_for_each_entry_safe(wait, next, &event->waits, node) {
		list_del_init(&wait->node);
		nnaccel_async_signalled(wait, failed);
	}
	spin_unlock(&event->lock);
	wake_up_poll(&event->wait, EPOLLIN | EPOLLRDNORM);
}

/**
 * nnaccel_event_show_fence() - Notifies pollers that a hardware fence will end the execution
 * @event: the event
 */
void nnaccel_event_show_fence(struct nnaccel_event *event)
{
	WRITE_ONCE(event->fenced, true);
	wake_up_poll(&event->wait, EPOLLPRI);
}

/**
 * nnaccel_event_has_failed() - Returns whether an event that happened has failed
 * @event: the event
 *
 * Return: true if it failed.
 */
bool nnaccel_event_has_failed(struct nnaccel_event *event)
{
	bool failed;

	spin_lock(&event->lock);
	failed = event->failed;
	spin_unlock(&event->lock);
	return failed;
}

/**
 * nnaccel_event_poll() - Polls a file for an event
 * @event: the event
 * @file: the file
 * @wait: the table of the poll
 *
 * Return: EPOLLIN | EPOLLRDNORM if it happened; EPOLLPRI if NNACCEL_SYNC_FILE can return a fence.
 */
__poll_t nnaccel_event_poll(struct nnaccel_event *event, struct file *file,
			    struct poll_table_struct *wait)
{
	poll_wait(file, &event->wait, wait);
	return (READ_ONCE(event->happened) ? EPOLLIN | EPOLLRDNORM : 0) |
	       (READ_ONCE(event->fenced) ? EPOLLPRI : 0);
}
