// SPDX-License-Identifier: MIT
/*
 * QEMU's PCI device for education, driven from user space by VFIO.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "device.h"

#define VENDOR	0x1234
#define DEVICE	0x11e8

/* Offsets of the device's registers. Registers from 0x80 on have 64 bits. */
#define REG_ID			0x00
#define REG_FACTORIAL		0x08
#define REG_STATUS		0x20
#define REG_IRQ_STATUS		0x24
#define REG_IRQ_ACK		0x64
#define REG_DMA_FROM		0x80
#define REG_DMA_TO		0x88
#define REG_DMA_COUNT		0x90
#define REG_DMA_COMMAND		0x98

#define STATUS_COMPUTING	0x01
#define STATUS_IRQ		0x80
#define DMA_RUN			0x01
#define DMA_TO_MEMORY		0x02
#define DMA_IRQ			0x04

/* Bits in the interrupt status: the reasons for an interrupt. */
#define IRQ_FACTORIAL		0x001
#define IRQ_DMA			0x100

/* The device's own memory, which each DMA transfer reads or writes. */
#define BUFFER			0x40000
#define BUFFER_SIZE		4096

/*
 * Maximum bytes of a transfer. QEMU before 8.2 exits if a transfer includes the last byte of the
 * buffer.
 */
#define MAX_TRANSFER		(BUFFER_SIZE - 8)

#define ID_MASK			0xffu	/* the upper bits of 0x010000ed are a version */
#define ID			0xedu

/* First DMA address; address 0 is never mapped. */
#define FIRST_IOVA		0x100000ull

#define NS_PER_SECOND		1000000000ull
#define IDLE_POLL_NS		10000000l

struct edu_mapping {
	struct edu_mapping *next;
	uint64_t iova;
	uint64_t size;
};

uint64_t edu_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static uint32_t get32(const struct edu *edu, unsigned int reg)
{
	return *(volatile uint32_t *)(edu->regs + reg);
}

static void set32(struct edu *edu, unsigned int reg, uint32_t value)
{
	*(volatile uint32_t *)(edu->regs + reg) = value;
}

static void set64(struct edu *edu, unsigned int reg, uint64_t value)
{
	*(volatile uint64_t *)(edu->regs + reg) = value;
}

/* ---- finding and opening it ---- */

static bool fail(const char *what)
{
	fprintf(stderr, "edu: %s: %s\n", what, strerror(errno));
	return false;
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

static long read_id(const char *address, const char *name)
{
	char path[128], text[16] = "";
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", address, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	return n > 0 ? strtol(text, NULL, 16) : -1;
}

/* Binds the device to vfio-pci. */
static bool bind(const char *address)
{
	char path[128], driver[128] = "";

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", address);
	if (readlink(path, driver, sizeof(driver) - 1) > 0 && strstr(driver, "/vfio-pci"))
		return true;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver_override", address);
	if (!write_file(path, "vfio-pci"))
		return fail(path);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver/unbind", address);
	if (!write_file(path, address) && errno != ENOENT)
		return fail(path);
	if (!write_file("/sys/bus/pci/drivers_probe", address))
		return fail("/sys/bus/pci/drivers_probe");
	return true;
}

/* Finds the PCI address of the first edu device. */
static bool find(char *address, size_t size)
{
	bool found = false;
	glob_t devices;

	if (glob("/sys/bus/pci/devices/*", 0, NULL, &devices))
		devices.gl_pathc = 0;
	for (size_t i = 0; i < devices.gl_pathc && !found; i++) {
		const char *name = strrchr(devices.gl_pathv[i], '/') + 1;

		found = read_id(name, "vendor") == VENDOR && read_id(name, "device") == DEVICE;
		if (found)
			snprintf(address, size, "%s", name);
	}
	globfree(&devices);
	if (!found)
		fprintf(stderr, "edu: there is no such PCI device\n");
	return found;
}

/* Returns the device's IOMMU group, which must not contain any other device. */
static bool open_group(struct edu *edu, const char *address)
{
	struct vfio_group_status status = { .argsz = sizeof(status) };
	char path[128], target[128] = "";

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group", address);
	if (readlink(path, target, sizeof(target) - 1) < 0)
		return fail("there is no IOMMU for the device");
	snprintf(path, sizeof(path), "/dev/vfio/%s", strrchr(target, '/') + 1);
	edu->group = open(path, O_RDWR | O_CLOEXEC);
	if (edu->group < 0)
		return fail(path);
	if (ioctl(edu->group, VFIO_GROUP_GET_STATUS, &status) ||
	    !(status.flags & VFIO_GROUP_FLAGS_VIABLE)) {
		fprintf(stderr, "edu: other devices of its IOMMU group have their drivers\n");
		return false;
	}
	edu->container = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
	if (edu->container < 0)
		return fail("/dev/vfio/vfio");
	if (ioctl(edu->group, VFIO_GROUP_SET_CONTAINER, &edu->container) ||
	    ioctl(edu->container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU))
		return fail("cannot get the IOMMU");
	return true;
}

static bool map_registers(struct edu *edu)
{
	struct vfio_region_info region = {
		.argsz = sizeof(region),
		.index = VFIO_PCI_BAR0_REGION_INDEX,
	};
	void *regs;

	if (ioctl(edu->device, VFIO_DEVICE_GET_REGION_INFO, &region))
		return fail("cannot find the registers");
	regs = mmap(NULL, region.size, PROT_READ | PROT_WRITE, MAP_SHARED, edu->device,
		    (off_t)region.offset);
	if (regs == MAP_FAILED)
		return fail("cannot map the registers");
	edu->regs = regs;
	edu->regs_size = region.size;
	region.index = VFIO_PCI_CONFIG_REGION_INDEX;
	if (ioctl(edu->device, VFIO_DEVICE_GET_REGION_INFO, &region))
		return fail("cannot find the configuration space");
	edu->config = region.offset;
	return true;
}

static bool set_interrupt(struct edu *edu)
{
	/* The argument of the ioctl: struct vfio_irq_set, followed by the eventfd. */
	_Alignas(struct vfio_irq_set) char arg[sizeof(struct vfio_irq_set) + sizeof(int32_t)];
	const struct vfio_irq_set set = {
		.argsz = sizeof(arg),
		.flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
		.index = VFIO_PCI_MSI_IRQ_INDEX,
		.count = 1,
	};

	edu->irq = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	memcpy(arg, &set, sizeof(set));
	memcpy(arg + sizeof(set), &edu->irq, sizeof(edu->irq));
	if (edu->irq < 0 || ioctl(edu->device, VFIO_DEVICE_SET_IRQS, arg))
		return fail("cannot get its interrupts");
	return true;
}

bool edu_set_master(struct edu *edu, bool on)
{
	off_t at = (off_t)edu->config + PCI_COMMAND;
	uint16_t command;

	if (pread(edu->device, &command, sizeof(command), at) != sizeof(command))
		return false;
	command = (uint16_t)(on ? command | PCI_COMMAND_MASTER : command & ~PCI_COMMAND_MASTER);
	return pwrite(edu->device, &command, sizeof(command), at) == sizeof(command);
}

bool edu_open(struct edu *edu, const char *address)
{
	*edu = (struct edu){ .container = -1, .group = -1, .device = -1, .irq = -1 };
	pthread_mutex_init(&edu->busy, NULL);
	pthread_mutex_init(&edu->map_lock, NULL);
	if (address)
		snprintf(edu->address, sizeof(edu->address), "%s", address);
	else if (!find(edu->address, sizeof(edu->address)))
		return false;
	if (!bind(edu->address) || !open_group(edu, edu->address))
		return false;
	edu->device = ioctl(edu->group, VFIO_GROUP_GET_DEVICE_FD, edu->address);
	if (edu->device < 0)
		return fail("cannot open the device");
	if (!map_registers(edu) || !set_interrupt(edu))
		return false;
	if ((get32(edu, REG_ID) & ID_MASK) != ID) {
		fprintf(stderr, "edu: the device is not an edu\n");
		return false;
	}
	return edu_set_master(edu, true) || fail("cannot enable bus mastering");
}

void edu_close(struct edu *edu)
{
	const int files[] = { edu->device, edu->group, edu->container, edu->irq };

	/* Unmap the registers, because a mapping of the registers would keep the device open. */
	if (edu->regs)
		munmap((void *)edu->regs, edu->regs_size);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i] >= 0)
			close(files[i]);
	while (edu->mappings) {
		struct edu_mapping *m = edu->mappings;

		edu->mappings = m->next;
		free(m);
	}
}

/* ---- memory ---- */

/*
 * Finds @size bytes of free DMA addresses, which begin at *iova. Returns the link in the list of
 * mappings at which to insert the new mapping.
 */
static struct edu_mapping **find_room(struct edu *edu, uint64_t size, uint64_t *iova)
{
	struct edu_mapping **at = &edu->mappings;

	*iova = FIRST_IOVA;
	for (; *at && (*at)->iova - *iova < size; at = &(*at)->next)
		*iova = (*at)->iova + (*at)->size;
	return *iova <= EDU_DMA_MASK && size <= EDU_DMA_MASK + 1 - *iova ? at : NULL;
}

bool edu_map(struct edu *edu, void *memory, uint64_t size, bool writable, uint64_t *iova)
{
	struct vfio_iommu_type1_dma_map arg = {
		.argsz = sizeof(arg),
		.flags = VFIO_DMA_MAP_FLAG_READ | (writable ? VFIO_DMA_MAP_FLAG_WRITE : 0),
		.vaddr = (uintptr_t)memory,
		.size = size,
	};
	struct edu_mapping *m = malloc(sizeof(*m)), **at;
	int error = m ? 0 : ENOMEM;

	pthread_mutex_lock(&edu->map_lock);
	at = error ? NULL : find_room(edu, size, iova);
	if (!error && !at)
		error = ENOSPC;
	arg.iova = *iova;
	if (!error && ioctl(edu->container, VFIO_IOMMU_MAP_DMA, &arg))
		error = errno;
	if (!error) {
		*m = (struct edu_mapping){ .next = *at, .iova = *iova, .size = size };
		*at = m;
	}
	pthread_mutex_unlock(&edu->map_lock);
	if (error)
		free(m);
	errno = error;
	return !error;
}

void edu_unmap(struct edu *edu, uint64_t iova)
{
	struct vfio_iommu_type1_dma_unmap arg = { .argsz = sizeof(arg), .iova = iova };
	struct edu_mapping **at, *m;

	pthread_mutex_lock(&edu->map_lock);
	for (at = &edu->mappings; *at && (*at)->iova != iova; at = &(*at)->next)
		;
	m = *at;
	if (m) {
		*at = m->next;
		arg.size = m->size;
		if (ioctl(edu->container, VFIO_IOMMU_UNMAP_DMA, &arg))
			fail("cannot unmap");
	}
	pthread_mutex_unlock(&edu->map_lock);
	free(m);
}

/* ---- work ---- */

static int left_ms(const struct edu_limit *limit)
{
	uint64_t now = edu_now_ns();

	if (now >= limit->deadline_ns)
		return 0;
	return (int)((limit->deadline_ns - now) / 1000000 % INT32_MAX) + 1;
}

/* Returns why a wait for the device must end now, or EDU_DONE if the wait may go on. */
static enum edu_result check(const struct edu_limit *limit)
{
	struct pollfd cancel = { .fd = limit->cancel, .events = POLLIN };

	if (poll(&cancel, 1, 0) > 0 && cancel.revents)
		return EDU_CANCELLED;
	return left_ms(limit) ? EDU_DONE : EDU_LATE;
}

/*
 * Stops a device that does not answer or must not continue. After stop() the device accesses no
 * memory.
 */
static void stop(struct edu *edu)
{
	edu->stopped = true;
	edu->resets++;
	/*
	 * The kernel restores the device's configuration after the reset, so turn bus mastering off
	 * again.
	 */
	if (!edu_set_master(edu, false))
		fail("cannot end bus mastering");
	if (ioctl(edu->device, VFIO_DEVICE_RESET))
		fail("cannot reset");
}

/*
 * Prepares a stopped device for use. A reset does not stop the device's units, so restart() waits
 * until all units are idle.
 */
static enum edu_result restart(struct edu *edu, const struct edu_limit *limit)
{
	const struct timespec pause = { .tv_nsec = IDLE_POLL_NS };
	uint64_t count;

	while (get32(edu, REG_STATUS) & STATUS_COMPUTING || get32(edu, REG_DMA_COMMAND) & DMA_RUN) {
		enum edu_result result = check(limit);

		if (result)
			return result;
		nanosleep(&pause, NULL);
	}
	set32(edu, REG_STATUS, 0);
	set32(edu, REG_IRQ_ACK, get32(edu, REG_IRQ_STATUS));
	if (read(edu->irq, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return EDU_FAILED;
	if (!edu_set_master(edu, true))
		return EDU_FAILED;
	edu->stopped = false;
	return EDU_DONE;
}

/* Waits for an interrupt whose reason is @what. */
static enum edu_result await(struct edu *edu, uint32_t what, const struct edu_limit *limit)
{
	struct pollfd fds[] = {
		{ .fd = edu->irq, .events = POLLIN },
		{ .fd = limit->cancel, .events = POLLIN },
	};
	uint32_t pending = 0;
	uint64_t count;

	while (!(pending & what)) {
		int n = poll(fds, 2, left_ms(limit));

		if (n < 0 && errno != EINTR)
			return EDU_FAILED;
		if (!n)
			return EDU_LATE;
		if (n > 0 && fds[1].revents)
			return EDU_CANCELLED;
		if (read(edu->irq, &count, sizeof(count)) == sizeof(count))
			edu->interrupts += count;
		pending = get32(edu, REG_IRQ_STATUS);
		set32(edu, REG_IRQ_ACK, pending);
	}
	return EDU_DONE;
}

/* Waits for exclusive use of the device; leave() ends the exclusive use. */
static enum edu_result enter(struct edu *edu, const struct edu_limit *limit)
{
	struct timespec until = {
		.tv_sec = (time_t)(limit->deadline_ns / NS_PER_SECOND),
		.tv_nsec = (long)(limit->deadline_ns % NS_PER_SECOND),
	};
	enum edu_result result;

	if (pthread_mutex_clocklock(&edu->busy, CLOCK_MONOTONIC, &until))
		return EDU_LATE;
	result = check(limit);
	if (!result && edu->stopped)
		result = restart(edu, limit);
	if (result)
		pthread_mutex_unlock(&edu->busy);
	return result;
}

static enum edu_result leave(struct edu *edu, enum edu_result result)
{
	if (result)
		stop(edu);
	pthread_mutex_unlock(&edu->busy);
	return result;
}

static enum edu_result transfer(struct edu *edu, uint64_t to, uint64_t from, uint64_t size,
				uint32_t direction, const struct edu_limit *limit)
{
	enum edu_result result;

	set64(edu, REG_DMA_FROM, from);
	set64(edu, REG_DMA_TO, to);
	set64(edu, REG_DMA_COUNT, size);
	set64(edu, REG_DMA_COMMAND, DMA_RUN | direction | DMA_IRQ);
	result = await(edu, IRQ_DMA, limit);
	if (!result) {
		edu->transfers++;
		edu->dma_bytes += size;
	}
	return result;
}

enum edu_result edu_copy(struct edu *edu, uint64_t to, uint64_t from, uint64_t size,
			 const struct edu_limit *limit)
{
	enum edu_result result = enter(edu, limit);
	uint64_t n;

	if (result)
		return result;
	for (; size && !result; size -= n, from += n, to += n) {
		n = size < MAX_TRANSFER ? size : MAX_TRANSFER;
		result = transfer(edu, BUFFER, from, n, 0, limit);
		if (!result)
			result = transfer(edu, to, BUFFER, n, DMA_TO_MEMORY, limit);
	}
	return leave(edu, result);
}

enum edu_result edu_factorial(struct edu *edu, uint32_t n, uint32_t *value,
			      const struct edu_limit *limit)
{
	enum edu_result result = enter(edu, limit);

	if (result)
		return result;
	set32(edu, REG_STATUS, STATUS_IRQ);
	set32(edu, REG_FACTORIAL, n);
	result = await(edu, IRQ_FACTORIAL, limit);
	if (!result) {
		*value = get32(edu, REG_FACTORIAL);
		edu->factorials++;
	}
	return leave(edu, result);
}
