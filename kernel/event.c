// SPDX-License-Identifier: GPL-2.0-only
/*
 * nnaccel: events. An event is the end of an execution, as its file and its dependents see it. It
 * happens once, and points to nothing, so that it outlives the execution at no cost.
 */

#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "nnaccel_private.h"

/**
 * struct nnaccel_event - The end of an execution
 * @refs: the submission's, and those of the commands that wait for it
 * @wait: pollers
 * @lock: protects what follows; the innermost lock but for those of wait queues
 * @happened: it happened; pollers look at it without the lock
 * @failed: there is no answer, or not one of success; does not change after @happened
 * @waits: struct nnaccel_async_wait of commands that wait for it; none once it happened
 */
struct nnaccel_event {
	struct kref refs;
	wait_queue_head_t wait;
	spinlock_t lock;	/* see above */
	bool happened;
	bool failed;
	struct list_head waits;
};

/**
 * nnaccel_event_create() - Make an event that has not happened
 *
 * Return: the event, with one count, or NULL: no memory.
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
 * nnaccel_event_get() - Count one more pointer to an event
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
 * nnaccel_event_put() - Count one pointer less
 * @event: the event
 */
void nnaccel_event_put(struct nnaccel_event *event)
{
	kref_put(&event->refs, nnaccel_event_free);
}

/**
 * nnaccel_event_add_wait() - Have nnaccel_async_signalled() called when an event happens
 * @event: the event
 * @wait: the wait, in no list
 *
 * Return: false: it has happened, and nothing is called.
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
 * nnaccel_event_remove_wait() - Undo nnaccel_event_add_wait()
 * @event: the event
 * @wait: the wait, in the event's list or not
 *
 * Return: false: it was not in the list.
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
 * nnaccel_event_happen() - Tell those who wait for an event
 * @event: the event, which has not happened
 * @failed: there is no answer, or not one of success
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
 * nnaccel_event_has_failed() - Look at an event that happened
 * @event: the event
 *
 * Return: whether it failed.
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
 * nnaccel_event_poll() - Poll a file that tells of an event
 * @event: the event
 * @file: the file
 * @wait: the poll
 *
 * Return: EPOLLIN | EPOLLRDNORM: it happened.
 */
__poll_t nnaccel_event_poll(struct nnaccel_event *event, struct file *file,
			    struct poll_table_struct *wait)
{
	poll_wait(file, &event->wait, wait);
	return READ_ONCE(event->happened) ? EPOLLIN | EPOLLRDNORM : 0;
}
