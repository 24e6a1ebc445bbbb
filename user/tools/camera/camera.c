/* SPDX-License-Identifier: MIT */
/* A V4L2 camera whose frames are dma-bufs. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/videodev2.h>

#include "camera.h"

#define MAX_DEVICES	64
#define FRAME_WAIT_MS	10000

static enum nn_status fail(const char *what, struct nn_error *err)
{
	return nn_fail(err, NN_DEVICE_UNAVAILABLE, "camera: %s: %s", what, strerror(errno));
}

/*
 * Returns whether the device is a camera; with only_vivid, whether the device is a camera of the
 * driver vivid.
 */
static bool is_camera(struct camera *c, bool only_vivid)
{
	struct v4l2_capability caps;

	if (ioctl(c->fd, VIDIOC_QUERYCAP, &caps) ||
	    !(caps.device_caps & V4L2_CAP_VIDEO_CAPTURE) || !(caps.device_caps & V4L2_CAP_STREAMING))
		return false;
	snprintf(c->driver, sizeof(c->driver), "%s", (char *)caps.driver);
	snprintf(c->card, sizeof(c->card), "%s", (char *)caps.card);
	return !only_vivid || !strcmp(c->driver, "vivid");
}

static enum nn_status find(struct camera *c, const char *path, struct nn_error *err)
{
	char name[32];

	if (path) {
		c->fd = open(path, O_RDWR | O_CLOEXEC);
		if (c->fd < 0)
			return fail(path, err);
		if (is_camera(c, false))
			return NN_OK;
		return nn_fail(err, NN_DEVICE_UNAVAILABLE, "camera: %s captures no video", path);
	}
	for (int i = 0; i < MAX_DEVICES; i++) {
		snprintf(name, sizeof(name), "/dev/video%d", i);
		c->fd = open(name, O_RDWR | O_CLOEXEC);
		if (c->fd < 0)
			continue;
		if (is_camera(c, true))
			return NN_OK;
		close(c->fd);
		c->fd = -1;
	}
	return nn_fail(err, NN_DEVICE_UNAVAILABLE,
		       "camera: no camera of the driver vivid: modprobe vivid, or give --video");
}

static enum nn_status set_format(struct camera *c, uint32_t width, uint32_t height,
				 struct nn_error *err)
{
	struct v4l2_format f = { .type = V4L2_BUF_TYPE_VIDEO_CAPTURE };

	f.fmt.pix.width = width;
	f.fmt.pix.height = height;
	f.fmt.pix.pixelformat = V4L2_PIX_FMT_NV12;
	f.fmt.pix.field = V4L2_FIELD_NONE;
	if (ioctl(c->fd, VIDIOC_S_FMT, &f))
		return fail("format", err);
	if (f.fmt.pix.pixelformat != V4L2_PIX_FMT_NV12)
		return nn_fail(err, NN_DEVICE_UNAVAILABLE, "camera: it cannot give frames in NV12");
	c->width = f.fmt.pix.width;
	c->height = f.fmt.pix.height;
	c->stride = f.fmt.pix.bytesperline;
	return NN_OK;
}

static void set_rate(struct camera *c, uint32_t fps)
{
	struct v4l2_streamparm p = { .type = V4L2_BUF_TYPE_VIDEO_CAPTURE };

	p.parm.capture.timeperframe.numerator = 1;
	p.parm.capture.timeperframe.denominator = fps;
	if (!ioctl(c->fd, VIDIOC_S_PARM, &p) && p.parm.capture.timeperframe.numerator)
		c->fps = p.parm.capture.timeperframe.denominator /
			 p.parm.capture.timeperframe.numerator;
}

static enum nn_status export_buffers(struct camera *c, struct nn_error *err)
{
	struct v4l2_requestbuffers request = {
		.count = CAMERA_BUFFERS,
		.type = V4L2_BUF_TYPE_VIDEO_CAPTURE,
		.memory = V4L2_MEMORY_MMAP,
	};

	if (ioctl(c->fd, VIDIOC_REQBUFS, &request))
		return fail("buffers", err);
	if (request.count != CAMERA_BUFFERS)
		return nn_fail(err, NN_DEVICE_UNAVAILABLE,
			       "camera: the driver gave %u buffers, needs %d", request.count,
			       CAMERA_BUFFERS);
	for (uint32_t i = 0; i < CAMERA_BUFFERS; i++) {
		struct v4l2_exportbuffer e = {
			.type = V4L2_BUF_TYPE_VIDEO_CAPTURE,
			.index = i,
			.flags = O_RDONLY | O_CLOEXEC,
		};

		if (ioctl(c->fd, VIDIOC_EXPBUF, &e))
			return fail("export of a buffer", err);
		c->buffers[i] = e.fd;
	}
	return NN_OK;
}

static enum nn_status start(struct camera *c, struct nn_error *err)
{
	int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
	enum nn_status status = NN_OK;

	for (uint32_t i = 0; i < CAMERA_BUFFERS && !status; i++)
		status = camera_put(c, &(struct camera_frame){ .index = i }, err);
	if (status)
		return status;
	if (ioctl(c->fd, VIDIOC_STREAMON, &type))
		return fail("start", err);
	c->streaming = true;
	return NN_OK;
}

enum nn_status camera_open(struct camera *c, const char *path, uint32_t width, uint32_t height,
			   uint32_t fps, struct nn_error *err)
{
	enum nn_status status;
	int input = 0;

	*c = (struct camera){ .fd = -1 };
	for (int i = 0; i < CAMERA_BUFFERS; i++)
		c->buffers[i] = -1;
	status = find(c, path, err);
	if (!status) {
		ioctl(c->fd, VIDIOC_S_INPUT, &input);
		status = set_format(c, width, height, err);
	}
	if (!status) {
		set_rate(c, fps);
		status = export_buffers(c, err);
	}
	return status ? status : start(c, err);
}

void camera_close(struct camera *c)
{
	int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;

	if (c->streaming)
		ioctl(c->fd, VIDIOC_STREAMOFF, &type);
	for (int i = 0; i < CAMERA_BUFFERS; i++)
		if (c->buffers[i] >= 0)
			close(c->buffers[i]);
	if (c->fd >= 0)
		close(c->fd);
}

enum nn_status camera_get(struct camera *c, struct camera_frame *frame, struct nn_error *err)
{
	struct v4l2_buffer b = {
		.type = V4L2_BUF_TYPE_VIDEO_CAPTURE,
		.memory = V4L2_MEMORY_MMAP,
	};
	struct pollfd poller = { .fd = c->fd, .events = POLLIN };

	if (poll(&poller, 1, FRAME_WAIT_MS) == 0)
		return nn_fail(err, NN_DEVICE_UNAVAILABLE, "camera: no frame within %d s",
			       FRAME_WAIT_MS / 1000);
	if (ioctl(c->fd, VIDIOC_DQBUF, &b))
		return fail("frame", err);
	*frame = (struct camera_frame){ b.index, b.sequence };
	return NN_OK;
}

enum nn_status camera_put(struct camera *c, const struct camera_frame *frame,
			  struct nn_error *err)
{
	struct v4l2_buffer b = {
		.type = V4L2_BUF_TYPE_VIDEO_CAPTURE,
		.memory = V4L2_MEMORY_MMAP,
		.index = frame->index,
	};

	return ioctl(c->fd, VIDIOC_QBUF, &b) ? fail("buffer", err) : NN_OK;
}

bool camera_set(struct camera *c, const char *control, int32_t value)
{
	struct v4l2_queryctrl query = { .id = V4L2_CTRL_FLAG_NEXT_CTRL };

	while (!ioctl(c->fd, VIDIOC_QUERYCTRL, &query)) {
		struct v4l2_control set = { query.id, value };

		if (!strcmp((char *)query.name, control))
			return !ioctl(c->fd, VIDIOC_S_CTRL, &set);
		query.id |= V4L2_CTRL_FLAG_NEXT_CTRL;
	}
	return false;
}
