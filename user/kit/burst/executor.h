/* SPDX-License-Identifier: MIT */
/*
 * Executors run a burst's requests. An executor knows the prepared model and the memory behind
 * slots.
 */
#ifndef NN_KIT_EXECUTOR_H
#define NN_KIT_EXECUTOR_H

#include "kit/api/running.h"
#include "kit/session/models.h"
#include "ring/packet.h"

/*
 * Memory for a burst's packets of up to `capacity` datums and for the decoded request. The thread
 * that serves the burst uses it.
 */
struct scratch {
	struct scratch *next;		/* next scratch in the owner's list */
	struct burst *burst;		/* burst to which the request belongs */
	uint32_t capacity;
	bool has_accesses;		/* some slot is memory of another driver */
	bool is_lost;			/* the device was lost during the request */
	struct nnaccel_datum *datums;
	struct nn_request request;	/* request whose arrays have room for `capacity` elements */
	struct nn_result result;
	struct nn_error err;		/* error of the result */
	uint64_t device_ns;		/* device time of the execution; 0 if it is not known */
	/* mappings of the request's slots, with room for `capacity` */
	struct mapping **mappings;
	uint32_t *accesses;	/* NNACCEL_SYNC_* flags of each slot, if has_accesses is set */
	struct nn_arg *args;
	uint32_t *arg_slots;		/* slot of each argument; 0 if it is omitted */
	void **staged;			/* staged rows of each argument; see rows.h */
	struct nn_output_shape *shapes;
	uint64_t start_ns, execute_ns;	/* when the request and its execution began, if measured */
	struct nn_execution execution;
	struct running running;
};

/* Returns NULL if out of memory. */
struct scratch *scratch_create(uint32_t capacity);
void scratch_free(struct scratch *scratch);

struct slot_place;

/* Runs a burst's requests, by the engine's own executor if it has one. */
struct executor {
	struct models *models;
	struct grants *grants;
	struct loaded_model *loaded;
	struct form *form;		/* form of the model that the last request executed */
	/* the engine's own functions for bursts, or NULL */
	const struct nna_engine_burst *of_engine;
	void *own;			/* the engine's executor */
	uint32_t burst;			/* burst whose slots are in `places` */
	/* word of the status page that is 1 after a device was attached */
	const uint32_t *devices;
	uint64_t misses;		/* slots looked up in the kernel and not yet reported */
	/*
	 * Not held while a model runs. Held while the engine adds a slot, so that no other thread
	 * removes the slot before that. An engine that hangs there blocks only this burst and
	 * threads that free slots of this burst.
	 */
	pthread_mutex_t lock;
	struct slot_place *places;	/* indexed by NNACCEL_SLOT_INDEX() */
	uint32_t size;
	bool running;			/* a request executes and uses mappings */
	struct slot_place *leaving;	/* places to be freed when the current request has ended */
	uint32_t num_leaving;
	uint32_t max_leaving;
};

/* Creates an executor. Returns the engine's error, or NN_OUT_OF_MEMORY; *executor is NULL then. */
enum nn_status executor_create(struct models *models, struct loaded_model *loaded, uint32_t burst,
			       struct executor **executor, struct nn_error *err);
void executor_free(struct executor *executor);

/*
 * Sets mappings[num_slots] to the memory of a request's slots. The memory stays mapped until the
 * client frees the slot. If this returns NN_OK, executor_put_memory() must follow.
 */
enum nn_status executor_get_memory(struct executor *executor, const struct nn_request *request,
				   struct mapping **mappings, struct nn_error *err);
void executor_put_memory(struct executor *executor);

/*
 * Unmaps a slot that the client freed: now, or when no execution uses it any more. Any thread may
 * call this.
 */
void executor_forget(struct executor *executor, uint32_t slot);

/*
 * Runs scratch->request and writes scratch->result. Checks everything that the client wrote. The
 * results are those of an execution by ioctl. Only one request at a time may run. Returns false if
 * the engine has deferred the execution. `scratch` then belongs to the task scratch->running.end,
 * which calls executor_resume().
 */
bool executor_run(struct executor *executor, struct scratch *scratch);
void executor_resume(struct executor *executor, struct scratch *scratch);

#endif /* NN_KIT_EXECUTOR_H */
