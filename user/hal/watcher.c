/* SPDX-License-Identifier: MIT */
/*
 * Each device has a thread, the watcher. The watcher gets the end of a burst as EPOLLHUP of the
 * burst's file.
 */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "burst.h"
#include "device.h"

void nna_watcher_init(struct nna_watcher *watcher)
{
	watcher->epoll = -1;
	watcher->stop = -1;
}

void nna_watcher_destroy(struct nna_watcher *watcher)
{
	if (watcher->epoll < 0)
		return;
	if (getpid() == watcher->process) {
		eventfd_write(watcher->stop, 1);
		pthread_join(watcher->thread, NULL);
	}
	close(watcher->epoll);
	close(watcher->stop);
}

static void *watch(void *arg)
{
	struct nna_device *device = arg;
	struct epoll_event event;

	for (;;) {
		int count = epoll_wait(device->watcher.epoll, &event, 1, -1);

		if (count < 1)
			continue;
		if (!event.data.ptr)
			return NULL;
		nna_bursts_interrupt(device, event.data.ptr);
	}
}

/* Starts the watcher's thread, in which all of the application's signals are blocked. */
static int start_thread(struct nna_device *device)
{
	sigset_t all, before;
	int error;

	device->watcher.process = getpid();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&device->watcher.thread, NULL, watch, device);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

static int start(struct nna_device *device)
{
	struct nna_watcher *w = &device->watcher;
	struct epoll_event stop = { .events = EPOLLIN };
	int error = 0;

	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	w->stop = eventfd(0, EFD_CLOEXEC);
	if (w->epoll < 0 || w->stop < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->stop, &stop))
		error = errno;
	else
		error = start_thread(device);
	if (!error)
		return 0;
	if (w->epoll >= 0)
		close(w->epoll);
	if (w->stop >= 0)
		close(w->stop);
	nna_watcher_init(w);
	return error;
}

int nna_watcher_add(struct nna_device *device, struct nna_burst *burst, int fd)
{
	/*
	 * Epoll always reports EPOLLHUP, so request no other event; EPOLLET limits the reports to
	 * one.
	 */
	struct epoll_event hup = { .events = EPOLLET, .data.ptr = burst };
	int error = device->watcher.epoll < 0 ? start(device) : 0;

	if (error)
		return error;
	return epoll_ctl(device->watcher.epoll, EPOLL_CTL_ADD, fd, &hup) ? errno : 0;
}
