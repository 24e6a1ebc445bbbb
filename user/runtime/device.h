/* SPDX-License-Identifier: MIT */
/*
 * The list of devices, and the functions of a device: query the supported operations, prepare a
 * graph, execute a prepared model.
 */
#ifndef NN_RUNTIME_DEVICE_H
#define NN_RUNTIME_DEVICE_H

#include <stdatomic.h>

#include <android/NeuralNetworks.h>
#include <nnaccel/device.h>
#include <nnaccel/nnaccel.h>

#include "plan/plan.h"
#include "runtime/model.h"

struct prepare_options {
	uint32_t preference;		/* PreferenceCode */
	uint32_t choice;		/* PreferenceCode that chooses between devices */
	uint32_t priority;		/* priority: 0 low, 1 medium, 2 high */
	uint64_t deadline_ns;		/* CLOCK_MONOTONIC, 0: none */
	const struct nn_attributes *attributes;	/* attributes of the device's extensions, or NULL */
};

struct trace_run;

/* An input or output of a request: bytes of a memory, or bytes at a pointer of the application. */
struct request_arg {
	const ANeuralNetworksMemory *memory;	/* NULL: pointer */
	uint8_t *pointer;
	uint64_t offset;
	uint64_t length;
	/* rank of the argument; if the rank is 0, the argument has the model's dimensions */
	uint32_t rank;
	uint32_t dims[NN_MAX_RANK];
	bool omitted;
};

struct request {
	uint32_t num_inputs;
	uint32_t num_outputs;
	struct request_arg *inputs;
	struct request_arg *outputs;
	uint64_t deadline_ns;			/* CLOCK_MONOTONIC, 0: none */
	uint64_t loop_timeout_ns;
	bool measure;
	const struct nn_attributes *attributes;	/* attributes of the device's extensions, or NULL */
	struct channel *channel;		/* channel of a burst, or NULL */
	struct trace_run *trace;	/* object that receives the device's times, or NULL */

	/* The members from `shapes` on are results of the execution. */
	struct nn_output_shape *shapes;		/* [num_outputs] */
	bool shapes_known;
	uint64_t on_device_us;			/* NNA_TIME_NONE: unknown */
	uint64_t in_driver_us;
};

/*
 * A graph that a device has prepared for execution. Each kind of device has its own structure,
 * which begins with struct prepared.
 */
struct prepared {
	const struct device_ops *ops;
};

/* The role of a memory: the memory is an input or output of a prepared model. */
struct prepared_role {
	struct prepared *prepared;
	uint32_t index;
	bool output;
	float frequency;		/* frequency of the role's use, in (0, 1] */
};

struct memory_domain;

/*
 * A channel: a burst's connection to a prepared model. Each kind of device defines its own struct
 * channel.
 */
struct channel;

/*
 * The functions that a kind of device implements. Each function that may fail returns a ResultCode.
 * A graph must outlive the models that devices prepared from it.
 */
struct device_ops {
	/* Sets supported[i] to true if the device supports operation i of the main subgraph. */
	int (*get_supported)(const ANeuralNetworksDevice *device, const struct graph *graph,
			     bool *supported, struct nn_error *err);
	/*
	 * Prepares a graph, and also saves it if `cache` is not NULL. If saving the graph fails,
	 * the preparation nevertheless succeeds.
	 */
	int (*prepare)(const ANeuralNetworksDevice *device, const struct graph *graph,
		       const struct prepare_options *options, const struct nna_cache *cache,
		       struct prepared **prepared, struct nn_error *err);
	/*
	 * Prepares a graph from cache files; prepare_cached is NULL if the device does not cache.
	 */
	int (*prepare_cached)(const ANeuralNetworksDevice *device, const struct graph *graph,
			      const struct prepare_options *options,
			      const struct nna_cache *cache, struct prepared **prepared,
			      struct nn_error *err);
	/* Executes a request. Any number of threads may call execute() at the same time. */
	int (*execute)(struct prepared *prepared, struct request *request, struct nn_error *err);
	/*
	 * Starts an execution that begins after all `wait_for` files (sync_files, or files of
	 * executions) have signalled. Returns a file that signals the end of the execution. The
	 * member execute_fenced is NULL if the device has no fenced executions. Outputs must be in
	 * memories; inputs at pointers are copied before the call returns.
	 */
	int (*execute_fenced)(struct prepared *prepared, const struct request *request,
			      const int *wait_for, uint32_t count, uint64_t duration_ns,
			      int *fence, struct nn_error *err);
	/* Returns the result and the times of an execution whose file `fence` has signalled. */
	int (*fence_result)(const ANeuralNetworksDevice *device, int fence,
			    struct nna_timing *launched, struct nna_timing *fenced,
			    struct nn_error *err);
	/*
	 * Returns a sync_file of the hardware fence with which an execution ends; the caller owns
	 * the sync_file.
	 */
	int (*sync_file)(const ANeuralNetworksDevice *device, int fence, int *sync_file,
			 struct nn_error *err);
	void (*free)(struct prepared *prepared);
	/*
	 * Opens a channel to a prepared model; the channel runs one execution at a time. An
	 * execution allocates nothing if the channel has already run an execution with the same
	 * memories. The channel must be closed before the prepared model is freed. The member
	 * open_channel is NULL if the device has no channels.
	 */
	int (*open_channel)(struct prepared *prepared, struct channel **channel,
			    struct nn_error *err);
	void (*close_channel)(struct channel *channel);
	int (*wait)(const ANeuralNetworksDevice *device, struct nn_error *err);
	/*
	 * Allocates memory of the device for `roles`, and sets domain->buffer and domain->token.
	 * Dimensions of domain->operand may be unknown. The member allocate is NULL if the device
	 * has no memory of its own.
	 */
	int (*allocate)(const ANeuralNetworksDevice *device, const struct prepared_role *roles,
			uint32_t count, struct memory_domain *domain, struct nn_error *err);
};

struct accel_handle;

/*
 * A device's description of its own properties. A description is never changed or freed, because
 * applications have pointers into the description. If another engine begins to serve the device, a
 * newer description is added to the list.
 */
struct device_facts {
	struct device_facts *older;
	struct nn_device_info info;
	const struct nn_device_extension *extensions;	/* the device's own */
	uint32_t num_extensions;
};

struct ANeuralNetworksDevice {
	const char *name;
	const char *path;		/* path of the device node; NULL for the CPU */
	const struct device_ops *ops;
	struct accel_handle *handle;	/* NULL: the CPU */
	_Atomic(struct device_facts *) facts;	/* the newest */
};

static inline const struct device_facts *device_facts(const ANeuralNetworksDevice *device)
{
	return atomic_load_explicit(&device->facts, memory_order_acquire);
}

static inline const struct nn_device_info *device_info(const ANeuralNetworksDevice *device)
{
	return &device_facts(device)->info;
}

/*
 * Fill in the structure of a device. If there is no device, device_nnaccel_open() returns false and
 * sets `err` to the reason. If `wait` is set and the engine is starting, device_nnaccel_open()
 * waits for the engine as long as the kernel does.
 */
void device_cpu_open(ANeuralNetworksDevice *device);
bool device_nnaccel_open(ANeuralNetworksDevice *device, const struct nna_device_entry *entry,
			 bool wait, struct nn_error *err);

/* Queries the device's properties again if another engine may serve the device. */
void device_nnaccel_refresh(ANeuralNetworksDevice *device);
void device_refresh(void);

/* Lock and unlock the list of devices around a fork, so that the child finds the list unlocked. */
void device_lock_list(void);
void device_unlock_list(void);

/*
 * Returns the number of devices. Devices are in the order of their discovery; the CPU is last. If
 * devices are missing, later calls search for devices again, after increasing pauses. A device is
 * never removed from the list.
 */
uint32_t device_count(void);
const ANeuralNetworksDevice *device_at(uint32_t index);
const ANeuralNetworksDevice *device_cpu(void);

/*
 * Returns NULL if a device besides the CPU is known, otherwise the reason why the first search
 * found no device.
 */
const char *device_missing(void);

#define DEVICE_MAX (NNA_MAX_DEVICES + 1)

/* Searches for devices, sets `devices` to all known devices, and returns the number of devices. */
uint32_t device_list(const ANeuralNetworksDevice *devices[DEVICE_MAX]);

static inline bool device_is_cpu(const ANeuralNetworksDevice *device)
{
	return !device->handle;
}

/*
 * Sets supported[i] to true if the device supports operation i of the main subgraph. Logs a warning
 * and returns a ResultCode if the query fails.
 */
int device_get_supported(const ANeuralNetworksDevice *device, const struct graph *graph,
			 bool *supported, struct nn_error *err);

/* Returns UNEXPECTED_NULL or BAD_DATA if a device of the list is invalid or occurs twice. */
int device_check_list(const ANeuralNetworksDevice *const *devices, uint32_t count,
		      struct nn_error *err);

#endif /* NN_RUNTIME_DEVICE_H */
