/* SPDX-License-Identifier: MIT */
/*
 * A camera of V4L2 whose frames are dma-bufs: captured into buffers of the
 * driver, which are exported once and then known by their index.
 */
#ifndef NN_CAMERA_CAMERA_H
#define NN_CAMERA_CAMERA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nnaccel/engine_model.h>

#define CAMERA_BUFFERS	4
#define CAMERA_FOURCC	0x3231564e	/* DRM_FORMAT_NV12 */

struct camera {
	int fd;
	char driver[16];
	char card[32];
	uint32_t width, height, stride;
	uint32_t fps;
	int buffers[CAMERA_BUFFERS];	/* dma-bufs */
	bool streaming;
};

struct camera_frame {
	uint32_t index;			/* of its buffer */
	uint32_t sequence;		/* frames that the camera made before it */
};

/*
 * Opens a camera, or (path NULL) the first one of the driver vivid, asks for
 * frames of about width x height of NV12 and starts it. Returns
 * NN_DEVICE_UNAVAILABLE if there is no such camera, or if it refuses.
 */
enum nn_status camera_open(struct camera *camera, const char *path, uint32_t width,
			   uint32_t height, uint32_t fps, struct nn_error *err);
void camera_close(struct camera *camera);

/* Waits for the next frame, which the caller must return. */
enum nn_status camera_get(struct camera *camera, struct camera_frame *frame, struct nn_error *err);
enum nn_status camera_put(struct camera *camera, const struct camera_frame *frame,
			  struct nn_error *err);

/* Sets a control by its name, as far as the camera has it. */
bool camera_set(struct camera *camera, const char *control, int32_t value);

/*
 * Returns the bytes of a buffer that a frame takes: the plane of Y, then that of Cb and Cr with the
 * same stride.
 */
static inline size_t camera_frame_bytes(const struct camera *camera)
{
	return (size_t)camera->stride * camera->height * 3 / 2;
}

/* Returns the offset of the second plane in a buffer. */
static inline size_t camera_chroma_offset(const struct camera *camera)
{
	return (size_t)camera->stride * camera->height;
}

#endif /* NN_CAMERA_CAMERA_H */
