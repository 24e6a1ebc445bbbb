/* SPDX-License-Identifier: MIT */
/* An extension whose constructor loops for ever. */
#include <nnaccel/extension.h>

__attribute__((constructor)) static void construct(void)
{
	for (volatile int i = 0; ; i = i + 1)
		;
}

NNX_EXPORT const struct nnx_extension nnaccel_extension = {
	.abi = NNX_ABI_VERSION,
	.size = sizeof(nnaccel_extension),
	.name = "com.example.endless",
};
