/* SPDX-License-Identifier: MIT */
/*
 * Vendor extensions of the NNAPI: operand types, operations and attributes that
 * a device defines under a name ("com.example.extension").
 */
#ifndef ANDROID_NEURAL_NETWORKS_EXTENSIONS_H
#define ANDROID_NEURAL_NETWORKS_EXTENSIONS_H

#include <android/NeuralNetworks.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Returns whether a device knows an extension. */
int ANeuralNetworksDevice_getExtensionSupport(const ANeuralNetworksDevice *device,
					      const char *extensionName,
					      bool *isExtensionSupported);

/*
 * Return the codes that an extension's operand type and operation have in this process. Return
 * BAD_DATA if no device knows the extension.
 */
int ANeuralNetworksModel_getExtensionOperandType(ANeuralNetworksModel *model,
						 const char *extensionName,
						 uint16_t operandCodeWithinExtension,
						 int32_t *type);
int ANeuralNetworksModel_getExtensionOperationType(ANeuralNetworksModel *model,
						   const char *extensionName,
						   uint16_t operationCodeWithinExtension,
						   ANeuralNetworksOperationType *type);

/*
 * Copies `length` bytes of data to an operand of an extension type. NULL with length 0 leaves the
 * operand without data.
 */
int ANeuralNetworksModel_setOperandExtensionData(ANeuralNetworksModel *model, int32_t index,
						 const void *data, size_t length);

/*
 * Adds an extension's attribute, a hint, to a compilation or an execution for exactly one device.
 * BAD_DATA: the extension is not known, the attribute is repeated, or the compilation is not for
 * exactly one device.
 */
int ANeuralNetworksCompilation_addExtensionAttribute(ANeuralNetworksCompilation *compilation,
						     const char *extensionName,
						     uint16_t attributeCodeWithinExtension,
						     const void *data, size_t length);
int ANeuralNetworksExecution_addExtensionAttribute(ANeuralNetworksExecution *execution,
						   const char *extensionName,
						   uint16_t attributeCodeWithinExtension,
						   const void *data, size_t length);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* ANDROID_NEURAL_NETWORKS_EXTENSIONS_H */
