/* SPDX-License-Identifier: MIT */
/*
 * Vendor extensions: as no device has any, their names are not known and their
 * types and operations are refused.
 */
#include <android/NeuralNetworksExtensions.h>

#include "runtime/execution.h"
#include "runtime/log.h"
#include "runtime/operand.h"

static int unknown_extension(const char *name, struct nn_error *err)
{
	return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "no device has the extension %s", name);
}

int ANeuralNetworksDevice_getExtensionSupport(const ANeuralNetworksDevice *device,
					      const char *extensionName,
					      bool *isExtensionSupported)
{
	RT_NOT_NULL(device);
	RT_NOT_NULL(extensionName);
	RT_NOT_NULL(isExtensionSupported);
	*isExtensionSupported = false;
	return ANEURALNETWORKS_NO_ERROR;
}

int ANeuralNetworksModel_getExtensionOperandType(ANeuralNetworksModel *model,
						 const char *extensionName,
						 uint16_t operandCodeWithinExtension,
						 int32_t *type)
{
	struct nn_error err = { "" };

	(void)operandCodeWithinExtension;
	RT_NOT_NULL(model);
	RT_NOT_NULL(extensionName);
	RT_NOT_NULL(type);
	return rt_end(unknown_extension(extensionName, &err), &err);
}

int ANeuralNetworksModel_getExtensionOperationType(ANeuralNetworksModel *model,
						   const char *extensionName,
						   uint16_t operationCodeWithinExtension,
						   ANeuralNetworksOperationType *type)
{
	struct nn_error err = { "" };

	(void)operationCodeWithinExtension;
	RT_NOT_NULL(model);
	RT_NOT_NULL(extensionName);
	RT_NOT_NULL(type);
	return rt_end(unknown_extension(extensionName, &err), &err);
}

/* No operand can be of an extension's type: each index is refused for one reason or another. */
static int refuse_data(const ANeuralNetworksModel *model, int32_t index, size_t length,
		       struct nn_error *err)
{
	if (model->finished || model->invalid)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "the model is finished or invalid");
	if (index < 0 || (uint32_t)index >= model->num_operands)
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA, "operand %d of %u", index,
			       model->num_operands);
	return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
		       "operand %d (%s): %zu bytes for what is not of an extension's type", index,
		       nn_type_name(model->operands[index].type), length);
}

int ANeuralNetworksModel_setOperandExtensionData(ANeuralNetworksModel *model, int32_t index,
						 const void *data, size_t length)
{
	struct nn_error err = { "" };

	RT_NOT_NULL(model);
	if (!data && length)
		return rt_refuse(ANEURALNETWORKS_UNEXPECTED_NULL,
				 "operand %d: NULL and a length of %zu", index, length);
	return rt_end(refuse_data(model, index, length, &err), &err);
}

static int refuse_attribute(const ANeuralNetworksCompilation *compilation, bool is_configuring,
			    const char *name, struct nn_error *err)
{
	if (!is_configuring)
		return rt_fail(err, ANEURALNETWORKS_BAD_STATE, "it is finished or started");
	if (!compilation_has_one_device(compilation))
		return rt_fail(err, ANEURALNETWORKS_BAD_DATA,
			       "an attribute needs a compilation for exactly one device");
	return unknown_extension(name, err);
}

int ANeuralNetworksCompilation_addExtensionAttribute(ANeuralNetworksCompilation *compilation,
						     const char *extensionName,
						     uint16_t attributeCodeWithinExtension,
						     const void *data, size_t length)
{
	struct nn_error err = { "" };

	(void)attributeCodeWithinExtension;
	RT_NOT_NULL(compilation);
	RT_NOT_NULL(extensionName);
	if (!data && length)
		return rt_refuse(ANEURALNETWORKS_UNEXPECTED_NULL, "NULL and a length of %zu",
				 length);
	return rt_end(refuse_attribute(compilation, !compilation->finished, extensionName, &err),
		      &err);
}

int ANeuralNetworksExecution_addExtensionAttribute(ANeuralNetworksExecution *execution,
						   const char *extensionName,
						   uint16_t attributeCodeWithinExtension,
						   const void *data, size_t length)
{
	bool is_configuring;
	struct nn_error err = { "" };

	(void)attributeCodeWithinExtension;
	RT_NOT_NULL(execution);
	RT_NOT_NULL(extensionName);
	if (!data && length)
		return rt_refuse(ANEURALNETWORKS_UNEXPECTED_NULL, "NULL and a length of %zu",
				 length);
	is_configuring = execution->state == EXECUTION_CONFIGURING;
	return rt_end(refuse_attribute(execution->compilation, is_configuring, extensionName,
				       &err), &err);
}
