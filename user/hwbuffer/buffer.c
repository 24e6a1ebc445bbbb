/* SPDX-License-Identifier: MIT */
/*
 * AHardwareBuffer: allocates buffers, counts references, describes buffers, and sends buffers to
 * other processes.
 */
#define _GNU_SOURCE
#include "hwbuffer/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nnaccel/nnaccel.h>

/* Adds the file of a plane to the buffer, unless another plane already has this file. */
static int add_file(AHardwareBuffer *b, uint32_t plane)
{
	uint64_t end = layout_plane_end(&b->layout.planes[plane]);
	struct stat new, old;
	uint32_t i;
	off_t size;
	int fd;

	fd = fcntl(b->layout.planes[plane].fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0 || fstat(fd, &new)) {
		int error = errno;

		if (fd >= 0)
			close(fd);
		return -error;
	}
	for (i = 0; i < b->num_files; i++)
		if (!fstat(b->files[i].fd, &old) && old.st_dev == new.st_dev &&
		    old.st_ino == new.st_ino)
			break;
	if (i == b->num_files)
		b->files[b->num_files++].fd = fd;
	else
		close(fd);
	b->file_of[plane] = i;
	b->layout.planes[plane].fd = b->files[i].fd;
	if (end > b->files[i].size)
		b->files[i].size = end;
	/*
	 * Get the size by lseek() only for dma-bufs. For a regular file lseek() would also move the
	 * file offset of the application's descriptor.
	 */
	size = S_ISREG(new.st_mode) ? new.st_size : lseek(b->files[i].fd, 0, SEEK_END);
	return size < 0 || (uint64_t)size < end ? -EINVAL : 0;
}

int buffer_new(const AHardwareBuffer_Desc *desc, const struct nna_hardware_layout *layout,
	       AHardwareBuffer **buffer)
{
	AHardwareBuffer *b = calloc(1, sizeof(*b));
	int error = 0;

	if (!b)
		return -ENOMEM;
	atomic_init(&b->users, 1);
	b->desc = *desc;
	b->desc.stride = layout->planes[0].stride / layout->pixel_bytes;
	b->layout = *layout;
	pthread_mutex_init(&b->lock, NULL);
	for (uint32_t i = 0; i < layout->num_planes && !error; i++)
		error = add_file(b, i);
	if (error)
		AHardwareBuffer_release(b);
	else
		*buffer = b;
	return error;
}

/* Makes a buffer like buffer_new(), with all planes in the file `fd`. */
static int buffer_new_in(int fd, const AHardwareBuffer_Desc *desc,
			 struct nna_hardware_layout *layout, AHardwareBuffer **buffer)
{
	for (uint32_t i = 0; i < layout->num_planes; i++)
		layout->planes[i].fd = fd;
	return buffer_new(desc, layout, buffer);
}

/*
 * Allocates device memory as a dma-buf. The device may be closed, because the dma-buf stays valid.
 */
static int allocate_on_device(uint64_t size, int *fd)
{
	struct nna_device *device = NULL;
	struct nna_memory *memory = NULL;
	enum nn_status status;

	if (nna_device_open(NULL, &device, NULL))
		return -ENODEV;
	status = nna_memory_alloc(device, size, &memory, NULL);
	if (!status)
		status = nna_memory_export(memory, fd, NULL);
	nna_memory_free(memory);
	nna_device_close(device);
	if (!status)
		return 0;
	return status == NN_RESOURCE_EXHAUSTED_TRANSIENT ||
	       status == NN_RESOURCE_EXHAUSTED_PERSISTENT ? -ENOMEM : -EIO;
}

/* Makes a memfd that is sealed against shrinking. */
static int allocate_memfd(uint64_t size, int *fd)
{
	*fd = memfd_create("AHardwareBuffer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return -errno;
	if (ftruncate(*fd, (off_t)size) || fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)) {
		int error = errno;

		close(*fd);
		return -error;
	}
	return 0;
}

int AHardwareBuffer_allocate(const AHardwareBuffer_Desc *desc, AHardwareBuffer **outBuffer)
{
	struct nna_hardware_layout layout;
	AHardwareBuffer_Desc own;
	uint64_t size;
	int error, fd;

	if (!desc || !outBuffer)
		return -EINVAL;
	own = *desc;
	own.stride = 0;
	error = layout_init(&own, 0, 0, &layout, &size);
	if (error)
		return error;
	error = allocate_on_device(size, &fd);
	if (error == -ENODEV)
		error = allocate_memfd(size, &fd);
	if (error)
		return error;
	error = buffer_new_in(fd, &own, &layout, outBuffer);
	close(fd);
	return error;
}

int AHardwareBuffer_isSupported(const AHardwareBuffer_Desc *desc)
{
	struct nna_hardware_layout layout;
	AHardwareBuffer_Desc own;
	uint64_t size;

	if (!desc)
		return 0;
	own = *desc;
	own.stride = 0;
	return !layout_init(&own, 0, 0, &layout, &size);
}

int nna_hardware_buffer_from_fd(int fd, const AHardwareBuffer_Desc *desc, uint64_t offset,
				uint32_t stride, AHardwareBuffer **buffer)
{
	struct nna_hardware_layout layout;
	uint64_t end;
	int error;

	if (!desc || !buffer)
		return -EINVAL;
	error = layout_init(desc, offset, stride, &layout, &end);
	return error ? error : buffer_new_in(fd, desc, &layout, buffer);
}

int nna_hardware_buffer_from_planes(const struct nna_hardware_image *image,
				    AHardwareBuffer **buffer)
{
	AHardwareBuffer_Desc desc = { .layers = 1 };
	struct nna_hardware_layout layout;
	int error;

	if (!image || !buffer)
		return -EINVAL;
	error = layout_init_image(image, &layout);
	if (error)
		return error;
	desc.width = image->width;
	desc.height = image->height;
	desc.format = layout_find_fourcc(image->fourcc)->format;
	desc.usage = image->usage;
	return buffer_new(&desc, &layout, buffer);
}

void AHardwareBuffer_acquire(AHardwareBuffer *buffer)
{
	atomic_fetch_add_explicit(&buffer->users, 1, memory_order_relaxed);
}

void AHardwareBuffer_release(AHardwareBuffer *buffer)
{
	if (!buffer || atomic_fetch_sub_explicit(&buffer->users, 1, memory_order_acq_rel) != 1)
		return;
	for (uint32_t i = 0; i < buffer->num_files; i++) {
		if (buffer->files[i].map)
			munmap(buffer->files[i].map, buffer->files[i].size);
		close(buffer->files[i].fd);
	}
	pthread_mutex_destroy(&buffer->lock);
	free(buffer);
}

void AHardwareBuffer_describe(const AHardwareBuffer *buffer, AHardwareBuffer_Desc *outDesc)
{
	*outDesc = buffer->desc;
}

int nna_hardware_buffer_fd(const AHardwareBuffer *buffer)
{
	return buffer->files[0].fd;
}

void nna_hardware_buffer_layout(const AHardwareBuffer *buffer, struct nna_hardware_layout *layout)
{
	*layout = buffer->layout;
}

int AHardwareBuffer_getId(const AHardwareBuffer *buffer, uint64_t *outId)
{
	struct stat st;

	if (!buffer || !outId)
		return -EINVAL;
	if (fstat(buffer->files[0].fd, &st))
		return -errno;
	*outId = (uint64_t)st.st_dev << 32 ^ (uint64_t)st.st_ino;
	return 0;
}

/* ---- sockets ---- */

#define HANDLE_MAGIC 0x4248414e		/* "NAHB" */

/*
 * The message that describes a buffer; a process sends it with the fds, one for each plane. Sender
 * and receiver run on the same machine.
 */
struct handle {
	uint32_t magic;
	struct nna_hardware_layout layout;
	AHardwareBuffer_Desc desc;
};

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(NNA_HARDWARE_PLANES * sizeof(int))];
};

int AHardwareBuffer_sendHandleToUnixSocket(const AHardwareBuffer *buffer, int socketFd)
{
	struct iovec part;
	union control control;
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
	};
	struct handle handle;
	size_t fds;
	ssize_t n;

	if (!buffer)
		return -EINVAL;
	/* Clear the whole message, because its padding is also sent. */
	memset(&handle, 0, sizeof(handle));
	memset(&control, 0, sizeof(control));
	handle.magic = HANDLE_MAGIC;
	handle.layout = buffer->layout;
	handle.desc = buffer->desc;
	part = (struct iovec){ &handle, sizeof(handle) };
	fds = buffer->layout.num_planes * sizeof(int);
	control.head = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(fds),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
	};
	for (uint32_t i = 0; i < buffer->layout.num_planes; i++)
		memcpy(CMSG_DATA(&control.head) + i * sizeof(int), &buffer->layout.planes[i].fd,
		       sizeof(int));
	message.msg_controllen = CMSG_SPACE(fds);
	do {
		n = sendmsg(socketFd, &message, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == sizeof(handle) ? 0 : -EIO;
}

/*
 * Returns whether memory from another process cannot be truncated; access beyond the end of a file
 * would kill this process. A dma-buf never changes its size, and a sealed memfd cannot shrink.
 * All other files can be truncated.
 */
static bool is_lasting(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals >= 0)
		return seals & F_SEAL_SHRINK;
	return !fstat(fd, &st) && !S_ISREG(st.st_mode);
}

/* Makes the buffer that a received message describes, with the same checks as for a new buffer. */
static int take_handle(const struct handle *handle, const int *fds, size_t num_fds,
		       AHardwareBuffer **buffer)
{
	struct nna_hardware_image image = {
		.fourcc = handle->layout.fourcc,
		.width = handle->layout.width,
		.height = handle->layout.height,
		.num_planes = handle->layout.num_planes,
		.usage = handle->desc.usage,
	};

	if (handle->magic != HANDLE_MAGIC || !num_fds || num_fds > NNA_HARDWARE_PLANES ||
	    image.num_planes != num_fds)
		return -EINVAL;
	for (size_t i = 0; i < num_fds; i++)
		if (!is_lasting(fds[i]))
			return -EINVAL;
	if (!image.fourcc)
		return nna_hardware_buffer_from_fd(fds[0], &handle->desc,
						   handle->layout.planes[0].offset,
						   handle->layout.planes[0].stride, buffer);
	for (size_t i = 0; i < num_fds; i++) {
		image.planes[i] = handle->layout.planes[i];
		image.planes[i].fd = fds[i];
	}
	return nna_hardware_buffer_from_planes(&image, buffer);
}

int AHardwareBuffer_recvHandleFromUnixSocket(int socketFd, AHardwareBuffer **outBuffer)
{
	int fds[NNA_HARDWARE_PLANES], error;
	struct handle handle;
	struct iovec part = { &handle, sizeof(handle) };
	union control control;
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *head;
	size_t num_fds;
	ssize_t n;

	if (!outBuffer)
		return -EINVAL;
	do {
		n = recvmsg(socketFd, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	head = CMSG_FIRSTHDR(&message);
	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
		return -EINVAL;
	num_fds = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(head), num_fds * sizeof(int));
	error = n == sizeof(handle) ? take_handle(&handle, fds, num_fds, outBuffer) : -EINVAL;
	while (num_fds)
		close(fds[--num_fds]);
	return error;
}
