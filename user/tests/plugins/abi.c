/* SPDX-License-Identifier: MIT */
/*
 * An extension that was built for another version of the plug-in interface.
 */
#include <nnaccel/extension.h>

NNX_EXPORT const struct nnx_extension nnaccel_extension = {
	.abi = NNX_ABI_VERSION + 1,
	.size = sizeof(nnaccel_extension),
	.name = "com.example.later",
};
