/* SPDX-License-Identifier: MIT */
/*
 * The list of devices, and the functions of each device: query supported operations, prepare a
 * graph, execute it.
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
	uint32_t choice;		/* PreferenceCode for the choice of devices */
	uint32_t priority;		/* 0 low, 1 medium, 2 high */
	uint64_t deadline_ns;		/* CLOCK_MONOTONIC, 0: none */
	const struct nn_attributes *attributes;	/* attributes of the device's extensions, or NULL */
};

struct trace_run;

/* An input or output of a request: bytes of a memory, or at a pointer of the application. */
struct request_arg {
	const ANeuralNetworksMemory *memory;	/* NULL: pointer */
	uint8_t *pointer;
	uint64_t offset;
	uint64_t length;
	uint32_t rank;				/* 0: the model's dimensions */
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
	struct trace_run *trace;	/* where the device notes further times, or NULL */

	/* Results of the execution. */
	struct nn_output_shape *shapes;		/* [num_outputs] */
	bool shapes_known;
	uint64_t on_device_us;			/* NNA_TIME_NONE: unknown */
	uint64_t in_driver_us;
};

/*
 * A graph that a device has prepared. The structure of each kind of device begins with this
 * structure.
 */
struct prepared {
	const struct device_ops *ops;
};

/* The role of a memory: an input or output of a prepared model. */
struct prepared_role {
	struct prepared *prepared;
	uint32_t index;
	bool output;
	float frequency;		/* how often the role is used, in (0, 1] */
};

struct memory_domain;

/* A burst's connection to a prepared model. Each kind of device defines its own structure. */
struct channel;

/*
 * The functions of a kind of device. Functions that may fail return a ResultCode. A graph must
 * outlive its prepared models.
 */
struct device_ops {
	/* Sets supported[i] for each operation i of the main subgraph. */
	int (*get_supported)(const ANeuralNetworksDevice *device, const struct graph *graph,
			     bool *supported, struct nn_error *err);
	/*
	 * Prepares a graph, and also saves it if `cache` is not NULL. If saving fails, the call
	 * still succeeds.
	 */
	int (*prepare)(const ANeuralNetworksDevice *device, const struct graph *graph,
		       const struct prepare_options *options, const struct nna_cache *cache,
		       struct prepared **prepared, struct nn_error *err);
	/* Prepares from cache files; NULL if the device has none. */
	int (*prepare_cached)(const ANeuralNetworksDevice *device, const struct graph *graph,
			      const struct prepare_options *options,
			      const struct nna_cache *cache, struct prepared **prepared,
			      struct nn_error *err);
	/* Executes a request. Any number of threads may call this at the same time. */
	int (*execute)(struct prepared *prepared, struct request *request, struct nn_error *err);
	/*
	 * Starts an execution after the `wait_for` files (sync_files and files of executions) have
	 * signalled, and returns a file that signals the end. NULL if the device has no fenced
	 * executions. Outputs must be in memories; inputs that are pointers are copied before the
	 * call returns.
	 */
	int (*execute_fenced)(struct prepared *prepared, const struct request *request,
			      const int *wait_for, uint32_t count, uint64_t duration_ns,
			      int *fence, struct nn_error *err);
	/* Returns the result and the times of an execution whose fence has signalled. */
	int (*fence_result)(const ANeuralNetworksDevice *device, int fence,
			    struct nna_timing *launched, struct nna_timing *fenced,
			    struct nn_error *err);
	/*
	 * Returns a sync_file of the hardware's fence that ends an execution; the caller owns it.
	 */
	int (*sync_file)(const ANeuralNetworksDevice *device, int fence, int *sync_file,
			 struct nn_error *err);
	void (*free)(struct prepared *prepared);
	/*
	 * Opens a channel, which runs one execution at a time. Executions allocate nothing once the
	 * channel has seen one like them. Close the channel before freeing the prepared model. NULL
	 * if the device has no channels.
	 */
	int (*open_channel)(struct prepared *prepared, struct channel **channel,
			    struct nn_error *err);
	void (*close_channel)(struct channel *channel);
	int (*wait)(const ANeuralNetworksDevice *device, struct nn_error *err);
	/*
	 * Allocates memory of the device for `roles`, and sets domain->buffer and token. Dimensions
	 * of domain->operand may be unknown. NULL if the device has no memory of its own.
	 */
	int (*allocate)(const ANeuralNetworksDevice *device, const struct prepared_role *roles,
			uint32_t count, struct memory_domain *domain, struct nn_error *err);
};

struct accel_handle;

/*
 * A device's description of itself. A description is never changed or freed, because applications
 * have pointers into it. If another engine begins to serve the device, a newer description is
 * added.
 */
struct device_facts {
	struct device_facts *older;
	struct nn_device_info info;
	const struct nn_device_extension *extensions;	/* the device's own */
	uint32_t num_extensions;
};

struct ANeuralNetworksDevice {
	const char *name;
	const char *path;		/* path of the device's node; NULL for the CPU */
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
 * Fill in a device. device_nnaccel_open() returns false with the reason in err if there is no
 * device. With `wait`, it waits for an engine that is starting, as long as the kernel does.
 */
void device_cpu_open(ANeuralNetworksDevice *device);
bool device_nnaccel_open(ANeuralNetworksDevice *device, const struct nna_device_entry *entry,
			 bool wait, struct nn_error *err);

/* Asks the engine for the device's properties again if another engine may serve the device. */
void device_nnaccel_refresh(ANeuralNetworksDevice *device);
void device_refresh(void);

/*
 * Lock the list of devices during a fork, so that no other thread has it locked and the child can
 * use it.
 */
void device_lock_list(void);
void device_unlock_list(void);

/*
 * Returns the number of devices. They are listed in the order in which they were found; the CPU is
 * last. If devices are missing, later calls search for them again, after growing pauses. Devices
 * are never removed.
 */
uint32_t device_count(void);
const ANeuralNetworksDevice *device_at(uint32_t index);
const ANeuralNetworksDevice *device_cpu(void);

/* Returns why the first search found no device except the CPU; NULL if it found another device. */
const char *device_missing(void);

#define DEVICE_MAX (NNA_MAX_DEVICES + 1)

/* Searches for devices, lists all devices, and returns their number. */
uint32_t device_list(const ANeuralNetworksDevice *devices[DEVICE_MAX]);

static inline bool device_is_cpu(const ANeuralNetworksDevice *device)
{
	return !device->handle;
}

/* Returns UNEXPECTED_NULL or BAD_DATA unless all devices of the list are valid and different. */
int device_check_list(const ANeuralNetworksDevice *const *devices, uint32_t count,
		      struct nn_error *err);

#endif /* NN_RUNTIME_DEVICE_H */
