/* SPDX-License-Identifier: MIT */
/*
 * Executors run a burst's requests. An executor has references to the prepared model and to the
 * memory of the burst's slots.
 */
#ifndef NN_KIT_EXECUTOR_H
#define NN_KIT_EXECUTOR_H

#include "kit/api/running.h"
#include "kit/session/models.h"
#include "ring/packet.h"

/*
 * Memory for a burst's packets of up to `capacity` datums and for the decoded request. Only the
 * thread that serves the burst uses the scratch memory.
 */
struct scratch {
	struct scratch *next;		/* next element in a list of free scratch memory */
	struct burst *burst;		/* burst to which the request belongs */
	uint32_t capacity;
	bool has_accesses;		/* true if a device uses the memory of any slot */
	bool is_lost;			/* true if the device was lost during the request */
	struct nnaccel_datum *datums;
	struct nn_request request;	/* decoded request; its arrays have `capacity` elements */
	struct nn_result result;
	struct nn_error err;		/* reason of the error in `result` */
	uint64_t device_ns;		/* time of the execution on the device; 0 if unknown */
	/* array of `capacity` pointers to the mappings of the request's slots */
	struct mapping **mappings;
	uint32_t *accesses;	/* NNACCEL_SYNC_* flags of each slot, if has_accesses is set */
	struct nn_arg *args;
	uint32_t *arg_slots;		/* slot of each argument; 0 if the argument is omitted */
	/* copy without padding of each image argument; see rows.h */
	void **staged;
	struct nn_output_shape *shapes;
	/* times when the request and its execution began, if the client measures times */
	uint64_t start_ns, execute_ns;
	struct nn_execution execution;
	struct running running;
};

/* Returns NULL if out of memory. */
struct scratch *scratch_create(uint32_t capacity);
void scratch_free(struct scratch *scratch);

struct slot_place;

/*
 * Runs a burst's requests. If the engine has an executor of its own, the engine's executor executes
 * the requests.
 */
struct executor {
	struct models *models;
	struct grants *grants;
	struct loaded_model *loaded;
	struct form *form;	/* the form of the prepared model that the last request used */
	/* the engine's own functions for bursts, or NULL */
	const struct nna_engine_burst *of_engine;
	void *own;			/* the engine's executor */
	uint32_t burst;			/* number of the burst whose slots are in `places` */
	/*
	 * points to a word of the status page; the word is 1 after a device was attached to a pool
	 */
	const uint32_t *devices;
	/* number of slots looked up in the kernel that were not reported to the client yet */
	uint64_t misses;
	/*
	 * No thread holds `lock` while a model runs. A thread holds `lock` while the engine adds a
	 * slot, so that no other thread removes the slot too early. An engine that hangs while it
	 * adds a slot blocks only this burst and threads that free the burst's slots.
	 */
	pthread_mutex_t lock;
	struct slot_place *places;	/* indexed by NNACCEL_SLOT_INDEX() */
	uint32_t size;
	bool running;			/* true while a request executes and uses mappings */
	struct slot_place *leaving;	/* slots to be removed when the current request has ended */
	uint32_t num_leaving;
	uint32_t max_leaving;
};

/*
 * Creates an executor. On failure, returns the engine's error or NN_OUT_OF_MEMORY, and sets
 * *executor to NULL.
 */
enum nn_status executor_create(struct models *models, struct loaded_model *loaded, uint32_t burst,
			       struct executor **executor, struct nn_error *err);
void executor_free(struct executor *executor);

/*
 * Sets the num_slots elements of `mappings` to the memory of a request's slots. A slot's memory
 * stays mapped until the client frees the slot. If executor_get_memory() returns NN_OK, the caller
 * must call executor_put_memory() after the execution.
 */
enum nn_status executor_get_memory(struct executor *executor, const struct nn_request *request,
				   struct mapping **mappings, struct nn_error *err);
void executor_put_memory(struct executor *executor);

/*
 * Unmaps a slot that the client has freed. If an execution uses the slot, the slot is unmapped
 * after the execution. Any thread may call executor_forget().
 */
void executor_forget(struct executor *executor, uint32_t slot);

/*
 * Executes the request in scratch->request, and writes its result to scratch->result. Checks all
 * values in the request, because the client wrote them. A burst's request has the same results as
 * an execution by ioctl. An executor runs only one request at a time. Returns false if the engine
 * has deferred the execution. If the execution is deferred, the task scratch->running.end owns
 * `scratch` and calls executor_resume().
 */
bool executor_run(struct executor *executor, struct scratch *scratch);
void executor_resume(struct executor *executor, struct scratch *scratch);

#endif /* NN_KIT_EXECUTOR_H */
