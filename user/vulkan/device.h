/* SPDX-License-Identifier: MIT */
/* A GPU: its choice, its queue, its memory, and its pipelines. */
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
	char lack[64];	/* a feature that the engine needs and the GPU lacks; or empty */
};

/* Variants of shaders that a GPU may have. */
#define GPU_FP16	1u	/* arithmetic in float16 */
#define GPU_DOT		2u	/* integer dot products */
/* Ways to import memory. */
#define GPU_HOST_MEMORY	4u	/* by address */
#define GPU_MEMORY_FD	8u	/* by file descriptors, such as */
#define GPU_DMA_BUF	16u	/* dma-bufs */
#define GPU_SYNC_FILE	32u	/* converts between semaphores and sync_files */
/*
 * Another variant of shaders: cooperative matrices of float16. The two features below are also
 * needed by its shader.
 */
#define GPU_MATRIX	64u
#define GPU_MEMORY_MODEL 128u
#define GPU_FULL_SUBGROUPS 256u

struct pipelines;

/*
 * Cooperative matrices. Their factors are [rows, depth] and [depth, columns]; a subgroup
 * accumulates `count` products.
 */
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
	/* NULL if the GPU lacks GPU_SYNC_FILE */
	PFN_vkImportSemaphoreFdKHR import_semaphore;
	PFN_vkGetSemaphoreFdKHR export_semaphore;
	uint32_t family;
	struct gpu_name name;
	VkPhysicalDeviceLimits limits;
	VkPhysicalDeviceMemoryProperties memory;
	char driver_uuid[GPU_UUID_TEXT];
	uint32_t driver_version;
	uint64_t host_alignment;	/* for memory imported by address */
	double tick_ns;			/* period of timestamps; 0: the GPU has none */
	uint64_t tick_mask;		/* bits of a timestamp */
	uint32_t can;			/* variants that the GPU has */
	uint32_t uses;			/* variants that are quicker on the GPU */
	struct gpu_matrix matrix;	/* of GPU_MATRIX */
	uint32_t references;		/* protected by the lock of device.c */
	bool is_lost;			/* atomic */
	/*
	 * Protects the pool and the pipelines. It may be held for long, while a shader is compiled.
	 */
	pthread_mutex_t lock;
	pthread_mutex_t queue_lock;	/* protects the queue */
	VkCommandPool pool;
	struct pipelines *pipelines;
};

/* Fills in up to `count` names. Returns the number of all GPUs; or -1, with the reason in `err`. */
int gpu_list(struct gpu_name *names, uint32_t count, struct nn_error *err);

/*
 * Opens the GPU whose name contains `wanted`, or whose UUID is `wanted`. NULL means the first
 * hardware GPU, and "software" the first software driver. Returns NN_DEVICE_UNAVAILABLE with the
 * reason if no GPU fits.
 */
enum nn_status gpu_open(const char *wanted, struct gpu **gpu, struct nn_error *err);

/* Takes a reference to a GPU. Each object that was made on a GPU holds a reference. */
struct gpu *gpu_hold(struct gpu *gpu);
void gpu_release(struct gpu *gpu);

/*
 * Returns the status for a result of a Vulkan call, with `what` as the reason. After
 * VK_ERROR_DEVICE_LOST the GPU is lost: nothing runs on it any more, and the engine has to open it
 * again.
 */
enum nn_status gpu_fail(struct gpu *gpu, VkResult result, const char *what, struct nn_error *err);
bool gpu_is_lost(struct gpu *gpu);

/* Waits until the GPU is idle. A lost GPU counts as idle. */
void gpu_wait(struct gpu *gpu);

/* A buffer with its own memory; `base` is NULL if the host cannot reach it. */
struct gpu_buffer {
	VkBuffer buffer;
	VkDeviceMemory memory;
	uint64_t size;
	uint8_t *base;
	bool is_coherent;
};

/* Makes a buffer in the device's memory or, with `host`, in memory that the host can access. */
enum nn_status gpu_buffer_create(struct gpu *gpu, uint64_t size, bool host,
				 struct gpu_buffer *buffer, struct nn_error *err);
void gpu_buffer_destroy(struct gpu *gpu, struct gpu_buffer *buffer);

/* Flush after the host has written a buffer; invalidate before it reads one. */
VkResult gpu_buffer_flush(struct gpu *gpu, const struct gpu_buffer *buffer);
VkResult gpu_buffer_invalidate(struct gpu *gpu, const struct gpu_buffer *buffer);

#endif /* NN_VULKAN_DEVICE_H */
