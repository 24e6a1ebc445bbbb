/* SPDX-License-Identifier: MIT */
/*
 * Bursts of the tests: calls and mappings of client and worker. Functions return 0 or an errno,
 * unless their comments say otherwise.
 */
#ifndef SELFTESTS_BURST_H
#define SELFTESTS_BURST_H

#include <linux/nnaccel.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine.h"

/** burst_init() - Fills in the work BURST. */
void burst_init(struct nnaccel_burst_create *create, uint32_t model, uint32_t capacity);

/** burst_create() - Creates a burst; another thread has to serve the context. */
int burst_create(int fd, uint32_t model, uint32_t capacity, int *burst);

/** served_prepare_as() - Prepares a model of a priority and answers; returns its id, or 0. */
uint32_t served_prepare_as(struct served *s, uint32_t pool, uint32_t priority);

/** served_prepare_for() - Prepares a model with a preference and answers; returns its id, or 0. */
uint32_t served_prepare_for(struct served *s, uint32_t pool, uint32_t preference);

/** served_prepare() - Prepares a model and answers; returns its id, or 0. */
uint32_t served_prepare(struct served *s, uint32_t pool);

/**
 * served_burst() - Creates a burst and answers; returns its fd, or -1
 *
 * @number: out: number of the burst in the session; may be NULL.
 */
int served_burst(struct served *s, uint32_t model, uint32_t *number);

/** served_burst_with() - Like served_burst(), with flags of NNACCEL_WORK_BURST. */
int served_burst_with(struct served *s, uint32_t model, uint32_t flags, uint32_t *number);

/** slot_bind() - Binds a new slot; @slot may be NULL. */
int slot_bind(int burst, uint32_t pool, uint32_t prot, uint32_t *slot);

/** slot_free() - Frees a slot. */
int slot_free(int burst, uint32_t slot);

/** slot_resolve() - Looks up a slot as the worker. */
int slot_resolve(int session, uint32_t burst, uint32_t slot, struct nnaccel_grant *grant);

/** burst_map() - Maps a region as the client; returns NULL and errno if that fails. */
void *burst_map(int burst, uint64_t region, uint64_t length, int prot);

/** session_burst_map() - Maps a region as the worker; returns NULL and errno if that fails. */
void *session_burst_map(int session, uint32_t burst, uint64_t region, uint64_t length, int prot);

/** burst_is_dead() - Returns whether poll() reports within @timeout_ms that the burst is dead. */
bool burst_is_dead(int burst, int timeout_ms);

#endif
