/* SPDX-License-Identifier: MIT */
/*
 * Executors: what runs a burst's requests. An executor knows the prepared model
 * and how the memory behind slots is come by.
 */
#ifndef NN_KIT_EXECUTOR_H
#define NN_KIT_EXECUTOR_H

#include "kit/models.h"
#include "ring/packet.h"

/*
 * Room for the packets of a burst, of whoever serves it: enough for `capacity`
 * datums, and for what is made of them.
 */
struct scratch {
	struct scratch *next;		/* for whoever keeps several */
	uint32_t capacity;
	bool has_accesses;		/* a slot is memory of another driver */
	struct nnaccel_datum *datums;
	struct nn_request request;	/* its arrays have room for `capacity` elements, */
	struct nn_result result;
	struct nn_error err;		/* of the result */
	struct mapping **mappings;	/* and so have these */
	uint32_t *accesses;		/* NNACCEL_SYNC_* of each slot, where has_accesses */
	struct nn_arg *args;
	uint32_t *arg_slots;		/* of each argument; 0: it is omitted */
	void **staged;			/* of each argument; see rows.h */
	struct nn_output_shape *shapes;
};

/* NULL: no memory. */
struct scratch *scratch_create(uint32_t capacity);
void scratch_free(struct scratch *scratch);

struct executor;

struct executor_ops {
	/*
	 * Finds the memory of each slot of a request, for mappings[num_slots];
	 * put_memory() ends its use, where get_memory() returned NN_OK.
	 */
	enum nn_status (*get_memory)(struct executor *executor, const struct nn_request *request,
				     struct mapping **mappings, struct nn_error *err);
	void (*put_memory)(struct executor *executor, const struct nn_request *request,
			   struct mapping **mappings);
	/* The client freed a slot. From any thread. */
	void (*forget)(struct executor *executor, uint32_t slot);
	/* NULL: the prepared model is executed. slots[]: of each argument. */
	enum nn_status (*execute)(struct executor *executor, const uint32_t *slots,
				  struct nn_execution *execution, struct nn_error *err);
	void (*free)(struct executor *executor);
};

/* Each kind begins with this. */
struct executor {
	const struct executor_ops *ops;
	struct models *models;
	struct grants *grants;
	struct loaded_model *loaded;
	uint32_t burst;			/* whose slots it knows */
	const uint32_t *devices;	/* of the burst's status page */
	uint64_t misses;		/* slots that the kernel had to resolve */
};

/*
 * The two kinds: one maps memory for each execution afresh, the other keeps it
 * from the first use of a slot until the slot is freed, and has the engine's own executor
 * where it has one. NULL: no memory, or the engine made none.
 */
struct executor *executor_plain_create(struct models *models, struct loaded_model *loaded,
				       uint32_t burst);
struct executor *executor_caching_create(struct models *models, struct loaded_model *loaded,
					 uint32_t burst);

/*
 * Runs scratch->request and leaves scratch->result. Everything that the client
 * wrote is checked; results are those of the ordinary path. For one thread at a
 * time.
 */
void executor_run(struct executor *executor, struct scratch *scratch);

/* Maps what the kernel says is behind a slot; grants_put() ends its use. */
enum nn_status executor_resolve(struct executor *executor, uint32_t slot,
				struct mapping **mapping, struct nn_error *err);

#endif /* NN_KIT_EXECUTOR_H */
