/* SPDX-License-Identifier: MIT */
/*
 * QEMU's PCI device for education, driven from user space by VFIO: the registers, the interrupt as
 * an eventfd, and the memory that the device's DMA reaches through the IOMMU.
 */
#ifndef EDU_DEVICE_H
#define EDU_DEVICE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The device has 28 address lines. */
#define EDU_DMA_MASK 0x0fffffffull

/* Memory that the device can reach by DMA; defined in device.c. */
struct edu_mapping;

struct edu {
	char address[32];		/* address of the device on the bus "pci" */
	int container;
	int group;
	int device;
	int irq;			/* eventfd */
	uint64_t config;		/* offset of the configuration space in `device` */
	volatile uint8_t *regs;
	uint64_t regs_size;

	/*
	 * lock that a thread holds while it uses the registers; protects the fields down to
	 * `resets`
	 */
	pthread_mutex_t busy;
	/* the device was reset after a hang, and may still be busy */
	bool stopped;
	uint64_t transfers;
	uint64_t dma_bytes;
	uint64_t factorials;
	uint64_t interrupts;
	uint64_t resets;

	pthread_mutex_t map_lock;	/* protects `mappings` */
	struct edu_mapping *mappings;	/* by address */
};

enum edu_result {
	EDU_DONE,
	EDU_LATE,		/* the deadline passed; the device was stopped */
	EDU_CANCELLED,		/* `cancel` became readable; the device was stopped */
	EDU_FAILED,		/* a system call failed; errno is set */
};

/*
 * Limits of a wait for the device: a deadline, and a file that ends the wait when it becomes
 * readable.
 */
struct edu_limit {
	uint64_t deadline_ns;		/* CLOCK_MONOTONIC */
	int cancel;			/* -1: none */
};

uint64_t edu_now_ns(void);

/*
 * Unbinds the device at a PCI address from its driver, binds the device to vfio-pci and opens the
 * device. `address` is like "0000:01:00.0"; NULL selects the first edu device. Errors are reported
 * on stderr.
 */
bool edu_open(struct edu *edu, const char *address);

/*
 * Closes the device. The kernel ends bus mastering and the mappings, so DMA that is still running
 * can access no memory.
 */
void edu_close(struct edu *edu);

/*
 * Lets the device's DMA read memory of this process, and also write if `writable` is set. The
 * memory consists of whole pages, which stay pinned until edu_unmap(). On failure returns false and
 * sets errno. ENOSPC means that no free addresses are left below the device's DMA mask. EFAULT
 * means that memory is missing (a file became shorter) or cannot be pinned.
 */
bool edu_map(struct edu *edu, void *memory, uint64_t size, bool writable, uint64_t *iova);
void edu_unmap(struct edu *edu, uint64_t iova);

/*
 * Each function waits until the device is free, starts the device's work, and waits for the
 * interrupt. After a failure the device has been stopped, and no longer accesses memory for the
 * failed call.
 */
enum edu_result edu_copy(struct edu *edu, uint64_t to, uint64_t from, uint64_t size,
			 const struct edu_limit *limit);
enum edu_result edu_factorial(struct edu *edu, uint32_t n, uint32_t *result,
			      const struct edu_limit *limit);

/*
 * Turns bus mastering on or off; edu_open() turns it on. Without bus mastering, no DMA leaves the
 * device.
 */
bool edu_set_master(struct edu *edu, bool on);

#endif /* EDU_DEVICE_H */
