/* SPDX-License-Identifier: MIT */
/*
 * A V4L2 camera whose frames are dma-bufs. The camera captures frames into the driver's buffers,
 * which are exported once and then identified by their index.
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
	uint32_t index;			/* index of the frame's buffer */
	uint32_t sequence;		/* number of frames that the camera captured before */
};

/*
 * Opens a camera, or the first camera of the driver vivid if path is NULL. Requests NV12 frames of
 * about width x height, and starts the camera. Returns NN_DEVICE_UNAVAILABLE if the camera does not
 * exist or rejects the request.
 */
enum nn_status camera_open(struct camera *camera, const char *path, uint32_t width,
			   uint32_t height, uint32_t fps, struct nn_error *err);
void camera_close(struct camera *camera);

/* Waits for the next frame, which the caller must return with camera_put(). */
enum nn_status camera_get(struct camera *camera, struct camera_frame *frame, struct nn_error *err);
enum nn_status camera_put(struct camera *camera, const struct camera_frame *frame,
			  struct nn_error *err);

/* Sets the camera's control of the given name, if the camera has the control. */
bool camera_set(struct camera *camera, const char *control, int32_t value);

/*
 * Returns the number of bytes of a frame in a buffer: the plane of Y, then the plane of Cb and Cr
 * with the same stride.
 */
static inline size_t camera_frame_bytes(const struct camera *camera)
{
	return (size_t)camera->stride * camera->height * 3 / 2;
}

static inline size_t camera_chroma_offset(const struct camera *camera)
{
	return (size_t)camera->stride * camera->height;
}

#endif /* NN_CAMERA_CAMERA_H */
