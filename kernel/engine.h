/* SPDX-License-Identifier: GPL-2.0-only */
/* nnaccel: engines, each of which is a device to clients. */
#ifndef NNACCEL_ENGINE_H
#define NNACCEL_ENGINE_H

#include "core.h"

/* ---- engine.c ---- */

/**
 * struct nnaccel_engine - An engine and its device
 * @number: number of the device
 * @dev: its device in sysfs
 * @hardware: devices' lock: the engine's hardware, with a reference; NULL if
 *	unknown
 * @lock: protects the fields below, and the fields of contexts that say so
 * @broker: file of the broker, or NULL; written with the devices' lock held as well
 * @device_pools: the engine accepts pools that only devices can access
 * @name: name of the device; empty before the first registration, constant after it
 * @version: version from the last broker
 * @type: enum nnaccel_device_type from the last broker
 * @contexts: open contexts
 * @events: contexts with an event for the broker; GONE ones have a reference
 * @events_wait: brokers that wait for @events
 */
struct nnaccel_engine {
	unsigned int number;
	struct device *dev;
	struct device *hardware;
	struct mutex lock;	/* only the account lock may be taken inside engine->lock */
	const struct file *broker;
	bool device_pools;
	char name[NNACCEL_MAX_NAME];
	char version[NNACCEL_MAX_VERSION];
	u32 type;
	struct list_head contexts;
	struct list_head events;
	wait_queue_head_t events_wait;
};

extern const struct file_operations nnaccel_engine_fops;

int nnaccel_engine_take(struct nnaccel_engine *engine, const struct nnaccel_engine_register *arg,
			const struct file *broker);
void nnaccel_engine_leave(struct nnaccel_engine *engine);
void nnaccel_engine_end_sessions(struct nnaccel_engine *engine);

void nnaccel_engine_add(struct nnaccel_context *ctx);
void nnaccel_engine_want_ahead(struct nnaccel_context *ctx);
void nnaccel_engine_remove(struct nnaccel_context *ctx);
long nnaccel_engine_time_left(struct nnaccel_command *cmd);
void nnaccel_engine_session_ended(struct nnaccel_context *ctx);
void nnaccel_engine_set_priority(struct nnaccel_context *ctx, u32 priority);
u32 nnaccel_engine_get_state(struct nnaccel_context *ctx);
void nnaccel_engine_show(struct seq_file *m);
struct nnaccel_context *nnaccel_engine_next_context(struct nnaccel_context *ctx);

/* ---- device.c ---- */

/* Upper limit of the parameter max_devices. */
#define NNACCEL_MAX_DEVICES	64

int nnaccel_devices_init(void);
void nnaccel_devices_exit(void);
void nnaccel_devices_free(void);
struct nnaccel_engine *nnaccel_device_engine(unsigned int number);
struct nnaccel_engine *nnaccel_device_open(const struct inode *inode);
struct nnaccel_engine *nnaccel_device_register(const struct nnaccel_engine_register *arg,
					       const struct file *broker);
bool nnaccel_device_leave(struct nnaccel_engine *engine, const struct file *broker,
			  const struct device *hardware);

#endif /* NNACCEL_ENGINE_H */
