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
 * Returns the default loop timeout in ns: 2 s. After it, a WHILE ends with
 * MISSED_DEADLINE_TRANSIENT.
 */
uint64_t ANeuralNetworks_getDefaultLoopTimeout(void);

/* Returns the longest loop timeout that can be set, in ns: 15 s. */
uint64_t ANeuralNetworks_getMaximumLoopTimeout(void);

/*
 * The list of devices is made at its first use and stays the same for the life of the process. The
 * last device is always the CPU, "nnapi-reference". BAD_DATA: there is no device with that index.
 */
int ANeuralNetworks_getDeviceCount(uint32_t *numDevices);
int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice **device);

/*
 * Return the name, the version, the DeviceTypeCode and the FeatureLevelCode. The strings stay valid
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
 * /dev/shm, a memfd, a dma-buf. `protect` is PROT_READ or PROT_READ | PROT_WRITE. The fd is
 * duplicated. The file is mapped by the first call that needs its contents; that call returns
 * UNMAPPABLE if mapping fails. BAD_DATA: the size is 0, or the fd is wrong.
 */
int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset,
				       ANeuralNetworksMemory **memory);

/*
 * Makes a memory from a buffer of <android/hardware_buffer.h>, and holds a reference to the buffer.
 * A buffer of the format BLOB consists of bytes, like any memory. A buffer of another format is an
 * image: an argument uses the whole image, with offset and length 0, and the argument's value is
 * the rows without padding. An image cannot be a constant, and cannot be copied.
 */
int ANeuralNetworksMemory_createFromAHardwareBuffer(const AHardwareBuffer *ahwb,
						    ANeuralNetworksMemory **memory);

/*
 * Makes a memory for the roles of a finished description, in the place and layout that suit these
 * roles. The memory has no contents until an execution or ANeuralNetworksMemory_copy() writes it.
 * Returns OP_FAILED if the size of the memory is not known. No process maps this memory. If the
 * application reads or writes the values after each execution, memory of
 * ANeuralNetworksMemory_createFromFd() avoids a copy.
 */
int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc *desc,
					 ANeuralNetworksMemory **memory);

/*
 * Copies a whole memory to another memory of the same size. BAD_DATA: the source has no contents,
 * or shapes or sizes differ. If the copy fails, a destination that was made from a description has
 * no contents.
 */
int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory *src,
			       const ANeuralNetworksMemory *dst);

void ANeuralNetworksMemory_free(ANeuralNetworksMemory *memory);

/*
 * A description of a memory lists its roles: the inputs and outputs of finished compilations that
 * will use it. All roles have the same type and shape. `frequency` in (0, 1] is a hint how often
 * the role is used. BAD_DATA: a role is repeated or does not agree with the others, or an index is
 * wrong. A description needs at least one role before it can be finished.
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
 * this fails, the model can only be freed.
 */
int ANeuralNetworksModel_finish(ANeuralNetworksModel *model);

/*
 * Adds an operand; the first one has index 0. BAD_DATA: a type, shape, scale or zero point is
 * wrong.
 */
int ANeuralNetworksModel_addOperand(ANeuralNetworksModel *model,
				    const ANeuralNetworksOperandType *type);

/*
 * Makes an operand constant. Values of up to 128 bytes are copied immediately. Larger values must
 * stay unchanged until ANeuralNetworksModel_finish() has copied them. A NULL buffer with length 0
 * omits the operand. BAD_DATA: the length is not the operand's.
 */
int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel *model, int32_t index,
					 const void *buffer, size_t length);

/*
 * Makes an operand constant, with its value in a memory. The model refers to the memory and never
 * copies it.
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
 * Sets supportedOps for each operation, in the order in which they were added: whether any of the
 * devices can execute it. BAD_DATA: no device is given, or a device twice.
 */
int ANeuralNetworksModel_getSupportedOperationsForDevices(
	const ANeuralNetworksModel *model, const ANeuralNetworksDevice *const *devices,
	uint32_t numDevices, bool *supportedOps);

/* ---- Compilations ---- */

/*
 * Creates a compilation for all devices: each operation runs on the device that is fastest for it,
 * and on the CPU if that device fails.
 */
int ANeuralNetworksCompilation_create(ANeuralNetworksModel *model,
				      ANeuralNetworksCompilation **compilation);

/*
 * Creates a compilation for the given devices only. BAD_DATA: no device is given, or a device
 * twice.
 */
int ANeuralNetworksCompilation_createForDevices(ANeuralNetworksModel *model,
						const ANeuralNetworksDevice *const *devices,
						uint32_t numDevices,
						ANeuralNetworksCompilation **compilation);
void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation *compilation);

/*
 * Sets a directory for compiled models, and a token of 32 bytes that is unique to this model, such
 * as the SHA-256 of the model's file. If two models have the same token and the same arguments, no
 * call fails, but the second model computes the values of the first one. See
 * Documentation/cache.rst.
 */
int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation *compilation,
					  const char *cacheDir, const uint8_t *token);

/* Set a PreferenceCode and a PriorityCode. BAD_DATA: the value is no such code. */
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
 * Return the alignment of the address and the padding of the length, in bytes, with which an input
 * or output is fastest. Both are powers of two. BAD_DATA: the index is wrong.
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

/* Frees an execution. While the execution runs, the call does nothing. */
void ANeuralNetworksExecution_free(ANeuralNetworksExecution *execution);

/*
 * Set an argument; `index` is its position in a list of
 * ANeuralNetworksModel_identifyInputsAndOutputs(). Each argument can be set once. If `type` is
 * NULL, the model's type is used; otherwise `type` completes the dimensions that the model left
 * unknown. A NULL buffer with length 0 omits the argument. Memory made from a description is used
 * whole, with offset and length 0. BAD_DATA: the shape or the length does not fit, or bytes are
 * outside the memory.
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

/* Sets whether times are measured. BAD_DATA: the compilation is not for exactly one device. */
int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution *execution, bool measure);

/*
 * Sets the longest time that an execution should take, in ns; 0 for no limit. BAD_DATA: the
 * compilation is not for exactly one device.
 */
int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution *execution, uint64_t duration);

/*
 * Sets the longest time of each WHILE, in ns, up to ANeuralNetworks_getMaximumLoopTimeout(). With 0
 * each WHILE times out.
 */
int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution *execution,
					    uint64_t duration);

/* Sets whether the execution may run more than once. */
int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution *execution, bool reusable);

/*
 * Allows lengths of arguments that exceed the operands' sizes. The call must come before any
 * argument is set.
 */
int ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution *execution,
							 bool enable);

/*
 * Run an execution. With compute(), the call waits for the end. With startCompute(), the returned
 * event signals the end. With burstCompute(), the execution runs in a burst. With
 * startComputeWithDependencies(), it starts once all `dependencies` have ended, and may take
 * `duration` ns from then on (0: no limit); the shapes of outputs must be known. An execution runs
 * only once, unless it is reusable. The functions return BAD_DATA if an argument is not set. After
 * OUTPUT_INSUFFICIENT_SIZE the shapes of outputs can be read.
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
 * fit, and the returned shape is the one it needs. BAD_DATA: the output is a scalar, which has no
 * dimensions.
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
 * A burst runs one execution at a time. While one runs, another execution in the burst returns
 * BAD_STATE.
 */
int ANeuralNetworksBurst_create(ANeuralNetworksCompilation *compilation,
				ANeuralNetworksBurst **burst);
void ANeuralNetworksBurst_free(ANeuralNetworksBurst *burst);

/* ---- Events ---- */

/*
 * Makes an event that signals when a sync_file does. The fd is duplicated. BAD_DATA: the fd is
 * wrong.
 */
int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent **event);

/*
 * Returns a duplicate of an event's sync_file, which the caller closes. BAD_DATA (and fd -1): the
 * event has no sync_file; events of executions on the CPU never have one. Any other error means
 * that memory or fds ran out; the call may be repeated.
 */
int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent *event, int *sync_fence_fd);

/* Waits for the end of an event's execution and returns the execution's result. */
int ANeuralNetworksEvent_wait(ANeuralNetworksEvent *event);

/* Frees an event; waits until its execution has ended. */
void ANeuralNetworksEvent_free(ANeuralNetworksEvent *event);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* ANDROID_NEURAL_NETWORKS_H */
