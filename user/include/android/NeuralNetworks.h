/* SPDX-License-Identifier: MIT */
/*
 * The NNAPI up to feature level 8: build a model, compile it for devices,
 * execute the compilation. Source and binary compatible with Android's NDK.
 *
 * Objects: functions that create one leave NULL in their last parameter when
 * they fail; the _free functions take NULL. A model must outlive its
 * compilations and the models that refer to it, a compilation its executions and
 * bursts, a memory the models and executions that use it.
 *
 * Results: every function that returns int returns a ResultCode. UNEXPECTED_NULL
 * means that a pointer is NULL and must not be. BAD_STATE means that the object is
 * not in the state that the call needs. With NNACCEL_LOG=error (the default) each
 * failed call writes a line to stderr.
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

/* The highest FeatureLevelCode all of whose operations this library has. */
int64_t ANeuralNetworks_getRuntimeFeatureLevel(void);

/* Time after which a WHILE ends with MISSED_DEADLINE_TRANSIENT, unless set: 2 s, in ns. */
uint64_t ANeuralNetworks_getDefaultLoopTimeout(void);

/* The longest loop timeout that can be set: 15 s, in ns. */
uint64_t ANeuralNetworks_getMaximumLoopTimeout(void);

/*
 * The devices are fixed at first use and the same for the life of the process; the last one is
 * always the CPU, "nnapi-reference". BAD_DATA: there is no device with that index.
 */
int ANeuralNetworks_getDeviceCount(uint32_t *numDevices);
int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice **device);

/* Name, version (both live as long as the process), DeviceTypeCode, FeatureLevelCode. */
int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice *device, const char **name);
int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice *device, const char **version);
int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice *device, int32_t *type);
int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice *device,
					  int64_t *featureLevel);

/*
 * Waits until a device can be used. Returns DEAD_OBJECT or UNAVAILABLE_DEVICE if it cannot be used.
 */
int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice *device);

/* ---- Memories ---- */

/*
 * Makes a memory of `size` bytes at `offset` of a file that can be mapped: a temporary file,
 * /dev/shm, a memfd, a dma-buf. `protect` is PROT_READ or PROT_READ | PROT_WRITE. The fd is
 * duplicated. The file is mapped when first needed; if that fails, the call returns UNMAPPABLE.
 * BAD_DATA: the size is 0, or the fd is wrong.
 */
int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset,
				       ANeuralNetworksMemory **memory);

/*
 * Makes a memory of a buffer of <android/hardware_buffer.h>, and holds a reference to that. A BLOB
 * consists of bytes, like any memory. A buffer of another format is an image: an argument uses it
 * whole, with offset and length 0, and its value is the rows without padding. An image cannot be a
 * constant, and cannot be copied.
 */
int ANeuralNetworksMemory_createFromAHardwareBuffer(const AHardwareBuffer *ahwb,
						    ANeuralNetworksMemory **memory);

/*
 * Makes a memory in the place and layout that suits the roles of a finished description. It has no
 * contents before an execution or ANeuralNetworksMemory_copy() wrote it. Returns OP_FAILED if its
 * size is not known. No process maps this memory. If the application reads or writes the values
 * after each execution, ANeuralNetworksMemory_createFromFd() saves a copy.
 */
int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc *desc,
					 ANeuralNetworksMemory **memory);

/*
 * Copies the whole of a memory to another of the same size. BAD_DATA: a source
 * without contents, or shapes or sizes that differ. After a failure a destination
 * made from a description has no contents.
 */
int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory *src,
			       const ANeuralNetworksMemory *dst);

void ANeuralNetworksMemory_free(ANeuralNetworksMemory *memory);

/*
 * A description of a memory: roles as inputs and outputs of finished compilations, of one type and
 * shape. `frequency` in (0, 1] hints how often the role is used. BAD_DATA: a repeated role, a role
 * that does not agree with the others, or a bad index. finish needs at least one role.
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
 * Ends the building: sorts the operations and checks the whole model. Returns BAD_DATA
 * for a cycle, an operand that is read and never written, or another fault that only
 * shows in the whole model. A refused model can only be freed.
 */
int ANeuralNetworksModel_finish(ANeuralNetworksModel *model);

/* Adds an operand; the first is 0. BAD_DATA: a type, shape, scale or zero point is not valid. */
int ANeuralNetworksModel_addOperand(ANeuralNetworksModel *model,
				    const ANeuralNetworksOperandType *type);

/*
 * Makes an operand constant. Values of up to 128 bytes are copied at once; larger ones must stay
 * unchanged until ANeuralNetworksModel_finish() has copied them. NULL and 0 omit the operand.
 * BAD_DATA: a length other than the operand's.
 */
int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel *model, int32_t index,
					 const void *buffer, size_t length);

/* Makes an operand constant, its value in a memory that is referred to and never copied. */
int ANeuralNetworksModel_setOperandValueFromMemory(ANeuralNetworksModel *model, int32_t index,
						   const ANeuralNetworksMemory *memory,
						   size_t offset, size_t length);

/* Gives an operand of type ANEURALNETWORKS_MODEL the finished model that it stands for. */
int ANeuralNetworksModel_setOperandValueFromModel(ANeuralNetworksModel *model, int32_t index,
						  const ANeuralNetworksModel *value);

/*
 * Sets the scales of an ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL operand, which are copied.
 */
int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
	ANeuralNetworksModel *model, int32_t index,
	const ANeuralNetworksSymmPerChannelQuantParams *channelQuant);

/* Adds an operation between existing operands; operations may be added in any order. */
int ANeuralNetworksModel_addOperation(ANeuralNetworksModel *model,
				      ANeuralNetworksOperationType type, uint32_t inputCount,
				      const uint32_t *inputs, uint32_t outputCount,
				      const uint32_t *outputs);

/* Says which operands executions provide and receive. */
int ANeuralNetworksModel_identifyInputsAndOutputs(ANeuralNetworksModel *model,
						  uint32_t inputCount, const uint32_t *inputs,
						  uint32_t outputCount, const uint32_t *outputs);

/* Sets whether float32 may be computed with the range and precision of float16. */
int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel *model,
							  bool allow);

/*
 * Sets, for each operation in the order of adding, whether any of the devices can execute it.
 * BAD_DATA: no device, or a repeated one.
 */
int ANeuralNetworksModel_getSupportedOperationsForDevices(
	const ANeuralNetworksModel *model, const ANeuralNetworksDevice *const *devices,
	uint32_t numDevices, bool *supportedOps);

/* ---- Compilations ---- */

/*
 * Compiles for all devices: each operation runs on the fastest one, and on the CPU if a device
 * fails.
 */
int ANeuralNetworksCompilation_create(ANeuralNetworksModel *model,
				      ANeuralNetworksCompilation **compilation);

/* Creates a compilation for these devices only. BAD_DATA: no device, or a device twice. */
int ANeuralNetworksCompilation_createForDevices(ANeuralNetworksModel *model,
						const ANeuralNetworksDevice *const *devices,
						uint32_t numDevices,
						ANeuralNetworksCompilation **compilation);
void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation *compilation);

/*
 * Sets a directory for compiled models, and 32 bytes that are unique to this model, such as a
 * SHA-256 of its file. A second model with the same token and arguments computes the values of the
 * first one, and no call fails. See Documentation/cache.rst.
 */
int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation *compilation,
					  const char *cacheDir, const uint8_t *token);

/* PreferenceCode and PriorityCode. BAD_DATA: neither. */
int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation *compilation,
					     int32_t preference);
int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation *compilation,
					   int priority);

/*
 * Sets the longest time for finish in ns; 0 for no limit. BAD_DATA: the compilation is not for
 * exactly one device.
 */
int ANeuralNetworksCompilation_setTimeout(ANeuralNetworksCompilation *compilation,
					  uint64_t duration);

/* Compiles. BAD_DATA: an operation that no device can execute. */
int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation *compilation);

/*
 * Returns the alignment of the address, and the padding of the length, in bytes, for which an input
 * or output is fastest; both are powers of two. BAD_DATA: the index is not valid.
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

/* The call is ignored while the execution runs. */
void ANeuralNetworksExecution_free(ANeuralNetworksExecution *execution);

/*
 * Arguments, by position in the lists of ANeuralNetworksModel_identifyInputsAndOutputs(), each set
 * once. With a NULL `type` the model's is used; otherwise it completes the dimensions that the
 * model left unknown. NULL and 0 omit the argument. Memory made from a description is used whole,
 * with offset and length 0. BAD_DATA: a shape or length that does not fit, bytes outside the
 * memory.
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

/* Asks for times to be measured. BAD_DATA: the compilation is not for exactly one device. */
int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution *execution, bool measure);

/*
 * Sets the longest time that an execution should take, in ns; 0 for no limit. BAD_DATA: as above.
 */
int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution *execution, uint64_t duration);

/* Sets the longest time that each WHILE may take, in ns, at most the maximum; 0 is no time. */
int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution *execution,
					    uint64_t duration);

/* Sets whether the execution may be computed again after its end. */
int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution *execution, bool reusable);

/* Lengths of arguments may exceed the operands' sizes. Call it before any argument is set. */
int ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution *execution,
							 bool enable);

/*
 * Run an execution. The first waits for its end. The second makes an event for the end.
 * The third runs it in a burst. The fourth starts it once all of `dependencies` have
 * ended, limits it to `duration` ns from then on (0: no limit), and needs outputs of
 * known shapes. An execution runs once, unless it is reusable. Return BAD_DATA if an
 * argument is not set. After OUTPUT_INSUFFICIENT_SIZE the shapes of outputs can be read.
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
 * fit, and the shape is what it needs. BAD_DATA: a scalar, which has no dimensions.
 */
int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution *execution,
						  int32_t index, uint32_t *rank);
int ANeuralNetworksExecution_getOutputOperandDimensions(ANeuralNetworksExecution *execution,
							int32_t index, uint32_t *dimensions);

/* Returns a time of a measured execution, in ns; UINT64_MAX if the device does not know it. */
int ANeuralNetworksExecution_getDuration(const ANeuralNetworksExecution *execution,
					 int32_t durationCode, uint64_t *duration);

/* ---- Bursts ---- */

/* A burst runs one execution at a time; a second one meanwhile gets BAD_STATE. */
int ANeuralNetworksBurst_create(ANeuralNetworksCompilation *compilation,
				ANeuralNetworksBurst **burst);
void ANeuralNetworksBurst_free(ANeuralNetworksBurst *burst);

/* ---- Events ---- */

/* Makes an event that ends when a sync_file does. The fd is duplicated. BAD_DATA: no fd. */
int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent **event);

/*
 * Returns a duplicate of an event's sync_file, which the caller closes. BAD_DATA (and -1): the
 * event has no sync_file, like events of executions on the CPU. Another result means a shortage of
 * memory or files; ask again.
 */
int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent *event, int *sync_fence_fd);

/* Waits for the end and returns the execution's result. */
int ANeuralNetworksEvent_wait(ANeuralNetworksEvent *event);

/* Freeing an event waits for its end. */
void ANeuralNetworksEvent_free(ANeuralNetworksEvent *event);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* ANDROID_NEURAL_NETWORKS_H */
