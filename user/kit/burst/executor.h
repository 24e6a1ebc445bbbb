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
 * Memory for the packets of a burst: enough for `capacity` datums and for the decoded request. Any
 * thread that serves the burst uses it.
 */
struct scratch {
	struct scratch *next;		/* next scratch in the owner's list */
	struct burst *burst;		/* burst whose request it has */
	uint32_t capacity;
	bool has_accesses;		/* a slot is memory of another driver */
	bool is_lost;			/* the device, since the request */
	struct nnaccel_datum *datums;
	struct nn_request request;	/* request whose arrays have room for `capacity` elements */
	struct nn_result result;
	struct nn_error err;		/* of the result */
	uint64_t device_ns;		/* device time of the execution; 0 if it is not known */
	struct mapping **mappings;	/* mappings, with room for `capacity` elements */
	uint32_t *accesses;		/* NNACCEL_SYNC_* of each slot, if has_accesses is set */
	struct nn_arg *args;
	uint32_t *arg_slots;		/* slot of each argument; 0 if it is omitted */
	void **staged;			/* staged rows of each argument; see rows.h */
	struct nn_output_shape *shapes;
	uint64_t start_ns, execute_ns;	/* begin of the request and of its execution, if measured */
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
	struct form *form;		/* the model's form in the last request */
	const struct nna_engine_burst *of_engine;	/* the engine's own functions, or NULL */
	void *own;			/* the engine's executor */
	uint32_t burst;			/* burst whose slots are in `places` */
	const uint32_t *devices;	/* device word of the burst's status page */
	uint64_t misses;		/* slots that the kernel had to resolve, not yet reported */
	/*
	 * Not held while a model runs. Held while the engine adds a slot, so that the slot is not
	 * removed before it is added. An engine that hangs there blocks only its own burst and the
	 * threads that free slots of it.
	 */
	pthread_mutex_t lock;
	struct slot_place *places;	/* by NNACCEL_SLOT_INDEX() */
	uint32_t size;
	bool running;			/* mappings are in use */
	struct slot_place *leaving;	/* places to be freed when the request has ended */
	uint32_t num_leaving;
	uint32_t max_leaving;
};

/* Creates an executor. Returns the engine's error, or NN_OUT_OF_MEMORY; *executor is NULL then. */
enum nn_status executor_create(struct models *models, struct loaded_model *loaded, uint32_t burst,
			       struct executor **executor, struct nn_error *err);
void executor_free(struct executor *executor);

/*
 * Finds the memory of each slot of a request, for mappings[num_slots], and keeps it mapped until
 * the slot is freed. After NN_OK, executor_put_memory() ends the use.
 */
enum nn_status executor_get_memory(struct executor *executor, const struct nn_request *request,
				   struct mapping **mappings, struct nn_error *err);
void executor_put_memory(struct executor *executor);

/* Unmaps a slot that the client freed, once no execution uses it. Any thread may call this. */
void executor_forget(struct executor *executor, uint32_t slot);

/*
 * Runs scratch->request and leaves scratch->result. Everything that the client wrote is checked.
 * The results are the same as those of an execution by ioctl. Only one request at a time may run.
 * Returns false if the engine has not ended it yet. It then belongs to scratch->running.end, which
 * calls executor_resume().
 */
bool executor_run(struct executor *executor, struct scratch *scratch);
void executor_resume(struct executor *executor, struct scratch *scratch);

#endif /* NN_KIT_EXECUTOR_H */
