/* SPDX-License-Identifier: MIT */
/*
 * An extension whose constructor makes a system call that the sandbox does not allow.
 */
#include <sys/socket.h>

#include <nnaccel/extension.h>

__attribute__((constructor)) static void construct(void)
{
	socket(AF_INET, SOCK_STREAM, 0);
}

NNX_EXPORT const struct nnx_extension nnaccel_extension = {
	.abi = NNX_ABI_VERSION,
	.size = sizeof(nnaccel_extension),
	.name = "com.example.crash",
};
