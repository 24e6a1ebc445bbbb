/* SPDX-License-Identifier: MIT */
/*
 * Bursts of the tests: both sides' calls and mappings. Functions return 0 or
 * an errno, unless they say otherwise.
 */
#ifndef SELFTESTS_BURST_H
#define SELFTESTS_BURST_H

#include <linux/nnaccel.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine.h"

/** burst_init() - Fills in the work BURST. */
void burst_init(struct nnaccel_burst_create *create, uint32_t model, uint32_t capacity);

/** burst_create() - Creates a burst while somebody serves the context. */
int burst_create(int fd, uint32_t model, uint32_t capacity, int *burst);

/** served_prepare_as() - Prepares a model of a priority, answered here; its id, or 0. */
uint32_t served_prepare_as(struct served *s, uint32_t pool, uint32_t priority);

/** served_prepare_for() - Prepares a model with a preference, answered here; its id, or 0. */
uint32_t served_prepare_for(struct served *s, uint32_t pool, uint32_t preference);

/** served_prepare() - Prepares a model, answered here; its id, or 0. */
uint32_t served_prepare(struct served *s, uint32_t pool);

/**
 * served_burst() - Creates a burst, answered here
 *
 * @number: out: what the session calls it; may be NULL. The fd, or -1.
 */
int served_burst(struct served *s, uint32_t model, uint32_t *number);

/** served_burst_with() - The same with flags of NNACCEL_WORK_BURST. */
int served_burst_with(struct served *s, uint32_t model, uint32_t flags, uint32_t *number);

/** slot_bind() - A new slot; @slot may be NULL. */
int slot_bind(int burst, uint32_t pool, uint32_t prot, uint32_t *slot);

/** slot_free() - Ends a slot. */
int slot_free(int burst, uint32_t slot);

/** slot_resolve() - What the worker learns of a slot. */
int slot_resolve(int session, uint32_t burst, uint32_t slot, struct nnaccel_grant *grant);

/** burst_map() - The client's mapping of a region; NULL and errno: refused. */
void *burst_map(int burst, uint64_t region, uint64_t length, int prot);

/** session_burst_map() - The worker's. */
void *session_burst_map(int session, uint32_t burst, uint64_t region, uint64_t length, int prot);

/** burst_is_dead() - poll() says that the burst is dead, within @timeout_ms. */
bool burst_is_dead(int burst, int timeout_ms);

#endif
