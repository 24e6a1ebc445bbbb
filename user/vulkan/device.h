/* SPDX-License-Identifier: MIT */
/*
 * A GPU: which one, its queue, its memory, and the pipelines that were made on it.
 */
#ifndef NN_VULKAN_DEVICE_H
#define NN_VULKAN_DEVICE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <vulkan/vulkan.h>

#include <nnaccel/engine_model.h>

#define GPU_UUID_TEXT 37
#define MAX_GPUS 16

/* The names of a GPU. */
struct gpu_name {
	char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
	char uuid[GPU_UUID_TEXT];
	bool is_software;
	char lack[64];	/* missing feature that the engine needs; empty if it has all */
};

/* Variants of shaders that a GPU may have. */
#define GPU_FP16	1u	/* arithmetic in float16 */
#define GPU_DOT		2u	/* integer dot products */
/* Ways to import memory. */
#define GPU_HOST_MEMORY	4u	/* by address */
#define GPU_MEMORY_FD	8u	/* by files, among them */
#define GPU_DMA_BUF	16u	/* dma-bufs */
#define GPU_SYNC_FILE	32u	/* semaphores become sync_files, and the reverse */
/* Another variant: cooperative matrices of float16, and what their shader needs besides. */
#define GPU_MATRIX	64u
#define GPU_MEMORY_MODEL 128u
#define GPU_FULL_SUBGROUPS 256u

struct pipelines;

/* Cooperative matrices: of rows * depth, depth * columns, and how many a subgroup adds up. */
struct gpu_matrix {
	uint32_t rows;
	uint32_t columns;
	uint32_t depth;
	uint32_t count;
};

struct gpu {
	VkInstance instance;
	VkPhysicalDevice physical;
	VkDevice device;
	VkQueue queue;
	uint32_t family;
	struct gpu_name name;
	VkPhysicalDeviceLimits limits;
	VkPhysicalDeviceMemoryProperties memory;
	char driver_uuid[GPU_UUID_TEXT];
	uint32_t driver_version;
	uint64_t host_alignment;	/* of memory that is imported by address */
	double tick_ns;			/* of its timestamps; 0: it has none */
	uint64_t tick_mask;		/* bits of a timestamp */
	uint32_t can;			/* variants that it has */
	uint32_t uses;			/* variants that are quicker there */
	struct gpu_matrix matrix;	/* of GPU_MATRIX */
	uint32_t references;		/* under the lock of device.c */
	bool is_lost;			/* atomic */
	/* Protects the pool and the pipelines; a compiler may hold it for long. */
	pthread_mutex_t lock;
	pthread_mutex_t queue_lock;	/* of the queue */
	VkCommandPool pool;
	struct pipelines *pipelines;
};

/* Fills up to `count` names; returns how many GPUs there are, or -1 with the reason. */
int gpu_list(struct gpu_name *names, uint32_t count, struct nn_error *err);

/*
 * Opens the GPU whose name contains `wanted`, or whose UUID it is. NULL means the first GPU that is
 * hardware, "software" the first software driver. Returns NN_DEVICE_UNAVAILABLE with the reason if
 * there is none.
 */
enum nn_status gpu_open(const char *wanted, struct gpu **gpu, struct nn_error *err);

/* Takes a reference to a GPU. Each object that was made on a GPU holds a reference. */
struct gpu *gpu_hold(struct gpu *gpu);
void gpu_release(struct gpu *gpu);

/*
 * Returns the status for a result of a Vulkan call, with `what` as the reason. After
 * VK_ERROR_DEVICE_LOST the GPU is lost: nothing more runs on it, and it has to be opened again.
 */
enum nn_status gpu_fail(struct gpu *gpu, VkResult result, const char *what, struct nn_error *err);
bool gpu_is_lost(struct gpu *gpu);

/* Waits until the GPU is idle; a lost GPU is. */
void gpu_wait(struct gpu *gpu);

/* A buffer with its own memory; `base` is NULL if the host cannot reach it. */
struct gpu_buffer {
	VkBuffer buffer;
	VkDeviceMemory memory;
	uint64_t size;
	uint8_t *base;
	bool is_coherent;
};

/* Makes a buffer of the device's memory, or one that the host reaches. */
enum nn_status gpu_buffer_create(struct gpu *gpu, uint64_t size, bool host,
				 struct gpu_buffer *buffer, struct nn_error *err);
void gpu_buffer_destroy(struct gpu *gpu, struct gpu_buffer *buffer);

/* Call them after the host has written a buffer, and before it reads one. */
VkResult gpu_buffer_flush(struct gpu *gpu, const struct gpu_buffer *buffer);
VkResult gpu_buffer_invalidate(struct gpu *gpu, const struct gpu_buffer *buffer);

#endif /* NN_VULKAN_DEVICE_H */
