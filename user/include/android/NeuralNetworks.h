/* SPDX-License-Identifier: MIT */
/*
 * The NNAPI up to feature level 8: build a model, compile it for devices, execute the compilation.
 * The interface is source and binary compatible with Android's NDK.
 *
 * Objects: if a function that creates an object fails, it sets its last parameter to NULL. The
 * _free functions accept NULL. A model must outlive its compilations and the models that refer to
 * it. A compilation must outlive its executions and bursts. A memory must outlive the models and
 * executions that use it.
 *
 * Results: each function that returns int returns a ResultCode. UNEXPECTED_NULL means that a
 * pointer must not be NULL, but is. BAD_STATE means that the object is not in the state that the
 * call requires. With NNACCEL_LOG=error (the default) each failed call writes a line to stderr.
 *
 * Threads: one thread at a time may change an object. Many threads may use a finished
 * model or compilation, and many may wait for an event.
 */
#ifndef ANDROID_NEURAL_NETWORKS_H
#define ANDROID_NEURAL_NETWORKS_H

#include <android/NeuralNetworksTypes.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- Runtime and devices ---- */

/* Returns the highest FeatureLevelCode for which this library has all operations. */
int64_t ANeuralNetworks_getRuntimeFeatureLevel(void);

/*
 * Returns the default loop timeout in ns: 2 s. A WHILE operation that runs longer than its loop
 * timeout ends with MISSED_DEADLINE_TRANSIENT.
 */
uint64_t ANeuralNetworks_getDefaultLoopTimeout(void);

/* Returns the longest loop timeout that can be set, in ns: 15 s. */
uint64_t ANeuralNetworks_getMaximumLoopTimeout(void);

/*
 * The list of devices is made at its first use and stays the same for the life of the process. The
 * last device is always the CPU, "nnapi-reference". BAD_DATA: no device has the index `devIndex`.
 */
int ANeuralNetworks_getDeviceCount(uint32_t *numDevices);
int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice **device);

/*
 * Return a device's name, version, DeviceTypeCode and FeatureLevelCode. Name and version stay valid
 * for the life of the process.
 */
int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice *device, const char **name);
int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice *device, const char **version);
int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice *device, int32_t *type);
int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice *device,
					  int64_t *featureLevel);

/* Waits until a device can be used. Returns DEAD_OBJECT or UNAVAILABLE_DEVICE if the wait fails. */
int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice *device);

/* ---- Memories ---- */

/*
 * Makes a memory of `size` bytes at `offset` of a file that can be mapped: a temporary file,
 * /dev/shm, a memfd, a dma-buf. `protect` is PROT_READ or PROT_READ | PROT_WRITE. The memory has
 * its own duplicate of `fd`. The first call that needs the file's contents maps the file, and
 * returns UNMAPPABLE if mapping fails. BAD_DATA: the size is 0, or the fd cannot be used.
 */
int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset,
				       ANeuralNetworksMemory **memory);

/*
 * Makes a memory from a hardware buffer, and holds a reference to the buffer. A buffer of the
 * format BLOB consists of bytes, like any memory. A buffer of any format except BLOB is an image.
 * An argument that is an image has offset and length 0, and its value is all rows of the image
 * without padding. A buffer that is an image cannot be a constant, and cannot be copied.
 */
int ANeuralNetworksMemory_createFromAHardwareBuffer(const AHardwareBuffer *ahwb,
						    ANeuralNetworksMemory **memory);

/*
 * Makes a memory for the roles of a finished description, on the device and in the layout that suit
 * these roles. The memory has no contents until an execution or ANeuralNetworksMemory_copy() writes
 * it. Returns OP_FAILED if the roles leave the size of the memory unknown. No process maps memory
 * that is made from a description. For values that the application reads or writes after each
 * execution, prefer ANeuralNetworksMemory_createFromFd(), which avoids a copy.
 */
int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc *desc,
					 ANeuralNetworksMemory **memory);

/*
 * Copies a whole memory to another memory of the same size. BAD_DATA: the source has no contents,
 * or the two memories differ in shape or size. If the copy fails, a destination that was made from
 * a description has no contents.
 */
int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory *src,
			       const ANeuralNetworksMemory *dst);

void ANeuralNetworksMemory_free(ANeuralNetworksMemory *memory);

/*
 * A description of a memory lists its roles: the inputs and outputs of finished compilations that
 * will use the memory. All roles of a description have the same type and shape. `frequency` in (0,
 * 1] is a hint how often the role is used. BAD_DATA: a role is repeated, a role's type or shape
 * differs from the other roles', or an index is out of range. A description without roles cannot be
 * finished.
 */
int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc **desc);
int ANeuralNetworksMemoryDesc_addInputRole(ANeuralNetworksMemoryDesc *desc,
					   const ANeuralNetworksCompilation *compilation,
					   uint32_t index, float frequency);
int ANeuralNetworksMemoryDesc_addOutputRole(ANeuralNetworksMemoryDesc *desc,
					    const ANeuralNetworksCompilation *compilation,
					    uint32_t index, float frequency);
int ANeuralNetworksMemoryDesc_setDimensions(ANeuralNetworksMemoryDesc *desc, uint32_t rank,
					    const uint32_t *dimensions);
int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc *desc);
void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc *desc);

/* ---- Models ---- */

int ANeuralNetworksModel_create(ANeuralNetworksModel **model);
void ANeuralNetworksModel_free(ANeuralNetworksModel *model);

/*
 * Finishes a model: sorts its operations and checks the whole model. Returns BAD_DATA for a cycle,
 * an operand that is read and never written, or another error that only the whole model shows. If
 * ANeuralNetworksModel_finish() fails, the model can only be freed.
 */
int ANeuralNetworksModel_finish(ANeuralNetworksModel *model);

/*
 * Adds an operand to a model; the first operand has index 0. BAD_DATA: a type, shape, scale or zero
 * point is wrong.
 */
int ANeuralNetworksModel_addOperand(ANeuralNetworksModel *model,
				    const ANeuralNetworksOperandType *type);

/*
 * Makes an operand constant. Values of up to 128 bytes are copied immediately. A value of more than
 * 128 bytes must stay unchanged until ANeuralNetworksModel_finish() has copied the value. A NULL
 * buffer with length 0 omits the operand. BAD_DATA: the length is not the operand's size.
 */
int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel *model, int32_t index,
					 const void *buffer, size_t length);

/*
 * Makes an operand constant, with its value in a memory. The model refers to the constant's memory
 * and never copies the value.
 */
int ANeuralNetworksModel_setOperandValueFromMemory(ANeuralNetworksModel *model, int32_t index,
						   const ANeuralNetworksMemory *memory,
						   size_t offset, size_t length);

/* Sets the finished model that an operand of type ANEURALNETWORKS_MODEL refers to. */
int ANeuralNetworksModel_setOperandValueFromModel(ANeuralNetworksModel *model, int32_t index,
						  const ANeuralNetworksModel *value);

/* Sets and copies the scales of an ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL operand. */
int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
	ANeuralNetworksModel *model, int32_t index,
	const ANeuralNetworksSymmPerChannelQuantParams *channelQuant);

/* Adds an operation between existing operands; operations may be added in any order. */
int ANeuralNetworksModel_addOperation(ANeuralNetworksModel *model,
				      ANeuralNetworksOperationType type, uint32_t inputCount,
				      const uint32_t *inputs, uint32_t outputCount,
				      const uint32_t *outputs);

/* Sets which operands are the model's inputs and outputs. */
int ANeuralNetworksModel_identifyInputsAndOutputs(ANeuralNetworksModel *model,
						  uint32_t inputCount, const uint32_t *inputs,
						  uint32_t outputCount, const uint32_t *outputs);

/* Sets whether float32 may be computed with the range and precision of float16. */
int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel *model,
							  bool allow);

/*
 * Sets supportedOps[i] to whether any of the devices can execute the operation that was added as
 * number i. BAD_DATA: the list `devices` is empty, or has a device twice.
 */
int ANeuralNetworksModel_getSupportedOperationsForDevices(
	const ANeuralNetworksModel *model, const ANeuralNetworksDevice *const *devices,
	uint32_t numDevices, bool *supportedOps);

/* ---- Compilations ---- */

/*
 * Creates a compilation for all devices. Each operation runs on the device that is fastest for the
 * operation, and on the CPU if that device fails.
 */
int ANeuralNetworksCompilation_create(ANeuralNetworksModel *model,
				      ANeuralNetworksCompilation **compilation);

/*
 * Creates a compilation for the given devices only. BAD_DATA: the list `devices` is empty, or has a
 * device twice.
 */
int ANeuralNetworksCompilation_createForDevices(ANeuralNetworksModel *model,
						const ANeuralNetworksDevice *const *devices,
						uint32_t numDevices,
						ANeuralNetworksCompilation **compilation);
void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation *compilation);

/*
 * Sets a directory for compiled models, and a token of 32 bytes that is unique to the model, such
 * as the SHA-256 of the model's file. If two models have the same token and the same inputs and
 * outputs, no call fails, but the second model computes the first model's results. See
 * Documentation/cache.rst.
 */
int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation *compilation,
					  const char *cacheDir, const uint8_t *token);

/*
 * Set a compilation's PreferenceCode or PriorityCode. BAD_DATA: the given value is not a
 * PreferenceCode or PriorityCode.
 */
int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation *compilation,
					     int32_t preference);
int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation *compilation,
					   int priority);

/*
 * Sets the longest time in ns that ANeuralNetworksCompilation_finish() may take; 0 for no limit.
 * BAD_DATA: the compilation is not for exactly one device.
 */
int ANeuralNetworksCompilation_setTimeout(ANeuralNetworksCompilation *compilation,
					  uint64_t duration);

/* Compiles the model. BAD_DATA: no device of the compilation can execute an operation. */
int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation *compilation);

/*
 * Return the alignment of an argument's address, or the padding of an argument's length, with which
 * the device accesses the argument fastest. An alignment or a padding is a power of two, in bytes.
 * BAD_DATA: the model has no input or output `index`.
 */
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(
	const ANeuralNetworksCompilation *compilation, uint32_t index, uint32_t *alignment);
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(
	const ANeuralNetworksCompilation *compilation, uint32_t index, uint32_t *padding);
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(
	const ANeuralNetworksCompilation *compilation, uint32_t index, uint32_t *alignment);
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(
	const ANeuralNetworksCompilation *compilation, uint32_t index, uint32_t *padding);

/* ---- Executions ---- */

int ANeuralNetworksExecution_create(ANeuralNetworksCompilation *compilation,
				    ANeuralNetworksExecution **execution);

/* Frees an execution; does nothing while the execution runs. */
void ANeuralNetworksExecution_free(ANeuralNetworksExecution *execution);

/*
 * Set an argument; `index` is the argument's position in the inputs or outputs that
 * ANeuralNetworksModel_identifyInputsAndOutputs() set. Each argument can be set once. If `type` is
 * NULL, the model's type is used; otherwise `type` completes the dimensions that the model left
 * unknown. A NULL buffer with length 0 omits the argument. If an argument is a memory made from a
 * description, its offset and length are 0. BAD_DATA: the argument's shape or length does not fit
 * the model's operand, or the argument exceeds the memory.
 */
int ANeuralNetworksExecution_setInput(ANeuralNetworksExecution *execution, int32_t index,
				      const ANeuralNetworksOperandType *type, const void *buffer,
				      size_t length);
int ANeuralNetworksExecution_setInputFromMemory(ANeuralNetworksExecution *execution,
						int32_t index,
						const ANeuralNetworksOperandType *type,
						const ANeuralNetworksMemory *memory,
						size_t offset, size_t length);
int ANeuralNetworksExecution_setOutput(ANeuralNetworksExecution *execution, int32_t index,
				       const ANeuralNetworksOperandType *type, void *buffer,
				       size_t length);
int ANeuralNetworksExecution_setOutputFromMemory(ANeuralNetworksExecution *execution,
						 int32_t index,
						 const ANeuralNetworksOperandType *type,
						 const ANeuralNetworksMemory *memory,
						 size_t offset, size_t length);

/*
 * Sets whether the device measures the execution's durations. BAD_DATA: the compilation is not for
 * exactly one device.
 */
int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution *execution, bool measure);

/*
 * Sets the longest time that an execution should take, in ns; 0 for no limit. BAD_DATA: the
 * compilation is not for exactly one device.
 */
int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution *execution, uint64_t duration);

/*
 * Sets how long each WHILE operation may run, in ns, up to ANeuralNetworks_getMaximumLoopTimeout().
 * If `duration` is 0, each WHILE operation times out.
 */
int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution *execution,
					    uint64_t duration);

/* Sets whether the execution may run more than once. */
int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution *execution, bool reusable);

/*
 * Allows lengths of arguments that exceed the operands' sizes. The application must allow such
 * lengths before it sets any argument.
 */
int ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution *execution,
							 bool enable);

/*
 * Run an execution. ANeuralNetworksExecution_compute() waits for the execution's end. The event of
 * startCompute() signals the execution's end. With burstCompute(), the execution runs in a burst.
 * With startComputeWithDependencies(), the execution starts once all `dependencies` have ended.
 * With startComputeWithDependencies(), the execution may take `duration` ns after its start (0: no
 * limit), and the shapes of its outputs must be known. An execution runs only once, unless it is
 * reusable. If an argument was not set, the call returns BAD_DATA. After OUTPUT_INSUFFICIENT_SIZE
 * the application can read the shapes of the outputs.
 */
int ANeuralNetworksExecution_compute(ANeuralNetworksExecution *execution);
int ANeuralNetworksExecution_startCompute(ANeuralNetworksExecution *execution,
					  ANeuralNetworksEvent **event);
int ANeuralNetworksExecution_burstCompute(ANeuralNetworksExecution *execution,
					  ANeuralNetworksBurst *burst);
int ANeuralNetworksExecution_startComputeWithDependencies(
	ANeuralNetworksExecution *execution, const ANeuralNetworksEvent *const *dependencies,
	uint32_t num_dependencies, uint64_t duration, ANeuralNetworksEvent **event);

/*
 * Returns the shape of an output after an execution. OUTPUT_INSUFFICIENT_SIZE: the output did not
 * fit its buffer, and the returned shape is the shape that the output needs. BAD_DATA: the output
 * is a scalar, which has no dimensions.
 */
int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution *execution,
						  int32_t index, uint32_t *rank);
int ANeuralNetworksExecution_getOutputOperandDimensions(ANeuralNetworksExecution *execution,
							int32_t index, uint32_t *dimensions);

/*
 * Returns a time of a measured execution, in ns; UINT64_MAX if the device did not measure this
 * time.
 */
int ANeuralNetworksExecution_getDuration(const ANeuralNetworksExecution *execution,
					 int32_t durationCode, uint64_t *duration);

/* ---- Bursts ---- */

/*
 * A burst runs one execution at a time. An execution that begins while its burst is busy returns
 * BAD_STATE.
 */
int ANeuralNetworksBurst_create(ANeuralNetworksCompilation *compilation,
				ANeuralNetworksBurst **burst);
void ANeuralNetworksBurst_free(ANeuralNetworksBurst *burst);

/* ---- Events ---- */

/*
 * Makes an event that signals when the given sync_file signals. The event has its own duplicate of
 * the fd. BAD_DATA: the fd is not open.
 */
int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent **event);

/*
 * Returns a duplicate of an event's sync_file, which the caller closes. BAD_DATA (and fd -1): the
 * event has no sync_file; events of executions on the CPU never have a sync_file. An error other
 * than BAD_DATA means that memory or fds ran out; the call may be repeated.
 */
int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent *event, int *sync_fence_fd);

/* Waits for the end of an event's execution and returns the execution's result. */
int ANeuralNetworksEvent_wait(ANeuralNetworksEvent *event);

/* Waits until the event's execution has ended, then frees the event. */
void ANeuralNetworksEvent_free(ANeuralNetworksEvent *event);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* ANDROID_NEURAL_NETWORKS_H */
