/* SPDX-License-Identifier: MIT */
/*
 * AHardwareBuffer: memory of an image or of plain bytes that devices share. Names, values and
 * layouts are those of Android's NDK. On Linux a buffer's memory is a dma-buf, or a memfd if there
 * is no /dev/nnaccel. As on Android, the functions are in libnativewindow.so.
 *
 * Any thread may call the functions of this header. A function returns 0 or a negative errno,
 * unless its comment says otherwise.
 */
#ifndef ANDROID_HARDWARE_BUFFER_H
#define ANDROID_HARDWARE_BUFFER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct AHardwareBuffer AHardwareBuffer;

#ifndef ANDROID_RECT_H
#define ANDROID_RECT_H
typedef struct ARect {
	int32_t left;
	int32_t top;
	int32_t right;
	int32_t bottom;
} ARect;
#endif

/*
 * The bytes of a pixel lie in memory in the order of the letters in the format's name. Depth and
 * stencil formats, R16G16 and R10G10B10A10 are not supported.
 */
enum AHardwareBuffer_Format {
	AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM = 1,
	AHARDWAREBUFFER_FORMAT_R8G8B8X8_UNORM = 2,
	AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM = 3,
	AHARDWAREBUFFER_FORMAT_R5G6B5_UNORM = 4,
	AHARDWAREBUFFER_FORMAT_R16G16B16A16_FLOAT = 0x16,
	AHARDWAREBUFFER_FORMAT_BLOB = 0x21,		/* width is in bytes; height, layers: 1 */
	AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420 = 0x23,	/* allocate makes NV12 */
	AHARDWAREBUFFER_FORMAT_R10G10B10A2_UNORM = 0x2b,
	AHARDWAREBUFFER_FORMAT_D16_UNORM = 0x30,
	AHARDWAREBUFFER_FORMAT_D24_UNORM = 0x31,
	AHARDWAREBUFFER_FORMAT_D24_UNORM_S8_UINT = 0x32,
	AHARDWAREBUFFER_FORMAT_D32_FLOAT = 0x33,
	AHARDWAREBUFFER_FORMAT_D32_FLOAT_S8_UINT = 0x34,
	AHARDWAREBUFFER_FORMAT_S8_UINT = 0x35,
	AHARDWAREBUFFER_FORMAT_YCbCr_P010 = 0x36,	/* uint16 with 10 bits, low bits 0 */
	AHARDWAREBUFFER_FORMAT_R8_UNORM = 0x38,
	AHARDWAREBUFFER_FORMAT_R16_UINT = 0x39,
	AHARDWAREBUFFER_FORMAT_R16G16_UINT = 0x3a,
	AHARDWAREBUFFER_FORMAT_R10G10B10A10_UNORM = 0x3b,
};

#define AHARDWAREBUFFER_USAGE_CPU_READ_NEVER		UINT64_C(0)
#define AHARDWAREBUFFER_USAGE_CPU_READ_RARELY		UINT64_C(2)
#define AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN		UINT64_C(3)
#define AHARDWAREBUFFER_USAGE_CPU_READ_MASK		UINT64_C(0xf)
#define AHARDWAREBUFFER_USAGE_CPU_WRITE_NEVER		(UINT64_C(0) << 4)
#define AHARDWAREBUFFER_USAGE_CPU_WRITE_RARELY		(UINT64_C(2) << 4)
#define AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN		(UINT64_C(3) << 4)
#define AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK		(UINT64_C(0xf) << 4)
#define AHARDWAREBUFFER_USAGE_GPU_SAMPLED_IMAGE		(UINT64_C(1) << 8)
#define AHARDWAREBUFFER_USAGE_GPU_FRAMEBUFFER		(UINT64_C(1) << 9)
#define AHARDWAREBUFFER_USAGE_GPU_COLOR_OUTPUT		AHARDWAREBUFFER_USAGE_GPU_FRAMEBUFFER
#define AHARDWAREBUFFER_USAGE_COMPOSER_OVERLAY		(UINT64_C(1) << 11)
#define AHARDWAREBUFFER_USAGE_PROTECTED_CONTENT		(UINT64_C(1) << 14)
#define AHARDWAREBUFFER_USAGE_VIDEO_ENCODE		(UINT64_C(1) << 16)
#define AHARDWAREBUFFER_USAGE_SENSOR_DIRECT_DATA	(UINT64_C(1) << 23)
#define AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER		(UINT64_C(1) << 24)
#define AHARDWAREBUFFER_USAGE_GPU_CUBE_MAP		(UINT64_C(1) << 25)
#define AHARDWAREBUFFER_USAGE_GPU_MIPMAP_COMPLETE	(UINT64_C(1) << 26)
#define AHARDWAREBUFFER_USAGE_FRONT_BUFFER		(UINT64_C(1) << 32)

typedef struct AHardwareBuffer_Desc {
	uint32_t width;		/* pixels */
	uint32_t height;	/* rows */
	uint32_t layers;	/* 1 */
	uint32_t format;	/* AHARDWAREBUFFER_FORMAT_ */
	uint64_t usage;		/* AHARDWAREBUFFER_USAGE_ */
	uint32_t stride;	/* pixels from one row to the next; ignored when allocating */
	uint32_t rfu0;		/* 0 */
	uint64_t rfu1;		/* 0 */
} AHardwareBuffer_Desc;

typedef struct AHardwareBuffer_Plane {
	void *data;
	uint32_t pixelStride;	/* bytes */
	uint32_t rowStride;	/* bytes */
} AHardwareBuffer_Plane;

typedef struct AHardwareBuffer_Planes {
	uint32_t planeCount;
	AHardwareBuffer_Plane planes[4];
} AHardwareBuffer_Planes;

/*
 * Allocates a buffer of zeroed memory from /dev/nnaccel. The calling user is charged for the
 * buffer's memory until the last reference to the buffer is gone. Without /dev/nnaccel the buffer's
 * memory is a memfd. The caller gets one reference to the buffer. Returns -EINVAL for a wrong
 * description, or -ENOMEM, -EDQUOT and other errors of the device.
 */
int AHardwareBuffer_allocate(const AHardwareBuffer_Desc *desc, AHardwareBuffer **outBuffer);
void AHardwareBuffer_acquire(AHardwareBuffer *buffer);
void AHardwareBuffer_release(AHardwareBuffer *buffer);

/* Returns a buffer's description, which includes the buffer's stride. */
void AHardwareBuffer_describe(const AHardwareBuffer *buffer, AHardwareBuffer_Desc *outDesc);

/* Returns 1 if AHardwareBuffer_allocate() would accept the description, otherwise 0. */
int AHardwareBuffer_isSupported(const AHardwareBuffer_Desc *desc);

/*
 * Begins an access of the CPU, which AHardwareBuffer_unlock() must end. Waits for other drivers'
 * fences and for `fence` (-1: none), and closes `fence`. `usage` is CPU_READ, CPU_WRITE or both.
 * The returned address is the start of the whole buffer, even if `rect` is only a part of it (NULL:
 * all). AHardwareBuffer_lockPlanes() returns the addresses of Y, Cb and Cr of an image with several
 * planes.
 */
int AHardwareBuffer_lock(AHardwareBuffer *buffer, uint64_t usage, int32_t fence, const ARect *rect,
			 void **outVirtualAddress);
int AHardwareBuffer_lockAndGetInfo(AHardwareBuffer *buffer, uint64_t usage, int32_t fence,
				   const ARect *rect, void **outVirtualAddress,
				   int32_t *outBytesPerPixel, int32_t *outBytesPerStride);
int AHardwareBuffer_lockPlanes(AHardwareBuffer *buffer, uint64_t usage, int32_t fence,
			       const ARect *rect, AHardwareBuffer_Planes *outPlanes);

/*
 * Ends an access of the CPU; the access has ended when AHardwareBuffer_unlock() returns. Sets
 * *fence to -1, unless `fence` is NULL.
 */
int AHardwareBuffer_unlock(AHardwareBuffer *buffer, int32_t *fence);

/* Send a buffer's memory over a unix socket, or receive a buffer's memory from a unix socket. */
int AHardwareBuffer_sendHandleToUnixSocket(const AHardwareBuffer *buffer, int socketFd);
int AHardwareBuffer_recvHandleFromUnixSocket(int socketFd, AHardwareBuffer **outBuffer);

/*
 * Returns the id of a buffer's memory. All buffers of the same memory have the same id. The id of a
 * buffer's memory is unique while the memory exists.
 */
int AHardwareBuffer_getId(const AHardwareBuffer *buffer, uint64_t *outId);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* ANDROID_HARDWARE_BUFFER_H */
