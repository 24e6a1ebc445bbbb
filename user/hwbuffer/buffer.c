/* SPDX-License-Identifier: MIT */
/*
 * AHardwareBuffer: made, counted, described, handed on.
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

int buffer_new(int fd, const AHardwareBuffer_Desc *desc,
	       const struct nna_hardware_layout *layout, AHardwareBuffer **buffer)
{
	AHardwareBuffer *b = calloc(1, sizeof(*b));

	if (!b) {
		close(fd);
		return -ENOMEM;
	}
	atomic_init(&b->users, 1);
	b->desc = *desc;
	b->desc.stride = layout->stride / layout->pixel_bytes;
	b->layout = *layout;
	b->fd = fd;
	pthread_mutex_init(&b->lock, NULL);
	*buffer = b;
	return 0;
}

/* Memory of the device: its dma-buf lives without the context that made it. */
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

/* A memfd that nobody can make shorter. */
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
	return error ? error : buffer_new(fd, &own, &layout, outBuffer);
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
	off_t size;
	uint64_t end;
	int error, own;

	if (!desc || !buffer)
		return -EINVAL;
	error = layout_init(desc, offset, stride, &layout, &end);
	if (error)
		return error;
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return -errno;
	/* Of a dma-buf this is the only way to know. */
	size = lseek(own, 0, SEEK_END);
	if (size < 0 || (uint64_t)size < end) {
		close(own);
		return -EINVAL;
	}
	return buffer_new(own, desc, &layout, buffer);
}

void AHardwareBuffer_acquire(AHardwareBuffer *buffer)
{
	atomic_fetch_add_explicit(&buffer->users, 1, memory_order_relaxed);
}

void AHardwareBuffer_release(AHardwareBuffer *buffer)
{
	if (!buffer || atomic_fetch_sub_explicit(&buffer->users, 1, memory_order_acq_rel) != 1)
		return;
	if (buffer->map)
		munmap(buffer->map, layout_end(&buffer->layout));
	close(buffer->fd);
	pthread_mutex_destroy(&buffer->lock);
	free(buffer);
}

void AHardwareBuffer_describe(const AHardwareBuffer *buffer, AHardwareBuffer_Desc *outDesc)
{
	*outDesc = buffer->desc;
}

int nna_hardware_buffer_fd(const AHardwareBuffer *buffer)
{
	return buffer->fd;
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
	if (fstat(buffer->fd, &st))
		return -errno;
	*outId = (uint64_t)st.st_dev << 32 ^ (uint64_t)st.st_ino;
	return 0;
}

/* ---- sockets ---- */

#define HANDLE_MAGIC 0x4248414e		/* "NAHB" */

/* What goes beside the fd; both ends are of one machine. */
struct handle {
	uint32_t magic;
	uint32_t stride;
	uint64_t offset;
	AHardwareBuffer_Desc desc;
};

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

int AHardwareBuffer_sendHandleToUnixSocket(const AHardwareBuffer *buffer, int socketFd)
{
	struct handle handle = { HANDLE_MAGIC, 0, 0, { 0, 0, 0, 0, 0, 0, 0, 0 } };
	struct iovec part = { &handle, sizeof(handle) };
	union control control = { .head = {
		.cmsg_len = CMSG_LEN(sizeof(int)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
	} };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	if (!buffer)
		return -EINVAL;
	handle.stride = buffer->layout.stride;
	handle.offset = buffer->layout.offset;
	handle.desc = buffer->desc;
	memcpy(CMSG_DATA(&control.head), &buffer->fd, sizeof(int));
	do {
		n = sendmsg(socketFd, &message, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == sizeof(handle) ? 0 : -EIO;
}

/*
 * Whether nobody can take away memory that a peer sent: touching what is gone would end this
 * process. A dma-buf has one size; a memfd has to be sealed; any other file can be cut.
 */
static bool is_lasting(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals >= 0)
		return seals & F_SEAL_SHRINK;
	return !fstat(fd, &st) && !S_ISREG(st.st_mode);
}

int AHardwareBuffer_recvHandleFromUnixSocket(int socketFd, AHardwareBuffer **outBuffer)
{
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
	int fd, error;
	ssize_t n;

	if (!outBuffer)
		return -EINVAL;
	do {
		n = recvmsg(socketFd, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	head = CMSG_FIRSTHDR(&message);
	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
	    head->cmsg_len != CMSG_LEN(sizeof(int)))
		return -EINVAL;
	memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	error = n != sizeof(handle) || handle.magic != HANDLE_MAGIC || !is_lasting(fd) ? -EINVAL :
		nna_hardware_buffer_from_fd(fd, &handle.desc, handle.offset, handle.stride,
					    outBuffer);
	close(fd);
	return error;
}
