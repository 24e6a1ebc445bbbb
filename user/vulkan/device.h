/* SPDX-License-Identifier: MIT */
/* Functions that choose and open a GPU, and a struct with the GPU's queue, memory and pipelines. */
#ifndef NN_VULKAN_DEVICE_H
#define NN_VULKAN_DEVICE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <vulkan/vulkan.h>

#include <nnaccel/engine_model.h>

#define GPU_UUID_TEXT 37
#define MAX_GPUS 16

/* The names of a GPU, and whether the engine can use the GPU. */
struct gpu_name {
	char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
	char uuid[GPU_UUID_TEXT];
	bool is_software;
	bool is_lavapipe;	/* driver of Mesa that computes on the CPU */
	char lack[64];	/* feature that the engine needs but the GPU lacks, or "" */
};

/* Variants of shaders that a GPU may have. */
#define GPU_FP16	1u	/* arithmetic in float16 */
#define GPU_DOT		2u	/* integer dot products */
/* Kinds of imports that a GPU may support. */
#define GPU_HOST_MEMORY	4u	/* import of memory by address */
#define GPU_MEMORY_FD	8u	/* import of memory by file descriptor */
#define GPU_DMA_BUF	16u	/* import of dma-bufs */
#define GPU_SYNC_FILE	32u	/* conversion between semaphores and sync_files */
/*
 * A variant of shaders: cooperative matrices of float16. The shader of GPU_MATRIX also needs
 * GPU_MEMORY_MODEL and GPU_FULL_SUBGROUPS.
 */
#define GPU_MATRIX	64u
#define GPU_MEMORY_MODEL 128u
#define GPU_FULL_SUBGROUPS 256u

struct pipelines;

/*
 * Sizes of cooperative matrices. The two factors of a matrix product have the shapes [rows, depth]
 * and [depth, columns]; a subgroup accumulates `count` products.
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
	/* functions that convert sync_files; NULL if the GPU lacks GPU_SYNC_FILE */
	PFN_vkImportSemaphoreFdKHR import_semaphore;
	PFN_vkGetSemaphoreFdKHR export_semaphore;
	uint32_t family;
	struct gpu_name name;
	VkPhysicalDeviceLimits limits;
	VkPhysicalDeviceMemoryProperties memory;
	char driver_uuid[GPU_UUID_TEXT];
	uint32_t driver_version;
	uint64_t host_alignment;	/* alignment of memory that is imported by address */
	double tick_ns;	/* period of the GPU's timestamps; 0 if the GPU has no timestamps */
	uint64_t tick_mask;		/* mask of the valid bits of the GPU's timestamps */
	uint32_t can;			/* flags of the variants and imports that the GPU has */
	uint32_t uses;	/* flags of the variants that are quicker than the plain shaders */
	struct gpu_matrix matrix;	/* sizes of matrices, with GPU_MATRIX */
	uint32_t references;		/* number of references; protected by device.c's lock */
	bool is_lost;			/* atomic */
	enum nn_status when_lost;	/* status of calls after the GPU was lost */
	/*
	 * Protects `pool` and `pipelines`. While a thread compiles a shader, it holds `lock` for a
	 * long time.
	 */
	pthread_mutex_t lock;
	pthread_mutex_t queue_lock;	/* protects the queue */
	VkCommandPool pool;
	struct pipelines *pipelines;
};

/*
 * Fills in the names of up to `count` GPUs. Returns the number of all GPUs of the machine; or -1,
 * with the reason in `err`.
 */
int gpu_list(struct gpu_name *names, uint32_t count, struct nn_error *err);

/*
 * Loads the libraries of all Vulkan drivers for the next gpu_open(), which then opens no files.
 */
enum nn_status gpu_load(struct nn_error *err);

/*
 * Opens the GPU whose name contains `wanted`, or whose UUID is `wanted`. If `wanted` is NULL, opens
 * the first hardware GPU; if `wanted` is "software", opens the first software driver. Returns
 * NN_DEVICE_UNAVAILABLE, with the reason, if no usable GPU matches `wanted`.
 */
enum nn_status gpu_open(const char *wanted, struct gpu **gpu, struct nn_error *err);

/* Takes a reference to a GPU. Each object that was made on a GPU holds a reference to the GPU. */
struct gpu *gpu_hold(struct gpu *gpu);
void gpu_release(struct gpu *gpu);

/*
 * Converts the result of a Vulkan call to a status; `what` is the reason in *err. After
 * VK_ERROR_DEVICE_LOST, the GPU is lost (see gpu_is_lost()): it executes no more commands, and the
 * engine has to open the GPU a second time.
 */
enum nn_status gpu_fail(struct gpu *gpu, VkResult result, const char *what, struct nn_error *err);
bool gpu_is_lost(struct gpu *gpu);

/* Waits until the GPU is idle. A lost GPU counts as idle. */
void gpu_wait(struct gpu *gpu);

/* A buffer with its own memory; `base` is NULL if the host cannot access the memory. */
struct gpu_buffer {
	VkBuffer buffer;
	VkDeviceMemory memory;
	uint64_t size;
	uint8_t *base;
	bool is_coherent;
};

/*
 * Makes a buffer in the device's memory or, if `host` is set, in memory that the host can access.
 */
enum nn_status gpu_buffer_create(struct gpu *gpu, uint64_t size, bool host,
				 struct gpu_buffer *buffer, struct nn_error *err);
void gpu_buffer_destroy(struct gpu *gpu, struct gpu_buffer *buffer);

/* Flush a buffer after the host has written to it; invalidate a buffer before the host reads it. */
VkResult gpu_buffer_flush(struct gpu *gpu, const struct gpu_buffer *buffer);
VkResult gpu_buffer_invalidate(struct gpu *gpu, const struct gpu_buffer *buffer);

#endif /* NN_VULKAN_DEVICE_H */
